package lookup_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// TestNormRows: the gradients of a norm are those of blocks of rows, however many there are.
func TestNormRows(t *testing.T) {
	defer tuning.Lower()()
	const dim = 20
	for _, n := range []int{1, 63, 64, 65, 127, 128, 129, 1000} {
		ids, plain := randomIDs[int32](n)
		b := batch{"", lookup.Sequence(ids), plain, count(n, n, 0), make([]int, n)}
		dOut := fill(newMatrix(t, n, dim), 9)
		for _, workers := range []int{1, 2, 5} {
			layer := layers(t, dim, workers)["norm"]
			got, want := layer.NewGradients(), layer.NewGradients()
			if err := layer.Backward(got, b.in, dOut); err != nil {
				t.Fatal(err)
			}
			plainBackward(t, layer, b, dOut, want)
			for i := range want {
				compare(t, fmt.Sprintf("%d rows, %d workers, gradient %d", n, workers, i), got[i], want[i])
			}
		}
	}
}

// TestSparseNormWorkers has row-sparse gradients of all parameters shared by workers, of which the bits must not tell.
func TestSparseNormWorkers(t *testing.T) {
	defer tuning.Lower()()
	const dim, n = 72, 1003
	ids, _ := randomIDs[uint64](n)
	in := lookup.Sequence(ids).At(count(n, 599, 0)).Types(count(n, types, 0))
	dOut := fill(newMatrix(t, n, dim), 5)
	for _, kind := range []string{"segments, learned", "all", "all, sinusoidal"} {
		want := layers(t, dim, 1, lookup.Dropout(0.2, 1))[kind].NewGradients()
		for _, workers := range []int{1, 2, 5} {
			layer := layers(t, dim, workers, lookup.Dropout(0.2, 1))[kind]
			if workers == 1 {
				if err := layer.BackwardTrain(want, in, dOut, 9); err != nil {
					t.Fatal(err)
				}
			}
			got := layer.NewSparseGradients()
			if err := layer.BackwardSparseTrain(got, in, dOut, 9); err != nil {
				t.Fatal(err)
			}
			for i := range got {
				compare(t, fmt.Sprintf("%s, %d workers, gradient %d", kind, workers, i), dense(t, got[i], want[i].Rows, dim), want[i])
			}
		}
	}
}

// wider returns a matrix with gap columns behind those of m, and its part with the elements of m.
func wider(t *testing.T, m rowvec.Matrix, gap int) (whole, part rowvec.Matrix) {
	t.Helper()
	whole = fill(newMatrix(t, m.Rows, m.Cols+gap), 4)
	part = check.Window(whole, 0, m.Rows, 0, m.Cols)
	for i := range m.Rows {
		copy(part.Row(i), m.Row(i))
	}
	return whole, part
}

