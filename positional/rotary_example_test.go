package positional_test

import (
	"fmt"
	"log"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/positional"
)

func newRotary(dim int, options ...positional.RotaryOption) *positional.Rotary {
	r, err := positional.NewRotary(dim, options...)
	if err != nil {
		log.Fatal(err)
	}
	return r
}

func ExampleNewRotary() {
	fmt.Println(positional.NewRotary(64))
	fmt.Println(positional.NewRotary(128, positional.Base(500000), positional.Scaled(positional.Llama3{
		Factor: 8, LowFrequency: 1, HighFrequency: 4, Original: 8192})))
	_, err := positional.NewRotary(63)
	fmt.Println(err)
	// Output:
	// Rotary(dim=64) <nil>
	// Rotary(dim=128, base=500000, scaling=Llama3(factor=8, original=8192)) <nil>
	// rowvec: positional.NewRotary: dim is 63, want a multiple of 2
}

// Queries and keys side by side in one matrix, as a layer that computes both at once leaves them, are rotated where they are.
// The scores of two tokens with one head each depend on their distance alone.
func ExampleRotary_Apply() {
	r := newRotary(4)
	qk := zeros(2, 8)
	for i := range qk.Rows {
		copy(qk.Row(i), []float32{1, 2, 3, 4, 4, 3, 2, 1})
	}
	q := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 8, Data: qk.Data}
	k := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 8, Data: qk.Data[4:]}
	for _, m := range []rowvec.Matrix{q, k} {
		if err := r.Apply(m, m, 1, 2, 100); err != nil { // two tokens, from position 100 on
			log.Fatal(err)
		}
	}
	scores := zeros(2, 2)
	if err := rowvec.DotsAll(scores, q, k); err != nil {
		log.Fatal(err)
	}
	show(scores)
	// Output:
	// [20.000 23.917]
	// [6.888 20.000]
}

// A decoder whose sequences have come to different positions.
func ExampleRotary_ApplyAt() {
	r := newRotary(2, positional.Table(1000))
	x := zeros(3, 2)
	for i := range x.Rows {
		x.Row(i)[0] = 1
	}
	if err := r.ApplyAt(x, x, 1, []int{0, 1, 710}); err != nil { // 710 radians are 113 turns
		log.Fatal(err)
	}
	show(x)
	// Output:
	// [1.000 0.000]
	// [0.540 0.841]
	// [1.000 0.000]
}

func ExampleRotary_Backward() {
	r := newRotary(4, positional.Interleaved())
	x, grad := zeros(1, 4), zeros(1, 4)
	copy(x.Data, []float32{1, 2, 3, 4})
	if err := r.Apply(x, x, 1, 1, 3); err != nil {
		log.Fatal(err)
	}
	show(x)
	if err := r.Backward(grad, x, 1, 1, 3); err != nil { // as it is its own inverse
		log.Fatal(err)
	}
	show(grad)
	// Output:
	// [-1.272 -1.839 2.879 4.088]
	// [1.000 2.000 3.000 4.000]
}

func ExampleRotary_BackwardAt() {
	r := newRotary(2)
	dOut, grad := zeros(2, 2), zeros(2, 2)
	copy(dOut.Data, []float32{1, 0, 1, 0})
	if err := r.BackwardAt(grad, dOut, 1, []int{0, 1}); err != nil {
		log.Fatal(err)
	}
	show(grad)
	// Output:
	// [1.000 0.000]
	// [0.540 -0.841]
}

// The angles of a piece of positions can be shared by the layers of a model.
func ExampleRotary_Angles() {
	r := newRotary(4)
	angles := zeros(2, 4)
	if err := r.Angles(angles, 7); err != nil {
		log.Fatal(err)
	}
	show(angles) // two cosines and two sines
	x := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: []float32{1, 1, 0, 0, 1, 1, 0, 0}}
	if err := rowvec.Rotate(x, x, rowvec.Rotation{Heads: 1}, angles, 0, 2); err != nil {
		log.Fatal(err)
	}
	show(x)
	// Output:
	// [0.754 0.998 0.657 0.070]
	// [-0.146 0.997 0.989 0.080]
	// [0.754 0.998 0.657 0.070]
	// [-0.146 0.997 0.989 0.080]
}

func ExampleRotary_Dim() {
	fmt.Println(newRotary(32).Dim())
	// Output: 32
}

func ExampleRotary_Kind() {
	fmt.Println(newRotary(32).Kind())
	// Output: rotary
}

func ExampleRotary_String() {
	fmt.Println(newRotary(32, positional.Interleaved()))
	// Output: Rotary(dim=32, interleaved)
}

func ExampleRotaryOption() {
	fmt.Println(newRotary(128, positional.Base(500000), positional.Interleaved()))
	// Output: Rotary(dim=128, base=500000, interleaved)
}

// Pairs are neighbours, or half of the rotated part apart.
func ExampleInterleaved() {
	for _, r := range []*positional.Rotary{newRotary(4, positional.Interleaved()), newRotary(4)} {
		x := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{1, 0, 0, 0}}
		if err := r.Apply(x, x, 1, 1, 1); err != nil {
			log.Fatal(err)
		}
		show(x)
	}
	// Output:
	// [0.540 0.841 0.000 0.000]
	// [0.540 0.000 0.841 0.000]
}

