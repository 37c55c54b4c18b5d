// Package reference holds results of NumPy and PyTorch for tests to compare with. The script reference.py made the
// files; the tests need no Python.
//
// A result is to be met bit for bit, where a NaN equals every NaN, unless its field says otherwise.
package reference

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/rowvec/rowvec/kernels"
)

//go:embed *.json
var files embed.FS

// Forward is a case of the forward kernels: Scale times row IDs[i] of Table, plus a row of Positions.
type Forward struct {
	Name       string `json:"name"`
	Table      Matrix `json:"table"`
	Positions  Matrix `json:"positions"`
	IDs        []int  `json:"ids"`
	At         []int  `json:"at"`
	Scale      Float  `json:"scale"`
	Start      int    `json:"start"`
	Seq        int    `json:"seq"`
	Gathered   Matrix `json:"gathered"`    // rows IDs[i] of Table, with the bits of their NaNs
	Scaled     Matrix `json:"scaled"`      // the same times Scale
	Embedded   Matrix `json:"embedded"`    // Scaled plus row Start + i mod Seq of Positions
	EmbeddedAt Matrix `json:"embedded_at"` // Scaled plus row At[i] of Positions
}

// Scatter is a case of scatter-add with duplicates.
type Scatter struct {
	Name        string `json:"name"`
	Dst         Matrix `json:"dst"`
	IDs         []int  `json:"ids"`
	Alpha       Float  `json:"alpha"`
	Src         Matrix `json:"src"`
	Added       Matrix `json:"added"`        // Dst with row i of Src added to row IDs[i]
	AddedScaled Matrix `json:"added_scaled"` // Dst with Alpha times row i of Src added to row IDs[i]
}

// Embedding is a case of the gradient of PyTorch's nn.Embedding with Vocab rows.
type Embedding struct {
	Name       string `json:"name"`
	Vocab      int    `json:"vocab"`
	Padding    int    `json:"padding"` // the id without a gradient, or -1
	IDs        []int  `json:"ids"`
	Scale      Float  `json:"scale"`       // sqrt(dim)
	DOut       Matrix `json:"dout"`        // the gradient of the result: one row for each id
	Grad       Matrix `json:"grad"`        // the gradient of the weight
	GradScaled Matrix `json:"grad_scaled"` // the same where the result was multiplied by Scale
}

// Positions is a case of the gradient of positions that every sequence of a batch has added.
type Positions struct {
	Name    string `json:"name"`
	Batches int    `json:"batches"`
	DOut    Matrix `json:"dout"`  // the rows of the sequences, one sequence behind the other
	Grad    Matrix `json:"grad"`  // their sum over the batch, in ascending order from +0
	Torch   Matrix `json:"torch"` // the same by PyTorch, which adds in another order: see SumError
}

// Resize is a case of a table of positions that PyTorch interpolates: linearly if it is no grid, or bicubically, each with
// the ends kept. Its places and weights are those of float32.
type Resize struct {
	Name   string `json:"name"`
	Prefix int    `json:"prefix"` // rows in front of a grid
	From   [2]int `json:"from"`   // height and width, or 1 and the number of rows
	To     [2]int `json:"to"`
	Table  Matrix `json:"table"`
	Out    Matrix `json:"out"`
	DOut   Matrix `json:"dout"` // the gradient of Out
	Grad   Matrix `json:"grad"` // of Table
}

// Linear reports whether the case is no grid.
func (r *Resize) Linear() bool { return r.Name == fmt.Sprintf("%d to %d", r.From[1], r.To[1]) }

// Grid is a case of MAE's 2-D sine-cosine table, computed in float64 and rounded once.
type Grid struct {
	Name        string `json:"name"`
	Side        int    `json:"side"`
	Dim         int    `json:"dim"`
	ClassTokens int    `json:"class_tokens"`
	Table       Matrix `json:"table"`
}

// Layer is a case of the complete layer of a transformer, without dropout: Scale times row IDs[i] of Table plus row
// i mod Seq of Positions, and back.
type Layer struct {
	Name              string `json:"name"`
	Kind              string `json:"kind"`      // "learned", "sinusoidal" or "none"
	Table             Matrix `json:"table"`     // row Padding is zero
	Padding           int    `json:"padding"`   // the id without a gradient
	Positions         Matrix `json:"positions"` // without rows if Kind is "none"
	IDs               []int  `json:"ids"`
	Seq               int    `json:"seq"`
	Scale             Float  `json:"scale"` // sqrt(dim), or 1 if Kind is "none"
	Out               Matrix `json:"out"`
	DOut              Matrix `json:"dout"` // the gradient of Out
	TokenGrad         Matrix `json:"token_grad"`
	PositionGrad      Matrix `json:"position_grad"`       // without rows unless Kind is "learned"
	PositionGradTorch Matrix `json:"position_grad_torch"` // the same by PyTorch, which adds in another order: see SumError
}

