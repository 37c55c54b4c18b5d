package lookup_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// The embedding layer of a small transformer, forward and backward.
func Example() {
	tokens, err := lookup.NewEmbedding(50257, 64, lookup.Normal(0.02, 1), lookup.Scaled())
	if err != nil {
		panic(err)
	}
	positions, err := positional.NewLearned(512, 64, 2)
	if err != nil {
		panic(err)
	}
	layer, err := lookup.NewLayer(tokens, positions)
	if err != nil {
		panic(err)
	}
	ids := []int32{15496, 995, 11, 3506, 318, 262} // two sequences of three tokens
	out, _ := rowvec.NewMatrix(len(ids), layer.Dim())
	if err := layer.Forward(out, lookup.Batch(ids, 3)); err != nil {
		panic(err)
	}
	grads := layer.NewGradients()
	if err := layer.Backward(grads, lookup.Batch(ids, 3), out); err != nil {
		panic(err)
	}
	fmt.Println(layer, len(layer.Parameters()))
	// Output: Layer(vocab=50257, dim=64, max=512, positions=learned, scaled) 2
}

// small is a table with a vector for each of three tokens.
func small(options ...lookup.Option) *lookup.Embedding {
	e, err := lookup.FromMatrix(rowvec.Matrix{Rows: 3, Cols: 4, Stride: 4, Data: []float32{
		0, 0, 0, 0,
		1, 2, 3, 4,
		5, 6, 7, 8,
	}}, options...)
	if err != nil {
		panic(err)
	}
	return e
}

func ExampleNewEmbedding() {
	e, err := lookup.NewEmbedding(1000, 16, lookup.Xavier(42), lookup.Padding(0))
	fmt.Println(e, err)
	_, err = lookup.NewEmbedding(1000, 0)
	fmt.Println(err)
	// Output:
	// Embedding(vocab=1000, dim=16, padding=0) <nil>
	// rowvec: lookup.NewEmbedding: dim is 0, want at least 1
}

func ExampleFromMatrix() {
	weight := rowvec.Matrix{Rows: 3, Cols: 4, Stride: 4, Data: make([]float32, 12)}
	e, err := lookup.FromMatrix(weight)
	weight.Row(2)[0] = 7 // no copy has been made
	fmt.Println(e, e.Weight().Row(2), err)
	// Output: Embedding(vocab=3, dim=4) [7 0 0 0] <nil>
}

func ExampleXavier() {
	a, _ := lookup.NewEmbedding(10, 4, lookup.Xavier(1))
	b, _ := lookup.NewEmbedding(10, 4, lookup.Xavier(1))
	fmt.Println(a.Weight().Row(3)[0] == b.Weight().Row(3)[0])
	// Output: true
}

func ExampleNormal() {
	e, err := lookup.NewEmbedding(10, 4, lookup.Normal(0.02, 1))
	fmt.Println(e, err)
	// Output: Embedding(vocab=10, dim=4) <nil>
}

func ExamplePadding() {
	e, _ := lookup.NewEmbedding(10, 4, lookup.Padding(9))
	fmt.Println(e.Weight().Row(9))
	// Output: [0 0 0 0]
}

func ExampleScaled() {
	out, _ := rowvec.NewMatrix(1, 4)
	err := small(lookup.Scaled()).Forward(out, lookup.Sequence([]int{1}))
	fmt.Println(out.Data, err) // sqrt(4) times the row
	// Output: [2 4 6 8] <nil>
}

func ExampleWorkers() {
	fmt.Println(small(lookup.Workers(2)))
	// Output: Embedding(vocab=3, dim=4)
}

func ExampleSequence() {
	out, _ := rowvec.NewMatrix(2, 4)
	err := small().Forward(out, lookup.Sequence([]uint32{2, 1}))
	fmt.Println(out.Data, err)
	// Output: [5 6 7 8 1 2 3 4] <nil>
}

// ordinal stands for an encoding: position p is p in every column.
func ordinal() *positional.Learned {
	table := rowvec.Matrix{Rows: 100, Cols: 4, Stride: 4, Data: make([]float32, 400)}
	for i := range table.Data {
		table.Data[i] = float32(i/4) * 100
	}
	l, err := positional.LearnedFrom(table)
	if err != nil {
		panic(err)
	}
	return l
}

