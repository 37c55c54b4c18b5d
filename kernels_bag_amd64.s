//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// Kernels of bags walk the rows of bagArgs by blocks of columns, from left to right, each block by the bags, and each bag
// by its ids, whose rows are added up in registers. Most of long rows is done before, with the sums in memory, LONG_BAGS, or in
// wider blocks, HELD_BAGS; or all of them with the blocks of each bag behind one another, PAIRS and PANELS.
//
// Registers:
//	BX   arguments                       R9   number of the id
//	SI   block of row 0 of the table     R10  block of the row
//	DI   block of the bag's row          R11  limit of ids
//	R8   ids                             R12  where ids end that have one to prefetch by, or the bag does, and for a moment
//	CX   bytes between rows of the table R13  where the bag ends
//	AX   ids to prefetch by, in step     DX   where ids begin that have none to prefetch by
//	     with R8
//	K1   lanes of the tail (AVX-512)
//
// A block is up to eight vectors, with AVX2 up to twelve in ENDS_Y96, and those of HELD_BAGS up to 24. What is left of the rows is
// done as BAGS_ENDS or ENDS_AVX2 have it, or, where it is a power of two with AVX2, as a block of as many; or, with AVX-512, as a
// block of half as many, and so on down to one, by the bits of the number of columns, and then one masked vector. No byte outside
// the rows is touched.
//
// Blocks of four and eight vectors are done in the order of MIXED in rows_amd64.h, but spans of long rows from left to
// right. ns per id in bags of 3, 10 and 50 from left to right and so: 1,000,000 x 64 with AVX2 22.4 and 16.2, 19.8 and 15.0,
// 16.0 and 14.1; 1,000,000 x 128 with AVX-512 47.7 and 42.5, 39.1 and 35.0, 34.1 and 28.7. Spans of 50,257 x 768 took 1.05
// times as long so.
//
// There is no PCALIGN: with it the assembler of Go 1.26 does not come to an end here.

// What is done to one vector of a block, off bytes behind row, or to a part of one, which LOAD and STORE move: sum is its
// register, x one for a moment, and factor the weight, or the number of ids; keep and other are for LONG_BAGS. WITH has an
// instruction take what is in memory as its last operand: to load it first, weighted sums of bags of 10 of 50,257 x 768 took
// 174 ns per id with AVX-512 and 218 with AVX2, and not 167 and 204.

#define CLEAR(LOAD, STORE, WITH, row, off, sum, x, keep, factor, other) VXORPS sum, sum, sum
#define TAKE(LOAD, STORE, WITH, row, off, sum, x, keep, factor, other) LOAD(off(row), sum)
#define SUM(LOAD, STORE, WITH, row, off, sum, x, keep, factor, other) WITH(VADDPS, LOAD, off(row), x, sum, sum)
#define DIVIDE(LOAD, STORE, WITH, row, off, sum, x, keep, factor, other) VDIVPS factor, sum, sum
#define PUT(LOAD, STORE, WITH, row, off, sum, x, keep, factor, other) STORE(sum, off(row))

#define WEIGHTED_SUM(LOAD, STORE, WITH, row, off, sum, x, keep, factor, other) \
	WITH(VMULPS, LOAD, off(row), x, factor, x); \
	VADDPS x, sum, sum

// MAXIMUM keeps what is there unless x is greater, also where one of them is a NaN or both are zeros.
#define MAXIMUM(LOAD, STORE, WITH, row, off, sum, x, keep, factor, other) \
	LOAD(off(row), x);  \
	VMAXPS sum, x, sum

#define WITH_VECTOR(INSTRUCTION, LOAD, from, x, y, to) INSTRUCTION from, y, to
#define WITH_PART(INSTRUCTION, LOAD, from, x, y, to) \
	LOAD(from, x);       \
	INSTRUCTION x, y, to

// BAG_ROW finds the row with the id in R10.
#define BAG_ROW \
	CMPQ  R10, R11; \
	JAE   outside;  \
	IMULQ CX, R10;  \
	ADDQ  SI, R10

// How the sums of a block begin: with what is there from a part of the bag, or anew.
// START_MAXIMUM begins with the first row, which is then taken once more.

#define START_SUM(VECTORS, anew, start, store) \
	CMPB bagArgs_partial(BX), $0; \
	JEQ  anew;                    \
	VECTORS(TAKE, DI);            \
	JMP  start;                   \
anew: \
	MOVQ R9, bagArgs_first(BX);   \
	VECTORS(CLEAR, DI);           \
start: \
	CMPQ R9, R13;                 \
	JGE  store

#define START_MAXIMUM(VECTORS, anew, start, store) \
	CMPB bagArgs_partial(BX), $0;      \
	JEQ  anew;                         \
	VECTORS(TAKE, DI);                 \
	JMP  start;                        \
anew: \
	VECTORS(CLEAR, DI);                \
	CMPQ R9, R13;                      \
	JGE  store;                        \
	ID(R8, bagArgs_wide(BX), R9, R10); \
	BAG_ROW;                           \
	VECTORS(TAKE, R10);                \
start: \
	CMPQ R9, R13;                      \
	JGE  store

// How they end: divided by the number of ids if that is asked for, or as they are.

#define END_SUM(VECTORS, one, number, store) \
	CMPB bagArgs_mean(BX), $0;    \
	JEQ  store;                   \
	NUMBER(R13, one, number);     \
	VECTORS(DIVIDE, DI)

// END_PANEL_SUM is END_SUM behind the last piece of a bag.
#define END_PANEL_SUM(VECTORS, one, number, store) \
	CMPQ R13, bagArgs_end(BX);    \
	JLT  store;                   \
	END_SUM(VECTORS, one, number, store)

#define NUMBER(end, one, number) \
	MOVQ end, R12;               \
	SUBQ bagArgs_first(BX), R12; \
	VCVTSI2SSQ R12, one, one;    \
	VBROADCASTSS one, number

#define END_PLAIN(VECTORS, one, number, store)

// The weight of an id, or nothing; moment is a register for a moment.

#define WEIGHT(weight, moment) \
	MOVQ bagArgs_weights(BX), moment; \
	VBROADCASTSS (moment)(R9*4), weight

#define NO_WEIGHT(weight, moment)

// BAG finds where a bag ends. NEXT_BAG goes on with the next one; behind the last, no id may be left.

#define BAG(number, end) \
	MOVQ number, bagArgs_bag(BX);  \
	MOVQ bagArgs_offsets(BX), R10; \
	MOVQ (R10)(number*8), end;     \
	CMPQ end, R9;                  \
	JLT  changed;                  \
	CMPQ end, bagArgs_stop(BX);    \
	JGT  changed

#define NEXT_BAG(number, bag) \
	ADDQ bagArgs_dstStride(BX), DI; \
	MOVQ bagArgs_bag(BX), number;   \
	INCQ number;                    \
	CMPQ number, bagArgs_bags(BX);  \
	JLT  bag;                       \
	CMPQ R9, bagArgs_stop(BX);      \
	JNE  changed

