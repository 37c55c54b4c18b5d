//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"slices"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// dotArgs is what the assembly behind Dots, DotsAll and bagDots works on. Strides are in bytes; rows, cols and n are above 0.
// The assembly sets n to the number of ids done, and returns it: less than it was if the next id is not below the limit. Where rows go by in
// parts, n is all of them, and a call does groups from first to end.
type dotArgs struct {
	dst         *float32 // row 0, from the column of the first id on
	dstStride   uintptr
	a           *float32 // row 0
	aStride     uintptr
	table       *float32 // row 0
	tableStride uintptr
	limit       uint64         // idLimit of ids
	ids         unsafe.Pointer // uint32 or uint64, or nil: 0, 1, 2, ...
	wide        uint64         // 0: ids have 4 bytes; 1: they have 8
	rows        int            // of a
	cols        int
	n           int  // ids to do
	readable    int  // ids that may be read, at least n: prefetching looks beyond those to do
	ahead       int  // ids to prefetch ahead; 0 for none
	burst       int  // bytes to prefetch of each row; with AVX2 it is all of it
	near        bool // prefetch into the first-level cache
	straddle    bool // prefetch the line of a row's last column, too: see straddles
	oneByOne    bool // without ids, rows of the table may go by one by one
	parts       bool // without ids, they go by in as many parts as a group has rows, on amd64

	// On amd64 groups begin at position first and then every step positions, up to end, and the rows of one are apart positions from each
	// other.
	first, step, end, apart int
	ends                    *int // where each row of a has a bag of ids, the position where that of the first row ends, and so on; else nil
	//lint:ignore U1000 for the assembly alone
	group int // position of the group whose rows to come are being prefetched
}

// One call takes dotElements of a at a time, which stay in the first-level cache while rows of the table pass by, and then
// the next of a over the same rows of the table, a chunk of which stays in the second-level cache. Where rows are short,
// chunkRows, dotResults and dotRows bound the time of a call. Rows of more than longElements are done one by one, in pieces.
//
// On one core of a Zen 4 that was shared, by processor time, medians of interleaved rounds: half and twice and four times
// as much of a, and half and twice the chunk, change less than 5 percent. Prefetching as rows are gathered takes random
// rows from 1.04 to 1 (64 rows of a, 50,257 x 768), from 1.24 (1 row), 1.17 (8 rows), and 1.57 (16 rows, 1,000,000 x 64);
// for all rows in their order it changes nothing that can be told from noise.
//
// With AVX-512, four rows of a at a time instead of two take 64 rows of a and all of 50,257 from 1.14 to 1 at 768 columns,
// from 1.24 at 1,024, from 1.13 at 300 and from 1.05 at 64: 44 thousand million products a second of the 59 that the
// processor has without fused multiply-add, measured in registers alone.
const (
	dotElements  = 6 << 10
	dotRows      = 64
	dotResults   = 8 << 10
	longElements = 16 << 10
	inOrderRows  = 16 // see tuning.InOrderBytes
	oneElements  = 1536
)

// The first rows are prefetched before anything else is done, as fetch does elsewhere. On a Xeon, times with that over those without for 1, 2, 4
// and 16 rows of a, calls right behind one another, and with 8 MB of something else read in between, medians of 15 interleaved rounds:
//
//	1,000,000 x 16   32    1.24 1.27 1.22 1.01    0.84 0.80 0.68 0.50
//	1,000,000 x 16  128    0.97 0.93 0.91 0.86    0.82 0.87 0.78 0.75
//	1,000,000 x 64    8    1.07 1.12 1.02 0.96    1.04 1.07 0.91 0.78
//	1,000,000 x 64   32    1.05 0.95 0.74 0.79    0.93 0.82 0.59 0.65
//	1,000,000 x 64  512    0.97 0.96 0.94 0.90    0.98 0.95 0.91 0.84
//	1,000,000 x 128  64    0.94 0.98 0.86 0.88    0.99 0.93 0.79 0.79
//	   50,257 x 768  32    1.00 0.99 0.99 0.96    0.99 1.00 1.00 0.98
//
// and with AVX2 0.86 to 1.17 and 0.50 to 1.02 of it.
func dots[I ID](dst, a, table *Matrix, ids []I) int {
	if isa.Active() == isa.Portable || a.Cols == 0 {
		return kernels.Dots(*dst, *a, *table, ids)
	}
	if a.Rows == 0 || len(ids) == 0 {
		return len(ids)
	}
	if a.Cols > longElements {
		for j, id := range ids {
			if uint64(id) >= uint64(table.Rows) {
				return j
			}
			longDots(dst, j, a, table, int(id))
		}
		return len(ids)
	}
	race.ReadRows(table, ids)
	d := dotArgs{dst: &dst.Data[0], a: &a.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0])}
	d.prepare(dst, a, table, len(ids))
	fetch(table, ids, d.ahead, &hint{})
	d.wide, d.limit = wide(ids), idLimit[I](table.Rows)
	return d.run(a.Rows, len(ids))
}

