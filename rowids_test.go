package rowvec

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
)

// TestRowsCheckTheirIDs calls the kernels behind the check of all ids with ids that it would refuse, as if they had
// changed since: each kernel has to stop at the first and say how many rows it has done.
func TestRowsCheckTheirIDs(t *testing.T) {
	defer tuning.Lower()()
	isatest.Each(t, func(t *testing.T) {
		stopAt(t, []int32{math.MinInt32, -1, 5, math.MaxInt32})
		stopAt(t, []uint32{5, 1 << 31, math.MaxUint32})
		stopAt(t, []int64{math.MinInt64, -1, 5, 1 << 32, math.MaxInt64})
		stopAt(t, []uint64{5, 1 << 32, 1<<32 + 1, 1 << 63, math.MaxUint64})
		stopAtColumns(t, []int64{5}, chunkElements+3) // rows that take several calls of assembly
	})
}

func stopAt[I ID](t *testing.T, bad []I) {
	t.Helper()
	for _, cols := range []int{1, 2, 3, 4, 7, 8, 16, 24, 40} {
		stopAtColumns(t, bad, cols)
	}
	if err := checkDone("Gather", 3, 7); !errors.Is(err, ErrChanged) {
		t.Errorf("error %v", err)
	}
}

// TestBagsCheckTheirIDs does the same with the kernels of bags, also where bags take several calls of assembly.
func TestBagsCheckTheirIDs(t *testing.T) {
	eachSize(t, func(t *testing.T) {
		stopBagsAt(t, []int32{math.MinInt32, -1, 5, math.MaxInt32})
		stopBagsAt(t, []uint32{5, 1 << 31, math.MaxUint32})
		stopBagsAt(t, []int64{math.MinInt64, -1, 5, 1 << 32, math.MaxInt64})
		stopBagsAt(t, []uint64{5, 1 << 32, 1<<32 + 1, 1 << 63, math.MaxUint64})
	})
}

// eachSize runs test at every level, with tables in cache and, so that rows are prefetched, beyond.
func eachSize(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	isatest.Each(t, func(t *testing.T) {
		t.Helper()
		test(t)
		defer tuning.Lower()()
		test(t)
		if isa.Active() == isa.AVX512 {
			tuning.Halves = false
			test(t)
		}
	})
}

func stopBagsAt[I ID](t *testing.T, bad []I) {
	t.Helper()
	for _, cols := range []int{1, 3, 7, 16, 40, 100, 256, 300, 1<<15 + 5, 1<<16 + 3} {
		table, _ := NewMatrix(5, cols)
		copy(table.Data, slices.Repeat([]float32{1}, len(table.Data)))
		for _, offsets := range [][]int{{0, 1, 1, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}} {
			dst, _ := NewMatrix(len(offsets)-1, cols)
			ones, _ := NewMatrix(dst.Rows, cols)
			copy(ones.Data, slices.Repeat([]float32{1}, len(ones.Data)))
			for _, id := range bad {
				for at := range 7 {
					ids := make([]I, 7)
					ids[at] = id
					for name, done := range runBags(&dst, &table, ids, offsets) {
						if done != at {
							t.Errorf("%d columns: %s has done %d ids in front of id %d at %d", cols, name, done, id, at)
						}
					}
					var want, dots [7]float32
					for i := range at {
						want[i] = float32(cols)
					}
					if bagDots(dots[:], &ones, &table, ids, offsets, &hint{}); dots != want {
						t.Errorf("%d columns: bagDots has %v in front of id %d at %d", cols, dots, id, at)
					}
				}
				if cols > 1000 {
					break
				}
			}
		}
	}
}

// runBags returns what each kernel of bags does.
func runBags[I ID](dst, table *Matrix, ids []I, offsets []int) map[string]int {
	ofOne, _ := checkOffsets("", offsets, dst.Rows, len(ids))
	return map[string]int{
		"bagSum":   bagSum(dst, table, ids, offsets, nil, ofOne),
		"weighted": bagSum(dst, table, ids, offsets, make([]float32, len(ids)), ofOne),
		"bagMean":  bagMean(dst, table, ids, offsets, ofOne),
		"bagMax":   bagMax(dst, table, ids, offsets, ofOne),
		"bagDots":  bagDots(make([]float32, len(ids)), dst, table, ids, offsets, &hint{}),
	}
}

