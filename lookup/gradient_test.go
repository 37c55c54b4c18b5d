package lookup_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

func dense(t testing.TB, g *lookup.Gradient, rows, cols int) rowvec.Matrix {
	t.Helper()
	m := newMatrix(t, rows, cols)
	if err := g.AddTo(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// add adds b to a.
func add(t testing.TB, a, b rowvec.Matrix) {
	t.Helper()
	if err := rowvec.Add(a.Data, b.Data); err != nil {
		t.Fatal(err)
	}
}

// checkRows reports rows of g that are not ascending, or not those that ids choose without the padding id.
func checkRows(t *testing.T, what string, g *lookup.Gradient, ids []int, padding int) {
	t.Helper()
	want := slices.Clone(ids)
	want = slices.DeleteFunc(want, func(id int) bool { return id == padding })
	slices.Sort(want)
	want = slices.Compact(want)
	if !slices.Equal(g.IDs(), want) || g.Len() != len(want) || g.Values().Rows != len(want) {
		t.Fatalf("%s: rows %v, want %v", what, g.IDs(), want)
	}
}

// TestSparse holds row-sparse gradients to dense ones: of one batch from nothing, and of a second one on top.
func TestSparse(t *testing.T) {
	defer tuning.Lower()()
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{1, 6, 33, 300} {
			if dim == 300 && isatest.Few() {
				continue
			}
			for kind, layer := range layers(t, dim, 2) {
				sparse := layer.NewSparseGradients()
				for _, b := range batches() {
					what := fmt.Sprintf("%s, dim %d, %s", kind, dim, b.name)
					dOut := fill(newMatrix(t, b.in.Len(), dim), 9)
					want := layer.NewGradients()
					if err := layer.Backward(want, b.in, dOut); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					for i := range sparse {
						sparse[i].Clear()
					}
					if err := layer.BackwardSparse(sparse, b.in, dOut); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					padding := -1
					if id, ok := layer.Tokens().PaddingID(); ok {
						padding = id
					}
					checkRows(t, what, sparse[0], b.ids, padding)
					for i := range want {
						compare(t, what, dense(t, sparse[i], want[i].Rows, dim), want[i])
					}

					second := batches()[2] // other rows, and some of the same
					dOut = fill(newMatrix(t, second.in.Len(), dim), 10)
					more := layer.NewGradients()
					if err := layer.Backward(more, second.in, dOut); err != nil {
						t.Fatal(err)
					}
					if err := layer.BackwardSparse(sparse, second.in, dOut); err != nil {
						t.Fatal(err)
					}
					checkRows(t, what, sparse[0], append(slices.Clone(b.ids), second.ids...), padding)
					for i := range want {
						add(t, want[i], more[i])
						compare(t, what+", twice", dense(t, sparse[i], want[i].Rows, dim), want[i])
					}
				}
			}
		}
	})
}

// TestSparseWorkers has many parts, whose number the bits must not tell, of ids of which some are frequent.
func TestSparseWorkers(t *testing.T) {
	defer tuning.Lower()()
	const dim, n = 40, 4003
	ids, _ := randomIDs[int32](n)
	for i := range ids[:n/2] {
		ids[i] %= 3
	}
	dOut := fill(newMatrix(t, n, dim), 4)
	var want []rowvec.Matrix
	for _, workers := range []int{1, 2, 5, 100} {
		e := must(lookup.NewEmbedding(vocab, dim, lookup.Workers(workers), lookup.ScaleGradByFrequency(), lookup.Scaled()))
		g, o := e.NewGradient(), must(e.NewOptimizer(lookup.Adam{}))
		batch := must(e.NewOptimizer(lookup.RowAdagrad{}))
		for range 2 {
			if err := e.BackwardSparse(g, lookup.Sequence(ids), dOut); err != nil {
				t.Fatal(err)
			}
			if err := o.Step(g); err != nil {
				t.Fatal(err)
			}
			if err := batch.StepBatch(e, lookup.Sequence(ids), dOut); err != nil {
				t.Fatal(err)
			}
		}
		got := []rowvec.Matrix{g.Values(), e.Weight(), o.State()[0].Value, o.State()[1].Value, batch.State()[0].Value}
		if want == nil {
			want = got
		}
		for i := range want {
			compare(t, fmt.Sprintf("%d workers, %d", workers, i), got[i], want[i])
		}
	}
}

// TestClearFrozen: of a gradient that nothing is added to, nothing is cleared.
func TestClearFrozen(t *testing.T) {
	const dim = 5
	ids := []int{4, 2, 4, 4, 0}
	dOut := fill(newMatrix(t, len(ids), dim), 1)
	frozen := must(lookup.NewEmbedding(vocab, dim, lookup.Frozen()))
	segments := must(lookup.NewEmbedding(2, dim, lookup.Frozen()))
	layer, in := must(lookup.NewLayer(frozen, nil, lookup.Segments(segments))), lookup.Sequence(ids)
	grads, want := layer.NewGradients(), layer.NewGradients()
	for i := range grads {
		fill(grads[i], 2)
		fill(want[i], 2)
	}
	if err := errors.Join(layer.Backward(grads, in, dOut), layer.ClearGradients(grads, in),
		layer.ClearGradients(grads, in.Types([]int{0, 1, 0, 1, 1}))); err != nil {
		t.Fatal(err)
	}
	for i := range grads {
		compare(t, "frozen", grads[i], want[i])
	}
}

func TestFrozenAndByFrequency(t *testing.T) {
	const dim = 5
	ids := []int{4, 2, 4, 4, 0}
	dOut := fill(newMatrix(t, len(ids), dim), 1)
	frozen := must(lookup.NewEmbedding(vocab, dim, lookup.Frozen()))
	g, d := frozen.NewGradient(), newMatrix(t, vocab, dim)
	if err := errors.Join(frozen.BackwardSparse(g, lookup.Sequence(ids), dOut), frozen.Backward(d, lookup.Sequence(ids), dOut)); err != nil {
		t.Fatal(err)
	}
	if g.Len() != 0 || !frozen.Frozen() {
		t.Errorf("a frozen table has gradients of rows %v", g.IDs())
	}
	compare(t, "frozen", d, newMatrix(t, vocab, dim))
	e := must(lookup.NewEmbedding(vocab, dim, lookup.ScaleGradByFrequency(), lookup.Scaled()))
	if err := e.Backward(d, lookup.Sequence(ids), dOut); err != nil {
		t.Fatal(err)
	}
	want, third := newMatrix(t, vocab, dim), e.Scale()/3
	for j := range dim {
		want.Row(0)[j] = float32(e.Scale() * dOut.Row(4)[j])
		want.Row(2)[j] = float32(e.Scale() * dOut.Row(1)[j])
		want.Row(4)[j] = float32(third*dOut.Row(0)[j]) + float32(third*dOut.Row(2)[j])
		want.Row(4)[j] += float32(third * dOut.Row(3)[j])
	}
	compare(t, "by frequency", d, want)

	opt := must(frozen.NewOptimizer(lookup.SGD{Rate: 1}))
	before := slices.Clone(frozen.Weight().Data)
	if err := opt.StepBatch(frozen, lookup.Sequence(ids), dOut); err != nil || opt.Steps() != 1 {
		t.Errorf("a step of a frozen table: error %v, %d steps", err, opt.Steps())
	}
	bag := must(lookup.NewBag(frozen, lookup.Mean))
	if err := opt.StepBags(bag, lookup.Batch(ids, len(ids)), fill(newMatrix(t, 1, dim), 2)); err != nil || opt.Steps() != 2 {
		t.Errorf("a step of bags of a frozen table: error %v, %d steps", err, opt.Steps())
	}
	if !slices.Equal(frozen.Weight().Data, before) {
		t.Error("a frozen table has changed")
	}
}

// TestBagByFrequency: of two bags, one of the ids 4 and 2, the other of 4, 4 and 0, each weight, of the input or that of a place
// in a mean, is divided by how often its id is in the batch.
func TestBagByFrequency(t *testing.T) {
	const dim = 5
	plain := lookup.Ragged([]int{4, 2, 4, 4, 0}, []int{0, 2, 5})
	dOut := fill(newMatrix(t, 2, dim), 1)
	first, second := dOut.Row(0), dOut.Row(1)
	third, weights := float32(1)/3, fill(newMatrix(t, 1, 5), 7).Data
	for what, c := range map[string]struct {
		pooling lookup.Pooling
		in      lookup.Input
		w       []float32
	}{
		"sum":      {lookup.Sum, plain, []float32{1, 1, 1, 1, 1}},
		"mean":     {lookup.Mean, plain, []float32{0.5, 0.5, third, third, third}},
		"weighted": {lookup.Sum, plain.Weighted(weights), weights},
	} {
		e := must(lookup.NewEmbedding(vocab, dim, lookup.ScaleGradByFrequency()))
		g, want := e.NewGradient(), newMatrix(t, vocab, dim)
		if err := must(lookup.NewBag(e, c.pooling)).BackwardSparse(g, c.in, dOut); err != nil {
			t.Fatal(err)
		}
		for j := range dim {
			want.Row(0)[j] = float32(c.w[4] * second[j])
			want.Row(2)[j] = float32(c.w[1] * first[j])
			want.Row(4)[j] = float32(c.w[0]/3*first[j]) + float32(c.w[2]/3*second[j])
			want.Row(4)[j] += float32(c.w[3] / 3 * second[j])
		}
		compare(t, what, dense(t, g, vocab, dim), want)
	}
}

