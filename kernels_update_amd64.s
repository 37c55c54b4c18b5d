//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"
#include "shortrows_amd64.h"

// Updates walk the rows of updateArgs, which begins with rowArgs: grad are the rows in their order, or those that places say.
// Each row has blocks of 16 columns, with AVX2 two vectors, and a tail: with AVX2 8, 4, 2 and 1 columns, by the bits of the
// number of columns; with AVX-512 one masked vector.
//
// Registers that differ from those of other row kernels:
//	R10  row of the table              R12  row of the table to prefetch, or 0
//	R11  row of the first state        R13  row of the first state to prefetch, or how far it is from R12
//	SI   row of the second state       AX   row of the second state to prefetch, or how far it is from R12
//	CX   bytes of the row in blocks    R8   row of grad to prefetch, or ids
//	Y11 to Y15, Z11 to Z15  constants in every lane

// STATE finds the row of a state that belongs to an id, which has been checked or is only there to be prefetched.
#define STATE(id, base, stride, to) \
	MOVQ  id, to;          \
	IMULQ stride(BX), to; \
	ADDQ  base(BX), to

#define FIRST(id, to) STATE(id, updateArgs_first, updateArgs_firstStride, to)
#define SECOND(id, to) STATE(id, updateArgs_second, updateArgs_secondStride, to)
#define NONE(id, to)

// UPDATE_ROW finds the next rows, and those to prefetch while they are done, but where MANY has found them.
#define UPDATE_ROW(STATE1, STATE2, MANY) \
	MOVQ rowArgs_ids(BX), R8;           \
	PLACE(R9, DI, inOrder);             \
	ROW_ID;                             \
	STATE1(R10, R11);                   \
	STATE2(R10, SI);                    \
	IMULQ rowArgs_tableStride(BX), R10; \
	ADDQ  rowArgs_table(BX), R10;       \
	MANY;                               \
	XORL  R12, R12;                     \
	ID_AHEAD(rowArgs_ahead, found);     \
	STATE1(R12, R13);                   \
	STATE2(R12, AX);                    \
	IMULQ rowArgs_tableStride(BX), R12; \
	ADDQ  rowArgs_table(BX), R12;       \
	LEAQ  const_linearAhead(DI), R8;    \
	PLACE(DX, R8, found)

// PLACE finds in row that of grad for id number pos, or goes on at inOrder, with row as it was, if there are no places.
#define PLACE(pos, row, inOrder) \
	CMPQ  updateArgs_places(BX), $0;     \
	JEQ   inOrder;                       \
	MOVQ  updateArgs_places(BX), row;    \
	MOVQ  (row)(pos*8), row;             \
	IMULQ rowArgs_linearStride(BX), row; \
	ADDQ  rowArgs_linear(BX), row;       \
inOrder:

// UPDATE_ROWS is all of an update but for its result.
#define UPDATE_ROWS(BEGIN, STATE1, STATE2, MANY, COLUMNS) \
	BEGIN;                            \
row: \
	UPDATE_ROW(STATE1, STATE2, MANY); \
	COLUMNS;                          \
	ROWS_END

// What is prefetched of rows to come, off bytes behind DX: lines of one, two or three matrices by ids.

#define AHEAD1(off) \
	PREFETCH off(R12)(DX*1)

#define AHEAD2(off) \
	AHEAD1(off);              \
	PREFETCH off(R13)(DX*1)

#define AHEAD3(off) \
	AHEAD2(off);             \
	PREFETCH off(AX)(DX*1)

// What an update does to one vector of a row, off bytes behind DX, in registers v0 to v3; STORE gets the results.

#define UPDATE_SGD(LOAD, STORE, off, v0, v1, v2, v3, rate, epsilon, meanWeight, squareWeight, keep) \
	LOAD(off(DI)(DX*1), v0);  \
	LOAD(off(R10)(DX*1), v1); \
	VMULPS keep, v1, v2;      \
	VADDPS v2, v0, v0;        \
	VMULPS rate, v0, v0;      \
	VADDPS v0, v1, v1;        \
	STORE(v1, off(R10)(DX*1))

#define UPDATE_ADAGRAD(LOAD, STORE, off, v0, v1, v2, v3, rate, epsilon, meanWeight, squareWeight, keep) \
	LOAD(off(DI)(DX*1), v0);   \
	LOAD(off(R11)(DX*1), v1);  \
	VMULPS  v0, v0, v2;        \
	VADDPS  v2, v1, v1;        \
	STORE(v1, off(R11)(DX*1)); \
	VSQRTPS v1, v1;            \
	VADDPS  epsilon, v1, v1;   \
	VDIVPS  v1, v0, v0;        \
	VMULPS  rate, v0, v0;      \
	LOAD(off(R10)(DX*1), v2);  \
	VADDPS  v0, v2, v2;        \
	STORE(v2, off(R10)(DX*1))

