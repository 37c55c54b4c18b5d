package fuzz

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
)

// What FuzzSteps does one after the other: each byte of input.BadID is one of these, plus operations times a number below
// parts, which says with which ids.
const (
	addBatch = iota
	addSum
	addMean
	addMax
	addRows
	setDense
	clearAll
	scaleAll
	checkFinite
	lookUp
	step
	stepBatch
	stepDense
	stepSum
	stepMean
	stepMax
	stepClipped
	stepClippedDense
	setRate
	resume
	operations // how many there are
)

const parts = 12

// maxNorms are what the first 8 operations clip to, and the others: most gradients are above the first, and few above the second.
var maxNorms = [2]float64{3, 1e8}

// small makes the other gradient so small that beside a clipped one the 1e-6 of ClipNorm decides bits.
const small = 0x1p-20

// program returns a BadID with these operations, each with other ids.
func program(all ...uint64) (id uint64) {
	for i, o := range all {
		id |= (o + operations*(uint64(i*5)%parts)) << (8 * i)
	}
	return id
}

var methods = []lookup.Method{
	lookup.SGD{Rate: 0.5},
	lookup.SGD{Rate: 0.5, WeightDecay: 0.25},
	lookup.Adagrad{Rate: 0.5, RateDecay: 0.75, Initial: 0.125},
	lookup.RowAdagrad{Rate: 0.5, RateDecay: 0.75, Initial: 0.125},
	lookup.Adam{Rate: 0.25, Beta1: 0.5, Beta2: 0.75}, // whose powers are exact
	lookup.AdamW{Rate: 0.25, Beta1: 0.5, Beta2: 0.75, WeightDecay: 0.5},
}

// FuzzSteps holds a gradient that gathers several batches, of tokens and of bags, and an optimizer that takes several steps with it,
// with batches, with bags and with dense gradients, to loops over package kernels.
func FuzzSteps(f *testing.F) {
	seeds(f)
	rare := slices.Repeat([]float32{1, 2, -3}, 40)
	rare = append(rare, float32(math.NaN()), math.MaxFloat32)
	for method := range uint8(len(methods)) {
		for i, p := range []uint64{
			program(addBatch, addBatch, step, clearAll, stepBatch, stepDense, addRows, step),
			program(addSum, addBatch, checkFinite, addMean, addMax, step, scaleAll, stepBatch),
			program(lookUp, addRows, addMean, step, lookUp, stepBatch, addSum, setDense),
			program(checkFinite, setDense, addMax, addBatch, step, stepDense, clearAll, addSum),
			program(addMax, addSum, addMean, step, checkFinite, addBatch, addSum, addMax),
			program(addBatch, checkFinite, addBatch, addRows, addBatch, addRows, addBatch, addRows),
			program(stepSum, stepMean, stepMax, addSum, stepSum, step, stepMean, stepMax),
			program(addBatch, addRows, stepClipped, setRate, stepClippedDense, resume, step, stepClipped),
		} {
			for options := range uint8(4) { // by frequency, and limited
				if few := isatest.Few() && (options+method+uint8(i))%4 != 0; few || isatest.Slow && (i+int(method))%7 > 2 {
					continue
				}
				in := input{Dim: 35, N: 24, Rows: 12, Seq: 2, Start: options, At: method, Spread: 9, BadID: p, IDs: uint8(i) + options,
					Scale: uint32(options)<<30 | (uint32(i)+uint32(options))%4, Positions: uint16(i) + uint16(options)}
				f.Add(in.bytes())
				f.Add(in.bytes(1, 2, -3)) // without infinities, which leave little to tell
				in.Seed = uint32(method)
				f.Add(in.bytes(rare...))
				in.Spread, in.Dim = 2, 3
				f.Add(in.bytes(rare[100:]...))
				in.Dim, in.N, in.Rows, in.Flags, in.Spread = 70, 2500, 300, manyIDs|manyRows, 0
				f.Add(in.bytes(1, 2, -3))
			}
		}
	}
	fuzz(f, func(t *trial) {
		t.in.Overlap, t.in.Bad = 0, 0 // FuzzTraining has errors
		dim, n := max(1, t.dim()), t.count()
		vocab := min(max(1, t.tableRows()), max(1, maxMatrix/(dim+int(slices.Max(t.in.Gaps[:])))))
		dOut, weight, weights := t.matrix(0, n, dim), t.matrix(1, vocab, dim), t.matrix(2, 1, n)
		first, second, grad := t.matrix(2, vocab, dim), t.matrix(3, vocab, dim), t.matrix(0, vocab, dim)
		t.place(dOut, weight, weights, first, second, grad)
		t.op = "a program"
		m := model{trial: t, dOut: *dOut, table: *weight, weights: weights.Row(0), l: t.ids(0, n, vocab), method: int(t.in.At) % len(methods)}
		m.results = [3]rowvec.Matrix{*first, *second, *grad}
		o := &m.plain
		*o = occurrences{padding: -1, scale: 1, byFrequency: t.in.Start&byFrequency != 0}
		m.options = []lookup.Option{lookup.Workers(workersOf[t.in.Scale>>30])}
		if o.byFrequency {
			m.options = append(m.options, lookup.ScaleGradByFrequency())
		}
		if t.in.Scale&1 != 0 {
			m.options, m.scaled, o.scale = append(m.options, lookup.Scaled()), true, float32(math.Sqrt(float64(dim)))
		}
		if t.in.Scale&2 != 0 {
			o.padding = int(t.in.Scale>>2) % vocab
			m.options = append(m.options, lookup.Padding(o.padding))
		}
		if m.limit, m.p = t.limit(); m.limit < math.Inf(1) {
			m.options = append(m.options, lookup.MaxNorm(m.limit, m.p))
		}
		t.call = kernel{m.run, m.define}
	})
}

