//go:build !purego

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
	"github.com/viterin/vek/vek32"
)

// Where AVX-512 pays: ns per row, medians of interleaved rounds.
//
//   - Rows of up to shortColumns are done with vectors of AVX2 that overlap (SHORT_ROWS in kernels_amd64.s).
//   - Updates of rows narrower than wideColumns are better off with parts of AVX2's vectors than with masks, as
//     kernels_update_amd64.go shows.
//   - Gathers from tables of up to tuning.WideBytes are no faster, nor is most of what else is done to rows of such tables that
//     are no multiple of a vector, nor are copies of rows of more than wholeBytes, unless they come abreast: on a Zen 4,
//     125,000 x 4,096 1423 with AVX2 and 1556 with AVX-512.
//   - Rows of more than shortColumns and up to endColumns have END_ROWS where the processor does not do vectors in halves, which
//     tuning.Halves is about, and where that is quicker, which endsPay knows; and narrow ones where it does, which hasEnds knows.
//   - Other rows of 33 to 63 columns that are prefetched have blocks of AVX2 only, which mixedBytes is about. On a Zen 4, gather and
//     scatter-add of 1,000,000 x 52 48.2 and 18.5, 56.2 and 21.8, x 60 30.8 and 21.5, 36.4 and 17.7 with AVX-512 and with AVX2.
//   - Of 65 to 256 columns those with a short tail have AVX2 where the processor does vectors in halves: see shortTail.
const (
	shortColumns = 32
	wideColumns  = 32
)

// mixedBytes is how long the blocks of a row in front of the last may be for their vectors to be done in the order 2, 0, 3, 1
// (MIXED in rows_amd64.h), with AVX2 lines 1, 0, 1, 0, and not from left to right. Rows of a few lines that are prefetched seem
// to be taken for streams, of which the processor fetches more, from memory, and to no use: it helps as much to prefetch what
// is behind the row too (beyondBytes), and of the orders of four lines, a gather of 1,000,000 x 64 took 14.6 to 17.7 ns per row
// in the twelve that end with the second or third, and 16 to 27 in those that end with the first or last. On a Zen 4 with
// AVX-512, 8,192 uniform ids (4,096 from 200 columns on), ns per row as it was, with AVX-512 for 33 to 63 columns too, nothing
// beyond the row and 64 columns line by line, and as it was then, when 33 to 63 columns had AVX2 alone; medians of 31 interleaved rounds:
//
//	table             gather       scatter-add  embed           table             gather       scatter-add  embed
//	1,000,000 x 26    18.1  11.4   17.4  10.9   20.2  11.9      1,000,000 x 64    20.0  13.0   25.0  13.4   23.3  15.9
//	1,000,000 x 33    32.1  10.9   36.7  11.0   42.0  11.7        100,000 x 64    16.2  10.8   15.9  10.8   19.1  13.6
//	1,000,000 x 40    27.1  11.9   29.1  10.1   35.0  10.7      1,000,000 x 100   49.1  42.0   60.4  40.6   53.7  38.7
//	1,000,000 x 48    25.2  13.7   24.7  14.4   22.9  15.4      1,000,000 x 128   47.5  40.6   54.6  40.9   53.6  47.5
//	1,000,000 x 52    48.2  18.5   56.2  21.8   58.6  22.5        200,000 x 200   63.3  62.8   63.2  58.6   71.4  72.6
//	1,000,000 x 60    30.8  21.5   36.4  17.7   34.7  20.8      1,000,000 x 256   79.2  79.9   84.5  86.2   89.9  90.6
//
// and with AVX2 x 40 17.8 12.9, 19.0 13.8, 18.4 14.2; x 64 25.3 15.1, 28.0 18.3, 26.7 18.3; x 128 57.5 58.6, 69.4 70.4, 64.6
// 67.0. Tables of up to 6 MB see no difference. Longer rows lose: where it was so for all, scatter-adds of 50,257 x 768 took up
// to 1.12 times as long, whose rows in their order are a stream.
//
// Processors of Intel's have blocks of COLUMNS from left to right, in a loop: see tuning.LeftToRight.
//
// Nor do such rows go in a loop with AVX-512 where rows are prefetched (UPDATE_COLUMNS in kernels_update_amd64.s says why; with
// AVX2 it takes up to 1.1 times as long). On a Zen 5 with linear rows left alone, in a loop and so: 200,000 x 200 41.1 and
// 36.0, 42.0 and 37.3, 45.9 and 43.4, 300,000 x 256 50.4 and 45.6, 49.4 and 45.2, 58.1 and 53.4; but x 512 102 and 103, 102 and
// 95, 104 and 114, 50,257 x 768 136 and 154, 139 and 138, 151 and 152.
//
//lint:ignore U1000 for the assembly alone
const mixedBytes = 768 // three blocks of AVX-512, which does one more (AHEAD_FOUR)

