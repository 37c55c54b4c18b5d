package kernels

import "math"

// Mask says which elements of a matrix Dropout drops, and which part of that matrix is done. Each element is dropped with
// probability P, independently of all others and of those of other seeds and steps: whether it is depends on Seed, Step
// and its own row and column alone, so that a mask need not be stored, and that the parts of a matrix can be done in any
// order, by anybody.
//
// The random bits are those of Philox with key Seed. Element (r, c) of the whole matrix gets the 16-bit number c%8 of
// block r<<32 + c/8 of stream 2 + Step<<8, where numbers 2w and 2w+1 are the lower and the upper half of word w. It is
// dropped if the number is below Threshold.
type Mask struct {
	P        float64 // in [0, 1)
	Seed     uint64
	Step     uint64 // below 1<<56: the number of the training step, say
	Row, Col int    // where in the whole matrix the part begins; Col is a multiple of 8
}

// StreamDropout is the lowest byte of the streams that masks are made of; the others are the step.
const StreamDropout = 2

// maskColumns is the number of columns that a block of random bits decides on.
const maskColumns = 8

// Threshold returns P as it takes effect, times 65536: P is rounded to the nearest multiple of 1/65536 below 1. A P of
// less than 1/131072 drops nothing.
func (m Mask) Threshold() uint32 { return min(uint32(math.Round(m.P*(1<<16))), 1<<16-1) }

// Scale returns what is kept is multiplied by, so that the mean stays as it was: 1 over the probability that an element is
// kept, rounded to float32. It is 1 if nothing is dropped.
func (m Mask) Scale() float32 { return float32(1 << 16 / float64(1<<16-m.Threshold())) }

// Dropout sets each element of dst to Scale times that of src, rounded to float32, or to +0 if the mask drops it. dst has
// the shape of src, and may be src.
func Dropout(dst, src Matrix, mask Mask) {
	plain(&dst, src.Rows, src.Cols)
	plain(&src, dst.Rows, dst.Cols)
	threshold, scale, stream := mask.Threshold(), mask.Scale(), StreamDropout|mask.Step<<8
	for i := range dst.Rows {
		out, in := row(&dst, i), row(&src, i)
		if threshold == 0 {
			copy(out, in)
			continue
		}
		for c := 0; c < len(in); c += maskColumns {
			words := Philox(mask.Seed, stream, uint64(mask.Row+i)<<32|uint64((mask.Col+c)/maskColumns))
			for j, x := range in[c:min(c+maskColumns, len(in))] {
				number := words[j/2] >> (j % 2 * 16) & (1<<16 - 1)
				dropped := uint32(int32(number-threshold) >> 31) // all bits or none, since a branch would be foreseen by nobody
				out[c+j] = math.Float32frombits(math.Float32bits(scale*x) &^ dropped)
			}
		}
	}
}
