package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/rowvec/rowvec/internal/reference"
	"github.com/rowvec/rowvec/kernels"
)

// The definitions are held to NumPy and PyTorch bit for bit, for rows with and without gaps. There are tolerances only for
// sums over a batch and updates by PyTorch, which adds in another order or fuses operations, and for NumPy in float64:
// reference.SumError, CloseUpdate and CloseRowAdagrad.

var gaps = []int{0, 5}

// each runs test for every case and gap.
func each[T any](t *testing.T, cases []T, name func(T) string, test func(t *testing.T, c T, gap int)) {
	t.Helper()
	for _, c := range cases {
		for _, gap := range gaps {
			t.Run(fmt.Sprintf("%s/gap=%d", name(c), gap), func(t *testing.T) { test(t, c, gap) })
		}
	}
}

// ids converts ids to another type.
func ids[I kernels.ID](from []int) []I {
	to := make([]I, len(from))
	for i, id := range from {
		to[i] = I(id)
	}
	return to
}

func TestForwardReference(t *testing.T) {
	each(t, reference.ForwardCases(t), func(c reference.Forward) string { return c.Name },
		func(t *testing.T, c reference.Forward, gap int) {
			table, positions := reference.Copy(c.Table, gap), reference.Copy(c.Positions, gap)
			n, scale := len(c.IDs), float32(c.Scale)
			done := func(what string, got int) {
				t.Helper()
				if got != n {
					t.Errorf("%s: %d rows done, want %d", what, got, n)
				}
			}
			dst := reference.Zeros(c.Gathered, gap)
			done("Gather", kernels.Gather(dst, table, c.IDs))
			reference.Identical(t, "Gather", dst, c.Gathered)

			dst = reference.Zeros(c.Scaled, gap)
			done("GatherScaled", kernels.GatherScaled(dst, table, ids[int32](c.IDs), scale))
			reference.Equal(t, "GatherScaled", dst, c.Scaled)

			dst = reference.Zeros(c.Embedded, gap)
			done("Embed", kernels.Embed(dst, table, ids[uint64](c.IDs), scale, positions, c.Start, c.Seq))
			reference.Equal(t, "Embed", dst, c.Embedded)

			dst = reference.Zeros(c.EmbeddedAt, gap)
			done("EmbedAt", kernels.EmbedAt(dst, table, ids[int64](c.IDs), scale, positions, ids[uint32](c.At)))
			reference.Equal(t, "EmbedAt", dst, c.EmbeddedAt)
		})
}

func TestScatterReference(t *testing.T) {
	each(t, reference.ScatterCases(t), func(c reference.Scatter) string { return c.Name },
		func(t *testing.T, c reference.Scatter, gap int) {
			src := reference.Copy(c.Src, gap)
			for _, p := range []struct {
				alpha float32
				want  reference.Matrix
			}{{1, c.Added}, {float32(c.Alpha), c.AddedScaled}} {
				dst := reference.Copy(c.Dst, gap)
				if done := kernels.ScatterAdd(dst, c.IDs, p.alpha, src); done != len(c.IDs) {
					t.Errorf("%d rows done, want %d", done, len(c.IDs))
				}
				reference.Equal(t, fmt.Sprintf("ScatterAdd, alpha %v", p.alpha), dst, p.want)
			}
		})
}

// TestEmbeddingReference takes the gradient of a table from ScatterAdd: the padding row's, which nn.Embedding leaves at
// zero, is cleared behind it.
func TestEmbeddingReference(t *testing.T) {
	each(t, reference.EmbeddingCases(t), func(c reference.Embedding) string { return c.Name },
		func(t *testing.T, c reference.Embedding, gap int) {
			dOut := reference.Copy(c.DOut, gap)
			for _, p := range []struct {
				scale float32
				want  reference.Matrix
			}{{1, c.Grad}, {float32(c.Scale), c.GradScaled}} {
				grad := reference.Zeros(p.want, gap)
				kernels.ScatterAdd(grad, c.IDs, p.scale, dOut)
				if c.Padding >= 0 {
					clear(grad.Row(c.Padding))
				}
				reference.Equal(t, fmt.Sprintf("gradient, scale %v", p.scale), grad, p.want)
			}
		})
}

