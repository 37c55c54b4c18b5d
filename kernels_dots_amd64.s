//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// The dot products of dotArgs: a group of rows of the table at a time, 3 with AVX2 and 4 with AVX-512, against all rows of
// a: four of these at a time with AVX-512, then two, and a last one alone; and each from left to right, 16 columns at a
// time. The 16 lanes of a dot product are one register with AVX-512 and two with AVX2. Of the tail, what is beyond the row
// counts as +0, and so do its products, which change no lane, since none is ever -0. Where the last group has fewer rows
// than others, its last one is there several times, and not stored.
//
// Registers:
//	BX   arguments                       R11  row of a
//	SI, R8, R9, R10  rows of the table   R12  the next row of a
//	     (R10: masks of the tail, AVX2)  AX   rows of a left
//	R13  number of the group's first id  DX   bytes done of the rows
//	DI   element of dst                  CX   bytes of the rows but for the tail
//	K1   lanes of the tail               K2   results to store (AVX-512)

// DOT_ROW finds the row of the group whose number FIND leaves in DX.
#define DOT_ROW(FIND, row, load, found) \
	FIND;                                     \
	MOVQ  dotArgs_n(BX), R12;                 \
	DECQ  R12;                                \
	CMPQ  DX, R12;                            \
	CMOVQGT R12, DX;                          \
	DOT_ID(row, load, found);                 \
	CMPQ  row, dotArgs_limit(BX);             \
	JAE   changed;                            \
	IMULQ dotArgs_tableStride(BX), row;       \
	ADDQ  dotArgs_table(BX), row

// The rows of a group are dotArgs.apart ids from each other, and so are their results.

#define APART0 MOVQ R13, DX

#define APART1 \
	MOVQ dotArgs_apart(BX), DX; \
	ADDQ R13, DX

#define APART2 \
	MOVQ dotArgs_apart(BX), DX; \
	LEAQ (R13)(DX*2), DX

#define APART3 \
	MOVQ dotArgs_apart(BX), DX; \
	LEAQ (DX)(DX*2), DX;        \
	ADDQ R13, DX

// DOT_ID sets row to id number DX.
#define DOT_ID(row, load, found) \
	MOVQ  dotArgs_ids(BX), R11;               \
	TESTQ R11, R11;                           \
	JNE   load;                               \
	MOVQ  DX, row;                            \
	JMP   found;                              \
load: \
	ID(R11, dotArgs_wide(BX), DX, row);       \
found:

// DOTS_AHEAD prefetches the rows of the group that begins dotArgs.ahead ids later.
#define DOTS_AHEAD \
	MOVQ  dotArgs_ahead(BX), DX;              \
	TESTQ DX, DX;                             \
	JEQ   near;                               \
	ADDQ  R13, DX;                            \
	LEAQ  4(DX), DI;                          \
far: \
	CMPQ  DX, dotArgs_readable(BX);           \
	JGE   near;                               \
	DOT_ID(R12, loadFar, foundFar);           \
	IMULQ dotArgs_tableStride(BX), R12;       \
	ADDQ  dotArgs_table(BX), R12;             \
	MOVQ  dotArgs_burst(BX), R11;             \
line: \
	PREFETCH (R12);                           \
	ADDQ  $64, R12;                           \
	SUBQ  $64, R11;                           \
	JGT   line;                               \
	STRADDLE(dotArgs_straddle, -4(R12)(R11*1)); \
	INCQ  DX;                                 \
	CMPQ  DX, DI;                             \
	JLT   far;                                \
near: \
	DOTS_BEGIN

// DOTS_BEGIN begins with the rows of a.
#define DOTS_BEGIN \
	MOVQ dotArgs_dst(BX), DI;  \
	LEAQ (DI)(R13*4), DI;      \
	MOVQ dotArgs_a(BX), R11;   \
	MOVQ dotArgs_rows(BX), AX

// DOTS_CHANGED leaves out the id number DX, which is out of range, and those behind it. Ids do not go by in parts.
#define DOTS_CHANGED \
	MOVQ DX, dotArgs_n(BX);   \
	MOVQ DX, dotArgs_end(BX); \
	CMPQ R13, DX;             \
	JLT  group

// AVX2

// Ways to load half of the lanes, off bytes behind DX in a row: all of them, of the last 8 columns of the row those that are left, or a row of
// R10 columns that has less than 8, with CX for FEW_LANES.
#define ALL_LANES(row, off, to) VMOVUPS off(row)(DX*1), to
#define TAIL_LANES(row, off, to) \
	VMOVUPS 64(R10), Y15; \
	LAST_LANES(off(row)(DX*1), (R10), Y15, to)
#define SHORT_LANES(row, off, to) \
	FEW_LANES(row, R10, CX, X15, Y15); \
	VMOVAPS Y15, to

// PAIR_PRODUCTS adds the products of a row of the table with two rows of a, in Y12 and Y13, to x and y.
#define PAIR_PRODUCTS(LOAD, row, off, x, y) \
	LOAD(row, off, Y14);  \
	VMULPS Y14, Y12, Y15; \
	VADDPS Y15, x, x;     \
	VMULPS Y14, Y13, Y14; \
	VADDPS Y14, y, y

#define PAIR_HALF(LOAD, off, x0, x1, x2, y0, y1, y2) \
	LOAD(R11, off, Y12);                  \
	LOAD(R12, off, Y13);                  \
	PAIR_PRODUCTS(LOAD, SI, off, x0, y0); \
	PAIR_PRODUCTS(LOAD, R8, off, x1, y1); \
	PAIR_PRODUCTS(LOAD, R9, off, x2, y2)

#define PAIR_FIRST(LOAD) PAIR_HALF(LOAD, 0, Y0, Y1, Y2, Y3, Y4, Y5)
#define PAIR_SECOND(LOAD, off) PAIR_HALF(LOAD, off, Y6, Y7, Y8, Y9, Y10, Y11)

