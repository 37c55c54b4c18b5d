//go:build purego || (!amd64 && !arm64)

package rowvec

import "github.com/rowvec/rowvec/kernels"

func dots[I ID](dst, a, table *Matrix, ids []I) int { return kernels.Dots(*dst, *a, *table, ids) }

func dotsAll(dst, a, table *Matrix, _ int) { kernels.DotsAll(*dst, *a, *table) }

func squareSum(x, _ []float32) float64 { return squareSumPlain(x) }
