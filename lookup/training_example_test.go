package lookup_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// ramp returns a matrix of rows that are each one number over and over.
func ramp(cols int, values ...float32) rowvec.Matrix {
	m, _ := rowvec.NewMatrix(len(values), cols)
	for i, x := range values {
		for j := range cols {
			m.Row(i)[j] = x
		}
	}
	return m
}

// A training step: look up, get the gradient of the result from elsewhere, and change the rows that were looked up.
func Example_training() {
	tokens, err := lookup.NewEmbedding(50257, 64, lookup.Normal(0.02, 1))
	if err != nil {
		panic(err)
	}
	optimizer, err := tokens.NewOptimizer(lookup.Adagrad{Rate: 0.1})
	if err != nil {
		panic(err)
	}
	grad := tokens.NewGradient()
	in := lookup.Batch([]int32{15496, 995, 11, 3506, 318, 262}, 3)
	out, _ := rowvec.NewMatrix(in.Len(), tokens.Dim())
	for range 3 {
		if err := tokens.Forward(out, in); err != nil {
			panic(err)
		}
		dOut := out // of half the sum of squares
		grad.Clear()
		if err := tokens.BackwardSparse(grad, in, dOut); err != nil {
			panic(err)
		}
		if err := optimizer.Step(grad); err != nil {
			panic(err)
		}
	}
	fmt.Println(grad.IDs(), optimizer)
	// Output: [11 262 318 995 3506 15496] Adagrad(token.weight, rate=0.1, step=3)
}

// twice is the gradient of token 1, which occurs twice, and of token 2.
func twice() *lookup.Gradient {
	e := small()
	g := e.NewGradient()
	if err := e.BackwardSparse(g, lookup.Sequence([]int{1, 2, 1}), ramp(4, 1, 2, 3)); err != nil {
		panic(err)
	}
	return g
}

func ExampleFrozen() {
	grad, _ := rowvec.NewMatrix(3, 4)
	err := small(lookup.Frozen()).Backward(grad, lookup.Sequence([]int{1}), ramp(4, 1))
	fmt.Println(grad.Row(1), err)
	// Output: [0 0 0 0] <nil>
}

func ExampleScaleGradByFrequency() {
	grad, _ := rowvec.NewMatrix(3, 4)
	err := small(lookup.ScaleGradByFrequency()).Backward(grad, lookup.Sequence([]int{1, 2, 1}), ramp(4, 1, 2, 3))
	fmt.Println(grad.Row(1), grad.Row(2), err)
	// Output: [2 2 2 2] [2 2 2 2] <nil>
}

func ExampleMaxNorm() {
	e := small(lookup.MaxNorm(4, math.Inf(1)))
	out, _ := rowvec.NewMatrix(2, 4)
	err := e.Forward(out, lookup.Sequence([]int{1, 2}))
	fmt.Println(out.Row(0), e.Weight().Row(2), err)
	// Output: [1 2 3 4] [2.5 3 3.5 4] <nil>
}

func ExampleEmbedding_Frozen() {
	fmt.Println(small().Frozen(), small(lookup.Frozen()).Frozen())
	// Output: false true
}

func ExampleEmbedding_NewGradient() {
	fmt.Println(small().NewGradient().Len())
	// Output: 0
}

func ExampleEmbedding_BackwardSparse() {
	e := small(lookup.Padding(0))
	g := e.NewGradient()
	err := e.BackwardSparse(g, lookup.Sequence([]int{1, 0, 1}), ramp(4, 1, 2, 3))
	fmt.Println(g.IDs(), g.Values().Data, err)
	// Output: [1] [4 4 4 4] <nil>
}

func ExampleLayer_NewSparseGradients() {
	fmt.Println(len(smallLayer().NewSparseGradients()))
	// Output: 2
}

func ExampleLayer_BackwardSparse() {
	layer := smallLayer()
	grads := layer.NewSparseGradients()
	err := layer.BackwardSparse(grads, lookup.Sequence([]int{1, 1}).From(7), ramp(4, 1, 2))
	fmt.Println(grads[0].IDs(), grads[0].Values().Data, grads[1].IDs(), grads[1].Values().Data, err)
	// Output: [1] [3 3 3 3] [7 8] [1 1 1 1 2 2 2 2] <nil>
}

