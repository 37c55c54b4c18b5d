package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tiktoken-go/tokenizer"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/isa"
)

const (
	skipSeed    = 1
	skipPasses  = 3
	quickPasses = 1
)

// lesson is what has come of skip-gram.
type lesson struct {
	Dim       int            `json:"dim"`
	Vocab     int            `json:"vocab"` // tokens that occur
	Passes    int            `json:"passes"`
	Batches   int            `json:"steps"`
	Workers   int            `json:"workers"`
	Centres   int            `json:"centres"` // all of them, over all passes
	Pairs     int            `json:"pairs"`
	HeldPairs int            `json:"held_out_pairs"`
	HeldLoss  float64        `json:"held_out_loss"` // nats for a neighbour
	Unigram   float64        `json:"unigram_loss"`
	PeerLoss  float64        `json:"pytorch_loss,omitempty"`
	SameBits  bool           `json:"same_bits"` // of all sides, in every weight and every sum of Adagrad
	Results   []lessonResult `json:"results"`
	Nearest   []neighbours   `json:"nearest"`

	vectors *vectors // for pictures
}

// lessonResult is one line of the report: medians over rounds.
type lessonResult struct {
	Side     string  `json:"side"`
	TokensPS float64 `json:"tokens_per_s"` // centres
	PairsPS  float64 `json:"pairs_per_s"`
	OfNaive  float64 `json:"times_naive"`
}

// neighbours are the tokens whose vectors are nearest to that of one.
type neighbours struct {
	Token   string    `json:"token"`
	Tokens  []string  `json:"tokens"` // the nearest first
	Cosines []float64 `json:"cosines"`
}

// learner is one implementation of the training, with tables and a sampler of its own.
type learner struct {
	name   string
	tables []rowvec.Matrix // in, out, and the sums of Adagrad of each
	train  func(*minibatch) error

	sampler        *sampler
	batch          *minibatch
	centres, pairs []int // by round
}

func newLearner(name string, c *corpus, workers int) (*learner, error) {
	in, out := newTables(len(c.ids), skipDim, skipLimit, skipSeed)
	s, err := newSkipGram(in, out, workers)
	if err != nil {
		return nil, err
	}
	l := &learner{name: name, train: s.train}
	l.tables = []rowvec.Matrix{in, out, s.stepIn.State()[0].Value, s.stepOut.State()[0].Value}
	l.prepare(c)
	return l, nil
}

func newNaiveLearner(c *corpus) *learner {
	in, out := newTables(len(c.ids), skipDim, skipLimit, skipSeed)
	s := newNaiveSkipGram(in, out)
	l := &learner{name: "naive", train: s.train}
	l.tables = []rowvec.Matrix{in, out, in, out}
	l.tables[2].Data, l.tables[3].Data = s.in.sums, s.out.sums
	l.prepare(c)
	return l
}

func (l *learner) prepare(c *corpus) {
	l.sampler, l.batch = newSampler(c, c.train, skipSeed, streamTrain), newMinibatch()
}

// learnersOf returns the naive loops and rowvec at every level of this machine.
func learnersOf(c *corpus, workers int) ([]*learner, error) {
	all := []*learner{newNaiveLearner(c)}
	for _, level := range isa.Available {
		l, err := newLearner(level.String(), c, workers)
		if err != nil {
			return nil, err
		}
		train := l.train
		l.train = func(b *minibatch) error {
			defer isa.Set(level)()
			return train(b)
		}
		all = append(all, l)
	}
	return all, nil
}

// round draws so many batches and trains with them.
func (l *learner) round(batches int) error {
	centres, pairs := 0, 0
	for range batches {
		l.sampler.draw(l.batch)
		if err := l.train(l.batch); err != nil {
			return fmt.Errorf("skip-gram, %s: %w", l.name, err)
		}
		centres, pairs = centres+len(l.batch.centres), pairs+l.batch.pairs
	}
	l.centres, l.pairs = append(l.centres, centres), append(l.pairs, pairs)
	return nil
}

// leastSkipGram is how many tokens a text has of which some can be held out.
const leastSkipGram = heldOut * pieceSize

