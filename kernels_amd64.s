//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"
#include "shortrows_amd64.h"

// POSITIONS_BEGIN finds the row of positions that belongs to the first row if they are counted, and where they end.
#define POSITIONS_BEGIN \
	MOVQ rowArgs_positions(BX), R11; \
	MOVQ rowArgs_posSpan(BX), DX;    \
	ADDQ R11, DX;                    \
	MOVQ DX, rowArgs_posEnd(BX);     \
	ADDQ rowArgs_posFirst(BX), R11

// POSITION finds the row of positions by its id where there are such ids; a counted one is there already. DX is 0 then.
#define POSITION \
	MOVQ  rowArgs_at(BX), DX;            \
	TESTQ DX, DX;                        \
	JEQ   10(PC);                        \
	ID(DX, rowArgs_atWide(BX), R9, R11); \
	CMPQ  R11, rowArgs_posLimit(BX);     \
	JAE   done;                          \
	IMULQ rowArgs_posStride(BX), R11;    \
	ADDQ  rowArgs_positions(BX), R11;    \
	XORL  DX, DX

// POSITION_NEXT counts.
#define POSITION_NEXT \
	ADDQ    rowArgs_posStride(BX), R11; \
	CMPQ    R11, rowArgs_posEnd(BX);    \
	CMOVQEQ rowArgs_positions(BX), R11

// LEFT_BEGIN finds what is left of the gradient of the maxima in R11, in place of ids, which LEFT_END finds again.
#define LEFT_BEGIN \
	MOVQ rowArgs_left(BX), R8; \
	ADDQ R11, R8

#define LEFT_END MOVQ rowArgs_ids(BX), R8

// What other kernels do to one vector of a row, as GATHER and ADD_SCALED do in rows_amd64.h.

#define GATHER_SCALED(LOAD, STORE, scale, off, at, x, y) \
	LOAD(off(R10)(at*1), x); \
	VMULPS scale, x, x;      \
	STORE(x, off(DI)(at*1))

#define GATHER_SUM(LOAD, STORE, zero, off, at, x, y) \
	LOAD(off(R10)(at*1), x); \
	VADDPS zero, x, x;       \
	STORE(x, off(DI)(at*1))

#define EMBED(LOAD, STORE, scale, off, at, x, y) \
	LOAD(off(R10)(at*1), x); \
	LOAD(off(R11)(at*1), y); \
	VMULPS scale, x, x;      \
	VADDPS x, y, x;          \
	STORE(x, off(DI)(at*1))

// TERM_AVX2 is what BagMaxBackward does, with a row of maxima in R11 and what is left of their gradient in R8, which goes to
// the row where that has the bits of a maximum.
#define TERM_AVX2(LOAD, STORE, scale, off, at, x, y) \
	LOAD(off(R10)(at*1), x); \
	LOAD(off(R11)(at*1), y); \
	VPCMPEQD x, y, x;        \
	LOAD(off(R8)(at*1), y);  \
	VANDNPS  y, x, x;        \
	VXORPS   x, y, y;        \
	STORE(x, off(R8)(at*1)); \
	STORE(y, off(DI)(at*1))

#define TERM_AVX512(LOAD, STORE, scale, off, at, x, y) \
	LOAD(off(R10)(at*1), x); \
	LOAD(off(R11)(at*1), y); \
	VPCMPEQD x, y, K2;       \
	LOAD(off(R8)(at*1), y);  \
	VMOVAPS.Z y, K2, x;      \
	VXORPS   x, y, y;        \
	STORE(y, off(R8)(at*1)); \
	STORE(x, off(DI)(at*1))

#define EMBED_ADD(LOAD, STORE, scale, off, at, x, y) \
	EMBED(LOAD, LATER, scale, off, at, x, y); \
	LOAD(off(R8)(at*1), y);                   \
	VADDPS y, x, x;                           \
	STORE(x, off(DI)(at*1))

// ADD finds, in place of the ids, the row of sumArgs.add that belongs to the row; ADD_NEXT counts, and has the ids again.

#define ADD \
	MOVQ sumArgs_addRow(BX), R8

#define ADD_NEXT \
	MOVQ    sumArgs_add(BX), DX;       \
	MOVQ    DX, R12;                   \
	ADDQ    sumArgs_addSpan(BX), R12;  \
	ADDQ    sumArgs_addStride(BX), R8; \
	CMPQ    R8, R12;                   \
	CMOVQEQ DX, R8;                    \
	MOVQ    R8, sumArgs_addRow(BX);    \
	MOVQ    rowArgs_ids(BX), R8

// AVX2

// SHORT_ROWS does rows of up to shortColumns with one or two vectors, or parts of them, at the left end of a row and as many
// at its right, which overlap; 1, 4 and 8 columns have a left one only. All are computed before any is stored. Rows behind which a line is
// prefetched have loops of their own. FOURS may do 1, 2, 4 and 8 columns before that. Wider rows are those of OVERLAP_ROWS.
//
// On a Zen 4, ns per id of a gather and of a scatter-add, with a right vector of 4 and 8 columns and with none: 100 x 4 0.90
// and 0.71, 1.02 and 0.80; 50,257 x 4 1.20 and 1.10, 1.48 and 1.24; 50,257 x 8 1.51 and 1.35, 1.90 and 1.54. Before and since
// Embed and rows of 17 to 32 columns have these loops (they went by COLUMNS, 32 with AVX-512), medians of 61 interleaved rounds:
//
//	table              gather       scatter-add  embed            table              gather       scatter-add  embed
//	     1,000 x 1     0.47  0.47   0.76  0.76   2.60  1.25          50,257 x 24     4.40  3.41   4.35  3.70   6.89  5.22
//	     1,000 x 8     0.86  0.88   0.92  0.94   2.38  1.47       1,000,000 x 16     5.76  5.80   6.19  6.21   8.06  6.94
//	     1,000 x 16    1.23  1.23   1.31  1.29   2.70  1.96       1,000,000 x 17     10.9  8.68   11.3  9.73   11.6  9.92
//	     1,000 x 17    3.46  2.23   2.82  2.89   3.36  3.50       1,000,000 x 24     11.9  8.87   11.1  9.61   11.3  9.56
//	     1,000 x 24    3.19  1.97   2.43  2.07   3.13  2.97       1,000,000 x 30     10.4  9.34   11.1  9.31   11.8  9.90
//	     1,000 x 32    4.47  2.27   3.76  2.80   6.06  3.56       1,000,000 x 32     8.66  7.48   10.3  8.84   9.75  8.60

