package golden_test

import (
	"slices"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/kernels"
)

// dims are those that each kernel is run with: every one up to 33, the neighbours of multiples of what loops are unrolled by
// and of thresholds, and one of longer rows.
var dims = func() []int {
	var all []int
	for dim := 1; dim <= 33; dim++ {
		all = append(all, dim)
	}
	return append(all, 40, 47, 48, 49, 63, 64, 65, 79, 100, 127, 128, 129, 200, 255, 257, 300, 513, 768, 1025, 4099)
}()

// long is longer than a chunk of a row is in any kernel.
const long = 65_536 + 77

// kernel is a kernel that is run with rows of one length.
type kernel struct {
	name string
	do   func(r *run, dim int)
}

// kernelPieces are two pieces for each kernel, of plain and of special numbers. The type of ids differs from dim to dim.
func kernelPieces() []piece {
	types := [...][]kernel{
		kernelsOf[int](), kernelsOf[uint32](), kernelsOf[int64](), kernelsOf[uint](), kernelsOf[int32](), kernelsOf[uint64](),
		kernelsOf[token](),
	}
	var all []piece
	for k, kernel := range types[0] {
		do := func(r *run) {
			for i, dim := range dims {
				types[i%len(types)][k].do(r, dim)
			}
		}
		all = append(all, piece{"rowvec." + kernel.name, func(r *run) {
			do(r)
			types[k%len(types)][k].do(r, long)
		}}, piece{"rowvec." + kernel.name + ", special", func(r *run) {
			r.pool = special
			do(r)
		}})
	}
	return append(all, piece{"rowvec.Gather, far", far}, piece{"rowvec, facts", facts}, piece{"kernels.Quantize", quantized},
		piece{"kernels.Quantize, special", func(r *run) {
			r.pool = special
			quantized(r)
		}})
}

// token is an id of a caller's own type.
type token int32

// rows returns a number of rows for a dim, so that no dim takes much longer than others.
func rows(dim int) int { return max(3, min(12, 1000/dim)) }

// vocab returns the number of rows that ids choose from.
func vocab(dim int) int { return max(2, min(7, 7000/dim)) }

