package positional

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
)

// TestErrors checks the text of every error, that its type is one that programs can tell, and that nothing was written.
func TestErrors(t *testing.T) {
	const dim, limit = 4, 8
	var (
		r        = rand.New(rand.NewPCG(1, 1))
		m        = func(rows, cols int) rowvec.Matrix { return matrix(r, rows, cols, 0) }
		l        = learned(t, limit, dim, 1)
		s        = sinusoidal(t, limit, dim)
		x, grad  = m(6, dim), m(limit, dim)
		table    = l.rows(2, 4)
		fixed    = check.Window(s.Table(), 2, 4, 0, dim)
		narrow   = rowvec.Matrix{Rows: 2, Cols: dim, Stride: dim - 1, Data: make([]float32, 20)}
		short    = rowvec.Matrix{Rows: 2, Cols: dim, Stride: dim, Data: make([]float32, 7)}
		negative = rowvec.Matrix{Rows: -1, Cols: dim, Stride: dim}
		shifted  = rowvec.Matrix{Rows: limit - 1, Cols: dim, Stride: dim, Data: grad.Data[1:]}
		at       = make([]int, 4*dim)
		own      = rowvec.Matrix{Rows: 4, Cols: dim, Data: unsafe.Slice((*float32)(unsafe.Pointer(&at[0])), 4*dim), Stride: dim}
		huge     = rowvec.Matrix{Rows: math.MaxInt, Cols: dim, Stride: dim, Data: make([]float32, 8)}
	)
	for name, c := range map[string]struct {
		do   func() error
		want string
	}{
		"learned: dims":         {func() error { return l.AddTo(m(6, 5), 3, 0) }, "rowvec: positional.Learned.AddTo: x.Cols is 5, want 4"},
		"learned: long":         {func() error { return l.AddTo(m(9, dim), 9, 0) }, "rowvec: positional.Learned.AddTo: seq is 9, want at most 8"},
		"learned: late":         {func() error { return l.AddTo(x, 3, 6) }, "rowvec: positional.Learned.AddTo: start is 6, want at most 5"},
		"learned: early":        {func() error { return l.AddTo(x, 3, -1) }, "rowvec: positional.Learned.AddTo: start is -1, want at least 0"},
		"learned: overflow":     {func() error { return l.AddTo(x, 3, math.MaxInt) }, ""},
		"learned: part":         {func() error { return l.AddTo(x, 4, 0) }, "rowvec: positional.Learned.AddTo: x.Rows is 6, want a multiple of 4"},
		"learned: no seq":       {func() error { return l.AddTo(x, 0, 0) }, "rowvec: positional.Learned.AddTo: seq is 0, want at least 1"},
		"learned: stride":       {func() error { return l.AddTo(narrow, 1, 0) }, "rowvec: positional.Learned.AddTo: x.Stride is 3, want at least 4"},
		"learned: data":         {func() error { return l.AddTo(short, 1, 0) }, "rowvec: positional.Learned.AddTo: len(x.Data) is 7, want at least 8"},
		"learned: rows":         {func() error { return l.AddTo(negative, 1, 0) }, "rowvec: positional.Learned.AddTo: x.Rows is -1, want at least 0"},
		"learned: huge":         {func() error { return l.AddTo(huge, 1, 0) }, ""},
		"learned: overlap":      {func() error { return l.AddTo(table, 2, 0) }, "rowvec: positional.Learned.AddTo: x overlaps table"},
		"learned: fill dims":    {func() error { return l.Fill(m(2, 3), 0) }, "rowvec: positional.Learned.Fill: dst.Cols is 3, want 4"},
		"learned: fill long":    {func() error { return l.Fill(m(9, dim), 0) }, "rowvec: positional.Learned.Fill: dst.Rows is 9, want at most 8"},
		"learned: fill late":    {func() error { return l.Fill(x, 3) }, "rowvec: positional.Learned.Fill: start is 3, want at most 2"},
		"learned: fill early":   {func() error { return l.Fill(x, -3) }, "rowvec: positional.Learned.Fill: start is -3, want at least 0"},
		"learned: fill overlap": {func() error { return l.Fill(table, 0) }, "rowvec: positional.Learned.Fill: dst overlaps table"},
		"backward: grad rows":   {func() error { return l.Backward(x, x, 3, 0) }, "rowvec: positional.Learned.Backward: grad.Rows is 6, want 8"},
		"backward: grad cols":   {func() error { return l.Backward(m(8, 3), x, 3, 0) }, "rowvec: positional.Learned.Backward: grad.Cols is 3, want 4"},
		"backward: dOut cols":   {func() error { return l.Backward(grad, m(6, 3), 3, 0) }, "rowvec: positional.Learned.Backward: dOut.Cols is 3, want 4"},
		"backward: part":        {func() error { return l.Backward(grad, x, 4, 0) }, "rowvec: positional.Learned.Backward: dOut.Rows is 6, want a multiple of 4"},
		"backward: late":        {func() error { return l.Backward(grad, x, 6, 3) }, "rowvec: positional.Learned.Backward: start is 3, want at most 2"},
		"backward: overlap":     {func() error { return l.Backward(grad, shifted, 1, 0) }, "rowvec: positional.Learned.Backward: grad overlaps dOut"},

		"sinusoidal: dims":         {func() error { return s.AddTo(m(6, 5), 3, 0) }, "rowvec: positional.Sinusoidal.AddTo: x.Cols is 5, want 4"},
		"sinusoidal: early":        {func() error { return s.AddTo(x, 3, -1) }, "rowvec: positional.Sinusoidal.AddTo: start is -1, want at least 0"},
		"sinusoidal: overflow":     {func() error { return s.AddTo(x, 3, math.MaxInt-2) }, ""},
		"sinusoidal: part":         {func() error { return s.AddTo(x, 4, 0) }, "rowvec: positional.Sinusoidal.AddTo: x.Rows is 6, want a multiple of 4"},
		"sinusoidal: no seq":       {func() error { return s.AddTo(x, -2, 0) }, "rowvec: positional.Sinusoidal.AddTo: seq is -2, want at least 1"},
		"sinusoidal: overlap":      {func() error { return s.AddTo(fixed, 2, 100) }, "rowvec: positional.Sinusoidal.AddTo: x overlaps table"},
		"sinusoidal: fill dims":    {func() error { return s.Fill(m(2, 3), 0) }, "rowvec: positional.Sinusoidal.Fill: dst.Cols is 3, want 4"},
		"sinusoidal: fill early":   {func() error { return s.Fill(x, -1) }, "rowvec: positional.Sinusoidal.Fill: start is -1, want at least 0"},
		"sinusoidal: fill late":    {func() error { return s.Fill(x, math.MaxInt) }, ""},
		"sinusoidal: fill overlap": {func() error { return s.Fill(fixed, 2) }, "rowvec: positional.Sinusoidal.Fill: dst overlaps table"},
		"sinusoidal: at dims":      {func() error { return s.FillAt(m(2, 3), []int{1, 2}) }, "rowvec: positional.Sinusoidal.FillAt: dst.Cols is 3, want 4"},
		"sinusoidal: at rows":      {func() error { return s.FillAt(x, []int{1, 2}) }, "rowvec: positional.Sinusoidal.FillAt: dst.Rows is 6, want 2"},
		"sinusoidal: at stride":    {func() error { return s.AddAt(narrow, []int{1, 2}) }, "rowvec: positional.Sinusoidal.AddAt: x.Stride is 3, want at least 4"},
		"sinusoidal: at negative":  {func() error { return s.AddAt(m(3, dim), []int{1, 20, -3}) }, "rowvec: position id -3 at position 2 is outside [0, " + strconv.Itoa(math.MaxInt) + ")"},
		"sinusoidal: at the end":   {func() error { return s.FillAt(m(1, dim), []int{math.MaxInt}) }, ""},
		"sinusoidal: at overlap":   {func() error { return s.AddAt(fixed, []int{100, 101, 0, 0}) }, "rowvec: positional.Sinusoidal.AddAt: x overlaps table"},
		"sinusoidal: at itself":    {func() error { return s.FillAt(own, at[:4]) }, "rowvec: positional.Sinusoidal.FillAt: dst overlaps positions"},
		"new: base 1":              {func() error { _, err := NewSinusoidal(1, 4, Base(1)); return err }, "rowvec: positional.NewSinusoidal: base is 1, want one above 1 and finite"},
		"new: base -10000":         {func() error { _, err := NewSinusoidal(1, 4, Base(-10000)); return err }, "rowvec: positional.NewSinusoidal: base is -10000, want one above 1 and finite"},
		"new: base NaN":            {func() error { _, err := NewSinusoidal(1, 4, Base(math.NaN())); return err }, "rowvec: positional.NewSinusoidal: base is NaN, want one above 1 and finite"},
		"new: base Inf":            {func() error { _, err := NewSinusoidal(1, 4, Base(math.Inf(1))); return err }, "rowvec: positional.NewSinusoidal: base is +Inf, want one above 1 and finite"},

		"no positions":    {func() error { _, err := NewLearned(0, 4, 1); return err }, "rowvec: positional.NewLearned: max is 0, want at least 1"},
		"no dims":         {func() error { _, err := NewLearned(4, 0, 1); return err }, "rowvec: positional.NewLearned: dim is 0, want at least 1"},
		"too many":        {func() error { _, err := NewLearned(math.MaxInt, 4, 1); return err }, ""},
		"no rows":         {func() error { _, err := LearnedFrom(rowvec.Matrix{Cols: 4, Stride: 4}); return err }, "rowvec: positional.LearnedFrom: m.Rows is 0, want at least 1"},
		"no cols":         {func() error { _, err := LearnedFrom(rowvec.Matrix{Rows: 4}); return err }, "rowvec: positional.LearnedFrom: m.Cols is 0, want at least 1"},
		"short":           {func() error { _, err := LearnedFrom(short); return err }, "rowvec: positional.LearnedFrom: len(m.Data) is 7, want at least 8"},
		"negative length": {func() error { _, err := NewSinusoidal(-1, 4); return err }, "rowvec: positional.NewSinusoidal: length is -1, want at least 0"},
		"zero dim":        {func() error { _, err := NewSinusoidal(1, 0); return err }, "rowvec: positional.NewSinusoidal: dim is 0, want at least 1"},
		"huge dim":        {func() error { _, err := NewSinusoidal(0, math.MaxInt/8); return err }, ""},
		"huge length":     {func() error { _, err := NewSinusoidal(math.MaxInt, 4); return err }, ""},
		"new: learned":    {func() error { return newNil(t, "learned", -2) }, "rowvec: positional.NewLearned: max is -2, want at least 1"},
		"new: sinusoidal": {func() error { return newNil(t, "sinusoidal", -1) }, "rowvec: positional.NewSinusoidal: length is -1, want at least 0"},
		"new: unknown":    {func() error { return newNil(t, "rotary", 1) }, `rowvec: positional.New: unknown kind "rotary": want learned, sinusoidal or none`},
	} {
		state := func() []float32 {
			return slices.Concat(x.Data, grad.Data, l.Table().Data, s.Table().Data, narrow.Data, short.Data, huge.Data)
		}
		before := state()
		err := c.do()
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if text := err.Error(); text != c.want && c.want != "" || !strings.HasPrefix(text, "rowvec: position") {
			// Without a wanted text: its limit depends on the size of an int.
			t.Errorf("%s: got  %v\nwant %s", name, err, c.want)
		}
		var (
			shape   *rowvec.ShapeError
			overlap *rowvec.OverlapError
			index   *rowvec.IndexError
			kind    *KindError
		)
		if !errors.As(err, &shape) && !errors.As(err, &overlap) && !errors.As(err, &index) && !errors.As(err, &kind) &&
			!strings.Contains(c.want, "base is") {
			t.Errorf("%s: the error is a %T", name, err)
		}
		if !slices.Equal(state(), before) {
			t.Errorf("%s: something was written", name)
		}
	}
}