#define LEFT(KERNEL, OUT, MOVE, scale, v0, v1) \
	KERNEL(MOVE, LATER, scale, 0, DX, v0, v1); \
	MOVE(v0, (OUT))

#define BOTH(KERNEL, OUT, MOVE, scale, v0, v1, v2, v3) \
	KERNEL(MOVE, LATER, scale, 0, DX, v0, v1); \
	KERNEL(MOVE, LATER, scale, 0, CX, v2, v3); \
	MOVE(v0, (OUT));                           \
	MOVE(v2, (OUT)(CX*1))

#define BODY1(KERNEL, OUT) LEFT(KERNEL, OUT, SINGLE, X15, X0, X1)
#define BODY3(KERNEL, OUT) BOTH(KERNEL, OUT, PAIR, X15, X0, X1, X2, X3)
#define BODY4(KERNEL, OUT) LEFT(KERNEL, OUT, VECTOR, X15, X0, X1)
#define BODY7(KERNEL, OUT) BOTH(KERNEL, OUT, VECTOR, X15, X0, X1, X2, X3)
#define BODY8(KERNEL, OUT) LEFT(KERNEL, OUT, VECTOR, Y15, Y0, Y1)
#define BODY16(KERNEL, OUT) BOTH(KERNEL, OUT, VECTOR, Y15, Y0, Y1, Y2, Y3)

// The order of columns is that of MIXED.
#define FOUR_ENDS(KERNEL, OUT, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
	KERNEL(VECTOR, LATER, scale, 0, CX, v4, v5);    \
	KERNEL(VECTOR, LATER, scale, 0, DX, v0, v1);    \
	KERNEL(VECTOR, LATER, scale, size, CX, v6, v7); \
	KERNEL(VECTOR, LATER, scale, size, DX, v2, v3); \
	VMOVUPS v4, (OUT)(CX*1);                        \
	VMOVUPS v0, (OUT);                              \
	VMOVUPS v6, size(OUT)(CX*1);                    \
	VMOVUPS v2, size(OUT)

#define BODY32(KERNEL, OUT) FOUR_ENDS(KERNEL, OUT, 32, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)

// Rows of more than 8 columns have as many lines of linear rows prefetched, but where rowArgs.leaveLinear is set, which takes
// 0.85 to 0.95 of the time where neither those nor the table are in a cache (1,000,000 x 16 gather 7.1 and 6.7, scatter-add 7.7
// and 7.2, embed 8.2 and 7.5), 0.94 to 1.08 where the table is (50,000 x 12, x 16), and 0.97 to 1.03 where both are; 50,257 x 8
// would take 1.37 and 1.48. BEYOND is the line behind the row.

#define LINE1_LINEAR(row) \
	LINE1(row);                       \
	CMPB rowArgs_leaveLinear(BX), $0; \
	JNE  2(PC);                       \
	PREFETCH const_linearAhead(DI)

#define LINES2_LINEAR(row) \
	LINES2(row);                      \
	CMPB rowArgs_leaveLinear(BX), $0; \
	JNE  3(PC);                       \
	PREFETCH const_linearAhead(DI);   \
	PREFETCH (const_linearAhead+64)(DI)

#define LINES2_BEYOND(row) LINES2_LINEAR(row); PREFETCH 127(row)(CX*1)

// FOUR_ROWS gathers four rows of 1, 2, 4 or 8 columns at a time where linear rows have no gaps and none of the table is prefetched. Of single
// columns 100 x 1 took 0.42 and not 0.64 ns per element so, 50,257 x 1 0.64 and 0.70, but 4,000,000 x 1 with prefetching 5.3 and 4.7. On a Zen 5,
// times of that over those of one row at a time, fresh uniform ids, medians of 61 interleaved rounds; rows of 16 have 0.88 to 0.97:
//
//	                gather  scaled                  gather  scaled                  gather  scaled
//	 1,000 x 2      0.55    0.39     1,000 x 4      0.66    0.68     1,000 x 8      0.75    0.76
//	50,257 x 2      0.58    0.51    50,257 x 4      0.64    0.64    40,000 x 8      0.77    0.75
//
// AX has where fewer than four are left.

#define ROW_OF(id, near) \
	id;             \
	CMPQ  R10, R12; \
	JAE   near;     \
	IMULQ R13, R10

#define FOUR1(KERNEL, SIZE, near) \
	ROW_OF(SIZE(R8, 0), near);                 \
	VMOVSS    (SI)(R10*1), X0;                 \
	ROW_OF(SIZE(R8, 1), near);                 \
	VINSERTPS $0x10, (SI)(R10*1), X0, X0;      \
	ROW_OF(SIZE(R8, 2), near);                 \
	VINSERTPS $0x20, (SI)(R10*1), X0, X0;      \
	ROW_OF(SIZE(R8, 3), near);                 \
	VINSERTPS $0x30, (SI)(R10*1), X0, X0;      \
	KERNEL(LATER, VECTOR, X15, 0, DX, X0, X1)

#define FOUR2(KERNEL, SIZE, near) \
	ROW_OF(SIZE(R8, 0), near);                 \
	VMOVSD  (SI)(R10*1), X0;                   \
	ROW_OF(SIZE(R8, 1), near);                 \
	VMOVHPS (SI)(R10*1), X0, X0;               \
	ROW_OF(SIZE(R8, 2), near);                 \
	VMOVSD  (SI)(R10*1), X2;                   \
	ROW_OF(SIZE(R8, 3), near);                 \
	VMOVHPS (SI)(R10*1), X2, X2;               \
	KERNEL(LATER, VECTOR, X15, 0, DX, X0, X1); \
	KERNEL(LATER, VECTOR, X15, 16, DX, X2, X3)

#define FOUR4(KERNEL, SIZE, near) \
	ROW_OF(SIZE(R8, 0), near);                 \
	VMOVUPS     (SI)(R10*1), X0;               \
	ROW_OF(SIZE(R8, 1), near);                 \
	VINSERTF128 $1, (SI)(R10*1), Y0, Y0;       \
	ROW_OF(SIZE(R8, 2), near);                 \
	VMOVUPS     (SI)(R10*1), X2;               \
	ROW_OF(SIZE(R8, 3), near);                 \
	VINSERTF128 $1, (SI)(R10*1), Y2, Y2;       \
	KERNEL(LATER, VECTOR, Y15, 0, DX, Y0, Y1); \
	KERNEL(LATER, VECTOR, Y15, 32, DX, Y2, Y3)

