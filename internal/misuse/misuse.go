// Package misuse calls functions wrongly, in every way that the types of their arguments have: sizes that are negative, too
// large, one off or overflow, data that are nil or too short, strides below the columns, ids outside the table, offsets that
// descend, numbers that are no numbers, constants that there are not, and any two arguments in the same memory.
//
// What comes of each is compared with a file, which has it all to be read, and whatever the file says, an error has to be of
// a type with fields that say what it is about, and must leave all memory as it was, bit for bit. Every exported function
// that returns an error has to be there.
package misuse

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
)

// Call is a call with arguments that are right, until one of them is spoilt.
type Call struct {
	Args []Arg
	Do   func() error
	Also []Spoil      // what only this function can be got wrong by
	Kept func() []any // what must not change, beside the memory of Args; nil if that is all
	From string       // functions that errors may be about too
}

// Arg is an argument.
type Arg struct {
	Name string
	At   any    // a pointer to it
	Kind string // "" for what its type says, "ids", "offsets", "constant", "table" for memory to overlap with and no more
	// Skip names ways that would take for ever, or all memory.
	Skip string
}

// Spoil is a way to get something wrong.
type Spoil struct {
	Name string
	Do   func()
}

// Made is the error of a constructor that must make nothing if there is one.
func Made(made any, err error) error {
	if v := reflect.ValueOf(made); err != nil && v.IsValid() && !v.IsZero() {
		return fmt.Errorf("an error and a %T: %w", made, err)
	}
	return err
}

var update = flag.Bool("update", false, "write testdata/misuse.txt anew")

// Run makes all calls of a package wrongly, each after the name of its function; what stands behind a slash there tells
// several calls of one function apart. part and of say which part of the cases is done: 0 of 1 is all of them.
func Run(t *testing.T, pkg string, calls map[string]func() *Call, part, of int) {
	t.Helper()
	cover(t, calls)
	const path = "testdata/misuse.txt"
	var want map[key]string
	if !*update {
		want = read(t, path)
	}
	got := map[key]string{}
	number := 0
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		c := calls[name]()
		if err := c.Do(); err != nil {
			t.Errorf("%s with nothing wrong: %v", name, err)
			continue
		}
		ways := len(c.spoils())
		for i := range ways {
			if number++; number%of != part {
				continue
			}
			c := calls[name]()
			spoil := c.spoils()[i]
			k := key{name, spoil.Name}
			if _, twice := got[k]; twice {
				t.Errorf("%s: %s is there twice", name, spoil.Name)
			}
			got[k] = c.outcome(t, pkg, name, spoil)
			if w, ok := want[k]; !*update && (!ok || !same(w, got[k])) {
				t.Errorf("%s, %s:\n got %s\nwant %s", name, spoil.Name, got[k], w)
			}
		}
	}
	switch {
	case *update:
		write(t, path, got)
	case of == 1 && len(got) != len(want) && strconv.IntSize == 64:
		for k := range want {
			if _, ok := got[k]; !ok {
				t.Errorf("%s: %s, which is in %s, has not been tried", k.name, k.spoil, path)
			}
		}
	}
}

type key struct{ name, spoil string }

// same compares what has come of a call. Where int has 32 bits the largest one is another, and so are figures with it.
func same(want, got string) bool {
	if strconv.IntSize == 32 {
		want, got = large.ReplaceAllString(want, "#"), large.ReplaceAllString(got, "#")
	}
	return want == got
}

var large = regexp.MustCompile(`-?[0-9]{5,}`)

// outcome returns what comes of a call.
func (c *Call) outcome(t *testing.T, pkg, name string, spoil Spoil) (outcome string) {
	t.Helper()
	spoil.Do()
	before := c.memory()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s, %s: panic: %v", name, spoil.Name, p)
			outcome = fmt.Sprint("panic: ", p)
		}
	}()
	err := c.Do()
	if err == nil {
		return "no error"
	}
	if !slices.Equal(before, c.memory()) {
		t.Errorf("%s, %s: memory has changed; %v", name, spoil.Name, err)
	}
	text, op := err.Error(), ""
	var path *fs.PathError
	switch e := err.(type) {
	case *rowvec.ShapeError:
		op = e.Op
	case *rowvec.OverlapError:
		op = e.Op
	case *rowvec.ValueError:
		op = e.Op
	case *rowvec.IndexError:
		op = e.Op
	default:
		if kind := fmt.Sprintf("%T", err); strings.HasPrefix(kind, "*errors.") ||
			strings.HasPrefix(kind, "*fmt.") && !errors.As(err, &path) {
			t.Errorf("%s, %s: the error is a %s: %v", name, spoil.Name, kind, err)
		}
	}
	function, _, _ := strings.Cut(name, "/")
	if op != "" {
		if op != pkg+function && !slices.Contains(strings.Fields(c.From), op) {
			t.Errorf("%s, %s: the error is about %s: %v", name, spoil.Name, op, err)
		}
		text = strings.TrimPrefix(text, "rowvec: "+op+": ")
	}
	kind := fmt.Sprintf("%T", err)
	return kind[strings.LastIndex(kind, ".")+1:] + ": " + strings.TrimPrefix(text, "rowvec: ")
}

