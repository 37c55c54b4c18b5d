package lookup

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/work"
)

// Gradient is the gradient of a table in the rows that a batch, or several, have looked up: each row once, in ascending
// order, with the sum of what its occurrences give. It takes the memory and the time of the batch, whatever the size of
// the table: it is what nn.Embedding(sparse=True) leaves in .grad, coalesced. It keeps its memory when it is cleared, so
// that in steady state nothing is allocated.
//
// Each further batch takes its own time, plus that of moving two numbers for each row already held, or the row itself if rows
// are short and few. Values then puts rows in the order of ids, which takes a copy of all, and as much memory again; steps,
// norms and AddTo take them as they are.
//
// The sums of a batch start from +0 and follow the order of the ids, so a gradient has the same bits on every machine and
// for any number of workers, and those of a dense one that was zero before. A Gradient may be in one call at a time, and must
// not be copied: a copy shares its memory.
type Gradient struct {
	_      noCopy
	table  int // rows
	dim    int
	ids    []int
	values []float32 // a row for each
	order  []int     // the number of its row in values; empty where rows are in the order of ids
	spare  []float32 // values that have been put in order, or are to be

	slots  []int     // the row of values that each group of the batch has
	norms  []float64 // of rows of values, squared
	places []int     // positions of a batch, where they are what ids of the table are
	extra  []float32 // rows of a batch that are nobody else's
	finite bool

	workers int // the most that have added to it at a time since it was empty, who share what is done with all of its rows

	task  task
	alpha float32 // of scaleRows
	crew  *work.Crew
	self  *Gradient // whose the crew is

	batch sums // last, since it is large: of a nil pointer, a field further than 4 KiB away may be no panic but the end of the process
}

// NewGradient returns an empty gradient of a table of rows x cols. Both must be at least 1. The numbers of rows and of ids of a
// batch have 64 bits together at most, so that a table of 2^44 rows takes 2^19-1 ids at once; for more, what adds them returns
// a ShapeError.
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

// Values returns the gradients of the rows that have been touched, (Len, dim), in their order. They are the gradient's own: they may be
// written to, and are valid until it changes.
func (g *Gradient) Values() rowvec.Matrix {
	g.settle()
	return g.rows(0, len(g.ids))
}

// settle puts rows in the order of ids.
func (g *Gradient) settle() {
	if len(g.order) == 0 {
		return
	}
	g.spare = sized(g.spare, len(g.values))
	to := rowvec.Matrix{Rows: len(g.ids), Cols: g.dim, Data: g.spare, Stride: g.dim}
	if err := rowvec.Gather(to, g.rows(0, len(g.ids)), g.order); err != nil {
		panic(err) // a Gradient in two calls at a time
	}
	g.values, g.spare, g.order = g.spare, g.values, g.order[:0]
}

// rows returns rows of values, in whatever order they are.
func (g *Gradient) rows(lo, hi int) rowvec.Matrix {
	return rowvec.Matrix{Rows: hi - lo, Cols: g.dim, Data: g.values[lo*g.dim : hi*g.dim], Stride: g.dim}
}

// Clear makes the gradient empty, at no cost.
func (g *Gradient) Clear() {
	g.ids, g.values, g.order, g.workers = g.ids[:0], g.values[:0], g.order[:0], 0
}

// CheckFinite has whatever adds to the gradient, or sets it, refuse sums and elements that are infinite or NaN, if on is true: they
// return a NotFiniteError and leave the gradient as it was. Otherwise, as from the start, these are kept, as in PyTorch.
// StepBatch, StepBags and StepDense of an Optimizer and StepTrain of a Layer, which have no Gradient, refuse none.
func (g *Gradient) CheckFinite(on bool) { g.finite = on }

