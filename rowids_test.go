package rowvec

import (
	"errors"
	"math"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isatest"
)

// TestRowsCheckTheirIDs calls the kernels behind the check of all ids with ids that it would refuse, as if they had
// changed since: each kernel has to stop at the first and say how many rows it has done.
func TestRowsCheckTheirIDs(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		stopAt(t, []int32{math.MinInt32, -1, 5, math.MaxInt32})
		stopAt(t, []uint32{5, 1 << 31, math.MaxUint32})
		stopAt(t, []int64{math.MinInt64, -1, 5, 1 << 32, math.MaxInt64})
		stopAt(t, []uint64{5, 1 << 32, 1<<32 + 1, 1 << 63, math.MaxUint64})
	})
}

func stopAt[I ID](t *testing.T, bad []I) {
	t.Helper()
	for _, cols := range []int{1, 3, 7, 16, 40} {
		stopAtColumns(t, bad, cols)
	}
	if err := checkDone("Gather", 3, 7); !errors.Is(err, ErrChanged) {
		t.Errorf("error %v", err)
	}
}

func stopAtColumns[I ID](t *testing.T, bad []I, cols int) {
	t.Helper()
	table, _ := NewMatrix(5, cols)
	rows, _ := NewMatrix(7, cols)
	good := make([]I, 7)
	for _, id := range bad {
		for at := range good {
			ids := make([]I, len(good))
			ids[at] = id
			for name, done := range map[string]int{
				"gather":             gather(&rows, &table, ids, hint{}),
				"gatherScaled":       gatherScaled(&rows, &table, ids, 2, hint{}),
				"scatterAdd":         scatterAdd(&table, ids, 2, &rows, hint{}),
				"embed":              embed(&rows, &table, ids, 2, &table, 0, 1, hint{}),
				"embedAt":            embedAt(&rows, &table, ids, 2, &table, good, hint{}),
				"embedAt, positions": embedAt(&rows, &table, good, 2, &table, ids, hint{}),
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
	isatest.Each(t, func(t *testing.T) {
		for _, cols := range []int{1, 3, 7, 16, 40, 300, 1100} {
			table, _ := NewMatrix(5<<20/4/cols+1, cols) // large enough for prefetching
			rows, _ := NewMatrix(50, cols)
			start := uint64(uintptr(unsafe.Pointer(&table.Data[0])))
			for _, top := range []uint64{1 << 63, 0} { // where signed and unsigned addresses end
				ids := make([]uint64, 50)
				for i := 40; i < len(ids); i++ {
					ids[i] = (top - start - 64) / uint64(cols*4)
				}
				for name, done := range map[string]int{
					"gather":     gather(&rows, &table, ids, hint{}),
					"scatterAdd": scatterAdd(&table, ids, 0, &rows, hint{}),
					"embed":      embed(&rows, &table, ids, 2, &rows, 0, 1, hint{stream: true}),
				} {
					if done != 40 {
						t.Errorf("%d columns: %s has done %d rows, want 40", cols, name, done)
					}
				}
			}
		}
	})
}
