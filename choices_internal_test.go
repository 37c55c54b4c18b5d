//go:build !purego && amd64

package rowvec

import (
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
)

// What is chosen by sizes alone is the same on any processor, whether it has what is chosen or not.

// way is a level, and of AVX-512 whether vectors are done in halves.
type way uint

const (
	byAVX2 way = 1 << iota
	byHalves
	byWhole
	byAVX512 = byHalves | byWhole
)

// suppose runs test as on a processor of each way, of which this one may be none: test asks what is chosen there, and does nothing of it.
func suppose(t *testing.T, test func(t *testing.T, w way)) {
	t.Helper()
	isatest.Tune(t, &isa.Available, []isa.Level{isa.AVX2, isa.AVX512})
	for _, c := range []struct {
		name   string
		level  isa.Level
		halves bool
		w      way
	}{
		{"avx2", isa.AVX2, false, byAVX2}, {"avx512, halves", isa.AVX512, true, byHalves}, {"avx512", isa.AVX512, false, byWhole},
	} {
		t.Run("supposed="+c.name, func(t *testing.T) {
			defer isa.Set(c.level)()
			isatest.Tune(t, &tuning.Halves, c.halves)
			test(t, c.w)
		})
	}
}

// What is done with AVX-512, and what with AVX2: on either side of each size, and at it.

func TestRowsAVX512(t *testing.T) {
	isatest.Tune(t, &tuning.WideBytes, 4*1000)
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			k                 op
			cols, rows, ahead int
			abreast           bool
			by                way
		}{
			{opGather, 31, 999, 0, false, 0}, {opGather, 32, 999, 0, false, 0}, {opGather, 33, 999, 0, false, byAVX512}, // shortColumns
			{opScatterAdd, 32, 999, 8, false, 0}, {opEmbed, 32, 999, 8, false, 0}, {opEmbed, 33, 999, 8, false, byWhole},
			{opGather, 63, 999, 8, false, byWhole}, {opGather, 64, 999, 8, false, byAVX512}, {opGather, 65, 999, 8, false, byWhole}, // lineBytes
			{opScatterAdd, 48, 999, 8, false, byWhole}, {opScatterAdd, 63, 999, 8, false, byWhole}, {opScatterAdd, 64, 999, 8, false, byAVX512},
			{opGather, 127, 1, 0, false, byWhole}, {opGather, 128, 1, 0, false, byWhole}, {opGather, 129, 1, 0, false, 0}, // endColumns
			{opGather, 199, 5, 0, false, 0}, {opGather, 200, 5, 0, false, 0}, {opGather, 200, 6, 0, false, byAVX512}, // WideBytes
			{opEmbed, 200, 5, 0, false, 0}, {opEmbed, 200, 6, 0, false, byAVX512}, {opGather, 200, 5, 8, true, byAVX512},
			{opScatterAdd, 207, 1, 0, false, 0}, {opScatterAdd, 208, 1, 0, false, byAVX512}, {opScatterAdd, 209, 1, 0, false, 0}, // whole vectors
			{opEmbed, 208, 1, 0, false, byAVX512}, {opGather, 208, 1, 0, false, 0}, {opGatherSum, 208, 1, 0, false, 0},
			{opGather, 1023, 999, 8, false, byAVX512}, {opGather, 1024, 999, 8, false, byAVX512}, {opGather, 1025, 999, 8, false, 0}, // wholeBytes
			{opGather, 1025, 999, 8, true, byAVX512}, {opGatherScaled, 1025, 999, 8, false, byAVX512}, {opScatterAdd, 1025, 999, 8, false, byAVX512},
		} {
			a := rowArgs{cols: c.cols, limit: uint64(c.rows), tableStride: uintptr(4 * c.cols), ahead: c.ahead, abreast: c.abreast, ends: fullWidth()}
			if got, want := a.avx512(c.k), c.by&w != 0; got != want {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
		for _, cols := range []int{33, 64} {
			if a := (rowArgs{cols: cols, ahead: 8, ends: true}); a.avx512(opScatterAdd) != (w != byAVX2) {
				t.Errorf("%d columns: %v by ends", cols, !(w != byAVX2))
			}
		}
	})
}

func TestMaximaAVX512(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for cols, by := range map[int]way{
			48: 0, 63: 0, 64: byAVX512, 65: 0, 79: 0, 80: byAVX512, 81: 0, // maximaColumns
			95: 0, 96: byAVX512, 97: byAVX512, 127: byAVX512, 128: byAVX512, 129: 0, 143: 0, 144: byAVX512, // maximaEnds, endColumns
		} {
			if got, want := (&rowArgs{cols: cols}).maxima512(), by&w != 0; got != want {
				t.Errorf("%d columns: %v, want %v", cols, got, want)
			}
		}
	})
}

func TestCopiesAVX512(t *testing.T) {
	isatest.Tune(t, &tuning.CopyElements, 512)
	isatest.Tune(t, &tuning.CopyUneven, true)
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			most, elements int
			by             way
		}{
			{512, 511, 0}, {512, 512, 0}, {512, 513, byWhole}, {512, 576, byWhole},
			{0, 15, 0}, {0, 16, byWhole}, {0, 17, byWhole}, // copyColumns
		} {
			tuning.CopyElements = c.most
			for _, uneven := range []bool{true, false} {
				tuning.CopyUneven = uneven
				if got, want := copies512(c.elements), c.by&w != 0 && (uneven || c.elements%16 == 0); got != want {
					t.Errorf("%+v, uneven ones %v: %v, want %v", c, uneven, got, want)
				}
			}
		}
	})
}

func TestCopiesByID(t *testing.T) {
	isatest.Tune(t, &tuning.CopyElements, 512)
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			rows, cols int
			fetches    bool
			by         way
		}{
			{2, 7, false, byHalves}, {2, 63, false, byHalves}, {2, 64, true, byHalves}, // severalColumns
			{4, 65, false, 0}, {4, 65, true, 0}, {4, 80, false, byHalves}, {4, 80, true, 0},
			{1, 512, false, byHalves}, {1, 513, false, byWhole}, {3, 171, true, byWhole}, {8, 80, false, byHalves | byWhole}, // CopyElements
		} {
			if got, want := copiesByID(c.rows, c.cols, c.fetches), c.by&w != 0; got != want {
				t.Errorf("%d rows of %d, prefetched %v: %v, want %v", c.rows, c.cols, c.fetches, got, want)
			}
		}
	})
}

