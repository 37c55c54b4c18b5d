//go:build !purego

package rowvec

import (
	"math"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/kernels"
)

// byLines: the assembly cannot prefetch line by line.
const byLines = false

// streams: no Arm machine was at hand to show that writing past the caches pays.
func streams(*Matrix) bool { return false }

// windowAhead: rows in their order are left to the processor.
func windowAhead(*Matrix) uintptr { return 0 }

// do runs kernel k on one chunk. It is not inlined, since the check of the stack at its start is where a loop over
// chunks can be preempted.
//
//go:noinline
func (a *rowArgs) do(k op) int {
	switch k {
	case opGather:
		return gatherNEON(a)
	case opGatherScaled:
		return gatherScaledNEON(a)
	case opGatherSum:
		return gatherSumNEON(a)
	case opScatterAdd:
		return scatterAddNEON(a)
	case opBagMaxBackward:
		return bagMaxBackwardNEON(a)
	default:
		return embedNEON(a)
	}
}

//go:noinline
func (a *batchArgs) do() { addBatchesNEON(a) }

// addScaled adds to elements, of which there are some, as many others. It is not inlined, for the reason that do is not.
//
//go:noinline
func addScaled(dst []float32, alpha float32, src []float32) {
	if isa.Active() == isa.Portable {
		kernels.AddScaled(dst, alpha, src)
		return
	}
	if len(dst) > chunkElements {
		addScaledChunks(dst, alpha, src)
		return
	}
	race.Write(unsafe.SliceData(dst), len(dst))
	race.Read(unsafe.SliceData(src), len(src))
	addScaledNEON(&dst[0], &src[0], len(dst), alpha)
}

// scaleRow sets dst to scale times src, both no more than a chunk and not empty; they may be the same. It is not inlined, likewise.
//
//go:noinline
func scaleRow(dst, src []float32, scale float32) {
	race.Write(unsafe.SliceData(dst), len(dst))
	race.Read(unsafe.SliceData(src), len(src))
	scaleRowNEON(&dst[0], &src[0], len(dst), scale)
}

// embedRow sets dst to scale times src plus the beginning of positions, likewise.
//
//go:noinline
func embedRow(dst, src []float32, scale float32, positions []float32) {
	race.Write(unsafe.SliceData(dst), len(dst))
	race.Read(unsafe.SliceData(src), len(src))
	race.Read(unsafe.SliceData(positions), len(dst))
	embedRowNEON(&dst[0], &src[0], &positions[0], len(dst), scale)
}

// copyRow copies a row of n > 0 elements.
func copyRow(dst, src *float32, n, _ int) { copy(unsafe.Slice(dst, n), unsafe.Slice(src, n)) }

// copyFew copies rows to those of dst.
func copyFew(dst *Matrix, rows []*float32) { copyEach(dst, rows) }

// copiesByID and copyByID: that is for AVX-512.
func copiesByID(int, int, bool) bool                 { return false }
func copyByID[I ID](_, _ *Matrix, _ []I, _ bool) int { return -1 }

// idsBelowChunk reports whether each of n ids, read as unsigned, is below limit.
//
//go:noinline
func idsBelowChunk(ids unsafe.Pointer, wide uint64, n int, limit uint64) bool {
	switch {
	case wide == 0 && limit > math.MaxUint32:
		return true
	case wide == 0:
		return ids32BelowNEON(ids, n, uint32(limit))
	}
	return ids64BelowNEON(ids, n, limit)
}

// vek, which does the two below on amd64, has no assembly for arm64. Multiplying by 1 is exact.

func add(dst, src []float32) { addScaled(dst, 1, src) }

func scale(dst []float32, alpha float32) {
	if isa.Active() == isa.Portable {
		kernels.Scale(dst, alpha)
		return
	}
	for len(dst) > chunkElements {
		scaleRow(dst[:chunkElements], dst[:chunkElements], alpha)
		dst = dst[chunkElements:]
	}
	scaleRow(dst, dst, alpha)
}

// fetchRows prefetches so many bytes of the rows that n ids choose.
func fetchRows(table *Matrix, ids unsafe.Pointer, wide uint64, n, bytes int) {
	fetchRowsNEON(&table.Data[0], uintptr(table.Stride)*4, ids, wide, n, bytes)
}

//go:noescape
func fetchRowsNEON(table *float32, stride uintptr, ids unsafe.Pointer, wide uint64, n, bytes int)

//go:noescape
func gatherNEON(a *rowArgs) (done int)

//go:noescape
func gatherScaledNEON(a *rowArgs) (done int)

//go:noescape
func gatherSumNEON(a *rowArgs) (done int)

//go:noescape
func scatterAddNEON(a *rowArgs) (done int)

//go:noescape
func embedNEON(a *rowArgs) (done int)

//go:noescape
func bagMaxBackwardNEON(a *rowArgs) (done int)

//go:noescape
func addBatchesNEON(a *batchArgs)

//go:noescape
func addScaledNEON(dst, src *float32, n int, alpha float32)

//go:noescape
func scaleRowNEON(dst, src *float32, n int, scale float32)

//go:noescape
func embedRowNEON(dst, src, positions *float32, n int, scale float32)

//go:noescape
func ids32BelowNEON(ids unsafe.Pointer, n int, limit uint32) (ok bool)

//go:noescape
func ids64BelowNEON(ids unsafe.Pointer, n int, limit uint64) (ok bool)
