package rowvec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// normShape is what the comparison below varies.
type normShape struct {
	rows, dim, gap int
	epsilon        float32
	plain          bool // without special values
}

// compareNorm holds LayerNorm and its gradient to their definitions, of which whole backing slices are compared, gaps
// included: from matrices to others, and in place.
func compareNorm(t *testing.T, alloc func() allocator, s normShape) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(s.rows), uint64(s.dim)))
	src, dst := matrix(alloc(), rng, s.rows, s.dim, s.gap), matrix(alloc(), rng, s.rows, s.dim, 2*s.gap)
	dOut := matrix(alloc(), rng, s.rows, s.dim, 3*s.gap)
	vectors := matrix(alloc(), rng, 4, s.dim, 1)
	gamma, beta, dGamma, dBeta := vectors.Row(0), vectors.Row(1), vectors.Row(2), vectors.Row(3)
	for i := range s.rows { // special values spoil whole rows: most have none
		if s.plain || i%5 != 3 {
			unspoil(src.Row(i))
			unspoil(dOut.Row(i))
		}
		for j := range src.Row(i) {
			if i%7 == 4 { // a row without variance
				src.Row(i)[j] = src.Row(i)[0]
			}
		}
	}
	if s.plain || s.dim%3 != 0 {
		for i := range vectors.Rows {
			unspoil(vectors.Row(i))
		}
	}

	all := []rowvec.Matrix{src, dst, dOut, vectors}
	check := func(what string, run func() error, define func()) {
		t.Helper()
		var before, want [][]float32
		for _, m := range all {
			before = append(before, clone(m).Data)
		}
		define()
		for i, m := range all {
			want = append(want, clone(m).Data)
			copy(m.Data, before[i])
		}
		err := run()
		for i, m := range all {
			if d := diff(m.Data, want[i], false); d != "" || err != nil {
				t.Fatalf("%s, %+v: %v, matrix %d, %s", what, s, err, i, d)
			}
		}
	}
	check("LayerNorm", func() error { return rowvec.LayerNorm(dst, src, gamma, beta, s.epsilon) },
		func() { kernels.LayerNorm(dst, src, gamma, beta, s.epsilon) })
	check("LayerNormBackward", func() error { return rowvec.LayerNormBackward(dst, dOut, src, gamma, s.epsilon, dGamma, dBeta) },
		func() { kernels.LayerNormBackward(dst, dOut, src, gamma, s.epsilon, dGamma, dBeta) })
	check("LayerNormBackward in place",
		func() error { return rowvec.LayerNormBackward(dOut, dOut, src, gamma, s.epsilon, dGamma, dBeta) },
		func() { kernels.LayerNormBackward(dOut, dOut, src, gamma, s.epsilon, dGamma, dBeta) })
	check("LayerNorm in place", func() error { return rowvec.LayerNorm(src, src, gamma, beta, s.epsilon) },
		func() { kernels.LayerNorm(src, src, gamma, beta, s.epsilon) })
}

// unspoil makes ordinary numbers of infinities, NaNs and what is too large to be squared.
func unspoil(x []float32) {
	for i, y := range x {
		if !(y > -1e15 && y < 1e15) {
			x[i] = float32(i%7) - 2.5
		}
	}
}

func TestLayerNorm(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		eachNear(t, func() {
			for _, dim := range dims(0) {
				for _, gap := range []int{0, 1, 7} {
					compareNorm(t, heap, normShape{rows: 13, dim: dim, gap: gap, epsilon: 1e-5})
				}
				for rows := range 6 {
					compareNorm(t, heap, normShape{rows: rows, dim: dim, epsilon: 1e-12, plain: true})
				}
				compareNorm(t, heap, normShape{rows: 5, dim: dim})
			}
			for _, dim := range []int{512, 768, 1000, 1024} {
				compareNorm(t, heap, normShape{rows: 7, dim: dim, epsilon: 1e-5})
				compareNorm(t, heap, normShape{rows: 9, dim: dim, epsilon: math.MaxFloat32, plain: true})
			}
		})
	})
}

