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
	lines     uint8 // that are fetched then: 1, 2 or 4
	narrow    bool  // they are not enough with blocks of AVX-512: AVX2 has more
	rows      int   // of dst: 4 or 1
	terms     int   // rows of src
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
	if next.Rows > 0 {
		p.next = uintptr(unsafe.Pointer(&next.Data[0]))
		p.pace(4*next.Rows*next.Stride, dst.Rows, dst.Cols, src.Rows)
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
				p.next += uintptr(p.terms*p.blocks(p.rows, p.cols)) * p.step
			}
		}
	}
}

// pace chooses the step, and with it the blocks, by which so many bytes are fetched while the product is computed. Gradients of an output
// layer, ms on one core of a Zen 5, AVX-512, what comes next by a line for each row of src and block at most and no weights fetched, and so;
// of the table, and of so many hidden states; medians of 15 rounds in random order:
//
//	                1                      2                      6                      12
//	50,257 x 768    8.78 7.75  6.35 6.31   8.26 6.63  8.35 7.15   8.72 8.20  16.0 10.7   13.8 9.35  12.6 9.34
//	603,084 x 64    9.95 10.2  9.90 6.56   10.0 7.53  9.79 6.78   10.9 8.92  14.6 7.26   18.7 10.7  12.1 9.50
//	128,657 x 300   7.92 6.90  7.23 6.45   7.78 5.63  9.58 8.12   8.85 8.34  16.3 11.8   14.9 9.68  13.2 11.7
//	9,423 x 4,096   8.16 7.76  8.73 9.43   8.55 8.62  11.6 10.0   11.1 11.8  19.2 13.4   18.7 12.2  25.5 14.4
//
// With four states a row of src and a block of AVX2 fetch a line. That takes 0.72 to 0.81 of the time of AVX-512 with two lines, but of 9,423
// x 4,096 1.2 times as long, and on a Xeon 24.5 ms, and not the 28.8 of AVX-512 with a line, both of 50,257 x 768. There AVX-512 with
// four lines, the old always before the new, took 0.83, 0.84 and 0.82 with 1, 2 and 8 states and 0.98 with four, other tables 0.82 to 1.01.
func (p *productArgs) pace(bytes, rows, cols, terms int) {
	steps := func() int { return (rows/4*p.blocks(4, cols) + rows%4*p.blocks(1, cols)) * terms }
	most := productStep(terms)
	p.narrow = bytes > most*steps()
	p.step = uintptr(min(most, bytes/steps()))
	switch p.lines = 1; {
	case p.step > 128:
		p.lines = 4
	case p.step > 64:
		p.lines = 2
	}
}