// LAST_PRODUCTS adds the products of a row of the table with one row of a, in Y12, to x.
#define LAST_PRODUCTS(LOAD, row, off, x) \
	LOAD(row, off, Y14);  \
	VMULPS Y14, Y12, Y14; \
	VADDPS Y14, x, x

#define LAST_HALF(LOAD, off, x0, x1, x2) \
	LOAD(R11, off, Y12);              \
	LAST_PRODUCTS(LOAD, SI, off, x0); \
	LAST_PRODUCTS(LOAD, R8, off, x1); \
	LAST_PRODUCTS(LOAD, R9, off, x2)

#define CLEAR_LAST \
	VXORPS Y0, Y0, Y0; \
	VXORPS Y1, Y1, Y1; \
	VXORPS Y2, Y2, Y2; \
	VXORPS Y6, Y6, Y6; \
	VXORPS Y7, Y7, Y7; \
	VXORPS Y8, Y8, Y8

#define CLEAR_PAIR \
	CLEAR4(Y0, Y1, Y2, Y3); \
	CLEAR4(Y4, Y5, Y6, Y7); \
	CLEAR4(Y8, Y9, Y10, Y11)

#define LAST_FIRST(LOAD) LAST_HALF(LOAD, 0, Y0, Y1, Y2)
#define LAST_SECOND(LOAD, off) LAST_HALF(LOAD, off, Y6, Y7, Y8)

// DOTS_COLUMNS_AVX2 has no use for R10 in a row of less than 8 columns but as their number, nor for CX but as 0.
#define DOTS_COLUMNS_AVX2(FIRST, SECOND, block, tail, few, short, sum) \
	XORL  DX, DX;                \
	TESTQ CX, CX;                \
	JEQ   tail;                  \
	PCALIGN $32;                 \
block: \
	FIRST(ALL_LANES);            \
	SECOND(ALL_LANES, 32);       \
	ADDQ  $64, DX;               \
	CMPQ  DX, CX;                \
	JLT   block;                 \
tail: \
	TESTB $8, dotArgs_cols(BX);  \
	JEQ   few;                   \
	FIRST(ALL_LANES);            \
	TESTB $7, dotArgs_cols(BX);  \
	JEQ   sum;                   \
	MOVQ  dotArgs_cols(BX), DX;  \
	LEAQ  -32(DX*4), DX;         \
	SECOND(TAIL_LANES, 0);       \
	JMP   sum;                   \
few: \
	TESTB $7, dotArgs_cols(BX);  \
	JEQ   sum;                   \
	CMPQ  dotArgs_cols(BX), $8;  \
	JLT   short;                 \
	MOVQ  dotArgs_cols(BX), DX;  \
	LEAQ  -32(DX*4), DX;         \
	FIRST(TAIL_LANES);           \
	JMP   sum;                   \
short: \
	MOVQ  dotArgs_cols(BX), R10; \
	FOURS_OF(R10, CX);           \
	FIRST(SHORT_LANES);          \
	XORL  CX, CX;                \
sum:

// TREE_AVX2 leaves in each half of Y0 the results of a row of a with the three rows of the table, and R12 is the next row
// of dst.
#define TREE_AVX2(z0, z1, z2, w0, w1, w2) \
	HALVES(Y0, Y6, z0, w0, Y12);   \
	HALVES(Y1, Y7, z1, w1, Y13);   \
	HALVES(Y2, Y8, z2, w2, Y14);   \
	VSHUFPS $0xEE, Y1, Y0, Y12;    \
	VSHUFPS $0x44, Y1, Y0, Y0;     \
	VADDPS  Y12, Y0, Y0;           \
	VSHUFPS $0xEE, Y2, Y2, Y12;    \
	VADDPS  Y12, Y2, Y2;           \
	VSHUFPS $0xDD, Y2, Y0, Y12;    \
	VSHUFPS $0x88, Y2, Y0, Y0;     \
	VADDPS  Y12, Y0, Y0

// Where there are rows to prefetch, those of the group that begins dotArgs.ahead ids later, that is done while the first rows of a pass
// by: with each line of the rows of this group a line of the three to come, which AX, DI and R13 point to meanwhile. NEXT_ROW finds the
// row of id number DX, or has row 0 of a, which is in a cache, where that id may not be read. On a Zen 3, times of that over those with all of
// them prefetched in front of the group, for so many rows of a and random rows, medians of 31 interleaved rounds:
//
//	                       1     2     4     16
//	   50,257 x 768 8,192  0.73  0.66  0.72  0.85
//	   50,257 x 768   128  0.72  0.71  0.77  0.86
//	   20,000 x 2,048      0.96  0.92  0.98  0.99
//	  300,000 x 256        0.78  0.73  0.75  0.85
//	1,000,000 x 128        0.87  0.84  0.82  0.85
//	1,000,000 x 64         0.92  0.88  0.88  0.94
//	1,000,000 x 30         0.68  0.69  0.66  0.94
//	4,000,000 x 8          0.96  0.92  0.92  0.97
//	   10,000 x 64         0.98  0.93  0.95  0.98
//	    3,000 x 768        0.84  0.91  0.94  0.91
//
// Of longer rows less is to be on its way than a group has, and some of what is prefetched belongs to this one: to look at least a group
// ahead takes 1.01 to 1.05 times as long, 16,384 x 4,096, and 1.02 to 1.14, 8,000 x 8,192.

#define NEXT_ROW(row, next, load, found, ready) \
	CMPQ  DX, dotArgs_readable(BX);     \
	JLT   next;                         \
	MOVQ  dotArgs_a(BX), row;           \
	JMP   ready;                        \
next: \
	DOT_ID(row, load, found);           \
	IMULQ dotArgs_tableStride(BX), row; \
	ADDQ  dotArgs_table(BX), row;       \
