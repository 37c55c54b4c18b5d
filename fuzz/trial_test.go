package fuzz

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"runtime/debug"
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
)

const (
	maxDim    = 400 // from 320 on, rows come abreast where they are prefetched
	fewRows   = 40
	maxRows   = 5000
	maxMatrix = 3 << 16 // elements of the largest matrix but for the table; a layer shares it among workers
	maxTable  = 5 << 18 // elements of the largest table; from 1 << 20 on, rows are prefetched
	margin    = 64      // elements beyond a block that must stay as they are
	maxBlock  = 3 * (maxTable + maxMatrix)
)

var canaries = []float32{-12345.678, math.Float32frombits(0x7fc0fefe)}

// trial is one case: its memory, the call to make and the errors that it deserves.
type trial struct {
	in     input
	values *values

	regions  []region
	blocks   [][]float32 // all memory in use
	matrices []*rowvec.Matrix
	wide     [][]float64 // matrices that hold float64
	lists    []ids
	idRoom   []float32 // where ids lie that share memory with a matrix

	sideBySide bool // matrices that share memory share no element
	op         string
	call       kernel
	exactNaN   bool
	must       []error // one of these is due, if there are any
	may        []error // these are right too
	misshapen  bool    // a ShapeError is due
}

// fuzz runs a target: build makes the arguments and the call of each case.
func fuzz(f *testing.F, build func(t *trial)) {
	ways := waysOf(isatest.Levels(f))
	f.Cleanup(tuning.Lower()) // several workers, and results written past the caches, whatever their size
	isatest.Tune(f, &tuning.NearBytes, 0)
	isatest.Tune(f, &tuning.NearColumns, 0)
	isatest.Tune(f, &tuning.LeftToRight, false)
	regions := make([]region, 9)
	for i := range regions {
		regions[i] = newRegion(f, maxBlock)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		debug.SetPanicOnFault(true) // names the instruction, where a fault would only end the process
		in, floats := decode(b)
		c := &trial{in: in, values: in.values(floats), regions: regions}
		tuning.NearBytes = int(in.Dim+in.N) % 2 * math.MaxInt // near kernels, where vectors are not done in halves
		tuning.LeftToRight = (in.Dim+in.N)/2%2 == 1
		build(c)
		if err := c.play(ways); err != nil {
			t.Fatalf("%s: %v\n%s", c.op, err, c.describe())
		}
	})
}

// way is how a call goes: at a level, with AVX-512 that does vectors in halves or not.
type way struct {
	level  isa.Level
	halves bool
}

func (w way) String() string {
	if w.level == isa.AVX512 {
		return fmt.Sprintf("%v (in halves: %v, near kernels: %v)", w.level, w.halves, !w.halves && tuning.NearBytes > 0)
	}
	return w.level.String()
}

func waysOf(levels []isa.Level) (ways []way) {
	for _, level := range levels {
		ways = append(ways, way{level, true})
		if level == isa.AVX512 {
			ways = append(ways, way{level, false})
		}
	}
	return ways
}

// set has calls go w until undo is called.
func (w way) set() (undo func()) {
	lower, halves := isa.Set(w.level), tuning.Halves
	tuning.Halves = w.halves
	return func() {
		lower()
		tuning.Halves = halves
	}
}

// dim returns the number of columns.
func (t *trial) dim() int { return int(t.in.Dim) % (maxDim + 1) }

// count returns the number of ids.
func (t *trial) count() int {
	if t.in.has(manyIDs) {
		gaps := t.in.Gaps
		return min(int(t.in.N)%(maxRows+1), maxMatrix/(1+t.dim()+int(max(gaps[0], gaps[1], gaps[2], gaps[3]))))
	}
	return int(t.in.N) % (fewRows + 1)
}

// tableRows returns the number of rows that ids choose from.
func (t *trial) tableRows() int {
	if t.in.has(manyRows) {
		return min(int(t.in.Rows)%(maxRows+1), maxTable/max(1, t.dim()+int(t.in.Gaps[1])))
	}
	return int(t.in.Rows) % (fewRows + 1)
}

