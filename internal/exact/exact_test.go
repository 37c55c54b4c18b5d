package exact

import (
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/rowvec/rowvec/internal/exact/bigmath"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
)

// samples are few on an emulated machine and under the race detector; TestSameBits carries what is found to all.
var samples = 2000

func init() {
	if isatest.Slow || race.Enabled {
		samples = 200
	}
}

// arguments returns random numbers of all magnitudes up to limit, and those next to multiples of pi/4, where argument
// reduction loses most.
func arguments(limit float64) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	xs := []float64{0, 1, -1, 0x1p-1074, 0x1p-1022, 0x1p-30, limit, -limit, math.Nextafter(limit, 0), math.Pi, math.Pi / 4,
		math.Nextafter(math.Pi/4, 1), 1e5, 1e6, 1e9, 1<<24 - 1, 1<<31 - 1}
	for range samples / 4 {
		xs = append(xs,
			(2*r.Float64()-1)*limit,
			(2*r.Float64()-1)*10,
			math.Exp(math.Log(limit)-60*r.Float64()),
			min(limit, float64(r.Uint64N(uint64(limit)))*(math.Pi/4)))
	}
	return xs
}

func TestSinCos(t *testing.T) {
	worstULP, worst := 0.0, 0.0
	for _, x := range arguments(1 << 40) {
		sin, cos := SinCos(x)
		wantSin, wantCos := bigmath.SinCos(bigmath.Float(x))
		ulp := max(bigmath.ULPs(sin, wantSin), bigmath.ULPs(cos, wantCos))
		diff := max(bigmath.Diff(sin, wantSin), bigmath.Diff(cos, wantCos))
		if ulp > 0.8 || diff > 1e-16 {
			t.Errorf("SinCos(%g) = %g, %g: off by %.2g ulps, %.2g", x, sin, cos, ulp, diff)
		}
		worstULP, worst = max(worstULP, ulp), max(worst, diff)
	}
	t.Logf("worst error %.3f ulps, %.3g", worstULP, worst)
}

func TestSinCosOutside(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Nextafter(1<<40, 1e99), -1e300} {
		if sin, cos := SinCos(x); !math.IsNaN(sin) || !math.IsNaN(cos) {
			t.Errorf("SinCos(%g) = %g, %g, want NaN", x, sin, cos)
		}
	}
	if sin, cos := SinCos(0); sin != 0 || cos != 1 {
		t.Errorf("SinCos(0) = %g, %g", sin, cos)
	}
}

func TestExp(t *testing.T) {
	worst := 0.0
	for _, x := range arguments(745) {
		got, want := Exp(x), bigmath.Exp(bigmath.Float(x))
		if want.Cmp(bigmath.Float(math.MaxFloat64)) > 0 {
			if !math.IsInf(got, 1) {
				t.Errorf("Exp(%g) = %g, want +Inf", x, got)
			}
			continue
		}
		ulp, limit := bigmath.ULPs(got, want), 0.6
		if want.Cmp(bigmath.Float(0x1p-1022)) < 0 {
			limit = 1.1
		}
		if ulp > limit {
			t.Errorf("Exp(%g) = %g: off by %.3g ulps", x, got, ulp)
		}
		worst = max(worst, ulp)
	}
	t.Logf("worst error %.3f ulps", worst)
	for _, c := range [][2]float64{{0, 1}, {math.Inf(1), math.Inf(1)}, {math.Inf(-1), 0}, {709.79, math.Inf(1)},
		{math.MaxFloat64, math.Inf(1)}, {-746, 0}, {-1e300, 0}, {-745.1, 0x1p-1074}, {math.NaN(), math.NaN()}} {
		if got := Exp(c[0]); got != c[1] && !(math.IsNaN(got) && math.IsNaN(c[1])) {
			t.Errorf("Exp(%g) = %g, want %g", c[0], got, c[1])
		}
	}
}

