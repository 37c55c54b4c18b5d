package positional

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/derivatives"
	"github.com/rowvec/rowvec/internal/isatest"
)

func resize(t testing.TB, from, to int) *Resize {
	t.Helper()
	r, err := NewResize(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func resizeGrid(t testing.TB, prefix, fromHeight, fromWidth, toHeight, toWidth int) *Resize {
	t.Helper()
	r, err := NewGridResize(prefix, fromHeight, fromWidth, toHeight, toWidth)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// resizes are interpolations up and down, of odd sizes and even ones, from and to single rows, and to the same size.
func resizes(t testing.TB) (all []*Resize) {
	for _, c := range [][2]int{{1, 1}, {1, 6}, {6, 1}, {2, 2}, {2, 9}, {9, 2}, {7, 7}, {8, 15}, {15, 8}, {10, 23}, {23, 10},
		{3, 200}, {200, 3}} {
		all = append(all, resize(t, c[0], c[1]))
	}
	for _, c := range [][5]int{{0, 1, 1, 1, 1}, {2, 1, 1, 3, 2}, {1, 3, 3, 1, 1}, {0, 2, 2, 5, 6}, {1, 3, 2, 6, 7}, {0, 5, 5, 5, 5},
		{1, 4, 7, 9, 3}, {3, 7, 4, 7, 5}, {0, 1, 5, 1, 9}, {1, 9, 11, 12, 14}, {0, 3, 3, 5, 5}} {
		all = append(all, resizeGrid(t, c[0], c[1], c[2], c[3], c[4]))
	}
	return all
}

// weights returns the matrix of an interpolation, To x From: what becomes of the rows of the identity.
func weights(t testing.TB, r *Resize) rowvec.Matrix {
	t.Helper()
	w, one := zeros(r.To(), r.From()), zeros(r.From(), r.From())
	for i := range one.Rows {
		one.Row(i)[i] = 1
	}
	if err := r.Forward(w, one); err != nil {
		t.Fatal(err)
	}
	return w
}

func zeros(rows, cols int) rowvec.Matrix {
	return rowvec.Matrix{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
}

// exactAxis returns by exact fractions what the weights of an axis are: one row for each place of the result.
func exactAxis(from, to int, cubic bool) [][]*big.Rat {
	rows := make([][]*big.Rat, to)
	for t := range rows {
		row := make([]*big.Rat, from)
		for s := range row {
			row[s] = new(big.Rat)
		}
		place := new(big.Rat)
		if to > 1 {
			place.SetFrac64(int64(t)*int64(from-1), int64(to-1))
		}
		for s := -2; s < from+2; s++ { // beyond the border, the row of the border
			d := new(big.Rat).Sub(place, big.NewRat(int64(s), 1))
			clamped := row[min(max(s, 0), from-1)]
			clamped.Add(clamped, exactKernel(d.Abs(d), cubic))
		}
		rows[t] = row
	}
	return rows
}

// exactKernel returns the weight at distance d, of a hat or of Keys's kernel with a = -3/4.
func exactKernel(d *big.Rat, cubic bool) *big.Rat {
	polynomial := func(coefficients ...*big.Rat) *big.Rat {
		sum := new(big.Rat)
		for _, c := range coefficients {
			sum.Add(sum.Mul(sum, d), c)
		}
		return sum
	}
	q := big.NewRat
	switch whole := d.Cmp(q(1, 1)); {
	case !cubic && whole < 0:
		return polynomial(q(-1, 1), q(1, 1))
	case cubic && whole < 0:
		return polynomial(q(5, 4), q(-9, 4), q(0, 1), q(1, 1))
	case cubic && d.Cmp(q(2, 1)) < 0:
		return polynomial(q(-3, 4), q(15, 4), q(-6, 1), q(3, 1)) // a(d^3 - 5d^2 + 8d - 4)
	}
	return new(big.Rat)
}

// exactWeights returns what weights has before it is rounded.
func exactWeights(r *Resize) [][]float64 {
	ys, xs := exactAxis(r.height.from, r.height.to, r.grid), exactAxis(r.width.from, r.width.to, r.grid)
	rows := make([][]float64, r.To())
	for i := range rows {
		rows[i] = make([]float64, r.From())
		for j := range rows[i] {
			switch p, s := i-r.prefix, j-r.prefix; {
			case p < 0 || s < 0:
				if i == j {
					rows[i][j] = 1
				}
			default:
				rows[i][j], _ = new(big.Rat).Mul(ys[p/r.width.to][s/r.width.from], xs[p%r.width.to][s%r.width.from]).Float64()
			}
		}
	}
	return rows
}

// TestResizeWeights holds every weight to its exact value: none where that is 0, and the nearest float32, but where the
// rounding to float64 before decides.
func TestResizeWeights(t *testing.T) {
	for _, r := range resizes(t) {
		w, want := weights(t, r), exactWeights(r)
		for i := range w.Rows {
			sum := 0.0
			for j, got := range w.Row(i) {
				exact := want[i][j]
				half := float64(math.Nextafter32(float32(math.Abs(exact)), 2)-float32(math.Abs(exact))) / 2
				if exact == 0 {
					half = 0
				}
				if !(math.Abs(float64(got)-exact) <= half*(1+1e-6)) {
					t.Errorf("%v: row %d has %v of row %d, want %v", r, i, got, j, exact)
				}
				sum += float64(got)
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("%v: the weights of row %d add up to %v", r, i, sum)
			}
		}
	}
}

// TestResizePlaces holds places of an axis as long as an int can say to exact ones.
func TestResizePlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		size := func() int { return 1 + int(r.Uint64N(math.MaxInt)>>r.UintN(bits.UintSize-1)) }
		a := axis{size(), size(), r.IntN(2) == 1}
		at := r.IntN(a.to)
		if k := r.IntN(8); k < 2 {
			at = k * (a.to - 1)
		}
		p := a.point(at)
		place := new(big.Rat)
		if a.to > 1 {
			place.SetFrac(new(big.Int).Mul(big.NewInt(int64(at)), big.NewInt(int64(a.from-1))), big.NewInt(int64(a.to-1)))
		}
		floor := new(big.Int).Div(place.Num(), place.Denom()).Int64()
		want := map[int]float64{}
		for k := range int64(6) {
			s := floor - 2 + k
			d := new(big.Rat).Sub(place, new(big.Rat).SetInt64(s))
			w, _ := exactKernel(d.Abs(d), a.cubic).Float64()
			want[int(min(max(s, 0), int64(a.from-1)))] += w
		}
		got := map[int]float64{}
		for i, s := range p.at[:p.n] {
			if s < 0 || s >= a.from || i > 0 && s != p.at[i-1]+1 {
				t.Fatalf("%+v, place %d: %+v", a, at, p)
			}
			got[s] = p.weight[i]
		}
		for s, w := range want {
			if math.Abs(got[s]-w) > 3e-16 {
				t.Fatalf("%+v, place %d: %v, want %v", a, at, got, want)
			}
			delete(got, s)
		}
		if len(got) > 0 {
			t.Fatalf("%+v, place %d: %v beside %v", a, at, got, want)
		}
		if at == a.to-1 && a.to > 1 && (p.n != 1 || p.at[0] != a.from-1) || at == 0 && (p.n != 1 || p.at[0] != 0) {
			t.Fatalf("%+v: end %d is %+v", a, at, p)
		}
	}
}

// odd fills m with numbers of many sizes, and with some that are special.
func odd(r *rand.Rand, m rowvec.Matrix) rowvec.Matrix {
	special := []uint32{0, 1 << 31, 1, 0x807fffff, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00001, 0xff812345}
	for i := range m.Data {
		m.Data[i] = (r.Float32() - 0.5) * float32(math.Ldexp(1, r.IntN(40)-20))
		if r.IntN(40) == 0 {
			m.Data[i] = math.Float32frombits(special[r.IntN(len(special))])
		}
	}
	return m
}

// sameBits reports the first element of got that is not want's, where a NaN is one whatever its payload.
func sameBits(got, want []float32) error {
	for i, x := range got {
		if y := want[i]; math.Float32bits(x) != math.Float32bits(y) && (x == x || y == y) {
			return fmt.Errorf("element %d is %v (%08x), want %v (%08x)", i, x, math.Float32bits(x), y, math.Float32bits(y))
		}
	}
	return nil
}

// TestResizeAgainstLoops holds both directions to loops over elements, at every level.
func TestResizeAgainstLoops(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, z := range resizes(t) {
			w := weights(t, z)
			for _, dim := range []int{0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100, 129, 257} {
				if isatest.Few() && z.To()*dim > 5000 {
					continue
				}
				src, dst := odd(r, matrix(r, z.From(), dim, r.IntN(4))), odd(r, matrix(r, z.To(), dim, r.IntN(4)))
				before, want := clone(src), clone(dst)
				for i := range want.Rows {
					for j := range want.Row(i) {
						want.Row(i)[j] = 0
						for s, factor := range w.Row(i) {
							switch x := src.Row(s)[j]; factor {
							case 0:
							case 1:
								want.Row(i)[j] = x
							default:
								want.Row(i)[j] += float32(factor * x)
							}
						}
					}
				}
				if err := z.Forward(dst, src); err != nil {
					t.Fatal(err)
				}
				if err := sameBits(dst.Data, want.Data); err != nil {
					t.Fatalf("%v, dim %d: Forward: %v", z, dim, err)
				}

				want = clone(src)
				for i := range dst.Rows {
					for s, factor := range w.Row(i) {
						for j := range want.Cols {
							if factor != 0 {
								want.Row(s)[j] += float32(factor * dst.Row(i)[j])
							}
						}
					}
				}
				gradient := clone(dst)
				if err := z.Backward(src, dst); err != nil {
					t.Fatal(err)
				}
				if err := sameBits(src.Data, want.Data); err != nil {
					t.Fatalf("%v, dim %d: Backward: %v", z, dim, err)
				}
				if err := sameBits(dst.Data, gradient.Data); err != nil || before.Rows != src.Rows {
					t.Fatalf("%v, dim %d: Backward changed its input: %v", z, dim, err)
				}
			}
		}
	})
}