// TERMS adds up rows to the end of the bag, one after the other, and TERMS_AHEAD to UNTIL, as long as there are ids to prefetch by: LINES
// the first size bytes of a row, which is all that most blocks need, and MORE_LINES, where MORE finds so, the rest of bagArgs.fetched, and
// then the line of the last column where rows may straddle one more (on a Xeon, of tables that begin in the middle of a line, time with that
// to the time without: sums of 10 of 4,000,000 x 16 0.71, of 1,000,000 x 32 0.96, x 64 0.92, x 128 0.91). It jumps by numbers of instructions,
// since BAGS has labels enough.
//
// There are six loops since it counts how much of the next rows a processor sees while it waits for one: where one loop asks anew, for each id,
// how wide it is and whether to prefetch, bags of 10 with AVX2 take up to 1.13 times as long on a Zen 3. Medians of 6 processes that alternate
// the two:
//
//	sums, 1,000 x 64     1.08    sums, 1,000,000 x 64    1.04    weighted, 1,000,000 x 64     1.03
//	sums, 10,000 x 64    1.02    sums, 1,000,000 x 100   1.08    weighted, 1,000,000 x 128    1.09
//	sums, 10,000 x 128   1.02    sums, 1,000,000 x 128   1.03    maxima, 1,000,000 x 128      1.13
//
// One that asks, for each row, whether it has more lines, and of two bounds whether to go on, takes longer, too. On a Zen 3, times of these
// loops over those of such ones, bags of 10, and of 50 behind a comma, medians of 5 processes that alternate the two:
//
//	10,000 x 24       0.88          10,000 x 100   0.98    1,000,000 x 32   0.95          weighted, 10,000 x 64      0.94
//	10,000 x 32       0.78          50,257 x 768   0.98    1,000,000 x 50   0.96          weighted, 1,000,000 x 64   0.96
//	10,000 x 50       0.96          3,000 x 768    0.94    1,000,000 x 64   0.98, 0.96    maxima, 10,000 x 64        0.99
//	10,000 x 64       0.97, 0.98    400,000 x 300  0.96    1,000,000 x 128  0.94, 0.90    maxima, 1,000,000 x 64     0.98

#define ONE_TERM(WIDTH, VECTORS, FACTOR, TERM, factor) \
	FACTOR(factor, R10); \
	WIDTH(R8, 0);        \
	BAG_ROW;             \
	VECTORS(TERM, R10);  \
	INCQ R9

#define TERMS(WIDTH, VECTORS, FACTOR, TERM, factor, term) \
term: \
	ONE_TERM(WIDTH, VECTORS, FACTOR, TERM, factor); \
	CMPQ R9, R13;                                   \
	JLT  term

#define TERMS_AHEAD(WIDTH, VECTORS, LINES, size, MORE_LINES, FACTOR, TERM, factor, ahead, near, ended) \
ahead: \
	WIDTH(AX, 0);                                   \
	IMULQ CX, R10;                                  \
	ADDQ  SI, R10;                                  \
	LINES(R10);                                     \
	MORE_LINES(size);                               \
	ONE_TERM(WIDTH, VECTORS, FACTOR, TERM, factor); \
	CMPQ  R9, R12;                                  \
	JLT   ahead;                                    \
	CMPQ  R9, R13;                                  \
	JGE   ended;                                    \
	JMP   near

// UNTIL finds where the ids of the bag end that have one to prefetch by.
#define UNTIL \
	MOVQ    R13, R12; \
	CMPQ    DX, R12;  \
	CMOVQLT DX, R12

#define MORE(size) \
	CMPQ  bagArgs_fetched(BX), $(size/4); \
	SETGT R12;                            \
	ORB   bagArgs_straddle(BX), R12;      \
	MOVB  R12, bagArgs_more(BX)

#define MORE_LINES(size) \
	MOVQ  bagArgs_fetched(BX), R12; \
	SUBQ  $(size/4), R12;           \
	JLE   7(PC);                    \
	PREFETCH size(R10);             \
	ADDQ  $64, R10;                 \
	SUBQ  $16, R12;                 \
	JGT   -3(PC);                   \
	CMPB  bagArgs_straddle(BX), $0; \
	JEQ   2(PC);                    \
	PREFETCH (size-4)(R10)(R12*4);  \
	UNTIL

#define NO_MORE(size)

// BLOCK does one block of one bag, size bytes wide if another one follows.
#define BLOCK(VECTORS, LINES, size, START, FACTOR, TERM, END, factor, one, anew, start, far, more, aheadWide, farWide, moreWide, near, narrow, wide, ended, store) \
	START(VECTORS, anew, start, store); \
	CMPQ  R9, DX;                       \
	JGE   near;                         \
	UNTIL;                              \
	CMPQ  bagArgs_wide(BX), $0;         \
	JNE   aheadWide;                      \
	CMPB  bagArgs_more(BX), $0;         \
	JNE   more;                         \
	TERMS_AHEAD(ID_NARROW, VECTORS, LINES, size, NO_MORE, FACTOR, TERM, factor, far, near, ended);       \
	TERMS_AHEAD(ID_NARROW, VECTORS, LINES, size, MORE_LINES, FACTOR, TERM, factor, more, near, ended);   \
aheadWide: \
	CMPB  bagArgs_more(BX), $0;         \
	JNE   moreWide;                     \
	TERMS_AHEAD(ID_WIDE, VECTORS, LINES, size, NO_MORE, FACTOR, TERM, factor, farWide, near, ended);     \
	TERMS_AHEAD(ID_WIDE, VECTORS, LINES, size, MORE_LINES, FACTOR, TERM, factor, moreWide, near, ended); \
near: \
	CMPQ  bagArgs_wide(BX), $0;         \
	JNE   wide;                         \
	TERMS(ID_NARROW, VECTORS, FACTOR, TERM, factor, narrow); \
	JMP   ended;                        \
	TERMS(ID_WIDE, VECTORS, FACTOR, TERM, factor, wide); \
ended: \
	END(VECTORS, one, factor, store);   \
store: \
	VECTORS(PUT, DI)

// BAGS does one block of all bags. The first block of a row prefetches all of it, but for HELD_BAGS.
#define BAGS(VECTORS, LINES, size, START, FACTOR, TERM, END, factor, one, bag, anew, start, far, more, aheadWide, farWide, moreWide, near, narrow, wide, ended, store) \
	MOVQ  SI, DI;                       \
	SUBQ  bagArgs_table(BX), DI;        \
	ADDQ  bagArgs_dst(BX), DI;          \
	MOVQ  bagArgs_next(BX), R9;         \
	MORE(size);                         \
	XORL  R12, R12;                     \
bag: \
	BAG(R12, R13);                      \
	BLOCK(VECTORS, LINES, size, START, FACTOR, TERM, END, factor, one, anew, start, far, more, aheadWide, farWide, moreWide, near, narrow, wide, ended, store); \
	NEXT_BAG(R12, bag);                 \
	ADDQ  $size, SI;                    \
	XORL  DX, DX

