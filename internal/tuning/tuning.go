// Package tuning holds the sizes from which on large work is done differently, so that tests can lower them, and which of two
// ways AVX-512 goes. Nothing but tests writes to them, while nothing else runs.
package tuning

import (
	"math"

	"github.com/rowvec/rowvec/internal/isa"
)

// StreamBytes is the size from which on results are written past the caches, on amd64 with vectors. Gather on a Zen 5 with
// 32 MiB of third-level cache whose rows were prefetched at once, ns per row with ordinary stores and streaming: alone, and with
// the result read right behind, both counted; medians of 21 interleaved rounds. Halves has what it gains there line by line.
//
//	50,257 x 768     12.6 MB    293   213    231   298
//	50,257 x 768     25.2 MB    248   203    466   371
//	50,257 x 768     50.3 MB    262   194    426   337
//	200,000 x 512    16.8 MB    172   142    172   185
//	1,000,000 x 128  33.6 MB    46.0  35.0   91.0  66.9
//	50,257 x 4,096   33.6 MB    1294  1114   1893  1890
//
// and on a Zen 4 with as much:
//
//	50,257 x 768      6.3 MB    284   251    320   356
//	1,000,000 x 512   8.4 MB    226   223    254   293
//	1,000,000 x 512  16.8 MB    261   233    317   307
//	50,257 x 768     25.2 MB    377   272    492   399
//	50,257 x 768     50.3 MB    375   246    498   370
//	1,000,000 x 128  33.6 MB    63.3  65.7   85.7  79.1
//	125,000 x 4,096  33.6 MB    1806  1239   2306  1900
//
// What is smaller is faster where somebody reads it, since it stays in cache.
var StreamBytes = 16 << 20

// Large reports whether a result of so many elements is to be written past the caches.
func Large(elements int) bool { return elements >= StreamBytes/4 }

// ParallelElements is the size from which on a second worker pays in a pass of a layer, forward or backward, in a step of an optimizer,
// and in the lengths of the rows of a search; bags, which write less, look up 1.5 times as much and more. Times of one worker over those of
// two, on two cores of a virtual Zen 4, at 512 Ki, 768 Ki, 1 Mi and 2 Mi elements with uniform and with Zipf ids: medians of 120 calls, six
// of a kind behind one another, of which the first two do not count. BenchmarkWorkers of package lookup does the like; with it, bags of
// 10,000 x 64 had 0.88 at 1 Mi and 1.15 at 2 Mi.
//
//	lookups            uniform              Zipf                 bags of 10: uniform  Zipf
//	50,257 x 768       0.71 1.17 1.33 1.58  1.08 1.29 1.45 1.71  0.88 1.07 1.22 1.38  0.93 0.97 1.10 1.31
//	1,000,000 x 128    1.33 1.49 1.59 1.64  1.01 1.07 1.54 1.77  1.37 1.26 1.69 1.81  1.19 1.37 1.46 1.83
//	1,000,000 x 64     0.97 1.36 1.48 1.60  1.19 1.33 1.50 1.76  1.78 1.73 1.59 1.80  1.10 1.41 1.53 1.68
//	1,000,000 x 16     1.34 1.61 1.66 1.75  1.27 1.53 1.22 1.69  1.64 1.55 1.77 1.85  1.48 1.51 1.77 1.84
//	50,257 x 64        0.72 0.96 1.03 1.34  0.84 0.89 0.97 1.17  1.05 1.15 1.51 1.67  1.02 1.18 1.34 1.63
//	10,000 x 64        0.62 1.05 1.39 1.67  0.96 1.17 1.29 1.58  0.86 0.84 1.12 1.46  0.83 0.88 1.19 1.31
//	50,257 x 4,096     1.42 1.57 1.37 1.51  1.12 1.46 1.46 1.71  1.05 0.92 1.25 1.38  0.89 1.12 1.24 1.46
//
// Layers with positions gain from 1.02 to 1.72 at 1 Mi and from 1.11 to 1.89 at 2 Mi. Here and below, it is worse where the system
// has both threads share a core, which it did in 4 to 76 percent of the calls of six runs.
//
// A pass of training by sparse gradients is shared as a whole or not at all: rows that one worker changes while they lie in the caches of
// others, which looked them up, take it longer than if it had done both. Times of one worker over those of w in passes of a lookup and a
// step by the batch, with the lookup alone shared and with both, and of a lookup, a gradient and a step by that, with the first, the first
// two and all of them shared; on two cores of a Xeon and on 16 of another, at 512 Ki elements (768 Ki of 50,257 x 768, 1 Mi of
// 50,257 x 64), medians of 27 and 21:
//
//	                       w  SGD: uniform  Zipf        Adagrad: uniform  Zipf             Adagrad by gradient, Zipf
//	1,000,000 x 64         2  0.88 1.28     0.79 1.14   0.83 1.40         0.83 1.22        0.81 0.89 1.04
//	                      16  0.78 1.27     0.94 1.35   0.63 1.21         0.69 1.37        0.61 0.67 1.17
//	1,000,000 x 128        2  0.90 1.34     0.96 1.20   0.82 1.43         0.90 1.24        0.84 0.97 1.15
//	                      16  0.72 1.35     0.92 1.42   0.56 1.52         0.73 1.56        0.68 0.68 1.32
//	200,000 x 256          2  0.92 1.30     0.93 1.28   0.88 1.55         0.83 1.25        0.87 1.01 1.19
//	50,257 x 768           2  0.95 1.45     0.90 1.20   0.93 1.54         0.87 1.35        0.84 1.01 1.27
//	                      16  0.72 1.91     0.82 1.77   0.72 2.30         0.58 1.70        0.70 0.80 1.90
//	50,257 x 64            2  1.10 1.43     1.04 1.24   1.16 1.60         0.99 1.17        0.95 1.00 1.12
//	                      16  1.06 1.45     1.17 1.44   1.18 2.05         0.98 1.47        0.87 0.94 1.16
//
// So lookups, gradients and steps have one size, and what a gradient holds is changed by several workers if several have added it up,
// though fewer rows are left of a batch with Zipf ids. Four workers or more pay from three quarters of it on. Times of one over those of
// 4 and of 16 on the 16 cores, for 384 Ki elements of 1,000,000 rows and of 50,257 x 768, and 768 Ki of the others:
//
//	                   lookups: uniform  Zipf       SGD                   Adagrad
//	1,000,000 x 64     1.91 1.85  1.33 1.35         1.14 0.99  1.12 0.95  1.04 0.88  0.96 0.96
//	1,000,000 x 128    1.98 2.40  1.38 1.80         1.34 1.65  1.28 1.33  1.00 1.22  1.21 1.22
//	50,257 x 768       1.60 1.73  1.62 1.53         1.31 1.52  1.18 1.30  1.39 1.68  1.27 1.41
//	10,000 x 64        1.85 1.74  1.33 1.34         1.19 1.08  0.97 0.97  1.31 1.18  1.03 1.06
//	50,257 x 64        1.93 1.59  1.45 1.41         1.15 0.99  1.08 1.02  1.34 1.21  1.17 1.19
//
// At two thirds of these, passes over 1,000,000 x 64 took 0.74 to 1.33 and 0.77 to 1.09, and lookups 1.02 to 1.77.
var ParallelElements = 1 << 20

// ColdBytes is the size of a table above which half as many elements are shared: no cache holds it, or only one that is as slow.
// Lookups in a table of 1,000,000 x 64 by 2, 4 and 16 workers were 1.5, 2.1 and 2.1 times as fast as by one at 512 Ki elements, and 1.3,
// 1.6 and 1.7 times at 256 Ki, but on the two cores 1.3, and 0.99 or, with Zipf ids, 0.82.
var ColdBytes = 64 << 20

// ParallelRotaryElements is the same for rotary positions: at 1, 2 and 4 Mi elements 0.93, 1.00 and 1.72 with 768 columns, 0.83,
// 1.19 and 1.50 with 4,096.
var ParallelRotaryElements = 2 << 20

