package kernels_test

import (
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec/kernels"
)

func TestQuantize(t *testing.T) {
	const n = 32
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		row    []float32
		factor float32
		want   []int16
	}{
		{[]float32{1}, 30000, []int16{30000}},
		{[]float32{-2, 0}, 15000, []int16{-30000, 0}},
		{[]float32{0.00005, 0.00015, -0.00015, -0.00025, 1}, 30000, []int16{2, 4, -4, -8, 30000}}, // halves, to even ones
		{[]float32{0x1p-49, 0}, 30000 * 0x1p49, []int16{30000, 0}},
		{[]float32{1e18, 1e-18}, 3e-14, []int16{30000, 0}},
		{[]float32{0, 0}, 0, nil},
		{[]float32{1e-16, 0}, 0, nil}, // squares below what is taken
		{[]float32{2e18, 0}, 0, nil},  // and above
		{[]float32{1, nan}, 0, nil},
		{[]float32{inf, 1}, 0, nil},
	} {
		dst, factors := slices.Repeat([]int16{77}, n), []float32{7}
		kernels.Quantize(dst, factors, kernels.Matrix{Rows: 1, Cols: len(c.row), Stride: len(c.row), Data: c.row})
		want := append(slices.Clone(c.want), make([]int16, n-len(c.want))...)
		if factors[0] != c.factor || !slices.Equal(dst, want) {
			t.Errorf("%v: factor %v, %v; want %v, %v", c.row, factors[0], dst, c.factor, want)
		}
	}
}

func TestQuantizedDots(t *testing.T) {
	a, b := []int16{1, 2, 3, -4, 32767, -32768}, []int16{5, 7, -1, 1, 32767, -32768, 0, 0, 0}
	dst := make([]int32, 6)
	kernels.QuantizedDots(dst, a, b, 3)
	if want := []int32{1*5 + 2*7 - 3, 1 + 2*32767 - 3*32768, 0, -4*5 + 32767*7 + 32768, -4 + 32767*32767 - 1<<31 + 1<<30 + 1<<31, 0}; !slices.Equal(dst, want) {
		t.Errorf("%v, want %v", dst, want)
	}
}
