//go:build !purego

package rowvec

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
)

// TestCopyByID: an id outside is found wherever it is, before anything is written; and one that has changed since, as the first row that is
// written changes those that it is copied over, ends the copy there.
func TestCopyByID(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		if isa.Active() == isa.AVX512 {
			copiesByIDs[int32](t)
			copiesByIDs[uint32](t)
			copiesByIDs[int64](t)
			copiesByIDs[uint64](t)
		}
	})
}

func copiesByIDs[I ID](t *testing.T) {
	t.Helper()
	for _, cols := range []int{1, 7, 8, 9, 15, 16, 17, 64, 100} {
		table, _ := NewMatrix(5, cols)
		for i := range table.Data {
			table.Data[i] = 1 + float32(i)
		}
		for n := 1; n <= 63; n++ {
			dst, _ := NewMatrix(n+1, cols)
			few := rowsOf(dst, 0, n)
			ids := make([]I, n)
			for i := range ids {
				ids[i] = I(i * 7 % 5)
			}
			for i, good := range ids {
				for _, bad := range []I{5, ^I(0)} {
					ids[i] = bad
					if done := copyByID(&few, &table, ids, i%2 == 0); done != -1 || slices.Max(dst.Data) != 0 {
						t.Fatalf("%d rows of %d, id %d is %v: %d done, want -1, and %v", n, cols, i, bad, done, dst.Data)
					}
				}
				ids[i] = good
			}
			done := copyByID(&few, &table, ids, false)
			for i, id := range ids {
				if done != n || !slices.Equal(dst.Row(i), table.Row(int(id))) {
					t.Fatalf("%d rows of %d: %d done, and row %d is %v", n, cols, done, i, dst.Row(i))
				}
			}
			if slices.Max(dst.Row(n)) != 0 {
				t.Fatalf("%d rows of %d: %v behind them", n, cols, dst.Row(n))
			}
		}
		// Rows that are all the same, of which there are more than memory has room for.
		first, _ := NewMatrix(2, cols)
		table.Stride = 0
		for rows, ids := range map[int]map[uint64]int{
			1 << 33:            {math.MaxInt32: 2},
			math.MaxUint32:     {math.MaxUint32 - 1: 2, math.MaxUint32: -1},
			math.MaxUint32 + 1: {math.MaxUint32: 2},
		} {
			table.Rows = rows
			for id, want := range ids {
				if narrow := unsafe.Sizeof(I(0)) == 4; narrow && ^I(0) < 0 && id > math.MaxInt32 {
					continue
				} else if narrow && ^I(0) > 0 && rows > math.MaxUint32 {
					want = -1 // no matter which
				}
				if done := copyByID(&first, &table, []I{0, I(id)}, false); done != want || done > 0 && !slices.Equal(first.Row(1), table.Data[:cols]) {
					t.Errorf("%T %d of %d: %d done, want %d, and %v", I(0), id, rows, done, want, first.Row(1))
				}
			}
		}

		table.Rows, table.Stride = 5, cols
		size := int(unsafe.Sizeof(I(0)) / 4)
		for _, outside := range []uint32{5, 1 << 30} {
			memory := make([]float32, 3*cols+3*size)
			ids := unsafe.Slice((*I)(unsafe.Pointer(&memory[0])), 3)
			over := Matrix{Rows: 3, Cols: cols, Stride: cols, Data: memory[size:]}
			table.Data[0] = math.Float32frombits(outside)
			clear(table.Data[1:])
			if done := copyByID(&over, &table, ids, false); done != 1 || memory[size] != table.Data[0] {
				t.Errorf("rows of %d over ids behind the first: %d done, want 1, and %v", cols, done, over.Row(0))
			}
		}
	}
}