// BAGS_BEGIN loads the registers but for SI; DX has how many rows ahead to prefetch.
#define BAGS_BEGIN(blocks) \
	MOVQ  bagArgs_tableStride(BX), CX; \
	MOVQ  bagArgs_limit(BX), R11;      \
	MOVQ  bagArgs_ids(BX), R8;         \
	TESTQ DX, DX;                      \
	JEQ   blocks;                      \
	LEAQ  (R8)(DX*4), AX;              \
	CMPQ  bagArgs_wide(BX), $0;        \
	JEQ   2(PC);                       \
	LEAQ  (R8)(DX*8), AX;              \
	NEGQ  DX;                          \
	ADDQ  bagArgs_readable(BX), DX;    \
blocks:

// BAGS_END leaves in AX whether all went well.
#define BAGS_END \
	MOVL $1, AX;                \
	JMP  end;                   \
changed: \
	MOVQ $-1, R9;               \
outside: \
	MOVQ R9, bagArgs_next(BX);  \
	XORL AX, AX;                \
end: \
	VZEROUPPER

// LONG_BAGS does what there is of long rows in spans of 512 bytes, and leaves the rest to blocks: each bag row by row, or two
// rows at once, with the sums in the bag's row. By blocks, rows that are in no cache would be fetched piece by piece.
//
// Registers that differ:
//	R9   number of the next id         AX        from where the sums go on, and for a moment
//	R10  row, or the first of two      DX        bytes of the spans to do, and for a moment
//	R11  the second                    CX        bytes of the spans of a row
//	DI   the bag's row                 R12, R13  rows to prefetch
//
// keep has the bits set that are kept of where the sums go on: none where they begin anew. Two rows are added one vector after
// the other, and not one row after the other: of 50,257 x 768 in bags of 2, 219 and 280 ns per id.

#define ONE_ROW(LOAD, STORE, WITH, TERM, off, sum, x, keep, w0, w1) \
	VANDPS off(AX), keep, sum;                               \
	TERM(LOAD, STORE, WITH, R10, off, sum, x, keep, w0, w1); \
	STORE(sum, off(DI))

#define TWO_ROWS(LOAD, STORE, WITH, TERM, off, sum, x, keep, w0, w1) \
	VANDPS off(AX), keep, sum;                               \
	TERM(LOAD, STORE, WITH, R10, off, sum, x, keep, w0, w1); \
	TERM(LOAD, STORE, WITH, R11, off, sum, x, keep, w1, w0); \
	STORE(sum, off(DI))

#define NO_ROW(LOAD, STORE, WITH, TERM, off, sum, x, keep, w0, w1) \
	VXORPS sum, sum, sum; \
	STORE(sum, off(DI))

#define ROW_OVER(LOAD, STORE, WITH, TERM, off, sum, x, keep, number, w1) \
	LOAD(off(DI), sum);       \
	VDIVPS number, sum, sum;  \
	STORE(sum, off(DI))

// ALONG does ROWS along the row of a bag and then goes back to its beginning. ALONG_AHEAD also prefetches one row or two, and
// another span of each where blocks have a rest to do: just that rest takes 0.9 (200,000 x 192) to 1.4 times as long (400,000 x
// 150, with AVX2). With AVX2 a line of each goes with the vectors of a line, which takes 0.92 to 1.01 of the time of eight lines
// in front of a span, as AVX-512 has them: on a Zen 3, sums, weighted ones and maxima of 10 of 50,257 x 768 0.95, 0.97 and 0.96, of 300,000 x 256
// 0.95, 0.92 and 0.93, of 400,000 x 300 0.98, 0.99 and 0.99.

#define SPANS(SPAN, AHEAD, ROWS, TERM) \
	SPAN(AHEAD, ROWS, TERM); \
	ADDQ $512, AX;           \
	ADDQ $512, R10;          \
	ADDQ $512, R11;          \
	ADDQ $512, DI;           \
	SUBQ $512, DX

#define ALONG(SPAN, ROWS, TERM, along) \
	MOVQ CX, DX;                          \
along: \
	SPANS(SPAN, NONE_AHEAD, ROWS, TERM);  \
	JGT  along;                           \
	SUBQ CX, DI

#define ALONG_AHEAD(SPAN, AHEAD, ROWS, TERM, along) \
	MOVQ  CX, DX;                    \
along: \
	SPANS(SPAN, AHEAD, ROWS, TERM);  \
	LEAQ  512(R12), R12;             \
	LEAQ  512(R13), R13;             \
	JGT   along;                     \
	SUBQ  CX, DI;                    \
	TESTB $127, bagArgs_cols(BX);    \
	JEQ   longNext;                  \
	EIGHT_AHEAD(AHEAD);              \
	JMP   longNext

#define NONE_AHEAD(off)
#define ONE_AHEAD(off) PREFETCH off(R12)
#define TWO_AHEAD(off) ONE_AHEAD(off); PREFETCH off(R13)

#define FOUR_AHEAD(AHEAD, off) AHEAD(off); AHEAD(off+64); AHEAD(off+128); AHEAD(off+192)
#define EIGHT_AHEAD(AHEAD) FOUR_AHEAD(AHEAD, 0); FOUR_AHEAD(AHEAD, 256)

// LONG_ROW finds the row of the next id and its weight, LONG_ROW_AHEAD that of another one.

#define LONG_ROW(FACTOR, row, weight) \
	FACTOR(weight, row);                \
	ID(R8, bagArgs_wide(BX), R9, row);  \
	CMPQ  row, bagArgs_limit(BX);       \
	JAE   outside;                      \
	IMULQ bagArgs_tableStride(BX), row; \
	ADDQ  SI, row;                      \
	INCQ  R9

#define LONG_ROW_AHEAD(pos, row) \
	ID(R8, bagArgs_wide(BX), pos, row); \
	IMULQ bagArgs_tableStride(BX), row; \
	ADDQ  SI, row

// FROM finds where the sums go on: at the first row of a bag, and from then on in the bag's. Nothing is kept of a row that
// is still to be added, but all of one that is taken twice.

#define FROM \
	MOVQ    DI, AX;               \
	CMPL    bagArgs_keep(BX), $0; \
	CMOVQEQ R10, AX;              \
	MOVL    $-1, bagArgs_keep(BX)

#define FROM_SUM(keep) \
	VBROADCASTSS bagArgs_keep(BX), keep; \
	FROM

#define FROM_MAXIMUM(keep) \
	FROM;                                \
	VBROADCASTSS bagArgs_keep(BX), keep

// LONG_AHEAD finds the row to prefetch for the last one that was found.
#define LONG_AHEAD(near) \
	MOVQ bagArgs_ahead(BX), DX;    \
	LEAQ -1(R9)(DX*1), DX;         \
	CMPQ DX, bagArgs_readable(BX); \
	JGE  near;                     \
	LONG_ROW_AHEAD(DX, R12)

#define END_LONG_SUM(SPAN, one, number) \
	CMPB bagArgs_mean(BX), $0; \
	JEQ  longStore;            \
	NUMBER(R9, one, number);   \
	ALONG(SPAN, ROW_OVER, SUM, over)

#define END_LONG_PLAIN(SPAN, one, number)