// BERT is a case of the embeddings of BERT, without dropout: Sum is (token + segment) + position, with rows IDs[i] of Table,
// Types[i] of Segments and At[i] of Positions, and Out its layer normalisation. Out and its gradients are PyTorch's, which
// adds in orders of its own: see CloseNorm.
type BERT struct {
	Name            string `json:"name"`
	Epsilon         Float  `json:"epsilon"`
	Table           Matrix `json:"table"`   // row Padding is zero
	Padding         int    `json:"padding"` // the id without a gradient
	Positions       Matrix `json:"positions"`
	Segments        Matrix `json:"segments"`
	Weight          Matrix `json:"weight"` // of the norm, as a row; so is Bias
	Bias            Matrix `json:"bias"`
	IDs             []int  `json:"ids"`
	Types           []int  `json:"types"`
	At              []int  `json:"at"`
	Seq             int    `json:"seq"`
	DOut            Matrix `json:"dout"` // the gradient of Sum, and that of Out
	Sum             Matrix `json:"sum"`
	SumTokenGrad    Matrix `json:"sum_token_grad"` // the gradients of Sum
	SumPositionGrad Matrix `json:"sum_position_grad"`
	SumSegmentGrad  Matrix `json:"sum_segment_grad"`
	Out             Matrix `json:"out"`
	TokenGrad       Matrix `json:"token_grad"` // the gradients of Out
	PositionGrad    Matrix `json:"position_grad"`
	SegmentGrad     Matrix `json:"segment_grad"`
	WeightGrad      Matrix `json:"weight_grad"`
	BiasGrad        Matrix `json:"bias_grad"`
}

// Sinusoid is a case of the sinusoidal table with Length positions, of which it has the rows At[i]. Layout and Base are
// those of layouts.json.
type Sinusoid struct {
	Name    string `json:"name"`
	Length  int    `json:"length"`
	Dim     int    `json:"dim"`
	At      []int  `json:"at"`
	Rounded Matrix `json:"rounded"` // computed in float64 and rounded once
	Torch   Matrix `json:"torch"`   // the usual code in float32: within 4e-5 below position 512

	Layout string  `json:"layout"` // "interleaved", "half-split" or "tensor2tensor"
	Base   float64 `json:"base"`
}

// Vector is a case of the vector kernels. Its matrices have one row.
type Vector struct {
	Name        string `json:"name"`
	Dst         Matrix `json:"dst"`
	Alpha       Float  `json:"alpha"`
	Src         Matrix `json:"src"`
	Added       Matrix `json:"added"`        // Dst + Src
	AddedScaled Matrix `json:"added_scaled"` // Dst + Alpha*Src
	Scaled      Matrix `json:"scaled"`       // Alpha*Dst
}

// Options is a case of the options of PyTorch's nn.Embedding.
type Options struct {
	Name        string  `json:"name"`
	Table       Matrix  `json:"table"`
	Padding     int     `json:"padding"` // the id without a gradient, or -1
	ByFrequency bool    `json:"by_frequency"`
	MaxNorm     float64 `json:"max_norm"` // 0: none
	Norm        float64 `json:"norm"`     // 0: infinite
	IDs         []int   `json:"ids"`
	DOut        Matrix  `json:"dout"`
	Out         Matrix  `json:"out"`
	TableAfter  Matrix  `json:"table_after"`
	Grad        Matrix  `json:"grad"`
}

// Pretrained is a case of PyTorch's nn.Embedding.from_pretrained, with learned positions behind it, and of steps by SGD.
type Pretrained struct {
	Name      string  `json:"name"`
	Freeze    bool    `json:"freeze"`
	Padding   int     `json:"padding"` // the id without a gradient, or -1
	Table     Matrix  `json:"table"`
	Positions Matrix  `json:"positions"` // of sequences of as many tokens
	Rate      float64 `json:"rate"`
	Steps     []struct {
		IDs       []int  `json:"ids"`
		Found     Matrix `json:"found"` // rows IDs[i] of the table
		Out       Matrix `json:"out"`   // the same plus positions
		DOut      Matrix `json:"dout"`  // the gradient of Out
		Grad      Matrix `json:"grad"`  // that of the table; without rows if there is none, which Freeze makes it
		Table     Matrix `json:"table"` // after the step
		Positions Matrix `json:"positions"`
	} `json:"steps"`
}

