package positional

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/misuse"
)

// TestEveryMisuse calls every function wrongly in every way that package misuse knows: see testdata/misuse.txt for what
// comes of it. The flag -update writes that file anew.
func TestEveryMisuse(t *testing.T) {
	calls := map[string]func() *misuse.Call{}
	addNew(calls)
	addScalings(calls)
	addAdded(calls)
	addScores(calls)
	addRotary(calls)
	addResizes(calls)
	addCounts[int64](calls, "")
	addCounts[int32](calls, "/int32")
	addCounts[uint64](calls, "/uint64")
	addCounts[uint32](calls, "/uint32")
	addOtherCounts(calls)
	if isatest.Few() {
		misuse.Run(t, "positional.", calls, 3, 7)
	} else {
		misuse.Run(t, "positional.", calls, 0, 1)
	}
}

func made[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// filled returns a matrix with a gap behind each row, whose elements are all different.
func filled(rows, cols int) rowvec.Matrix {
	m := rowvec.Matrix{Rows: rows, Cols: cols, Stride: cols + 1, Data: make([]float32, rows*(cols+1))}
	for i := range m.Data {
		m.Data[i] = float32(i) + 0.5
	}
	return m
}

func arg(name string, at any) misuse.Arg { return misuse.Arg{Name: name, At: at} }

// toOverlapWith is an argument that is not got wrong, but that others are put into the memory of.
func toOverlapWith(name string, at any) misuse.Arg {
	return misuse.Arg{Name: name, At: at, Kind: "table"}
}

func ids(name string, at any) misuse.Arg { return misuse.Arg{Name: name, At: at, Kind: "ids"} }

func addNew(calls map[string]func() *misuse.Call) {
	for _, kind := range Kinds() {
		name := "New/" + kind
		calls[name] = func() *misuse.Call {
			max, dim := 4, 8
			c := &misuse.Call{Args: []misuse.Arg{arg("max", &max), arg("dim", &dim)}, Do: func() error {
				return misuse.Made(New(kind, max, dim, 1))
			}, From: "positional.NewLearned positional.NewSinusoidal positional.NewGrid"}
			return c
		}
	}
	calls["New"] = func() *misuse.Call {
		kind := "learned"
		c := &misuse.Call{Do: func() error { return misuse.Made(New(kind, 4, 8, 1)) }}
		for _, other := range []string{"", "rotary", "alibi", "t5", "Learned", "learned\x00"} {
			c.Also = append(c.Also, misuse.Spoil{Name: fmt.Sprintf("kind=%q", other), Do: func() { kind = other }})
		}
		return c
	}
	calls["NewLearned"] = func() *misuse.Call {
		max, dim := 4, 8
		return &misuse.Call{Args: []misuse.Arg{arg("max", &max), arg("dim", &dim)}, Do: func() error { return misuse.Made(NewLearned(max, dim, 1)) }}
	}
	calls["LearnedFrom"] = func() *misuse.Call {
		m := filled(4, 8)
		return &misuse.Call{Args: []misuse.Arg{arg("m", &m)}, Do: func() error { return misuse.Made(LearnedFrom(m)) }}
	}
	calls["NewSinusoidal"] = func() *misuse.Call {
		length, dim, base := 4, 8, 10000.0
		return &misuse.Call{Args: []misuse.Arg{arg("length", &length), arg("dim", &dim), arg("base", &base)}, Do: func() error {
			return misuse.Made(NewSinusoidal(length, dim, nil, Base(base), Tensor2Tensor()))
		}}
	}
	calls["NewGrid"] = func() *misuse.Call {
		height, width, dim, class, base := 2, 3, 8, 1, 10000.0
		return &misuse.Call{Args: []misuse.Arg{arg("height", &height), arg("width", &width), arg("dim", &dim), arg("class", &class),
			arg("base", &base)}, Do: func() error {
			return misuse.Made(NewGrid(height, width, dim, nil, ClassTokens(class), Base(base), LastFrequency()))
		}}
	}
	calls["NewRotary"] = func() *misuse.Call {
		dim, base, length, workers := 8, 10000.0, 4, 2
		var scaling Scaling = Linear{2}
		odd := func(name string, f Frequencies) misuse.Spoil {
			return misuse.Spoil{Name: "scaling: " + name, Do: func() { scaling = fixed(f) }}
		}
		ones := []float64{1, 1, 1, 1}
		return &misuse.Call{Args: []misuse.Arg{arg("dim", &dim), arg("base", &base), arg("length", &length), arg("workers", &workers),
			arg("scaling", &scaling)}, Do: func() error {
			return misuse.Made(NewRotary(dim, nil, Base(base), Table(length), Workers(workers), Scaled(scaling)))
		}, From: "positional.Linear.Frequencies", Also: []misuse.Spoil{
			{Name: "scaling=(*YaRN)(nil)", Do: func() { scaling = (*YaRN)(nil) }},
			odd("base NaN", Frequencies{math.NaN(), ones, 1}), odd("base 1", Frequencies{1, ones, 1}),
			odd("amplitude NaN", Frequencies{2, ones, math.NaN()}), odd("amplitude 1e300", Frequencies{2, ones, 1e300}),
			odd("amplitude 1e-300", Frequencies{2, ones, 1e-300}),
			odd("3 multipliers", Frequencies{2, ones[:3], 1}), odd("no multipliers", Frequencies{2, []float64{}, 1}),
			odd("multiplier -1", Frequencies{2, []float64{1, 1, 1, -1}, 1}),
			odd("multiplier NaN", Frequencies{2, []float64{math.NaN(), 1, 1, 1}, 1}),
		}}
	}
	for name, option := range map[string]func(...int) RotaryOption{
		"sections": Sections, "interleaved": InterleavedSections, "axial": Axial,
	} {
		calls["NewRotary/"+name] = func() *misuse.Call {
			dim, first, second := 8, 2, 2
			return &misuse.Call{Args: []misuse.Arg{arg("dim", &dim), arg("pairs[0]", &first), arg("pairs[1]", &second)}, Do: func() error {
				return misuse.Made(NewRotary(dim, option(first, second)))
			}}
		}
	}
	calls["NewALiBi"] = func() *misuse.Call {
		heads := 3
		return &misuse.Call{Args: []misuse.Arg{arg("heads", &heads)}, Do: func() error { return misuse.Made(NewALiBi(heads)) }}
	}
	calls["NewRelativeBias"] = func() *misuse.Call {
		heads, buckets, maxDistance := 3, 8, 16
		return &misuse.Call{Args: []misuse.Arg{arg("heads", &heads), arg("buckets", &buckets), arg("maxDistance", &maxDistance)},
			Do: func() error { return misuse.Made(NewRelativeBias(heads, buckets, maxDistance, true, 1)) }}
	}
	calls["RelativeBiasFrom"] = func() *misuse.Call {
		m, maxDistance := filled(8, 3), 16
		return &misuse.Call{Args: []misuse.Arg{arg("m", &m), arg("maxDistance", &maxDistance)},
			Do: func() error { return misuse.Made(RelativeBiasFrom(m, maxDistance, false)) }}
	}
}

func addScalings(calls map[string]func() *misuse.Call) {
	scaling := func(name string, fields func() ([]misuse.Arg, func() Scaling)) {
		for suffix, start := range map[string]int{"": 0, "/long": 100} {
			calls[name+".Frequencies"+suffix] = func() *misuse.Call {
				dim, base, length := 8, 10000.0, start
				args, s := fields()
				if start == 0 {
					args = append(args, arg("dim", &dim), arg("base", &base), arg("length", &length))
				}
				return &misuse.Call{Args: args, Do: func() error {
					f, err := s().Frequencies(dim, base, length)
					if err != nil {
						return misuse.Made(f, err)
					}
					for _, x := range append([]float64{f.Base, f.Amplitude}, f.Multipliers...) {
						if x-x != 0 || x < 0 {
							return fmt.Errorf("frequencies are %v", f)
						}
					}
					return nil
				}}
			}
		}
	}
	scaling("Linear", func() ([]misuse.Arg, func() Scaling) {
		s := Linear{2}
		return []misuse.Arg{arg("Factor", &s.Factor)}, func() Scaling { return s }
	})
	scaling("NTK", func() ([]misuse.Arg, func() Scaling) {
		s := NTK{2}
		return []misuse.Arg{arg("Factor", &s.Factor)}, func() Scaling { return s }
	})
	scaling("DynamicNTK", func() ([]misuse.Arg, func() Scaling) {
		s := DynamicNTK{2, 10}
		return []misuse.Arg{arg("Factor", &s.Factor), arg("Original", &s.Original)}, func() Scaling { return s }
	})
	scaling("YaRN", func() ([]misuse.Arg, func() Scaling) {
		s := YaRN{Factor: 2, Original: 10, BetaFast: 32, BetaSlow: 1, MScale: 1, MScaleAllDim: 1}
		return []misuse.Arg{arg("Factor", &s.Factor), arg("Original", &s.Original), arg("BetaFast", &s.BetaFast), arg("BetaSlow", &s.BetaSlow),
			arg("Attention", &s.Attention), arg("MScale", &s.MScale), arg("MScaleAllDim", &s.MScaleAllDim)}, func() Scaling { return s }
	})
	scaling("Llama3", func() ([]misuse.Arg, func() Scaling) {
		s := Llama3{2, 1, 4, 10}
		return []misuse.Arg{arg("Factor", &s.Factor), arg("LowFrequency", &s.LowFrequency), arg("HighFrequency", &s.HighFrequency),
			arg("Original", &s.Original)}, func() Scaling { return s }
	})
	scaling("LongRoPE", func() ([]misuse.Arg, func() Scaling) {
		s := LongRoPE{Short: []float64{1, 1, 1, 1}, Long: []float64{2, 2, 2, 2}, Factor: 2, Original: 10}
		return []misuse.Arg{arg("Factor", &s.Factor), arg("Original", &s.Original), arg("Attention", &s.Attention), arg("Short", &s.Short),
			arg("Long", &s.Long), arg("Short[3]", &s.Short[3]), arg("Long[0]", &s.Long[0])}, func() Scaling { return s }
	})
	// Divisors whose inverses are infinite, and scales whose quotient is.
	calls["LongRoPE.Frequencies/tiny"] = func() *misuse.Call {
		s := LongRoPE{Short: []float64{1}, Long: []float64{1}, Factor: 2, Original: 10}
		return &misuse.Call{Do: func() error { return misuse.Made(s.Frequencies(2, 10, 0)) }, Also: []misuse.Spoil{
			{Name: "Long[0]=5e-324", Do: func() { s.Long[0] = 5e-324 }},
		}}
	}
	calls["YaRN.Frequencies/infinite"] = func() *misuse.Call {
		s := YaRN{Factor: 1e300, Original: 10, MScale: 1, MScaleAllDim: 1}
		return &misuse.Call{Do: func() error { return misuse.Made(s.Frequencies(2, 10, 0)) }, Also: []misuse.Spoil{
			{Name: "MScale=MaxFloat64", Do: func() { s.MScale = math.MaxFloat64 }},
			{Name: "both scales=MaxFloat64", Do: func() { s.MScale, s.MScaleAllDim = math.MaxFloat64, math.MaxFloat64 }},
		}}
	}
}

// addAdded adds the kinds of positions that are added to embeddings.
func addAdded(calls map[string]func() *misuse.Call) {
	const dim = 8
	type added interface {
		Fill(dst rowvec.Matrix, start int) error
		AddTo(x rowvec.Matrix, seq, start int) error
		Table() rowvec.Matrix
	}
	kind := func(name string, make func(table *rowvec.Matrix) added) {
		calls[name+".Fill"] = func() *misuse.Call {
			table, dst, start := filled(6, dim), filled(2, dim), 1
			e := make(&table)
			return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg("start", &start)}, Do: func() error { return e.Fill(dst, start) },
				Also: []misuse.Spoil{{Name: "dst is table", Do: func() { dst.Data = e.Table().Data[3:] }}}, Kept: func() []any { return []any{e.Table()} }}
		}
		calls[name+".AddTo"] = func() *misuse.Call {
			table, x, start, seq := filled(6, dim), filled(4, dim), 1, 2
			e := make(&table)
			return &misuse.Call{Args: []misuse.Arg{arg("x", &x), arg("seq", &seq), arg("start", &start)},
				Do:   func() error { return e.AddTo(x, seq, start) },
				Also: []misuse.Spoil{{Name: "x is table", Do: func() { x.Data = e.Table().Data[3:] }}}, Kept: func() []any { return []any{e.Table()} }}
		}
	}
	kind("Learned", func(table *rowvec.Matrix) added { return made(LearnedFrom(*table)) })
	kind("Sinusoidal", func(*rowvec.Matrix) added { return made(NewSinusoidal(7, dim)) })
	kind("Grid", func(*rowvec.Matrix) added { return made(NewGrid(2, 3, dim, ClassTokens(1))) })

	calls["Learned.Backward"] = func() *misuse.Call {
		l, grad, dOut, start, seq := made(LearnedFrom(filled(6, dim))), filled(6, dim), filled(4, dim), 1, 2
		return &misuse.Call{Args: []misuse.Arg{arg("grad", &grad), arg("dOut", &dOut), arg("seq", &seq), arg("start", &start)},
			Do: func() error { return l.Backward(grad, dOut, seq, start) }}
	}
	at := func(name string, do func(s *Sinusoidal, m rowvec.Matrix, at []int) error) {
		calls["Sinusoidal."+name] = func() *misuse.Call {
			s, m, positions := made(NewSinusoidal(7, dim)), filled(4, dim), []int{6, 0, 1000, 3}
			return &misuse.Call{Args: []misuse.Arg{arg("m", &m), ids("at", &positions)}, Do: func() error { return do(s, m, positions) },
				Also: []misuse.Spoil{{Name: "m is table", Do: func() { m.Data = s.Table().Data[3:] }}}, Kept: func() []any { return []any{s.Table()} }}
		}
	}
	at("FillAt", func(s *Sinusoidal, m rowvec.Matrix, at []int) error { return s.FillAt(m, at) })
	at("AddAt", func(s *Sinusoidal, m rowvec.Matrix, at []int) error { return s.AddAt(m, at) })
}

