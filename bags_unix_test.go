//go:build unix && !purego && (amd64 || arm64)

package rowvec

import (
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/internal/guard"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
)

// TestBagsStayWithinTheirIDs has offsets that lead beyond the ids, behind which is nothing, although the last one does not;
// and a last one that has changed since the chunk was chosen by it: also so that several bags go on with what is there.
func TestBagsStayWithinTheirIDs(t *testing.T) {
	const n = 5 // ids for each of nine: enough for bags to go by panels
	ids := guard.Tail[uint32](guard.New(t, 9*n*4), 9*n)
	eachSize(t, func(t *testing.T) {
		for _, cols := range []int{1, 2, 4, 8, 16, 21, 32, 64, 100, 128, 256, 300} {
			table, _ := NewMatrix(2, cols)
			dst, _ := NewMatrix(4, cols)
			for _, offsets := range [][]int{{0, 2 * n, 10 * n, 5 * n, 9 * n}, {0, 1 << 30, 2 * n, 5 * n, 9 * n}, {0, 2 * n, 2 * n, 1 << 30, 9 * n}} {
				for name, done := range runBags(&dst, &table, ids, offsets) {
					if done != -1 {
						t.Errorf("%d columns: %s of offsets %v has done %d, want -1", cols, name, offsets, done)
					}
				}
			}
			if isa.Active() == isa.Portable {
				continue
			}
			for k := range opBagMax + 1 {
				a, offsets := bagArgs{dst: &dst.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0])}, [...]int{2 * n, 2 * n, 5 * n, 7 * n}
				prepareBags(&a, &dst, &table, ids)
				a.weights, a.offsets, a.bags, a.stop = &make([]float32, 9*n)[0], &offsets[0], 4, 9*n
				if a.do(k) || a.next != -1 {
					t.Errorf("%d columns: kernel %d ends at %d where %d was due, and says %d", cols, k, 7*n, 9*n, a.next)
				}
				if a.next, a.stop = 0, 7*n; !a.do(k) || a.partial {
					t.Errorf("%d columns: kernel %d does not end at %d", cols, k, 7*n)
				}
				offsets, a.next, a.stop = [...]int{4 * n, 2 * n, 4 * n, 9 * n}, 0, 9*n
				if a.do(k) || a.next != -1 {
					t.Errorf("%d columns: kernel %d does not see that offsets descend, and says %d", cols, k, a.next)
				}
				offsets = [...]int{9 * n, 9 * n, 9 * n, 9 * n}
				if a.next, a.stop, a.partial = 9*n-1, 9*n, true; !a.do(k) {
					t.Errorf("%d columns: kernel %d goes on behind the last id, and says %d", cols, k, a.next)
				}
			}
		}
	})
}

// TestBagsLookAheadAtIDs has bags so far behind the first id that what lies as far behind the start of a table is at the page
// behind it, and as much of the table that its rows are prefetched.
func TestBagsLookAheadAtIDs(t *testing.T) {
	const size = 1 << 20
	data := guard.Tail[float32](guard.New(t, size*4), size)
	const n = size*4/8 + 40
	ids, offsets := make([]uint64, n), []int{n - 40, n - 39, n - 39, n - 1, n}
	isatest.Each(t, func(t *testing.T) {
		for _, cols := range []int{16, 256} {
			table := Matrix{Rows: size / cols, Cols: cols, Stride: cols, Data: data}
			dst, _ := NewMatrix(4, cols)
			for name, done := range runBags(&dst, &table, ids, offsets) {
				if done != n {
					t.Errorf("%d columns: %s has done %d ids, want %d", cols, name, done, n)
				}
			}
		}
	})
}
