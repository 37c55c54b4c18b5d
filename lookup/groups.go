package lookup

import (
	"math"
	"math/bits"
	"slices"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/tuning"
)

// groups are the rows that the ids of a batch choose, each once and in ascending order, and for each of them the places
// in the batch where it occurs.
type groups struct {
	ids     []int // the rows
	at      []int // the places, by row and within a row ascending
	offsets []int // those of row r are at[offsets[r]:offsets[r+1]]; one more than there are rows

	keys, spare []uint64 // an id, and in the lowest bits its place

	together *together // nil until several workers have been at it

	counts [2][1 << digitBits]int // last, here and in what holds groups: see Gradient
}

// sized returns a slice of n elements, whatever they are: x, if there is room.
func sized[T any](x []T, n int) []T { return slices.Grow(x[:0], n)[:n] }

// group forms the groups of ids, without those that are id except. It is an error if an id is not below limit any more, or
// if ids and places need more than 64 bits together, for which a table of 2^44 rows takes 2^19 ids.
func (g *groups) group(op string, ids view, except, limit, workers int) error {
	n := ids.n
	shift := bits.Len(uint(n))
	if most := 64 - bits.Len(uint(limit)); shift > most {
		return check.AtMost(op, "len(ids)", n, 1<<most-1)
	}
	if workers >= togetherWorkers && n >= tuning.SharedKeys {
		if !g.groupTogether(ids, except, limit, shift, workers) {
			return changed(op)
		}
		return nil
	}
	g.keys = sized(g.keys, n)
	ok := false
	if ids.wide() {
		g.keys, ok = pack(g.keys, as[uint64](ids), uint64(except), uint64(limit), shift)
	} else {
		g.keys, ok = pack(g.keys, as[uint32](ids), uint64(except), uint64(limit), shift)
	}
	if !ok {
		return changed(op)
	}
	g.sort(shift, bits.Len(uint(limit-1)))

	n = len(g.keys)
	g.room(n)
	rows, last := 0, uint64(math.MaxUint64)
	for i, key := range g.keys {
		g.at[i] = int(key & (1<<shift - 1))
		id := key >> shift
		g.ids[rows], g.offsets[rows] = int(id), i
		if id != last { // without a branch
			rows++
		}
		last = id
	}
	g.offsets[rows] = n
	g.ids, g.offsets = g.ids[:rows], g.offsets[:rows+1]
	return nil
}

// togetherWorkers is the number of workers from which on they form groups together: to count keys by chunks, and each digit by itself,
// takes them twice as long as one takes.
const togetherWorkers = 4

// room has room for n places.
func (g *groups) room(n int) {
	g.ids, g.at, g.offsets = sized(g.ids, n), sized(g.at, n), sized(g.offsets, n+1)
}

// pack sets keys to those of ids but for except, if all are below limit.
func pack[I uint32 | uint64](keys []uint64, ids []I, except, limit uint64, shift int) ([]uint64, bool) {
	n := 0
	for i := range ids {
		id := uint64(ids[i]) // may have changed since the check; read once
		if id >= limit {     // also where except is none, which -1 stands for
			return nil, false
		}
		if id == except {
			continue
		}
		keys[n] = id<<shift | uint64(i)
		n++
	}
	return keys[:n], true
}

const (
	// digitBits is the most bits of an id that one pass of sort goes by: its counts take 16 KiB of the first-level cache.
	digitBits = 11
	// keyCost is what a pass takes for a key, where 1 is what it takes for a count.
	keyCost = 4
	// fewKeys are sorted by comparison, without counts.
	fewKeys = 40
)

// digit returns the size of the digits, all of one size, by which a radix sort of n keys by so many bits does the least: a pass
// sees to each of its counts, and to each key.
func digit(width, n int) int {
	passes := max(1, (width+digitBits-1)/digitBits)
	size := (width + passes - 1) / passes
	for {
		smaller := (width + passes) / (passes + 1)
		if (passes+1)<<smaller+keyCost*n >= passes<<size {
			return size
		}
		passes, size = passes+1, smaller
	}
}

