package rowvec

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/rowvec/rowvec/kernels"
)

// extent returns the number of elements from the first of the first row to the last of the last one.
func extent(m *Matrix) int {
	if m.Rows == 0 || m.Cols == 0 {
		return 0
	}
	return (m.Rows-1)*m.Stride + m.Cols
}

// checkEqual takes the name of an argument and that of a field, since putting them together allocates.
func checkEqual(op, name, field string, got, want int) error {
	if got != want {
		return &ShapeError{op, name + field, got, "", want}
	}
	return nil
}

// fits reports what CheckMatrix does, in few enough steps to be inlined.
func fits(m *Matrix) bool {
	if m.Rows == 0 || m.Cols == 0 {
		return m.Rows >= 0 && m.Cols >= 0
	}
	high, low := bits.Mul(uint(m.Rows-1), uint(m.Stride))
	return m.Rows > 0 && m.Cols > 0 && m.Stride >= m.Cols &&
		len(m.Data) >= m.Cols && high == 0 && low <= uint(len(m.Data)-m.Cols)
}

// checkIDs reports the first id outside [0, rows).
func checkIDs[I ID](op, what string, ids []I, rows int) error {
	if idsBelow(ids, rows) {
		return nil
	}
	if i := kernels.FirstOutside(ids, rows); i >= 0 {
		return indexError(op, what, ids, i, rows)
	}
	return nil
}

func indexError[I ID](op, what string, ids []I, i, rows int) error {
	id := ids[i]
	if id > 0 && uint64(id) > math.MaxInt64 {
		return &IndexError{op, what, i, uint64(id), rows}
	}
	return &IndexError{op, what, i, int64(id), rows}
}

// checkApart reports that dst shares an element with src.
func checkApart(op, dstName string, dst *Matrix, srcName string, src *Matrix) error {
	d, s := extent(dst), extent(src)
	if d == 0 || s == 0 {
		return nil
	}
	from, to := uintptr(unsafe.Pointer(&dst.Data[0])), uintptr(unsafe.Pointer(&src.Data[0]))
	if !rangesMeet(from, uintptr(d)*4, to, uintptr(s)*4) || columnsApart(from, dst, to, src) {
		return nil
	}
	return &OverlapError{op, dstName, srcName}
}

// columnsApart reports whether two matrices of one stride lie side by side in the same rows of memory.
func columnsApart(a uintptr, m *Matrix, b uintptr, n *Matrix) bool {
	if a > b {
		a, m, b, n = b, n, a, m
	}
	if m.Stride != n.Stride || (b-a)%4 != 0 {
		return false
	}
	shift := int((b - a) / 4 % uintptr(m.Stride))
	return shift >= m.Cols && shift+n.Cols <= m.Stride
}

// checkIDsApart reports that dst shares memory with ids, as slices made with package unsafe may; what names one id.
func checkIDsApart[I ID](op, dstName string, dst *Matrix, what string, ids []I) error {
	if meets(dst, ids) {
		return &OverlapError{op, dstName, what + "s"}
	}
	return nil
}

// checkVectorApart reports that dst shares memory with a vector.
func checkVectorApart(op, dstName string, dst *Matrix, srcName string, src []float32) error {
	if meets(dst, src) {
		return &OverlapError{op, dstName, srcName}
	}
	return nil
}

// meets reports whether m, from its first element to its last, shares memory with x.
func meets[T any](m *Matrix, x []T) bool { return slicesMeet(m.Data[:extent(m)], x) }

// slicesMeet reports whether two slices share memory.
func slicesMeet[A, B any](a []A, b []B) bool {
	return len(a) > 0 && len(b) > 0 && rangesMeet(uintptr(unsafe.Pointer(&a[0])), uintptr(len(a))*unsafe.Sizeof(a[0]),
		uintptr(unsafe.Pointer(&b[0])), uintptr(len(b))*unsafe.Sizeof(b[0]))
}

func rangesMeet(a, alen, b, blen uintptr) bool { return a < b+blen && b < a+alen }

// The checks take pointers: matrices are large enough for copies of them to be felt in calls for a single row.

// wellFormed reports whether rows in their order have the shape of what ids choose from a table, and whether the two matrices share no memory,
// nor the one that is written any with ids, going by whole slices. It does not look at what ids are. Where it is false, the checks behind it
// say what is wrong, if anything is.
func wellFormed[I ID](linear, table, written *Matrix, ids []I) bool {
	return linear.Rows == len(ids) && linear.Cols == table.Cols && fits(linear) && fits(table) &&
		!slicesMeet(linear.Data, table.Data) && !slicesMeet(written.Data, ids)
}

