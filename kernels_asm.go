//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// rowArgs is what the assembly of a row kernel works on: rows in their order ("linear": the destination of a gather,
// the source of a scatter-add) and rows chosen by ids ("table"). Strides are in bytes, cols > 0 and n > 0.
// The assembly returns the number of rows done, which is less than n if the next id is not below its limit.
type rowArgs struct {
	linear       *float32 // row 0 of those in their order
	linearStride uintptr
	table        *float32 // row 0 of those chosen by ids
	tableStride  uintptr
	limit        uint64         // idLimit of ids
	ids          unsafe.Pointer // uint32 or uint64
	wide         uint64         // 0: ids have 4 bytes; 1: they have 8
	cols         int

	//lint:ignore U1000 for the assembly alone
	far int // short rows that have one to prefetch
	//lint:ignore U1000 likewise
	next uintptr // row to prefetch meanwhile
	//lint:ignore U1000 likewise
	posEnd uintptr // span bytes behind positions
	//lint:ignore U1000 likewise
	head uintptr // bytes of a row in front of its first whole line

	n           int // rows to do
	readable    int // ids that may be read, at least n: prefetching looks beyond the rows to do
	ahead       int // rows to prefetch ahead; 0 for a table that sits in cache
	burst       int // bytes to prefetch of each at once; 0 to prefetch all of it line by line; SHORT_ROWS, OVERLAP_ROWS and END_ROWS know by themselves
	early       int // rows to prefetch the first line ahead where the others come line by line; 0 for no earlier than those
	scale       float32
	stream      bool // write linear rows past the caches
	unfenced    int  // how many rows done need no fence, since the next chunk comes at once; -1 for none
	ends        bool // END_ROWS does rows of more than shortColumns and up to endColumns
	overlap     bool // with AVX2, vectors that overlap do: see overlaps
	near        bool // rows are prefetched into the first-level cache, in kernels with NEAR: see tuning.NearBytes
	straddle    bool // the line of a row's last column is prefetched, too: see straddles
	leftToRight bool // blocks have their vectors from left to right, however long a row is: see tuning.LeftToRight
	leaveLinear bool // where rows come line by line, and short ones, linear rows are left to the processor's own prefetcher

	abreast bool // rows that come line by line come four abreast, in kernels with NEXT_ABREAST: see tuning.AbreastColumns
	//lint:ignore U1000 for the assembly alone
	steps   [4]uintptr // how far each of the four is behind the next, and the last behind the next line of the first
	quarter uintptr    // bytes that are prefetched of each while a row is done

	windowAhead uintptr // how many bytes ahead to prefetch linear rows that are windows; 0 for others

	// Embed adds rows of a second table, and BagMaxBackward has maxima there, either chosen by ids of their own or, where at is
	// nil, first, first+1, ... up to span bytes behind positions, and then from positions on again.
	positions *float32
	posStride uintptr
	posSpan   uintptr        // bytes; a multiple of posStride
	posFirst  uintptr        // bytes behind positions of the row that belongs to linear row 0
	posLimit  uint64         // idLimit of at
	at        unsafe.Pointer // nil, or uint32 or uint64
	atWide    uint64

	left uintptr // bytes from maxima, which are the rows of positions, to what is left of the gradient of each
}

// op is a kernel that works on rowArgs; method do of each architecture says which assembly runs it.
type op int

const (
	opGather op = iota // gathers come first, for avx512
	opGatherScaled
	opGatherSum // adds scale, which is +0: bags of one id
	opScatterAdd
	opEmbed
	opBagMaxBackward
)

// Assembly cannot be preempted, and a garbage collection waits for it: one call does at most this many elements,
// 256 KiB of rows. BenchmarkStretch times such calls.
const chunkElements = 64 << 10

// chunkRows bounds a call over short rows, each of which may miss the caches and the translation of addresses. On a busy
// Zen 4, medians in us of calls of 4,096 rows of 16 columns in no cache, where each row has a page of its own: Gather 350,
// Embed 540, ScatterAdd 300, BagSum 440, AddBatches 250. Calls of 1,024 rows, a quarter of that, cost 1 percent of the time
// of a gather or less, and up to 3 of a bag's, all in caches.
const chunkRows = 1024

