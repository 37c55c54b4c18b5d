package kernels_test

import (
	"fmt"
	"math"

	"github.com/rowvec/rowvec/kernels"
)

// A table of four tokens in two dimensions.
func exampleTable() kernels.Matrix {
	return kernels.Matrix{Rows: 4, Cols: 2, Data: []float32{0, 1, 10, 11, 20, 21, 30, 31}, Stride: 2}
}

func ExampleMatrix_Row() {
	m := kernels.Matrix{Rows: 2, Cols: 2, Data: []float32{1, 2, -1, 3, 4}, Stride: 3} // -1 is between the rows
	fmt.Println(m.Row(0), m.Row(1))
	// Output: [1 2] [3 4]
}

func ExampleGather() {
	dst := kernels.Matrix{Rows: 3, Cols: 2, Data: make([]float32, 6), Stride: 2}
	done := kernels.Gather(dst, exampleTable(), []int{3, 0, 3})
	fmt.Println(done, dst.Data)
	// Output: 3 [30 31 0 1 30 31]
}

// An id out of range ends the work: the rows before it are done.
func ExampleGather_outside() {
	dst := kernels.Matrix{Rows: 3, Cols: 2, Data: make([]float32, 6), Stride: 2}
	done := kernels.Gather(dst, exampleTable(), []int{3, -1, 3})
	fmt.Println(done, dst.Data)
	// Output: 1 [30 31 0 0 0 0]
}

func ExampleGatherScaled() {
	dst := kernels.Matrix{Rows: 2, Cols: 2, Data: make([]float32, 4), Stride: 2}
	kernels.GatherScaled(dst, exampleTable(), []int32{1, 2}, 0.5)
	fmt.Println(dst.Data)
	// Output: [5 5.5 10 10.5]
}

// Two sequences of two tokens each share the first two positions.
func ExampleEmbed() {
	positions := kernels.Matrix{Rows: 3, Cols: 2, Data: []float32{100, 200, 300, 400, 500, 600}, Stride: 2}
	dst := kernels.Matrix{Rows: 4, Cols: 2, Data: make([]float32, 8), Stride: 2}
	kernels.Embed(dst, exampleTable(), []int{1, 2, 3, 0}, 2, positions, 0, 2)
	fmt.Println(dst.Data)
	// Output: [120 222 340 442 160 262 300 402]
}

// Two sequences have come to different positions.
func ExampleEmbedAt() {
	positions := kernels.Matrix{Rows: 3, Cols: 2, Data: []float32{100, 200, 300, 400, 500, 600}, Stride: 2}
	dst := kernels.Matrix{Rows: 2, Cols: 2, Data: make([]float32, 4), Stride: 2}
	kernels.EmbedAt(dst, exampleTable(), []int{1, 2}, 1, positions, []int{2, 0})
	fmt.Println(dst.Data)
	// Output: [510 611 120 221]
}

// The gradient of a gather: row 3 was taken twice, and so it gets both of its rows.
func ExampleScatterAdd() {
	grad := kernels.Matrix{Rows: 4, Cols: 2, Data: make([]float32, 8), Stride: 2}
	src := kernels.Matrix{Rows: 3, Cols: 2, Data: []float32{1, 2, 3, 4, 5, 6}, Stride: 2}
	kernels.ScatterAdd(grad, []int{3, 0, 3}, 1, src)
	fmt.Println(grad.Data)
	// Output: [3 4 0 0 0 0 6 8]
}

// Two bags, and an empty one between them.
func ExampleBagSum() {
	dst := kernels.Matrix{Rows: 3, Cols: 2, Data: make([]float32, 6), Stride: 2}
	done := kernels.BagSum(dst, exampleTable(), []int{1, 2, 3}, []int{0, 2, 2, 3}, []float32{1, 0.5, -1})
	fmt.Println(done, dst.Data)
	// Output: 3 [20 21.5 0 0 -30 -31]
}

func ExampleBagMean() {
	dst := kernels.Matrix{Rows: 2, Cols: 2, Data: make([]float32, 4), Stride: 2}
	kernels.BagMean(dst, exampleTable(), []int{1, 2, 3}, []int{0, 2, 3})
	fmt.Println(dst.Data)
	// Output: [15 16 30 31]
}

func ExampleBagMax() {
	dst := kernels.Matrix{Rows: 2, Cols: 2, Data: make([]float32, 4), Stride: 2}
	kernels.BagMax(dst, exampleTable(), []int{2, 1, 0}, []int{0, 2, 3})
	fmt.Println(dst.Data)
	// Output: [20 21 0 1]
}