// TestBagWeightsAdd: gradients of weights are added to what there is, and nothing is for the padding id.
func TestBagWeightsAdd(t *testing.T) {
	const dim, n = 19, 40
	ids, plain := randomIDs[int32](n)
	bag := must(lookup.NewBag(must(lookup.FromMatrix(fill(newMatrix(t, vocab, dim), 1), lookup.Padding(padded))), lookup.Sum))
	dOut, got, want := fill(newMatrix(t, n/5, dim), 2), fill(newMatrix(t, 1, n), 3), fill(newMatrix(t, 1, n), 3)
	dots := newMatrix(t, n/5, n)
	kernels.Dots(dots, dOut, bag.Tokens().Weight(), plain)
	for range 2 {
		if err := bag.BackwardWeights(got.Data, lookup.Batch(ids, 5), dOut); err != nil {
			t.Fatal(err)
		}
		for i, id := range plain {
			if id != padded {
				want.Data[i] += dots.Row(i / 5)[i]
			}
		}
	}
	compare(t, "weights", got, want)
}

// TestBagWeightsOfManyBags has more ids and more bags than one call of a kernel does, each of which ends in front of a bag, in one and behind
// one, from a table that rows are prefetched of and from one in cache.
func TestBagWeightsOfManyBags(t *testing.T) {
	defer tuning.Lower()()
	isatest.Each(t, func(t *testing.T) {
		for name, sizes := range map[string][]int{
			"one by one": slices.Repeat([]int{1}, 600), "up to the end": {256, 256, 3}, "one less": {255, 257, 1, 255, 2}, "long": {700, 0, 0, 5, 1000},
			"empty": append(make([]int, 600), 1), "between empty": slices.Concat([]int{3}, make([]int, 300), []int{300}, make([]int, 255), []int{7, 0, 0}),
			"of all sizes": {0, 1, 2, 3, 4, 5, 7, 11, 0, 130, 100, 0, 90, 300},
		} {
			const dim = 20
			ids, offsets := []uint32(nil), []int{0}
			for b, size := range sizes {
				for i := range size {
					ids = append(ids, uint32((i*7+b)%vocab))
				}
				offsets = append(offsets, len(ids))
			}
			dOut, want := fill(newMatrix(t, len(sizes), dim), 2), newMatrix(t, 1, len(ids))
			for _, rows := range []int{vocab, 70_000} {
				for _, workers := range []int{1, 2, 5} {
					e := must(lookup.FromMatrix(fill(newMatrix(t, rows, dim), 1), lookup.Workers(workers)))
					clear(want.Data)
					for b := range sizes {
						a, own := dOut, ids[offsets[b]:offsets[b+1]]
						a.Rows, a.Data = 1, dOut.Row(b)
						dst := rowvec.Matrix{Rows: 1, Cols: len(own), Data: want.Data[offsets[b]:], Stride: len(own)}
						kernels.Dots(dst, a, e.Weight(), own)
					}
					got := newMatrix(t, 1, len(ids))
					if err := must(lookup.NewBag(e, lookup.Sum)).BackwardWeights(got.Data, lookup.Ragged(ids, offsets), dOut); err != nil {
						t.Fatal(err)
					}
					compare(t, fmt.Sprintf("%s, %d rows, %d workers", name, rows, workers), got, want)
				}
			}
		}
	})
}

// TestMaxNorm: whatever looks rows up scales those above the limit by max/(norm+1e-7), of a frozen table and with weights too. The
// 1e-7 decides some of the bits.
func TestMaxNorm(t *testing.T) {
	const dim, limit = 6, 0.5
	ids, weights := []int{4, 2, 4, 1, 0}, []float32{1, 2, 3, 4, 5}
	table := fill(newMatrix(t, vocab, dim), 3)
	kernels.Scale(table.Row(2), 0.1) // below the limit
	want, without := cloneOf(table), cloneOf(table)
	for _, id := range []int{0, 1, 4} {
		norm := 0.0
		for _, x := range table.Row(id) {
			norm += float64(x) * float64(x)
		}
		norm = math.Sqrt(norm)
		kernels.Scale(want.Row(id), float32(limit/(norm+1e-7)))
		kernels.Scale(without.Row(id), float32(limit/norm))
	}
	if slices.Equal(want.Data, without.Data) {
		t.Error("the 1e-7 decides nothing")
	}
	in, out, one := lookup.Sequence(ids), newMatrix(t, len(ids), dim), newMatrix(t, 1, dim)
	pool := func(p lookup.Pooling, in lookup.Input) func(e *lookup.Embedding) error {
		return func(e *lookup.Embedding) error { return must(lookup.NewBag(e, p)).Forward(one, in) }
	}
	for what, forward := range map[string]func(e *lookup.Embedding) error{
		"embedding": func(e *lookup.Embedding) error { return e.Forward(out, in) },
		"layer":     func(e *lookup.Embedding) error { return must(lookup.NewLayer(e, nil)).Forward(out, in) },
		"dropout": func(e *lookup.Embedding) error {
			return must(lookup.NewLayer(e, nil, lookup.Dropout(0.5, 1))).ForwardTrain(out, in, 1)
		},
		"sum": pool(lookup.Sum, in), "mean": pool(lookup.Mean, in), "max": pool(lookup.Max, in),
		"weighted": pool(lookup.Sum, in.Weighted(weights)),
	} {
		for _, option := range []lookup.Option{nil, lookup.Frozen()} {
			e := must(lookup.FromMatrix(cloneOf(table), lookup.MaxNorm(limit, 2), option))
			if err := forward(e); err != nil {
				t.Fatal(err)
			}
			compare(t, fmt.Sprintf("%s, frozen %v", what, e.Frozen()), e.Weight(), want)
		}
		if what == "weighted" {
			sum := newMatrix(t, 1, dim)
			for i, id := range ids {
				kernels.AddScaled(sum.Data, weights[i], want.Row(id))
			}
			compare(t, "the weighted sum", one, sum)
		}
	}
}

// TestBagMaxNorm: a bag scales the rows that it looks up as Embedding.Forward does, and leaves the others, and such as hold a
// NaN, as they are.
func TestBagMaxNorm(t *testing.T) {
	t.Run("no padding", func(t *testing.T) { testBagMaxNorm(t, -1) })
	t.Run("padding", func(t *testing.T) { testBagMaxNorm(t, 0) })
}

func testBagMaxNorm(t *testing.T, padding int) {
	const dim = 6
	ids := []int{4, 2, 4, 4, 0}
	limited := func() *lookup.Embedding {
		options := []lookup.Option{lookup.Normal(1, 3), lookup.MaxNorm(0.5, 2)}
		if padding >= 0 {
			options = append(options, lookup.Padding(padding))
		}
		e := must(lookup.NewEmbedding(vocab, dim, options...))
		copy(e.Weight().Row(0), []float32{1, 2, 3})
		e.Weight().Row(2)[3] = float32(math.NaN())
		return e
	}
	plain, pooled, before := limited(), limited(), limited().Weight()
	out, sum := newMatrix(t, len(ids), dim), newMatrix(t, 1, dim)
	bag := must(lookup.NewBag(pooled, lookup.Sum))
	if err := errors.Join(plain.Forward(out, lookup.Sequence(ids)), bag.Forward(sum, lookup.Sequence(ids))); err != nil {
		t.Fatal(err)
	}
	compare(t, "table", pooled.Weight(), plain.Weight())
	want := newMatrix(t, 1, dim)
	for i, id := range ids {
		for j, x := range out.Row(i) {
			if id != padding {
				want.Data[j] += x
			}
		}
	}
	compare(t, "sum", sum, want)
	for _, c := range []struct {
		id      int
		changed bool
	}{{0, true}, {4, true}, {2, false}, {1, false}, {3, false}} {
		same := fmt.Sprint(pooled.Weight().Row(c.id)) == fmt.Sprint(before.Row(c.id))
		if same == c.changed {
			t.Errorf("row %d has changed: %v", c.id, !same)
		}
	}
}

