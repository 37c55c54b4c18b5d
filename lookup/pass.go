package lookup

import (
	"errors"
	"fmt"
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/internal/work"
)

// pass is one forward or backward call on its way: what its parts need to know, and the crew that does them. A pass is
// used again when its call is over.
type pass struct {
	tokens    *Embedding
	positions Positions // nil: none
	in        Input
	out       rowvec.Matrix    // the destination of a forward pass, dOut of a backward one
	grads     [2]rowvec.Matrix // of tokens and of positions
	table     rowvec.Matrix    // of positions, in a forward pass
	stored    bool             // all positions are in it
	size      int              // of a part: rows of a forward pass, columns of a backward one

	forward, backward *work.Crew
}

var passes = sync.Pool{New: func() any {
	p := new(pass)
	p.forward, p.backward = work.New(p.forwardPart), work.New(p.backwardPart)
	return p
}}

// end gives the pass back, without a hold on what belongs to the caller, and returns what becomes of an error of a part.
// All ids have been checked, so that only ids which changed since can be wrong with them. After a panic there is no end:
// the pass is left to the garbage collector.
func (p *pass) end(op string, err error) error {
	*p = pass{forward: p.forward, backward: p.backward}
	passes.Put(p)
	if err == nil {
		return nil
	}
	var index *rowvec.IndexError
	if errors.As(err, &index) || errors.Is(err, rowvec.ErrChanged) {
		return fmt.Errorf("%w (%s)", rowvec.ErrChanged, op)
	}
	return err
}

const (
	// partElements is the least size of a part of a forward pass. Each worker gets about four, of which the last ones
	// even out what took longer.
	partElements = 64 << 10
	// partColumns is the least number of columns of a part of a backward pass.
	partColumns = 64
	// lineElements is a cache line: no two parts of a backward pass share more than the one at their border.
	lineElements = 16
)

// workersFor returns how many workers share a call of n rows, for which several pay from so many elements on.
func (e *Embedding) workersFor(n, elements int) int {
	if n < elements/e.Dim() {
		return 1
	}
	return e.workers
}

func forwardPass(op string, tokens *Embedding, positions Positions, dst rowvec.Matrix, in Input) error {
	if err := in.check(op, tokens.Vocab()); err != nil {
		return err
	}
	n := in.Len()
	if err := check.Shape(op, "dst", dst, n, tokens.Dim()); err != nil || n == 0 {
		return err
	}
	if err := check.Apart(op, "dst", dst, "token table", tokens.weight); err != nil {
		return err
	}
	if err := in.apart(op, "dst", dst); err != nil {
		return err
	}
	var table rowvec.Matrix
	stored := false
	if positions != nil {
		need, err := in.positions(op, positions.Limit())
		if err != nil {
			return err
		}
		table = positions.Table() // once: it may be anybody's, and the kernels below trust it
		if table.Rows != 0 {
			if err := check.Matrix(op, "position table", table, tokens.Dim()); err != nil {
				return err
			}
		}
		stored = need <= table.Rows
		if err := check.Apart(op, "dst", dst, "position table", table); err != nil {
			return err
		}
	}

	if tokens.maxNorm > 0 {
		if err := tokens.renormalise(op, in.ids); err != nil {
			return err
		}
	}
	p := passes.Get().(*pass)
	p.tokens, p.positions, p.table, p.in, p.out, p.stored = tokens, positions, table, in, dst, stored
	p.size = n
	workers := tokens.workersFor(n, tuning.ParallelElements)
	if workers > 1 {
		p.size = max(1, partElements/tokens.Dim(), n/workers/4)
	}
	return p.end(op, p.forward.Do(workers, (n+p.size-1)/p.size))
}

// forwardPart does a range of rows.
func (p *pass) forwardPart(part int) error {
	lo := part * p.size
	hi := min(lo+p.size, p.in.Len())
	if p.positions != nil && !p.stored {
		return p.forwardComputed(lo, hi)
	}
	r := p.rows()
	if p.positions == nil {
		r.Dst = rows(p.out, lo, hi)
		return p.in.ids.slice(lo, hi).forward(&r)
	}
	r.Positions = p.table
	var buffer []int
	if p.in.ragged && !p.in.placed {
		pooled := atBuffers.Get().(*[atRows]int) // what a function value gets is not on the stack
		defer atBuffers.Put(pooled)
		buffer = pooled[:]
	}
	for n := 0; lo < hi; lo += n {
		if p.in.placed || p.in.ragged {
			r.At = p.in.positionsOf(buffer, lo, hi)
			n = len(r.At)
		} else {
			r.Start, r.Seq, n = p.in.run(lo, hi)
		}
		r.Dst = rows(p.out, lo, lo+n)
		if err := p.in.ids.slice(lo, lo+n).forward(&r); err != nil {
			return err
		}
	}
	return nil
}

// rows returns what all rows of a forward pass have in common.
func (p *pass) rows() forward.Rows {
	return forward.Rows{
		Table: p.tokens.weight, Scaled: p.tokens.scaled, Scale: p.tokens.scale,
		Stream: tuning.Large(p.out.Rows * p.out.Cols),
	}
}