// Positions are interpolated between those that a model was trained on: the eighth is what the second was.
func ExampleScaled() {
	plain, scaled := newRotary(2), newRotary(2, positional.Scaled(positional.Linear{Factor: 4}))
	x := zeros(2, 2)
	for i, err := range []error{
		plain.Angles(rowvec.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: x.Row(0)}, 2),
		scaled.Angles(rowvec.Matrix{Rows: 1, Cols: 2, Stride: 2, Data: x.Row(1)}, 8),
	} {
		if err != nil {
			log.Fatal(i, err)
		}
	}
	show(x)
	// Output:
	// [-0.416 0.909]
	// [-0.416 0.909]
}

// A table changes no bit: it is there for calls with few rows, at positions all over the place.
func ExampleTable() {
	r := newRotary(64, positional.Table(4096), positional.Interleaved())
	x := zeros(2, 12*64)
	fmt.Println(r.ApplyAt(x, x, 12, []int{4000, 17}))
	// Output: <nil>
}

func ExampleWorkers() {
	r := newRotary(64, positional.Workers(1)) // all on the caller's goroutine
	x := zeros(8*16, 12*64)
	fmt.Println(r.Apply(x, x, 12, 16, 0))
	// Output: <nil>
}

// Of the eight pairs of a head, two turn by time and three each by height and width, as those of Qwen2-VL do.
func ExampleSections() {
	r := newRotary(16, positional.Base(1000000), positional.Sections(2, 3, 3))
	fmt.Println(r)
	_, err := positional.NewRotary(16, positional.Sections(2, 3, 4))
	fmt.Println(err)
	// Output:
	// Rotary(dim=16, base=1e+06, sections=[2 3 3])
	// rowvec: positional.NewRotary: number of pairs of axis 2 is 4, want at most 3
}

// Which axis a pair turns by: its element of a token that is at position 1 on that axis alone changes.
func ExampleInterleavedSections() {
	const dim = 16
	for _, option := range []positional.RotaryOption{positional.Sections(4, 2, 2), positional.InterleavedSections(4, 2, 2)} {
		r := newRotary(dim, option, positional.Base(2))
		axes := make([]int, dim/2)
		for a := range 3 {
			at := [][]int{{0}, {0}, {0}}
			at[a][0] = 1
			x := zeros(1, dim)
			for i := range axes {
				x.Data[i] = 1
			}
			if err := r.ApplyAxes(x, x, 1, at); err != nil {
				log.Fatal(err)
			}
			for i := range axes {
				if x.Data[i] != 1 {
					axes[i] = a
				}
			}
		}
		fmt.Println(axes)
	}
	// Output:
	// [0 0 0 0 1 1 2 2]
	// [0 1 2 0 1 2 0 0]
}

// FLUX.1 has three axes: one of its own, height and width, each with frequencies from the highest on.
func ExampleAxial() {
	fmt.Println(newRotary(128, positional.Axial(8, 28, 28), positional.Interleaved()))
	r := newRotary(4, positional.Axial(1, 1))
	x := rowvec.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{1, 1, 0, 0}}
	if err := r.ApplyAxes(x, x, 1, [][]int{{1}, {2}}); err != nil {
		log.Fatal(err)
	}
	show(x) // one radian and two
	// Output:
	// Rotary(dim=128, interleaved, axial=[8 28 28])
	// [0.540 -0.416 0.841 0.909]
}

// A prompt of two words, an image of one row and two columns, and a word, with a head of three pairs.
func ExampleRotary_ApplyAxes() {
	r := newRotary(6, positional.Sections(1, 1, 1))
	at := [][]int{make([]int, 5), make([]int, 5), make([]int, 5)}
	if _, err := positional.CountGrids(at, 0, []int{2}, []int{1, 1, 2}, []int{1}); err != nil {
		log.Fatal(err)
	}
	q := zeros(5, 6)
	for i := range q.Rows {
		copy(q.Row(i), []float32{1, 1, 1, 0, 0, 0})
	}
	if err := r.ApplyAxes(q, q, 1, at); err != nil {
		log.Fatal(err)
	}
	show(q)
	// Output:
	// [1.000 1.000 1.000 0.000 0.000 0.000]
	// [0.540 0.999 1.000 0.841 0.046 0.002]
	// [-0.416 0.996 1.000 0.909 0.093 0.004]
	// [-0.416 0.996 1.000 0.909 0.093 0.006]
	// [-0.654 0.983 1.000 -0.757 0.185 0.009]
}

// The layers of a model share the angles of a prompt.
func ExampleRotary_AnglesAxes() {
	r := newRotary(4, positional.Axial(1, 1))
	angles := zeros(2, 4)
	if err := r.AnglesAxes(angles, [][]int{{0, 1}, {0, 2}}); err != nil {
		log.Fatal(err)
	}
	show(angles) // two cosines and two sines, for rowvec.Rotate as those of Angles
	// Output:
	// [1.000 1.000 0.000 0.000]
	// [0.540 -0.416 0.841 0.909]
}

func ExampleRotary_BackwardAxes() {
	r := newRotary(4, positional.Axial(1, 1))
	at := [][]int{{1}, {2}}
	x, grad := zeros(1, 4), zeros(1, 4)
	copy(x.Data, []float32{1, 2, 3, 4})
	if err := r.ApplyAxes(x, x, 1, at); err != nil {
		log.Fatal(err)
	}
	if err := r.BackwardAxes(grad, x, 1, at); err != nil { // as it is its own inverse
		log.Fatal(err)
	}
	show(grad)
	// Output: [1.000 2.000 3.000 4.000]
}
