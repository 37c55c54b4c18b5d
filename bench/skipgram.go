package main

import (
	"math"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/philox"
	crew "github.com/rowvec/rowvec/internal/work"
	"github.com/rowvec/rowvec/lookup"
)

// Skip-gram has two vectors for each token: one for it as a centre, and one for it as a neighbour, in the tables "in" and
// "out". The score of a pair is their product, and the loss of centre c with neighbours o and noise n
//
//	sum over o of -log logistic(in[c]*out[o]) + weight * sum over n of -log logistic(-in[c]*out[n])
//
// where weight makes of the noise of the passage what perPair tokens of it for each neighbour would weigh. Gradients are
// those of the sum over a batch, with tables as they were before, and the method is Adagrad. With sums of squares that
// begin with more than 0, and with larger numbers to begin with than word2vec's, 3 passes get as far as 4 would without.
const (
	skipDim     = 128
	skipRate    = 0.15
	skipInitial = 3     // of sums of squares
	skipEpsilon = 1e-10 // that of PyTorch
	skipLimit   = 0.25  // of the numbers that training begins with
)

// noiseWeight returns the weight of the noise of a centre with so many neighbours.
func noiseWeight(neighbours int) float32 { return float32(perPair*neighbours) / noiseSize }

// logistic returns 1/(1+exp(-x)), as word2vec does from a table, here with steps of 1/64.
func logistic(x float32) float32 {
	switch {
	case x >= logisticEnd:
		return 1
	case x > -logisticEnd:
		return logisticTable[int(float32(x*logisticSteps)+(logisticEnd*logisticSteps+0.5))]
	}
	return 0
}

const (
	logisticEnd   = 8
	logisticSteps = 64
)

var logisticTable = func() (table [2*logisticEnd*logisticSteps + 1]float32) {
	for i := range table {
		table[i] = float32(1 / (1 + exact.Exp(logisticEnd-float64(i)/logisticSteps)))
	}
	return table
}()

// newTables returns what training begins with: uniform numbers up to limit in one table and, as in word2vec, zeros in the
// other.
func newTables(tokens, dim int, limit float32, seed uint64) (in, out rowvec.Matrix) {
	in, out = newMatrix(tokens, dim), newMatrix(tokens, dim)
	philox.Uniform(in.Data, seed, streamTable, 0, limit)
	return in, out
}

// newMatrix returns a matrix of zeros.
func newMatrix(rows, cols int) rowvec.Matrix {
	return rowvec.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols), Stride: cols}
}

// skipGram is the training on rowvec. For each passage it gathers the vectors that are needed, and then there are no rows
// but those: matrix products give scores, of all centres with all noise and of some centres with all that is near them, and
// the gradients are bag sums with the derivatives of the loss by the scores as weights, those of the centres over rows and,
// with the weights turned, those of the rows over centres.
type skipGram struct {
	in, out           rowvec.Matrix
	forIn, forOut     *lookup.Embedding // of the same tables
	stepIn, stepOut   *lookup.Optimizer
	workers           int
	batch             *minibatch
	dIn, dOut         rowvec.Matrix // gradients of its centres and rows
	free              chan *workspace
	gradients, update *crew.Crew
}

// workspace is memory for a passage. Whoever works on one takes it from skipGram.free.
type workspace struct {
	centres, rows rowvec.Matrix
	noise, near   rowvec.Matrix // scores; a row for each centre
	slopes        []float32     // for each id, the derivative of the loss by its score
	turned        []float32     // the same, by rows
	turnedIDs     []int32       // the centre of each
	turnedOffsets []int
	next          [mostRows]int // where in turned the next of each row goes
}