// fewRows is that where short rows take longer. On a Zen 4, us that a call takes, the worse of AVX-512 and AVX2, where rows
// lie side by side and where each has a page of its own in each matrix, none of them in a cache: layer normalisation of
// 1,024 x 8 8 and 62, of 4,096 x 8 28 and 207, its gradient 18 and 73, 67 and 250, and 350 of 1,024 x 64; Rotate of
// 1,024 x 2 5 and 87, of 4,096 x 2 16 and 300.
const fewRows = chunkRows / 4

// run does n rows of cols elements with kernel k and returns the number of rows done.
func (a *rowArgs) run(k op, n, cols int) int {
	a.cols, a.n = cols, n
	if n <= chunkRows && n*cols <= chunkElements {
		return a.do(k)
	}
	return a.runPieces(k, n, cols)
}

// runPieces is run in pieces of rows that are not longer than a chunk. The receiver is a value, here and below, since whatever
// is assigned through a pointer escapes, and with it the caller's slices.
func (a rowArgs) runPieces(k op, n, cols int) int {
	for first := 0; first < cols; first += chunkElements {
		piece := a
		piece.cols = min(cols-first, chunkElements)
		piece.table = element(a.table, first)
		piece.linear = element(a.linear, first)
		if a.positions != nil {
			piece.positions = element(a.positions, first)
		}
		if done := piece.runChunks(k, n); done < n {
			return done
		}
	}
	return n
}

// runChunks is run in chunks of whole rows.
func (a rowArgs) runChunks(k op, n int) int {
	rows := min(chunkRows, max(1, chunkElements/a.cols))
	if a.abreast {
		rows &^= 3 // of which there are four, as goesAbreast sees to
	}
	for first, piece := 0, a; ; first += piece.n {
		piece = a.chunk(first, rows, n)
		if done := piece.do(k); done < piece.n || first+piece.n == n {
			return first + done
		}
	}
}

// chunk returns the part that begins with row first of n and has so many rows, or as many as are left.
func (a rowArgs) chunk(first, rows, n int) rowArgs {
	a.n, a.readable = min(rows, n-first), a.readable-first
	if first+a.n < n {
		a.unfenced = a.n
	}
	a.linear = (*float32)(unsafe.Add(unsafe.Pointer(a.linear), uintptr(first)*a.linearStride))
	a.ids = unsafe.Add(a.ids, uintptr(first)*(4+4*uintptr(a.wide)))
	if a.at != nil {
		a.at = unsafe.Add(a.at, uintptr(first)*(4+4*uintptr(a.atWide)))
	} else if a.posSpan != 0 {
		rows := a.posSpan / a.posStride
		a.posFirst = (a.posFirst + uintptr(first)%rows*a.posStride) % a.posSpan
	}
	return a
}

// halves reports whether kernels run on AVX-512 that does vectors in halves, and fullWidth whether on one that does not.
func halves() bool    { return isa.Active() == isa.AVX512 && tuning.Halves }
func fullWidth() bool { return isa.Active() == isa.AVX512 && !tuning.Halves }

// streamsRows reports whether a row kernel is to write the linear rows of a large result past the caches, if that can be done.
func streamsRows(linear *Matrix) bool {
	if fullWidth() {
		whole := uintptr(unsafe.Pointer(&linear.Data[0]))%4 == 0 // elements, of which UNEVEN does those in front of a line
		return linear.Cols > endColumns && (streams(linear) || tuning.StreamUneven && whole)
	}
	return streams(linear)
}

// wholeLines reports whether rows can be written past the caches by whole lines.
func wholeLines(linear *Matrix) bool {
	return streams(linear) && linear.Cols%16 == 0 && linear.Stride%16 == 0 && uintptr(unsafe.Pointer(&linear.Data[0]))%64 == 0
}

// element returns the address of the element that lies i behind p in the same slice.
func element(p *float32, i int) *float32 { return (*float32)(unsafe.Add(unsafe.Pointer(p), i*4)) }