func TestAddsAVX512(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for n, by := range map[int]way{1: byWhole, 512: byWhole, 2048: byWhole, 2049: byAVX512, 4096: byAVX512} { // halfAdds
			if got, want := adds512(n), by&w != 0; got != want {
				t.Errorf("%d elements: %v, want %v", n, got, want)
			}
		}
	})
}

// aLine returns elements of which the first begins a line.
func aLine() []float32 {
	memory := make([]float32, 32)
	return memory[-uintptr(unsafe.Pointer(&memory[0]))/4%16:]
}

func TestFewAtOnce(t *testing.T) {
	isatest.Tune(t, &tuning.FewElements, 512)
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			rows, cols int
			by         way
		}{
			{2, 256, byAVX2 | byAVX512}, {2, 257, 0}, {4, 96, byAVX2 | byAVX512}, {4, 97, byAVX512}, {8, 16, byAVX2 | byAVX512}, {8, 17, byAVX512},
			{9, 8, byAVX512}, {16, 1, byAVX512}, {4, 128, byAVX512}, {4, 129, 0}, {8, 64, byAVX512}, {8, 63, byAVX512}, {8, 65, 0},
			{16, 32, byAVX512}, {16, 33, 0},
			{16, 48, byAVX512}, {12, 64, byAVX512}, {13, 64, 0}, {3, 256, byAVX512}, {3, 272, 0}, // whole lines
			{16, 30, byAVX512}, {17, 30, byWhole}, {32, 24, 0}, {32, 16, byWhole}, {17, 8, byWhole}, // fewIDs
		} {
			if got, want := fewAtOnce(c.rows, c.cols), c.by&w != 0; got != want {
				t.Errorf("%d rows of %d: %v, want %v", c.rows, c.cols, got, want)
			}
		}
	})
}

// TestStreamsLines: what is no multiple of a line, or no gather that AVX-512 is for elsewhere, is left to AVX2.
func TestStreamsLines(t *testing.T) {
	line := aLine()
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			k               op
			cols            int
			gap, shift      uintptr
			abreast, uneven bool
			by              way
		}{
			{opGather, 48, 0, 0, false, false, 0}, {opGather, 63, 0, 0, false, false, 0}, // lineBytes
			{opGather, 64, 0, 0, false, false, byWhole}, {opGather, 65, 0, 0, false, false, 0}, {opGather, 80, 0, 0, false, false, byWhole},
			{opGather, 80, 8, 0, false, false, 0}, {opGather, 80, 0, 8, false, false, 0}, {opGather, 80, 16, 0, false, false, byWhole},
			{opGather, 1008, 0, 0, false, false, byWhole}, {opGather, 1024, 0, 0, false, false, byWhole}, {opGather, 1040, 0, 0, false, false, 0}, // wholeBytes
			{opGather, 1040, 0, 0, true, false, byWhole}, {opGather, 1040, 0, 0, false, true, byWhole}, {opEmbed, 1040, 0, 0, false, false, byWhole},
		} {
			isatest.Tune(t, &tuning.StreamUneven, c.uneven)
			a := rowArgs{cols: c.cols, linear: &line[c.shift], abreast: c.abreast}
			a.linearStride = 4 * (uintptr(c.cols+15)&^15 + c.gap)
			if got, want := a.streamsLines(c.k), c.by&w != 0; got != want {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
	})
}

// TestShortTail has rows whose last vector is half of one or less, which AVX2 does where they are prefetched and AVX-512 is in halves.
func TestShortTail(t *testing.T) {
	isatest.Tune(t, &tuning.WideBytes, 4*1000)
	suppose(t, func(t *testing.T, w way) {
		window := rowArgs{cols: 88, limit: 99, tableStride: 4 * 88, ahead: 8, windowAhead: 64}
		if window.shortTail() {
			t.Error("of a window")
		}
		for _, c := range []struct {
			cols, rows, ahead int
			short             bool
		}{
			{80, 99, 8, false}, {81, 99, 8, true}, {88, 99, 8, true}, {89, 99, 8, false}, {81, 99, 0, false},
			{100, 10, 8, false}, {100, 11, 8, true}, // WideBytes
			{248, 99, 8, true}, {249, 99, 8, false}, {257, 99, 8, false}, // tailColumns
		} {
			a := rowArgs{cols: c.cols, limit: uint64(c.rows), tableStride: uintptr(4 * c.cols), ahead: c.ahead, ends: fullWidth()}
			for k := range opEmbed + 1 {
				if got, want := a.avx512(k), c.short && w == byHalves; got == want && c.rows == 99 && c.ahead != 0 && w != byAVX2 {
					t.Errorf("%+v: kernel %d with AVX-512: %v, want %v", c, k, got, !want)
				}
			}
			for k := range opUpdateAdam + 1 {
				u := updateArgs{rowArgs: a}
				if got, want := u.avx512(k), w != byAVX2 && !(c.short && w == byHalves && k != opUpdateAdam); got != want && c.ahead != 0 {
					t.Errorf("%+v: update %d with AVX-512: %v, want %v", c, k, got, want)
				}
			}
			if got, want := a.shortTail(), c.short && w == byHalves; got != want {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
	})
}

func TestUpdatesAVX512(t *testing.T) {
	isatest.Tune(t, &tuning.RootColumns, 100)
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			k           updateOp
			cols, ahead int
			by          way
		}{
			{opUpdateSGD, 31, 0, 0}, {opUpdateSGD, 32, 0, byAVX512}, {opUpdateSGD, 33, 0, byAVX512}, // wideColumns
			{opUpdateSGD, 31, 8, 0}, {opUpdateSGD, 32, 8, byAVX512}, {opUpdateSGD, 33, 8, byWhole},
			{opUpdateSGD, 63, 8, byWhole}, {opUpdateSGD, 64, 8, byAVX512}, {opUpdateSGD, 65, 8, byAVX512}, // lineBytes
			{opUpdateRowAdagrad, 33, 8, 0}, {opUpdateRowAdagrad, 63, 8, 0}, {opUpdateRowAdagrad, 64, 8, byAVX512},
			{opUpdateAdagrad, 99, 0, 0}, {opUpdateAdagrad, 100, 0, 0}, {opUpdateAdagrad, 101, 0, byAVX512}, // RootColumns
			{opUpdateAdam, 99, 0, 0}, {opUpdateAdam, 100, 0, 0}, {opUpdateAdam, 101, 0, byAVX512},
			{opUpdateAdagrad, 100, 8, byAVX512}, {opUpdateAdam, 100, 8, byAVX512},
			{opUpdateAdd, 100, 0, byAVX512}, {opUpdateSGD, 100, 0, byAVX512}, {opUpdateRowAdagrad, 100, 0, byAVX512},
		} {
			a := updateArgs{rowArgs: rowArgs{cols: c.cols, ahead: c.ahead}}
			if got, want := a.avx512(c.k), c.by&w != 0; got != want {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
	})
}

func TestNormAVX512(t *testing.T) {
	isatest.Tune(t, &tuning.NormRows, 4)
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			rows, cols int
			by         way
		}{
			{1, 768, 0}, {3, 768, 0}, {4, 768, byAVX512}, {5, 768, byAVX512}, // NormRows
			{3, 7, byAVX512}, {3, 8, 0}, {3, 9, 0}, {4, 8, byAVX512}, // normVector
		} {
			if got, want := (&normArgs{rows: c.rows, cols: c.cols}).avx512(), c.by&w != 0; got != want {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
		for cols, want := range map[int]bool{0: false, 1: w != byAVX2, 7: w != byAVX2, 8: true, 9: true} {
			if got := inAssembly(cols); got != want {
				t.Errorf("%d columns in assembly: %v, want %v", cols, got, want)
			}
		}
	})
}

