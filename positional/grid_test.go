package positional

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec/internal/exact/bigmath"
	"github.com/rowvec/rowvec/internal/isatest"
)

func grid(t testing.TB, height, width, dim int, options ...GridOption) *Grid {
	t.Helper()
	g, err := NewGrid(height, width, dim, options...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGridFormula compares every element with the formula as it is usually written down.
func TestGridFormula(t *testing.T) {
	for _, c := range []struct {
		height, width, dim, tokens int
		base                       float64
		rowsFirst, last            bool
	}{
		{1, 1, 4, 0, 10000, false, false}, {2, 3, 4, 1, 10000, false, false}, {5, 2, 8, 3, 10000, true, false},
		{7, 9, 60, 0, 10000, false, true}, {1, 40, 16, 1, 100, true, true}, {33, 1, 12, 2, 1.5, false, false},
		{14, 14, 192, 1, 10000, false, false}, {3, 4, 8, 0, math.MaxFloat64, false, true},
	} {
		options := []GridOption{ClassTokens(c.tokens), Base(c.base), nil}
		quarter, spread := c.dim/4, float64(c.dim/4)
		if c.rowsFirst {
			options = append(options, RowsFirst())
		}
		if c.last {
			options = append(options, LastFrequency())
			spread--
		}
		g := grid(t, c.height, c.width, c.dim, options...)
		table := g.Table()
		if n := c.tokens + c.height*c.width; table.Rows != n || table.Cols != c.dim || g.Limit() != n || g.Dim() != c.dim {
			t.Fatalf("%v has a table of %d x %d", g, table.Rows, table.Cols)
		}
		for p := range table.Rows {
			for j, got := range table.Row(p) {
				place := p - c.tokens
				if place < 0 {
					if math.Float32bits(got) != 0 {
						t.Fatalf("%v: class token %d has %v", g, p, got)
					}
					continue
				}
				coordinate := place % c.width
				if j >= 2*quarter != c.rowsFirst {
					coordinate = place / c.width
				}
				angle := float64(coordinate) / math.Pow(c.base, float64(j%quarter)/spread)
				want := math.Sin(angle)
				if j/quarter%2 == 1 {
					want = math.Cos(angle)
				}
				if !(math.Abs(float64(got)-want) <= 3e-8) {
					t.Fatalf("%v: place %d, column %d is %v, want %v", g, place, j, got, want)
				}
			}
		}
	}
}

// TestGridAccuracy compares with math/big: a float32 is the nearest one but where a double rounding decides.
func TestGridAccuracy(t *testing.T) {
	worst := 0.0
	for _, c := range []struct {
		side, dim int
		base      float64
	}{{300, 32, 10000}, {20, 768, 10000}, {70, 64, 123.456}} {
		table := grid(t, c.side, 1, c.dim, Base(c.base)).Table()
		quarter := c.dim / 4
		for i := 0; i < quarter; i += 1 + quarter/7 {
			freq := bigmath.Frequency(c.base, i, quarter)
			for y := 0; y < c.side; y += 1 + c.side/30 {
				angle := new(big.Float).SetPrec(320).SetInt64(int64(y))
				sin, cos := bigmath.SinCos(angle.Mul(angle, freq))
				for k, want := range []*big.Float{sin, cos} {
					got := table.Row(y)[(2+k)*quarter+i]
					off := bigmath.Diff(float64(got), want)
					if step := float64(math.Nextafter32(float32(math.Abs(float64(got))), 2)) - math.Abs(float64(got)); off > step*(0.5+1e-6) {
						t.Errorf("dim %d, row %d, frequency %d: %v is off by %g", c.dim, y, i, got, off)
					}
					worst = max(worst, off)
				}
			}
		}
	}
	t.Logf("worst error %.4g", worst)
}

// TestGridSameBits compares a checksum with the one that every machine must have.
func TestGridSameBits(t *testing.T) {
	const want = 0x3608325ce2b9478f
	bytes := []byte{}
	for _, g := range []*Grid{grid(t, 24, 17, 132, ClassTokens(1)), grid(t, 9, 31, 64, Base(77.7), LastFrequency())} {
		for _, x := range g.Table().Data {
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(x))
		}
	}
	if got := crc64.Checksum(bytes, crc64.MakeTable(crc64.ECMA)); got != want {
		t.Errorf("checksum of %d elements is %#x, want %#x", len(bytes)/4, got, uint64(want))
	}
}

// TestGridAgainstLoops compares Fill and AddTo with loops over elements.
func TestGridAgainstLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	g := grid(t, 3, 5, 12, ClassTokens(2))
	table := clone(g.Table())
	for range 40 {
		seq := 1 + r.IntN(g.Limit())
		start, batch := r.IntN(g.Limit()-seq+1), 1+r.IntN(3)
		x := matrix(r, batch*seq, 12, r.IntN(2)*3)
		want := clone(x)
		for i := range want.Rows {
			for j, p := range table.Row(start + i%seq) {
				want.Row(i)[j] += p
			}
		}
		if err := g.AddTo(x, seq, start); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.Data, want.Data) {
			t.Fatalf("AddTo of %d x %d from %d differs", batch, seq, start)
		}
		dst := matrix(r, seq, 12, r.IntN(2)*2)
		want = clone(dst)
		for i := range seq {
			copy(want.Row(i), table.Row(start+i))
		}
		if err := g.Fill(dst, start); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(dst.Data, want.Data) {
			t.Fatalf("Fill of %d from %d differs", seq, start)
		}
	}
	if !slices.Equal(g.Table().Data, table.Data) {
		t.Error("the table has changed")
	}
}

func TestGridProperties(t *testing.T) {
	for want, g := range map[string]*Grid{
		"Grid(height=14, width=9, dim=64)":                 grid(t, 14, 9, 64),
		"Grid(height=1, width=3, dim=100, class tokens=2)": grid(t, 1, 3, 100, ClassTokens(2)),
		"Grid(height=2, width=2, dim=8, class tokens=1, base=100, rows first, last frequency)": grid(t, 2, 2, 8, RowsFirst(),
			Base(100), LastFrequency(), ClassTokens(1)),
	} {
		if g.String() != want || g.Kind() != "grid" || g.Trainable() {
			t.Errorf("%v: %q, trainable: %v; want %s", g, g.Kind(), g.Trainable(), want)
		}
	}
}

func TestGridNoAllocation(t *testing.T) {
	g := grid(t, 8, 8, 36, ClassTokens(1))
	x := matrix(rand.New(rand.NewPCG(7, 8)), 60, 36, 0)
	isatest.NoAllocation(t, g.String(), func() {
		if g.AddTo(x, 30, 5) != nil || g.Fill(x, 5) != nil {
			t.Fatal("unexpected error")
		}
	})
}
