package lookup

import (
	"math"
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/forward"
)

var groupings = sync.Pool{New: func() any { return new(groups) }}

// renormalise scales the rows that ids choose, each once, if their norm exceeds the limit. All ids have been checked.
func (e *Embedding) renormalise(op string, ids view) error {
	g := groupings.Get().(*groups)
	defer groupings.Put(g)
	if err := g.group(op, ids, -1, e.Vocab(), 1); err != nil {
		return err
	}
	for i, id := range g.ids {
		row, next := e.weight.Row(id), []float32(nil)
		if i+1 < len(g.ids) {
			next = e.weight.Row(g.ids[i+1])
		}
		if norm := pNorm(row, next, e.norm); norm > e.maxNorm {
			rowvec.Scale(row, float32(e.maxNorm/(norm+1e-7)))
		}
	}
	return nil
}

// euclidean returns the length of x, and has next prefetched meanwhile.
func euclidean(x, next []float32) float64 { return math.Sqrt(forward.SquareSum(x, next)) }

// pNorm returns the p-norm of x, with the same bits everywhere, and may have next prefetched meanwhile.
func pNorm(x, next []float32, p float64) float64 {
	switch p {
	case 2:
		return euclidean(x, next)
	case 1:
		return sumOfAbsolutes(x)
	}
	largest := largestAbsolute(x)
	if math.IsInf(p, 1) || largest == 0 || !(largest < math.Inf(1)) {
		return largest
	}
	sum := 0.0
	for _, v := range x { // of what the largest leaves over, so that no power is too large
		if v != 0 {
			sum += exact.Exp(p * exact.Log(math.Abs(float64(v))/largest))
		}
	}
	return float64(largest * exact.Exp(exact.Log(sum)/p))
}

// sumOfAbsolutes has four sums, by elements modulo 4, so that none has to wait for the one before.
func sumOfAbsolutes(x []float32) float64 {
	s0, s1, s2, s3 := 0.0, 0.0, 0.0, 0.0
	for ; len(x) >= 4; x = x[4:] {
		s0 += math.Abs(float64(x[0]))
		s1 += math.Abs(float64(x[1]))
		s2 += math.Abs(float64(x[2]))
		s3 += math.Abs(float64(x[3]))
	}
	for _, v := range x {
		s0 += math.Abs(float64(v))
	}
	return (s0 + s2) + (s1 + s3)
}

// largestAbsolute is NaN if an element is. Without their signs floats are in the order of their bits, and NaN are above all others.
func largestAbsolute(x []float32) float64 {
	largest := uint32(0)
	for _, v := range x {
		largest = max(largest, math.Float32bits(v)&^(1<<31))
	}
	return float64(math.Float32frombits(largest))
}
