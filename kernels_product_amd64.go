//go:build !purego

package rowvec

import "github.com/rowvec/rowvec/internal/isa"

// blocks returns in about how many blocks so many columns of four rows are done. For each of them a row of src takes a step of prefetches.
func (p *productArgs) blocks(cols int) int {
	if p.avx512() {
		return (cols + 63) / 64
	}
	return (cols + 15) / 16
}

// avx512 reports whether the product is to be done with AVX-512. Where there are few rows of dst, what comes next is fetched by more of
// AVX2's blocks: both gradients of four hidden states and 50,257 x 768 took 28.8 and 24.5 ms on a Xeon.
func (p *productArgs) avx512() bool { return isa.Active() == isa.AVX512 && !p.hasty }

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
