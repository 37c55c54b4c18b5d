package positional

import (
	"fmt"
	"math"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/exact"
)

// Sinusoidal is the fixed encoding of Vaswani et al., "Attention is all you need" (2017):
//
//	PE(pos, 2i)   = sin(pos / 10000^(2i/dim))
//	PE(pos, 2i+1) = cos(pos / 10000^(2i/dim))
//
// An odd dim has one sine more than cosines. Options change the base 10000 and the order of the columns. Each element is off
// by less than 3e-8, half a unit in the last place of a float32 next to 1, at every position however far, and has the
// same bits on every machine and however it was asked for. Positions that are not in the table are computed in steps from a
// multiple of 256 below them, or from where the last call has come to: one after the other, as decoders ask for them, takes a
// step each.
type Sinusoidal struct {
	sinusoidalSettings
	waves *waves
	table rowvec.Matrix
}

type sinusoidalSettings struct {
	base   float64
	layout layout
}

// layout is an order of columns.
type layout uint8

const (
	interleaved layout = iota
	halfSplit
	tensor2Tensor
)

// HalfSplit puts all sines in front of all cosines, in the order of their frequencies, as Marian and Pegasus do: PE(pos, i) =
// sin(pos / 10000^(2i/dim)), and with h = dim/2, rounded up, PE(pos, h+i) = cos(pos / 10000^(2i/dim)). It is not to be
// combined with Tensor2Tensor; the last of the two counts.
func HalfSplit() SinusoidalOption {
	return sinusoidalOption(func(s *sinusoidalSettings) { s.layout = halfSplit })
}

// Tensor2Tensor puts all sines in front of all cosines too, and spreads the frequencies a little farther, as Tensor2Tensor
// and fairseq do: with h = dim/2, rounded down, PE(pos, i) = sin(pos / 10000^(i/(h-1))) and PE(pos, h+i) =
// cos(pos / 10000^(i/(h-1))). An odd dim ends in a column of zeros, and where h is 1, its frequency is 1. (The row of zeros
// that fairseq has for padding is left to the caller.)
func Tensor2Tensor() SinusoidalOption {
	return sinusoidalOption(func(s *sinusoidalSettings) { s.layout = tensor2Tensor })
}

// waves returns those of so many columns.
func (s *sinusoidalSettings) waves(dim int) *waves {
	pairs, last := (dim+1)/2, uint64(dim)
	if s.layout == tensor2Tensor {
		pairs, last = dim/2, uint64(max(1, 2*(dim/2-1)))
	}
	var few [256]exact.Turns // on the stack
	frequencies := few[:min(pairs, len(few))]
	if pairs > len(few) {
		frequencies = make([]exact.Turns, pairs)
	}
	exact.Frequencies(frequencies, s.base, 2, last)
	w := newWaves(dim)
	for i, freq := range frequencies {
		sin, cos := 2*i, 2*i+1
		if s.layout != interleaved {
			sin, cos = i, pairs+i
		}
		w.set(sin, freq, sine)
		if cos < dim {
			w.set(cos, freq, cosine)
		}
	}
	return w.ready()
}

// NewSinusoidal returns the encoding with a table of its first positions, length x dim; the others are computed when they
// are asked for. A length of 0 is no table at all. It is a ShapeError if length is below 0 or dim below 1, or if the
// table cannot be addressed, and a ValueError if the base is not above 1 and finite. Beside the table, it keeps
// 40 bytes for each column, and 20 KiB for each goroutine that computes at once, until a collection of garbage finds them idle.
func NewSinusoidal(length, dim int, options ...SinusoidalOption) (*Sinusoidal, error) {
	const op = "positional.NewSinusoidal"
	if err := check.AtLeast(op, "length", length, 0); err != nil {
		return nil, err
	}
	if err := check.AtLeast(op, "dim", dim, 1); err != nil {
		return nil, err
	}
	if err := check.AtMost(op, "dim", dim, maxWaves); err != nil {
		return nil, err
	}
	settings := sinusoidalSettings{base: defaultBase}
	for _, option := range options {
		if !check.IsNil(option) {
			option.sinusoidal(&settings)
		}
	}
	if err := checkBase(op, settings.base); err != nil {
		return nil, err
	}
	table, err := check.NewTable(op, "length", length, "dim", dim)
	if err != nil {
		return nil, err
	}
	s := &Sinusoidal{settings, settings.waves(dim), table}
	s.waves.fillLarge(table, 0)
	return s, nil
}

// Kind returns "sinusoidal".
func (s *Sinusoidal) Kind() string { return "sinusoidal" }

// Dim returns the number of columns.
func (s *Sinusoidal) Dim() int { return s.table.Cols }

// Limit returns math.MaxInt: there is no limit.
func (s *Sinusoidal) Limit() int { return math.MaxInt }

// Trainable returns false: there are no parameters.
func (s *Sinusoidal) Trainable() bool { return false }

// Table returns the positions held in memory, length x dim, without a copy. They are not to be written to.
func (s *Sinusoidal) Table() rowvec.Matrix { return s.table }

// String returns, for instance, "Sinusoidal(dim=512)"; what options have changed is named too, as in
// "Sinusoidal(dim=512, base=500000, layout=half-split)".
func (s *Sinusoidal) String() string {
	text := fmt.Sprintf("Sinusoidal(dim=%d", s.Dim())
	if s.base != defaultBase {
		text += fmt.Sprintf(", base=%v", s.base)
	}
	switch s.layout {
	case halfSplit:
		text += ", layout=half-split"
	case tensor2Tensor:
		text += ", layout=tensor2tensor"
	}
	return text + ")"
}

