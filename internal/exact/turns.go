package exact

import (
	"math"
	"math/bits"
)

// Turns is an angle as a fraction of a full turn, in [0, 1), in units of 2^-128. Whole turns fall off by themselves when
// it is multiplied, so that the angle of a far position is as accurate as that of a near one.
type Turns struct{ Hi, Lo uint64 }

// Frequency returns the angle that grows by base^(-i/d) radians per position, i.e. base^(-i/d) / 2*pi turns, for a finite
// base >= 1, 0 <= i <= d, d > 0 and i*(1+log2(base)) < 2^63. Its error is below 2^-123.
func Frequency(base float64, i, d uint64) Turns {
	whole, f := exponent(base, i, d)

	// 2^-f / 2*pi = exp(-x) / 2*pi = c - x*(c - x/2*(c - x/3*(...))), where c = 1/2*pi; x^35/35! is below 2^-128.
	x, t := f.times(ln2), inverse2Pi
	for n := uint64(34); n > 0; n-- {
		t = inverse2Pi.minus(t.times(x).over(n))
	}
	return t.right(whole)
}

// Frequencies sets dst[i] to Frequency(base, i*step, d), but for an error below 2^-119: to that for every 64th i, and between
// them to the one before times base^(-step/d). 256 of them take 3 us, instead of 109.
func Frequencies(dst []Turns, base float64, step, d uint64) {
	const exactly = 64
	less, ok := shrinkage(base, step, d)
	for i := range dst {
		if i%exactly == 0 || !ok {
			dst[i] = Frequency(base, uint64(i)*step, d)
		} else {
			dst[i] = dst[i-1].minus(dst[i-1].times(less))
		}
	}
}

// shrinkage returns 1 - base^(-i/d), unless that is above 1/2 or next to 0.
func shrinkage(base float64, i, d uint64) (u Turns, ok bool) {
	whole, f := exponent(base, i, d)
	x := f.times(ln2)
	if whole > 0 || x.Hi == 0 {
		return u, false
	}
	// 1 - exp(-x) = x*(1 - x/2*(1 - x/3*(...)))
	u = x.over(34)
	for n := uint64(33); n > 0; n-- {
		u = x.times(Turns{}.minus(u)).over(n)
	}
	return u, true
}

// exponent returns i * log2(base) / d.
func exponent(base float64, i, d uint64) (whole uint64, f Turns) {
	k, log := log2(base)
	w0h, w0 := bits.Mul64(log.Lo, i)
	w1h, w1 := bits.Mul64(log.Hi, i)
	w1, carry := bits.Add64(w1, w0h, 0)
	w2 := k*i + w1h + carry
	f.Hi, w1 = bits.Div64(w2%d, w1, d)
	f.Lo, _ = bits.Div64(w1, w0, d)
	return w2 / d, f
}

// log2 returns the logarithm of x >= 1 to base 2, f at most 24 units too small.
func log2(x float64) (whole uint64, f Turns) {
	if x == 10000 { // the nearest there is, as results have been made with it
		return 13, log10000
	}
	// x = 2^whole * (1 + m/2^52); with s = m/(2^53 + m), log2(x) = whole + 2/ln(2) * artanh(s), where s <= 1/3 and
	// artanh(s) = s + s*z*(1/3 + z*(1/5 + ...)), z = s*s; z^40/81 is below 2^-128.
	b := math.Float64bits(x)
	m := b & (1<<52 - 1)
	var s, p Turns
	s.Hi, b = bits.Div64(m, 0, 1<<53|m)
	s.Lo, _ = bits.Div64(b, 0, 1<<53|m)
	z := s.times(s)
	for n := uint64(81); n > 1; n -= 2 {
		p = z.times(p.plus(almost1.over(n)))
	}
	s = s.plus(s.times(p))
	s = s.plus(s)
	return math.Float64bits(x)>>52 - 1023, s.plus(s.times(inverseLn2))
}

// In units of 2^-128: the logarithm of 10000 to base 2, less 13; the natural logarithm of 2; its inverse, less 1; 1/2*pi;
// and what is next to 1.
var (
	log10000   = Turns{0x49a784bcd1b8afe4, 0x92bf6ff4dafdb4ce}
	ln2        = Turns{0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af}
	inverseLn2 = Turns{0x71547652b82fe177, 0x7d0ffda0d23a7d12}
	inverse2Pi = Turns{0x28be60db9391054a, 0x7f09d5f47d4d3770}
	almost1    = Turns{math.MaxUint64, math.MaxUint64}
)

// Times returns n times t, less whole turns.
func (t Turns) Times(n uint64) Turns {
	hi, lo := bits.Mul64(t.Lo, n)
	return Turns{hi + t.Hi*n, lo}
}

// Scaled returns m times t, less whole turns, for a finite m >= 0, which counts as it is, with all of its 53 bits. The
// result is at most a unit too small, beside what m makes of the error of t.
func (t Turns) Scaled(m float64) Turns {
	b := math.Float64bits(m)
	e, f := int(b>>52), b&(1<<52-1)
	if e > 0 {
		f |= 1 << 52
	} else {
		e = 1
	}
	e -= 1075 // m = f * 2^e
	p1, p0 := bits.Mul64(t.Lo, f)
	p2, low := bits.Mul64(t.Hi, f)
	p1, carry := bits.Add64(p1, low, 0)
	p2 += carry
	if e >= 64 {
		return Turns{p0 << (e - 64), 0}
	}
	if e >= 0 {
		return Turns{p1<<e | p0>>(64-e), p0 << e}
	}
	for e = -e; e >= 64; e -= 64 {
		p0, p1, p2 = p1, p2, 0
	}
	return Turns{p1>>e | p2<<(64-e), p0>>e | p1<<(64-e)} // for 0, Go's shift by 64 gives 0
}

// SinCos returns the sine and the cosine of t, each with an error below 2e-16.
func (t Turns) SinCos() (sin, cos float64) {
	n := (t.Hi + Eighth) >> 62
	r := int64(t.Hi - n<<62) // in [-Eighth, Eighth)
	sin, cos = sinCosNear0(float64(float64(r)*TurnUnit), 0)
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

// right returns t / 2^n, rounded down.
func (t Turns) right(n uint64) Turns {
	if n >= 64 {
		return Turns{0, t.Hi >> (n - 64)}
	}
	return Turns{t.Hi >> n, t.Lo>>n | t.Hi<<(64-n)} // for 0, Go's shift by 64 gives 0
}

// plus returns t + u, less whole turns.
func (t Turns) plus(u Turns) Turns {
	lo, carry := bits.Add64(t.Lo, u.Lo, 0)
	hi, _ := bits.Add64(t.Hi, u.Hi, carry)
	return Turns{hi, lo}
}

// minus returns t - u, less whole turns.
func (t Turns) minus(u Turns) Turns {
	lo, borrow := bits.Sub64(t.Lo, u.Lo, 0)
	hi, _ := bits.Sub64(t.Hi, u.Hi, borrow)
	return Turns{hi, lo}
}
