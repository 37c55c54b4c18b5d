package rowvec_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/misuse"
)

// TestEveryMisuse calls every function wrongly in every way that package misuse knows: see testdata/misuse.txt for what
// comes of it. The flag -update writes that file anew.
func TestEveryMisuse(t *testing.T) {
	calls := map[string]func() *misuse.Call{}
	addIDCalls[int64](calls, "")
	addIDCalls[int32](calls, "/int32")
	addIDCalls[uint64](calls, "/uint64")
	addIDCalls[uint32](calls, "/uint32")
	addCalls(calls)
	isatest.Each(t, func(t *testing.T) {
		if isatest.Sampled() {
			misuse.Run(t, "", calls, 3, 7)
		} else {
			misuse.Run(t, "", calls, 0, 1)
		}
	})
}

// filled returns a matrix with a gap behind each row, whose elements are all different.
func filled(rows, cols int) rowvec.Matrix {
	m := rowvec.Matrix{Rows: rows, Cols: cols, Stride: cols + 1, Data: numbered(rows * (cols + 1))}
	return m
}

func numbered(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i) + 0.5
	}
	return x
}

// addIDCalls adds the functions that take ids, which are of 7 rows; those of positions of 6. Other types than the first have
// nothing but their ids spoilt.
func addIDCalls[I rowvec.ID](calls map[string]func() *misuse.Call, suffix string) {
	const rows, cols = 7, 5
	type args struct {
		dst, table, positions, sums, squares, bags rowvec.Matrix
		ids, at                                    []I
		offsets                                    []int
		weights, rowSums                           []float32
		start, seq                                 int
		rotation                                   rowvec.Rotation
		turns, heads                               rowvec.Matrix
		rows                                       int
	}
	add := func(name string, call func(a *args) ([]misuse.Arg, func() error)) {
		calls[name+suffix] = func() *misuse.Call {
			a := &args{
				dst: filled(4, cols), table: filled(rows, cols), positions: filled(6, cols), sums: filled(rows, cols),
				squares: filled(rows, cols), bags: filled(3, cols), ids: []I{6, 0, 3, 6}, at: []I{5, 0, 1, 5},
				offsets: []int{0, 1, 1, 4}, weights: numbered(4), rowSums: numbered(rows), start: 1, seq: 2,
				rotation: rowvec.Rotation{Heads: 2}, turns: filled(6, 2), heads: filled(4, 6), rows: rows,
			}
			list, do := call(a)
			if suffix != "" {
				ids := list[:0]
				for _, arg := range list {
					if arg.Kind == "ids" {
						ids = append(ids, arg)
					}
				}
				list = ids
			}
			return &misuse.Call{Args: list, Do: do}
		}
	}
	arg := func(name string, at any) misuse.Arg { return misuse.Arg{Name: name, At: at} }
	ids := func(name string, at *[]I) misuse.Arg { return misuse.Arg{Name: name, At: at, Kind: "ids"} }
	offsets := func(at *[]int) misuse.Arg { return misuse.Arg{Name: "offsets", At: at, Kind: "offsets"} }

	add("CheckIDs", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{ids("ids", &a.ids), arg("rows", &a.rows)},
			func() error { return rowvec.CheckIDs(a.ids, a.rows) }
	})
	add("Gather", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("dst", &a.dst), arg("table", &a.table), ids("ids", &a.ids)},
			func() error { return rowvec.Gather(a.dst, a.table, a.ids) }
	})
	add("Gather/one", func(a *args) ([]misuse.Arg, func() error) {
		a.dst.Rows, a.ids = 1, a.ids[:1]
		return []misuse.Arg{arg("dst", &a.dst), arg("table", &a.table), ids("ids", &a.ids)},
			func() error { return rowvec.Gather(a.dst, a.table, a.ids) }
	})
	add("GatherScaled", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("dst", &a.dst), arg("table", &a.table), ids("ids", &a.ids)},
			func() error { return rowvec.GatherScaled(a.dst, a.table, a.ids, 2) }
	})
	add("ScatterAdd", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("dst", &a.table), ids("ids", &a.ids), arg("src", &a.dst)},
			func() error { return rowvec.ScatterAdd(a.table, a.ids, 2, a.dst) }
	})
	add("Embed", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("dst", &a.dst), arg("table", &a.table), ids("ids", &a.ids), arg("positions", &a.positions),
				arg("start", &a.start), arg("seq", &a.seq)},
			func() error { return rowvec.Embed(a.dst, a.table, a.ids, 2, a.positions, a.start, a.seq) }
	})
	add("EmbedAt", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("dst", &a.dst), arg("table", &a.table), ids("ids", &a.ids), arg("positions", &a.positions),
				ids("at", &a.at)},
			func() error { return rowvec.EmbedAt(a.dst, a.table, a.ids, 2, a.positions, a.at) }
	})
	add("EmbedBackward", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("tokens", &a.table), arg("positions", &a.positions), ids("ids", &a.ids), arg("dOut", &a.dst),
				arg("start", &a.start), arg("seq", &a.seq)},
			func() error { return rowvec.EmbedBackward(a.table, a.positions, a.ids, 2, a.dst, a.start, a.seq) }
	})
	add("EmbedAtBackward", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("tokens", &a.table), arg("positions", &a.positions), ids("ids", &a.ids), arg("dOut", &a.dst),
				ids("at", &a.at)},
			func() error { return rowvec.EmbedAtBackward(a.table, a.positions, a.ids, 2, a.dst, a.at) }
	})
	add("BagSum", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("dst", &a.bags), arg("table", &a.table), ids("ids", &a.ids), offsets(&a.offsets),
				arg("weights", &a.weights)},
			func() error { return rowvec.BagSum(a.bags, a.table, a.ids, a.offsets, a.weights) }
	})
	add("BagMean", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("dst", &a.bags), arg("table", &a.table), ids("ids", &a.ids), offsets(&a.offsets)},
			func() error { return rowvec.BagMean(a.bags, a.table, a.ids, a.offsets) }
	})
	add("BagMax", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("dst", &a.bags), arg("table", &a.table), ids("ids", &a.ids), offsets(&a.offsets)},
			func() error { return rowvec.BagMax(a.bags, a.table, a.ids, a.offsets) }
	})
	add("Dots", func(a *args) ([]misuse.Arg, func() error) {
		a.dst = filled(2, 4)
		a.bags.Rows = 2
		return []misuse.Arg{arg("dst", &a.dst), arg("a", &a.bags), arg("table", &a.table), ids("ids", &a.ids)},
			func() error { return rowvec.Dots(a.dst, a.bags, a.table, a.ids) }
	})
	add("RotateAt", func(a *args) ([]misuse.Arg, func() error) {
		src := filled(4, 6)
		return []misuse.Arg{arg("dst", &a.heads), arg("src", &src), arg("r.Heads", &a.rotation.Heads), arg("angles", &a.turns),
				ids("at", &a.at)},
			func() error { return rowvec.RotateAt(a.heads, src, a.rotation, a.turns, a.at) }
	})
	add("UpdateSGD", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("table", &a.table), ids("ids", &a.ids), arg("grad", &a.dst)},
			func() error { return rowvec.UpdateSGD(a.table, a.ids, a.dst, 0.1, 0.01) }
	})
	add("UpdateAdagrad", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("table", &a.table), arg("sums", &a.sums), ids("ids", &a.ids), arg("grad", &a.dst)},
			func() error { return rowvec.UpdateAdagrad(a.table, a.sums, a.ids, a.dst, 0.1, 1e-3) }
	})
	add("UpdateRowAdagrad", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("table", &a.table), arg("sums", &a.rowSums), ids("ids", &a.ids), arg("grad", &a.dst)},
			func() error { return rowvec.UpdateRowAdagrad(a.table, a.rowSums, a.ids, a.dst, 0.1, 1e-3) }
	})
	add("UpdateAdam", func(a *args) ([]misuse.Arg, func() error) {
		return []misuse.Arg{arg("table", &a.table), arg("means", &a.sums), arg("squares", &a.squares), ids("ids", &a.ids),
				arg("grad", &a.dst)},
			func() error {
				return rowvec.UpdateAdam(a.table, a.sums, a.squares, a.ids, a.dst, rowvec.AdamStep{Keep: 1})
			}
	})
}

