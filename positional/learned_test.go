package positional

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/derivatives"
	"github.com/rowvec/rowvec/internal/isatest"
)

func learned(t testing.TB, max, dim int, seed uint64) *Learned {
	t.Helper()
	l, err := NewLearned(max, dim, seed)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestNewLearned(t *testing.T) {
	const dim = 128
	l := learned(t, 512, dim, 1)
	if l.String() != "Learned(max=512, dim=128)" || l.Kind() != "learned" || l.Dim() != dim || l.Limit() != 512 {
		t.Errorf("%v: %q, dim %d, limit %d", l, l.Kind(), l.Dim(), l.Limit())
	}
	data := l.Table().Data
	limit := float32(math.Sqrt(2. / dim))
	if low, high := slices.Min(data), slices.Max(data); low <= -limit || high >= limit || low > -0.99*limit || high < 0.99*limit {
		t.Errorf("elements are in [%g, %g], want them to fill (%g, %g)", low, high, -limit, limit)
	}
	sum, squares := 0.0, 0.0
	for _, x := range data {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	n := float64(len(data))
	if mean, variance := sum/n, squares/n; math.Abs(mean) > 5*0.125/math.Sqrt(3*n) || math.Abs(variance*3*dim/2-1) > 0.02 {
		t.Errorf("mean %g, variance %g", mean, variance)
	}
	if !slices.Equal(data, learned(t, 512, dim, 1).Table().Data) {
		t.Error("the same seed gives different tables")
	}
	if slices.Equal(data, learned(t, 512, dim, 2).Table().Data) {
		t.Error("different seeds give the same table")
	}
	if !slices.Equal(data[:10*dim], learned(t, 10, dim, 1).Table().Data) {
		t.Error("a row depends on the number of rows")
	}
}

func TestLearnedFrom(t *testing.T) {
	m := matrix(rand.New(rand.NewPCG(1, 1)), 4, 3, 2)
	l, err := LearnedFrom(m)
	if err != nil {
		t.Fatal(err)
	}
	if table := l.Table(); &table.Data[0] != &m.Data[0] || table.Stride != 5 || l.Limit() != 4 || l.Dim() != 3 {
		t.Errorf("%v does not hold the matrix that it was given", l)
	}
}

// TestLearnedAgainstLoops compares Fill, AddTo and Backward with loops over elements.
func TestLearnedAgainstLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, dim := range []int{1, 5, 64, 100} {
		for range 30 {
			limit := 1 + r.IntN(40)
			l, err := LearnedFrom(matrix(r, limit, dim, r.IntN(2)*3))
			if err != nil {
				t.Fatal(err)
			}
			table := clone(l.Table())
			seq := 1 + r.IntN(limit)
			start, batch := r.IntN(limit-seq+1), 1+r.IntN(4)

			x := matrix(r, batch*seq, dim, r.IntN(2)*2)
			want := clone(x)
			for i := range want.Rows {
				for j, p := range table.Row(start + i%seq) {
					want.Row(i)[j] += p
				}
			}
			if err := l.AddTo(x, seq, start); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(x.Data, want.Data) {
				t.Fatalf("%v: AddTo of %d x %d from %d differs", l, batch, seq, start)
			}

			grad := matrix(r, limit, dim, r.IntN(2))
			want = clone(grad)
			for i := range x.Rows {
				for j, g := range x.Row(i) {
					want.Row(start + i%seq)[j] += g
				}
			}
			dOut := clone(x)
			if err := l.Backward(grad, dOut, seq, start); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(grad.Data, want.Data) {
				t.Fatalf("%v: Backward of %d x %d from %d differs", l, batch, seq, start)
			}
			if !slices.Equal(dOut.Data, x.Data) || !slices.Equal(l.Table().Data, table.Data) {
				t.Fatalf("%v: Backward changed an input", l)
			}

			dst := matrix(r, seq, dim, r.IntN(2)*2)
			want = clone(dst)
			for i := range seq {
				copy(want.Row(i), table.Row(start+i))
			}
			if err := l.Fill(dst, start); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(dst.Data, want.Data) {
				t.Fatalf("%v: Fill of %d from %d differs", l, seq, start)
			}
		}
	}
}

// TestLearnedGradient holds Backward to differences, of which no term is rounded until it is added.
func TestLearnedGradient(t *testing.T) {
	const limit, dim, seq, start, batch = 7, 5, 3, 2, 4
	r := rand.New(rand.NewPCG(3, 3))
	l := learned(t, limit, dim, 4)
	out, dOut, grad := matrix(r, batch*seq, dim, 0), matrix(r, batch*seq, dim, 0), zeros(limit, dim)
	x, table := derivatives.Wide(out.Data), derivatives.Wide(l.Table().Data)
	forward := func() []float64 {
		y := slices.Clone(x)
		for i := range y {
			y[i] += table[(start+i/dim%seq)*dim+i%dim]
		}
		return y
	}
	if err := errors.Join(l.AddTo(out, seq, start), l.Backward(grad, dOut, seq, start)); err != nil {
		t.Fatal(err)
	}
	derivatives.Same(t, l.String(), out.Data, forward())
	derivatives.Of(forward, table, dim, 0.5, dOut.Data, 0, false).Hold(t, l.String(), grad.Data)
}

func TestLearnedNoAllocation(t *testing.T) {
	l := learned(t, 64, 33, 1)
	grad, x := learned(t, 64, 33, 2).Table(), learned(t, 96, 33, 3).Table()
	part, err := LearnedFrom(x)
	if err != nil {
		t.Fatal(err)
	}
	rows := check.Window(part.Table(), 0, 48, 0, 33)
	isatest.NoAllocation(t, l.String(), func() {
		if l.AddTo(x, 48, 7) != nil || l.Backward(grad, x, 48, 7) != nil || l.Fill(rows, 3) != nil {
			t.Fatal("unexpected error")
		}
	})
}