// TestLayerNormStream has every result that is not in place written past the caches where that can be, also row by row.
func TestLayerNormStream(t *testing.T) {
	defer tuning.Lower()()
	isatest.Each(t, func(t *testing.T) {
		eachNear(t, func() {
			for _, dim := range dims(1) {
				for shift := range 2 { // of which the second has no result that begins with a line
					for rows := range 10 {
						compareNorm(t, alignedAt(shift), normShape{rows: rows, dim: dim, gap: rows % 2 * 16, epsilon: 1e-5})
					}
				}
			}
			compareNorm(t, alignedAt(0), normShape{rows: 175, dim: 768, epsilon: 1e-5})
		})
	})
}

// TestLayerNormChunks has more rows and longer rows than one call of assembly does.
func TestLayerNormChunks(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		large(t)
		for _, s := range [][2]int{{5001, 1}, {2051, 31}, {1026, 64}, {175, 768}, {11, 5120}, {9, 1 << 13},
			{9, 1<<13 + 1}, {6, 1<<15 - 1}, {5, 1 << 15}, {5, 1<<15 + 1}, {3, 1<<16 - 1}, {3, 1 << 16}, {2, 1<<16 + 1}, {2, 1<<17 + 19}} {
			compareNorm(t, heap, normShape{rows: s[0], dim: s[1], gap: 1, epsilon: 1e-5})
		}
	})
}

// TestLayerNormUnfused has a product that cancels what it is added to, but for what only a fused multiply-add keeps.
func TestLayerNormUnfused(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for dim := 1; dim <= 65; dim++ {
			src, dst := matrix(heap(), rand.New(rand.NewPCG(1, 2)), 5, dim, 0), matrix(heap(), rand.New(rand.NewPCG(1, 2)), 5, dim, 0)
			gamma, beta := make([]float32, dim), make([]float32, dim)
			for j := range dim {
				gamma[j] = 1
				for i := range src.Rows {
					src.Row(i)[j] = float32(j%7) - 2.7
				}
			}
			noError(t, rowvec.LayerNorm(dst, src, gamma, beta, 1e-5))
			for j := range dim {
				gamma[j] = 1.1
				beta[j] = -float32(dst.Row(0)[j] * gamma[j])
			}
			noError(t, rowvec.LayerNorm(dst, src, gamma, beta, 1e-5))
			for i := range dst.Rows {
				for j, x := range dst.Row(i) {
					if x != 0 {
						t.Fatalf("dim %d: element %d of row %d is %v, want 0", dim, j, i, x)
					}
				}
			}
		}
	})
}

// TestPreemptionOfLayerNorm: see TestPreemption.
func TestPreemptionOfLayerNorm(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors")
	}
	isatest.Each(t, func(t *testing.T) {
		if rowvec.ISA() == "portable" {
			t.Skip("plain Go can be preempted anywhere")
		}
		const n = 1 << 23
		x, y, p := make([]float32, n), make([]float32, n), make([]float32, 1<<15)
		of := func(x []float32, cols int) rowvec.Matrix {
			return rowvec.Matrix{Rows: len(x) / cols, Cols: cols, Data: x, Stride: cols}
		}
		calls := map[string]func() error{}
		for _, cols := range []int{8, 768, 1 << 13, 1 << 15} { // the last is the longest row of the assembly
			sums := make([]float32, 2*cols)
			calls[fmt.Sprintf("LayerNorm, %d columns", cols)] = func() error {
				return rowvec.LayerNorm(of(x, cols), of(x, cols), p[:cols], p[:cols], 1e-5)
			}
			calls[fmt.Sprintf("LayerNormBackward, %d columns", cols)] = func() error {
				return rowvec.LayerNormBackward(of(y, cols), of(y, cols), of(x, cols), p[:cols], 1e-5, sums[:cols], sums[cols:])
			}
		}
		stopsInTime(t, calls)
	})
}

