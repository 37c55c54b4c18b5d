package golden_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/rowvec/rowvec/positional"
)

func positionalPieces() []piece {
	all := []piece{
		{"positional.New", encodings},
		{"positional.Learned", learned},
		{"positional.Resize", resized},
		{"positional.ALiBi", alibi},
		{"positional.RelativeBias", relative},
		{"positional.CountGrids", countedGrids},
		{"positional.CountPositions", counted},
		{"positional.CountRagged", countedRagged},
		{"positional.CountUnmasked", countedUnmasked},
		{"positional.Rotary, axes", rotaryAxes},
		{"positional, frequencies", frequencies},
	}
	for _, layout := range []struct {
		name    string
		options []positional.SinusoidalOption
	}{
		{"interleaved", nil},
		{"half-split", []positional.SinusoidalOption{positional.HalfSplit(), positional.Base(500)}},
		{"tensor2tensor", []positional.SinusoidalOption{positional.Tensor2Tensor()}},
	} {
		all = append(all, piece{"positional.Sinusoidal, " + layout.name, func(r *run) { sinusoidal(r, layout.options) }})
	}
	for i, options := range [][]positional.GridOption{
		nil, {positional.RowsFirst(), positional.ClassTokens(1)}, {positional.LastFrequency(), positional.Base(77)},
	} {
		all = append(all, piece{fmt.Sprintf("positional.Grid %d", i+1), func(r *run) { grid(r, options) }})
	}
	for _, s := range append([]positional.Scaling{nil}, scalings(8)...) {
		name := "positional.Rotary"
		if s != nil {
			name += ", " + s.Kind()
		}
		all = append(all, piece{name, func(r *run) { rotary(r, s) }})
	}
	return all
}

// scalings are all of them, for dims of twice so many pairs.
func scalings(pairs int) []positional.Scaling {
	long := positional.LongRoPE{Factor: 4, Original: 64, Attention: 1.2}
	for i := range pairs {
		long.Short = append(long.Short, 1+float64(i)/16)
		long.Long = append(long.Long, 1+float64(i*i)/3)
	}
	return []positional.Scaling{
		positional.Linear{Factor: 3},
		positional.NTK{Factor: 3},
		positional.DynamicNTK{Factor: 2, Original: 64},
		positional.YaRN{Factor: 4, Original: 64, MScale: 0.7, MScaleAllDim: 0.9},
		positional.Llama3{Factor: 8, LowFrequency: 1, HighFrequency: 4, Original: 64},
		long,
	}
}

// encodings are those that New makes.
func encodings(r *run) {
	for _, kind := range positional.Kinds() {
		r.text(kind)
		var e positional.Encoding = must(positional.New(kind, 81, 36, 5))
		if e == nil {
			continue
		}
		r.text(e.String() + e.Kind())
		r.ints(e.Dim(), min(e.Limit(), math.MaxInt32))
		r.bools(e.Trainable())
		r.matrices(e.Table())
		dst := r.matrix(7, 36)
		r.ok(e.Fill(dst, 5))
		r.matrices(dst)
	}
	_, err := positional.New("rope", 0, 1, 0)
	var bad *positional.KindError
	r.bools(errors.As(err, &bad))
	r.text(bad.Kind + err.Error())
	r.ints(must(positional.New("learned", 0, 4, 0)).Limit(), positional.DefaultMax)
}

// starts are positions near and far.
var starts = []int{0, 11, 250, 1_000_003, 1 << 30}

func sinusoidal(r *run, options []positional.SinusoidalOption) {
	for _, dim := range []int{1, 7, 64, 130} {
		for _, length := range []int{0, 20} {
			s := must(positional.NewSinusoidal(length, dim, options...))
			r.text(s.String() + s.Kind())
			r.ints(s.Dim())
			r.bools(s.Trainable(), s.Limit() == math.MaxInt)
			r.matrices(s.Table())
			for _, start := range starts {
				dst, x := r.matrix(20, dim), r.matrix(24, dim)
				r.ok(s.Fill(dst, start))
				r.ok(s.AddTo(x, 12, start))
				r.matrices(dst, x)
				at := ids[int](r, 24, 30)
				copy(at[5:], []int{start, start + 1, start + 2, start + 1000})
				r.ok(s.FillAt(x, at))
				r.matrices(x)
				r.ok(s.AddAt(x, at))
				r.matrices(x)
			}
		}
	}
}

