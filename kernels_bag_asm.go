//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"sort"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// bagArgs is what the assembly of the kernels of bags works on: bags, whose ids are those from next to stop. Strides are in
// bytes; cols and bags are above 0.
//
// The assembly returns whether all went well. If not, next is the position of an id that is not below limit, or -1 where
// the offsets do not ascend from next to stop.
type bagArgs struct {
	dst         *float32 // row of the first bag
	dstStride   uintptr
	table       *float32 // row 0
	tableStride uintptr
	limit       uint64         // idLimit of ids
	ids         unsafe.Pointer // uint32 or uint64
	wide        uint64         // 0: ids have 4 bytes; 1: they have 8
	weights     *float32       // one for each id, for the kernel that has them
	offsets     *int           // where the first bag ends, then the others
	cols        int
	bags        int
	next        int  // position of the first id to do
	stop        int  // position behind the last
	readable    int  // ids that may be read: prefetching looks beyond those to do
	ahead       int  // rows to prefetch ahead; 0 for a table that sits in cache
	near        bool // prefetch into the first-level cache
	straddle    bool // prefetch the line of a row's last column, too: see straddles
	mean        bool // divide by the number of ids
	partial     bool // there is one bag, in whose row is what its ids in front of next come to; PANELS sets it for a while, and clears it

	//lint:ignore U1000 for the assembly alone
	more bool // a block has more columns to prefetch than its own, or may straddle a line more
	//lint:ignore U1000 likewise
	first int // position of the bag's first id
	//lint:ignore U1000 likewise
	bag int // number of the bag
	//lint:ignore U1000 likewise
	end int // position behind its last id
	//lint:ignore U1000 likewise
	fetched int // columns to prefetch
	//lint:ignore U1000 likewise
	pairs bool // both blocks of 64 columns of a bag are done before the next bag, with AVX2
	//lint:ignore U1000 likewise
	piece int // ids of a bag of which rows are done by PANELS at a time; 0 where it does none
	//lint:ignore U1000 likewise
	begin int // position of the first of them
	//lint:ignore U1000 likewise
	early int // rows that PANELS prefetches ahead
	//lint:ignore U1000 likewise
	ends bool // what is left of rows is one block with AVX-512, of vectors at either end
	//lint:ignore U1000 likewise
	held bool // rows are done in blocks of up to 384 columns with AVX-512, with the sums in registers
	//lint:ignore U1000 likewise
	right int // bytes between the left vectors of a block and its right ones
	//lint:ignore U1000 likewise
	keep uint32 // all bits set, or none where its sums begin anew
	//lint:ignore U1000 likewise
	left int // columns left to blocks
	//lint:ignore U1000 likewise
	blocks int // blocks left
}

// bagOp is a kernel that works on bagArgs; method do of each architecture says which assembly runs it.
type bagOp int

const (
	opBagSum bagOp = iota // and mean
	opBagWeighted
	opBagMax
)

// bagAhead is how many rows ahead bags prefetch at least, as long as those fit into what bytesAhead says; 8, 12, 24 and 32 take as long for
// rows of 192 to 2,048 columns.
//
// Rows of more than 128 columns that are prefetched are done by spans of columns, with the sums in memory (but see heldRows for AVX-512, and
// panelPiece for AVX2), and others by blocks of columns of all bags of a chunk, with the sums in registers:
// memory is idle while later blocks go over what the first has fetched, and where each fetches its own, rows come piece by
// piece. On a Zen 4, ns per id in bags of 1, 2, 10 and 50, by blocks with pieces of 512 bytes and by spans, 4,096 ids (of
// 20,000 x 2,048 half as many), medians of 31 interleaved rounds, tables in no cache (bags of 1 without weights have become
// gathers since):
//
//	                              AVX-512                                  AVX2
//	200,000 x 192     115  112   74   73   60   59   54   56    128  107   93   72   70   59   59   50
//	200,000 x 256     122  112  154  109   66   66   66   67    180  137  129  103   87   87   84   86
//	 50,257 x 768     665  421  447  277  249  218  204  204    683  411  476  286  280  222  225  189
//	 20,000 x 2,048  1403  799 1013  652  600  528  519  519   1945  967 1278  641  660  528  576  492
//
// Up to 128 columns, which are one block or two, blocks are quicker than spans (500,000 x 128 in bags of 10 with AVX2: 56 and 66), and so
// they are where nothing is prefetched (250 x 768 in bags of 10: 31 and 34).
//
// Into the first level it is nearBagAhead of nearBagColumns to endColumns. On a Zen 5, times of that over those of 16 to 18 rows, in bags of 2, 10
// and 50, medians of 15 interleaved rounds:
//
//	                  sums           weighted       maxima
//	    6,000 x 128   0.97 0.97 0.96 0.94 0.95 0.96 1.00 0.94 0.99
//	   10,000 x 128   0.99 0.92 0.90 0.95 0.90 0.94 0.96 0.91 0.91
//	   20,000 x 128   0.94 0.87 0.88 0.93 0.94 0.94 0.97 0.95 0.88
//	   50,000 x 128   1.01 0.99 0.96 1.04 0.97 0.94 1.05 0.92 0.96
//	1,000,000 x 128   1.07 0.97 1.02 1.01 0.98 1.01 1.05 1.03 0.93
//	   10,000 x 112   0.92 0.96 0.94 0.99 0.94 0.96 0.99 0.97 0.98
//
// but 10,000 x 100 1.04 to 1.09, x 150 1.05 to 1.19, and x 256 1.02 to 1.11. 32 rows are as good, 24 gain less.
//
// Where AVX-512 is in halves it is aheadBytes: with halfBytes a Zen 4 takes 1.02 to 1.14 times as long for bags of 10 and 50 of 80,
// 96 and 112 columns, and 0.96 to 1.06 for others.
const (
	bagAhead       = 16
	nearBagAhead   = 28
	nearBagColumns = 112
)

