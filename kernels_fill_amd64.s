//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "philox_amd64.h"
#include "angles_amd64.h"

// Fills are random numbers: what philox.Uniform and philox.Normal do, operation by operation, but for terms that are 0 there. A group is what
// four vectors of counters make, 64 numbers with AVX2 and 128 with AVX-512, or two, 32 uniform ones with AVX2. There are no tails, and lanes have
// the order in which unpacking the result puts them right. Constants come from memory.
//
// Each step has to wait for the one before, so that counters go two vectors abreast, or four for uniform numbers with AVX-512, and polynomials
// eight. ns per number in cache, uniform and normal, in brackets by one vector of counters and two of polynomials: on a Zen 5 AVX-512 0.26 and
// 1.06 (0.40, 1.45), AVX2 0.68 and 2.15; on a Zen 3 AVX2 0.66 and 2.8 (0.91, 4.6), beside a neighbour on the same core 0.75 and 3.4 to 4.1 (1.02,
// 4.9). On a Xeon plain Go took 6.1 and 20.5, AVX-512 (0.56, 2.0), AVX2 (0.76, 2.9).
//
// Registers:
//	BX   arguments     R12  angles
//	DI   in dst        R13  logarithms
//	CX   groups left   R8   fillWork, and AX where in its arrays (Normal)
//
//	0 to 3  words of counters           6 to 9  words of the second of two vectors of counters
//	4, 5    in a round, for a moment    16 to 31  words of four vectors of counters, and 7 and 8 as 4 and 5 (Uniform, AVX-512)
//	12, 13  constants (Uniform)         14, 15  multipliers, and for a moment as all of 0 to 13 (Normal)

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

// NEXT_COUNTERS sets d to the vector of counters that comes a step behind c.
#define NEXT_COUNTERS(c0, c1, c2, c3, d0, d1, d2, d3, step) \
	VPADDQ   c0, step, d0; \
	VMOVAPD  c1, d1;       \
	VMOVAPD  c2, d2;       \
	VMOVAPD  c3, d3

#define TWO_AVX2(round, c0, c1, c2, c3, d0, d1, d2, d3) \
	ROUND_AVX2(round, c0, c1, c2, c3); \
	ROUND_AVX2(round, d0, d1, d2, d3)

#define TWO_AVX512(round, c0, c1, c2, c3, d0, d1, d2, d3) \
	ROUND_AVX512(round, c0, c1, c2, c3, Z4, Z5); \
	ROUND_AVX512(round, d0, d1, d2, d3, Z4, Z5)

// WORDS counts two vectors, whose words it leaves in c2, c3, c0 and c1, and in d2, d3, d0 and d1.
#define WORDS(TWO, c0, c1, c2, c3, d0, d1, d2, d3, v4, v14, v15) \
	COUNTERS(c0, c1, c2, c3, v14, v15);                \
	VBROADCASTSD fillArgs_step(BX), v4;                \
	NEXT_COUNTERS(c0, c1, c2, c3, d0, d1, d2, d3, v4); \
	VPADDQ   d0, v4, v4;                               \
	VMOVUPD  v4, fillArgs_counters(BX);                \
	ROUNDS(TWO, c0, c1, c2, c3, d0, d1, d2, d3)

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

// POWER8 does a step of the polynomial that QUOTIENT begins, for eight vectors p, whose z are in memory; TIMES8 is their product with z.

#define POWER8(k, size, v0, v1, v2, v3, v4, v5, v6, v7, v8) \
	VBROADCASTSD (logarithms_terms+8*k)(R13), v8;        \
	TIMES8(size, v0, v1, v2, v3, v4, v5, v6, v7);        \
	VADDPD   v8, v0, v0;                                 \
	VADDPD   v8, v1, v1;                                 \
	VADDPD   v8, v2, v2;                                 \
	VADDPD   v8, v3, v3;                                 \
	VADDPD   v8, v4, v4;                                 \
	VADDPD   v8, v5, v5;                                 \
	VADDPD   v8, v6, v6;                                 \
	VADDPD   v8, v7, v7

#define TIMES8(size, v0, v1, v2, v3, v4, v5, v6, v7) \
	VMULPD   fillWork_z(R8), v0, v0;                     \
	VMULPD   (fillWork_z+1*size)(R8), v1, v1;            \
	VMULPD   (fillWork_z+2*size)(R8), v2, v2;            \
	VMULPD   (fillWork_z+3*size)(R8), v3, v3;            \
	VMULPD   (fillWork_z+4*size)(R8), v4, v4;            \
	VMULPD   (fillWork_z+5*size)(R8), v5, v5;            \
	VMULPD   (fillWork_z+6*size)(R8), v6, v6;            \
	VMULPD   (fillWork_z+7*size)(R8), v7, v7

