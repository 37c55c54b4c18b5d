// Row kernels walk the rows of rowArgs, and each row from left to right, but for the order within blocks.
//
// Registers:
//	BX   arguments                       R9   number of the row
//	SI   row 0 of the table              R10  row of the table
//	DI   linear row                      R11  row of positions
//	R8   ids                             DX   bytes done of the row
//	R13  bytes of the row in blocks      CX   bytes of the row in blocks and vectors
//	AX   columns, or linear row ahead    R12  a row to prefetch, and for a moment
//	Z15  scale in every lane             K1   lanes of the tail (AVX-512)
//
// Where there are no positions, LAST_OF has the number of columns in R11.
//
// A block is four vectors: 32 floats with AVX2, 64 with AVX-512. A tail is done with AVX2 as 4, 2 and 1 floats, by the
// bits of the number of columns; with AVX-512 as one masked vector. None of it touches a byte outside the row.

// ID loads id number pos of list into dst, as an unsigned number; pos and dst are different registers.
#define ID(list, isWide, pos, dst) \
	MOVL (list)(pos*4), dst; \
	CMPQ isWide, $0;         \
	JEQ  2(PC);              \
	MOVQ (list)(pos*8), dst

// ID_NARROW and ID_WIDE load id number R9+i of such a list, of which it is known how wide its ids are, into R10.

#define ID_NARROW(list, i) MOVL (4*i)(list)(R9*4), R10
#define ID_WIDE(list, i) MOVQ (8*i)(list)(R9*8), R10

// ROWS_BEGIN loads the registers. There is at least one row to do.
#define ROWS_BEGIN \
	MOVQ rowArgs_linear(BX), DI;     \
	MOVQ rowArgs_table(BX), SI;      \
	MOVQ rowArgs_ids(BX), R8;        \
	XORL R9, R9

// ROW finds the next row of the table, and prefetches the one that comes rowArgs.ahead rows later: its first
// rowArgs.burst bytes at once, with the line of the last where rows may straddle one more, or if that is 0, all of it from
// R12 on while this row is done, and now the first line of the one that comes rowArgs.early rows later; R12 is 0 otherwise.
// As much is prefetched of linear rows, at once from its end on, but not where they are written past the caches, NO_LINEAR, nor
// line by line where rowArgs.leaveLinear leaves them to the processor's own prefetcher.
// Where linear rows are windows, ROW_WINDOW has the one to prefetch in AX, as ADD_PLACE does of those with places. ROW_ID is
// the part that has the id in R10, checked, and ROW_TABLE the rest.

#define LINEAR(off) PREFETCH (const_linearAhead+off)(DI)(DX*1)
#define WINDOW(off) PREFETCH off(AX)(DX*1)
#define NO_LINEAR(off)

#define ROW \
	ROW_ID; \
	ROW_TABLE(LINEAR)

#define ROW_WINDOW \
	ROW_ID;                           \
	MOVQ rowArgs_windowAhead(BX), AX; \
	ADDQ DI, AX;                      \
	ROW_TABLE(WINDOW)

#define ROW_ID \
	ID(R8, rowArgs_wide(BX), R9, R10); \
	CMPQ R10, rowArgs_limit(BX);       \
	JAE  done

// ROW_AHEAD is the part of ROW_TABLE that finds the row, and in R12 the one to prefetch, or goes on at none.
#define ROW_AHEAD(none) \
	IMULQ rowArgs_tableStride(BX), R10; \
	ADDQ  SI, R10;                      \
	XORL  R12, R12;                     \
	ID_AHEAD(rowArgs_ahead, none);      \
	IMULQ rowArgs_tableStride(BX), R12; \
	ADDQ  SI, R12

// ID_AHEAD finds in R12 the id that comes so many rows later, and its number in DX, or goes on at none if there is none, or none is
// asked for.
#define ID_AHEAD(rows, none) \
	MOVQ  rows(BX), DX;             \
	TESTQ DX, DX;                   \
	JEQ   none;                     \
	ADDQ  R9, DX;                   \
	CMPQ  DX, rowArgs_readable(BX); \
	JGE   none;                     \
	ID(R8, rowArgs_wide(BX), DX, R12)

#define ROW_TABLE(ALSO) \
	ROW_AHEAD(found);                         \
	MOVQ     rowArgs_burst(BX), DX;           \
	TESTQ    DX, DX;                          \
	JNE      line;                            \
	MOVQ     R12, rowArgs_next(BX);           \
	EARLY;                                    \
	JMP      found;                           \
