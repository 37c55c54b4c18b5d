//go:build !purego

package rowvec

import "github.com/rowvec/rowvec/internal/isa"

// avx512 reports whether the bags are to be done with AVX-512. Its one masked tail is quicker than the up to three parts that AVX2
// had when this was measured, before it had ENDS_AVX2, but not where a single part is all that there is. On a Zen 4, 1,000 rows,
// bags of 10, ns per id with AVX2 and with
// AVX-512: 1.22 and 1.49 at 4 columns, 0.95 and 1.49 at 8; but 2.83 and 1.07 at 7, 1.88 and 1.06 at 12, 1.19 and 1.19 at 16,
// 9.4 and 9.4 at 100, 56.2 and 48.2 at 768. Of a table that no cache holds, AVX2 is quicker for 33 to 128 columns: of 1,000,000
// rows 15.6 and 17.5 at 40, 18.6 and 24.6 at 50, 15.5 and 17.3 at 64, 22.4 and 29.1 at 100, 25.2 and 31.6 at 128, but 19.5 and
// 17.2 at 30 and, of 10,000, 3.8 and 3.6 at 64, 8.3 and 7.1 at 128. Not so a Zen 5, which does not do vectors in halves, and has
// BAGS_ENDS: ns per id of bags of 10 of 1,000 and of 1,000,000 rows as a Zen 4 goes, the latter with 16 rows ahead, and so, medians
// of 15 interleaved rounds:
//
//	columns        20          24          40          50          60          72          96          100         120
//	    1,000      1.43 1.27   1.33 1.17   1.69 1.54   2.61 2.18   2.52 2.15   2.40 2.57   2.15 2.17   3.78 3.67   4.25 3.50
//	1,000,000                  10.9 4.13   10.2 5.20   11.3 7.15                           16.8 13.8   20.6 16.2   25.7 18.5
func (a *bagArgs) avx512() bool {
	return isa.Active() == isa.AVX512 && (a.cols >= bagTails || a.cols&(a.cols-1) != 0) &&
		(a.cols <= bagNarrow || a.cols > bagBlock || a.ahead == 0 || fullWidth() || a.limit*uint64(a.tableStride) <= heldBytes)
}

const (
	bagTails  = 16  // columns from which on AVX-512 is for any number of them; a power of two below is a single part
	bagNarrow = 32  // up to which it is also where no cache holds the table
	bagBlock  = 128 // and beyond which it is again; the widest block but for that of heldRows
)

// wholeRows reports whether AVX2 is to go over the ids once for rows of 128 columns that are prefetched, with three of
// sixteen sums in memory, and not twice, 64 columns each time. On a Zen 3, 8,100 ids in bags of 2, 10 and 50, ns per id twice
// and once, medians of 7 processes that alternate the two:
//
//	rows        sums                                weighted                             maxima
//	   10,000   29.0 24.8, 20.4 16.3, 17.8 14.3    29.3 21.6, 16.4 14.8, 17.3 14.0     31.3 24.1, 22.6 17.4, 19.8 14.8
//	  100,000   82.5 64.2, 66.9 55.6, 64.5 54.0    78.1 62.8, 81.6 64.8, 69.8 57.7     89.9 66.8, 65.2 54.5, 65.3 53.8
//	1,000,000    122  123, 84.0 77.5, 75.9 72.5     150  123,  103 97.0,  108 99.9      141  129,  101  106,  107  115
//
// but 8.4 and 8.8 for bags of 10 of 1,000 rows, which are not prefetched. A Zen 4, whose bags of 128 columns take AVX2 where no
// cache holds the table, needs wholeBag ids in a bag for that: sums of bags of 2, 5, 8, 20 and 50 of 1,000,000 rows take 1.1 to
// 1.6, 1.04 to 1.07, 0.99, 0.87 and 0.87 to 1.03 of the time so, of 300,000 rows 1.3 to 1.7, 0.86, 0.84, 0.80 and 0.80; maxima of 5
// 1.13 to 1.20 and 0.84 to 0.90, of 8 and more about as much as sums.
func (a *bagArgs) wholeRows() bool {
	return a.cols == bagBlock && a.ahead != 0 && (isa.Active() == isa.AVX2 || a.stop-a.next >= wholeBag*a.bags)
}

