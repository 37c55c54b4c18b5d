//go:build race

package rowvec_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
)

// spot is memory of which a kernel is to have announced what it does there to the race detector.
type spot struct {
	name        string
	read, write func()
	use         int
}

const (
	untouched = iota
	isRead
	isWritten
)

func at[T any](name string, p *T, use int) spot {
	seen := *p
	return spot{name, func() { seen = *p }, func() { *p = seen }, use}
}

// corners are the first and the last element of m, and what lies between its rows.
func corners(name string, m rowvec.Matrix, use int) []spot {
	places := []spot{at(name+"[0, 0]", &m.Data[0], use), at(name+"[last]", &m.Data[(m.Rows-1)*m.Stride+m.Cols-1], use)}
	if m.Stride > m.Cols {
		places = append(places, at(name+" between rows", &m.Data[m.Cols], untouched))
	}
	return places
}

// racing are calls of kernels, with what each does to places of its own memory. Matrices of 4 rows have gaps in between,
// ids are 1 and 3 over and over, so that 2 chooses a row that is nobody's, and wide is more than a call of assembly does.
func racing(cols int) map[string]func() (func() error, []spot) {
	const rows = 4
	m := func() rowvec.Matrix {
		return rowvec.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*(cols+3)), Stride: cols + 3}
	}
	row := func(m rowvec.Matrix, i int) rowvec.Matrix {
		return rowvec.Matrix{Rows: 1, Cols: m.Cols, Data: m.Data[i*m.Stride:], Stride: m.Cols}
	}
	chosen := func(name string, m rowvec.Matrix, use int) []spot {
		return append(append(corners(name+" row 1", row(m, 1), use), corners(name+" row 3", row(m, 3), use)...),
			at(name+" row 2", &m.Data[2*m.Stride], untouched))
	}
	alone := func(name string, m rowvec.Matrix, use int) []spot { // row 1
		return append(corners(name+" row 1", row(m, 1), use), at(name+" before it", &m.Data[m.Stride-1], untouched),
			at(name+" behind it", &m.Data[m.Stride+m.Cols], untouched), at(name+" row 2", &m.Data[2*m.Stride], untouched))
	}
	vector := func(name string, x []float32, use int) []spot {
		return corners(name, rowvec.Matrix{Rows: 1, Cols: len(x), Data: x, Stride: len(x)}, use)
	}
	all := func(lists ...[]spot) (places []spot) {
		for _, l := range lists {
			places = append(places, l...)
		}
		return
	}
	waves := func(name string, x []float64, use int) []spot {
		return []spot{at(name+"[0]", &x[0], use), at(name+"[last]", &x[len(x)-1], use)}
	}
	type call = func() (func() error, []spot)
	ids := func() []int64 { return []int64{1, 3, 1, 3} }
	given := func(ids []int64) []spot {
		return []spot{at("ids[0]", &ids[0], isRead), at("ids[3]", &ids[3], isRead)}
	}
	bags := func(run func(dst, table rowvec.Matrix, ids []int64, offsets []int) error, offsets ...int) call {
		return func() (func() error, []spot) {
			dst, table, ids, last := m(), m(), ids(), len(offsets)-1
			return func() error { return run(dst, table, ids, offsets) },
				all(corners("dst", dst, isWritten), chosen("table", table, isRead), given(ids),
					[]spot{at("offsets[0]", &offsets[0], isRead), at("last of offsets", &offsets[last], isRead)})
		}
	}
	calls := map[string]call{
		"Gather": func() (func() error, []spot) {
			dst, table, ids := m(), m(), slices.Repeat(ids(), 3)
			dst.Rows = len(ids)
			dst.Data = make([]float32, dst.Rows*dst.Stride)
			return func() error { return rowvec.Gather(dst, table, ids) },
				all(corners("dst", dst, isWritten), chosen("table", table, isRead), given(ids))
		},
		"Gather of few rows": func() (func() error, []spot) {
			dst, table, ids := m(), m(), ids()
			return func() error { return rowvec.Gather(dst, table, ids) },
				all(corners("dst", dst, isWritten), chosen("table", table, isRead), given(ids))
		},
		"CheckIDs": func() (func() error, []spot) {
			ids := ids()
			return func() error { return rowvec.CheckIDs(ids, rows) }, given(ids)
		},
		"Gather of one row": func() (func() error, []spot) {
			dst, table, ids := row(m(), 0), m(), []int32{1}
			return func() error { return rowvec.Gather(dst, table, ids) },
				all(corners("dst", dst, isWritten), alone("table", table, isRead), []spot{at("id", &ids[0], isRead)})
		},
		"GatherScaled of one row": func() (func() error, []spot) {
			dst, table, ids := row(m(), 0), m(), []int32{1}
			return func() error { return rowvec.GatherScaled(dst, table, ids, 2) },
				all(corners("dst", dst, isWritten), alone("table", table, isRead), []spot{at("id", &ids[0], isRead)})
		},
		"ScatterAdd of one row": func() (func() error, []spot) {
			dst, src, ids := m(), row(m(), 0), []int32{1}
			return func() error { return rowvec.ScatterAdd(dst, ids, 2, src) },
				all(alone("dst", dst, isWritten), corners("src", src, isRead), []spot{at("id", &ids[0], isRead)})
		},
		"Embed of one row": func() (func() error, []spot) {
			dst, table, positions, ids := row(m(), 0), m(), m(), []int32{1}
			return func() error { return rowvec.Embed(dst, table, ids, 2, positions, 1, 1) },
				all(corners("dst", dst, isWritten), alone("table", table, isRead), alone("positions", positions, isRead),
					[]spot{at("id", &ids[0], isRead)})
		},
		"EmbedAt of one row": func() (func() error, []spot) {
			dst, table, positions, ids, places := row(m(), 0), m(), m(), []int32{1}, []int32{1}
			return func() error { return rowvec.EmbedAt(dst, table, ids, 2, positions, places) },
				all(corners("dst", dst, isWritten), alone("table", table, isRead), alone("positions", positions, isRead),
					[]spot{at("id", &ids[0], isRead), at("position", &places[0], isRead)})
		},
		"GatherScaled": func() (func() error, []spot) {
			dst, table, ids := m(), m(), ids()
			return func() error { return rowvec.GatherScaled(dst, table, ids, 2) },
				all(corners("dst", dst, isWritten), chosen("table", table, isRead), given(ids))
		},
		"ScatterAdd": func() (func() error, []spot) {
			dst, src, ids := m(), m(), ids()
			return func() error { return rowvec.ScatterAdd(dst, ids, 2, src) },
				all(chosen("dst", dst, isWritten), corners("src", src, isRead), given(ids))
		},
		"Embed": func() (func() error, []spot) {
			dst, table, positions, ids := m(), m(), m(), ids()
			return func() error { return rowvec.Embed(dst, table, ids, 2, positions, 1, 2) },
				all(corners("dst", dst, isWritten), chosen("table", table, isRead), given(ids), corners("row 1", row(positions, 1), isRead),
					corners("row 2", row(positions, 2), isRead), corners("row 0", row(positions, 0), untouched),
					corners("row 3", row(positions, 3), untouched))
		},
		"EmbedAt": func() (func() error, []spot) {
			dst, table, positions, ids, at := m(), m(), m(), ids(), ids()
			return func() error { return rowvec.EmbedAt(dst, table, ids, 2, positions, at) },
				all(corners("dst", dst, isWritten), chosen("table", table, isRead), chosen("positions", positions, isRead),
					given(ids), given(at))
		},
		"EmbedBackward": func() (func() error, []spot) {
			tokens, positions, dOut, ids := m(), m(), m(), ids()
			return func() error { return rowvec.EmbedBackward(tokens, positions, ids, 2, dOut, 1, 2) },
				all(chosen("tokens", tokens, isWritten), corners("dOut", dOut, isRead), given(ids),
					corners("row 1", row(positions, 1), isWritten), corners("row 2", row(positions, 2), isWritten),
					corners("row 0", row(positions, 0), untouched), corners("row 3", row(positions, 3), untouched))
		},
		"EmbedAtBackward": func() (func() error, []spot) {
			tokens, positions, dOut, ids, at := m(), m(), m(), ids(), ids()
			return func() error { return rowvec.EmbedAtBackward(tokens, positions, ids, 2, dOut, at) },
				all(chosen("tokens", tokens, isWritten), chosen("positions", positions, isWritten), corners("dOut", dOut, isRead),
					given(ids), given(at))
		},
		"AddBatches": func() (func() error, []spot) {
			dst, src := m(), m()
			dst.Rows = 2
			return func() error { return rowvec.AddBatches(dst, src) }, all(corners("dst", dst, isWritten), corners("src", src, isRead))
		},
		"AddScaled": func() (func() error, []spot) {
			x, y := make([]float32, cols), make([]float32, cols)
			return func() error { return rowvec.AddScaled(x, 2, y) }, all(vector("dst", x, isWritten), vector("src", y, isRead))
		},
		"Add": func() (func() error, []spot) {
			x, y := make([]float32, cols), make([]float32, cols)
			return func() error { return rowvec.Add(x, y) }, all(vector("dst", x, isWritten), vector("src", y, isRead))
		},
		"Scale": func() (func() error, []spot) {
			x := make([]float32, cols)
			return func() error { rowvec.Scale(x, 2); return nil }, vector("dst", x, isWritten)
		},
		"BagSum": func() (func() error, []spot) {
			dst, table, ids, offsets, weights := m(), m(), ids(), []int{0, 1, 3, 3, 4}, make([]float32, 4)
			return func() error { return rowvec.BagSum(dst, table, ids, offsets, weights) },
				all(corners("dst", dst, isWritten), chosen("table", table, isRead), given(ids), vector("weights", weights, isRead),
					[]spot{at("offsets[0]", &offsets[0], isRead), at("offsets[4]", &offsets[4], isRead)})
		},
		"BagMean":               bags(rowvec.BagMean[int64], 0, 1, 3, 3, 4),
		"BagMax":                bags(rowvec.BagMax[int64], 0, 1, 3, 3, 4),
		"BagMean of single ids": bags(rowvec.BagMean[int64], 0, 1, 2, 3, 4),
		"BagMax of single ids":  bags(rowvec.BagMax[int64], 0, 1, 2, 3, 4),
		"AddProduct": func() (func() error, []spot) {
			dst, a, src := m(), rowvec.Matrix{Rows: rows, Cols: rows, Data: make([]float32, rows*(rows+2)), Stride: rows + 2}, m()
			return func() error { forward.AddProduct(dst, a, src, false, rowvec.Matrix{}); return nil },
				all(corners("dst", dst, isWritten), corners("a", a, isRead), corners("src", src, isRead))
		},
		"SquaredNorms": func() (func() error, []spot) {
			src, sums := m(), make([]float64, rows)
			return func() error { forward.SquaredNorms(sums, src, nil); return nil }, corners("src", src, isRead)
		},
		"FillNormal": func() (func() error, []spot) {
			x := make([]float32, 100)
			return func() error { forward.FillNormal(x, 1, 2, 3, 1); return nil }, vector("dst", x, isWritten)
		},
		"FillUniform": func() (func() error, []spot) {
			x := make([]float32, 100)
			return func() error { forward.FillUniform(x, 1, 2, 3, 1); return nil }, vector("dst", x, isWritten)
		},
		"Dots": func() (func() error, []spot) {
			a, table, ids, dst := m(), m(), ids(), rowvec.Matrix{Rows: rows, Cols: 4, Data: make([]float32, rows*6), Stride: 6}
			return func() error { return rowvec.Dots(dst, a, table, ids) },
				all(corners("dst", dst, isWritten), corners("a", a, isRead), chosen("table", table, isRead), given(ids))
		},
		"DotsAll": func() (func() error, []spot) {
			a, table, dst := m(), m(), rowvec.Matrix{Rows: rows, Cols: 4, Data: make([]float32, rows*6), Stride: 6}
			return func() error { return rowvec.DotsAll(dst, a, table) },
				all(corners("dst", dst, isWritten), corners("a", a, isRead), corners("table", table, isRead))
		},
		"Dropout": func() (func() error, []spot) {
			dst, src := m(), m()
			return func() error { return rowvec.Dropout(dst, src, rowvec.Mask{P: 0.5}) },
				all(corners("dst", dst, isWritten), corners("src", src, isRead))
		},
		"DropRows": func() (func() error, []spot) {
			dst, src := m(), m()
			return func() error { forward.DropRows(dst, src, rowvec.Mask{P: 0.5}, []int{1, 3, 1, 3}); return nil },
				all(corners("dst", dst, isWritten), chosen("src", src, isRead))
		},
		"DropSums": func() (func() error, []spot) {
			dst, table, positions, ids := m(), m(), m(), []uint64{1, 3, 1, 3, 1, 3}
			return func() error {
					forward.DropSums(forward.Rows{
						Dst: dst, Table: table, IDs: unsafe.Pointer(&ids[0]), Wide: true, More: 1, Positions: positions, Start: 1, Seq: 2, Scale: 2,
					}, rowvec.Mask{P: 0.5})
					return nil
				}, all(chosen("table", table, isRead), corners("dst", dst, isWritten), corners("row 1", row(positions, 1), isRead),
					corners("row 2", row(positions, 2), isRead), corners("row 0", row(positions, 0), untouched),
					corners("row 3", row(positions, 3), untouched), []spot{at("the last id", &ids[3], isRead), at("one more", &ids[5], untouched)})
		},
		"BagMaxBackward": func() (func() error, []spot) {
			dst, table, both, bags := m(), m(), rowvec.Matrix{Rows: 2, Cols: 2 * cols, Data: make([]float32, 5*cols), Stride: 3 * cols}, make([]int, rows)
			return func() error {
					forward.BagMaxBackward(dst, table, []int{1, 3, 1, 3}, both, bags, false)
					return nil
				}, all(corners("dst", dst, isWritten), chosen("table", table, isRead), []spot{
					at("what is left of maxima", &both.Row(0)[cols], isWritten), at("bags[0]", &bags[0], isRead), at("bags[3]", &bags[3], isRead),
				})
		},
		"BagDots": func() (func() error, []spot) {
			a, table, ids, offsets, dst := m(), m(), []uint32{1, 3, 1, 3}, []int{0, 1, 3, 3, 4}, make([]float32, 4)
			return func() error {
					forward.BagDots(dst, forward.Bags{A: a, Table: table, IDs: unsafe.Pointer(&ids[0]), Offsets: offsets})
					return nil
				}, all(corners("a", a, isRead), chosen("table", table, isRead), vector("dst", dst, isWritten), []spot{
					at("ids[0]", &ids[0], isRead), at("ids[3]", &ids[3], isRead), at("offsets[0]", &offsets[0], isRead), at("offsets[4]", &offsets[4], isRead),
				})
		},
		"LayerNorm": func() (func() error, []spot) {
			dst, src, gamma, beta := m(), m(), make([]float32, cols), make([]float32, cols)
			return func() error { return rowvec.LayerNorm(dst, src, gamma, beta, 1) },
				all(corners("dst", dst, isWritten), corners("src", src, isRead), vector("gamma", gamma, isRead), vector("beta", beta, isRead))
		},
		"LayerNormBackward": func() (func() error, []spot) {
			dst, src, dOut, gamma, dGamma, dBeta := m(), m(), m(), make([]float32, cols), make([]float32, cols), make([]float32, cols)
			return func() error { return rowvec.LayerNormBackward(dst, dOut, src, gamma, 1, dGamma, dBeta) },
				all(corners("dSrc", dst, isWritten), corners("src", src, isRead), corners("dOut", dOut, isRead), vector("gamma", gamma, isRead),
					vector("dGamma", dGamma, isWritten), vector("dBeta", dBeta, isWritten))
		},
		"Rotate": func() (func() error, []spot) { // where it is, and half of its only head
			x, angles := m(), m()
			angles.Cols = cols / 4 * 2
			return func() error { return rowvec.Rotate(x, x, rowvec.Rotation{Heads: 1}, angles, 1, 2) },
				[]spot{at("x[0]", &x.Data[0], isWritten), at("last rotated", &x.Data[3*x.Stride+angles.Cols-1], isWritten),
					at("not rotated", &x.Data[angles.Cols], untouched), at("angles", &angles.Data[2*angles.Stride], isRead),
					at("other angles", &angles.Data[3*angles.Stride], untouched)}
		},
		"RotateAt": func() (func() error, []spot) {
			dst, src, angles, ids := m(), m(), m(), ids()
			angles.Cols = cols / 4 * 2
			return func() error { return rowvec.RotateAt(dst, src, rowvec.Rotation{Heads: 2}, angles, ids) },
				all(corners("dst", dst, isWritten), corners("src", src, isRead), chosen("angles", angles, isRead), given(ids))
		},
		"Sinusoids": func() (func() error, []spot) {
			dst, x, y, c := m(), make([]float64, cols), make([]float64, cols), make([]float64, cols)
			return func() error { return rowvec.Sinusoids(dst, 0, x, y, c) },
				all(corners("dst", dst, isWritten), waves("x", x, isWritten), waves("y", y, isWritten), waves("c", c, isRead))
		},
		"UpdateSGD": func() (func() error, []spot) {
			table, grad, ids := m(), m(), ids()
			return func() error { return rowvec.UpdateSGD(table, ids, grad, 1, 0.5) },
				all(chosen("table", table, isWritten), corners("grad", grad, isRead), given(ids))
		},
		"UpdateAdagrad": func() (func() error, []spot) {
			table, sums, grad, ids := m(), m(), m(), ids()
			return func() error { return rowvec.UpdateAdagrad(table, sums, ids, grad, 1, 1) },
				all(chosen("table", table, isWritten), chosen("sums", sums, isWritten), corners("grad", grad, isRead), given(ids))
		},
		"UpdateRowAdagrad": func() (func() error, []spot) {
			table, sums, grad, ids := m(), make([]float32, rows), m(), ids()
			return func() error { return rowvec.UpdateRowAdagrad(table, sums, ids, grad, 1, 1) },
				all(chosen("table", table, isWritten), corners("grad", grad, isRead), given(ids),
					[]spot{at("sums[3]", &sums[3], isWritten), at("sums[2]", &sums[2], untouched)})
		},
		"UpdateAdam": func() (func() error, []spot) {
			table, means, squares, grad, ids := m(), m(), m(), m(), ids()
			return func() error { return rowvec.UpdateAdam(table, means, squares, ids, grad, rowvec.AdamStep{Epsilon: 1}) },
				all(chosen("table", table, isWritten), chosen("means", means, isWritten), chosen("squares", squares, isWritten),
					corners("grad", grad, isRead), given(ids))
		},
	}
	if rowvec.ISA() != "portable" { // assembly alone looks at what comes next, and may write to all maxima
		calls["maxima of other bags"] = func() (func() error, []spot) {
			dst, table, both := m(), m(), rowvec.Matrix{Rows: 2, Cols: 2 * cols, Data: make([]float32, 5*cols), Stride: 3 * cols}
			return func() error {
				forward.BagMaxBackward(dst, table, []int{1, 3, 1, 3}, both, make([]int, rows), false)
				return nil
			}, corners("both", both, isWritten)
		}
		calls["ids behind those of the rows"] = func() (func() error, []spot) {
			dst, table, ids := m(), m(), []uint64{1, 3, 1, 3, 1, 3}
			return func() error {
				forward.Do(forward.Rows{Dst: dst, Table: table, IDs: unsafe.Pointer(&ids[0]), Wide: true, More: 1})
				return nil
			}, []spot{at("the next", &ids[4], isRead), at("one more", &ids[5], untouched)}
		}
		calls["ids behind those of BagDots"] = func() (func() error, []spot) {
			a, table, ids, dst := m(), m(), []uint64{1, 3, 1, 3, 1, 3}, make([]float32, 4)
			return func() error {
				forward.BagDots(dst, forward.Bags{
					A: a, Table: table, IDs: unsafe.Pointer(&ids[0]), Wide: true, Offsets: []int{0, 1, 3, 3, 4}, More: 1,
				})
				return nil
			}, []spot{at("the next", &ids[4], isRead), at("one more", &ids[5], untouched)}
		}
		calls["ids behind those of DropSums"] = func() (func() error, []spot) {
			dst, table, positions, ids := m(), m(), m(), []uint64{1, 3, 1, 3, 1, 3}
			return func() error {
				forward.DropSums(forward.Rows{
					Dst: dst, Table: table, IDs: unsafe.Pointer(&ids[0]), Wide: true, More: 1, Positions: positions, Seq: 2, Scale: 2,
				}, rowvec.Mask{P: 0.5})
				return nil
			}, []spot{at("the next", &ids[4], isRead), at("one more", &ids[5], untouched)}
		}
		calls["rows that are normalised"] = func() (func() error, []spot) {
			dst, table, positions, add, affine, ids := m(), m(), m(), m(), m(), []uint64{1, 3, 1, 3, 1, 3}
			return func() error {
					forward.Normalise(forward.Normal{
						Rows: forward.Rows{Dst: dst, Table: table, IDs: unsafe.Pointer(&ids[0]), Wide: true, More: 1, Positions: positions, Seq: 2},
						Add:  add, AddStart: 1, AddSeq: 2, Gamma: affine.Row(0), Beta: affine.Row(1),
					})
					return nil
				}, all(chosen("table", table, isRead), corners("dst", dst, isWritten), []spot{
					at("positions[1]", &positions.Row(1)[cols-1], isRead), at("positions[2]", &positions.Row(2)[0], untouched),
					at("add[0]", &add.Row(0)[0], untouched), at("add[1]", &add.Row(1)[0], isRead), at("add[2]", &add.Row(2)[cols-1], isRead),
					at("gamma", &affine.Row(0)[0], isRead), at("beta", &affine.Row(1)[cols-1], isRead),
					at("the next id", &ids[4], isRead), at("one more", &ids[5], untouched),
				})
		}
		calls["ids of rows that Dropout fetches"] = func() (func() error, []spot) {
			dst, src, ids, next := m(), m(), []uint32{1, 3, 1}, m()
			next.Rows, next.Data = 1<<21/next.Stride, make([]float32, 1<<21) // more than sits in a cache
			return func() error {
				forward.Dropout(forward.Drop{Dst: dst, Src: src, Mask: rowvec.Mask{P: 0.5},
					Next: forward.Next{Table: next, IDs: unsafe.Pointer(&ids[0]), Rows: 2}})
				return nil
			}, []spot{at("the last", &ids[1], isRead), at("one more", &ids[2], untouched)}
		}
	}
	// The same memory is no race where two goroutines write rows or columns of their own.
	calls["two of other rows"] = func() (func() error, []spot) {
		dst, src, mine, theirs := m(), m(), []int32{1, 3, 3, 1}, []int32{0, 2, 2, 0}
		return func() error { return rowvec.ScatterAdd(dst, mine, 1, src) },
			[]spot{{"ScatterAdd", func() { _ = rowvec.ScatterAdd(dst, theirs, 1, src) }, func() {}, untouched}}
	}
	calls["two of other columns"] = func() (func() error, []spot) {
		dst, src, ids := m(), m(), ids()
		left, right := dst, dst
		left.Cols, right.Cols, right.Data = 5, cols-5, dst.Data[5:]
		src.Cols = 5
		other := src
		other.Cols, other.Data = cols-5, src.Data[5:]
		return func() error { return rowvec.ScatterAdd(left, ids, 1, src) },
			[]spot{{"ScatterAdd", func() { _ = rowvec.ScatterAdd(right, ids, 1, other) }, func() {}, untouched}}
	}
	calls["two of the same rows"] = func() (func() error, []spot) {
		dst, src, ids := m(), m(), ids()
		add := func() error { return rowvec.ScatterAdd(dst, ids, 1, src) }
		return add, []spot{{"ScatterAdd", func() { _ = add() }, func() { _ = add() }, isWritten}}
	}
	calls["two that read"] = func() (func() error, []spot) {
		dst, other, table, ids := m(), m(), m(), ids()
		return func() error { return rowvec.Gather(dst, table, ids) },
			[]spot{{"Gather", func() { _ = rowvec.Gather(other, table, ids) }, func() {}, untouched}}
	}
	return calls
}