// prepareRows sets what every row kernel needs, but for linear, table and ids, which its caller has set: what is assigned
// through a pointer escapes, and with it the caller's slices, and to return all of it by value takes as long as a few rows do,
// since a copy cannot begin before what has just been written is in the cache: on a Zen 5 a call with 8 ids of 8 columns took 42
// and 32 ns by value and so (GatherScaled), 40 and 33 (ScatterAdd), 51 and 39 (Embed), 59 and 38 (BagSum), 74 and 40 (Dots), 124
// and 60 (UpdateAdagrad). ids is not empty, and the matrices have columns. The linear rows are written past the caches if h asks
// for it and that can be.
func prepareRows[I ID](a *rowArgs, linear, table *Matrix, ids []I, h *hint) {
	stream := h.stream && streamsRows(linear)
	race.Read(unsafe.SliceData(ids), len(ids)+max(h.more, 0))
	a.near = near(table) && !h.far
	ahead, burst, early := 0, 0, 0
	if h.more >= 0 {
		ahead, burst = prefetch(table, len(ids)+h.more, linear.Stride, stream && halves(), a.near)
	}
	if burst == 0 && table.Cols*4 >= middleBytes && isa.Active() == isa.AVX2 {
		early = earlyRows
	}
	a.abreast = ahead > 0 && burst == 0 && !h.byOne && len(ids) >= 4 && goesAbreast(linear, len(ids)+h.more, stream)
	if a.abreast {
		ahead = 4
		a.quarter = uintptr(table.Cols+63) / 64 * 64
	} else if h.matrices > 0 {
		_, most := bytesAhead(a.near)
		ahead = min(ahead, max(1, most/(4*h.matrices*min(table.Cols, updateElements))))
	}
	fetch(table, ids, ahead, h)
	window := uintptr(0)
	if ahead > 0 {
		window = windowAhead(linear)
	}
	a.linearStride, a.tableStride = uintptr(linear.Stride)*4, uintptr(table.Stride)*4
	a.limit, a.wide = idLimit[I](table.Rows), wide(ids)
	a.readable = len(ids) + max(h.more, 0)
	a.ahead, a.burst, a.early, a.windowAhead = ahead, burst, early, window
	a.stream, a.unfenced, a.leaveLinear, a.leftToRight = stream, -1, fullWidth(), tuning.LeftToRight
	a.ends, a.overlap = hasEnds(table, ahead, window), overlaps()
	uneven := stream && fullWidth() && !wholeLines(linear) // UNEVEN does not go by lines of the table
	a.straddle = burst > table.Cols*4 || uneven || straddles(table)
}

const (
	endColumns    = 128      // up to which END_ROWS goes
	narrowColumns = 64       // and up to which in halves
	narrowBytes   = 16 << 20 // of a table
)

// hasEnds reports whether END_ROWS does rows of AVX-512, where it is in halves those of up to narrowColumns. On a Zen 4, times of that over those
// of what was there, AVX2 for most, in tables that are not prefetched and others that are, 2,048 to 8,192 uniform ids, medians of 15 to 31
// interleaved rounds, where there are two the least and the most of several runs, since it depends on where rows begin:
//
//	               gather       scatter-add  embed                     gather       scatter-add  embed
//	 1,000 x 33    0.82 0.97    0.70 1.00    0.69 1.05     40,000 x 40  0.78         0.87         1.00
//	 1,000 x 40    0.68 0.98    0.64 0.94    0.68 1.02     40,000 x 56  0.92         0.88         0.77
//	 1,000 x 48    0.96         0.85         0.93         100,000 x 40  0.90         0.79         0.96
//	 4,000 x 60    0.92         0.86         0.98         100,000 x 60  1.02         1.00         0.89
//	 1,000 x 64    1.01         0.82         0.97       1,000,000 x 40  0.75 0.89    0.79 0.89    0.79 0.95
//	10,000 x 40    0.55 0.76    0.60 0.62    0.64 0.62  1,000,000 x 48  0.79         0.99         1.06
//	10,000 x 48    0.57         0.54         0.61       1,000,000 x 56  1.03         1.14         1.02
//	12,000 x 60    0.85         0.85         0.94          50,257 x 64  0.84 1.05    0.82 0.95    0.98 1.28
//	10,000 x 64    0.97         0.78 0.86    0.89 0.98  1,000,000 x 64  1.08         1.15         1.22
//
// 1,000 x 72 to x 128 have 0.94 to 1.08, 10,000 x 96 and x 128 0.95 to 1.11. Windows have kernels of their own.
func hasEnds(table *Matrix, ahead int, window uintptr) bool {
	if !halves() {
		return fullWidth()
	}
	size, cols := extent(table)*4, table.Cols
	return window == 0 && (cols <= 48 || cols < narrowColumns && size <= narrowBytes || cols <= narrowColumns && (ahead == 0 || size <= closeBytes))
}