// wholeBag is how many ids a bag has on average from which on AVX-512's machines do so, too, and AVX2's go by panels.
const wholeBag = 8

// heldRows reports whether the bags go by blocks of up to heldBlock columns, with their sums in registers, as rows of more than bagBlock
// columns do that are prefetched where AVX-512 is not in halves: up to heldColumns, and above heldBlock of them where bags have heldBag
// ids and more on average. ns per id on a Zen 5 by spans and so, tables in no cache but for the last, which the third level holds:
//
//	                    sums of 2    of 3         of 10        of 50        weighted, 10  maxima, 10
//	500,000 x 160       35.3 24.7                 31.7 21.6    30.1 20.2    32.9 22.7     31.8 22.1
//	300,000 x 256       47.0 37.6                 44.7 33.2    44.6 33.2    46.0 34.9     45.6 34.7
//	400,000 x 300       58.2 43.9                 53.7 37.5    52.9 35.9    55.1 41.4     54.3 41.3
//	300,000 x 384       62.2 54.7                 60.1 46.5    60.6 45.8    64.6 50.7     62.6 50.3
//	 50,257 x 768        121  125     126  107     104 85.0    96.0 82.5     113 98.9      110 98.9
//	100,000 x 1,024      157  172     167  147     134  129     136  122     149  140      144  140
//	 40,000 x 2,048      315  352     322  290     262  256                  283  274      279  285
//	 20,000 x 300                                 32.1 23.9                 26.9 22.2     27.3 22.5
//
// Rows that are not prefetched are left to blocks of 128: sums of 10 of 1,000 x 129 take 4.9 and 6.9, x 160 3.9 and 5.0, x 256
// 7.0 and 6.9, x 300 11.9 and 12.3.
func (a *bagArgs) heldRows() bool {
	return fullWidth() && a.ahead > 0 && a.cols > bagBlock &&
		(a.cols <= heldBlock || a.cols <= heldColumns && a.stop-a.next >= heldBag*a.bags)
}

const (
	heldBlock   = 384
	heldColumns = 1024
	heldBag     = 3
)

// panelPiece returns how many rows of a bag AVX2 is to add up by PANELS at a time, and 0 where it is not: with the sums of 64 columns in
// registers, all columns of a bag before the next bag, each 64 of them prefetched for themselves. A row is in caches when the next 64 come,
// or on its way, since the processor's own prefetcher goes on from what was read of it. On a Zen 3, times of that over those of spans, sums,
// weighted ones and maxima in bags of 3, 10 and 50, the last two tables in the third level, medians of 15 interleaved rounds:
//
//	                  3                   10                  50
//	600,000 x 144     0.83 0.83 0.79      0.77 0.71 0.77      0.78 0.73 0.75
//	300,000 x 256     0.86 0.91 0.96      0.85 0.84 0.81      0.89 0.89 0.90
//	400,000 x 300     0.81 0.75 0.80      0.76 0.77 0.80      0.77 0.79 0.84
//	100,000 x 384     0.90 0.90 0.96      0.87 0.83 0.82      0.90 0.87 0.90
//	 50,257 x 768     0.92 0.90 0.96      0.81 0.80 0.81      0.84 0.86 0.84
//	 40,000 x 1,024   0.94 0.91 0.88      0.84 0.86 0.85      0.93 0.91 0.90
//	 20,000 x 2,048   0.92 0.92 0.87      0.92 0.89 0.93      0.95 0.95 0.92
//	 10,000 x 300     0.77 0.73 0.78      0.84 0.82 0.83      0.70 0.84 0.81
//	  3,000 x 768     0.92 0.89 1.00      0.91 0.88 0.96      0.89 0.90 0.89
//
// Bags of 2 take 0.86 to 1.05, rows of 4,096 columns 0.92 to 1.03, longer ones 1.06 to 1.20. Four rows ahead and ten take 0.96 to 1.05 and
// 0.94 to 1.15 times as long as six, but sixteen of 10,000 x 100 0.81 to 0.91, of 1,000,000 x 100 0.96 to 1.05. Many long rows are too
// much for the caches, or too many at once for the prefetcher: bags of 50 of 80,000 x 512, 40,000 x 1,024 and 20,000 x 2,048 in one piece
// take 1.06, 1.23 and 1.21, while those of 10,000 x 256 take 1.17 times as long in pieces as in one. Of rows that blocks of 64 do not make
// up a bag is one piece, or is left to spans.
//
// Of 97 to 127 columns the time is 0.75 to 0.98 of that of blocks, but 1.06 to 1.10 for bags of 10 of 10,000 x 112. Of 128 columns it is
// 0.89 to 1.01 of that of wholeRows from wholeBag on where no cache holds the table, in two runs of bags of 10 0.92 to 1.05; and where one
// may, 1.12 to 1.23 for bags of 3 and 10, 0.99 to 1.02 of 20, 0.92 to 0.99 of 30, 0.83 to 0.96 of 50.
func (a *bagArgs) panelPiece() int {
	ids, least := a.stop-a.next, panelBag
	if a.cols == bagBlock {
		least = panelBlockBag
		if a.limit*uint64(a.tableStride) > heldBytes {
			least = wholeBag
		}
	}
	if isa.Active() != isa.AVX2 || a.ahead == 0 || a.partial || a.cols <= panelLeast || a.cols > panelMost || ids < least*a.bags {
		return 0
	}
	some := min(panelIDs, panelElements/a.cols)
	switch {
	case a.cols > panelFew && a.cols%panelColumns == 0:
		return some
	case a.cols <= panelWhole || ids <= some*a.bags:
		return ids
	}
	return 0
}

