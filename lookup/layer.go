package lookup

import (
	"fmt"
	"strings"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
)

// Positions is what a Layer asks of positional encodings; those of package positional have it. Its methods are called by
// several goroutines at once, always give the same answers, and must not panic.
type Positions interface {
	// Kind names the encoding, such as "learned" or "sinusoidal".
	Kind() string
	// Dim returns the length of a vector.
	Dim() int
	// Limit returns the number of positions; math.MaxInt means no limit.
	Limit() int
	// Table returns stored vectors, those of positions 0 to Rows-1, without a copy.
	Table() rowvec.Matrix
	// Trainable reports whether Table is a parameter, with all positions in it.
	Trainable() bool
	// Fill sets row i of dst to the vector of position start+i. Where it returns an error, the pass returns the same: a
	// forward one, or a backward one through a LayerNorm, which needs the sums again. Part of the result of a forward pass
	// may have been written by then, and rows of tokens been scaled by MaxNorm.
	Fill(dst rowvec.Matrix, start int) error
}

// Layer is the complete embedding layer of a transformer: token vectors, multiplied by sqrt(dim) if they are Scaled,
// plus the vectors of segments, if there are any, plus position vectors; normalised, if there is a LayerNorm.
type Layer struct {
	tokens    *Embedding
	positions Positions // nil: none
	layerSettings
}

// LayerOption changes how NewLayer makes a layer. Where one is given twice, the last counts.
type LayerOption func(*layerSettings)

type layerSettings struct {
	segments *Embedding // nil: none
	norm     normalisation
	dropout  float64 // 0: none
	seed     uint64  // of dropout
}

// Dropout has ForwardTrain drop elements of its result with probability p, which is in [0, 1), and multiply the others by
// 1/(1-p), as nn.Dropout behind the sum of token and position vectors does in PyTorch's BERT and GPT-2. What is dropped
// follows from seed and the step that ForwardTrain is told: layers that are not to drop the same need seeds of their own. As
// rowvec.Mask says, p takes effect as the nearest multiple of 1/256 below 1, in what is dropped and in what the others are
// multiplied by: 0.1 as 26/256, and below 1/512 as nothing.
func Dropout(p float64, seed uint64) LayerOption {
	return func(s *layerSettings) { s.dropout, s.seed = p, seed }
}

// Segments adds a row of the table of types to each token, that of its type, which Input.Types gives: the token types, or
// segments, of BERT. The sum is (token + segment) + position, as in Hugging Face's BertEmbeddings. Padding and Frozen of
// types mean what they mean for tokens; a table that is Scaled, or that has MaxNorm or ScaleGradByFrequency, is an error.
// There are no segments if types is nil.
func Segments(types *Embedding) LayerOption { return func(s *layerSettings) { s.segments = types } }

// Parameter is a tensor that training changes.
type Parameter struct {
	Name  string        // "token.weight", "position.weight", "segment.weight", "norm.weight" or "norm.bias"
	Value rowvec.Matrix // (vocab, dim), (max length, dim), (types, dim) or (1, dim), without a copy

	// Vector says that a Value of one row or one column is a vector elsewhere, as the weight of nn.LayerNorm is in PyTorch:
	// Save gives it one dimension.
	Vector bool
}

// NewLayer returns the layer that adds positions, or none if they are nil, to tokens, whose options it works by.
//
// It is an error if there are no tokens, if the dims differ, if what positions say of themselves does not fit together, if
// the table of Segments has options that they cannot have, if the epsilon of LayerNorm is negative or not finite, or if
// the probability of Dropout is none.
func NewLayer(tokens *Embedding, positions Positions, options ...LayerOption) (*Layer, error) {
	const op = "lookup.NewLayer"
	if err := checkTokens(op, tokens); err != nil {
		return nil, err
	}
	var s layerSettings
	for _, option := range options {
		if option != nil {
			option(&s)
		}
	}
	layer := &Layer{tokens: tokens, layerSettings: s}
	if !(layer.dropout >= 0 && layer.dropout < 1) {
		return nil, check.Value(op, "dropout", layer.dropout, "a probability in [0, 1)")
	}
	if layer.dropout > 0 && uint64(tokens.Dim()) > maxMaskCols {
		return nil, check.AtMost(op, "dim with dropout", tokens.Dim(), maxMaskCols)
	}
	if err := layer.checkSegments(op); err != nil {
		return nil, err
	}
	if err := layer.norm.make(op, tokens.Dim()); err != nil {
		return nil, err
	}
	if positions == nil {
		return layer, nil
	}
	if check.IsNil(positions) {
		return nil, check.Nil(op, fmt.Sprintf("positions, a %T,", positions))
	}
	if err := check.Equal(op, "dim of positions", positions.Dim(), tokens.Dim()); err != nil {
		return nil, err
	}
	if err := check.AtLeast(op, "limit of positions", positions.Limit(), 0); err != nil {
		return nil, err
	}
	table := positions.Table()
	if err := rowvec.CheckMatrix(op, "table of positions", table); err != nil {
		return nil, err
	}
	if table.Rows > 0 {
		if err := check.Equal(op, "table of positions.Cols", table.Cols, tokens.Dim()); err != nil {
			return nil, err
		}
	}
	if positions.Trainable() {
		if err := check.Equal(op, "table of positions.Rows", table.Rows, positions.Limit()); err != nil {
			return nil, err
		}
	}
	layer.positions = positions
	return layer, nil
}