// TestResizeKeeps: ends, tables that stay as large as they are, and rows that a place falls on keep all bits, those of
// signalling NaNs and of -0 too; so a table that has grown by a whole multiple shrinks back to what it was.
func TestResizeKeeps(t *testing.T) {
	const dim = 19
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		same := func(z *Resize, what string, got, want []float32) {
			t.Helper()
			for j, x := range got {
				if math.Float32bits(x) != math.Float32bits(want[j]) {
					t.Fatalf("%v: %s, element %d is %08x, want %08x", z, what, j, math.Float32bits(x), math.Float32bits(want[j]))
				}
			}
		}
		for _, z := range resizes(t) {
			src, dst := odd(r, matrix(r, z.From(), dim, 0)), matrix(r, z.To(), dim, 0)
			if err := z.Forward(dst, src); err != nil {
				t.Fatal(err)
			}
			same(z, "the first row", dst.Row(0), src.Row(0))
			if z.height.to > 1 && z.width.to > 1 || z.height.to > 1 && !z.grid {
				same(z, "the last row", dst.Row(z.To()-1), src.Row(z.From()-1))
			}
			if z.height.from == z.height.to && z.width.from == z.width.to {
				same(z, "the same size", dst.Data, src.Data)
			}
			if z.From() == 1 {
				for i := range dst.Rows {
					same(z, "of a single row", dst.Row(i), src.Row(0))
				}
			}
		}
		for _, c := range [][2]int{{2, 3}, {5, 2}, {9, 7}} { // sizes and how many times as fine
			src, up := odd(r, matrix(r, c[0], dim, 0)), matrix(r, (c[0]-1)*c[1]+1, dim, 0)
			back := matrix(r, c[0], dim, 0)
			if err := resize(t, src.Rows, up.Rows).Forward(up, src); err != nil {
				t.Fatal(err)
			}
			down := resize(t, up.Rows, src.Rows)
			if err := down.Forward(back, up); err != nil {
				t.Fatal(err)
			}
			same(down, "back again", back.Data, src.Data)
		}
	})
}

