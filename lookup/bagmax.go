package lookup

import (
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/work"
)

// maxPass is a backward pass over maxima on its way; it is used again. Workers share the columns. On a Xeon, ns per id by plain loops and
// so, a single worker, in bags of 10: 100,000 x 64 308 and 57, 1,000,000 x 64 454 and 66, 50,257 x 768 2725 and 650; of 1,000,000 x 128
// in bags of one 604 and 184, of 50 672 and 121.
type maxPass struct {
	table, dOut rowvec.Matrix
	values      rowvec.Matrix // the gradient, of which each group has a row

	// Tokens but padding, bag by bag: the row that each has of the table and of values, and where the bags begin.
	ids, groups, offsets []int

	crew *work.Crew
}

var maxPasses = sync.Pool{New: func() any {
	p := new(maxPass)
	p.crew = work.New(p.part)
	return p
}}

// maxima sets the rows of s, which has formed its groups, to the gradient of maxima, one for each group.
func (b *Bag) maxima(s *sums, in *Input, dOut rowvec.Matrix, workers int) error {
	n, dim := len(s.ids), b.Dim()
	s.memory = sized(s.memory, n*dim)
	clear(s.memory)
	s.rows = rowvec.Matrix{Rows: n, Cols: dim, Data: s.memory, Stride: dim}
	p := maxPasses.Get().(*maxPass)
	defer func() {
		p.table, p.dOut, p.values = rowvec.Matrix{}, rowvec.Matrix{}, rowvec.Matrix{}
		maxPasses.Put(p)
	}()
	p.table, p.dOut, p.values = b.tokens.weight, dOut, s.rows
	p.take(s, in)
	all, share := lines(dim, workers)
	return p.crew.Do(workers, all, share)
}

// backwardMaxima adds the gradient of maxima, whose groups grad has formed.
func (b *Bag) backwardMaxima(op string, grad *Gradient, in *Input, dOut rowvec.Matrix, workers int) error {
	s := &grad.batch
	if err := b.maxima(s, in, dOut, workers); err != nil {
		return err
	}
	if !grad.finite && len(grad.ids) == 0 {
		grad.adopt(workers)
		return nil
	}
	n := len(s.ids)
	for r := range n {
		s.at[r], s.offsets[r+1] = r, r+1
	}
	s.at, s.weights = s.at[:n], nil
	if err := grad.try(op, workers); err != nil {
		return err
	}
	return grad.commit(workers)
}

// take takes the tokens out of groups, in the order of the input.
func (p *maxPass) take(s *sums, in *Input) {
	s.bags = sized(s.bags, in.Len()) // the group of each token, or -1
	for i := range s.bags {
		s.bags[i] = -1
	}
	for r := range s.ids {
		for _, place := range s.at[s.offsets[r]:s.offsets[r+1]] {
			s.bags[place] = r
		}
	}
	p.ids, p.groups, p.offsets = p.ids[:0], p.groups[:0], append(p.offsets[:0], 0)
	for bag := range in.sequences() {
		first, end := in.sequenceSpan(bag)
		for _, r := range s.bags[first:end] {
			if r >= 0 {
				p.ids, p.groups = append(p.ids, s.ids[r]), append(p.groups, r)
			}
		}
		p.offsets = append(p.offsets, len(p.ids))
	}
}

// maxScratch is what a worker has for some bags, or for some tokens of one: maxima and, beside them, what is left of their gradients;
// the gradient of each token; its bag.
type maxScratch struct {
	both, terms []float32
	bags        []int
}

var maxScratches = sync.Pool{New: func() any { return new(maxScratch) }}

// part adds columns lo to hi-1, counted in lines, of the gradients of all tokens, some bags at a time that stay in the second-level cache.
func (p *maxPass) part(lo, hi int) error {
	first := lo * lineElements
	cols := min(hi*lineElements, p.values.Cols) - first
	window := func(m rowvec.Matrix, row, rows int) rowvec.Matrix { return check.Window(m, row, rows, first, cols) }
	table, values := window(p.table, 0, p.table.Rows), window(p.values, 0, p.values.Rows)
	most := max(1, scratchElements/cols)
	s := maxScratches.Get().(*maxScratch)
	defer maxScratches.Put(s)
	for lo, bags := 0, len(p.offsets)-1; lo < bags; {
		hi := lo + 1
		for hi < bags && hi-lo < min(windowBags, most) && p.offsets[hi+1]-p.offsets[lo] <= most {
			hi++
		}
		begin, end := p.offsets[lo], p.offsets[hi]
		s.both = sized(s.both, (hi-lo)*2*cols)
		both := rowvec.Matrix{Rows: hi - lo, Cols: 2 * cols, Data: s.both, Stride: 2 * cols}
		maxima, left := check.Window(both, 0, both.Rows, 0, cols), check.Window(both, 0, both.Rows, cols, cols)
		var offsets [windowBags + 1]int
		for i := range hi - lo + 1 {
			offsets[i] = p.offsets[lo+i] - begin
		}
		if err := rowvec.BagMax(maxima, table, p.ids[begin:end], offsets[:hi-lo+1]); err != nil {
			return err
		}
		for i := range both.Rows {
			copy(left.Row(i), window(p.dOut, lo+i, 1).Data[:cols])
		}
		for read := end-begin <= most; begin < end; begin += most {
			n := min(most, end-begin)
			s.bags, s.terms = sized(s.bags, n), sized(s.terms, n*cols)
			bag := 0
			for i := range s.bags {
				for p.offsets[lo+bag+1] <= begin+i {
					bag++
				}
				s.bags[i] = bag
			}
			terms := rowvec.Matrix{Rows: n, Cols: cols, Data: s.terms, Stride: cols}
			if forward.BagMaxBackward(terms, table, p.ids[begin:begin+n], both, s.bags, read) < n {
				return rowvec.ErrChanged // by no means
			}
			if err := rowvec.ScatterAdd(values, p.groups[begin:begin+n], 1, terms); err != nil {
				return err
			}
		}
		lo = hi
	}
	return nil
}
