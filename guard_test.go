//go:build unix

package rowvec_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/guard"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
	"golang.org/x/sys/unix"
)

// TestGuardedFetch puts the ids of rows that Dropout fetches flush against inaccessible pages.
func TestGuardedFetch(t *testing.T) {
	const dim = 100
	region := guard.New(t, 9*8)
	table := rowvec.Matrix{Rows: 1 << 14, Cols: dim, Data: make([]float32, dim<<14), Stride: dim}
	isatest.Each(t, func(t *testing.T) {
		for rows := 1; rows <= 9; rows++ {
			dst := rowvec.Matrix{Rows: rows, Cols: dim, Data: make([]float32, rows*dim), Stride: dim}
			for n := 1; n <= rows; n++ {
				for _, next := range []forward.Next{
					{Table: table, IDs: unsafe.Pointer(&guard.Head[uint64](region, n)[0]), Wide: true, Rows: n},
					{Table: table, IDs: unsafe.Pointer(&guard.Tail[uint64](region, n)[0]), Wide: true, Rows: n},
					{Table: table, IDs: unsafe.Pointer(&guard.Head[uint32](region, n)[0]), Rows: n},
					{Table: table, IDs: unsafe.Pointer(&guard.Tail[uint32](region, n)[0]), Rows: n},
				} {
					forward.Dropout(forward.Drop{Dst: dst, Src: dst, Mask: rowvec.Mask{P: 0.5}, Next: next})
				}
			}
		}
	})
}

// TestGuardedIDs puts ids of both sizes flush against inaccessible pages; the number of ids reaches every path of the
// check of ids. Of a table of one row all ids are 0, and so are two of 32 bits that are read as one.
func TestGuardedIDs(t *testing.T) {
	lowerWide(t)
	region := guard.New(t, 300*8)
	var tables []rowvec.Matrix
	for _, rows := range []int{1, 3 << 20} { // large enough for ids to be looked ahead at
		tables = append(tables, matrix(heap(), rand.New(rand.NewPCG(1, 2)), rows, 1, 0))
	}
	isatest.Each(t, func(t *testing.T) {
		for _, table := range tables {
			for n := 1; n <= 300; n++ {
				guardedIDs(t, table, guard.Tail[uint32](region, n))
				guardedIDs(t, table, guard.Head[int32](region, n))
				guardedIDs(t, table, guard.Tail[uint64](region, n))
				guardedIDs(t, table, guard.Head[int64](region, n))
			}
		}
	})
}

func guardedIDs[I rowvec.ID](t *testing.T, table rowvec.Matrix, ids []I) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(len(ids))))
	copy(ids, randomIDs[I](rng, len(ids), table.Rows))
	dst := matrix(heap(), rng, len(ids), 1, 0)
	want := clone(dst)
	kernels.Gather(want, table, ids)
	if err := rowvec.Gather(dst, table, ids); err != nil {
		t.Fatal(err)
	}
	if d := diff(dst.Data, want.Data, true); d != "" {
		t.Fatalf("%d ids of type %T: %s", len(ids), ids[0], d)
	}
}