// TestRacesAreSeen runs the programs of TestRaces in a process of its own, since a race fails a test, and wants the race
// detector to have seen each race and no other: a kernel in one goroutine, and in another an access in Go to one element of
// what it works on. Where the level is portable, the detector needs no help, and sees the same.
func TestRacesAreSeen(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestRaces$", "-test.v")
	cmd.Env = append(os.Environ(), "ROWVEC_RACES=1", "GORACE=suppress_equal_stacks=0 exitcode=0")
	out, err := cmd.CombinedOutput()
	programs := 0
	for line := range strings.SplitSeq(string(out), "\n") {
		if _, wrong, found := strings.Cut(line, "not as wanted: "); found {
			t.Error(wrong)
		}
		if _, n, found := strings.Cut(line, "programs: "); found {
			fmt.Sscan(n, &programs)
		}
	}
	if programs == 0 {
		t.Fatalf("no programs ran: %v\n%.2000s", err, out)
	}
	t.Logf("%d programs", programs)
}

// TestRaces is for TestRacesAreSeen.
func TestRaces(t *testing.T) {
	if os.Getenv("ROWVEC_RACES") == "" {
		t.Skip("has races on purpose")
	}
	programs := 0
	for name, program := range racing(20) {
		programs += try(name, program)
	}
	for _, name := range []string{"Dots", "DotsAll", "UpdateRowAdagrad", "Gather"} { // whose long rows go other ways
		programs += try(name+" of long rows", racing(70_000)[name])
	}
	fmt.Println("programs:", programs)
}