func TestPositionsReference(t *testing.T) {
	each(t, reference.PositionsCases(t), func(c reference.Positions) string { return c.Name },
		func(t *testing.T, c reference.Positions, gap int) {
			grad := reference.Zeros(c.Grad, gap)
			kernels.AddBatches(grad, reference.Copy(c.DOut, gap), c.Batches)
			reference.Equal(t, "AddBatches", grad, c.Grad)
			reference.CloseSums(t, "AddBatches and PyTorch", grad, c.Torch, c.DOut, c.Batches)
		})
}

// TestLayerReference runs the complete layer, forward and back.
func TestLayerReference(t *testing.T) {
	each(t, reference.LayerCases(t), func(c reference.Layer) string { return c.Name },
		func(t *testing.T, c reference.Layer, gap int) {
			table, dOut, scale := reference.Copy(c.Table, gap), reference.Copy(c.DOut, gap), float32(c.Scale)
			out := reference.Zeros(c.Out, gap)
			if c.Kind == "none" {
				kernels.GatherScaled(out, table, c.IDs, scale)
			} else {
				kernels.Embed(out, table, c.IDs, scale, reference.Copy(c.Positions, gap), 0, c.Seq)
			}
			reference.Equal(t, "forward", out, c.Out)

			grad := reference.Zeros(c.TokenGrad, gap)
			kernels.ScatterAdd(grad, c.IDs, scale, dOut)
			clear(grad.Row(c.Padding))
			reference.Equal(t, "gradient of tokens", grad, c.TokenGrad)

			if c.Kind == "learned" {
				batches := len(c.IDs) / c.Seq
				grad := reference.Zeros(c.PositionGrad, gap)
				used := grad
				used.Rows = c.Seq
				kernels.AddBatches(used, dOut, batches)
				reference.Equal(t, "gradient of positions", grad, c.PositionGrad)
				reference.CloseSums(t, "gradient of positions and PyTorch", grad, c.PositionGradTorch, c.DOut, batches)
			}
		})
}

func TestBagReference(t *testing.T) {
	each(t, reference.BagCases(t), func(c reference.Bag) string { return c.Name },
		func(t *testing.T, c reference.Bag, gap int) {
			table := reference.Copy(c.Table, gap)
			done := func(what string, got int) {
				t.Helper()
				if got != len(c.IDs) {
					t.Errorf("%s: %d ids done, want %d", what, got, len(c.IDs))
				}
			}
			dst := reference.Zeros(c.Sum, gap)
			done("BagSum", kernels.BagSum(dst, table, ids[int32](c.IDs), c.Offsets, nil))
			reference.Equal(t, "BagSum", dst, c.Sum)
			done("weighted", kernels.BagSum(dst, table, ids[int64](c.IDs), c.Offsets, c.Weights.Data))
			reference.Equal(t, "weighted BagSum", dst, c.Weighted)
			done("BagMean", kernels.BagMean(dst, table, c.IDs, c.Offsets))
			reference.Equal(t, "BagMean", dst, c.Mean)
			done("BagMax", kernels.BagMax(dst, table, ids[uint64](c.IDs), c.Offsets))
			reference.Equal(t, "BagMax", dst, c.Max)
		})
}

func TestVectorReference(t *testing.T) {
	for _, c := range reference.VectorCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			dst := reference.Copy(c.Dst, 0)
			kernels.AddScaled(dst.Data, float32(c.Alpha), c.Src.Data)
			reference.Equal(t, "AddScaled", dst, c.AddedScaled)

			dst = reference.Copy(c.Dst, 0)
			kernels.Add(dst.Data, c.Src.Data)
			reference.Equal(t, "Add", dst, c.Added)

			dst = reference.Copy(c.Dst, 0)
			kernels.Scale(dst.Data, float32(c.Alpha))
			reference.Equal(t, "Scale", dst, c.Scaled)
		})
	}
}