// memory returns all that must not change.
func (c *Call) memory() []uint64 {
	var all []uint64
	for _, a := range c.Args {
		all = appendBits(all, reflect.ValueOf(a.At).Elem())
	}
	if c.Kept != nil {
		for _, x := range c.Kept() {
			all = appendBits(all, reflect.ValueOf(x))
		}
	}
	return all
}

func appendBits(all []uint64, v reflect.Value) []uint64 {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			all = appendBits(all, v.Field(i))
		}
	case reflect.Slice:
		v = v.Slice(0, v.Cap()) // also what is behind the end
		all = append(all, uint64(v.Len()))
		for i := range v.Len() {
			all = appendBits(all, v.Index(i))
		}
	case reflect.Float32:
		all = append(all, uint64(math.Float32bits(float32(v.Float()))))
	case reflect.Float64:
		all = append(all, math.Float64bits(v.Float()))
	case reflect.Int, reflect.Int32, reflect.Int64:
		all = append(all, uint64(v.Int()))
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		all = append(all, v.Uint())
	}
	return all
}

// spoils returns all ways to get the call wrong.
func (c *Call) spoils() []Spoil {
	var all []Spoil
	for _, a := range c.Args {
		a.spoils(&all)
	}
	for i, a := range c.Args {
		for _, b := range c.Args[:i] {
			overlaps(&all, b, a)
		}
	}
	return append(all, c.Also...)
}

func (a Arg) spoils(all *[]Spoil) {
	add := func(way string, do func()) {
		if !slices.Contains(strings.Fields(a.Skip), way) {
			*all = append(*all, Spoil{a.Name + way, do})
		}
	}
	v := reflect.ValueOf(a.At).Elem()
	if m, ok := a.At.(*rowvec.Matrix); ok {
		if a.Kind != "table" {
			spoilMatrix(add, m)
		}
		return
	}
	switch {
	case a.Kind == "table":
	case a.Kind == "constant":
		for _, x := range []int64{-1, 100} {
			add(fmt.Sprintf("=%d", x), func() { v.SetInt(x) })
		}
	case v.Kind() == reflect.Slice:
		n := v.Len()
		add("=nil", func() { v.SetZero() })
		if n > 0 {
			add("-1", func() { v.SetLen(n - 1) })
		}
		add("+1", func() { v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem()))) })
		if n > 0 && a.Kind == "ids" {
			spoilIDs(add, v)
		}
		if a.Kind == "offsets" {
			spoilOffsets(add, v)
		}
	case v.Kind() == reflect.Int:
		x := v.Int()
		for _, y := range []struct {
			name  string
			value int64
		}{
			{"=MinInt", math.MinInt}, {"=-1", -1}, {"=0", 0}, {"-1", x - 1}, {"+1", x + 1}, {"=MaxInt-1", math.MaxInt - 1},
			{"=MaxInt", math.MaxInt},
		} {
			add(y.name, func() { v.SetInt(y.value) })
		}
	case v.Kind() == reflect.Uint64:
		add("=1<<56", func() { v.SetUint(1 << 56) })
		add("=MaxUint64", func() { v.SetUint(math.MaxUint64) })
	case v.Kind() == reflect.Float32 || v.Kind() == reflect.Float64:
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1, 1e-300, 1e300} {
			add(fmt.Sprintf("=%v", x), func() { v.SetFloat(x) })
		}
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
		add("=nil", func() { v.SetZero() })
	}
}

