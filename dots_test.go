package rowvec_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/kernels"
)

// dotsShape is what the comparison below varies: queries are the rows of a.
type dotsShape struct{ dim, gap, queries, n, rows int }

// compareDots runs Dots and DotsAll on one shape against their definitions; the whole of dst is compared, gaps included.
func compareDots[I rowvec.ID](t *testing.T, alloc func() allocator, s dotsShape) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(s.dim), uint64(s.n)))
	a, table := matrix(alloc(), rng, s.queries, s.dim, s.gap), matrix(alloc(), rng, s.rows, s.dim, s.gap*2)
	if rng.IntN(2) == 0 { // else most results are infinite or no numbers
		tame(a)
		tame(table)
		if s.dim <= maxDim { // of longer rows, too few results would be numbers
			infinities(rng, []rowvec.Matrix{a, table, {}}[rng.IntN(3)])
		}
	}
	ids := randomIDs[I](rng, s.n, s.rows)
	dst := matrix(alloc(), rng, s.queries, s.n, s.gap*3)
	want := clone(dst)
	kernels.Dots(want, a, table, ids)
	err := rowvec.Dots(dst, a, table, ids)
	if d := diff(dst.Data, want.Data, false); d != "" || err != nil {
		t.Fatalf("Dots %+v: %v %s", s, err, d)
	}
	dst = matrix(alloc(), rng, s.queries, s.rows, s.gap)
	want = clone(dst)
	kernels.DotsAll(want, a, table)
	err = rowvec.DotsAll(dst, a, table)
	if d := diff(dst.Data, want.Data, false); d != "" || err != nil {
		t.Fatalf("DotsAll %+v: %v %s", s, err, d)
	}
}

// tame takes infinities, NaNs and what comes near overflow out of a matrix.
func tame(m rowvec.Matrix) {
	for i, x := range m.Data {
		if !(x < 0x1p60 && x > -0x1p60) {
			m.Data[i] = 0.75
		}
	}
}

// infinities puts one near the end of every other row of a matrix, where what a register still has of it must not meet the
// zeros beside the last columns.
func infinities(rng *rand.Rand, m rowvec.Matrix) {
	for i := 0; i < m.Rows && m.Cols > 0; i += 2 {
		m.Row(i)[m.Cols-1-rng.IntN(min(m.Cols, 28))] = float32(math.Inf(1))
	}
}

func TestDotsEveryDim(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		eachNear(t, func() {
			for _, dim := range dims(0) {
				for _, gap := range []int{0, 1, 7} {
					compareDots[int32](t, heap, dotsShape{dim: dim, gap: gap, queries: 5, n: 11, rows: 6})
				}
				compareDots[uint64](t, heap, dotsShape{dim: dim, queries: 1, n: 1, rows: 1})
			}
		})
	})
}

// TestDotsEveryShape reaches every remainder of what is done at once of rows, queries and ids.
func TestDotsEveryShape(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		eachHalves(t, func() {
			for _, dim := range []int{1, 16, 37, 70} {
				for queries := range 18 {
					for n := range 14 {
						compareDots[int64](t, heap, dotsShape{dim: dim, gap: n % 2, queries: queries, n: n, rows: n + 1})
					}
				}
			}
		})
	})
}

func TestDotsEveryIDType(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		s := dotsShape{dim: 35, queries: 3, n: 10, rows: 9}
		compareDots[int](t, heap, s)
		compareDots[int32](t, heap, s)
		compareDots[int64](t, heap, s)
		compareDots[uint](t, heap, s)
		compareDots[uint32](t, heap, s)
		compareDots[uint64](t, heap, s)
		compareDots[named](t, heap, s)
	})
}

// TestDotsChunks has more of everything than one call of assembly does.
func TestDotsChunks(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		large(t)
		for _, s := range []dotsShape{
			{dim: 1, queries: 3, n: 9001, rows: 5000},
			{dim: 2, queries: 301, n: 100, rows: 150},
			{dim: 300, queries: 65, n: 660, rows: 300},
			{dim: 5000, queries: 9, n: 40, rows: 33},
			{dim: 1<<16 - 1, queries: 3, n: 5, rows: 4},
			{dim: 1 << 16, queries: 3, n: 5, rows: 4},
			{dim: 1<<16 + 1, queries: 2, n: 3, rows: 4},
			{dim: 1<<17 + 19, queries: 2, n: 3, rows: 2},
		} {
			s.gap = 1
			eachHalves(t, func() {
				compareDots[int32](t, heap, s)
				compareDots[uint64](t, heap, s)
			})
		}
	})
}

