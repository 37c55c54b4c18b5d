package rowvec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// probabilities are those of every kind of threshold: none, one above 0, the middle from both sides, and the last.
var probabilities = []float64{0, 0x1p-8, 0.1, 0.5, 0.5 + 0x1p-8, 0.9, 1 - 0x1p-8}

// compareDropout holds Dropout to its definition on matrices of which whole backing slices are compared, gaps included:
// from one matrix to another, and in place.
func compareDropout(t *testing.T, alloc func() allocator, rng *rand.Rand, rows, cols, gap int, mask rowvec.Mask) {
	t.Helper()
	dst, src := matrix(alloc(), rng, rows, cols, gap), matrix(alloc(), rng, rows, cols, 2*gap)
	want, wantSrc := clone(dst), clone(src)
	kernels.Dropout(want, src, mask)
	err := rowvec.Dropout(dst, src, mask)
	d := diff(dst.Data, want.Data, false)
	if d == "" {
		d = diff(src.Data, wantSrc.Data, true)
	}
	if d == "" && err == nil {
		kernels.Dropout(wantSrc, wantSrc, mask)
		err = rowvec.Dropout(src, src, mask)
		d = diff(src.Data, wantSrc.Data, false)
	}
	if d != "" || err != nil {
		t.Fatalf("%d x %d, gap %d, %+v: %v %s", rows, cols, gap, mask, err, d)
	}
}

// someMask returns a mask whose words are all in use, and that begins anywhere, as far away as it can.
func someMask(rng *rand.Rand) rowvec.Mask {
	m := rowvec.Mask{P: probabilities[rng.IntN(len(probabilities))], Seed: rng.Uint64(), Step: rng.Uint64() >> 8}
	switch rng.IntN(3) {
	case 1:
		m.Row, m.Col = rng.IntN(1<<20), rng.IntN(1<<20)*16
	case 2:
		last := uint64(min(math.MaxInt, 1<<32))
		m.Row = int(last - 1<<20)
		m.Col = int(min(math.MaxInt, 16*last)-1<<20) &^ 15
	}
	return m
}

func TestDropout(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		eachNear(t, func() {
			rng := rand.New(rand.NewPCG(21, 1))
			for _, dim := range dims(0) {
				for _, gap := range []int{0, 1, 7} {
					compareDropout(t, heap, rng, 5, dim, gap, someMask(rng))
				}
				compareDropout(t, heap, rng, 1, dim, 0, someMask(rng))
			}
			for _, p := range probabilities {
				compareDropout(t, heap, rng, 9, 768, 0, rowvec.Mask{P: p, Seed: 1})
			}
		})
	})
}

// TestDropoutLarge has results written past the caches where they can be, and rows prefetched, however small they are.
func TestDropoutLarge(t *testing.T) {
	defer tuning.Lower()()
	isatest.Each(t, func(t *testing.T) {
		eachNear(t, func() {
			rng := rand.New(rand.NewPCG(23, 1))
			for _, dim := range dims(1) {
				for shift := range 2 { // of which the second has no result that begins with a line
					for rows := range 10 {
						compareDropout(t, alignedAt(shift), rng, rows, dim, rows%3*8, someMask(rng))
					}
				}
			}
		})
	})
}

// TestDropoutChunks has more rows and longer rows than one call of assembly does.
func TestDropoutChunks(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		large(t)
		rng := rand.New(rand.NewPCG(22, 1))
		for _, s := range [][2]int{{9001, 1}, {1025, 63}, {1023, 128}, {2050, 129}, {200, 768}, {3, 1<<16 - 1}, {2, 1 << 16},
			{2, 1<<16 + 1}, {2, 1<<17 + 19}} {
			mask := someMask(rng)
			mask.P = 0.3
			compareDropout(t, heap, rng, s[0], s[1], 1, mask)
		}
	})
}

