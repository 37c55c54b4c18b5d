package positional

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/reference"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// TestAxes holds rotations by positions on several axes to angles that are put together pair by pair from those of one axis: near
// and far, with and without a table, in place and apart, for any number of workers and whatever the sizes of parts.
func TestAxes(t *testing.T) {
	testAxes(t)
	defer tuning.Lower()()
	testAxes(t) // with several workers
}

func testAxes(t *testing.T) {
	rng := rand.New(rand.NewPCG(48, 1))
	trials := 150
	if isatest.Few() {
		trials = 42 // each sharing with each size
	}
	for n := range trials {
		// Each pair has an axis, and there it is one of those that a Rotary of one axis has.
		pairs := make([]int, 1+rng.IntN(4))
		half := 0
		for a := range pairs {
			pairs[a] = 1 + rng.IntN(9)
			half += pairs[a]
		}
		if n%3 == 2 { // no axis but the first can have more than its turns
			pairs[0] = half
			for a := 1; a < len(pairs); a++ {
				pairs[a] = 1 + rng.IntN((half+len(pairs)-1-a)/len(pairs))
				pairs[0] -= pairs[a]
			}
		}
		scaling := []Scaling{nil, nil, YaRN{Factor: 4, Original: 64}, DynamicNTK{3, 200}}[rng.IntN(4)]
		settings := []RotaryOption{Scaled(scaling), Base(500)}
		axisOf, rotaryOf, pairOf := make([]int, half), make([]*Rotary, half), make([]int, half)
		single := rotary(t, 2*half, settings...)
		var option RotaryOption
		switch n % 3 {
		case 0:
			option = Sections(pairs...)
		case 1:
			option = Axial(pairs...)
		default:
			option = InterleavedSections(pairs...)
		}
		first := 0
		for i := range half {
			a := 0
			if n%3 == 2 {
				if a = i % len(pairs); i/len(pairs) >= pairs[a] {
					a = 0
				}
			} else {
				for first = 0; i >= first+pairs[a]; a++ {
					first += pairs[a]
				}
			}
			axisOf[i], rotaryOf[i], pairOf[i] = a, single, i
			if n%3 == 1 {
				pairOf[i] = i - first
				if rotaryOf[i] = rotaryOf[max(0, i-1)]; i == first {
					rotaryOf[i] = rotary(t, 2*pairs[a], settings...)
				}
			}
		}

		heads, rows, start := 1+rng.IntN(4), 1+rng.IntN(70), rng.IntN(300)
		switch n % 5 {
		case 1:
			rows = 250 + rng.IntN(400)
		case 2:
			start = math.MaxInt - 300
		}
		options := []RotaryOption{option, Workers(1 + rng.IntN(5)), Table(rng.IntN(2) * rng.IntN(700))}
		rotation := rowvec.Rotation{Heads: heads}
		if rng.IntN(2) == 1 {
			options = append(options, Interleaved())
			rotation.Interleaved = true
		}
		r := rotary(t, 2*half, append(options, settings...)...)

		at := make([][]int, len(pairs))
		for a := range at {
			at[a] = make([]int, rows)
			for i := range at[a] {
				at[a][i] = start + rng.IntN(300)
				switch {
				case i > 0 && rng.IntN(3) > 0 && at[a][i-1] < start+299:
					at[a][i] = at[a][i-1] + rng.IntN(2) // runs, and repeated positions
				case a > 0 && rng.IntN(2) == 0:
					at[a][i] = at[0][i]
				}
			}
			if n%7 == 3 {
				copy(at[a], at[0])
			}
		}
		length := 0
		for a := range at {
			length = max(length, 1+slices.Max(at[a]))
		}
		angles := matrix(rng, rows, 2*half, 0)
		for i := range half {
			p := rotaryOf[i]
			turns, err := p.turns("op", length)
			if err != nil {
				t.Fatal(err)
			}
			row := matrix(rng, 1, p.dim, 0)
			for k, pos := range at[axisOf[i]] {
				if k == 0 || pos != at[axisOf[i]][k-1] {
					turns.fill(row, pos)
				}
				angles.Row(k)[i], angles.Row(k)[half+i] = row.Data[pairOf[i]], row.Data[p.dim/2+pairOf[i]]
			}
		}

		got := matrix(rng, rows, 2*half, rng.IntN(3))
		if err := r.AnglesAxes(got, at); err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if !slices.Equal(got.Row(i), angles.Row(i)) {
				t.Fatalf("%v: angles of row %d are %v, want %v", r, i, got.Row(i), angles.Row(i))
			}
		}

		headDim := 2*half + rng.IntN(2)*rng.IntN(9)
		src := matrix(rng, rows, heads*headDim, rng.IntN(3))
		dst, same := matrix(rng, src.Rows, src.Cols, rng.IntN(3)), clone(src)
		want, wantSame := clone(dst), clone(src)
		for _, inverse := range []bool{false, true} {
			rotation.Inverse = inverse
			kernels.Rotate(want, src, rotation, angles, 0, rows)
			kernels.Rotate(wantSame, wantSame, rotation, angles, 0, rows)
			do := r.ApplyAxes
			if inverse {
				do = r.BackwardAxes
			}
			if err := errors.Join(do(dst, src, heads, at), do(same, same, heads, at)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(dst.Data, want.Data) || !slices.Equal(same.Data, wantSame.Data) {
				t.Fatalf("%v, inverse %v: %d rows from %d, %d heads of %d, differ", r, inverse, rows, start, heads, headDim)
			}
		}

		// The other methods have the same position on all axes.
		for a := range at {
			copy(at[a], at[len(at)-1])
		}
		if err := errors.Join(r.ApplyAxes(dst, src, heads, at), r.ApplyAt(want, src, heads, at[0])); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(dst.Data, want.Data) {
			t.Fatalf("%v: ApplyAt is not ApplyAxes with one position", r)
		}
		if scaling == nil && n%3 != 1 {
			if err := single.ApplyAt(want, src, heads, at[0]); err != nil {
				t.Fatal(err)
			}
			if !rotation.Interleaved && !slices.Equal(dst.Data, want.Data) {
				t.Fatalf("%v: one position on all axes is not that of a Rotary of one axis", r)
			}
		}
	}
}

