package exact

import (
	"math"
	"math/bits"
)

// Turns is an angle as a fraction of a full turn, in [0, 1), in units of 2^-128. Whole turns fall off by themselves when
// it is multiplied, so that the angle of a far position is as accurate as that of a near one.
type Turns struct{ Hi, Lo uint64 }

// Frequency returns the angle that grows by 10000^(-i/d) radians per position, i.e. 10000^(-i/d) / 2*pi turns, for
// 0 <= i <= d, d > 0 and i < 2^59. Its error is below 2^-124.
func Frequency(i, d uint64) Turns {
	// 10000^(-i/d) = 2^-(whole + f), where whole + f = i * log2(10000) / d
	w0h, w0 := bits.Mul64(log10000.Lo, i)
	w1h, w1 := bits.Mul64(log10000.Hi, i)
	w1, carry := bits.Add64(w1, w0h, 0)
	w2 := 13*i + w1h + carry
	whole := w2 / d
	var f Turns
	f.Hi, w1 = bits.Div64(w2%d, w1, d)
	f.Lo, _ = bits.Div64(w1, w0, d)

	// 2^-f / 2*pi = exp(-x) / 2*pi = c - x*(c - x/2*(c - x/3*(...))), where c = 1/2*pi; x^35/35! is below 2^-128.
	x, t := f.times(ln2), inverse2Pi
	for n := uint64(34); n > 0; n-- {
		t = inverse2Pi.minus(t.times(x).over(n))
	}
	return Turns{t.Hi >> whole, t.Lo>>whole | t.Hi<<(64-whole)} // whole <= 13; for 0, Go's shift by 64 gives 0
}

// In units of 2^-128: the logarithm of 10000 to base 2, less 13; the natural logarithm of 2; 1/2*pi.
var (
	log10000   = Turns{0x49a784bcd1b8afe4, 0x92bf6ff4dafdb4ce}
	ln2        = Turns{0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af}
	inverse2Pi = Turns{0x28be60db9391054a, 0x7f09d5f47d4d3770}
)

// Times returns n times t, less whole turns.
func (t Turns) Times(n uint64) Turns {
	hi, lo := bits.Mul64(t.Lo, n)
	return Turns{hi + t.Hi*n, lo}
}

// SinCos returns the sine and the cosine of t, each with an error below 2e-16.
func (t Turns) SinCos() (sin, cos float64) {
	const eighth = 1 << 61
	n := (t.Hi + eighth) >> 62
	r := int64(t.Hi - n<<62) // in [-eighth, eighth)
	sin, cos = sinCosNear0(float64(float64(r)*(2*math.Pi/(1<<64))), 0)
	return quadrant(n, sin, cos)
}

// times returns t * u, at most 3 units too small.
func (t Turns) times(u Turns) Turns {
	hi, lo := bits.Mul64(t.Hi, u.Hi)
	a, _ := bits.Mul64(t.Hi, u.Lo)
	b, _ := bits.Mul64(t.Lo, u.Hi)
	lo, c1 := bits.Add64(lo, a, 0)
	lo, c2 := bits.Add64(lo, b, 0)
	return Turns{hi + c1 + c2, lo}
}

// over returns t / n, rounded down.
func (t Turns) over(n uint64) Turns {
	lo, _ := bits.Div64(t.Hi%n, t.Lo, n)
	return Turns{t.Hi / n, lo}
}

// minus returns t - u, less whole turns.
func (t Turns) minus(u Turns) Turns {
	lo, borrow := bits.Sub64(t.Lo, u.Lo, 0)
	hi, _ := bits.Sub64(t.Hi, u.Hi, borrow)
	return Turns{hi, lo}
}
