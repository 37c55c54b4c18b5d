package rowvec_test

import (
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
