//go:build unix && !purego && (amd64 || arm64)

package rowvec

import (
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/internal/guard"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
)

// TestGradientsEndWithTheirRows has nothing behind the rows to do, although there are more ids to prefetch by.
func TestGradientsEndWithTheirRows(t *testing.T) {
	const n = 5
	isatest.Each(t, func(t *testing.T) {
		for _, cols := range []int{1, 8, 19, 40, 64, 200, 768} {
			grad := Matrix{Rows: n, Cols: cols, Stride: cols, Data: guard.Tail[float32](guard.New(t, n*cols*4), n*cols)}
			ids, h := make([]uint32, 2*n), &hint{more: n}
			var m [3]Matrix
			for i := range m {
				m[i], _ = NewMatrix(1, cols)
			}
			for name, done := range map[string]int{
				"scatterAdd":       scatterAdd(&m[0], ids[:n], 1, &grad, h),
				"updateSGD":        updateSGD(&m[0], ids[:n], &grad, 1, 1, h),
				"updateAdagrad":    updateAdagrad(&m[0], &m[1], ids[:n], &grad, 1, 1, h),
				"updateRowAdagrad": updateRowAdagrad(&m[0], m[1].Data[:1], ids[:n], &grad, 1, 1, h),
				"updateAdam":       updateAdam(&m[0], &m[1], &m[2], ids[:n], &grad, AdamStep{Epsilon: 1}, h),
			} {
				if done != n {
					t.Errorf("%d columns: %s has done %d rows, want %d", cols, name, done, n)
				}
			}
		}
	})
}

// TestSumsBeginWithZero has something else in the registers of vectors when the squares of a row are to be added up.
func TestSumsBeginWithZero(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		if isa.Active() == isa.Portable {
			return
		}
		for _, cols := range []int{8, 19, 40, 64, 200} {
			table, _ := NewMatrix(1, cols)
			grad, _ := NewMatrix(1, cols)
			grad.Data[0] = 2
			sums, ids := make([]float32, 1), []uint32{0}
			a := updateArgs{first: &sums[0], firstStride: 4, count: float32(cols)}
			a.linear, a.table, a.ids = &grad.Data[0], &table.Data[0], unsafe.Pointer(&ids[0])
			prepareUpdate(&a, &table, ids, &grad, &hint{})
			a.cols, a.n = cols, 1
			copyVectors(&twelve{}, &twelve{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3})
			a.do(opUpdateRowAdagrad)
			if want := 4 / float32(cols); sums[0] != want {
				t.Errorf("%d columns: the mean of squares is %v, want %v", cols, sums[0], want)
			}
		}
	})
}

type twelve struct{ a, b, c, d, e, f, g, h, i, j, k, l float32 }

// copyVectors copies by a register of a vector, which keeps the last: X14 on amd64.
//
//go:noinline
func copyVectors(to, from *twelve) { *to = *from }
