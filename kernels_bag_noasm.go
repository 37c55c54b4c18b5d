//go:build purego || (!amd64 && !arm64)

package rowvec

import "github.com/rowvec/rowvec/kernels"

func bagSum[I ID](dst, table *Matrix, ids []I, offsets []int, weights []float32, _ bool) int {
	return kernels.BagSum(*dst, *table, ids, offsets, weights)
}

func bagMean[I ID](dst, table *Matrix, ids []I, offsets []int, _ bool) int {
	return kernels.BagMean(*dst, *table, ids, offsets)
}

func bagMax[I ID](dst, table *Matrix, ids []I, offsets []int, _ bool) int {
	return kernels.BagMax(*dst, *table, ids, offsets)
}