line: \
	PREFETCH (R12);                           \
	ALSO(-64);                                \
	ADDQ     $64, R12;                        \
	SUBQ     $64, DX;                         \
	JGT      line;                            \
	STRADDLE(rowArgs_straddle, -4(R12)(DX*1)); \
	XORL     R12, R12;                        \
found:

// EARLY prefetches the first line of the row that comes rowArgs.early rows later; R12 is rowArgs.next.
#define EARLY \
	ID_AHEAD(rowArgs_early, found);        \
	IMULQ    rowArgs_tableStride(BX), R12; \
	ADDQ     rowArgs_table(BX), R12;       \
	PREFETCH (R12);                        \
	MOVQ     rowArgs_next(BX), R12

// ROWS_NEXT goes on with the next row, ROWS_END too; at the end R9 says how many were done.

#define ROWS_NEXT(row) \
	ADDQ rowArgs_linearStride(BX), DI; \
	INCQ R9;                           \
	CMPQ R9, rowArgs_n(BX);            \
	JLT  row

#define ROWS_END \
	ROWS_NEXT(row); \
done: \
	VZEROUPPER

// PREFETCH is the instruction that prefetches. A kernel that has NEAR goes on there, where a flag of its arguments says so, as its near
// kernel: the same macros once more, at the end of the file, behind a PREFETCH into the first-level cache. See tuning.NearBytes. Labels that
// are called near are about rows that have none to prefetch.

#define PREFETCH PREFETCHT1

#define NEAR(flag, kernel) \
	CMPB flag(BX), $0; \
	JEQ  2(PC);        \
	JMP  kernel(SB)

// STRADDLE prefetches the line of a row's last column, at that address, where a flag of the arguments says that rows may straddle one
// line more than their bytes fill: see straddles.
#define STRADDLE(flag, last) \
	CMPB flag(BX), $0; \
	JEQ  2(PC);        \
	PREFETCH last

// Prefetches of a row.

#define LINE1(row) PREFETCH (row)
#define LINES2(row) LINE1(row); PREFETCH 64(row)
#define LINES3(row) LINES2(row); PREFETCH 128(row)
#define LINES4(row) LINES3(row); PREFETCH 192(row)
#define LINES5(row) LINES4(row); PREFETCH 256(row)
#define LINES7(row) LINES5(row); PREFETCH 320(row); PREFETCH 384(row)
#define LINES8(row) LINES7(row); PREFETCH 448(row)

#define NOTHING

// Ways to move a vector, one past the caches, a part of one, the lanes of K1, or nothing yet.

#define VECTOR(from, to) VMOVUPS from, to
#define STREAM(from, to) VMOVNTPS from, to
#define PAIR(from, to) VMOVSD from, to
#define SINGLE(from, to) VMOVSS from, to
#define LATER(from, to)
#define MASKED_LOAD(from, to) VMOVUPS.Z from, K1, to
#define MASKED_STORE(from, to) VMOVUPS from, K1, to

#define CLEAR4(v0, v1, v2, v3) \
	VXORPS v0, v0, v0; \
	VXORPS v1, v1, v1; \
	VXORPS v2, v2, v2; \
	VXORPS v3, v3, v3

// What a gather and a scatter-add do to one vector of a row, off bytes behind at, in registers x and y; STORE gets the result in x.
#define GATHER(LOAD, STORE, scale, off, at, x, y) \
	LOAD(off(R10)(at*1), x); \
	STORE(x, off(DI)(at*1))

#define ADD_SCALED(LOAD, STORE, scale, off, at, x, y) \
	LOAD(off(DI)(at*1), x);  \
	LOAD(off(R10)(at*1), y); \
	VMULPS scale, x, x;      \
	VADDPS x, y, x;          \
	STORE(x, off(R10)(at*1))

// COLUMNS does one row with vectors of size bytes, a power of two, which STORE writes: blocks of four, single ones, and then
// TAIL. Where R12 is a row to prefetch, LINES does so for as much of it as a block is long, in front of each block, LAST_LINE for the
// line of its last column and LEFT for what is left behind the last block, and ALSO for linear rows. In rows that have blocks of
// mixedBytes at most in front of the last, AHEAD does them there, with AVX-512 without a loop, and all have their vectors in the order of
// BLOCK; in longer ones, AHEAD_LONG does, and in all where rowArgs.leftToRight says so.
// SPLIT prepares for all rows, with the number of columns in AX, which COLUMNS finds in cols.