// TestDropoutWindows does a matrix in windows of rows and of columns, in any order, which must not show.
func TestDropoutWindows(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(23, 1))
		const rows, cols = 23, 203
		mask := rowvec.Mask{P: 0.4, Seed: 5, Step: 6, Row: 1000, Col: 80}
		src := matrix(heap(), rng, rows, cols, 0)
		want := clone(src)
		kernels.Dropout(want, src, mask)
		for range 20 {
			dst := matrix(heap(), rng, rows, cols, 0)
			cuts := func(n, unit int) []int {
				c := []int{0}
				for c[len(c)-1] < n {
					c = append(c, min(n, c[len(c)-1]+unit*(1+rng.IntN(12))))
				}
				return c
			}
			down, across := cuts(rows, 1), cuts(cols, 16)
			for _, i := range rng.Perm(len(down) - 1) {
				for _, j := range rng.Perm(len(across) - 1) {
					window := func(m rowvec.Matrix) rowvec.Matrix {
						return rowvec.Matrix{Rows: down[i+1] - down[i], Cols: across[j+1] - across[j],
							Data: m.Data[down[i]*m.Stride+across[j]:], Stride: m.Stride}
					}
					part := mask
					part.Row, part.Col = part.Row+down[i], part.Col+across[j]
					if err := rowvec.Dropout(window(dst), window(src), part); err != nil {
						t.Fatal(err)
					}
				}
			}
			if d := diff(dst.Data, want.Data, false); d != "" {
				t.Fatalf("rows cut at %v, columns at %v: %s", down, across, d)
			}
		}
	})
}

// TestDropoutFetches has rows of a table fetched meanwhile, by ids that are anywhere, with every path of both.
func TestDropoutFetches(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 1))
	data := make([]float32, 1<<20+1000) // beyond what is left to the caches
	wide, narrow := make([]uint64, 13), make([]uint32, 13)
	isatest.Each(t, func(t *testing.T) {
		eachNear(t, func() {
			for _, dim := range []int{1, 15, 16, 63, 64, 65, 127, 128, 129, 200, 768} {
				table := rowvec.Matrix{Rows: len(data) / dim, Cols: dim, Data: data, Stride: dim}
				for rows := 1; rows <= 11; rows++ {
					for _, ids := range []int{0, 1, rows / 2, rows - 1, rows} {
						for i := range wide {
							wide[i], narrow[i] = rng.Uint64()>>rng.IntN(64), rng.Uint32()>>rng.IntN(32)
						}
						dst, src := matrix(heap(), rng, rows, dim, 1), matrix(heap(), rng, rows, dim, 0)
						mask := someMask(rng)
						want := clone(dst)
						kernels.Dropout(want, src, mask)
						next := forward.Next{Table: table, IDs: unsafe.Pointer(&narrow[13-max(ids, 1)]), Rows: ids}
						if ids == 0 {
							next = forward.Next{}
						} else if rng.IntN(2) == 0 {
							next.IDs, next.Wide = unsafe.Pointer(&wide[13-ids]), true
						}
						fetched := forward.Dropout(forward.Drop{Dst: dst, Src: src, Mask: mask, Next: next})
						d := diff(dst.Data, want.Data, false)
						if could := ids > 0 && mask.Threshold() > 0 && rowvec.ISA() != "portable"; d != "" || fetched != could {
							t.Fatalf("%d x %d, %d ids, %+v: fetched %v %s", rows, dim, ids, mask, fetched, d)
						}
					}
				}
			}
			small := rowvec.Matrix{Rows: 1000, Cols: 1024, Data: data, Stride: 1024}
			row := matrix(heap(), rng, 1, 1024, 0)
			next := forward.Next{Table: small, IDs: unsafe.Pointer(&narrow[0]), Rows: 1}
			if forward.Dropout(forward.Drop{Dst: row, Src: row, Mask: rowvec.Mask{P: 0.5}, Next: next}) {
				t.Error("fetched from a table that sits in cache")
			}
		})
	})
}

// TestDropSums has rows summed and dropped, of tables in cache and not, by ids of either size and positions of either kind, more of them
// than are found at a time; and up to an id or a position that is none. What comes behind them may be any number.
func TestDropSums(t *testing.T) {
	testDropSums(t, false)
	t.Run("prefetched, streamed", func(t *testing.T) {
		prefetchAll(t)
		testDropSums(t, true)
	})
}

