package positional

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/internal/work"
)

// Rotary is the rotary position embedding (RoPE) of Su et al., "RoFormer: enhanced transformer with rotary position
// embedding" (2021). It is not added to tokens, but turns the queries and the keys of attention: pair i of the rotated
// elements of each head by the angle pos * 10000^(-2i/dim), so that their dot products depend on distances alone.
//
// Queries or keys (batch, seq, heads, head dim) are a matrix of batch*seq rows and heads*(head dim) columns, one sequence
// behind the other; its stride is free, so that both can be windows of one matrix. Of each head the first Dim elements
// are rotated, and the others stay as they are. The pairs are elements i and i + Dim/2, as in GPT-NeoX and in the Llama of
// Hugging Face, or neighbours with the option Interleaved.
//
// Cosines and sines are off by less than 3.1e-8 at every position however far, as long as no multiplier of a Scaling is above
// 2^30, and before it multiplies them by an amplitude other than 1 and rounds again; and they have, like all results, the same
// bits on every machine, for any number of workers and however they were asked for. Those that are not in a table are
// computed as they are needed, once for all heads and, up to the number of workers, for all sequences.
//
// Any number of goroutines may use one Rotary.
type Rotary struct {
	rotarySettings
	dim     int
	axes    [][]int // the pairs of each; nil if there is one
	ladders []ladder
	first   *turns                // for sequences of any length that a model was trained on
	table   rowvec.Matrix         // of first
	last    atomic.Pointer[turns] // for the last length that asked for others
}

type rotarySettings struct {
	base        float64
	interleaved bool
	scaling     Scaling
	length      int
	workers     int
	sections    []int // pairs of each axis; nil without such an option
	sharing     sharing
}

// Interleaved makes pairs of neighbours, elements 2i and 2i+1, as in the paper, in GPT-J and in Meta's Llama. Weights that
// were trained with one order do not go with the other.
func Interleaved() RotaryOption {
	return rotaryOption(func(r *rotarySettings) { r.interleaved = true })
}

// Scaled changes the frequencies as s says, which must not change afterwards; nil takes back what an option before it said.
// Where s.ByLength(), the length is that of the call: start + seq, or 1 + the greatest position. Apply and Backward then
// compute frequencies whenever it has changed, and return the error of s if there is one.
func Scaled(s Scaling) RotaryOption { return rotaryOption(func(r *rotarySettings) { r.scaling = s }) }

// Table has cosines and sines of the first length positions kept in memory, 4*Dim bytes for each, as decoders want them that
// rotate few rows at a time, at positions of their own: otherwise only one position after the other, or the same one again, is
// quick to compute. It changes no bit of any result. With a Scaling by length, it serves the lengths that a model was trained
// on alone.
func Table(length int) RotaryOption {
	return rotaryOption(func(r *rotarySettings) { r.length = length })
}

// Workers bounds the number of goroutines that one call splits large work over. The default, 0, is GOMAXPROCS at the time of
// NewRotary; more than 1,024 count as 1,024. Results have the same bits for any number.
func Workers(n int) RotaryOption { return rotaryOption(func(r *rotarySettings) { r.workers = n }) }

// NewRotary returns the embedding that rotates the first dim elements of each head: all of them, or fewer for partial rotary
// dims. It is a ShapeError if dim is below 2 or odd, if the length of a Table or the number of Workers is below 0, if a
// Table cannot be addressed, or if axes have other pairs than there are; and a ValueError if the base is not above 1 and
// finite, or if a Scaling is a nil pointer or has numbers that are no use. Its own errors are returned as they are.
func NewRotary(dim int, options ...RotaryOption) (*Rotary, error) {
	const op = "positional.NewRotary"
	if err := check.AtLeast(op, "dim", dim, 2); err != nil {
		return nil, err
	}
	if err := check.MultipleOf(op, "dim", dim, 2); err != nil {
		return nil, err
	}
	if err := check.AtMost(op, "dim", dim, maxWaves); err != nil {
		return nil, err
	}
	r := &Rotary{rotarySettings: rotarySettings{base: defaultBase}, dim: dim}
	for _, option := range options {
		if !check.IsNil(option) {
			option.rotary(&r.rotarySettings)
		}
	}
	if err := checkBase(op, r.base); err != nil {
		return nil, err
	}
	if err := check.AtLeast(op, "workers", r.workers, 0); err != nil {
		return nil, err
	}
	if r.workers == 0 {
		r.workers = runtime.GOMAXPROCS(0)
	}
	r.workers = min(r.workers, work.Most)
	if err := check.AtLeast(op, "length", r.length, 0); err != nil {
		return nil, err
	}
	var err error
	if r.axes, r.ladders, err = r.assignPairs(op, dim); err != nil {
		return nil, err
	}
	f, err := r.frequencies(op, 0)
	if err != nil {
		return nil, err
	}
	if r.table, err = check.NewTable(op, "length", r.length, "dim", dim); err != nil {
		return nil, err
	}
	r.first = r.newTurns(f, 0)
	r.first.fill(r.table, 0)
	return r, nil
}

