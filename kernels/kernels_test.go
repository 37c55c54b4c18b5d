package kernels_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/kernels"
)

// untouched stands where nothing may be written. It is a number that no case computes.
const untouched = -777

var (
	negativeZero = float32(math.Copysign(0, -1))
	inf          = float32(math.Inf(1))
	nan          = float32(math.NaN())
)

// rows returns a matrix without gaps.
func rows(of ...[]float32) kernels.Matrix {
	m := kernels.Matrix{Rows: len(of)}
	for _, row := range of {
		m.Cols, m.Stride = len(row), len(row)
		m.Data = append(m.Data, row...)
	}
	return m
}

// filled returns a rows x cols matrix of x without gaps.
func filled(rows, cols int, x float32) kernels.Matrix {
	return kernels.Matrix{Rows: rows, Cols: cols, Data: slices.Repeat([]float32{x}, rows*cols), Stride: cols}
}

// expect compares bits, but for NaNs.
func expect(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: length %d, want %d", what, len(got), len(want))
		return
	}
	for i, x := range got {
		if math.Float32bits(x) != math.Float32bits(want[i]) && (x == x || want[i] == want[i]) {
			t.Errorf("%s: element %d is %v, want %v, of %v, want %v", what, i, x, want[i], got, want)
			return
		}
	}
}

func expectDone(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d rows done, want %d", what, got, want)
	}
}

func TestGatherByHand(t *testing.T) {
	table := rows([]float32{1, 2}, []float32{3, -4}, []float32{negativeZero, inf})
	dst := filled(4, 2, untouched)
	expectDone(t, "Gather", kernels.Gather(dst, table, []int{2, 0, 0, 1}), 4)
	expect(t, "Gather", dst.Data, []float32{negativeZero, inf, 1, 2, 1, 2, 3, -4})

	expectDone(t, "GatherScaled", kernels.GatherScaled(dst, table, []int{2, 0, 0, 1}, -2), 4)
	expect(t, "GatherScaled", dst.Data, []float32{0, -inf, -2, -4, -2, -4, -6, 8})

	kernels.GatherScaled(dst, table, []int{2, 0, 0, 1}, 0)
	expect(t, "GatherScaled by 0", dst.Data, []float32{negativeZero, nan, 0, 0, 0, 0, 0, negativeZero})
}

// TestGatherBits: an unscaled gather is a copy, also of a signalling NaN and of subnormals.
func TestGatherBits(t *testing.T) {
	bits := []uint32{0x7f800001, 0xffc12345, 0x00000001, 0x807fffff, 0x80000000}
	table := filled(2, len(bits), 0)
	for j, b := range bits {
		table.Data[table.Stride+j] = math.Float32frombits(b)
	}
	dst := filled(1, len(bits), untouched)
	kernels.Gather(dst, table, []int32{1})
	for j, b := range bits {
		if got := math.Float32bits(dst.Data[j]); got != b {
			t.Errorf("column %d: %08x, want %08x", j, got, b)
		}
	}
}

func TestEmbedByHand(t *testing.T) {
	table := rows([]float32{1, 2}, []float32{3, 4}, []float32{5, 6})
	positions := rows([]float32{0.5, 0.25}, []float32{10, 20}, []float32{100, 200}, []float32{1000, 2000})
	ids := []int64{0, 1, 2, 2, 2, 0}
	for _, c := range []struct {
		start, seq int
		want       []float32
	}{
		{0, 3, []float32{2.5, 4.25, 16, 28, 110, 212, 10.5, 12.25, 20, 32, 102, 204}}, // wraps behind each third row
		{1, 3, []float32{12, 24, 106, 208, 1010, 2012, 20, 32, 110, 212, 1002, 2004}},
		{2, 2, []float32{102, 204, 1006, 2008, 110, 212, 1010, 2012, 110, 212, 1002, 2004}},
		{3, 1, []float32{1002, 2004, 1006, 2008, 1010, 2012, 1010, 2012, 1010, 2012, 1002, 2004}}, // one step of a decoder
	} {
		dst := filled(6, 2, untouched)
		what := fmt.Sprintf("start %d, seq %d", c.start, c.seq)
		expectDone(t, what, kernels.Embed(dst, table, ids, 2, positions, c.start, c.seq), 6)
		expect(t, what, dst.Data, c.want)
	}

	dst := filled(6, 2, untouched)
	expectDone(t, "EmbedAt", kernels.EmbedAt(dst, table, ids, 2, positions, []uint32{3, 0, 0, 1, 2, 3}), 6)
	expect(t, "EmbedAt", dst.Data, []float32{1002, 2004, 6.5, 8.25, 10.5, 12.25, 20, 32, 110, 212, 1002, 2004})

	dst = filled(3, 2, untouched)
	expectDone(t, "EmbedAt beyond the positions", kernels.EmbedAt(dst, table, ids[:3], 2, positions, []int{3, 4, 0}), 1)
	expect(t, "EmbedAt beyond the positions", dst.Data, []float32{1002, 2004, untouched, untouched, untouched, untouched})

	dst = filled(3, 2, 0) // whose first row is two positions too, which are 0 until rows have been looked up
	at := unsafe.Slice((*uint32)(unsafe.Pointer(&dst.Data[0])), 2)
	expectDone(t, "EmbedAt with positions that change", kernels.EmbedAt(dst, table, ids[:2], 2, positions, at), 0)
}

