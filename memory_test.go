//go:build unix

package rowvec_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/guard"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/philox"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// What is shown here of every kernel: it reads and writes nothing but what its arguments are, and writes all that it says it
// does. Each argument lies flush against an inaccessible page, in front of it in one run and behind it in another, and
// whatever belongs to no row - gaps between rows, a margin on the other side, and rows that are to be overwritten - holds a
// canary, one in the first run and another in the second. After both, all memory has to be what the definition makes of it.

// access is what a kernel does with an argument.
type access int

const (
	read    access = iota
	changed        // read, and written
	written        // without being read
)

// roomFor is the number of bytes of the largest argument of these tests, with its margin.
const roomFor = 4 << 20

// margin is the number of bytes on the side of an argument that has no inaccessible page: a block of AVX-512.
const margin = 256

// canaries are what memory that is to stay as it is holds, byte by byte.
var canaries = [2]byte{0xa5, 0x5a}

// argument is one slice that a kernel is given.
type argument struct {
	access             access
	all                []byte // with the margin
	rows, size, stride int    // bytes of a row, and from one to the next
	first              int    // where row 0 begins
	before, after      [len(canaries)][]byte
}

// row returns row i of memory that is laid out as the argument is.
func (a *argument) row(memory []byte, i int) []byte { return memory[a.first+i*a.stride:][:a.size] }

// memory is where the arguments of a call lie.
type memory struct {
	regions   []*guard.Region
	arguments []*argument
	tail      bool // behind them is an inaccessible page, and not in front

	numbers   []float32 // what rows begin as: ordinary positive ones, of which no result is a NaN
	positions []float64
	next      int
	huge      [][]float32 // tables that are so large that rows are prefetched, whose results other tests compare; or nil
	tables    int

	blank          [len(canaries)][]byte
	arena, scratch []byte // and what of it is not in use
}

// newMemory has a region for each argument, with room for the largest.
func newMemory(t testing.TB, room int) *memory {
	lowerWide(t)
	m := &memory{numbers: make([]float32, 99991), positions: make([]float64, 99991)}
	for range 7 {
		m.regions = append(m.regions, guard.New(t, room))
	}
	for c, canary := range canaries {
		m.blank[c] = bytes.Repeat([]byte{canary}, room)
	}
	rng := rand.New(rand.NewPCG(27, 28))
	fill(rng, m.numbers)
	ordinary(m.numbers)
	for i := range m.positions {
		m.positions[i] = rng.Float64()
	}
	return m
}

// place returns an argument of so many rows, whose elements are still to be set.
func place[T any](m *memory, to access, rows, cols, gap int) []T {
	if rows*cols == 0 {
		return nil
	}
	n, size := (rows-1)*(cols+gap)+cols, int(unsafe.Sizeof(*new(T)))
	spare, region := margin/size, m.regions[len(m.arguments)]
	a := &argument{access: to, rows: rows, size: cols * size, stride: (cols + gap) * size}
	all := guard.Head[T](region, n+spare)
	x := all[:n:n]
	if m.tail {
		all = guard.Tail[T](region, n+spare)
		x, a.first = all[spare:], margin
	}
	a.all = unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), len(all)*size)
	m.arguments = append(m.arguments, a)
	return x
}

// matrix returns a matrix with gap elements between its rows.
func (m *memory) matrix(to access, rows, cols, gap int) rowvec.Matrix {
	x := rowvec.Matrix{Rows: rows, Cols: cols, Stride: cols + gap, Data: place[float32](m, to, rows, cols, gap)}
	if rows == 1 { // which have any stride: of these a few are more bytes than a word holds
		x.Stride = [...]int{x.Stride, math.MaxInt>>3 + 2, math.MaxInt>>1 + 1, math.MaxInt - 1}[m.next%4]
	}
	if len(x.Data) > 0 {
		for i := range rows {
			sample(m, x.Row(i), m.numbers)
		}
	}
	return x
}

// sample sets x to what comes next of a pool, whose length is a prime.
func sample[T any](m *memory, x, pool []T) {
	for len(x) > 0 {
		n := copy(x, pool[m.next%len(pool):])
		m.next += n
		x = x[n:]
	}
}

// table is matrix for one whose rows are chosen by ids.
func (m *memory) table(to access, rows, cols, gap int) rowvec.Matrix {
	if m.huge == nil {
		return m.matrix(to, rows, cols, gap)
	}
	data := m.huge[m.tables]
	m.tables++
	return rowvec.Matrix{Rows: len(data) / cols, Cols: cols, Stride: cols, Data: data[len(data)%cols:]}
}

// pair returns two matrices, or one twice.
func (m *memory) pair(inPlace bool, rows, cols, gap int) (dst, src rowvec.Matrix) {
	if inPlace {
		x := m.matrix(changed, rows, cols, gap)
		return x, x
	}
	return m.matrix(written, rows, cols, 2*gap), m.matrix(read, rows, cols, gap)
}

func (m *memory) vector(to access, n int) []float32 { return m.matrix(to, 1, n, 0).Data }

func (m *memory) doubles(to access, n int) []float64 {
	x := place[float64](m, to, 1, n, 0)
	sample(m, x, m.positions)
	return x
}

// words returns n numbers of 64 bits.
func (m *memory) words(n int) []uint64 {
	x := place[uint64](m, read, 1, n, 0)
	for i := range x {
		x[i] = math.Float64bits(m.positions[(m.next+i)%len(m.positions)]) * 0x9e3779b97f4a7c15
	}
	return x
}

// list returns n ids of both ends of so many rows; the first and the last of several ids are of the row at the page, but that the
// last is at times that of row 0.
func list[I rowvec.ID](m *memory, n, rows int) []I {
	ids := place[I](m, read, 1, n, 0)
	for i := range ids {
		switch id := m.next*7 + i*5; {
		case i == n-1 && i > 1 && m.next%4 == 0:
			ids[i] = 0
		case (i == 0 || i == n-1) && m.tail:
			ids[i] = I(rows - 1)
		case i == 0 || i == n-1:
			ids[i] = 0
		case i%4 == 1:
			ids[i] = I((rows - 1) * (i / 4 % 2))
		default:
			ids[i] = I(id % rows)
		}
	}
	return ids
}

