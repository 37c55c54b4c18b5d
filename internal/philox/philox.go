// Package philox makes random numbers that depend on their place alone: fills of float32 from the counter-based generator
// Philox 4x32-10, whose definition is kernels.Philox.
//
// There is no state. A number is a function of a seed, a stream and its index, so that any part of a tensor can be
// filled by itself, in any order, by any number of workers, on any machine, with the same bits. Package forward has both
// fills by assembly.
package philox

import (
	"math"

	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/kernels"
)

// The streams in use. What may be filled from the same seed must not share a stream, or it is the same up to a factor.
const (
	StreamTokens    = 0 // tables of tokens
	StreamPositions = 1 // tables of learned positions

	// StreamDropout is the lowest byte of the streams, one for each step, that choose what is dropped.
	StreamDropout = kernels.StreamDropout

	StreamRelative = 3 // tables of biases of relative positions
)

// Block returns block number index of a stream, 128 random bits.
func Block(seed, stream, index uint64) [4]uint32 { return kernels.Philox(seed, stream, index) }

// Uniform sets dst[i] to element first+i of a sequence that is uniform over the 2^24 odd multiples of limit/2^24 between
// -limit and limit, rounded to float32. Neither end is among them, and the mean is 0 exactly. The sequence depends on
// seed, stream and limit; its indices wrap around at 2^64. limit is at least 2^-100.
func Uniform(dst []float32, seed, stream, first uint64, limit float32) {
	for i := 0; i < len(dst); {
		n := first + uint64(i)
		var xs [4]float32
		for j, word := range Block(seed, stream, n/4) {
			odd := int32(word>>8)*2 - (1<<24 - 1) // a float32 without rounding
			xs[j] = float32(float32(odd)*0x1p-24) * limit
		}
		i += copy(dst[i:], xs[n%4:])
	}
}

// Normal sets dst[i] to element first+i of a sequence that is normally distributed with mean 0 and standard deviation
// std, rounded to float32: two elements for two random words, by the method of Box and Muller. No magnitude exceeds
// 6.8*std. The sequence depends on seed, stream and std; its indices wrap around at 2^64.
func Normal(dst []float32, seed, stream, first uint64, std float32) {
	for i := 0; i < len(dst); {
		n := first + uint64(i)
		words := Block(seed, stream, n/4)
		var xs [4]float32
		for j := 0; j < 4; j += 2 {
			even, odd := boxMuller(words[j], words[j+1])
			xs[j], xs[j+1] = float32(even*float64(std)), float32(odd*float64(std))
		}
		i += copy(dst[i:], xs[n%4:])
	}
}

// boxMuller returns two independent standard normal numbers for two independent words.
func boxMuller(radius, angle uint32) (float64, float64) {
	u := (float64(radius) + 0.5) / (1 << 32) // in (0, 1)
	r := math.Sqrt(-2 * exact.Log(u))
	sin, cos := exact.Turns{Hi: uint64(angle) << 32}.SinCos()
	return r * cos, r * sin
}
