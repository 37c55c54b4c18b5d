package lookup_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// TestStepTrain: it has the bits of gradients and steps apart, whatever a layer consists of.
func TestStepTrain(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		stepTrains(t)
		defer tuning.Lower()()
		stepTrains(t)
	})
}

func stepTrains(t *testing.T) {
	t.Helper()
	methods := []lookup.Method{
		lookup.SGD{Rate: 0.5}, lookup.Adagrad{RateDecay: 0.5}, lookup.RowAdagrad{Initial: 1}, lookup.AdamW{WeightDecay: 0.25, Rate: 0.5},
		lookup.SGD{WeightDecay: 0.1},
	}
	tokens := [][]lookup.Option{{lookup.Padding(padded)}, {lookup.Scaled()}, {lookup.ScaleGradByFrequency()}, {lookup.Frozen()}}
	n := 0
	for _, dim := range []int{1, 33, 300} {
		for _, positions := range []string{"none", "learned", "sinusoidal"} {
			for parts := range 8 { // segments, normalisation, dropout
				n++
				if isatest.Few() && n%7 > 0 {
					continue
				}
				layer := func() *lookup.Layer {
					e := must(lookup.NewEmbedding(vocab, dim, append(slices.Clip(tokens[(n+n/8)%4]), lookup.Workers(1+n/3%3))...))
					var options []lookup.LayerOption
					if parts&1 != 0 {
						options = append(options, lookup.Segments(must(lookup.NewEmbedding(types, dim, lookup.Padding(n%types)))))
					}
					if parts&2 != 0 {
						options = append(options, lookup.LayerNorm(1e-5))
					}
					if parts&4 != 0 {
						options = append(options, lookup.Dropout(0.3, 9))
					}
					return must(lookup.NewLayer(e, must(positional.New(positions, 1000, dim, 5)), options...))
				}
				a, b := layer(), layer()
				method := methods[n%len(methods)]
				oa, ob, grads := must(a.NewOptimizers(method)), must(b.NewOptimizers(method)), a.NewSparseGradients()
				for step, batch := range batches() {
					dOut := fill(newMatrix(t, batch.in.Len(), dim), uint64(step))
					err := a.BackwardSparseTrain(grads, batch.in, dOut, uint64(step))
					for k, g := range grads {
						err = errors.Join(err, oa[k].Step(g))
						g.Clear()
					}
					if err := errors.Join(err, b.StepTrain(ob, batch.in, dOut, uint64(step))); err != nil {
						t.Fatal(err)
					}
					for k, p := range a.Parameters() {
						what := fmt.Sprintf("%v, %T, %s: %s", a, method, batch.name, p.Name)
						compare(t, what, b.Parameters()[k].Value, p.Value)
						for i, s := range oa[k].State() {
							compare(t, what+", state", ob[k].State()[i].Value, s.Value)
						}
						if got, want := ob[k].Steps(), oa[k].Steps(); got != want {
							t.Errorf("%s: %d steps, want %d", what, got, want)
						}
					}
				}
			}
		}
	}
}