// firstColumn prints the first column of the layer's result.
func firstColumn(in lookup.Input) {
	layer, err := lookup.NewLayer(small(), ordinal())
	if err != nil {
		panic(err)
	}
	out, _ := rowvec.NewMatrix(in.Len(), 4)
	if err := layer.Forward(out, in); err != nil {
		fmt.Println(err)
		return
	}
	var column []float32
	for i := range out.Rows {
		column = append(column, out.Row(i)[0])
	}
	fmt.Println(column)
}

func ExampleBatch() {
	firstColumn(lookup.Batch([]int{1, 2, 1, 2}, 2))
	firstColumn(lookup.Batch([]int{1, 2, 1}, 2))
	// Output:
	// [1 105 1 105]
	// rowvec: lookup.Layer.Forward: len(ids) is 3, want a multiple of 2
}

// Sequences of 1, 0 and 3 tokens.
func ExampleRagged() {
	firstColumn(lookup.Ragged([]int{1, 1, 1, 1}, []int{0, 1, 1, 4}))
	// Output: [1 1 101 201]
}

// A decoder has done 7 tokens of each sequence.
func ExampleInput_From() {
	firstColumn(lookup.Batch([]int{1, 2}, 1).From(7))
	// Output: [701 705]
}

// The second sequence is padded on the left.
func ExampleInput_At() {
	firstColumn(lookup.Batch([]int{1, 2, 0, 1}, 2).At([]int{0, 1, 0, 0}))
	// Output: [1 105 0 1]
}

func ExampleInput_Len() {
	fmt.Println(lookup.Batch([]int{1, 2, 0, 1}, 2).Len())
	// Output: 4
}

func ExampleEmbedding_Vocab() {
	fmt.Println(small().Vocab())
	// Output: 3
}

func ExampleEmbedding_Dim() {
	fmt.Println(small().Dim())
	// Output: 4
}

func ExampleEmbedding_Weight() {
	fmt.Println(small().Weight().Row(1))
	// Output: [1 2 3 4]
}

func ExampleEmbedding_Scale() {
	fmt.Println(small().Scale(), small(lookup.Scaled()).Scale())
	// Output: 1 2
}

func ExampleEmbedding_PaddingID() {
	fmt.Println(small(lookup.Padding(2)).PaddingID())
	// Output: 2 true
}

func ExampleEmbedding_Parameters() {
	for _, p := range small().Parameters() {
		fmt.Println(p.Name, p.Value.Rows, p.Value.Cols)
	}
	// Output: token.weight 3 4
}

func ExampleEmbedding_Forward() {
	out, _ := rowvec.NewMatrix(2, 4)
	err := small().Forward(out, lookup.Sequence([]int{2, 3}))
	fmt.Println(out.Data, err)
	// Output: [0 0 0 0 0 0 0 0] rowvec: lookup.Embedding.Forward: id 3 at position 1 is outside [0, 3)
}

// Token 1 occurs twice; token 0 is padding and receives nothing.
func ExampleEmbedding_Backward() {
	grad, _ := rowvec.NewMatrix(3, 4)
	dOut := rowvec.Matrix{Rows: 3, Cols: 4, Stride: 4, Data: []float32{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}}
	err := small(lookup.Padding(0)).Backward(grad, lookup.Sequence([]int{1, 0, 1}), dOut)
	fmt.Println(grad.Data, err)
	// Output: [0 0 0 0 4 4 4 4 0 0 0 0] <nil>
}

// Rows of other tokens are left alone.
func ExampleEmbedding_ClearGradient() {
	grad := rowvec.Matrix{Rows: 3, Cols: 4, Stride: 4, Data: []float32{1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}}
	err := small().ClearGradient(grad, lookup.Sequence([]int{2, 0}))
	fmt.Println(grad.Data, err)
	// Output: [0 0 0 0 2 2 2 2 0 0 0 0] <nil>
}

func ExampleEmbedding_String() {
	fmt.Println(small(lookup.Scaled(), lookup.Padding(0)).String())
	// Output: Embedding(vocab=3, dim=4, padding=0, scaled)
}

func ExampleNewLayer() {
	layer, err := lookup.NewLayer(small(), nil)
	fmt.Println(layer, err)
	// Output: Layer(vocab=3, dim=4, positions=none) <nil>
}

func smallLayer() *lookup.Layer {
	layer, err := lookup.NewLayer(small(), ordinal())
	if err != nil {
		panic(err)
	}
	return layer
}