// TestDotsPrefetch has rows prefetched, with fewer and with more ids than that looks ahead.
func TestDotsPrefetch(t *testing.T) {
	prefetchAll(t)
	isatest.Each(t, func(t *testing.T) {
		large(t)
		eachNear(t, func() {
			for _, dim := range []int{5, 64, 100, 768, 5000} {
				for _, s := range []dotsShape{{queries: 1, n: 1}, {queries: 1, n: 3}, {queries: 1, n: 40}, {queries: 3, n: 40}, {queries: 5, n: 40}} {
					s.dim, s.rows = dim, 1<<18/dim+1
					compareDots[int64](t, heap, s)
				}
			}
		})
		// If each few rows had all that come later prefetched, and not as many, it would take seconds.
		for _, queries := range []int{1, 2} {
			compareDots[int64](t, heap, dotsShape{dim: 9, queries: queries, n: 300_000, rows: 300_000})
		}
	})
}

// TestDotsUnfused uses numbers for which a fused multiply-add gives another result.
func TestDotsUnfused(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const x, minus = 1 + 0x1p-12, -1 - 0x1p-11
		for dim := 1; dim <= 32; dim++ {
			a, _ := rowvec.NewMatrix(3, 16+dim)
			table, _ := rowvec.NewMatrix(5, 16+dim)
			for i := range 3 {
				for j := range 16 + dim {
					a.Row(i)[j] = x
					if j < 16 {
						a.Row(i)[j] = minus
					}
				}
			}
			for i := range 5 {
				for j := range 16 + dim {
					table.Row(i)[j] = x
					if j < 16 {
						table.Row(i)[j] = 0
						if j < dim {
							table.Row(i)[j] = 1
						}
					}
					if j >= 32 {
						table.Row(i)[j] = 0
					}
				}
			}
			dst, _ := rowvec.NewMatrix(3, 5)
			if err := rowvec.DotsAll(dst, a, table); err != nil {
				t.Fatal(err)
			}
			for i, v := range dst.Data { // each lane: minus, plus x*x rounded to -minus
				if v != 0 {
					t.Fatalf("dim %d: element %d is %v, want 0", 16+dim, i, v)
				}
			}
		}
	})
}

// TestDotsMisuse has everything in one buffer, which no error may change.
func TestDotsMisuse(t *testing.T) {
	type dotsCall struct {
		dst, a, table rowvec.Matrix
		ids           []int64
	}
	isatest.Each(t, func(t *testing.T) {
		for number, m := range []struct {
			spoil     func(c *dotsCall)
			dots, all string // the errors of both; DotsAll has a column of dst for each of 7 rows
		}{
			{func(*dotsCall) {}, "", ""},
			{func(c *dotsCall) { c.a = c.table; c.a.Rows = 3 }, "", ""}, // only dst has to lie apart
			{func(c *dotsCall) { c.table = c.a; c.dst.Cols = min(c.dst.Cols, 4); c.table.Rows = c.dst.Cols }, "rowvec: Dots: id 6 at position 0 is outside [0, 4)", ""},
			{func(c *dotsCall) { c.ids[2] = 7 }, "rowvec: Dots: id 7 at position 2 is outside [0, 7)", ""},
			{func(c *dotsCall) { c.ids[0] = -1 }, "rowvec: Dots: id -1 at position 0 is outside [0, 7)", ""},
			{func(c *dotsCall) { c.a.Cols = 4 }, "Dots: a.Cols is 4, want 5", "DotsAll: a.Cols is 4, want 5"},
			{func(c *dotsCall) { c.dst.Rows = 2 }, "Dots: dst.Rows is 2, want 3", "DotsAll: dst.Rows is 2, want 3"},
			{func(c *dotsCall) { c.dst.Cols = 3 }, "Dots: dst.Cols is 3, want 4", "DotsAll: dst.Cols is 3, want 7"},
			{func(c *dotsCall) { c.ids = c.ids[:3] }, "Dots: dst.Cols is 4, want 3", ""},
			{func(c *dotsCall) { c.ids = nil }, "Dots: dst.Cols is 4, want 0", ""},
			{func(c *dotsCall) { c.table.Rows = -7 }, "Dots: table.Rows is -7, want at least 0", "DotsAll: table.Rows is -7, want at least 0"},
			{func(c *dotsCall) { c.a.Stride = 4 }, "Dots: a.Stride is 4, want at least 5", "DotsAll: a.Stride is 4, want at least 5"},
			{func(c *dotsCall) { c.table.Data = c.table.Data[:40] }, "Dots: len(table.Data) is 40, want at least 41", "DotsAll: len(table.Data) is 40, want at least 41"},
			{func(c *dotsCall) { c.dst.Data = nil }, "Dots: len(dst.Data) is 0, want at least 20", "DotsAll: len(dst.Data) is 0, want at least 23"},
			{func(c *dotsCall) { c.dst.Data = c.a.Data[16:50] }, "Dots: dst overlaps a", "DotsAll: dst overlaps a"},
			{func(c *dotsCall) { c.dst.Data = c.table.Data[40:70] }, "Dots: dst overlaps table", "DotsAll: dst overlaps table"},
			{func(c *dotsCall) { c.ids = alias(c.dst.Data[3:], c.ids) }, "Dots: dst overlaps ids", ""},
		} {
			for _, all := range []bool{false, true} {
				memory := make([]float32, 200)
				fill(rand.New(rand.NewPCG(5, 6)), memory)
				c := &dotsCall{
					a:     rowvec.Matrix{Rows: 3, Cols: 5, Data: memory[:60], Stride: 6},
					table: rowvec.Matrix{Rows: 7, Cols: 5, Data: memory[60:130], Stride: 6},
					dst:   rowvec.Matrix{Rows: 3, Cols: 4, Data: memory[140:], Stride: 8},
					ids:   []int64{6, 0, 3, 3},
				}
				want := m.dots
				if all {
					c.dst.Cols, want = 7, m.all
				}
				m.spoil(c)
				before := append([]float32(nil), memory...)
				var err error
				if all {
					err = rowvec.DotsAll(c.dst, c.a, c.table)
				} else {
					err = rowvec.Dots(c.dst, c.a, c.table, c.ids)
				}
				if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
					t.Errorf("error %v, want %q", err, want)
				}
				if d := diff(memory, before, true); (d == "") != (err != nil) {
					t.Errorf("case %d, all %v: error %v, want %q, and memory: %q", number, all, err, want, d)
				}
			}
		}
	})
}