func ExampleLayer_BackwardSparseTrain() {
	layer, err := lookup.NewLayer(small(), nil, lookup.Dropout(0.5, 1))
	if err != nil {
		panic(err)
	}
	grads := layer.NewSparseGradients()
	err = layer.BackwardSparseTrain(grads, lookup.Sequence([]int{1}), ramp(4, 1), 3)
	fmt.Println(grads[0].IDs(), grads[0].Values().Data, err)
	// Output: [1] [0 0 0 2] <nil>
}

func ExampleLayer_StepTrain() {
	layer := smallLayer()
	optimizers, err := layer.NewOptimizers(lookup.SGD{Rate: 0.5})
	if err != nil {
		panic(err)
	}
	err = layer.StepTrain(optimizers, lookup.Sequence([]int{1, 1}).From(7), ramp(4, 1, 2), 0)
	fmt.Println(layer.Tokens().Weight().Row(1), layer.Parameters()[1].Value.Row(8), err)
	// Output: [-0.5 0.5 1.5 2.5] [799 799 799 799] <nil>
}

func ExampleNewGradient() {
	g, err := lookup.NewGradient(50257, 768)
	fmt.Println(g.Len(), err)
	// Output: 0 <nil>
}

func ExampleGradient_Len() {
	fmt.Println(twice().Len())
	// Output: 2
}

func ExampleGradient_IDs() {
	fmt.Println(twice().IDs())
	// Output: [1 2]
}

func ExampleGradient_Values() {
	fmt.Println(twice().Values().Row(0))
	// Output: [4 4 4 4]
}

func ExampleGradient_Clear() {
	g := twice()
	g.Clear()
	fmt.Println(g.Len())
	// Output: 0
}

func ExampleGradient_CheckFinite() {
	g := twice()
	g.CheckFinite(true)
	err := lookup.AddRows(g, []int{2}, 1, ramp(4, float32(math.Inf(1))))
	fmt.Println(g.Len(), err)
	// Output: 2 rowvec: lookup.AddRows: the gradient of row 2 is +Inf in column 0
}

func ExampleNotFiniteError_Error() {
	g := twice()
	g.CheckFinite(true)
	var bad *lookup.NotFiniteError
	if errors.As(lookup.AddRows(g, []int{0}, 1, ramp(4, float32(math.NaN()))), &bad) {
		fmt.Println(bad.Row, bad.Col, bad.Value)
	}
	// Output: 0 0 NaN
}

func ExampleGradient_AddTo() {
	dense, _ := rowvec.NewMatrix(3, 4)
	err := twice().AddTo(dense)
	fmt.Println(dense.Data, err)
	// Output: [0 0 0 0 4 4 4 4 2 2 2 2] <nil>
}

func ExampleGradient_SetDense() {
	g, _ := lookup.NewGradient(3, 4)
	err := g.SetDense(ramp(4, 0, 0, 5))
	fmt.Println(g.IDs(), g.Values().Data, err)
	// Output: [2] [5 5 5 5] <nil>
}

func ExampleGradient_Scale() {
	g := twice()
	g.Scale(0.5)
	fmt.Println(g.Values().Data)
	// Output: [2 2 2 2 1 1 1 1]
}

func ExampleGradient_Norm() {
	fmt.Printf("%.3f", twice().Norm())
	// Output: 8.944
}

func ExampleGradient_String() {
	fmt.Println(twice())
	// Output: Gradient(rows=2 of 3, dim=4)
}

func ExampleNorm() {
	fmt.Printf("%.3f", lookup.Norm(twice(), twice()))
	// Output: 12.649
}

// Dense gradients, of a table and of something else, are clipped to a norm of 1.
func ExampleNormDense() {
	table, bias := ramp(4, 0, 1, 2), ramp(1, 4)
	norm, err := lookup.NormDense(table, bias)
	fmt.Printf("%.3f %v", norm, err)
	// Output: 6.000 <nil>
}

