package positional

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/pages"
	"github.com/rowvec/rowvec/internal/tuning"
)

// phase says what a wave is of its angle.
type phase uint8

const (
	nothing phase = iota // 0 everywhere
	sine
	cosine
	minusSine
)

// wave is a column of positions: a sine, for instance, of an angle that grows by freq with each position, from 0 on.
type wave struct {
	freq  exact.Turns
	phase phase
}

// waves computes columns of positions. An element depends on its position and its wave alone, and has the same bits however
// it is asked for: it is computed by rowvec.Sinusoids from the multiple of block below its position, where the sine and the
// cosine are exact but for their rounding. It is off by less than 3e-8, which is half a unit in the last place of a float32
// next to 1, at every position, for what the steps add to the error stays below 1e-11.
//
// Any number of goroutines may use one.
type waves struct {
	columns []column
	twice   []float64 // 2*cos(t) of the frequency t, by column
}

// column is what is known of a column. Those of each tile are sorted by frequency, so that each sine and each cosine is
// computed once.
type column struct {
	wave
	sin, cos float64 // of the frequency
	at       int32   // in the tile
	same     bool    // the frequency is that of the one before
}

// Larger blocks have fewer anchors, and smaller ones less to step over before a single position far away; each size has bits
// of its own. On a Zen 4, with AVX-512: ns per element of 2,048 x 512 and of 131,072 x 128, and ns of a single position of
// 512 columns, wherever in a block it is:
//
//	block             64     128    256    512
//	2,048 x 512       0.184  0.134  0.110  0.097
//	131,072 x 128     0.293  0.213  0.186  0.164
//	single position   4174   4879   6319   9124
const (
	block     = 256
	tileWidth = 1024    // columns whose state is in one place at a time
	spareSize = 4 << 10 // elements that are computed before they are added
)

// maxWaves is the largest number of columns whose description can be addressed.
const maxWaves = pages.MaxBytes / int(unsafe.Sizeof(column{})+unsafe.Sizeof(wave{}))

// newWaves returns what computes these columns.
func newWaves(columns []wave) *waves {
	w := &waves{make([]column, len(columns)), make([]float64, len(columns))}
	var last exact.Turns
	sin, cos := last.SinCos()
	for j, c := range columns {
		if c.phase == nothing {
			c.freq = exact.Turns{}
		}
		if c.freq != last {
			last = c.freq
			sin, cos = last.SinCos()
		}
		w.columns[j] = column{wave: c, sin: sin, cos: cos, at: int32(j % tileWidth)}
		w.twice[j] = 2 * cos
	}
	for tile := range slices.Chunk(w.columns, tileWidth) {
		slices.SortStableFunc(tile, func(a, b column) int {
			return cmp.Or(cmp.Compare(b.freq.Hi, a.freq.Hi), cmp.Compare(b.freq.Lo, a.freq.Lo))
		})
		for i := range tile {
			tile[i].same = i > 0 && tile[i].freq == tile[i-1].freq
		}
	}
	return w
}

// state is where the columns of a tile have come to, as rowvec.Sinusoids has it.
type state struct {
	x, y [tileWidth]float64
}

// anchor sets s to position pos of a tile.
func (s *state) anchor(tile []column, pos int) {
	var sin, cos float64
	for i := range tile {
		c := &tile[i]
		if !c.same {
			sin, cos = c.freq.Times(uint64(pos)).SinCos()
		}
		var x, y float64 // the wave, and itself a quarter of a turn ahead
		switch c.phase {
		case sine:
			x, y = sin, cos
		case cosine:
			x, y = cos, -sin
		case minusSine:
			x, y = 0-sin, -cos // no -0
		}
		s.x[c.at], s.y[c.at] = x, float64(x*c.cos)+float64(y*c.sin)
	}
}

// part is what is computed at once, of a tile and a block at most.
type part struct {
	dst    rowvec.Matrix
	tile   []column
	twice  []float64
	anchor int // position
	skip   int // positions from there to row 0 of dst
}

// part returns the part of a matrix that begins with a row and a column; row 0 is position start.
func (w *waves) part(dst rowvec.Matrix, start, row, col int) part {
	skip := (start + row) % block
	rows, cols := min(block-skip, dst.Rows-row), min(tileWidth, dst.Cols-col)
	return part{
		check.Window(dst, row, rows, col, cols), w.columns[col : col+cols], w.twice[col : col+cols], start + row - skip, skip,
	}
}