// addCalls adds the functions without ids.
func addCalls(calls map[string]func() *misuse.Call) {
	arg := func(name string, at any) misuse.Arg { return misuse.Arg{Name: name, At: at} }
	calls["NewMatrix"] = func() *misuse.Call {
		rows, cols := 3, 4
		return &misuse.Call{Args: []misuse.Arg{arg("rows", &rows), arg("cols", &cols)}, Do: func() error {
			m, err := rowvec.NewMatrix(rows, cols)
			return misuse.Made(m, err)
		}}
	}
	calls["CheckMatrix"] = func() *misuse.Call {
		m := filled(3, 4)
		return &misuse.Call{Args: []misuse.Arg{arg("m", &m)}, Do: func() error { return rowvec.CheckMatrix("CheckMatrix", "m", m) }}
	}
	calls["AddScaled"] = func() *misuse.Call {
		x, y := numbered(9), numbered(9)
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &x), arg("src", &y)}, Do: func() error { return rowvec.AddScaled(x, 2, y) }}
	}
	calls["Add"] = func() *misuse.Call {
		x, y := numbered(9), numbered(9)
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &x), arg("src", &y)}, Do: func() error { return rowvec.Add(x, y) }}
	}
	calls["AddBatches"] = func() *misuse.Call {
		dst, src := filled(2, 5), filled(4, 5)
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg("src", &src)}, Do: func() error { return rowvec.AddBatches(dst, src) }}
	}
	calls["DotsAll"] = func() *misuse.Call {
		dst, a, table := filled(2, 7), filled(2, 5), filled(7, 5)
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg("a", &a), arg("table", &table)}, Do: func() error {
			return rowvec.DotsAll(dst, a, table)
		}}
	}
	calls["Dropout"] = func() *misuse.Call {
		dst, src, mask := filled(3, 20), filled(3, 20), rowvec.Mask{P: 0.5, Row: 1, Col: 16}
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg("src", &src), arg("mask.P", &mask.P),
			arg("mask.Step", &mask.Step), arg("mask.Row", &mask.Row), arg("mask.Col", &mask.Col)}, Do: func() error {
			return rowvec.Dropout(dst, src, mask)
		}}
	}
	calls["LayerNorm"] = func() *misuse.Call {
		dst, src, gamma, beta, epsilon := filled(3, 5), filled(3, 5), numbered(5), numbered(5), float32(1e-5)
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg("src", &src), arg("gamma", &gamma), arg("beta", &beta),
			arg("epsilon", &epsilon)}, Do: func() error { return rowvec.LayerNorm(dst, src, gamma, beta, epsilon) }}
	}
	calls["LayerNormBackward"] = func() *misuse.Call {
		dSrc, dOut, src, gamma, epsilon := filled(3, 5), filled(3, 5), filled(3, 5), numbered(5), float32(1e-5)
		dGamma, dBeta := numbered(5), numbered(5)
		return &misuse.Call{Args: []misuse.Arg{arg("dSrc", &dSrc), arg("dOut", &dOut), arg("src", &src), arg("gamma", &gamma),
			arg("epsilon", &epsilon), arg("dGamma", &dGamma), arg("dBeta", &dBeta)}, Do: func() error {
			return rowvec.LayerNormBackward(dSrc, dOut, src, gamma, epsilon, dGamma, dBeta)
		}}
	}
	calls["Rotate"] = func() *misuse.Call {
		dst, src, angles, r, start, seq := filled(4, 6), filled(4, 6), filled(6, 2), rowvec.Rotation{Heads: 2}, 1, 2
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg("src", &src), arg("r.Heads", &r.Heads),
			arg("angles", &angles), arg("start", &start), arg("seq", &seq)}, Do: func() error {
			return rowvec.Rotate(dst, src, r, angles, start, seq)
		}}
	}
	calls["Sinusoids"] = func() *misuse.Call {
		dst, skip, x, y, c := filled(3, 4), 1, []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, []float64{1, 1, 1, 1}
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst),
			{Name: "skip", At: &skip, Skip: "=MaxInt =MaxInt-1"}, // rows that there is time for
			arg("x", &x), arg("y", &y), arg("c", &c)}, Do: func() error { return rowvec.Sinusoids(dst, skip, x, y, c) }}
	}
}

// TestMostBags: one more than the largest int is none.
func TestMostBags(t *testing.T) {
	endless := rowvec.Matrix{Rows: math.MaxInt}
	want := fmt.Sprintf("rowvec: BagSum: dst.Rows is %d, want at most %d", math.MaxInt, math.MaxInt-1)
	if err := rowvec.BagSum[int](endless, endless, nil, nil, nil); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestOverlapBorder: of a matrix, the elements from the first to the last are its own, and not one more.
func TestOverlapBorder(t *testing.T) {
	data := make([]float32, 30)
	m := rowvec.Matrix{Rows: 3, Cols: 4, Data: data[5:], Stride: 6} // 5 to 20
	for i := range data {
		one := rowvec.Matrix{Rows: 1, Cols: 1, Data: data[i:], Stride: 1}
		want := i >= 5 && i <= 20
		if rowvec.Overlap(m, one) != want || rowvec.Overlap(one, m) != want {
			t.Errorf("element %d: overlap is %v and %v, want %v", i, rowvec.Overlap(m, one), rowvec.Overlap(one, m), want)
		}
	}
}
