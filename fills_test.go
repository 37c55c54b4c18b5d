package rowvec_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/philox"
)

// fills are the fills of layers beside their definitions, with the parameters to try.
var fills = []struct {
	name       string
	got, want  func(dst []float32, seed, stream, first uint64, size float32)
	parameters []float32
}{
	{"Uniform", func(dst []float32, seed, stream, first uint64, size float32) {
		forward.FillUniform(dst, seed, stream, first, size)
	}, philox.Uniform, []float32{0.0107978, 1, 0x1p-100, 3e38, math.Nextafter32(2, 0)}},
	{"Normal", func(dst []float32, seed, stream, first uint64, size float32) {
		forward.FillNormal(dst, seed, stream, first, size)
	}, philox.Normal, []float32{0.02, 1, 0, 1e-40, 3e38, math.Nextafter32(2, 0)}},
}

// smallTerms are numbers that the fourth to the sixth term from the end of the logarithm's polynomial decide, with seed 42 and stream 0, in
// most of the eight vectors of a group; those behind them decide none of the first 2^28.
var smallTerms = []uint64{5747, 5796, 6231, 45452, 51647, 150373, 2039505, 10289423, 12734476, 15949390, 27777590, 64839547,
	71405854, 119934496}

// TestFills holds fills to their definition, at every level: all lengths and remainders of the first index, indices on both sides of 2^32
// blocks and of 2^64, more than one call does.
func TestFills(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, f := range fills {
			r := rand.New(rand.NewPCG(3, 9))
			compare := func(n int, seed, stream, first uint64, size float32) {
				t.Helper()
				got, want := slices.Repeat([]float32{77}, n+1), slices.Repeat([]float32{77}, n+1)
				f.got(got[:n], seed, stream, first, size)
				f.want(want[:n], seed, stream, first, size)
				if i := firstDifference(got, want); i >= 0 {
					t.Fatalf("%s of %d from %d, seed %d, stream %d, %g: number %d is %x, want %x", f.name, n, first, seed, stream, size, i,
						math.Float32bits(got[i]), math.Float32bits(want[i]))
				}
			}
			for n := range 257 {
				compare(n, r.Uint64(), r.Uint64(), uint64(r.IntN(128)), f.parameters[n%len(f.parameters)])
			}
			for _, first := range []uint64{1<<34 - 100, 1<<34 - 64, 1<<35 - 33, math.MaxUint64 - 150, math.MaxUint64 - 127, 1 << 63} {
				compare(300, r.Uint64(), r.Uint64(), first, 1)
			}
			for _, seed := range []uint64{0, 1, math.MaxUint64} {
				compare(20000, seed, seed, seed, 1)
			}
			for _, first := range smallTerms {
				compare(128, 42, 0, first-first%64, 1)
			}
			n := 1 << 20
			if isatest.Sampled() || testing.Short() {
				n = 1 << 14
			}
			compare(n, 42, philox.StreamTokens, 12345, f.parameters[0])
		}
	})
}

func firstDifference(got, want []float32) int {
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			return i
		}
	}
	return -1
}

// TestFillsAllocateNothing: not even for the groups that they begin and end within.
func TestFillsAllocateNothing(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, f := range fills {
			dst := make([]float32, 1000)
			isatest.NoAllocation(t, f.name, func() { f.got(dst, 1, 2, 3, 1) })
		}
	})
}
