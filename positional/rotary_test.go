package positional

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/derivatives"
	"github.com/rowvec/rowvec/internal/exact/bigmath"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/pages"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/reference"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

func rotary(t testing.TB, dim int, options ...RotaryOption) *Rotary {
	t.Helper()
	r, err := NewRotary(dim, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// angles returns n positions from start on.
func (r *Rotary) angles(t testing.TB, start, n int) rowvec.Matrix {
	t.Helper()
	m := rowvec.Matrix{Rows: n, Cols: r.dim, Stride: r.dim, Data: make([]float32, n*r.dim)}
	if err := r.Angles(m, start); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRotaryAccuracy compares cosines and sines, near and far, with math/big.
func TestRotaryAccuracy(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	positions := []int64{0, 1, 2, 63, 255, 256, 257, 4095, 1<<17 - 1, 1000000, 1<<24 - 1, 1<<31 - 2, 1 << 31, math.MaxInt64 - 1}
	for range 8 {
		positions = append(positions, rng.Int64N(5000), rng.Int64N(1<<24), rng.Int64N(1<<31))
	}
	worst := 0.0
	for _, c := range []struct {
		dim  int
		base float64
	}{{2, 10000}, {16, 10000}, {64, 10000}, {96, 10000}, {128, 500000}, {256, 1000000}, {30, 2.5}, {2048, 10000}, {4096, 10000}} {
		r := rotary(t, c.dim, Base(c.base))
		pairs := c.dim / 2
		for _, i := range slices.Compact([]int{0, min(1, pairs-1), pairs / 3, pairs - 1}) {
			freq := bigmath.Frequency(c.base, 2*i, c.dim)
			for _, pos := range positions {
				if int64(int(pos)) != pos {
					continue
				}
				row := r.angles(t, int(pos), 1).Data
				angle := new(big.Float).SetPrec(320).SetInt64(pos)
				sin, cos := bigmath.SinCos(angle.Mul(angle, freq))
				off := max(bigmath.Diff(float64(row[i]), cos), bigmath.Diff(float64(row[pairs+i]), sin))
				if off > 3.1e-8 {
					t.Errorf("dim %d, base %v: pair %d at position %d is off by %g", c.dim, c.base, i, pos, off)
				}
				worst = max(worst, off)
			}
		}
	}
	t.Logf("worst error %.5g", worst)
}

// TestRotaryKeepsAngles: lengths that come to the same frequencies share what has been worked out for the first of them.
func TestRotaryKeepsAngles(t *testing.T) {
	const dim = 8
	s := LongRoPE{Short: slices.Repeat([]float64{1}, dim/2), Long: slices.Repeat([]float64{3}, dim/2), Factor: 4, Original: 500}
	r := rotary(t, dim, Scaled(s))
	for _, c := range []struct {
		length int
		first  bool
	}{{500, true}, {501, false}, {502, false}, {499, true}, {700, false}} {
		got, err := r.turns("op", c.length)
		if err != nil {
			t.Fatal(err)
		}
		if (got == r.first) != c.first || got != r.first && got != r.last.Load() || r.last.Load() != nil && r.last.Load().length != 501 {
			t.Errorf("length %d: other angles than before", c.length)
		}
	}
}

// TestRotaryScaledAccuracy does the same with what scalings make of frequencies and amplitudes.
func TestRotaryScaledAccuracy(t *testing.T) {
	const dim = 32
	factors := make([]float64, dim/2)
	for i := range factors {
		factors[i] = 1 + float64(i)/3
	}
	for _, s := range []Scaling{Linear{4}, NTK{8}, DynamicNTK{2, 100}, YaRN{Factor: 16, Original: 128},
		Llama3{8, 1, 4, 8192}, LongRoPE{Short: factors, Long: slices.Repeat([]float64{3}, dim/2), Factor: 4, Original: 500}} {
		for _, pos := range []int{0, 1, 50, 700, 1<<24 - 1} {
			row := rotary(t, dim, Scaled(s), Base(20000)).angles(t, pos, 1).Data
			f, err := s.Frequencies(dim, 20000, pos+1)
			if err != nil {
				t.Fatal(err)
			}
			for i := range dim / 2 {
				angle := new(big.Float).SetPrec(320).SetInt64(int64(pos))
				angle.Mul(angle, bigmath.Frequency(f.Base, 2*i, dim))
				if f.Multipliers != nil {
					angle.Mul(angle, bigmath.Float(f.Multipliers[i]))
				}
				sin, cos := bigmath.SinCos(angle)
				sin.Mul(sin, bigmath.Float(f.Amplitude))
				cos.Mul(cos, bigmath.Float(f.Amplitude))
				off := max(bigmath.Diff(float64(row[i]), cos), bigmath.Diff(float64(row[dim/2+i]), sin))
				bound := 3.1e-8
				if f.Amplitude != 1 { // which is rounded too, and then the product
					bound = 3.1e-8*f.Amplitude + f.Amplitude*0x1p-24 + 0x1p-24
				}
				if off > bound {
					t.Errorf("%v: pair %d at position %d is off by %g, more than %g", s, i, pos, off, bound)
				}
			}
		}
	}
}

// TestRotary holds every call to the kernels and the angles: near and far, with and without a table, in place and apart,
// for any number of workers and whatever the sizes of parts.
func TestRotary(t *testing.T) {
	for range 2 {
		testRotary(t)
		defer tuning.Lower()() // and once more with several workers
	}
}

func testRotary(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	for n := range 150 {
		dim, heads := 2*(1+rng.IntN(20)), 1+rng.IntN(4)
		batch, seq, start := 1+rng.IntN(5), 1+rng.IntN(70), rng.IntN(300)
		switch n % 5 {
		case 1:
			seq, batch = 250+rng.IntN(400), 1+rng.IntN(2)
		case 2:
			start = math.MaxInt - seq - rng.IntN(300)
		case 3:
			seq, batch = 1, 20
		}
		headDim := dim + rng.IntN(2)*rng.IntN(9)
		options := []RotaryOption{Workers(1 + rng.IntN(5)), Table(rng.IntN(2) * rng.IntN(600))}
		scaling := []Scaling{nil, nil, YaRN{Factor: 4, Original: 64}, DynamicNTK{3, 200}}[rng.IntN(4)]
		if scaling != nil {
			options = append(options, Scaled(scaling))
		}
		rotation := rowvec.Rotation{Heads: heads}
		if rng.IntN(2) == 1 {
			options = append(options, Interleaved())
			rotation.Interleaved = true
		}
		r := rotary(t, dim, options...)
		src := matrix(rng, batch*seq, heads*headDim, rng.IntN(3))
		dst, same := matrix(rng, src.Rows, src.Cols, rng.IntN(3)), clone(src)
		want, wantSame := clone(dst), clone(src)
		compare := func(what string, errs ...error) {
			t.Helper()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(dst.Data, want.Data) || !slices.Equal(same.Data, wantSame.Data) {
				t.Fatalf("%s of %v, %d x %d from %d, %d heads of %d, differs", what, r, batch, seq, start, heads, headDim)
			}
		}
		angles := r.angles(t, start, seq)
		kernels.Rotate(want, src, rotation, angles, 0, seq)
		kernels.Rotate(wantSame, wantSame, rotation, angles, 0, seq)
		compare("Apply", r.Apply(dst, src, heads, seq, start), r.Apply(same, same, heads, seq, start))
		rotation.Inverse = true
		kernels.Rotate(want, src, rotation, angles, 0, seq)
		kernels.Rotate(wantSame, wantSame, rotation, angles, 0, seq)
		compare("Backward", r.Backward(dst, src, heads, seq, start), r.Backward(same, same, heads, seq, start))

		at := make([]int, src.Rows)
		for i := range at {
			at[i] = start + rng.IntN(seq)
			if i > 0 && rng.IntN(3) > 0 && at[i-1] < start+seq-1 {
				at[i] = at[i-1] + rng.IntN(2) // runs, and repeated positions
			}
		}
		at[rng.IntN(len(at))] = start + seq - 1 // so that the length is the same
		for i, p := range at {
			rotation.Inverse = false
			kernels.Rotate(oneRow(want, i), oneRow(src, i), rotation, oneRow(angles, p-start), 0, 1)
			rotation.Inverse = true
			kernels.Rotate(oneRow(wantSame, i), oneRow(wantSame, i), rotation, oneRow(angles, p-start), 0, 1)
		}
		compare("ApplyAt and BackwardAt", r.ApplyAt(dst, src, heads, at), r.BackwardAt(same, same, heads, at))
	}
}

func oneRow(m rowvec.Matrix, row int) rowvec.Matrix { return check.Window(m, row, 1, 0, m.Cols) }

// TestRotaryProperties: position 0 is the identity, lengths are kept, the inverse undoes, and dot products depend on
// distances alone.
func TestRotaryProperties(t *testing.T) {
	const dim, heads = 64, 2
	rng := rand.New(rand.NewPCG(43, 1))
	for _, options := range [][]RotaryOption{nil, {Interleaved()}, {Scaled(Llama3{8, 1, 4, 8192}), Base(500000)}} {
		r := rotary(t, dim, options...)
		q, k := matrix(rng, 1, dim*heads, 0), matrix(rng, 1, dim*heads, 0)
		at := func(m rowvec.Matrix, pos int) rowvec.Matrix {
			m = clone(m)
			if err := r.Apply(m, m, heads, 1, pos); err != nil {
				t.Fatal(err)
			}
			return m
		}
		dot := func(x, y []float32) (sum float64) {
			for i, v := range x {
				sum += float64(v) * float64(y[i])
			}
			return sum
		}
		if zero := at(q, 0); !slices.Equal(zero.Data, q.Data) {
			t.Errorf("%v: position 0 changes %v to %v", r, q.Data, zero.Data)
		}
		for range 100 {
			distance, from := rng.IntN(4000), rng.IntN(1<<30)
			for h := range heads {
				head := func(m rowvec.Matrix) []float32 { return m.Data[h*dim:][:dim] }
				near, far := dot(head(at(q, distance)), head(k)), dot(head(at(q, from+distance)), head(at(k, from)))
				if math.Abs(near-far) > 1e-6 {
					t.Fatalf("%v: at distance %d, the dot product is %v from 0 and %v from %d", r, distance, near, far, from)
				}
				if before, after := dot(head(q), head(q)), dot(head(at(q, from)), head(at(q, from))); math.Abs(before-after) > 2e-6 {
					t.Fatalf("%v: position %d changes a square of the norm of %v to %v", r, from, before, after)
				}
			}
			back := at(q, from)
			if err := r.Backward(back, back, heads, 1, from); err != nil {
				t.Fatal(err)
			}
			for i, x := range back.Data {
				if math.Abs(float64(x-q.Data[i])) > 2e-7 {
					t.Fatalf("%v: there and back, element %d is %v, want %v", r, i, x, q.Data[i])
				}
			}
		}
	}
}

// TestRotaryGradient holds Backward, BackwardAt and BackwardAxes to differences of rotations by the formula. Cosines and sines are
// off by 3.1e-8 times the amplitude, however small they are, and with an amplitude are rounded twice more: with gradients a and b of
// a pair, that is less than 3*2^-24 of |a| + |b|, which is at most twice the larger of |a cos| + |b sin| and |b cos| + |a sin|: as
// much as 6 roundings of the larger one. Products are rounded besides.
func TestRotaryGradient(t *testing.T) {
	const heads, dim, headDim, seq, rows, start, roundings = 2, 8, 11, 3, 6, 5, 7
	rng := rand.New(rand.NewPCG(44, 1))
	linear, yarn, dynamic := []float64{0, 0.25, 0.5, 0.75}, YaRN{Factor: 4, Original: 64}, DynamicNTK{3, 200}
	following, ragged := make([]int, rows), []int{250, 0, 251, 252, 3, 3}
	for i := range following {
		following[i] = start + i%seq
	}
	for _, c := range []struct {
		options   []RotaryOption
		scaling   Scaling
		axes      []int     // of each pair
		exponents []float64 // of the base, of each pair
	}{
		{nil, nil, []int{0, 0, 0, 0}, linear},
		{[]RotaryOption{Interleaved(), Table(20)}, nil, []int{0, 0, 0, 0}, linear},
		{nil, yarn, []int{0, 0, 0, 0}, linear},
		{[]RotaryOption{Interleaved()}, dynamic, []int{0, 0, 0, 0}, linear},
		{[]RotaryOption{Sections(2, 1, 1)}, yarn, []int{0, 0, 1, 2}, linear},
		{[]RotaryOption{InterleavedSections(2, 1, 1), Interleaved()}, nil, []int{0, 1, 2, 0}, linear},
		{[]RotaryOption{Axial(2, 1, 1), Table(300)}, nil, []int{0, 0, 1, 2}, []float64{0, 0.5, 0, 0}},
	} {
		r := rotary(t, dim, append(c.options, Scaled(c.scaling))...)
		axes := 1 + slices.Max(c.axes)
		src, dOut := matrix(rng, rows, heads*headDim, 0), matrix(rng, rows, heads*headDim, 0)
		x := derivatives.Wide(src.Data)
		for _, method := range []string{"Backward", "BackwardAt", "BackwardAxes"} {
			at := slices.Repeat([][]int{following}, axes)
			switch method {
			case "BackwardAt":
				at = slices.Repeat([][]int{ragged}, axes)
			case "BackwardAxes":
				at = [][]int{ragged, {1, 1, 2, 30, 31, 4}, {7, 260, 0, 8, 9, 10}}[:axes]
			}
			length := 0
			for _, at := range at {
				length = max(length, 1+slices.Max(at))
			}
			f := Frequencies{Base: 10000, Amplitude: 1}
			if c.scaling != nil {
				var err error
				if f, err = c.scaling.Frequencies(dim, f.Base, length); err != nil {
					t.Fatal(err)
				}
			}
			amplitude := cmp.Or(f.Amplitude, 1)
			forward := func() []float64 {
				y := slices.Clone(x)
				for i, exponent := range c.exponents {
					frequency, first, second := math.Pow(f.Base, -exponent), i, i+dim/2
					if f.Multipliers != nil {
						frequency *= f.Multipliers[i]
					}
					if r.interleaved {
						first, second = 2*i, 2*i+1
					}
					for head := range rows * heads {
						sin, cos := math.Sincos(float64(at[c.axes[i]][head/heads]) * frequency)
						a, b := x[head*headDim+first], x[head*headDim+second]
						y[head*headDim+first] = amplitude * (a*cos - b*sin)
						y[head*headDim+second] = amplitude * (b*cos + a*sin)
					}
				}
				return y
			}
			want := derivatives.Of(forward, x, headDim, 0.5, dOut.Data, roundings, true)
			what := fmt.Sprintf("%v, %s", r, method)
			isatest.Each(t, func(t *testing.T) {
				out, grad := zeros(rows, heads*headDim), zeros(rows, heads*headDim)
				var err error
				switch method {
				case "Backward":
					err = errors.Join(r.Apply(out, src, heads, seq, start), r.Backward(grad, dOut, heads, seq, start))
				case "BackwardAt":
					err = errors.Join(r.ApplyAt(out, src, heads, at[0]), r.BackwardAt(grad, dOut, heads, at[0]))
				case "BackwardAxes":
					err = errors.Join(r.ApplyAxes(out, src, heads, at), r.BackwardAxes(grad, dOut, heads, at))
				}
				if err != nil {
					t.Fatal(err)
				}
				derivatives.Same(t, what, out.Data, forward())
				want.Hold(t, what, grad.Data)
			})
		}
	}
}

// TestRotaryReference holds rotations and gradients to PyTorch, whose angles in float32 are within 2e-5 at such positions.
func TestRotaryReference(t *testing.T) {
	for _, c := range reference.RotaryCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			n := c.Angles.Cols
			options := []RotaryOption{Base(c.Base)}
			if c.Interleaved {
				options = append(options, Interleaved())
			}
			if c.Amplitude != 1 {
				options = append(options, Scaled(fixed{Base: c.Base, Amplitude: float64(c.Amplitude)}))
			}
			r := rotary(t, n, options...)
			angles := r.angles(t, c.Start, c.Seq)
			for i, x := range angles.Data {
				if y := c.Angles.Data[i]; math.Abs(float64(x-y)) > 2e-5 {
					t.Fatalf("angle %d is %v, want %v", i, x, y)
				}
			}
			// A pair is off by no more than the angles are, times the sum of its elements, and three roundings.
			close := func(what string, got rowvec.Matrix, src, want reference.Matrix) {
				t.Helper()
				dim := src.Cols / c.Heads
				for i := range got.Rows {
					for j, x := range got.Row(i) {
						k := j % dim
						partner := j
						switch {
						case k >= n:
						case c.Interleaved:
							partner = j - k + (k ^ 1)
						case k < n/2:
							partner = j + n/2
						default:
							partner = j - n/2
						}
						size := math.Abs(float64(src.Row(i)[j])) + math.Abs(float64(src.Row(i)[partner]))
						if y := want.Row(i)[j]; !(math.Abs(float64(x)-float64(y)) <= 2.1e-5*size) {
							t.Fatalf("%s: row %d, column %d: %v, want %v", what, i, j, x, y)
						}
					}
				}
			}
			out, grad := reference.Zeros(c.Src, 1), reference.Copy(c.DOut, 2)
			if err := r.Apply(out, c.Src.Matrix, c.Heads, c.Seq, c.Start); err != nil {
				t.Fatal(err)
			}
			close("Apply", out, c.Src, c.Out)
			if err := r.Backward(grad, grad, c.Heads, c.Seq, c.Start); err != nil {
				t.Fatal(err)
			}
			close("Backward", grad, c.DOut, c.Grad)
		})
	}
}

