// Package derivatives has tests hold gradients to central differences of what is differentiated, written down in float64.
package derivatives

import (
	"math"
	"testing"
)

// Derivatives are what the gradient of a parameter has to be by central differences of a forward pass in float64, and how far
// from that it may be.
type Derivatives struct{ want, off []float64 }

// Of takes differences of forward with each row of x, one of its parameters of so many columns, h up and h down. Each
// element of its result that moves gives a term, times its dOut. Ours are rounded to float32: a term no more than so many times
// until it is added, and with each that is added once more, so that their sum is off by no more than as many times 2^-24 of the
// terms without their signs. By row, what an element is off by is in proportion to others of its row, as where their mean has
// been taken from each, and so the largest sum counts for all. What differences are off by in float64 is a hundredth of that at
// most.
func Of(forward func() []float64, x []float64, cols int, h float64, dOut []float32, roundings int, byRow bool) (d Derivatives) {
	d.want, d.off = make([]float64, len(x)), make([]float64, len(x))
	move := func(some []float64, h float64) []float64 {
		before := append([]float64(nil), some...)
		for i := range some {
			some[i] += h * float64(1+i) // each its own way, or a norm would undo it
		}
		out := forward()
		copy(some, before)
		return out
	}
	still := forward()
	for lo := 0; lo < len(x); lo += cols {
		moved := false
		for k, y := range move(x[lo:lo+cols], h) {
			moved = moved || y != still[k]
		}
		if !moved && cols > 1 { // nothing looks the row up
			continue
		}
		largest := 0.0
		for i := lo; i < lo+cols; i++ {
			up, down := move(x[i:i+1], h), move(x[i:i+1], -h)
			sum, n := 0.0, roundings
			for k, y := range up {
				if term := (y - down[k]) / (2 * h) * float64(dOut[k]); term != 0 {
					d.want[i] += term
					sum += math.Abs(term)
					n++
				}
			}
			d.off[i] = float64(n) * 0x1p-24 * sum
			largest = max(largest, d.off[i])
		}
		for i := lo; byRow && i < lo+cols; i++ {
			d.off[i] = largest
		}
	}
	return d
}

// Hold compares a gradient.
func (d Derivatives) Hold(t *testing.T, what string, grad []float32) {
	t.Helper()
	if len(grad) != len(d.want) {
		t.Fatalf("%s: %d elements, want %d", what, len(grad), len(d.want))
	}
	for i, x := range grad {
		if !(math.Abs(float64(x)-d.want[i]) <= d.off[i]) {
			t.Fatalf("%s: element %d is %v, want %v within %v", what, i, x, d.want[i], d.off[i])
		}
	}
}

// Wide returns the same numbers in float64.
func Wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = float64(x[i])
	}
	return y
}

// Same reports a pass in float64 that is not the one that has been computed.
func Same(t *testing.T, what string, out []float32, want []float64) {
	t.Helper()
	if len(out) != len(want) {
		t.Fatalf("%s: %d elements of the result, want %d", what, len(out), len(want))
	}
	for i, x := range out {
		if !(math.Abs(float64(x)-want[i]) <= 1e-5*max(1, math.Abs(want[i]))) {
			t.Fatalf("%s: element %d of the result is %v, want %v", what, i, x, want[i])
		}
	}
}
