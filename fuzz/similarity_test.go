package fuzz

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
)

// FuzzSimilarity holds searches, by vectors, by tokens and by analogies, to sorting all scores.
func FuzzSimilarity(f *testing.F) {
	seeds(f)
	for flags := range uint16(4) {
		in := input{Dim: 35, N: 24, Rows: 12, Seq: 6, Flags: flags&1*variant | flags>>1*train, Spread: 9}
		for scale := range uint32(4) {
			if isatest.Slow && scale != uint32(flags) {
				continue
			}
			in.Scale = scale | 5<<2 | scale<<30
			f.Add(in.bytes(1, 2, -3, 0, 1, -1))
			in.Rows, in.Flags = 1500, in.Flags|manyRows
			f.Add(in.bytes())
		}
	}
	fuzz(f, func(t *trial) {
		t.op = "lookup.Similarity.Nearest"
		rows, dim, n, k := max(1, t.tableRows()), max(1, t.dim()), t.count(), 1+int(t.in.Seq)%20
		if t.in.has(manyIDs) {
			rows = min(rows, 50)
		}
		rows = min(rows, 600) // more than a block
		metric, padding := lookup.Metric(t.in.Scale&1), -1
		options := []lookup.Option{lookup.Workers(1 + int(t.in.Scale>>30))}
		if t.in.Scale&2 != 0 {
			padding = int(t.in.Scale>>2) % rows
			options = append(options, lookup.Padding(padding))
		}
		queries := n
		switch {
		case t.in.has(train):
			t.op, metric = "lookup.Similarity.Analogy", lookup.Cosine
			queries, n = n/3, n/3*3
		case t.in.has(variant):
			t.op = "lookup.Similarity.NearestTo"
		}
		given := t.op == "lookup.Similarity.Nearest"
		scores, table, vectors := t.matrix(0, 1, queries*k), t.matrix(1, rows, dim), t.matrix(2, queries, dim)
		if t.in.has(misfit) {
			scores.Cols++
		}
		scores.Stride = scores.Cols
		ids := rowvec.Matrix{Rows: 1, Cols: queries * k, Stride: queries * k, Data: t.block(queries * k)} // as numbers
		t.in.Flags &^= side                                                                               // scores are a slice, which has no rows for others to lie beside
		t.place(scores, table, vectors)
		t.checkShape(scores.Cols == queries*k)
		t.checkApart("dst.Scores", *scores, "token table", *table)
		var tokens []int
		var in lookup.Input
		if given {
			t.checkApart("dst.Scores", *scores, "queries", *vectors)
		} else {
			l := t.ids(0, n, rows)
			t.checkIDs("id", l, rows)
			t.checkIDsApart("dst.Scores", *scores, "ids", l)
			in = l.batch(1)
			if t.in.has(train) {
				in = l.batch(3)
			}
			for i := range n {
				tokens = append(tokens, l.at(i))
			}
		}

		s := must(lookup.NewSimilarity(must(lookup.FromMatrix(*table, options...)), metric))
		found := &lookup.Neighbours{K: k, IDs: make([]int, queries*k), Scores: scores.Data[:scores.Cols]}
		t.call.run = func() (err error) {
			s.Refresh()
			switch {
			case given:
				err = s.Nearest(found, *vectors)
			case t.in.has(train):
				err = s.Analogy(found, in)
			default:
				err = s.NearestTo(found, in)
			}
			if err == nil {
				for i, id := range found.IDs {
					ids.Data[i] = float32(id)
				}
			}
			return err
		}
		t.call.define = func() {
			query := make([]float32, dim)
			factors := make([]float64, rows)
			for id := range factors {
				if factors[id] = 1; metric == lookup.Cosine {
					factors[id] = reciprocal(table.Row(id))
				}
			}
			for i := range queries {
				except := []int{padding}
				switch {
				case given:
					copy(query, vectors.Row(i))
				case t.in.has(train):
					except = append(except, tokens[3*i:][:3]...)
					analogy(query, *table, tokens[3*i], tokens[3*i+1], tokens[3*i+2])
				default:
					except = append(except, tokens[i])
					copy(query, table.Row(tokens[i]))
				}
				if metric == lookup.Cosine && !t.in.has(train) {
					factor := reciprocal(query)
					for j, x := range query {
						query[j] = float32(float64(x) * factor)
					}
				}
				sorted(ids.Data[i*k:][:k], scores.Data[i*k:][:k], *table, query, factors, except)
			}
		}
	})
}

// reciprocal returns 1 divided by the length of x, or 0.
func reciprocal(x []float32) float64 {
	var lanes [16]float64
	for i, v := range x {
		lanes[i%16] += float64(float64(v) * float64(v))
	}
	for n := 8; n > 0; n /= 2 {
		for k := range n {
			lanes[k] += lanes[k+n]
		}
	}
	length := math.Sqrt(lanes[0])
	if length == 0 {
		return 0
	}
	return 1 / length
}

// analogy sets query to the direction of b - a + c, of rows of length 1.
func analogy(query []float32, table rowvec.Matrix, a, b, c int) {
	p, q, r := reciprocal(table.Row(a)), reciprocal(table.Row(b)), reciprocal(table.Row(c))
	sum, total := make([]float64, len(query)), 0.0
	for j := range query {
		x, y, z := float64(table.Row(a)[j]), float64(table.Row(b)[j]), float64(table.Row(c)[j])
		sum[j] = (float64(y*q) - float64(x*p)) + float64(z*r)
		total += float64(sum[j] * sum[j])
	}
	if total != 0 {
		total = 1 / math.Sqrt(total)
	}
	for j, x := range sum {
		query[j] = float32(x * total)
	}
}

// sorted sets ids and scores to those of the best rows, by sorting all; the score of each row is multiplied by its factor.
func sorted(ids, scores []float32, table rowvec.Matrix, query []float32, factors []float64, except []int) {
	all := rowvec.Matrix{Rows: 1, Cols: table.Rows, Stride: table.Rows, Data: make([]float32, table.Rows)}
	kernels.DotsAll(all, rowvec.Matrix{Rows: 1, Cols: len(query), Stride: len(query), Data: query}, table)
	var order []int
	for id, x := range all.Data {
		all.Data[id] = float32(float64(x) * factors[id])
		if !slices.Contains(except, id) {
			order = append(order, id)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all.Data[b], all.Data[a]) })
	for i := range ids {
		ids[i], scores[i] = -1, float32(math.Inf(-1))
		if i < len(order) {
			ids[i], scores[i] = float32(order[i]), all.Data[order[i]]
		}
	}
}