#define UPDATE_ADAM(LOAD, STORE, off, v0, v1, v2, v3, rate, epsilon, meanWeight, squareWeight, keep) \
	LOAD(off(DI)(DX*1), v0);      \
	LOAD(off(R11)(DX*1), v1);     \
	LOAD(off(SI)(DX*1), v2);      \
	VSUBPS  v1, v0, v3;           \
	VMULPS  meanWeight, v3, v3;   \
	VADDPS  v3, v1, v1;           \
	STORE(v1, off(R11)(DX*1));    \
	VMULPS  v0, v0, v0;           \
	VSUBPS  v2, v0, v0;           \
	VMULPS  squareWeight, v0, v0; \
	VADDPS  v0, v2, v2;           \
	STORE(v2, off(SI)(DX*1));     \
	VSQRTPS v2, v2;               \
	VADDPS  epsilon, v2, v2;      \
	VDIVPS  v2, v1, v1;           \
	VMULPS  rate, v1, v1;         \
	LOAD(off(R10)(DX*1), v3);     \
	VMULPS  keep, v3, v3;         \
	VADDPS  v1, v3, v3;           \
	STORE(v3, off(R10)(DX*1))

// UPDATE_COLUMNS does one row; TAIL does what is behind its blocks of 64 bytes. Where there is a row to prefetch, there is no loop
// up to 512 columns: a processor watches each instruction that loads, and where it comes by again a constant distance on, fetches
// what would be next, which is behind the row and of no use. The first four blocks are done in the order of MIXED in rows_amd64.h.
// Of grad, a stream with or without gaps, the processor fetches enough itself where rowArgs.leaveLinear is set. In loops, by
// fours of rows of up to mixedBytes and one by one of others, with grad prefetched and 48 columns by AVX2, and so, on a Zen 5
// with AVX-512, uniform ids, ns per row, medians of 21 interleaved rounds:
//
//	table, ids                   SGD        Adagrad    Adam
//	1,000,000 x 40    8,192    9.19 8.49  19.4 17.8  29.1 27.6
//	1,000,000 x 48    8,192    12.5 8.10  23.1 15.8  34.5 24.2
//	1,000,000 x 64    8,192    11.7 10.3  22.8 22.0  32.5 33.7
//	1,000,000 x 96    8,192    20.9 17.8  40.2 36.2  64.8 59.9
//	1,000,000 x 128   8,192    35.2 27.6  62.4 53.9   102 91.7
//	  200,000 x 200   4,096    48.7 38.7  86.3 76.8   134  121
//	  200,000 x 300   4,096    71.3 59.4   129  119   190  192
//	  200,000 x 512   4,096     127  119   204  191   308  296
//	   50,257 x 768     128     103 97.7   276  232   412  377
//	   50,257 x 768   2,048     183  155   320  282   448  402
//	   50,257 x 1024  2,048     277  228   416  367   559  522
//
// Of rows to come, the line of the last column is prefetched too, where they may straddle one more, and of a tail what is within a line
// behind its first column: Adagrad of 1,000,000 x 30 on a Zen 4, 89.9 and 35.9. Rows of whole lines may, too, in tables that begin within
// a line: on a Xeon, with AVX-512 and AVX2, times with that over those without, medians of 15 and 11 interleaved rounds:
//
//	2,000,000 x 16    8,192    0.58 0.53  0.61 0.60  0.71 0.72
//	1,000,000 x 64    8,192    0.83 1.02  0.81 0.83  0.86 0.86
//	1,000,000 x 128   8,192    0.95 1.03  0.82 0.91  0.85 0.91
//	  400,000 x 256   4,096    0.96 1.05  0.96 0.91  0.94 0.91
//
// Rows that come abreast are left without (of 50,257 x 768, 100,000 x 512 and 50,257 x 2,048 0.98 to 1.07), since it takes four lines more.
#define UPDATE_COLUMNS(UPDATE, BLOCK, AHEAD, TAIL, MANY) \
	XORL  DX, DX;                                \
	SUBQ  $192, CX;                              \
	TESTQ R12, R12;                              \
	JNE   ahead;                                 \
	CMPQ  DX, CX;                                \
	JGE   nearOnes;                              \
	PCALIGN $64;                                 \
nearFours: \
	FOUR(UPDATE, BLOCK, 0, 64, 128, 192);        \
	CMPQ  DX, CX;                                \
	JLT   nearFours;                             \