// sort orders the keys, whose places ascend, by the bits that ids have: a radix sort from the lowest digit on, which counts
// the next digit of keys while it moves them by one. On a Zen 3, us for so many keys of so many bits, in as few passes as there
// can be, each of which counts first, and so, medians of 41 interleaved rounds:
//
//	keys     uniform, 10 bits   16 bits      20 bits      24 bits      Zipf, 16 bits   20 bits
//	   64     1.55   0.52     1.55  0.86   2.09  1.64   1.56  1.03      1.56  0.93    1.55  1.17
//	  128     1.61   0.93     1.68  1.81   5.10  2.28   2.25  2.02      1.74  1.53    3.16  1.79
//	1,024     5.14   3.83     9.12  6.52   10.7  9.49   12.7  8.73      10.8  7.40    12.6  10.1
//	8,192     38.2   25.1     69.5  46.0    101  72.2    101  67.0      83.6  56.3    84.2  59.7
//
// Steps with SGD of 8,192 Zipf ids of 1,000,000 x 64 take 35.7 and not 37.9 ns per id, x 16 18.5 and not 21.7, gradients
// 22.6 and not 25.7, 15.6 and not 18.8. 64 keys had been sorted by comparison; of 40 that is as quick.
func (g *groups) sort(shift, width int) {
	n := len(g.keys)
	if n <= fewKeys {
		slices.Sort(g.keys)
		return
	}
	if width == 0 {
		return
	}
	g.spare = sized(g.spare, n)
	from, to := g.keys, g.spare
	digit := digit(width, n)
	counts, next := g.counts[0][:1<<digit], g.counts[1][:1<<digit]
	mask := uint64(len(counts) - 1)
	clear(counts)
	for _, key := range from {
		counts[key>>shift&mask]++
	}
	for last := shift + width - digit; ; shift += digit {
		first := 0
		for d, count := range counts {
			counts[d] = first
			first += count
		}
		if shift >= last {
			for _, key := range from {
				d := key >> shift & mask
				i := counts[d]
				counts[d] = i + 1
				to[i] = key
			}
			break
		}
		clear(next)
		for _, key := range from {
			d := key >> shift & mask
			i := counts[d]
			counts[d] = i + 1
			to[i] = key
			next[key>>(shift+digit)&mask]++
		}
		from, to, counts, next = to, from, next, counts
	}
	g.keys, g.spare = to, from
}

// sums adds up rows by groups.
type sums struct {
	rows    rowvec.Matrix // of a gradient, one for each place or for each bag of places
	mask    rowvec.Mask   // of rows as a whole
	weights []float32     // nil, or a factor for each place, in the order of at
	memory  []float32     // for weights, and for the gradient of maxima
	bags    []int         // of bags: the one of each token, or for maxima the group
	counts  []int         // of bags: the tokens of each
	groups
}

// factors say what the rows of a batch are multiplied by.
type factors struct {
	alpha  float32
	counts bool // divided by the number of occurrences of their id
}

// set gets ready to add up rows, one for each id but those that are id except, and all below limit, of which a mask drops
// elements.
func (s *sums) set(
	op string, ids view, except, limit int, rows rowvec.Matrix, mask rowvec.Mask, f factors, workers int,
) error {
	if err := s.group(op, ids, except, limit, workers); err != nil {
		return err
	}
	s.rows, s.mask = rows, mask
	s.weigh(f)
	return nil
}

// forget lets go of the rows, which are the caller's.
func (s *sums) forget() { s.rows, s.mask = rowvec.Matrix{}, rowvec.Mask{} }