func spoilMatrix(add func(string, func()), m *rowvec.Matrix) {
	const half = 1 << (strconv.IntSize / 2)
	for _, s := range []Spoil{
		{".Rows=MinInt", func() { m.Rows = math.MinInt }},
		{".Rows=-1", func() { m.Rows = -1 }},
		{".Rows=0", func() { m.Rows = 0 }},
		{".Rows-1", func() { m.Rows-- }},
		{".Rows+1", func() { m.Rows++ }},
		{".Rows=MaxInt", func() { m.Rows = math.MaxInt }},
		{".Cols=MinInt", func() { m.Cols = math.MinInt }},
		{".Cols=-1", func() { m.Cols = -1 }},
		{".Cols=0", func() { m.Cols = 0 }},
		{".Cols-1", func() { m.Cols-- }},
		{".Cols+1", func() { m.Cols++; m.Stride++; m.Data = make([]float32, m.Rows*m.Stride) }},
		{".Cols=MaxInt", func() { m.Cols = math.MaxInt }},
		{".Stride=MinInt", func() { m.Stride = math.MinInt }},
		{".Stride=-Cols", func() { m.Stride = -m.Cols }},
		{".Stride=0", func() { m.Stride = 0 }},
		{".Stride=Cols-1", func() { m.Stride = m.Cols - 1 }},
		{".Stride=MaxInt", func() { m.Stride = math.MaxInt }},
		{".Data=nil", func() { m.Data = nil }},
		{".Data-1", func() { m.Data = m.Data[:(m.Rows-1)*m.Stride+m.Cols-1] }},
		{"={}", func() { *m = rowvec.Matrix{} }},
		{" rows x stride overflows", func() { m.Rows, m.Stride = half+1, half }},
		{" without columns, rows=MaxInt", func() { *m = rowvec.Matrix{Rows: math.MaxInt} }},
		{" without rows, columns=MaxInt", func() { *m = rowvec.Matrix{Cols: math.MaxInt} }},
	} {
		add(s.Name, s.Do)
	}
}

// spoilIDs sets the first or the last id to one that is far out, or to those next to the range of the others, which have the
// first and the last row among them.
func spoilIDs(add func(string, func()), v reflect.Value) {
	for _, place := range slices.Compact([]int{0, v.Len() - 1}) {
		e := v.Index(place)
		if e.CanInt() {
			bits := e.Type().Bits()
			least, most := int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits)
			highest := int64(0)
			for i := range v.Len() {
				highest = max(highest, v.Index(i).Int())
			}
			for _, x := range []int64{least, -1, highest + 1, most} {
				name := strconv.FormatInt(x, 10)
				if e.Kind() == reflect.Int && (x == least || x == most) { // which are what int is
					name = map[bool]string{true: "MaxInt", false: "MinInt"}[x > 0]
				}
				add(fmt.Sprintf("[%d]=%s", place, name), func() { e.SetInt(x) })
			}
			continue
		}
		highest := uint64(0)
		for i := range v.Len() {
			highest = max(highest, v.Index(i).Uint())
		}
		for _, x := range []uint64{highest + 1, 1 << (e.Type().Bits() - 1), math.MaxUint64 >> (64 - e.Type().Bits())} {
			add(fmt.Sprintf("[%d]=%d", place, x), func() { e.SetUint(x) })
		}
	}
}

func spoilOffsets(add func(string, func()), v reflect.Value) {
	last := v.Len() - 1
	for _, place := range []int{0, 1, last} {
		for _, x := range []struct {
			name  string
			value int64
		}{{"MinInt", math.MinInt}, {"-1", -1}, {"1", 1}, {"100", 100}, {"MaxInt", math.MaxInt}} {
			if v.Index(place).Int() != x.value {
				add(fmt.Sprintf("[%d]=%s", place, x.name), func() { v.Index(place).SetInt(x.value) })
			}
		}
	}
	add(" descend", func() { v.Index(last - 1).SetInt(v.Index(last).Int() + 1) })
}

// overlaps has two arguments share memory: from the first element on, and with the second in the midst of the first.
func overlaps(all *[]Spoil, a, b Arg) {
	x, y := memoryOf(a.At), memoryOf(b.At)
	if x.bytes == 0 || y.bytes == 0 || a.Kind == "table" && b.Kind == "table" {
		return
	}
	if x.ids && y.ids && strconv.IntSize == 32 && reflect.TypeOf(a.At) != reflect.TypeOf(b.At) {
		return // ids of one size are no ids of the other
	}
	for _, way := range []string{"is", "lies in"} {
		if strings.Contains(a.Skip, "overlap") || strings.Contains(b.Skip, "overlap") {
			continue
		}
		*all = append(*all, Spoil{fmt.Sprintf("%s %s %s", b.Name, way, a.Name), func() {
			x, y := memoryOf(a.At), memoryOf(b.At)
			at := 0
			if way == "lies in" {
				at = 8
				if a.isInts() && b.isInts() {
					at = strconv.IntSize / 8 // one of them, as with 64 bits
				}
			}
			arena := make([]uint64, (max(x.bytes, at+y.bytes)+7)/8)
			start := unsafe.Pointer(&arena[0])
			x.move(start)
			y.move(unsafe.Add(start, at))
			if x.ids && !y.ids { // ids stay what they were
				x.copy(start)
			}
		}})
	}
}