func TestDropoutAVX512(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			cols   int
			stream bool
			by     way
		}{{127, true, 0}, {128, true, byAVX512}, {129, true, byAVX512}, {127, false, byAVX512}} { // dropoutBlock
			if got, want := (&dropoutArgs{cols: c.cols, stream: c.stream}).avx512(), c.by&w != 0; got != want {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
	})
}

// TestDropsSums: one kernel sums and drops as much of a row as one call does, with AVX-512 of rows of sumColumns and more.
func TestDropsSums(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for cols, by := range map[int]way{1: byAVX2, 63: byAVX2, 64: byAVX2 | byAVX512, chunkElements: byAVX2 | byAVX512, chunkElements + 1: 0} {
			if got, want := dropsSums(cols), by&w != 0; got != want {
				t.Errorf("%d columns: %v, want %v", cols, got, want)
			}
		}
	})
}

// TestProductAVX512: four rows of 64 columns are a block, for which a row of src fetches productStep bytes at most.
func TestProductAVX512(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			bytes, cols, terms int
			by                 way
		}{
			{127, 64, 1, byAVX512}, {128, 64, 1, byAVX512}, {129, 64, 1, byHalves}, {256, 64, 1, byHalves}, {257, 64, 1, 0},
			{256, 65, 1, byAVX512}, {257, 65, 1, byHalves}, {512, 65, 1, byHalves}, {514, 65, 1, 0},
			{256, 64, 2, byAVX512}, {257, 64, 2, 0}, {512, 64, 2, 0},
		} {
			var p productArgs
			p.pace(c.bytes, 4, c.cols, c.terms)
			if got, want := p.avx512(), c.by&w != 0; got != want {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
	})
}

// TestProductLines: so many blocks of 4 rows and 16 columns fetch so many lines of what comes next for each row of src.
func TestProductLines(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			bytes, cols, terms int
			by                 way
			lines              uint8
			step               uintptr
		}{
			{64 * 16, 256, 1, byAVX2, 1, 64}, {66 * 16, 256, 1, byAVX2, 2, 66}, {128 * 16, 256, 1, byAVX2, 2, 128}, {250 * 16, 256, 1, byAVX2, 2, 128},
			{64 * 4, 256, 1, byAVX512, 1, 64}, {65 * 4, 256, 1, byAVX512, 2, 65}, {128 * 4, 256, 1, byAVX512, 2, 128},
			{129 * 4, 256, 1, byHalves, 4, 129}, {256 * 4, 256, 1, byHalves, 4, 256}, {256 * 16, 256, 1, byHalves, 4, 256}, {512 * 16, 256, 1, byHalves, 4, 256},
			{512 * 16, 256, 2, byHalves, 2, 128}, {512 * 16, 256, 1, byWhole, 2, 128},
		} {
			var p productArgs
			if p.pace(c.bytes, 4, c.cols, c.terms); c.by&w != 0 && (p.lines != c.lines || p.step != c.step) {
				t.Errorf("%+v: %d lines and %d bytes", c, p.lines, p.step)
			}
		}
	})
}

func TestBagsAVX512(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			cols, ahead int
			bytes       uint64 // of the table
			by          way
		}{
			{4, 0, 1, 0}, {7, 0, 1, byAVX512}, {8, 0, 1, 0}, {9, 0, 1, byAVX512}, // a single part
			{15, 0, 1, byAVX512}, {16, 0, 1, byAVX512}, {17, 0, 1, byWhole}, // bagTails
			{7, 8, 1, byWhole}, {15, 8, 1, byWhole}, {16, 8, 1, byAVX512}, {16, 8, 64 << 20, byWhole},
			{31, 0, 1, byWhole}, {31, 8, 64 << 20, byWhole}, {32, 0, 1, byAVX512}, {32, 8, 64 << 20, byWhole}, // bagNarrow
			{33, 8, 64 << 20, byWhole}, {33, 0, 64 << 20, byAVX512}, {33, 8, 1, byAVX512},
			{64, 8, 64 << 20, byWhole}, {65, 8, 64 << 20, byAVX512}, // bagFew
			{96, 8, 64 << 20, byAVX512}, {97, 8, 64 << 20, byWhole}, // bagMany
			{127, 8, 64 << 20, byWhole}, {128, 8, 64 << 20, byWhole}, {129, 8, 64 << 20, byAVX512}, // bagBlock
			{64, 8, 32<<20 - 1, byAVX512}, {64, 8, 32 << 20, byAVX512}, {64, 8, 32<<20 + 1, byWhole}, // heldBytes
		} {
			a := bagArgs{cols: c.cols, ahead: c.ahead, limit: c.bytes, tableStride: 1}
			if got, want := a.avx512(), c.by&w != 0; got != want {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
	})
}

