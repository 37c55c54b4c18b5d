package lookup_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/rowvec/rowvec/internal/derivatives"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/lookup"
)

// wideLayer returns the passes of a layer in float64, with or without dropout, as a function of its parameters, in their order.
// The row of a padding id, and what is frozen, are no parameters: they are read from the layer.
func wideLayer(t *testing.T, l *lookup.Layer, b batch, train bool, step uint64) (parameters [][]float64, forward func() []float64) {
	t.Helper()
	dim, named := l.Dim(), map[string][]float64{}
	for _, p := range l.Parameters() {
		x := derivatives.Wide(p.Value.Data)
		parameters, named[p.Name] = append(parameters, x), x
	}
	row := func(e *lookup.Embedding, name string, id int) []float64 {
		if !learns(e, id) {
			return derivatives.Wide(e.Weight().Row(id))
		}
		return named[name][id*dim:][:dim]
	}
	kept := newMatrix(t, len(b.ids), dim)
	for i := range kept.Data {
		kept.Data[i] = 1
	}
	if train {
		kept = dropped(kept, l.Mask(step))
	}
	fixed := make([][]float64, len(b.ids)) // positions
	for i, at := range b.at {
		fixed[i] = derivatives.Wide(positionRow(t, l, at))
	}
	return parameters, func() []float64 {
		out := make([]float64, 0, len(b.ids)*dim)
		for i, id := range b.ids {
			x, position, segment := make([]float64, dim), fixed[i], make([]float64, dim)
			if all := named["position.weight"]; all != nil {
				position = all[b.at[i]*dim:][:dim]
			}
			if l.Segments() != nil {
				segment = row(l.Segments(), "segment.weight", b.typ[i])
			}
			mean, variance := 0.0, 0.0
			for j, y := range row(l.Tokens(), "token.weight", id) {
				x[j] = float64(l.Tokens().Scale())*y + segment[j] + position[j]
				mean += x[j] / float64(dim)
			}
			for _, y := range x {
				variance += (y - mean) * (y - mean) / float64(dim)
			}
			for j := range x {
				if weight := named["norm.weight"]; weight != nil {
					x[j] = (x[j]-mean)/math.Sqrt(variance+float64(float32(1e-5)))*weight[j] + named["norm.bias"][j]
				}
				x[j] *= float64(kept.Row(i)[j])
			}
			out = append(out, x...)
		}
		return out
	}
}

// TestLayerDifferences holds gradients of every kind of layers, with and without dropout, dense ones and sparse ones, to
// differences. They are those of Embedding where there is nothing but tokens.
func TestLayerDifferences(t *testing.T) {
	const dim, step = 7, 12
	for kind, layer := range dropping(t, dim, 2, 0.4) {
		e, alone := layer.Tokens(), layer.Segments() == nil && layer.Positions() == nil
		h, roundings := 0.5, 2 // the scale, and what dropout multiplies by; all is linear, and any h will do
		weight, _ := norms(layer)
		normed := weight != nil
		if normed { // which is not linear
			h, roundings, alone = 0x1p-17, 16, false
		}
		for _, k := range []int{2, 3, 6, 10} {
			if isatest.Slow && k != 3 && k != 10 {
				continue // the others have less: a batch that begins later, and positions of a ragged one
			}
			b := batches()[k]
			dOut := fill(newMatrix(t, b.in.Len(), dim), 4)
			for _, train := range []bool{false, true} {
				what := fmt.Sprintf("%s, %s, dropout %v", kind, b.name, train)
				parameters, forward := wideLayer(t, layer, b, train, step)
				var all []derivatives.Derivatives
				for _, x := range parameters {
					all = append(all, derivatives.Of(forward, x, dim, h, dOut.Data, roundings, normed))
				}
				isatest.Each(t, func(t *testing.T) {
					out, grads, sparse := newMatrix(t, b.in.Len(), dim), layer.NewGradients(), layer.NewSparseGradients()
					var err error
					if train {
						err = errors.Join(layer.ForwardTrain(out, b.in, step), layer.BackwardTrain(grads, b.in, dOut, step),
							layer.BackwardSparseTrain(sparse, b.in, dOut, step))
					} else {
						err = errors.Join(layer.Forward(out, b.in), layer.Backward(grads, b.in, dOut),
							layer.BackwardSparse(sparse, b.in, dOut))
					}
					if err != nil {
						t.Fatal(err)
					}
					derivatives.Same(t, what, out.Data, forward())
					for i, p := range layer.Parameters() {
						all[i].Hold(t, what+", "+p.Name, grads[i].Data)
						all[i].Hold(t, what+", sparse, "+p.Name, dense(t, sparse[i], p.Value.Rows, dim).Data)
					}
					if alone && !train {
						grad, sparse := newMatrix(t, vocab, dim), e.NewGradient()
						if err := errors.Join(e.Backward(grad, b.in, dOut), e.BackwardSparse(sparse, b.in, dOut)); err != nil {
							t.Fatal(err)
						}
						all[0].Hold(t, what+", embedding", grad.Data)
						all[0].Hold(t, what+", embedding, sparse", dense(t, sparse, vocab, dim).Data)
					}
				})
			}
		}
	}
}

