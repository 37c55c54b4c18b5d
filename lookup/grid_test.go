package lookup_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// TestGridPositions holds a layer whose positions are a grid to the definition, on every kind of batches; the grid is no
// parameter, and has an end.
func TestGridPositions(t *testing.T) {
	defer tuning.Lower()()
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{4, 36, 768} {
			grid := must(positional.NewGrid(2, (limit-2)/2, dim, positional.ClassTokens(2+limit%2)))
			layer := must(lookup.NewLayer(must(lookup.NewEmbedding(vocab, dim, lookup.Scaled(), lookup.Workers(2))), grid))
			if n := len(layer.Parameters()); n != 1 {
				t.Fatalf("%d parameters", n)
			}
			for _, b := range batches() {
				what := fmt.Sprintf("dim %d, %s", dim, b.name)
				dst := fill(newMatrix(t, b.in.Len(), dim), 8)
				if err := layer.Forward(dst, b.in); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				compare(t, what, dst, plainForward(t, layer, b))
				got, want := layer.NewGradients(), layer.NewGradients()
				if err := layer.Backward(got, b.in, dst); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				plainBackward(t, layer, b, dst, want)
				compare(t, "gradient, "+what, got[0], want[0])
			}
			if err := layer.Forward(newMatrix(t, 3, dim), lookup.Sequence([]int{1, 2, 3}).From(limit-2)); err == nil {
				t.Error("no error behind the last place of the grid")
			}
		}
	})
}

// TestTrainThroughResize: the parameters of a layer that reads more positions than have been learned are those learned,
// by the gradient of the table that it reads, held to differences of a loss.
func TestTrainThroughResize(t *testing.T) {
	const dim, seq, step = 5, 26, 0.25
	tokens := must(lookup.NewEmbedding(vocab, dim, lookup.Normal(1, 3)))
	ids, _ := randomIDs[int](2 * seq)
	in := lookup.Batch(ids, seq)
	for _, r := range []*positional.Resize{
		must(positional.NewResize(9, seq)),
		must(positional.NewResize(40, seq)),
		must(positional.NewGridResize(1, 3, 4, 5, 5)),
	} {
		learned := fill(newMatrix(t, r.From(), dim), 4)
		read := must(positional.LearnedFrom(newMatrix(t, r.To(), dim)))
		layer := must(lookup.NewLayer(tokens, read))
		out, dOut := newMatrix(t, 2*seq, dim), fill(newMatrix(t, 2*seq, dim), 5)
		loss := func() (sum float64) {
			if err := r.Forward(read.Table(), learned); err != nil {
				t.Fatal(err)
			}
			if err := layer.Forward(out, in); err != nil {
				t.Fatal(err)
			}
			for i, x := range out.Data {
				sum += float64(x) * float64(dOut.Data[i])
			}
			return sum
		}
		grads, grad := layer.NewGradients(), newMatrix(t, r.From(), dim)
		if err := layer.Backward(grads, in, dOut); err != nil {
			t.Fatal(err)
		}
		if err := r.Backward(grad, grads[1]); err != nil {
			t.Fatal(err)
		}
		differences(t, r.String(), learned, grad, step, loss)
	}
}

// differences compares a gradient with differences of a loss that is linear in the parameters.
func differences(t *testing.T, what string, parameters, grad rowvec.Matrix, step float32, loss func() float64) {
	t.Helper()
	for i, x := range parameters.Data {
		parameters.Data[i] = x + step
		high := loss()
		parameters.Data[i] = x - step
		low := loss()
		parameters.Data[i] = x
		if want := (high - low) / (2 * float64(step)); math.Abs(float64(grad.Data[i])-want) > 2e-5 {
			t.Errorf("%s: the gradient of element %d is %v, by differences %v", what, i, grad.Data[i], want)
		}
	}
}
