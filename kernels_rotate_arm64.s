//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_arm64.h"

// Rotate walks the rows of rotateArgs, and the pairs of their heads from left to right in blocks of four vectors, and then a
// tail of two vectors, one, and parts of one, by the bits of the number of pairs: for each, the cosines and sines stay in
// registers while all heads of the row pass by. Long heads it takes one by one instead, with angles from the first-level
// cache, since rows from memory want to be read in their order. What is not rotated is copied at the end of the row. No byte
// outside the rows is touched.
//
// A vector is of four pairs whose elements are half of the rotated part apart, or of two that are interleaved, with each
// cosine and each sine twice.
//
// Registers:
//	R0   arguments                       R9   sines of the block
//	R1   row of dst                      R10  bytes to sines and partners
//	R2   row of src                      R11  bytes between heads
//	R3   position ids, or 0              R12  heads left
//	R4   number of the row               R13  block in the head of src, R14 in that of dst
//	R5   block in the first head of src  R15  the partners in the head of src, R19 in that of dst
//	R6   block in the first head of dst  R20  bytes between rows of dst, R21 between those of src
//	R7   cosines of the block            R22  bytes from angles to the counted row
//	R8   pairs left                      R23  pairs left of a long head
//	R24, R25  cosines and sines of a long head, and for a moment
//	V16 to V19  cosines of the block     V20 to V23  sines, with their signs
//	V31  signs                           V30  sign of long heads whose pairs are interleaved

#define ROTATE_BEGIN \
	MOVD rotateArgs_dst(R0), R1;         \
	MOVD rotateArgs_src(R0), R2;         \
	MOVD rotateArgs_at(R0), R3;          \
	MOVD ZR, R4;                         \
	MOVD rotateArgs_half(R0), R10;       \
	MOVD rotateArgs_headStride(R0), R11; \
	MOVD rotateArgs_dstStride(R0), R20;  \
	MOVD rotateArgs_srcStride(R0), R21;  \
	MOVD rotateArgs_angleAt(R0), R22;    \
	MOVD rotateArgs_signs(R0), R24;      \
	VDUP R24, V31.D2

// ROTATE_ROW finds the row of angles.
#define ROTATE_ROW \
	MOVD rotateArgs_anglesStride(R0), R24; \
	MOVD rotateArgs_angles(R0), R7;        \
	CBZ  R3, counted;                      \
	MOVD rotateArgs_wide(R0), R25;         \
	ID(R3, R25, R4, R8);                   \
	MOVD rotateArgs_limit(R0), R25;        \
	CMP  R25, R8;                          \
	BHS  done;                             \
	MADD R24, R7, R8, R7;                  \
	B    found;                            \
counted: \
	ADD  R22, R7;                          \
	MOVD rotateArgs_anglesEnd(R0), R25;    \
	ADD  R24, R22;                         \
	CMP  R25, R22;                         \
	CSEL EQ, ZR, R22, R22;                 \
found: \
	ADD  R10, R7, R9;                      \
	MOVD R2, R5;                           \
	MOVD R1, R6;                           \
	MOVD rotateArgs_pairs(R0), R8

// HEADS has all heads of the row do a block of so many bytes, whose angles, in registers, are of so many others.
#define HEADS(BLOCK, bytes, angles, loop) \
	MOVD R5, R13;                    \
	MOVD R6, R14;                    \
	ADD  R10, R5, R15;               \
	ADD  R10, R6, R19;               \
	MOVD rotateArgs_heads(R0), R12;  \
loop: \
	BLOCK;                           \
	ADD  R11, R13;                   \
	ADD  R11, R14;                   \
	ADD  R11, R15;                   \
	ADD  R11, R19;                   \
	SUBS $1, R12;                    \
	BNE  loop;                       \
	ADD  $bytes, R5;                 \
	ADD  $bytes, R6;                 \
	ADD  $angles, R7;                \
	ADD  $angles, R9

// LONG_HEADS does head by head what there is of whole blocks of 8 pairs, of so many bytes, and goes on with what is left; an
// angle is for 1<<shift elements of a head.
#define LONG_HEADS(BLOCK, bytes, shift, left) \
	MOVD rotateArgs_heads(R0), R12;  \
longHead: \
	MOVD R5, R13;                    \
	MOVD R6, R14;                    \
	ADD  R10, R5, R15;               \
	ADD  R10, R6, R19;               \
	MOVD R7, R24;                    \
	MOVD R9, R25;                    \
	MOVD rotateArgs_pairs(R0), R23;  \
