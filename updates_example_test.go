package rowvec_test

import (
	"fmt"
	"math"

	"github.com/rowvec/rowvec"
)

// weights returns a table of three rows for the examples below to update.
func weights() rowvec.Matrix {
	return rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{0, 1, 10, 11, 20, 21}}
}

// Row 2 has two gradients, which are two steps. Row 1 has none and stays as it is.
func ExampleUpdateSGD() {
	table := weights()
	grad := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4, 5, 6}}
	err := rowvec.UpdateSGD(table, []int32{2, 0, 2}, grad, 0.5, 0)
	fmt.Println(table.Data, err)
	// Output: [-1.5 -1 10 11 17 17] <nil>
}

func ExampleUpdateAdagrad() {
	table := weights()
	sums, _ := rowvec.NewMatrix(3, 2)
	grad := rowvec.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float32{3, -4}}
	err := rowvec.UpdateAdagrad(table, sums, []int32{1}, grad, 0.5, 0)
	fmt.Println(table.Row(1), sums.Row(1), err)
	// Output: [9.5 11.5] [9 16] <nil>
}

// A row has one sum, of the means of the squares of its gradients.
func ExampleUpdateRowAdagrad() {
	table, sums := weights(), make([]float32, 3)
	grad := rowvec.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float32{2, 14}}
	err := rowvec.UpdateRowAdagrad(table, sums, []int32{1}, grad, 5, 0)
	fmt.Println(table.Row(1), sums, err)
	// Output: [9 4] [0 100 0] <nil>
}

// Three steps with the same gradient move each weight three times by the learning rate, whatever the gradient is.
func ExampleUpdateAdam() {
	table := weights()
	means, _ := rowvec.NewMatrix(3, 2)
	squares, _ := rowvec.NewMatrix(3, 2)
	grad := rowvec.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float32{3, -0.25}}
	const lr, beta1, beta2 = 0.5, 0.9, 0.999
	for t := 1; t <= 3; t++ {
		err := rowvec.UpdateAdam(table, means, squares, []int32{1}, grad, rowvec.AdamStep{
			MeanWeight:   1 - beta1,
			SquareWeight: 1 - beta2,
			Rate:         float32(lr * math.Sqrt(1-math.Pow(beta2, float64(t))) / (1 - math.Pow(beta1, float64(t)))),
			Epsilon:      1e-12,
			Keep:         1, // no decay
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Printf("%.4f\n", table.Row(1))
	// Output: [8.5000 12.5000]
}
