package lookup

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec/kernels"
)

// TestDoubt has rows whose elements are all rounded by nearly a half, in the same direction: products in 16 bits are then
// off by nearly as much as they can be.
func TestDoubt(t *testing.T) {
	tight := 0.0
	for dim := 64; dim <= 2048; dim++ {
		part := math.Abs(math.Mod(kernels.QuantizedLength/math.Sqrt(float64(dim)), 1) - 0.5)
		if part > 0.02 {
			continue
		}
		row := kernels.Matrix{Rows: 1, Cols: dim, Stride: dim, Data: make([]float32, dim)}
		for i := range row.Data {
			row.Data[i] = 0.37
		}
		n := kernels.QuantizedColumns(dim)
		short, factors := make([]int16, n), make([]float32, 1)
		kernels.Quantize(short, factors, row)
		product, score := make([]int32, 1), make([]float32, 1)
		kernels.QuantizedDots(product, short, short, n)
		kernels.DotsAll(kernels.Matrix{Rows: 1, Cols: 1, Stride: 1, Data: score}, row, row)
		off := math.Abs(float64(score[0])*float64(factors[0])*float64(factors[0]) - float64(product[0]))
		if off > doubt(dim) {
			t.Errorf("dim %d: a product is off by %v, more than %v", dim, off, doubt(dim))
		}
		tight = max(tight, off/doubt(dim))
	}
	if tight < 0.9 {
		t.Errorf("products are off by %.2f times what is allowed for at most", tight)
	}
}
