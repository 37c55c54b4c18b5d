package lookup

import (
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/internal/work"
)

// together is what several workers have in common while they form groups. They do the stages of a radix sort one after the other, of
// which each has as many chunks, and whoever is free takes the next chunk: but none of a stage before all of the last one are done.
type together struct {
	g             *groups
	crew          *work.Crew
	ids           view
	except, limit uint64
	shift, digit  int // bits of a place, and of a digit
	chunks        int
	last          int   // stage
	counts        []int // by chunk: of each digit, or of rows
	starts        []int // by chunk: where the next key of each digit goes
	kept          []int // keys of each chunk of ids
	next, done    atomic.Int64
	changed       atomic.Bool // an id is not below the limit any more
}

// A pass over one digit has two stages: countDigits and moveKeys. In front of the first, ids are packed into keys, and behind the last
// one rows are counted and written.
const (
	countDigits = iota
	moveKeys
	passStages
)

// dropped is the key of an id that counts as none: no other has all bits set, since a place is below the number of ids.
const dropped = math.MaxUint64

// groupTogether is what group does, by several workers, once that has found the bits of a place. It reports whether all ids are below
// the limit.
func (g *groups) groupTogether(ids view, except, limit, shift, workers int) bool {
	t := g.together
	if t == nil || t.g != g { // it is new, or g has been moved
		t = &together{g: g}
		t.crew = work.New(t.work)
		g.together = t
	}
	workers = min(workers, max(togetherWorkers, min(ids.n/max(1, tuning.SharedKeys/8), runtime.GOMAXPROCS(0)))) // a chunk for each
	width := max(1, bits.Len(uint(limit-1)))
	t.ids, t.except, t.limit, t.shift, t.chunks = ids, uint64(except), uint64(limit), shift, workers
	t.digit = digit(width, ids.n/(workers*workers)) // each chunk goes through the counts of all
	passes := parts(width, t.digit)
	t.last = passes*passStages + 1
	t.counts, t.starts = sized(t.counts, workers<<t.digit), sized(t.starts, workers<<t.digit)
	t.kept = sized(t.kept, workers)
	g.keys, g.spare = sized(g.keys, ids.n), sized(g.spare, ids.n)
	g.room(ids.n)
	t.next.Store(0)
	t.done.Store(0)
	t.changed.Store(false)
	_ = t.crew.Do(workers, workers, 1)
	t.ids = view{}
	if t.changed.Load() {
		g.room(0)
		return false
	}
	n, rows := sum(t.kept), sum(t.counts[:workers])
	g.offsets[rows] = n
	g.ids, g.at, g.offsets = g.ids[:rows], g.at[:n], g.offsets[:rows+1]
	return true
}

func sum(x []int) (total int) {
	for _, n := range x {
		total += n
	}
	return total
}

// work takes chunks until none is left.
func (t *together) work(_, _ int) error {
	for {
		item := int(t.next.Add(1)) - 1
		stage, chunk := item/t.chunks, item%t.chunks
		if stage > t.last {
			return nil
		}
		for t.done.Load() < int64(stage*t.chunks) {
			runtime.Gosched()
		}
		if !t.changed.Load() {
			t.do(stage, chunk)
		} else {
			t.done.Add(1)
		}
	}
}

// do does a chunk. Nobody waits for one that ends in a panic, since ids may be memory that cannot be read, nor goes on with what it has
// left.
func (t *together) do(stage, chunk int) {
	whole := false
	defer func() {
		if !whole {
			t.changed.Store(true)
		}
		t.done.Add(1)
	}()
	pass := stage / passStages
	switch {
	case stage == 0 && t.ids.wide():
		packChunk(t, as[uint64](t.ids), chunk)
	case stage == 0:
		packChunk(t, as[uint32](t.ids), chunk)
	case stage == t.last-1:
		t.countRows(pass, chunk)
	case stage == t.last:
		t.fill(pass, chunk)
	case stage%passStages == countDigits:
		t.count(pass, chunk)
	default:
		t.move(pass, chunk)
	}
	whole = true
}