func ExampleLayer_Tokens() {
	fmt.Println(smallLayer().Tokens())
	// Output: Embedding(vocab=3, dim=4)
}

func ExampleLayer_Positions() {
	fmt.Println(smallLayer().Positions().Kind())
	// Output: learned
}

func ExampleLayer_Dim() {
	fmt.Println(smallLayer().Dim())
	// Output: 4
}

func ExampleLayer_Parameters() {
	for _, p := range smallLayer().Parameters() {
		fmt.Println(p.Name, p.Value.Rows, p.Value.Cols)
	}
	// Output:
	// token.weight 3 4
	// position.weight 100 4
}

func ExampleLayer_NewGradients() {
	for _, g := range smallLayer().NewGradients() {
		fmt.Println(g.Rows, g.Cols)
	}
	// Output:
	// 3 4
	// 100 4
}

func ExampleLayer_Forward() {
	out, _ := rowvec.NewMatrix(2, 4)
	err := smallLayer().Forward(out, lookup.Sequence([]int64{1, 2}))
	fmt.Println(out.Data, err)
	// Output: [1 2 3 4 105 106 107 108] <nil>
}

func ExampleLayer_Backward() {
	layer := smallLayer()
	grads := layer.NewGradients()
	dOut := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: []float32{1, 2, 3, 4, 5, 6, 7, 8}}
	err := layer.Backward(grads, lookup.Sequence([]int64{1, 1}), dOut)
	fmt.Println(grads[0].Row(1), grads[1].Row(0), grads[1].Row(1), err)
	// Output: [6 8 10 12] [1 2 3 4] [5 6 7 8] <nil>
}

// A step of training: half of the elements are dropped, on the way there and on the way back.
func ExampleDropout() {
	plain := smallLayer()
	layer, err := lookup.NewLayer(plain.Tokens(), plain.Positions(), lookup.Dropout(0.5, 1))
	fmt.Println(layer, err)
	in, step := lookup.Sequence([]int{1, 1}), uint64(1)
	out, _ := rowvec.NewMatrix(2, 4)
	err = layer.ForwardTrain(out, in, step)
	fmt.Println(out.Data, err)
	err = layer.Forward(out, in)
	fmt.Println(out.Data, err)
	// Output:
	// Layer(vocab=3, dim=4, max=100, positions=learned, dropout=0.5) <nil>
	// [2 0 6 0 0 204 0 0] <nil>
	// [1 2 3 4 101 102 103 104] <nil>
}

// The embeddings of BERT: tokens, segments and positions, normalised. Here are a sentence of two tokens and one of one.
func ExampleSegments() {
	tokens, _ := lookup.NewEmbedding(3000, 64, lookup.Normal(0.02, 1), lookup.Padding(0))
	segments, _ := lookup.NewEmbedding(2, 64, lookup.Normal(0.02, 2))
	positions, _ := positional.NewLearned(512, 64, 3)
	layer, err := lookup.NewLayer(tokens, positions,
		lookup.Segments(segments), lookup.LayerNorm(1e-12), lookup.Dropout(0.1, 4))
	fmt.Println(layer, err)
	out, _ := rowvec.NewMatrix(3, layer.Dim())
	err = layer.Forward(out, lookup.Sequence([]int{759, 2088, 999}).Types([]int{0, 0, 1}))
	fmt.Println(err)
	for _, p := range layer.Parameters() {
		fmt.Println(p.Name, p.Value.Rows)
	}
	// Output:
	// Layer(vocab=3000, dim=64, max=512, positions=learned, segments=2, padding=0, norm=1e-12, dropout=0.1) <nil>
	// <nil>
	// token.weight 3000
	// position.weight 512
	// segment.weight 2
	// norm.weight 1
	// norm.bias 1
}

func ExampleLayerNorm() {
	layer, err := lookup.NewLayer(small(), nil, lookup.LayerNorm(1e-5))
	if err != nil {
		panic(err)
	}
	out, _ := rowvec.NewMatrix(1, 4)
	err = layer.Forward(out, lookup.Sequence([]int{2}))
	fmt.Printf("%.3f %v\n", out.Data, err)
	// Output: [-1.342 -0.447 0.447 1.342] <nil>
}

