package rowvec_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// The yardstick is package kernels, and the policy is bit for bit; a NaN equals a NaN, but for Gather, which keeps all
// bits.

// large skips tests of large shapes where sweeps are samples.
func large(t *testing.T) {
	t.Helper()
	if isatest.Sampled() {
		t.Skip("large shapes, of one goroutine")
	}
}

// allocator returns n elements of memory, in the way of one of the memories below.
type allocator func(n int) []float32

const maxDim = 257 // dims 0..257 reach every path of every kernel, also behind a full AVX-512 block

// dims returns the dims from first to maxDim, and where sweeps are samples those next to the blocks that kernels work in.
func dims(first int) (all []int) {
	for dim := first; dim <= maxDim; dim++ {
		if off := (dim + 2) % 64; !isatest.Sampled() || dim <= 18 || off <= 4 || dim%50 == 41 {
			all = append(all, dim)
		}
	}
	return all
}

// matrix returns a rows x cols matrix of special and ordinary values, with gap elements between the rows.
func matrix(alloc allocator, rng *rand.Rand, rows, cols, gap int) rowvec.Matrix {
	m := rowvec.Matrix{Rows: rows, Cols: cols, Stride: cols + gap}
	if rows > 0 && cols > 0 {
		m.Data = alloc((rows-1)*m.Stride + cols)
		rowvec.AdviseHugePages(m.Data) // where a page fault takes long, half of the time of a test goes there
		fill(rng, m.Data)
	}
	return m
}

var special = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32,
	-math.SmallestNonzeroFloat32, 0x1p-126, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	math.Float32frombits(0x7f800001), math.Float32frombits(0xffc12345),
}

// samples are what matrices are filled with: one element in eight is a special value, the others are of both signs and of many sizes.
var samples = sync.OnceValue(func() []float32 {
	rng := rand.New(rand.NewPCG(7, 8))
	x := make([]float32, 1<<16)
	for i := range x {
		if rng.IntN(8) == 0 {
			x[i] = special[rng.IntN(len(special))]
		} else {
			x[i] = float32(math.Ldexp(rng.Float64()*2-1, rng.IntN(40)-20))
		}
	}
	return x
})

// fill copies samples from somewhere on, and repeats them.
func fill(rng *rand.Rand, x []float32) {
	samples := samples()
	copy(x[:min(len(x), isatest.Period)], samples[rng.IntN(len(samples)-isatest.Period):])
	isatest.Repeat(x)
}

// finite fills x with numbers between -1/2 and 1/2, and repeats them.
func finite(rng *rand.Rand, x []float32) {
	for i := range min(len(x), isatest.Period) {
		x[i] = rng.Float32() - 0.5
	}
	isatest.Repeat(x)
}

func clone(m rowvec.Matrix) rowvec.Matrix {
	data := make([]float32, len(m.Data))
	rowvec.AdviseHugePages(data)
	copy(data, m.Data)
	m.Data = data
	return m
}

// diff describes the first element in which x and y differ, or returns "".
func diff(x, y []float32, exactNaN bool) string {
	if len(x) != len(y) {
		return fmt.Sprintf("lengths %d and %d", len(x), len(y))
	}
	for i := 0; i < len(x); i++ {
		if rest := min(len(x)-i, 1024); i%1024 == 0 && bytes.Equal(raw(x[i:i+rest]), raw(y[i:i+rest])) {
			i += rest - 1 // as nearly all of a large table: by far the quickest
			continue
		}
		a, b := math.Float32bits(x[i]), math.Float32bits(y[i])
		if a != b && (exactNaN || x[i] == x[i] || y[i] == y[i]) {
			return fmt.Sprintf("element %d is %v (%#08x), want %v (%#08x)", i, x[i], a, y[i], b)
		}
	}
	return ""
}