// EmbeddingBag is a case of PyTorch's nn.EmbeddingBag.
type EmbeddingBag struct {
	Name        string `json:"name"`
	Table       Matrix `json:"table"`
	Mode        string `json:"mode"`    // "sum", "mean", "max" or "weighted", which is a sum of products with Weights
	Padding     int    `json:"padding"` // the id that is left out, or -1
	IDs         []int  `json:"ids"`
	Offsets     []int  `json:"offsets"` // without the last one, but for Last
	Weights     Matrix `json:"weights"`
	DOut        Matrix `json:"dout"`
	Out         Matrix `json:"out"`
	Grad        Matrix `json:"grad"`
	WeightsGrad Matrix `json:"weights_grad"` // empty unless Mode is "weighted"

	// Of BagOptionsCases; of BagFrequencyCases, too, the first of them:
	Last       bool    `json:"last"`     // Offsets have the last one
	Seq        int     `json:"seq"`      // ids in each bag where they are 2-D, or 0
	MaxNorm    float64 `json:"max_norm"` // 0: none
	Norm       float64 `json:"norm"`     // 0: infinite
	TableAfter Matrix  `json:"table_after"`

	// Of BagFrequencyCases:
	ByFrequency bool `json:"by_frequency"`
	Exact       bool `json:"exact"` // counts of ids and tokens of bags are powers of two, whose reciprocals round nothing
}

// Training is a case of PyTorch's optimizers on the gradients of an embedding: sparse ones, but for AdamW. That of decayed.json
// is by SGD with decay, dense too, with the rows put back that a step has no gradient of. That of adagrad.json has sums that begin
// at 0, and gradients so small that epsilon counts. That of lazyadamw.json is by SparseAdam
// behind the decay of the rows that a step has a gradient of, which it meets bit for bit.
type Training struct {
	Name    string `json:"name"`
	Method  string `json:"method"`  // "sgd", "adagrad", "adam", "adamw", "decayed" or "adagrad from 0"
	Padding int    `json:"padding"` // -1: none
	Table   Matrix `json:"table"`
	Steps   []struct {
		Rate  float64  `json:"rate"`
		IDs   []int    `json:"ids"`
		DOut  Matrix   `json:"dout"`
		Table Matrix   `json:"table"` // after the step
		State []Matrix `json:"state"` // likewise
	} `json:"steps"`
}

// Accumulated is a case of gradients of an embedding that several batches add up to, and of steps with them by PyTorch's
// optimizers of Training.
type Accumulated struct {
	Name   string `json:"name"`
	Method string `json:"method"` // "sgd", "adagrad" or "adam"
	Table  Matrix `json:"table"`
	Steps  []struct {
		Batches []struct {
			IDs  []int  `json:"ids"`
			DOut Matrix `json:"dout"`
		} `json:"batches"`
		Touched   []int    `json:"touched"`   // ids, each once and ascending
		Dense     Matrix   `json:"dense"`     // the sum of each batch, added to those before it
		Coalesced Matrix   `json:"coalesced"` // the same of all lookups in another order: see CloseDots
		Table     Matrix   `json:"table"`     // after the step
		State     []Matrix `json:"state"`     // likewise
	} `json:"steps"`
}

// Clip is a case of gradients of tables that are clipped by their norm together: dense ones, since PyTorch 1.13 leaves sparse ones
// as they are. It has norms in float32.
type Clip struct {
	Name    string  `json:"name"`
	MaxNorm float64 `json:"max_norm"`
	Parts   []struct {
		Rows    int    `json:"rows"` // of the table
		IDs     []int  `json:"ids"`
		DOut    Matrix `json:"dout"`    // the gradients of lookups
		Touched []int  `json:"touched"` // ids, each once and ascending
		Grad    Matrix `json:"grad"`    // of rows Touched
		Clipped Matrix `json:"clipped"` // likewise
	} `json:"parts"`
	Norms Matrix `json:"norms"` // one row: those of Parts, and behind them that of all, before
}

// Update is a case of some steps of an optimizer on the rows that ids choose. Step k takes part k of IDs and of the rows of
// Grad, which have Steps equal parts, and Rates[k] and Epsilons[k]. The state begins at 0.
type Update struct {
	Name         string  `json:"name"`
	Kind         string  `json:"kind"` // "sgd", "adagrad", "row adagrad", "adam" or "adamw"
	Start        Matrix  `json:"start"`
	IDs          []int   `json:"ids"`
	Steps        int     `json:"steps"`
	Grad         Matrix  `json:"grad"`
	Rates        []Float `json:"rates"` // with the corrections of bias
	Epsilons     []Float `json:"epsilons"`
	Decay        Float   `json:"decay"` // of sgd
	MeanWeight   Float   `json:"mean_weight"`
	SquareWeight Float   `json:"square_weight"`
	Keep         Float   `json:"keep"`
	Table        Matrix  `json:"table"`     // after the last step
	First        Matrix  `json:"first"`     // sums or means; of row adagrad, a column
	Second       Matrix  `json:"second"`    // means of squares
	Torch        Matrix  `json:"torch"`     // Table by PyTorch, which fuses and reorders some operations
	Roundings    int     `json:"roundings"` // see CloseUpdate
}

