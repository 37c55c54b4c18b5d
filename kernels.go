package rowvec

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/pages"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// ID is the constraint of row ids: the integer types of 32 and 64 bits, which frameworks hand out, taken without a copy: int, int32,
// int64, uint, uint32 and uint64, and types made of these. A valid id is at least 0 and below the number of rows it chooses from.
type ID = kernels.ID

// Matrix is a row-major matrix of float32: row i is Data[i*Stride : i*Stride+Cols]. Rows and Cols may be 0, and then
// Data may be nil; otherwise Stride >= Cols and len(Data) >= (Rows-1)*Stride + Cols. Elements between Cols and Stride
// are neither read nor written. The fields are those of gonum's blas32.General, in the same order, so that one converts
// to the other without a copy: Rows, Cols, Stride int and Data []float32. NewMatrix makes one, and its method Row returns one of
// its rows.
type Matrix = kernels.Matrix

// ErrChanged is what the error of a kernel wraps when an id that was in range when the call checked it was out of range
// when its row was due, or when offsets that fitted then did not any more: another goroutine wrote to them meanwhile. Part
// of the destination has been written.
var ErrChanged = errors.New("rowvec: ids changed during the call")

// ISA returns the name of the instruction set that the kernels run on: "avx512", "avx2", "neon" or "portable".
// It is the best that the processor and the operating system support, unless the environment variable ROWVEC_ISA
// names a lower one.
func ISA() string { return isa.Active().String() }

// NewMatrix returns a rows x cols matrix of zeros without gaps between its rows. It is an error if rows or cols is
// negative or if rows*cols elements are more than a program can address.
func NewMatrix(rows, cols int) (Matrix, error) {
	const op = "NewMatrix"
	if rows < 0 {
		return Matrix{}, &ShapeError{op, "rows", rows, "at least ", 0}
	}
	if cols < 0 {
		return Matrix{}, &ShapeError{op, "cols", cols, "at least ", 0}
	}
	if rows > 0 && cols > maxElements {
		return Matrix{}, &ShapeError{op, "cols", cols, "at most ", maxElements}
	}
	if cols > 0 && rows > maxElements/cols {
		return Matrix{}, &ShapeError{op, "rows", rows, "at most ", maxElements / cols}
	}
	return Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols), Stride: cols}, nil
}

// maxElements is the largest number of float32 that a slice can have.
const maxElements = pages.MaxBytes / 4

// CheckMatrix returns a ShapeError, with op and with name as the name of m, if the fields of m contradict each other:
// if Rows or Cols is negative, or Stride or Data too small for them. Every kernel does so before it writes.
func CheckMatrix(op, name string, m Matrix) error {
	switch {
	case m.Rows < 0:
		return &ShapeError{op, name + ".Rows", m.Rows, "at least ", 0}
	case m.Cols < 0:
		return &ShapeError{op, name + ".Cols", m.Cols, "at least ", 0}
	case m.Rows == 0 || m.Cols == 0:
		return nil
	case m.Stride < m.Cols:
		return &ShapeError{op, name + ".Stride", m.Stride, "at least ", m.Cols}
	case m.Rows-1 > (math.MaxInt-m.Cols)/m.Stride: // so that extent cannot overflow
		return &ShapeError{op, name + ".Rows", m.Rows, "at most ", (math.MaxInt-m.Cols)/m.Stride + 1}
	}
	if want := extent(&m); len(m.Data) < want {
		return &ShapeError{op, "len(" + name + ".Data)", len(m.Data), "at least ", want}
	}
	return nil
}

// CheckIDs returns an IndexError for the first id outside [0, rows), or nil if there is none; and a ShapeError for rows
// below 0. Every kernel does so before it writes; a caller that splits work into several calls can check all ids first.
func CheckIDs[I ID](ids []I, rows int) error {
	if rows < 0 {
		return &ShapeError{"CheckIDs", "rows", rows, "at least ", 0}
	}
	return checkIDs("CheckIDs", "id", ids, rows)
}

