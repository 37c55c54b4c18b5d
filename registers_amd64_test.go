//go:build !purego

package rowvec

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// TestArgumentsInOtherRegisters calls assembly that is given numbers and pointers with others in registers than where the
// package calls it: there some hold, by chance, what the assembly is to read from the stack.
func TestArgumentsInOtherRegisters(t *testing.T) {
	const n = 43
	src, other := make([]float32, n), make([]float32, n)
	for i := range src {
		src[i] = float32(1 + i)
	}
	isatest.Each(t, func(t *testing.T) {
		if isa.Active() == isa.Portable {
			return
		}
		dst, row := make([]float32, n), slices.Repeat(src, 7)
		rows, few := []*float32{&row[n], &row[3*n]}, make([]float32, 2*n)
		if copyFewOtherwise(n, 2, &rows[0], &other[0], &few[0], n*4); !slices.Equal(few, row[:2*n]) {
			t.Errorf("copyRows: %v, want %v", few, row[:2*n])
		}
		clear(few)
		if copyOtherwise(n, &src[0], &few[0], &other[0]); !slices.Equal(few[:n], src) {
			t.Errorf("copyRow: %v, want %v", few[:n], src)
		}
		if isa.Active() == isa.AVX512 {
			sevenRows, fewRows := matrixArg{Rows: 7, Cols: n, Stride: n, Data: row}, matrixArg{Rows: 2, Cols: n, Stride: n, Data: few}
			clear(few)
			if copyOtherwise512(n, &src[0], &few[0], &other[0]); !slices.Equal(few[:n], src) {
				t.Errorf("copyRow with AVX-512: %v, want %v", few[:n], src)
			}
			clear(few)
			if done := gatherFewOtherwise32(2, 7, unsafe.Pointer(&other[0]), unsafe.Pointer(&[]int32{1, 3}[0]), &sevenRows, &fewRows); done != 2 || !slices.Equal(few, row[:2*n]) {
				t.Errorf("gatherFew32: %d, %v, want 2, %v", done, few, row[:2*n])
			}
			clear(few)
			if done := gatherFewOtherwise64(2, 7, unsafe.Pointer(&other[0]), unsafe.Pointer(&[]int{1, 3}[0]), &sevenRows, &fewRows); done != 2 || !slices.Equal(few, row[:2*n]) {
				t.Errorf("gatherFew64: %d, %v, want 2, %v", done, few, row[:2*n])
			}
			for cols := longBurst/4 + 1; cols <= wholeBytes/4; cols += 61 {
				far, copied := slices.Repeat(src, cols/n+1)[:cols], make([]float32, cols+2)
				if copyFarOtherwise(cols, &far[0], &copied[1], &other[0]); copied[0] != 0 || copied[cols+1] != 0 ||
					!slices.Equal(copied[1:cols+1], far) {
					t.Errorf("copyFarRow: %v, want 0, %v and 0", copied, far)
				}
			}
		}
		p := productArgs{dst: &dst[0], src: &src[0], a: &other[0], rows: 1, terms: 1, cols: n}
		copy(dst, other)
		other[0] = 3
		productOtherwise(n, &other[1], &p)
		for i, x := range dst {
			if want := 3 * src[i]; x != want {
				t.Errorf("addProduct: element %d is %v, want %v", i, x, want)
			}
		}
		var sums [2]float64
		squaresOtherwise(20, &sums[0], 2, &src[0], &other[0], 20*4)
		for k := range sums {
			want := 0.0
			for i := range 20 {
				want += float64((1 + 20*k + i) * (1 + 20*k + i))
			}
			if sums[k] != want {
				t.Errorf("squareSums: %v, want %v", sums[k], want)
			}
		}
		clear(other)
		copy(dst, src)
		addOtherwise(n, &dst[0], &src[0], &other[0], 2)
		for i, x := range dst {
			if want := 3 * src[i]; x != want {
				t.Errorf("addScaled: element %d is %v, want %v", i, x, want)
			}
		}
	})
}

//go:noinline
func copyFewOtherwise(cols, n int, rows **float32, _, dst *float32, stride uintptr) {
	copyRowsAVX2(dst, stride, rows, n, cols)
}