#define FOUR8(KERNEL, SIZE, near) \
	ROW_OF(SIZE(R8, 0), near);                  \
	VMOVUPS (SI)(R10*1), Y0;                    \
	ROW_OF(SIZE(R8, 1), near);                  \
	VMOVUPS (SI)(R10*1), Y2;                    \
	ROW_OF(SIZE(R8, 2), near);                  \
	VMOVUPS (SI)(R10*1), Y4;                    \
	ROW_OF(SIZE(R8, 3), near);                  \
	VMOVUPS (SI)(R10*1), Y6;                    \
	KERNEL(LATER, VECTOR, Y15, 0, DX, Y0, Y1);  \
	KERNEL(LATER, VECTOR, Y15, 32, DX, Y2, Y3); \
	KERNEL(LATER, VECTOR, Y15, 64, DX, Y4, Y5); \
	KERNEL(LATER, VECTOR, Y15, 96, DX, Y6, Y7)

#define FOURS_LOOP(KERNEL, FOUR, SIZE, bytes, fours, near) \
fours: \
	FOUR(KERNEL, SIZE, near); \
	ADDQ $(4*bytes), DI;      \
	ADDQ $4, R9;              \
	CMPQ R9, AX;              \
	JLT  fours;               \
	JMP  near

#define FOUR_ROWS(KERNEL, FOUR, bytes, foursNarrow, foursWide, near, rows) \
	CMPQ R11, $bytes;           \
	JNE  rows;                  \
	CMPQ rowArgs_ahead(BX), $0; \
	JNE  rows;                  \
	MOVQ rowArgs_n(BX), AX;     \
	SUBQ $3, AX;                \
	JLE  rows;                  \
	CMPQ rowArgs_wide(BX), $0;  \
	JNE  foursWide;             \
	PCALIGN $64;                \
	FOURS_LOOP(KERNEL, FOUR, ID_NARROW, bytes, foursNarrow, near); \
	FOURS_LOOP(KERNEL, FOUR, ID_WIDE, bytes, foursWide, near);     \
rows:

#define NO_FOURS(KERNEL, FOUR, bytes, foursNarrow, foursWide, near, rows)

// STRIDE has the stride of linear rows in R11, by which STRIDE_NEXT goes on: from memory it takes 2 to 18 percent longer.
// Embed, whose row of positions is there, has to.

#define STRIDE \
	MOVQ rowArgs_linearStride(BX), R11

#define STRIDE_NEXT \
	ADDQ R11, DI

#define POSITION_STRIDE_NEXT \
	ADDQ rowArgs_linearStride(BX), DI; \
	POSITION_NEXT

#define SHORT_ROWS(KERNEL, OUT, FOURS, BEGIN, FIRST, NEXT) \
	CMPQ AX, $const_shortColumns;       \
	JGT  wider;                         \
	SHORT_BEGIN(BEGIN);                 \
	CMPQ AX, $16;                       \
	JGT  upTo32;                        \
	CMPQ AX, $8;                        \
	JGT  upTo16;                        \
	JEQ  eight;                         \
	CMPQ AX, $4;                        \
	JGT  upTo7;                         \
	JEQ  four;                          \
	CMPQ AX, $2;                        \
	JGE  upTo3;                         \
	FOURS(KERNEL, FOUR1, 4, foursNarrow1, foursWide1, near1, rows1); \
	SHORT_LOOPS(KERNEL, BODY1, OUT, FIRST, NEXT, LINE1, -1, farNarrow1, farWide1, astride1, astrideNarrow1, astrideWide1, near1, narrow1, wide1); \
four: \
	FOURS(KERNEL, FOUR4, 16, foursNarrow4, foursWide4, near4, rows4); \
	SHORT_LOOPS(KERNEL, BODY4, OUT, FIRST, NEXT, LINE1, -1, farNarrow4, farWide4, astride4, astrideNarrow4, astrideWide4, near4, narrow4, wide4); \
eight: \
	FOURS(KERNEL, FOUR8, 32, foursNarrow8, foursWide8, near8, rows8); \
	SHORT_LOOPS(KERNEL, BODY8, OUT, FIRST, NEXT, LINE1, -1, farNarrow8, farWide8, astride8, astrideNarrow8, astrideWide8, near8, narrow8, wide8); \
upTo3: \
	SUBQ $8, CX;                        \
	FOURS(KERNEL, FOUR2, 8, foursNarrow2, foursWide2, near3, rows2); \
	SHORT_LOOPS(KERNEL, BODY3, OUT, FIRST, NEXT, LINE1, 7, farNarrow3, farWide3, astride3, astrideNarrow3, astrideWide3, near3, narrow3, wide3); \
upTo7: \
	SUBQ $16, CX;                       \
	SHORT_LOOPS(KERNEL, BODY7, OUT, FIRST, NEXT, LINE1, 15, farNarrow7, farWide7, astride7, astrideNarrow7, astrideWide7, near7, narrow7, wide7); \
upTo16: \
	SUBQ $32, CX;                       \
	SHORT_LOOPS(KERNEL, BODY16, OUT, FIRST, NEXT, LINE1_LINEAR, 31, farNarrow16, farWide16, astride16, astrideNarrow16, astrideWide16, near16, narrow16, wide16); \
upTo32: \
	CMPQ rowArgs_burst(BX), CX;         \
	JGT  beyond;                        \
	SUBQ $64, CX;                       \
	SHORT_LOOPS(KERNEL, BODY32, OUT, FIRST, NEXT, LINES2_LINEAR, 63, farNarrow32, farWide32, astride32, astrideNarrow32, astrideWide32, near32, narrow32, wide32); \
beyond: \
	SUBQ $64, CX;                       \
	SHORT_LOOPS(KERNEL, BODY32, OUT, FIRST, NEXT, LINES2_BEYOND, 63, farNarrow31, farWide31, astride31, astrideNarrow31, astrideWide31, near31, narrow31, wide31)

// ROWS_AVX2 and EMBED_ROWS_AVX2 are all of a kernel but its result.

#define ROWS_AVX2(KERNEL, OUT, FOURS) \
	BEGIN_AVX2;                         \
	SHORT_ROWS(KERNEL, OUT, FOURS, STRIDE, NOTHING, STRIDE_NEXT); \
	OVERLAP_ROWS(KERNEL, OUT, STRIDE, NOTHING, STRIDE_NEXT);      \
