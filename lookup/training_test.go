package lookup_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/reference"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/lookup"
)

// tally compares with PyTorch where that rounds otherwise: with fused multiply-add, in float32 where we have float64, or in
// an order of its own. Where large terms cancel, what is left may be off by many of its own units in the last place.
type tally struct{ all, near int }

// compare reports an element that is off by more than 3 units in the last place, where these are of the largest element of
// terms in its column if that is larger.
func (c *tally) compare(t *testing.T, what string, got, want, terms rowvec.Matrix) {
	t.Helper()
	if got.Rows != want.Rows || got.Cols != want.Cols {
		t.Fatalf("%s: shape %d x %d, want %d x %d", what, got.Rows, got.Cols, want.Rows, want.Cols)
	}
	for i := range got.Rows {
		for j, x := range got.Row(i) {
			y, largest := want.Row(i)[j], float32(0)
			for k := range terms.Rows {
				largest = max(largest, terms.Row(k)[j], -terms.Row(k)[j])
			}
			off, own := math.Abs(float64(x)-float64(y)), math.Abs(float64(y))
			if !(off <= 3*0x1p-23*max(own, float64(largest))) {
				t.Errorf("%s: row %d, column %d is %v, want %v", what, i, j, x, y)
			}
			c.all++
			if off <= 2*0x1p-23*own {
				c.near++
			}
		}
	}
}

// check reports that not nearly all elements are within 2 of their own units.
func (c *tally) check(t *testing.T) {
	t.Helper()
	if share := float64(c.near) / float64(c.all); !(share > 0.94) {
		t.Errorf("of %d elements %.3f are within 2 units", c.all, share)
	}
}

// maxNorm returns the option of a case, which has 0 for an infinite norm.
func maxNorm(most, p float64) lookup.Option {
	if p == 0 {
		p = math.Inf(1)
	}
	return lookup.MaxNorm(most, p)
}

// TestOptionsReference holds padding, gradients by frequency and limits of norms to PyTorch's nn.Embedding, bit for bit, but that
// rows which a finite norm may limit are within 3 units in the last place: it adds up norms in float32. It fuses products with
// 1/count and the sum of a gradient, too, which makes no difference to these cases: most counts are powers of two.
func TestOptionsReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		var n tally
		defer func() { n.check(t) }()
		for _, c := range reference.OptionsCases(t) {
			var options []lookup.Option
			if c.Padding >= 0 {
				options = append(options, lookup.Padding(c.Padding))
			}
			if c.ByFrequency {
				options = append(options, lookup.ScaleGradByFrequency())
			}
			if c.MaxNorm > 0 {
				options = append(options, maxNorm(c.MaxNorm, c.Norm))
			}
			e := must(lookup.FromMatrix(c.Table.Matrix, options...))
			out := newMatrix(t, len(c.IDs), c.Table.Cols)
			if err := e.Forward(out, lookup.Sequence(c.IDs)); err != nil {
				t.Fatal(err)
			}
			if c.MaxNorm > 0 && c.Norm > 0 {
				n.compare(t, c.Name+": result", out, c.Out.Matrix, rowvec.Matrix{})
				n.compare(t, c.Name+": table", e.Weight(), c.TableAfter.Matrix, rowvec.Matrix{})
			} else {
				reference.Equal(t, c.Name+": result", out, c.Out)
				reference.Equal(t, c.Name+": table", e.Weight(), c.TableAfter)
			}
			dense := newMatrix(t, c.Table.Rows, c.Table.Cols)
			if err := e.Backward(dense, lookup.Sequence(c.IDs), c.DOut.Matrix); err != nil {
				t.Fatal(err)
			}
			reference.Equal(t, c.Name+": gradient", dense, c.Grad)
		}
	})
}