// offsets returns those of bags of n ids, which are of these sizes, over and over.
func (m *memory) offsets(n int, sizes []int) []int {
	offsets := []int{0}
	for b, at := 0, 0; at < n || b%len(sizes) != 0; b++ {
		at = min(n, at+sizes[b%len(sizes)])
		offsets = append(offsets, at)
	}
	return append(place[int](m, read, 1, len(offsets), 0)[:0], offsets...)
}

// take returns a copy of b in scratch memory.
func (m *memory) take(b []byte) []byte {
	if len(m.scratch) < len(b) {
		m.arena = make([]byte, 2*len(m.arena)+len(b))
		m.scratch = m.arena
	}
	x := m.scratch[:copy(m.scratch, b)]
	m.scratch = m.scratch[len(b):]
	return x
}

// expect works out what memory has to be before and after a call: canaries, but for the rows that hold something before, and
// what define makes of the first canary. What its rows hold is due over the other as well, and nothing else changes.
func (m *memory) expect(define func()) {
	m.scratch = m.arena
	for _, a := range m.arguments {
		for c := range canaries {
			a.before[c] = m.take(m.blank[c][:len(a.all)])
			for i := 0; i < a.rows && a.access != written; i++ {
				copy(a.row(a.before[c], i), a.row(a.all, i))
			}
		}
		copy(a.all, a.before[0])
	}
	define()
	for _, a := range m.arguments {
		a.after = a.before
		for c := 0; c < len(canaries) && a.access != read; c++ {
			a.after[c] = m.take(a.before[c])
			for i := range a.rows {
				copy(a.row(a.after[c], i), a.row(a.all, i))
			}
		}
	}
}

// restore has all memory over a canary be as it was, or what a kernel may have changed.
func (m *memory) restore(canary int, all bool) {
	for _, a := range m.arguments {
		if all || a.access != read {
			copy(a.all, a.before[canary])
		}
	}
}

// compare describes the first byte that is not as expected, or returns "".
func (m *memory) compare(canary int) string {
	for k, a := range m.arguments {
		want := a.after[canary]
		if bytes.Equal(a.all, want) {
			continue
		}
		for i, x := range a.all {
			if x != want[i] {
				return fmt.Sprintf("argument %d, byte %d of %d rows of %d, %d apart, is %#x, want %#x",
					k, i-a.first, a.rows, a.size, a.stride, x, want[i])
			}
		}
	}
	return ""
}

// attempt turns a fault into an error that says where it was.
func (m *memory) attempt(run func() error) (err error) {
	defer func() {
		x := recover()
		if fault, ok := x.(interface{ Addr() uintptr }); ok {
			err = fmt.Errorf("access to %#x", fault.Addr())
			for k, a := range m.arguments {
				at := int(fault.Addr() - uintptr(unsafe.Pointer(&a.all[a.first])))
				if end := (a.rows-1)*a.stride + a.size; at >= -4096 && at < end+4096 {
					err = fmt.Errorf("access to byte %d of argument %d, which has %d", at, k, end)
				}
			}
		} else if x != nil {
			err = fmt.Errorf("panic: %v", x)
		}
	}()
	return run()
}

// extent is what shapes of calls are made of. Not all kernels need all of it.
type extent struct {
	dim, gap     int
	n, rows, seq int
	queries      int // of Dots
}

// kernel is a call and its definition.
type kernel struct {
	run    func() error
	define func()
}

// safe is a kernel in the table below: its name begins with that of the function.
type safe struct {
	name  string
	ids   bool // has a table of which rows are prefetched
	piece int  // elements of a row that one call of assembly does at most
	place func(m *memory, s extent) kernel
}

// lowered are the kernels that do otherwise where results are written past the caches, or rows of bags prefetched.
const lowered = "Gather forward.Copy GatherScaled Embed EmbedAt Sinusoids Dropout LayerNorm BagSum BagMean BagMax"