func ExampleClipNormDense() {
	table, bias := ramp(4, 0, 1, 2), ramp(1, 4)
	norm, err := lookup.ClipNormDense(1, table, bias)
	fmt.Printf("%.3f %v %.3f %.3f", norm, err, table.Row(2), bias.Data)
	// Output: 6.000 <nil> [0.333 0.333 0.333 0.333] [0.667]
}

func ExampleClipNorm() {
	g := twice()
	norm, err := lookup.ClipNorm(1, g)
	fmt.Printf("%.3f %.3f %v", norm, g.Norm(), err)
	// Output: 8.944 1.000 <nil>
}

func ExampleAddRows() {
	g := twice()
	err := lookup.AddRows(g, []uint32{0, 2, 0}, 0.5, ramp(4, 1, 2, 3))
	fmt.Println(g.IDs(), g.Values().Data, err)
	// Output: [0 1 2] [2 2 2 2 4 4 4 4 3 3 3 3] <nil>
}

// pooled prints what a bag makes of bags [1 2] and [2].
func pooled(p lookup.Pooling, in lookup.Input) {
	bag, err := lookup.NewBag(small(), p)
	if err != nil {
		panic(err)
	}
	out, _ := rowvec.NewMatrix(2, 4)
	err = bag.Forward(out, in)
	fmt.Println(out.Data, err)
}

func ExampleRaggedFrom() {
	pooled(lookup.Max, lookup.RaggedFrom([]int{1, 2, 2}, []int{0, 2}))
	// Output: [5 6 7 8 5 6 7 8] <nil>
}

func ExampleInput_Weighted() {
	pooled(lookup.Sum, lookup.Ragged([]int{1, 2, 2}, []int{0, 2, 3}).Weighted([]float32{1, 10, 0.5}))
	// Output: [51 62 73 84 2.5 3 3.5 4] <nil>
}

func ExampleNewBag() {
	bag, err := lookup.NewBag(small(lookup.Padding(0)), lookup.Mean)
	fmt.Println(bag, err)
	// Output: Bag(mean, vocab=3, dim=4, padding=0) <nil>
}

func sumBag() *lookup.Bag {
	bag, err := lookup.NewBag(small(), lookup.Sum)
	if err != nil {
		panic(err)
	}
	return bag
}

func ExampleBag_Tokens() {
	fmt.Println(sumBag().Tokens())
	// Output: Embedding(vocab=3, dim=4)
}

func ExampleBag_Pooling() {
	fmt.Println(sumBag().Pooling())
	// Output: sum
}

func ExampleBag_Dim() {
	fmt.Println(sumBag().Dim())
	// Output: 4
}

func ExampleBag_Parameters() {
	fmt.Println(sumBag().Parameters()[0].Name)
	// Output: token.weight
}

func ExampleBag_String() {
	fmt.Println(sumBag().String())
	// Output: Bag(sum, vocab=3, dim=4)
}

func ExampleBag_Forward() {
	out, _ := rowvec.NewMatrix(2, 4)
	err := sumBag().Forward(out, lookup.Batch([]int{1, 2, 2, 2}, 2))
	fmt.Println(out.Data, err)
	// Output: [6 8 10 12 10 12 14 16] <nil>
}

func ExampleBag_BackwardSparse() {
	bag := sumBag()
	g := bag.Tokens().NewGradient()
	err := bag.BackwardSparse(g, lookup.Batch([]int{1, 2, 2, 2}, 2), ramp(4, 1, 10))
	fmt.Println(g.IDs(), g.Values().Data, err)
	// Output: [1 2] [1 1 1 1 21 21 21 21] <nil>
}

func ExampleBag_BackwardWeights() {
	dWeights := make([]float32, 2)
	err := sumBag().BackwardWeights(dWeights, lookup.Sequence([]int{1, 2}), ramp(4, 1))
	fmt.Println(dWeights, err)
	// Output: [10 26] <nil>
}

func ExamplePooling_String() {
	fmt.Println(lookup.Sum, lookup.Mean, lookup.Max)
	// Output: sum mean max
}