nearOnes: \
	ADDQ  $192, CX;                              \
	CMPQ  DX, CX;                                \
	JGE   nearDone;                              \
near: \
	BLOCK(UPDATE, 0);                            \
	ADDQ  $64, DX;                               \
	CMPQ  DX, CX;                                \
	JLT   near;                                  \
nearDone: \
	TESTB $15, rowArgs_cols(BX);                 \
	JNE   tail;                                  \
	JMP   columnsDone;                           \
	PCALIGN $64;                                 \
ahead: \
	MANY;                                        \
	UPDATE_FOUR(UPDATE, BLOCK, AHEAD, 128, 0, 192, 64, four0); \
	UPDATE_FOUR(UPDATE, BLOCK, AHEAD, 0, 64, 128, 192, four1); \
	UPDATE_FOUR(UPDATE, BLOCK, AHEAD, 0, 64, 128, 192, four2); \
	UPDATE_FOUR(UPDATE, BLOCK, AHEAD, 0, 64, 128, 192, four3); \
	UPDATE_FOUR(UPDATE, BLOCK, AHEAD, 0, 64, 128, 192, four4); \
	UPDATE_FOUR(UPDATE, BLOCK, AHEAD, 0, 64, 128, 192, four5); \
	UPDATE_FOUR(UPDATE, BLOCK, AHEAD, 0, 64, 128, 192, four6); \
	UPDATE_FOUR(UPDATE, BLOCK, AHEAD, 0, 64, 128, 192, four7); \
	JMP   ahead;                                 \
ones: \
	ADDQ  $192, CX;                              \
	UPDATE_ONE(UPDATE, BLOCK, AHEAD, one0);      \
	UPDATE_ONE(UPDATE, BLOCK, AHEAD, one1);      \
	UPDATE_ONE(UPDATE, BLOCK, AHEAD, one2);      \
onesDone: \
	TESTB $15, rowArgs_cols(BX);                 \
	JNE   part;                                  \
	CMPB  rowArgs_straddle(BX), $0;              \
	JEQ   columnsDone;                           \
	AHEAD(-4);                                   \
	JMP   columnsDone;                           \
part: \
	AHEAD(0);                                    \
	CMPB  rowArgs_straddle(BX), $0;              \
	JEQ   within;                                \
	AHEAD(60);                                   \
within: \
	GRAD_AHEAD(GRAD(0), tail);                   \
	TAIL(UPDATE);                                \
columnsDone:

#define UPDATE_FOUR(UPDATE, BLOCK, AHEAD, i0, i1, i2, i3, near) \
	CMPQ  DX, CX;      \
	JGE   ones;        \
	AHEAD(0);          \
	AHEAD(64);         \
	AHEAD(128);        \
	AHEAD(192);        \
	GRAD_AHEAD(GRAD(0); GRAD(64); GRAD(128); GRAD(192), near); \
	FOUR(UPDATE, BLOCK, i0, i1, i2, i3)

#define FOUR(UPDATE, BLOCK, i0, i1, i2, i3) \
	BLOCK(UPDATE, i0); \
	BLOCK(UPDATE, i1); \
	BLOCK(UPDATE, i2); \
	BLOCK(UPDATE, i3); \
	ADDQ  $256, DX

#define UPDATE_ONE(UPDATE, BLOCK, AHEAD, near) \
	CMPQ  DX, CX;              \
	JGE   onesDone;            \
	AHEAD(0);                  \
	GRAD_AHEAD(GRAD(0), near); \
	BLOCK(UPDATE, 0);          \
	ADDQ  $64, DX

#define GRAD(off) PREFETCH off(R8)(DX*1)

#define GRAD_AHEAD(LINES, near) \
	CMPB rowArgs_leaveLinear(BX), $0; \
	JNE  near;                        \
	LINES;                            \
near:

// UPDATE_ABREAST is what is in front of UPDATE_COLUMNS where rows come four abreast (ROW_ABREAST in rows_amd64.h): R12 goes along
// their lines, from which those of the states are R13 and AX away, as STATES_ABREAST finds, since all have the same stride then. Such
// rows have a block or more.

#define UPDATE_ABREAST(UPDATE, BLOCK, ALSO) \
	CMPB rowArgs_abreast(BX), $0;                        \
	JEQ  one;                                            \
foursAbreast: \
	MANY_ABREAST(ALSO);                                  \
	FOUR(UPDATE, BLOCK, 0, 64, 128, 192);                \
	CMPQ DX, CX;                                         \
	JLT  foursAbreast;                                   \
	TESTB $63, rowArgs_cols(BX);                         \
	JEQ  nearOnes;                                       \
	MANY_ABREAST(ALSO);                                  \
	JMP  nearOnes;                                       \
