package lookup_test

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// TestInitialBits: a seed stands for the same bits on every machine and for every number of workers.
func TestInitialBits(t *testing.T) {
	for name, c := range map[string]struct {
		option lookup.Option
		want   uint64
	}{
		"xavier": {lookup.Xavier(42), 0x45934783b7d18b9c},
		"normal": {lookup.Normal(0.02, 42), 0x475f84c8fca5e922},
	} {
		for _, workers := range []int{1, 5} {
			e := must(lookup.NewEmbedding(1001, 37, c.option, lookup.Workers(workers)))
			sum := crc64.New(crc64.MakeTable(crc64.ECMA))
			if err := binary.Write(sum, binary.LittleEndian, e.Weight().Data); err != nil {
				t.Fatal(err)
			}
			if got := sum.Sum64(); got != c.want {
				t.Errorf("%s, %d workers: checksum %#x, want %#x", name, workers, got, c.want)
			}
		}
	}
}

func moments(x []float32) (mean, deviation, largest float64) {
	for _, v := range x {
		mean += float64(v) / float64(len(x))
		largest = math.Max(largest, math.Abs(float64(v)))
	}
	for _, v := range x {
		deviation += (float64(v) - mean) * (float64(v) - mean) / float64(len(x))
	}
	return mean, math.Sqrt(deviation), largest
}

func TestInitialDistribution(t *testing.T) {
	const vocab, dim = 2000, 50
	limit := math.Sqrt(6. / (vocab + dim))
	mean, deviation, largest := moments(must(lookup.NewEmbedding(vocab, dim)).Weight().Data)
	if math.Abs(mean) > 5e-4 || math.Abs(deviation-limit/math.Sqrt(3)) > 5e-4 || largest > limit || largest < 0.999*limit {
		t.Errorf("Xavier: mean %v, deviation %v, largest %v; limit is %v", mean, deviation, largest, limit)
	}
	mean, deviation, largest = moments(must(lookup.NewEmbedding(vocab, dim, lookup.Normal(1, 3))).Weight().Data)
	if math.Abs(mean) > 0.02 || math.Abs(deviation-1) > 0.02 || largest < 3.5 || largest > 7 {
		t.Errorf("Normal: mean %v, deviation %v, largest %v", mean, deviation, largest)
	}
	if a, b := must(lookup.NewEmbedding(9, 9, lookup.Xavier(1))), must(lookup.NewEmbedding(9, 9, lookup.Xavier(2))); slices.Equal(a.Weight().Data, b.Weight().Data) {
		t.Error("two seeds, one table")
	}
}

func TestPaddingRow(t *testing.T) {
	e := must(lookup.NewEmbedding(9, 5, lookup.Padding(4)))
	without := must(lookup.NewEmbedding(9, 5))
	for id := range 9 {
		want := without.Weight().Row(id)
		if id == 4 {
			want = make([]float32, 5)
		}
		if !slices.Equal(e.Weight().Row(id), want) {
			t.Errorf("row %d is %v, want %v", id, e.Weight().Row(id), want)
		}
	}
	if id, ok := e.PaddingID(); id != 4 || !ok {
		t.Error("padding id", id, ok)
	}
	if id, ok := without.PaddingID(); id != 0 || ok {
		t.Error("padding id", id, ok)
	}
}

// TestFromMatrix: no copy, no write, strides kept.
func TestFromMatrix(t *testing.T) {
	m := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 5, Data: []float32{1, 2, 0, 0, 0, 3, 4, 0, 0, 0, 5, 6}}
	before := slices.Clone(m.Data)
	e := must(lookup.FromMatrix(m, lookup.Padding(1)))
	if !slices.Equal(m.Data, before) {
		t.Error("FromMatrix has written to the table")
	}
	m.Data[10] = 7
	dst := newMatrix(t, 2, 2)
	if err := e.Forward(dst, lookup.Sequence([]int{2, 1})); err != nil || !slices.Equal(dst.Data, []float32{7, 6, 3, 4}) {
		t.Error(err, dst.Data)
	}
}

