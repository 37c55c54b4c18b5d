package lookup_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
)

// plainLength is the length of a row by the words of the definition.
func plainLength(x []float32) float64 {
	var lanes [16]float64
	for i, v := range x {
		lanes[i%16] += float64(float64(v) * float64(v))
	}
	for n := 8; n > 0; n /= 2 {
		for k := range n {
			lanes[k] += lanes[k+n]
		}
	}
	return math.Sqrt(lanes[0])
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
		teams := []int{1, 2, 5}
		if isatest.Few() {
			teams = []int{2}
		}
		for _, c := range []struct{ rows, dim, queries, k int }{
			{1, 1, 1, 1}, {7, 3, 2, 9}, {97, 1, 5, 4}, {700, 5, 67, 3}, {700, 33, 3, 400}, {2000, 2, 2, 10}, {300, 100, 70, 1}, {50, 4, 0, 3},
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
				for _, workers := range teams {
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

// TestAnalogy holds answers to the definition, and to those that anybody would give.
func TestAnalogy(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const dim, k = 19, 6
		table := newMatrix(t, 150, dim)
		manyKinds(table, 9)
		e := must(lookup.FromMatrix(table, lookup.Workers(1)))
		s := must(lookup.NewSimilarity(e, lookup.Cosine))
		rng := rand.New(rand.NewPCG(1, 2))
		var ids []uint32
		for range 3 * 40 {
			ids = append(ids, rng.Uint32N(150))
		}
		dst := must(lookup.NewNeighbours(40, k))
		if err := s.Analogy(dst, lookup.Batch(ids, 3)); err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			question := ids[3*i : 3*i+3]
			var sum [dim]float64
			for n, sign := range []float64{-1, 1, 1} {
				row := table.Row(int(question[n]))
				factor := 0.0
				if length := plainLength(row); length != 0 {
					factor = 1 / length
				}
				for j, x := range row {
					sum[j] += float64(float64(x) * float64(sign*factor))
				}
			}
			total := 0.0
			for _, x := range sum {
				total += float64(x * x)
			}
			query := make([]float32, dim)
			for j, x := range sum {
				if total != 0 {
					query[j] = float32(x * (1 / math.Sqrt(total)))
				}
			}
			// The query has length 1 already, give or take a rounding; so the dot product with it is the score.
			scores := make([]float32, table.Rows)
			kernels.DotsAll(rowvec.Matrix{Rows: 1, Cols: len(scores), Data: scores, Stride: len(scores)},
				rowvec.Matrix{Rows: 1, Cols: dim, Data: query, Stride: dim}, table)
			var order []int
			for id := range scores {
				factor := 0.0
				if length := plainLength(table.Row(id)); length != 0 {
					factor = 1 / length
				}
				scores[id] = float32(float64(scores[id]) * factor)
				if !slices.Contains(question, uint32(id)) {
					order = append(order, id)
				}
			}
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
			var want []float32
			for _, id := range order[:k] {
				want = append(want, scores[id])
			}
			sameNeighbours(t, "Analogy", dst, i, order[:k], want)
		}
	})
}

// TestSimilarityByHand: zeros, ties, what is no number, and the padding id.
func TestSimilarityByHand(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	table := rowvec.Matrix{Rows: 9, Cols: 2, Stride: 2, Data: []float32{
		nan, 1, // 0
		0, 0, // 1
		3, 4, // 2
		-3, -4, // 3
		6, 8, // 4: as 2, but for its length
		inf, 0, // 5
		4, -3, // 6
		3, 4, // 7: as 2
		4 * 0x1p-149, 0, // 8: so short that the reciprocal of its length is no float32, and 0.6 of it are rounded to a half
	}}
	queries := rowvec.Matrix{Rows: 4, Cols: 2, Stride: 2, Data: []float32{3, 4, 0, 0, nan, 0, inf, 1}}
	e := must(lookup.FromMatrix(table, lookup.Padding(7), lookup.Workers(1)))
	isatest.Each(t, func(t *testing.T) {
		dst := must(lookup.NewNeighbours(4, 9))
		none := float32(math.Inf(-1))
		if err := must(lookup.NewSimilarity(e, lookup.Cosine)).Nearest(dst, queries); err != nil {
			t.Fatal(err)
		}
		sameNeighbours(t, "cosine", dst, 0, []int{2, 4, 8, 1, 6, 3, 0, 5, -1}, []float32{1, 1, 0.5, 0, 0, -1, nan, nan, none})
		sameNeighbours(t, "cosine", dst, 1, []int{1, 2, 3, 4, 6, 8, 0, 5, -1}, []float32{0, 0, 0, 0, 0, 0, nan, nan, none})
		for query := 2; query < 4; query++ {
			sameNeighbours(t, "cosine", dst, query, []int{0, 1, 2, 3, 4, 5, 6, 8, -1}, []float32{nan, nan, nan, nan, nan, nan, nan, nan, none})
		}
		if err := must(lookup.NewSimilarity(e, lookup.Dot)).Nearest(dst, queries); err != nil {
			t.Fatal(err)
		}
		sameNeighbours(t, "dot", dst, 0, []int{5, 4, 2, 8, 1, 6, 3, 0, -1}, []float32{inf, 50, 25, 12 * 0x1p-149, 0, 0, -25, nan, none})
	})
}