row: \
	ROW_ABREAST;                        \
	COLUMNS_AVX2(KERNEL);               \
	ROWS_END

#define EMBED_ROWS_AVX2 \
	BEGIN_AVX2;                               \
	POSITIONS_BEGIN;                          \
	SHORT_ROWS(EMBED, DI, NO_FOURS, NOTHING, POSITION, POSITION_STRIDE_NEXT); \
	OVERLAP_ROWS(EMBED, DI, NOTHING, POSITION, POSITION_STRIDE_NEXT);         \
row: \
	ROW_ABREAST;                              \
	POSITION;                                 \
	COLUMNS_AVX2(EMBED);                      \
	POSITION_NEXT;                            \
	ROWS_END

// func gatherAVX2(a *rowArgs) (done int)
// for i, id := range ids { copy(linear[i], table[id]) }
TEXT ·gatherAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherNearAVX2<>)
	ROWS_AVX2(GATHER, DI, FOUR_ROWS)
	MOVQ R9, done+8(FP)
	RET

// func gatherScaledAVX2(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] }
TEXT ·gatherScaledAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherScaledNearAVX2<>)
	ROWS_AVX2(GATHER_SCALED, DI, FOUR_ROWS)
	MOVQ R9, done+8(FP)
	RET

// func gatherSumAVX2(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = 0 + table[id] }
TEXT ·gatherSumAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherSumNearAVX2<>)
	ROWS_AVX2(GATHER_SUM, DI, FOUR_ROWS)
	MOVQ R9, done+8(FP)
	RET

// func scatterAddAVX2(a *rowArgs) (done int)
// for i, id := range ids { table[id] += scale * linear[i] }
TEXT ·scatterAddAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·scatterAddNearAVX2<>)
	ROWS_AVX2(ADD_SCALED, R10, NO_FOURS)
	MOVQ R9, done+8(FP)
	RET

// func embedAVX2(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] + positions[p(i)] }
TEXT ·embedAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·embedNearAVX2<>)
	EMBED_ROWS_AVX2
	MOVQ R9, done+8(FP)
	RET

// func bagMaxBackwardAVX2(a *rowArgs) (done int)
// for i, id := range ids { for j, x := range table[id] { linear[i][j], left[i][j] = left[i][j], 0, or 0 if x != maxima[i][j] } }
TEXT ·bagMaxBackwardAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	BEGIN_AVX2
row:
	ROW
	POSITION
	LEFT_BEGIN
	COLUMNS_AVX2(TERM_AVX2)
	LEFT_END
	ROWS_END
	MOVQ R9, done+8(FP)
	RET

// func embedAddAVX2(a *sumArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] + positions[p(i)] + add[q(i)] }
TEXT ·embedAddAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	BEGIN_AVX2
	POSITIONS_BEGIN
row:
	ROW
	POSITION
	ADD
	COLUMNS_AVX2(EMBED_ADD)
	ADD_NEXT
	POSITION_NEXT
	ROWS_END
	MOVQ R9, done+8(FP)
	RET

// The window kernels are for linear rows with something between them, which is not to be prefetched.

// func gatherWindowAVX2(a *rowArgs) (done int)
// for i, id := range ids { copy(linear[i], table[id]) }
TEXT ·gatherWindowAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	BEGIN_AVX2
row:
	ROW_WINDOW
	COLUMNS_WINDOW_AVX2(GATHER)
	ROWS_END
	MOVQ R9, done+8(FP)
	RET

// func scatterAddWindowAVX2(a *rowArgs) (done int)
// for i, id := range ids { table[id] += scale * linear[i] }
TEXT ·scatterAddWindowAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	BEGIN_AVX2
row:
	ROW_WINDOW
	COLUMNS_WINDOW_AVX2(ADD_SCALED)
	ROWS_END
	MOVQ R9, done+8(FP)
	RET

// The stream kernels write past the caches what is too much for them: the linear rows begin at multiples of 32 bytes and
// have whole vectors. SFENCE has all of it written before anything that follows, but where that is the next chunk of the same
// call, whose kernel does; where the goroutine moves to another processor in between, Go's scheduler has it written by what it
// locks. On a Zen 5, ns per row with one for each chunk and so, medians of 61 interleaved rounds: 8,192 lookups of 50,257 x 768
// 134.1 and 133.2, 2,048 of 50,257 x 4,096 671 and 658, 512 of 16,384 x 12,288 1919 and 1883; Embed 141 and 138, 842 and 832, 2332
// and 2285.

#define STREAM_END \
	ROWS_END;                      \
	MOVQ R9, done+8(FP);           \
	CMPQ R9, rowArgs_unfenced(BX); \
	JEQ  2(PC);                    \
	SFENCE

#define STREAM_ROWS_AVX2(KERNEL) \
	BEGIN_AVX2;                  \
row: \
	ROW_STREAM_ABREAST;          \
	COLUMNS_STREAM_AVX2(KERNEL); \
	STREAM_END

#define EMBED_STREAM_ROWS_AVX2 \
	BEGIN_AVX2;                 \
	POSITIONS_BEGIN;            \
row: \
	ROW_STREAM_ABREAST;         \
	POSITION;                   \
	COLUMNS_STREAM_AVX2(EMBED); \
	POSITION_NEXT;              \
	STREAM_END

// func gatherStreamAVX2(a *rowArgs) (done int)
// for i, id := range ids { copy(linear[i], table[id]) }
TEXT ·gatherStreamAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherStreamNearAVX2<>)
	STREAM_ROWS_AVX2(GATHER)
	RET

// func gatherScaledStreamAVX2(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] }
TEXT ·gatherScaledStreamAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherScaledStreamNearAVX2<>)
	STREAM_ROWS_AVX2(GATHER_SCALED)
	RET

// func gatherSumStreamAVX2(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = 0 + table[id] }
TEXT ·gatherSumStreamAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherSumStreamNearAVX2<>)
	STREAM_ROWS_AVX2(GATHER_SUM)
	RET

// func embedStreamAVX2(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] + positions[p(i)] }
TEXT ·embedStreamAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·embedStreamNearAVX2<>)
	EMBED_STREAM_ROWS_AVX2
	RET

// LONE_ROW is what COLUMNS needs of a row of AX columns that stands alone: no other to prefetch.
#define LONE_ROW(size) \
	XORL R12, R12;        \
	LEAQ ·noRows(SB), BX; \
	SPLIT(size)