// TestDotsEmpty: empty input is no error, and without columns all scores are 0.
func TestDotsEmpty(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		table, _ := rowvec.NewMatrix(3, 4)
		thin := rowvec.Matrix{Rows: 3}
		dst := matrix(heap(), rand.New(rand.NewPCG(1, 2)), 3, 3, 0)
		for i, err := range []error{
			rowvec.Dots[int](rowvec.Matrix{}, rowvec.Matrix{}, rowvec.Matrix{}, nil),
			rowvec.Dots[int](rowvec.Matrix{Rows: 3}, table, table, nil),
			rowvec.Dots(rowvec.Matrix{Cols: 2}, rowvec.Matrix{Cols: 4}, table, []int{2, 1}),
			rowvec.DotsAll(rowvec.Matrix{}, rowvec.Matrix{}, rowvec.Matrix{}),
			rowvec.DotsAll(rowvec.Matrix{Rows: 3}, table, rowvec.Matrix{Cols: 4}),
			rowvec.DotsAll(rowvec.Matrix{Cols: 3}, rowvec.Matrix{Cols: 4}, table),
			rowvec.DotsAll(rowvec.Matrix{Cols: math.MaxInt}, rowvec.Matrix{}, rowvec.Matrix{Rows: math.MaxInt}),
			rowvec.DotsAll(dst, thin, thin),
		} {
			if err != nil {
				t.Errorf("case %d: %v", i, err)
			}
		}
		if d := diff(dst.Data, make([]float32, 9), true); d != "" {
			t.Error(d)
		}
		fill(rand.New(rand.NewPCG(1, 2)), dst.Data)
		err := rowvec.Dots(dst, thin, thin, []int{0, 2, 1})
		if d := diff(dst.Data, make([]float32, 9), true); d != "" || err != nil {
			t.Error(err, d)
		}
		if err := rowvec.Dots(dst, thin, thin, []int{0, 3, 1}); err == nil {
			t.Error("no error")
		}
	})
}

func TestDotsNoAllocation(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		isatest.NoAllocation(t, "dots", func() {
			var table, a, dst [6 * 7]float32
			var ids [6]int32
			m := func(x *[6 * 7]float32, cols int) rowvec.Matrix {
				return rowvec.Matrix{Rows: 6, Cols: cols, Data: x[:], Stride: 7}
			}
			err1 := rowvec.Dots(m(&dst, 6), m(&a, 7), m(&table, 7), ids[:])
			err2 := rowvec.DotsAll(m(&dst, 6), m(&a, 7), m(&table, 7))
			if err1 != nil || err2 != nil {
				t.Error(err1, err2)
			}
		})
	})
}

// TestDotsIDsChangeMeanwhile: see TestIDsChangeMeanwhile.
func TestDotsIDsChangeMeanwhile(t *testing.T) {
	if race.Enabled {
		t.Skip("is a race on purpose")
	}
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		a, table, dst := matrix(heap(), rng, 9, 24, 0), matrix(heap(), rng, 100, 24, 0), matrix(heap(), rng, 9, 512, 0)
		ids := randomIDs[int64](rng, dst.Cols, table.Rows)
		stop := isatest.KeepChanging(&ids[300])
		whileChanging[*rowvec.IndexError](t, func() []error { return []error{rowvec.Dots(dst, a, table, ids)} })
		stop()
	})
}
