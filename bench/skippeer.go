package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rowvec/rowvec"
)

// pyTorchNear is how far from ours, in nats, the held-out loss of PyTorch's tables may be: its logistic function has no
// steps, and it adds up in other orders.
const pyTorchNear = 0.02

// peerRows is how many rows every passage has there.
const peerRows = noiseSize + passageSize + 2*window

// pyTorchLearner is skip-gram in PyTorch. It gets its batches ready-made: the time that drawing them takes is not counted.
type pyTorchLearner struct {
	python  *python
	sampler *sampler
	batch   *minibatch
}

func newPyTorchLearner(c *corpus, p *python) (*pyTorchLearner, error) {
	in, out := newTables(len(c.ids), skipDim, skipLimit, skipSeed)
	_, err := p.ask(request{
		Do: "learn", Vocab: len(c.ids), Dim: skipDim, N: noiseSize,
		Rate: skipRate, Initial: skipInitial, Epsilon: skipEpsilon,
	}, append(in.Data, out.Data...))
	return &pyTorchLearner{p, newSampler(c, c.train, skipSeed, streamTrain), newMinibatch()}, err
}

// round draws so many batches, has PyTorch train with them, and returns how long that took it.
func (l *pyTorchLearner) round(batches int) (time.Duration, error) {
	var data []int32
	for range batches {
		l.sampler.draw(l.batch)
		data = append(data, l.batch.padded()...)
	}
	a, err := l.python.ask(request{Do: "train"}, data)
	return time.Duration(a.NS), err
}

// padded returns the batch as SkipGram of peers.py wants it, where all passages are of one size: token 0 fills them up, and
// what weighs nothing changes nothing.
func (b *minibatch) padded() []int32 {
	n := len(b.passages)
	all := []int32{int32(n), passageSize, peerRows, int32(b.pairs)}
	add := func(size int) []int32 {
		all = append(all, make([]int32, size)...)
		return all[len(all)-size:]
	}
	all = slices.Grow(all, n*(2*passageSize+peerRows)+2*b.pairs)
	centres, rows, weights := add(n*passageSize), add(n*peerRows), add(n*passageSize)
	of, near := add(b.pairs)[:0], add(b.pairs)[:0]
	for k := range b.passages {
		p := &b.passages[k]
		copy(centres[k*passageSize:], p.centres)
		copy(rows[k*peerRows:], p.rows)
		for i := range p.centres {
			lo, noise := p.neighbours(i)
			weights[k*passageSize+i] = int32(math.Float32bits(noiseWeight(noise - lo)))
			for _, id := range p.ids[lo:noise] {
				of, near = append(of, int32(k*passageSize+i)), append(near, int32(k*peerRows)+id)
			}
		}
	}
	return all
}

// tables returns what PyTorch has learnt.
func (l *pyTorchLearner) tables() (in, out rowvec.Matrix, err error) {
	a, err := l.python.ask(request{Do: "learnt"}, nil)
	if err != nil {
		return in, out, err
	}
	numbers, err := l.python.floats(a)
	if err != nil {
		return in, out, err
	}
	n := len(l.sampler.corpus.ids)
	if len(numbers) != 2*n*skipDim {
		return in, out, fmt.Errorf("%d numbers in two tables of %d x %d", len(numbers), n, skipDim)
	}
	in = rowvec.Matrix{Rows: n, Cols: skipDim, Data: numbers[:n*skipDim], Stride: skipDim}
	out = in
	out.Data = numbers[n*skipDim:]
	return in, out, nil
}
