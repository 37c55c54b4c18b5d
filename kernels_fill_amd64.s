//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "philox_amd64.h"
#include "angles_amd64.h"

// Fills are random numbers: what philox.Uniform and philox.Normal do, operation by operation, but for terms that are 0 there. A group is
// 32 uniform numbers or 64 normal ones: what one vector of counters makes, or two, with AVX-512, and two or four with AVX2. There are no
// tails, and lanes have the order in which unpacking the result puts them right. Constants come from memory.
//
// With AVX2 counters go two vectors abreast and polynomials eight, with AVX-512 polynomials two, as each step has to wait for the one before. On a
// Xeon, ns per number in cache, uniform and normal: plain Go 6.1 and 20.5, AVX-512 0.56 and 2.0, 2.5 of one vector of counters at a time, and AVX2 by
// one 0.76 and 2.9. On a Zen 3, AVX2 by one 0.91 and 4.6, and so 0.66 and 2.8; beside a neighbour on the same core 1.02 and 4.9, 0.75 and 3.4 to 4.1.
//
// Registers:
//	BX   arguments     R12  angles
//	DI   in dst        R13  logarithms
//	CX   groups left   R8   fillWork, and AX where in its arrays (Normal, AVX2)
//
//	0 to 3  words of counters          14, 15  multipliers, and then the distances from 0 (Normal, AVX-512)
//	4, 5    in a round, for a moment   6 to 9  words of the second of two vectors of counters (AVX2)

#define KEY0(round) (fillArgs_keys+8*(round))(BX)
#define KEY1(round) (fillArgs_keys+8*(round)+4)(BX)

// FILL_BEGIN loads the registers.
#define FILL_BEGIN \
	MOVQ fillArgs_dst(BX), DI;         \
	MOVQ fillArgs_groups(BX), CX;      \
	MOVQ fillArgs_angles(BX), R12;     \
	MOVQ fillArgs_logarithms(BX), R13

// FILL_END goes on with the next group.
#define FILL_END(size, group) \
	ADDQ $(4*size), DI; \
	DECQ CX;            \
	JNE  group;         \
	VZEROUPPER

// COUNTERS loads all words of a vector of counters, and the multipliers.
#define COUNTERS(c0, c1, c2, c3, v14, v15) \
	VMOVUPD  fillArgs_counters(BX), c0;         \
	VBROADCASTSS fillArgs_words(BX), c1;        \
	VBROADCASTSS (fillArgs_words+4)(BX), c2;    \
	VBROADCASTSS (fillArgs_words+8)(BX), c3;    \
	VBROADCASTSS fillArgs_multipliers(BX), v14; \
	VBROADCASTSS (fillArgs_multipliers+4)(BX), v15

// ROUNDS leaves their words in c2, c3, c0 and c1, and those of another one likewise.
#define ROUNDS(ROUND, c0, c1, c2, c3, d0, d1, d2, d3) \
	ROUND(0, c0, c1, c2, c3, d0, d1, d2, d3); \
	ROUND(1, c1, c2, c3, c0, d1, d2, d3, d0); \
	ROUND(2, c2, c3, c0, c1, d2, d3, d0, d1); \
	ROUND(3, c3, c0, c1, c2, d3, d0, d1, d2); \
	ROUND(4, c0, c1, c2, c3, d0, d1, d2, d3); \
	ROUND(5, c1, c2, c3, c0, d1, d2, d3, d0); \
	ROUND(6, c2, c3, c0, c1, d2, d3, d0, d1); \
	ROUND(7, c3, c0, c1, c2, d3, d0, d1, d2); \
	ROUND(8, c0, c1, c2, c3, d0, d1, d2, d3); \
	ROUND(9, c1, c2, c3, c0, d1, d2, d3, d0)

#define TWO_AVX2(round, c0, c1, c2, c3, d0, d1, d2, d3) \
	ROUND_AVX2(round, c0, c1, c2, c3); \
	ROUND_AVX2(round, d0, d1, d2, d3)

#define ONE_AVX512(round, c0, c1, c2, c3, d0, d1, d2, d3) \
	ROUND_AVX512(round, c0, c1, c2, c3, Z4, Z5)

// WORDS counts: with AVX2 two vectors, whose words it leaves in Y2, Y3, Y0 and Y1, and in Y8, Y9, Y6 and Y7.