// raw returns the memory of x.
func raw(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

func randomIDs[I rowvec.ID](rng *rand.Rand, n, rows int) []I {
	ids := make([]I, n)
	for i := range ids {
		ids[i] = I(rng.IntN(rows))
	}
	if n > 3 {
		ids[0], ids[1], ids[2], ids[3] = 0, I(rows-1), I(rows-1), 0 // both ends, and a duplicate right behind
	}
	return ids
}

// shape is what the comparison below varies.
type shape struct {
	dim, gap, n, rows int
	seq, start        int
	scale             float32
}

func (s shape) String() string {
	type plain shape
	return fmt.Sprintf("%+v", plain(s))
}

// compareForward runs the kernels that look up on one shape against their definitions. Whole backing slices are compared,
// gaps included.
func compareForward[I, P rowvec.ID](t *testing.T, alloc func() allocator, s shape) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(s.dim), uint64(s.n)))
	table := matrix(alloc(), rng, s.rows, s.dim, s.gap)
	positions := matrix(alloc(), rng, s.start+s.seq+2, s.dim, s.gap*2)
	dst := matrix(alloc(), rng, s.n, s.dim, s.gap*3)
	ids := randomIDs[I](rng, s.n, s.rows)
	at := randomIDs[P](rng, s.n, positions.Rows)

	want := clone(dst)
	kernels.Gather(want, table, ids)
	s.check(t, "Gather", rowvec.Gather(dst, table, ids), dst, want, true)

	kernels.GatherScaled(want, table, ids, s.scale)
	s.check(t, "GatherScaled", rowvec.GatherScaled(dst, table, ids, s.scale), dst, want, false)

	kernels.Embed(want, table, ids, s.scale, positions, s.start, s.seq)
	s.check(t, "Embed", rowvec.Embed(dst, table, ids, s.scale, positions, s.start, s.seq), dst, want, false)

	kernels.EmbedAt(want, table, ids, s.scale, positions, at)
	s.check(t, "EmbedAt", rowvec.EmbedAt(dst, table, ids, s.scale, positions, at), dst, want, false)
}

// check reports an error of a kernel, or a result that is not the wanted one.
func (s shape) check(t *testing.T, kernel string, err error, got, want rowvec.Matrix, exactNaN bool) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s %v: %v", kernel, s, err)
	}
	if d := diff(got.Data, want.Data, exactNaN); d != "" {
		t.Fatalf("%s %v: %s", kernel, s, d)
	}
}

// compare runs every kernel on one shape against its definition.
func compare[I, P rowvec.ID](t *testing.T, alloc func() allocator, s shape) {
	t.Helper()
	compareForward[I, P](t, alloc, s)
	rng := rand.New(rand.NewPCG(uint64(s.n), uint64(s.dim)))
	table := matrix(alloc(), rng, s.rows, s.dim, s.gap)
	positions := matrix(alloc(), rng, s.start+s.seq+2, s.dim, s.gap*2)
	src := matrix(alloc(), rng, s.n, s.dim, s.gap)
	ids := randomIDs[I](rng, s.n, s.rows)
	at := randomIDs[P](rng, s.n, positions.Rows)

	wantTable, wantPositions := clone(table), clone(positions)
	kernels.ScatterAdd(wantTable, ids, s.scale, src)
	s.check(t, "ScatterAdd", rowvec.ScatterAdd(table, ids, s.scale, src), table, wantTable, false)

	kernels.ScatterAdd(wantTable, ids, s.scale, src)
	counted := make([]int, s.n)
	for i := range counted {
		counted[i] = s.start + i%s.seq
	}
	kernels.ScatterAdd(wantPositions, counted, 1, src)
	s.check(t, "EmbedBackward", rowvec.EmbedBackward(table, positions, ids, s.scale, src, s.start, s.seq), table, wantTable, false)
	s.check(t, "EmbedBackward, positions", nil, positions, wantPositions, false)

	kernels.ScatterAdd(wantTable, ids, s.scale, src)
	kernels.ScatterAdd(wantPositions, at, 1, src)
	s.check(t, "EmbedAtBackward", rowvec.EmbedAtBackward(table, positions, ids, s.scale, src, at), table, wantTable, false)
	s.check(t, "EmbedAtBackward, positions", nil, positions, wantPositions, false)

	window := rowvec.Matrix{Rows: s.seq, Cols: s.dim, Data: positions.Data, Stride: positions.Stride}
	wantWindow := window
	wantWindow.Data = wantPositions.Data
	kernels.AddBatches(wantWindow, src, s.n/s.seq)
	s.check(t, "AddBatches", rowvec.AddBatches(window, src), window, wantWindow, false)

	if s.dim == 0 {
		return
	}
	x, y := src.Data, append(alloc()(len(src.Data))[:0], src.Data...)
	rng.Shuffle(len(y), func(i, j int) { y[i], y[j] = y[j], y[i] })
	vector := func(kernel string, run func(x []float32) error, define func(x []float32)) {
		t.Helper()
		want := append([]float32(nil), x...)
		define(want)
		err := run(x)
		if d := diff(x, want, false); d != "" || err != nil {
			t.Fatalf("%s %v: %v %s", kernel, s, err, d)
		}
	}
	vector("AddScaled", func(x []float32) error { return rowvec.AddScaled(x, s.scale, y) },
		func(x []float32) { kernels.AddScaled(x, s.scale, y) })
	vector("AddScaled in place", func(x []float32) error { return rowvec.AddScaled(x, s.scale, x) },
		func(x []float32) { kernels.AddScaled(x, s.scale, x) })
	vector("Add", func(x []float32) error { return rowvec.Add(x, y) }, func(x []float32) { kernels.Add(x, y) })
	vector("Add in place", func(x []float32) error { return rowvec.Add(x, x) }, func(x []float32) { kernels.Add(x, x) })
	vector("Scale", func(x []float32) error { rowvec.Scale(x, s.scale); return nil },
		func(x []float32) { kernels.Scale(x, s.scale) })
}

