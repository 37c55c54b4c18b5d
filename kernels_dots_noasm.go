//go:build purego || (!amd64 && !arm64)

package rowvec

import "github.com/rowvec/rowvec/kernels"

func dots[I ID](dst, a, table *Matrix, ids []I) int { return kernels.Dots(*dst, *a, *table, ids) }

func dotsAll(dst, a, table *Matrix, _ int) { kernels.DotsAll(*dst, *a, *table) }

func bagDots[I ID](dst []float32, a, table *Matrix, ids []I, offsets []int, _ *hint) int {
	return bagDotsPlain(dst, a, table, ids, offsets)
}

func squaredNorms(dst []float64, m Matrix, _ []float32) { squaredNormsPlain(dst, &m) }