// func addScaledAVX2(dst, src *float32, n int, alpha float32)
// for i, x := range src { dst[i] += alpha * x }
TEXT ·addScaledAVX2(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), R10
	MOVQ src+8(FP), DI
	MOVQ n+16(FP), AX
	VBROADCASTSS alpha+24(FP), Y15
	LONE_ROW(32)
	COLUMNS_AVX2(ADD_SCALED)
	VZEROUPPER
	RET

// func scaleRowAVX2(dst, src *float32, n int, scale float32)
// for i, x := range src { dst[i] = scale * x }
TEXT ·scaleRowAVX2(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), R10
	MOVQ n+16(FP), AX
	VBROADCASTSS scale+24(FP), Y15
	LONE_ROW(32)
	COLUMNS_AVX2(GATHER_SCALED)
	VZEROUPPER
	RET

// func embedRowAVX2(dst, src, positions *float32, n int, scale float32)
// for i, x := range src { dst[i] = scale * x + positions[i] }
TEXT ·embedRowAVX2(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), R10
	MOVQ positions+16(FP), R11
	MOVQ n+24(FP), AX
	VBROADCASTSS scale+32(FP), Y15
	LONE_ROW(32)
	COLUMNS_AVX2(EMBED)
	VZEROUPPER
	RET

// AddBatches walks the rows of batchArgs, and each row from left to right; for each block, vector or part of one it adds
// up all batches in registers.
//
// Registers:
//	BX   arguments                       R9   rows left
//	DI   row of dst                      R10  element in the row of the current batch
//	SI   the row of src in batch 0       R11  bytes between batches
//	DX   bytes done of the row           R12  batches left
//	R13, CX, AX as above

#define BATCHES_BEGIN(size) \
	MOVQ batchArgs_dst(BX), DI;          \
	MOVQ batchArgs_src(BX), SI;          \
	MOVQ batchArgs_rows(BX), R9;         \
	MOVQ batchArgs_batchStride(BX), R11; \
	MOVQ batchArgs_cols(BX), AX;         \
	SPLIT(size)

// SUM adds the same part of the row in all batches to register x.
#define SUM(LOAD, STORE, x, y, loop) \
	LEAQ   (SI)(DX*1), R10;              \
	MOVQ   batchArgs_batches(BX), R12;   \
	LOAD((DI)(DX*1), x);                 \
loop: \
	LOAD((R10), y);                      \
	VADDPS y, x, x;                      \
	ADDQ   R11, R10;                     \
	DECQ   R12;                          \
	JNE    loop;                         \
	STORE(x, (DI)(DX*1))

#define BATCH_ROWS(TAIL, size, v0, v1, v2, v3) \
row: \
	XORL   DX, DX;                       \
block: \
	CMPQ   DX, R13;                      \
	JGE    vectors;                      \
	LEAQ   (SI)(DX*1), R10;              \
	MOVQ   batchArgs_batches(BX), R12;   \
	VMOVUPS 0*size(DI)(DX*1), v0;        \
	VMOVUPS 1*size(DI)(DX*1), v1;        \
	VMOVUPS 2*size(DI)(DX*1), v2;        \
	VMOVUPS 3*size(DI)(DX*1), v3;        \
sumBlock: \
	VADDPS 0*size(R10), v0, v0;          \
	VADDPS 1*size(R10), v1, v1;          \
	VADDPS 2*size(R10), v2, v2;          \
	VADDPS 3*size(R10), v3, v3;          \
	ADDQ   R11, R10;                     \
	DECQ   R12;                          \
	JNE    sumBlock;                     \
	VMOVUPS v0, 0*size(DI)(DX*1);        \
	VMOVUPS v1, 1*size(DI)(DX*1);        \
	VMOVUPS v2, 2*size(DI)(DX*1);        \
	VMOVUPS v3, 3*size(DI)(DX*1);        \
	ADDQ   $(4*size), DX;                \
	JMP    block;                        \
vectors: \
	CMPQ   DX, CX;                       \
	JGE    tail;                         \
	SUM(VECTOR, VECTOR, v0, v1, sumVector); \
	ADDQ   $size, DX;                    \
	JMP    vectors;                      \
tail: \
	TAIL;                                \
rowDone: \
	ADDQ   batchArgs_dstStride(BX), DI;  \
	ADDQ   batchArgs_srcStride(BX), SI;  \
	DECQ   R9;                           \
	JNE    row

#define BATCH_TAIL_AVX2 \
	TESTB $4, AX;                        \
	JEQ   pair;                          \
	SUM(VECTOR, VECTOR, X0, X1, sumQuad); \
	ADDQ  $16, DX;                       \
pair: \
	TESTB $2, AX;                        \
	JEQ   single;                        \
	SUM(PAIR, PAIR, X0, X1, sumPair);    \
	ADDQ  $8, DX;                        \
single: \
	TESTB $1, AX;                        \
	JEQ   rowDone;                       \
	SUM(SINGLE, SINGLE, X0, X1, sumSingle)

// func addBatchesAVX2(a *batchArgs)
// for p := range dst { for b := range batches { dst[p] += src[b*len(dst)+p] } }
TEXT ·addBatchesAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	BATCHES_BEGIN(32)
	BATCH_ROWS(BATCH_TAIL_AVX2, 32, Y0, Y1, Y2, Y3)
	VZEROUPPER
	RET

// AVX-512

// END_ROWS does rows of more than shortColumns and up to endColumns as SHORT_ROWS does shorter ones, where rowArgs.ends has it
// so: with two or four vectors at the left end and one to four at the right. tuning.Halves and hasEnds have the figures.

#define BODY48(KERNEL, OUT) \
	KERNEL(VECTOR, LATER, Z15, 0, CX, Z4, Z5);  \
	KERNEL(VECTOR, LATER, Z15, 0, DX, Z0, Z1);  \
	KERNEL(VECTOR, LATER, Z15, 64, DX, Z2, Z3); \
	VMOVUPS Z4, (OUT)(CX*1);                    \
	VMOVUPS Z0, (OUT);                          \
	VMOVUPS Z2, 64(OUT)

#define BODY64(KERNEL, OUT) FOUR_ENDS(KERNEL, OUT, 64, Z15, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)

#define LEFT_FOUR(KERNEL) \
	KERNEL(VECTOR, LATER, Z15, 128, DX, Z2, Z8);  \
	KERNEL(VECTOR, LATER, Z15, 0, DX, Z0, Z9);    \
	KERNEL(VECTOR, LATER, Z15, 192, DX, Z3, Z10); \
	KERNEL(VECTOR, LATER, Z15, 64, DX, Z1, Z11)

