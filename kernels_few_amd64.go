//go:build !purego

package rowvec

import (
	"math"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// idsBelowChunk reports whether each of n ids, read as unsigned, is below limit.
//
//go:noinline
func idsBelowChunk(ids unsafe.Pointer, wide uint64, n int, limit uint64) bool {
	switch {
	case wide == 0 && limit > math.MaxUint32:
		return true
	case wide == 0 && isa.Active() == isa.AVX512:
		return ids32BelowAVX512(ids, n, uint32(limit))
	case wide == 0:
		return ids32BelowAVX2(ids, n, uint32(limit))
	case isa.Active() == isa.AVX512:
		return ids64BelowAVX512(ids, n, limit)
	}
	return ids64BelowAVX2(ids, n, limit)
}

// fetchRows prefetches so many bytes of the rows that n ids choose.
func fetchRows(table *Matrix, ids unsafe.Pointer, wide uint64, n, bytes int) {
	fetchRowsAVX2(&table.Data[0], uintptr(table.Stride)*4, ids, wide, n, bytes, straddles(table))
}

// copyRow copies a row of n > 0 elements, no more than a chunk, of a table of size elements.
// Of a row of a large table that is not long, what is behind its first KiB is prefetched first where AVX-512 is in halves, four lines
// at a time. On a Zen 4, ns of a Gather of one row, one after the other, by this, by a call of fetchRows before the copy, by the copy
// alone, and by Go's copy without checks: 50,257 x 768 fresh ids 290 to 309, 313 to 331, 339 to 361, 305 to 329, the same one over
// and over 38, 44, 35, 30; x 512 218 to 235, 224 to 238, 215 to 225, 212 to 226, 28, 32, 27, 23; x 1,024 347, 384, -, 389, 51, 57, -, 39.
// fetchRows itself stays at a line at a time: with two or four it takes 0.87 to 0.93 for two to sixteen rows in cache, but 1.03 to 1.2 for
// two that are in none. So do the kernels (ROW_TABLE): with four gathers of 50,257 x 768 take 1.02 to 1.07, others 0.97 to 1.03.
//
// A Zen 3 was better off without it in the form that had a line at a time, 435 and 74 against 463 and 80, and so was a Zen 5, with
// AVX-512: 249 and 16 against 235 and 19 for 768 columns, 302 against 312 for 1,024, Go's copy 254 and 21.
//
// A kernel for one row, which is called with less than one for several, takes on a Zen 3 0.96 to 0.98 of the time of rows of 1 to 128 columns
// in cache, 1.00 of 768, and where ids are fresh 0.95 of 50,257 x 256 and 0.96 of x 768.
func copyRow(dst, src *float32, n, size int) {
	if isa.Active() == isa.Portable {
		copy(unsafe.Slice(dst, n), unsafe.Slice(src, n))
		return
	}
	if copies512(n) {
		copyRowAVX512(dst, src, n)
		return
	}
	if first := longBurst / 4; halves() && size > tuning.CachedBytes/4 && n > first && n <= wholeBytes/4 {
		copyFarRowAVX512(dst, src, n)
		return
	}
	copyRowAVX2(dst, src, n)
}

// copies512 reports whether a row of so many elements is to be copied with AVX-512.
func copies512(n int) bool {
	return fullWidth() && n > tuning.CopyElements && n >= copyColumns && (tuning.CopyUneven || n%copyColumns == 0)
}

// copyColumns is a vector of AVX-512, the end of which COPY_ROW has stand at the end of the row.
const copyColumns = 16

// copyFew copies rows to those of dst, which has columns, no more than a chunk in all.
func copyFew(dst *Matrix, rows []*float32) {
	if isa.Active() == isa.Portable {
		copyEach(dst, rows)
		return
	}
	copyRowsAVX2(&dst.Data[0], uintptr(dst.Stride)*4, &rows[0], len(rows), dst.Cols)
}

// matrixArg is a Matrix whose fields assembly finds by name.
type matrixArg Matrix

// copiesByID reports whether so many rows are copied by copyByID, prefetched or not: what is copied by an id that is checked and looked up in
// assembly needs no addresses from Go, and the fewer instructions a call takes, the more calls a processor is ahead by.
// On a Zen 5, times of that over those with addresses, the same ids over and over and all of them fresh, medians of 31 interleaved rounds, when rows
// of less than 16 columns were a masked vector of AVX-512 each (what GATHER_FEW has for them now takes 0.93 to 1.04 of the time of that):
//
//	ids               2    4    8    16   24   32       2    4    8    16   24   32
//	1,000,000 x 8    0.87 0.83 0.80 0.73 0.78 0.66     1.02 0.56 0.68 0.96 1.04 0.83
//	1,000,000 x 16   0.78 0.82 0.79 0.72 0.74 0.68     0.96 0.54 0.70 0.87 0.82 0.93
//	1,000,000 x 30   0.86 0.78 0.73 0.67 0.82 0.72     0.86 0.53 0.80 0.88 0.91 0.87
//	   50,257 x 64   0.85 0.82 0.79 0.93 0.94 0.90     0.76 0.73 0.87 0.82 0.83 0.84
//	   50,257 x 100  0.88 0.83 1.00 1.07               0.99 0.92 0.98 1.00
//	   50,257 x 128  0.86 0.85 1.00 0.96               0.74 0.87 0.94 0.91
//	   50,257 x 300  0.99 1.04 0.93 0.98               0.97 0.98 0.99 1.00
//	   50,257 x 768  1.05 1.02 1.00 1.01               1.01 0.98 0.98 0.98
//
// Without SeveralIDs to end it, 40 and 48 of the same ids have 0.45 of 8 and 16 columns, and 0.97 to 1.18 of 60 and 64, and 48 fresh ones of 8 1.18.
// With AVX2 a Zen 3 took 1.05 to 1.5 times as long so.
//
// Where AVX-512 is in halves, rows of up to severalColumns are, and of those that are not prefetched whole lines. On a Zen 4, times in tables that
// are not prefetched, fresh ids, and the same ones over and over:
//
//	ids           2    4    8    16   24   32       2    4    8    16   24   32
//	12,500 x 8   0.94 0.93 0.84 0.79 0.75 0.67     0.91 0.89 0.80 0.70 0.63 0.64
//	 6,250 x 16  0.93 0.86 0.79 0.72 0.68 0.68     0.92 0.86 0.77 0.68 0.57 0.62
//	 3,333 x 30  0.93 0.90 0.86 0.79 0.73 0.76     0.92 0.85 0.79 0.65 0.63 0.65
//	 1,562 x 64  0.94 0.90 0.90 0.88 0.83 0.79     0.95 0.92 0.86 0.74 0.80 0.77
//	 1,000 x 100 1.04 1.08 1.11 1.11               1.01 1.09 1.11 1.10
//	   781 x 128 0.96 0.94 0.94 0.93               0.92 0.92 0.90 0.93
//	   390 x 256 0.97 0.98 0.99 0.96               0.97 1.03 0.96 0.94
//	   333 x 300 0.98 1.08 1.11 1.04               1.03 1.06 1.17 1.03
//
// (32 against the kernel), and 512 to 2,048 columns 0.96 to 1.06, mostly 0.98. Prefetched ids have to be checked twice: 12 to 24 of 30 to 64 columns
// take 0.87 to 1.05 of the time where they are fresh, and the same ones 0.62 to 0.80, but 3 to 6 of 192 and 256 columns 1.03 to 1.08.
func copiesByID(rows, cols int, fetches bool) bool {
	return halves() && (cols <= severalColumns || cols%copyColumns == 0 && !fetches) || fullWidth() && rows*cols > tuning.CopyElements
}

// copyByID checks up to 63 ids and copies their rows in one call, prefetched or not, and returns how many, or -1 if an id is outside or has more
// rows to choose from than its bits count.
func copyByID[I ID](dst, table *Matrix, ids []I, fetches bool) (done int) {
	if fetches {
		if kernels.FirstOutside(ids, table.Rows) >= 0 {
			return -1
		}
		fetchFew(table, ids)
	}
	out, from := (*matrixArg)(dst), (*matrixArg)(table)
	first, limit := unsafe.Pointer(&ids[0]), idLimit[I](table.Rows)
	switch {
	case wide(ids) != 0:
		done = gatherFew64AVX512(out, from, first, len(ids), limit)
	case limit > math.MaxUint32:
		return -1
	default:
		done = gatherFew32AVX512(out, from, first, len(ids), limit)
	}
	if done >= 0 {
		race.WriteMatrix(dst)
		race.ReadRows(table, ids)
	}
	return done
}

//go:noescape
func ids32BelowAVX2(ids unsafe.Pointer, n int, limit uint32) (ok bool)

//go:noescape
func ids64BelowAVX2(ids unsafe.Pointer, n int, limit uint64) (ok bool)

//go:noescape
func ids32BelowAVX512(ids unsafe.Pointer, n int, limit uint32) (ok bool)

//go:noescape
func ids64BelowAVX512(ids unsafe.Pointer, n int, limit uint64) (ok bool)

//go:noescape
func fetchRowsAVX2(table *float32, stride uintptr, ids unsafe.Pointer, wide uint64, n, bytes int, straddle bool)

//go:noescape
func gatherFew32AVX512(dst, table *matrixArg, ids unsafe.Pointer, n int, limit uint64) (done int)

//go:noescape
func gatherFew64AVX512(dst, table *matrixArg, ids unsafe.Pointer, n int, limit uint64) (done int)

//go:noescape
func copyRowsAVX2(dst *float32, stride uintptr, rows **float32, n, cols int)

//go:noescape
func copyFarRowAVX512(dst, src *float32, cols int)

//go:noescape
func copyRowAVX512(dst, src *float32, cols int)

//go:noescape
func copyRowAVX2(dst, src *float32, cols int)