// noRows is what a row that stands alone has for arguments, where the assembly is that of rows.
//
//lint:ignore U1000 for the assembly alone
var noRows = rowArgs{leftToRight: tuning.Halves}

// lanes is for sums of lanes with AVX2: 8 lanes to keep and 8 not to, and the numbers of 16.
//
//lint:ignore U1000 for the assembly alone
var lanes = [32]uint32{
	^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0),
	0, 0, 0, 0, 0, 0, 0, 0,
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
}

// byLines: the assembly can prefetch line by line.
const byLines = true

// streams reports whether the linear rows can be written past the caches.
func streams(linear *Matrix) bool {
	return linear.Cols%8 == 0 && linear.Stride%8 == 0 && uintptr(unsafe.Pointer(&linear.Data[0]))%32 == 0
}

// streamsLines reports whether kernel k is to write them by vectors of AVX-512, each a line, in blocks. As elsewhere, copies of
// rows of more than wholeBytes are not, unless they come abreast or AVX-512 is to write what is uneven: on a Zen 5, 50,257 x 4,096
// 819 with AVX2 and 867 with AVX-512. UNEVEN would do these rows too, but for 1.00 to 1.06 of the time.
func (a *rowArgs) streamsLines(k op) bool {
	return fullWidth() && a.cols >= lineBytes/4 && a.cols%16 == 0 && (uintptr(unsafe.Pointer(a.linear))|a.linearStride)%64 == 0 &&
		(k != opGather || a.cols <= wholeBytes/4 || a.abreast || tuning.StreamUneven)
}

// avx512 reports whether kernel k is to run on AVX-512.
func (a *rowArgs) avx512(k op) bool {
	return isa.Active() == isa.AVX512 && a.cols > shortColumns && (a.ends && a.endsPay(k) || a.wide512() && !a.shortTail() &&
		(a.large() || a.abreast || k >= opScatterAdd && a.cols%16 == 0) && (k != opGather || a.cols <= wholeBytes/4 || a.abreast))
}

// shortTail reports whether rows are better off with the parts of AVX2's vectors, since a masked vector reads no more than half of what it could:
// in no cache or the third level it waits for a line of which it reads nothing. On a Zen 4, times with AVX2 over those with AVX-512, of 1,000,000
// rows (from 130 columns on 300,000, of updates 500,000 and 300,000) and 8,192 uniform ids, medians of 11 and 15 interleaved rounds, with tails of
// 1 to 8 columns and of 9 to 15:
//
//	columns      66    72    84    88    100   104   116   120   130   150   200      76    90    94    124   190
//	gather       0.75  0.81  0.81  0.78  0.89  1.06  0.83  0.86  0.94  0.95  1.00     0.79  1.02  1.13  0.96  1.10
//	scatter-add  0.74  0.78  0.76  0.81  0.81  0.93  0.93  0.99  0.78  1.00  0.92     0.96  1.06  1.13  1.22  1.11
//	embed        0.67  0.76  0.71  0.78  0.78  0.92  0.81  0.82  0.59  0.85  0.75     0.97  0.98  1.07  1.11  1.04
//	SGD          0.70  0.79  0.75        0.80  0.92  0.89  0.97  0.83  0.99  0.90     1.09  1.02
//	Adagrad      0.95  0.81  0.97        0.81  1.07  0.86  1.03  0.86  1.00  0.92     0.97  1.05
//	row-wise     0.59  0.74  0.75        0.85  1.00  0.82  0.96  0.87  1.08  0.91     0.98  0.90
//	Adam         1.22  1.18  1.23        0.97  1.09  0.94  1.01  1.13  1.18  1.11     0.91  1.16
//
// and of 30,000 x 100 0.75, 0.83, 0.87, 0.70, 0.88, 0.83 and 0.94; of 1,000,000 x 80, which are whole vectors, 1.3, 1.7 and 1.3. Rows of 260 and 280
// columns have 0.93 to 1.07, of 1,000 0.94 to 1.12. Windows were not measured.
func (a *rowArgs) shortTail() bool {
	return halves() && a.ahead != 0 && a.windowAhead == 0 && a.large() && a.cols <= tailColumns && (a.cols-1)%16 < 8
}

