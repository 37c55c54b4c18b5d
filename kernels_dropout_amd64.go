//go:build !purego

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
)

// streamsBlocks reports whether dropout can write whole blocks of dst past the caches.
func streamsBlocks(dst *Matrix) bool {
	return dst.Stride%16 == 0 && uintptr(unsafe.Pointer(&dst.Data[0]))%64 == 0
}

// avx512 reports whether elements are to be dropped with AVX-512. Of rows that are written past the caches AVX2 has smaller blocks.
func (a *dropoutArgs) avx512() bool {
	return isa.Active() == isa.AVX512 && (!a.stream || a.cols >= dropoutBlock)
}

// dropsSums reports whether dropSums has a kernel of its own for rows of so many columns. Times of that over those of pieces that are summed and
// then dropped, of layers with learned positions on a Zen 3 with AVX2 and on a Zen 5 with AVX-512, two versions in random order, medians of 15 and
// the middle of two of 61:
//
//	 1,000 x 64       1 id  0.92 0.94    50,257 x 64     8,192        0.88 0.76    50,257 x 768     128        0.74 0.83
//	 1,000 x 768      1     0.92 0.90   500,000 x 64     8,192        0.85 1.00    50,257 x 768   2,048        0.74 0.82
//	 1,000 x 768     64     0.70 0.67    50,257 x 100   65,536        0.78 0.79    50,257 x 768   8,192, Zipf  0.76 0.79
//	10,000 x 64   2,048     0.84 0.75    50,257 x 256    8,192, Zipf  0.89 0.71    49,990 x 772   8,192        0.87 0.75
//	                                     50,257 x 300   16,384        0.83 0.75     9,000 x 4,096   512        0.71 0.91
//
// The former all had rows fetched 4 ahead, the latter as many as below. Shorter rows than sumColumns gain less with AVX-512, of 1,000 x 8 to
// 10,000 x 32 0.76 to 0.95 of the time, and in no cache lose: of 1,000,000 x 8 to x 48 0.98 to 1.75. On a Xeon it was not measured, nor AVX-512 in
// halves.
func dropsSums(cols int) bool {
	return isa.Active() != isa.Portable && cols <= chunkElements && (isa.Active() != isa.AVX512 || cols >= sumColumns)
}

const sumColumns = 64

// sumRows is how many rows dropSums finds at a time.
const sumRows = 64

// Rows are fetched sumAheadColumns/cols ahead, at least dropoutAhead and at most sumAhead. On a Zen 5, times of 8 and 16 over those of 4, 8,192 ids,
// AVX-512 and AVX2, medians of 31:
//
//	   50,257 x 64   0.91 0.73  0.86 0.78    1,000,000 x 96   0.95 0.96  1.00 1.02    100,000 x 192  0.97 1.04  1.00 1.01
//	  500,000 x 64   0.90 0.88  0.86 0.91    1,000,000 x 128  1.08 0.99  0.99 0.99     50,257 x 256  0.94 1.15  1.02 1.01
//	1,000,000 x 80   1.01 1.01  0.99 0.98
//
// Of 1,000,000 x 8 and x 32 by AVX2 16 have 0.65 and 0.76. On a Zen 3 nothing can be told of long rows with 2, 6, 8 and 16.
const (
	sumAhead        = 16
	sumAheadColumns = 1024
)

// dropSums is forward.DropSums.
func dropSums(r *forward.Rows, mask *Mask) (done int) {
	if !dropsSums(r.Dst.Cols) || mask.Threshold() == 0 {
		return dropSumsInSteps(r, mask)
	}
	n := r.Dst.Rows + max(r.More, 0)
	if r.Wide {
		return dropSumsOf(r, unsafe.Slice((*uint64)(r.IDs), n), mask)
	}
	return dropSumsOf(r, unsafe.Slice((*uint32)(r.IDs), n), mask)
}

// dropSumsOf has the assembly find rows by numbers that are checked here, as they are read, and prefetch those that come some rows later.
func dropSumsOf[I uint32 | uint64](r *forward.Rows, ids []I, mask *Mask) (done int) {
	race.WriteMatrix(&r.Dst)
	race.Read(unsafe.SliceData(ids), len(ids))
	var a dropoutArgs
	a.prepare(&r.Dst, &r.Table, mask)
	a.src, a.positions, a.posStride = &r.Table.Data[0], &r.Positions.Data[0], uintptr(r.Positions.Stride)*4
	a.next, a.nextStride, a.wide = a.src, a.srcStride, 1
	a.numbers, a.rowScale = &rowNumbers[0], r.Scale
	a.stream = r.Stream && r.Dst.Cols >= streamColumns && streamsBlocks(&r.Dst)
	a.cols, a.block = r.Dst.Cols, uint32(mask.Col/16)
	ahead := min(max(dropoutAhead, sumAheadColumns/a.cols), sumAhead)
	if cached(&r.Table) {
		ahead = 0
	}
	var places [sumRows + sumAhead]int
	var spots [sumRows]int
	spot := 0
	for rows := min(sumRows, dropoutRows(a.cols)); done < r.Dst.Rows; done += a.rows {
		n := min(rows, r.Dst.Rows-done)
		a.rows = n
		for i, id := range ids[done:][:n] {
			place := spot + r.Start
			if r.At != nil {
				place = r.At[done+i]
			} else if spot++; spot == r.Seq {
				spot = 0
			}
			if uint64(id) >= uint64(r.Table.Rows) || uint(place) >= uint(r.Positions.Rows) {
				a.rows = i
				break
			}
			places[i], spots[i] = int(id), place
		}
		if a.rows == 0 {
			break
		}
		race.ReadRows(&r.Table, places[:a.rows])
		race.ReadRows(&r.Positions, spots[:a.rows])
		if a.ids = nil; ahead > 0 {
			for i := range ahead { // which are only fetched: once more the last where there are none
				places[a.rows+i] = int(ids[min(done+a.rows+i, len(ids)-1)])
			}
			a.ids, a.fetched = unsafe.Pointer(&places[ahead]), 0
		}
		a.places, a.spots = &places[0], &spots[0]
		a.dst, a.row = &r.Dst.Data[done*r.Dst.Stride], uint32(mask.Row+done)
		a.do()
		if a.rows < n {
			return done + a.rows
		}
	}
	return done
}

// do does one chunk. It is not inlined, since the check of the stack at its start is where a loop over chunks can be
// preempted.
//
//go:noinline
func (a *dropoutArgs) do() {
	switch {
	case a.places != nil && a.avx512():
		dropoutSumsAVX512(a)
	case a.places != nil:
		dropoutSumsAVX2(a)
	case a.avx512():
		dropoutAVX512(a)
	default:
		dropoutAVX2(a)
	}
}

//go:noescape
func dropoutAVX2(a *dropoutArgs)

//go:noescape
func dropoutSumsAVX2(a *dropoutArgs)

//go:noescape
func dropoutAVX512(a *dropoutArgs)

//go:noescape
func dropoutSumsAVX512(a *dropoutArgs)
