package rowvec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/reference"
	"github.com/rowvec/rowvec/kernels"
)

// turn is what the comparison below varies.
type turn struct {
	heads, dim, n int // n columns of angles
	rows, seq     int
	start, gap    int
	interleaved   bool
	inverse       bool
}

// compareRotate holds Rotate and RotateAt to their definitions, from one matrix to another and in place. Whole backing slices
// are compared, gaps included.
func compareRotate[P rowvec.ID](t *testing.T, alloc func() allocator, rng *rand.Rand, s turn) {
	t.Helper()
	r := rowvec.Rotation{Heads: s.heads, Interleaved: s.interleaved, Inverse: s.inverse}
	cols := s.heads * s.dim
	dst, src := matrix(alloc(), rng, s.rows, cols, s.gap), matrix(alloc(), rng, s.rows, cols, 2*s.gap)
	angles := matrix(alloc(), rng, s.start+s.seq+2, s.n, 3*s.gap)
	at := randomIDs[P](rng, s.rows, angles.Rows)
	want, wantSrc, wantAngles := clone(dst), clone(src), clone(angles)
	check := func(what string, err error) {
		t.Helper()
		d := diff(dst.Data, want.Data, false)
		if d == "" {
			d = diff(src.Data, wantSrc.Data, what != "Rotate in place" && what != "RotateAt in place")
		}
		if d == "" {
			d = diff(angles.Data, wantAngles.Data, true)
		}
		if d != "" || err != nil {
			t.Fatalf("%s, %+v: %v %s", what, s, err, d)
		}
	}
	kernels.Rotate(want, src, r, angles, s.start, s.seq)
	check("Rotate", rowvec.Rotate(dst, src, r, angles, s.start, s.seq))
	kernels.RotateAt(want, src, r, angles, at)
	check("RotateAt", rowvec.RotateAt(dst, src, r, angles, at))
	kernels.Rotate(wantSrc, wantSrc, r, angles, s.start, s.seq)
	check("Rotate in place", rowvec.Rotate(src, src, r, angles, s.start, s.seq))
	kernels.RotateAt(wantSrc, wantSrc, r, angles, at)
	check("RotateAt in place", rowvec.RotateAt(src, src, r, angles, at))
}

// TestRotate has heads of every size and with every number of pairs.
func TestRotate(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(31, 1))
		for _, n := range dims(0) {
			if n%2 != 0 {
				continue
			}
			for kind := range 4 {
				for _, rest := range []int{0, []int{1, 2, 7, 13, 45}[rng.IntN(5)]} {
					compareRotate[int32](t, heap, rng, turn{heads: 1 + rng.IntN(4), dim: n + rest, n: n, rows: 6, seq: 3,
						start: 1, gap: rng.IntN(3) * 3, interleaved: kind%2 == 1, inverse: kind > 1})
				}
			}
		}
	})
}

// TestRotateHeads has every number of heads of every size, as few as one and as short as one element.
func TestRotateHeads(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(32, 1))
		for heads := 1; heads <= 5; heads++ {
			for dim := 1; dim <= 130; dim++ {
				if dim > 36 && (dim+heads)%4 != 0 && isatest.Sampled() {
					continue
				}
				s := turn{heads: heads, dim: dim, n: dim &^ 1, rows: 4, seq: 2, gap: dim % 3, interleaved: dim%4 > 1,
					inverse: heads%2 == 0}
				compareRotate[uint64](t, heap, rng, s)
				s.interleaved = !s.interleaved
				compareRotate[int](t, heap, rng, s)
			}
		}
	})
}

// TestRotateRest has every number of columns behind those that are rotated.
func TestRotateRest(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(36, 1))
		for rest := range 100 {
			compareRotate[int32](t, heap, rng, turn{heads: 2, dim: 6 + rest, n: 6, rows: 4, seq: 2, interleaved: rest%2 == 0})
		}
	})
}

func TestRotateEveryIDType(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(33, 1))
		s := turn{heads: 3, dim: 20, n: 18, rows: 12, seq: 4, start: 2, gap: 1}
		compareRotate[int](t, heap, rng, s)
		compareRotate[int32](t, heap, rng, s)
		compareRotate[int64](t, heap, rng, s)
		compareRotate[uint](t, heap, rng, s)
		compareRotate[uint32](t, heap, rng, s)
		compareRotate[uint64](t, heap, rng, s)
		compareRotate[named](t, heap, rng, s)
	})
}

