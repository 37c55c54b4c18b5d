// Package check holds the checks of arguments that the layers above the kernels share. They return the errors of package
// rowvec; op is the function that the caller called, name the argument it is about. Names are put together only where
// there is an error, since that allocates.
package check

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/pages"
)

// AtLeast reports a value below want.
func AtLeast(op, what string, got, want int) error {
	if got < want {
		return &rowvec.ShapeError{Op: op, What: what, Got: got, Rule: "at least ", Want: want}
	}
	return nil
}

// AtMost reports a value above want.
func AtMost(op, what string, got, want int) error {
	if got > want {
		return &rowvec.ShapeError{Op: op, What: what, Got: got, Rule: "at most ", Want: want}
	}
	return nil
}

// Equal reports a value that is not want.
func Equal(op, what string, got, want int) error {
	if got != want {
		return &rowvec.ShapeError{Op: op, What: what, Got: got, Want: want}
	}
	return nil
}

// MultipleOf reports a value that is no multiple of want, which is above 0.
func MultipleOf(op, what string, got, want int) error {
	if got%want != 0 {
		return &rowvec.ShapeError{Op: op, What: what, Got: got, Rule: "a multiple of ", Want: want}
	}
	return nil
}

// Value returns the error about a value that is not what want says.
func Value(op, what string, got any, want string) error {
	return &rowvec.ValueError{Op: op, What: what, Got: got, Want: want}
}

// Nil returns the error about something that is needed and nil.
func Nil(op, what string) error { return &rowvec.ValueError{Op: op, What: what} }

// IsNil reports whether an interface holds nothing, or a pointer that is nil.
func IsNil(x any) bool {
	v := reflect.ValueOf(x)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// Matrix reports a matrix whose fields contradict each other or that has not cols columns.
func Matrix(op, name string, m rowvec.Matrix, cols int) error {
	if m.Cols != cols {
		return Equal(op, name+".Cols", m.Cols, cols)
	}
	return rowvec.CheckMatrix(op, name, m)
}

// Shape reports a matrix whose fields contradict each other or that is not rows x cols.
func Shape(op, name string, m rowvec.Matrix, rows, cols int) error {
	if m.Rows != rows {
		return Equal(op, name+".Rows", m.Rows, rows)
	}
	return Matrix(op, name, m, cols)
}

// IDs reports the first id outside [0, limit), by the name of what it is.
func IDs[I rowvec.ID](op, what string, ids []I, limit int) error {
	err := rowvec.CheckIDs(ids, limit)
	if index, ok := err.(*rowvec.IndexError); ok {
		index.Op, index.What = op, what
	}
	return err
}

// Positions reports that not all positions [start, start+n) are in [0, limit); what is what the caller knows n as.
func Positions(op, what string, n, start, limit int) error {
	if err := AtLeast(op, "start", start, 0); err != nil {
		return err
	}
	if err := AtMost(op, what, n, limit); err != nil {
		return err
	}
	return AtMost(op, "start", start, limit-n)
}

// Offsets reports offsets that are not those of sequences of n tokens, one behind the other: from 0 on, not descending, up to n, or, if
// open, without the end of the last one. There may be none where there are no tokens.
func Offsets(op string, offsets []int, n int, open bool) error {
	if len(offsets) == 0 {
		want := 2
		if open {
			want = 1
		}
		return AtLeast(op, "len(offsets)", 0, min(n, 1)*want)
	}
	if err := Equal(op, "offsets[0]", offsets[0], 0); err != nil {
		return err
	}
	last := 0
	for b, offset := range offsets[1:] { // each is read once, for another goroutine may change it
		if offset < last {
			return AtLeast(op, fmt.Sprintf("offsets[%d]", b+1), offset, last)
		}
		last = offset
	}
	if open {
		return AtMost(op, "last of offsets", last, n)
	}
	return Equal(op, "last of offsets", last, n)
}

// Apart reports that dst, a valid matrix, shares an element with src, another.
func Apart(op, dstName string, dst rowvec.Matrix, srcName string, src rowvec.Matrix) error {
	if rowvec.Overlap(dst, src) {
		return &rowvec.OverlapError{Op: op, Dst: dstName, Src: srcName}
	}
	return nil
}

// NewTable is rowvec.NewMatrix on huge pages, for what keeps it, and with an error that speaks of the caller's arguments.
func NewTable(op, rowsName string, rows int, colsName string, cols int) (rowvec.Matrix, error) {
	m, err := rowvec.NewMatrix(rows, cols)
	if shape := (*rowvec.ShapeError)(nil); errors.As(err, &shape) {
		if shape.What == "cols" {
			rowsName = colsName
		}
		shape.Op, shape.What = op, rowsName
	}
	pages.Advise(m.Data)
	return m, err
}

// Room reports an n of which n*each float32, with each above 0, are more than a slice can have, as they can be where an int has 32
// bits.
func Room(op, what string, n, each int) error { return AtMost(op, what, n, pages.MaxBytes/4/each) }

// Window returns rows [row, row+rows) and columns [col, col+cols) of m, without a copy. It panics if there are some and they are not
// within m, before anything is written there.
func Window(m rowvec.Matrix, row, rows, col, cols int) rowvec.Matrix {
	if rows == 0 || cols == 0 {
		return rowvec.Matrix{Rows: rows, Cols: cols}
	}
	if row > m.Rows-rows || col < 0 || cols < 0 || col > m.Cols-cols { // a row below 0, or fewer rows, are no slice
		panic("rowvec: a window that is not within its matrix")
	}
	first := row*m.Stride + col
	return rowvec.Matrix{Rows: rows, Cols: cols, Data: m.Data[first : first+(rows-1)*m.Stride+cols], Stride: m.Stride}
}
