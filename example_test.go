package rowvec_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/rowvec/rowvec"
)

// A table of four rows, which the examples below look up.
var table = rowvec.Matrix{Rows: 4, Cols: 2, Stride: 2, Data: []float32{
	0, 1,
	10, 11,
	20, 21,
	30, 31,
}}

func ExampleISA() {
	switch rowvec.ISA() {
	case "avx512", "avx2", "neon", "portable":
		fmt.Println("one of four")
	}
	// Output: one of four
}

func ExampleNewMatrix() {
	m, err := rowvec.NewMatrix(2, 3)
	fmt.Println(m.Rows, m.Cols, m.Stride, m.Data, err)
	_, err = rowvec.NewMatrix(-1, 3)
	fmt.Println(err)
	// Output:
	// 2 3 3 [0 0 0 0 0 0] <nil>
	// rowvec: NewMatrix: rows is -1, want at least 0
}

func ExampleCheckMatrix() {
	m := rowvec.Matrix{Rows: 3, Cols: 4, Stride: 4, Data: make([]float32, 10)}
	fmt.Println(rowvec.CheckMatrix("Pool", "src", m))
	// Output: rowvec: Pool: len(src.Data) is 10, want at least 12
}

func ExampleCheckIDs() {
	fmt.Println(rowvec.CheckIDs([]int64{3, 0, 50257}, 50257))
	// Output: rowvec: CheckIDs: id 50257 at position 2 is outside [0, 50257)
}

func ExampleOverlap() {
	buffer := make([]float32, 12)
	left := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 4, Data: buffer}
	right := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 4, Data: buffer[2:]}
	middle := rowvec.Matrix{Rows: 2, Cols: 2, Stride: 4, Data: buffer[1:]}
	fmt.Println(rowvec.Overlap(left, right), rowvec.Overlap(left, middle))
	// Output: false true
}

func ExampleGather() {
	dst, _ := rowvec.NewMatrix(3, 2)
	err := rowvec.Gather(dst, table, []int32{2, 0, 2})
	fmt.Println(dst.Data, err)
	// Output: [20 21 0 1 20 21] <nil>
}

func ExampleGatherScaled() {
	dst, _ := rowvec.NewMatrix(2, 2)
	err := rowvec.GatherScaled(dst, table, []int32{3, 1}, 0.5)
	fmt.Println(dst.Data, err)
	// Output: [15 15.5 5 5.5] <nil>
}

func ExampleAddScaled() {
	dst := []float32{1, 2, 3}
	err := rowvec.AddScaled(dst, 10, []float32{1, 1, 2})
	fmt.Println(dst, err)
	// Output: [11 12 23] <nil>
}

func ExampleAdd() {
	dst := []float32{1, 2, 3}
	err := rowvec.Add(dst, []float32{4, 4, 4})
	fmt.Println(dst, err)
	// Output: [5 6 7] <nil>
}

func ExampleScale() {
	dst := []float32{1, 2, 3}
	rowvec.Scale(dst, -2)
	fmt.Println(dst)
	// Output: [-2 -4 -6]
}

// The sine of 0, 90, 180, ... degrees, and the cosine of twice as much; a second call goes on where the first one ended.
func ExampleSinusoids() {
	x, y, c := []float64{0, 1}, []float64{1, -1}, []float64{0, -2} // c is twice the cosine of 90 degrees, and of 180
	for range 2 {
		dst, err := rowvec.NewMatrix(2, 2)
		if err == nil {
			err = rowvec.Sinusoids(dst, 0, x, y, c)
		}
		fmt.Println(dst.Data, err)
	}
	// Output:
	// [0 1 1 -1] <nil>
	// [0 1 -1 -1] <nil>
}

// Token 1 occurs twice: both gradients arrive at its row.
func ExampleScatterAdd() {
	grad, _ := rowvec.NewMatrix(3, 2)
	dOut := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4, 5, 6}}
	err := rowvec.ScatterAdd(grad, []uint32{1, 0, 1}, 1, dOut)
	fmt.Println(grad.Data, err)
	// Output: [3 4 6 8 0 0] <nil>
}

// Two bags, and an empty one between them.
func ExampleBagSum() {
	dst, _ := rowvec.NewMatrix(3, 2)
	err := rowvec.BagSum(dst, table, []int{1, 2, 3}, []int{0, 2, 2, 3}, nil)
	fmt.Println(dst.Data, err)
	err = rowvec.BagSum(dst, table, []int{1, 2, 3}, []int{0, 2, 2, 3}, []float32{1, 0.5, -1})
	fmt.Println(dst.Data, err)
	// Output:
	// [30 32 0 0 30 31] <nil>
	// [20 21.5 0 0 -30 -31] <nil>
}

