//go:build !purego

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
)

// avx512 reports whether the bags are to be done with AVX-512: where there is some, and it pays.
func (a *bagArgs) avx512() bool { return isa.Active() == isa.AVX512 && a.avx512Pays() }

// avx512Pays reports whether AVX-512 is quicker than AVX2. Where it goes in halves, its masked tail is for fewer than bagTails columns that are
// not prefetched, and one of its vectors no quicker than the two of AVX2; and what is quicker to read of rows that no cache holds depends on
// the order of their lines and on what is fetched behind them (see beyond). On a Zen 4, times with AVX2 over those with AVX-512, sums, weighted
// ones and maxima in bags of 10, medians of 15 interleaved rounds:
//
//	columns      3               12              16              24              32              64              96              128
//	    1,000    1.10 1.04 1.27  0.98 1.10 1.27  1.02 1.05 0.87  0.70 0.74 0.72  1.08 1.12 1.10  1.06 1.12 1.09  1.10 1.13 1.12  1.10 1.17 1.13
//	1,000,000    0.56 0.32 0.42  0.34 0.32 0.33  0.83 0.83 0.86  0.65 0.68 0.70  0.79 0.63 0.79  1.06 0.85 0.91  1.30 1.65 1.50  0.94 1.16 1.20
//
// and of 200,000 x 7 0.92, 0.92 and 0.90, of 150,000 x 12 1.00, 0.93 and 1.03. Of 128 columns AVX2 does bags of 2 to 6 in 0.68 to 1.1 of the time,
// those of 10 and 50 of 100,000 rows in 0.64 to 1.1, and of a million in 0.66 to 1.3.
func (a *bagArgs) avx512Pays() bool {
	switch {
	case a.cols < bagTails && a.cols&(a.cols-1) == 0: // a power of two is a single part
		return false
	case fullWidth() || a.cols > bagBlock:
		return true
	case a.cols < bagTails:
		return a.ahead == 0
	case a.cols > bagTails && a.cols < bagNarrow:
		return false
	}
	return !a.uncached() || a.cols > bagFew && a.cols <= bagMany
}

const (
	bagTails  = 16 // columns from which on there is a whole vector
	bagNarrow = 32 // below which a vector of AVX-512 is not enough and two are too many
	bagFew    = 64 // above which, up to bagMany, rows that no cache holds have it too
	bagMany   = 96
	bagBlock  = 128 // above which all have it; the widest block but for that of heldRows
)

// uncached reports whether the table is prefetched and too large for any cache.
func (a *bagArgs) uncached() bool { return a.ahead > 0 && a.limit*uint64(a.tableStride) > heldBytes }

// oneBlock reports whether what is left of rows is one block with AVX-512, BAGS_ENDS, for one walk over the ids and not several, but in some
// cases with a vector more. On a Zen 4, times of that over those by powers of two, sums of 3, 10 and 50, medians of 15 to 41 interleaved rounds:
//
//	columns        40              48              60              72              80              96              100             112
//	 1,000         0.80 0.82 0.84  0.92 0.96 0.97  0.81 0.83 0.85  0.89 0.92 0.95  0.95 1.01 1.00  0.99 1.04 1.06  0.85 0.92 0.94  0.91 0.93 0.97
//	20,000         0.81 0.86 0.94  0.92 0.95 0.94  0.78 0.87 0.88  0.94 0.98 0.98  0.95 1.01 1.04  0.96 0.87 0.98  0.80 0.91 0.91  0.90 0.91 1.00
//
// and of 120 and 150 columns 0.78 to 0.95, of 176, which leave 48, 0.91 to 0.99, of 224, which leave 96, 0.95 to 1.07.
//
// A Zen 5, which does not do vectors in halves, has it for all, and AVX-512 for bags of 33 to 128 columns that no cache holds: ns per id of bags
// of 10 of 1,000 and of 1,000,000 rows as a Zen 4 went when this was measured, the latter with 16 rows ahead, and so, medians of 15 interleaved
// rounds:
//
//	columns        20          24          40          50          60          72          96          100         120
//	    1,000      1.43 1.27   1.33 1.17   1.69 1.54   2.61 2.18   2.52 2.15   2.40 2.57   2.15 2.17   3.78 3.67   4.25 3.50
//	1,000,000                  10.9 4.13   10.2 5.20   11.3 7.15                           16.8 13.8   20.6 16.2   25.7 18.5
func (a *bagArgs) oneBlock() bool { return fullWidth() || a.cols%16 != 0 || a.cols%64 == 48 }

