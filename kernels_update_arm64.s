//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_arm64.h"

// Updates walk the rows of updateArgs, which begins with rowArgs: grad are the rows in their order, or those that places say.
// Each row goes from left to right in blocks of 16 columns, four vectors, and a tail of 8, 4, 2 and 1 columns, by the bits of
// their number.
//
// Registers that differ from those of other row kernels:
//	R7   in the row of the first state     R21  in the row of the table to prefetch, or 0
//	R20  in the row of the second state    R22  in the row of the first state to prefetch
//	V27 to V31  constants in every lane    R23  in the row of the second state to prefetch

// STATE finds the row of a state that belongs to an id, which has been checked or is only there to be prefetched.
#define STATE(id, base, stride, to) \
	MOVD stride(R0), R25; \
	MOVD base(R0), to;    \
	MADD R25, to, id, to

#define FIRST(id, to) STATE(id, updateArgs_first, updateArgs_firstStride, to)
#define SECOND(id, to) STATE(id, updateArgs_second, updateArgs_secondStride, to)
#define NONE(id, to)

// UPDATE_ROW finds the next rows, and those to prefetch while they are done.
#define UPDATE_ROW(STATE1, STATE2) \
	ROW_ID;                          \
	MOVD updateArgs_places(R0), R25; \
	CBZ  R25, inOrder;               \
	MOVD (R25)(R4<<3), R24;          \
	MOVD rowArgs_linear(R0), R25;    \
	MADD R19, R25, R24, R1;          \
inOrder: \
	STATE1(R5, R7);                  \
	STATE2(R5, R20);                 \
	MADD R9, R2, R5, R5;             \
	MOVD R1, R6;                     \
	MOVD ZR, R21;                    \
	CMP  R14, R4;                    \
	BGE  found;                      \
	ADD  R13, R4, R25;               \
	ID(R3, R11, R25, R24);           \
	STATE1(R24, R22);                \
	STATE2(R24, R23);                \
	ROW_AHEAD(R9, R2, R24, R21);     \
found:

// What is prefetched for each block: lines of one, two or three matrices.

#define LINE(at) \
	PRFM (at), PLDL2KEEP; \
	ADD  $64, at

#define AHEAD1 LINE(R21)
#define AHEAD2 LINE(R21); LINE(R22)
#define AHEAD3 LINE(R21); LINE(R22); LINE(R23)

// Steps in the rows of the table and grad, of a state too, and of two.

#define STEP1(size) ADD $size, R5; ADD $size, R6
#define STEP2(size) STEP1(size); ADD $size, R7
#define STEP3(size) STEP2(size); ADD $size, R20

// What an update does to one vector of a row or a part of one, off bytes further on.

#define UPDATE_SGD(MOVE, off) \
	MOVE off(R6), F0;  \
	MOVE off(R5), F1;  \
	VFMUL4S(27, 1, 2); \
	VFADD4S(2, 0, 0);  \
	VFMUL4S(31, 0, 0); \
	VFADD4S(0, 1, 1);  \
	MOVE F1, off(R5)

#define UPDATE_ADAGRAD(MOVE, off) \
	MOVE off(R6), F0;  \
	MOVE off(R7), F1;  \
	VFMUL4S(0, 0, 2);  \
	VFADD4S(2, 1, 1);  \
	MOVE F1, off(R7);  \
	VFSQRT4S(1, 1);    \
	VFADD4S(30, 1, 1); \
	VFDIV4S(1, 0, 0);  \
	MOVE off(R5), F2;  \
	VFMUL4S(31, 0, 0); \
	VFADD4S(0, 2, 2);  \
	MOVE F2, off(R5)

#define UPDATE_ADD(MOVE, off) \
	MOVE off(R6), F0;  \
	MOVE off(R5), F1;  \
	VFMUL4S(31, 0, 0); \
	VFADD4S(0, 1, 1);  \
	MOVE F1, off(R5)