// The gradient of a maximum goes to the row that has it, and of equal ones to the first.
func ExampleBagMaxBackward() {
	dst := kernels.Matrix{Rows: 3, Cols: 2, Data: make([]float32, 6), Stride: 2}
	maxima := kernels.Matrix{Rows: 1, Cols: 2, Data: []float32{20, 21}, Stride: 2}
	left := kernels.Matrix{Rows: 1, Cols: 2, Data: []float32{0.5, -3}, Stride: 2}
	kernels.BagMaxBackward(dst, exampleTable(), []int{1, 2, 2}, maxima, left, []int{0, 0, 0})
	fmt.Println(dst.Data, left.Data)
	// Output: [0 0 0.5 -3 0 0] [0 0]
}

// The gradient of each weight of a weighted sum.
func ExampleBagDots() {
	dst := make([]float32, 3)
	gradient := kernels.Matrix{Rows: 2, Cols: 2, Data: []float32{1, -1, 0.5, 0}, Stride: 2}
	kernels.BagDots(dst, gradient, exampleTable(), []int{2, 1, 2}, []int{0, 2, 3})
	fmt.Println(dst)
	// Output: [-1 -1 10]
}

// Two sequences of two tokens: the gradients of each position are added up.
func ExampleAddBatches() {
	grad := kernels.Matrix{Rows: 2, Cols: 1, Data: make([]float32, 2), Stride: 1}
	src := kernels.Matrix{Rows: 4, Cols: 1, Data: []float32{1, 2, 10, 20}, Stride: 1}
	kernels.AddBatches(grad, src, 2)
	fmt.Println(grad.Data)
	// Output: [11 22]
}

func ExampleAddScaled() {
	dst := []float32{1, 2, 3}
	kernels.AddScaled(dst, -0.5, []float32{2, 4, 6})
	fmt.Println(dst)
	// Output: [0 0 0]
}

func ExampleAdd() {
	dst := []float32{1, 2, 3}
	kernels.Add(dst, []float32{10, 20, 30})
	fmt.Println(dst)
	// Output: [11 22 33]
}

func ExampleScale() {
	dst := []float32{1, 2, 3}
	kernels.Scale(dst, 2)
	fmt.Println(dst)
	// Output: [2 4 6]
}

// The sine of 0, 60, 120, ... degrees, and the cosine of 0, 90, 180, ... degrees.
func ExampleSinusoids() {
	sine60 := math.Sqrt(3) / 2
	x, y := []float64{0, 1}, []float64{sine60, 0}
	dst := kernels.Matrix{Rows: 3, Cols: 2, Data: make([]float32, 6), Stride: 2}
	kernels.Sinusoids(dst, 0, x, y, []float64{1, 0}) // 2*cos(60 degrees), 2*cos(90 degrees)
	for i := range dst.Rows {
		fmt.Printf("%.3f\n", dst.Row(i))
	}
	// Output:
	// [0.000 1.000]
	// [0.866 0.000]
	// [0.866 -1.000]
}

// About half of the elements are dropped, and the others doubled. The last two columns alone are a window that begins at column 16.
func ExampleDropout() {
	dst := kernels.Matrix{Rows: 1, Cols: 18, Data: make([]float32, 18), Stride: 18}
	src := kernels.Matrix{Rows: 1, Cols: 18, Data: make([]float32, 18), Stride: 18}
	for i := range src.Data {
		src.Data[i] = float32(i + 1)
	}
	mask := kernels.Mask{P: 0.5, Seed: 1}
	kernels.Dropout(dst, src, mask)
	fmt.Println(dst.Data)
	mask.Col = 16
	last := kernels.Matrix{Rows: 1, Cols: 2, Data: src.Data[16:], Stride: 2}
	kernels.Dropout(last, last, mask)
	fmt.Println(last.Data)
	// Output:
	// [2 0 0 8 10 12 14 16 0 0 0 0 26 28 0 0 0 36]
	// [0 36]
}

func ExampleMask_Threshold() {
	fmt.Println(kernels.Mask{P: 0.5}.Threshold(), kernels.Mask{P: 0.1}.Threshold())
	// Output: 128 26
}

func ExampleMask_Scale() {
	fmt.Println(kernels.Mask{}.Scale(), kernels.Mask{P: 0.5}.Scale(), kernels.Mask{P: 0.1}.Scale())
	// Output: 1 2 1.1130434
}

func ExamplePhilox() {
	fmt.Printf("%x\n", kernels.Philox(0, 0, 0))
	// Output: [6627e8d5 e169c58d bc57ac4c 9b00dbd8]
}

// One row against rows 3 and 1 of the table.
func ExampleDots() {
	a := kernels.Matrix{Rows: 1, Cols: 2, Data: []float32{1, -1}, Stride: 2}
	dst := kernels.Matrix{Rows: 1, Cols: 2, Data: make([]float32, 2), Stride: 2}
	done := kernels.Dots(dst, a, exampleTable(), []int{3, 1})
	fmt.Println(done, dst.Data)
	// Output: 2 [-1 -1]
}