const tailColumns = 256 // up to which tails count

// endsPay reports whether END_ROWS is quicker than AVX2. Of a table in cache it may not be where vectors begin within a line. On a
// Zen 5, 1,000 rows, ns per row with AVX2 and so:
//
//	columns          33          40          50          60          72          88          100         120
//	gather       2.07 2.18   1.89 1.89   2.99 2.99   3.59 3.18   3.32 3.61   4.47 4.27   6.61 5.72   7.73 6.40
//	scatter-add  2.58 4.16   2.39 3.33   3.63 5.10   4.43 5.16   4.32 5.46   5.42 6.11   7.48 8.19   8.27 8.35
//	embed        2.96 3.51   2.90 3.19   4.30 4.65   5.19 4.97   5.01 5.68   6.42 6.55   9.61 8.82   11.0 9.42
//
// and for all three 48 2.33 1.91, 3.06 2.46, 3.30 2.94, 96 5.87 4.52, 5.54 5.17, 6.46 6.26.
func (a *rowArgs) endsPay(k op) bool {
	switch {
	case a.cols > endColumns:
		return false
	case halves(): // see hasEnds
		return true
	case a.ahead != 0 || a.cols%16 == 0:
		return true
	case k == opScatterAdd:
		return false
	case k == opEmbed:
		return a.cols > 96
	}
	return a.cols <= 64 || a.cols > 80
}

// maxima512 reports whether the terms of maxima are better off with AVX-512. On a Xeon, ns per row in cache with AVX2 and so:
//
//	columns  33    40    60    64    88    96    100   128   160   200   256   300   700   768
//	         5.77  5.09  9.40  7.38  11.1  13.2  16.1  18.6  23.6  30.2  40.8  50.0  122   132
//	         9.75  9.12  10.1  6.55  12.4  10.3  14.1  14.6  17.0  37.1  38.1  52.2  132   118
//
// So rows of whole vectors are from maximaColumns on, and others from maximaEnds to endColumns.
func (a *rowArgs) maxima512() bool {
	return isa.Active() == isa.AVX512 && a.cols >= maximaColumns && (a.cols%16 == 0 || a.cols >= maximaEnds && a.cols <= endColumns)
}

const (
	maximaColumns = 64
	maximaEnds    = 96
)

// large reports whether the table is.
func (a *rowArgs) large() bool { return a.limit*uint64(a.tableStride) > uint64(tuning.WideBytes) }

// wide512 reports whether the rows are wide enough for AVX-512.
func (a *rowArgs) wide512() bool {
	return isa.Active() == isa.AVX512 && a.cols >= wideColumns && (a.ahead == 0 || a.cols <= wideColumns || a.cols >= lineBytes/4)
}

// linearAhead is how many bytes ahead rows in their order are prefetched, where rows by ids are, whether they are read or
// written: processors do so by themselves, but begin anew with each page of 4 KiB. Loops in C gained as much with 3 KiB, and
// some less with 1 or 4. On a Zen 4 with AVX-512, ns per row without and with it, uniform ids, medians of 21 interleaved
// rounds, where nothing is in a cache, and where the rows have just been written:
//
//	table, ids                 gather               scatter-add          embed
//	50,257 x 768     2,048     674 493    301 270   546 468    289 302   641 504    373 349
//	50,257 x 768       128     840 720    315 313   630 560    275 276  1018 969    273 268
//	50,257 x 1,024   2,048     749 694    384 361   700 691    443 440   685 626    539 569
//	100,000 x 300    4,096     204 177   94.5 92.2  223 227    105 102   212 197    112 114
//	1,000,000 x 128  8,192     105 88.1  49.5 52.0  111 100   42.8 45.9  137 115   46.6 43.7
//	50,257 x 4,096     512    1901 1933  1310 1355 2102 1941  1374 1439 2528 2375  1587 1558
//
// Where they have just been written, another run had 13 percent more for Embed of 128 rows. OVERLAP_ROWS goes without: a Zen 3,
// which has AVX2 alone, gains nothing by it with 64 and 128 columns. Where AVX-512 is not in halves, whatever comes line by line does, updates
// too, but for what tuning.WrittenBytes is about: a Zen 5 with it and without, 2,048 ids of 50,257 x 768 151 and 136, 151 and 139, 163 and 151, 4,096
// of 300,000 x 256 52.5 and 50.4, 53.9 and 49.4, 61.8 and 58.1, 65,536 of 1,000,000 x 32 3.89 and 3.69, 5.24 and 4.70, 5.41 and
// 4.51.
//
//lint:ignore U1000 for the assembly alone
const linearAhead = 2 << 10

