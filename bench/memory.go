package main

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/pages"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// memory is what the contenders of a case work on, all of them on the same pages.
type memory struct {
	table     rowvec.Matrix // rows chosen by ids
	rows      rowvec.Matrix // rows in their order
	positions rowvec.Matrix
	angles    rowvec.Matrix   // cosines and sines of positions
	grad      rowvec.Matrix   // of table
	outGrad   rowvec.Matrix   // of rows
	states    []rowvec.Matrix // that an optimizer keeps, of the shape of table
	sums      []float32       // one for each row of table
	affine    rowvec.Matrix   // gamma and beta of a normalisation, and what their gradients are added to
	segments  rowvec.Matrix   // a row for each type of tokens
	types     []int           // of tokens: half of each sequence has the other
	scores    rowvec.Matrix   // of positions against rows of table
	logits    rowvec.Matrix   // of rows against all rows of table, or their gradient
	grads     []float32       // grad, and behind it outGrad, of the output layer
	found     *lookup.Neighbours
	scale     float32
	x, y      []float32 // vectors

	waves     [5][]float64 // x, y and c of Sinusoids, and x and y for each call to work on
	temporary []float32    // of a row or of a vector, for whoever takes two passes
	ids       [][]int32    // one list for each call in turn; a single nil one for kernels without ids
	last      []int32      // the list whose rows of grad are not zero
	from, to  []float32    // of the copy; from may be longer
	bytes     int          // moved by one call, on average

	offsets []int     // of bags
	bag     int       // how many ids share a row
	weights []float32 // of ids

	// Where gradients are row-sparse. The first optimizer is everybody's who does not make one; its state is naive Go's too.
	embedding  *lookup.Embedding
	layer      *lookup.Layer // that has no table of positions, or that drops
	gradient   *lookup.Gradient
	optimizers []*lookup.Optimizer
	sgd        *lookup.Optimizer // a yardstick
	naive      naiveGradient
	steps      int // of naive Go
}

// Distinct rows that lists of ids for a cold cache touch at least, in bytes: more than any last-level cache that is not
// for a whole rack.
const coldBytes = 256 << 20

// arena is memory used again for one case after the other: fresh pages for each would cost minutes.
type arena struct {
	workers int // of embeddings; 0 stands for 1

	table, rows, positions, grad, outGrad, weights, sums, from, to []float32
	segments, affine, logits                                       []float32
	states                                                         [2][]float32
}