one:

#define STATES_ABREAST \
	CMPB rowArgs_abreast(BX), $0;     \
	JEQ  alone;                       \
	MOVQ updateArgs_first(BX), R13;   \
	SUBQ rowArgs_table(BX), R13;      \
	MOVQ updateArgs_second(BX), AX;   \
	SUBQ rowArgs_table(BX), AX;       \
	NEXT_ABREAST;                     \
alone:

#define ALSO1 PREFETCH (R12)(R13*1)
#define ALSO2 ALSO1; PREFETCH (R12)(AX*1)

// CONSTANTS loads the constants into registers, and the bytes of a row in blocks.
#define CONSTANTS(c11, c12, c13, c14, c15) \
	VBROADCASTSS updateArgs_keep(BX), c11;         \
	VBROADCASTSS updateArgs_squareWeight(BX), c12; \
	VBROADCASTSS updateArgs_meanWeight(BX), c13;   \
	VBROADCASTSS updateArgs_epsilon(BX), c14;      \
	VBROADCASTSS updateArgs_rate(BX), c15;         \
	MOVQ rowArgs_cols(BX), CX;                     \
	SHLQ $2, CX;                                   \
	ANDQ $~63, CX

// AVX2

#define WIDE(UPDATE, LOAD, STORE, off) UPDATE(LOAD, STORE, off, Y0, Y1, Y2, Y3, Y15, Y14, Y13, Y12, Y11)
#define NARROW(UPDATE, LOAD, STORE, off) UPDATE(LOAD, STORE, off, X0, X1, X2, X3, X15, X14, X13, X12, X11)

#define UPDATE_BLOCK_AVX2(UPDATE, off) \
	WIDE(UPDATE, VECTOR, VECTOR, off);   \
	WIDE(UPDATE, VECTOR, VECTOR, off+32)

#define UPDATE_TAIL_AVX2(UPDATE) \
	TESTB $8, rowArgs_cols(BX);        \
	JEQ   quad;                        \
	WIDE(UPDATE, VECTOR, VECTOR, 0);   \
	ADDQ  $32, DX;                     \
quad: \
	TESTB $4, rowArgs_cols(BX);        \
	JEQ   pair;                        \
	NARROW(UPDATE, VECTOR, VECTOR, 0); \
	ADDQ  $16, DX;                     \
pair: \
	TESTB $2, rowArgs_cols(BX);        \
	JEQ   single;                      \
	NARROW(UPDATE, PAIR, PAIR, 0);     \
	ADDQ  $8, DX;                      \
single: \
	TESTB $1, rowArgs_cols(BX);        \
	JEQ   columnsDone;                 \
	NARROW(UPDATE, SINGLE, SINGLE, 0)

#define UPDATE_BEGIN_AVX2 \
	ROWS_BEGIN;                       \
	CONSTANTS(Y11, Y12, Y13, Y14, Y15)

#define UPDATE_COLUMNS_AVX2(UPDATE, AHEAD, ALSO) \
	UPDATE_COLUMNS(UPDATE, UPDATE_BLOCK_AVX2, AHEAD, UPDATE_TAIL_AVX2, UPDATE_ABREAST(UPDATE, UPDATE_BLOCK_AVX2, ALSO))

// ADD_PLACE finds the next rows to add, and in AX the row of grad to prefetch, if there is one, or else that of now.
#define ADD_PLACE(TABLE) \
	PLACE(R9, DI, inOrder);                \
	ROW_ID;                                \
	MOVQ  DI, AX;                          \
	MOVQ  updateArgs_placesAhead(BX), R12; \
	TESTQ R12, R12;                        \
	JEQ   known;                           \
	ADDQ  R9, R12;                         \
	CMPQ  R12, rowArgs_readable(BX);       \
	JGE   known;                           \
	PLACE(R12, AX, known);                 \
	TABLE

#define PLACE2 \
	CMPQ updateArgs_placesAhead(BX), $0; \
	JEQ  3(PC);                          \
	WINDOW2

// PLACED finds the row of grad that belongs to a row. Those that overlap come so, and are not prefetched. On a Zen 3, times of steps by a batch
// with plain SGD so over those without, medians of 3 processes, with 2,048 and 8,192 ids: 50,257 x 50 0.86 and 0.86, 50,257 x 64 0.87 and
// 0.90, 10,000 x 100 0.96 and 0.98, 1,000,000 x 50 0.87 and 0.84, 1,000,000 x 64 0.91 and 0.94, 400,000 x 100 0.94 and 0.89, 1,000,000 x 128
// 0.89 and 0.89; but x 8 and x 16 0.98 to 1.07.
#define PLACED \
	MOVQ  updateArgs_places(BX), R11;   \
	MOVQ  (R11)(R9*8), DI;              \
	IMULQ rowArgs_linearStride(BX), DI; \
	ADDQ  rowArgs_linear(BX), DI