func addScores(calls map[string]func() *misuse.Call) {
	calls["ALiBi.AddTo"] = func() *misuse.Call {
		scores, queries, queryStart, keyStart := filled(12, 5), 2, 3, 0
		a := made(NewALiBi(3))
		return &misuse.Call{Args: []misuse.Arg{arg("scores", &scores), arg("queries", &queries), arg("queryStart", &queryStart),
			arg("keyStart", &keyStart)}, Do: func() error { return a.AddTo(scores, queries, queryStart, keyStart) }}
	}
	calls["RelativeBias.AddTo"] = func() *misuse.Call {
		scores, queries, queryStart, keyStart, table := filled(12, 5), 2, 3, 0, filled(8, 3)
		return &misuse.Call{Args: []misuse.Arg{arg("scores", &scores), arg("queries", &queries), arg("queryStart", &queryStart),
			arg("keyStart", &keyStart), toOverlapWith("table", &table)}, Do: func() error {
			return made(RelativeBiasFrom(table, 16, true)).AddTo(scores, queries, queryStart, keyStart)
		}}
	}
	calls["RelativeBias.Backward"] = func() *misuse.Call {
		scores, queries, queryStart, keyStart, grad := filled(12, 5), 2, 3, 0, filled(8, 3)
		r := made(RelativeBiasFrom(filled(8, 3), 16, true))
		return &misuse.Call{Args: []misuse.Arg{arg("grad", &grad), arg("dScores", &scores), arg("queries", &queries),
			arg("queryStart", &queryStart), arg("keyStart", &keyStart)}, Do: func() error {
			return r.Backward(grad, scores, queries, queryStart, keyStart)
		}}
	}
}

