package lookup_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// dropping returns the layers of each kind with dropout.
func dropping(t testing.TB, dim, workers int, p float64) map[string]*lookup.Layer {
	t.Helper()
	return layers(t, dim, workers, lookup.Dropout(p, 99))
}

// dropped returns what the definition of dropout makes of m.
func dropped(m rowvec.Matrix, mask rowvec.Mask) rowvec.Matrix {
	out := must(rowvec.NewMatrix(m.Rows, m.Cols))
	kernels.Dropout(out, m, mask)
	return out
}

// TestTrain holds the passes of training to those without dropout and the definition of the mask, for every kind of
// positions and of batches, and both for small results and as if they were too large for the caches.
func TestTrain(t *testing.T) {
	train(t)
	defer tuning.Lower()()
	train(t)
}

func train(t *testing.T) {
	t.Helper()
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{1, 6, 100} {
			if dim == 100 && isatest.Few() {
				continue
			}
			for kind, layer := range dropping(t, dim, 2, 0.3) {
				for _, b := range batches() {
					what := fmt.Sprintf("%s, dim %d, %s", kind, dim, b.name)
					const step = 1<<40 + 5
					mask := rowvec.Mask{P: 0.3, Seed: 99, Step: step}
					dst := fill(newMatrix(t, b.in.Len(), dim), 8)
					if err := layer.ForwardTrain(dst, b.in, step); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					plain := plainForward(t, layer, b)
					compare(t, "forward "+what, dst, dropped(plain, mask))
					if err := layer.Forward(dst, b.in); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					compare(t, "forward without "+what, dst, plain)

					dOut := fill(newMatrix(t, b.in.Len(), dim), 9)
					got, want := layer.NewGradients(), layer.NewGradients()
					for i := range got { // gradients are added to
						fill(got[i], uint64(i))
						fill(want[i], uint64(i))
					}
					if err := layer.BackwardTrain(got, b.in, dOut, step); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					plainBackward(t, layer, b, dropped(dOut, mask), want)
					for i := range want {
						compare(t, fmt.Sprintf("gradient %d %s", i, what), got[i], want[i])
					}
					sparse, zero := layer.NewSparseGradients(), layer.NewGradients()
					if err := layer.BackwardSparseTrain(sparse, b.in, dOut, step); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					plainBackward(t, layer, b, dropped(dOut, mask), zero)
					for i := range zero {
						compare(t, fmt.Sprintf("sparse gradient %d %s", i, what), dense(t, sparse[i], zero[i].Rows, dim), zero[i])
					}
					compare(t, "dOut "+what, dOut, fill(newMatrix(t, b.in.Len(), dim), 9))
				}
			}
		}
	})
}

// TestTrainHot has so many rows of one id that they are dropped from, and added up, in several parts.
func TestTrainHot(t *testing.T) {
	const dim, n, id, step = 100, 700, 3, 4
	tokens := must(lookup.NewEmbedding(vocab, dim, lookup.Scaled()))
	layer := must(lookup.NewLayer(tokens, nil, lookup.Dropout(0.3, 99)))
	dOut := fill(newMatrix(t, n, dim), 5)
	want := make([]float32, dim)
	left := dropped(dOut, layer.Mask(step))
	for i := range n {
		kernels.AddScaled(want, 10, left.Row(i))
	}
	isatest.Each(t, func(t *testing.T) {
		sparse := layer.NewSparseGradients()
		if err := layer.BackwardSparseTrain(sparse, lookup.Sequence(slices.Repeat([]int{id}, n)), dOut, step); err != nil {
			t.Fatal(err)
		}
		if ids := sparse[0].IDs(); !slices.Equal(ids, []int{id}) || !slices.Equal(sparse[0].Values().Row(0), want) {
			t.Errorf("ids %v, values %v, want %v", ids, sparse[0].Values().Row(0), want)
		}
	})
}

