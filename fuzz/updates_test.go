package fuzz

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/kernels"
)

// update is the arguments of an update but for the ids. Some updates have no use for some of them.
type update struct {
	op                               string
	table, first, second, sums, grad rowvec.Matrix
	rate, epsilon, decay             float32
	step                             rowvec.AdamStep
}

var updates = []string{"UpdateSGD", "UpdateAdagrad", "UpdateRowAdagrad", "UpdateAdam"}

// FuzzUpdate takes the number of positions for that of an update, and the constants but for the rate from among the values.
func FuzzUpdate(f *testing.F) {
	plain := input{Dim: 63, N: 12, Rows: 9, Gaps: [4]uint8{1, 0, 3, 2}, Spread: 5, Scale: math.Float32bits(0.3), Seed: 1}
	for number := range updates {
		add := func(change func(in *input), floats ...float32) {
			in := plain
			in.Positions = uint16(number)
			change(&in)
			f.Add(in.bytes(floats...))
		}
		add(func(*input) {})
		add(func(in *input) { in.Dim, in.IDs, in.Heads = 47, 1, 0xff }, 0.5, 2) // without special values
		add(func(in *input) { in.Dim, in.IDs = 257, 6 }, 0, float32(math.Inf(1)), -0x1p-149)
		add(func(in *input) { in.Dim, in.N, in.Rows, in.Flags = 300, 90, 4000, manyRows|manyIDs }, 1, -3)
		add(func(in *input) { in.Dim, in.N, in.Flags, in.Gaps = 1, 4999, manyIDs, [4]uint8{} }, 0)
		add(func(in *input) { in.Dim, in.Gaps, in.Heads, in.Align = 64, [4]uint8{}, 0x55, 0xfedcba9876543211 })
		add(func(in *input) { in.Dim = 0 })
		add(func(in *input) { in.Rows = 0 })
		add(func(in *input) { in.N = 0 })
		for kind := range uint8(7) {
			add(func(in *input) { in.IDs, in.Bad, in.BadAt, in.BadID = kind, 2+kind<<2, 7, 1<<40 })
		}
		for pair := range uint8(12) {
			add(func(in *input) { in.Overlap, in.Shift = 3+pair<<2, 64 })
			add(func(in *input) { in.Overlap, in.Flags = 3+pair<<2, side })
			add(func(in *input) { in.Overlap, in.Shift = 2+pair<<2, 9 })
		}
	}
	fuzz(f, func(t *trial) {
		number := int(t.in.Positions) % len(updates)
		t.op = updates[number]
		if number == 2 {
			t.in.Flags &^= side // which would give the sums, a vector, a stride
		}
		n, rows := t.count(), t.tableRows()
		grad, table := t.matrix(0, n, t.dim()), t.matrix(1, rows, t.dim())
		first, second := t.matrix(2, rows, t.dim()), t.matrix(3, rows, t.dim())
		sums := &rowvec.Matrix{Rows: rows, Cols: 1, Stride: 1}
		state := [][]*rowvec.Matrix{{}, {first}, {sums}, {first, second}}[number]
		names := [][]string{{}, {"sums"}, {"sums"}, {"means", "squares"}}[number]
		t.place(append([]*rowvec.Matrix{grad, table}, state...)...)
		l := t.ids(0, n, rows)
		t.checkIDs("id", l, rows)
		t.checkApart("table", *table, "grad", *grad)
		t.checkIDsApart("table", *table, "ids", l)
		for i, m := range state {
			if t.dim() == 0 { // nothing is done, not even to sums, which have no columns to be without
				break
			}
			t.checkApart(names[i], *m, "table", *table)
			t.checkApart(names[i], *m, "grad", *grad)
			t.checkIDsApart(names[i], *m, "ids", l)
			if i == 1 {
				t.checkApart("squares", *m, "means", *first)
			}
		}
		c := &t.values.pool
		t.call = l.update(update{
			op: t.op, table: *table, first: *first, second: *second, sums: *sums, grad: *grad,
			rate: t.scale(), epsilon: c[0], decay: c[1],
			step: rowvec.AdamStep{MeanWeight: c[2], SquareWeight: c[3], Rate: t.scale(), Epsilon: c[0], Keep: c[4]},
		})
	})
}

func (l list[I]) update(u update) kernel {
	switch u.op {
	case "UpdateSGD":
		return kernel{
			func() error { return rowvec.UpdateSGD(u.table, l, u.grad, u.rate, u.decay) },
			func() { kernels.UpdateSGD(u.table, l, u.grad, u.rate, u.decay) },
		}
	case "UpdateAdagrad":
		return kernel{
			func() error { return rowvec.UpdateAdagrad(u.table, u.first, l, u.grad, u.rate, u.epsilon) },
			func() { kernels.UpdateAdagrad(u.table, u.first, l, u.grad, u.rate, u.epsilon) },
		}
	case "UpdateRowAdagrad":
		return kernel{
			func() error { return rowvec.UpdateRowAdagrad(u.table, u.sums.Data, l, u.grad, u.rate, u.epsilon) },
			func() { kernels.UpdateRowAdagrad(u.table, u.sums.Data, l, u.grad, u.rate, u.epsilon) },
		}
	}
	return kernel{
		func() error { return rowvec.UpdateAdam(u.table, u.first, u.second, l, u.grad, u.step) },
		func() { kernels.UpdateAdam(u.table, u.first, u.second, l, u.grad, u.step) },
	}
}
