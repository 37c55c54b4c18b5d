//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
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

// Prefetching rows into the second-level cache, measured on one core of a Zen 5 (1 MiB second level, 32 MiB third) with
// AVX-512, tables on 2 MiB pages, fresh uniform ids; ns per row without and with, medians of 15 interleaved rounds:
//
//	table             gather        scatter-add
//	50,257 x 768      207    173    258    203
//	10,000 x 768      160    125    272    198
//	1,000,000 x 512   199    127    339    182
//	1,000,000 x 128   40.0   38.6   48.7   47.2
//	1,000,000 x 64    19.6   14.1   24.9   15.1
//	50,257 x 64       12.3   10.9   14.9   10.5
//	200,000 x 3,072   1131   890    1332   1180
//
// Up to tuning.CachedBytes it gains nothing (1,000 x 512: 38.7 without, 39.3 with), but rows of up to tuning.CachedShortColumns, of which little is
// left to the processor's own prefetcher, gain from CachedShortBytes on where calls do not follow each other at once. On a
// Zen 4 with AVX-512, 8,192 uniform ids (of 1,300 x 768 512), ns per row without and with it, medians of 101 interleaved
// rounds, right behind one another, and with a millisecond of other work between:
//
//	table           gather     scatter-add      gather     scatter-add
//	50,257 x 8       3.5  2.9   4.2  3.1      10.3  6.1   12.2  6.3
//	24,000 x 16      2.5  2.3   2.6  2.4      14.7  9.6   21.3 12.7
//	40,000 x 16      5.1  3.4   5.1  3.7      14.7  7.0   21.4  9.1
//	20,000 x 32      4.0  3.9   7.7  7.3      18.8  7.3   20.6  9.6
//	 6,000 x 64      8.8  9.4   9.3  9.6      22.6 20.3   32.8 24.2
//	10,000 x 64     10.0  9.5  11.2 10.2      35.0 22.0   47.3 27.6
//	 3,000 x 128    16.1 17.3  17.9 19.7      28.9 29.8   37.2 35.2
//	 1,300 x 768      90  110   100  116       121  127    113  114
//
// Where rows have just been read, dot products with them take up to 1.3 times as long with it (24,000 x 16: 4.7 and 5.9), and
// below that size up to 1.6 times (4,500 x 64: 7.2 and 11.8).
//
// There are two ways to go about it: a whole row at once, or line by line while another row is done, which costs 5 to 10
// percent in caches. On a Zen 4, medians of 21, without, at once and line by line, those of a line all of one process:
//
//	table, ids                 gather             scatter-add        embed
//	50,257 x 768     1,000     439   193   277    438   188   268    426   249   315
//	50,257 x 768     2,048     443   208   274    438   213   282    456   257   313
//	195,312 x 768    2,083     527   299   332    524   300   323    522   335   378
//	37,597 x 1,024   1,562     532   316   395    539   316   360    567   385   439
//	50,257 x 768     3,000     525   403   351    520   372   350    530   409   410
//	50,257 x 768     5,400     511   402   364    513   388   355    519   425   389
//	50,257 x 1,024   4,096     597   558   475    608   501   465    640   617   544
//	1,000,000 x 256  4,096     303   170   125    234   172   128    228   184   136
//	1,000,000 x 128  8,192     111   61.9  48.9   114   77.7  70.4   133   64.3  62.7
//	1,000,000 x 64   8,192     37.2  21.3  19.0   41.4  27.0  24.4   43.9  25.3  24.6
//	130,208 x 3,072    520     1541  1253  1086   1601  1313  1136   1585  1400  1252
//	78,125 x 5,120     312     2204  1986  1805   2154  2029  1783   2380  2417  2008
//
// So where AVX-512 goes in halves, rows of middleBytes to wholeBytes are prefetched at once while those in their order are at
// most spareBytes, which leaves the last-level cache some room, and others line by line. Where results are written past the
// caches, lines gain nothing up to wholeBytes (50,257 x 768: gather 485, 264, 278, embed 474, 267, 339), but much above
// (125,000 x 4,096: 1359 at once, 1132). Rows of more than wholeBytes from a table of up to heldBytes are left to the
// processor's own prefetcher but for their first longBurst bytes: of 1,000 x 4,096, with the same ids over and over, lines cost
// 8 percent, and those bytes 2. Distances matter little above aheadLeast rows (but see aheadOfFew and longAhead), as long as
// those fit into longBytes of the second-level cache, or into wideBytes where AVX-512 is not in halves, or nearBytes with AVX2 alone and of the
// first level (tuning.NearBytes),
// but for four that come abreast: with the first and the second on a Zen 5, before rows came abreast, 512 ids of 16,384 x 12,288 written past
// the caches 2097 and 1993, 2,048 of 50,257 x 4,096 865 and 818, 128 of 16,384 x 12,288 by Adagrad 5116 and 4546, others 0.95 to 1.02 of the time.
//
// With AVX2 alone rows of more than lineBytes come line by line, but for those of OVERLAP_ROWS (in shortrows_amd64.h), and long
// ones of several rows at once, which tuning.NarrowAbreastColumns is about,
// on the evidence of a Zen 3, and of rows from middleBytes on the first line comes earlyRows ahead: meanwhile its address is
// translated, which that machine has to do often even with pages of 2 MiB (of 1,024, 4,096 and 16,384 pages of 4 KiB a line
// each, one after the other: 7, 27 and 34 ns per line with them, 7, 41 and 111 without; the second level holds the first two).
// At once, line by line, and line by line with an early one, where nothing is in a cache but for the last table, which the
// third level holds; medians of 3 processes that alternate the three:
//
//	table, ids                 gather             scatter-add        embed
//	50,257 x 768       128     858   789   719    904   814   755   1012   913   864
//	50,257 x 768     2,048     677   593   533    725   614   579    712   624   577
//	50,257 x 768     8,192     542   462   415    604   620   554    626   517   490
//	1,000,000 x 512  8,192     589   525   447    571   562   549    623   528   475
//	200,000 x 1,024  2,048     897   800   745    935   806   768    954   824   761
//	50,257 x 4,096     512    2393  2422  2390   2475  2479  2465   2748  2717  2815
//	3,000 x 768      2,048     207   183   179    262   204   199    297   240   236
//
// 16 and 40 rows ahead are as good as 24. A Zen 5 with AVX-512 takes 0.72 to 1.22 times as long with one 8, 24 or 48 rows ahead, 1.03 in
// the middle.
//
// Short rows are prefetched up to aheadMost ahead, which is aheadBytes of rows of 64 columns (nearShortBytes of the first level, and more
// where tuning.AheadBytes is), but no more than a quarter of a call's ids or aheadFew, since the first are prefetched before anything else is
// done (a gather of 128 ids of 1,000,000 x 16, which come again and again, 2.55 with 32 and 2.79 with 96). A Zen 5, with 32, 64 and 96 rows ahead,
// and bags, which had 16, with 16, 32, 48 and 96; medians of 15 interleaved rounds:
//
//	table             gather           scatter-add      embed            sums of bags of 10
//	1,000,000 x 8     4.68 3.22 2.54   4.70 3.21 2.63   5.41 3.62 2.84
//	4,000,000 x 16    5.40 3.91 3.30   5.64 4.34 3.53   5.91 4.09 3.42   7.56 5.68 4.60 3.40
//	1,000,000 x 32    6.36 4.87 4.64   7.27 5.08 4.84   7.54 5.73 5.52   7.98 6.06 4.98 3.67
//	1,000,000 x 64    9.56 9.71 9.73   11.1 11.5 11.5   14.8 13.8 13.7   9.12 7.65 7.67 7.51
//	1,000,000 x 128                                                      15.3 15.9 15.4 15.4
//
// Where AVX-512 goes in halves it is halfBytes. On a Zen 4, times of that over those of aheadBytes, fresh ids, medians of 15 interleaved rounds:
//
//	                 gather               scatter-add          embed                SGD                  Adagrad
//	ids              128  512  2048 8192  128  512  2048 8192  128  512  2048 8192  128  512  2048 8192  128  512  2048 8192
//	2,000,000 x 32   1.00 0.99 1.01 1.00  0.99 0.95 0.97 0.90  0.98 0.98 0.94 0.96  1.00 0.99 0.99 0.97  1.00 0.99 0.98 0.99
//	1,000,000 x 64   0.99 0.99 1.00 1.01  0.94 0.94 0.93 0.89  0.92 0.99 0.96 0.98  1.00 1.00 1.01 0.99  0.98 1.00 1.00 0.99
//	  666,666 x 96   0.98 0.95 0.99 0.98  0.93 0.91 0.94 0.91  1.01 1.00 0.96 0.96  0.97 0.91 0.96 0.98  1.00 1.02 0.99 0.96
//	  500,000 x 128  0.99 0.97 0.98 0.98  0.96 1.05 0.96 1.00  1.00 0.93 0.95 0.97  0.98 1.01 0.97 1.03  0.95 0.96 0.99 0.98
//	  250,000 x 256  0.99 0.99 1.00 1.00  0.97 0.97 0.99 0.96  0.99 1.01 0.99 0.98  0.96 0.98 0.97 0.96  0.97 0.99 1.12 0.97
//
// It is 0.94 to 1.08 in tables of 12.8 and 40 MB; 16 KiB gain as much, 6 less, and 4 take up to 1.4 times as long.
//
// Rows of more than startMost have longAhead there, or manyBytes of the second level, if there are more than startIDs ids. On a Zen 4, times of that
// over those of aheadLeast and longBytes, medians of 11 interleaved rounds, of gathers, scatter-adds and Embed of two runs:
//
//	                 gather          scatter-add     embed           Adagrad    Adam       Dots
//	ids              300  512  1000  300  512  1000  300  512  1000  300  1000  300  1000  300  1000
//	40,000 x 5,000   0.97 0.95 0.98  0.94 0.89 0.93  0.98 0.97 0.96  0.97 0.97  0.99 0.99  1.00 1.02
//	24,414 x 8,192   0.93 0.93 0.92  0.90 0.90 0.94  1.02 0.88 0.93  1.02 0.99  1.02 1.00  1.00 0.97
//	                 0.93 0.91 1.00  1.07 1.00 0.98
//	16,276 x 12,288  1.00 0.86 0.92  0.97 0.93 0.97  1.06 1.05 0.97
//	                 1.04 0.90 0.90  0.98 0.97 1.01
//
// (of the last three those of half as many rows). 20 rows gain as much, 5 and less take up to 1.3 times as long; 2,048 and 4,096 columns see 0.92 to
// 1.05.
//
// There it is also no more than closeAhead rows of more than a line, of tables of up to closeBytes. On a Zen 4, times of that over those of up to
// aheadMost, 2,048 uniform ids, sums and the next two columns in bags of 10, medians of 31 interleaved rounds:
//
//	              gather  scatter-add  embed  SGD   Adagrad  Dots  sums  weighted  maxima
//	20,000 x 32   0.92    0.91         0.97   0.93  0.99     0.97  0.89  0.89      0.94
//	60,000 x 32   0.95    1.00         1.03   0.96  0.99     0.97  0.95  0.94      0.97
//	10,000 x 64   0.97    0.94         1.00   0.94  1.00     0.98  0.94  0.94      0.92
//	32,000 x 64   0.97    0.93         1.02   0.93  1.02     0.97  0.97  0.95      0.95
//	 9,000 x 128  0.96    1.01         1.00   1.02  1.00     1.00  0.92  0.95      0.96
//
// 12, 16 and 32 rows gain as much of 20,000 x 32 and 10,000 x 64, less of 32,000 x 64; of 60,000 x 64 sums take 1.11 to 1.28 times as long with
// 24 rows ahead, and 1.4 to 1.5 times with 16. Gathers of 90,000 x 16 take 1.05 times as long.
//
// With AVX2 alone it is fewBytes of them, and nearBytes of long rows and their states. On a Zen 3, times of that over those of
// aheadBytes and longBytes, medians of 21 and 31 interleaved rounds (it takes longer and longer from 16 rows of 64 columns on, it seems,
// since the first level of its TLB, which has 64 pages, has lost those of rows prefetched long before):
//
//	                         gather  scatter-add  embed  sums of 10  weighted  Dots  SGD   Adagrad  Adam
//	1,000,000 x 128   8,192  0.95    0.97         0.92   0.95        0.95      0.95  0.95  0.95     0.89
//	1,000,000 x 64    8,192  0.95    0.89         0.92   0.96        0.97      1.00  0.91  0.96     0.94
//	1,000,000 x 32    8,192  0.96    0.98         0.97   0.98        0.99      0.96  0.94
//	4,000,000 x 16    8,192  0.99    1.01         0.99   1.01        0.98      0.99  1.00  1.02     1.00
//	  100,000 x 64    8,192  0.89    0.88         0.89   0.92        0.94      0.93  0.91
//	   50,257 x 64    2,048  0.92    0.92         0.92   0.88        0.93      0.93  0.89  0.95     0.95
//	   10,000 x 128   8,192  0.94    0.90         0.87   0.83        0.84      0.87  0.96
//	   10,000 x 64    8,192  0.90    0.85         0.83   0.76        0.74      0.86  0.88  0.92     0.93
//	   50,257 x 4,096   512  0.93    0.94         0.97   0.96        1.02      -     0.96  0.93     0.93
//	   16,384 x 12,288  256  0.92    0.90
//
// 8 KiB of short rows gain less. PREFETCHT0 in place of T1 makes no difference there.
//
// Rows may begin within a line, and then reach one further than their bytes say. That line is prefetched too: without and with
// it, in no cache but for the third table, which the third level holds, AVX-512, medians of 31 interleaved rounds:
//
//	table           ids     gather       scatter-add  embed        UpdateSGD    UpdateAdagrad  Dots
//	1,000,000 x 25  8,192   35.2  29.3   32.9  15.9   36.6  24.4
//	1,000,000 x 30  8,192   36.3  20.8   56.1  28.4   55.2  28.9   36.5  20.1   89.9  35.9     52.6  26.8
//	   50,257 x 30  2,048   37.5  12.5   25.3  10.3   19.3   9.9
//	  200,000 x 300 4,096                                           146   147    253   240      124   115
//
// Rows of 49 to 63 columns, and by COLUMNS those of 25 to 31, end with lines that are done from left to right (mixedBytes
// says why that matters): where the table has more than beyondTable, beyondBytes behind them are prefetched too. Gathers on a
// Zen 4 with AVX2, by COLUMNS, without and with it: 1,000,000 x 26 18.4 and 11.8, x 52 31.7 and 19.2, x 60 39.0 and 26.9;
// 150,000 x 28 16.0 and 13.2, 100,000 x 28 9.5 and 11.3; 70,000 x 60 20.2 and 18.7, 50,000 x 60 11.6 and 11.7. Rows of
// lineBytes are prefetched at once since their lines are done in another order: 1,000,000 x 64 18.2 line by line and 15.2,
// 100,000 x 64 17.4 and 13.6. Of those of up to shortColumns it is the line behind that is fetched so, in whatever order
// lines are done: a gather and a scatter-add of 1,000,000 x 26 without and with it 10.2 and 9.1, 12.2 and 9.1, x 31 11.6 and
// 10.6, 15.4 and 9.7; of 50,257 x 30 3.87 and 4.09, 4.36 and 4.57.
//
// Prefetching into the first level, by PREFETCHT0 or for writing by PREFETCHW, is much worse on a Zen 4 (scatter-add, 50,257 x 768:
// 246, 375, 361); tuning.NearBytes is about who gains by it. None of it was measured on Arm; cores with a smaller third level may want a lower
// CachedBytes.
const (
	heldBytes      = 32 << 20 // of a table that a last-level cache may hold
	closeBytes     = 8 << 20  // and of one that it does
	spareBytes     = 8 << 20  // of the rows in their order
	cacheLine      = 64       // of most processors
	lineBytes      = 256      // of a row, which is a block of AVX-512
	middleBytes    = 2 << 10
	wholeBytes     = 4 << 10
	longBurst      = 1 << 10
	beyondBytes    = 96
	beyondTable    = 12 << 20 // of a table
	longBytes      = 512 << 10
	manyBytes      = 768 << 10
	wideBytes      = 64 << 10
	nearBytes      = 32 << 10
	nearShortBytes = 8 << 10
	aheadBytes     = 24 << 10
	halfBytes      = 12 << 10
	fewBytes       = 4 << 10
	startBytes     = 8 << 10
	startMost      = 16 << 10
	startIDs       = 256
	aheadLeast     = 8
	longAhead      = 16
	aheadMost      = 96
	aheadFew       = 32
	closeAhead     = 24
	earlyRows      = 24
	endColumns     = 128      // up to which END_ROWS goes
	narrowColumns  = 64       // and up to which in halves
	narrowBytes    = 16 << 20 // of a table
)

