package positional

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/exact/bigmath"
	"github.com/rowvec/rowvec/kernels"
)

// matrix returns a matrix with gaps between its rows, all of it filled with random numbers.
func matrix(r *rand.Rand, rows, cols, gap int) rowvec.Matrix {
	m := rowvec.Matrix{Rows: rows, Cols: cols, Stride: cols + gap, Data: make([]float32, rows*(cols+gap))}
	for i := range m.Data {
		m.Data[i] = r.Float32() - 0.5
	}
	return m
}

// clone returns a copy of m, gaps included.
func clone(m rowvec.Matrix) rowvec.Matrix {
	m.Data = slices.Clone(m.Data)
	return m
}

func sinusoidal(t testing.TB, length, dim int) *Sinusoidal {
	t.Helper()
	s, err := NewSinusoidal(length, dim)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// row returns PE(pos) from Fill.
func (s *Sinusoidal) row(t *testing.T, pos int) []float32 {
	t.Helper()
	m := rowvec.Matrix{Rows: 1, Cols: s.Dim(), Stride: s.Dim(), Data: make([]float32, s.Dim())}
	if err := s.Fill(m, pos); err != nil {
		t.Fatal(err)
	}
	return m.Data
}

// TestFormula compares the table with the formula as it is usually written down.
func TestFormula(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 8, 63, 64, 65, 128, 129, 512} {
		table := sinusoidal(t, 300, dim).Table()
		if table.Rows != 300 || table.Cols != dim {
			t.Fatalf("the table is %d x %d", table.Rows, table.Cols)
		}
		for pos := range table.Rows {
			for j, got := range table.Row(pos) {
				angle := float64(pos) / math.Pow(10000, float64(j-j%2)/float64(dim))
				want := math.Sin(angle)
				if j%2 == 1 {
					want = math.Cos(angle)
				}
				if math.Abs(float64(got)-want) > 3e-8 {
					t.Fatalf("dim %d: PE(%d, %d) = %g, want %g", dim, pos, j, got, want)
				}
			}
		}
	}
}

// TestFloat32Formula compares the first positions with the formula in float32, as frameworks compute it.
func TestFloat32Formula(t *testing.T) {
	const dim = 64
	table := sinusoidal(t, 16, dim).Table()
	for pos := range table.Rows {
		for i := 0; i < dim; i += 2 {
			div := float32(math.Exp(float64(float32(i) * float32(-math.Log(10000)/dim))))
			sin, cos := math.Sincos(float64(float32(pos) * div))
			if row := table.Row(pos); math.Abs(float64(row[i])-sin) > 2e-5 || math.Abs(float64(row[i+1])-cos) > 2e-5 {
				t.Errorf("PE(%d, %d) = %g, %g, want %g, %g", pos, i, row[i], row[i+1], sin, cos)
			}
		}
	}
}

func TestFirstPosition(t *testing.T) {
	for j, x := range sinusoidal(t, 1, 33).Table().Row(0) {
		if x != float32(j%2) || math.Signbit(float64(x)) {
			t.Errorf("PE(0, %d) = %g", j, x)
		}
	}
}

// TestAccuracy compares positions near and far with math/big.
func TestAccuracy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	far := []int64{1, 2, 10, 63, 64, 65, 511, 4095, 4999, 1<<24 - 64, 1<<24 - 2, 1<<24 - 1, 1 << 24, 1<<31 - 2,
		1 << 31, 1<<31 + 1, 1<<53 - 1, math.MaxInt64 - 1}
	for k := 7; k < 31; k += 3 {
		far = append(far, 1<<k, 1<<k-1)
	}
	for range 8 {
		far = append(far, r.Int64N(5000), r.Int64N(1<<24), r.Int64N(1<<31))
	}
	worst := 0.0
	for _, dim := range []int{1, 2, 3, 16, 127, 512, 768, 1023, 4096} {
		s := sinusoidal(t, 100, dim)
		rows := map[int64][]float32{}
		for _, pos := range far {
			if int64(int(pos)) == pos { // an int may have 32 bits
				rows[pos] = s.row(t, int(pos))
			}
		}
		last := (dim - 1) / 2
		for _, i := range slices.Compact([]int{0, min(1, last), last / 3, max(0, last-1), last}) {
			freq := bigmath.Frequency(10000, 2*i, dim)
			for pos, row := range rows {
				angle := new(big.Float).SetPrec(320).SetInt64(pos)
				sin, cos := bigmath.SinCos(angle.Mul(angle, freq))
				off := bigmath.Diff(float64(row[2*i]), sin)
				if 2*i+1 < dim {
					off = max(off, bigmath.Diff(float64(row[2*i+1]), cos))
				}
				if off > 3e-8 {
					t.Errorf("dim %d: PE(%d, %d) is off by %g", dim, pos, 2*i, off)
				}
				worst = max(worst, off)
			}
		}
	}
	t.Logf("worst error %.5g", worst)
}