func testDropSums(t *testing.T, stream bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(26, 1))
	isatest.Each(t, func(t *testing.T) {
		eachNear(t, func() {
			for number, dim := range []int{1, 2, 3, 7, 8, 15, 16, 20, 31, 32, 33, 47, 63, 64, 65, 95, 96, 127, 128, 129, 160, 203, 768, 1 << 16, 1<<16 + 3} {
				for _, n := range []int{1, 2, 3, 4, 5, 63, 64, 65, 66, 131} {
					if isatest.Slow && n > 66 || dim > 768 && n != 3 {
						continue
					}
					const more = 6
					gap := rng.IntN(2) * 16 // so that all rows may begin with a line
					table, positions := matrix(heap(), rng, 11, dim, number%3), matrix(heap(), rng, 9, dim, number%2)
					ids, at := make([]uint64, n+more), make([]int, n)
					for i := range ids {
						if ids[i] = rng.Uint64(); i < n {
							ids[i], at[i] = ids[i]%11, rng.IntN(9)
						}
					}
					room := matrix(heap(), rng, n+1, (dim+15)&^15+gap, 0)
					dst := rowvec.Matrix{Rows: n, Cols: dim, Stride: room.Stride, Data: room.Data[lineOf(room.Data):]}
					if !stream {
						dst = matrix(heap(), rng, n, dim, gap)
					}
					want := clone(dst)
					mask := someMask(rng)
					mask.Row, mask.Col = rng.IntN(1000), 0
					r := forward.Rows{
						Dst: dst, Table: table, IDs: unsafe.Pointer(&ids[0]), Wide: true, Positions: positions, Start: rng.IntN(3), Seq: 1 + rng.IntN(6),
						Scale: 1.7, Scaled: true, Stream: stream, More: rng.IntN(more + 1),
					}
					narrow := make([]uint32, len(ids))
					for i, id := range ids {
						narrow[i] = uint32(id)
					}
					if rng.IntN(2) == 0 {
						r.IDs, r.Wide = unsafe.Pointer(&narrow[0]), false
					}
					if rng.IntN(2) == 0 {
						r.At = at
						kernels.EmbedAt(want, table, ids[:n], 1.7, positions, at)
					} else {
						kernels.Embed(want, table, ids[:n], 1.7, positions, r.Start, r.Seq)
					}
					kernels.Dropout(want, want, mask)
					done := forward.DropSums(r, mask)
					if d := diff(dst.Data, want.Data, false); d != "" || done != n {
						t.Fatalf("%d x %d, %+v: %d done, %s", n, dim, mask, done, d)
					}
					wrong := rng.IntN(n)
					ids[wrong], narrow[wrong] = 11+ids[wrong]<<rng.IntN(60), 11
					if done := forward.DropSums(r, mask); done != wrong {
						t.Fatalf("%d x %d: %d done, id %d is wrong", n, dim, done, wrong)
					}
					if r.At == nil {
						continue
					}
					ids[wrong], narrow[wrong] = 0, 0
					at[wrong] = []int{-1, 9, math.MaxInt, math.MinInt}[rng.IntN(4)]
					if done := forward.DropSums(r, mask); done != wrong {
						t.Fatalf("%d x %d: %d done, position %d is wrong", n, dim, done, wrong)
					}
				}
			}
		})
	})
}

// lineOf returns the first element that begins a line.
func lineOf(x []float32) int { return int(-uintptr(unsafe.Pointer(&x[0])) / 4 % 16) }

// TestDropoutDrops: what is dropped is +0, whatever it was; what is kept is not.
func TestDropoutDrops(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, x := range special {
			src := rowvec.Matrix{Rows: 1, Cols: 1000, Data: make([]float32, 1000), Stride: 1000}
			for i := range src.Data {
				src.Data[i] = x
			}
			if err := rowvec.Dropout(src, src, rowvec.Mask{P: 0.5, Seed: 2}); err != nil {
				t.Fatal(err)
			}
			dropped := 0
			for i, y := range src.Data {
				switch {
				case math.Float32bits(y) == 0:
					dropped++
				case y != 2*x && x == x:
					t.Fatalf("element %d is %v, want %v or 0", i, y, 2*x)
				}
			}
			if math.Float32bits(x) != 0 && (dropped < 400 || dropped > 600) {
				t.Errorf("%d of 1000 dropped of %v", dropped, x)
			}
		}
	})
}