#define LONG_BAGS(SPAN, FACTOR, BEGIN, TERM, END, keep, w0, w1, one) \
	MOVQ    bagArgs_table(BX), SI;      \
	MOVQ    bagArgs_ahead(BX), DX;      \
	MOVQ    bagArgs_cols(BX), CX;       \
	MOVQ    CX, bagArgs_left(BX);       \
	CMPQ    CX, $128;                   \
	JLE     short;                      \
	TESTQ   DX, DX;                     \
	JEQ     short;                      \
	MOVQ    bagArgs_dst(BX), DI;        \
	SHLQ    $2, CX;                     \
	ANDQ    $~511, CX;                  \
	MOVQ    bagArgs_ids(BX), R8;        \
	MOVQ    bagArgs_next(BX), R9;       \
	XORL    AX, AX;                     \
longBag: \
	BAG(AX, AX);                        \
	MOVQ    AX, bagArgs_end(BX);        \
	MOVBLZX bagArgs_partial(BX), R10;   \
	NEGL    R10;                        \
	MOVL    R10, bagArgs_keep(BX);      \
	JNE     longRows;                   \
	MOVQ    R9, bagArgs_first(BX);      \
longRows: \
	SUBQ    R9, AX;                     \
	CMPQ    AX, $1;                     \
	JEQ     longOne;                    \
	JLT     longNone;                   \
	LONG_ROW(FACTOR, R10, w0);          \
	LONG_ROW(FACTOR, R11, w1);          \
	BEGIN(keep);                        \
	LONG_AHEAD(twoNear);                \
	DECQ    DX;                         \
	LONG_ROW_AHEAD(DX, R13);            \
	ALONG_AHEAD(SPAN, TWO_AHEAD, TWO_ROWS, TERM, twoAhead); \
twoNear: \
	ALONG(SPAN, TWO_ROWS, TERM, twoRows); \
	JMP     longNext;                   \
longOne: \
	LONG_ROW(FACTOR, R10, w0);          \
	BEGIN(keep);                        \
	LONG_AHEAD(oneNear);                \
	ALONG_AHEAD(SPAN, ONE_AHEAD, ONE_ROW, TERM, oneAhead); \
oneNear: \
	ALONG(SPAN, ONE_ROW, TERM, oneRow); \
longNext: \
	MOVQ    bagArgs_end(BX), AX;        \
	CMPQ    AX, R9;                     \
	JGT     longRows;                   \
	END(SPAN, one, w0);                 \
	JMP     longStore;                  \
longNone: \
	ALONG(SPAN, NO_ROW, TERM, noRow); \
longStore: \
	NEXT_BAG(AX, longBag);              \
	ADDQ    CX, SI;                     \
	ANDQ    $127, bagArgs_left(BX);     \
	XORL    DX, DX;                     \
short:

// AVX2

#define OF_Y(OP, row, off, sum) OP(VECTOR, VECTOR, WITH_VECTOR, row, off, sum, Y12, Y13, Y14, Y15)
#define Y_1(OP, row) OF_Y(OP, row, 0, Y0)
#define Y_2(OP, row) Y_1(OP, row); OF_Y(OP, row, 32, Y1)
#define Y_4(OP, row) OF_Y(OP, row, 64, Y2); OF_Y(OP, row, 0, Y0); OF_Y(OP, row, 96, Y3); OF_Y(OP, row, 32, Y1)
#define Y_8(OP, row) \
	Y_4(OP, row);           \
	OF_Y(OP, row, 192, Y6); \
	OF_Y(OP, row, 128, Y4); \
	OF_Y(OP, row, 224, Y7); \
	OF_Y(OP, row, 160, Y5)

#define X_QUAD(OP, row) OP(VECTOR, VECTOR, WITH_PART, row, 0, X0, X12, X13, X14, X15)
#define X_PAIR(OP, row) OP(PAIR, PAIR, WITH_PART, row, 0, X0, X12, X13, X14, X15)
#define X_SINGLE(OP, row) OP(SINGLE, SINGLE, WITH_PART, row, 0, X0, X12, X13, X14, X15)

#define SPAN_AVX2(AHEAD, ROWS, TERM) \
	AHEAD(0);                  \
	OF_Y(ROWS, TERM, 0, Y0);   \
	OF_Y(ROWS, TERM, 32, Y1);  \
	AHEAD(64);                 \
	OF_Y(ROWS, TERM, 64, Y2);  \
	OF_Y(ROWS, TERM, 96, Y3);  \
	AHEAD(128);                \
	OF_Y(ROWS, TERM, 128, Y4); \
	OF_Y(ROWS, TERM, 160, Y5); \
	AHEAD(192);                \
	OF_Y(ROWS, TERM, 192, Y6); \
	OF_Y(ROWS, TERM, 224, Y7); \
	AHEAD(256);                \
	OF_Y(ROWS, TERM, 256, Y0); \
	OF_Y(ROWS, TERM, 288, Y1); \
	AHEAD(320);                \
	OF_Y(ROWS, TERM, 320, Y2); \
	OF_Y(ROWS, TERM, 352, Y3); \
	AHEAD(384);                \
	OF_Y(ROWS, TERM, 384, Y4); \
	OF_Y(ROWS, TERM, 416, Y5); \
	AHEAD(448);                \
	OF_Y(ROWS, TERM, 448, Y6); \
	OF_Y(ROWS, TERM, 480, Y7)

#define BAGS_Y(VECTORS, LINES, size, START, FACTOR, TERM, END, bag, anew, start, far, more, aheadWide, farWide, moreWide, near, narrow, wide, ended, store) \
	BAGS(VECTORS, LINES, size, START, FACTOR, TERM, END, Y14, X14, bag, anew, start, far, more, aheadWide, farWide, moreWide, near, narrow, wide, ended, store)

// PAIRS, where bagArgs.pairs has it so, does rows of 128 columns, and of somewhat fewer, in two blocks of 64, the second of which ends where
// the row does, and both for a bag before the next. Each prefetches its own columns of the row that is bagArgs.early ids ahead. What both have
// is done twice, so part of a bag is for rows of 128 alone.
#define PAIRS(START, FACTOR, TERM, END) \
	CMPB bagArgs_pairs(BX), $0;   \
	JEQ  panels;                  \
	PANELS_BEGIN(pairsBegin);     \
	MOVQ bagArgs_cols(BX), R12;   \
	ENDS_BEGIN(256);              \
	XORL R12, R12;                \
pairsBag: \
	BAG(R12, R13);                \
	MOVQ R9, bagArgs_begin(BX);   \
	BLOCK(Y_8, LINES4, 256, START, FACTOR, TERM, END, Y14, X14, anewLP, startLP, farLP, moreLP, aheadWideLP, farWideLP, moreWideLP, nearLP, narrowLP, wideLP, endedLP, storeLP); \
	ADDQ bagArgs_right(BX), SI;   \
	ADDQ bagArgs_right(BX), DI;   \
	MOVQ bagArgs_begin(BX), R9;   \
	BLOCK(Y_8, LINES4, 256, START, FACTOR, TERM, END, Y14, X14, anewRP, startRP, farRP, moreRP, aheadWideRP, farWideRP, moreWideRP, nearRP, narrowRP, wideRP, endedRP, storeRP); \
	SUBQ bagArgs_right(BX), SI;   \
	SUBQ bagArgs_right(BX), DI;   \
	NEXT_BAG(R12, pairsBag);      \
	JMP  done;                    \
