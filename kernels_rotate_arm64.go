//go:build !purego

package rowvec

// do does one chunk: see rowArgs.do.
//
//go:noinline
func (a *rotateArgs) do() int {
	if a.interleaved {
		return rotatePairsNEON(a)
	}
	return rotateHalvesNEON(a)
}

//go:noescape
func rotateHalvesNEON(a *rotateArgs) (done int)

//go:noescape
func rotatePairsNEON(a *rotateArgs) (done int)
