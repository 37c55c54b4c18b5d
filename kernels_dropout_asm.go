//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"math/bits"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/kernels"
)

// dropoutArgs is what the assembly behind Dropout works on. Strides are in bytes; rows, cols and threshold are above 0.
//
// Of the words of a counter, only the first differs within a row: it is the number of the block of eight columns. What the
// two first rounds of Philox make of the others is worked out here, once, and for each row by the assembly.
type dropoutArgs struct {
	dst       *float32 // row 0
	dstStride uintptr
	src       *float32
	srcStride uintptr
	rows      int
	cols      int
	row       uint32 // of the whole matrix
	block     uint32 // of the first columns
	threshold uint32
	scale     float32
	keys      [dropoutRounds][2]uint32 // of each round
	start     uint32                   // word 0 behind the first round, but for the row
	first     uint32                   // what goes into word 2 in the first round, beside a product
	second    uint32                   // what goes into word 0 in the second round, beside a product

	//lint:ignore U1000 for the assembly alone
	second2, third2 [4]uint32 // what rows add to word 2 in the second and in the third round
}

const (
	dropoutRounds = 10
	dropoutBlock  = 64 // columns that the assembly works out random bits for at once, at most
)

// newDropoutArgs returns what does not depend on the part of the matrix.
func newDropoutArgs(dst, src *Matrix, mask *Mask) dropoutArgs {
	a := dropoutArgs{
		dstStride: uintptr(dst.Stride) * 4,
		srcStride: uintptr(src.Stride) * 4,
		threshold: mask.Threshold(),
		scale:     mask.Scale(),
	}
	k0, k1 := uint32(mask.Seed), uint32(mask.Seed>>32)
	for i := range a.keys {
		a.keys[i] = [2]uint32{k0, k1}
		k0 += 0x9e3779b9
		k1 += 0xbb67ae85
	}
	stream := kernels.StreamDropout | mask.Step<<8
	high, low := bits.Mul32(0xcd9e8d57, uint32(stream))
	a.start = high ^ a.keys[0][0]
	a.first = uint32(stream>>32) ^ a.keys[0][1]
	a.second = low ^ a.keys[1][0]
	return a
}

func dropout(dst, src *Matrix, mask *Mask) {
	if isa.Active() == isa.Portable || mask.Threshold() == 0 {
		kernels.Dropout(*dst, *src, *mask)
		return
	}
	a := newDropoutArgs(dst, src, mask)
	cols := min(dst.Cols, chunkElements)
	rows := max(1, chunkElements/((cols+dropoutBlock-1)&^(dropoutBlock-1)))
	for j := 0; j < dst.Cols; j += cols {
		a.cols = min(cols, dst.Cols-j)
		a.block = uint32((mask.Col + j) / 8)
		for i := 0; i < dst.Rows; i += rows {
			a.dst, a.src = &dst.Data[i*dst.Stride+j], &src.Data[i*src.Stride+j]
			a.row = uint32(mask.Row + i)
			a.rows = min(rows, dst.Rows-i)
			a.do()
		}
	}
}