// stepped prints row 1 of a table after a step with the gradient 4, and what the optimizer keeps.
func stepped(m lookup.Method) {
	e := small()
	o, err := e.NewOptimizer(m)
	if err != nil {
		panic(err)
	}
	err = o.Step(twice())
	fmt.Println(e.Weight().Row(1), err)
	for _, s := range o.State() {
		fmt.Println(s.Name, s.Value.Row(1))
	}
}

func ExampleSGD() {
	stepped(lookup.SGD{Rate: 0.25})
	// Output: [0 1 2 3] <nil>
}

func ExampleAdagrad() {
	stepped(lookup.Adagrad{Rate: 1})
	// Output:
	// [0 1 2 3] <nil>
	// token.weight.sum [16 16 16 16]
}

func ExampleRowAdagrad() {
	stepped(lookup.RowAdagrad{Rate: 1})
	// Output:
	// [0 1 2 3] <nil>
	// token.weight.sum [16]
}

func ExampleAdam() {
	stepped(lookup.Adam{Rate: 1, Beta1: 0.5, Beta2: 0.75})
	// Output:
	// [0 1 2 3] <nil>
	// token.weight.exp_avg [2 2 2 2]
	// token.weight.exp_avg_sq [4 4 4 4]
}

func ExampleAdamW() {
	stepped(lookup.AdamW{Rate: 1, Beta1: 0.5, Beta2: 0.75, WeightDecay: 0.5})
	// Output:
	// [-0.5 0 0.5 1] <nil>
	// token.weight.exp_avg [2 2 2 2]
	// token.weight.exp_avg_sq [4 4 4 4]
}

func ExampleNewOptimizer() {
	scores, _ := rowvec.NewMatrix(100, 16)
	o, err := lookup.NewOptimizer(lookup.Parameter{Name: "scores", Value: scores}, lookup.Adam{})
	fmt.Println(o, err)
	// Output: Adam(scores, rate=0.001, step=0) <nil>
}

func smallOptimizer() (*lookup.Embedding, *lookup.Optimizer) {
	e := small()
	o, err := e.NewOptimizer(lookup.SGD{Rate: 0.5})
	if err != nil {
		panic(err)
	}
	return e, o
}

func ExampleEmbedding_NewOptimizer() {
	_, o := smallOptimizer()
	fmt.Println(o)
	// Output: SGD(token.weight, rate=0.5, step=0)
}

func ExampleLayer_NewOptimizers() {
	all, err := smallLayer().NewOptimizers(lookup.RowAdagrad{})
	fmt.Println(all, err)
	// Output: [RowAdagrad(token.weight, rate=0.01, step=0) RowAdagrad(position.weight, rate=0.01, step=0)] <nil>
}

func ExampleOptimizer_Rate() {
	_, o := smallOptimizer()
	fmt.Println(o.Rate())
	// Output: 0.5
}

func ExampleOptimizer_SetRate() {
	_, o := smallOptimizer()
	fmt.Println(o.SetRate(0.25), o.Rate())
	fmt.Println(o.SetRate(-1))
	// Output:
	// <nil> 0.25
	// rowvec: lookup.Optimizer.SetRate: rate of SGD is -1, want at least 0 and below 3.4028234663852886e+38
}

func ExampleOptimizer_Steps() {
	_, o := smallOptimizer()
	err := o.Step(twice())
	fmt.Println(o.Steps(), err)
	// Output: 1 <nil>
}

func ExampleOptimizer_SetSteps() {
	_, o := smallOptimizer()
	fmt.Println(o.SetSteps(1000), o.Steps())
	// Output: <nil> 1000
}

func ExampleOptimizer_State() {
	o, _ := small().NewOptimizer(lookup.Adam{})
	for _, s := range o.State() {
		fmt.Println(s.Name, s.Value.Rows, s.Value.Cols)
	}
	// Output:
	// token.weight.exp_avg 3 4
	// token.weight.exp_avg_sq 3 4
}

func ExampleOptimizer_Step() {
	e, o := smallOptimizer()
	err := o.Step(twice())
	fmt.Println(e.Weight().Data, err)
	// Output: [0 0 0 0 -1 0 1 2 4 5 6 7] <nil>
}