// dotsAll is for all rows of table, which is, or is a part of, a table of size elements.
func dotsAll(dst, a, table *Matrix, size int) {
	if isa.Active() == isa.Portable || a.Cols == 0 {
		kernels.DotsAll(*dst, *a, *table)
		return
	}
	if a.Rows == 0 || table.Rows == 0 {
		return
	}
	if a.Cols > longElements {
		for j := range table.Rows {
			longDots(dst, j, a, table, j)
		}
		return
	}
	race.ReadMatrix(table)
	d := dotArgs{dst: &dst.Data[0], a: &a.Data[0], table: &table.Data[0]}
	d.prepare(dst, a, table, table.Rows)
	switch {
	case goesInParts(a.Rows, a.Cols):
		d.parts, d.ahead = true, 0
	case fullWidth():
		large := size > tuning.InOrderBytes/4
		d.oneByOne = large && goesOneByOne(a.Rows, a.Cols)
		switch {
		case !large && a.Rows <= inOrderRows:
			d.ahead = 0
		case large && d.ahead == 0 && (d.oneByOne || a.Cols <= 1024 && (a.Cols > 64 || a.Rows < 4)): // a part, which a cache would hold
			d.burst = a.Cols * 4
			d.ahead = rowsAhead(table, d.burst, table.Rows, aheadLeast, d.near)
		}
	}
	d.run(a.Rows, table.Rows)
}

// goesOneByOne reports whether so many rows have those of a large table in their order go by one by one, as tuning.InOrderBytes and
// tuning.InOrderLines have it.
func goesOneByOne(rows, cols int) bool {
	switch {
	case rows == 1:
		return true
	case rows < 4:
		return tuning.InOrderLines && cols > 128 && cols <= oneElements
	}
	return cols >= 256 && (tuning.InOrderLines || rows*cols >= oneElements)
}

