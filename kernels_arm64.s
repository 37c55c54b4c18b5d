//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_arm64.h"

// POSITIONS_BEGIN finds the row of positions that belongs to the first row if they are counted.
#define POSITIONS_BEGIN \
	MOVD rowArgs_posStride(R0), R23; \
	MOVD rowArgs_positions(R0), R21; \
	MOVD rowArgs_posFirst(R0), R20;  \
	MOVD rowArgs_posSpan(R0), R22;   \
	ADD  R21, R20;                   \
	ADD  R21, R22

// POSITION finds the row of positions by its id where there are such ids; a counted one is there already.
#define POSITION \
	MOVD R20, R7;                   \
	MOVD rowArgs_at(R0), R24;       \
	CBZ  R24, counted;              \
	MOVD rowArgs_atWide(R0), R25;   \
	ID(R24, R25, R4, R7);           \
	MOVD rowArgs_posLimit(R0), R24; \
	CMP  R24, R7;                   \
	BHS  done;                      \
	MADD R23, R21, R7, R7;          \
counted:

// POSITION_NEXT counts.
#define POSITION_NEXT \
	ADD  R23, R20;           \
	CMP  R22, R20;           \
	CSEL EQ, R21, R20, R20

// What a kernel does to a part of a row, off bytes further on, in registers x and y; SCALE multiplies those of x by the
// scale, PLUS adds it to them, and SUM adds them to those of y. EQUAL sets all bits of the lanes of x whose bits are those of y, and no
// others, and MOVED moves what y has in such lanes to x.

#define GATHER(LOAD, STORE, off, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD  off(R5), x; \
	STORE x, off(R6)

#define GATHER_SCALED(LOAD, STORE, off, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD  off(R5), x; \
	SCALE;            \
	STORE x, off(R6)

#define GATHER_SUM(LOAD, STORE, off, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD  off(R5), x; \
	PLUS;             \
	STORE x, off(R6)

#define ADD_SCALED(LOAD, STORE, off, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD  off(R6), x; \
	LOAD  off(R5), y; \
	SCALE;            \
	SUM;              \
	STORE y, off(R5)

#define EMBED(LOAD, STORE, off, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD  off(R5), x; \
	LOAD  off(R7), y; \
	SCALE;            \
	SUM;              \
	STORE y, off(R6)

#define TERM(LOAD, STORE, off, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD  off(R5), x;  \
	LOAD  off(R7), y;  \
	EQUAL;             \
	LOAD  off(R20), y; \
	MOVED;             \
	STORE y, off(R20); \
	STORE x, off(R6)

// PAIR does two vectors, in pairs of registers x and y whose numbers are x0, x1 and y0, y1. PART does one vector or a
// part of one.

#define SCALE_PAIR(x0, x1) VFMUL4S(31, x0, x0); VFMUL4S(31, x1, x1)
#define PLUS_PAIR(x0, x1) VFADD4S(31, x0, x0); VFADD4S(31, x1, x1)
#define SUM_PAIR(x0, x1, y0, y1) VFADD4S(x0, y0, y0); VFADD4S(x1, y1, y1)

#define EQUAL_PAIR(x0, x1, y0, y1) VCMEQ4S(y0, x0, x0); VCMEQ4S(y1, x1, x1)
#define TAKE_PAIR(x0, x1, y0, y1) TAKE(x0, y0); TAKE(x1, y1)
#define TAKE(x, y) VAND16B(y, x, x); VEOR16B(x, y, y)

#define PAIR(KERNEL, off, x, y, x0, x1, y0, y1) \
	KERNEL(FLDPQ, FSTPQ, off, x, y, SCALE_PAIR(x0, x1), SUM_PAIR(x0, x1, y0, y1), PLUS_PAIR(x0, x1), EQUAL_PAIR(x0, x1, y0, y1), TAKE_PAIR(x0, x1, y0, y1))

#define PART(KERNEL, MOVE) \
	KERNEL(MOVE, MOVE, 0, F0, F1, VFMUL4S(31, 0, 0), VFADD4S(0, 1, 1), VFADD4S(31, 0, 0), VCMEQ4S(1, 0, 0), TAKE(0, 1))

// STEP moves on in the rows, STEP_POSITIONS also in that of positions.

#define STEP(size) \
	ADD $size, R5; \
	ADD $size, R6

#define STEP_POSITIONS(size) \
	STEP(size);    \
	ADD $size, R7

