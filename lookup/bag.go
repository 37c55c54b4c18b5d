package lookup

import (
	"fmt"
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/work"
)

// Pooling is what a Bag makes of the vectors of several tokens.
type Pooling int

const (
	Sum  Pooling = iota // their sum, or that of products with the weights of the input
	Mean                // their sum divided by their number
	Max                 // the greatest of them, element by element: see rowvec.BagMax for a NaN, zeros and ties
)

// String returns "sum", "mean" or "max".
func (p Pooling) String() string {
	switch p {
	case Sum:
		return "sum"
	case Mean:
		return "mean"
	case Max:
		return "max"
	}
	return fmt.Sprintf("Pooling(%d)", int(p))
}

// Bag turns bags of tokens into one vector each, without making those of the tokens, as PyTorch's nn.EmbeddingBag does.
// A bag is a sequence of an Input: Batch gives bags of one size, Ragged those of any sizes, also none, and RaggedFrom is
// for offsets without the last one.
//
// Tokens are added up from +0 in their order, so results have the same bits on every machine and for any number of
// workers. A bag without tokens gives zeros. The padding id of the embedding is no token of a bag, and does not count
// for a mean.
type Bag struct {
	tokens  *Embedding
	pooling Pooling
}

// NewBag returns the bag of a pooling over the table of tokens, whose options it works by: with ScaleGradByFrequency,
// gradients are divided by how often an id occurs in the input, where nn.EmbeddingBag on the CPU, up to 1.13 at least, divides
// some by the count of another id. It is an error if there are no tokens, if they are Scaled, which bags are not, or if
// ScaleGradByFrequency comes together with Max. The gradients of bags are row-sparse; Gradient.AddTo adds them to dense
// ones. The optimizer of its table is that of b.Tokens().NewOptimizer.
func NewBag(tokens *Embedding, pooling Pooling) (*Bag, error) {
	const op = "lookup.NewBag"
	if err := checkTokens(op, tokens); err != nil {
		return nil, err
	}
	switch {
	case pooling < Sum || pooling > Max:
		return nil, check.Value(op, "pooling", pooling, "sum, mean or max")
	case tokens.scaled:
		return nil, check.Value(op, "embedding", "Scaled", "one without a scale, as bags have none")
	case tokens.byFrequency && pooling == Max:
		return nil, check.Value(op, "pooling", pooling, "sum or mean where tokens have ScaleGradByFrequency")
	}
	return &Bag{tokens, pooling}, nil
}

// Tokens returns the token embedding.
func (b *Bag) Tokens() *Embedding { return b.tokens }

// Pooling returns what the bag does.
func (b *Bag) Pooling() Pooling { return b.pooling }

// Dim returns the length of a vector.
func (b *Bag) Dim() int { return b.tokens.Dim() }

// Parameters returns the table, named token.weight.
func (b *Bag) Parameters() []Parameter { return b.tokens.Parameters() }

// String says what the bag is, such as Bag(mean, vocab=50257, dim=768, padding=0).
func (b *Bag) String() string {
	return fmt.Sprintf("Bag(%s, vocab=%d, dim=%d%s)", b.pooling, b.tokens.Vocab(), b.Dim(), b.tokens.suffix())
}

// bagPass is one forward call on its way; it is used again.
type bagPass struct {
	bag  *Bag
	in   Input
	dst  rowvec.Matrix
	crew *work.Crew

	kept // where there is padding
}

var bagPasses = sync.Pool{New: func() any {
	p := new(bagPass)
	p.crew = work.New(p.part)
	return p
}}

// check reports an input that does not fit the bag.
func (b *Bag) check(op string, in *Input) error {
	if err := in.check(op, b.tokens.Vocab()); err != nil {
		return err
	}
	if in.weights == nil {
		return nil
	}
	if b.pooling != Sum {
		return check.Value(op, "pooling", b.pooling, "sum where there are weights")
	}
	return check.Equal(op, "len(weights)", len(in.weights), in.Len())
}

