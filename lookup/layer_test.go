package lookup_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

const (
	vocab  = 97
	limit  = 600
	padded = 3
	types  = 3 // segments
)

// batch is an input beside the plain facts that a layer has to derive from it.
type batch struct {
	name string
	in   lookup.Input
	ids  []int
	at   []int // the position of each token
	typ  []int // its type
}

func randomIDs[I rowvec.ID](n int) (typed []I, plain []int) {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for range n {
		id := rng.IntN(vocab)
		if rng.IntN(6) == 0 {
			id = padded
		}
		typed, plain = append(typed, I(id)), append(plain, id)
	}
	return typed, plain
}

func count(n, seq, start int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = start + i%seq
	}
	return at
}

// batches covers shapes, ways to give positions, and types of ids.
func batches() []batch {
	var list []batch
	add := func(name string, in lookup.Input, ids, at []int) {
		typ := make([]int, len(ids))
		if len(list)%3 != 0 { // or else all tokens are of type 0
			for i := range typ {
				typ[i] = i * i / 7 % types
			}
			in = in.Types(typ)
		}
		list = append(list, batch{name, in, ids, at, typ})
	}

	i64, p := randomIDs[int64](70)
	add("sequence", lookup.Sequence(i64), p, count(70, 70, 0))
	add("sequence from 9", lookup.Sequence(i64).From(9), p, count(70, 70, 9))
	u32, p := randomIDs[uint32](24)
	add("batch", lookup.Batch(u32, 8), p, count(24, 8, 0))
	add("batch from 5", lookup.Batch(u32, 8).From(5), p, count(24, 8, 5))
	add("batch of single tokens", lookup.Batch(u32, 1).From(40), p, count(24, 1, 40))
	i32, p := randomIDs[int32](540)
	add("long batch", lookup.Batch(i32, 270), p, count(540, 270, 0))

	u64, p := randomIDs[uint64](20)
	offsets := []int{0, 0, 7, 8, 8, 8, 19, 20, 20}
	at := []int{0, 1, 2, 3, 4, 5, 6, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0}
	add("ragged", lookup.Ragged(u64, offsets), p, at)
	later := slices.Clone(at)
	for i := range later {
		later[i] += 100
	}
	add("ragged from 100", lookup.Ragged(u64, offsets).From(100), p, later)

	ints, p := randomIDs[int](700)
	offsets, at = []int{0}, nil
	for length := 0; len(at) < 700; length = (length + 37) % 301 {
		length := min(length, 700-len(at))
		at = append(at, count(length, max(length, 1), 0)...)
		offsets = append(offsets, len(at))
	}
	add("long ragged", lookup.Ragged(ints, offsets), p, at)

	uints, p := randomIDs[uint](30)
	at = nil
	for i := range 30 {
		at = append(at, (i*i*7+3)%limit)
	}
	add("positions", lookup.Batch(uints, 10).From(-1).At(at), p, at)
	add("positions of a ragged batch", lookup.Ragged(uints, []int{0, 30}).At(at), p, at)
	add("nothing", lookup.Sequence[int](nil), nil, nil)
	add("no sequences", lookup.Ragged[int](nil, []int{0, 0}), nil, nil)
	add("no offsets", lookup.Ragged[int](nil, nil), nil, nil)
	return list
}