// newNil returns the error of New, whose Encoding must be nil as an interface.
func newNil(t *testing.T, kind string, max int) error {
	e, err := New(kind, max, 4, 1)
	if e != nil {
		t.Errorf("New(%q) returns %v beside the error", kind, e)
	}
	return err
}

// TestEmpty: without rows, seq and start do not matter.
func TestEmpty(t *testing.T) {
	l, s := learned(t, 8, 4, 1), sinusoidal(t, 8, 4)
	none, grad := rowvec.Matrix{Cols: 4}, learned(t, 8, 4, 2).Table()
	before := slices.Clone(grad.Data)
	for _, err := range []error{l.AddTo(none, 0, -1), l.Fill(none, -1), l.Backward(grad, none, -1, 9), s.AddTo(none, -3, -1), s.Fill(none, -1)} {
		if err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(grad.Data, before) {
		t.Error("an empty gradient changed something")
	}
	if err := l.AddTo(rowvec.Matrix{Cols: 5}, 1, 0); err == nil {
		t.Error("no error for an empty matrix of other columns")
	}
}

// TestSideBySide: other columns of the same memory are no overlap.
func TestSideBySide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	all := matrix(r, 6, 10, 0)
	left, right := check.Window(all, 0, 6, 0, 4), check.Window(all, 0, 6, 5, 4)
	for _, pair := range [][2]rowvec.Matrix{{left, right}, {right, left}} {
		l, err := LearnedFrom(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		want := clone(all)
		into := check.Window(want, 0, 6, 0, 4)
		if &pair[1].Data[0] == &right.Data[0] {
			into = check.Window(want, 0, 6, 5, 4)
		}
		for i := range 6 {
			for j, p := range pair[0].Row(i) {
				into.Row(i)[j] += p
			}
		}
		if err := l.AddTo(pair[1], 6, 0); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(all.Data, want.Data) {
			t.Error("AddTo of neighbouring columns differs")
		}
	}
	l, err := LearnedFrom(left)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AddTo(check.Window(all, 0, 6, 3, 4), 6, 0); err == nil {
		t.Error("no error for columns that meet")
	}
	if err := l.AddTo(check.Window(all, 0, 5, 8, 4), 5, 0); err == nil {
		t.Error("no error for columns that meet those of the next row")
	}
}

func TestNew(t *testing.T) {
	for _, kind := range Kinds() {
		e, err := New(kind, 16, 6, 3)
		if err != nil {
			t.Fatal(err)
		}
		if kind == "none" {
			if e != nil {
				t.Errorf("none is %v", e)
			}
			continue
		}
		if e.Kind() != kind || e.Dim() != 6 || e.Table().Rows != 16 || e.Limit() < 16 {
			t.Errorf("New(%q) is %v with %d rows", kind, e, e.Table().Rows)
		}
		dst := matrix(rand.New(rand.NewPCG(1, 1)), 5, 6, 0)
		if err := e.Fill(dst, 11); err != nil || !slices.Equal(dst.Row(4), e.Table().Row(15)) {
			t.Errorf("%v: Fill gives %v, %v", e, dst.Row(4), err)
		}
	}
	if e, err := New("learned", 16, 6, 3); err != nil || !slices.Equal(e.Table().Data, learned(t, 16, 6, 3).Table().Data) {
		t.Error("New loses the seed")
	}
	if e, err := New("learned", 0, 6, 3); err != nil || e.Limit() != DefaultMax {
		t.Errorf("a max of 0 gives %v, %v", e, err)
	}
	Kinds()[0] = "changed"
	if Kinds()[0] != "learned" {
		t.Error("Kinds can be changed from outside")
	}
	var kind *KindError
	if _, err := New("rotary", 1, 1, 1); !errors.As(err, &kind) || kind.Kind != "rotary" {
		t.Errorf("the kind is %v", kind)
	}
}