// TestBagsReference holds bags, forward and backward, to PyTorch's nn.EmbeddingBag. Sums, means and maxima, and the gradient of
// maxima, have its bits, unless rows have been scaled by a norm that it adds up in float32. All else is within 3 units in the last
// place of the largest term: with weights it fuses multiplications and additions, and gradients of sums and means it adds up in
// another order. Bags by frequency are held to its nn.Embedding, which fuses nothing but products with 1/count and the sum of a
// gradient.
func TestBagsReference(t *testing.T) {
	poolings := map[string]lookup.Pooling{"sum": lookup.Sum, "weighted": lookup.Sum, "mean": lookup.Mean, "max": lookup.Max}
	isatest.Each(t, func(t *testing.T) {
		var n tally
		defer func() { n.check(t) }()
		for _, c := range slices.Concat(reference.EmbeddingBagCases(t), reference.BagOptionsCases(t), reference.BagFrequencyCases(t),
			reference.BagMaxCases(t)) {
			// compare takes terms for what PyTorch has in another order, or fused, or from a norm in float32.
			compare := func(what string, exact bool, got rowvec.Matrix, want reference.Matrix, terms rowvec.Matrix) {
				t.Helper()
				if exact {
					reference.Equal(t, c.Name+what, got, want)
				} else {
					n.compare(t, c.Name+what, got, want.Matrix, terms)
				}
			}
			var options []lookup.Option
			if c.Padding >= 0 {
				options = append(options, lookup.Padding(c.Padding))
			}
			if c.ByFrequency {
				options = append(options, lookup.ScaleGradByFrequency())
			}
			if c.MaxNorm > 0 {
				options = append(options, maxNorm(c.MaxNorm, c.Norm))
			}
			bag := must(lookup.NewBag(must(lookup.FromMatrix(c.Table.Matrix, options...)), poolings[c.Mode]))
			in, offsets := lookup.Ragged(c.IDs, c.Offsets), c.Offsets
			if c.Seq > 0 {
				in = lookup.Batch(c.IDs, c.Seq)
			} else if !c.Last {
				in, offsets = lookup.RaggedFrom(c.IDs, c.Offsets), append(offsets, len(c.IDs))
			}
			if c.Mode == "weighted" {
				in = in.Weighted(c.Weights.Data)
			}
			out := newMatrix(t, len(offsets)-1, c.Table.Cols)
			if err := bag.Forward(out, in); err != nil {
				t.Fatal(err)
			}
			table := bag.Tokens().Weight()
			sameTable := c.MaxNorm == 0 || c.Norm == 0 // an infinite norm is not rounded
			if c.MaxNorm > 0 {
				compare(": table", sameTable, table, c.TableAfter, rowvec.Matrix{})
			}
			compare(": result", sameTable && (c.Mode != "weighted" || c.ByFrequency), out, c.Out, table)
			g := bag.Tokens().NewGradient()
			if err := bag.BackwardSparse(g, in, c.DOut.Matrix); err != nil {
				t.Fatal(err)
			}
			terms := c.DOut.Matrix
			if c.Mode == "weighted" {
				terms = newMatrix(t, len(c.IDs), terms.Cols)
				for b, end := range offsets[1:] {
					for i := offsets[b]; i < end; i++ {
						copy(terms.Row(i), c.DOut.Row(b))
						rowvec.Scale(terms.Row(i), c.Weights.Data[i])
					}
				}
			}
			compare(": gradient", c.Mode == "max" || c.Exact, dense(t, g, c.Table.Rows, c.Table.Cols), c.Grad, terms)
			if c.Mode != "weighted" {
				continue
			}
			dWeights := make([]float32, len(c.IDs))
			if err := bag.BackwardWeights(dWeights, in, c.DOut.Matrix); err != nil {
				t.Fatal(err)
			}
			for b, end := range offsets[1:] {
				for i := offsets[b]; i < end; i++ {
					size := 0.0 // of the terms
					for j, x := range c.DOut.Row(b) {
						size += math.Abs(float64(x) * float64(table.Row(c.IDs[i])[j]))
					}
					if off := math.Abs(float64(dWeights[i]) - float64(c.WeightsGrad.Data[i])); !(off <= 8*0x1p-24*size) {
						t.Errorf("%s: gradient of weight %d is %v, want %v", c.Name, i, dWeights[i], c.WeightsGrad.Data[i])
					}
				}
			}
		}
	})
}

