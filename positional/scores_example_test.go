package positional_test

import (
	"fmt"
	"log"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/positional"
)

func newALiBi(heads int) *positional.ALiBi {
	a, err := positional.NewALiBi(heads)
	if err != nil {
		log.Fatal(err)
	}
	return a
}

// newRelativeBias returns a bias of two heads, whose bucket b adds b in the one and 10*b in the other.
func newRelativeBias(bidirectional bool) *positional.RelativeBias {
	m := zeros(8, 2)
	for b := range m.Rows {
		m.Row(b)[0], m.Row(b)[1] = float32(b), float32(10*b)
	}
	r, err := positional.RelativeBiasFrom(m, 20, bidirectional)
	if err != nil {
		log.Fatal(err)
	}
	return r
}

func ExampleNewALiBi() {
	fmt.Println(newALiBi(4).Slopes())
	fmt.Println(newALiBi(6).Slopes()) // those of 4 heads, and every second one of 8
	// Output:
	// [0.25 0.0625 0.015625 0.00390625]
	// [0.25 0.0625 0.015625 0.00390625 0.5 0.125]
}

// Two heads, three queries and three keys each.
func ExampleALiBi_AddTo() {
	a, scores := newALiBi(2), zeros(2*3, 3)
	if err := a.AddTo(scores, 3, 0, 0); err != nil {
		log.Fatal(err)
	}
	for i := range scores.Rows {
		fmt.Println(scores.Row(i))
	}
	// Output:
	// [0 -0.0625 -0.125]
	// [-0.0625 0 -0.0625]
	// [-0.125 -0.0625 0]
	// [0 -0.00390625 -0.0078125]
	// [-0.00390625 0 -0.00390625]
	// [-0.0078125 -0.00390625 0]
}

// The next token of a sequence of which a cache has three keys: one query at position 3, and four keys from 0 on.
func ExampleALiBi_AddTo_cache() {
	a, scores := newALiBi(2), zeros(2*1, 4)
	if err := a.AddTo(scores, 1, 3, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Println(scores.Row(0))
	fmt.Println(scores.Row(1))
	// Output:
	// [-0.1875 -0.125 -0.0625 0]
	// [-0.01171875 -0.0078125 -0.00390625 0]
}

func ExampleALiBi_Slopes() {
	fmt.Println(newALiBi(3).Slopes())
	// Output: [0.0625 0.00390625 0.25]
}

func ExampleALiBi_Kind() {
	fmt.Println(newALiBi(12).Kind())
	// Output: alibi
}

func ExampleALiBi_Heads() {
	fmt.Println(newALiBi(12).Heads())
	// Output: 12
}

func ExampleALiBi_String() {
	fmt.Println(newALiBi(12))
	// Output: ALiBi(heads=12)
}

// T5 has 32 buckets: in its encoder, 16 for each direction.
func ExampleRelativeBucket() {
	for _, relative := range []int{-200, -128, -20, -8, -1, 0, 1, 20, 200} {
		fmt.Println(relative, positional.RelativeBucket(relative, 32, 128, true),
			positional.RelativeBucket(relative, 32, 128, false))
	}
	// Output:
	// -200 15 31
	// -128 15 31
	// -20 10 17
	// -8 8 8
	// -1 1 1
	// 0 0 0
	// 1 17 0
	// 20 26 0
	// 200 31 0
}

func ExampleNewRelativeBias() {
	r, err := positional.NewRelativeBias(12, 32, 128, true, 42)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r)
	_, err = positional.NewRelativeBias(12, 31, 128, true, 42)
	fmt.Println(err)
	// Output:
	// RelativeBias(heads=12, buckets=32, max distance=128, bidirectional)
	// rowvec: positional.NewRelativeBias: buckets is 31, want a multiple of 2
}

// The weight of a model in PyTorch, relative_attention_bias.weight, is a table as it is.
func ExampleRelativeBiasFrom() {
	weight := rowvec.Matrix{Rows: 2, Cols: 3, Stride: 3, Data: []float32{1, 2, 3, 4, 5, 6}}
	r, err := positional.RelativeBiasFrom(weight, 4, false)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r)
	// Output: RelativeBias(heads=3, buckets=2, max distance=4, causal)
}

func ExampleRelativeBias_AddTo() {
	r, scores := newRelativeBias(true), zeros(2*3, 3)
	if err := r.AddTo(scores, 3, 0, 0); err != nil {
		log.Fatal(err)
	}
	for i := range scores.Rows {
		fmt.Println(scores.Row(i))
	}
	// Output:
	// [0 5 6]
	// [1 0 5]
	// [2 1 0]
	// [0 50 60]
	// [10 0 50]
	// [20 10 0]
}

// Of nine scores in each head, three have distance 0.
func ExampleRelativeBias_Backward() {
	r, dScores, grad := newRelativeBias(false), zeros(2*3, 3), zeros(8, 2)
	for i := range dScores.Data {
		dScores.Data[i] = 1
	}
	if err := r.Backward(grad, dScores, 3, 0, 0); err != nil {
		log.Fatal(err)
	}
	for b := range 4 {
		fmt.Println(grad.Row(b)) // where buckets are causal, those behind the query are in bucket 0 too
	}
	// Output:
	// [6 6]
	// [2 2]
	// [1 1]
	// [0 0]
}

// The table is the parameter itself: here, a step of plain gradient descent.
func ExampleRelativeBias_Table() {
	r := newRelativeBias(true)
	if err := rowvec.AddScaled(r.Table().Row(3), -0.5, []float32{2, 20}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Table().Row(3))
	// Output: [2 20]
}

func ExampleRelativeBias_Kind() {
	fmt.Println(newRelativeBias(true).Kind())
	// Output: t5
}

func ExampleRelativeBias_Heads() {
	fmt.Println(newRelativeBias(true).Heads())
	// Output: 2
}

func ExampleRelativeBias_Buckets() {
	fmt.Println(newRelativeBias(true).Buckets())
	// Output: 8
}

func ExampleRelativeBias_MaxDistance() {
	fmt.Println(newRelativeBias(true).MaxDistance())
	// Output: 20
}

func ExampleRelativeBias_Bidirectional() {
	fmt.Println(newRelativeBias(true).Bidirectional(), newRelativeBias(false).Bidirectional())
	// Output: true false
}

func ExampleRelativeBias_Trainable() {
	fmt.Println(newRelativeBias(true).Trainable())
	// Output: true
}

func ExampleRelativeBias_String() {
	fmt.Println(newRelativeBias(false))
	// Output: RelativeBias(heads=2, buckets=8, max distance=20, causal)
}
