//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// Rows in 16 bits, and their dot products. Nothing here has a tail to store: rows in 16 bits are whole cache lines.
//
// Quantize passes twice over each row of src, 16 columns at a time: for its sum of squares, whose 16 lanes are one register
// with AVX-512 and two with AVX2, and to multiply and round. What is beyond the row counts as +0.
//
// Registers:
//	BX   arguments                      R8   factor of the row
//	SI   row of src                     R9   rows left
//	DI   row of dst                     R10  lanes of the tail (AVX2)
//	AX   columns                        R11  element of dst
//	DX   bytes done of the row          R12  end of the row of dst
//	CX   bytes of the row but for the tail
//	K1   lanes of the tail (AVX-512)    Y14, Z14  the factor in every lane
//	X13  QuantizedLength                Y15  how lanes of the tail are moved (AVX2)

DATA quantized<>+0(SB)/4, $30000.0
DATA quantized<>+4(SB)/4, $1e-30
DATA quantized<>+8(SB)/4, $1e36
GLOBL quantized<>(SB), RODATA|NOPTR, $12

#define QUANTIZE_BEGIN \
	MOVQ   quantizeArgs_dst(BX), DI;     \
	MOVQ   quantizeArgs_factors(BX), R8; \
	MOVQ   quantizeArgs_src(BX), SI;     \
	MOVQ   quantizeArgs_rows(BX), R9;    \
	MOVQ   quantizeArgs_cols(BX), AX;    \
	LEAQ   (AX*4), CX;                   \
	ANDQ   $~63, CX;                     \
	VMOVSS quantized<>+0(SB), X13

// FACTOR makes the eight sums in Y0 a factor, in X0, or has none.
#define FACTOR(none) \
	SUM_OF_EIGHT;                    \
	MOVQ      DI, R11;               \
	MOVQ      DI, R12;               \
	ADDQ      quantizeArgs_size(BX), R12; \
	VXORPS    X1, X1, X1;            \
	VMOVSS    X1, (R8);              \
	VUCOMISS  quantized<>+4(SB), X0; \
	JCS       none;                  \
	VUCOMISS  quantized<>+8(SB), X0; \
	JHI       none;                  \
	VSQRTSS   X0, X0, X0;            \
	VDIVSS    X0, X13, X0;           \
	VMOVSS    X0, (R8)

// QUANTIZE_END sets what is left of the row of dst to zeros, and goes on with the next row.
#define QUANTIZE_END(zero, ended, row) \
	VXORPS X0, X0, X0;   \
	CMPQ   R11, R12;     \
	JEQ    ended;        \
zero: \
	VMOVUPS Y0, (R11);   \
	ADDQ   $32, R11;     \
	CMPQ   R11, R12;     \
	JLT    zero;         \
ended: \
	MOVQ   R12, DI;      \
	ADDQ   $4, R8;       \
	ADDQ   quantizeArgs_srcStride(BX), SI; \
	DECQ   R9;           \
	JNE    row

// AVX2

// SIXTEENS_AVX2 has EACH done for every 16 columns, in Y0 and Y1.
#define SIXTEENS_AVX2(EACH, block, few, last, done) \
	XORL    DX, DX;             \
	PCALIGN $32;                \
block: \
	VMOVUPS (SI)(DX*1), Y0;     \
	VMOVUPS 32(SI)(DX*1), Y1;   \
	EACH;                       \
	ADDQ    $64, DX;            \
	CMPQ    DX, CX;             \
	JLT     block;              \
	TESTB   $15, AX;            \
	JEQ     done;               \
	VXORPS  Y1, Y1, Y1;         \
	TESTB   $8, AX;             \
	JEQ     few;                \
	VMOVUPS (SI)(DX*1), Y0;     \
	TESTB   $7, AX;             \
	JEQ     last;               \
	LAST_LANES(-32(SI)(AX*4), (R10), Y15, Y1); \
	JMP     last;               \
few: \
	LAST_LANES(-32(SI)(AX*4), (R10), Y15, Y0); \
last: \
	EACH;                       \
done:

#define SQUARES_AVX2 \
	VMULPS Y0, Y0, Y0; \
	VMULPS Y1, Y1, Y1; \
	VADDPS Y0, Y2, Y2; \
	VADDPS Y1, Y3, Y3

#define ROUND_AVX2 \
	VMULPS    Y14, Y0, Y0;    \
	VMULPS    Y14, Y1, Y1;    \
	VCVTPS2DQ Y0, Y0;         \
	VCVTPS2DQ Y1, Y1;         \
	VPACKSSDW Y1, Y0, Y0;     \
	VPERMQ    $0xD8, Y0, Y0;  \
	VMOVDQU   Y0, (R11);      \
	ADDQ      $32, R11