// Fill sets row i of dst to PE(start + i), copied from the table where it is there. dst has Dim columns; its stride is
// free. Errors: ShapeError, also if start is negative or start + dst.Rows overflows an int; OverlapError if dst shares
// memory with the table; then dst is as it was. Without rows, start does not matter.
func (s *Sinusoidal) Fill(dst rowvec.Matrix, start int) error {
	const op = "positional.Sinusoidal.Fill"
	if err := check.Matrix(op, "dst", dst, s.Dim()); err != nil || dst.Rows == 0 {
		return err
	}
	if err := check.Positions(op, "dst.Rows", dst.Rows, start, s.Limit()); err != nil {
		return err
	}
	if err := check.Apart(op, "dst", dst, "table", s.table); err != nil {
		return err
	}
	n := s.stored(start, dst.Rows)
	copyRows(check.Window(dst, 0, n, 0, dst.Cols), check.Window(s.table, start, n, 0, dst.Cols))
	if n < dst.Rows {
		s.waves.fillLarge(check.Window(dst, n, dst.Rows-n, 0, dst.Cols), start+n)
	}
	return nil
}

// FillAt sets row i of dst to PE(at[i]): positions of their own for each row, as decoders with a cache and padded batches
// have them (see CountPositions, CountUnmasked and CountRagged). Consecutive rows at consecutive positions are computed
// together.
//
// dst has len(at) rows and Dim columns; its stride is free. Errors: ShapeError; IndexError for a position that is negative
// or math.MaxInt; OverlapError if dst shares memory with the table or with at; then dst is as it was.
func (s *Sinusoidal) FillAt(dst rowvec.Matrix, at []int) error {
	const op = "positional.Sinusoidal.FillAt"
	if err := s.checkAt(op, "dst", dst, at); err != nil {
		return err
	}
	return s.fillAt(op, dst, at)
}

// fillAt is FillAt of what has been checked.
func (s *Sinusoidal) fillAt(op string, dst rowvec.Matrix, at []int) error {
	for i := 0; i < len(at); {
		n, stored := s.runStored(at[i:])
		part := check.Window(dst, i, n, 0, dst.Cols)
		if stored {
			if rowvec.Gather(part, s.table, at[i:i+n]) != nil {
				return changed(op)
			}
		} else if !s.waves.fillAt(part, at[i:i+n]) {
			return changed(op)
		}
		i += n
	}
	return nil
}

// AddTo adds PE(start + i mod seq) to row i of x, for each i. Positions that are not in the table are computed once for
// all sequences.
//
// x has a multiple of seq rows and Dim columns; its stride is free. Errors: ShapeError, also if start is negative or
// start + seq overflows an int; OverlapError if x shares memory with the table; then x is as it was. Without rows, seq
// and start do not matter.
func (s *Sinusoidal) AddTo(x rowvec.Matrix, seq, start int) error {
	const op = "positional.Sinusoidal.AddTo"
	if err := checkSequences(op, "x", x, s.Dim(), seq, start, s.Limit()); err != nil || x.Rows == 0 {
		return err
	}
	if err := check.Apart(op, "x", x, "table", s.table); err != nil {
		return err
	}
	n := s.stored(start, seq)
	for first := 0; first < x.Rows; first += seq {
		rowvec.AddBatches(check.Window(x, first, n, 0, x.Cols), check.Window(s.table, start, n, 0, x.Cols)) // cannot fail
	}
	if n < seq {
		s.waves.add(x, seq, n, start)
	}
	return nil
}

// AddAt adds PE(at[i]) to row i of x, for each i: AddTo with positions of their own for each row. Shapes and errors are
// those of FillAt.
func (s *Sinusoidal) AddAt(x rowvec.Matrix, at []int) error {
	const op = "positional.Sinusoidal.AddAt"
	if err := s.checkAt(op, "x", x, at); err != nil {
		return err
	}
	return s.addAt(op, x, at)
}

// addAt is AddAt of what has been checked.
func (s *Sinusoidal) addAt(op string, x rowvec.Matrix, at []int) error {
	for i := 0; i < len(at); {
		n, stored := s.runStored(at[i:])
		if stored {
			for k := i; k < i+n; k++ {
				pos := at[k]
				if pos < 0 || pos >= s.table.Rows {
					return changed(op)
				}
				rowvec.Add(x.Row(k), s.table.Row(pos)) // cannot fail
			}
		} else if !s.waves.addAt(check.Window(x, i, n, 0, x.Cols), at[i:i+n]) {
			return changed(op)
		}
		i += n
	}
	return nil
}

// stored returns how many of n positions from start on are in the table.
func (s *Sinusoidal) stored(start, n int) int { return min(n, max(0, s.table.Rows-start)) }

// changed says that a position which was right when it was checked is not any more.
func changed(op string) error { return fmt.Errorf("%w (%s)", rowvec.ErrChanged, op) }

// runStored returns how many positions at, which is not empty, begins with that are all in the table, or all not.
func (s *Sinusoidal) runStored(at []int) (n int, stored bool) {
	stored = at[0] < s.table.Rows
	for n = 1; n < len(at) && (at[n] < s.table.Rows) == stored; n++ {
	}
	return n, stored
}

func (s *Sinusoidal) checkAt(op, name string, m rowvec.Matrix, at []int) error {
	if err := check.Shape(op, name, m, len(at), s.Dim()); err != nil {
		return err
	}
	if err := check.IDs(op, "position id", at, math.MaxInt); err != nil {
		return err
	}
	if err := check.Apart(op, name, m, "table", s.table); err != nil {
		return err
	}
	return checkPositionsApart(op, name, m, at)
}
