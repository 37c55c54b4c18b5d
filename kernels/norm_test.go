package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rowvec/rowvec/internal/reference"
	"github.com/rowvec/rowvec/kernels"
)

// plainNorm is layer normalisation by the words of its definition, and plainNormBackward its gradient.
func plainNorm(x, gamma, beta []float32, epsilon float32) (y, xhat []float32, r float32) {
	n := float32(len(x))
	mean := plainSum(x) / n
	var squares []float32
	for _, v := range x {
		c := v - mean
		squares = append(squares, float32(c*c))
	}
	variance := plainSum(squares) / n
	r = 1 / float32(math.Sqrt(float64(variance+epsilon)))
	for j, v := range x {
		c := v - mean
		xhat = append(xhat, float32(c*r))
		scaled := float32(xhat[j] * gamma[j])
		y = append(y, scaled+beta[j])
	}
	return y, xhat, r
}

func plainNormBackward(x, d, gamma []float32, epsilon float32, dGamma, dBeta []float32) (dx []float32) {
	n := float32(len(x))
	_, xhat, r := plainNorm(x, gamma, gamma, epsilon)
	var g, gx []float32
	for j, v := range d {
		g = append(g, float32(v*gamma[j]))
		gx = append(gx, float32(g[j]*xhat[j]))
	}
	a, b := plainSum(g)/n, plainSum(gx)/n
	for j, v := range d {
		dGamma[j] += float32(v * xhat[j])
		dBeta[j] += v
		left, right := g[j]-a, float32(xhat[j]*b)
		dx = append(dx, float32((left-right)*r))
	}
	return dx
}

func plainSum(x []float32) float32 {
	ones := make([]float32, len(x))
	for i := range ones {
		ones[i] = 1
	}
	return plainDot(x, ones)
}

func TestLayerNormByHand(t *testing.T) {
	gamma, beta := []float32{1, 2, -1, 4}, []float32{0, 1, 0, negativeZero}
	src := rows([]float32{1, 1, 3, 3}, []float32{-10, 10, -10, 10}, []float32{7, 7, 7, 7}, []float32{0, inf, 0, 0},
		[]float32{nan, 0, 0, 0}, []float32{4, 0, 0, 0})
	dst := filled(6, 4, untouched)
	kernels.LayerNorm(dst, src, gamma, beta, 0)
	const root3 = 1.7320508 // (4-1)/sqrt(3)
	r := 1 / float32(math.Sqrt(3))
	expect(t, "LayerNorm", dst.Data, []float32{
		-1, -1, -1, 4,
		-1, 3, 1, 4,
		nan, nan, nan, nan, // 0 times infinity
		nan, nan, nan, nan,
		nan, nan, nan, nan,
		3 * r, float32(-r*2) + 1, r, float32(-r * 4),
	})
	within(t, "LayerNorm", dst.Row(5)[0], root3, 1e-6)

	kernels.LayerNorm(dst, src, gamma, beta, 3) // 1/sqrt(1+3), of a variance of 1
	expect(t, "with epsilon", dst.Row(0), []float32{-0.5, 0, -0.5, 2})
	expect(t, "equal elements", dst.Row(2), []float32{0, 1, 0, 0})

	src = rows([]float32{-1e18, 1e18, -1e18, 1e18}, []float32{-2e19, 2e19, -2e19, 2e19}, []float32{3e38, 3e38, 0, 0})
	dst = filled(3, 4, untouched)
	kernels.LayerNorm(dst, src, gamma, beta, 0)
	expect(t, "large elements", dst.Row(0), []float32{-1, 3, 1, 4})
	expect(t, "squares beyond float32", dst.Row(1), []float32{0, 1, 0, 0})
	expect(t, "a sum beyond float32", dst.Row(2), []float32{nan, nan, nan, nan})

	src = rows([]float32{1, 1, 3, 3}, []float32{-10, 10, -10, 10}) // xhat is -1, -1, 1, 1 and -1, 1, -1, 1; r is 1 and 1/10
	dOut := rows([]float32{1, 0, 0, 0}, []float32{20, 20, 40, 0})  // g is 1, 0, 0, 0 and 20, 40, -40, 0: a = 1/4, 5 and b = -1/4, 15
	dGamma, dBeta := []float32{0, 0, 0, 100}, []float32{1000, 0, 0, 0}
	dst = filled(2, 4, untouched)
	kernels.LayerNormBackward(dst, dOut, src, gamma, 0, dGamma, dBeta)
	expect(t, "dSrc", dst.Data, []float32{0.5, -0.5, 0, 0, float32(30 * float32(0.1)), float32(20 * float32(0.1)),
		float32(-30 * float32(0.1)), float32(-20 * float32(0.1))})
	expect(t, "dGamma", dGamma, []float32{-21, 20, -40, 100})
	expect(t, "dBeta", dBeta, []float32{1021, 20, 40, 0})

	kernels.LayerNormBackward(dOut, dOut, src, gamma, 0, dGamma, dBeta)
	expect(t, "dSrc in place", dOut.Data, dst.Data)
	expect(t, "dGamma once more", dGamma, []float32{-42, 40, -80, 100})

	none := kernels.Matrix{Rows: math.MaxInt}
	kernels.LayerNorm(none, none, nil, nil, 0)
	kernels.LayerNormBackward(none, none, none, nil, 0, nil, nil)
	none = kernels.Matrix{Cols: 4}
	kernels.LayerNorm(none, none, gamma, beta, 0)
}