longBlock: \
	BLOCK;                           \
	ADD  $32, R24;                   \
	ADD  $32, R25;                   \
	ADD  $bytes, R13;                \
	ADD  $bytes, R14;                \
	ADD  $bytes, R15;                \
	ADD  $bytes, R19;                \
	SUB  $8, R23;                    \
	CMP  $8, R23;                    \
	BGE  longBlock;                  \
	ADD  R11, R5;                    \
	ADD  R11, R6;                    \
	SUBS $1, R12;                    \
	BNE  longHead;                   \
	MOVD rotateArgs_heads(R0), R12;  \
	MSUB R11, R5, R12, R5;           \
	MSUB R11, R6, R12, R6;           \
	MOVD rotateArgs_pairs(R0), R8;   \
	AND  $~7, R8, R12;               \
	LSL  $2, R12;                    \
	ADD  R12, R7;                    \
	ADD  R12, R9;                    \
	ADD  R12<<shift, R5;             \
	ADD  R12<<shift, R6;             \
	B    left

// ROTATE_NEXT copies what is not rotated and goes on with the next row; at the end R4 says how many were done.
#define ROTATE_NEXT \
rest: \
	MOVD rotateArgs_rest(R0), R7;    \
	CBZ  R7, rowDone;                \
	MOVD rotateArgs_restAt(R0), R24; \
	ADD  R24, R2, R13;               \
	ADD  R24, R1, R14;               \
	MOVD rotateArgs_heads(R0), R12;  \
restHead: \
	MOVD R13, R5;                    \
	MOVD R14, R6;                    \
	SUBS $16, R7, R8;                \
	BLT  restTail;                   \
restBlock: \
	FLDPQ (R5), (F0, F1);            \
	FLDPQ 32(R5), (F2, F3);          \
	FSTPQ (F0, F1), (R6);            \
	FSTPQ (F2, F3), 32(R6);          \
	ADD  $64, R5;                    \
	ADD  $64, R6;                    \
	SUBS $16, R8;                    \
	BGE  restBlock;                  \
restTail: \
	TBZ  $3, R7, restQuad;           \
	FLDPQ (R5), (F0, F1);            \
	FSTPQ (F0, F1), (R6);            \
	ADD  $32, R5;                    \
	ADD  $32, R6;                    \
restQuad: \
	TBZ  $2, R7, restTwo;            \
	FMOVQ (R5), F0;                  \
	FMOVQ F0, (R6);                  \
	ADD  $16, R5;                    \
	ADD  $16, R6;                    \
restTwo: \
	TBZ  $1, R7, restOne;            \
	FMOVD (R5), F0;                  \
	FMOVD F0, (R6);                  \
	ADD  $8, R5;                     \
	ADD  $8, R6;                     \
restOne: \
	TBZ  $0, R7, restNext;           \
	FMOVS (R5), F0;                  \
	FMOVS F0, (R6);                  \
restNext: \
	ADD  R11, R13;                   \
	ADD  R11, R14;                   \
	SUBS $1, R12;                    \
	BNE  restHead;                   \
rowDone: \
	ADD  R20, R1;                    \
	ADD  R21, R2;                    \
	ADD  $1, R4;                     \
	MOVD rotateArgs_rows(R0), R24;   \
	CMP  R24, R4;                    \
	BLT  row;                        \
done: \
	MOVD R22, rotateArgs_angleAt(R0)

// SIGNS puts the signs to sines.
#define SIGNS(sin) VEOR V31.B16, sin.B16, sin.B16

// HALVES rotates two vectors of pairs, off bytes behind the start of the block. The first elements of pairs come to
// registers a0 and a1, their partners to b0 and b1, and x0 to y1 are for a moment.
#define HALVES(off, a, b, x, a0, a1, b0, b1, x0, x1, y0, y1, cos0, cos1, sin0, sin1) \
	FLDPQ off(R13), a;     \
	FLDPQ off(R15), b;     \
	VFMUL4S(cos0, a0, x0); \
	VFMUL4S(cos1, a1, x1); \
	VFMUL4S(sin0, b0, y0); \
	VFMUL4S(sin1, b1, y1); \
	VFMUL4S(sin0, a0, a0); \
	VFMUL4S(sin1, a1, a1); \
	VFMUL4S(cos0, b0, b0); \
	VFMUL4S(cos1, b1, b1); \
	VFSUB4S(y0, x0, x0);   \
	VFSUB4S(y1, x1, x1);   \
	VFADD4S(a0, b0, b0);   \
	VFADD4S(a1, b1, b1);   \
	FSTPQ x, off(R14);     \
	FSTPQ b, off(R19)