#define WORDS_AVX2 \
	COUNTERS(Y0, Y1, Y2, Y3, Y14, Y15); \
	VBROADCASTSD fillArgs_step(BX), Y4; \
	VPADDQ   Y0, Y4, Y6;                \
	VPADDQ   Y6, Y4, Y4;                \
	VMOVUPD  Y4, fillArgs_counters(BX); \
	VMOVAPD  Y1, Y7;                    \
	VMOVAPD  Y2, Y8;                    \
	VMOVAPD  Y3, Y9;                    \
	ROUNDS(TWO_AVX2, Y0, Y1, Y2, Y3, Y6, Y7, Y8, Y9)

#define WORDS_AVX512(c0, c1, c2, c3) \
	COUNTERS(c0, c1, c2, c3, Z14, Z15); \
	VBROADCASTSD fillArgs_step(BX), Z4; \
	VPADDQ   c0, Z4, Z4;                \
	VMOVUPD  Z4, fillArgs_counters(BX); \
	ROUNDS(ONE_AVX512, c0, c1, c2, c3, c0, c1, c2, c3)

// UPPER has the upper half of each lane of x be that of b, whose lower half is 0.
#define UPPER_AVX2(b, x) VPBLENDD $0xAA, b, x, x
#define UPPER_AVX512(b, x) VPTERNLOGQ.BCST $0xEC, fillArgs_lower(BX), b, x

// BOTH has word b come behind word a in each lane.
#define BOTH(UPPER, a, b) \
	VPSLLQ   $32, b, b; \
	UPPER(b, a)

// EVEN makes of words the odd multiples that philox.Uniform has, and stores them, with constants that EVEN_BEGIN loads. SPREAD does so with all
// words of a vector of counters.

#define EVEN_BEGIN(odd, scale) \
	FILL_BEGIN;                            \
	VBROADCASTSS fillArgs_odd(BX), odd;    \
	VBROADCASTSS fillArgs_scale(BX), scale

#define EVEN(off, x, odd, scale) \
	VPSRLD   $8, x, x;    \
	VPADDD   x, x, x;     \
	VPSUBD   odd, x, x;   \
	VCVTDQ2PS x, x;       \
	VMULPS   scale, x, x; \
	VMOVUPS  x, off(DI)

#define SPREAD(UPPER, size, off, v0, v1, v2, v3, v4, v5, odd, scale) \
	BOTH(UPPER, v2, v3);              \
	BOTH(UPPER, v0, v1);              \
	VPUNPCKLQDQ v0, v2, v4;           \
	VPUNPCKHQDQ v0, v2, v5;           \
	EVEN(off, v4, odd, scale);        \
	EVEN(off+2*size, v5, odd, scale)

// REDUCE makes of a word what exact.Log does with it, plus 1/2 and over 2^32: 2^n * (1+x), where 1+x is at most sqrt(2) and
// above half of that. The carry takes all above that to the next exponent.
#define REDUCE(UPPER, x, n, a) \
	VBROADCASTSD logarithms_integer(R13), n;    \
	VBROADCASTSD logarithms_half(R13), a;       \
	UPPER(n, x);                                \
	VSUBPD   a, x, x;                           \
	VBROADCASTSD logarithms_carry(R13), a;      \
	VPADDQ   a, x, n;                           \
	VPSRLQ   $52, n, n;                         \
	VPSLLQ   $52, n, a;                         \
	VPSUBQ   a, x, x;                           \
	VBROADCASTSD logarithms_one(R13), a;        \
	VPADDQ   a, x, x;                           \
	VSUBPD   a, x, x;                           \
	VBROADCASTSD logarithms_integer(R13), a;    \
	VORPD    a, n, n;                           \
	VBROADCASTSD logarithms_exponent(R13), a;   \
	VSUBPD   a, n, n

// QUOTIENT begins with its polynomial p.
#define QUOTIENT(x, s, z, p) \
	VBROADCASTSD logarithms_two(R13), p;        \
	VADDPD   x, p, p;                           \
	VDIVPD   p, x, s;                           \
	VBROADCASTSD logarithms_terms(R13), p;      \
	VMULPD   s, s, z

// POWER does a step of it, for both vectors.
#define POWER(k, p1, z1, p2, z2, a) \
	VBROADCASTSD (logarithms_terms+8*k)(R13), a; \
	VMULPD   z1, p1, p1;                         \
	VMULPD   z2, p2, p2;                         \
	VADDPD   a, p1, p1;                          \
	VADDPD   a, p2, p2