// keysOf returns the keys as they are before a pass, and where the next ones go to.
func (t *together) keysOf(pass int) (from, to []uint64) {
	if pass%2 == 0 {
		return t.g.spare, t.g.keys
	}
	return t.g.keys, t.g.spare
}

// span returns where a chunk of n begins and ends.
func (t *together) span(chunk, n int) (lo, hi int) {
	begin := func(chunk int) int { return int(int64(chunk) * int64(n) / int64(t.chunks)) } // the product may be beyond an int
	return begin(chunk), begin(chunk + 1)
}

// countsOf returns the counts of a chunk.
func (t *together) countsOf(chunk int) []int {
	size := 1 << t.digit
	return t.counts[chunk*size:][:size]
}

// packChunk makes keys of a chunk of ids, each of which may have changed since it was checked, and is read once.
func packChunk[I uint32 | uint64](t *together, ids []I, chunk int) {
	lo, hi := t.span(chunk, len(ids))
	counts := t.countsOf(chunk)
	clear(counts)
	mask, kept := uint64(len(counts)-1), 0
	for i := lo; i < hi; i++ {
		id := uint64(ids[i])
		switch {
		case id >= t.limit: // also where except is none, which -1 stands for
			t.changed.Store(true)
			return
		case id == t.except:
			t.g.spare[i] = dropped
			continue
		}
		t.g.spare[i] = id<<t.shift | uint64(i)
		counts[id&mask]++
		kept++
	}
	t.kept[chunk] = kept
}

func (t *together) count(pass, chunk int) {
	from, _ := t.keysOf(pass)
	lo, hi := t.span(chunk, sum(t.kept))
	counts, shift := t.countsOf(chunk), t.shift+pass*t.digit
	clear(counts)
	mask := uint64(len(counts) - 1)
	for _, key := range from[lo:hi] {
		counts[key>>shift&mask]++
	}
}

// move moves the keys of a chunk behind those of lower digits, and of the same digit in chunks before it.
func (t *together) move(pass, chunk int) {
	from, to := t.keysOf(pass)
	n := len(from)
	if pass > 0 {
		n = sum(t.kept)
	}
	lo, hi := t.span(chunk, n)
	starts, first := t.starts[chunk<<t.digit:][:1<<t.digit], 0
	for d := range starts {
		for c := range t.chunks {
			if c == chunk {
				starts[d] = first
			}
			first += t.counts[c<<t.digit+d]
		}
	}
	shift, mask := t.shift+pass*t.digit, uint64(1<<t.digit-1)
	for _, key := range from[lo:hi] {
		if key == dropped {
			continue
		}
		d := key >> shift & mask
		to[starts[d]] = key
		starts[d]++
	}
}

// countRows counts the rows that begin in a chunk.
func (t *together) countRows(pass, chunk int) {
	keys, _ := t.keysOf(pass)
	lo, hi := t.span(chunk, sum(t.kept))
	last, rows := t.before(keys, lo), 0
	for _, key := range keys[lo:hi] {
		if id := key >> t.shift; id != last {
			rows, last = rows+1, id
		}
	}
	t.counts[chunk] = rows
}

// before returns the id in front of key number i, or one that there is not.
func (t *together) before(keys []uint64, i int) uint64 {
	if i == 0 {
		return math.MaxUint64
	}
	return keys[i-1] >> t.shift
}

// fill writes the rows that begin in a chunk, and its places.
func (t *together) fill(pass, chunk int) {
	keys, _ := t.keysOf(pass)
	lo, hi := t.span(chunk, sum(t.kept))
	last, row, mask := t.before(keys, lo), sum(t.counts[:chunk]), uint64(1<<t.shift-1)
	for i := lo; i < hi; i++ {
		t.g.at[i] = int(keys[i] & mask)
		if id := keys[i] >> t.shift; id != last {
			t.g.ids[row], t.g.offsets[row] = int(id), i
			row, last = row+1, id
		}
	}
}
