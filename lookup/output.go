package lookup

import (
	"fmt"
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/internal/work"
)

// Output is the output layer of a language model that shares the table of its input (Press and Wolf, "Using the output
// embedding to improve language models", 2017): the logits of a hidden state h are its dot products with the rows of the
// table, of all or of chosen ones, as a sampled softmax needs them. There is no bias.
//
// The table is used as it is: unscaled also where the embedding is Scaled (Vaswani et al., "Attention is all you need",
// 2017, 3.4), and the row of a padding id is one like any other.
type Output struct{ tokens *Embedding }

// NewOutput returns the output layer that shares the table of tokens, and their number of workers.
func NewOutput(tokens *Embedding) (*Output, error) {
	if tokens == nil {
		return nil, check.Nil("lookup.NewOutput", "tokens")
	}
	return &Output{tokens}, nil
}

// Forward sets row i of logits to the dot products of row i of h with all rows of the table, by rowvec.DotsAll. logits has
// a row for each of h and Vocab columns, h has Dim columns.
func (o *Output) Forward(logits, h rowvec.Matrix) error {
	return o.forward("lookup.Output.Forward", logits, h, nil)
}

// ForwardSampled sets element j of row i of logits to the dot product of row i of h with the row of token j, by
// rowvec.Dots. logits has a row for each of h and a column for each token; tokens may repeat. Neither the shape of the
// batch of tokens nor their positions matter.
func (o *Output) ForwardSampled(logits, h rowvec.Matrix, in Input) error {
	return o.forward("lookup.Output.ForwardSampled", logits, h, &in)
}

// Backward adds the gradients of Forward, given the gradient dLogits of its result: row i of dH grows by dLogits[i][j]
// times row j of the table, for j ascending, and row j of grad, a dense gradient of the table, by dLogits[i][j] times row i
// of h, for i ascending. Each product is rounded before the sum. A model that shares its table has both its gradients, this
// and that of Embedding.Backward, in one grad, which Gradient.SetDense hands to an Optimizer. Nothing is added to grad if the
// embedding is Frozen.
func (o *Output) Backward(dH, grad, dLogits, h rowvec.Matrix) error {
	return o.backward("lookup.Output.Backward", dH, &grad, nil, nil, dLogits, h)
}

// BackwardSampled adds the gradients of ForwardSampled: row i of dH grows by dLogits[i][j] times the row of token j, for j
// ascending, and the row of token j in grad by dLogits[i][j] times row i of h, for i ascending, one token after the other
// where they repeat. See Backward.
func (o *Output) BackwardSampled(dH, grad rowvec.Matrix, in Input, dLogits, h rowvec.Matrix) error {
	return o.backward("lookup.Output.BackwardSampled", dH, &grad, nil, &in, dLogits, h)
}

// BackwardSampledSparse is BackwardSampled with a row-sparse gradient of the table, to which the sum of what each token
// gives is added: that of a token over i ascending from +0, and those of a token that repeats in their order.
func (o *Output) BackwardSampledSparse(dH rowvec.Matrix, grad *Gradient, in Input, dLogits, h rowvec.Matrix) error {
	const op = "lookup.Output.BackwardSampledSparse"
	if err := grad.fits(op, "token gradient", o.tokens.Vocab(), o.tokens.Dim()); err != nil {
		return err
	}
	return o.backward(op, dH, nil, grad, &in, dLogits, h)
}

// String says what the layer is, such as Output(vocab=50257, dim=768).
func (o *Output) String() string {
	return fmt.Sprintf("Output(vocab=%d, dim=%d)", o.tokens.Vocab(), o.tokens.Dim())
}

// outputPass is a call on its way: see pass.
type outputPass struct {
	table, logits, h rowvec.Matrix // logits or their gradient
	dH, grad         rowvec.Matrix
	ids              view
	sampled          bool

	forward, backward *work.Crew
}

var outputPasses = sync.Pool{New: func() any {
	p := new(outputPass)
	p.forward, p.backward = work.New(p.forwardPart), work.New(p.backwardPart)
	return p
}}

func (p *outputPass) end(op string, err error) error {
	*p = outputPass{forward: p.forward, backward: p.backward}
	outputPasses.Put(p)
	return outcome(op, err)
}

// check reports logits, or their gradient, and hidden states that do not fit, and returns the number of rows of the table.
func (o *Output) check(op, name string, logits, h rowvec.Matrix, in *Input) (n int, err error) {
	n = o.tokens.Vocab()
	if in != nil {
		if err := in.check(op, n); err != nil {
			return 0, err
		}
		n = in.Len()
	}
	if err := check.Matrix(op, "h", h, o.tokens.Dim()); err != nil {
		return 0, err
	}
	return n, check.Shape(op, name, logits, h.Rows, n)
}

// apart reports that dst, which is about to be written to, shares memory with the table, hidden states or ids.
func (o *Output) apart(op, name string, dst, h rowvec.Matrix, in *Input) error {
	if err := check.Apart(op, name, dst, "token table", o.tokens.weight); err != nil {
		return err
	}
	if err := check.Apart(op, name, dst, "h", h); err != nil || in == nil {
		return err
	}
	return in.apart(op, name, dst)
}

// begin returns a pass, and how many workers share it.
func (o *Output) begin(logits, h rowvec.Matrix, in *Input) (p *outputPass, workers int) {
	p = outputPasses.Get().(*outputPass)
	p.table, p.logits, p.h = o.tokens.weight, logits, h
	if in != nil {
		p.ids, p.sampled = in.ids, true
	}
	if logits.Rows < tuning.ParallelProducts/logits.Cols/o.tokens.Dim() {
		return p, 1
	}
	return p, o.tokens.workers
}

