package rowvec_test

import (
	"fmt"

	"github.com/rowvec/rowvec"
)

// Two tokens of two heads each: the first is at position 0, where nothing turns, and the second at position 1, where the
// first pair of each head turns by a right angle and the second by two of them.
func ExampleRotate() {
	angles := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: []float32{
		1, 1, 0, 0, // two cosines, two sines
		0, -1, 1, 0,
	}}
	q := rowvec.Matrix{Rows: 2, Cols: 8, Stride: 8, Data: []float32{
		1, 2, 3, 4, 5, 6, 7, 8,
		1, 2, 3, 4, 5, 6, 7, 8,
	}}
	err := rowvec.Rotate(q, q, rowvec.Rotation{Heads: 2}, angles, 0, 2)
	fmt.Println(q.Row(0), q.Row(1), err)
	err = rowvec.Rotate(q, q, rowvec.Rotation{Heads: 2, Inverse: true}, angles, 0, 2)
	fmt.Println(q.Row(1), err)
	// Output:
	// [1 2 3 4 5 6 7 8] [-3 -2 1 -4 -7 -6 5 -8] <nil>
	// [1 2 3 4 5 6 7 8] <nil>
}

// One token with a position of its own. Its pairs are interleaved, and only the first half of its one head is rotated.
func ExampleRotateAt() {
	angles := rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{1, 0, 0, 1, -1, 0}}
	src := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{1, 2, 3, 4}}
	dst, _ := rowvec.NewMatrix(1, 4)
	err := rowvec.RotateAt(dst, src, rowvec.Rotation{Heads: 1, Interleaved: true}, angles, []int{1})
	fmt.Println(dst.Data, err)
	err = rowvec.RotateAt(dst, src, rowvec.Rotation{Heads: 1, Interleaved: true}, angles, []int{3})
	fmt.Println(dst.Data, err)
	// Output:
	// [-2 1 3 4] <nil>
	// [-2 1 3 4] rowvec: RotateAt: position id 3 at position 0 is outside [0, 3)
}
