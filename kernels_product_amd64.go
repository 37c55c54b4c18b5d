//go:build !purego

package rowvec

import "github.com/rowvec/rowvec/internal/isa"

// productStep is how many bytes a block fetches at most for each row of src.
const productStep = 128

// blocks returns in how many blocks so many columns of four rows of dst are done, or of one, but that the end of a row may be more.
func (p *productArgs) blocks(rows, cols int) int {
	switch {
	case p.avx512():
		return (cols + 63) / 64
	case rows == 1:
		return (cols + 31) / 32
	}
	return (cols + 15) / 16
}

// avx512 reports whether the product is to be done with AVX-512.
func (p *productArgs) avx512() bool { return isa.Active() == isa.AVX512 && !p.narrow }

// do does one chunk. It is not inlined, for the reason that do of rowArgs is not.
//
//go:noinline
func (p *productArgs) do() {
	if p.avx512() {
		addProductAVX512(p)
	} else {
		addProductAVX2(p)
	}
}

//go:noescape
func addProductAVX2(p *productArgs)

//go:noescape
func addProductAVX512(p *productArgs)
