//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_arm64.h"

// Layer normalisation walks the rows of normArgs two at a time, so that their sums overlap, and a last one alone. They are
// passed through from left to right several times, by blocks of 16 columns, which are the 16 lanes of a sum, in four
// vectors.
//
//	1  the sums of x, for the means
//	2  the sums of the squares of x-mean, for r
//	3  the result; of the gradient, the sums of g and of g*xhat
//	4  the gradients of x, gamma and beta
//
// In the tail of a sum, each four columns go to the first vector of lanes, which then becomes the last one: the tree that
// adds them up does not notice where they began. What is left is done as the last 4 columns of the row, of which the last
// lanes are moved to the first, with +0 behind them, which changes no lane, since none is ever -0. What goes to memory is
// done as 8, 4, 2 and 1 columns, by the bits of their number.
//
// Registers:
//	R0       arguments                    R10  bytes left of a row in blocks, and columns in the tail
//	R1, R2   in the rows of src           R11  bytes between rows of src
//	R3, R4   in those of dst or dOut      R12  bytes between rows of dst or dOut
//	R5, R6   in those of dSrc             R13  bytes between rows of dSrc
//	R7       in gamma                     R14  rows to do
//	R8       in beta or dGamma            R15  columns
//	R9       in dBeta                     R19  bytes from the fours of a row to its last 4 columns
//	R21      bytes of a row               R20  bytes of its fours
//	V24, V25  means of the two rows       V28, V29, V30  1, epsilon and the number of columns, in every lane
//	V26, V27  r of the two rows           V31  where the lanes of the last columns come from
//	V0 to V3, V4 to V7  lanes of a sum of each row; V8 to V11, V12 to V15  of another

// Where in the last 4 columns the bytes of what is left of a row are, from 16 minus as many on, and nowhere.
DATA normLanes<>+0(SB)/8, $0x0706050403020100
DATA normLanes<>+8(SB)/8, $0x0F0E0D0C0B0A0908
DATA normLanes<>+16(SB)/8, $0xFFFFFFFFFFFFFFFF
DATA normLanes<>+24(SB)/8, $0xFFFFFFFFFFFFFFFF
GLOBL normLanes<>(SB), RODATA|NOPTR, $32

// Steps in what a pass goes through.

#define STEP_X(OP, size) \
	OP size, R1; \
	OP size, R2

#define STEP_XY(OP, size) \
	STEP_X(OP, size); \
	OP size, R3;      \
	OP size, R4

#define STEP_SUMS(OP, size) \
	STEP_XY(OP, size); \
	OP size, R7

#define STEP_NORM(OP, size) \
	STEP_SUMS(OP, size); \
	OP size, R8

#define STEP_GRADIENT(OP, size) \
	STEP_NORM(OP, size); \
	OP size, R5;         \
	OP size, R6;         \
	OP size, R9

// What a pass does to a vector of a row or a part of one, off bytes behind register x or so.

#define SUM(PLUS, off, x, s) \
	FMOVQ off(x), F16; \
	PLUS(V16, 16, s)

#define SQUARE(PLUS, off, x, mean, s) \
	FMOVQ off(x), F16;     \
	VFSUB4S(mean, 16, 16); \
	VFMUL4S(16, 16, 16);   \
	PLUS(V16, 16, s)

// XHAT has xhat in V16 and d in V17.
#define XHAT(MOVE, off, x, d, mean, r) \
	MOVE off(x), F16;      \
	MOVE off(d), F17;      \
	VFSUB4S(mean, 16, 16); \
	VFMUL4S(r, 16, 16)

// G adds to the sums of g and of g*xhat.
#define G(PLUS, off, x, d, mean, r, g, gx) \
	XHAT(FMOVQ, off, x, d, mean, r); \
	VFMUL4S(20, 17, 17);             \
	VFMUL4S(17, 16, 16);             \
	PLUS(V17, 17, g);                \
	PLUS(V16, 16, gx)

#define NORM(MOVE, off, x, y, mean, r) \
	MOVE off(x), F16;      \
	VFSUB4S(mean, 16, 16); \
	VFMUL4S(r, 16, 16);    \
	VFMUL4S(20, 16, 16);   \
	VFADD4S(21, 16, 16);   \
	MOVE F16, off(y)