// TestTrainOptions: gradients by frequency are those of what dropout leaves, and norms are limited before anything is dropped.
func TestTrainOptions(t *testing.T) {
	const dim, n, step = 24, 50, 3
	ids, _ := randomIDs[int](n)
	in, mask := lookup.Sequence(ids), rowvec.Mask{P: 0.3, Seed: 99, Step: step}
	layer := func(options ...lookup.Option) *lookup.Layer {
		e := must(lookup.NewEmbedding(vocab, dim, append(options, lookup.Normal(1, 3))...))
		return must(lookup.NewLayer(e, nil, lookup.Dropout(mask.P, mask.Seed)))
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}

	l, dOut := layer(lookup.ScaleGradByFrequency()), fill(newMatrix(t, n, dim), 1)
	got, want, sparse := l.NewGradients(), l.NewGradients(), l.NewSparseGradients()
	check(l.Backward(want, in, dropped(dOut, mask)))
	check(l.BackwardTrain(got, in, dOut, step))
	check(l.BackwardSparseTrain(sparse, in, dOut, step))
	compare(t, "by frequency", got[0], want[0])
	compare(t, "by frequency, sparse", dense(t, sparse[0], vocab, dim), want[0])

	plain, limited := layer(lookup.MaxNorm(2, 2)), layer(lookup.MaxNorm(2, 2))
	whole, result := newMatrix(t, n, dim), newMatrix(t, n, dim)
	check(plain.Forward(whole, in))
	check(limited.ForwardTrain(result, in, step))
	compare(t, "result of limited norms", result, dropped(whole, mask))
	compare(t, "table of limited norms", limited.Tokens().Weight(), plain.Tokens().Weight())
}

// TestTrainStrides has results and their gradients be parts of wider matrices.
func TestTrainStrides(t *testing.T) {
	const dim, n, gap = 40, 70, 9
	layer := dropping(t, dim, 1, 0.5)["learned"]
	ids, _ := randomIDs[int64](n)
	in := lookup.Batch(ids, 35)
	want, dOut := newMatrix(t, n, dim), fill(newMatrix(t, n, dim), 3)
	wide := fill(newMatrix(t, n, dim+gap), 4)
	part := wide
	part.Cols = dim
	for _, dst := range []rowvec.Matrix{want, part} {
		if err := layer.ForwardTrain(dst, in, 2); err != nil {
			t.Fatal(err)
		}
	}
	before := fill(newMatrix(t, n, dim+gap), 4)
	for i := range n {
		copy(before.Row(i), want.Row(i))
	}
	compare(t, "forward", wide, before)
	for i := range n {
		copy(part.Row(i), dOut.Row(i))
	}
	grads, wantGrads := layer.NewGradients(), layer.NewGradients()
	if err := layer.BackwardTrain(wantGrads, in, dOut, 2); err != nil {
		t.Fatal(err)
	}
	if err := layer.BackwardTrain(grads, in, part, 2); err != nil {
		t.Fatal(err)
	}
	for i := range grads {
		compare(t, "gradient", grads[i], wantGrads[i])
	}
}

// TestTrainWorkers has enough tokens for many parts, by rows and by columns, of which the bits must not tell.
func TestTrainWorkers(t *testing.T) {
	defer tuning.Lower()()
	const dim, n = 312, 1203 // not a multiple of what parts are
	alone, two, five := dropping(t, dim, 1, 0.1), dropping(t, dim, 2, 0.1), dropping(t, dim, 5, 0.1)
	ids, _ := randomIDs[int32](n)
	var offsets []int
	for i := 0; i < n; i += 1 + i%limit {
		offsets = append(offsets, i)
	}
	offsets = append(offsets, n)
	inputs := map[string]lookup.Input{
		"ragged":    lookup.Ragged(ids, offsets),
		"batch":     lookup.Batch(ids[:1000], 500),
		"short":     lookup.Batch(ids[:1000], 5).Types(count(1000, types, 0)),
		"positions": lookup.Sequence(ids).At(count(n, 599, 0)),
	}
	teams := []map[string]*lookup.Layer{two, five}
	if isatest.Few() {
		teams = teams[1:]
	}
	if isatest.Slow {
		delete(inputs, "batch")
		delete(inputs, "positions")
	}
	for name, in := range inputs {
		for kind, single := range alone {
			want := newMatrix(t, in.Len(), dim)
			if err := single.ForwardTrain(want, in, 3); err != nil {
				t.Fatal(err)
			}
			dOut, wantGrads := fill(newMatrix(t, in.Len(), dim), 5), single.NewGradients()
			if err := single.BackwardTrain(wantGrads, in, dOut, 3); err != nil {
				t.Fatal(err)
			}
			for _, together := range teams {
				layer := together[kind]
				got := newMatrix(t, in.Len(), dim)
				if err := layer.ForwardTrain(got, in, 3); err != nil {
					t.Fatal(err)
				}
				compare(t, name, got, want)
				grads := layer.NewGradients()
				if err := layer.BackwardTrain(grads, in, dOut, 3); err != nil {
					t.Fatal(err)
				}
				for i := range grads {
					compare(t, name, grads[i], wantGrads[i])
				}
			}
		}
	}
}

