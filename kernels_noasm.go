//go:build purego || (!amd64 && !arm64)

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/kernels"
)

// chunkElements is the longest row that Gather copies by itself.
const chunkElements = 64 << 10

func idsBelow[I ID](ids []I, rows int) bool { return kernels.FirstOutside(ids, rows) < 0 }

func gather[I ID](dst, table *Matrix, ids []I, _ *hint) int { return kernels.Gather(*dst, *table, ids) }

func gatherScaled[I ID](dst, table *Matrix, ids []I, scale float32, _ *hint) int {
	return kernels.GatherScaled(*dst, *table, ids, scale)
}

func scatterAdd[I ID](dst *Matrix, ids []I, alpha float32, src *Matrix, _ *hint) int {
	return kernels.ScatterAdd(*dst, ids, alpha, *src)
}

func embed[I ID](dst, table *Matrix, ids []I, scale float32, positions *Matrix, start, seq int, _ *hint) int {
	return kernels.Embed(*dst, *table, ids, scale, *positions, start, seq)
}

func embedAt[I, P ID](dst, table *Matrix, ids []I, scale float32, positions *Matrix, at []P, _ *hint) int {
	return kernels.EmbedAt(*dst, *table, ids, scale, *positions, at)
}

func bagMaxBackward(dst, table *Matrix, ids []int, both *Matrix, bags []int, _ *hint) int {
	return defineBagMaxBackward(dst, table, ids, both, bags)
}

func fetchNext(forward.Next) {}

func ahead(*Matrix) int { return 0 }

func addBatches(dst, src Matrix, batches int) { kernels.AddBatches(dst, src, batches) }

func addScaled(dst []float32, alpha float32, src []float32) { kernels.AddScaled(dst, alpha, src) }

func add(dst, src []float32) { kernels.Add(dst, src) }

func scale(dst []float32, alpha float32) { kernels.Scale(dst, alpha) }

// copyRow copies a row of n > 0 elements.
func copyRow(dst, src *float32, n, _ int) { copy(unsafe.Slice(dst, n), unsafe.Slice(src, n)) }

// copyFew copies rows to those of dst.
func copyFew(dst *Matrix, rows []*float32) { copyEach(dst, rows) }

// copiesByID and copyByID: that is for AVX-512.
func copiesByID(int, int, bool) bool                 { return false }
func copyByID[I ID](_, _ *Matrix, _ []I, _ bool) int { return -1 }

// cached, fewAtOnce, fewPart and fetchFew: nothing is prefetched.
func cached(*Matrix) bool         { return true }
func fewAtOnce(int, int) bool     { return true }
func fewPart(*Matrix) int         { return severalIDs }
func fetchFew[I ID](*Matrix, []I) {}