func ExampleOptimizer_StepBatch() {
	e, o := smallOptimizer()
	err := o.StepBatch(e, lookup.Sequence([]int{1, 2, 1}), ramp(4, 1, 2, 3))
	fmt.Println(e.Weight().Data, err)
	// Output: [0 0 0 0 -1 0 1 2 4 5 6 7] <nil>
}

func ExampleOptimizer_StepBags() {
	e, o := smallOptimizer()
	b, _ := lookup.NewBag(e, lookup.Sum)
	err := o.StepBags(b, lookup.Ragged([]int{1, 2, 1}, []int{0, 2, 3}), ramp(4, 1, 3)) // a bag of 1 and 2, and one of 1
	fmt.Println(e.Weight().Data, err)
	// Output: [0 0 0 0 -1 0 1 2 4.5 5.5 6.5 7.5] <nil>
}

func ExampleOptimizer_StepDense() {
	e, o := smallOptimizer()
	grad, _ := rowvec.NewMatrix(e.Vocab(), e.Dim())
	copy(grad.Row(2), []float32{2, 2, 2}) // all others stay as they are
	err := o.StepDense(grad)
	fmt.Println(e.Weight().Data, err)
	// Output: [0 0 0 0 1 2 3 4 4 5 6 8] <nil>
}

func ExampleOptimizer_String() {
	_, o := smallOptimizer()
	fmt.Println(o.String())
	// Output: SGD(token.weight, rate=0.5, step=0)
}

// Training that is saved after two of four steps, and resumed from the file, ends with the same bits: it takes the
// parameters, what the optimizers keep, and the number of the step, by which dropout, the correction of bias and the schedule
// of rates go.
func Example_resume() {
	const steps, warmup = 4, 3
	start := func() (*lookup.Layer, []*lookup.Optimizer, []lookup.Parameter) {
		tokens, _ := lookup.NewEmbedding(5, 4, lookup.Xavier(1))
		positions, _ := positional.NewLearned(3, 4, 2)
		layer, _ := lookup.NewLayer(tokens, positions, lookup.Dropout(0.1, 3))
		optimizers, _ := layer.NewOptimizers(lookup.AdamW{Rate: 0.01, WeightDecay: 0.01})
		all := layer.Parameters()
		for _, o := range optimizers {
			all = append(all, o.State()...)
		}
		return layer, optimizers, all
	}
	train := func(layer *lookup.Layer, optimizers []*lookup.Optimizer, from, to int) {
		in := lookup.Batch([]int{4, 1, 0, 1, 1, 2}, 3)
		out, _ := rowvec.NewMatrix(in.Len(), 4)
		grads := layer.NewSparseGradients()
		for step := from; step < to; step++ {
			try(layer.ForwardTrain(out, in, uint64(step)))
			dOut := out // the gradient of half the sum of its squares
			try(layer.BackwardSparseTrain(grads, in, dOut, uint64(step)))
			_, err := lookup.ClipNorm(1, grads...)
			try(err)
			for i, o := range optimizers {
				try(o.SetRate(0.01 * min(1, float64(step+1)/warmup)))
				try(o.Step(grads[i]))
				grads[i].Clear()
			}
		}
	}
	dir, err := os.MkdirTemp("", "rowvec")
	try(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "checkpoint.safetensors")

	layer, optimizers, all := start()
	train(layer, optimizers, 0, steps/2)
	try(lookup.Save(path, all, map[string]string{"step": strconv.Itoa(steps / 2)}))
	train(layer, optimizers, steps/2, steps)

	resumed, optimizers, again := start()
	metadata, err := lookup.Load(path, again)
	try(err)
	step, err := strconv.Atoi(metadata["step"])
	try(err)
	for _, o := range optimizers {
		try(o.SetSteps(step))
	}
	train(resumed, optimizers, step, steps)

	fmt.Println(step, slices.Equal(resumed.Tokens().Weight().Data, layer.Tokens().Weight().Data))
	// Output: 2 true
}
