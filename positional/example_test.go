package positional_test

import (
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/positional"
)

// zeros returns a matrix of zeros.
func zeros(rows, cols int) rowvec.Matrix {
	m, err := rowvec.NewMatrix(rows, cols)
	if err != nil {
		log.Fatal(err)
	}
	return m
}

// show prints the rows of m to three decimals.
func show(m rowvec.Matrix) {
	for i := range m.Rows {
		fmt.Printf("%.3f\n", m.Row(i))
	}
}

func ExampleNew() {
	for _, kind := range []string{"learned", "sinusoidal", "grid", "none", "rotary"} {
		e, err := positional.New(kind, 196, 64, 1)
		switch {
		case err != nil:
			fmt.Println(err)
		case e == nil:
			fmt.Println("no positions")
		default:
			fmt.Println(e)
		}
	}
	// Output:
	// Learned(max=196, dim=64)
	// Sinusoidal(dim=64)
	// Grid(height=14, width=14, dim=64)
	// no positions
	// rowvec: positional.New: kind "rotary" is not added to embeddings: NewRotary makes it
}

func ExampleKinds() {
	fmt.Println(positional.Kinds())
	// Output: [learned sinusoidal grid none]
}

func ExampleKindError() {
	_, err := positional.New("rotary", 512, 64, 1)
	var kind *positional.KindError
	if errors.As(err, &kind) {
		fmt.Println(kind.Kind, "is none of", positional.Kinds())
	}
	// Output: rotary is none of [learned sinusoidal grid none]
}

func ExampleKindError_Error() {
	fmt.Println((&positional.KindError{Kind: "alibi"}).Error())
	// Output: rowvec: positional.New: kind "alibi" is not added to embeddings: NewALiBi makes it
}

func ExampleNewSinusoidal() {
	s, err := positional.NewSinusoidal(3, 4)
	if err != nil {
		log.Fatal(err)
	}
	show(s.Table())
	// Output:
	// [0.000 1.000 0.000 1.000]
	// [0.841 0.540 0.010 1.000]
	// [0.909 -0.416 0.020 1.000]
}

// Positions go on beyond the table.
func ExampleSinusoidal_Fill() {
	s, err := positional.NewSinusoidal(512, 4)
	if err != nil {
		log.Fatal(err)
	}
	far := zeros(2, 4)
	if err := s.Fill(far, 1_000_000); err != nil {
		log.Fatal(err)
	}
	show(far)
	// Output:
	// [-0.350 0.937 -0.306 -0.952]
	// [0.599 0.801 -0.315 -0.949]
}

// Two sequences of two tokens each get positions 0 and 1.
func ExampleSinusoidal_AddTo() {
	s, err := positional.NewSinusoidal(512, 4)
	if err != nil {
		log.Fatal(err)
	}
	x := zeros(2*2, 4)
	copy(x.Row(2), []float32{10, 10, 10, 10})
	if err := s.AddTo(x, 2, 0); err != nil {
		log.Fatal(err)
	}
	show(x)
	// Output:
	// [0.000 1.000 0.000 1.000]
	// [0.841 0.540 0.010 1.000]
	// [10.000 11.000 10.000 11.000]
	// [0.841 0.540 0.010 1.000]
}

// The table can be handed to the kernels: tokens, scaled, and positions in one pass.
func ExampleSinusoidal_Table() {
	s, err := positional.NewSinusoidal(512, 2)
	if err != nil {
		log.Fatal(err)
	}
	tokens, out := zeros(3, 2), zeros(2, 2)
	copy(tokens.Data, []float32{1, 1, 2, 2, 3, 3})
	if err := rowvec.Embed(out, tokens, []int{2, 0}, 10, s.Table(), 0, 2); err != nil {
		log.Fatal(err)
	}
	show(out)
	// Output:
	// [30.000 31.000]
	// [10.841 10.540]
}