// TestSegmentStrides has tables, results and gradients be parts of wider matrices.
func TestSegmentStrides(t *testing.T) {
	const dim, n = 40, 70
	ids, _ := randomIDs[int64](n)
	tables := []rowvec.Matrix{fill(newMatrix(t, vocab, dim), 1), fill(newMatrix(t, limit, dim), 2), fill(newMatrix(t, types, dim), 3)}
	same := func(m rowvec.Matrix) rowvec.Matrix { return m }
	run := func(table, m func(rowvec.Matrix) rowvec.Matrix, in lookup.Input, options ...lookup.LayerOption) (
		out rowvec.Matrix, grads []rowvec.Matrix,
	) {
		tokens, segments := must(lookup.FromMatrix(table(tables[0]))), must(lookup.FromMatrix(table(tables[2])))
		positions := must(positional.LearnedFrom(table(tables[1])))
		layer := must(lookup.NewLayer(tokens, positions, append(options, lookup.Segments(segments))...))
		out = m(newMatrix(t, n, dim))
		if err := layer.ForwardTrain(out, in, 2); err != nil {
			t.Fatal(err)
		}
		for _, g := range layer.NewGradients() {
			grads = append(grads, m(g))
		}
		if err := layer.BackwardTrain(grads, in, m(fill(newMatrix(t, n, dim), 4)), 2); err != nil {
			t.Fatal(err)
		}
		return out, grads
	}
	for name, in := range map[string]lookup.Input{
		"batch":     lookup.Batch(ids, 35).Types(count(n, types, 0)),
		"positions": lookup.Batch(ids, 35).At(count(n, 33, 1)),
	} {
		for _, options := range [][]lookup.LayerOption{nil, {lookup.LayerNorm(1e-12)}, {lookup.LayerNorm(0), lookup.Dropout(0.5, 2)}} {
			want, wantGrads := run(same, same, in, options...)
			var all []rowvec.Matrix
			widen := func(m rowvec.Matrix) rowvec.Matrix {
				whole, part := wider(t, m, 9)
				all = append(all, whole)
				return part
			}
			for _, table := range []func(rowvec.Matrix) rowvec.Matrix{same, widen} {
				got, grads := run(table, widen, in, options...)
				for i, m := range append(grads, got) {
					want := append(slices.Clone(wantGrads), want)[i]
					for r := range m.Rows {
						if !slices.Equal(m.Row(r), want.Row(r)) {
							t.Fatalf("%s: row %d of matrix %d is %v, want %v", name, r, i, m.Row(r), want.Row(r))
						}
					}
				}
			}
			for _, whole := range all {
				before := fill(newMatrix(t, whole.Rows, whole.Cols), 4)
				for r := range whole.Rows {
					if !slices.Equal(whole.Row(r)[dim:], before.Row(r)[dim:]) {
						t.Fatalf("%s: something behind row %d has changed", name, r)
					}
				}
			}
		}
	}
}

// TestNormAndMaxNorm: rows are scaled once, by the forward pass; the backward pass changes no table.
func TestNormAndMaxNorm(t *testing.T) {
	const dim, n = 24, 50
	ids, plain := randomIDs[int](n)
	tokens := must(lookup.NewEmbedding(vocab, dim, lookup.Normal(1, 3), lookup.MaxNorm(2, 2)))
	layer := must(lookup.NewLayer(tokens, nil, lookup.LayerNorm(1e-5)))
	b := batch{"", lookup.Sequence(ids), plain, count(n, n, 0), make([]int, n)}
	out, dOut := newMatrix(t, n, dim), fill(newMatrix(t, n, dim), 1)
	if err := layer.Forward(out, b.in); err != nil {
		t.Fatal(err)
	}
	compare(t, "forward", out, plainForward(t, layer, b))
	for i := range tokens.Weight().Data { // so that rows would be scaled again
		tokens.Weight().Data[i] *= 2
	}
	before := slices.Clone(tokens.Weight().Data)
	got, want := layer.NewGradients(), layer.NewGradients()
	if err := layer.Backward(got, b.in, dOut); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tokens.Weight().Data, before) {
		t.Error("Backward has changed the table")
	}
	plainBackward(t, layer, b, dOut, want)
	for i := range want {
		compare(t, "gradient", got[i], want[i])
	}
}

// TestByFrequencyAndNorm: what is divided by the number of occurrences is the gradient of the sum.
func TestByFrequencyAndNorm(t *testing.T) {
	const dim, n = 24, 50
	ids, plain := randomIDs[int](n)
	table := fill(newMatrix(t, vocab, dim), 1)
	b := batch{"", lookup.Sequence(ids), plain, count(n, n, 0), make([]int, n)}
	norm := must(lookup.NewLayer(must(lookup.FromMatrix(table)), nil, lookup.LayerNorm(1e-5)))
	weight, _ := norms(norm)
	dOut := fill(newMatrix(t, n, dim), 2)
	dSum := plainNormBackward(t, plainSum(t, norm, b), dOut, weight, make([]float32, dim), make([]float32, dim))

	tokens := must(lookup.FromMatrix(table, lookup.ScaleGradByFrequency()))
	want, got := newMatrix(t, vocab, dim), must(lookup.NewLayer(tokens, nil, lookup.LayerNorm(1e-5)))
	if err := tokens.Backward(want, b.in, dSum); err != nil {
		t.Fatal(err)
	}
	grads, sparse := got.NewGradients(), got.NewSparseGradients()
	if err := got.Backward(grads, b.in, dOut); err != nil {
		t.Fatal(err)
	}
	if err := got.BackwardSparse(sparse, b.in, dOut); err != nil {
		t.Fatal(err)
	}
	compare(t, "dense", grads[0], want)
	compare(t, "sparse", dense(t, sparse[0], vocab, dim), want)
}