// RowAdagrad is a case of steps of Adagrad with one sum for each row, in float64: see CloseRowAdagrad.
type RowAdagrad struct {
	Name      string  `json:"name"`
	Rate      float64 `json:"rate"`
	RateDecay float64 `json:"rate_decay"`
	Initial   float64 `json:"initial"` // what sums begin with; exact in float32
	Epsilon   float64 `json:"epsilon"`
	Start     Matrix  `json:"start"`
	Steps     []struct {
		IDs   []int  `json:"ids"` // each once
		Grad  Matrix `json:"grad"`
		Table Matrix `json:"table"` // after the step, rounded once
		Sums  Matrix `json:"sums"`  // likewise; a column
	} `json:"steps"`
}

// Bag is a case of PyTorch's embedding_bag: bag b has the rows IDs[Offsets[b]:Offsets[b+1]] of Table.
type Bag struct {
	Name     string `json:"name"`
	Table    Matrix `json:"table"`
	IDs      []int  `json:"ids"`
	Offsets  []int  `json:"offsets"`
	Weights  Matrix `json:"weights"`  // one row, of an element for each id
	Sum      Matrix `json:"sum"`      // of the rows of each bag
	Weighted Matrix `json:"weighted"` // the same of Weights[i] times row IDs[i], product and sum apart
	Mean     Matrix `json:"mean"`     // Sum by the number of ids
	Max      Matrix `json:"max"`
}

// Output is a case of an output layer that shares the table of its input: Logits = H times the transpose of Table, and back.
// Its results are PyTorch's, which adds in orders of its own: see CloseDots.
type Output struct {
	Name    string `json:"name"`
	Table   Matrix `json:"table"`
	H       Matrix `json:"h"`
	Logits  Matrix `json:"logits"`
	DLogits Matrix `json:"dlogits"` // the gradient of Logits
	DH      Matrix `json:"dh"`
	Grad    Matrix `json:"grad"` // of Table
}

// Sampled is an Output of some rows of Table, those of IDs: Logits = H times the transpose of these, and back.
type Sampled struct {
	Output
	IDs     []int `json:"ids"`
	Touched []int `json:"touched"` // ids, each once and ascending; other rows of Grad are zeros
}

// Tied is a case of a model whose output layer has the table of its input: Logits = H times the transpose of the table, where H
// is sqrt(dim) times its rows IDs, and steps. Those of SGD round nothing; those of AdamW are in orders of PyTorch's own.
type Tied struct {
	Name    string `json:"name"`
	Method  string `json:"method"` // "sgd" or "adamw"
	Padding int    `json:"padding"`
	Table   Matrix `json:"table"`
	Steps   []struct {
		IDs     []int    `json:"ids"`
		Logits  Matrix   `json:"logits"`
		DLogits Matrix   `json:"dlogits"` // the gradient of Logits
		Grad    Matrix   `json:"grad"`    // both gradients of the table
		Table   Matrix   `json:"table"`   // after the step
		State   []Matrix `json:"state"`   // likewise
	} `json:"steps"`
}

// Checkpoint is a case of a safetensors file that Python wrote, and of what it reads from that.
type Checkpoint struct {
	Name     string            `json:"name"`
	Saved    bool              `json:"saved"` // lookup.Save is to write the same bytes
	Metadata map[string]string `json:"metadata"`
	File     []byte            `json:"file"`
	Tensors  []struct {
		Name  string  `json:"name"`
		DType string  `json:"dtype"`
		Shape []int64 `json:"shape"`
		Value Matrix  `json:"value"` // a row for each element but of the last dimension
	} `json:"tensors"` // in the order of their data
}

// Scaling is a case of a scaling of rotary frequencies.
type Scaling struct {
	Name        string         `json:"name"`
	Kind        string         `json:"kind"`
	Dim         int            `json:"dim"`
	Base        float64        `json:"base"`
	Length      int            `json:"length"`
	Options     ScalingOptions `json:"options"`
	Frequencies []float64      `json:"frequencies"` // of dim/2 pairs, in radians per position
	Attention   float64        `json:"attention"`   // what sines and cosines are multiplied by
}

// ScalingOptions has the options of all kinds, 0 where there is none.
type ScalingOptions struct {
	Factor       float64   `json:"factor"`
	Original     int       `json:"original"`
	BetaFast     float64   `json:"beta_fast"`
	BetaSlow     float64   `json:"beta_slow"`
	Attention    float64   `json:"attention"`
	MScale       float64   `json:"mscale"`
	MScaleAllDim float64   `json:"mscale_all_dim"`
	Truncate     *bool     `json:"truncate"` // nil stands for true
	Low          float64   `json:"low"`
	High         float64   `json:"high"`
	Short        []float64 `json:"short"`
	Long         []float64 `json:"long"`
}

