package rowvec_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/kernels"
)

// TestQuantized holds rows in 16 bits and their products to the definition, at every level, for all that can be left behind
// whole vectors, and for more rows than one call does.
func TestQuantized(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		step := 1
		if isatest.Sampled() {
			step = 23
		}
		for cols := 1; cols <= 530; cols += step {
			quantized(t, cols, 4+4*(cols%3), 4+4*(cols%5))
		}
		quantized(t, 32, 140, 300)
		quantized(t, 768, 20, 100)
		quantized(t, 16<<10, 8, 8)
		quantized(t, 16<<10+1, 4, 4)
		quantized(t, 40, 5, 7)
	})
}

func quantized(t *testing.T, cols, rows, others int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(cols), 16))
	src := rowvec.Matrix{Rows: rows + others, Cols: cols, Stride: cols + 3, Data: make([]float32, (rows+others)*(cols+3))}
	for i := range src.Rows {
		row, size := src.Row(i), math.Pow(10, float64(rng.IntN(40)-20))
		for j := range row {
			row[j] = float32(rng.NormFloat64() * size)
		}
		switch rng.IntN(12) {
		case 0:
			clear(row)
		case 1:
			row[rng.IntN(cols)] = float32(math.NaN())
		case 2:
			row[rng.IntN(cols)] = float32(math.Inf(1))
		case 3:
			atLimit(row, 1e-30)
		case 4:
			atLimit(row, 1e36)
		}
	}
	n := kernels.QuantizedColumns(cols)
	got, want := slices.Repeat([]int16{77}, src.Rows*n), make([]int16, src.Rows*n)
	gotFactors, wantFactors := slices.Repeat([]float32{7}, src.Rows), make([]float32, src.Rows)
	kernels.Quantize(want, wantFactors, src)
	forward.Quantize(got, gotFactors, src)
	if !slices.Equal(got, want) || !slices.Equal(gotFactors, wantFactors) {
		t.Fatalf("%d columns: rows in 16 bits differ", cols)
	}
	products, all := slices.Repeat([]int32{77}, rows*others), make([]int32, rows*others)
	kernels.QuantizedDots(all, want[:rows*n], want[rows*n:], n)
	forward.QuantizedDots(products, want[:rows*n], want[rows*n:], n, src)
	if !slices.Equal(products, all) {
		t.Fatalf("%d columns: products of %d and %d rows differ", cols, rows, others)
	}
}

// atLimit sets a row to one whose squares add up to a number.
func atLimit(row []float32, squares float32) {
	clear(row)
	for x := float32(math.Sqrt(float64(squares))); ; x = math.Nextafter32(x, 0) {
		rest := float32(math.Sqrt(float64(squares - float32(x*x))))
		if sum := float32(x * x); sum == squares {
			row[0] = x
			return
		} else if len(row) > 1 && sum+float32(rest*rest) == squares {
			row[0], row[1] = x, rest
			return
		}
	}
}
