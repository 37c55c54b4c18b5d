package lookup

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/work"
)

// Gradient is the gradient of a table in the rows that a batch, or several, have looked up: each row once, in ascending
// order, with the sum of what its occurrences give. It takes the memory and the time of the batch, whatever the size of
// the table: it is what nn.Embedding(sparse=True) leaves in .grad, coalesced. It keeps its memory when it is cleared, so
// that in steady state nothing is allocated.
//
// The sums of a batch start from +0 and follow the order of the ids, so a gradient has the same bits on every machine and
// for any number of workers, and those of a dense one that was zero before. A Gradient may be in one call at a time, and must
// not be copied: a copy shares its memory.
type Gradient struct {
	_      noCopy
	table  int // rows
	dim    int
	ids    []int
	values []float32

	batch  sums
	slots  []int     // the row of the gradient that each group of the batch has
	places []int     // positions of a batch, where they are what ids of the table are
	extra  []float32 // rows of a batch that are nobody else's
	finite bool

	task task
	crew *work.Crew
	self *Gradient // whose the crew is
}

// NewGradient returns an empty gradient of a table of rows x cols. Both must be at least 1.
func NewGradient(rows, cols int) (*Gradient, error) {
	if err := checkSizes("lookup.NewGradient", "rows", rows, "cols", cols); err != nil {
		return nil, err
	}
	return newGradient(rows, cols), nil
}

func newGradient(rows, cols int) *Gradient {
	return &Gradient{table: rows, dim: cols}
}

// NewGradient returns an empty gradient of the table.
func (e *Embedding) NewGradient() *Gradient { return newGradient(e.Vocab(), e.Dim()) }

// Len returns the number of rows that have been touched.
func (g *Gradient) Len() int { return len(g.ids) }

// IDs returns the rows that have been touched, ascending. It is valid until the gradient changes, and must not be
// written to.
func (g *Gradient) IDs() []int { return g.ids }

// Values returns the gradients of the rows that have been touched, (Len, dim), in their order, without a copy. They may be
// written to, and are valid until the gradient changes.
func (g *Gradient) Values() rowvec.Matrix { return g.rows(0, len(g.ids)) }

func (g *Gradient) rows(lo, hi int) rowvec.Matrix {
	return rowvec.Matrix{Rows: hi - lo, Cols: g.dim, Data: g.values[lo*g.dim : hi*g.dim], Stride: g.dim}
}

// Clear makes the gradient empty, at no cost.
func (g *Gradient) Clear() { g.ids, g.values = g.ids[:0], g.values[:0] }

// CheckFinite has whatever adds to the gradient, or sets it, refuse sums and elements that are infinite or NaN, if on is true: they
// return a NotFiniteError and leave the gradient as it was. Otherwise, as from the start, these are kept, as in PyTorch.
// Optimizer.StepBatch, which holds no gradient, refuses none.
func (g *Gradient) CheckFinite(on bool) { g.finite = on }

// NotFiniteError reports an element of a gradient that is infinite or NaN.
type NotFiniteError struct {
	Op       string
	What     string // which gradient of an Embedding or a Layer, such as "position gradient"; "" for a method of one itself
	Row, Col int    // in the table
	Value    float32
}

// Error says where in which gradient the element is.
func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("rowvec: %s: the %s of row %d is %v in column %d", e.Op, cmp.Or(e.What, "gradient"), e.Row, e.Value, e.Col)
}

// AddTo adds the gradient to a dense one, of as many rows and columns as the table: once more for each row the sum of its
// occurrences, not one after the other.
func (g *Gradient) AddTo(dense rowvec.Matrix) error {
	const op = "lookup.Gradient.AddTo"
	if err := check.Shape(op, "dense", dense, g.table, g.dim); err != nil {
		return err
	}
	if err := check.Apart(op, "dense", dense, "the gradient", g.all()); err != nil {
		return err
	}
	if err := check.Apart(op, "dense", dense, "ids", viewOf(g.ids).memory()); err != nil {
		return err
	}
	return rowvec.ScatterAdd(dense, g.ids, 1, g.Values())
}