// NotFiniteError reports an element of a gradient that is infinite or NaN.
type NotFiniteError struct {
	Op       string
	What     string // which gradient of an Embedding or a Layer, such as "position gradient"; "" where there is one
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
	if len(g.ids) == 0 {
		return nil
	}
	u := forward.Update{
		Method: forward.SGD, Table: dense, Rate: -1, // what it subtracts
		IDs: unsafe.Pointer(&g.ids[0]), Wide: bits.UintSize == 64, Grad: g.rows(0, len(g.ids)),
	}
	if len(g.order) > 0 {
		u.Places = g.order
	}
	return apply(&u)
}

// SetDense makes the gradient what a dense one, of as many rows and columns as the table, holds: its rows that have an
// element other than zero, unchanged. It reads all of dense, twice after CheckFinite. Optimizer.StepDense does without a copy.
func (g *Gradient) SetDense(dense rowvec.Matrix) error {
	const op = "lookup.Gradient.SetDense"
	if err := check.Shape(op, "dense", dense, g.table, g.dim); err != nil {
		return err
	}
	if err := check.Apart(op, "dense", dense, "the gradient", g.all()); err != nil {
		return err
	}
	if g.finite {
		if err := checkFinite(dense, func(i int) int { return i }); err != nil {
			return named(err, op)
		}
	}
	g.Clear()
	for lo := 0; lo < dense.Rows; lo += normBlock {
		before := len(g.ids)
		g.ids = touched(g.ids, dense, lo, min(lo+normBlock, dense.Rows))
		for ids, n := g.ids[before:], 0; len(ids) > 0; ids = ids[n:] {
			for n = 1; n < len(ids) && ids[n] == ids[n-1]+1 && dense.Stride == dense.Cols; n++ { // which are copied at once
			}
			g.values = append(g.values, dense.Data[ids[0]*dense.Stride:][:n*dense.Cols]...)
		}
	}
	return nil
}

// touchedElements is how many elements rows behind each other that begin with zero have together, at least, where their squares are taken. On
// a Zen 4, ms of StepDense by SGD, one element after the other and so, with so many of the rows touched, medians of 15 rounds in random order:
//
//	                none         1%           30%          all
//	   60,000 x 768 21.2  8.59   20.7  8.55   28.5  13.3   18.4  19.1
//	   30,000 x 300 4.43  1.81   4.54  1.87   7.46  4.12   3.93  3.96
//	  200,000 x 32  3.95  2.21   4.30  3.09   4.95  4.14   2.35  2.30
//	  500,000 x 16  5.70  3.25   6.50  3.74   9.53  8.18   4.29  3.80
//	1,000,000 x 8   8.19  4.96   9.20  6.50   14.9  13.5   6.00  5.09
const touchedElements = 128

// touched appends to ids those of rows lo to hi-1 of a dense gradient, no more than normBlock, that have an element other than zero. Where
// the first is one, that settles it, and where it is none, in many elements, their squares: those of numbers other than 0 are not 0 in float64.
func touched(ids []int, dense rowvec.Matrix, lo, hi int) []int {
	buffer := normBuffers.Get().(*[normBlock]float64)
	defer normBuffers.Put(buffer)
	for lo < hi {
		n := 0
		for lo+n < hi && dense.Data[(lo+n)*dense.Stride] == 0 {
			n++
		}
		if n*dense.Cols >= touchedElements {
			forward.SquaredNorms(buffer[:n], rows(dense, lo, lo+n), nil)
			for i, sum := range buffer[:n] {
				if sum != 0 {
					ids = append(ids, lo+i)
				}
			}
		} else {
			for i := lo; i < lo+n; i++ {
				if slices.ContainsFunc(dense.Row(i), func(x float32) bool { return x != 0 }) {
					ids = append(ids, i)
				}
			}
		}
		for lo += n; lo < hi && dense.Data[lo*dense.Stride] != 0; lo++ {
			ids = append(ids, lo)
		}
	}
	return ids
}

// all returns all memory for values.
func (g *Gradient) all() rowvec.Matrix {
	n := cap(g.values)
	return rowvec.Matrix{Rows: 1, Cols: n, Data: g.values[:n], Stride: n}
}