func learned(r *run) {
	for _, dim := range widths {
		l := must(positional.NewLearned(30, dim, 11))
		r.text(l.String() + l.Kind())
		r.ints(l.Dim(), l.Limit())
		r.bools(l.Trainable())
		r.matrices(l.Table())
		l = must(positional.LearnedFrom(r.matrix(30, dim)))
		dst, x, grad := r.matrix(12, dim), r.matrix(36, dim), r.matrix(30, dim)
		r.ok(l.Fill(dst, 7))
		r.ok(l.AddTo(x, 12, 9))
		r.ok(l.Backward(grad, x, 12, 9))
		r.matrices(dst, x, grad)
		for _, max := range []int{1, 17, 30, 75} {
			r.matrices(must(l.Resized(max)).Table())
		}
		r.matrices(must(l.ResizedGrid(2, 4, 7, 9, 5)).Table())
	}
}

func resized(r *run) {
	for _, dim := range widths {
		for _, resize := range []*positional.Resize{
			must(positional.NewResize(19, 50)), must(positional.NewResize(50, 19)),
			must(positional.NewGridResize(1, 5, 6, 8, 9)), must(positional.NewGridResize(0, 8, 9, 3, 4)),
		} {
			r.text(resize.String())
			src, dst := r.matrix(resize.From(), dim), r.matrix(resize.To(), dim)
			r.ok(resize.Forward(dst, src))
			r.ok(resize.Backward(src, dst))
			r.matrices(dst, src)
		}
	}
}

func grid(r *run, options []positional.GridOption) {
	for _, dim := range []int{8, 20, 64, 132} {
		g := must(positional.NewGrid(6, 9, dim, options...))
		r.text(g.String() + g.Kind())
		r.ints(g.Dim(), g.Limit())
		r.bools(g.Trainable())
		r.matrices(g.Table())
		dst, x := r.matrix(20, dim), r.matrix(40, dim)
		r.ok(g.Fill(dst, 3))
		r.ok(g.AddTo(x, 20, 30))
		r.matrices(dst, x)
	}
}

// rotary rotates 3 heads of 16 elements and more, of which 16 are rotated.
func rotary(r *run, s positional.Scaling) {
	for i, options := range [][]positional.RotaryOption{
		{}, {positional.Interleaved()}, {positional.Table(40), positional.Base(500)}, {positional.Table(40), positional.Interleaved()},
	} {
		p := must(positional.NewRotary(16, append(options, positional.Scaled(s), positional.Workers(r.workers))...))
		r.text(p.String() + p.Kind())
		r.ints(p.Dim())
		const heads, n, seq = 3, 24, 12
		cols := heads * (16 + i*5)
		for _, start := range starts {
			src, dst, back, angles := r.matrix(n, cols), r.matrix(n, cols), r.matrix(n, cols), r.matrix(seq, 16)
			r.ok(p.Apply(dst, src, heads, seq, start))
			r.ok(p.Backward(back, dst, heads, seq, start))
			r.ok(p.Angles(angles, start))
			r.matrices(dst, back, angles)
			at := ids[int](r, n, 50)
			copy(at[5:], []int{start, start + 1, start + 2, start + 1000})
			r.ok(p.ApplyAt(dst, src, heads, at))
			r.ok(p.BackwardAt(back, dst, heads, at))
			r.matrices(dst, back)
		}
	}
}

// rotaryAxes rotates 3 heads of 20 elements by positions on two axes, and on three.
func rotaryAxes(r *run) {
	const heads, n, cols = 3, 24, 60
	for _, s := range append([]positional.Scaling{nil}, scalings(4)...) { // of which LongRoPE goes with four pairs
		for i, options := range [][]positional.RotaryOption{
			{positional.Axial(4, 4), positional.Table(40)}, {positional.Axial(4, 4), positional.Interleaved()},
			{positional.Sections(2, 1, 5)}, {positional.InterleavedSections(5, 1, 2), positional.Table(60)},
		} {
			if i > 1 && s != nil && s.Kind() == "longrope" {
				s = scalings(8)[5]
			}
			p := must(positional.NewRotary(16, append(options, positional.Scaled(s), positional.Workers(r.workers))...))
			r.text(p.String())
			for _, far := range []int{0, 1000, 1 << 30} {
				at := [][]int{ids[int](r, n, 50), ids[int](r, n, 50), ids[int](r, n, 50)}[:2+i/2]
				copy(at[0][5:], []int{far, far + 1, far + 2})
				copy(at[1][10:], at[0][10:20])
				src, dst, back, angles := r.matrix(n, cols), r.matrix(n, cols), r.matrix(n, cols), r.matrix(n, 16)
				r.ok(p.ApplyAxes(dst, src, heads, at))
				r.ok(p.BackwardAxes(back, dst, heads, at))
				r.ok(p.AnglesAxes(angles, at))
				r.matrices(dst, back, angles)
			}
		}
	}
}