// sparse returns a matrix that is a mapping of its own, of which only those pages exist that are used. There is none where
// addresses have 32 bits.
func sparse(t *testing.T, rows, cols, stride int) rowvec.Matrix {
	t.Helper()
	if unsafe.Sizeof(uintptr(0)) < 8 {
		t.Skip("needs 64-bit addresses")
	}
	size := ((rows-1)*stride + cols) * 4
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|mapNoReserve)
	if err != nil {
		t.Skipf("no sparse mapping of %d GiB here: %v", size>>30, err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	return rowvec.Matrix{Rows: rows, Cols: cols, Stride: stride, Data: unsafe.Slice((*float32)(unsafe.Pointer(&mem[0])), size/4)}
}

// beyond returns ids of rows that lie beyond 2^32 elements, and what stride has them lie there: also one that is beyond 2^32
// itself, but not of long rows, for which there are no addresses, nor where processors may be emulated, for which each page
// of a mapping costs, but in the shortest ones.
func beyond(cols int) map[int]int {
	strides := map[int]int{1<<12 + 2: 1 << 20}
	if cols == 2 || runtime.GOARCH == "amd64" && !isatest.Slow && cols < 100 {
		half := uint64(1) << 31 // no constant, which is too large where int has 32 bits
		strides[int(2*half)+1] = cols
	}
	return strides
}

// TestBeyond32Bits reads and writes rows whose elements or ids lie beyond 2^32, in mappings of which only those pages exist.
func TestBeyond32Bits(t *testing.T) {
	lowerWide(t)
	var matrices []rowvec.Matrix
	for _, cols := range []int{1<<16 + 35, 2, 5, 19, 35} { // of the first the end of each row takes a call of its own
		for last, stride := range beyond(cols) {
			if len(matrices) > 0 && stride == matrices[0].Stride {
				matrices = append(matrices, matrices[0]) // the mapping is there
				matrices[len(matrices)-1].Cols = cols
			} else {
				matrices = append(matrices, sparse(t, last+1, cols, stride))
			}
		}
	}
	isatest.Each(t, func(t *testing.T) {
		for _, m := range matrices {
			last := m.Rows - 1
			for i := range m.Cols {
				m.Row(last)[i], m.Row(1)[i] = float32(i), -1
			}
			if m.Stride > m.Cols {
				beyond32Bits(t, m, []uint32{uint32(last), 1, uint32(last)})
			}
			beyond32Bits(t, m, []int64{int64(last), 1, int64(last)})
		}
	})
}

// columnsOf and rowsOf return the first n of m.

func columnsOf(m rowvec.Matrix, n int) rowvec.Matrix { m.Cols = n; return m }
func rowsOf(m rowvec.Matrix, n int) rowvec.Matrix    { m.Rows = n; return m }

// TestFewBeyond32Bits looks up two rows where one stride is beyond 2^32 elements, and its lower 32 bits are those of rows side by side.
func TestFewBeyond32Bits(t *testing.T) {
	lowerWide(t)
	for _, cols := range []int{3, 38} {
		half := uint64(1) << 31 // no constant, which is too large where int has 32 bits
		far := sparse(t, 2, cols, int(2*half)+cols)
		rng := rand.New(rand.NewPCG(23, uint64(cols)))
		near, back, ids := matrix(heap(), rng, 2, cols, 0), matrix(heap(), rng, 2, cols, 0), []int64{1, 0}
		isatest.Each(t, func(t *testing.T) {
			for i := range 2 {
				clear(far.Row(i))
				clear(back.Row(i))
			}
			if err := errors.Join(rowvec.Gather(far, near, ids), rowvec.Gather(back, far, ids)); err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				if d := diff(far.Row(1-i), near.Row(i), true) + diff(back.Row(i), near.Row(i), true); d != "" {
					t.Errorf("row %d of %d columns: %s", i, cols, d)
				}
			}
		})
	}
}