// matrix returns matrix number i of the case, still without memory.
func (t *trial) matrix(i, rows, cols int) *rowvec.Matrix {
	return &rowvec.Matrix{Rows: rows, Cols: cols, Stride: cols + int(t.in.Gaps[i])}
}

// sequences returns n made a multiple of seq, start, and a number of positions that suffices, unless the case is a
// misfit.
func (t *trial) sequences(n int) (count, start, seq, positions int) {
	start, seq = int(t.in.Start)%16, int(t.in.Seq)%65
	if t.in.has(misfit) {
		return n, start - 1, seq, int(t.in.Positions) % 65
	}
	seq = min(max(seq, 1), max(n, 1))
	return n - n%seq, start, seq, start + seq + int(t.in.Positions)%4
}

// place gives the matrices memory: a block each, but for those that the case wants to share one.
func (t *trial) place(ms ...*rowvec.Matrix) {
	t.matrices = append(t.matrices, ms...)
	pick := int(t.in.Overlap >> 2)
	i := pick % len(ms)
	j := (i + 1 + pick/len(ms)%max(1, len(ms)-1)) % len(ms)
	switch a, b := ms[i], ms[j]; {
	case t.in.Overlap&3 == 3 && i != j:
		shift := int(t.in.Shift) % (extent(*a) + 4)
		if t.in.has(side) && (max(a.Rows, b.Rows)+3)*(a.Stride+b.Cols)+2*margin <= maxBlock {
			t.sideBySide = true
			gap := a.Stride - a.Cols
			a.Stride += b.Cols
			b.Stride = a.Stride
			shift = a.Cols + int(t.in.Shift)%(gap+1) + int(t.in.Shift>>8)%3*a.Stride // in the same rows, or from another on
		}
		block := t.block(max(extent(*a), shift+extent(*b)))
		a.Data, b.Data = block[:extent(*a)], block[shift:][:extent(*b)]
	case t.in.Overlap&3 == 2:
		shift := int(t.in.Shift) % (extent(*a) + 4) &^ 1
		block := t.block(max(extent(*a), shift+2*t.count()) + 1)
		if uintptr(unsafe.Pointer(&block[0]))%8 != 0 {
			block = block[1:]
		}
		a.Data, t.idRoom = block[:extent(*a)], block[shift:]
	}
	for _, m := range ms {
		if m.Data == nil {
			m.Data = t.block(extent(*m))
		}
	}
}

// block returns n elements of a region of their own, flush against its inaccessible page or up to 15 elements from it, so that
// it begins anywhere in a cache line.
func (t *trial) block(n int) []float32 { return t.blockFrom(n, 1) }

// blockFrom is block, with a multiple of unit elements between: 2 for what has 8 bytes.
func (t *trial) blockFrom(n, unit int) []float32 {
	i := len(t.blocks)
	head, apart := t.in.Heads>>i&1 != 0, int(t.in.Align>>(4*i)&15)/unit*unit
	all := t.regions[i].slice(apart+n+margin, !head)
	t.blocks = append(t.blocks, all)
	if head {
		return all[apart:][:n:n]
	}
	return all[margin:][:n:n]
}

// doubles returns the float64 that a vector has room for, and cuts what is left over off the vector.
func (t *trial) doubles(m *rowvec.Matrix) []float64 {
	n := m.Cols / 2
	if uintptr(unsafe.Pointer(&m.Data[0]))%8 != 0 {
		m.Data = m.Data[1:]
	}
	m.Cols, m.Stride, m.Data = 2*n, 2*n, m.Data[:2*n]
	if n == 0 {
		return nil
	}
	x := unsafe.Slice((*float64)(unsafe.Pointer(&m.Data[0])), n)
	t.wide = append(t.wide, x)
	return x
}