panels:

#define PANELS_BEGIN(begin) \
	MOVQ bagArgs_table(BX), SI; \
	MOVQ bagArgs_dst(BX), DI;   \
	MOVQ bagArgs_next(BX), R9;  \
	MOVQ bagArgs_early(BX), DX; \
	BAGS_BEGIN(begin);          \
	MORE(256)

// PANELS, where bagArgs.piece is above 0, takes as many ids of a bag at a time, and does all blocks of columns for them before the next
// ids. Each block prefetches its own columns of the row that is bagArgs.early ids ahead. The last block of a row ends where the row does, and
// does columns once more that were part of the one before; so rows that blocks do not make up come in bags of one piece. bagArgs.partial
// says meanwhile whether a piece goes on with a bag.
#define PANELS(START, FACTOR, TERM, END) \
	CMPQ    bagArgs_piece(BX), $0;    \
	JEQ     spans;                    \
	PANELS_BEGIN(panelsBegin);        \
	XORL    R12, R12;                 \
panelBag: \
	BAG(R12, R13);                    \
	MOVQ    R13, bagArgs_end(BX);     \
panelPiece: \
	MOVQ    R9, bagArgs_begin(BX);    \
	MOVQ    bagArgs_piece(BX), R13;   \
	ADDQ    R9, R13;                  \
	CMPQ    R13, bagArgs_end(BX);     \
	CMOVQGT bagArgs_end(BX), R13;     \
	MOVQ    bagArgs_cols(BX), R12;    \
	MOVQ    R12, bagArgs_left(BX);    \
panel: \
	BLOCK(Y_8, LINES4, 256, START, FACTOR, TERM, END, Y14, X14, anewP8, startP8, farP8, moreP8, aheadWideP8, farWideP8, moreWideP8, nearP8, narrowP8, wideP8, endedP8, storeP8); \
	MOVQ    bagArgs_left(BX), R12;    \
	SUBQ    $const_panelColumns, R12; \
	JLE     panelLast;                \
	MOVQ    R12, bagArgs_left(BX);    \
	MOVL    $const_panelColumns, R10; \
	CMPQ    R12, R10;                 \
	CMOVQGT R10, R12;                 \
	LEAQ    (SI)(R12*4), SI;          \
	LEAQ    (DI)(R12*4), DI;          \
	MOVQ    bagArgs_begin(BX), R9;    \
	JMP     panel;                    \
panelLast: \
	SUBQ    SI, DI;                   \
	MOVQ    bagArgs_table(BX), SI;    \
	ADDQ    SI, DI;                   \
	MOVB    $1, bagArgs_partial(BX);  \
	CMPQ    R9, bagArgs_end(BX);      \
	JLT     panelPiece;               \
	MOVB    $0, bagArgs_partial(BX);  \
	NEXT_BAG(R12, panelBag);          \
	JMP     done;                     \
spans:

// ENDS_AVX2 does what is left of rows, fewer than 64 columns that are not a power of two, in one block, with vectors at either end that
// overlap: the right ones begin bagArgs.right bytes behind the left ones. So are 65 to 96 columns done of rows that are prefetched. On a
// Zen 3, times of that over those of a block for each bit, sums in bags of 10, medians of 11 interleaved rounds, and from 65 columns on
// over those of a block of 64 and what is left:
//
//	columns       3    5    7    9    12   15   20   24   25   28   31   33   40   48   50   60   63   65   80   90   96
//	    1,000     0.64 0.71 0.50 0.78 0.75 0.41 0.85 0.78 0.67 0.66 0.46 0.96 1.05 0.94 0.81 0.78 0.54
//	   10,000                                                                                          0.89 0.83 0.82 0.99
//	1,000,000     0.80 0.80 0.70 0.91 0.82 0.64 0.85 0.77 0.77 0.69 0.63 0.97 0.85 0.86 0.85 0.70 0.63 0.99 0.93 0.86 0.91
//
// 1,000 x 65, x 80 and x 96, which are not prefetched, would take 1.08, 1.17 and 1.10.

#define RIGHT(OP, row, VECTORS) \
	ADDQ bagArgs_right(BX), row; \
	VECTORS(OP, row);            \
	SUBQ bagArgs_right(BX), row

#define ENDS_BEGIN(bytes) \
	SHLQ $2, R12;                \
	SUBQ $bytes, R12;            \
	MOVQ R12, bagArgs_right(BX)

#define RIGHT_Y1(OP, row) OF_Y(OP, row, 0, Y8)
#define RIGHT_Y2(OP, row) RIGHT_Y1(OP, row); OF_Y(OP, row, 32, Y9)
#define RIGHT_Y4(OP, row) OF_Y(OP, row, 64, Y10); OF_Y(OP, row, 0, Y8); OF_Y(OP, row, 96, Y11); OF_Y(OP, row, 32, Y9)
#define RIGHT_QUAD(OP, row) OP(VECTOR, VECTOR, WITH_PART, row, 0, X8, X12, X13, X14, X15)
#define RIGHT_PAIR(OP, row) OP(PAIR, PAIR, WITH_PART, row, 0, X8, X12, X13, X14, X15)

#define ENDS_Y4(OP, row) X_PAIR(OP, row); RIGHT(OP, row, RIGHT_PAIR)
#define ENDS_Y8(OP, row) X_QUAD(OP, row); RIGHT(OP, row, RIGHT_QUAD)
#define ENDS_Y16(OP, row) Y_1(OP, row); RIGHT(OP, row, RIGHT_Y1)
#define ENDS_Y24(OP, row) Y_2(OP, row); RIGHT(OP, row, RIGHT_Y1)
#define ENDS_Y32(OP, row) Y_2(OP, row); RIGHT(OP, row, RIGHT_Y2)
#define ENDS_Y48(OP, row) Y_4(OP, row); RIGHT(OP, row, RIGHT_Y2)
#define ENDS_Y64(OP, row) Y_4(OP, row); RIGHT(OP, row, RIGHT_Y4)
#define ENDS_Y96(OP, row) Y_8(OP, row); RIGHT(OP, row, RIGHT_Y4)

#define ENDS_AVX2(START, FACTOR, TERM, END) \
	MOVQ bagArgs_left(BX), R12;  \
	ANDQ $63, R12;               \
	LEAQ -1(R12), R10;           \
	TESTQ R12, R10;              \
	JEQ  four;                   \
	CMPQ R12, $48;               \
	JGT  ends64;                 \
	CMPQ R12, $32;               \
	JGT  ends48;                 \
	CMPQ R12, $24;               \
	JGT  ends32;                 \
	CMPQ R12, $16;               \
	JGT  ends24;                 \
	CMPQ R12, $8;                \
	JGT  ends16;                 \
	CMPQ R12, $4;                \
	JGT  ends8;                  \
	ENDS_BEGIN(8);               \
	BAGS_Y(ENDS_Y4, LINE1, 8, START, FACTOR, TERM, END, bag4E, anew4E, start4E, far4E, more4E, aheadWide4E, farWide4E, moreWide4E, near4E, narrow4E, wide4E, ended4E, store4E); \
	JMP  done;                   \