// fixed is a Scaling that returns itself.
type fixed Frequencies

func (f fixed) Frequencies(int, float64, int) (Frequencies, error) { return Frequencies(f), nil }
func (f fixed) Kind() string                                       { return "fixed" }
func (f fixed) ByLength() bool                                     { return false }
func (f fixed) String() string                                     { return "fixed" }

// TestRotaryByLength: a Scaling by length sees the length of each call, also where the last one was longer.
func TestRotaryByLength(t *testing.T) {
	const dim = 8
	s := DynamicNTK{Factor: 2, Original: 10}
	r := rotary(t, dim, Scaled(s), Table(20))
	rng := rand.New(rand.NewPCG(44, 1))
	for _, length := range []int{3, 10, 11, 500, 11, 11, 500, 2, 40} {
		f, err := s.Frequencies(dim, 10000, length)
		if err != nil {
			t.Fatal(err)
		}
		plain := rotary(t, dim, Base(f.Base))
		x := matrix(rng, length, dim, 0)
		y, z, want := clone(x), clone(x), clone(x)
		at := make([]int, length)
		for i := range at {
			at[i] = (i*7 + 3) % length
		}
		at[length/2] = length - 1
		if err := errors.Join(plain.Apply(want, want, 1, length, 0), r.Apply(y, y, 1, length, 0)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(y.Data, want.Data) {
			t.Errorf("Apply of length %d differs", length)
		}
		y = clone(x)
		if err := errors.Join(plain.BackwardAt(y, x, 1, at), r.BackwardAt(z, z, 1, at)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(y.Data, z.Data) {
			t.Errorf("BackwardAt of length %d differs", length)
		}
	}
}

// TestRotaryErrors holds errors to their exact texts; nothing may have changed.
func TestRotaryErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 1))
	m := func(rows, cols int) rowvec.Matrix { return matrix(rng, rows, cols, 0) }
	r, without := rotary(t, 4, Table(8)), rotary(t, 4)
	dst, src := m(6, 10), m(6, 10)
	at := []int{0, 1, 2, 3, 4, 5}
	narrow, short, shifted, negative := src, src, dst, src
	narrow.Stride = 9
	short.Data = short.Data[:59]
	shifted.Data, shifted.Rows = dst.Data[10:], 5
	negative.Rows = -1
	few := check.Window(dst, 0, 5, 0, 10)
	inTable := rowvec.Matrix{Rows: 1, Cols: 10, Stride: 10, Data: r.table.Data}
	before := [][]float32{slices.Clone(dst.Data), slices.Clone(src.Data), slices.Clone(r.table.Data)}
	new := func(dim int, options ...RotaryOption) func() error {
		return func() error {
			r, err := NewRotary(dim, options...)
			if (r == nil) != (err != nil) {
				t.Errorf("dim %d: %v and %v", dim, r, err)
			}
			return err
		}
	}
	const op = "rowvec: positional.Rotary."
	for name, c := range map[string]struct {
		do   func() error
		want string
	}{
		"no dim":  {new(0), "rowvec: positional.NewRotary: dim is 0, want at least 2"},
		"odd dim": {new(5), "rowvec: positional.NewRotary: dim is 5, want a multiple of 2"},
		"large dim": {new(math.MaxInt - 1),
			fmt.Sprintf("rowvec: positional.NewRotary: dim is %d, want at most %d", math.MaxInt-1, maxWaves)},
		"base 1":        {new(4, Base(1)), "rowvec: positional.NewRotary: base is 1, want a finite one above 1"},
		"base NaN":      {new(4, Base(math.NaN())), "rowvec: positional.NewRotary: base is NaN, want a finite one above 1"},
		"base infinite": {new(4, Base(math.Inf(1))), "rowvec: positional.NewRotary: base is +Inf, want a finite one above 1"},
		"workers":       {new(4, Workers(-1)), "rowvec: positional.NewRotary: workers is -1, want at least 0"},
		"table":         {new(4, Table(-1)), "rowvec: positional.NewRotary: length is -1, want at least 0"},
		"large table": {new(1<<20, Table(math.MaxInt)),
			fmt.Sprintf("rowvec: positional.NewRotary: length is %d, want at most %d",
				math.MaxInt, pages.MaxBytes/4>>20)},
		"scaling":    {new(4, Scaled(Linear{0.5})), "rowvec: positional.Linear.Frequencies: Factor is 0.5, want a finite one of at least 1"},
		"no scaling": {new(4, Scaled(nil)), ""},
		"its base":   {new(4, Scaled(fixed{Base: 1, Amplitude: 1})), "rowvec: positional.NewRotary: base of fixed is 1, want a finite one above 1"},
		"its amplitude": {new(4, Scaled(fixed{Base: 2, Amplitude: math.Inf(1)})),
			"rowvec: positional.NewRotary: amplitude of fixed is +Inf, want one that is finite and not 0 as a float32"},
		"its multiplier": {new(4, Scaled(fixed{2, []float64{1, -1}, 1})), "rowvec: positional.NewRotary: multiplier of fixed is -1, want a finite one of at least 0"},
		"multipliers":    {new(4, Scaled(fixed{2, []float64{1}, 1})), "rowvec: positional.NewRotary: number of multipliers is 1, want 2"},

		"rows":          {func() error { return r.Apply(dst, m(5, 10), 2, 3, 0) }, op + "Apply: src.Rows is 5, want 6"},
		"columns":       {func() error { return r.Apply(dst, m(6, 8), 2, 3, 0) }, op + "Apply: src.Cols is 8, want 10"},
		"stride":        {func() error { return r.Apply(dst, narrow, 2, 3, 0) }, op + "Apply: src.Stride is 9, want at least 10"},
		"data":          {func() error { return r.Apply(short, src, 2, 3, 0) }, op + "Apply: len(dst.Data) is 59, want at least 60"},
		"negative rows": {func() error { return r.Apply(negative, src, 2, 3, 0) }, op + "Apply: dst.Rows is -1, want at least 0"},
		"no heads":      {func() error { return r.Apply(dst, src, 0, 3, 0) }, op + "Apply: heads is 0, want at least 1"},
		"heads":         {func() error { return r.Apply(dst, src, 3, 3, 0) }, op + "Apply: dst.Cols is 10, want a multiple of 3"},
		"many heads":    {func() error { return r.Apply(dst, src, 5, 3, 0) }, op + "Apply: dst.Cols/heads is 2, want at least 4"},
		"no seq":        {func() error { return r.Apply(dst, src, 2, 0, 0) }, op + "Apply: seq is 0, want at least 1"},
		"part":          {func() error { return r.Apply(dst, src, 2, 4, 0) }, op + "Apply: dst.Rows is 6, want a multiple of 4"},
		"early":         {func() error { return r.Apply(dst, src, 2, 3, -1) }, op + "Apply: start is -1, want at least 0"},
		"late": {func() error { return r.Apply(dst, src, 2, 3, math.MaxInt-2) },
			fmt.Sprintf(op+"Apply: start is %d, want at most %d", math.MaxInt-2, math.MaxInt-3)},
		"early without table": {func() error { return without.Apply(dst, src, 2, 3, -1) }, op + "Apply: start is -1, want at least 0"},
		"late without table": {func() error { return without.Apply(dst, src, 2, 3, math.MaxInt-2) },
			fmt.Sprintf(op+"Apply: start is %d, want at most %d", math.MaxInt-2, math.MaxInt-3)},
		"far from table": {func() error { return r.Apply(inTable, m(1, 10), 2, 1, 100) }, op + "Apply: dst overlaps table"},
		"overlap":        {func() error { return r.Apply(few, shifted, 2, 1, 0) }, op + "Apply: dst overlaps src"},
		"table overlaps": {func() error { return r.Apply(inTable, m(1, 10), 2, 1, 0) }, op + "Apply: dst overlaps table"},
		"nothing":        {func() error { return r.Apply(m(0, 10), m(0, 10), 2, 0, -1) }, ""},

		"backward":         {func() error { return r.Backward(dst, m(5, 10), 2, 3, 0) }, op + "Backward: dOut.Rows is 5, want 6"},
		"backward overlap": {func() error { return r.Backward(few, shifted, 2, 1, 0) }, op + "Backward: dst overlaps dOut"},

		"few positions": {func() error { return r.ApplyAt(dst, src, 2, at[:5]) }, op + "ApplyAt: len(at) is 5, want 6"},
		"position": {func() error { return r.ApplyAt(dst, src, 2, []int{0, 0, -3, 0, 0, 0}) },
			fmt.Sprintf(op+"ApplyAt: position id -3 at position 2 is outside [0, %d)", math.MaxInt)},
		"last position": {func() error { return r.ApplyAt(dst, src, 2, []int{0, 0, 0, math.MaxInt, 0, 0}) },
			fmt.Sprintf(op+"ApplyAt: position id %d at position 3 is outside [0, %[1]d)", math.MaxInt)},
		"heads at":     {func() error { return r.ApplyAt(dst, src, 4, at) }, op + "ApplyAt: dst.Cols is 10, want a multiple of 4"},
		"backward at":  {func() error { return r.BackwardAt(dst, m(6, 9), 2, at) }, op + "BackwardAt: dOut.Cols is 9, want 10"},
		"overlap at":   {func() error { return r.BackwardAt(few, shifted, 2, at[:5]) }, op + "BackwardAt: dst overlaps dOut"},
		"nothing at":   {func() error { return r.ApplyAt(m(0, 10), m(0, 10), 2, nil) }, ""},
		"angles":       {func() error { return r.Angles(m(2, 6), 0) }, op + "Angles: dst.Cols is 6, want 4"},
		"angles early": {func() error { return r.Angles(m(2, 4), -1) }, op + "Angles: start is -1, want at least 0"},
		"angles late": {func() error { return r.Angles(m(2, 4), math.MaxInt-1) },
			fmt.Sprintf(op+"Angles: start is %d, want at most %d", math.MaxInt-1, math.MaxInt-2)},
		"angles in table": {func() error { return r.Angles(r.table, 3) }, op + "Angles: dst overlaps table"},
		"no angles":       {func() error { return r.Angles(m(0, 4), -1) }, ""},
	} {
		err := c.do()
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%s: error %q, want %q", name, got, c.want)
		}
		for i, x := range [][]float32{dst.Data, src.Data, r.table.Data} {
			if !slices.Equal(x, before[i]) {
				t.Fatalf("%s: memory %d has changed", name, i)
			}
		}
	}
}

