//go:build !purego

package rowvec

import (
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/tuning"
)

// normVector is a vector of AVX2, which rows need for its assembly.
const normVector = 8

// normColumns returns the number of columns from which on there is assembly.
func normColumns() int {
	if isa.Active() == isa.AVX2 {
		return normVector
	}
	return 1
}

// lastColumns returns the number of bytes from the end of the blocks of a row to its last 8 columns.
func lastColumns(cols int) int { return cols&15*4 - 32 }

// avx512 reports whether so many rows are to be normalised with AVX-512.
func (a *normArgs) avx512() bool {
	return isa.Active() == isa.AVX512 && (a.rows >= tuning.NormRows || a.cols < normVector)
}

// forward does one chunk. It is not inlined, for the reason that do of rowArgs is not.
//
//go:noinline
func (a *normArgs) forward() {
	switch {
	case isa.Active() == isa.AVX512 && a.stream:
		layerNormStreamAVX512(a)
	case a.avx512():
		layerNormAVX512(a)
	case a.stream:
		layerNormStreamAVX2(a)
	default:
		layerNormAVX2(a)
	}
}

// backward does one chunk of the gradient.
//
//go:noinline
func (a *normArgs) backward() {
	if isa.Active() == isa.AVX512 {
		layerNormBackwardAVX512(a)
	} else {
		layerNormBackwardAVX2(a)
	}
}

//go:noescape
func layerNormAVX2(a *normArgs)

//go:noescape
func layerNormStreamAVX2(a *normArgs)

//go:noescape
func layerNormBackwardAVX2(a *normArgs)

//go:noescape
func layerNormAVX512(a *normArgs)

//go:noescape
func layerNormStreamAVX512(a *normArgs)

//go:noescape
func layerNormBackwardAVX512(a *normArgs)
