package positional

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/exact/bigmath"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
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

// layouts are encodings of every order of columns, and of some bases.
var layouts = []struct {
	name    string
	base    float64
	layout  layout
	options []SinusoidalOption
}{
	{"interleaved", 10000, interleaved, nil},
	{"half-split", 10000, halfSplit, []SinusoidalOption{HalfSplit()}},
	{"tensor2tensor", 10000, tensor2Tensor, []SinusoidalOption{Tensor2Tensor()}},
	{"base 500000", 500000, interleaved, []SinusoidalOption{Base(500000)}},
	{"half-split, base 1.0001", 1.0001, halfSplit, []SinusoidalOption{Base(1.0001), HalfSplit()}},
	{"tensor2tensor, base 1e300", 1e300, tensor2Tensor, []SinusoidalOption{Tensor2Tensor(), Base(1e300)}},
}

// phase is what a column is of its angle.
type phase int

const (
	ofSine phase = iota
	ofCosine
	nothing // 0 everywhere
)

// columnOf returns, by the definition of a layout, the frequency base^(-i/d) of a column, and what it is of its angle.
func columnOf(l layout, dim, j int) (i, d int, p phase) {
	h := (dim + 1) / 2
	switch l {
	case interleaved:
		return j - j%2, dim, phase(j % 2)
	case halfSplit:
		return 2 * (j % h), dim, phase(j / h)
	}
	if h = dim / 2; j == 2*h {
		return 0, 1, nothing
	}
	return j % h, max(1, h-1), phase(j / h)
}

// TestAccuracy compares positions near and far with math/big.
func TestAccuracy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	far := []int64{0, 1, 2, 10, block - 1, block, block + 1, 4999, 1<<24 - 1, 1 << 24, 1<<31 - 1, 1 << 31, 1<<31 + 1,
		1<<53 - 1, math.MaxInt64 - 1}
	for k := 7; k < 31; k += 4 {
		far = append(far, 1<<k, 1<<k-1)
	}
	for range 3 {
		far = append(far, r.Int64N(5000), r.Int64N(1<<24), r.Int64N(1<<31))
	}
	worst := 0.0
	for k, l := range layouts {
		for _, dim := range []int{1, 2, 3, 17, 512, 4096, 1 + r.IntN(4096)} {
			if dim > 512 && k > 0 && isatest.Few() {
				continue
			}
			s, err := NewSinusoidal(1, dim, l.options...)
			if err != nil {
				t.Fatal(err)
			}
			columns := []int{0, dim / 3, dim / 2, dim - 1, r.IntN(dim)}
			if k > 2 {
				columns = columns[3:]
			}
			for _, pos := range far {
				if pos >= math.MaxInt { // an int may have 32 bits
					continue
				}
				row := s.row(t, int(pos))
				for _, j := range columns {
					i, d, p := columnOf(l.layout, dim, j)
					angle := new(big.Float).SetPrec(320).SetInt64(pos)
					want, cos := bigmath.SinCos(angle.Mul(angle, bigmath.Frequency(l.base, i, d)))
					switch p {
					case ofCosine:
						want = cos
					case nothing:
						want = new(big.Float)
					}
					off := bigmath.Diff(float64(row[j]), want)
					if off > 3e-8 {
						t.Errorf("%s, dim %d: PE(%d, %d) is off by %g", l.name, dim, pos, j, off)
					}
					worst = max(worst, off)
				}
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
		w := newWaves(3)
		w.set(0, freq, sine)
		w.set(1, freq, cosine)
		w.ready()
		for _, pos := range []int{0, block, 5 * block, 1<<24 - block, 1<<31 - block} {
			s := state{start: -1}
			s.seek(w, 0, pos, 0)
			kernels.Sinusoids(rowvec.Matrix{Cols: 3}, block-1, s.x[:], s.y[:], w.Twice)
			sin, cos := freq.Times(uint64(pos) + block - 1).SinCos()
			off := max(math.Abs(s.x[0]-sin), math.Abs(s.x[1]-cos), math.Abs(s.x[2]))
			if off > 1e-11 {
				t.Errorf("frequency %v: off by %g behind position %d", freq, off, pos)
			}
			worst = max(worst, off)
		}
	}
	t.Logf("worst error %.3g", worst)
}

// TestBitsOfPosition: a position has the same bits in every table, from every Fill and from FillAt, at every level.
func TestBitsOfPosition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, dim := range []int{1, 2, 63, 65, 130, 511, 2*tileWidth + 5} {
		if dim > 500 && isatest.Few() {
			continue
		}
		const n = 600
		l := layouts[r.IntN(len(layouts))]
		encoding := func(length int) *Sinusoidal {
			s, err := NewSinusoidal(length, dim, l.options...)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		undo := isa.Set(isa.Portable)
		want := encoding(n).Table()
		undo()
		isatest.Each(t, func(t *testing.T) {
			for _, length := range []int{0, 1, 63, block, block + 1, 500} {
				s := encoding(length)
				if got := s.Table(); !slices.Equal(got.Data, want.Data[:length*dim]) {
					t.Errorf("%s, dim %d: the table of %d positions is not the start of that of %d", l.name, dim, length, n)
				}
				for range 3 {
					start := r.IntN(n - 1)
					rows := 1 + r.IntN(n-start-1)
					at := numbers(rows, func(i int) int { return start + i })
					got := matrix(r, rows, dim, r.IntN(3))
					gaps := clone(got)
					err := s.Fill(got, start)
					if r.IntN(2) == 0 { // with jumps, and the same more than once
						for i := range at {
							at[i] -= r.IntN(2) * r.IntN(2) * r.IntN(at[i]+1)
						}
						got = clone(gaps)
						err = s.FillAt(got, at)
					}
					if err != nil {
						t.Fatal(err)
					}
					for i, pos := range at {
						if !slices.Equal(got.Row(i), want.Row(pos)) {
							t.Fatalf("%s, dim %d, table of %d: position %d differs at row %d", l.name, dim, length, pos, i)
						}
						copy(gaps.Row(i), want.Row(pos))
					}
					if !slices.Equal(got.Data, gaps.Data) {
						t.Fatalf("dim %d: something was written between the rows", dim)
					}
				}
			}
		})
	}
}

// numbers returns f of 0, 1, ..., n-1.
func numbers(n int, f func(i int) int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = f(i)
	}
	return x
}

