//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// Kernels of bags walk the rows of bagArgs by blocks of columns, from left to right, each block by the bags, and each bag
// by its ids, whose rows are added up in registers.
//
// Registers:
//	BX   arguments                       R9   number of the id
//	SI   block of row 0 of the table     R10  block of the row
//	DI   block of the bag's row          R11  limit of ids
//	R8   ids                             R12  for a moment
//	CX   bytes between rows of the table R13  where the bag ends
//	AX   whether ids are wide            DX   rows to prefetch ahead
//	K1   lanes of the tail (AVX-512)
//
// A block is eight vectors with AVX2, 64 columns, and sixteen with AVX-512, 256 columns. What is left of the rows is done
// as a block of half as many, and so on down to one, by the bits of the number of columns; and then a tail, with AVX2 as 4,
// 2 and 1 floats, with AVX-512 as one masked vector. No byte outside the rows is touched.
//
// There is no PCALIGN: with it the assembler of Go 1.26 does not come to an end here.

// What is done to one vector of a block, off bytes behind its beginning, or to a part of one, which LOAD and STORE move:
// sum is its register, and x one for a moment. PLUS adds what is in memory.

#define CLEAR(LOAD, STORE, PLUS, off, sum, x, weight, number) VXORPS sum, sum, sum
#define RESUME(LOAD, STORE, PLUS, off, sum, x, weight, number) LOAD(off(DI), sum)
#define TAKE(LOAD, STORE, PLUS, off, sum, x, weight, number) LOAD(off(R10), sum)
#define SUM(LOAD, STORE, PLUS, off, sum, x, weight, number) PLUS(LOAD, off(R10), x, sum)
#define DIVIDE(LOAD, STORE, PLUS, off, sum, x, weight, number) VDIVPS number, sum, sum
#define PUT(LOAD, STORE, PLUS, off, sum, x, weight, number) STORE(sum, off(DI))

#define WEIGHTED_SUM(LOAD, STORE, PLUS, off, sum, x, weight, number) \
	LOAD(off(R10), x);   \
	VMULPS weight, x, x; \
	VADDPS x, sum, sum

// MAXIMUM keeps what is there unless x is greater, also where one of them is a NaN or both are zeros.
#define MAXIMUM(LOAD, STORE, PLUS, off, sum, x, weight, number) \
	LOAD(off(R10), x);  \
	VMAXPS sum, x, sum

#define PLUS_VECTOR(LOAD, from, x, sum) VADDPS from, sum, sum
#define PLUS_PART(LOAD, from, x, sum) \
	LOAD(from, x);      \
	VADDPS x, sum, sum

// Prefetches of a row at R10.

#define LINE1 PREFETCHT1 (R10)
#define LINES2 LINE1; PREFETCHT1 64(R10)
#define LINES4 LINES2; PREFETCHT1 128(R10); PREFETCHT1 192(R10)
#define LINES8 LINES4; PREFETCHT1 256(R10); PREFETCHT1 320(R10); PREFETCHT1 384(R10); PREFETCHT1 448(R10)
#define LINES16 LINES8; PREFETCHT1 512(R10); PREFETCHT1 576(R10); PREFETCHT1 640(R10); PREFETCHT1 704(R10); \
	PREFETCHT1 768(R10); PREFETCHT1 832(R10); PREFETCHT1 896(R10); PREFETCHT1 960(R10)

// BAG_ROW finds the row of the next id, BAG_ROW_AHEAD that of another one.

#define BAG_ROW \
	ID(R8, AX, R9, R10); \
	CMPQ  R10, R11;      \
	JAE   outside;       \
	IMULQ CX, R10;       \
	ADDQ  SI, R10

#define BAG_ROW_AHEAD(pos) \
	ID(R8, AX, pos, R10); \
	IMULQ CX, R10;        \
	ADDQ  SI, R10

// How the sums of a block begin: with what is there from a part of the bag, or anew. START_MAXIMUM begins with the first
// row, which is then taken once more.

#define START_SUM(VECTORS, anew, start, store) \
	CMPB bagArgs_partial(BX), $0; \
	JEQ  anew;                    \
	VECTORS(RESUME);              \
	JMP  start;                   \
anew: \
	MOVQ R9, bagArgs_first(BX);   \
	VECTORS(CLEAR);               \
start: \
	CMPQ R9, R13;                 \
	JGE  store

#define START_MAXIMUM(VECTORS, anew, start, store) \
	VECTORS(CLEAR);               \
	CMPQ R9, R13;                 \
	JGE  store;                   \
	MOVQ DI, R10;                 \
	CMPB bagArgs_partial(BX), $0; \
	JNE  start;                   \
	BAG_ROW;                      \