// goesInParts reports whether all rows of a table go by in parts for so many rows of so many columns: each group has one row of each
// third of the table, or with AVX-512 of each quarter, and none is prefetched. A processor's own prefetcher keeps up with three or four
// places, at each of which one row follows the other, but not with groups of rows next to each other. On a Zen 3, ns per row of the table by
// such groups, with the next ones prefetched, and in thirds of what one call of assembly does, medians of 21 interleaved rounds:
//
//	rows of a           1           2           4           16
//	 50,257 x 768        213  139    215  161    273  200    571  481
//	 50,257 x 1,024      284  209    283  217    358  283   1062  953
//	 20,000 x 2,048      436  346    497  407    685  563   2369 2336
//	100,000 x 256       92.1 45.0   93.7 46.7   95.5 46.3    203  145
//	300,000 x 128       36.5 19.8   41.0 22.1   42.3 26.1   96.7 93.5
//	1,000,000 x 64      14.7 12.4   13.7 13.2   15.5 16.7   64.5 69.8
//	1,000,000 x 32      8.01 7.02   9.84 9.79   14.1 16.3   48.3 52.9
//	4,000,000 x 16      4.40 4.26   7.80 6.63   10.9 11.7   36.8 46.5
//	 10,000 x 64        9.25 7.12   17.4 9.52   19.6 17.3   67.0 63.5
//	    300 x 768       69.8 65.2   86.8 82.3    153  147    499  487
//
// and on a Zen 4, whose AVX-512 goes in halves, by groups and in quarters of the table, medians of 11 (with AVX2, thirds of the table take 0.90
// to 1.08 of the time of thirds of what a call does):
//
//	rows of a           1           2           4           16
//	 50,257 x 768        209  111    234  119    272  197    490  387
//	 50,257 x 512        126  100    146 97.7    179  139    309  229
//	 20,000 x 2,048      447  364    469  411    548  551   1034  991
//	300,000 x 128       27.6 21.2   26.0 19.4   25.9 31.0   63.1 66.4
//	1,000,000 x 64      13.2 9.34   10.5 12.8   11.0 17.2   38.6 50.1
//	1,000,000 x 32      7.04 8.12   6.35 6.68   11.3 12.5   28.0 37.2
//	 10,000 x 64        4.57 3.20   6.32 5.19   8.85 8.77   34.0 34.8
//
// of 40,000 x 1,024 quarters take 0.55, 0.60, 0.76 and 0.80 of the time of groups, and of 200,000 x 300 0.88, 0.65, 1.42 and 1.32. On a Zen 5,
// whose AVX-512 is not in halves, by what they would go by else, one by one as goesOneByOne has it or by groups, and in quarters, medians of 7:
//
//	rows of a           1           2           3           4           16
//	 50,257 x 768       97.8 85.2    115 83.7    136  110    135  109    224  249
//	 50,257 x 1,024      144  119    167  121    196  168    172  149    324  288
//	 20,000 x 2,048      281  213    312  276    348  303
//	300,000 x 256       30.7 29.4   40.2 33.5   41.9 43.0   43.6 37.6   88.4 87.5
//	400,000 x 300       52.5 60.4   65.9 68.1   75.3 60.1   62.3 50.2    117  139
//	1,000,000 x 128     24.1 18.7   25.1 17.5   22.0 16.7   20.9 21.0   41.7 47.8
//	1,000,000 x 64      12.1 8.03   9.30 7.23   10.3 8.00   9.76 10.8   23.4 30.1
//	1,000,000 x 48      6.50 6.28   6.85 6.12   8.98 7.58
//	 10,000 x 64        4.52 3.93   5.56 5.21   7.62 8.15   7.50 7.90   25.3 28.3
//
// of 400,000 x 304 quarters take 0.89, 0.84 and 1.09 of the time, and of a single row with a tail 0.78 to 1.44. An Intel processor
// has what tuning.InOrderLines says.
func goesInParts(rows, cols int) bool {
	switch {
	case halves():
		return cols >= 512 || rows == 2 && cols > 64 || rows == 1 && cols >= 64
	case fullWidth():
		return !tuning.InOrderLines && (rows == 1 && cols >= 48 && cols%16 == 0 || rows == 2 && cols >= 48 || rows > 2 && rows <= 4 && cols > 128)
	}
	return isa.Active() == isa.AVX2 && (cols > 64 || cols >= 16 && rows <= 2)
}

// prepare sets what does not depend on the ids, of which there are n, as prepareRows does. None of the matrices is empty.
func (d *dotArgs) prepare(dst, a, table *Matrix, n int) {
	race.WriteMatrix(dst)
	race.ReadMatrix(a)
	d.near = near(table) && d.ids != nil
	d.ahead, d.burst = prefetch(table, n, 0, true, d.near)
	tail := a.Cols & 15 // up to 7 columns of which AVX2 has among 8, and prefetches where these begin
	d.straddle = d.burst > table.Cols*4 || straddles(table) || isa.Active() == isa.AVX2 && tail > 0 && tail < 8
	if d.burst == 0 {
		d.burst = longBurst // AVX-512 has no prefetching line by line here
	}
	d.dstStride, d.aStride, d.tableStride = uintptr(dst.Stride)*4, uintptr(a.Stride)*4, uintptr(table.Stride)*4
	d.limit, d.cols = uint64(table.Rows), a.Cols
}

