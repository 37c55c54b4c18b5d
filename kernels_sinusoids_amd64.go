//go:build !purego

package rowvec

import "github.com/rowvec/rowvec/internal/isa"

// do does one chunk. It is not inlined, since the check of the stack at its start is where a loop over chunks can be
// preempted.
//
//go:noinline
func (a *sinusoidArgs) do() {
	switch wide := isa.Active() == isa.AVX512; {
	case a.stream && wide && a.cols%64 == 0:
		sinusoidsStreamAVX512(a)
	case a.stream:
		sinusoidsStreamAVX2(a)
	case wide:
		sinusoidsAVX512(a)
	default:
		sinusoidsAVX2(a)
	}
}

//go:noescape
func sinusoidsAVX2(a *sinusoidArgs)

//go:noescape
func sinusoidsStreamAVX2(a *sinusoidArgs)

//go:noescape
func sinusoidsAVX512(a *sinusoidArgs)

//go:noescape
func sinusoidsStreamAVX512(a *sinusoidArgs)
