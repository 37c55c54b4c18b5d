package positional

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/reference"
)

func alibi(t testing.TB, heads int) *ALiBi {
	t.Helper()
	a, err := NewALiBi(heads)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// scoreShape is the shape of a random case of biases, and where it stands.
type scoreShape struct{ batch, heads, queries, keys, queryStart, keyStart, gap int }

// scoreShapes has some that are worked through in one part and some that take several.
func scoreShapes(r *rand.Rand) []scoreShape {
	shapes := []scoreShape{
		{1, 1, 1, 1, 0, 0, 0},
		{2, 3, 64, 64, 0, 0, 0},
		{1, 2, 65, 7, 3, 0, 1},
		{2, 2, 1, 4100, 4099, 0, 0},
		{1, 2, 130, 4200, 40, 9, 3},
		{1, 1, 3, 8193, 0, 5000, 0},
		{1, 2, 200, 4096, 1 << 20, 1<<20 - 500, 2},
		{3, 1, 63, 4097, math.MaxInt - 63, math.MaxInt - 4097, 0},
		{1, 2, 5, 6, math.MaxInt - 5, 0, 0},
		{1, 2, 5, 6, 0, math.MaxInt - 6, 0},
	}
	if isatest.Few() {
		shapes = slices.Delete(shapes, 4, 7)
	}
	for range 20 {
		shapes = append(shapes, scoreShape{1 + r.IntN(3), 1 + r.IntN(5), 1 + r.IntN(90), r.IntN(300), r.IntN(300), r.IntN(300),
			r.IntN(4)})
	}
	return shapes
}

func (s scoreShape) rows() int { return s.batch * s.heads * s.queries }

// place returns the head of a row and the position of its query.
func (s scoreShape) place(row int) (head, query int) {
	return row / s.queries % s.heads, s.queryStart + row%s.queries
}

// TestALiBiAddTo holds all elements, those between rows too, to the definition, at every level.
func TestALiBiAddTo(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for _, s := range scoreShapes(r) {
			a := alibi(t, s.heads)
			scores := matrix(r, s.rows(), s.keys, s.gap)
			want := clone(scores)
			for i := range want.Rows {
				head, query := s.place(i)
				for j := range want.Row(i) {
					distance := float32(max(query-(s.keyStart+j), s.keyStart+j-query))
					want.Row(i)[j] -= float32(a.slopes[head] * distance)
				}
			}
			if err := a.AddTo(scores, s.queries, s.queryStart, s.keyStart); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(scores.Data, want.Data) {
				t.Errorf("%+v differs", s)
			}
		}
	})
}

// TestALiBiReference holds slopes and biased scores to those of PyTorch, bit for bit.
func TestALiBiReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.ALiBiCases(t) {
			a := alibi(t, c.Heads)
			got := rowvec.Matrix{Rows: 1, Cols: c.Heads, Stride: c.Heads, Data: a.Slopes()}
			reference.Identical(t, a.String(), got, c.Slopes)
			scores := reference.Copy(c.Scores, 3)
			if err := a.AddTo(scores, c.Queries, c.QueryStart, c.KeyStart); err != nil {
				t.Fatal(err)
			}
			reference.Equal(t, a.String(), scores, c.Biased)
		}
	})
}

