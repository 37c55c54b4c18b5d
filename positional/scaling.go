package positional

import (
	"cmp"
	"fmt"
	"math"

	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/exact"
)

// Scaling changes the frequencies of rotary positions, so that a model reads longer sequences than those that it was
// trained on. A Scaling has no state: what it returns depends on its fields and the arguments alone, and has the same
// bits on every machine.
//
// The kinds are Linear, NTK, DynamicNTK, YaRN, Llama3 and LongRoPE. They follow the formulas of Hugging Face's
// transformers (modeling_rope_utils.py), in float64 where that has float32: its frequencies are off by up to 5e-7 of
// themselves with the numbers of published models, and with others by more: 8e-6 of 60,000 at random.
type Scaling interface {
	fmt.Stringer

	// Kind returns a short name, by which transformers knows the scaling as a rope_type; it has none for NTK.
	Kind() string

	// Frequencies returns the frequencies of dim/2 pairs of columns whose unscaled ones are base^(-2i/dim), for a
	// sequence of length positions. A length of 0 stands for any that the model was trained on. It is an error if dim is
	// not even or below 2, base not above 1 or not finite, length below 0, or if a field has no meaning.
	Frequencies(dim int, base float64, length int) (Frequencies, error)

	// ByLength reports whether the length matters to Frequencies. Keys that were rotated for another length, such as
	// those in a cache, then do not go with queries that are rotated for this one.
	ByLength() bool
}

// Frequencies says how fast the pairs of columns of rotary positions turn: pair i by Multipliers[i] * Base^(-2i/dim)
// radians per position. Sines and cosines are multiplied by Amplitude.
type Frequencies struct {
	Base        float64
	Multipliers []float64 // dim/2 of them, at least 0, which does not turn, and finite; nil if all are 1
	Amplitude   float64   // 0 stands for 1
}

// Linear is position interpolation: positions, and so frequencies, are divided by Factor (Chen et al., "Extending context
// window of large language models via positional interpolation", 2023, and kaiokendev's SuperHOT, found independently).
type Linear struct {
	Factor float64 // at least 1
}

// NTK is the NTK-aware scaling of bloc97 (r/LocalLLaMA, 2023): the base is multiplied by Factor^(dim/(dim-2)), which
// divides the lowest frequency by Factor and leaves the highest as it is. A dim of 2 has the highest one alone.
type NTK struct {
	Factor float64 // at least 1
}

// DynamicNTK is the dynamic scaling of emozilla (r/LocalLLaMA, 2023): that of NTK with a factor that grows with the
// sequence, Factor*length/Original - (Factor-1), once it is longer than Original, and is 1 before. It grows also where
// Factor is 1. The length is that of the sequence at hand; transformers goes on with the longest one that it has seen, until
// one is shorter than Original.
type DynamicNTK struct {
	Factor   float64 // at least 1
	Original int     // the most positions of a sequence in training
}

// YaRN is the method of Peng et al., "YaRN: efficient context window extension of large language models" (2023), as
// transformers has it: pairs that turn more than BetaFast times within Original positions keep their frequency, those
// that turn less than BetaSlow times have it divided by Factor, and those between get a mixture, linear in their index. Where
// that range would end before it begins, as with fewer positions or a smaller base than any model has, there is no mixture: pairs
// up to its beginning, and the first, keep their frequency, and others have it divided. (transformers divides the frequencies of
// the first in place of the last there.)
//
// Sines and cosines are multiplied by Attention or, where that is 0, by m(1), with m(s) = 0.1*s*ln(Factor) + 1; but by
// m(MScale)/m(MScaleAllDim) where both of these are above 0, as in DeepSeek's models. (These multiply scores by
// m(MScaleAllDim)^2 besides, which is no part of positions. DeepSeek's own code, unlike transformers, counts a single one
// of the two as well: set Attention for that.)
type YaRN struct {
	Factor     float64 // at least 1
	Original   int     // the most positions of a sequence in training
	BetaFast   float64 // 0 stands for 32
	BetaSlow   float64 // 0 stands for 1
	Attention  float64 // 0 stands for what is said above
	NoTruncate bool    // the range that gets a mixture has its bounds as they come, not rounded to whole pairs

	MScale, MScaleAllDim float64
}