#define ADD_ROWS_AVX2 \
	BEGIN_AVX2;                   \
	CMPQ AX, $const_shortColumns; \
	JLE  row;                     \
	CMPB rowArgs_overlap(BX), $0; \
	JEQ  row;                     \
	OVERLAP_ROWS(ADD_SCALED, R10, NOTHING, PLACED, NOTHING); \
row: \
	ADD_PLACE(TABLE_ABREAST; ROW_TABLE(WINDOW)); \
	COLUMNS(ADD_SCALED, VECTOR, MIXED, TWO_LINES, LAST_OF, LEFT1(rowArgs_cols(BX)), PLACE2, AHEAD_LOOP, LONG_ABREAST_AVX2, TAIL_AVX2, rowArgs_cols(BX), 32, Y15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7); \
	ROWS_END

// func updateAddAVX2(a *updateArgs) (done int)
// for i, id := range ids { table[id] += rate * grad[i] }
TEXT ·updateAddAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·updateAddNearAVX2<>)
	ADD_ROWS_AVX2
	MOVQ R9, done+8(FP)
	RET

// func updateSGDAVX2(a *updateArgs) (done int)
// for i, id := range ids { table[id] += rate * (grad[i] + keep*table[id]) }
TEXT ·updateSGDAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·updateSGDNearAVX2<>)
	UPDATE_ROWS(UPDATE_BEGIN_AVX2, NONE, NONE, STATES_ABREAST, UPDATE_COLUMNS_AVX2(UPDATE_SGD, AHEAD1, NOTHING))
	MOVQ R9, done+8(FP)
	RET

// func updateAdagradAVX2(a *updateArgs) (done int)
// for i, id := range ids { s[id] += grad[i]*grad[i]; table[id] += rate * (grad[i] / (sqrt(s[id]) + epsilon)) }
TEXT ·updateAdagradAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·updateAdagradNearAVX2<>)
	UPDATE_ROWS(UPDATE_BEGIN_AVX2, FIRST, NONE, STATES_ABREAST, UPDATE_COLUMNS_AVX2(UPDATE_ADAGRAD, AHEAD2, ALSO1))
	MOVQ R9, done+8(FP)
	RET

// func updateAdamAVX2(a *updateArgs) (done int)
// for i, id := range ids {
//	m[id] += (grad[i] - m[id]) * meanWeight; v[id] += (grad[i]*grad[i] - v[id]) * squareWeight
//	table[id] = keep*table[id] + rate * (m[id] / (sqrt(v[id]) + epsilon))
// }
TEXT ·updateAdamAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·updateAdamNearAVX2<>)
	UPDATE_ROWS(UPDATE_BEGIN_AVX2, FIRST, SECOND, STATES_ABREAST, UPDATE_COLUMNS_AVX2(UPDATE_ADAM, AHEAD3, ALSO2))
	MOVQ R9, done+8(FP)
	RET

// The row-wise update first adds up the squares of a row of grad, 16 lanes of them, with AVX-512 while it is at the row before;
// then it finds the factor of the row, and then adds the scaled row as a scatter-add does, with its registers. R11 is the sum of
// the row up to FACTOR.

// SUM finds the sum of the row whose id is in R10, and prefetches the one that belongs to the row prefetched.
#define SUM \
	MOVQ updateArgs_first(BX), DX;     \
	LEAQ (DX)(R10*4), R11;             \
	MOVQ rowArgs_ahead(BX), DX;        \
	ADDQ R9, DX;                       \
	CMPQ DX, rowArgs_readable(BX);     \
	JGE  sum;                          \
	ID(R8, rowArgs_wide(BX), DX, R12); \
	SUBQ R10, R12;                     \
	PREFETCH (R11)(R12*4);             \
sum:

// FACTOR adds the mean of the squares whose lanes are in Y0 to the sum of the row, and has rate/(root+epsilon) in X0.
#define FACTOR \
	SUM_OF_EIGHT;                           \
	VDIVSS    updateArgs_count(BX), X0, X0; \
	VADDSS    (R11), X0, X0;                \
	VMOVSS    X0, (R11);                    \
	VSQRTSS   X0, X0, X0;                   \
	VADDSS    updateArgs_epsilon(BX), X0, X0; \
	VMOVSS    updateArgs_rate(BX), X1;      \
	VDIVSS    X0, X1, X0

