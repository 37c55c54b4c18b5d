package rowvec

import (
	"math/rand/v2"
	"testing"

	"github.com/rowvec/rowvec/internal/isatest"
)

// TestIDsBelow: the check of ids says exactly which are in order. A false alarm would be no error, since what it stops at is
// looked into, but it would cost as much again in each call.
func TestIDsBelow(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		testIDsBelow[int32](t)
		testIDsBelow[uint32](t)
		testIDsBelow[int64](t)
		testIDsBelow[uint64](t)
	})
}

func testIDsBelow[I ID](t *testing.T) {
	t.Helper()
	rng := rand.New(rand.NewPCG(9, 10))
	for n := 1; n <= 150; n++ {
		for _, rows := range []int{1, 2, 60, 1<<31 - 1} {
			ids := make([]I, n)
			for i := range ids {
				ids[i] = I(rng.IntN(rows))
			}
			ids[rng.IntN(n)] = I(rows - 1)
			if !idsBelow(ids, rows) {
				t.Fatalf("%d ids of %T below %d: %v are not all below", n, ids[0], rows, ids)
			}
			for _, bad := range []I{I(rows), ^I(0)} {
				i := rng.IntN(n)
				good := ids[i]
				ids[i] = bad
				if idsBelow(ids, rows) {
					t.Fatalf("%d ids of %T: %d, the one at %d, is below %d", n, ids[0], bad, i, rows)
				}
				ids[i] = good
			}
		}
	}
}