// heap allocates ordinary memory, from a start that is not aligned.
func heap() allocator {
	return func(n int) []float32 { return make([]float32, n+3)[3:] }
}

// alignedAt allocates memory that begins so many elements behind a cache line.
func alignedAt(shift int) func() allocator {
	return func() allocator {
		return func(n int) []float32 { return aligned(n + shift)[shift:] }
	}
}

// lowerWide has AVX-512 do rows of small tables, too, which AVX2 does as fast, those of 33 to 128 columns by END_ROWS, and copies of few.
func lowerWide(t testing.TB) {
	isatest.Tune(t, &tuning.WideBytes, 0)
	isatest.Tune(t, &tuning.CopyElements, 0)
	isatest.Tune(t, &tuning.CopyUneven, true)
	isatest.Tune(t, &tuning.Halves, false)
}

// Tests of this package are the same on every machine: near kernels are for withNear, and asmcheck holds them to have the code of others.
func init() { tuning.NearBytes, tuning.NearColumns, tuning.LeftToRight = 0, 0, false }

// What this machine has.
var nearBytes, nearColumns, leftToRight = tuning.NearBytes, tuning.NearColumns, tuning.LeftToRight

// withNear runs test with near kernels, and blocks from left to right, unless sweeps are samples.
func withNear(t *testing.T, test func()) {
	t.Helper()
	if isa.Active() == isa.AVX512 && !isatest.Sampled() {
		defer func(halves bool) { tuning.Halves, tuning.NearBytes, tuning.LeftToRight = halves, 0, false }(tuning.Halves)
		tuning.Halves, tuning.NearBytes, tuning.LeftToRight = false, math.MaxInt, true
		test()
	}
}

// eachNear runs test, with AVX-512 as processors go that do not do its vectors in halves, without near kernels and with them.
func eachNear(t *testing.T, test func()) {
	t.Helper()
	defer func(halves bool) { tuning.Halves = halves }(tuning.Halves)
	tuning.Halves = false
	test()
	withNear(t, test)
}

// eachHalves runs test, with AVX-512 as a processor goes that does its vectors in halves and as those do that do not.
func eachHalves(t *testing.T, test func()) {
	t.Helper()
	defer func(halves bool) { tuning.Halves = halves }(tuning.Halves)
	tuning.Halves = false
	test()
	if isa.Active() == isa.AVX512 {
		tuning.Halves = true
		test()
	}
}

func TestEveryDim(t *testing.T) {
	lowerWide(t)
	isatest.Each(t, func(t *testing.T) {
		eachHalves(t, func() {
			for _, dim := range dims(0) {
				for _, gap := range []int{0, 1, 7} {
					compare[int32, int](t, heap, shape{dim: dim, gap: gap, n: 12, rows: 9, seq: 4, start: 2, scale: 1.7})
				}
				compare[uint64, int32](t, heap, shape{dim: dim, n: 1, rows: 1, seq: 1, scale: -3})
				compare[uint32, int](t, heap, shape{dim: dim, gap: 1 + dim%3, n: 1, rows: 9, seq: 1, start: 2, scale: 1.7})
			}
		})
	})
}

