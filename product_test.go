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

// defineProduct is the definition of forward.AddProduct.
func defineProduct(dst, a, src rowvec.Matrix, transposed bool) {
	sum := make([]float32, dst.Cols)
	for i := range dst.Rows {
		for k := range src.Rows {
			at := i*a.Stride + k
			if transposed {
				at = k*a.Stride + i
			}
			kernels.AddScaled(sum, a.Data[at], src.Row(k))
			if k%32 == 31 || k == src.Rows-1 {
				kernels.Add(dst.Row(i), sum)
				clear(sum)
			}
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
		for _, terms := range []int{31, 32, 33, 63, 64, 65} { // a sum, and more
			try(1, terms, 83, 1, false)
			try(6, terms, 83, 0, true)
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

// defineSquaredNorms is the definition of forward.SquaredNorms.
func defineSquaredNorms(dst []float64, m rowvec.Matrix) {
	for r := range m.Rows {
		var lanes [16]float64
		for i, v := range m.Row(r) {
			lanes[i%16] += float64(float64(v) * float64(v))
		}
		for n := 8; n > 0; n /= 2 {
			for k := range n {
				lanes[k] += lanes[k+n]
			}
		}
		dst[r] = lanes[0]
	}
}

// TestSquaredNorms holds sums of squares to their definition, of any length, with anything to prefetch; and none is finite where an element
// is not.
func TestSquaredNorms(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		try := func(n, cols, gap int) {
			t.Helper()
			m := matrix(heap(), rng, n, cols, gap)
			for i := range m.Data {
				m.Data[i] = float32(math.Ldexp(rng.NormFloat64(), rng.IntN(30)))
			}
			got, want := make([]float64, n+1), make([]float64, n+1)
			got[n], want[n] = 5, 5
			defineSquaredNorms(want, m)
			for _, next := range [][]float32{nil, m.Data[n/2:], make([]float32, 3)} {
				clear(got[:n])
				if forward.SquaredNorms(got[:n], m, next); !slices.Equal(got, want) {
					t.Fatalf("%d rows of %d and %d apart: %v, want %v", n, cols, gap, got, want)
				}
			}
			for _, bad := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
				i := rng.IntN(n)
				x := &m.Row(i)[rng.IntN(cols)]
				old := *x
				*x = float32(bad)
				forward.SquaredNorms(got[:n], m, nil)
				for k := range n {
					if finite := got[k]-got[k] == 0; finite != (k != i) {
						t.Errorf("%d rows of %d, one of them with %v: the sum of row %d is %v", n, cols, bad, k, got[k])
					}
				}
				*x = old
			}
		}
		for _, cols := range dims(1) {
			try(1, cols, 0)
			try(1+cols%4, cols, cols%3)
		}
		try(1030, 3, 1)
		try(1030, 17, 0)
		large(t)
		try(2, 65<<10+5, 1)
		try(3, 64<<10, 0)
	})
}