// Forward sets row b of dst to what bag b of the input comes to. dst has a row for each bag and Dim columns. Errors are
// those of Embedding.Forward, and of weights where there is no sum.
func (b *Bag) Forward(dst rowvec.Matrix, in Input) error {
	const op = "lookup.Bag.Forward"
	if b.forwardAtOnce(dst, &in) {
		return nil
	}
	e := b.tokens
	if err := b.check(op, &in); err != nil {
		return err
	}
	bags := in.sequences()
	if err := check.Shape(op, "dst", dst, bags, e.Dim()); err != nil || bags == 0 {
		return err
	}
	if err := check.Apart(op, "dst", dst, "token table", e.weight); err != nil {
		return err
	}
	if err := in.apart(op, "dst", dst); err != nil {
		return err
	}
	if e.maxNorm > 0 {
		if err := in.apart(op, "token table", e.weight); err != nil {
			return err
		}
		if err := e.renormalise(op, in.ids, b.parallelElements()); err != nil {
			return err
		}
	}
	p := bagPasses.Get().(*bagPass)
	defer func() {
		*p = bagPass{crew: p.crew, kept: p.kept}
		bagPasses.Put(p)
	}()
	p.bag, p.in, p.dst = b, in, dst
	if e.padding >= 0 && in.ids.has(e.padding) {
		p.keep(&p.in, e.padding)
	}
	workers := e.workersFor(in.Len(), b.parallelElements())
	least := max(1, bags/max(1, p.in.Len()/leastRows(e.Dim())))
	if p.crew.Do(workers, bags, least) != nil { // all has been checked
		return changed(op)
	}
	return nil
}

// bagElements is what parallelElements is to bags. A row that is added up takes less time than one that is copied, and of tables that a
// second-level cache holds, or nearly, a quarter of it: of 10,000 x 64 two workers were 0.74, 0.87 and 1.20 times as fast as one on a Xeon
// at 1, 2 and 4 Mi elements, though on a Zen 4 0.88 and 1.15 at 1 and 2 Mi.
func bagElements(vocab, dim, workers int) int {
	elements := parallelElements(vocab, dim, workers)
	switch {
	case cached(vocab, dim):
		return 4 * elements
	case cold(vocab, dim):
		return 3 * elements / 2
	}
	return 2 * elements
}

func (b *Bag) parallelElements() int {
	e := b.tokens
	return bagElements(e.Vocab(), e.Dim(), e.workers)
}

// forwardAtOnce is to bags what the function by that name is to a layer. More than fewBags of one size, or by offsets without
// the last, are left to parts. On a Zen 3, ns of a call by parts and so, of bags of 10 from a table in cache, medians of five
// programs of each in turn:
//
//	             of one size      by offsets   without the last
//	 1 x  16     599    267       573    281       600    235
//	 1 x  64     577    212       647    270       524    263
//	 1 x 768    1063    630      1226    648       965    584
//	16 x  16     989    620       917    441       881    583
//	16 x  64    1335    855      1402    772      1286    859
//	16 x 768   15037  13933     14456  17593     10523  10580
func (b *Bag) forwardAtOnce(dst rowvec.Matrix, in *Input) bool {
	e := b.tokens
	if !e.takesAtOnce(in, b.parallelElements()) || in.placed || in.weights != nil && b.pooling != Sum ||
		e.padding >= 0 && in.ids.has(e.padding) {
		return false
	}
	var few [fewBags + 1]int
	offsets := in.offsets
	switch {
	case in.open:
		if len(offsets) > fewBags || rowvec.CheckMatrix("", "dst", dst) != nil || in.apart("", "dst", dst) != nil {
			return false
		}
		few[copy(few[:], offsets)] = in.Len()
		offsets = few[:len(offsets)+1]
	case !in.ragged:
		if in.seq < 1 || in.sequences() > fewBags {
			return false
		}
		offsets = few[:in.sequences()+1]
		in.ends(offsets[1:], 0)
	}
	return b.pool(dst, in.ids, offsets, in.weights) == nil
}

// windowBags is the number of bags that one call of a kernel does, and, of dot products, that of their ids too.
const (
	windowBags = 256
	fewBags    = 16
)