// TestTrainFetches: each piece looks up what the one before it has fetched, where it has, and only then without fetching
// again; what is too large for the caches is dropped on its way past them.
func TestTrainFetches(t *testing.T) {
	trainFetches(t)
	defer tuning.Lower()()
	trainFetches(t)
}

func trainFetches(t *testing.T) {
	t.Helper()
	do, drop := forward.Do, forward.Dropout
	defer func() { forward.Do, forward.Dropout = do, drop }()
	const n, dim = 333, 200
	list, _ := randomIDs[int64](n)
	for _, vocab := range []int{vocab, 7000} { // the smaller table sits in cache
		tokens := must(lookup.NewEmbedding(vocab, dim, lookup.Normal(1, 3), lookup.Workers(1)))
		layer := must(lookup.NewLayer(tokens, nil, lookup.Dropout(0.2, 1)))
		for _, ids := range [][]int64{list, list[:1]} {
			want := newMatrix(t, len(ids), dim)
			kernels.Gather(want, tokens.Weight(), ids)
			want = dropped(want, layer.Mask(4))
			isatest.Each(t, func(t *testing.T) {
				var fetched forward.Next // by the piece before
				rows, pieces := 0, 0
				forward.Do = func(r forward.Rows) int {
					if r.More < 0 != (fetched.Rows > 0) || r.More < 0 && (r.IDs != fetched.IDs || r.Dst.Rows != fetched.Rows) {
						t.Fatalf("row %d: %d more, %d rows; fetched are %d", rows, r.More, r.Dst.Rows, fetched.Rows)
					}
					rows += r.Dst.Rows
					return do(r)
				}
				forward.Dropout = func(d forward.Drop) bool {
					if d.Stream != tuning.Large(n*dim) || d.Stream == (&d.Dst.Data[0] == &d.Src.Data[0]) {
						t.Fatalf("row %d: streamed is %v", d.Mask.Row, d.Stream)
					}
					fetched = forward.Next{}
					if !drop(d) {
						return false
					}
					fetched = d.Next
					pieces++
					return true
				}
				out := newMatrix(t, len(ids), dim)
				if err := layer.ForwardTrain(out, lookup.Sequence(ids), 4); err != nil {
					t.Fatal(err)
				}
				compare(t, "forward", out, want)
				if could := vocab == 7000 && len(ids) > 1 && rowvec.ISA() != "portable"; pieces > 0 != could {
					t.Errorf("%d tokens of %d: %d pieces have fetched the next", len(ids), vocab, pieces)
				}
			})
		}
	}
}

// TestDropoutOfChangedIDs has an id change after the check of all, as another goroutine could have it, whichever kernels sum and drop.
func TestDropoutOfChangedIDs(t *testing.T) {
	do, dropSums := forward.Do, forward.DropSums
	defer func() { forward.Do, forward.DropSums = do, dropSums }()
	ids := make([]int32, 9)
	forward.Do = func(r forward.Rows) int {
		ids[7] = 5
		return do(r)
	}
	forward.DropSums = func(r forward.Rows, mask rowvec.Mask) int {
		ids[7] = -1
		return dropSums(r, mask)
	}
	layer := must(lookup.NewLayer(must(lookup.NewEmbedding(5, 70)), must(positional.NewLearned(9, 70, 1)), lookup.Dropout(0.3, 1)))
	isatest.Each(t, func(t *testing.T) {
		ids[7] = 0
		err := layer.ForwardTrain(newMatrix(t, len(ids), 70), lookup.Sequence(ids), 1)
		if !errors.Is(err, rowvec.ErrChanged) || !strings.Contains(err.Error(), "lookup.Layer.ForwardTrain") {
			t.Errorf("error %v", err)
		}
	})
}