func TestGradientArithmetic(t *testing.T) {
	const dim = 7
	g, h := must(lookup.NewGradient(vocab, dim)), must(lookup.NewGradient(50, 3))
	rows := fill(newMatrix(t, 9, dim), 2)
	ids := []uint32{5, 5, 90, 1, 90, 5, 2, 96, 0}
	if err := lookup.AddRows(g, ids, 0.5, rows); err != nil {
		t.Fatal(err)
	}
	if err := lookup.AddRows(h, []int{49}, 1, fill(newMatrix(t, 1, 3), 3)); err != nil {
		t.Fatal(err)
	}
	want := newMatrix(t, vocab, dim)
	if err := rowvec.ScatterAdd(want, ids, 0.5, rows); err != nil {
		t.Fatal(err)
	}
	compare(t, "AddRows", dense(t, g, vocab, dim), want)

	square := func(m rowvec.Matrix) (sum float64) {
		for _, x := range m.Data {
			sum += float64(x) * float64(x)
		}
		return sum
	}
	norm := math.Sqrt(square(want) + square(h.Values()))
	if got := lookup.Norm(g, h); math.Abs(got-norm) > 1e-12 {
		t.Errorf("norm %v, want %v", got, norm)
	}
	gaps := rowvec.Matrix{Rows: vocab, Cols: dim, Stride: dim + 3, Data: slices.Repeat([]float32{float32(math.NaN())}, vocab*(dim+3)-3)}
	for i := range vocab {
		copy(gaps.Row(i), want.Row(i))
	}
	other := dense(t, h, 50, 3)
	for _, m := range []rowvec.Matrix{want, gaps} {
		if got := must(lookup.NormDense(m, rowvec.Matrix{}, other, rowvec.Matrix{Rows: 3})); got != lookup.Norm(g, h) {
			t.Errorf("the norm of dense gradients is %v, of sparse ones %v", got, lookup.Norm(g, h))
		}
	}
	wide := slices.Clone(gaps.Data)
	if got := must(lookup.ClipNormDense(0.25, gaps, rowvec.Matrix{}, other, rowvec.Matrix{Rows: 3})); got != lookup.Norm(g, h) {
		t.Errorf("dense gradients with a norm of %v are clipped by one of %v", lookup.Norm(g, h), got)
	}
	for i, x := range wide {
		if gap := i%(dim+3) >= dim; !gap {
			x *= float32(0.25 / (lookup.Norm(g, h) + 1e-6))
		}
		if math.Float32bits(gaps.Data[i]) != math.Float32bits(x) {
			t.Fatalf("clipped element %d with gaps is %v, want %v", i, gaps.Data[i], x)
		}
	}
	before := slices.Clone(g.Values().Data)
	if got := must(lookup.ClipNorm(norm*1.01, g, h)); math.Abs(got-norm) > 1e-12 || !slices.Equal(before, g.Values().Data) {
		t.Errorf("a norm of %v was clipped to %v", got, norm*1.01)
	}
	must(lookup.ClipNorm(0.25, g, h))
	for i, x := range g.Values().Data {
		if want := before[i] * float32(0.25/(norm+1e-6)); x != want {
			t.Fatalf("clipped element %d is %v, want %v", i, x, want)
		}
	}
	if got := lookup.Norm(g, h); math.Abs(got-0.25) > 1e-5 {
		t.Errorf("clipped norm %v, want 0.25", got)
	}

	again := must(lookup.NewGradient(vocab, dim))
	want.Row(7)[dim-1] = float32(math.NaN())
	if err := again.SetDense(want); err != nil {
		t.Fatal(err)
	}
	compare(t, "SetDense", dense(t, again, vocab, dim), want)
	checkRows(t, "SetDense", again, []int{0, 1, 2, 5, 7, 90, 96}, -1)
}

// TestNotFinite: what a gradient refuses leaves it as it was, be the sum too large for a batch or only for both.
func TestNotFinite(t *testing.T) {
	const huge = math.MaxFloat32
	for _, c := range []struct {
		values   []float32 // of ids 3, 7, 3
		row, col int
	}{
		{[]float32{1, 1, 1, 1, 1, float32(math.NaN())}, 3, 1},
		{[]float32{1, 1, float32(math.Inf(1)), 1, 1, 1}, 7, 0},
		{[]float32{1, huge, 1, 1, 1, huge}, 3, 1},
		{[]float32{1, 1, 1, huge, 1, 1}, 7, 1},
	} {
		g := must(lookup.NewGradient(vocab, 2))
		rows := rowvec.Matrix{Rows: 3, Cols: 2, Data: c.values, Stride: 2}
		first := rowvec.Matrix{Rows: 2, Cols: 2, Data: []float32{1, 2, 3, huge}, Stride: 2}
		for _, ids := range [][]int{nil, {50, 7}} {
			g.Clear()
			if err := lookup.AddRows(g, ids, 1, rowvec.Matrix{Rows: len(ids), Cols: 2, Data: first.Data, Stride: 2}); err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(g.Values().Data)
			g.CheckFinite(true)
			err := lookup.AddRows(g, []int{3, 7, 3}, 1, rows)
			var bad *lookup.NotFiniteError
			if ids == nil && c.row == 7 && c.values[3] == huge {
				if err != nil {
					t.Errorf("%v: %v", c.values, err)
				}
				continue // finite by itself
			}
			if !errors.As(err, &bad) || bad.Row != c.row || bad.Col != c.col || bad.Op != "lookup.AddRows" {
				t.Fatalf("%v: %v", c.values, err)
			}
			if !slices.Equal(before, g.Values().Data) || g.Len() != len(ids) {
				t.Errorf("%v: the gradient is now %v of %v", c.values, g.Values().Data, g.IDs())
			}
			g.CheckFinite(false)
			if err := lookup.AddRows(g, []int{3, 7, 3}, 1, rows); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestBagNotFinite: gradients of bags refuse as much, whatever the pooling.
func TestBagNotFinite(t *testing.T) {
	for _, pooling := range []lookup.Pooling{lookup.Sum, lookup.Mean, lookup.Max} {
		bag := must(lookup.NewBag(must(lookup.NewEmbedding(vocab, 2)), pooling))
		g, dOut := bag.Tokens().NewGradient(), fill(newMatrix(t, 2, 2), 1)
		if err := bag.BackwardSparse(g, lookup.Batch([]int{3, 7}, 1), dOut); err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(g.Values().Data)
		g.CheckFinite(true)
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			dOut.Row(1)[1] = float32(x)
			var bad *lookup.NotFiniteError
			if err := bag.BackwardSparse(g, lookup.Batch([]int{3, 3, 9, 9}, 2), dOut); !errors.As(err, &bad) ||
				bad.Row != 9 || bad.Col != 1 || bad.Op != "lookup.Bag.BackwardSparse" {
				t.Errorf("%v: %v", bag, err)
			}
			if !slices.Equal(before, g.Values().Data) || g.Len() != 2 {
				t.Errorf("%v: the gradient is now %v of %v", bag, g.Values().Data, g.IDs())
			}
		}
	}
}

// TestDefaults: a method without numbers is one with those that its doc has for them.
func TestDefaults(t *testing.T) {
	const dim = 3
	ids := []int{4, 2, 4}
	for _, c := range []struct{ zero, told lookup.Method }{
		{lookup.SGD{}, lookup.SGD{Rate: 0.01}},
		{lookup.Adagrad{}, lookup.Adagrad{Rate: 0.01, Epsilon: 1e-10}},
		{lookup.RowAdagrad{}, lookup.RowAdagrad{Rate: 0.01, Epsilon: 1e-10}},
		{lookup.Adam{}, lookup.Adam{Rate: 0.001, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}},
		{lookup.AdamW{}, lookup.AdamW{Rate: 0.001, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}},
	} {
		a, b := must(lookup.NewEmbedding(vocab, dim)), must(lookup.NewEmbedding(vocab, dim))
		oa, ob := must(a.NewOptimizer(c.zero)), must(b.NewOptimizer(c.told))
		for step := range 3 {
			dOut := fill(newMatrix(t, len(ids), dim), uint64(step))
			for i := range dOut.Data {
				if step == 0 { // epsilon matters
					dOut.Data[i] *= 1e-9
				}
			}
			if err := errors.Join(oa.StepBatch(a, lookup.Sequence(ids), dOut), ob.StepBatch(b, lookup.Sequence(ids), dOut)); err != nil {
				t.Fatal(err)
			}
			compare(t, oa.String(), a.Weight(), b.Weight())
		}
		for k, s := range ob.State() {
			compare(t, oa.String()+" "+s.Name, oa.State()[k].Value, s.Value)
		}
	}
}

// TestRateDecay: the rate of step t is Rate/(1+(t-1)*RateDecay).
func TestRateDecay(t *testing.T) {
	const dim, rate, decay = 5, 0.3, 0.7
	ids := []int{2, 4}
	for _, m := range []lookup.Method{
		lookup.Adagrad{Rate: rate, RateDecay: decay, Initial: 0.5}, lookup.RowAdagrad{Rate: rate, RateDecay: decay, Initial: 0.5},
	} {
		e := must(lookup.NewEmbedding(vocab, dim))
		o, table := must(e.NewOptimizer(m)), cloneOf(e.Weight())
		state := cloneOf(o.State()[0].Value)
		for step := range 5 {
			dOut, now := fill(newMatrix(t, len(ids), dim), uint64(step)), float32(rate/(1+float64(float64(step)*decay)))
			if err := o.StepBatch(e, lookup.Sequence(ids), dOut); err != nil {
				t.Fatal(err)
			}
			if state.Cols == 1 {
				kernels.UpdateRowAdagrad(table, state.Data, ids, dOut, now, 1e-10)
			} else {
				kernels.UpdateAdagrad(table, state, ids, dOut, now, 1e-10)
			}
			compare(t, o.String(), e.Weight(), table)
			compare(t, o.String()+", state", o.State()[0].Value, state)
		}
	}
}

// TestStepBatch: it has the bits of the gradient and the step apart, whether ids that occur once are added up or not.
func TestStepBatch(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		stepBatches(t)
		defer tuning.Lower()()
		stepBatches(t)
	})
}