func TestConstructorMisuse(t *testing.T) {
	big := math.MaxInt/8 + 1
	matrix := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: make([]float32, 6)}
	short := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: make([]float32, 5)}
	overlapping := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 1, Data: make([]float32, 6)}
	tokens := must(lookup.NewEmbedding(3, 2))
	_, errNil := lookup.NewLayer(nil, nil)
	_, errDim := lookup.NewLayer(tokens, must(positional.NewLearned(4, 3, 0)))
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(lookup.NewEmbedding(0, 2)), "vocab is 0, want at least 1"},
		{second(lookup.NewEmbedding(-5, 2)), "vocab is -5, want at least 1"},
		{second(lookup.NewEmbedding(2, 0)), "dim is 0, want at least 1"},
		{second(lookup.NewEmbedding(big, 4)), "vocab is"},
		{second(lookup.NewEmbedding(3, 2, lookup.Padding(3))), "padding id is 3, want at most 2"},
		{second(lookup.NewEmbedding(3, 2, lookup.Padding(-1))), "padding id is -1, want at least 0"},
		{second(lookup.NewEmbedding(3, 2, lookup.Workers(-1))), "workers is -1, want at least 0"},
		{second(lookup.NewEmbedding(3, 2, lookup.Normal(-1, 0))), "standard deviation is -1"},
		{second(lookup.NewEmbedding(3, 2, lookup.Normal(float32(math.NaN()), 0))), "standard deviation is NaN"},
		{second(lookup.NewEmbedding(3, 2, lookup.Normal(float32(math.Inf(1)), 0))), "standard deviation is +Inf"},
		{second(lookup.NewEmbedding(3, 2, lookup.MaxNorm(0, 2))), "maximum norm is 0, want a finite one above 0"},
		{second(lookup.NewEmbedding(3, 2, lookup.MaxNorm(math.Inf(1), 2))), "maximum norm is +Inf, want a finite one above 0"},
		{second(lookup.NewEmbedding(3, 2, lookup.MaxNorm(1, math.NaN()))), "p of the norm is NaN, want above 0"},
		{second(lookup.NewEmbedding(3, 2, lookup.MaxNorm(1, -1))), "p of the norm is -1, want above 0"},
		{second(lookup.NewGradient(0, 2)), "rows is 0, want at least 1"},
		{second(lookup.NewGradient(2, 0)), "cols is 0, want at least 1"},
		{second(lookup.NewBag(nil, lookup.Sum)), "tokens is nil"},
		{second(lookup.NewBag(new(lookup.Embedding), lookup.Sum)), "lookup.NewBag: dim of tokens is 0, want at least 1"},
		{second(lookup.NewOutput(new(lookup.Embedding))), "lookup.NewOutput: dim of tokens is 0, want at least 1"},
		{second(lookup.NewLayer(new(lookup.Embedding), nil)), "lookup.NewLayer: dim of tokens is 0, want at least 1"},
		{second(lookup.NewSimilarity(new(lookup.Embedding), lookup.Cosine)), "lookup.NewSimilarity: dim of tokens is 0, want at least 1"},
		{lookup.AddRows(new(lookup.Gradient), []int{}, 1, rowvec.Matrix{}), "lookup.AddRows: dim of g is 0, want at least 1"},
		{second(lookup.NewBag(tokens, 3)), "pooling is Pooling(3), want sum, mean or max"},
		{second(lookup.NewBag(must(lookup.NewEmbedding(3, 2, lookup.Scaled())), lookup.Sum)), "embedding is Scaled, want one without a scale, as bags have none"},
		{second(lookup.NewBag(must(lookup.NewEmbedding(3, 2, lookup.ScaleGradByFrequency())), lookup.Max)), "pooling is max, want sum or mean where tokens have ScaleGradByFrequency"},
		{second(tokens.NewOptimizer(nil)), "the method is nil"},
		{second(tokens.NewOptimizer(lookup.SGD{Rate: -1})), "rate of SGD is -1, want at least 0 and below"},
		{second(tokens.NewOptimizer(lookup.SGD{WeightDecay: math.NaN()})), "weight decay of SGD is NaN"},
		{second(tokens.NewOptimizer(lookup.Adagrad{RateDecay: -1})), "rate decay of Adagrad is -1"},
		{second(tokens.NewOptimizer(lookup.RowAdagrad{Initial: -1})), "initial sum of RowAdagrad is -1"},
		{second(tokens.NewOptimizer(lookup.Adam{Beta1: 1})), "beta1 of Adam is 1, want at least 0 and below 1"},
		{second(tokens.NewOptimizer(lookup.AdamW{Beta2: -0.5})), "beta2 of AdamW is -0.5"},
		{second(tokens.NewOptimizer(lookup.Adam{Rate: 1e38, Beta1: 0.999999999})),
			"rate of Adam is 1e+38, want one that is finite as a float32, also divided by 1-beta1"},
		{second(tokens.NewOptimizer(lookup.RowAdagrad{Rate: 0.01, Epsilon: 1e-42})), "rate of RowAdagrad is 0.01, want one that is finite"},
		{second(tokens.NewOptimizer(lookup.RowAdagrad{Rate: 0.01, Initial: 1e-60, Epsilon: 1e-42})), "rate of RowAdagrad is 0.01, want one that is finite"},
		{second(tokens.NewOptimizer(lookup.RowAdagrad{Rate: 1e30})), "rate of RowAdagrad is 1e+30, want one that is finite as a float32, also divided by epsilon"},
		{second(tokens.NewOptimizer(lookup.AdamW{Rate: 1e30, WeightDecay: 1e30})), "weight decay of AdamW is 1e+30, want one that"},
		// These divide or multiply to the largest float32, which is none any more that is below it.
		{second(tokens.NewOptimizer(lookup.Adam{Rate: math.MaxFloat32 / 2, Beta1: 0.5})), "rate of Adam is"},
		{second(tokens.NewOptimizer(lookup.AdamW{Rate: 2, WeightDecay: math.MaxFloat32 / 2})), "weight decay of AdamW is"},
		{second(tokens.NewOptimizer(lookup.RowAdagrad{Rate: math.MaxFloat32 / 2, Initial: 0.25, Epsilon: 1e-30})), "rate of RowAdagrad is"},
		{second(lookup.NewOptimizer(lookup.Parameter{Value: newMatrix(t, 2, 2), Vector: true}, lookup.SGD{})), "rows of the vector is 2, want 1"},
		{second(tokens.NewOptimizer(lookup.Adam{Epsilon: math.Inf(1)})), "epsilon of Adam is +Inf"},
		{second(tokens.NewOptimizer(lookup.Adam{Epsilon: 1e-46})), "epsilon of Adam is 1e-46, want one that is above 0"},
		{second(tokens.NewOptimizer(lookup.AdamW{Epsilon: 1e-44})), "epsilon of AdamW is 1e-44, want one that is above 0 as a float32, also"},
		{second(lookup.NewOptimizer(lookup.Parameter{Value: short}, lookup.SGD{})), "len(parameter.Data) is 5, want at least 6"},
		{second(lookup.NewOptimizer(lookup.Parameter{}, lookup.SGD{})), "rows of the parameter is 0, want at least 1"},
		{second(lookup.FromMatrix(rowvec.Matrix{})), "weight.Rows is 0, want at least 1"},
		{second(lookup.FromMatrix(short)), "len(weight.Data) is 5, want at least 6"},
		{second(lookup.FromMatrix(overlapping)), "weight.Stride is 1, want at least 2"},
		{second(lookup.FromMatrix(matrix, lookup.Xavier(1))), "option is Xavier, want one for a table that is filled already"},
		{second(lookup.FromMatrix(matrix, lookup.Padding(3))), "padding id is 3, want at most 2"},
		{errNil, "tokens is nil"},
		{second(lookup.NewLayer(tokens, (*positional.Learned)(nil))), "positions, a *positional.Learned, is nil"},
		{errDim, "dim of positions is 3, want 2"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", c.err, c.want)
		}
	}

	// And these are right.
	if err := errors.Join(second(tokens.NewOptimizer(lookup.SGD{Rate: 1e30, WeightDecay: 1e30})),
		second(lookup.NewOptimizer(lookup.Parameter{Value: newMatrix(t, 3, 1), Vector: true}, lookup.SGD{})),
		second(lookup.NewOptimizer(lookup.Parameter{Value: newMatrix(t, 1, 3), Vector: true}, lookup.SGD{}))); err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestCallMisuse: the error says what is wrong, and nothing has changed.
