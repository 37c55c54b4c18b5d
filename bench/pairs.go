package main

import (
	"math"
	"slices"

	"github.com/rowvec/rowvec/internal/philox"
)

// What skip-gram is trained on: pairs of a token and a neighbour of it in the text, and noise, drawn as word2vec draws them
// (Mikolov, Sutskever, Chen, Corrado and Dean, "Distributed representations of words and phrases and their
// compositionality", 2013), but for two things. The tokens of a passage share their noise, as in Ji, Satish, Li and Dubey,
// "Parallelizing word2vec in shared and distributed memory" (2016): each row that is fetched is used often. And passages
// come in random order, and several of them make a batch.
const (
	window      = 5    // how far neighbours are apart at most; for each token that is a number from 1 to this or to corpus.window
	mostWindow  = 10   // that a corpus may have
	perPair     = 5    // tokens of noise that come with a pair
	thinning    = 1e-3 // tokens that are more of the text than this are thinned out
	passageSize = 64   // tokens
	noiseSize   = 32   // tokens of noise of a passage, which stand for as many as its pairs should have
	batchSize   = 8    // passages

	// The text is cut into pieces, and one in so many is held out of the training.
	pieceSize = 512
	heldOut   = 20
)

// isHeldOut says to which part token i of a text belongs.
func isHeldOut(i int) bool { return i/pieceSize%heldOut == heldOut-1 }

// corpus is a text as skip-gram sees it: a token is its rank by frequency in the part that is trained on. Tokens that only
// the other part has are left out.
type corpus struct {
	ids         []uint // what the tokenizer calls the tokens
	counts      []int
	keep        []uint32  // how likely it is that a token is not thinned out, times 2^32
	noise       []int32   // tokens, each about as often as the power 3/4 of its count demands
	train, held [][]int32 // pieces that have no gap within
	window      int
}

// noiseTable is the length of the table of noise, unless 4 for each token are more; that of word2vec is a hundred million for
// larger vocabularies.
const noiseTable = 1 << 17

func newCorpus(ids []uint) *corpus {
	counts := make([]int, 1+slices.Max(ids))
	total := 0
	for i, id := range ids {
		if !isHeldOut(i) {
			counts[id]++
			total++
		}
	}
	c := &corpus{window: window}
	for id, n := range counts {
		if n > 0 {
			c.ids = append(c.ids, uint(id))
		}
	}
	slices.SortStableFunc(c.ids, func(a, b uint) int { return counts[b] - counts[a] })
	ranks := make([]int32, len(counts))
	sum := 0.0
	for rank, id := range c.ids {
		n := counts[id]
		ranks[id] = int32(rank)
		c.counts = append(c.counts, n)
		share := float64(n) / float64(total)
		likely := min(1, math.Sqrt(thinning/share)+thinning/share)
		c.keep = append(c.keep, uint32(float64(likely*math.MaxUint32)))
		sum += power34(n)
	}
	below, size := 0.0, max(noiseTable, 4*len(c.ids))
	for token, n := range c.counts {
		below += power34(n)
		end := int(float64(below / sum * float64(size)))
		if token == len(c.counts)-1 {
			end = size // whatever rounding has made of it
		}
		for len(c.noise) < end {
			c.noise = append(c.noise, int32(token))
		}
	}

	for i, id := range ids {
		part := &c.train
		if isHeldOut(i) {
			part = &c.held
		}
		if i == 0 || isHeldOut(i) != isHeldOut(i-1) {
			*part = append(*part, nil)
		}
		if counts[id] > 0 {
			piece := &(*part)[len(*part)-1]
			*piece = append(*piece, ranks[id])
		}
	}
	return c
}

// power34 returns n to the power 3/4, by square roots alone, which are the same everywhere.
func power34(n int) float64 {
	root := math.Sqrt(float64(n))
	return float64(root * math.Sqrt(root))
}

// dice are random numbers, the same for the same seed.
type dice struct {
	seed, stream, index uint64
	block               [4]uint32
	left                []uint32 // of block
}

func (d *dice) roll() uint32 {
	if len(d.left) == 0 {
		d.block = philox.Block(d.seed, d.stream, d.index)
		d.left = d.block[:]
		d.index++
	}
	x := d.left[0]
	d.left = d.left[1:]
	return x
}

// below returns a number in [0, n), where n is far below 2^32.
func (d *dice) below(n int) int { return int(uint64(d.roll()) * uint64(n) >> 32) }

// The streams in use.
const (
	streamTrain = 2 + iota
	streamHeldOut
	streamTable
)