// halves reports whether kernels run on AVX-512 that does vectors in halves, and fullWidth whether on one that does not.
func halves() bool    { return isa.Active() == isa.AVX512 && tuning.Halves }
func fullWidth() bool { return isa.Active() == isa.AVX512 && !tuning.Halves }

// near reports whether kernels that can prefetch rows of a table into the first-level cache do: see tuning.NearBytes.
func near(table *Matrix) bool {
	return fullWidth() && table.Cols > tuning.NearColumns && extent(table) <= tuning.NearBytes/4
}

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

// cached reports whether a table sits in the second-level cache, or so nearly that its rows are not prefetched.
func cached(table *Matrix) bool {
	size := extent(table)
	return size <= tuning.CachedShortBytes/4 || table.Cols > tuning.CachedShortColumns && size <= tuning.CachedBytes/4
}

// heldLines reports whether a gather is to leave alone a table whose rows are a few lines each: see tuning.HeldLinesBytes.
func heldLines(table *Matrix) bool {
	return table.Cols > lineBytes/8 && table.Cols <= lineBytes/4 && extent(table) <= tuning.HeldLinesBytes/4
}

// prefetch returns how many rows ahead to prefetch, and how many bytes of each at once; 0 stands for line by line, which is
// not for rows of up to wholeBytes if atOnce. There are so many ids, and so many elements from one row in their order to the
// next.
func prefetch(table *Matrix, ids, stride int, atOnce, near bool) (ahead, burst int) {
	if cached(table) {
		return 0, 0
	}
	bytes := table.Cols * 4
	burst = bytes
	switch {
	case bytes > wholeBytes && (extent(table) <= heldBytes/4 || !byLines):
		burst = longBurst
	case bytes > wholeBytes:
		burst = 0
	case !byLines || bytes <= lineBytes || atOnce:
		if byLines && bytes > 24*4 && bytes < lineBytes && bytes%128 > 64 && extent(table) > beyondTable/4 {
			burst += beyondBytes
		}
	case bytes < middleBytes || ids*stride > spareBytes/4 || !halves():
		burst = 0
	}
	if burst != 0 {
		bytes = burst
	}
	if halves() && bytes > startMost && ids > startIDs {
		return min(longAhead, max(manyBytes/bytes, 1)), burst
	}
	return aheadOfFew(rowsAhead(table, bytes, ids, aheadLeast, near), bytes, ids), burst
}