// Overlap reports whether a and b, which must be valid matrices, share an element. Matrices of one stride that lie side
// by side in one buffer do not; of others, and of different strides, any contact of their ranges of memory counts.
func Overlap(a, b Matrix) bool { return checkApart("", "", &a, "", &b) != nil }

// Gather sets row i of dst to row ids[i] of table, for each i. All bits are kept, those of a NaN too.
//
// dst has len(ids) rows and as many columns as table; strides are free. Errors: ShapeError, IndexError for an id
// outside [0, table.Rows), OverlapError if dst shares memory with table or ids; then dst is as it was.
func Gather[I ID](dst, table Matrix, ids []I) error {
	const op = "Gather"
	// A single row is copied without what a kernel costs to set up, and without a call in between, which would cost as
	// much again: a row of 768 floats in cache took 31 ns so, 34 with the call, and 30 by Go's copy alone, all without
	// the prefetch of copyRow. Whatever is not plainly in order is left to the checks below; a row that is more than a
	// chunk, to the kernel.
	if cols := table.Cols; len(ids) == 1 && dst.Rows == 1 && dst.Cols == cols && cols > 0 && cols <= chunkElements &&
		dst.Stride >= cols && len(dst.Data) >= cols && fits(&table) {
		if id := ids[0]; uint64(id) < uint64(table.Rows) {
			out, bytes := &dst.Data[0], uintptr(cols)*4
			start := uintptr(unsafe.Pointer(out))
			if !rangesMeet(start, bytes, uintptr(unsafe.Pointer(&table.Data[0])), uintptr(len(table.Data))*4) &&
				!rangesMeet(start, bytes, uintptr(unsafe.Pointer(&ids[0])), unsafe.Sizeof(id)) {
				row := &table.Data[int(id)*table.Stride]
				race.Write(out, cols)
				race.Read(row, cols)
				copyRow(out, row, cols, len(table.Data))
				return nil
			}
		}
	}
	if n := len(ids); n > 1 {
		done := -1
		if n <= fewIDs {
			done = gatherFew[I, [fewIDs]*float32](&dst, &table, ids)
		} else if n <= tuning.SeveralIDs && dst.Cols <= severalColumns {
			done = gatherFew[I, [severalIDs]*float32](&dst, &table, ids)
		}
		if done == n {
			return nil
		}
		if done >= 0 {
			return checkDone(op, done, n)
		}
	}
	if err := checkGather(op, &dst, &table, ids); err != nil || dst.Cols == 0 {
		return err
	}
	return checkDone(op, gather(&dst, &table, ids, &hint{stream: large(&dst)}), len(ids))
}

// fewIDs is up to how many rows Gather copies without what a kernel costs to set up; with more, to choose the way through each row
// anew costs more than that. Up to as many ids are checked in Go, if not by copyByID. On a Zen 5 with AVX-512, ns per row of so many by the kernel
// and so, medians of 61 interleaved rounds, ids at random, and of the last three tables with 32 MB of something else read in
// between; copiesByID has figures of a Zen 4, and it was not measured elsewhere, nor on Arm, where Go copies them:
//
//	table                  2            4            8           12           16           24
//	    1,000 x 8      23.1  16.4   11.6   8.6    6.0   4.7    4.3   3.4    3.3   2.9    2.4   2.2
//	    1,000 x 64     23.9  17.2   13.0   9.9    7.2   6.1    5.5   5.1    4.7   4.5    3.7   3.8
//	    1,000 x 128    26.0  20.0   14.8  11.9    8.9   8.5    7.3   7.4    6.2   6.5    5.5   6.0
//	   10,000 x 300    36.8  28.6   25.5  21.9   21.1  17.8   21.2  18.2   21.9  18.3   25.0  23.1
//	1,000,000 x 8       533   393    242   185    157   107    112    82     81    65     61    52
//	1,000,000 x 128     654   473    342   245    197   146    180   144    134   111    104    98
//	   50,257 x 768     724   567    467   392    394   330    313   293    289   273    270   263
//
// Of severalColumns and less it is up to tuning.SeveralIDs, no more than severalIDs.
const (
	fewIDs         = 16
	severalIDs     = 32
	severalColumns = 64
)