// kernelTable is all kernels. Functions of package rowvec that are not in it are to be in noKernels.
func kernelTable[I, P rowvec.ID]() []safe {
	const (
		scale, epsilon, start = 1.7, 1e-5, 2
		chunk                 = 64 << 10
		normed                = 32 << 10 // the longest row of layer normalisation that is not left to plain Go
		less                  = 16 << 10 // updates and sinusoids, whose elements take longer, and dot products of a row at a time
	)
	step := rowvec.AdamStep{MeanWeight: 0.1, SquareWeight: 0.3, Rate: 0.3, Epsilon: epsilon, Keep: 0.9}
	mask := rowvec.Mask{P: 0.4, Seed: 17}
	backward := func(m *memory, s extent) (tokens, positions, dOut rowvec.Matrix) {
		return m.table(changed, s.rows, s.dim, 2*s.gap), m.matrix(changed, s.seq+start, s.dim, s.gap),
			m.matrix(read, s.n, s.dim, 3*s.gap)
	}
	bags := func(define func(dst, table rowvec.Matrix, ids []I, offsets []int, weights []float32) int,
		run func(dst, table rowvec.Matrix, ids []I, offsets []int, weights []float32) error, sizes []int, weighted bool,
	) func(m *memory, s extent) kernel {
		return func(m *memory, s extent) kernel {
			offsets := m.offsets(s.n, sizes)
			dst, table := m.matrix(written, len(offsets)-1, s.dim, 3*s.gap), m.table(read, s.rows, s.dim, s.gap)
			ids := list[I](m, s.n, table.Rows)
			var weights []float32
			if weighted {
				weights = m.vector(read, s.n)
			}
			return kernel{
				func() error { return run(dst, table, ids, offsets, weights) },
				func() { define(dst, table, ids, offsets, weights) },
			}
		}
	}
	vectors := func(m *memory, inPlace bool, n int) (dst, src []float32) {
		dst = m.vector(changed, n)
		if inPlace {
			return dst, dst
		}
		return dst, m.vector(read, n)
	}
	product := func(transposed bool) func(m *memory, s extent) kernel {
		return func(m *memory, s extent) kernel {
			dst, src := m.matrix(changed, s.n, s.dim, 3*s.gap), m.matrix(read, s.seq, s.dim, s.gap)
			a := m.matrix(read, s.n, s.seq, 2*s.gap)
			if transposed {
				a = m.matrix(read, s.seq, s.n, 2*s.gap)
			}
			return kernel{
				func() error {
					if s.n > 0 && s.dim > 0 { // layers have none without
						forward.AddProduct(dst, a, src, transposed, rowvec.Matrix{})
					}
					return nil
				},
				func() { defineProduct(dst, a, src, transposed) },
			}
		}
	}
	addScaled := func(inPlace bool) func(m *memory, s extent) kernel {
		return func(m *memory, s extent) kernel {
			dst, src := vectors(m, inPlace, s.dim)
			return kernel{
				func() error { return rowvec.AddScaled(dst, scale, src) },
				func() { kernels.AddScaled(dst, scale, src) },
			}
		}
	}
	add := func(inPlace bool) func(m *memory, s extent) kernel {
		return func(m *memory, s extent) kernel {
			dst, src := vectors(m, inPlace, s.dim)
			return kernel{func() error { return rowvec.Add(dst, src) }, func() { kernels.Add(dst, src) }}
		}
	}
	// Rotations alternate between elements of pairs side by side and apart, and between all elements in pairs and some.
	rotate := func(m *memory, s extent, inPlace, interleaved bool) (dst, src, angles rowvec.Matrix, r rowvec.Rotation) {
		r = rowvec.Rotation{Heads: 2, Interleaved: interleaved}
		dim := s.dim
		if (dim/2%2 == 0) == interleaved {
			dim += dim % 9
		}
		dst, src = m.pair(inPlace, s.n, r.Heads*dim, s.gap)
		return dst, src, m.matrix(read, s.seq+start, s.dim&^1, 3*s.gap), r
	}
	rotateBy := func(inPlace, interleaved bool) func(m *memory, s extent) kernel {
		return func(m *memory, s extent) kernel {
			dst, src, angles, r := rotate(m, s, inPlace, interleaved)
			return kernel{
				func() error { return rowvec.Rotate(dst, src, r, angles, start, s.seq) },
				func() { kernels.Rotate(dst, src, r, angles, start, s.seq) },
			}
		}
	}
	rotateAt := func(inPlace, interleaved bool) func(m *memory, s extent) kernel {
		return func(m *memory, s extent) kernel {
			dst, src, angles, r := rotate(m, s, inPlace, interleaved)
			at := list[P](m, s.n, angles.Rows)
			return kernel{
				func() error { return rowvec.RotateAt(dst, src, r, angles, at) },
				func() { kernels.RotateAt(dst, src, r, angles, at) },
			}
		}
	}
	dropout := func(inPlace bool) func(m *memory, s extent) kernel {
		return func(m *memory, s extent) kernel {
			dst, src := m.pair(inPlace, s.n, s.dim, s.gap)
			return kernel{func() error { return rowvec.Dropout(dst, src, mask) }, func() { kernels.Dropout(dst, src, mask) }}
		}
	}
	row := func(m rowvec.Matrix, i int) rowvec.Matrix {
		return rowvec.Matrix{Rows: 1, Cols: m.Cols, Data: m.Row(i), Stride: m.Cols}
	}
	norm := func(inPlace bool) func(m *memory, s extent) kernel {
		return func(m *memory, s extent) kernel {
			dst, src := m.pair(inPlace, s.n, s.dim, s.gap)
			gamma, beta := m.vector(read, s.dim), m.vector(read, s.dim)
			return kernel{
				func() error { return rowvec.LayerNorm(dst, src, gamma, beta, epsilon) },
				func() { kernels.LayerNorm(dst, src, gamma, beta, epsilon) },
			}
		}
	}
	normBackward := func(inPlace bool) func(m *memory, s extent) kernel {
		return func(m *memory, s extent) kernel {
			dSrc, dOut := m.pair(inPlace, s.n, s.dim, s.gap)
			src, gamma := m.matrix(read, s.n, s.dim, 3*s.gap), m.vector(read, s.dim)
			dGamma, dBeta := m.vector(changed, s.dim), m.vector(changed, s.dim)
			return kernel{
				func() error { return rowvec.LayerNormBackward(dSrc, dOut, src, gamma, epsilon, dGamma, dBeta) },
				func() { kernels.LayerNormBackward(dSrc, dOut, src, gamma, epsilon, dGamma, dBeta) },
			}
		}
	}
	// What layers call has ids behind those of its rows, which it may read.
	const more = 3
	rows := func(dst, table rowvec.Matrix, ids []I) forward.Rows {
		r := forward.Rows{Dst: dst, Table: table, Wide: unsafe.Sizeof(*new(I)) == 8, Scaled: true, Scale: scale, Stream: true, More: more}
		if len(ids) > 0 {
			r.IDs = unsafe.Pointer(&ids[0])
		}
		return r
	}
	done := func(got, want int) error {
		if got != want {
			return fmt.Errorf("%d rows done, not %d", got, want)
		}
		return nil
	}
	return []safe{
		{"Gather", true, chunk, func(m *memory, s extent) kernel {
			dst, table := m.matrix(written, s.n, s.dim, 3*s.gap), m.table(read, s.rows, s.dim, s.gap)
			ids := list[I](m, s.n, table.Rows)
			return kernel{
				func() error { return rowvec.Gather(dst, table, ids) },
				func() { kernels.Gather(dst, table, ids) },
			}
		}},
		{"GatherScaled", true, chunk, func(m *memory, s extent) kernel {
			dst, table := m.matrix(written, s.n, s.dim, 3*s.gap), m.table(read, s.rows, s.dim, s.gap)
			ids := list[I](m, s.n, table.Rows)
			factor := float32(scale)
			if s.n == 40 {
				factor = 0 // which is no bits, where assembly has it in a register that it uses again
			}
			return kernel{
				func() error { return rowvec.GatherScaled(dst, table, ids, factor) },
				func() { kernels.GatherScaled(dst, table, ids, factor) },
			}
		}},
		{"ScatterAdd", true, chunk, func(m *memory, s extent) kernel {
			dst, src := m.table(changed, s.rows, s.dim, 3*s.gap), m.matrix(read, s.n, s.dim, s.gap)
			ids := list[I](m, s.n, dst.Rows)
			return kernel{
				func() error { return rowvec.ScatterAdd(dst, ids, scale, src) },
				func() { kernels.ScatterAdd(dst, ids, scale, src) },
			}
		}},
		{"Embed", true, chunk, func(m *memory, s extent) kernel {
			dst, table := m.matrix(written, s.n, s.dim, 3*s.gap), m.table(read, s.rows, s.dim, s.gap)
			positions, ids := m.matrix(read, s.seq+start, s.dim, 2*s.gap), list[I](m, s.n, table.Rows)
			return kernel{
				func() error { return rowvec.Embed(dst, table, ids, scale, positions, start, s.seq) },
				func() { kernels.Embed(dst, table, ids, scale, positions, start, s.seq) },
			}
		}},
		{"EmbedAt", true, chunk, func(m *memory, s extent) kernel {
			dst, table := m.matrix(written, s.n, s.dim, 3*s.gap), m.table(read, s.rows, s.dim, s.gap)
			positions, ids := m.matrix(read, s.seq, s.dim, 2*s.gap), list[I](m, s.n, table.Rows)
			at := list[P](m, s.n, positions.Rows)
			return kernel{
				func() error { return rowvec.EmbedAt(dst, table, ids, scale, positions, at) },
				func() { kernels.EmbedAt(dst, table, ids, scale, positions, at) },
			}
		}},
		{"EmbedBackward", true, chunk, func(m *memory, s extent) kernel {
			tokens, positions, dOut := backward(m, s)
			ids, counted := list[I](m, s.n, tokens.Rows), make([]int, s.n)
			for i := range counted {
				counted[i] = start + i%s.seq
			}
			return kernel{
				func() error { return rowvec.EmbedBackward(tokens, positions, ids, scale, dOut, start, s.seq) },
				func() {
					kernels.ScatterAdd(tokens, ids, scale, dOut)
					kernels.ScatterAdd(positions, counted, 1, dOut)
				},
			}
		}},
		{"EmbedAtBackward", true, chunk, func(m *memory, s extent) kernel {
			tokens, positions, dOut := backward(m, s)
			ids, at := list[I](m, s.n, tokens.Rows), list[P](m, s.n, positions.Rows)
			return kernel{
				func() error { return rowvec.EmbedAtBackward(tokens, positions, ids, scale, dOut, at) },
				func() {
					kernels.ScatterAdd(tokens, ids, scale, dOut)
					kernels.ScatterAdd(positions, at, 1, dOut)
				},
			}
		}},
		{"AddBatches", false, chunk, func(m *memory, s extent) kernel {
			dst, src := m.matrix(changed, s.seq, s.dim, s.gap), m.matrix(read, s.n, s.dim, 2*s.gap)
			return kernel{
				func() error { return rowvec.AddBatches(dst, src) },
				func() { kernels.AddBatches(dst, src, s.n/s.seq) },
			}
		}},
		{"AddScaled", false, chunk, addScaled(false)},
		{"AddScaled in place", false, chunk, addScaled(true)},
		{"Add", false, chunk, add(false)},
		{"Add in place", false, chunk, add(true)},
		{"Scale", false, chunk, func(m *memory, s extent) kernel {
			dst := m.vector(changed, s.dim)
			return kernel{func() error { rowvec.Scale(dst, scale); return nil }, func() { kernels.Scale(dst, scale) }}
		}},
		{"BagSum", true, chunk, bags(kernels.BagSum[I], rowvec.BagSum[I], mixed, false)},
		{"BagSum of single rows", true, chunk, bags(kernels.BagSum[I], rowvec.BagSum[I], []int{1}, false)},
		{"BagSum with weights", true, chunk, bags(kernels.BagSum[I], rowvec.BagSum[I], mixed, true)},
		{"BagMean", true, chunk, bags(
			func(dst, table rowvec.Matrix, ids []I, offsets []int, _ []float32) int {
				return kernels.BagMean(dst, table, ids, offsets)
			},
			func(dst, table rowvec.Matrix, ids []I, offsets []int, _ []float32) error {
				return rowvec.BagMean(dst, table, ids, offsets)
			}, mixed, false)},
		{"BagMax", true, chunk, bags(
			func(dst, table rowvec.Matrix, ids []I, offsets []int, _ []float32) int {
				return kernels.BagMax(dst, table, ids, offsets)
			},
			func(dst, table rowvec.Matrix, ids []I, offsets []int, _ []float32) error {
				return rowvec.BagMax(dst, table, ids, offsets)
			}, mixed, false)},
		{"forward.BagMaxBackward", true, less, func(m *memory, s extent) kernel {
			dst, table := m.matrix(written, s.n, s.dim, s.gap), m.table(read, s.rows, s.dim, 2*s.gap)
			both := m.matrix(changed, s.seq, 2*s.dim, s.gap)
			ids, bags := list[int](m, s.n, table.Rows), list[int](m, s.n, both.Rows)
			for i, id := range ids { // half of the maxima are those of some row
				if s.n > 0 && i < both.Rows && s.dim > 0 {
					copy(both.Row(bags[i])[:s.dim/2], table.Row(id))
				}
			}
			maxima, left := both, both
			maxima.Cols, left.Cols = s.dim, s.dim
			if s.dim > 0 && both.Rows > 0 {
				left.Data = both.Data[s.dim:]
			}
			return kernel{
				func() error {
					if done := forward.BagMaxBackward(dst, table, ids, both, bags, false); done != s.n && s.dim > 0 {
						return fmt.Errorf("%d of %d rows are done", done, s.n)
					}
					return nil
				},
				func() { kernels.BagMaxBackward(dst, table, ids, maxima, left, bags) },
			}
		}},
		{"forward.BagDots", true, less, func(m *memory, s extent) kernel {
			offsets := m.offsets(s.n, mixed)
			a, table := m.matrix(read, len(offsets)-1, s.dim, 3*s.gap), m.table(read, s.rows, s.dim, s.gap)
			ids, dst := list[I](m, s.n, table.Rows), m.vector(written, s.n)
			return kernel{
				func() error {
					if s.n == 0 {
						return nil // layers have ids
					}
					b := forward.Bags{A: a, Table: table, IDs: unsafe.Pointer(&ids[0]), Wide: unsafe.Sizeof(ids[0]) == 8, Offsets: offsets}
					if done := forward.BagDots(dst, b); done != s.n {
						return fmt.Errorf("%d of %d dot products are done", done, s.n)
					}
					return nil
				},
				func() { kernels.BagDots(dst, a, table, ids, offsets) },
			}
		}},
		{"forward.AddProduct", false, chunk, product(false)},
		{"forward.AddProduct transposed", false, chunk, product(true)},
		{"forward.SquaredNorms", false, chunk, func(m *memory, s extent) kernel {
			x, norms := m.matrix(read, s.n, s.dim, s.gap), place[float64](m, written, 1, s.n, 0)
			return kernel{
				func() error {
					if s.dim > 0 { // layers have none without
						forward.SquaredNorms(norms, x, nil)
					}
					return nil
				},
				func() { defineSquaredNorms(norms, x) },
			}
		}},
		{"Dots", true, less, func(m *memory, s extent) kernel {
			dst, a := m.matrix(written, s.queries, s.n, 3*s.gap), m.matrix(read, s.queries, s.dim, s.gap)
			table := m.table(read, s.rows, s.dim, 2*s.gap)
			ids := list[I](m, s.n, table.Rows)
			return kernel{
				func() error { return rowvec.Dots(dst, a, table, ids) },
				func() { kernels.Dots(dst, a, table, ids) },
			}
		}},
		{"DotsAll", false, less, func(m *memory, s extent) kernel {
			dst, a := m.matrix(written, s.queries, s.n, 3*s.gap), m.matrix(read, s.queries, s.dim, s.gap)
			table := m.matrix(read, s.n, s.dim, 2*s.gap)
			return kernel{func() error { return rowvec.DotsAll(dst, a, table) }, func() { kernels.DotsAll(dst, a, table) }}
		}},
		{"forward.DotsAll", false, less, func(m *memory, s extent) kernel {
			dst, a := m.matrix(written, s.queries, s.n, 3*s.gap), m.matrix(read, s.queries, s.dim, s.gap)
			table := m.matrix(read, s.n, s.dim, 2*s.gap)
			return kernel{func() error { return forward.DotsAll(dst, a, table, 1<<30) }, func() { kernels.DotsAll(dst, a, table) }}
		}},
		{"Dropout", false, chunk, dropout(false)},
		{"Dropout in place", false, chunk, dropout(true)},
		{"forward.Fetch", true, chunk, func(m *memory, s extent) kernel {
			table := m.table(read, s.rows, s.dim, s.gap)
			ids := list[I](m, s.n, table.Rows)
			next := forward.Next{Table: table, IDs: unsafe.Pointer(unsafe.SliceData(ids)), Wide: unsafe.Sizeof(I(0)) == 8, Rows: s.n}
			return kernel{
				func() error {
					if s.dim > 0 {
						forward.Fetch(next)
					}
					return nil
				},
				func() {},
			}
		}},
		{"forward.DropRows", true, chunk, func(m *memory, s extent) kernel {
			dst, src := m.matrix(written, s.n, s.dim, s.gap), m.table(read, s.rows, s.dim, 2*s.gap)
			at := list[int](m, s.n, min(src.Rows, math.MaxInt32))
			return kernel{
				func() error { forward.DropRows(dst, src, mask, at); return nil },
				func() {
					for i, place := range at {
						one := mask
						one.Row += place
						kernels.Dropout(row(dst, i), row(src, place), one)
					}
				},
			}
		}},
		{"LayerNorm", false, normed, norm(false)},
		{"LayerNorm in place", false, normed, norm(true)},
		{"LayerNormBackward", false, normed, normBackward(false)},
		{"LayerNormBackward in place", false, normed, normBackward(true)},
		{"Rotate", false, chunk, rotateBy(false, false)},
		{"Rotate interleaved", false, chunk, rotateBy(false, true)},
		{"Rotate in place", false, chunk, rotateBy(true, true)},
		{"RotateAt", false, chunk, rotateAt(false, true)},
		{"RotateAt in place", false, chunk, rotateAt(true, false)},
		{"forward.FillUniform", false, chunk, func(m *memory, s extent) kernel {
			dst, first := m.vector(written, s.dim), uint64(s.n)
			return kernel{
				func() error { forward.FillUniform(dst, 1, 2, first, scale); return nil },
				func() { philox.Uniform(dst, 1, 2, first, scale) },
			}
		}},
		{"forward.FillNormal", false, less, func(m *memory, s extent) kernel {
			dst, first := m.vector(written, s.dim), uint64(s.n)
			return kernel{
				func() error { forward.FillNormal(dst, 1, 2, first, scale); return nil },
				func() { philox.Normal(dst, 1, 2, first, scale) },
			}
		}},
		{"Sinusoids", false, less, func(m *memory, s extent) kernel {
			dst, skip := m.matrix(written, s.n, s.dim, s.gap), s.dim%4
			x, y, c := m.doubles(changed, s.dim), m.doubles(changed, s.dim), m.doubles(read, s.dim)
			return kernel{
				func() error { return rowvec.Sinusoids(dst, skip, x, y, c) },
				func() { kernels.Sinusoids(dst, skip, x, y, c) },
			}
		}},
		{"Sinusoids without rows", false, less, func(m *memory, s extent) kernel {
			dst := rowvec.Matrix{Cols: s.dim}
			x, y, c := m.doubles(changed, s.dim), m.doubles(changed, s.dim), m.doubles(read, s.dim)
			return kernel{
				func() error { return rowvec.Sinusoids(dst, s.n, x, y, c) },
				func() { kernels.Sinusoids(dst, s.n, x, y, c) },
			}
		}},
		{"UpdateSGD", true, less, func(m *memory, s extent) kernel {
			table, grad := m.table(changed, s.rows, s.dim, 2*s.gap), m.matrix(read, s.n, s.dim, s.gap)
			ids := list[I](m, s.n, table.Rows)
			return kernel{
				func() error { return rowvec.UpdateSGD(table, ids, grad, scale, 0.01) },
				func() { kernels.UpdateSGD(table, ids, grad, scale, 0.01) },
			}
		}},
		{"UpdateAdagrad", true, less, func(m *memory, s extent) kernel {
			table, sums := m.table(changed, s.rows, s.dim, 2*s.gap), m.table(changed, s.rows, s.dim, 3*s.gap)
			grad, ids := m.matrix(read, s.n, s.dim, s.gap), list[I](m, s.n, table.Rows)
			return kernel{
				func() error { return rowvec.UpdateAdagrad(table, sums, ids, grad, scale, epsilon) },
				func() { kernels.UpdateAdagrad(table, sums, ids, grad, scale, epsilon) },
			}
		}},
		{"UpdateRowAdagrad", true, less, func(m *memory, s extent) kernel {
			table, grad := m.table(changed, s.rows, s.dim, 2*s.gap), m.matrix(read, s.n, s.dim, s.gap)
			sums, ids := m.vector(changed, table.Rows), list[I](m, s.n, table.Rows)
			return kernel{
				func() error { return rowvec.UpdateRowAdagrad(table, sums, ids, grad, scale, epsilon) },
				func() { kernels.UpdateRowAdagrad(table, sums, ids, grad, scale, epsilon) },
			}
		}},
		{"UpdateAdam", true, less, func(m *memory, s extent) kernel {
			table, means := m.table(changed, s.rows, s.dim, 2*s.gap), m.table(changed, s.rows, s.dim, 3*s.gap)
			squares, grad := m.table(changed, s.rows, s.dim, s.gap), m.matrix(read, s.n, s.dim, s.gap)
			ids := list[I](m, s.n, table.Rows)
			return kernel{
				func() error { return rowvec.UpdateAdam(table, means, squares, ids, grad, step) },
				func() { kernels.UpdateAdam(table, means, squares, ids, grad, step) },
			}
		}},
		{"forward.Do", true, chunk, func(m *memory, s extent) kernel {
			dst, table := m.matrix(written, s.n, s.dim, 3*s.gap), m.table(read, s.rows, s.dim, s.gap)
			positions, ids := m.matrix(read, s.seq, s.dim, 2*s.gap), list[I](m, s.n+more, table.Rows)
			r := rows(dst, table, ids)
			if r.Seq = s.seq; s.dim%3 == 0 {
				r.Seq = 0
			}
			r.Positions = positions
			return kernel{
				func() error { return done(forward.Do(r), s.n) },
				func() {
					if r.Seq == 0 {
						kernels.GatherScaled(dst, table, ids[:s.n], scale)
					} else {
						kernels.Embed(dst, table, ids[:s.n], scale, positions, 0, s.seq)
					}
				},
			}
		}},
		{"forward.Normalise", true, normed / 4, func(m *memory, s extent) kernel {
			dst, table := m.matrix(written, s.n, s.dim, 3*s.gap), m.table(read, s.rows, s.dim, s.gap)
			positions, add := m.matrix(read, s.seq, s.dim, 2*s.gap), m.matrix(read, s.seq+start, s.dim, s.gap)
			gamma, beta := m.vector(read, s.dim), m.vector(read, s.dim)
			ids := list[I](m, s.n+more, table.Rows)
			n := forward.Normal{Rows: rows(dst, table, ids), Gamma: gamma, Beta: beta, Epsilon: epsilon}
			if n.Positions = positions; s.dim%3 != 0 {
				n.Seq = s.seq
			}
			if s.dim%2 == 0 {
				n.Add, n.AddStart, n.AddSeq = add, start, s.seq
			}
			return kernel{
				func() error { return done(forward.Normalise(n), s.n) },
				func() {
					if n.Seq == 0 {
						kernels.GatherScaled(dst, table, ids[:s.n], scale)
					} else {
						kernels.Embed(dst, table, ids[:s.n], scale, positions, 0, s.seq)
					}
					for i := range s.n {
						if n.AddSeq > 0 {
							kernels.Add(dst.Row(i), add.Row(start+i%s.seq))
						}
					}
					kernels.LayerNorm(dst, dst, gamma, beta, epsilon)
				},
			}
		}},
		{"forward.ScatterAdd", true, chunk, func(m *memory, s extent) kernel {
			src, table := m.matrix(read, s.n, s.dim, 3*s.gap), m.table(changed, s.rows, s.dim, s.gap)
			ids := list[I](m, s.n+more, table.Rows)
			return kernel{
				func() error { return done(forward.ScatterAdd(rows(src, table, ids)), s.n) },
				func() { kernels.ScatterAdd(table, ids[:s.n], scale, src) },
			}
		}},
		{"forward.Apply", true, less, func(m *memory, s extent) kernel {
			table, means := m.table(changed, s.rows, s.dim, 2*s.gap), m.table(changed, s.rows, s.dim, 3*s.gap)
			squares, grad := m.table(changed, s.rows, s.dim, s.gap), m.matrix(read, s.n, s.dim, s.gap)
			ids := list[I](m, s.n+more, table.Rows)
			r := rows(grad, table, ids)
			u := forward.Update{Method: forward.Adam, Table: table, First: means, Second: squares, IDs: r.IDs, Wide: r.Wide, Grad: grad,
				Adam: step, More: more}
			return kernel{
				func() error { return done(forward.Apply(u), s.n) },
				func() { kernels.UpdateAdam(table, means, squares, ids[:s.n], grad, step) },
			}
		}},
		{"forward.Copy", false, chunk, func(m *memory, s extent) kernel {
			dst, src := m.pair(false, s.n, s.dim, s.gap)
			return kernel{
				func() error { forward.Copy(dst, src); return nil },
				func() {
					for i := range s.n {
						copy(dst.Row(i), src.Row(i))
					}
				},
			}
		}},
		{"forward.Sinusoids", false, less, func(m *memory, s extent) kernel {
			dst := m.matrix(written, s.n, s.dim, s.gap)
			x, y, c := m.doubles(changed, s.dim), m.doubles(changed, s.dim), m.doubles(read, s.dim)
			return kernel{
				func() error { forward.Sinusoids(dst, 1, x, y, c); return nil },
				func() { kernels.Sinusoids(dst, 1, x, y, c) },
			}
		}},
		{"forward.Anchors", false, 8 << 10, func(m *memory, s extent) kernel {
			n := (s.dim + 15) / 16 * 16
			x, y := m.doubles(written, n), m.doubles(written, n)
			w := exact.Waves{High: m.words(n), Low: m.words(n), Offset: m.words(n)}
			if s.n%2 == 0 {
				w.Sin, w.Twice = m.doubles(read, n), m.doubles(read, n)
			}
			pos := uint64(s.n) << s.dim
			return kernel{func() error { forward.Anchors(w, x, y, pos); return nil }, func() { w.Anchors(x, y, pos) }}
		}},
		{"forward.Dropout", true, chunk, func(m *memory, s extent) kernel {
			dst, src := m.pair(false, s.n, s.dim, s.gap)
			r := rows(dst, m.table(read, s.rows, s.dim, s.gap), list[I](m, s.n, 1<<31-1)) // any id will do
			d := forward.Drop{Dst: dst, Src: src, Mask: mask, Next: forward.Next{Table: r.Table, IDs: r.IDs, Wide: r.Wide, Rows: s.n}}
			d.Stream = s.dim%16 == 0 // or else src would be written to
			return kernel{func() error { forward.Dropout(d); return nil }, func() { kernels.Dropout(dst, src, mask) }}
		}},
		{"forward.DropSums", true, chunk, func(m *memory, s extent) kernel {
			dst, table := m.matrix(written, s.n, s.dim, 3*s.gap), m.table(read, s.rows, s.dim, s.gap)
			positions, ids := m.matrix(read, s.seq, s.dim, 2*s.gap), list[I](m, s.n+more, table.Rows)
			r := rows(dst, table, ids)
			if r.Positions = positions; s.dim%3 == 0 {
				r.At = list[int](m, s.n, s.seq)
			} else {
				r.Seq = s.seq
			}
			return kernel{
				func() error { return done(forward.DropSums(r, mask), s.n) },
				func() {
					if r.At != nil {
						kernels.EmbedAt(dst, table, ids[:s.n], scale, positions, r.At)
					} else {
						kernels.Embed(dst, table, ids[:s.n], scale, positions, 0, s.seq)
					}
					kernels.Dropout(dst, dst, mask)
				},
			}
		}},
		{"forward.Quantize", false, less, func(m *memory, s extent) kernel {
			src, factors := m.matrix(read, s.n, s.dim, s.gap), m.vector(written, s.n)
			dst := place[int16](m, written, s.n, kernels.QuantizedColumns(s.dim), 0)
			return kernel{
				func() error { forward.Quantize(dst, factors, src); return nil },
				func() { kernels.Quantize(dst, factors, src) },
			}
		}},
		{"forward.QuantizedDots", false, less, func(m *memory, s extent) kernel {
			cols, next := kernels.QuantizedColumns(s.dim), m.matrix(read, s.n, s.dim, s.gap)
			short := func(rows int) []int16 {
				x := place[int16](m, read, rows, cols, 0)
				for i := range x {
					x[i] = int16(m.next*7 + i*5)
				}
				return x
			}
			a, b := short(min(s.n, 12)), short(4*(1+s.rows%3)) // what is no multiple of 4 is not for assembly
			dst := place[int32](m, written, 1, len(a)/cols*(len(b)/cols), 0)
			return kernel{
				func() error { forward.QuantizedDots(dst, a, b, cols, next); return nil },
				func() { kernels.QuantizedDots(dst, a, b, cols) },
			}
		}},
		{"CheckIDs", true, chunk, func(m *memory, s extent) kernel {
			ids := list[I](m, s.n+s.dim, s.rows)
			return kernel{func() error { return rowvec.CheckIDs(ids, s.rows) }, func() {}}
		}},
	}
}