#define ROW_ADAGRAD_AVX2 \
	BEGIN_AVX2;                              \
	LAST_LANES_BEGIN(R12, DX);               \
	VMOVUPS (R12), Y13;                      \
	VMOVUPS 64(R12), Y14;                    \
row: \
	PLACE(R9, DI, inOrder);                  \
	ROW_ID;                                  \
	SUM;                                     \
	TABLE_ABREAST;                           \
	ROW_TABLE(LINEAR);                       \
	VXORPS Y0, Y0, Y0;                       \
	VXORPS Y1, Y1, Y1;                       \
	MOVL $64, DX;                            \
	CMPQ DX, CX;                             \
	JGT  squaresTail;                        \
	PCALIGN $64;                             \
squares: \
	VMOVUPS -64(DI)(DX*1), Y2;               \
	VMOVUPS -32(DI)(DX*1), Y3;               \
	VMULPS  Y2, Y2, Y2;                      \
	VMULPS  Y3, Y3, Y3;                      \
	VADDPS  Y2, Y0, Y0;                      \
	VADDPS  Y3, Y1, Y1;                      \
	ADDQ    $64, DX;                         \
	CMPQ    DX, CX;                          \
	JLE     squares;                         \
squaresTail: \
	TESTB   $8, AX;                          \
	JEQ     squaresFew;                      \
	VMOVUPS -64(DI)(DX*1), Y2;               \
	VMULPS  Y2, Y2, Y2;                      \
	VADDPS  Y2, Y0, Y0;                      \
	TESTB   $7, AX;                          \
	JEQ     squaresDone;                     \
	LAST_LANES(-32(DI)(AX*4), Y13, Y14, Y3); \
	VMULPS  Y3, Y3, Y3;                      \
	VADDPS  Y3, Y1, Y1;                      \
	JMP     squaresDone;                     \
squaresFew: \
	TESTB   $7, AX;                          \
	JEQ     squaresDone;                     \
	CMPQ    AX, $8;                          \
	JLT     squaresShort;                    \
	LAST_LANES(-32(DI)(AX*4), Y13, Y14, Y2); \
	JMP     squaresLast;                     \
squaresShort: \
	FOURS_OF(AX, DX);                        \
	FEW_LANES(DI, AX, DX, X2, Y2);           \
squaresLast: \
	VMULPS  Y2, Y2, Y2;                      \
	VADDPS  Y2, Y0, Y0;                      \
squaresDone: \
	VADDPS Y1, Y0, Y0;                       \
	FACTOR;                                  \
	VBROADCASTSS X0, Y15;                    \
	COLUMNS_AVX2(ADD_SCALED);                \
	ROWS_END

// func updateRowAdagradAVX2(a *updateArgs) (done int)
// for i, id := range ids { s[id] += mean(grad[i]*grad[i]); table[id] += rate/(sqrt(s[id])+epsilon) * grad[i] }
// Y0 and Y1 are the lanes of the squares. Y13 has those of what is left of a row behind its eights, and Y14 where they are
// among the last 8 columns.
TEXT ·updateRowAdagradAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·updateRowAdagradNearAVX2<>)
	ROW_ADAGRAD_AVX2
	MOVQ R9, done+8(FP)
	RET

// AVX-512

#define UPDATE_BLOCK_AVX512(UPDATE, off) UPDATE(VECTOR, VECTOR, off, Z0, Z1, Z2, Z3, Z15, Z14, Z13, Z12, Z11)
#define UPDATE_TAIL_AVX512(UPDATE) UPDATE(MASKED_LOAD, MASKED_STORE, 0, Z0, Z1, Z2, Z3, Z15, Z14, Z13, Z12, Z11)

#define UPDATE_BEGIN_AVX512 \
	ROWS_BEGIN;                          \
	MOVQ rowArgs_cols(BX), AX;           \
	MASK;                                \
	CONSTANTS(Z11, Z12, Z13, Z14, Z15)

#define UPDATE_COLUMNS_AVX512(UPDATE, AHEAD, ALSO) \
	UPDATE_COLUMNS(UPDATE, UPDATE_BLOCK_AVX512, AHEAD, UPDATE_TAIL_AVX512, UPDATE_ABREAST(UPDATE, UPDATE_BLOCK_AVX512, ALSO))

#define PLACE4 \
	CMPQ updateArgs_placesAhead(BX), $0; \
	JEQ  5(PC);                          \
	WINDOW4

#define ADD_ROWS_AVX512 \
	BEGIN_AVX512;                                \