ready:

#define THREE_AHEAD \
	PREFETCH (AX)(DX*1); \
	PREFETCH (DI)(DX*1); \
	PREFETCH (R13)(DX*1)

#define PAIR_AHEAD(LOAD) \
	THREE_AHEAD;         \
	PAIR_FIRST(LOAD)

#define LAST_AHEAD(LOAD) \
	THREE_AHEAD;         \
	LAST_FIRST(LOAD)

// AHEAD_END prefetches the lines of the last columns where rows may straddle one more, and has the registers be what they are elsewhere.
#define AHEAD_END \
	MOVQ dotArgs_cols(BX), DX;     \
	CMPB dotArgs_straddle(BX), $0; \
	JEQ  4(PC);                    \
	PREFETCH -4(AX)(DX*4);         \
	PREFETCH -4(DI)(DX*4);         \
	PREFETCH -4(R13)(DX*4);        \
	MOVQ dotArgs_group(BX), R13;   \
	DOTS_BEGIN

// func dotsAVX2(d *dotArgs) (done int)
// for j, id := range ids { for i := range a { dst[i][j] = dot(a[i], table[id]) } }
TEXT ·dotsAVX2(SB), NOSPLIT, $0-16
	MOVQ d+0(FP), BX
	MOVQ dotArgs_cols(BX), AX
	SPLIT(64)
	LAST_LANES_BEGIN(R10, DX)
	MOVQ dotArgs_first(BX), R13
group:
	DOT_ROW(APART0, SI, load0, found0)
	DOT_ROW(APART1, R8, load1, found1)
	DOT_ROW(APART2, R9, load2, found2)
	CMPQ dotArgs_ahead(BX), $0
	JNE  ahead
	DOTS_BEGIN
	DECQ AX
	JEQ  last
pair:
	MOVQ R11, R12
	ADDQ dotArgs_aStride(BX), R12
	CLEAR_PAIR
	DOTS_COLUMNS_AVX2(PAIR_FIRST, PAIR_SECOND, pairBlock, pairTail, pairFew, pairShort, pairSum)
pairResults:
	TREE_AVX2(Y3, Y4, Y5, Y9, Y10, Y11)
	MOVQ R12, R11
	ADDQ dotArgs_aStride(BX), R11
	MOVQ DI, R12
	ADDQ dotArgs_dstStride(BX), R12
	VEXTRACTF128 $1, Y0, X1
	MOVQ dotArgs_n(BX), DX
	SUBQ R13, DX
	CMPQ DX, $2
	MOVQ dotArgs_apart(BX), DX
	JEQ  pairOf2
	JLT  pairOf1
	VEXTRACTPS $2, X0, (DI)(DX*8)
	VEXTRACTPS $2, X1, (R12)(DX*8)
pairOf2:
	VEXTRACTPS $1, X0, (DI)(DX*4)
	VEXTRACTPS $1, X1, (R12)(DX*4)
pairOf1:
	VMOVSS X0, (DI)
	VMOVSS X1, (R12)
	MOVQ R12, DI
	ADDQ dotArgs_dstStride(BX), DI
	SUBQ $2, AX
	JGT  pair
	JLT  next
last:
	CLEAR_LAST
	DOTS_COLUMNS_AVX2(LAST_FIRST, LAST_SECOND, lastBlock, lastTail, lastFew, lastShort, lastSum)
lastResults:
	TREE_AVX2(Y3, Y4, Y5, Y9, Y10, Y11)
	MOVQ dotArgs_n(BX), DX
	SUBQ R13, DX
	CMPQ DX, $2
	MOVQ dotArgs_apart(BX), DX
	JEQ  lastOf2
	JLT  lastOf1
	VEXTRACTPS $2, X0, (DI)(DX*8)
lastOf2:
	VEXTRACTPS $1, X0, (DI)(DX*4)
lastOf1:
	VMOVSS X0, (DI)
next:
	ADDQ dotArgs_step(BX), R13
	CMPQ R13, dotArgs_end(BX)
	JLT  group
	JMP  done
ahead:
	MOVQ R13, dotArgs_group(BX)
	MOVQ dotArgs_ahead(BX), DX
	ADDQ R13, DX
	NEXT_ROW(AX, next0, loadNext0, foundNext0, ready0)
	INCQ DX
	NEXT_ROW(DI, next1, loadNext1, foundNext1, ready1)
	INCQ DX
	NEXT_ROW(R13, next2, loadNext2, foundNext2, ready2)
	MOVQ dotArgs_a(BX), R11
	CMPQ dotArgs_rows(BX), $1
	JEQ  lastAhead
	MOVQ R11, R12
	ADDQ dotArgs_aStride(BX), R12
	CLEAR_PAIR
	DOTS_COLUMNS_AVX2(PAIR_AHEAD, PAIR_SECOND, pairAheadBlock, pairAheadTail, pairAheadFew, pairAheadShort, pairAheadSum)
	AHEAD_END
	DECQ AX
	JMP  pairResults
lastAhead:
	CLEAR_LAST
	DOTS_COLUMNS_AVX2(LAST_AHEAD, LAST_SECOND, lastAheadBlock, lastAheadTail, lastAheadFew, lastAheadShort, lastAheadSum)
	AHEAD_END
	JMP  lastResults
changed:
	DOTS_CHANGED
done:
	VZEROUPPER
	MOVQ dotArgs_n(BX), AX
	MOVQ AX, done+8(FP)
	RET

// Rows of the table one by one, each against the row of a in whose bag it is.
//
// Registers that differ:
//	SI   row of the table   R12  row to prefetch
//	R8   ids                R10  number of the id at which the bag of R11 ends, -1 if there are no bags
//	R9   number of the id

#define ONE_PREFETCH(off) PREFETCH off(R12)(DX*1)

