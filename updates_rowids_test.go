package rowvec

import (
	"math"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isatest"
)

// TestUpdatesCheckTheirIDs calls the updates behind the check of all ids with ids that it would refuse, as if they had
// changed since: each has to stop at the first and say how many rows it has done.
func TestUpdatesCheckTheirIDs(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		updatesStopAt(t, []int32{math.MinInt32, -1, 5, math.MaxInt32})
		updatesStopAt(t, []uint32{5, 1 << 31, math.MaxUint32})
		updatesStopAt(t, []int64{math.MinInt64, -1, 5, 1 << 32, math.MaxInt64})
		updatesStopAt(t, []uint64{5, 1 << 32, 1<<32 + 1, 1 << 63, math.MaxUint64})
	})
}

func updatesStopAt[I ID](t *testing.T, bad []I) {
	t.Helper()
	for _, cols := range []int{1, 7, 40, updateLong} {
		table, _ := NewMatrix(5, cols)
		first, _ := NewMatrix(5, cols)
		second, _ := NewMatrix(5, cols)
		rows, _ := NewMatrix(7, cols)
		sums := make([]float32, 5)
		for _, id := range bad {
			for _, at := range []int{0, 3, 6} {
				ids := make([]I, 7)
				ids[at] = id
				for name, done := range map[string]int{
					"updateSGD":        updateSGD(&table, ids, &rows, 2, 1, &hint{}),
					"updateAdagrad":    updateAdagrad(&table, &first, ids, &rows, 2, 1, &hint{}),
					"updateRowAdagrad": updateRowAdagrad(&table, sums, ids, &rows, 2, 1, &hint{}),
					"updateAdam":       updateAdam(&table, &first, &second, ids, &rows, AdamStep{}, &hint{}),
				} {
					if done != at {
						t.Errorf("%d columns: %s has done %d rows in front of id %d at %d", cols, name, done, id, at)
					}
				}
			}
		}
	}
}

// updateLong is the length of a row that is more than a call of assembly does.
const updateLong = 1<<14 + 1

// TestUpdatesPrefetchOfWrongIDs has ids behind those that were checked that lead far away, also to where addresses wrap
// around: they may be prefetched.
func TestUpdatesPrefetchOfWrongIDs(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, cols := range []int{1, 40, 1100} {
			table, _ := NewMatrix(5<<20/4/cols+1, cols) // large enough for prefetching
			first, _ := NewMatrix(table.Rows, cols)
			second, _ := NewMatrix(table.Rows, cols)
			rows, _ := NewMatrix(50, cols)
			sums := make([]float32, table.Rows)
			start := uint64(uintptr(unsafe.Pointer(&table.Data[0])))
			for _, top := range []uint64{1 << 63, 0} { // where signed and unsigned addresses end
				ids := make([]uint64, 50)
				for i := 40; i < len(ids); i++ {
					ids[i] = (top - start - 64) / uint64(cols*4)
				}
				for name, done := range map[string]int{
					"updateSGD":        updateSGD(&table, ids, &rows, 2, 1, &hint{}),
					"updateAdagrad":    updateAdagrad(&table, &first, ids, &rows, 2, 1, &hint{}),
					"updateRowAdagrad": updateRowAdagrad(&table, sums, ids, &rows, 2, 1, &hint{}),
					"updateAdam":       updateAdam(&table, &first, &second, ids, &rows, AdamStep{}, &hint{}),
				} {
					if done != 40 {
						t.Errorf("%d columns: %s has done %d rows, want 40", cols, name, done)
					}
				}
			}
		}
	})
}