// BenchmarkStepTrain has steps and gradients with steps take turns, each behind a forward pass, and reports the time of the first over
// that of the second, medians.
//
//	go test -run '^$' -bench StepTrain -benchtime 12x ./lookup
func BenchmarkStepTrain(b *testing.B) {
	for _, size := range [][3]int{{50257, 768, 128}, {50257, 768, 1024}, {50257, 768, 8192}, {1000000, 64, 8192}} {
		vocab, dim, n := size[0], size[1], size[2]
		table, dst, dOut := newMatrix(b, vocab, dim), newMatrix(b, n, dim), newMatrix(b, n, dim)
		rowvec.AdviseHugePages(table.Data)
		fill(table, 1)
		fill(dOut, 2)
		for kind, options := range map[string][]lookup.LayerOption{
			"plain":   nil,
			"dropout": {lookup.Dropout(0.1, 1)},
			"BERT": {lookup.Dropout(0.1, 1), lookup.LayerNorm(1e-5),
				lookup.Segments(must(lookup.NewEmbedding(2, dim)))},
		} {
			layer := must(lookup.NewLayer(must(lookup.FromMatrix(table, lookup.Workers(1))), must(positional.NewLearned(128, dim, 1)), options...))
			for _, method := range []lookup.Method{lookup.SGD{Rate: 1e-9}, lookup.AdamW{Rate: 1e-9}} {
				b.Run(fmt.Sprintf("%s/vocab=%d/dim=%d/ids=%d/%T", kind, vocab, dim, n, method), func(b *testing.B) {
					optimizers, grads := must(layer.NewOptimizers(method)), layer.NewSparseGradients()
					ids, rng := make([]int32, n), rand.New(rand.NewPCG(1, 2))
					in := lookup.Batch(ids, 128)
					var times [2][]float64
					for step := range uint64(b.N) {
						for way := range 2 {
							for turn := range 3 {
								for i := range ids {
									ids[i] = int32(math.Exp(rng.Float64()*math.Log(float64(vocab)))) - 1 // Zipf
								}
								begin := time.Now()
								err := layer.ForwardTrain(dst, in, step)
								if way == 0 {
									err = errors.Join(err, layer.StepTrain(optimizers, in, dOut, step))
								} else {
									err = errors.Join(err, layer.BackwardSparseTrain(grads, in, dOut, step))
									for k, g := range grads {
										err = errors.Join(err, optimizers[k].Step(g))
										g.Clear()
									}
								}
								if err != nil {
									b.Fatal(err)
								}
								if turn > 0 { // in the first, the caches are those of the other
									times[way] = append(times[way], float64(time.Since(begin).Nanoseconds()))
								}
							}
						}
					}
					median := func(x []float64) float64 { return slices.Sorted(slices.Values(x))[len(x)/2] }
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(median(times[0])/float64(n), "ns/id")
					b.ReportMetric(median(times[0])/median(times[1]), "of-gradients")
				})
			}
		}
	}
}

// TestStepTrainMisuse: the error says what is wrong, and nothing has changed.
func TestStepTrainMisuse(t *testing.T) {
	const dim = 4
	layer := func() *lookup.Layer {
		return must(lookup.NewLayer(must(lookup.NewEmbedding(10, dim)), must(positional.NewLearned(8, dim, 1)), lookup.LayerNorm(1e-5)))
	}
	l, other := layer(), layer()
	o, others := must(l.NewOptimizers(lookup.Adam{})), must(other.NewOptimizers(lookup.Adam{}))
	in, out := lookup.Sequence([]int{1, 2, 3}), fill(newMatrix(t, 3, dim), 2)
	shared := must(lookup.NewLayer(l.Tokens(), nil, lookup.Segments(l.Tokens()))) // in one table
	state := o[1].State()[1].Value
	state.Rows = 3
	var before [][]float32
	for _, p := range l.Parameters() {
		before = append(before, append([]float32(nil), p.Value.Data...))
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{l.StepTrain(o[:3], in, out, 1), "lookup.Layer.StepTrain: len(optimizers) is 3, want 4"},
		{l.StepTrain([]*lookup.Optimizer{o[0], nil, o[2], o[3]}, in, out, 1), "the optimizer of position.weight is nil"},
		{l.StepTrain([]*lookup.Optimizer{o[0], others[1], o[2], o[3]}, in, out, 1), "position.weight of the layer is another one, want that of the optimizer"},
		{l.StepTrain([]*lookup.Optimizer{o[0], o[1], o[3], o[2]}, in, out, 1), "norm.weight of the layer is another one"},
		{shared.StepTrain([]*lookup.Optimizer{o[0], o[0]}, in, out, 1), "StepTrain: optimizer of segment.weight overlaps that of token.weight"},
		{l.StepTrain(o, in.From(6), out, 1), "StepTrain"},
		{l.StepTrain(o, lookup.Sequence([]int{1, 10, 3}), out, 1), "id 10 at position 1"},
		{l.StepTrain(o, in, newMatrix(t, 3, 5), 1), "dOut.Cols is 5, want 4"},
		{l.StepTrain(o, in, state, 1), "lookup.Layer.StepTrain: state overlaps dOut"},
		{must(lookup.NewLayer(l.Tokens(), nil, lookup.Dropout(0.5, 1))).StepTrain(o[:1], in, out, 1<<56), "step"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", c.err, c.want)
		}
	}
	for k, p := range l.Parameters() {
		compare(t, p.Name, p.Value, rowvec.Matrix{Rows: p.Value.Rows, Cols: dim, Stride: dim, Data: before[k]})
		if o[k].Steps() != 0 {
			t.Errorf("%s: %d steps", p.Name, o[k].Steps())
		}
	}
}