// SetDense makes the gradient what a dense one, of as many rows and columns as the table, holds: its rows that have an
// element other than zero, unchanged. It reads all of dense, twice after CheckFinite.
func (g *Gradient) SetDense(dense rowvec.Matrix) error {
	const op = "lookup.Gradient.SetDense"
	if err := check.Shape(op, "dense", dense, g.table, g.dim); err != nil {
		return err
	}
	if err := check.Apart(op, "dense", dense, "the gradient", g.all()); err != nil {
		return err
	}
	for i := 0; i < dense.Rows && g.finite; i++ {
		if err := checkFinite(dense.Row(i), i); err != nil {
			err.Op = op
			return err
		}
	}
	g.Clear()
	for i := range dense.Rows {
		if row := dense.Row(i); slices.ContainsFunc(row, func(x float32) bool { return x != 0 }) {
			g.ids, g.values = append(g.ids, i), append(g.values, row...)
		}
	}
	return nil
}

// all returns all memory for values.
func (g *Gradient) all() rowvec.Matrix {
	n := cap(g.values)
	return rowvec.Matrix{Rows: 1, Cols: n, Data: g.values[:n], Stride: n}
}

// Scale multiplies the gradient by alpha, each product rounded.
func (g *Gradient) Scale(alpha float32) { rowvec.Scale(g.values, alpha) }

// Norm returns the Euclidean norm of the gradient. Squares and their sums are float64: those of a row in 16 lanes, by columns modulo
// 16, which are added up as those of a dot product are (package kernels), and rows in their order.
func (g *Gradient) Norm() float64 { return math.Sqrt(squares(g.Values())) }

// Norm returns the Euclidean norm of several gradients together.
func Norm(grads ...*Gradient) float64 {
	sum := 0.0
	for _, g := range grads {
		sum += squares(g.Values())
	}
	return math.Sqrt(sum)
}

// ClipNorm scales the gradients by maxNorm/(norm+1e-6) if that is below 1, where norm is their Norm together, which it
// returns, as torch.nn.utils.clip_grad_norm_ does; but that one computes in float32, in which squares of numbers from 1.8e19 on
// are infinite. An infinite norm and a finite maxNorm leave zeros, and NaN where elements were infinite; a norm of NaN, or two
// that are infinite, leave NaN everywhere. maxNorm must be above 0, and no gradient may be given twice.
func ClipNorm(maxNorm float64, grads ...*Gradient) (norm float64, err error) {
	const op = "lookup.ClipNorm"
	if !(maxNorm > 0) {
		return 0, check.Value(op, "maximum norm", maxNorm, "above 0")
	}
	for i, g := range grads {
		if g == nil {
			return 0, check.Nil(op, fmt.Sprintf("gradient %d", i))
		}
		if j := slices.Index(grads[:i], g); j >= 0 {
			return 0, &rowvec.OverlapError{Op: op, Dst: fmt.Sprintf("gradient %d", i), Src: fmt.Sprintf("gradient %d", j)}
		}
	}
	norm = Norm(grads...)
	if factor := maxNorm / (norm + 1e-6); !(factor >= 1) {
		for _, g := range grads {
			g.Scale(float32(factor))
		}
	}
	return norm, nil
}

// AddRows adds row i of rows, multiplied by alpha, to the gradient of row ids[i] of the table, for all i: what a caller
// with lookups of its own needs. rows has len(ids) rows and as many columns as the table. Those of one id are summed
// from +0 in their order, each product rounded before, and the sum is added to what the gradient holds.
func AddRows[I rowvec.ID](g *Gradient, ids []I, alpha float32, rows rowvec.Matrix) error {
	const op = "lookup.AddRows"
	if g == nil {
		return check.Nil(op, "g")
	}
	v := viewOf(ids)
	if err := v.check(g.table); err != nil {
		return err
	}
	if err := check.Shape(op, "rows", rows, len(ids), g.dim); err != nil {
		return err
	}
	if err := g.prepare(op, v, -1, rows, rowvec.Mask{}, factors{alpha: alpha}, 1); err != nil {
		return err
	}
	return g.commit(1)
}

// prepare gets ready to add rows, one for each id but those that are id except. Nothing has changed if it fails.
func (g *Gradient) prepare(
	op string, ids view, except int, rows rowvec.Matrix, mask rowvec.Mask, f factors, workers int,
) error {
	if err := check.Apart(op, "the gradient", g.all(), "rows", rows); err != nil {
		return err
	}
	if err := g.batch.set(op, ids, except, g.table, rows, mask, f, workers); err != nil {
		return err
	}
	return g.try(op, workers)
}