const (
	panelColumns  = 64 // of a block
	panelAhead    = 6  // rows, and rows of fewer than bagBlock columns
	panelEarly    = 16
	panelLeast    = 96   // columns above which bags go so: up to there four vectors more than a block's hold all
	panelMost     = 3072 // and up to which: rows of 4,096 are even
	panelFew      = 256  // up to which a bag is one piece
	panelWhole    = 384  // and up to which it is if blocks do not make up its rows, however many these are
	panelBag      = 3    // ids in a bag on average
	panelBlockBag = 20
	panelIDs      = 16 // of a piece, and elements of their rows
	panelElements = 16 << 10
)

// do runs kernel k on one chunk. It is not inlined, since the check of the stack at its start is where a loop over
// chunks can be preempted.
//
//go:noinline
func (a *bagArgs) do(k bagOp) bool {
	a.fetched = a.cols
	a.ends = fullWidth()
	a.held = a.heldRows()
	if a.avx512() {
		// A masked vector waits for a line of which it reads nothing. On a Zen 4, sums of bags of 10 of 1,000,000 x 50 in no
		// cache take 29.3 ns per id without it, 22.2 with it.
		if !a.ends {
			a.fetched = (a.cols + 15) &^ 15
		}
		switch k {
		case opBagSum:
			return bagSumAVX512(a)
		case opBagWeighted:
			return bagWeightedAVX512(a)
		}
		return bagMaxAVX512(a)
	}
	a.whole = a.wholeRows()
	if a.piece = a.panelPiece(); a.piece > 0 {
		a.fetched, a.early = panelColumns, panelAhead
		if a.cols < bagBlock {
			a.early = panelEarly
		}
	}
	switch k {
	case opBagSum:
		return bagSumAVX2(a)
	case opBagWeighted:
		return bagWeightedAVX2(a)
	}
	return bagMaxAVX2(a)
}

//go:noescape
func bagSumAVX2(a *bagArgs) (ok bool)

//go:noescape
func bagWeightedAVX2(a *bagArgs) (ok bool)

//go:noescape
func bagMaxAVX2(a *bagArgs) (ok bool)

//go:noescape
func bagSumAVX512(a *bagArgs) (ok bool)

//go:noescape
func bagWeightedAVX512(a *bagArgs) (ok bool)

//go:noescape
func bagMaxAVX512(a *bagArgs) (ok bool)
