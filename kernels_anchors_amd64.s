//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// Anchors are sines and cosines of multiples of frequencies: what exact.Waves.Anchors and exact.Turns.SinCos do, operation by
// operation, but for terms that are 0 there. Two vectors of columns are done at a time, as each step of a polynomial has to
// wait for the one before. There are no tails, since columns are a multiple of 16. Constants come from memory.
//
// Registers:
//	BX   arguments                       R8   high
//	DI   x                               R9   low
//	SI   y                               R10  offset
//	AX   columns left                    R11  sin, or 0
//	R12  terms                           R13  twice

#define ANCHORS_BEGIN \
	MOVQ anchorArgs_x(BX), DI;      \
	MOVQ anchorArgs_y(BX), SI;      \
	MOVQ anchorArgs_high(BX), R8;   \
	MOVQ anchorArgs_low(BX), R9;    \
	MOVQ anchorArgs_offset(BX), R10; \
	MOVQ anchorArgs_sin(BX), R11;   \
	MOVQ anchorArgs_twice(BX), R13; \
	MOVQ anchorArgs_terms(BX), R12; \
	MOVQ anchorArgs_cols(BX), AX

// ANGLE sets r to high:low times pos, its upper half, plus the offset: bits.Mul64 of each low and pos, without carries, and
// the lower halves of high times pos.
#define ANGLE(at, r, a, b, c, pos, posHigh) \
	VBROADCASTSD anchorArgs_pos(BX), pos;        \
	VBROADCASTSD anchorArgs_posHigh(BX), posHigh; \
	VMOVUPD  at(R9), a;        \
	VPSRLQ   $32, a, b;        \
	VPMULUDQ pos, a, c;        \
	VPSRLQ   $32, c, c;        \
	VPMULUDQ posHigh, a, a;    \
	VPMULUDQ posHigh, b, r;    \
	VPMULUDQ pos, b, b;        \
	VPADDQ   c, b, b;          \
	VPSLLQ   $32, b, c;        \
	VPSRLQ   $32, c, c;        \
	VPADDQ   c, a, a;          \
	VPSRLQ   $32, a, a;        \
	VPSRLQ   $32, b, b;        \
	VPADDQ   a, r, r;          \
	VPADDQ   b, r, r;          \
	VMOVUPD  at(R8), a;        \
	VPSRLQ   $32, a, b;        \
	VPMULUDQ pos, a, c;        \
	VPMULUDQ pos, b, b;        \
	VPMULUDQ posHigh, a, a;    \
	VPADDQ   a, b, b;          \
	VPSLLQ   $32, b, b;        \
	VPADDQ   c, r, r;          \
	VPADDQ   b, r, r;          \
	VPADDQ   at(R10), r, r

// QUARTERS sets n to the quarter turns next to r, and r to what is left, in [-1/8, 1/8) turns of 2^64.
#define QUARTERS(r, n, a) \
	VBROADCASTSD anchorArgs_eighth(BX), n; \
	VPADDQ   r, n, n;          \
	VPSRLQ   $62, n, n;        \
	VPSLLQ   $62, n, a;        \
	VPSUBQ   a, r, r

// SQUARE is what exact.sinCosNear0 begins with, for an angle r that is a float64 by now, in turns of 2^64.
#define SQUARE(r, sin, cos, z, half, a, b) \
	VBROADCASTSD anchorArgs_unit(BX), a; \
	VBROADCASTSD anchorArgs_half(BX), b; \
	VMULPD   a, r, r;          \
	VMULPD   r, r, z;          \
	VMULPD   z, b, half;       \
	VBROADCASTSD (R12), sin;   \
	VBROADCASTSD 8(R12), cos

// TERM does a step of its polynomials, for both vectors.
#define TERM(k, p1, q1, z1, p2, q2, z2, a, b) \
	VBROADCASTSD (16*k)(R12), a;   \
	VBROADCASTSD (16*k+8)(R12), b; \
	VMULPD   z1, p1, p1;       \
	VMULPD   z1, q1, q1;       \
	VMULPD   z2, p2, p2;       \
	VMULPD   z2, q2, q2;       \
	VADDPD   a, p1, p1;        \
	VADDPD   b, q1, q1;        \
	VADDPD   a, p2, p2;        \
	VADDPD   b, q2, q2