#define POWERS(p1, z1, p2, z2, a) \
	POWER(1, p1, z1, p2, z2, a); \
	POWER(2, p1, z1, p2, z2, a); \
	POWER(3, p1, z1, p2, z2, a); \
	POWER(4, p1, z1, p2, z2, a); \
	POWER(5, p1, z1, p2, z2, a); \
	POWER(6, p1, z1, p2, z2, a); \
	POWER(7, p1, z1, p2, z2, a); \
	POWER(8, p1, z1, p2, z2, a); \
	POWER(9, p1, z1, p2, z2, a); \
	POWER(10, p1, z1, p2, z2, a); \
	VMULPD   z1, p1, p1;         \
	VMULPD   z2, p2, p2

// ROOT is what exact.Log ends with, and the square root of -2 times that, in r.
#define ROOT(x, n, s, z, p, a, r) \
	VMULPD   x, x, z;                           \
	VBROADCASTSD angles_half(R12), a;           \
	VMULPD   a, z, z;                           \
	VADDPD   z, p, p;                           \
	VMULPD   s, p, p;                           \
	VBROADCASTSD logarithms_ln2Lo(R13), a;      \
	VMULPD   n, a, a;                           \
	VADDPD   a, p, p;                           \
	VSUBPD   p, z, z;                           \
	VSUBPD   x, z, z;                           \
	VBROADCASTSD logarithms_ln2Hi(R13), a;      \
	VMULPD   n, a, a;                           \
	VSUBPD   a, z, z;                           \
	VADDPD   z, z, z;                           \
	VSQRTPD  z, r

// SIZED makes of a sine and a cosine two normally distributed numbers, and narrows them.
#define SIZED(NARROW, r, sin, cos, a, odd, even) \
	VBROADCASTSD fillArgs_std(BX), a; \
	VMULPD   r, sin, sin;             \
	VMULPD   r, cos, cos;             \
	VMULPD   a, sin, sin;             \
	VMULPD   a, cos, cos;             \
	NARROW   sin, odd;                \
	NARROW   cos, even

// DISTANCES makes of words what philox.Normal multiplies sines and cosines by, in v14 and v15.
#define DISTANCES(UPPER, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15) \
	REDUCE(UPPER, v2, v4, v12);                    \
	REDUCE(UPPER, v0, v8, v13);                    \
	QUOTIENT(v2, v5, v6, v7);                      \
	QUOTIENT(v0, v9, v10, v11);                    \
	POWERS(v7, v6, v11, v10, v12);                 \
	ROOT(v2, v4, v5, v6, v7, v12, v14);            \
	ROOT(v0, v8, v9, v10, v11, v13, v15)

// DIRECTIONS does all that is left; h are vectors of half the size, parts of those of the same numbers.
#define DIRECTIONS(FLOAT, TURN, NARROW, size, off, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, h0, h1, h2, h3, h4, h5, h6, h7) \
	VPSLLQ   $32, v3, v3;                          \
	VPSLLQ   $32, v1, v1;                          \
	SINCOS(FLOAT, TURN, v3, v2, v4, v5, v6, v7, v1, v0, v8, v9, v10, v11, v12, v13); \
	SIZED(NARROW, v14, v4, v5, v12, h0, h1);       \
	SIZED(NARROW, v15, v8, v9, v13, h2, h3);       \
	MINGLE(size, off, h0, h1, h2, h3, h4, h5, h6, h7)

// MINGLE stores numbers in their order: odd and even ones of words 0 and 1 and of words 2 and 3.
#define MINGLE(size, off, odd0, even0, odd1, even1, a, b, c, d) \
	VUNPCKLPS odd0, even0, a;        \
	VUNPCKHPS odd0, even0, b;        \
	VUNPCKLPS odd1, even1, c;        \
	VUNPCKHPS odd1, even1, d;        \
	VUNPCKLPD c, a, odd0;            \
	VUNPCKHPD c, a, even0;           \
	VUNPCKLPD d, b, odd1;            \
	VUNPCKHPD d, b, even1;           \
	VMOVUPS  odd0, off(DI);          \
	VMOVUPS  even0, (off+size)(DI);  \
	VMOVUPS  odd1, (off+2*size)(DI); \
	VMOVUPS  even1, (off+3*size)(DI)

// AVX2 has too few registers for as much abreast: what eight pairs of vectors of words become goes through fillWork, step by step, and each step is
// done to all of them.

// POWER8 is POWER for eight vectors p, whose z are in memory; TIMES8 is their product with z.

#define POWER8(k) \
	VBROADCASTSD (logarithms_terms+8*k)(R13), Y8; \
	TIMES8;                                       \
	VADDPD   Y8, Y0, Y0;                          \
	VADDPD   Y8, Y1, Y1;                          \
	VADDPD   Y8, Y2, Y2;                          \
	VADDPD   Y8, Y3, Y3;                          \
	VADDPD   Y8, Y4, Y4;                          \
	VADDPD   Y8, Y5, Y5;                          \
	VADDPD   Y8, Y6, Y6;                          \
	VADDPD   Y8, Y7, Y7