// windowAhead returns how many bytes ahead to prefetch linear rows with something between them, as windows of longer ones
// have, of which linearAhead would prefetch that: as many whole rows as linearAhead takes, or 0 where rows are short, long, or
// next to each other. It has kernels of its own: counting AX along for all rows cost the others 3 percent, reading the number
// of columns from memory up to 4. ns per row with linearAhead and with this, AVX-512:
//
//	windows, rows of the table        gather        scatter-add
//	26 of 64, 1,000,000               53 and 34     48 and 38
//	8 of 128, 1,000,000               108 and 86    125 and 109
//	4 of 256, 200,000                 182 and 148   209 and 164
//	2 of 384, 50,257                  292 and 256   304 and 249
//	2 of 768, 50,257                  491 and 391   474 and 359
//
// Rows of up to shortColumns do without: 16 windows of 32, 1,000,000, gather 9.5 so and 8.6 by SHORT_ROWS, scatter-add 10.0 and
// 8.6. So do all where AVX-512 is not in halves, as other linear rows do there: on a Zen 5 26 of 64 12.6 so and 7.9, 13.8 and 8.7,
// 8 of 128 32.6 and 28.6, 30.4 and 21.4, 2 of 200 42.6 and 37.0, 46.8 and 38.7, 2 of 384 76.6 and 69.9, 78.8 and 69.4. The
// dense gradient of two workers who take half of the columns each, 50,257 x 768, 2,048 ids: 211 and 187; 16,384: 297 and
// 239; 1,000,000 x 128, 65,536: 44 and 36.
func windowAhead(linear *Matrix) uintptr {
	bytes := linear.Cols * 4
	if fullWidth() || linear.Cols == linear.Stride || linear.Cols <= shortColumns || bytes > 2*linearAhead {
		return 0
	}
	return uintptr((linearAhead + bytes - 1) / bytes * linear.Stride * 4)
}

// do runs kernel k on one chunk. It is not inlined, since the check of the stack at its start is where a loop over
// chunks can be preempted.
//
//go:noinline
func (a *rowArgs) do(k op) int {
	switch {
	case k == opBagMaxBackward && a.maxima512():
		return bagMaxBackwardAVX512(a)
	case k == opBagMaxBackward:
		return bagMaxBackwardAVX2(a)
	}
	if a.stream && a.streamsLines(k) {
		switch k {
		case opGather:
			return gatherStreamAVX512(a)
		case opGatherScaled:
			return gatherScaledStreamAVX512(a)
		case opGatherSum:
			return gatherSumStreamAVX512(a)
		case opEmbed:
			return embedStreamAVX512(a)
		}
	}
	uneven := a.stream && fullWidth() && tuning.StreamUneven
	if uneven && a.cols >= lineBytes/4 { // fewer are the end of a row that is more than a chunk
		switch k {
		case opGather:
			return gatherUnevenAVX512(a)
		case opGatherScaled:
			return gatherScaledUnevenAVX512(a)
		case opGatherSum:
			return gatherSumUnevenAVX512(a)
		case opEmbed:
			return embedUnevenAVX512(a)
		}
	}
	if a.stream && !uneven {
		switch k {
		case opGather:
			return gatherStreamAVX2(a)
		case opGatherScaled:
			return gatherScaledStreamAVX2(a)
		case opGatherSum:
			return gatherSumStreamAVX2(a)
		case opEmbed:
			return embedStreamAVX2(a)
		}
	}
	if a.windowAhead != 0 {
		switch {
		case k == opGather && a.avx512(k):
			return gatherWindowAVX512(a)
		case k == opGather:
			return gatherWindowAVX2(a)
		case k == opScatterAdd && a.avx512(k):
			return scatterAddWindowAVX512(a)
		case k == opScatterAdd:
			return scatterAddWindowAVX2(a)
		}
	}
	if a.avx512(k) {
		switch k {
		case opGather:
			return gatherAVX512(a)
		case opGatherScaled:
			return gatherScaledAVX512(a)
		case opGatherSum:
			return gatherSumAVX512(a)
		case opScatterAdd:
			return scatterAddAVX512(a)
		case opEmbed:
			return embedAVX512(a)
		}
	}
	switch k {
	case opGather:
		return gatherAVX2(a)
	case opGatherScaled:
		return gatherScaledAVX2(a)
	case opGatherSum:
		return gatherSumAVX2(a)
	case opScatterAdd:
		return scatterAddAVX2(a)
	}
	return embedAVX2(a)
}