// PassElements is the size of the gradient of a layer's result up to which one gradient of a table after the other goes over all of it,
// since it stays in cache. Beyond, all are added to from a piece before the next, but those of positions of fewer than ManySequences, of
// which a kernel adds the rows of several to a row of positions at once. How long that takes, to what it takes by whole passes, on one core of
// a Zen 5, for 64 sequences of 128 Zipf ids and for 512 of 16, with learned positions, with segments, and with both, medians of 9 to 31 in
// random order:
//
//	50,257 x 768      0.98 0.92   0.87 0.84   0.84 0.78
//	32,000 x 4,096    0.92 0.90   0.71 0.72   0.71 0.71
//	100,000 x 300     1.03 1.10   1.01 1.01   0.97 1.06
//
// With positions alone, 32 of 128 took 1.03 (768 columns), 0.98 (4,096) and 1.09 (300), and 16 of 512 1.04 and, 300 columns, 1.06; 1 Mi
// elements and fewer 0.9 to 1.2. It is also the size from which on rows are fetched that elements are dropped from one by one: dropRows of
// package rowvec.
var PassElements = 1 << 20

// ManySequences is said at PassElements.
const ManySequences = 64

// ShareColumns is the number of columns up to which workers share dense gradients of tokens by columns, but see ShareElements, and not
// by rows, for which each goes over all ids, and rows of the gradient come with gaps. But workers that have no cache in common slow
// each other down where they write to different lines of a row. How many times faster than one two workers are on a virtual Zen 5,
// by columns and by rows, when ids were divided by one of them first, at 1.5 and then at 3 Mi elements, medians of 40 runs in which a
// line took 40 ns from one core to the other; and of the first table one run that began with 200, at 2 and 4 Mi, and one with 60, by
// rows with kernels that prefetched nothing and four lines of the rows with gaps:
//
//	                     uniform                   Zipf
//	50,257 x 768         1.41 1.25   1.39 1.26     1.34 1.42   1.50 1.52
//	             200     0.82 1.60   0.94 1.43
//	              60     0.75 1.49   0.96 1.53     0.65 1.39   0.76 1.40
//	200,000 x 512        1.37 1.16   1.38 1.19     1.48 1.36   1.69 1.47
//	300,000 x 256        1.33 1.19   1.34 1.21     1.41 1.37   1.65 1.49
//	1,000,000 x 128      1.23 0.68   1.31 0.44     1.54 0.61   1.77 0.44
//
// Where one row is chosen by so many ids that it would keep one worker busy, columns are shared all the same.
var ShareColumns = 512

// ShareRewritten is ShareColumns where few rows of other tables are written to over and over, such as those of types: one worker does
// these then, and others tokens. Times of two workers to those of one, by columns and by rows, on two cores of a Zen 5 that hand over a line in
// 240 ns, for 8,192 and 32,768 Zipf ids in sequences of 128, ragged ones and such of which elements are dropped, medians of 15; and of
// tokens alone:
//
//	                     ragged                   dropout                  tokens alone
//	200,000 x 512        0.95 0.65   1.05 0.75    1.37 0.83   1.35 0.85    0.73 0.74   0.70 0.71
//	100,000 x 300        1.27 0.90   1.22 0.91    0.76 0.71   0.72 0.74    1.17 0.94   0.96 0.86
//	300,000 x 256        0.98 0.88   0.91 0.75    1.31 0.82   1.24 0.82    1.02 0.89   0.83 0.78
//	1,000,000 x 128      1.15 1.12   1.16 1.24    1.21 1.14   0.97 1.07    1.13 1.15   0.79 1.00
//
// Where a line takes 40 ns, tokens alone gain more by columns: see ShareColumns.
var ShareRewritten = 255

// ShareElements is the size from which on rows are shared where columns would be too few shares: by eight workers and more, which are at
// least twice as many. How many times faster than one 2, 4, 8 and 16 workers are on 16 cores of a Xeon, by columns and by rows, at 1.5
// and at 8 Mi elements, medians of 14:
//
//	                     columns                                   rows
//	1,000,000 x 16       1.00 1.07 1.00 0.99   1.01 1.04 1.11 1.07   0.53 0.93 1.01 0.85   0.61 1.16 1.93 2.03
//	1,000,000 x 64       1.36 1.31 1.42 1.41   1.55 1.59 1.77 1.72   0.89 1.41 1.50 1.65   1.04 2.10 3.06 3.10
//	             Zipf    1.11 1.26 1.29 1.21   1.34 1.36 1.37 1.36   0.77 1.13 1.18 1.13   0.81 1.59 2.70 3.22
//	10,000 x 64          1.23 1.28 1.28 1.22   1.41 1.33 1.37 1.41   0.64 1.03 1.30 1.26   0.76 1.45 2.48 2.25
//	1,000,000 x 128      1.84 2.75 2.61 2.70   1.96 3.05 3.00 3.01   1.24 2.04 2.48 2.62   1.22 2.57 3.75 3.82
//	300,000 x 256        1.29 3.13 3.13 3.35   1.66 3.49 4.51 4.65   1.38 2.11 2.57 3.05   1.43 2.67 3.90 4.48
//	200,000 x 512        1.54 2.06 3.22 3.78   1.52 2.59 4.57 5.00   1.47 2.30 3.10 3.34   1.39 2.69 3.98 4.68
//	50,257 x 768         1.38 1.83 2.76 3.42   1.64 2.65 4.48 5.02   1.46 2.18 2.86 2.89   1.45 2.66 4.39 5.34
var ShareElements = 4 << 20

// ClearColumns is the number of columns from which on workers share the clearing of a gradient of tokens, each some of the columns. Two were
// 1.42 to 1.90 times as fast as one with 4,096 to 32,768 ids of 50,257 x 768, and 1.06 and 1.08 times with 4,096 of 128,256 x 2,048, on two
// cores of a Zen 5 that hand over a line in 250 ns, but 0.48 to 0.74 times with 64 and 128 columns.
var ClearColumns = 512

// SharedKeys is the number of ids from which on workers sort them together, if there are at least four. ns per id by one, and by 2, 4, 8
// and 16 of them on 16 cores of a Xeon, of tables of 50,257 and of a million rows, medians of 63 with a pause in between:
//
//	  8,192 ids    10.7 11.3 16.4 19.4 26.3    16.3 15.9 22.0 19.0 25.5
//	 32,768        15.6 15.5 8.75 7.34 9.58    11.7 11.9 11.8 11.2 10.2
//	131,072        14.1 12.0 7.54 4.93 4.38    19.6 19.1 7.88 5.92 5.23
//	524,288        21.5 22.0 6.19 3.61 2.47    28.5 28.1 8.29 4.76 3.14
//
// (two are one here: on two cores they took 8.1 together where one took 8.4, of 131,072 ids; and workers had a chunk each, of which there
// is one for 4,096 ids since).
var SharedKeys = 32 << 10

// LeastElements is what a worker takes at least of the rows of a call. With 16 Ki lookups by two workers took 0.92 to 1.07 of the
// time, in eleven shapes of 128 Ki to 6 Mi elements, twice.
var LeastElements = 32 << 10

// LeastLines is what it takes at least of the columns of a backward pass, in lines of the cache. Two workers were 1.30, 2.03 and
// 1.92 times as fast as one at 1, 1.5 and 2 Mi elements of 1,000,000 x 64, which with 4 lines are not shared.
var LeastLines = 2

// ParallelProducts is the number of products from which on a second worker computes logits and their gradients with the
// first. At 2, 4 and 8 Mi products the logits gained 1.02, 1.88 and 1.49 with one hidden state of 64 columns, 0.88, 1.12 and 1.58
// with 16 of them; with 768 columns 1.15, 1.34 and 1.53, and 0.92, 0.84 and 1.37.
var ParallelProducts = 4 << 20

