package fuzz

import (
	"fmt"
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/positional"
)

// FuzzResize holds positional.Resize, lines and grids, forward and backward, to kernels called row by row. Its weights come
// from the identity, and are held to the formula.
func FuzzResize(f *testing.F) {
	seeds(f)
	for _, in := range []input{
		{Dim: 20, Rows: 9, N: 23}, {Dim: 33, Rows: 22, N: 5, At: 1, Start: 1}, {Dim: 70, Rows: 80, N: 131, At: 1},
		{Dim: 5, Rows: 140, N: 12, Gaps: [4]uint8{1, 2}}, {Dim: 257, Rows: 30, N: 77, At: 1, Start: 2},
	} {
		f.Add(in.bytes())
		in.Flags = variant
		f.Add(in.bytes())
	}
	fuzz(f, func(t *trial) {
		var r *positional.Resize
		from, to, prefix := [2]int{1, 1 + int(t.in.Rows)%150}, [2]int{1, 1 + int(t.in.N)%150}, 0
		linear := t.in.At%2 == 0
		if linear {
			r = must(positional.NewResize(from[1], to[1]))
		} else {
			from, to = [2]int{1 + from[1]%12, 1 + from[1]/12}, [2]int{1 + to[1]%12, 1 + to[1]/12}
			prefix = int(t.in.Start) % 3
			r = must(positional.NewGridResize(prefix, from[0], from[1], to[0], to[1]))
		}
		w, one := must(rowvec.NewMatrix(r.To(), r.From())), must(rowvec.NewMatrix(r.From(), r.From()))
		for i := range one.Rows {
			one.Row(i)[i] = 1
		}
		if err := r.Forward(w, one); err != nil {
			panic(err)
		}
		for i := range w.Rows {
			for j, got := range w.Row(i) {
				if want := weight(i-prefix, j-prefix, from, to, linear); !(math.Abs(float64(got)-want) <= 1e-7) {
					panic(fmt.Sprintf("%v: row %d has %v of row %d, want %v", r, i, got, j, want))
				}
			}
		}

		dim := t.dim()
		dst, src := t.matrix(0, r.To(), dim), t.matrix(1, r.From(), dim)
		if t.in.has(misfit) {
			switch t.in.Positions % 4 {
			case 0:
				dst.Rows++
			case 1:
				src.Rows--
			case 2:
				dst.Cols, dst.Stride = dst.Cols+1, dst.Stride+1
			}
		}
		t.place(dst, src)
		t.checkShape(dst.Rows == r.To() && src.Rows == r.From() && dst.Cols == src.Cols)
		if t.in.has(variant) {
			t.op = "positional.Resize.Backward"
			t.checkApart("dSrc", *src, "dDst", *dst)
			t.call = kernel{
				func() error { return r.Backward(*src, *dst) },
				func() {
					for i := range w.Rows {
						for s, factor := range w.Row(i) {
							if factor != 0 {
								kernels.AddScaled(src.Row(s), factor, dst.Row(i))
							}
						}
					}
				},
			}
			return
		}
		t.op = "positional.Resize.Forward"
		t.checkApart("dst", *dst, "src", *src)
		t.call = kernel{
			func() error { return r.Forward(*dst, *src) },
			func() {
				for i := range w.Rows {
					clear(dst.Row(i))
					for s, factor := range w.Row(i) {
						switch factor {
						case 0:
						case 1:
							copy(dst.Row(i), src.Row(s))
						default:
							kernels.AddScaled(dst.Row(i), factor, src.Row(s))
						}
					}
				}
			},
		}
	})
}

// weight returns what place t of the result has of place s, those of a prefix being negative.
func weight(t, s int, from, to [2]int, linear bool) float64 {
	if t < 0 || s < 0 {
		if t == s {
			return 1
		}
		return 0
	}
	axis := func(t, s, from, to int) (w float64) {
		place := float64(t*(from-1)) / float64(max(1, to-1))
		for k := -2; k < from+2; k++ { // beyond the border, the place of the border
			if min(max(k, 0), from-1) != s {
				continue
			}
			switch d := math.Abs(place - float64(k)); {
			case linear:
				w += max(0, 1-d)
			case d < 1:
				w += (1.25*d-2.25)*d*d + 1
			case d < 2:
				w += -0.75 * (((d-5)*d+8)*d - 4)
			}
		}
		return w
	}
	return axis(t/to[1], s/from[1], from[0], to[0]) * axis(t%to[1], s%from[1], from[1], to[1])
}
