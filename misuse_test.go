package rowvec_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
)

// call is the arguments of a kernel, valid until a case spoils one of them.
type call struct {
	dst, table, src, positions, grad, window rowvec.Matrix
	ids, at                                  []int64
	start, seq                               int
	bags                                     rowvec.Matrix
	offsets                                  []int
	weights                                  []float32
}

func newCall() *call {
	rng := rand.New(rand.NewPCG(5, 6))
	make := func(rows int) rowvec.Matrix { return matrix(heap(), rng, rows, 5, 1) }
	return &call{
		dst: make(4), table: make(7), src: make(4), positions: make(6), grad: make(6), window: make(2),
		ids: []int64{6, 0, 3, 3}, at: []int64{5, 0, 1, 1}, start: 1, seq: 2,
		bags: make(3), offsets: []int{0, 1, 1, 4}, weights: []float32{1, 2, 3, 4},
	}
}

var kernelCalls = map[string]func(c *call) error{
	"Gather":       func(c *call) error { return rowvec.Gather(c.dst, c.table, c.ids) },
	"GatherScaled": func(c *call) error { return rowvec.GatherScaled(c.dst, c.table, c.ids, 2) },
	"Embed": func(c *call) error {
		return rowvec.Embed(c.dst, c.table, c.ids, 2, c.positions, c.start, c.seq)
	},
	"EmbedAt":    func(c *call) error { return rowvec.EmbedAt(c.dst, c.table, c.ids, 2, c.positions, c.at) },
	"ScatterAdd": func(c *call) error { return rowvec.ScatterAdd(c.table, c.ids, 2, c.src) },
	"EmbedBackward": func(c *call) error {
		return rowvec.EmbedBackward(c.table, c.grad, c.ids, 2, c.src, c.start, c.seq)
	},
	"EmbedAtBackward": func(c *call) error {
		return rowvec.EmbedAtBackward(c.table, c.grad, c.ids, 2, c.src, c.at)
	},
	"AddBatches": func(c *call) error { return rowvec.AddBatches(c.window, c.src) },
	"BagSum":     func(c *call) error { return rowvec.BagSum(c.bags, c.table, c.ids, c.offsets, nil) },
	"BagMean":    func(c *call) error { return rowvec.BagMean(c.bags, c.table, c.ids, c.offsets) },
	"BagMax":     func(c *call) error { return rowvec.BagMax(c.bags, c.table, c.ids, c.offsets) },
	"weighted":   func(c *call) error { return rowvec.BagSum(c.bags, c.table, c.ids, c.offsets, c.weights) },
}

const (
	bagKernels = "BagSum BagMean BagMax weighted"
	idKernels  = "Gather GatherScaled Embed EmbedAt ScatterAdd EmbedBackward EmbedAtBackward " + bagKernels
)

