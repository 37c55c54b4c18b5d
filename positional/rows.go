package positional

import (
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
)

// checkSequences checks that the rows of m, dim columns wide, are sequences of seq positions from start on.
// Without rows, seq and start do not matter.
func checkSequences(op, name string, m rowvec.Matrix, dim, seq, start, limit int) error {
	if err := check.Matrix(op, name, m, dim); err != nil || m.Rows == 0 {
		return err
	}
	if err := check.AtLeast(op, "seq", seq, 1); err != nil {
		return err
	}
	if err := check.Positions(op, "seq", seq, start, limit); err != nil {
		return err
	}
	if m.Rows%seq != 0 {
		return check.MultipleOf(op, name+".Rows", m.Rows, seq)
	}
	return nil
}

// checkPositionsApart reports that m, which is about to be written to, shares memory with explicit positions.
func checkPositionsApart(op, name string, m rowvec.Matrix, at []int) error {
	return check.Apart(op, name, m, "positions", words(at))
}

// words returns the memory of ids, to be compared and not read.
func words[I rowvec.ID](ids []I) rowvec.Matrix {
	var id I
	n := len(ids) * int(unsafe.Sizeof(id)/4)
	return rowvec.Matrix{Rows: 1, Cols: n, Data: unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(ids))), n), Stride: n}
}

// copyRows sets each row of dst to that of src. The shapes agree.
func copyRows(dst, src rowvec.Matrix) {
	for i := range dst.Rows {
		copy(dst.Row(i), src.Row(i))
	}
}

// fillFrom sets row i of dst to row start + i of a table that holds all positions.
func fillFrom(op string, dst, table rowvec.Matrix, start int) error {
	if err := check.Matrix(op, "dst", dst, table.Cols); err != nil || dst.Rows == 0 {
		return err
	}
	if err := check.Positions(op, "dst.Rows", dst.Rows, start, table.Rows); err != nil {
		return err
	}
	if err := check.Apart(op, "dst", dst, "table", table); err != nil {
		return err
	}
	copyRows(dst, check.Window(table, start, dst.Rows, 0, table.Cols))
	return nil
}

// addFrom adds row start + i mod seq of a table that holds all positions to row i of x, for each i.
func addFrom(op string, x, table rowvec.Matrix, seq, start int) error {
	if err := checkSequences(op, "x", x, table.Cols, seq, start, table.Rows); err != nil || x.Rows == 0 {
		return err
	}
	if err := check.Apart(op, "x", x, "table", table); err != nil {
		return err
	}
	for first := 0; first < x.Rows; first += seq {
		rowvec.AddBatches(check.Window(x, first, seq, 0, x.Cols), check.Window(table, start, seq, 0, x.Cols)) // cannot fail
	}
	return nil
}
