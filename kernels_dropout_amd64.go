//go:build !purego

package rowvec

import "github.com/rowvec/rowvec/internal/isa"

// do does one chunk. It is not inlined, since the check of the stack at its start is where a loop over chunks can be
// preempted.
//
//go:noinline
func (a *dropoutArgs) do() {
	if isa.Active() == isa.AVX512 {
		dropoutAVX512(a)
	} else {
		dropoutAVX2(a)
	}
}

//go:noescape
func dropoutAVX2(a *dropoutArgs)

//go:noescape
func dropoutAVX512(a *dropoutArgs)
