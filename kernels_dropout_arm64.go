//go:build !purego

package rowvec

import "github.com/rowvec/rowvec/internal/forward"

func dropsSums(int) bool { return false }

func dropSums(r *forward.Rows, mask *Mask) int { return dropSumsInSteps(r, mask) }

// streamsBlocks is streams.
func streamsBlocks(*Matrix) bool { return false }

// do does one chunk. It is not inlined, since the check of the stack at its start is where a loop over chunks can be
// preempted.
//
//go:noinline
func (a *dropoutArgs) do() { dropoutNEON(a) }

//go:noescape
func dropoutNEON(a *dropoutArgs)
