//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// Layer normalisation walks the rows of normArgs in groups, so that their sums overlap, and the last ones one by one. There
// are four rows in a group, or two in that of the gradient with AVX2. Each group is passed through from left to right
// several times, by blocks of 16 columns, which are the 16 lanes of a sum: one register with AVX-512, and two halves with
// AVX2.
//
//	1  the sums of x, for the means
//	2  the sums of the squares of x-mean, for r
//	3  the result; of the gradient, the sums of g and of g*xhat, and with AVX-512 the gradients of gamma and beta
//	4  the gradient of x, and with AVX2 those of gamma and beta
//
// In a tail, a sum leaves the lanes beyond the row as they are: with AVX-512 by a mask, with AVX2 by adding +0, which
// changes no lane, since none is ever -0. There, what is left behind the eights is done as the last 8 columns of the row,
// and then moved to the first lanes; what goes to memory is done as 8, 4, 2 and 1 columns, by the bits of their number.
//
// Registers:
//	BX   arguments                        CX   bytes left of a row in blocks
//	SI   in the first row of src          R8, R9   bytes between rows of src, and three times as many
//	DI   in that of dst, or of dOut       R10, R11 the same of dst or dOut
//	AX   in that of dSrc                  R12  in gamma; or bytes between rows of dSrc (AVX-512); or in src, to prefetch
//	R13  in beta, or in the gradient of gamma; or three times R12 (AVX-512); or in dOut, to prefetch
//	DX   lanes to keep in a tail, and where they come from (AVX2); in the gradient of beta or in gamma (AVX-512)
//	Y15  numbers of the lanes of a tail (AVX2)
//	K1   lanes of the tail (AVX-512)
//
// The gradient with AVX2 has R11 for the bytes between rows of dSrc, and R9 in the gradient of beta. What does four rows and
// fetches others has R12, R13, AX and with AVX-512 DX in those, as far as a pass has no other use for them.

// NORM_COLUMNS does one pass: BLOCK for each block, and TAIL for what is left of a row behind those.
#define NORM_COLUMNS(BLOCK, STEP, TAIL, block, tail, done) \
	MOVQ  normArgs_whole(BX), CX; \
	TESTQ CX, CX;                 \
	JEQ   tail;                   \
	PCALIGN $32;                  \
block: \
	BLOCK;                        \
	STEP(ADDQ, $64);              \
	SUBQ  $64, CX;                \
	JNE   block;                  \
tail: \
	TESTB $15, normArgs_cols(BX); \
	JEQ   done;                   \
	TAIL;                         \
done:

// Steps in what a pass goes through.

#define STEP_X(OP, size) \
	OP size, SI

#define STEP_AHEAD(OP, size) \
	OP size, SI;  \
	OP size, R12; \
	OP size, R13

#define STEP_XY(OP, size) \
	OP size, SI; \
	OP size, DI

#define STEP_SUMS(OP, size) \
	STEP_XY(OP, size); \
	OP size, R12

#define STEP_NORM(OP, size) \
	STEP_SUMS(OP, size); \
	OP size, R13

#define STEP_PARAMETERS(OP, size) \
	STEP_NORM(OP, size); \
	OP size, DX

#define STEP_XYZ(OP, size) \
	STEP_XY(OP, size); \
	OP size, AX

#define STEP_GRADIENT(OP, size) \
	STEP_NORM(OP, size); \
	OP size, AX;         \
	OP size, R9

#define STEP_GRADIENTS(OP, size) \
	STEP_XYZ(OP, size); \
	OP size, DX

// What the second pass prefetches of the next group, where R12 and R13 are in its first rows of src and dOut. It costs
// nothing that can be told from noise where all is in cache, and gains where it is not: on one core of a Zen 4 that was
// shared, ns per row without and with, of AVX-512, in place, the least of 25 interleaved rounds: 64 x 768 88 and 88, 2,048 x
// 768 97 and 89, 20,000 x 768 259 and 174, 40,000 x 256 130 and 62, 8,000 x 2,048 725 and 636. To do the same with dst gains
// nothing.

#define AHEAD_X2 \
	PREFETCH (R12);         \
	PREFETCH (R12)(R8*1)

#define AHEAD_X4 \
	AHEAD_X2;               \
	PREFETCH (R12)(R8*2);   \
	PREFETCH (R12)(R9*1)

#define AHEAD_XY2 \
	AHEAD_X2;               \
	PREFETCH (R13);         \
	PREFETCH (R13)(R10*1)

#define AHEAD_XY4 \
	AHEAD_X4;                \
	PREFETCH (R13);          \
	PREFETCH (R13)(R10*1);   \
	PREFETCH (R13)(R10*2);   \
	PREFETCH (R13)(R11*1)

// FETCH prefetches a line of a row that comes next, of what is looked up.
#define FETCH(row) \
	PREFETCH (row);   \
	ADDQ     $64, row

// What a pass does to one vector of a row, at address x or so, in register v.

#define SUM(LOAD, PLUS, x, v, sum) \
	LOAD(x, v); \
	PLUS(v, sum)

#define SQUARE(LOAD, PLUS, x, v, mean, sum) \
	LOAD(x, v);        \
	VSUBPS mean, v, v; \
	VMULPS v, v, v;    \
	PLUS(v, sum)

#define NORM(MOVE_IN, MOVE_OUT, x, y, v, mean, r, gamma, beta) \
	MOVE_IN(x, v);      \
	VSUBPS mean, v, v;  \
	VMULPS r, v, v;     \
	VMULPS gamma, v, v; \
	VADDPS beta, v, v;  \
	MOVE_OUT(v, y)

