package rowvec

import (
	"slices"
	"testing"

	"github.com/rowvec/rowvec/internal/isatest"
)

// TestCopyParts: rows come in parts of any number, the last of them with what is left, and nothing is written between them or behind.
func TestCopyParts(t *testing.T) {
	const cols, stride = 19, 21
	table, _ := NewMatrix(40, cols)
	for i := range table.Data {
		table.Data[i] = 1 + float32(i)
	}
	isatest.Each(t, func(t *testing.T) {
		for n := 1; n <= fewIDs; n++ {
			ids, rows, want := make([]uint32, n), make([]*float32, n), make([]float32, n*stride)
			for i := range ids {
				ids[i] = uint32(i * 11 % 40)
				rows[i] = &table.Row(int(ids[i]))[0]
				copy(want[i*stride:], table.Row(int(ids[i])))
			}
			for part := 1; part <= n; part++ {
				dst := Matrix{Rows: n, Cols: cols, Stride: stride, Data: make([]float32, n*stride)}
				copyParts(&dst, &table, ids, rows, part)
				if !slices.Equal(dst.Data, want) {
					t.Fatalf("%d rows, %d at a time: %v, want %v", n, part, dst.Data, want)
				}
			}
		}
	})
}
