//go:build !purego

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/kernels"
)

func init() {
	forward.Quantizes = quantizes
	forward.Quantize = quantize
	forward.QuantizedDots = quantizedDots
}

// quantizes reports whether there is assembly for rows of so many columns.
func quantizes(cols int) bool {
	return isa.Active() != isa.Portable && cols >= 16 && cols <= longElements
}

// quantizeArgs is what the assembly of Quantize works on. rows and cols are above 0; the assembly counts rows down.
type quantizeArgs struct {
	dst       *int16
	size      int // bytes of a row of dst
	factors   *float32
	src       *float32
	srcStride uintptr // bytes
	rows      int
	cols      int
}

// quantizedArgs is what the assembly of QuantizedDots works on. Numbers of rows are multiples of 4, and above 0; the
// assembly counts n down.
type quantizedArgs struct {
	dst       *int32
	dstStride uintptr // bytes
	a         *int16
	b         *int16
	rows      int // of a
	n         int // rows of b
	size      int // bytes of a row, a multiple of 64

	// What comes next is fetched meanwhile, from next to end: so many lines for each sixteen sums, or eight with AVX2.
	next, end uintptr
	lines     int
}

// quantizedElements of a, in 16 bits, stay in the first-level cache while rows of b pass by.
const quantizedElements = 12 << 10

func quantize(dst []int16, factors []float32, src Matrix) {
	if !quantizes(src.Cols) {
		kernels.Quantize(dst, factors, src)
		return
	}
	race.ReadRange(&src, 0, len(factors))
	n := kernels.QuantizedColumns(src.Cols)
	rows := min(chunkRows, chunkElements/src.Cols)
	for i := 0; i < len(factors); i += rows {
		q := quantizeArgs{
			dst:       &dst[i*n],
			size:      n * 2,
			factors:   &factors[i],
			src:       &src.Data[i*src.Stride],
			srcStride: uintptr(src.Stride) * 4,
			rows:      min(rows, len(factors)-i),
			cols:      src.Cols,
		}
		race.Write(q.dst, q.rows*n)
		race.Write(q.factors, q.rows)
		q.do()
	}
}

//go:noinline
func (q *quantizeArgs) do() {
	if isa.Active() == isa.AVX512 {
		quantizeAVX512(q)
		return
	}
	quantizeAVX2(q)
}

// quantizedDots does groups of four rows in assembly, of whole cache lines.
func quantizedDots(dst []int32, a, b []int16, n int, next Matrix) {
	rows, cols := len(a)/n, len(b)/n
	if isa.Active() == isa.Portable || rows == 0 || cols == 0 || rows%4 != 0 || cols%4 != 0 || n%32 != 0 || n > longElements {
		kernels.QuantizedDots(dst, a, b, n)
		return
	}
	race.Read(&a[0], len(a))
	race.Read(&b[0], len(b))
	race.Write(&dst[0], rows*cols)
	d := quantizedArgs{dstStride: uintptr(cols) * 4, size: n * 2}
	if next.Rows > 0 {
		bytes := extent(&next) * 4
		d.next = uintptr(unsafe.Pointer(&next.Data[0]))
		d.end = d.next + uintptr(bytes)
		d.lines = bytes/64/(rows*cols/16) + 1
	}
	height := max(4, min(dotRows, quantizedElements/n)&^3)
	width := max(4, min(chunkElements/n, dotResults/height)&^3)
	for j := 0; j < cols; j += width {
		d.b = &b[j*n]
		for i := 0; i < rows; i += height {
			d.dst, d.a = &dst[i*cols+j], &a[i*n]
			d.rows, d.n = min(height, rows-i), min(width, cols-j)
			d.do()
		}
	}
}

//go:noinline
func (d *quantizedArgs) do() {
	if isa.Active() == isa.AVX512 {
		quantizedDotsAVX512(d)
		return
	}
	quantizedDotsAVX2(d)
}

//go:noescape
func quantizeAVX2(q *quantizeArgs)

//go:noescape
func quantizeAVX512(q *quantizeArgs)

//go:noescape
func quantizedDotsAVX2(d *quantizedArgs)

//go:noescape
func quantizedDotsAVX512(d *quantizedArgs)