// straddles reports whether rows, if there are enough of them, straddle one line more than their bytes fill, since some begin so late within
// their first. That line is prefetched, too, where it can be, and not once more where it cannot: to a processor a line that is on its way
// already is one more to fetch. On a Xeon, AVX-512, 8,192 uniform ids, times without over those with it, medians of 15 interleaved rounds:
//
//	                 gather  scatter-add  embed  sums of 10  Dots  Adagrad  Adam
//	4,000,000 x 8    0.75    0.76         0.76   1.00        0.98  0.75     0.75
//	4,000,000 x 16   0.76    0.78         0.79   1.00        0.75
//	1,000,000 x 24                                                 0.87     0.92
//	1,000,000 x 32   0.92    0.88         0.89   0.84        0.89
//	1,000,000 x 48   0.99    0.95         1.08   0.92        0.91
//	1,000,000 x 64   1.01    0.85         0.99   1.00        0.95
//	1,000,000 x 80   0.95    0.85         0.98   0.96        0.97
//	1,000,000 x 128  0.94    0.97         0.97   0.98        0.99
//
// (part of what 80 columns gain is that END_ROWS has each line once), with AVX2 as much. To ask costs rows of 12 and 30 columns up to 5 percent,
// and those of 8 that the second level holds. Where it can be, tables of whole lines that begin within one take so much of the time without it:
// gathers, scatter-adds and Embed of 1,000,000 x 192 0.96, 0.98 and 1.00, of 400,000 x 256 0.93, 0.93 and 0.96; kernels_update_amd64.s has
// what updates gain.
func straddles(table *Matrix) bool {
	bytes := table.Cols * 4
	step := table.Stride*4 | cacheLine
	step &= -step // rows begin so many bytes apart within a line, or multiples of it
	first := int(uintptr(unsafe.Pointer(&table.Data[0]))) & (step - 1)
	return cacheLine-step+first+bytes > (bytes+cacheLine-1)&^(cacheLine-1)
}

