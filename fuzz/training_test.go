package fuzz

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
)

// What FuzzTraining does is chosen by input.At: a step of one of the optimizers, a row-sparse gradient, a bag, the gradient of
// one, or of its weights.
const (
	stepSGD = iota
	stepAdagrad
	stepRowAdagrad
	stepAdam
	stepAdamW
	sparse
	bagSum
	bagMean
	bagMax
	gradientOfSum
	gradientOfMean
	gradientOfMax
	gradientOfWeights
	trainings // how many there are
)

// Options of FuzzTraining and FuzzSteps, in the lower bits of input.Start.
const (
	byFrequency = 1 << iota
	limited
	weighted
	frozen
)

// workersOf are what the two upper bits of input.Scale choose from.
var workersOf = [4]int{1, 2, 3, 5}

// Adam and AdamW, and their first steps.
var (
	adam      = lookup.Adam{Rate: 0.25, Beta1: 0.5, Beta2: 0.75}
	adamStep  = rowvec.AdamStep{MeanWeight: 0.5, SquareWeight: 0.25, Rate: 0.25, Epsilon: 1e-8, Keep: 1}
	adamW     = lookup.AdamW{Rate: 0.25, WeightDecay: 0.5, Beta1: 0.5, Beta2: 0.75}
	adamWStep = rowvec.AdamStep{MeanWeight: 0.5, SquareWeight: 0.25, Rate: 0.25, Epsilon: 0.5e-8, Keep: 0.875}
)

