package lookup

import (
	"math"
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/work"
)

// limitPass limits the norms of the rows of some groups, which workers share; it is used again. On a Xeon, ns per id of a forward pass by
// one worker and by two: 8,192 ids of 50,257 x 768 463 and 242, 65,536 of 1,000,000 x 64 82 and 47.
type limitPass struct {
	groups
	e    *Embedding
	crew *work.Crew
}

var limitPasses = sync.Pool{New: func() any {
	p := new(limitPass)
	p.crew = work.New(p.part)
	return p
}}

// renormalise scales the rows that ids choose, each once, if their norm exceeds the limit, before a pass for which several workers pay
// from so many elements on. All ids have been checked.
func (e *Embedding) renormalise(op string, ids view, elements int) error {
	p := limitPasses.Get().(*limitPass)
	defer limitPasses.Put(p)
	least := leastRows(e.Dim())
	if e.norm != 1 && e.norm != 2 && !math.IsInf(e.norm, 1) {
		elements, least = elements/powerTimes, max(1, least/powerTimes)
	}
	workers := e.workersFor(ids.n, elements)
	if err := p.group(op, ids, -1, e.Vocab(), workers); err != nil {
		return err
	}
	p.e = e
	defer func() { p.e = nil }()
	return p.crew.Do(workers, len(p.ids), least)
}

// powerTimes is how many times as long as a square an element takes whose logarithm is taken, at least.
const powerTimes = 64

func (p *limitPass) part(lo, hi int) error {
	e := p.e
	buffer := normBuffers.Get().(*[normBlock]float64)
	defer normBuffers.Put(buffer)
	ahead := max(1, aheadElements/e.Dim())
	for i, id := range p.ids[lo:hi] {
		row := rows(e.weight, id, id+1)
		norm := 0.0
		if e.norm == 2 {
			next := e.weight.Row(p.ids[min(lo+i+ahead, hi-1)])
			forward.SquaredNorms(buffer[:1], row, next)
			norm = math.Sqrt(buffer[0])
		} else {
			norm = pNorm(e.weight.Row(id), e.norm)
		}
		if norm > e.maxNorm {
			rowvec.Scale(e.weight.Row(id), float32(e.maxNorm/(norm+1e-7)))
		}
	}
	return nil
}

// aheadElements is how many elements ahead of the row whose norm is taken, in rows, the one that is prefetched is. ns per row of forward
// passes with MaxNorm one row ahead, and 512, 1 Ki, 4 Ki and 16 Ki elements, medians of 21 on a Xeon:
//
//	50,257 x 768     562   550   556   541   549
//	300,000 x 256    277   274   271   261   253
//	1,000,000 x 64   132  90.8  84.9  87.5  92.1
//	1,000,000 x 16  89.9  48.5  49.8  53.6  70.1
const aheadElements = 1 << 10

// normBlock is the number of rows whose norms are taken by one call.
const normBlock = 256

var normBuffers = sync.Pool{New: func() any { return new([normBlock]float64) }}

// euclidean returns the length of x.
func euclidean(x []float32) float64 {
	buffer := normBuffers.Get().(*[normBlock]float64)
	defer normBuffers.Put(buffer)
	forward.SquaredNorms(buffer[:1], rowvec.Matrix{Rows: 1, Cols: len(x), Data: x, Stride: len(x)}, nil)
	return math.Sqrt(buffer[0])
}

// pNorm returns the p-norm of x, where p is not 2, with the same bits everywhere.
func pNorm(x []float32, p float64) float64 {
	if p == 1 {
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