func addRotary(calls map[string]func() *misuse.Call) {
	make := func() *Rotary { return made(NewRotary(4, Table(7), Scaled(DynamicNTK{2, 10}))) }
	rotary := func(name, src string, do func(r *Rotary, dst, src rowvec.Matrix, heads, seq, start int) error) {
		calls["Rotary."+name] = func() *misuse.Call {
			r, dst, from, heads, seq, start := make(), filled(4, 12), filled(4, 12), 2, 2, 1
			return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg(src, &from), arg("heads", &heads), arg("seq", &seq), arg("start", &start)},
				Do:   func() error { return do(r, dst, from, heads, seq, start) },
				Also: []misuse.Spoil{{Name: "dst is table", Do: func() { dst.Data = slices.Grow(r.table.Data, 60)[:60]; r.table.Data = dst.Data }}},
				Kept: func() []any { return []any{r.table} }}
		}
	}
	rotary("Apply", "src", (*Rotary).Apply)
	rotary("Backward", "dOut", (*Rotary).Backward)
	at := func(name, src string, do func(r *Rotary, dst, src rowvec.Matrix, heads int, at []int) error) {
		calls["Rotary."+name] = func() *misuse.Call {
			r, dst, from, heads, positions := make(), filled(4, 12), filled(4, 12), 2, []int{6, 0, 1000, 3}
			return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg(src, &from), arg("heads", &heads), ids("at", &positions)},
				Do: func() error { return do(r, dst, from, heads, positions) }}
		}
	}
	axes := func(name, src string, do func(r *Rotary, dst, src rowvec.Matrix, heads int, at [][]int) error) {
		calls["Rotary."+name] = func() *misuse.Call {
			r := made(NewRotary(4, Table(7), Sections(1, 1), Scaled(DynamicNTK{2, 10})))
			dst, from, heads, first, second := filled(4, 12), filled(4, 12), 2, []int{6, 0, 1000, 3}, []int{1, 2, 3, 4}
			at := [][]int{nil, nil}
			return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg(src, &from), arg("heads", &heads), ids("at[0]", &first),
				ids("at[1]", &second)}, Do: func() error {
				if at != nil {
					at[0], at[1] = first, second
				}
				return do(r, dst, from, heads, at)
			}, Also: []misuse.Spoil{
				{Name: "at=nil", Do: func() { at = nil }},
				{Name: "dst is table", Do: func() { dst.Data = slices.Grow(r.table.Data, 60)[:60]; r.table.Data = dst.Data }},
			}, Kept: func() []any { return []any{r.table} }}
		}
	}
	axes("ApplyAxes", "src", (*Rotary).ApplyAxes)
	axes("BackwardAxes", "dOut", (*Rotary).BackwardAxes)
	at("ApplyAt", "src", (*Rotary).ApplyAt)
	at("BackwardAt", "dOut", (*Rotary).BackwardAt)
	calls["Rotary.AnglesAxes"] = func() *misuse.Call {
		r := made(NewRotary(4, Table(7), Axial(1, 1), Scaled(DynamicNTK{2, 10})))
		dst, first, second, at := filled(4, 4), []int{6, 0, 1000, 3}, []int{1, 2, 3, 4}, [][]int{nil, nil}
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), ids("at[0]", &first), ids("at[1]", &second)}, Do: func() error {
			if at != nil {
				at[0], at[1] = first, second
			}
			return r.AnglesAxes(dst, at)
		}, Also: []misuse.Spoil{
			{Name: "at=nil", Do: func() { at = nil }},
			{Name: "dst is table", Do: func() { dst.Data = r.table.Data }},
		}, Kept: func() []any { return []any{r.table} }}
	}
	calls["Rotary.Angles"] = func() *misuse.Call {
		r, dst, start := make(), filled(3, 4), 1
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg("start", &start)}, Do: func() error { return r.Angles(dst, start) },
			Also: []misuse.Spoil{{Name: "dst is table", Do: func() { dst.Data = r.table.Data }}}, Kept: func() []any { return []any{r.table} }}
	}
}