// TestBagsCheckTheirOffsets calls the kernels behind the check of offsets with such as it would refuse.
func TestBagsCheckTheirOffsets(t *testing.T) {
	eachSize(t, func(t *testing.T) {
		for _, cols := range []int{1, 40, 100, 300, 1<<16 + 3} {
			table, _ := NewMatrix(2, cols)
			dst, _ := NewMatrix(4, cols)
			ids := make([]uint32, 9)
			for _, c := range []struct {
				offsets []int
				done    int
			}{
				{[]int{0, 2, 2, 5, 9}, 9},
				{[]int{3, 4, 4, 5, 8}, 8}, // a part of the ids
				{[]int{9, 9, 9, 9, 9}, 9},
				{[]int{0, 2, 2, 5, 10}, -1},
				{[]int{0, 2, 1, 5, 9}, -1},
				{[]int{0, 2, 7, 5, 9}, -1},
				{[]int{0, 2, 10, 5, 9}, -1},
				{[]int{0, -1, 2, 5, 9}, -1},
				{[]int{0, 2, 2, 5, -1}, -1},
				{[]int{0, 2, 2, 5, 4}, -1},
				{[]int{-1, 2, 2, 5, 9}, -1},
				{[]int{10, 10, 10, 10, 10}, -1},
				{[]int{0, math.MaxInt, 2, 5, 9}, -1},
				{[]int{0, 2, 2, math.MinInt, 9}, -1},
				{[]int{0, 2, 2, 5, math.MinInt}, -1},
				{[]int{math.MinInt, 2, 2, 5, math.MaxInt}, -1},
			} {
				for name, done := range runBags(&dst, &table, ids, c.offsets) {
					if done != c.done {
						t.Errorf("%d columns: %s of offsets %v has done %d, want %d", cols, name, c.offsets, done, c.done)
					}
				}
			}
		}
	})
	for done, want := range map[int]string{-1: "(BagSum, offsets)", 3: "(BagSum, position 3)"} {
		if err := checkBagsDone("BagSum", done, 7); !errors.Is(err, ErrChanged) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
	if err := checkBagsDone("BagSum", 7, 7); err != nil {
		t.Error(err)
	}
}

func stopAtColumns[I ID](t *testing.T, bad []I, cols int) {
	t.Helper()
	table, _ := NewMatrix(5, cols)
	good := make([]I, 9) // twice four and one
	rows, _ := NewMatrix(len(good), cols)
	for _, id := range bad {
		for at := range good {
			ids := make([]I, len(good))
			ids[at] = id
			rotated, r := rowsOf(rows, 0, len(ids)), Rotation{Heads: 1}
			angles := Matrix{Rows: table.Rows, Cols: cols &^ 1, Data: table.Data, Stride: cols}
			for name, done := range map[string]int{
				"rotateAt":           rotateAt(&rotated, &rotated, &r, &angles, ids),
				"gather":             gather(&rows, &table, ids, &hint{}),
				"gatherScaled":       gatherScaled(&rows, &table, ids, 2, &hint{}),
				"scatterAdd":         scatterAdd(&table, ids, 2, &rows, &hint{}),
				"embed":              embed(&rows, &table, ids, 2, &table, 0, 1, &hint{}),
				"embedAt":            embedAt(&rows, &table, ids, 2, &table, good, &hint{}),
				"embedAt, positions": embedAt(&rows, &table, good, 2, &table, ids, &hint{}),
			} {
				if done != at {
					t.Errorf("%d columns: %s has done %d rows in front of id %d at %d", cols, name, done, id, at)
				}
			}
		}
	}
}

// TestPrefetchOfWrongIDs has ids behind those that were checked that lead far away, also to where addresses wrap around:
// they may be prefetched, but for no longer than others.
func TestPrefetchOfWrongIDs(t *testing.T) {
	isatest.Tune(t, &tuning.HeldLinesBytes, 0)
	isatest.Each(t, func(t *testing.T) {
		for _, cols := range []int{1, 3, 7, 16, 20, 29, 40, 100, 300, 1100} {
			table, _ := NewMatrix(3<<20/cols+1, cols) // large enough for prefetching, and of what is behind a row
			wide, _ := NewMatrix(90, cols+1)
			rows, _ := NewMatrix(90, cols)
			windows := Matrix{Rows: 90, Cols: cols, Data: wide.Data, Stride: wide.Stride}
			start := uint64(uintptr(unsafe.Pointer(&table.Data[0])))
			for _, far := range []uint64{
				(1<<63 - start - 64) / uint64(cols*4), -(start + 64) / uint64(cols*4), // where addresses end, signed and unsigned
				1 << 32, // which is not the first row
			} {
				ids := make([]uint64, 90)
				for i := 40; i < len(ids); i++ {
					ids[i] = far
				}
				bags, offsets := rowsOf(rows, 0, 5), []int{0, 20, 21, 40, 49, 90}
				for name, done := range runBags(&bags, &table, ids, offsets) {
					if done != 40 {
						t.Errorf("%d columns: %s has done %d ids, want 40", cols, name, done)
					}
				}
				for name, done := range map[string]int{
					"gather":     gather(&rows, &table, ids, &hint{}),
					"scatterAdd": scatterAdd(&table, ids, 0, &rows, &hint{}),
					"to windows": 10 + gather(&windows, &table, ids[10:], &hint{}), // not what the call before has left on the stack
					"of windows": 20 + scatterAdd(&table, ids[20:], 0, &windows, &hint{}),
					"embed":      embed(&rows, &table, ids, 2, &rows, 0, 1, &hint{stream: true}),
				} {
					if done != 40 {
						t.Errorf("%d columns: %s has done %d rows, want 40", cols, name, done)
					}
				}
			}
		}
	})
}