// ALiBi is a case of attention with linear biases.
type ALiBi struct {
	Heads      int    `json:"heads"`
	Slopes     Matrix `json:"slopes"` // one row
	Queries    int    `json:"queries"`
	QueryStart int    `json:"query_start"`
	KeyStart   int    `json:"key_start"`
	Scores     Matrix `json:"scores"` // perhaps without rows
	Biased     Matrix `json:"biased"`
}

// Buckets is a case of T5's buckets of relative positions: those of First and on, as runs of equal ones.
type Buckets struct {
	Buckets       int      `json:"buckets"`
	MaxDistance   int      `json:"max_distance"`
	Bidirectional bool     `json:"bidirectional"`
	First         int      `json:"first"`
	Runs          [2][]int `json:"runs"`   // the bucket of each run, and its length
	Differ        []int    `json:"differ"` // distances for which exact arithmetic gives another one
}

// RelativeBias is a case of T5's bias of relative positions.
type RelativeBias struct {
	Name          string `json:"name"`
	Heads         int    `json:"heads"`
	MaxDistance   int    `json:"max_distance"`
	Bidirectional bool   `json:"bidirectional"`
	Queries       int    `json:"queries"`
	QueryStart    int    `json:"query_start"`
	KeyStart      int    `json:"key_start"`
	Table         Matrix `json:"table"`
	Scores        Matrix `json:"scores"`
	Biased        Matrix `json:"biased"`
	DScores       Matrix `json:"dscores"`
	Grad          Matrix `json:"grad"` // by PyTorch, which adds in an order of its own
}

// ScalingCases returns the cases of scaling.json.
func ScalingCases(tb testing.TB) []Scaling { tb.Helper(); return load[Scaling](tb, "scaling.json") }

// ALiBiCases returns the cases of alibi.json.
func ALiBiCases(tb testing.TB) []ALiBi { tb.Helper(); return load[ALiBi](tb, "alibi.json") }

// BucketsCases returns the cases of t5buckets.json.
func BucketsCases(tb testing.TB) []Buckets { tb.Helper(); return load[Buckets](tb, "t5buckets.json") }

// RelativeBiasCases returns the cases of t5bias.json.
func RelativeBiasCases(tb testing.TB) []RelativeBias {
	tb.Helper()
	return load[RelativeBias](tb, "t5bias.json")
}

// Rotary is a case of rotary positions: the first Angles.Cols dims of each head are rotated, to position Start + i mod Seq.
type Rotary struct {
	Name        string  `json:"name"`
	Interleaved bool    `json:"interleaved"`
	Heads       int     `json:"heads"`
	Seq         int     `json:"seq"`
	Start       int     `json:"start"`
	Base        float64 `json:"base"`
	Amplitude   Float   `json:"amplitude"` // of the angles
	Angles      Matrix  `json:"angles"`    // by PyTorch in float32: within 2e-5 below position 512
	Src         Matrix  `json:"src"`
	Out         Matrix  `json:"out"`
	DOut        Matrix  `json:"dout"` // the gradient of Out
	Grad        Matrix  `json:"grad"` // that of Src
}

// Axes is a case of rotary positions on several axes, whose tokens are Spans from position Start on.
type Axes struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"` // sections, interleaved or axial
	Pairs  []int   `json:"pairs"`
	Base   float64 `json:"base"`
	Start  int     `json:"start"`
	Spans  [][]int `json:"spans"`
	At     [][]int `json:"at"` // of each axis
	After  int     `json:"after"`
	Angles Matrix  `json:"angles"` // by PyTorch in float32: within 2e-5 below position 512
}

// ForwardCases returns the cases of forward.json. It decodes them anew each time, so that the caller may write to what
// it gets; so do the functions below.
func ForwardCases(tb testing.TB) []Forward { tb.Helper(); return load[Forward](tb, "forward.json") }

// ScatterCases returns the cases of scatter.json.
func ScatterCases(tb testing.TB) []Scatter { tb.Helper(); return load[Scatter](tb, "scatter.json") }

// EmbeddingCases returns the cases of embedding.json.
func EmbeddingCases(tb testing.TB) []Embedding {
	tb.Helper()
	return load[Embedding](tb, "embedding.json")
}

// PositionsCases returns the cases of positions.json.
func PositionsCases(tb testing.TB) []Positions {
	tb.Helper()
	return load[Positions](tb, "positions.json")
}

// ResizeCases returns the cases of resize.json.
func ResizeCases(tb testing.TB) []Resize { tb.Helper(); return load[Resize](tb, "resize.json") }

// GridCases returns the cases of grid.json.
func GridCases(tb testing.TB) []Grid { tb.Helper(); return load[Grid](tb, "grid.json") }

// LayerCases returns the cases of layer.json.
func LayerCases(tb testing.TB) []Layer { tb.Helper(); return load[Layer](tb, "layer.json") }

// BERTCases returns the cases of bert.json.
func BERTCases(tb testing.TB) []BERT { tb.Helper(); return load[BERT](tb, "bert.json") }

