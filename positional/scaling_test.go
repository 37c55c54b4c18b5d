package positional

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/reference"
)

// frequencies returns those that s makes, in radians per position and by the exact arithmetic that angles come from.
func frequencies(t *testing.T, s Scaling, dim int, base float64, length int) (freqs []float64, amplitude float64) {
	t.Helper()
	f, err := s.Frequencies(dim, base, length)
	if err != nil {
		t.Fatal(err)
	}
	if f.Multipliers != nil && len(f.Multipliers) != dim/2 {
		t.Fatalf("%v has %d multipliers for dim %d", s, len(f.Multipliers), dim)
	}
	for i := range dim / 2 {
		turns := exact.Frequency(f.Base, uint64(2*i), uint64(dim))
		if f.Multipliers != nil {
			turns = turns.Scaled(f.Multipliers[i])
		}
		freqs = append(freqs, 2*math.Pi*(float64(turns.Hi)*0x1p-64+float64(turns.Lo)*0x1p-128))
	}
	return freqs, f.Amplitude
}

// scalingOf returns the scaling of a case.
func scalingOf(t *testing.T, c reference.Scaling) Scaling {
	o := c.Options
	switch c.Kind {
	case "linear":
		return Linear{o.Factor}
	case "ntk":
		return NTK{o.Factor}
	case "dynamic":
		return DynamicNTK{o.Factor, o.Original}
	case "yarn":
		return YaRN{Factor: o.Factor, Original: o.Original, BetaFast: o.BetaFast, BetaSlow: o.BetaSlow,
			Attention: o.Attention, NoTruncate: o.Truncate != nil && !*o.Truncate, MScale: o.MScale, MScaleAllDim: o.MScaleAllDim}
	case "llama3":
		return Llama3{o.Factor, o.Low, o.High, o.Original}
	case "longrope":
		return LongRoPE{o.Short, o.Long, o.Factor, o.Original, o.Attention}
	}
	t.Fatalf("unknown kind %q", c.Kind)
	return nil
}

// TestScalingReference holds frequencies and amplitudes to those that NumPy has by the formulas of transformers.
func TestScalingReference(t *testing.T) {
	const tolerance = 2e-15
	seen, worst := map[string]bool{}, 0.0
	for _, c := range reference.ScalingCases(t) {
		s := scalingOf(t, c)
		if s.Kind() != c.Kind {
			t.Errorf("%s: the kind of %v is %q", c.Name, s, s.Kind())
		}
		seen[c.Kind] = true
		freqs, amplitude := frequencies(t, s, c.Dim, c.Base, c.Length)
		if len(freqs) != len(c.Frequencies) {
			t.Fatalf("%s: %d frequencies, want %d", c.Name, len(freqs), len(c.Frequencies))
		}
		for i, x := range freqs {
			off := math.Abs(x/c.Frequencies[i] - 1)
			if !(off <= tolerance) {
				t.Errorf("%s: frequency %d is %v, by NumPy %v", c.Name, i, x, c.Frequencies[i])
			}
			worst = max(worst, off)
		}
		off := math.Abs(amplitude/c.Attention - 1)
		if !(off <= tolerance) {
			t.Errorf("%s: the amplitude is %v, by NumPy %v", c.Name, amplitude, c.Attention)
		}
		worst = max(worst, off)
	}
	if t.Logf("worst relative difference %.2g", worst); len(seen) != 6 {
		t.Errorf("there are cases for %v alone", seen)
	}
}

// ones returns n numbers of 1.
func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// TestScalingByOne: a factor of 1 changes nothing, not a bit.
func TestScalingByOne(t *testing.T) {
	for _, dim := range []int{2, 4, 64, 130} {
		for _, base := range []float64{10000, 500000, 1.5} {
			for _, s := range []Scaling{Linear{1}, NTK{1}, YaRN{Factor: 1, Original: 2048},
				YaRN{Factor: 1, Original: 2048, MScale: 2, MScaleAllDim: 3}, Llama3{1, 1, 4, 8192},
				LongRoPE{ones(dim / 2), ones(dim / 2), 1, 4096, 0}} {
				for _, length := range []int{0, 1, 4096, 1 << 20} {
					f, err := s.Frequencies(dim, base, length)
					if err != nil {
						t.Fatal(err)
					}
					if f.Base != base || f.Amplitude != 1 || f.Multipliers != nil && !slices.Equal(f.Multipliers, ones(dim/2)) {
						t.Errorf("%v: dim %d, base %v, length %d: %+v", s, dim, base, length, f)
					}
				}
			}
		}
	}
}