// Kind returns "rotary".
func (r *Rotary) Kind() string { return "rotary" }

// Dim returns the number of elements of a head that are rotated.
func (r *Rotary) Dim() int { return r.dim }

// String returns, for instance, "Rotary(dim=64)"; what options have changed is named too, as in
// "Rotary(dim=64, base=500000, interleaved, scaling=Linear(factor=4))".
func (r *Rotary) String() string {
	text := fmt.Sprintf("Rotary(dim=%d", r.dim)
	if r.base != defaultBase {
		text += fmt.Sprintf(", base=%v", r.base)
	}
	if r.interleaved {
		text += ", interleaved"
	}
	if r.sections != nil {
		text += fmt.Sprintf(", %s=%v", sharingNames[r.sharing], r.sections)
	}
	if r.scaling != nil {
		text += fmt.Sprintf(", scaling=%v", r.scaling)
	}
	return text + ")"
}

// Apply sets row i of dst to row i of src, whose heads are rotated to position start + i mod seq. start is not 0 where a
// decoder continues from a cache.
//
// dst and src have a multiple of seq rows, and heads times at least Dim columns; strides are free. They may be the same
// matrix, with the same first element and the same stride. Errors: ShapeError, also if start is negative or start + seq
// overflows an int; OverlapError if dst shares memory with src otherwise, or with the table; then dst is as it was. Without
// rows, seq and start do not matter.
func (r *Rotary) Apply(dst, src rowvec.Matrix, heads, seq, start int) error {
	return r.rotate("positional.Rotary.Apply", "src", dst, src, heads, seq, start, false)
}

// Backward sets dst to the gradient of src in Apply, given the gradient dOut of its result: dOut, rotated the other way (and
// multiplied by the amplitude of a Scaling). Shapes and errors are those of Apply.
func (r *Rotary) Backward(dst, dOut rowvec.Matrix, heads, seq, start int) error {
	return r.rotate("positional.Rotary.Backward", "dOut", dst, dOut, heads, seq, start, true)
}

// ApplyAt is Apply with a position for each row: the heads of row i are rotated to position at[i]. It serves ragged batches
// and decoders whose sequences have come to different positions (see CountRagged), and padded batches (see CountUnmasked).
// Consecutive rows at consecutive positions are computed together; a Table that holds all of them is quicker by far
// where they are not.
//
// at has a position for each row of dst. Errors are those of Apply, and also IndexError for a position that is negative or
// math.MaxInt, and OverlapError if dst shares memory with at.
func (r *Rotary) ApplyAt(dst, src rowvec.Matrix, heads int, at []int) error {
	return r.rotateAt("positional.Rotary.ApplyAt", "src", dst, src, heads, at, false)
}

// BackwardAt is to ApplyAt what Backward is to Apply.
func (r *Rotary) BackwardAt(dst, dOut rowvec.Matrix, heads int, at []int) error {
	return r.rotateAt("positional.Rotary.BackwardAt", "dOut", dst, dOut, heads, at, true)
}

// Angles sets row i of dst to what rows at position start + i are rotated by, as rowvec.Rotate takes it: the Dim/2 cosines
// of the pairs and then their Dim/2 sines, times the amplitude of a Scaling, whose length is start + dst.Rows. dst has Dim
// columns; its stride is free. Errors: ShapeError, also if start is negative or start + dst.Rows overflows an int;
// OverlapError if dst shares memory with the table; then dst is as it was. Without rows, start does not matter.
func (r *Rotary) Angles(dst rowvec.Matrix, start int) error {
	const op = "positional.Rotary.Angles"
	if err := check.Matrix(op, "dst", dst, r.dim); err != nil || dst.Rows == 0 {
		return err
	}
	if err := check.Positions(op, "dst.Rows", dst.Rows, start, math.MaxInt); err != nil {
		return err
	}
	if err := check.Apart(op, "dst", dst, "table", r.table); err != nil {
		return err
	}
	t, err := r.turns(op, start+dst.Rows)
	if err != nil {
		return err
	}
	t.fill(dst, start)
	return nil
}