func stepBatches(t *testing.T) {
	t.Helper()
	for _, dim := range []int{1, 6, 33, 768} {
		for i, m := range []lookup.Method{
			lookup.SGD{WeightDecay: 0.1}, lookup.SGD{Rate: 0.5}, lookup.Adagrad{RateDecay: 0.5}, lookup.RowAdagrad{Initial: 1},
			lookup.Adam{}, lookup.AdamW{WeightDecay: 0.25, Rate: 0.5},
		} {
			options := []lookup.Option{lookup.Padding(padded), lookup.Workers(1 + i%2)}
			switch i % 3 { // with these, nothing goes straight to the table
			case 0:
				options = append(options, lookup.Scaled())
			case 1:
				options = append(options, lookup.ScaleGradByFrequency())
			}
			a, b := must(lookup.NewEmbedding(vocab, dim, options...)), must(lookup.NewEmbedding(vocab, dim, options...))
			oa, ob := must(a.NewOptimizer(m)), must(b.NewOptimizer(m))
			g := a.NewGradient()
			for i, batch := range batches() {
				dOut := fill(newMatrix(t, batch.in.Len(), dim), uint64(i))
				g.Clear()
				if err := errors.Join(a.BackwardSparse(g, batch.in, dOut), oa.Step(g), ob.StepBatch(b, batch.in, dOut)); err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("%v, dim %d, %s", oa, dim, batch.name)
				compare(t, what, b.Weight(), a.Weight())
				for k, s := range oa.State() {
					compare(t, what, ob.State()[k].Value, s.Value)
				}
			}
			if oa.Steps() != len(batches()) || ob.Steps() != oa.Steps() {
				t.Errorf("%d and %d steps", oa.Steps(), ob.Steps())
			}
		}
	}
}

// TestStepBags: it has the bits of the gradient and the step apart, whatever bags come to, and where padding leaves nothing of one.
func TestStepBags(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		stepBags(t)
		defer tuning.Lower()()
		stepBags(t)
	})
}

func stepBags(t *testing.T) {
	t.Helper()
	n := 0
	for _, dim := range []int{1, 6, 33, 64, 128, 768} {
		for _, m := range []lookup.Method{
			lookup.SGD{WeightDecay: 0.1}, lookup.SGD{Rate: 0.5}, lookup.Adagrad{RateDecay: 0.5}, lookup.RowAdagrad{Initial: 1},
			lookup.AdamW{WeightDecay: 0.25, Rate: 0.5},
		} {
			for _, pooling := range []lookup.Pooling{lookup.Sum, lookup.Mean, lookup.Max} {
				n++
				if isatest.Few() && n%7 > 1 {
					continue
				}
				options := []lookup.Option{lookup.Padding(padded), lookup.Workers(1 + n/3%3)}
				if n%4 == 0 && pooling != lookup.Max {
					options = append(options, lookup.ScaleGradByFrequency())
				}
				a := must(lookup.NewBag(must(lookup.NewEmbedding(vocab, dim, options...)), pooling))
				b := must(lookup.NewBag(must(lookup.NewEmbedding(vocab, dim, options...)), pooling))
				oa, ob := must(a.Tokens().NewOptimizer(m)), must(b.Tokens().NewOptimizer(m))
				g, steps := a.Tokens().NewGradient(), 0
				step := func(name string, in lookup.Input, bags int) {
					dOut := fill(newMatrix(t, bags, dim), uint64(steps))
					g.Clear()
					if err := errors.Join(a.BackwardSparse(g, in, dOut), oa.Step(g), ob.StepBags(b, in, dOut)); err != nil {
						t.Fatal(err)
					}
					what := fmt.Sprintf("%v, dim %d, %v, %s", oa, dim, a, name)
					compare(t, what, b.Tokens().Weight(), a.Tokens().Weight())
					for k, s := range oa.State() {
						compare(t, what, ob.State()[k].Value, s.Value)
					}
					if steps++; oa.Steps() != steps || ob.Steps() != steps {
						t.Errorf("%s: %d and %d steps, want %d", what, oa.Steps(), ob.Steps(), steps)
					}
				}
				ids, _ := randomIDs[int32](700)
				step("bags of 7", lookup.Batch(ids, 7), 100)
				step("a bag", lookup.Sequence(ids), 1)
				ragged := lookup.RaggedFrom(ids, []int{0, 0, 3, 4, 4, 500, 699, 700})
				step("ragged", ragged, 8)
				if pooling == lookup.Sum {
					step("weighted", ragged.Weighted(fill(newMatrix(t, 1, 700), 5).Data), 8)
				}
				var once []int // each, and so straight to the table with the row of a bag
				for id := range 90 {
					once = append(once, id*7%90)
				}
				step("ids once, bags of 10", lookup.Batch(once, 10), 9)
				step("ids once, bags of 2", lookup.Batch(once, 2), 45)
				step("ids once, of bags 0, 0 and 2", lookup.RaggedFrom([]int{5, 1, 8}, []int{0, 2, 2}), 3)
				step("nothing but padding", lookup.Batch([]int{padded, padded}, 1), 2)
				step("none", lookup.RaggedFrom([]int{}, []int{0, 0}), 2)
				step("no bag", lookup.Batch([]int{}, 3), 0)
			}
		}
	}
}

// TestTouched: a row of a dense gradient is touched by an element other than zero at any place, as small as it may be or no number, in
// rows with a gap behind them, among any number of others.
func TestTouched(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, cols := range []int{1, 7, 16, 33} {
			m := rowvec.Matrix{Rows: 700, Cols: cols, Stride: cols + 1, Data: make([]float32, 700*(cols+1))}
			for i := range m.Data {
				m.Data[i] = float32(math.Copysign(0, float64(i%3-1)))
				if i%(cols+1) == cols {
					m.Data[i] = 1 // the gap
				}
			}
			var want []int
			for k, i := range []int{0, 1, 255, 256, 257, 300, 512, 698, 699} {
				want = append(want, i)
				m.Row(i)[(k*5+cols-1)%cols] = []float32{math.SmallestNonzeroFloat32, 3, -math.SmallestNonzeroFloat32, float32(math.NaN()), math.MaxFloat32}[k%5]
			}
			g := must(lookup.NewGradient(m.Rows, cols))
			try(g.SetDense(m))
			if !slices.Equal(g.IDs(), want) {
				t.Fatalf("%d columns: rows %v, want %v", cols, g.IDs(), want)
			}
			for k, i := range want {
				if !slices.EqualFunc(g.Values().Row(k), m.Row(i), func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
					t.Errorf("%d columns: row %d is %v, want %v", cols, i, g.Values().Row(k), m.Row(i))
				}
			}
			if try(g.SetDense(m)); !slices.Equal(g.IDs(), want) {
				t.Errorf("%d columns: rows %v the second time, want %v", cols, g.IDs(), want)
			}
		}
	})
}

// TestStepDense: it has the bits of SetDense and Step, with rows of zeros among the others, before and behind them, or none or all.
func TestStepDense(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		defer tuning.Lower()()
		const rows = 700 // more than are done at a time
		zero, negative := float32(0), float32(math.Copysign(0, -1))
		for _, dim := range []int{1, 33, 130} {
			for _, m := range []lookup.Method{
				lookup.SGD{WeightDecay: 0.1}, lookup.SGD{Rate: 0.5}, lookup.Adagrad{RateDecay: 0.5}, lookup.RowAdagrad{Initial: 1},
				lookup.AdamW{WeightDecay: 0.25, Rate: 0.5},
			} {
				a, b := must(lookup.NewEmbedding(rows, dim, lookup.Workers(3))), must(lookup.NewEmbedding(rows, dim, lookup.Workers(3)))
				oa, ob := must(a.NewOptimizer(m)), must(b.NewOptimizer(m))
				g := a.NewGradient()
				for step, zeros := range []func(i int) bool{
					func(i int) bool { return i%3 == 1 }, func(i int) bool { return false }, func(i int) bool { return true },
					func(i int) bool { return i < 300 || i > 600 }, func(i int) bool { return i != 5 && i != 513 },
				} {
					grad := rowvec.Matrix{Rows: rows, Cols: dim, Stride: dim + 3, Data: make([]float32, rows*(dim+3))}
					fill(grad, uint64(step))
					for i := range rows {
						if zeros(i) {
							for j := range grad.Row(i) {
								grad.Row(i)[j] = []float32{zero, negative}[i%2]
							}
						}
					}
					before := slices.Clone(grad.Data)
					if err := errors.Join(g.SetDense(grad), oa.Step(g), ob.StepDense(grad)); err != nil {
						t.Fatal(err)
					}
					what := fmt.Sprintf("%v, dim %d", oa, dim)
					compare(t, what, b.Weight(), a.Weight())
					for k, s := range oa.State() {
						compare(t, what, ob.State()[k].Value, s.Value)
					}
					if !slices.EqualFunc(before, grad.Data, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }) {
						t.Fatal("the gradient has changed")
					}
				}
				if ob.Steps() != oa.Steps() {
					t.Errorf("%d steps, want %d", ob.Steps(), oa.Steps())
				}
			}
		}
	})
}