// ids returns n ids below rows, but for the bad one that the case may have; there are two kinds, 0 and 1.
func (t *trial) ids(kind, n, rows int) ids {
	raw := make([]uint64, n)
	for i := range raw {
		h := uint64(mix(t.in.Seed ^ uint32(i<<1+kind)))
		if t.in.Spread != 0 {
			h %= uint64(t.in.Spread)
		}
		raw[i] = h % uint64(max(1, rows))
	}
	if bad := int(t.in.Bad); n > 0 && bad&3 == 2+kind {
		at := int(t.in.BadAt) % n
		raw[at] = [...]uint64{
			uint64(rows), t.in.BadID, math.MaxUint64, 1 << 31, 1 << 63, raw[at] | 1<<32, math.MaxUint32, uint64(rows - 1),
		}[bad>>2%8]
		if bad>>5&1 != 0 {
			raw[n-1] = t.in.BadID
		}
	}
	room := func(words int) []float32 {
		if t.idRoom != nil && t.in.has(shareAt) == (kind == 1) {
			return t.idRoom[:words]
		}
		return t.blockFrom(words, 2)
	}
	l := newIDs([2]uint8{t.in.IDs, t.in.At}[kind], raw, room)
	t.lists = append(t.lists, l)
	return l
}

// bagOffsets returns offsets that part n ids into bags of up to twice Seq ids, but for the last one, which gets the rest,
// unless the case is a misfit.
func (t *trial) bagOffsets(bags, n int) list[int] {
	raw := make([]uint64, bags+1)
	for b := range raw[1:] {
		size := int(mix(t.in.Seed+uint32(b))>>8) % (1 + 2*int(t.in.Seq))
		raw[b+1] = uint64(min(n, int(raw[b])+size))
	}
	raw[bags] = uint64(n)
	if t.in.has(misfit) {
		switch at := int(t.in.BadAt) % len(raw); t.in.At % 4 {
		case 1:
			raw[at] = t.in.BadID
		case 2:
			raw[at]++
		case 3:
			raw = raw[:at]
		}
	}
	l := newList[int](raw, func(words int) []float32 {
		if t.idRoom != nil && t.in.has(shareAt) && words <= len(t.idRoom) {
			return t.idRoom[:words]
		}
		return t.blockFrom(words, 2)
	})
	t.lists = append(t.lists, l)
	t.checkShape(len(l)+bags+n == 0 || len(l) == bags+1 && l[0] == 0 && l[bags] == n && slices.IsSorted(l))
	return l
}

// checkIDs adds the error that ids outside [0, rows) deserve.
func (t *trial) checkIDs(what string, l ids, rows int) {
	if i, id := l.outside(rows); i >= 0 {
		t.must = append(t.must, &rowvec.IndexError{What: what, Position: i, Index: id, Rows: rows})
	}
}

// checkApart adds the error that two matrices deserve that share an element. Where they only interlock, both answers
// are right.
func (t *trial) checkApart(dstName string, dst rowvec.Matrix, srcName string, src rowvec.Matrix) {
	err := &rowvec.OverlapError{Op: t.op, Dst: dstName, Src: srcName}
	if extent(dst) == 0 || extent(src) == 0 || !meet(dst.Data, src.Data) {
		return
	}
	for i := range dst.Rows {
		for j := range src.Rows {
			if meet(dst.Row(i), src.Row(j)) {
				t.must = append(t.must, err)
				return
			}
		}
	}
	if !t.sideBySide {
		t.may = append(t.may, err)
	}
}

// checkIDsApart is checkApart for ids.
func (t *trial) checkIDsApart(dstName string, dst rowvec.Matrix, srcName string, l ids) {
	words := l.words()
	t.checkApart(dstName, dst, srcName, rowvec.Matrix{Rows: 1, Cols: len(words), Data: words, Stride: len(words)})
}

// checkSequences adds the error that sequences deserve which do not fit.
func (t *trial) checkSequences(n, start, seq, positions int) {
	t.checkShape(n == 0 || seq > 0 && n%seq == 0 && start >= 0 && start+seq <= positions)
}

func (t *trial) checkShape(ok bool) { t.misshapen = t.misshapen || !ok }

