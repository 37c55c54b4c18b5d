package positional_test

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/reference"
	"github.com/rowvec/rowvec/positional"
)

// TestSinusoidalReference holds the table to NumPy and to PyTorch. Against NumPy's float64, rounded once, each side is
// off by at most half a unit in the last place next to 1, 2^-25. The usual PyTorch code computes angles in float32 and
// loses up to 4e-5 below position 512, at these dims, and more behind it, where nothing is promised.
func TestSinusoidalReference(t *testing.T) {
	const rounded, usual, usualLength = 6e-8, 4e-5, 512
	for _, c := range append(reference.SinusoidCases(t), reference.LayoutCases(t)...) {
		t.Run(c.Name, func(t *testing.T) {
			var options []positional.SinusoidalOption
			switch c.Layout {
			case "half-split":
				options = append(options, positional.HalfSplit())
			case "tensor2tensor":
				options = append(options, positional.Tensor2Tensor())
			}
			if c.Base != 0 {
				options = append(options, positional.Base(c.Base))
			}
			encoding, err := positional.NewSinusoidal(c.Length, c.Dim, options...)
			if err != nil {
				t.Fatal(err)
			}
			table := encoding.Table()
			if table.Rows != c.Length || table.Cols != c.Dim {
				t.Fatalf("the table is %d x %d, want %d x %d", table.Rows, table.Cols, c.Length, c.Dim)
			}
			for i, position := range c.At {
				for j, x := range table.Row(position) {
					if y := c.Rounded.Row(i)[j]; !near(x, y, rounded) {
						t.Errorf("position %d, column %d: %v, by NumPy %v", position, j, x, y)
					}
					if y := c.Torch.Row(i)[j]; position < usualLength && !near(x, y, usual) {
						t.Errorf("position %d, column %d: %v, by PyTorch %v", position, j, x, y)
					}
				}
			}
		})
	}
}

// near is false for a NaN.
func near(x, y float32, tolerance float64) bool {
	return math.Abs(float64(x)-float64(y)) <= tolerance
}

// TestGridReference holds grids to MAE's formula by NumPy in float64, rounded once: each side is off by at most half a unit
// in the last place next to 1, 2^-25.
func TestGridReference(t *testing.T) {
	const rounded = 6e-8
	for _, c := range reference.GridCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			g, err := positional.NewGrid(c.Side, c.Side, c.Dim, positional.ClassTokens(c.ClassTokens))
			if err != nil {
				t.Fatal(err)
			}
			table := g.Table()
			if table.Rows != c.Table.Rows || table.Cols != c.Table.Cols {
				t.Fatalf("the table is %d x %d, want %d x %d", table.Rows, table.Cols, c.Table.Rows, c.Table.Cols)
			}
			for i := range table.Rows {
				for j, x := range table.Row(i) {
					if y := c.Table.Row(i)[j]; !near(x, y, rounded) {
						t.Errorf("row %d, column %d: %v, by NumPy %v", i, j, x, y)
					}
				}
			}
		})
	}
}

// TestResizeReference holds interpolations, forward and backward, to PyTorch, which computes places and weights in float32:
// a place in two roundings, and so off by up to 2^-23 of it, with all that follows for the weights; and cubic weights by
// polynomials whose terms come to 6 before they cancel, which leaves them off by up to 2^-21. Both sides round each weight,
// each product and each sum, in orders of their own.
func TestResizeReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for i, c := range reference.ResizeCases(t) {
			if i%3 != 0 && isatest.Few() {
				continue
			}
			var r *positional.Resize
			var err error
			if c.Linear() {
				r, err = positional.NewResize(c.From[1], c.To[1])
			} else {
				r, err = positional.NewGridResize(c.Prefix, c.From[0], c.From[1], c.To[0], c.To[1])
			}
			if err != nil {
				t.Fatal(err)
			}
			// weight returns by how much row i of the result is row j of the source, and how far off that may be.
			weight := func(i, j int) (w, off float64) {
				i, j = i-c.Prefix, j-c.Prefix
				if i < 0 || j < 0 {
					if i == j {
						return 1, 0
					}
					return 0, 0
				}
				y, dy := axisWeight(i/c.To[1], j/c.From[1], c.From[0], c.To[0], !c.Linear())
				x, dx := axisWeight(i%c.To[1], j%c.From[1], c.From[1], c.To[1], !c.Linear())
				return y * x, dy*math.Abs(x) + dx*math.Abs(y) + dy*dx
			}
			out, grad := reference.Zeros(c.Out, 2), reference.Zeros(c.Grad, 1)
			if err := r.Forward(out, c.Table.Matrix); err != nil {
				t.Fatal(err)
			}
			if err := r.Backward(grad, c.DOut.Matrix); err != nil {
				t.Fatal(err)
			}
			near := func(what string, got, want, of rowvec.Matrix, weight func(i, j int) (w, off float64)) {
				for i := range got.Rows {
					for k, x := range got.Row(i) {
						sum, bound, n := 0.0, 0.0, 3.0
						for j := range of.Rows {
							w, off := weight(i, j)
							size := math.Abs(float64(of.Row(j)[k]))
							sum += math.Abs(w) * size
							bound += off * size
							if w != 0 {
								n++
							}
						}
						bound += 2 * n * 0x1p-24 * sum
						if y := want.Row(i)[k]; !(math.Abs(float64(x)-float64(y)) <= bound) {
							t.Fatalf("%s: %s: row %d, column %d is %v, by PyTorch %v, more than %g apart", c.Name, what, i, k, x, y, bound)
						}
					}
				}
			}
			near("forward", out, c.Out.Matrix, c.Table.Matrix, weight)
			near("backward", grad, c.Grad.Matrix, c.DOut.Matrix, func(i, j int) (w, off float64) { return weight(j, i) })
		}
	})
}

// axisWeight returns in float64 the weight that place s of an axis has in place t of the result, and how far off it may be
// where the place is computed in float32.
func axisWeight(t, s, from, to int, cubic bool) (w, off float64) {
	if to == 1 {
		to = 2
	}
	place := float64(t) * float64(from-1) / float64(to-1)
	at := func(place float64) (w float64) {
		for k := -2; k < from+2; k++ {
			if min(max(k, 0), from-1) == s {
				w += kernel(math.Abs(place-float64(k)), cubic)
			}
		}
		return w
	}
	w = at(place)
	slip := place * 0x1p-23
	off = max(math.Abs(at(place+slip)-w), math.Abs(at(place-slip)-w))
	if cubic && math.Abs(place-float64(s)) < 3 && place != math.Floor(place) {
		off += 0x1p-21
	}
	return w, off
}

// kernel is a hat, or that of Keys with a = -0.75 as PyTorch writes it.
func kernel(d float64, cubic bool) float64 {
	const a = -0.75
	switch {
	case !cubic:
		return max(0, 1-d)
	case d < 1:
		return ((a+2)*d-(a+3))*d*d + 1
	case d < 2:
		return ((a*d-5*a)*d+8*a)*d - 4*a
	}
	return 0
}