// TestLayerNormMisuse holds errors to their exact texts; nothing may have changed.
func TestLayerNormMisuse(t *testing.T) {
	type call struct {
		dst, dOut, src             rowvec.Matrix
		gamma, beta, dGamma, dBeta []float32
		epsilon                    float32
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		name           string
		spoil          func(c *call)
		want, backward string // without "rowvec: " and the function, where they are errors
	}{
		{"rows", func(c *call) { c.src.Rows = 3 }, "src.Rows is 3, want 4", "src.Rows is 3, want 4"},
		{"columns", func(c *call) { c.src.Cols = 4 }, "src.Cols is 4, want 5", "src.Cols is 4, want 5"},
		{"stride", func(c *call) { c.src.Stride = 4 }, "src.Stride is 4, want at least 5", "src.Stride is 4, want at least 5"},
		{"data", func(c *call) { c.src.Data = c.src.Data[:22] }, "len(src.Data) is 22, want at least 23",
			"len(src.Data) is 22, want at least 23"},
		{"destination", func(c *call) { c.dst.Data = nil }, "len(dst.Data) is 0, want at least 23",
			"len(dSrc.Data) is 0, want at least 23"},
		{"negative rows", func(c *call) { c.dst.Rows = -1 }, "dst.Rows is -1, want at least 0", "dSrc.Rows is -1, want at least 0"},
		{"gradient", func(c *call) { c.dOut.Data = c.dOut.Data[:22] }, "", "len(dOut.Data) is 22, want at least 23"},
		{"rows of the gradient", func(c *call) { c.dOut.Rows = 3 }, "", "dOut.Rows is 3, want 4"},
		{"columns of the gradient", func(c *call) { c.dOut.Cols = 4 }, "", "dOut.Cols is 4, want 5"},
		{"gamma", func(c *call) { c.gamma = c.gamma[:4] }, "len(gamma) is 4, want 5", "len(gamma) is 4, want 5"},
		{"no gamma", func(c *call) { c.gamma = nil }, "len(gamma) is 0, want 5", "len(gamma) is 0, want 5"},
		{"beta", func(c *call) { c.beta = make([]float32, 6) }, "len(beta) is 6, want 5", ""},
		{"dGamma", func(c *call) { c.dGamma = c.dGamma[:4] }, "", "len(dGamma) is 4, want 5"},
		{"dBeta", func(c *call) { c.dBeta = nil }, "", "len(dBeta) is 0, want 5"},

		{"negative epsilon", func(c *call) { c.epsilon = -1e-9 }, "epsilon is -1e-09, want a finite one of at least 0",
			"epsilon is -1e-09, want a finite one of at least 0"},
		{"infinite epsilon", func(c *call) { c.epsilon = inf }, "epsilon is +Inf, want a finite one of at least 0",
			"epsilon is +Inf, want a finite one of at least 0"},
		{"NaN", func(c *call) { c.epsilon = nan }, "epsilon is NaN, want a finite one of at least 0",
			"epsilon is NaN, want a finite one of at least 0"},
		{"no epsilon", func(c *call) { c.epsilon = float32(math.Copysign(0, -1)) }, "", ""},
		{"largest epsilon", func(c *call) { c.epsilon = math.MaxFloat32 }, "", ""},

		{"overlap", func(c *call) { c.src.Data = c.dst.Data[1:]; c.src.Rows, c.dst.Rows, c.dOut.Rows = 3, 3, 3 }, "dst overlaps src",
			"dSrc overlaps src"},
		{"another stride", func(c *call) { c.src.Data, c.src.Stride = c.dst.Data, 5 }, "dst overlaps src", "dSrc overlaps src"},
		{"in place", func(c *call) { c.src = c.dst }, "", "dSrc overlaps src"},
		{"gradient in place", func(c *call) { c.dOut = c.dst }, "", ""},
		{"gradient overlaps", func(c *call) { c.dOut.Data = c.dst.Data[1:]; c.src.Rows, c.dst.Rows, c.dOut.Rows = 3, 3, 3 }, "",
			"dSrc overlaps dOut"},
		{"gradient of another stride", func(c *call) { c.dOut.Data, c.dOut.Stride = c.dst.Data, 5 }, "", "dSrc overlaps dOut"},
		{"inputs are one", func(c *call) { c.dOut, c.beta = c.src, c.gamma }, "", ""},
		{"gamma in dst", func(c *call) { c.gamma = c.dst.Data[18:23] }, "dst overlaps gamma", "dSrc overlaps gamma"},
		{"beta in dst", func(c *call) { c.beta = c.dst.Data[:5] }, "dst overlaps beta", ""},
		{"gamma in src", func(c *call) { c.gamma = c.src.Data[:5] }, "", ""},
		{"dGamma in dSrc", func(c *call) { c.dGamma = c.dst.Data[3:8] }, "", "dGamma overlaps dSrc"},
		{"dGamma in dOut", func(c *call) { c.dGamma = c.dOut.Data[3:8] }, "", "dGamma overlaps dOut"},
		{"dGamma in src", func(c *call) { c.dGamma = c.src.Data[3:8] }, "", "dGamma overlaps src"},
		{"dGamma is gamma", func(c *call) { c.dGamma = c.gamma }, "", "dGamma overlaps gamma"},
		{"dBeta in dSrc", func(c *call) { c.dBeta = c.dst.Data[3:8] }, "", "dBeta overlaps dSrc"},
		{"dBeta in dOut", func(c *call) { c.dBeta = c.dOut.Data[3:8] }, "", "dBeta overlaps dOut"},
		{"dBeta in src", func(c *call) { c.dBeta = c.src.Data[3:8] }, "", "dBeta overlaps src"},
		{"dBeta is gamma", func(c *call) { c.dBeta = c.gamma }, "", "dBeta overlaps gamma"},
		{"dBeta is dGamma", func(c *call) { c.dBeta = c.dGamma }, "", "dBeta overlaps dGamma"},

		{"no columns", func(c *call) {
			*c = call{dst: rowvec.Matrix{Rows: 4}, dOut: rowvec.Matrix{Rows: 4}, src: rowvec.Matrix{Rows: 4}}
		},
			"", ""},
		{"no rows", func(c *call) {
			none := rowvec.Matrix{Cols: 5}
			c.dst, c.dOut, c.src = none, none, none
		}, "", ""},
		{"nothing", func(c *call) { *c = call{} }, "", ""},
	} {
		rng := rand.New(rand.NewPCG(24, 1))
		x := &call{dst: matrix(heap(), rng, 4, 5, 1), dOut: matrix(heap(), rng, 4, 5, 1), src: matrix(heap(), rng, 4, 5, 1),
			epsilon: 1e-5}
		all := [][]float32{x.dst.Data, x.dOut.Data, x.src.Data}
		for _, v := range []*[]float32{&x.gamma, &x.beta, &x.dGamma, &x.dBeta} {
			*v = matrix(heap(), rng, 1, 5, 0).Data
			all = append(all, *v)
		}
		c.spoil(x)
		for _, f := range []struct {
			op, want string
			run      func() error
		}{
			{"LayerNorm", c.want, func() error { return rowvec.LayerNorm(x.dst, x.src, x.gamma, x.beta, x.epsilon) }},
			{"LayerNormBackward", c.backward, func() error {
				return rowvec.LayerNormBackward(x.dst, x.dOut, x.src, x.gamma, x.epsilon, x.dGamma, x.dBeta)
			}},
		} {
			var before [][]float32
			for _, y := range all {
				before = append(before, append([]float32(nil), y...))
			}
			err, want := f.run(), fmt.Sprintf("rowvec: %s: %s", f.op, f.want)
			if got := fmt.Sprint(err); got != want && (err != nil || f.want != "") {
				t.Errorf("%s: error %q, want %q", c.name, got, want)
			}
			for i, y := range all {
				if d := diff(y, before[i], true); d != "" && f.want != "" {
					t.Errorf("%s, %s: memory %d has changed: %s", c.name, f.op, i, d)
				}
			}
		}
	}
}