// Scale multiplies the gradient by alpha, each product rounded.
func (g *Gradient) Scale(alpha float32) {
	g.alpha = alpha
	g.share(scaleRows)
}

// Norm returns the Euclidean norm of the gradient. Squares and their sums are float64: those of a row in 16 lanes, by columns modulo
// 16, which are added up as those of a dot product are (package kernels), and rows in their order.
func (g *Gradient) Norm() float64 { return math.Sqrt(g.squares()) }

// squares returns the sum of all squares.
func (g *Gradient) squares() (sum float64) {
	g.norms = sized(g.norms, len(g.ids))
	g.share(squareRows)
	for row := range g.norms {
		if len(g.order) > 0 {
			row = g.order[row]
		}
		sum += g.norms[row]
	}
	return sum
}

// String describes the gradient, such as "Gradient(rows=3 of 50257, dim=64)".
func (g *Gradient) String() string {
	return fmt.Sprintf("Gradient(rows=%d of %d, dim=%d)", g.Len(), g.table, g.dim)
}

// Norm returns the Euclidean norm of several gradients together.
func Norm(grads ...*Gradient) float64 {
	sum := 0.0
	for _, g := range grads {
		sum += g.squares()
	}
	return math.Sqrt(sum)
}

// NormDense returns the Euclidean norm of several dense gradients together, of tied weights or of what has no table, with the
// bits that Norm has of the Gradients that SetDense makes of them. Their norm together with a sparse one is math.Hypot of both. A
// ShapeError is of a matrix whose fields contradict each other. ClipNormDense clips them.
func NormDense(grads ...rowvec.Matrix) (norm float64, err error) {
	return normDense("lookup.NormDense", grads)
}

func normDense(op string, grads []rowvec.Matrix) (norm float64, err error) {
	sum := 0.0
	buffer := normBuffers.Get().(*[normBlock]float64)
	defer normBuffers.Put(buffer)
	for i, m := range grads {
		if rowvec.CheckMatrix(op, "", m) != nil { // a name with a number takes memory
			return 0, rowvec.CheckMatrix(op, fmt.Sprintf("gradient %d", i), m)
		}
		squares := 0.0
		for first := 0; m.Cols > 0 && first < m.Rows; first += normBlock { // without columns, of any number of rows
			n := min(normBlock, m.Rows-first)
			forward.SquaredNorms(buffer[:n], rows(m, first, first+n), nil)
			for _, s := range buffer[:n] {
				squares += s
			}
		}
		sum += squares
	}
	return math.Sqrt(sum), nil
}

