package exact

import "math"

// The logarithm of 2 is the sum of these two; the first has 32 bits, so that its products with exponents are exact.
const (
	Ln2Hi = 0x1.62e42feep-1
	Ln2Lo = math.Ln2 - Ln2Hi
)

// Exp returns e^x with an error below 0.6 units in the last place where the result is a normal number. As usual, it is
// +Inf for what is too large, 0 for what is too small, and NaN for a NaN.
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x) || x > 710:
		return x + math.Inf(1)
	case x < -746:
		return 0
	}
	// x = k*ln 2 + r + e, |r| <= ln(2)/2
	k := math.Floor(float64(x*(1/math.Ln2)) + 0.5)
	r, e := twoSum(x-k*Ln2Hi, float64(-k*Ln2Lo)) // k*Ln2Hi is exact
	y, rest := twoSum(1, r)
	y += rest + (e + float64(float64(r*r)*horner(r, expTerms[:])))
	half := int(k) >> 1 // 2^k itself may be no float64
	return float64(y*pow2(half)) * pow2(int(k)-half)
}

// Taylor: 1/k!, k = 14..2; what is left out is below 1e-19 for |r| <= ln(2)/2.
var expTerms = [...]float64{1. / 87178291200, 1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880,
	1. / 40320, 1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2}

// Log returns the natural logarithm of x with an error below 0.8 units in the last place. As usual, it is -Inf for 0, NaN
// for what is negative and for a NaN, and +Inf for +Inf.
func Log(x float64) float64 {
	switch {
	case math.IsNaN(x) || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case math.IsInf(x, 1):
		return x
	}
	// x = 2^k * (1+f), 1+f in [sqrt(1/2), sqrt(2)]
	k := -1023
	if x < 0x1p-1022 {
		x *= 1 << 54
		k -= 54
	}
	b := math.Float64bits(x)
	k += int(b >> 52)
	m := math.Float64frombits(b&(1<<52-1) | 1023<<52)
	if m > math.Sqrt2 {
		m /= 2
		k++
	}
	// With s = f/(2+f): log(1+f) = 2*artanh(s) = 2s + s*tail = f - f*f/2 + s*(f*f/2 + tail),
	// where tail = s*s*(2/3 + s*s*(2/5 + ...)).
	f := m - 1
	s := f / (2 + f)
	z := float64(s * s)
	tail := float64(z * horner(z, LogTerms[:]))
	half := float64(f*f) / 2
	n := float64(k)
	rest := float64(s*(half+tail)) + float64(n*Ln2Lo)
	return n*Ln2Hi - ((half - rest) - f) // n*Ln2Hi is exact
}

// LogTerms are 2/(2k+1), k = 11..1; what is left out is below 1e-19 of the result for |s| <= 3 - sqrt(8). Nothing writes to them.
var LogTerms = [...]float64{2. / 23, 2. / 21, 2. / 19, 2. / 17, 2. / 15, 2. / 13, 2. / 11, 2. / 9, 2. / 7, 2. / 5, 2. / 3}

// LogQuotient returns the natural logarithm of a/b, where a and b are whole numbers from 1 to 2^53, with an error below 1.5 units
// in the last place, also where they are so close that the rounding of a/b is not small beside it.
func LogQuotient(a, b float64) float64 {
	q := a / b
	high, low := twoProduct(q, b)
	return Log(q) + ((a-high)-low)/a // log(q) + log(a/(q*b))
}