#define PUT_LEFT_FOUR(OUT) \
	VMOVUPS Z2, 128(OUT); \
	VMOVUPS Z0, (OUT);    \
	VMOVUPS Z3, 192(OUT); \
	VMOVUPS Z1, 64(OUT)

#define BODY96(KERNEL, OUT) \
	LEFT_FOUR(KERNEL);                           \
	KERNEL(VECTOR, LATER, Z15, 64, CX, Z5, Z12); \
	KERNEL(VECTOR, LATER, Z15, 0, CX, Z4, Z13);  \
	PUT_LEFT_FOUR(OUT);                          \
	VMOVUPS Z5, 64(OUT)(CX*1);                   \
	VMOVUPS Z4, (OUT)(CX*1)

#define BODY128(KERNEL, OUT) \
	LEFT_FOUR(KERNEL);                            \
	KERNEL(VECTOR, LATER, Z15, 128, CX, Z6, Z12); \
	KERNEL(VECTOR, LATER, Z15, 0, CX, Z4, Z13);   \
	KERNEL(VECTOR, LATER, Z15, 192, CX, Z7, Z14); \
	KERNEL(VECTOR, LATER, Z15, 64, CX, Z5, Z16);  \
	PUT_LEFT_FOUR(OUT);                           \
	VMOVUPS Z6, 128(OUT)(CX*1);                   \
	VMOVUPS Z4, (OUT)(CX*1);                      \
	VMOVUPS Z7, 192(OUT)(CX*1);                   \
	VMOVUPS Z5, 64(OUT)(CX*1)

#define LINES128(row) LINES7(row); ONE_MORE(192, 448, row)

#define LINES96_LINEAR(row) \
	LINES96(row);                     \
	CMPB rowArgs_leaveLinear(BX), $0; \
	JNE  7(PC);                       \
	FOUR_LINEAR;                      \
	LINEAR(256);                      \
	LINEAR(320)

#define LINES128_LINEAR(row) \
	LINES128(row);                    \
	CMPB rowArgs_leaveLinear(BX), $0; \
	JNE  9(PC);                       \
	FOUR_LINEAR;                      \
	LINEAR(256);                      \
	LINEAR(320);                      \
	LINEAR(384);                      \
	LINEAR(448)

#define END_ROWS(KERNEL, OUT, BEGIN, FIRST, NEXT) \
	CMPB rowArgs_ends(BX), $0;         \
	JEQ  row;                          \
	CMPQ AX, $const_endColumns;        \
	JGT  row;                          \
	SHORT_BEGIN(BEGIN);                \
	CMPQ AX, $96;                      \
	JGT  upTo128;                      \
	CMPQ AX, $64;                      \
	JGT  upTo96;                       \
	CMPQ AX, $48;                      \
	JGT  upTo64;                       \
	SUBQ $64, CX;                      \
	SHORT_LOOPS(KERNEL, BODY48, OUT, FIRST, NEXT, LINES3, 63, farNarrow48, farWide48, astride48, astrideNarrow48, astrideWide48, near48, narrow48, wide48); \
upTo64: \
	SUBQ $128, CX;                     \
	SHORT_LOOPS(KERNEL, BODY64, OUT, FIRST, NEXT, LINES4, 127, farNarrow64, farWide64, astride64, astrideNarrow64, astrideWide64, near64, narrow64, wide64); \
upTo96: \
	SUBQ $128, CX;                     \
	SHORT_LOOPS(KERNEL, BODY96, OUT, FIRST, NEXT, LINES96_LINEAR, 127, farNarrow96, farWide96, astride96, astrideNarrow96, astrideWide96, near96, narrow96, wide96); \
upTo128: \
	SUBQ $256, CX;                     \
	SHORT_LOOPS(KERNEL, BODY128, OUT, FIRST, NEXT, LINES128_LINEAR, 255, farNarrow128, farWide128, astride128, astrideNarrow128, astrideWide128, near128, narrow128, wide128)

// ROWS_AVX512 and EMBED_ROWS_AVX512 are all of a kernel but its result.

#define ROWS_AVX512(KERNEL, OUT) \
	BEGIN_AVX512;                    \
	END_ROWS(KERNEL, OUT, STRIDE, NOTHING, STRIDE_NEXT); \
row: \
	ROW_ABREAST;                     \
	COLUMNS_AVX512(KERNEL);          \
	ROWS_END

#define EMBED_ROWS_AVX512 \
	BEGIN_AVX512;                                \
	POSITIONS_BEGIN;                             \
	END_ROWS(EMBED, DI, NOTHING, POSITION, POSITION_STRIDE_NEXT); \
row: \
	ROW_ABREAST;                                 \
	POSITION;                                    \
	COLUMNS_AVX512(EMBED);                       \
	POSITION_NEXT;                               \
	ROWS_END

// func gatherAVX512(a *rowArgs) (done int)
// for i, id := range ids { copy(linear[i], table[id]) }
TEXT ·gatherAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherNearAVX512<>)
	ROWS_AVX512(GATHER, DI)
	MOVQ R9, done+8(FP)
	RET

// func gatherScaledAVX512(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] }
TEXT ·gatherScaledAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherScaledNearAVX512<>)
	ROWS_AVX512(GATHER_SCALED, DI)
	MOVQ R9, done+8(FP)
	RET

// func gatherSumAVX512(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = 0 + table[id] }
TEXT ·gatherSumAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherSumNearAVX512<>)
	ROWS_AVX512(GATHER_SUM, DI)
	MOVQ R9, done+8(FP)
	RET

// func scatterAddAVX512(a *rowArgs) (done int)
// for i, id := range ids { table[id] += scale * linear[i] }
TEXT ·scatterAddAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·scatterAddNearAVX512<>)
	ROWS_AVX512(ADD_SCALED, R10)
	MOVQ R9, done+8(FP)
	RET

// func embedAVX512(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] + positions[p(i)] }
TEXT ·embedAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·embedNearAVX512<>)
	EMBED_ROWS_AVX512
	MOVQ R9, done+8(FP)
	RET

// func bagMaxBackwardAVX512(a *rowArgs) (done int)
// for i, id := range ids { for j, x := range table[id] { linear[i][j], left[i][j] = left[i][j], 0, or 0 if x != maxima[i][j] } }
TEXT ·bagMaxBackwardAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	BEGIN_AVX512
row:
	ROW
	POSITION
	LEFT_BEGIN
	COLUMNS_AVX512(TERM_AVX512)
	LEFT_END
	ROWS_END
	MOVQ R9, done+8(FP)
	RET

