package positional

import (
	"math"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
)

// What is added to the score of a query and a key depends on their distance alone, so that what a query gets is what the
// query before it got, moved by one key. Windows of one vector serve as many queries as it is longer than a window.
// It lies on the stack and in the first-level cache. A matrix of scores is worked through in panes, for each of which a
// vector is made; their bounds decide about the bits of a gradient.
//
// With panes of 1024 keys, which is a page of each row, the scores of 12 x 2048 x 2048 took 0.52 ns for an element, with
// 2048 or 4096 keys 0.23, and Scale 0.20 (BenchmarkALiBiAddTo on a Zen 4).
const (
	scoreKeys    = 4096 // of a pane
	scoreQueries = 64   // of a pane, which has them of all heads and of all of a batch
)

// window is a vector for a pane of the scores.
type window [scoreKeys + scoreQueries - 1]float32

// checkScores checks scores whose rows are (batch, heads, queries) and whose columns are keys. Without rows, queries and
// the starts do not matter.
func checkScores(op, name string, scores rowvec.Matrix, heads, queries, queryStart, keyStart int) error {
	if err := rowvec.CheckMatrix(op, name, scores); err != nil || scores.Rows == 0 {
		return err
	}
	if err := check.AtLeast(op, "queries", queries, 1); err != nil {
		return err
	}
	if err := check.AtMost(op, "queries", queries, math.MaxInt/heads); err != nil {
		return err
	}
	if scores.Rows%(heads*queries) != 0 {
		return check.MultipleOf(op, name+".Rows", scores.Rows, heads*queries)
	}
	for _, start := range [...]struct {
		name     string
		value, n int
	}{{"queryStart", queryStart, queries}, {"keyStart", keyStart, scores.Cols}} {
		if err := check.AtLeast(op, start.name, start.value, 0); err != nil {
			return err
		}
		if err := check.AtMost(op, start.name, start.value, math.MaxInt-start.n); err != nil {
			return err
		}
	}
	return nil
}

// pane is a part of a matrix of scores: columns [col, col+keys) of queries [first, first+queries), in each head.
type pane struct {
	col, keys, first, queries int
	lowest                    int // key less query at the first element of a window: that of the first key and the last query
}

// paneOf returns the pane that begins with column col of query first.
func paneOf(scores *rowvec.Matrix, col, first, queries, queryStart, keyStart int) pane {
	p := pane{col: col, keys: min(scoreKeys, scores.Cols-col), first: first, queries: min(scoreQueries, queries-first)}
	p.lowest = keyStart + col - (queryStart + first + p.queries - 1)
	return p
}

// all returns the elements of w that the pane has use for: one for each relative position, from the lowest on.
func (p *pane) all(w *window) []float32 { return w[:p.keys+p.queries-1] }

// of returns the elements of w that belong to query first+i.
func (p *pane) of(w *window, i int) []float32 { return w[p.queries-1-i:][:p.keys] }

// row returns what the pane has of a row of scores.
func (p *pane) row(scores *rowvec.Matrix, row int) []float32 {
	return scores.Data[row*scores.Stride+p.col:][:p.keys]
}