#define ONE_BEGIN \
	MOVQ dotArgs_ids(BX), R8;    \
	MOVQ dotArgs_a(BX), R11;     \
	MOVQ dotArgs_dst(BX), DI;    \
	MOVQ dotArgs_first(BX), R9

// ONE_ROW finds the row of the table, whose number FIND finds, and the one to prefetch. Where no row is ahead that is the row of a, which is in
// a cache: the row itself, once more, took a Xeon 1.1 times as long for 48 rows of 64 columns, 1.05 for 128.
#define ONE_ROW(FIND) \
row: \
	CMPQ R9, R10;                      \
	JEQ  bag;                          \
	FIND(R9, SI, inOrder);             \
	CMPQ SI, dotArgs_limit(BX);        \
	JAE  changed;                      \
	IMULQ dotArgs_tableStride(BX), SI; \
	ADDQ dotArgs_table(BX), SI;        \
	MOVQ R11, R12;                     \
	MOVQ dotArgs_ahead(BX), DX;        \
	ADDQ R9, DX;                       \
	CMPQ DX, dotArgs_readable(BX);     \
	JGE  near;                         \
	FIND(DX, R12, nextInOrder);        \
	IMULQ dotArgs_tableStride(BX), R12; \
	ADDQ dotArgs_table(BX), R12;       \
near: \
	XORL DX, DX

// ONE_BAG goes to the next bag.
#define ONE_BAG \
bag: \
	ADDQ dotArgs_aStride(BX), R11; \
	MOVQ dotArgs_ends(BX), DX;     \
	ADDQ $8, DX;                   \
	MOVQ DX, dotArgs_ends(BX);     \
	MOVQ (DX), R10;                \
	JMP  row

#define BAG_ID(pos, row, label) ID(R8, dotArgs_wide(BX), pos, row)

// func dotsOneAVX2(d *dotArgs) (done int)
// for j, id := range ids { dst[0][j] = dot(a[b], table[id]) }, where j is in bag b
// Y0 and Y1 are the lanes. Y13 and Y14 are for LAST_LANES, R13 for FEW_LANES.
TEXT ·dotsOneAVX2(SB), NOSPLIT, $0-16
	MOVQ d+0(FP), BX
	MOVQ dotArgs_cols(BX), AX
	SPLIT(64)
	LAST_LANES_BEGIN(R13, DX)
	VMOVUPS (R13), Y13
	VMOVUPS 64(R13), Y14
	FOURS_OF(AX, R13)
	ONE_BEGIN
	MOVQ dotArgs_ends(BX), DX
	MOVQ (DX), R10
	ONE_ROW(BAG_ID)
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	TESTQ CX, CX
	JEQ  tail
	PCALIGN $32
block:
	ONE_PREFETCH(0)
	VMOVUPS (SI)(DX*1), Y2
	VMOVUPS 32(SI)(DX*1), Y3
	VMULPS (R11)(DX*1), Y2, Y2
	VMULPS 32(R11)(DX*1), Y3, Y3
	VADDPS Y2, Y0, Y0
	VADDPS Y3, Y1, Y1
	ADDQ $64, DX
	CMPQ DX, CX
	JLT  block
tail:
	STRADDLE(dotArgs_straddle, -4(R12)(AX*4))
	TESTB $15, AX
	JEQ  sum
	ONE_PREFETCH(0)
	CMPQ AX, $8
	JLT  short
	LAST_LANES(-32(SI)(AX*4), Y13, Y14, Y2)
	LAST_LANES(-32(R11)(AX*4), Y13, Y14, Y3)
	TESTB $8, AX
	JEQ  few
	VMOVUPS (SI)(DX*1), Y4
	VMULPS (R11)(DX*1), Y4, Y4
	VADDPS Y4, Y0, Y0
	VMULPS Y3, Y2, Y2
	VADDPS Y2, Y1, Y1
	JMP  sum
short:
	FEW_LANES(SI, AX, R13, X2, Y2)
	FEW_LANES(R11, AX, R13, X3, Y3)
few:
	VMULPS Y3, Y2, Y2
	VADDPS Y2, Y0, Y0
sum:
	VADDPS Y1, Y0, Y0
	SUM_OF_EIGHT
	VMOVSS X0, (DI)(R9*4)
	INCQ R9
	CMPQ R9, dotArgs_n(BX)
	JLT  row
	JMP  done
	ONE_BAG
changed:
	MOVQ R9, dotArgs_n(BX)
done:
	VZEROUPPER
	MOVQ R9, done+8(FP)
	RET

// func dotLanesAVX2(lanes, x, y *float32, n int)
// for i := range n { lanes[i%16] += x[i] * y[i] }
TEXT ·dotLanesAVX2(SB), NOSPLIT, $0-32
	MOVQ lanes+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), R8
	MOVQ n+24(FP), CX
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	PCALIGN $32
block:
	VMOVUPS (SI), Y2
	VMOVUPS 32(SI), Y3
	VMULPS (R8), Y2, Y2
	VMULPS 32(R8), Y3, Y3
	VADDPS Y2, Y0, Y0
	VADDPS Y3, Y1, Y1
	ADDQ $64, SI
	ADDQ $64, R8
	SUBQ $16, CX
	JGT  block
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET

// Sums of squares, of which a float32 has exact ones in float64: 16 lanes, and the tree of dot products.
//
// Registers:
//	DI  sum of the row     R9   row
//	SI  in the row         R10  bytes between rows
//	CX  columns left       R11  rows left
//	R8  to be prefetched   R12  columns

#define SQUARE_IT(x, lanes) \
	VMULPD x, x, x;        \
	VADDPD x, lanes, lanes

#define SQUARE(off, x, lanes) \
	VCVTPS2PD off(SI), x; \
	SQUARE_IT(x, lanes)