func TestTrainingNoAllocation(t *testing.T) {
	defer tuning.Lower()()
	const dim, n = 64, 600
	ids, _ := randomIDs[int32](n)
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, option := range []lookup.Option{lookup.Scaled(), lookup.ScaleGradByFrequency(), lookup.MaxNorm(1, 2)} {
		e := must(lookup.NewEmbedding(vocab, dim, lookup.Padding(padded), lookup.Workers(4), option))
		g, dOut, in := e.NewGradient(), fill(newMatrix(t, n, dim), 1), lookup.Sequence(ids)
		d := newMatrix(t, vocab, dim)
		var optimizers []*lookup.Optimizer
		for _, m := range []lookup.Method{lookup.SGD{}, lookup.Adagrad{}, lookup.RowAdagrad{}, lookup.AdamW{}} {
			optimizers = append(optimizers, must(e.NewOptimizer(m)))
		}
		isatest.NoAllocation(t, e.String(), func() {
			g.Clear()
			check(e.Forward(dOut, in))
			check(e.BackwardSparse(g, in, dOut))
			check(e.BackwardSparse(g, in, dOut))
			check(e.Backward(d, in, dOut))
			check(second(lookup.NormDense(d, dOut)))
			for _, o := range optimizers {
				check(o.Step(g))
				check(o.StepBatch(e, in, dOut))
				check(o.StepDense(d))
			}
		})
	}
	for _, pooling := range []lookup.Pooling{lookup.Sum, lookup.Mean, lookup.Max} {
		bag := must(lookup.NewBag(must(lookup.NewEmbedding(vocab, dim, lookup.Padding(padded), lookup.Workers(3))), pooling))
		g, out, in := bag.Tokens().NewGradient(), newMatrix(t, n/4, dim), lookup.Batch(ids, 4)
		dWeights, o := make([]float32, n), must(bag.Tokens().NewOptimizer(lookup.Adagrad{}))
		isatest.NoAllocation(t, bag.String(), func() {
			g.Clear()
			check(bag.Forward(out, in))
			check(bag.BackwardSparse(g, in, out))
			check(o.StepBags(bag, in, out))
			if pooling == lookup.Sum {
				check(bag.BackwardWeights(dWeights, in, out))
			}
		})
	}
}

