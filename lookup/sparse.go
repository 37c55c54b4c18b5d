package lookup

import (
	"fmt"
	"slices"
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/tuning"
)

// BackwardSparse is Backward with a row-sparse gradient: it adds to grad, which is one of the embedding's table, what
// Backward would add to a dense one of zeros.
func (e *Embedding) BackwardSparse(grad *Gradient, in Input, dOut rowvec.Matrix) error {
	return backwardSparse("lookup.Embedding.BackwardSparse", e, nil, [2]*Gradient{grad}, in, dOut, rowvec.Mask{})
}

// NewSparseGradients returns an empty gradient for each of Parameters, in their order.
func (l *Layer) NewSparseGradients() []*Gradient {
	grads := []*Gradient{l.tokens.NewGradient()}
	if trainable(l.positions) {
		grads = append(grads, newGradient(l.positions.Limit(), l.Dim()))
	}
	return grads
}

// BackwardSparse is Backward with row-sparse gradients, which belong to Parameters in their order.
func (l *Layer) BackwardSparse(grads []*Gradient, in Input, dOut rowvec.Matrix) error {
	return l.backwardSparse("lookup.Layer.BackwardSparse", grads, in, dOut, rowvec.Mask{})
}

// BackwardSparseTrain is BackwardTrain with row-sparse gradients, which belong to Parameters in their order.
func (l *Layer) BackwardSparseTrain(grads []*Gradient, in Input, dOut rowvec.Matrix, step uint64) error {
	return l.backwardSparse("lookup.Layer.BackwardSparseTrain", grads, in, dOut, l.Mask(step))
}

func (l *Layer) backwardSparse(op string, grads []*Gradient, in Input, dOut rowvec.Matrix, mask rowvec.Mask) error {
	want := 1
	if trainable(l.positions) {
		want = 2
	}
	if err := check.Equal(op, "len(grads)", len(grads), want); err != nil {
		return err
	}
	var both [2]*Gradient
	copy(both[:], grads)
	if both[0] == both[1] {
		return &rowvec.OverlapError{Op: op, Dst: "position gradient", Src: "token gradient"}
	}
	return backwardSparse(op, l.tokens, l.positions, both, in, dOut, mask)
}

func backwardSparse(
	op string, tokens *Embedding, positions Positions, grads [2]*Gradient, in Input, dOut rowvec.Matrix, mask rowvec.Mask,
) error {
	if err := in.check(op, tokens.Vocab()); err != nil {
		return err
	}
	n := in.Len()
	if err := checkMask(op, n, mask); err != nil {
		return err
	}
	if err := check.Shape(op, "dOut", dOut, n, tokens.Dim()); err != nil {
		return err
	}
	if err := grads[0].fits(op, "token gradient", tokens.Vocab(), tokens.Dim()); err != nil {
		return err
	}
	if positions != nil {
		if _, err := in.positions(op, positions.Limit()); err != nil {
			return err
		}
	}
	learned := trainable(positions)
	if learned {
		if err := grads[1].fits(op, "position gradient", positions.Limit(), tokens.Dim()); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	workers := tokens.workersFor(n, tuning.ParallelGradientElements)
	if !tokens.frozen {
		f := factors{alpha: tokens.scale, counts: tokens.byFrequency}
		if err := grads[0].prepare(op, in.ids, tokens.padding, dOut, mask, f, workers); err != nil {
			return err
		}
	}
	if learned {
		g := grads[1]
		if err := g.prepare(op, viewOf(in.allPositions(&g.places)), -1, dOut, mask, factors{alpha: 1}, workers); err != nil {
			grads[0].batch.forget()
			return err
		}
		if err := g.commit(workers); err != nil {
			return err
		}
	}
	if tokens.frozen {
		return nil
	}
	return grads[0].commit(workers)
}

// fits reports a gradient that is missing or not that of a table of rows x cols.
func (g *Gradient) fits(op, name string, rows, cols int) error {
	if g == nil {
		return fmt.Errorf("rowvec: %s: %s is nil", op, name)
	}
	if g.table != rows {
		return check.Equal(op, name+" rows", g.table, rows)
	}
	if g.dim != cols {
		return check.Equal(op, name+" columns", g.dim, cols)
	}
	return nil
}

// allPositions returns the positions of all tokens, in buffer unless the caller has given them.
func (in *Input) allPositions(buffer *[]int) []int {
	if in.placed {
		return in.at
	}
	n := in.Len()
	at := slices.Grow((*buffer)[:0], n)[:n]
	*buffer = at
	if in.ragged {
		in.fill(at, 0)
		return at
	}
	for i := range at {
		at[i] = in.start + i%in.seq
	}
	return at
}

var gradients = sync.Pool{New: func() any { return newGradient(0, 0) }}

// backwardByFrequency adds the gradient of the tokens to a dense one where occurrences have to be counted first.
func backwardByFrequency(op string, tokens *Embedding, dense rowvec.Matrix, in Input, dOut rowvec.Matrix, mask rowvec.Mask, workers int) error {
	g := gradients.Get().(*Gradient)
	defer gradients.Put(g)
	g.Clear()
	g.table, g.dim = tokens.Vocab(), tokens.Dim()
	f := factors{alpha: tokens.scale, counts: true}
	if err := g.prepare(op, in.ids, tokens.padding, dOut, mask, f, workers); err != nil {
		return err
	}
	if err := g.commit(workers); err != nil {
		return err
	}
	return g.AddTo(dense)
}
