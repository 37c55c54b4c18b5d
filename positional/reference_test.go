package positional_test

import (
	"math"
	"testing"

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
