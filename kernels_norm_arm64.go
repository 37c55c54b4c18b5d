//go:build !purego

package rowvec

// normColumns returns the number of columns from which on there is assembly.
func normColumns() int { return 4 }

// lastColumns returns the number of bytes from the end of the fours of a row to its last 4 columns.
func lastColumns(cols int) int { return cols&3*4 - 16 }

// forward does one chunk. It is not inlined, for the reason that do of rowArgs is not.
//
//go:noinline
func (a *normArgs) forward() { layerNormNEON(a) }

// backward does one chunk of the gradient.
//
//go:noinline
func (a *normArgs) backward() { layerNormBackwardNEON(a) }

//go:noescape
func layerNormNEON(a *normArgs)

//go:noescape
func layerNormBackwardNEON(a *normArgs)
