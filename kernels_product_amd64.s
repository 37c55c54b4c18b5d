//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// The kernel of products adds sums of rows of src, each times a weight, to four rows of dst or to one, by blocks of columns from left to
// right, whose sums stay in registers while the rows of src pass by.
//
// Registers:
//	BX   arguments                       R10  weight for the first row of dst
//	DI   block of the first row of dst   R11  bytes from there to that for the next row
//	SI   block of the row of src         AX   three times as many
//	R8   bytes between rows of dst       R12  bytes to the weights of the next row of src
//	R9   bytes between rows of src       R13  a line to prefetch, and for a moment
//	DX   columns left                    CX   rows of src left of a sum, and for a moment
//	K1   lanes of the tail (AVX-512)
//
// A block is four vectors, or, of four rows with AVX2, two; then one vector at a time, and a tail as 4, 2 and 1 floats, or with AVX-512
// as a masked vector. No byte outside the rows is touched. There is no PCALIGN: with it, both gradients of one hidden state of 50,257 x
// 768 took 26.3 ms on a Xeon with AVX-512, and not 23.3, and all others 0.97 (AVX2) to 1.05 of the time, when each row was added to dst.

// A sum starts from zero, and is added to what is in memory in the end.

#define START(sum) VXORPS sum, sum, sum

#define END(LOAD, STORE, memory, x, sum) \
	LOAD(memory, x);     \
	VADDPS x, sum, sum;  \
	STORE(sum, memory)

#define START_FOUR(w, x, y, z) \
	START(w); \
	START(x); \
	START(y); \
	START(z)

// END_FOUR does so for four rows, END_ALONG for four vectors of a row.

#define END_FOUR(LOAD, STORE, off, v, w, x, y, z) \
	LEAQ (R8)(R8*2), CX;                   \
	END(LOAD, STORE, off(DI), v, w);       \
	END(LOAD, STORE, off(DI)(R8*1), v, x); \
	END(LOAD, STORE, off(DI)(R8*2), v, y); \
	END(LOAD, STORE, off(DI)(CX*1), v, z)

#define END_ALONG(size, v, w, x, y, z) \
	END(VECTOR, VECTOR, (DI), v, w);         \
	END(VECTOR, VECTOR, size(DI), v, x);     \
	END(VECTOR, VECTOR, (2*size)(DI), v, y); \
	END(VECTOR, VECTOR, (3*size)(DI), v, z)

// TERM adds a vector of src times the weight to a sum.
#define TERM(vector, weight, x, sum) \
	VMULPS vector, weight, x; \
	VADDPS x, sum, sum

// FOUR_TERMS does that for four rows.
#define FOUR_TERMS(LOAD, vector, weight, v, w, x, y, z) \
	LOAD((SI), vector);               \
	VBROADCASTSS (R10), weight;       \
	TERM(vector, weight, v, w);       \
	VBROADCASTSS (R10)(R11*1), weight; \
	TERM(vector, weight, v, x);       \
	VBROADCASTSS (R10)(R11*2), weight; \
	TERM(vector, weight, v, y);       \
	VBROADCASTSS (R10)(AX*1), weight; \
	TERM(vector, weight, v, z)

#define ONE_TERM(LOAD, vector, weight, v, w) \
	LOAD((SI), vector);         \
	VBROADCASTSS (R10), weight; \
	TERM(vector, weight, v, w)

// PASS has all rows of src pass by one block, so many bytes wide, some for each sum. Meanwhile 1, 2 or 4 lines of what comes next are fetched,
// as pace says, and weights of later rows of dst: of a transposed matrix these are a line for each row of src. Both gradients of an output
// layer with 16, 32 and 64 hidden states take 0.73, 0.55 and 0.58 of the time of one without weights fetched, 603,084 x 64, 0.92, 0.73 and
// 0.81, 301,542 x 128, and 0.95, 0.94 and 0.99, 50,257 x 768, on one core of a Zen 5, medians of 11 turns.
// By PREFETCHT1 that of the table alone takes 0.97 to 1.2 times as long.
#define PASS(STARTS, TERMS, ENDS, bytes, term, sum) \
	MOVQ       productArgs_terms(BX), CX;   \
	MOVQ       CX, productArgs_left(BX);    \
sum: \
	STARTS;                            \
	MOVQ       productArgs_left(BX), CX;    \
	SUBQ       $const_productRows, productArgs_left(BX); \
	JLE        2(PC);                  \
	MOVQ       $const_productRows, CX; \