#define TIMES8 \
	VMULPD   fillWork_z(R8), Y0, Y0;              \
	VMULPD   (fillWork_z+32)(R8), Y1, Y1;         \
	VMULPD   (fillWork_z+64)(R8), Y2, Y2;         \
	VMULPD   (fillWork_z+96)(R8), Y3, Y3;         \
	VMULPD   (fillWork_z+128)(R8), Y4, Y4;        \
	VMULPD   (fillWork_z+160)(R8), Y5, Y5;        \
	VMULPD   (fillWork_z+192)(R8), Y6, Y6;        \
	VMULPD   (fillWork_z+224)(R8), Y7, Y7

// TERM4 is TERM for four vectors.
#define TERM4(k) \
	TERM(k, Y0, Y1, Y2, Y3, Y4, Y5, Y12, Y13);    \
	TERM(k, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13)

// AROUND ends SINCOS for vector i of those at AX, and is SIZED then.
#define AROUND(i, sin, cos, z, odd, even) \
	VMOVUPD  (fillWork_x+32*i)(R8)(AX*1), Y14;    \
	VMOVUPD  (fillWork_angles+32*i)(R8)(AX*1), Y15; \
	SUMS(Y14, sin, cos, z, Y15, Y12, Y13);        \
	VMOVUPD  (fillWork_n+32*i)(R8)(AX*1), Y14;    \
	TURN_AVX2(Y14, sin, cos, Y12, Y13);           \
	VMOVUPD  (fillWork_s+32*i)(R8)(AX*1), Y15;    \
	SIZED(VCVTPD2PSY, Y15, sin, cos, Y12, odd, even)

// func uniformAVX2(a *fillArgs)
// for i := range dst { dst[i] = float32(word(i)>>8*2 - odd) * scale }
TEXT ·uniformAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	EVEN_BEGIN(Y12, Y13)
	PCALIGN $32
group:
	WORDS_AVX2
	SPREAD(UPPER_AVX2, 16, 0, Y0, Y1, Y2, Y3, Y4, Y5, Y12, Y13)
	SPREAD(UPPER_AVX2, 16, 64, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13)
	FILL_END(32, group)
	RET

// func uniformAVX512(a *fillArgs)
// for i := range dst { dst[i] = float32(word(i)>>8*2 - odd) * scale }
TEXT ·uniformAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	EVEN_BEGIN(Z6, Z7)
	PCALIGN $32