// TestBagsBlocks has how wide the blocks of rows of bags are.
func TestBagsBlocks(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			cols, ahead, ids, bags int
			pairs, held            way
		}{
			{128, 0, 80, 10, 0, 0}, {129, 0, 80, 10, 0, 0}, {129, 8, 10, 10, 0, byWhole}, // bagBlock
			{128, 8, 10, 10, byAVX2, 0}, {128, 8, 80, 10, byAVX2, 0}, {127, 8, 29, 10, 0, 0}, {127, 8, 30, 10, byAVX2, 0}, // panelBag
			{96, 8, 80, 10, 0, 0}, {97, 8, 80, 10, byAVX2, 0}, {97, 0, 80, 10, 0, 0}, // panelLeast
			{255, 8, 29, 10, 0, byWhole}, {256, 8, 29, 10, 0, byAVX512}, {256, 0, 29, 10, 0, 0}, {257, 8, 29, 10, 0, byWhole},
			{383, 8, 29, 10, 0, byWhole}, {384, 8, 29, 10, 0, byAVX512}, {385, 8, 29, 10, 0, 0}, // heldBlock
			{385, 8, 30, 10, 0, byWhole}, {385, 8, 31, 10, 0, byWhole}, {512, 8, 31, 10, 0, byWhole}, // heldBag
			{1023, 8, 30, 10, 0, byWhole}, {1024, 8, 30, 10, 0, byWhole}, {1025, 8, 30, 10, 0, 0}, {1024, 0, 30, 10, 0, 0}, // heldColumns
		} {
			a := bagArgs{cols: c.cols, ahead: c.ahead, next: 5, stop: 5 + c.ids, bags: c.bags}
			if got, want := a.inPairs(), c.pairs&w != 0; got != want {
				t.Errorf("%+v: in pairs %v, want %v", c, got, want)
			}
			if got, want := a.heldRows(), c.held&w != 0; got != want {
				t.Errorf("%+v: held rows %v, want %v", c, got, want)
			}
			if a.partial = true; a.inPairs() != (c.pairs&w != 0 && c.cols == bagBlock) {
				t.Errorf("%+v: in pairs %v, though part of the bag has been done", c, a.inPairs())
			}
		}
	})
}

// TestBagsOneBlock has what is left of rows done as one block, or by powers of two.
func TestBagsOneBlock(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for cols, by := range map[int]way{
			17: byAVX512, 32: byWhole, 47: byAVX512, 48: byAVX512, 49: byAVX512, 64: byWhole, 80: byWhole, 96: byWhole, 100: byAVX512,
			112: byAVX512, 176: byAVX512, 192: byWhole, 200: byAVX512,
		} {
			a := bagArgs{cols: cols}
			if got, want := a.oneBlock(), by&w != 0; got != want && w != byAVX2 {
				t.Errorf("%d columns: %v, want %v", cols, got, want)
			}
		}
	})
}

// TestBagsBeyond has how many columns behind a row are prefetched where AVX-512 goes in halves.
func TestBagsBeyond(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			cols, ahead int
			bytes       uint64 // of the table
			beyond      int
		}{
			{15, 8, 32<<20 + 1, 16}, {15, 8, 32 << 20, 0}, {15, 0, 64 << 20, 0}, // uncached
			{32, 8, 64 << 20, 0}, {33, 8, 64 << 20, 16}, {47, 8, 64 << 20, 16}, {48, 8, 64 << 20, 0}, {49, 8, 64 << 20, 32}, // beyondFew
			{80, 8, 64 << 20, 0}, {95, 8, 64 << 20, 32}, {97, 8, 64 << 20, 0}, {128, 8, 64 << 20, 0}, // bagMany
			{129, 8, 64 << 20, 0}, {143, 8, 64 << 20, 0},
		} {
			a := bagArgs{cols: c.cols, ahead: c.ahead, limit: c.bytes, tableStride: 1}
			want := c.beyond
			if w != byHalves {
				want = 0
			}
			if got := a.beyond(); got != want {
				t.Errorf("%+v: %d columns, want %d", c, got, want)
			}
		}
	})
}

// TestBagsPanels has how many rows of a bag are done at a time by panels: of a chunk of ids from position 5 on.
func TestBagsPanels(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			cols, ahead, ids, bags int
			bytes                  uint64 // of the table
			piece                  int
		}{
			{128, 8, 100, 10, 64 << 20, 0}, {129, 8, 100, 10, 64 << 20, 100}, {129, 0, 100, 10, 64 << 20, 0}, // bagBlock
			{129, 8, 29, 10, 1 << 20, 0}, {129, 8, 30, 10, 1 << 20, 30}, // panelBag
			{256, 8, 4000, 10, 64 << 20, 4000}, {320, 8, 4000, 10, 64 << 20, 16}, {320, 8, 30, 10, 64 << 20, 16}, // panelFew
			{383, 8, 4000, 10, 64 << 20, 4000}, {384, 8, 4000, 10, 64 << 20, 16}, // panelWhole
			{385, 8, 161, 10, 64 << 20, 0}, {385, 8, 160, 10, 64 << 20, 160}, // panelIDs
			{1024, 8, 300, 10, 64 << 20, 16}, {1088, 8, 300, 10, 64 << 20, 15}, {2048, 8, 300, 10, 64 << 20, 8}, // panelElements
			{2047, 8, 81, 10, 64 << 20, 0}, {2047, 8, 80, 10, 64 << 20, 80},
			{3072, 8, 300, 10, 64 << 20, 5}, {3136, 8, 300, 10, 64 << 20, 0}, {3073, 8, 30, 10, 64 << 20, 0}, // panelMost
		} {
			a := bagArgs{cols: c.cols, ahead: c.ahead, next: 5, stop: 5 + c.ids, bags: c.bags, limit: c.bytes, tableStride: 1}
			want := c.piece
			if w != byAVX2 {
				want = 0
			}
			if got := a.panelPiece(); got != want {
				t.Errorf("%+v: %d rows, want %d", c, got, want)
			}
			if a.partial = true; a.panelPiece() != 0 {
				t.Errorf("%+v: by panels, though part of the bag has been done", c)
			}
		}
	})
}

