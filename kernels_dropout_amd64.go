//go:build !purego

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
)

// streamsBlocks reports whether dropout can write whole blocks of dst past the caches.
func streamsBlocks(dst *Matrix) bool {
	return dst.Stride%16 == 0 && uintptr(unsafe.Pointer(&dst.Data[0]))%64 == 0
}

// avx512 reports whether elements are to be dropped with AVX-512. Of rows that are written past the caches AVX2 has smaller blocks.
func (a *dropoutArgs) avx512() bool {
	return isa.Active() == isa.AVX512 && (!a.stream || a.cols >= dropoutBlock)
}

// do does one chunk. It is not inlined, since the check of the stack at its start is where a loop over chunks can be
// preempted.
//
//go:noinline
func (a *dropoutArgs) do() {
	if a.avx512() {
		dropoutAVX512(a)
	} else {
		dropoutAVX2(a)
	}
}

//go:noescape
func dropoutAVX2(a *dropoutArgs)

//go:noescape
func dropoutAVX512(a *dropoutArgs)
