package rowvec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// bagShape is what the comparison of the kernels of bags varies: sizes are those of the bags, over and over.
type bagShape struct {
	dim, gap, rows int
	bags           int
	sizes          []int
}

func (s bagShape) String() string {
	type plain bagShape
	return fmt.Sprintf("%+v", plain(s))
}

// mixed has empty bags at both ends and next to each other.
var mixed = []int{0, 1, 3, 0, 0, 2, 5, 1, 0}

// bagLists allocates ids, offsets and weights.
type bagLists[I rowvec.ID] struct {
	ids     func(n int) []I
	offsets func(n int) []int
	weights func(n int) []float32
}

func heapSlices[I rowvec.ID]() bagLists[I] {
	return bagLists[I]{
		func(n int) []I { return make([]I, n) },
		func(n int) []int { return make([]int, n) },
		func(n int) []float32 { return make([]float32, n+1)[1:] },
	}
}

// compareBags runs the kernels of bags on one shape against their definitions, also with rows prefetched however small the
// table is. Whole backing slices are compared, gaps included.
func compareBags[I rowvec.ID](t *testing.T, alloc func() allocator, lists bagLists[I], s bagShape) {
	t.Helper()
	compare := func() { compareBagsOf(t, alloc, lists, s) }
	eachHalves(t, compare)
	defer tuning.Lower()()
	eachHalves(t, compare)
	withNear(t, compare)
}

func compareBagsOf[I rowvec.ID](t *testing.T, alloc func() allocator, lists bagLists[I], s bagShape) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(s.dim), uint64(s.bags)))
	offsets := lists.offsets(s.bags + 1)
	offsets[0] = 0
	for b := range s.bags {
		offsets[b+1] = offsets[b] + s.sizes[b%len(s.sizes)]
	}
	n := offsets[s.bags]
	table := matrix(alloc(), rng, s.rows, s.dim, s.gap)
	dst := matrix(alloc(), rng, s.bags, s.dim, s.gap*3)
	ids, weights := lists.ids(n), lists.weights(n)
	copy(ids, randomIDs[I](rng, n, s.rows))
	fill(rng, weights)
	if slices.Max(s.sizes) >= 16 { // of so many samples all sums would be NaN
		finite(rng, table.Data)
		finite(rng, weights)
	}

	check := func(kernel string, err error, want rowvec.Matrix) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s %v: %v", kernel, s, err)
		}
		if d := diff(dst.Data, want.Data, false); d != "" {
			t.Fatalf("%s %v: %s", kernel, s, d)
		}
	}
	want := clone(dst)
	kernels.BagSum(want, table, ids, offsets, nil)
	check("BagSum", rowvec.BagSum(dst, table, ids, offsets, nil), want)

	kernels.BagSum(want, table, ids, offsets, weights)
	check("weighted BagSum", rowvec.BagSum(dst, table, ids, offsets, weights), want)

	kernels.BagMean(want, table, ids, offsets)
	check("BagMean", rowvec.BagMean(dst, table, ids, offsets), want)

	kernels.BagMax(want, table, ids, offsets)
	check("BagMax", rowvec.BagMax(dst, table, ids, offsets), want)

	got, dots := make([]float32, n), make([]float32, n)
	kernels.BagDots(dots, dst, table, ids, offsets)
	part := 0 // bags to do alone, with the ids of the others behind theirs, and then these
	for _, bags := range []int{s.bags / 2, s.bags - s.bags/2} {
		own, a := slices.Clone(offsets[part:part+bags+1]), dst
		first, end := own[0], own[bags]
		for b := range own {
			own[b] -= first
		}
		a.Rows, a.Data = bags, dst.Data[min(part*dst.Stride, len(dst.Data)):]
		part += bags
		if first == end {
			continue
		}
		if done := forward.BagDots(got[first:end], forward.Bags{
			A: a, Table: table, IDs: unsafe.Pointer(&ids[first]), Wide: unsafe.Sizeof(ids[0]) == 8, Offsets: own, More: n - end, Follows: first > 0,
		}); done != end-first {
			t.Fatalf("BagDots %v: %d of %d dot products are done", s, done, end-first)
		}
		if slices.ContainsFunc(got[end:], func(x float32) bool { return x != 0 }) {
			t.Fatalf("BagDots %v: more than %d dot products are there", s, end)
		}
	}
	if d := diff(got, dots, false); d != "" {
		t.Fatalf("BagDots %v: %s", s, d)
	}
	if skip := offsets[s.bags/2]; skip < n { // what is in front of the first offset is nobody's
		a := dst
		a.Rows, a.Data = s.bags-s.bags/2, dst.Data[min(s.bags/2*dst.Stride, len(dst.Data)):]
		clear(got)
		for i := range skip {
			got[i], dots[i] = 7, 7
		}
		if done := forward.BagDots(got, forward.Bags{
			A: a, Table: table, IDs: unsafe.Pointer(&ids[0]), Wide: unsafe.Sizeof(ids[0]) == 8, Offsets: offsets[s.bags/2:],
		}); done != n {
			t.Fatalf("BagDots %v from %d on: %d of %d are done", s, skip, done, n)
		}
		if d := diff(got, dots, false); d != "" {
			t.Fatalf("BagDots %v from %d on: %s", s, skip, d)
		}
	}
}