// Sines in front of cosines, and another base.
func ExampleSinusoidalOption() {
	s, err := positional.NewSinusoidal(2, 4, positional.HalfSplit(), positional.Base(100))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s)
	show(s.Table())
	// Output:
	// Sinusoidal(dim=4, base=100, layout=half-split)
	// [0.000 0.000 1.000 1.000]
	// [0.841 0.100 0.540 0.995]
}

func ExampleBase() {
	s, err := positional.NewSinusoidal(2, 4, positional.Base(100))
	if err != nil {
		log.Fatal(err)
	}
	show(s.Table())
	// Output:
	// [0.000 1.000 0.000 1.000]
	// [0.841 0.540 0.100 0.995]
}

func ExampleHalfSplit() {
	s, err := positional.NewSinusoidal(2, 4, positional.HalfSplit())
	if err != nil {
		log.Fatal(err)
	}
	show(s.Table())
	// Output:
	// [0.000 0.000 1.000 1.000]
	// [0.841 0.010 0.540 1.000]
}

// Frequencies go down to 1/10000 itself, and an odd dim ends in a column of zeros.
func ExampleTensor2Tensor() {
	s, err := positional.NewSinusoidal(2, 5, positional.Tensor2Tensor())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", s.Table().Row(1))
	// Output: [0.8415 0.0001 0.5403 1.0000 0.0000]
}

// Three sequences of a batch have come to different positions.
func ExampleSinusoidal_FillAt() {
	s, err := positional.NewSinusoidal(512, 4)
	if err != nil {
		log.Fatal(err)
	}
	next := zeros(3, 4)
	if err := s.FillAt(next, []int{2, 0, 1_000_000}); err != nil {
		log.Fatal(err)
	}
	show(next)
	// Output:
	// [0.909 -0.416 0.020 1.000]
	// [0.000 1.000 0.000 1.000]
	// [-0.350 0.937 -0.306 -0.952]
}

// Padding, which is token 1, stays at position 1, and other tokens begin at position 2.
func ExampleSinusoidal_AddAt() {
	s, err := positional.NewSinusoidal(512, 2)
	if err != nil {
		log.Fatal(err)
	}
	ids := []int32{1, 7, 8}
	at := make([]int, len(ids))
	if err := positional.CountPositions(at, ids, 3, 1, 0); err != nil {
		log.Fatal(err)
	}
	x := zeros(3, 2)
	copy(x.Row(2), []float32{10, 10})
	if err := s.AddAt(x, at); err != nil {
		log.Fatal(err)
	}
	show(x)
	// Output:
	// [0.841 0.540]
	// [0.909 -0.416]
	// [10.141 9.010]
}

// Two sequences of four tokens, padded with token 1 behind and in front.
func ExampleCountPositions() {
	ids := []int32{
		7, 8, 9, 1,
		1, 1, 7, 8,
	}
	at := make([]int, len(ids))
	err := positional.CountPositions(at, ids, 4, 1, 0)
	fmt.Println(at, err)
	// Output: [2 3 4 1 1 1 2 3] <nil>
}

func ExampleSinusoidal_Kind() {
	s, _ := positional.NewSinusoidal(0, 8)
	fmt.Println(s.Kind())
	// Output: sinusoidal
}

func ExampleSinusoidal_Dim() {
	s, _ := positional.NewSinusoidal(0, 8)
	fmt.Println(s.Dim())
	// Output: 8
}

func ExampleSinusoidal_Limit() {
	s, _ := positional.NewSinusoidal(512, 8)
	fmt.Println(s.Limit() == math.MaxInt)
	// Output: true
}

func ExampleSinusoidal_String() {
	s, _ := positional.NewSinusoidal(5000, 512)
	fmt.Println(s)
	// Output: Sinusoidal(dim=512)
}