// turns is how fast pairs turn: what a Scaling makes of them for sequences of some length.
type turns struct {
	frequencies []Frequencies // of each ladder
	ladders     []ladder
	length      int
	waves       *waves // dim/2 cosines and as many sines
	axes        []axisTurns
}

func (r *Rotary) newTurns(f []Frequencies, length int) *turns {
	w := newWaves(r.dim)
	for n, l := range r.ladders {
		for i := range l.pairs {
			freq := exact.Frequency(f[n].Base, uint64(2*i), uint64(2*l.pairs))
			if f[n].Multipliers != nil {
				freq = freq.Scaled(f[n].Multipliers[i])
			}
			w.set(l.first+i, freq, cosine)
			w.set(r.dim/2+l.first+i, freq, sine)
		}
	}
	t := &turns{f, r.ladders, length, w.ready(), nil}
	for _, pairs := range r.axes {
		t.axes = append(t.axes, newAxisTurns(t.waves, pairs))
	}
	return t
}

func (f Frequencies) equals(g Frequencies) bool {
	return f.Base == g.Base && f.Amplitude == g.Amplitude && slices.Equal(f.Multipliers, g.Multipliers)
}

// fill sets row i of dst to position start + i.
func (t *turns) fill(dst rowvec.Matrix, start int) {
	t.waves.fill(dst, start)
	t.amplify(dst)
}

// fillAt sets row i of dst to position at[i], and reports false for one that has changed since it was checked.
func (t *turns) fillAt(dst rowvec.Matrix, at []int) bool {
	ok := t.waves.fillAt(dst, at)
	t.amplify(dst)
	return ok
}

func (t *turns) amplify(dst rowvec.Matrix) {
	for n, l := range t.ladders {
		amplitude := float32(t.frequencies[n].Amplitude)
		if amplitude == 1 {
			continue
		}
		for i := range dst.Rows {
			row := dst.Row(i)
			if len(row) == 2*l.pairs { // at once, as most are
				rowvec.Scale(row, amplitude)
				continue
			}
			rowvec.Scale(row[l.first:l.first+l.pairs], amplitude)
			rowvec.Scale(row[len(row)/2+l.first:][:l.pairs], amplitude)
		}
	}
}

// frequencies returns those of each ladder for sequences of so many positions, to be kept.
func (r *Rotary) frequencies(op string, length int) ([]Frequencies, error) {
	all := make([]Frequencies, len(r.ladders))
	for n, l := range r.ladders {
		var err error
		if all[n], err = r.frequenciesOf(op, 2*l.pairs, length); err != nil {
			return nil, err
		}
		all[n].Multipliers = slices.Clone(all[n].Multipliers) // they are the Scaling's, which may use them again
	}
	return all, nil
}

// frequenciesOf returns those of a ladder of dim/2 pairs. A Scaling may be anybody's, and is not trusted.
func (r *Rotary) frequenciesOf(op string, dim, length int) (Frequencies, error) {
	if r.scaling == nil {
		return Frequencies{Base: r.base, Amplitude: 1}, nil
	}
	if check.IsNil(r.scaling) {
		return Frequencies{}, check.Nil(op, fmt.Sprintf("scaling, a %T,", r.scaling))
	}
	f, err := r.scaling.Frequencies(dim, r.base, length)
	if err != nil {
		return f, err
	}
	refuse := func(what string, x float64, want string) (Frequencies, error) {
		return f, check.Value(op, fmt.Sprintf("%s of %v", what, r.scaling), x, want)
	}
	f.Amplitude = cmp.Or(f.Amplitude, 1)
	switch {
	case !(f.Base > 1 && f.Base <= math.MaxFloat64):
		return refuse("base", f.Base, "a finite one above 1")
	case !(math.Abs(f.Amplitude) <= math.MaxFloat32) || float32(f.Amplitude) == 0:
		return refuse("amplitude", f.Amplitude, "one that is finite and not 0 as a float32")
	case len(f.Multipliers) == 0:
		f.Multipliers = nil
		return f, nil
	case len(f.Multipliers) != dim/2:
		return f, check.Equal(op, "number of multipliers", len(f.Multipliers), dim/2)
	}
	for _, m := range f.Multipliers {
		if !(m >= 0 && m <= math.MaxFloat64) {
			return refuse("multiplier", m, "a finite one of at least 0")
		}
	}
	return f, nil
}

