//go:build !purego

package rowvec

// do does one chunk. It is not inlined, since the check of the stack at its start is where a loop over chunks can be
// preempted.
//
//go:noinline
func (a *sinusoidArgs) do() { sinusoidsNEON(a) }

//go:noescape
func sinusoidsNEON(a *sinusoidArgs)