// XHAT has xhat in v and d in w.
#define XHAT(LOAD, x, d, v, w, mean, r) \
	LOAD(x, v);        \
	LOAD(d, w);        \
	VSUBPS mean, v, v; \
	VMULPS r, v, v

// PARAMETERS adds to the gradients of gamma and beta.
#define PARAMETERS(v, w, dGamma, dBeta, tmp) \
	VMULPS v, w, tmp;          \
	VADDPS w, dBeta, dBeta;    \
	VADDPS tmp, dGamma, dGamma

// SUM_G adds to the sums of g and of g*xhat.
#define SUM_G(PLUS, v, w, gamma, g, gx) \
	VMULPS gamma, w, w; \
	VMULPS w, v, v;     \
	PLUS(w, g);         \
	PLUS(v, gx)

// GRADIENT has the gradient of x, with the means of g and of g*xhat.
#define GRADIENT(STORE, dx, v, w, r, gamma, g, gx) \
	VMULPS gamma, w, w; \
	VSUBPS g, w, w;     \
	VMULPS gx, v, v;    \
	VSUBPS v, w, w;     \
	VMULPS r, w, w;     \
	STORE(w, dx)

#define PLUS_ALL(v, sum) VADDPS v, sum, sum

// FOURS adds up each four lanes, lanes 2 and 3 to 0 and 1 and then these: all four get the sum.
#define FOURS(v, tmp) \
	VPERMILPS $0x4E, v, tmp; \
	VADDPS    tmp, v, v;     \
	VPERMILPS $0xB1, v, tmp; \
	VADDPS    tmp, v, v

// NORM_BEGIN loads what the passes have in common, with other rows in DI; MASK and LAST_LANES_BEGIN want the columns in AX.
#define NORM_BEGIN(other, stride) \
	MOVQ normArgs_src(BX), SI;       \
	MOVQ normArgs_srcStride(BX), R8; \
	MOVQ other(BX), DI;              \
	MOVQ stride(BX), R10;            \
	MOVQ normArgs_cols(BX), AX

// AVX2. Up to four sums are Y0 to Y3, and lanes 8 to 15 of them Y4 to Y7.

// PLUS_LAST moves the last lanes of the last 8 columns to the first, and adds them to a sum.
#define PLUS_LAST(v, sum) \
	LAST_LANES(v, (DX), Y15, v); \
	VADDPS v, sum, sum

#define LANES_BLOCK(PASS) \
	PASS(PLUS_ALL, 0, Y0, Y1, Y2, Y3); \
	PASS(PLUS_ALL, 32, Y4, Y5, Y6, Y7)

#define LANES_TAIL(PASS, STEP, few, done) \
	TESTB $8, normArgs_cols(BX);        \
	JEQ   few;                          \
	PASS(PLUS_ALL, 0, Y0, Y1, Y2, Y3);  \
	TESTB $7, normArgs_cols(BX);        \
	JEQ   done;                         \
	STEP(ADDQ, normArgs_last(BX));      \
	PASS(PLUS_LAST, 0, Y4, Y5, Y6, Y7); \
	STEP(SUBQ, normArgs_last(BX));      \
	JMP   done;                         \
few: \
	STEP(ADDQ, normArgs_last(BX));      \
	PASS(PLUS_LAST, 0, Y0, Y1, Y2, Y3); \
	STEP(SUBQ, normArgs_last(BX))

#define AHEAD_NONE

// LANES does a pass of sums, and goes back to the beginning of the rows; LANES_AHEAD prefetches too.
#define LANES(PASS, STEP, block, tail, few, done) \
	LANES_AHEAD(AHEAD_NONE, PASS, STEP, block, tail, few, done)

#define LANES_AHEAD(AHEAD, PASS, STEP, block, tail, few, done) \
	CLEAR4(Y0, Y1, Y2, Y3); \
	CLEAR4(Y4, Y5, Y6, Y7); \
	NORM_COLUMNS(AHEAD; LANES_BLOCK(PASS), STEP, LANES_TAIL(PASS, STEP, few, done), block, tail, done); \
	STEP(SUBQ, normArgs_whole(BX))

// MEANS leaves in the halves of Y0, and of Y2, the means of four sums.
#define MEANS \
	HALVES(Y0, Y4, Y1, Y5, Y12);             \
	HALVES(Y2, Y6, Y3, Y7, Y13);             \
	FOURS(Y0, Y12);                          \
	FOURS(Y2, Y13);                          \
	VBROADCASTSS normArgs_count(BX), Y14;    \
	VDIVPS Y14, Y0, Y0;                      \
	VDIVPS Y14, Y2, Y2

// DEVIATIONS makes r of variances.
#define DEVIATIONS \
	VBROADCASTSS normArgs_epsilon(BX), Y14;  \
	VADDPS  Y14, Y0, Y0;                     \
	VADDPS  Y14, Y2, Y2;                     \
	VSQRTPS Y0, Y0;                          \
	VSQRTPS Y2, Y2;                          \
	MOVL    $0x3F800000, CX;                 \
	VMOVD   CX, X14;                         \
	VBROADCASTSS X14, Y14;                   \
	VDIVPS  Y0, Y14, Y0;                     \
	VDIVPS  Y2, Y14, Y2

// EACH has each half of a register in a register of its own, the lower one in the first, which may be that register. LOWER
// has that one alone.
#define EACH(from, to0, to1) \
	VPERM2F128 $0x11, from, from, to1; \
	LOWER(from, to0)

#define LOWER(from, to) \
	VPERM2F128 $0x00, from, from, to

// ELEMENTS_TAIL does 8, 4, 2 and 1 columns.
#define ELEMENTS_TAIL(WIDE, NARROW, STEP, four, two, one, done) \
	TESTB $8, normArgs_cols(BX); \
	JEQ   four;                  \
	WIDE(VECTOR, 0);             \
	STEP(ADDQ, $32);             \