// TestSlopes holds slopes to hand-computed ones.
func TestSlopes(t *testing.T) {
	half := func(x float64) float32 { return float32(math.Sqrt(x)) }
	for heads, want := range map[int][]float32{
		1: {1. / 256},
		2: {1. / 16, 1. / 256},
		3: {1. / 16, 1. / 256, 1. / 4},
		4: {1. / 4, 1. / 16, 1. / 64, 1. / 256},
		6: {1. / 4, 1. / 16, 1. / 64, 1. / 256, 1. / 2, 1. / 8},
		8: {1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32, 1. / 64, 1. / 128, 1. / 256},
		12: {1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32, 1. / 64, 1. / 128, 1. / 256,
			half(1. / 2), half(1. / 8), half(1. / 32), half(1. / 128)},
		16: {half(1. / 2), 1. / 2, half(1. / 8), 1. / 4, half(1. / 32), 1. / 8, half(1. / 128), 1. / 16,
			half(1. / 512), 1. / 32, half(1. / 2048), 1. / 64, half(1. / 8192), 1. / 128, half(1. / 32768), 1. / 256},
	} {
		a := alibi(t, heads)
		if got := a.Slopes(); !slices.Equal(got, want) {
			t.Errorf("%d heads: slopes are %v, want %v", heads, got, want)
		}
		a.Slopes()[0] = 7
		if a.slopes[0] != want[0] {
			t.Error("Slopes can be changed from outside")
		}
	}
	for heads := range 300 {
		for h, x := range alibi(t, heads+1).slopes {
			n := 1 << int(math.Log2(float64(heads+1)))
			want := math.Exp2(-8 * float64(h+1) / float64(n))
			if h >= n {
				want = math.Exp2(-8 * (float64(h-n) + 0.5) / float64(n))
			}
			if x != float32(want) {
				t.Errorf("%d heads: slope %d is %v, want %v", heads+1, h, x, float32(want))
			}
		}
	}
}

// TestALiBiSoftmax: adding slope times the position of the key instead, as Bloom does, is the same for a softmax.
func TestALiBiSoftmax(t *testing.T) {
	const heads, queries, keys = 4, 8, 8
	scores := rowvec.Matrix{Rows: heads * queries, Cols: keys, Stride: keys, Data: make([]float32, heads*queries*keys)}
	a := alibi(t, heads)
	if err := a.AddTo(scores, queries, 0, 0); err != nil {
		t.Fatal(err)
	}
	for i := range scores.Rows {
		row, slope := scores.Row(i), a.slopes[i/queries]
		for j := range i%queries + 1 { // those that a causal mask leaves
			if got, want := row[j]-row[0], slope*float32(j); got != want {
				t.Errorf("row %d, key %d: %v above key 0, want %v", i, j, got, want)
			}
		}
	}
}

func TestALiBiProperties(t *testing.T) {
	a := alibi(t, 12)
	if a.Heads() != 12 || a.String() != "ALiBi(heads=12)" {
		t.Errorf("%v has %d heads", a, a.Heads())
	}
}

func BenchmarkALiBiAddTo(b *testing.B) { benchmarkScores(b, alibi(b, 12).AddTo) }

// benchmarkScores measures what adds biases to the scores of 12 heads.
func benchmarkScores(b *testing.B, addTo func(scores rowvec.Matrix, queries, queryStart, keyStart int) error) {
	for name, s := range map[string]scoreShape{
		"queries=512/keys=512":   {1, 12, 512, 512, 0, 0, 0},
		"queries=2048/keys=2048": {1, 12, 2048, 2048, 0, 0, 0},
		"queries=256/keys=16384": {1, 12, 256, 16384, 0, 0, 0},
		"queries=1/keys=8192":    {1, 12, 1, 8192, 8191, 0, 0},
		"queries=1/keys=128":     {1, 12, 1, 128, 127, 0, 0},
	} {
		b.Run(name, func(b *testing.B) {
			scores := matrix(rand.New(rand.NewPCG(0, 0)), s.rows(), s.keys, 0)
			b.SetBytes(8 * int64(len(scores.Data)))
			for b.Loop() {
				if err := addTo(scores, s.queries, s.queryStart, s.keyStart); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(scores.Data)), "ns/element")
		})
	}
}

// BenchmarkScale is what it takes to go through scores once.
func BenchmarkScale(b *testing.B) {
	benchmarkScores(b, func(scores rowvec.Matrix, queries, queryStart, keyStart int) error {
		rowvec.Scale(scores.Data, 1)
		return nil
	})
}