start: \
	VECTORS(TAKE)

// How they end: divided by the number of ids if that is asked for, or as they are.

#define END_SUM(VECTORS, one, number, store) \
	CMPB bagArgs_mean(BX), $0;    \
	JEQ  store;                   \
	MOVQ R13, R12;                \
	SUBQ bagArgs_first(BX), R12;  \
	VCVTSI2SSQ R12, one, one;     \
	VBROADCASTSS one, number;     \
	VECTORS(DIVIDE)

#define END_PLAIN(VECTORS, one, number, store)

// The weight of an id, or nothing.

#define WEIGHT(weight) \
	MOVQ bagArgs_weights(BX), R12; \
	VBROADCASTSS (R12)(R9*4), weight

#define NO_WEIGHT(weight)

// PIECE has the next block prefetch another piece of each row, if one begins with it.
#define PIECE \
	MOVQ    SI, R12;                       \
	SUBQ    bagArgs_table(BX), R12;        \
	MOVQ    bagArgs_cols(BX), R10;         \
	SHLQ    $2, R10;                       \
	SUBQ    R12, R10;                      \
	MOVL    $const_bagPiece, R13;          \
	CMPQ    R10, R13;                      \
	CMOVQGT R13, R10;                      \
	MOVQ    R10, bagArgs_burst(BX);        \
	XORL    DX, DX;                        \
	TESTQ   $(const_bagPiece-1), R12;      \
	CMOVQEQ bagArgs_ahead(BX), DX

// BAGS does one block, size bytes wide, of all bags, and prefetches pieces of rows: LINES does as much as a block is wide.
#define BAGS(VECTORS, LINES, size, START, FACTOR, TERM, END, weight, one, number, bag, anew, start, walk, line, near, store) \
	MOVQ  SI, DI;                       \
	SUBQ  bagArgs_table(BX), DI;        \
	ADDQ  bagArgs_dst(BX), DI;          \
	MOVQ  bagArgs_next(BX), R9;         \
	XORL  R12, R12;                     \
bag: \
	MOVQ  R12, bagArgs_bag(BX);         \
	MOVQ  bagArgs_offsets(BX), R10;     \
	MOVQ  (R10)(R12*8), R13;            \
	CMPQ  R13, R9;                      \
	JLT   changed;                      \
	CMPQ  R13, bagArgs_stop(BX);        \
	JGT   changed;                      \
	START(VECTORS, anew, start, store); \
walk: \
	TESTQ DX, DX;                       \
	JEQ   near;                         \
	LEAQ  (R9)(DX*1), R12;              \
	CMPQ  R12, bagArgs_readable(BX);    \
	JGE   near;                         \
	BAG_ROW_AHEAD(R12);                 \
	LINES;                              \
	MOVQ  bagArgs_burst(BX), R12;       \
	SUBQ  $size, R12;                   \
	JLE   near;                         \
line: \
	PREFETCHT1 size(R10);               \
	ADDQ  $64, R10;                     \
	SUBQ  $64, R12;                     \
	JGT   line;                         \
near: \
	BAG_ROW;                            \
	FACTOR(weight);                     \
	VECTORS(TERM);                      \
	INCQ  R9;                           \
	CMPQ  R9, R13;                      \
	JLT   walk;                         \
	END(VECTORS, one, number, store);   \
store: \
	VECTORS(PUT);                       \
	ADDQ  bagArgs_dstStride(BX), DI;    \
	MOVQ  bagArgs_bag(BX), R12;         \
	INCQ  R12;                          \
	CMPQ  R12, bagArgs_bags(BX);        \
	JLT   bag;                          \
	CMPQ  R9, bagArgs_stop(BX);         \
	JNE   changed;                      \
	ADDQ  $size, SI;                    \
	PIECE

// BAGS_BEGIN loads the registers.
#define BAGS_BEGIN \
	MOVQ bagArgs_table(BX), SI;       \
	MOVQ bagArgs_tableStride(BX), CX; \
	MOVQ bagArgs_limit(BX), R11;      \
	MOVQ bagArgs_ids(BX), R8;         \
	MOVQ bagArgs_wide(BX), AX;        \
	MOVQ bagArgs_ahead(BX), DX

// BAGS_END leaves in AX whether all went well.
#define BAGS_END \
	MOVL $1, AX;                \
	JMP  end;                   \
changed: \
	MOVQ $-1, R9;               \
outside: \
	MOVQ R9, bagArgs_next(BX);  \
	XORL AX, AX;                \
end: \
	VZEROUPPER

// AVX2

