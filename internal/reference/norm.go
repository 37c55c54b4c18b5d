package reference

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec/kernels"
)

// Norm is a case of layer normalisation by PyTorch, and of its gradient. Its sums are in an order of their own, and its
// gradient in another form: see ExactNorm.
type Norm struct {
	Name    string `json:"name"`
	Src     Matrix `json:"src"`
	Gamma   Matrix `json:"gamma"` // one row, like the others of the parameters
	Beta    Matrix `json:"beta"`
	Epsilon Float  `json:"epsilon"`
	Out     Matrix `json:"out"`
	DOut    Matrix `json:"dout"`
	DSrc    Matrix `json:"dsrc"`
	DGamma  Matrix `json:"dgamma"`
	DBeta   Matrix `json:"dbeta"`
}

// NormCases returns the cases of norm.json.
func NormCases(tb testing.TB) []Norm { tb.Helper(); return load[Norm](tb, "norm.json") }

// NormResults are those of layer normalisation and its gradient, or bounds of errors in them. Rows have no gaps.
type NormResults struct{ Out, DSrc, DGamma, DBeta []float64 }

// ExactNorm returns what layer normalisation and its gradient are in float64, and how far results in float32 may be from
// that which add up in whatever order: the terms of first order of the error of each step, with every sum of n terms
// rounded n times, and a hundredth more. xhat counts as (|x|+|mean|)*r, since PyTorch's gradient multiplies x and the mean
// by themselves.
func ExactNorm(src kernels.Matrix, gamma, beta []float32, epsilon float32, dOut kernels.Matrix) (exact, bounds NormResults) {
	const u = 0x1p-24 * 1.01
	n, rows := float64(src.Cols), float64(src.Rows)
	results := func() NormResults {
		return NormResults{make([]float64, src.Rows*src.Cols), make([]float64, src.Rows*src.Cols),
			make([]float64, src.Cols), make([]float64, src.Cols)}
	}
	exact, bounds = results(), results()
	row := func() []float64 { return make([]float64, src.Cols) }
	c, xhat, large, xhatError := row(), row(), row(), row()
	for i := range src.Rows {
		x, d := src.Row(i), dOut.Row(i)
		var mean, size, variance, varianceError float64
		for _, y := range x {
			mean += float64(y) / n
			size += math.Abs(float64(y)) / n
		}
		meanError := n * u * size
		cError := func(c float64) float64 { return meanError + u*math.Abs(c) }
		for j, y := range x {
			c[j] = float64(y) - mean
			variance += c[j] * c[j] / n
			varianceError += 2 * math.Abs(c[j]) * cError(c[j]) / n
		}
		varianceError += (n + 1) * u * variance
		root := math.Sqrt(variance + float64(epsilon))
		rError := 0.5*varianceError/(root*root) + 2.5*u // relative
		var a, b, aError, bError float64
		for j, y := range x {
			xhat[j] = c[j] / root
			large[j] = (math.Abs(float64(y)) + math.Abs(mean)) / root
			xhatError[j] = cError(c[j])/root + large[j]*(rError+u)
			scaled := xhat[j] * float64(gamma[j])
			k := i*src.Cols + j
			exact.Out[k] = scaled + float64(beta[j])
			bounds.Out[k] = math.Abs(float64(gamma[j]))*xhatError[j] + u*(math.Abs(scaled)+math.Abs(exact.Out[k]))

			g := float64(d[j]) * float64(gamma[j])
			a += g / n
			b += g * xhat[j] / n
			aError += (n + 1) * u * math.Abs(g) / n
			bError += (math.Abs(g)*xhatError[j] + (n+2)*u*math.Abs(g)*large[j]) / n
			exact.DGamma[j] += float64(d[j]) * xhat[j]
			exact.DBeta[j] += float64(d[j])
			bounds.DGamma[j] += math.Abs(float64(d[j])) * (xhatError[j] + (rows+1)*u*large[j])
			bounds.DBeta[j] += rows * u * math.Abs(float64(d[j]))
		}
		for j := range x {
			g, k := float64(d[j])*float64(gamma[j]), i*src.Cols+j
			t := g - a - xhat[j]*b
			all := math.Abs(g) + math.Abs(a) + large[j]*math.Abs(b)
			exact.DSrc[k] = t / root
			bounds.DSrc[k] = (3*u*all + aError + large[j]*bError + math.Abs(b)*xhatError[j] + all*(rError+u)) / root
		}
	}
	return exact, bounds
}
