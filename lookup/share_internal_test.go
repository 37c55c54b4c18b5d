package lookup

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/internal/work"
)

// TestLowerShares: what tests of several workers rest on. Where sizes are lowered, calls of a few rows and columns are shared.
func TestLowerShares(t *testing.T) {
	defer tuning.Lower()()
	const workers, rows, cols = 3, 4, 40
	all, share := lines(cols, workers)
	if r, c := work.Busy(workers, rows, leastRows(cols)), work.Busy(workers, all, share); r != workers || c != workers {
		t.Errorf("%d and %d of %d workers find something to do in %d rows and %d columns", r, c, workers, rows, cols)
	}
}

// TestSquares: rows of any length go on with the sums of those before them, each column with that of its place modulo 4.
func TestSquares(t *testing.T) {
	var got, want squares
	for n := range 12 {
		row := make([]float32, n)
		for k := range row {
			row[k] = float32(n) + float32(k)/3
			want[k%4] += float64(float64(row[k]) * float64(row[k]))
		}
		got.add(row)
	}
	if got != want || got.root() != math.Sqrt((want[0]+want[2])+(want[1]+want[3])) {
		t.Errorf("sums %v, root %v; want %v", got, got.root(), want)
	}
}

// TestStoredPositions: offsets that another goroutine has made those of empty sequences, once they had been checked, need no
// position; but that is no reason to take one out of a table without rows.
func TestStoredPositions(t *testing.T) {
	tokens, _ := NewEmbedding(9, 4)
	l, _ := NewLayer(tokens, computed{})
	in := Ragged([]int{1, 2}, []int{0, 0})
	if _, stored, err := l.positionTable("", &in); stored || err != nil {
		t.Errorf("stored: %t, error %v", stored, err)
	}
}

// computed are positions without a table.
type computed struct{}

func (computed) Fill(rowvec.Matrix, int) error { return nil }
func (computed) Table() rowvec.Matrix          { return rowvec.Matrix{} }
func (computed) Limit() int                    { return 100 }
func (computed) Dim() int                      { return 4 }
func (computed) Kind() string                  { return "computed" }
func (computed) Trainable() bool               { return false }