// memory fills what a case of kernel k needs with numbers that are always the same.
func (a *arena) memory(k *kernel, s shape) *memory {
	matrix := func(buffer *[]float32, rows int, contents part) rowvec.Matrix {
		return rowvec.Matrix{Rows: rows, Cols: s.dim, Data: fill(buffer, rows*s.dim, contents), Stride: s.dim}
	}
	m := &memory{scale: float32(math.Sqrt(float64(cmp.Or(s.dim, dim)))), temporary: make([]float32, max(s.dim, s.n))}
	if k.unscaled {
		m.scale = 1
	}
	if s.n > 0 {
		m.x, m.y = fill(&a.table, s.n, xPart), fill(&a.rows, s.n, yPart)
	} else {
		n := s.ids
		m.bag = 1
		if k.bags {
			n, m.bag = s.bags(), s.seq
			for b := range n + 1 {
				m.offsets = append(m.offsets, b*s.seq)
			}
		}
		m.table, m.rows = matrix(&a.table, s.vocab, tablePart), matrix(&a.rows, n, rowsPart)
		m.positions = matrix(&a.positions, s.seq, positionsPart)
	}
	if k.waves {
		m.newWaves()
	}
	if k.sinusoids {
		none := must1(positional.NewSinusoidal(0, s.dim))
		must(none.Fill(m.positions, 0))
		m.layer = must1(m.newLayer(max(1, a.workers), none))
	}
	if k.drops {
		m.layer = must1(m.newLayer(max(1, a.workers), must1(positional.LearnedFrom(m.positions)), lookup.Dropout(dropped, dropSeed)))
	}
	if k.rotates {
		m.angles = rowvec.Matrix{Rows: s.seq, Cols: headDim, Data: make([]float32, s.seq*headDim), Stride: headDim}
		naiveAngles(m.angles.Data, headDim)
	}
	if k.scores {
		m.scores = rowvec.Matrix{Rows: s.seq, Cols: s.ids, Data: make([]float32, s.seq*s.ids), Stride: s.ids}
	}
	if k.logits {
		m.logits = rowvec.Matrix{Rows: s.ids, Cols: s.vocab, Data: fill(&a.logits, s.ids*s.vocab, logitsPart), Stride: s.vocab}
	}
	if k.logits && k.trains {
		all := matrix(&a.grad, s.vocab+s.ids, zeros)
		m.grads, m.grad, m.outGrad = all.Data, all, all
		m.grad.Rows, m.grad.Data = s.vocab, all.Data[:s.vocab*s.dim]
		m.outGrad.Rows, m.outGrad.Data = s.ids, all.Data[s.vocab*s.dim:]
	} else if k.trains {
		m.grad, m.outGrad = matrix(&a.grad, s.vocab, zeros), matrix(&a.outGrad, s.ids, outGradPart)
	}
	if k.finds {
		m.found = must1(lookup.NewNeighbours(s.ids, min(s.vocab, neighboursFound)))
	}
	if k.norms {
		m.affine = matrix(&a.affine, 4, affinePart)
	}
	if k.norms && s.vocab == 0 {
		m.table, m.outGrad = matrix(&a.table, s.ids, tablePart), matrix(&a.outGrad, s.ids, outGradPart)
	}
	if k.segments {
		m.segments = matrix(&a.segments, 2, segmentsPart)
		for i := range s.ids {
			m.types = append(m.types, i%s.seq*2/s.seq)
		}
	}
	for i := range k.states {
		m.states = append(m.states, matrix(&a.states[i], s.vocab, zeros))
	}
	if k.updates {
		m.sums = make([]float32, s.vocab)
	}
	if k.weighs {
		m.weights = fill(&a.weights, s.ids, weightsPart)
	}
	if k.sparse || k.method != nil {
		m.outGrad = matrix(&a.outGrad, m.rows.Rows, outGradPart)
		m.embedding = must1(lookup.FromMatrix(m.table, lookup.Workers(max(1, a.workers))))
		m.gradient = m.embedding.NewGradient()
		m.naive = naiveGradient{slots: map[int32]int{}, sums: fill(&a.sums, s.ids*s.dim, zeros), dim: s.dim}
	}
	if k.method != nil {
		m.newOptimizer(m.embedding, k.method)
		m.sgd = must1(m.embedding.NewOptimizer(lookup.SGD{Rate: rate}))
	}
	m.ids = idLists(s, rand.New(rand.NewPCG(5, 6)))

	m.bytes = k.bytes(s)
	if k.distinct != nil {
		m.bytes += int(distinctIDs(m.ids, s.vocab) * float64(k.distinct(s)))
	}
	half := max(1, m.bytes/8)
	m.to = fill(&a.to, half, rowsPart)
	if s.cache == "cold" && len(m.table.Data) > 2*half {
		m.from = m.table.Data
	} else {
		m.from = fill(&a.from, half, tablePart)
	}
	return m
}

// newWaves makes a sinusoid for each column of rows of vectors.
func (m *memory) newWaves() {
	for i := range m.waves {
		m.waves[i] = make([]float64, dim)
	}
	for j := range dim {
		sin, cos := math.Sincos(1 / float64(1+j))
		m.waves[0][j], m.waves[1][j], m.waves[2][j] = 0, sin, 2*cos
	}
}

// startWaves returns the sinusoids as they are at first.
func (m *memory) startWaves() (x, y, c []float64) {
	copy(m.waves[3], m.waves[0])
	copy(m.waves[4], m.waves[1])
	return m.waves[3], m.waves[4], m.waves[2]
}

// newLayer returns a layer over the table, scaled, and positions.
func (m *memory) newLayer(workers int, positions lookup.Positions, options ...lookup.LayerOption) (*lookup.Layer, error) {
	e, err := lookup.FromMatrix(m.table, lookup.Scaled(), lookup.Workers(workers))
	if err != nil {
		return nil, err
	}
	return lookup.NewLayer(e, positions, options...)
}