// TestBagNoAllocation: nor is there any for bags of one worker, few and many, in each form.
func TestBagNoAllocation(t *testing.T) {
	const dim = 8
	ids, offsets, out := make([]uint32, 60), []int{0, 20, 20, 60}, newMatrix(t, 60, dim)
	bag := must(lookup.NewBag(must(lookup.NewEmbedding(vocab, dim, lookup.Padding(padded), lookup.Workers(1))), lookup.Sum))
	for name, in := range map[string]lookup.Input{
		"few": lookup.Batch(ids, 10), "many": lookup.Batch(ids, 1), "offsets": lookup.Ragged(ids, offsets),
		"beginnings": lookup.RaggedFrom(ids, offsets[:3]), "16 beginnings": lookup.RaggedFrom(ids, make([]int, 16)),
		"17 beginnings": lookup.RaggedFrom(ids, make([]int, 17)), "places": lookup.Batch(ids, 10).At(make([]int, len(ids))),
	} {
		dst := out
		dst.Rows = map[string]int{
			"few": 6, "many": 60, "offsets": 3, "beginnings": 3, "16 beginnings": 16, "17 beginnings": 17, "places": 6,
		}[name]
		isatest.NoAllocation(t, name, func() {
			if err := bag.Forward(dst, in); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestBagPadding has a padding id that is not counted, also if it is the first of all.
func TestBagPadding(t *testing.T) {
	for _, padding := range []int{0, 2} {
		e := must(lookup.FromMatrix(filled(4, 2), lookup.Padding(padding)))
		out := newMatrix(t, 1, 2)
		in := lookup.Sequence([]int{padding, 1, padding, 3})
		if err := must(lookup.NewBag(e, lookup.Mean)).Forward(out, in); err != nil {
			t.Fatal(err)
		}
		for j, x := range out.Data {
			if want := (e.Weight().Row(1)[j] + e.Weight().Row(3)[j]) / 2; x != want {
				t.Errorf("padding id %d: element %d is %v, want %v", padding, j, x, want)
			}
		}
	}
}

// TestClipNotFinite: what is left of gradients whose norm is not finite is what PyTorch leaves.
func TestClipNotFinite(t *testing.T) {
	for _, c := range []struct{ first, norm, other float64 }{
		{math.Inf(-1), math.Inf(1), 0}, {math.NaN(), math.NaN(), math.NaN()},
	} {
		g := must(lookup.NewGradient(3, 2))
		rows := rowvec.Matrix{Rows: 1, Cols: 2, Data: []float32{float32(c.first), 3}, Stride: 2}
		if err := lookup.AddRows(g, []int{1}, 1, rows); err != nil {
			t.Fatal(err)
		}
		norm := must(lookup.ClipNorm(1, g))
		first, other := float64(g.Values().Data[0]), float64(g.Values().Data[1])
		if fmt.Sprint(norm, other) != fmt.Sprint(c.norm, c.other) || !math.IsNaN(first) {
			t.Errorf("norm %v, gradient [%v 3] becomes %v", norm, c.first, g.Values().Data)
		}
	}
}

// TestTrainingMisuse: the error says what is wrong, and nothing has changed.
func TestTrainingMisuse(t *testing.T) {
	const dim = 4
	e := must(lookup.NewEmbedding(10, dim))
	other := must(lookup.NewEmbedding(10, dim))
	g := e.NewGradient()
	if err := lookup.AddRows(g, []int{3, 8}, 1, fill(newMatrix(t, 2, dim), 1)); err != nil {
		t.Fatal(err)
	}
	o := must(e.NewOptimizer(lookup.Adam{}))
	sum, mean := must(lookup.NewBag(e, lookup.Sum)), must(lookup.NewBag(e, lookup.Mean))
	out, ids := fill(newMatrix(t, 3, dim), 2), []int{1, 2, 3}
	in := lookup.Sequence(ids)
	bags := lookup.Batch(ids, 1)
	wide := newMatrix(t, 3, dim+1)
	weights := make([]float32, 3)
	inTable := rowvec.Matrix{Rows: 3, Cols: dim, Stride: dim, Data: e.Weight().Data}
	inState := rowvec.Matrix{Rows: 3, Cols: dim, Stride: dim, Data: o.State()[1].Value.Data}
	tall := must(lookup.NewGradient(11, dim))
	var none *lookup.Gradient
	own := rowvec.Matrix{Rows: 2, Cols: dim, Stride: dim, Data: g.Values().Data}
	for _, c := range []struct {
		err  error
		want string
	}{
		{lookup.AddRows(g, []int{1, -1}, 1, newMatrix(t, 2, dim)), "id -1 at position 1 is outside [0, 10)"},
		{lookup.AddRows(g, []int{1}, 1, newMatrix(t, 2, dim)), "lookup.AddRows: rows.Rows is 2, want 1"},
		{lookup.AddRows(g, []int{1, 2}, 1, own), "the gradient overlaps rows"},
		{g.AddTo(newMatrix(t, 9, dim)), "lookup.Gradient.AddTo: dense.Rows is 9, want 10"},
		{g.SetDense(newMatrix(t, 10, 3)), "lookup.Gradient.SetDense: dense.Cols is 3, want 4"},
		{second(lookup.ClipNorm(0, g)), "maximum norm is 0, want above 0"},
		{second(lookup.ClipNorm(math.NaN(), g)), "maximum norm is NaN, want above 0"},
		{e.BackwardSparse(none, in, out), "lookup.Embedding.BackwardSparse: token gradient is nil"},
		{e.BackwardSparse(tall, in, out), "token gradient rows is 11, want 10"},
		{e.BackwardSparse(g, in, wide), "dOut.Cols is 5, want 4"},
		{o.Step(none), "lookup.Optimizer.Step: gradient is nil"},
		{o.Step(tall), "lookup.Optimizer.Step: gradient rows is 11, want 10"},
		{o.StepBatch(nil, in, out), "embedding is nil"},
		{o.StepBatch(other, in, out), "the table of the embedding is another one, want that of the optimizer"},
		{o.StepBatch(e, lookup.Sequence([]int{1, 10, 3}), out), "id 10 at position 1 is outside [0, 10)"},
		{o.StepBatch(e, in, wide), "dOut.Cols is 5, want 4"},
		{o.StepBatch(e, in, inTable), "lookup.Optimizer.StepBatch: table overlaps dOut"},
		{o.StepBatch(e, in, inState), "lookup.Optimizer.StepBatch: state overlaps dOut"},
		{o.StepBags(nil, in, out), "lookup.Optimizer.StepBags: bag is nil"},
		{o.StepBags(must(lookup.NewBag(other, lookup.Sum)), bags, out), "the table of the embedding is another one, want that of the optimizer"},
		{o.StepBags(sum, lookup.Batch([]int{1, 10, 3}, 1), out), "id 10 at position 1 is outside [0, 10)"},
		{o.StepBags(sum, in, out), "lookup.Optimizer.StepBags: dOut.Rows is 3, want 1"},
		{o.StepBags(sum, bags, inTable), "lookup.Optimizer.StepBags: table overlaps dOut"},
		{o.StepBags(sum, bags, inState), "lookup.Optimizer.StepBags: state overlaps dOut"},
		{o.StepBags(mean, bags.Weighted(weights), out), "lookup.Optimizer.StepBags: pooling is mean, want sum where there are weights"},
		{o.SetRate(math.Inf(1)), "rate of Adam is +Inf"},
		{o.SetSteps(-1), "steps is -1, want at least 0"},
		{sum.Forward(out, lookup.Batch(ids, 2)), "len(ids) is 3, want a multiple of 2"},
		{sum.Forward(out, in), "dst.Rows is 3, want 1"},
		{sum.Forward(inTable, bags), "dst overlaps token table"},
		{sum.Forward(out, lookup.Batch([]int{1, 2, 30}, 1)), "id 30 at position 2 is outside [0, 10)"},
		{sum.Forward(out, bags.Weighted(weights[:2])), "len(weights) is 2, want 3"},
		{sum.Forward(out, bags.Weighted(out.Data[:3])), "dst overlaps weights"},
		{mean.Forward(out, bags.Weighted(weights)), "pooling is mean, want sum where there are weights"},
		{sum.Forward(out, lookup.RaggedFrom(ids, nil)), "len(offsets) is 0, want at least 1"},
		{sum.Forward(out, lookup.RaggedFrom(ids, []int{1, 2, 3})), "offsets[0] is 1, want 0"},
		{sum.Forward(out, lookup.RaggedFrom(ids, []int{0, 2, 1})), "offsets[2] is 1, want at least 2"},
		{sum.Forward(out, lookup.RaggedFrom(ids, []int{0, 2, 4})), "last of offsets is 4, want at most 3"},
		{sum.BackwardSparse(none, bags, out), "lookup.Bag.BackwardSparse: gradient is nil"},
		{sum.BackwardSparse(g, in, out), "dOut.Rows is 3, want 1"},
		{mean.BackwardWeights(weights, bags, out), "lookup.Bag.BackwardWeights: pooling is mean, want sum"},
		{sum.BackwardWeights(weights[:2], bags, out), "len(dWeights) is 2, want 3"},
		{sum.BackwardWeights(out.Data[:3], bags, out), "dWeights overlaps dOut"},
		{sum.BackwardWeights(e.Weight().Data[:3], bags, out), "dWeights overlaps token table"},
		{sum.BackwardWeights(weights, lookup.Batch([]int{1, 2, 10}, 1), out), "id 10 at position 2"},
		{mean.BackwardSparse(g, bags.Weighted(weights), out), "pooling is mean, want sum where there are weights"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", c.err, c.want)
		}
	}
	layer := layers(t, dim, 1)["learned"]
	grads := layer.NewSparseGradients()
	for want, grads := range map[string][]*lookup.Gradient{
		"len(grads) is 1, want 2":             grads[:1],
		"position gradient rows is 97":        {grads[0], layer.Tokens().NewGradient()},
		"position gradient is nil":            {grads[0], nil},
		"position gradient overlaps token gr": {grads[0], grads[0]},
	} {
		if err := layer.BackwardSparse(grads, in, out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	compare(t, "the table", e.Weight(), must(lookup.NewEmbedding(10, dim)).Weight())
	compare(t, "the result", out, fill(newMatrix(t, 3, dim), 2))
	compare(t, "the gradient", g.Values(), fill(newMatrix(t, 2, dim), 1))
	if o.Steps() != 0 || !slices.Equal(g.IDs(), []int{3, 8}) {
		t.Errorf("%v, gradient of rows %v", o, g.IDs())
	}
}

// TestBags holds bags of every kind to loops, with several workers.
func TestBags(t *testing.T) {
	defer tuning.Lower()()
	const dim, n = 20, 1500
	ids, plain := randomIDs[int64](n)
	weights := fill(newMatrix(t, 1, n), 3).Data
	var offsets []int
	for i := 0; i < n; i += len(offsets) % 7 {
		offsets = append(offsets, i)
		if len(offsets) > 1 && len(offsets)%7 == 0 {
			offsets = append(offsets, i, i) // empty ones
		}
	}
	isatest.Each(t, func(t *testing.T) {
		for _, padding := range []int{-1, padded} {
			for _, pooling := range []lookup.Pooling{lookup.Sum, lookup.Mean, lookup.Max} {
				for _, weighted := range []bool{false, true} {
					if weighted && pooling != lookup.Sum {
						continue
					}
					options := []lookup.Option{lookup.Workers(3), lookup.Normal(1, 2)}
					if padding >= 0 {
						options = append(options, lookup.Padding(padding))
					}
					bag := must(lookup.NewBag(must(lookup.NewEmbedding(vocab, dim, options...)), pooling))
					in := lookup.RaggedFrom(ids, offsets)
					if weighted {
						in = in.Weighted(weights)
					}
					got, want := fill(newMatrix(t, len(offsets), dim), 1), newMatrix(t, len(offsets), dim)
					if err := bag.Forward(got, in); err != nil {
						t.Fatal(err)
					}
					for b, first := range offsets {
						end := n
						if b+1 < len(offsets) {
							end = offsets[b+1]
						}
						count, row := float32(0), want.Row(b)
						for i := first; i < end; i++ {
							if plain[i] == padding {
								continue
							}
							count++
							for j, x := range bag.Tokens().Weight().Row(plain[i]) {
								switch {
								case weighted:
									row[j] += float32(weights[i] * x)
								case pooling == lookup.Max && count > 1:
									row[j] = max(row[j], x)
								case pooling == lookup.Max:
									row[j] = x
								default:
									row[j] += x
								}
							}
						}
						for j := range row {
							if pooling == lookup.Mean && count > 0 {
								row[j] /= count
							}
						}
					}
					compare(t, fmt.Sprintf("%v, weighted %v", bag, weighted), got, want)
				}
			}
		}
	})
}

// TestBagOfNone: a sequence without tokens is a bag like any other, of zeros, and a batch without sequences none.
func TestBagOfNone(t *testing.T) {
	const dim = 3
	for _, pooling := range []lookup.Pooling{lookup.Sum, lookup.Mean, lookup.Max} {
		bag := must(lookup.NewBag(must(lookup.NewEmbedding(vocab, dim)), pooling))
		g := bag.Tokens().NewGradient()
		for _, c := range []struct {
			in   lookup.Input
			bags int
		}{
			{lookup.Sequence([]int{}), 1}, {lookup.Sequence[uint32](nil).From(3).At(nil), 1},
			{lookup.Batch([]int{}, 2), 0}, {lookup.Ragged[int](nil, nil), 0}, {lookup.RaggedFrom[int](nil, []int{0, 0}), 2},
		} {
			out := fill(newMatrix(t, c.bags, dim), 1)
			if err := errors.Join(bag.Forward(out, c.in), bag.BackwardSparse(g, c.in, out)); err != nil {
				t.Fatal(err)
			}
			compare(t, bag.String(), out, newMatrix(t, c.bags, dim))
		}
		if g.Len() != 0 {
			t.Errorf("%v: a gradient of rows %v", bag, g.IDs())
		}
	}
}

// TestMemoryOfAStep: a step takes at most twice the bytes of the rows that it touches, and no more for a larger table. That is all that the
// first one allocates, whether at once or not and whoever keeps it: a gradient, what an optimizer has from then on, goroutines, and what
// is used again, of which there is nothing before. Not counted is what there is before: the table, dOut, and an optimizer with what its
// method has for each row of the table.
//
// Short rows take more, since ids have 40 to 60 bytes each beside them, and a worker 128 KiB and more to work in: BackwardSparse and Step 1.8
// and 2.5 times x 16, of ids that are all different and of four for three rows, and StepBags of maxima 2.0 to 2.5 times still x 64.
func TestMemoryOfAStep(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	const seq = 8 // tokens of a bag
	type batch struct {
		e          *lookup.Embedding
		method     lookup.Method
		in         lookup.Input
		dOut, bags rowvec.Matrix // gradients for tokens, and for bags
	}
	type step func() error
	gradient := func(b batch, finite bool, backward func(*lookup.Gradient, lookup.Input, rowvec.Matrix) error, dOut rowvec.Matrix) step {
		o := must(b.e.NewOptimizer(b.method))
		return func() error {
			g := b.e.NewGradient()
			g.CheckFinite(finite)
			return errors.Join(backward(g, b.in, dOut), o.Step(g))
		}
	}
	bagGradient := func(b batch, pooling lookup.Pooling, finite bool) step {
		return gradient(b, finite, must(lookup.NewBag(b.e, pooling)).BackwardSparse, b.bags)
	}
	bags := func(b batch, pooling lookup.Pooling) step {
		bag, o := must(lookup.NewBag(b.e, pooling)), must(b.e.NewOptimizer(b.method))
		return func() error { return o.StepBags(bag, b.in, b.bags) }
	}
	train := func(b batch, gradients bool, options ...lookup.LayerOption) step {
		layer := must(lookup.NewLayer(b.e, must(positional.NewLearned(seq, b.e.Dim(), 1)), options...))
		optimizers := must(layer.NewOptimizers(b.method))
		return func() error {
			if !gradients {
				return layer.StepTrain(optimizers, b.in, b.dOut, 1)
			}
			grads := layer.NewSparseGradients()
			err := layer.BackwardSparseTrain(grads, b.in, b.dOut, 1)
			for k, o := range optimizers {
				err = errors.Join(err, o.Step(grads[k]))
			}
			return err
		}
	}
	dropout, norm := lookup.Dropout(0.1, 1), lookup.LayerNorm(1e-5)
	ways := []struct {
		name   string
		most   float64 // times the bytes of the rows
		begin  func(b batch) step
		tokens bool // of a row for each token, which is how dOut is led back through a normalisation
	}{
		{"BackwardSparse, Step", 2, func(b batch) step { return gradient(b, false, b.e.BackwardSparse, b.dOut) }, false},
		{"StepBatch", 0.5, func(b batch) step {
			o := must(b.e.NewOptimizer(b.method))
			return func() error { return o.StepBatch(b.e, b.in, b.dOut) }
		}, false},
		{"StepBags of sums", 0.5, func(b batch) step { return bags(b, lookup.Sum) }, false},
		{"StepBags of maxima", 2, func(b batch) step { return bags(b, lookup.Max) }, false},
		{"StepTrain", 1, func(b batch) step { return train(b, false) }, false},
		// What follows is the same for all methods.
		{"BackwardSparse of sums, Step", 2, func(b batch) step { return bagGradient(b, lookup.Sum, false) }, false},
		{"BackwardSparse of maxima, Step", 2, func(b batch) step { return bagGradient(b, lookup.Max, false) }, false},
		{"StepTrain with dropout", 1.5, func(b batch) step { return train(b, false, dropout) }, false},
		{"StepTrain with LayerNorm", 2, func(b batch) step { return train(b, false, dropout, norm) }, true},
		// These have a gradient twice: one is tried before it is kept, and one is of tokens before it is of rows.
		{"BackwardSparse of finite maxima, Step", 3, func(b batch) step { return bagGradient(b, lookup.Max, true) }, false},
		{"BackwardSparseTrain with LayerNorm, Step", 3, func(b batch) step { return train(b, true, dropout, norm) }, true},
	}
	allocated := func(f step) int {
		runtime.GC() // twice, which takes from pools what calls before have left there
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := f()
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		return int(after.TotalAlloc - before.TotalAlloc)
	}
	sgd := []lookup.Method{lookup.SGD{}}
	methods := append(sgd, lookup.Adagrad{}, lookup.RowAdagrad{}, lookup.Adam{}, lookup.AdamW{WeightDecay: 0.1})
	shapes := []struct {
		small, vocab, dim, n int // ids are below small
		methods              []lookup.Method
		ways                 int
	}{{3001, 50257, 768, 256, sgd, len(ways)}, {3001, 50257, 768, 2048, sgd, len(ways)}, {3001, 20000, 256, 4096, methods, 5}}
	if isatest.Few() {
		shapes = shapes[:1]
	}
	isatest.Tune(t, &tuning.ParallelElements, 0)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, s := range shapes {
		ids, rows := make([]int32, s.n), make(map[int32]bool)
		for i := range ids {
			ids[i] = int32(i * i % s.small)
			rows[ids[i]] = true
		}
		table, dOut := newMatrix(t, s.vocab, s.dim), newMatrix(t, s.n, s.dim)
		b := batch{in: lookup.Batch(ids, seq), dOut: dOut, bags: check.Window(dOut, 0, s.n/seq, 0, s.dim)}
		for _, b.method = range s.methods {
			for _, way := range ways[:s.ways] {
				bytes := len(rows) * s.dim * 4
				if way.tokens {
					bytes = s.n * s.dim * 4
				}
				var got [3]int
				for k, c := range []struct{ workers, vocab int }{{1, s.small}, {1, s.vocab}, {2, s.vocab}} {
					runtime.GOMAXPROCS(c.workers) // one worker finds in a pool what it has left there
					b.e = must(lookup.FromMatrix(check.Window(table, 0, c.vocab, 0, s.dim), lookup.Workers(c.workers)))
					got[k] = allocated(way.begin(b))
				}
				what := fmt.Sprintf("%s, %T, %d ids of %d rows of %d x %d", way.name, b.method, s.n, len(rows), s.vocab, s.dim)
				if most := way.most * float64(bytes); float64(slices.Max(got[:])) > most {
					t.Errorf("%s: %d bytes by one worker and %d by two, want %.0f at most", what, got[1], got[2], most)
				}
				if got[1] > got[0]+1024 {
					t.Errorf("%s: %d bytes, and %d for %d x %d", what, got[1], got[0], s.small, s.dim)
				}
				t.Logf("%s: %.2f and %.2f times as much as rows", what, float64(got[1])/float64(bytes), float64(got[2])/float64(bytes))
			}
		}
	}
}

// TestMaxTies: of equal elements the first gets the gradient, zeros of both signs are equal, and a NaN is greatest where it
// comes first and nothing elsewhere.
func TestMaxTies(t *testing.T) {
	nan, minus := float32(math.NaN()), float32(math.Copysign(0, -1))
	table := rowvec.Matrix{Rows: 3, Cols: 5, Stride: 5, Data: []float32{
		1, minus, nan, 5, 2,
		1, 0, 4, nan, 3,
		0, 0, 9, 6, 3,
	}}
	bag := must(lookup.NewBag(must(lookup.FromMatrix(table)), lookup.Max))
	out, in := newMatrix(t, 1, 5), lookup.Sequence([]int{0, 1, 2})
	g := bag.Tokens().NewGradient()
	if err := errors.Join(bag.Forward(out, in), bag.BackwardSparse(g, in, ramp(5, 7))); err != nil {
		t.Fatal(err)
	}
	if x := out.Row(0); x[0] != 1 || !math.Signbit(float64(x[1])) || x[2] == x[2] || x[3] != 6 || x[4] != 3 {
		t.Errorf("maxima %v", x)
	}
	want := []float32{7, 7, 7, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 7, 0}
	if !slices.Equal(g.Values().Data, want) {
		t.Errorf("gradient %v, want %v", g.Values().Data, want)
	}
}

// TestMaximaAddUp: the gradient of maxima is added to what there is.
func TestMaximaAddUp(t *testing.T) {
	const dim = 9
	ids, _ := randomIDs[int32](60)
	bag := must(lookup.NewBag(must(lookup.FromMatrix(fill(newMatrix(t, vocab, dim), 1))), lookup.Max))
	g, want := bag.Tokens().NewGradient(), newMatrix(t, vocab, dim)
	for _, in := range []lookup.Input{lookup.Batch(ids, 6), lookup.Batch(ids[:20], 2)} {
		dOut, alone := fill(newMatrix(t, 10, dim), 2), bag.Tokens().NewGradient()
		if err := errors.Join(bag.BackwardSparse(g, in, dOut), bag.BackwardSparse(alone, in, dOut), alone.AddTo(want)); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, "two batches", dense(t, g, vocab, dim), want)
}

// TestSparseOutput holds the sparse gradient of a sampled output to sums of products, and its other gradient to that of the
// dense way.
func TestSparseOutput(t *testing.T) {
	defer tuning.Lower()()
	const dim, states, n = 20, 7, 60
	ids, plain := randomIDs[uint32](n)
	in := lookup.Sequence(ids)
	e := must(lookup.NewEmbedding(vocab, dim, lookup.Workers(3)))
	output := must(lookup.NewOutput(e))
	h, dLogits := fill(newMatrix(t, states, dim), 1), fill(newMatrix(t, states, n), 2)
	dH, wantH := fill(newMatrix(t, states, dim), 3), fill(newMatrix(t, states, dim), 3)
	g := e.NewGradient()
	if err := output.BackwardSampledSparse(dH, g, in, dLogits, h); err != nil {
		t.Fatal(err)
	}
	if err := output.BackwardSampled(wantH, newMatrix(t, vocab, dim), in, dLogits, h); err != nil {
		t.Fatal(err)
	}
	compare(t, "hidden states", dH, wantH)
	want := newMatrix(t, vocab, dim)
	for j, id := range plain {
		sum := make([]float32, dim)
		for i := range states {
			for k, x := range h.Row(i) {
				sum[k] += float32(dLogits.Row(i)[j] * x)
			}
		}
		for k, x := range sum {
			want.Row(id)[k] += x
		}
	}
	compare(t, "table", dense(t, g, vocab, dim), want)
	checkRows(t, "table", g, plain, -1)

	before := slices.Clone(dH.Data)
	ids[3] = vocab
	if err := output.BackwardSampledSparse(dH, g, in, dLogits, h); err == nil || !slices.Equal(before, dH.Data) {
		t.Errorf("an id that is out of range: error %v", err)
	}
	if err := output.BackwardSampledSparse(dH, nil, in, dLogits, h); err == nil || !strings.Contains(err.Error(), "token gradient is nil") {
		t.Errorf("no gradient: error %v", err)
	}
	ids[3] = 0

	held := slices.Clone(g.Values().Data)
	g.CheckFinite(true)
	h.Row(4)[5] = float32(math.NaN())
	var bad *lookup.NotFiniteError
	if err := output.BackwardSampledSparse(dH, g, in, dLogits, h); !errors.As(err, &bad) || bad.Col != 5 {
		t.Errorf("hidden states of NaN: error %v", err)
	}
	if !slices.Equal(before, dH.Data) || !slices.Equal(held, g.Values().Data) {
		t.Error("a gradient that is not finite has changed something")
	}
	g.CheckFinite(false)

	isatest.NoAllocation(t, output.String(), func() {
		g.Clear()
		if err := output.BackwardSampledSparse(dH, g, in, dLogits, h); err != nil {
			t.Fatal(err)
		}
	})
}

// TestNotFiniteOfLayer: of several gradients, the error says which it is about.
func TestNotFiniteOfLayer(t *testing.T) {
	layer := must(lookup.NewLayer(must(lookup.NewEmbedding(vocab, 2)), must(positional.NewLearned(9, 2, 1))))
	dOut := fill(newMatrix(t, 2, 2), 1)
	dOut.Row(1)[1] = float32(math.Inf(1))
	for k, what := range []string{"token gradient", "position gradient"} {
		grads := layer.NewSparseGradients()
		grads[k].CheckFinite(true)
		err := layer.BackwardSparse(grads, lookup.Sequence([]int{5, 7}), dOut)
		var bad *lookup.NotFiniteError
		if !errors.As(err, &bad) || bad.What != what || bad.Row != []int{7, 1}[k] || !strings.Contains(err.Error(), "the "+what+" of row ") {
			t.Errorf("got %v", err)
		}
	}
}

// TestSetDenseNotFinite: after CheckFinite, SetDense refuses too, and the gradient is as it was.
func TestSetDenseNotFinite(t *testing.T) {
	g := must(lookup.NewGradient(3, 2))
	for _, on := range []bool{true, false} {
		g.CheckFinite(on)
		try(g.SetDense(rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{0, 0, 1, 2, 0, 0}}))
		err := g.SetDense(rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{1, 1, 0, 0, 3, float32(math.NaN())}})
		var bad *lookup.NotFiniteError
		switch {
		case !on && (err != nil || g.Len() != 2):
			t.Errorf("without the check: error %v, rows %v", err, g.IDs())
		case on && (!errors.As(err, &bad) || bad.Op != "lookup.Gradient.SetDense" || bad.Row != 2 || bad.Col != 1):
			t.Errorf("got %v", err)
		case on && !slices.Equal(g.Values().Data, []float32{1, 2}):
			t.Errorf("the gradient is now %v", g.Values().Data)
		}
	}
}

// TestMoved: a gradient and an optimizer that have been moved, which go vet warns of, work where they are, and not where they were.
func TestMoved(t *testing.T) {
	e := must(lookup.NewEmbedding(vocab, 2, lookup.Workers(1)))
	in, dOut := lookup.Sequence([]int{7, 5}), rowvec.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4}}
	var moved struct {
		g lookup.Gradient
		o lookup.Optimizer
	}
	for range 2 {
		reflect.ValueOf(&moved.g).Elem().Set(reflect.ValueOf(e.NewGradient()).Elem())
		reflect.ValueOf(&moved.o).Elem().Set(reflect.ValueOf(must(e.NewOptimizer(lookup.SGD{Rate: 1}))).Elem())
		try(e.BackwardSparse(&moved.g, in, dOut))
		if want := []float32{3, 4, 1, 2}; !slices.Equal(moved.g.Values().Data, want) {
			t.Errorf("the gradient is %v, want %v", moved.g.Values().Data, want)
		}
		before := slices.Clone(e.Weight().Row(5))
		try(moved.o.Step(&moved.g))
		try(moved.o.StepBatch(e, in, dOut))
		for j, x := range before {
			if want := x - dOut.Row(1)[j] - dOut.Row(1)[j]; e.Weight().Row(5)[j] != want {
				t.Errorf("column %d of row 5 is %v, want %v", j, e.Weight().Row(5)[j], want)
			}
		}
	}
}

// TestAccumulate: whatever a gradient is asked for in between, and in whatever order its rows are kept, it is the sum of what each batch
// gives, and steps and norms are those of its rows in order.
func TestAccumulate(t *testing.T) {
	defer tuning.Lower()()
	for _, dim := range []int{3, 64, 65, 130} {
		if isatest.Few() && (dim < 64 || dim > 65) {
			continue
		}
		isatest.Each(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(dim)))
			const vocab = 3000
			e := must(lookup.NewEmbedding(vocab, dim, lookup.Workers(3)))
			g := e.NewGradient()
			rounds := 4
			if isatest.Few() {
				rounds = 2
			}
			for round := range rounds {
				want := newMatrix(t, vocab, dim)
				g.CheckFinite(round%2 == 1)
				touched := map[int]bool{}
				for batch := range 7 {
					ids := make([]int32, []int{5, 90, 700}[rng.IntN(3)])
					rows := newMatrix(t, len(ids), dim)
					sums := map[int][]float32{}
					for i := range ids {
						ids[i] = int32(rng.IntN(vocab))
						id := int(ids[i])
						if sums[id] == nil {
							sums[id] = make([]float32, dim)
						}
						for j := range dim {
							rows.Row(i)[j] = float32(rng.NormFloat64())
							sums[id][j] += rows.Row(i)[j]
						}
						touched[id] = true
					}
					for id, sum := range sums {
						kernels.Add(want.Row(id), sum)
					}
					if err := e.BackwardSparse(g, lookup.Sequence(ids), rows); err != nil {
						t.Fatal(err)
					}
					if round == 0 || batch == 6 || rng.IntN(4) > 0 { // or no question at all
						testAccumulated(t, e, g, want, touched, rng.IntN(4))
					}
				}
				g.Clear()
				if g.Len() != 0 || g.Norm() != 0 || g.Values().Rows != 0 {
					t.Error("an empty gradient holds rows")
				}
			}
		})
	}
}

