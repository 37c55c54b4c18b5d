package lookup_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/reference"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// TestLayerReference holds the complete layer, forward and backward, to NumPy and PyTorch.
func TestLayerReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.LayerCases(t) {
			options := []lookup.Option{lookup.Padding(c.Padding)}
			if c.Kind != "none" {
				options = append(options, lookup.Scaled())
			}
			tokens := must(lookup.FromMatrix(c.Table.Matrix, options...))
			if tokens.Scale() != float32(c.Scale) {
				t.Errorf("%s: scale is %v, want %v", c.Name, tokens.Scale(), c.Scale)
			}
			var positions lookup.Positions
			if c.Kind != "none" { // sinusoidal ones, too, are those of the reference, for the sake of the bits
				positions = must(positional.LearnedFrom(c.Positions.Matrix))
			}
			layer := must(lookup.NewLayer(tokens, positions))
			out := newMatrix(t, len(c.IDs), c.Table.Cols)
			if err := layer.Forward(out, lookup.Batch(c.IDs, c.Seq)); err != nil {
				t.Fatal(err)
			}
			compare(t, c.Name+" forward", out, c.Out.Matrix)
			grads := layer.NewGradients()
			if err := layer.Backward(grads, lookup.Batch(c.IDs, c.Seq), c.DOut.Matrix); err != nil {
				t.Fatal(err)
			}
			compare(t, c.Name+" gradient of tokens", grads[0], c.TokenGrad.Matrix)
			if c.Kind == "learned" {
				compare(t, c.Name+" gradient of positions", grads[1], c.PositionGrad.Matrix)
			}
		}
	})
}

// TestSinusoidalLayerReference has the layer use its own sinusoidal positions: they differ from the reference's by no
// more than 6e-8, and the sum is rounded.
func TestSinusoidalLayerReference(t *testing.T) {
	ran := false
	for _, c := range reference.LayerCases(t) {
		if c.Kind != "sinusoidal" {
			continue
		}
		ran = true
		tokens := must(lookup.FromMatrix(c.Table.Matrix, lookup.Scaled(), lookup.Padding(c.Padding)))
		layer := must(lookup.NewLayer(tokens, must(positional.NewSinusoidal(c.Seq, c.Table.Cols))))
		out := newMatrix(t, len(c.IDs), c.Table.Cols)
		if err := layer.Forward(out, lookup.Batch(c.IDs, c.Seq)); err != nil {
			t.Fatal(err)
		}
		for i, x := range out.Data {
			want := float64(c.Out.Data[i])
			if math.Abs(float64(x)-want) > 6e-8+math.Abs(want)*0x1p-23 {
				t.Fatalf("%s: element %d is %v, want %v", c.Name, i, x, want)
			}
		}
	}
	if !ran {
		t.Error("no case has sinusoidal positions")
	}
}

// TestBERTReference holds the layer with segments to PyTorch, bit for bit, and with a norm within the rounding of both, forward
// and backward, with dense gradients and sparse ones.
func TestBERTReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.BERTCases(t) {
			tokens := must(lookup.FromMatrix(c.Table.Matrix, lookup.Padding(c.Padding)))
			positions := must(positional.LearnedFrom(c.Positions.Matrix))
			segments := lookup.Segments(must(lookup.FromMatrix(c.Segments.Matrix)))
			in := lookup.Batch(c.IDs, c.Seq).Types(c.Types).At(c.At)
			run := func(what string, compare func(tb testing.TB, what string, got rowvec.Matrix, want reference.Matrix),
				out reference.Matrix, grads []reference.Matrix, options ...lookup.LayerOption) {
				layer := must(lookup.NewLayer(tokens, positions, append(options, segments)...))
				if weight, bias := norms(layer); weight != nil {
					copy(weight, c.Weight.Data)
					copy(bias, c.Bias.Data)
				}
				got := newMatrix(t, len(c.IDs), layer.Dim())
				if err := layer.Forward(got, in); err != nil {
					t.Fatal(err)
				}
				compare(t, c.Name+", "+what, got, out)
				all, sparse := layer.NewGradients(), layer.NewSparseGradients()
				if err := layer.Backward(all, in, c.DOut.Matrix); err != nil {
					t.Fatal(err)
				}
				if err := layer.BackwardSparse(sparse, in, c.DOut.Matrix); err != nil {
					t.Fatal(err)
				}
				if len(all) != len(grads) {
					t.Fatalf("%d gradients, want %d", len(all), len(grads))
				}
				for i, p := range layer.Parameters() {
					name := c.Name + ", " + what + ", gradient of " + p.Name
					compare(t, name, all[i], grads[i])
					compare(t, name+", sparse", dense(t, sparse[i], all[i].Rows, all[i].Cols), grads[i])
				}
			}
			run("sum", reference.Equal, c.Sum, []reference.Matrix{c.SumTokenGrad, c.SumPositionGrad, c.SumSegmentGrad})
			run("norm", reference.CloseNorm, c.Out,
				[]reference.Matrix{c.TokenGrad, c.PositionGrad, c.SegmentGrad, c.WeightGrad, c.BiasGrad},
				lookup.LayerNorm(float32(c.Epsilon)))
		}
	})
}