// misuses are ways to call kernels wrongly beside those of TestEveryMisuse: which kernels, what is spoilt, and what the error
// says.
var misuses = []struct {
	name    string
	kernels string
	spoil   func(c *call)
	want    string
}{
	{"id too large", idKernels,
		func(c *call) { c.ids[2] = 7 }, "id 7 at position 2 is outside [0, 7)"},
	{"position id negative", "EmbedAt EmbedAtBackward",
		func(c *call) { c.at[0] = -5 }, "position id -5 at position 0 is outside [0, 6)"},
	{"negative rows", "Gather GatherScaled Embed EmbedAt", func(c *call) { c.dst.Rows = -4 }, "dst.Rows is -4, want at least 0"},
	{"negative stride", "Gather", func(c *call) { c.table.Stride = -6 }, "table.Stride is -6, want at least 5"},
	{"negative stride", "ScatterAdd", func(c *call) { c.table.Stride = -6 }, "dst.Stride is -6, want at least 5"},
	{"overflow", "Gather Embed", func(c *call) { c.table.Rows = math.MaxInt; c.table.Stride = 1 << 20 },
		"table.Rows is 9223372036854775807, want at most 8796093022208"},
	{"start beyond", "Embed EmbedBackward", func(c *call) { c.start = 5 }, "start is 5, want at most 4"},
	{"sequence beyond", "Embed EmbedBackward", func(c *call) { c.positions.Rows, c.grad.Rows, c.seq = 3, 3, 4 },
		"seq is 4, want at most 3"},
	{"dst is the table", "Gather GatherScaled Embed EmbedAt", func(c *call) { c.dst.Data = c.table.Data[1:] },
		"dst overlaps table"},
	{"dst is the positions", "Embed EmbedAt", func(c *call) { c.dst.Data = c.positions.Data }, "dst overlaps positions"},
	{"src is dst", "ScatterAdd", func(c *call) { c.src.Data = c.table.Data }, "dst overlaps src"},
	{"src is the window", "AddBatches", func(c *call) { c.window.Data = c.src.Data[6:] }, "dst overlaps src"},
	{"gradients overlap", "EmbedBackward", func(c *call) { c.grad.Data = c.table.Data }, "positions overlaps tokens"},
	{"dOut is a gradient", "EmbedBackward EmbedAtBackward", func(c *call) { c.grad.Data, c.grad.Rows, c.at[0] = c.src.Data, 4, 2 },
		"positions overlaps dOut"},
	{"nil offsets without bags", bagKernels, func(c *call) { c.offsets, c.bags.Rows = nil, 0 },
		"len(offsets) is 0, want 1"},
	{"ids without bags", bagKernels, func(c *call) { c.offsets, c.bags.Rows = []int{0}, 0 },
		"last of offsets is 0, want 4"},
	{"first offset without bags", "BagSum", func(c *call) { c.offsets, c.bags.Rows, c.ids = []int{2}, 0, nil },
		"offsets[0] is 2, want 0"},
	{"descending offsets", bagKernels, func(c *call) { c.offsets[2] = 0 },
		"offsets[2] is 0, want at least 1"},
	{"last offset", bagKernels, func(c *call) { c.offsets[3] = 5 }, "last of offsets is 5, want 4"},
	{"offset beyond", bagKernels, func(c *call) { c.offsets[1], c.offsets[2] = 6, 6 },
		"offsets[3] is 4, want at least 6"},
	{"bags are the table", bagKernels, func(c *call) { c.bags.Data = c.table.Data[20:] },
		"dst overlaps table"},
	{"ids lie in bags", bagKernels, func(c *call) { c.ids = alias(c.bags.Data[2:], c.ids) },
		"dst overlaps ids"},
	{"offsets lie in bags", bagKernels, func(c *call) { c.offsets = alias(c.bags.Data[2:], c.offsets) },
		"dst overlaps offsets"},
	{"weights lie in bags", "weighted", func(c *call) { c.weights = c.bags.Data[13:] }, "dst overlaps weights"},
	{"ids lie in dst", "Gather GatherScaled Embed EmbedAt", func(c *call) { c.ids = alias(c.dst.Data[1:], c.ids) },
		"dst overlaps ids"},
}

// alias returns ids kept in the memory of x.
func alias[I rowvec.ID](x []float32, ids []I) []I {
	if uintptr(unsafe.Pointer(&x[0]))%8 != 0 {
		x = x[1:]
	}
	a := unsafe.Slice((*I)(unsafe.Pointer(&x[0])), len(ids))
	copy(a, ids)
	return a
}

func (c *call) memory() [][]float32 {
	return [][]float32{c.dst.Data, c.table.Data, c.src.Data, c.positions.Data, c.grad.Data, c.window.Data, c.bags.Data}
}

func TestMisuse(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for name, run := range kernelCalls {
			if err := run(newCall()); err != nil {
				t.Fatalf("%s with nothing spoilt: %v", name, err)
			}
		}
		for _, m := range misuses {
			if unsafe.Sizeof(0) == 4 && m.name == "overflow" {
				continue
			}
			for name := range strings.FieldsSeq(m.kernels) {
				t.Run(m.name+"/"+name, func(t *testing.T) {
					c := newCall()
					m.spoil(c)
					op := strings.Replace(name, "weighted", "BagSum", 1)
					refused(t, c, kernelCalls[name], "rowvec: "+op+": "+m.want)
				})
			}
		}
	})
}