// TestLayerNormOrder has sums of which the order shows: see TestDotsByHand.
func TestLayerNormOrder(t *testing.T) {
	const big = 0x1p25
	x := filled(1, 32, 0)
	x.Data[0], x.Data[8], x.Data[4], x.Data[31] = big, -big, 1, 1 // which is lost beside big in another order
	dst, ones := filled(1, 32, untouched), filled(1, 32, 1).Data
	kernels.LayerNorm(dst, x, ones, make([]float32, 32), math.MaxFloat32)
	r := 1 / float32(math.Sqrt(math.MaxFloat32))
	expect(t, "mean of 1/16", dst.Data[1:2], []float32{float32(-0.0625 * r)})

	x.Data[8], x.Data[16] = 0, -big // of one lane; that of 15 is another
	x.Data[15], x.Data[31], x.Data[4] = 1, 0, 0
	kernels.LayerNorm(dst, x, ones, make([]float32, 32), math.MaxFloat32)
	expect(t, "mean of 1/32", dst.Data[1:2], []float32{float32(-0.03125 * r)})
}

// TestLayerNormUnfused has products that cancel what they are added to, but for what only a fused multiply-add keeps: see
// TestUnfused.
func TestLayerNormUnfused(t *testing.T) {
	const x, minus = 1 + 0x1p-12, -(1 + 0x1p-11)
	src := rows([]float32{-2 * x, 2 * x}) // the mean is 0, and r such that xhat is not of a few bits
	gamma, beta, y := []float32{0, 0}, []float32{0, 0}, filled(1, 2, untouched)
	kernels.LayerNorm(y, src, []float32{1, 1}, beta, 0.7)
	xhat := y.Data[1]
	for _, factor := range []float32{1.1, 1.3, 1.7, 1.9} {
		gamma[1] = factor
		beta[1] = -float32(xhat * factor)
		if math.FMA(float64(xhat), float64(factor), float64(beta[1])) == 0 {
			t.Fatal("the example is wrong")
		}
		kernels.LayerNorm(y, src, gamma, beta, 0.7)
		expect(t, "LayerNorm", y.Data[1:], []float32{0})

		dOut := rows([]float32{0, factor})
		dGamma := []float32{0, beta[1]}
		kernels.LayerNormBackward(filled(1, 2, untouched), dOut, src, gamma, 0.7, dGamma, make([]float32, 2))
		expect(t, "dGamma", dGamma, []float32{0, 0})
	}

	src, dOut := filled(1, 32, 0), filled(1, 32, 0) // g is in one lane, and its sum 0
	dOut.Data[0], dOut.Data[16] = minus, x
	ones := filled(1, 32, 1).Data
	ones[16] = x
	dSrc := filled(1, 32, untouched)
	kernels.LayerNormBackward(dSrc, dOut, src, ones, 1, make([]float32, 32), make([]float32, 32))
	expect(t, "a", dSrc.Data[1:2], []float32{0})
}