// TestLargeTable is written past the caches, by parts of it and as a whole.
func TestLargeTable(t *testing.T) {
	defer tuning.Lower()()
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{16, 64, 100, tileWidth + 64} {
			s := sinusoidal(t, 600, dim)
			for pos, want := range map[int][]float32{0: s.row(t, 0), block - 1: s.row(t, block-1), 599: s.row(t, 599)} {
				if alone := sinusoidal(t, 0, dim).row(t, pos); !slices.Equal(alone, want) || !slices.Equal(s.Table().Row(pos), want) {
					t.Errorf("dim %d: position %d is different in a large table", dim, pos)
				}
			}
		}
	})
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

// TestAddAt compares with a plain addition of what FillAt gives.
func TestAddAt(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, dim := range []int{1, 7, 64, 514} {
		for _, length := range []int{0, 40, 1000} {
			s := sinusoidal(t, length, dim)
			for range 12 {
				n, last := 1+r.IntN(100), r.IntN(1<<30)
				at := numbers(n, func(int) int {
					switch r.IntN(8) {
					case 0:
						last = r.IntN(100)
					case 1: // again
					default:
						last++
					}
					return last
				})
				positions := matrix(r, n, dim, 1)
				if err := s.FillAt(positions, at); err != nil {
					t.Fatal(err)
				}
				x := matrix(r, n, dim, r.IntN(3))
				want := clone(x)
				for i := range want.Rows {
					for j, p := range positions.Row(i) {
						want.Row(i)[j] += p
					}
				}
				if err := s.AddAt(x, at); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(x.Data, want.Data) {
					t.Fatalf("dim %d, table of %d: AddAt of %v differs", dim, length, at)
				}
			}
		}
	}
}

