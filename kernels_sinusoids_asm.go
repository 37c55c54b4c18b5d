//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/kernels"
)

// sinusoidArgs is what the assembly behind Sinusoids works on. The stride is in bytes, and cols is above 0.
type sinusoidArgs struct {
	dst     *float32 // row 0, where there are rows
	stride  uintptr
	x, y, c *float64
	skip    int // steps without a result, before those with one
	rows    int
	cols    int
	stream  bool // write past the caches
}

// sinusoidElements is what a call does where rows go to the caches. On a Zen 4, ns per element by 8, 32 and 128 Ki, with
// AVX2: 2,048 x 512 0.113 0.140 0.155; 16,384 x 512 0.40 0.54 0.54, since the lines of a row are not written one behind the
// other. Past the caches it is a chunk, as those calls end in a fence. It is never more than chunkRows, since rows may be far
// apart: 8,192 of one column with a page each take 110 to 180 us.
//
// AVX-512 writes four lines of a row one behind the other, and has more to gain from longer groups: by 8, 16 and 32 Ki,
// 2,048 x 512 that are in cache 0.116 0.107 0.100, and 0.30 0.31 0.32 where something else has been there.
const (
	sinusoidElements       = 8 << 10
	sinusoidElementsAVX512 = 32 << 10
)

// sinusoidColumns is the length of the rows that a call does at most: each column has three float64 besides. In no cache,
// 64 Ki take 117 to 152 us on a Zen 4, and 16 Ki 26 to 38.
const sinusoidColumns = chunkElements / 4

func sinusoids(dst *Matrix, skip int, x, y, c []float64, stream bool) {
	if isa.Active() == isa.Portable {
		kernels.Sinusoids(*dst, skip, x, y, c)
		return
	}
	race.WriteMatrix(dst)
	race.Write(unsafe.SliceData(x), dst.Cols)
	race.Write(unsafe.SliceData(y), dst.Cols)
	race.Read(unsafe.SliceData(c), dst.Cols)
	size := sinusoidElements
	if isa.Active() == isa.AVX512 {
		size = sinusoidElementsAVX512
	}
	if stream = stream && dst.Rows > 0 && wholeLines(dst); stream {
		size = chunkElements
	}
	cols := min(dst.Cols, sinusoidColumns)
	steps := max(1, min(chunkRows, size/cols)) // at a time
	for j := 0; j < dst.Cols; j += cols {
		a := sinusoidArgs{
			stride: uintptr(dst.Stride) * 4,
			x:      &x[j],
			y:      &y[j],
			c:      &c[j],
			cols:   min(cols, dst.Cols-j),
			stream: stream,
		}
		for left := skip; left >= steps; left -= steps {
			a.skip = steps
			a.do()
		}
		a.skip = skip % steps
		for i := 0; i < dst.Rows || a.skip > 0; i += a.rows {
			if a.rows = min(steps-a.skip, dst.Rows-i); a.rows > 0 {
				a.dst = &dst.Data[i*dst.Stride+j]
			}
			a.do()
			a.skip = 0
		}
	}
}
