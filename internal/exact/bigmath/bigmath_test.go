package bigmath

import (
	"math"
	"math/big"
	"testing"
)

// parse reads digits found in tables.
func parse(t *testing.T, digits string) *big.Float {
	x, _, err := big.ParseFloat(digits, 10, prec, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestKnownDigits(t *testing.T) {
	sin1, cos1 := SinCos(Float(1))
	for name, c := range map[string]struct {
		got    *big.Float
		digits string
	}{
		"pi":    {Pi, "3.14159265358979323846264338327950288419716939937510582097494"},
		"e":     {Exp(Float(1)), "2.71828182845904523536028747135266249775724709369995957496697"},
		"ln 2":  {Log(Float(2)), "0.693147180559945309417232121458176568075500134360255254120680"},
		"ln 10": {Log(Float(10)), "2.30258509299404568401799145468436420760110148862877297603333"},
		"sin 1": {sin1, "0.841470984807896506652502321630298999622563060798371065672752"},
		"cos 1": {cos1, "0.540302305868139717400936607442976603732310420617922227670097"},
	} {
		if d, _ := sub(c.got, parse(t, c.digits)).Float64(); math.Abs(d) > 1e-55 {
			t.Errorf("%s is %v", name, c.got.Text('g', 60))
		}
	}
}

// TestIdentities looks at arguments far from those of the known digits.
func TestIdentities(t *testing.T) {
	for _, x := range []float64{0, 1e-30, -0.7, 3, -100, 1e6, 0x1p40, -0x1.fffp61} {
		sin, cos := SinCos(Float(x))
		if d := Diff(1, add(mul(sin, sin), mul(cos, cos))); d > 1e-60 {
			t.Errorf("sin^2 + cos^2 of %g misses 1 by %g", x, d)
		}
		sin2, _ := SinCos(mul(Float(2), Float(x)))
		if d, _ := sub(sin2, mul(Float(2), mul(sin, cos))).Float64(); math.Abs(d) > 1e-60 {
			t.Errorf("sin 2x of %g misses 2 sin x cos x by %g", x, d)
		}
	}
	for _, x := range []float64{1e-300, 0.1, 1, 3, 1e300} {
		if d := Diff(1, quo(Exp(Log(Float(x))), Float(x))); d > 1e-60 {
			t.Errorf("exp log %g misses by %g", x, d)
		}
	}
	if d := Diff(0.01, Frequency(10000, 5, 10)); d > 1e-17 {
		t.Errorf("10000^(-1/2) misses 0.01 by %g", d)
	}
}

func TestULPs(t *testing.T) {
	for _, c := range []struct{ x, want, ulps float64 }{
		{1, 1, 0}, {1 + 0x1p-52, 1, 1}, {1.5, 1.5 - 0x1p-51, 2}, {0, 0x1p-1074, 1}, {-2, -2 - 0x1p-51, 1},
	} {
		if got := ULPs(c.x, Float(c.want)); got != c.ulps {
			t.Errorf("%g is %g ulps from %g, want %g", c.x, got, c.want, c.ulps)
		}
	}
}