func newSkipGram(in, out rowvec.Matrix, workers int) (*skipGram, error) {
	workers = min(workers, batchSize) // a passage for each
	s := &skipGram{in: in, out: out, workers: workers, free: make(chan *workspace, workers)}
	var err error
	for _, x := range []struct {
		table     rowvec.Matrix
		embedding **lookup.Embedding
		optimizer **lookup.Optimizer
	}{{in, &s.forIn, &s.stepIn}, {out, &s.forOut, &s.stepOut}} {
		if *x.embedding, err = lookup.FromMatrix(x.table, lookup.Workers(1)); err != nil {
			return nil, err
		}
		method := lookup.Adagrad{Rate: skipRate, Initial: skipInitial, Epsilon: skipEpsilon}
		if *x.optimizer, err = (*x.embedding).NewOptimizer(method); err != nil {
			return nil, err
		}
	}
	s.dIn, s.dOut = newMatrix(batchSize*passageSize, in.Cols), newMatrix(batchSize*mostRows, in.Cols)
	for range workers {
		s.free <- &workspace{
			centres: newMatrix(passageSize, in.Cols), rows: newMatrix(mostRows, in.Cols),
			noise: newMatrix(passageSize, noiseSize), near: newMatrix(passageSize, mostNear),
			slopes: make([]float32, mostIDs), turned: make([]float32, mostIDs),
			turnedIDs: make([]int32, mostIDs), turnedOffsets: make([]int, mostRows+1),
		}
	}
	s.gradients, s.update = crew.New(crew.Each(s.passage)), crew.New(crew.Each(s.step))
	return s, nil
}

// train takes a step. Workers share it passage by passage and then table by table, so that their number changes nothing.
func (s *skipGram) train(b *minibatch) error {
	s.batch = b
	if err := s.gradients.Do(s.workers, len(b.passages), 1); err != nil {
		return err
	}
	return s.update.Do(s.workers, 2, 1)
}

func (s *skipGram) step(table int) error {
	b := s.batch
	if table == 0 {
		return s.stepIn.StepBatch(s.forIn, lookup.Batch(b.centres, len(b.centres)), firstRows(s.dIn, len(b.centres)))
	}
	return s.stepOut.StepBatch(s.forOut, lookup.Batch(b.rows, len(b.rows)), firstRows(s.dOut, len(b.rows)))
}

// passage sets the gradients of a passage.
func (s *skipGram) passage(k int) error {
	w := <-s.free
	defer func() { s.free <- w }()
	p := &s.batch.passages[k]
	centres, rows := firstRows(w.centres, len(p.centres)), firstRows(w.rows, len(p.rows))
	if err := rowvec.Gather(centres, s.in, p.centres); err != nil {
		return err
	}
	if err := rowvec.Gather(rows, s.out, p.rows); err != nil {
		return err
	}
	if err := w.score(p, centres, rows); err != nil {
		return err
	}
	w.derive(p)
	n := len(p.ids)
	dIn, dOut := rowsFrom(s.dIn, p.centre, centres.Rows), rowsFrom(s.dOut, p.row, rows.Rows)
	if err := rowvec.BagSum(dIn, rows, p.ids, p.offsets, w.slopes[:n]); err != nil {
		return err
	}
	return rowvec.BagSum(dOut, centres, w.turnedIDs[:n], w.turnedOffsets[:rows.Rows+1], w.turned[:n])
}

// rowsFrom returns n rows of m.
func rowsFrom(m rowvec.Matrix, first, n int) rowvec.Matrix {
	m.Rows, m.Data = n, m.Data[first*m.Stride:(first+n)*m.Stride]
	return m
}

// together is how many centres are scored at once with all rows that one of them may have as neighbours. Fewer would be
// more calls, and more would be more products that nobody asks for.
const (
	together = 8
	mostNear = together + 2*mostWindow
)

// near returns the rows that centre i and those that are scored with it may have as neighbours.
func (p *passage) near(i int) (first, end int) {
	i &^= together - 1
	at := noiseSize + p.before + i
	return max(noiseSize, at-p.window), min(len(p.rows), at+together+p.window)
}

// score sets the scores of a passage.
func (w *workspace) score(p *passage, centres, rows rowvec.Matrix) error {
	if err := rowvec.DotsAll(firstRows(w.noise, centres.Rows), centres, firstRows(rows, noiseSize)); err != nil {
		return err
	}
	for i := 0; i < centres.Rows; i += together {
		n := min(together, centres.Rows-i)
		first, end := p.near(i)
		scores := rowsFrom(w.near, i, n)
		scores.Cols = end - first
		if err := rowvec.DotsAll(scores, rowsFrom(centres, i, n), rowsFrom(rows, first, end-first)); err != nil {
			return err
		}
	}
	return nil
}

