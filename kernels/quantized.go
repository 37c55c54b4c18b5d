package kernels

import "math"

// QuantizedLength is the length of the rows that Quantize makes, but for rounding.
const QuantizedLength = 30000

// What Quantize takes the sums of squares of rows to be, so that neither they nor factors are rounded coarsely or infinite.
const (
	leastSquares = 1e-30
	mostSquares  = 1e36
)

// QuantizedColumns returns the number of elements that a row of so many columns has in 16 bits: whole cache lines of them.
func QuantizedColumns(cols int) int { return (cols + 31) &^ 31 }

// Quantize sets dst to the rows of src in 16 bits, as a search compares them first, with a factor for each that makes its
// length QuantizedLength: each element is multiplied by the factor, rounded to float32, and then to the nearest integer, or
// of two the even one. Rows of dst have QuantizedColumns(src.Cols) elements and no gaps; those behind the columns of src are
// set to 0.
//
// The factor is QuantizedLength divided by the root of the dot product of the row with itself, which is that of Dots; each
// operation is rounded to float32. A row whose dot product is below 1e-30, above 1e36 or NaN has the factor 0, and zeros.
//
// len(factors) is src.Rows, and len(dst) that times QuantizedColumns(src.Cols).
func Quantize(dst []int16, factors []float32, src Matrix) {
	plain(&src, len(factors), src.Cols)
	n := QuantizedColumns(src.Cols)
	for i := range factors {
		to, x := dst[i*n:][:n], row(&src, i)
		factors[i] = 0
		clear(to)
		squares := dot(x, x)
		if !(squares >= leastSquares && squares <= mostSquares) {
			continue
		}
		factors[i] = QuantizedLength / root(squares)
		for k, v := range x {
			to[k] = int16(math.RoundToEven(float64(float32(v * factors[i]))))
		}
	}
}

// QuantizedDots sets element j of row i of dst to the dot product of row i of a with row j of b, which have n elements, n
// being above 0, and no gaps; rows of dst have as many elements as b has rows. A dot product is that of integers, and exact
// for rows that Quantize has made; others are exact modulo 2^32.
func QuantizedDots(dst []int32, a, b []int16, n int) {
	cols := len(b) / n
	for i := range len(a) / n {
		x, to := a[i*n:][:n], dst[i*cols:][:cols]
		for j := range to {
			y := b[j*n:][:n]
			sum := int32(0)
			for k, v := range x {
				sum += int32(v) * int32(y[k])
			}
			to[j] = sum
		}
	}
}
