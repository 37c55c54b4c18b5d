package main

import (
	"fmt"
	"strings"
)

// shape is the size of a case. Its String is the part of a benchmark's name that benchstat pivots on.
type shape struct {
	vocab, dim, ids int
	seq             int    // of sequences, for kernels that know positions, and of bags
	n               int    // elements, for kernels on whole vectors
	dist            string // of ids: "uniform", or "zipf" as words of a text

	// "warm": the same ids and rows each time; "held": fresh ids on a table that a cache holds; "cold": fresh ids on one
	// that none does.
	cache string
}

// bags returns how many bags of seq ids there are.
func (s shape) bags() int { return s.ids / s.seq }

// settling returns how many calls it takes to get to nearly each page, of 4 KiB, of a table in no cache, with uniform ids: those whose
// rows are on six times as many. Where a page is stands in memory, too, and what caches hold of that is gone once other sides have been at
// them. On a virtual Zen 5 sums of 8,190 rows of 1,000,000 x 64, in bags of 10, take 22 to 42 ns per row after 5 ms of sleep, 11 to 13
// after 20 calls, with one of ten 18, and 10.5 after 50. Fifteen rounds of this comparison took 14.7 to 33.2 where a quarter of the calls
// that are measured went before, and 12.2 to 14.7 but for one of 21.4 so.
func (s shape) settling() int {
	if s.cache != "cold" || s.vocab == 0 {
		return 0
	}
	const page = 4 << 10 / floatBytes
	return 1 + 6*(s.vocab*s.dim/page)/(s.ids*(1+s.dim/page))
}

func (s shape) String() string {
	var parts []string
	for _, p := range []struct {
		name  string
		value int
	}{{"vocab", s.vocab}, {"dim", s.dim}, {"ids", s.ids}, {"seq", s.seq}, {"n", s.n}} {
		if p.value != 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", p.name, p.value))
		}
	}
	if s.dist != "" {
		parts = append(parts, "dist="+s.dist)
	}
	return strings.Join(append(parts, "cache="+s.cache), "/")
}

// Vectors and batches.
const (
	inL1  = 2048     // elements: both vectors in the smallest first-level cache, 32 KiB
	large = 16 << 20 // elements of 64 MiB
)