// run does n ids for so many rows of a, and returns the number done.
func (d *dotArgs) run(rows, n int) int {
	height := min(rows, dotRows, max(4, dotElements/d.cols&^3))
	group := dotGroup()
	width := max(1, min(n, chunkElements/d.cols, chunkRows, dotResults/height)/group) * group
	if d.parts {
		d.runParts(rows, n, height, width)
		return n
	}
	if n <= width && rows == height {
		d.n, d.rows, d.readable = n, rows, n
		return d.do()
	}
	return d.runPieces(rows, n, height, width)
}

// byRow reports whether one row of a goes over the rows of the table one by one: see do. A number of ids that 4 does not divide goes by
// groups: in runPieces by rows took 0.96 to 1.09 of the time on a Zen 5, 127 and 2,047 ids of 256 to 768 columns, 2 and 4 rows of a.
func (d *dotArgs) byRow() bool {
	return d.n%4 == 0 && (d.ids != nil || d.oneByOne) && d.ahead > 0 && d.readable > d.ahead && (fullWidth() || halves() && d.cols%16 == 0)
}

// runPieces is run in pieces of so many rows and ids. The receiver is a value: see runPieces of rowArgs.
func (d dotArgs) runPieces(rows, n, height, width int) int {
	all := d
	for j := 0; j < n; j += width {
		d.readable = n - j
		d.ahead = all.ahead
		d.n = min(width, n-j)
		step := height
		if d.cols > 128 && fullWidth() && d.byRow() {
			step = 1
		}
		for i := 0; i < rows; i, step = i+step, height {
			d.rows = min(step, rows-i)
			d.dst = (*float32)(unsafe.Add(unsafe.Pointer(all.dst), uintptr(i)*d.dstStride+uintptr(j)*4))
			d.a = (*float32)(unsafe.Add(unsafe.Pointer(all.a), uintptr(i)*d.aStride))
			if want := d.n; d.do() < want {
				return j + d.n
			}
			d.ahead = 0 // by now, the chunk has passed through the caches
		}
		if j+width >= n {
			break
		}
		if d.ids != nil {
			d.ids = unsafe.Add(d.ids, uintptr(width)*(4+4*uintptr(d.wide)))
		} else {
			d.table = (*float32)(unsafe.Add(unsafe.Pointer(d.table), uintptr(width)*d.tableStride))
		}
	}
	return n
}

// runParts is run in pieces where rows go by in parts. The receiver is a value, here and below: see runPieces of rowArgs.
func (d dotArgs) runParts(rows, n, height, width int) {
	group := dotGroup()
	part := n / group
	d.n, d.step, d.apart = n, 1, part
	for ; d.first < part; d.first = d.end {
		d.end = min(d.first+width/group, part)
		d.doRows(rows, height)
	}
	if d.first = part * group; d.first < n { // rows that the parts have left
		d.step, d.end, d.apart = group, n, 1
		d.doRows(rows, height)
	}
}

// doRows is do for so many rows of a, some at a time.
func (d dotArgs) doRows(rows, height int) {
	dst, a := d.dst, d.a
	for i := 0; i < rows; i += height {
		d.rows = min(height, rows-i)
		d.dst = (*float32)(unsafe.Add(unsafe.Pointer(dst), uintptr(i)*d.dstStride))
		d.a = (*float32)(unsafe.Add(unsafe.Pointer(a), uintptr(i)*d.aStride))
		d.do()
	}
}