// TestScalingEnds: what the methods promise of the highest and of the lowest frequency, and of the order of all.
func TestScalingEnds(t *testing.T) {
	const factor = 8.0
	for _, c := range []struct {
		s         Scaling
		high, low float64 // what they are divided by
	}{
		{Linear{factor}, factor, factor},
		{NTK{factor}, 1, factor},
		{DynamicNTK{factor, 4096}, 1, 1},
		{YaRN{Factor: factor, Original: 4096}, 1, factor},
		{YaRN{Factor: factor, Original: 4096, NoTruncate: true}, 1, factor},
		{Llama3{factor, 1, 4, 8192}, 1, factor},
	} {
		for _, dim := range []int{20, 64, 128} {
			const base = 500000
			freqs, _ := frequencies(t, c.s, dim, base, 0)
			plain, _ := frequencies(t, Linear{1}, dim, base, 0)
			last := len(freqs) - 1
			if got := plain[0] / freqs[0]; got != c.high {
				t.Errorf("%v: dim %d: the highest frequency is divided by %v, want %v", c.s, dim, got, c.high)
			}
			if got := plain[last] / freqs[last]; math.Abs(got-c.low) > 1e-14*c.low {
				t.Errorf("%v: dim %d: the lowest frequency is divided by %v, want %v", c.s, dim, got, c.low)
			}
			for i := range last {
				if freqs[i] <= freqs[i+1] {
					t.Errorf("%v: dim %d: frequency %d is %v, and the next one %v", c.s, dim, i, freqs[i], freqs[i+1])
				}
				if a, b := plain[i]/freqs[i], plain[i+1]/freqs[i+1]; a > b*(1+1e-14) || b > factor*(1+1e-14) {
					t.Errorf("%v: dim %d: frequency %d is divided by %v, the next one by %v", c.s, dim, i, a, b)
				}
			}
		}
	}
}

// TestYaRNBackwards: borders the wrong way round keep the meaning that they have elsewhere.
func TestYaRNBackwards(t *testing.T) {
	f, err := YaRN{Factor: 4, Original: 5}.Frequencies(64, 10000, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range f.Multipliers {
		if want := 0.25; m != want && i > 0 {
			t.Errorf("nothing turns once within 5 positions, but multiplier %d is %v", i, m)
		}
	}
	if f, err = (YaRN{Factor: 4, Original: math.MaxInt32}).Frequencies(64, 1.0001, 0); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.Multipliers, ones(32)) {
		t.Errorf("all turn more than 32 times, but multipliers are %v", f.Multipliers)
	}
}

