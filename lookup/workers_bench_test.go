package lookup_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// BenchmarkWorkers has one worker and more take turns, up to GOMAXPROCS of them, at sizes from below those that package tuning says
// a second one pays from, and reports how many times faster more are: medians of calls with fresh uniform ids, each behind others
// of its kind.
//
//	go test -run '^$' -bench Workers -benchtime 30x ./lookup
func BenchmarkWorkers(b *testing.B) {
	defer func(elements int) { tuning.ParallelElements = elements }(tuning.ParallelElements)
	tuning.ParallelElements = 0
	const seq = 128
	var crews []int
	for n := 1; n < runtime.GOMAXPROCS(0); n *= 2 {
		crews = append(crews, n)
	}
	crews = append(crews, runtime.GOMAXPROCS(0))
	advised := func(rows, cols int) rowvec.Matrix {
		m := newMatrix(b, rows, cols)
		rowvec.AdviseHugePages(m.Data)
		for i := range m.Data { // or else all pages are the same, of zeros
			m.Data[i] = 1
		}
		return m
	}
	for _, size := range [][2]int{{50257, 768}, {1000000, 64}, {10000, 64}} {
		vocab, dim := size[0], size[1]
		table, grad := advised(vocab, dim), advised(vocab, dim)
		for _, size := range []int{1, 2, 4, 8, 16, 32, 64, 256} { // of 128 Ki elements
			n := size << 17 / dim / seq * seq
			dst := advised(n, dim)
			for _, pass := range []struct {
				name string
				make func(e *lookup.Embedding) func(in lookup.Input) error
			}{
				{"Embedding", func(e *lookup.Embedding) func(in lookup.Input) error {
					return func(in lookup.Input) error { return e.Forward(dst, in) }
				}},
				{"Layer", func(e *lookup.Embedding) func(in lookup.Input) error {
					layer := must(lookup.NewLayer(e, must(positional.NewLearned(seq, dim, 1))))
					return func(in lookup.Input) error { return layer.Forward(dst, in) }
				}},
				{"Bag", func(e *lookup.Embedding) func(in lookup.Input) error {
					bag := must(lookup.NewBag(e, lookup.Sum))
					bags := dst
					bags.Rows = n / seq
					return func(in lookup.Input) error { return bag.Forward(bags, in) }
				}},
				{"Backward", func(e *lookup.Embedding) func(in lookup.Input) error {
					return func(in lookup.Input) error { return e.Backward(grad, in, dst) }
				}},
				{"BackwardSparse", func(e *lookup.Embedding) func(in lookup.Input) error {
					sparse := e.NewGradient()
					return func(in lookup.Input) error {
						sparse.Clear()
						return e.BackwardSparse(sparse, in, dst)
					}
				}},
				{"StepBatch", func(e *lookup.Embedding) func(in lookup.Input) error {
					optimizer := must(e.NewOptimizer(lookup.SGD{Rate: 1e-9}))
					return func(in lookup.Input) error { return optimizer.StepBatch(e, in, dst) }
				}},
				{"Train", func(e *lookup.Embedding) func(in lookup.Input) error {
					optimizer := must(e.NewOptimizer(lookup.Adagrad{Rate: 1e-9}))
					return func(in lookup.Input) error {
						if err := e.Forward(dst, in); err != nil {
							return err
						}
						return optimizer.StepBatch(e, in, dst)
					}
				}},
			} {
				b.Run(fmt.Sprintf("%s/vocab=%d/dim=%d/ids=%d", pass.name, vocab, dim, n), func(b *testing.B) {
					calls := make([]func(in lookup.Input) error, len(crews))
					for k, workers := range crews {
						calls[k] = pass.make(must(lookup.FromMatrix(table, lookup.Workers(workers))))
					}
					ids := make([]int32, n)
					rng := rand.New(rand.NewPCG(1, 2))
					times := make([][]float64, len(crews))
					for range b.N {
						for k, call := range calls {
							for turn := range 4 {
								for i := range ids {
									ids[i] = rng.Int32N(int32(vocab))
								}
								begin := time.Now()
								if err := call(lookup.Batch(ids, seq)); err != nil {
									b.Fatal(err)
								}
								if turn > 0 { // in the first, the caches are those of the others
									times[k] = append(times[k], float64(time.Since(begin).Nanoseconds()))
								}
							}
						}
					}
					median := func(x []float64) float64 { return slices.Sorted(slices.Values(x))[len(x)/2] }
					one := median(times[0])
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(one/float64(n), "ns/id")
					for k, workers := range crews[1:] {
						b.ReportMetric(one/median(times[k+1]), fmt.Sprintf("x-%d-workers", workers))
					}
				})
			}
		}
	}
}