// gatherFew copies rows so if all is plainly in order and they are no more than a chunk together, and returns how many, or -1. A call
// of wellFormed, which asks much the same, would take 2 to 7 percent, once 15, of the time of up to 16 rows of 8 and 64 columns.
// What is checked of an id is what is copied by, since another goroutine may change it, or copyByID checks it once more. R has
// room for all rows, and no more than it takes, since it has to be cleared.
func gatherFew[I ID, R [fewIDs]*float32 | [severalIDs]*float32](dst, table *Matrix, ids []I) (done int) {
	cols := table.Cols
	if dst.Rows != len(ids) || dst.Cols != cols || cols <= 0 || cols > chunkElements/fewIDs || !fits(dst) || !fits(table) {
		return -1
	}
	start, bytes := uintptr(unsafe.Pointer(&dst.Data[0])), uintptr(extent(dst))*4
	if rangesMeet(start, bytes, uintptr(unsafe.Pointer(unsafe.SliceData(table.Data))), uintptr(len(table.Data))*4) ||
		rangesMeet(start, bytes, uintptr(unsafe.Pointer(&ids[0])), uintptr(len(ids))*unsafe.Sizeof(ids[0])) {
		return -1
	}
	fetches := !fewAtOnce(len(ids), cols) && !cached(table)
	if copiesByID(len(ids), cols, fetches) {
		return copyByID(dst, table, ids, fetches)
	}
	var rows R
	for i, id := range ids {
		if uint64(id) >= uint64(table.Rows) {
			return -1
		}
		rows[i] = &table.Data[int(id)*table.Stride]
	}
	race.WriteMatrix(dst)
	race.ReadRows(table, ids)
	addresses := unsafe.Slice(&rows[0], len(ids))
	if fetches {
		if part := fewPart(table); part < len(ids) {
			copyParts(dst, table, ids, addresses, part)
			return len(ids)
		}
		fetchFew(table, ids)
	}
	copyFew(dst, addresses)
	return len(ids)
}

// copyParts copies part of few rows at a time, while the next are on their way.
func copyParts[I ID](dst, table *Matrix, ids []I, rows []*float32, part int) {
	to := *dst
	fetchFew(table, ids[:part])
	for len(ids) > part {
		fetchFew(table, ids[part:min(2*part, len(ids))])
		copyFew(&to, rows[:part])
		to.Data, ids, rows = to.Data[part*to.Stride:], ids[part:], rows[part:]
	}
	copyFew(&to, rows)
}

// copyEach copies rows to those of dst, one by one.
func copyEach(dst *Matrix, rows []*float32) {
	for i, row := range rows {
		copy(dst.Data[i*dst.Stride:], unsafe.Slice(row, dst.Cols))
	}
}

// GatherScaled sets row i of dst to scale times row ids[i] of table, rounded to float32, for each i.
// Shapes and errors are those of Gather.
func GatherScaled[I ID](dst, table Matrix, ids []I, scale float32) error {
	const op = "GatherScaled"
	if err := checkGather(op, &dst, &table, ids); err != nil || dst.Cols == 0 {
		return err
	}
	return checkDone(op, gatherScaled(&dst, &table, ids, scale, &hint{stream: large(&dst)}), len(ids))
}

// AddScaled adds alpha times src to dst, element by element (the axpy of BLAS). The product is rounded to float32
// before the sum is: there is no fused multiply-add.
//
// It is a ShapeError if the lengths differ, and an OverlapError if the slices share memory without starting at the same
// element; dst and src may be the same slice.
func AddScaled(dst []float32, alpha float32, src []float32) error {
	if !vectorsFit(dst, src) {
		return vectorError("AddScaled", dst, src)
	}
	if len(dst) > 0 {
		addScaled(dst, alpha, src)
	}
	return nil
}