#define STEP_LEFT(size) \
	STEP_POSITIONS(size); \
	ADD $size, R20

// COLUMNS does one row; columns is a register. Each row goes through the padding before its blocks, hence PCALIGN $16,
// and through every branch, hence the one past all three parts of a tail.
#define COLUMNS(KERNEL, STEP, columns) \
	SUBS $32, columns, R8;                                \
	BLT  pairs;                                           \
	PCALIGN $16;                                          \
block: \
	PAIR(KERNEL, 0, (F0, F1), (F8, F9), 0, 1, 8, 9);      \
	PAIR(KERNEL, 32, (F2, F3), (F10, F11), 2, 3, 10, 11); \
	PAIR(KERNEL, 64, (F4, F5), (F12, F13), 4, 5, 12, 13); \
	PAIR(KERNEL, 96, (F6, F7), (F14, F15), 6, 7, 14, 15); \
	STEP(128);                                            \
	SUBS $32, R8;                                         \
	BGE  block;                                           \
pairs: \
	ADDS $24, R8;                                         \
	BLT  tail;                                            \
pair: \
	PAIR(KERNEL, 0, (F0, F1), (F8, F9), 0, 1, 8, 9);      \
	STEP(32);                                             \
	SUBS $8, R8;                                          \
	BGE  pair;                                            \
tail: \
	TST  $7, R8;                                          \
	BEQ  columnsDone;                                     \
	TBZ  $2, R8, two;                                     \
	PART(KERNEL, FMOVQ);                                  \
	STEP(16);                                             \
two: \
	TBZ  $1, R8, one;                                     \
	PART(KERNEL, FMOVD);                                  \
	STEP(8);                                              \
one: \
	TBZ  $0, R8, columnsDone;                             \
	PART(KERNEL, FMOVS);                                  \
columnsDone:

// SHORT_ROWS does rows of up to 8 columns with two vectors for each, or parts of them: one at its left end and one at its
// right, which overlap. Both are computed before either is stored, and no branch depends on the length of a row. One loop
// prefetches rows, as long as there are ids ahead, the other does what is left, and all of tables that sit in cache.
//
// Registers: R1 and R5 the left parts of the rows, R6 and R24 the right ones, R8 bytes from left to right, R20 rows that have
// one to prefetch, R21 bytes to the last column.

#define SHORT_GATHER(MOVE) \
	MOVE (R5), F0;  \
	MOVE (R24), F2; \
	MOVE F0, (R1);  \
	MOVE F2, (R6)

#define SHORT_GATHER_WITH(OPERATION, MOVE) \
	MOVE (R5), F0;       \
	MOVE (R24), F2;      \
	OPERATION(31, 0, 0); \
	OPERATION(31, 2, 2); \
	MOVE F0, (R1);       \
	MOVE F2, (R6)

#define SHORT_GATHER_SCALED(MOVE) SHORT_GATHER_WITH(VFMUL4S, MOVE)
#define SHORT_GATHER_SUM(MOVE) SHORT_GATHER_WITH(VFADD4S, MOVE)

#define SHORT_ADD_SCALED(MOVE) \
	MOVE (R1), F0;       \
	MOVE (R6), F2;       \
	MOVE (R5), F1;       \
	MOVE (R24), F3;      \
	VFMUL4S(31, 0, 0);   \
	VFMUL4S(31, 2, 2);   \
	VFADD4S(0, 1, 1);    \
	VFADD4S(2, 3, 3);    \
	MOVE F1, (R5);       \
	MOVE F3, (R24)

#define SHORT_ROW(KERNEL, MOVE, rows) \
	ID(R3, R11, R4, R5); \
	CMP  R10, R5;        \
	BHS  done;           \
	MADD R9, R2, R5, R5; \
	ADD  R8, R5, R24;    \
	ADD  R8, R1, R6;     \
	KERNEL(MOVE);        \
	ADD  R19, R1;        \
	ADD  $1, R4;         \
	CMP  rows, R4

#define SHORT_LOOPS(KERNEL, MOVE, far, near) \
	CBZ  R13, near;                \
	CMP  $0, R20;                  \
	BLE  near;                     \
	PCALIGN $16;                   \
