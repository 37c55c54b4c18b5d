package lookup

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/tuning"
)

// TestRowShares: each place of a batch but those of padding is in one share, in which places ascend, and a row in one alone.
func TestRowShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ n, vocab, except, workers int }{
		{0, 1, -1, 2}, {1, 1, -1, 2}, {1, 1, 0, 2}, {2000, 1, -1, 3}, {2000, 40, 0, 2}, {5000, min(1<<40, math.MaxInt), -1, 5}, {5000, 700, 7, 64},
	} {
		ids := make([]uint64, c.n)
		for i := range ids {
			ids[i] = rng.Uint64N(uint64(c.vocab))
		}
		views := []view{viewOf(ids)}
		if c.vocab <= math.MaxInt32 {
			narrow := make([]int32, c.n)
			for i, id := range ids {
				narrow[i] = int32(id)
			}
			views = append(views, viewOf(narrow))
		}
		for _, v := range views {
			s := &rowShares{ends: []int{9, 9, 9}}
			if one := c.vocab == 1 && c.except < 0 && c.n > 1; s.divide(v, c.except, c.workers) == one {
				t.Errorf("%+v: divided is %t", c, one)
			} else if one {
				continue // a single row
			}
			if n := len(s.ends); n < sharesEach*c.workers || n >= 2*sharesEach*c.workers {
				t.Errorf("%d shares for %d workers", n, c.workers)
			}
			of, seen, first := map[int]int{}, 0, 0
			for k, end := range s.ends {
				if !slices.IsSorted(s.places[first:end]) {
					t.Fatalf("%+v: places of share %d do not ascend", c, k)
				}
				for i := first; i < end; i++ {
					id := s.ids[i]
					if id == c.except || uint64(id) != ids[s.places[i]] {
						t.Fatalf("%+v: id %d at place %d", c, id, s.places[i])
					}
					if other, ok := of[id]; ok && other != k {
						t.Fatalf("%+v: row %d is in shares %d and %d", c, id, other, k)
					}
					of[id] = k
				}
				seen, first = seen+end-first, end
			}
			want := 0
			for _, id := range ids {
				if c.except < 0 || id != uint64(c.except) {
					want++
				}
			}
			slices.Sort(s.places)
			if distinct := len(slices.Compact(s.places)); seen != want || distinct != want {
				t.Errorf("%+v: %d places, %d of them distinct, want %d", c, seen, distinct, want)
			}
		}
	}
}

// TestSharesAreEven: neighbouring rows, and those a power of two apart, fall to all shares alike.
func TestSharesAreEven(t *testing.T) {
	for shift := range 12 {
		const size, n = 4, 1 << 14
		var counts [1 << size]int
		for i := range n {
			counts[shareOf(i<<shift, size)]++
		}
		for k, count := range counts {
			if mean := n >> size; count < mean*3/4 || count > mean*5/4 {
				t.Errorf("rows %d apart: share %d has %d of them, where the mean is %d", 1<<shift, k, count, mean)
			}
		}
	}
}

// TestSharesChanged has an id change to any other when rows are shared, as another goroutine could have it: the gradient is that of
// the ids when they were counted, or the call says so.
func TestSharesChanged(t *testing.T) {
	defer tuning.Lower()()
	tuning.ShareColumns = 0
	apply := forward.Apply
	defer func() { forward.Apply = apply }()
	const vocab, dim = 50, 100
	e, err := NewEmbedding(vocab, dim, Workers(2))
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]uint64, 300)
	in := Sequence(ids)
	dOut, _ := rowvec.NewMatrix(len(ids), dim)
	for i := range dOut.Data {
		dOut.Data[i] = float32(i % 17)
	}
	want, _ := rowvec.NewMatrix(vocab, dim)
	for i := range ids {
		ids[i] = uint64(i*i) % vocab
	}
	if err := rowvec.ScatterAdd(want, ids, 1, dOut); err != nil {
		t.Fatal(err)
	}
	var counted sync.Once
	changed := false
	forward.Apply = func(u forward.Update) int {
		counted.Do(func() { ids[len(ids)-1], changed = math.MaxUint64, true })
		return apply(u)
	}
	grad, _ := rowvec.NewMatrix(vocab, dim)
	if err := e.Backward(grad, in, dOut); err != nil || !slices.Equal(grad.Data, want.Data) || !changed {
		t.Errorf("error %v, or another gradient; changed: %v", err, changed)
	}
	for _, bad := range []uint64{vocab, math.MaxInt64, 1 << 63, math.MaxUint64} { // before, but behind the check
		s := new(rowShares)
		ids[0] = bad
		s.divide(viewOf(ids), -1, 2)
		err := s.add(grad, 1, dOut, 0, len(s.ids))
		if !errors.Is(err, rowvec.ErrChanged) {
			t.Errorf("error %v of id %d", err, bad)
		}
	}
}
