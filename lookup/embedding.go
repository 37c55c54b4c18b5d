// Package lookup turns token ids into vectors, and learns these vectors, on the kernels of package rowvec.
//
// It has token tables, bags of tokens and the complete embedding layer of a transformer, forward and backward, which do
// what PyTorch's nn.Embedding, nn.EmbeddingBag and the layers built on them do.
//
// Training costs what a batch touches, whatever the size of the table. A Gradient holds the rows that were looked up, each once,
// and an Optimizer reads and writes only those; or it takes a batch as it is, and its gradient is never held. Dense gradients are
// there too.
//
// Matrices have one row for each token, in the order of the ids, whatever the shape of the batch: a batch of shape
// (batch, seq) has batch*seq rows. Forward passes may be called by any number of goroutines at once, unless they limit
// norms (MaxNorm); backward passes write to the gradients they are given, so each of those may be in one call at a time, and
// optimizers to their table, which nobody else may use then. Nothing is allocated in steady state, except that some of the
// memory which calls share, such as a row for each token where there is a LayerNorm, is made anew after garbage collections.
//
// Output turns hidden states into the logits of all tokens, or of some, with the table of an embedding.
//
// Similarity finds the rows of a table that are nearest to vectors or to one another, and answers analogies.
//
// Save and Load keep parameters, and whatever else training needs, in safetensors files.
//
// Errors are those of package rowvec: IndexError for an id outside [0, Vocab), a type that no segment has or, of those that
// At gives, a position beyond the limit; ShapeError for sizes and lengths that do not fit, such as that of a sequence which
// goes beyond the limit; OverlapError for a destination that shares memory with an input, or a dense gradient that does with a parameter;
// and ValueError for whatever else is wrong with an argument or an option. All of them name the method. Files have FormatError, and
// gradients NotFiniteError. After any of these, everything is as it was. Only ErrChanged, for ids, types, positions or offsets that
// another goroutine has changed during the call, errors of Positions of the caller's own, and a file that changes, or cannot be read any
// more, while Load or LoadSome reads it leave part of the destination written.
//
// What a constructor returns is ready for use. The zero value of a type that has a constructor is not, and nor is nil: most of
// their methods panic, and what others return means nothing.
package lookup

import (
	"fmt"
	"math"
	"runtime"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/philox"
	"github.com/rowvec/rowvec/internal/work"
)

// Embedding is a table of token vectors, one row for each id of a vocabulary.
type Embedding struct {
	weight  rowvec.Matrix
	alone   *Layer // with these tokens and nothing else
	padding int    // -1: none
	scaled  bool
	scale   float32
	workers int

	frozen      bool
	byFrequency bool
	maxNorm     float64 // 0: no limit
	norm        float64 // which one, as in p-norm
}

// Option changes how NewEmbedding and FromMatrix make an embedding. Where one is given twice, the last counts, as it does of
// Xavier and Normal.
type Option func(*settings)

type settings struct {
	padding    int
	hasPadding bool
	scaled     bool
	workers    int
	xavier     bool
	seed       uint64
	std        float32
	normal     bool

	frozen, byFrequency bool
	limited             bool
	maxNorm, norm       float64
}

// Xavier fills a new table uniformly from (-limit, limit) with limit = sqrt(6/(vocab+dim)), after Glorot and Bengio,
// "Understanding the difficulty of training deep feedforward neural networks" (2010). It is the default, with seed 0.
// Equal seeds give the same bits on every machine, and so equal rows in tables of one shape.
func Xavier(seed uint64) Option {
	return func(s *settings) { s.xavier, s.normal, s.seed = true, false, seed }
}

// Normal fills a new table from the normal distribution with mean 0 and standard deviation std, which must be at least 0
// and finite. nn.Embedding uses std = 1, GPT-2 0.02. Equal seeds give the same bits on every machine, and so equal rows in all
// tables of as many columns: give tokens, segments and positions seeds of their own.
func Normal(std float32, seed uint64) Option {
	return func(s *settings) { s.xavier, s.normal, s.seed, s.std = false, true, seed, std }
}

// Padding names the id that stands for no token, from 0 on and below vocab. Its row of a new table is zero, and no lookup of it has a
// gradient; as a logit of an Output it has one, like any other.
func Padding(id int) Option {
	return func(s *settings) { s.padding, s.hasPadding = id, true }
}

// Scaled multiplies token vectors by sqrt(dim), as in Vaswani et al., "Attention is all you need" (2017), 3.4.
func Scaled() Option { return func(s *settings) { s.scaled = true } }

// Frozen keeps the table as it is: backward passes add nothing to its gradient, as freeze=True of
// nn.Embedding.from_pretrained has it. The table remains one of Parameters, and MaxNorm still applies.
func Frozen() Option { return func(s *settings) { s.frozen = true } }