#define GRADIENT(MOVE, off, x, d, dx, mean, r, g, gx) \
	XHAT(MOVE, off, x, d, mean, r); \
	VFMUL4S(17, 16, 18);            \
	VFADD4S(17, 22, 22);            \
	VFADD4S(18, 21, 21);            \
	VFMUL4S(20, 17, 17);            \
	VFSUB4S(g, 17, 17);             \
	VFMUL4S(gx, 16, 16);            \
	VFSUB4S(16, 17, 17);            \
	VFMUL4S(r, 17, 17);             \
	MOVE F17, off(dx)

// PLUS_ALL adds all lanes to a sum, and PLUS_LAST those at the end, as the first.
#define PLUS_ALL(reg, v, s) VFADD4S(v, s, s)
#define PLUS_LAST(reg, v, s) \
	VTBL V31.B16, [reg.B16], reg.B16; \
	VFADD4S(v, s, s)

// ROTATE has the first vector of lanes become the last.
#define ROTATE(a, b, c, d) \
	VMOV a.B16, V23.B16; \
	VMOV b.B16, a.B16;   \
	VMOV c.B16, b.B16;   \
	VMOV d.B16, c.B16;   \
	VMOV V23.B16, d.B16

#define ROTATE_ONE \
	ROTATE(V0, V1, V2, V3); \
	ROTATE(V4, V5, V6, V7)

#define ROTATE_BOTH \
	ROTATE_ONE;                \
	ROTATE(V8, V9, V10, V11);  \
	ROTATE(V12, V13, V14, V15)

// LANES does a pass of sums, and goes back to the beginning of the rows.
#define LANES(PASS, STEP, TURN, block, tail, four, last, done) \
	CLEAR_LANES;                     \
	MOVD  normArgs_whole(R0), R10;   \
	CBZ   R10, tail;                 \
	PCALIGN $16;                     \
block: \
	PASS(PLUS_ALL, 0, 0, 4, 8, 12);  \
	PASS(PLUS_ALL, 16, 1, 5, 9, 13); \
	PASS(PLUS_ALL, 32, 2, 6, 10, 14); \
	PASS(PLUS_ALL, 48, 3, 7, 11, 15); \
	STEP(ADD, $64);                  \
	SUBS  $64, R10;                  \
	BNE   block;                     \
tail: \
	AND   $15, R15, R10;             \
four: \
	SUBS  $4, R10;                   \
	BLT   last;                      \
	PASS(PLUS_ALL, 0, 0, 4, 8, 12);  \
	STEP(ADD, $16);                  \
	TURN;                            \
	B     four;                      \
last: \
	TST   $3, R15;                   \
	BEQ   done;                      \
	STEP(ADD, R19);                  \
	PASS(PLUS_LAST, 0, 0, 4, 8, 12); \
	STEP(SUB, R19);                  \
done: \
	STEP(SUB, R20)

#define CLEAR_LANES \
	CLEAR4(V0, V1, V2, V3);    \
	CLEAR4(V4, V5, V6, V7);    \
	CLEAR4(V8, V9, V10, V11);  \
	CLEAR4(V12, V13, V14, V15)

// MEAN adds up the lanes a, b, c and d, divides by the number of columns, and has the mean in every lane of a.
#define MEAN(reg, a, b, c, d) \
	VFADD4S(c, a, a);                   \
	VFADD4S(d, b, b);                   \
	VFADD4S(b, a, a);                   \
	VEXT $8, reg.B16, reg.B16, V23.B16; \
	VFADD4S(23, a, a);                  \
	VEXT $4, reg.B16, reg.B16, V23.B16; \
	VFADD4S(23, a, a);                  \
	VFDIV4S(30, a, a)

#define MEANS \
	MEAN(V0, 0, 1, 2, 3);      \
	MEAN(V4, 4, 5, 6, 7);      \
	VMOV V0.B16, V24.B16;      \
	VMOV V4.B16, V25.B16

#define DEVIATIONS \
	MEAN(V0, 0, 1, 2, 3);      \
	MEAN(V4, 4, 5, 6, 7);      \
	VFADD4S(29, 0, 0);         \
	VFADD4S(29, 4, 4);         \
	VFSQRT4S(0, 0);            \
	VFSQRT4S(4, 4);            \
	VFDIV4S(0, 28, 26);        \
	VFDIV4S(4, 28, 27)