// sampler draws batches from pieces of a corpus, pass after pass.
type sampler struct {
	corpus *corpus
	pieces [][]int32
	dice   dice

	kept     []int32 // what is left of the pieces in this pass
	passages []span  // of kept, in the order in which they come
	next     int     // of passages
}

// span is a passage, and the piece that it is from.
type span struct{ lo, hi, first, end int }

func newSampler(c *corpus, pieces [][]int32, seed, stream uint64) *sampler {
	s := &sampler{corpus: c, pieces: pieces, dice: dice{seed: seed, stream: stream}}
	s.pass()
	return s
}

// pass begins a pass: it thins out the pieces and shuffles the passages.
func (s *sampler) pass() {
	s.kept, s.passages, s.next = s.kept[:0], s.passages[:0], 0
	for _, piece := range s.pieces {
		first := len(s.kept)
		for _, token := range piece {
			if s.dice.roll() <= s.corpus.keep[token] {
				s.kept = append(s.kept, token)
			}
		}
		end := len(s.kept)
		for lo := first; lo < end; lo += passageSize {
			s.passages = append(s.passages, span{lo, min(lo+passageSize, end), first, end})
		}
	}
	for i := len(s.passages) - 1; i > 0; i-- {
		j := s.dice.below(i + 1)
		s.passages[i], s.passages[j] = s.passages[j], s.passages[i]
	}
}

// passage is some text, with all that its tokens are trained on. A centre is a token whose neighbours are to be told.
type passage struct {
	centres []int32
	rows    []int32 // tokens whose output vectors are needed: the noise first, then the passage with what is around it
	ids     []int32 // places in rows; for each centre those of its neighbours, and then those of the noise
	offsets []int   // ids[offsets[i]:offsets[i+1]] are those of centre i

	before      int // tokens of rows between the noise and the passage
	window      int // of the corpus
	centre, row int // where in the batch centres and rows begin
}

// neighbours returns the ids of the neighbours of centre i, and where those of the noise begin.
func (p *passage) neighbours(i int) (lo, noise int) { return p.offsets[i], p.offsets[i+1] - noiseSize }

// minibatch is what one step is taken with.
type minibatch struct {
	passages      []passage
	centres, rows []int32 // of all passages, without gaps
	pairs         int
}

// Bounds of what a passage has.
const (
	mostRows = noiseSize + passageSize + 2*mostWindow
	mostIDs  = passageSize * (noiseSize + 2*mostWindow)
)

// places are the numbers from 0 on.
var places = func() (all [max(noiseSize, passageSize)]int32) {
	for i := range all {
		all[i] = int32(i)
	}
	return all
}()

func newMinibatch() *minibatch {
	return &minibatch{
		passages: make([]passage, batchSize),
		centres:  make([]int32, 0, batchSize*passageSize),
		rows:     make([]int32, 0, batchSize*mostRows),
	}
}

// draw sets b to the next batch. No batch has passages of two passes.
func (s *sampler) draw(b *minibatch) {
	if s.next == len(s.passages) {
		s.pass()
	}
	n := min(batchSize, len(s.passages)-s.next)
	b.passages, b.centres, b.rows, b.pairs = b.passages[:n], b.centres[:0], b.rows[:0], 0
	window := s.corpus.window
	for k, span := range s.passages[s.next : s.next+n] {
		p := &b.passages[k]
		p.window = window
		p.centre, p.row = len(b.centres), len(b.rows)
		b.centres = append(b.centres, s.kept[span.lo:span.hi]...)
		for range noiseSize {
			b.rows = append(b.rows, s.corpus.noise[s.dice.below(len(s.corpus.noise))])
		}
		from := max(span.first, span.lo-window)
		p.before = span.lo - from
		b.rows = append(b.rows, s.kept[from:min(span.end, span.hi+window)]...)
		p.centres, p.rows = b.centres[p.centre:], b.rows[p.row:]

		p.ids, p.offsets = p.ids[:0], append(p.offsets[:0], 0)
		for i := span.lo; i < span.hi; i++ {
			reach := 1 + s.dice.below(window)
			for j := max(span.first, i-reach); j < min(span.end, i+reach+1); j++ {
				if j != i {
					p.ids = append(p.ids, int32(noiseSize+j-from))
				}
			}
			p.ids = append(p.ids, places[:noiseSize]...)
			p.offsets = append(p.offsets, len(p.ids))
		}
		b.pairs += len(p.ids) - len(p.centres)*noiseSize
	}
	s.next += n
}
