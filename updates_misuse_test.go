package rowvec_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
)

// updateCall is the arguments of an update, valid until a case spoils one of them.
type updateCall struct {
	table, means, squares, grad rowvec.Matrix
	sums                        []float32
	ids                         []int64
}

func newUpdateCall() *updateCall {
	rng := rand.New(rand.NewPCG(19, 20))
	make := func(rows int) rowvec.Matrix { return matrix(heap(), rng, rows, 5, 1) }
	return &updateCall{table: make(7), means: make(7), squares: make(7), grad: make(4),
		sums: matrix(heap(), rng, 1, 7, 0).Data, ids: []int64{6, 0, 3, 3}}
}

func (c *updateCall) memory() [][]float32 {
	return [][]float32{c.table.Data, c.means.Data, c.squares.Data, c.grad.Data, c.sums}
}

var updateCalls = map[string]func(c *updateCall) error{
	"UpdateSGD":     func(c *updateCall) error { return rowvec.UpdateSGD(c.table, c.ids, c.grad, 0.1, 0.01) },
	"UpdateAdagrad": func(c *updateCall) error { return rowvec.UpdateAdagrad(c.table, c.means, c.ids, c.grad, 0.1, 1e-3) },
	"UpdateRowAdagrad": func(c *updateCall) error {
		return rowvec.UpdateRowAdagrad(c.table, c.sums, c.ids, c.grad, 0.1, 1e-3)
	},
	"UpdateAdam": func(c *updateCall) error {
		return rowvec.UpdateAdam(c.table, c.means, c.squares, c.ids, c.grad, rowvec.AdamStep{Keep: 1})
	},
}

// updateMisuses are the ways to call updates wrongly: which updates, what is spoilt, and what the error says.
var updateMisuses = []struct {
	name    string
	updates string
	spoil   func(c *updateCall)
	want    string
}{
	{"id too large", everyUpdate, func(c *updateCall) { c.ids[2] = 7 }, "id 7 at position 2 is outside [0, 7)"},
	{"id negative", everyUpdate, func(c *updateCall) { c.ids[0] = -1 }, "id -1 at position 0 is outside [0, 7)"},
	{"id far below", everyUpdate, func(c *updateCall) { c.ids[3] = math.MinInt64 },
		"id -9223372036854775808 at position 3 is outside [0, 7)"},

	{"rows of grad", everyUpdate, func(c *updateCall) { c.grad.Rows = 3 }, "grad.Rows is 3, want 4"},
	{"columns of grad", everyUpdate, func(c *updateCall) { c.grad.Cols = 4 }, "grad.Cols is 4, want 5"},
	{"rows of the sums", "UpdateAdagrad", func(c *updateCall) { c.means.Rows = 6 }, "sums.Rows is 6, want 7"},
	{"columns of the sums", "UpdateAdagrad", func(c *updateCall) { c.means.Cols = 4 }, "sums.Cols is 4, want 5"},
	{"few sums", "UpdateRowAdagrad", func(c *updateCall) { c.sums = c.sums[:6] }, "len(sums) is 6, want 7"},
	{"no sums", "UpdateRowAdagrad", func(c *updateCall) { c.sums = nil }, "len(sums) is 0, want 7"},
	{"rows of the means", "UpdateAdam", func(c *updateCall) { c.means.Rows = 8 }, "len(means.Data) is 41, want at least 47"},
	{"more rows of the means", "UpdateAdam", func(c *updateCall) { c.means.Rows = 8; c.means.Stride = 5 },
		"means.Rows is 8, want 7"},
	{"rows of the squares", "UpdateAdam", func(c *updateCall) { c.squares.Rows = 6 }, "squares.Rows is 6, want 7"},
	{"columns of the squares", "UpdateAdam", func(c *updateCall) { c.squares.Cols = 4 }, "squares.Cols is 4, want 5"},

	{"negative rows", everyUpdate, func(c *updateCall) { c.table.Rows = -1 }, "table.Rows is -1, want at least 0"},
	{"stride too small", everyUpdate, func(c *updateCall) { c.grad.Stride = 4 }, "grad.Stride is 4, want at least 5"},
	{"stride of the state too small", "UpdateAdam", func(c *updateCall) { c.squares.Stride = 4 },
		"squares.Stride is 4, want at least 5"},
	{"data too short", everyUpdate, func(c *updateCall) { c.table.Data = c.table.Data[:40] },
		"len(table.Data) is 40, want at least 41"},
	{"no state", "UpdateAdagrad", func(c *updateCall) { c.means.Data = nil }, "len(sums.Data) is 0, want at least 41"},
	{"no means", "UpdateAdam", func(c *updateCall) { c.means.Data = nil }, "len(means.Data) is 0, want at least 41"},

	{"grad is the table", everyUpdate, func(c *updateCall) { c.grad.Data = c.table.Data[7:] }, "table overlaps grad"},
	{"grad is the state", "UpdateAdagrad", func(c *updateCall) { c.grad.Data = c.means.Data }, "sums overlaps grad"},
	{"grad is the means", "UpdateAdam", func(c *updateCall) { c.grad.Data = c.means.Data }, "means overlaps grad"},
	{"grad is the squares", "UpdateAdam", func(c *updateCall) { c.grad.Data = c.squares.Data[7:] }, "squares overlaps grad"},
	{"the state is the table", "UpdateAdagrad", func(c *updateCall) { c.means.Data = c.table.Data }, "sums overlaps table"},
	{"the squares are the table", "UpdateAdam", func(c *updateCall) { c.squares.Data = c.table.Data }, "squares overlaps table"},
	{"the means are the table", "UpdateAdam", func(c *updateCall) { c.means.Data = c.table.Data }, "means overlaps table"},
	{"the squares are the means", "UpdateAdam", func(c *updateCall) { c.squares.Data = c.means.Data }, "squares overlaps means"},
	{"sums lie in the table", "UpdateRowAdagrad", func(c *updateCall) { c.sums = c.table.Data[34:41] }, "sums overlaps table"},
	{"sums lie in a gap", "UpdateRowAdagrad", func(c *updateCall) { c.sums = c.grad.Data[5:12] }, "sums overlaps grad"},
	{"ids lie in the table", everyUpdate, func(c *updateCall) { c.ids = alias(c.table.Data[1:], c.ids) }, "table overlaps ids"},
	{"ids lie in the sums", "UpdateAdagrad", func(c *updateCall) { c.ids = alias(c.means.Data[1:], c.ids) }, "sums overlaps ids"},
	{"ids lie in a row's sums", "UpdateRowAdagrad", func(c *updateCall) {
		memory := make([]float32, 9)
		c.ids = alias(memory, c.ids)
		c.sums = memory[:7]
	}, "sums overlaps ids"},
	{"ids lie in the squares", "UpdateAdam", func(c *updateCall) { c.ids = alias(c.squares.Data[1:], c.ids) },
		"squares overlaps ids"},
}

