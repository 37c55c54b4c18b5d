// Package exact holds float64 functions whose results are the same bits on every machine, unlike those of package math,
// where a machine may have assembly of its own or fuse a multiplication with an addition.
//
// They are built from integer arithmetic, + - * / and the exact functions of package math alone, and each product is
// rounded by an explicit conversion before anything is added to it, which forbids a compiler to fuse the two. Where a
// conversion is missing, the product is exact and fusing would change nothing. (math.Sqrt needs no replacement: it is
// correctly rounded everywhere.)
package exact

import "math"

// horner returns the polynomial whose coefficients are c, that of the highest power first, at z.
func horner(z float64, c []float64) float64 {
	p := c[0]
	for _, a := range c[1:] {
		p = float64(p*z) + a
	}
	return p
}

// twoSum returns a + b rounded, and its rounding error, exactly (Knuth).
func twoSum(a, b float64) (sum, err float64) {
	sum = a + b
	v := sum - a
	return sum, (a - (sum - v)) + (b - v)
}

// twoProduct returns a * b rounded, and its rounding error, exactly unless it is subnormal (Dekker). Magnitudes are
// below 2^995.
func twoProduct(a, b float64) (product, err float64) {
	product = float64(a * b)
	ah, al := halves(a)
	bh, bl := halves(b)
	return product, al*bl - (((product - ah*bh) - al*bh) - ah*bl) // each of these products is exact
}

// halves splits a into two numbers of at most 26 bits (Veltkamp).
func halves(a float64) (hi, lo float64) {
	c := float64((1<<27 + 1) * a)
	hi = c - (c - a)
	return hi, a - hi
}

// pow2 returns 2^k for k in [-1022, 1023].
func pow2(k int) float64 { return math.Float64frombits(uint64(1023+k) << 52) }