func newMatrix(t testing.TB, rows, cols int) rowvec.Matrix {
	t.Helper()
	m, err := rowvec.NewMatrix(rows, cols)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func fill(m rowvec.Matrix, seed uint64) rowvec.Matrix {
	rng := rand.New(rand.NewPCG(seed, 2))
	for i := range m.Data[:min(len(m.Data), isatest.Period)] {
		m.Data[i] = rng.Float32()*2 - 1
	}
	isatest.Repeat(m.Data)
	return m
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// layers returns one layer of each kind, with names. All have the options more.
func layers(t testing.TB, dim, workers int, more ...lookup.LayerOption) map[string]*lookup.Layer {
	t.Helper()
	w := lookup.Workers(workers)
	plain := must(lookup.NewEmbedding(vocab, dim, lookup.Xavier(5), w))
	scaled := must(lookup.NewEmbedding(vocab, dim, lookup.Normal(0.02, 5), lookup.Scaled(), lookup.Padding(padded), w))
	learned := must(positional.NewLearned(limit, dim, 6))
	sinusoidal, computed := must(positional.NewSinusoidal(limit, dim)), must(positional.NewSinusoidal(20, dim))
	segments := lookup.Segments(must(lookup.NewEmbedding(types, dim, lookup.Xavier(7))))
	some := lookup.Segments(must(lookup.NewEmbedding(types, dim, lookup.Xavier(7), lookup.Padding(1))))
	first := lookup.Segments(must(lookup.NewEmbedding(types, dim, lookup.Xavier(7), lookup.Padding(0))))
	fixed := lookup.Segments(must(lookup.NewEmbedding(types, dim, lookup.Xavier(7), lookup.Frozen())))
	norm := lookup.LayerNorm(1e-5)
	layer := func(e *lookup.Embedding, p lookup.Positions, options ...lookup.LayerOption) *lookup.Layer {
		l := must(lookup.NewLayer(e, p, append(options, more...)...))
		for i, p := range l.Parameters() {
			if p.Value.Rows == 1 { // of a norm
				fill(p.Value, uint64(i))
			}
		}
		return l
	}
	return map[string]*lookup.Layer{
		"none":               layer(plain, nil),
		"scaled":             layer(scaled, nil),
		"learned":            layer(scaled, learned),
		"sinusoidal":         layer(plain, sinusoidal),
		"computed":           layer(scaled, computed),
		"segments":           layer(plain, nil, segments),
		"segments, learned":  layer(scaled, learned, some),
		"segments, computed": layer(scaled, computed, fixed),
		"norm":               layer(scaled, nil, norm),
		"norm, learned":      layer(plain, learned, norm),
		"norm, computed":     layer(scaled, computed, norm),
		"norm, segments":     layer(scaled, nil, norm, fixed),
		"all":                layer(scaled, learned, segments, norm),
		"all, sinusoidal":    layer(plain, sinusoidal, first, norm),
	}
}

// positionRow returns the vector of a position, or zeros if there are none.
func positionRow(t testing.TB, l *lookup.Layer, p int) []float32 {
	t.Helper()
	row := newMatrix(t, 1, l.Dim())
	if l.Positions() != nil {
		if err := l.Positions().Fill(row, p); err != nil {
			t.Fatal(err)
		}
	}
	return row.Data
}

// plainSum is the definition of what may be normalised: token by token, element by element.
func plainSum(t testing.TB, l *lookup.Layer, b batch) rowvec.Matrix {
	t.Helper()
	out := newMatrix(t, len(b.ids), l.Dim())
	scale := l.Tokens().Scale()
	for i, id := range b.ids {
		position, segment, row := positionRow(t, l, b.at[i]), make([]float32, l.Dim()), out.Row(i)
		if l.Segments() != nil {
			segment = l.Segments().Weight().Row(b.typ[i])
		}
		for j, x := range l.Tokens().Weight().Row(id) {
			row[j] = (float32(scale*x) + segment[j]) + position[j]
		}
	}
	return out
}

// norms returns what the layer has of a norm, if it has one.
func norms(l *lookup.Layer) (weight, bias []float32) {
	for _, p := range l.Parameters() {
		switch p.Name {
		case "norm.weight":
			weight = p.Value.Data
		case "norm.bias":
			bias = p.Value.Data
		}
	}
	return weight, bias
}

// plainForward is the definition of the result.
func plainForward(t testing.TB, l *lookup.Layer, b batch) rowvec.Matrix {
	t.Helper()
	out := plainSum(t, l, b)
	if weight, bias := norms(l); weight != nil {
		kernels.LayerNorm(out, out, weight, bias, 1e-5)
	}
	return out
}

// plainBackward is the definition of the gradients, in the order of the tokens.
func plainBackward(t testing.TB, l *lookup.Layer, b batch, dOut rowvec.Matrix, grads []rowvec.Matrix) {
	t.Helper()
	if weight, _ := norms(l); weight != nil {
		dOut = plainNormBackward(t, plainSum(t, l, b), dOut, weight, grads[len(grads)-2].Data, grads[len(grads)-1].Data)
	}
	scale := l.Tokens().Scale()
	padding, hasPadding := l.Tokens().PaddingID()
	for k, p := range l.Parameters() {
		for i, id := range b.ids {
			var grad []float32
			alpha := float32(1)
			switch {
			case p.Name == "token.weight" && (!hasPadding || id != padding):
				grad, alpha = grads[k].Row(id), scale
			case p.Name == "position.weight":
				grad = grads[k].Row(b.at[i])
			case p.Name == "segment.weight" && learns(l.Segments(), b.typ[i]):
				grad = grads[k].Row(b.typ[i])
			}
			for j := range grad {
				grad[j] += float32(alpha * dOut.Row(i)[j])
			}
		}
	}
}

// plainNormBackward is the definition of the gradient of a norm, which it returns, and of those of weight and bias, which
// grow by the sums over 64 rows each.
func plainNormBackward(t testing.TB, sum, dOut rowvec.Matrix, weight, dWeight, dBias []float32) rowvec.Matrix {
	t.Helper()
	dSum := newMatrix(t, sum.Rows, sum.Cols)
	for lo := 0; lo < sum.Rows; lo += 64 {
		n := min(64, sum.Rows-lo)
		part := func(m rowvec.Matrix) rowvec.Matrix { return check.Window(m, lo, n, 0, m.Cols) }
		some, more := make([]float32, sum.Cols), make([]float32, sum.Cols)
		kernels.LayerNormBackward(part(dSum), part(dOut), part(sum), weight, 1e-5, some, more)
		kernels.Add(dWeight, some)
		kernels.Add(dBias, more)
	}
	return dSum
}

// learns reports whether a row of an embedding gets gradients.
func learns(e *lookup.Embedding, id int) bool {
	padding, has := e.PaddingID()
	return !e.Frozen() && (!has || id != padding)
}

// clearPlainly zeroes the rows of the tokens and of their types that get gradients, and of the positions, and the norm.
func clearPlainly(l *lookup.Layer, b batch, grads []rowvec.Matrix) {
	for i, id := range b.ids {
		for k, p := range l.Parameters() {
			switch {
			case p.Name == "token.weight":
				if learns(l.Tokens(), id) {
					clear(grads[k].Row(id))
				}
			case p.Name == "position.weight":
				clear(grads[k].Row(b.at[i]))
			case p.Name == "segment.weight":
				if learns(l.Segments(), b.typ[i]) {
					clear(grads[k].Row(b.typ[i]))
				}
			case p.Value.Rows == 1:
				clear(grads[k].Data)
			}
		}
	}
}

func compare(t *testing.T, what string, got, want rowvec.Matrix) {
	t.Helper()
	for i := range want.Data {
		if a, b := got.Data[i], want.Data[i]; math.Float32bits(a) != math.Float32bits(b) {
			t.Fatalf("%s: row %d, column %d is %v, want %v", what, i/want.Cols, i%want.Cols, a, b)
		}
	}
}

func TestForwardBackward(t *testing.T) {
	defer tuning.Lower()()
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{1, 6, 33, 300} {
			if dim == 300 && isatest.Few() {
				continue
			}
			for kind, layer := range layers(t, dim, 2) {
				for _, b := range batches() {
					what := fmt.Sprintf("%s, dim %d, %s", kind, dim, b.name)
					dst := fill(newMatrix(t, b.in.Len(), dim), 8)
					if err := layer.Forward(dst, b.in); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					compare(t, "forward "+what, dst, plainForward(t, layer, b))

					dOut := fill(newMatrix(t, b.in.Len(), dim), 9)
					got, want := layer.NewGradients(), layer.NewGradients()
					for i := range got { // gradients are added to
						fill(got[i], uint64(i))
						fill(want[i], uint64(i))
					}
					if err := layer.Backward(got, b.in, dOut); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					plainBackward(t, layer, b, dOut, want)
					for i := range want {
						compare(t, fmt.Sprintf("gradient %d %s", i, what), got[i], want[i])
					}
					clearPlainly(layer, b, want)
					if err := layer.ClearGradients(got, b.in); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					for i := range want {
						compare(t, fmt.Sprintf("cleared gradient %d %s", i, what), got[i], want[i])
					}
				}
			}
		}
	})
}