const everyUpdate = "UpdateSGD UpdateAdagrad UpdateRowAdagrad UpdateAdam"

func TestUpdateMisuse(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for name, run := range updateCalls {
			if err := run(newUpdateCall()); err != nil {
				t.Fatalf("%s with nothing spoilt: %v", name, err)
			}
		}
		for _, m := range updateMisuses {
			for name := range strings.FieldsSeq(m.updates) {
				t.Run(m.name+"/"+name, func(t *testing.T) {
					c := newUpdateCall()
					m.spoil(c)
					refused(t, c, updateCalls[name], "rowvec: "+name+": "+m.want)
				})
			}
		}
	})
}

// TestUpdateEmpty: empty input is no error, whatever is empty, and changes nothing.
func TestUpdateEmpty(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		var none rowvec.Matrix
		table, _ := rowvec.NewMatrix(3, 4)
		state, _ := rowvec.NewMatrix(3, 4)
		other, _ := rowvec.NewMatrix(3, 4)
		thin, empty, ids, sums := rowvec.Matrix{Rows: 3}, rowvec.Matrix{Cols: 4}, []int{2, 0, 1}, []float32{1, 2, 3}
		for i, err := range []error{
			rowvec.UpdateSGD[int](none, nil, none, 1, 1),
			rowvec.UpdateSGD[int](table, nil, empty, 1, 1),
			rowvec.UpdateSGD(thin, ids, thin, 1, 1),
			rowvec.UpdateAdagrad[int](none, none, nil, none, 1, 1),
			rowvec.UpdateAdagrad[int](table, state, nil, empty, 1, 1),
			rowvec.UpdateAdagrad(thin, thin, ids, thin, 1, 1),
			rowvec.UpdateRowAdagrad[int](none, nil, nil, none, 1, 1),
			rowvec.UpdateRowAdagrad[int](table, sums, nil, empty, 1, 1),
			rowvec.UpdateRowAdagrad(thin, sums, ids, thin, 1, 1),
			rowvec.UpdateAdam[int](none, none, none, nil, none, rowvec.AdamStep{}),
			rowvec.UpdateAdam[int](table, state, other, nil, empty, rowvec.AdamStep{}),
			rowvec.UpdateAdam(thin, thin, thin, ids, thin, rowvec.AdamStep{}),
		} {
			if err != nil {
				t.Errorf("case %d: %v", i, err)
			}
		}
		if sums[0] != 1 || sums[1] != 2 || sums[2] != 3 {
			t.Errorf("sums of rows without columns have become %v", sums)
		}
	})
}