// noKernels are the exported functions that are no kernels, and what they do with memory.
var noKernels = map[string]string{
	"AdviseHugePages": "none of what it advises about is touched",
	"CheckMatrix":     "looks at fields alone",
	"ISA":             "has no arguments",
	"NewMatrix":       "allocates it",
	"Overlap":         "looks at fields alone",

	"forward.Ahead":      "has no memory",
	"forward.DropsSums":  "has no memory",
	"forward.Normalises": "has no memory",
	"forward.Quantizes":  "has no memory",
}

// idTables is the table for each type of ids, and for another of position ids.
var idTables = [...][]safe{
	kernelTable[int32, uint64](), kernelTable[int64, int32](), kernelTable[uint32, int](), kernelTable[uint64, uint32](),
	kernelTable[int, named](), kernelTable[uint, int64](), kernelTable[named, uint](),
}

// try runs kernel k of the table on one shape at every level, flush against both pages, over both canaries.
func (m *memory) try(t *testing.T, levels []isa.Level, table []safe, k int, s extent) {
	t.Helper()
	for _, m.tail = range []bool{false, true} {
		m.arguments, m.tables, m.next = m.arguments[:0], 0, m.next+1
		kernel := table[k].place(m, s)
		m.expect(kernel.define)
		for c := range canaries {
			for i, level := range levels {
				m.restore(c, i == 0)
				undo := isa.Set(level)
				err := m.attempt(kernel.run)
				undo()
				if d := m.compare(c); err != nil || d != "" {
					t.Fatalf("%s at %v, %+v, behind it a page: %v, over %#x: %v %s", table[k].name, level, s, m.tail, canaries[c], err, d)
				}
			}
		}
	}
}