// kernelsOf returns those of package rowvec, whose ids are of type I where they have ids.
func kernelsOf[I rowvec.ID]() []kernel {
	return []kernel{
		{"Gather", func(r *run, dim int) {
			n := rows(dim)
			dst, table := r.matrix(n, dim), r.matrix(vocab(dim), dim)
			r.ok(rowvec.Gather(dst, table, ids[I](r, n, vocab(dim))))
			for i := range n {
				r.bits(dst.Row(i))
			}
			r.matrices(dst)
		}},
		{"GatherScaled", func(r *run, dim int) {
			n := rows(dim)
			dst, table := r.matrix(n, dim), r.matrix(vocab(dim), dim)
			r.ok(rowvec.GatherScaled(dst, table, ids[I](r, n, vocab(dim)), 1.7))
			r.matrices(dst)
		}},
		{"ScatterAdd", func(r *run, dim int) {
			n := rows(dim)
			dst, src := r.matrix(vocab(dim), dim), r.matrix(n, dim)
			r.ok(rowvec.ScatterAdd(dst, ids[I](r, n, vocab(dim)), -0.3, src))
			r.matrices(dst)
		}},
		{"BagSum", func(r *run, dim int) {
			n := rows(dim)
			dst, table := r.matrix(3, dim), r.matrix(vocab(dim), dim)
			bags, tokens := r.offsets(3, n), ids[I](r, n, vocab(dim))
			r.ok(rowvec.BagSum(dst, table, tokens, bags, nil))
			r.matrices(dst)
			r.ok(rowvec.BagSum(dst, table, tokens, bags, r.vector(n)))
			r.matrices(dst)
		}},
		{"BagMean", func(r *run, dim int) {
			n := rows(dim)
			dst, table := r.matrix(3, dim), r.matrix(vocab(dim), dim)
			r.ok(rowvec.BagMean(dst, table, ids[I](r, n, vocab(dim)), r.offsets(3, n)))
			r.matrices(dst)
		}},
		{"BagMax", func(r *run, dim int) {
			n := rows(dim)
			dst, table := r.matrix(3, dim), r.matrix(vocab(dim), dim)
			r.ok(rowvec.BagMax(dst, table, ids[I](r, n, vocab(dim)), r.offsets(3, n)))
			r.matrices(dst)
		}},
		{"Embed", func(r *run, dim int) {
			n := rows(dim) / 3 * 3
			dst, table, positions := r.matrix(n, dim), r.matrix(vocab(dim), dim), r.matrix(n/3+2, dim)
			r.ok(rowvec.Embed(dst, table, ids[I](r, n, vocab(dim)), 2.3, positions, 2, n/3))
			r.matrices(dst)
			r.ok(rowvec.Embed(dst, table, ids[I](r, n, vocab(dim)), 1, positions, 0, n/3))
			r.matrices(dst)
		}},
		{"EmbedAt", func(r *run, dim int) {
			n := rows(dim)
			dst, table, positions := r.matrix(n, dim), r.matrix(vocab(dim), dim), r.matrix(4, dim)
			tokens := ids[I](r, n, vocab(dim))
			r.ok(rowvec.EmbedAt(dst, table, tokens, 2.3, positions, ids[int](r, n, 4)))
			r.matrices(dst)
			r.ok(rowvec.EmbedAt(dst, table, tokens, 1, positions, ids[int32](r, n, 4)))
			r.matrices(dst)
		}},
		{"EmbedBackward", func(r *run, dim int) {
			n := rows(dim) / 3 * 3
			tokens, positions, dOut := r.matrix(vocab(dim), dim), r.matrix(n/3+2, dim), r.matrix(n, dim)
			r.ok(rowvec.EmbedBackward(tokens, positions, ids[I](r, n, vocab(dim)), 2.3, dOut, 2, n/3))
			r.matrices(tokens, positions)
		}},
		{"EmbedAtBackward", func(r *run, dim int) {
			n := rows(dim)
			tokens, positions, dOut := r.matrix(vocab(dim), dim), r.matrix(4, dim), r.matrix(n, dim)
			r.ok(rowvec.EmbedAtBackward(tokens, positions, ids[I](r, n, vocab(dim)), 2.3, dOut, ids[uint64](r, n, 4)))
			r.matrices(tokens, positions)
		}},
		{"AddBatches", func(r *run, dim int) {
			n := rows(dim) / 3
			dst, src := r.matrix(n, dim), r.matrix(3*n, dim)
			r.ok(rowvec.AddBatches(dst, src))
			r.matrices(dst)
		}},
		{"AddScaled", func(r *run, dim int) {
			dst := r.vector(dim + 3)
			r.ok(rowvec.AddScaled(dst[:dim], -0.7, r.vector(dim)))
			r.floats(dst...)
		}},
		{"Add", func(r *run, dim int) {
			dst := r.vector(dim + 3)
			r.ok(rowvec.Add(dst[:dim], r.vector(dim)))
			r.floats(dst...)
		}},
		{"Scale", func(r *run, dim int) {
			dst := r.vector(dim + 3)
			rowvec.Scale(dst[:dim], -0.7)
			r.floats(dst...)
		}},
		{"Dots", func(r *run, dim int) {
			n := rows(dim)
			dst, a, table := r.matrix(3, n), r.matrix(3, dim), r.matrix(vocab(dim), dim)
			r.ok(rowvec.Dots(dst, a, table, ids[I](r, n, vocab(dim))))
			r.matrices(dst)
		}},
		{"DotsAll", func(r *run, dim int) {
			n := rows(dim)
			dst, a, table := r.matrix(3, n), r.matrix(3, dim), r.matrix(n, dim)
			r.ok(rowvec.DotsAll(dst, a, table))
			r.matrices(dst)
		}},
		{"Dropout", func(r *run, dim int) {
			n := rows(dim)
			dst, src := r.matrix(n, dim), r.matrix(n, dim)
			for i, p := range []float64{0.1, 0.999, 0.001} {
				mask := rowvec.Mask{P: p, Seed: random(&r.random), Step: random(&r.random) >> 8, Row: i * 1e6, Col: i << 20}
				r.ok(rowvec.Dropout(dst, src, mask))
				r.matrices(dst)
				r.floats(mask.Scale())
				r.ints(int(mask.Threshold()))
			}
		}},
		{"LayerNorm", func(r *run, dim int) {
			n := rows(dim)
			dst, src := r.matrix(n, dim), r.matrix(n, dim)
			r.ok(rowvec.LayerNorm(dst, src, r.vector(dim), r.vector(dim), 1e-5))
			r.matrices(dst)
		}},
		{"LayerNormBackward", func(r *run, dim int) {
			n := rows(dim)
			dSrc, dOut, src, dGamma, dBeta := r.matrix(n, dim), r.matrix(n, dim), r.matrix(n, dim), r.vector(dim), r.vector(dim)
			r.ok(rowvec.LayerNormBackward(dSrc, dOut, src, r.vector(dim), 1e-5, dGamma, dBeta))
			r.matrices(dSrc)
			r.floats(dGamma...)
			r.floats(dBeta...)
		}},
		{"Sinusoids", func(r *run, dim int) {
			dst, x, y, c := r.matrix(rows(dim), dim), r.wide(dim), r.wide(dim), r.wide(dim)
			r.ok(rowvec.Sinusoids(dst, 2, x, y, c))
			r.matrices(dst)
			r.doubles(x...)
			r.doubles(y...)
		}},
		{"Rotate", func(r *run, dim int) {
			n := rows(dim) / 3 * 3
			for _, i := range []int{r.intn(2), 2 + r.intn(2)} {
				r.rotation(i, dim, n, func(dst, src rowvec.Matrix, rotation rowvec.Rotation, angles rowvec.Matrix) error {
					return rowvec.Rotate(dst, src, rotation, angles, 1, n/3)
				})
			}
		}},
		{"RotateAt", func(r *run, dim int) {
			n := rows(dim)
			for _, i := range []int{r.intn(2), 2 + r.intn(2)} {
				r.rotation(i, dim, n, func(dst, src rowvec.Matrix, rotation rowvec.Rotation, angles rowvec.Matrix) error {
					return rowvec.RotateAt(dst, src, rotation, angles, ids[I](r, n, angles.Rows))
				})
			}
		}},
		{"UpdateSGD", func(r *run, dim int) {
			n := rows(dim)
			table := r.matrix(vocab(dim), dim)
			for _, decay := range []float32{0, 0.01} {
				r.ok(rowvec.UpdateSGD(table, ids[I](r, n, vocab(dim)), r.matrix(n, dim), 0.1, decay))
				r.matrices(table)
			}
		}},
		{"UpdateAdagrad", func(r *run, dim int) {
			n := rows(dim)
			table, sums := r.matrix(vocab(dim), dim), positive(r.matrix(vocab(dim), dim))
			r.ok(rowvec.UpdateAdagrad(table, sums, ids[I](r, n, vocab(dim)), r.matrix(n, dim), 0.1, 1e-8))
			r.matrices(table, sums)
		}},
		{"UpdateRowAdagrad", func(r *run, dim int) {
			n := rows(dim)
			table, sums := r.matrix(vocab(dim), dim), positive(r.matrix(1, vocab(dim)))
			r.ok(rowvec.UpdateRowAdagrad(table, sums.Data[:vocab(dim)], ids[I](r, n, vocab(dim)), r.matrix(n, dim), 0.1, 1e-8))
			r.matrices(table, sums)
		}},
		{"UpdateAdam", func(r *run, dim int) {
			n := rows(dim)
			table, means, squares := r.matrix(vocab(dim), dim), r.matrix(vocab(dim), dim), positive(r.matrix(vocab(dim), dim))
			for _, keep := range []float32{1, 0.999} {
				step := rowvec.AdamStep{MeanWeight: 0.1, SquareWeight: 0.001, Rate: 0.003, Epsilon: 1e-8, Keep: keep}
				r.ok(rowvec.UpdateAdam(table, means, squares, ids[I](r, n, vocab(dim)), r.matrix(n, dim), step))
				r.matrices(table, means, squares)
			}
		}},
		{"CheckIDs", func(r *run, dim int) {
			tokens := ids[I](r, dim, 50)
			r.ok(rowvec.CheckIDs(tokens, 50))
			limit := 1 + int(slices.Max(tokens))/2
			if err := rowvec.CheckIDs(tokens, limit); err != nil {
				r.text(err.Error())
			}
		}},
	}
}