// func quantizeAVX2(q *quantizeArgs)
// for i := range dst { f := factor(src[i]); for k := range dst[i] { dst[i][k] = round(f * src[i][k]) } }, of 16 columns or more
TEXT ·quantizeAVX2(SB), NOSPLIT, $0-8
	MOVQ q+0(FP), BX
	QUANTIZE_BEGIN
	LAST_LANES_BEGIN(R10, DX)
	VMOVUPS 64(R10), Y15
row:
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	SIXTEENS_AVX2(SQUARES_AVX2, squaresBlock, squaresFew, squaresLast, squares)
	VADDPS Y3, Y2, Y0
	FACTOR(zeros)
	VBROADCASTSS X0, Y14
	SIXTEENS_AVX2(ROUND_AVX2, block, few, last, zeros)
	QUANTIZE_END(zero, ended, row)
	VZEROUPPER
	RET

// AVX-512

#define SIXTEENS_AVX512(EACH, block, done) \
	XORL      DX, DX;             \
	PCALIGN   $32;                \
block: \
	VMOVUPS   (SI)(DX*1), Z0;     \
	EACH;                         \
	ADDQ      $64, DX;            \
	CMPQ      DX, CX;             \
	JLT       block;              \
	TESTB     $15, AX;            \
	JEQ       done;               \
	VMOVUPS.Z (SI)(DX*1), K1, Z0; \
	EACH;                         \
done:

#define SQUARES_AVX512 \
	VMULPS Z0, Z0, Z0; \
	VADDPS Z0, Z2, Z2

#define ROUND_AVX512 \
	VMULPS    Z14, Z0, Z0; \
	VCVTPS2DQ Z0, Z0;      \
	VPMOVSDW  Z0, (R11);   \
	ADDQ      $32, R11

// func quantizeAVX512(q *quantizeArgs)
// for i := range dst { f := factor(src[i]); for k := range dst[i] { dst[i][k] = round(f * src[i][k]) } }, of 16 columns or more
TEXT ·quantizeAVX512(SB), NOSPLIT, $0-8
	MOVQ q+0(FP), BX
	QUANTIZE_BEGIN
	MOVQ CX, R10
	MASK
	MOVQ R10, CX
row:
	VXORPS Z2, Z2, Z2
	SIXTEENS_AVX512(SQUARES_AVX512, squaresBlock, squares)
	VEXTRACTF64X4 $1, Z2, Y0
	VADDPS Y2, Y0, Y0
	FACTOR(zeros)
	VBROADCASTSS X0, Z14
	SIXTEENS_AVX512(ROUND_AVX512, block, zeros)
	QUANTIZE_END(zero, ended, row)
	VZEROUPPER
	RET

// QuantizedDots goes along four rows of b at a time, against all rows of a: two of these at a time with AVX2, and four with
// AVX-512. A lane of a sum has the products of two columns. On a Zen 4, a product of 768 columns, of 64 rows with 80, takes
// 8.8 ns with AVX-512 and 12.4 with AVX2; that of DotsAll takes 15.6 and 25.
//
// Registers:
//	BX   arguments                      R11  row of a, along it
//	SI, R8, R9, R10  rows of b          R12  another row of a, along it
//	R13  element of dst in its row 0    AX   rows of a left
//	DI   element of dst                 DX   bytes done of the rows
//	CX   bytes of a row

#define QUANTIZED_BEGIN \
	MOVQ quantizedArgs_b(BX), SI;    \
	MOVQ quantizedArgs_size(BX), CX; \
	MOVQ quantizedArgs_dst(BX), R13

#define QUANTIZED_GROUP \
	LEAQ (SI)(CX*1), R8;              \
	LEAQ (SI)(CX*2), R9;              \
	LEAQ (R8)(CX*2), R10;             \
	MOVQ quantizedArgs_a(BX), R11;    \
	MOVQ quantizedArgs_rows(BX), AX;  \
	MOVQ R13, DI

// QUANTIZED_AHEAD fetches some lines of what comes next into the second-level cache.
#define QUANTIZED_AHEAD(line, near) \
	MOVQ  quantizedArgs_next(BX), R12;  \
	CMPQ  R12, quantizedArgs_end(BX);   \
	JAE   near;                         \
	MOVQ  quantizedArgs_lines(BX), DX;  \
line: \
	PREFETCHT1 (R12);                   \
	ADDQ  $64, R12;                     \
	DECQ  DX;                           \
	JNE   line;                         \
	MOVQ  R12, quantizedArgs_next(BX);  \
near:

#define QUANTIZED_NEXT(group) \
	LEAQ (SI)(CX*4), SI;         \
	ADDQ $16, R13;               \
	SUBQ $4, quantizedArgs_n(BX); \
	JGT  group

// INT16_PRODUCTS adds the products of a row of b with two rows of a, in Y8 and Y9, to x and y.
#define INT16_PRODUCTS(row, off, x, y) \
	VMOVDQU  off(row)(DX*1), Y10; \
	VPMADDWD Y10, Y8, Y11; \
	VPADDD   Y11, x, x;    \
	VPMADDWD Y10, Y9, Y10; \
	VPADDD   Y10, y, y