// beyond returns how many columns behind a row are prefetched with it. Rows that begin and end within lines are taken for streams by the
// processor, it seems, which then fetches lines behind them of its own accord, too late or to no use (see mixedBytes). On a Zen 4, times with 16
// and with 32 columns more over those without, sums and weighted ones of 10 of 1,000,000 rows, with AVX2 but for the last three, medians of 15
// interleaved rounds:
//
//	columns   6          20         28         31         40         50         56         63         72         78         88
//	16        0.97 0.98  0.89 0.84  0.86 0.76  0.65 0.60  0.97 0.95  0.63 0.75  0.66 0.80  0.83 0.88
//	32        1.08 1.10  1.00 1.15  0.91 0.90  0.90 0.75  1.11 1.07  0.62 0.56  0.75 0.62  0.60 0.64  0.83 0.68  0.85 0.72  0.94 0.88
//
// Rows of whole lines have 1.1 (48 columns) and 1.0 (64).
func (a *bagArgs) beyond() int {
	switch {
	case !halves() || a.cols%16 == 0 || a.cols > bagMany || !a.uncached():
		return 0
	case a.cols <= beyondFew:
		return 16
	}
	return 32
}

const beyondFew = 48 // columns

// inPairs reports whether AVX2 does rows of 128 columns that are prefetched, and of more than panelLeast in bags of panelBag ids and more, by
// PAIRS: with both blocks of a bag before the next bag, since both of a row lie together, and not with one block of all bags before the other. On
// a Zen 3, times of that over those of one block, with three of sixteen sums in memory, or from 8 ids (where a cache may hold the table, 20) on
// by panels, sums, weighted ones and maxima in bags of 3, 10 and 50, medians of 3 processes that alternate the two:
//
//	                 3                   10                  50
//	   10,000 x 128  1.00 0.99 1.01      0.96 0.96 0.98      0.90 0.96 0.91
//	1,000,000 x 128  0.96                0.95 0.94 0.97      0.94
//
// and of 10,000 in bags of 5 1.03, of 30,000 in bags of 50 0.72; of 97 to 127 columns over panels 0.85 to 1.01 (part of all that is what TERMS
// says). Once over the ids with all sums in one block took 0.8 to 1.0 of the time of one block of all bags before the other.
//
// A Zen 4, whose bags of 128 columns take AVX2 where no cache holds the table, goes by blocks.
func (a *bagArgs) inPairs() bool {
	if isa.Active() != isa.AVX2 || a.ahead == 0 {
		return false
	}
	return a.cols == bagBlock || a.cols > panelLeast && a.cols < bagBlock && !a.partial && a.stop-a.next >= panelBag*a.bags
}

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
// A Zen 4 has them for two and three times bagBlock. On one, times of that over those by spans, sums, weighted ones and maxima in bags of 3, 10
// and 50, medians of 21 interleaved rounds:
//
//	300,000 x 256   0.94 0.96 1.01   0.79 0.75 0.85   0.76 0.66 0.72
//	 12,000 x 256                    0.90 0.91 0.88   0.90 0.86 0.79
//	200,000 x 384   0.83 0.80 0.84   0.77 0.81 0.88   0.84 0.77 0.79
//
// but x 192 0.76 to 1.07, x 300 0.92 to 1.22, x 320 0.99 to 1.33, 50,257 x 768 0.94 to 1.14.
//
// Rows that are not prefetched are left to blocks of 128: sums of 10 of 1,000 x 129 take 4.9 and 6.9, x 160 3.9 and 5.0, x 256
// 7.0 and 6.9, x 300 11.9 and 12.3.
func (a *bagArgs) heldRows() bool {
	switch {
	case a.ahead == 0 || a.cols <= bagBlock:
		return false
	case fullWidth():
		return a.cols <= heldBlock || a.cols <= heldColumns && a.stop-a.next >= heldBag*a.bags
	}
	return halves() && a.cols <= heldBlock && a.cols%bagBlock == 0
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
// Bags of 2 take 0.86 to 1.05, rows of 4,096 columns 0.92 to 1.03, longer ones 1.06 to 1.20. Many long rows are too
// much for the caches, or too many at once for the prefetcher: bags of 50 of 80,000 x 512, 40,000 x 1,024 and 20,000 x 2,048 in one piece
// take 1.06, 1.23 and 1.21, while those of 10,000 x 256 take 1.17 times as long in pieces as in one. Of rows that blocks of 64 do not make
// up a bag is one piece, or is left to spans.
func (a *bagArgs) panelPiece() int {
	ids := a.stop - a.next
	if isa.Active() != isa.AVX2 || a.ahead == 0 || a.partial || a.cols <= bagBlock || a.cols > panelMost || ids < panelBag*a.bags {
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
	panelEarly    = 16 // rows ahead
	panelLate     = 6  // rows ahead, of more than panelShort columns, and from bagBlock on where no cache holds the table
	panelShort    = 192
	panelLeast    = 96   // columns above which bags go so, up to bagBlock in PAIRS: up to there four vectors more than a block's hold all
	panelMost     = 3072 // and up to which: rows of 4,096 are even
	panelFew      = 256  // up to which a bag is one piece
	panelWhole    = 384  // and up to which it is if blocks do not make up its rows, however many these are
	panelBag      = 3    // ids in a bag on average
	panelIDs      = 16   // of a piece, and elements of their rows
	panelElements = 16 << 10
)

// panelAhead returns how many rows ahead PAIRS and PANELS prefetch. On a Zen 3 four and ten take 0.96 to 1.05 and 0.94 to 1.15 times as long
// as six, and sixteen 0.81 to 0.91 of 10,000 x 100, 0.96 to 1.05 of 1,000,000 x 100; 0.81 to 0.84 of 30,000 x 128 in bags of 50, 1.05 to 1.10 of
// 1,000,000 x 128; 0.88 to 0.94 of 10,000 x 192, 0.89 to 1.06 of 10,000 and 20,000 x 256, and 1.08 to 1.11 of 3,000 x 768.
func (a *bagArgs) panelAhead() int {
	if a.cols < bagBlock || a.cols <= panelShort && !a.uncached() {
		return panelEarly
	}
	return panelLate
}

// do runs kernel k on one chunk. It is not inlined, since the check of the stack at its start is where a loop over
// chunks can be preempted.
//
//go:noinline
func (a *bagArgs) do(k bagOp) bool {
	beyond := a.beyond()
	a.fetched, a.straddle = a.cols+beyond, a.straddle || beyond > 0
	if a.avx512() {
		a.ends, a.held = a.oneBlock(), a.heldRows()
		if a.held && a.cols > heldBlock && (uintptr(unsafe.Pointer(a.table))|a.tableStride)%cacheLine != 0 {
			a.straddle = true // from one block into the next
		}
		switch k {
		case opBagSum:
			return bagSumAVX512(a)
		case opBagWeighted:
			return bagWeightedAVX512(a)
		}
		return bagMaxAVX512(a)
	}
	a.pairs, a.piece = a.inPairs(), a.panelPiece()
	if a.pairs || a.piece > 0 {
		a.fetched, a.early = panelColumns, a.panelAhead()
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