term: \
	TERMS;                             \
	PREFETCHT0 64(R10);                \
	PREFETCHT1 (R13);                  \
	CMPB       productArgs_lines(BX), $2;   \
	JLT        5(PC);                  \
	PREFETCHT1 64(R13);                \
	JEQ        3(PC);                  \
	PREFETCHT1 128(R13);               \
	PREFETCHT1 192(R13);               \
	ADDQ       productArgs_step(BX), R13;   \
	ADDQ       R9, SI;                 \
	ADDQ       R12, R10;               \
	DECQ       CX;                     \
	JNE        term;                   \
	ENDS;                              \
	CMPQ       productArgs_left(BX), $0;    \
	JGT        sum;                    \
	SUBQ       productArgs_srcSpan(BX), SI; \
	SUBQ       productArgs_aSpan(BX), R10;  \
	ADDQ       $bytes, SI;             \
	ADDQ       $bytes, DI

#define PRODUCT_BEGIN \
	MOVQ productArgs_dst(BX), DI;       \
	MOVQ productArgs_dstStride(BX), R8; \
	MOVQ productArgs_src(BX), SI;       \
	MOVQ productArgs_srcStride(BX), R9; \
	MOVQ productArgs_a(BX), R10;        \
	MOVQ productArgs_aRow(BX), R11;     \
	LEAQ (R11)(R11*2), AX;              \
	MOVQ productArgs_aCol(BX), R12;     \
	MOVQ productArgs_next(BX), R13;     \
	MOVQ productArgs_cols(BX), DX;      \
	CMPQ productArgs_rows(BX), $1;      \
	JEQ  single

// BLOCKS does all blocks of so many columns, PART what there is of one by a bit of their number.

#define BLOCKS(cols, PASSES, block, rest) \
	SUBQ $cols, DX; \
	JLT  rest;      \
block: \
	PASSES;         \
	SUBQ $cols, DX; \
	JGE  block;     \
rest: \
	ADDQ $cols, DX

#define PART(cols, PASSES, none) \
	TESTQ $cols, DX; \
	JEQ   none;      \
	PASSES;          \
none:

// AVX2

#define Y_STARTS \
	START_FOUR(Y0, Y1, Y2, Y3); \
	START_FOUR(Y4, Y5, Y6, Y7)

#define Y_ENDS \
	END_FOUR(VECTOR, VECTOR, 0, Y8, Y0, Y1, Y2, Y3);  \
	END_FOUR(VECTOR, VECTOR, 32, Y8, Y4, Y5, Y6, Y7)

#define Y_ROW(weight, w, x) \
	VBROADCASTSS weight, Y10; \
	TERM(Y8, Y10, Y11, w);    \
	TERM(Y9, Y10, Y12, x)

#define Y_FOUR_TERMS \
	VMOVUPS (SI), Y8;             \
	VMOVUPS 32(SI), Y9;           \
	Y_ROW((R10), Y0, Y4);         \
	Y_ROW((R10)(R11*1), Y1, Y5);  \
	Y_ROW((R10)(R11*2), Y2, Y6);  \
	Y_ROW((R10)(AX*1), Y3, Y7)

#define ALONG_TERMS(size, weight, v, w, x, y, s0, s1, s2, s3) \
	VBROADCASTSS (R10), weight;    \
	VMULPS (SI), weight, v;        \
	VMULPS size(SI), weight, w;    \
	VMULPS (2*size)(SI), weight, x; \
	VMULPS (3*size)(SI), weight, y; \
	VADDPS v, s0, s0;              \
	VADDPS w, s1, s1;              \
	VADDPS x, s2, s2;              \
	VADDPS y, s3, s3

#define FOUR_OF(LOAD, STORE, bytes, vector, weight, v, w, x, y, z, term, sum) \
	PASS(START_FOUR(w, x, y, z), FOUR_TERMS(LOAD, vector, weight, v, w, x, y, z), END_FOUR(LOAD, STORE, 0, v, w, x, y, z), bytes, term, sum)

#define ONE_OF(LOAD, STORE, bytes, vector, weight, v, w, term, sum) \
	PASS(START(w), ONE_TERM(LOAD, vector, weight, v, w), END(LOAD, STORE, (DI), v, w), bytes, term, sum)

// func addProductAVX2(p *productArgs)
// for i := range rows { for k := 0; k < terms; { sum := 0; for end := min(k+32, terms); k < end; k++ { sum += a[i][k] * src[k] }; dst[i] += sum } }
TEXT ·addProductAVX2(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), BX
	PRODUCT_BEGIN
	BLOCKS(16, PASS(Y_STARTS, Y_FOUR_TERMS, Y_ENDS, 64, term16, sum16), four16, rest16)
	PART(8, FOUR_OF(VECTOR, VECTOR, 32, Y8, Y9, Y10, Y0, Y1, Y2, Y3, term8, sum8), four8)
	PART(4, FOUR_OF(VECTOR, VECTOR, 16, X8, X9, X10, X0, X1, X2, X3, term4, sum4), four4)
	PART(2, FOUR_OF(PAIR, PAIR, 8, X8, X9, X10, X0, X1, X2, X3, term2, sum2), four2)
	PART(1, FOUR_OF(SINGLE, SINGLE, 4, X8, X9, X10, X0, X1, X2, X3, term1, sum1), four1)
	JMP  done