//go:noinline
func gatherFewOtherwise32(n int, limit uint64, _, ids unsafe.Pointer, table, dst *matrixArg) int {
	return gatherFew32AVX512(dst, table, ids, n, limit)
}

//go:noinline
func gatherFewOtherwise64(n int, limit uint64, _, ids unsafe.Pointer, table, dst *matrixArg) int {
	return gatherFew64AVX512(dst, table, ids, n, limit)
}

//go:noinline
func copyOtherwise(cols int, src, dst, _ *float32) { copyRowAVX2(dst, src, cols) }

//go:noinline
func copyOtherwise512(cols int, src, dst, _ *float32) { copyRowAVX512(dst, src, cols) }

//go:noinline
func copyFarOtherwise(cols int, src, dst, _ *float32) { copyFarRowAVX512(dst, src, cols) }

//go:noinline
func addOtherwise(n int, dst, src, _ *float32, alpha float32) {
	if isa.Active() == isa.AVX512 {
		addScaledAVX512(dst, src, n, alpha)
	} else {
		addScaledAVX2(dst, src, n, alpha)
	}
}

//go:noinline
func squaresOtherwise(cols int, dst *float64, rows int, x, next *float32, stride uintptr) {
	if isa.Active() == isa.AVX512 {
		squareSumsAVX512(dst, x, stride, rows, cols, next)
	} else {
		squareSumsAVX2(dst, x, stride, rows, cols, next)
	}
}

//go:noinline
func productOtherwise(_ int, _ *float32, p *productArgs) {
	if isa.Active() == isa.AVX512 {
		addProductAVX512(p)
	} else {
		addProductAVX2(p)
	}
}

// TestShortRowsOfFunctionValues calls kernels as function values, whose addresses DX has then: where the package calls them it holds 0, by
// chance, which is where short rows begin.
func TestShortRowsOfFunctionValues(t *testing.T) {
	ids := []int{2, 0, 1, 2, 1}
	isatest.Each(t, func(t *testing.T) {
		if isa.Active() != isa.AVX2 {
			return
		}
		for cols := 1; cols <= shortColumns; cols++ {
			for name, kernel := range map[string]struct {
				run    func(*rowArgs) int
				define func(linear, table Matrix)
			}{
				"gather":       {gatherAVX2, func(linear, table Matrix) { kernels.Gather(linear, table, ids) }},
				"gatherScaled": {gatherScaledAVX2, func(linear, table Matrix) { kernels.GatherScaled(linear, table, ids, 2) }},
				"scatterAdd":   {scatterAddAVX2, func(linear, table Matrix) { kernels.ScatterAdd(table, ids, 2, linear) }},
			} {
				linear, table := matrixOfOnes(len(ids), cols), matrixOfOnes(3, cols)
				for i := range table.Data {
					table.Data[i] = float32(i)
				}
				wantLinear, wantTable := linear, table
				wantLinear.Data, wantTable.Data = slices.Clone(linear.Data), slices.Clone(table.Data)
				kernel.define(wantLinear, wantTable)

				var a rowArgs
				prepareRows(&a, &linear, &table, ids, &hint{})
				a.linear, a.table, a.ids, a.scale = &linear.Data[0], &table.Data[0], unsafe.Pointer(&ids[0]), 2
				a.n, a.cols = len(ids), cols
				done := kernel.run(&a)
				if done != len(ids) || !slices.Equal(linear.Data, wantLinear.Data) || !slices.Equal(table.Data, wantTable.Data) {
					t.Errorf("%s, %d columns: %d rows are done: %v and %v, want %v and %v",
						name, cols, done, linear.Data, table.Data, wantLinear.Data, wantTable.Data)
				}
			}
		}
	})
}