func ExampleInput_Types() {
	segments, _ := lookup.FromMatrix(rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: []float32{0, 0, 0, 0, 10, 10, 10, 10}})
	layer, _ := lookup.NewLayer(small(), nil, lookup.Segments(segments))
	out, _ := rowvec.NewMatrix(2, 4)
	err := layer.Forward(out, lookup.Sequence([]int{1, 1}).Types([]int{0, 1}))
	fmt.Println(out.Data, err)
	err = layer.Forward(out, lookup.Sequence([]int{1, 1}).Types([]int{0, 2}))
	fmt.Println(err)
	// Output:
	// [1 2 3 4 11 12 13 14] <nil>
	// rowvec: lookup.Layer.Forward: type id 2 at position 1 is outside [0, 2)
}

func ExampleLayer_Segments() {
	segments, _ := lookup.NewEmbedding(2, 4, lookup.Frozen())
	layer, _ := lookup.NewLayer(small(), nil, lookup.Segments(segments))
	fmt.Println(layer.Segments())
	// Output: Embedding(vocab=2, dim=4, frozen)
}

func ExampleLayer_ForwardTrain() {
	layer, _ := lookup.NewLayer(small(), nil, lookup.Dropout(0.5, 1))
	out, _ := rowvec.NewMatrix(1, 4)
	for step := range uint64(3) {
		err := layer.ForwardTrain(out, lookup.Sequence([]int{1}), step)
		fmt.Println(out.Data, err)
	}
	// Output:
	// [2 0 0 8] <nil>
	// [2 0 6 0] <nil>
	// [0 0 6 8] <nil>
}

func ExampleLayer_BackwardTrain() {
	layer, _ := lookup.NewLayer(small(), nil, lookup.Dropout(0.5, 1))
	grads := layer.NewGradients()
	dOut := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{1, 2, 3, 4}}
	err := layer.BackwardTrain(grads, lookup.Sequence([]int{1}), dOut, 2)
	fmt.Println(grads[0].Row(1), err)
	// Output: [0 0 6 8] <nil>
}

// What ForwardTrain drops can be dropped elsewhere too.
func ExampleLayer_Mask() {
	layer, _ := lookup.NewLayer(small(), nil, lookup.Dropout(0.5, 1))
	ones := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{1, 1, 1, 1}}
	err := rowvec.Dropout(ones, ones, layer.Mask(2))
	fmt.Println(ones.Data, err)
	// Output: [0 0 2 2] <nil>
}

func ExampleLayer_ClearGradients() {
	layer := smallLayer()
	grads := layer.NewGradients()
	in := lookup.Sequence([]int64{1, 1})
	dOut := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: []float32{1, 2, 3, 4, 5, 6, 7, 8}}
	if err := layer.Backward(grads, in, dOut); err != nil {
		panic(err)
	}
	err := layer.ClearGradients(grads, in)
	fmt.Println(grads[0].Row(1), grads[1].Row(1), err)
	// Output: [0 0 0 0] [0 0 0 0] <nil>
}

func ExampleLayer_String() {
	fmt.Println(smallLayer().String())
	// Output: Layer(vocab=3, dim=4, max=100, positions=learned)
}

func ExampleNewOutput() {
	output, err := lookup.NewOutput(small())
	fmt.Println(output, err)
	// Output: Output(vocab=3, dim=4) <nil>
}

// The logits of two hidden states.
func ExampleOutput_Forward() {
	output, _ := lookup.NewOutput(small())
	h := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: []float32{1, 0, 0, 0, 1, 1, 1, 1}}
	logits, _ := rowvec.NewMatrix(2, 3)
	err := output.Forward(logits, h)
	fmt.Println(logits.Data, err)
	// Output: [0 1 5 0 10 26] <nil>
}

// The logits of a target and of a sample beside it.
func ExampleOutput_ForwardSampled() {
	output, _ := lookup.NewOutput(small())
	h := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{0, 1, 0, 0}}
	logits, _ := rowvec.NewMatrix(1, 2)
	err := output.ForwardSampled(logits, h, lookup.Sequence([]int{2, 1}))
	fmt.Println(logits.Data, err)
	// Output: [6 2] <nil>
}

func ExampleOutput_Backward() {
	output, _ := lookup.NewOutput(small())
	h := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{0, 1, 0, 0}}
	dLogits := rowvec.Matrix{Rows: 1, Cols: 3, Stride: 3, Data: []float32{0, 1, -1}}
	dH, _ := rowvec.NewMatrix(1, 4)
	grad, _ := rowvec.NewMatrix(3, 4)
	err := output.Backward(dH, grad, dLogits, h)
	fmt.Println(dH.Data, grad.Row(1), grad.Row(2), err)
	// Output: [-4 -4 -4 -4] [0 1 0 0] [0 -1 0 0] <nil>
}

