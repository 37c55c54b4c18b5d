package lookup

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/rowvec/rowvec"
)

// groups are the rows that the ids of a batch choose, each once and in ascending order, and for each of them the places
// in the batch where it occurs.
type groups struct {
	ids     []int // the rows
	at      []int // the places, by row and within a row ascending
	offsets []int // those of row r are at[offsets[r]:offsets[r+1]]; one more than there are rows

	pairs, spare []pair
}

type pair struct {
	id uint64
	at int
}

// group forms the groups of ids, without those that are id except. It is false if an id is not below limit any more.
func (g *groups) group(ids view, except int, limit int) bool {
	g.pairs = slices.Grow(g.pairs[:0], ids.n)
	if ids.wide() {
		g.collect64(as[uint64](ids), uint64(except))
	} else {
		g.collect32(as[uint32](ids), uint64(except))
	}
	for _, p := range g.pairs { // of the copies, which nobody can change
		if p.id >= uint64(limit) {
			return false
		}
	}
	g.sort(uint64(limit - 1))

	g.ids, g.at, g.offsets = g.ids[:0], slices.Grow(g.at[:0], len(g.pairs)), append(g.offsets[:0], 0)
	for i, p := range g.pairs {
		if i == 0 || p.id != g.pairs[i-1].id {
			g.ids, g.offsets = append(g.ids, int(p.id)), append(g.offsets, i)
		}
		g.at = append(g.at, p.at)
		g.offsets[len(g.ids)] = i + 1
	}
	return true
}

func (g *groups) collect32(ids []uint32, except uint64) {
	for i, id := range ids {
		if uint64(id) != except {
			g.pairs = append(g.pairs, pair{uint64(id), i})
		}
	}
}

func (g *groups) collect64(ids []uint64, except uint64) {
	for i, id := range ids {
		if id != except {
			g.pairs = append(g.pairs, pair{id, i})
		}
	}
}

// digitBits is the most bits of an id that one pass of sort goes by: its counts take 16 KiB of the first-level cache.
const digitBits = 11

// sort orders the pairs by their ids, which are at most highest, and leaves those of one id in their order: a radix sort
// from the lowest digit on, with digits of equal size.
func (g *groups) sort(highest uint64) {
	n := len(g.pairs)
	width := bits.Len64(highest)
	passes := (width + digitBits - 1) / digitBits
	if passes == 0 {
		return
	}
	if cap(g.spare) < n {
		g.spare = make([]pair, n, max(n, cap(g.pairs)))
	}
	from, to := g.pairs, g.spare[:n]
	digit := (width + passes - 1) / passes
	var counts [1 << digitBits]int
	mask := uint64(1)<<digit - 1
	for shift := 0; shift < width; shift += digit {
		clear(counts[:mask+1])
		for i := range from {
			counts[from[i].id>>shift&mask]++
		}
		first := 0
		for d := range counts[:mask+1] {
			counts[d], first = first, first+counts[d]
		}
		for i := range from {
			d := from[i].id >> shift & mask
			to[counts[d]] = from[i]
			counts[d]++
		}
		from, to = to, from
	}
	g.pairs, g.spare = from, to
}

// sums adds up rows by groups.
type sums struct {
	groups
	rows    rowvec.Matrix // of a gradient, one for each place or for each bag of places
	weights []float32     // nil, or a factor for each place, in the order of at
	memory  []float32     // for weights, and for the rows of maxima
	bags    []int         // of bags: the one of each token, or for maxima the group
	counts  []int         // of bags: the tokens of each, or for maxima where each element comes from
}

// factors say what the rows of a batch are multiplied by.
type factors struct {
	alpha  float32
	counts bool // divided by the number of occurrences of their id
}

// set gets ready to add up rows, one for each id but those that are id except, and all below limit.
func (s *sums) set(op string, ids view, except, limit int, rows rowvec.Matrix, f factors) error {
	if !s.group(ids, except, limit) {
		return fmt.Errorf("%w (%s)", rowvec.ErrChanged, op)
	}
	s.rows = rows
	s.weigh(f)
	return nil
}

// forget lets go of the rows, which are the caller's.
func (s *sums) forget() { s.rows = rowvec.Matrix{} }

// weigh sets the weights.
func (s *sums) weigh(f factors) {
	if f.alpha == 1 && !f.counts {
		s.weights = nil
		return
	}
	s.memory = slices.Grow(s.memory[:0], len(s.at))[:len(s.at)]
	for r := range s.ids {
		lo, hi := s.offsets[r], s.offsets[r+1]
		w := f.alpha
		if f.counts {
			w /= float32(hi - lo)
		}
		for i := lo; i < hi; i++ {
			s.memory[i] = w
		}
	}
	s.weights = s.memory
}

// sumRows is the number of groups that are added up by one call of a kernel.
const sumRows = 256

// sum sets row i of dst to the sum over group lo+i, for all rows of dst.
func (s *sums) sum(dst rowvec.Matrix, lo int) error {
	for i := 0; i < dst.Rows; i += sumRows {
		n := min(sumRows, dst.Rows-i)
		if err := s.sumSome(rows(dst, i, i+n), lo+i); err != nil {
			return err
		}
	}
	return nil
}

func (s *sums) sumSome(dst rowvec.Matrix, lo int) error {
	var offsets [sumRows + 1]int
	first := s.offsets[lo]
	for i := range dst.Rows + 1 {
		offsets[i] = s.offsets[lo+i] - first
	}
	last := first + offsets[dst.Rows]
	var weights []float32
	if s.weights != nil {
		weights = s.weights[first:last]
	}
	return rowvec.BagSum(dst, s.rows, s.at[first:last], offsets[:dst.Rows+1], weights)
}

// part returns the size of a part where so many workers share the groups, in places: each worker gets about four.
func (s *sums) part(workers int) int {
	if workers == 1 {
		return max(1, len(s.at))
	}
	return max(1, len(s.at)/workers/4)
}

// parts returns how many parts of a size there are.
func (s *sums) parts(size int) int { return (len(s.at) + size - 1) / size }

// span returns the groups of a part: those that begin in it.
func (s *sums) span(part, size int) (lo, hi int) {
	groups := s.offsets[:len(s.ids)]
	lo, _ = slices.BinarySearch(groups, part*size)
	hi, _ = slices.BinarySearch(groups, (part+1)*size)
	return lo, hi
}

// pieces adds up groups lo to hi-1, some at a time in memory that stays in the second-level cache, and hands the sums to u.
func (s *sums) pieces(lo, hi int, u interface {
	use(m rowvec.Matrix, lo int) error
}) error {
	dim := s.rows.Cols
	scratch := scratches.Get().(*[]float32)
	defer scratches.Put(scratch)
	most := max(1, min(sumRows, scratchElements/dim))
	if need := most * dim; cap(*scratch) < need {
		*scratch = make([]float32, need)
	}
	for ; lo < hi; lo += most {
		n := min(most, hi-lo)
		m := rowvec.Matrix{Rows: n, Cols: dim, Data: (*scratch)[:n*dim], Stride: dim}
		if err := s.sumSome(m, lo); err != nil {
			return err
		}
		if err := u.use(m, lo); err != nil {
			return err
		}
	}
	return nil
}