// TestUnfused multiplies 1 + 2^-12 by itself: the product 1 + 2^-11 + 2^-24 is a tie and rounds to 1 + 2^-11, so that
// adding -(1 + 2^-11) leaves +0. A fused multiply-add leaves 2^-24.
func TestUnfused(t *testing.T) {
	const x, minus = 1 + 0x1p-12, -(1 + 0x1p-11)
	if fused := math.FMA(x, x, minus); fused != 0x1p-24 {
		t.Fatalf("the example is wrong: fused, it is %g", fused)
	}
	want := []float32{0, 0, 0}
	table, positions, dst := filled(1, 3, x), filled(1, 3, minus), filled(1, 3, untouched)

	kernels.Embed(dst, table, []int{0}, x, positions, 0, 1)
	expect(t, "Embed", dst.Data, want)

	dst = filled(1, 3, untouched)
	kernels.EmbedAt(dst, table, []int{0}, x, positions, []int{0})
	expect(t, "EmbedAt", dst.Data, want)

	dst = filled(1, 3, minus)
	kernels.ScatterAdd(dst, []int{0}, x, table)
	expect(t, "ScatterAdd", dst.Data, want)

	dst = filled(1, 3, minus)
	kernels.AddScaled(dst.Data, x, table.Data)
	expect(t, "AddScaled", dst.Data, want)
}

// TestUnfusedSinusoids has a product of (1 + 2^-27)^2, which is 1 + 2^-26 + 2^-54 and rounds to 1 + 2^-26, so that the
// difference is 0.
func TestUnfusedSinusoids(t *testing.T) {
	const x, square = 1 + 0x1p-27, 1 + 0x1p-26
	if fused := math.FMA(x, x, -square); fused != 0x1p-54 {
		t.Fatalf("the example is wrong: fused, it is %g", fused)
	}
	dst := filled(3, 2, untouched)
	kernels.Sinusoids(dst, 0, []float64{square, -square}, []float64{x, x}, []float64{x, -x})
	expect(t, "Sinusoids", dst.Data, []float32{1, -1, 1, 1, 0, 0})
}

// TestScatterAddDuplicates: the tokens 5, 10, 10, 5 touch rows 5 and 10, each twice.
func TestScatterAddDuplicates(t *testing.T) {
	ids := []int{5, 10, 10, 5}
	grad := filled(12, 2, 0)
	src := rows([]float32{1, 2}, []float32{30, 40}, []float32{500, 600}, []float32{7000, 8000})
	expectDone(t, "ScatterAdd", kernels.ScatterAdd(grad, ids, 1, src), 4)
	want := filled(12, 2, 0)
	copy(want.Row(5), []float32{7001, 8002})
	copy(want.Row(10), []float32{530, 640})
	expect(t, "alpha 1", grad.Data, want.Data)

	kernels.ScatterAdd(grad, ids, -0.5, src)
	copy(want.Row(5), []float32{3500.5, 4001})
	copy(want.Row(10), []float32{265, 320})
	expect(t, "alpha -0.5 on top", grad.Data, want.Data)
}

// TestOrder adds 2^24, 1, 1 and -2^24, where the order decides: from the left, each 1 is lost, for 2^24 + 1 is a tie that
// rounds to even; from the right, none is; and pairs give 1.
func TestOrder(t *testing.T) {
	const big = 0x1p24
	for _, c := range []struct {
		terms []float32
		want  float32
	}{
		{[]float32{big, 1, 1, -big}, 0},
		{[]float32{1, 1, big, -big}, 2},
		{[]float32{-big, 1, 1, big}, 2},
		{[]float32{1, big, 1, -big}, 0},
	} {
		src := kernels.Matrix{Rows: 4, Cols: 1, Data: c.terms, Stride: 1}
		dst := filled(2, 1, 0)
		kernels.ScatterAdd(dst, []uint{1, 1, 1, 1}, 1, src)
		expect(t, fmt.Sprint("ScatterAdd of ", c.terms), dst.Data, []float32{0, c.want})

		dst = filled(1, 1, 0)
		kernels.AddBatches(dst, src, 4)
		expect(t, fmt.Sprint("AddBatches of ", c.terms), dst.Data, []float32{c.want})
	}
}

// TestSumFromZero: a sum that starts from +0 cannot become -0 by adding -0.
func TestSumFromZero(t *testing.T) {
	src := rows([]float32{negativeZero}, []float32{negativeZero})
	dst := filled(1, 1, 0)
	kernels.ScatterAdd(dst, []int{0, 0}, 1, src)
	expect(t, "ScatterAdd", dst.Data, []float32{0})
	kernels.AddBatches(dst, src, 2)
	expect(t, "AddBatches", dst.Data, []float32{0})

	dst.Data[0] = negativeZero
	kernels.ScatterAdd(dst, []int{0, 0}, 1, src)
	expect(t, "ScatterAdd on -0", dst.Data, []float32{negativeZero})
}

func TestAddBatchesByHand(t *testing.T) {
	dst := rows([]float32{1, 2}, []float32{3, 4})
	src := rows( // three batches of two rows
		[]float32{10, 20}, []float32{30, 40},
		[]float32{100, 200}, []float32{300, 400},
		[]float32{1000, 2000}, []float32{3000, 4000})
	kernels.AddBatches(dst, src, 3)
	expect(t, "AddBatches", dst.Data, []float32{1111, 2222, 3333, 4444})
	kernels.AddBatches(dst, src, 0)
	expect(t, "AddBatches of none", dst.Data, []float32{1111, 2222, 3333, 4444})
}