// checkGather checks what Gather and its relatives share. What is wrong with ids comes last but for overlap: they cost the most.
func checkGather[I ID](op string, dst, table *Matrix, ids []I) error {
	if wellFormed(dst, table, dst, ids) && idsBelow(ids, table.Rows) {
		return nil
	}
	if !fits(dst) {
		return CheckMatrix(op, "dst", *dst)
	}
	if !fits(table) {
		return CheckMatrix(op, "table", *table)
	}
	if err := checkEqual(op, "dst", ".Rows", dst.Rows, len(ids)); err != nil {
		return err
	}
	if err := checkEqual(op, "dst", ".Cols", dst.Cols, table.Cols); err != nil {
		return err
	}
	if err := checkIDs(op, "id", ids, table.Rows); err != nil {
		return err
	}
	if err := checkApart(op, "dst", dst, "table", table); err != nil {
		return err
	}
	return checkIDsApart(op, "dst", dst, "id", ids)
}

// checkScatter checks a scatter-add of src into dst; what names the kind of ids.
func checkScatter[I ID](op, dstName string, dst *Matrix, what string, ids []I, srcName string, src *Matrix) error {
	if wellFormed(src, dst, dst, ids) && idsBelow(ids, dst.Rows) {
		return nil
	}
	if !fits(dst) {
		return CheckMatrix(op, dstName, *dst)
	}
	if !fits(src) {
		return CheckMatrix(op, srcName, *src)
	}
	if err := checkEqual(op, srcName, ".Rows", src.Rows, len(ids)); err != nil {
		return err
	}
	if err := checkEqual(op, srcName, ".Cols", src.Cols, dst.Cols); err != nil {
		return err
	}
	if err := checkIDs(op, what, ids, dst.Rows); err != nil {
		return err
	}
	if err := checkApart(op, dstName, dst, srcName, src); err != nil {
		return err
	}
	return checkIDsApart(op, dstName, dst, what, ids)
}

// checkPositions checks the table of positions whose rows are added to those of dst.
func checkPositions(op string, dst, positions *Matrix) error {
	if fits(positions) && positions.Cols == dst.Cols && !slicesMeet(dst.Data, positions.Data) {
		return nil
	}
	if !fits(positions) {
		return CheckMatrix(op, "positions", *positions)
	}
	if err := checkEqual(op, "positions", ".Cols", positions.Cols, dst.Cols); err != nil {
		return err
	}
	return checkApart(op, "dst", dst, "positions", positions)
}

// checkSequences checks that n rows, more than 0, counted by what, are sequences of seq tokens whose positions from start
// exist.
func checkSequences(op, what string, n, rows, start, seq int) error {
	switch {
	case seq < 1:
		return &ShapeError{op, "seq", seq, "at least ", 1}
	case n%seq != 0:
		return &ShapeError{op, what, n, "a multiple of ", seq}
	case start < 0:
		return &ShapeError{op, "start", start, "at least ", 0}
	case seq > rows:
		return &ShapeError{op, "seq", seq, "at most ", rows}
	case start > rows-seq:
		return &ShapeError{op, "start", start, "at most ", rows - seq}
	}
	return nil
}

// checkBackward checks what the gradients of Embed and EmbedAt share.
func checkBackward[I ID](op string, tokens, positions *Matrix, ids []I, dOut *Matrix) error {
	if err := checkScatter(op, "tokens", tokens, "id", ids, "dOut", dOut); err != nil {
		return err
	}
	if !fits(positions) {
		return CheckMatrix(op, "positions", *positions)
	}
	if err := checkEqual(op, "positions", ".Cols", positions.Cols, dOut.Cols); err != nil {
		return err
	}
	if err := checkApart(op, "positions", positions, "dOut", dOut); err != nil {
		return err
	}
	if err := checkApart(op, "positions", positions, "tokens", tokens); err != nil {
		return err
	}
	return checkIDsApart(op, "positions", positions, "id", ids)
}

// vectorsFit reports whether dst, which is changed element by element, and src are of one length and share memory only if
// they begin at the same element. It is inlined; vectorError says what is wrong.
func vectorsFit(dst, src []float32) bool {
	if len(dst) != len(src) || len(dst) == 0 {
		return len(dst) == len(src)
	}
	a, b := uintptr(unsafe.Pointer(&dst[0])), uintptr(unsafe.Pointer(&src[0]))
	return a == b || !rangesMeet(a, uintptr(len(dst))*4, b, uintptr(len(dst))*4)
}

func vectorError(op string, dst, src []float32) error {
	if err := checkEqual(op, "len(src)", "", len(src), len(dst)); err != nil {
		return err
	}
	return &OverlapError{op, "dst", "src"}
}

// rowsOf returns rows [first, first+n) of m, where n > 0 and m has columns.
func rowsOf(m Matrix, first, n int) Matrix {
	return Matrix{Rows: n, Cols: m.Cols, Data: m.Data[first*m.Stride:], Stride: m.Stride}
}