// ScaleGradByFrequency has backward passes divide the gradient of a token by the number of times that its id occurs in
// the input, as scale_grad_by_freq of nn.Embedding: each row of dOut is multiplied by scale/count, rounded, where scale
// is Scale, and the sum of the rows of an id, from +0, is what a gradient grows by.
func ScaleGradByFrequency() Option { return func(s *settings) { s.byFrequency = true } }

// MaxNorm makes a forward pass first scale, in place, each row it looks up whose norm exceeds max: by max/(norm+1e-7), once for
// each row, as max_norm and norm_type of nn.Embedding. The norm is (sum of |x|^p)^(1/p) for a finite p above 0,
// and the largest |x| for an infinite one; p = 2 is usual. It is computed in float64, and so is finite also where the
// powers of a row add up beyond float32, whose norm PyTorch has as infinite and makes zeros of the row. max and p must be
// above 0 and max finite. A forward pass then writes to the table, and must not be called while
// anything else uses it. The row of a padding id is a row like any other there, also in a bag. For p other than 1, 2 and
// infinity there is a logarithm for each element: 8,192 rows of 64 took 22 ms with p = 3, and 0.6 with p = 2.
func MaxNorm(max, p float64) Option {
	return func(s *settings) { s.limited, s.maxNorm, s.norm = true, max, p }
}

// Workers bounds the number of goroutines that one call splits large work over. The default, 0, is GOMAXPROCS at the
// time that the embedding is made; more than 1,024 count as 1,024. Results have the same bits for any number.
func Workers(n int) Option { return func(s *settings) { s.workers = n } }

// NewEmbedding returns an embedding with a new table of vocab rows and dim columns, filled as the options say: by default as by
// Xavier(0), with the same bits each time, where nn.Embedding has N(0, 1), which is Normal(1, seed). vocab and dim must be at least 1, and their
// product must be addressable.
func NewEmbedding(vocab, dim int, options ...Option) (*Embedding, error) {
	const op = "lookup.NewEmbedding"
	if err := checkSizes(op, "vocab", vocab, "dim", dim); err != nil {
		return nil, err
	}
	s := collect(options)
	if err := s.check(op, vocab); err != nil {
		return nil, err
	}
	weight, err := check.NewTable(op, "vocab", vocab, "dim", dim)
	if err != nil {
		return nil, err
	}
	e := newEmbedding(weight, s)
	e.initialise(s)
	return e, nil
}

// FromMatrix returns an embedding whose table is weight, not a copy: changes of one are seen by the other. It writes
// nothing, not even the row of the padding id. Options that fill a table are an error. It is nn.Embedding.from_pretrained with
// freeze=False; PyTorch freezes by default, as the option Frozen does here.
func FromMatrix(weight rowvec.Matrix, options ...Option) (*Embedding, error) {
	const op = "lookup.FromMatrix"
	if err := checkSizes(op, "weight.Rows", weight.Rows, "weight.Cols", weight.Cols); err != nil {
		return nil, err
	}
	if err := rowvec.CheckMatrix(op, "weight", weight); err != nil {
		return nil, err
	}
	s := collect(options)
	if s.xavier || s.normal {
		return nil, check.Value(op, "option", s.filling(), "one for a table that is filled already")
	}
	if err := s.check(op, weight.Rows); err != nil {
		return nil, err
	}
	return newEmbedding(weight, s), nil
}

// checkTokens reports an embedding that is nil, or the zero value.
func checkTokens(op string, tokens *Embedding) error {
	if tokens == nil {
		return check.Nil(op, "tokens")
	}
	return check.AtLeast(op, "dim of tokens", tokens.Dim(), 1)
}

func collect(options []Option) (s settings) {
	for _, option := range options {
		if option != nil {
			option(&s)
		}
	}
	return s
}

// filling names the option that fills a table.
func (s settings) filling() string {
	if s.normal {
		return "Normal"
	}
	return "Xavier"
}

func (s settings) check(op string, vocab int) error {
	switch {
	case s.hasPadding && s.padding < 0:
		return check.AtLeast(op, "padding id", s.padding, 0)
	case s.hasPadding && s.padding >= vocab:
		return check.AtMost(op, "padding id", s.padding, vocab-1)
	case s.workers < 0:
		return check.AtLeast(op, "workers", s.workers, 0)
	case s.normal && !(s.std >= 0 && s.std <= math.MaxFloat32):
		return check.Value(op, "standard deviation", s.std, "a finite one of at least 0")
	case s.limited && !(s.maxNorm > 0 && s.maxNorm <= math.MaxFloat64):
		return check.Value(op, "maximum norm", s.maxNorm, "a finite one above 0")
	case s.limited && !(s.norm > 0):
		return check.Value(op, "p of the norm", s.norm, "above 0")
	}
	return nil
}