row: \
	ADD_PLACE(TABLE_ABREAST; ROW_TABLE(WINDOW)); \
	COLUMNS(ADD_SCALED, VECTOR, MIXED, FOUR_LINES, LAST_OF, LEFT2(rowArgs_cols(BX)), PLACE4, AHEAD_FOUR, LONG_ABREAST, TAIL_AVX512, rowArgs_cols(BX), 64, Z15, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7); \
	ROWS_END

// func updateAddAVX512(a *updateArgs) (done int)
// for i, id := range ids { table[id] += rate * grad[i] }
TEXT ·updateAddAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·updateAddNearAVX512<>)
	ADD_ROWS_AVX512
	MOVQ R9, done+8(FP)
	RET

// func updateSGDAVX512(a *updateArgs) (done int)
// for i, id := range ids { table[id] += rate * (grad[i] + keep*table[id]) }
TEXT ·updateSGDAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·updateSGDNearAVX512<>)
	UPDATE_ROWS(UPDATE_BEGIN_AVX512, NONE, NONE, STATES_ABREAST, UPDATE_COLUMNS_AVX512(UPDATE_SGD, AHEAD1, NOTHING))
	MOVQ R9, done+8(FP)
	RET

// func updateAdagradAVX512(a *updateArgs) (done int)
// for i, id := range ids { s[id] += grad[i]*grad[i]; table[id] += rate * (grad[i] / (sqrt(s[id]) + epsilon)) }
TEXT ·updateAdagradAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·updateAdagradNearAVX512<>)
	UPDATE_ROWS(UPDATE_BEGIN_AVX512, FIRST, NONE, STATES_ABREAST, UPDATE_COLUMNS_AVX512(UPDATE_ADAGRAD, AHEAD2, ALSO1))
	MOVQ R9, done+8(FP)
	RET

// func updateAdamAVX512(a *updateArgs) (done int)
// for i, id := range ids {
//	m[id] += (grad[i] - m[id]) * meanWeight; v[id] += (grad[i]*grad[i] - v[id]) * squareWeight
//	table[id] = keep*table[id] + rate * (m[id] / (sqrt(v[id]) + epsilon))
// }
TEXT ·updateAdamAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·updateAdamNearAVX512<>)
	UPDATE_ROWS(UPDATE_BEGIN_AVX512, FIRST, SECOND, STATES_ABREAST, UPDATE_COLUMNS_AVX512(UPDATE_ADAM, AHEAD3, ALSO2))
	MOVQ R9, done+8(FP)
	RET

// SQUARES adds the squares of a vector of the next row of grad, at R11, to the lanes in Z14, and ADD_SQUARES does so while a
// vector of this one is added: one vector has to wait for the last, which takes as long as all else does that comes before the
// factor. The order of blocks is that of MIXED, and of squares that of the lanes' sums.

#define SQUARES(LOAD, STORE, scale, off, at, x, y) \
	LOAD(off(R11)(at*1), x); \
	VMULPS x, x, x;          \
	VADDPS x, Z14, Z14

#define ADD_SQUARES(LOAD, STORE, scale, off, at, x, y) \
	ADD_SCALED(LOAD, STORE, scale, off, at, x, y); \
	SQUARES(LOAD, STORE, scale, off, at, x, y)

#define NEXT_LINEAR(off) PREFETCH (const_linearAhead+off)(R11)(DX*1)

#define NEXT4 \
	CMPB rowArgs_leaveLinear(BX), $0; \
	JNE  5(PC);                       \
	NEXT_LINEAR(0);                   \
	NEXT_LINEAR(64);                  \
	NEXT_LINEAR(128);                 \
	NEXT_LINEAR(192)

#define MIXED_SQUARES(KERNEL, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7) \
	FOUR_VECTORS(SQUARES, STORE, 0, size, scale, 0, 1, 2, 3, v0, v1, v2, v3, v4, v5, v6, v7); \
	MIXED(ADD_SCALED, STORE, size, scale, v0, v1, v2, v3, v4, v5, v6, v7)

#define ROW_ADAGRAD_AVX512 \
	BEGIN_AVX512;                                           \
	VXORPS Z14, Z14, Z14;                                   \
	PLACE(R9, DI, first);                                   \
	MOVQ  DI, R11;                                          \
	XORL  DX, DX;                                           \
	TESTQ CX, CX;                                           \
	JEQ   squaresTail;                                      \
	PCALIGN $64;                                            \
squares: \
	SQUARES(VECTOR, VECTOR, Z15, 0, DX, Z0, Z1);            \
	ADDQ  $64, DX;                                          \
	CMPQ  DX, CX;                                           \
	JLT   squares;                                          \
squaresTail: \
	SQUARES(MASKED_LOAD, MASKED_STORE, Z15, 0, DX, Z0, Z1); \