// fill sets all elements to one that no case computes.
func fill(m kernels.Matrix) {
	for i := range m.Data {
		m.Data[i] = untouched
	}
}

func TestBagsByHand(t *testing.T) {
	table := rows([]float32{1, -2}, []float32{10, 20}, []float32{negativeZero, 0}, []float32{nan, inf},
		[]float32{0, negativeZero})
	ids, offsets := []int32{0, 1, 1, 2, 2, 0, 3, 3, 0, 2, 4}, []int{0, 3, 3, 4, 6, 8, 11}
	dst := filled(6, 2, untouched)
	expectDone(t, "BagSum", kernels.BagSum(dst, table, ids, offsets, nil), 11)
	expect(t, "BagSum", dst.Data, []float32{21, 38, 0, 0, 0, 0, 1, -2, nan, inf, 1, -2})

	fill(dst)
	weights := []float32{3, -1, 0.5, -1, -1, -1, 0, 1, 2, 1, 1}
	expectDone(t, "weighted", kernels.BagSum(dst, table, ids, offsets, weights), 11)
	expect(t, "weighted", dst.Data, []float32{-2, -16, 0, 0, 0, 0, -1, 2, nan, nan, 2, -4})

	fill(dst)
	expectDone(t, "BagMean", kernels.BagMean(dst, table, ids, offsets), 11)
	third := float32(1) / 3
	expect(t, "BagMean", dst.Data, []float32{7, float32(38) / 3, 0, 0, 0, 0, 0.5, -1, nan, inf, third, float32(-2) / 3})

	fill(dst)
	expectDone(t, "BagMax", kernels.BagMax(dst, table, ids, offsets), 11)
	expect(t, "BagMax", dst.Data, []float32{10, 20, 0, 0, negativeZero, 0, 1, 0, nan, inf, 1, 0})

	dots, a := filled(1, 11, untouched), rows([]float32{1, 0.5}, []float32{nan, nan}, []float32{2, 1}, []float32{-1, 1}, []float32{0, 1}, []float32{1, 1})
	expectDone(t, "BagDots", kernels.BagDots(dots.Data, a, table, ids, offsets), 11)
	expect(t, "BagDots", dots.Data, []float32{0, 20, 20, 0, 0, -3, nan, nan, -1, 0, 0})

	// The first of equal zeros stays, and so does a NaN that comes first, but not one that comes later.
	dst = filled(4, 2, untouched)
	expectDone(t, "BagMax", kernels.BagMax(dst, table, []int{2, 4, 4, 2, 3, 1, 1, 3}, []int{0, 2, 4, 6, 8}), 8)
	expect(t, "BagMax", dst.Data, []float32{negativeZero, 0, 0, negativeZero, nan, inf, 10, inf})
}

// TestBagParts: bags need not begin with the first id, nor end with the last one.
func TestBagParts(t *testing.T) {
	table, dst := rows([]float32{1}, []float32{10}, []float32{100}), filled(2, 1, untouched)
	ids := []uint64{9, 9, 2, 1, 0, 9}
	expectDone(t, "BagSum", kernels.BagSum(dst, table, ids, []int{2, 3, 5}, nil), 5)
	expect(t, "BagSum", dst.Data, []float32{100, 11})
}

// TestBagOrder: a bag is summed from the left (see TestOrder), and each product is rounded first (see TestUnfused).
func TestBagOrder(t *testing.T) {
	const big, x, square = 0x1p24, 1 + 0x1p-12, 1 + 0x1p-11
	table := rows([]float32{big, -square}, []float32{1, x}, []float32{-big, 0})
	for _, c := range []struct {
		ids  []int
		want float32
	}{{[]int{0, 1, 1, 2}, 0}, {[]int{1, 1, 0, 2}, 2}, {[]int{2, 1, 1, 0}, 2}, {[]int{1, 0, 1, 2}, 0}} {
		dst := filled(1, 2, untouched)
		kernels.BagSum(dst, table, c.ids, []int{0, 4}, nil)
		expect(t, fmt.Sprint("BagSum of ", c.ids), dst.Data[:1], []float32{c.want})
		kernels.BagMean(dst, table, c.ids, []int{0, 4})
		expect(t, fmt.Sprint("BagMean of ", c.ids), dst.Data[:1], []float32{c.want / 4})
	}
	dst := filled(1, 2, untouched)
	kernels.BagSum(dst, table, []int{0, 1}, []int{0, 2}, []float32{1, x})
	expect(t, "weighted", dst.Data[1:], []float32{0})
}

// TestChangedOffsets: a kernel writes no bag whose offsets descend or lead beyond the ids, and says so.
func TestChangedOffsets(t *testing.T) {
	table, ids := filled(1, 1, 1), []int{0, 0, 0}
	for _, c := range []struct {
		offsets []int
		done    int
		want    []float32
	}{
		{[]int{0, 1, 3}, 3, []float32{1, 2}},
		{[]int{0, 1, 2}, 2, []float32{1, 1}},
		{[]int{3, 3, 3}, 3, []float32{0, 0}},
		{[]int{0, 1, 4}, -1, []float32{1, untouched}},
		{[]int{0, 4, 3}, -1, []float32{untouched, untouched}},
		{[]int{0, 2, 1}, -1, []float32{2, untouched}},
		{[]int{0, -1, 3}, -1, []float32{untouched, untouched}},
		{[]int{-1, 1, 3}, -1, []float32{untouched, untouched}},
		{[]int{4, 4, 4}, -1, []float32{untouched, untouched}},
		{[]int{3, 3, math.MaxInt}, -1, []float32{0, untouched}},
		{[]int{0, math.MinInt, 3}, -1, []float32{untouched, untouched}},
	} {
		for name, run := range bagCalls {
			dst := filled(2, 1, untouched)
			what := fmt.Sprint(name, " of offsets ", c.offsets)
			expectDone(t, what, run(dst, table, ids, c.offsets), c.done)
			if name == "BagSum" || name == "weighted" {
				expect(t, what, dst.Data, c.want)
			}
		}
	}
}