// rowsAhead returns how many rows ahead to prefetch, and that at least as far as they fit into what bytesAhead says and no more
// than a call of so many ids allows, where it is so many bytes of each.
func rowsAhead(table *Matrix, bytes, ids, least int, near bool) int {
	short, long := bytesAhead(near)
	ahead := min(max(short/bytes, least), aheadMost, max(aheadFew, ids/4))
	if halves() && bytes > lineBytes/4 && extent(table) <= closeBytes/4 {
		ahead = min(ahead, closeAhead)
	}
	return min(ahead, max(long/bytes, 1))
}

// aheadOfFew returns how many rows ahead to prefetch, no more than so many, where a call has few ids. What is prefetched before anything else is
// done fills, it seems, what a Zen 4 can have on its way at once, and whatever is read meanwhile waits behind it: so it is startBytes of long rows.
// Times of that over those with aheadBytes and aheadLeast rows, fresh ids in one call after the other, medians of 15 interleaved rounds, AVX-512:
//
//	table            ids  gather  scatter-add  embed  SGD   Adagrad  Adam  sums of 10  Dots
//	213,333 x 300     8           0.98         0.98   0.83  1.02     1.00  1.06        0.97
//	                 32   0.91    0.94         0.90   0.92  0.99     0.97  0.96        1.01
//	                128   0.98    0.98         0.97   0.99  0.98     0.93  0.99        1.01
//	125,000 x 512     8           0.91         0.86   0.80  0.87     0.84  0.85        0.96
//	                 32   0.84    0.87         0.89   0.85  0.88     0.92  0.95        0.93
//	                128   0.97    0.95         0.96   1.00  0.96     1.00  0.98        1.04
//	 83,333 x 768     8           0.75         0.87   0.81  0.89     0.89  0.86        0.87
//	                 32   0.88    0.88         0.95   0.92  0.96     0.95  0.93        1.01
//	                128   0.94    0.98         0.98   1.00  0.99     0.98  0.98        1.03
//	 62,500 x 1,024   8           0.78         0.90   0.86  0.81     0.85  0.80        0.83
//	                 32   0.89    0.85         0.93   0.93  0.93     0.87  0.95        0.97
//	                128   0.91    0.98         0.96   0.99  0.97     1.02  0.98        1.00
//	 15,625 x 4,096   8           0.86         0.84   0.90  0.78     0.85  1.00        1.00
//	                 32   0.95    0.95         0.96   0.94  0.85     0.90  1.03        0.94
//
// (10, 50 and 130 ids of the last two, of 8 gather has copyParts). From 512 ids on it makes no difference, or takes up to 1.1 times as long; rows of
// 8,192 columns take up to 1.14 times, and of 12,288 1.37; and 16 and 32 of 200 and 256 columns 1.1 and 1.2.
func aheadOfFew(ahead, bytes, ids int) int {
	if halves() && ids <= startIDs && bytes > longBurst && bytes <= startMost {
		return min(ahead, max(startBytes/bytes, 1))
	}
	return ahead
}