// TERM4 is TERM for four vectors.
#define TERM4(k, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13) \
	TERM(k, v0, v1, v2, v3, v4, v5, v12, v13);           \
	TERM(k, v6, v7, v8, v9, v10, v11, v12, v13)

// AROUND ends SINCOS for vector i of those at AX, and is SIZED then.
#define AROUND(TURN, NARROW, size, i, sin, cos, z, odd, even, v12, v13, v14, v15) \
	VMOVUPD  (fillWork_x+size*i)(R8)(AX*1), v14;      \
	VMOVUPD  (fillWork_angles+size*i)(R8)(AX*1), v15; \
	SUMS(v14, sin, cos, z, v15, v12, v13);            \
	VMOVUPD  (fillWork_n+size*i)(R8)(AX*1), v14;      \
	TURN(v14, sin, cos, v12, v13);                    \
	VMOVUPD  (fillWork_s+size*i)(R8)(AX*1), v15;      \
	SIZED(NARROW, v15, sin, cos, v12, odd, even)

// NORMAL is the body of a kernel. What eight pairs of vectors of words become goes through fillWork, step by step, and each step is done to all
// of them, since there are too few registers for as much abreast. h are vectors of half the size, parts of v of the same numbers.
#define NORMAL(TWO, UPPER, FLOAT, TURN, NARROW, size, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, h0, h1, h3, h4, h6, h7, h9, h10, h12, h13, h14, h15) \
	MOVQ a+0(FP), BX;                                                         \
	FILL_BEGIN;                                                               \
	MOVQ fillArgs_work(BX), R8;                                               \
group: \
	XORL AX, AX;                                                              \
	PCALIGN $32;                                                              \
words: \
	WORDS(TWO, v0, v1, v2, v3, v6, v7, v8, v9, v4, v14, v15);                 \
	VMOVUPD v2, fillWork_x(R8)(AX*1);                                         \
	VMOVUPD v0, (fillWork_x+1*size)(R8)(AX*1);                                \
	VMOVUPD v8, (fillWork_x+2*size)(R8)(AX*1);                                \
	VMOVUPD v6, (fillWork_x+3*size)(R8)(AX*1);                                \
	VMOVUPD v3, fillWork_angles(R8)(AX*1);                                    \
	VMOVUPD v1, (fillWork_angles+1*size)(R8)(AX*1);                           \
	VMOVUPD v9, (fillWork_angles+2*size)(R8)(AX*1);                           \
	VMOVUPD v7, (fillWork_angles+3*size)(R8)(AX*1);                           \
	ADDQ $(4*size), AX;                                                       \
	CMPQ AX, $(8*size);                                                       \
	JLT  words;                                                               \
	XORL AX, AX;                                                              \
	PCALIGN $32;                                                              \
quotient: \
	VMOVUPD fillWork_x(R8)(AX*1), v0;                                         \
	REDUCE(UPPER, v0, v1, v2);                                                \
	QUOTIENT(v0, v2, v3, v4);                                                 \
	VMOVUPD v0, fillWork_x(R8)(AX*1);                                         \
	VMOVUPD v1, fillWork_n(R8)(AX*1);                                         \
	VMOVUPD v2, fillWork_s(R8)(AX*1);                                         \
	VMOVUPD v3, fillWork_z(R8)(AX*1);                                         \
	ADDQ $size, AX;                                                           \
	CMPQ AX, $(8*size);                                                       \
	JLT  quotient;                                                            \
	VMOVAPD v4, v0;                                                           \
	VMOVAPD v4, v1;                                                           \
	VMOVAPD v4, v2;                                                           \
	VMOVAPD v4, v3;                                                           \
	VMOVAPD v4, v5;                                                           \
	VMOVAPD v4, v6;                                                           \
	VMOVAPD v4, v7;                                                           \
	POWER8(1, size, v0, v1, v2, v3, v4, v5, v6, v7, v8);                      \
	POWER8(2, size, v0, v1, v2, v3, v4, v5, v6, v7, v8);                      \
	POWER8(3, size, v0, v1, v2, v3, v4, v5, v6, v7, v8);                      \
	POWER8(4, size, v0, v1, v2, v3, v4, v5, v6, v7, v8);                      \
	POWER8(5, size, v0, v1, v2, v3, v4, v5, v6, v7, v8);                      \
	POWER8(6, size, v0, v1, v2, v3, v4, v5, v6, v7, v8);                      \
	POWER8(7, size, v0, v1, v2, v3, v4, v5, v6, v7, v8);                      \
	POWER8(8, size, v0, v1, v2, v3, v4, v5, v6, v7, v8);                      \
	POWER8(9, size, v0, v1, v2, v3, v4, v5, v6, v7, v8);                      \
	POWER8(10, size, v0, v1, v2, v3, v4, v5, v6, v7, v8);                     \
	TIMES8(size, v0, v1, v2, v3, v4, v5, v6, v7);                             \
	VMOVUPD v0, fillWork_z(R8);                                               \
	VMOVUPD v1, (fillWork_z+1*size)(R8);                                      \
	VMOVUPD v2, (fillWork_z+2*size)(R8);                                      \
	VMOVUPD v3, (fillWork_z+3*size)(R8);                                      \
	VMOVUPD v4, (fillWork_z+4*size)(R8);                                      \
	VMOVUPD v5, (fillWork_z+5*size)(R8);                                      \
	VMOVUPD v6, (fillWork_z+6*size)(R8);                                      \
	VMOVUPD v7, (fillWork_z+7*size)(R8);                                      \
	XORL AX, AX;                                                              \
	PCALIGN $32;                                                              \
