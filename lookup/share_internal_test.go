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

// TestWholePassShared: whatever of a pass reads or changes rows of a table is shared from the same size on, and a step by a gradient as
// the batch was that is in it, of however few rows.
func TestWholePassShared(t *testing.T) {
	defer func(parallel, cold int) { tuning.ParallelElements, tuning.ColdBytes = parallel, cold }(tuning.ParallelElements, tuning.ColdBytes)
	const vocab, dim = 40, 16
	tuning.ParallelElements = 64 * dim
	for _, x := range []struct {
		cold         bool
		workers, ids int
	}{{false, 2, 64}, {true, 2, 32}, {false, 3, 64}, {false, 4, 48}, {true, 4, 24}} {
		tuning.ColdBytes = 4 * vocab * dim
		if x.cold {
			tuning.ColdBytes -= 4
		}
		e, err := NewEmbedding(vocab, dim, Workers(x.workers))
		if err != nil {
			t.Fatal(err)
		}
		o, err := e.NewOptimizer(SGD{Rate: 1})
		if err != nil {
			t.Fatal(err)
		}
		for n, want := range map[int]int{x.ids - 1: 1, x.ids: x.workers} {
			if f, s := e.workersFor(n, e.parallelElements()), o.workersFor(n); f != want || s != want {
				t.Errorf("%+v, %d ids: %d workers look up, %d change, want %d", x, n, f, s, want)
			}
			ids, grad := make([]int, n), e.NewGradient() // one row
			dOut, err := rowvec.NewMatrix(n, dim)
			if err != nil {
				t.Fatal(err)
			}
			add := func(ids []int, want int) {
				t.Helper()
				rows := dOut
				rows.Rows = len(ids)
				if err := e.BackwardSparse(grad, Sequence(ids), rows); err != nil {
					t.Fatal(err)
				}
				if got := o.workersOf(grad); got != want {
					t.Errorf("%+v, %d ids: %d workers for the gradient, want %d", x, n, got, want)
				}
			}
			add(ids, want)
			add(ids[:1], want)
			grad.Clear()
			add(ids[:1], 1)
			add(ids, want)
		}
	}
}

// TestNorms holds norms to sums in their order, and has what is no number in them.
func TestNorms(t *testing.T) {
	norm := func(x []float32, p float64) float64 {
		if p == 2 {
			return euclidean(x)
		}
		return pNorm(x, p)
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for n := range 40 {
		x := make([]float32, n)
		var one, two, largest float64
		for k := range x {
			x[k] = float32(n) - float32(k)*1.7
			one += math.Abs(float64(x[k]))
			two += float64(x[k]) * float64(x[k])
			largest = max(largest, math.Abs(float64(x[k])))
		}
		for p, want := range map[float64]float64{1: one, 2: math.Sqrt(two), math.Inf(1): largest} {
			if got := norm(x, p); math.Abs(got-want) > 1e-14*want {
				t.Errorf("%d elements, p=%v: %v, want %v", n, p, got, want)
			}
			for k := range x {
				old := x[k]
				for _, bad := range []float32{inf, -inf, nan, -nan} {
					x[k] = bad
					if got := norm(x, p); !math.IsInf(got, 1) && bad == bad || !math.IsNaN(got) && bad != bad {
						t.Errorf("%d elements, p=%v, one of them %v: %v", n, p, bad, got)
					}
				}
				x[k] = old
			}
		}
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

// TestStepAfterPanic: what a step has been told is forgotten when it ends in a panic, as of gradients whose memory cannot be read.
func TestStepAfterPanic(t *testing.T) {
	tokens, err := NewEmbedding(5, 3)
	if err != nil {
		t.Fatal(err)
	}
	o, err := tokens.NewOptimizer(SGD{})
	if err != nil {
		t.Fatal(err)
	}
	g := tokens.NewGradient()
	rows := rowvec.Matrix{Rows: 5, Cols: 3, Stride: 3, Data: make([]float32, 15)}
	if err := AddRows(g, []int{0, 1, 2, 3, 4}, 1, rows); err != nil {
		t.Fatal(err)
	}
	maxima, err := NewBag(tokens, Max)
	if err != nil {
		t.Fatal(err)
	}
	firstRow := rows
	firstRow.Rows = 1
	for name, step := range map[string]func() error{
		"Step": func() error { return o.Step(g) }, "StepDense": func() error { return o.StepDense(rows) },
		"StepBags":  func() error { return o.StepBags(maxima, Sequence([]int{4, 3, 2, 1, 4}), firstRow) },
		"StepBatch": func() error { return o.StepBatch(tokens, Sequence([]int{4, 3, 2, 1, 4}), rows) },
	} {
		o.crew, o.self = work.New(func(lo, hi int) error { panic("on purpose") }), o
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			_ = step()
		}()
		if o.ids != nil || o.grads.Rows != 0 || o.places != nil || o.dense || o.batch.rows.Data != nil {
			t.Errorf("%s: a panic leaves the next step %v, %v, %v, %v", name, o.ids, o.grads, o.places, o.dense)
		}
	}
}