// model is what a program comes to. What has no place among the matrices is written to results at its end: the two that a method
// keeps, and the rows of the gradient.
type model struct {
	trial       *trial
	dOut, table rowvec.Matrix
	weights     []float32
	l           ids
	plain       occurrences // but for what an operation chooses
	options     []lookup.Option
	scaled      bool
	limit, p    float64
	method      int
	results     [3]rowvec.Matrix

	states [2]rowvec.Matrix
	sums   []float32 // of RowAdagrad
	rate   float64
	steps  int
	rows   map[int][]float32 // the gradient
	finite bool

	after []outcome // of each operation
}

// outcome is what is left of a gradient, what it has refused to become, and norms of what was clipped.
type outcome struct {
	rows    int
	refused map[int][]float32
	norms   []float64
}

// each calls do with the operations, twice, and with the part of the batch that each is about.
func (m *model) each(do func(i, operation int, o occurrences, dOut rowvec.Matrix) error) error {
	for i := range 16 {
		b := int(m.trial.in.BadID >> (8 * (i % 8)) & 0xff)
		operation, part := b%operations, b/operations%parts
		n := m.l.len()
		lo := n * (part & 3) / 4
		hi := lo + (n-lo)*(1+part>>2)/3
		o := m.plain
		o.l = m.l.slice(lo, hi)
		dOut := check.Window(m.dOut, lo, hi-lo, 0, m.dOut.Cols)
		if (operation == addMax || operation == stepMax) && o.byFrequency {
			operation-- // to a mean
		}
		first, plain := addSum, addBatch
		if operation >= stepSum {
			first, plain = stepSum, stepBatch
		}
		if operation >= first && operation <= first+int(lookup.Max) {
			if m.scaled { // bags are not
				operation = plain
			} else {
				o.pooling = lookup.Pooling(operation - first)
				seq := 1 + int(m.trial.in.Seq)%8
				o.spans = [][2]int{}
				for at := 0; at < hi-lo; at += seq {
					o.spans = append(o.spans, [2]int{at, min(at+seq, hi-lo)})
				}
				if o.pooling == lookup.Sum && part&1 == 0 {
					o.weights = m.weights[lo:hi]
				}
				dOut.Rows = len(o.spans)
			}
		}
		if err := do(i, operation, o, dOut); err != nil {
			return fmt.Errorf("operation %d, which is %d: %w", i, operation, err)
		}
	}
	return nil
}