// The gradient of a lookup of the tokens 7, 5, 7: token 5 occurs at position 1, and token 7 at positions 0 and 2.
func ExampleBagSum_gradient() {
	dOut := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{1, 2, 30, 40, 5, 6}}
	grad, _ := rowvec.NewMatrix(2, 2) // of tokens 5 and 7
	err := rowvec.BagSum(grad, dOut, []int{1, 0, 2}, []int{0, 1, 3}, nil)
	fmt.Println(grad.Data, err)
	// Output: [30 40 6 8] <nil>
}

func ExampleBagMean() {
	dst, _ := rowvec.NewMatrix(2, 2)
	err := rowvec.BagMean(dst, table, []int32{1, 2, 3}, []int{0, 2, 3})
	fmt.Println(dst.Data, err)
	// Output: [15 16 30 31] <nil>
}

func ExampleBagMax() {
	dst, _ := rowvec.NewMatrix(2, 2)
	err := rowvec.BagMax(dst, table, []uint64{2, 1, 0}, []int{0, 2, 3})
	fmt.Println(dst.Data, err)
	// Output: [20 21 0 1] <nil>
}

// Two sequences of two tokens each.
func ExampleEmbed() {
	positions := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{0.1, 0.2, 0.3, 0.4, 0.5, 0.6}}
	dst, _ := rowvec.NewMatrix(4, 2)
	err := rowvec.Embed(dst, table, []int{1, 2, 3, 3}, 2, positions, 0, 2)
	for i := range dst.Rows {
		fmt.Println(dst.Row(i))
	}
	fmt.Println(err)
	// Output:
	// [20.1 22.2]
	// [40.3 42.4]
	// [60.1 62.2]
	// [60.3 62.4]
	// <nil>
}

// A decoder has three sequences at different positions.
func ExampleEmbedAt() {
	positions := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{0.1, 0.2, 0.3, 0.4, 0.5, 0.6}}
	dst, _ := rowvec.NewMatrix(3, 2)
	err := rowvec.EmbedAt(dst, table, []int64{1, 1, 2}, 1, positions, []int32{2, 0, 1})
	fmt.Println(dst.Data, err)
	// Output: [10.5 11.6 10.1 11.2 20.3 21.4] <nil>
}

func ExampleEmbedBackward() {
	tokens, _ := rowvec.NewMatrix(4, 1)
	positions, _ := rowvec.NewMatrix(2, 1)
	dOut := rowvec.Matrix{Rows: 4, Cols: 1, Stride: 1, Data: []float32{1, 2, 3, 4}}
	err := rowvec.EmbedBackward(tokens, positions, []int{1, 2, 3, 3}, 10, dOut, 0, 2)
	fmt.Println(tokens.Data, positions.Data, err)
	// Output: [0 10 20 70] [4 6] <nil>
}

func ExampleEmbedAtBackward() {
	tokens, _ := rowvec.NewMatrix(4, 1)
	positions, _ := rowvec.NewMatrix(3, 1)
	dOut := rowvec.Matrix{Rows: 3, Cols: 1, Stride: 1, Data: []float32{1, 2, 3}}
	err := rowvec.EmbedAtBackward(tokens, positions, []int{0, 3, 3}, 10, dOut, []int{2, 0, 2})
	fmt.Println(tokens.Data, positions.Data, err)
	// Output: [10 0 0 50] [2 0 4] <nil>
}

// The gradient needs no mask that was kept, but the same arguments.
func ExampleDropout() {
	mask := rowvec.Mask{P: 0.25, Seed: 10, Step: 7}
	out := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: []float32{3, 3, 3, 3, 3, 3, 3, 3}}
	err := rowvec.Dropout(out, out, mask) // in place
	fmt.Println(out.Data, err)

	dOut := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: []float32{6, 6, 6, 6, 6, 6, 6, 6}}
	grad, _ := rowvec.NewMatrix(2, 4)
	err = rowvec.Dropout(grad, dOut, mask)
	fmt.Println(grad.Data, err)
	// Output:
	// [4 4 0 4 4 0 4 4] <nil>
	// [8 8 0 8 8 0 8 8] <nil>
}