// learn trains all sides in turn, each with the same batches, and compares what they have come to; PyTorch is one of them if
// p is not nil and has it. It returns nil for a text that is too short to hold some of it out.
func learn(ids []uint, s settings, stderr io.Writer, p *python) (*lesson, error) {
	if len(ids) < leastSkipGram {
		return nil, nil
	}
	c := newCorpus(ids)
	all, err := learnersOf(c, s.workers)
	if err != nil {
		return nil, err
	}
	t := &lesson{Dim: skipDim, Vocab: len(c.ids), Passes: skipPasses, Workers: s.workers}
	if s.quick {
		t.Passes = quickPasses
	}
	t.Batches = t.Passes * ((len(all[0].sampler.passages) + batchSize - 1) / batchSize)
	rounds := min(s.rounds, t.Batches)
	size := func(r int) int { return (r+1)*t.Batches/rounds - r*t.Batches/rounds }
	var works []work
	for _, l := range all {
		works = append(works, timed(func() error { return l.round(size(len(l.centres))) }))
	}
	var peer *pyTorchLearner
	if p != nil && p.PyTorch != "" {
		if peer, err = newPyTorchLearner(c, p); err != nil {
			return nil, err
		}
		r := -1
		works = append(works, func() (time.Duration, error) {
			r++
			return peer.round(size(r))
		})
	}
	bar := newProgress(stderr, "training", rounds*len(works))
	seconds, err := measure(rounds, works, bar.step)
	if err != nil {
		bar.clear()
		return nil, err
	}
	bar.done()
	first := all[0]
	for i, l := range all {
		if err := l.sameAs(first); err != nil {
			return nil, err
		}
		t.add(l.name, first, seconds[0], seconds[i])
	}
	for r := range first.centres {
		t.Centres += first.centres[r]
		t.Pairs += first.pairs[r]
	}
	t.SameBits = true
	if t.HeldLoss, err = t.judge(c, first.tables[0], first.tables[1]); err != nil {
		return nil, err
	}
	if peer != nil {
		in, out, err := peer.tables()
		if err != nil {
			return nil, err
		}
		if t.PeerLoss, err = t.judge(c, in, out); err != nil {
			return nil, err
		}
		if !(math.Abs(t.PeerLoss-t.HeldLoss) < pyTorchNear) {
			return nil, fmt.Errorf("skip-gram: the held-out loss of PyTorch is %v, that of naive %v", t.PeerLoss, t.HeldLoss)
		}
		t.add("PyTorch", first, seconds[0], seconds[len(all)])
	}
	before, _ := newTables(len(c.ids), skipDim, skipLimit, skipSeed)
	t.vectors = &vectors{c, before, first.tables[0]}
	t.Nearest, err = nearest(c, first.tables[0])
	return t, err
}

// add adds what a side has taken for the rounds of first.
func (t *lesson) add(side string, first *learner, naive, seconds []float64) {
	tokens, pairs := make([]float64, len(seconds)), make([]float64, len(seconds))
	for r, took := range seconds {
		tokens[r], pairs[r] = float64(first.centres[r])/took, float64(first.pairs[r])/took
	}
	t.Results = append(t.Results, lessonResult{side, median(tokens), median(pairs), ratio(naive, seconds)})
}

// sameAs reports the first place where two sides differ.
func (l *learner) sameAs(first *learner) error {
	for i, name := range []string{"in", "out", "sums of in", "sums of out"} {
		want, got := first.tables[i], l.tables[i]
		if row, col, differs := difference(want, got); differs {
			return fmt.Errorf("skip-gram, %s, row %d: %w", name, row, differenceError(want, got, row, col, first.name, l.name))
		}
	}
	return nil
}

// judge returns the loss in the text that was held out: the cross-entropy of the neighbours of its tokens, where token o is a
// neighbour of c with a probability proportional to noise(o)*exp(in[c]*out[o]), which is what skip-gram with
// negative sampling learns (Levy and Goldberg, "Neural word embedding as implicit matrix factorization", 2014). The unigram
// loss, which it sets, is that of the frequencies of tokens in the text that was trained on. Both of the text as it is
// thinned out.
func (t *lesson) judge(c *corpus, in, out rowvec.Matrix) (float64, error) {
	noise, unigram := make([]float64, len(c.ids)), make([]float64, len(c.ids)) // logarithms
	for _, token := range c.noise {
		noise[token]++
	}
	all := 0.0
	for token, n := range c.counts {
		noise[token] = exact.Log(max(noise[token], 0.5) / float64(len(c.noise))) // rare ones may have no place there
		unigram[token] = float64(float64(n) * float64(c.keep[token]))
		all += unigram[token]
	}
	for token, n := range unigram {
		unigram[token] = exact.Log(n / all)
	}

	scores := newMatrix(1, out.Rows)
	partition := func(centre int32) (float64, error) {
		err := rowvec.DotsAll(scores, rowsFrom(in, int(centre), 1), out)
		sum := 0.0
		for o, score := range scores.Data {
			sum += exact.Exp(noise[o] + float64(score))
		}
		return exact.Log(sum), err
	}

	partitions := make(map[int32]float64)
	var loss, plain float64
	t.HeldPairs = 0
	s, b := newSampler(c, c.held, skipSeed, streamHeldOut), newMinibatch()
	for s.next < len(s.passages) {
		s.draw(b)
		for k := range b.passages {
			p := &b.passages[k]
			for i, centre := range p.centres {
				z, ok := partitions[centre]
				if !ok {
					var err error
					if z, err = partition(centre); err != nil {
						return 0, err
					}
					partitions[centre] = z
				}
				lo, end := p.neighbours(i)
				for _, id := range p.ids[lo:end] {
					o := p.rows[id]
					score := float64(naiveDot(in.Row(int(centre)), out.Row(int(o))))
					loss -= noise[o] + score - z
					plain -= unigram[o]
				}
				t.HeldPairs += end - lo
			}
		}
	}
	n := float64(max(1, t.HeldPairs))
	t.Unigram = plain / n
	return loss / n, nil
}

