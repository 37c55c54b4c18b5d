package kernels_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec/kernels"
)

// The numbers below are chosen for roots and quotients that are exact: 9 + 4*4 = 25, 25 + 12*12 = 169, and 5 + 3 = 8,
// 13 + 3 = 16.

func TestUpdateSGDByHand(t *testing.T) {
	ids := []int{1, 0, 1}
	grad := rows([]float32{1, 2}, []float32{4, 8}, []float32{2, 2})

	table := rows([]float32{1, 2}, []float32{3, 4})
	expectDone(t, "UpdateSGD", kernels.UpdateSGD(table, ids, grad, 0.5, 0), 3)
	expect(t, "without decay", table.Data, []float32{-1, -2, 1.5, 2})

	table = rows([]float32{1, 2}, []float32{3, 4}, []float32{5, 6})
	expectDone(t, "UpdateSGD", kernels.UpdateSGD(table, ids, grad, 0.5, 0.5), 3)
	expect(t, "with decay", table.Data, []float32{-1.25, -2.5, 0.3125, 0.5, 5, 6})

	table = rows([]float32{inf, 2, negativeZero}, []float32{nan, 4, 1})
	kernels.UpdateSGD(table, ids[:2], rows([]float32{1, nan, -inf}, []float32{0, 0, 0}), 1, 1)
	expect(t, "what is not finite", table.Data, []float32{nan, 0, negativeZero, nan, nan, inf})
}

func TestUpdateAdagradByHand(t *testing.T) {
	table, sums := rows([]float32{-1, -2}, []float32{10, 20}), rows([]float32{7, 7}, []float32{9, 9})
	grad := rows([]float32{4, -4}, []float32{12, -12})
	expectDone(t, "UpdateAdagrad", kernels.UpdateAdagrad(table, sums, []int{1, 1}, grad, 4, 3), 2)
	expect(t, "table", table.Data, []float32{-1, -2, 5, 25})
	expect(t, "sums", sums.Data, []float32{7, 7, 169, 169})

	table, sums = rows([]float32{1, 1, 1, 1}), rows([]float32{0, 0, 4, -1})
	kernels.UpdateAdagrad(table, sums, []uint{0}, rows([]float32{0, inf, nan, 0}), 1, 0)
	expect(t, "what is not finite", table.Data, []float32{nan, nan, nan, nan})
	expect(t, "its sums", sums.Data, []float32{0, inf, nan, -1})
}

func TestUpdateRowAdagradByHand(t *testing.T) {
	table, sums := rows([]float32{1, 2, 3, 4}, []float32{10, 20, 30, 40}), []float32{7, 0}
	grad := rows([]float32{2, -4, 4, 8}, []float32{12, 12, -12, 12}) // means of squares 25 and 144
	expectDone(t, "UpdateRowAdagrad", kernels.UpdateRowAdagrad(table, sums, []int{1, 1}, grad, 4, 3), 2)
	expect(t, "table", table.Data, []float32{1, 2, 3, 4, 6, 19, 31, 33})
	expect(t, "sums", sums, []float32{7, 169})

	table, sums = rows([]float32{1, 2}), []float32{0}
	kernels.UpdateRowAdagrad(table, sums, []int{0}, rows([]float32{inf, 1}), 1, 1)
	expect(t, "an infinite gradient", table.Data, []float32{nan, 2})
	expect(t, "its sum", sums, []float32{inf})
}

