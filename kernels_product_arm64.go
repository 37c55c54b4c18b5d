//go:build !purego

package rowvec

// blocks returns in about how many blocks so many columns of four rows are done. For each of them a row of src takes a step of prefetches.
func (p *productArgs) blocks(cols int) int { return (cols + 15) / 16 }

// do does one chunk. It is not inlined, for the reason that do of rowArgs is not.
//
//go:noinline
func (p *productArgs) do() { addProductNEON(p) }

//go:noescape
func addProductNEON(p *productArgs)
