// Package bigmath computes elementary functions in math/big, slowly and to well over 200 bits. Tests hold the quick ones
// against it.
package bigmath

import (
	"math"
	"math/big"
)

const prec = 320

// Float returns x exactly.
func Float(x float64) *big.Float { return new(big.Float).SetPrec(prec).SetFloat64(x) }

func mul(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(prec).Mul(x, y) }
func quo(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(prec).Quo(x, y) }
func add(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(prec).Add(x, y) }
func sub(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(prec).Sub(x, y) }

// Pi is computed by Machin's formula, pi/4 = 4 arctan(1/5) - arctan(1/239).
var Pi = sub(mul(Float(16), arctanInverse(5)), mul(Float(4), arctanInverse(239)))

// arctanInverse returns arctan(1/n).
func arctanInverse(n float64) *big.Float {
	sum, power := Float(0), quo(Float(1), Float(n))
	for k := 1.0; power.MantExp(nil) > -prec; k += 2 {
		sum = add(sum, quo(power, Float(k)))
		power = quo(power, Float(-n*n))
	}
	return sum
}

// mod2Pi returns x less whole turns, in [-pi, pi], to prec - 63 bits after the point where |x| < 2^62.
func mod2Pi(x *big.Float) *big.Float {
	turn := mul(Float(2), Pi)
	n, _ := add(quo(x, turn), Float(math.Copysign(0.5, float64(x.Sign())))).Int64()
	return sub(x, mul(turn, new(big.Float).SetPrec(prec).SetInt64(n)))
}

// SinCos returns the sine and the cosine of x, |x| < 2^62, by Taylor's series.
func SinCos(x *big.Float) (sin, cos *big.Float) {
	sin, cos = Float(0), Float(0)
	x = mod2Pi(x)
	term := Float(1)
	for k := 0; term.Sign() != 0 && (k < 8 || term.MantExp(nil) > sin.MantExp(nil)-prec); k++ {
		if k > 0 {
			term = quo(mul(term, x), Float(float64(k)))
		}
		switch k % 4 {
		case 0:
			cos = add(cos, term)
		case 1:
			sin = add(sin, term)
		case 2:
			cos = sub(cos, term)
		case 3:
			sin = sub(sin, term)
		}
	}
	return sin, cos
}

// Exp returns e^x for |x| < 1000, by Taylor's series of x/2^16 and squaring.
func Exp(x *big.Float) *big.Float {
	x = mul(x, Float(0x1p-16))
	sum, term := Float(1), Float(1)
	for k := 1.0; term.Sign() != 0 && term.MantExp(nil) > -prec; k++ {
		term = quo(mul(term, x), Float(k))
		sum = add(sum, term)
	}
	for range 16 {
		sum = mul(sum, sum)
	}
	return sum
}

// Log returns the natural logarithm of x > 0, by Newton's method from y = math.Log(x): y + 2*(x - e^y)/(x + e^y).
func Log(x *big.Float) *big.Float {
	m := new(big.Float)
	e := x.MantExp(m)
	near, _ := m.Float64()
	y := Float(math.Log(near) + float64(e)*math.Ln2)
	for range 2 {
		p := Exp(y)
		y = add(y, quo(mul(Float(2), sub(x, p)), add(x, p)))
	}
	return y
}

// Frequency returns base^(-i/d).
func Frequency(base float64, i, d int) *big.Float {
	return Exp(quo(mul(Log(Float(base)), Float(float64(-i))), Float(float64(d))))
}

// Diff returns |x - want| for a float64 x, rounded to float64.
func Diff(x float64, want *big.Float) float64 {
	d, _ := sub(Float(x), want).Float64()
	return math.Abs(d)
}

// ULPs returns |x - want| in units in the last place of float64 at want.
func ULPs(x float64, want *big.Float) float64 {
	e := max(want.MantExp(nil), -1021)
	d := sub(Float(x), want)
	ulps, _ := d.SetMantExp(d, 53-e).Float64()
	return math.Abs(ulps)
}