// TestFirstBagOfFunctionValues calls the dot products of bags by a function value: where runBags calls them a register has, by chance, what is to
// be read, which is where the first bag ends.
func TestFirstBagOfFunctionValues(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		run := map[isa.Level]func(*dotArgs) int{isa.AVX2: dotsOneAVX2, isa.AVX512: dotsOneAVX512}[isa.Active()]
		if run == nil {
			return
		}
		for cols := 1; cols <= 33; cols++ {
			table, a, ids, offsets := matrixOfOnes(3, cols), matrixOfOnes(3, cols), []int{2, 0, 1, 2}, []int{0, 1, 1, 4}
			for i := range cols {
				table.Data[i], table.Data[cols+i], a.Data[i], a.Data[2*cols+i] = 2, 3, 5, 7
			}
			got, want := make([]float32, len(ids)), make([]float32, len(ids))
			kernels.BagDots(want, a, table, ids, offsets)

			d := dotArgs{dst: &got[0], a: &a.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0]), rows: 1}
			d.prepare(&Matrix{Rows: 1, Cols: len(got), Data: got, Stride: len(got)}, &a, &table, len(ids))
			d.wide, d.limit = wide(ids), idLimit[int](table.Rows)
			d.n, d.readable, d.ends = len(ids), len(ids), &offsets[1]
			if done := run(&d); done != len(ids) || !slices.Equal(got, want) {
				t.Errorf("%d columns: %d are done: %v, want %v", cols, done, got, want)
			}
		}
	})
}

// TestDropoutKeepsToItsArguments has something behind the arguments of dropout, of which the assembly writes the last ones.
func TestDropoutKeepsToItsArguments(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		if isa.Active() == isa.Portable {
			return
		}
		dst, _ := NewMatrix(4, dropoutBlock)
		x := struct {
			dropoutArgs
			behind uint64
		}{behind: math.MaxUint64}
		x.prepare(&dst, &dst, &Mask{P: 0.5})
		x.dst, x.src, x.numbers, x.rows, x.cols = &dst.Data[0], &dst.Data[0], &rowNumbers[0], dst.Rows, dst.Cols
		if x.do(); x.behind != math.MaxUint64 {
			t.Errorf("behind the arguments is %#x", x.behind)
		}
		x.positions, x.posStride, x.places, x.spots, x.rowScale = x.src, x.srcStride, &rowNumbers[0], &rowNumbers[0], 1
		if x.do(); x.behind != math.MaxUint64 {
			t.Errorf("behind the arguments of sums is %#x", x.behind)
		}
	})
}

// TestBetweenElements has results that begin between the addresses of elements, as some that were made with package unsafe do: rows
// that are to be written past the caches are done as others are, and nothing is written in front of them or behind.
func TestBetweenElements(t *testing.T) {
	defer tuning.Lower()()
	tuning.Halves = false
	const n, cols, room = 20, 150, 64
	isatest.Each(t, func(t *testing.T) {
		table, positions, ids, offsets := matrixOfOnes(9, cols), matrixOfOnes(n, cols), make([]int, n), make([]int, n+1)
		for i := range ids {
			ids[i], offsets[i+1] = i%table.Rows, i+1
		}
		for shift := range 4 {
			all := slices.Repeat([]byte{0xee}, n*cols*4+2*room)
			at := room + shift
			dst := Matrix{Rows: n, Cols: cols, Stride: cols, Data: unsafe.Slice((*float32)(unsafe.Pointer(&all[at])), n*cols)}
			for name, run := range map[string]func() error{
				"Gather":       func() error { return Gather(dst, table, ids) },
				"GatherScaled": func() error { return GatherScaled(dst, table, ids, 1) },
				"Embed":        func() error { return Embed(dst, table, ids, 0, positions, 0, n) },
				"BagSum":       func() error { return BagSum(dst, table, ids, offsets, nil) },
			} {
				for i := range all {
					all[i] = 0xee
				}
				if err := run(); err != nil {
					t.Fatal(err)
				}
				want := slices.Repeat([]byte{0, 0, 0x80, 0x3f}, n*cols)
				if got := all[at : at+n*cols*4]; !bytes.Equal(got, want) {
					t.Errorf("%s, %d bytes from an element: a result is not 1", name, shift)
				}
				if bytes.Count(all, []byte{0xee}) != 2*room {
					t.Errorf("%s, %d bytes from an element, has written beside its result", name, shift)
				}
			}
		}
	})
}

func matrixOfOnes(rows, cols int) Matrix {
	return Matrix{Rows: rows, Cols: cols, Stride: cols, Data: slices.Repeat([]float32{1}, rows*cols)}
}