// TestSegmentMisuse: the error says what is wrong, and nothing has changed.
func TestSegmentMisuse(t *testing.T) {
	const dim, n = 4, 6
	tokens := must(lookup.NewEmbedding(10, dim))
	for _, c := range []struct {
		option lookup.LayerOption
		want   string
	}{
		{lookup.Segments(must(lookup.NewEmbedding(2, 5))), "dim of segments is 5, want 4"},
		{lookup.Segments(must(lookup.NewEmbedding(2, dim, lookup.Scaled()))), "option of segments is Scaled, want one that is not for tokens alone"},
		{lookup.Segments(must(lookup.NewEmbedding(2, dim, lookup.MaxNorm(1, 2)))), "option of segments is MaxNorm, want one that is not for tokens alone"},
		{lookup.Segments(must(lookup.NewEmbedding(2, dim, lookup.ScaleGradByFrequency()))),
			"option of segments is ScaleGradByFrequency, want one that is not for tokens alone"},
		{lookup.LayerNorm(-1e-9), "epsilon of the norm is -1e-09, want a finite one of at least 0"},
		{lookup.LayerNorm(float32(math.NaN())), "epsilon of the norm is NaN, want a finite one of at least 0"},
		{lookup.LayerNorm(float32(math.Inf(1))), "epsilon of the norm is +Inf, want a finite one of at least 0"},
	} {
		layer, err := lookup.NewLayer(tokens, nil, c.option)
		if want := "rowvec: lookup.NewLayer: " + c.want; layer != nil || fmt.Sprint(err) != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
	if layer, err := lookup.NewLayer(tokens, nil, lookup.Segments(nil)); err != nil || layer.Segments() != nil {
		t.Errorf("no segments: error %v", err)
	}

	segments := must(lookup.NewEmbedding(3, dim, lookup.Normal(1, 1)))
	layer := must(lookup.NewLayer(tokens, must(positional.NewLearned(8, dim, 0)), lookup.Segments(segments), lookup.LayerNorm(1e-12)))
	in := lookup.Sequence([]int32{1, 2, 3, 4, 5, 6})
	typ := []int{0, 1, 2, 0, 1, 2}
	weight, bias := norms(layer)
	dst, dOut := fill(newMatrix(t, n, dim), 1), fill(newMatrix(t, n, dim), 2)
	grads, sparse := layer.NewGradients(), layer.NewSparseGradients()
	for i, g := range grads {
		fill(g, uint64(10+i))
	}
	single := must(lookup.NewLayer(tokens, nil, lookup.LayerNorm(1)))
	one := lookup.Sequence([]int{1})
	with := func(k int, m rowvec.Matrix) []rowvec.Matrix {
		all := slices.Clone(grads)
		all[k] = m
		return all
	}
	shared := unsafe.Slice((*int)(unsafe.Pointer(&dst.Data[0])), n)
	inGradient := unsafe.Slice((*int)(unsafe.Pointer(&grads[1].Data[0])), n)
	clear(shared)
	clear(inGradient)
	state := func() []float32 {
		all := slices.Concat(dst.Data, dOut.Data)
		for _, g := range grads {
			all = append(all, g.Data...)
		}
		for _, p := range layer.Parameters() {
			all = append(all, p.Value.Data...)
		}
		return all
	}
	before := state()
	const forwards, backward, sparsely, clearing = "Forward", "Backward", "BackwardSparse", "ClearGradients"
	for _, c := range []struct {
		op, want string
		err      error
	}{
		{forwards, "dst overlaps segment table", layer.Forward(rowvec.Matrix{Rows: 2, Cols: dim, Data: segments.Weight().Data, Stride: dim},
			lookup.Sequence([]int{0, 0}))},
		{forwards, "dst overlaps norm weight", layer.Forward(layer.Parameters()[3].Value, one)},
		{forwards, "dst overlaps norm weight", single.Forward(single.Parameters()[1].Value, one)},
		{forwards, "dst overlaps norm bias", single.Forward(single.Parameters()[2].Value, one)},
		{forwards, "dst overlaps types", layer.Forward(dst, in.Types(shared))},
		{backward, "position gradient overlaps types", layer.Backward(grads, in.Types(inGradient), dOut)},
		{clearing, "position gradient overlaps types", layer.ClearGradients(grads, in.Types(inGradient))},
		{backward, "len(grads) is 4, want 5", layer.Backward(grads[:4], in, dOut)},
		{clearing, "len(grads) is 0, want 5", layer.ClearGradients(nil, in)},
		{sparsely, "len(grads) is 6, want 5", layer.BackwardSparse(append(slices.Clone(sparse), nil), in, dOut)},
		{backward, "segment gradient.Rows is 8, want 3", layer.Backward(with(2, grads[1]), in, dOut)},
		{backward, "norm weight gradient.Rows is 3, want 1", layer.Backward(with(3, grads[2]), in, dOut)},
		{clearing, "norm bias gradient.Cols is 3, want 4", layer.ClearGradients(with(4, rowvec.Matrix{Rows: 1, Cols: 3}), in)},
		{backward, "norm bias gradient overlaps norm weight gradient", layer.Backward(with(4, grads[3]), in, dOut)},
		{backward, "norm bias gradient overlaps dOut", layer.Backward(with(4, check.Window(dOut, 2, 1, 0, dim)), in, dOut)},
		{backward, "segment gradient overlaps token gradient", layer.Backward(with(2, check.Window(grads[0], 2, 3, 0, dim)), in, dOut)},
		{sparsely, "segment gradient overlaps token gradient", layer.BackwardSparse(
			[]*lookup.Gradient{sparse[0], sparse[1], sparse[0], sparse[3], sparse[4]}, in, dOut)},
		{sparsely, "norm bias gradient overlaps norm weight gradient", layer.BackwardSparse(
			[]*lookup.Gradient{sparse[0], sparse[1], sparse[2], sparse[3], sparse[3]}, in, dOut)},
		{sparsely, "norm weight gradient is nil", layer.BackwardSparse(
			[]*lookup.Gradient{sparse[0], sparse[1], sparse[2], nil, sparse[4]}, in, dOut)},
		{sparsely, "segment gradient rows is 1, want 3", layer.BackwardSparse(
			[]*lookup.Gradient{sparse[0], sparse[1], sparse[3], sparse[2], sparse[4]}, in, dOut)},
	} {
		if want := fmt.Sprintf("rowvec: lookup.Layer.%s: %s", c.op, c.want); fmt.Sprint(c.err) != want {
			t.Errorf("error %q, want %q", c.err, want)
		}
	}
	for want, in := range map[string]lookup.Input{
		"rowvec: lookup.Layer.%s: type id 3 at position 4 is outside [0, 3)":     in.Types([]int{0, 1, 2, 0, 3, -1}),
		"rowvec: lookup.Layer.%s: type id -1 at position 0 is outside [0, 3)":    in.Types([]int{-1, 1, 2, 0, 3, -1}),
		"rowvec: lookup.Layer.%s: len(types) is 5, want 6":                       in.Types(typ[:5]),
		"rowvec: lookup.Layer.%s: len(types) is 0, want 6":                       in.Types(nil),
		"rowvec: lookup.Layer.%s: position id 8 at position 1 is outside [0, 8)": in.Types(typ).At([]int{0, 8, 2, 0, 3, 0}),
		"rowvec: lookup.Layer.%s: sequence length is 6, want at mos":             in.Types(typ).From(3),
	} {
		for op, err := range map[string]error{
			forwards: layer.Forward(dst, in), backward: layer.Backward(grads, in, dOut),
			sparsely: layer.BackwardSparse(sparse, in, dOut), clearing: layer.ClearGradients(grads, in),
		} {
			want := want
			if strings.HasSuffix(want, "at mos") {
				want = "rowvec: lookup.Layer.%s: start is 3, want at most 2"
			}
			if want = fmt.Sprintf(want, op); fmt.Sprint(err) != want {
				t.Errorf("%s: error %q, want %q", op, err, want)
			}
			var index *rowvec.IndexError
			var shape *rowvec.ShapeError
			if !errors.As(err, &index) && !errors.As(err, &shape) {
				t.Errorf("%s: error of type %T", op, err)
			}
		}
	}
	for _, g := range sparse {
		if g.Len() != 0 {
			t.Error("a sparse gradient has changed")
		}
	}
	if !slices.Equal(state(), before) {
		t.Error("something has changed")
	}
	if weight[0] != 1 || bias[0] != 0 {
		t.Errorf("a norm begins with weight %v and bias %v", weight, bias)
	}
	// Only a layer with segments looks at the values of types.
	if err := single.Forward(newMatrix(t, 1, dim), one.Types([]int{-5})); err != nil {
		t.Error(err)
	}
}

// TestPartsOfAnotherDim assigns another embedding to one that a layer has: what NewLayer has compared is compared by each pass.
func TestPartsOfAnotherDim(t *testing.T) {
	const dim, n = 8, 3
	for _, c := range []struct {
		want    string
		replace func(tokens, segments *lookup.Embedding)
	}{
		{"dim of segments is 5, want 8", func(_, segments *lookup.Embedding) { *segments = *must(lookup.NewEmbedding(2, 5)) }},
		{"dim of the norm is 8, want 9", func(tokens, segments *lookup.Embedding) {
			*tokens, *segments = *must(lookup.NewEmbedding(5, dim+1)), *must(lookup.NewEmbedding(2, dim+1))
		}},
	} {
		for _, length := range []int{n, 1 << 13} { // fewer tokens may be done by other kernels
			tokens, segments := must(lookup.NewEmbedding(5, dim)), must(lookup.NewEmbedding(2, dim))
			layers := []*lookup.Layer{must(lookup.NewLayer(tokens, nil, lookup.Segments(segments), lookup.LayerNorm(1), lookup.Dropout(0.5, 1)))}
			if strings.Contains(c.want, "norm") {
				layers = append(layers, must(lookup.NewLayer(tokens, nil, lookup.LayerNorm(1))))
			} else {
				layers = append(layers, must(lookup.NewLayer(tokens, nil, lookup.Segments(segments))))
			}
			for _, layer := range layers {
				optimizers := must(layer.NewOptimizers(lookup.SGD{Rate: 1}))
				was := [2]lookup.Embedding{*tokens, *segments}
				c.replace(tokens, segments)
				out := newMatrix(t, length, layer.Dim())
				in := lookup.Sequence(make([]int, length))
				for op, err := range map[string]error{
					"Forward": layer.Forward(out, in), "ForwardTrain": layer.ForwardTrain(out, in, 1),
					"Backward":       layer.Backward(layer.NewGradients(), in, out),
					"BackwardTrain":  layer.BackwardTrain(layer.NewGradients(), in, out, 1),
					"BackwardSparse": layer.BackwardSparse(layer.NewSparseGradients(), in, out),
					"StepTrain":      layer.StepTrain(optimizers, in, out, 1),
					"ClearGradients": layer.ClearGradients(layer.NewGradients(), in),
				} {
					if want := fmt.Sprintf("rowvec: lookup.Layer.%s: %s", op, c.want); fmt.Sprint(err) != want {
						t.Errorf("error %q, want %q", err, want)
					}
				}
				if slices.ContainsFunc(out.Data, func(x float32) bool { return x != 0 }) {
					t.Error("the destination has changed")
				}
				*tokens, *segments = was[0], was[1]
			}
		}
	}
}

// TestRefusedNorm: sums that are not finite leave all gradients as they were, whichever parameter's they are.
func TestRefusedNorm(t *testing.T) {
	const dim = 3
	tokens := must(lookup.NewEmbedding(5, dim))
	layer := must(lookup.NewLayer(tokens, must(positional.NewLearned(4, dim, 1)), lookup.LayerNorm(1e-5),
		lookup.Segments(must(lookup.NewEmbedding(2, dim)))))
	in := lookup.Sequence([]int{1, 4, 1})
	dOut := fill(newMatrix(t, 3, dim), 1)
	bad := fill(newMatrix(t, 3, dim), 2)
	bad.Data[4] = float32(math.Inf(1))
	for strict, p := range layer.Parameters() {
		grads := layer.NewSparseGradients()
		grads[strict].CheckFinite(true)
		if err := layer.BackwardSparse(grads, in, dOut); err != nil {
			t.Fatal(err)
		}
		var before []float32
		for _, g := range grads {
			before = append(before, g.Values().Data...)
		}
		var refused *lookup.NotFiniteError
		if err := layer.BackwardSparse(grads, in, bad); !errors.As(err, &refused) || refused.Op != "lookup.Layer.BackwardSparse" {
			t.Errorf("%s: error %v", p.Name, err)
		}
		var after []float32
		for _, g := range grads {
			after = append(after, g.Values().Data...)
		}
		if !slices.Equal(before, after) {
			t.Errorf("%s: gradients have changed", p.Name)
		}
	}
}

// TestChangedTypes has a type change after the check of all, as another goroutine could have it.
func TestChangedTypes(t *testing.T) {
	do, normalise, scatterAdd := forward.Do, forward.Normalise, forward.ScatterAdd
	defer func() { forward.Do, forward.Normalise, forward.ScatterAdd = do, normalise, scatterAdd }()
	const dim = 3
	typ := make([]int, 6)
	in := lookup.Sequence([]int{1, 2, 3, 4, 0, 1}).Types(typ)
	forward.Do = func(r forward.Rows) int {
		typ[3] = 2
		return do(r)
	}
	forward.Normalise = func(n forward.Normal) int {
		typ[3] = 2
		return normalise(n)
	}
	forward.ScatterAdd = func(r forward.Rows) int {
		typ[3] = -1
		return scatterAdd(r)
	}
	isatest.Each(t, func(t *testing.T) {
		for _, options := range [][]lookup.LayerOption{nil, {lookup.LayerNorm(1e-5)}} {
			options = append(options, lookup.Segments(must(lookup.NewEmbedding(2, dim))))
			layer := must(lookup.NewLayer(must(lookup.NewEmbedding(5, dim)), must(positional.NewLearned(6, dim, 1)), options...))
			out := newMatrix(t, 6, dim)
			for op, run := range map[string]func() error{
				"Forward":  func() error { return layer.Forward(out, in) },
				"Backward": func() error { return layer.Backward(layer.NewGradients(), in, out) },
			} {
				typ[3] = 0
				if err := run(); !errors.Is(err, rowvec.ErrChanged) || !strings.Contains(err.Error(), "lookup.Layer."+op) {
					t.Errorf("error %v", err)
				}
			}
		}
	})
}

// TestSegmentStream: only what a kernel does as a whole is written past the caches by it.
func TestSegmentStream(t *testing.T) {
	defer tuning.Lower()()
	do := forward.Do
	defer func() { forward.Do = do }()
	var streamed atomic.Int64
	forward.Do = func(r forward.Rows) int {
		if r.Stream {
			streamed.Add(1)
		}
		return do(r)
	}
	const dim, n = 16, 100
	ids, _ := randomIDs[int](n)
	for kind, layer := range layers(t, dim, 2) {
		streamed.Store(0)
		if err := layer.Forward(newMatrix(t, n, dim), lookup.Sequence(ids)); err != nil {
			t.Fatal(err)
		}
		whole := map[string]bool{"none": true, "scaled": true, "learned": true, "sinusoidal": true, "computed": true, "segments": true}
		if whole[kind] != (streamed.Load() > 0) {
			t.Errorf("%s: %d calls are told to write past the caches", kind, streamed.Load())
		}
	}
}

// TestGradientOfAnother: a gradient that was one of positions can be one of segments.
func TestGradientOfAnother(t *testing.T) {
	const dim, n = 5, 4
	tokens := must(lookup.NewEmbedding(8, dim))
	in, dOut := lookup.Sequence([]int{1, 2, 3, 4}), fill(newMatrix(t, n, dim), 1)
	learned := must(lookup.NewLayer(tokens, must(positional.NewLearned(6, dim, 1))))
	grads := learned.NewSparseGradients()
	if err := learned.BackwardSparse(grads, in, dOut); err != nil {
		t.Fatal(err)
	}
	segments := must(lookup.NewLayer(tokens, nil, lookup.Segments(must(lookup.NewEmbedding(6, dim)))))
	grads[1].Clear()
	if err := segments.BackwardSparse(grads, in, dOut); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(grads[1].IDs(), []int{0}) {
		t.Errorf("rows %v, want that of type 0", grads[1].IDs())
	}
}

// TestTrainBERT trains the embeddings of a BERT to give random targets, with every method; a run that goes on from a file
// has the bits of one that was never interrupted.
func TestTrainBERT(t *testing.T) {
	const dim, seq, n = 33, 12, 48
	ids, _ := randomIDs[int32](n)
	in := lookup.Batch(ids, seq).Types(count(n, types, 0))
	target := fill(newMatrix(t, n, dim), 1)
	for i, m := range []lookup.Method{
		lookup.SGD{Rate: 0.1}, lookup.Adagrad{Rate: 0.1}, lookup.RowAdagrad{Rate: 0.1}, lookup.Adam{Rate: 0.02}, lookup.AdamW{Rate: 0.02, WeightDecay: 0.01},
	} {
		type run struct {
			layer      *lookup.Layer
			optimizers []*lookup.Optimizer
			grads      []*lookup.Gradient
		}
		start := func(seed uint64) run {
			layer := must(lookup.NewLayer(must(lookup.NewEmbedding(vocab, dim, lookup.Xavier(seed), lookup.Padding(padded))),
				must(positional.NewLearned(seq, dim, seed)), lookup.Segments(must(lookup.NewEmbedding(types, dim, lookup.Xavier(seed+1)))),
				lookup.LayerNorm(1e-12), lookup.Dropout(0.1, 8)))
			return run{layer, must(layer.NewOptimizers(m)), layer.NewSparseGradients()}
		}
		out, dOut := newMatrix(t, n, dim), newMatrix(t, n, dim)
		loss := func(r run) (sum float64) {
			if err := r.layer.Forward(out, in); err != nil {
				t.Fatal(err)
			}
			for i, x := range out.Data {
				sum += float64(x-target.Data[i]) * float64(x-target.Data[i])
			}
			return sum
		}
		step := func(r run) {
			t.Helper()
			at := uint64(r.optimizers[0].Steps())
			if err := r.layer.ForwardTrain(out, in, at); err != nil {
				t.Fatal(err)
			}
			for i, x := range out.Data {
				dOut.Data[i] = x - target.Data[i]
			}
			for _, g := range r.grads {
				g.Clear()
			}
			if err := r.layer.BackwardSparseTrain(r.grads, in, dOut, at); err != nil {
				t.Fatal(err)
			}
			must(lookup.ClipNorm(1, r.grads...))
			for k, o := range r.optimizers {
				if err := o.Step(r.grads[k]); err != nil {
					t.Fatal(err)
				}
			}
		}
		tensors := func(r run) []lookup.Parameter {
			all := r.layer.Parameters()
			for _, o := range r.optimizers {
				all = append(all, o.State()...)
			}
			return all
		}
		whole := start(3)
		first := loss(whole)
		for range 5 {
			step(whole)
		}
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.safetensors", i))
		steps := map[string]string{"steps": strconv.Itoa(whole.optimizers[0].Steps())}
		if err := lookup.Save(path, tensors(whole), steps); err != nil {
			t.Fatal(err)
		}
		again := start(77)
		metadata, err := lookup.Load(path, tensors(again))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range again.optimizers {
			if err := o.SetSteps(must(strconv.Atoi(metadata["steps"]))); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			step(whole)
			step(again)
		}
		for k, p := range tensors(whole) {
			compare(t, whole.optimizers[0].String()+", "+p.Name, tensors(again)[k].Value, p.Value)
		}
		if last := loss(whole); !(last < 0.99*first) {
			t.Errorf("%v: the loss was %v and is %v", whole.optimizers[0], first, last)
		}
	}
}

func TestSparseNoAllocation(t *testing.T) {
	defer tuning.Lower()()
	const dim, n = 64, 700
	ids, _ := randomIDs[int64](n)
	dOut := fill(newMatrix(t, n, dim), 1)
	for kind, layer := range layers(t, dim, 3, lookup.Dropout(0.1, 1)) {
		grads, optimizers := layer.NewSparseGradients(), must(layer.NewOptimizers(lookup.Adam{}))
		for name, in := range map[string]lookup.Input{
			"batch":     lookup.Batch(ids, 350),
			"ragged":    lookup.Ragged(ids, []int{0, 300, 300, 700}).Types(count(n, types, 0)),
			"positions": lookup.Batch(ids, 350).At(count(n, 350, 0)),
		} {
			isatest.NoAllocation(t, fmt.Sprintf("%s, %s", kind, name), func() {
				for _, g := range grads {
					g.Clear()
				}
				if err := layer.BackwardSparse(grads, in, dOut); err != nil {
					t.Fatal(err)
				}
				if err := layer.BackwardSparseTrain(grads, in, dOut, 1); err != nil {
					t.Fatal(err)
				}
				if err := layer.StepTrain(optimizers, in, dOut, 1); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestSegmentStrings(t *testing.T) {
	tokens := must(lookup.NewEmbedding(50, 8, lookup.Padding(0)))
	learned := must(positional.NewLearned(16, 8, 1))
	plain := must(lookup.NewEmbedding(2, 8))
	fixed := must(lookup.NewEmbedding(3, 8, lookup.Padding(2), lookup.Frozen()))
	for _, c := range []struct {
		layer            *lookup.Layer
		text, parameters string
	}{
		{must(lookup.NewLayer(tokens, learned, lookup.Segments(plain), lookup.LayerNorm(1e-12), lookup.Dropout(0.1, 1))),
			"Layer(vocab=50, dim=8, max=16, positions=learned, segments=2, padding=0, norm=1e-12, dropout=0.1)",
			"token.weight 50x8, position.weight 16x8, segment.weight 2x8, norm.weight 1x8, norm.bias 1x8, "},
		{must(lookup.NewLayer(tokens, nil, lookup.Segments(fixed))),
			"Layer(vocab=50, dim=8, positions=none, segments=3 (padding=2, frozen), padding=0)", "token.weight 50x8, segment.weight 3x8, "},
		{must(lookup.NewLayer(plain, nil, lookup.LayerNorm(0))),
			"Layer(vocab=2, dim=8, positions=none, norm=0)", "token.weight 2x8, norm.weight 1x8, norm.bias 1x8, "},
	} {
		if got := c.layer.String(); got != c.text {
			t.Errorf("%s, want %s", got, c.text)
		}
		got, dense, sparse := "", c.layer.NewGradients(), c.layer.NewSparseGradients()
		for i, p := range c.layer.Parameters() {
			got += fmt.Sprintf("%s %dx%d, ", p.Name, p.Value.Rows, p.Value.Cols)
			if dense[i].Rows != p.Value.Rows || dense[i].Cols != 8 || sparse[i].Len() != 0 {
				t.Errorf("%s: gradients %dx%d and of %d rows", p.Name, dense[i].Rows, dense[i].Cols, sparse[i].Len())
			}
		}
		if got != c.parameters {
			t.Errorf("parameters %q, want %q", got, c.parameters)
		}
	}
}
