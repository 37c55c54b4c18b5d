package lookup

import (
	"math"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/pages"
)

// Neighbours are the results of a search: K neighbours for each query, the best first. Those of query i are
// IDs[i*K:(i+1)*K], and Scores[i*K:(i+1)*K] their scores; where there are fewer than K, ids are -1 and scores -Inf behind
// the last one. NewNeighbours makes them, and they are used again for any search of as many queries.
type Neighbours struct {
	K      int
	IDs    []int
	Scores []float32
}

// NewNeighbours returns room for the k neighbours of each of so many queries. queries must be at least 0 and k at least 1.
func NewNeighbours(queries, k int) (*Neighbours, error) {
	const op = "lookup.NewNeighbours"
	if err := check.AtLeast(op, "queries", queries, 0); err != nil {
		return nil, err
	}
	if err := check.AtLeast(op, "k", k, 1); err != nil {
		return nil, err
	}
	if err := check.AtMost(op, "queries", queries, mostNeighbours); err != nil {
		return nil, err
	}
	if queries > 0 {
		if err := check.AtMost(op, "k", k, mostNeighbours/queries); err != nil {
			return nil, err
		}
	}
	return &Neighbours{K: k, IDs: make([]int, queries*k), Scores: make([]float32, queries*k)}, nil
}

// mostNeighbours is how many can be addressed.
const mostNeighbours = pages.MaxBytes / 8

// Of returns the neighbours of a query and their scores, fewer than K if there are no more. It panics if there is no such
// query.
func (n *Neighbours) Of(query int) (ids []int, scores []float32) {
	if n.K < 1 || uint(query) >= uint(len(n.IDs)/n.K) {
		panic("rowvec: no such query among the neighbours")
	}
	ids, scores = n.row(query)
	for len(ids) > 0 && ids[len(ids)-1] < 0 {
		ids = ids[:len(ids)-1]
	}
	return ids, scores[:len(ids)]
}

func (n *Neighbours) row(query int) (ids []int, scores []float32) {
	lo, hi := query*n.K, (query+1)*n.K
	return n.IDs[lo:hi:hi], n.Scores[lo:hi:hi]
}

// check reports room that is not that of so many queries.
func (n *Neighbours) check(op string, queries int) error {
	if n == nil {
		return check.Nil(op, "dst")
	}
	if err := check.AtLeast(op, "dst.K", n.K, 1); err != nil {
		return err
	}
	if queries > 0 {
		if err := check.AtMost(op, "dst.K", n.K, mostNeighbours/queries); err != nil {
			return err
		}
	}
	if err := check.Equal(op, "len(dst.IDs)", len(n.IDs), queries*n.K); err != nil {
		return err
	}
	return check.Equal(op, "len(dst.Scores)", len(n.Scores), queries*n.K)
}

// apart reports that a result shares memory with what is read, m.
func (n *Neighbours) apart(op, name string, m rowvec.Matrix) error {
	if err := check.Apart(op, "dst.IDs", viewOf(n.IDs).memory(), name, m); err != nil {
		return err
	}
	return check.Apart(op, "dst.Scores", n.scores(), name, m)
}

func (n *Neighbours) apartFrom(op string, in *Input) error {
	if err := in.apart(op, "dst.IDs", viewOf(n.IDs).memory()); err != nil {
		return err
	}
	return in.apart(op, "dst.Scores", n.scores())
}

func (n *Neighbours) scores() rowvec.Matrix {
	return rowvec.Matrix{Rows: 1, Cols: len(n.Scores), Data: n.Scores, Stride: len(n.Scores)}
}

// before reports whether a row with one score stands before another: that with the greater score, those without a number
// behind all others, and of equal ones that with the lower id.
func before(x float32, id int, y float32, other int) bool {
	switch {
	case x > y:
		return true
	case x < y:
		return false
	case x == y, x != x && y != y:
		return id < other
	}
	return y != y
}

// best are the best n rows that have been seen so far, a heap with the last of them on top until it is sorted.
type best struct {
	ids    []int
	scores []float32
	n      int
}

// add takes a row if it is one of the best.
func (b *best) add(score float32, id int) {
	if b.n == len(b.ids) {
		if before(score, id, b.scores[0], b.ids[0]) {
			b.sink(score, id, b.n)
		}
		return
	}
	at := b.n
	b.n++
	for at > 0 {
		up := (at - 1) / 2
		if !before(b.scores[up], b.ids[up], score, id) {
			break
		}
		b.scores[at], b.ids[at] = b.scores[up], b.ids[up]
		at = up
	}
	b.scores[at], b.ids[at] = score, id
}

// sink puts a row in the place of the top of the first n, and what belongs there on top.
func (b *best) sink(score float32, id, n int) {
	at := 0
	for {
		down := 2*at + 1
		if down >= n {
			break
		}
		if next := down + 1; next < n && before(b.scores[down], b.ids[down], b.scores[next], b.ids[next]) {
			down = next
		}
		if !before(score, id, b.scores[down], b.ids[down]) {
			break
		}
		b.scores[at], b.ids[at] = b.scores[down], b.ids[down]
		at = down
	}
	b.scores[at], b.ids[at] = score, id
}

// sort puts the rows in their order, and nothing behind them.
func (b *best) sort() {
	for n := b.n - 1; n > 0; n-- {
		score, id := b.scores[n], b.ids[n]
		b.scores[n], b.ids[n] = b.scores[0], b.ids[0]
		b.sink(score, id, n)
	}
	for i := b.n; i < len(b.ids); i++ {
		b.scores[i], b.ids[i] = float32(math.Inf(-1)), -1
	}
}

// limit returns what the score of a row must not be below to be one of the best; it is NaN, which nothing is below, where
// any row is. It is a little lower than it could be, so that it holds for scores before they are rounded.
func (b *best) limit() float64 {
	if b.n < len(b.ids) {
		return math.NaN()
	}
	return float64(math.Nextafter32(b.scores[0], float32(math.Inf(-1))))
}