var bagCalls = map[string]func(dst, table kernels.Matrix, ids, offsets []int) int{
	"BagSum": func(dst, table kernels.Matrix, ids, offsets []int) int {
		return kernels.BagSum(dst, table, ids, offsets, nil)
	},
	"BagMean": kernels.BagMean[int],
	"BagMax":  kernels.BagMax[int],
	"BagDots": func(a, table kernels.Matrix, ids, offsets []int) int {
		return kernels.BagDots(make([]float32, len(ids)), a, table, ids, offsets)
	},
	"weighted": func(dst, table kernels.Matrix, ids, offsets []int) int {
		return kernels.BagSum(dst, table, ids, offsets, slices.Repeat([]float32{1}, len(ids)))
	},
}

func TestVectorsByHand(t *testing.T) {
	x := []float32{1, negativeZero, inf, 0x1p-149, math.MaxFloat32, nan}
	for _, c := range []struct {
		what string
		do   func(dst []float32)
		want []float32
	}{
		{"AddScaled by 1", func(d []float32) { kernels.AddScaled(d, 1, x) },
			[]float32{2, negativeZero, inf, 0x1p-148, inf, nan}},
		{"AddScaled by -1", func(d []float32) { kernels.AddScaled(d, -1, x) }, []float32{0, 0, nan, 0, 0, nan}},
		{"AddScaled by 0", func(d []float32) { kernels.AddScaled(d, 0, x) },
			[]float32{1, negativeZero, nan, 0x1p-149, math.MaxFloat32, nan}},
		{"Add", func(d []float32) { kernels.Add(d, x) }, []float32{2, negativeZero, inf, 0x1p-148, inf, nan}},
		{"Add to itself", func(d []float32) { kernels.Add(d, d) }, []float32{2, negativeZero, inf, 0x1p-148, inf, nan}},
		// Half of the smallest subnormal is a tie and rounds to 0.
		{"Scale by 0.5", func(d []float32) { kernels.Scale(d, 0.5) },
			[]float32{0.5, negativeZero, inf, 0, math.MaxFloat32 / 2, nan}},
		{"Scale by -1", func(d []float32) { kernels.Scale(d, -1) }, []float32{-1, 0, -inf, -0x1p-149, -math.MaxFloat32, nan}},
	} {
		dst := slices.Clone(x)
		c.do(dst)
		expect(t, c.what, dst, c.want)
	}
	dst := []float32{1, 2, untouched}
	kernels.AddScaled(dst, 2, []float32{10, 20})
	kernels.Add(dst, []float32{100, 200})
	expect(t, "as long as src", dst, []float32{121, 242, untouched})
}

func TestSinusoidsByHand(t *testing.T) {
	minus0 := math.Copysign(0, -1)
	for _, c := range []struct {
		skip    int
		x, y, c float64
		want    []float32
		end     [2]float64 // x and y behind it
	}{
		{0, 1, 2, 3, []float32{1, 2, 5, 13}, [2]float64{34, 89}}, // 3*2 - 1, 3*5 - 2, ...: every second Fibonacci number
		{2, 1, 2, 3, []float32{5, 13}, [2]float64{34, 89}},
		{4, 1, 2, 3, nil, [2]float64{34, 89}},
		{0, 1, 2, 3, nil, [2]float64{1, 2}},
		{1, 0.5, 0.25, -2, []float32{0.25, -1, 1.75}, [2]float64{-2.5, 3.25}},
		{0, minus0, 0, 1, []float32{negativeZero, 0, 0}, [2]float64{0, 0}},
		{0, 0, minus0, 1, []float32{0, negativeZero, negativeZero}, [2]float64{0, 0}},
		// Ties of float32 round to even, also among subnormals, and what is rounded is not what goes on.
		{0, 1 + 0x1p-24, 1 + 0x3p-24, 0, []float32{1, 1 + 0x1p-22, -1}, [2]float64{-1 - 0x3p-24, 1 + 0x1p-24}},
		{0, 0x1p-150, 0x3p-150, 0, []float32{0, 0x1p-148}, [2]float64{-0x1p-150, -0x3p-150}},
		{0, 1e300, 1, 2, []float32{inf, 1, -inf}, [2]float64{-2e300, -3e300}},
		{0, 1, math.Inf(1), 1, []float32{1, inf, inf, nan}, [2]float64{math.NaN(), math.NaN()}},
	} {
		rows := len(c.want)
		dst := filled(rows+1, 1, untouched)
		x, y := []float64{c.x, untouched}, []float64{c.y, untouched}
		kernels.Sinusoids(kernels.Matrix{Rows: rows, Cols: 1, Data: dst.Data, Stride: 1}, c.skip, x, y, []float64{c.c, 1})
		expect(t, fmt.Sprintf("Sinusoids from %v", c), dst.Data, append(c.want, untouched))
		same := func(x, y float64) bool { return x == y || x != x && y != y }
		if !same(x[0], c.end[0]) || !same(y[0], c.end[1]) || x[1] != untouched || y[1] != untouched {
			t.Errorf("%v ends in %v, %v", c, x, y)
		}
	}
	kernels.Sinusoids(kernels.Matrix{Rows: 3}, 5, nil, nil, nil)
}