// bagDots has each bag go over its own rows, and rows of the bags behind it prefetched meanwhile, as many as it has itself: one row of the
// table by one, from bag to bag in one call of assembly, where goesByBag has it, and else in a call for each bag. On a Zen 4, ns per
// id by a call of Dots for each bag, with rows gathered first where no cache holds the table, and so, in bags of 1, 2, 10 and 50, medians of 31
// interleaved rounds:
//
//	                            AVX-512                                  AVX2
//	   10,000 x 64    116  30   60  17   20 9.2  9.5 7.5    109  30   56  16   21 9.5   10 7.6
//	1,000,000 x 64    158  50   85  32   34  24   22  22    152  47   81  29   35  24   24  22
//	1,000,000 x 128   200 110  116  53   62  40   42  34    182  76  110  45   63  43   51  39
//	   50,257 x 768   392 243  322 224  212 154  238 199    414 166  341 172  269 168  245 155
//
// and of 2,000 x 20,000, by longDot, 6,500 and 4,900, in bags of 10; in bags of 1,000 it is 0.6 to 1.1 of the time.
//
// On a Zen 5, where AVX-512 is not in halves, by a call of assembly for each bag and in one for many, in bags of 1, 2, 5, 10 and 50, medians of
// 7 interleaved rounds:
//
//	   10,000 x 64    25  12   13  8.0  9.7 6.0  9.5 5.3  6.3 4.7
//	  100,000 x 64    37  18   23  13   16  9.9  15  8.9  10  8.1
//	1,000,000 x 64    87  34   48  28   42  23   29  22   31  23
//	1,000,000 x 128  131  53   94  54   73  45   64  49   44  38
//	   50,257 x 768  347 202  239 159  245 201  215 163  196 174
//	1,000,000 x 30    60  24   37  21   25  19   21  17   16  15
//
// On the Zen 4 a kernel like that took 0.54 to 0.73 of the time for bags of 1, but 0.66 to 1.2 for those of 2 and 1.0 to 1.4 for longer ones;
// and AVX2 had it 0.6 to 1.4 for bags of 1. On a Zen 3, times of one call over those of a call for each bag, in bags of 1, 2, 5 and 10, medians
// of 15 interleaved rounds:
//
//	   10,000 x 16    0.54 0.70 0.79 0.92      500,000 x 160   0.78 0.97 1.05 1.03
//	   10,000 x 64    0.68 0.72 0.86 0.84      300,000 x 256   0.89 1.03 1.09 1.02
//	1,000,000 x 30    0.61 0.85 0.90 0.92      100,000 x 512   0.87 0.98 1.03 1.11
//	1,000,000 x 64    0.73 0.91 0.97 0.98       50,257 x 768   0.93 1.17 1.15 1.10
//	1,000,000 x 128   0.74 0.99 0.94 0.97       20,000 x 2,048 0.96 1.14 1.10 1.08
//
// in bags of 20 and 50 of 30 to 128 columns 0.85 to 1.08, of 16 1.20. One row of a over chosen rows takes 0.89 to 1.36 of the time so.
func bagDots[I ID](dst []float32, a, table *Matrix, ids []I, offsets []int, h *hint) int {
	if isa.Active() == isa.Portable || a.Cols == 0 || len(ids) == 0 || a.Rows == 0 {
		return bagDotsPlain(dst, a, table, ids, offsets)
	}
	if !inOrder(offsets[:a.Rows+1], len(ids)) {
		return -1
	}
	race.ReadRows(table, ids)
	race.Read(unsafe.SliceData(ids), len(ids)+h.more)
	all := Matrix{Rows: 1, Cols: len(dst), Data: dst, Stride: len(dst)}
	d := dotArgs{table: &table.Data[0], ids: unsafe.Pointer(&ids[0]), rows: 1}
	d.prepare(&all, a, table, len(ids)+h.more)
	fetch(table, ids, d.ahead, h)
	d.wide, d.limit = wide(ids), idLimit[I](table.Rows)
	group := dotGroup()
	most := max(1, min(chunkElements/d.cols, chunkRows)/group) * group // rows of one call
	if a.Cols <= longElements && offsets[0]%4 == 0 && goesByBag(len(ids), a.Rows, a.Cols) {
		d.dst, d.readable = &dst[0], len(ids)+h.more
		return d.runBags(a, offsets[:a.Rows+1], most)
	}
	next := offsets[0]
	for b := range a.Rows {
		end := offsets[b+1]
		for ; a.Cols > longElements && next < end; next++ {
			id := ids[next]
			if uint64(id) >= uint64(table.Rows) {
				return next
			}
			dst[next] = longDot(a.Data[b*a.Stride:][:a.Cols], table.Data[int(id)*table.Stride:][:a.Cols])
		}
		d.a = &a.Data[b*a.Stride]
		for next < end {
			n := min(end-next, most)
			d.dst, d.ids = &dst[next], unsafe.Pointer(&ids[next])
			d.n, d.readable = n, min(len(ids)+h.more-next, d.ahead+n)
			if d.do() < n {
				return next + d.n
			}
			next += n
		}
	}
	return next
}