// TestStridesBeyond32Bits has rows so far apart that the last one lies beyond 2^32 elements, and the same rows side by side.
func TestStridesBeyond32Bits(t *testing.T) {
	lowerWide(t)
	const rows, cols, stride = 18, 38, 1 << 30 // four rows and two
	isatest.Tune(t, &tuning.SeveralIDs, 0)     // so that Gather does not copy them by copyFew
	at := slices.Repeat([]int64{rows - 1, 0, 1, rows - 1, 2, 3}, 3)
	offsets := make([]int, rows+1)
	for i := range offsets {
		offsets[i] = i
	}
	offsets[1] = 2    // and so none in the second bag
	const long = 1026 // rows of which a call of assembly does 1,024 at most, and begins where the one before has ended
	longAt := make([]int64, long)
	far, farAngles := sparse(t, rows, cols, stride), sparse(t, rows, 18, stride)
	isatest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(21, 22))
		near, angles, src := matrix(heap(), rng, rows, cols, 0), matrix(heap(), rng, rows, 18, 0), matrix(heap(), rng, rows, cols, 0)
		longSrc := matrix(heap(), rng, long, cols, 0)
		vectors, sines := matrix(heap(), rng, rows, cols, 0), newWaves(heap64, rng, cols)
		for _, m := range []rowvec.Matrix{near, angles, src, vectors, longSrc} {
			unspoil(m.Data)
		}
		for i := range rows {
			copy(farAngles.Row(i), angles.Row(i))
		}
		for name, run := range map[string]func(m, angles, v rowvec.Matrix, w waves) error{
			"Embed": func(m, _, v rowvec.Matrix, _ waves) error { return rowvec.Embed(v, src, at, 2, m, 1, 3) },
			"Gather of few columns to there": func(m, _, v rowvec.Matrix, _ waves) error {
				m.Cols, v.Cols = 12, 12
				return rowvec.Gather(m, v, at)
			},
			"Gather of few columns from there": func(m, _, v rowvec.Matrix, _ waves) error {
				m.Cols, v.Cols = 12, 12
				return rowvec.Gather(v, m, at)
			},
			"Gather of few rows to there": func(m, _, v rowvec.Matrix, _ waves) error {
				m.Rows = 15
				return rowvec.Gather(m, v, at[:15])
			},
			"Gather of few rows from there": func(m, _, v rowvec.Matrix, _ waves) error {
				v.Rows = 15
				return rowvec.Gather(v, m, at[:15])
			},
			"Gather of one column to there": func(m, _, v rowvec.Matrix, _ waves) error {
				m.Cols, v.Cols, v.Stride = 1, 1, 1
				m.Stride++ // whose lower 32 bits are those of rows side by side, as those of v are
				return rowvec.Gather(m, v, at)
			},
			"Normalise": func(m, _, v rowvec.Matrix, _ waves) error {
				forward.Normalise(forward.Normal{
					Rows: forward.Rows{
						Dst: v, Table: src, IDs: unsafe.Pointer(&at[0]), Wide: true, Scale: 2, Positions: src, Seq: 3,
					},
					Add: m, AddStart: 1, AddSeq: 4, Gamma: src.Row(0), Beta: src.Row(1), Epsilon: 1e-5,
				})
				return nil
			},
			"AddProduct to there": func(m, _, _ rowvec.Matrix, _ waves) error {
				forward.AddProduct(m, columnsOf(src, 5), rowsOf(src, 5), false, rowvec.Matrix{})
				return nil
			},
			"AddProduct from there": func(m, _, v rowvec.Matrix, _ waves) error {
				forward.AddProduct(v, columnsOf(src, rows), m, false, rowvec.Matrix{})
				return nil
			},
			"AddProduct by there": func(m, _, v rowvec.Matrix, _ waves) error {
				forward.AddProduct(v, columnsOf(m, 5), rowsOf(src, 5), false, rowvec.Matrix{})
				forward.AddProduct(v, columnsOf(m, rows), src, true, rowvec.Matrix{})
				return nil
			},
			"Rotate": func(m, angles, _ rowvec.Matrix, _ waves) error {
				return rowvec.Rotate(m, m, rowvec.Rotation{Heads: 1}, angles, 0, rows)
			},
			"Embed in several calls": func(m, _, v rowvec.Matrix, _ waves) error {
				dst := clone(longSrc)
				defer func() { copy(v.Data, dst.Data[len(dst.Data)-len(v.Data):]) }()
				return rowvec.Embed(dst, src, longAt, 2, m, 1, 3)
			},
			"Rotate in several calls": func(_, angles, v rowvec.Matrix, _ waves) error {
				dst := clone(longSrc)
				defer func() { copy(v.Data, dst.Data[len(dst.Data)-len(v.Data):]) }()
				return rowvec.Rotate(dst, dst, rowvec.Rotation{Heads: 1}, angles, 0, rows)
			},
			"RotateAt": func(m, angles, _ rowvec.Matrix, _ waves) error {
				return rowvec.RotateAt(m, m, rowvec.Rotation{Heads: 2, Interleaved: true}, angles, at)
			},
			"Rotate from there": func(m, angles, v rowvec.Matrix, _ waves) error {
				return rowvec.Rotate(v, m, rowvec.Rotation{Heads: 1}, angles, 0, rows)
			},
			"Dropout": func(m, _, v rowvec.Matrix, _ waves) error {
				return rowvec.Dropout(m, src, rowvec.Mask{P: 0.5})
			},
			"DropRows from there": func(m, _, v rowvec.Matrix, _ waves) error {
				places := make([]int, rows)
				for i, id := range at {
					places[i] = int(id)
				}
				forward.DropRows(v, m, rowvec.Mask{P: 0.5}, places)
				return nil
			},
			"Dropout from there": func(m, _, v rowvec.Matrix, _ waves) error {
				return rowvec.Dropout(v, m, rowvec.Mask{P: 0.5})
			},
			"AddBatches":          func(m, _, v rowvec.Matrix, _ waves) error { m.Rows = 3; return rowvec.AddBatches(m, src) },
			"AddBatches of there": func(m, _, v rowvec.Matrix, _ waves) error { v.Rows = 3; return rowvec.AddBatches(v, m) },
			"BagMax to there": func(m, _, v rowvec.Matrix, _ waves) error {
				return rowvec.BagMax(m, v, at, offsets)
			},
			"Gather":          func(m, _, v rowvec.Matrix, _ waves) error { return rowvec.Gather(v, m, at) },
			"Gather to there": func(m, _, v rowvec.Matrix, _ waves) error { return rowvec.Gather(m, v, at) },
			"ScatterAdd":      func(m, _, v rowvec.Matrix, _ waves) error { return rowvec.ScatterAdd(m, at, 2, v) },
			"UpdateAdagrad": func(m, _, v rowvec.Matrix, _ waves) error {
				return rowvec.UpdateAdagrad(v, m, at, src, 0.1, 1e-3)
			},
			"UpdateAdam": func(m, _, v rowvec.Matrix, _ waves) error {
				return rowvec.UpdateAdam(v, clone(v), m, at, src, rowvec.AdamStep{SquareWeight: 0.1, Rate: 0.1, Epsilon: 1e-3, Keep: 1})
			},
			"BagMax": func(m, _, v rowvec.Matrix, _ waves) error {
				return rowvec.BagMax(v, m, at, offsets)
			},
			"BagMax of few columns": func(m, _, v rowvec.Matrix, _ waves) error {
				m.Cols, v.Cols = 20, 20
				return rowvec.BagMax(v, m, at, offsets)
			},
			"Rotate to there": func(m, angles, v rowvec.Matrix, _ waves) error {
				return rowvec.Rotate(m, v, rowvec.Rotation{Heads: 1}, angles, 0, rows)
			},
			"Dots to there": func(m, _, v rowvec.Matrix, _ waves) error {
				m.Cols = len(at)
				return rowvec.Dots(m, src, v, at)
			},
			"Dots of there": func(m, _, v rowvec.Matrix, _ waves) error {
				v.Cols = len(at)
				return rowvec.Dots(v, m, src, at)
			},
			"Dots with there": func(m, _, v rowvec.Matrix, _ waves) error {
				v.Cols = len(at)
				return rowvec.Dots(v, src, m, at)
			},
			"LayerNorm": func(m, _, v rowvec.Matrix, _ waves) error {
				return rowvec.LayerNorm(m, m, v.Row(0), v.Row(1), 1e-5)
			},
			"LayerNormBackward": func(m, _, v rowvec.Matrix, _ waves) error {
				return rowvec.LayerNormBackward(m, m, src, v.Row(0), 1e-5, v.Row(2), v.Row(3))
			},
			"Sinusoids": func(m, _, _ rowvec.Matrix, w waves) error { return rowvec.Sinusoids(m, 1, w[0], w[1], w[2]) },
		} {
			want, wantVectors, wantWaves := clone(near), clone(vectors), sines.clone()
			for i := range rows {
				copy(far.Row(i), near.Row(i))
			}
			noError(t, run(want, angles, wantVectors, wantWaves))
			gotVectors, gotWaves := clone(vectors), sines.clone()
			noError(t, run(far, farAngles, gotVectors, gotWaves))
			for i := range rows {
				if d := diff(far.Row(i), want.Row(i), false); d != "" {
					t.Errorf("%s, row %d: %s", name, i, d)
				}
			}
			if d := diff(gotVectors.Data, wantVectors.Data, false); d != "" || !gotWaves.equal(wantWaves) {
				t.Errorf("%s: what belongs to columns differs %s", name, d)
			}
		}
	})
}

