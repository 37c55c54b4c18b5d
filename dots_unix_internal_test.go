//go:build unix

package rowvec

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec/internal/guard"
	"github.com/rowvec/rowvec/kernels"
)

// TestDotsOfOneStayWithin has more ids than a call of assembly does, with nothing behind them and behind the results, and ids that
// are none with nothing before them.
func TestDotsOfOneStayWithin(t *testing.T) {
	prefetchAll(t)
	eachSize(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, cols := range []int{64, 300} {
			table, a := someMatrix(rng, 10, cols), someMatrix(rng, 1, cols)
			for _, n := range []int{36, 37, 217, 220, 299, 301, 1025, 1063} {
				ids := guard.Tail[int32](guard.New(t, 4*n), n)
				for i := range ids {
					ids[i] = rng.Int32N(10)
				}
				got := Matrix{Rows: 1, Cols: n, Stride: n, Data: guard.Tail[float32](guard.New(t, 4*n), n)}
				if done := dots(&got, &a, &table, ids); done != n {
					t.Fatalf("%d done, want %d", done, n)
				}
				want, _ := NewMatrix(1, n)
				kernels.Dots(want, a, table, ids)
				if !slices.Equal(got.Data, want.Data) {
					t.Errorf("%d columns, %d ids: other products", cols, n)
				}
			}
			for _, rows := range []int{36, 37, 217, 220, 1063} { // all of a table, with nothing behind it
				for _, queries := range []int{1, 6} {
					all := Matrix{Rows: rows, Cols: cols, Stride: cols, Data: guard.Tail[float32](guard.New(t, 4*rows*cols), rows*cols)}
					for i := range all.Data {
						all.Data[i] = rng.Float32() - 0.5
					}
					a, got, want := someMatrix(rng, queries, cols), someMatrix(rng, queries, rows), someMatrix(rng, queries, rows)
					dotsAll(&got, &a, &all, extent(&all))
					kernels.DotsAll(want, a, all)
					for i := range queries {
						if !slices.Equal(got.Row(i), want.Row(i)) {
							t.Errorf("%d columns, all %d rows: other products with row %d of %d", cols, rows, i, queries)
						}
					}
				}
			}
			ids := guard.Head[int32](guard.New(t, 4*60), 60)
			for i := range ids {
				if i > 20 {
					ids[i] = -1
				}
			}
			got, _ := NewMatrix(1, len(ids))
			if done := dots(&got, &a, &table, ids); done != 21 {
				t.Errorf("%d columns: %d ids are done in front of the first that is none, want 21", cols, done)
			}
		}
	})
}