func TestBagsEveryDim(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range dims(0) {
			for _, gap := range []int{0, 1, 7} {
				compareBags(t, heap, heapSlices[int32](), bagShape{dim: dim, gap: gap, rows: 9, bags: 9, sizes: mixed})
			}
			compareBags(t, heap, heapSlices[uint64](), bagShape{dim: dim, rows: 1, bags: 1, sizes: []int{1}})
			compareBags(t, heap, heapSlices[uint32](), bagShape{dim: dim, rows: 9, bags: 9, sizes: []int{1}})
			compareBags(t, heap, heapSlices[int](), bagShape{dim: dim, gap: 1, rows: 9, bags: 5, sizes: []int{3, 0, 7, 4}})
		}
		for _, dim := range []int{300, 320, 365, 384, 385, 448, 512, 525, 640, 768, 769, 897, 1000, 1024, 1025, 1500, 2048, 3072, 3136} {
			compareBags(t, heap, heapSlices[int64](), bagShape{dim: dim, gap: 1, rows: 9, bags: 9, sizes: mixed})
			compareBags(t, heap, heapSlices[uint32](), bagShape{dim: dim, gap: 3, rows: 9, bags: 9, sizes: []int{3, 0, 7, 4}})
			compareBags(t, heap, heapSlices[int](), bagShape{dim: dim, gap: 1, rows: 9, bags: 5, sizes: []int{16, 17, 0, 33, 1}}) // in pieces
		}
		compareBags(t, heap, heapSlices[uint64](), bagShape{dim: 128, gap: 1, rows: 9, bags: 5, sizes: []int{25, 30, 40, 1}})
		for _, dim := range []int{160, 300, 768, 800} { // bags of which each goes through several calls of assembly
			compareBags(t, heap, heapSlices[int32](), bagShape{dim: dim, rows: 9, bags: 2, sizes: []int{700, 30}})
		}
	})
}

func TestBagsEveryIDType(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{5, 64} {
			s := bagShape{dim: dim, rows: 9, bags: 9, sizes: mixed}
			compareBags(t, heap, heapSlices[int](), s)
			compareBags(t, heap, heapSlices[int32](), s)
			compareBags(t, heap, heapSlices[int64](), s)
			compareBags(t, heap, heapSlices[uint](), s)
			compareBags(t, heap, heapSlices[uint32](), s)
			compareBags(t, heap, heapSlices[uint64](), s)
			compareBags(t, heap, heapSlices[named](), s)
		}
	})
}

// TestBagChunks has more ids and bags and longer rows than one call of assembly does, bags that end where a call does or
// one id beside that, and bags that take several calls.
func TestBagChunks(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		large(t)
		for _, s := range []bagShape{
			{dim: 3, rows: 77, bags: 1, sizes: []int{4096}},
			{dim: 3, rows: 77, bags: 1, sizes: []int{4097}},
			{dim: 3, rows: 77, bags: 3, sizes: []int{4095, 1, 1}},
			{dim: 3, rows: 77, bags: 4, sizes: []int{0, 4095, 2, 0}},
			{dim: 3, rows: 77, bags: 7, sizes: []int{5, 8192, 0, 1, 8193, 0, 20000}},
			{dim: 1, rows: 77, bags: 9001, sizes: []int{0}},
			{dim: 1, rows: 77, bags: 9001, sizes: append(make([]int, 5000), 1)},
			{dim: 5, rows: 77, bags: 9001, sizes: []int{1}},
			{dim: 5, rows: 77, bags: 3000, sizes: []int{1, 2, 3, 4, 5}},
			{dim: 300, rows: 50, bags: 60, sizes: []int{10, 0, 40, 217, 218, 219, 500}},
			{dim: 768, rows: 50, bags: 250, sizes: []int{1, 2, 3}},
			{dim: 1<<16 - 1, rows: 2, bags: 3, sizes: []int{1, 2}},
			{dim: 1 << 16, rows: 3, bags: 3, sizes: []int{0, 1, 4}},
			{dim: 1<<16 + 1, rows: 2, bags: 3, sizes: []int{1, 0, 3}},
			{dim: 1<<17 + 19, rows: 3, bags: 4, sizes: []int{2, 1, 0, 3}},
		} {
			s.gap = 1
			compareBags(t, heap, heapSlices[int32](), s)
			compareBags(t, heap, heapSlices[uint64](), s)
		}
	})
}