#define TERMS(p1, q1, z1, p2, q2, z2, a, b) \
	TERM(1, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(2, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(3, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(4, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(5, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(6, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(7, p1, q1, z1, p2, q2, z2, a, b)

// SUMS is what it ends with, without e: sin and cos were the polynomials.
#define SUMS(r, sin, cos, z, half, a, b) \
	VMULPD   z, r, a;          \
	VMULPD   sin, a, sin;      \
	VADDPD   r, sin, sin;      \
	VMULPD   z, z, z;          \
	VMULPD   cos, z, cos;      \
	VBROADCASTSD anchorArgs_one(BX), a; \
	VSUBPD   half, a, b;       \
	VSUBPD   b, a, a;          \
	VSUBPD   half, a, a;       \
	VADDPD   cos, a, a;        \
	VADDPD   a, b, cos

// TURN is exact.quadrant, without a branch as there.
#define TURN(n, sin, cos, a, b) \
	VPSLLQ   $63, n, a;        \
	VPSRAD   $31, a, a;        \
	VPSHUFD  $0xF5, a, a;      \
	VXORPD   sin, cos, b;      \
	VANDPD   a, b, b;          \
	VXORPD   b, sin, sin;      \
	VXORPD   b, cos, cos;      \
	VPSRLQ   $1, n, a;         \
	VXORPD   a, n, n;          \
	VPSLLQ   $63, a, a;        \
	VPSLLQ   $63, n, n;        \
	VXORPD   a, sin, sin;      \
	VXORPD   n, cos, cos

// AHEAD makes of a cosine the sine a position further on.
#define AHEAD(at, sin, cos, a) \
	VBROADCASTSD anchorArgs_half(BX), a; \
	VMULPD   at(R13), a, a;    \
	VMULPD   a, sin, a;        \
	VMULPD   at(R11), cos, cos; \
	VADDPD   cos, a, cos

// FLOAT_AVX2 is what FLOAT_AVX512 does, for |r| < 2^62.
#define FLOAT_AVX2(r, a, b) \
	VBROADCASTSD anchorArgs_lowBits(BX), a;  \
	VBROADCASTSD anchorArgs_highBits(BX), b; \
	VPBLENDD $0x55, r, a, a; \
	VPSRLQ   $32, r, r;      \
	VXORPD   b, r, r;        \
	VBROADCASTSD anchorArgs_both(BX), b; \
	VSUBPD   b, r, r;        \
	VADDPD   a, r, r

#define FLOAT_AVX512(r, a, b) VCVTQQ2PD r, r

// ANCHORS does all columns, two vectors of size bytes at a time.
#define ANCHORS(FLOAT, size, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15) \
	ANCHORS_BEGIN;                                  \
	PCALIGN $32;                                    \
vectors: \
	ANGLE(0, v0, v4, v5, v6, v7, v8);               \
	ANGLE(size, v2, v9, v10, v11, v7, v8);          \
	QUARTERS(v0, v1, v4);                           \
	QUARTERS(v2, v3, v5);                           \
	FLOAT(v0, v6, v7);                              \
	FLOAT(v2, v8, v9);                              \
	SQUARE(v0, v4, v5, v6, v7, v12, v13);           \
	SQUARE(v2, v8, v9, v10, v11, v12, v13);         \
	TERMS(v4, v5, v6, v8, v9, v10, v12, v13);       \
	SUMS(v0, v4, v5, v6, v7, v12, v13);             \
	SUMS(v2, v8, v9, v10, v11, v14, v15);           \
	TURN(v1, v4, v5, v12, v13);                     \
	TURN(v3, v8, v9, v14, v15);                     \
	VMOVUPD v4, (DI);                               \
	VMOVUPD v8, size(DI);                           \
	TESTQ R11, R11;                                 \
	JEQ  put;                                       \
	AHEAD(0, v4, v5, v12);                          \
	AHEAD(size, v8, v9, v14);                       \
	ADDQ $(2*size), R11;                            \
	ADDQ $(2*size), R13;                            \
put: \
	VMOVUPD v5, (SI);                               \
	VMOVUPD v9, size(SI);                           \
	ADDQ $(2*size), DI;                             \
	ADDQ $(2*size), SI;                             \
	ADDQ $(2*size), R8;                             \
	ADDQ $(2*size), R9;                             \
	ADDQ $(2*size), R10;                            \
	SUBQ $(size/4), AX;                             \
	JNE  vectors;                                   \
	VZEROUPPER

// func anchorsAVX2(a *anchorArgs)
// for j := range x { sin, cos := angle(j, pos).SinCos(); x[j], y[j] = sin, sin*twice[j]/2 + cos*sin[j] }
TEXT ·anchorsAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	ANCHORS(FLOAT_AVX2, 32, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)
	RET

// func anchorsAVX512(a *anchorArgs)
// for j := range x { sin, cos := angle(j, pos).SinCos(); x[j], y[j] = sin, sin*twice[j]/2 + cos*sin[j] }
TEXT ·anchorsAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	ANCHORS(FLOAT_AVX512, 64, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)
	RET