#define OF_Y(OP, off, sum) OP(VECTOR, VECTOR, PLUS_VECTOR, off, sum, Y13, Y14, Y15)
#define Y_1(OP) OF_Y(OP, 0, Y0)
#define Y_2(OP) Y_1(OP); OF_Y(OP, 32, Y1)
#define Y_4(OP) Y_2(OP); OF_Y(OP, 64, Y2); OF_Y(OP, 96, Y3)
#define Y_8(OP) Y_4(OP); OF_Y(OP, 128, Y4); OF_Y(OP, 160, Y5); OF_Y(OP, 192, Y6); OF_Y(OP, 224, Y7)
#define X_QUAD(OP) OP(VECTOR, VECTOR, PLUS_PART, 0, X0, X13, X14, X15)
#define X_PAIR(OP) OP(PAIR, PAIR, PLUS_PART, 0, X0, X13, X14, X15)
#define X_SINGLE(OP) OP(SINGLE, SINGLE, PLUS_PART, 0, X0, X13, X14, X15)

#define BAGS_Y(VECTORS, LINES, size, START, FACTOR, TERM, END, bag, anew, start, walk, line, near, store) \
	BAGS(VECTORS, LINES, size, START, FACTOR, TERM, END, Y14, X15, Y15, bag, anew, start, walk, line, near, store)

#define BAGS_AVX2(START, FACTOR, TERM, END) \
	BAGS_BEGIN;                   \
	MOVQ bagArgs_cols(BX), R12;   \
	SHRQ $6, R12;                 \
	JEQ  four;                    \
eight: \
	MOVQ R12, bagArgs_blocks(BX); \
	BAGS_Y(Y_8, LINES4, 256, START, FACTOR, TERM, END, bag8, anew8, start8, walk8, line8, near8, store8); \
	MOVQ bagArgs_blocks(BX), R12; \
	DECQ R12;                     \
	JNE  eight;                   \
four: \
	TESTB $32, bagArgs_cols(BX);  \
	JEQ  two;                     \
	BAGS_Y(Y_4, LINES2, 128, START, FACTOR, TERM, END, bag4, anew4, start4, walk4, line4, near4, store4); \
two: \
	TESTB $16, bagArgs_cols(BX);  \
	JEQ  one;                     \
	BAGS_Y(Y_2, LINE1, 64, START, FACTOR, TERM, END, bag2, anew2, start2, walk2, line2, near2, store2); \
one: \
	TESTB $8, bagArgs_cols(BX);   \
	JEQ  quad;                    \
	BAGS_Y(Y_1, LINE1, 32, START, FACTOR, TERM, END, bag1, anew1, start1, walk1, line1, near1, store1); \
quad: \
	TESTB $4, bagArgs_cols(BX);   \
	JEQ  pair;                    \
	BAGS_Y(X_QUAD, LINE1, 16, START, FACTOR, TERM, END, bagQ, anewQ, startQ, walkQ, lineQ, nearQ, storeQ); \
pair: \
	TESTB $2, bagArgs_cols(BX);   \
	JEQ  single;                  \
	BAGS_Y(X_PAIR, LINE1, 8, START, FACTOR, TERM, END, bagP, anewP, startP, walkP, lineP, nearP, storeP); \
single: \
	TESTB $1, bagArgs_cols(BX);   \
	JEQ  done;                    \
	BAGS_Y(X_SINGLE, LINE1, 4, START, FACTOR, TERM, END, bagS, anewS, startS, walkS, lineS, nearS, storeS); \
done: \
	BAGS_END