ends8: \
	ENDS_BEGIN(16);              \
	BAGS_Y(ENDS_Y8, LINE1, 16, START, FACTOR, TERM, END, bag8E, anew8E, start8E, far8E, more8E, aheadWide8E, farWide8E, moreWide8E, near8E, narrow8E, wide8E, ended8E, store8E); \
	JMP  done;                   \
ends16: \
	ENDS_BEGIN(32);              \
	BAGS_Y(ENDS_Y16, LINE1, 32, START, FACTOR, TERM, END, bag16E, anew16E, start16E, far16E, more16E, aheadWide16E, farWide16E, moreWide16E, near16E, narrow16E, wide16E, ended16E, store16E); \
	JMP  done;                   \
ends24: \
	ENDS_BEGIN(32);              \
	BAGS_Y(ENDS_Y24, LINES2, 128, START, FACTOR, TERM, END, bag24E, anew24E, start24E, far24E, more24E, aheadWide24E, farWide24E, moreWide24E, near24E, narrow24E, wide24E, ended24E, store24E); \
	JMP  done;                   \
ends32: \
	ENDS_BEGIN(64);              \
	BAGS_Y(ENDS_Y32, LINES2, 128, START, FACTOR, TERM, END, bag32E, anew32E, start32E, far32E, more32E, aheadWide32E, farWide32E, moreWide32E, near32E, narrow32E, wide32E, ended32E, store32E); \
	JMP  done;                   \
ends48: \
	ENDS_BEGIN(64);              \
	BAGS_Y(ENDS_Y48, LINES3, 192, START, FACTOR, TERM, END, bag48E, anew48E, start48E, far48E, more48E, aheadWide48E, farWide48E, moreWide48E, near48E, narrow48E, wide48E, ended48E, store48E); \
	JMP  done;                   \
ends64: \
	ENDS_BEGIN(128);             \
	BAGS_Y(ENDS_Y64, LINES4, 256, START, FACTOR, TERM, END, bag64E, anew64E, start64E, far64E, more64E, aheadWide64E, farWide64E, moreWide64E, near64E, narrow64E, wide64E, ended64E, store64E); \
	JMP  done

#define BAGS_AVX2(START, FACTOR, BEGIN, TERM, END, END_PANEL, END_LONG) \
	PAIRS(START, FACTOR, TERM, END);        \
	PANELS(START, FACTOR, TERM, END_PANEL); \
	LONG_BAGS(SPAN_AVX2, FACTOR, BEGIN, TERM, END_LONG, Y13, Y14, Y15, X14); \
	BAGS_BEGIN(blocks);           \
	MOVQ bagArgs_left(BX), R12;   \
	CMPQ R12, $64;                \
	JLT  rest;                    \
	JEQ  many;                    \
	CMPQ R12, $const_panelLeast;  \
	JGT  many;                    \
	CMPQ bagArgs_ahead(BX), $0;   \
	JEQ  many;                    \
	ENDS_BEGIN(128);              \
	BAGS_Y(ENDS_Y96, LINES5, 320, START, FACTOR, TERM, END, bag96E, anew96E, start96E, far96E, more96E, aheadWide96E, farWide96E, moreWide96E, near96E, narrow96E, wide96E, ended96E, store96E); \
	JMP  done;                    \
many: \
	SHRQ $6, R12;                 \
eight: \
	MOVQ R12, bagArgs_blocks(BX); \
	BAGS_Y(Y_8, LINES4, 256, START, FACTOR, TERM, END, bag8, anew8, start8, far8, more8, aheadWide8, farWide8, moreWide8, near8, narrow8, wide8, ended8, store8); \
	MOVQ bagArgs_blocks(BX), R12; \
	DECQ R12;                     \
	JNE  eight;                   \
rest: \
	ENDS_AVX2(START, FACTOR, TERM, END); \
four: \
	TESTB $32, bagArgs_left(BX);  \
	JEQ  two;                     \
	BAGS_Y(Y_4, LINES2, 128, START, FACTOR, TERM, END, bag4, anew4, start4, far4, more4, aheadWide4, farWide4, moreWide4, near4, narrow4, wide4, ended4, store4); \
two: \
	TESTB $16, bagArgs_left(BX);  \
	JEQ  one;                     \
	BAGS_Y(Y_2, LINE1, 64, START, FACTOR, TERM, END, bag2, anew2, start2, far2, more2, aheadWide2, farWide2, moreWide2, near2, narrow2, wide2, ended2, store2); \
one: \
	TESTB $8, bagArgs_left(BX);   \
	JEQ  quad;                    \
	BAGS_Y(Y_1, LINE1, 32, START, FACTOR, TERM, END, bag1, anew1, start1, far1, more1, aheadWide1, farWide1, moreWide1, near1, narrow1, wide1, ended1, store1); \
quad: \
	TESTB $4, bagArgs_left(BX);   \
	JEQ  pair;                    \
	BAGS_Y(X_QUAD, LINE1, 16, START, FACTOR, TERM, END, bagQ, anewQ, startQ, farQ, moreQ, aheadWideQ, farWideQ, moreWideQ, nearQ, narrowQ, wideQ, endedQ, storeQ); \
pair: \
	TESTB $2, bagArgs_left(BX);   \
	JEQ  single;                  \
	BAGS_Y(X_PAIR, LINE1, 8, START, FACTOR, TERM, END, bagP, anewP, startP, farP, moreP, aheadWideP, farWideP, moreWideP, nearP, narrowP, wideP, endedP, storeP); \
single: \
	TESTB $1, bagArgs_left(BX);   \
	JEQ  done;                    \
	BAGS_Y(X_SINGLE, LINE1, 4, START, FACTOR, TERM, END, bagS, anewS, startS, farS, moreS, aheadWideS, farWideS, moreWideS, nearS, narrowS, wideS, endedS, storeS); \
done: \
	BAGS_END