row: \
	PLACE(R9, DI, inOrder);                                 \
	ROW_ID;                                                 \
	SUM;                                                    \
	TABLE_ABREAST;                                          \
	ROW_TABLE(LINEAR);                                      \
	VEXTRACTF64X4 $1, Z14, Y0;                              \
	VADDPS Y14, Y0, Y0;                                     \
	FACTOR;                                                 \
	VBROADCASTSS X0, Z15;                                   \
	VXORPS Z14, Z14, Z14;                                   \
	MOVQ  DI, R11;                                          \
	LEAQ  1(R9), DX;                                        \
	CMPQ  DX, rowArgs_n(BX);                                \
	JGE   nextRow;                                          \
	ADDQ  rowArgs_linearStride(BX), R11;                    \
	PLACE(DX, R11, nextRow);                                \
	COLUMNS(ADD_SQUARES, VECTOR, MIXED_SQUARES, FOUR_LINES, LAST, LEFT2(AX), NEXT4, AHEAD_FOUR, LONG_ABREAST, TAIL_AVX512, AX, 64, Z15, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7); \
	ROWS_END

// func updateRowAdagradAVX512(a *updateArgs) (done int)
// for i, id := range ids { s[id] += mean(grad[i]*grad[i]); table[id] += rate/(sqrt(s[id])+epsilon) * grad[i] }
TEXT ·updateRowAdagradAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	NEAR(rowArgs_near, ·updateRowAdagradNearAVX512<>)
	ROW_ADAGRAD_AVX512
	MOVQ R9, done+8(FP)
	RET

// Near kernels: see NEAR in rows_amd64.h. BX has the arguments.

#undef PREFETCH
#define PREFETCH PREFETCHT0

TEXT ·updateAddNearAVX2<>(SB), NOSPLIT, $0-16
	ADD_ROWS_AVX2
	MOVQ R9, done+8(FP)
	RET

TEXT ·updateSGDNearAVX2<>(SB), NOSPLIT, $0-16
	UPDATE_ROWS(UPDATE_BEGIN_AVX2, NONE, NONE, STATES_ABREAST, UPDATE_COLUMNS_AVX2(UPDATE_SGD, AHEAD1, NOTHING))
	MOVQ R9, done+8(FP)
	RET

TEXT ·updateAdagradNearAVX2<>(SB), NOSPLIT, $0-16
	UPDATE_ROWS(UPDATE_BEGIN_AVX2, FIRST, NONE, STATES_ABREAST, UPDATE_COLUMNS_AVX2(UPDATE_ADAGRAD, AHEAD2, ALSO1))
	MOVQ R9, done+8(FP)
	RET

TEXT ·updateAdamNearAVX2<>(SB), NOSPLIT, $0-16
	UPDATE_ROWS(UPDATE_BEGIN_AVX2, FIRST, SECOND, STATES_ABREAST, UPDATE_COLUMNS_AVX2(UPDATE_ADAM, AHEAD3, ALSO2))
	MOVQ R9, done+8(FP)
	RET

TEXT ·updateRowAdagradNearAVX2<>(SB), NOSPLIT, $0-16
	ROW_ADAGRAD_AVX2
	MOVQ R9, done+8(FP)
	RET

TEXT ·updateAddNearAVX512<>(SB), NOSPLIT, $0-16
	ADD_ROWS_AVX512
	MOVQ R9, done+8(FP)
	RET

TEXT ·updateSGDNearAVX512<>(SB), NOSPLIT, $0-16
	UPDATE_ROWS(UPDATE_BEGIN_AVX512, NONE, NONE, STATES_ABREAST, UPDATE_COLUMNS_AVX512(UPDATE_SGD, AHEAD1, NOTHING))
	MOVQ R9, done+8(FP)
	RET

TEXT ·updateAdagradNearAVX512<>(SB), NOSPLIT, $0-16
	UPDATE_ROWS(UPDATE_BEGIN_AVX512, FIRST, NONE, STATES_ABREAST, UPDATE_COLUMNS_AVX512(UPDATE_ADAGRAD, AHEAD2, ALSO1))
	MOVQ R9, done+8(FP)
	RET

TEXT ·updateAdamNearAVX512<>(SB), NOSPLIT, $0-16
	UPDATE_ROWS(UPDATE_BEGIN_AVX512, FIRST, SECOND, STATES_ABREAST, UPDATE_COLUMNS_AVX512(UPDATE_ADAM, AHEAD3, ALSO2))
	MOVQ R9, done+8(FP)
	RET

TEXT ·updateRowAdagradNearAVX512<>(SB), NOSPLIT, $0-16
	ROW_ADAGRAD_AVX512
	MOVQ R9, done+8(FP)
	RET