// ScreenedQueries is the number of queries of a search from which on rows are compared in 16 bits first. Its time over that
// of a search without, one core of a busy Zen 4, medians of 9 interleaved rounds, for 4, 8, 12, 16 and 64 queries:
//
//	                 AVX2                          AVX-512
//	100,000 x 32     1.67  1.15  0.98  0.85  0.60  1.14  1.22  1.08  1.00  0.77
//	100,000 x 64     1.00  1.24  1.06  0.85  0.63  1.35  1.29  1.03  1.05  0.71
//	50,257 x 128     0.83  1.10  1.02  0.81  0.57  0.71  0.73  0.78  0.91  0.66
//	50,257 x 300     0.71  0.76  0.70  0.57  0.50  0.70  0.64  0.59  0.59  0.59
//	20,000 x 768     0.88  0.83  0.67  0.68  0.56  1.15  0.86  0.74  0.77  0.68
//	5,000 x 4,096    1.22  0.98  0.98  0.86  0.68  1.59  1.28  1.17  1.08  0.80
var ScreenedQueries = 24

// SearchRows is how many rows of a table a search goes on with at most, before it is the turn of the next.
var SearchRows = 480

// CachedBytes is the size of a table up to which no rows are prefetched, since it sits in the second-level cache or nearly, and
// CachedShortBytes that of one of rows of up to CachedShortColumns. Package rowvec has the figures.
//
// Where the second level has 512 KiB or less, rows are short up to 256 columns, and prefetched from 700 KiB on: also with AVX-512,
// of which no processor with so little was at hand. On a Zen 3 times of that over those of 1,400 KiB and 64 columns, medians of 31
// interleaved rounds with 2,048 ids:
//
//	                      gather  scatter-add  embed  SGD   Adagrad  Dots
//	30,000 x 8    0.9 MB  0.94    1.05         0.81   1.06  1.01     0.73
//	15,000 x 16   0.9 MB  0.94    0.93         0.92   1.05  0.98     0.85
//	 8,000 x 32     1 MB  1.01    1.02         1.02   0.98  0.85     0.89
//	 3,000 x 64   0.7 MB  0.96    0.85         0.97   0.89  0.94     0.81
//	 5,000 x 64   1.3 MB  0.97    0.88         0.97   0.95  0.90     0.78
//	 2,000 x 128    1 MB  0.98    0.94         0.97   0.95  0.89     0.89
//	 4,000 x 128    2 MB  0.95    0.85         0.96   0.94  0.86     0.85
//	 1,500 x 256  1.5 MB  0.95    0.89         0.99   0.89  0.98     0.93
//	 3,000 x 256    3 MB  0.90    0.86         0.96   0.89  0.93     0.93
//	 1,500 x 512    3 MB  0.99    0.93         1.06   0.92  1.00     1.20
//	 1,200 x 768  3.7 MB  1.04    0.99         1.04   1.06  0.99     1.22
var (
	CachedBytes        = 4 << 20
	CachedShortBytes   = ofSmall(700<<10, 1400<<10)
	CachedShortColumns = ofSmall(256, 64)
)

// ofSmall returns what a processor has whose second-level cache is known to have 512 KiB or less, or what others have.
func ofSmall(small, other int) int {
	if level := isa.SecondLevel(); 0 < level && level <= 512<<10 {
		return small
	}
	return other
}

// HeldLinesBytes is the size of a table of rows of 132 to 256 bytes up to which gathers prefetch nothing on processors of Intel's. It
// seems that their third level does not keep what has been prefetched into the second and leaves that unchanged: on a Xeon, 2,048 uniform
// ids of 50,257 x 64 took 20.2 ns per row, call after call of one program, with 96 rows ahead, and 15.0 of another without, of x 48 15.2
// and 11.2, of x 34 11.2 and 10.2, of 200,000 x 64 17.2 and 15.5; where a call with and one without take turns, with pages of 4 KiB, 16.4
// and 16.3, with 16 MiB of something else read in between 40.2 and 41.3, of 2 ids 49.8 and 45.5, of 16 13.1 and 12.7, but of 1,000,000
// x 64 43.5 and 51.6; by turns with AVX2 11.7 and 11.6, of 8 ids 16.6 and 16.1. Updates take 1.0 to 1.3 times as long without.
//
// Since no line of rows of whole lines is prefetched twice (straddles of package rowvec), 128, 2,048 and 8,192 ids of 50,257 x 64 take 0.81,
// 0.95 and 0.91 of the time with 96 rows ahead where nothing is done but to draw ids in between, x 33 to x 60 0.79 to 1.22, 1.04 in the middle;
// but right behind one another x 64 1.03 to 1.32, x 48 1.10 and 1.16, x 40 and x 60 1.05 to 1.2, and into the first level 0.97 to 1.2.
//
// Part of that is which of two speeds such a Xeon is at (docs/SPEED.md). Each way in a program of its own, so that it meets no speed but the one
// that it brings about, x 64, means of 10 runs: without 14.4 right behind one another, and 12.0 where ids are drawn in between, 96
// rows ahead 16.8 and 13.7, 32 rows ahead into the first level 17.4 and 10.6.
var HeldLinesBytes = ofIntel(16<<20, 0)

// CachedBagBytes is the size of a table up to which bags prefetch nothing, since little else needs the second-level cache, and
// are done by blocks of columns. On a Zen 4 (1 MiB second level), AVX-512, fresh uniform ids, ns per id without and with 16
// rows ahead, in bags of 1, 10 and 50:
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
// 6 rows ahead are too few (25.8 at 1,000,000 x 64 in bags of 10), and 12, 24 and 32 are as good as 16 there; aheadMost has more.
//
// PREFETCHT0 in place of T1 takes, but for what NearBytes is about, 0.92 to 1.04 of the time at 10,000 x 64 and 5,000 x 128, 0.95 on average, the
// same at twice that size, and 1.4 times as long at 100,000 x 64.
//
// CachedShortBagBytes is that of one of rows of more than 16 columns and up to 128, where that is less, but for processors of Intel's: see
// CachedShortBytes. On a Zen 3,
// in bags of 2, 10 and 50, times of that over those of CachedBagBytes, medians of 31 interleaved rounds:
//
//	                      sums              weighted          maxima
//	10,000 x 32   1.3 MB  0.96  0.97  1.06  0.78  0.83  0.92  0.76  0.85  0.93
//	15,000 x 32   1.9 MB  0.66  0.85  0.99  0.63  0.75  0.89  0.69  0.84  0.88
//	 3,000 x 64   0.8 MB  0.93  0.92  0.91  0.82  0.87  0.90  0.77  0.92  0.89
//	 7,000 x 64   1.8 MB  0.96  0.95  0.99  0.91  0.91  0.91  0.87  0.92  0.92
//	 1,600 x 128  0.8 MB  0.93  0.99  0.99  0.82  0.94  0.87  0.82  0.93  0.96
//	 3,600 x 128  1.8 MB  0.95  1.00  1.01  0.91  0.89  0.96  0.88  0.95  0.97
//
// but 12,000 x 16 1.01 1.20 1.21 0.92 0.98 1.06 0.85 0.83 0.86, and sums of 10 of 1,000 x 256 1.18.
var (
	CachedBagBytes      = 2 << 20
	CachedShortBagBytes = ofSmall(700<<10, 2<<20)
)

// WideBytes is the size of a table up to which AVX2 gathers rows as fast as AVX-512 does, and mostly embeds or adds to those that
// are no multiple of 16 columns: each vector of AVX-512 that does not begin with a line takes two. On a Zen 4, ns per row with
// AVX2 and with AVX-512, medians of 41 and 61 interleaved rounds:
//
//	gather                      gather                      scatter-add            embed
//	 1,000 x 72     7.51  8.35  10,000 x 128    13.1  14.1  1,000 x 40  3.58  4.13  4.58  5.24
//	 1,000 x 128    13.2  13.2  20,000 x 128    23.6  24.6  1,000 x 50  5.81  6.79  6.47  7.71
//	 1,000 x 200    16.5  17.4  30,000 x 128    31.0  29.9  1,000 x 63  7.75  7.32  8.47  8.86
//	 5,200 x 200    20.0  21.2  100,000 x 64    12.8  11.2  1,000 x 100 10.2  10.9  11.7  13.2
//	10,000 x 64     7.3   8.0   100,000 x 100   42.3  38.6  5,200 x 200 20.7  21.5  26.7  27.3
//	10,000 x 100    11.4  12.7  1,000,000 x 128 45.3  34.5  1,000 x 300 30.0  31.6  39.2  41.6
//
// but scatter-adds of 1,000 x 96 7.88 and 7.45, of 5,000 x 64 6.74 and 6.19. Gathers that scale are like others: 10,000 x 64 6.06
// and 6.67, x 128 12.9 and 14.0, 1,500 x 1,024 127 and 124. Rows of up to 64 columns go by END_ROWS since, as hasEnds of package rowvec says.
var WideBytes = 8 << 20

