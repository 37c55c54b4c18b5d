//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// Dropout walks the rows of dropoutArgs, two at a time with AVX2 and four with AVX-512, as long as there are as many, since
// the products of one row wait for each other; and rows from left to right in blocks of 32 columns with AVX2 and 64 with
// AVX-512, for which one vector of counters gives the random bits. The last block of a row is moved as vectors and parts of
// 4, 2 and 1 floats, or with AVX-512 by masks: no byte outside the row is touched.
//
// On a Zen 4, ns per row of 768 in the first-level cache, rows one at a time and as they are: AVX-512 171 and 132.
//
// A word of a counter stands in the lower half of a 64-bit lane. The upper half is whatever the last product has left
// there: VPMULUDQ does not read it. So the lower half of a product is a word as it stands, the upper half one after a
// shift, and a round takes no shuffles. The lanes have the order that unpacking the result makes the right one.
//
// Of a counter, words 0 and 1 are the column and the row, and the others the same in the whole call. Up to the third round
// there are intermediate results that belong to a column alone, which rows share, or to a row alone, which DROPOUT_ROW
// works out once.
//
// Registers:
//	BX  arguments                    R8   bytes between rows of src
//	DI  in the row of dst            R11  three times as much, or with AVX2 the number of the next block
//	SI  in the row of src            R12  bytes between rows of dst
//	DX  columns left of the row      R13  three times as much, or with AVX2 for a moment
//	R9  rows left                    AX, CX for a moment
//	R10 row of the whole matrix
//
//	0       lower halves of the first products      4, 5       for a moment
//	1       what a column adds to word 0, round 3   6 to 13    four words each of two rows (AVX2)
//	2       what it adds to word 2, round 3         16 to 31   four words each of four rows (AVX-512)
//	3       what it adds to word 2, round 4         14, 15     the multipliers
//
// and with AVX-512
//
//	7, 8    for a moment                            6          the step of counters
//	11      counters                                9          what the call adds to word 2, round 1
//	12      scale                                   10         what it adds to word 0, round 2
//	13      threshold                               K3         the lower halves of lanes
//	K1, K2  columns that are kept                   K4 to K7   columns that there are

#define KEY0(round) (dropoutArgs_keys+8*(round))(BX)
#define KEY1(round) (dropoutArgs_keys+8*(round)+4)(BX)

#define DROPOUT_BEGIN \
	MOVQ dropoutArgs_dst(BX), DI;       \
	MOVQ dropoutArgs_src(BX), SI;       \
	MOVQ dropoutArgs_rows(BX), R9;      \
	MOVL dropoutArgs_row(BX), R10;      \
	MOVQ dropoutArgs_srcStride(BX), R8; \
	MOVQ dropoutArgs_dstStride(BX), R12

// DROPOUT_ROW works out, for row number i of those that are done at once, the product of the second round that the row
// alone decides on: what it adds to word 2 in that round and in the third.
#define DROPOUT_ROW(i) \
	MOVL  R10, AX;                             \
	INCL  R10;                                 \
	XORL  dropoutArgs_start(BX), AX;           \
	MOVL  $0xd2511f53, CX;                     \
	IMULQ CX, AX;                              \
	MOVQ  AX, CX;                              \
	SHRQ  $32, CX;                             \
	XORL  KEY1(1), CX;                         \
	XORL  KEY1(2), AX;                         \
	MOVL  CX, (dropoutArgs_second2+4*(i))(BX); \
	MOVL  AX, (dropoutArgs_third2+4*(i))(BX)

// AVX2