root: \
	VMOVUPD fillWork_x(R8)(AX*1), v0;                                         \
	VMOVUPD fillWork_n(R8)(AX*1), v1;                                         \
	VMOVUPD fillWork_s(R8)(AX*1), v2;                                         \
	VMOVUPD fillWork_z(R8)(AX*1), v4;                                         \
	ROOT(v0, v1, v2, v3, v4, v5, v6);                                         \
	VMOVUPD v6, fillWork_s(R8)(AX*1);                                         \
	VMOVUPD fillWork_angles(R8)(AX*1), v0;                                    \
	VPSLLQ  $32, v0, v0;                                                      \
	QUARTERS(v0, v1, v2);                                                     \
	FLOAT(v0, v2, v3);                                                        \
	SQUARE(v0, v4, v5, v2, v3);                                               \
	VMOVUPD v0, fillWork_x(R8)(AX*1);                                         \
	VMOVUPD v1, fillWork_n(R8)(AX*1);                                         \
	VMOVUPD v4, fillWork_z(R8)(AX*1);                                         \
	VMOVUPD v5, fillWork_angles(R8)(AX*1);                                    \
	ADDQ $size, AX;                                                           \
	CMPQ AX, $(8*size);                                                       \
	JLT  root;                                                                \
	XORL AX, AX;                                                              \
	PCALIGN $32;                                                              \
around: \
	VMOVUPD fillWork_z(R8)(AX*1), v2;                                         \
	VMOVUPD (fillWork_z+1*size)(R8)(AX*1), v5;                                \
	VMOVUPD (fillWork_z+2*size)(R8)(AX*1), v8;                                \
	VMOVUPD (fillWork_z+3*size)(R8)(AX*1), v11;                               \
	FIRST_TERMS(v0, v1);                                                      \
	FIRST_TERMS(v3, v4);                                                      \
	FIRST_TERMS(v6, v7);                                                      \
	FIRST_TERMS(v9, v10);                                                     \
	TERM4(1, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13);     \
	TERM4(2, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13);     \
	TERM4(3, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13);     \
	TERM4(4, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13);     \
	TERM4(5, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13);     \
	TERM4(6, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13);     \
	TERM4(7, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13);     \
	AROUND(TURN, NARROW, size, 0, v0, v1, v2, h0, h1, v12, v13, v14, v15);    \
	AROUND(TURN, NARROW, size, 1, v3, v4, v5, h3, h4, v12, v13, v14, v15);    \
	AROUND(TURN, NARROW, size, 2, v6, v7, v8, h6, h7, v12, v13, v14, v15);    \
	AROUND(TURN, NARROW, size, 3, v9, v10, v11, h9, h10, v12, v13, v14, v15); \
	MINGLE(size/2, 0, h0, h1, h3, h4, h12, h13, h14, h15);                    \
	MINGLE(size/2, 2*size, h6, h7, h9, h10, h12, h13, h14, h15);              \
	ADDQ $(4*size), DI;                                                       \
	ADDQ $(4*size), AX;                                                       \
	CMPQ AX, $(8*size);                                                       \
	JLT  around;                                                              \
	FILL_END(0, group)

// func uniformAVX2(a *fillArgs)
// for i := range dst { dst[i] = float32(word(i)>>8*2 - odd) * scale }
TEXT ·uniformAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	EVEN_BEGIN(Y12, Y13)
	PCALIGN $32
