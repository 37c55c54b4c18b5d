package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rowvec/rowvec/kernels"
)

// plainDot is the dot product by the words of its definition.
func plainDot(x, y []float32) float32 {
	var lane [16]float32
	for i := range x {
		product := float32(x[i] * y[i])
		lane[i%16] += product
	}
	for n := 8; n > 0; n /= 2 {
		for k := range n {
			lane[k] += lane[k+n]
		}
	}
	return lane[0]
}

func TestDotsByHand(t *testing.T) {
	const big = 0x1p24 // to which 1 is lost
	a := rows([]float32{1, 2}, []float32{-3, 0})
	table := rows([]float32{1, 1}, []float32{2, -1}, []float32{inf, negativeZero})
	dst := filled(2, 4, untouched)
	expectDone(t, "Dots", kernels.Dots(dst, a, table, []uint32{1, 0, 2, 1}), 4)
	expect(t, "Dots", dst.Data, []float32{0, 3, inf, 0, -6, -3, -inf, -6})
	expectDone(t, "Dots", kernels.Dots(dst, a, table, []int{1, 0, 3, 1}), 2)
	expectDone(t, "Dots", kernels.Dots(dst, a, table, []int{1, -1, 0, 1}), 1)
	dst = filled(2, 3, untouched)
	kernels.DotsAll(dst, a, table)
	expect(t, "DotsAll", dst.Data, []float32{3, 0, inf, -3, -6, -inf})

	for _, c := range []struct {
		at   map[int]float32 // elements of a row, the others of which are 0; the other row is 1
		want float32
	}{
		{map[int]float32{0: negativeZero}, 0},                           // -0 in one of many
		{map[int]float32{3: big, 19: 1, 35: 1, 51: -big}, 0},            // one lane, from the left
		{map[int]float32{3: 1, 19: 1, 35: big, 51: -big}, 2},            // the same
		{map[int]float32{0: big, 8: -big, 4: 1}, 1},                     // lane 8 to lane 0, then lane 4
		{map[int]float32{0: big, 4: 1, 8: 1, 12: -big}, 1},              // lane 8 to lane 0, where 1 is lost, and 12 to 4
		{map[int]float32{1: big, 5: -big, 3: 1, 9: 0}, 1},               // lane 5, then lane 3
		{map[int]float32{0: big, 2: -big, 1: 1, 3: 1}, 2},               // lanes 2 and 3, then 1
		{map[int]float32{0: big, 1: -big, 2: 1, 3: 1}, 1},               // lane 2 to lane 0, where 1 is lost, and 3 to 1
		{map[int]float32{0: big, 16: 1, 17: 1, 1: 1, 33: -big}, 2},      // 1 and 1 and -big, to big
		{map[int]float32{15: inf, 31: -inf}, nan},                       // in one lane
		{map[int]float32{7: inf, 8: -inf}, nan},                         // in two
		{map[int]float32{0: math.MaxFloat32, 16: math.MaxFloat32}, inf}, // overflow
	} {
		x, ones := filled(1, 53, 0), filled(1, 53, 1)
		for i, v := range c.at {
			x.Data[i] = v
		}
		dst := filled(1, 1, untouched)
		kernels.DotsAll(dst, x, ones)
		expect(t, fmt.Sprint(c.at), dst.Data, []float32{c.want})
	}

	none := filled(3, 2, untouched)
	kernels.DotsAll(none, kernels.Matrix{Rows: 3}, kernels.Matrix{Rows: 2})
	expect(t, "without columns", none.Data, []float32{0, 0, 0, 0, 0, 0})
	kernels.DotsAll(kernels.Matrix{Cols: math.MaxInt}, kernels.Matrix{}, kernels.Matrix{Rows: math.MaxInt})
}

// TestDotsUnfused: see TestUnfused.
func TestDotsUnfused(t *testing.T) {
	const x, minus = 1 + 0x1p-12, -(1 + 0x1p-11)
	a, table, dst := filled(1, 32, 0), filled(1, 32, 1), filled(1, 1, untouched)
	for i := range 16 {
		a.Data[i], a.Data[16+i], table.Data[16+i] = minus, x, x
	}
	kernels.DotsAll(dst, a, table)
	expect(t, "DotsAll", dst.Data, []float32{0})
}

// TestDots holds rows of every length to the words of the definition, and to the exact result: each product and each sum
// on the way of an element, of which there are dim/16 in its lane and 4 in the tree, adds at most half a unit.
func TestDots(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for dim := range 300 {
		a, table := filled(2, dim, 0), filled(3, dim, 0)
		for _, m := range []kernels.Matrix{a, table} {
			for i := range m.Data {
				m.Data[i] = float32(math.Ldexp(rng.Float64()*2-1, rng.IntN(20)-10))
			}
		}
		dst := filled(2, 3, untouched)
		kernels.DotsAll(dst, a, table)
		for i := range 2 {
			for j := range 3 {
				x, y := a.Row(i), table.Row(j)
				got := dst.Row(i)[j]
				expect(t, fmt.Sprint("dim ", dim), []float32{got}, []float32{plainDot(x, y)})
				exact, size := 0.0, 0.0
				for k := range x {
					product := float64(x[k]) * float64(y[k])
					exact += product
					size += math.Abs(product)
				}
				n := float64(dim/16+1+1+4) * 0x1p-24
				if bound := size * n / (1 - n); math.Abs(float64(got)-exact) > bound+1e-40 {
					t.Fatalf("dim %d: %v, want %v within %g", dim, got, exact, bound)
				}
			}
		}
	}
}
