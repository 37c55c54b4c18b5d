//go:build unix

package rowvec_test

import (
	"math/rand/v2"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
)

// TestUpdatesBeyond32Bits updates rows whose elements or ids lie beyond 2^32, of a table and of states with different strides, in
// mappings of which only those pages exist.
func TestUpdatesBeyond32Bits(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, cols := range []int{19, 35} {
			for last, stride := range beyond(cols) {
				updatesBeyond32Bits(t, cols, last, stride)
			}
		}
	})
}

func updatesBeyond32Bits(t *testing.T, cols, last, stride int) {
	t.Helper()
	rows := last + 1
	states := [3]rowvec.Matrix{
		sparse(t, rows, cols, stride), sparse(t, rows, cols, stride+8), sparse(t, rows, cols, stride+16),
	}
	ids, near := []int64{int64(last), 1, int64(last)}, []int64{1, 0, 1}
	sums, nearSums := sparse(t, 1, rows, rows).Data, make([]float32, 2)
	grad := matrix(heap(), rand.New(rand.NewPCG(23, 24)), 3, cols, 0)
	ordinary(grad.Data)
	var dense [3]rowvec.Matrix
	for i := range dense {
		dense[i], _ = rowvec.NewMatrix(2, cols)
	}
	for _, update := range []struct {
		name string
		run  func(m [3]rowvec.Matrix, sums []float32, ids []int64) error
	}{
		{"UpdateSGD", func(m [3]rowvec.Matrix, _ []float32, ids []int64) error {
			return rowvec.UpdateSGD(m[0], ids, grad, 0.1, 0.01)
		}},
		{"UpdateAdagrad", func(m [3]rowvec.Matrix, _ []float32, ids []int64) error {
			return rowvec.UpdateAdagrad(m[0], m[1], ids, grad, 0.1, 1e-3)
		}},
		{"UpdateRowAdagrad", func(m [3]rowvec.Matrix, sums []float32, ids []int64) error {
			return rowvec.UpdateRowAdagrad(m[0], sums, ids, grad, 0.1, 1e-3)
		}},
		{"UpdateAdam", func(m [3]rowvec.Matrix, _ []float32, ids []int64) error {
			return rowvec.UpdateAdam(m[0], m[1], m[2], ids, grad,
				rowvec.AdamStep{MeanWeight: 0.1, SquareWeight: 0.1, Rate: 0.1, Epsilon: 1e-3, Keep: 1})
		}},
	} {
		if err := update.run(states, sums, ids); err != nil {
			t.Fatal(err)
		}
		if err := update.run(dense, nearSums, near); err != nil {
			t.Fatal(err)
		}
		for i := range states {
			for row, far := range []int{1, last} {
				if d := diff(states[i].Row(far), dense[i].Row(row), false); d != "" {
					t.Fatalf("%s, matrix %d, row %d: %s", update.name, i, far, d)
				}
			}
		}
		if sums[1] != nearSums[0] || sums[last] != nearSums[1] {
			t.Errorf("%s: sums %v and %v, want %v", update.name, sums[1], sums[last], nearSums)
		}
	}
}