func TestRotaryString(t *testing.T) {
	for want, options := range map[string][]RotaryOption{
		"Rotary(dim=8)":                                     nil,
		"Rotary(dim=8, base=500000)":                        {Base(500000), nil, Table(3), Workers(2)},
		"Rotary(dim=8, interleaved)":                        {Interleaved()},
		"Rotary(dim=8, scaling=Linear(factor=4))":           {Scaled(Linear{4})},
		"Rotary(dim=8, interleaved, scaling=NTK(factor=2))": {Scaled(NTK{2}), Interleaved()},
	} {
		if r := rotary(t, 8, options...); r.String() != want || r.Dim() != 8 {
			t.Errorf("%v of dim %d, want %s", r, r.Dim(), want)
		}
	}
}

// TestRotaryOfNoMatrix: a few rows of too few elements are refused before there is room for their angles, which would be 64 MiB.
func TestRotaryOfNoMatrix(t *testing.T) {
	r, err := NewRotary(1<<16, Workers(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]float32{nil, make([]float32, r.Dim())} {
		m := rowvec.Matrix{Rows: 256, Cols: r.Dim(), Stride: r.Dim(), Data: data}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = r.Apply(m, m, 1, m.Rows, 0)
		runtime.ReadMemStats(&after)
		if shape := (*rowvec.ShapeError)(nil); !errors.As(err, &shape) {
			t.Errorf("%d elements: error %v", len(data), err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%d elements: %d bytes", len(data), n)
		}
	}
}

// TestRotaryNoAllocation: there is none in steady state, whatever the calls have to compute.
func TestRotaryNoAllocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(46, 1))
	x, y := matrix(rng, 600, 16, 0), matrix(rng, 600, 16, 0)
	at, angles, few := make([]int, 600), matrix(rng, 5, 8, 0), matrix(rng, 5, 16, 0)
	for i := range at {
		at[i] = i * 7 % 450
	}
	for _, r := range []*Rotary{rotary(t, 8), rotary(t, 8, Table(100), Workers(1)), rotary(t, 8, Scaled(YaRN{Factor: 2, Original: 20})),
		rotary(t, 8, Scaled(DynamicNTK{2, 10000}))} { // by length, but as before
		isatest.NoAllocation(t, r.String(), func() {
			for _, err := range [...]error{
				r.Apply(x, y, 2, 300, 0), r.Backward(x, x, 2, 300, 0), r.ApplyAt(y, x, 2, at), r.BackwardAt(y, y, 2, at),
				r.Apply(few, few, 2, 5, 98), r.ApplyAt(few, few, 2, at[:5]), r.ApplyAt(few, few, 2, at[60:65]), r.Angles(angles, 3),
			} {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestRotaryMeanwhile has another goroutine change a position while rows are rotated, and others rotate with the same
// Rotary: any outcome will do but a fault or an error of another kind.
func TestRotaryMeanwhile(t *testing.T) {
	if race.Enabled {
		t.Skip("is a race on purpose")
	}
	rng := rand.New(rand.NewPCG(47, 1))
	at, first := make([]int, 512), make([]int, 512)
	first[400] = 3 // or the axes would have the same positions
	var stop atomic.Bool
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; !stop.Load(); i++ {
			at[300] = []int{0, 5, -1, math.MaxInt, 99, 100, math.MinInt}[i%7]
		}
	})
	for range 3 {
		x := matrix(rng, 512, 16, 0)
		wait.Go(func() {
			for _, options := range [][]RotaryOption{{Table(100)}, nil, {Scaled(DynamicNTK{2, 20})}} {
				r, axes := rotary(t, 8, options...), rotary(t, 8, append(options, Sections(2, 2))...)
				for range 300 {
					err := r.ApplyAt(x, x, 2, at)
					if err == nil {
						err = axes.ApplyAxes(x, x, 1, [][]int{first, at})
					}
					var index *rowvec.IndexError
					if err != nil && !errors.Is(err, rowvec.ErrChanged) && !errors.As(err, &index) {
						t.Error(err)
						return
					}
				}
			}
			stop.Store(true)
		})
	}
	wait.Wait()
}

// TestRotaryChanged: an id that a part finds out of range has changed.
func TestRotaryChanged(t *testing.T) {
	for _, at := range [][]int{{3, -1}, {20, -1}, {20, math.MaxInt}, {math.MaxInt, math.MaxInt}, {math.MinInt, 20}} {
		r := rotary(t, 4, Table(10))
		m := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: make([]float32, 8)}
		p := r.begin(r.first, m, m, 1, false)
		p.at = at
		if err := p.end("op", 1, 1); !errors.Is(err, rowvec.ErrChanged) || !strings.HasSuffix(err.Error(), "(op)") {
			t.Errorf("%v: error %v", at, err)
		}
	}
}

// BenchmarkRotary rotates 8 x 1024 x 12 x 64 where it is, on one goroutine: with angles computed as they are needed, from a
// table, by the kernel alone, and by the loop that one would write; beside the scaling of as much memory, once.
func BenchmarkRotary(b *testing.B) {
	const batch, seq, heads, dim = 8, 1024, 12, 64
	x, _ := rowvec.NewMatrix(batch*seq, heads*dim)
	streamed, stored := rotary(b, dim, Workers(1)), rotary(b, dim, Workers(1), Table(seq))
	angles := stored.angles(b, 0, seq)
	for name, call := range map[string]func() error{
		"streamed": func() error { return streamed.Apply(x, x, heads, seq, 0) },
		"table":    func() error { return stored.Apply(x, x, heads, seq, 0) },
		"kernel":   func() error { return rowvec.Rotate(x, x, rowvec.Rotation{Heads: heads}, angles, 0, seq) },
		"interleaved": func() error {
			return rowvec.Rotate(x, x, rowvec.Rotation{Heads: heads, Interleaved: true}, angles, 0, seq)
		},
		"scale": func() error { rowvec.Scale(x.Data, 1); return nil },
		"naive": func() error {
			for i := range x.Rows {
				row, angle := x.Row(i), angles.Row(i%seq)
				for h := 0; h < len(row); h += dim {
					for j := range dim / 2 {
						a, b, cos, sin := row[h+j], row[h+dim/2+j], angle[j], angle[dim/2+j]
						row[h+j], row[h+dim/2+j] = a*cos-b*sin, b*cos+a*sin
					}
				}
			}
			return nil
		},
	} {
		b.Run("impl="+name, func(b *testing.B) {
			b.SetBytes(int64(len(x.Data) * 8))
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRotaryDecode rotates one token of each of 16 sequences, somewhere behind position 4000.
func BenchmarkRotaryDecode(b *testing.B) {
	const heads, dim = 12, 64
	x, _ := rowvec.NewMatrix(16, heads*dim)
	at := make([]int, x.Rows)
	for i := range at {
		at[i] = 4000 + 37*i
	}
	for name, r := range map[string]*Rotary{"streamed": rotary(b, dim), "table": rotary(b, dim, Table(5000))} {
		b.Run("impl="+name+"/one", func(b *testing.B) {
			for b.Loop() {
				if err := r.Apply(x, x, heads, 1, 4100); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("impl="+name+"/each", func(b *testing.B) {
			for b.Loop() {
				if err := r.ApplyAt(x, x, heads, at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
