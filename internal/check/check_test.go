package check_test

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
)

// TestWindow: a window without elements is one also where the matrix has no data to begin in, and nothing is behind its last element.
func TestWindow(t *testing.T) {
	m := rowvec.Matrix{Rows: 3, Stride: 5}
	if w := check.Window(m, 1, 2, 0, 0); w.Rows != 2 || w.Cols != 0 || w.Data != nil {
		t.Errorf("%+v", w)
	}
	m = rowvec.Matrix{Cols: 4, Stride: 5}
	if w := check.Window(m, 3, 0, 2, 2); w.Rows != 0 || w.Cols != 2 || w.Data != nil {
		t.Errorf("%+v", w)
	}
	m = rowvec.Matrix{Rows: 2, Cols: 3, Stride: 3, Data: []float32{1, 2, 3, 4, 5, 6}}
	if w := check.Window(m, 1, 1, 1, 2); w.Rows != 1 || w.Cols != 2 || w.Row(0)[1] != 6 {
		t.Errorf("%+v", w)
	}
	if w := check.Window(m, 0, 2, 0, 2); len(w.Data) != 5 {
		t.Errorf("%+v", w)
	}
	m.Data = make([]float32, 100)
	for _, w := range [][4]int{{1, 2, 0, 3}, {-1, 1, 0, 3}, {0, -1, 0, 3}, {math.MaxInt, 1, 0, 3}, {0, math.MaxInt, 0, 3}, {0, 2, 1, 3},
		{0, 2, -1, 3}, {1, 1, -1, 3}, {0, 2, 1, -1}, {0, 2, math.MaxInt, 1}, {0, 2, 0, math.MaxInt}, {0, 2, math.MaxInt, math.MaxInt}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a window %v of 2 x 3", w)
				}
			}()
			check.Window(m, w[0], w[1], w[2], w[3])
		}()
	}
}