// func bagSumAVX2(a *bagArgs) (ok bool)
// for b, bag := range bags { for _, id := range bag { dst[b] += table[id] }; if mean { dst[b] /= len(bag) } }
TEXT ·bagSumAVX2(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	BAGS_AVX2(START_SUM, NO_WEIGHT, SUM, END_SUM)
	MOVB AX, ok+8(FP)
	RET

// func bagWeightedAVX2(a *bagArgs) (ok bool)
// for b, bag := range bags { for i, id := range bag { dst[b] += weights[i] * table[id] } }
TEXT ·bagWeightedAVX2(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	BAGS_AVX2(START_SUM, WEIGHT, WEIGHTED_SUM, END_PLAIN)
	MOVB AX, ok+8(FP)
	RET

// func bagMaxAVX2(a *bagArgs) (ok bool)
// for b, bag := range bags { for _, id := range bag { if table[id] > dst[b] { dst[b] = table[id] } } }
TEXT ·bagMaxAVX2(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	BAGS_AVX2(START_MAXIMUM, NO_WEIGHT, MAXIMUM, END_PLAIN)
	MOVB AX, ok+8(FP)
	RET

// AVX-512

#define OF_Z(OP, off, sum) OP(VECTOR, VECTOR, PLUS_VECTOR, off, sum, Z16, Z17, Z18)
#define Z_1(OP) OF_Z(OP, 0, Z0)
#define Z_2(OP) Z_1(OP); OF_Z(OP, 64, Z1)
#define Z_4(OP) Z_2(OP); OF_Z(OP, 128, Z2); OF_Z(OP, 192, Z3)
#define Z_8(OP) Z_4(OP); OF_Z(OP, 256, Z4); OF_Z(OP, 320, Z5); OF_Z(OP, 384, Z6); OF_Z(OP, 448, Z7)
#define Z_16(OP) Z_8(OP); OF_Z(OP, 512, Z8); OF_Z(OP, 576, Z9); OF_Z(OP, 640, Z10); OF_Z(OP, 704, Z11); \
	OF_Z(OP, 768, Z12); OF_Z(OP, 832, Z13); OF_Z(OP, 896, Z14); OF_Z(OP, 960, Z15)
#define Z_TAIL(OP) OP(MASKED_LOAD, MASKED_STORE, PLUS_PART, 0, Z0, Z16, Z17, Z18)

#define BAGS_Z(VECTORS, LINES, size, START, FACTOR, TERM, END, bag, anew, start, walk, line, near, store) \
	BAGS(VECTORS, LINES, size, START, FACTOR, TERM, END, Z17, X18, Z18, bag, anew, start, walk, line, near, store)

#define BAGS_AVX512(START, FACTOR, TERM, END) \
	MOVQ bagArgs_cols(BX), AX;    \
	MASK;                         \
	BAGS_BEGIN;                   \
	MOVQ bagArgs_cols(BX), R12;   \
	SHRQ $8, R12;                 \
	JEQ  eight;                   \
sixteen: \
	MOVQ R12, bagArgs_blocks(BX); \
	BAGS_Z(Z_16, LINES16, 1024, START, FACTOR, TERM, END, bag16, anew16, start16, walk16, line16, near16, store16); \
	MOVQ bagArgs_blocks(BX), R12; \
	DECQ R12;                     \
	JNE  sixteen;                 \
eight: \
	TESTB $128, bagArgs_cols(BX); \
	JEQ  four;                    \
	BAGS_Z(Z_8, LINES8, 512, START, FACTOR, TERM, END, bag8, anew8, start8, walk8, line8, near8, store8); \
four: \
	TESTB $64, bagArgs_cols(BX);  \
	JEQ  two;                     \
	BAGS_Z(Z_4, LINES4, 256, START, FACTOR, TERM, END, bag4, anew4, start4, walk4, line4, near4, store4); \
two: \
	TESTB $32, bagArgs_cols(BX);  \
	JEQ  one;                     \
	BAGS_Z(Z_2, LINES2, 128, START, FACTOR, TERM, END, bag2, anew2, start2, walk2, line2, near2, store2); \
one: \
	TESTB $16, bagArgs_cols(BX);  \
	JEQ  tail;                    \
	BAGS_Z(Z_1, LINE1, 64, START, FACTOR, TERM, END, bag1, anew1, start1, walk1, line1, near1, store1); \
tail: \
	TESTB $15, bagArgs_cols(BX);  \
	JEQ  done;                    \
	BAGS_Z(Z_TAIL, LINE1, 64, START, FACTOR, TERM, END, bagT, anewT, startT, walkT, lineT, nearT, storeT); \
done: \
	BAGS_END

// func bagSumAVX512(a *bagArgs) (ok bool)
// for b, bag := range bags { for _, id := range bag { dst[b] += table[id] }; if mean { dst[b] /= len(bag) } }
TEXT ·bagSumAVX512(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	BAGS_AVX512(START_SUM, NO_WEIGHT, SUM, END_SUM)
	MOVB AX, ok+8(FP)
	RET

// func bagWeightedAVX512(a *bagArgs) (ok bool)
// for b, bag := range bags { for i, id := range bag { dst[b] += weights[i] * table[id] } }
TEXT ·bagWeightedAVX512(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	BAGS_AVX512(START_SUM, WEIGHT, WEIGHTED_SUM, END_PLAIN)
	MOVB AX, ok+8(FP)
	RET

// func bagMaxAVX512(a *bagArgs) (ok bool)
// for b, bag := range bags { for _, id := range bag { if table[id] > dst[b] { dst[b] = table[id] } } }
TEXT ·bagMaxAVX512(SB), NOSPLIT, $0-9
	MOVQ a+0(FP), BX
	BAGS_AVX512(START_MAXIMUM, NO_WEIGHT, MAXIMUM, END_PLAIN)
	MOVB AX, ok+8(FP)
	RET