#define INT16_COLUMNS(off) \
	VMOVDQU off(R11), Y8;            \
	VMOVDQU off(R11)(CX*1), Y9;      \
	INT16_PRODUCTS(SI, off, Y0, Y4); \
	INT16_PRODUCTS(R8, off, Y1, Y5); \
	INT16_PRODUCTS(R9, off, Y2, Y6); \
	INT16_PRODUCTS(R10, off, Y3, Y7)

// INT16_STORE adds up the lanes of the sums of a row of a, x and xmm being the same register, and stores them.
#define INT16_STORE(x, y, z, w, xmm) \
	VPHADDD y, x, x;          \
	VPHADDD w, z, z;          \
	VPHADDD z, x, x;          \
	VEXTRACTI128 $1, x, X8;   \
	VPADDD  X8, xmm, xmm;     \
	VMOVDQU xmm, (DI);        \
	ADDQ    quantizedArgs_dstStride(BX), DI

// func quantizedDotsAVX2(d *quantizedArgs)
// for j := range b { for i := range a { dst[i][j] = dot(a[i], b[j]) } }
TEXT ·quantizedDotsAVX2(SB), NOSPLIT, $0-8
	MOVQ d+0(FP), BX
	QUANTIZED_BEGIN
group:
	QUANTIZED_GROUP
pair:
	QUANTIZED_AHEAD(line, near)
	CLEAR4(Y0, Y1, Y2, Y3)
	CLEAR4(Y4, Y5, Y6, Y7)
	XORL DX, DX
	PCALIGN $32
block:
	INT16_COLUMNS(0)
	INT16_COLUMNS(32)
	ADDQ $64, R11
	ADDQ $64, DX
	CMPQ DX, CX
	JLT  block
	ADDQ CX, R11
	INT16_STORE(Y0, Y1, Y2, Y3, X0)
	INT16_STORE(Y4, Y5, Y6, Y7, X4)
	SUBQ $2, AX
	JGT  pair
	QUANTIZED_NEXT(group)
	VZEROUPPER
	RET

// INT16_PRODUCTS_AVX512 adds the products of a row of b with four rows of a, in Z16 to Z19.
#define INT16_PRODUCTS_AVX512(row, x, y, z, w) \
	VMOVDQU64 (row)(DX*1), Z20; \
	VPMADDWD  Z20, Z16, Z21;    \
	VPMADDWD  Z20, Z17, Z22;    \
	VPMADDWD  Z20, Z18, Z23;    \
	VPMADDWD  Z20, Z19, Z24;    \
	VPADDD    Z21, x, x;        \
	VPADDD    Z22, y, y;        \
	VPADDD    Z23, z, z;        \
	VPADDD    Z24, w, w

// func quantizedDotsAVX512(d *quantizedArgs)
// for j := range b { for i := range a { dst[i][j] = dot(a[i], b[j]) } }
TEXT ·quantizedDotsAVX512(SB), NOSPLIT, $0-8
	MOVQ d+0(FP), BX
	QUANTIZED_BEGIN
	VPMOVZXBD ·apart(SB), Z31
group:
	QUANTIZED_GROUP
quad:
	QUANTIZED_AHEAD(line, near)
	LEAQ (R11)(CX*2), R12
	ADDQ CX, R12
	CLEAR4(Z0, Z1, Z2, Z3)
	CLEAR4(Z4, Z5, Z6, Z7)
	CLEAR4(Z8, Z9, Z10, Z11)
	CLEAR4(Z12, Z13, Z14, Z15)
	XORL DX, DX
	PCALIGN $32
block:
	VMOVDQU64 (R11), Z16
	VMOVDQU64 (R11)(CX*1), Z17
	VMOVDQU64 (R11)(CX*2), Z18
	VMOVDQU64 (R12), Z19
	INT16_PRODUCTS_AVX512(SI, Z0, Z4, Z8, Z12)
	INT16_PRODUCTS_AVX512(R8, Z1, Z5, Z9, Z13)
	INT16_PRODUCTS_AVX512(R9, Z2, Z6, Z10, Z14)
	INT16_PRODUCTS_AVX512(R10, Z3, Z7, Z11, Z15)
	ADDQ $64, R11
	ADDQ $64, R12
	ADDQ $64, DX
	CMPQ DX, CX
	JLT  block
	MOVQ R12, R11
	SIXTEEN_SUMS(VPADDD)
	MOVQ quantizedArgs_dstStride(BX), R12
	VMOVUPS X0, (DI)
	VMOVUPS X1, (DI)(R12*1)
	LEAQ (DI)(R12*2), DI
	VMOVUPS X2, (DI)
	VMOVUPS X3, (DI)(R12*1)
	LEAQ (DI)(R12*2), DI
	SUBQ $4, AX
	JGT  quad
	QUANTIZED_NEXT(group)
	VZEROUPPER
	RET