//go:noinline
func (a *batchArgs) do() {
	if isa.Active() == isa.AVX512 {
		addBatchesAVX512(a)
	} else {
		addBatchesAVX2(a)
	}
}

// addScaled adds to elements, of which there are some, as many others. It is not inlined, for the reason that do is not; each
// call more is felt by 512 elements, a twentieth of whose time it takes.
//
//go:noinline
func addScaled(dst []float32, alpha float32, src []float32) {
	if isa.Active() == isa.Portable {
		kernels.AddScaled(dst, alpha, src)
		return
	}
	if len(dst) > chunkElements {
		addScaledChunks(dst, alpha, src)
		return
	}
	race.Write(unsafe.SliceData(dst), len(dst))
	race.Read(unsafe.SliceData(src), len(src))
	if adds512(len(dst)) {
		addScaledAVX512(&dst[0], &src[0], len(dst), alpha)
	} else {
		addScaledAVX2(&dst[0], &src[0], len(dst), alpha)
	}
}

// adds512 reports whether so many elements are added to with AVX-512: where it is in halves, not up to halfAdds. On a Zen 4, times of AVX2 over those
// of AVX-512, from left to right the former alone, the same elements over and over, a long dst or src of which each call has the next ones, and both;
// medians of two processes of 21 interleaved rounds:
//
//	elements  64         128        192        256        512        768        1,024      2,048      3,072      4,096
//	same      1.06 1.03  1.05 1.04  0.99 0.99  0.95 0.95  0.95 0.95  0.83 1.04  0.93 0.93  0.91 0.96  0.89 0.90  1.00 1.02
//	dst       1.00 0.96  1.00 1.00  1.19 1.08  1.02 0.90  0.97 0.97  0.93 1.00  0.98 0.92  0.95 0.93  0.97 0.93  0.86 1.01
//	src       1.01 1.02  0.99 0.97  0.89 0.90  0.91 0.99  0.82 0.91  0.98 0.87  0.84 0.98  0.96 0.93  1.05 1.15  1.01 1.00
//	both      0.73 0.73  0.76 0.76  0.76 0.76  0.81 0.80  0.88 0.88  0.86 0.87  0.88 0.84  0.88 0.88  0.89 0.87  0.96 0.91
//
// and of 4,096 in the first level, beside C, 1.10 to 1.14. Longer ones are memory's: 0.9 to 1.1.
func adds512(n int) bool { return fullWidth() || halves() && n > halfAdds }

const halfAdds = 2 << 10

// scaleRow sets dst to scale times src, both no more than a chunk and not empty; they may be the same. It is not inlined, likewise.
//
//go:noinline
func scaleRow(dst, src []float32, scale float32) {
	race.Write(unsafe.SliceData(dst), len(dst))
	race.Read(unsafe.SliceData(src), len(src))
	if isa.Active() == isa.AVX512 {
		scaleRowAVX512(&dst[0], &src[0], len(dst), scale)
	} else {
		scaleRowAVX2(&dst[0], &src[0], len(dst), scale)
	}
}

// embedRow sets dst to scale times src plus the beginning of positions, likewise.
//
//go:noinline
func embedRow(dst, src []float32, scale float32, positions []float32) {
	race.Write(unsafe.SliceData(dst), len(dst))
	race.Read(unsafe.SliceData(src), len(src))
	race.Read(unsafe.SliceData(positions), len(dst))
	if isa.Active() == isa.AVX512 {
		embedRowAVX512(&dst[0], &src[0], &positions[0], len(dst), scale)
	} else {
		embedRowAVX2(&dst[0], &src[0], &positions[0], len(dst), scale)
	}
}