four: \
	TESTB $4, normArgs_cols(BX); \
	JEQ   two;                   \
	NARROW(VECTOR);              \
	STEP(ADDQ, $16);             \
two: \
	TESTB $2, normArgs_cols(BX); \
	JEQ   one;                   \
	NARROW(PAIR);                \
	STEP(ADDQ, $8);              \
one: \
	TESTB $1, normArgs_cols(BX); \
	JEQ   done;                  \
	NARROW(SINGLE);              \
	STEP(ADDQ, $4)

#define ELEMENTS_BLOCK(WIDE) \
	WIDE(VECTOR, 0); \
	WIDE(VECTOR, 32)

// ELEMENTS does a pass to memory; ELEMENTS_AHEAD prefetches too.
#define ELEMENTS(WIDE, NARROW, STEP, block, tail, four, two, one, done) \
	ELEMENTS_AHEAD(AHEAD_NONE, WIDE, NARROW, STEP, block, tail, four, two, one, done)

#define ELEMENTS_AHEAD(AHEAD, WIDE, NARROW, STEP, block, tail, four, two, one, done) \
	NORM_COLUMNS(AHEAD; ELEMENTS_BLOCK(WIDE), STEP, ELEMENTS_TAIL(WIDE, NARROW, STEP, four, two, one, done), block, tail, done)

// The passes through four rows, whose means are Y8 to Y11, through two of them, and through one.

#define SUM4(PLUS, off, s0, s1, s2, s3) \
	SUM2(PLUS, off, s0, s1, s2, s3);               \
	SUM(VECTOR, PLUS, off(SI)(R8*2), Y14, s2);     \
	SUM(VECTOR, PLUS, off(SI)(R9*1), Y12, s3)

#define SUM2(PLUS, off, s0, s1, s2, s3) \
	SUM1(PLUS, off, s0, s1, s2, s3);               \
	SUM(VECTOR, PLUS, off(SI)(R8*1), Y13, s1)

#define SUM1(PLUS, off, s0, s1, s2, s3) \
	SUM(VECTOR, PLUS, off(SI), Y12, s0)

#define SQUARES4(PLUS, off, s0, s1, s2, s3) \
	SQUARES2(PLUS, off, s0, s1, s2, s3);               \
	SQUARE(VECTOR, PLUS, off(SI)(R8*2), Y14, Y10, s2); \
	SQUARE(VECTOR, PLUS, off(SI)(R9*1), Y12, Y11, s3)

#define SQUARES2(PLUS, off, s0, s1, s2, s3) \
	SQUARES1(PLUS, off, s0, s1, s2, s3);               \
	SQUARE(VECTOR, PLUS, off(SI)(R8*1), Y13, Y9, s1)

#define SQUARES1(PLUS, off, s0, s1, s2, s3) \
	SQUARE(VECTOR, PLUS, off(SI), Y12, Y8, s0)

#define NORM1(MOVE, STORE, off, v, mean, r, gamma, beta) \
	MOVE(off(R12), gamma); \
	MOVE(off(R13), beta);  \
	NORM(MOVE, STORE, off(SI), off(DI), v, mean, r, gamma, beta)

#define NORM4(MOVE, STORE, off, v0, v1, v2, v3, m0, m1, m2, m3, r0, r1, r2, r3, gamma, beta) \
	NORM1(MOVE, STORE, off, v0, m0, r0, gamma, beta);                                 \
	NORM(MOVE, STORE, off(SI)(R8*1), off(DI)(R10*1), v1, m1, r1, gamma, beta);        \
	NORM(MOVE, STORE, off(SI)(R8*2), off(DI)(R10*2), v2, m2, r2, gamma, beta);        \
	NORM(MOVE, STORE, off(SI)(R9*1), off(DI)(R11*1), v3, m3, r3, gamma, beta)

#define NORM4_Y(MOVE, STORE, off) NORM4(MOVE, STORE, off, Y12, Y13, Y14, Y6, Y8, Y9, Y10, Y11, Y0, Y1, Y2, Y3, Y4, Y5)
#define NORM4_WIDE(MOVE, off) NORM4_Y(MOVE, MOVE, off)
#define NORM4_STREAM(MOVE, off) NORM4_Y(MOVE, STREAM, off)
#define NORM4_NARROW(MOVE) NORM4(MOVE, MOVE, 0, X12, X13, X14, X6, X8, X9, X10, X11, X0, X1, X2, X3, X4, X5)
#define NORM1_WIDE(MOVE, off) NORM1(MOVE, MOVE, off, Y12, Y8, Y0, Y4, Y5)
#define NORM1_STREAM(MOVE, off) NORM1(MOVE, STREAM, off, Y12, Y8, Y0, Y4, Y5)
#define NORM1_NARROW(MOVE) NORM1(MOVE, MOVE, 0, X12, X8, X0, X4, X5)

// G1 and G2 add to the sums of g in s0 and s1 and of g*xhat in s2 and s3, of two rows whose r are Y10 and Y11.

#define G1(PLUS, off, s0, s1, s2, s3) \
	VMOVUPS off(R12), Y14;                              \
	XHAT(VECTOR, off(SI), off(DI), Y12, Y13, Y8, Y10);  \
	SUM_G(PLUS, Y12, Y13, Y14, s0, s2)

#define G2(PLUS, off, s0, s1, s2, s3) \
	G1(PLUS, off, s0, s1, s2, s3);                      \
	XHAT(VECTOR, off(SI)(R8*1), off(DI)(R10*1), Y12, Y13, Y9, Y11); \
	SUM_G(PLUS, Y12, Y13, Y14, s1, s3)