// turns returns those for sequences of so many positions.
func (r *Rotary) turns(op string, length int) (*turns, error) {
	if r.scaling == nil || !r.scaling.ByLength() {
		return r.first, nil
	}
	last := r.last.Load()
	if last != nil && last.length == length {
		return last, nil
	}
	isFirst, isLast := true, last != nil // without keeping any, which would be an allocation for each token of a decoder
	for n, l := range r.ladders {
		f, err := r.frequenciesOf(op, 2*l.pairs, length)
		if err != nil {
			return nil, err
		}
		isFirst = isFirst && f.equals(r.first.frequencies[n])
		isLast = isLast && f.equals(last.frequencies[n])
	}
	switch {
	case isFirst:
		return r.first, nil
	case isLast:
		return last, nil
	}
	f, err := r.frequencies(op, length)
	if err != nil {
		return nil, err
	}
	last = r.newTurns(f, length)
	r.last.Store(last)
	return last, nil
}

func (r *Rotary) checkHeads(op, srcName string, dst, src rowvec.Matrix, heads int) error {
	if err := rowvec.CheckMatrix(op, "dst", dst); err != nil {
		return err
	}
	if err := check.Shape(op, srcName, src, dst.Rows, dst.Cols); err != nil {
		return err
	}
	if err := check.AtLeast(op, "heads", heads, 1); err != nil {
		return err
	}
	if dst.Cols%heads != 0 {
		return check.MultipleOf(op, "dst.Cols", dst.Cols, heads)
	}
	return check.AtLeast(op, "dst.Cols/heads", dst.Cols/heads, r.dim)
}

func (r *Rotary) checkApart(op, srcName string, dst, src rowvec.Matrix) error {
	if err := check.Apart(op, "dst", dst, "table", r.table); err != nil {
		return err
	}
	if &dst.Data[0] == &src.Data[0] && dst.Stride == src.Stride {
		return nil
	}
	return check.Apart(op, "dst", dst, srcName, src)
}

// rotateFew has the kernel rotate all rows, with checks of its own, where they are for one worker and of few positions, and
// reports whether it has. Whatever is not plainly in order is left to rotate, and what the length decides on. On a Zen 3, ns by
// rotate and so, of heads of 64, medians of five programs of each in turn: a position in a table, likewise by rotateAt, and
// the same position over and over, and the next one, without a table:
//
//	  1 token, 1 head      362  107    256  129    397  233    597  431
//	 1 token, 12 heads     302  177    379  221    370  233    726  485
//	  16 tokens, 1 head    457  276    406  304    408  357    738  460
//	16 tokens, 12 heads   1547 1123   1438 1099   1294 1220   1337 1408
func (r *Rotary) rotateFew(dst, src rowvec.Matrix, heads, seq, start int, inverse bool) bool {
	if !r.takesFew(dst.Rows, dst.Cols, seq) || start < 0 || start > math.MaxInt-seq {
		return false
	}
	rotation := rowvec.Rotation{Heads: heads, Interleaved: r.interleaved, Inverse: inverse}
	if r.table.Rows > 0 {
		return start <= r.table.Rows-seq && rowvec.Rotate(dst, src, rotation, r.table, start, seq) == nil
	}
	if r.dim > len(dst.Data) || uint64(seq)*uint64(r.dim) > uint64(len(dst.Data)) {
		return false // no matrix, and there may be no room for its angles
	}
	angles, buffer := scratch(seq, r.dim)
	defer angleBuffers.Put(buffer)
	r.first.fill(angles, start)
	return rowvec.Rotate(dst, src, rotation, angles, 0, seq) == nil
}

// rotateFewAt is to rotateAt what rotateFew is to rotate, for positions in a table.
func (r *Rotary) rotateFewAt(dst, src rowvec.Matrix, heads int, at []int, inverse bool) bool {
	if !r.takesFew(dst.Rows, dst.Cols, len(at)) || slices.Max(at) >= r.table.Rows {
		return false
	}
	rotation := rowvec.Rotation{Heads: heads, Interleaved: r.interleaved, Inverse: inverse}
	return rowvec.RotateAt(dst, src, rotation, r.table, at) == nil
}