// TestAxesReference holds positions and angles to PyTorch, whose angles in float32 are within 2e-5 at such positions.
func TestAxesReference(t *testing.T) {
	for _, c := range reference.AxesCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			at := make([][]int, len(c.At))
			for a := range at {
				at[a] = make([]int, len(c.At[a]))
			}
			if after, err := CountGrids(at, c.Start, c.Spans...); err != nil || after != c.After {
				t.Errorf("after %d, error %v, want %d", after, err, c.After)
			}
			if !reflect.DeepEqual(at, c.At) {
				t.Fatalf("positions are %v, want %v", at, c.At)
			}
			option := map[string]func(...int) RotaryOption{
				"sections": Sections, "interleaved": InterleavedSections, "axial": Axial,
			}[c.Kind]
			// A pair 1, 0 becomes a cosine and a sine, in the order of Angles where pairs are halves.
			angles := c.Angles.Matrix
			x := clone(angles)
			for i := range x.Rows {
				for j := range x.Row(i) {
					x.Row(i)[j] = float32(1 - 2*j/x.Cols)
				}
			}
			if err := rotary(t, x.Cols, option(c.Pairs...), Base(c.Base)).ApplyAxes(x, x, 1, at); err != nil {
				t.Fatal(err)
			}
			for i := range x.Rows {
				for j, got := range x.Row(i) {
					if want := angles.Row(i)[j]; !(math.Abs(float64(got-want)) <= 2e-5) {
						t.Fatalf("row %d, angle %d: %v, want %v", i, j, got, want)
					}
				}
			}
		})
	}
}

func TestAxesErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(49, 1))
	m := func(rows, cols int) rowvec.Matrix { return matrix(rng, rows, cols, 0) }
	r, one := rotary(t, 8, Sections(1, 2, 1), Table(5)), rotary(t, 8)
	dst, src := m(3, 16), m(3, 16)
	zeros := []int{0, 0, 0}
	at := func(lists ...[]int) [][]int { return lists }
	before := slices.Clone(dst.Data)
	const op = "rowvec: positional.Rotary."
	newError := func(options ...RotaryOption) error {
		_, err := NewRotary(8, options...)
		return err
	}
	shared := m(3, 16)
	clear(shared.Data)
	inside := at(zeros, zeros, unsafe.Slice((*int)(unsafe.Pointer(&shared.Data[0])), 3))
	for _, c := range []struct {
		err  error
		want string
	}{
		{newError(Sections()), "rowvec: positional.NewRotary: number of pairs of all axes is 0, want 4"},
		{newError(Sections(1, 2)), "rowvec: positional.NewRotary: number of pairs of all axes is 3, want 4"},
		{newError(Axial(1, 0, 3)), "rowvec: positional.NewRotary: number of pairs of axis 1 is 0, want at least 1"},
		{newError(InterleavedSections(1, 2, math.MaxInt)), fmt.Sprintf("rowvec: positional.NewRotary: number of pairs of axis 2 is %d, want at most 1", math.MaxInt)},
		{newError(InterleavedSections(1, 3)), "rowvec: positional.NewRotary: number of pairs of axis 1 is 3, want at most 2"},
		{newError(Axial(3, 1), Scaled(fixed{2, []float64{1, 1, 1}, 1})), "rowvec: positional.NewRotary: number of multipliers is 3, want 1"},
		{newError(Sections(1), Sections(4)), "<nil>"},
		{r.ApplyAxes(dst, m(3, 15), 2, at(zeros, zeros, zeros)), op + "ApplyAxes: src.Cols is 15, want 16"},
		{r.ApplyAxes(dst, src, 2, at(zeros, zeros)), op + "ApplyAxes: len(at) is 2, want 3"},
		{one.ApplyAxes(dst, src, 2, nil), op + "ApplyAxes: len(at) is 0, want 1"},
		{r.BackwardAxes(dst, src, 2, at(zeros, zeros[:2], zeros)), op + "BackwardAxes: len(at[1]) is 2, want 3"},
		{r.BackwardAxes(dst, src, 2, at(zeros, zeros, []int{0, -1, 0})),
			fmt.Sprintf(op+"BackwardAxes: axis 2 position id -1 at position 1 is outside [0, %d)", math.MaxInt)},
		{r.ApplyAxes(shared, src, 2, inside), op + "ApplyAxes: dst overlaps positions"},
		{r.ApplyAxes(src, src, 0, at(zeros, zeros, zeros)), op + "ApplyAxes: heads is 0, want at least 1"},
		{r.ApplyAxes(rowvec.Matrix{Rows: 1, Cols: 16, Stride: 16, Data: r.table.Data}, m(1, 16), 2, at(zeros[:1], zeros[:1], zeros[:1])),
			op + "ApplyAxes: dst overlaps table"},
		{r.ApplyAxes(m(0, 16), m(0, 16), 2, at(nil, nil, nil)), "<nil>"},
		{r.AnglesAxes(m(3, 7), at(zeros, zeros, zeros)), op + "AnglesAxes: dst.Cols is 7, want 8"},
		{r.AnglesAxes(m(3, 8), at(zeros)), op + "AnglesAxes: len(at) is 1, want 3"},
		{r.AnglesAxes(check.Window(r.table, 1, 3, 0, 8), at(zeros, zeros, zeros)), op + "AnglesAxes: dst overlaps table"},
		{r.AnglesAxes(check.Window(shared, 0, 3, 0, 8), inside), op + "AnglesAxes: dst overlaps positions"},
		{r.AnglesAxes(m(0, 8), at(nil, nil, nil)), "<nil>"},
	} {
		if got := fmt.Sprint(c.err); got != c.want {
			t.Errorf("error %q, want %q", got, c.want)
		}
	}
	if !slices.Equal(dst.Data, before) {
		t.Error("dst has changed")
	}

	// A Scaling by length can fail at the length of the positions alone.
	far := rotary(t, 8, Sections(1, 2, 1), Scaled(untilNine{}))
	if err := far.ApplyAxes(dst, src, 2, at(zeros, []int{0, 8, 0}, zeros)); err != nil {
		t.Error(err)
	}
	if err := far.ApplyAxes(dst, src, 2, at(zeros, []int{0, 9, 0}, zeros)); !errors.Is(err, errLong) {
		t.Errorf("error %v, want %v", err, errLong)
	}
	if err := far.AnglesAxes(m(3, 8), at(zeros, []int{0, 9, 0}, zeros)); !errors.Is(err, errLong) {
		t.Errorf("error %v, want %v", err, errLong)
	}
}