// SinusoidCases returns the cases of sinusoid.json.
func SinusoidCases(tb testing.TB) []Sinusoid { tb.Helper(); return load[Sinusoid](tb, "sinusoid.json") }

// LayoutCases returns the cases of layouts.json.
func LayoutCases(tb testing.TB) []Sinusoid { tb.Helper(); return load[Sinusoid](tb, "layouts.json") }

// OutputCases returns the cases of output.json.
func OutputCases(tb testing.TB) []Output { tb.Helper(); return load[Output](tb, "output.json") }

// SampledCases returns the cases of sampled.json.
func SampledCases(tb testing.TB) []Sampled { tb.Helper(); return load[Sampled](tb, "sampled.json") }

// TiedCases returns the cases of tied.json.
func TiedCases(tb testing.TB) []Tied { tb.Helper(); return load[Tied](tb, "tied.json") }

// CheckpointCases returns the cases of checkpoint.json.
func CheckpointCases(tb testing.TB) []Checkpoint {
	tb.Helper()
	return load[Checkpoint](tb, "checkpoint.json")
}

// VectorCases returns the cases of vector.json.
func VectorCases(tb testing.TB) []Vector { tb.Helper(); return load[Vector](tb, "vector.json") }

// OptionsCases returns the cases of options.json.
func OptionsCases(tb testing.TB) []Options { tb.Helper(); return load[Options](tb, "options.json") }

// PretrainedCases returns the cases of pretrained.json.
func PretrainedCases(tb testing.TB) []Pretrained {
	tb.Helper()
	return load[Pretrained](tb, "pretrained.json")
}

// EmbeddingBagCases returns the cases of embeddingbag.json.
func EmbeddingBagCases(tb testing.TB) []EmbeddingBag {
	tb.Helper()
	return load[EmbeddingBag](tb, "embeddingbag.json")
}

// BagOptionsCases returns the cases of bagoptions.json.
func BagOptionsCases(tb testing.TB) []EmbeddingBag {
	tb.Helper()
	return load[EmbeddingBag](tb, "bagoptions.json")
}

// BagFrequencyCases returns the cases of bagfrequency.json.
func BagFrequencyCases(tb testing.TB) []EmbeddingBag {
	tb.Helper()
	return load[EmbeddingBag](tb, "bagfrequency.json")
}

// BagMaxCases returns the cases of bagmax.json.
func BagMaxCases(tb testing.TB) []EmbeddingBag {
	tb.Helper()
	return load[EmbeddingBag](tb, "bagmax.json")
}

// TrainingCases returns the cases of training.json.
func TrainingCases(tb testing.TB) []Training { tb.Helper(); return load[Training](tb, "training.json") }

// DecayedCases returns the cases of decayed.json.
func DecayedCases(tb testing.TB) []Training { tb.Helper(); return load[Training](tb, "decayed.json") }

// AdagradCases returns the cases of adagrad.json.
func AdagradCases(tb testing.TB) []Training { tb.Helper(); return load[Training](tb, "adagrad.json") }

// LazyAdamWCases returns the cases of lazyadamw.json.
func LazyAdamWCases(tb testing.TB) []Training {
	tb.Helper()
	return load[Training](tb, "lazyadamw.json")
}

// AccumulatedCases returns the cases of accumulated.json.
func AccumulatedCases(tb testing.TB) []Accumulated {
	tb.Helper()
	return load[Accumulated](tb, "accumulated.json")
}

// ClipCases returns the cases of clip.json.
func ClipCases(tb testing.TB) []Clip { tb.Helper(); return load[Clip](tb, "clip.json") }

// UpdateCases returns the cases of update.json.
func UpdateCases(tb testing.TB) []Update { tb.Helper(); return load[Update](tb, "update.json") }

// RowAdagradCases returns the cases of rowadagrad.json.
func RowAdagradCases(tb testing.TB) []RowAdagrad {
	tb.Helper()
	return load[RowAdagrad](tb, "rowadagrad.json")
}

// RotaryCases returns the cases of rotary.json.
func RotaryCases(tb testing.TB) []Rotary { tb.Helper(); return load[Rotary](tb, "rotary.json") }

// AxesCases returns the cases of axes.json.
func AxesCases(tb testing.TB) []Axes { tb.Helper(); return load[Axes](tb, "axes.json") }

// BagCases returns the cases of bag.json.
func BagCases(tb testing.TB) []Bag { tb.Helper(); return load[Bag](tb, "bag.json") }

func load[T any](tb testing.TB, name string) []T {
	tb.Helper()
	text, err := files.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	cases, err := decode[T](text)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return cases
}