// overlaps reports whether AVX2 does rows of 33 to 127 columns by vectors that overlap (OVERLAP_ROWS in shortrows_amd64.h),
// and not by blocks, vectors, and parts of them. On a Zen 3, times of that over those of the latter, 2,048 uniform ids, medians of 3
// processes that alternate the two:
//
//	             gather  scatter-add  embed                    gather  scatter-add  embed                    gather  scatter-add  embed
//	1,000 x 33   0.82    0.89         0.97        10,000 x 33  0.69    0.60         0.87      1,000,000 x 33  0.65    0.69         0.78
//	1,000 x 40   0.73    0.62         0.91        10,000 x 40  0.69    0.69         0.81      1,000,000 x 40  0.66    0.72         0.64
//	1,000 x 50   0.80    0.67         0.91        10,000 x 50  0.80    0.77         0.82      1,000,000 x 50  0.68    0.72         0.72
//	1,000 x 63   0.81    0.70         0.75        10,000 x 60  0.82    0.57         0.80      1,000,000 x 60  0.68    0.75         0.75
//	1,000 x 80   0.89    0.92         0.96        10,000 x 72  0.72    0.68         0.97        400,000 x 80  0.88    0.90         0.93
//	1,000 x 100  0.99    0.94         1.00       10,000 x 100  0.93    0.85         0.97       400,000 x 100  0.92    0.98         0.99
//	1,000 x 127  0.90    0.83         0.90       10,000 x 120  0.90    0.96         0.95       400,000 x 127  0.89    1.04         1.03
//
// Where there is AVX-512, rows that AVX2 does there were not measured so.
func overlaps() bool { return isa.Active() == isa.AVX2 }

// writtenAhead reports whether so many linear rows are to be prefetched because they are written, whole lines too or not: see
// tuning.WrittenBytes.
func writtenAhead(linear *Matrix, rows int, whole bool) bool {
	return linear.Cols > lineBytes/4 && linear.Cols == linear.Stride && rows*linear.Stride > tuning.WrittenBytes/4 &&
		(whole || !wholeLines(linear))
}

// goesAbreast reports whether rows that come line by line are to come four abreast, for so many ids. Those that AVX-512 writes past
// the caches have to be done by UNEVEN or be whole lines. Four rows are no more than a chunk.
func goesAbreast(linear *Matrix, ids int, stream bool) bool {
	least, most := tuning.AbreastColumns, tuning.AbreastMost
	switch {
	case isa.Active() == isa.AVX2:
		return linear.Cols > tuning.NarrowAbreastColumns && linear.Cols <= chunkElements/4 && ids >= tuning.NarrowAbreastIDs
	case stream:
		least, most = tuning.AbreastStreamColumns, chunkElements/4
	}
	return fullWidth() && linear.Cols > least && linear.Cols <= most && ids >= tuning.AbreastIDs && (!stream || tuning.StreamUneven || wholeLines(linear))
}

// idLimit returns the number that ids read as unsigned must be below: rows, but never one that a negative id of 32 bits
// is below.
func idLimit[I ID](rows int) uint64 {
	if minusOne := ^I(0); minusOne < 0 && unsafe.Sizeof(minusOne) == 4 {
		return min(uint64(rows), 1<<31)
	}
	return uint64(rows)
}

func wide[I ID](ids []I) uint64 { return uint64(unsafe.Sizeof(ids[0])) >> 3 }

