//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
)

const productRows = forward.ProductRows // for the assembly

// productArgs is what the assembly behind addProduct works on. Strides and spans are in bytes; cols and terms are above 0.
type productArgs struct {
	dst       *float32 // four rows, or one
	dstStride uintptr
	src       *float32 // row 0
	srcStride uintptr
	srcSpan   uintptr  // from there to behind the last row
	a         *float32 // weight of row 0 of src for the first row of dst
	aRow      uintptr  // from there to that for the next row of dst
	aCol      uintptr  // and to that of the next row of src
	aSpan     uintptr
	next      uintptr // an address to prefetch, from which each row of src goes on by a step
	step      uintptr
	hasty     bool // what comes next is more than a line for each row of src and AVX-512's block
	rows      int  // of dst: 4 or 1
	terms     int  // rows of src
	//lint:ignore U1000 for the assembly alone
	left int // behind the sum that is being added up
	cols int
}

// addProduct is forward.AddProduct.
func addProduct(dst, a, src Matrix, transposed bool, next Matrix) {
	if isa.Active() == isa.Portable {
		addProductPlain(dst, a, src, transposed)
		return
	}
	race.WriteMatrix(&dst)
	race.ReadMatrix(&a)
	race.ReadMatrix(&src)
	p := productArgs{dstStride: uintptr(dst.Stride) * 4, srcStride: uintptr(src.Stride) * 4, aRow: uintptr(a.Stride) * 4, aCol: 4}
	p.next = uintptr(unsafe.Pointer(&dst.Data[0])) // which costs nothing
	if transposed {
		p.aRow, p.aCol = p.aCol, p.aRow
	}
	steps := func() int { return p.blocks(dst.Cols) * (dst.Rows/4 + dst.Rows%4) * src.Rows } // about: the end of a row may be more blocks
	if next.Rows > 0 {
		p.next = uintptr(unsafe.Pointer(&next.Data[0]))
		bytes := 4 * next.Rows * next.Stride
		p.hasty = bytes > 64*steps()
		p.step = uintptr(min(64, bytes/steps()))
	}
	most := max(1, min(fewRows, chunkElements/dst.Cols)/productRows) * productRows // of src, which may have a page each, and their weights
	for first := 0; first < src.Rows; first += most {
		p.terms = min(most, src.Rows-first)
		p.srcSpan, p.aSpan = uintptr(p.terms)*p.srcStride, uintptr(p.terms)*p.aCol
		for i := 0; i < dst.Rows; i += p.rows {
			if p.rows = 4; i > dst.Rows-4 {
				p.rows = 1
			}
			p.a = (*float32)(unsafe.Add(unsafe.Pointer(&a.Data[0]), uintptr(first)*p.aCol+uintptr(i)*p.aRow))
			for col := 0; col < dst.Cols; col += p.cols {
				p.cols = min(dst.Cols-col, chunkElements/p.terms&^63) // whole blocks
				p.dst, p.src = element(&dst.Data[0], i*dst.Stride+col), element(&src.Data[0], first*src.Stride+col)
				p.do()
				p.next += uintptr(p.terms*p.blocks(p.cols)) * p.step
			}
		}
	}
}