func decode[T any](text []byte) ([]T, error) {
	var file struct {
		About    string `json:"about"`
		MadeWith string `json:"made_with"`
		Cases    []T    `json:"cases"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, err
	}
	if len(file.Cases) == 0 {
		return nil, errors.New("no cases")
	}
	return file.Cases, nil
}

// Float is a float32 that a file holds as its bits in hexadecimal.
type Float float32

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Float) UnmarshalText(text []byte) error {
	bits, err := strconv.ParseUint(string(text), 16, 32)
	if err != nil {
		return err
	}
	*f = Float(math.Float32frombits(uint32(bits)))
	return nil
}

// Matrix is a matrix that a file holds as its shape and its elements, little-endian in base64.
type Matrix struct{ kernels.Matrix }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Matrix) UnmarshalJSON(text []byte) error {
	var raw struct {
		Rows *int    `json:"rows"`
		Cols *int    `json:"cols"`
		Data *string `json:"data"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	if raw.Rows == nil || raw.Cols == nil || raw.Data == nil {
		return errors.New("a matrix needs rows, cols and data")
	}
	data, err := base64.StdEncoding.DecodeString(*raw.Data)
	if err != nil {
		return err
	}
	rows, cols := *raw.Rows, *raw.Cols
	if rows < 0 || cols < 0 || len(data) != 4*rows*cols {
		return fmt.Errorf("a matrix of %d x %d has %d bytes", rows, cols, len(data))
	}
	m.Matrix = kernels.Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols), Stride: cols}
	for i := range m.Data {
		m.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return nil
}

// Zeros returns a matrix of zeros with the shape of m and gap NaNs behind each row but the last.
func Zeros(m Matrix, gap int) kernels.Matrix {
	z := kernels.Matrix{Rows: m.Rows, Cols: m.Cols, Stride: m.Cols + gap}
	if m.Rows > 0 {
		z.Data = make([]float32, (m.Rows-1)*z.Stride+z.Cols)
	}
	for i := range z.Data {
		if i%z.Stride >= z.Cols {
			z.Data[i] = untouched
		}
	}
	return z
}

// Copy returns a copy of m with gap NaNs behind each row but the last.
func Copy(m Matrix, gap int) kernels.Matrix {
	c := Zeros(m, gap)
	for i := range m.Rows {
		copy(c.Row(i), m.Row(i))
	}
	return c
}

// untouched is the NaN between rows.
var untouched = math.Float32frombits(0x7fedcba9)

// Equal reports the first element of got that is not want's, where a NaN equals every NaN, and a gap made by Zeros or
// Copy that was written to.
func Equal(tb testing.TB, what string, got kernels.Matrix, want Matrix) {
	tb.Helper()
	equal(tb, what, got, want, func(a, b uint32) bool { return a == b || isNaN(a) && isNaN(b) })
}

// Identical is Equal with the bits of NaNs compared too.
func Identical(tb testing.TB, what string, got kernels.Matrix, want Matrix) {
	tb.Helper()
	equal(tb, what, got, want, func(a, b uint32) bool { return a == b })
}

func isNaN(bits uint32) bool { return bits&0x7fffffff > 0x7f800000 }

func equal(tb testing.TB, what string, got kernels.Matrix, want Matrix, same func(a, b uint32) bool) {
	tb.Helper()
	if !sameShape(tb, what, got, want) {
		return
	}
	for i := range got.Rows {
		for j, x := range got.Row(i) {
			a, b := math.Float32bits(x), math.Float32bits(want.Row(i)[j])
			if !same(a, b) {
				tb.Errorf("%s: row %d, column %d: %v (%08x), want %v (%08x)", what, i, j, x, a, want.Row(i)[j], b)
				return
			}
		}
	}
	for i, x := range got.Data {
		if i%got.Stride >= got.Cols && math.Float32bits(x) != math.Float32bits(untouched) {
			tb.Errorf("%s: element %d, between two rows, was written to", what, i)
			return
		}
	}
}

// within reports the first element of got that is further from want's than its bound; without one, which an infinite bound
// is, it may be anything.
func within(tb testing.TB, what string, got kernels.Matrix, want Matrix, bound func(i, j int) float64) {
	tb.Helper()
	if !sameShape(tb, what, got, want) {
		return
	}
	for i := range got.Rows {
		for j, x := range got.Row(i) {
			y, most := want.Row(i)[j], bound(i, j)
			if off := math.Abs(float64(x) - float64(y)); !(off <= most) && !math.IsInf(most, 1) {
				tb.Errorf("%s: row %d, column %d: %v, want %v within %g", what, i, j, x, y, most)
				return
			}
		}
	}
}

func sameShape(tb testing.TB, what string, got kernels.Matrix, want Matrix) bool {
	tb.Helper()
	if got.Rows != want.Rows || got.Cols != want.Cols {
		tb.Errorf("%s: shape %d x %d, want %d x %d", what, got.Rows, got.Cols, want.Rows, want.Cols)
		return false
	}
	return true
}