// TestBetween: the score of two tokens is that of a search, in every bit.
func TestBetween(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{1, 2, 30, 100} {
			e := must(lookup.FromMatrix(fill(newMatrix(t, 12, dim), 5)))
			clear(e.Weight().Row(4))
			e.Weight().Row(5)[dim-1] = float32(math.Inf(1))
			for _, metric := range []lookup.Metric{lookup.Cosine, lookup.Dot} {
				s, dst := must(lookup.NewSimilarity(e, metric)), must(lookup.NewNeighbours(1, 12))
				for id := range 12 {
					if err := s.Nearest(dst, rowvec.Matrix{Rows: 1, Cols: dim, Data: e.Weight().Row(id), Stride: dim}); err != nil {
						t.Fatal(err)
					}
					for i, other := range dst.IDs {
						got, want := must(s.Between(id, other)), dst.Scores[i]
						if math.Float32bits(got) != math.Float32bits(want) && !(got != got && want != want) {
							t.Errorf("%v: %d and %d score %v, want %v", s, id, other, got, want)
						}
					}
				}
			}
		}
	})
}

// TestRefresh: lengths are those of the last Refresh.
func TestRefresh(t *testing.T) {
	table := rowvec.Matrix{Rows: 2, Cols: 1, Stride: 1, Data: []float32{4, 5}}
	s := must(lookup.NewSimilarity(must(lookup.FromMatrix(table)), lookup.Cosine))
	query := rowvec.Matrix{Rows: 1, Cols: 1, Stride: 1, Data: []float32{7}}
	dst := must(lookup.NewNeighbours(1, 1))
	table.Data[0] = 8
	for _, want := range []float32{2, 1} {
		if err := s.Nearest(dst, query); err != nil || dst.Scores[0] != want || dst.IDs[0] != 0 {
			t.Error(err, dst, want)
		}
		s.Refresh()
	}
	dot := must(lookup.NewSimilarity(s.Tokens(), lookup.Dot))
	dot.Refresh() // has nothing to do
}

// TestNeighboursOf: without room there is no query.
func TestNeighboursOf(t *testing.T) {
	for _, n := range []*lookup.Neighbours{{}, {K: -1, IDs: make([]int, 2)}, must(lookup.NewNeighbours(0, 3))} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, "no such query") {
					t.Errorf("%+v: %v", n, r)
				}
			}()
			n.Of(0)
		}()
	}
}