func addResizes(calls map[string]func() *misuse.Call) {
	calls["NewResize"] = func() *misuse.Call {
		from, to := 3, 5
		return &misuse.Call{Args: []misuse.Arg{arg("from", &from), arg("to", &to)}, Do: func() error { return misuse.Made(NewResize(from, to)) }}
	}
	calls["NewGridResize"] = func() *misuse.Call {
		prefix, h, w, toH, toW := 1, 2, 3, 4, 5
		return &misuse.Call{Args: []misuse.Arg{arg("prefix", &prefix), arg("fromHeight", &h), arg("fromWidth", &w), arg("toHeight", &toH),
			arg("toWidth", &toW)}, Do: func() error { return misuse.Made(NewGridResize(prefix, h, w, toH, toW)) }}
	}
	calls["Learned.Resized"] = func() *misuse.Call {
		l, max := made(LearnedFrom(filled(7, 8))), 9
		return &misuse.Call{Args: []misuse.Arg{arg("max", &max)}, Do: func() error { return misuse.Made(l.Resized(max)) }}
	}
	calls["Learned.ResizedGrid"] = func() *misuse.Call {
		l := made(LearnedFrom(filled(7, 8)))
		prefix, h, w, toH, toW := 1, 2, 3, 4, 5
		return &misuse.Call{Args: []misuse.Arg{arg("prefix", &prefix), arg("fromHeight", &h), arg("fromWidth", &w), arg("toHeight", &toH),
			arg("toWidth", &toW)}, Do: func() error { return misuse.Made(l.ResizedGrid(prefix, h, w, toH, toW)) }}
	}
	for name, r := range map[string]*Resize{"": made(NewResize(3, 5)), "/grid": made(NewGridResize(1, 1, 2, 2, 2))} {
		calls["Resize.Forward"+name] = func() *misuse.Call {
			dst, src := filled(5, 8), filled(3, 8)
			return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg("src", &src)}, Do: func() error { return r.Forward(dst, src) }}
		}
		calls["Resize.Backward"+name] = func() *misuse.Call {
			dSrc, dDst := filled(3, 8), filled(5, 8)
			return &misuse.Call{Args: []misuse.Arg{arg("dSrc", &dSrc), arg("dDst", &dDst)}, Do: func() error { return r.Backward(dSrc, dDst) }}
		}
	}
	calls["Resize.Forward/endless"] = func() *misuse.Call { // rows without columns
		r, dst, src := made(NewResize(3, math.MaxInt)), rowvec.Matrix{Rows: math.MaxInt}, rowvec.Matrix{Rows: 3}
		return &misuse.Call{Do: func() error { return r.Forward(dst, src) }}
	}
	calls["Resize.Backward/endless"] = func() *misuse.Call {
		r, dst, src := made(NewResize(3, math.MaxInt)), rowvec.Matrix{Rows: math.MaxInt}, rowvec.Matrix{Rows: 3}
		return &misuse.Call{Do: func() error { return r.Backward(src, dst) }}
	}
}