// refused makes a call with spoilt arguments, which has to end in an error of a type of its own that says want, and to
// leave memory as it is.
func refused[C interface{ memory() [][]float32 }](t *testing.T, c C, run func(C) error, want string) {
	t.Helper()
	var before [][]float32
	for _, x := range c.memory() {
		before = append(before, append([]float32(nil), x...))
	}
	err := run(c)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v, want one with %q", err, want)
	}
	var index *rowvec.IndexError
	var shape *rowvec.ShapeError
	var overlap *rowvec.OverlapError
	if !errors.As(err, &index) && !errors.As(err, &shape) && !errors.As(err, &overlap) {
		t.Errorf("error is a %T", err)
	}
	for i, x := range c.memory() {
		if d := diff(x, before[i], true); d != "" {
			t.Errorf("memory %d changed: %s", i, d)
		}
	}
}

// TestFewRowsMisuse is about lookups of one row, of three and of 20, which Gather does by itself where nothing is wrong.
func TestFewRowsMisuse(t *testing.T) {
	lowerWide(t)
	isatest.Each(t, func(t *testing.T) {
		few := func(t *testing.T) {
			for _, n := range []int{1, 3, 20} {
				fewRowsMisuse[int32](t, n)
				fewRowsMisuse[uint64](t, n)
			}
		}
		few(t)
		t.Run("prefetched", func(t *testing.T) {
			prefetchAll(t)
			isatest.Tune(t, &tuning.FewElements, 0)
			few(t)
		})
	})
}

func fewRowsMisuse[I rowvec.ID](t *testing.T, n int) {
	t.Helper()
	const cols = 4
	memory := make([]float32, 192)
	at := func(row int) rowvec.Matrix {
		return rowvec.Matrix{Rows: n, Cols: cols, Data: memory[cols*row:], Stride: cols}
	}
	table := rowvec.Matrix{Rows: 5, Cols: cols, Data: memory[:5*cols], Stride: cols}
	ids := unsafe.Slice((*I)(unsafe.Pointer(&memory[32])), n)
	last := cols * (20 + n - 1)
	var overlap *rowvec.OverlapError
	var shape *rowvec.ShapeError
	var index *rowvec.IndexError
	for _, c := range []struct {
		name string
		dst  rowvec.Matrix
		id   I
		want any
	}{
		{"apart", at(20), 2, nil},
		{"its own row", at(2), 2, &overlap},
		{"another row", at(4), 2, &overlap},
		{"ids", at(8), 2, &overlap},
		{"last id", rowvec.Matrix{Rows: n, Cols: cols, Data: memory[32+(n-1)*int(unsafe.Sizeof(ids[0]))/4:], Stride: cols}, 2, &overlap},
		{"no such row", at(20), 5, &index},
		{"far beyond", at(20), math.MaxInt32, &index},
		{"too narrow", rowvec.Matrix{Rows: n, Cols: cols - 1, Data: memory[80:], Stride: cols}, 2, &shape},
		{"no room", rowvec.Matrix{Rows: n, Cols: cols, Data: memory[80 : last+3], Stride: cols}, 2, &shape},
		{"narrow stride", rowvec.Matrix{Rows: n, Cols: cols, Data: memory[80:], Stride: cols - 1}, 2, &shape},
		{"one row more", rowvec.Matrix{Rows: n + 1, Cols: cols, Data: memory[80:], Stride: cols}, 2, &shape},
		{"no row", rowvec.Matrix{}, 2, &shape},
	} {
		for i := range memory {
			memory[i] = float32(i)
		}
		for i := range ids {
			ids[i] = 1
		}
		ids[n-1] = c.id
		before := slices.Clone(memory)
		err := rowvec.Gather(c.dst, table, ids)
		switch {
		case c.want == nil && (err != nil || memory[last+1] != 9):
			t.Errorf("%s, %d: error %v, element %v", c.name, n, err, memory[last+1])
		case c.want != nil && !errors.As(err, c.want):
			t.Errorf("%s, %d: error %v", c.name, n, err)
		case c.want != nil && !slices.EqualFunc(before, memory, func(a, b float32) bool {
			return math.Float32bits(a) == math.Float32bits(b)
		}):
			t.Errorf("%s, %d: memory has changed", c.name, n)
		}
	}
}

