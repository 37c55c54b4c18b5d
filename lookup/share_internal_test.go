package lookup

import (
	"errors"
	"math"
	"sync/atomic"
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

// TestWholePassShared: whatever of a pass reads or changes rows of a table is shared from the same size on, of bags another one, and a
// step by a gradient as the batch was that is in it, of however few rows.
func TestWholePassShared(t *testing.T) {
	defer func(parallel, cold, cached, least int) {
		tuning.ParallelElements, tuning.ColdBytes, tuning.CachedBagBytes, tuning.LeastElements = parallel, cold, cached, least
	}(tuning.ParallelElements, tuning.ColdBytes, tuning.CachedBagBytes, tuning.LeastElements)
	const vocab, dim = 400, 16
	tuning.ParallelElements, tuning.LeastElements = 64*dim, dim
	dOut, err := rowvec.NewMatrix(vocab, dim)
	if err != nil {
		t.Fatal(err)
	}
	apart := make([]int, vocab)
	for i := range apart {
		apart[i] = i
	}
	for _, x := range []struct {
		cold, cached bool
		workers      int
		ids, bagged  int // from which on they are shared, and those of bags
	}{
		{false, false, 2, 64, 128}, {true, false, 2, 32, 48}, {false, true, 3, 64, 256}, {false, false, 4, 48, 96}, {true, false, 4, 24, 36},
	} {
		tuning.ColdBytes, tuning.CachedBagBytes = 4*vocab*dim, 0
		if x.cold {
			tuning.ColdBytes -= 4
		}
		if x.cached {
			tuning.CachedBagBytes = 4 * vocab * dim
		}
		e, err := NewEmbedding(vocab, dim, Workers(x.workers))
		if err != nil {
			t.Fatal(err)
		}
		bag, err := NewBag(e, Sum)
		if err != nil {
			t.Fatal(err)
		}
		o, err := NewOptimizer(e.Parameters()[0], SGD{Rate: 1})
		if err != nil {
			t.Fatal(err)
		}
		o.workers = x.workers
		var ranges atomic.Int32
		o.crew, o.self = work.New(func(lo, hi int) error { ranges.Add(1); return nil }), o
		shared := func(what string, n int, err error, want bool) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			if got := ranges.Swap(0); (got > 1) != want {
				t.Errorf("%+v, %s of %d ids: %d ranges", x, what, n, got)
			}
		}
		grad := e.NewGradient()
		rows := func(n int) rowvec.Matrix { m := dOut; m.Rows = n; return m }
		for _, n := range []int{x.ids - 1, x.ids, x.bagged - 1, x.bagged} {
			for _, ids := range [][]int{apart[:n], make([]int, n)} {
				several := n >= x.ids
				if got := e.workersFor(n, e.parallelElements()) > 1; got != several {
					t.Errorf("%+v, %d ids: shared %v", x, n, got)
				}
				shared("StepBatch", n, o.StepBatch(e, Sequence(ids), rows(n)), several)
				grad.Clear()
				err := e.BackwardSparse(grad, Sequence(ids), rows(n))
				shared("Step", n, errors.Join(err, o.Step(grad)), several && grad.Len() > 1)
				if got := o.workersOf(grad) > 1; got != several {
					t.Errorf("%+v, a gradient of %d ids: shared %v", x, n, got)
				}

				in, bags := Batch(ids, n), rows(1)
				several = n >= x.bagged
				if got := e.workersFor(n, bag.parallelElements()) > 1; got != several {
					t.Errorf("%+v, bags of %d ids: shared %v", x, n, got)
				}
				shared("StepBags", n, o.StepBags(bag, in, bags), several)
				grad.Clear()
				if err := bag.BackwardSparse(grad, in, bags); err != nil {
					t.Fatal(err)
				}
				if got := o.workersOf(grad) > 1; got != several {
					t.Errorf("%+v, a gradient of bags of %d ids: shared %v", x, n, got)
				}
			}
		}
	}
}

// TestSharedNoMore: what several workers have added does not matter any more once it is gone, nor what they have refused or left out.
func TestSharedNoMore(t *testing.T) {
	defer tuning.Lower()()
	e, err := NewEmbedding(50, 16, Workers(3), Padding(7))
	if err != nil {
		t.Fatal(err)
	}
	g := e.NewGradient()
	dOut, err := rowvec.NewMatrix(40, 16)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int, 40)
	several := func(what string, err error, want int) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if g.workers != want {
			t.Errorf("%s: %d workers, want %d", what, g.workers, want)
		}
	}
	one := rowvec.Matrix{Rows: 1, Cols: 16, Stride: 16, Data: make([]float32, 16)}
	several("a batch", e.BackwardSparse(g, Sequence(ids), dOut), 3)
	several("and a row", AddRows(g, []int{1}, 1, one), 3)
	g.Clear()
	several("a row", AddRows(g, []int{1}, 1, one), 1)
	g.Clear()
	g.CheckFinite(true)
	dOut.Data[5] = float32(math.Inf(1))
	if err := e.BackwardSparse(g, Sequence(ids), dOut); err == nil {
		t.Fatal("no error")
	}
	several("a row behind what is refused", AddRows(g, []int{1}, 1, one), 1)
	if err := e.BackwardSparse(g, Sequence(ids), dOut); err == nil {
		t.Fatal("no error")
	}
	several("what is refused behind a row", nil, 1)
	g.Clear()
	for i := range ids {
		ids[i] = 7
	}
	several("padding", e.BackwardSparse(g, Sequence(ids), dOut), 3)
	several("a row behind padding", AddRows(g, []int{1}, 1, one), 1)
	several("a dense gradient", g.SetDense(rowvec.Matrix{Rows: 50, Cols: 16, Stride: 16, Data: make([]float32, 800)}), 0)
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