// TestUpdateRowAdagradLanes adds up squares whose order decides: 2^24 and 1 in one lane, where the 1 is lost, or in lanes
// that meet sooner or later.
func TestUpdateRowAdagradLanes(t *testing.T) {
	const big = 0x1p12
	sum := func(at map[int]float32) float32 {
		grad, sums := filled(1, 64, 0), []float32{0} // 64 is a power of two: its quotients are exact
		for i, x := range at {
			grad.Data[i] = x
		}
		kernels.UpdateRowAdagrad(filled(1, 64, 0), sums, []int{0}, grad, 1, 1)
		return sums[0] * 64
	}
	for _, c := range []struct {
		at   map[int]float32
		want float32
	}{
		{map[int]float32{3: big, 19: 1, 35: 1}, 0x1p24},          // one lane: each 1 is a tie that rounds to even
		{map[int]float32{3: 1, 19: 1, 35: big}, 0x1p24 + 2},      // from the left
		{map[int]float32{3: big, 4: 1, 20: 1}, 0x1p24 + 2},       // the ones in a lane of their own
		{map[int]float32{3: big, 11: 1, 27: 1}, 0x1p24 + 2},      // likewise
		{map[int]float32{3: big, 11: 1, 7: 1}, 0x1p24},           // lanes 3 and 11 first, then 7
		{map[int]float32{3: big, 7: 1, 15: 1}, 0x1p24 + 2},       // 7 and 15 first
		{map[int]float32{3: big, 1: 1, 5: 1}, 0x1p24 + 2},        // 1 and 5 in front of 3
		{map[int]float32{3: big, 5: 1, 1: 0, 2: 1}, 0x1p24},      // 1 with 5, then 3 with it, then 2 and 0
		{map[int]float32{3: big, 0: 1, 2: 1, 16: 1}, 0x1p24 + 4}, // 0, 16 and 2: 3, added last, is a tie that rounds up
	} {
		if got := sum(c.at); got != c.want {
			t.Errorf("%v: %v, want %v", c.at, got, c.want)
		}
	}
}

func TestUpdateAdamByHand(t *testing.T) {
	table, means, squares := rows([]float32{1, 2}, []float32{10, -10}), filled(2, 2, 2), filled(2, 2, 14)
	step := kernels.AdamStep{MeanWeight: 0.5, SquareWeight: 0.5, Rate: 4, Epsilon: 3, Keep: 1}
	grad := rows([]float32{6, -6})
	expectDone(t, "UpdateAdam", kernels.UpdateAdam(table, means, squares, []int32{1}, grad, step), 1)
	expect(t, "table", table.Data, []float32{1, 2, 8, -9})
	expect(t, "means", means.Data, []float32{2, 2, 4, -2})
	expect(t, "squares", squares.Data, []float32{14, 14, 25, 25})

	step.Keep = 0.5
	squares.Data[0], squares.Data[1] = 14, 14
	kernels.UpdateAdam(table, means, squares, []int32{0}, grad, step)
	expect(t, "with decay", table.Data, []float32{-1.5, 2, 8, -9})

	table, means, squares = filled(1, 4, 1), filled(1, 4, 0), filled(1, 4, 0)
	step = kernels.AdamStep{MeanWeight: 0.5, SquareWeight: 0.5, Rate: 1, Keep: 1}
	kernels.UpdateAdam(table, means, squares, []int{0}, rows([]float32{inf, nan, 0, -inf}), step)
	expect(t, "what is not finite", table.Data, []float32{nan, nan, nan, nan})
	expect(t, "its means", means.Data, []float32{inf, nan, 0, -inf})
	expect(t, "its squares", squares.Data, []float32{inf, nan, 0, inf})
}

// updater is a call of each update; state is the matrices that it writes to.
type updater struct {
	name   string
	update func(state [3]kernels.Matrix, ids []int, grad kernels.Matrix) int
}

var updaters = []updater{
	{"UpdateSGD", func(s [3]kernels.Matrix, ids []int, grad kernels.Matrix) int {
		return kernels.UpdateSGD(s[0], ids, grad, 0.3, 0)
	}},
	{"UpdateSGD with decay", func(s [3]kernels.Matrix, ids []int, grad kernels.Matrix) int {
		return kernels.UpdateSGD(s[0], ids, grad, 0.3, 0.01)
	}},
	{"UpdateAdagrad", func(s [3]kernels.Matrix, ids []int, grad kernels.Matrix) int {
		return kernels.UpdateAdagrad(s[0], s[1], ids, grad, 0.3, 1e-3)
	}},
	{"UpdateRowAdagrad", func(s [3]kernels.Matrix, ids []int, grad kernels.Matrix) int {
		return kernels.UpdateRowAdagrad(s[0], s[1].Data[:s[0].Rows], ids, grad, 0.3, 1e-3)
	}},
	{"UpdateAdam", func(s [3]kernels.Matrix, ids []int, grad kernels.Matrix) int {
		return kernels.UpdateAdam(s[0], s[1], s[2], ids, grad,
			kernels.AdamStep{MeanWeight: 0.1, SquareWeight: 0.001, Rate: 0.3, Epsilon: 1e-3, Keep: 0.999})
	}},
}