// prepareBags sets what every kernel of bags needs, as prepareRows does, but for dst, table, ids and offsets: there are columns
// and ids.
func prepareBags[I ID](a *bagArgs, dst, table *Matrix, ids []I) {
	race.WriteMatrix(dst)
	race.ReadRows(table, ids)
	a.near = near(table) && (dst.Cols >= 16 || dst.Cols&(dst.Cols-1) != 0) // others have no near kernels: see avx512
	small := tuning.CachedBagBytes
	switch {
	case fullWidth() && !a.near || isa.Intel():
		small *= 3 // see tuning.Halves and tuning.NearBytes
	case dst.Cols > 16 && dst.Cols <= 128:
		small = min(small, tuning.CachedShortBagBytes)
	}
	ahead, least := 0, bagAhead
	switch {
	case a.near && dst.Cols >= nearBagColumns && dst.Cols <= endColumns:
		least = nearBagAhead
	case halves():
		least = max(least, aheadBytes/4/dst.Cols)
	}
	if extent(table) > small/4 {
		ahead = rowsAhead(table, dst.Cols*4, len(ids), least, a.near)
		if dst.Cols <= wholeBytes/4 { // of 2,048 columns and more, sums took a Zen 4 1.03 to 1.17 times as long
			ahead = aheadOfFew(ahead, dst.Cols*4, len(ids))
		}
	}
	fetch(table, ids, ahead, &hint{})
	a.dstStride, a.tableStride = uintptr(dst.Stride)*4, uintptr(table.Stride)*4
	a.limit, a.wide = idLimit[I](table.Rows), wide(ids)
	a.cols, a.readable, a.ahead, a.straddle = dst.Cols, len(ids), ahead, straddles(table)
}

// run does all bags with kernel k, and returns what the definitions of the kernels do.
func (a *bagArgs) run(k bagOp, offsets []int) int {
	race.Read(unsafe.SliceData(offsets), len(offsets))
	first, end, most := offsets[0], offsets[len(offsets)-1], min(chunkRows, chunkElements/a.cols)
	if first >= 0 && end >= first && end <= a.readable && end-first <= most && len(offsets)-1 <= most {
		a.next, a.stop, a.bags = first, end, len(offsets)-1
		if a.do(k) {
			return end
		}
		return a.next
	}
	return a.runPieces(k, offsets)
}

// runPieces is run in pieces of rows that are not longer than a chunk. The receiver is a value, here and below, for the reason
// that runPieces of rowArgs has.
func (a bagArgs) runPieces(k bagOp, offsets []int) int {
	for first := 0; ; first += chunkElements {
		piece := a
		piece.cols = min(a.cols-first, chunkElements)
		piece.table = element(a.table, first)
		piece.dst = element(a.dst, first)
		if done, ok := piece.runChunks(k, offsets); !ok || first+piece.cols == a.cols {
			return done
		}
	}
}