// TestLayerNorm holds rows of every length to the words of the definition, and to results in float64 within bounds of what
// rounding may do. Gaps between rows stay as they are.
func TestLayerNorm(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for dim := 1; dim < 300; dim++ {
		const rows, epsilon = 3, 1e-5
		gapped := func() kernels.Matrix {
			m := random(rng, rows, dim+2)
			m.Cols = dim
			return m
		}
		src, dOut, out, dSrc := gapped(), gapped(), gapped(), gapped()
		gamma, beta, dGamma, dBeta := random(rng, 1, dim).Data, random(rng, 1, dim).Data, make([]float32, dim), make([]float32, dim)
		for j := range src.Row(1) {
			src.Row(1)[j] += 1000
		}
		wantGamma, wantBeta := make([]float32, dim), make([]float32, dim)
		var gaps []float32
		for _, m := range []kernels.Matrix{out, dSrc} {
			gaps = append(gaps, m.Data[dim:dim+2]...)
		}
		kernels.LayerNorm(out, src, gamma, beta, epsilon)
		kernels.LayerNormBackward(dSrc, dOut, src, gamma, epsilon, dGamma, dBeta)
		what := func(s string) string { return fmt.Sprintf("%s, dim %d", s, dim) }
		for i := range rows {
			y, _, _ := plainNorm(src.Row(i), gamma, beta, epsilon)
			expect(t, what("LayerNorm"), out.Row(i), y)
			expect(t, what("dSrc"), dSrc.Row(i), plainNormBackward(src.Row(i), dOut.Row(i), gamma, epsilon, wantGamma, wantBeta))
		}
		expect(t, what("dGamma"), dGamma, wantGamma)
		expect(t, what("dBeta"), dBeta, wantBeta)
		expect(t, what("gaps"), append(append([]float32(nil), out.Data[dim:dim+2]...), dSrc.Data[dim:dim+2]...), gaps)

		exact, bounds := reference.ExactNorm(src, gamma, beta, epsilon, dOut)
		closeNorm(t, what("LayerNorm"), out, exact.Out, bounds.Out)
		closeNorm(t, what("dSrc"), dSrc, exact.DSrc, bounds.DSrc)
		closeNorm(t, what("dGamma"), vector(dGamma), exact.DGamma, bounds.DGamma)
		closeNorm(t, what("dBeta"), vector(dBeta), exact.DBeta, bounds.DBeta)
		if t.Failed() {
			return
		}
	}
}

func vector(x []float32) kernels.Matrix {
	return kernels.Matrix{Rows: 1, Cols: len(x), Data: x, Stride: len(x)}
}

func closeNorm(t *testing.T, what string, got kernels.Matrix, want, bounds []float64) {
	t.Helper()
	for i := range got.Rows {
		for j, x := range got.Row(i) {
			if k := i*got.Cols + j; !(math.Abs(float64(x)-want[k]) <= bounds[k]) {
				t.Errorf("%s: row %d, column %d: %v, want %v within %g", what, i, j, x, want[k], bounds[k])
				return
			}
		}
	}
}

// TestLayerNormGradient holds the gradient to differences of the result in float64.
func TestLayerNormGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for _, dim := range []int{2, 3, 16, 37} {
		src, dOut, epsilon := filled(2, dim, 0), random(rng, 2, dim), 0.01
		for i := range src.Data {
			src.Data[i] = float32(rng.NormFloat64())
		}
		gamma, beta, dGamma, dBeta := random(rng, 1, dim).Data, random(rng, 1, dim).Data, make([]float32, dim), make([]float32, dim)
		dSrc := filled(2, dim, untouched)
		kernels.LayerNormBackward(dSrc, dOut, src, gamma, float32(epsilon), dGamma, dBeta)

		x, p := make([]float64, 2*dim), make([]float64, 2*dim) // the parameters are gamma, then beta
		for i, v := range src.Data {
			x[i] = float64(v)
		}
		for j := range dim {
			p[j], p[dim+j] = float64(gamma[j]), float64(beta[j])
		}
		loss := func() (sum float64) { // of the results times dOut
			for i := range 2 {
				in, n := x[i*dim:][:dim], float64(dim)
				mean, variance := 0.0, 0.0
				for _, v := range in {
					mean += v / n
				}
				for _, v := range in {
					variance += (v - mean) * (v - mean) / n
				}
				for j, v := range in {
					sum += float64(dOut.Row(i)[j]) * ((v-mean)/math.Sqrt(variance+float64(float32(epsilon)))*p[j] + p[dim+j])
				}
			}
			return sum
		}
		slope := func(v *float64) float64 {
			const h = 1e-4
			old := *v
			*v = old + h
			up := loss()
			*v = old - h
			down := loss()
			*v = old
			return (up - down) / (2 * h)
		}
		_, bounds := reference.ExactNorm(src, gamma, beta, float32(epsilon), dOut)
		size := 0.0
		for _, d := range dOut.Data {
			for _, g := range p {
				size = max(size, math.Abs(float64(d)), math.Abs(float64(d)*g))
			}
		}
		for i, d := range dSrc.Data {
			within(t, fmt.Sprint("dSrc, dim ", dim), d, slope(&x[i]), bounds.DSrc[i]+1e-5*size)
		}
		for j := range dim {
			within(t, fmt.Sprint("dGamma, dim ", dim), dGamma[j], slope(&p[j]), bounds.DGamma[j]+1e-8*size)
			within(t, fmt.Sprint("dBeta, dim ", dim), dBeta[j], slope(&p[dim+j]), bounds.DBeta[j]+1e-8*size)
		}
	}
}

