package positional

import (
	"errors"
	"fmt"
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
		table    = check.Window(l.Table(), 2, 4, 0, dim)
		fixed    = check.Window(s.Table(), 2, 4, 0, dim)
		narrow   = rowvec.Matrix{Rows: 2, Cols: dim, Stride: dim - 1, Data: make([]float32, 20)}
		short    = rowvec.Matrix{Rows: 2, Cols: dim, Stride: dim, Data: make([]float32, 7)}
		negative = rowvec.Matrix{Rows: -1, Cols: dim, Stride: dim}
		shifted  = rowvec.Matrix{Rows: limit - 1, Cols: dim, Stride: dim, Data: grad.Data[1:]}
		at       = make([]int, 4*dim)
		own      = rowvec.Matrix{Rows: 4, Cols: dim, Data: unsafe.Slice((*float32)(unsafe.Pointer(&at[0])), 4*dim), Stride: dim}
		g        = grid(t, 2, 3, dim, ClassTokens(1))
		places   = check.Window(g.Table(), 2, 4, 0, dim)
		shrink   = resize(t, limit, 4)
		pair     = resize(t, 2, 2)
		short2   = m(2, dim)
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
		"sinusoidal: at negative":  {func() error { return s.AddAt(m(3, dim), []int{1, 20, -3}) }, "rowvec: positional.Sinusoidal.AddAt: position id -3 at position 2 is outside [0, " + strconv.Itoa(math.MaxInt) + ")"},
		"sinusoidal: at the end":   {func() error { return s.FillAt(m(1, dim), []int{math.MaxInt}) }, ""},
		"sinusoidal: at overlap":   {func() error { return s.AddAt(fixed, []int{100, 101, 0, 0}) }, "rowvec: positional.Sinusoidal.AddAt: x overlaps table"},
		"sinusoidal: at itself":    {func() error { return s.FillAt(own, at[:4]) }, "rowvec: positional.Sinusoidal.FillAt: dst overlaps positions"},
		"new: base 1":              {func() error { _, err := NewSinusoidal(1, 4, Base(1)); return err }, "rowvec: positional.NewSinusoidal: base is 1, want a finite one above 1"},
		"new: base -10000":         {func() error { _, err := NewSinusoidal(1, 4, Base(-10000)); return err }, "rowvec: positional.NewSinusoidal: base is -10000, want a finite one above 1"},
		"new: base NaN":            {func() error { _, err := NewSinusoidal(1, 4, Base(math.NaN())); return err }, "rowvec: positional.NewSinusoidal: base is NaN, want a finite one above 1"},
		"new: base Inf":            {func() error { _, err := NewSinusoidal(1, 4, Base(math.Inf(1))); return err }, "rowvec: positional.NewSinusoidal: base is +Inf, want a finite one above 1"},

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
		"new: grid":       {func() error { return newNil(t, "grid", 200) }, "rowvec: positional.New: max is 200, want a square number such as 196"},
		"new: grid of 0":  {func() error { return newNil(t, "grid", 0) }, "rowvec: positional.New: max is 0, want at least 1"},
		"new: no grid":    {func() error { return newNil(t, "grid", -4) }, "rowvec: positional.New: max is -4, want at least 1"},
		"new: vast grid":  {func() error { return newNil(t, "grid", math.MaxInt) }, ""},
		"new: unknown":    {func() error { return newNil(t, "sine", 1) }, `rowvec: positional.New: unknown kind "sine": want learned, sinusoidal, grid or none; rotary, alibi and t5 have constructors of their own`},
		"new: rotary":     {func() error { return newNil(t, "rotary", 1) }, `rowvec: positional.New: kind "rotary" is not added to embeddings: NewRotary makes it`},
		"new: alibi":      {func() error { return newNil(t, "alibi", 1) }, `rowvec: positional.New: kind "alibi" is not added to embeddings: NewALiBi makes it`},
		"new: t5":         {func() error { return newNil(t, "t5", 1) }, `rowvec: positional.New: kind "t5" is not added to embeddings: NewRelativeBias makes it`},

		"grid: no height":    {func() error { return newGrid(0, 3, 4) }, "rowvec: positional.NewGrid: height is 0, want at least 1"},
		"grid: no width":     {func() error { return newGrid(3, -1, 4) }, "rowvec: positional.NewGrid: width is -1, want at least 1"},
		"grid: no dim":       {func() error { return newGrid(3, 3, 0) }, "rowvec: positional.NewGrid: dim is 0, want at least 4"},
		"grid: half a dim":   {func() error { return newGrid(3, 3, 6) }, "rowvec: positional.NewGrid: dim is 6, want a multiple of 4"},
		"grid: no spread":    {func() error { return newGrid(3, 3, 4, LastFrequency()) }, "rowvec: positional.NewGrid: dim is 4, want at least 8"},
		"grid: tokens":       {func() error { return newGrid(3, 3, 4, ClassTokens(-1)) }, "rowvec: positional.NewGrid: class tokens is -1, want at least 0"},
		"grid: many tokens":  {func() error { return newGrid(3, 3, 4, ClassTokens(math.MaxInt-5)) }, ""},
		"grid: base":         {func() error { return newGrid(3, 3, 4, Base(1)) }, "rowvec: positional.NewGrid: base is 1, want a finite one above 1"},
		"grid: base NaN":     {func() error { return newGrid(3, 3, 4, Base(math.NaN())) }, "rowvec: positional.NewGrid: base is NaN, want a finite one above 1"},
		"grid: infinite":     {func() error { return newGrid(3, 3, 4, Base(math.Inf(1))) }, "rowvec: positional.NewGrid: base is +Inf, want a finite one above 1"},
		"grid: vast":         {func() error { return newGrid(math.MaxInt, 2, 4) }, ""},
		"grid: vast dim":     {func() error { return newGrid(3, 3, math.MaxInt-3) }, ""},
		"grid: dims":         {func() error { return g.AddTo(m(6, 5), 3, 0) }, "rowvec: positional.Grid.AddTo: x.Cols is 5, want 4"},
		"grid: long":         {func() error { return g.AddTo(m(8, dim), 8, 0) }, "rowvec: positional.Grid.AddTo: seq is 8, want at most 7"},
		"grid: late":         {func() error { return g.AddTo(x, 3, 5) }, "rowvec: positional.Grid.AddTo: start is 5, want at most 4"},
		"grid: part":         {func() error { return g.AddTo(x, 4, 0) }, "rowvec: positional.Grid.AddTo: x.Rows is 6, want a multiple of 4"},
		"grid: overlap":      {func() error { return g.AddTo(places, 2, 0) }, "rowvec: positional.Grid.AddTo: x overlaps table"},
		"grid: fill dims":    {func() error { return g.Fill(m(2, 3), 0) }, "rowvec: positional.Grid.Fill: dst.Cols is 3, want 4"},
		"grid: fill long":    {func() error { return g.Fill(m(8, dim), 0) }, "rowvec: positional.Grid.Fill: dst.Rows is 8, want at most 7"},
		"grid: fill early":   {func() error { return g.Fill(x, -3) }, "rowvec: positional.Grid.Fill: start is -3, want at least 0"},
		"grid: fill overlap": {func() error { return g.Fill(places, 0) }, "rowvec: positional.Grid.Fill: dst overlaps table"},

		"resize: from none":    {func() error { _, err := NewResize(0, 3); return err }, "rowvec: positional.NewResize: from is 0, want at least 1"},
		"resize: to none":      {func() error { _, err := NewResize(3, -1); return err }, "rowvec: positional.NewResize: to is -1, want at least 1"},
		"resize: prefix":       {func() error { return newGridSize(-1, 2, 2, 3, 3) }, "rowvec: positional.NewGridResize: prefix is -1, want at least 0"},
		"resize: from height":  {func() error { return newGridSize(0, 0, 2, 3, 3) }, "rowvec: positional.NewGridResize: fromHeight is 0, want at least 1"},
		"resize: from width":   {func() error { return newGridSize(0, 2, 0, 3, 3) }, "rowvec: positional.NewGridResize: fromWidth is 0, want at least 1"},
		"resize: to height":    {func() error { return newGridSize(0, 2, 2, 0, 3) }, "rowvec: positional.NewGridResize: toHeight is 0, want at least 1"},
		"resize: to width":     {func() error { return newGridSize(0, 2, 2, 3, -3) }, "rowvec: positional.NewGridResize: toWidth is -3, want at least 1"},
		"resize: from vast":    {func() error { return newGridSize(0, math.MaxInt, 2, 3, 3) }, fmt.Sprint("rowvec: positional.NewGridResize: fromHeight is ", math.MaxInt, ", want at most ", math.MaxInt/2)},
		"resize: to vast":      {func() error { return newGridSize(math.MaxInt-5, 2, 2, 3, 2) }, "rowvec: positional.NewGridResize: toHeight is 3, want at most 2"},
		"resize: dst rows":     {func() error { return shrink.Forward(x, grad) }, "rowvec: positional.Resize.Forward: dst.Rows is 6, want 4"},
		"resize: src rows":     {func() error { return shrink.Forward(m(4, dim), x) }, "rowvec: positional.Resize.Forward: src.Rows is 6, want 8"},
		"resize: cols":         {func() error { return shrink.Forward(m(4, 5), grad) }, "rowvec: positional.Resize.Forward: dst.Cols is 5, want 4"},
		"resize: stride":       {func() error { return pair.Forward(narrow, m(2, dim)) }, "rowvec: positional.Resize.Forward: dst.Stride is 3, want at least 4"},
		"resize: data":         {func() error { return pair.Forward(m(2, dim), short) }, "rowvec: positional.Resize.Forward: len(src.Data) is 7, want at least 8"},
		"resize: negative":     {func() error { return pair.Forward(rowvec.Matrix{Rows: 2, Cols: -1}, rowvec.Matrix{Rows: 2, Cols: -1}) }, "rowvec: positional.Resize.Forward: dst.Cols is -1, want at least 0"},
		"resize: overlap":      {func() error { return shrink.Forward(check.Window(grad, 4, 4, 0, dim), grad) }, "rowvec: positional.Resize.Forward: dst overlaps src"},
		"resize: itself":       {func() error { return pair.Forward(short2, short2) }, "rowvec: positional.Resize.Forward: dst overlaps src"},
		"resize: dSrc rows":    {func() error { return shrink.Backward(x, m(4, dim)) }, "rowvec: positional.Resize.Backward: dSrc.Rows is 6, want 8"},
		"resize: dDst rows":    {func() error { return shrink.Backward(grad, x) }, "rowvec: positional.Resize.Backward: dDst.Rows is 6, want 4"},
		"resize: dSrc cols":    {func() error { return shrink.Backward(m(8, 5), m(4, dim)) }, "rowvec: positional.Resize.Backward: dSrc.Cols is 5, want 4"},
		"resize: dDst data":    {func() error { return pair.Backward(m(2, dim), short) }, "rowvec: positional.Resize.Backward: len(dDst.Data) is 7, want at least 8"},
		"resize: back overlap": {func() error { return shrink.Backward(grad, check.Window(grad, 4, 4, 0, dim)) }, "rowvec: positional.Resize.Backward: dSrc overlaps dDst"},
		"resized: none":        {func() error { return nilLearned(t)(l.Resized(0)) }, "rowvec: positional.Learned.Resized: max is 0, want at least 1"},
		"resized: vast":        {func() error { return nilLearned(t)(l.Resized(math.MaxInt)) }, ""},
		"resized grid: rows":   {func() error { return nilLearned(t)(l.ResizedGrid(1, 2, 4, 3, 3)) }, "rowvec: positional.Learned.ResizedGrid: prefix + fromHeight*fromWidth is 9, want 8"},
		"resized grid: none":   {func() error { return nilLearned(t)(l.ResizedGrid(0, 2, 4, 3, 0)) }, "rowvec: positional.Learned.ResizedGrid: toWidth is 0, want at least 1"},
		"resized grid: vast":   {func() error { return nilLearned(t)(l.ResizedGrid(0, 2, 4, math.MaxInt/2, 2)) }, ""},
		"resized grid: prefix": {func() error { return nilLearned(t)(l.ResizedGrid(-1, 3, 3, 2, 2)) }, "rowvec: positional.Learned.ResizedGrid: prefix is -1, want at least 0"},
	} {
		state := func() []float32 {
			return slices.Concat(x.Data, grad.Data, l.Table().Data, s.Table().Data, g.Table().Data, short2.Data, narrow.Data, short.Data, huge.Data)
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
		if strings.HasSuffix(err.Error(), ", want a finite one above 1") {
			continue // no integer, and so no ShapeError
		}
		if !errors.As(err, &shape) && !errors.As(err, &overlap) && !errors.As(err, &index) && !errors.As(err, &kind) &&
			!strings.Contains(c.want, "base is") {
			t.Errorf("%s: the error is a %T", name, err)
		}
		if !slices.Equal(state(), before) {
			t.Errorf("%s: something was written", name)
		}
	}
}