// DROPOUT_COLUMNS works out what belongs to columns alone, and counts.
#define DROPOUT_COLUMNS_AVX2 \
	VMOVD    R11, X0;                             \
	VPBROADCASTD X0, Y0;                          \
	VPADDD   lanes4<>(SB), Y0, Y0;                \
	ADDL     $4, R11;                             \
	VPMULUDQ Y14, Y0, Y0;                         \
	VPBROADCASTD dropoutArgs_first(BX), Y4;       \
	VPSRLQ   $32, Y0, Y1;                         \
	VPXOR    Y4, Y1, Y1;                          \
	VPMULUDQ Y15, Y1, Y1;                         \
	VPBROADCASTD dropoutArgs_second(BX), Y4;      \
	VPSRLQ   $32, Y1, Y3;                         \
	VPXOR    Y4, Y3, Y3;                          \
	VPMULUDQ Y14, Y3, Y3;                         \
	VPBROADCASTD KEY0(2), Y4;                     \
	VPXOR    Y4, Y1, Y1;                          \
	VPSRLQ   $32, Y3, Y2;                         \
	VPBROADCASTD KEY1(3), Y4;                     \
	VPXOR    Y4, Y3, Y3

// FIRST is the rest of the first four rounds for row number i; its words end in registers b, c, d and a.
#define FIRST_AVX2(i, a, b, c, d) \
	VPBROADCASTD (dropoutArgs_second2+4*(i))(BX), b; \
	VPXOR    Y0, b, b;                            \
	VPMULUDQ Y15, b, b;                           \
	VPBROADCASTD (dropoutArgs_third2+4*(i))(BX), c; \
	VPXOR    Y2, c, c;                            \
	VPSRLQ   $32, b, a;                           \
	VPMULUDQ Y15, c, c;                           \
	VPXOR    Y1, a, a;                            \
	VPMULUDQ Y14, a, a;                           \
	VPBROADCASTD KEY0(3), d;                      \
	VPXOR    d, b, b;                             \
	VPSRLQ   $32, c, d;                           \
	VPXOR    d, b, b;                             \
	VPSRLQ   $32, a, d;                           \
	VPXOR    Y3, d, d

// ROUND leaves the words in registers c1, c2, c3 and c0.
#define ROUND_AVX2(round, c0, c1, c2, c3) \
	VPMULUDQ Y15, c2, c2;                         \
	VPMULUDQ Y14, c0, c0;                         \
	VPBROADCASTD KEY0(round), Y4;                 \
	VPXOR    Y4, c1, c1;                          \
	VPBROADCASTD KEY1(round), Y5;                 \
	VPXOR    Y5, c3, c3;                          \
	VPSRLQ   $32, c2, Y4;                         \
	VPXOR    Y4, c1, c1;                          \
	VPSRLQ   $32, c0, Y5;                         \
	VPXOR    Y5, c3, c3

// LAST is the last round, which leaves two words of each counter in one lane, and the comparison: what is kept of the first
// 16 columns and of the others, in registers c1 and c3, 16 bits each. Y5 becomes the scale.
#define LAST_AVX2(c0, c1, c2, c3) \
	ROUND_AVX2(9, c0, c1, c2, c3);                \
	VPSHUFD  $0xA0, c2, c2;                       \
	VPSHUFD  $0xA0, c0, c0;                       \
	VPBLENDD $0xAA, c2, c1, c1;                   \
	VPBLENDD $0xAA, c0, c3, c3;                   \
	VPBROADCASTW dropoutArgs_threshold(BX), Y4;   \
	VPUNPCKLQDQ c3, c1, c0;                       \
	VPUNPCKHQDQ c3, c1, c2;                       \
	VPMAXUW  Y4, c0, c1;                          \
	VPMAXUW  Y4, c2, c3;                          \
	VBROADCASTSS dropoutArgs_scale(BX), Y5;       \
	VPCMPEQW c0, c1, c1;                          \
	VPCMPEQW c2, c3, c3

// DROP does 16 columns, whose bits are in register y, which is x by half.
#define DROP_AVX2(from, to, off, x, y) \
	VPMOVSXWD x, Y0;                              \
	VEXTRACTI128 $1, y, x;                        \
	VPMOVSXWD x, Y1;                              \
	VMULPS   off from, Y5, Y2;                    \
	VMULPS   off+32 from, Y5, Y3;                 \
	VANDPS   Y0, Y2, Y2;                          \
	VANDPS   Y1, Y3, Y3;                          \
	VMOVUPS  Y2, off to;                          \
	VMOVUPS  Y3, off+32 to