// TestEmbedding holds Embedding to Layer without positions; positions of the input must not matter.
func TestEmbedding(t *testing.T) {
	layer := layers(t, 12, 2)["scaled"]
	e := layer.Tokens()
	for _, b := range batches() {
		got, want := newMatrix(t, b.in.Len(), 12), newMatrix(t, b.in.Len(), 12)
		if err := e.Forward(got, b.in.From(1<<30)); err != nil {
			t.Fatal(err)
		}
		if err := layer.Forward(want, b.in); err != nil {
			t.Fatal(err)
		}
		compare(t, b.name, got, want)
		grad, wantGrad := layer.NewGradients()[0], layer.NewGradients()[0]
		if err := e.Backward(grad, b.in, fill(got, 3)); err != nil {
			t.Fatal(err)
		}
		plainBackward(t, layer, b, got, []rowvec.Matrix{wantGrad})
		compare(t, b.name, grad, wantGrad)
	}
}

// TestWorkers has enough tokens for many parts, of which the bits must not tell.
func TestWorkers(t *testing.T) {
	defer tuning.Lower()()
	const dim, n = 144, 2003
	ids, _ := randomIDs[int32](n)
	var offsets []int
	for i := 0; i < n; i += 1 + i%limit {
		offsets = append(offsets, i)
	}
	offsets = append(offsets, n)
	alone := layers(t, dim, 1)
	var teams []map[string]*lookup.Layer
	for _, workers := range []int{2, 3, 100} {
		teams = append(teams, layers(t, dim, workers))
	}
	inputs := map[string]lookup.Input{
		"ragged":    lookup.Ragged(ids, offsets),
		"batch":     lookup.Batch(ids[:2000], 500).Types(count(2000, types, 0)),
		"positions": lookup.Sequence(ids).At(count(n, 599, 0)),
	}
	if isatest.Few() {
		teams = teams[1:2]
	}
	if isatest.Slow {
		delete(inputs, "ragged")
	}
	for name, in := range inputs {
		for kind, single := range alone {
			want := newMatrix(t, in.Len(), dim)
			if err := single.Forward(want, in); err != nil {
				t.Fatal(err)
			}
			wantGrads := single.NewGradients()
			if err := single.Backward(wantGrads, in, want); err != nil {
				t.Fatal(err)
			}
			for _, together := range teams {
				layer := together[kind]
				got := newMatrix(t, in.Len(), dim)
				if err := layer.Forward(got, in); err != nil {
					t.Fatal(err)
				}
				compare(t, name, got, want)
				for _, columns := range []int{0, dim} { // gradients of tokens shared by rows, and by columns
					tuning.ShareColumns = columns
					grads := layer.NewGradients()
					if err := layer.Backward(grads, in, want); err != nil {
						t.Fatal(err)
					}
					for i := range grads {
						compare(t, name, grads[i], wantGrads[i])
					}
				}
			}
		}
	}
}

