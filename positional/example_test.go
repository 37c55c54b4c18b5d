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

// One option for all that turns.
func ExampleBase() {
	const base positional.Base = 500000
	s, err := positional.NewSinusoidal(0, 64, base)
	if err != nil {
		log.Fatal(err)
	}
	g, err := positional.NewGrid(14, 14, 64, base)
	if err != nil {
		log.Fatal(err)
	}
	r, err := positional.NewRotary(64, base)
	fmt.Println(s, g, r, err)
	// Output: Sinusoidal(dim=64, base=500000) Grid(height=14, width=14, dim=64, base=500000) Rotary(dim=64, base=500000) <nil>
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

// A prompt of two tokens, padded in front to the length of one of four, then what the next token of each adds to the cache.
func ExampleCountUnmasked() {
	mask := []int64{
		1, 1, 1, 1,
		0, 0, 1, 1,
	}
	at := make([]int, len(mask))
	err := positional.CountUnmasked(at, mask, 4, 4)
	fmt.Println(at, err)
	mask = []int64{
		1, 1, 1, 1, 1,
		0, 0, 1, 1, 1,
	}
	err = positional.CountUnmasked(at[:2], mask, 5, 1)
	fmt.Println(at[:2], err)
	// Output:
	// [0 1 2 3 1 1 0 1] <nil>
	// [4 2] <nil>
}

// Three sequences in one batch: a new one of three tokens, and one token each of two whose caches hold 7 and 40.
func ExampleCountRagged() {
	offsets, past := []int{0, 3, 4, 5}, []int{0, 7, 40}
	at := make([]int, 5)
	err := positional.CountRagged(at, offsets, past)
	fmt.Println(at, err) // for Rotary.ApplyAt, Sinusoidal.AddAt and lookup.Input.At
	// Output: [0 1 2 7 40] <nil>
}

// Three tokens of a text, an image of two rows and three columns, and two tokens more.
func ExampleCountGrids() {
	at := [][]int{make([]int, 11), make([]int, 11), make([]int, 11)} // time, height and width
	next, err := positional.CountGrids(at, 0, []int{3}, []int{1, 2, 3}, []int{2})
	for _, axis := range at {
		fmt.Println(axis)
	}
	fmt.Println(next, err) // what a decoder adds is from next on, on all axes
	// Output:
	// [0 1 2 3 3 3 3 3 3 6 7]
	// [0 1 2 3 3 3 4 4 4 6 7]
	// [0 1 2 3 4 5 3 4 5 6 7]
	// 8 <nil>
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

// A grid of 2 x 3 patches: the first half of a vector follows from the column, the second from the row.
func ExampleNewGrid() {
	g, err := positional.NewGrid(2, 3, 4)
	if err != nil {
		log.Fatal(err)
	}
	show(g.Table())
	// Output:
	// [0.000 1.000 0.000 1.000]
	// [0.841 0.540 0.000 1.000]
	// [0.909 -0.416 0.000 1.000]
	// [0.000 1.000 0.841 0.540]
	// [0.841 0.540 0.841 0.540]
	// [0.909 -0.416 0.841 0.540]
}

func ExampleClassTokens() {
	g, err := positional.NewGrid(14, 14, 768, positional.ClassTokens(1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g, g.Limit())
	// Output: Grid(height=14, width=14, dim=768, class tokens=1) 197
}

func ExampleRowsFirst() {
	g, err := positional.NewGrid(2, 2, 4, positional.RowsFirst())
	if err != nil {
		log.Fatal(err)
	}
	show(g.Table())
	// Output:
	// [0.000 1.000 0.000 1.000]
	// [0.000 1.000 0.841 0.540]
	// [0.841 0.540 0.000 1.000]
	// [0.841 0.540 0.841 0.540]
}

// The frequencies are 1 and 1/10.
func ExampleGridOption() {
	g, err := positional.NewGrid(1, 2, 8, positional.ClassTokens(1), positional.Base(100))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g)
	show(g.Table())
	// Output:
	// Grid(height=1, width=2, dim=8, class tokens=1, base=100)
	// [0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000]
	// [0.000 0.000 1.000 1.000 0.000 0.000 1.000 1.000]
	// [0.841 0.100 0.540 0.995 0.000 0.000 1.000 1.000]
}

func ExampleLastFrequency() {
	g, err := positional.NewGrid(1, 2, 8, positional.Base(100), positional.LastFrequency())
	if err != nil {
		log.Fatal(err)
	}
	show(g.Table()) // the frequencies are 1 and 1/100
	// Output:
	// [0.000 0.000 1.000 1.000 0.000 0.000 1.000 1.000]
	// [0.841 0.010 0.540 1.000 0.000 0.000 1.000 1.000]
}

func ExampleGrid_Fill() {
	g, err := positional.NewGrid(2, 3, 4)
	if err != nil {
		log.Fatal(err)
	}
	second := zeros(3, 4)
	if err := g.Fill(second, 3); err != nil {
		log.Fatal(err)
	}
	show(second)
	// Output:
	// [0.000 1.000 0.841 0.540]
	// [0.841 0.540 0.841 0.540]
	// [0.909 -0.416 0.841 0.540]
}

// Two images of one row of two patches, each behind its class token.
func ExampleGrid_AddTo() {
	g, err := positional.NewGrid(1, 2, 4, positional.ClassTokens(1))
	if err != nil {
		log.Fatal(err)
	}
	x := zeros(2*3, 4)
	copy(x.Row(3), []float32{10, 10, 10, 10})
	if err := g.AddTo(x, 3, 0); err != nil {
		log.Fatal(err)
	}
	show(x)
	// Output:
	// [0.000 0.000 0.000 0.000]
	// [0.000 1.000 0.000 1.000]
	// [0.841 0.540 0.000 1.000]
	// [10.000 10.000 10.000 10.000]
	// [0.000 1.000 0.000 1.000]
	// [0.841 0.540 0.000 1.000]
}

func ExampleGrid_Table() {
	g, _ := positional.NewGrid(14, 14, 768)
	fmt.Println(g.Table().Rows, g.Table().Cols)
	// Output: 196 768
}

func ExampleGrid_Kind() {
	g, _ := positional.NewGrid(14, 14, 768)
	fmt.Println(g.Kind())
	// Output: grid
}

func ExampleGrid_Dim() {
	g, _ := positional.NewGrid(14, 14, 768)
	fmt.Println(g.Dim())
	// Output: 768
}

func ExampleGrid_Limit() {
	g, _ := positional.NewGrid(14, 14, 768, positional.ClassTokens(1))
	fmt.Println(g.Limit())
	// Output: 197
}

func ExampleGrid_Trainable() {
	g, _ := positional.NewGrid(14, 14, 768)
	fmt.Println(g.Trainable())
	// Output: false
}

func ExampleGrid_String() {
	g, _ := positional.NewGrid(14, 16, 768)
	fmt.Println(g)
	// Output: Grid(height=14, width=16, dim=768)
}

func ExampleLearned_Resized() {
	l, err := positional.LearnedFrom(rowvec.Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{0, 10, 1, 20, 2, 40}})
	if err != nil {
		log.Fatal(err)
	}
	longer, err := l.Resized(5)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(longer)
	show(longer.Table())
	// Output:
	// Learned(max=5, dim=2)
	// [0.000 10.000]
	// [0.500 15.000]
	// [1.000 20.000]
	// [1.500 30.000]
	// [2.000 40.000]
}

// A vision transformer trained on 14 x 14 patches behind a class token goes on with larger images.
func ExampleLearned_ResizedGrid() {
	l, err := positional.NewLearned(1+14*14, 768, 1)
	if err != nil {
		log.Fatal(err)
	}
	larger, err := l.ResizedGrid(1, 14, 14, 24, 24)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(larger)
	// Output: Learned(max=577, dim=768)
}

// Training at another length: the parameters remain the table of three rows, the model reads one of five.
func ExampleResize() {
	short, err := positional.LearnedFrom(rowvec.Matrix{Rows: 3, Cols: 1, Stride: 1, Data: []float32{0, 10, 20}})
	if err != nil {
		log.Fatal(err)
	}
	long, err := short.Resized(5)
	if err != nil {
		log.Fatal(err)
	}
	r, err := positional.NewResize(short.Limit(), long.Limit())
	if err != nil {
		log.Fatal(err)
	}

	// A step of training: the gradient of the long table, then that of the short one, then the tables.
	gradLong, grad := zeros(5, 1), zeros(3, 1)
	dOut := rowvec.Matrix{Rows: 5, Cols: 1, Stride: 1, Data: []float32{1, 1, 1, 1, 1}} // by the rest of the model
	if err := long.Backward(gradLong, dOut, 5, 0); err != nil {
		log.Fatal(err)
	}
	if err := r.Backward(grad, gradLong); err != nil {
		log.Fatal(err)
	}
	if err := rowvec.AddScaled(short.Table().Data, -1, grad.Data); err != nil {
		log.Fatal(err)
	}
	if err := r.Forward(long.Table(), short.Table()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(grad.Data, short.Table().Data, long.Table().Data)
	// Output: [1.5 2 1.5] [-1.5 8 18.5] [-1.5 3.25 8 13.25 18.5]
}

func ExampleNewResize() {
	r, err := positional.NewResize(2, 4)
	if err != nil {
		log.Fatal(err)
	}
	table, out := zeros(2, 1), zeros(4, 1)
	copy(table.Data, []float32{3, 0})
	if err := r.Forward(out, table); err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Data)
	// Output: [3 2 1 0]
}

func ExampleNewGridResize() {
	r, err := positional.NewGridResize(0, 1, 3, 1, 5)
	if err != nil {
		log.Fatal(err)
	}
	table, out := zeros(3, 1), zeros(5, 1)
	copy(table.Data, []float32{0, 1, 0})
	if err := r.Forward(out, table); err != nil {
		log.Fatal(err)
	}
	show(out)
	// Output:
	// [0.000]
	// [0.594]
	// [1.000]
	// [0.594]
	// [0.000]
}

func ExampleResize_Forward() {
	r, _ := positional.NewResize(3, 2) // the ends stay
	table, out := zeros(3, 2), zeros(2, 2)
	copy(table.Data, []float32{1, 2, 3, 4, 5, 6})
	if err := r.Forward(out, table); err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Data)
	// Output: [1 2 5 6]
}

// What a row of the source has given to a row of the result, it gets back of its gradient.
func ExampleResize_Backward() {
	r, _ := positional.NewResize(2, 5)
	grad, dOut := zeros(2, 1), zeros(5, 1)
	copy(dOut.Data, []float32{0, 8, 0, 0, 0}) // row 1 is 3/4 of the first and 1/4 of the second
	if err := r.Backward(grad, dOut); err != nil {
		log.Fatal(err)
	}
	fmt.Println(grad.Data)
	// Output: [6 2]
}

func ExampleResize_From() {
	r, _ := positional.NewGridResize(1, 14, 14, 24, 24)
	fmt.Println(r.From())
	// Output: 197
}

func ExampleResize_To() {
	r, _ := positional.NewGridResize(1, 14, 14, 24, 24)
	fmt.Println(r.To())
	// Output: 577
}

func ExampleResize_String() {
	r, _ := positional.NewGridResize(1, 14, 14, 24, 24)
	fmt.Println(r)
	// Output: Resize(1 + 14 x 14 to 1 + 24 x 24)
}
