package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rowvec/rowvec/kernels"
)

// TestPhiloxKnownAnswers holds Philox to the vectors that Random123 publishes for philox4x32-10.
func TestPhiloxKnownAnswers(t *testing.T) {
	const ones = math.MaxUint64
	for _, c := range []struct {
		seed, stream, index uint64
		want                [4]uint32
	}{
		{0, 0, 0, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{ones, ones, ones, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88, // digits of pi
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := kernels.Philox(c.seed, c.stream, c.index); got != c.want {
			t.Errorf("Philox(%#x, %#x, %#x) = %#x, want %#x", c.seed, c.stream, c.index, got, c.want)
		}
	}
}

func TestDropoutThreshold(t *testing.T) {
	for _, c := range []struct {
		p         float64
		threshold uint32
		scale     float32
	}{
		{0, 0, 1},
		{math.Copysign(0, -1), 0, 1},
		{math.Nextafter(0x1p-9, 0), 0, 1},
		{0x1p-9, 1, 1.0039216},
		{0.1, 26, 1.1130434}, // of 25.6
		{0.25, 64, 1.3333334},
		{0.5, 128, 2},
		{0.9, 230, 9.846154}, // of 230.4
		{1 - 0x1p-7, 254, 128},
		{1 - 0x1p-8, 255, 256},
		{math.Nextafter(1, 0), 255, 256},
	} {
		m := kernels.Mask{P: c.p}
		if m.Threshold() != c.threshold || m.Scale() != c.scale {
			t.Errorf("%v: threshold %d, scale %v, want %d, %v", c.p, m.Threshold(), m.Scale(), c.threshold, c.scale)
		}
	}
}

// number returns what decides on one element, as the documentation has it.
func number(seed, step uint64, row, col int) uint8 {
	words := kernels.Philox(seed, 2+step<<8, uint64(row)<<32+uint64(col/16))
	return uint8(words[col%16/4] >> (8 * (col % 4)))
}

// TestDropoutKnownAnswers has 32 numbers that a program of a few lines in another language computed from the documentation.
// Each element is kept at the threshold of its number, and dropped one above.
func TestDropoutKnownAnswers(t *testing.T) {
	mask := kernels.Mask{Seed: 0x0123456789abcdef, Step: 0x00fedcba98765432, Row: 0x7ffffff0, Col: 987648}
	for c, number := range []uint8{
		0xa2, 0x06, 0x45, 0x98, 0xb7, 0x47, 0xf8, 0xa4, 0xc4, 0xd5, 0xb8, 0x6b, 0x2c, 0xe7, 0xa8, 0xaf,
		0x64, 0xca, 0x3c, 0x42, 0x80, 0x1a, 0x8b, 0xdd, 0xf8, 0x42, 0x14, 0x3a, 0xb5, 0x36, 0xc7, 0xaf,
	} {
		for _, above := range []float64{0, 1} {
			mask.P = (float64(number) + above) / 256
			row := filled(1, 32, 1)
			kernels.Dropout(row, row, mask)
			if dropped := row.Data[c] == 0; dropped != (above == 1) {
				t.Errorf("column %d, threshold %#x: dropped is %v", c, mask.Threshold(), dropped)
			}
		}
	}
}

// TestDropoutDefinition goes element by element, in whole matrices and in windows, within rows of all remainders, to where
// the mask ends, and at every kind of threshold.
func TestDropoutDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	values := []float32{1, -2.5, negativeZero, inf, -inf, nan, 0x1p-149, math.MaxFloat32, 0x1p-126}
	for _, p := range []float64{0, 0x1p-8, 0.1, 0.5, 1 - 0x1p-8} {
		for _, at := range [][2]int{{0, 0}, {5, 16}, {math.MaxInt32 - 2, 32}, {1, math.MaxInt32 - 15 - 64}} {
			for cols := range 35 {
				src, dst := filled(2, cols, 0), filled(2, cols, untouched)
				for i := range src.Data {
					src.Data[i] = values[r.IntN(len(values))]
				}
				mask := kernels.Mask{P: p, Seed: r.Uint64(), Step: r.Uint64() >> 8, Row: at[0], Col: at[1]}
				want := make([]float32, len(src.Data))
				for i, x := range src.Data {
					if uint32(number(mask.Seed, mask.Step, mask.Row+i/cols, mask.Col+i%cols)) >= mask.Threshold() {
						want[i] = x * mask.Scale()
					}
				}
				what := fmt.Sprintf("%+v, %d columns", mask, cols)
				kernels.Dropout(dst, src, mask)
				expect(t, what, dst.Data, want)
				kernels.Dropout(src, src, mask)
				expect(t, what+", in place", src.Data, want)
			}
		}
	}
}

// TestDropoutStrides: what lies between the rows is neither read nor written.
func TestDropoutStrides(t *testing.T) {
	const gap, cols = 3, 11
	mask := kernels.Mask{P: 0.5, Seed: 3}
	plain, ones := filled(4, cols, untouched), filled(4, cols, 1)
	kernels.Dropout(plain, ones, mask)
	dst := kernels.Matrix{Rows: 4, Cols: cols, Data: filled(1, 4*(cols+gap)-gap, untouched).Data, Stride: cols + gap}
	kernels.Dropout(dst, ones, mask)
	for i := range 4 {
		expect(t, fmt.Sprintf("row %d", i), dst.Row(i), plain.Row(i))
		if i < 3 {
			expect(t, "gap", dst.Data[i*dst.Stride+cols:][:gap], []float32{untouched, untouched, untouched})
		}
	}
}

func TestDropoutMisshapen(t *testing.T) {
	good := filled(2, 5, 1)
	for _, bad := range []kernels.Matrix{
		filled(1, 5, 1), filled(2, 4, 1), filled(2, 6, 1), {Rows: 2, Cols: 5, Data: good.Data[:9], Stride: 5},
		{Rows: 2, Cols: 5, Data: good.Data, Stride: 3}, {Rows: 2, Cols: 5, Stride: 5}, {Rows: 2, Cols: -5, Stride: 5},
	} {
		for what, pair := range map[string][2]kernels.Matrix{"dst": {bad, good}, "src": {good, bad}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s of %d x %d, stride %d, %d elements: no panic", what, bad.Rows, bad.Cols, bad.Stride, len(bad.Data))
					}
				}()
				kernels.Dropout(pair[0], pair[1], kernels.Mask{P: 0.5})
			}()
		}
	}
	for _, empty := range []kernels.Matrix{{}, {Rows: 2}, {Cols: 2}} {
		kernels.Dropout(empty, empty, kernels.Mask{P: 0.5})
	}
}