// FuzzTraining holds optimizers, row-sparse gradients and bags, of every kind of batches, to loops over package kernels.
func FuzzTraining(f *testing.F) {
	seeds(f)
	for what := range uint8(trainings) {
		for form := range uint8(4) {
			in := input{Dim: 35, N: 24, Rows: 12, Seq: 6, Start: form << 4, At: what, Spread: 9, Scale: uint32(form | 3<<2)}
			f.Add(in.bytes())
			more := in
			more.Dim, more.N, more.Seq, more.Flags, more.Scale = 70, 2500, 50, in.Flags|manyIDs, 2|2<<30
			f.Add(more.bytes())
			for option := range uint8(8) { // without infinities, which leave little to tell
				in.Start, in.IDs, in.Positions = form<<4|option, option%7, uint16(form)
				f.Add(in.bytes(1, 2, -3))
			}
			more.Start, more.Scale, more.Spread = form<<4|byFrequency|limited|weighted, 3|3<<30, 0
			f.Add(more.bytes(1, 2, -3))
			for at := range uint16(12) { // offsets that are wrong
				in.Start, in.Shift, in.Overlap, in.Flags = form<<4, at, 100, misfit
				f.Add(in.bytes())
				in.Overlap = 256 - 8
				f.Add(in.bytes())
			}
			in.Flags, in.Overlap, in.Dim, in.Positions = 0, 0, 1, 3+uint16(form)%3
			in.Start = form<<4 | limited
			f.Add(in.bytes())
			in.Start = form<<4 | limited | frozen
			f.Add(in.bytes(1, 2, -3))
		}
		for pair := range uint8(12) { // also with weights
			in := input{Dim: 20, N: 24, Rows: 12, Seq: 6, Start: 1<<4 | weighted | limited, At: what, Spread: 9, Overlap: 3 + pair<<2}
			f.Add(in.bytes())
			in.Overlap, in.Shift = 2+pair<<2, 64
			f.Add(in.bytes())
		}
	}
	fuzz(f, func(t *trial) {
		vocab, dim := max(1, t.tableRows()), max(1, t.dim())
		what, form := int(t.in.At)%trainings, t.in.Start>>4%4
		n, _, seq, _ := t.sequences(t.count())
		isBag := what >= bagSum
		pooling := lookup.Sum
		switch what {
		case bagMean, gradientOfMean:
			pooling = lookup.Mean
		case bagMax, gradientOfMax:
			pooling = lookup.Max
		}

		// The sequences, whose number is that of rows of out for bags.
		spans := [][2]int{}
		offsets := []int(nil)
		switch form {
		case 0:
			seq = max(1, n)
			fallthrough
		case 1:
			t.checkShape(seq > 0 && n%max(1, seq) == 0)
			for i := 0; seq > 0 && i+seq <= n; i += seq {
				spans = append(spans, [2]int{i, i + seq})
			}
		default:
			offsets, _ = t.offsets(n, make([]int, n))
			ends := offsets[1:]
			if form == 3 { // without the last one, which may be wrong then
				offsets = offsets[:max(1, len(ends))]
				ends = append(slices.Clone(offsets[1:]), n)
				t.misshapen = offsets[0] != 0 || !slices.IsSorted(offsets) || offsets[len(offsets)-1] > n
			}
			for b, end := range ends {
				spans = append(spans, [2]int{offsets[b], end})
			}
		}
		rows := n
		if isBag {
			rows = len(spans)
		}
		out, weight := t.matrix(0, rows, dim), t.matrix(1, vocab, dim)
		weights, dWeights := t.matrix(2, 1, n), t.matrix(3, 1, n)
		all := []*rowvec.Matrix{out, weight}
		hasWeights := t.in.Start&weighted != 0 && isBag && pooling == lookup.Sum
		if hasWeights {
			all = append(all, weights)
		}
		if what == gradientOfWeights {
			all = append(all, dWeights)
		}
		if len(all) > 2 {
			t.in.Flags &^= side // weights are no matrix
		}
		if (what == sparse || what >= gradientOfSum && what <= gradientOfMax) && t.in.Overlap&3 == 2 {
			t.in.Overlap = 0 // a dense gradient that shares memory with ids may change them
		}
		t.place(all...)
		l := t.ids(0, n, vocab)
		var in lookup.Input
		switch form {
		case 2:
			in = l.ragged(offsets)
		case 3:
			in = l.raggedFrom(offsets)
		default:
			in = l.batch(seq)
		}
		o := occurrences{l: l, spans: spans, padding: -1, scale: 1, pooling: pooling}
		if !isBag {
			o.spans = nil
		}
		if hasWeights {
			o.weights = weights.Row(0)
			in = in.Weighted(o.weights)
		}

		options := []lookup.Option{lookup.Workers(workersOf[t.in.Scale>>30])}
		if t.in.Scale&1 != 0 && !isBag {
			options, o.scale = append(options, lookup.Scaled()), float32(math.Sqrt(float64(dim)))
		}
		if t.in.Scale&2 != 0 {
			o.padding = int(t.in.Scale>>2) % vocab
			options = append(options, lookup.Padding(o.padding))
		}
		if o.byFrequency = t.in.Start&byFrequency != 0 && pooling != lookup.Max; o.byFrequency {
			options = append(options, lookup.ScaleGradByFrequency())
		}
		limit, p := t.limit()
		if limit < math.Inf(1) {
			options = append(options, lookup.MaxNorm(limit, p))
		}
		if o.frozen = t.in.Start&frozen != 0; o.frozen {
			options = append(options, lookup.Frozen())
		}
		e := must(lookup.FromMatrix(*weight, options...))
		t.checkIDs("id", l, vocab)

		switch what {
		case sparse:
			t.op = "lookup.Embedding.BackwardSparse"
			t.call = o.gradient(*weight, *out, func(g *lookup.Gradient) error { return e.BackwardSparse(g, in, *out) })
		case gradientOfSum, gradientOfMean, gradientOfMax:
			t.op = "lookup.Bag.BackwardSparse"
			bag := must(lookup.NewBag(e, pooling))
			t.call = o.gradient(*weight, *out, func(g *lookup.Gradient) error { return bag.BackwardSparse(g, in, *out) })
		case gradientOfWeights:
			t.op = "lookup.Bag.BackwardWeights"
			t.checkApart("", *dWeights, "", *out)
			t.checkApart("", *dWeights, "", *weight)
			t.checkIDsApart("", *dWeights, "", l)
			if hasWeights {
				t.checkApart("", *dWeights, "", *weights)
			}
			t.call = kernel{
				func() error { return must(lookup.NewBag(e, pooling)).BackwardWeights(dWeights.Row(0), in, *out) },
				func() { o.weightsGradient(dWeights.Row(0), *weight, *out) },
			}
		case bagSum, bagMean, bagMax:
			t.op = "lookup.Bag.Forward"
			t.checkApart("", *out, "", *weight)
			t.checkIDsApart("", *out, "", l)
			if limit < math.Inf(1) {
				t.checkIDsApart("", *weight, "", l)
			}
			if hasWeights {
				t.checkApart("", *out, "", *weights)
				if limit < math.Inf(1) {
					t.checkApart("", *weight, "", *weights)
				}
			}
			t.call = kernel{
				func() error { return must(lookup.NewBag(e, pooling)).Forward(*out, in) },
				func() {
					limitNorms(*weight, l, limit, p)
					o.bags(*out, *weight)
				},
			}
		default:
			t.op = "lookup.Optimizer.StepBatch"
			t.checkApart("", *weight, "", *out)
			t.checkIDsApart("", *weight, "", l)
			method := []lookup.Method{
				lookup.SGD{Rate: 0.5, WeightDecay: 0.25}, lookup.Adagrad{Rate: 0.5}, lookup.RowAdagrad{Rate: 0.5}, adam, adamW,
			}[what]
			t.call = kernel{
				func() error { return must(e.NewOptimizer(method)).StepBatch(e, in, *out) },
				func() {
					rows, ids := o.sums(*weight, *out, o.scale == 1)
					a, b := must(rowvec.NewMatrix(vocab, dim)), must(rowvec.NewMatrix(vocab, dim))
					switch what {
					case stepSGD:
						kernels.UpdateSGD(*weight, ids, rows, 0.5, 0.25)
					case stepAdagrad:
						kernels.UpdateAdagrad(*weight, a, ids, rows, 0.5, 1e-10)
					case stepRowAdagrad:
						kernels.UpdateRowAdagrad(*weight, make([]float32, vocab), ids, rows, 0.5, 1e-10)
					case stepAdam:
						kernels.UpdateAdam(*weight, a, b, ids, rows, adamStep)
					case stepAdamW:
						kernels.UpdateAdam(*weight, a, b, ids, rows, adamWStep)
					}
				},
			}
		}
	})
}

