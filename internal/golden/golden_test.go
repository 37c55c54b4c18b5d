package golden_test

import (
	_ "embed"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc64"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
)

const file = "testdata/golden.txt"

//go:embed testdata/golden.txt
var golden string

var update = flag.Bool("update", false, "write "+file+" anew")

// piece is a part of the workload that has a line of its own.
type piece struct {
	name string
	do   func(r *run)
}

// pieces is the workload.
func pieces() []piece { return slices.Concat(kernelPieces(), lookupPieces(), positionalPieces()) }

// TestGolden computes all checksums at every level, by one worker, and by three with results written past the caches and
// work split however small it is.
func TestGolden(t *testing.T) {
	all := pieces()
	if *update {
		write(t, all)
	}
	want := lines(t)
	isatest.Each(t, func(t *testing.T) {
		for _, workers := range []int{1, 3} {
			if race.Enabled && workers == 1 {
				continue // nobody to race with, and the bits are those of every other build
			}
			undo := func() {}
			if workers > 1 {
				undo = tuning.Lower()
			}
			for _, p := range all {
				switch got := p.sum(t, workers); want[p.name] {
				case got:
				case "":
					t.Errorf("%s has no line for %q", file, p.name)
				default:
					t.Errorf("%s: the checksum by Workers(%d) is %s, want %s", p.name, workers, got, want[p.name])
				}
			}
			undo()
		}
	})
	names := map[string]bool{}
	for _, p := range all {
		if names[p.name] {
			t.Errorf("there are two pieces named %q", p.name)
		}
		names[p.name] = true
	}
	for name := range want {
		if !names[name] {
			t.Errorf("%s has a line for %q, which is no piece", file, name)
		}
	}
}

// lines returns the checksum of each name.
func lines(t *testing.T) map[string]string {
	sums := map[string]string{}
	for line := range strings.Lines(golden) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if _, twice := sums[name]; !ok || twice || len(sum) != 16 {
			t.Fatalf("%s: %q is no line of a checksum and a name of its own", file, line)
		}
		sums[name] = sum
	}
	return sums
}

// write makes the file what plain Go computes by one worker.
func write(t *testing.T, all []piece) {
	defer isa.Set(isa.Portable)()
	golden = ""
	for _, p := range all {
		golden += fmt.Sprintf("%s %s\n", p.sum(t, 1), p.name)
	}
	if err := os.WriteFile(file, []byte(golden), 0o666); err != nil {
		t.Fatal(err)
	}
}

func (p piece) sum(t *testing.T, workers int) string {
	r := &run{t: t, name: p.name, workers: workers, pool: plain}
	p.do(r)
	r.flush()
	return fmt.Sprintf("%016x", r.crc)
}

// run is a piece on its way: where its numbers come from, and the checksum of what came out, CRC-64 by the polynomial of
// ECMA-182 over little-endian numbers.
type run struct {
	t       *testing.T
	name    string
	workers int
	pool    []float32
	next    int
	random  uint64
	crc     uint64
	buffer  [4096]byte
	filled  int
}

var table = crc64.MakeTable(crc64.ECMA)

func (r *run) flush() {
	r.crc = crc64.Update(r.crc, table, r.buffer[:r.filled])
	r.filled = 0
}

func (r *run) u32(x uint32) {
	if r.filled == len(r.buffer) {
		r.flush()
	}
	binary.LittleEndian.PutUint32(r.buffer[r.filled:], x)
	r.filled += 4
}

func (r *run) u64(x uint64) {
	r.u32(uint32(x))
	r.u32(uint32(x >> 32))
}

// bits adds numbers bit by bit, also those of a NaN.
func (r *run) bits(xs []float32) {
	for _, x := range xs {
		r.u32(math.Float32bits(x))
	}
}

// floats adds numbers, any NaN as the same one.
func (r *run) floats(xs ...float32) {
	for len(xs) > 0 {
		if r.filled == len(r.buffer) {
			r.flush()
		}
		some := xs[:min(len(xs), (len(r.buffer)-r.filled)/4)]
		room := r.buffer[r.filled:][:4*len(some)]
		for i, x := range some {
			b := math.Float32bits(x)
			if x != x {
				b = 0x7fc00000
			}
			binary.LittleEndian.PutUint32(room[4*i:4*i+4], b)
		}
		r.filled += len(room)
		xs = xs[len(some):]
	}
}