#define GRADIENT_OF(MOVE, x, d, dx, v, w, mean, r, g, gx, gamma, dGamma, dBeta, tmp) \
	XHAT(MOVE, x, d, v, w, mean, r);       \
	PARAMETERS(v, w, dGamma, dBeta, tmp);  \
	GRADIENT(MOVE, dx, v, w, r, gamma, g, gx)

#define GRADIENT_BEGIN(MOVE, off, gamma, dGamma, dBeta) \
	MOVE(off(R12), gamma);  \
	MOVE(off(R13), dGamma); \
	MOVE(off(R9), dBeta)

#define GRADIENT_END(MOVE, off, dGamma, dBeta) \
	MOVE(dGamma, off(R13)); \
	MOVE(dBeta, off(R9))

#define GRADIENT2(MOVE, off, v, w, m0, m1, r0, r1, g0, g1, gx0, gx1, gamma, dGamma, dBeta, tmp) \
	GRADIENT_BEGIN(MOVE, off, gamma, dGamma, dBeta);                                                \
	GRADIENT_OF(MOVE, off(SI), off(DI), off(AX), v, w, m0, r0, g0, gx0, gamma, dGamma, dBeta, tmp); \
	GRADIENT_OF(MOVE, off(SI)(R8*1), off(DI)(R10*1), off(AX)(R11*1), v, w, m1, r1, g1, gx1, gamma, dGamma, dBeta, tmp); \
	GRADIENT_END(MOVE, off, dGamma, dBeta)

#define GRADIENT1(MOVE, off, v, w, mean, r, g, gx, gamma, dGamma, dBeta, tmp) \
	GRADIENT_BEGIN(MOVE, off, gamma, dGamma, dBeta);                                                \
	GRADIENT_OF(MOVE, off(SI), off(DI), off(AX), v, w, mean, r, g, gx, gamma, dGamma, dBeta, tmp);  \
	GRADIENT_END(MOVE, off, dGamma, dBeta)

#define GRADIENT2_WIDE(MOVE, off) GRADIENT2(MOVE, off, Y12, Y13, Y8, Y9, Y10, Y11, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y14)
#define GRADIENT2_NARROW(MOVE) GRADIENT2(MOVE, 0, X12, X13, X8, X9, X10, X11, X0, X1, X2, X3, X4, X5, X6, X14)
#define GRADIENT1_WIDE(MOVE, off) GRADIENT1(MOVE, off, Y12, Y13, Y8, Y10, Y0, Y2, Y4, Y5, Y6, Y14)
#define GRADIENT1_NARROW(MOVE) GRADIENT1(MOVE, 0, X12, X13, X8, X10, X0, X2, X4, X5, X6, X14)

// STATISTICS1 has the mean of a row in Y8 and its r in Y0.
#define STATISTICS1 \
	LANES(SUM1, STEP_X, sum, sumTail, sumFew, sumDone);                   \
	MEANS;                                                                \
	LOWER(Y0, Y8);                                                        \
	LANES(SQUARES1, STEP_X, square, squareTail, squareFew, squareDone);   \
	MEANS;                                                                \
	DEVIATIONS

#define LAST_LANES_OF_SUMS \
	LAST_LANES_BEGIN(DX, CX); \
	VMOVUPS 64(DX), Y15

// NORM_ROWS_AVX2 does all rows, four by FOUR and the last by ONE.
#define NORM_ROWS_AVX2(FOUR, ONE) \
	NORM_BEGIN(normArgs_dst, normArgs_dstStride); \
	LAST_LANES_OF_SUMS;                           \
	LEAQ (R8)(R8*2), R9;                          \
	LEAQ (R10)(R10*2), R11;                       \
	SUBQ $4, normArgs_rows(BX);                   \
	JLT  last;                                    \
group: \
	LANES(SUM4, STEP_X, groupSum, groupSumTail, groupSumFew, groupSumDone); \
	MEANS;                                        \
	EACH(Y0, Y8, Y9);                             \
	EACH(Y2, Y10, Y11);                           \
	LEAQ (SI)(R8*4), R12;                         \
	LANES_AHEAD(AHEAD_X4, SQUARES4, STEP_AHEAD, groupSquare, groupSquareTail, groupSquareFew, groupSquareDone); \
	MEANS;                                        \
	DEVIATIONS;                                   \
	EACH(Y0, Y0, Y1);                             \
	EACH(Y2, Y2, Y3);                             \
	MOVQ normArgs_gamma(BX), R12;                 \
	MOVQ normArgs_beta(BX), R13;                  \
	ELEMENTS(FOUR, NORM4_NARROW, STEP_NORM, groupBlock, groupTail, groupFour, groupTwo, groupOne, groupDone); \
	STEP_XY(SUBQ, normArgs_size(BX));             \
	LEAQ (SI)(R8*4), SI;                          \
	LEAQ (DI)(R10*4), DI;                         \
	SUBQ $4, normArgs_rows(BX);                   \
	JGE  group;                                   \
last: \
	ADDQ $4, normArgs_rows(BX);                   \
	JEQ  done;                                    \
row: \
	STATISTICS1;                                  \
	LOWER(Y0, Y0);                                \
	MOVQ normArgs_gamma(BX), R12;                 \
	MOVQ normArgs_beta(BX), R13;                  \
	ELEMENTS(ONE, NORM1_NARROW, STEP_NORM, block, tail, four, two, one, columnsDone); \
	STEP_XY(SUBQ, normArgs_size(BX));             \
	ADDQ R8, SI;                                  \
	ADDQ R10, DI;                                 \
	DECQ normArgs_rows(BX);                       \
	JNE  row;                                     \
done:

// func layerNormAVX2(a *normArgs)
// for i, x := range src { for j := range x { dst[i][j] = ((x[j]-mean(x))*r(x))*gamma[j] + beta[j] } }, of at least 8 columns
TEXT ·layerNormAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	NORM_ROWS_AVX2(NORM4_WIDE, NORM1_WIDE)
	VZEROUPPER
	RET

// func layerNormStreamAVX2(a *normArgs)
// layerNormAVX2 past the caches, of rows of dst that begin at multiples of 32 bytes and have whole blocks
TEXT ·layerNormStreamAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	NORM_ROWS_AVX2(NORM4_STREAM, NORM1_STREAM)
	SFENCE
	VZEROUPPER
	RET

// func layerNormFourAVX2(a *fourArgs)
// layerNormAVX2 of four rows, while those at from are prefetched
TEXT ·layerNormFourAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	NORM_BEGIN(normArgs_dst, normArgs_dstStride)
	LAST_LANES_OF_SUMS
	LEAQ (R8)(R8*2), R9
	LEAQ (R10)(R10*2), R11
	MOVQ fourArgs_from+0(BX), R12
	LANES_AHEAD(FETCH(R12), SUM4, STEP_X, sum, sumTail, sumFew, sumDone)
	MEANS
	EACH(Y0, Y8, Y9)
	EACH(Y2, Y10, Y11)
	MOVQ fourArgs_from+8(BX), R12
	MOVQ fourArgs_from+16(BX), R13
	LANES_AHEAD(FETCH(R12); FETCH(R13), SQUARES4, STEP_X, square, squareTail, squareFew, squareDone)
	MEANS
	DEVIATIONS
	EACH(Y0, Y0, Y1)
	EACH(Y2, Y2, Y3)
	MOVQ normArgs_gamma(BX), R12
	MOVQ normArgs_beta(BX), R13
	MOVQ fourArgs_from+24(BX), AX
	ELEMENTS_AHEAD(FETCH(AX), NORM4_WIDE, NORM4_NARROW, STEP_NORM, block, tail, four, two, one, done)
	VZEROUPPER
	RET

// func layerNormBackwardAVX2(a *normArgs)
// for i, x := range src { for j := range x {
//	xhat, d := (x[j]-mean(x))*r(x), dOut[i][j]; dGamma[j] += d*xhat; dBeta[j] += d
//	dSrc[i][j] = ((d*gamma[j] - mean(d*gamma)) - xhat*mean(d*gamma*xhat)) * r(x)
// } }, of at least 8 columns
TEXT ·layerNormBackwardAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	NORM_BEGIN(normArgs_dOut, normArgs_dOutStride)
	LAST_LANES_OF_SUMS
	MOVQ normArgs_dst(BX), AX
	MOVQ normArgs_dstStride(BX), R11
	SUBQ $2, normArgs_rows(BX)
	JLT  last
group:
	LANES(SUM2, STEP_X, groupSum, groupSumTail, groupSumFew, groupSumDone)
	MEANS
	EACH(Y0, Y8, Y9)
	LEAQ (SI)(R8*2), R12
	LEAQ (DI)(R10*2), R13
	LANES_AHEAD(AHEAD_XY2, SQUARES2, STEP_AHEAD, groupSquare, groupSquareTail, groupSquareFew, groupSquareDone)
	MEANS
	DEVIATIONS
	EACH(Y0, Y10, Y11)
	MOVQ normArgs_gamma(BX), R12
	LANES(G2, STEP_SUMS, groupBoth, groupBothTail, groupBothFew, groupBothDone)
	MEANS
	EACH(Y0, Y0, Y1)
	EACH(Y2, Y2, Y3)
	MOVQ normArgs_dGamma(BX), R13
	MOVQ normArgs_dBeta(BX), R9
	ELEMENTS(GRADIENT2_WIDE, GRADIENT2_NARROW, STEP_GRADIENT, groupBlock, groupTail, groupFour, groupTwo, groupOne, groupDone)
	STEP_XYZ(SUBQ, normArgs_size(BX))
	LEAQ (SI)(R8*2), SI
	LEAQ (DI)(R10*2), DI
	LEAQ (AX)(R11*2), AX
	SUBQ $2, normArgs_rows(BX)
	JGE  group
last:
	ADDQ $2, normArgs_rows(BX)
	JEQ  done
	STATISTICS1
	LOWER(Y0, Y10)
	MOVQ normArgs_gamma(BX), R12
	LANES(G1, STEP_SUMS, both, bothTail, bothFew, bothDone)
	MEANS
	LOWER(Y0, Y0)
	LOWER(Y2, Y2)
	MOVQ normArgs_dGamma(BX), R13
	MOVQ normArgs_dBeta(BX), R9
	ELEMENTS(GRADIENT1_WIDE, GRADIENT1_NARROW, STEP_GRADIENT, block, tail, four, two, one, done)
	VZEROUPPER
	RET

// AVX-512. Sums are Z0 to Z3, and Z4 to Z7; means are Z8 to Z11, and r are Z12 to Z15.

#define PLUS_PART(v, sum) VADDPS v, sum, K1, sum

// LANES_AVX512 does a pass that calculates sums, and goes back to the beginning of the rows.
#define LANES_AVX512(PASS, STEP, block, tail, done) \
	NORM_COLUMNS(PASS(VECTOR, VECTOR, PLUS_ALL), STEP, PASS(MASKED_LOAD, MASKED_STORE, PLUS_PART), block, tail, done); \
	STEP(SUBQ, normArgs_whole(BX))

// ELEMENTS_AVX512 does a pass to memory, and goes back to the beginning of the rows.
#define ELEMENTS_AVX512(PASS, STEP, BACK, block, tail, done) \
	NORM_COLUMNS(PASS(VECTOR, VECTOR), STEP, PASS(MASKED_LOAD, MASKED_STORE), block, tail, done); \
	BACK(SUBQ, normArgs_whole(BX))