func TestCallMisuse(t *testing.T) {
	const dim = 4
	tokens := must(lookup.NewEmbedding(10, dim))
	layer := must(lookup.NewLayer(tokens, must(positional.NewLearned(8, dim, 0))))
	endless := must(lookup.NewLayer(tokens, must(positional.NewSinusoidal(2, dim))))
	ids := []int32{1, 2, 3, 4, 5, 6}
	spoilt := slices.Clone(ids)
	spoilt[4] = -7
	out := fill(newMatrix(t, 6, dim), 1)
	wide := fill(newMatrix(t, 6, dim+1), 1)
	long := make([]int32, 9)
	type call struct {
		layer *lookup.Layer
		in    lookup.Input
		out   rowvec.Matrix
		want  string
	}
	for _, c := range []call{
		{layer, lookup.Sequence(spoilt), out, "id -7 at position 4 is outside [0, 10)"},
		{layer, lookup.Sequence([]uint64{1, 2, 3, 1 << 63, 0, 0}), out, "id 9223372036854775808 at position 3 is outside [0, 10)"},
		{layer, lookup.Sequence(ids[:5]), out, "dst.Rows is 6, want 5"},
		{layer, lookup.Sequence(ids), wide, "dst.Cols is 5, want 4"},
		{layer, lookup.Sequence(ids), rowvec.Matrix{Rows: 6, Cols: dim, Stride: dim}, "len(dst.Data) is 0, want at least 24"},
		{layer, lookup.Sequence(ids), rowvec.Matrix{Rows: 6, Cols: dim, Stride: 3, Data: out.Data}, "dst.Stride is 3, want at least 4"},
		{layer, lookup.Batch(ids, 4), out, "len(ids) is 6, want a multiple of 4"},
		{layer, lookup.Batch(ids, 0), out, "seq is 0, want at least 1"},
		{layer, lookup.Batch(ids, -1), out, "seq is -1, want at least 1"},
		{layer, lookup.Sequence(long), fill(newMatrix(t, 9, dim), 2), "sequence length is 9, want at most 8"},
		{layer, lookup.Sequence(ids).From(3), out, "start is 3, want at most 2"},
		{layer, lookup.Sequence(ids).From(-1), out, "start is -1, want at least 0"},
		{endless, lookup.Sequence(ids).From(math.MaxInt), out, "start is 9223372036854775807, want at most 9223372036854775801"},
		{layer, lookup.Sequence(ids).At([]int{0, 1, 2, 3, 4}), out, "len(positions) is 5, want 6"},
		{layer, lookup.Sequence(ids).At([]int{0, 1, 2, 8, 4, 5}), out, "position id 8 at position 3 is outside [0, 8)"},
		{endless, lookup.Sequence(ids).At([]int{0, 1, -2, 8, 4, 5}), out, "position id -2 at position 2 is outside [0, 9223372036854775807)"},
		{layer, lookup.Ragged(ids, nil), out, "len(offsets) is 0, want at least 2"},
		{layer, lookup.Ragged(ids, []int{1, 6}), out, "offsets[0] is 1, want 0"},
		{layer, lookup.Ragged(ids, []int{0, 4, 3, 6}), out, "offsets[2] is 3, want at least 4"},
		{layer, lookup.Ragged(ids, []int{0, 4}), out, "last of offsets is 4, want 6"},
		{layer, lookup.Ragged(ids, []int{0, 7}), out, "last of offsets is 7, want 6"},
		{layer, lookup.Ragged(long, []int{0, 9}), fill(newMatrix(t, 9, dim), 2), "sequence length is 9, want at most 8"},
		{layer, lookup.Sequence(ids), rowvec.Matrix{Rows: 6, Cols: dim, Stride: dim, Data: tokens.Weight().Data}, "dst overlaps token table"},
		{layer, lookup.Sequence(ids), rowvec.Matrix{Rows: 6, Cols: dim, Stride: dim, Data: layer.Positions().Table().Data}, "dst overlaps position table"},
	} {
		if math.MaxInt == math.MaxInt32 && strings.Contains(c.want, "9223372036854775807") {
			continue
		}
		forward := c.layer.Forward
		check := func(name string, run func() error, want string) {
			before := slices.Clone(c.out.Data)
			weights := slices.Clone(tokens.Weight().Data)
			err := run()
			if want = "rowvec: lookup.Layer." + name + ": " + want; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", name, err, want)
			}
			var shape *rowvec.ShapeError
			var index *rowvec.IndexError
			var overlap *rowvec.OverlapError
			if !errors.As(err, &shape) && !errors.As(err, &index) && !errors.As(err, &overlap) {
				t.Errorf("%s: error of type %T", name, err)
			}
			if !slices.Equal(before, c.out.Data) || !slices.Equal(weights, tokens.Weight().Data) {
				t.Errorf("%s: memory has changed in spite of %v", name, err)
			}
		}
		check("Forward", func() error { return forward(c.out, c.in) }, c.want)
		if strings.Contains(c.want, "dst overlaps") {
			continue
		}
		grads := c.layer.NewGradients()
		if !strings.Contains(c.want, "dst") {
			check("ClearGradients", func() error { return c.layer.ClearGradients(grads, c.in) }, c.want)
		}
		check("Backward", func() error { return c.layer.Backward(grads, c.in, c.out) }, strings.Replace(c.want, "dst", "dOut", 1))
		sparse := c.layer.NewSparseGradients()
		check("BackwardSparse", func() error { return c.layer.BackwardSparse(sparse, c.in, c.out) }, strings.Replace(c.want, "dst", "dOut", 1))
		for _, g := range sparse {
			if g.Len() != 0 {
				t.Errorf("a sparse gradient has changed in spite of %s", c.want)
			}
		}
		for _, g := range grads {
			if slices.ContainsFunc(g.Data, func(x float32) bool { return x != 0 }) {
				t.Errorf("a gradient has changed in spite of %s", c.want)
			}
		}
	}
	shared := fill(newMatrix(t, 6, dim), 6)
	at := unsafe.Slice((*int)(unsafe.Pointer(&shared.Data[0])), 6)
	clear(at)
	before := slices.Clone(shared.Data)
	err := layer.Forward(shared, lookup.Sequence(ids).At(at))
	if err == nil || !strings.Contains(err.Error(), "dst overlaps positions") || !slices.Equal(before, shared.Data) {
		t.Errorf("positions in dst: error %v", err)
	}
	grad := fill(newMatrix(t, 8, dim), 6)
	at = unsafe.Slice((*int)(unsafe.Pointer(&grad.Data[0])), 6)
	clear(at)
	err = layer.Backward([]rowvec.Matrix{layer.NewGradients()[0], grad}, lookup.Sequence(ids).At(at), out)
	if err == nil || !strings.Contains(err.Error(), "position gradient overlaps positions") {
		t.Errorf("positions in a gradient: error %v", err)
	}
	in := lookup.Sequence(ids)
	grads := layer.NewGradients()
	tall := newMatrix(t, 11, dim)
	for _, c := range []struct {
		grads []rowvec.Matrix
		want  string
	}{
		{nil, "len(grads) is 0, want 2"},
		{grads[:1], "len(grads) is 1, want 2"},
		{[]rowvec.Matrix{tall, grads[1]}, "token gradient.Rows is 11, want 10"},
		{[]rowvec.Matrix{grads[0], tall}, "position gradient.Rows is 11, want 8"},
		{[]rowvec.Matrix{{Rows: 10, Cols: dim, Stride: dim, Data: tall.Data}, {Rows: 8, Cols: dim, Stride: dim, Data: tall.Data}},
			"position gradient overlaps token gradient"},
	} {
		if err := layer.Backward(c.grads, in, out); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
		if err := layer.ClearGradients(c.grads, in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("clearing: error %v, want one with %q", err, c.want)
		}
	}
	large := fill(newMatrix(t, 10, dim), 5)
	dOut := rowvec.Matrix{Rows: 6, Cols: dim, Stride: dim, Data: large.Data[dim:]}
	if err := tokens.Backward(large, in, dOut); err == nil || !strings.Contains(err.Error(), "token gradient overlaps dOut") {
		t.Errorf("error %v", err)
	}
}

