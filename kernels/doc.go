// Package kernels says what each kernel of rowvec computes, in portable Go.
//
// It is three things at once: the definition that the documentation refers to, the fallback where there is no assembly
// for a machine, and the yardstick that tests and fuzzers hold the assembly against, bit for bit. It imports the
// standard library alone.
//
// The functions trust their arguments: that shapes agree and nothing overlaps, the functions of the same names in package
// rowvec check. Here what does not fit together panics, or gives a result that means nothing. Only ids are looked at once
// more, row by row, because another goroutine may have changed them since: a kernel that takes ids returns the number of
// rows it has done, which is less than len(ids) exactly if the next id is out of range. Those of bags look at their offsets
// once more as well.
//
// Every product is rounded to float32, or in Sinusoids to float64, by an explicit conversion before it is added to
// anything, since a Go compiler may otherwise fuse the two roundings into one, and results would depend on the machine.
package kernels

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// ID is the constraint of row ids: whatever integer type a tokenizer or framework hands out.
type ID interface {
	~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64
}

// Matrix is a row-major matrix of float32. Row i is Data[i*Stride : i*Stride+Cols]; what lies between Cols and Stride
// belongs to somebody else and is neither read nor written. A matrix with rows and columns needs
// len(Data) >= (Rows-1)*Stride + Cols and Stride >= Cols. Its fields are those of gonum's blas32.General, in the same
// order, so that one converts to the other without a copy.
type Matrix struct {
	Rows, Cols int
	Stride     int
	Data       []float32
}

// Row returns row i, without a copy and with no room behind it. It panics if there is no such row.
func (m Matrix) Row(i int) []float32 {
	if uint(i) >= uint(m.Rows) {
		panic(rowError{i, m.Rows})
	}
	if m.Cols == 0 {
		return nil
	}
	first := i * m.Stride
	return m.Data[first : first+m.Cols : first+m.Cols]
}

// rowError is what Row panics with: a value of its own, so that it can be inlined.
type rowError struct{ row, rows int }

func (e rowError) Error() string {
	return fmt.Sprintf("rowvec: row %d is outside [0, %d)", e.row, e.rows)
}

// row is Row without its own checks, for a matrix that has passed through plain. A pointer spares the loops a copy of
// the matrix for each row.
func row(m *Matrix, i int) []float32 { return m.Data[i*m.Stride:][:m.Cols] }

// rows returns rows [first, first+n) of a matrix that has passed through plain and has them.
func rows(m *Matrix, first, n int) Matrix {
	return Matrix{Rows: n, Cols: m.Cols, Data: m.Data[first*m.Stride:], Stride: m.Stride}
}

// plain panics unless m has rows of cols columns, at least as many as rows says: whoever has found the first element of a
// row can rely on the others. If there is nothing in the rows, it has all of them in one place, so that no loop has to ask.
func plain(m *Matrix, rows, cols int) {
	high, low := bits.Mul(uint(m.Rows-1), uint(m.Stride))
	switch {
	case m.Rows < max(rows, 0) || m.Cols != cols:
		panic("rowvec/kernels: matrices that do not fit together")
	case m.Rows <= 0 || cols <= 0:
		m.Stride = 0
	case m.Stride < cols || len(m.Data) < cols || high != 0 || low > uint(len(m.Data)-cols):
		panic("rowvec/kernels: a matrix with less data than it has rows and columns")
	}
}

// Loops over elements take four at a time: those over single ones run at 1 or 2 cycles per element, depending on where
// the linker happens to put them. On a Zen 4 AddScaled took 0.28 ns per element so, and 0.28 to 0.57 one by one. Those of
// rotations, which need all of four elements at once, take one: arrays of four were kept in memory, for twice the time.

// four returns the elements from the i-th on, of which x is known to have four. It spares short rows three checks.
func four(x []float32, i int) *[4]float32 { return (*[4]float32)(unsafe.Pointer(&x[i])) }