// forwardComputed does rows whose positions are in no table: it has some vectors of positions computed at a time.
func (p *pass) forwardComputed(lo, hi int) error {
	dim := p.tokens.Dim()
	scratch := scratches.Get().(*[]float32)
	defer scratches.Put(scratch)
	most := max(1, scratchElements/dim)
	if need := most * dim; cap(*scratch) < need {
		*scratch = make([]float32, need)
	}
	r := p.rows()
	for n := 0; lo < hi; lo += n {
		var start int
		start, r.Seq, n = p.in.run(lo, hi)
		if r.Seq > most {
			r.Seq, n = most, most
		}
		r.Positions = rowvec.Matrix{Rows: r.Seq, Cols: dim, Data: (*scratch)[:r.Seq*dim], Stride: dim}
		if err := p.positions.Fill(r.Positions, start); err != nil {
			return err
		}
		r.Dst = rows(p.out, lo, lo+n)
		if err := p.in.ids.slice(lo, lo+n).forward(&r); err != nil {
			return err
		}
	}
	return nil
}

// scratchElements is the size of the scratch for computed positions, within the second-level cache.
const scratchElements = 32 << 10

var scratches = sync.Pool{New: func() any { return new([]float32) }}

// atRows is the number of positions of a ragged batch that are worked out at a time.
const atRows = 256

var atBuffers = sync.Pool{New: func() any { return new([atRows]int) }}

// positionsOf returns the positions of the rows from lo on, and below hi: all of them if the caller has given them, or
// as many as buffer holds.
func (in *Input) positionsOf(buffer []int, lo, hi int) []int {
	if in.placed {
		return in.at[lo:hi]
	}
	at := buffer[:min(len(buffer), hi-lo)]
	in.fill(at, lo)
	return at
}

func backwardPass(
	op string, tokens *Embedding, positions Positions, grads [2]rowvec.Matrix, in Input, dOut rowvec.Matrix,
) error {
	if err := in.check(op, tokens.Vocab()); err != nil {
		return err
	}
	n, dim := in.Len(), tokens.Dim()
	if err := check.Shape(op, "token gradient", grads[0], tokens.Vocab(), dim); err != nil {
		return err
	}
	if err := check.Shape(op, "dOut", dOut, n, dim); err != nil {
		return err
	}
	learned := trainable(positions)
	if positions != nil {
		if _, err := in.positions(op, positions.Limit()); err != nil {
			return err
		}
	}
	if learned {
		if err := check.Shape(op, "position gradient", grads[1], positions.Limit(), dim); err != nil {
			return err
		}
		if err := check.Apart(op, "position gradient", grads[1], "dOut", dOut); err != nil {
			return err
		}
		if err := check.Apart(op, "position gradient", grads[1], "token gradient", grads[0]); err != nil {
			return err
		}
		if err := in.apart(op, "position gradient", grads[1]); err != nil {
			return err
		}
	}
	if err := check.Apart(op, "token gradient", grads[0], "dOut", dOut); err != nil {
		return err
	}
	if err := in.apart(op, "token gradient", grads[0]); err != nil || n == 0 {
		return err
	}

	workers := tokens.workersFor(n, tuning.ParallelGradientElements)
	if tokens.byFrequency && !tokens.frozen {
		if err := backwardByFrequency(op, tokens, grads[0], in, dOut, workers); err != nil || !learned {
			return err
		}
	}
	p := passes.Get().(*pass)
	p.tokens, p.in, p.out, p.grads = tokens, in, dOut, grads
	if learned {
		p.positions = positions
	}
	p.size = max(partColumns, ((dim+workers-1)/workers+lineElements-1)&^(lineElements-1))
	return p.end(op, p.backward.Do(workers, (dim+p.size-1)/p.size))
}

// backwardPart does a range of columns, so that no two parts write to the same element and the order of sums is that of
// the rows.
func (p *pass) backwardPart(part int) error {
	lo := part * p.size
	hi := min(lo+p.size, p.tokens.Dim())
	dOut := columns(p.out, lo, hi)
	if !p.tokens.frozen && !p.tokens.byFrequency {
		if err := p.backwardTokens(columns(p.grads[0], lo, hi), dOut); err != nil {
			return err
		}
	}
	if p.positions == nil {
		return nil
	}
	return p.backwardPositions(columns(p.grads[1], lo, hi), dOut)
}

func (p *pass) backwardTokens(grad, dOut rowvec.Matrix) error {
	if p.tokens.padding < 0 {
		return p.in.ids.scatterAdd(grad, p.tokens.scale, dOut)
	}
	for lo := 0; ; {
		from, to := p.in.ids.runWithout(p.tokens.padding, lo)
		if from == to {
			return nil
		}
		if err := p.in.ids.slice(from, to).scatterAdd(grad, p.tokens.scale, rows(dOut, from, to)); err != nil {
			return err
		}
		lo = to
	}
}

func (p *pass) backwardPositions(grad, dOut rowvec.Matrix) error {
	if !p.in.placed && !p.in.ragged {
		return rowvec.AddBatches(rows(grad, p.in.start, p.in.start+p.in.seq), dOut)
	}
	for lo := 0; lo < dOut.Rows; {
		var buffer [atRows]int
		at := p.in.positionsOf(buffer[:], lo, dOut.Rows)
		if err := rowvec.ScatterAdd(grad, at, 1, rows(dOut, lo, lo+len(at))); err != nil {
			return err
		}
		lo += len(at)
	}
	return nil
}

// rows returns rows [lo, hi) of m.
func rows(m rowvec.Matrix, lo, hi int) rowvec.Matrix { return check.Window(m, lo, hi-lo, 0, m.Cols) }

// columns returns columns [lo, hi) of m.
func columns(m rowvec.Matrix, lo, hi int) rowvec.Matrix { return check.Window(m, 0, m.Rows, lo, hi-lo) }