// MEANS_AVX512 leaves in the quarters of s0 the means of four sums.
#define MEANS_AVX512(s0, s1, s2, s3, tmp) \
	QUARTERS(s0, s1, s2, s3, tmp);          \
	FOURS(s0, tmp);                         \
	VDIVPS.BCST normArgs_count(BX), s0, s0

// DEVIATIONS_AVX512 makes r of variances, in Z0.
#define DEVIATIONS_AVX512 \
	VADDPS.BCST normArgs_epsilon(BX), Z0, Z0; \
	VSQRTPS Z0, Z0;                           \
	MOVL    $0x3F800000, CX;                  \
	VPBROADCASTD CX, Z16;                     \
	VDIVPS  Z0, Z16, Z0

// EACH_AVX512 has each quarter of a register in a register of its own, the lowest in the first, which may be that register.
#define EACH_AVX512(from, to0, to1, to2, to3) \
	VSHUFF32X4 $0xFF, from, from, to3; \
	VSHUFF32X4 $0xAA, from, from, to2; \
	VSHUFF32X4 $0x55, from, from, to1; \
	VSHUFF32X4 $0x00, from, from, to0

#define SUM4_AVX512(LOAD, STORE, PLUS) \
	SUM1_AVX512(LOAD, STORE, PLUS);         \
	SUM(LOAD, PLUS, (SI)(R8*1), Z17, Z1);   \
	SUM(LOAD, PLUS, (SI)(R8*2), Z18, Z2);   \
	SUM(LOAD, PLUS, (SI)(R9*1), Z19, Z3)

#define SUM1_AVX512(LOAD, STORE, PLUS) \
	SUM(LOAD, PLUS, (SI), Z16, Z0)

#define SQUARES4_AVX512(LOAD, STORE, PLUS) \
	SQUARES1_AVX512(LOAD, STORE, PLUS);             \
	SQUARE(LOAD, PLUS, (SI)(R8*1), Z17, Z9, Z1);    \
	SQUARE(LOAD, PLUS, (SI)(R8*2), Z18, Z10, Z2);   \
	SQUARE(LOAD, PLUS, (SI)(R9*1), Z19, Z11, Z3)

#define SQUARES4_X_AVX512(LOAD, STORE, PLUS) \
	AHEAD_X4; \
	SQUARES4_AVX512(LOAD, STORE, PLUS)

#define SQUARES4_XY_AVX512(LOAD, STORE, PLUS) \
	AHEAD_XY4; \
	SQUARES4_AVX512(LOAD, STORE, PLUS)

#define SQUARES4_FETCH_AVX512(LOAD, STORE, PLUS) \
	FETCH(R12); \
	FETCH(R13); \
	SQUARES4_AVX512(LOAD, STORE, PLUS)

#define SQUARES1_AVX512(LOAD, STORE, PLUS) \
	SQUARE(LOAD, PLUS, (SI), Z16, Z8, Z0)

#define NORM4_AVX512(LOAD, STORE) \
	NORM1_AVX512(LOAD, STORE);                                              \
	NORM(LOAD, STORE, (SI)(R8*1), (DI)(R10*1), Z17, Z9, Z13, Z20, Z21);     \
	NORM(LOAD, STORE, (SI)(R8*2), (DI)(R10*2), Z18, Z10, Z14, Z20, Z21);    \
	NORM(LOAD, STORE, (SI)(R9*1), (DI)(R11*1), Z19, Z11, Z15, Z20, Z21)

#define NORM4_FETCH_AVX512 \
	FETCH(AX); \
	FETCH(DX); \
	NORM4_AVX512(VECTOR, VECTOR)

#define NORM1_AVX512(LOAD, STORE) \
	LOAD((R12), Z20); \
	LOAD((R13), Z21); \
	NORM(LOAD, STORE, (SI), (DI), Z16, Z8, Z12, Z20, Z21)

#define NORM4_STREAM_AVX512(LOAD, STORE) NORM4_AVX512(LOAD, STREAM)
#define NORM1_STREAM_AVX512(LOAD, STORE) NORM1_AVX512(LOAD, STREAM)

// G_AVX512 adds to the sums of g and g*xhat, and to the gradients of gamma and beta in Z23 and Z24.
#define G_AVX512(LOAD, PLUS, x, d, v, w, mean, r, g, gx) \
	XHAT(LOAD, x, d, v, w, mean, r);       \
	PARAMETERS(v, w, Z23, Z24, Z20);       \
	SUM_G(PLUS, v, w, Z22, g, gx)

#define G_BEGIN_AVX512(LOAD) \
	LOAD((R12), Z22); \
	LOAD((R13), Z23); \
	LOAD((DX), Z24)

#define G_END_AVX512(STORE) \
	STORE(Z23, (R13)); \
	STORE(Z24, (DX))

#define G4_AVX512(LOAD, STORE, PLUS) \
	G_BEGIN_AVX512(LOAD);                                                      \
	G_AVX512(LOAD, PLUS, (SI), (DI), Z16, Z17, Z8, Z12, Z0, Z4);               \
	G_AVX512(LOAD, PLUS, (SI)(R8*1), (DI)(R10*1), Z18, Z19, Z9, Z13, Z1, Z5);  \
	G_AVX512(LOAD, PLUS, (SI)(R8*2), (DI)(R10*2), Z16, Z17, Z10, Z14, Z2, Z6); \
	G_AVX512(LOAD, PLUS, (SI)(R9*1), (DI)(R11*1), Z18, Z19, Z11, Z15, Z3, Z7); \
	G_END_AVX512(STORE)