// TestBagsPanelAhead has how many rows ahead panels prefetch.
func TestBagsPanelAhead(t *testing.T) {
	for _, c := range []struct {
		cols  int
		bytes uint64 // of the table
		rows  int
	}{
		{97, 1 << 20, 16}, {127, 64 << 20, 16}, {128, 64 << 20, 6}, {128, 1 << 20, 16}, {192, 64 << 20, 6}, // bagBlock
		{192, 32 << 20, 16}, {192, 32<<20 + 1, 6}, {193, 1 << 20, 6}, {768, 1 << 20, 6}, // panelShort
	} {
		a := bagArgs{cols: c.cols, ahead: 8, limit: c.bytes, tableStride: 1}
		if got := a.panelAhead(); got != c.rows {
			t.Errorf("%+v: %d rows", c, got)
		}
	}
}

// TestGoesAbreast has the rows and the ids from which on rows come four abreast, and up to which.
func TestGoesAbreast(t *testing.T) {
	for variable, value := range map[*int]int{
		&tuning.AbreastColumns: 400, &tuning.AbreastMost: 2000, &tuning.AbreastStreamColumns: 300, &tuning.AbreastIDs: 20,
		&tuning.NarrowAbreastColumns: 200, &tuning.NarrowAbreastIDs: 10,
	} {
		isatest.Tune(t, variable, value)
	}
	line := aLine()
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			cols, ids      int
			stream, uneven bool
			by             way
		}{
			{199, 20, false, true, 0}, {200, 20, false, true, 0}, {201, 20, false, true, byAVX2}, // NarrowAbreastColumns
			{201, 9, false, true, 0}, {201, 10, false, true, byAVX2}, {201, 11, true, true, byAVX2}, // NarrowAbreastIDs
			{400, 20, false, true, byAVX2}, {401, 20, false, true, byAVX2 | byWhole}, {401, 20, false, false, byAVX2 | byWhole}, // AbreastColumns
			{401, 19, false, true, byAVX2}, {401, 21, false, true, byAVX2 | byWhole}, {401, 19, true, true, byAVX2}, // AbreastIDs
			{2000, 20, false, true, byAVX2 | byWhole}, {2001, 20, false, true, byAVX2}, {2001, 20, true, true, byAVX2 | byWhole}, // AbreastMost
			{300, 20, true, true, byAVX2}, {301, 20, true, true, byAVX2 | byWhole}, {301, 20, true, false, byAVX2}, // AbreastStreamColumns
			{304, 20, true, false, byAVX2 | byWhole}, {312, 20, true, false, byAVX2}, // whole lines
			{16 << 10, 20, true, true, byAVX2 | byWhole}, {16<<10 + 1, 20, true, true, 0}, {16<<10 + 1, 20, false, true, 0}, // a chunk
		} {
			isatest.Tune(t, &tuning.StreamUneven, c.uneven)
			if got, want := goesAbreast(&Matrix{Rows: 1, Cols: c.cols, Stride: c.cols, Data: line}, c.ids, c.stream), c.by&w != 0; got != want {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
	})
}

// TestWindowAhead has the windows that are prefetched.
func TestWindowAhead(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			cols, stride int
			want         uintptr
		}{
			{32, 999, 0}, {33, 999, 16 * 4 * 999}, {64, 64, 0}, {64, 65, 8 * 4 * 65}, // shortColumns, none between
			{1023, 9999, 4 * 9999}, {1024, 9999, 4 * 9999}, {1025, 9999, 0}, {512, 999, 4 * 999}, {511, 999, 2 * 4 * 999}, // linearAhead
		} {
			if w == byWhole {
				c.want = 0
			}
			if got := windowAhead(&Matrix{Rows: 9, Cols: c.cols, Stride: c.stride}); got != c.want {
				t.Errorf("%d columns of %d: %d bytes, want %d", c.cols, c.stride, got, c.want)
			}
		}
	})
}

// TestLeftAlone and TestWrittenAhead have what processors of Intel's do.
func TestLeftAlone(t *testing.T) {
	isatest.Tune(t, &tuning.HeldLinesBytes, 4*1000)
	for _, c := range []struct {
		rows, cols int
		want       bool
	}{{1, 32, false}, {1, 33, true}, {1, 64, true}, {1, 65, false}, {24, 40, true}, {25, 40, true}, {26, 40, false}} {
		if got := heldLines(&Matrix{Rows: c.rows, Cols: c.cols, Stride: c.cols}); got != c.want {
			t.Errorf("%d x %d: %v, want %v", c.rows, c.cols, got, c.want)
		}
	}
}

// TestNear has tables on either side of what is prefetched into the first-level cache.
func TestNear(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		isatest.Tune(t, &tuning.NearBytes, 4*1000)
		isatest.Tune(t, &tuning.NearColumns, 24)
		for _, c := range []struct {
			rows, cols int
			near       bool
		}{{1, 24, false}, {1, 25, true}, {40, 25, true}, {41, 25, false}, {1, 1000, true}, {1, 1001, false}} {
			if got, want := near(&Matrix{Rows: c.rows, Cols: c.cols, Stride: c.cols}), c.near && w == byWhole; got != want {
				t.Errorf("%d x %d: %v, want %v", c.rows, c.cols, got, want)
			}
		}
		tuning.NearBytes, tuning.NearColumns = 0, 0
		if near(&Matrix{Rows: 1, Cols: 1, Stride: 1}) {
			t.Error("a table where none is")
		}
	})
}