// Halves says that the processor does vectors of AVX-512 in halves, as a Zen 4 does, for which most constants were chosen. One
// that does not, a Zen 5, is better off with END_ROWS for 33 to 128 columns; with longer rows line by line, also where results are
// small; with linear rows that are left to its own prefetcher, windows too; with no more than 64 KiB of rows on their way, or
// four, or what NearBytes says; with BAGS_ENDS, also for bags of 33 to 128 columns that no cache holds; with bags that prefetch nothing up to three
// times CachedBagBytes, or what NearBytes says; with AVX-512 for updates of 33 to 63 columns; and with results that are written past the caches
// a line at a time. On two shared cores of one, tables on pages of 2 MiB, ns per row as a Zen 4 did it then (hasEnds,
// shortTail and avx512Pays of package rowvec have what it does since) and so, medians of 21 interleaved rounds; where there is an S, gathers and
// Embed write past the caches:
//
//	    table, ids                 gather      scatter-add embed
//	1,000,000 x 33         8,192  10.2 6.14   9.40 8.96   9.75 7.53
//	1,000,000 x 40         8,192  11.0 6.42   9.90 7.60   10.6 7.70
//	1,000,000 x 50         8,192  17.2 9.10   17.0 11.5   19.2 10.4
//	1,000,000 x 60         8,192  19.7 9.74   19.3 11.8   22.6 12.2
//	1,000,000 x 64         8,192  14.9 9.62   14.8 9.70   16.6 12.7
//	1,000,000 x 80         8,192  17.8 11.8   20.3 13.2   19.8 13.4
//	1,000,000 x 100        8,192  23.5 19.8   23.8 19.4   25.7 19.2
//	1,000,000 x 128        8,192  25.2 22.4   26.5 22.3   29.0 24.1
//	   50,257 x 64         2,048  7.85 5.21   7.64 5.04   7.88 5.67
//	  200,000 x 200        4,096  38.2 34.9   40.7 36.9   45.0 42.0
//	  300,000 x 256        4,096  49.3 45.2   55.1 48.9   57.6 52.5
//	1,000,000 x 512 S      8,192   175  164    175  173    244  165
//	   50,257 x 768          128   112 88.3    121 92.3    140  113
//	   50,257 x 768        2,048   164  134    224  136    202  146
//	   50,257 x 768 S      8,192   197  151    176  166    205  156
//	   50,257 x 1,024      2,048   240  196    241  188    242  196
//
//	bags of 2, 10 and 50 of 1,000,000 x 128   27.1 17.7   16.7 14.7   16.0 14.1
//
// Bags of 10,000 x 64 take 4.16 and 3.51, 3.05 and 2.50, 2.61 and 2.16 with and without 16 rows ahead right behind one another,
// but 6.02 and 7.77, 4.09 and 5.03, 3.78 and 4.30 with 48 ahead and without where 16 MB of something else are read in between; of
// 10,000 x 128 one call of 10 at a time, and other work in between, 6.04 and 5.44, of 50 5.80 and 4.91. So do processors of Intel's with
// AVX2: on a Xeon bags of 10 and 50 of 10,000 x 64 4.49 and 3.93, 3.93 and 3.54, of 6,000 x 128 14.1 and 9.73, 11.8 and 8.81, of 10,000
// x 128 19.7 and 13.1, 17.5 and 11.2, of 3,000 x 300 40.2 and 28.7, 34.6 and 23.5.
//
// Rows of up to 128 columns are not written past the caches. Gathers lose by it (1,048,576 rows of 8 columns 4.27 and 4.83, 524,288
// of 16 4.83 and 5.38, 65,536 of 128 38.7 and 39.7, and 49.7 and 60.8 with the result read right behind); Embed gains where nobody
// reads the result, 1.01 to 1.2 times in six tables, but not where somebody does (65,536 of 128 50.7 and 57.5).
var Halves = isa.Halves()

// NearBytes is the size of a table up to which kernels that look rows up, their next rows in LayerNorm and Dropout too, prefetch into the
// first-level cache and not into the second, where AVX-512 is not in halves, and less ahead: 32 KiB, or four rows abreast, and of short
// rows 8 KiB. AMD's have no limit since Zen 5. On two shared cores of one, times of that over those of the second level, medians of 41 and 61
// interleaved rounds:
//
//	                      gather  scatter-add  embed  sums of 10  weighted  Dots, 4 rows and 1  SGD   Adagrad  Adam
//	50,257 x 768    8,192  0.97   0.98         0.93   0.97        0.95      0.93 0.94           0.95  0.96     0.93
//	     Zipf       8,192  0.95   0.97         0.95   0.92        0.91      0.97 0.96           0.97  0.95     0.95
//	                  128  0.97   0.94         0.98   0.97        0.95      0.96 0.98           0.96  0.97     0.93
//	50,257 x 4,096  2,048  0.98   0.98         1.02   0.97        0.99      1.02 1.01           1.00  1.00     1.01
//	300,000 x 256   4,096  0.93   0.98         0.99   1.03        1.04      1.04 1.02           0.93  0.96     0.98
//	1,000,000 x 128 8,192  0.94   0.96         0.90   0.90        0.90      0.90 0.89           0.94  0.95     1.01
//	1,000,000 x 64  8,192  0.97   0.78         0.97   0.96        0.96      0.97 0.95           0.99  1.00     1.00
//	4,000,000 x 16  8,192  0.99   0.96         1.05   0.99        0.99      0.99 0.97           0.99  1.00     1.03
//	50,257 x 64     2,048  1.04   0.91         0.97   0.81        0.81      0.90 0.85           0.89  0.84     0.98
//	10,000 x 128    8,192  0.94   0.89         0.95   1.00        0.96      0.75 0.77           1.02  0.88     0.99
//	10,000 x 64     8,192  0.93   0.82         0.91   0.92        0.92      0.83 0.77           0.95  0.93     0.97
//
// LayerNorm of 2,048 x 768 in place 0.87, out of it 0.95; layers with dropout 0.88 to 0.98. With a thread that reads memory beside it,
// gathers of 50,257 x 768 took 0.92 to 0.93. As far ahead as otherwise, 64 KiB and 24 KiB, scatter-adds of 10,000 x 64 took 0.95 and
// not 0.82; with 24 KiB of long rows bags of 50,257 x 4,096 took 1.1 to 1.2 times as long. Bags prefetch from CachedBagBytes on: of
// 10,000 x 64 in 0.92 and of 10,000 x 128 in 0.97 of the time that they take with nothing prefetched. What gained nothing that could be
// told from noise, or lost, has no near kernels: the first rows of a call, products, a search in 16 bits, the backward pass of maxima,
// and logits of all rows in their order (10,000 x 64 1.02).
//
// A Zen 4 takes up to 1.5 times as long (kernels_prefetch_asm.go), and Intel's take longer, too, where rows come from
// memory: on a Xeon of the fifth generation, by the same measure, medians of 31 (10,000 x 128 differs from run to run, by up to 0.3),
//
//	50,257 x 768    8,192  1.07   1.05         1.04   1.09        1.04      1.08 1.11           0.98  1.00     0.99
//	50,257 x 4,096  2,048  1.00   1.03         0.99   1.09        1.11      1.13 1.13           1.03  0.99     0.98
//	300,000 x 256   4,096  1.03   0.96         1.02   1.03        1.02      0.98 0.97           0.98  1.13     1.17
//	1,000,000 x 128 8,192  1.14   1.15         1.16   1.06        1.12      1.22 0.96           1.15  1.29     1.38
//	1,000,000 x 64  8,192  1.27   0.99         1.27   1.02        1.03      1.22 1.18           1.00  1.18     1.25
//	4,000,000 x 16  8,192  1.25   1.25         1.26   1.16        1.16      1.01 1.20           1.24  1.18     1.17
//	50,257 x 64     2,048  1.00   0.97         1.02   0.97        0.97      0.84 0.95           0.96  0.99     1.02
//	10,000 x 128    8,192  0.91   0.90         0.90   1.00        1.00      0.74 0.69           0.90  1.36     1.73
//	10,000 x 64     8,192  1.05   1.04         1.03   1.00        1.00      0.91 0.83           1.03  1.02     1.04
//
// With 16 KiB of long rows on their way those of 768 columns took 0.95 to 1.09; with 16 KiB of short ones hardly any gained.
//
// So they have a limit, do so with rows of more than NearColumns, and not in updates with states, of several tables. On a Xeon with 2 MiB of
// second-level cache and 480 of the third, times of that over those of the second level, 2,048 uniform ids of rows that a cache holds, call after
// call and with 4 MB of something else read in between, medians of 9 interleaved rounds:
//
//	               gather     scatter-add  embed      sums of 10  Dots       SGD        row-wise
//	12,000 x 256   0.99 1.00  1.00 0.99    1.00 1.00  0.94 0.96   0.91 0.94  0.99 0.90  0.98 1.00
//	20,000 x 300   0.96 0.97  0.92 0.99    0.97 0.97  0.99 0.99   0.95 0.97  0.93 1.00  0.99 1.00
//	20,000 x 384   0.94 0.90  0.90 0.90    0.90 0.90  1.05 1.02   0.99 0.93  0.89 0.89  0.89 0.90
//	20,000 x 512   0.93 0.93  0.90 0.95    0.93 0.92  1.00 1.01   0.91 0.92  0.94 0.91  0.95 0.91
//	15,000 x 768   0.95 0.98  0.96 0.99    0.94 0.94  0.90 0.95   0.96 1.00  0.93 0.94  0.98 0.94
//	8,000 x 1,024  1.00 1.00  1.03 0.99    1.01 0.97  1.00 1.00   0.97 1.01  1.00 0.97  0.99 1.01
//	5,000 x 2,048  0.99 1.01  0.99 0.96    1.00 1.04  1.04 1.01   0.99 1.04  0.97 0.98  0.97 1.05
//
// There 50,257 x 64 has 1.00, 1.06, 0.91, 1.01 and 1.04 call after call, and 0.98, 1.08, 1.10, 1.13 and 1.07 otherwise, 25,000 x 128 0.98, 0.89,
// 0.95, 1.12 and 1.09, and 0.99, 0.99, 1.05, 1.16 and 1.08; 50,257 x 768, from memory, 1.08, 1.02, 1.08, 1.09 and 1.12, 10,000 x 300 by Adagrad
// 1.09. LayerNorm of 2,000 to 10,000 x 768 in place takes 0.81 to 0.83, out of it 0.95 to 0.98, Dropout 0.94 to 1.02.
var (
	NearBytes   = ofMaker(math.MaxInt, 32<<20, 0)
	NearColumns = ofIntel(128, 0)
)

