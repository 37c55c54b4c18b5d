package rowvec_test

import (
	"fmt"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/reference"
)

// The kernels are held to NumPy and PyTorch bit for bit at every level, with each size of ids and for rows with and
// without gaps. There is a tolerance, reference.SumError, only for sums over a batch by PyTorch, which adds in another
// order.

// eachReference runs test at every level for every case and gap.
func eachReference[T any](t *testing.T, cases []T, name func(T) string, test func(t *testing.T, c T, gap int)) {
	t.Helper()
	isatest.Each(t, func(t *testing.T) {
		for _, c := range cases {
			for _, gap := range []int{0, 5} {
				t.Run(fmt.Sprintf("%s/gap=%d", name(c), gap), func(t *testing.T) { test(t, c, gap) })
			}
		}
	})
}

// converted returns ids in another type.
func converted[I rowvec.ID](ids []int) []I {
	to := make([]I, len(ids))
	for i, id := range ids {
		to[i] = I(id)
	}
	return to
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func TestForwardReference(t *testing.T) {
	eachReference(t, reference.ForwardCases(t), func(c reference.Forward) string { return c.Name },
		func(t *testing.T, c reference.Forward, gap int) {
			forwardReference[int, int32](t, c, gap)
			forwardReference[int32, uint64](t, c, gap)
			forwardReference[uint64, uint](t, c, gap)
		})
}

func forwardReference[I, P rowvec.ID](t *testing.T, c reference.Forward, gap int) {
	t.Helper()
	table, positions := reference.Copy(c.Table, gap), reference.Copy(c.Positions, gap)
	ids, at, scale := converted[I](c.IDs), converted[P](c.At), float32(c.Scale)
	what := func(op string) string { return fmt.Sprintf("%s, ids %T and %T", op, ids, at) }

	dst := reference.Zeros(c.Gathered, gap)
	noError(t, rowvec.Gather(dst, table, ids))
	reference.Identical(t, what("Gather"), dst, c.Gathered)

	dst = reference.Zeros(c.Scaled, gap)
	noError(t, rowvec.GatherScaled(dst, table, ids, scale))
	reference.Equal(t, what("GatherScaled"), dst, c.Scaled)

	dst = reference.Zeros(c.Embedded, gap)
	noError(t, rowvec.Embed(dst, table, ids, scale, positions, c.Start, c.Seq))
	reference.Equal(t, what("Embed"), dst, c.Embedded)

	dst = reference.Zeros(c.EmbeddedAt, gap)
	noError(t, rowvec.EmbedAt(dst, table, ids, scale, positions, at))
	reference.Equal(t, what("EmbedAt"), dst, c.EmbeddedAt)
}

func TestScatterReference(t *testing.T) {
	eachReference(t, reference.ScatterCases(t), func(c reference.Scatter) string { return c.Name },
		func(t *testing.T, c reference.Scatter, gap int) {
			scatterReference[int](t, c, gap)
			scatterReference[int32](t, c, gap)
			scatterReference[uint64](t, c, gap)
		})
}

func scatterReference[I rowvec.ID](t *testing.T, c reference.Scatter, gap int) {
	t.Helper()
	src, ids := reference.Copy(c.Src, gap), converted[I](c.IDs)
	for _, p := range []struct {
		alpha float32
		want  reference.Matrix
	}{{1, c.Added}, {float32(c.Alpha), c.AddedScaled}} {
		dst := reference.Copy(c.Dst, gap)
		noError(t, rowvec.ScatterAdd(dst, ids, p.alpha, src))
		reference.Equal(t, fmt.Sprintf("ScatterAdd, alpha %v, ids %T", p.alpha, ids), dst, p.want)
	}
}

// TestEmbeddingReference takes the gradient of a table from ScatterAdd: the padding row's, which nn.Embedding leaves at
// zero, is cleared behind it.
func TestEmbeddingReference(t *testing.T) {
	eachReference(t, reference.EmbeddingCases(t), func(c reference.Embedding) string { return c.Name },
		func(t *testing.T, c reference.Embedding, gap int) {
			dOut := reference.Copy(c.DOut, gap)
			for _, p := range []struct {
				scale float32
				want  reference.Matrix
			}{{1, c.Grad}, {float32(c.Scale), c.GradScaled}} {
				grad := reference.Zeros(p.want, gap)
				noError(t, rowvec.ScatterAdd(grad, c.IDs, p.scale, dOut))
				if c.Padding >= 0 {
					clear(grad.Row(c.Padding))
				}
				reference.Equal(t, fmt.Sprintf("gradient, scale %v", p.scale), grad, p.want)
			}
		})
}

func TestPositionsReference(t *testing.T) {
	eachReference(t, reference.PositionsCases(t), func(c reference.Positions) string { return c.Name },
		func(t *testing.T, c reference.Positions, gap int) {
			grad := reference.Zeros(c.Grad, gap)
			noError(t, rowvec.AddBatches(grad, reference.Copy(c.DOut, gap)))
			reference.Equal(t, "AddBatches", grad, c.Grad)
			reference.CloseSums(t, "AddBatches and PyTorch", grad, c.Torch, c.DOut, c.Batches)
		})
}

// TestLayerReference runs the complete layer, forward and back.
func TestLayerReference(t *testing.T) {
	eachReference(t, reference.LayerCases(t), func(c reference.Layer) string { return c.Name },
		func(t *testing.T, c reference.Layer, gap int) {
			table, positions := reference.Copy(c.Table, gap), reference.Copy(c.Positions, gap)
			out, dOut, scale := reference.Zeros(c.Out, gap), reference.Copy(c.DOut, gap), float32(c.Scale)
			tokenGrad := reference.Zeros(c.TokenGrad, gap)
			if c.Kind == "none" {
				noError(t, rowvec.GatherScaled(out, table, c.IDs, scale))
				reference.Equal(t, "GatherScaled", out, c.Out)
				noError(t, rowvec.ScatterAdd(tokenGrad, c.IDs, scale, dOut))
				clear(tokenGrad.Row(c.Padding))
				reference.Equal(t, "ScatterAdd", tokenGrad, c.TokenGrad)
				return
			}
			at := make([]int32, len(c.IDs))
			for i := range at {
				at[i] = int32(i % c.Seq)
			}
			noError(t, rowvec.Embed(out, table, c.IDs, scale, positions, 0, c.Seq))
			reference.Equal(t, "Embed", out, c.Out)
			out = reference.Zeros(c.Out, gap)
			noError(t, rowvec.EmbedAt(out, table, c.IDs, scale, positions, at))
			reference.Equal(t, "EmbedAt", out, c.Out)

			positionGrad := reference.Zeros(c.Positions, gap)
			noError(t, rowvec.EmbedBackward(tokenGrad, positionGrad, c.IDs, scale, dOut, 0, c.Seq))
			checkGradients(t, "EmbedBackward", c, tokenGrad, positionGrad)
			tokenGrad, positionGrad = reference.Zeros(c.TokenGrad, gap), reference.Zeros(c.Positions, gap)
			noError(t, rowvec.EmbedAtBackward(tokenGrad, positionGrad, c.IDs, scale, dOut, at))
			checkGradients(t, "EmbedAtBackward", c, tokenGrad, positionGrad)
		})
}

func checkGradients(t *testing.T, op string, c reference.Layer, tokens, positions rowvec.Matrix) {
	t.Helper()
	clear(tokens.Row(c.Padding))
	reference.Equal(t, op+", tokens", tokens, c.TokenGrad)
	if c.Kind == "learned" {
		reference.Equal(t, op+", positions", positions, c.PositionGrad)
		reference.CloseSums(t, op+", positions and PyTorch", positions, c.PositionGradTorch, c.DOut, len(c.IDs)/c.Seq)
	}
}

func TestBagReference(t *testing.T) {
	eachReference(t, reference.BagCases(t), func(c reference.Bag) string { return c.Name },
		func(t *testing.T, c reference.Bag, gap int) {
			bagReference[int](t, c, gap)
			bagReference[int32](t, c, gap)
			bagReference[uint64](t, c, gap)
		})
}

func bagReference[I rowvec.ID](t *testing.T, c reference.Bag, gap int) {
	t.Helper()
	table, ids := reference.Copy(c.Table, gap), converted[I](c.IDs)
	what := func(op string) string { return fmt.Sprintf("%s, ids %T", op, ids) }
	dst := reference.Zeros(c.Sum, gap)
	noError(t, rowvec.BagSum(dst, table, ids, c.Offsets, nil))
	reference.Equal(t, what("BagSum"), dst, c.Sum)
	noError(t, rowvec.BagSum(dst, table, ids, c.Offsets, c.Weights.Data))
	reference.Equal(t, what("weighted BagSum"), dst, c.Weighted)
	noError(t, rowvec.BagMean(dst, table, ids, c.Offsets))
	reference.Equal(t, what("BagMean"), dst, c.Mean)
	noError(t, rowvec.BagMax(dst, table, ids, c.Offsets))
	reference.Equal(t, what("BagMax"), dst, c.Max)
}

func TestVectorReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.VectorCases(t) {
			t.Run(c.Name, func(t *testing.T) {
				dst := reference.Copy(c.Dst, 0)
				noError(t, rowvec.AddScaled(dst.Data, float32(c.Alpha), c.Src.Data))
				reference.Equal(t, "AddScaled", dst, c.AddedScaled)

				dst = reference.Copy(c.Dst, 0)
				noError(t, rowvec.Add(dst.Data, c.Src.Data))
				reference.Equal(t, "Add", dst, c.Added)

				dst = reference.Copy(c.Dst, 0)
				rowvec.Scale(dst.Data, float32(c.Alpha))
				reference.Equal(t, "Scale", dst, c.Scaled)
			})
		}
	})
}