#define SPLIT(size) \
	LEAQ (AX*4), CX;        \
	MOVQ CX, R13;           \
	ANDQ $~(4*size-1), R13; \
	ANDQ $~(size-1), CX

#define FOUR_VECTORS(KERNEL, STORE, off, size, scale, i0, i1, i2, i3, v0, v1, v2, v3, v4, v5, v6, v7) \
	KERNEL(VECTOR, STORE, scale, (off+i0*size), DX, v0, v1); \
	KERNEL(VECTOR, STORE, scale, (off+i1*size), DX, v2, v3); \
	KERNEL(VECTOR, STORE, scale, (off+i2*size), DX, v4, v5); \
	KERNEL(VECTOR, STORE, scale, (off+i3*size), DX, v6, v7)

#define BLOCK_ORDER(KERNEL, STORE, size, scale, i0, i1, i2, i3, v0, v1, v2, v3, v4, v5, v6, v7) \
	FOUR_VECTORS(KERNEL, STORE, 0, size, scale, i0, i1, i2, i3, v0, v1, v2, v3, v4, v5, v6, v7); \
	ADDQ $(4*size), DX; \
	CMPQ DX, R13

#define MIXED(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
	BLOCK_ORDER(KERNEL, STORE, size, scale, 2, 0, 3, 1, v0, v1, v2, v3, v4, v5, v6, v7)

#define IN_ORDER(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
	BLOCK_ORDER(KERNEL, STORE, size, scale, 0, 1, 2, 3, v0, v1, v2, v3, v4, v5, v6, v7)

#define NEAR_BLOCKS(KERNEL, STORE, BLOCK, size, scale, v0, v1, v2, v3, v4, v5, v6, v7, near, ahead) \
	TESTQ R12, R12;        \
	JNE   ahead;           \
	PCALIGN $64;           \
near: \
	BLOCK(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7); \
	JLT   near;            \
	JMP   vectors;         \
	PCALIGN $64

#define AHEAD_LOOP(KERNEL, STORE, BLOCK, LINES, ALSO, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
ahead: \
	LINES;        \
	ALSO;         \
	BLOCK(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7); \
	JLT ahead

#define AHEAD_FOUR(KERNEL, STORE, BLOCK, LINES, ALSO, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
ahead: \
	LINES;        \
	ALSO;         \
	BLOCK(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7); \
	JGE aheadDone; \
	LINES;        \
	ALSO;         \
	BLOCK(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7); \
	JGE aheadDone; \
	LINES;        \
	ALSO;         \
	BLOCK(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7); \
	JGE aheadDone; \
	LINES;        \
	ALSO;         \
	BLOCK(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7)

#define LONG_LINES(KERNEL, STORE, LINES, ALSO, cols, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
longAhead: \
	LINES;                                            \
	ALSO;                                             \
	IN_ORDER(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7); \
	JLT   longAhead

#define COLUMNS(KERNEL, STORE, BLOCK, LINES, LAST_LINE, LEFT, ALSO, AHEAD, AHEAD_LONG, TAIL, cols, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
	XORL  DX, DX;                                     \
	TESTQ CX, CX;                                     \
	JEQ   tail;                                       \
	TESTQ R13, R13;                                   \
	JEQ   vector;                                     \
	CMPB  rowArgs_leftToRight(BX), $0;                \
	JNE   long;                                       \
	CMPQ  R13, $(const_mixedBytes+4*size);            \
	JGT   long;                                       \
	NEAR_BLOCKS(KERNEL, STORE, BLOCK, size, scale, v0, v1, v2, v3, v4, v5, v6, v7, block, ahead); \
	AHEAD(KERNEL, STORE, BLOCK, LINES, ALSO, size, scale, v0, v1, v2, v3, v4, v5, v6, v7); \
	JMP   aheadDone;                                  \
long: \
	NEAR_BLOCKS(KERNEL, STORE, IN_ORDER, size, scale, v0, v1, v2, v3, v4, v5, v6, v7, longBlock, longRow); \
longRow: \
	AHEAD_LONG(KERNEL, STORE, LINES, ALSO, cols, size, scale, v0, v1, v2, v3, v4, v5, v6, v7); \