// EDGE does the last columns of a row, whose bits are in registers y and z; x is y by half.
#define EDGE_AVX2(from, to, x, y, z, part, four, two, single, end) \
	LEAQ  from, AX;                               \
	LEAQ  to, CX;                                 \
	MOVQ  DX, R13;                                \
part: \
	VPMOVSXWD x, Y0;                              \
	SUBQ  $8, R13;                                \
	JLT   four;                                   \
	VMULPS (AX), Y5, Y2;                          \
	VANDPS Y0, Y2, Y2;                            \
	VMOVUPS Y2, (CX);                             \
	ADDQ  $32, AX;                                \
	ADDQ  $32, CX;                                \
	VPERM2I128 $0x21, z, y, y;                    \
	VPERM2I128 $0x81, z, z, z;                    \
	JMP   part;                                   \
four: \
	TESTB $4, R13;                                \
	JEQ   two;                                    \
	VMULPS (AX), X5, X2;                          \
	VANDPS X0, X2, X2;                            \
	VMOVUPS X2, (CX);                             \
	VEXTRACTI128 $1, Y0, X0;                      \
	ADDQ  $16, AX;                                \
	ADDQ  $16, CX;                                \
two: \
	TESTB $2, R13;                                \
	JEQ   single;                                 \
	VMOVSD (AX), X2;                              \
	VMULPS X5, X2, X2;                            \
	VANDPS X0, X2, X2;                            \
	VMOVSD X2, (CX);                              \
	VPSRLDQ $8, X0, X0;                           \
	ADDQ  $8, AX;                                 \
	ADDQ  $8, CX;                                 \
single: \
	TESTB $1, R13;                                \
	JEQ   end;                                    \
	VMOVSS (AX), X2;                              \
	VMULSS X5, X2, X2;                            \
	VANDPS X0, X2, X2;                            \
	VMOVSS X2, (CX);                              \
end:

// ROW_END goes back to the first column.
#define DROPOUT_ROW_END \
	MOVQ dropoutArgs_cols(BX), AX;                \
	SUBQ DX, AX;                                  \
	SHLQ $2, AX;                                  \
	SUBQ AX, SI;                                  \
	SUBQ AX, DI

// The orders of four and of eight counters: unpacking takes the even lanes and then the odd ones.
DATA lanes4<>+0(SB)/8, $0
DATA lanes4<>+8(SB)/8, $2
DATA lanes4<>+16(SB)/8, $1
DATA lanes4<>+24(SB)/8, $3
GLOBL lanes4<>(SB), RODATA|NOPTR, $32
DATA lanes8<>+0(SB)/8, $0x0703060205010400
GLOBL lanes8<>(SB), RODATA|NOPTR, $8