func (p *bagPass) part(lo, hi int) error {
	for ; lo < hi; lo += windowBags {
		var offsets [windowBags + 1]int
		n := min(windowBags, hi-lo)
		first := p.in.ends(offsets[1:n+1], lo)
		last := first + offsets[n]
		if last < first || last > p.in.Len() {
			return rowvec.ErrChanged
		}
		var weights []float32
		if p.in.weights != nil {
			weights = p.in.weights[first:last]
		}
		if err := p.bag.pool(rows(p.dst, lo, lo+n), p.in.ids.slice(first, last), offsets[:n+1], weights); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bag) pool(dst rowvec.Matrix, ids view, offsets []int, weights []float32) error {
	if ids.wide() {
		return pool(b, dst, as[uint64](ids), offsets, weights)
	}
	return pool(b, dst, as[uint32](ids), offsets, weights)
}

func pool[I rowvec.ID](b *Bag, dst rowvec.Matrix, ids []I, offsets []int, weights []float32) error {
	switch b.pooling {
	case Mean:
		return rowvec.BagMean(dst, b.tokens.weight, ids, offsets)
	case Max:
		return rowvec.BagMax(dst, b.tokens.weight, ids, offsets)
	}
	return rowvec.BagSum(dst, b.tokens.weight, ids, offsets, weights)
}

// kept is an input without its padding.
type kept struct {
	ids     []uint64
	offsets []int
	weights []float32
}

// keep has in be what it is without padding, in memory of k.
func (k *kept) keep(in *Input, padding int) {
	k.ids, k.offsets, k.weights = k.ids[:0], append(k.offsets[:0], 0), k.weights[:0]
	for b := range in.sequences() {
		first, end := in.sequenceSpan(b)
		for i := first; i < end; i++ {
			id := in.ids.at(i)
			if id == padding {
				continue
			}
			k.ids = append(k.ids, uint64(id))
			if in.weights != nil {
				k.weights = append(k.weights, in.weights[i])
			}
		}
		k.offsets = append(k.offsets, len(k.ids))
	}
	weights := k.weights
	if in.weights == nil {
		weights = nil
	}
	*in = Input{ids: viewOf(k.ids), offsets: k.offsets, ragged: true, weights: weights}
}

// BackwardSparse adds to grad, a gradient of the table, that of Forward, given the gradient dOut of its result: for each
// token its row of dOut, multiplied by its weight of the input, or by 1/n for the mean of n tokens, rounded; for a
// maximum, the elements of dOut that the token gave, where of equal ones the first gave it. A token that gave none has a row of
// zeros, which counts as one that was looked up: decay and running means of an optimizer touch it. The table must be as it was
// in Forward. grad does not get the row of the padding id.
func (b *Bag) BackwardSparse(grad *Gradient, in Input, dOut rowvec.Matrix) error {
	const op = "lookup.Bag.BackwardSparse"
	e := b.tokens
	if err := b.check(op, &in); err != nil {
		return err
	}
	if err := check.Shape(op, "dOut", dOut, in.sequences(), e.Dim()); err != nil {
		return err
	}
	if err := grad.fits(op, "gradient", e.Vocab(), e.Dim()); err != nil {
		return err
	}
	if err := check.Apart(op, "the gradient", grad.all(), "dOut", dOut); err != nil || e.frozen || in.Len() == 0 {
		return err
	}
	s, workers := &grad.batch, e.workersFor(in.Len(), b.parallelElements())
	if err := s.group(op, in.ids, e.padding, e.Vocab(), workers); err != nil {
		return err
	}
	if b.pooling == Max {
		return b.backwardMaxima(op, grad, &in, dOut, workers)
	}
	s.rows = dOut
	b.share(s, &in)
	if err := grad.try(op, workers); err != nil {
		return err
	}
	return grad.commit(workers)
}

// share turns the places of s from those of tokens into those of bags, and sets the weights that their rows have.
func (b *Bag) share(s *sums, in *Input) {
	s.bags = in.bagOf(s.bags)
	s.weights = nil
	if in.weights != nil || b.pooling == Mean || b.tokens.byFrequency {
		s.memory = sized(s.memory, len(s.at))
		s.weights = s.memory
	}
	if b.pooling == Mean {
		s.counts = sized(s.counts, in.sequences())
		clear(s.counts)
		for _, place := range s.at {
			s.counts[s.bags[place]]++
		}
	}
	for r := range s.ids {
		for i := s.offsets[r]; i < s.offsets[r+1]; i++ {
			place := s.at[i]
			s.at[i] = s.bags[place]
			if s.weights == nil {
				continue
			}
			w := float32(1)
			switch {
			case in.weights != nil:
				w = in.weights[place]
			case b.pooling == Mean:
				w = 1 / float32(s.counts[s.bags[place]])
			}
			if b.tokens.byFrequency {
				w /= float32(s.offsets[r+1] - s.offsets[r])
			}
			s.weights[i] = w
		}
	}
}

// BackwardWeights adds to dWeights, one for each token, the gradient of the weights of the input, given the gradient
// dOut of the result of Forward: the dot product of the token's row of dOut and its vector, in the order of rowvec.Dots.
// The padding id has none. It is an error if the bag is no sum; whether the input has weights does not matter.
func (b *Bag) BackwardWeights(dWeights []float32, in Input, dOut rowvec.Matrix) error {
	const op = "lookup.Bag.BackwardWeights"
	e := b.tokens
	if b.pooling != Sum {
		return check.Value(op, "pooling", b.pooling, "sum where there are weights")
	}
	if err := b.check(op, &in); err != nil {
		return err
	}
	if err := check.Equal(op, "len(dWeights)", len(dWeights), in.Len()); err != nil {
		return err
	}
	if err := check.Shape(op, "dOut", dOut, in.sequences(), e.Dim()); err != nil || in.Len() == 0 {
		return err
	}
	all := rowvec.Matrix{Rows: 1, Cols: len(dWeights), Data: dWeights, Stride: len(dWeights)}
	if err := check.Apart(op, "dWeights", all, "dOut", dOut); err != nil {
		return err
	}
	if err := check.Apart(op, "dWeights", all, "token table", e.weight); err != nil {
		return err
	}
	if err := in.apart(op, "dWeights", all); err != nil {
		return err
	}
	p := weightPasses.Get().(*weightPass)
	defer func() {
		*p = weightPass{crew: p.crew}
		weightPasses.Put(p)
	}()
	p.bag, p.in, p.dOut, p.dWeights = b, in, dOut, dWeights
	bags := in.sequences()
	least := max(1, bags/max(1, in.Len()/leastRows(e.Dim())))
	if p.crew.Do(e.workersFor(in.Len(), b.parallelElements()), bags, least) != nil {
		return changed(op)
	}
	return nil
}

// weightPass is the gradient of weights on its way; it is used again.
type weightPass struct {
	bag      *Bag
	in       Input
	dOut     rowvec.Matrix
	dWeights []float32
	crew     *work.Crew
}

var weightPasses = sync.Pool{New: func() any {
	p := new(weightPass)
	p.crew = work.New(p.part)
	return p
}}

// part does bags lo to hi-1, up to windowBags ids and bags at a time, with what is left of a longer bag the next time.
func (p *weightPass) part(lo, hi int) error {
	w := dotWindows.Get().(*dotWindow)
	defer dotWindows.Put(w)
	e := p.bag.tokens
	first, _ := p.in.sequenceSpan(lo)
	_, last := p.in.sequenceSpan(hi - 1)
	if p.in.ragged { // the next worker begins where the offset says, also if it has changed
		last = min(last, p.in.end(hi-1))
	}
	for bag, begin := lo, first; first < last; {
		n, bags, done := 0, 0, 0 // what the window has, and how many of its bags end in it
		for ; bag+bags < hi && bags < windowBags && n < windowBags; bags++ {
			_, end := p.in.sequenceSpan(bag + bags)
			n = min(end, last, first+windowBags) - first
			w.offsets[bags+1] = n
			if end == first+n {
				done++
			}
		}
		if bags == 0 || n < 0 {
			return rowvec.ErrChanged
		}
		dots := w.dots[:n]
		if err := p.in.ids.slice(first, first+n).bagDots(dots, forward.Bags{
			A: rows(p.dOut, bag, bag+bags), Table: e.weight, Offsets: w.offsets[:bags+1], More: last - first - n, Follows: first > begin,
		}); err != nil {
			return err
		}
		for i, x := range dots {
			if e.padding < 0 || p.in.ids.at(first+i) != e.padding {
				p.dWeights[first+i] += x
			}
		}
		first, bag = first+n, bag+done
	}
	return nil
}

// dotWindow is what one call of a kernel does of dot products; it is used again.
type dotWindow struct {
	dots    [windowBags]float32
	offsets [windowBags + 1]int // the first of which is always 0
}

var dotWindows = sync.Pool{New: func() any { return new(dotWindow) }}
