package positional

import (
	"fmt"
	"math"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/philox"
)

// Learned is a trainable table with a row for each position, and none beyond; Resized and ResizedGrid make longer and
// shorter ones of it. What writes to Table() excludes all other use of it.
type Learned struct {
	table rowvec.Matrix
}

// NewLearned returns a table of max x dim, uniform between -sqrt(2/dim) and sqrt(2/dim). The same seed gives the same
// bits on every machine; LearnedFrom takes a table of any other beginning, such as that of lookup.NewEmbedding with lookup.Normal,
// as GPT-2 has it. It is a ShapeError if max or dim is below 1, or if their product cannot be addressed.
func NewLearned(max, dim int, seed uint64) (*Learned, error) {
	const op = "positional.NewLearned"
	if err := check.AtLeast(op, "max", max, 1); err != nil {
		return nil, err
	}
	if err := check.AtLeast(op, "dim", dim, 1); err != nil {
		return nil, err
	}
	table, err := check.NewTable(op, "max", max, "dim", dim)
	if err != nil {
		return nil, err
	}
	forward.FillUniform(table.Data, seed, philox.StreamPositions, 0, float32(math.Sqrt(2/float64(dim))))
	return &Learned{table}, nil
}

// LearnedFrom returns m as a table of positions, without a copy. It is a ShapeError if m has no rows or no columns.
func LearnedFrom(m rowvec.Matrix) (*Learned, error) {
	const op = "positional.LearnedFrom"
	if err := check.AtLeast(op, "m.Rows", m.Rows, 1); err != nil {
		return nil, err
	}
	if err := check.AtLeast(op, "m.Cols", m.Cols, 1); err != nil {
		return nil, err
	}
	if err := rowvec.CheckMatrix(op, "m", m); err != nil {
		return nil, err
	}
	return &Learned{m}, nil
}

// Kind returns "learned".
func (l *Learned) Kind() string { return "learned" }

// Dim returns the number of columns.
func (l *Learned) Dim() int { return l.table.Cols }

// Limit returns the number of positions, which is the number of rows.
func (l *Learned) Limit() int { return l.table.Rows }

// Trainable returns true.
func (l *Learned) Trainable() bool { return true }

// Table returns the parameters, max x dim, without a copy.
func (l *Learned) Table() rowvec.Matrix { return l.table }

// String returns, for instance, "Learned(max=512, dim=768)".
func (l *Learned) String() string { return fmt.Sprintf("Learned(max=%d, dim=%d)", l.Limit(), l.Dim()) }

// Fill sets row i of dst to row start + i of the table. dst has Dim columns; its stride is free. Errors: ShapeError,
// also if start + dst.Rows exceeds Limit; OverlapError if dst shares memory with the table; then dst is as it was.
// Without rows, start does not matter.
func (l *Learned) Fill(dst rowvec.Matrix, start int) error {
	return fillFrom("positional.Learned.Fill", dst, l.table, start)
}

// AddTo adds row start + i mod seq of the table to row i of x, for each i.
//
// x has a multiple of seq rows and Dim columns; its stride is free. Errors: ShapeError, also if start + seq exceeds
// Limit; OverlapError if x shares memory with the table; then x is as it was. Without rows, seq and start do not matter.
func (l *Learned) AddTo(x rowvec.Matrix, seq, start int) error {
	return addFrom("positional.Learned.AddTo", x, l.table, seq, start)
}

// Backward adds the gradient of the table to grad, given the gradient dOut of the result of AddTo: row start + i mod seq
// of grad grows by row i of dOut, for i ascending. (The gradient of x is dOut itself.)
//
// grad has the shape of the table, dOut that of x; strides are free. Errors are those of AddTo, also ShapeError for the
// shape of grad and OverlapError if grad shares memory with dOut; then grad is as it was.
func (l *Learned) Backward(grad, dOut rowvec.Matrix, seq, start int) error {
	const op = "positional.Learned.Backward"
	if err := check.Matrix(op, "grad", grad, l.Dim()); err != nil {
		return err
	}
	if err := check.Equal(op, "grad.Rows", grad.Rows, l.Limit()); err != nil {
		return err
	}
	if err := checkSequences(op, "dOut", dOut, l.Dim(), seq, start, l.Limit()); err != nil || dOut.Rows == 0 {
		return err
	}
	if err := check.Apart(op, "grad", grad, "dOut", dOut); err != nil {
		return err
	}
	return rowvec.AddBatches(check.Window(grad, start, seq, 0, l.Dim()), dOut)
}