// func gatherWindowAVX512(a *rowArgs) (done int)
// for i, id := range ids { copy(linear[i], table[id]) }
TEXT ·gatherWindowAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	BEGIN_AVX512
row:
	ROW_WINDOW
	COLUMNS_WINDOW_AVX512(GATHER)
	ROWS_END
	MOVQ R9, done+8(FP)
	RET

// func scatterAddWindowAVX512(a *rowArgs) (done int)
// for i, id := range ids { table[id] += scale * linear[i] }
TEXT ·scatterAddWindowAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	BEGIN_AVX512
row:
	ROW_WINDOW
	COLUMNS_WINDOW_AVX512(ADD_SCALED)
	ROWS_END
	MOVQ R9, done+8(FP)
	RET

// The stream kernels need linear rows that begin at multiples of 64 bytes and have whole vectors.

#define STREAM_ROWS_AVX512(KERNEL) \
	BEGIN_AVX512;                  \
row: \
	ROW_STREAM_ABREAST;            \
	COLUMNS_STREAM_AVX512(KERNEL); \
	STREAM_END

#define EMBED_STREAM_ROWS_AVX512 \
	BEGIN_AVX512;                 \
	POSITIONS_BEGIN;              \
row: \
	ROW_STREAM_ABREAST;           \
	POSITION;                     \
	COLUMNS_STREAM_AVX512(EMBED); \
	POSITION_NEXT;                \
	STREAM_END

// func gatherStreamAVX512(a *rowArgs) (done int)
// for i, id := range ids { copy(linear[i], table[id]) }
TEXT ·gatherStreamAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherStreamNearAVX512<>)
	STREAM_ROWS_AVX512(GATHER)
	RET

// func gatherScaledStreamAVX512(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] }
TEXT ·gatherScaledStreamAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherScaledStreamNearAVX512<>)
	STREAM_ROWS_AVX512(GATHER_SCALED)
	RET

// func gatherSumStreamAVX512(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = 0 + table[id] }
TEXT ·gatherSumStreamAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·gatherSumStreamNearAVX512<>)
	STREAM_ROWS_AVX512(GATHER_SUM)
	RET

// func embedStreamAVX512(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] + positions[p(i)] }
TEXT ·embedStreamAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·embedStreamNearAVX512<>)
	EMBED_STREAM_ROWS_AVX512
	RET

// The uneven kernels do rows that begin or end within a line: whole lines are written past the caches, the parts at both ends with masks
// as others are. UNEVEN does one such row, of 16 columns or more whose elements do not reach from one line into the next. Its first
// part may take so much of it that there is a block less, and with it the last lines that come abreast, which then come here (x 450:
// 0.92 to 1.00 of the time).

#define UNEVEN(KERNEL) \
	MOVQ  DI, DX;                    \
	NEGQ  DX;                        \
	ANDQ  $63, DX;                   \
	MOVQ  DX, rowArgs_head(BX);      \
	SHRQ  $2, DX;                    \
	MOVQ  DX, AX;                    \
	JEQ   even;                      \
	MASK;                            \
	XORL  DX, DX;                    \
	KERNEL(MASKED_LOAD, MASKED_STORE, Z15, 0, DX, Z0, Z1); \
	MOVQ  rowArgs_head(BX), DX;      \
	ADDQ  DX, R10;                   \
	ADDQ  DX, R11;                   \
	ADDQ  DX, DI;                    \
	TESTQ R12, R12;                  \
	JEQ   even;                      \
	CMPB  rowArgs_abreast(BX), $0;   \
	JNE   fours;                     \
	PREFETCH (R12);                  \
	ADDQ  DX, R12;                   \
	JMP   even;                      \
fours: \
	TESTL $48, rowArgs_cols(BX);     \
	JNE   even;                      \
	LINES_ABREAST;                   \
even: \
	NEGQ  AX;                        \
	ADDQ  rowArgs_cols(BX), AX;      \
	MASK;                            \
	SPLIT(64);                       \
	COLUMNS_STREAM_AVX512(KERNEL);   \
	SUBQ  rowArgs_head(BX), R11;     \
	SUBQ  rowArgs_head(BX), DI

#define UNEVEN_ROWS(KERNEL) \
	BEGIN_AVX512;       \
row: \
	ROW_STREAM_ABREAST; \
	UNEVEN(KERNEL);     \
	STREAM_END

#define EMBED_UNEVEN_ROWS \
	BEGIN_AVX512;       \
	POSITIONS_BEGIN;    \
row: \
	ROW_STREAM_ABREAST; \
	POSITION;           \
	UNEVEN(EMBED);      \
	POSITION_NEXT;      \
	STREAM_END

// func gatherUnevenAVX512(a *rowArgs) (done int)
// for i, id := range ids { copy(linear[i], table[id]) }
TEXT ·gatherUnevenAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	UNEVEN_ROWS(GATHER)
	RET

// func gatherScaledUnevenAVX512(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] }
TEXT ·gatherScaledUnevenAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	UNEVEN_ROWS(GATHER_SCALED)
	RET

// func gatherSumUnevenAVX512(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = 0 + table[id] }
TEXT ·gatherSumUnevenAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	UNEVEN_ROWS(GATHER_SUM)
	RET

// func embedUnevenAVX512(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] + positions[p(i)] }
TEXT ·embedUnevenAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	EMBED_UNEVEN_ROWS
	RET

// STORE_SUM adds to the sum of the row too, and so does STORE_SUM_PART at its end.

#define STORE_SUM(from, to) \
	VMOVUPS from, to; \
	VADDPS  from, Z16, Z16

#define STORE_SUM_PART(from, to) \
	VMOVUPS from, K1, to; \
	VADDPS  from, Z16, K1, Z16

#define TAIL_SUM(KERNEL, cols) \
	KERNEL(MASKED_LOAD, STORE_SUM_PART, Z15, 0, DX, Z0, Z1)

#define EMBED_ADD_ROWS \
	BEGIN_AVX512;              \
	POSITIONS_BEGIN;           \