// TestWithoutDropout: a probability of 0, given or not or by rounding, leaves all bits as Forward makes them.
func TestWithoutDropout(t *testing.T) {
	weight := must(rowvec.NewMatrix(1, 20))
	for i := range weight.Data {
		weight.Data[i] = math.Float32frombits(0x7f800001 + uint32(i)) // signalling NaNs, which a product would change
	}
	tokens := must(lookup.FromMatrix(weight))
	for _, layer := range []*lookup.Layer{
		must(lookup.NewLayer(tokens, nil)),
		must(lookup.NewLayer(tokens, nil, lookup.Dropout(0, 5))),
		must(lookup.NewLayer(tokens, nil, lookup.Dropout(1e-6, 5), nil)),
	} {
		out := newMatrix(t, 1, 20)
		if err := layer.ForwardTrain(out, lookup.Sequence([]int{0}), 0); err != nil {
			t.Fatal(err)
		}
		compare(t, layer.String(), out, weight)
		grads := layer.NewGradients()
		if err := layer.BackwardTrain(grads, lookup.Sequence([]int{0, 0}), fill(newMatrix(t, 2, 20), 1), 0); err != nil {
			t.Fatal(err)
		}
		want := layer.NewGradients()
		if err := layer.Backward(want, lookup.Sequence([]int{0, 0}), fill(newMatrix(t, 2, 20), 1)); err != nil {
			t.Fatal(err)
		}
		compare(t, "gradient of "+layer.String(), grads[0], want[0])
	}
}

func TestDropoutErrors(t *testing.T) {
	tokens := layers(t, 6, 1)["none"].Tokens()
	for p, want := range map[float64]string{
		-0.1: "rowvec: lookup.NewLayer: dropout is -0.1, want a probability in [0, 1)",
		1:    "rowvec: lookup.NewLayer: dropout is 1, want a probability in [0, 1)",
	} {
		if _, err := lookup.NewLayer(tokens, nil, lookup.Dropout(p, 0)); fmt.Sprint(err) != want {
			t.Errorf("p = %v: error %q, want %q", p, err, want)
		}
	}
	if _, err := lookup.NewLayer(tokens, nil, lookup.Dropout(math.NaN(), 0)); err == nil {
		t.Error("p = NaN: no error")
	}

	layer := dropping(t, 6, 1, 0.5)["learned"]
	in := lookup.Sequence([]int{1, 2})
	dst, dOut := fill(newMatrix(t, 2, 6), 1), fill(newMatrix(t, 2, 6), 2)
	grads := layer.NewGradients()
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"forward step": {layer.ForwardTrain(dst, in, 1<<56),
			"rowvec: lookup.Layer.ForwardTrain: step is 72057594037927936, want one below 72057594037927936"},
		"backward step": {layer.BackwardTrain(grads, in, dOut, 1<<56),
			"rowvec: lookup.Layer.BackwardTrain: step is 72057594037927936, want one below 72057594037927936"},
		"id": {layer.ForwardTrain(dst, lookup.Sequence([]int{1, vocab}), 1),
			"rowvec: lookup.Layer.ForwardTrain: id 97 at position 1 is outside [0, 97)"},
		"rows": {layer.ForwardTrain(dst, lookup.Sequence([]int{1}), 1),
			"rowvec: lookup.Layer.ForwardTrain: dst.Rows is 2, want 1"},
		"rows of dOut": {layer.BackwardTrain(grads, lookup.Sequence([]int{1}), dOut, 1),
			"rowvec: lookup.Layer.BackwardTrain: dOut.Rows is 2, want 1"},
		"gradients": {layer.BackwardTrain(grads[:1], in, dOut, 1),
			"rowvec: lookup.Layer.BackwardTrain: len(grads) is 1, want 2"},
	} {
		if fmt.Sprint(c.err) != c.want {
			t.Errorf("%s: error %q, want %q", what, c.err, c.want)
		}
	}
	compare(t, "dst", dst, fill(newMatrix(t, 2, 6), 1))
	for i, g := range layer.NewGradients() {
		compare(t, "gradient", grads[i], g)
	}
}

func TestTrainNoAllocation(t *testing.T) {
	defer tuning.Lower()()
	const dim, n = 256, 600 // several parts
	ids, _ := randomIDs[uint32](n)
	dst := newMatrix(t, n, dim)
	for kind, layer := range dropping(t, dim, 3, 0.1) {
		grads := layer.NewGradients()
		for name, in := range map[string]lookup.Input{
			"batch":     lookup.Batch(ids, 150),
			"ragged":    lookup.Ragged(ids, []int{0, 150, 300, 450, 600}),
			"positions": lookup.Batch(ids, 150).At(count(n, 150, 0)),
			"short":     lookup.Sequence(ids[:1]),
		} {
			dst := dst
			dst.Rows = in.Len()
			step := uint64(0)
			isatest.NoAllocation(t, fmt.Sprintf("%s, %s", kind, name), func() {
				step++
				if err := layer.ForwardTrain(dst, in, step); err != nil {
					t.Fatal(err)
				}
				if err := layer.BackwardTrain(grads, in, dst, step); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
