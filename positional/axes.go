package positional

import (
	"fmt"
	"math"
	"slices"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
)

// Sections gives each token a position on each of several axes, such as time, height and width: of the Dim/2 pairs of a
// head, the first pairs[0] turn by the position on axis 0, the next pairs[1] by that on axis 1, and so on. Frequencies are
// those that the pairs have without it, the highest ones for axis 0. This is M-RoPE of Wang et al., "Qwen2-VL: enhancing
// vision-language model's perception of the world at any resolution" (2024), with Sections(16, 24, 24).
//
// ApplyAxes, BackwardAxes and AnglesAxes take such positions; CountGrids counts them. With all other methods a token is at the same
// position on every axis, as those of texts are; then Sections and InterleavedSections change nothing.
//
// The numbers of pairs are at least 1 and Dim/2 in all; NewRotary returns a ShapeError for others. Of Sections,
// InterleavedSections and Axial, the last one counts.
func Sections(pairs ...int) RotaryOption { return axesOption(together, pairs) }

// InterleavedSections is Sections with pairs dealt out in turn, so that each axis has high frequencies and low ones: of n
// axes, pair i is for axis i mod n, as long as that has not all of its own; otherwise it is for axis 0, which so has what
// is left. No other axis can have more than its turns: that is a ShapeError too. Qwen3-VL has
// InterleavedSections(24, 20, 20). (transformers, which calls it mrope_interleaved, has no such error, but only so many
// pairs: of 16, 24 and 24 those of InterleavedSections(22, 21, 21).)
func InterleavedSections(pairs ...int) RotaryOption { return axesOption(inTurn, pairs) }

// Axial is Sections with frequencies of their own for each axis: those of a Rotary of dim 2*pairs[a], which a Scaling
// changes for each axis by itself. So have models of images and of videos: EVA-02, SAM 2 and the encoders of Qwen2-VL and
// Llama 4 Axial(n, n) for heads of 4*n elements, Wan 2.1 Axial(22, 21, 21), FLUX.1 Axial(8, 28, 28), and HunyuanVideo the
// latter with Base(256); all but Qwen2-VL's with Interleaved. See Heo et al., "Rotary position embedding for vision
// transformer" (2024).
func Axial(pairs ...int) RotaryOption { return axesOption(apart, pairs) }

// sharing says how pairs are shared out among axes.
type sharing int

const (
	together sharing = iota
	inTurn
	apart
)

var sharingNames = [...]string{together: "sections", inTurn: "interleaved sections", apart: "axial"}

func axesOption(s sharing, pairs []int) RotaryOption {
	pairs = append([]int{}, pairs...) // none are not nil
	return rotaryOption(func(r *rotarySettings) { r.sections, r.sharing = pairs, s })
}

// ladder is a run of pairs that have frequencies from the highest on.
type ladder struct{ first, pairs int }

// assignPairs returns the pairs of each axis, in ascending order, or nil where there is only one, and the ladders.
func (r *rotarySettings) assignPairs(op string, dim int) (axes [][]int, ladders []ladder, err error) {
	whole := []ladder{{0, dim / 2}}
	if r.sections == nil {
		return nil, whole, nil
	}
	left := dim / 2
	for a, n := range r.sections {
		if n < 1 {
			return nil, nil, check.AtLeast(op, fmt.Sprintf("number of pairs of axis %d", a), n, 1)
		}
		if n > left {
			return nil, nil, check.AtMost(op, fmt.Sprintf("number of pairs of axis %d", a), n, left)
		}
		ladders = append(ladders, ladder{dim/2 - left, n})
		left -= n
	}
	if err := check.Equal(op, "number of pairs of all axes", dim/2-left, dim/2); err != nil {
		return nil, nil, err
	}
	if len(r.sections) == 1 {
		return nil, whole, nil
	}
	axes = make([][]int, len(r.sections))
	if r.sharing == inTurn {
		for i := range dim / 2 {
			a := i % len(axes)
			if len(axes[a]) == r.sections[a] {
				a = 0
			}
			axes[a] = append(axes[a], i)
		}
		for a, n := range r.sections[1:] {
			if got := len(axes[a+1]); got < n {
				return nil, nil, check.AtMost(op, fmt.Sprintf("number of pairs of axis %d", a+1), n, got)
			}
		}
		return axes, whole, nil
	}
	for a, l := range ladders {
		for i := range l.pairs {
			axes[a] = append(axes[a], l.first+i)
		}
	}
	if r.sharing == together {
		ladders = whole
	}
	return axes, ladders, nil
}