// methods are those of the cases of training, decayed, adagrad, accumulated and tied.
var methods = map[string]lookup.Method{
	"sgd":     lookup.SGD{Rate: 0.125},
	"decayed": lookup.SGD{Rate: 0.125, WeightDecay: 0.5},
	"adagrad": lookup.Adagrad{Rate: 0.1, RateDecay: 0.05, Initial: 0.25},
	"adam":    lookup.Adam{Rate: 0.01, Beta1: 0.8, Beta2: 0.95},
	"adamw":   lookup.AdamW{Rate: 0.01, Beta1: 0.8, Beta2: 0.95, Epsilon: 0.01, WeightDecay: 0.1},

	"adagrad from 0": lookup.Adagrad{Rate: 0.125, Epsilon: 0.001},
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// TestTrainingReference holds several steps of each optimizer to PyTorch's, bit for bit. Within 3 units in the last place are tables
// of SGD, which takes the gradients of an id one by one from the weight, and of Adagrad with a rate that is no power of two, whose
// product it fuses, and all of AdamW, which fuses most. That of SGD with decay is dense, in the rows of the gradient: it refuses a
// sparse one.
func TestTrainingReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		var n tally
		defer func() { n.check(t) }()
		for _, c := range slices.Concat(reference.TrainingCases(t), reference.DecayedCases(t), reference.AdagradCases(t)) {
			var options []lookup.Option
			if c.Padding >= 0 {
				options = append(options, lookup.Padding(c.Padding))
			}
			e := must(lookup.FromMatrix(c.Table.Matrix, options...))
			o := must(e.NewOptimizer(methods[c.Method]))
			g := e.NewGradient()
			for _, step := range c.Steps {
				if err := o.SetRate(step.Rate); err != nil {
					t.Fatal(err)
				}
				g.Clear()
				if err := e.BackwardSparse(g, lookup.Sequence(step.IDs), step.DOut.Matrix); err != nil {
					t.Fatal(err)
				}
				if err := o.Step(g); err != nil {
					t.Fatal(err)
				}
				if c.Method == "adamw" {
					n.trained(t, c.Name, e, o, step.Table, step.State)
					continue
				}
				if c.Method == "sgd" || c.Method == "adagrad" {
					n.compare(t, c.Name+": table", e.Weight(), step.Table.Matrix, step.Table.Matrix)
				} else {
					reference.Equal(t, c.Name+": table", e.Weight(), step.Table)
				}
				for k, s := range o.State() {
					reference.Equal(t, c.Name+": "+s.Name, s.Value, step.State[k])
				}
			}
		}
	})
}

// TestTiedReference holds a model whose output layer has the table of its input to PyTorch, by dense gradients and sparse ones:
// logits, the gradient of the table and steps, bit for bit of numbers that round nothing, and else within 3 units in the last place
// of the largest element of a column, for products are added up in other orders. The padding id has the gradient of its logits alone.
func TestTiedReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		var n tally
		defer func() { n.check(t) }()
		for _, c := range reference.TiedCases(t) {
			all := make([]int, c.Table.Rows)
			for i := range all {
				all[i] = i
			}
			for _, sparse := range []bool{false, true} {
				compare := func(what string, got rowvec.Matrix, want reference.Matrix) {
					t.Helper()
					if what = fmt.Sprintf("%s, sparse %v: %s", c.Name, sparse, what); c.Method == "sgd" {
						reference.Equal(t, what, got, want)
					} else {
						n.compare(t, what, got, want.Matrix, want.Matrix)
					}
				}
				e := must(lookup.FromMatrix(reference.Copy(c.Table, 0), lookup.Padding(c.Padding), lookup.Scaled()))
				output, o, g := must(lookup.NewOutput(e)), must(e.NewOptimizer(methods[c.Method])), e.NewGradient()
				for _, step := range c.Steps {
					in, dLogits := lookup.Sequence(step.IDs), step.DLogits.Matrix
					h, dH := newMatrix(t, len(step.IDs), e.Dim()), newMatrix(t, len(step.IDs), e.Dim())
					logits, grad := newMatrix(t, len(step.IDs), e.Vocab()), newMatrix(t, e.Vocab(), e.Dim())
					noError(t, e.Forward(h, in))
					noError(t, output.Forward(logits, h))
					compare("logits", logits, step.Logits)
					if sparse {
						g.Clear()
						noError(t, output.BackwardSampledSparse(dH, g, lookup.Sequence(all), dLogits, h))
						noError(t, e.BackwardSparse(g, in, dH))
						grad = dense(t, g, e.Vocab(), e.Dim())
						noError(t, o.Step(g))
					} else {
						noError(t, output.Backward(dH, grad, dLogits, h))
						noError(t, e.Backward(grad, in, dH))
						noError(t, o.StepDense(grad))
					}
					compare("gradient", grad, step.Grad)
					compare("table", e.Weight(), step.Table)
					for k, s := range o.State() {
						compare(s.Name, s.Value, step.State[k])
					}
				}
			}
		}
	})
}