// untilNine is a Scaling for sequences of up to nine positions.
type untilNine struct{ fixed }

var errLong = errors.New("too long")

func (untilNine) ByLength() bool { return true }
func (untilNine) Frequencies(_ int, base float64, length int) (Frequencies, error) {
	if length > 9 {
		return Frequencies{}, errLong
	}
	return Frequencies{Base: base}, nil
}

// reused is a Scaling that returns the same slice each time, of other numbers.
type reused struct {
	fixed
	multipliers []float64
}

func (s reused) Frequencies(dim int, base float64, _ int) (Frequencies, error) {
	for i := range s.multipliers {
		s.multipliers[i] = 1 / float64(dim)
	}
	return Frequencies{base, s.multipliers[:dim/2], float64(dim)}, nil
}

// TestAxialScaled: each axis has frequencies and an amplitude of its own.
func TestAxialScaled(t *testing.T) {
	s := reused{multipliers: make([]float64, 3)}
	r := rotary(t, 10, Axial(3, 2), Scaled(s))
	row := r.angles(t, 700, 1).Data
	for a, dim := range []int{6, 4} {
		want := rotary(t, dim, Scaled(s)).angles(t, 700, 1).Data
		first := 3 * a
		if got := slices.Concat(row[first:first+dim/2], row[5+first:][:dim/2]); !slices.Equal(got, want) {
			t.Errorf("axis %d: %v, want %v", a, got, want)
		}
	}
}

func TestAxesString(t *testing.T) {
	for want, options := range map[string][]RotaryOption{
		"Rotary(dim=8, sections=[1 2 1])":                                  {Axial(4), Sections(1, 2, 1)},
		"Rotary(dim=8, interleaved, axial=[2 2])":                          {Axial(2, 2), Interleaved()},
		"Rotary(dim=8, interleaved sections=[3 1], scaling=NTK(factor=2))": {InterleavedSections(3, 1), Scaled(NTK{2})},
	} {
		if r := rotary(t, 8, options...); r.String() != want {
			t.Errorf("%v, want %s", r, want)
		}
	}
	pairs := []int{1, 3}
	option := Sections(pairs...)
	pairs[0] = 100
	if r, err := NewRotary(8, option); err != nil || r.String() != "Rotary(dim=8, sections=[1 3])" {
		t.Errorf("%v and %v: the option keeps the caller's slice", r, err)
	}
}

func TestAxesNoAllocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(50, 1))
	x, y := matrix(rng, 600, 16, 0), matrix(rng, 600, 16, 0)
	angles := matrix(rng, 600, 8, 0)
	at := [][]int{make([]int, 600), make([]int, 600)}
	for i := range at[0] {
		at[0][i], at[1][i] = i*7%450, i/3
	}
	for _, r := range []*Rotary{
		rotary(t, 8, Sections(1, 3)), rotary(t, 8, InterleavedSections(2, 2), Table(500)),
		rotary(t, 8, Axial(2, 2), Scaled(YaRN{Factor: 2, Original: 20})), rotary(t, 8, Axial(1, 3), Workers(1)),
		rotary(t, 8, Axial(2, 2), Scaled(DynamicNTK{2, 10000})),
	} {
		isatest.NoAllocation(t, r.String(), func() {
			if err := errors.Join(r.ApplyAxes(x, y, 2, at), r.BackwardAxes(x, x, 2, at), r.AnglesAxes(angles, at)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAxesChanged: a position that a part finds out of range has changed.
func TestAxesChanged(t *testing.T) {
	for _, length := range []int{0, 10, 30} {
		for _, changed := range []int{-1, math.MinInt, math.MaxInt} {
			r := rotary(t, 4, Sections(1, 1), Table(length))
			m := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: make([]float32, 8)}
			p := r.begin(r.first, m, m, 1, false)
			p.axes = [][]int{{20, 3}, {20, changed}}
			p.at = p.axes[0]
			at := p.axes
			if err := p.end("op", 1, 1); !errors.Is(err, rowvec.ErrChanged) {
				t.Errorf("table of %d: error %v", length, err)
			}
			if r.first.fillAxes(m, r.table, at, 0) {
				t.Errorf("table of %d: angles of %v", length, at)
			}
		}
	}
}

// changing is a Scaling that changes a position, which has been checked by then.
type changing struct {
	fixed
	position *int
}

func (changing) ByLength() bool { return true }
func (s changing) Frequencies(_ int, base float64, _ int) (Frequencies, error) {
	*s.position = -1
	return Frequencies{Base: base}, nil
}

// TestAxesMeanwhile: what a call finds out of range behind its checks has changed, and it says which call.
func TestAxesMeanwhile(t *testing.T) {
	at := [][]int{{1, 2}, {3, 4}}
	r := rotary(t, 4, Sections(1, 1), Scaled(changing{position: &at[1][1]}))
	m := rowvec.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: make([]float32, 8)}
	for op, do := range map[string]func() error{
		"ApplyAxes":    func() error { return r.ApplyAxes(m, m, 1, at) },
		"BackwardAxes": func() error { return r.BackwardAxes(m, m, 1, at) },
		"AnglesAxes":   func() error { return r.AnglesAxes(m, at) },
	} {
		at[1][1] = 4
		r.last.Store(nil)
		if err := do(); !errors.Is(err, rowvec.ErrChanged) || !strings.HasSuffix(err.Error(), "(positional.Rotary."+op+")") {
			t.Errorf("%s: error %v", op, err)
		}
	}
}

// TestOneAxisMeanwhile: nothing is left as it was where the positions on the only axis change during a call.
func TestOneAxisMeanwhile(t *testing.T) {
	if race.Enabled {
		t.Skip("is a race on purpose")
	}
	at := []int{1, 1, 1, 1}
	var stop atomic.Bool
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; !stop.Load(); i++ {
			at[i%4] = 1 + i/4%2
		}
	})
	for _, r := range []*Rotary{rotary(t, 4), rotary(t, 4, Table(10))} {
		angles := matrix(rand.New(rand.NewPCG(51, 1)), 4, 4, 0)
		for range 20000 {
			for i := range angles.Data {
				angles.Data[i] = 7
			}
			if err := r.AnglesAxes(angles, [][]int{at}); err != nil {
				t.Fatal(err)
			}
			if slices.Contains(angles.Data, 7) {
				t.Fatalf("%v has left some of %v", r, angles.Data)
			}
		}
	}
	stop.Store(true)
	wait.Wait()
}

// BenchmarkAxes rotates 16 heads of 128 elements of the 32 x 32 tokens of an image where they are, on one goroutine, and, as a
// yardstick, as many tokens of a text.
func BenchmarkAxes(b *testing.B) {
	const heads, dim, side = 16, 128, 32
	x, _ := rowvec.NewMatrix(side*side, heads*dim)
	at, text := make([][]int, 3), make([][]int, 3)
	for a := range at {
		at[a], text[a] = make([]int, x.Rows), make([]int, x.Rows)
	}
	_, image := CountGrids(at, 100, []int{1, side, side})
	_, words := CountGrids(text, 100, []int{x.Rows})
	if err := errors.Join(image, words); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		option RotaryOption
	}{{"sections", Sections(16, 24, 24)}, {"interleaved", InterleavedSections(24, 20, 20)}, {"axial", Axial(16, 24, 24)}} {
		for suffix, length := range map[string]int{"": 0, "/table": 200} {
			r := rotary(b, dim, c.option, Table(length), Workers(1))
			b.Run("impl="+c.name+suffix, func(b *testing.B) {
				for b.Loop() {
					if err := r.ApplyAxes(x, x, heads, at); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*x.Rows), "ns/token")
			})
		}
	}
	one := rotary(b, dim, Sections(16, 24, 24), Workers(1))
	for name, call := range map[string]func() error{
		"at":   func() error { return one.ApplyAt(x, x, heads, text[0]) },
		"text": func() error { return one.ApplyAxes(x, x, heads, text) },
	} {
		b.Run("impl="+name, func(b *testing.B) {
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*x.Rows), "ns/token")
		})
	}
}