// ApplyAxes is ApplyAt with positions on several axes: the pairs of row i that belong to axis a, as Sections,
// InterleavedSections or Axial say, are rotated to position at[a][i]. Without these there is one axis. For tokens that are at
// the same position on every axis, such as those that a decoder adds, ApplyAt does the same and is quicker.
//
// at has a list for each axis, with a position for each row of dst. Positions from below 0, as of an image around its middle,
// are to be shifted, those of all tokens alike: dot products depend on distances alone. Errors are those of ApplyAt.
func (r *Rotary) ApplyAxes(dst, src rowvec.Matrix, heads int, at [][]int) error {
	return r.rotateAxes("positional.Rotary.ApplyAxes", "src", dst, src, heads, at, false)
}

// BackwardAxes is to ApplyAxes what Backward is to Apply.
func (r *Rotary) BackwardAxes(dst, dOut rowvec.Matrix, heads int, at [][]int) error {
	return r.rotateAxes("positional.Rotary.BackwardAxes", "dOut", dst, dOut, heads, at, true)
}

// AnglesAxes sets row i of dst to what ApplyAxes rotates row i by, as rowvec.Rotate takes it: see Angles. The layers of a
// model, which all have the same positions, can so share what is computed once. dst has Dim columns; its stride is free. at and
// errors are those of ApplyAxes.
func (r *Rotary) AnglesAxes(dst rowvec.Matrix, at [][]int) error {
	const op = "positional.Rotary.AnglesAxes"
	if err := check.Matrix(op, "dst", dst, r.dim); err != nil {
		return err
	}
	if err := r.checkAxes(op, dst, at); err != nil || dst.Rows == 0 {
		return err
	}
	if err := check.Apart(op, "dst", dst, "table", r.table); err != nil {
		return err
	}
	t, err := r.turnsOfAxes(op, dst, at)
	if err != nil {
		return err
	}
	for first := 0; first < dst.Rows; first += mostPositions {
		if !t.fillAxes(check.Window(dst, first, min(mostPositions, dst.Rows-first), 0, dst.Cols), r.tableOf(t), at, first) {
			return changed(op)
		}
	}
	return nil
}

func (r *Rotary) rotateAxes(op, srcName string, dst, src rowvec.Matrix, heads int, at [][]int, inverse bool) error {
	if err := r.checkHeads(op, srcName, dst, src, heads); err != nil {
		return err
	}
	if err := r.checkAxes(op, dst, at); err != nil || dst.Rows == 0 {
		return err
	}
	if err := r.checkApart(op, srcName, dst, src); err != nil {
		return err
	}
	t, err := r.turnsOfAxes(op, dst, at)
	if err != nil {
		return err
	}
	p := r.begin(t, dst, src, heads, inverse)
	p.at, p.axes = at[0], at
	return p.endAt(op, r.workersFor(dst.Rows, dst.Cols))
}

// checkAxes checks that there are positions for the rows of dst on every axis.
func (r *Rotary) checkAxes(op string, dst rowvec.Matrix, at [][]int) error {
	if err := check.Equal(op, "len(at)", len(at), max(1, len(r.axes))); err != nil {
		return err
	}
	for a := range at {
		if len(at[a]) != dst.Rows {
			return check.Equal(op, fmt.Sprintf("len(at[%d])", a), len(at[a]), dst.Rows)
		}
	}
	for a := range at {
		if err := check.IDs(op, "position id", at[a], math.MaxInt); err != nil {
			if index, ok := err.(*rowvec.IndexError); ok {
				index.What = fmt.Sprintf("axis %d position id", a)
			}
			return err
		}
	}
	return nil
}