// TestFarPositions asks sinusoidal positions for what no table can hold.
func TestFarPositions(t *testing.T) {
	all := layers(t, 10, 1)
	ids, plain := randomIDs[int](12)
	far := 1 << 30
	b := batch{"far", lookup.Batch(ids, 4).From(far), plain, count(12, 4, far), make([]int, 12)}
	for _, kind := range []string{"computed", "segments, computed"} {
		dst := newMatrix(t, 12, 10)
		if err := all[kind].Forward(dst, b.in); err != nil {
			t.Fatal(err)
		}
		compare(t, b.name, dst, plainForward(t, all[kind], b))
	}
}

func TestNoAllocation(t *testing.T) {
	defer tuning.Lower()()
	const dim, n = 256, 600 // several parts
	ids, _ := randomIDs[uint32](n)
	dst := newMatrix(t, n, dim)
	for _, workers := range []int{1, 3} {
		for kind, layer := range layers(t, dim, workers) {
			grads := layer.NewGradients()
			for name, in := range map[string]lookup.Input{
				"batch":     lookup.Batch(ids, 150),
				"ragged":    lookup.Ragged(ids, []int{0, 150, 300, 450, 600}).Types(count(n, types, 0)),
				"positions": lookup.Batch(ids, 150).At(count(n, 150, 0)),
				"short":     lookup.Sequence(ids[:1]),
			} {
				dst := dst
				dst.Rows = in.Len()
				isatest.NoAllocation(t, fmt.Sprintf("%d workers, %s, %s", workers, kind, name), func() {
					if err := layer.Forward(dst, in); err != nil {
						t.Fatal(err)
					}
					if err := layer.Backward(grads, in, dst); err != nil {
						t.Fatal(err)
					}
					if err := layer.ClearGradients(grads, in); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
}

// TestConcurrentForward has goroutines share one layer, with work enough for each call to split.
func TestConcurrentForward(t *testing.T) {
	defer tuning.Lower()()
	const dim, n = 256, 1200
	ids, plain := randomIDs[uint32](n)
	typ := count(n, types, 0)
	for kind, layer := range layers(t, dim, 2) {
		b := batch{kind, lookup.Batch(ids, 400).Types(typ), plain, count(n, 400, 0), typ}
		want := plainForward(t, layer, b)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				dst := newMatrix(t, n, dim)
				for range 3 {
					clear(dst.Data)
					if err := layer.Forward(dst, b.in); err != nil {
						t.Error(err)
						return
					}
					if !slices.Equal(dst.Data, want.Data) {
						t.Error(kind, ": another result")
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestReadersWhileAnotherTableTrains has goroutines read one table of a model, and another one train its other table, both
// with workers of their own. What they read and what has been trained is to be what it is if they do not meet.
func TestReadersWhileAnotherTableTrains(t *testing.T) {
	defer tuning.Lower()()
	const dim, n = 64, 600
	ids, _ := randomIDs[int32](n)
	in := lookup.Batch(ids, 200)
	read := must(lookup.NewEmbedding(vocab, dim, lookup.Normal(1, 1), lookup.Workers(2)))
	want := newMatrix(t, n, dim)
	if err := read.Forward(want, in); err != nil {
		t.Fatal(err)
	}
	train := func() []float32 {
		tokens := must(lookup.NewEmbedding(vocab, dim, lookup.Normal(1, 2), lookup.Workers(2)))
		optimizer := must(tokens.NewOptimizer(lookup.Adagrad{Rate: 0.1}))
		for range 10 {
			if err := optimizer.StepBatch(tokens, in, want); err != nil { // a gradient as good as any
				t.Error(err)
			}
		}
		return tokens.Parameters()[0].Value.Data
	}
	alone := train()
	var trained []float32
	var wg sync.WaitGroup
	wg.Go(func() { trained = train() })
	for range 3 {
		wg.Go(func() {
			dst := newMatrix(t, n, dim)
			for range 10 {
				clear(dst.Data)
				if err := read.Forward(dst, in); err != nil {
					t.Error(err)
				}
				if !slices.Equal(dst.Data, want.Data) {
					t.Error("another result while another table trains")
				}
			}
		})
	}
	wg.Wait()
	if !slices.Equal(trained, alone) {
		t.Error("another table is trained otherwise while one is read")
	}
}

func TestStringsAndParameters(t *testing.T) {
	if got := layers(t, 9, 1)["scaled"].Tokens().Scale(); got != 3 {
		t.Errorf("scale is %v at dim 9, want 3", got)
	}
	e := must(lookup.NewEmbedding(50, 8, lookup.Scaled(), lookup.Padding(0)))
	plain := must(lookup.NewEmbedding(50, 8))
	learned := must(positional.NewLearned(16, 8, 1))
	sinusoidal := must(positional.NewSinusoidal(16, 8))
	for _, c := range []struct {
		got, want string
	}{
		{e.String(), "Embedding(vocab=50, dim=8, padding=0, scaled)"},
		{plain.String(), "Embedding(vocab=50, dim=8)"},
		{must(lookup.NewLayer(e, learned)).String(), "Layer(vocab=50, dim=8, max=16, positions=learned, padding=0, scaled)"},
		{must(lookup.NewLayer(plain, sinusoidal)).String(), "Layer(vocab=50, dim=8, positions=sinusoidal)"},
		{must(lookup.NewLayer(plain, nil)).String(), "Layer(vocab=50, dim=8, positions=none)"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	for layer, want := range map[*lookup.Layer]string{
		must(lookup.NewLayer(e, learned)):    "token.weight 50x8, position.weight 16x8, ",
		must(lookup.NewLayer(e, sinusoidal)): "token.weight 50x8, ",
		must(lookup.NewLayer(e, nil)):        "token.weight 50x8, ",
	} {
		got := ""
		for _, p := range layer.Parameters() {
			got += fmt.Sprintf("%s %dx%d, ", p.Name, p.Value.Rows, p.Value.Cols)
		}
		if got != want {
			t.Errorf("parameters %q, want %q", got, want)
		}
	}
}

// careless are positions that write to all that they can of what they are to fill.
type careless struct{ *positional.Sinusoidal }

func (c careless) Fill(dst rowvec.Matrix, start int) error {
	clear(dst.Data)
	return c.Sinusoidal.Fill(dst, start)
}

// TestComputedInPlace holds a sequence whose positions are computed where its rows are to be, and added to there, to one with
// a table of positions: for all that rows can leave behind whole vectors.
func TestComputedInPlace(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		step := 1
		if isatest.Few() {
			step = 7
		}
		for dim := 1; dim <= 140; dim += step {
			for _, n := range []int{1, 2, 5, 40} {
				e := must(lookup.NewEmbedding(50, dim))
				computed := must(lookup.NewLayer(e, careless{must(positional.NewSinusoidal(0, dim))}))
				stored := must(lookup.NewLayer(e, must(positional.NewSinusoidal(n, dim))))
				ids := make([]int32, n)
				for i := range ids {
					ids[i] = int32((i*i*7 + dim) % 50)
				}
				room, want := newMatrix(t, n+1, dim), newMatrix(t, n, dim)
				got, behind := room, room.Row(n)
				got.Rows, behind[dim-1] = n, 9
				if err := errors.Join(computed.Forward(got, lookup.Sequence(ids)), stored.Forward(want, lookup.Sequence(ids))); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got.Data[:n*dim], want.Data) || behind[dim-1] != 9 {
					t.Fatalf("dim %d: the sums of %d rows differ", dim, n)
				}
			}
		}
	})
}
