//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"sort"
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
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
	limit       uint64         // number of rows in table
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
	burst       int  // bytes to prefetch of each at once
	mean        bool // divide by the number of ids
	partial     bool // there is one bag, in whose row is what its ids in front of next come to

	//lint:ignore U1000 for the assembly alone
	first int // position of the bag's first id
	//lint:ignore U1000 likewise
	bag int // number of the bag
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

// bagCachedBytes is the size of a table up to which bags prefetch nothing: little else needs the second-level cache. On a
// Zen 4 (1 MiB second level), AVX-512, fresh uniform ids, ns per id without and with 16 rows ahead, in bags of 1, 10 and 50:
//
//	1,000 x 64       6.62   6.80    2.61   3.31    2.34   2.99
//	4,000 x 64       7.08   6.31    3.57   3.74    3.31   3.59
//	8,000 x 64       7.93   6.43    4.94   4.09    4.33   3.76
//	4,000 x 128      13.6   12.9    7.44   7.56    6.68   7.59
//	8,000 x 128      14.9   13.5    8.34   7.52    7.59   7.69
//	12,000 x 64      8.28   6.61    5.18   4.06    4.64   3.88
//	1,000,000 x 64   38.0   20.0    34.9   19.9    33.4   19.5
//	1,000,000 x 128  95.1   49.0    61.4   37.1    60.9   37.3
//
// 6 rows ahead are too few (25.8 at 1,000,000 x 64 in bags of 10), and 12, 24 and 32 are as good as 16.
//
// PREFETCHT0 in place of T1 takes 0.92 to 1.04 of the time at 10,000 x 64 and 5,000 x 128, 0.95 on average, the same at
// twice that size, and 1.4 times as long at 100,000 x 64.
const bagCachedBytes = 2 << 20

// bagPiece is how many bytes of a row are prefetched at once, a power of two, bagAhead rows ahead. A chunk of rows is walked
// by blocks of columns, and whoever fetches whole rows with the first block leaves memory idle during the others. On a Zen 4,
// ns per id in bags of 2, 10 and 50, where the first block fetches whole rows and where they are fetched in such pieces, both
// 8 rows ahead, medians of 21, tables in no cache:
//
//	                 AVX-512                          AVX2
//	50,257 x 768      510   390    364  281   313  250   662   531   401  312   419  269
//	40,000 x 1,024    594   512    358  331   358  351   842   693   589  448   577  370
//	20,000 x 2,048   1830  1392   1266  988  1183  941  1905  1553  1305  939  1161  802
//	 1,302 x 768      340   292    156  134   140  113   352   344   245  204   214  178
//
// Pieces of 1 KiB take as long with AVX-512, and with AVX2 5 to 15 percent longer. 16 rows ahead take as long as 8 there, and
// less where a third level holds the table: of 8,192 x 768 in bags of 10 203 ns, 122 in pieces 8 rows ahead and 115 with 16,
// with AVX2 262, 185 and 159. Tables of 2 to 6 MB that stay in caches take up to 15 percent longer: of 833 x 768 49.0 and
// 51.4, with AVX2 55.5 and 64.1.
const (
	bagPiece = 512
	bagAhead = 16
)

// bagPrefetch returns how many rows ahead to prefetch, and how many bytes of each at once.
func bagPrefetch(table *Matrix) (ahead, burst int) {
	if extent(table) <= bagCachedBytes/4 {
		return 0, 0
	}
	return bagAhead, min(table.Cols*4, bagPiece)
}

// bagRows returns the arguments of every kernel of bags: there are columns and ids.
func bagRows[I ID](dst, table *Matrix, ids []I) bagArgs {
	race.WriteMatrix(dst)
	race.ReadRows(table, ids)
	ahead, burst := bagPrefetch(table)
	fetch(table, ids, ahead, hint{})
	return bagArgs{
		dst:         &dst.Data[0],
		dstStride:   uintptr(dst.Stride) * 4,
		table:       &table.Data[0],
		tableStride: uintptr(table.Stride) * 4,
		limit:       idLimit[I](table.Rows),
		ids:         unsafe.Pointer(&ids[0]),
		wide:        wide(ids),
		cols:        dst.Cols,
		readable:    len(ids),
		ahead:       ahead,
		burst:       burst,
	}
}

// run does all bags with kernel k, and returns what the definitions of the kernels do.
func (a bagArgs) run(k bagOp, offsets []int) int {
	race.Read(unsafe.SliceData(offsets), len(offsets))
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

func bagSum[I ID](dst, table *Matrix, ids []I, offsets []int, weights []float32) int {
	if isa.Active() == isa.Portable || len(ids) == 0 {
		return kernels.BagSum(*dst, *table, ids, offsets, weights)
	}
	a := bagRows(dst, table, ids)
	if weights == nil {
		return a.run(opBagSum, offsets)
	}
	race.Read(unsafe.SliceData(weights), len(weights))
	a.weights = &weights[0]
	return a.run(opBagWeighted, offsets)
}

func bagMean[I ID](dst, table *Matrix, ids []I, offsets []int) int {
	if isa.Active() == isa.Portable || len(ids) == 0 {
		return kernels.BagMean(*dst, *table, ids, offsets)
	}
	a := bagRows(dst, table, ids)
	a.mean = true
	return a.run(opBagSum, offsets)
}

func bagMax[I ID](dst, table *Matrix, ids []I, offsets []int) int {
	if isa.Active() == isa.Portable || len(ids) == 0 {
		return kernels.BagMax(*dst, *table, ids, offsets)
	}
	a := bagRows(dst, table, ids)
	return a.run(opBagMax, offsets)
}
