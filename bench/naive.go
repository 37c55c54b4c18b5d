package main

import (
	"math"

	"github.com/rowvec/rowvec"
)

// The loops that a Go programmer writes without a library, over rows of dim elements without gaps. They spare the
// compiler bounds checks where that takes no more than a word, and they are the yardstick that results are compared
// with: a product is rounded before it is added, which on some machines a compiler does only if told to.

// row returns row i of m.
func row(m []float32, i, dim int) []float32 { return m[i*dim:][:dim] }

func naiveGather[I rowvec.ID](dst, table []float32, ids []I, dim int) {
	for i, id := range ids {
		copy(row(dst, i, dim), row(table, int(id), dim))
	}
}

func naiveGatherScaled[I rowvec.ID](dst, table []float32, ids []I, dim int, scale float32) {
	for i, id := range ids {
		out, in := row(dst, i, dim), row(table, int(id), dim)
		for j, x := range in {
			out[j] = scale * x
		}
	}
}

// naiveEmbed is what one writes first: gather, scale, add positions, each over the whole batch.
func naiveEmbed[I rowvec.ID](dst, table []float32, ids []I, dim int, scale float32, positions []float32, seq int) {
	naiveGather(dst, table, ids, dim)
	naiveScale(dst[:len(ids)*dim], scale)
	for i := range ids {
		naiveAdd(row(dst, i, dim), row(positions, i%seq, dim))
	}
}

func naiveScatterAdd[I rowvec.ID](dst []float32, ids []I, dim int, alpha float32, src []float32) {
	for i, id := range ids {
		naiveAddScaled(row(dst, int(id), dim), alpha, row(src, i, dim))
	}
}

func naiveEmbedBackward[I rowvec.ID](tokens, positions []float32, ids []I, dim int, scale float32, dOut []float32, seq int) {
	naiveScatterAdd(tokens, ids, dim, scale, dOut)
	naiveAddBatches(positions, dOut, len(ids), dim, seq)
}

// naiveAddBatches adds n rows of src, sequence by sequence, to the seq rows of dst.
func naiveAddBatches(dst, src []float32, n, dim, seq int) {
	for i := range n {
		naiveAdd(row(dst, i%seq, dim), row(src, i, dim))
	}
}

func naiveAddScaled(dst []float32, alpha float32, src []float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] += float32(alpha * x)
	}
}

func naiveAdd(dst, src []float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] += x
	}
}

func naiveScale(dst []float32, alpha float32) {
	for i := range dst {
		dst[i] *= alpha
	}
}

func naiveAddAngles(dst []float32, a, b []float64) {
	for i := 0; i+1 < len(dst); i += 2 {
		dst[i] = float32(float64(a[i]*b[i+1]) + float64(a[i+1]*b[i]))
		dst[i+1] = float32(float64(a[i+1]*b[i+1]) - float64(a[i]*b[i]))
	}
}

func naiveUpdateSGD[I rowvec.ID](table []float32, ids []I, dim int, grad []float32, rate, decay float32) {
	for i, id := range ids {
		w := row(table, int(id), dim)
		for j, g := range row(grad, i, dim) {
			w[j] -= float32(rate * (g + float32(decay*w[j])))
		}
	}
}

func naiveUpdateAdagrad[I rowvec.ID](table, sums []float32, ids []I, dim int, grad []float32, rate, epsilon float32) {
	for i, id := range ids {
		w, s := row(table, int(id), dim), row(sums, int(id), dim)
		for j, g := range row(grad, i, dim) {
			s[j] += float32(g * g)
			w[j] -= float32(rate * (g / (sqrt(s[j]) + epsilon)))
		}
	}
}

// naiveUpdateRowAdagrad adds up squares in 16 lanes for the same bits, which is also faster than in one.
func naiveUpdateRowAdagrad[I rowvec.ID](table, sums []float32, ids []I, dim int, grad []float32, rate, epsilon float32) {
	for i, id := range ids {
		g := row(grad, i, dim)
		var lanes [16]float32
		for j, x := range g {
			lanes[j%16] += float32(x * x)
		}
		for n := 8; n > 0; n /= 2 {
			for k := range n {
				lanes[k] += lanes[k+n]
			}
		}
		sums[id] += lanes[0] / float32(dim)
		naiveAddScaled(row(table, int(id), dim), -rate/(sqrt(sums[id])+epsilon), g)
	}
}

func naiveUpdateAdam[I rowvec.ID](table, means, squares []float32, ids []I, dim int, grad []float32, a rowvec.AdamStep) {
	for i, id := range ids {
		w, m, v := row(table, int(id), dim), row(means, int(id), dim), row(squares, int(id), dim)
		for j, g := range row(grad, i, dim) {
			m[j] += float32((g - m[j]) * a.MeanWeight)
			v[j] += float32((float32(g*g) - v[j]) * a.SquareWeight)
			w[j] = float32(a.Keep*w[j]) - float32(a.Rate*(m[j]/(sqrt(v[j])+a.Epsilon)))
		}
	}
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func naiveCheckIDs[I rowvec.ID](ids []I, rows int) bool {
	for _, id := range ids {
		if id < 0 || int(id) >= rows {
			return false
		}
	}
	return true
}

// naiveSinusoidal computes each frequency once, and angles in float64.
func naiveSinusoidal(dst []float32, dim int) {
	frequencies := make([]float64, dim/2)
	for i := range frequencies {
		frequencies[i] = math.Pow(10000, -2*float64(i)/float64(dim))
	}
	for position := range len(dst) / dim {
		out := row(dst, position, dim)
		for i, f := range frequencies {
			sin, cos := math.Sincos(float64(position) * f)
			out[2*i], out[2*i+1] = float32(sin), float32(cos)
		}
	}
}