// TestResizeLine: a line stays one between its ends, and a grid of one value all over stays that, next to borders too.
func TestResizeLine(t *testing.T) {
	line := zeros(12, 1)
	for i := range line.Rows {
		line.Row(i)[0] = float32(3 - 2*i)
	}
	for _, to := range []int{2, 5, 12, 29, 600} {
		out := zeros(to, 1)
		if err := resize(t, 12, to).Forward(out, line); err != nil {
			t.Fatal(err)
		}
		for i, x := range out.Data {
			if want := 3 - 22*float64(i)/float64(to-1); math.Abs(float64(x)-want) > 3e-6 {
				t.Errorf("12 to %d: row %d is %v, want %v", to, i, x, want)
			}
		}
	}
	flat, out := zeros(7*5, 1), zeros(30*23, 1)
	for i := range flat.Data {
		flat.Data[i] = 1.5
	}
	if err := resizeGrid(t, 0, 7, 5, 30, 23).Forward(out, flat); err != nil {
		t.Fatal(err)
	}
	for i, x := range out.Data {
		if math.Abs(float64(x)-1.5) > 8*0x1p-23 {
			t.Errorf("row %d of a flat grid is %v", i, x)
		}
	}
}

// TestResizeGradient holds Backward to differences of interpolations by exact weights. Ours are rounded once, and so is the product.
func TestResizeGradient(t *testing.T) {
	const dim, roundings = 3, 2
	r := rand.New(rand.NewPCG(7, 8))
	for _, z := range resizes(t) {
		if z.From() > 60 {
			continue
		}
		w, src, out, dOut := exactWeights(z), matrix(r, z.From(), dim, 0), zeros(z.To(), dim), matrix(r, z.To(), dim, 0)
		x := derivatives.Wide(src.Data)
		forward := func() []float64 {
			y := make([]float64, 0, len(out.Data))
			for _, row := range w {
				for j := range dim {
					sum := 0.0
					for s, factor := range row {
						sum += factor * x[s*dim+j]
					}
					y = append(y, sum)
				}
			}
			return y
		}
		want := derivatives.Of(forward, x, dim, 0.5, dOut.Data, roundings, false)
		isatest.Each(t, func(t *testing.T) {
			grad := zeros(z.From(), dim)
			if err := errors.Join(z.Forward(out, src), z.Backward(grad, dOut)); err != nil {
				t.Fatal(err)
			}
			derivatives.Same(t, z.String(), out.Data, forward())
			want.Hold(t, z.String(), grad.Data)
		})
	}
}

