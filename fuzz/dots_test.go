package fuzz

import (
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/kernels"
)

// FuzzDots covers DotsAll too.
func FuzzDots(f *testing.F) {
	seeds(f)
	fuzz(f, func(t *trial) {
		t.op = "Dots"
		all := t.in.has(variant)
		n, rows := t.count(), t.tableRows()
		rows = min(rows, maxTable/(1+n)) // dst may lie beside it
		if all {
			t.op = "DotsAll"
			rows = min(rows, 300)
			n = rows
		}
		queries := min(int(t.in.Positions)%70, maxMatrix/(1+n+int(max(t.in.Gaps[0], t.in.Gaps[2]))))
		dst, table, a := t.matrix(0, queries, n), t.matrix(1, rows, t.dim()), t.matrix(2, queries, t.dim())
		if t.in.has(misfit) {
			dst.Cols, dst.Stride = dst.Cols+1, dst.Stride+1
		}
		t.place(dst, table, a)
		t.checkShape(dst.Cols == n)
		t.checkApart("dst", *dst, "a", *a)
		t.checkApart("dst", *dst, "table", *table)
		if all {
			t.call = kernel{
				func() error { return rowvec.DotsAll(*dst, *a, *table) },
				func() { kernels.DotsAll(*dst, *a, *table) },
			}
			return
		}
		l := t.ids(0, n, rows)
		t.checkIDs("id", l, rows)
		t.checkIDsApart("dst", *dst, "ids", l)
		t.call = l.dots(*dst, *a, *table)
	})
}
