package positional

import (
	"math"

	"github.com/rowvec/rowvec/internal/check"
)

// SinusoidalOption is an option of NewSinusoidal.
type SinusoidalOption interface{ sinusoidal(*sinusoidalSettings) }

// GridOption is an option of NewGrid.
type GridOption interface{ grid(*Grid) }

// RotaryOption is an option of NewRotary.
type RotaryOption interface{ rotary(*rotarySettings) }

type (
	sinusoidalOption func(*sinusoidalSettings)
	gridOption       func(*Grid)
	rotaryOption     func(*rotarySettings)
)

func (o sinusoidalOption) sinusoidal(s *sinusoidalSettings) { o(s) }
func (o gridOption) grid(g *Grid)                           { o(g) }
func (o rotaryOption) rotary(r *rotarySettings)             { o(r) }

// Base is an option of NewSinusoidal, NewGrid and NewRotary: it replaces 10000, the base of the frequencies, which code
// often calls theta or their temperature. It must be above 1 and finite.
type Base float64

const defaultBase = 10000

func (b Base) sinusoidal(s *sinusoidalSettings) { s.base = float64(b) }
func (b Base) grid(g *Grid)                     { g.base = float64(b) }
func (b Base) rotary(r *rotarySettings)         { r.base = float64(b) }

func checkBase(op string, base float64) error {
	if !(base > 1 && base <= math.MaxFloat64) {
		return check.Value(op, "base", base, "a finite one above 1")
	}
	return nil
}
