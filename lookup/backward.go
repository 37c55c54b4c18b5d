package lookup

import (
	"math/bits"
	"runtime"
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
	if err == nil {
		err = l.checkParts(op, in)
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
	if err := l.checkGradients(op, &grads, &in, dOut, table); err != nil || n == 0 {
		return err
	}

	if l.norm.on {
		g := normGradientsPool.Get().(*normGradients)
		defer normGradientsPool.Put(g)
		alone := tokens.workersFor(n, tokens.parallelElements()) <= 1 && !tokens.byFrequency &&
			(stored || l.positions == nil)
		if alone {
			if err := g.add(op, l, grads, in, table, stored, dOut, mask); err != nil {
				return err
			}
		} else if err := g.compute(op, l, in, table, stored, dOut, mask); err != nil {
			return err
		}
		if err := rowvec.AddBatches(grads[normWeight], g.weight); err != nil {
			return err
		}
		if err := rowvec.AddBatches(grads[normBias], g.bias); err != nil || alone {
			return err
		}
		dOut, mask = g.sum, rowvec.Mask{}
	}
	workers := tokens.workersFor(n, tokens.denseElements())
	if tokens.byFrequency && !tokens.frozen {
		if err := backwardByFrequency(op, tokens, grads[token], in, dOut, mask, workers); err != nil {
			return err
		}
	}
	p := pass{task: backwardRange, Layer: l, in: in, out: dOut, grads: grads, mask: mask, drops: mask.Threshold() > 0}
	all, share := lines(tokens.Dim(), workers)
	if p.shares = p.rowShares(workers, runtime.GOMAXPROCS(0)); p.shares == 0 {
		return p.run(op, workers, all, share)
	}
	p.task, p.share = sharesRange, share
	if p.learns(segment) || p.learns(position) {
		p.rest = parts(all, p.share)
	}
	return p.run(op, workers, p.rest+p.shares, 1)
}

// mostShares is the most that rows are divided into. Each share goes over all ids, for 1 ns and more each, and so there are more of
// them than workers only where a row has more than columnsEach columns for each.
const (
	mostShares  = 1024
	columnsEach = 32
)

// rowShares returns into how many shares of rows workers divide the gradient of tokens on so many cores, or 0 if they share it by
// columns: tuning.ShareColumns, ShareRewritten and ShareElements have the reasons. So they do where a row is chosen by so many ids
// that its share would be more than a worker's part, as a sample of them has it.
func (p *pass) rowShares(workers, cores int) int {
	if workers = min(workers, cores); workers <= 1 || !p.learns(token) || p.tokens.byFrequency {
		return 0
	}
	dim, n := p.tokens.Dim(), p.in.Len()
	most := tuning.ShareColumns
	if p.rewrites() {
		most = min(most, tuning.ShareRewritten)
	}
	if dim <= most && (n < tuning.ShareElements/dim || workers < 2*max(4, parts(lines(dim, workers)))) {
		return 0
	}
	shares := min(max(workers, dim/columnsEach), mostShares)
	const samples = 1024
	var counts [mostShares]int
	sampled, largest := 0, 0
	for j := range min(n, samples) {
		id := p.in.ids.at(shareOf(uint64(j), n)) // sequences may all begin with the same, and so no step will do
		if id == p.tokens.padding {
			continue
		}
		k := shareOf(uint64(id), shares)
		counts[k]++
		sampled, largest = sampled+1, max(largest, counts[k])
	}
	if largest > sampled/workers+sampled/shares+samples/32 {
		return 0
	}
	return shares
}

// rewrites reports whether some rows are written to over and over, row by row of dOut: of types, and of positions where AddBatches does not
// add the rows of several sequences at once.
func (p *pass) rewrites() bool {
	return p.learns(segment) && p.in.typed || p.learns(position) && (p.in.placed || p.in.ragged || p.drops)
}

// shareOf returns the share of a row among so many, by the top bits of a multiple of its number (Knuth, "The Art of Computer
// Programming", volume 3, 6.4).
func shareOf(id uint64, shares int) int {
	k, _ := bits.Mul64(id*0x9E3779B97F4A7C15, uint64(shares))
	return int(k)
}

// shareOfRows are ids of one share, in the order of the batch.
type shareOfRows struct {
	ids    [2048]uint64
	places [2048]int
}

var sharesOfRows = sync.Pool{New: func() any { return new(shareOfRows) }}

// sharesPart does a range of shares of columns, and behind them of rows: so, of few workers, the one that comes first does all columns, and
// no two write to a row. With 8,192 Zipf ids of 50,257 x 768, on two cores that hand over a line in 240 ns, two workers took 0.62 to 0.68 of
// the time of one of ragged batches and of segments, and 0.99 to 1.29 when shares of columns came last; with 2,048 0.83 to 0.91, and 1.03
// and 1.73.
func (p *pass) sharesPart(lo, hi int) error {
	if lo < p.rest {
		all, _ := lines(p.tokens.Dim(), 1)
		end := min(hi, p.rest)
		if err := p.backwardPart(lo*p.share, min(end*p.share, all)); err != nil {
			return err
		}
		lo = end
	}
	if lo == hi {
		return nil
	}
	s := sharesOfRows.Get().(*shareOfRows)
	defer sharesOfRows.Put(s)
	for ; lo < hi; lo++ {
		if err := p.in.ids.share(s, p, lo-p.rest); err != nil {
			return err
		}
	}
	return nil
}

// share adds the rows of dOut that belong to the ids of a share.
func (v view) share(s *shareOfRows, p *pass, share int) error {
	if v.wide() {
		return addShare(s, p, as[uint64](v), share)
	}
	return addShare(s, p, as[uint32](v), share)
}

func addShare[I uint32 | uint64](s *shareOfRows, p *pass, ids []I, share int) error {
	except, skipped, n := uint64(p.tokens.padding), -1, 0
	if p.tokens.padding < 0 {
		skipped = shareOf(except, p.shares) // what has become no id is met
	}
	for i, x := range ids {
		id := uint64(x) // may have changed since the check; read once
		k := shareOf(id, p.shares)
		if id == except {
			k = skipped
		}
		s.ids[n], s.places[n] = id, i
		if k == share { // without a branch
			n++
		}
		if n == len(s.ids) {
			if err := s.add(p, n); err != nil {
				return err
			}
			n = 0
		}
	}
	return s.add(p, n)
}

// add adds the rows of dOut that belong to the first n ids, each multiplied by the scale of the tokens.
func (s *shareOfRows) add(p *pass, n int) error {
	if n == 0 {
		return nil
	}
	u := forward.Update{
		Method: forward.SGD, Table: p.grads[token], Rate: -p.tokens.scale, // what it subtracts
		IDs: unsafe.Pointer(&s.ids), Wide: true,
		Grad: p.out, Places: s.places[:n],
	}
	if !p.drops {
		return apply(&u)
	}
	cols := p.out.Cols
	most := pieceRows(cols)
	scratch := scratchOf(most * cols)
	defer scratches.Put(scratch)
	u.Places = nil
	for lo := 0; lo < n; lo += u.Grad.Rows {
		u.IDs = unsafe.Pointer(&s.ids[lo])
		u.Grad = rowvec.Matrix{Rows: min(most, n-lo), Cols: cols, Data: *scratch, Stride: cols}
		forward.DropRows(u.Grad, p.out, p.mask, s.places[lo:lo+u.Grad.Rows])
		if err := apply(&u); err != nil {
			return err
		}
	}
	return nil
}

// checkGradients reports dense gradients of other shapes than the parameters, or that share memory with each other or with
// what is read: parameters too, and positions of a table that are none.
func (l *Layer) checkGradients(op string, grads *perParameter[rowvec.Matrix], in *Input, dOut, positions rowvec.Matrix) error {
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
		for j, table := range tableNames {
			m := positions
			if l.has(j) {
				m = l.parameter(j)
			} else if j != position {
				continue
			}
			if err := check.Apart(op, name, grads[k], table, m); err != nil {
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
	size := dOut.Rows
	var kept []float32
	if p.drops {
		size = pieceRows(hi - lo)
		scratch := scratchOf(size * (hi - lo))
		defer scratches.Put(scratch)
		kept = *scratch
	} else if p.inPieces(hi - lo) {
		size = pieceRows(hi - lo)
	}
	for first := 0; first < dOut.Rows; first += size {
		piece := rows(dOut, first, min(first+size, dOut.Rows))
		if p.drops {
			from, mask := piece, p.mask
			piece.Data, piece.Stride = kept, piece.Cols
			mask.Row, mask.Col = first, lo
			if err := rowvec.Dropout(piece, from, mask); err != nil {
				return err
			}
		}
		if err := p.backwardRows(&grads, piece, first); err != nil {
			return err
		}
	}
	return nil
}

// inPieces reports whether all gradients are to be added to from one piece of so many columns of dOut before the next. Workers that share
// columns do not: where both write to one row over and over, each waits for lines that the other has fetched ahead, and that took 1.5 times
// as long on two cores that hand over a line in 240 ns.
func (p *pass) inPieces(cols int) bool {
	passes := 0
	if p.learnsTokens() {
		passes++
	}
	if p.learns(segment) {
		passes++
	}
	if p.learns(position) && (p.in.placed || p.in.ragged || p.in.Len() >= tuning.ManySequences*p.in.seq) {
		passes++
	}
	return passes > 1 && p.in.Len() > tuning.PassElements/cols && cols == p.tokens.Dim()
}

// learnsTokens reports whether backwardRows adds to the gradient of tokens.
func (p *pass) learnsTokens() bool { return p.learns(token) && !p.tokens.byFrequency && p.shares == 0 }

// backwardRows does the rows of dOut, which are those of the input from first on.
func (p *pass) backwardRows(grads *perParameter[rowvec.Matrix], dOut rowvec.Matrix, first int) error {
	if p.learnsTokens() {
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