// fill sets row i of dst to position start + i. dst has a column for each wave, and the last position is below
// math.MaxInt.
func (w *waves) fill(dst rowvec.Matrix, start int) {
	var s state
	for col := 0; col < dst.Cols; col += tileWidth {
		for row := 0; row < dst.Rows; {
			p := w.part(dst, start, row, col)
			s.anchor(p.tile, p.anchor)
			rowvec.Sinusoids(p.dst, p.skip, s.x[:p.dst.Cols], s.y[:p.dst.Cols], p.twice) // cannot fail
			row += p.dst.Rows
		}
	}
}

// fillLarge is fill of a dst that is on the heap, past the caches if it is too large for them.
func (w *waves) fillLarge(dst rowvec.Matrix, start int) {
	if !tuning.Large(dst.Rows * dst.Cols) {
		w.fill(dst, start)
		return
	}
	s := states.Get().(*state) // what a function value gets is not on the stack
	defer states.Put(s)
	for col := 0; col < dst.Cols; col += tileWidth {
		for row := 0; row < dst.Rows; {
			p := w.part(dst, start, row, col)
			s.anchor(p.tile, p.anchor)
			forward.Sinusoids(p.dst, p.skip, s.x[:p.dst.Cols], s.y[:p.dst.Cols], p.twice)
			row += p.dst.Rows
		}
	}
}

var states = sync.Pool{New: func() any { return new(state) }}

// add adds position start + i to row i of each sequence of seq rows of x, for i from first on.
func (w *waves) add(x rowvec.Matrix, seq, first, start int) {
	var s state
	var spare [spareSize]float32
	for col := 0; col < x.Cols; col += tileWidth {
		cols := min(tileWidth, x.Cols-col)
		tile, twice := w.columns[col:col+cols], w.twice[col:col+cols]
		for i, n := first, 0; i < seq; i += n {
			k := (start + i) % block
			n = min(block-k, seq-i, spareSize/cols)
			if k == 0 || i == first {
				s.anchor(tile, start+i-k)
			} else {
				k = 0 // s is there
			}
			sum := rowvec.Matrix{Rows: n, Cols: cols, Data: spare[:n*cols], Stride: cols}
			rowvec.Sinusoids(sum, k, s.x[:cols], s.y[:cols], twice) // cannot fail
			for row := i; row < x.Rows; row += seq {
				rowvec.AddBatches(check.Window(x, row, n, col, cols), sum) // cannot fail
			}
		}
	}
}

// runAt returns the run that at, which is not empty, begins with: n rows that have seq positions from start on, which is n
// where each follows the one before it, and 1 where one is repeated, as that of padding is. It reports false if there are no
// such positions: all have been checked, so that only another goroutine can have made them.
func runAt(at []int) (start, seq, n int, ok bool) {
	start, seq, n = at[0], 1, 1
	if len(at) > 1 && at[1] == start {
		for n = 2; n < len(at) && at[n] == start; n++ {
		}
	} else {
		for n < len(at) && at[n]-start == n {
			n++
		}
		seq = n
	}
	return start, seq, n, start >= 0 && start <= math.MaxInt-seq
}

// fillAt sets row i of dst to position at[i], and reports false for one that has changed since it was checked.
func (w *waves) fillAt(dst rowvec.Matrix, at []int) bool {
	for i := 0; i < len(at); {
		start, seq, n, ok := runAt(at[i:])
		if !ok {
			return false
		}
		w.fill(check.Window(dst, i, seq, 0, dst.Cols), start)
		for k := seq; k < n; k++ {
			copy(dst.Row(i+k), dst.Row(i))
		}
		i += n
	}
	return true
}

// addAt adds position at[i] to row i of x, and reports what fillAt does.
func (w *waves) addAt(x rowvec.Matrix, at []int) bool {
	for i := 0; i < len(at); {
		start, seq, n, ok := runAt(at[i:])
		if !ok {
			return false
		}
		w.add(check.Window(x, i, n, 0, x.Cols), seq, 0, start)
		i += n
	}
	return true
}