// SQUARE_ROWS does rows: BLOCK 16 elements at a time, a line, for each of which one is prefetched, TAIL what is left of them, and SUM adds up
// lanes to X0.
#define SQUARE_ROWS(CLEAR, BLOCK, TAIL, SUM, row, block, tail, sum) \
	PCALIGN $32;      \
row: \
	MOVQ R9, SI;      \
	MOVQ R12, CX;     \
	CLEAR;            \
	SUBQ $16, CX;     \
	JLT  tail;        \
block: \
	BLOCK;            \
	PREFETCH (R8);    \
	ADDQ $64, SI;     \
	ADDQ $64, R8;     \
	SUBQ $16, CX;     \
	JGE  block;       \
tail: \
	TESTQ $15, R12;   \
	JEQ  sum;         \
	TAIL;             \
sum: \
	SUM;              \
	VMOVSD X0, (DI);  \
	ADDQ $8, DI;      \
	ADDQ R10, R9;     \
	DECQ R11;         \
	JNE  row;         \
	VZEROUPPER

// SUM_OF_FOUR adds up the lanes in Y0.
#define SUM_OF_FOUR \
	VEXTRACTF128 $1, Y0, X1; \
	VADDPD X1, X0, X0;       \
	VUNPCKHPD X0, X0, X1;    \
	VADDSD X1, X0, X0

#define SQUARES_AVX2 \
	SQUARE(0, Y4, Y0);  \
	SQUARE(16, Y5, Y1); \
	SQUARE(32, Y6, Y2); \
	SQUARE(48, Y7, Y3)

// LAST_SQUARES_AVX2 has the last eights of lanes change places behind the first eight columns: what adds them up does not notice. DX and Y15
// are for LAST_LANES, or DX for FEW_LANES.
#define LAST_SQUARES_AVX2(few, short, squares, sum) \
	TESTQ $8, R12;                     \
	JEQ  few;                          \
	SQUARE(0, Y4, Y0);                 \
	SQUARE(16, Y5, Y1);                \
	TESTQ $7, R12;                     \
	JEQ  sum;                          \
	VMOVAPD Y0, Y4;                    \
	VMOVAPD Y1, Y5;                    \
	VMOVAPD Y2, Y0;                    \
	VMOVAPD Y3, Y1;                    \
	VMOVAPD Y4, Y2;                    \
	VMOVAPD Y5, Y3;                    \
few: \
	CMPQ R12, $8;                      \
	JLT  short;                        \
	VMOVUPS 64(DX), Y15;               \
	LAST_LANES(-32(R9)(R12*4), (DX), Y15, Y4); \
	JMP  squares;                      \
short: \
	FOURS_OF(R12, DX);                 \
	FEW_LANES(R9, R12, DX, X4, Y4);    \
squares: \
	VCVTPS2PD X4, Y5;                  \
	VEXTRACTF128 $1, Y4, X4;           \
	VCVTPS2PD X4, Y6;                  \
	SQUARE_IT(Y5, Y0);                 \
	SQUARE_IT(Y6, Y1)

#define SUM_OF_SQUARES_AVX2 \
	VADDPD Y2, Y0, Y0; \
	VADDPD Y3, Y1, Y1; \
	VADDPD Y1, Y0, Y0; \
	SUM_OF_FOUR

// func squareSumsAVX2(dst *float64, x *float32, stride uintptr, rows, cols int, next *float32)
// for i := range rows { dst[i] = 0; for j := range cols { dst[i] += x[i][j] * x[i][j] } }
TEXT ·squareSumsAVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), R9
	MOVQ stride+16(FP), R10
	MOVQ rows+24(FP), R11
	MOVQ cols+32(FP), R12
	MOVQ next+40(FP), R8
	MOVQ R12, AX
	LAST_LANES_BEGIN(DX, CX)
	SQUARE_ROWS(CLEAR4(Y0, Y1, Y2, Y3), SQUARES_AVX2, LAST_SQUARES_AVX2(few, short, squares, sum), SUM_OF_SQUARES_AVX2, row, block, tail, sum)
	RET

// AVX-512

#define CLEAR_SQUARES_AVX512 \
	VPXORD Z0, Z0, Z0; \
	VPXORD Z1, Z1, Z1

#define SQUARES_AVX512 \
	SQUARE(0, Z2, Z0);  \
	SQUARE(32, Z3, Z1)

#define LAST_SQUARES_AVX512 \
	VMOVUPS.Z (SI), K1, Z4;     \
	VEXTRACTF64X4 $1, Z4, Y5;   \
	VCVTPS2PD Y4, Z2;           \
	VCVTPS2PD Y5, Z3;           \
	SQUARE_IT(Z2, Z0);          \
	SQUARE_IT(Z3, Z1)

#define SUM_OF_SQUARES_AVX512 \
	VADDPD Z1, Z0, Z0;        \
	VEXTRACTF64X4 $1, Z0, Y1; \
	VADDPD Y1, Y0, Y0;        \
	SUM_OF_FOUR

// func squareSumsAVX512(dst *float64, x *float32, stride uintptr, rows, cols int, next *float32)
// for i := range rows { dst[i] = 0; for j := range cols { dst[i] += x[i][j] * x[i][j] } }
TEXT ·squareSumsAVX512(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), R9
	MOVQ stride+16(FP), R10
	MOVQ rows+24(FP), R11
	MOVQ cols+32(FP), R12
	MOVQ next+40(FP), R8
	MOVQ R12, CX
	ANDL $15, CX
	MOVL $1, AX
	SHLL CX, AX
	DECL AX
	KMOVW AX, K1
	SQUARE_ROWS(CLEAR_SQUARES_AVX512, SQUARES_AVX512, LAST_SQUARES_AVX512, SUM_OF_SQUARES_AVX512, row, block, tail, sum)
	RET