// TestMemory takes every dim and all that remains of rows done together, with every type of ids in turn.
func TestMemory(t *testing.T) {
	isatest.Tune(t, &tuning.RootColumns, 0)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	m, levels := newMemory(t, roomFor), isatest.Levels(t)
	avx512 := slices.Contains(levels, isa.AVX512) // which alone knows of halves
	for k, kernel := range idTables[0] {
		name, _, _ := strings.Cut(kernel.name, " ")
		shapes := []extent{{n: 15, rows: 9, seq: 5}, {n: 1, rows: 3, seq: 1}, {n: 3, rows: 9, seq: 3}, {n: 13, rows: 1, seq: 1}} // four rows, two and one; one; fewer than four; the same
		if strings.Contains(name, "Dots") {
			shapes = nil
			for n := 1; n < 6; n++ {
				shapes = append(shapes, extent{n: n, rows: 6 - n, queries: 1 + n%5})
			}
		}
		if name == "Gather" {
			shapes = append(shapes, extent{n: 18, rows: 9, seq: 6}) // which it does not copy as few
		}
		for _, dim := range dims(0) {
			if dim == 0 && strings.HasPrefix(name, "forward.") {
				continue // layers have columns
			}
			for i, s := range shapes {
				s.dim, s.gap = dim, dim%2
				table := idTables[(dim+3*i)%len(idTables)]
				m.try(t, levels, table, k, s)
				if avx512 && dim > 32 && dim <= 128 { // which are done in another way where vectors are done in halves
					tuning.Halves = true
					m.try(t, levels, table, k, s)
					tuning.Halves = false
				}
				if dim <= 16 { // several of such rows may be done at once, if nothing is between them
					s.gap = 1 - s.gap
					m.try(t, levels, idTables[(dim+3*i+1)%len(idTables)], k, s)
				}
				if strings.Contains(" "+lowered+" ", " "+name+" ") && (dim%8 == 0 || dim > 128 || dim > 32 && name[:3] == "Bag") {
					undo := tuning.Lower()
					m.try(t, levels, table, k, s)
					if avx512 && (dim%16 == 0 || dim > 128 || name[:3] == "Bag") { // lines, parts of them, and blocks of vectors at either end
						tuning.Halves = false
						m.try(t, levels, table, k, s)
					}
					undo()
				}
			}
		}
	}
}