// checkParts reports types that no segment has, and a part that has other columns than the tokens: NewLayer has compared them, but
// another embedding may have been assigned to one of them since.
func (l *Layer) checkParts(op string, in *Input) error {
	if l.norm.on {
		if err := check.Equal(op, "dim of the norm", l.norm.weight.Cols, l.Dim()); err != nil {
			return err
		}
	}
	if l.segments == nil {
		return nil
	}
	if err := check.Equal(op, "dim of segments", l.segments.Dim(), l.Dim()); err != nil {
		return err
	}
	return in.checkTypes(op, l.segments.Vocab())
}

// checkSegments reports a table of segments that cannot be one.
func (l *Layer) checkSegments(op string) error {
	if l.segments == nil {
		return nil
	}
	option := ""
	switch {
	case l.segments.scaled:
		option = "Scaled"
	case l.segments.maxNorm > 0:
		option = "MaxNorm"
	case l.segments.byFrequency:
		option = "ScaleGradByFrequency"
	default:
		return check.Equal(op, "dim of segments", l.segments.Dim(), l.tokens.Dim())
	}
	return check.Value(op, "option of segments", option, "one that is not for tokens alone")
}

// Tokens returns the token embedding.
func (l *Layer) Tokens() *Embedding { return l.tokens }

// Segments returns the table of types, nil if there is none.
func (l *Layer) Segments() *Embedding { return l.segments }

// Positions returns the positional encoding, nil if there is none.
func (l *Layer) Positions() Positions { return l.positions }

// Dim returns the length of a vector.
func (l *Layer) Dim() int { return l.tokens.Dim() }

// trainable reports whether positions are a parameter.
func trainable(p Positions) bool { return p != nil && p.Trainable() }

// perParameter has something for each parameter that a layer may have, in the order of Parameters.
type perParameter[T any] [5]T

// What a perParameter is of.
const (
	token = iota
	position
	segment
	normWeight
	normBias
)

var (
	parameterNames = perParameter[string]{"token.weight", "position.weight", "segment.weight", "norm.weight", "norm.bias"}
	gradientNames  = perParameter[string]{
		"token gradient", "position gradient", "segment gradient", "norm weight gradient", "norm bias gradient",
	}
	tableNames = perParameter[string]{"token table", "position table", "segment table", "norm weight", "norm bias"}
)

// has reports whether parameter k is one of the layer's.
func (l *Layer) has(k int) bool {
	switch k {
	case position:
		return trainable(l.positions)
	case segment:
		return l.segments != nil
	case normWeight, normBias:
		return l.norm.on
	}
	return true
}

// learns reports whether backward passes add to the gradient of parameter k.
func (l *Layer) learns(k int) bool {
	switch k {
	case token:
		return !l.tokens.frozen
	case segment:
		return l.segments != nil && !l.segments.frozen
	}
	return l.has(k)
}

// rowsOf returns the number of rows of parameter k, which the layer has.
func (l *Layer) rowsOf(k int) int {
	switch k {
	case position:
		return l.positions.Limit()
	case segment:
		return l.segments.Vocab()
	case normWeight, normBias:
		return 1
	}
	return l.tokens.Vocab()
}

// parameter returns parameter k, which the layer has.
func (l *Layer) parameter(k int) rowvec.Matrix {
	switch k {
	case position:
		return l.positions.Table()
	case segment:
		return l.segments.weight
	case normWeight:
		return l.norm.weight
	case normBias:
		return l.norm.bias
	}
	return l.tokens.weight
}

// assign returns what list, called name, has for each of Parameters, by parameter. What it returns has no need of the heap.
func assign[T any](op string, l *Layer, name string, list []T) (all perParameter[T], err error) {
	n := 0
	for k := range all {
		if l.has(k) {
			if n < len(list) {
				all[k] = list[n]
			}
			n++
		}
	}
	return all, check.Equal(op, name, len(list), n)
}

// Parameters returns the table of tokens, that of positions if they are learned, that of segments if there are any, and the
// weight and the bias of the LayerNorm if there is one.
func (l *Layer) Parameters() []Parameter {
	var parameters []Parameter
	for k, name := range parameterNames {
		if l.has(k) {
			vector := k == normWeight || k == normBias
			parameters = append(parameters, Parameter{name, l.parameter(k), vector})
		}
	}
	return parameters
}