// newOptimizer returns an optimizer that restart knows of.
func (m *memory) newOptimizer(e *lookup.Embedding, method lookup.Method) *lookup.Optimizer {
	o := must1(e.NewOptimizer(method))
	m.optimizers = append(m.optimizers, o)
	for _, p := range o.State() {
		clear(p.Value.Data) // on huge pages, as all sides
		if len(m.optimizers) == 1 {
			m.states = append(m.states, p.Value)
		}
	}
	return o
}

// restart makes the table and the state of all optimizers what they were before the first step.
func (m *memory) restart() {
	put(m.table.Data, tablePart)
	for _, o := range m.optimizers {
		for _, p := range o.State() {
			clear(p.Value.Data)
		}
		must(o.SetSteps(0))
	}
	m.steps = 0
}

// distinctIDs returns how many different ids a list has, on average.
func distinctIDs(lists [][]int32, vocab int) float64 {
	seen := make([]int, vocab) // the last list that has an id, from 1 on
	n := 0
	for i, list := range lists {
		for _, id := range list {
			if seen[id] != i+1 {
				seen[id] = i + 1
				n++
			}
		}
	}
	return float64(n) / float64(len(lists))
}

// lists yields so many lists of ids, from the first-th on, and behind the last the first again. It does without a division for
// each.
func (m *memory) lists(first, n int) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		i := first % len(m.ids)
		for range n {
			if !yield(m.ids[i]) {
				return
			}
			if i++; i == len(m.ids) {
				i = 0
			}
		}
	}
}

// copies copies so many parts of from, from the first-th on, likewise.
func (m *memory) copies(first, n int) {
	size := len(m.to)
	parts := len(m.from) / size
	i := first % parts
	for range n {
		copy(m.to, m.from[i*size:])
		if i++; i == parts {
			i = 0
		}
	}
}

// part says where in numbers the contents of a buffer begin, so that no two are alike.
type part int

const (
	zeros     part = iota - 1 // no numbers at all
	tablePart                 // in the order that peers.py has them in
	rowsPart
	positionsPart
	outGradPart
	xPart
	yPart
	weightsPart
	segmentsPart
	affinePart
	logitsPart
)

// numbers are in [-1/2, 1/2). There is a prime number of them, so that no two rows of a table are alike.
var numbers = sync.OnceValue(func() []float32 {
	rng := rand.New(rand.NewPCG(7, 8))
	x := make([]float32, 1<<20-3)
	for i := range x {
		x[i] = rng.Float32() - 0.5
	}
	return x
})

// fill returns the first n elements of a buffer, which grows if need be, on 2 MiB pages where there are such.
func fill(buffer *[]float32, n int, contents part) []float32 {
	if n > len(*buffer) {
		*buffer = nil // so that it can be collected before the new one is made
		*buffer = make([]float32, n)
		pages.Advise(*buffer)
	}
	x := (*buffer)[:n]
	put(x, contents)
	return x
}

// put fills x.
func put(x []float32, contents part) {
	if contents == zeros {
		clear(x)
		return
	}
	for source := numbers()[1000*contents:]; len(x) > 0; source = numbers() {
		x = x[copy(x, source):]
	}
}

// idLists returns one list for a warm cache. For a cold one there are as many as it takes for the cache to have
// forgotten the first when its turn comes again, and for a table in a cache as many as choose each row several times.
func idLists(s shape, rng *rand.Rand) [][]int32 {
	if s.vocab == 0 {
		return [][]int32{nil}
	}
	lists := make([][]int32, 1)
	switch s.cache {
	case "cold":
		lists = make([][]int32, 1+coldBytes/(4*s.dim*s.ids))
	case "held":
		lists = make([][]int32, 1+4*s.vocab/s.ids)
	}
	draw := func() int32 { return rng.Int32N(int32(s.vocab)) }
	if s.dist == "zipf" {
		// Words of a text: the r-th most frequent in proportion to 1/(r + 2.7)^1.1. A shuffled rank, since tokenizers
		// that give frequent tokens low ids are not the only ones.
		rank := rng.Perm(s.vocab)
		zipf := rand.NewZipf(rng, 1.1, 2.7, uint64(s.vocab-1))
		draw = func() int32 { return int32(rank[zipf.Uint64()]) }
	}
	for i := range lists {
		lists[i] = make([]int32, s.ids)
		for j := range lists[i] {
			lists[i][j] = draw()
		}
	}
	return lists
}