// LeftToRight says that COLUMNS does all rows of a block or more, and not long ones alone, from left to right, in a loop, and none in the order
// that mixedBytes of package rowvec is about; END_ROWS, SHORT_ROWS and OVERLAP_ROWS have that everywhere. On a Xeon, times of that, ids right
// behind one another and with others drawn in between, medians of 9 interleaved rounds:
//
//	                  gather     scatter-add  embed      SGD
//	1,000,000 x 130   0.96 0.97  1.03 1.02    0.99 0.99  1.04 1.01
//	  400,000 x 160   0.96 0.98  0.99 0.98    0.96 0.99  1.03 1.02
//	  400,000 x 200   0.95 0.94  1.00 0.93    0.95 0.92  1.01 0.94
//	  400,000 x 240   1.00 1.00  0.99 1.00    0.99 0.97  0.99 0.97
//	   20,000 x 200   1.00 1.00  0.98 1.01    0.99 0.94  1.01 0.95
//	    1,000 x 200   0.78 0.83  1.00 1.02    0.86 0.84  1.02 1.00
//
// and with AVX2, of 20,000 x 100 and 400,000 x 200, gather 0.86 and 0.96, scatter-add 1.01 and 0.98, embed 0.88 and 0.95.
var LeftToRight = isa.Intel()

// AheadBytes is how much of short rows may be on its way into the second-level cache where AVX-512 is not in halves. On a Xeon, times with
// 48 KiB over those with 24 of Dots and of sums of 10, 8,192 uniform ids (of 400 and 512 columns half as many), medians of 11 interleaved rounds:
// 400,000 x 300 0.82 and 0.95, 200,000 x 400 0.92 and 0.85, 200,000 x 512 0.97 and 0.99, 1,000,000 x 128 1.03 and 0.98; of others 0.94 to 1.06.
// 96 KiB gain no more.
var AheadBytes = ofIntel(48<<10, 24<<10)

// ofMaker returns what a processor of AMD's has since Zen 5, one of Intel's, or any other.
func ofMaker(zen5, intel, others int) int {
	if isa.Zen5() {
		return zen5
	}
	return ofIntel(intel, others)
}

// StraightColumns is the number of columns above which a step applies gradients of ids that occur once in a batch as they are,
// and does not add them up with the others: that saves memory traffic, and takes the time to sort these ids out. So it does with
// shorter rows, of more than a quarter of that, where three of four ids or more occur once. On a Zen 5 alone, ns per id of a step with
// SGD and with Adagrad, with these gradients as they are and with them added up, medians of 31 interleaved rounds:
//
//	table, ids                    occur once  AVX-512                    AVX2
//	1,000,000 x 16   8,192  Zipf     41%    17.8 9.15   12.6 11       11.1 9.15   12.2 10.7
//	1,000,000 x 16   8,192  uniform  99%      11 10.9   14.6 13.8     12.4 11.2   14.5 13.8
//	1,000,000 x 64   8,192  Zipf     41%    24.5 12.7     17 15.8     15.4 14     18.8 17.9
//	   20,000 x 64   8,192  uniform  66%    20.4 14.2   17.3 18.1     16.2 15.2   21.7 22.9
//	1,000,000 x 64   8,192  uniform  99%    17.8 20     28.9 32       22.7 19.8   28.4 32.2
//	1,000,000 x 128  8,192  Zipf     41%    32.1 21.7     33 33.5     26.5 23.6   41.3 41.5
//	   50,257 x 128  8,192  uniform  85%    30.8 31.2   49.7 63.4     34.1 30.3   53.7 57.9
//	   50,257 x 160  8,192  Zipf     29%    24.3 26.1   30.5 35.3     27.7 31.2   37.8 40.9
//	   10,000 x 256  8,192  uniform  44%    37.9 38.8   69.9 74.3       44 46.4   69.7 74.1
//	   50,257 x 300  8,192  Zipf     29%    42.3 45.4   59.1 66       46.6 57     63.8 72.3
//	    5,000 x 768  8,192  uniform  19%     155 169     227 227       165 173     208 215
//	   20,000 x 768  8,192  uniform  66%     188 250     306 364       200 260     296 340
//	   50,257 x 768  8,192  Zipf     29%     132 154     192 215       146 175     201 223
//	   50,257 x 768    256  Zipf              74 98.2    146 174       100 127     198 222
var StraightColumns = 128