// TestYaRNFewTurns: pairs that all turn more often than that, however few turns that is, keep their frequencies.
func TestYaRNFewTurns(t *testing.T) {
	f, err := YaRN{Factor: 2, Original: 4096, BetaFast: 1e-306, BetaSlow: 1e-306}.Frequencies(8, 10000, 0)
	if err != nil || !slices.Equal(f.Multipliers, ones(4)) {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestScalingByLength: the length matters where ByLength says so, from one behind Original on.
func TestScalingByLength(t *testing.T) {
	const dim, original = 8, 100
	short, long := []float64{1, 1.25, 2, 4}, []float64{1, 2, 8, 16}
	for _, s := range []Scaling{Linear{2}, NTK{2}, DynamicNTK{2.3, original}, YaRN{Factor: 2, Original: original},
		Llama3{2, 1, 4, original}, LongRoPE{short, long, 32, original, 0}} {
		at := func(length int) string {
			f, err := s.Frequencies(dim, 10000, length)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(f)
		}
		if at(0) != at(original) || at(1) != at(original) {
			t.Errorf("%v differs within %d positions", s, original)
		}
		if differs := at(original+1) != at(original); differs != s.ByLength() {
			t.Errorf("%v: ByLength is %v, but behind %d positions it differs: %v", s, s.ByLength(), original, differs)
		}
	}
	f, err := LongRoPE{short, long, 32, original, 0}.Frequencies(dim, 10000, original)
	if want := []float64{1, 0.8, 0.5, 0.25}; err != nil || !slices.Equal(f.Multipliers, want) {
		t.Errorf("short multipliers are %v, want %v, %v", f.Multipliers, want, err)
	}
	g, err := LongRoPE{short, long, 32, original, 0}.Frequencies(dim, 10000, original+1)
	if want := []float64{1, 0.5, 0.125, 0.0625}; err != nil || !slices.Equal(g.Multipliers, want) {
		t.Errorf("long multipliers are %v, want %v, %v", g.Multipliers, want, err)
	}
	f.Multipliers[0] = 0
	if short[0] != 1 || g.Multipliers[0] != 1 {
		t.Error("multipliers share memory with something")
	}
}

// TestScalingSameBits compares with bits that every machine must have.
func TestScalingSameBits(t *testing.T) {
	const want = 0xb428db1b9e6b8af3
	sum := uint64(0)
	for _, c := range reference.ScalingCases(t) {
		f, err := scalingOf(t, c).Frequencies(c.Dim, c.Base, c.Length)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range append(f.Multipliers, f.Base, f.Amplitude) {
			sum = sum*0x9e3779b97f4a7c15 + math.Float64bits(x)
		}
	}
	if sum != want {
		t.Errorf("checksum %#x, want %#x", sum, uint64(want))
	}
}

// TestDynamicNTKWithout: a factor of which rounding leaves nothing is an error, too.
func TestDynamicNTKWithout(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("lengths of 32 bits leave enough")
	}
	f, err := DynamicNTK{4.9e26, math.MaxInt - 1}.Frequencies(4, 10000, math.MaxInt)
	want := "rowvec: positional.DynamicNTK.Frequencies: factor is 0, want one with which the base is finite and above 0"
	if err == nil || err.Error() != want {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestScalingErrors checks the text of every error.
func TestScalingErrors(t *testing.T) {
	var (
		nan, inf = math.NaN(), math.Inf(1)
		two      = []float64{1, 2}
	)
	for _, c := range []struct {
		s      Scaling
		dim    int
		base   float64
		length int
		want   string
	}{
		{Linear{2}, 0, 10000, 0, "Linear.Frequencies: dim is 0, want at least 2"},
		{NTK{2}, 5, 10000, 0, "NTK.Frequencies: dim is 5, want a multiple of 2"},
		{Linear{2}, 4, 1, 0, "Linear.Frequencies: base is 1, want a finite one above 1"},
		{Linear{2}, 4, nan, 0, "Linear.Frequencies: base is NaN, want a finite one above 1"},
		{Linear{2}, 4, inf, 0, "Linear.Frequencies: base is +Inf, want a finite one above 1"},
		{DynamicNTK{2, 8}, 4, 10000, -1, "DynamicNTK.Frequencies: length is -1, want at least 0"},
		{Linear{0.5}, 4, 10000, 0, "Linear.Frequencies: Factor is 0.5, want a finite one of at least 1"},
		{Linear{inf}, 4, 10000, 0, "Linear.Frequencies: Factor is +Inf, want a finite one of at least 1"},
		{NTK{nan}, 4, 10000, 0, "NTK.Frequencies: Factor is NaN, want a finite one of at least 1"},
		{NTK{1e200}, 4, 10000, 0, "NTK.Frequencies: factor is 1e+200, want one with which the base is finite and above 0"},
		{DynamicNTK{1e200, 1}, 4, 10000, 2, "DynamicNTK.Frequencies: factor is 1e+200, want one with which the base is finite and above 0"},
		{DynamicNTK{2, 0}, 4, 10000, 0, "DynamicNTK.Frequencies: Original is 0, want at least 1"},
		{DynamicNTK{}, 4, 10000, 0, "DynamicNTK.Frequencies: Factor is 0, want a finite one of at least 1"},
		{YaRN{}, 4, 10000, 0, "YaRN.Frequencies: Factor is 0, want a finite one of at least 1"},
		{YaRN{Factor: 2}, 4, 10000, 0, "YaRN.Frequencies: Original is 0, want at least 1"},
		{YaRN{Factor: 2, Original: 8, BetaFast: -1}, 4, 10000, 0, "YaRN.Frequencies: BetaFast is -1, want a finite one of at least 0"},
		{YaRN{Factor: 2, Original: 8, BetaSlow: nan}, 4, 10000, 0, "YaRN.Frequencies: BetaSlow is NaN, want a finite one of at least 0"},
		{YaRN{Factor: 2, Original: 8, Attention: inf}, 4, 10000, 0, "YaRN.Frequencies: Attention is +Inf, want a finite one of at least 0"},
		{YaRN{Factor: 2, Original: 8, MScale: -2}, 4, 10000, 0, "YaRN.Frequencies: MScale is -2, want a finite one of at least 0"},
		{YaRN{Factor: 2, Original: 8, MScaleAllDim: -2}, 4, 10000, 0, "YaRN.Frequencies: MScaleAllDim is -2, want a finite one of at least 0"},
		{YaRN{Factor: 2, Original: 8, BetaSlow: 33}, 4, 10000, 0, "YaRN.Frequencies: BetaFast is 32, want at least BetaSlow, which is 33"},
		{YaRN{Factor: 1e300, Original: 8, MScale: 1e308, MScaleAllDim: 1}, 4, 10000, 0, "YaRN.Frequencies: MScale is 1e+308, want one with which the amplitude is finite"},
		{YaRN{Factor: 1e300, Original: 8, MScale: 1, MScaleAllDim: 1e308}, 4, 10000, 0, "YaRN.Frequencies: MScaleAllDim is 1e+308, want one with which the amplitude is above 0"},
		{Llama3{}, 4, 10000, 0, "Llama3.Frequencies: Factor is 0, want a finite one of at least 1"},
		{Llama3{2, 1, 4, 0}, 4, 10000, 0, "Llama3.Frequencies: Original is 0, want at least 1"},
		{Llama3{2, 0, 4, 8}, 4, 10000, 0, "Llama3.Frequencies: LowFrequency is 0, want above 0"},
		{Llama3{2, 4, 4, 8}, 4, 10000, 0, "Llama3.Frequencies: HighFrequency is 4, want a finite one above LowFrequency, which is 4"},
		{Llama3{2, 4, inf, 8}, 4, 10000, 0, "Llama3.Frequencies: HighFrequency is +Inf, want a finite one above LowFrequency, which is 4"},
		{LongRoPE{}, 4, 10000, 0, "LongRoPE.Frequencies: Factor is 0, want a finite one of at least 1"},
		{LongRoPE{two, two, 2, 1, 0}, 4, 10000, 0, "LongRoPE.Frequencies: Original is 1, want at least 2"},
		{LongRoPE{two, two, 2, 8, -1}, 4, 10000, 0, "LongRoPE.Frequencies: Attention is -1, want a finite one of at least 0"},
		{LongRoPE{nil, two, 2, 8, 0}, 4, 10000, 0, "LongRoPE.Frequencies: len(Short) is 0, want 2"},
		{LongRoPE{two, ones(3), 2, 8, 0}, 4, 10000, 0, "LongRoPE.Frequencies: len(Long) is 3, want 2"},
		{LongRoPE{two, []float64{1, 0}, 2, 8, 0}, 4, 10000, 0, "LongRoPE.Frequencies: Long[1] is 0, want a finite one above 0, whose inverse is finite too"},
		{LongRoPE{[]float64{nan, 1}, two, 2, 8, 0}, 4, 10000, 0, "LongRoPE.Frequencies: Short[0] is NaN, want a finite one above 0, whose inverse is finite too"},
	} {
		f, err := c.s.Frequencies(c.dim, c.base, c.length)
		if err == nil || err.Error() != "rowvec: positional."+c.want {
			t.Errorf("%+v: got %v\nwant rowvec: positional.%s", c.s, err, c.want)
		}
		if f.Base != 0 || f.Multipliers != nil || f.Amplitude != 0 {
			t.Errorf("%+v: %+v beside the error", c.s, f)
		}
	}
}
