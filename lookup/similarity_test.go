package lookup_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
)

// plainLength is the length of a row by the words of the definition.
func plainLength(x []float32) float64 {
	var lanes [4]float64
	for i, v := range x {
		lane := i % 4
		if i >= len(x)&^3 {
			lane = 0
		}
		lanes[lane] += float64(float64(v) * float64(v))
	}
	return math.Sqrt((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))
}

// plainUnit returns x divided by its length, or zeros.
func plainUnit(x []float32) []float32 {
	u := make([]float32, len(x))
	length := plainLength(x)
	for i, v := range x {
		if length != 0 {
			u[i] = float32(float64(v) * (1 / length))
		}
	}
	return u
}

// plainNearest sorts the scores of all rows.
func plainNearest(table rowvec.Matrix, metric lookup.Metric, k int, query []float32, except []int) (ids []int, scores []float32) {
	if metric == lookup.Cosine {
		query = plainUnit(query)
	}
	all := make([]float32, table.Rows)
	kernels.DotsAll(rowvec.Matrix{Rows: 1, Cols: len(all), Data: all, Stride: len(all)},
		rowvec.Matrix{Rows: 1, Cols: len(query), Data: query, Stride: len(query)}, table)
	for id, dot := range all {
		if metric == lookup.Cosine {
			factor := 0.0
			if length := plainLength(table.Row(id)); length != 0 {
				factor = 1 / length
			}
			all[id] = float32(float64(dot) * factor)
		}
		if !slices.Contains(except, id) {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(all[b], all[a]) }) // a NaN is less than any number
	for i := range k {
		if i >= len(ids) {
			ids, scores = append(ids, -1), append(scores, float32(math.Inf(-1)))
			continue
		}
		scores = append(scores, all[ids[i]])
	}
	return ids[:k], scores
}

func sameNeighbours(t *testing.T, what string, got *lookup.Neighbours, query int, ids []int, scores []float32) {
	t.Helper()
	k := got.K
	gotIDs, gotScores := got.IDs[query*k:][:k], got.Scores[query*k:][:k]
	for i := range ids {
		if gotIDs[i] != ids[i] || math.Float32bits(gotScores[i]) != math.Float32bits(scores[i]) && (scores[i] == scores[i] || gotScores[i] == gotScores[i]) {
			t.Fatalf("%s, query %d: neighbour %d is %d with %v, want %d with %v", what, query, i, gotIDs[i], gotScores[i], ids[i], scores[i])
		}
	}
	n := slices.Index(append(slices.Clone(ids), -1), -1)
	if ids, scores := got.Of(query); len(ids) != n || len(scores) != n {
		t.Fatalf("%s, query %d: Of returns %d ids and %d scores, want %d", what, query, len(ids), len(scores), n)
	}
}

// manyKinds fills a table with vectors of which some are equal, some zero, some not finite, and some very short or long.
func manyKinds(table rowvec.Matrix, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	for i := range table.Rows {
		row := table.Row(i)
		size := 1.0
		switch rng.IntN(12) {
		case 0:
			clear(row)
			continue
		case 1:
			copy(row, table.Row(rng.IntN(i+1)))
			continue
		case 2:
			size = 1e-42
		case 3:
			size = 1e30
		}
		for j := range row {
			row[j] = float32(rng.IntN(7)-3) * float32(size) // so that scores are often equal
		}
		switch rng.IntN(30) {
		case 0:
			row[rng.IntN(len(row))] = float32(math.NaN())
		case 1:
			row[rng.IntN(len(row))] = float32(math.Inf(1 - 2*rng.IntN(2)))
		}
	}
}

// TestSimilarity holds searches to sorting all scores, at every level and for any number of workers.
func TestSimilarity(t *testing.T) {
	defer tuning.Lower()()
	isatest.Each(t, func(t *testing.T) {
		for _, c := range []struct{ rows, dim, queries, k int }{
			{1, 1, 1, 1}, {7, 3, 2, 9}, {97, 1, 5, 4}, {700, 5, 67, 3}, {1300, 33, 3, 700}, {5000, 2, 2, 10}, {300, 200, 130, 1}, {50, 4, 0, 3},
		} {
			base := newMatrix(t, c.rows, c.dim+3)
			table := rowvec.Matrix{Rows: c.rows, Cols: c.dim, Stride: c.dim + 3, Data: base.Data}
			manyKinds(table, uint64(c.rows))
			queries := newMatrix(t, c.queries, c.dim)
			manyKinds(queries, 5)
			rng := rand.New(rand.NewPCG(7, 8))
			ids, some, offsets := []int32{}, []int{}, []int{0}
			for range c.queries {
				ids = append(ids, int32(rng.IntN(c.rows)))
				for range rng.IntN(5) {
					some = append(some, rng.IntN(c.rows))
				}
				offsets = append(offsets, len(some))
			}
			for _, metric := range []lookup.Metric{lookup.Cosine, lookup.Dot} {
				for _, workers := range []int{1, 2, 5} {
					padding := c.rows / 2
					e := must(lookup.FromMatrix(table, lookup.Workers(workers), lookup.Padding(padding)))
					s := must(lookup.NewSimilarity(e, metric))
					what := fmt.Sprintf("%v, %d workers, %d queries, k %d", s, workers, c.queries, c.k)
					dst := must(lookup.NewNeighbours(c.queries, c.k))
					for _, search := range []struct {
						name   string
						do     func() error
						query  func(i int) []float32
						except func(i int) []int
					}{
						{"Nearest", func() error { return s.Nearest(dst, queries) }, queries.Row, func(int) []int { return nil }},
						{"NearestTo", func() error { return s.NearestTo(dst, lookup.Sequence(ids)) }, func(i int) []float32 { return table.Row(int(ids[i])) }, func(i int) []int { return []int{int(ids[i])} }},
						{"except some of all", func() error { return s.NearestExcept(dst, queries, lookup.Sequence(ids)) }, queries.Row, func(int) []int {
							var all []int
							for _, id := range ids {
								all = append(all, int(id))
							}
							return all
						}},
						{"except some of each", func() error { return s.NearestExcept(dst, queries, lookup.Ragged(some, offsets)) }, queries.Row, func(i int) []int { return slices.Clone(some[offsets[i]:offsets[i+1]]) }},
					} {
						if c.queries == 1 && search.name == "except some of each" {
							continue
						}
						for i := range dst.IDs {
							dst.IDs[i], dst.Scores[i] = 12345, 12345
						}
						if err := search.do(); err != nil {
							t.Fatalf("%s, %s: %v", what, search.name, err)
						}
						for i := range c.queries {
							ids, scores := plainNearest(table, metric, c.k, search.query(i), append(search.except(i), padding))
							sameNeighbours(t, what+", "+search.name, dst, i, ids, scores)
						}
					}
				}
			}
		}
	})
}