// Llama3 is the scaling of Llama 3.1 (Grattafiori et al., "The Llama 3 herd of models", 2024; Meta's llama-models): pairs
// that turn more than HighFrequency times within Original positions keep their frequency, those that turn less than
// LowFrequency times have it divided by Factor, and those between get a mixture, linear in their frequency.
type Llama3 struct {
	Factor        float64 // at least 1; 8 in Llama 3.1, 32 in Llama 3.2
	LowFrequency  float64 // above 0; 1 in Llama 3
	HighFrequency float64 // above LowFrequency; 4 in Llama 3
	Original      int     // the most positions of a sequence in training; 8192 in Llama 3
}

// LongRoPE divides each frequency by a number of its own that was found by search: by those of Long in sequences longer
// than Original, by those of Short in others (Ding et al., "LongRoPE: extending LLM context window beyond 2 million
// tokens", 2024; Microsoft's Phi-3).
//
// Sines and cosines are multiplied by Attention or, where that is 0, by sqrt(1 + ln(Factor)/ln(Original)), whatever the
// length.
type LongRoPE struct {
	Short, Long []float64 // dim/2 numbers above 0
	Factor      float64   // at least 1: how many times more positions than Original the model has
	Original    int       // the most positions of a sequence in training before it was extended; at least 2
	Attention   float64   // 0 stands for what is said above
}

// Kind returns "linear".
func (Linear) Kind() string { return "linear" }

// Kind returns "ntk".
func (NTK) Kind() string { return "ntk" }

// Kind returns "dynamic".
func (DynamicNTK) Kind() string { return "dynamic" }

// Kind returns "yarn".
func (YaRN) Kind() string { return "yarn" }

// Kind returns "llama3".
func (Llama3) Kind() string { return "llama3" }

// Kind returns "longrope".
func (LongRoPE) Kind() string { return "longrope" }

// ByLength returns false.
func (Linear) ByLength() bool { return false }

// ByLength returns false.
func (NTK) ByLength() bool { return false }

// ByLength returns true.
func (DynamicNTK) ByLength() bool { return true }

// ByLength returns false.
func (YaRN) ByLength() bool { return false }

// ByLength returns false.
func (Llama3) ByLength() bool { return false }

// ByLength returns true.
func (LongRoPE) ByLength() bool { return true }

// String returns, for instance, "Linear(factor=4)".
func (s Linear) String() string { return fmt.Sprintf("Linear(factor=%v)", s.Factor) }

// String returns, for instance, "NTK(factor=4)".
func (s NTK) String() string { return fmt.Sprintf("NTK(factor=%v)", s.Factor) }

// String returns, for instance, "DynamicNTK(factor=2, original=4096)".
func (s DynamicNTK) String() string {
	return fmt.Sprintf("DynamicNTK(factor=%v, original=%d)", s.Factor, s.Original)
}

// String returns, for instance, "YaRN(factor=4, original=32768)".
func (s YaRN) String() string {
	return fmt.Sprintf("YaRN(factor=%v, original=%d)", s.Factor, s.Original)
}

// String returns, for instance, "Llama3(factor=8, original=8192)".
func (s Llama3) String() string {
	return fmt.Sprintf("Llama3(factor=%v, original=%d)", s.Factor, s.Original)
}

// String returns, for instance, "LongRoPE(factor=32, original=4096)".
func (s LongRoPE) String() string {
	return fmt.Sprintf("LongRoPE(factor=%v, original=%d)", s.Factor, s.Original)
}

// Frequencies divides all frequencies by s.Factor, whatever the length. Errors are those of Scaling, also if the factor
// is not finite or below 1.
func (s Linear) Frequencies(dim int, base float64, length int) (Frequencies, error) {
	const op = "positional.Linear.Frequencies"
	if err := checkScaling(op, dim, base, length, s.Factor); err != nil {
		return Frequencies{}, err
	}
	f := scaled(dim, base)
	for i := range f.Multipliers {
		f.Multipliers[i] = 1 / s.Factor
	}
	return f, nil
}

// Frequencies changes the base, whatever the length. Errors are those of Scaling, also if the factor is not finite or
// below 1, or so large that the base is not finite.
func (s NTK) Frequencies(dim int, base float64, length int) (Frequencies, error) {
	const op = "positional.NTK.Frequencies"
	if err := checkScaling(op, dim, base, length, s.Factor); err != nil {
		return Frequencies{}, err
	}
	return ntk(op, dim, base, s.Factor)
}