func addCounts[I rowvec.ID](calls map[string]func() *misuse.Call, suffix string) {
	calls["CountPositions"+suffix] = func() *misuse.Call {
		at, tokens, seq, past, padding := []int{1, 2, 3, 4}, []I{6, 1, 3, 1}, 2, 3, I(1)
		c := &misuse.Call{Do: func() error { return CountPositions(at, tokens, seq, padding, past) }, Also: []misuse.Spoil{
			{Name: "padding=^0", Do: func() { padding = ^I(0) }},
			{Name: "padding=^0>>1", Do: func() { padding = ^I(0) >> 1 }},
		}}
		if suffix == "/uint32" && math.MaxInt == math.MaxInt32 {
			c.Also = nil // int has no room for them
		}
		if suffix == "" {
			c.Args = []misuse.Arg{arg("at", &at), arg("ids", &tokens), arg("seq", &seq), arg("past", &past)}
		}
		return c
	}
}

func addOtherCounts(calls map[string]func() *misuse.Call) {
	calls["CountUnmasked"] = func() *misuse.Call {
		at, mask, seq, last := []int{1, 2}, []int64{0, 1, 1, 1}, 2, 1
		return &misuse.Call{
			Args: []misuse.Arg{arg("at", &at), arg("mask", &mask), arg("seq", &seq), arg("last", &last)},
			Do:   func() error { return CountUnmasked(at, mask, seq, last) },
		}
	}
	calls["CountGrids"] = func() *misuse.Call {
		first, second, start, text, grid := []int{1, 2, 3, 4, 5}, []int{6, 7, 8, 9, 10}, 3, []int{1}, []int{2, 2}
		at := [][]int{nil, nil}
		return &misuse.Call{
			Args: []misuse.Arg{arg("at[0]", &first), arg("at[1]", &second), arg("start", &start), arg("text", &text), arg("grid", &grid),
				arg("text[0]", &text[0]), arg("grid[0]", &grid[0]), arg("grid[1]", &grid[1])},
			Do: func() error {
				if at != nil {
					at[0], at[1] = first, second
				}
				return misuse.Made(CountGrids(at, start, text, grid))
			},
			Also: []misuse.Spoil{{Name: "at=nil", Do: func() { at = nil }}},
		}
	}
	calls["CountRagged"] = func() *misuse.Call {
		at, offsets, past := []int{1, 2, 3, 4}, []int{0, 1, 4}, []int{6, 0}
		return &misuse.Call{
			Args: []misuse.Arg{arg("at", &at), {Name: "offsets", At: &offsets, Kind: "offsets"}, arg("past", &past)},
			Do:   func() error { return CountRagged(at, offsets, past) },
		}
	}
}
