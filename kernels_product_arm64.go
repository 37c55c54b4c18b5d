//go:build !purego

package rowvec

// productStep returns how many bytes a block fetches at most for each row of src.
func productStep(int) int { return 64 }

// blocks returns in how many blocks so many columns of four rows of dst are done, or of one, but that the end of a row may be more.
func (p *productArgs) blocks(_, cols int) int { return (cols + 15) / 16 }

// do does one chunk. It is not inlined, for the reason that do of rowArgs is not.
//
//go:noinline
func (p *productArgs) do() { addProductNEON(p) }

//go:noescape
func addProductNEON(p *productArgs)