// func bagSumAVX2(a *bagArgs) (ok bool)
// for b, bag := range bags { for _, id := range bag { dst[b] += table[id] }; if mean { dst[b] /= len(bag) } }
TEXT ·bagSumAVX2(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	BAGS_AVX2(START_SUM, NO_WEIGHT, FROM_SUM, SUM, END_SUM, END_PANEL_SUM, END_LONG_SUM)
	MOVB AX, ok+8(FP)
	RET

// func bagWeightedAVX2(a *bagArgs) (ok bool)
// for b, bag := range bags { for i, id := range bag { dst[b] += weights[i] * table[id] } }
TEXT ·bagWeightedAVX2(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	BAGS_AVX2(START_SUM, WEIGHT, FROM_SUM, WEIGHTED_SUM, END_PLAIN, END_PLAIN, END_LONG_PLAIN)
	MOVB AX, ok+8(FP)
	RET

// func bagMaxAVX2(a *bagArgs) (ok bool)
// for b, bag := range bags { for _, id := range bag { if table[id] > dst[b] { dst[b] = table[id] } } }
TEXT ·bagMaxAVX2(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	BAGS_AVX2(START_MAXIMUM, NO_WEIGHT, FROM_MAXIMUM, MAXIMUM, END_PLAIN, END_PLAIN, END_LONG_PLAIN)
	MOVB AX, ok+8(FP)
	RET

// AVX-512

#define OF_Z(OP, row, off, sum) OP(VECTOR, VECTOR, WITH_VECTOR, row, off, sum, Z16, Z17, Z18, Z19)
#define Z_1(OP, row) OF_Z(OP, row, 0, Z0)
#define Z_2(OP, row) Z_1(OP, row); OF_Z(OP, row, 64, Z1)
#define Z_4(OP, row) OF_Z(OP, row, 128, Z2); OF_Z(OP, row, 0, Z0); OF_Z(OP, row, 192, Z3); OF_Z(OP, row, 64, Z1)
#define Z_8(OP, row) \
	Z_4(OP, row);           \
	OF_Z(OP, row, 384, Z6); \
	OF_Z(OP, row, 256, Z4); \
	OF_Z(OP, row, 448, Z7); \
	OF_Z(OP, row, 320, Z5)

#define Z_16(OP, row) \
	Z_8(OP, row);            \
	OF_Z(OP, row, 640, Z10); \
	OF_Z(OP, row, 512, Z8);  \
	OF_Z(OP, row, 704, Z11); \
	OF_Z(OP, row, 576, Z9);  \
	OF_Z(OP, row, 896, Z14); \
	OF_Z(OP, row, 768, Z12); \
	OF_Z(OP, row, 960, Z15); \
	OF_Z(OP, row, 832, Z13)

// BAGS_ENDS, where bagArgs.ends has it so, is ENDS_AVX2 for more than 16 columns that are left, but for 64, which are a block anyway.

#define RIGHT_1(OP, row) OF_Z(OP, row, 0, Z4)
#define RIGHT_2(OP, row) OF_Z(OP, row, 0, Z4); OF_Z(OP, row, 64, Z5)
#define RIGHT_4(OP, row) OF_Z(OP, row, 128, Z6); OF_Z(OP, row, 0, Z4); OF_Z(OP, row, 192, Z7); OF_Z(OP, row, 64, Z5)

#define RIGHT_8(OP, row) \
	OF_Z(OP, row, 128, Z22); \
	OF_Z(OP, row, 0, Z20);   \
	OF_Z(OP, row, 192, Z23); \
	OF_Z(OP, row, 64, Z21);  \
	OF_Z(OP, row, 384, Z26); \
	OF_Z(OP, row, 256, Z24); \
	OF_Z(OP, row, 448, Z27); \
	OF_Z(OP, row, 320, Z25)

#define ENDS_32(OP, row) Z_1(OP, row); RIGHT(OP, row, RIGHT_1)
#define ENDS_48(OP, row) Z_2(OP, row); RIGHT(OP, row, RIGHT_1)
#define ENDS_64(OP, row) Z_2(OP, row); RIGHT(OP, row, RIGHT_2)
#define ENDS_96(OP, row) Z_4(OP, row); RIGHT(OP, row, RIGHT_2)
#define ENDS_128(OP, row) Z_4(OP, row); RIGHT(OP, row, RIGHT_4)

#define ENDS_256(OP, row) Z_8(OP, row); RIGHT(OP, row, RIGHT_8)
#define ENDS_384(OP, row) Z_16(OP, row); RIGHT(OP, row, RIGHT_8)

#define BAGS_ENDS(START, FACTOR, TERM, END) \
	CMPB bagArgs_ends(BX), $0;   \
	JEQ  four;                   \
	MOVQ bagArgs_left(BX), R12;  \
	ANDQ $127, R12;              \
	CMPQ R12, $16;               \
	JLE  four;                   \
	CMPQ R12, $96;               \
	JGT  ends128;                \
	CMPQ R12, $64;               \
	JGT  ends96;                 \
	JEQ  four;                   \
	CMPQ R12, $48;               \
	JGT  ends64;                 \
	CMPQ R12, $32;               \
	JGT  ends48;                 \
	ENDS_BEGIN(64);              \
	BAGS_Z(ENDS_32, LINES2, 128, START, FACTOR, TERM, END, bagA, anewA, startA, farA, moreA, aheadWideA, farWideA, moreWideA, nearA, narrowA, wideA, endedA, storeA); \
	JMP  done;                   \
ends48: \
	ENDS_BEGIN(64);              \
	BAGS_Z(ENDS_48, LINES3, 192, START, FACTOR, TERM, END, bagB, anewB, startB, farB, moreB, aheadWideB, farWideB, moreWideB, nearB, narrowB, wideB, endedB, storeB); \
	JMP  done;                   \
ends64: \
	ENDS_BEGIN(128);             \
	BAGS_Z(ENDS_64, LINES4, 256, START, FACTOR, TERM, END, bagC, anewC, startC, farC, moreC, aheadWideC, farWideC, moreWideC, nearC, narrowC, wideC, endedC, storeC); \
	JMP  done;                   \
ends96: \
	ENDS_BEGIN(128);             \
	BAGS_Z(ENDS_96, LINES5, 320, START, FACTOR, TERM, END, bagD, anewD, startD, farD, moreD, aheadWideD, farWideD, moreWideD, nearD, narrowD, wideD, endedD, storeD); \
	JMP  done;                   \
ends128: \
	ENDS_BEGIN(256);             \
	BAGS_Z(ENDS_128, LINES7, 448, START, FACTOR, TERM, END, bagE, anewE, startE, farE, moreE, aheadWideE, farWideE, moreWideE, nearE, narrowE, wideE, endedE, storeE); \
	JMP  done

// HELD_BAGS, where bagArgs.held has it so, does what there is of long rows in blocks of up to 384 columns, as BAGS_ENDS does, of
// which each prefetches its own, and leaves a rest of 128 columns and less to other blocks.
#define HELD_BAGS(START, FACTOR, TERM, END) \
	CMPB bagArgs_held(BX), $0;     \
	JEQ  spans;                    \
	MOVQ bagArgs_cols(BX), R12;    \
	MOVQ bagArgs_table(BX), SI;    \
held: \
	MOVQ R12, bagArgs_left(BX);    \
	MOVQ R12, bagArgs_fetched(BX); \
	MOVQ bagArgs_ahead(BX), DX;    \
	BAGS_BEGIN(heldBlock);         \
	CMPQ R12, $128;                \
	JLE  blocks;                   \
	CMPQ R12, $256;                \
	JLE  ends256;                  \
	CMPQ R12, $384;                \
	JLE  ends384;                  \
	MOVL $384, R12;                \
ends384: \
	MOVQ R12, bagArgs_fetched(BX); \
	SUBQ R12, bagArgs_left(BX);    \
	ENDS_BEGIN(512);               \
	BAGS_Z(ENDS_384, LINES16, 1024, START, FACTOR, TERM, END, bagG, anewG, startG, farG, moreG, aheadWideG, farWideG, moreWideG, nearG, narrowG, wideG, endedG, storeG); \
	ADDQ $512, SI;                 \
	MOVQ bagArgs_left(BX), R12;    \
	TESTQ R12, R12;                \
	JNE  held;                     \
	JMP  done;                     \
ends256: \
	ENDS_BEGIN(512);               \
	BAGS_Z(ENDS_256, LINES8, 512, START, FACTOR, TERM, END, bagF, anewF, startF, farF, moreF, aheadWideF, farWideF, moreWideF, nearF, narrowF, wideF, endedF, storeF); \
	JMP  done;                     \
spans:

#define LINES16(row) \
	LINES8(row);                                                                        \
	PREFETCH 512(row); PREFETCH 576(row); PREFETCH 640(row); PREFETCH 704(row);         \
	PREFETCH 768(row); PREFETCH 832(row); PREFETCH 896(row); PREFETCH 960(row)

#define Z_TAIL(OP, row) OP(MASKED_LOAD, MASKED_STORE, WITH_PART, row, 0, Z0, Z16, Z17, Z18, Z19)

#define SPAN_AVX512(AHEAD, ROWS, TERM) \
	EIGHT_AHEAD(AHEAD);        \
	OF_Z(ROWS, TERM, 0, Z0);   \
	OF_Z(ROWS, TERM, 64, Z1);  \
	OF_Z(ROWS, TERM, 128, Z2); \
	OF_Z(ROWS, TERM, 192, Z3); \
	OF_Z(ROWS, TERM, 256, Z4); \
	OF_Z(ROWS, TERM, 320, Z5); \
	OF_Z(ROWS, TERM, 384, Z6); \
	OF_Z(ROWS, TERM, 448, Z7)

#define BAGS_Z(VECTORS, LINES, size, START, FACTOR, TERM, END, bag, anew, start, far, more, aheadWide, farWide, moreWide, near, narrow, wide, ended, store) \
	BAGS(VECTORS, LINES, size, START, FACTOR, TERM, END, Z18, X18, bag, anew, start, far, more, aheadWide, farWide, moreWide, near, narrow, wide, ended, store)

#define BAGS_AVX512(START, FACTOR, BEGIN, TERM, END, END_LONG) \
	MOVQ bagArgs_cols(BX), AX;           \
	MASK;                                \
	HELD_BAGS(START, FACTOR, TERM, END); \
	LONG_BAGS(SPAN_AVX512, FACTOR, BEGIN, TERM, END_LONG, Z17, Z18, Z19, X18); \
	BAGS_BEGIN(blocks);                  \
	MOVQ bagArgs_left(BX), R12;          \
	SHRQ $7, R12;                        \
	JEQ  rest;                           \
eight: \
	MOVQ R12, bagArgs_blocks(BX);        \
	BAGS_Z(Z_8, LINES8, 512, START, FACTOR, TERM, END, bag8, anew8, start8, far8, more8, aheadWide8, farWide8, moreWide8, near8, narrow8, wide8, ended8, store8); \
	MOVQ bagArgs_blocks(BX), R12;        \
	DECQ R12;                            \
	JNE  eight;                          \
rest: \
	BAGS_ENDS(START, FACTOR, TERM, END); \
four: \
	TESTB $64, bagArgs_left(BX);         \
	JEQ  two;                            \
	BAGS_Z(Z_4, LINES4, 256, START, FACTOR, TERM, END, bag4, anew4, start4, far4, more4, aheadWide4, farWide4, moreWide4, near4, narrow4, wide4, ended4, store4); \
two: \
	TESTB $32, bagArgs_left(BX);         \
	JEQ  one;                            \
	BAGS_Z(Z_2, LINES2, 128, START, FACTOR, TERM, END, bag2, anew2, start2, far2, more2, aheadWide2, farWide2, moreWide2, near2, narrow2, wide2, ended2, store2); \
one: \
	TESTB $16, bagArgs_left(BX);         \
	JEQ  tail;                           \
	BAGS_Z(Z_1, LINE1, 64, START, FACTOR, TERM, END, bag1, anew1, start1, far1, more1, aheadWide1, farWide1, moreWide1, near1, narrow1, wide1, ended1, store1); \
tail: \
	TESTB $15, bagArgs_left(BX);         \
	JEQ  done;                           \
	BAGS_Z(Z_TAIL, LINE1, 64, START, FACTOR, TERM, END, bagT, anewT, startT, farT, moreT, aheadWideT, farWideT, moreWideT, nearT, narrowT, wideT, endedT, storeT); \
done: \
	BAGS_END

// func bagSumAVX512(a *bagArgs) (ok bool)
// for b, bag := range bags { for _, id := range bag { dst[b] += table[id] }; if mean { dst[b] /= len(bag) } }
TEXT ·bagSumAVX512(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	NEAR(bagArgs_near, ·bagSumNearAVX512<>)
	BAGS_AVX512(START_SUM, NO_WEIGHT, FROM_SUM, SUM, END_SUM, END_LONG_SUM)
	MOVB AX, ok+8(FP)
	RET

// func bagWeightedAVX512(a *bagArgs) (ok bool)
// for b, bag := range bags { for i, id := range bag { dst[b] += weights[i] * table[id] } }
TEXT ·bagWeightedAVX512(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	NEAR(bagArgs_near, ·bagWeightedNearAVX512<>)
	BAGS_AVX512(START_SUM, WEIGHT, FROM_SUM, WEIGHTED_SUM, END_PLAIN, END_LONG_PLAIN)
	MOVB AX, ok+8(FP)
	RET

// func bagMaxAVX512(a *bagArgs) (ok bool)
// for b, bag := range bags { for _, id := range bag { if table[id] > dst[b] { dst[b] = table[id] } } }
TEXT ·bagMaxAVX512(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	NEAR(bagArgs_near, ·bagMaxNearAVX512<>)
	BAGS_AVX512(START_MAXIMUM, NO_WEIGHT, FROM_MAXIMUM, MAXIMUM, END_PLAIN, END_LONG_PLAIN)
	MOVB AX, ok+8(FP)
	RET

// Near kernels: see NEAR in rows_amd64.h. BX has the arguments.

#undef PREFETCH
#define PREFETCH PREFETCHT0

TEXT ·bagSumNearAVX512<>(SB), NOSPLIT, $0-9
	BAGS_AVX512(START_SUM, NO_WEIGHT, FROM_SUM, SUM, END_SUM, END_LONG_SUM)
	MOVB AX, ok+8(FP)
	RET

TEXT ·bagWeightedNearAVX512<>(SB), NOSPLIT, $0-9
	BAGS_AVX512(START_SUM, WEIGHT, FROM_SUM, WEIGHTED_SUM, END_PLAIN, END_LONG_PLAIN)
	MOVB AX, ok+8(FP)
	RET

TEXT ·bagMaxNearAVX512<>(SB), NOSPLIT, $0-9
	BAGS_AVX512(START_MAXIMUM, NO_WEIGHT, FROM_MAXIMUM, MAXIMUM, END_PLAIN, END_LONG_PLAIN)
	MOVB AX, ok+8(FP)
	RET