// TestLazyAdamWReference holds steps of AdamW by gradients of some rows to PyTorch's SparseAdam behind the decay of these rows, bit for
// bit, by gradients and by batches. All other rows, and what is kept of them, stay as they are.
func TestLazyAdamWReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.LazyAdamWCases(t) {
			for _, batch := range []bool{false, true} {
				e := must(lookup.FromMatrix(reference.Copy(c.Table, 0), lookup.Padding(c.Padding)))
				o, g := must(e.NewOptimizer(methods[c.Method])), e.NewGradient()
				for k, step := range c.Steps {
					in := lookup.Sequence(step.IDs)
					noError(t, o.SetRate(step.Rate))
					if batch {
						noError(t, o.StepBatch(e, in, step.DOut.Matrix))
					} else {
						g.Clear()
						noError(t, e.BackwardSparse(g, in, step.DOut.Matrix))
						noError(t, o.Step(g))
					}
					what := fmt.Sprintf("%s, batch %v, step %d: ", c.Name, batch, k+1)
					reference.Equal(t, what+"table", e.Weight(), step.Table)
					for i, s := range o.State() {
						reference.Equal(t, what+s.Name, s.Value, step.State[i])
					}
				}
			}
		}
	})
}

// TestRowAdagradReference holds steps of RowAdagrad to NumPy in float64, within what rounding explains.
func TestRowAdagradReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.RowAdagradCases(t) {
			e := must(lookup.FromMatrix(reference.Copy(c.Start, 0)))
			o := must(e.NewOptimizer(lookup.RowAdagrad{Rate: c.Rate, RateDecay: c.RateDecay, Initial: c.Initial, Epsilon: c.Epsilon}))
			g, compare := e.NewGradient(), reference.CloseRowAdagrad(t, c.Name, &c)
			for _, step := range c.Steps {
				g.Clear()
				noError(t, e.BackwardSparse(g, lookup.Sequence(step.IDs), step.Grad.Matrix))
				noError(t, o.Step(g))
				compare(e.Weight(), o.State()[0].Value)
			}
		}
	})
}

// trained compares the table of e, and what o keeps.
func (c *tally) trained(
	t *testing.T, name string, e *lookup.Embedding, o *lookup.Optimizer, table reference.Matrix, state []reference.Matrix,
) {
	t.Helper()
	c.compare(t, name+": table", e.Weight(), table.Matrix, table.Matrix)
	for k, s := range o.State() {
		c.compare(t, name+": "+s.Name, s.Value, state[k].Matrix, state[k].Matrix)
	}
}

// TestAccumulatedReference holds the gradient of several batches to what PyTorch adds up: bit for bit where that is dense, for both
// add the sum of a batch to those before it, and within the bound of sums in whatever order where it is coalesced. Steps are those
// of PyTorch with the latter, within 3 units in the last place of the largest element of a column.
func TestAccumulatedReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		var n tally
		defer func() { n.check(t) }()
		for _, c := range reference.AccumulatedCases(t) {
			e := must(lookup.FromMatrix(c.Table.Matrix))
			o, g := must(e.NewOptimizer(methods[c.Method])), e.NewGradient()
			for _, step := range c.Steps {
				g.Clear()
				var ids []int
				var rows [][]float32
				for _, b := range step.Batches {
					if err := e.BackwardSparse(g, lookup.Sequence(b.IDs), b.DOut.Matrix); err != nil {
						t.Fatal(err)
					}
					for i, id := range b.IDs {
						ids, rows = append(ids, id), append(rows, b.DOut.Row(i))
					}
				}
				if !slices.Equal(g.IDs(), step.Touched) {
					t.Errorf("%s: rows %v, want %v", c.Name, g.IDs(), step.Touched)
				}
				got := dense(t, g, e.Vocab(), e.Dim())
				reference.Equal(t, c.Name+": dense gradient", got, step.Dense)
				reference.CloseDots(t, c.Name+": coalesced gradient", got, step.Coalesced, func(i, j, k int) float32 {
					if ids[k] != i {
						return 0
					}
					return rows[k][j]
				}, len(ids))
				if err := o.Step(g); err != nil {
					t.Fatal(err)
				}
				n.trained(t, c.Name, e, o, step.Table, step.State)
			}
		}
	})
}

