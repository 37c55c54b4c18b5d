//go:build !purego

package rowvec

import "github.com/rowvec/rowvec/internal/isa"

// do does one chunk: see rowArgs.do.
//
//go:noinline
func (a *rotateArgs) do() int {
	switch wide := isa.Active() == isa.AVX512; {
	case wide && a.interleaved:
		return rotatePairsAVX512(a)
	case wide:
		return rotateHalvesAVX512(a)
	case a.interleaved:
		return rotatePairsAVX2(a)
	}
	return rotateHalvesAVX2(a)
}

//go:noescape
func rotateHalvesAVX2(a *rotateArgs) (done int)

//go:noescape
func rotatePairsAVX2(a *rotateArgs) (done int)

//go:noescape
func rotateHalvesAVX512(a *rotateArgs) (done int)

//go:noescape
func rotatePairsAVX512(a *rotateArgs) (done int)
