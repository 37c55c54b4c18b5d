package rowvec_test

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
)

// TestBackwardSaysThatIDsChanged: where the first of two gradients ends early, since an id has changed, the call says so and
// leaves the second as it was; where it says nothing, both are complete.
func TestBackwardSaysThatIDsChanged(t *testing.T) {
	if race.Enabled {
		t.Skip("is a race on purpose")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))))
	const rows, cols = 2000, 16
	tokens, _ := rowvec.NewMatrix(rows, cols)
	positions, _ := rowvec.NewMatrix(rows, cols)
	dOut, _ := rowvec.NewMatrix(rows, cols)
	ids, at := make([]int64, rows), make([]int, rows)
	for i := range ids {
		ids[i], at[i] = int64(i), i
	}
	for i := range dOut.Data {
		dOut.Data[i] = 1
	}
	isatest.Each(t, func(t *testing.T) {
		for name, run := range map[string]func() error{
			"EmbedBackward":   func() error { return rowvec.EmbedBackward(tokens, positions, ids, 1, dOut, 0, rows) },
			"EmbedAtBackward": func() error { return rowvec.EmbedAtBackward(tokens, positions, ids, 1, dOut, at) },
		} {
			stop := isatest.KeepChanging(&ids[rows-10])
			changed := 0
			for end := time.Now().Add(time.Second); changed < 3 && time.Now().Before(end); {
				clear(tokens.Data)
				clear(positions.Data)
				err := run()
				last, position := tokens.Row(rows - 1)[0], positions.Row(0)[0]
				switch {
				case err == nil && (last != 1 || position != 1):
					t.Fatalf("%s: no error, but the last row has %v and the first position %v", name, last, position)
				case errors.Is(err, rowvec.ErrChanged):
					changed++
					if last != 0 || position != 0 {
						t.Fatalf("%s: %v, but the last row has %v and the first position %v", name, err, last, position)
					}
				}
			}
			stop()
			t.Logf("%s: %d changed meanwhile", name, changed)
		}
	})
}