// lone returns the row of a table that the only id of a call chooses: it is done without what a kernel for many costs to set up. It is nil
// where there are more ids, here or to come, the one is outside, or rows are more than a chunk. On a Zen 5 with AVX-512, times of that over
// those by such a kernel, and what wellFormed saves, which comes before the other checks; the same ids over and over, medians of three processes of
// 61 interleaved rounds, and behind them one row of a table in no cache, a fresh one each time:
//
//	             GatherScaled                  ScatterAdd                    Embed
//	ids          1    2    8    16   fresh     1    2    8    16   fresh     1    2    8    16   fresh
//	x 8          0.44 0.88 0.88 0.89           0.46 0.90 0.89 0.88           0.50 0.86 0.86 0.88
//	x 64         0.45 0.89 0.90 0.93 0.51      0.49 0.88 0.91 0.93 0.95      0.50 0.86 0.89 0.90 0.92
//	x 300        0.46 0.92 0.91 0.99 0.81      0.49 0.93 0.93 0.98 0.94      0.50 0.90 0.95 0.98 0.91
//	x 768        0.50 0.94 0.97 1.00 0.93      0.57 0.93 0.97 0.99 0.89      0.59 0.90 0.98 1.00 0.87
//
// 18, 19 and 24 ns for one row of 64 columns, where loops in Go take 19, 34 and 27. On a Zen 4, where fetchLone has the row prefetched, without
// which fresh ones of 768 columns took 1.11 to 1.13 times as long:
//
//	x 8          0.49 0.88 0.88 0.89           0.51 0.86 0.86 0.88           0.57 0.83 0.85 0.87
//	x 64         0.49 0.88 0.90 0.92 0.87      0.54 0.87 0.90 0.93 0.91      0.57 0.86 0.90 0.93 0.87
//	x 300        0.60 0.90 0.96 0.97 0.96      0.73 0.91 0.97 0.98 0.96      0.84 0.90 0.96 0.98 0.95
//	x 768        0.68 0.93 0.99 1.00 0.95      0.71 0.94 0.99 0.99 0.96      0.75 0.94 0.99 1.00 0.97
//
// With vectors of AVX2, and none of AVX-512, GatherScaled takes 0.90 to 1.06 of the time there, ScatterAdd, which has them since (adds512), 0.76 to
// 1.03, Embed 0.97 to 1.08. It was not measured elsewhere: not with AVX2 alone, nor on Intel's or Arm.
func lone[I ID](table *Matrix, ids []I, h *hint) []float32 {
	if len(ids) == 1 && h.more <= 0 && table.Cols <= chunkElements {
		if id := uint64(ids[0]); id < uint64(table.Rows) { // read once: it may change meanwhile
			return table.Row(int(id))
		}
	}
	return nil
}

func gather[I ID](dst, table *Matrix, ids []I, h *hint) int {
	if isa.Active() == isa.Portable {
		return kernels.Gather(*dst, *table, ids)
	}
	return gatherWith(opGather, dst, table, ids, 1, h)
}

func gatherScaled[I ID](dst, table *Matrix, ids []I, scale float32, h *hint) int {
	if isa.Active() == isa.Portable {
		return kernels.GatherScaled(*dst, *table, ids, scale)
	}
	if row := lone(table, ids, h); row != nil {
		fetchLone(table, ids, h)
		scaleRow(dst.Data[:len(row)], row, scale)
		return 1
	}
	return gatherWith(opGatherScaled, dst, table, ids, scale, h)
}

// gatherWith gathers with kernel k, which multiplies by scale, adds it, or does without.
func gatherWith[I ID](k op, dst, table *Matrix, ids []I, scale float32, h *hint) int {
	if len(ids) == 0 {
		return 0
	}
	race.WriteMatrix(dst)
	race.ReadRows(table, ids)
	if heldLines(table) {
		h = &hint{stream: h.stream, more: -1}
	}
	a := rowArgs{linear: &dst.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0]), scale: scale}
	h.byOne = h.byOne || windowAhead(dst) != 0 // kernels of windows have no rows abreast
	prepareRows(&a, dst, table, ids, h)
	a.leaveLinear = a.leaveLinear && !writtenAhead(dst, len(ids)+h.more, a.abreast)
	return a.run(k, len(ids), dst.Cols)
}

func scatterAdd[I ID](dst *Matrix, ids []I, alpha float32, src *Matrix, h *hint) int {
	if isa.Active() == isa.Portable {
		return kernels.ScatterAdd(*dst, ids, alpha, *src)
	}
	if len(ids) == 0 {
		return 0
	}
	if row := lone(dst, ids, h); row != nil {
		fetchLone(dst, ids, h)
		addScaled(row, alpha, src.Data[:len(row)])
		return 1
	}
	race.WriteRows(dst, ids)
	race.ReadMatrix(src)
	a := rowArgs{linear: &src.Data[0], table: &dst.Data[0], ids: unsafe.Pointer(&ids[0]), scale: alpha}
	h.byOne = h.byOne || windowAhead(src) != 0 // likewise
	prepareRows(&a, src, dst, ids, h)
	return a.run(opScatterAdd, len(ids), dst.Cols)
}

