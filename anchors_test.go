package rowvec_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
)

// randomWaves has frequencies of all sizes, some of which occur more than once, and fractions of a turn whose sines and
// cosines are 0, or next to it.
func randomWaves(rng *rand.Rand, cols int) *exact.Waves {
	w := &exact.Waves{
		High: make([]uint64, cols), Low: make([]uint64, cols), Offset: make([]uint64, cols),
		Sin: make([]float64, cols), Twice: make([]float64, cols),
	}
	for j := range cols {
		w.High[j], w.Low[j] = rng.Uint64()>>rng.IntN(64), rng.Uint64()
		switch rng.IntN(8) {
		case 0:
			w.High[j], w.Low[j] = uint64(rng.IntN(17))<<60, 0
		case 1:
			w.High[j], w.Low[j] = uint64(rng.IntN(8))<<61-1, math.MaxUint64
		case 2:
			w.High[j], w.Low[j] = 0, rng.Uint64()>>rng.IntN(64)
		case 3:
			if j > 0 {
				w.High[j], w.Low[j] = w.High[j/2], w.Low[j/2]
			}
		case 4:
			if j > 0 {
				w.High[j], w.Low[j] = w.High[j-1], w.Low[j-1]
			}
		}
		w.Offset[j] = uint64(rng.IntN(4)) * exact.Quarter
		if rng.IntN(8) == 0 {
			w.Offset[j] = rng.Uint64()
		}
		sin, cos := exact.Turns{Hi: w.High[j], Lo: w.Low[j]}.SinCos()
		w.Sin[j], w.Twice[j] = sin, 2*cos
	}
	return w
}

// TestAnchors holds each column at every level to Turns.SinCos, bit for bit, signs of zeros included.
func TestAnchors(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, cols := range []int{0, 16, 32, 48, 1024, 8<<10 + 16} {
			w := randomWaves(rng, cols)
			bare := &exact.Waves{High: w.High, Low: w.Low, Offset: w.Offset}
			x, y := make([]float64, cols), make([]float64, cols)
			for _, pos := range []uint64{0, 1, 256, 1<<31 - 256, 1 << 32, 1<<32 - 1, rng.Uint64(), math.MaxInt64, math.MaxUint64} {
				for _, w := range []*exact.Waves{w, bare} {
					forward.Anchors(*w, x, y, pos)
					for j := range cols {
						angle := exact.Turns{Hi: w.High[j], Lo: w.Low[j]}.Times(pos)
						angle.Hi += w.Offset[j]
						sin, next := angle.SinCos()
						if w.Sin != nil {
							next = float64(sin*(w.Twice[j]/2)) + float64(next*w.Sin[j])
						}
						if math.Float64bits(x[j]) != math.Float64bits(sin) || math.Float64bits(y[j]) != math.Float64bits(next) {
							t.Fatalf("%d columns: column %d at %d is %v, %v, want %v, %v (frequency %#x %#x, offset %#x)",
								cols, j, pos, x[j], y[j], sin, next, w.High[j], w.Low[j], w.Offset[j])
						}
					}
				}
			}
		}
	})
}