// play makes the call in every way over every canary.
func (t *trial) play(ways []way) error {
	for _, canary := range canaries {
		t.fill(canary)
		before := t.snapshot()
		want := before
		refuse := len(t.must) > 0 || t.misshapen
		if !refuse {
			t.call.define()
			want = t.snapshot()
		}
		for _, way := range ways {
			t.restore(before)
			undo := way.set()
			err := t.call.run()
			undo()
			if err == nil && refuse {
				return fmt.Errorf("at %v: no error, want one of %v (or of shape: %v)", way, t.must, t.misshapen)
			}
			if err != nil && !t.deserves(err) {
				return fmt.Errorf("at %v: error %q, want one of %v (or of shape: %v)", way, err, t.must, t.misshapen)
			}
			after := want
			if err != nil {
				after = before
			}
			if err := t.compare(after); err != nil {
				return fmt.Errorf("at %v, over %v, refused: %v: %v", way, canary, refuse, err)
			}
		}
	}
	return nil
}

func (t *trial) deserves(err error) bool {
	if _, ok := err.(*rowvec.ShapeError); ok {
		return t.misshapen
	}
	for _, want := range append(t.must, t.may...) {
		if overlap, ok := want.(*rowvec.OverlapError); ok && overlap.Dst == "" { // names may be any
			if got, ok := err.(*rowvec.OverlapError); ok {
				overlap.Dst, overlap.Src = got.Dst, got.Src
			}
		}
		if value, ok := err.(*rowvec.ValueError); ok { // which may have a NaN
			if other, ok := want.(*rowvec.ValueError); ok && value.Error() == other.Error() {
				return true
			}
		}
		if index, ok := want.(*rowvec.IndexError); ok {
			index.Op = t.op
		}
		if reflect.DeepEqual(err, want) {
			return true
		}
	}
	return false
}

// fill sets all memory to the canary, and then rows to their values and ids to theirs.
func (t *trial) fill(canary float32) {
	var saved [][]float32
	for _, l := range t.lists {
		saved = append(saved, append([]float32(nil), l.words()...))
	}
	for _, b := range t.blocks {
		b[0] = canary
		for n := 1; n < len(b); n *= 2 {
			copy(b[n:], b[:n])
		}
	}
	t.values.next = 0
	for _, m := range t.matrices {
		for i := range m.Rows {
			t.values.fill(m.Row(i))
		}
	}
	for _, x := range t.wide {
		t.values.fill64(x)
	}
	for i, l := range t.lists {
		copy(l.words(), saved[i])
	}
}

func (t *trial) snapshot() (all [][]float32) {
	for _, b := range t.blocks {
		all = append(all, append([]float32(nil), b...))
	}
	return all
}

func (t *trial) restore(all [][]float32) {
	for i, b := range t.blocks {
		copy(b, all[i])
	}
}

// compare reports the first element of memory that is not as wanted.
func (t *trial) compare(want [][]float32) error {
	for k, b := range t.blocks {
		if bytes.Equal(raw(b), raw(want[k])) {
			continue
		}
		for i, x := range b {
			got, want := math.Float32bits(x), math.Float32bits(want[k][i])
			if got != want && (t.exactNaN || x == x || want<<1 <= 0xff<<24) {
				return fmt.Errorf("element %d of block %d is %#08x, want %#08x", i, k, got, want)
			}
		}
	}
	return nil
}

func raw(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

// describe says what the case was about.
func (t *trial) describe() string {
	s := fmt.Sprintf("%+v", t.in)
	for _, m := range t.matrices {
		s += fmt.Sprintf("\nmatrix %d x %d, stride %d, at %p", m.Rows, m.Cols, m.Stride, m.Data)
	}
	for _, l := range t.lists {
		s += fmt.Sprintf("\n%T, %d words at %p", l, len(l.words()), l.words())
	}
	return s
}

// extent returns the number of elements from the first of the first row to the last of the last one.
func extent(m rowvec.Matrix) int {
	if m.Rows == 0 || m.Cols == 0 {
		return 0
	}
	return (m.Rows-1)*m.Stride + m.Cols
}

// meet reports whether two slices, neither of them empty, share an element.
func meet(a, b []float32) bool {
	return uintptr(unsafe.Pointer(&a[0])) <= uintptr(unsafe.Pointer(&b[len(b)-1])) &&
		uintptr(unsafe.Pointer(&b[0])) <= uintptr(unsafe.Pointer(&a[len(a)-1]))
}
