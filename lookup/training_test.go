package lookup_test

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/reference"
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

// TestOptionsReference holds padding, gradients by frequency and limits of norms to PyTorch's nn.Embedding.
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
				p := c.Norm
				if p == 0 {
					p = math.Inf(1)
				}
				options = append(options, lookup.MaxNorm(c.MaxNorm, p))
			}
			e := must(lookup.FromMatrix(c.Table.Matrix, options...))
			out := newMatrix(t, len(c.IDs), c.Table.Cols)
			if err := e.Forward(out, lookup.Sequence(c.IDs)); err != nil {
				t.Fatal(err)
			}
			n.compare(t, c.Name+": result", out, c.Out.Matrix, rowvec.Matrix{})
			n.compare(t, c.Name+": table", e.Weight(), c.TableAfter.Matrix, rowvec.Matrix{})
			dense := newMatrix(t, c.Table.Rows, c.Table.Cols)
			if err := e.Backward(dense, lookup.Sequence(c.IDs), c.DOut.Matrix); err != nil {
				t.Fatal(err)
			}
			n.compare(t, c.Name+": gradient", dense, c.Grad.Matrix, c.DOut.Matrix)
		}
	})
}

// TestBagsReference holds bags, forward and backward, to PyTorch's nn.EmbeddingBag.
func TestBagsReference(t *testing.T) {
	poolings := map[string]lookup.Pooling{"sum": lookup.Sum, "weighted": lookup.Sum, "mean": lookup.Mean, "max": lookup.Max}
	isatest.Each(t, func(t *testing.T) {
		var n tally
		defer func() { n.check(t) }()
		for _, c := range reference.EmbeddingBagCases(t) {
			var options []lookup.Option
			if c.Padding >= 0 {
				options = append(options, lookup.Padding(c.Padding))
			}
			bag := must(lookup.NewBag(must(lookup.FromMatrix(c.Table.Matrix, options...)), poolings[c.Mode]))
			in := lookup.RaggedFrom(c.IDs, c.Offsets)
			if c.Mode == "weighted" {
				in = in.Weighted(c.Weights.Data)
			}
			out := newMatrix(t, len(c.Offsets), c.Table.Cols)
			if err := bag.Forward(out, in); err != nil {
				t.Fatal(err)
			}
			n.compare(t, c.Name+": result", out, c.Out.Matrix, c.Table.Matrix)
			g := bag.Tokens().NewGradient()
			if err := bag.BackwardSparse(g, in, c.DOut.Matrix); err != nil {
				t.Fatal(err)
			}
			dense := newMatrix(t, c.Table.Rows, c.Table.Cols)
			if err := g.AddTo(dense); err != nil {
				t.Fatal(err)
			}
			n.compare(t, c.Name+": gradient", dense, c.Grad.Matrix, c.DOut.Matrix)
			if c.Mode != "weighted" {
				continue
			}
			dWeights := make([]float32, len(c.IDs))
			if err := bag.BackwardWeights(dWeights, in, c.DOut.Matrix); err != nil {
				t.Fatal(err)
			}
			for b, first := range c.Offsets {
				end := len(c.IDs)
				if b+1 < len(c.Offsets) {
					end = c.Offsets[b+1]
				}
				for i := first; i < end; i++ {
					size := 0.0 // of the terms
					for j, x := range c.DOut.Row(b) {
						size += math.Abs(float64(x) * float64(c.Table.Row(c.IDs[i])[j]))
					}
					if off := math.Abs(float64(dWeights[i]) - float64(c.WeightsGrad.Data[i])); !(off <= 8*0x1p-24*size) {
						t.Errorf("%s: gradient of weight %d is %v, want %v", c.Name, i, dWeights[i], c.WeightsGrad.Data[i])
					}
				}
			}
		}
	})
}

// TestTrainingReference holds several steps of each optimizer to PyTorch's.
func TestTrainingReference(t *testing.T) {
	methods := map[string]lookup.Method{
		"sgd":     lookup.SGD{Rate: 0.125},
		"adagrad": lookup.Adagrad{Rate: 0.1, RateDecay: 0.05, Initial: 0.25},
		"adam":    lookup.Adam{Rate: 0.01, Beta1: 0.8, Beta2: 0.95},
		"adamw":   lookup.AdamW{Rate: 0.01, Beta1: 0.8, Beta2: 0.95, Epsilon: 0.01, WeightDecay: 0.1},
	}
	isatest.Each(t, func(t *testing.T) {
		var n tally
		defer func() { n.check(t) }()
		for _, c := range reference.TrainingCases(t) {
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
				n.compare(t, c.Name+": table", e.Weight(), step.Table.Matrix, step.Table.Matrix)
				for k, s := range o.State() {
					n.compare(t, c.Name+": "+s.Name, s.Value, step.State[k].Matrix, step.State[k].Matrix)
				}
			}
		}
	})
}
