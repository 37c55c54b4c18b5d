package lookup

import (
	"math"
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/exact"
)

var groupings = sync.Pool{New: func() any { return new(groups) }}

// renormalise scales the rows that ids choose, each once, if their norm exceeds the limit. All ids have been checked.
func (e *Embedding) renormalise(op string, ids view) error {
	g := groupings.Get().(*groups)
	defer groupings.Put(g)
	if err := g.group(op, ids, -1, e.Vocab()); err != nil {
		return err
	}
	for _, id := range g.ids {
		row := e.weight.Row(id)
		if norm := pNorm(row, e.norm); norm > e.maxNorm {
			rowvec.Scale(row, float32(e.maxNorm/(norm+1e-7)))
		}
	}
	return nil
}

// pNorm returns the p-norm of x, with the same bits everywhere.
func pNorm(x []float32, p float64) float64 {
	largest := 0.0
	for _, v := range x {
		if v != v {
			return math.NaN()
		}
		largest = max(largest, math.Abs(float64(v)))
	}
	if math.IsInf(p, 1) || largest == 0 || math.IsInf(largest, 1) {
		return largest
	}
	sum := 0.0
	switch p {
	case 1:
		for _, v := range x {
			sum += math.Abs(float64(v))
		}
		return sum
	case 2:
		for _, v := range x {
			sum += float64(float64(v) * float64(v))
		}
		return math.Sqrt(sum)
	}
	for _, v := range x { // of what the largest leaves over, so that no power is too large
		if v != 0 {
			sum += exact.Exp(p * exact.Log(math.Abs(float64(v))/largest))
		}
	}
	return float64(largest * exact.Exp(exact.Log(sum)/p))
}