// dense is the gradient of some ids as a dense one.
func (m *model) dense(o *occurrences, dOut rowvec.Matrix) rowvec.Matrix {
	d := must(rowvec.NewMatrix(m.table.Rows, m.table.Cols))
	o.l.scatterAdd(d, 1, dOut).define()
	return d
}

// halves are the left columns of a matrix and the right ones.
func halves(m rowvec.Matrix) (left, right rowvec.Matrix) {
	n := m.Cols / 2
	return check.Window(m, 0, m.Rows, 0, n), check.Window(m, 0, m.Rows, n, m.Cols-n)
}

// bagged is the input of bags, one for each span.
func (o *occurrences) bagged() lookup.Input {
	var offsets []int
	for _, span := range o.spans {
		offsets = append(offsets, span[0])
	}
	return o.l.raggedFrom(offsets).Weighted(o.weights)
}

func (m *model) run() error {
	e := must(lookup.FromMatrix(m.table, m.options...))
	g, opt := e.NewGradient(), must(e.NewOptimizer(methods[m.method]))
	finite := false
	err := m.each(func(i, operation int, o occurrences, dOut rowvec.Matrix) error {
		in := o.l.batch(max(1, o.l.len()))
		var norms []float64
		var err error
		switch operation {
		case addBatch:
			err = e.BackwardSparse(g, in, dOut)
		case addSum, addMean, addMax:
			err = must(lookup.NewBag(e, o.pooling)).BackwardSparse(g, o.bagged(), dOut)
		case addRows:
			err = o.l.addRows(g, -0.5, dOut)
		case setDense:
			err = g.SetDense(m.dense(&o, dOut))
		case clearAll:
			g.Clear()
		case scaleAll:
			g.Scale(0.5)
			g.Values() // puts rows in order
		case checkFinite:
			finite = !finite
			g.CheckFinite(finite)
		case lookUp:
			if m.limit < math.Inf(1) {
				err = e.Forward(must(rowvec.NewMatrix(o.l.len(), e.Dim())), in)
			}
		case step:
			err = opt.Step(g)
		case stepBatch:
			err = opt.StepBatch(e, in, dOut)
		case stepDense:
			err = opt.StepDense(m.dense(&o, dOut))
		case stepSum, stepMean, stepMax:
			err = opt.StepBags(must(lookup.NewBag(e, o.pooling)), o.bagged(), dOut)
		case stepClipped:
			other := e.NewGradient()
			if err = o.l.addRows(other, small, dOut); err == nil {
				norms = []float64{must(lookup.ClipNorm(maxNorms[i/8], g, other)), lookup.Norm(g, other), g.Norm()}
				err = opt.Step(other)
			}
		case stepClippedDense:
			dense := m.dense(&o, dOut)
			left, right := halves(dense)
			norms = []float64{
				must(lookup.ClipNormDense(maxNorms[i/8], left, right)), must(lookup.NormDense(left, right)), must(lookup.NormDense(left)),
			}
			err = opt.StepDense(dense)
		case setRate:
			err = opt.SetRate(opt.Rate() / 2)
		case resume:
			old := opt
			opt = must(e.NewOptimizer(methods[m.method]))
			for k, s := range opt.State() {
				copy(s.Value.Data, old.State()[k].Value.Data)
			}
			err = errors.Join(opt.SetSteps(old.Steps()), opt.SetRate(old.Rate()))
		}
		if g.Len() != m.after[i].rows {
			return fmt.Errorf("a gradient of %d rows, want %d (error %v)", g.Len(), m.after[i].rows, err)
		}
		if want := m.after[i].norms; fmt.Sprint(norms) != fmt.Sprint(want) { // a NaN is a NaN
			return fmt.Errorf("norms %v, want %v", norms, want)
		}
		refused := m.after[i].refused
		var bad *lookup.NotFiniteError
		switch {
		case refused == nil || !errors.As(err, &bad):
			if (err == nil) != (refused == nil) {
				return fmt.Errorf("error %v, which is right: %v", err, refused != nil)
			}
			return err
		case refused[bad.Row] == nil || fmt.Sprint(refused[bad.Row][bad.Col]) != fmt.Sprint(bad.Value) || bad.Value-bad.Value == 0:
			return fmt.Errorf("another error than %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if opt.Steps() != m.steps {
		return fmt.Errorf("%d steps, want %d", opt.Steps(), m.steps)
	}
	for k, s := range opt.State() {
		for i := range s.Value.Rows {
			copy(m.results[k].Row(i), s.Value.Row(i))
		}
	}
	for i, id := range g.IDs() {
		copy(m.results[2].Row(id), g.Values().Row(i))
	}
	return nil
}

func (m *model) define() {
	m.rate, m.steps, m.rows, m.finite, m.after = 0.5, 0, map[int][]float32{}, false, nil
	states := 0
	for k := range m.states {
		m.states[k] = must(rowvec.NewMatrix(m.table.Rows, m.table.Cols))
	}
	m.sums = make([]float32, m.table.Rows)
	switch m.method {
	case 2:
		states = 1
		for i := range m.states[0].Data {
			m.states[0].Data[i] = 0.125
		}
	case 3:
		for i := range m.sums {
			m.sums[i] = 0.125
		}
	case 4, 5:
		m.rate, states = 0.25, 2
	}
	_ = m.each(func(i, operation int, o occurrences, dOut rowvec.Matrix) error {
		var refused map[int][]float32
		var norms []float64
		switch operation {
		case addBatch, addSum, addMean, addMax:
			refused = m.add(o.sums(m.table, dOut, false))
		case addRows:
			o.padding, o.scale, o.byFrequency = -1, -0.5, false
			refused = m.add(o.sums(m.table, dOut, false))
		case setDense:
			refused = m.become(touched(m.dense(&o, dOut)))
		case clearAll:
			clear(m.rows)
		case scaleAll:
			for _, row := range m.rows {
				kernels.Scale(row, 0.5)
			}
		case checkFinite:
			m.finite = !m.finite
		case lookUp:
			limitNorms(m.table, o.l, m.limit, m.p)
		case step:
			m.step(m.inOrder(m.rows))
		case stepBatch:
			rows, ids := o.sums(m.table, dOut, o.scale == 1)
			m.step(ids, rows)
		case stepSum, stepMean, stepMax:
			rows, ids := o.sums(m.table, dOut, operation == stepSum && o.weights == nil && !o.byFrequency)
			m.step(ids, rows)
		case stepDense:
			m.step(m.inOrder(touched(m.dense(&o, dOut))))
		case stepClipped:
			o.padding, o.scale, o.byFrequency = -1, small, false
			other, otherIDs := o.sums(m.table, dOut, false)
			ids, rows := m.inOrder(m.rows)
			norms = clip(maxNorms[i/8], rows, other)
			for i, id := range ids {
				m.rows[id] = rows.Row(i)
			}
			m.step(otherIDs, other)
		case stepClippedDense:
			dense := m.dense(&o, dOut)
			left, right := halves(dense)
			norms = clip(maxNorms[i/8], left, right)
			m.step(m.inOrder(touched(dense)))
		case setRate:
			m.rate /= 2
		}
		m.after = append(m.after, outcome{len(m.rows), refused, norms})
		return nil
	})
	for k := range states {
		for i := range m.table.Rows {
			copy(m.results[k].Row(i), m.states[k].Row(i))
		}
	}
	if m.method == 3 {
		for i, sum := range m.sums {
			m.results[0].Row(i)[0] = sum
		}
	}
	for id, row := range m.rows {
		copy(m.results[2].Row(id), row)
	}
}

// touched are the rows of a dense gradient that are not all zeros.
func touched(dense rowvec.Matrix) map[int][]float32 {
	rows := map[int][]float32{}
	for i := range dense.Rows {
		if slices.ContainsFunc(dense.Row(i), func(x float32) bool { return x != 0 }) {
			rows[i] = dense.Row(i)
		}
	}
	return rows
}

// inOrder returns the ids of rows, ascending, and a copy of the rows.
func (m *model) inOrder(rows map[int][]float32) (ids []int, all rowvec.Matrix) {
	ids = slices.Sorted(maps.Keys(rows))
	all = must(rowvec.NewMatrix(len(ids), m.table.Cols))
	for i, id := range ids {
		copy(all.Row(i), rows[id])
	}
	return ids, all
}

// clip is the definition of ClipNorm, and returns the norm before, the one after, and that of the first gradient then.
func clip(maxNorm float64, a, b rowvec.Matrix) []float64 {
	norm := math.Sqrt(squaresOf(a) + squaresOf(b))
	if factor := maxNorm / (norm + 1e-6); !(factor >= 1) {
		for _, m := range []rowvec.Matrix{a, b} {
			for i := range m.Rows {
				kernels.Scale(m.Row(i), float32(factor))
			}
		}
	}
	return []float64{norm, math.Sqrt(squaresOf(a) + squaresOf(b)), math.Sqrt(squaresOf(a))}
}

// squaresOf adds the sums of rows up, in their order.
func squaresOf(m rowvec.Matrix) (sum float64) {
	for i := range m.Rows {
		sum += squares(m.Row(i))
	}
	return sum
}

// add adds sums to the gradient, or returns what it refuses.
func (m *model) add(sums rowvec.Matrix, ids []int) (refused map[int][]float32) {
	changed := map[int][]float32{}
	for i, id := range ids {
		changed[id] = sums.Row(i)
		if row := m.rows[id]; row != nil {
			changed[id] = slices.Clone(row)
			kernels.Add(changed[id], sums.Row(i))
		}
	}
	if m.refuses(changed) {
		return changed
	}
	maps.Copy(m.rows, changed)
	return nil
}

// become makes rows the gradient, or returns what it refuses.
func (m *model) become(rows map[int][]float32) (refused map[int][]float32) {
	if m.refuses(rows) {
		return rows
	}
	m.rows = rows
	return nil
}

func (m *model) refuses(rows map[int][]float32) bool {
	for _, row := range rows {
		if m.finite && slices.ContainsFunc(row, func(x float32) bool { return x-x != 0 }) {
			return true
		}
	}
	return false
}

// step is the definition of one, by what the methods say of themselves.
func (m *model) step(ids []int, rows rowvec.Matrix) {
	m.steps++
	rate, decayed := float32(m.rate), float32(m.rate/(1+float64(m.steps-1)*0.75))
	switch m.method {
	case 0:
		kernels.UpdateSGD(m.table, ids, rows, rate, 0)
	case 1:
		kernels.UpdateSGD(m.table, ids, rows, rate, 0.25)
	case 2:
		kernels.UpdateAdagrad(m.table, m.states[0], ids, rows, decayed, 1e-10)
	case 3:
		kernels.UpdateRowAdagrad(m.table, m.sums, ids, rows, decayed, 1e-10)
	default:
		power1, power2 := 1.0, 1.0
		for range m.steps {
			power1, power2 = power1*0.5, power2*0.75
		}
		s := rowvec.AdamStep{MeanWeight: 0.5, SquareWeight: 0.25, Epsilon: 1e-8, Keep: 1}
		s.Rate = float32(float64(m.rate*math.Sqrt(1-power2)) / (1 - power1))
		if m.method == 5 {
			s.Epsilon, s.Keep = float32(1e-8*math.Sqrt(1-power2)), float32(1-m.rate/2)
		}
		kernels.UpdateAdam(m.table, m.states[0], m.states[1], ids, rows, s)
	}
}
