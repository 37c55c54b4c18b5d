//go:build !purego

package rowvec

// do runs kernel k on one chunk. It is not inlined, since the check of the stack at its start is where a loop over
// chunks can be preempted.
//
//go:noinline
func (a *bagArgs) do(k bagOp) bool {
	switch k {
	case opBagSum:
		return bagSumNEON(a)
	case opBagWeighted:
		return bagWeightedNEON(a)
	}
	return bagMaxNEON(a)
}

//go:noescape
func bagSumNEON(a *bagArgs) (ok bool)

//go:noescape
func bagWeightedNEON(a *bagArgs) (ok bool)

//go:noescape
func bagMaxNEON(a *bagArgs) (ok bool)