#define ALL_LANES_AVX512(row, to) VMOVUPS (row)(DX*1), to
#define TAIL_LANES_AVX512(row, to) VMOVUPS.Z (row)(DX*1), K1, to
#define ALL_AT_AVX512(from, to) VMOVUPS from, to
#define TAIL_AT_AVX512(from, to) VMOVUPS.Z from, K1, to

// QUAD_PRODUCTS_AVX512 adds the products of a row of the table with four rows of a, in Z16 to Z19.
#define QUAD_PRODUCTS_AVX512(LOAD, row, x, y, z, w) \
	LOAD(row, Z20);       \
	VMULPS Z20, Z16, Z21; \
	VMULPS Z20, Z17, Z22; \
	VMULPS Z20, Z18, Z23; \
	VMULPS Z20, Z19, Z24; \
	VADDPS Z21, x, x;     \
	VADDPS Z22, y, y;     \
	VADDPS Z23, z, z;     \
	VADDPS Z24, w, w

// QUAD_COLUMNS_AVX512 has the rows of a where R11, which goes along them, and R12, their stride, say; DI goes along the
// last.
#define QUAD_COLUMNS_AVX512(LOAD, LOAD_A) \
	LOAD_A((R11), Z16);                              \
	LOAD_A((R11)(R12*1), Z17);                       \
	LOAD_A((R11)(R12*2), Z18);                       \
	LOAD_A((DI), Z19);                               \
	QUAD_PRODUCTS_AVX512(LOAD, SI, Z0, Z4, Z8, Z12); \
	QUAD_PRODUCTS_AVX512(LOAD, R8, Z1, Z5, Z9, Z13); \
	QUAD_PRODUCTS_AVX512(LOAD, R9, Z2, Z6, Z10, Z14); \
	QUAD_PRODUCTS_AVX512(LOAD, R10, Z3, Z7, Z11, Z15)

#define PAIR_PRODUCTS_AVX512(LOAD, row, x, y) \
	LOAD(row, Z10);       \
	VMULPS Z10, Z8, Z11;  \
	VADDPS Z11, x, x;     \
	VMULPS Z10, Z9, Z10;  \
	VADDPS Z10, y, y

#define PAIR_COLUMNS_AVX512(LOAD) \
	LOAD(R11, Z8);                          \
	LOAD(R12, Z9);                          \
	PAIR_PRODUCTS_AVX512(LOAD, SI, Z0, Z4); \
	PAIR_PRODUCTS_AVX512(LOAD, R8, Z1, Z5); \
	PAIR_PRODUCTS_AVX512(LOAD, R9, Z2, Z6); \
	PAIR_PRODUCTS_AVX512(LOAD, R10, Z3, Z7)

#define LAST_PRODUCTS_AVX512(LOAD, row, x) \
	LOAD(row, Z10);       \
	VMULPS Z10, Z8, Z10;  \
	VADDPS Z10, x, x

#define LAST_COLUMNS_AVX512(LOAD) \
	LOAD(R11, Z8);                      \
	LAST_PRODUCTS_AVX512(LOAD, SI, Z0); \
	LAST_PRODUCTS_AVX512(LOAD, R8, Z1); \
	LAST_PRODUCTS_AVX512(LOAD, R9, Z2); \
	LAST_PRODUCTS_AVX512(LOAD, R10, Z3)

#define DOTS_COLUMNS_AVX512(COLUMNS, block, tail, sum) \
	XORL  DX, DX;                \
	TESTQ CX, CX;                \
	JEQ   tail;                  \
	PCALIGN $32;                 \
block: \
	COLUMNS(ALL_LANES_AVX512);   \
	ADDQ  $64, DX;               \
	CMPQ  DX, CX;                \
	JLT   block;                 \
tail: \
	TESTB $15, dotArgs_cols(BX); \
	JEQ   sum;                   \
	COLUMNS(TAIL_LANES_AVX512);  \
sum:

// TREE_AVX512 leaves in the lowest quarter of Z0 the results of a row of a with the four rows of the table, and in the next
// one those of the next row.
#define TREE_AVX512(z0) \
	VSHUFPS $0xEE, z0, Z0, Z8; \
	VSHUFPS $0x44, z0, Z0, Z0; \
	VADDPS  Z8, Z0, Z0;        \
	VSHUFPS $0xDD, Z0, Z0, Z8; \
	VSHUFPS $0x88, Z0, Z0, Z0; \
	VADDPS  Z8, Z0, Z0;        \
	VPERMPS Z0, Z31, Z0

// Results of the two or four rows stand side by side, those of each row of the table in a quarter of their own.
DATA ·apart+0(SB)/8, $0x0D0905010C080400
DATA ·apart+8(SB)/8, $0x0F0B07030E0A0602
GLOBL ·apart(SB), RODATA|NOPTR, $16

// RESULTS stores the results of a row of a, by K2 where they are side by side, and goes on to its next row of dst. It jumps by numbers of
// instructions, since it is there several times.
#define RESULTS(x) \
	MOVQ  dotArgs_apart(BX), DX;       \
	CMPQ  DX, $1;                      \
	JNE   3(PC);                       \
	VMOVUPS x, K2, (DI);               \
	JMP   6(PC);                       \
	VMOVSS x, (DI);                    \
	VEXTRACTPS $1, x, (DI)(DX*4);      \
	VEXTRACTPS $2, x, (DI)(DX*8);      \
	LEAQ  (DX)(DX*2), DX;              \
	VEXTRACTPS $3, x, (DI)(DX*4);      \
	ADDQ  dotArgs_dstStride(BX), DI

#define DOTS_AVX512 \
	MOVQ dotArgs_cols(BX), AX;                              \
	MASK;                                                   \
	SPLIT(64);                                              \
	VPMOVZXBD ·apart(SB), Z31;                              \
	MOVQ dotArgs_first(BX), R13;                            \