// TestOutside: a kernel stops at the first id out of range, and says how many rows it has done.
func TestOutside(t *testing.T) {
	outside(t, []int{1, 0, 2, 0}, 2)
	outside(t, []int{-1, 0}, 0)
	outside(t, []int{1, math.MinInt}, 1)
	outside(t, []int32{1, 1, 1, math.MinInt32}, 3)
	outside(t, []int64{0, math.MaxInt64}, 1)
	outside(t, []int64{0, 1 << 32}, 1)     // 0, if cut to 32 bits
	outside(t, []int64{1, -1 << 32, 7}, 1) // likewise
	outside(t, []uint{0, math.MaxUint}, 1) // -1, if taken for an int
	outside(t, []uint32{1, 0, 1 << 31}, 2) // negative, if taken for an int32
	outside(t, []uint64{0, 0, 1<<63 + 1}, 2)
}

func outside[I kernels.ID](t *testing.T, ids []I, want int) {
	t.Helper()
	const n = 2 // rows of the table
	what := func(op string) string { return fmt.Sprintf("%s, ids %v of type %T", op, ids, ids) }
	if got := kernels.FirstOutside(ids, n); got != want {
		t.Errorf("%s: %d, want %d", what("FirstOutside"), got, want)
	}
	table, positions, many := filled(n, 3, 2), filled(n, 3, 1), filled(len(ids), 3, 1)
	done := slices.Concat(slices.Repeat([]float32{1}, want*3), slices.Repeat([]float32{untouched}, (len(ids)-want)*3))
	scaled := func(by, plus float32) []float32 {
		s := slices.Clone(done)
		for i := range s[:want*3] {
			s[i] = 2*by + plus
		}
		return s
	}

	dst := filled(len(ids), 3, untouched)
	expectDone(t, what("Gather"), kernels.Gather(dst, table, ids), want)
	expect(t, what("Gather"), dst.Data, scaled(1, 0))

	dst = filled(len(ids), 3, untouched)
	expectDone(t, what("GatherScaled"), kernels.GatherScaled(dst, table, ids, 3), want)
	expect(t, what("GatherScaled"), dst.Data, scaled(3, 0))

	dst = filled(len(ids), 3, untouched)
	expectDone(t, what("Embed"), kernels.Embed(dst, table, ids, 3, positions, 1, 1), want)
	expect(t, what("Embed"), dst.Data, scaled(3, 1))

	dst = filled(len(ids), 3, untouched)
	expectDone(t, what("EmbedAt"), kernels.EmbedAt(dst, table, ids, 3, positions, make([]int, len(ids))), want)
	expect(t, what("EmbedAt"), dst.Data, scaled(3, 1))

	dst = filled(len(ids), 3, untouched)
	expectDone(t, what("EmbedAt positions"), kernels.EmbedAt(dst, table, make([]int, len(ids)), 3, positions, ids), want)
	expect(t, what("EmbedAt positions"), dst.Data, scaled(3, 1))

	offsets, weights := make([]int, len(ids)+1), slices.Repeat([]float32{3}, len(ids))
	for i := range offsets {
		offsets[i] = i
	}
	dst = filled(len(ids), 3, untouched)
	expectDone(t, what("BagSum"), kernels.BagSum(dst, table, ids, offsets, nil), want)
	expect(t, what("BagSum"), dst.Data[:want*3], scaled(1, 0)[:want*3])
	expectDone(t, what("weighted"), kernels.BagSum(dst, table, ids, []int{0, len(ids)}, weights), want)
	expectDone(t, what("BagMean"), kernels.BagMean(dst, table, ids, offsets), want)
	expect(t, what("BagMean"), dst.Data[:want*3], scaled(1, 0)[:want*3])
	expectDone(t, what("BagMax"), kernels.BagMax(dst, table, ids, offsets), want)
	expect(t, what("BagMax"), dst.Data[:want*3], scaled(1, 0)[:want*3])
	dots := filled(1, len(ids), untouched)
	expectDone(t, what("BagDots"), kernels.BagDots(dots.Data, dst, table, ids, offsets), want)
	for i, x := range dots.Data {
		if (x == untouched) != (i >= want) {
			t.Errorf("%s: element %d is %v", what("BagDots"), i, x)
		}
	}

	dst = filled(n, 3, 0)
	expectDone(t, what("ScatterAdd"), kernels.ScatterAdd(dst, ids, 1, many), want)
	sum := float32(0)
	for i := range n {
		sum += dst.Row(i)[0]
	}
	if sum != float32(want) {
		t.Errorf("%s: %v rows added, want %d", what("ScatterAdd"), sum, want)
	}
}

func TestFirstOutsideNone(t *testing.T) {
	if got := kernels.FirstOutside([]int{0, 1, 2}, 3); got != -1 {
		t.Errorf("got %d, want -1", got)
	}
	if got := kernels.FirstOutside([]int(nil), 0); got != -1 {
		t.Errorf("without ids: %d, want -1", got)
	}
	if got := kernels.FirstOutside([]int{0}, 0); got != 0 {
		t.Errorf("without rows: %d, want 0", got)
	}
}