// TestIndexErrors has the extreme values of each type, which must be printed exactly.
func TestIndexErrors(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		badID(t, []int{1, math.MinInt}, int64(math.MinInt))
		badID(t, []int32{1, math.MinInt32}, int64(math.MinInt32))
		badID(t, []int64{1, math.MaxInt64}, int64(math.MaxInt64))
		badID(t, []uint32{1, math.MaxUint32}, int64(math.MaxUint32))
		badID(t, []uint64{1, math.MaxUint64}, uint64(math.MaxUint64))
		badID(t, []uint64{1, 1 << 63}, uint64(1<<63))
		badID(t, []uint64{1, 1 << 32}, int64(1<<32))
		badID(t, []named{1, 9}, int64(9))
	})
}

// badID puts the bad id, the second, at every place of lists that reach every path of the check.
func badID[I rowvec.ID](t *testing.T, pair []I, value any) {
	t.Helper()
	table, _ := rowvec.NewMatrix(2, 1)
	for n := 1; n <= 150; n++ {
		dst, _ := rowvec.NewMatrix(n, 1)
		ids := make([]I, n)
		for i := range ids {
			ids[i] = pair[1]
			want := &rowvec.IndexError{Op: "Gather", What: "id", Position: i, Index: value, Rows: 2}
			var got *rowvec.IndexError
			if err := rowvec.Gather(dst, table, ids); !errors.As(err, &got) || !reflect.DeepEqual(got, want) {
				t.Fatalf("%d ids of %T: error %v, want %v", n, pair[0], err, want)
			}
			ids[i] = pair[0]
		}
		if err := rowvec.Gather(dst, table, ids); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNegative32BitIDs has a table with more rows than int32 can count: read as unsigned, -1 would be one of them.
func TestNegative32BitIDs(t *testing.T) {
	if unsafe.Sizeof(0) < 8 {
		t.Skip("needs more rows than 32 bits count")
	}
	rows := uint64(1<<32 - 1)
	// Stride 0 is no valid stride, but without columns a matrix has no data.
	table := rowvec.Matrix{Rows: int(rows), Cols: 0}
	dst := rowvec.Matrix{Rows: 1, Cols: 0}
	isatest.Each(t, func(t *testing.T) {
		if err := rowvec.Gather(dst, table, []int32{-1}); err == nil {
			t.Error("no error for -1")
		}
		if err := rowvec.Gather(dst, table, []uint32{1<<32 - 2}); err != nil {
			t.Error(err)
		}
		if err := rowvec.Gather(dst, table, []uint32{1<<32 - 1}); err == nil {
			t.Error("no error for 2^32-1 of 2^32-1 rows")
		}
		table.Rows++
		if err := rowvec.Gather(dst, table, []uint32{1<<32 - 1}); err != nil {
			t.Error(err)
		}
		table.Rows--
	})
}

func TestVectorMisuse(t *testing.T) {
	x := make([]float32, 9)
	for _, c := range []struct {
		err  error
		want string
	}{
		{rowvec.AddScaled(x, 1, x[:8]), "rowvec: AddScaled: len(src) is 8, want 9"},
		{rowvec.Add(x[:8], x), "rowvec: Add: len(src) is 9, want 8"},
		{rowvec.AddScaled(x[1:], 1, x[:8]), "rowvec: AddScaled: dst overlaps src"},
		{rowvec.Add(x[:5], x[4:]), "rowvec: Add: dst overlaps src"},
		{rowvec.Add(nil, x), "rowvec: Add: len(src) is 9, want 0"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("error %v, want %s", c.err, c.want)
		}
	}
}

func TestNewMatrixMisuse(t *testing.T) {
	for _, c := range []struct {
		rows, cols int
		what       string // is too large or too small, or either
	}{
		{-1, 1, "rows"}, {1, -1, "cols"}, {math.MaxInt, 2, "rows"}, {math.MaxInt / 4, 2, "rows"}, {math.MaxInt/4 + 1, 1, "rows"}, {1, math.MaxInt/4 + 1, "cols"},
		{7, math.MaxInt, "cols"}, {math.MaxInt, math.MaxInt, "cols"}, {1 << 15, math.MaxInt >> 16, ""},
	} {
		m, err := rowvec.NewMatrix(c.rows, c.cols)
		var shape *rowvec.ShapeError
		if !errors.As(err, &shape) || m.Data != nil || c.what != "" && shape.What != c.what {
			t.Errorf("NewMatrix(%d, %d): %v", c.rows, c.cols, err)
		}
	}
	for _, size := range []int{math.MaxInt, math.MaxInt/4 + 1} { // of rows or columns of nothing there may be as many
		if m, err := rowvec.NewMatrix(0, size); err != nil || m.Rows != 0 || m.Cols != size {
			t.Errorf("NewMatrix(0, %d): %d x %d, %v", size, m.Rows, m.Cols, err)
		}
		if m, err := rowvec.NewMatrix(size, 0); err != nil || m.Rows != size || m.Cols != 0 {
			t.Errorf("NewMatrix(%d, 0): %d x %d, %v", size, m.Rows, m.Cols, err)
		}
	}
}

// TestSideBySide: matrices that share a buffer without sharing an element are no overlap.
func TestSideBySide(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		data := make([]float32, 5*8)
		left := rowvec.Matrix{Rows: 5, Cols: 3, Data: data, Stride: 8}
		right := rowvec.Matrix{Rows: 5, Cols: 5, Data: data[3:], Stride: 8}
		narrow := right
		narrow.Cols = 3
		ids := []int{0, 1, 2, 3, 4}
		if err := rowvec.Gather(left, narrow, ids); err != nil {
			t.Error(err)
		}
		if err := rowvec.Gather(narrow, left, ids); err != nil {
			t.Error(err)
		}
		right.Data = data[2:]
		right.Cols = 3
		var overlap *rowvec.OverlapError
		if err := rowvec.Gather(left, right, ids); !errors.As(err, &overlap) {
			t.Errorf("shared column: %v", err)
		}
		right.Data = data[6:]
		right.Rows, left.Rows = 4, 4
		if err := rowvec.Gather(left, right, ids[:4]); !errors.As(err, &overlap) {
			t.Errorf("column that wraps into the next row: %v", err)
		}
	})
}

