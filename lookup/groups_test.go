package lookup

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/positional"
)

// TestGroups holds the groups to a sort by comparison, of ids of every number of digits.
func TestGroups(t *testing.T) {
	defer tuning.Lower()()
	for _, workers := range []int{1, 5, 16} {
		if workers < 16 || !isatest.Few() {
			testGroups(t, workers)
		}
	}
}

func testGroups(t *testing.T, workers int) {
	rng := rand.New(rand.NewPCG(1, 2))
	var g groups
	for _, limit := range []uint64{1, 2, 3, 256, 257, 1 << 11, 1<<11 + 1, 50257, 1 << 22, 1<<22 + 1, 1 << 32, 1<<33 + 5, 1 << 50} {
		if uint64(int(limit)) != limit || int(limit) < 0 {
			continue
		}
		for _, n := range []int{0, 1, 2, 7, 40, 41, 64, 130, 300, 5000} {
			for round, most := range []uint64{limit, min(limit, 3), limit} { // few different ones, too
				ids := make([]uint64, n)
				for i := range ids {
					ids[i] = limit - 1 - rng.Uint64N(most)
				}
				except := -1
				if n > 2 && round < 2 {
					except = int(ids[n/2])
				}
				if err := g.group("op", viewOf(ids), except, int(limit), workers); err != nil {
					t.Fatalf("ids below %d: %v", limit, err)
				}
				var at []int
				for i, id := range ids {
					if int(id) != except {
						at = append(at, i)
					}
				}
				slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
				if !slices.Equal(g.at, at) || g.offsets[0] != 0 || g.offsets[len(g.ids)] != len(at) || len(g.offsets) != len(g.ids)+1 {
					t.Fatalf("%d ids below %d: places %v, want %v", n, limit, g.at, at)
				}
				for r, id := range g.ids {
					if r > 0 && g.ids[r-1] >= id || g.offsets[r] >= g.offsets[r+1] {
						t.Fatalf("rows %v of sizes %v", g.ids, g.offsets)
					}
					for _, place := range g.at[g.offsets[r]:g.offsets[r+1]] {
						if ids[place] != uint64(id) {
							t.Fatalf("id %d is in the group of %d", ids[place], id)
						}
					}
				}
			}
		}
	}
	for name, ids := range map[string]view{
		"5": viewOf([]uint32{1, 5, 2}), "-1": viewOf([]int64{1, -1, 2}), "-1 of 32 bits": viewOf([]int32{1, -1, 2}),
	} {
		if err := g.group("op", ids, -1, 5, workers); !errors.Is(err, rowvec.ErrChanged) {
			t.Errorf("an id that has become %s: error %v", name, err)
		}
	}
	if err := g.group("op", viewOf(make([]uint32, 4)), -1, math.MaxInt, 1); bits.UintSize == 64 && err == nil {
		t.Error("more rows and ids than there are bits are taken")
	}
}

// TestChunks: chunks are as many ids, also where there are so many of both that a product is beyond an int of 32 bits.
func TestChunks(t *testing.T) {
	for _, c := range [][2]int{{1, 4}, {5, 4}, {3 << 20, 768}, {math.MaxInt32, 1024}} {
		x, next := together{chunks: c[1]}, 0
		for chunk := range c[1] {
			lo, hi := x.span(chunk, c[0])
			if lo != next || hi < lo || hi-lo > c[0]/c[1]+1 {
				t.Fatalf("chunk %d of %d, of %d ids: %d to %d", chunk, c[1], c[0], lo, hi)
			}
			next = hi
		}
		if next != c[0] {
			t.Errorf("chunks of %d ids end at %d", c[0], next)
		}
	}
}

// TestGroupsPanic: nobody waits for a worker that has ended in a panic, as of ids whose memory cannot be read, and the next call does all.
func TestGroupsPanic(t *testing.T) {
	var g groups
	ids := make([]uint32, 1000)
	for k := range 30 {
		if !g.groupTogether(viewOf(ids), -1, 1, 10, 4) || len(g.at) != len(ids) || len(g.ids) != 1 {
			t.Fatalf("call %d: %d rows of %d places", k, len(g.ids), len(g.at))
		}
		x := g.together
		x.next.Store(0)
		x.done.Store(0)
		x.counts = nil // as if there were none
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			x.do(0, 0)
		}()
		if x.done.Load() != 1 || !x.changed.Load() {
			t.Error("others would wait for what has ended")
		}
	}
}