aheadDone: \
	LAST_LINE;                                        \
	TESTL $(size-1), cols;                            \
	JEQ   vectors;                                    \
	LEFT;                                             \
	ALSO;                                             \
	JMP   vectors;                                    \
vector: \
	KERNEL(VECTOR, STORE, scale, 0, DX, v0, v1);      \
	ADDQ  $size, DX;                                  \
vectors: \
	CMPQ  DX, CX;                                     \
	JLT   vector;                                     \
	TESTB $(size/4-1), cols;                          \
	JEQ   columnsDone;                                \
tail: \
	TAIL(KERNEL, cols);                               \
columnsDone:

// ROW_ABREAST is ROW, and ROW_STREAM_ABREAST without LINEAR, where rowArgs.abreast may have the rows to come prefetched abreast: of
// four of them, the first of which comes rowArgs.ahead rows later, a quarter while each of four rows is done. R12 goes along their
// lines, first those of the first quarter, by rowArgs.steps: LONG_ABREAST and LONG_ABREAST_AVX2 fetch a line of each with 256
// bytes, a block of AVX-512 or two of AVX2, where LONG_LINES goes along one row.

#define ROW_ABREAST \
	ROW_ID;        \
	TABLE_ABREAST; \
	ROW_TABLE(LINEAR)

#define ROW_STREAM_ABREAST \
	ROW_ID;        \
	TABLE_ABREAST; \
	ROW_TABLE(NO_LINEAR)

#define TABLE_ABREAST \
	CMPB  rowArgs_abreast(BX), $0;      \
	JEQ   alone;                        \
	IMULQ rowArgs_tableStride(BX), R10; \
	ADDQ  SI, R10;                      \
	NEXT_ABREAST;                       \
alone:

#define NEXT_ABREAST \
	TESTQ $3, R9;                      \
	JNE   quarter;                     \
	XORL  R12, R12;                    \
	MOVQ  R9, DX;                      \
	ADDQ  rowArgs_ahead(BX), DX;       \
	CMPQ  DX, rowArgs_readable(BX);    \
	JGE   abreast;                     \
	ABREAST_ID;                        \
	MOVQ  R12, rowArgs_next(BX);       \
	MOVQ  R12, rowArgs_steps(BX);      \
	ABREAST_NEXT(0, 8);                \
	ABREAST_NEXT(8, 16);               \
	ABREAST_NEXT(16, 24);              \
	MOVQ  rowArgs_next(BX), R12;       \
	SUBQ  R12, (rowArgs_steps+24)(BX); \
	SUBQ  $64, (rowArgs_steps+24)(BX); \
	ADDQ  rowArgs_table(BX), R12;      \
	JMP   abreast;                     \
quarter: \
	MOVQ  rowArgs_next(BX), R12;       \
	TESTQ R12, R12;                    \
	JEQ   found;                       \
	ADDQ  rowArgs_quarter(BX), R12;    \
abreast: \
	MOVQ  R12, rowArgs_next(BX);       \
	EARLY;                             \
	JMP   found

// ABREAST_ID has in R12 how far the row of id number DX is behind row 0, and ABREAST_NEXT that of the next one, or once more of the
// last that may be read; the step to it is how far it is in front of the row before.

#define ABREAST_ID \
	ID(R8, rowArgs_wide(BX), DX, R12); \
	IMULQ rowArgs_tableStride(BX), R12

#define ABREAST_NEXT(before, at) \
	INCQ DX;                               \
	CMPQ DX, rowArgs_readable(BX);         \
	JLT  2(PC);                            \
	DECQ DX;                               \
	ABREAST_ID;                            \
	SUBQ R12, (rowArgs_steps+before)(BX);  \
	MOVQ R12, (rowArgs_steps+at)(BX)

#define LINES_ABREAST MANY_ABREAST(NOTHING)

#define MANY_ABREAST(ALSO) \
	LINE_ABREAST(ALSO, 0);  \
	LINE_ABREAST(ALSO, 8);  \
	LINE_ABREAST(ALSO, 16); \
	LINE_ABREAST(ALSO, 24)

#define LINE_ABREAST(ALSO, at) \
	PREFETCH (R12);                   \
	ALSO;                             \
	SUBQ (rowArgs_steps+at)(BX), R12

#define LONG_ABREAST(KERNEL, STORE, LINES, ALSO, cols, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
	ABREAST(NOTHING, KERNEL, STORE, LINES, ALSO, cols, size, scale, v0, v1, v2, v3, v4, v5, v6, v7)