// TestUpdateDuplicates: ids that occur several times are steps one after the other, and an id out of range ends them.
func TestUpdateDuplicates(t *testing.T) {
	ids := []int{2, 0, 2, 2, 1, 0}
	grad := filled(len(ids), 5, 0)
	for i := range grad.Data {
		grad.Data[i] = float32(math.Sin(float64(i)))
	}
	for _, u := range updaters {
		got := [3]kernels.Matrix{filled(3, 5, 0.7), filled(3, 5, 0.1), filled(3, 5, 0.2)}
		want := got
		for i := range want {
			want[i].Data = slices.Clone(got[i].Data)
		}
		for i, id := range ids[:4] {
			one := kernels.Matrix{Rows: 1, Cols: 5, Data: grad.Row(i), Stride: 5}
			expectDone(t, u.name, u.update(want, []int{id}, one), 1)
		}
		for _, bad := range []int{-1, 3, math.MinInt} {
			state := got
			for i := range state {
				state[i].Data = slices.Clone(got[i].Data)
			}
			ids[4] = bad
			expectDone(t, u.name, u.update(state, ids, grad), 4)
			for i := range state {
				expect(t, fmt.Sprintf("%s, matrix %d, id %d", u.name, i, bad), state[i].Data, want[i].Data)
			}
		}
	}
}

// TestUpdateStrides: what lies between the rows is neither read nor written, and rows without columns are nothing to do.
func TestUpdateStrides(t *testing.T) {
	ids := []int{1, 1, 0}
	for _, u := range updaters {
		var got, want [3]kernels.Matrix
		for k := range got {
			want[k] = filled(2, 3, 0.25)
			got[k] = kernels.Matrix{Rows: 2, Cols: 3, Data: slices.Repeat([]float32{untouched}, 7+k), Stride: 4 + k}
			copy(got[k].Row(0), want[k].Row(0))
			copy(got[k].Row(1), want[k].Row(1))
		}
		if u.name == "UpdateRowAdagrad" {
			got[1] = filled(2, 3, 0.25)
		}
		grad := kernels.Matrix{Rows: 3, Cols: 3, Data: []float32{1, 2, 3, nan, 4, 5, 6, nan, 7, 8, 9}, Stride: 4}
		u.update(got, ids, grad)
		u.update(want, ids, rows([]float32{1, 2, 3}, []float32{4, 5, 6}, []float32{7, 8, 9}))
		for k := range got {
			for i := range 2 {
				expect(t, fmt.Sprintf("%s, matrix %d, row %d", u.name, k, i), got[k].Row(i), want[k].Row(i))
			}
			for i, x := range got[k].Data {
				if i%got[k].Stride >= 3 && x != untouched {
					t.Errorf("%s, matrix %d: element %d, between two rows, was written to", u.name, k, i)
				}
			}
		}

		flat := kernels.Matrix{Rows: 2, Stride: 3}
		none := [3]kernels.Matrix{flat, {Rows: 2, Data: []float32{1, 2}}, flat}
		if u.name == "UpdateRowAdagrad" {
			expectDone(t, u.name, u.update(none, ids, kernels.Matrix{Rows: 3}), 3)
			expect(t, "sums of rows without columns", none[1].Data, []float32{1, 2})
		}
		expectDone(t, u.name, u.update(none, nil, kernels.Matrix{}), 0)
	}
}

// TestUpdateSGDUnfused has both products be (1 + 2^-12)^2, which is 1 + 2^-11 + 2^-24 and rounds to 1 + 2^-11, and the
// sums cancel that.
func TestUpdateSGDUnfused(t *testing.T) {
	const x, square = 1 + 0x1p-12, 1 + 0x1p-11
	if fused := math.FMA(x, x, -square); fused != 0x1p-24 {
		t.Fatalf("the example is wrong: fused, it is %g", fused)
	}
	table := rows([]float32{x})
	kernels.UpdateSGD(table, []int{0}, rows([]float32{-square}), 0x1p20, x)
	expect(t, "gradient and decay", table.Data, []float32{x})
	table = rows([]float32{square})
	kernels.UpdateSGD(table, []int{0}, rows([]float32{x}), x, 0x1p-60)
	expect(t, "weight and step", table.Data, []float32{0})
}