// TestStrides: what lies between the rows is neither read nor written. Each matrix has a stride of its own.
func TestStrides(t *testing.T) {
	spread := func(stride int, of ...[]float32) kernels.Matrix {
		m := kernels.Matrix{Rows: len(of), Cols: len(of[0]), Stride: stride}
		for i, row := range of {
			for len(m.Data) < i*stride {
				m.Data = append(m.Data, nan)
			}
			m.Data = append(m.Data, row...)
		}
		return m
	}
	table := spread(3, []float32{1, 2}, []float32{3, 4})
	positions := spread(4, []float32{10, 20}, []float32{30, 40})
	empty := func() kernels.Matrix { return spread(5, []float32{0, 0}, []float32{0, 0}, []float32{0, 0}) }
	ids := []int{1, 0, 1}

	dst := empty()
	kernels.Gather(dst, table, ids)
	expect(t, "Gather", dst.Data, []float32{3, 4, nan, nan, nan, 1, 2, nan, nan, nan, 3, 4})

	dst = empty()
	kernels.GatherScaled(dst, table, ids, 2)
	expect(t, "GatherScaled", dst.Data, []float32{6, 8, nan, nan, nan, 2, 4, nan, nan, nan, 6, 8})

	dst = empty()
	kernels.Embed(dst, table, ids, 2, positions, 1, 1)
	expect(t, "Embed", dst.Data, []float32{36, 48, nan, nan, nan, 32, 44, nan, nan, nan, 36, 48})

	dst = empty()
	kernels.EmbedAt(dst, table, ids, 2, positions, []int{0, 1, 1})
	expect(t, "EmbedAt", dst.Data, []float32{16, 28, nan, nan, nan, 32, 44, nan, nan, nan, 36, 48})

	dst = empty()
	kernels.ScatterAdd(dst, []int{2, 0}, 1, table)
	expect(t, "ScatterAdd", dst.Data, []float32{3, 4, nan, nan, nan, 0, 0, nan, nan, nan, 1, 2})

	dst = empty()
	kernels.BagSum(dst, table, ids, []int{0, 2, 2, 3}, []float32{1, 2, 3})
	expect(t, "BagSum", dst.Data, []float32{5, 8, nan, nan, nan, 0, 0, nan, nan, nan, 9, 12})
	kernels.BagMean(dst, table, ids, []int{0, 2, 2, 3})
	expect(t, "BagMean", dst.Data, []float32{2, 3, nan, nan, nan, 0, 0, nan, nan, nan, 3, 4})
	kernels.BagMax(dst, table, ids, []int{0, 0, 2, 3})
	expect(t, "BagMax", dst.Data, []float32{0, 0, nan, nan, nan, 3, 4, nan, nan, nan, 3, 4})

	dst = spread(5, []float32{100, 200})
	kernels.AddBatches(dst, table, 2)
	expect(t, "AddBatches", dst.Data, []float32{104, 206})
}

// TestEmpty: no ids, no columns, no rows.
func TestEmpty(t *testing.T) {
	none := []int{}
	table := filled(2, 3, 1)
	expectDone(t, "Gather", kernels.Gather(filled(0, 3, 0), table, none), 0)
	expectDone(t, "GatherScaled", kernels.GatherScaled(filled(0, 3, 0), table, none, 1), 0)
	expectDone(t, "Embed", kernels.Embed(filled(0, 3, 0), table, none, 1, table, 0, 1), 0)
	expectDone(t, "EmbedAt", kernels.EmbedAt(filled(0, 3, 0), table, none, 1, table, none), 0)
	expectDone(t, "ScatterAdd", kernels.ScatterAdd(table, none, 1, filled(0, 3, 0)), 0)
	for name, run := range bagCalls {
		expectDone(t, name, run(filled(0, 3, 0), table, none, nil), 0)
		expectDone(t, name, run(filled(0, 3, 0), table, none, none), 0)
		expectDone(t, name, run(kernels.Matrix{Rows: 2}, kernels.Matrix{Rows: 2}, []int{1, 0}, []int{0, 1, 2}), 2)
		dst := filled(2, 3, untouched)
		expectDone(t, name, run(dst, kernels.Matrix{Cols: 3}, none, make([]int, 3)), 0)
		if name != "BagDots" { // which reads it
			expect(t, name, dst.Data, make([]float32, 6))
		}
	}
	expect(t, "ScatterAdd", table.Data, filled(2, 3, 1).Data)
	kernels.AddBatches(filled(0, 3, 0), filled(0, 3, 0), 0)
	kernels.AddScaled(nil, 1, nil)
	kernels.Add(nil, nil)
	kernels.Scale(nil, 1)

	flat, ids := kernels.Matrix{Rows: 2, Stride: 3}, []int{1, 0}
	expectDone(t, "Gather, no columns", kernels.Gather(flat, flat, ids), 2)
	expectDone(t, "GatherScaled, no columns", kernels.GatherScaled(flat, flat, ids, 1), 2)
	expectDone(t, "Embed, no columns", kernels.Embed(flat, flat, ids, 1, flat, 0, 2), 2)
	expectDone(t, "EmbedAt, no columns", kernels.EmbedAt(flat, flat, ids, 1, flat, ids), 2)
	expectDone(t, "ScatterAdd, no columns", kernels.ScatterAdd(flat, ids, 1, flat), 2)
}