#define UPDATE_ADAM(MOVE, off) \
	MOVE off(R6), F0;  \
	MOVE off(R7), F1;  \
	MOVE off(R20), F2; \
	VFSUB4S(1, 0, 3);  \
	VFMUL4S(29, 3, 3); \
	VFADD4S(3, 1, 1);  \
	MOVE F1, off(R7);  \
	VFMUL4S(0, 0, 0);  \
	VFSUB4S(2, 0, 0);  \
	VFMUL4S(28, 0, 0); \
	VFADD4S(0, 2, 2);  \
	MOVE F2, off(R20); \
	VFSQRT4S(2, 2);    \
	VFADD4S(30, 2, 2); \
	VFDIV4S(2, 1, 1);  \
	MOVE off(R5), F3;  \
	VFMUL4S(31, 1, 1); \
	VFMUL4S(27, 3, 3); \
	VFADD4S(1, 3, 3);  \
	MOVE F3, off(R5)

// UPDATE_COLUMNS does one row. It prefetches a line more than its columns take: rows may begin within a line.
#define UPDATE_COLUMNS(UPDATE, AHEAD, STEP) \
	SUBS $16, R15, R8;      \
	BLT  tail;              \
	PCALIGN $16;            \
block: \
	CBZ  R21, near;         \
	AHEAD;                  \
near: \
	UPDATE(FMOVQ, 0);       \
	UPDATE(FMOVQ, 16);      \
	UPDATE(FMOVQ, 32);      \
	UPDATE(FMOVQ, 48);      \
	STEP(64);               \
	SUBS $16, R8;           \
	BGE  block;             \
tail: \
	TST  $15, R15;          \
	BEQ  columnsDone;       \
	CBZ  R21, eight;        \
	AHEAD;                  \
	AHEAD;                  \
eight: \
	TBZ  $3, R15, four;     \
	UPDATE(FMOVQ, 0);       \
	UPDATE(FMOVQ, 16);      \
	STEP(32);               \
four: \
	TBZ  $2, R15, two;      \
	UPDATE(FMOVQ, 0);       \
	STEP(16);               \
two: \
	TBZ  $1, R15, one;      \
	UPDATE(FMOVD, 0);       \
	STEP(8);                \
one: \
	TBZ  $0, R15, columnsDone; \
	UPDATE(FMOVS, 0);       \
columnsDone:

#define CONSTANT(name, v) \
	MOVWU name(R0), R24; \
	VDUP  R24, v.S4

#define UPDATE_BEGIN \
	ROWS_BEGIN;                             \
	CONSTANT(updateArgs_keep, V27);         \
	CONSTANT(updateArgs_squareWeight, V28); \
	CONSTANT(updateArgs_meanWeight, V29);   \
	CONSTANT(updateArgs_epsilon, V30);      \
	CONSTANT(updateArgs_rate, V31)

// func updateAddNEON(a *updateArgs) (done int)
// for i, id := range ids { table[id] += rate * grad[i] }
TEXT ·updateAddNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	UPDATE_BEGIN
row:
	UPDATE_ROW(NONE, NONE)
	UPDATE_COLUMNS(UPDATE_ADD, AHEAD1, STEP1)
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// func updateSGDNEON(a *updateArgs) (done int)
// for i, id := range ids { table[id] += rate * (grad[i] + keep*table[id]) }
TEXT ·updateSGDNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	UPDATE_BEGIN
row:
	UPDATE_ROW(NONE, NONE)
	UPDATE_COLUMNS(UPDATE_SGD, AHEAD1, STEP1)
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// func updateAdagradNEON(a *updateArgs) (done int)
// for i, id := range ids { s[id] += grad[i]*grad[i]; table[id] += rate * (grad[i] / (sqrt(s[id]) + epsilon)) }
TEXT ·updateAdagradNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	UPDATE_BEGIN
row:
	UPDATE_ROW(FIRST, NONE)
	UPDATE_COLUMNS(UPDATE_ADAGRAD, AHEAD2, STEP2)
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// func updateAdamNEON(a *updateArgs) (done int)
// for i, id := range ids {
//	m[id] += (grad[i] - m[id]) * meanWeight; v[id] += (grad[i]*grad[i] - v[id]) * squareWeight
//	table[id] = keep*table[id] + rate * (m[id] / (sqrt(v[id]) + epsilon))
// }
TEXT ·updateAdamNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	UPDATE_BEGIN
row:
	UPDATE_ROW(FIRST, SECOND)
	UPDATE_COLUMNS(UPDATE_ADAM, AHEAD3, STEP3)
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// The row-wise update first adds up the squares of a row of grad, 16 lanes of them in V16 to V19, and then adds the row
// scaled. R7 is the sum of the row. A tail goes to the lanes in front, which then change places with those that come next:
// what adds up halves of lanes does not notice that they have been exchanged.