// try reports sums that are not finite, if that is asked for.
func (g *Gradient) try(op string, workers int) error {
	if !g.finite {
		return nil
	}
	g.find()
	err := g.run(look, workers)
	if err != nil {
		g.batch.forget()
	}
	if bad, ok := err.(*NotFiniteError); ok {
		bad.Op = op
	}
	return err
}

// commit adds what prepare has got ready.
func (g *Gradient) commit(workers int) error {
	defer g.batch.forget()
	if len(g.ids) > 0 {
		g.find()
		g.merge()
		return g.run(addInto, workers)
	}
	n := len(g.batch.ids) * g.dim
	g.ids = append(g.ids, g.batch.ids...)
	g.values = sized(g.values, n)
	return g.run(sumInto, workers)
}

// find sets slots to the row of the gradient that each group has, or -1.
func (g *Gradient) find() {
	g.slots = g.slots[:0]
	i := 0
	for _, id := range g.batch.ids {
		for i < len(g.ids) && g.ids[i] < id {
			i++
		}
		if i < len(g.ids) && g.ids[i] == id {
			g.slots = append(g.slots, i)
		} else {
			g.slots = append(g.slots, -1)
		}
	}
}

// merge gives each group that has none a row of zeros, in its place, and has slots say so.
func (g *Gradient) merge() {
	missing := 0
	for _, slot := range g.slots {
		if slot < 0 {
			missing++
		}
	}
	from := len(g.ids)
	to := from + missing
	g.ids = slices.Grow(g.ids, missing)[:to]
	g.values = slices.Grow(g.values, missing*g.dim)[:to*g.dim]
	for r := len(g.slots) - 1; r >= 0; r-- {
		id := g.batch.ids[r]
		for from > 0 && g.ids[from-1] > id {
			from, to = from-1, to-1
			g.move(to, from)
		}
		to--
		if from > 0 && g.ids[from-1] == id {
			from--
			g.move(to, from)
		} else {
			g.ids[to] = id
			clear(g.rows(to, to+1).Data)
		}
		g.slots[r] = to
	}
}

// move moves a row of the gradient behind it.
func (g *Gradient) move(to, from int) {
	if to != from {
		g.ids[to] = g.ids[from]
		copy(g.rows(to, to+1).Data, g.rows(from, from+1).Data)
	}
}

// task is what a worker does with groups of the batch.
type task int

const (
	sumInto task = iota // sets rows of the gradient, which has no others
	addInto             // adds to the rows that slots say
	look                // only looks whether sums would be finite
)

func (g *Gradient) run(what task, workers int) error {
	g.task = what
	if g.self != g { // it is new, or has been moved
		g.crew, g.self = work.New(g.do), g
	}
	return g.crew.Do(workers, len(g.batch.at), leastRows(g.dim))
}

// do does the groups that begin in a range of places.
func (g *Gradient) do(lo, hi int) error {
	lo, hi = g.batch.span(lo, hi)
	if g.task == sumInto {
		return g.batch.sum(g.rows(lo, hi), lo)
	}
	return g.batch.pieces(lo, hi, g)
}

// use is called with the sums of groups lo to lo+m.Rows-1.
func (g *Gradient) use(m rowvec.Matrix, lo int, _ bool) error {
	if g.task == addInto {
		return rowvec.ScatterAdd(g.Values(), g.slots[lo:lo+m.Rows], 1, m)
	}
	for i := range m.Rows {
		row := m.Row(i)
		if slot := g.slots[lo+i]; slot >= 0 {
			if err := rowvec.Add(row, g.rows(slot, slot+1).Data); err != nil {
				return err
			}
		}
		if err := checkFinite(row, g.batch.ids[lo+i]); err != nil {
			return err
		}
	}
	return nil
}

// checkFinite returns what is wrong with a row of the table's gradient, but for the Op.
func checkFinite(row []float32, id int) *NotFiniteError {
	for j, x := range row {
		if x-x != 0 {
			return &NotFiniteError{Row: id, Col: j, Value: x}
		}
	}
	return nil
}

// noCopy has go vet report copies of what holds it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