func add(dst, src []float32) {
	if isa.Active() == isa.Portable || &dst[0] == &src[0] { // vek refuses a vector added to itself
		kernels.Add(dst, src)
		return
	}
	race.Write(unsafe.SliceData(dst), len(dst))
	race.Read(unsafe.SliceData(src), len(src))
	for len(dst) > chunkElements {
		addChunk(dst[:chunkElements], src[:chunkElements])
		dst, src = dst[chunkElements:], src[chunkElements:]
	}
	addChunk(dst, src)
}

//go:noinline
func addChunk(dst, src []float32) { vek32.Add_Inplace(dst, src) }

func scale(dst []float32, alpha float32) {
	if isa.Active() == isa.Portable {
		kernels.Scale(dst, alpha)
		return
	}
	race.Write(unsafe.SliceData(dst), len(dst))
	for len(dst) > chunkElements {
		scaleChunk(dst[:chunkElements], alpha)
		dst = dst[chunkElements:]
	}
	scaleChunk(dst, alpha)
}

//go:noinline
func scaleChunk(dst []float32, alpha float32) { vek32.MulNumber_Inplace(dst, alpha) }

//go:noescape
func gatherAVX2(a *rowArgs) (done int)

//go:noescape
func gatherWindowAVX2(a *rowArgs) (done int)

//go:noescape
func gatherScaledAVX2(a *rowArgs) (done int)

//go:noescape
func gatherSumAVX2(a *rowArgs) (done int)

//go:noescape
func scatterAddAVX2(a *rowArgs) (done int)

//go:noescape
func scatterAddWindowAVX2(a *rowArgs) (done int)

//go:noescape
func embedAVX2(a *rowArgs) (done int)

//go:noescape
func bagMaxBackwardAVX2(a *rowArgs) (done int)

//go:noescape
func bagMaxBackwardAVX512(a *rowArgs) (done int)

//go:noescape
func gatherStreamAVX2(a *rowArgs) (done int)

//go:noescape
func gatherScaledStreamAVX2(a *rowArgs) (done int)

//go:noescape
func gatherSumStreamAVX2(a *rowArgs) (done int)

//go:noescape
func embedStreamAVX2(a *rowArgs) (done int)

//go:noescape
func addBatchesAVX2(a *batchArgs)

//go:noescape
func addScaledAVX2(dst, src *float32, n int, alpha float32)

//go:noescape
func scaleRowAVX2(dst, src *float32, n int, scale float32)

//go:noescape
func embedRowAVX2(dst, src, positions *float32, n int, scale float32)

//go:noescape
func gatherAVX512(a *rowArgs) (done int)

//go:noescape
func gatherWindowAVX512(a *rowArgs) (done int)

//go:noescape
func gatherScaledAVX512(a *rowArgs) (done int)

//go:noescape
func gatherSumAVX512(a *rowArgs) (done int)

//go:noescape
func scatterAddAVX512(a *rowArgs) (done int)

//go:noescape
func scatterAddWindowAVX512(a *rowArgs) (done int)

//go:noescape
func embedAVX512(a *rowArgs) (done int)

//go:noescape
func gatherStreamAVX512(a *rowArgs) (done int)

//go:noescape
func gatherScaledStreamAVX512(a *rowArgs) (done int)

//go:noescape
func gatherSumStreamAVX512(a *rowArgs) (done int)

//go:noescape
func embedStreamAVX512(a *rowArgs) (done int)

//go:noescape
func addBatchesAVX512(a *batchArgs)

//go:noescape
func addScaledAVX512(dst, src *float32, n int, alpha float32)

//go:noescape
func scaleRowAVX512(dst, src *float32, n int, scale float32)

//go:noescape
func embedRowAVX512(dst, src, positions *float32, n int, scale float32)

//go:noescape
func gatherUnevenAVX512(a *rowArgs) (done int)

//go:noescape
func gatherScaledUnevenAVX512(a *rowArgs) (done int)

//go:noescape
func gatherSumUnevenAVX512(a *rowArgs) (done int)

//go:noescape
func embedUnevenAVX512(a *rowArgs) (done int)