// TestSingleRowsInTurn has single rows with a scale that no call before had, since a register may hold the last one still.
func TestSingleRowsInTurn(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng, scale := rand.New(rand.NewPCG(3, 8)), float32(1)
		for _, dim := range dims(1) {
			table, positions, src := matrix(heap(), rng, 3, dim, 0), matrix(heap(), rng, 2, dim, 1), matrix(heap(), rng, 1, dim, 0)
			ids := []uint32{uint32(dim % 3)}
			for _, call := range []struct {
				name        string
				do, defined func(dst, table rowvec.Matrix) error
			}{
				{"GatherScaled", func(dst, table rowvec.Matrix) error { return rowvec.GatherScaled(dst, table, ids, scale) },
					func(dst, table rowvec.Matrix) error { kernels.GatherScaled(dst, table, ids, scale); return nil }},
				{"Embed", func(dst, table rowvec.Matrix) error { return rowvec.Embed(dst, table, ids, scale, positions, 1, 1) },
					func(dst, table rowvec.Matrix) error {
						kernels.Embed(dst, table, ids, scale, positions, 1, 1)
						return nil
					}},
				{"ScatterAdd", func(_, table rowvec.Matrix) error { return rowvec.ScatterAdd(table, ids, scale, src) },
					func(_, table rowvec.Matrix) error { kernels.ScatterAdd(table, ids, scale, src); return nil }},
			} {
				scale += 0.25
				got, want, changed, wanted := clone(src), clone(src), clone(table), clone(table)
				if err := call.do(got, changed); err != nil {
					t.Fatal(err)
				}
				if err := call.defined(want, wanted); err != nil {
					t.Fatal(err)
				}
				if d := diff(got.Data, want.Data, false) + diff(changed.Data, wanted.Data, false); d != "" {
					t.Fatalf("%s of %d columns by %v: %s", call.name, dim, scale, d)
				}
			}
		}
	})
}

// TestFewRows has lookups of so few rows that Gather may copy them by itself, and of one more than that, of tables that are prefetched and not.
func TestFewRows(t *testing.T) {
	lowerWide(t)
	isatest.Tune(t, &tuning.SeveralIDs, 32)
	rng := rand.New(rand.NewPCG(7, 35))
	isatest.Each(t, func(t *testing.T) {
		few := func() {
			for n := 1; n <= 34; n++ {
				for _, dim := range []int{1, 2, 4, 7, 8, 16, 30, 48, 63, 64, 65} {
					table, dst := matrix(heap(), rng, 40, dim, n%3), matrix(heap(), rng, n, dim, n%2)
					want, ids := clone(dst), make([]int64, n)
					for i := range ids {
						ids[i] = rng.Int64N(40)
						copy(want.Row(i), table.Row(int(ids[i])))
					}
					if err := rowvec.Gather(dst, table, ids); err != nil {
						t.Fatal(err)
					}
					if d := diff(dst.Data, want.Data, true); d != "" {
						t.Fatalf("%d x %d: %s", n, dim, d)
					}
					if err := rowvec.GatherScaled(dst, table, ids, 2); err != nil {
						t.Fatal(err)
					}
					for i := range n {
						kernels.Scale(want.Row(i), 2)
					}
					if d := diff(dst.Data, want.Data, true); d != "" {
						t.Fatalf("%d x %d, scaled: %s", n, dim, d)
					}
				}
			}
		}
		few()
		t.Run("prefetched", func(t *testing.T) {
			prefetchAll(t)
			few()
		})
	})
}

// TestEveryDimPrefetched is TestEveryDim with tables of which rows are prefetched, and of updates too: n is more than that looks
// ahead. Behind dims there are as many blocks as kernels do without a loop, and more, and rows that come abreast, with their states where
// there is no gap.
func TestEveryDimPrefetched(t *testing.T) {
	lowerWide(t)
	prefetchAll(t)
	isatest.Tune(t, &tuning.AbreastColumns, 319)
	isatest.Tune(t, &tuning.AbreastIDs, 1)
	isatest.Tune(t, &tuning.NarrowAbreastColumns, 255)
	isatest.Tune(t, &tuning.NarrowAbreastIDs, 1)
	isatest.Each(t, func(t *testing.T) {
		sweep := func() {
			for _, dim := range append(dims(1), 264, 300, 320, 381, 383, 448, 512, 528, 530, 573, 575, 576, 777, 1040) {
				s := shape{dim: dim, gap: dim % 3, n: 40, rows: 9, seq: 8, start: 2, scale: 1.7}
				compare[int32, int](t, heap, s)
				compareUpdates[uint64](t, heap, s)
			}
		}
		eachHalves(t, sweep)
		withNear(t, sweep)
	})
}