// TestDropoutMisuse holds errors to their exact texts; nothing may have changed.
func TestDropoutMisuse(t *testing.T) {
	type call struct {
		dst, src rowvec.Matrix
		mask     rowvec.Mask
	}
	rows, cols := min(math.MaxInt, 1<<32), min(math.MaxInt, 1<<36)
	for _, c := range []struct {
		name  string
		spoil func(c *call)
		want  string
	}{
		{"rows", func(c *call) { c.src.Rows = 3 }, "rowvec: Dropout: src.Rows is 3, want 4"},
		{"columns", func(c *call) { c.src.Cols = 4 }, "rowvec: Dropout: src.Cols is 4, want 5"},
		{"stride", func(c *call) { c.dst.Stride = 4 }, "rowvec: Dropout: dst.Stride is 4, want at least 5"},
		{"data", func(c *call) { c.src.Data = c.src.Data[:22] }, "rowvec: Dropout: len(src.Data) is 22, want at least 23"},
		{"no data", func(c *call) { c.dst.Data = nil }, "rowvec: Dropout: len(dst.Data) is 0, want at least 23"},
		{"negative rows", func(c *call) { c.dst.Rows = -1 }, "rowvec: Dropout: dst.Rows is -1, want at least 0"},

		{"negative p", func(c *call) { c.mask.P = -1e-9 }, "rowvec: Dropout: mask.P is -1e-09, want one in [0, 1)"},
		{"p of 1", func(c *call) { c.mask.P = 1 }, "rowvec: Dropout: mask.P is 1, want one in [0, 1)"},
		{"NaN", func(c *call) { c.mask.P = math.NaN() }, "rowvec: Dropout: mask.P is NaN, want one in [0, 1)"},
		{"step", func(c *call) { c.mask.Step = 1 << 56 },
			"rowvec: Dropout: mask.Step is 72057594037927936, want one below 72057594037927936"},
		{"last step", func(c *call) { c.mask.Step = 1<<56 - 1 }, ""},
		{"negative row", func(c *call) { c.mask.Row = -1 }, "rowvec: Dropout: mask.Row is -1, want at least 0"},
		{"row", func(c *call) { c.mask.Row = rows - 3 },
			fmt.Sprintf("rowvec: Dropout: mask.Row is %d, want at most %d", rows-3, rows-4)},
		{"last row", func(c *call) { c.mask.Row = rows - 4 }, ""},
		{"negative column", func(c *call) { c.mask.Col = -16 }, "rowvec: Dropout: mask.Col is -16, want at least 0"},
		{"column", func(c *call) { c.mask.Col = 24 }, "rowvec: Dropout: mask.Col is 24, want a multiple of 16"},
		{"far column", func(c *call) { c.mask.Col = cols &^ 15 },
			fmt.Sprintf("rowvec: Dropout: mask.Col is %d, want at most %d", cols&^15, cols-5)},
		{"last column", func(c *call) { c.mask.Col = (cols - 16) &^ 15 }, ""},
		{"many rows", func(c *call) { c.dst, c.src = rowvec.Matrix{Rows: rows + 1}, rowvec.Matrix{Rows: rows + 1} },
			fmt.Sprintf("rowvec: Dropout: dst.Rows is %d, want at most %d", rows+1, rows)},
		{"many columns", func(c *call) { c.dst, c.src = rowvec.Matrix{Cols: cols + 1}, rowvec.Matrix{Cols: cols + 1} },
			fmt.Sprintf("rowvec: Dropout: dst.Cols is %d, want at most %d", cols+1, cols)},

		{"overlap", func(c *call) { c.dst.Data = c.src.Data[1:]; c.src.Rows, c.dst.Rows = 3, 3 },
			"rowvec: Dropout: dst overlaps src"},
		{"another stride", func(c *call) { c.dst.Data, c.dst.Stride = c.src.Data, 5 }, "rowvec: Dropout: dst overlaps src"},
		{"the same", func(c *call) { c.dst = c.src }, ""},
		{"empty", func(c *call) { c.dst, c.src = rowvec.Matrix{Rows: 4}, rowvec.Matrix{Rows: 4} }, ""},
		{"nothing", func(c *call) { c.dst, c.src = rowvec.Matrix{}, rowvec.Matrix{} }, ""},
	} {
		if unsafe.Sizeof(0) == 4 && (c.name == "many rows" || c.name == "many columns" || c.name == "far column") {
			continue
		}
		rng := rand.New(rand.NewPCG(24, 1))
		x := &call{matrix(heap(), rng, 4, 5, 1), matrix(heap(), rng, 4, 5, 1), rowvec.Mask{P: 0.5}}
		all := [][]float32{x.dst.Data, x.src.Data}
		before := [][]float32{clone(x.dst).Data, clone(x.src).Data}
		c.spoil(x)
		err := rowvec.Dropout(x.dst, x.src, x.mask)
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%s: error %q, want %q", c.name, got, c.want)
		}
		for i, y := range all {
			if d := diff(y, before[i], true); d != "" && c.want != "" {
				t.Errorf("%s: memory %d has changed: %s", c.name, i, d)
			}
		}
	}
}
