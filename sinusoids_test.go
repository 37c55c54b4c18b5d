package rowvec_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// special64 holds numbers that are hard to multiply, to add or to round to float32: ties, what is subnormal there, and
// what is too large or too small for it.
var special64 = []float64{
	0, math.Copysign(0, -1), 1, -1, 1 + 0x1p-27, 1 + 0x1p-24, -1 - 0x3p-24, 0x1p-149, -0x3p-150, 0x1p-150, 0x1p-75, 0x1p300,
	math.MaxFloat32, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022, math.Inf(1), math.Inf(-1),
	math.NaN(), math.Float64frombits(0x7ff0000000000001), math.Float64frombits(0xfff8123456789abc),
}

// fill64 is fill for float64.
func fill64(rng *rand.Rand, x []float64) {
	for i := range x {
		if rng.IntN(8) == 0 {
			x[i] = special64[rng.IntN(len(special64))]
		} else {
			x[i] = math.Ldexp(rng.Float64()*2-1, rng.IntN(40)-20)
		}
	}
}

// waves are x, y and c of Sinusoids.
type waves [3][]float64

func (w waves) clone() waves {
	return waves{slices.Clone(w[0]), slices.Clone(w[1]), slices.Clone(w[2])}
}

// equal is bit for bit, but that a NaN equals a NaN.
func (w waves) equal(v waves) bool {
	for i := range w {
		if !slices.EqualFunc(w[i], v[i], func(a, b float64) bool {
			return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
		}) {
			return false
		}
	}
	return true
}

// newWaves returns the waves of so many columns: in turn true sinusoids, and numbers of all kinds that soon grow.
func newWaves(alloc func(n int) []float64, rng *rand.Rand, cols int) waves {
	w := waves{alloc(cols), alloc(cols), alloc(cols)}
	for _, x := range w {
		fill64(rng, x)
	}
	for j := rng.IntN(2); j < cols; j += 2 {
		from, step := 10*rng.Float64(), math.Exp(-10*rng.Float64())
		w[0][j], w[1][j], w[2][j] = math.Sin(from), math.Sin(from+step), 2*math.Cos(step)
	}
	return w
}

// compareSinusoids holds Sinusoids to its definition. The whole backing slice is compared, gaps included.
func compareSinusoids(t *testing.T, dst rowvec.Matrix, skip int, w waves) {
	t.Helper()
	want, wantWaves := clone(dst), w.clone()
	kernels.Sinusoids(want, skip, wantWaves[0], wantWaves[1], wantWaves[2])
	err := rowvec.Sinusoids(dst, skip, w[0], w[1], w[2])
	if d := diff(dst.Data, want.Data, false); d != "" || err != nil {
		t.Fatalf("%d x %d, stride %d, skip %d: %v %s", dst.Rows, dst.Cols, dst.Stride, skip, err, d)
	}
	if !w.equal(wantWaves) {
		t.Fatalf("%d x %d, stride %d, skip %d: x, y or c differ", dst.Rows, dst.Cols, dst.Stride, skip)
	}
}

func heap64(n int) []float64 { return make([]float64, n) }

// TestSinusoids takes every number of columns, and odd and even numbers of rows and of those skipped.
func TestSinusoids(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		for _, dim := range dims(0) {
			for rows := range 6 {
				dst := matrix(heap(), rng, rows, dim, rng.IntN(4))
				compareSinusoids(t, dst, rng.IntN(5), newWaves(heap64, rng, dim))
			}
		}
	})
}

// aligned returns memory that begins with a cache line.
func aligned(n int) []float32 {
	x := make([]float32, n+16)
	shift := -int(uintptr(unsafe.Pointer(&x[0]))/4) & 15
	return x[shift : shift+n : shift+n]
}

// TestSinusoidsStreamed writes past the caches, where whole lines can be written so, and where they cannot.
func TestSinusoidsStreamed(t *testing.T) {
	defer tuning.Lower()()
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(13, 14))
		for _, dim := range []int{8, 15, 16, 17, 32, 48, 64, 96, 128, 192, 200, 256} {
			for _, gap := range []int{0, 1, 8, 16} {
				for rows := range 4 {
					dst := matrix(aligned, rng, rows, dim, gap)
					compareSinusoids(t, dst, rng.IntN(3), newWaves(heap64, rng, dim))
					if rows > 0 {
						dst.Data, dst.Cols = dst.Data[1:], dst.Cols-1
						compareSinusoids(t, dst, 1, newWaves(heap64, rng, dim-1))
					}
				}
			}
		}
	})
}

// TestSinusoidsChunks has more than one call of assembly does: rows, columns, and rows that are skipped.
func TestSinusoidsChunks(t *testing.T) {
	large(t)
	for _, large := range []bool{false, true} {
		if large {
			defer tuning.Lower()()
		}
		isatest.Each(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(15, 16))
			for _, c := range [][3]int{{9000, 1, 0}, {3, 1, 30000}, {300, 100, 81}, {300, 100, 82}, {0, 100, 163}, {5, 64, 128},
				{1100, 64, 1024}, {3, 1 << 16, 2}, {9, 1 << 16, 2}, {2, 1<<16 + 16, 1}, {3, 1<<17 + 19, 1}} {
				dst := matrix(aligned, rng, c[0], c[1], 0)
				compareSinusoids(t, dst, c[2], newWaves(heap64, rng, c[1]))
			}
		})
	}
}

