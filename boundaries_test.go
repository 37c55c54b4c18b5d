package rowvec_test

import (
	"errors"
	"math"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
)

// TestBoundaries: values at the edge of what is in order, and contradictions in matrices without elements, each of which
// a check that is off by one, or leaves a condition out, would take for the other. Mutants of the checks had shown them.
func TestBoundaries(t *testing.T) {
	if unsafe.Sizeof(0) < 8 {
		t.Skip("sizes beyond 32 bits")
	}
	wide := func(rows, cols int) rowvec.Matrix { return rowvec.Matrix{Rows: rows, Cols: cols} }
	power := func(n int) int { return int(uint64(1) << n) } // no constant, which is too large where int has 32 bits
	row, _ := rowvec.NewMatrix(1, 16)
	half := rowvec.Mask{P: 0.5}
	last := half
	last.Col = power(36) - 16
	below := half
	below.Row = power(32) - 1
	table, _ := rowvec.NewMatrix(3, 4)
	most := (math.MaxInt-5)/6 + 1
	for _, c := range []struct {
		name string
		err  error
		want string // or nothing, where it is in order
	}{
		{"rows of a mask", rowvec.Dropout(wide(power(32), 0), wide(power(32), 0), half), ""},
		{"columns of a mask", rowvec.Dropout(wide(0, power(36)), wide(0, power(36)), half), ""},
		{"its last columns", rowvec.Dropout(row, row, last), ""},
		{"its last row", rowvec.Dropout(row, row, below), ""},
		{"the longest extent", rowvec.CheckMatrix("f", "m", rowvec.Matrix{Rows: most, Cols: 5, Stride: 6}),
			"rowvec: f: len(m.Data) is 0, want at least 9223372036854775805"},
		{"one more", rowvec.CheckMatrix("f", "m", rowvec.Matrix{Rows: most + 1, Cols: 5, Stride: 6}),
			"rowvec: f: m.Rows is 1537228672809129302, want at most 1537228672809129301"},
		{"rows of nothing", rowvec.Gather(wide(-1, 0), wide(3, 0), []int{0}), "rowvec: Gather: dst.Rows is -1, want at least 0"},
		{"columns of nothing", rowvec.Gather(wide(0, -1), wide(3, -1), []int{}), "rowvec: Gather: dst.Cols is -1, want at least 0"},
		{"dropout of no rows", rowvec.Dropout(wide(0, 3), wide(0, 3), half), ""},
		{"norm of no rows", rowvec.LayerNorm(wide(0, 1), wide(0, 1), row.Data[:1], row.Data[:1], 1), ""},
		{"norm of no columns", rowvec.LayerNorm(wide(3, 0), wide(3, 0), nil, nil, 1), ""},
		{"its gradient, no rows", rowvec.LayerNormBackward(wide(0, 1), wide(0, 1), wide(0, 1), row.Data[:1], 1, row.Data[1:2], row.Data[2:3]), ""},
		{"its gradient, no columns", rowvec.LayerNormBackward(wide(3, 0), wide(3, 0), wide(3, 0), nil, 1, nil, nil), ""},
		{"rotation of no rows", rowvec.RotateAt(wide(0, 4), wide(0, 4), rowvec.Rotation{Heads: 1}, table, []int{}), ""},
		{"rotation of no columns", rowvec.RotateAt(wide(1, 0), wide(1, 0), rowvec.Rotation{Heads: 1}, wide(2, 0), []int{1}), ""},
		{"update of no columns", rowvec.UpdateRowAdagrad(wide(3, 0), row.Data[:3], []int{2, 1}, wide(2, 0), 1, 1), ""},
		{"bags without rows", rowvec.BagSum(wide(0, 4), table, []int{}, []int{0}, nil), ""},
		{"mean of bags without rows", rowvec.BagMean(wide(0, 4), table, []int{}, []int{0}), ""},
		{"maximum of bags without rows", rowvec.BagMax(wide(0, 4), table, []int{}, []int{0}), ""},
		{"scores of no ids", rowvec.Dots(wide(3, 0), table, table, []int{}), ""},
		{"no columns", rowvec.Gather(wide(1, 0), table, []int{0}), "rowvec: Gather: dst.Cols is 0, want 4"},
	} {
		got := ""
		if c.err != nil {
			got = c.err.Error()
		}
		if got != c.want {
			t.Errorf("%s: error %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSideBySideStrides is TestSideBySide with a stride that is no power of two, in either order of memory, and with a matrix
// that lies a part of an element further on.
func TestSideBySideStrides(t *testing.T) {
	data := make([]float32, 5*9)
	left := rowvec.Matrix{Rows: 4, Cols: 3, Data: data, Stride: 9}
	right := rowvec.Matrix{Rows: 4, Cols: 3, Data: data[5:], Stride: 9}
	ids := []int{0, 1, 2, 3}
	for _, err := range []error{rowvec.Gather(left, right, ids), rowvec.Gather(right, left, ids)} {
		if err != nil {
			t.Error(err)
		}
	}
	right.Cols = 6
	right.Data = unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(&data[3]), 2)), 36)
	if !rowvec.Overlap(left, right) || !rowvec.Overlap(right, left) {
		t.Error("no overlap with a row that reaches two bytes into the next")
	}
	var overlap *rowvec.OverlapError
	right.Cols = 3
	if err := rowvec.Gather(left, right, ids); !errors.As(err, &overlap) {
		t.Errorf("error %v, want an overlap, since nothing is known of parts of elements", err)
	}
}
