//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"testing"
	"unsafe"
)

// TestUnfenced: of the chunks of a call, whose rows may be written past the caches, all but the last leave the fence to the next.
func TestUnfenced(t *testing.T) {
	ids := make([]int32, 10)
	dst, _ := NewMatrix(len(ids), 4)
	table, _ := NewMatrix(3, 4)
	a := rowArgs{linear: &dst.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0])}
	prepareRows(&a, &dst, &table, ids, &hint{})
	for _, rows := range []int{1, 4, 5, 9, 10, 11} {
		for first := 0; first < len(ids); first += rows {
			want := rows
			if first+rows >= len(ids) {
				want = -1
			}
			if got := a.chunk(first, rows, len(ids)); got.unfenced != want || got.n != min(rows, len(ids)-first) {
				t.Errorf("%d rows from %d on: %d rows, unfenced %d, want %d", rows, first, got.n, got.unfenced, want)
			}
		}
	}
	if a.unfenced != -1 {
		t.Errorf("all at once: unfenced %d, want -1", a.unfenced)
	}
}