#define LONG_ABREAST_AVX2(KERNEL, STORE, LINES, ALSO, cols, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
	ABREAST(ANOTHER(KERNEL, STORE, ALSO, size, scale, v0, v1, v2, v3, v4, v5, v6, v7), KERNEL, STORE, LINES, ALSO, cols, size, scale, v0, v1, v2, v3, v4, v5, v6, v7)

#define ANOTHER(KERNEL, STORE, ALSO, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
	JGE vectors;                  \
	ALSO;                         \
	IN_ORDER(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7)

#define ABREAST(MORE, KERNEL, STORE, LINES, ALSO, cols, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
	CMPB rowArgs_abreast(BX), $0; \
	JEQ  longAhead;               \
	PCALIGN $64;                  \
longAbreast: \
	LINES_ABREAST;                \
	ALSO;                         \
	IN_ORDER(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7); \
	MORE;                         \
	JLT  longAbreast;             \
	TESTL $63, cols;              \
	JEQ  vectors;                 \
	LINES_ABREAST;                \
	ALSO;                         \
	JMP  vectors;                 \
	LONG_LINES(KERNEL, STORE, LINES, ALSO, cols, size, scale, v0, v1, v2, v3, v4, v5, v6, v7)

// AVX2

#define TAIL_AVX2(KERNEL, cols) \
	TESTB $4, cols;                       \
	JEQ   pair;                           \
	KERNEL(VECTOR, VECTOR, X15, 0, DX, X0, X1); \
	ADDQ  $16, DX;                        \
pair: \
	TESTB $2, cols;                       \
	JEQ   single;                         \
	KERNEL(PAIR, PAIR, X15, 0, DX, X0, X1);   \
	ADDQ  $8, DX;                         \
single: \
	TESTB $1, cols;                       \
	JEQ   columnsDone;                    \
	KERNEL(SINGLE, SINGLE, X15, 0, DX, X0, X1)

#define TWO_LINES \
	PREFETCH (R12)(DX*1);    \
	PREFETCH 64(R12)(DX*1)

// LEFT1 prefetches what is left of a row behind the blocks of AVX2, and LEFT2 behind those of AVX-512; R12 goes along. A whole block in its
// place has up to three lines of some other row come from memory: on a Xeon, with pages of 4 KiB, of 1,000,000 x 160 gathers took 101
// and 93.5 ns per row with that and without, scatter-adds 110 and 90.0; with pages of 2 MiB 89.7 and 79.6, of x 200 111 and 104.

#define LEFT1(cols) \
	TESTB $16, cols;        \
	JEQ   3(PC);            \
	PREFETCH (R12)(DX*1);   \
	ADDQ  $64, R12;         \
	TESTB $15, cols;        \
	JEQ   2(PC);            \
	PREFETCH (R12)(DX*1)

#define LEFT2(cols) \
	TESTB $32, cols;  \
	JEQ   4(PC);      \
	TWO_LINES;        \
	SUBQ  $-128, R12; \
	LEFT1(cols)

// LAST prefetches the line of the last column where rows may straddle one more, blocks make up a row or not, and LAST_OF does where AX has
// something else than the number of columns.

#define LAST STRADDLE(rowArgs_straddle, -4(R12)(AX*4))

#define LAST_OF \
	MOVQ rowArgs_cols(BX), R11; \
	STRADDLE(rowArgs_straddle, -4(R12)(R11*4))

// They and COLUMNS read rowArgs: what has none has noRows in BX.

#define LINEAR2 \
	CMPB rowArgs_leaveLinear(BX), $0; \
	JNE  3(PC);                       \
	LINEAR(0);                        \
	LINEAR(64)

#define WINDOW2 \
	WINDOW(0);  \
	WINDOW(64)

#define COLUMNS_WINDOW_AVX2(KERNEL) \
	COLUMNS(KERNEL, VECTOR, MIXED, TWO_LINES, LAST_OF, LEFT1(rowArgs_cols(BX)), WINDOW2, AHEAD_LOOP, LONG_LINES, TAIL_AVX2, rowArgs_cols(BX), 32, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)

#define COLUMNS_AVX2(KERNEL) \
	COLUMNS(KERNEL, VECTOR, MIXED, TWO_LINES, LAST, LEFT1(AX), LINEAR2, AHEAD_LOOP, LONG_ABREAST_AVX2, TAIL_AVX2, AX, 32, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)