func TestSimilarityMisuse(t *testing.T) {
	const dim = 2
	e := must(lookup.NewEmbedding(10, dim))
	s := must(lookup.NewSimilarity(e, lookup.Cosine))
	dot := must(lookup.NewSimilarity(e, lookup.Dot))
	for want, err := range map[string]error{
		"lookup.NewSimilarity: tokens is nil":                                                 second(lookup.NewSimilarity(nil, lookup.Dot)),
		"lookup.NewSimilarity: metric is Metric(2), want cosine or dot":                       second(lookup.NewSimilarity(e, 2)),
		"lookup.NewSimilarity: metric is Metric(-1), want cosine or dot":                      second(lookup.NewSimilarity(e, -1)),
		"lookup.NewNeighbours: queries is -1, want at least 0":                                second(lookup.NewNeighbours(-1, 1)),
		"lookup.NewNeighbours: k is 0, want at least 1":                                       second(lookup.NewNeighbours(0, 0)),
		fmt.Sprintf("lookup.NewNeighbours: k is %d, want at most ", 1<<30):                    second(lookup.NewNeighbours(1<<20, 1<<30)),
		fmt.Sprintf("lookup.NewNeighbours: queries is %d, want at most ", math.MaxInt):        second(lookup.NewNeighbours(math.MaxInt, 1)),
		"lookup.Similarity.Analogy: the metric is dot, want cosine":                           dot.Analogy(must(lookup.NewNeighbours(1, 1)), lookup.Batch([]int{1, 2, 3}, 3)),
		"lookup.Similarity.Analogy: tokens of a question is 2, want 3":                        s.Analogy(must(lookup.NewNeighbours(1, 1)), lookup.Sequence([]int{1, 2})),
		"lookup.Similarity.Analogy: len(dst.IDs) is 1, want 2":                                s.Analogy(must(lookup.NewNeighbours(1, 1)), lookup.Batch([]int{1, 2, 3, 1, 2, 3}, 3)),
		"lookup.Similarity.Analogy: len(ids) is 4, want a multiple of 3":                      s.Analogy(must(lookup.NewNeighbours(1, 1)), lookup.Batch([]int{1, 2, 3, 1}, 3)),
		"lookup.Similarity.Nearest: dst is nil":                                               s.Nearest(nil, newMatrix(t, 1, dim)),
		"lookup.Similarity.Nearest: dst.K is 0, want at least 1":                              s.Nearest(&lookup.Neighbours{}, newMatrix(t, 1, dim)),
		"lookup.Similarity.Nearest: queries.Cols is 3, want 2":                                s.Nearest(must(lookup.NewNeighbours(1, 1)), newMatrix(t, 1, 3)),
		"lookup.Similarity.NearestExcept: sequences of except is 3, want 2":                   s.NearestExcept(must(lookup.NewNeighbours(2, 1)), newMatrix(t, 2, dim), lookup.Batch([]int{1, 2, 3}, 1)),
		"lookup.Similarity.NearestExcept: seq is 0, want at least 1":                          s.NearestExcept(must(lookup.NewNeighbours(2, 1)), newMatrix(t, 2, dim), lookup.Input{}),
		"lookup.Similarity.Nearest: len(dst.Scores) is 1, want 2":                             s.Nearest(&lookup.Neighbours{K: 2, IDs: make([]int, 2), Scores: make([]float32, 1)}, newMatrix(t, 1, dim)),
		"lookup.Similarity.NearestExcept: id 10 at position 1 is outside [0, 10)":             s.NearestExcept(must(lookup.NewNeighbours(1, 1)), newMatrix(t, 1, dim), lookup.Sequence([]int{1, 10})),
		"lookup.Similarity.NearestTo: id -1 at position 0 is outside [0, 10)":                 s.NearestTo(must(lookup.NewNeighbours(1, 1)), lookup.Sequence([]int{-1})),
		"lookup.Similarity.Analogy: id 18446744073709551615 at position 0 is outside [0, 10)": s.Analogy(must(lookup.NewNeighbours(1, 1)), lookup.Batch([]uint64{math.MaxUint64, 1, 2}, 3)),
		"lookup.Similarity.NearestTo: dst.K is 1152921504606846977, want at most ":            nil,
	} {
		if err == nil && strings.Contains(want, "1152921504606846977") {
			if strconv.IntSize < 64 {
				continue
			}
			large := 1
			for range 60 {
				large *= 2
			}
			err = s.NearestTo(&lookup.Neighbours{K: large + 1}, lookup.Sequence(make([]int, 16)))
		}
		if err == nil || !strings.HasPrefix(err.Error(), "rowvec: "+want) || !strings.HasSuffix(want, " ") && err.Error() != "rowvec: "+want {
			t.Errorf("error %v, want rowvec: %s", err, want)
		}
	}

	// What shares memory.
	words := make([]uint64, 64)
	floats := unsafe.Slice((*float32)(unsafe.Pointer(&words[0])), 128)
	ints := unsafe.Slice((*int)(unsafe.Pointer(&words[0])), 64*8/int(unsafe.Sizeof(0)))
	matrix := rowvec.Matrix{Rows: 2, Cols: dim, Stride: dim, Data: floats}
	shared := must(lookup.NewSimilarity(must(lookup.FromMatrix(rowvec.Matrix{Rows: 10, Cols: dim, Stride: dim, Data: floats})), lookup.Dot))
	other := newMatrix(t, 2, dim)
	byScores := func() *lookup.Neighbours { return &lookup.Neighbours{K: 1, IDs: make([]int, 2), Scores: floats[1:3]} }
	byIDs := func() *lookup.Neighbours { return &lookup.Neighbours{K: 1, IDs: ints[:2], Scores: make([]float32, 2)} }
	for _, c := range []struct {
		err  error
		want string
	}{
		{s.Nearest(byScores(), matrix), "Nearest: dst.Scores overlaps queries"},
		{s.Nearest(byIDs(), matrix), "Nearest: dst.IDs overlaps queries"},
		{shared.Nearest(byScores(), other), "Nearest: dst.Scores overlaps token table"},
		{shared.Nearest(byIDs(), other), "Nearest: dst.IDs overlaps token table"},
		{s.NearestTo(byScores(), lookup.Sequence(words[:2])), "NearestTo: dst.Scores overlaps ids"},
		{s.NearestTo(byIDs(), lookup.Sequence(words[:2])), "NearestTo: dst.IDs overlaps ids"},
		{s.NearestExcept(byScores(), other, lookup.Sequence(words[:2])), "NearestExcept: dst.Scores overlaps ids"},
		{s.Nearest(&lookup.Neighbours{K: 1, IDs: ints[:2], Scores: floats[1:3]}, other), "Nearest: dst.IDs overlaps dst.Scores"},
	} {
		var overlap *rowvec.OverlapError
		if !errors.As(c.err, &overlap) || c.err.Error() != "rowvec: lookup.Similarity."+c.want {
			t.Errorf("error %v, want %s", c.err, c.want)
		}
	}
	for i, w := range words {
		if w != 0 {
			t.Errorf("word %d has changed", i)
		}
	}
}