group:
	WORDS(TWO_AVX2, Y0, Y1, Y2, Y3, Y6, Y7, Y8, Y9, Y4, Y14, Y15)
	SPREAD(UPPER_AVX2, 16, 0, Y0, Y1, Y2, Y3, Y4, Y5, Y12, Y13)
	SPREAD(UPPER_AVX2, 16, 64, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13)
	FILL_END(32, group)
	RET

// func uniformAVX512(a *fillArgs)
// for i := range dst { dst[i] = float32(word(i)>>8*2 - odd) * scale }
TEXT ·uniformAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	EVEN_BEGIN(Z12, Z13)
	PCALIGN $32
group:
	COUNTERS(Z16, Z17, Z18, Z19, Z14, Z15)
	VBROADCASTSD fillArgs_step(BX), Z4
	NEXT_COUNTERS(Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z4)
	NEXT_COUNTERS(Z20, Z17, Z18, Z19, Z24, Z25, Z26, Z27, Z4)
	NEXT_COUNTERS(Z24, Z17, Z18, Z19, Z28, Z29, Z30, Z31, Z4)
	VPADDQ Z28, Z4, Z4
	VMOVUPD Z4, fillArgs_counters(BX)
	FOUR_AVX512(0, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31)
	FOUR_AVX512(1, Z17, Z18, Z19, Z16, Z21, Z22, Z23, Z20, Z25, Z26, Z27, Z24, Z29, Z30, Z31, Z28)
	FOUR_AVX512(2, Z18, Z19, Z16, Z17, Z22, Z23, Z20, Z21, Z26, Z27, Z24, Z25, Z30, Z31, Z28, Z29)
	FOUR_AVX512(3, Z19, Z16, Z17, Z18, Z23, Z20, Z21, Z22, Z27, Z24, Z25, Z26, Z31, Z28, Z29, Z30)
	FOUR_AVX512(4, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31)
	FOUR_AVX512(5, Z17, Z18, Z19, Z16, Z21, Z22, Z23, Z20, Z25, Z26, Z27, Z24, Z29, Z30, Z31, Z28)
	FOUR_AVX512(6, Z18, Z19, Z16, Z17, Z22, Z23, Z20, Z21, Z26, Z27, Z24, Z25, Z30, Z31, Z28, Z29)
	FOUR_AVX512(7, Z19, Z16, Z17, Z18, Z23, Z20, Z21, Z22, Z27, Z24, Z25, Z26, Z31, Z28, Z29, Z30)
	FOUR_AVX512(8, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31)
	FOUR_AVX512(9, Z17, Z18, Z19, Z16, Z21, Z22, Z23, Z20, Z25, Z26, Z27, Z24, Z29, Z30, Z31, Z28)
	SPREAD(UPPER_AVX512, 32, 0, Z16, Z17, Z18, Z19, Z4, Z5, Z12, Z13)
	SPREAD(UPPER_AVX512, 32, 128, Z20, Z21, Z22, Z23, Z4, Z5, Z12, Z13)
	SPREAD(UPPER_AVX512, 32, 256, Z24, Z25, Z26, Z27, Z4, Z5, Z12, Z13)
	SPREAD(UPPER_AVX512, 32, 384, Z28, Z29, Z30, Z31, Z4, Z5, Z12, Z13)
	FILL_END(128, group)
	RET

// func normalAVX2(a *fillArgs)
// for i := 0; i < len(dst); i += 2 { r := sqrt(-2 * log(word(i))); dst[i], dst[i+1] = r*cos(word(i+1))*std, r*sin(word(i+1))*std }
TEXT ·normalAVX2(SB), NOSPLIT, $0-8
	NORMAL(TWO_AVX2, UPPER_AVX2, FLOAT_AVX2, TURN_AVX2, VCVTPD2PSY, 32, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15, X0, X1, X3, X4, X6, X7, X9, X10, X12, X13, X14, X15)
	RET

// func normalAVX512(a *fillArgs)
// for i := 0; i < len(dst); i += 2 { r := sqrt(-2 * log(word(i))); dst[i], dst[i+1] = r*cos(word(i+1))*std, r*sin(word(i+1))*std }
TEXT ·normalAVX512(SB), NOSPLIT, $0-8
	NORMAL(TWO_AVX512, UPPER_AVX512, FLOAT_AVX512, TURN_AVX512, VCVTPD2PS, 64, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15, Y0, Y1, Y3, Y4, Y6, Y7, Y9, Y10, Y12, Y13, Y14, Y15)
	RET