func ExampleDotsAll() {
	a := kernels.Matrix{Rows: 2, Cols: 2, Data: []float32{1, 0, 1, 1}, Stride: 2}
	dst := kernels.Matrix{Rows: 2, Cols: 4, Data: make([]float32, 8), Stride: 4}
	kernels.DotsAll(dst, a, exampleTable())
	fmt.Println(dst.Data)
	// Output: [0 10 20 30 1 21 41 61]
}

func ExampleLayerNorm() {
	x := kernels.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: []float32{1, 1, 3, 3, -5, 5, -5, 5}}
	kernels.LayerNorm(x, x, []float32{1, 1, 1, 10}, []float32{0, 0, 0, 0.5}, 0)
	fmt.Println(x.Data)
	// Output: [-1 -1 1 10.5 -1 1 -1 10.5]
}

func ExampleLayerNormBackward() {
	x := kernels.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{1, 1, 3, 3}}
	d := kernels.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{1, 0, 0, 0}}
	dGamma, dBeta := make([]float32, 4), make([]float32, 4)
	kernels.LayerNormBackward(d, d, x, []float32{2, 1, 1, 1}, 0, dGamma, dBeta)
	fmt.Println(d.Data, dGamma, dBeta)
	// Output: [1 -1 0 0] [-1 0 0 0] [1 0 0 0]
}

func ExampleFirstOutside() {
	fmt.Println(kernels.FirstOutside([]int{2, 0, 4, -1}, 4), kernels.FirstOutside([]uint32{2, 0}, 4))
	// Output: 2 -1
}

// Row 1 has two gradients, which are two steps.
func ExampleUpdateSGD() {
	weights := exampleTable()
	grad := kernels.Matrix{Rows: 3, Cols: 2, Data: []float32{1, 2, 3, 4, 5, 6}, Stride: 2}
	kernels.UpdateSGD(weights, []int{1, 0, 1}, grad, 0.5, 0)
	fmt.Println(weights.Data[:4])
	// Output: [-1.5 -1 7 7]
}

func ExampleUpdateAdagrad() {
	weights := exampleTable()
	sums := kernels.Matrix{Rows: 4, Cols: 2, Data: make([]float32, 8), Stride: 2}
	grad := kernels.Matrix{Rows: 1, Cols: 2, Data: []float32{3, -4}, Stride: 2}
	kernels.UpdateAdagrad(weights, sums, []int{1}, grad, 0.5, 0)
	fmt.Println(weights.Data[2:4], sums.Data[2:4])
	// Output: [9.5 11.5] [9 16]
}

// The mean of 2*2 and 14*14 is 100, of whose root both gradients are parts.
func ExampleUpdateRowAdagrad() {
	weights, sums := exampleTable(), make([]float32, 4)
	grad := kernels.Matrix{Rows: 1, Cols: 2, Data: []float32{2, 14}, Stride: 2}
	kernels.UpdateRowAdagrad(weights, sums, []int{1}, grad, 5, 0)
	fmt.Println(weights.Data[2:4], sums)
	// Output: [9 4] [0 100 0 0]
}

// The first step of Adam moves each weight by the learning rate, whatever the gradient.
func ExampleUpdateAdam() {
	weights := exampleTable()
	means := kernels.Matrix{Rows: 4, Cols: 2, Data: make([]float32, 8), Stride: 2}
	squares := kernels.Matrix{Rows: 4, Cols: 2, Data: make([]float32, 8), Stride: 2}
	grad := kernels.Matrix{Rows: 1, Cols: 2, Data: []float32{3, -0.25}, Stride: 2}
	lr, beta1, beta2 := 0.5, 0.75, 0.9375
	step := kernels.AdamStep{
		MeanWeight:   float32(1 - beta1),
		SquareWeight: float32(1 - beta2),
		Rate:         float32(lr * math.Sqrt(1-beta2) / (1 - beta1)), // in step 1
		Keep:         1,
	}
	kernels.UpdateAdam(weights, means, squares, []int{1}, grad, step)
	fmt.Println(weights.Data[2:4], means.Data[2:4])
	// Output: [9.5 11.5] [0.75 -0.0625]
}

// The second row is three times as long as the first, and in 16 bits they have the same length.
func ExampleQuantize() {
	x := kernels.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float32{3, -4, 15, 0}}
	n := kernels.QuantizedColumns(2)
	dst, factors := make([]int16, 2*n), make([]float32, 2)
	kernels.Quantize(dst, factors, x)
	fmt.Println(n, dst[:2], dst[n:n+2], factors)
	// Output: 32 [18000 -24000] [30000 0] [6000 2000]
}

func ExampleQuantizedColumns() {
	fmt.Println(kernels.QuantizedColumns(64), kernels.QuantizedColumns(65))
	// Output: 64 96
}

func ExampleQuantizedDots() {
	dst := make([]int32, 2)
	kernels.QuantizedDots(dst, []int16{3, -4}, []int16{2, 1, 30000, -30000}, 2)
	fmt.Println(dst)
	// Output: [2 210000]
}