func (r *run) doubles(xs ...float64) {
	for _, x := range xs {
		b := math.Float64bits(x)
		if x != x {
			b = 0x7ff8 << 48
		}
		r.u64(b)
	}
}

func (r *run) ints(xs ...int) {
	for _, x := range xs {
		r.u64(uint64(int64(x)))
	}
}

func (r *run) bools(xs ...bool) {
	for _, x := range xs {
		if x {
			r.ints(1)
		} else {
			r.ints(0)
		}
	}
}

func (r *run) text(s string) {
	r.ints(len(s))
	for i := range len(s) {
		r.u32(uint32(s[i]))
	}
}

// matrices adds shapes and all elements, also those between rows, which nothing may have changed.
func (r *run) matrices(ms ...rowvec.Matrix) {
	for _, m := range ms {
		r.ints(m.Rows, m.Cols)
		r.floats(m.Data...)
	}
}

// ok ends the test for an error: there is none in the workload.
func (r *run) ok(err error) {
	if err != nil {
		r.t.Helper()
		r.t.Fatalf("%s: %v", r.name, err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// The numbers that pieces draw from. They are made of integers alone. A prime of them, so that what is drawn in turn does
// not repeat itself soon.
var plain, special = pool(false), pool(true)

const poolSize = 65521

// hard are numbers that are hard to add, to multiply or to compare: zeros, subnormals, the largest and the least, ties.
// Infinities and NaNs are at the end.
var hard = [...]uint32{
	0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x80400000, 0x00800000, 0x80800001, 0x3f800001, 0xbf7fffff, 0x33800000, 0x34000001,
	0x5f7fffff, 0xdf800000, 0x7f7fffff, 0xff7fffff, 0x1f800000, 0x20000001,
	0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001,
}

const finite = len(hard) - 5

// pool returns numbers of either sign between 2^-10 and 2^2. If they are special, every eighth of half of them is a hard
// one; stretches of 64 take turns, since a single NaN is all that is left of a sum, and an eighth of them has one.
func pool(special bool) []float32 {
	xs := make([]float32, poolSize)
	state := uint64(1)
	for i := range xs {
		h := random(&state)
		b := uint32(h)&0x807fffff | uint32(117+h>>32%12)<<23
		if h := h >> 40; special && i/64%2 == 0 && h%8 == 0 {
			b = hard[h>>3%uint64(finite)]
			if i/64%8 == 0 && h>>20%8 == 0 {
				b = hard[finite+int(h>>3%uint64(len(hard)-finite))]
			}
		}
		xs[i] = math.Float32frombits(b)
	}
	return xs
}

// random is SplitMix64 (Steele, Lea and Flood, 2014).
func random(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (r *run) intn(n int) int { return int(random(&r.random) % uint64(n)) }

// vector returns n numbers, not always aligned.
func (r *run) vector(n int) []float32 {
	skip := r.next % 4
	xs := make([]float32, skip+n)[skip:]
	for rest := xs; len(rest) > 0; {
		k := copy(rest, r.pool[r.next:])
		rest = rest[k:]
		r.next = (r.next + k) % poolSize
	}
	r.next = (r.next + 1) % poolSize
	return xs
}

// matrix returns a matrix of numbers, mostly with some between its rows and behind them too.
func (r *run) matrix(rows, cols int) rowvec.Matrix {
	stride := cols + [...]int{0, 1, 3, 16}[r.intn(4)]
	return rowvec.Matrix{Rows: rows, Cols: cols, Data: r.vector(rows*stride + 5), Stride: stride}
}

// positive makes all numbers of a matrix non-negative, as sums of squares are.
func positive(m rowvec.Matrix) rowvec.Matrix {
	for i, x := range m.Data {
		m.Data[i] = math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	}
	return m
}

// ids returns n ids below rows, a third of them among the first three, so that many repeat and follow each other.
func ids[I rowvec.ID](r *run, n, rows int) []I {
	xs := make([]I, n)
	for i := range xs {
		below := rows
		if r.intn(3) == 0 {
			below = min(rows, 3)
		}
		xs[i] = I(r.intn(below))
	}
	return xs
}

// offsets parts n into so many bags, some of them empty.
func (r *run) offsets(bags, n int) []int {
	xs := make([]int, bags+1)
	for b := range bags - 1 {
		xs[b+1] = min(n, xs[b]+r.intn(2*n/bags+1)*r.intn(3)/2)
	}
	xs[bags] = n
	return xs
}