// TestMisshapen calls the kernels with matrices that contradict each other, themselves or the ids. Each must panic before
// it touches what lies behind a slice.
func TestMisshapen(t *testing.T) {
	whole := make([]float32, 64)
	matrix := func(rows, cols, stride, data int) kernels.Matrix {
		return kernels.Matrix{Rows: rows, Cols: cols, Data: whole[8 : 8+data], Stride: stride}
	}
	good := matrix(2, 5, 5, 10)
	for _, bad := range []kernels.Matrix{
		matrix(1, 5, 5, 5),                    // too few rows
		matrix(2, 1, 1, 2),                    // too few columns
		matrix(2, 6, 6, 12),                   // too many
		matrix(2, 5, 5, 9),                    // too little data, though there is room behind it
		matrix(2, 5, 3, 10),                   // rows that overlap
		matrix(2, 5, -4, 10),                  // or go backwards
		matrix(5, 5, math.MaxInt/4*2+2, 10),   // data beyond what can be counted
		{Rows: 2, Cols: 5, Stride: 5},         // none at all
		{Rows: -1, Cols: 5, Stride: 5},        // fewer than none
		{Rows: 2, Cols: -5, Stride: 5},        // likewise
		{Rows: 2, Cols: 5, Data: whole[8:18]}, // all rows in one place
	} {
		ids := []int{0, 1}
		for name, run := range map[string]func(){
			"Gather dst":         func() { kernels.Gather(bad, good, ids) },
			"GatherScaled dst":   func() { kernels.GatherScaled(bad, good, ids, 2) },
			"ScatterAdd src":     func() { kernels.ScatterAdd(good, ids, 2, bad) },
			"Embed dst":          func() { kernels.Embed(bad, good, ids, 2, good, 0, 2) },
			"EmbedAt dst":        func() { kernels.EmbedAt(bad, good, ids, 2, good, ids) },
			"AddBatches src":     func() { kernels.AddBatches(good, bad, 1) },
			"BagSum dst":         func() { mustHaveRows(bad); kernels.BagSum(bad, good, ids, []int{0, 1, 2}, nil) },
			"BagSum table":       func() { mustHaveRows(bad); kernels.BagSum(good, bad, ids, []int{0, 1, 2}, nil) },
			"BagMean dst":        func() { mustHaveRows(bad); kernels.BagMean(bad, good, ids, []int{0, 1, 2}) },
			"BagMax dst":         func() { mustHaveRows(bad); kernels.BagMax(bad, good, ids, []int{0, 1, 2}) },
			"offsets":            func() { kernels.BagMax(good, good, ids, []int{0, 1}) },
			"weights":            func() { kernels.BagSum(good, good, ids, []int{0, 1, 2}, make([]float32, 1)) },
			"Gather table":       func() { mustHaveRows(bad); kernels.Gather(good, bad, ids) },
			"GatherScaled table": func() { mustHaveRows(bad); kernels.GatherScaled(good, bad, ids, 2) },
			"ScatterAdd dst":     func() { mustHaveRows(bad); kernels.ScatterAdd(bad, ids, 2, good) },
			"Embed positions":    func() { mustHaveRows(bad); kernels.Embed(good, good, ids, 2, bad, 0, 2) },
		} {
			func() {
				for i := range whole {
					whole[i] = untouched
				}
				defer func() {
					if recover() == nil {
						t.Errorf("%s of %d x %d, stride %d, %d elements: no panic", name, bad.Rows, bad.Cols, bad.Stride, len(bad.Data))
					}
					for i, x := range whole {
						if x != untouched && (i < 8 || i >= 18) {
							t.Errorf("%s of %d x %d: element %d has changed", name, bad.Rows, bad.Cols, i-8)
						}
					}
				}()
				run()
			}()
		}
	}
}

// mustHaveRows panics like a kernel where too few rows are no mistake: an id is out of range then.
func mustHaveRows(m kernels.Matrix) {
	if m.Rows == 1 {
		panic("too few rows")
	}
}

func TestRow(t *testing.T) {
	m := kernels.Matrix{Rows: 2, Cols: 2, Data: []float32{1, 2, untouched, 3, 4}, Stride: 3}
	expect(t, "row 0", m.Row(0), []float32{1, 2})
	expect(t, "row 1", m.Row(1), []float32{3, 4})
	if room := cap(m.Row(0)); room != 2 {
		t.Errorf("row 0 has room for %d elements, want 2: appending would write behind it", room)
	}
	m.Row(1)[0] = 5
	if m.Data[3] != 5 {
		t.Error("a row is a copy")
	}
	if row := (kernels.Matrix{Rows: 1}).Row(0); len(row) != 0 {
		t.Errorf("a row without columns is %v", row)
	}
	for _, i := range []int{-1, 2, math.MaxInt} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("there is a row %d", i)
				}
			}()
			m.Row(i)
		}()
	}
}

// The bounds below are those of rounding to nearest, with unit roundoff u, where results are normal numbers. The
// yardstick is float64, in which products of two float32 are exact and whose own roundings are 2^-29 of u.
const u = 0x1p-24 * (1 + 0x1p-20)

func random(r *rand.Rand, rows, cols int) kernels.Matrix {
	m := filled(rows, cols, 0)
	for i := range m.Data {
		m.Data[i] = float32(math.Ldexp(2*r.Float64()-1, r.IntN(17)-8))
	}
	return m
}