#define HALVES2 HALVES(0, (F0, F1), (F2, F3), (F4, F5), 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 20, 21)

#define HALVES4 \
	HALVES2;               \
	HALVES(32, (F8, F9), (F10, F11), (F12, F13), 8, 9, 10, 11, 12, 13, 14, 15, 18, 19, 22, 23)

#define HALVES_ANGLES2 \
	FLDPQ (R7), (F16, F17); \
	FLDPQ (R9), (F20, F21); \
	SIGNS(V20);             \
	SIGNS(V21)

#define HALVES_ANGLES4 \
	HALVES_ANGLES2;           \
	FLDPQ 32(R7), (F18, F19); \
	FLDPQ 32(R9), (F22, F23); \
	SIGNS(V22);               \
	SIGNS(V23)

#define LONG_HALVES \
	FLDPQ (R24), (F16, F17); \
	FLDPQ (R25), (F20, F21); \
	SIGNS(V20);              \
	SIGNS(V21);              \
	HALVES2

// HALVES_PART is HALVES for one vector or a part of one.
#define HALVES_PART(MOVE) \
	MOVE (R13), F0;       \
	MOVE (R15), F1;       \
	VFMUL4S(16, 0, 2);    \
	VFMUL4S(20, 1, 3);    \
	VFMUL4S(20, 0, 0);    \
	VFMUL4S(16, 1, 1);    \
	VFSUB4S(3, 2, 2);     \
	VFADD4S(0, 1, 1);     \
	MOVE F2, (R14);       \
	MOVE F1, (R19)

#define HALVES_QUAD HALVES_PART(FMOVQ)
#define HALVES_TWO HALVES_PART(FMOVD)
#define HALVES_ONE HALVES_PART(FMOVS)

#define HALVES_ANGLES(MOVE) \
	MOVE (R7), F16; \
	MOVE (R9), F20; \
	SIGNS(V20)

// func rotateHalvesNEON(a *rotateArgs) (done int)
// for i := range rows { for h := range heads { dst[i][h] = src[i][h] rotated by angles[p(i)] } }
TEXT ·rotateHalvesNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROTATE_BEGIN
row:
	ROTATE_ROW
	SUBS $16, R8
	BLT  eight
	CMP  $(64-16), R8
	BGE  long
block:
	HALVES_ANGLES4
	HEADS(HALVES4, 64, 64, blocks)
	SUBS $16, R8
	BGE  block
eight:
	TBZ  $3, R8, four
	HALVES_ANGLES2
	HEADS(HALVES2, 32, 32, eights)
four:
	TBZ  $2, R8, two
	HALVES_ANGLES(FMOVQ)
	HEADS(HALVES_QUAD, 16, 16, fours)
two:
	TBZ  $1, R8, one
	HALVES_ANGLES(FMOVD)
	HEADS(HALVES_TWO, 8, 8, twos)
one:
	TBZ  $0, R8, rest
	HALVES_ANGLES(FMOVS)
	HEADS(HALVES_ONE, 4, 4, ones)
	ROTATE_NEXT
	MOVD R4, done+8(FP)
	RET
long:
	LONG_HEADS(LONG_HALVES, 32, 0, four)

// PAIRS is HALVES for pairs that are interleaved.
#define PAIRS(off, x, x0, x1, v0, v1, y0, y1, w0, w1, cos0, cos1, sin0, sin1) \
	FLDPQ off(R13), x;     \
	VREV64 v0.S4, w0.S4;   \
	VREV64 v1.S4, w1.S4;   \
	VFMUL4S(cos0, x0, x0); \
	VFMUL4S(cos1, x1, x1); \
	VFMUL4S(sin0, y0, y0); \
	VFMUL4S(sin1, y1, y1); \
	VFADD4S(y0, x0, x0);   \
	VFADD4S(y1, x1, x1);   \
	FSTPQ x, off(R14)

#define PAIRS2 PAIRS(0, (F0, F1), 0, 1, V0, V1, 2, 3, V2, V3, 16, 17, 20, 21)

#define PAIRS4 \
	PAIRS2;                \
	PAIRS(32, (F4, F5), 4, 5, V4, V5, 6, 7, V6, V7, 18, 19, 22, 23)