// frequencies are those of scalings of many more dims.
func frequencies(r *run) {
	for _, pairs := range []int{1, 32, 48} {
		list := append(scalings(pairs),
			positional.YaRN{Factor: 40, Original: 4096, BetaFast: 30, BetaSlow: 2, NoTruncate: true},
			positional.YaRN{Factor: 4, Original: 4096, Attention: 1.3},
			positional.LongRoPE{Short: make([]float64, pairs), Long: make([]float64, pairs), Factor: 32, Original: 4096})
		for i := range pairs {
			list[len(list)-1].(positional.LongRoPE).Short[i] = 1
			list[len(list)-1].(positional.LongRoPE).Long[i] = 1 + float64(i)/7
		}
		for _, s := range list {
			r.text(s.Kind() + s.String())
			r.bools(s.ByLength())
			for _, length := range []int{0, 64, 1000, 1 << 20} {
				f := must(s.Frequencies(2*pairs, 1e6, length))
				r.doubles(f.Base, f.Amplitude)
				r.doubles(f.Multipliers...)
			}
		}
	}
}

func alibi(r *run) {
	for heads := 1; heads <= 17; heads++ {
		a := must(positional.NewALiBi(heads))
		r.text(a.String() + a.Kind())
		r.floats(a.Slopes()...)
		for _, start := range starts {
			scores := r.matrix(a.Heads()*2*2, 19)
			r.ok(a.AddTo(scores, 2, start+11, start))
			r.matrices(scores)
		}
	}
}

func relative(r *run) {
	for _, heads := range []int{1, 5, 12} {
		for i := range 2 {
			b := must(positional.NewRelativeBias(heads, 32, 128, i == 0, 3))
			r.matrices(b.Table())
			for _, b := range []*positional.RelativeBias{
				b, must(positional.RelativeBiasFrom(r.matrix(24, heads), 4116, i == 0)),
			} {
				r.text(b.String() + b.Kind())
				r.ints(b.Heads(), b.Buckets(), b.MaxDistance())
				r.bools(b.Bidirectional(), b.Trainable())
				for _, start := range []int{0, 90, 5000, 1 << 30} {
					scores, grad := r.matrix(2*heads*5, 130), r.matrix(b.Buckets(), heads)
					r.ok(b.AddTo(scores, 5, start+100, 100))
					r.ok(b.Backward(grad, scores, 5, 100, start+100))
					r.matrices(scores, grad)
				}
			}
		}
	}
	for distance := -10_000; distance < 10_000; distance += 7 {
		r.ints(positional.RelativeBucket(distance, 32, 128, true), positional.RelativeBucket(distance, 24, 4116, false))
	}
}

func counted(r *run) {
	at := make([]int, 60)
	r.ok(positional.CountPositions(at, ids[uint64](r, 60, 5), 12, padding, 0))
	r.ints(at...)
	r.ok(positional.CountPositions(at, ids[int32](r, 60, 5), 20, padding, 1000))
	r.ints(at...)
}

func countedGrids(r *run) {
	at := [][]int{make([]int, 60), make([]int, 60), make([]int, 60)}
	r.ints(must(positional.CountGrids(at, 7, []int{5}, []int{1, 4, 6}, []int{0}, []int{3, 2, 5}, []int{1})))
	for _, axis := range at {
		r.ints(axis...)
	}
}

func countedUnmasked(r *run) {
	at := make([]int, 60)
	for _, last := range []int{12, 5, 1} {
		of := at[:5*last]
		r.ok(positional.CountUnmasked(of, ids[uint32](r, 60, 2), 12, last))
		r.ints(of...)
	}
}

func countedRagged(r *run) {
	at := make([]int, 60)
	r.ok(positional.CountRagged(at, []int{0, 0, 7, 8, 40, 40, 60}, nil))
	r.ints(at...)
	r.ok(positional.CountRagged(at, []int{0, 0, 7, 8, 40, 40, 60}, []int{5, 6, 7, 1 << 30, 9, 10}))
	r.ints(at...)
}