// Long rows come line by line while others are done, one row after the other or four abreast: memory, it seems, does more at once
// where it is asked for several rows. Above AbreastStreamColumns columns of what is written past the caches, up to 16,384, and above
// AbreastColumns of other rows, up to AbreastMost, they come abreast, from AbreastIDs ids on, the next four while four are done. On a
// Zen 5 with AVX-512, ns per row without and so, medians of 31 interleaved rounds: written past the caches, by whole lines,
//
//	                              uniform                           Zipf
//	table, ids                    gather      scaled      embed         gather      scaled      embed
//	1,000,000 x 400      16,384   101 99.4   93.2 93.2   98.5 99.8     67.4 64.8   65.9 64.8   70.9 74.2
//	1,000,000 x 448      16,384   111  108    111  107    114  112     77.8 73.4   79.6 73.0   84.7 83.6
//	1,000,000 x 512       8,192   180  170    169  149    174  161      109  100    106 95.3    104  104
//	  100,000 x 640       8,192   134  134    143  137    139  126     88.8 80.6    100 83.4   99.6 85.5
//	   50,257 x 768       8,192   155  149    153  145    158  144     96.7 89.7   97.6 89.5    111 94.7
//	   50,257 x 1,024     8,192   206  193    208  194    215  213      129  112    129  116    135  135
//	   50,257 x 1,536     4,096   315  265    308  260    325  324      193  168    205  176    216  213
//	   50,257 x 2,048     4,096   418  354    432  358    451  444      292  259    303  258    319  315
//	   50,257 x 3,072     2,048   652  541    652  541    724  632      452  389    466  389    503  466
//	   50,257 x 4,096     2,048   861  724    898  729    920  815      611  523    607  511    665  601
//	   20,000 x 8,192     1,024  1539 1351   1574 1390   1623 1546     1127 1031   1152 1074   1226 1171
//	   16,384 x 12,288      512  2115 2116   2291 2226   2678 2606     1941 1881   1793 1741   1925 1893
//	   12,000 x 16,384      512  3045 3071   3581 3766   3471 3543     2568 2479   2431 2488   2743 2761
//
// (the host was busy; in a quieter hour the last two had 1910 1862, 1936 1833, 2205 2251, and 2651 2562, 2681 2540, 2883 2862 with
// uniform ids, the one of 768 columns 136 132, 139 133, 146 143), and uniform ids where not:
//
//	table, ids                    gather      scaled      embed       scatter-add
//	  100,000 x 2,500      512   495  477    507  473    544  516    506  438
//	   50,257 x 3,072      512   600  580    584  567    646  613    611  559
//	   50,257 x 4,096      512   749  721    792  715    827  783    789  703
//	   50,257 x 5,120      256   880  843    966  835    951  928    933  829
//	   20,000 x 8,192      256  1168 1179   1399 1164   1396 1386   1338 1209
//
// Fewer columns lose: 16,384 ids of 1,000,000 x 320 69.4 and 70.5, 68.6 and 74.2, 68.4 and 71.6; 1,024 of 50,257 x 2,048 that are
// not written past the caches 379 and 397, 379 and 391, 410 and 430; of 5,000 x 768, which the third level holds, 70.2 and 71.8. So
// do 128 ids, of 80,000 x 2,048 366 and 406; and 300 that are looked up in 16,384 x 12,288, 1718 and 1751.
//
// A processor of Intel's gains by it wherever rows come line by line, from 16 ids and 321 columns on (385 past the caches). On a Xeon
// (2 MiB of second-level cache; AVX-512 with FP16), without and so, medians of 15 interleaved rounds, the first five not and the others
// written past the caches:
//
//	table, ids                    gather      embed       scatter-add
//	   50,257 x 768          32   215  204    234  219    221  203
//	   50,257 x 768         128   258  238    245  222    206  188
//	1,000,000 x 512       2,048   280  253    317  302    288  259
//	   50,257 x 4,096       128  1704 1472   2142 1956   1715 1561
//	   16,384 x 12,288      300  4871 4506   6218 6009   5014 4712
//	1,000,000 x 448      16,384   235  237    278  270
//	   50,257 x 768       8,192   278  265    390  368
//	   50,257 x 4,096     2,048  1673 1412   2071 1818
//	   16,384 x 12,288      512  4814 4144   6047 5650
//
// With 320 columns it gains and loses 2 percent. With pages of 4 KiB it gains more, 0.79 to 0.9, but with 256 columns it took 1.4 times as
// long there.
//
// With AVX2 alone they come abreast wherever they come line by line, above NarrowAbreastColumns columns and from NarrowAbreastIDs ids on.
// On a Zen 3, times of that over those without, medians of 31 and 41 interleaved rounds:
//
//	                       gather  scatter-add  embed  SGD, decay  Adagrad  Adam
//	 50,257 x 768  8,192   0.89    0.89         0.85   0.90        0.86     0.92
//	 50,257 x 768  2,048   0.88    0.85         0.86   0.88        0.82     0.90
//	 50,257 x 768    128   0.87    0.82         0.82   0.84        0.85     0.89
//	 50,257 x 768     16   1.01    0.85                0.87        0.88
//	 50,257 x 1,024 2,048  0.88    0.88         0.90   0.88        0.88     0.95
//	 30,000 x 3,072  512   0.85    0.87         0.90   0.84        0.97
//	200,000 x 512  4,096   0.89    0.88         0.90   0.91        0.85     1.00
//	200,000 x 384 16,384   0.98    0.88         0.88   0.86        0.87
//	250,000 x 320  4,096   0.82    0.82         0.79   0.81        0.84
//	300,000 x 272  4,096   1.04    0.97         0.88   0.94        0.93
//	300,000 x 256  4,096   0.95    0.96         0.84   0.87        0.91
//	  6,000 x 768  2,048   0.84    0.81         0.83   0.79        0.87
//
// A first line ahead (earlyRows of package rowvec) is part of that: without it the first three rows of the table had 0.92, 0.94, 0.89,
// 0.91, 0.86 and 0.90, then 0.90, 0.89, 0.88, 0.90, 0.83 and 0.89, and 0.89, 0.86, 0.86, 0.88, 0.80 and 0.86.
//
// That of Intel's is what AVX-512 has there: none of its processors without that was at hand.
var (
	AbreastStreamColumns = 384
	AbreastColumns       = ofIntel(320, 2048)
	AbreastMost          = ofIntel(16<<10, 8<<10)
	AbreastIDs           = ofIntel(16, 256)
	NarrowAbreastColumns = ofIntel(320, 255)
	NarrowAbreastIDs     = 16
)

// WrittenBytes is the size of results above which the rows of one are prefetched, linearAhead of package rowvec ahead, while those of
// the table are: by processors of Intel's, whose own prefetcher leaves stores that reach from one line into the next waiting for both.
// Rows of 65 columns and more are, where they are not whole lines, and in gathers all that come abreast. On a Xeon, ns per row
// without and so, medians of 15 interleaved rounds:
//
//	table, ids                   gather       scaled       embed
//	1,000,000 x 90       8,192   49.4 47.5   57.3 52.5    85.9 51.3
//	1,000,000 x 100      8,192   66.2 62.4   74.5 68.3    88.9 77.9
//	1,000,000 x 100     65,536   59.5 59.3   60.0 63.6    85.2 62.6
//	1,000,000 x 130      8,192    103 76.2    103 76.3     130 86.9
//	1,000,000 x 200      2,048    131  111    140  111     164  124
//	  400,000 x 300      8,192    195  149    202  156     257  191
//	   50,257 x 1,000    1,024    404  349    419  353     503  515
//	   50,257 x 768      4,096    340  297
//
// (lines that nobody wants are left alone since, too, which is a part of what 130 and 200 columns gain). Whole lines lose by it elsewhere,
// 8,192 of 1,000,000 x 128 67.4 and 71.0, 4,096 of x 256 by Embed 164 and 170; so do few rows, which are in a cache, 128 of 50,257 x 768
// 216 and 224; and shorter ones gain nothing.
var WrittenBytes = ofIntel(512<<10, math.MaxInt)

// StreamUneven says that of results whose rows begin or end within a line the whole lines are written past the caches too where AVX-512
// is not in halves, and that such rows come abreast as others do. On a Xeon, the only processor it was measured on, ns per row without
// (those of 200, 392, 1,000 and 4,008 columns by AVX2, in halves of a line, and 200 alone loses) and so, medians of 7 interleaved
// rounds:
//
//	table, ids                  gather      scaled      embed
//	1,000,000 x 130    65,536   98.5 85.3   98.1 84.1    103 85.2
//	1,000,000 x 200    65,536    113  117    117  119    122  125
//	  400,000 x 300    65,536    220  183    219  179    246  185
//	  400,000 x 392    16,384    225  216    221  206    256  236
//	  400,000 x 450    16,384    324  242    323  234    368  285
//	   50,257 x 1,000  16,384    413  371    408  377    518  486
//	   50,257 x 1,001   8,192    584  402    596  413    707  519
//	   50,257 x 4,001   2,048   2304 1605   2246 1624   2594 1906
//	   50,257 x 4,008   2,048   1720 1490   1707 1488   2144 1909
var StreamUneven = isa.Intel()