type named uint32

// TestOneBatch: a single batch without gaps is added as one vector.
func TestOneBatch(t *testing.T) {
	heap := func(n int) []float32 { return make([]float32, n) }
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(12, 1))
		for dim := range 40 {
			for _, gaps := range [][2]int{{0, 0}, {0, 1}, {1, 0}} {
				testBatches(t, matrix(heap, rng, 7, dim, gaps[0]), matrix(heap, rng, 7, dim, gaps[1]))
			}
		}
	})
}

// TestManyBatches has batches added to some rows before the others, as many that the second-level cache does not hold are: more
// than at a time, and than there are rows.
func TestManyBatches(t *testing.T) {
	heap := func(n int) []float32 { return make([]float32, n) }
	prefetchAll(t)
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(12, 2))
		for _, dim := range []int{1, 5, 31, 64, 100, 300, 1030} {
			for _, rows := range []int{1, 2, 3, 9, 150} {
				for _, batches := range []int{1, 2, 15, 16, 19, 130} {
					if isatest.Sampled() && rows*batches*dim > 100_000 {
						continue
					}
					testBatches(t, matrix(heap, rng, rows, dim, dim%2), matrix(heap, rng, rows*batches, dim, rows%2))
				}
			}
		}
		testBatches(t, matrix(heap, rng, 2, 20_000, 1), matrix(heap, rng, 2*17, 20_000, 0)) // three rows of which are a chunk
		testBatches(t, matrix(heap, rng, 1, 1<<16+9, 1), matrix(heap, rng, 17, 1<<16+9, 1)) // and more than one
	})
}

// testBatches compares AddBatches with its definition.
func testBatches(t *testing.T, dst, src rowvec.Matrix) {
	t.Helper()
	want := clone(dst)
	kernels.AddBatches(want, src, src.Rows/dst.Rows)
	if err := rowvec.AddBatches(dst, src); err != nil {
		t.Fatal(err)
	}
	if d := diff(dst.Data, want.Data, false); d != "" {
		t.Fatalf("%d rows of %d, strides %d and %d, to %d: %s", src.Rows, src.Cols, dst.Stride, src.Stride, dst.Rows, d)
	}
}

func TestEveryIDType(t *testing.T) {
	lowerWide(t)
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{5, 64} {
			s := shape{dim: dim, n: 12, rows: 9, seq: 4, start: 2, scale: 1.7}
			compare[int, uint64](t, heap, s)
			compare[int32, uint](t, heap, s)
			compare[int64, named](t, heap, s)
			compare[uint, int64](t, heap, s)
			compare[uint32, int32](t, heap, s)
			compare[uint64, int](t, heap, s)
			compare[named, uint32](t, heap, s)
		}
	})
}

func TestScales(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, scale := range special {
			compare[int32, int](t, heap, shape{dim: 37, n: 12, rows: 9, seq: 4, start: 2, scale: scale})
		}
	})
}

// TestOneColumn gathers single elements by ids that would be others, all of them in range, if they were of another size, in one
// call of assembly or more.
func TestOneColumn(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		oneColumn[uint32](t)
		oneColumn[uint64](t)
	})
}

func oneColumn[I rowvec.ID](t *testing.T) {
	t.Helper()
	const rows = 300_000 // in cache, and about as many as any number that a register may hold
	table := matrix(heap(), rand.New(rand.NewPCG(3, 4)), rows, 1, 0)
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 19, 1030, 3100} {
		ids, dst := make([]I, n), make([]float32, n)
		for i := 0; i < n; i += 2 {
			ids[i] = I(rows - 1 - i)
		}
		out := rowvec.Matrix{Rows: n, Cols: 1, Stride: 1, Data: dst}
		if err := rowvec.Gather(out, table, ids); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			if want := table.Row(int(id))[0]; math.Float32bits(dst[i]) != math.Float32bits(want) {
				t.Fatalf("element %d of %d, of id %d of type %T, is %v, want %v", i, n, id, id, dst[i], want)
			}
		}
	}
}

