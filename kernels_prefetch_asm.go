//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
)

// What of a table's rows is prefetched, and when: rows of a table that no cache is sure to hold (cached), at once or line by line (prefetch), so
// many ahead (rowsAhead), and before anything else the first ones (fetch). None of it was measured on Arm; cores with a smaller third level may want
// a lower tuning.CachedBytes.

// cached reports whether a table sits in the second-level cache, or so nearly that its rows are not prefetched. On one core of
// a Zen 5 (1 MiB second level, 32 MiB third) with AVX-512, tables on 2 MiB pages, fresh uniform ids, ns per row without prefetching rows into that
// cache and with it, medians of 15 interleaved rounds:
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
func cached(table *Matrix) bool {
	size := extent(table)
	return size <= tuning.CachedShortBytes/4 || table.Cols > tuning.CachedShortColumns && size <= tuning.CachedBytes/4
}

// heldLines reports whether a gather is to leave alone a table whose rows are a few lines each: see tuning.HeldLinesBytes.
func heldLines(table *Matrix) bool {
	return table.Cols > lineBytes/8 && table.Cols <= lineBytes/4 && extent(table) <= tuning.HeldLinesBytes/4
}

// near reports whether kernels that can prefetch rows of a table into the first-level cache do: see tuning.NearBytes.
func near(table *Matrix) bool {
	return fullWidth() && table.Cols > tuning.NearColumns && extent(table) <= tuning.NearBytes/4
}

// How a row comes: all of it at once, or line by line while another row is done, which costs 5 to 10 percent in caches. On a Zen 4, ns per row of
// fresh uniform ids, tables on 2 MiB pages, medians of 21, without, at once and line by line, those of a line all of one process:
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
// 8 percent, and those bytes 2.
//
// With AVX2 alone rows of more than lineBytes come line by line, but for those of OVERLAP_ROWS (in shortrows_amd64.h), and long
// ones of several rows at once, which tuning.NarrowAbreastColumns is about,
// on the evidence of a Zen 3, and of rows from middleBytes on the first line comes earlyRows ahead: meanwhile its address is
// translated, which that machine has to do often even with pages of 2 MiB (of 1,024, 4,096 and 16,384 pages of 4 KiB a line
// each, one after the other: 7, 27 and 34 ns per line with them, 7, 41 and 111 without; the second level holds the first two).
// Ns per row at once, line by line, and line by line with an early one, where nothing is in a cache but for the last table, which the
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
// Rows of 49 to 63 columns, and by COLUMNS those of 25 to 31, end with lines that are done from left to right (mixedBytes
// says why that matters): where the table has more than beyondTable, beyondBytes behind them are prefetched too. Ns per row of
// gathers on a Zen 4 with AVX2, by COLUMNS, without and with it: 1,000,000 x 26 18.4 and 11.8, x 52 31.7 and 19.2, x 60 39.0 and 26.9;
// 150,000 x 28 16.0 and 13.2, 100,000 x 28 9.5 and 11.3; 70,000 x 60 20.2 and 18.7, 50,000 x 60 11.6 and 11.7. Rows of
// lineBytes are prefetched at once since their lines are done in another order: 1,000,000 x 64 18.2 line by line and 15.2,
// 100,000 x 64 17.4 and 13.6. Of those of up to shortColumns it is the line behind that is fetched so, in whatever order
// lines are done: a gather and a scatter-add of 1,000,000 x 26 without and with it 10.2 and 9.1, 12.2 and 9.1, x 31 11.6 and
// 10.6, 15.4 and 9.7; of 50,257 x 30 3.87 and 4.09, 4.36 and 4.57.
//
// Prefetching into the first level, by PREFETCHT0 or for writing by PREFETCHW, is much worse on a Zen 4 (scatter-add, 50,257 x 768:
// 246, 375, 361); tuning.NearBytes is about who gains by it.
const (
	cacheLine   = 64       // of most processors
	lineBytes   = 256      // a block of AVX-512: rows of no more come at once
	middleBytes = 2 << 10  // so do, where AVX-512 is in halves, those from here
	wholeBytes  = 4 << 10  // to here, if the rows in their order are few
	spareBytes  = 8 << 20  // few are no more than these
	longBurst   = 1 << 10  // the first of longer rows, if a cache may hold the table
	heldBytes   = 32 << 20 // a table that a last-level cache may hold
	earlyRows   = 24       // with AVX2 alone
	beyondBytes = 96       // behind short rows
	beyondTable = 12 << 20 // of a table larger than these
)

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