// TestStraddles compares with the lines that each row lies in.
func TestStraddles(t *testing.T) {
	data := make([]float32, 16*(130+16)+32)
	for uintptr(unsafe.Pointer(&data[0]))%cacheLine != 0 {
		data = data[1:]
	}
	for cols := 1; cols <= 130; cols++ {
		for gap := range 17 {
			for first := range 16 {
				m := Matrix{Rows: 16, Cols: cols, Stride: cols + gap, Data: data[first:]}
				want := false
				for i := range m.Rows { // as many as there are places to begin at
					begin := (first + i*m.Stride) % 16
					want = want || (begin+cols+15)/16 > (cols+15)/16
				}
				if got := straddles(&m); got != want {
					t.Fatalf("%d columns of %d from number %d of a line on: %v, want %v", cols, m.Stride, first, got, want)
				}
			}
		}
	}
}

// TestStraddle has what prefetches be told whether rows may straddle one line more.
func TestStraddle(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			cols, stride, first int
			rows, dots          bool // or bags
		}{
			{16, 16, 0, false, false}, {16, 16, 8, true, true}, {30, 30, 0, true, true}, {24, 24, 0, false, false}, {64, 64, 0, false, false},
			{17, 32, 0, false, w == byAVX2}, {23, 32, 0, false, w == byAVX2}, {24, 32, 0, false, false}, {32, 32, 0, false, false},
		} {
			data := make([]float32, 16*c.stride+32)
			for uintptr(unsafe.Pointer(&data[0]))%cacheLine != 0 {
				data = data[1:]
			}
			table := &Matrix{Rows: 16, Cols: c.cols, Stride: c.stride, Data: data[c.first:]}
			linear, ids := &Matrix{Rows: 1, Cols: c.cols, Stride: c.cols, Data: make([]float32, c.cols)}, []uint32{0}
			a := rowArgs{linear: &linear.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0])}
			prepareRows(&a, linear, table, ids, &hint{})
			var bags bagArgs
			prepareBags(&bags, linear, table, ids)
			var d dotArgs
			d.prepare(linear, linear, table, 1)
			if a.straddle != c.rows || bags.straddle != c.rows || d.straddle != c.dots {
				t.Errorf("%d columns of %d from number %d of a line on: rows %v, bags %v, dot products %v, want %v, %v and %v",
					c.cols, c.stride, c.first, a.straddle, bags.straddle, d.straddle, c.rows, c.rows, c.dots)
			}
		}
	})
}

func TestWrittenAhead(t *testing.T) {
	isatest.Tune(t, &tuning.WrittenBytes, 4*10*66)
	for _, c := range []struct {
		rows, cols, stride int
		whole, want        bool
	}{
		{11, 63, 63, false, false}, {11, 64, 64, true, false}, {11, 65, 65, false, true}, {11, 66, 67, false, false}, // lineBytes, windows
		{9, 66, 66, false, false}, {10, 66, 66, false, false}, {11, 66, 66, false, true}, // WrittenBytes
		{11, 80, 80, false, false}, {11, 80, 80, true, true}, {11, 72, 72, false, true}, // whole lines
	} {
		if got := writtenAhead(&Matrix{Cols: c.cols, Stride: c.stride, Data: aLine()}, c.rows, c.whole); got != c.want {
			t.Errorf("%+v: %v, want %v", c, got, c.want)
		}
	}
}

// TestCached has tables of short rows and of long ones on either side of what is prefetched.
func TestCached(t *testing.T) {
	isatest.Tune(t, &tuning.CachedShortBytes, 4*1000)
	isatest.Tune(t, &tuning.CachedShortColumns, 50)
	isatest.Tune(t, &tuning.CachedBytes, 4*2000)
	for _, c := range []struct {
		rows, cols int
		want       bool
	}{
		{20, 50, true}, {21, 50, false}, {40, 50, false}, {21, 51, true}, {39, 51, true}, {40, 51, false}, {0, 51, true},
	} {
		if got := cached(&Matrix{Rows: c.rows, Cols: c.cols, Stride: c.cols}); got != c.want {
			t.Errorf("%d x %d: %v, want %v", c.rows, c.cols, got, c.want)
		}
	}
}

// TestRowsAhead has how many rows are prefetched ahead, of tables on either side of what the third level surely holds.
func TestRowsAhead(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct{ rows, cols, want int }{
			{32768, 64, 24}, {32769, 64, 48}, {65536, 32, 24}, {65537, 32, 96}, {20971, 100, 24}, {20972, 100, 30}, // closeBytes
			{1 << 16, 17, 24}, {1 << 17, 16, 96}, // of a line
		} {
			if got := rowsAhead(&Matrix{Rows: c.rows, Cols: c.cols, Stride: c.cols}, c.cols*4, 1<<16, aheadLeast, false); got != c.want && w == byHalves {
				t.Errorf("%d x %d: %d rows, want %d", c.rows, c.cols, got, c.want)
			} else if got < 8 || got > 96 {
				t.Errorf("%d x %d: %d rows", c.rows, c.cols, got)
			} else if got == 24 && w == byWhole {
				t.Errorf("%d x %d: %d rows, as where AVX-512 goes in halves", c.rows, c.cols, got)
			}
		}
		isatest.Tune(t, &tuning.AheadBytes, 30*1200)
		long := Matrix{Rows: 1 << 16, Cols: 300, Stride: 300}
		if got, want := rowsAhead(&long, 1200, 1<<16, aheadLeast, false), map[way]int{byAVX2: 8, byHalves: 10, byWhole: 30}[w]; got != want {
			t.Errorf("%d rows of 300 columns, want %d", got, want)
		}
		if got, want := rowsAhead(&long, 1200, 1<<16, aheadLeast, true), 8; got != want {
			t.Errorf("%d rows of 300 columns into the first level, want %d", got, want)
		}
	})
}

