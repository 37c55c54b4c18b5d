//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// Rotate walks the rows of rotateArgs, and the pairs of their heads from left to right in blocks of four vectors, two, one,
// and a tail: for each, the cosines and sines of a block stay in registers while all heads of the row pass by. Long heads
// it takes one by one instead, with angles from the first-level cache, since rows from memory want to be read in their
// order: on a Zen 4 or 5, 16 MiB in place with heads of 128 whose pairs are interleaved take 1.4 times what scaling takes
// with AVX2 so, and 2.0 to 2.8 times in blocks, but 2.4 and 2.2 within the first-level cache; with AVX-512 1.3 and 1.7 to
// 2.5, and 2.2 and 1.9. What is not rotated is copied at the end of the row.
//
// A vector is of pairs whose elements are half of the rotated part apart, or with pairs interleaved, of half as many, with
// each cosine and each sine twice. A tail is done as parts of vectors, by the bits of the number of pairs, with AVX-512
// too: a masked store to the end of a head would hold up the load of the next one, some 10 ns each. None of it touches a
// byte outside the rows.
//
// Registers:
//	BX   arguments                       R9   number of the row
//	SI   block in the first head of src  R10  cosines of the block
//	DI   block in the first head of dst  R11  block in the head of src
//	R8   position ids, or 0              R12  block in the head of dst
//	R13  bytes to sines and partners     DX   bytes between heads
//	AX   pairs left, less those of four  CX   heads left
//	     vectors
//	Y8 to Y11  cosines of the block      Y12 to Y15  sines, with their signs
//	Z16  signs (AVX-512)
//
// Head by head, DX are the sines, R8 the bytes done of the angles, and AX the bytes of those to do.

#define ROTATE_BEGIN \
	MOVQ rotateArgs_at(BX), R8;         \
	MOVQ rotateArgs_half(BX), R13;      \
	MOVQ rotateArgs_headStride(BX), DX; \
	XORL R9, R9

// ROTATE_ROW finds the rows of dst, src and angles.
#define ROTATE_ROW(vectors) \
	TESTQ R8, R8;                               \
	JEQ   counted;                              \
	ID(R8, rotateArgs_wide(BX), R9, R10);       \
	CMPQ  R10, rotateArgs_limit(BX);            \
	JAE   done;                                 \
	IMULQ rotateArgs_anglesStride(BX), R10;     \
	JMP   found;                                \
counted: \
	MOVQ  rotateArgs_angleAt(BX), R10;          \
	XORL  CX, CX;                               \
	MOVQ  R10, R11;                             \
	ADDQ  rotateArgs_anglesStride(BX), R11;     \
	CMPQ  R11, rotateArgs_anglesEnd(BX);        \
	CMOVQEQ CX, R11;                            \
	MOVQ  R11, rotateArgs_angleAt(BX);          \
found: \
	ADDQ  rotateArgs_angles(BX), R10;           \
	MOVQ  rotateArgs_dstStride(BX), DI;         \
	IMULQ R9, DI;                               \
	ADDQ  rotateArgs_dst(BX), DI;               \
	MOVQ  rotateArgs_srcStride(BX), SI;         \
	IMULQ R9, SI;                               \
	ADDQ  rotateArgs_src(BX), SI;               \
	MOVQ  rotateArgs_pairs(BX), AX;             \
	SUBQ  $(4*vectors), AX

// HEADS has all heads of the row do a block of so many bytes, whose angles, in registers, are of so many others.
#define HEADS(BLOCK, bytes, angles, loop) \
	MOVQ SI, R11;                    \
	MOVQ DI, R12;                    \
	MOVQ rotateArgs_heads(BX), CX;   \
loop: \
	BLOCK;                           \
	ADDQ DX, R11;                    \
	ADDQ DX, R12;                    \
	DECQ CX;                         \
	JNE  loop;                       \
	ADDQ $bytes, SI;                 \
	ADDQ $bytes, DI;                 \
	ADDQ $angles, R10

// ROTATE_NEXT copies what is not rotated, where AVX-512 would gain nothing, and goes on with the next row; at the end R9
// says how many were done.
#define ROTATE_NEXT \
rest: \
	MOVQ  rotateArgs_rest(BX), AX;      \
	TESTQ AX, AX;                       \
	JEQ   rowDone;                      \
	MOVQ  rotateArgs_srcStride(BX), R11; \
	IMULQ R9, R11;                      \
	ADDQ  rotateArgs_src(BX), R11;      \
	ADDQ  rotateArgs_restAt(BX), R11;   \
	MOVQ  rotateArgs_dstStride(BX), R12; \
	IMULQ R9, R12;                      \
	ADDQ  rotateArgs_dst(BX), R12;      \
	ADDQ  rotateArgs_restAt(BX), R12;   \
	MOVQ  rotateArgs_heads(BX), CX;     \