// takesFew reports whether n positions are few, so many rows and columns are for one worker, and no length decides on the turns.
func (r *Rotary) takesFew(rows, cols, n int) bool {
	return n > 0 && n <= min(rows, mostPositions) && cols >= r.dim && r.workersFor(rows, cols) == 1 &&
		(r.scaling == nil || !r.scaling.ByLength())
}

func (r *Rotary) rotate(op, srcName string, dst, src rowvec.Matrix, heads, seq, start int, inverse bool) error {
	if r.rotateFew(dst, src, heads, seq, start, inverse) {
		return nil
	}
	if err := r.checkHeads(op, srcName, dst, src, heads); err != nil || dst.Rows == 0 {
		return err
	}
	if err := checkSequences(op, "dst", dst, dst.Cols, seq, start, math.MaxInt); err != nil {
		return err
	}
	if err := r.checkApart(op, srcName, dst, src); err != nil {
		return err
	}
	t, err := r.turns(op, start+seq)
	if err != nil {
		return err
	}
	p := r.begin(t, dst, src, heads, inverse)
	p.seq, p.start = seq, start
	workers, batch := min(r.workersFor(dst.Rows, dst.Cols), dst.Rows), dst.Rows/seq
	p.groups = 1
	if workers > 1 {
		for p.pieces()*batch < 4*workers && p.size > leastPositions {
			p.size /= 2
		}
		p.groups = min(batch, max(1, 4*workers/p.pieces()))
	}
	return p.end(op, workers, p.groups*p.pieces())
}

func (r *Rotary) rotateAt(op, srcName string, dst, src rowvec.Matrix, heads int, at []int, inverse bool) error {
	if r.rotateFewAt(dst, src, heads, at, inverse) {
		return nil
	}
	if err := r.checkHeads(op, srcName, dst, src, heads); err != nil {
		return err
	}
	if err := check.Equal(op, "len(at)", len(at), dst.Rows); err != nil || dst.Rows == 0 {
		return err
	}
	if err := check.IDs(op, "position id", at, math.MaxInt); err != nil {
		return err
	}
	if err := r.checkApart(op, srcName, dst, src); err != nil {
		return err
	}
	if err := checkPositionsApart(op, "dst", dst, at); err != nil {
		return err
	}
	t, err := r.turnsUpTo(op, slices.Max(at))
	if err != nil {
		return err
	}
	p := r.begin(t, dst, src, heads, inverse)
	p.at = at
	return p.endAt(op, r.workersFor(dst.Rows, dst.Cols))
}

// turnsUpTo returns those for sequences whose last position this is. It has been checked, but may have changed since.
func (r *Rotary) turnsUpTo(op string, last int) (*turns, error) {
	if r.scaling == nil || !r.scaling.ByLength() {
		return r.first, nil
	}
	if last < 0 || last == math.MaxInt {
		return nil, changed(op)
	}
	return r.turns(op, last+1)
}

// workersFor returns how many workers share a call.
func (r *Rotary) workersFor(rows, cols int) int {
	if rows < tuning.ParallelRotaryElements/cols {
		return 1
	}
	return r.workers
}

// A part takes so many positions, whose cosines and sines are computed at once: a block of waves, which is computed from its
// beginning, or half or a quarter or an eighth of one where there is not enough to do otherwise.
const (
	mostPositions  = block
	leastPositions = block / 8
)

// turning is a call on its way: what its parts need to know, and the crew that does them. It is used again when the call is
// over.
type turning struct {
	turns    *turns
	table    rowvec.Matrix // of these turns
	dst, src rowvec.Matrix
	rotation rowvec.Rotation
	size     int // positions of a part

	seq, start int
	groups     int // of sequences, each of which does all positions

	at   []int   // or nil; on axis 0 where there are axes
	axes [][]int // positions on all axes, or nil

	crew *work.Crew
}

var turnings = sync.Pool{New: func() any {
	p := new(turning)
	p.crew = work.New(work.Each(p.part))
	return p
}}

var angleBuffers = sync.Pool{New: func() any { return new([]float32) }}

func (r *Rotary) begin(t *turns, dst, src rowvec.Matrix, heads int, inverse bool) *turning {
	p := turnings.Get().(*turning)
	p.turns, p.dst, p.src, p.size = t, dst, src, mostPositions
	p.rotation = rowvec.Rotation{Heads: heads, Interleaved: r.interleaved, Inverse: inverse}
	p.table = r.tableOf(t)
	return p
}

