package philox

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec/internal/isatest"
)

// TestKnownAnswers holds Block to the vectors that Random123 publishes for philox4x32-10.
func TestKnownAnswers(t *testing.T) {
	const ones = math.MaxUint64
	for _, c := range []struct {
		seed, stream, index uint64
		want                [4]uint32
	}{
		{0, 0, 0, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{ones, ones, ones, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88, // digits of pi
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Block(c.seed, c.stream, c.index); got != c.want {
			t.Errorf("Block(%#x, %#x, %#x) = %#x, want %#x", c.seed, c.stream, c.index, got, c.want)
		}
	}
}

// fills are the two distributions, with parameter 1.
var fills = map[string]func(dst []float32, seed, stream, first uint64){
	"Uniform": func(dst []float32, seed, stream, first uint64) { Uniform(dst, seed, stream, first, 1) },
	"Normal":  func(dst []float32, seed, stream, first uint64) { Normal(dst, seed, stream, first, 1) },
}

// TestOrder fills pieces in random order, from all remainders of indices, also where they pass 2^32 blocks and wrap.
func TestOrder(t *testing.T) {
	for name, fill := range fills {
		r := rand.New(rand.NewPCG(1, 1))
		for _, base := range []uint64{0, 1, 2, 3, 1<<34 - 17, math.MaxUint64 - 100} {
			want, got := make([]float32, 257), make([]float32, 257)
			fill(want, 42, 7, base)
			cuts := []int{0, len(got)}
			for range 40 {
				cuts = append(cuts, r.IntN(len(got)))
			}
			slices.Sort(cuts)
			for _, k := range r.Perm(len(cuts) - 1) {
				fill(got[cuts[k]:cuts[k+1]], 42, 7, base+uint64(cuts[k]))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s from %d: pieces differ from the whole", name, base)
			}
		}
	}
}

// TestElements says which words an element is made of.
func TestElements(t *testing.T) {
	words := Block(5, 6, 2)
	got := make([]float32, 4)
	Uniform(got, 5, 6, 8, 3)
	for i, w := range words {
		if want := float32((float64(w>>8)+0.5)/(1<<23)-1) * 3; got[i] != want {
			t.Errorf("uniform element %d is %g, want %g", 8+i, got[i], want)
		}
	}
	Normal(got, 5, 6, 8, 3)
	for i := range got {
		u, v := (float64(words[i&^1])+0.5)/(1<<32), float64(words[i|1])/(1<<32)
		want := 3 * math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
		if i%2 == 1 {
			want = 3 * math.Sqrt(-2*math.Log(u)) * math.Sin(2*math.Pi*v)
		}
		if math.Abs(float64(got[i])-want) > 1e-6 {
			t.Errorf("normal element %d is %g, want %g", 8+i, got[i], want)
		}
	}
}

// TestSeparate: another seed, another stream or other indices give other numbers.
func TestSeparate(t *testing.T) {
	for name, fill := range fills {
		base := make([]float32, 64)
		fill(base, 1, 1, 0)
		for what, args := range map[string][3]uint64{"seed": {2, 1, 0}, "upper half of the seed": {1 | 1<<32, 1, 0},
			"stream": {1, 2, 0}, "upper half of the stream": {1, 1 | 1<<32, 0}, "index": {1, 1, 64},
			"upper half of the index": {1, 1, 1 << 34}} {
			other := make([]float32, 64)
			fill(other, args[0], args[1], args[2])
			same := 0
			for i := range base {
				if base[i] == other[i] {
					same++
				}
			}
			if same > 0 {
				t.Errorf("%s: another %s leaves %d of 64 elements as they were", name, what, same)
			}
		}
	}
}

// TestDistribution compares mean, variance, the next even moment, the empirical distribution (Kolmogorov, Smirnov) and
// the correlation of neighbours with those of the distribution. Each bound is passed by a random sample with a
// probability below 1e-6; the sample is fixed.
func TestDistribution(t *testing.T) {
	const n = 100000
	for name, c := range map[string]struct {
		variance, fourth, eighth float64
		cdf                      func(x float64) float64
	}{
		"Uniform": {1. / 3, 1. / 5, 1. / 9, func(x float64) float64 { return (x + 1) / 2 }},
		"Normal":  {1, 3, 105, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }},
	} {
		for seed := range uint64(3) {
			xs := make([]float32, n)
			fills[name](xs, seed, 3, 1000)
			var sums [4]float64 // of x, x^2, x^4, neighbours' products
			for i, v := range xs {
				x := float64(v)
				sums[0] += x / n
				sums[1] += x * x / n
				sums[2] += x * x * x * x / n
				sums[3] += x * float64(xs[(i+1)%n]) / n
			}
			within := func(what string, got, want, deviation float64) {
				if math.Abs(got-want) > 5*deviation/math.Sqrt(n) {
					t.Errorf("%s, seed %d: %s is %g, want %g", name, seed, what, got, want)
				}
			}
			within("mean", sums[0], 0, math.Sqrt(c.variance))
			within("variance", sums[1], c.variance, math.Sqrt(c.fourth-c.variance*c.variance))
			within("fourth moment", sums[2], c.fourth, math.Sqrt(c.eighth-c.fourth*c.fourth))
			within("covariance of neighbours", sums[3], 0, c.variance)
			slices.Sort(xs)
			worst := 0.0
			for i, v := range xs {
				p := c.cdf(float64(v))
				worst = max(worst, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
			}
			if worst > 2.7/math.Sqrt(n) {
				t.Errorf("%s, seed %d: the distribution is off by %g", name, seed, worst)
			}
		}
	}
}

// TestUniformRange: the ends of the interval are not reached, whatever the limit.
func TestUniformRange(t *testing.T) {
	for _, limit := range []float32{1, math.Nextafter32(2, 0), 0x1.000002p0, 1e-30, 3e38, 0x1p-100, 0.0883883476} {
		for _, odd := range []float32{1<<24 - 1, 1} {
			if x := odd * 0x1p-24 * limit; x >= limit || x <= 0 {
				t.Errorf("%g/2^24 of %g is %g", odd, limit, x)
			}
		}
		xs := make([]float32, 1000)
		Uniform(xs, 9, 9, 0, limit)
		if slices.Min(xs) <= -limit || slices.Max(xs) >= limit {
			t.Errorf("numbers between %g and %g, limit %g", slices.Min(xs), slices.Max(xs), limit)
		}
		if slices.Min(xs) > -0.9*limit || slices.Max(xs) < 0.9*limit {
			t.Errorf("1000 numbers between %g and %g only, limit %g", slices.Min(xs), slices.Max(xs), limit)
		}
	}
}

// TestBoxMullerEnds: all words give finite numbers, none beyond what is documented.
func TestBoxMullerEnds(t *testing.T) {
	for _, radius := range []uint32{0, 1, 1 << 31, math.MaxUint32} {
		for _, angle := range []uint32{0, 1 << 30, 1 << 31, 3 << 30, math.MaxUint32} {
			x, y := boxMuller(radius, angle)
			if r := math.Hypot(x, y); !(r < 6.8) || r == 0 {
				t.Errorf("boxMuller(%#x, %#x) = %g, %g", radius, angle, x, y)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	dst := make([]float32, 100)
	for name, fill := range fills {
		isatest.NoAllocation(t, name, func() { fill(dst, 1, 2, 3) })
	}
}

// TestSameBits compares checksums with those that every machine must have.
func TestSameBits(t *testing.T) {
	dst := make([]float32, 100001)
	var bytes []byte
	for name, want := range map[string]uint64{"Uniform": 0x819870e446baf73, "Normal": 0xa09f1ac45de56e3b} {
		fills[name](dst, 123456789012345, 6, 1)
		bytes = bytes[:0]
		for _, x := range dst {
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(x))
		}
		if got := crc64.Checksum(bytes, crc64.MakeTable(crc64.ECMA)); got != want {
			t.Errorf("%s: checksum %#x, want %#x", name, got, want)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	dst := make([]float32, 4096)
	for name, fill := range fills {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(4 * int64(len(dst)))
			for range b.N {
				fill(dst, 1, 2, 0)
			}
		})
	}
}