// TestBagDifferences holds gradients of bags, in the table and in the weights, to differences.
func TestBagDifferences(t *testing.T) {
	const dim, n = 9, 60
	ids, plain := randomIDs[uint32](n)
	weights := fill(newMatrix(t, 1, n), 3).Data
	offsets, fives := []int{0, 0, 1, 4, 20, 20, 21, 45, n}, []int{0}
	for i := 5; i <= n; i += 5 {
		fives = append(fives, i)
	}
	for _, c := range []struct {
		name    string
		in      lookup.Input
		offsets []int
	}{
		{"ragged", lookup.Ragged(ids, offsets), offsets}, {"without the last offset", lookup.RaggedFrom(ids, offsets[:8]), offsets},
		{"batch", lookup.Batch(ids, 5), fives},
	} {
		for _, padding := range []int{-1, padded} {
			for _, pooling := range []string{"sum", "weighted", "mean", "max"} {
				what, options := fmt.Sprintf("%s of %s, padding id %d", pooling, c.name, padding), []lookup.Option(nil)
				if padding >= 0 {
					options = append(options, lookup.Padding(padding))
				}
				bag := must(lookup.NewBag(must(lookup.FromMatrix(fill(newMatrix(t, vocab, dim), 4), options...)), map[string]lookup.Pooling{
					"sum": lookup.Sum, "weighted": lookup.Sum, "mean": lookup.Mean, "max": lookup.Max,
				}[pooling]))
				in, ones := c.in, make([]float64, n)
				for i := range ones {
					ones[i] = 1
				}
				h, factors := 0.5, ones // linear, and any h will do
				switch pooling {
				case "weighted":
					in, factors = c.in.Weighted(weights), derivatives.Wide(weights)
				case "max":
					h = 0x1p-14 // less than parts the greatest two of any bag
				}
				table := derivatives.Wide(bag.Tokens().Weight().Data)
				forward := func() []float64 {
					out := make([]float64, 0, len(c.offsets)*dim)
					for b, end := range c.offsets[1:] {
						x, count := make([]float64, dim), 0.0
						for i := c.offsets[b]; i < end; i++ {
							if plain[i] == padding {
								continue
							}
							count++
							for j, y := range table[plain[i]*dim:][:dim] {
								switch {
								case pooling != "max":
									x[j] += factors[i] * y
								case count == 1 || y > x[j]:
									x[j] = y
								}
							}
						}
						for j := range x {
							if pooling == "mean" {
								x[j] /= max(1, count)
							}
						}
						out = append(out, x...)
					}
					return out
				}
				bags := len(c.offsets) - 1
				dOut := fill(newMatrix(t, bags, dim), 5)
				byTable := derivatives.Of(forward, table, dim, h, dOut.Data, 2, false) // 1/n, or the weight, and the product
				byWeights := derivatives.Of(forward, factors, 1, h, dOut.Data, 1, false)
				isatest.Each(t, func(t *testing.T) {
					out, g := newMatrix(t, bags, dim), bag.Tokens().NewGradient()
					if err := errors.Join(bag.Forward(out, in), bag.BackwardSparse(g, in, dOut)); err != nil {
						t.Fatal(err)
					}
					derivatives.Same(t, what, out.Data, forward())
					byTable.Hold(t, what, dense(t, g, vocab, dim).Data)
					checkRows(t, what, g, plain, padding)
					if bag.Pooling() == lookup.Sum {
						dWeights := make([]float32, n)
						if err := bag.BackwardWeights(dWeights, in, dOut); err != nil {
							t.Fatal(err)
						}
						byWeights.Hold(t, what+", weights", dWeights)
					}
				})
			}
		}
	}
}