// TestChanged: a position that is found out of range after the check has changed, in the table and behind it.
func TestChanged(t *testing.T) {
	x := rowvec.Matrix{Rows: 3, Cols: 4, Stride: 4, Data: make([]float32, 12)}
	for _, length := range []int{0, 10} {
		s := sinusoidal(t, length, 4)
		for _, at := range [][]int{{3, -1, 4}, {-1, 0, 1}, {20, math.MinInt, 0}, {math.MaxInt - 1, math.MaxInt, math.MinInt},
			{0, math.MaxInt, math.MaxInt}, {20, 20, -1}} {
			for _, err := range []error{s.fillAt("op", x, at), s.addAt("op", x, at)} {
				if !errors.Is(err, rowvec.ErrChanged) || !strings.HasSuffix(err.Error(), "(op)") {
					t.Errorf("table of %d, %v: error %v", length, at, err)
				}
			}
		}
	}
}

// TestRelative: PE(pos+k) is one rotation of PE(pos) for all pos.
func TestRelative(t *testing.T) {
	const dim = 32
	for _, k := range []int{1, 17, 1000} {
		for _, start := range []int{0, 200, 1<<24 - 100} {
			from, to := matrix(rand.New(rand.NewPCG(0, 0)), 200, dim, 0), matrix(rand.New(rand.NewPCG(0, 0)), 200, dim, 0)
			s := sinusoidal(t, 0, dim)
			if s.Fill(from, start) != nil || s.Fill(to, start+k) != nil {
				t.Fatal("unexpected error")
			}
			for pos := range from.Rows {
				from, to := from.Row(pos), to.Row(pos)
				for i := 0; i < dim; i += 2 {
					sin, cos := math.Sincos(float64(k) / math.Pow(10000, float64(i)/dim))
					sine, cosine := float64(from[i])*cos+float64(from[i+1])*sin, float64(from[i+1])*cos-float64(from[i])*sin
					if math.Abs(float64(to[i])-sine) > 1e-7 || math.Abs(float64(to[i+1])-cosine) > 1e-7 {
						t.Fatalf("PE(%d, %d) is %g, %g, rotated PE(%d) %g, %g", start+pos+k, i, to[i], to[i+1], start+pos, sine, cosine)
					}
				}
			}
		}
	}
}

// TestNearPositionsAreAlike: the product of two positions falls with their distance at first, is the same wherever they are,
// and stays far from that of a position with itself.
func TestNearPositionsAreAlike(t *testing.T) {
	const dim = 128
	s := sinusoidal(t, 5000, dim)
	product := func(p, q int) (sum float64) {
		a, b := s.row(t, p), s.row(t, q)
		for j, x := range a {
			sum += float64(x) * float64(b[j])
		}
		return sum
	}
	for _, pos := range []int{0, 100, 4000, 1 << 24} {
		last := product(pos, pos)
		if math.Abs(last-dim/2) > 1e-5 {
			t.Errorf("the square of PE(%d) is %g, want %d", pos, last, dim/2)
		}
		for k := 1; k <= 512; k *= 2 {
			near := product(pos, pos+k)
			if near >= last || math.Abs(near-product(0, k)) > 1e-5 {
				t.Errorf("PE(%d) times PE(%d) is %g, at half the distance %g, at position 0 %g", pos, pos+k, near, last, product(0, k))
			}
			last = near
		}
		for k := 500; k < 1000; k += 7 {
			if far := product(pos, pos+k); far > product(0, 16) {
				t.Errorf("PE(%d) times PE(%d) is %g", pos, pos+k, far)
			}
		}
	}
}

// TestDistinct: no two of the first 2^20 positions are alike, not even in the first pair of columns alone.
func TestDistinct(t *testing.T) {
	const n = 1 << 20
	s, seen := sinusoidal(t, n, 2).Table().Data, make([]uint64, n)
	for i := range seen {
		seen[i] = uint64(math.Float32bits(s[2*i]))<<32 | uint64(math.Float32bits(s[2*i+1]))
	}
	slices.Sort(seen)
	if n := len(slices.Compact(seen)); n != len(seen) {
		t.Errorf("%d of %d positions are different", n, len(seen))
	}
}

// TestFirstRow: position 0 is sines of 0 and cosines of 0, in every layout.
func TestFirstRow(t *testing.T) {
	for _, l := range layouts {
		for dim := 1; dim < 40; dim++ {
			s, err := NewSinusoidal(1, dim, l.options...)
			if err != nil {
				t.Fatal(err)
			}
			for j, x := range s.Table().Row(0) {
				want := float32(0)
				if _, _, p := columnOf(l.layout, dim, j); p == ofCosine {
					want = 1
				}
				if x != want || math.Signbit(float64(x)) {
					t.Errorf("%s: PE(0, %d) of %d is %g", l.name, j, dim, x)
				}
			}
		}
	}
}