// TestUpdateMisshapen calls the updates with matrices that contradict each other, themselves or the ids. Each must panic
// before it writes anything.
func TestUpdateMisshapen(t *testing.T) {
	whole := make([]float32, 64)
	matrix := func(rows, cols, stride, data int) kernels.Matrix {
		return kernels.Matrix{Rows: rows, Cols: cols, Data: whole[8 : 8+data], Stride: stride}
	}
	for _, bad := range []kernels.Matrix{
		matrix(1, 5, 5, 5),                    // too few rows
		matrix(2, 1, 1, 2),                    // too few columns
		matrix(2, 6, 6, 12),                   // too many
		matrix(2, 5, 5, 9),                    // too little data, though there is room behind it
		matrix(2, 5, 3, 10),                   // rows that overlap
		matrix(2, 5, -4, 10),                  // or go backwards
		{Rows: 2, Cols: 5, Stride: 5},         // none at all
		{Rows: -1, Cols: 5, Stride: 5},        // fewer than none
		{Rows: 2, Cols: 5, Data: whole[8:18]}, // all rows in one place
	} {
		good := func() kernels.Matrix { return filled(2, 5, 1) }
		ids, sums, step := []int{0, 1}, []float32{1, 1}, kernels.AdamStep{Keep: 1}
		for name, run := range map[string]func(w, s kernels.Matrix){
			"UpdateSGD grad":        func(w, _ kernels.Matrix) { kernels.UpdateSGD(w, ids, bad, 1, 1) },
			"UpdateAdagrad grad":    func(w, s kernels.Matrix) { kernels.UpdateAdagrad(w, s, ids, bad, 1, 1) },
			"UpdateRowAdagrad grad": func(w, _ kernels.Matrix) { kernels.UpdateRowAdagrad(w, sums, ids, bad, 1, 1) },
			"UpdateAdam grad":       func(w, s kernels.Matrix) { kernels.UpdateAdam(w, s, good(), ids, bad, step) },
			"UpdateAdagrad sums":    func(w, _ kernels.Matrix) { kernels.UpdateAdagrad(w, bad, ids, good(), 1, 1) },
			"UpdateRowAdagrad sums": func(w, _ kernels.Matrix) { kernels.UpdateRowAdagrad(w, whole[:1], ids, good(), 1, 1) },
			"UpdateAdam means":      func(w, s kernels.Matrix) { kernels.UpdateAdam(w, bad, s, ids, good(), step) },
			"UpdateAdam squares":    func(w, s kernels.Matrix) { kernels.UpdateAdam(w, s, bad, ids, good(), step) },
			"UpdateSGD table":       func(_, s kernels.Matrix) { mustHaveRows(bad); kernels.UpdateSGD(bad, ids, s, 1, 1) },
			"UpdateAdagrad table": func(_, s kernels.Matrix) {
				mustHaveRows(bad)
				kernels.UpdateAdagrad(bad, s, ids, good(), 1, 1)
			},
			"UpdateRowAdagrad table": func(_, s kernels.Matrix) { mustHaveRows(bad); kernels.UpdateRowAdagrad(bad, sums, ids, s, 1, 1) },
			"UpdateAdam table": func(_, s kernels.Matrix) {
				mustHaveRows(bad)
				kernels.UpdateAdam(bad, s, good(), ids, good(), step)
			},
		} {
			func() {
				for i := range whole {
					whole[i] = untouched
				}
				w, s := good(), good()
				defer func() {
					if recover() == nil {
						t.Errorf("%s of %d x %d, stride %d, %d elements: no panic", name, bad.Rows, bad.Cols, bad.Stride, len(bad.Data))
					}
					for _, x := range [][]float32{w.Data, s.Data, sums} {
						for i, y := range x {
							if y != 1 {
								t.Errorf("%s of %d x %d: element %d has changed", name, bad.Rows, bad.Cols, i)
							}
						}
					}
					for i, x := range whole {
						if x != untouched {
							t.Errorf("%s of %d x %d: element %d has changed", name, bad.Rows, bad.Cols, i-8)
						}
					}
				}()
				run(w, s)
			}()
		}
	}
}