// CopyElements is how many elements of one row, or of few, are copied with AVX2 at most where AVX-512 is not in halves; AVX-512 has more, and
// of single rows, but for CopyUneven, whole lines alone. On a Xeon, ns per row with the one and the other, fresh ids in one call after the other, and
// at last the same ones:
//
//	ids                    1        2        4        8        16
//	  400,000 x 300  411 411  250 252  189 189  163  161  164 140
//	1,000,000 x 512  459 458  335 331  261 250  249  216  298 269
//	   50,257 x 768  449 418  308 293  251 230  316  260  290 274
//	   50,257 x 2048 938 827  786 674  953 863 1107 1050  962 939
//	    1,000 x 768                              45   38
//
// On a Zen 5, times of AVX-512 over those of AVX2 for 1, 2, 4, 8 and 16 ids, all of them fresh, and the same ones over and over, medians of 31 and 41
// interleaved rounds, several by addresses that Go had found, and not yet by ids:
//
//	1,000,000 x 16   1.00 0.98 1.00 1.02 1.00    0.99 1.01 0.97 0.90 0.89
//	1,000,000 x 32   1.00 1.01 1.00 1.00 0.96    0.98 0.98 0.94 0.90 0.85
//	   50,257 x 64   0.97 0.96 1.01 0.95 0.98    0.97 0.96 0.92 0.90 0.93
//	  500,000 x 128  0.95 1.00 0.98 0.97 0.96    0.93 0.92 0.85 0.91 0.89
//	  100,000 x 256  1.00 1.01 0.97 0.93 0.93    0.86 0.88 0.87 0.84 0.79
//	   50,257 x 768  0.96 0.91 0.93 0.91 0.93    0.72 0.83 0.94 0.86 1.02
//	   50,257 x 2048 0.99 0.94 0.97 0.95 0.96    0.85 0.84 1.00 0.96 1.00
//	  400,000 x 300  0.70 0.95 0.98 0.99 1.03    0.86 0.98 1.05 1.00 1.01
//	   50,257 x 1000 0.89 0.94 0.94 0.93 0.93    1.25 1.32 0.97 1.03 1.06
var (
	CopyElements = ofMaker(0, 512, math.MaxInt)
	CopyUneven   = isa.Intel()
)

// RootColumns is the number of columns up to which a table that sits in cache is updated with AVX2 by Adagrad and Adam, on processors of
// Intel's, whose roots and quotients of 16 lanes take as long as twice those of 8. On a Xeon, 1,000 rows, ns per row with AVX-512 and so:
//
//	columns   32          40          48          56          64          80          100         128
//	Adagrad   11.9 11.0   18.0 13.6   17.5 16.6   23.5 19.2   23.3 21.9   30.7 28.7   41.6 36.8   49.6 49.3
//	Adam      12.4 11.2   18.2 14.1   18.1 16.2   23.8 19.4   23.6 22.4   31.5 29.4   45.1 40.4   50.4 51.7
var RootColumns = ofIntel(100, 0)

// NormRows is the number of rows from which on layer normalisation is done with AVX-512 on processors of Intel's, four at a time: where
// each sum waits for the one before, those of 8 lanes come sooner there. On a Xeon, ns per row with AVX-512 and AVX2: one row of 64, 256,
// 768 and 4,096 columns 108 91.5, 122 98.0, 213 175, 801 649; of 768 columns two 185 146, three 183 140, four 81.4 82.3.
var NormRows = ofIntel(4, 0)

// SeveralIDs is up to how many rows of 64 columns and less rowvec.Gather copies without what a kernel costs to set up, at most 32. On a Zen 5, times
// of that over those of the kernel for 17, 20, 24 and 32 ids, the same ones over and over, and all of them fresh, medians of 41 and 31 interleaved
// rounds, AVX-512:
//
//	    1,000 x 8     0.65 0.69 0.74 0.85    0.67 0.71 0.78 0.89
//	4,000,000 x 8     0.48 0.50 0.70 0.59    0.98 1.02 1.03 1.06
//	4,000,000 x 16    0.49 0.50 0.53 0.58    0.86 0.98 1.02 1.07
//	1,000,000 x 30    0.61 0.89 0.93 1.14    1.14 1.04 0.97 1.10
//	1,000,000 x 32    0.46 0.48 0.50 0.90    1.00 1.04 1.03 1.04
//	    1,000 x 64    0.74 0.89 0.79 0.86    0.83 0.86 0.91 1.00
//	   50,257 x 64    0.80 0.79 0.83 0.89    0.92 1.01 0.99 1.00
//	1,000,000 x 64    0.81 0.83 0.82 0.92    0.93 1.02 1.01 1.03
//
// and AVX2, which stands for others without AVX-512 in halves:
//
//	    1,000 x 8     0.67 0.73 0.76 0.88    0.69 0.73 0.80 0.92
//	4,000,000 x 16    0.82 0.85 0.92 1.03    0.99 1.00 1.01 1.04
//	1,000,000 x 30    0.84 0.92 0.93 1.21    1.02 1.02 1.02 1.07
//	1,000,000 x 48    0.88 0.93 0.99 1.18    1.02 1.01 0.92 0.94
//	   50,257 x 64    0.84 0.89 0.98 1.03    0.93 0.93 0.93 1.05
//
// On a Zen 4 28 and 32 ids, which AVX-512 copies by them, the same ones over and over, and all of them fresh, in a table that is not prefetched, in
// the third level and in no cache:
//
//	x 8     0.79 0.78    0.59 0.66   0.94 0.95   0.98 0.99
//	x 16    0.80 0.80    0.65 0.67   0.97 0.95   0.99 0.98
//	x 30    0.81 0.80    0.77 0.76   0.90 0.93   1.10 1.13
//	x 64    0.73 0.74    0.76 0.80   0.89 0.86   1.14 1.16
//
// Longer rows lose: 17, 24 and 32 ids of 500,000 x 128 0.83, 1.02 and 1.11, of 100,000 x 256 0.88, 1.25 and 1.36. Addresses of rows have arrays of
// two sizes, since they have to be cleared: two ids took 1.09 to 1.18 times as long with one for 64 alone, and take 1.01 to 1.06 times so.
var SeveralIDs = ofMaker(32, 24, ofHalves(32, 24))