// wide returns n numbers that are no float32.
func (r *run) wide(n int) []float64 {
	xs := make([]float64, n)
	for i, x := range r.vector(n) {
		xs[i] = float64(x) / 3
	}
	return xs
}

// rotation rotates by the angles of kind i: halves or pairs, forwards or backwards, whole heads and parts of them.
func (r *run) rotation(
	i, dim, n int, rotate func(dst, src rowvec.Matrix, rotation rowvec.Rotation, angles rowvec.Matrix) error,
) {
	heads := 1 + i%2
	rotation := rowvec.Rotation{Heads: heads, Interleaved: i >= 2, Inverse: i%2 != 0}
	cols := dim / 2 * 2 // of the angles
	if i%2 != 0 && dim > 8 {
		cols -= 6
	}
	dst, src := r.matrix(n, heads*dim), r.matrix(n, heads*dim)
	r.ok(rotate(dst, src, rotation, r.matrix(n/3+2, cols)))
	r.matrices(dst)
}

// far gathers from a table that is too large for caches, whose rows are therefore fetched ahead, and adds to it.
func far(r *run) {
	const rows, dim, n = 8_191, 130, 700
	table := rowvec.Matrix{Rows: rows, Cols: dim, Data: make([]float32, rows*dim), Stride: dim}
	rowvec.AdviseHugePages(table.Data)
	dst, tokens := r.matrix(n, dim), ids[int](r, n, rows)
	for _, id := range tokens {
		copy(table.Row(id), r.vector(dim))
	}
	r.ok(rowvec.Gather(dst, table, tokens))
	r.matrices(dst)
	r.ok(rowvec.ScatterAdd(table, tokens, 0.7, dst))
	r.ok(rowvec.BagSum(rowvec.Matrix{Rows: 10, Cols: dim, Data: dst.Data, Stride: dst.Stride}, table, tokens, r.offsets(10, n), nil))
	r.matrices(dst)
	r.ok(rowvec.GatherScaled(dst, table, tokens, 0.7))
	r.matrices(dst)
}