// bytesAhead returns how much may be on its way into the second-level cache, or into the first: of short rows, and of long ones.
func bytesAhead(near bool) (short, long int) {
	switch {
	case near:
		return nearShortBytes, nearBytes
	case fullWidth():
		return tuning.AheadBytes, wideBytes
	case isa.Active() == isa.AVX2:
		return fewBytes, nearBytes
	case halves():
		return halfBytes, longBytes
	}
	return aheadBytes, longBytes
}

// fetch prefetches the first rows that ids choose, which no row before them does, and no more than wholeBytes of each: of all
// of them the first KiB, then the next, since the processor's own prefetcher goes on from there. On a Zen 4, ns per row
// without it, where it takes one row after the other, and so, which is the same up to 1 KiB; fresh ids in one call after the
// other, medians of 101 interleaved rounds. With nothing in any cache, 0.8 to 1 of the time.
//
//	table, ids                gather            scatter-add       embed
//	50,257 x 768     2        656  686  571     646  471  381     651  501  406
//	50,257 x 768     4        556  413  286     554  386  341     554  418  326
//	50,257 x 768     8        556  528  441     555  406  361     572  411  374
//	50,257 x 768    16        493  381  350     434  325  319     433  341  330
//	50,257 x 768   128        262  245  244     247  232  235     300  289  290
//	1,000,000 x 512 16        362  249  244     566  422  369     403  304  313
//	1,000,000 x 64  32       83.9      42.2    79.5      33.8    96.1      34.8
//	1,000,000 x 64 128       40.1      30.6    44.9      33.2    46.6      34.1
//
// Rows of 768 that are in the first or second level take 14 ns longer so: a gather of 2 of them by the kernel 61 and not 47
// each, of 8 75 and not 60.
//
// With AVX2 alone it is lineBytes of each, on the evidence of a Zen 3. Nothing, so much and up to wholeBytes, medians of 400
// rounds that alternate, fresh ids in one call after the other, and at last the same ones over and over:
//
//	table, ids              gather            scatter-add       embed             sums of bags
//	50,257 x 768     4      427  360  385     574  460  476     523  437  455     391  351  408
//	50,257 x 768     8      279  248  262     434  347  377     544  444  483     353  311  375
//	50,257 x 768    32      305  306  314     380  381  394     509  502  538     303  303  338
//	50,257 x 768   128      374  364  390     345  339  346     444  439  467     292  288  300
//	301,542 x 128    4      104   86   91     185  142  138     206  160  157     155  133  137
//	301,542 x 128    8      119   94  106     103   93   88     172  132  134     131  107  120
//	301,542 x 128  128     89.8 83.3 87.2    82.9 76.4 75.9     116  102  105    64.5 62.1 63.8
//	50,257 x 768     8, warm 61   66  101      83   88  124      73   76   97      60   65   98
//
// With AVX-512 that is not in halves it is two lineBytes. On a Zen 5 nothing, 256 bytes, so much, 1 KiB and up to wholeBytes,
// where 64 MB of something else are read in between, and where not, and where the same few ids come again and again:
//
//	table, ids                  gather                   scatter-add              embed
//	50,257 x 768     2, cold    693  579  571  572  620  1144 1033 1009 1015 1141 1196 1151 1124 1146 1252
//	50,257 x 768     8, cold    469  328  327  340  358   482  398  392  427  449  497  432  435  455  478
//	50,257 x 768     2          274  265  264  264  242   282  276  278  274  274  276  272  272  266  246
//	50,257 x 768     8          237  222  218  215  214   342  319  312  306  300  221  211  210  210  210
//	1,000,000 x 128 16         56.9 44.6 43.0 43.1 43.2  57.1 48.3 46.2 47.2 47.2 83.0 67.9 56.4 56.7 56.0
//	10,000 x 768     8, again  46.3 47.8 48.4 48.9 53.2  50.5 50.9 51.1 51.6 54.6 78.6 78.7 78.8 79.9 84.7
func fetch[I ID](table *Matrix, ids []I, ahead int, h *hint) {
	if ahead > 0 && !h.follows {
		most := wholeBytes
		switch {
		case isa.Active() == isa.AVX2:
			most = lineBytes
		case fullWidth():
			most = 2 * lineBytes
		}
		n, bytes := min(len(ids), ahead), min(table.Cols*4, most)
		fetchRows(table, unsafe.Pointer(&ids[0]), wide(ids), n, bytes)
	}
}

