package main

import (
	"math"
	"strings"
	"testing"

	"github.com/rowvec/rowvec/internal/reference"
)

// near reports whether x and y differ by no more than what float32 has lost of positions.
func near(x, y float64) bool { return math.Abs(x-y) <= 2e-7 }

// TestPositionFacts compares with NumPy.
func TestPositionFacts(t *testing.T) {
	for _, c := range reference.PositionFactsCases(t) {
		s, _, err := bothPositions(c.N+c.K, c.Dim)
		if err != nil {
			t.Fatal(err)
		}
		for j, x := range variances(firstRows(s, c.N)) {
			if !near(x, c.Variances[j]) {
				t.Errorf("dim %d: variance %v of column %d, want %v", c.Dim, x, j, c.Variances[j])
			}
		}
		differences, err := positionDifferences(c.Dim, c.Shifts)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range differences[:len(c.Shifts)] {
			if x.Positions != "sinusoidal" || x.Dim != c.Dim || x.Shift != c.Shifts[i] || !near(x.Correlation, c.Correlations[i]) {
				t.Errorf("%+v, want correlation %v", x, c.Correlations[i])
			}
		}
		similar, err := positionSimilarities(c.N, c.Dim, c.Distances)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range similar[0].Cosines {
			if x.Distance != c.Distances[i] || !near(x.Cosine.Mean, c.Cosines[i]) {
				t.Errorf("dim %d: %+v, want %v", c.Dim, x, c.Cosines[i])
			}
		}
		for i, m := range fitMaps(s, c.N, c.K) {
			for j, x := range []float64{m.a, m.b, m.c, m.d} {
				// Waves that are much longer than what is fitted to leave the map to what rounding has left of them.
				if want := c.Maps[4*i+j]; math.Abs(x-want) > 2e-5 {
					t.Errorf("dim %d: map %d is %+v, want %v", c.Dim, i, m, c.Maps[4*i:4*i+4])
					break
				}
			}
		}
	}
}

func TestPositionMemories(t *testing.T) {
	all, err := positionMemories([][2]int{{2048, 512}, {100, 3}})
	if err != nil || len(all) != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, want := range []positionMemory{
		{"learned", 2048, 512, 1 << 20, 4}, {"sinusoidal", 2048, 512, 0, 0},
		{"learned", 100, 3, 300, 1200. / (1 << 20)}, {"sinusoidal", 100, 3, 0, 0},
	} {
		if all[i] != want {
			t.Errorf("%+v, want %+v", all[i], want)
		}
	}
	if _, err := positionMemories([][2]int{{0, 1}, {1, 0}}); err == nil {
		t.Error("no error for no columns")
	}
}

func TestPositionVariances(t *testing.T) {
	v, err := positionVariances(512, 64)
	if err != nil {
		t.Fatal(err)
	}
	var columns []int
	for _, c := range v.Columns {
		columns = append(columns, c.Column)
		if want := 2 * math.Pi * math.Pow(10000, float64(c.Column/2*2)/64); math.Abs(c.Wavelength/want-1) > 1e-12 {
			t.Errorf("%+v, want wavelength %v", c, want)
		}
		if c.Wavelength < 100 && math.Abs(c.Sinusoidal-0.5) > 0.02 || math.Abs(c.Learned*64*1.5-1) > 0.2 {
			t.Errorf("%+v", c)
		}
	}
	if want := []int{0, 1, 2, 4, 8, 16, 32, 63}; len(columns) != len(want) || columns[4] != 8 || columns[7] != 63 {
		t.Errorf("columns %v, want %v", columns, want)
	}
	l := v.Learned
	if !(l.Least < l.Mean && l.Mean < l.Most && math.Abs(l.Mean*64*1.5-1) < 0.02 && v.Sinusoidal.Least < 1e-3 &&
		v.Sinusoidal.Most > 0.5) {
		t.Errorf("%+v", v)
	}
}

func TestBeyondTraining(t *testing.T) {
	b, err := beyondTraining(32, 16, []int64{0, 31, 32, 1 << 20, math.MaxInt64 - 1})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(b.LearnedError, "start is 32, want at most 31") || !b.EndsKept || b.Resized != 64 || len(b.Rows) != 6 {
		t.Fatalf("%+v", b)
	}
	step := 0.0 // by the chords of the angles between a position and the next
	for j := 0; j < 16; j += 2 {
		step = math.Hypot(step, 2*math.Sin(math.Pow(10000, -float64(j)/16)/2))
	}
	for i, x := range b.Rows[:4] {
		if x.Positions != "sinusoidal" || math.Abs(x.Length-math.Sqrt(8)) > 1e-6 || math.Abs(x.Step-step) > 1e-6 {
			t.Errorf("row %d: %+v, want step %v", i, x, step)
		}
	}
	learned, resized := b.Rows[4], b.Rows[5]
	if learned.Positions != "learned" || resized.Positions != "resized" || resized.Length >= learned.Length ||
		resized.Step >= learned.Step/2*1.1 || learned.Position != -1 || math.Abs(learned.Length-math.Sqrt(2./3)) > 0.1 {
		t.Errorf("%+v, %+v", learned, resized)
	}
}

// TestRotations: one rotation takes each position, and each difference, to that k further on.
func TestRotations(t *testing.T) {
	for _, dim := range []int{2, 64, 130} {
		all, err := positionRotations(dim, 100, []int{1, 15, 1000})
		if err != nil || len(all) != 3 {
			t.Fatalf("%+v, %v", all, err)
		}
		for _, x := range all {
			if !(x.Closed < 5e-8 && x.Fitted < 1e-6 && x.Stretch < 1e-5 && x.Learned > 0.9 && x.Dim == dim) {
				t.Errorf("%+v", x)
			}
		}
		differences, err := positionDifferences(dim, []int{1, 15})
		if err != nil || len(differences) != 4 {
			t.Fatalf("%+v, %v", differences, err)
		}
		for i, x := range differences {
			if i < 2 && !(x.Turned > 0.999999 && x.Off < 1e-6) || i >= 2 && !(x.Off > 0.5 && x.Positions == "learned") {
				t.Errorf("%+v", x)
			}
		}
	}
	if s := stretch([]pairMap{{0.6, 0.8, -0.8, 0.6}}); s > 1e-15 {
		t.Errorf("a rotation stretches by %v", s)
	}
	for want, m := range map[float64]pairMap{3: {2, 0, 0, 1}, 0.5: {1, 0.5, 0, math.Sqrt(0.75)}, 1: {0, 0, 0, 1}} {
		if s := stretch([]pairMap{{1, 0, 0, 1}, m}); math.Abs(s-want) > 1e-15 {
			t.Errorf("%+v stretches by %v, want %v", m, s, want)
		}
	}
}

func TestSimilarities(t *testing.T) {
	all, err := positionSimilarities(64, 32, []int{0, 1, 20})
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, c := range all[0].Cosines {
		want := 0.0
		for j := 0; j < 32; j += 2 {
			want += math.Cos(float64([]int{0, 1, 20}[i])*math.Pow(10000, -float64(j)/32)) / 16
		}
		if !near(c.Cosine.Mean, want) || !near(c.Cosine.Least, want) || !near(c.Cosine.Most, want) {
			t.Errorf("%+v, want %v", c, want)
		}
	}
	if c := all[1].Cosines[1].Cosine; all[1].Positions != "learned" || math.Abs(c.Mean) > 0.1 || c.Most < 0.1 || c.Least > -0.1 {
		t.Errorf("%+v", c)
	}
}