func embed[I ID](dst, table *Matrix, ids []I, scale float32, positions *Matrix, start, seq int, h *hint) int {
	if isa.Active() == isa.Portable {
		return kernels.Embed(*dst, *table, ids, scale, *positions, start, seq)
	}
	if row := lone(table, ids, h); row != nil {
		fetchLone(table, ids, h)
		embedRow(dst.Data[:len(row)], row, scale, positions.Data[start*positions.Stride:])
		return 1
	}
	race.WriteMatrix(dst)
	race.ReadRows(table, ids)
	race.ReadRange(positions, start, min(seq, len(ids)))
	a := rowArgs{linear: &dst.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0]), scale: scale}
	prepareRows(&a, dst, table, ids, h)
	a.leaveLinear = a.leaveLinear && !writtenAhead(dst, len(ids)+h.more, false)
	a.positions = element(&positions.Data[0], start*positions.Stride)
	a.posStride = uintptr(positions.Stride) * 4
	a.posSpan = a.posStride * uintptr(seq)
	return a.run(opEmbed, len(ids), dst.Cols)
}

func embedAt[I, P ID](dst, table *Matrix, ids []I, scale float32, positions *Matrix, at []P, h *hint) int {
	if isa.Active() == isa.Portable {
		return kernels.EmbedAt(*dst, *table, ids, scale, *positions, at)
	}
	if len(ids) == 0 {
		return 0
	}
	if row, place := lone(table, ids, h), lone(positions, at, h); row != nil && place != nil {
		fetchLone(table, ids, h)
		embedRow(dst.Data[:len(row)], row, scale, place)
		return 1
	}
	race.WriteMatrix(dst)
	race.ReadRows(table, ids)
	race.ReadRows(positions, at)
	a := rowArgs{linear: &dst.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0]), scale: scale}
	prepareRows(&a, dst, table, ids, h)
	a.leaveLinear = a.leaveLinear && !writtenAhead(dst, len(ids)+h.more, false)
	a.positions = &positions.Data[0]
	a.posStride = uintptr(positions.Stride) * 4
	a.posLimit = idLimit[P](positions.Rows)
	a.at, a.atWide = unsafe.Pointer(&at[0]), wide(at)
	return a.run(opEmbed, len(ids), dst.Cols)
}

func bagMaxBackward(dst, table *Matrix, ids []int, both *Matrix, bags []int, h *hint) int {
	if isa.Active() == isa.Portable {
		return defineBagMaxBackward(dst, table, ids, both, bags)
	}
	if len(ids) == 0 {
		return 0
	}
	race.WriteMatrix(dst)
	race.ReadRows(table, ids)
	race.WriteMatrix(both)
	race.Read(unsafe.SliceData(bags), len(bags))
	a := rowArgs{linear: &dst.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0])}
	h.byOne, h.far = true, true // the assembly has no rows abreast, and no near kernels
	prepareRows(&a, dst, table, ids, h)
	a.positions = &both.Data[0]
	a.posStride = uintptr(both.Stride) * 4
	a.posLimit = uint64(both.Rows)
	a.at, a.atWide = unsafe.Pointer(&bags[0]), wide(bags)
	a.left = uintptr(table.Cols) * 4
	return a.run(opBagMaxBackward, len(ids), dst.Cols)
}

// batchArgs is what the assembly behind AddBatches works on. Strides are in bytes; rows, cols and batches are above 0.
type batchArgs struct {
	dst         *float32 // row 0
	dstStride   uintptr
	src         *float32 // row 0 of the first batch
	srcStride   uintptr
	batchStride uintptr // from a row to the same one of the next batch
	rows        int
	cols        int
	batches     int
}