restHead: \
	XORL  SI, SI;                       \
	MOVQ  AX, DI;                       \
	SUBQ  $32, DI;                      \
	JLT   restVectors;                  \
restBlock: \
	VMOVUPS (R11)(SI*1), Y0;            \
	VMOVUPS 32(R11)(SI*1), Y1;          \
	VMOVUPS 64(R11)(SI*1), Y2;          \
	VMOVUPS 96(R11)(SI*1), Y3;          \
	VMOVUPS Y0, (R12)(SI*1);            \
	VMOVUPS Y1, 32(R12)(SI*1);          \
	VMOVUPS Y2, 64(R12)(SI*1);          \
	VMOVUPS Y3, 96(R12)(SI*1);          \
	ADDQ  $128, SI;                     \
	SUBQ  $32, DI;                      \
	JGE   restBlock;                    \
restVectors: \
	ADDQ  $24, DI;                      \
	JLT   restTail;                     \
restVector: \
	VMOVUPS (R11)(SI*1), Y0;            \
	VMOVUPS Y0, (R12)(SI*1);            \
	ADDQ  $32, SI;                      \
	SUBQ  $8, DI;                       \
	JGE   restVector;                   \
restTail: \
	TESTB $4, AX;                       \
	JEQ   restPair;                     \
	VMOVUPS (R11)(SI*1), X0;            \
	VMOVUPS X0, (R12)(SI*1);            \
	ADDQ  $16, SI;                      \
restPair: \
	TESTB $2, AX;                       \
	JEQ   restSingle;                   \
	VMOVSD (R11)(SI*1), X0;             \
	VMOVSD X0, (R12)(SI*1);             \
	ADDQ  $8, SI;                       \
restSingle: \
	TESTB $1, AX;                       \
	JEQ   restNext;                     \
	VMOVSS (R11)(SI*1), X0;             \
	VMOVSS X0, (R12)(SI*1);             \
restNext: \
	ADDQ  DX, R11;                      \
	ADDQ  DX, R12;                      \
	DECQ  CX;                           \
	JNE   restHead;                     \
rowDone: \
	INCQ  R9;                           \
	CMPQ  R9, rotateArgs_rows(BX);      \
	JLT   row;                          \
done: \
	VZEROUPPER

// BLOCKS does the blocks of a row but for the tail. A vector is so many pairs and takes so many bytes. Heads of so many
// pairs or more are long.
#define BLOCKS(ANGLES4, BLOCK4, ANGLES2, BLOCK2, ANGLES1, BLOCK1, vector, bytes, many) \
	JLT   two;                                     \
	CMPQ  AX, $(many-4*vector);                    \
	JGE   long;                                    \
four: \
	ANGLES4;                                       \
	HEADS(BLOCK4, (4*bytes), (16*vector), fours);  \
	SUBQ  $(4*vector), AX;                         \
	JGE   four;                                    \
two: \
	TESTB $(2*vector), AX;                         \
	JEQ   one;                                     \
	ANGLES2;                                       \
	HEADS(BLOCK2, (2*bytes), (8*vector), twos);    \
one: \
	TESTB $vector, AX;                             \
	JEQ   tail;                                    \
	ANGLES1;                                       \
	HEADS(BLOCK1, bytes, (4*vector), ones);        \
tail:

// LONG_HEADS does head by head what there is of whole blocks of so many angles, and goes on with what is left; an angle is
// for so many elements of a head.
#define LONG_HEADS(BLOCK, angles, elements, left) \
	MOVQ  rotateArgs_pairs(BX), AX;                \
	ANDQ  $~(angles-1), AX;                        \
	SHLQ  $2, AX;                                  \
	LEAQ  (R10)(R13*1), DX;                        \
	MOVQ  rotateArgs_heads(BX), CX;                \
longHead: \
	MOVQ  SI, R11;                                 \
	MOVQ  DI, R12;                                 \
	XORL  R8, R8;                                  \
	PCALIGN $32;                                   \