far: \
	ADD  R13, R4, R24;             \
	ID(R3, R11, R24, R25);         \
	MADD R9, R2, R25, R25;         \
	PRFM (R25), PLDL2KEEP;         \
	ADD  R21, R25;                 \
	PRFM (R25), PLDL2KEEP;         \
	SHORT_ROW(KERNEL, MOVE, R20);  \
	BLT  far;                      \
	CMP  R12, R4;                  \
	BGE  done;                     \
	PCALIGN $16;                   \
near: \
	SHORT_ROW(KERNEL, MOVE, R12);  \
	BLT  near;                     \
	B    done

#define SHORT_ROWS(KERNEL) \
	CMP  $8, R15;        \
	BGT  row;            \
	LSL  $2, R15, R8;       \
	SUB  $4, R8, R21;       \
	SUB  R13, R14, R20;     \
	CMP  R12, R20;          \
	CSEL GT, R12, R20, R20; \
	CMP  $4, R15;        \
	BGE  upTo8;          \
	CMP  $2, R15;        \
	BGE  upTo4;          \
	SUB  $4, R8;         \
	SHORT_LOOPS(KERNEL, FMOVS, far1, near1); \
upTo4: \
	SUB  $8, R8;         \
	SHORT_LOOPS(KERNEL, FMOVD, far2, near2); \
upTo8: \
	SUB  $16, R8;        \
	SHORT_LOOPS(KERNEL, FMOVQ, far4, near4)

// func fetchRowsNEON(table *float32, stride uintptr, ids unsafe.Pointer, wide uint64, n, bytes int)
// for _, id := range ids[:n] { prefetch(table[id][:bytes]) }, longBurst bytes of each row at a time
// R15 are the bytes left of each row, R13 those to prefetch now.
TEXT ·fetchRowsNEON(SB), NOSPLIT, $0-48
	MOVD table+0(FP), R2
	MOVD stride+8(FP), R9
	MOVD ids+16(FP), R3
	MOVD wide+24(FP), R11
	MOVD n+32(FP), R12
	MOVD bytes+40(FP), R15
piece:
	MOVD $const_longBurst, R13
	CMP  R13, R15
	CSEL LT, R15, R13, R13
	MOVD ZR, R4
row:
	ID(R3, R11, R4, R5)
	MADD R9, R2, R5, R5
	MOVD R13, R24
	LINES(R5, R24, line)
	ADD  $1, R4
	CMP  R12, R4
	BLT  row
	ADD  $const_longBurst, R2
	SUBS $const_longBurst, R15
	BGT  piece
	RET

// func gatherNEON(a *rowArgs) (done int)
// for i, id := range ids { copy(linear[i], table[id]) }
TEXT ·gatherNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_BEGIN
	SHORT_ROWS(SHORT_GATHER)
row:
	ROW
	COLUMNS(GATHER, STEP, R15)
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// func gatherScaledNEON(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] }
TEXT ·gatherScaledNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_BEGIN
	SHORT_ROWS(SHORT_GATHER_SCALED)
row:
	ROW
	COLUMNS(GATHER_SCALED, STEP, R15)
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// func gatherSumNEON(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = 0 + table[id] }
TEXT ·gatherSumNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_BEGIN
	SHORT_ROWS(SHORT_GATHER_SUM)
row:
	ROW
	COLUMNS(GATHER_SUM, STEP, R15)
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// func scatterAddNEON(a *rowArgs) (done int)
// for i, id := range ids { table[id] += scale * linear[i] }
TEXT ·scatterAddNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_BEGIN
	SHORT_ROWS(SHORT_ADD_SCALED)
row:
	ROW
	COLUMNS(ADD_SCALED, STEP, R15)
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// func embedNEON(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] + positions[p(i)] }
TEXT ·embedNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_BEGIN
	POSITIONS_BEGIN
row:
	ROW
	POSITION
	COLUMNS(EMBED, STEP_POSITIONS, R15)
	POSITION_NEXT
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// func bagMaxBackwardNEON(a *rowArgs) (done int)
// for i, id := range ids { for j, x := range table[id] { linear[i][j], left[i][j] = left[i][j], 0, or 0 if x != maxima[i][j] } }
TEXT ·bagMaxBackwardNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_BEGIN
	POSITIONS_BEGIN