// Tokens whose neighbours are shown, if the text has them often enough.
var shown = []string{" red", " violet", " Glass", " Eye", " two", " greater"}

const (
	showFrom    = 20 // occurrences from which on a token is one of those that are shown
	shownNearby = 5
)

// nearest returns the nearest words to some, by cosine. A word is a token with a space and only letters behind it.
func nearest(c *corpus, in rowvec.Matrix) ([]neighbours, error) {
	codec, err := tokenizer.Get(tokenizer.R50kBase)
	if err != nil {
		return nil, err
	}
	var words []int
	var names []string
	for token, n := range c.counts {
		if n < showFrom {
			break // they are sorted
		}
		name, err := codec.Decode([]uint{c.ids[token]})
		if err != nil {
			return nil, err
		}
		letters, ok := strings.CutPrefix(name, " ")
		if ok && letters != "" && !strings.ContainsFunc(letters, func(r rune) bool { return !unicode.IsLetter(r) }) {
			words, names = append(words, token), append(names, letters)
		}
	}
	var asked []int
	for _, name := range shown {
		if i := slices.Index(names, name[1:]); i >= 0 {
			asked = append(asked, i)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	f, err := newFinder(in, words, 0)
	if err != nil {
		return nil, err
	}
	found, err := f.nearest(asked, shownNearby)
	if err != nil {
		return nil, err
	}
	var all []neighbours
	for i, word := range asked {
		n := neighbours{Token: names[word]}
		ids, cosines := found.Of(i)
		for k, id := range ids {
			n.Tokens, n.Cosines = append(n.Tokens, names[id]), append(n.Cosines, float64(cosines[k]))
		}
		all = append(all, n)
	}
	return all, nil
}

// table has at most 90 columns.
func (t *lesson) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nSkip-gram with negative sampling, dim %d, over the text: %s, %s,\n%s, %d of noise for each %d tokens; Adagrad, %s\n\n",
		t.Dim, plural(t.Centres, "token"), plural(t.Pairs, "pair"), plural(t.Batches, "step"), noiseSize, passageSize,
		plural(t.Workers, "worker"))
	fmt.Fprintf(&b, "%-10s%12s%12s%10s\n", "side", "tokens/s", "pairs/s", "x naive")
	for _, x := range t.Results {
		fmt.Fprintf(&b, "%-10s%12s%12s%10.2f\n", x.Side, thousands(int(x.TokensPS)), thousands(int(x.PairsPS)), x.OfNaive)
	}
	fmt.Fprintf(&b, "\nLoss in text held out: %.3f nats for each of %s; from the frequencies\n"+
		"of tokens alone %.3f.", t.HeldLoss, plural(t.HeldPairs, "pair"), t.Unigram)
	if !(t.HeldLoss < t.Unigram) {
		b.WriteString(" Training has not got below that.")
	}
	if len(t.Nearest) > 0 {
		b.WriteString(" Nearest by cosine:")
	}
	b.WriteByte('\n')
	for _, n := range t.Nearest {
		fmt.Fprintf(&b, "  %-10s", n.Token)
		for k, name := range n.Tokens {
			fmt.Fprintf(&b, " %s %.2f", name, n.Cosines[k])
		}
		b.WriteByte('\n')
	}
	if t.PeerLoss != 0 {
		fmt.Fprintf(&b, "\nPyTorch has sparse gradients and gets its batches ready-made. Its loss is %.3f.\n", t.PeerLoss)
	}
	b.WriteString("\nSame bits: all sides in Go agree in every weight and every sum of squares at the end.\n")
	return b.String()
}
