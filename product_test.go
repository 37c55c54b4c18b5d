package rowvec_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/kernels"
)

// defineProduct is the definition of forward.AddProduct.
func defineProduct(dst, a, src rowvec.Matrix, transposed bool) {
	for i := range dst.Rows {
		for k := range src.Rows {
			at := i*a.Stride + k
			if transposed {
				at = k*a.Stride + i
			}
			kernels.AddScaled(dst.Row(i), a.Data[at], src.Row(k))
		}
	}
}

// TestProducts holds sums of rows with weights, as the output layer has them, to their definition: of few rows and many, and in which one
// call of assembly does not do all.
func TestProducts(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		try := func(n, terms, dim, gap int, transposed bool) {
			t.Helper()
			dst, src := matrix(heap(), rng, n, dim, gap), matrix(heap(), rng, terms, dim, 3*gap)
			a, next := matrix(heap(), rng, n, terms, 2*gap), matrix(heap(), rng, 3, dim, 0)
			if transposed {
				a = matrix(heap(), rng, terms, n, 2*gap)
			}
			want := clone(dst)
			defineProduct(want, a, src, transposed)
			forward.AddProduct(dst, a, src, transposed, next)
			if d := diff(dst.Data, want.Data, false); d != "" {
				t.Fatalf("%d rows of %d and %d apart, %d terms, transposed %t: %s", n, dim, gap, terms, transposed, d)
			}
		}
		for _, dim := range dims(1) {
			for _, n := range []int{1, 2, 3, 4, 5, 7, 8} {
				try(n, 1, dim, 1, n%2 == 0)
				try(n, 1+n%5, dim, n%3, n%2 == 1)
			}
		}
		try(70, 300, 40, 1, false)
		try(70, 300, 40, 1, true)
		try(5, 1030, 17, 0, false)
		try(5, 2050, 3, 1, true)
		large(t)
		try(5, 90, 768, 0, true)
		try(5, 3, 65<<10, 1, false)
		try(4, 2, 130<<10, 0, true)
	})
}

// squareSum is the definition of forward.SquareSum.
func squareSum(x []float32) float64 {
	var lanes [16]float64
	for i, v := range x {
		lanes[i%16] += float64(float64(v) * float64(v))
	}
	for n := 8; n > 0; n /= 2 {
		for k := range n {
			lanes[k] += lanes[k+n]
		}
	}
	return lanes[0]
}

// TestSquareSums holds sums of squares to their definition, of any length, with anything to prefetch, and with infinities and NaN.
func TestSquareSums(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		try := func(n int) {
			t.Helper()
			x := matrix(heap(), rng, 1, n, 0).Data
			want := squareSum(x)
			for _, next := range [][]float32{nil, x[n/2:], matrix(heap(), rng, 1, 3, 0).Data} {
				if got := forward.SquareSum(x, next); math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
					t.Fatalf("%d elements: %v, want %v", n, got, want)
				}
			}
			for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
				if n > 0 {
					x[rng.IntN(n)] = float32(bad)
					if got := forward.SquareSum(x, nil); got-got == 0 {
						t.Errorf("%d elements, one of them %v: %v", n, bad, got)
					}
				}
			}
		}
		for _, n := range dims(0) {
			try(n)
		}
		large(t)
		try(65<<10 + 5)
		try(200<<10 + 16)
	})
}