// outputColumns is what workers share columns of logits by: a multiple of all numbers of rows that the kernel does at a time,
// and of a cache line.
const outputColumns = 48

func (o *Output) forward(op string, logits, h rowvec.Matrix, in *Input) error {
	n, err := o.check(op, "logits", logits, h, in)
	if err != nil {
		return err
	}
	if err := o.apart(op, "logits", logits, h, in); err != nil || n == 0 || h.Rows == 0 {
		return err
	}
	p, workers := o.begin(logits, h, in)
	return p.end(op, p.forward.Do(workers, (n+outputColumns-1)/outputColumns, 1))
}

// forwardPart does a range of columns of the logits, in units of outputColumns. Each depends on a row of the table alone.
func (p *outputPass) forwardPart(lo, hi int) error {
	lo, hi = lo*outputColumns, min(hi*outputColumns, p.logits.Cols)
	logits := columns(p.logits, lo, hi)
	if p.sampled {
		return p.ids.slice(lo, hi).dots(logits, p.h, p.table)
	}
	return forward.DotsAll(logits, p.h, rows(p.table, lo, hi), p.table.Rows*p.table.Stride)
}

// backward adds the gradient of the table to a dense one or, if that is nil, to a sparse one.
func (o *Output) backward(
	op string, dH rowvec.Matrix, dense *rowvec.Matrix, sparse *Gradient, in *Input, dLogits, h rowvec.Matrix,
) error {
	n, err := o.check(op, "dLogits", dLogits, h, in)
	if err != nil {
		return err
	}
	dim := o.tokens.Dim()
	if err := check.Shape(op, "dH", dH, h.Rows, dim); err != nil {
		return err
	}
	grad := rowvec.Matrix{}
	if dense != nil {
		grad = *dense
		if err := check.Shape(op, "token gradient", grad, o.tokens.Vocab(), dim); err != nil {
			return err
		}
	} else {
		grad = sparse.all()
	}
	for _, dst := range [...]struct {
		name string
		m    rowvec.Matrix
	}{{"dH", dH}, {"token gradient", grad}} {
		if err := o.apart(op, dst.name, dst.m, h, in); err != nil {
			return err
		}
		if err := check.Apart(op, dst.name, dst.m, "dLogits", dLogits); err != nil {
			return err
		}
	}
	if err := check.Apart(op, "dH", dH, "token gradient", grad); err != nil || n == 0 || h.Rows == 0 {
		return err
	}
	p, workers := o.begin(dLogits, h, in)
	p.dH = dH
	if o.tokens.frozen {
		// dH alone
	} else if dense != nil {
		p.grad = grad
	} else if err := o.addSparse(op, sparse, in, dLogits, h); err != nil {
		return p.end(op, err)
	}
	all, share := lines(dim, workers)
	return p.end(op, p.backward.Do(workers, all, share))
}

// outputRows is how many rows of the table are added to one row of dH before it is the turn of the next: they stay in the
// first-level cache.
const outputRows = 8

// backwardPart does a range of lines of columns of both gradients, like that of a pass.
func (p *outputPass) backwardPart(lo, hi int) error {
	lo, hi = lo*lineElements, min(hi*lineElements, p.table.Cols)
	for first := 0; first < p.logits.Cols; first += outputRows {
		var ids [outputRows]int
		chunk := ids[:min(outputRows, p.logits.Cols-first)]
		for k := range chunk {
			chunk[k] = first + k
			if p.sampled {
				chunk[k] = p.ids.at(first + k)
			}
			if uint(chunk[k]) >= uint(p.table.Rows) {
				return rowvec.ErrChanged
			}
		}
		for i := range p.h.Rows {
			dst := p.dH.Row(i)[lo:hi]
			for k, w := range p.logits.Row(i)[first : first+len(chunk)] {
				if err := rowvec.AddScaled(dst, w, p.table.Row(chunk[k])[lo:hi]); err != nil {
					return err
				}
			}
		}
		if p.grad.Rows == 0 {
			continue // a sparse gradient has been added to already, and a frozen table has none
		}
		for k, id := range chunk {
			dst := p.grad.Row(id)[lo:hi]
			for i := range p.h.Rows {
				if err := rowvec.AddScaled(dst, p.logits.Row(i)[first+k], p.h.Row(i)[lo:hi]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addSparse adds the gradients of the rows of tokens, each of which is a bag of all hidden states with weights.
func (o *Output) addSparse(op string, g *Gradient, in *Input, dLogits, h rowvec.Matrix) error {
	n, dim, states := in.Len(), o.tokens.Dim(), h.Rows
	if err := check.Room(op, "len(ids)", n, dim+states); err != nil { // more than is needed
		return err
	}
	g.extra = sized(g.extra, n*dim+states)
	sums := rowvec.Matrix{Rows: n, Cols: dim, Data: g.extra[:n*dim], Stride: dim}
	weights := g.extra[n*dim:]
	g.places = sized(g.places, states)
	for i := range g.places {
		g.places[i] = i
	}
	offsets := [2]int{0, states}
	for j := range n {
		for i := range weights {
			weights[i] = dLogits.Row(i)[j]
		}
		if err := rowvec.BagSum(rows(sums, j, j+1), h, g.places, offsets[:], weights); err != nil {
			return err
		}
	}
	if err := g.prepare(op, in.ids, -1, sums, rowvec.Mask{}, factors{alpha: 1}, 1); err != nil {
		return err
	}
	return g.commit(1)
}
