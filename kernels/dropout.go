package kernels

import "math"

// Mask says which elements of a matrix Dropout drops, and which part of that matrix is done. Each element is dropped with
// probability P, independently of all others and of those of other seeds and steps: whether it is depends on Seed, Step
// and its own row and column alone, so that a mask need not be stored, and that the parts of a matrix can be done in any
// order, by anybody.
//
// P takes effect as the nearest multiple of 1/256 below 1, since one byte decides on an element: 0.1 as 26/256, which is
// 0.1016, and what is below 1/512 not at all. Scale goes with what takes effect, and so the mean stays as it was.
//
// The random bits are those of Philox with key Seed. Element (r, c) of the whole matrix gets byte c%16 of block
// r<<32 + c/16 of stream 2 + Step<<8, where bytes 4w to 4w+3 are those of word w, the lowest first. It is dropped if the
// byte is below Threshold.
type Mask struct {
	P        float64 // in [0, 1)
	Seed     uint64
	Step     uint64 // below 1<<56: the number of the training step, say
	Row, Col int    // where in the whole matrix the part begins; Col is a multiple of 16
}

// StreamDropout is the lowest byte of the streams that masks are made of; the others are the step.
const StreamDropout = 2

// maskColumns is the number of columns that a block of random bits decides on.
const maskColumns = 16

// Threshold returns P as it takes effect, times 256: P is rounded to the nearest multiple of 1/256 below 1. A P of less
// than 1/512 drops nothing.
func (m Mask) Threshold() uint32 { return min(uint32(math.Round(m.P*256)), 255) }

// Scale returns what is kept is multiplied by, so that the mean stays as it was: 1 over the probability that an element is
// kept, rounded to float32. It is 256/230 for a P of 0.1, and 1 if nothing is dropped.
func (m Mask) Scale() float32 { return float32(256 / float64(256-m.Threshold())) }

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
				number := words[j/4] >> (j % 4 * 8) & 0xff
				dropped := uint32(int32(number-threshold) >> 31) // all bits or none, since a branch would be foreseen by nobody
				out[c+j] = math.Float32frombits(math.Float32bits(scale*x) &^ dropped)
			}
		}
	}
}