// TestUpdateReference takes steps of optimizers, and holds each operation to NumPy and the weights to PyTorch's.
func TestUpdateReference(t *testing.T) {
	each(t, reference.UpdateCases(t), func(c reference.Update) string { return c.Name },
		func(t *testing.T, c reference.Update, gap int) {
			table, first, second := reference.Copy(c.Start, gap), reference.Zeros(c.First, gap), reference.Zeros(c.Second, gap)
			moved := make([]float64, table.Rows*table.Cols)
			n := len(c.IDs) / c.Steps
			for k := range c.Steps {
				before, ids := reference.Copy(reference.Matrix{Matrix: table}, 0), c.IDs[k*n:][:n]
				grad := kernels.Matrix{Rows: n, Cols: c.Grad.Cols, Data: c.Grad.Data[k*n*c.Grad.Cols:], Stride: c.Grad.Stride}
				rate, epsilon, done := float32(c.Rates[k]), float32(c.Epsilons[k]), 0
				switch c.Kind {
				case "sgd":
					done = kernels.UpdateSGD(table, ids, grad, rate, float32(c.Decay))
				case "adagrad":
					done = kernels.UpdateAdagrad(table, first, ids, grad, rate, epsilon)
				case "row adagrad":
					sums := make([]float32, first.Rows)
					for i := range sums {
						sums[i] = first.Row(i)[0]
					}
					done = kernels.UpdateRowAdagrad(table, sums, ids, grad, rate, epsilon)
					for i, s := range sums {
						first.Row(i)[0] = s
					}
				case "adam", "adamw":
					done = kernels.UpdateAdam(table, first, second, ids, grad, kernels.AdamStep{
						MeanWeight: float32(c.MeanWeight), SquareWeight: float32(c.SquareWeight),
						Rate: rate, Epsilon: epsilon, Keep: float32(c.Keep),
					})
				default:
					t.Fatalf("no optimizer %q", c.Kind)
				}
				if done != n {
					t.Errorf("%d rows done, want %d", done, n)
				}
				for i := range table.Rows {
					for j, w := range table.Row(i) {
						moved[i*table.Cols+j] += math.Abs(float64(w)) + math.Abs(float64(w)-float64(before.Row(i)[j]))
					}
				}
			}
			reference.Equal(t, "table", table, c.Table)
			reference.Equal(t, "first state", first, c.First)
			reference.Equal(t, "second state", second, c.Second)
			reference.CloseUpdate(t, "table and PyTorch", table, c.Torch, moved, c.Roundings)
		})
}

// TestRowAdagradReference holds steps to NumPy in float64, within what rounding explains.
func TestRowAdagradReference(t *testing.T) {
	each(t, reference.RowAdagradCases(t), func(c reference.RowAdagrad) string { return c.Name },
		func(t *testing.T, c reference.RowAdagrad, gap int) {
			table, sums, compare := reference.Copy(c.Start, gap), make([]float32, c.Start.Rows), reference.CloseRowAdagrad(t, c.Name, &c)
			for i := range sums {
				sums[i] = float32(c.Initial)
			}
			for k, step := range c.Steps {
				rate := float32(c.Rate / (1 + float64(float64(k)*c.RateDecay)))
				grad := reference.Copy(step.Grad, gap)
				if done := kernels.UpdateRowAdagrad(table, sums, step.IDs, grad, rate, float32(c.Epsilon)); done != len(step.IDs) {
					t.Errorf("%d rows done, want %d", done, len(step.IDs))
				}
				compare(table, kernels.Matrix{Rows: len(sums), Cols: 1, Data: sums, Stride: 1})
			}
		})
}