// TestSinusoidsGoesOn does a matrix in calls for some of its rows and columns.
func TestSinusoidsGoesOn(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(17, 18))
		const rows, cols = 40, 150
		want, w := matrix(heap(), rng, rows, cols, 0), newWaves(heap64, rng, cols)
		v := w.clone()
		if err := rowvec.Sinusoids(want, 7, v[0], v[1], v[2]); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			got, v, right := matrix(heap(), rng, rows, cols, 0), w.clone(), 0
			for left := 0; left < cols; left = right {
				right = min(cols, left+1+rng.IntN(90))
				skip := 7
				for i, n := 0, 0; i < rows; i += n {
					n = min(rows-i, rng.IntN(20))
					part := rowvec.Matrix{Rows: n, Cols: right - left, Data: got.Data[i*cols+left:], Stride: cols}
					if err := rowvec.Sinusoids(part, skip, v[0][left:right], v[1][left:right], v[2][left:right]); err != nil {
						t.Fatal(err)
					}
					skip = 0
				}
			}
			if d := diff(got.Data, want.Data, false); d != "" {
				t.Fatal(d)
			}
		}
	})
}

// TestSinusoidsUnfused has rows that are 0, and that are not with a fused multiply-add: the product (1 + 2^-27)^2 is
// 1 + 2^-26 + 2^-54, of which rounding leaves 1 + 2^-26.
func TestSinusoidsUnfused(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const x, square = 1 + 0x1p-27, 1 + 0x1p-26
		if math.FMA(x, x, -square) == 0 {
			t.Fatal("the example is wrong")
		}
		for dim := 1; dim <= 129; dim++ {
			for skip := range 3 {
				w := waves{heap64(dim), heap64(dim), heap64(dim)}
				for j := range dim {
					w[0][j], w[1][j], w[2][j] = square, x, x
				}
				dst := rowvec.Matrix{Rows: 3 - skip, Cols: dim, Data: make([]float32, (3-skip)*dim), Stride: dim}
				if err := rowvec.Sinusoids(dst, skip, w[0], w[1], w[2]); err != nil {
					t.Fatal(err)
				}
				for j, z := range dst.Row(2 - skip) {
					if z != 0 {
						t.Fatalf("dim %d, skip %d: element %d is %v, want 0", dim, skip, j, z)
					}
				}
			}
		}
	})
}

// TestSinusoidsMisuse has everything in one buffer, which no error may change.
func TestSinusoidsMisuse(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		buffer := make([]float64, 60)
		for i := range buffer {
			buffer[i] = float64(i)
		}
		words := unsafe.Slice((*float32)(unsafe.Pointer(&buffer[0])), 2*len(buffer))
		x, y, c := buffer[0:8], buffer[8:16], buffer[16:24]
		m := func(rows, cols, stride int, data []float32) rowvec.Matrix {
			return rowvec.Matrix{Rows: rows, Cols: cols, Data: data, Stride: stride}
		}
		for _, test := range []struct {
			dst     rowvec.Matrix
			skip    int
			x, y, c []float64
			want    string
		}{
			{m(2, 8, 9, words[60:77]), 0, x, y, c, ""},
			{m(2, 8, 9, words[48:65]), 1, x, y, c, ""}, // right behind them
			{m(0, 8, 0, nil), 1, x, y, c, ""},
			{m(2, 0, 0, nil), 1, nil, nil, nil, ""},
			{m(2, 8, 8, words[60:76]), -1, x, y, c, "rowvec: Sinusoids: skip is -1, want at least 0"},
			{m(-1, 8, 8, words[60:76]), 0, x, y, c, "rowvec: Sinusoids: dst.Rows is -1, want at least 0"},
			{m(2, 8, 7, words[60:76]), 0, x, y, c, "rowvec: Sinusoids: dst.Stride is 7, want at least 8"},
			{m(2, 8, 8, words[60:75]), 0, x, y, c, "rowvec: Sinusoids: len(dst.Data) is 15, want at least 16"},
			{m(2, 8, 8, words[60:76]), 0, x[:7], y, c, "rowvec: Sinusoids: len(x) is 7, want 8"},
			{m(2, 8, 8, words[60:76]), 0, x, buffer[8:17], c, "rowvec: Sinusoids: len(y) is 9, want 8"},
			{m(2, 8, 8, words[60:76]), 0, x, y, nil, "rowvec: Sinusoids: len(c) is 0, want 8"},
			{m(2, 0, 0, nil), 0, nil, nil, c, "rowvec: Sinusoids: len(c) is 8, want 0"},
			{m(2, 8, 8, words[60:76]), 0, x, x, c, "rowvec: Sinusoids: x overlaps y"},
			{m(2, 8, 8, words[60:76]), 0, y, buffer[1:9], c, "rowvec: Sinusoids: x overlaps y"},
			{m(2, 8, 8, words[60:76]), 0, x, y, x, "rowvec: Sinusoids: x overlaps c"},
			{m(0, 8, 8, nil), 0, x, y, buffer[15:23], "rowvec: Sinusoids: y overlaps c"},
			{m(2, 8, 8, words[15:31]), 0, x, buffer[30:38], c, "rowvec: Sinusoids: dst overlaps x"},
			{m(2, 8, 16, words[31:55]), 0, x, y, buffer[40:48], "rowvec: Sinusoids: dst overlaps y"},
			{m(2, 8, 8, words[47:63]), 0, x, y, c, "rowvec: Sinusoids: dst overlaps c"},
		} {
			before := slices.Clone(words)
			err := rowvec.Sinusoids(test.dst, test.skip, test.x, test.y, test.c)
			if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if err == nil {
				copy(words, before)
			}
			if d := diff(words, before, true); d != "" {
				t.Errorf("%v: %s", err, d)
			}
		}
	})
}