// Frequencies changes the base for a length above s.Original. Errors are those of Scaling, also if the factor is not
// finite or below 1, or so large that the base is not finite, or if s.Original is below 1.
func (s DynamicNTK) Frequencies(dim int, base float64, length int) (Frequencies, error) {
	const op = "positional.DynamicNTK.Frequencies"
	if err := checkScaling(op, dim, base, length, s.Factor); err != nil {
		return Frequencies{}, err
	}
	if err := check.AtLeast(op, "Original", s.Original, 1); err != nil {
		return Frequencies{}, err
	}
	factor := 1. // at s.Original, what follows may round to another one
	if length > s.Original {
		factor = float64(s.Factor*float64(length))/float64(s.Original) - (s.Factor - 1)
	}
	return ntk(op, dim, base, factor)
}

// ntk multiplies the base by factor^(dim/(dim-2)).
func ntk(op string, dim int, base, factor float64) (Frequencies, error) {
	if dim > 2 {
		base = float64(base * exact.Exp(float64(float64(dim)/float64(dim-2)*exact.Log(factor))))
	}
	if !(base > 0 && base <= math.MaxFloat64) {
		return Frequencies{}, check.Value(op, "factor", factor, "one with which the base is finite and above 0")
	}
	return Frequencies{Base: base, Amplitude: 1}, nil
}