// testAccumulated asks for the norm, has a step taken, and then looks at all, one of them first.
func testAccumulated(t *testing.T, e *lookup.Embedding, g *lookup.Gradient, want rowvec.Matrix, touched map[int]bool, first int) {
	t.Helper()
	ids := slices.Sorted(maps.Keys(touched))
	if !slices.Equal(g.IDs(), ids) || g.Len() != len(ids) {
		t.Fatalf("%d rows, want %d", g.Len(), len(ids))
	}
	fresh := e.NewGradient()
	rows := newMatrix(t, len(ids), e.Dim())
	for i, id := range ids {
		copy(rows.Row(i), want.Row(id))
	}
	if err := lookup.AddRows(fresh, ids, 1, rows); err != nil {
		t.Fatal(err)
	}
	for k := range 4 {
		switch (k + first) % 4 {
		case 3:
			if sum := dense(t, g, e.Vocab(), e.Dim()); !slices.Equal(sum.Data, want.Data) {
				t.Fatal("another dense gradient")
			}
		case 0:
			if a, b := g.Norm(), fresh.Norm(); a != b {
				t.Fatalf("norm %v, want %v", a, b)
			}
		case 1:
			for _, m := range []lookup.Method{lookup.SGD{Rate: 0.5}, lookup.Adagrad{Rate: 0.5}, lookup.RowAdagrad{Rate: 0.5}} {
				a, b := must(lookup.FromMatrix(cloneOf(e.Weight()), lookup.Workers(3))), must(lookup.FromMatrix(cloneOf(e.Weight()), lookup.Workers(3)))
				if err := must(a.NewOptimizer(m)).Step(g); err != nil {
					t.Fatal(err)
				}
				if err := must(b.NewOptimizer(m)).Step(fresh); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(a.Weight().Data, b.Weight().Data) {
					t.Fatalf("a step with %T is another", m)
				}
			}
		case 2:
			if !slices.Equal(g.Values().Data, rows.Data) {
				t.Fatal("other values")
			}
		}
	}
}

func cloneOf(m rowvec.Matrix) rowvec.Matrix {
	m.Data = slices.Clone(m.Data)
	return m
}