// TestClipReference holds norms and what they clip to PyTorch's, within 3 units in the last place, for it adds up squares and
// divides in float32; and bit for bit what is not clipped, or by a norm that is not finite.
func TestClipReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.ClipCases(t) {
			norms := newMatrix(t, 1, c.Norms.Cols)
			var grads []*lookup.Gradient
			var denseGrads []rowvec.Matrix
			for i, p := range c.Parts {
				g := must(lookup.NewGradient(p.Rows, p.DOut.Cols))
				if err := lookup.AddRows(g, p.IDs, 1, p.DOut.Matrix); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(g.IDs(), p.Touched) {
					t.Errorf("%s: rows %v, want %v", c.Name, g.IDs(), p.Touched)
				}
				reference.Equal(t, c.Name+": gradient", g.Values(), p.Grad)
				norms.Data[i] = float32(g.Norm())
				grads = append(grads, g)
				denseGrads = append(denseGrads, dense(t, g, p.Rows, p.DOut.Cols))
			}
			all := lookup.Norm(grads...)
			for _, norm := range []float64{must(lookup.ClipNorm(c.MaxNorm, grads...)), must(lookup.ClipNormDense(c.MaxNorm, denseGrads...))} {
				if norm != all && all == all {
					t.Errorf("%s: clipped by a norm of %v, want %v", c.Name, norm, all)
				}
			}
			for i, p := range c.Parts { // a norm of NaN leaves NaN in all other rows of a dense one
				got := newMatrix(t, len(p.Touched), p.DOut.Cols)
				if err := rowvec.Gather(got, denseGrads[i], p.Touched); err != nil {
					t.Fatal(err)
				}
				compare(t, c.Name+": dense, clipped", got, grads[i].Values())
			}
			norms.Data[len(grads)] = float32(all)
			finite := all-all == 0
			compare := func(what string, rounded bool, got rowvec.Matrix, want reference.Matrix) {
				if rounded {
					new(tally).compare(t, c.Name+what, got, want.Matrix, rowvec.Matrix{})
				} else {
					reference.Equal(t, c.Name+what, got, want)
				}
			}
			compare(": norms", finite, norms, c.Norms)
			for i, p := range c.Parts {
				compare(": clipped", finite && all > c.MaxNorm, grads[i].Values(), p.Clipped)
			}
		}
	})
}

// TestClearGradient: rows that were looked up become zeros and no others do, also of a table whose rows are fetched meanwhile.
func TestClearGradient(t *testing.T) {
	isatest.Tune(t, &tuning.CachedBytes, 0)
	isatest.Tune(t, &tuning.CachedShortBytes, 0)
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{1, 5, 70, 3000} {
			e := must(lookup.NewEmbedding(300, dim, lookup.Padding(7)))
			for n := range 250 {
				if n > 20 && n%50 != 0 {
					continue
				}
				ids := make([]uint32, n)
				grad, want := fill(newMatrix(t, 300, dim), 1), fill(newMatrix(t, 300, dim), 1)
				for i := range ids {
					ids[i] = uint32(i * 37 % 300)
					if ids[i] != 7 {
						clear(want.Row(int(ids[i])))
					}
				}
				if err := e.ClearGradient(grad, lookup.Sequence(ids)); err != nil {
					t.Fatal(err)
				}
				for i := range grad.Rows {
					if !slices.Equal(grad.Row(i), want.Row(i)) {
						t.Fatalf("dim %d, %d ids: row %d is %v, want %v", dim, n, i, grad.Row(i)[0], want.Row(i)[0])
					}
				}
			}
		}
	})
}