#define COLUMNS_STREAM_AVX2(KERNEL) \
	COLUMNS(KERNEL, STREAM, MIXED, TWO_LINES, LAST, LEFT1(AX), NOTHING, AHEAD_LOOP, LONG_ABREAST_AVX2, TAIL_AVX2, AX, 32, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)

#define BEGIN_AVX2 \
	ROWS_BEGIN;                         \
	VBROADCASTSS rowArgs_scale(BX), Y15; \
	MOVQ rowArgs_cols(BX), AX;          \
	SPLIT(32)

// LAST_LANES moves what is left of a row behind its eights to the first lanes, out of its last 8 columns, and has +0 in the
// others. A masked load would do as well, but QEMU 7.2 takes it to fault where it does not. LAST_LANES_BEGIN finds in the
// table of lanes those to keep, and 64 bytes on where they come from, with the number of columns in AX.

#define LAST_LANES(from, keep, order, to) \
	VPERMPS from, order, to; \
	VANDPS  keep, to, to

#define LAST_LANES_BEGIN(keep, tmp) \
	MOVQ AX, tmp;             \
	ANDL $7, tmp;             \
	NEGQ tmp;                 \
	LEAQ ·lanes+32(SB), keep; \
	LEAQ (keep)(tmp*4), keep

// FEW_LANES moves up to 7 columns, n of them, which are a whole row, to lanes, and has +0 in the others: the first four, where there are so
// many, to the upper half, and what is behind those, fours bytes on, or else 0, to the lower: what adds up halves does not notice that they
// have changed places. x is the lower half of y. On a Zen 3, ns per row by plain Go and so, 8,192 ids of 20,000 rows, of 4,000,000, and, of all
// rows, for each of these, medians of 21 interleaved rounds:
//
//	columns             1           3           7           1           3           7
//	row-wise Adagrad   35  14      27 8.3      45  14     129  19     175  23     175  24
//	a dot product      37 7.3      41 7.3      50  11      97  10     141  11     150  13
//	four              117  14     148  17     158  19     232  20     260  22     232  17
//	one, all rows      20 3.1      20 3.0      23 3.2      30 8.9      30 4.8      25 5.9
//	four, all rows    127  14     131  12      83 7.5     103  14     111  13     110  11
#define FEW_LANES(row, n, fours, x, y) \
	VXORPS      x, x, x;              \
	TESTB       $1, n;                \
	JEQ         2(PC);                \
	VMOVSS      -4(row)(n*4), x;      \
	TESTB       $2, n;                \
	JEQ         3(PC);                \
	VMOVLHPS    x, x, x;              \
	VMOVLPS     (row)(fours*1), x, x; \
	TESTB       $4, n;                \
	JEQ         2(PC);                \
	VINSERTF128 $1, (row), y, y

// FOURS_OF has in fours what FEW_LANES wants.
#define FOURS_OF(n, fours) \
	MOVL n, fours;   \
	ANDL $4, fours;  \
	SHLL $2, fours

// SUM_OF_EIGHT adds the upper half of the lanes in Y0 to the lower half until there is one, in X0.
#define SUM_OF_EIGHT \
	VEXTRACTF128 $1, Y0, X1; \
	VADDPS    X1, X0, X0;    \
	VMOVHLPS  X0, X0, X1;    \
	VADDPS    X1, X0, X0;    \
	VMOVSHDUP X0, X1;        \
	VADDSS    X1, X0, X0

// HALVES adds lanes 8 to 15, in y, to lanes 0 to 7, in x, of one sum in x0 and y0 and of another in x1 and y1, and then the
// upper four of what is left to the lower four: x0 gets those of the first sum and then those of the other.
#define HALVES(x0, y0, x1, y1, tmp) \
	VADDPS y0, x0, x0;            \
	VADDPS y1, x1, x1;            \
	VPERM2F128 $0x31, x1, x0, tmp; \
	VPERM2F128 $0x20, x1, x0, x0; \
	VADDPS tmp, x0, x0

// AVX-512

#define TAIL_AVX512(KERNEL, cols) \
	KERNEL(MASKED_LOAD, MASKED_STORE, Z15, 0, DX, Z0, Z1)

#define FOUR_LINES \
	TWO_LINES;                 \
	PREFETCH 128(R12)(DX*1);   \
	PREFETCH 192(R12)(DX*1)