// FewElements is up to how many elements the few rows of rowvec.Gather together are copied without a prefetch with AVX-512, and half as many again
// of whole lines, since a processor that goes ahead by hundreds of instructions asks for all of them at once by itself. On a Zen 5, which copies
// them by their ids, times of 4, 6, 8, 12, 16, 24 and 32 ids without it over those with it, all of them fresh, medians of 31 interleaved rounds; the bar
// is behind the last of those that go without it. A dash stands for 512 elements, or 768 of whole lines, and less, which took 0.57 to 1.03 when Go
// found the addresses. Elsewhere, but for what is said of a Zen 4, it was not measured.
//
//	4,000,000 x 30     -    -    -    -    -   0.93|1.00
//	4,000,000 x 32     -    -    -    -    -    -   0.93|
//	1,000,000 x 48     -    -    -    -    -  |1.07 1.13
//	   50,257 x 60     -    -    -   0.88|0.87 0.91 1.07
//	1,000,000 x 64     -    -    -    -   1.00|1.19 1.24
//	   50,257 x 64     -    -    -    -   0.86|1.19 0.86
//	1,000,000 x 100    -   0.94|1.17 1.30 1.52
//	1,000,000 x 128    -    -   0.95|1.12 1.13
//	1,000,000 x 192    -  |0.97 1.13 1.17 1.17
//	   50,257 x 256   0.93|0.98 1.03 1.03 1.04
//
// The same ids over and over take 0.45 to 0.69 of the time without it, all of them.
//
// On a Zen 4, times of 2, 3, 4, 6, 8, 12 and 16 ids without it and by their ids, over those with it and by addresses that Go found:
//
//	5,333,333 x 12   0.56 0.61 0.94 0.89 0.94 0.94 1.03|
//	8,000,000 x 8    0.57 0.59 0.67 0.93 0.96 0.95 0.97|
//	4,000,000 x 16   0.56 0.65 0.81 0.93 0.97 1.05 1.08|
//	2,133,333 x 30   0.97 0.70 0.89 0.92 1.11|1.15 1.27
//	2,000,000 x 32   0.96 0.70 0.85 0.96 1.03 0.96 0.95|
//	1,280,000 x 50   0.65 0.87 0.95 0.98|1.12 1.25 1.39
//	1,000,000 x 64   0.65 0.87 0.95 0.97 0.96|1.15 1.37
//	  711,111 x 90   0.94 1.08|1.26 1.51 1.80 1.88 2.01
//	  640,000 x 100  0.95 1.09|1.15 1.33 1.45 1.67 2.08
//	  500,000 x 128  0.91 0.94 0.99|1.24 1.33 1.66 1.90
//	  250,000 x 256  1.07|1.23 1.32 1.65 1.93 1.95 2.63
//	   50,257 x 64   0.70      0.93      0.94|1.08 1.27
//
// and of the same ones 0.41 to 0.76, those of 50,257 x 64 and what is shorter 0.41 to 0.65.
var FewElements = ofMaker(720, 0, ofHalves(342, 0))

// ofHalves returns the constant for processors that do AVX-512 in halves, or that for others.
func ofHalves(halves, others int) int {
	if isa.Halves() {
		return halves
	}
	return others
}

// ofIntel returns the constant for processors of Intel's, or that for others.
func ofIntel(intel, others int) int {
	if isa.Intel() {
		return intel
	}
	return others
}

// InOrderBytes is the size of tables above which rowvec.DotsAll, where AVX-512 is not in halves, has rows go by one by one, each
// prefetched while another is done, as Dots does: for one row of the other matrix, and for the first of four and more that have 1,536
// elements or more, and 256 columns. Smaller ones, which a third level may hold, it leaves to the processor's own prefetcher, for up
// to 16 rows. What goesInParts of package rowvec has go by in quarters does not. On a Zen 5, ns per row of the table by fours that are prefetched
// at once and so, medians of 11 rounds:
//
//	rows                   1          2          4          8          12         64
//	250,000 x 256      42.6 28.0  33.5       34.0       63.0 46.0  75.2 54.2  199  171
//	120,000 x 512      71.1 58.9  78.4       86.8 81.5   148  113   171  129  373  325
//	 50,257 x 768       101 82.4   114        134  114   218  132   206  162  563  477
//	 50,257 x 1,024     146  112   171        197  159   222  192   256  229  729  706
//	 20,000 x 4,096     460  450   546        712  688   907  810  1068  996 3958 3869
//	 60,000 x 64       3.57 2.67  3.88 2.96  4.71 3.71  7.41 6.34            50.3
//	 12,000 x 300      15.6 13.7  15.9 13.1  20.2 15.0  32.1 28.3             184
//	  3,000 x 768      36.0 27.7  35.6 28.2  46.1 35.3  73.1 61.5             483
//
// One by one, two rows would take 35.1 over 250,000 x 256, and four 38.5, and 20 over 400,000 x 160 54 and not 45.
//
// It is the size of the whole table where rows are a part of it, as in a search: parts of large tables had not been prefetched, since a
// cache would hold each. Searches with 1, 2, 4, 8 and 20 queries, of 400,000 x 160 23.5 21.8, 24.8 24.7, 29.5 23.9, 71.0 33.1, 72.1
// 53.7; of 100,000 x 128 20.6 15.9, 20.5 15.3, 23.7 14.6, 36.8 19.4, 53.6 38.6; of 50,257 x 768 96.9 91.5, 120 121, 149 137, 218 213,
// 271 232. With two and three queries parts of more than 1,024 columns are not (32,000 x 4,096 561 and 637), nor with four and more
// those of 64 columns and fewer (1,000,000 x 64 13.6 and 14.7).
var InOrderBytes = 16 << 20

// InOrderLines says that rows which go by one by one in their order are read line by line, each with its product, and a line prefetched
// behind each, not four lines of each at once, which is best for random rows; and that two rows and three, of 129 to 1,536 columns,
// and any four and more of 256 columns have them go by so, where elsewhere those do that InOrderBytes has. On a Xeon, ns per row of the
// table from memory without and so; on another one the logits of one state took 0.98 to 1.03 of the time:
//
//	rows                   1          2          3          4          5          8
//	400,000 x 160                 50.8 47.5  56.7 51.9
//	300,000 x 256      69.3 57.8  84.2 74.7   102 81.9  98.3 87.6   109 91.6   110  109
//	150,000 x 512                  162  148   185  163   177  176   181  182
//	 50,257 x 768       213  175   235  218   264  227   243  245   262  261   311  311
//	 50,257 x 1,024                309  298   355  312   342  335   344  345
//	 40,000 x 1,536                451  452   484  454   502  501   525  518
//	 30,000 x 2,048     546  450   572  596   619  626   691  689   714  714   819  816
//	1,000,000 x 64     18.1 13.9
var InOrderLines = isa.Intel()

// Lower makes every call large and divides it, has all results written past the caches that can be, as where Halves is so, and
// returns the function that undoes it. Those of rows abreast and all behind them are for tests that then set Halves to false.
func Lower() (undo func()) {
	stream, parallel, rotary := StreamBytes, ParallelElements, ParallelRotaryElements
	products, queries, rows, bags := ParallelProducts, ScreenedQueries, SearchRows, CachedBagBytes
	straight, shared, elements, lines, wide, halves := StraightColumns, ShareColumns, LeastElements, LeastLines, WideBytes, Halves
	keys, passes, clears := SharedKeys, PassElements, ClearColumns
	abreastStream, abreast, ids, inOrder := AbreastStreamColumns, AbreastColumns, AbreastIDs, InOrderBytes
	narrow, narrowIDs := NarrowAbreastColumns, NarrowAbreastIDs
	written, uneven, copies, unevenCopies, roots, norms := WrittenBytes, StreamUneven, CopyElements, CopyUneven, RootColumns, NormRows
	InOrderLines, LeftToRight = !InOrderLines, !LeftToRight
	StreamBytes, ParallelElements, ParallelRotaryElements = 0, 0, 0
	ParallelProducts, ScreenedQueries, SearchRows, CachedBagBytes = 0, 1, 48, 0
	StraightColumns, ShareColumns, LeastElements, LeastLines, WideBytes, Halves = 0, 48, 8, 1, 0, true
	SharedKeys, PassElements, ClearColumns = 1, 0, 0
	AbreastStreamColumns, AbreastColumns, AbreastIDs, InOrderBytes = 319, 319, 1, 0 // fewer columns are no long rows to the assembly
	NarrowAbreastColumns, NarrowAbreastIDs = 255, 1                                 // likewise
	WrittenBytes, StreamUneven, CopyElements, CopyUneven, RootColumns, NormRows = 0, true, 0, true, 0, 0
	return func() {
		InOrderLines, LeftToRight = !InOrderLines, !LeftToRight
		StreamBytes, ParallelElements, ParallelRotaryElements = stream, parallel, rotary
		ParallelProducts, ScreenedQueries, SearchRows, CachedBagBytes = products, queries, rows, bags
		StraightColumns, ShareColumns, LeastElements, LeastLines, WideBytes = straight, shared, elements, lines, wide
		Halves, SharedKeys, PassElements, ClearColumns = halves, keys, passes, clears
		AbreastStreamColumns, AbreastColumns, AbreastIDs, InOrderBytes = abreastStream, abreast, ids, inOrder
		NarrowAbreastColumns, NarrowAbreastIDs = narrow, narrowIDs
		WrittenBytes, StreamUneven, CopyElements, CopyUneven, RootColumns, NormRows = written, uneven, copies, unevenCopies, roots, norms
	}
}