func TestLog(t *testing.T) {
	worst := 0.0
	xs := arguments(1 << 40)
	for _, x := range []float64{1, math.Sqrt2, math.Sqrt2 / 2, 0x1p-1022, 0x1p-1070, math.MaxFloat64 / 2, 2, 1e300} {
		xs = append(xs, x, math.Nextafter(x, 0), math.Nextafter(x, math.MaxFloat64))
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range samples / 2 {
		xs = append(xs, 0.5+r.Float64(), 1+(r.Float64()-0.5)/1024)
	}
	for _, x := range xs {
		if x = math.Abs(x); x == 0 {
			continue
		}
		got, want := Log(x), bigmath.Log(bigmath.Float(x))
		if x == 1 {
			if got != 0 {
				t.Errorf("Log(1) = %g", got)
			}
			continue
		}
		ulp := bigmath.ULPs(got, want)
		if ulp > 0.8 {
			t.Errorf("Log(%g) = %g: off by %.3g ulps", x, got, ulp)
		}
		worst = max(worst, ulp)
	}
	t.Logf("worst error %.3f ulps", worst)
	for _, c := range [][2]float64{{0, math.Inf(-1)}, {math.Inf(1), math.Inf(1)}, {-1, math.NaN()},
		{math.Inf(-1), math.NaN()}, {math.NaN(), math.NaN()}} {
		if got := Log(c[0]); got != c[1] && !(math.IsNaN(got) && math.IsNaN(c[1])) {
			t.Errorf("Log(%g) = %g, want %g", c[0], got, c[1])
		}
	}
}

func TestLogQuotient(t *testing.T) {
	worst := 0.0
	r := rand.New(rand.NewPCG(5, 6))
	for range samples {
		b := 1 + r.Float64()*math.Ldexp(1, r.IntN(53))
		a, b := math.Trunc(b+r.Float64()*math.Ldexp(1, r.IntN(52))), math.Trunc(b)
		want := bigmath.Log(new(big.Float).Quo(bigmath.Float(a), bigmath.Float(b)))
		got := LogQuotient(a, b)
		if a == b {
			if got != 0 {
				t.Errorf("LogQuotient(%g, %g) = %g", a, b, got)
			}
			continue
		}
		ulp := bigmath.ULPs(got, want)
		if ulp > 1.5 {
			t.Errorf("LogQuotient(%g, %g) = %g: off by %.3g ulps", a, b, got, ulp)
		}
		worst = max(worst, ulp)
	}
	t.Logf("worst error %.3f ulps", worst)
}

// value returns t as an exact number.
func (t Turns) value() *big.Float {
	x := new(big.Int).SetUint64(t.Hi)
	x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(t.Lo))
	f := new(big.Float).SetPrec(320).SetInt(x)
	return f.SetMantExp(f, -128)
}

// off returns |t - want| in units of 2^-128.
func (t Turns) off(want *big.Float) float64 {
	d := new(big.Float).SetPrec(320).Sub(t.value(), want)
	off, _ := d.SetMantExp(d, 128).Float64()
	return math.Abs(off)
}

func TestConstants(t *testing.T) {
	one, two := bigmath.Float(1), bigmath.Float(2)
	quo := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(320).Quo(a, b) }
	log := quo(bigmath.Log(bigmath.Float(10000)), bigmath.Log(two))
	for name, c := range map[string]struct {
		got  Turns
		want *big.Float
	}{
		"log10000":   {log10000, log.Sub(log, bigmath.Float(13))},
		"ln2":        {ln2, bigmath.Log(two)},
		"inverseLn2": {inverseLn2, new(big.Float).SetPrec(320).Sub(quo(one, bigmath.Log(two)), one)},
		"inverse2Pi": {inverse2Pi, quo(quo(one, two), bigmath.Pi)},
	} {
		if off := c.got.off(c.want); off > 0.5 {
			t.Errorf("%s is off by %g units", name, off)
		}
	}
	rest := quo(bigmath.Pi, two)
	for _, p := range []float64{halfPi1, halfPi2, halfPi3} {
		rest.Sub(rest, bigmath.Float(p))
	}
	if off, _ := rest.Float64(); math.Abs(off) > 0x1p-162 {
		t.Errorf("pi/2 is off by %g", off)
	}
	if bits.TrailingZeros64(math.Float64bits(Ln2Hi)) < 21 {
		t.Error("Ln2Hi has more than 32 bits")
	}
}