// kept returns which of rows x cols elements a mask keeps.
func kept(rows, cols int, mask kernels.Mask) []bool {
	ones := filled(rows, cols, 1)
	kernels.Dropout(ones, ones, mask)
	all := make([]bool, len(ones.Data))
	for i, x := range ones.Data {
		all[i] = x != 0
	}
	return all
}

// TestDropoutStatistics: the share that is dropped is the threshold's, and a mask says nothing about itself one column,
// row or block further on, nor about one of another seed or step. A random sample passes each bound, of five standard
// deviations, with a probability of 1 - 6e-7; the samples are fixed.
func TestDropoutStatistics(t *testing.T) {
	const rows, cols = 128, 1024
	for _, p := range []float64{0.002, 0.1, 0.5, 0.8, 0.99} {
		mask := kernels.Mask{P: p, Seed: 11, Step: 5, Row: 3, Col: 16}
		q := float64(mask.Threshold()) / 256 // dropped
		all := kept(rows, cols, mask)
		share := func(what string, want float64, n int, is func(i int) bool) {
			t.Helper()
			count := 0
			for i := range n {
				if is(i) {
					count++
				}
			}
			if sigma := math.Sqrt(want * (1 - want) * float64(n)); math.Abs(float64(count)-want*float64(n)) > 5*sigma {
				t.Errorf("p = %v, %s: %d of %d, want %.0f +- %.1f", p, what, count, n, want*float64(n), sigma)
			}
		}
		share("dropped", q, len(all), func(i int) bool { return !all[i] })
		for place := range 16 {
			share(fmt.Sprintf("dropped in columns %d mod 16", place), q, len(all)/16, func(i int) bool { return !all[16*i+place] })
		}
		agree := q*q + (1-q)*(1-q)
		for _, distance := range []int{1, 2, 3, 4, 8, 16, 64, cols, 2 * cols} {
			share(fmt.Sprintf("the same %d further on", distance), agree, len(all)-distance,
				func(i int) bool { return all[i] == all[i+distance] })
		}
		for what, change := range map[string]func(m *kernels.Mask){
			"seed": func(m *kernels.Mask) { m.Seed++ }, "upper half of the seed": func(m *kernels.Mask) { m.Seed ^= 1 << 32 },
			"step": func(m *kernels.Mask) { m.Step++ }, "upper half of the step": func(m *kernels.Mask) { m.Step ^= 1 << 24 },
			"far row": func(m *kernels.Mask) { m.Row += rows }, "far column": func(m *kernels.Mask) { m.Col += cols },
		} {
			other := mask
			change(&other)
			of := kept(rows, cols, other)
			share("the same with another "+what, agree, len(all), func(i int) bool { return all[i] == of[i] })
		}
	}
}
