package rowvec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/kernels"
)

// probabilities are those of every kind of threshold: none, one above 0, the middle from both sides, and the last.
var probabilities = []float64{0, 0x1p-16, 0.1, 0.5, 0.5 + 0x1p-16, 0.9, 1 - 0x1p-16}

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
		m.Row, m.Col = rng.IntN(1<<20), rng.IntN(1<<20)*8
	case 2:
		last := uint64(min(math.MaxInt, 1<<32))
		m.Row = int(last - 1<<20)
		m.Col = int(min(math.MaxInt, 8*last)-1<<20) &^ 7
	}
	return m
}

func TestDropout(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(21, 1))
		for dim := range maxDim + 1 {
			for _, gap := range []int{0, 1, 7} {
				compareDropout(t, heap, rng, 5, dim, gap, someMask(rng))
			}
			compareDropout(t, heap, rng, 1, dim, 0, someMask(rng))
		}
		for _, p := range probabilities {
			compareDropout(t, heap, rng, 9, 768, 0, rowvec.Mask{P: p, Seed: 1})
		}
	})
}

// TestDropoutChunks has more rows and longer rows than one call of assembly does.
func TestDropoutChunks(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(22, 1))
		for _, s := range [][2]int{{9001, 1}, {1025, 63}, {1023, 64}, {2050, 65}, {200, 768}, {3, 1<<16 - 1}, {2, 1 << 16},
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
			down, across := cuts(rows, 1), cuts(cols, 8)
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
	rows, cols := min(math.MaxInt, 1<<32), min(math.MaxInt, 1<<35)
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
		{"negative column", func(c *call) { c.mask.Col = -8 }, "rowvec: Dropout: mask.Col is -8, want at least 0"},
		{"column", func(c *call) { c.mask.Col = 12 }, "rowvec: Dropout: mask.Col is 12, want a multiple of 8"},
		{"far column", func(c *call) { c.mask.Col = cols &^ 7 },
			fmt.Sprintf("rowvec: Dropout: mask.Col is %d, want at most %d", cols&^7, cols-5)},
		{"last column", func(c *call) { c.mask.Col = (cols - 8) &^ 7 }, ""},
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