// quantized are rows in 16 bits, as a search compares them, and their dot products.
func quantized(r *run) {
	for _, dim := range dims {
		n := kernels.QuantizedColumns(dim)
		a, b := make([]int16, 8*n), make([]int16, 12*n)
		for _, rows := range [][]int16{a, b} {
			factors := make([]float32, len(rows)/n)
			forward.Quantize(rows, factors, r.matrix(len(factors), dim))
			r.floats(factors...)
		}
		dots := make([]int32, 8*12)
		forward.QuantizedDots(dots, a, b, n, rowvec.Matrix{})
		for _, dot := range dots {
			r.ints(int(dot))
		}
	}
}

// facts are what the functions that compute nothing say.
func facts(r *run) {
	m := must(rowvec.NewMatrix(3, 4))
	r.matrices(m)
	r.ok(rowvec.CheckMatrix("golden", "m", m))
	part := rowvec.Matrix{Rows: 2, Cols: 2, Data: m.Data[2:], Stride: 4}
	r.bools(rowvec.Overlap(m, part), rowvec.Overlap(part, rowvec.Matrix{Rows: 2, Cols: 2, Data: m.Data, Stride: 4}))
	part.Stride = 1
	for _, err := range []error{
		rowvec.CheckMatrix("golden", "part", part),
		rowvec.Gather(m, part, []int{1}),
		rowvec.Add(m.Data[:8], m.Data[4:]),
		rowvec.CheckIDs([]uint64{0, 1 << 63}, 1),
		rowvec.ErrChanged,
	} {
		r.text(err.Error())
	}
}