// cases are the shapes that each kernel is measured on, by benchmarks and by the comparison alike. They are no full cross
// product, but each dim and each kind of table, where it matters; all together take a few minutes as benchmarks.
var cases = map[string][]shape{
	"CheckIDs": {
		{vocab: 50257, ids: 128, dist: "zipf", cache: "warm"},
		{vocab: 50257, ids: 8192, dist: "zipf", cache: "warm"},
	},
	"Gather": {
		{vocab: 50257, dim: 768, ids: 8192, dist: "zipf", cache: "cold"},
		{vocab: 50257, dim: 768, ids: 8192, dist: "uniform", cache: "cold"},
		{vocab: 50257, dim: 768, ids: 128, dist: "zipf", cache: "cold"},
		{vocab: 50257, dim: 768, ids: 1, dist: "zipf", cache: "cold"},
		{vocab: 1000000, dim: 128, ids: 8192, dist: "uniform", cache: "cold"},
		{vocab: 1000, dim: 4096, ids: 128, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 512, ids: 2048, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 64, ids: 2048, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 8, ids: 2048, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 1, ids: 2048, dist: "uniform", cache: "warm"},
	},
	"GatherScaled": {
		{vocab: 50257, dim: 768, ids: 8192, dist: "zipf", cache: "cold"},
		{vocab: 1000000, dim: 64, ids: 8192, dist: "uniform", cache: "cold"},
		{vocab: 1000, dim: 512, ids: 2048, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 8, ids: 2048, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 64, ids: 1, dist: "uniform", cache: "warm"},
	},
	"ScatterAdd": {
		{vocab: 50257, dim: 768, ids: 8192, dist: "zipf", cache: "cold"},
		{vocab: 50257, dim: 768, ids: 8192, dist: "uniform", cache: "cold"},
		{vocab: 1000000, dim: 128, ids: 8192, dist: "uniform", cache: "cold"},
		{vocab: 1000, dim: 4096, ids: 128, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 64, ids: 2048, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 8, ids: 2048, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 1, ids: 2048, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 64, ids: 1, dist: "uniform", cache: "warm"},
	},
	"Embed": {
		{vocab: 50257, dim: 768, ids: 8192, seq: 1024, dist: "zipf", cache: "cold"},
		{vocab: 50257, dim: 768, ids: 128, seq: 128, dist: "zipf", cache: "cold"},
		{vocab: 1000000, dim: 128, ids: 8192, seq: 128, dist: "uniform", cache: "cold"},
		{vocab: 1000, dim: 512, ids: 2048, seq: 128, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 64, ids: 2048, seq: 128, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 8, ids: 2048, seq: 128, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 64, ids: 1, seq: 1, dist: "uniform", cache: "warm"},
	},
	"EmbedSinusoidal": {
		{vocab: 50257, dim: 768, ids: 2048, seq: 128, dist: "uniform", cache: "cold"},
		{vocab: 50257, dim: 768, ids: 2048, seq: 128, dist: "zipf", cache: "cold"},
		{vocab: 1000, dim: 64, ids: 2048, seq: 128, dist: "uniform", cache: "warm"},
	},
	"EmbedDropout": {
		{vocab: 50257, dim: 768, ids: 2048, seq: 128, dist: "uniform", cache: "cold"},
		{vocab: 50257, dim: 768, ids: 8192, seq: 1024, dist: "zipf", cache: "cold"},
		{vocab: 1000, dim: 64, ids: 2048, seq: 128, dist: "uniform", cache: "warm"},
	},
	"EmbedBackward": {
		{vocab: 50257, dim: 768, ids: 8192, seq: 1024, dist: "zipf", cache: "cold"},
		{vocab: 1000, dim: 512, ids: 2048, seq: 128, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 64, ids: 2048, seq: 128, dist: "uniform", cache: "warm"},
	},
	"AddBatches": {
		{dim: 768, ids: 8192, seq: 1024, cache: "cold"},
		{dim: 768, ids: 16384, seq: 256, cache: "cold"},
		{dim: 64, ids: 2048, seq: 128, cache: "warm"},
	},
	"Dots": { // of seq rows
		{vocab: 50257, dim: 768, ids: 1024, seq: 64, dist: "uniform", cache: "cold"},
		{vocab: 50257, dim: 768, ids: 1024, seq: 1, dist: "uniform", cache: "cold"},
		{vocab: 1000, dim: 512, ids: 1024, seq: 16, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 64, ids: 1024, seq: 16, dist: "uniform", cache: "warm"},
	},
	"AddScaled":        {{n: inL1, cache: "warm"}, {n: large, cache: "cold"}},
	"Add":              {{n: inL1, cache: "warm"}, {n: large, cache: "cold"}},
	"Scale":            {{n: inL1, cache: "warm"}, {n: large, cache: "cold"}},
	"UpdateSGD":        updateCases,
	"UpdateRowAdagrad": updateCases,
	"UpdateAdagrad":    updateCases,
	"UpdateAdam":       updateCases,

	"Sinusoids":         {{n: 4 * dim, cache: "warm"}, {n: large, cache: "cold"}},
	"Dropout":           {{n: 4 * dim, cache: "warm"}, {n: large, cache: "cold"}},
	"LayerNorm":         normCases,
	"LayerNormBackward": normCases,
	"Rotate": {
		{dim: 768, ids: 8192, seq: 1024, cache: "cold"},
		{dim: 64, ids: 128, seq: 128, cache: "warm"},
	},
	"BagSum": {
		{vocab: 1000000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
		{vocab: 400000, dim: 300, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
		{vocab: 1000000, dim: 64, ids: 8200, seq: 50, dist: "uniform", cache: "cold"},
		{vocab: 50257, dim: 768, ids: 4100, seq: 10, dist: "uniform", cache: "cold"},
		{vocab: 10000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "held"},
		{vocab: 10000, dim: 64, ids: 8192, seq: 1, dist: "uniform", cache: "held"},
		{vocab: 1000, dim: 64, ids: 2050, seq: 50, dist: "uniform", cache: "warm"},
		{vocab: 1000, dim: 8, ids: 2050, seq: 10, dist: "uniform", cache: "warm"},
	},
	"BagSumWeighted": {
		{vocab: 1000000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
		{vocab: 1000, dim: 64, ids: 2050, seq: 10, dist: "uniform", cache: "warm"},
	},
	"BagMean": {
		{vocab: 1000000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
		{vocab: 1000, dim: 64, ids: 2050, seq: 10, dist: "uniform", cache: "warm"},
	},
	"BagMax": {
		{vocab: 1000000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
		{vocab: 1000, dim: 64, ids: 2050, seq: 10, dist: "uniform", cache: "warm"},
	},
	"BackwardSparse": steps,
	"StepSGD":        steps,
	"StepRowAdagrad": steps,
	"StepAdagrad":    steps,
	"StepAdam":       steps,
}

// steps are the shapes that what is left of a training step after the forward pass is measured on.
var steps = []shape{
	{vocab: 50257, dim: 768, ids: 128, dist: "uniform", cache: "cold"},
	{vocab: 50257, dim: 768, ids: 8192, dist: "zipf", cache: "cold"},
	{vocab: 1000000, dim: 64, ids: 8192, dist: "uniform", cache: "cold"},
	{vocab: 1000, dim: 64, ids: 2048, dist: "uniform", cache: "warm"},
}

// normCases are those of layer normalisation and its gradient.
var normCases = []shape{
	{dim: 768, ids: 32, cache: "warm"},
	{dim: 768, ids: 32768, cache: "cold"},
	{dim: 1024, ids: 1, cache: "warm"},
	{dim: 64, ids: 512, cache: "warm"},
	{dim: 100, ids: 512, cache: "warm"},
}

// updateCases are those of every update, so that one can be held against the other.
var updateCases = []shape{
	{vocab: 50257, dim: 768, ids: 8192, dist: "uniform", cache: "cold"},
	{vocab: 1000, dim: 64, ids: 2048, dist: "uniform", cache: "warm"},
}