// try runs a program for each of its places, and returns how often that is to be. Of two goroutines of which one writes, the
// other one does what makes a race if the kernel has announced all that it does. A race that is not seen gets two more tries:
// under load, the detector missed one of some 70,000.
func try(name string, program func() (func() error, []spot)) (programs int) {
	_, places := program()
	for i, p := range places {
		for _, write := range []bool{false, true} {
			if p.use == isWritten && write {
				continue // reading it is enough
			}
			programs++
			want := p.use == isWritten || p.use == isRead && write
			seen := false
			for tries := 0; tries < 1 || want && !seen && tries < 3; tries++ {
				seen = tryOnce(name, program, i, write)
			}
			if seen != want {
				fmt.Printf("not as wanted: %s: race at %s (written: %v) is seen: %v, want %v\n", name, p.name, write, seen, want)
			}
		}
	}
	return programs
}

// tryOnce runs a program whose place number i is read or written meanwhile, and reports whether a race is seen.
func tryOnce(name string, program func() (func() error, []spot), i int, write bool) bool {
	call, places := program()
	access := places[i].read
	if write {
		access = places[i].write
	}
	before := runtime.RaceErrors()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := call(); err != nil {
			fmt.Println("not as wanted:", name, err)
		}
	})
	wg.Go(access)
	wg.Wait()
	return runtime.RaceErrors() > before
}