func checkSizes(op, vocabName string, vocab int, dimName string, dim int) error {
	if err := check.AtLeast(op, vocabName, vocab, 1); err != nil {
		return err
	}
	return check.AtLeast(op, dimName, dim, 1)
}

func newEmbedding(weight rowvec.Matrix, s settings) *Embedding {
	e := &Embedding{
		weight: weight, padding: -1, scaled: s.scaled, scale: 1, workers: s.workers,
		frozen: s.frozen, byFrequency: s.byFrequency, maxNorm: s.maxNorm, norm: s.norm,
	}
	if s.hasPadding {
		e.padding = s.padding
	}
	if s.scaled {
		e.scale = float32(math.Sqrt(float64(weight.Cols)))
	}
	if s.workers == 0 {
		e.workers = runtime.GOMAXPROCS(0)
	}
	e.workers = min(e.workers, work.Most)
	e.alone = &Layer{tokens: e}
	return e
}

// initialise fills the table. Each element depends on its own index alone, and so on no worker.
func (e *Embedding) initialise(s settings) {
	w := e.weight
	limit := float32(math.Sqrt(6 / (float64(w.Rows) + float64(w.Cols))))
	_ = work.New(func(lo, hi int) error {
		x, first := w.Data[lo*w.Cols:hi*w.Cols], uint64(lo)*uint64(w.Cols)
		if s.normal {
			forward.FillNormal(x, s.seed, philox.StreamTokens, first, s.std)
		} else {
			forward.FillUniform(x, s.seed, philox.StreamTokens, first, limit)
		}
		return nil
	}).Do(e.workers, w.Rows, leastRows(w.Cols))
	if e.padding >= 0 {
		clear(w.Row(e.padding))
	}
}

// Vocab returns the number of ids, which are 0 to Vocab()-1.
func (e *Embedding) Vocab() int { return e.weight.Rows }

// Dim returns the length of a vector.
func (e *Embedding) Dim() int { return e.weight.Cols }

// Weight returns the table, without a copy.
func (e *Embedding) Weight() rowvec.Matrix { return e.weight }

// Scale returns what vectors are multiplied by: sqrt(dim) rounded to float32 if the embedding is Scaled, or else 1.
func (e *Embedding) Scale() float32 { return e.scale }

// Frozen reports whether the table is kept as it is.
func (e *Embedding) Frozen() bool { return e.frozen }

// PaddingID returns the padding id; ok is false if there is none.
func (e *Embedding) PaddingID() (id int, ok bool) { return max(e.padding, 0), e.padding >= 0 }

// Parameters returns the table, named token.weight.
func (e *Embedding) Parameters() []Parameter {
	return []Parameter{{Name: "token.weight", Value: e.weight}}
}

// Forward sets row i of dst to the vector of token i, multiplied by sqrt(dim) if the embedding is Scaled. dst has a row
// for each token and Dim columns. If the input has positions, there must be one for each id; their values do not matter.
func (e *Embedding) Forward(dst rowvec.Matrix, in Input) error {
	if forwardAtOnce(e.alone, dst, &in) {
		return nil
	}
	return forwardPass("lookup.Embedding.Forward", e.alone, dst, in, rowvec.Mask{})
}

// Backward adds to grad, a dense gradient of the table, that of Forward, given the gradient dOut of its result: row
// ids[i] of grad grows by row i of dOut, multiplied by sqrt(dim) if the embedding is Scaled, for i ascending. The row of
// the padding id is left alone, and all of them if the embedding is Frozen.
func (e *Embedding) Backward(grad rowvec.Matrix, in Input, dOut rowvec.Matrix) error {
	grads := perParameter[rowvec.Matrix]{token: grad}
	return backwardPass("lookup.Embedding.Backward", e.alone, grads, in, dOut, rowvec.Mask{})
}

// String says what the embedding is, such as Embedding(vocab=50257, dim=768, padding=0, scaled).
func (e *Embedding) String() string {
	return fmt.Sprintf("Embedding(vocab=%d, dim=%d%s)", e.Vocab(), e.Dim(), e.suffix())
}

func (e *Embedding) suffix() (s string) {
	if e.padding >= 0 {
		s += fmt.Sprintf(", padding=%d", e.padding)
	}
	if e.scaled {
		s += ", scaled"
	}
	if e.maxNorm > 0 {
		s += fmt.Sprintf(", max norm=%v (p=%v)", e.maxNorm, e.norm)
	}
	if e.byFrequency {
		s += ", gradient by frequency"
	}
	if e.frozen {
		s += ", frozen"
	}
	return s
}