// occurrences are the tokens of a batch and what makes of rows of dOut the gradients of theirs.
type occurrences struct {
	l           ids
	spans       [][2]int // bags; nil if each token has a row of its own
	padding     int
	scale       float32
	weights     []float32 // nil: none
	pooling     lookup.Pooling
	byFrequency bool
	frozen      bool
}

// gradient is a call that adds to an empty gradient, which is added to the table then, since no memory of its own is looked at.
func (o *occurrences) gradient(table, dOut rowvec.Matrix, add func(g *lookup.Gradient) error) kernel {
	return kernel{
		func() error {
			g := must(lookup.NewGradient(table.Rows, table.Cols))
			if err := add(g); err != nil {
				return err
			}
			return g.AddTo(table)
		},
		func() {
			rows, ids := o.sums(table, dOut, false)
			kernels.ScatterAdd(table, ids, 1, rows)
		},
	}
}

// bagOf returns the row of dOut of each token.
func (o *occurrences) bagOf(n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	for b, span := range o.spans {
		for i := span[0]; i < span[1]; i++ {
			at[i] = b
		}
	}
	return at
}

// count returns the number of tokens in a range that are no padding.
func (o *occurrences) count(lo, hi int) (n int) {
	for i := lo; i < hi; i++ {
		if o.l.at(i) != o.padding {
			n++
		}
	}
	return n
}

// sums returns the gradient of each id but padding, and the ids, ascending. If straight, that of an id that occurs once is its row
// of dOut as it is, also where it is -0.
func (o *occurrences) sums(table, dOut rowvec.Matrix, straight bool) (sums rowvec.Matrix, ids []int) {
	n := o.l.len()
	counts := map[int]int{}
	for i := range n {
		if id := o.l.at(i); id != o.padding && !o.frozen {
			counts[id]++
		}
	}
	ids = slices.Sorted(maps.Keys(counts))
	sums = must(rowvec.NewMatrix(len(ids), dOut.Cols))
	row := func(id int) []float32 {
		at, _ := slices.BinarySearch(ids, id)
		return sums.Row(at)
	}
	if o.spans != nil && o.pooling == lookup.Max {
		o.maxima(table, dOut, func(id, column int, x float32) {
			if counts[id] > 0 {
				row(id)[column] += x
			}
		})
		return sums, ids
	}
	at := o.bagOf(n)
	for i := range n {
		id := o.l.at(i)
		if counts[id] == 0 {
			continue
		}
		factor := o.scale
		switch {
		case o.weights != nil:
			factor = o.weights[i]
		case o.spans != nil && o.pooling == lookup.Mean:
			span := o.spans[at[i]]
			factor = 1 / float32(o.count(span[0], span[1]))
		}
		if o.byFrequency {
			factor /= float32(counts[id])
		}
		if straight && counts[id] == 1 {
			copy(row(id), dOut.Row(at[i]))
		} else {
			kernels.AddScaled(row(id), factor, dOut.Row(at[i]))
		}
	}
	return sums, ids
}