// TestLayerNormReference: PyTorch's results and ours are both within the bounds, and so within twice these of each other.
func TestLayerNormReference(t *testing.T) {
	each(t, reference.NormCases(t), func(c reference.Norm) string { return c.Name },
		func(t *testing.T, c reference.Norm, gap int) {
			src, dOut, epsilon := reference.Copy(c.Src, gap), reference.Copy(c.DOut, gap), float32(c.Epsilon)
			dst, dSrc := reference.Zeros(c.Out, gap), reference.Zeros(c.DSrc, gap)
			dGamma, dBeta := reference.Zeros(c.DGamma, 0), reference.Zeros(c.DBeta, 0)
			kernels.LayerNorm(dst, src, c.Gamma.Data, c.Beta.Data, epsilon)
			kernels.LayerNormBackward(dSrc, dOut, src, c.Gamma.Data, epsilon, dGamma.Data, dBeta.Data)
			_, bounds := reference.ExactNorm(src, c.Gamma.Data, c.Beta.Data, epsilon, dOut)
			for _, r := range []struct {
				what   string
				got    kernels.Matrix
				want   reference.Matrix
				bounds []float64
			}{
				{"out", dst, c.Out, bounds.Out}, {"dSrc", dSrc, c.DSrc, bounds.DSrc},
				{"dGamma", dGamma, c.DGamma, bounds.DGamma}, {"dBeta", dBeta, c.DBeta, bounds.DBeta},
			} {
				want, twice := make([]float64, len(r.bounds)), make([]float64, len(r.bounds))
				for k, x := range r.want.Data {
					want[k], twice[k] = float64(x), 2*r.bounds[k]
				}
				closeNorm(t, r.what, r.got, want, twice)
			}
		})
}

// TestLayerNormMisshapen: matrices and vectors that do not fit together end in a panic.
func TestLayerNormMisshapen(t *testing.T) {
	m := func(rows, cols int) kernels.Matrix { return filled(rows, cols, 1) }
	v := func(n int) []float32 { return make([]float32, n, 20) }
	short := m(2, 5)
	short.Data = short.Data[:9]
	for i, run := range []func(){
		func() { kernels.LayerNorm(m(2, 5), m(2, 4), v(5), v(5), 0) },
		func() { kernels.LayerNorm(m(2, 5), m(3, 5), v(5), v(5), 0) },
		func() { kernels.LayerNorm(m(3, 5), m(2, 5), v(5), v(5), 0) },
		func() { kernels.LayerNorm(short, m(2, 5), v(5), v(5), 0) },
		func() { kernels.LayerNorm(m(2, 5), m(2, 5), v(4)[:4:4], v(5), 0) },
		func() { kernels.LayerNorm(m(2, 5), m(2, 5), v(5), v(4)[:4:4], 0) },
		func() { kernels.LayerNormBackward(m(2, 5), m(2, 4), m(2, 5), v(5), 0, v(5), v(5)) },
		func() { kernels.LayerNormBackward(m(2, 5), short, m(2, 5), v(5), 0, v(5), v(5)) },
		func() { kernels.LayerNormBackward(m(3, 5), m(3, 5), m(2, 5), v(5), 0, v(5), v(5)) },
		func() { kernels.LayerNormBackward(m(2, 5), m(2, 5), m(2, 5), v(5), 0, v(4)[:4:4], v(5)) },
		func() { kernels.LayerNormBackward(m(2, 5), m(2, 5), m(2, 5), v(5), 0, v(5), v(4)[:4:4]) },
		func() { kernels.LayerNormBackward(m(2, 5), m(2, 5), m(2, 5), v(4)[:4:4], 0, v(5), v(5)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("case %d: no panic", i)
				}
			}()
			run()
		}()
	}
}