// CloseNorm reports the first element of got, a layer normalisation of a case of BERT or one of its gradients, that is off
// by more than 32 half units in the last place of the largest element of want. PyTorch's results are within 16 of these of
// what it has in float64, as the script asserts; another order of the same sums and products can be expected to be so too.
func CloseNorm(tb testing.TB, what string, got kernels.Matrix, want Matrix) {
	tb.Helper()
	largest := 0.0
	for _, y := range want.Data {
		largest = max(largest, math.Abs(float64(y)))
	}
	within(tb, what, got, want, func(int, int) float64 { return 32 * 0x1p-24 * largest })
}

// SumError bounds the difference of two sums over the batch of element j of position p, in float32 and in whatever
// order: each of the two makes at most one rounding less than there are rows.
func SumError(dOut Matrix, batches, p, j int) float64 {
	sum, seq := 0.0, dOut.Rows/batches
	for b := range batches {
		sum += math.Abs(float64(dOut.Row(b*seq + p)[j]))
	}
	n := float64(batches-1) * 0x1p-24
	return 2 * sum * n / (1 - n)
}

// CloseSums reports the first element of got, a sum over the batches of dOut, that is further from want than SumError
// permits. Got may have more rows than there are positions in dOut; these must be zero in both.
func CloseSums(tb testing.TB, what string, got kernels.Matrix, want, dOut Matrix, batches int) {
	tb.Helper()
	within(tb, what, got, want, func(p, j int) float64 {
		if p < dOut.Rows/batches {
			return SumError(dOut, batches, p, j)
		}
		return 0
	})
}

// CloseUpdate reports the first finite element of got that is further from want than so many roundings, of half an ulp of
// what moved holds: the weight and how far it moved, added up over all steps.
func CloseUpdate(tb testing.TB, what string, got kernels.Matrix, want Matrix, moved []float64, roundings int) {
	tb.Helper()
	within(tb, what, got, want, func(i, j int) float64 {
		if sum := moved[i*got.Cols+j]; !math.IsNaN(sum) && !math.IsInf(sum, 0) {
			return float64(roundings) * 0x1p-24 * sum
		}
		return math.Inf(1)
	})
}

// CloseRowAdagrad returns a function that is to be called behind each step of c, in their order, with the table and the
// sums, a column. It reports what is further from float64 than roundings of half an ulp, u, explain. A sum, of step t, is of
// terms that are not negative, so that each rounding is at most u of it: 1 of a square, L-1 of its lane where that has L, 4
// of the tree of lanes, 1 of the mean, t of additions to the sum, and 1 of the file, L+6+t. The movement of a weight has half
// of that, and 5 of the root, epsilon behind it, the rate, the quotient and the product; the weight has 1 of each addition,
// and 1 for the file. So a weight is within u times the sum of (L+6+t)/2+5 movements and 2 weights of each step so far: for
// steps 1 to 4 of L = 2, 9.5 to 11 movements.
func CloseRowAdagrad(tb testing.TB, what string, c *RowAdagrad) func(table, sums kernels.Matrix) {
	const u = 0x1p-24
	t, before, bounds := 0, Copy(c.Start, 0), make([]float64, len(c.Start.Data))
	return func(table, sums kernels.Matrix) {
		tb.Helper()
		step := &c.Steps[t]
		t++
		roundings := float64((c.Start.Cols+15)/16 + 6 + t)
		within(tb, fmt.Sprintf("%s: sums after step %d", what, t), sums, step.Sums, func(i, j int) float64 {
			return u * roundings * float64(step.Sums.Row(i)[j])
		})
		for i := range table.Rows {
			for j, w := range table.Row(i) {
				moved := math.Abs(float64(w) - float64(before.Row(i)[j]))
				bounds[i*table.Cols+j] += u * ((roundings/2+5)*moved + 2*math.Abs(float64(w)))
			}
		}
		within(tb, fmt.Sprintf("%s: table after step %d", what, t), table, step.Table, func(i, j int) float64 {
			return bounds[i*table.Cols+j]
		})
		before = Copy(Matrix{table}, 0)
	}
}

// DotError bounds the difference of two sums of n products in float32, in whatever order and fused or not, whose sizes add
// up to size: each of the two rounds a product once, and its sum with others at most n-1 times.
func DotError(size float64, n int) float64 {
	u := float64(n) * 0x1p-24
	return 2 * size * u / (1 - u)
}

// CloseDots reports the first element of got, a sum of n products of which term returns number k for row i and column j,
// that is further from want than DotError permits.
func CloseDots(tb testing.TB, what string, got kernels.Matrix, want Matrix, term func(i, j, k int) float32, n int) {
	tb.Helper()
	within(tb, what, got, want, func(i, j int) float64 {
		size := 0.0
		for k := range n {
			size += math.Abs(float64(term(i, j, k)))
		}
		return DotError(size*(1+0x1p-20), n)
	})
}