// newGrid, newGridSize and nilLearned return errors, beside which there must be nothing.
func newGrid(height, width, dim int, options ...GridOption) error {
	g, err := NewGrid(height, width, dim, options...)
	if g != nil {
		return fmt.Errorf("%v beside %w", g, err)
	}
	return err
}

func newGridSize(prefix, fromHeight, fromWidth, toHeight, toWidth int) error {
	r, err := NewGridResize(prefix, fromHeight, fromWidth, toHeight, toWidth)
	if r != nil {
		return fmt.Errorf("%v beside %w", r, err)
	}
	return err
}

func nilLearned(t *testing.T) func(l *Learned, err error) error {
	return func(l *Learned, err error) error {
		if l != nil {
			t.Errorf("%v beside %v", l, err)
		}
		return err
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
	l, s, g := learned(t, 8, 4, 1), sinusoidal(t, 8, 4), grid(t, 2, 2, 4)
	none, grad := rowvec.Matrix{Cols: 4}, learned(t, 8, 4, 2).Table()
	before := slices.Clone(grad.Data)
	for _, err := range []error{l.AddTo(none, 0, -1), l.Fill(none, -1), l.Backward(grad, none, -1, 9), s.AddTo(none, -3, -1), s.Fill(none, -1),
		g.AddTo(none, -3, -1), g.Fill(none, -1)} {
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
	if err := l.AddTo(rowvec.Matrix{Rows: 5, Cols: 4, Data: all.Data[8:], Stride: all.Stride}, 5, 0); err == nil {
		t.Error("no error for columns that meet those of the next row")
	}
}

func TestNew(t *testing.T) {
	for _, kind := range Kinds() {
		e, err := New(kind, 16, 8, 3)
		if err != nil {
			t.Fatal(err)
		}
		if kind == "none" {
			if e != nil {
				t.Errorf("none is %v", e)
			}
			continue
		}
		if e.Kind() != kind || e.Dim() != 8 || e.Table().Rows != 16 || e.Limit() < 16 {
			t.Errorf("New(%q) is %v with %d rows", kind, e, e.Table().Rows)
		}
		dst := matrix(rand.New(rand.NewPCG(1, 1)), 5, 8, 0)
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
	for _, side := range []int{1, 2, 3, 14, 1000} {
		if e, err := New("grid", side*side, 4, 0); err != nil || e.String() != fmt.Sprintf("Grid(height=%d, width=%d, dim=4)", side, side) {
			t.Errorf("a grid of %d is %v, %v", side*side, e, err)
		}
	}
	made := map[string]interface{ Kind() string }{
		"NewRotary": rotary(t, 4), "NewALiBi": alibi(t, 4), "NewRelativeBias": relative(t, 4, 32, 128, true),
	}
	for _, k := range kinds {
		if k.constructor != "" && (made[k.constructor] == nil || made[k.constructor].Kind() != k.name) {
			t.Errorf("what %s makes is not of kind %q", k.constructor, k.name)
		}
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

// TestSideOf: there is a side of squares alone, also beyond 2^53, and the error names the next square below.
func TestSideOf(t *testing.T) {
	largest := 46340 // its square has 31 bits
	if math.MaxInt > math.MaxInt32 {
		largest <<= 16
	}
	for _, k := range []int{2, 3, 100, 46340, largest - 1, largest} {
		if side, err := sideOf("op", k*k); err != nil || side != k {
			t.Errorf("the side of %d is %d, %v", k*k, side, err)
		}
		for _, max := range []int{k*k - 1, (k-1)*(k-1) + 1} {
			var shape *rowvec.ShapeError
			if _, err := sideOf("op", max); !errors.As(err, &shape) || shape.Want != (k-1)*(k-1) {
				t.Errorf("the side of %d: %v", max, err)
			}
		}
	}
}