// runChunks is run in chunks of whole bags, of which a bag that is too long has several to itself. Not ok ends the work.
// Every offset may have changed, also since it was read a moment ago.
func (a bagArgs) runChunks(k bagOp, offsets []int) (done int, ok bool) {
	dst, mean := a.dst, a.mean
	most := min(chunkRows, max(1, chunkElements/a.cols)) // ids, and bags
	a.stop = offsets[0]
	for b := 0; b+1 < len(offsets); b += a.bags {
		a.next = a.stop
		a.dst = (*float32)(unsafe.Add(unsafe.Pointer(dst), uintptr(b)*a.dstStride))
		a.offsets = &offsets[b+1]
		a.bags = min(most, len(offsets)-1-b)
		if offsets[b+a.bags]-a.next > most {
			a.bags = sort.Search(a.bags, func(m int) bool { return offsets[b+1+m]-a.next > most })
		}
		end := offsets[b+max(1, a.bags)]
		if a.next < 0 || end < a.next || end > a.readable || a.bags > 0 && end-a.next > most {
			return -1, false
		}
		if a.bags == 0 {
			a.offsets, a.bags = &a.stop, 1
		}
		for a.stop = min(end, a.next+most); a.stop < end; a.stop = min(end, a.next+most) {
			a.mean = false
			if !a.do(k) {
				return a.next, false
			}
			a.next, a.partial = a.stop, true
		}
		a.mean = mean
		if !a.do(k) {
			return a.next, false
		}
		a.partial = false
	}
	return a.stop, true
}

// Bags of one id are rows, which a gather does quicker: sums of them begin with +0, which it adds, and means divide by 1. On a
// Zen 4, 8,192 uniform ids (of 20,000 x 2,048 2,048, of 400,000 x 300 4,096), ns per id as bags and as rows, medians of
// 101 interleaved rounds for the first four tables and of 31 for the others, which are in no cache:
//
//	                     AVX-512       AVX2
//	    1,000 x 8        3.9   2.6     3.9   2.6
//	    1,000 x 16       4.8   3.1     5.7   2.9
//	    1,000 x 64       8.6   8.1     8.9   8.7
//	    1,000 x 128     17.7  15.9    21.6  16.5
//	1,000,000 x 16      14.1  10.1    12.4   8.5
//	1,000,000 x 64      42.1  40.1    39.9  42.6
//	1,000,000 x 128      134   102     109  88.4
//	  400,000 x 300      174   122     164   130
//	   50,257 x 768      473   348     414   300
//	   20,000 x 2,048   1044   753     937   657
func bagSum[I ID](dst, table *Matrix, ids []I, offsets []int, weights []float32, ofOne bool) int {
	if isa.Active() == isa.Portable || len(ids) == 0 || len(offsets) < 2 {
		return kernels.BagSum(*dst, *table, ids, offsets, weights)
	}
	if ofOne && weights == nil {
		return gatherWith(opGatherSum, dst, table, ids, 0, &hint{stream: large(dst)})
	}
	a := bagArgs{dst: &dst.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0]), offsets: &offsets[1]}
	prepareBags(&a, dst, table, ids)
	if weights == nil {
		return a.run(opBagSum, offsets)
	}
	race.Read(unsafe.SliceData(weights), len(weights))
	a.weights = &weights[0]
	return a.run(opBagWeighted, offsets)
}

func bagMean[I ID](dst, table *Matrix, ids []I, offsets []int, ofOne bool) int {
	if isa.Active() == isa.Portable || len(ids) == 0 || len(offsets) < 2 {
		return kernels.BagMean(*dst, *table, ids, offsets)
	}
	if ofOne {
		return gatherWith(opGatherSum, dst, table, ids, 0, &hint{stream: large(dst)})
	}
	a := bagArgs{dst: &dst.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0]), offsets: &offsets[1], mean: true}
	prepareBags(&a, dst, table, ids)
	return a.run(opBagSum, offsets)
}

func bagMax[I ID](dst, table *Matrix, ids []I, offsets []int, ofOne bool) int {
	if isa.Active() == isa.Portable || len(ids) == 0 || len(offsets) < 2 {
		return kernels.BagMax(*dst, *table, ids, offsets)
	}
	if ofOne {
		return gather(dst, table, ids, &hint{stream: large(dst)})
	}
	a := bagArgs{dst: &dst.Data[0], table: &table.Data[0], ids: unsafe.Pointer(&ids[0]), offsets: &offsets[1]}
	prepareBags(&a, dst, table, ids)
	return a.run(opBagMax, offsets)
}