longBlock: \
	BLOCK;                                         \
	ADDQ  $(4*angles*elements), R11;               \
	ADDQ  $(4*angles*elements), R12;               \
	ADDQ  $(4*angles), R8;                         \
	CMPQ  R8, AX;                                  \
	JLT   longBlock;                               \
	ADDQ  rotateArgs_headStride(BX), SI;           \
	ADDQ  rotateArgs_headStride(BX), DI;           \
	DECQ  CX;                                      \
	JNE   longHead;                                \
	MOVQ  rotateArgs_headStride(BX), DX;           \
	MOVQ  rotateArgs_heads(BX), R8;                \
	IMULQ DX, R8;                                  \
	SUBQ  R8, SI;                                  \
	SUBQ  R8, DI;                                  \
	LEAQ  (SI)(AX*elements), SI;                   \
	LEAQ  (DI)(AX*elements), DI;                   \
	ADDQ  AX, R10;                                 \
	MOVQ  rotateArgs_at(BX), R8;                   \
	MOVQ  rotateArgs_pairs(BX), AX;                \
	JMP   left

// LONG_HALVES is TURN_HALVES with angles from memory.
#define LONG_HALVES(off, signs, a, b, x, y, cos, sin) \
	VMOVUPS off(R10)(R8*1), cos;       \
	VXORPS  off(DX)(R8*1), signs, sin; \
	TURN_HALVES(VECTOR, VECTOR, off, a, b, x, y, cos, sin)

// LONG_PAIRS parts two vectors of pairs that are interleaved into their first and their second elements, in an order within
// lanes of 128 bits which PERMUTE has the angles in too, and puts them together again.
#define LONG_PAIRS(PERMUTE, size, signs, a, b, x, y, cos, sin) \
	VMOVUPS (R11), x;                \
	VMOVUPS size(R11), y;            \
	PERMUTE((R10)(R8*1), cos);       \
	PERMUTE((DX)(R8*1), sin);        \
	VXORPS  signs, sin, sin;         \
	VSHUFPS $0x88, y, x, a;          \
	VSHUFPS $0xDD, y, x, b;          \
	VMULPS  cos, a, x;               \
	VMULPS  sin, b, y;               \
	VMULPS  sin, a, a;               \
	VMULPS  cos, b, b;               \
	VSUBPS  y, x, x;                 \
	VADDPS  a, b, b;                 \
	VUNPCKLPS b, x, a;               \
	VUNPCKHPS b, x, y;               \
	VMOVUPS a, (R12);                \
	VMOVUPS y, size(R12)

// TURN_HALVES rotates a vector of pairs, off bytes behind the start of the block, in registers a and b.
#define TURN_HALVES(LOAD, STORE, off, a, b, x, y, cos, sin) \
	LOAD(off(R11), a);           \
	LOAD(off(R11)(R13*1), b);    \
	VMULPS cos, a, x;            \
	VMULPS sin, b, y;            \
	VMULPS sin, a, a;            \
	VMULPS cos, b, b;            \
	VSUBPS y, x, x;              \
	VADDPS a, b, b;              \
	STORE(x, off(R12));          \
	STORE(b, off(R12)(R13*1))

#define HALVES_ANGLES(LOAD, off, signs, cos, sin) \
	LOAD(off(R10), cos);         \
	LOAD(off(R10)(R13*1), sin);  \
	VXORPS signs, sin, sin

// Two and four vectors of so many bytes.

#define TURN_HALVES2(size, a0, b0, x0, y0, a1, b1, x1, y1, cos0, cos1, sin0, sin1) \
	TURN_HALVES(VECTOR, VECTOR, 0, a0, b0, x0, y0, cos0, sin0);    \
	TURN_HALVES(VECTOR, VECTOR, size, a1, b1, x1, y1, cos1, sin1)

#define TURN_HALVES4(size, a0, b0, x0, y0, a1, b1, x1, y1, cos0, cos1, cos2, cos3, sin0, sin1, sin2, sin3) \
	TURN_HALVES2(size, a0, b0, x0, y0, a1, b1, x1, y1, cos0, cos1, sin0, sin1); \
	TURN_HALVES(VECTOR, VECTOR, 2*size, a0, b0, x0, y0, cos2, sin2);            \
	TURN_HALVES(VECTOR, VECTOR, 3*size, a1, b1, x1, y1, cos3, sin3)

