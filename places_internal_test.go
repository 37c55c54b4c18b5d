package rowvec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
)

// TestPlaces: an update with places does what one row after the other does, in runs of several lengths, and ends in front of the
// first id that is out of range.
func TestPlaces(t *testing.T) {
	const rows, grads = 400, 700
	methods := map[string]forward.Update{
		"SGD":            {Method: forward.SGD, Rate: 0.1},
		"SGD with decay": {Method: forward.SGD, Rate: 0.1, Decay: 0.01},
		"Adagrad":        {Method: forward.Adagrad, Rate: 0.1, Epsilon: 1e-3},
		"RowAdagrad":     {Method: forward.RowAdagrad, Rate: 0.1, Epsilon: 1e-3},
		"Adam": {Method: forward.Adam, Adam: AdamStep{
			MeanWeight: 0.1, SquareWeight: 0.01, Rate: 0.1, Epsilon: 1e-3, Keep: 0.99,
		}},
	}
	defer func(long, short int) { tuning.CachedBytes, tuning.CachedShortBytes = long, short }(tuning.CachedBytes, tuning.CachedShortBytes)
	tuning.CachedBytes, tuning.CachedShortBytes = 0, 0 // for rows to be prefetched
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, cols := range []int{1, 5, 16, 40, 64, 130, 300, 600, chunkElements/4 + 3, chunkElements + 3} {
			rows, grads := rows, grads
			if cols > 1000 && isatest.Sampled() {
				continue
			}
			if cols > 1000 { // more than a call of assembly does
				rows, grads = 5, 7
			}
			matrix := func(rows, cols int) Matrix {
				m := Matrix{Rows: rows, Cols: cols, Stride: cols + 3, Data: make([]float32, rows*(cols+3))}
				for i := range m.Data {
					m.Data[i] = rng.Float32() - 0.5
				}
				return m
			}
			grad := matrix(grads, cols)
			var places, ids []int
			for i, keep := 0, true; i < grads; i++ {
				if rng.IntN(1+i/20) == 0 { // runs of some length, then of others
					keep = !keep
				}
				if keep {
					places, ids = append(places, i), append(ids, rng.IntN(rows))
				}
			}
			for name, method := range methods {
				for _, bad := range []int{len(ids) - 2, len(ids) / 2, 0} {
					t.Run(fmt.Sprintf("%s/cols=%d/bad=%d", name, cols, bad), func(t *testing.T) {
						u, all := method, slices.Clone(ids)
						if bad < len(all)-2 {
							all[bad] = rows
						}
						u.Table, u.Grad, u.Wide = matrix(rows, cols), grad, unsafe.Sizeof(all[0]) == 8
						u.First, u.Second = matrix(rows, cols), matrix(rows, cols)
						if u.Method == forward.RowAdagrad {
							u.First = matrix(1, rows)
						}
						for _, m := range []Matrix{u.First, u.Second} {
							for i, x := range m.Data {
								m.Data[i] = x * x
							}
						}
						want := u
						for _, m := range []*Matrix{&want.Table, &want.First, &want.Second} {
							m.Data = slices.Clone(m.Data)
						}
						for i := range bad {
							want.IDs, want.Grad = unsafe.Pointer(&all[i]), rowsOf(grad, places[i], 1)
							if applyUpdate(want) != 1 {
								t.Fatal("a single row was not done")
							}
						}
						u.IDs, u.Places = unsafe.Pointer(&all[0]), places[:len(places)-2]
						u.More = 2 // which are not done
						if done := applyUpdate(u); done != bad {
							t.Errorf("%d done, want %d", done, bad)
						}
						if bad < len(all)-2 && cols > 1000 {
							return // it has ended with the first columns
						}
						if !slices.Equal(u.Table.Data, want.Table.Data) || !slices.Equal(u.First.Data, want.First.Data) ||
							!slices.Equal(u.Second.Data, want.Second.Data) {
							t.Error("differs from one row after the other")
						}
					})
				}
			}
		}
	})
}