// frequencies are i, d of some dimensions of models, small and large.
func frequencies() (ids [][2]uint64) {
	for _, d := range []uint64{1, 2, 3, 4, 7, 64, 127, 512, 768, 4095, 4096, 12288} {
		for _, i := range []uint64{0, 1, 2, 3, d / 4, d / 3, d / 2, d - 1, d} {
			if i <= d {
				ids = append(ids, [2]uint64{i, d})
			}
		}
	}
	return ids
}

// bases are those of models, and what lies at the ends.
var bases = []float64{10000, 1, math.Nextafter(1, 2), 1.5, math.Nextafter(2, 1), 2, 100, 9999, 10001, 500000, 1e6,
	math.Nextafter(1<<20, 0), 1e6 * math.Pi, 1e7, 1e30, math.MaxFloat64}

func TestFrequency(t *testing.T) {
	worst := 0.0
	for _, base := range bases {
		for _, f := range frequencies() {
			got := Frequency(base, f[0], f[1])
			want := bigmath.Frequency(base, int(f[0]), int(f[1]))
			want.Quo(want, new(big.Float).SetPrec(320).Mul(bigmath.Float(2), bigmath.Pi))
			off := got.off(want)
			if off > 16 {
				t.Errorf("Frequency(%g, %d, %d) is off by %g units", base, f[0], f[1], off)
			}
			if base < 1e10 { // the same fraction
				if wide := Frequency(base, f[0]<<44, f[1]<<44); wide != got {
					t.Errorf("Frequency(%g, %d, %d) is not that of both << 44", base, f[0], f[1])
				}
			}
			worst = max(worst, off)
		}
	}
	t.Logf("worst error %.1f units of 2^-128", worst)
}

// TestFrequencies holds frequencies in a row to those one by one.
func TestFrequencies(t *testing.T) {
	most := uint64(300)
	if isatest.Slow {
		most = 70 // one that is computed anew in between
	}
	for _, base := range bases {
		for _, d := range []uint64{1, 2, 3, 13, 27, 64, 255, 512, 4096, 1 << 40} {
			for _, step := range []uint64{1, 2} {
				dst := make([]Turns, min(d/step+1, most))
				Frequencies(dst, base, step, d)
				for i, got := range dst {
					want := Frequency(base, uint64(i)*step, d)
					if off := got.minus(want); off.Hi != 0 || off.Lo > 1<<9 {
						if off = want.minus(got); off.Hi != 0 || off.Lo > 1<<9 {
							t.Fatalf("base %g, step %d, d %d: number %d is %x, want %x", base, step, d, i, got, want)
						}
					}
					if i%64 == 0 && got != want {
						t.Errorf("base %g, step %d, d %d: number %d is not exact", base, step, d, i)
					}
				}
			}
		}
	}
}