// Add adds src to dst, element by element. Lengths, overlap and errors are those of AddScaled.
func Add(dst, src []float32) error {
	if !vectorsFit(dst, src) {
		return vectorError("Add", dst, src)
	}
	if len(dst) > 0 {
		add(dst, src)
	}
	return nil
}

// Scale multiplies each element of dst by alpha.
func Scale(dst []float32, alpha float32) {
	if len(dst) > 0 {
		scale(dst, alpha)
	}
}

// ScatterAdd adds alpha times row i of src to row ids[i] of dst, for each i in ascending order: where an id occurs
// several times, its rows are added in the order of the ids. The product is rounded before the sum. This is the
// gradient of Gather, with alpha = 1, and of GatherScaled, with alpha = scale.
//
// src has len(ids) rows and as many columns as dst; strides are free. Errors: ShapeError, IndexError for an id outside
// [0, dst.Rows), OverlapError if dst shares memory with src or ids; then dst is as it was.
func ScatterAdd[I ID](dst Matrix, ids []I, alpha float32, src Matrix) error {
	const op = "ScatterAdd"
	if err := checkScatter(op, "dst", &dst, "id", ids, "src", &src); err != nil || dst.Cols == 0 {
		return err
	}
	return checkDone(op, scatterAdd(&dst, ids, alpha, &src, &hint{}), len(ids))
}

// Embed is the forward pass of an embedding layer in one pass over memory: row i of dst becomes scale times row ids[i]
// of table plus row start + i mod seq of positions. The product is rounded before the sum, so that the bits are those
// of a separate gather, multiplication and addition.
//
// ids are len(ids)/seq sequences of seq tokens, one behind the other; start is the position of the first token of each,
// which is not 0 where a decoder continues from a cache. dst has len(ids) rows; dst, table and positions have the same
// number of columns; strides are free. Errors: ShapeError, also if len(ids) is no multiple of seq or if start+seq
// exceeds positions.Rows; IndexError for an id outside [0, table.Rows); OverlapError if dst shares memory with an
// input; then dst is as it was. Without ids, seq and start do not matter.
func Embed[I ID](dst, table Matrix, ids []I, scale float32, positions Matrix, start, seq int) error {
	const op = "Embed"
	if err := checkGather(op, &dst, &table, ids); err != nil {
		return err
	}
	if err := checkPositions(op, &dst, &positions); err != nil || len(ids) == 0 {
		return err
	}
	if err := checkSequences(op, "len(ids)", len(ids), positions.Rows, start, seq); err != nil || dst.Cols == 0 {
		return err
	}
	return checkDone(op, embed(&dst, &table, ids, scale, &positions, start, seq, &hint{stream: large(&dst)}), len(ids))
}

// EmbedAt is Embed with a position id for each token: row i of dst becomes scale times row ids[i] of table plus row
// at[i] of positions. It serves ragged batches, padded ones, and decoders whose sequences have come to different
// positions. The two kinds of ids may differ in type.
//
// at has one position id in [0, positions.Rows) for each id. Errors are those of Embed; an IndexError says which kind
// of id it is about.
func EmbedAt[I, P ID](dst, table Matrix, ids []I, scale float32, positions Matrix, at []P) error {
	const op = "EmbedAt"
	if err := checkGather(op, &dst, &table, ids); err != nil {
		return err
	}
	if err := checkPositions(op, &dst, &positions); err != nil {
		return err
	}
	if err := checkEqual(op, "len(at)", "", len(at), len(ids)); err != nil {
		return err
	}
	if err := checkIDs(op, "position id", at, positions.Rows); err != nil {
		return err
	}
	if err := checkIDsApart(op, "dst", &dst, "position id", at); err != nil || dst.Cols == 0 {
		return err
	}
	return checkDone(op, embedAt(&dst, &table, ids, scale, &positions, at, &hint{stream: large(&dst)}), len(ids))
}