// TestBagPrefetch reads tables that are large enough to be prefetched, with fewer and with more ids than that looks ahead.
func TestBagPrefetch(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		large(t)
		for _, dim := range []int{1, 3, 7, 16, 32, 33, 64, 100, 128, 300, 768, 5000} {
			for _, bags := range []int{1, 2, 15} {
				compareBags(t, heap, heapSlices[int64](), bagShape{dim: dim, rows: 3<<20/dim + 1, bags: bags, sizes: []int{1, 0, 5, 2}})
			}
		}
		for _, dim := range []int{20, 64, 100, 128, 160} { // bags of which each goes through several calls of assembly
			compareBags(t, heap, heapSlices[uint32](), bagShape{dim: dim, rows: 3<<20/dim + 1, bags: 3, sizes: []int{1030, 5, 2100}})
		}
	})
}

// TestBagMaxBackward: of equal bits the first row has the gradient, of NaN and of both zeros too; and where an id or a bag is out of range,
// the rows in front of it are done.
func TestBagMaxBackward(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{1, 24, 47, 70, 96} {
			nan, zero := float32(math.NaN()), float32(math.Copysign(0, -1))
			values := [][]float32{{1, nan, 0, zero, 2}, {2, nan, zero, 0, 2}, {2, 3, 0, 0, -5}}
			table, _ := rowvec.NewMatrix(len(values), dim)
			for i := range table.Rows {
				for j := range table.Row(i) {
					table.Row(i)[j] = values[i][j%5]
				}
			}
			for _, c := range []struct {
				ids, bags []int
				done      int
			}{{[]int{0, 1, 2, 0, 2, 1}, []int{0, 0, 0, 1, 1, 1}, 6}, {[]int{1, 3, 0}, []int{0, 1, 1}, 1}, {[]int{1, 0, -1}, []int{0, 1, 1}, 2},
				{[]int{2, 1, 0}, []int{1, 1, 2}, 2}, {[]int{2, 1}, []int{-1, 1}, 0}, {nil, nil, 0}} {
				both, _ := rowvec.NewMatrix(2, 2*dim)
				maxima, left := both, both
				maxima.Cols, left.Cols, left.Data = dim, dim, both.Data[dim:]
				for b, ids := range [][]int{{0, 1, 2}, {0, 2, 1}} {
					row := rowvec.Matrix{Rows: 1, Cols: dim, Data: maxima.Row(b), Stride: dim}
					if err := rowvec.BagMax(row, table, ids, []int{0, 3}); err != nil {
						t.Fatal(err)
					}
					for j := range dim {
						left.Row(b)[j] = float32(1 + b + j)
					}
				}
				copied := slices.Clone(both.Data)
				dst, _ := rowvec.NewMatrix(len(c.ids), dim)
				done := forward.BagMaxBackward(dst, table, c.ids, both, c.bags, true)
				want, _ := rowvec.NewMatrix(len(c.ids), dim)
				maxima.Data, left.Data = copied, copied[dim:]
				if kernels.BagMaxBackward(want, table, c.ids, maxima, left, c.bags) != c.done || done != c.done {
					t.Errorf("dim %d, ids %v of bags %v: %d rows are done, want %d", dim, c.ids, c.bags, done, c.done)
				}
				if !slices.Equal(dst.Data, want.Data) || firstDifference(both.Data, copied) >= 0 {
					t.Errorf("dim %d, ids %v of bags %v: %v and %v, want %v and %v", dim, c.ids, c.bags, dst.Data, both.Data, want.Data, copied)
				}
			}
		}
	})
}