// fetchNext is forward.Fetch.
func fetchNext(n forward.Next) {
	if isa.Active() == isa.Portable || n.Rows == 0 {
		return
	}
	wide := uint64(0)
	if n.Wide {
		wide = 1
	}
	race.Read((*byte)(n.IDs), n.Rows*(4+4*int(wide)))
	fetchRows(&n.Table, n.IDs, wide, n.Rows, min(n.Table.Cols*4, wideBytes))
}

// ahead is forward.Ahead.
func ahead(table *Matrix) int {
	if isa.Active() == isa.Portable || cached(table) {
		return 0
	}
	bytes, most := min(table.Cols*4, wideBytes), longBytes
	switch {
	case halves():
		return min(max(startBytes/bytes, 1), aheadFew)
	case fullWidth():
		most = wideBytes
	}
	return min(max(aheadBytes/bytes, aheadLeast), aheadFew, max(most/bytes, 1))
}

// fetchFew prefetches rows that are copied by copyFew or copyByID.
func fetchFew[I ID](table *Matrix, ids []I) {
	if isa.Active() != isa.Portable && !heldLines(table) {
		fetch(table, ids, len(ids), &hint{})
	}
}

// fewPart returns how many of few rows are prefetched, at first and while as many are copied, for the reason that aheadOfFew has: startBytes of a
// table that no cache holds where AVX-512 is in halves. On a Zen 4, times of that over those with all of them prefetched first, 4, 8, 12 and 16 fresh
// ids, medians of 31 interleaved rounds; 3, 4, 6 and 12 KiB gain less:
//
//	columns  256   300   400   512   768   1,024  2,048
//	 4       1.00  1.01  0.98  1.01  0.89  0.96   0.97
//	 8       0.99  0.79  0.74  0.83  0.77  0.87   0.92
//	12       0.97  0.81  0.77  0.74  0.72  0.84   0.89
//	16       0.99  0.79  0.72  0.72  0.71  0.81   0.88
//
// Of tables of 12.8 MB fresh ones took 1.00 to 1.10 times as long so, and of any the same ones over and over 1.01 to 1.12.
func fewPart(table *Matrix) int {
	if halves() && extent(table) > heldBytes/4 {
		return max(1, startBytes/4/table.Cols)
	}
	return severalIDs
}