func TestScaled(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	scales := []float64{0, 1, 2, 0.5, 0.1, 1. / 3, 40, 1 << 31, 1<<53 - 1, 0x1p63, 0x1p64, 0x1p127, 0x1p128, 0x1p-63, 0x1p-64,
		0x1p-1074, 0x1.fffp-1030, math.MaxFloat64, 0x1.8p52, 0x1.8p53, 0x1.8p115, 0x1.8p116, 0x1.8p117}
	for range samples {
		scales = append(scales, math.Float64frombits(r.Uint64N(0x7ff0000000000000)), math.Exp(100*(r.Float64()-0.5)))
	}
	for _, m := range scales {
		x := Turns{r.Uint64(), r.Uint64()}
		// x, in units, and m are products of an integer and a power of 2.
		product := new(big.Float).SetPrec(2400).Mul(x.value(), bigmath.Float(m))
		product.SetMantExp(product, 128)
		want, _ := product.Int(nil) // rounded down
		want.And(want, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
		got := new(big.Int).SetUint64(x.Scaled(m).Hi)
		got.Lsh(got, 64).Or(got, new(big.Int).SetUint64(x.Scaled(m).Lo))
		if got.Cmp(want) != 0 {
			t.Errorf("%x scaled by %g is %x, want %x", x, m, got, want)
		}
		if n := r.Uint64N(1 << 53); x.Scaled(float64(n)) != x.Times(n) {
			t.Errorf("%x scaled by %d is not its multiple", x, n)
		}
	}
}

func TestTurns(t *testing.T) {
	worst := 0.0
	r := rand.New(rand.NewPCG(5, 6))
	positions := []uint64{0, 1, 63, 64, 65, 1<<24 - 1, 1 << 24, 1<<31 - 1, 1 << 31, 1 << 53, 1<<62 - 1}
	for range 5 {
		positions = append(positions, r.Uint64N(1<<24), r.Uint64N(1<<31), r.Uint64N(1<<53))
	}
	for _, f := range frequencies() {
		turns, freq := Frequency(10000, f[0], f[1]), bigmath.Frequency(10000, int(f[0]), int(f[1]))
		for _, pos := range positions {
			angle := new(big.Float).SetPrec(320).SetUint64(pos)
			wantSin, wantCos := bigmath.SinCos(angle.Mul(angle, freq))
			sin, cos := turns.Times(pos).SinCos()
			diff := max(bigmath.Diff(sin, wantSin), bigmath.Diff(cos, wantCos))
			if diff > 2e-16 {
				t.Errorf("position %d, frequency %d/%d: off by %.2g", pos, f[0], f[1], diff)
			}
			worst = max(worst, diff)
		}
	}
	t.Logf("worst error %.3g", worst)
}

func TestQuadrants(t *testing.T) {
	for n, want := range [][2]float64{{0, 1}, {1, 0}, {0, -1}, {-1, 0}} {
		if sin, cos := (Turns{Hi: uint64(n) << 62}).SinCos(); sin != want[0] || cos != want[1] {
			t.Errorf("%d quarter turns: %g, %g, want %v", n, sin, cos, want)
		}
	}
}

// TestSameBits computes many results and compares their checksum with the one that every machine must have.
func TestSameBits(t *testing.T) {
	const want = 0xaa8747321abc1cf7
	var (
		r     = rand.New(rand.NewPCG(7, 8))
		sum   = crc64.New(crc64.MakeTable(crc64.ECMA))
		bytes []byte
	)
	for range 30000 {
		x := (2*r.Float64() - 1) * float64(uint64(1)<<r.UintN(41))
		y := (2*r.Float64() - 1) * 745
		z := math.Float64frombits(r.Uint64N(0x7ff0000000000000))
		sin, cos := SinCos(x)
		i := r.Uint64N(4096)
		sin1, cos1 := Frequency(10000, i, 4096).Times(r.Uint64()).SinCos()
		for _, v := range [...]float64{sin, cos, Exp(y), Log(z), Log(1 + y/1000), sin1, cos1} {
			bytes = binary.LittleEndian.AppendUint64(bytes[:0], math.Float64bits(v))
			sum.Write(bytes)
		}
	}
	if got := sum.Sum64(); got != want {
		t.Errorf("checksum of 210,000 results is %#x, want %#x", got, uint64(want))
	}
}

func BenchmarkSinCos(b *testing.B) {
	for i := range b.N {
		SinCos(float64(i))
	}
}

func BenchmarkTurnsSinCos(b *testing.B) {
	t := Frequency(10000, 3, 512)
	for i := range b.N {
		t.Times(uint64(i)).SinCos()
	}
}

func BenchmarkFrequency(b *testing.B) {
	for _, base := range []float64{10000, 500000} {
		b.Run(fmt.Sprintf("base=%g", base), func(b *testing.B) {
			for range b.N {
				Frequency(base, 3, 512)
			}
		})
	}
}

func BenchmarkExp(b *testing.B) {
	for i := range b.N {
		Exp(float64(i & 511))
	}
}

func BenchmarkLog(b *testing.B) {
	for i := range b.N {
		Log(float64(i + 1))
	}
}