// TestAheadOfFew has calls of few ids, and of one more, and of rows on either side of those that are long, and not too long, for it.
func TestAheadOfFew(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct{ cols, ids, want int }{
			{256, 8, 12}, {257, 8, 7}, {300, 256, 6}, {300, 257, 12}, {512, 8, 4}, {768, 8, 2}, {2048, 8, 1}, {4096, 256, 1}, {4097, 256, 12},
		} {
			if w != byHalves {
				c.want = 12
			}
			if got := aheadOfFew(12, 4*c.cols, c.ids); got != c.want {
				t.Errorf("%d ids of %d columns: %d rows ahead, want %d", c.ids, c.cols, got, c.want)
			}
		}
		if got := aheadOfFew(1, 4*300, 8); got != 1 {
			t.Errorf("%d rows ahead where 1 is the most", got)
		}
	})
}

// TestLongAhead has many ids of rows that are too long to have no more than startBytes ahead, and not, and few.
func TestLongAhead(t *testing.T) {
	isatest.Tune(t, &tuning.AheadBytes, 30*1024)
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct{ cols, ids, avx2, halves, whole int }{
			{1024, 257, 8, 8, 8}, {4096, 257, 2, 8, 4}, {4097, 256, 1, 8, 3}, {4097, 257, 1, 16, 3}, // startMost, startIDs
			{12288, 256, 1, 8, 1}, {12288, 257, 1, 16, 1}, {13000, 257, 1, 15, 1}, {24576, 256, 1, 5, 1}, // manyBytes, longBytes
		} {
			want := map[way]int{byAVX2: c.avx2, byHalves: c.halves, byWhole: c.whole}[w]
			if ahead, _ := prefetch(&Matrix{Rows: 1 << 16, Cols: c.cols, Stride: c.cols}, c.ids, c.cols, false, false); ahead != want {
				t.Errorf("%d ids of %d columns: %d rows ahead, want %d", c.ids, c.cols, ahead, want)
			}
		}
	})
}

// TestAheadOfClears has how many rows of a gradient are fetched while as many are set to zero.
func TestAheadOfClears(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct{ cols, halves, others int }{
			{16, 32, 32}, {64, 32, 32}, {65, 31, 32}, {300, 6, 20}, {768, 2, 8}, {2048, 1, 8}, {2049, 1, 7}, {20000, 1, 1}, // others: wideBytes
		} {
			want := c.others
			switch w {
			case byHalves:
				want = c.halves
			case byAVX2:
				if c.cols > 2048 {
					want = 8
				}
			}
			if got := ahead(&Matrix{Rows: 1 << 18, Cols: c.cols, Stride: c.cols}); got != want {
				t.Errorf("%d columns: %d rows, want %d", c.cols, got, want)
			}
		}
	})
}

// TestFewPart has tables that a last-level cache may hold, and larger ones.
func TestFewPart(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct{ rows, cols, want int }{
			{83886, 100, severalIDs}, {83887, 100, 20}, {1 << 15, 256, severalIDs}, {1<<15 + 1, 256, 8}, {50257, 768, 2}, {8000, 3000, 1}, // heldBytes
		} {
			if w != byHalves {
				c.want = severalIDs
			}
			if got := fewPart(&Matrix{Rows: c.rows, Cols: c.cols, Stride: c.cols}); got != c.want {
				t.Errorf("%d x %d: %d rows, want %d", c.rows, c.cols, got, c.want)
			}
		}
	})
}

// TestBagsPrefetched has tables of rows of bags on either side of what is prefetched, of those that are short and others.
func TestBagsPrefetched(t *testing.T) {
	isatest.Tune(t, &tuning.CachedBagBytes, 4*60_000)
	isatest.Tune(t, &tuning.CachedShortBagBytes, 4*30_000)
	isatest.Each(t, func(t *testing.T) {
		for _, c := range []struct{ cols, most int }{{16, 60_000}, {17, 30_000}, {128, 30_000}, {129, 60_000}} {
			if fullWidth() && tuning.NearBytes == 0 || isa.Intel() {
				c.most = 180_000
			}
			for rows := c.most / c.cols; rows <= c.most/c.cols+1; rows++ {
				table, dst := Matrix{Rows: rows, Cols: c.cols, Stride: c.cols, Data: make([]float32, rows*c.cols)}, Matrix{Rows: 1, Cols: c.cols, Stride: c.cols}
				dst.Data = make([]float32, c.cols)
				var a bagArgs
				prepareBags(&a, &dst, &table, []uint32{0})
				if got, want := a.ahead > 0, rows*c.cols > c.most; got != want {
					t.Errorf("%d x %d: prefetched %v, want %v", rows, c.cols, got, want)
				}
			}
		}
	})
}

// TestParts, TestOneByOne and TestEndsPay hold choices to what the figures beside them say.
func TestParts(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			rows, cols int
			by         way
		}{
			{1, 15, 0}, {1, 16, byAVX2}, {2, 16, byAVX2}, {1, 63, byAVX2}, {1, 64, byAVX2 | byAVX512}, {2, 64, byAVX2 | byWhole},
			{1, 32, byAVX2}, {1, 48, byAVX2 | byWhole}, {1, 300, byAVX2 | byHalves}, {2, 47, byAVX2}, {2, 48, byAVX2 | byWhole},
			{2, 65, byAVX2 | byAVX512}, {2, 300, byAVX2 | byAVX512}, {3, 64, 0}, {3, 65, byAVX2}, {3, 128, byAVX2}, {3, 129, byAVX2 | byWhole},
			{4, 511, byAVX2 | byWhole}, {5, 511, byAVX2}, {4, 512, byAVX2 | byAVX512}, {5, 512, byAVX2 | byHalves}, {64, 768, byAVX2 | byHalves},
		} {
			for _, lines := range []bool{false, true} {
				isatest.Tune(t, &tuning.InOrderLines, lines)
				by := c.by
				if lines {
					by &^= byWhole
				}
				if got, want := goesInParts(c.rows, c.cols), by&w != 0; got != want {
					t.Errorf("%d rows of %d, lines %v: %v, want %v", c.rows, c.cols, lines, got, want)
				}
			}
		}
	})
}

