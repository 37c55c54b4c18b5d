package lookup

import (
	"fmt"
	"slices"
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

// NewOutput returns the output layer that shares the table of tokens, and their number of workers. With an embedding of its
// own, of NewEmbedding(classes, dim), it is a linear layer without bias, such as the head of a classifier.
func NewOutput(tokens *Embedding) (*Output, error) {
	if err := checkTokens("lookup.NewOutput", tokens); err != nil {
		return nil, err
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

// Backward adds the gradients of Forward, given the gradient dLogits of its result: row i of dH grows by dLogits[i][j] times row j of the
// table, for all j, and row j of grad, a dense gradient of the table, by dLogits[i][j] times row i of h, for all i. 32 products at a time
// are added up in ascending order of j, or i, from +0, each rounded before, and then their sum is added, so that of 50,257 products the
// rounding errors are about a fifth of those of adding one after the other. A model that shares its table has both its gradients, this
// and that of Embedding.Backward, in one grad, which Optimizer.StepDense takes; clear(grad.Data) readies it for the next step, as
// every row has been added to. Nothing is added to grad if the embedding is Frozen.
func (o *Output) Backward(dH, grad, dLogits, h rowvec.Matrix) error {
	return o.backward("lookup.Output.Backward", dH, &grad, nil, nil, dLogits, h)
}

// BackwardSampled adds the gradients of ForwardSampled: row i of dH grows by dLogits[i][j] times the row of token j, for all
// j, and the row of token j in grad by dLogits[i][j] times row i of h, for all i, one token after the other where they
// repeat; added up as by Backward.
func (o *Output) BackwardSampled(dH, grad rowvec.Matrix, in Input, dLogits, h rowvec.Matrix) error {
	return o.backward("lookup.Output.BackwardSampled", dH, &grad, nil, &in, dLogits, h)
}

// BackwardSampledSparse is BackwardSampled with a row-sparse gradient of the table, to which the sum of what each token
// gives is added: that of a token over all i, from +0, and those of a token that repeats in their order. The gradient keeps memory for a
// row of each token, also where they repeat. Without hidden states nothing is added.
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
	blocks           int  // of rows of grad, in front of the shares of columns
	share, states    int  // columns in a share, and hidden states in a group
	groups           int  // of hidden states, each of which has shares of its own
	turns            bool // of the gradient of the table with dH, which then read the same part of logits while it is in cache

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

// check reports logits, or their gradient, and hidden states that do not fit, and returns the number of columns that logits have to have.
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
	} else if err := p.addSparse(op, sparse, workers); err != nil {
		return p.end(op, err)
	}
	all, share := lines(dim, workers)
	shares := parts(all, share)
	p.share, p.states = share*lineElements, h.Rows
	if !p.sampled {
		p.states = 4 * parts(h.Rows, 4*max(1, workers/shares))
	}
	p.groups = parts(h.Rows, p.states)
	whole := p.grad.Rows > 0 && !p.sampled
	p.turns = whole && workers <= 1 && (h.Rows == 1 && !tuning.Halves || h.Rows >= turnStates && h.Rows <= turnElements/dim)
	if whole && !p.turns {
		p.blocks = parts(n, outputRows)
	}
	return p.end(op, p.backward.Do(workers, p.blocks+shares*p.groups, 1))
}

// outputRows is how many rows of a gradient of the table it is the turn of before that of the next, and outputElements of the table are
// added to all hidden states before the next, or ProductRows rows if these are more: they stay in the second-level cache.
const (
	outputRows     = 64
	outputElements = 32 << 10
)

// turnStates is how many hidden states have one worker do both gradients by turns. With 16, 32 and 64 of them that takes 0.88, 0.86 and 0.86
// of the time of one after the other, 603,084 x 64, 0.99, 0.98 and 0.94, 300,000 x 128, 0.96, 0.96 and 0.97, 50,257 x 768, 1.03, 1.01 and
// 1.00, 9,423 x 4,096, and 0.94, 0.89 and 0.61, 30,000 x 64, on one core of a Zen 5, medians of 15 rounds in random order; with two and three
// 1.1 to 1.2 (0.9 to 1.1 of 4,096 columns), with 4 to 12 0.91 to 1.11. A single one, which waits for memory alone, has it too: 0.92,
// 603,084 x 64, 0.87, 128,657 x 300, 0.85 to 0.9, 50,257 x 768, and 0.96 to 1.01, 9,423 x 4,096. But on a Zen 4 it takes 1.18 to 1.21,
// 1,000,000 x 64, 1.08 to 1.13, 300,000 x 128, 1.17 to 1.20, 50,257 x 768, and 1.05 to 1.17, 9,423 x 4,096, with AVX-512 and with AVX2, medians
// of 15 interleaved rounds; with 16 states 0.98 to 1.01.
//
// turnElements is the most elements that they may have, but for a single one, since they and their gradients come by for each part of the
// table: 128 to 1,024 states took 0.98, 1.00, 0.98 and 1.01, 50,257 x 768, 1.00, 1.02, 1.11 and 1.10, 9,423 x 4,096, 0.99, 0.97, 0.97 and
// 1.10, 30,000 x 1,024, and 0.89 to 0.95, 100,000 x 128.
const (
	turnStates   = 16
	turnElements = 512 << 10
)

// backwardPart does a range of blocks of rows of the gradient of the table, and of shares of columns of all else.
func (p *outputPass) backwardPart(lo, hi int) error {
	for ; lo < min(hi, p.blocks); lo++ {
		first, end := lo*outputRows, min((lo+1)*outputRows, p.grad.Rows)
		next := rows(p.grad, end, min(end+outputRows, p.grad.Rows))
		forward.AddProduct(rows(p.grad, first, end), columns(p.logits, first, end), p.h, true, next)
	}
	for lo, hi = lo-p.blocks, hi-p.blocks; lo < hi; {
		share, group, n := lo/p.groups, lo%p.groups, 1
		if p.groups == 1 {
			n = hi - lo // shares side by side are wider ones
		}
		state := group * p.states
		err := p.backwardColumns(share*p.share, min((share+n)*p.share, p.table.Cols), state, min(p.states, p.h.Rows-state))
		if err != nil {
			return err
		}
		lo += n
	}
	return nil
}

// backwardColumns does columns lo to hi-1 of so many rows of dH, from one on, and where tokens are chosen of a dense gradient of the table. By
// turns it does all of both gradients in one call.
func (p *outputPass) backwardColumns(lo, hi, state, states int) error {
	table, h := columns(p.table, lo, hi), columns(p.h, lo, hi)
	dH, logits := rows(columns(p.dH, lo, hi), state, state+states), rows(p.logits, state, state+states)
	most := max(1, min(outputElements/(hi-lo), outputRows)/forward.ProductRows) * forward.ProductRows
	var scratch *[]float32
	if p.sampled {
		scratch = scratchOf(most * (hi - lo))
		defer scratches.Put(scratch)
	}
	for first := 0; first < p.logits.Cols; first += most {
		n := min(most, p.logits.Cols-first)
		var part, next rowvec.Matrix
		if p.sampled {
			part = rowvec.Matrix{Rows: n, Cols: hi - lo, Data: *scratch, Stride: hi - lo}
			ids := p.ids.slice(first, first+n)
			if err := ids.forward(&forward.Rows{Dst: part, Table: table, Follows: first > 0}, p.logits.Cols-first-n); err != nil {
				return err
			}
		} else {
			part = rows(table, first, first+n)
			end := min(first+2*n, table.Rows)
			switch {
			case p.turns:
				next = rows(p.grad, first+n, end)
				forward.AddProduct(rows(p.grad, first, first+n), columns(p.logits, first, first+n), p.h, true, part)
			case hi-lo == p.table.Cols:
				next = rows(table, first+n, end)
			}
		}
		forward.AddProduct(dH, columns(logits, first, first+n), part, false, next)
		if !p.sampled || p.grad.Rows == 0 {
			continue // it is done, blocks do it, a sparse gradient has been added to already, or a frozen table has none
		}
		if err := p.addChosen(columns(p.grad, lo, hi), part, h, first); err != nil {
			return err
		}
	}
	return nil
}

// addChosen adds the gradients of chosen tokens, from number first on as many as scratch has rows, which are at most outputRows, to columns
// of the gradient of the table. Runs of different rows are gathered into scratch, added to, and copied back. To add to each where it lies
// takes 1.1 to 2.4 times as long, 50,257 x 768 (with Zipf ids and one state 0.98), and 1.8 to 4 times, 1,000,000 x 64, for 1 to 256 states and
// 1,024 tokens, on one core of a Zen 5, medians of 31 in random order.
func (p *outputPass) addChosen(grad, scratch, h rowvec.Matrix, first int) error {
	var ids [outputRows]int
	for k := range scratch.Rows {
		ids[k] = p.ids.at(first + k)
	}
	for k, n := 0, 0; k < scratch.Rows; k += n {
		n = distinct(ids[k:scratch.Rows])
		sums := rows(scratch, 0, n)
		if rowvec.Gather(sums, grad, ids[k:k+n]) != nil { // all have been checked
			return rowvec.ErrChanged
		}
		forward.AddProduct(sums, columns(p.logits, first+k, first+k+n), h, true, rowvec.Matrix{})
		for i := range n {
			copy(grad.Row(ids[k+i]), sums.Row(i))
		}
	}
	return nil
}

// distinct returns how many ids there are in front of the first that occurs twice, which are all if none does.
func distinct(ids []int) int {
	for n := range ids {
		if slices.Contains(ids[:n], ids[n]) {
			return n
		}
	}
	return len(ids)
}

// addSparse adds the gradients of the rows of tokens, each of which is added up from +0 first.
func (p *outputPass) addSparse(op string, g *Gradient, workers int) error {
	n, dim := p.logits.Cols, p.table.Cols
	if err := check.Room(op, "len(ids)", n, dim); err != nil {
		return err
	}
	g.extra = sized(g.extra, n*dim)
	clear(g.extra)
	p.grad, p.blocks = rowvec.Matrix{Rows: n, Cols: dim, Data: g.extra, Stride: dim}, parts(n, outputRows)
	if err := p.backward.Do(workers, p.blocks, 1); err != nil {
		return err
	}
	if err := g.prepare(op, p.ids, -1, p.grad, rowvec.Mask{}, factors{alpha: 1}, workers); err != nil {
		return err
	}
	p.grad, p.blocks = rowvec.Matrix{}, 0
	return g.commit(workers)
}