// NewGradients returns a dense gradient of zeros for each of Parameters, in their order.
func (l *Layer) NewGradients() []rowvec.Matrix {
	var grads []rowvec.Matrix
	for _, p := range l.Parameters() {
		rows, cols := p.Value.Rows, p.Value.Cols
		grads = append(grads, rowvec.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols), Stride: cols})
	}
	return grads
}

// Forward sets row i of dst to the vector of token i, multiplied by sqrt(dim) if the tokens are Scaled, plus the vector
// of its segment if there are Segments, plus that of its position. The product is rounded before the first sum, and that
// before the second. dst has a row for each token and Dim columns. It is an error if a position is not below the limit of
// the positions. Where there is a LayerNorm the rows are normalised then. Nothing is dropped: this is how a trained layer
// is used.
func (l *Layer) Forward(dst rowvec.Matrix, in Input) error {
	if forwardAtOnce(l, dst, &in) {
		return nil
	}
	return forwardPass("lookup.Layer.Forward", l, dst, in, rowvec.Mask{})
}

// ForwardTrain is Forward and then, row by row while it is in cache, rowvec.Dropout with Mask(step). The step numbers the
// batches, say: each number has a mask of its own, which BackwardTrain works out again. Batches whose gradients are accumulated need
// numbers of their own too, since with the same one they drop the same elements. It must be below 1<<56, and there may
// be up to 1<<32 tokens. A layer without Dropout drops nothing.
func (l *Layer) ForwardTrain(dst rowvec.Matrix, in Input, step uint64) error {
	return forwardPass("lookup.Layer.ForwardTrain", l, dst, in, l.Mask(step))
}

// Mask returns what ForwardTrain drops in a step, of its result as a whole.
func (l *Layer) Mask(step uint64) rowvec.Mask {
	return rowvec.Mask{P: l.dropout, Seed: l.seed, Step: step}
}

// Backward adds the gradients of Forward to grads, which belong to Parameters in their order, given the gradient dOut of
// its result: row ids[i] of the first grows by row i of dOut, multiplied by sqrt(dim) if the tokens are Scaled, but not
// the row of the padding id; the row of its position in the second, if positions are learned, grows by row i of dOut, and
// so does that of its segment in the next; each for i ascending.
//
// With a LayerNorm, dOut stands there for the gradient of what it normalises, as rowvec.LayerNormBackward has it; the
// gradients of its weight and its bias are summed from +0 over 64 rows at a time, and grow by these sums in their order.
// The sums of vectors are worked out once more, from the same input, and not kept from the forward pass: the parameters must
// be as they were in that.
func (l *Layer) Backward(grads []rowvec.Matrix, in Input, dOut rowvec.Matrix) error {
	const op = "lookup.Layer.Backward"
	all, err := assign(op, l, "len(grads)", grads)
	if err != nil {
		return err
	}
	return backwardPass(op, l, all, in, dOut, rowvec.Mask{})
}

// BackwardTrain adds the gradients of ForwardTrain for the same input and step to grads: those of Backward, but for a dOut
// of which rowvec.Dropout has dropped the same elements, and scaled the others. dOut is not written to.
func (l *Layer) BackwardTrain(grads []rowvec.Matrix, in Input, dOut rowvec.Matrix, step uint64) error {
	const op = "lookup.Layer.BackwardTrain"
	all, err := assign(op, l, "len(grads)", grads)
	if err != nil {
		return err
	}
	return backwardPass(op, l, all, in, dOut, l.Mask(step))
}

// String says what the layer is, such as Layer(vocab=50257, dim=768, max=1024, positions=learned, scaled, dropout=0.1).
func (l *Layer) String() string {
	limit, kind := "", "none"
	if l.positions != nil {
		kind = l.positions.Kind()
		if l.positions.Limit() != noLimit {
			limit = fmt.Sprintf(", max=%d", l.positions.Limit())
		}
	}
	segments := ""
	if l.segments != nil {
		segments = fmt.Sprintf(", segments=%d", l.segments.Vocab())
		if s := strings.TrimPrefix(l.segments.suffix(), ", "); s != "" {
			segments += " (" + s + ")"
		}
	}
	norm, dropout := "", ""
	if l.norm.on {
		norm = fmt.Sprintf(", norm=%v", l.norm.epsilon)
	}
	if l.dropout > 0 {
		dropout = fmt.Sprintf(", dropout=%v", l.dropout)
	}
	return fmt.Sprintf("Layer(vocab=%d, dim=%d%s, positions=%s%s%s%s%s)",
		l.tokens.Vocab(), l.Dim(), limit, kind, segments, l.tokens.suffix(), norm, dropout)
}