// TestChunks has more rows and longer rows than one call of assembly does.
func TestChunks(t *testing.T) {
	lowerWide(t)
	isatest.Each(t, func(t *testing.T) {
		large(t)
		for _, s := range []shape{
			{dim: 1, n: 9001, rows: 5000, seq: 9001},
			{dim: 3, n: 8200, rows: 77, seq: 1},
			{dim: 3, n: 9000, rows: 77, seq: 3000},
			{dim: 300, n: 660, rows: 500, seq: 33},
			{dim: 768, n: 256, rows: 500, seq: 1, start: 5},
			{dim: 768, n: 256, rows: 500, seq: 128, start: 5},
			{dim: 1<<16 - 1, n: 3, rows: 2, seq: 3},
			{dim: 1 << 16, n: 3, rows: 2, seq: 1},
			{dim: 1<<16 + 1, n: 2, rows: 2, seq: 2},
			{dim: 1<<17 + 19, n: 4, rows: 3, seq: 2, start: 1},
		} {
			s.gap, s.scale = 1, 0.3
			compare[int32, uint64](t, heap, s)
			compare[uint64, int32](t, heap, s)
		}
	})
}

// prefetchAll has rows of small tables prefetched, too.
func prefetchAll(t testing.TB) {
	for _, bytes := range []*int{&tuning.CachedBytes, &tuning.HeldLinesBytes, &tuning.CachedShortBytes} {
		isatest.Tune(t, bytes, 0)
	}
}

// TestPrefetch has rows prefetched, with fewer and with more ids than that looks ahead.
func TestPrefetch(t *testing.T) {
	lowerWide(t)
	prefetchAll(t)
	isatest.Each(t, func(t *testing.T) {
		large(t)
		eachHalves(t, func() { testPrefetch(t) })
	})
}

// TestHeldLines has gathers leave alone a table that a cache holds, as they do on some processors.
func TestHeldLines(t *testing.T) {
	isatest.Tune(t, &tuning.CachedShortBytes, 0)
	isatest.Tune(t, &tuning.HeldLinesBytes, 1<<20)
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{32, 33, 64, 65} {
			compare[int64, int](t, heap, shape{dim: dim, n: 150, rows: 300, seq: 150, scale: 2})
		}
	})
}

// prefetchedRows is how many rows of so many columns a table has that is not too small to have the line behind a row prefetched too,
// where rows are such, and fewer of others.
func prefetchedRows(dim int) int {
	if dim > 24 && dim < 64 && dim*4%128 > 64 {
		return beyondRows/dim + 1
	}
	return 1<<18/dim + 1
}

// beyondRows is about as many elements as such a table has.
const beyondRows = 3<<20 + 1<<16

func testPrefetch(t *testing.T) {
	t.Helper()
	for _, dim := range []int{1, 3, 7, 16, 20, 29, 32, 33, 39, 64, 100, 128, 300, 768, 5000} {
		for _, n := range []int{1, 3, 40} {
			for gap := range 2 { // linear rows are prefetched in another way where something is between them
				compare[int64, int](t, heap, shape{dim: dim, gap: gap, n: n, rows: prefetchedRows(dim), seq: n, start: 1, scale: 2})
			}
		}
	}
	compare[int64, int](t, heap, shape{dim: 5000, n: 40, rows: 9<<20/5000 + 1, seq: 40, start: 1, scale: 2})     // line by line
	compare[int64, int](t, heap, shape{dim: 768, n: 60, rows: prefetchedRows(768), seq: 12, start: 1, scale: 2}) // with early ones
	for _, n := range []int{15, 16} {                                                                            // abreast from 16 on, with AVX2
		compare[int64, int](t, heap, shape{dim: 300, n: n, rows: prefetchedRows(300), seq: n, start: 1, scale: 2})
	}
	// prefetched in all calls of assembly but the last
	for _, dim := range []int{1, 2, 3, 4, 7, 8, 13, 16, 20, 29, 32, 33, 48, 50, 64, 65, 96, 100, 128} {
		s := shape{dim: dim, n: 2100, rows: prefetchedRows(dim), seq: 2100, scale: 2}
		compare[uint32, uint64](t, heap, s)
		compare[uint64, uint32](t, heap, s)
	}
}

// abreastRows is how many rows of so many columns a table has whose rows come line by line, however long: no cache holds one of long rows.
func abreastRows(dim int) int {
	if dim > 1024 {
		return 9<<20/dim + 1
	}
	return prefetchedRows(dim)
}