func beyond32Bits[I rowvec.ID](t *testing.T, m rowvec.Matrix, ids []I) {
	t.Helper()
	dst, _ := rowvec.NewMatrix(len(ids), m.Cols)
	want, _ := rowvec.NewMatrix(len(ids), m.Cols)
	src := matrix(heap(), rand.New(rand.NewPCG(3, 4)), len(ids), m.Cols, 0)
	for i := range src.Data {
		src.Data[i] = float32(i)
	}
	last := m.Row(int(ids[0]))
	bags, _ := rowvec.NewMatrix(2, m.Cols)
	if err := rowvec.BagSum(bags, m, ids, []int{0, 2, 3}, []float32{2, 5, 1}); err != nil {
		t.Fatal(err)
	}
	for i, x := range last {
		if bags.Row(0)[i] != 2*x-5 || bags.Row(1)[i] != x {
			t.Fatalf("bags: column %d is %v and %v, want %v and %v", i, bags.Row(0)[i], bags.Row(1)[i], 2*x-5, x)
		}
	}
	near, _ := rowvec.NewMatrix(2, m.Cols)
	copy(near.Row(0), last)
	copy(near.Row(1), m.Row(1))
	nearIDs := []I{0, 1, 0}
	noError(t, rowvec.EmbedAt(want, src, nearIDs, 1, near, nearIDs))
	noError(t, rowvec.EmbedAt(dst, src, nearIDs, 1, m, ids))
	if d := diff(dst.Data, want.Data, true); d != "" {
		t.Fatalf("positions: %s", d)
	}
	dots, _ := rowvec.NewMatrix(len(ids), len(ids))
	wantDots := clone(dots)
	noError(t, rowvec.Dots(wantDots, src, near, nearIDs))
	noError(t, rowvec.Dots(dots, src, m, ids))
	if d := diff(dots.Data, wantDots.Data, true); d != "" {
		t.Fatalf("dot products: %s", d)
	}
	if m.Cols%2 == 0 {
		noError(t, rowvec.RotateAt(want, src, rowvec.Rotation{Heads: 1}, near, nearIDs))
		noError(t, rowvec.RotateAt(dst, src, rowvec.Rotation{Heads: 1}, m, ids))
		if d := diff(dst.Data, want.Data, true); d != "" {
			t.Fatalf("angles: %s", d)
		}
	}
	many, _ := rowvec.NewMatrix(3*len(ids), m.Cols)
	for round := range 2 {
		if err := rowvec.Gather(dst, m, ids); err != nil {
			t.Fatal(err)
		}
		for i := range want.Data {
			row, col := i/m.Cols, i%m.Cols
			switch {
			case row == 1 && round == 0:
				want.Data[i] = -1
			case row == 1:
				want.Data[i] = -1 + src.Row(1)[col]
			case round == 0:
				want.Data[i] = last[col]
			default:
				want.Data[i] += src.Row(0)[col] + src.Row(2)[col]
			}
		}
		if d := diff(dst.Data, want.Data, true); d != "" {
			t.Fatalf("round %d: %s", round, d)
		}
		noError(t, rowvec.Gather(many, m, slices.Repeat(ids, 3)))
		if d := diff(many.Data, slices.Repeat(want.Data, 3), true); d != "" {
			t.Fatalf("more than few, round %d: %s", round, d)
		}
		if round == 0 {
			if err := rowvec.ScatterAdd(m, ids, 1, src); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, x := range src.Row(1) {
		m.Row(1)[i] -= x
	}
}