single:
	BLOCKS(32, PASS(START_FOUR(Y0, Y1, Y2, Y3), ALONG_TERMS(32, Y4, Y5, Y6, Y7, Y8, Y0, Y1, Y2, Y3), END_ALONG(32, Y4, Y0, Y1, Y2, Y3), 128, along32, sums32), one32, rest32)
	BLOCKS(8, ONE_OF(VECTOR, VECTOR, 32, Y8, Y9, Y10, Y0, along8, sums8), one8, rest8)
	PART(4, ONE_OF(VECTOR, VECTOR, 16, X8, X9, X10, X0, along4, sums4), one4)
	PART(2, ONE_OF(PAIR, PAIR, 8, X8, X9, X10, X0, along2, sums2), one2)
	PART(1, ONE_OF(SINGLE, SINGLE, 4, X8, X9, X10, X0, along1, sums1), one1)

done:
	VZEROUPPER
	RET

// AVX-512

#define Z_STARTS \
	START_FOUR(Z0, Z1, Z2, Z3);   \
	START_FOUR(Z4, Z5, Z6, Z7);   \
	START_FOUR(Z8, Z9, Z10, Z11); \
	START_FOUR(Z12, Z13, Z14, Z15)

#define Z_ENDS \
	END_FOUR(VECTOR, VECTOR, 0, Z16, Z0, Z1, Z2, Z3);     \
	END_FOUR(VECTOR, VECTOR, 64, Z17, Z4, Z5, Z6, Z7);    \
	END_FOUR(VECTOR, VECTOR, 128, Z18, Z8, Z9, Z10, Z11); \
	END_FOUR(VECTOR, VECTOR, 192, Z19, Z12, Z13, Z14, Z15)

#define Z_ROW(weight, w, x, y, z) \
	VBROADCASTSS weight, Z20; \
	TERM(Z16, Z20, Z21, w);   \
	TERM(Z17, Z20, Z22, x);   \
	TERM(Z18, Z20, Z23, y);   \
	TERM(Z19, Z20, Z24, z)

#define Z_FOUR_TERMS \
	VMOVUPS (SI), Z16;                     \
	VMOVUPS 64(SI), Z17;                   \
	VMOVUPS 128(SI), Z18;                  \
	VMOVUPS 192(SI), Z19;                  \
	Z_ROW((R10), Z0, Z4, Z8, Z12);         \
	Z_ROW((R10)(R11*1), Z1, Z5, Z9, Z13);  \
	Z_ROW((R10)(R11*2), Z2, Z6, Z10, Z14); \
	Z_ROW((R10)(AX*1), Z3, Z7, Z11, Z15)

// LANES has K1 say which of the columns left are a tail.
#define LANES \
	MOVQ  DX, CX;  \
	MOVL  $1, R13; \
	SHLL  CX, R13; \
	DECL  R13;     \
	KMOVW R13, K1; \
	MOVQ  productArgs_next(BX), R13

// func addProductAVX512(p *productArgs)
// for i := range rows { for k := 0; k < terms; { sum := 0; for end := min(k+32, terms); k < end; k++ { sum += a[i][k] * src[k] }; dst[i] += sum } }
TEXT ·addProductAVX512(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), BX
	PRODUCT_BEGIN
	BLOCKS(64, PASS(Z_STARTS, Z_FOUR_TERMS, Z_ENDS, 256, term64, sum64), four64, rest64)
	BLOCKS(16, FOUR_OF(VECTOR, VECTOR, 64, Z16, Z17, Z18, Z0, Z1, Z2, Z3, term16, sum16), four16, rest16)
	TESTQ DX, DX
	JEQ   done
	LANES
	FOUR_OF(MASKED_LOAD, MASKED_STORE, 64, Z16, Z17, Z18, Z0, Z1, Z2, Z3, termTail, sumTail)
	JMP   done

single:
	BLOCKS(64, PASS(START_FOUR(Z0, Z1, Z2, Z3), ALONG_TERMS(64, Z4, Z5, Z6, Z7, Z8, Z0, Z1, Z2, Z3), END_ALONG(64, Z4, Z0, Z1, Z2, Z3), 256, along64, sums64), one64, restOf64)
	BLOCKS(16, ONE_OF(VECTOR, VECTOR, 64, Z16, Z17, Z18, Z0, along16, sums16), one16, restOf16)
	TESTQ DX, DX
	JEQ   done
	LANES
	ONE_OF(MASKED_LOAD, MASKED_STORE, 64, Z16, Z17, Z18, Z0, alongTail, sumsTail)

done:
	VZEROUPPER
	RET