// Frequencies mixes base^(-2i/dim) with that divided by s.Factor, whatever the length. Errors are those of Scaling, also
// if the factor is not finite or below 1, if s.Original is below 1, or if another field is negative or not finite or
// BetaFast below BetaSlow.
func (s YaRN) Frequencies(dim int, base float64, length int) (Frequencies, error) {
	const op = "positional.YaRN.Frequencies"
	if err := checkScaling(op, dim, base, length, s.Factor); err != nil {
		return Frequencies{}, err
	}
	if err := check.AtLeast(op, "Original", s.Original, 1); err != nil {
		return Frequencies{}, err
	}
	for _, field := range []struct {
		name  string
		value float64
	}{{"BetaFast", s.BetaFast}, {"BetaSlow", s.BetaSlow}, {"Attention", s.Attention}, {"MScale", s.MScale},
		{"MScaleAllDim", s.MScaleAllDim}} {
		if err := checkNotNegative(op, field.name, field.value); err != nil {
			return Frequencies{}, err
		}
	}
	fast, slow := cmp.Or(s.BetaFast, 32), cmp.Or(s.BetaSlow, 1)
	if fast < slow {
		return Frequencies{}, check.Value(op, "BetaFast", fast, fmt.Sprintf("at least BetaSlow, which is %v", slow))
	}

	// The pair, as a fraction, that turns so many times within s.Original positions.
	pair := func(times float64) float64 {
		within := float64(s.Original) / float64(times*2*math.Pi)
		return float64(float64(dim)*exact.Log(within)) / float64(2*exact.Log(base))
	}
	low, high := pair(fast), pair(slow)
	if !s.NoTruncate {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = min(max(low, 0), float64(dim)), min(high, float64(dim-1))
	if high <= low {
		// So has the reference it where the two are equal. Where high is less, it divides the high frequencies in place
		// of the low ones; that takes fewer positions, or a smaller base, than any model has.
		high = low + 0.001
	}
	f := scaled(dim, base)
	for i := range f.Multipliers {
		ramp := min(max((float64(i)-low)/(high-low), 0), 1)
		f.Multipliers[i] = ramp/s.Factor + (1 - ramp)
	}
	m := func(scale float64) float64 { return float64(float64(0.1*scale)*exact.Log(s.Factor)) + 1 }
	switch {
	case s.Attention > 0:
		f.Amplitude = s.Attention
	case s.MScale > 0 && s.MScaleAllDim > 0:
		f.Amplitude = m(s.MScale) / m(s.MScaleAllDim)
	default:
		f.Amplitude = m(1)
	}
	switch {
	case !(f.Amplitude <= math.MaxFloat64):
		return Frequencies{}, check.Value(op, "MScale", s.MScale, "one with which the amplitude is finite")
	case f.Amplitude == 0:
		return Frequencies{}, check.Value(op, "MScaleAllDim", s.MScaleAllDim, "one with which the amplitude is above 0")
	}
	return f, nil
}

// Frequencies mixes base^(-2i/dim) with that divided by s.Factor, whatever the length. Errors are those of Scaling, also
// if the factor is not finite or below 1, if s.Original is below 1, or if the other two fields are not finite, above 0
// and in order.
func (s Llama3) Frequencies(dim int, base float64, length int) (Frequencies, error) {
	const op = "positional.Llama3.Frequencies"
	if err := checkScaling(op, dim, base, length, s.Factor); err != nil {
		return Frequencies{}, err
	}
	if err := check.AtLeast(op, "Original", s.Original, 1); err != nil {
		return Frequencies{}, err
	}
	if !(s.LowFrequency > 0) {
		return Frequencies{}, check.Value(op, "LowFrequency", s.LowFrequency, "above 0")
	}
	if !(s.HighFrequency > s.LowFrequency && s.HighFrequency <= math.MaxFloat64) {
		return Frequencies{}, check.Value(op, "HighFrequency", s.HighFrequency,
			fmt.Sprintf("a finite one above LowFrequency, which is %v", s.LowFrequency))
	}
	f := scaled(dim, base)
	for i := range f.Multipliers {
		frequency := exact.Frequency(base, uint64(2*i), uint64(dim))
		turns := float64(float64(frequency.Hi)*0x1p-64) + float64(float64(frequency.Lo)*0x1p-128) // per position
		keep := (float64(float64(s.Original)*turns) - s.LowFrequency) / (s.HighFrequency - s.LowFrequency)
		keep = min(max(keep, 0), 1)
		f.Multipliers[i] = (1-keep)/s.Factor + keep
	}
	return f, nil
}

// Frequencies divides each frequency by a number of s.Long if length is above s.Original, or else of s.Short. Errors are
// those of Scaling, also if the factor is not finite or below 1, if s.Original is below 2, if Attention is negative or not
// finite, or if Short or Long has not dim/2 numbers that are finite and above 0.
func (s LongRoPE) Frequencies(dim int, base float64, length int) (Frequencies, error) {
	const op = "positional.LongRoPE.Frequencies"
	if err := checkScaling(op, dim, base, length, s.Factor); err != nil {
		return Frequencies{}, err
	}
	if err := check.AtLeast(op, "Original", s.Original, 2); err != nil {
		return Frequencies{}, err
	}
	if err := checkNotNegative(op, "Attention", s.Attention); err != nil {
		return Frequencies{}, err
	}
	if err := checkDivisors(op, "Short", s.Short, dim); err != nil {
		return Frequencies{}, err
	}
	if err := checkDivisors(op, "Long", s.Long, dim); err != nil {
		return Frequencies{}, err
	}
	f, divisors := scaled(dim, base), s.Short
	if length > s.Original {
		divisors = s.Long
	}
	for i, d := range divisors {
		f.Multipliers[i] = 1 / d
	}
	f.Amplitude = s.Attention
	if s.Attention == 0 {
		f.Amplitude = math.Sqrt(1 + exact.Log(s.Factor)/exact.Log(float64(s.Original)))
	}
	return f, nil
}

// scaled returns frequencies whose multipliers are still to be set.
func scaled(dim int, base float64) Frequencies {
	return Frequencies{Base: base, Multipliers: make([]float64, dim/2), Amplitude: 1}
}

// checkScaling checks what all kinds of Scaling are given.
func checkScaling(op string, dim int, base float64, length int, factor float64) error {
	if err := check.AtLeast(op, "dim", dim, 2); err != nil {
		return err
	}
	if err := check.MultipleOf(op, "dim", dim, 2); err != nil {
		return err
	}
	if err := check.AtMost(op, "dim", dim, maxWaves); err != nil {
		return err
	}
	if err := checkBase(op, base); err != nil {
		return err
	}
	if err := check.AtLeast(op, "length", length, 0); err != nil {
		return err
	}
	if !(factor >= 1 && factor <= math.MaxFloat64) {
		return check.Value(op, "Factor", factor, "a finite one of at least 1")
	}
	return nil
}

func checkNotNegative(op, name string, x float64) error {
	if !(x >= 0 && x <= math.MaxFloat64) {
		return check.Value(op, name, x, "a finite one of at least 0")
	}
	return nil
}

// checkDivisors checks the numbers that frequencies are divided by.
func checkDivisors(op, name string, divisors []float64, dim int) error {
	if len(divisors) != dim/2 {
		return check.Equal(op, "len("+name+")", len(divisors), dim/2)
	}
	for i, d := range divisors {
		if !(d > 0 && d <= math.MaxFloat64 && 1/d <= math.MaxFloat64) {
			return check.Value(op, fmt.Sprintf("%s[%d]", name, i), d, "a finite one above 0, whose inverse is finite too")
		}
	}
	return nil
}
