package rowvec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// compareUpdates runs every update on one shape against its definition, with scale as the learning rate. Each matrix has a
// stride of its own, and whole backing slices are compared, gaps included. A first round has special values everywhere, and
// a second one none, since a single NaN among the gradients hides what else becomes of a row with one sum.
func compareUpdates[I rowvec.ID](t *testing.T, alloc func() allocator, s shape) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(s.dim), uint64(s.n)))
	grad := matrix(alloc(), rng, s.n, s.dim, s.gap)
	table := matrix(alloc(), rng, s.rows, s.dim, s.gap*2)
	first := matrix(alloc(), rng, s.rows, s.dim, s.gap*3)
	second := matrix(alloc(), rng, s.rows, s.dim, s.gap)
	sums := matrix(alloc(), rng, s.rows, 1, 0)
	ids := randomIDs[I](rng, s.n, s.rows)
	states := []rowvec.Matrix{table, first, second, sums}
	var before, want []rowvec.Matrix
	for _, m := range states {
		before, want = append(before, clone(m)), append(want, clone(m))
	}
	// try has all states as they were before, and compares them behind an update with those behind its definition.
	try := func(update string, run func() error, define func()) {
		t.Helper()
		for i, m := range states {
			copy(m.Data, before[i].Data)
			copy(want[i].Data, before[i].Data)
		}
		err := run()
		define()
		for i, m := range states {
			s.check(t, fmt.Sprintf("%s, matrix %d,", update, i), err, m, want[i], false)
		}
	}
	for round := range 2 {
		epsilons := []float32{1e-3, 0, special[rng.IntN(len(special))]}
		if round == 1 {
			ordinary(grad.Data)
			for _, m := range before {
				ordinary(m.Data)
			}
			epsilons = epsilons[:1]
		}
		for _, decay := range []float32{0, 0.01, epsilons[len(epsilons)-1]} {
			try("UpdateSGD", func() error { return rowvec.UpdateSGD(table, ids, grad, s.scale, decay) },
				func() { kernels.UpdateSGD(want[0], ids, grad, s.scale, decay) })
		}
		for _, epsilon := range epsilons {
			try("UpdateAdagrad", func() error { return rowvec.UpdateAdagrad(table, first, ids, grad, s.scale, epsilon) },
				func() { kernels.UpdateAdagrad(want[0], want[1], ids, grad, s.scale, epsilon) })
			try("UpdateRowAdagrad",
				func() error { return rowvec.UpdateRowAdagrad(table, sums.Data, ids, grad, s.scale, epsilon) },
				func() { kernels.UpdateRowAdagrad(want[0], want[3].Data, ids, grad, s.scale, epsilon) })
			step := rowvec.AdamStep{MeanWeight: 0.1, SquareWeight: 0.3, Rate: s.scale, Epsilon: epsilon, Keep: 1 - epsilon}
			try("UpdateAdam", func() error { return rowvec.UpdateAdam(table, first, second, ids, grad, step) },
				func() { kernels.UpdateAdam(want[0], want[1], want[2], ids, grad, step) })
		}
	}
}

// ordinary makes all of x, which fill has filled, numbers whose squares and roots are ordinary numbers.
func ordinary(x []float32) {
	const period = 10007 // of what fill makes
	for i, y := range x[:min(len(x), period)] {
		if y = float32(math.Abs(float64(y))); !(y > 0x1p-20 && y < 0x1p20) {
			y = 1 + float32(i%1013)/1013
		}
		x[i] = y
	}
	for n := period; n < len(x); n *= 2 {
		copy(x[n:], x[:n])
	}
}

func TestUpdatesEveryDim(t *testing.T) {
	isatest.Tune(t, &tuning.RootColumns, 0)
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range dims(0) {
			for _, gap := range []int{0, 1, 7} {
				compareUpdates[int32](t, heap, shape{dim: dim, gap: gap, n: 12 + 4*(gap%2), rows: 9, scale: 0.3})
			}
			compareUpdates[uint64](t, heap, shape{dim: dim, n: 1, rows: 1, scale: -3})
		}
	})
}

func TestUpdatesEveryIDType(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{5, 64} {
			s := shape{dim: dim, n: 12, rows: 9, scale: 0.3}
			compareUpdates[int](t, heap, s)
			compareUpdates[int32](t, heap, s)
			compareUpdates[int64](t, heap, s)
			compareUpdates[uint](t, heap, s)
			compareUpdates[uint32](t, heap, s)
			compareUpdates[uint64](t, heap, s)
			compareUpdates[named](t, heap, s)
		}
	})
}

// TestUpdatesRates has every special value as the learning rate.
func TestUpdatesRates(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, rate := range special {
			compareUpdates[int32](t, heap, shape{dim: 37, n: 12, rows: 9, scale: rate})
		}
	})
}

// TestUpdatesChunks has more rows and longer rows than one call of assembly does.
func TestUpdatesChunks(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		large(t)
		for _, s := range []shape{
			{dim: 1, n: 2100, rows: 5000},
			{dim: 3, n: 3001, rows: 77},
			{dim: 300, n: 120, rows: 500},
			{dim: 768, n: 43, rows: 50},
			{dim: 1<<14 - 1, n: 3, rows: 2},
			{dim: 1 << 14, n: 3, rows: 2},
			{dim: 1<<14 + 1, n: 2, rows: 2},
			{dim: 1<<15 + 19, n: 4, rows: 3},
			{dim: 1<<17 + 19, n: 2, rows: 3},
		} {
			s.gap, s.scale = 1, 0.3
			compareUpdates[int32](t, heap, s)
			compareUpdates[uint64](t, heap, s)
		}
	})
}