// The second row by itself.
func ExampleMask() {
	second := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{3, 3, 3, 3}}
	err := rowvec.Dropout(second, second, rowvec.Mask{P: 0.25, Seed: 10, Step: 7, Row: 1})
	fmt.Println(second.Data, err)
	// Output: [4 0 4 4] <nil>
}

// The gradient of two positions that a batch of two sequences shares.
func ExampleAddBatches() {
	grad, _ := rowvec.NewMatrix(2, 1)
	dOut := rowvec.Matrix{Rows: 4, Cols: 1, Stride: 1, Data: []float32{1, 2, 30, 40}}
	err := rowvec.AddBatches(grad, dOut)
	fmt.Println(grad.Data, err)
	// Output: [31 42] <nil>
}

// The scores of two rows against rows 3 and 0 of the table, as of a language model against a sample of its vocabulary.
func ExampleDots() {
	a := rowvec.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 0, 1, 1}}
	scores, _ := rowvec.NewMatrix(2, 2)
	err := rowvec.Dots(scores, a, table, []int{3, 0})
	fmt.Println(scores.Data, err)
	// Output: [30 0 61 1] <nil>
}

func ExampleDotsAll() {
	a := rowvec.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float32{1, 1}}
	scores, _ := rowvec.NewMatrix(1, 4)
	err := rowvec.DotsAll(scores, a, table)
	fmt.Println(scores.Data, err)
	// Output: [1 21 41 61] <nil>
}

// Rows of mean 0 and variance 1, scaled and shifted.
func ExampleLayerNorm() {
	x := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: []float32{1, 1, 3, 3, -5, 5, -5, 5}}
	gamma, beta := []float32{1, 1, 1, 10}, []float32{0, 0, 0, 0.5}
	err := rowvec.LayerNorm(x, x, gamma, beta, 0)
	fmt.Println(x.Data, err)
	// Output: [-1 -1 1 10.5 -1 1 -1 10.5] <nil>
}

func ExampleLayerNormBackward() {
	x := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{1, 1, 3, 3}}
	dOut := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{1, 0, 0, 0}}
	gamma := []float32{2, 1, 1, 1}
	dGamma, dBeta := make([]float32, 4), make([]float32, 4)
	dSrc, _ := rowvec.NewMatrix(1, 4)
	err := rowvec.LayerNormBackward(dSrc, dOut, x, gamma, 0, dGamma, dBeta)
	fmt.Println(dSrc.Data, dGamma, dBeta, err)
	// Output: [1 -1 0 0] [-1 0 0 0] [1 0 0 0] <nil>
}

func ExampleIndexError_Error() {
	dst, _ := rowvec.NewMatrix(2, 2)
	err := rowvec.Gather(dst, table, []int{1, -1})
	var bad *rowvec.IndexError
	if errors.As(err, &bad) {
		fmt.Println(bad.Position, bad.Index, bad.Rows)
	}
	fmt.Println(err)
	// Output:
	// 1 -1 4
	// rowvec: Gather: id -1 at position 1 is outside [0, 4)
}

func ExampleShapeError_Error() {
	dst, _ := rowvec.NewMatrix(2, 3)
	err := rowvec.Gather(dst, table, []int{1, 0})
	var bad *rowvec.ShapeError
	if errors.As(err, &bad) {
		fmt.Println(bad.What, bad.Got, bad.Want)
	}
	fmt.Println(err)
	// Output:
	// dst.Cols 3 2
	// rowvec: Gather: dst.Cols is 3, want 2
}

func ExampleOverlapError_Error() {
	x := []float32{1, 2, 3, 4}
	fmt.Println(rowvec.Add(x[1:], x[:3]))
	// Output: rowvec: Add: dst overlaps src
}

func ExampleAdviseHugePages() {
	weights := make([]float32, 50257*64)
	rowvec.AdviseHugePages(weights) // before they are filled
	for i := range weights {
		weights[i] = 0.02
	}
	fmt.Println(weights[0])
	// Output: 0.02
}

func ExampleValueError_Error() {
	dst, _ := rowvec.NewMatrix(2, 2)
	err := rowvec.Dropout(dst, dst, rowvec.Mask{P: math.NaN()})
	var bad *rowvec.ValueError
	if errors.As(err, &bad) {
		fmt.Println(bad.What, bad.Got)
	}
	fmt.Println(err)
	// Output:
	// mask.P NaN
	// rowvec: Dropout: mask.P is NaN, want one in [0, 1)
}