// TWICE spreads the cosines in V0 and the sines in V1 over two vectors each.
#define TWICE(cos0, cos1, sin0, sin1) \
	VZIP1 V0.S4, V0.S4, cos0.S4; \
	VZIP2 V0.S4, V0.S4, cos1.S4; \
	VZIP1 V1.S4, V1.S4, sin0.S4; \
	VZIP2 V1.S4, V1.S4, sin1.S4; \
	SIGNS(sin0);                 \
	SIGNS(sin1)

#define PAIRS_ANGLES2 \
	FMOVQ (R7), F0;            \
	FMOVQ (R9), F1;            \
	TWICE(V16, V17, V20, V21)

#define PAIRS_ANGLES4 \
	PAIRS_ANGLES2;             \
	FMOVQ 16(R7), F0;          \
	FMOVQ 16(R9), F1;          \
	TWICE(V18, V19, V22, V23)

// LONG_PAIRS parts elements into the first of their pairs, V4 and V5, and the second, V6 and V7, and puts them together
// again.
#define LONG_PAIRS \
	FLDPQ (R24), (F16, F17);        \
	FLDPQ (R25), (F20, F21);        \
	FLDPQ (R13), (F0, F1);          \
	FLDPQ 32(R13), (F2, F3);        \
	VEOR  V30.B16, V20.B16, V20.B16; \
	VEOR  V30.B16, V21.B16, V21.B16; \
	VUZP1 V1.S4, V0.S4, V4.S4;      \
	VUZP2 V1.S4, V0.S4, V6.S4;      \
	VUZP1 V3.S4, V2.S4, V5.S4;      \
	VUZP2 V3.S4, V2.S4, V7.S4;      \
	VFMUL4S(16, 4, 0);              \
	VFMUL4S(17, 5, 1);              \
	VFMUL4S(20, 6, 2);              \
	VFMUL4S(21, 7, 3);              \
	VFMUL4S(20, 4, 4);              \
	VFMUL4S(21, 5, 5);              \
	VFMUL4S(16, 6, 6);              \
	VFMUL4S(17, 7, 7);              \
	VFSUB4S(2, 0, 0);               \
	VFSUB4S(3, 1, 1);               \
	VFADD4S(4, 6, 6);               \
	VFADD4S(5, 7, 7);               \
	VZIP1 V6.S4, V0.S4, V2.S4;      \
	VZIP2 V6.S4, V0.S4, V3.S4;      \
	VZIP1 V7.S4, V1.S4, V4.S4;      \
	VZIP2 V7.S4, V1.S4, V5.S4;      \
	FSTPQ (F2, F3), (R14);          \
	FSTPQ (F4, F5), 32(R14)

// PAIRS_PART is PAIRS for one vector or half of one.
#define PAIRS_PART(MOVE) \
	MOVE (R13), F0;            \
	VREV64 V0.S4, V1.S4;       \
	VFMUL4S(16, 0, 0);         \
	VFMUL4S(20, 1, 1);         \
	VFADD4S(1, 0, 0);          \
	MOVE F0, (R14)

#define PAIRS_TWO PAIRS_PART(FMOVQ)
#define PAIRS_ONE PAIRS_PART(FMOVD)

#define PAIRS_ANGLES(MOVE) \
	MOVE (R7), F0;             \
	MOVE (R9), F1;             \
	TWICE(V16, V17, V20, V21)

// func rotatePairsNEON(a *rotateArgs) (done int)
// for i := range rows { for h := range heads { dst[i][h] = src[i][h] rotated by angles[p(i)] } }
TEXT ·rotatePairsNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROTATE_BEGIN
row:
	ROTATE_ROW
	SUBS $8, R8
	BLT  four
	CMP  $(32-8), R8
	BGE  long
block:
	PAIRS_ANGLES4
	HEADS(PAIRS4, 64, 32, blocks)
	SUBS $8, R8
	BGE  block
four:
	TBZ  $2, R8, two
	PAIRS_ANGLES2
	HEADS(PAIRS2, 32, 16, fours)
two:
	TBZ  $1, R8, one
	PAIRS_ANGLES(FMOVD)
	HEADS(PAIRS_TWO, 16, 8, twos)
one:
	TBZ  $0, R8, rest
	PAIRS_ANGLES(FMOVS)
	HEADS(PAIRS_ONE, 8, 4, ones)
	ROTATE_NEXT
	MOVD R4, done+8(FP)
	RET
long:
	MOVWU (rotateArgs_signs+4)(R0), R24
	VDUP R24, V30.S4
	LONG_HEADS(LONG_PAIRS, 64, 1, four)