// func dropoutAVX2(a *dropoutArgs)
// for i := range rows { for c := range cols { dst[i][c] = scale*src[i][c], or 0 if random(row+i, c) < threshold } }
TEXT ·dropoutAVX2(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	DROPOUT_BEGIN
	MOVL $0xd2511f53, AX
	VMOVD AX, X14
	VPBROADCASTD X14, Y14
	MOVL $0xcd9e8d57, AX
	VMOVD AX, X15
	VPBROADCASTD X15, Y15
	SUBQ $2, R9
	JLT  rows
pair:
	DROPOUT_ROW(0)
	DROPOUT_ROW(1)
	MOVQ dropoutArgs_cols(BX), DX
	MOVL dropoutArgs_block(BX), R11
	PCALIGN $32
blocks:
	DROPOUT_COLUMNS_AVX2
	FIRST_AVX2(0, Y6, Y7, Y8, Y9)
	FIRST_AVX2(1, Y10, Y11, Y12, Y13)
	ROUND_AVX2(4, Y7, Y8, Y9, Y6)
	ROUND_AVX2(4, Y11, Y12, Y13, Y10)
	ROUND_AVX2(5, Y8, Y9, Y6, Y7)
	ROUND_AVX2(5, Y12, Y13, Y10, Y11)
	ROUND_AVX2(6, Y9, Y6, Y7, Y8)
	ROUND_AVX2(6, Y13, Y10, Y11, Y12)
	ROUND_AVX2(7, Y6, Y7, Y8, Y9)
	ROUND_AVX2(7, Y10, Y11, Y12, Y13)
	ROUND_AVX2(8, Y7, Y8, Y9, Y6)
	ROUND_AVX2(8, Y11, Y12, Y13, Y10)
	LAST_AVX2(Y8, Y9, Y6, Y7)
	LAST_AVX2(Y12, Y13, Y10, Y11)
	CMPQ DX, $32
	JLT  edges
	DROP_AVX2((SI), (DI), 0, X9, Y9)
	DROP_AVX2((SI), (DI), 64, X7, Y7)
	DROP_AVX2((SI)(R8*1), (DI)(R12*1), 0, X13, Y13)
	DROP_AVX2((SI)(R8*1), (DI)(R12*1), 64, X11, Y11)
	ADDQ $128, SI
	ADDQ $128, DI
	SUBQ $32, DX
	JGT  blocks
	JMP  pairDone
edges:
	EDGE_AVX2((SI), (DI), X9, Y9, Y7, parts0, four0, two0, one0, end0)
	EDGE_AVX2((SI)(R8*1), (DI)(R12*1), X13, Y13, Y11, parts1, four1, two1, one1, end1)
pairDone:
	DROPOUT_ROW_END
	LEAQ (SI)(R8*2), SI
	LEAQ (DI)(R12*2), DI
	SUBQ $2, R9
	JGE  pair
rows:
	ADDQ $2, R9
	JEQ  done
	DROPOUT_ROW(0)
	MOVQ dropoutArgs_cols(BX), DX
	MOVL dropoutArgs_block(BX), R11
block:
	DROPOUT_COLUMNS_AVX2
	FIRST_AVX2(0, Y6, Y7, Y8, Y9)
	ROUND_AVX2(4, Y7, Y8, Y9, Y6)
	ROUND_AVX2(5, Y8, Y9, Y6, Y7)
	ROUND_AVX2(6, Y9, Y6, Y7, Y8)
	ROUND_AVX2(7, Y6, Y7, Y8, Y9)
	ROUND_AVX2(8, Y7, Y8, Y9, Y6)
	LAST_AVX2(Y8, Y9, Y6, Y7)
	CMPQ DX, $32
	JLT  edge
	DROP_AVX2((SI), (DI), 0, X9, Y9)
	DROP_AVX2((SI), (DI), 64, X7, Y7)
	ADDQ $128, SI
	ADDQ $128, DI
	SUBQ $32, DX
	JGT  block
	JMP  done
edge:
	EDGE_AVX2((SI), (DI), X9, Y9, Y7, parts, four, two, single, end)
done:
	VZEROUPPER
	RET

// AVX-512

// All as with AVX2, but for masks instead of parts.
#define DROPOUT_COLUMNS_AVX512 \
	VPMULUDQ Z14, Z11, Z0;         \
	VPADDQ   Z6, Z11, Z11;         \
	VPSRLQ   $32, Z0, Z1;          \
	VPXORQ   Z9, Z1, Z1;           \
	VPMULUDQ Z15, Z1, Z1;          \
	VPSRLQ   $32, Z1, Z3;          \
	VPXORQ   Z10, Z3, Z3;          \
	VPMULUDQ Z14, Z3, Z3;          \
	VPXORD.BCST KEY0(2), Z1, Z1;   \
	VPSRLQ   $32, Z3, Z2;          \
	VPXORD.BCST KEY1(3), Z3, Z3

#define FIRST_AVX512(i, a, b, c, d, t, u) \
	VPXORD.BCST (dropoutArgs_second2+4*(i))(BX), Z0, b; \
	VPMULUDQ Z15, b, b;                    \
	VPXORD.BCST (dropoutArgs_third2+4*(i))(BX), Z2, c; \
	VPSRLQ   $32, b, a;                    \
	VPMULUDQ Z15, c, c;                    \
	VPXORQ   Z1, a, a;                     \
	VPMULUDQ Z14, a, a;                    \
	VPSRLQ   $32, c, t;                    \
	VPTERNLOGD.BCST $0x96, KEY0(3), t, b;  \
	VPSRLQ   $32, a, u;                    \
	VPXORQ   Z3, u, d

#define ROUND_AVX512(round, c0, c1, c2, c3, t, u) \
	VPMULUDQ Z15, c2, c2;                      \
	VPMULUDQ Z14, c0, c0;                      \
	VPSRLQ   $32, c2, t;                       \
	VPTERNLOGD.BCST $0x96, KEY0(round), t, c1; \
	VPSRLQ   $32, c0, u;                       \
	VPTERNLOGD.BCST $0x96, KEY1(round), u, c3

#define ROUNDS_AVX512(round, c0, c1, c2, c3, d0, d1, d2, d3, e0, e1, e2, e3, f0, f1, f2, f3) \
	ROUND_AVX512(round, c0, c1, c2, c3, Z4, Z5); \
	ROUND_AVX512(round, d0, d1, d2, d3, Z7, Z8); \
	ROUND_AVX512(round, e0, e1, e2, e3, Z4, Z5); \
	ROUND_AVX512(round, f0, f1, f2, f3, Z7, Z8)

// LAST_AVX512 is the last round, which leaves two words of each counter in one lane, and the block of the row.
#define LAST_AVX512(from, to, c0, c1, c2, c3) \
	VPMULUDQ Z15, c2, c2;                       \
	VPMULUDQ Z14, c0, c0;                       \
	VPSHUFD  $0xB1, c2, c2;                     \
	VPSHUFD  $0xB1, c0, c0;                     \
	VPTERNLOGD.BCST $0x96, KEY0(9), c1, K3, c2; \
	VPTERNLOGD.BCST $0x96, KEY1(9), c3, K3, c0; \
	VPUNPCKLQDQ c0, c2, c1;                     \
	VPUNPCKHQDQ c0, c2, c3;                     \
	VPCMPUW  $5, Z13, c1, K4, K1;               \
	VPCMPUW  $5, Z13, c3, K6, K2;               \
	VMULPS.Z from, Z12, K1, c0;                 \
	KSHIFTRD $16, K1, K1;                       \
	VMULPS.Z 128 from, Z12, K2, c2;             \
	KSHIFTRD $16, K2, K2;                       \
	VMULPS.Z 64 from, Z12, K1, c1;              \
	VMULPS.Z 192 from, Z12, K2, c3;             \
	VMOVUPS  c0, K4, to;                        \
	VMOVUPS  c1, K5, 64 to;                     \
	VMOVUPS  c2, K6, 128 to;                    \
	VMOVUPS  c3, K7, 192 to

#define ROW_AVX512 \
	MOVQ dropoutArgs_cols(BX), DX;              \
	VPMOVZXBQ lanes8<>(SB), Z11;                \
	VPBROADCASTD dropoutArgs_block(BX), Z4;     \
	VPADDD Z4, Z11, Z11;                        \
	KXNORD K4, K4, K4;                          \
	KXNORD K5, K5, K5;                          \
	KXNORD K6, K6, K6;                          \
	KXNORD K7, K7, K7

// EDGE_AVX512 sets the masks for the last columns of a row, 1 to 63.
#define EDGE_AVX512 \
	MOVQ   DX, CX;      \
	NEGQ   CX;          \
	MOVQ   $-1, AX;     \
	SHRQ   CX, AX;      \
	KMOVQ  AX, K4;      \
	KSHIFTRQ $16, K4, K5; \
	KSHIFTRQ $32, K4, K6; \
	KSHIFTRQ $48, K4, K7

// func dropoutAVX512(a *dropoutArgs)
// for i := range rows { for c := range cols { dst[i][c] = scale*src[i][c], or 0 if random(row+i, c) < threshold } }
TEXT ·dropoutAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	DROPOUT_BEGIN
	LEAQ (R8)(R8*2), R11
	LEAQ (R12)(R12*2), R13
	MOVL $8, AX
	VPBROADCASTQ AX, Z6
	VPBROADCASTD dropoutArgs_first(BX), Z9
	VPBROADCASTD dropoutArgs_second(BX), Z10
	VBROADCASTSS dropoutArgs_scale(BX), Z12
	VPBROADCASTW dropoutArgs_threshold(BX), Z13
	MOVL $0xd2511f53, AX
	VPBROADCASTQ AX, Z14
	MOVL $0xcd9e8d57, AX
	VPBROADCASTQ AX, Z15
	MOVL $0x5555, AX
	KMOVW AX, K3
	SUBQ $4, R9
	JLT  rows
four:
	DROPOUT_ROW(0)
	DROPOUT_ROW(1)
	DROPOUT_ROW(2)
	DROPOUT_ROW(3)
	ROW_AVX512
	PCALIGN $32
blocks:
	CMPQ DX, $64
	JGE  whole
	EDGE_AVX512
whole:
	DROPOUT_COLUMNS_AVX512
	FIRST_AVX512(0, Z16, Z17, Z18, Z19, Z4, Z5)
	FIRST_AVX512(1, Z20, Z21, Z22, Z23, Z7, Z8)
	FIRST_AVX512(2, Z24, Z25, Z26, Z27, Z4, Z5)
	FIRST_AVX512(3, Z28, Z29, Z30, Z31, Z7, Z8)
	ROUNDS_AVX512(4, Z17, Z18, Z19, Z16, Z21, Z22, Z23, Z20, Z25, Z26, Z27, Z24, Z29, Z30, Z31, Z28)
	ROUNDS_AVX512(5, Z18, Z19, Z16, Z17, Z22, Z23, Z20, Z21, Z26, Z27, Z24, Z25, Z30, Z31, Z28, Z29)
	ROUNDS_AVX512(6, Z19, Z16, Z17, Z18, Z23, Z20, Z21, Z22, Z27, Z24, Z25, Z26, Z31, Z28, Z29, Z30)
	ROUNDS_AVX512(7, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31)
	ROUNDS_AVX512(8, Z17, Z18, Z19, Z16, Z21, Z22, Z23, Z20, Z25, Z26, Z27, Z24, Z29, Z30, Z31, Z28)
	LAST_AVX512((SI), (DI), Z18, Z19, Z16, Z17)
	LAST_AVX512((SI)(R8*1), (DI)(R12*1), Z22, Z23, Z20, Z21)
	LAST_AVX512((SI)(R8*2), (DI)(R12*2), Z26, Z27, Z24, Z25)
	LAST_AVX512((SI)(R11*1), (DI)(R13*1), Z30, Z31, Z28, Z29)
	ADDQ $256, SI
	ADDQ $256, DI
	SUBQ $64, DX
	JGT  blocks
	DROPOUT_ROW_END
	LEAQ (SI)(R8*4), SI
	LEAQ (DI)(R12*4), DI
	SUBQ $4, R9
	JGE  four
rows:
	ADDQ $4, R9
	JEQ  done
one:
	DROPOUT_ROW(0)
	ROW_AVX512
block:
	CMPQ DX, $64
	JGE  full
	EDGE_AVX512
full:
	DROPOUT_COLUMNS_AVX512
	FIRST_AVX512(0, Z16, Z17, Z18, Z19, Z4, Z5)
	ROUND_AVX512(4, Z17, Z18, Z19, Z16, Z4, Z5)
	ROUND_AVX512(5, Z18, Z19, Z16, Z17, Z4, Z5)
	ROUND_AVX512(6, Z19, Z16, Z17, Z18, Z4, Z5)
	ROUND_AVX512(7, Z16, Z17, Z18, Z19, Z4, Z5)
	ROUND_AVX512(8, Z17, Z18, Z19, Z16, Z4, Z5)
	LAST_AVX512((SI), (DI), Z18, Z19, Z16, Z17)
	ADDQ $256, SI
	ADDQ $256, DI
	SUBQ $64, DX
	JGT  block
	DROPOUT_ROW_END
	ADDQ R8, SI
	ADDQ R12, DI
	DECQ R9
	JNE  one
done:
	VZEROUPPER
	RET