// TestEmbeddingReference holds the gradient to that of PyTorch's nn.Embedding, padding included.
func TestEmbeddingReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.EmbeddingCases(t) {
			for _, scaled := range []bool{false, true} {
				var options []lookup.Option
				want := c.Grad
				if c.Padding >= 0 {
					options = append(options, lookup.Padding(c.Padding))
				}
				if scaled {
					options, want = append(options, lookup.Scaled()), c.GradScaled
				}
				e := must(lookup.NewEmbedding(c.Vocab, c.DOut.Cols, options...))
				grad := newMatrix(t, c.Vocab, c.DOut.Cols)
				if err := e.Backward(grad, lookup.Sequence(c.IDs), c.DOut.Matrix); err != nil {
					t.Fatal(err)
				}
				compare(t, c.Name, grad, want.Matrix)
			}
		}
	})
}

// TestPretrainedReference holds tables that are given, frozen and not, to PyTorch's from_pretrained, bit for bit: what is
// looked up, gradients, and steps, by dense gradients, sparse ones and batches. A frozen table has no gradient, and stays
// as it is.
func TestPretrainedReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.PretrainedCases(t) {
			for _, by := range []string{"dense", "sparse", "batch"} {
				pretrainedReference(t, c, by)
			}
		}
	})
}

func pretrainedReference(t *testing.T, c reference.Pretrained, by string) {
	t.Helper()
	var options []lookup.Option
	if c.Padding >= 0 {
		options = append(options, lookup.Padding(c.Padding))
	}
	if c.Freeze {
		options = append(options, lookup.Frozen())
	}
	table, positions := reference.Copy(c.Table, 0), reference.Copy(c.Positions, 0)
	tokens := must(lookup.FromMatrix(table, options...))
	if &tokens.Weight().Data[0] != &table.Data[0] {
		t.Errorf("%s: the table is a copy", c.Name)
	}
	layer := must(lookup.NewLayer(tokens, must(positional.LearnedFrom(positions))))
	optimizers, sparse := must(layer.NewOptimizers(lookup.SGD{Rate: c.Rate})), layer.NewSparseGradients()
	for k, step := range c.Steps {
		what := fmt.Sprintf("%s, %s, step %d: ", c.Name, by, k)
		in, out, grads := lookup.Batch(step.IDs, positions.Rows), newMatrix(t, len(step.IDs), table.Cols), layer.NewGradients()
		noError(t, tokens.Forward(out, in))
		reference.Equal(t, what+"found", out, step.Found)
		noError(t, layer.Forward(out, in))
		reference.Equal(t, what+"out", out, step.Out)
		noError(t, layer.Backward(grads, in, step.DOut.Matrix))
		for _, g := range sparse {
			g.Clear()
		}
		noError(t, layer.BackwardSparse(sparse, in, step.DOut.Matrix))
		want := step.Grad
		if c.Freeze {
			if n := sparse[0].Len(); n != 0 || want.Rows != 0 {
				t.Errorf("%sa gradient of %d rows, want %d", what, n, want.Rows)
			}
			want.Matrix = newMatrix(t, table.Rows, table.Cols)
		}
		reference.Equal(t, what+"gradient", grads[0], want)
		reference.Equal(t, what+"sparse gradient", dense(t, sparse[0], table.Rows, table.Cols), want)
		switch by {
		case "dense":
			for i, o := range optimizers {
				noError(t, o.StepDense(grads[i]))
			}
		case "sparse":
			for i, o := range optimizers {
				noError(t, o.Step(sparse[i]))
			}
		case "batch":
			noError(t, layer.StepTrain(optimizers, in, step.DOut.Matrix, uint64(k)))
		}
		reference.Equal(t, what+"table", table, step.Table)
		reference.Equal(t, what+"positions", positions, step.Positions)
	}
}
