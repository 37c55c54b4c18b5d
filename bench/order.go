package main

import (
	"math"
	"slices"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/philox"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// The task of order: a sentence has a token A, a token B, and others around them that mean nothing. Does A come before B?
// The same tokens in another order have the other answer, so that a model which adds up what it makes of each token can do
// no more than guess, unless the vectors of the tokens tell where they stand.
//
// The model is such a sum, over the tokens i of a sentence, whose vectors x[i] are those of a lookup.Layer:
//
//	score = sum over i and k of (u[k]*x[i]) * (v[k]*x[i]),    P(A before B) = logistic(score)
//
// A product can be that of what a token is and of where it stands: 1 for A and -1 for B, say, times a number that falls from
// position to position. Where positions are learned, nothing tells the model which of them are neighbours.
const (
	orderTokens = 16
	orderMin    = 4 // tokens of a sentence
	orderMax    = 32
	orderDim    = 32
	orderHeads  = 4   // of u, and of v
	orderBatch  = 256 // sentences
	orderHeld   = 500 // pairs of sentences that are held out

	orderRate    = 0.01 // at first; it falls to 0 in a straight line
	orderDecay   = 0.01
	orderStd     = 0.02 // of the vectors that training begins with, as in BERT and GPT-2
	orderReadout = 0.1  // the same of u and v
)

// Tokens that have a meaning. Those above have none.
const (
	tokenA = iota
	tokenB
	firstFiller
)

// The streams in use.
const (
	streamOrderTrain = 16 + iota
	streamOrderHeld
	streamOrderUnseen
	streamOrderLong
	streamOrderPositions
	streamOrderReadout
)

// isHeldPair says whether sentences of the training never have A and B, whichever of them first, at the places p and q. It
// is so for every fifth pair, but not for neighbours: that p comes before q follows from sentences with p and something
// between them and others with that and q, but if there is nothing between, only from sentences with p and q.
func isHeldPair(p, q int) bool { return max(p, q)-min(p, q) > 1 && (min(p, q)+2*max(p, q))%5 == 1 }

// sentences are of any lengths, one behind the other.
type sentences struct {
	ids     []int32
	offsets []int  // as lookup.Ragged has them
	aFirst  []bool // what is to be told
}

func newSentences() *sentences { return &sentences{offsets: []int{0}} }

// clear leaves none.
func (s *sentences) clear() {
	s.ids, s.offsets, s.aFirst = s.ids[:0], s.offsets[:1], s.aFirst[:0]
}

// draw adds a sentence of n tokens, with A and B at places that fit.
func (s *sentences) draw(d *dice, n int, fits func(p, q int) bool) {
	a, b := d.below(n), d.below(n)
	for a == b || !fits(a, b) {
		a, b = d.below(n), d.below(n)
	}
	begin := len(s.ids)
	for range n {
		s.ids = append(s.ids, int32(firstFiller+d.below(orderTokens-firstFiller)))
	}
	s.ids[begin+a], s.ids[begin+b] = tokenA, tokenB
	s.offsets, s.aFirst = append(s.offsets, len(s.ids)), append(s.aFirst, a < b)
}

// mirror adds the last sentence once more, with A and B in each other's places.
func (s *sentences) mirror() {
	last := len(s.aFirst) - 1
	for _, id := range s.ids[s.offsets[last]:] {
		switch id {
		case tokenA:
			id = tokenB
		case tokenB:
			id = tokenA
		}
		s.ids = append(s.ids, id)
	}
	s.offsets, s.aFirst = append(s.offsets, len(s.ids)), append(s.aFirst, !s.aFirst[last])
}

// orderLength draws the length of a sentence.
func orderLength(d *dice) int { return orderMin + d.below(orderMax-orderMin+1) }

// anyPair lets A and B be anywhere.
func anyPair(p, q int) bool { return true }

// lessons draws a batch to train on.
func (s *sentences) lessons(d *dice) {
	s.clear()
	for range orderBatch {
		s.draw(d, orderLength(d), func(p, q int) bool { return !isHeldPair(p, q) })
	}
}

// exam returns sentences to answer. Each comes in both orders, so that whoever does not see the order has exactly half of
// them right.
func exam(seed, stream uint64, length func(d *dice) int, fits func(p, q int) bool) *sentences {
	s, d := newSentences(), &dice{seed: seed, stream: stream}
	for range orderHeld {
		s.draw(d, length(d), fits)
		s.mirror()
	}
	return s
}

// orderModel is the model and what it is trained with.
type orderModel struct {
	layer   *lookup.Layer
	readout rowvec.Matrix // u, then v

	method     []*lookup.Optimizer // of the parameters of the layer, and of readout
	gradients  []*lookup.Gradient
	dReadout   rowvec.Matrix
	x, dx      rowvec.Matrix // a row for each token
	dots, dDot rowvec.Matrix // x times u, and times v
	turned     []float32     // dDot by columns
	columns    []int32       // those of dots, for each token
	tokens     []int32       // those of the batch, for each column of dots
	rowEnds    []int
	columnEnds [2*orderHeads + 1]int
	scores     []float32
}

// newOrderModel returns the model before its training, with positions of a kind that positional.New knows.
func newOrderModel(kind string, seed uint64, workers int) (*orderModel, error) {
	tokens, err := lookup.NewEmbedding(orderTokens, orderDim, lookup.Normal(orderStd, seed), lookup.Workers(workers))
	if err != nil {
		return nil, err
	}
	positions, err := positional.New(kind, orderMax, orderDim, seed)
	if err != nil {
		return nil, err
	}
	m := &orderModel{readout: newMatrix(2*orderHeads, orderDim), dReadout: newMatrix(2*orderHeads, orderDim)}
	philox.Normal(m.readout.Data, seed, streamOrderReadout, 0, orderReadout)
	if positions == nil {
		m.layer, err = lookup.NewLayer(tokens, nil)
	} else {
		if positions.Trainable() { // with smaller numbers than usual there is more to see of what they become
			philox.Normal(positions.Table().Data, seed, streamOrderPositions, 0, orderStd)
		}
		m.layer, err = lookup.NewLayer(tokens, positions)
	}
	if err != nil {
		return nil, err
	}
	method := lookup.AdamW{Rate: orderRate, WeightDecay: orderDecay}
	if m.method, err = m.layer.NewOptimizers(method); err != nil {
		return nil, err
	}
	last, err := lookup.NewOptimizer(lookup.Parameter{Name: "readout.weight", Value: m.readout}, method)
	if err != nil {
		return nil, err
	}
	gradient, err := lookup.NewGradient(m.readout.Rows, m.readout.Cols)
	if err != nil {
		return nil, err
	}
	m.method, m.gradients = append(m.method, last), append(m.layer.NewSparseGradients(), gradient)
	return m, nil
}

// parameters returns all that is trained.
func (m *orderModel) parameters() []lookup.Parameter {
	return append(m.layer.Parameters(), lookup.Parameter{Name: "readout.weight", Value: m.readout})
}

// reserve makes room for so many tokens.
func (m *orderModel) reserve(n int) {
	if n <= m.x.Rows {
		return
	}
	const columns = 2 * orderHeads
	m.x, m.dx = newMatrix(n, orderDim), newMatrix(n, orderDim)
	m.dots, m.dDot = newMatrix(n, columns), newMatrix(n, columns)
	m.turned, m.tokens = make([]float32, n*columns), make([]int32, n*columns)
	m.columns, m.rowEnds = make([]int32, n*columns), make([]int, n+1)
	for i := range m.columns {
		m.columns[i] = int32(i % columns)
	}
	for i := range m.rowEnds {
		m.rowEnds[i] = i * columns
	}
}

// score returns the scores of sentences, valid until the next call.
func (m *orderModel) score(s *sentences) ([]float32, error) {
	n := len(s.ids)
	m.reserve(n)
	x, dots := firstRows(m.x, n), firstRows(m.dots, n)
	if err := m.layer.Forward(x, lookup.Ragged(s.ids, s.offsets)); err != nil {
		return nil, err
	}
	if err := rowvec.DotsAll(dots, x, m.readout); err != nil {
		return nil, err
	}
	m.scores = m.scores[:0]
	for b := range s.aFirst {
		score := float32(0)
		for i := s.offsets[b]; i < s.offsets[b+1]; i++ {
			u, v := dots.Row(i)[:orderHeads], dots.Row(i)[orderHeads:]
			for k := range u {
				score += float32(u[k] * v[k])
			}
		}
		m.scores = append(m.scores, score)
	}
	return m.scores, nil
}

// orderLoss returns the loss of a sentence in nats, and its derivative by the score.
func orderLoss(score float32, aFirst bool) (loss, slope float64) {
	x := float64(score) // for what is right
	if !aFirst {
		x = -x
	}
	e := exact.Exp(-math.Abs(x)) // never too large
	wrong := e / (1 + e)
	if x < 0 {
		wrong = 1 / (1 + e)
	}
	loss, slope = exact.Log(1+e)+max(0, -x), -wrong
	if !aFirst {
		slope = wrong
	}
	return loss, slope
}

// judge returns the mean loss, and the share of the answers that are right.
func (m *orderModel) judge(s *sentences) (loss, right float64, err error) {
	scores, err := m.score(s)
	for b, score := range scores {
		l, _ := orderLoss(score, s.aFirst[b])
		loss += l
		if score > 0 == s.aFirst[b] {
			right++
		}
	}
	n := float64(len(scores))
	return loss / n, right / n, err
}

// train takes a step at a rate and returns the mean loss before it.
func (m *orderModel) train(s *sentences, rate float64) (float64, error) {
	loss, err := m.backward(s)
	if err != nil {
		return 0, err
	}
	for k, o := range m.method {
		if err := o.SetRate(rate); err != nil {
			return 0, err
		}
		if err := o.Step(m.gradients[k]); err != nil {
			return 0, err
		}
	}
	return loss, nil
}

// backward sets the gradients of the mean loss, which it returns. Both matrix products of the gradient are sums of bags: that
// of x over u and v with dDot as weights, and that of u and v over the rows of x with dDot turned.
func (m *orderModel) backward(s *sentences) (float64, error) {
	scores, err := m.score(s)
	if err != nil {
		return 0, err
	}
	n, loss := len(s.ids), 0.0
	x, dx, dots, dDot := firstRows(m.x, n), firstRows(m.dx, n), firstRows(m.dots, n), firstRows(m.dDot, n)
	for b, score := range scores {
		l, slope := orderLoss(score, s.aFirst[b])
		loss += l
		g := float32(slope / float64(len(scores)))
		for i := s.offsets[b]; i < s.offsets[b+1]; i++ {
			dot, d := dots.Row(i), dDot.Row(i)
			for k := range dot {
				d[k] = g * dot[(k+orderHeads)%len(dot)]
				m.turned[k*n+i] = d[k]
			}
		}
	}
	products := n * dots.Cols
	if err := rowvec.BagSum(dx, m.readout, m.columns[:products], m.rowEnds[:n+1], dDot.Data[:products]); err != nil {
		return 0, err
	}
	for k := range dots.Cols {
		m.columnEnds[k+1] = (k + 1) * n
		for i := range n {
			m.tokens[k*n+i] = int32(i)
		}
	}
	if err := rowvec.BagSum(m.dReadout, x, m.tokens[:products], m.columnEnds[:], m.turned[:products]); err != nil {
		return 0, err
	}
	ofLayer, ofReadout := m.gradients[:len(m.gradients)-1], m.gradients[len(m.gradients)-1]
	for _, g := range ofLayer {
		g.Clear()
	}
	if err := m.layer.BackwardSparse(ofLayer, lookup.Ragged(s.ids, s.offsets), dx); err != nil {
		return 0, err
	}
	return loss / float64(len(scores)), ofReadout.SetDense(m.dReadout)
}

// longer returns the trained model for sentences of n tokens: learned positions are interpolated, and others go on.
func (m *orderModel) longer(n int) (*orderModel, error) {
	learned, ok := m.layer.Positions().(*positional.Learned)
	if !ok {
		return m, nil
	}
	resized, err := learned.Resized(n)
	if err != nil {
		return nil, err
	}
	layer, err := lookup.NewLayer(m.layer.Tokens(), resized)
	return &orderModel{layer: layer, readout: m.readout}, err
}

// clone returns a copy of a matrix.
func clone(m rowvec.Matrix) rowvec.Matrix {
	m.Data = slices.Clone(m.Data)
	return m
}