row:
	ROW
	POSITION
	MOVD rowArgs_left(R0), R20
	ADD  R7, R20
	COLUMNS(TERM, STEP_LEFT, R15)
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// func addScaledNEON(dst, src *float32, n int, alpha float32)
// for i, x := range src { dst[i] += alpha * x }
TEXT ·addScaledNEON(SB), NOSPLIT, $0-28
	MOVD  dst+0(FP), R5
	MOVD  src+8(FP), R6
	MOVD  n+16(FP), R8
	MOVWU alpha+24(FP), R24
	VDUP  R24, V31.S4
	COLUMNS(ADD_SCALED, STEP, R8)
	RET

// func scaleRowNEON(dst, src *float32, n int, scale float32)
// for i, x := range src { dst[i] = scale * x }
TEXT ·scaleRowNEON(SB), NOSPLIT, $0-28
	MOVD  dst+0(FP), R6
	MOVD  src+8(FP), R5
	MOVD  n+16(FP), R8
	MOVWU scale+24(FP), R24
	VDUP  R24, V31.S4
	COLUMNS(GATHER_SCALED, STEP, R8)
	RET

// func embedRowNEON(dst, src, positions *float32, n int, scale float32)
// for i, x := range src { dst[i] = scale * x + positions[i] }
TEXT ·embedRowNEON(SB), NOSPLIT, $0-36
	MOVD  dst+0(FP), R6
	MOVD  src+8(FP), R5
	MOVD  positions+16(FP), R7
	MOVD  n+24(FP), R8
	MOVWU scale+32(FP), R24
	VDUP  R24, V31.S4
	COLUMNS(EMBED, STEP_POSITIONS, R8)
	RET

// AddBatches walks the rows of batchArgs, and each row from left to right; for each block, pair, vector or part of one
// it adds up all batches in registers.
//
// Registers:
//	R0   arguments                       R7   in the row of the current batch
//	R1   row of dst                      R8   columns left
//	R2   the row of src in batch 0       R9   batches left
//	R3   rows left                       R10  batches
//	R4   bytes between batches           R11  columns
//	R5   in the row of dst               R12  bytes between rows of dst
//	R6   in the row of src in batch 0    R13  bytes between rows of src

// SUM adds the same part of the row in all batches to registers x; ADDS adds registers y to x.
#define SUM(LOAD, STORE, size, x, y, ADDS, loop) \
	LOAD  (R5), x;   \
	MOVD  R6, R7;    \
	MOVD  R10, R9;   \
loop: \
	LOAD  (R7), y;   \
	ADDS;            \
	ADD   R4, R7;    \
	SUBS  $1, R9;    \
	BNE   loop;      \
	STORE x, (R5);   \
	STEP(size)

// func addBatchesNEON(a *batchArgs)
// for p := range dst { for b := range batches { dst[p] += src[b*len(dst)+p] } }
TEXT ·addBatchesNEON(SB), NOSPLIT, $0-8
	MOVD a+0(FP), R0
	MOVD batchArgs_dst(R0), R1
	MOVD batchArgs_src(R0), R2
	MOVD batchArgs_rows(R0), R3
	MOVD batchArgs_batchStride(R0), R4
	MOVD batchArgs_batches(R0), R10
	MOVD batchArgs_cols(R0), R11
	MOVD batchArgs_dstStride(R0), R12
	MOVD batchArgs_srcStride(R0), R13
row:
	MOVD R1, R5
	MOVD R2, R6
	SUBS $32, R11, R8
	BLT  pairs
block:
	FLDPQ 0(R5), (F0, F1)
	FLDPQ 32(R5), (F2, F3)
	FLDPQ 64(R5), (F4, F5)
	FLDPQ 96(R5), (F6, F7)
	MOVD  R6, R7
	MOVD  R10, R9
	PCALIGN $32
sumBlock:
	FLDPQ 0(R7), (F8, F9)
	FLDPQ 32(R7), (F10, F11)
	FLDPQ 64(R7), (F12, F13)
	FLDPQ 96(R7), (F14, F15)
	VFADD4S(8, 0, 0)
	VFADD4S(9, 1, 1)
	VFADD4S(10, 2, 2)
	VFADD4S(11, 3, 3)
	VFADD4S(12, 4, 4)
	VFADD4S(13, 5, 5)
	VFADD4S(14, 6, 6)
	VFADD4S(15, 7, 7)
	ADD   R4, R7
	SUBS  $1, R9
	BNE   sumBlock
	FSTPQ (F0, F1), 0(R5)
	FSTPQ (F2, F3), 32(R5)
	FSTPQ (F4, F5), 64(R5)
	FSTPQ (F6, F7), 96(R5)
	STEP(128)
	SUBS $32, R8
	BGE  block