// turnsOfAxes returns those for the greatest position on any axis, and checks that dst is apart from all positions.
func (r *Rotary) turnsOfAxes(op string, dst rowvec.Matrix, at [][]int) (*turns, error) {
	last := 0
	for a := range at {
		if err := checkPositionsApart(op, "dst", dst, at[a]); err != nil {
			return nil, err
		}
		last = max(last, slices.Max(at[a]))
	}
	return r.turnsUpTo(op, last)
}

// sameOnAll reports whether n rows from first on have the same position on every axis.
func sameOnAll(at [][]int, first, n int) bool {
	for a := 1; a < len(at); a++ { // with itself, an axis that changes meanwhile would differ
		if !slices.Equal(at[a][first:first+n], at[0][first:first+n]) {
			return false
		}
	}
	return true
}

// fillAxes sets row i of angles to the positions at[a][first+i], and reports what fillAt does. The table may have no rows.
func (t *turns) fillAxes(angles, table rowvec.Matrix, at [][]int, first int) bool {
	n := angles.Rows
	if sameOnAll(at, first, n) {
		return t.fillAt(angles, at[0][first:first+n])
	}
	inTable := true
	for a := range at {
		inTable = inTable && slices.Max(at[a][first:first+n]) < table.Rows
	}
	for a := range t.axes {
		x, at := &t.axes[a], at[a][first:first+n]
		if inTable {
			for i, pos := range at {
				if uint(pos) >= uint(table.Rows) {
					return false
				}
				x.copy(angles.Row(i), table.Row(pos))
			}
		} else if !x.fillAt(angles, at) {
			return false
		}
	}
	if !inTable {
		t.amplify(angles)
	}
	return true
}

// axisTurns is what turns by the position on one axis.
type axisTurns struct {
	pairs  []int
	waves  *waves // the cosines of these pairs, and their sines
	inARow bool   // no other pair is between them
}

// newAxisTurns takes the waves of some pairs from those of all.
func newAxisTurns(all *waves, pairs []int) axisTurns {
	n, half := len(pairs), all.cols/2
	w := newWaves(2 * n)
	for k, i := range pairs {
		for _, column := range [...][2]int{{k, i}, {n + k, half + i}} {
			to, from := column[0], column[1]
			w.High[to], w.Low[to], w.Offset[to] = all.High[from], all.Low[from], all.Offset[from]
			w.Sin[to], w.Twice[to] = all.Sin[from], all.Twice[from]
		}
	}
	return axisTurns{pairs, w, pairs[n-1]-pairs[0] == n-1}
}

// copy sets the cosines and sines of the pairs in a row of angles to those of another.
func (x *axisTurns) copy(dst, src []float32) {
	half := len(dst) / 2
	if x.inARow {
		first, n := x.pairs[0], len(x.pairs)
		copy(dst[first:first+n], src[first:first+n])
		copy(dst[half+first:half+first+n], src[half+first:half+first+n])
		return
	}
	for _, i := range x.pairs {
		dst[i], dst[half+i] = src[i], src[half+i]
	}
}

// fillAt sets the cosines and sines of the pairs in row i of angles to position at[i], and reports false for one that has
// changed since it was checked.
func (x *axisTurns) fillAt(angles rowvec.Matrix, at []int) bool {
	n, half := len(x.pairs), angles.Cols/2
	own, buffer := scratch(angles.Rows, 2*n)
	defer angleBuffers.Put(buffer)
	if !x.waves.fillAt(own, at) {
		return false
	}
	for r := range own.Rows {
		dst, src := angles.Row(r), own.Row(r)
		if x.inARow {
			copy(dst[x.pairs[0]:], src[:n])
			copy(dst[half+x.pairs[0]:], src[n:])
			continue
		}
		for k, i := range x.pairs {
			dst[i], dst[half+i] = src[k], src[n+k]
		}
	}
	return true
}