#define HALVES_ANGLES2(size, signs, cos0, cos1, sin0, sin1) \
	HALVES_ANGLES(VECTOR, 0, signs, cos0, sin0);    \
	HALVES_ANGLES(VECTOR, size, signs, cos1, sin1)

#define HALVES_ANGLES4(size, signs, cos0, cos1, cos2, cos3, sin0, sin1, sin2, sin3) \
	HALVES_ANGLES2(size, signs, cos0, cos1, sin0, sin1); \
	HALVES_ANGLES(VECTOR, 2*size, signs, cos2, sin2);    \
	HALVES_ANGLES(VECTOR, 3*size, signs, cos3, sin3)

// PAIRS is TURN_HALVES for pairs that are interleaved.
#define PAIRS(LOAD, STORE, off, x, y, cos, sin) \
	LOAD(off(R11), x);           \
	VPERMILPS $0xB1, x, y;       \
	VMULPS cos, x, x;            \
	VMULPS sin, y, y;            \
	VADDPS y, x, x;              \
	STORE(x, off(R12))

#define PAIRS_ANGLES(LOAD, off, signs, cos, sin) \
	LOAD(off(R10), cos);         \
	LOAD(off(R10)(R13*1), sin);  \
	VMOVSLDUP cos, cos;          \
	VMOVSLDUP sin, sin;          \
	VXORPS signs, sin, sin

// SPREAD loads numbers into every second lane.
#define SPREAD(from, to) VPMOVZXDQ from, to

// Two and four vectors of so many bytes, and their angles, of so many for each.

#define PAIRS2(size, x0, y0, x1, y1, cos0, cos1, sin0, sin1) \
	PAIRS(VECTOR, VECTOR, 0, x0, y0, cos0, sin0);    \
	PAIRS(VECTOR, VECTOR, size, x1, y1, cos1, sin1)

#define PAIRS4(size, x0, y0, x1, y1, x2, y2, x3, y3, cos0, cos1, cos2, cos3, sin0, sin1, sin2, sin3) \
	PAIRS2(size, x0, y0, x1, y1, cos0, cos1, sin0, sin1); \
	PAIRS(VECTOR, VECTOR, 2*size, x2, y2, cos2, sin2);    \
	PAIRS(VECTOR, VECTOR, 3*size, x3, y3, cos3, sin3)

#define PAIRS_ANGLES2(bytes, signs, cos0, cos1, sin0, sin1) \
	PAIRS_ANGLES(SPREAD, 0, signs, cos0, sin0);     \
	PAIRS_ANGLES(SPREAD, bytes, signs, cos1, sin1)

#define PAIRS_ANGLES4(bytes, signs, cos0, cos1, cos2, cos3, sin0, sin1, sin2, sin3) \
	PAIRS_ANGLES2(bytes, signs, cos0, cos1, sin0, sin1); \
	PAIRS_ANGLES(SPREAD, 2*bytes, signs, cos2, sin2);    \
	PAIRS_ANGLES(SPREAD, 3*bytes, signs, cos3, sin3)

// AVX2

#define SIGNS_AVX2 VBROADCASTSD rotateArgs_signs(BX), Y0

#define HALVES_ANGLES1_AVX2 \
	SIGNS_AVX2;                           \
	HALVES_ANGLES(VECTOR, 0, Y0, Y8, Y12)

#define HALVES_ANGLES2_AVX2 \
	SIGNS_AVX2;                               \
	HALVES_ANGLES2(32, Y0, Y8, Y9, Y12, Y13)

#define HALVES_ANGLES4_AVX2 \
	SIGNS_AVX2;                                                   \
	HALVES_ANGLES4(32, Y0, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)

#define HALVES1_AVX2 TURN_HALVES(VECTOR, VECTOR, 0, Y0, Y1, Y2, Y3, Y8, Y12)
#define HALVES2_AVX2 TURN_HALVES2(32, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y12, Y13)
#define HALVES4_AVX2 TURN_HALVES4(32, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)

#define HALVES_QUAD TURN_HALVES(VECTOR, VECTOR, 0, X0, X1, X2, X3, X8, X12)
#define HALVES_PAIR TURN_HALVES(PAIR, PAIR, 0, X0, X1, X2, X3, X8, X12)
#define HALVES_SINGLE TURN_HALVES(SINGLE, SINGLE, 0, X0, X1, X2, X3, X8, X12)