// How far ahead long rows are prefetched matters little above aheadLeast (but see aheadOfFew and longAhead), as long as those fit into longBytes of
// the second-level cache, or into wideBytes where AVX-512 is not in halves, or nearBytes with AVX2 alone and of the first level (tuning.NearBytes),
// but for four that come abreast: ns per row with the first and the second on a Zen 5, before rows came abreast, 512 ids of 16,384 x 12,288 written
// past the caches 2097 and 1993, 2,048 of 50,257 x 4,096 865 and 818, 128 of 16,384 x 12,288 by Adagrad 5116 and 4546, others 0.95 to 1.02 of the
// time.
const (
	aheadLeast = 8 // rows
	longBytes  = 512 << 10
	wideBytes  = 64 << 10
	nearBytes  = 32 << 10
)

// Short rows are prefetched up to aheadMost ahead, which is aheadBytes of rows of 64 columns (nearShortBytes of the first level, and more where
// tuning.AheadBytes is), but no more than a quarter of a call's ids or aheadFew, since the first are prefetched before anything else is done (a
// gather of 128 ids of 1,000,000 x 16, which come again and again, 2.55 ns per row with 32 and 2.79 with 96). A Zen 5, ns per row with 32, 64 and 96
// rows ahead, and bags, which had 16, with 16, 32, 48 and 96; medians of 15 interleaved rounds:
//
//	table             gather           scatter-add      embed            sums of bags of 10
//	1,000,000 x 8     4.68 3.22 2.54   4.70 3.21 2.63   5.41 3.62 2.84
//	4,000,000 x 16    5.40 3.91 3.30   5.64 4.34 3.53   5.91 4.09 3.42   7.56 5.68 4.60 3.40
//	1,000,000 x 32    6.36 4.87 4.64   7.27 5.08 4.84   7.54 5.73 5.52   7.98 6.06 4.98 3.67
//	1,000,000 x 64    9.56 9.71 9.73   11.1 11.5 11.5   14.8 13.8 13.7   9.12 7.65 7.67 7.51
//	1,000,000 x 128                                                      15.3 15.9 15.4 15.4
const (
	aheadMost      = 96 // rows
	aheadFew       = 32
	aheadBytes     = 24 << 10
	nearShortBytes = 8 << 10
)

// halfBytes stands for aheadBytes where AVX-512 goes in halves. On a Zen 4, times of that over those of the other, fresh ids, medians of 15
// interleaved rounds:
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
const halfBytes = 12 << 10

// Where AVX-512 is in halves, rows of more than startMost have longAhead, or manyBytes of the second level, if there are more than startIDs ids. On
// a Zen 4, times of that over those of aheadLeast and longBytes, medians of 11 interleaved rounds, of gathers, scatter-adds and Embed of two runs:
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
const (
	longAhead = 16
	manyBytes = 768 << 10
)

// Where AVX-512 is in halves it is no more than closeAhead rows of more than a line, of tables of up to closeBytes, which the third level holds. On
// a Zen 4, times of that over those of up to aheadMost, 2,048 uniform ids, sums and the next two columns in bags of 10, medians of 31 interleaved
// rounds:
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
const (
	closeAhead = 24
	closeBytes = 8 << 20
)

// fewBytes stands for aheadBytes with AVX2 alone, as nearBytes of long rows and their states does for longBytes. On a Zen 3, times of these over
// those of the others, medians of 21 and 31 interleaved rounds (it takes longer and longer from 16 rows of 64 columns on, it seems, since the first
// level of its TLB, which has 64 pages, has lost those of rows prefetched long before):
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
const fewBytes = 4 << 10

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

// Where AVX-512 is in halves startBytes are on their way of few rows (aheadOfFew, fewPart), and of those that are cleared (ahead). Few are up to
// startIDs ids; rows of more than startMost do otherwise (longAhead).
const (
	startBytes = 8 << 10
	startMost  = 16 << 10
	startIDs   = 256
)

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

// straddles reports whether rows, if there are enough of them, straddle one line more than their bytes fill, since some begin so late within their
// first. That line is prefetched, too: ns per row without and with it, in no cache but for the third table, which the third level holds, AVX-512,
// medians of 31 interleaved rounds:
//
//	table           ids     gather       scatter-add  embed        UpdateSGD    UpdateAdagrad  Dots
//	1,000,000 x 25  8,192   35.2  29.3   32.9  15.9   36.6  24.4
//	1,000,000 x 30  8,192   36.3  20.8   56.1  28.4   55.2  28.9   36.5  20.1   89.9  35.9     52.6  26.8
//	   50,257 x 30  2,048   37.5  12.5   25.3  10.3   19.3   9.9
//	  200,000 x 300 4,096                                           146   147    253   240      124   115
//
// Where there can be none it is not: to a processor a line that is on its way already is one more to fetch. On a Xeon, AVX-512, 8,192 uniform ids,
// times without over those with it, medians of 15 interleaved rounds:
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