group:
	WORDS_AVX512(Z0, Z1, Z2, Z3)
	SPREAD(UPPER_AVX512, 32, 0, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	FILL_END(32, group)
	RET

// func normalAVX2(a *fillArgs)
// for i := 0; i < len(dst); i += 2 { r := sqrt(-2 * log(word(i))); dst[i], dst[i+1] = r*cos(word(i+1))*std, r*sin(word(i+1))*std }
TEXT ·normalAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	FILL_BEGIN
	MOVQ fillArgs_work(BX), R8
group:
	XORL AX, AX
	PCALIGN $32
words:
	WORDS_AVX2
	VMOVUPD Y2, fillWork_x(R8)(AX*1)
	VMOVUPD Y0, (fillWork_x+32)(R8)(AX*1)
	VMOVUPD Y8, (fillWork_x+64)(R8)(AX*1)
	VMOVUPD Y6, (fillWork_x+96)(R8)(AX*1)
	VMOVUPD Y3, fillWork_angles(R8)(AX*1)
	VMOVUPD Y1, (fillWork_angles+32)(R8)(AX*1)
	VMOVUPD Y9, (fillWork_angles+64)(R8)(AX*1)
	VMOVUPD Y7, (fillWork_angles+96)(R8)(AX*1)
	ADDQ $128, AX
	CMPQ AX, $256
	JLT  words
	XORL AX, AX
	PCALIGN $32
quotient:
	VMOVUPD fillWork_x(R8)(AX*1), Y0
	REDUCE(UPPER_AVX2, Y0, Y1, Y2)
	QUOTIENT(Y0, Y2, Y3, Y4)
	VMOVUPD Y0, fillWork_x(R8)(AX*1)
	VMOVUPD Y1, fillWork_n(R8)(AX*1)
	VMOVUPD Y2, fillWork_s(R8)(AX*1)
	VMOVUPD Y3, fillWork_z(R8)(AX*1)
	ADDQ $32, AX
	CMPQ AX, $256
	JLT  quotient
	VMOVAPD Y4, Y0
	VMOVAPD Y4, Y1
	VMOVAPD Y4, Y2
	VMOVAPD Y4, Y3
	VMOVAPD Y4, Y5
	VMOVAPD Y4, Y6
	VMOVAPD Y4, Y7
	POWER8(1)
	POWER8(2)
	POWER8(3)
	POWER8(4)
	POWER8(5)
	POWER8(6)
	POWER8(7)
	POWER8(8)
	POWER8(9)
	POWER8(10)
	TIMES8
	VMOVUPD Y0, fillWork_z(R8)
	VMOVUPD Y1, (fillWork_z+32)(R8)
	VMOVUPD Y2, (fillWork_z+64)(R8)
	VMOVUPD Y3, (fillWork_z+96)(R8)
	VMOVUPD Y4, (fillWork_z+128)(R8)
	VMOVUPD Y5, (fillWork_z+160)(R8)
	VMOVUPD Y6, (fillWork_z+192)(R8)
	VMOVUPD Y7, (fillWork_z+224)(R8)
	XORL AX, AX
	PCALIGN $32
root:
	VMOVUPD fillWork_x(R8)(AX*1), Y0
	VMOVUPD fillWork_n(R8)(AX*1), Y1
	VMOVUPD fillWork_s(R8)(AX*1), Y2
	VMOVUPD fillWork_z(R8)(AX*1), Y4
	ROOT(Y0, Y1, Y2, Y3, Y4, Y5, Y6)
	VMOVUPD Y6, fillWork_s(R8)(AX*1)
	VMOVUPD fillWork_angles(R8)(AX*1), Y0
	VPSLLQ  $32, Y0, Y0
	QUARTERS(Y0, Y1, Y2)
	FLOAT_AVX2(Y0, Y2, Y3)
	SQUARE(Y0, Y4, Y5, Y2, Y3)
	VMOVUPD Y0, fillWork_x(R8)(AX*1)
	VMOVUPD Y1, fillWork_n(R8)(AX*1)
	VMOVUPD Y4, fillWork_z(R8)(AX*1)
	VMOVUPD Y5, fillWork_angles(R8)(AX*1)
	ADDQ $32, AX
	CMPQ AX, $256
	JLT  root
	XORL AX, AX
	PCALIGN $32
around:
	VMOVUPD fillWork_z(R8)(AX*1), Y2
	VMOVUPD (fillWork_z+32)(R8)(AX*1), Y5
	VMOVUPD (fillWork_z+64)(R8)(AX*1), Y8
	VMOVUPD (fillWork_z+96)(R8)(AX*1), Y11
	FIRST_TERMS(Y0, Y1)
	FIRST_TERMS(Y3, Y4)
	FIRST_TERMS(Y6, Y7)
	FIRST_TERMS(Y9, Y10)
	TERM4(1)
	TERM4(2)
	TERM4(3)
	TERM4(4)
	TERM4(5)
	TERM4(6)
	TERM4(7)
	AROUND(0, Y0, Y1, Y2, X0, X1)
	AROUND(1, Y3, Y4, Y5, X3, X4)
	AROUND(2, Y6, Y7, Y8, X6, X7)
	AROUND(3, Y9, Y10, Y11, X9, X10)
	MINGLE(16, 0, X0, X1, X3, X4, X12, X13, X14, X15)
	MINGLE(16, 64, X6, X7, X9, X10, X12, X13, X14, X15)
	ADDQ $128, DI
	ADDQ $128, AX
	CMPQ AX, $256
	JLT  around
	FILL_END(0, group)
	RET

// func normalAVX512(a *fillArgs)
// for i := 0; i < len(dst); i += 2 { r := sqrt(-2 * log(word(i))); dst[i], dst[i+1] = r*cos(word(i+1))*std, r*sin(word(i+1))*std }
TEXT ·normalAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	FILL_BEGIN
	PCALIGN $32
group:
	WORDS_AVX512(Z0, Z1, Z2, Z3)
	WORDS_AVX512(Z16, Z17, Z18, Z19)
	DISTANCES(UPPER_AVX512, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15)
	DISTANCES(UPPER_AVX512, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31)
	DIRECTIONS(FLOAT_AVX512, TURN_AVX512, VCVTPD2PS, 32, 0, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	DIRECTIONS(FLOAT_AVX512, TURN_AVX512, VCVTPD2PS, 32, 128, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31, Y16, Y17, Y18, Y19, Y20, Y21, Y22, Y23)
	FILL_END(64, group)
	RET