// HALVES_TAIL does up to 7 pairs.
#define HALVES_TAIL \
	TESTB $7, AX;                              \
	JEQ   rest;                                \
	SIGNS_AVX2;                                \
	VMOVAPS Y0, Y7;                            \
	TESTB $4, AX;                              \
	JEQ   pair;                                \
	HALVES_ANGLES(VECTOR, 0, X7, X8, X12);     \
	HEADS(HALVES_QUAD, 16, 16, quads);         \
pair: \
	TESTB $2, AX;                              \
	JEQ   single;                              \
	HALVES_ANGLES(PAIR, 0, X7, X8, X12);       \
	HEADS(HALVES_PAIR, 8, 8, pairs);           \
single: \
	TESTB $1, AX;                              \
	JEQ   rest;                                \
	HALVES_ANGLES(SINGLE, 0, X7, X8, X12);     \
	HEADS(HALVES_SINGLE, 4, 4, singles)

#define LONG_HALVES_AVX2 \
	LONG_HALVES(0, Y15, Y0, Y1, Y2, Y3, Y8, Y12);          \
	LONG_HALVES(32, Y15, Y4, Y5, Y6, Y7, Y9, Y13)

// func rotateHalvesAVX2(a *rotateArgs) (done int)
// for i := range rows { for h := range heads { dst[i][h] = src[i][h] rotated by angles[p(i)] } }
TEXT ·rotateHalvesAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	ROTATE_BEGIN
row:
	ROTATE_ROW(8)
	BLOCKS(HALVES_ANGLES4_AVX2, HALVES4_AVX2, HALVES_ANGLES2_AVX2, HALVES2_AVX2, HALVES_ANGLES1_AVX2, HALVES1_AVX2, 8, 32, 64)
	HALVES_TAIL
	ROTATE_NEXT
	MOVQ R9, done+8(FP)
	RET
long:
	VBROADCASTSD rotateArgs_signs(BX), Y15
	LONG_HEADS(LONG_HALVES_AVX2, 16, 1, one)

#define PAIRS_ANGLES1_AVX2 \
	SIGNS_AVX2;                          \
	PAIRS_ANGLES(SPREAD, 0, Y0, Y8, Y12)

#define PAIRS_ANGLES2_AVX2 \
	SIGNS_AVX2;                             \
	PAIRS_ANGLES2(16, Y0, Y8, Y9, Y12, Y13)

#define PAIRS_ANGLES4_AVX2 \
	SIGNS_AVX2;                                                  \
	PAIRS_ANGLES4(16, Y0, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)

#define PAIRS1_AVX2 PAIRS(VECTOR, VECTOR, 0, Y0, Y1, Y8, Y12)
#define PAIRS2_AVX2 PAIRS2(32, Y0, Y1, Y2, Y3, Y8, Y9, Y12, Y13)
#define PAIRS4_AVX2 PAIRS4(32, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)

#define PAIRS_QUAD PAIRS(VECTOR, VECTOR, 0, X0, X1, X8, X12)
#define PAIRS_PAIR PAIRS(PAIR, PAIR, 0, X0, X1, X8, X12)

// PAIRS_TAIL does up to 3 pairs.
#define PAIRS_TAIL \
	TESTB $3, AX;                              \
	JEQ   rest;                                \
	SIGNS_AVX2;                                \
	VMOVAPS Y0, Y7;                            \
	TESTB $2, AX;                              \
	JEQ   single;                              \
	PAIRS_ANGLES(SPREAD, 0, X7, X8, X12);      \
	HEADS(PAIRS_QUAD, 16, 8, quads);           \
single: \
	TESTB $1, AX;                              \
	JEQ   rest;                                \
	PAIRS_ANGLES(SINGLE, 0, X7, X8, X12);      \
	HEADS(PAIRS_PAIR, 8, 4, pairs)

#define PERMUTE_AVX2(from, to) VPERMPD $0xD8, from, to
#define LONG_PAIRS_AVX2 LONG_PAIRS(PERMUTE_AVX2, 32, Y15, Y0, Y1, Y2, Y3, Y8, Y12)