// derive makes slopes of scores, and turns them.
func (w *workspace) derive(p *passage) {
	n := len(p.centres)
	next := w.next[:len(p.rows)]
	clear(next)
	for i := range n {
		lo, noise := p.neighbours(i)
		for _, id := range p.ids[lo:noise] {
			next[id]++
		}
	}
	end := 0
	for r, count := range next {
		if r < noiseSize {
			count = copy(w.turnedIDs[end:], places[:n])
		}
		next[r] = end
		end += count
		w.turnedOffsets[r+1] = end
	}

	for i := range n {
		lo, noise := p.neighbours(i)
		first, _ := p.near(i)
		scores := w.near.Row(i)
		for k, id := range p.ids[lo:noise] {
			slope := logistic(scores[int(id)-first]) - 1
			w.slopes[lo+k] = slope
			at := &next[id]
			w.turned[*at], w.turnedIDs[*at] = slope, int32(i)
			*at++
		}
		weight := noiseWeight(noise - lo)
		slopes := w.slopes[noise:][:noiseSize]
		for r, score := range w.noise.Row(i) {
			slope := weight * logistic(score)
			slopes[r] = slope
			w.turned[r*n+i] = slope
		}
	}
}

// naiveSkipGram is the same training as one writes it without a library.
type naiveSkipGram struct {
	in, out naiveTable
	dIn     []float32 // gradient of a centre
	dOut    []float32 // gradients of the rows of a passage
}

// naiveTable is a table with its state of Adagrad, and gradients of the rows in touched.
type naiveTable struct {
	weights, sums, grads []float32
	touched              []int32
	isTouched            []bool
}

func newNaiveSkipGram(in, out rowvec.Matrix) *naiveSkipGram {
	table := func(m rowvec.Matrix) naiveTable {
		t := naiveTable{
			weights: m.Data, sums: make([]float32, len(m.Data)), grads: make([]float32, len(m.Data)),
			isTouched: make([]bool, m.Rows),
		}
		for i := range t.sums {
			t.sums[i] = skipInitial
		}
		return t
	}
	return &naiveSkipGram{table(in), table(out), make([]float32, in.Cols), make([]float32, mostRows*in.Cols)}
}

func (s *naiveSkipGram) train(b *minibatch) error {
	for k := range b.passages {
		p := &b.passages[k]
		clear(s.dOut[:len(p.rows)*skipDim])
		for i, token := range p.centres {
			centre := row(s.in.weights, int(token), skipDim)
			clear(s.dIn)
			lo, noise := p.neighbours(i)
			weight := noiseWeight(noise - lo)
			for k := lo; k < p.offsets[i+1]; k++ {
				id := int(p.ids[k])
				other := row(s.out.weights, int(p.rows[id]), skipDim)
				slope := logistic(naiveDot(centre, other))
				if k < noise {
					slope--
				} else {
					slope *= weight
				}
				naiveAddScaled(s.dIn, slope, other)
				naiveAddScaled(row(s.dOut, id, skipDim), slope, centre)
			}
			s.in.add(token, s.dIn)
		}
		for r, token := range p.rows {
			s.out.add(token, row(s.dOut, r, skipDim))
		}
	}
	s.in.step()
	s.out.step()
	return nil
}

// add adds to the gradient of a token.
func (t *naiveTable) add(token int32, grad []float32) {
	sum := row(t.grads, int(token), skipDim)
	if !t.isTouched[token] {
		t.isTouched[token] = true
		t.touched = append(t.touched, token)
		clear(sum)
	}
	naiveAdd(sum, grad)
}

// step is one of Adagrad.
func (t *naiveTable) step() {
	for _, token := range t.touched {
		t.isTouched[token] = false
		weights := row(t.weights, int(token), skipDim)
		sums := row(t.sums, int(token), skipDim)
		for j, g := range row(t.grads, int(token), skipDim) {
			sums[j] += float32(g * g)
			root := float32(math.Sqrt(float64(sums[j])))
			weights[j] -= float32(skipRate * (g / (root + skipEpsilon)))
		}
	}
	t.touched = t.touched[:0]
}

// naiveDot adds up in 16 lanes, and those as a tree, which takes no longer than one sum.
func naiveDot(a, b []float32) float32 {
	var lanes [16]float32
	b = b[:len(a)]
	for i, x := range a {
		lanes[i%16] += float32(x * b[i])
	}
	for n := len(lanes) / 2; n > 0; n /= 2 {
		for k := range n {
			lanes[k] += lanes[k+n]
		}
	}
	return lanes[0]
}
