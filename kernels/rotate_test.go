package kernels_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec/kernels"
)

// TestRotate has rows worked out by hand, with cosines and sines that are easy to multiply by.
func TestRotate(t *testing.T) {
	angles := kernels.Matrix{Rows: 3, Cols: 6, Stride: 7, Data: []float32{
		1, 1, 1, 0, 0, 0, -99,
		2, 3, 4, 10, 20, 30, -99,
		0, 1, 0.5, 1, -1, 2,
	}}
	src := []float32{1, 2, 3, 4, 5, 6, 7, -1, -2, -3, -4, -5, -6, -7}
	for _, c := range []struct {
		r    kernels.Rotation
		at   int
		want []float32
	}{
		{kernels.Rotation{Heads: 2}, 0, src},
		{kernels.Rotation{Heads: 2, Interleaved: true, Inverse: true}, 0, src},
		// Pairs (1, 4), (2, 5), (3, 6), and 7 is not rotated.
		{kernels.Rotation{Heads: 2}, 1, []float32{2 - 40, 6 - 100, 12 - 180, 8 + 10, 15 + 40, 24 + 90, 7,
			40 - 2, 100 - 6, 180 - 12, -8 - 10, -15 - 40, -24 - 90, -7}},
		{kernels.Rotation{Heads: 2, Inverse: true}, 1, []float32{2 + 40, 6 + 100, 12 + 180, 8 - 10, 15 - 40, 24 - 90, 7,
			-2 - 40, -6 - 100, -12 - 180, 10 - 8, 40 - 15, 90 - 24, -7}},
		// Pairs (1, 2), (3, 4), (5, 6).
		{kernels.Rotation{Heads: 2, Interleaved: true}, 1, []float32{2 - 20, 4 + 10, 9 - 80, 12 + 60, 20 - 180, 24 + 150, 7,
			20 - 2, -4 - 10, 80 - 9, -12 - 60, 180 - 20, -24 - 150, -7}},
		{kernels.Rotation{Heads: 2, Interleaved: true, Inverse: true}, 2, []float32{2, -1, 3 - 4, 4 + 3, 2.5 + 12, 3 - 10, 7,
			-2, 1, 4 - 3, -4 - 3, -2.5 - 12, 10 - 3, -7}},
		// One head of 14, of which 8 are not rotated: pairs (1, 4), (2, 5), (3, 6).
		{kernels.Rotation{Heads: 1}, 2, []float32{-4, 2 + 5, 1.5 - 12, 1, 5 - 2, 3 + 6, 7, -1, -2, -3, -4, -5, -6, -7}},
	} {
		m := func(x []float32) kernels.Matrix { return kernels.Matrix{Rows: 1, Cols: 14, Data: x, Stride: 14} }
		dst := make([]float32, 14)
		kernels.Rotate(m(dst), m(src), c.r, angles, c.at, 1)
		if !slices.Equal(dst, c.want) {
			t.Errorf("%+v by row %d: %v, want %v", c.r, c.at, dst, c.want)
		}
		at := make([]float32, 14)
		done := kernels.RotateAt(m(at), m(src), c.r, angles, []uint64{uint64(c.at)})
		inPlace := slices.Clone(src)
		kernels.Rotate(m(inPlace), m(inPlace), c.r, angles, c.at, 1)
		if done != 1 || !slices.Equal(at, c.want) || !slices.Equal(inPlace, c.want) {
			t.Errorf("%+v by row %d: %d rows done, %v, and in place %v, want %v", c.r, c.at, done, at, inPlace, c.want)
		}
	}
}

// TestRotateWrongs: arguments that do not fit panic.
func TestRotateWrongs(t *testing.T) {
	m := kernels.Matrix{Rows: 2, Cols: 6, Data: make([]float32, 12), Stride: 6}
	angles := func(cols int) kernels.Matrix {
		return kernels.Matrix{Rows: 2, Cols: cols, Data: make([]float32, 2*cols), Stride: cols}
	}
	for name, call := range map[string]func(){
		"no heads":    func() { kernels.Rotate(m, m, kernels.Rotation{}, angles(2), 0, 1) },
		"heads":       func() { kernels.Rotate(m, m, kernels.Rotation{Heads: 4}, angles(0), 0, 1) },
		"odd angles":  func() { kernels.RotateAt(m, m, kernels.Rotation{Heads: 2}, angles(3), []int{0, 0}) },
		"many angles": func() { kernels.RotateAt(m, m, kernels.Rotation{Heads: 2}, angles(4), []int{0, 0}) },
		"shapes": func() {
			kernels.Rotate(m, kernels.Matrix{Rows: 1, Cols: 6, Data: m.Data, Stride: 6}, kernels.Rotation{Heads: 2}, angles(2), 0, 1)
		},
		"positions": func() { kernels.RotateAt(m, m, kernels.Rotation{Heads: 2}, angles(2), []int{0, 0, 0}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

// TestRotateSpecial: a rotation is two products and their sum, whatever goes in.
func TestRotateSpecial(t *testing.T) {
	inf, nan, tiny := float32(math.Inf(1)), float32(math.NaN()), float32(math.SmallestNonzeroFloat32)
	values := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, tiny, -tiny, inf, -inf, nan, 1 + 0x1p-12, 1 + 0x1p-11}
	for _, a := range values {
		for _, b := range values {
			for _, c := range values {
				for _, s := range values {
					x := []float32{a, b}
					m := kernels.Matrix{Rows: 1, Cols: 2, Data: x, Stride: 2}
					angles := kernels.Matrix{Rows: 1, Cols: 2, Data: []float32{c, s}, Stride: 2}
					kernels.Rotate(m, m, kernels.Rotation{Heads: 1}, angles, 0, 1)
					for i, want := range []float32{float32(a*c) - float32(b*s), float32(b*c) + float32(a*s)} {
						if math.Float32bits(x[i]) != math.Float32bits(want) && (x[i] == x[i] || want == want) {
							t.Fatalf("(%v, %v) by (%v, %v): element %d is %v, want %v", a, b, c, s, i, x[i], want)
						}
					}
				}
			}
		}
	}
}

func ExampleRotate() {
	angles := kernels.Matrix{Rows: 2, Cols: 2, Data: []float32{1, 0, 0, 1}, Stride: 2} // no turn, and a right angle
	x := kernels.Matrix{Rows: 2, Cols: 4, Data: []float32{1, 2, 3, 4, 1, 2, 3, 4}, Stride: 4}
	kernels.Rotate(x, x, kernels.Rotation{Heads: 2}, angles, 0, 2)
	fmt.Println(x.Data)
	// Output: [1 2 3 4 -2 1 -4 3]
}

func ExampleRotateAt() {
	angles := kernels.Matrix{Rows: 2, Cols: 2, Data: []float32{1, 0, 0, 1}, Stride: 2}
	x := kernels.Matrix{Rows: 2, Cols: 2, Data: []float32{1, 2, 1, 2}, Stride: 2}
	done := kernels.RotateAt(x, x, kernels.Rotation{Heads: 1, Inverse: true}, angles, []int{1, 2})
	fmt.Println(done, x.Data)
	// Output: 1 [2 -1 1 2]
}