func ExampleNewLearned() {
	l, err := positional.NewLearned(3, 4, 42)
	if err != nil {
		log.Fatal(err)
	}
	show(l.Table()) // uniform between -sqrt(2/4) and sqrt(2/4)
	// Output:
	// [-0.693 -0.529 -0.379 0.299]
	// [-0.525 0.695 -0.558 -0.388]
	// [-0.406 -0.533 -0.085 -0.227]
}

func ExampleLearnedFrom() {
	l, err := positional.LearnedFrom(rowvec.Matrix{Rows: 2, Cols: 3, Stride: 3, Data: []float32{1, 2, 3, 4, 5, 6}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l)
	show(l.Table())
	// Output:
	// Learned(max=2, dim=3)
	// [1.000 2.000 3.000]
	// [4.000 5.000 6.000]
}

// A sequence must not be longer than the table.
func ExampleLearned_AddTo() {
	l, err := positional.LearnedFrom(rowvec.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4}})
	if err != nil {
		log.Fatal(err)
	}
	x := zeros(4, 2)
	copy(x.Row(2), []float32{10, 10})
	if err := l.AddTo(x, 2, 0); err != nil {
		log.Fatal(err)
	}
	show(x)
	fmt.Println(l.AddTo(x, 4, 0))
	// Output:
	// [1.000 2.000]
	// [3.000 4.000]
	// [11.000 12.000]
	// [3.000 4.000]
	// rowvec: positional.Learned.AddTo: seq is 4, want at most 2
}

// Two sequences of two tokens have used rows 1 and 2 of three.
func ExampleLearned_Backward() {
	l, err := positional.NewLearned(3, 2, 1)
	if err != nil {
		log.Fatal(err)
	}
	dOut := zeros(4, 2)
	copy(dOut.Data, []float32{1, 1, 2, 2, 10, 10, 20, 20})
	grad := zeros(3, 2)
	if err := l.Backward(grad, dOut, 2, 1); err != nil {
		log.Fatal(err)
	}
	show(grad)
	// Output:
	// [0.000 0.000]
	// [11.000 11.000]
	// [22.000 22.000]
}

func ExampleLearned_Fill() {
	l, err := positional.LearnedFrom(rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4, 5, 6}})
	if err != nil {
		log.Fatal(err)
	}
	dst := zeros(2, 2)
	if err := l.Fill(dst, 1); err != nil {
		log.Fatal(err)
	}
	show(dst)
	// Output:
	// [3.000 4.000]
	// [5.000 6.000]
}

// The table is the parameter itself: here, a step of plain gradient descent.
func ExampleLearned_Table() {
	l, err := positional.LearnedFrom(rowvec.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: []float32{1, 2}})
	if err != nil {
		log.Fatal(err)
	}
	grad := []float32{10, -10}
	if err := rowvec.AddScaled(l.Table().Row(0), -0.1, grad); err != nil {
		log.Fatal(err)
	}
	show(l.Table())
	// Output: [0.000 3.000]
}

func ExampleLearned_Kind() {
	l, _ := positional.NewLearned(512, 768, 1)
	fmt.Println(l.Kind())
	// Output: learned
}

func ExampleLearned_Dim() {
	l, _ := positional.NewLearned(512, 768, 1)
	fmt.Println(l.Dim())
	// Output: 768
}

func ExampleLearned_Limit() {
	l, _ := positional.NewLearned(512, 768, 1)
	fmt.Println(l.Limit())
	// Output: 512
}

func ExampleLearned_String() {
	l, _ := positional.NewLearned(512, 768, 1)
	fmt.Println(l)
	// Output: Learned(max=512, dim=768)
}

func ExampleLearned_Trainable() {
	l, _ := positional.NewLearned(8, 4, 1)
	fmt.Println(l.Trainable())
	// Output: true
}

func ExampleSinusoidal_Trainable() {
	s, _ := positional.NewSinusoidal(8, 4)
	fmt.Println(s.Trainable())
	// Output: false
}