// ClipNorm scales the gradients by maxNorm/(norm+1e-6) if that is below 1, where norm is their Norm together, which it
// returns, as torch.nn.utils.clip_grad_norm_ does with dense gradients; but that one leaves sparse ones as they are, at least in
// 1.13, and computes in float32, in which squares of numbers from 1.8e19 on are infinite. An infinite norm with a finite maxNorm
// turns infinite elements into NaN and the others into zeros; a norm of NaN, or a norm and a maxNorm that are both infinite, gives NaN
// everywhere. maxNorm must be above 0, and no gradient may be given twice. ClipNormDense is for dense gradients.
func ClipNorm(maxNorm float64, grads ...*Gradient) (norm float64, err error) {
	const op = "lookup.ClipNorm"
	if err := checkMaxNorm(op, maxNorm); err != nil {
		return 0, err
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
	if factor, clips := clipping(maxNorm, norm); clips {
		for _, g := range grads {
			g.Scale(factor)
		}
	}
	return norm, nil
}

// ClipNormDense does to dense gradients, by their NormDense together, what ClipNorm does to others. What lies between the rows of a matrix
// stays as it is. Matrices that share memory are an OverlapError.
func ClipNormDense(maxNorm float64, grads ...rowvec.Matrix) (norm float64, err error) {
	const op = "lookup.ClipNormDense"
	if err := checkMaxNorm(op, maxNorm); err != nil {
		return 0, err
	}
	if norm, err = normDense(op, grads); err != nil {
		return 0, err
	}
	for i, m := range grads {
		for j, other := range grads[:i] {
			if rowvec.Overlap(m, other) {
				return 0, &rowvec.OverlapError{Op: op, Dst: fmt.Sprintf("gradient %d", i), Src: fmt.Sprintf("gradient %d", j)}
			}
		}
	}
	if factor, clips := clipping(maxNorm, norm); clips {
		for _, m := range grads {
			switch {
			case m.Cols == 0: // of any number of rows
			case m.Stride == m.Cols:
				rowvec.Scale(m.Data[:m.Rows*m.Cols], factor)
			default:
				for i := range m.Rows {
					rowvec.Scale(m.Row(i), factor)
				}
			}
		}
	}
	return norm, nil
}

func checkMaxNorm(op string, maxNorm float64) error {
	if !(maxNorm > 0) {
		return check.Value(op, "maximum norm", maxNorm, "above 0")
	}
	return nil
}

// clipping returns what gradients of a norm are multiplied by, and whether they are.
func clipping(maxNorm, norm float64) (factor float32, clips bool) {
	f := maxNorm / (norm + 1e-6)
	return float32(f), !(f >= 1)
}

// AddRows adds row i of rows, multiplied by alpha, to the gradient of row ids[i] of the table, for all i: what a caller
// with lookups of its own needs. rows has len(ids) rows and as many columns as the table. Those of one id are summed
// from +0 in their order, each product rounded before, and the sum is added to what the gradient holds.
func AddRows[I rowvec.ID](g *Gradient, ids []I, alpha float32, rows rowvec.Matrix) error {
	const op = "lookup.AddRows"
	if g == nil {
		return check.Nil(op, "g")
	}
	if err := check.AtLeast(op, "dim of g", g.dim, 1); err != nil { // its zero value
		return err
	}
	v := viewOf(ids)
	if err := v.check(op, g.table); err != nil {
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

// try gets ready to add the batch, and reports sums that are not finite, if that is asked for. Those that go into an empty gradient
// are worked out meanwhile.
func (g *Gradient) try(op string, workers int) (err error) {
	if len(g.ids) > 0 {
		g.find()
	}
	switch {
	case !g.finite:
		return nil
	case len(g.ids) == 0:
		err = g.sum(workers)
	default:
		err = g.run(look, workers)
	}
	if err != nil {
		g.batch.forget()
	}
	return named(err, op)
}

// named returns an error that says what is not finite with the Op that found it, and others as they are.
func named(err error, op string) error {
	if bad, ok := err.(*NotFiniteError); ok {
		bad.Op = op
	}
	return err
}

// sum sets values to the sums of the batch, of which there are no ids yet.
func (g *Gradient) sum(workers int) error {
	g.values = sized(g.values, len(g.batch.ids)*g.dim)
	err := g.run(sumInto, workers)
	if err != nil {
		g.values = g.values[:0]
	}
	return err
}

// adopt has an empty gradient be that of the batch, whose memory has its rows.
func (g *Gradient) adopt(workers int) {
	g.workers = workers
	g.values, g.batch.memory = g.batch.memory, g.values
	g.ids = append(g.ids, g.batch.ids...)
	g.batch.forget()
}

// commit adds what try has got ready.
func (g *Gradient) commit(workers int) error {
	defer g.batch.forget()
	if len(g.ids) > 0 {
		g.workers = max(g.workers, workers)
		g.merge()
		return g.run(addInto, workers)
	}
	if !g.finite {
		if err := g.sum(workers); err != nil {
			return err
		}
	}
	g.ids, g.workers = append(g.ids, g.batch.ids...), workers
	return nil
}

// find sets slots to the row of values that each group has, or to -1-n where it has none, and n ids are in front of its own.
func (g *Gradient) find() {
	g.slots = g.slots[:0]
	i := 0
	for _, id := range g.batch.ids {
		i = seek(g.ids, i, id)
		switch {
		case i == len(g.ids) || g.ids[i] != id:
			g.slots = append(g.slots, -1-i)
		case len(g.order) > 0:
			g.slots = append(g.slots, g.order[i])
		default:
			g.slots = append(g.slots, i)
		}
	}
}

// seek returns where, from lo on, the first of ids is that is not below id, by steps that double (Bentley and Yao, "An almost optimal
// algorithm for unbounded searching", 1976): there may be few of a batch, and many of a gradient.
func seek(ids []int, lo, id int) int {
	step := 1
	for lo+step <= len(ids) && ids[lo+step-1] < id {
		lo, step = lo+step, 2*step
	}
	at, _ := slices.BinarySearch(ids[lo:min(lo+step, len(ids))], id)
	return lo + at
}

// movedColumns is the number of columns up to which rows are moved to where they belong, while there are no more than twice as many as a
// batch has; others get an order. Several batches and a step with SGD took so many us with an order, and as an earlier version moved all of
// them; medians on a Xeon:
//
//	table, ids              batches   order   moved
//	1,000,000 x 16   8,192        2     885     658
//	1,000,000 x 16   8,192        4    1767    1735
//	1,000,000 x 64   8,192        2    1567    1345
//	1,000,000 x 64   8,192        4    3321    3550
//	1,000,000 x 128  8,192        2    2868    2892
//	1,000,000 x 128  8,192        4    6181    7784
//	   50,257 x 768  2,048        4    6260    8752
//	   50,257 x 768  2,048       16   33600   81800
const movedColumns = 64

// merge gives each group that has none a row of zeros, and has slots say so.
func (g *Gradient) merge() {
	missing := 0
	for _, slot := range g.slots {
		if slot < 0 {
			missing++
		}
	}
	if missing == 0 {
		return
	}
	from := len(g.ids)
	to := from + missing
	g.ids, g.values = slices.Grow(g.ids, missing)[:to], slices.Grow(g.values, missing*g.dim)[:to*g.dim]
	if len(g.order) == 0 && g.dim <= movedColumns && from <= 2*len(g.slots) {
		g.mergeMoved(from, to)
		return
	}
	for i := len(g.order); i < from; i++ {
		g.order = append(g.order, i)
	}
	g.order = slices.Grow(g.order, missing)[:to]
	g.mergeOrdered(from, to)
}

// mergeOrdered makes from ids to of them, with the rows of those that are new behind the others.
func (g *Gradient) mergeOrdered(from, to int) {
	row := to
	for r := len(g.slots) - 1; r >= 0; r-- {
		at := -1 - g.slots[r]
		if at < 0 { // it has one
			continue
		}
		to -= from - at
		copy(g.ids[to:], g.ids[at:from])
		copy(g.order[to:], g.order[at:from])
		from, to, row = at, to-1, row-1
		g.ids[to], g.order[to], g.slots[r] = g.batch.ids[r], row, row
		clear(g.rows(row, row+1).Data)
	}
}

// mergeMoved makes from ids to of them, with all rows in their order.
func (g *Gradient) mergeMoved(from, to int) {
	const piece = 1024 // rows of up to 256 bytes, since a copy cannot be preempted
	for r := len(g.slots) - 1; r >= 0; r-- {
		at := -1 - g.slots[r]
		if at < 0 {
			g.slots[r] += to - from
			continue
		}
		for from > at {
			n := min(piece, from-at)
			from, to = from-n, to-n
			copy(g.ids[to:], g.ids[from:from+n])
			copy(g.rows(to, to+n).Data, g.rows(from, from+n).Data)
		}
		to--
		g.ids[to], g.slots[r] = g.batch.ids[r], to
		clear(g.rows(to, to+1).Data)
	}
}

// task is what a worker does with groups of the batch, or with rows.
type task int

const (
	sumInto    task = iota // sets rows of values, of which there are no others
	addInto                // adds to the rows that slots say
	look                   // only looks whether sums would be finite
	squareRows             // sets norms
	scaleRows              // multiplies by alpha
)

// run has workers do a task with the batch.
func (g *Gradient) run(what task, workers int) error {
	return g.start(what, workers, len(g.batch.at))
}

// share has those who have added to the gradient do a task with its rows, in whatever order, which cannot fail. It is little for each, and
// so they are to be twice as many as elsewhere: two workers on a Xeon take 1.4 of the time that ClipNorm takes one for 8,192 rows of
// 1,000,000 x 64, 0.67 for 32,768, and 1.1, 0.75 and 0.57 for 1,024, 2,048 and 8,192 ids of 50,257 x 768.
func (g *Gradient) share(what task) {
	n, workers := len(g.ids), g.workers
	if n == 0 {
		return
	}
	if n < 2*parallelElements(g.table, g.dim, workers)/g.dim {
		workers = 1
	}
	_ = g.start(what, workers, n)
}

func (g *Gradient) start(what task, workers, n int) error {
	g.task = what
	if g.self != g { // it is new, or has been moved
		g.crew, g.self = work.New(g.do), g
	}
	return g.crew.Do(workers, n, leastRows(g.dim))
}

// do does a range of rows, or the groups that begin in a range of places.
func (g *Gradient) do(lo, hi int) error {
	switch g.task {
	case squareRows:
		forward.SquaredNorms(g.norms[lo:hi], g.rows(lo, hi), nil)
		return nil
	case scaleRows:
		rowvec.Scale(g.rows(lo, hi).Data, g.alpha)
		return nil
	}
	lo, hi = g.batch.span(lo, hi)
	if g.task != sumInto {
		return g.batch.pieces(lo, hi, g)
	}
	for ; lo < hi; lo += sumRows {
		sums := g.rows(lo, min(lo+sumRows, hi))
		if err := g.batch.sumSome(sums, lo); err != nil {
			return err
		}
		if g.finite {
			if err := g.check(sums, lo); err != nil {
				return err
			}
		}
	}
	return nil
}

// use is called with the sums of groups lo to lo+m.Rows-1.
func (g *Gradient) use(m rowvec.Matrix, lo int, _ bool) error {
	if g.task == addInto {
		return rowvec.ScatterAdd(g.rows(0, len(g.ids)), g.slots[lo:lo+m.Rows], 1, m)
	}
	for i := range m.Rows {
		if slot := g.slots[lo+i]; slot >= 0 {
			if err := rowvec.Add(m.Row(i), g.rows(slot, slot+1).Data); err != nil {
				return err
			}
		}
	}
	return g.check(m, lo)
}

// check reports an element of the sums of groups lo to lo+sums.Rows-1 that is not finite.
func (g *Gradient) check(sums rowvec.Matrix, lo int) error {
	return checkFinite(sums, func(i int) int { return g.batch.ids[lo+i] })
}

// checkFinite returns a NotFiniteError without an Op for the first element of gradients that is not finite; id says which of the table's
// rows each is of.
func checkFinite(m rowvec.Matrix, id func(i int) int) error {
	buffer := normBuffers.Get().(*[normBlock]float64)
	defer normBuffers.Put(buffer)
	for first := 0; first < m.Rows; first += normBlock {
		n := min(normBlock, m.Rows-first)
		forward.SquaredNorms(buffer[:n], rows(m, first, first+n), nil)
		for i, sum := range buffer[:n] {
			if sum-sum == 0 {
				continue
			}
			for j, x := range m.Row(first + i) {
				if x-x != 0 {
					return &NotFiniteError{Row: id(first + i), Col: j, Value: x}
				}
			}
		}
	}
	return nil
}

// noCopy has go vet report copies of what holds it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