// within reports a number that is off by more than bound or is NaN.
func within(t *testing.T, what string, got float32, want, bound float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= bound) {
		t.Errorf("%s: %v, want %v within %g", what, got, want, bound)
	}
}

// TestForwardBounds: one rounding of the product, one of the sum.
func TestForwardBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, dim := range []int{1, 2, 7, 16, 33} {
		const vocab, length, seq, batches = 11, 7, 5, 4
		table, positions := random(r, vocab, dim), random(r, length, dim)
		scale, start := float32(math.Sqrt(float64(dim)))+0.3, length-seq
		ids, at := make([]int, seq*batches), make([]int, seq*batches)
		for i := range ids {
			ids[i], at[i] = r.IntN(vocab), r.IntN(length)
		}
		scaled, fused, fusedAt := filled(len(ids), dim, nan), filled(len(ids), dim, nan), filled(len(ids), dim, nan)
		kernels.GatherScaled(scaled, table, ids, scale)
		kernels.Embed(fused, table, ids, scale, positions, start, seq)
		kernels.EmbedAt(fusedAt, table, ids, scale, positions, at)
		for i, id := range ids {
			for j := range dim {
				product := float64(scale) * float64(table.Data[id*dim+j])
				p, q := float64(positions.Data[(start+i%seq)*dim+j]), float64(positions.Data[at[i]*dim+j])
				lost := u * math.Abs(product)
				within(t, "GatherScaled", scaled.Row(i)[j], product, lost)
				within(t, "Embed", fused.Row(i)[j], product+p, lost+u*(math.Abs(product+p)+lost))
				within(t, "EmbedAt", fusedAt.Row(i)[j], product+q, lost+u*(math.Abs(product+q)+lost))
			}
		}
	}
}

// TestSinusoidBounds holds what Sinusoids makes of sines and cosines to package math: what is in float64 loses up to some
// 1e-16 times the square of the number of rows.
func TestSinusoidBounds(t *testing.T) {
	const rows, skip = 256, 100
	r := rand.New(rand.NewPCG(5, 6))
	for _, step := range []float64{0, 1e-9, 1e-4, 0.01, 0.3, 1, 2, 3, 3.14159} {
		from := 100 * r.Float64()
		sin, cos := math.Sincos(from)
		sin1, cos1 := math.Sincos(from + step)
		x, y, c := []float64{sin, cos, 0}, []float64{sin1, cos1, 0}, []float64{2 * math.Cos(step), 2 * math.Cos(step), 0}
		dst := filled(rows, 3, untouched)
		kernels.Sinusoids(dst, skip, x, y, c)
		for i := range rows {
			sin, cos := math.Sincos(from + float64(skip+i)*step)
			within(t, "a sine", dst.Row(i)[0], sin, u*math.Abs(sin)+1e-16*(rows+skip)*(rows+skip))
			within(t, "a cosine", dst.Row(i)[1], cos, u*math.Abs(cos)+1e-16*(rows+skip)*(rows+skip))
			if dst.Row(i)[2] != 0 {
				t.Errorf("0 becomes %v", dst.Row(i)[2])
			}
		}
	}
}

// TestSumBounds: n terms added to what was there make n sums and n products, each rounded, of at most the sum of all
// absolute values.
func TestSumBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, dim := range []int{1, 2, 7, 16, 33} {
		const vocab, seq, batches = 5, 6, 20
		const n = seq * batches
		src, dst, positions := random(r, n, dim), random(r, vocab, dim), random(r, seq, dim)
		const alpha = 1.7
		scaled := float64(float32(alpha))
		ids := make([]int, n)
		sum, abs, terms := make([]float64, vocab*dim), make([]float64, vocab*dim), make([]float64, vocab)
		batch, batchAbs := make([]float64, seq*dim), make([]float64, seq*dim)
		for k, x := range dst.Data {
			sum[k], abs[k] = float64(x), math.Abs(float64(x))
		}
		for k, x := range positions.Data {
			batch[k], batchAbs[k] = float64(x), math.Abs(float64(x))
		}
		for i := range ids {
			ids[i] = r.IntN(vocab)
			terms[ids[i]]++
			for j, x := range src.Row(i) {
				sum[ids[i]*dim+j] += scaled * float64(x)
				abs[ids[i]*dim+j] += math.Abs(scaled * float64(x))
				batch[i%seq*dim+j] += float64(x)
				batchAbs[i%seq*dim+j] += math.Abs(float64(x))
			}
		}
		bound := func(roundings, abs float64) float64 { return roundings * u / (1 - roundings*u) * abs }
		kernels.ScatterAdd(dst, ids, alpha, src)
		for k, x := range dst.Data {
			within(t, "ScatterAdd", x, sum[k], bound(terms[k/dim]+1, abs[k]))
		}
		kernels.AddBatches(positions, src, batches)
		for k, x := range positions.Data {
			within(t, "AddBatches", x, batch[k], bound(batches, batchAbs[k]))
		}
	}
}

// TestNoSuchRow: a row that a matrix does not have is a panic that says which, and of how many.
func TestNoSuchRow(t *testing.T) {
	m := kernels.Matrix{Rows: 2, Cols: 1, Stride: 1, Data: make([]float32, 3)}
	for i, want := range map[int]string{-1: "rowvec: row -1 is outside [0, 2)", 2: "rowvec: row 2 is outside [0, 2)"} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("row %d: %s, want %s", i, got, want)
				}
			}()
			m.Row(i)
		}()
	}
}