// TestRotateChunks has more rows, more heads and longer heads than one call of assembly does.
func TestRotateChunks(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		large(t)
		rng := rand.New(rand.NewPCG(34, 1))
		for i, s := range []turn{
			{heads: 1, dim: 2, n: 2, rows: 9001, seq: 9001},
			{heads: 1, dim: 3, n: 2, rows: 9000, seq: 3000, start: 3},
			{heads: 2, dim: 1, n: 0, rows: 9000, seq: 1},
			{heads: 12, dim: 64, n: 64, rows: 256, seq: 128, start: 5},
			{heads: 12, dim: 64, n: 24, rows: 300, seq: 100},
			{heads: 9001, dim: 4, n: 2, rows: 3, seq: 3},
			{heads: 300, dim: 301, n: 300, rows: 4, seq: 2, start: 1},
			{heads: 1, dim: 1<<16 - 1, n: 1<<16 - 2, rows: 3, seq: 3},
			{heads: 2, dim: 1 << 16, n: 1 << 16, rows: 2, seq: 1},
			{heads: 1, dim: 1<<16 + 2, n: 1<<16 + 2, rows: 2, seq: 2},
			{heads: 2, dim: 1<<17 + 19, n: 1<<16 + 38, rows: 4, seq: 2, start: 1},
			{heads: 2, dim: 1<<17 + 19, n: 6, rows: 2, seq: 2, start: 1},
			{heads: 1, dim: 1<<17 + 38, n: 1<<17 + 38, rows: 2, seq: 2},
		} {
			s.gap = i % 2
			for kind := range 2 {
				s.interleaved, s.inverse = kind == 0, kind == 0
				compareRotate[int32](t, heap, rng, s)
				compareRotate[uint64](t, heap, rng, s)
			}
		}
	})
}

// TestRotateUnfused uses numbers for which a fused multiply-add gives another result: a*a is 1 + 2^-11 + 2^-24, of which
// rounding leaves 1 + 2^-11.
func TestRotateUnfused(t *testing.T) {
	const a, square = 1 + 0x1p-12, 1 + 0x1p-11
	isatest.Each(t, func(t *testing.T) {
		for dim := 2; dim <= 130; dim += 2 {
			for kind := range 4 {
				r := rowvec.Rotation{Heads: 1, Interleaved: kind%2 == 1, Inverse: kind > 1}
				angles, x := matrix(heap(), rand.New(rand.NewPCG(1, 1)), 1, dim, 0), make([]float32, dim)
				for i := range dim / 2 {
					first, partner := i, dim/2+i
					if r.Interleaved {
						first, partner = 2*i, 2*i+1
					}
					// Of these two, one is 0 and the other is not.
					x[first], x[partner], angles.Data[i], angles.Data[dim/2+i] = a, square, a, 1
					if i%2 == 1 {
						x[first], x[partner], angles.Data[i], angles.Data[dim/2+i] = a, square, 1, -a
					}
					if r.Inverse {
						angles.Data[dim/2+i] *= -1
					}
				}
				want := append([]float32(nil), x...)
				m := func(x []float32) rowvec.Matrix { return rowvec.Matrix{Rows: 1, Cols: dim, Data: x, Stride: dim} }
				kernels.Rotate(m(want), m(want), r, angles, 0, 1)
				if err := rowvec.Rotate(m(x), m(x), r, angles, 0, 1); err != nil {
					t.Fatal(err)
				}
				zeros := 0
				for _, x := range x {
					if x == 0 {
						zeros++
					}
				}
				if d := diff(x, want, true); d != "" || zeros != dim/2 {
					t.Fatalf("dim %d, %+v: %d zeros in %v %s", dim, r, zeros, x, d)
				}
			}
		}
	})
}

