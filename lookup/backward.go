package lookup

import (
	"math"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/tuning"
)

// checkBackward reports an input, or a gradient of what Forward makes of it, that does not fit, and returns what
// positionTable does.
func (l *Layer) checkBackward(
	op string, in *Input, dOut rowvec.Matrix, mask rowvec.Mask,
) (table rowvec.Matrix, stored bool, err error) {
	if err := in.check(op, l.tokens.Vocab()); err != nil {
		return table, false, err
	}
	if err := checkMask(op, in.Len(), mask); err != nil {
		return table, false, err
	}
	if err := check.Shape(op, "dOut", dOut, in.Len(), l.tokens.Dim()); err != nil {
		return table, false, err
	}
	table, stored, err = l.positionTable(op, in)
	if err == nil && l.segments != nil {
		err = in.checkTypes(l.segments.Vocab())
	}
	return table, stored, err
}

func backwardPass(
	op string, l *Layer, grads perParameter[rowvec.Matrix], in Input, dOut rowvec.Matrix, mask rowvec.Mask,
) error {
	tokens, n := l.tokens, in.Len()
	table, stored, err := l.checkBackward(op, &in, dOut, mask)
	if err != nil {
		return err
	}
	if err := l.checkGradients(op, &grads, &in, dOut); err != nil || n == 0 {
		return err
	}

	if l.norm.on {
		g := normGradientsPool.Get().(*normGradients)
		defer normGradientsPool.Put(g)
		if err := g.compute(op, l, in, table, stored, dOut, mask); err != nil {
			return err
		}
		if err := rowvec.AddBatches(grads[normWeight], g.weight); err != nil {
			return err
		}
		if err := rowvec.AddBatches(grads[normBias], g.bias); err != nil {
			return err
		}
		dOut, mask = g.sum, rowvec.Mask{}
	}
	workers := tokens.workersFor(n, tokens.gradientElements())
	if tokens.byFrequency && !tokens.frozen {
		if err := backwardByFrequency(op, tokens, grads[token], in, dOut, mask, workers); err != nil {
			return err
		}
	}
	p := pass{task: backwardRange, Layer: l, in: in, out: dOut, grads: grads, mask: mask, drops: mask.Threshold() > 0}
	all, share := lines(tokens.Dim(), workers)
	if !p.sharesRows(workers) {
		return p.run(op, workers, all, share)
	}
	p.task, p.share = sharesRange, share
	p.shares = rowSharesPool.Get().(*rowShares)
	if !p.shares.divide(in.ids, tokens.padding, workers) {
		rowSharesPool.Put(p.shares)
		p.task, p.shares = backwardRange, nil
		return p.run(op, workers, all, share)
	}
	parts := len(p.shares.ends)
	if p.learns(segment) || p.learns(position) {
		parts += (all + share - 1) / share
	}
	err = p.run(op, workers, parts, 1)
	rowSharesPool.Put(p.shares)
	return err
}

// sharesRows reports whether workers share the gradient of tokens by its rows, for which tuning.ShareColumns and ShareWorkers have the
// reasons. Where elements are dropped, that is done with many rows at once.
func (p *pass) sharesRows(workers int) bool {
	if workers == 1 || !p.learns(token) || p.tokens.byFrequency || p.drops {
		return false
	}
	all, share := lines(p.tokens.Dim(), workers)
	return p.tokens.Dim() > tuning.ShareColumns || workers >= tuning.ShareWorkers*max(2, all/share)
}

// rowShares are the ids of a batch by shares of the rows that they choose, so that no two workers add to the same row.
type rowShares struct {
	batch       []int // the ids, as they were when they were counted
	ids, places []int // those of one share behind those of the other, and within a share in the order of the batch
	ends        []int // where each share ends
}

var rowSharesPool = sync.Pool{New: func() any { return new(rowShares) }}

// sharesEach is how many shares there are for a worker, at least: rows fall to them by a hash of their number, and some are
// chosen by more ids than others.
const sharesEach = 8

// divide divides ids, but those that are id except, into shares for so many workers. It gives up if one share, of a row that most of
// them choose, would be more than a worker's part.
func (s *rowShares) divide(ids view, except, workers int) bool {
	size := bits.Len(uint(sharesEach*workers - 1))
	s.batch, s.ends = sized(s.batch, ids.n), sized(s.ends, 1<<size)
	clear(s.ends)
	if ids.wide() {
		countShares(s, as[uint64](ids), except, size)
	} else {
		countShares(s, as[uint32](ids), except, size)
	}
	n, most := 0, 0
	for k, count := range s.ends {
		s.ends[k] = n
		n += count
		most = max(most, count)
	}
	if most > n/workers+sharesEach {
		return false
	}
	s.ids, s.places = sized(s.ids, n), sized(s.places, n)
	for i, id := range s.batch {
		if id == except {
			continue
		}
		k := shareOf(id, size)
		to := s.ends[k]
		s.ends[k] = to + 1
		s.ids[to], s.places[to] = id, i
	}
	return true
}

// countShares copies the ids, which may change meanwhile, and counts those of each share.
func countShares[I uint32 | uint64](s *rowShares, ids []I, except, size int) {
	for i, x := range ids {
		id := int(min(uint64(x), math.MaxInt)) // no row is that
		s.batch[i] = id
		if id != except {
			s.ends[shareOf(id, size)]++
		}
	}
}

// shareOf returns the share of a row among 2^size: the top bits of a multiple of its number (Knuth, "The Art of Computer
// Programming", volume 3, 6.4).
func shareOf(id, size int) int { return int(uint64(id) * 0x9E3779B97F4A7C15 >> (64 - size)) }