// batchesAtOnce is how many batches AddBatches adds to some rows at a time, or as many as a chunk has rows for where it has all of dst,
// if there are manyBatches or more and the second-level cache does not hold src: a processor follows few streams by itself, and lines of
// many batches push each other out where they lie whole pages apart. Time to that of as many at a time as a chunk has rows for, on
// a Zen 5, medians of 25 rounds and more in random order, two runs:
//
//	batches x rows x columns    AVX-512       AVX2
//	    16 x   512 x   768      0.87 0.94     0.96 0.98
//	    16 x 1,024 x   768      0.71 0.92     0.96 0.99
//	    16 x   256 x 4,096      0.74 0.78     0.96 0.92
//	    64 x   512 x   768      0.61 0.68     0.60 0.61
//	    64 x   256 x 2,048      0.56 0.68     0.61 0.62
//	    64 x   512 x   300      0.57 0.61     0.48 0.51
//	    64 x   512 x    64      0.65 0.56     0.42 0.45
//	   256 x   128 x   128      0.52 0.60     0.41 0.43
//	   512 x    16 x   768      0.60 0.69     0.50 0.51
//	 8,192 x     4 x   768      0.79 0.84     0.71 0.70
//	65,536 x     1 x   768      0.99 0.99     1.00 1.01
//
// Nine batches of 1,024 x 768 took 1.07 to 1.17, 12 0.82 and, with AVX2, 1.01 to 1.10; eight at a time take 0.87 to 1.13 of the time of
// four.
const (
	batchesAtOnce = 4
	manyBatches   = 16
)

// addBatches takes few enough batches at a time for the rows of all of them to be no more than a chunk. All batches are
// added to some rows, which stay in cache, before the next rows: with fewer than manyBatches that are more than a chunk, 12 of 300 x 8,192
// to 4 of 100 x 65,536, that takes 0.74 to 1.01 of the time of one chunk of batches, added to all rows, after the other.
func addBatches(dst, src Matrix, batches int) {
	if isa.Active() == isa.Portable {
		kernels.AddBatches(dst, src, batches)
		return
	}
	race.WriteMatrix(&dst)
	race.ReadMatrix(&src)
	cols := min(dst.Cols, chunkElements)
	most := min(chunkRows, max(1, chunkElements/cols)) // rows of all batches
	depth := min(batches, most)
	a := batchArgs{
		dstStride:   uintptr(dst.Stride) * 4,
		srcStride:   uintptr(src.Stride) * 4,
		batchStride: uintptr(dst.Rows) * uintptr(src.Stride) * 4,
	}
	if batches >= manyBatches && extent(&src) > tuning.CachedBytes/4 {
		depth = min(depth, max(batchesAtOnce, most/dst.Rows))
	}
	rows := most / depth
	for j := 0; j < dst.Cols; j += cols {
		a.cols = min(cols, dst.Cols-j)
		for i := 0; i < dst.Rows; i += rows {
			a.dst, a.rows = element(&dst.Data[0], i*dst.Stride+j), min(rows, dst.Rows-i)
			for b := 0; b < batches; b += depth {
				a.src, a.batches = element(&src.Data[0], (b*dst.Rows+i)*src.Stride+j), min(depth, batches-b)
				a.do()
			}
		}
	}
}

// addScaledChunks is addScaled of more than a chunk.
func addScaledChunks(dst []float32, alpha float32, src []float32) {
	for len(dst) > chunkElements {
		addScaled(dst[:chunkElements], alpha, src[:chunkElements])
		dst, src = dst[chunkElements:], src[chunkElements:]
	}
	addScaled(dst, alpha, src)
}

func idsBelow[I ID](ids []I, rows int) bool {
	if isa.Active() == isa.Portable || len(ids) <= fewIDs {
		return kernels.FirstOutside(ids, rows) < 0 // 8 ids in 2.0 ns on a Zen 5, and 3.8 by assembly; 32 in 5.9 and 3.8
	}
	race.Read(unsafe.SliceData(ids), len(ids))
	limit := idLimit[I](rows)
	for len(ids) > chunkElements {
		if !idsBelowChunk(unsafe.Pointer(&ids[0]), wide(ids), chunkElements, limit) {
			return false
		}
		ids = ids[chunkElements:]
	}
	return len(ids) == 0 || idsBelowChunk(unsafe.Pointer(&ids[0]), wide(ids), len(ids), limit)
}