// EmbedBackward adds the gradients of Embed, given the gradient dOut of its result: row ids[i] of tokens grows by scale
// times row i of dOut, and row start + i mod seq of positions by row i of dOut, both for i ascending. The bits of
// positions are those of a ScatterAdd with the position of each row as its id.
//
// tokens and positions have the shapes of table and positions in Embed, dOut has that of dst. Errors are those of
// Embed, also OverlapError if tokens or positions share memory with dOut, ids or each other; then both are as they were.
func EmbedBackward[I ID](tokens, positions Matrix, ids []I, scale float32, dOut Matrix, start, seq int) error {
	const op = "EmbedBackward"
	if err := checkBackward(op, &tokens, &positions, ids, &dOut); err != nil || len(ids) == 0 {
		return err
	}
	if err := checkSequences(op, "len(ids)", len(ids), positions.Rows, start, seq); err != nil || dOut.Cols == 0 {
		return err
	}
	if err := checkDone(op, scatterAdd(&tokens, ids, scale, &dOut, &hint{}), len(ids)); err != nil {
		return err
	}
	addBatches(rowsOf(positions, start, seq), dOut, len(ids)/seq)
	return nil
}

// EmbedAtBackward adds the gradients of EmbedAt: row ids[i] of tokens grows by scale times row i of dOut, and row at[i]
// of positions by row i of dOut, both for i ascending. Shapes and errors are those of EmbedBackward.
func EmbedAtBackward[I, P ID](tokens, positions Matrix, ids []I, scale float32, dOut Matrix, at []P) error {
	const op = "EmbedAtBackward"
	if err := checkBackward(op, &tokens, &positions, ids, &dOut); err != nil {
		return err
	}
	if err := checkScatter(op, "positions", &positions, "position id", at, "dOut", &dOut); err != nil {
		return err
	}
	if err := checkIDsApart(op, "tokens", &tokens, "position id", at); err != nil || dOut.Cols == 0 {
		return err
	}
	if err := checkDone(op, scatterAdd(&tokens, ids, scale, &dOut, &hint{}), len(ids)); err != nil {
		return err
	}
	return checkDone(op, scatterAdd(&positions, at, 1, &dOut, &hint{}), len(ids))
}

// AddBatches adds row b*dst.Rows + p of src to row p of dst, for each p and for b ascending: the gradient of rows, such
// as positions, that every sequence of a batch has added.
//
// src has a multiple of dst.Rows rows and as many columns as dst; strides are free. Errors: ShapeError, OverlapError if
// dst shares memory with src; then dst is as it was.
func AddBatches(dst, src Matrix) error {
	const op = "AddBatches"
	if err := CheckMatrix(op, "dst", dst); err != nil {
		return err
	}
	if err := CheckMatrix(op, "src", src); err != nil {
		return err
	}
	if err := checkEqual(op, "src", ".Cols", src.Cols, dst.Cols); err != nil {
		return err
	}
	if src.Rows == 0 {
		return nil
	}
	if dst.Rows == 0 || src.Rows%dst.Rows != 0 {
		return &ShapeError{op, "src.Rows", src.Rows, "a multiple of ", dst.Rows}
	}
	if err := checkApart(op, "dst", &dst, "src", &src); err != nil || dst.Cols == 0 {
		return err
	}
	if src.Rows == dst.Rows && dst.Stride == dst.Cols && src.Stride == src.Cols {
		n := dst.Rows * dst.Cols // one batch is one vector: with 8 columns, a twentieth of the time
		add(dst.Data[:n], src.Data[:n])
		return nil
	}
	addBatches(dst, src, src.Rows/dst.Rows)
	return nil
}

// checkDone reports ids that changed while a kernel ran.
func checkDone(op string, done, want int) error {
	if done < want {
		return changedError(op, done)
	}
	return nil
}

// changedError is apart so that checkDone is inlined.
func changedError(op string, at int) error {
	return fmt.Errorf("%w (%s, position %d)", ErrChanged, op, at)
}