// weigh sets the weights.
func (s *sums) weigh(f factors) {
	if f.alpha == 1 && !f.counts {
		s.weights = nil
		return
	}
	s.memory = sized(s.memory, len(s.at))
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

// sumSome sets row i of dst, which has no more than sumRows of them, to the sum over group lo+i. Where elements are dropped, one call
// does so in all rows, whose sums then are made: on a Xeon, ns per id of sparse gradients with a call for each row and so, 50,257 x 64 93
// and 41, 50,257 x 16 87 and 26, 1,000,000 x 128 117 and 65, 50,257 x 768 412 and 335.
func (s *sums) sumSome(dst rowvec.Matrix, lo int) error {
	first := s.offsets[lo]
	drops := s.mask.Threshold() > 0
	if drops && s.offsets[lo+dst.Rows]-first > min(len(inOrder), max(1, scratchElements/dst.Cols)) {
		half := dst.Rows / 2
		if half == 0 {
			return s.sumDropped(dst.Row(0), lo)
		}
		if err := s.sumSome(rows(dst, 0, half), lo); err != nil {
			return err
		}
		return s.sumSome(rows(dst, half, dst.Rows), lo+half)
	}
	var offsets [sumRows + 1]int
	for i := range dst.Rows + 1 {
		offsets[i] = s.offsets[lo+i] - first
	}
	last := first + offsets[dst.Rows]
	var weights []float32
	if s.weights != nil {
		weights = s.weights[first:last]
	}
	if !drops {
		return rowvec.BagSum(dst, s.rows, s.at[first:last], offsets[:dst.Rows+1], weights)
	}
	n := last - first
	scratch := scratchOf(n * dst.Cols)
	defer scratches.Put(scratch)
	dropped := rowvec.Matrix{Rows: n, Cols: dst.Cols, Data: (*scratch)[:n*dst.Cols], Stride: dst.Cols}
	forward.DropRows(dropped, s.rows, s.mask, s.at[first:last])
	return rowvec.BagSum(dst, dropped, inOrder[:n], offsets[:dst.Rows+1], weights)
}

// inOrder are the numbers of as many rows as are dropped from at a time.
var inOrder = func() (ids [2 * sumRows]int) {
	for i := range ids {
		ids[i] = i
	}
	return ids
}()

// sumDropped sets sum to that of a group whose rows are too many to be held, where elements are dropped.
func (s *sums) sumDropped(sum []float32, r int) error {
	most := max(1, scratchElements/len(sum))
	scratch := scratchOf(most * len(sum))
	defer scratches.Put(scratch)
	dropped := rowvec.Matrix{Cols: len(sum), Data: (*scratch)[:most*len(sum)], Stride: len(sum)}
	clear(sum)
	for lo, end := s.offsets[r], s.offsets[r+1]; lo < end; lo += dropped.Rows {
		dropped.Rows = min(most, end-lo)
		forward.DropRows(dropped, s.rows, s.mask, s.at[lo:lo+dropped.Rows])
		for i := range dropped.Rows {
			w := float32(1)
			if s.weights != nil {
				w = s.weights[lo+i]
			}
			if err := rowvec.AddScaled(sum, w, dropped.Row(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// span returns the groups that begin in a range of places.
func (s *sums) span(lo, hi int) (first, end int) {
	groups := s.offsets[:len(s.ids)]
	first, _ = slices.BinarySearch(groups, lo)
	end, _ = slices.BinarySearch(groups, hi)
	return first, end
}

// pieces adds up groups lo to hi-1, some at a time in memory that stays in the second-level cache, and hands the sums to u,
// with the number of the first group and whether they follow others.
func (s *sums) pieces(lo, hi int, u interface {
	use(m rowvec.Matrix, lo int, follows bool) error
}) error {
	dim := s.rows.Cols
	most := max(1, min(sumRows, scratchElements/dim))
	scratch := scratchOf(most * dim)
	defer scratches.Put(scratch)
	for first := lo; lo < hi; lo += most {
		n := min(most, hi-lo)
		m := rowvec.Matrix{Rows: n, Cols: dim, Data: (*scratch)[:n*dim], Stride: dim}
		if err := s.sumSome(m, lo); err != nil {
			return err
		}
		if err := u.use(m, lo, lo > first); err != nil {
			return err
		}
	}
	return nil
}

// singles are the ids of a batch that occur once, in the order of the batch.
type singles struct {
	ids    []int
	places []int // where they stand in it, or the bags that they stand in
}

// take takes the ids that occur once out of the groups of a batch of n ids with rows of so many columns, or none where that
// costs more than it saves: see tuning.StraightColumns.
func (s *singles) take(g *groups, n, cols int) {
	once, all := 0, g.offsets[len(g.ids)]
	for i := range g.ids {
		if g.offsets[i+1]-g.offsets[i] == 1 {
			once++
		}
	}
	if most := tuning.StraightColumns; once == 0 || cols <= most && (cols <= most/4 || 4*once < 3*all) {
		return
	}
	byPlace := sized(s.ids, n) // 1 more than the id, or 0
	clear(byPlace)
	kept, places := 0, 0
	for i, id := range g.ids {
		lo, hi := g.offsets[i], g.offsets[i+1]
		if hi-lo == 1 {
			byPlace[g.at[lo]] = id + 1
			continue
		}
		g.ids[kept], g.offsets[kept] = id, places
		kept, places = kept+1, places+copy(g.at[places:], g.at[lo:hi])
	}
	g.offsets[kept] = places
	g.ids, g.at, g.offsets = g.ids[:kept], g.at[:places], g.offsets[:kept+1]
	s.ids, s.places = byPlace, sized(s.places, n)
	taken := 0
	for place, id := range byPlace {
		s.ids[taken], s.places[taken] = id-1, place
		if id != 0 { // without a branch
			taken++
		}
	}
	s.ids, s.places = s.ids[:taken], s.places[:taken]
}