// TestGoingOn asks for positions as decoders do, one after the other and the same one again, and otherwise too: what has been
// asked for before changes nothing.
func TestGoingOn(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	const limit = 3 * block
	for _, dim := range []int{1, 30, tileWidth, tileWidth + 3} {
		table, s := sinusoidal(t, limit, dim).Table(), sinusoidal(t, 0, dim)
		var last, pos int
		for step := range 400 {
			switch k := r.IntN(16); {
			case k < 3:
				pos = last // again
			case k == 3:
				pos += r.IntN(block / 2)
			case k == 4:
				pos -= r.IntN(block / 2)
			case k == 5:
				pos = block - 2
			case k == 6:
				pos = r.IntN(limit)
			}
			n := 1
			if r.IntN(4) == 0 {
				n = 1 + r.IntN(block+9)
			}
			pos = min(max(pos, 0), limit-n)
			x := matrix(r, n, dim, 2)
			if step%5 == 0 {
				for i := range n {
					clear(x.Row(i))
				}
				if err := s.AddTo(x, n, pos); err != nil {
					t.Fatal(err)
				}
			} else if err := s.Fill(x, pos); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if !slices.Equal(x.Row(i), table.Row(pos+i)) {
					t.Fatalf("step %d, %d columns: position %d of %d from %d on", step, dim, pos+i, n, pos)
				}
			}
			last, pos = pos, pos+n
		}
	}
}

// TestWaves: columns are what their waves say, in any order, and however often a frequency occurs.
func TestWaves(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	freqs := [5]exact.Turns{{}, {Hi: 1 << 60}, exact.Frequency(10000, 1, 3), {Hi: 1 << 63}, {Hi: math.MaxUint64}}
	for _, cols := range []int{1, 7, 100, tileWidth, 2*tileWidth + 3} {
		w, start := newWaves(cols), r.IntN(2000)
		columns, offsets := make([]exact.Turns, cols), make([]uint64, cols)
		for j := range cols {
			columns[j], offsets[j] = freqs[r.IntN(len(freqs))], uint64(r.IntN(4))*cosine
			w.set(j, columns[j], offsets[j])
		}
		dst := matrix(r, 3, cols, 2)
		w.ready().fill(dst, start)
		for i := range dst.Rows {
			for j, x := range dst.Row(i) {
				angle := columns[j].Times(uint64(start + i))
				angle.Hi += offsets[j]
				if want, _ := angle.SinCos(); math.Abs(float64(x)-want) > 3e-8 {
					t.Fatalf("%x, offset %x, at position %d is %v, want %v", columns[j], offsets[j], start+i, x, want)
				}
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
	for want, options := range map[string][]SinusoidalOption{
		"Sinusoidal(dim=6, base=500000)":                   {Base(500000)},
		"Sinusoidal(dim=6, base=2.5, layout=half-split)":   {HalfSplit(), nil, Base(2.5)},
		"Sinusoidal(dim=6, layout=tensor2tensor)":          {HalfSplit(), Tensor2Tensor(), Base(10000)},
		"Sinusoidal(dim=6, base=1.7976931348623157e+308)":  {Base(math.MaxFloat64)},
		"Sinusoidal(dim=6, base=1e+06, layout=half-split)": {Tensor2Tensor(), Base(1e6), HalfSplit()},
		"Sinusoidal(dim=6, base=1.0000000000000002)":       {Base(math.Nextafter(1, 2))},
	} {
		if s, err := NewSinusoidal(9, 6, options...); err != nil || s.String() != want {
			t.Errorf("%v, %v, want %s", s, err, want)
		}
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
		at := [40]int{5, 6, 7, 900, 900, 12}
		isatest.NoAllocation(t, fmt.Sprintf("with a table of %d", length), func() {
			if s.AddTo(x, 20, 3) != nil || s.AddTo(wide, 20, 3) != nil || s.Fill(x, 3) != nil ||
				s.FillAt(x, at[:]) != nil || s.AddAt(wide, at[:]) != nil {
				t.Fatal("unexpected error")
			}
		})
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