// TestSimilarityTogether has several goroutines search at once.
func TestSimilarityTogether(t *testing.T) {
	defer tuning.Lower()()
	e := must(lookup.NewEmbedding(2000, 20, lookup.Workers(3)))
	s := must(lookup.NewSimilarity(e, lookup.Cosine))
	want := must(lookup.NewNeighbours(9, 4))
	ids := []int{1, 5, 8, 1999, 3, 77, 500, 4, 1}
	if err := s.NearestTo(want, lookup.Sequence(ids)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			dst := must(lookup.NewNeighbours(9, 4))
			for range 5 {
				if err := s.NearestTo(dst, lookup.Sequence(ids)); err != nil || !slices.Equal(dst.IDs, want.IDs) || !slices.Equal(dst.Scores, want.Scores) {
					t.Error(err, dst, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestSimilarityNoAllocation(t *testing.T) {
	defer tuning.Lower()()
	for _, workers := range []int{1, 2} {
		e := must(lookup.NewEmbedding(1000, 30, lookup.Workers(workers)))
		s, dot := must(lookup.NewSimilarity(e, lookup.Cosine)), must(lookup.NewSimilarity(e, lookup.Dot))
		queries := fill(newMatrix(t, 70, 30), 3)
		many, few := must(lookup.NewNeighbours(70, 5)), must(lookup.NewNeighbours(2, 5))
		ids := []int32{1, 2, 3, 4, 5, 6}
		isatest.NoAllocation(t, fmt.Sprintf("%d workers", workers), func() {
			for _, err := range [...]error{
				s.Nearest(many, queries), dot.Nearest(many, queries),
				s.NearestExcept(many, queries, lookup.Sequence(ids)),
				s.NearestTo(few, lookup.Sequence(ids[:2])),
				s.Analogy(few, lookup.Batch(ids, 3)),
				second(s.Between(3, 5)), second(dot.Between(3, 5)),
			} {
				if err != nil {
					t.Error(err)
				}
			}
			s.Refresh()
		})
	}
}

// TestSimilarityChangedIDs: see TestOutputChangedIDs.
func TestSimilarityChangedIDs(t *testing.T) {
	if race.Enabled {
		t.Skip("is a race on purpose")
	}
	s := must(lookup.NewSimilarity(must(lookup.NewEmbedding(vocab, 7)), lookup.Cosine))
	ids := make([]int64, 300)
	to, answers := must(lookup.NewNeighbours(300, 2)), must(lookup.NewNeighbours(100, 2))
	queries := newMatrix(t, 300, 7)
	stop := isatest.KeepChanging(&ids[200])
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
		for _, err := range []error{
			s.NearestTo(to, lookup.Sequence(ids)), s.Analogy(answers, lookup.Batch(ids, 3)), s.NearestExcept(to, queries, lookup.Sequence(ids)),
		} {
			var index *rowvec.IndexError
			if err != nil && !errors.Is(err, rowvec.ErrChanged) && !errors.As(err, &index) {
				t.Errorf("error %v", err)
			}
		}
	}
	stop()
}
