package main

import (
	"math"
	"slices"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
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

// naiveNearest keeps the best rows of each query in their order.
func naiveNearest(found *lookup.Neighbours, table, queries []float32, dim int) {
	for q := range len(queries) / dim {
		ids, scores := found.IDs[q*found.K:][:found.K], found.Scores[q*found.K:][:found.K]
		n := 0
		for id := range len(table) / dim {
			score := naiveDot(row(queries, q, dim), row(table, id, dim))
			if n == len(ids) && score <= scores[n-1] {
				continue
			}
			n = min(n+1, len(ids))
			at := n - 1
			for ; at > 0 && scores[at-1] < score; at-- {
				ids[at], scores[at] = ids[at-1], scores[at-1]
			}
			ids[at], scores[at] = id, score
		}
	}
}

func naiveDots[I rowvec.ID](dst, a, table []float32, ids []I, dim int) {
	for i := range len(a) / dim {
		x := row(a, i, dim)
		for j, id := range ids {
			y := row(table, int(id), dim)[:len(x)]
			sum := float32(0)
			for k, v := range x {
				sum += float32(v * y[k])
			}
			dst[i*len(ids)+j] = sum
		}
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

func naiveSinusoids(dst []float32, x, y, c []float64) {
	for i := range len(dst) / len(c) {
		for j := range c {
			dst[i*len(c)+j] = float32(x[j])
			x[j], y[j] = y[j], float64(c[j]*y[j])-x[j]
		}
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

func naiveUpdateRowAdagrad[I rowvec.ID](table, sums []float32, ids []I, dim int, grad []float32, rate, epsilon float32) {
	for i, id := range ids {
		naiveRowAdagrad(row(table, int(id), dim), &sums[id], row(grad, i, dim), rate, epsilon)
	}
}

// naiveRowAdagrad adds up squares in 16 lanes for the same bits, which is also faster than in one.
func naiveRowAdagrad(w []float32, sum *float32, g []float32, rate, epsilon float32) {
	var lanes [16]float32
	for j, x := range g {
		lanes[j%16] += float32(x * x)
	}
	for n := 8; n > 0; n /= 2 {
		for k := range n {
			lanes[k] += lanes[k+n]
		}
	}
	*sum += lanes[0] / float32(len(g))
	naiveAddScaled(w, -rate/(sqrt(*sum)+epsilon), g)
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

// naiveDropout draws the same random bits, 16 columns at a time, and then goes element by element.
func naiveDropout(dst, src []float32, dim int, p float64, seed uint64) {
	threshold := uint32(p*256 + 0.5)
	scale := float32(1 / (1 - float64(threshold)/256))
	for i := range len(src) / dim {
		out, in := row(dst, i, dim), row(src, i, dim)
		var words [4]uint32
		for j, x := range in {
			if j%16 == 0 {
				words = naivePhilox(uint32(seed), uint32(seed>>32), [4]uint32{uint32(j / 16), uint32(i), 2, 0})
			}
			out[j] = 0
			if words[j%16/4]>>(8*(j%4))&0xff >= threshold {
				out[j] = scale * x
			}
		}
	}
}

func naivePhilox(k0, k1 uint32, c [4]uint32) [4]uint32 {
	for range 10 {
		a, b := uint64(c[0])*0xd2511f53, uint64(c[2])*0xcd9e8d57
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ k0, uint32(b), uint32(a>>32) ^ c[3] ^ k1, uint32(a)}
		k0, k1 = k0+0x9e3779b9, k1+0xbb67ae85
	}
	return c
}

func naiveLayerNorm(dst, src, gamma, beta []float32, epsilon float32) {
	dim := len(gamma)
	for i := range len(src) / dim {
		in, out := row(src, i, dim), row(dst, i, dim)
		mean, r := naiveMoments(in, epsilon)
		for j, x := range in {
			out[j] = float32((x-mean)*r*gamma[j]) + beta[j]
		}
	}
}

func naiveLayerNormBackward(dSrc, dOut, src, gamma []float32, epsilon float32, dGamma, dBeta []float32) {
	dim := len(gamma)
	for i := range len(src) / dim {
		in, d, out := row(src, i, dim), row(dOut, i, dim), row(dSrc, i, dim)
		mean, r := naiveMoments(in, epsilon)
		var sum, product float32
		for j, x := range in {
			xhat := (x - mean) * r
			g := float32(d[j] * gamma[j])
			sum += g
			product += float32(g * xhat)
			dGamma[j] += float32(d[j] * xhat)
			dBeta[j] += d[j]
		}
		sum, product = sum/float32(dim), product/float32(dim)
		for j, x := range in {
			out[j] = (float32(d[j]*gamma[j]) - sum - float32((x-mean)*r*product)) * r
		}
	}
}

// naiveMoments returns the mean of a row and 1 over its standard deviation.
func naiveMoments(x []float32, epsilon float32) (mean, r float32) {
	for _, y := range x {
		mean += y
	}
	mean /= float32(len(x))
	var squares float32
	for _, y := range x {
		squares += float32((y - mean) * (y - mean))
	}
	return mean, 1 / sqrt(squares/float32(len(x))+epsilon)
}

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

// naiveAngles sets each row of dst to the cosines, and behind them the sines, of a position.
func naiveAngles(dst []float32, dim int) {
	for position := range len(dst) / dim {
		out := row(dst, position, dim)
		for i := range dim / 2 {
			sin, cos := math.Sincos(float64(position) * math.Pow(10000, -2*float64(i)/float64(dim)))
			out[i], out[dim/2+i] = float32(cos), float32(sin)
		}
	}
}

// naiveRotate turns heads of headDim, each of two halves.
func naiveRotate(x []float32, dim int, angles []float32, headDim, seq int) {
	half := headDim / 2
	for i := range len(x) / dim {
		turn := row(angles, i%seq, headDim)
		cos, sin := turn[:half], turn[half:]
		token := row(x, i, dim)
		for h := 0; h < dim; h += headDim {
			a, b := token[h:h+half], token[h+half:h+headDim]
			for j, c := range cos {
				s, p, q := sin[j], a[j], b[j]
				a[j] = float32(p*c) - float32(q*s)
				b[j] = float32(q*c) + float32(p*s)
			}
		}
	}
}

func naiveBagSum[I rowvec.ID](dst, table []float32, ids []I, dim int, offsets []int) {
	for b := range len(offsets) - 1 {
		out := row(dst, b, dim)
		clear(out)
		for _, id := range ids[offsets[b]:offsets[b+1]] {
			naiveAdd(out, row(table, int(id), dim))
		}
	}
}

func naiveBagSumWeighted[I rowvec.ID](dst, table []float32, ids []I, dim int, offsets []int, weights []float32) {
	for b := range len(offsets) - 1 {
		out := row(dst, b, dim)
		clear(out)
		for i := offsets[b]; i < offsets[b+1]; i++ {
			naiveAddScaled(out, weights[i], row(table, int(ids[i]), dim))
		}
	}
}

func naiveBagMean[I rowvec.ID](dst, table []float32, ids []I, dim int, offsets []int) {
	naiveBagSum(dst, table, ids, dim, offsets)
	for b := range len(offsets) - 1 {
		if n := float32(offsets[b+1] - offsets[b]); n > 0 {
			out := row(dst, b, dim)
			for j := range out {
				out[j] /= n
			}
		}
	}
}

func naiveBagMax[I rowvec.ID](dst, table []float32, ids []I, dim int, offsets []int) {
	for b := range len(offsets) - 1 {
		out, bag := row(dst, b, dim), ids[offsets[b]:offsets[b+1]]
		if len(bag) == 0 {
			clear(out)
			continue
		}
		copy(out, row(table, int(bag[0]), dim))
		for _, id := range bag[1:] {
			in := row(table, int(id), dim)[:len(out)]
			for j, x := range out {
				if in[j] > x {
					out[j] = in[j]
				}
			}
		}
	}
}

// naiveGradient is a gradient of some rows of a table. It keeps its memory from call to call.
type naiveGradient struct {
	ids   []int32       // each once
	slots map[int32]int // their indices
	sums  []float32     // their gradients
	dim   int
}

// add sets the gradient to the sums of the rows of dOut by ids, which come as they first occur. Bags of so many ids share a row.
func (g *naiveGradient) add(ids []int32, dOut []float32, bag int) {
	g.ids = g.ids[:0]
	clear(g.slots)
	for i, id := range ids {
		in := row(dOut, i/bag, g.dim)
		if slot, ok := g.slots[id]; ok {
			naiveAdd(row(g.sums, slot, g.dim), in)
			continue
		}
		g.slots[id] = len(g.ids)
		copy(row(g.sums, len(g.ids), g.dim), in)
		g.ids = append(g.ids, id)
	}
}

// addSorted is add, with ids that ascend.
func (g *naiveGradient) addSorted(ids []int32, dOut []float32) {
	g.ids = append(g.ids[:0], ids...)
	slices.Sort(g.ids)
	g.ids = slices.Compact(g.ids)
	clear(g.slots)
	for slot, id := range g.ids {
		g.slots[id] = slot
	}
	clear(g.sums[:len(g.ids)*g.dim])
	for i, id := range ids {
		naiveAdd(row(g.sums, g.slots[id], g.dim), row(dOut, i, g.dim))
	}
}

// Steps with a gradient g of weights w.

func naiveAdagrad(w, sums, g []float32, rate, epsilon float32) {
	w, sums = w[:len(g)], sums[:len(g)]
	for j, x := range g {
		s := sums[j] + float32(x*x)
		sums[j] = s
		w[j] -= float32(rate * (x / (float32(math.Sqrt(float64(s))) + epsilon)))
	}
}

// naiveAdam does step t, from 1 on.
func naiveAdam(w, means, squares, g []float32, t int, rate, beta1, beta2, epsilon float64) {
	w, means, squares = w[:len(g)], means[:len(g)], squares[:len(g)]
	weight1, weight2, eps := float32(1-beta1), float32(1-beta2), float32(epsilon)
	corrected := float32(rate * math.Sqrt(1-math.Pow(beta2, float64(t))) / (1 - math.Pow(beta1, float64(t))))
	for j, x := range g {
		m := means[j] + float32((x-means[j])*weight1)
		v := squares[j] + float32((float32(x*x)-squares[j])*weight2)
		means[j], squares[j] = m, v
		w[j] -= float32(corrected * (m / (float32(math.Sqrt(float64(v))) + eps)))
	}
}