// maxima calls add with each element of dOut, its column, and the id that gave the maximum.
func (o *occurrences) maxima(table, dOut rowvec.Matrix, add func(id, column int, x float32)) {
	for b, span := range o.spans {
		for j, x := range dOut.Row(b) {
			best := -1
			for i := span[0]; i < span[1]; i++ {
				if id := o.l.at(i); id != o.padding && (best < 0 || table.Row(id)[j] > table.Row(best)[j]) {
					best = id
				}
			}
			if best >= 0 {
				add(best, j, x)
			}
		}
	}
}

// weightsGradient adds dot products.
func (o *occurrences) weightsGradient(dWeights []float32, table, dOut rowvec.Matrix) {
	at := o.bagOf(len(dWeights))
	for i := range dWeights {
		if id := o.l.at(i); id != o.padding {
			dot := must(rowvec.NewMatrix(1, 1))
			kernels.Dots(dot, check.Window(dOut, at[i], 1, 0, dOut.Cols), table, []int{id})
			dWeights[i] += dot.Data[0]
		}
	}
}

// bags sets dst.
func (o *occurrences) bags(dst, table rowvec.Matrix) {
	for b, span := range o.spans {
		row, first := dst.Row(b), true
		clear(row)
		for i := span[0]; i < span[1]; i++ {
			id := o.l.at(i)
			if id == o.padding {
				continue
			}
			for j, x := range table.Row(id) {
				switch {
				case o.weights != nil:
					row[j] += float32(o.weights[i] * x)
				case o.pooling != lookup.Max:
					row[j] += x
				case first || x > row[j]:
					row[j] = x
				}
			}
			first = false
		}
		if n := o.count(span[0], span[1]); o.pooling == lookup.Mean && n > 0 {
			for j := range row {
				row[j] /= float32(n)
			}
		}
	}
}

// limit returns that of norms, if there is one, and which norm. A small one has the 1e-7 decide bits.
func (t *trial) limit() (limit, p float64) {
	if t.in.Start&limited == 0 {
		return math.Inf(1), 2
	}
	return []float64{3, 1e-3}[t.in.Positions/3%2], []float64{2, 1, math.Inf(1)}[t.in.Positions%3]
}

// limitNorms scales the rows of a table that ids choose, each once, whose p-norm is above limit. p is 1, 2 or infinite.
func limitNorms(table rowvec.Matrix, l ids, limit, p float64) {
	done := map[int]bool{}
	for i := range l.len() {
		id := l.at(i)
		if done[id] {
			continue
		}
		done[id] = true
		if norm := normOf(table.Row(id), p); norm > limit {
			kernels.Scale(table.Row(id), float32(limit/(norm+1e-7)))
		}
	}
}

// normOf adds up as package lookup does, in float64: absolute values in four lanes, of which the first takes what is left over.
func normOf(x []float32, p float64) float64 {
	if p == 2 {
		return math.Sqrt(squares(x))
	}
	var lanes [4]float64
	largest := 0.0
	for j, y := range x {
		v := math.Abs(float64(y))
		largest = max(largest, v)
		if j >= len(x)&^3 {
			j = 0
		}
		lanes[j%4] += v
	}
	if math.IsInf(p, 1) {
		return largest
	}
	return lanes[0] + lanes[2] + (lanes[1] + lanes[3])
}

// squares adds them up in 16 lanes, in float64.
func squares(x []float32) float64 {
	var lanes [16]float64
	for j, y := range x {
		lanes[j%16] += float64(float64(y) * float64(y))
	}
	for half := 8; half > 0; half /= 2 {
		for k := range half {
			lanes[k] += lanes[k+half]
		}
	}
	return lanes[0]
}