row: \
	ROW;                       \
	POSITION;                  \
	ADD;                       \
	VXORPS Z16, Z16, Z16;      \
	COLUMNS(EMBED_ADD, STORE_SUM, IN_ORDER, FOUR_LINES, LAST, LEFT2(AX), LINEAR4, AHEAD_FOUR, LONG_LINES, TAIL_SUM, AX, 64, Z15, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7); \
	MOVQ R9, DX;               \
	SHLQ $6, DX;               \
	ADDQ sumArgs_sums(BX), DX; \
	VMOVUPS Z16, (DX);         \
	ADD_NEXT;                  \
	POSITION_NEXT;             \
	ROWS_END

// func embedAddAVX512(a *sumArgs) (done int)
// for i, id := range ids {
//	linear[i] = scale * table[id] + positions[p(i)] + add[q(i)]
//	clear(sums[i]); for j, x := range linear[i] { sums[i][j%16] += x }
// }
TEXT ·embedAddAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·embedAddNearAVX512<>)
	EMBED_ADD_ROWS
	MOVQ R9, done+8(FP)
	RET

// func addScaledAVX512(dst, src *float32, n int, alpha float32)
// for i, x := range src { dst[i] += alpha * x }
TEXT ·addScaledAVX512(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), R10
	MOVQ src+8(FP), DI
	MOVQ n+16(FP), AX
	VBROADCASTSS alpha+24(FP), Z15
	MASK
	LONE_ROW(64)
	COLUMNS_AVX512(ADD_SCALED)
	VZEROUPPER
	RET

// func scaleRowAVX512(dst, src *float32, n int, scale float32)
// for i, x := range src { dst[i] = scale * x }
TEXT ·scaleRowAVX512(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), R10
	MOVQ n+16(FP), AX
	VBROADCASTSS scale+24(FP), Z15
	MASK
	LONE_ROW(64)
	COLUMNS_AVX512(GATHER_SCALED)
	VZEROUPPER
	RET

// func embedRowAVX512(dst, src, positions *float32, n int, scale float32)
// for i, x := range src { dst[i] = scale * x + positions[i] }
TEXT ·embedRowAVX512(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), R10
	MOVQ positions+16(FP), R11
	MOVQ n+24(FP), AX
	VBROADCASTSS scale+32(FP), Z15
	MASK
	LONE_ROW(64)
	COLUMNS_AVX512(EMBED)
	VZEROUPPER
	RET

#define BATCH_TAIL_AVX512 \
	TESTB $15, AX;     \
	JEQ   rowDone;     \
	SUM(MASKED_LOAD, MASKED_STORE, Z0, Z1, sumTail)

// func addBatchesAVX512(a *batchArgs)
// for p := range dst { for b := range batches { dst[p] += src[b*len(dst)+p] } }
TEXT ·addBatchesAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	BATCHES_BEGIN(64)
	MOVQ CX, R8
	MASK
	MOVQ R8, CX
	BATCH_ROWS(BATCH_TAIL_AVX512, 64, Z0, Z1, Z2, Z3)
	VZEROUPPER
	RET

// Near kernels: see NEAR in rows_amd64.h. BX has the arguments.

#undef PREFETCH
#define PREFETCH PREFETCHT0

TEXT ·gatherNearAVX2<>(SB), NOSPLIT, $0-16
	ROWS_AVX2(GATHER, DI, FOUR_ROWS)
	MOVQ R9, done+8(FP)
	RET

TEXT ·gatherScaledNearAVX2<>(SB), NOSPLIT, $0-16
	ROWS_AVX2(GATHER_SCALED, DI, FOUR_ROWS)
	MOVQ R9, done+8(FP)
	RET

TEXT ·gatherSumNearAVX2<>(SB), NOSPLIT, $0-16
	ROWS_AVX2(GATHER_SUM, DI, FOUR_ROWS)
	MOVQ R9, done+8(FP)
	RET

TEXT ·scatterAddNearAVX2<>(SB), NOSPLIT, $0-16
	ROWS_AVX2(ADD_SCALED, R10, NO_FOURS)
	MOVQ R9, done+8(FP)
	RET

TEXT ·embedNearAVX2<>(SB), NOSPLIT, $0-16
	EMBED_ROWS_AVX2
	MOVQ R9, done+8(FP)
	RET

TEXT ·gatherStreamNearAVX2<>(SB), NOSPLIT, $0-16
	STREAM_ROWS_AVX2(GATHER)
	RET

TEXT ·gatherScaledStreamNearAVX2<>(SB), NOSPLIT, $0-16
	STREAM_ROWS_AVX2(GATHER_SCALED)
	RET

TEXT ·gatherSumStreamNearAVX2<>(SB), NOSPLIT, $0-16
	STREAM_ROWS_AVX2(GATHER_SUM)
	RET

TEXT ·embedStreamNearAVX2<>(SB), NOSPLIT, $0-16
	EMBED_STREAM_ROWS_AVX2
	RET

TEXT ·gatherNearAVX512<>(SB), NOSPLIT, $0-16
	ROWS_AVX512(GATHER, DI)
	MOVQ R9, done+8(FP)
	RET

TEXT ·gatherScaledNearAVX512<>(SB), NOSPLIT, $0-16
	ROWS_AVX512(GATHER_SCALED, DI)
	MOVQ R9, done+8(FP)
	RET

TEXT ·gatherSumNearAVX512<>(SB), NOSPLIT, $0-16
	ROWS_AVX512(GATHER_SUM, DI)
	MOVQ R9, done+8(FP)
	RET

TEXT ·scatterAddNearAVX512<>(SB), NOSPLIT, $0-16
	ROWS_AVX512(ADD_SCALED, R10)
	MOVQ R9, done+8(FP)
	RET

TEXT ·embedNearAVX512<>(SB), NOSPLIT, $0-16
	EMBED_ROWS_AVX512
	MOVQ R9, done+8(FP)
	RET

TEXT ·gatherStreamNearAVX512<>(SB), NOSPLIT, $0-16
	STREAM_ROWS_AVX512(GATHER)
	RET

TEXT ·gatherScaledStreamNearAVX512<>(SB), NOSPLIT, $0-16
	STREAM_ROWS_AVX512(GATHER_SCALED)
	RET

TEXT ·gatherSumStreamNearAVX512<>(SB), NOSPLIT, $0-16
	STREAM_ROWS_AVX512(GATHER_SUM)
	RET

TEXT ·embedStreamNearAVX512<>(SB), NOSPLIT, $0-16
	EMBED_STREAM_ROWS_AVX512
	RET

TEXT ·embedAddNearAVX512<>(SB), NOSPLIT, $0-16
	EMBED_ADD_ROWS
	MOVQ R9, done+8(FP)
	RET