// func rotatePairsAVX2(a *rotateArgs) (done int)
// for i := range rows { for h := range heads { dst[i][h] = src[i][h] rotated by angles[p(i)] } }
TEXT ·rotatePairsAVX2(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	ROTATE_BEGIN
row:
	ROTATE_ROW(4)
	BLOCKS(PAIRS_ANGLES4_AVX2, PAIRS4_AVX2, PAIRS_ANGLES2_AVX2, PAIRS2_AVX2, PAIRS_ANGLES1_AVX2, PAIRS1_AVX2, 4, 32, 64)
	PAIRS_TAIL
	ROTATE_NEXT
	MOVQ R9, done+8(FP)
	RET
long:
	VBROADCASTSS rotateArgs_signs+4(BX), Y15
	LONG_HEADS(LONG_PAIRS_AVX2, 8, 2, one)

// AVX-512

#define HALVES_ANGLES1_512 HALVES_ANGLES(VECTOR, 0, Z16, Z8, Z12)
#define HALVES_ANGLES2_512 HALVES_ANGLES2(64, Z16, Z8, Z9, Z12, Z13)
#define HALVES_ANGLES4_512 HALVES_ANGLES4(64, Z16, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)

#define HALVES1_512 TURN_HALVES(VECTOR, VECTOR, 0, Z0, Z1, Z2, Z3, Z8, Z12)
#define HALVES2_512 TURN_HALVES2(64, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z12, Z13)
#define HALVES4_512 TURN_HALVES4(64, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)

#define LONG_HALVES_AVX512 \
	LONG_HALVES(0, Z16, Z0, Z1, Z2, Z3, Z8, Z12);          \
	LONG_HALVES(64, Z16, Z4, Z5, Z6, Z7, Z9, Z13)

// func rotateHalvesAVX512(a *rotateArgs) (done int)
// for i := range rows { for h := range heads { dst[i][h] = src[i][h] rotated by angles[p(i)] } }
TEXT ·rotateHalvesAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	VBROADCASTSD rotateArgs_signs(BX), Z16
	ROTATE_BEGIN
row:
	ROTATE_ROW(16)
	BLOCKS(HALVES_ANGLES4_512, HALVES4_512, HALVES_ANGLES2_512, HALVES2_512, HALVES_ANGLES1_512, HALVES1_512, 16, 64, 128)
	TESTB $8, AX
	JEQ   parts
	HALVES_ANGLES1_AVX2
	HEADS(HALVES1_AVX2, 32, 32, eights)
parts:
	HALVES_TAIL
	ROTATE_NEXT
	MOVQ R9, done+8(FP)
	RET
long:
	LONG_HEADS(LONG_HALVES_AVX512, 32, 1, one)

#define PAIRS_ANGLES1_512 PAIRS_ANGLES(SPREAD, 0, Z16, Z8, Z12)
#define PAIRS_ANGLES2_512 PAIRS_ANGLES2(32, Z16, Z8, Z9, Z12, Z13)
#define PAIRS_ANGLES4_512 PAIRS_ANGLES4(32, Z16, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)

#define PAIRS1_512 PAIRS(VECTOR, VECTOR, 0, Z0, Z1, Z8, Z12)
#define PAIRS2_512 PAIRS2(64, Z0, Z1, Z2, Z3, Z8, Z9, Z12, Z13)
#define PAIRS4_512 PAIRS4(64, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)

#define PERMUTE_AVX512(from, to) VPERMPD from, Z18, to
#define LONG_PAIRS_AVX512 LONG_PAIRS(PERMUTE_AVX512, 64, Z17, Z0, Z1, Z2, Z3, Z8, Z12)

// func rotatePairsAVX512(a *rotateArgs) (done int)
// for i := range rows { for h := range heads { dst[i][h] = src[i][h] rotated by angles[p(i)] } }
TEXT ·rotatePairsAVX512(SB), NOSPLIT, $0-16
	MOVQ a+0(FP), BX
	VBROADCASTSD rotateArgs_signs(BX), Z16
	ROTATE_BEGIN
row:
	ROTATE_ROW(8)
	BLOCKS(PAIRS_ANGLES4_512, PAIRS4_512, PAIRS_ANGLES2_512, PAIRS2_512, PAIRS_ANGLES1_512, PAIRS1_512, 8, 64, 64)
	TESTB $4, AX
	JEQ   parts
	PAIRS_ANGLES1_AVX2
	HEADS(PAIRS1_AVX2, 32, 16, quads4)
parts:
	PAIRS_TAIL
	ROTATE_NEXT
	MOVQ R9, done+8(FP)
	RET
long:
	VBROADCASTSS rotateArgs_signs+4(BX), Z17
	VPMOVZXBQ ·inTurn(SB), Z18
	LONG_HEADS(LONG_PAIRS_AVX512, 16, 2, one)