// TestRotateMisuse holds errors to their exact texts; nothing may have changed.
func TestRotateMisuse(t *testing.T) {
	type call struct {
		dst, src, angles rowvec.Matrix
		r                rowvec.Rotation
		start, seq       int
		at               []int64
	}
	const both = "both"
	for _, c := range []struct {
		kernel string
		name   string
		spoil  func(c *call)
		want   string
	}{
		{both, "rows", func(c *call) { c.src.Rows = 3 }, "src.Rows is 3, want 4"},
		{both, "columns", func(c *call) { c.src.Cols = 9 }, "src.Cols is 9, want 10"},
		{both, "stride", func(c *call) { c.dst.Stride = 9 }, "dst.Stride is 9, want at least 10"},
		{both, "data", func(c *call) { c.src.Data = c.src.Data[:42] }, "len(src.Data) is 42, want at least 43"},
		{both, "no data", func(c *call) { c.dst.Data = nil }, "len(dst.Data) is 0, want at least 43"},
		{both, "negative rows", func(c *call) { c.dst.Rows = -1 }, "dst.Rows is -1, want at least 0"},
		{both, "angles", func(c *call) { c.angles.Data = c.angles.Data[:28] }, "len(angles.Data) is 28, want at least 29"},
		{both, "no heads", func(c *call) { c.r.Heads = 0 }, "r.Heads is 0, want at least 1"},
		{both, "negative heads", func(c *call) { c.r.Heads = -2 }, "r.Heads is -2, want at least 1"},
		{both, "heads", func(c *call) { c.r.Heads = 3 }, "dst.Cols is 10, want a multiple of 3"},
		{both, "odd angles", func(c *call) { c.angles.Cols = 3 }, "angles.Cols is 3, want a multiple of 2"},
		{both, "many angles", func(c *call) { c.r.Heads = 5 }, "angles.Cols is 4, want at most 2"},

		{"Rotate", "no seq", func(c *call) { c.seq = 0 }, "seq is 0, want at least 1"},
		{"Rotate", "seq", func(c *call) { c.seq = 3 }, "dst.Rows is 4, want a multiple of 3"},
		{"Rotate", "negative start", func(c *call) { c.start = -1 }, "start is -1, want at least 0"},
		{"Rotate", "few angles", func(c *call) { c.seq, c.angles.Rows = 4, 3 }, "seq is 4, want at most 3"},
		{"Rotate", "start", func(c *call) { c.start = 5 }, "start is 5, want at most 4"},
		{"Rotate", "last start", func(c *call) { c.start = 4 }, ""},

		{"RotateAt", "few positions", func(c *call) { c.at = c.at[:3] }, "len(at) is 3, want 4"},
		{"RotateAt", "position", func(c *call) { c.at[2] = 6 }, "position id 6 at position 2 is outside [0, 6)"},
		{"RotateAt", "negative", func(c *call) { c.at[3] = -1 }, "position id -1 at position 3 is outside [0, 6)"},
		{"RotateAt", "far", func(c *call) { c.at[0] = 1 << 32 },
			"position id 4294967296 at position 0 is outside [0, 6)"},
		{"RotateAt", "overlap with positions", func(c *call) {
			c.dst.Data = make([]float32, 43)
			c.at = unsafe.Slice((*int64)(unsafe.Pointer(&c.dst.Data[2])), 4)
		}, "dst overlaps position ids"},

		{both, "overlap", func(c *call) { c.dst.Data = c.src.Data[1:]; c.src.Rows, c.dst.Rows, c.at = 2, 2, c.at[:2] },
			"dst overlaps src"},
		{both, "another stride", func(c *call) { c.dst.Data, c.dst.Stride = c.src.Data, 10 }, "dst overlaps src"},
		{both, "overlap with angles", func(c *call) { c.angles.Data = c.dst.Data[10:] }, "dst overlaps angles"},
		{both, "angles in src", func(c *call) { c.angles.Data = c.src.Data[10:] }, ""},
		{both, "the same", func(c *call) { c.dst = c.src }, ""},
		{both, "side by side", func(c *call) { // queries and keys of one matrix
			c.src.Data = make([]float32, 4*22)
			c.dst.Data, c.src.Stride, c.dst.Stride = c.src.Data[11:], 22, 22
		}, ""},
		{both, "no columns", func(c *call) { c.dst, c.src, c.angles.Cols = rowvec.Matrix{Rows: 4}, rowvec.Matrix{Rows: 4}, 0 }, ""},
		{both, "no pairs", func(c *call) { c.angles = rowvec.Matrix{Rows: 6} }, ""},
		{both, "nothing", func(c *call) { c.dst, c.src, c.angles = rowvec.Matrix{}, rowvec.Matrix{}, rowvec.Matrix{}; c.at = nil }, ""},
	} {
		for _, kernel := range []string{"Rotate", "RotateAt"} {
			if c.kernel != both && c.kernel != kernel {
				continue
			}
			rng := rand.New(rand.NewPCG(35, 1))
			x := &call{matrix(heap(), rng, 4, 10, 1), matrix(heap(), rng, 4, 10, 1), matrix(heap(), rng, 6, 4, 1),
				rowvec.Rotation{Heads: 2}, 1, 2, []int64{5, 0, 1, 1}}
			all := [][]float32{x.dst.Data, x.src.Data, x.angles.Data}
			before := [][]float32{clone(x.dst).Data, clone(x.src).Data, clone(x.angles).Data}
			c.spoil(x)
			want := c.want
			if want != "" {
				want = "rowvec: " + kernel + ": " + want
			}
			var err error
			if kernel == "Rotate" {
				err = rowvec.Rotate(x.dst, x.src, x.r, x.angles, x.start, x.seq)
			} else {
				err = rowvec.RotateAt(x.dst, x.src, x.r, x.angles, x.at)
			}
			if got := fmt.Sprint(err); got != want && (err != nil || want != "") {
				t.Errorf("%s, %s: error %q, want %q", kernel, c.name, got, want)
			}
			for i, y := range all {
				if d := diff(y, before[i], true); d != "" && want != "" {
					t.Errorf("%s, %s: memory %d has changed: %s", kernel, c.name, i, d)
				}
			}
		}
	}
}

// TestRotateReference holds both directions to PyTorch, bit for bit.
func TestRotateReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.RotaryCases(t) {
			r := rowvec.Rotation{Heads: c.Heads, Interleaved: c.Interleaved}
			x, grad := reference.Zeros(c.Src, 3), reference.Copy(c.DOut, 1)
			if err := rowvec.Rotate(x, c.Src.Matrix, r, c.Angles.Matrix, 0, c.Seq); err != nil {
				t.Fatal(err)
			}
			reference.Equal(t, c.Name, x, c.Out)
			r.Inverse = true
			if err := rowvec.Rotate(grad, grad, r, c.Angles.Matrix, 0, c.Seq); err != nil {
				t.Fatal(err)
			}
			reference.Equal(t, c.Name+", gradient", grad, c.Grad)
		}
	})
}