// TestUpdatesPrefetch updates tables that are large enough to be prefetched, with fewer and with more ids than that looks
// ahead.
func TestUpdatesPrefetch(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		large(t)
		for _, dim := range []int{1, 40, 5000} {
			for _, n := range []int{1, 40} {
				compareUpdates[int64](t, heap, shape{dim: dim, n: n, rows: 5<<18/dim + 1, scale: 2})
			}
		}
	})
}

// TestUpdatesNoAllocation keeps all buffers on the stack: what lets an argument escape allocates.
func TestUpdatesNoAllocation(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		isatest.NoAllocation(t, "updates", func() {
			var table, first, second, grad [6 * 7]float32
			var ids [6]int32
			m := func(x *[6 * 7]float32) rowvec.Matrix { return rowvec.Matrix{Rows: 6, Cols: 7, Data: x[:], Stride: 7} }
			for _, err := range [...]error{
				rowvec.UpdateSGD(m(&table), ids[:], m(&grad), 2, 1),
				rowvec.UpdateAdagrad(m(&table), m(&first), ids[:], m(&grad), 2, 1),
				rowvec.UpdateRowAdagrad(m(&table), second[:6], ids[:], m(&grad), 2, 1),
				rowvec.UpdateAdam(m(&table), m(&first), m(&second), ids[:], m(&grad), rowvec.AdamStep{Keep: 1}),
			} {
				if err != nil {
					t.Error(err)
				}
			}
		})
	})
}

// TestUpdatesLongNoAllocation is about rows of which one is more than a call of assembly does.
func TestUpdatesLongNoAllocation(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const cols = 1<<16 + 40
		table, _ := rowvec.NewMatrix(2, cols)
		first, _ := rowvec.NewMatrix(2, cols)
		second, _ := rowvec.NewMatrix(2, cols)
		grad, _ := rowvec.NewMatrix(1, cols)
		isatest.NoAllocation(t, "long rows", func() {
			var ids [1]int32
			var sums [2]float32
			for _, err := range [...]error{
				rowvec.UpdateSGD(table, ids[:], grad, 2, 1),
				rowvec.UpdateAdagrad(table, first, ids[:], grad, 2, 1),
				rowvec.UpdateRowAdagrad(table, sums[:], ids[:], grad, 2, 1),
				rowvec.UpdateAdam(table, first, second, ids[:], grad, rowvec.AdamStep{Keep: 1}),
			} {
				if err != nil {
					t.Error(err)
				}
			}
		})
	})
}

// TestUpdatesIDsChangeMeanwhile has another goroutine make an id invalid and valid again while updates run: every outcome
// but a fault will do, and an error must be one of the two kinds.
func TestUpdatesIDsChangeMeanwhile(t *testing.T) {
	if race.Enabled {
		t.Skip("is a race on purpose")
	}
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(21, 22))
		table, first, second := matrix(heap(), rng, 100, 24, 0), matrix(heap(), rng, 100, 24, 0), matrix(heap(), rng, 100, 24, 0)
		grad, sums := matrix(heap(), rng, 512, 24, 0), make([]float32, 100)
		ids := randomIDs[int64](rng, grad.Rows, table.Rows)
		stop := isatest.KeepChanging(&ids[300])
		whileChanging[*rowvec.IndexError](t, func() []error {
			return []error{
				rowvec.UpdateSGD(table, ids, grad, 1, 1),
				rowvec.UpdateAdagrad(table, first, ids, grad, 1, 1),
				rowvec.UpdateRowAdagrad(table, sums, ids, grad, 1, 1),
				rowvec.UpdateAdam(table, first, second, ids, grad, rowvec.AdamStep{}),
			}
		})
		stop()
	})
}

// TestPreemptionOfUpdates is TestPreemption for calls over many rows, and over two that are long.
func TestPreemptionOfUpdates(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors")
	}
	isatest.Each(t, func(t *testing.T) {
		if rowvec.ISA() == "portable" {
			t.Skip("plain Go can be preempted anywhere")
		}
		const n = 1 << 24
		data := make([]float32, n)
		grad := rowvec.Matrix{Rows: n >> 10, Cols: 1 << 10, Data: data, Stride: 1 << 10}
		long := rowvec.Matrix{Rows: 2, Cols: n / 2, Data: data, Stride: n / 2}
		small := func(m rowvec.Matrix) rowvec.Matrix {
			m.Rows, m.Data = 2, make([]float32, 2*m.Cols)
			return m
		}
		ids, sums, step := make([]int32, n>>10), make([]float32, 2), rowvec.AdamStep{Keep: 1}
		calls := map[string]func() error{}
		for name, g := range map[string]rowvec.Matrix{"many rows": grad, "long rows": long} {
			table, first, second, ids := small(g), small(g), small(g), ids[:g.Rows]
			calls["UpdateSGD, "+name] = func() error { return rowvec.UpdateSGD(table, ids, g, 1, 1) }
			calls["UpdateAdagrad, "+name] = func() error { return rowvec.UpdateAdagrad(table, first, ids, g, 1, 1) }
			calls["UpdateRowAdagrad, "+name] = func() error { return rowvec.UpdateRowAdagrad(table, sums, ids, g, 1, 1) }
			calls["UpdateAdam, "+name] = func() error { return rowvec.UpdateAdam(table, first, second, ids, g, step) }
		}
		stopsInTime(t, calls)
	})
}