// TestEmpty: empty input is no error, whatever is empty.
func TestEmpty(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		var none rowvec.Matrix
		table, _ := rowvec.NewMatrix(3, 4)
		empty := rowvec.Matrix{Cols: 4}
		thin := rowvec.Matrix{Rows: 3}
		ids := []int{2, 0, 1}
		for i, err := range []error{
			rowvec.Gather[int](none, none, nil),
			rowvec.Gather[int](empty, table, nil),
			rowvec.Gather(thin, thin, ids),
			rowvec.GatherScaled[int](empty, table, nil, 2),
			rowvec.ScatterAdd[int](table, nil, 1, empty),
			rowvec.ScatterAdd(thin, ids, 1, thin),
			rowvec.Embed[int](empty, table, nil, 1, empty, 0, 0),
			rowvec.Embed(thin, thin, ids, 1, thin, 0, 3),
			rowvec.EmbedAt[int, int](empty, table, nil, 1, table, nil),
			rowvec.EmbedAt(thin, thin, ids, 1, thin, ids),
			rowvec.EmbedBackward[int](table, empty, nil, 1, empty, 0, 1),
			rowvec.EmbedAtBackward[int, int](table, empty, nil, 1, empty, nil),
			rowvec.AddBatches(table, empty),
			rowvec.AddBatches(thin, thin),
			rowvec.AddBatches(none, none),
			rowvec.BagSum[int](none, none, nil, nil, nil),
			rowvec.BagSum[int](empty, table, nil, []int{0}, []float32{}),
			rowvec.BagSum(thin, thin, ids, []int{0, 1, 1, 3}, nil),
			rowvec.BagSum[int](table, empty, nil, make([]int, 4), nil),
			rowvec.BagMean[int](empty, table, nil, nil),
			rowvec.BagMean(thin, thin, ids, []int{0, 1, 1, 3}),
			rowvec.BagMax[int](empty, table, nil, nil),
			rowvec.BagMax(thin, thin, ids, []int{0, 1, 1, 3}),
			rowvec.AddScaled(nil, 1, nil),
			rowvec.Add(nil, nil),
			rowvec.Sinusoids(thin, 3, nil, nil, nil),
			rowvec.Sinusoids(empty, 3, make([]float64, 4), make([]float64, 4), make([]float64, 4)),
		} {
			if err != nil {
				t.Errorf("case %d: %v", i, err)
			}
		}
		rowvec.Scale(nil, 1)
	})
}
