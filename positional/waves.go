package positional

import (
	"math"
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/pages"
	"github.com/rowvec/rowvec/internal/tuning"
)

// waves computes columns of positions, such as a sine of an angle that grows by a frequency with each position, from 0 on.
// An element depends on its position and its column alone, and has the same bits however it is asked for: it is computed by
// rowvec.Sinusoids from the multiple of block below its position, where the sine and the cosine are exact but for their
// rounding. It is off by less than 3e-8, which is half a unit in the last place of a float32 next to 1, at every position,
// for what the steps add to the error stays below 1e-11.
//
// Any number of goroutines may use one.
type waves struct {
	cols        int
	exact.Waves // more columns than cols, to a multiple of lanes: sines of 0
	states      sync.Pool
}

// Larger blocks have fewer anchors, and smaller ones less to step over before a single position far away; each size has bits
// of its own. On a Zen 4, with AVX-512, when anchors took 10 ns a column instead of 2.4: ns per element of 2,048 x 512 and of
// 131,072 x 128, and ns of a single position of 512 columns, wherever in a block it is:
//
//	block             64     128    256    512
//	2,048 x 512       0.184  0.134  0.110  0.097
//	131,072 x 128     0.293  0.213  0.186  0.164
//	single position   4174   4879   6319   9124
const (
	block     = 256
	lanes     = 16      // columns that anchors are computed for at a time
	tileWidth = 1024    // columns whose state is in one place at a time, a multiple of lanes
	spareSize = 4 << 10 // elements that are computed before they are added
)

// maxWaves is the largest number of columns whose description can be addressed.
const maxWaves = pages.MaxBytes/40 - lanes

// newWaves returns what computes so many columns, all of them 0 until they are set.
func newWaves(cols int) *waves {
	n := (cols + lanes - 1) / lanes * lanes
	words, numbers := make([]uint64, 3*n), make([]float64, 2*n)
	return &waves{
		cols: cols,
		Waves: exact.Waves{
			High: words[:n:n], Low: words[n : 2*n : 2*n], Offset: words[2*n:], Sin: numbers[:n:n], Twice: numbers[n:],
		},
		states: sync.Pool{New: func() any { return &state{start: -1, last: -1} }},
	}
}

// A column is a sine or a cosine, which is a sine a quarter turn ahead. What is 0 everywhere is the sine of no frequency.
const (
	sine   = 0
	cosine = exact.Quarter
)

// set says what column j is.
func (w *waves) set(j int, freq exact.Turns, offset uint64) {
	w.High[j], w.Low[j], w.Offset[j] = freq.Hi, freq.Lo, offset
}

// ready is called when all columns are set: it works out what they turn by.
func (w *waves) ready() *waves {
	for j := 0; j < len(w.High); j += tileWidth {
		end := min(j+tileWidth, len(w.High))
		frequencies := exact.Waves{High: w.High[j:end], Low: w.Low[j:end], Offset: noOffset[:end-j]}
		forward.Anchors(frequencies, w.Sin[j:end], w.Twice[j:end], 1)
	}
	for j := range w.Twice {
		w.Twice[j] *= 2
	}
	return w
}

var noOffset [tileWidth]uint64 // stays as it is

// state is where the columns of a tile have come to: x and y are those of position pos, as rowvec.Sinusoids has them, and have
// come there in steps from the anchor, position start. They go on from there where a decoder asks for one position after the
// other; the last one is kept, since each of its layers asks for the same. On a Zen 3, ns of a single position of 512 columns,
// of 768, and of Rotary.Apply to 12 heads of 64, medians of three programs in turn: from the anchor 9,776, 15,775 and 1,963;
// the next position 412, 537 and 748; the same one 130, 151 and 464.
type state struct {
	x, y            [tileWidth]float64
	col, start, pos int
	row             [tileWidth]float32 // position last, of waves that are one tile
	last            int                // -1: none
}

// seek returns how many steps it is to position pos of the columns from col on, from where s has come to or from the anchor.
// Once these and n more are done, s is where it then says it is.
func (s *state) seek(w *waves, col, pos, n int) (skip int) {
	if start := pos - pos%block; s.col != col || s.start != start || s.pos > pos {
		s.col, s.start, s.pos = col, start, start
		end := min(col+tileWidth, len(w.High))
		tile := exact.Waves{
			High: w.High[col:end], Low: w.Low[col:end], Offset: w.Offset[col:end], Sin: w.Sin[col:end], Twice: w.Twice[col:end],
		}
		forward.Anchors(tile, s.x[:], s.y[:], uint64(start))
	}
	skip = pos - s.pos
	s.pos = pos + n
	return skip
}

// part is what is computed at once, of a tile and a block at most.
type part struct {
	dst     rowvec.Matrix
	x, y, c []float64
	skip    int // positions in front of row 0 of dst
}

// part returns the part of a matrix that begins with a row and a column; row 0 is position start.
func (w *waves) part(s *state, dst rowvec.Matrix, start, row, col int) part {
	pos := start + row
	rows, cols := min(block-pos%block, dst.Rows-row), min(tileWidth, dst.Cols-col)
	skip := s.seek(w, col, pos, rows)
	return part{check.Window(dst, row, rows, col, cols), s.x[:cols], s.y[:cols], w.Twice[col : col+cols], skip}
}

// fill sets row i of dst to position start + i. dst has a column for each wave, and the last position is below
// math.MaxInt.
func (w *waves) fill(dst rowvec.Matrix, start int) {
	s := w.states.Get().(*state)
	defer w.states.Put(s)
	if dst.Rows == 1 && dst.Cols <= tileWidth {
		if s.last != start {
			s.last = start
			row := rowvec.Matrix{Rows: 1, Cols: dst.Cols, Data: s.row[:dst.Cols], Stride: dst.Cols} // what nobody else may write to
			p := w.part(s, row, start, 0, 0)
			rowvec.Sinusoids(p.dst, p.skip, p.x, p.y, p.c) // cannot fail
		}
		copy(dst.Row(0), s.row[:])
		return
	}
	for col := 0; col < dst.Cols; col += tileWidth {
		for row := 0; row < dst.Rows; {
			p := w.part(s, dst, start, row, col)
			rowvec.Sinusoids(p.dst, p.skip, p.x, p.y, p.c) // cannot fail
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
	s := w.states.Get().(*state)
	defer w.states.Put(s)
	for col := 0; col < dst.Cols; col += tileWidth {
		for row := 0; row < dst.Rows; {
			p := w.part(s, dst, start, row, col)
			forward.Sinusoids(p.dst, p.skip, p.x, p.y, p.c)
			row += p.dst.Rows
		}
	}
}

// add adds position start + i to row i of each sequence of seq rows of x, for i from first on.
func (w *waves) add(x rowvec.Matrix, seq, first, start int) {
	s := w.states.Get().(*state)
	defer w.states.Put(s)
	var spare [spareSize]float32
	for col := 0; col < x.Cols; col += tileWidth {
		cols := min(tileWidth, x.Cols-col)
		for i, n := first, 0; i < seq; i += n {
			pos := start + i
			n = min(block-pos%block, seq-i, spareSize/cols)
			sum := rowvec.Matrix{Rows: n, Cols: cols, Data: spare[:n*cols], Stride: cols}
			skip := s.seek(w, col, pos, n)
			rowvec.Sinusoids(sum, skip, s.x[:cols], s.y[:cols], w.Twice[col:col+cols]) // cannot fail
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