pairs:
	ADDS $24, R8
	BLT  tail
pair:
	SUM(FLDPQ, FSTPQ, 32, (F0, F1), (F2, F3), SUM_PAIR(2, 3, 0, 1), sumPair)
	SUBS $8, R8
	BGE  pair
tail:
	TST  $7, R8
	BEQ  rowDone
	TBZ  $2, R8, two
	SUM(FMOVQ, FMOVQ, 16, F0, F1, VFADD4S(1, 0, 0), sumFour)
two:
	TBZ  $1, R8, one
	SUM(FMOVD, FMOVD, 8, F0, F1, VFADD4S(1, 0, 0), sumTwo)
one:
	TBZ  $0, R8, rowDone
	SUM(FMOVS, FMOVS, 4, F0, F1, VFADD4S(1, 0, 0), sumOne)
rowDone:
	ADD  R12, R1
	ADD  R13, R2
	SUBS $1, R3
	BNE  row
	RET

// The checks of ids go from left to right in blocks of four vectors, single vectors, and a tail of one id at a time.
// They keep what each comparison has found, and look at it once at the end.

// IDS_BELOW works on lanes ids at a time, each of size bytes, which LOAD moves and COMPARE compares; R0 is ids, R1
// their number, R2 and V31 the limit. It ends with 1 in R3 if all are below, and with 0 otherwise.
#define IDS_BELOW(LOAD, COMPARE, size, lanes) \
	VEOR V0.B16, V0.B16, V0.B16; \
	VEOR V1.B16, V1.B16, V1.B16; \
	SUBS $(4*lanes), R1;         \
	BLT  vectors;                \
	PCALIGN $32;                 \
block: \
	FLDPQ (R0), (F2, F3);        \
	FLDPQ 32(R0), (F4, F5);      \
	COMPARE(31, 2, 2);           \
	COMPARE(31, 3, 3);           \
	COMPARE(31, 4, 4);           \
	COMPARE(31, 5, 5);           \
	VORR V3.B16, V2.B16, V2.B16; \
	VORR V5.B16, V4.B16, V4.B16; \
	VORR V2.B16, V0.B16, V0.B16; \
	VORR V4.B16, V1.B16, V1.B16; \
	ADD  $64, R0;                \
	SUBS $(4*lanes), R1;         \
	BGE  block;                  \
vectors: \
	ADDS $(3*lanes), R1;         \
	BLT  found;                  \
vector: \
	FMOVQ (R0), F2;              \
	COMPARE(31, 2, 2);           \
	VORR V2.B16, V0.B16, V0.B16; \
	ADD  $16, R0;                \
	SUBS $lanes, R1;             \
	BGE  vector;                 \
found: \
	VORR V1.B16, V0.B16, V0.B16; \
	VMOV V0.D[0], R3;            \
	VMOV V0.D[1], R4;            \
	ORR  R4, R3;                 \
	ADDS $lanes, R1;             \
	BEQ  done;                   \
tail: \
	LOAD (R0), R4;               \
	CMP  R2, R4;                 \
	CSET HS, R4;                 \
	ORR  R4, R3;                 \
	ADD  $size, R0;              \
	SUBS $1, R1;                 \
	BNE  tail;                   \
done: \
	CMP  $0, R3;                 \
	CSET EQ, R3

// func ids32BelowNEON(ids unsafe.Pointer, n int, limit uint32) (ok bool)
// for _, id := range ids { if id >= limit { return false } }; return true
TEXT ·ids32BelowNEON(SB), NOSPLIT, $0-25
	MOVD  ids+0(FP), R0
	MOVD  n+8(FP), R1
	MOVWU limit+16(FP), R2
	VDUP  R2, V31.S4
	IDS_BELOW(MOVWU, VCMHS4S, 4, 4)
	MOVB  R3, ok+24(FP)
	RET

// func ids64BelowNEON(ids unsafe.Pointer, n int, limit uint64) (ok bool)
// for _, id := range ids { if id >= limit { return false } }; return true
TEXT ·ids64BelowNEON(SB), NOSPLIT, $0-25
	MOVD ids+0(FP), R0
	MOVD n+8(FP), R1
	MOVD limit+16(FP), R2
	VDUP R2, V31.D2
	IDS_BELOW(MOVD, VCMHS2D, 8, 2)
	MOVB R3, ok+24(FP)
	RET
