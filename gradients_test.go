package rowvec_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/derivatives"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/kernels"
)

// TestGradients holds every function that calculates a gradient to differences of what it is the gradient of.
func TestGradients(t *testing.T) {
	const dim, vocab, places, seq, start, heads = 22, 5, 6, 3, 1, 2 // a vector of AVX-512 and less than one, and two heads of 11
	ids, at := []int32{1, 4, 1, 0, 3, 4}, []uint64{5, 0, 2, 2, 1, 5}
	rows := len(ids)
	rng := rand.New(rand.NewPCG(61, 1))
	random := func(rows, cols int) rowvec.Matrix {
		m := rowvec.Matrix{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
		for i := range m.Data {
			m.Data[i] = 2*rng.Float32() - 1
		}
		return m
	}
	scale, epsilon := float32(1.7), float32(1e-3)
	table, positions, few := random(vocab, dim), random(places, dim), random(seq, dim) // few positions, of one sequence
	src, gamma, beta, angles, dOut := random(rows, dim), random(1, dim), random(1, dim), random(places, 10), random(rows, dim)
	mask, kept := rowvec.Mask{P: 0.3, Seed: 4, Step: 5}, random(rows, dim)
	kernels.Dropout(kept, kept, mask)
	for i, x := range kept.Data {
		if x != 0 {
			kept.Data[i] = 256. / (256 - 77) // 0.3 is 77 of 256
		}
	}

	wide := func(m rowvec.Matrix) []float64 { return derivatives.Wide(m.Data) }
	tableOf, positionOf, fewOf, x, gammaOf, betaOf := wide(table), wide(positions), wide(few), wide(src), wide(gamma), wide(beta)
	angle, keep, factor := wide(angles), wide(kept), float64(scale)
	token := func(i, j int) float64 { return tableOf[int(ids[i])*dim+j] }
	placed := func(i int) int { return start + i%seq }
	placedAt := func(i int) int { return int(at[i]) }
	embedded := func(place func(i int) int) func(i, j int) float64 {
		return func(i, j int) float64 { return factor*token(i, j) + positionOf[place(i)*dim+j] }
	}
	rotated := func(r rowvec.Rotation, place func(i int) int) func(i, j int) float64 {
		const each = dim / heads
		n := angles.Cols
		return func(i, j int) float64 {
			head, k := x[i*dim+j/each*each:], j%each
			if k >= n {
				return head[k]
			}
			pair, first, second := k%(n/2), k%(n/2), k%(n/2)+n/2
			if r.Interleaved {
				pair, first, second = k/2, k/2*2, k/2*2+1
			}
			cos, sin := angle[place(i)*n+pair], angle[place(i)*n+n/2+pair]
			if k == first {
				return head[first]*cos - head[second]*sin
			}
			return head[second]*cos + head[first]*sin
		}
	}
	normed := func(i, j int) float64 {
		mean, variance := 0.0, 0.0
		for _, y := range x[i*dim:][:dim] {
			mean += y / dim
		}
		for _, y := range x[i*dim:][:dim] {
			variance += (y - mean) * (y - mean) / dim
		}
		return (x[i*dim+j]-mean)/math.Sqrt(variance+float64(epsilon))*gammaOf[j] + betaOf[j]
	}

	type pass struct {
		what       string
		element    func(i, j int) float64 // of the result
		forward    func(out rowvec.Matrix) error
		backward   func(grads []rowvec.Matrix) error
		parameters [][]float64
		roundings  int // of a term until it is added: 16 is about what mean, variance and root of a norm take
	}
	passes := []pass{
		{"Gather, by ScatterAdd", token,
			func(out rowvec.Matrix) error { return rowvec.Gather(out, table, ids) },
			func(grads []rowvec.Matrix) error { return rowvec.ScatterAdd(grads[0], ids, 1, dOut) },
			[][]float64{tableOf}, 0},
		{"Gather, by BagSum", token,
			func(out rowvec.Matrix) error { return rowvec.Gather(out, table, ids) },
			func(grads []rowvec.Matrix) error {
				return rowvec.BagSum(grads[0], dOut, []int{3, 0, 2, 4, 1, 5}, []int{0, 1, 3, 3, 4, 6}, nil)
			},
			[][]float64{tableOf}, 0},
		{"GatherScaled", func(i, j int) float64 { return factor * token(i, j) },
			func(out rowvec.Matrix) error { return rowvec.GatherScaled(out, table, ids, scale) },
			func(grads []rowvec.Matrix) error { return rowvec.ScatterAdd(grads[0], ids, scale, dOut) },
			[][]float64{tableOf}, 1},
		{"Embed", embedded(placed),
			func(out rowvec.Matrix) error { return rowvec.Embed(out, table, ids, scale, positions, start, seq) },
			func(grads []rowvec.Matrix) error {
				return rowvec.EmbedBackward(grads[0], grads[1], ids, scale, dOut, start, seq)
			},
			[][]float64{tableOf, positionOf}, 1},
		{"EmbedAt", embedded(placedAt),
			func(out rowvec.Matrix) error { return rowvec.EmbedAt(out, table, ids, scale, positions, at) },
			func(grads []rowvec.Matrix) error {
				return rowvec.EmbedAtBackward(grads[0], grads[1], ids, scale, dOut, at)
			},
			[][]float64{tableOf, positionOf}, 1},
		{"Add, by AddBatches", func(i, j int) float64 { return x[i*dim+j] + fewOf[i%seq*dim+j] },
			func(out rowvec.Matrix) (err error) {
				copy(out.Data, src.Data)
				for i := range rows {
					err = errors.Join(err, rowvec.Add(out.Row(i), few.Row(i%seq)))
				}
				return err
			},
			func(grads []rowvec.Matrix) error { return rowvec.AddBatches(grads[0], dOut) },
			[][]float64{fewOf}, 0},
		{"Dropout", func(i, j int) float64 { return keep[i*dim+j] * x[i*dim+j] },
			func(out rowvec.Matrix) error { return rowvec.Dropout(out, src, mask) },
			func(grads []rowvec.Matrix) error { return rowvec.Dropout(grads[0], dOut, mask) },
			[][]float64{x}, 1},
		{"LayerNorm", normed,
			func(out rowvec.Matrix) error { return rowvec.LayerNorm(out, src, gamma.Data, beta.Data, epsilon) },
			func(grads []rowvec.Matrix) error {
				return rowvec.LayerNormBackward(grads[0], dOut, src, gamma.Data, epsilon, grads[1].Data, grads[2].Data)
			},
			[][]float64{x, gammaOf, betaOf}, 16},
	}
	for _, interleaved := range []bool{false, true} {
		there := rowvec.Rotation{Heads: heads, Interleaved: interleaved}
		back := rowvec.Rotation{Heads: heads, Interleaved: interleaved, Inverse: true}
		passes = append(passes,
			pass{fmt.Sprintf("Rotate, interleaved %v", interleaved), rotated(there, placed),
				func(out rowvec.Matrix) error { return rowvec.Rotate(out, src, there, angles, start, seq) },
				func(grads []rowvec.Matrix) error { return rowvec.Rotate(grads[0], dOut, back, angles, start, seq) },
				[][]float64{x}, 1},
			pass{fmt.Sprintf("RotateAt, interleaved %v", interleaved), rotated(there, placedAt),
				func(out rowvec.Matrix) error { return rowvec.RotateAt(out, src, there, angles, at) },
				func(grads []rowvec.Matrix) error { return rowvec.RotateAt(grads[0], dOut, back, angles, at) },
				[][]float64{x}, 1})
	}
	for _, p := range passes {
		forward := func() []float64 {
			y := make([]float64, 0, rows*dim)
			for i := range rows {
				for j := range dim {
					y = append(y, p.element(i, j))
				}
			}
			return y
		}
		step, byRow := 0.5, false // all is linear, and so any step will do
		if p.roundings > 1 {      // but for the norm
			step, byRow = 0x1p-17, true
		}
		var want []derivatives.Derivatives
		for _, parameter := range p.parameters {
			want = append(want, derivatives.Of(forward, parameter, dim, step, dOut.Data, p.roundings, byRow))
		}
		isatest.Each(t, func(t *testing.T) {
			out := random(rows, dim)
			var grads []rowvec.Matrix
			for _, parameter := range p.parameters {
				grad, err := rowvec.NewMatrix(len(parameter)/dim, dim)
				if err != nil {
					t.Fatal(err)
				}
				grads = append(grads, grad)
			}
			if err := errors.Join(p.forward(out), p.backward(grads)); err != nil {
				t.Fatal(err)
			}
			derivatives.Same(t, p.what, out.Data, forward())
			for i, grad := range grads {
				want[i].Hold(t, fmt.Sprintf("%s, parameter %d", p.what, i), grad.Data)
			}
		})
	}
}
