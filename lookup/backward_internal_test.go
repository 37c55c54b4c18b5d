package lookup

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/internal/work"
)

// TestRowShares: each place of a batch but those of padding is added once, those of a row by one worker and in their order, and rows
// that most ids choose are left to columns.
func TestRowShares(t *testing.T) {
	defer tuning.Lower()()
	tuning.ShareColumns = 0
	apply := forward.Apply
	defer func() { forward.Apply = apply }()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ n, vocab, padding, workers, dim, shares int }{
		{1, 1, -1, 2, 3, 2}, {1, 1, 0, 2, 3, 2}, {3000, 1, -1, 3, 3, 0}, {3000, 1, 0, 1, 3, 0}, {2000, 40, 0, 2, 200, 6}, {9000, 700, 7, 64, 1, 64},
		{9000, 50000, -1, work.Most, 1, mostShares}, {9000, 50000, 3, 2, 40000, mostShares}, {9000, 50000, 3, 2, 100, 3},
	} {
		ids := make([]uint64, c.n)
		narrow := make([]uint32, c.n)
		want := 0
		for i := range ids {
			ids[i] = rng.Uint64N(uint64(c.vocab))
			narrow[i] = uint32(ids[i])
			if int(ids[i]) != c.padding {
				want++
			}
		}
		e := &Embedding{weight: rowvec.Matrix{Rows: c.vocab, Cols: c.dim, Stride: c.dim}, padding: c.padding, scale: 1}
		for _, in := range []Input{Sequence(ids), Sequence(narrow)} {
			p := pass{Layer: &Layer{tokens: e}, in: in}
			if p.shares = p.rowShares(c.workers, work.Most); p.shares != c.shares {
				t.Errorf("%+v: %d shares", c, p.shares)
			}
			of, seen, share := map[uint64]int{}, map[int]bool{}, 0
			last := 0
			forward.Apply = func(u forward.Update) int {
				for k, id := range unsafe.Slice((*uint64)(u.IDs), len(u.Places)) {
					place := u.Places[k]
					if ids[place] != id || int(id) == c.padding || seen[place] || place < last {
						t.Fatalf("%+v: id %d at place %d", c, id, place)
					}
					if other, ok := of[id]; ok && other != share {
						t.Fatalf("%+v: row %d is in shares %d and %d", c, id, other, share)
					}
					of[id], seen[place], last = share, true, place
				}
				return len(u.Places)
			}
			for share = range p.shares {
				last = 0
				if err := p.sharesPart(share, share+1); err != nil {
					t.Fatal(err)
				}
			}
			if p.shares > 0 && len(seen) != want {
				t.Errorf("%+v: %d places, want %d", c, len(seen), want)
			}
		}
	}
}

// TestRowsOrColumns: long rows are shared by rows, less long ones beside types, and short ones where columns would be few shares of much work.
func TestRowsOrColumns(t *testing.T) {
	for _, c := range []struct{ n, dim, workers, shares int }{
		{2, 513, 2, 16}, {1 << 13, 512, 2, 0}, {1 << 16, 64, 8, 8}, {1 << 16, 64, 7, 0}, {1<<16 - 1, 64, 8, 0}, {1 << 18, 16, 9, 9},
		{1 << 15, 128, 8, 8}, {1 << 14, 256, 15, 0}, {1 << 14, 256, 16, 16}, {1 << 16, 64, 1, 0},
	} {
		ids := make([]uint64, c.n)
		for i := range ids {
			ids[i] = uint64(i)
		}
		e := &Embedding{weight: rowvec.Matrix{Rows: c.n, Cols: c.dim, Stride: c.dim}, padding: -1}
		for _, p := range []pass{
			{Layer: &Layer{tokens: e}, in: Sequence(ids)},
			{Layer: &Layer{tokens: e}, in: Sequence(ids), drops: true},
			{Layer: &Layer{tokens: e, layerSettings: layerSettings{segments: e}}, in: Sequence(ids).Types(make([]int, c.n))},
		} {
			want := c.shares
			if p.in.typed && c.dim > tuning.ShareRewritten {
				want = max(c.workers, c.dim/columnsEach)
			}
			if got := p.rowShares(c.workers, work.Most); got != want {
				t.Errorf("%+v: %d shares", c, got)
			}
		}
	}
}

// TestSampleOfShares: neither what each sequence begins with nor padding looks like a row that most ids choose, but such a row does;
// and there are no more shares than cores.
func TestSampleOfShares(t *testing.T) {
	const n, vocab = 1 << 16, 40000
	rng := rand.New(rand.NewPCG(3, 4))
	e := &Embedding{weight: rowvec.Matrix{Rows: vocab, Cols: 64, Stride: 64}, padding: 1}
	for _, c := range []struct {
		what   string
		id     func(i int) int
		shares int
	}{
		{"any", func(int) int { return 2 + rng.IntN(vocab-2) }, 16},
		{"sequences of 128 that begin with the same", func(i int) int { return 2 + min(i%128, 1)*rng.IntN(vocab-2) }, 16},
		{"sequences of 77 that begin with the same", func(i int) int { return 2 + min(i%77, 1)*rng.IntN(vocab-2) }, 16},
		{"half padding", func(i int) int { return 1 + rng.IntN(2)*rng.IntN(vocab-1) }, 16},
		{"padding alone", func(i int) int { return 1 }, 16},
		{"a quarter of one row", func(i int) int { return 2 + min(rng.IntN(4), 1)*rng.IntN(vocab-2) }, 0},
	} {
		ids := make([]uint64, n)
		for i := range ids {
			ids[i] = uint64(c.id(i))
		}
		p := pass{Layer: &Layer{tokens: e}, in: Sequence(ids)}
		if got := p.rowShares(16, 99); got != c.shares {
			t.Errorf("%s: %d shares", c.what, got)
		}
		if got := p.rowShares(99, 16); got != c.shares {
			t.Errorf("%s, 16 cores: %d shares", c.what, got)
		}
	}
}