// inOrder reports whether offsets do not fall, and are among n ids.
func inOrder(offsets []int, n int) bool {
	return offsets[0] >= 0 && slices.IsSorted(offsets) && offsets[len(offsets)-1] <= n
}

// runBags has rows of the table go by one by one, so many in one call at most, each against that row of a whose bag it is in. The first
// offset is a multiple of 4, and so is that number with AVX-512.
func (d dotArgs) runBags(a *Matrix, offsets []int, most int) int {
	n := offsets[a.Rows]
	d.first = offsets[0]
	for b := 0; d.first < n; d.first = d.n {
		for offsets[b+1] <= d.first {
			b++
		}
		d.a, d.ends = &a.Data[b*a.Stride], &offsets[b+1]
		d.n = min(d.first+most, n)
		if want := d.n; d.do() < want {
			return d.n
		}
	}
	return n
}

// longDots sets column j of dst to the dot products of the rows of a with row id of table, in pieces.
func longDots(dst *Matrix, j int, a, table *Matrix, id int) {
	y := table.Data[id*table.Stride:][:a.Cols]
	for i := range a.Rows {
		dst.Data[i*dst.Stride+j] = longDot(a.Data[i*a.Stride:][:a.Cols], y)
	}
}

// longDot returns the dot product of two rows, in pieces of which assembly does the whole lanes.
func longDot(x, y []float32) float32 {
	whole := len(x) &^ 15
	race.Read(unsafe.SliceData(x), whole)
	race.Read(unsafe.SliceData(y), whole)
	var lanes [16]float32
	for k := 0; k < whole; k += chunkElements {
		dotLanes(&lanes, &x[k], &y[k], min(chunkElements, whole-k))
	}
	for k, v := range x[whole:] {
		lanes[k] += float32(v * y[whole+k])
	}
	for n := 8; n > 0; n /= 2 {
		for k := range n {
			lanes[k] += lanes[k+n]
		}
	}
	return lanes[0]
}

// normAhead is how many elements ahead what follows is prefetched, unless it is known what comes next. ns per row of so many without, and
// 1, 2, 4 and 8 KiB ahead, with pages of 2 MiB, medians of 15 on a Xeon:
//
//	50,257 x 768    222   208   187   164   154
//	 8,192 x 768    115   115   112   111   111
//	 8,192 x 64     8.3   7.5   7.2   7.0   7.1
//	 4,096 x 128   16.4  15.4  14.7  14.5  14.4
//
// with pages of 4 KiB the first 358 and 235, with AVX2 251 and 159.
const normAhead = 2 << 10

// squaredNorms sets dst to the sum of the squares of each row of m. Meanwhile it prefetches next, or what lies behind the rows it is at if
// that is empty, as many bytes as one call of assembly reads.
func squaredNorms(dst []float64, m Matrix, next []float32) {
	if isa.Active() == isa.Portable || m.Cols == 0 || m.Cols > chunkElements {
		squaredNormsPlain(dst, &m)
		return
	}
	race.ReadMatrix(&m)
	most := min(chunkRows, chunkElements/m.Cols)
	for i := 0; i < m.Rows; i += most {
		at := i * m.Stride
		ahead := &m.Data[min(at+normAhead, len(m.Data)-1)]
		if i == 0 && len(next) > 0 {
			ahead = &next[0]
		}
		squareSums(&dst[i], &m.Data[at], uintptr(m.Stride)*4, min(most, m.Rows-i), m.Cols, ahead)
	}
}