// TestGroupsMoved: groups that have been moved are not formed where they were, and nothing holds on to the caller's ids.
func TestGroupsMoved(t *testing.T) {
	var a groups
	if !a.groupTogether(viewOf([]uint32{3, 1, 3, 2}), -1, 4, 3, 4) {
		t.Fatal("an id is not below the limit")
	}
	b := a
	if !b.groupTogether(viewOf([]uint32{0, 0}), -1, 4, 2, 4) || !slices.Equal(b.ids, []int{0}) {
		t.Errorf("rows %v, want 0", b.ids)
	}
	if a.together.ids != (view{}) || b.together.ids != (view{}) {
		t.Error("the ids are held on to")
	}
}

// TestSpan: ranges of any size hold each group once.
func TestSpan(t *testing.T) {
	var s sums
	if err := s.group("op", viewOf([]uint32{7, 7, 7, 7, 7, 1, 2, 9, 9, 4}), -1, 10, 1); err != nil {
		t.Fatal(err)
	}
	for size := 1; size <= 11; size++ {
		next := 0
		for at := 0; at < len(s.at); at += size {
			lo, hi := s.span(at, at+size)
			if lo != next || hi < lo {
				t.Fatalf("size %d: the range at %d has groups [%d, %d) and the one before ended at %d", size, at, lo, hi, next)
			}
			next = hi
		}
		if next != len(s.ids) {
			t.Fatalf("size %d: %d of %d groups", size, next, len(s.ids))
		}
	}
}

// TestForget: no gradient has a hold on the caller's rows, whichever one refuses them.
func TestForget(t *testing.T) {
	tokens, err := NewEmbedding(5, 3)
	if err != nil {
		t.Fatal(err)
	}
	positions, err := positional.NewLearned(6, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	layer, err := NewLayer(tokens, positions)
	if err != nil {
		t.Fatal(err)
	}
	dOut := rowvec.Matrix{Rows: 1, Cols: 3, Data: []float32{0, float32(math.NaN()), 0}, Stride: 3}
	for strict := range 2 {
		grads := layer.NewSparseGradients()
		grads[strict].CheckFinite(true)
		var bad *NotFiniteError
		if err := layer.BackwardSparse(grads, Sequence([]int{4}), dOut); !errors.As(err, &bad) {
			t.Errorf("error %v", err)
		}
		for i, g := range grads {
			if g.batch.rows.Data != nil || g.Len() != 0 {
				t.Errorf("gradient %d holds the rows that gradient %d has refused, or sums of them", i, strict)
			}
		}
	}
}

// TestManyRows: what only masks of dropout do not reach to is no error without them.
func TestManyRows(t *testing.T) {
	if bits.UintSize < 64 {
		t.Skip("no slice is so long")
	}
	length := uint64(1<<32 + 1)
	n := int(length)
	if err := checkMask("op", n, rowvec.Mask{}); err != nil {
		t.Errorf("without dropout: %v", err)
	}
	if err := checkMask("op", n, rowvec.Mask{P: 0.5}); err == nil {
		t.Error("no error with dropout")
	}
}

// TestPaddingBeyondIDs: where ids have 32 bits, a padding id that has more is none of them, whatever its lower bits.
func TestPaddingBeyondIDs(t *testing.T) {
	if bits.UintSize < 64 {
		t.Skip("no id has more")
	}
	padding := uint64(1<<32 + 5)
	v := viewOf([]uint32{7, 5, 7})
	if v.has(int(padding)) {
		t.Error("padding among the ids")
	}
	if from, to := v.runWithout(int(padding), 1); from != 1 || to != 3 {
		t.Errorf("a run of ids %d to %d, want 1 to 3", from, to)
	}
	v = viewOf([]uint64{7, padding, 7})
	if from, to := v.runWithout(int(padding), 0); !v.has(int(padding)) || from != 0 || to != 1 {
		t.Errorf("a run of ids %d to %d, want 0 to 1, and padding among them", from, to)
	}
}