// tableOf returns the table of these turns, which may have no rows.
func (r *Rotary) tableOf(t *turns) rowvec.Matrix {
	if t == r.first {
		return r.table
	}
	return rowvec.Matrix{}
}

// end does the call and gives p back, without a hold on what belongs to the caller. All positions have been checked, so that
// only such as changed since can be wrong with them.
func (p *turning) end(op string, workers, parts int) error {
	err := p.crew.Do(workers, parts, 1)
	*p = turning{crew: p.crew}
	turnings.Put(p)
	if err == nil {
		return nil // before there is an index, which is on the heap
	}
	if index := (*rowvec.IndexError)(nil); errors.As(err, &index) || errors.Is(err, rowvec.ErrChanged) {
		return changed(op)
	}
	return err
}

// endAt is end with parts of explicit positions.
func (p *turning) endAt(op string, workers int) error {
	if workers > 1 {
		p.size = min(p.size, max(leastPositions, p.dst.Rows/workers/4))
	}
	return p.end(op, workers, (p.dst.Rows+p.size-1)/p.size)
}

// pieces returns how many pieces of positions there are. Pieces begin at multiples of size but for the first.
func (p *turning) pieces() int { return (p.start+p.seq-1)/p.size - p.start/p.size + 1 }

func (p *turning) part(number int) error {
	if p.at != nil {
		return p.partAt(number * p.size)
	}
	pieces := p.pieces()
	group, piece := number/pieces, number%pieces
	start := max(p.start, (p.start/p.size+piece)*p.size)
	n := min(p.size-start%p.size, p.start+p.seq-start)
	angles, buffer := p.table, (*[]float32)(nil)
	if start < angles.Rows && n <= angles.Rows-start {
		angles = check.Window(angles, start, n, 0, angles.Cols)
	} else {
		angles, buffer = scratch(n, p.turns.waves.cols)
		p.turns.fill(angles, start)
	}
	batch := p.dst.Rows / p.seq
	err := error(nil)
	if from, to := share(batch, p.groups, group), share(batch, p.groups, group+1); n == p.seq {
		err = rowvec.Rotate(p.rows(p.dst, from*n, (to-from)*n), p.rows(p.src, from*n, (to-from)*n), p.rotation, angles, 0, n)
	} else {
		for i := from; i < to && err == nil; i++ {
			row := i*p.seq + start - p.start
			err = rowvec.Rotate(p.rows(p.dst, row, n), p.rows(p.src, row, n), p.rotation, angles, 0, n)
		}
	}
	if buffer != nil {
		angleBuffers.Put(buffer)
	}
	return err
}

// share returns where share number i begins of n items that are shared out in so many, without a product that an int of 32 bits may
// not hold.
func share(n, shares, i int) int { return i*(n/shares) + min(i, n%shares) }

// partAt does the rows from first on.
func (p *turning) partAt(first int) error {
	n := min(p.size, len(p.at)-first)
	dst, src, at := p.rows(p.dst, first, n), p.rows(p.src, first, n), p.at[first:first+n]
	same := sameOnAll(p.axes, first, n)
	if same && slices.Max(at) < p.table.Rows {
		return rowvec.RotateAt(dst, src, p.rotation, p.table, at)
	}
	angles, buffer := scratch(n, p.turns.waves.cols)
	var filled bool
	if same {
		filled = p.turns.fillAt(angles, at)
	} else {
		filled = p.turns.fillAxes(angles, p.table, p.axes, first)
	}
	err := rowvec.ErrChanged
	if filled {
		err = rowvec.Rotate(dst, src, p.rotation, angles, 0, n)
	}
	angleBuffers.Put(buffer)
	return err
}

func (p *turning) rows(m rowvec.Matrix, first, n int) rowvec.Matrix {
	return check.Window(m, first, n, 0, m.Cols)
}

// scratch returns n rows for angles of so many columns, in a buffer that is to be given back.
func scratch(n, cols int) (rowvec.Matrix, *[]float32) {
	buffer := angleBuffers.Get().(*[]float32)
	if len(*buffer) < n*cols {
		*buffer = make([]float32, n*cols)
	}
	return rowvec.Matrix{Rows: n, Cols: cols, Data: (*buffer)[:n*cols], Stride: cols}, buffer
}