// TestStepsAccuracy measures in float64, at the ends of blocks, what the rounding to float32 hides, for frequencies up to
// half a turn, where steps lose most.
func TestStepsAccuracy(t *testing.T) {
	worst := 0.0
	for i := range 48 {
		freq := exact.Frequency(10000, uint64(i), 48)
		if i >= 40 {
			freq = exact.Turns{Hi: 1<<63 - uint64(1)<<(63-3*(i-40))} // half a turn, less an eighth of it, and so on
		}
		w := newWaves([]wave{{freq, sine}, {freq, cosine}, {freq, minusSine}, {}})
		for _, pos := range []int{0, block, 5 * block, 1<<24 - block, 1<<31 - block} {
			var s state
			s.anchor(w.columns, pos)
			kernels.Sinusoids(rowvec.Matrix{Cols: 4}, block-1, s.x[:4], s.y[:4], w.twice)
			sin, cos := freq.Times(uint64(pos) + block - 1).SinCos()
			off := max(math.Abs(s.x[0]-sin), math.Abs(s.x[1]-cos), math.Abs(s.x[2]+sin), math.Abs(s.x[3]))
			if off > 1e-11 {
				t.Errorf("frequency %v: off by %g behind position %d", freq, off, pos)
			}
			worst = max(worst, off)
		}
	}
	t.Logf("worst error %.3g", worst)
}

// TestBitsOfPosition: a position has the same bits in every table, from every Fill and from AddTo.
func TestBitsOfPosition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, dim := range []int{1, 2, 6, 63, 64, 65, 130, 193, 511, 513, 1026} {
		const n = 300
		want := sinusoidal(t, n, dim).Table()
		for _, length := range []int{0, 1, 63, 64, 65, 200} {
			s := sinusoidal(t, length, dim)
			if got := s.Table(); !slices.Equal(got.Data, want.Data[:length*dim]) {
				t.Errorf("dim %d: the table of %d positions is not the start of that of %d", dim, length, n)
			}
			for range 10 {
				start := r.IntN(n - 1)
				rows := 1 + r.IntN(n-start-1)
				got := matrix(r, rows, dim, r.IntN(3))
				gaps := clone(got)
				if err := s.Fill(got, start); err != nil {
					t.Fatal(err)
				}
				for i := range rows {
					if !slices.Equal(got.Row(i), want.Row(start+i)) {
						t.Fatalf("dim %d, table of %d: Fill from %d differs at row %d", dim, length, start, i)
					}
					copy(gaps.Row(i), want.Row(start+i))
				}
				if !slices.Equal(got.Data, gaps.Data) {
					t.Fatalf("dim %d: Fill wrote between the rows", dim)
				}
			}
		}
	}
}

// TestAddTo compares with a plain addition of what Fill gives.
func TestAddTo(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, dim := range []int{1, 2, 7, 64, 65, 130, 514} {
		for _, length := range []int{0, 40, 1000} {
			s := sinusoidal(t, length, dim)
			for range 12 {
				batch, seq, start := 1+r.IntN(4), 1+r.IntN(90), r.IntN(100)
				positions := matrix(r, seq, dim, 0)
				if err := s.Fill(positions, start); err != nil {
					t.Fatal(err)
				}
				x := matrix(r, batch*seq, dim, r.IntN(3))
				want := clone(x)
				for i := range want.Rows {
					for j, p := range positions.Row(i % seq) {
						want.Row(i)[j] += p
					}
				}
				if err := s.AddTo(x, seq, start); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(x.Data, want.Data) {
					t.Fatalf("dim %d, table of %d: AddTo of %d x %d from %d differs", dim, length, batch, seq, start)
				}
			}
		}
	}
}