// TestMemoryOfChunks has rows, and numbers of them, of about as much as one call of assembly does.
func TestMemoryOfChunks(t *testing.T) {
	large(t)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	m, levels := newMemory(t, roomFor), isatest.Levels(t)
	for k, kernel := range idTables[0] {
		for i, s := range []extent{
			{dim: kernel.piece - 1, n: 1, rows: 2, seq: 1, queries: 1},
			{dim: kernel.piece, n: 1, rows: 2, seq: 1, queries: 1},
			{dim: kernel.piece + 1, n: 1, rows: 2, seq: 1, queries: 1},
			{dim: kernel.piece + 35, gap: 1, n: 2, rows: 2, seq: 1, queries: 2},
			{dim: 3, gap: 1, n: 1025, rows: 7, seq: 205, queries: 3},
			{dim: 1, n: 4097, rows: 7, seq: 241, queries: 2},
		} {
			m.try(t, levels, idTables[i], k, s)
		}
	}
}

// TestMemoryOfPrefetches has tables so large that rows are prefetched, by ids that are looked at before they are due: fewer
// and more of them than that looks ahead, with rows that are prefetched at once, in part, line by line and abreast, and a few more
// than one call of assembly does.
func TestMemoryOfPrefetches(t *testing.T) {
	large(t)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	m, levels := newMemory(t, roomFor), isatest.Levels(t)
	avx512 := slices.Contains(levels, isa.AVX512)
	defer func(bags, lines, inOrder int) {
		tuning.CachedBagBytes, tuning.HeldLinesBytes, tuning.InOrderBytes = bags, lines, inOrder
	}(tuning.CachedBagBytes, tuning.HeldLinesBytes, tuning.InOrderBytes)
	tuning.CachedBagBytes, tuning.HeldLinesBytes, tuning.InOrderBytes = 1<<20, 0, 1<<20 // three times of the first some prefetch nothing of
	isatest.Tune(t, &tuning.CachedBytes, 1<<20)
	isatest.Tune(t, &tuning.CachedShortBytes, 0)
	for range 3 {
		m.huge = append(m.huge, guard.Tail[float32](guard.New(t, roomFor+20000), 1<<20+5000))
	}
	for k, kernel := range idTables[0] {
		if !kernel.ids {
			continue
		}
		for i, s := range []extent{
			{dim: 5}, {dim: 16}, {dim: 20}, {dim: 32}, {dim: 33}, {dim: 39, gap: 1}, {dim: 64, gap: 1}, {dim: 90}, {dim: 100}, {dim: 100, gap: 1},
			{dim: 128}, {dim: 300, gap: 1}, {dim: 600}, {dim: 700, gap: 1}, {dim: 704}, {dim: 1100},
		} {
			lengths := []int{1, 2, 7, 8, 9, 17, 31, 32, 33, 34, 40, 42}
			switch {
			case s.dim > 600:
				lengths = append(lengths, kernel.piece/s.dim+2)
			case s.dim <= 128: // of which more have one ahead than have not
				lengths = append(lengths, 100)
			}
			for _, n := range lengths {
				s.n, s.seq, s.rows, s.queries = n, n, 1000, 1+(i+n)%2
				table := idTables[(i+n)%len(idTables)]
				m.try(t, levels, table, k, s)
				if avx512 && n == 1 && !tuning.Halves { // one row is copied in a way of its own then
					tuning.Halves = true
					m.try(t, levels, table, k, s)
					tuning.Halves = false
				}
				if s.dim > 600 { // past the caches too, where there are whole lines
					undo := tuning.Lower()
					tuning.Halves = false
					m.try(t, levels, table, k, s)
					undo()
				}
			}
		}
	}
}

// TestMemoryOfAll holds the table to the exported functions, whatever they are built for, and to the variables of package
// forward.
func TestMemoryOfAll(t *testing.T) {
	missing := map[string]bool{}
	for _, pattern := range []string{"*.go", "internal/forward/*.go"} {
		files, err := filepath.Glob(pattern)
		noError(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			noError(t, err)
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() {
					missing[f.Name.Name] = true
				}
				v, ok := d.(*ast.GenDecl)
				if !ok || v.Tok != token.VAR || file.Name.Name != "forward" {
					continue
				}
				for _, spec := range v.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						missing["forward."+name.Name] = true
					}
				}
			}
		}
	}
	found := len(missing)
	check := func(name string) {
		name, _, _ = strings.Cut(name, " ")
		if _, ok := missing[name]; !ok {
			t.Errorf("%s is no exported function", name)
		}
		missing[name] = false
	}
	for _, k := range idTables[0] {
		check(k.name)
	}
	for name := range noKernels {
		check(name)
	}
	for name, is := range missing {
		if is {
			t.Errorf("%s is neither in kernelTable nor in noKernels: nothing shows that it keeps to its memory", name)
		}
	}
	if found < 35 {
		t.Errorf("only %d functions found", found)
	}
}