#define G1_AVX512(LOAD, STORE, PLUS) \
	G_BEGIN_AVX512(LOAD);                                                      \
	G_AVX512(LOAD, PLUS, (SI), (DI), Z16, Z17, Z8, Z12, Z0, Z4);               \
	G_END_AVX512(STORE)

#define GRADIENT_AVX512(LOAD, STORE, x, d, dx, v, w, mean, r, g, gx) \
	XHAT(LOAD, x, d, v, w, mean, r); \
	GRADIENT(STORE, dx, v, w, r, Z22, g, gx)

#define GRADIENT4_AVX512(LOAD, STORE) \
	GRADIENT1_AVX512(LOAD, STORE);                                                                   \
	GRADIENT_AVX512(LOAD, STORE, (SI)(R8*1), (DI)(R10*1), (AX)(R12*1), Z18, Z19, Z9, Z13, Z1, Z5);   \
	GRADIENT_AVX512(LOAD, STORE, (SI)(R8*2), (DI)(R10*2), (AX)(R12*2), Z16, Z17, Z10, Z14, Z2, Z6);  \
	GRADIENT_AVX512(LOAD, STORE, (SI)(R9*1), (DI)(R11*1), (AX)(R13*1), Z18, Z19, Z11, Z15, Z3, Z7)

#define GRADIENT1_AVX512(LOAD, STORE) \
	LOAD((DX), Z22); \
	GRADIENT_AVX512(LOAD, STORE, (SI), (DI), (AX), Z16, Z17, Z8, Z12, Z0, Z4)

// STATISTICS_AVX512 has the means of rows and their r: of four, where SQUARES prefetches, by R12 and R13, or of one.
#define STATISTICS_AVX512(SUM, SQUARES, STEP, sum, sumTail, sumDone, square, squareTail, squareDone) \
	CLEAR4(Z0, Z1, Z2, Z3);                                      \
	LANES_AVX512(SUM, STEP_X, sum, sumTail, sumDone);            \
	MEANS_AVX512(Z0, Z1, Z2, Z3, Z16);                           \
	EACH_AVX512(Z0, Z8, Z9, Z10, Z11);                           \
	CLEAR4(Z0, Z1, Z2, Z3);                                      \
	LANES_AVX512(SQUARES, STEP, square, squareTail, squareDone); \
	MEANS_AVX512(Z0, Z1, Z2, Z3, Z16);                           \
	DEVIATIONS_AVX512;                                           \
	EACH_AVX512(Z0, Z12, Z13, Z14, Z15)

#define STATISTICS4_AVX512(SQUARES) \
	STATISTICS_AVX512(SUM4_AVX512, SQUARES, STEP_AHEAD, sum4, sumTail4, sumDone4, square4, squareTail4, squareDone4)

#define STATISTICS1_AVX512 \
	STATISTICS_AVX512(SUM1_AVX512, SQUARES1_AVX512, STEP_X, sum, sumTail, sumDone, square, squareTail, squareDone)

// MEANS_OF_G_AVX512 has the means of g in Z0 to Z3 and of g*xhat in Z4 to Z7, and goes back to gamma.
#define MEANS_OF_G_AVX512(G, both, tail, done) \
	CLEAR4(Z0, Z1, Z2, Z3);                             \
	CLEAR4(Z4, Z5, Z6, Z7);                             \
	MOVQ normArgs_gamma(BX), R12;                       \
	MOVQ normArgs_dGamma(BX), R13;                      \
	MOVQ normArgs_dBeta(BX), DX;                        \
	LANES_AVX512(G, STEP_PARAMETERS, both, tail, done); \
	MEANS_AVX512(Z0, Z1, Z2, Z3, Z16);                  \
	MEANS_AVX512(Z4, Z5, Z6, Z7, Z17);                  \
	EACH_AVX512(Z0, Z0, Z1, Z2, Z3);                    \
	EACH_AVX512(Z4, Z4, Z5, Z6, Z7);                    \
	MOVQ normArgs_gamma(BX), DX

// NORM_ROWS_AVX512 does all rows, four by FOUR and the last by ONE.
#define NORM_ROWS_AVX512(FOUR, ONE) \
	NORM_BEGIN(normArgs_dst, normArgs_dstStride); \
	MASK;                                         \
	LEAQ (R8)(R8*2), R9;                          \
	LEAQ (R10)(R10*2), R11;                       \
	SUBQ $4, normArgs_rows(BX);                   \
	JLT  last;                                    \
group: \
	LEAQ (SI)(R8*4), R12;                         \
	STATISTICS4_AVX512(SQUARES4_X_AVX512);        \
	MOVQ normArgs_gamma(BX), R12;                 \
	MOVQ normArgs_beta(BX), R13;                  \
	ELEMENTS_AVX512(FOUR, STEP_NORM, STEP_XY, groupBlock, groupTail, groupDone); \
	LEAQ (SI)(R8*4), SI;                          \
	LEAQ (DI)(R10*4), DI;                         \
	SUBQ $4, normArgs_rows(BX);                   \
	JGE  group;                                   \
last: \
	ADDQ $4, normArgs_rows(BX);                   \
	JEQ  done;                                    \
row: \
	STATISTICS1_AVX512;                           \
	MOVQ normArgs_gamma(BX), R12;                 \
	MOVQ normArgs_beta(BX), R13;                  \
	ELEMENTS_AVX512(ONE, STEP_NORM, STEP_XY, block, tail, columnsDone); \
	ADDQ R8, SI;                                  \
	ADDQ R10, DI;                                 \
	DECQ normArgs_rows(BX);                       \
	JNE  row;                                     \
done:

// func layerNormAVX512(a *normArgs)
// for i, x := range src { for j := range x { dst[i][j] = ((x[j]-mean(x))*r(x))*gamma[j] + beta[j] } }
TEXT ·layerNormAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	NEAR(normArgs_near, ·layerNormNearAVX512<>)
	NORM_ROWS_AVX512(NORM4_AVX512, NORM1_AVX512)
	VZEROUPPER
	RET

// func layerNormStreamAVX512(a *normArgs)
// layerNormAVX512 past the caches, of rows of dst that begin at multiples of 64 bytes and have whole vectors
TEXT ·layerNormStreamAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	NEAR(normArgs_near, ·layerNormStreamNearAVX512<>)
	NORM_ROWS_AVX512(NORM4_STREAM_AVX512, NORM1_STREAM_AVX512)
	SFENCE
	VZEROUPPER
	RET

#define NORM_FOUR_AVX512 \
	NORM_BEGIN(normArgs_dst, normArgs_dstStride); \
	MASK;                                         \
	LEAQ (R8)(R8*2), R9;                          \
	LEAQ (R10)(R10*2), R11;                       \
	VMOVUPS fourArgs_sums+0(BX), Z0;              \
	VMOVUPS fourArgs_sums+64(BX), Z1;             \
	VMOVUPS fourArgs_sums+128(BX), Z2;            \
	VMOVUPS fourArgs_sums+192(BX), Z3;            \
	MEANS_AVX512(Z0, Z1, Z2, Z3, Z16);            \
	EACH_AVX512(Z0, Z8, Z9, Z10, Z11);            \
	CLEAR4(Z0, Z1, Z2, Z3);                       \
	MOVQ fourArgs_from+0(BX), R12;                \
	MOVQ fourArgs_from+8(BX), R13;                \
	LANES_AVX512(SQUARES4_FETCH_AVX512, STEP_X, square, squareTail, squareDone); \
	MEANS_AVX512(Z0, Z1, Z2, Z3, Z16);            \
	DEVIATIONS_AVX512;                            \
	EACH_AVX512(Z0, Z12, Z13, Z14, Z15);          \
	MOVQ normArgs_gamma(BX), R12;                 \
	MOVQ normArgs_beta(BX), R13;                  \
	MOVQ fourArgs_from+16(BX), AX;                \
	MOVQ fourArgs_from+24(BX), DX;                \
	NORM_COLUMNS(NORM4_FETCH_AVX512, STEP_NORM, NORM4_AVX512(MASKED_LOAD, MASKED_STORE), block, tail, done); \
	VZEROUPPER

// func layerNormFourAVX512(a *fourArgs)
// layerNormAVX512 of four rows, whose sums are there, while those at from are prefetched
TEXT ·layerNormFourAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	NEAR(normArgs_near, ·layerNormFourNearAVX512<>)
	NORM_FOUR_AVX512
	RET

// func layerNormBackwardAVX512(a *normArgs)
// for i, x := range src { for j := range x {
//	xhat, d := (x[j]-mean(x))*r(x), dOut[i][j]; dGamma[j] += d*xhat; dBeta[j] += d
//	dSrc[i][j] = ((d*gamma[j] - mean(d*gamma)) - xhat*mean(d*gamma*xhat)) * r(x)
// } }
TEXT ·layerNormBackwardAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	NORM_BEGIN(normArgs_dOut, normArgs_dOutStride)
	MASK
	LEAQ (R8)(R8*2), R9
	LEAQ (R10)(R10*2), R11
	MOVQ normArgs_dst(BX), AX
	SUBQ $4, normArgs_rows(BX)
	JLT  last
group:
	LEAQ (SI)(R8*4), R12
	LEAQ (DI)(R10*4), R13
	STATISTICS4_AVX512(SQUARES4_XY_AVX512)
	MEANS_OF_G_AVX512(G4_AVX512, groupBoth, groupBothTail, groupBothDone)
	MOVQ normArgs_dstStride(BX), R12
	LEAQ (R12)(R12*2), R13
	ELEMENTS_AVX512(GRADIENT4_AVX512, STEP_GRADIENTS, STEP_XYZ, groupBlock, groupTail, groupDone)
	LEAQ (SI)(R8*4), SI
	LEAQ (DI)(R10*4), DI
	LEAQ (AX)(R12*4), AX
	SUBQ $4, normArgs_rows(BX)
	JGE  group
last:
	ADDQ $4, normArgs_rows(BX)
	JEQ  done
row:
	STATISTICS1_AVX512
	MEANS_OF_G_AVX512(G1_AVX512, both, bothTail, bothDone)
	ELEMENTS_AVX512(GRADIENT1_AVX512, STEP_GRADIENTS, STEP_XYZ, block, tail, columnsDone)
	ADDQ R8, SI
	ADDQ R10, DI
	ADDQ normArgs_dstStride(BX), AX
	DECQ normArgs_rows(BX)
	JNE  row
done:
	VZEROUPPER
	RET

// Near kernels: see NEAR in rows_amd64.h. BX has the arguments.

#undef PREFETCH
#define PREFETCH PREFETCHT0

TEXT ·layerNormNearAVX512<>(SB), NOSPLIT, $0-8
	NORM_ROWS_AVX512(NORM4_AVX512, NORM1_AVX512)
	VZEROUPPER
	RET

TEXT ·layerNormStreamNearAVX512<>(SB), NOSPLIT, $0-8
	NORM_ROWS_AVX512(NORM4_STREAM_AVX512, NORM1_STREAM_AVX512)
	SFENCE
	VZEROUPPER
	RET

TEXT ·layerNormFourNearAVX512<>(SB), NOSPLIT, $0-8
	NORM_FOUR_AVX512
	RET
