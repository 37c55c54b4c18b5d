//go:build unix

package rowvec

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rowvec/rowvec/internal/guard"
	"github.com/rowvec/rowvec/internal/isatest"
)

// TestPlacesStayWithin has ids and places with nothing behind them, and then before, while rows that come next are prefetched.
func TestPlacesStayWithin(t *testing.T) {
	prefetchAll(t)
	const rows = 50
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, cols := range []int{5, 40, 130, 600} {
			for i, n := range []int{1, 2, 3, 9, 10, 30, 41, 300, 300} {
				if cols != 40 && n > 10 && isatest.Sampled() {
					continue
				}
				end := guard.Tail[int]
				if i > 7 {
					end = guard.Head[int]
				}
				for _, gap := range []int{1, 9} {
					ids, places := end(guard.New(t, 8*n), n), end(guard.New(t, 8*n), n)
					for i := range n {
						places[i], ids[i] = i*gap, rng.IntN(rows)
					}
					grad := someMatrix(rng, n*gap, cols)
					for name, u := range placedUpdates {
						for _, now := range []int{n, max(1, n-2)} {
							t.Run(fmt.Sprintf("%s/cols=%d/n=%d/gap=%d/now=%d", name, cols, n, gap, now), func(t *testing.T) {
								tryPlaces(t, rng, u, rows, grad, ids, places, now, now)
							})
						}
					}
				}
			}
		}
	})
}