#define MEANS_OF_G \
	MEAN(V0, 0, 1, 2, 3);      \
	MEAN(V4, 4, 5, 6, 7);      \
	MEAN(V8, 8, 9, 10, 11);    \
	MEAN(V12, 12, 13, 14, 15)

// ELEMENTS does a pass to memory.
#define ELEMENTS(PASS, STEP, block, eight, four, two, one, done) \
	MOVD normArgs_whole(R0), R10; \
	CBZ  R10, eight;              \
	PCALIGN $16;                  \
block: \
	PASS(FMOVQ, 0);               \
	PASS(FMOVQ, 16);              \
	PASS(FMOVQ, 32);              \
	PASS(FMOVQ, 48);              \
	STEP(ADD, $64);               \
	SUBS $64, R10;                \
	BNE  block;                   \
eight: \
	TBZ  $3, R15, four;           \
	PASS(FMOVQ, 0);               \
	PASS(FMOVQ, 16);              \
	STEP(ADD, $32);               \
four: \
	TBZ  $2, R15, two;            \
	PASS(FMOVQ, 0);               \
	STEP(ADD, $16);               \
two: \
	TBZ  $1, R15, one;            \
	PASS(FMOVD, 0);               \
	STEP(ADD, $8);                \
one: \
	TBZ  $0, R15, done;           \
	PASS(FMOVS, 0);               \
	STEP(ADD, $4);                \
done:

// The passes through two rows, and through one.

#define SUM2(PLUS, off, s, t, u, w) \
	SUM1(PLUS, off, s, t, u, w); \
	SUM(PLUS, off, R2, t)

#define SUM1(PLUS, off, s, t, u, w) \
	SUM(PLUS, off, R1, s)

#define SQUARES2(PLUS, off, s, t, u, w) \
	SQUARES1(PLUS, off, s, t, u, w); \
	SQUARE(PLUS, off, R2, 25, t)

#define SQUARES1(PLUS, off, s, t, u, w) \
	SQUARE(PLUS, off, R1, 24, s)

#define G2(PLUS, off, s, t, u, w) \
	G1(PLUS, off, s, t, u, w); \
	G(PLUS, off, R2, R4, 25, 27, t, w)

#define G1(PLUS, off, s, t, u, w) \
	FMOVQ off(R7), F20; \
	G(PLUS, off, R1, R3, 24, 26, s, u)

#define NORM2(MOVE, off) \
	NORM1(MOVE, off); \
	NORM(MOVE, off, R2, R4, 25, 27)

#define NORM1(MOVE, off) \
	MOVE off(R7), F20; \
	MOVE off(R8), F21; \
	NORM(MOVE, off, R1, R3, 24, 26)

#define GRADIENT2(MOVE, off) \
	GRADIENT_BEGIN(MOVE, off);                              \
	GRADIENT(MOVE, off, R1, R3, R5, 24, 26, 0, 8);          \
	GRADIENT(MOVE, off, R2, R4, R6, 25, 27, 4, 12);         \
	GRADIENT_END(MOVE, off)

#define GRADIENT1(MOVE, off) \
	GRADIENT_BEGIN(MOVE, off);                              \
	GRADIENT(MOVE, off, R1, R3, R5, 24, 26, 0, 8);          \
	GRADIENT_END(MOVE, off)

#define GRADIENT_BEGIN(MOVE, off) \
	MOVE off(R7), F20; \
	MOVE off(R8), F21; \
	MOVE off(R9), F22

#define GRADIENT_END(MOVE, off) \
	MOVE F21, off(R8); \
	MOVE F22, off(R9)

// NORM_BEGIN loads what the passes have in common, with other rows in R3.
#define NORM_BEGIN(other, stride) \
	MOVD  normArgs_src(R0), R1;           \
	MOVD  normArgs_srcStride(R0), R11;    \
	MOVD  other(R0), R3;                  \
	MOVD  stride(R0), R12;                \
	MOVD  normArgs_rows(R0), R14;         \
	MOVD  normArgs_cols(R0), R15;         \
	MOVD  normArgs_last(R0), R19;         \
	MOVD  normArgs_size(R0), R21;         \
	AND   $~15, R21, R20;                 \
	FMOVS $1.0, F28;                      \
	VDUP  V28.S[0], V28.S4;               \
	MOVWU normArgs_epsilon(R0), R10;      \
	VDUP  R10, V29.S4;                    \
	MOVWU normArgs_count(R0), R10;        \
	VDUP  R10, V30.S4;                    \
	MOVD  $normLanes<>+16(SB), R10;       \
	AND   $3, R15, R2;                    \
	SUB   R2<<2, R10;                     \
	FMOVQ (R10), F31