// fickle positions are as they should be while a layer is made of them.
type fickle struct {
	lookup.Positions
	table rowvec.Matrix
	fill  func() // what Fill does besides
	asked func() // what Table does besides, if it is not nil
}

func (f *fickle) Table() rowvec.Matrix {
	if f.asked != nil {
		f.asked()
	}
	return f.table
}

func (f *fickle) Fill(dst rowvec.Matrix, start int) error {
	f.fill()
	return f.Positions.Fill(dst, start)
}

func fickleLayer(t *testing.T, options ...lookup.LayerOption) (*lookup.Layer, *fickle) {
	t.Helper()
	learned, err := positional.NewLearned(6, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	positions := &fickle{Positions: learned, table: learned.Table()}
	tokens, err := lookup.NewEmbedding(5, 3)
	if err != nil {
		t.Fatal(err)
	}
	layer, err := lookup.NewLayer(tokens, positions, options...)
	if err != nil {
		t.Fatal(err)
	}
	return layer, positions
}

func TestFicklePositions(t *testing.T) {
	ids := []int{1, 2, 3, 4, 0, 1}
	offsets := []int{0, 2, 6}
	at := []int{0, 5, 1, 2, 3, 4}
	for _, in := range []lookup.Input{
		lookup.Sequence(ids), lookup.Batch(ids, 3), lookup.Ragged(ids, offsets), lookup.Sequence(ids).At(at), lookup.Ragged(ids, offsets).At(at),
	} {
		for name, spoil := range map[string]func(m *rowvec.Matrix){
			"data":    func(m *rowvec.Matrix) { m.Data = m.Data[:17] },
			"rows":    func(m *rowvec.Matrix) { m.Rows = -1 },
			"columns": func(m *rowvec.Matrix) { m.Cols = 2 },
			"stride":  func(m *rowvec.Matrix) { m.Stride = 2 },
		} {
			layer, positions := fickleLayer(t)
			spoil(&positions.table)
			out, _ := rowvec.NewMatrix(6, 3)
			var shape *rowvec.ShapeError
			if err := layer.Forward(out, in); !errors.As(err, &shape) {
				t.Errorf("%s: error %v, want a ShapeError", name, err)
			}
			if slices.ContainsFunc(out.Data, func(x float32) bool { return x != 0 }) {
				t.Errorf("%s: dst has changed", name)
			}
		}
	}
}

// computed positions are in no table.
type computed struct {
	dim int
	err error // what is wrong with them, if it is not nil
}

func (c computed) Dim() int             { return c.dim }
func (c computed) Limit() int           { return 100 }
func (c computed) Trainable() bool      { return false }
func (c computed) Table() rowvec.Matrix { return rowvec.Matrix{} }
func (c computed) Kind() string         { return "computed" }

func (c computed) Fill(dst rowvec.Matrix, start int) error {
	for i := range dst.Rows {
		for j := range dst.Row(i) {
			dst.Row(i)[j] = float32(start + i + j)
		}
	}
	return c.err
}

// TestUnwillingPositions: what positions of the caller's have to say is what the layer returns, by whatever way they are
// asked: once for all, or, where they are too many, a few at a time. An id that they look up themselves is none of the
// input's.
func TestUnwillingPositions(t *testing.T) {
	for _, unwilling := range []error{errors.New("we would rather not"), &rowvec.IndexError{Index: 7, Rows: 2}} {
		for _, dim := range []int{3, 1<<18 + 1} {
			testUnwillingPositions(t, dim, unwilling)
		}
	}
}

func testUnwillingPositions(t *testing.T, dim int, unwilling error) {
	table := func(rows int) *lookup.Embedding { return must(lookup.FromMatrix(newMatrix(t, rows, dim))) }
	for _, option := range []lookup.LayerOption{nil, lookup.LayerNorm(0), lookup.Dropout(0.5, 1), lookup.Segments(table(1))} {
		layer := must(lookup.NewLayer(table(2), computed{dim, unwilling}, option))
		out := newMatrix(t, 4, dim)
		in := lookup.Sequence([]int{1, 0, 0, 1})
		if err := layer.ForwardTrain(out, in, 1); err != unwilling {
			t.Errorf("dim %d: error %v", dim, err)
		}
		if len(layer.Parameters()) < 3 { // without a norm, nobody asks for positions again
			continue
		}
		optimizers := must(layer.NewOptimizers(lookup.SGD{Rate: 1}))
		for _, err := range []error{
			layer.Backward(layer.NewGradients(), in, out), layer.BackwardSparse(layer.NewSparseGradients(), in, out),
			layer.StepTrain(optimizers, in, out, 1),
		} {
			if err != unwilling {
				t.Errorf("dim %d, backward: error %v", dim, err)
			}
		}
		for k, o := range optimizers {
			if o.Steps() != 0 {
				t.Errorf("dim %d: %d steps of %s", dim, o.Steps(), layer.Parameters()[k].Name)
			}
		}
	}
}

// TestManyPositions computes those of one sequence that is too long to have them all at once, or those of one part.
func TestManyPositions(t *testing.T) {
	const dim, n, start = 1 << 14, 75, 3
	tokens := must(lookup.FromMatrix(newMatrix(t, 2, dim), lookup.Workers(1)))
	copy(tokens.Weight().Row(1), []float32{100, 200})
	layer := must(lookup.NewLayer(tokens, computed{dim: dim}))
	ids, out := make([]int, n), newMatrix(t, n, dim)
	for i := range ids {
		ids[i] = i % 2
	}
	if err := layer.Forward(out, lookup.Sequence(ids).From(start)); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		for j, x := range out.Row(i) {
			if want := tokens.Weight().Row(id)[j] + float32(start+i+j); x != want {
				t.Fatalf("row %d, column %d is %v, want %v", i, j, x, want)
			}
		}
	}
}

