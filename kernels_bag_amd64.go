//go:build !purego

package rowvec

import "github.com/rowvec/rowvec/internal/isa"

// do runs kernel k on one chunk. It is not inlined, since the check of the stack at its start is where a loop over
// chunks can be preempted.
//
//go:noinline
func (a *bagArgs) do(k bagOp) bool {
	if isa.Active() == isa.AVX512 {
		switch k {
		case opBagSum:
			return bagSumAVX512(a)
		case opBagWeighted:
			return bagWeightedAVX512(a)
		}
		return bagMaxAVX512(a)
	}
	switch k {
	case opBagSum:
		return bagSumAVX2(a)
	case opBagWeighted:
		return bagWeightedAVX2(a)
	}
	return bagMaxAVX2(a)
}

//go:noescape
func bagSumAVX2(a *bagArgs) (ok bool)

//go:noescape
func bagWeightedAVX2(a *bagArgs) (ok bool)

//go:noescape
func bagMaxAVX2(a *bagArgs) (ok bool)

//go:noescape
func bagSumAVX512(a *bagArgs) (ok bool)

//go:noescape
func bagWeightedAVX512(a *bagArgs) (ok bool)

//go:noescape
func bagMaxAVX512(a *bagArgs) (ok bool)