// TestAbreast has rows that come abreast, none of them written past the caches but prefetched where they are written, and rows that
// are too long for it.
func TestAbreast(t *testing.T) {
	isatest.Tune(t, &tuning.AbreastColumns, 319)
	isatest.Tune(t, &tuning.AbreastMost, 16<<10)
	isatest.Tune(t, &tuning.AbreastIDs, 1)
	isatest.Tune(t, &tuning.NarrowAbreastColumns, 255)
	isatest.Tune(t, &tuning.NarrowAbreastIDs, 1)
	isatest.Tune(t, &tuning.WrittenBytes, 0)
	isatest.Tune(t, &tuning.StreamBytes, 1<<30)
	prefetchAll(t)
	isatest.Each(t, func(t *testing.T) {
		if isa.Active() != isa.AVX2 && isa.Active() != isa.AVX512 {
			t.Skip("no rows come abreast")
		}
		large(t)
		eachHalves(t, func() {
			for _, dim := range []int{256, 288, 300, 320, 333, 768, 9008, 16384, 16385} {
				compare[int64, int](t, heap, shape{dim: dim, n: 42, rows: abreastRows(dim), seq: 14, start: 1, scale: 2})
			}
		})
	})
}

// TestStream has every result written past the caches where that can be: aligned ones with whole vectors, or any.
func TestStream(t *testing.T) {
	defer tuning.Lower()()
	prefetchAll(t)
	isatest.Each(t, func(t *testing.T) {
		large(t)
		eachHalves(t, func() {
			for shift := range 9 {
				testStream(t, shift)
			}
		})
	})
}

func testStream(t *testing.T, shift int) {
	t.Helper()
	matrices := 0
	alloc := func() allocator {
		matrices++
		return alignedAt(shift + matrices%3)() // the third is the result
	}
	for _, dim := range dims(1) {
		for _, gap := range []int{0, 8} {
			compareForward[int32, int](t, alloc, shape{dim: dim, gap: gap, n: 20, rows: 9, seq: 4, start: 2, scale: 3})
		}
	}
	compareForward[int64, int](t, alloc, shape{dim: 72, gap: 8, n: 9000, rows: 300, seq: 250, scale: 3})
	compareForward[int64, int](t, alloc, shape{dim: 80, gap: 16, n: 9000, rows: 300, seq: 250, scale: 3})
	for _, tail := range []int{1, 8, 35, 70} { // a row that is more than a chunk, whose end is short
		compareForward[int64, int](t, alloc, shape{dim: 1<<16 + tail, gap: 1, n: 3, rows: 3, seq: 1, scale: 3})
	}
	if shift < 2 { // rows to prefetch, which begin anywhere
		for _, dim := range []int{168, 173, 176, 333, 450} {
			compareForward[int64, int](t, alloc, shape{dim: dim, gap: 8 + dim%2, n: 40, rows: prefetchedRows(dim), seq: 10, scale: 3})
		}
	}
	if shift == 0 { // rows abreast, of which a call of assembly does a few fours, one, or that come one by one
		for _, dim := range []int{336, 720, 9008, 16384, 16400, 1 << 15} {
			compareForward[int64, int](t, alloc, shape{dim: dim, gap: 16, n: 18, rows: abreastRows(dim), seq: 6, scale: 3})
		}
	}
	compareForward[int64, int](t, alloc, shape{dim: 1<<16 + 8, n: 2, rows: 3, seq: 1, scale: 3})
	compareForward[int64, int](t, alloc, shape{dim: 1<<16 + 64, n: 2, rows: 3, seq: 1, scale: 3})
}

// TestUnfused uses numbers for which a fused multiply-add gives another result.
func TestUnfused(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const a = 1 + 0x1p-12
		for dim := 1; dim <= 65; dim++ {
			dst, src := make([]float32, dim), make([]float32, dim)
			for i := range dst {
				dst[i], src[i] = -1-0x1p-11, a
			}
			if err := rowvec.AddScaled(dst, a, src); err != nil {
				t.Fatal(err)
			}
			for i, x := range dst {
				if x != 0 { // a*a is 1 + 2^-11 + 2^-24, of which rounding leaves 1 + 2^-11
					t.Fatalf("dim %d: element %d is %v, want 0", dim, i, x)
				}
			}
		}
	})
}
