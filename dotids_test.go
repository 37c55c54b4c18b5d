package rowvec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/kernels"
)

// TestDotsCheckTheirIDs: see TestRowsCheckTheirIDs.
func TestDotsCheckTheirIDs(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		dotsStopAt(t, []int32{math.MinInt32, -1, 5, math.MaxInt32})
		dotsStopAt(t, []uint32{5, 1 << 31, math.MaxUint32})
		dotsStopAt(t, []int64{math.MinInt64, -1, 5, 1 << 32, math.MaxInt64})
		dotsStopAt(t, []uint64{5, 1 << 32, 1<<32 + 1, 1 << 63, math.MaxUint64})
	})
	prefetchAll(t)
	eachSize(t, func(t *testing.T) {
		manyDotsStopAt(t, []int32{math.MinInt32, -1, 5, math.MaxInt32})
		manyDotsStopAt(t, []uint64{5, 1 << 32, 1<<32 + 1, 1 << 63, math.MaxUint64})
	})
}

// TestDotsSetRegisters has other numbers in them before.
func TestDotsSetRegisters(t *testing.T) {
	prefetchAll(t)
	eachSize(t, func(t *testing.T) {
		const n, cols = 60, 100
		rng := rand.New(rand.NewPCG(1, 2))
		table, a, src := someMatrix(rng, 10, cols), someMatrix(rng, 1, cols), someMatrix(rng, 4, 256)
		ids := make([]uint32, n)
		for i := range ids {
			ids[i] = rng.Uint32N(10)
		}
		got, want := someMatrix(rng, 1, n), someMatrix(rng, 1, n)
		for range 2 {
			if err := Dropout(src, src, Mask{P: 0.5}); err != nil {
				t.Fatal(err)
			}
			if done := dots(&got, &a, &table, ids); done != n {
				t.Fatalf("%d done", done)
			}
			kernels.Dots(want, a, table, ids)
			if !slices.Equal(got.Data[:n], want.Data[:n]) {
				t.Fatal("other products")
			}
		}
	})
}

// TestDotsOfInfinite: what is left in registers from the columns before is no part of a tail.
func TestDotsOfInfinite(t *testing.T) {
	prefetchAll(t)
	eachSize(t, func(t *testing.T) {
		const n = 60
		for _, cols := range []int{40, 72} {
			infiniteDots(t, n, cols)
		}
	})
}

func infiniteDots(t *testing.T, n, cols int) {
	t.Helper()
	table, _ := NewMatrix(1, cols)
	for i := range table.Data {
		table.Data[i] = 1
	}
	for at := range cols {
		table.Data[at] = float32(math.Inf(1))
		a, _ := NewMatrix(1, cols)
		for i := range a.Data {
			a.Data[i] = 1
		}
		for range 2 {
			dst, _ := NewMatrix(1, n)
			if done := dots(&dst, &a, &table, make([]int32, n)); done != n {
				t.Fatalf("%d done", done)
			}
			for i, x := range dst.Data {
				if !math.IsInf(float64(x), 1) {
					t.Fatalf("an infinite element in column %d: product %d is %v", at, i, x)
				}
			}
			a, table = table, a // the other one has it
		}
		table.Data[at] = 1
	}
}

// manyDotsStopAt has one row of a, and more ids than prefetching looks ahead.
func manyDotsStopAt[I ID](t *testing.T, bad []I) {
	t.Helper()
	const n = 60
	for _, cols := range []int{16, 40, 100, 300} {
		table, _ := NewMatrix(5, cols)
		for i := range table.Data {
			table.Data[i] = 1
		}
		a := rowsOf(table, 0, 1)
		for _, id := range bad {
			for _, at := range []int{0, 1, 2, 3, 4, 37, 38, 39, 40, n - 1} {
				ids := make([]I, n)
				ids[at] = id
				dst, _ := NewMatrix(1, n)
				if done := dots(&dst, &a, &table, ids); done != at {
					t.Errorf("%d columns: %d of %d ids are done in front of id %d at %d", cols, done, n, id, at)
				}
				for i, x := range dst.Data {
					if (i < at) != (x == float32(cols)) {
						t.Fatalf("%d columns, id %d at %d of %d: element %d is %v", cols, id, at, n, i, x)
					}
				}
			}
		}
	}
}

func dotsStopAt[I ID](t *testing.T, bad []I) {
	t.Helper()
	for _, cols := range []int{1, 16, 40, 1<<14 + 1} {
		most := 9
		if cols > 40 { // which takes long where there is no assembly
			most = 2
		}
		table, _ := NewMatrix(5, cols)
		for i := range table.Data {
			table.Data[i] = 1
		}
		for rows := 1; rows < 4; rows++ {
			a := rowsOf(table, 0, rows)
			for _, id := range bad {
				for n := 1; n <= most; n++ {
					for at := range n {
						ids := make([]I, n)
						ids[at] = id
						dst, _ := NewMatrix(rows, n)
						if done := dots(&dst, &a, &table, ids); done != at {
							t.Errorf("%d columns: %d of %d ids are done in front of id %d at %d", cols, done, n, id, at)
						}
						for i, x := range dst.Data {
							if (i%n < at) != (x == float32(cols)) {
								t.Fatalf("%d columns, id %d at %d of %d: element %d is %v", cols, id, at, n, i, x)
							}
						}
					}
				}
			}
		}
	}
	// Behind a first chunk, and with ids to prefetch that lead far away.
	table, _ := NewMatrix(5<<20/4/300+1, 300)
	a := rowsOf(table, 0, 2)
	ids := make([]I, 500)
	ids[437] = bad[len(bad)-1]
	dst, _ := NewMatrix(2, len(ids))
	if done := dots(&dst, &a, &table, ids); done != 437 {
		t.Errorf("%d ids are done in front of id %d at 437", done, ids[437])
	}
}