// TestAddToEnd reaches the last position that an int can name.
func TestAddToEnd(t *testing.T) {
	s := sinusoidal(t, 4, 6)
	x := rowvec.Matrix{Rows: 4, Cols: 6, Stride: 6, Data: make([]float32, 24)}
	if err := s.AddTo(x, 2, math.MaxInt-2); err != nil {
		t.Fatal(err)
	}
	if want := s.row(t, math.MaxInt-1); !slices.Equal(x.Row(1), want) || !slices.Equal(x.Row(3), want) {
		t.Errorf("got %v and %v, want %v", x.Row(1), x.Row(3), want)
	}
}

// TestRelative: PE(pos+k) is one linear function of PE(pos) for all pos.
func TestRelative(t *testing.T) {
	const dim, k = 32, 17
	table := sinusoidal(t, 200, dim).Table()
	for pos := range 200 - k {
		from, to := table.Row(pos), table.Row(pos+k)
		for i := 0; i < dim; i += 2 {
			sin, cos := math.Sincos(k / math.Pow(10000, float64(i)/dim))
			if want := float64(from[i])*cos + float64(from[i+1])*sin; math.Abs(float64(to[i])-want) > 1e-7 {
				t.Fatalf("PE(%d, %d) = %g, rotated PE(%d) gives %g", pos+k, i, to[i], pos, want)
			}
		}
	}
}

// TestSameBits compares a checksum with the one that every machine must have.
func TestSameBits(t *testing.T) {
	const want = 0x43882fb5a285fbf4
	bytes := []byte{}
	for _, dim := range []int{130, 77} {
		s := sinusoidal(t, 500, dim)
		fill := matrix(rand.New(rand.NewPCG(0, 0)), 100, dim, 0)
		all := [][]float32{s.Table().Data}
		for _, start := range []int{480, 4970, 1<<24 - 70, 1<<31 - 101} {
			if err := s.Fill(fill, start); err != nil {
				t.Fatal(err)
			}
			all = append(all, slices.Clone(fill.Data))
		}
		for _, x := range slices.Concat(all...) {
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(x))
		}
	}
	if got := crc64.Checksum(bytes, crc64.MakeTable(crc64.ECMA)); got != want {
		t.Errorf("checksum of %d elements is %#x, want %#x", len(bytes)/4, got, uint64(want))
	}
}

func TestSinusoidalProperties(t *testing.T) {
	s := sinusoidal(t, 9, 512)
	if s.String() != "Sinusoidal(dim=512)" || s.Kind() != "sinusoidal" || s.Dim() != 512 || s.Limit() != math.MaxInt {
		t.Errorf("%v: %q, dim %d, limit %d", s, s.Kind(), s.Dim(), s.Limit())
	}
	if table := sinusoidal(t, 0, 5).Table(); table.Rows != 0 || table.Cols != 5 {
		t.Errorf("no table is %d x %d", table.Rows, table.Cols)
	}
}

func TestSinusoidalNoAllocation(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, length := range []int{0, 10, 1000} {
		s := sinusoidal(t, length, 200)
		x, wide := matrix(r, 40, 200, 0), matrix(r, 40, 200, 8)
		if n := testing.AllocsPerRun(10, func() {
			if s.AddTo(x, 20, 3) != nil || s.AddTo(wide, 20, 3) != nil || s.Fill(x, 3) != nil {
				t.Fatal("unexpected error")
			}
		}); n != 0 {
			t.Errorf("with a table of %d: %g allocations", length, n)
		}
	}
}

func BenchmarkNewSinusoidal(b *testing.B) {
	b.SetBytes(4 * 5000 * 512)
	for b.Loop() {
		sinusoidal(b, 5000, 512)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(5000*512), "ns/element")
}

// BenchmarkSinusoidalCompute is BenchmarkNewSinusoidal without the allocation and the first touch of its memory.
func BenchmarkSinusoidalCompute(b *testing.B) {
	s, dst := sinusoidal(b, 0, 512), matrix(rand.New(rand.NewPCG(0, 0)), 5000, 512, 0)
	for b.Loop() {
		if err := s.Fill(dst, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(5000*512), "ns/element")
}

func BenchmarkSinusoidalAddTo(b *testing.B) {
	for name, c := range map[string]struct{ length, rows, seq int }{
		"stored/seq=128": {128, 4096, 128}, "computed/seq=128": {0, 4096, 128}, "computed/seq=1": {0, 1, 1}} {
		b.Run(name, func(b *testing.B) {
			s, x := sinusoidal(b, c.length, 512), matrix(rand.New(rand.NewPCG(0, 0)), c.rows, 512, 0)
			for b.Loop() {
				if err := s.AddTo(x, c.seq, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.rows*512), "ns/element")
		})
	}
}
