//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "angles_amd64.h"

// Anchors are sines and cosines of multiples of frequencies: what exact.Waves.Anchors does, operation by operation, for two
// vectors of columns at a time. There are no tails, since columns are a multiple of 16.
//
// Registers:
//	BX   arguments                       R8   high
//	DI   x                               R9   low
//	SI   y                               R10  offset
//	AX   columns left                    R11  sin, or 0
//	R12  angles                          R13  twice

#define ANCHORS_BEGIN \
	MOVQ anchorArgs_x(BX), DI;      \
	MOVQ anchorArgs_y(BX), SI;      \
	MOVQ anchorArgs_high(BX), R8;   \
	MOVQ anchorArgs_low(BX), R9;    \
	MOVQ anchorArgs_offset(BX), R10; \
	MOVQ anchorArgs_sin(BX), R11;   \
	MOVQ anchorArgs_twice(BX), R13; \
	MOVQ anchorArgs_angles(BX), R12; \
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

// AHEAD makes of a cosine the sine a position further on.
#define AHEAD(at, sin, cos, a) \
	VBROADCASTSD angles_half(R12), a; \
	VMULPD   at(R13), a, a;    \
	VMULPD   a, sin, a;        \
	VMULPD   at(R11), cos, cos; \
	VADDPD   cos, a, cos

// ANCHORS does all columns, two vectors of size bytes at a time.
#define ANCHORS(FLOAT, TURN, size, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15) \
	ANCHORS_BEGIN;                                  \
	PCALIGN $32;                                    \
vectors: \
	ANGLE(0, v0, v4, v5, v6, v7, v8);               \
	ANGLE(size, v2, v9, v10, v11, v7, v8);          \
	SINCOS(FLOAT, TURN, v0, v1, v4, v5, v6, v7, v2, v3, v8, v9, v10, v11, v12, v13); \
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
	ANCHORS(FLOAT_AVX2, TURN_AVX2, 32, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15)
	RET

// func anchorsAVX512(a *anchorArgs)
// for j := range x { sin, cos := angle(j, pos).SinCos(); x[j], y[j] = sin, sin*twice[j]/2 + cos*sin[j] }
TEXT ·anchorsAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	ANCHORS(FLOAT_AVX512, TURN_AVX512, 64, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)
	RET