func (a Arg) isInts() bool {
	_, is := a.At.(*[]int)
	return is
}

// memory is that of an argument.
type memory struct {
	first unsafe.Pointer
	bytes int
	ids   bool
	set   func(unsafe.Pointer)
}

// move puts what the argument holds somewhere else.
func (m memory) move(to unsafe.Pointer) {
	m.copy(to)
	m.set(to)
}

func (m memory) copy(to unsafe.Pointer) {
	copy(unsafe.Slice((*byte)(to), m.bytes), unsafe.Slice((*byte)(m.first), m.bytes))
}

func memoryOf(at any) memory {
	switch at := at.(type) {
	case *rowvec.Matrix:
		return memoryOf(&at.Data)
	case *[]float32:
		return sliceMemory(at, false)
	case *[]float64:
		return sliceMemory(at, false)
	case *[]int:
		return sliceMemory(at, true)
	case *[]int32:
		return sliceMemory(at, true)
	case *[]int64:
		return sliceMemory(at, true)
	case *[]uint32:
		return sliceMemory(at, true)
	case *[]uint64:
		return sliceMemory(at, true)
	}
	return memory{}
}

func sliceMemory[T any](s *[]T, ids bool) memory {
	var x T
	n := len(*s)
	return memory{unsafe.Pointer(unsafe.SliceData(*s)), n * int(unsafe.Sizeof(x)), ids, func(p unsafe.Pointer) {
		*s = unsafe.Slice((*T)(p), n)
	}}
}

// cover reports exported functions and methods of the package in the current directory that return an error and are not
// among the calls.
func cover(t *testing.T, calls map[string]func() *Call) {
	t.Helper()
	have := map[string]bool{}
	for name := range calls {
		function, _, _ := strings.Cut(name, "/")
		have[function] = true
	}
	want := map[string]bool{}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Name.IsExported() && returnsError(d) {
				if name, ok := nameOf(d); ok {
					want[name] = true
				}
			}
		}
	}
	if len(want) == 0 {
		t.Error("the package has no function that returns an error")
	}
	for name := range want {
		if !have[name] {
			t.Errorf("%s returns an error, and nothing calls it wrongly", name)
		}
	}
	for name := range have {
		if !want[name] {
			t.Errorf("there is no function %s that returns an error", name)
		}
	}
}

func returnsError(d *ast.FuncDecl) bool {
	if d.Type.Results == nil {
		return false
	}
	last := d.Type.Results.List[len(d.Type.Results.List)-1]
	id, ok := last.Type.(*ast.Ident)
	return ok && id.Name == "error"
}

// nameOf returns the name of a function, or that of a type and its method; ok is false if the type is not exported.
func nameOf(d *ast.FuncDecl) (name string, ok bool) {
	if d.Recv == nil {
		return d.Name.Name, true
	}
	e := d.Recv.List[0].Type
	if star, pointer := e.(*ast.StarExpr); pointer {
		e = star.X
	}
	id, ok := e.(*ast.Ident)
	if !ok || !id.IsExported() {
		return "", false
	}
	return id.Name + "." + d.Name.Name, true
}

// A line of the file has what was wrong, what came of it, and the functions that it came of.

func write(t *testing.T, path string, outcomes map[key]string) {
	t.Helper()
	names := map[[2]string][]string{}
	for k, outcome := range outcomes {
		line := [2]string{k.spoil, outcome}
		names[line] = append(names[line], k.name)
	}
	lines := slices.SortedFunc(maps.Keys(names), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	var text strings.Builder
	for _, line := range lines {
		slices.Sort(names[line])
		fmt.Fprintf(&text, "%s | %s | %s\n", line[0], line[1], strings.Join(names[line], " "))
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) map[key]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[key]string{}
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), " | ")
		if len(parts) != 3 {
			t.Fatalf("%s: a line has %d parts: %s", path, len(parts), line)
		}
		for name := range strings.FieldsSeq(parts[2]) {
			outcomes[key{name, parts[0]}] = parts[1]
		}
	}
	return outcomes
}
