package lookup_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/lookup"
)

// TestScreening holds searches to sorting all scores where rows are compared in 16 bits first: of tables where the best are
// hardly better than others, where all are alike, where each is better than those before it, and of some that cannot be
// compared so.
func TestScreening(t *testing.T) {
	defer tuning.Lower()()
	const vocab, dim, queries, k = 1200, 70, 20, 5
	tables := map[string]func(rng *rand.Rand, i int, row, query []float32){
		"random": func(*rand.Rand, int, []float32, []float32) {},
		"crowd": func(rng *rand.Rand, i int, row, query []float32) {
			for j := range row {
				if i%30 == 0 {
					row[j] = query[j] * (1 + 1e-4*row[j])
				}
			}
		},
		"alike": func(_ *rand.Rand, i int, row, query []float32) { copy(row, query) },
		"better": func(_ *rand.Rand, i int, row, query []float32) {
			for j := range row {
				row[j] = query[j]*float32(i+1)/vocab + row[j]*float32(vocab-i)/vocab
			}
		},
		"other sizes": func(rng *rand.Rand, i int, row, query []float32) {
			size := float32(math.Pow(10, float64(rng.IntN(24)-12)))
			for j := range row {
				row[j] *= size
			}
			switch rng.IntN(60) {
			case 0:
				clear(row)
			case 1:
				row[rng.IntN(dim)] = float32(math.NaN())
			case 2:
				row[rng.IntN(dim)] = float32(math.Inf(1))
			}
		},
	}
	isatest.Each(t, func(t *testing.T) {
		for name, change := range tables {
			rng := rand.New(rand.NewPCG(5, 16))
			table, from := newMatrix(t, vocab, dim), newMatrix(t, queries, dim)
			for _, m := range []rowvec.Matrix{table, from} {
				for i := range m.Data {
					m.Data[i] = float32(rng.NormFloat64())
				}
			}
			for i := range vocab {
				change(rng, i, table.Row(i), from.Row(0))
			}
			for _, metric := range []lookup.Metric{lookup.Cosine, lookup.Dot} {
				for _, workers := range []int{1, 3} {
					if workers == 1 && isatest.Slow {
						continue
					}
					s := must(lookup.NewSimilarity(must(lookup.FromMatrix(table, lookup.Workers(workers))), metric))
					dst := must(lookup.NewNeighbours(queries, k))
					screened := countScreened()
					if err := s.Nearest(dst, from); err != nil {
						t.Fatal(err)
					}
					if forward.Quantizes(dim) && screened() == 0 {
						t.Errorf("%s, %v: nothing has been compared in 16 bits", name, metric)
					}
					for q := range queries {
						ids, scores := plainNearest(table, metric, k, from.Row(q), nil)
						sameNeighbours(t, fmt.Sprintf("%s, %v, %d workers", name, metric, workers), dst, q, ids, scores)
					}
				}
			}
		}
	})
}

// countScreened returns how often rows have been compared in 16 bits since, and ends counting.
func countScreened() (end func() int64) {
	var n atomic.Int64
	dots := forward.QuantizedDots
	forward.QuantizedDots = func(dst []int32, a, b []int16, cols int, next rowvec.Matrix) {
		n.Add(1)
		dots(dst, a, b, cols, next)
	}
	return func() int64 {
		forward.QuantizedDots = dots
		return n.Load()
	}
}