group: \
	DOT_ROW(APART0, SI, load0, found0);                     \
	DOT_ROW(APART1, R8, load1, found1);                     \
	DOT_ROW(APART2, R9, load2, found2);                     \
	DOT_ROW(APART3, R10, load3, found3);                    \
	DOTS_AHEAD;                                             \
	MOVQ dotArgs_n(BX), R12;                                \
	SUBQ R13, R12;                                          \
	MOVL $4, DX;                                            \
	CMPQ R12, DX;                                           \
	CMOVQGT DX, R12;                                        \
	XORL DX, DX;                                            \
	BTSL R12, DX;                                           \
	DECL DX;                                                \
	KMOVW DX, K2;                                           \
	SUBQ $4, AX;                                            \
	JLT  few;                                               \
quad: \
	MOVQ dotArgs_aStride(BX), R12;                          \
	LEAQ (R12)(R12*2), DI;                                  \
	ADDQ R11, DI;                                           \
	CLEAR4(Z0, Z1, Z2, Z3);                                 \
	CLEAR4(Z4, Z5, Z6, Z7);                                 \
	CLEAR4(Z8, Z9, Z10, Z11);                               \
	CLEAR4(Z12, Z13, Z14, Z15);                             \
	XORL  DX, DX;                                           \
	TESTQ CX, CX;                                           \
	JEQ   quadTail;                                         \
	PCALIGN $32;                                            \
quadBlock: \
	QUAD_COLUMNS_AVX512(ALL_LANES_AVX512, ALL_AT_AVX512);   \
	ADDQ  $64, R11;                                         \
	ADDQ  $64, DI;                                          \
	ADDQ  $64, DX;                                          \
	CMPQ  DX, CX;                                           \
	JLT   quadBlock;                                        \
quadTail: \
	TESTB $15, dotArgs_cols(BX);                            \
	JEQ   quadSum;                                          \
	QUAD_COLUMNS_AVX512(TAIL_LANES_AVX512, TAIL_AT_AVX512); \
quadSum: \
	SUBQ CX, R11;                                           \
	LEAQ (R11)(R12*4), R11;                                 \
	SIXTEEN_SUMS(VADDPS);                                   \
	MOVQ dotArgs_rows(BX), DI;                              \
	SUBQ AX, DI;                                            \
	SUBQ $4, DI;                                            \
	IMULQ dotArgs_dstStride(BX), DI;                        \
	ADDQ dotArgs_dst(BX), DI;                               \
	LEAQ (DI)(R13*4), DI;                                   \
	RESULTS(X0);                                            \
	RESULTS(X1);                                            \
	RESULTS(X2);                                            \
	RESULTS(X3);                                            \
	SUBQ $4, AX;                                            \
	JGE  quad;                                              \
few: \
	ADDQ $3, AX;                                            \
	JLT  next;                                              \
	JEQ  last;                                              \
pair: \
	MOVQ R11, R12;                                          \
	ADDQ dotArgs_aStride(BX), R12;                          \
	CLEAR4(Z0, Z1, Z2, Z3);                                 \
	CLEAR4(Z4, Z5, Z6, Z7);                                 \
	DOTS_COLUMNS_AVX512(PAIR_COLUMNS_AVX512, pairBlock, pairTail, pairSum); \
	QUARTERS(Z0, Z1, Z2, Z3, Z8);                           \
	QUARTERS(Z4, Z5, Z6, Z7, Z9);                           \
	TREE_AVX512(Z4);                                        \
	MOVQ R12, R11;                                          \
	ADDQ dotArgs_aStride(BX), R11;                          \
	VEXTRACTF128 $1, Y0, X1;                                \
	RESULTS(X0);                                            \
	RESULTS(X1);                                            \
	SUBQ $2, AX;                                            \
	JGT  pair;                                              \
	JLT  next;                                              \
last: \
	CLEAR4(Z0, Z1, Z2, Z3);                                 \
	DOTS_COLUMNS_AVX512(LAST_COLUMNS_AVX512, lastBlock, lastTail, lastSum); \
	QUARTERS(Z0, Z1, Z2, Z3, Z8);                           \
	TREE_AVX512(Z0);                                        \
	RESULTS(X0);                                            \
next: \
	ADDQ dotArgs_step(BX), R13;                             \
	CMPQ R13, dotArgs_end(BX);                              \
	JLT  group;                                             \
	JMP  done;                                              \
changed: \
	DOTS_CHANGED;                                           \
done: \
	VZEROUPPER

// func dotsAVX512(d *dotArgs) (done int)
// for j, id := range ids { for i := range a { dst[i][j] = dot(a[i], table[id]) } }
TEXT ·dotsAVX512(SB), NOSPLIT, $0-16
	MOVQ d+0(FP), BX
	NEAR(dotArgs_near, ·dotsNearAVX512<>)
	DOTS_AVX512
	MOVQ dotArgs_n(BX), AX
	MOVQ AX, done+8(FP)
	RET

// One row of a against rows of the table that are prefetched line by line, one after the other. There is no loop up to 512 columns,
// and four vectors are loaded in the order of MIXED, for the reasons that UPDATE_COLUMNS and rows_amd64.h have: with one, 1,000,000
// x 128 took 26.7 and not 19.7. Lanes are added up from left to right all the same. R13 are the bytes of the row in fours, Z4 the lanes of the
// dot product, and Z0 to Z3 those of the last four.

// ONE_ID finds the number of row pos: an id, or pos where there are none.
#define ONE_ID(pos, row, inOrder) \
	MOVQ  pos, row;  \
	TESTQ R8, R8;    \
	JEQ   inOrder;   \
	ID(R8, dotArgs_wide(BX), pos, row); \
inOrder:

#define ONE_PRODUCT(off, x) \
	VMULPS off(R11)(DX*1), x, x; \
	VADDPS x, Z4, Z4