// TestChangedIDs has an id change after the check of all, as another goroutine could have it.
func TestChangedIDs(t *testing.T) {
	layer, positions := fickleLayer(t)
	ids := []int{1, 2, 3, 4, 0, 1}
	positions.table = rowvec.Matrix{} // so that positions are computed
	positions.fill = func() { ids[3] = 5 }
	out, _ := rowvec.NewMatrix(6, 3)
	err := layer.Forward(out, lookup.Sequence(ids))
	if !errors.Is(err, rowvec.ErrChanged) || !strings.Contains(err.Error(), "lookup.Layer.Forward") {
		t.Errorf("error %v", err)
	}
}

// TestChangedPositions has offsets and positions change after the check of all: into what can be seen to be wrong, which is
// an error, or into other positions.
func TestChangedPositions(t *testing.T) {
	offsets := []int{0, 4, 6}
	at := []int{0, 1, 2, 3, 0, 1}
	ids := make([]int, 6)
	for _, c := range []struct {
		in       lookup.Input
		list, to []int
		seen     bool
	}{
		{lookup.Ragged(ids, offsets), offsets, []int{3, 4, 6}, true},
		{lookup.Ragged(ids, offsets), offsets, []int{5, 2, 6}, true},
		{lookup.Ragged(ids, offsets), offsets, []int{9, 9, 9}, true},
		{lookup.Ragged(ids, offsets), offsets, []int{math.MinInt, 4, 6}, true},
		{lookup.Ragged(ids, offsets), offsets, []int{0, 0, 0}, false},
		{lookup.Ragged(ids, offsets), offsets, []int{0, 9, 2}, false},
		{lookup.RaggedFrom(ids, offsets), offsets, []int{1, 1, 1}, true},
		{lookup.RaggedFrom(ids, offsets), offsets, []int{0, 6, 6}, false},
		{lookup.Sequence(ids).At(at), at, []int{0, 1, 2, 3, 0, -1}, true},
		{lookup.Sequence(ids).At(at), at, []int{6, 1, 2, 3, 0, 1}, true},
	} {
		isatest.Each(t, func(t *testing.T) {
			for number := range 4 {
				computed, dropout := number%2 == 1, lookup.Dropout(float64(number/2)/2, 1) // of nothing, or of half
				layer, positions := fickleLayer(t, dropout)
				positions.fill = func() {}
				if computed {
					positions.table = rowvec.Matrix{}
				}
				before := slices.Clone(c.list)
				positions.asked = func() { copy(c.list, c.to) }
				out, _ := rowvec.NewMatrix(6, 3)
				err := layer.ForwardTrain(out, c.in, 1) // Forward would have a kernel check them once more
				copy(c.list, before)
				if errors.Is(err, rowvec.ErrChanged) != c.seen || !c.seen && err != nil {
					t.Errorf("%v, computed %v, %v: error %v", c.to, computed, layer, err)
				}
			}
		})
	}
}

// TestStream looks at what layers tell the kernels about the size of results.
func TestStream(t *testing.T) {
	do := forward.Do
	defer func() { forward.Do = do }()
	var parts, streamed atomic.Int64
	forward.Do = func(r forward.Rows) int {
		parts.Add(1)
		if r.Stream {
			streamed.Add(1)
		}
		return do(r)
	}
	tokens, err := lookup.NewEmbedding(10, 1024, lookup.Workers(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1100, 4096} {
		parts.Store(0)
		streamed.Store(0)
		out, _ := rowvec.NewMatrix(n, 1024)
		if err := tokens.Forward(out, lookup.Sequence(make([]int, n))); err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		if tuning.Large(n * 1024) {
			want = parts.Load()
		}
		if parts.Load() < 1 || streamed.Load() != want || (n == 4096) != (want > 1) {
			t.Errorf("%d rows: %d of %d parts are streamed", n, streamed.Load(), parts.Load())
		}
	}
}