// TestByBag has many bags in one call of assembly: those of one id in whole vectors where AVX-512 is in halves, and with AVX2 those of one id,
// and of up to ten of 128 columns and less.
func TestByBag(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			ids, bags, cols int
			by              way
		}{
			{9, 9, 64, byAVX2 | byAVX512}, {8, 9, 64, byAVX2 | byAVX512}, {10, 9, 64, byAVX2 | byWhole}, {9, 9, 63, byAVX2 | byWhole},
			{9, 9, 65, byAVX2 | byWhole}, {500, 10, 30, byWhole}, {90, 9, 128, byAVX2 | byWhole}, {91, 9, 128, byWhole}, {10, 9, 129, byWhole},
			{9, 9, 129, byAVX2 | byWhole},
		} {
			if got, want := goesByBag(c.ids, c.bags, c.cols), c.by&w != 0; got != want {
				t.Errorf("%d ids in %d bags, %d columns: %v, want %v", c.ids, c.bags, c.cols, got, want)
			}
		}
	})
}

// TestByRow has a row of a go over the rows of the table one by one: whole vectors where AVX-512 is in halves.
func TestByRow(t *testing.T) {
	var id uint32
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			cols, n, ahead, readable int
			ids                      bool
			by                       way
		}{
			{64, 8, 4, 100, true, byAVX512}, {63, 8, 4, 100, true, byWhole}, {65, 8, 4, 100, true, byWhole},
			{64, 7, 4, 100, true, 0}, {64, 8, 0, 100, true, 0}, {64, 8, 4, 4, true, 0}, {64, 8, 4, 5, true, byAVX512}, {64, 8, 4, 100, false, 0},
		} {
			d := dotArgs{cols: c.cols, n: c.n, ahead: c.ahead, readable: c.readable}
			if c.ids {
				d.ids = unsafe.Pointer(&id)
			}
			if got, want := d.byRow(), c.by&w != 0; got != want {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
	})
}

func TestOneByOne(t *testing.T) {
	for _, lines := range []bool{false, true} {
		was := tuning.InOrderLines
		t.Cleanup(func() { tuning.InOrderLines = was })
		tuning.InOrderLines = lines
		for _, c := range []struct {
			rows, cols int
			want       bool
		}{
			{1, 16, true}, {2, 128, false}, {3, 129, lines}, {2, 1536, lines}, {2, 1537, false}, {4, 255, false}, {4, 256, lines},
			{5, 307, lines}, {6, 256, true}, {4, 384, true},
		} {
			if got := goesOneByOne(c.rows, c.cols); got != c.want {
				t.Errorf("lines %v, %d rows of %d: %v, want %v", lines, c.rows, c.cols, got, c.want)
			}
		}
	}
}

func TestEndsPay(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			k           op
			cols, ahead int
			by          way
		}{
			{opGather, 129, 8, 0}, {opScatterAdd, 128, 0, byAVX512}, {opScatterAdd, 100, 8, byAVX512}, {opScatterAdd, 100, 0, byHalves},
			{opEmbed, 96, 0, byAVX512}, {opEmbed, 95, 0, byHalves}, {opEmbed, 97, 0, byAVX512},
			{opGather, 63, 0, byAVX512}, {opGather, 65, 0, byHalves}, {opGather, 79, 0, byHalves}, {opGather, 81, 0, byAVX512},
		} {
			a := rowArgs{cols: c.cols, ahead: c.ahead}
			if got, want := a.endsPay(c.k), c.by&w != 0; got != want && w != byAVX2 {
				t.Errorf("kernel %d, %d columns, %d ahead: %v, want %v", c.k, c.cols, c.ahead, got, want)
			}
		}
	})
}

// TestHasEnds has where AVX-512 in halves does narrow rows by END_ROWS, which others do whatever they are, and AVX2 by vectors that overlap.
func TestHasEnds(t *testing.T) {
	suppose(t, func(t *testing.T, w way) {
		for _, c := range []struct {
			cols, rows, ahead int
			window            uintptr
			by                way
		}{
			{48, 1 << 20, 8, 0, byAVX512}, {49, 1 << 20, 8, 0, byWhole}, {49, 1 << 20, 0, 0, byAVX512}, {48, 1 << 20, 8, 64, byWhole},
			{63, 66_000, 8, 0, byAVX512}, {63, 67_000, 8, 0, byWhole}, // narrowBytes
			{64, 32_768, 8, 0, byAVX512}, {64, 32_769, 8, 0, byWhole}, // closeBytes
			{64, 1 << 20, 0, 0, byAVX512}, {65, 8, 0, 0, byWhole}, // narrowColumns
		} {
			if got, want := hasEnds(&Matrix{Rows: c.rows, Cols: c.cols, Stride: c.cols}, c.ahead, c.window), c.by&w != 0; got != want {
				t.Errorf("%+v: %v, want %v", c, got, want)
			}
		}
		if got, want := overlaps(), w == byAVX2; got != want {
			t.Errorf("vectors of AVX2 overlap: %v, want %v", got, want)
		}
	})
}

func TestLarge(t *testing.T) {
	isatest.Tune(t, &tuning.WideBytes, 4*1000)
	for rows, want := range map[uint64]bool{10: false, 11: true} {
		if a := (rowArgs{limit: rows, tableStride: 4 * 100}); a.large() != want {
			t.Errorf("%d rows of 100: %v, want %v", rows, a.large(), want)
		}
	}
}

func TestCloseBy(t *testing.T) {
	for _, c := range []struct {
		places []int
		want   bool
	}{
		{[]int{7}, true}, {[]int{0, 5}, true}, {[]int{0, 6}, false}, {[]int{3, 2}, false},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 40, 1000}, true}, {[]int{0, 1, 2, 3, 4, 5, 6, 7, 41}, false},
	} {
		if got := closeBy(c.places); got != c.want {
			t.Errorf("%v: %v, want %v", c.places, got, c.want)
		}
	}
}
