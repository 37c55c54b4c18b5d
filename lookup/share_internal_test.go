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

// TestWholePassShared: whatever of a pass changes or reads rows of a table is shared from the same size on, and a step by a gradient as
// the batch was that is in it, of however few rows.
func TestWholePassShared(t *testing.T) {
	defer func(parallel, cold int) { tuning.ParallelElements, tuning.ColdBytes = parallel, cold }(tuning.ParallelElements, tuning.ColdBytes)
	tuning.ParallelElements = 1024
	const vocab, dim, workers = 40, 16, 3
	e, err := NewEmbedding(vocab, dim, Workers(workers))
	if err != nil {
		t.Fatal(err)
	}
	o, err := e.NewOptimizer(SGD{Rate: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ cold, ids int }{{4 * vocab * dim, 64}, {4*vocab*dim - 4, 32}} {
		tuning.ColdBytes = x.cold
		for n, want := range map[int]int{x.ids - 1: 1, x.ids: workers} {
			if f, s := e.workersFor(n, e.parallelElements()), o.workersFor(n); f != want || s != want {
				t.Errorf("%d ids, cold from %d bytes: %d workers look up, %d change, want %d", n, x.cold, f, s, want)
			}
			ids, grad := make([]int, n), e.NewGradient() // one row
			dOut, err := rowvec.NewMatrix(n, dim)
			if err != nil {
				t.Fatal(err)
			}
			add := func(in Input) {
				t.Helper()
				rows := dOut
				rows.Rows = in.Len()
				if err := e.BackwardSparse(grad, in, rows); err != nil {
					t.Fatal(err)
				}
			}
			add(Sequence(ids))
			if got := o.workersOf(grad); got != want {
				t.Errorf("%d workers for a gradient of %d ids, want %d", got, n, want)
			}
			add(Sequence(ids[:1]))
			if got := o.workersOf(grad); got != want {
				t.Errorf("%d workers for a gradient of %d ids and one, want %d", got, n, want)
			}
			grad.Clear()
			add(Sequence(ids[:1]))
			if got := o.workersOf(grad); got != 1 {
				t.Errorf("%d workers for a gradient of one id that had %d before", got, n)
			}
			add(Sequence(ids))
			if got := o.workersOf(grad); got != want {
				t.Errorf("%d workers for a gradient of one id and %d, want %d", got, n, want)
			}
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
	for name, step := range map[string]func() error{
		"Step": func() error { return o.Step(g) }, "StepDense": func() error { return o.StepDense(rows) },
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