// STATISTICS2 has the means of two rows and their r, and goes to gamma; STATISTICS1 is the same for one row.

#define STATISTICS2 \
	LANES(SUM2, STEP_X, ROTATE_ONE, pairSum, pairSumTail, pairSumFour, pairSumLast, pairSumDone);                    \
	MEANS;                                                                                                           \
	LANES(SQUARES2, STEP_X, ROTATE_ONE, pairSquare, pairSquareTail, pairSquareFour, pairSquareLast, pairSquareDone); \
	DEVIATIONS;                                                                                                      \
	MOVD normArgs_gamma(R0), R7

#define STATISTICS1 \
	LANES(SUM1, STEP_X, ROTATE_ONE, sum, sumTail, sumFour, sumLast, sumDone);                    \
	MEANS;                                                                                       \
	LANES(SQUARES1, STEP_X, ROTATE_ONE, square, squareTail, squareFour, squareLast, squareDone); \
	DEVIATIONS;                                                                                  \
	MOVD normArgs_gamma(R0), R7

// func layerNormNEON(a *normArgs)
// for i, x := range src { for j := range x { dst[i][j] = ((x[j]-mean(x))*r(x))*gamma[j] + beta[j] } }, of at least 4 columns
TEXT ·layerNormNEON(SB), NOSPLIT, $0-8
	MOVD a+0(FP), R0
	NORM_BEGIN(normArgs_dst, normArgs_dstStride)
	SUBS $2, R14
	BLT  last
pair:
	ADD  R11, R1, R2
	ADD  R12, R3, R4
	STATISTICS2
	MOVD normArgs_beta(R0), R8
	ELEMENTS(NORM2, STEP_NORM, pairBlock, pairEight, pairFour, pairTwo, pairOne, pairDone)
	SUB  R21, R2
	SUB  R21, R4
	ADD  R11, R2, R1
	ADD  R12, R4, R3
	SUBS $2, R14
	BGE  pair
last:
	TBZ  $0, R14, done
	STATISTICS1
	MOVD normArgs_beta(R0), R8
	ELEMENTS(NORM1, STEP_NORM, block, eight, four, two, one, done)
	RET

// func layerNormBackwardNEON(a *normArgs)
// for i, x := range src { for j := range x {
//	xhat, d := (x[j]-mean(x))*r(x), dOut[i][j]; dGamma[j] += d*xhat; dBeta[j] += d
//	dSrc[i][j] = ((d*gamma[j] - mean(d*gamma)) - xhat*mean(d*gamma*xhat)) * r(x)
// } }, of at least 4 columns
TEXT ·layerNormBackwardNEON(SB), NOSPLIT, $0-8
	MOVD a+0(FP), R0
	NORM_BEGIN(normArgs_dOut, normArgs_dOutStride)
	MOVD normArgs_dst(R0), R5
	MOVD normArgs_dstStride(R0), R13
	SUBS $2, R14
	BLT  last
pair:
	ADD  R11, R1, R2
	ADD  R12, R3, R4
	ADD  R13, R5, R6
	STATISTICS2
	LANES(G2, STEP_SUMS, ROTATE_BOTH, pairBoth, pairBothTail, pairBothFour, pairBothLast, pairBothDone)
	MEANS_OF_G
	MOVD normArgs_dGamma(R0), R8
	MOVD normArgs_dBeta(R0), R9
	ELEMENTS(GRADIENT2, STEP_GRADIENT, pairBlock, pairEight, pairFour, pairTwo, pairOne, pairDone)
	SUB  R21, R2
	SUB  R21, R4
	SUB  R21, R6
	ADD  R11, R2, R1
	ADD  R12, R4, R3
	ADD  R13, R6, R5
	SUBS $2, R14
	BGE  pair
last:
	TBZ  $0, R14, done
	STATISTICS1
	LANES(G1, STEP_SUMS, ROTATE_BOTH, both, bothTail, bothFour, bothLast, bothDone)
	MEANS_OF_G
	MOVD normArgs_dGamma(R0), R8
	MOVD normArgs_dBeta(R0), R9
	ELEMENTS(GRADIENT1, STEP_GRADIENT, block, eight, four, two, one, done)
	RET