#define SQUARE(v, lanes) \
	VFMUL4S(v, v, v); \
	VFADD4S(v, lanes, lanes)

// func updateRowAdagradNEON(a *updateArgs) (done int)
// for i, id := range ids { s[id] += mean(grad[i]*grad[i]); table[id] += rate/(sqrt(s[id])+epsilon) * grad[i] }
TEXT ·updateRowAdagradNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	UPDATE_BEGIN
row:
	UPDATE_ROW(FIRST, NONE)
	CBZ  R21, squared
	PRFM (R22), PLDL2KEEP
squared:
	CLEAR4(V16, V17, V18, V19)
	SUBS  $16, R15, R8
	BLT   squaresTail
	PCALIGN $16
squares:
	FLDPQ (R6), (F0, F1)
	FLDPQ 32(R6), (F2, F3)
	SQUARE(0, 16)
	SQUARE(1, 17)
	SQUARE(2, 18)
	SQUARE(3, 19)
	ADD   $64, R6
	SUBS  $16, R8
	BGE   squares
squaresTail:
	TBZ   $3, R15, squaresFour
	FLDPQ (R6), (F0, F1)
	SQUARE(0, 16)
	SQUARE(1, 17)
	ADD   $32, R6
	EXCHANGE(V16, V18, V0)
	EXCHANGE(V17, V19, V0)
squaresFour:
	TBZ   $2, R15, squaresTwo
	FMOVQ (R6), F0
	SQUARE(0, 16)
	ADD   $16, R6
	EXCHANGE(V16, V17, V0)
	EXCHANGE(V18, V19, V0)
squaresTwo:
	TBZ   $1, R15, squaresOne
	FMOVD (R6), F0
	SQUARE(0, 16)
	ADD   $8, R6
	TBZ   $0, R15, squaresDone
	FMOVS (R6), F0
	VEXT  $8, V0.B16, V0.B16, V0.B16
	SQUARE(0, 16)
	B     squaresDone
squaresOne:
	TBZ   $0, R15, squaresDone
	FMOVS (R6), F0
	SQUARE(0, 16)
squaresDone:
	VFADD4S(18, 16, 16)
	VFADD4S(19, 17, 17)
	VFADD4S(17, 16, 16)
	VEXT $8, V16.B16, V16.B16, V0.B16
	VFADD4S(0, 16, 16)
	VEXT $4, V16.B16, V16.B16, V0.B16
	FADDS F0, F16, F16
	FMOVS updateArgs_count(R0), F0
	FDIVS F0, F16, F16
	FMOVS (R7), F0
	FADDS F16, F0, F0
	FMOVS F0, (R7)
	FSQRTS F0, F0
	FMOVS updateArgs_epsilon(R0), F1
	FADDS F1, F0, F0
	FMOVS updateArgs_rate(R0), F1
	FDIVS F0, F1, F0
	VDUP V0.S[0], V31.S4
	MOVD R1, R6
	UPDATE_COLUMNS(UPDATE_ADD, AHEAD1, STEP1)
	ROWS_END
	MOVD R4, done+8(FP)
	RET
