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

// placedUpdates are the updates that may have places.
var placedUpdates = map[string]forward.Update{
	"SGD":            {Method: forward.SGD, Rate: 0.1},
	"SGD with decay": {Method: forward.SGD, Rate: 0.1, Decay: 0.01},
	"Adagrad":        {Method: forward.Adagrad, Rate: 0.1, Epsilon: 1e-3},
	"RowAdagrad":     {Method: forward.RowAdagrad, Rate: 0.1, Epsilon: 1e-3},
	"Adam": {Method: forward.Adam, Adam: AdamStep{
		MeanWeight: 0.1, SquareWeight: 0.01, Rate: 0.1, Epsilon: 1e-3, Keep: 0.99,
	}},
}

// prefetchAll has rows of all tables prefetched, until the test ends.
func prefetchAll(t *testing.T) {
	long, short, inOrder := tuning.CachedBytes, tuning.CachedShortBytes, tuning.InOrderBytes
	t.Cleanup(func() { tuning.CachedBytes, tuning.CachedShortBytes, tuning.InOrderBytes = long, short, inOrder })
	tuning.CachedBytes, tuning.CachedShortBytes, tuning.InOrderBytes = 0, 0, 0
}

// TestPlaces: an update with places does what one row after the other does, in runs of several lengths and with gaps, and ends in
// front of the first id that is out of range.
func TestPlaces(t *testing.T) {
	t.Run("in cache", testPlaces)
	prefetchAll(t)
	t.Run("prefetched", testPlaces)
}

func testPlaces(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, cols := range []int{1, 5, 16, 40, 64, 130, 300, 600, chunkElements/4 + 3, chunkElements + 3} {
			rows, n := 400, 350
			if isatest.Sampled() && cols != 5 && cols != 40 && cols != 600 {
				continue
			}
			if cols > 1000 { // more than a call of assembly does
				rows, n = 5, 5
			}
			for _, gaps := range []bool{false, true} {
				places, ids := make([]int, n), make([]int, n)
				next := 0
				for i := range n {
					switch {
					case gaps:
						next += rng.IntN(16)
					case rng.IntN(1+i/20) == 0: // runs of some length, then of others
						next += rng.IntN(3)
					}
					places[i], ids[i] = next, rng.IntN(rows)
					next++
				}
				grad := someMatrix(rng, next, cols)
				for name, u := range placedUpdates {
					for _, bad := range []int{n - 2, n / 2, 0} {
						if bad < n-2 && cols != 40 && isatest.Sampled() {
							continue
						}
						t.Run(fmt.Sprintf("%s/cols=%d/gaps=%t/bad=%d", name, cols, gaps, bad), func(t *testing.T) {
							ids := slices.Clone(ids)
							if bad < n-2 {
								ids[bad] = rows
							}
							tryPlaces(t, rng, u, rows, grad, ids, places, n-2, bad)
						})
					}
				}
			}
		}
	})
}

func someMatrix(rng *rand.Rand, rows, cols int) Matrix {
	m := Matrix{Rows: rows, Cols: cols, Stride: cols + 3, Data: make([]float32, rows*(cols+3))}
	for i := range m.Data[:min(len(m.Data), isatest.Period)] {
		m.Data[i] = rng.Float32() - 0.5
	}
	isatest.Repeat(m.Data)
	return m
}

// tryPlaces holds u of the first n ids, of which those from bad on are not done, to one row after the other. More of them follow.
func tryPlaces(t *testing.T, rng *rand.Rand, u forward.Update, rows int, grad Matrix, ids, places []int, n, bad int) {
	t.Helper()
	u.Wide = unsafe.Sizeof(ids[0]) == 8
	u.Table, u.First, u.Second = someMatrix(rng, rows, grad.Cols), someMatrix(rng, rows, grad.Cols), someMatrix(rng, rows, grad.Cols)
	if u.Method == forward.RowAdagrad {
		u.First = someMatrix(rng, 1, rows)
	}
	for _, m := range []Matrix{u.First, u.Second} {
		for i, x := range m.Data[:min(len(m.Data), isatest.Period)] {
			m.Data[i] = x * x
		}
		isatest.Repeat(m.Data)
	}
	want := u
	for _, m := range []*Matrix{&want.Table, &want.First, &want.Second} {
		m.Data = slices.Clone(m.Data)
	}
	for i := range bad {
		want.IDs, want.Grad = unsafe.Pointer(&ids[i]), rowsOf(grad, places[i], 1)
		if applyUpdate(want) != 1 {
			t.Fatal("a single row was not done")
		}
	}
	u.IDs, u.Grad, u.Places, u.More = unsafe.Pointer(&ids[0]), grad, places[:n], len(ids)-n
	if done := applyUpdate(u); done != bad {
		t.Errorf("%d done, want %d", done, bad)
	}
	if bad < n && grad.Cols > 1000 {
		return // it has ended with the first columns
	}
	if !slices.Equal(u.Table.Data, want.Table.Data) || !slices.Equal(u.First.Data, want.First.Data) ||
		!slices.Equal(u.Second.Data, want.Second.Data) {
		t.Error("differs from one row after the other")
	}
}