#define ONE_FOUR \
	CMPQ DX, R13;               \
	JGE  ones;                  \
	ONE_PREFETCH(0);            \
	ONE_PREFETCH(64);           \
	ONE_PREFETCH(128);          \
	ONE_PREFETCH(192);          \
	VMOVUPS 128(SI)(DX*1), Z7;  \
	VMOVUPS (SI)(DX*1), Z5;     \
	VMOVUPS 192(SI)(DX*1), Z8;  \
	VMOVUPS 64(SI)(DX*1), Z6;   \
	ONE_PRODUCT(0, Z5);         \
	ONE_PRODUCT(64, Z6);        \
	ONE_PRODUCT(128, Z7);       \
	ONE_PRODUCT(192, Z8);       \
	ADDQ $256, DX

#define ONE_BLOCK \
	CMPQ DX, CX;            \
	JGE  tail;              \
	ONE_PREFETCH(0);        \
	VMOVUPS (SI)(DX*1), Z5; \
	ONE_PRODUCT(0, Z5);     \
	ADDQ $64, DX

// ORDERED_FOUR has each vector loaded right in front of its product, and a line prefetched behind it, where rows are in their order, for
// which tuning.InOrderLines has the figures. Of random rows 1,000,000 x 512 took 248 and 360 ns each so.
#define ORDERED_FOUR \
	CMPQ DX, R13;       \
	JGE  ones;          \
	ONE_ORDERED(0);     \
	ONE_ORDERED(64);    \
	ONE_ORDERED(128);   \
	ONE_ORDERED(192);   \
	ADDQ $256, DX

#define ONE_ORDERED(off) \
	VMOVUPS off(SI)(DX*1), Z5; \
	ONE_PRODUCT(off, Z5);      \
	ONE_PREFETCH(off)

// DOTS_ONE is all of it, from a first position that 4 divides on.
#define DOTS_ONE(FOUR) \
	MOVQ dotArgs_cols(BX), AX;        \
	MASK;                             \
	SPLIT(64);                        \
	VPMOVZXBD ·apart(SB), Z31;        \
	CLEAR4(Z0, Z1, Z2, Z3);           \
	ONE_BEGIN;                        \
	MOVQ $-1, R10;                    \
	MOVQ dotArgs_ends(BX), DX;        \
	TESTQ DX, DX;                     \
	JEQ  row;                         \
	MOVQ (DX), R10;                   \
	ONE_ROW(ONE_ID);                  \
	VXORPS Z4, Z4, Z4;                \
four: \
	FOUR;                             \
	FOUR;                             \
	FOUR;                             \
	FOUR;                             \
	FOUR;                             \
	FOUR;                             \
	FOUR;                             \
	FOUR;                             \
	JMP  four;                        \
ones: \
	ONE_BLOCK;                        \
	ONE_BLOCK;                        \
	ONE_BLOCK;                        \
tail: \
	STRADDLE(dotArgs_straddle, -4(R12)(AX*4)); \
	TESTB $15, AX;                    \
	JEQ  sum;                         \
	ONE_PREFETCH(0);                  \
	VMOVUPS.Z (SI)(DX*1), K1, Z5;     \
	VMOVUPS.Z (R11)(DX*1), K1, Z6;    \
	VMULPS Z6, Z5, Z5;                \
	VADDPS Z5, Z4, Z4;                \
sum: \
	VMOVAPS Z1, Z0;                   \
	VMOVAPS Z2, Z1;                   \
	VMOVAPS Z3, Z2;                   \
	VMOVAPS Z4, Z3;                   \
	INCQ R9;                          \
	MOVL $15, DX;                     \
	TESTB $3, R9;                     \
	JEQ  store;                       \
	CMPQ R9, dotArgs_n(BX);           \
	JLT  row;                         \
few: \
	MOVQ R9, CX;                      \
	NEGQ CX;                          \
	ANDQ $3, CX;                      \
	SHLL CX, DX;                      \
store: \
	KMOVW DX, K2;                     \
	QUARTERS(Z0, Z1, Z2, Z3, Z8);     \
	TREE_AVX512(Z0);                  \
	VMOVUPS X0, K2, -16(DI)(R9*4);    \
	CMPQ R9, dotArgs_n(BX);           \
	JLT  row;                         \
	JMP  done;                        \
	ONE_BAG;                          \
changed: \
	MOVQ R9, dotArgs_n(BX);           \
	MOVL $15, DX;                     \
	TESTB $3, R9;                     \
	JNE  few;                         \
done: \
	VZEROUPPER

// func dotsOneAVX512(d *dotArgs) (done int)
// for j, id := range ids { dst[0][j] = dot(a[b], table[id]) }, where j is in bag b, 0 if there are no bags; or of the first rows of the table
TEXT ·dotsOneAVX512(SB), NOSPLIT, $0-16
	MOVQ d+0(FP), BX
	NEAR(dotArgs_near, ·dotsOneNearAVX512<>)
	DOTS_ONE(ONE_FOUR)
	MOVQ R9, done+8(FP)
	RET

// func dotsOrderedAVX512(d *dotArgs) (done int)
// for j := range n { dst[0][j] = dot(a[0], table[j]) }
TEXT ·dotsOrderedAVX512(SB), NOSPLIT, $0-16
	MOVQ d+0(FP), BX
	DOTS_ONE(ORDERED_FOUR)
	MOVQ R9, done+8(FP)
	RET

// Near kernels: see NEAR in rows_amd64.h. BX has the arguments.

#undef PREFETCH
#define PREFETCH PREFETCHT0

TEXT ·dotsNearAVX512<>(SB), NOSPLIT, $0-16
	DOTS_AVX512
	MOVQ dotArgs_n(BX), AX
	MOVQ AX, done+8(FP)
	RET

TEXT ·dotsOneNearAVX512<>(SB), NOSPLIT, $0-16
	DOTS_ONE(ONE_FOUR)
	MOVQ R9, done+8(FP)
	RET