#define FOUR_LINEAR \
	LINEAR(0);   \
	LINEAR(64);  \
	LINEAR(128); \
	LINEAR(192)

#define LINEAR4 \
	CMPB rowArgs_leaveLinear(BX), $0; \
	JNE  5(PC);                       \
	FOUR_LINEAR

#define WINDOW4 \
	WINDOW(0);   \
	WINDOW(64);  \
	WINDOW(128); \
	WINDOW(192)

#define COLUMNS_WINDOW_AVX512(KERNEL) \
	COLUMNS(KERNEL, VECTOR, MIXED, FOUR_LINES, LAST_OF, LEFT2(rowArgs_cols(BX)), WINDOW4, AHEAD_FOUR, LONG_LINES, TAIL_AVX512, rowArgs_cols(BX), 64, Z15, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)

#define COLUMNS_STREAM_AVX512(KERNEL) \
	COLUMNS(KERNEL, STREAM, MIXED, FOUR_LINES, LAST, LEFT2(AX), NOTHING, AHEAD_FOUR, LONG_ABREAST, TAIL_AVX512, AX, 64, Z15, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)

#define COLUMNS_AVX512(KERNEL) \
	COLUMNS(KERNEL, VECTOR, MIXED, FOUR_LINES, LAST, LEFT2(AX), LINEAR4, AHEAD_FOUR, LONG_ABREAST, TAIL_AVX512, AX, 64, Z15, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)

// MASK sets the lanes of the tail, with the number of columns in AX.
#define MASK \
	MOVQ  AX, CX;  \
	ANDQ  $15, CX; \
	MOVL  $1, DX;  \
	SHLL  CX, DX;  \
	DECL  DX;      \
	KMOVW DX, K1

#define BEGIN_AVX512 \
	ROWS_BEGIN;                          \
	VBROADCASTSS rowArgs_scale(BX), Z15; \
	MOVQ rowArgs_cols(BX), AX;           \
	MASK;                                \
	SPLIT(64)

// QUARTERS adds the upper eight lanes of each of four registers to the lower eight, and then the upper four of what is left
// to the lower four: x0 gets those of all four.
#define QUARTERS(x0, x1, x2, x3, tmp) QUARTERS_OF(VADDPS, x0, x1, x2, x3, tmp)

#define QUARTERS_OF(ADD, x0, x1, x2, x3, tmp) \
	VSHUFF64X2 $0xEE, x1, x0, tmp; \
	VSHUFF64X2 $0x44, x1, x0, x0;  \
	ADD        tmp, x0, x0;        \
	VSHUFF64X2 $0xEE, x3, x2, tmp; \
	VSHUFF64X2 $0x44, x3, x2, x2;  \
	ADD        tmp, x2, x2;        \
	VSHUFF32X4 $0xDD, x2, x0, tmp; \
	VSHUFF32X4 $0x88, x2, x0, x0;  \
	ADD        tmp, x0, x0

// SIXTEEN_SUMS adds up the lanes of each of Z0 to Z15: X0 gets those of Z0 to Z3, X1 those of the next four, and so on. Z31
// is what apart says.
#define SIXTEEN_SUMS(ADD) \
	QUARTERS_OF(ADD, Z0, Z1, Z2, Z3, Z16);     \
	QUARTERS_OF(ADD, Z4, Z5, Z6, Z7, Z17);     \
	QUARTERS_OF(ADD, Z8, Z9, Z10, Z11, Z18);   \
	QUARTERS_OF(ADD, Z12, Z13, Z14, Z15, Z19); \
	VSHUFPS $0xEE, Z4, Z0, Z16;                \
	VSHUFPS $0x44, Z4, Z0, Z0;                 \
	ADD     Z16, Z0, Z0;                       \
	VSHUFPS $0xEE, Z12, Z8, Z17;               \
	VSHUFPS $0x44, Z12, Z8, Z8;                \
	ADD     Z17, Z8, Z8;                       \
	VSHUFPS $0xDD, Z8, Z0, Z16;                \
	VSHUFPS $0x88, Z8, Z0, Z0;                 \
	ADD     Z16, Z0, Z0;                       \
	VPERMPS Z0, Z31, Z0;                       \
	VEXTRACTF32X4 $1, Z0, X1;                  \
	VEXTRACTF32X4 $2, Z0, X2;                  \
	VEXTRACTF32X4 $3, Z0, X3