// TestSharesAreEven: neighbouring rows, and those a power of two apart, fall to all shares alike.
func TestSharesAreEven(t *testing.T) {
	for shift := range 12 {
		for _, shares := range []int{2, 3, 16, 23} {
			const n = 1 << 14
			counts := make([]int, shares)
			for i := range uint64(n) {
				counts[shareOf(i<<shift, shares)]++
			}
			for k, count := range counts {
				if mean := n / shares; count < mean*3/4 || count > mean*5/4 {
					t.Errorf("rows %d apart: share %d of %d has %d of them, where the mean is %d", 1<<shift, k, shares, count, mean)
				}
			}
		}
	}
}

// TestSharesChanged has an id change to one out of range when rows are shared, as another goroutine could have it: the call says so,
// and no row of another share is written to.
func TestSharesChanged(t *testing.T) {
	defer tuning.Lower()()
	tuning.ShareColumns = 0
	const vocab, dim = 50, 100
	e, err := NewEmbedding(vocab, dim, Workers(2))
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]uint64, 300)
	for i := range ids {
		ids[i] = uint64(i*i) % vocab
	}
	dOut, _ := rowvec.NewMatrix(len(ids), dim)
	for i := range dOut.Data {
		dOut.Data[i] = float32(1 + i%17)
	}
	for _, bad := range []uint64{vocab, math.MaxInt64, 1 << 63, math.MaxUint64} {
		ids[len(ids)-1] = bad
		grad, _ := rowvec.NewMatrix(vocab, dim)
		p := pass{Layer: e.alone, in: Sequence(ids), out: dOut, grads: perParameter[rowvec.Matrix]{token: grad}, shares: 3}
		failed := 0
		for share := range p.shares {
			switch err := p.sharesPart(share, share+1); {
			case errors.Is(err, rowvec.ErrChanged):
				failed++
			case err != nil:
				t.Fatal(err)
			}
		}
		if failed != 1 {
			t.Errorf("%d shares have met id %d, want 1", failed, bad)
		}
		for id := range vocab {
			want := float32(0)
			for i, other := range ids {
				if other == uint64(id) {
					want += dOut.Row(i)[0]
				}
			}
			if grad.Row(id)[0] != want {
				t.Errorf("row %d is %v, want %v", id, grad.Row(id)[0], want)
			}
		}
	}
}

// TestBagWeightsOfChangedOffsets: a worker whose offsets have changed since the check ends, by an error where one bag begins in front of
// another's end, and adds to no weight of another worker.
func TestBagWeightsOfChangedOffsets(t *testing.T) {
	const dim, n = 24, 900
	e, err := NewEmbedding(10, dim, Workers(1))
	if err != nil {
		t.Fatal(err)
	}
	bag, _ := NewBag(e, Sum)
	for _, c := range []struct {
		offsets []int // of the bags of the worker
		fails   bool
	}{
		{[]int{100, 200, 500, 600, 800}, false},
		{[]int{100, 90, 95, 600, 800}, true},
		{[]int{100, 200, 190, 195, 800}, true},
		{[]int{100, 200, -1, 600, 800}, false}, // begins in front of the ids, and so with their first, when all has been done
		{[]int{100, 200, math.MinInt, 600, 800}, false},
		{[]int{100, 200, 850, 600, 800}, false},
		{[]int{100, 200, math.MaxInt, 600, 800}, false},
		{[]int{200, 200, 150, 180, 800}, true},
		{[]int{800, 200, 500, 600, 100}, false}, // nothing is left
		{[]int{100, 200, 500, 700, 600}, false}, // of which another worker does those from 600 on
		{[]int{100, 200, 500, 700, 50}, false},
		{[]int{100, 200, 500, 700, -1}, false},
		{[]int{58, 202, 286, 748, 612, 487}, false},
		{append(slices.Repeat([]int{500}, windowBags-1), 300, 400, 800), true},
	} {
		bags := len(c.offsets) - 1
		offsets := slices.Concat([]int{0}, c.offsets, []int{n})
		dOut, _ := rowvec.NewMatrix(bags+2, dim)
		for i := range dOut.Data {
			dOut.Data[i] = 1
		}
		got := make([]float32, n)
		p := weightPass{bag: bag, in: Ragged(make([]int32, n), offsets), dOut: dOut, dWeights: got}
		if err := p.part(1, 1+bags); errors.Is(err, rowvec.ErrChanged) != c.fails {
			t.Errorf("offsets %v: %v", c.offsets, err)
		}
		for i, x := range got {
			if x != 0 && (i < c.offsets[0] || i >= c.offsets[bags]) {
				t.Fatalf("offsets %v: weight %d has a gradient", c.offsets, i)
			}
		}
	}
}
