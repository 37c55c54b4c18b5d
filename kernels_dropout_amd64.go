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

// dropsSums reports whether dropSums has a kernel of its own for rows of so many columns, as AVX2 has. Times of that over those of pieces
// that are summed and then dropped, of layers with learned positions on a Zen 3, two versions in random order, medians of 15:
//
//	 1,000 x 64        1 id    0.92      50,257 x 64      8,192        0.88      50,257 x 768     128          0.74
//	 1,000 x 768       1       0.92     500,000 x 64      8,192        0.85      50,257 x 768   2,048          0.74
//	 1,000 x 768      64       0.70      50,257 x 100    65,536        0.78      50,257 x 768   8,192, Zipf    0.76
//	10,000 x 64    2,048       0.84      50,257 x 256     8,192, Zipf  0.89      49,990 x 772   8,192          0.87
//	                                     50,257 x 300    16,384        0.83       9,000 x 4,096   512          0.71
func dropsSums(cols int) bool { return isa.Active() == isa.AVX2 && cols <= chunkElements }

// sumRows is how many rows dropSums finds at a time.
const sumRows = 64

// dropSums is forward.DropSums.
func dropSums(r *forward.Rows, mask *Mask) (done int) {
	if !dropsSums(r.Dst.Cols) || mask.Threshold() == 0 {
		return dropSumsInSteps(r, mask)
	}
	n := r.Dst.Rows + max(r.More, 0)
	if r.Wide {
		return dropSumsAVX2(r, unsafe.Slice((*uint64)(r.IDs), n), mask)
	}
	return dropSumsAVX2(r, unsafe.Slice((*uint32)(r.IDs), n), mask)
}

// dropSumsAVX2 has the assembly find rows by numbers that are checked here, as they are read, and prefetch those that come dropoutAhead
// rows later: with 2, 6, 8 and 16 nothing can be told from noise.
func dropSumsAVX2[I uint32 | uint64](r *forward.Rows, ids []I, mask *Mask) (done int) {
	race.WriteMatrix(&r.Dst)
	race.Read(unsafe.SliceData(ids), len(ids))
	var a dropoutArgs
	a.prepare(&r.Dst, &r.Table, mask)
	a.src, a.positions, a.posStride = &r.Table.Data[0], &r.Positions.Data[0], uintptr(r.Positions.Stride)*4
	a.next, a.nextStride, a.wide = a.src, a.srcStride, 1
	a.numbers, a.rowScale = &rowNumbers[0], r.Scale
	a.stream = r.Stream && r.Dst.Cols >= streamColumns && streamsBlocks(&r.Dst)
	a.cols, a.block = r.Dst.Cols, uint32(mask.Col/16)
	ahead := dropoutAhead
	if cached(&r.Table) {
		ahead = 0
	}
	var places [sumRows + dropoutAhead]int
	var spots [sumRows]int
	spot := 0
	for rows := min(sumRows, dropoutRows(a.cols)); done < r.Dst.Rows; done += a.rows {
		a.rows = min(rows, r.Dst.Rows-done)
		for i, id := range ids[done:][:a.rows] {
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
	}
	return done
}

// do does one chunk. It is not inlined, since the check of the stack at its start is where a loop over chunks can be
// preempted.
//
//go:noinline
func (a *dropoutArgs) do() {
	switch {
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