// fewAtOnce reports whether so many rows are so few and so short that a processor that goes ahead by some 150 instructions asks for all of them
// at once by itself: so many for each row as move fewAheadColumns, and one for four columns. On a Zen 3 with AVX2, times of 2, 4, 8 and 16
// ids without a prefetch over those with it, the same ones over and over and fresh ones, medians of 31 interleaved rounds; the bar is behind the
// last of those that go without it.
//
//	table             the same ids              fresh ids
//	   50,257 x 8     0.77 0.74 0.67|0.62      0.95 0.95 0.83|0.82
//	4,000,000 x 8     0.75 0.74 0.65|0.62      1.00 0.98 1.00|1.13
//	   50,257 x 16    0.77 0.70 0.71|0.68      0.97 0.98 0.95|0.96
//	1,000,000 x 32    0.77 0.76|0.70 0.68      1.00 1.01|1.32 1.23
//	1,000,000 x 64    0.77 0.71|0.68 0.67      1.00 0.98|1.07 1.10
//	  500,000 x 128   0.79|0.76 0.70 0.73      1.04|1.22 1.16 1.21
//	  100,000 x 256   0.82|0.84 0.83 0.86      1.02|1.08 1.14 1.18
//
// With AVX-512 all that is copied counts alone: see tuning.FewElements; but where it is in halves, for no more than fewIDs rows: on a Zen 4, 20, 24,
// 28 and 32 fresh rows of 4,000,000 x 16 took 1.15 to 1.49 times as long without it, and 0.95 to 0.99 with it.
//
// Without it scatter-adds and Embed of as many, whose kernels have more to do for a row, take up to 1.3 times as long where ids are fresh on
// that Zen 3, and up to 1.2 times on a Zen 5, of 4,096 to 65,536 rows over and over.
func fewAtOnce(rows, cols int) bool {
	if isa.Active() == isa.AVX512 {
		most := tuning.FewElements
		if cols%(cacheLine/4) == 0 {
			most += most / 2
		}
		return rows*cols <= most && (rows <= fewIDs || !tuning.Halves)
	}
	return isa.Active() == isa.AVX2 && rows*(fewAheadColumns+cols) <= fewAhead
}

const (
	fewAhead        = 640 // columns
	fewAheadColumns = 64
)

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

// fetchLone prefetches the row of lone where AVX-512 is in halves, if it is long: fresh ones of 300 columns take as long with it and without.
func fetchLone[I ID](table *Matrix, ids []I, h *hint) {
	if table.Cols > longBurst/4 && tuning.Halves {
		fetchLong(table, ids, h)
	}
}

// fetchLong is not part of it, which has to be inlined.
func fetchLong[I ID](table *Matrix, ids []I, h *hint) {
	if isa.Active() == isa.AVX512 && h.more >= 0 && !cached(table) {
		fetch(table, ids, 1, h)
	}
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