// Token 2 occurs twice.
func ExampleOutput_BackwardSampledSparse() {
	tokens := small()
	output, _ := lookup.NewOutput(tokens)
	h := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{0, 1, 0, 0}}
	dLogits := rowvec.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float32{2, 3}}
	dH, _ := rowvec.NewMatrix(1, 4)
	grad := tokens.NewGradient()
	err := output.BackwardSampledSparse(dH, grad, lookup.Sequence([]int{2, 2}), dLogits, h)
	fmt.Println(dH.Data, grad.IDs(), grad.Values().Data, err)
	// Output: [25 30 35 40] [2] [0 5 0 0] <nil>
}

func ExampleOutput_BackwardSampled() {
	output, _ := lookup.NewOutput(small())
	h := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{0, 1, 0, 0}}
	dLogits := rowvec.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float32{2, 3}}
	dH, _ := rowvec.NewMatrix(1, 4)
	grad, _ := rowvec.NewMatrix(3, 4)
	err := output.BackwardSampled(dH, grad, lookup.Sequence([]int{2, 2}), dLogits, h)
	fmt.Println(dH.Data, grad.Row(2), err)
	// Output: [25 30 35 40] [0 5 0 0] <nil>
}

func ExampleOutput_String() {
	output, _ := lookup.NewOutput(small())
	fmt.Println(output.String())
	// Output: Output(vocab=3, dim=4)
}

// A checkpoint of a table and of the squared gradients that an optimizer has added up for it, after 1,000 steps.
func ExampleSave() {
	dir, err := os.MkdirTemp("", "rowvec")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	state, _ := rowvec.NewMatrix(3, 4)
	tensors := append(small().Parameters(), lookup.Parameter{Name: "token.weight.state", Value: state})
	err = lookup.Save(filepath.Join(dir, "model.safetensors"), tensors, map[string]string{"step": "1000", "format": "pt"})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "rowvec")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	if err := lookup.Save(path, small().Parameters(), map[string]string{"step": "1000"}); err != nil {
		panic(err)
	}
	e, _ := lookup.NewEmbedding(3, 4)
	metadata, err := lookup.Load(path, e.Parameters())
	fmt.Println(e.Weight().Row(2), metadata, err)
	// Output: [5 6 7 8] map[step:1000] <nil>
}

// Positions alone, out of a file that holds tokens too.
func ExampleLoadSome() {
	dir, err := os.MkdirTemp("", "rowvec")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	positions := rowvec.Matrix{Rows: 1, Cols: 2, Data: []float32{0.5, -0.5}, Stride: 2}
	all := append(small().Parameters(), lookup.Parameter{Name: "position.weight", Value: positions})
	if err := lookup.Save(path, all, nil); err != nil {
		panic(err)
	}
	clear(positions.Data)
	_, err = lookup.LoadSome(path, all[1:])
	fmt.Println(positions.Data, err)
	// Output: [0.5 -0.5] <nil>
}

// What there is to load.
func ExampleTensors() {
	dir, err := os.MkdirTemp("", "rowvec")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	if err := lookup.Save(path, small().Parameters(), map[string]string{"step": "1000"}); err != nil {
		panic(err)
	}
	tensors, metadata, err := lookup.Tensors(path)
	fmt.Println(tensors, metadata, err)
	// Output: [{token.weight F32 [3 4]}] map[step:1000] <nil>
}

// A file that holds something else changes nothing.
func ExampleFormatError() {
	dir, err := os.MkdirTemp("", "rowvec")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	if err := lookup.Save(path, small().Parameters(), nil); err != nil {
		panic(err)
	}
	e, _ := lookup.NewEmbedding(5, 4)
	_, err = lookup.Load(path, e.Parameters())
	var format *lookup.FormatError
	if errors.As(err, &format) {
		fmt.Println(format.Problem)
	}
	// Output: tensor "token.weight" has shape [3, 4] and not [5, 4]
}

func ExampleFormatError_Error() {
	fmt.Println((&lookup.FormatError{Path: "model.safetensors", Problem: "too short"}).Error())
	// Output: rowvec: model.safetensors: too short
}