// sharesPart does a range of shares.
func (p *pass) sharesPart(lo, hi int) error {
	ends := p.shares.ends
	if lo < len(ends) {
		first, end := 0, ends[min(hi, len(ends))-1]
		if lo > 0 {
			first = ends[lo-1]
		}
		if err := p.shares.add(p.grads[token], p.tokens.scale, p.out, first, end); err != nil || hi <= len(ends) {
			return err
		}
	}
	lo, hi = max(lo-len(ends), 0), hi-len(ends)
	all, _ := lines(p.tokens.Dim(), 1)
	return p.backwardPart(lo*p.share, min(hi*p.share, all))
}

// add adds the rows of dOut, each multiplied by scale, that belong to the ids from first on and below end.
func (s *rowShares) add(grad rowvec.Matrix, scale float32, dOut rowvec.Matrix, first, end int) error {
	if first == end {
		return nil
	}
	return apply(&forward.Update{
		Method: forward.SGD, Table: grad, Rate: -scale, // what it subtracts
		IDs: unsafe.Pointer(&s.ids[first]), Wide: bits.UintSize == 64,
		Grad: dOut, Places: s.places[first:end], More: len(s.ids) - end,
	})
}

// checkGradients reports dense gradients of other shapes than the parameters, or that share memory with each other or with
// what is read.
func (l *Layer) checkGradients(op string, grads *perParameter[rowvec.Matrix], in *Input, dOut rowvec.Matrix) error {
	for k, name := range gradientNames {
		if !l.has(k) {
			continue
		}
		if err := check.Shape(op, name, grads[k], l.rowsOf(k), l.Dim()); err != nil {
			return err
		}
		if err := check.Apart(op, name, grads[k], "dOut", dOut); err != nil {
			return err
		}
		for j, other := range grads[:k] { // those that the layer has not are empty
			if err := check.Apart(op, name, grads[k], gradientNames[j], other); err != nil {
				return err
			}
		}
		if err := in.apart(op, name, grads[k]); err != nil {
			return err
		}
	}
	return nil
}

// backwardPart does a range of lines of columns, so that no two workers write to the same element and the order of sums is that
// of the rows.
func (p *pass) backwardPart(lo, hi int) error {
	lo, hi = lo*lineElements, min(hi*lineElements, p.tokens.Dim())
	dOut := columns(p.out, lo, hi)
	var grads perParameter[rowvec.Matrix]
	for k := range grads {
		if p.learns(k) {
			grads[k] = columns(p.grads[k], lo, hi)
		}
	}
	if !p.drops {
		return p.backwardRows(&grads, dOut, 0)
	}
	size := pieceRows(hi - lo)
	scratch := scratchOf(size * (hi - lo))
	defer scratches.Put(scratch)
	for first := 0; first < dOut.Rows; first += size {
		from := rows(dOut, first, min(first+size, dOut.Rows))
		piece := rowvec.Matrix{Rows: from.Rows, Cols: from.Cols, Data: *scratch, Stride: from.Cols}
		mask := p.mask
		mask.Row, mask.Col = first, lo
		if err := rowvec.Dropout(piece, from, mask); err != nil {
			return err
		}
		if err := p.backwardRows(&grads, piece, first); err != nil {
			return err
		}
	}
	return nil
}

// backwardRows does the rows of dOut, which are those of the input from first on.
func (p *pass) backwardRows(grads *perParameter[rowvec.Matrix], dOut rowvec.Matrix, first int) error {
	if p.learns(token) && !p.tokens.byFrequency && p.shares == nil {
		if err := p.tokens.backward(grads[token], p.in.ids, first, dOut); err != nil {
			return err
		}
	}
	if p.learns(segment) {
		if err := p.backwardSegments(grads[segment], dOut, first); err != nil {
			return err
		}
	}
	if !p.learns(position) {
		return nil
	}
	return p.backwardPositions(grads[position], dOut, first)
}

// backward adds the rows of dOut to the gradient of those that ids choose from the one called first on.
func (e *Embedding) backward(grad rowvec.Matrix, all view, first int, dOut rowvec.Matrix) error {
	ids := all.slice(first, first+dOut.Rows)
	if e.padding < 0 {
		return ids.scatterAdd(grad, e.scale, dOut, all.n-first-dOut.Rows, first > 0)
	}
	for lo := 0; ; {
		from, to := ids.runWithout(e.padding, lo)
		if from == to {
			return nil
		}
		follows := from == 0 && first > 0 // padding comes in long runs
		if err := ids.slice(from, to).scatterAdd(grad, e.scale, rows(dOut, from, to), all.n-first-to, follows); err != nil {
			return err
		}
		lo = to
	}
}

func (p *pass) backwardSegments(grad, dOut rowvec.Matrix, first int) error {
	switch {
	case p.in.typed:
		return p.segments.backward(grad, viewOf(p.in.types), first, dOut)
	case p.segments.padding == 0:
		return nil
	}
	return rowvec.AddBatches(rows(grad, 0, 1), dOut)
}

func (p *pass) backwardPositions(grad, dOut rowvec.Matrix, first int) error {
	for lo, end := first, first+dOut.Rows; lo < end; {
		if !p.in.placed && !p.in.ragged {
			start, seq, n := p.in.run(lo, end)
			if err := rowvec.AddBatches(rows(grad, start, start+seq), rows(dOut, lo-first, lo-first+n)); err != nil {
				return err
			}
			lo += n
			continue
		}
		var buffer [atRows]int
		at := p.in.positionsOf(buffer[:], lo, end)
		if err := rowvec.ScatterAdd(grad, at, 1, rows(dOut, lo-first, lo-first+len(at))); err != nil {
			return err
		}
		lo += len(at)
	}
	return nil
}