func TestResized(t *testing.T) {
	l := learned(t, 37, 10, 1)
	before := clone(l.Table())
	check := func(got *Learned, err error, want *Resize) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		table := zeros(want.To(), 10)
		if err := want.Forward(table, before); err != nil {
			t.Fatal(err)
		}
		if got.Limit() != want.To() || got.Dim() != 10 || !slices.Equal(got.Table().Data, table.Data) {
			t.Errorf("%v is not what %v makes", got, want)
		}
	}
	for _, to := range []int{1, 5, 37, 38, 300} {
		got, err := l.Resized(to)
		check(got, err, resize(t, 37, to))
	}
	got, err := l.ResizedGrid(1, 6, 6, 4, 9)
	check(got, err, resizeGrid(t, 1, 6, 6, 4, 9))
	same, err := l.Resized(37)
	check(same, err, resize(t, 37, 37))
	if &same.Table().Data[0] == &l.Table().Data[0] || !slices.Equal(same.Table().Data, before.Data) {
		t.Error("the same size is no copy")
	}
	if !slices.Equal(l.Table().Data, before.Data) {
		t.Error("the table has changed")
	}
}

func TestResizeProperties(t *testing.T) {
	for want, z := range map[string]*Resize{
		"Resize(512 to 2048)":                resize(t, 512, 2048),
		"Resize(14 x 15 to 24 x 23)":         resizeGrid(t, 0, 14, 15, 24, 23),
		"Resize(2 + 1 x 14 to 2 + 24 x 192)": resizeGrid(t, 2, 1, 14, 24, 192),
	} {
		if z.String() != want {
			t.Errorf("got %v, want %s", z, want)
		}
	}
	if z := resizeGrid(t, 2, 3, 4, 5, 6); z.From() != 14 || z.To() != 32 {
		t.Errorf("from %d to %d", z.From(), z.To())
	}
	if z := resize(t, math.MaxInt, math.MaxInt-1); z.From() != math.MaxInt || z.To() != math.MaxInt-1 {
		t.Errorf("from %d to %d", z.From(), z.To())
	}
}

func TestResizeNoAllocation(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, z := range []*Resize{resize(t, 30, 200), resizeGrid(t, 1, 7, 7, 12, 12)} {
		src, dst := matrix(r, z.From(), 40, 0), matrix(r, z.To(), 40, 3)
		isatest.NoAllocation(t, z.String(), func() {
			if z.Forward(dst, src) != nil || z.Backward(src, dst) != nil {
				t.Fatal("unexpected error")
			}
		})
	}
}

func BenchmarkResize(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, z := range []*Resize{resize(b, 512, 2048), resizeGrid(b, 1, 14, 14, 24, 24)} {
		src, dst := matrix(r, z.From(), 768, 0), matrix(r, z.To(), 768, 0)
		for name, do := range map[string]func() error{
			"forward":  func() error { return z.Forward(dst, src) },
			"backward": func() error { return z.Backward(src, dst) },
		} {
			b.Run(z.String()+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(4 * len(dst.Data)))
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
