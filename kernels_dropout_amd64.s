//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"
#include "philox_amd64.h"

// Dropout walks the rows of dropoutArgs, two at a time with AVX2 and four with AVX-512, as long as there are as many, since
// the products of one row wait for each other; and rows from left to right in blocks of 64 columns with AVX2 and 128
// with AVX-512, for which one vector of counters gives the random bits. Of the last block of a row a half is done like any
// other, and the rest as vectors and parts of 4, 2 and 1 floats, or with AVX-512 by masks: no byte outside the row is
// touched.
//
// Meanwhile rows of a table may be fetched, and whole blocks may be written past the caches. What is dropped may be a sum of a row of src,
// scaled, and one of positions.
//
// On a Zen 4, ns per row of 768 in the first-level cache: AVX-512 80, AVX2, before it unpacked as DROP does, 142; with 16 random bits for
// an element instead of 8, 132 and 229.
//
// Lanes of AVX-512 have the order that unpacking the result makes the right one.
//
// Of a counter, words 0 and 1 are the column and the row, and the others the same in the whole call. Up to the third round
// there are intermediate results that belong to a column alone, which rows share, or to a row alone, which DROPOUT_ROW
// works out once.
//
// Registers:
//	BX  arguments                    R8   bytes from the row of src to the second
//	DI  in the row of dst            R10  to the third (AVX-512)
//	SI  in the row of src            R11  to the fourth, or with AVX2 the number of the next block
//	DX  columns left of the row      R12  bytes between rows of dst
//	R9  rows left                    R13  three times as much, or with AVX2 for a moment
//	                                 AX, CX, and DX between rows, for a moment, or how far positions
//	                                 are from the row, with AVX2 from the two; R10 those at its end (AVX2)
//
//	0       lower halves of the first products      4, 5       for a moment
//	1       what a column adds to word 0, round 3   6 to 13    four words each of two rows (AVX2)
//	2       what it adds to word 2, round 3         16 to 31   four words each of four rows (AVX-512)
//	3       what it adds to word 2, round 4         14, 15     the multipliers
//
// and with AVX-512
//
//	0       the factor of sums, behind the rounds
//	7, 8    for a moment                            6          the step of counters
//	11      counters                                9          what the call adds to word 2, round 1
//	12      scale                                   10         what it adds to word 0, round 2
//	13      threshold                               K3         the lower halves of lanes
//	K1, K2  columns that are kept                   K4 to K7   columns that there are, at the end of a row

#define KEY0(round) (dropoutArgs_keys+8*(round))(BX)
#define KEY1(round) (dropoutArgs_keys+8*(round)+4)(BX)

#define DROPOUT_BEGIN \
	MOVQ dropoutArgs_dst(BX), DI;     \
	MOVQ dropoutArgs_rows(BX), R9;    \
	MOVQ dropoutArgs_numbers(BX), AX; \
	MOVQ AX, dropoutArgs_number(BX);  \
	MOVQ dropoutArgs_dstStride(BX), R12

// DROPOUT_ROW works out, for row number i of those that are done at once, the product of the second round that the row
// alone decides on: what it adds to word 2 in that round and in the third.
#define DROPOUT_ROW(i) \
	MOVQ  dropoutArgs_number(BX), CX;          \
	MOVL  (CX), AX;                            \
	ADDQ  $8, dropoutArgs_number(BX);          \
	ADDL  dropoutArgs_row(BX), AX;             \
	XORL  dropoutArgs_start(BX), AX;           \
	MOVL  $0xd2511f53, CX;                     \
	IMULQ CX, AX;                              \
	MOVQ  AX, CX;                              \
	SHRQ  $32, CX;                             \
	XORL  KEY1(1), CX;                         \
	XORL  KEY1(2), AX;                         \
	MOVL  CX, (dropoutArgs_second2+4*(i))(BX); \
	MOVL  AX, (dropoutArgs_third2+4*(i))(BX)

// FROM says where the row of src is whose number is so many bytes back, from row 0 on.
#define FROM(back, offset) \
	MOVQ  -back(CX), offset; \
	IMULQ dropoutArgs_srcStride(BX), offset

#define FROM_ONE \
	MOVQ dropoutArgs_number(BX), CX; \
	FROM(8, SI);                     \
	ADDQ dropoutArgs_src(BX), SI

// DROPOUT_END has all that was written past the caches come before anything that follows.
#define DROPOUT_END \
	CMPB dropoutArgs_stream(BX), $0; \
	JEQ  2(PC);                      \
	SFENCE

// NEXT finds the row that comes next of the table whose rows are fetched for row number i of those that are done at once.
#define NEXT(i) \
	MOVQ  dropoutArgs_ids(BX), AX;         \
	MOVQ  dropoutArgs_fetched(BX), CX;     \
	INCQ  dropoutArgs_fetched(BX);         \
	ID(AX, dropoutArgs_wide(BX), CX, DX);  \
	IMULQ dropoutArgs_nextStride(BX), DX;  \
	ADDQ  dropoutArgs_next(BX), DX;        \
	MOVQ  DX, (dropoutArgs_from+8*(i))(BX)

// FETCH prefetches as much of those rows as a block of size columns, line by line. The rounds keep the vector units busy and
// leave the caches alone, so that it costs little. LINES does it for one line of each row.
#define FETCH(size, LINES, line, fetched) \
	CMPQ  dropoutArgs_ids(BX), $0;         \
	JEQ   fetched;                         \
	MOVQ  dropoutArgs_cols(BX), CX;        \
	SUBQ  DX, CX;                          \
line: \
	LINES;                                 \
	ADDQ  $16, CX;                         \
	CMPQ  CX, dropoutArgs_cols(BX);        \
	JGE   fetched;                         \
	TESTL $(size-1), CX;                   \
	JNE   line;                            \
fetched:

#define LINE(i) \
	MOVQ (dropoutArgs_from+8*(i))(BX), AX; \
	PREFETCH (AX)(CX*4)

#define LINES_OF_2 \
	LINE(0); \
	LINE(1)

#define LINES_OF_4 \
	LINES_OF_2; \
	LINE(2);    \
	LINE(3)

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

// LAST is the last round, which leaves a word of each of two counters in the lower halves of lanes, and the comparison: what is kept
// of the first 32 columns and of the others, in registers c1 and c3, a byte each, in the order of DROP. Y5 becomes the scale.
#define LAST_AVX2(c0, c1, c2, c3) \
	ROUND_AVX2(9, c0, c1, c2, c3);                \
	VSHUFPS  $0x88, c3, c1, c1;                   \
	VSHUFPS  $0x88, c0, c2, c2;                   \
	VPBROADCASTB dropoutArgs_threshold(BX), Y4;   \
	VPERM2I128 $0x20, c2, c1, c0;                 \
	VPERM2I128 $0x31, c2, c1, c2;                 \
	VPMAXUB  Y4, c0, c1;                          \
	VPMAXUB  Y4, c2, c3;                          \
	VBROADCASTSS dropoutArgs_scale(BX), Y5;       \
	VPCMPEQB c0, c1, c1;                          \
	VPCMPEQB c2, c3, c3

// What is dropped of eight columns, off bytes behind at: what src has there, or that, times Y4, plus what positions have behind pos; times
// the scale.

#define PLAIN_VECTOR(off, at, pos) \
	VMULPS off at, Y5, Y2

#define SUM_VECTOR(off, at, pos) \
	VMULPS off at, Y4, Y2;                        \
	VADDPS off pos, Y2, Y2;                       \
	VMULPS Y5, Y2, Y2

// EIGHT does 8 columns, whose bytes UNPACK makes of words.
#define EIGHT_AVX2(STORE, SOURCE, from, pos, to, off, UNPACK, words) \
	UNPACK   words, words, Y1;                    \
	SOURCE(off, from, pos);                       \
	VANDPS   Y1, Y2, Y2;                          \
	STORE(Y2, off to)

// DROP does 32 columns, whose bytes are in register y: four columns of the first 16, four of the others, the third four of the first 16,
// and of the others, in the lower half, and in the upper one the fours behind these. So two steps of unpacking within halves leave 8
// columns side by side. Unpacking across, by VPMOVSXBD of what other instructions bring to the lower end, took 1.05 to 1.14 times as long on a Zen 3:
// rows of 768 in cache 195 and 171 ns each, of 64 16.1 and 14.1, 2,048 of 768 238 and 219.
#define DROP_AVX2(STORE, SOURCE, from, pos, to, off, y) \
	VPUNPCKLBW y, y, Y0;                              \
	VPUNPCKHBW y, y, y;                               \
	EIGHT_AVX2(STORE, SOURCE, from, pos, to, off, VPUNPCKLWD, Y0); \
	EIGHT_AVX2(STORE, SOURCE, from, pos, to, off+32, VPUNPCKLWD, y); \
	EIGHT_AVX2(STORE, SOURCE, from, pos, to, off+64, VPUNPCKHWD, Y0); \
	EIGHT_AVX2(STORE, SOURCE, from, pos, to, off+96, VPUNPCKHWD, y)

// DROP1 does a block of the first row, DROPS one of each row.
#define DROP1_AVX2(STORE, SOURCE) \
	DROP_AVX2(STORE, SOURCE, (SI), (SI)(AX*1), (DI), 0, Y9); \
	DROP_AVX2(STORE, SOURCE, (SI), (SI)(AX*1), (DI), 128, Y7)

#define DROPS_AVX2(STORE, SOURCE) \
	DROP1_AVX2(STORE, SOURCE);                    \
	DROP_AVX2(STORE, SOURCE, (SI)(R8*1), (SI)(CX*1), (DI)(R12*1), 0, Y13); \
	DROP_AVX2(STORE, SOURCE, (SI)(R8*1), (SI)(CX*1), (DI)(R12*1), 128, Y11)

// EDGE does the last columns of a row, less than 32, whose bytes are in register y, which is x by half. SUM makes a sum of what src has, in
// register x, with positions from R10 on, which POS has set.
#define EDGE_AVX2(SUM, POS, from, to, x, y, part, four, two, single, end) \
	VMOVDQU sequence<>(SB), Y0;                   \
	VPERMD y, Y0, y;                              \
	POS;                                          \
	LEAQ  from, AX;                               \
	LEAQ  to, CX;                                 \
	MOVQ  DX, R13;                                \
part: \
	SUBQ  $8, R13;                                \
	JLT   four;                                   \
	VPMOVSXBD x, Y0;                              \
	VMOVUPS (AX), Y2;                             \
	SUM(VMOVUPS, VMULPS, VADDPS, Y4, Y2, Y3);     \
	VMULPS Y5, Y2, Y2;                            \
	VANDPS Y0, Y2, Y2;                            \
	VMOVUPS Y2, (CX);                             \
	ADDQ  $32, AX;                                \
	ADDQ  $32, CX;                                \
	ADDQ  $32, R10;                               \
	VPERMQ $0x39, y, y;                           \
	JMP   part;                                   \
four: \
	VPMOVSXBD x, Y0;                              \
	TESTB $4, R13;                                \
	JEQ   two;                                    \
	VMOVUPS (AX), X2;                             \
	SUM(VMOVUPS, VMULPS, VADDPS, X4, X2, X3);     \
	VMULPS X5, X2, X2;                            \
	VANDPS X0, X2, X2;                            \
	VMOVUPS X2, (CX);                             \
	VEXTRACTI128 $1, Y0, X0;                      \
	ADDQ  $16, AX;                                \
	ADDQ  $16, CX;                                \
	ADDQ  $16, R10;                               \
two: \
	TESTB $2, R13;                                \
	JEQ   single;                                 \
	VMOVSD (AX), X2;                              \
	SUM(VMOVSD, VMULPS, VADDPS, X4, X2, X3);      \
	VMULPS X5, X2, X2;                            \
	VANDPS X0, X2, X2;                            \
	VMOVSD X2, (CX);                              \
	VPSRLDQ $8, X0, X0;                           \
	ADDQ  $8, AX;                                 \
	ADDQ  $8, CX;                                 \
	ADDQ  $8, R10;                                \
single: \
	TESTB $1, R13;                                \
	JEQ   end;                                    \
	VMOVSS (AX), X2;                              \
	SUM(VMOVSS, VMULSS, VADDSS, X4, X2, X3);      \
	VMULSS X5, X2, X2;                            \
	VANDPS X0, X2, X2;                            \
	VMOVSS X2, (CX);                              \
end:

#define ADD_POSITION(MOVE, MUL, ADD, scale, x, t) \
	MUL  scale, x, x;                             \
	MOVE (R10), t;                                \
	ADD  t, x, x

#define NO_POSITION(MOVE, MUL, ADD, scale, x, t)

// DROPOUT_ROW_END goes back to the first column.
#define DROPOUT_ROW_END \
	MOVQ dropoutArgs_cols(BX), AX;                \
	SUBQ DX, AX;                                  \
	SHLQ $2, AX;                                  \
	SUBQ AX, DI

// Four counters.
DATA lanes4<>+0(SB)/8, $0
DATA lanes4<>+8(SB)/8, $1
DATA lanes4<>+16(SB)/8, $2
DATA lanes4<>+24(SB)/8, $3
GLOBL lanes4<>(SB), RODATA|NOPTR, $32

// Where fours of columns stand in the order of DROP.
DATA sequence<>+0(SB)/8, $0x0000000400000000
DATA sequence<>+8(SB)/8, $0x0000000600000002
DATA sequence<>+16(SB)/8, $0x0000000500000001
DATA sequence<>+24(SB)/8, $0x0000000700000003
GLOBL sequence<>(SB), RODATA|NOPTR, $32

// 0 to 3 and 4 to 7 in turn: the order of eight counters, and for Rotate with AVX-512, which has twos of elements of two
// vectors side by side.
DATA ·inTurn+0(SB)/8, $0x0703060205010400
GLOBL ·inTurn(SB), RODATA|NOPTR, $8

// LINES_AHEAD prefetches 256 bytes of a row of the next group, where dropoutArgs.ahead has it so: rows side by side are too many
// streams for the processor to see what comes.
#define LINES_AHEAD(row, off) \
	PREFETCH off row;         \
	PREFETCH (off+64) row;    \
	PREFETCH (off+128) row;   \
	PREFETCH (off+192) row

// DROPOUT_AVX2 is the body of a kernel. FROM_TWO and FROM_ROW find its rows, and POSES how far positions are from the first in AX, from the
// second in CX, and the factor of sums in Y4; SOURCE, SUM and POS are for DROP and EDGE.
#define DROPOUT_AVX2(FROM_TWO, FROM_ROW, SOURCE, SUM, POSES, POS) \
	MOVQ a+0(FP), BX;                             \
	DROPOUT_BEGIN;                                \
	MOVL $0xd2511f53, AX;                         \
	VMOVD AX, X14;                                \
	VPBROADCASTD X14, Y14;                        \
	MOVL $0xcd9e8d57, AX;                         \
	VMOVD AX, X15;                                \
	VPBROADCASTD X15, Y15;                        \
	SUBQ $2, R9;                                  \
	JLT  rows;                                    \
pair: \
	DROPOUT_ROW(0);                               \
	DROPOUT_ROW(1);                               \
	FROM_TWO;                                     \
	CMPQ dropoutArgs_ids(BX), $0;                 \
	JEQ  found;                                   \
	NEXT(0);                                      \
	NEXT(1);                                      \
found: \
	MOVQ dropoutArgs_cols(BX), DX;                \
	MOVL dropoutArgs_block(BX), R11;              \
	PCALIGN $32;                                  \
blocks: \
	FETCH(64, LINES_OF_2, lines, fetched);        \
	DROPOUT_COLUMNS_AVX2;                         \
	FIRST_AVX2(0, Y6, Y7, Y8, Y9);                \
	FIRST_AVX2(1, Y10, Y11, Y12, Y13);            \
	ROUND_AVX2(4, Y7, Y8, Y9, Y6);                \
	ROUND_AVX2(4, Y11, Y12, Y13, Y10);            \
	ROUND_AVX2(5, Y8, Y9, Y6, Y7);                \
	ROUND_AVX2(5, Y12, Y13, Y10, Y11);            \
	ROUND_AVX2(6, Y9, Y6, Y7, Y8);                \
	ROUND_AVX2(6, Y13, Y10, Y11, Y12);            \
	ROUND_AVX2(7, Y6, Y7, Y8, Y9);                \
	ROUND_AVX2(7, Y10, Y11, Y12, Y13);            \
	ROUND_AVX2(8, Y7, Y8, Y9, Y6);                \
	ROUND_AVX2(8, Y11, Y12, Y13, Y10);            \
	LAST_AVX2(Y8, Y9, Y6, Y7);                    \
	LAST_AVX2(Y12, Y13, Y10, Y11);                \
	CMPB dropoutArgs_ahead(BX), $0;               \
	JEQ  near;                                    \
	LEAQ (SI)(R8*2), AX;                          \
	LINES_AHEAD((AX), 0);                         \
	LINES_AHEAD((AX)(R8*1), 0);                   \
near: \
	POSES;                                        \
	CMPQ DX, $64;                                 \
	JLT  edges;                                   \
	CMPB dropoutArgs_stream(BX), $0;              \
	JNE  stream;                                  \
	DROPS_AVX2(VECTOR, SOURCE);                   \
advance: \
	ADDQ $256, SI;                                \
	ADDQ $256, DI;                                \
	SUBQ $64, DX;                                 \
	JGT  blocks;                                  \
	JMP  pairDone;                                \
stream: \
	DROPS_AVX2(STREAM, SOURCE);                   \
	JMP  advance;                                 \
edges: \
	CMPQ DX, $32;                                 \
	JLT  parts;                                   \
	DROP_AVX2(VECTOR, SOURCE, (SI), (SI)(AX*1), (DI), 0, Y9); \
	DROP_AVX2(VECTOR, SOURCE, (SI)(R8*1), (SI)(CX*1), (DI)(R12*1), 0, Y13); \
	ADDQ $128, SI;                                \
	ADDQ $128, DI;                                \
	SUBQ $32, DX;                                 \
	JEQ  pairDone;                                \
	VMOVDQA Y7, Y9;                               \
	VMOVDQA Y11, Y13;                             \
parts: \
	EDGE_AVX2(SUM, POS(0), (SI), (DI), X9, Y9, parts0, four0, two0, one0, end0); \
	EDGE_AVX2(SUM, POS(1), (SI)(R8*1), (DI)(R12*1), X13, Y13, parts1, four1, two1, one1, end1); \
pairDone: \
	DROPOUT_ROW_END;                              \
	LEAQ (DI)(R12*2), DI;                         \
	SUBQ $2, R9;                                  \
	JGE  pair;                                    \
rows: \
	ADDQ $2, R9;                                  \
	JEQ  done;                                    \
	DROPOUT_ROW(0);                               \
	FROM_ROW;                                     \
	CMPQ dropoutArgs_ids(BX), $0;                 \
	JEQ  oneFound;                                \
	NEXT(0);                                      \
oneFound: \
	MOVQ dropoutArgs_cols(BX), DX;                \
	MOVL dropoutArgs_block(BX), R11;              \
block: \
	FETCH(64, LINE(0), line, oneFetched);         \
	DROPOUT_COLUMNS_AVX2;                         \
	FIRST_AVX2(0, Y6, Y7, Y8, Y9);                \
	ROUND_AVX2(4, Y7, Y8, Y9, Y6);                \
	ROUND_AVX2(5, Y8, Y9, Y6, Y7);                \
	ROUND_AVX2(6, Y9, Y6, Y7, Y8);                \
	ROUND_AVX2(7, Y6, Y7, Y8, Y9);                \
	ROUND_AVX2(8, Y7, Y8, Y9, Y6);                \
	LAST_AVX2(Y8, Y9, Y6, Y7);                    \
	POSES;                                        \
	CMPQ DX, $64;                                 \
	JLT  edge;                                    \
	CMPB dropoutArgs_stream(BX), $0;              \
	JNE  oneStream;                               \
	DROP1_AVX2(VECTOR, SOURCE);                   \
oneAdvance: \
	ADDQ $256, SI;                                \
	ADDQ $256, DI;                                \
	SUBQ $64, DX;                                 \
	JGT  block;                                   \
	JMP  done;                                    \
oneStream: \
	DROP1_AVX2(STREAM, SOURCE);                   \
	JMP  oneAdvance;                              \
edge: \
	CMPQ DX, $32;                                 \
	JLT  onePart;                                 \
	DROP_AVX2(VECTOR, SOURCE, (SI), (SI)(AX*1), (DI), 0, Y9); \
	ADDQ $128, SI;                                \
	ADDQ $128, DI;                                \
	SUBQ $32, DX;                                 \
	JEQ  done;                                    \
	VMOVDQA Y7, Y9;                               \
onePart: \
	EDGE_AVX2(SUM, POS(0), (SI), (DI), X9, Y9, eights, four, two, single, end); \
done: \
	DROPOUT_END;                                  \
	VZEROUPPER

// Rows of src by their numbers.

#define FROM_NUMBERS \
	MOVQ dropoutArgs_number(BX), CX; \
	FROM(16, SI);                    \
	FROM(8, R8);                     \
	SUBQ SI, R8;                     \
	ADDQ dropoutArgs_src(BX), SI

#define NO_POSES
#define NO_POS(i)

// Rows of src, and of positions, by lists of their numbers, of which one is at CX. SPOT has how far row number i of positions is from the first
// of src.

#define PLACE(i, stride, row) \
	MOVQ  (8*(i))(CX), row; \
	IMULQ stride(BX), row

#define SPOT(i) \
	PLACE(i, dropoutArgs_posStride, AX);  \
	ADDQ dropoutArgs_positions(BX), AX;   \
	SUBQ SI, AX;                          \
	MOVQ AX, (dropoutArgs_apart+8*(i))(BX)

#define FROM_PLACE \
	MOVQ dropoutArgs_places(BX), CX;     \
	PLACE(0, dropoutArgs_srcStride, SI); \
	ADDQ dropoutArgs_src(BX), SI;        \
	MOVQ dropoutArgs_spots(BX), CX;      \
	SPOT(0)

// FROM_PLACE_BEHIND sets offset to how far row number i of src is behind the first.
#define FROM_PLACE_BEHIND(i, offset) \
	PLACE(i, dropoutArgs_srcStride, offset); \
	ADDQ dropoutArgs_src(BX), offset;        \
	SUBQ SI, offset

#define PLACES_DONE(n) \
	ADDQ $(8*(n)), dropoutArgs_places(BX); \
	ADDQ $(8*(n)), dropoutArgs_spots(BX)

#define FROM_PLACES \
	FROM_PLACE;                      \
	SPOT(1);                         \
	MOVQ dropoutArgs_places(BX), CX; \
	FROM_PLACE_BEHIND(1, R8);        \
	PLACES_DONE(2)

#define POSES \
	MOVQ dropoutArgs_apart(BX), AX;        \
	MOVQ (dropoutArgs_apart+8)(BX), CX;    \
	VBROADCASTSS dropoutArgs_rowScale(BX), Y4

#define POS(i) \
	MOVQ (dropoutArgs_apart+8*(i))(BX), R10; \
	ADDQ SI, R10

// func dropoutAVX2(a *dropoutArgs)
// for i := range rows { for c := range cols { dst[i][c] = scale*src[numbers[i]][c], or 0 if random(row+numbers[i], c) < threshold } }
TEXT ·dropoutAVX2(SB), NOSPLIT, $0-8
	DROPOUT_AVX2(FROM_NUMBERS, FROM_ONE, PLAIN_VECTOR, NO_POSITION, NO_POSES, NO_POS)
	RET

// func dropoutSumsAVX2(a *dropoutArgs)
// as above, of rowScale*src[places[i]] + positions[spots[i]] where it has src[numbers[i]]
TEXT ·dropoutSumsAVX2(SB), NOSPLIT, $0-8
	DROPOUT_AVX2(FROM_PLACES, FROM_PLACE, SUM_VECTOR, ADD_POSITION, POSES, POS)
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

// LAST_AVX512 is the last round, which leaves two words of each counter in one lane: the bytes of the first 64 columns and
// of the others, in registers c1 and c3.
#define LAST_AVX512(c0, c1, c2, c3) \
	VPMULUDQ Z15, c2, c2;                       \
	VPMULUDQ Z14, c0, c0;                       \
	VPSHUFD  $0xB1, c2, c2;                     \
	VPSHUFD  $0xB1, c0, c0;                     \
	VPTERNLOGD.BCST $0x96, KEY0(9), c1, K3, c2; \
	VPTERNLOGD.BCST $0x96, KEY1(9), c3, K3, c0; \
	VPUNPCKLQDQ c0, c2, c1;                     \
	VPUNPCKHQDQ c0, c2, c3

// What is dropped of 16 columns, of which K says what is kept, as with AVX2; Z0 is the factor of sums.

#define PLAIN_KEPT(off, from, pos, K, z) VMULPS.Z off from, Z12, K, z

#define SUM_KEPT(off, from, pos, K, z) \
	VMULPS.Z off from, Z0, K, z; \
	VADDPS.Z off pos, z, K, z;   \
	VMULPS.Z Z12, z, K, z

// KEPT_AVX512 sets Z4, Z5, Z7 and Z8 to 64 columns, of which K1 says what is kept.
#define KEPT_AVX512(SOURCE, from, pos, off) \
	KSHIFTRQ $16, K1, K2;               \
	SOURCE(off, from, pos, K1, Z4);     \
	SOURCE(off+64, from, pos, K2, Z5);  \
	KSHIFTRQ $32, K1, K2;               \
	KSHIFTRQ $48, K1, K1;               \
	SOURCE(off+128, from, pos, K2, Z7); \
	SOURCE(off+192, from, pos, K1, Z8)

// DROP_AVX512 does 64 columns, whose bytes are in register x; positions are AX bytes behind the first row of src.
#define DROP_AVX512(STORE, SOURCE, from, to, off, x) \
	VPCMPUB $5, Z13, x, K1;                     \
	KEPT_AVX512(SOURCE, from, (SI)(AX*1), off); \
	STORE(Z4, off to);                          \
	STORE(Z5, off+64 to);                       \
	STORE(Z7, off+128 to);                      \
	STORE(Z8, off+192 to)

#define BLOCK_AVX512(STORE, SOURCE, from, to, x, y) \
	DROP_AVX512(STORE, SOURCE, from, to, 0, x); \
	DROP_AVX512(STORE, SOURCE, from, to, 256, y)

// POS sets AX to how far row number i of positions is behind the first row of src.

#define DROP1_AVX512(STORE, SOURCE, POS) \
	POS(0); \
	BLOCK_AVX512(STORE, SOURCE, (SI), (DI), Z19, Z17)

#define DROPS_AVX512(STORE, SOURCE, POS) \
	DROP1_AVX512(STORE, SOURCE, POS);                                \
	POS(1);                                                          \
	BLOCK_AVX512(STORE, SOURCE, (SI)(R8*1), (DI)(R12*1), Z23, Z21);  \
	POS(2);                                                          \
	BLOCK_AVX512(STORE, SOURCE, (SI)(R10*1), (DI)(R12*2), Z27, Z25); \
	POS(3);                                                          \
	BLOCK_AVX512(STORE, SOURCE, (SI)(R11*1), (DI)(R13*1), Z31, Z29)

// EDGE_AVX512 does the last columns of a row, less than 64, whose bytes are in register x, and no vector behind them: its line would be read, though
// all of it is masked away. On a Zen 5 Dropout of 64 and of 1,024 rows in cache takes so much of the time of all four vectors: 8 columns 0.20 and
// 0.87, 16 0.30 and 0.77, 32 0.56 and 0.86, 48 0.72 and 0.92, 72 0.58 and 0.86, 100 0.98 and 0.90, 64 rows of 150 to 300 0.95 to 0.98. EDGES_AVX512
// sets the masks.
#define EDGE_AVX512(SOURCE, from, to, x, end) \
	VPCMPUB $5, Z13, x, K4, K1;              \
	SOURCE(0, from, (SI)(AX*1), K1, Z4);     \
	VMOVUPS Z4, K4, to;                      \
	CMPQ  DX, $16;                           \
	JLE   end;                               \
	KSHIFTRQ $16, K1, K2;                    \
	SOURCE(64, from, (SI)(AX*1), K2, Z5);    \
	VMOVUPS Z5, K5, 64 to;                   \
	CMPQ  DX, $32;                           \
	JLE   end;                               \
	KSHIFTRQ $32, K1, K2;                    \
	SOURCE(128, from, (SI)(AX*1), K2, Z7);   \
	VMOVUPS Z7, K6, 128 to;                  \
	CMPQ  DX, $48;                           \
	JLE   end;                               \
	KSHIFTRQ $48, K1, K2;                    \
	SOURCE(192, from, (SI)(AX*1), K2, Z8);   \
	VMOVUPS Z8, K7, 192 to;                  \
end:

#define EDGES_AVX512 \
	MOVQ   DX, CX;        \
	NEGQ   CX;            \
	MOVQ   $-1, AX;       \
	SHRQ   CX, AX;        \
	KMOVQ  AX, K4;        \
	KSHIFTRQ $16, K4, K5; \
	KSHIFTRQ $32, K4, K6; \
	KSHIFTRQ $48, K4, K7

#define ROW_AVX512 \
	MOVQ dropoutArgs_cols(BX), DX;          \
	VPMOVZXBQ ·inTurn(SB), Z11;             \
	VPBROADCASTD dropoutArgs_block(BX), Z4; \
	VPADDD Z4, Z11, Z11

// DROPOUT_AVX512 is the body of a kernel. FROM_FOUR and FROM_ROW find its rows, and POSES the factor of sums; SOURCE and POS are for DROP and
// EDGE.
#define DROPOUT_AVX512(FROM_FOUR, FROM_ROW, SOURCE, POSES, POS) \
	DROPOUT_BEGIN;                                         \
	LEAQ (R12)(R12*2), R13;                                \
	MOVL $8, AX;                                           \
	VPBROADCASTQ AX, Z6;                                   \
	VPBROADCASTD dropoutArgs_first(BX), Z9;                \
	VPBROADCASTD dropoutArgs_second(BX), Z10;              \
	VBROADCASTSS dropoutArgs_scale(BX), Z12;               \
	VPBROADCASTB dropoutArgs_threshold(BX), Z13;           \
	MOVL $0xd2511f53, AX;                                  \
	VPBROADCASTQ AX, Z14;                                  \
	MOVL $0xcd9e8d57, AX;                                  \
	VPBROADCASTQ AX, Z15;                                  \
	MOVL $0x5555, AX;                                      \
	KMOVW AX, K3;                                          \
	SUBQ $4, R9;                                           \
	JLT  rows;                                             \
four: \
	DROPOUT_ROW(0);                                        \
	DROPOUT_ROW(1);                                        \
	DROPOUT_ROW(2);                                        \
	DROPOUT_ROW(3);                                        \
	FROM_FOUR;                                             \
	CMPQ dropoutArgs_ids(BX), $0;                          \
	JEQ  found;                                            \
	NEXT(0);                                               \
	NEXT(1);                                               \
	NEXT(2);                                               \
	NEXT(3);                                               \
found: \
	ROW_AVX512;                                            \
	PCALIGN $32;                                           \
blocks: \
	FETCH(128, LINES_OF_4, lines, fetched);                \
	DROPOUT_COLUMNS_AVX512;                                \
	FIRST_AVX512(0, Z16, Z17, Z18, Z19, Z4, Z5);           \
	FIRST_AVX512(1, Z20, Z21, Z22, Z23, Z7, Z8);           \
	FIRST_AVX512(2, Z24, Z25, Z26, Z27, Z4, Z5);           \
	FIRST_AVX512(3, Z28, Z29, Z30, Z31, Z7, Z8);           \
	FOUR_AVX512(4, Z17, Z18, Z19, Z16, Z21, Z22, Z23, Z20, Z25, Z26, Z27, Z24, Z29, Z30, Z31, Z28); \
	FOUR_AVX512(5, Z18, Z19, Z16, Z17, Z22, Z23, Z20, Z21, Z26, Z27, Z24, Z25, Z30, Z31, Z28, Z29); \
	FOUR_AVX512(6, Z19, Z16, Z17, Z18, Z23, Z20, Z21, Z22, Z27, Z24, Z25, Z26, Z31, Z28, Z29, Z30); \
	FOUR_AVX512(7, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31); \
	FOUR_AVX512(8, Z17, Z18, Z19, Z16, Z21, Z22, Z23, Z20, Z25, Z26, Z27, Z24, Z29, Z30, Z31, Z28); \
	LAST_AVX512(Z18, Z19, Z16, Z17);                       \
	LAST_AVX512(Z22, Z23, Z20, Z21);                       \
	LAST_AVX512(Z26, Z27, Z24, Z25);                       \
	LAST_AVX512(Z30, Z31, Z28, Z29);                       \
	CMPB dropoutArgs_ahead(BX), $0;                        \
	JEQ  near;                                             \
	LEAQ (SI)(R8*4), AX;                                   \
	LINES_AHEAD((AX), 0);                                  \
	LINES_AHEAD((AX), 256);                                \
	LINES_AHEAD((AX)(R8*1), 0);                            \
	LINES_AHEAD((AX)(R8*1), 256);                          \
	LINES_AHEAD((AX)(R10*1), 0);                           \
	LINES_AHEAD((AX)(R10*1), 256);                         \
	LINES_AHEAD((AX)(R11*1), 0);                           \
	LINES_AHEAD((AX)(R11*1), 256);                         \
near: \
	POSES;                                                 \
	CMPQ DX, $128;                                         \
	JLT  edges;                                            \
	CMPB dropoutArgs_stream(BX), $0;                       \
	JNE  stream;                                           \
	DROPS_AVX512(VECTOR, SOURCE, POS);                     \
advance: \
	ADDQ $512, SI;                                         \
	ADDQ $512, DI;                                         \
	SUBQ $128, DX;                                         \
	JGT  blocks;                                           \
	JMP  fourDone;                                         \
stream: \
	DROPS_AVX512(STREAM, SOURCE, POS);                     \
	JMP  advance;                                          \
edges: \
	CMPQ DX, $64;                                          \
	JLT  parts;                                            \
	POS(0);                                                \
	DROP_AVX512(VECTOR, SOURCE, (SI), (DI), 0, Z19);       \
	POS(1);                                                \
	DROP_AVX512(VECTOR, SOURCE, (SI)(R8*1), (DI)(R12*1), 0, Z23); \
	POS(2);                                                \
	DROP_AVX512(VECTOR, SOURCE, (SI)(R10*1), (DI)(R12*2), 0, Z27); \
	POS(3);                                                \
	DROP_AVX512(VECTOR, SOURCE, (SI)(R11*1), (DI)(R13*1), 0, Z31); \
	ADDQ $256, SI;                                         \
	ADDQ $256, DI;                                         \
	SUBQ $64, DX;                                          \
	JEQ  fourDone;                                         \
	VMOVDQA64 Z17, Z19;                                    \
	VMOVDQA64 Z21, Z23;                                    \
	VMOVDQA64 Z25, Z27;                                    \
	VMOVDQA64 Z29, Z31;                                    \
parts: \
	EDGES_AVX512;                                          \
	POS(0);                                                \
	EDGE_AVX512(SOURCE, (SI), (DI), Z19, end0);            \
	POS(1);                                                \
	EDGE_AVX512(SOURCE, (SI)(R8*1), (DI)(R12*1), Z23, end1); \
	POS(2);                                                \
	EDGE_AVX512(SOURCE, (SI)(R10*1), (DI)(R12*2), Z27, end2); \
	POS(3);                                                \
	EDGE_AVX512(SOURCE, (SI)(R11*1), (DI)(R13*1), Z31, end3); \
fourDone: \
	DROPOUT_ROW_END;                                       \
	LEAQ (DI)(R12*4), DI;                                  \
	SUBQ $4, R9;                                           \
	JGE  four;                                             \
rows: \
	ADDQ $4, R9;                                           \
	JEQ  done;                                             \
one: \
	DROPOUT_ROW(0);                                        \
	FROM_ROW;                                              \
	CMPQ dropoutArgs_ids(BX), $0;                          \
	JEQ  oneFound;                                         \
	NEXT(0);                                               \
oneFound: \
	ROW_AVX512;                                            \
block: \
	FETCH(128, LINE(0), line, oneFetched);                 \
	DROPOUT_COLUMNS_AVX512;                                \
	FIRST_AVX512(0, Z16, Z17, Z18, Z19, Z4, Z5);           \
	ROUND_AVX512(4, Z17, Z18, Z19, Z16, Z4, Z5);           \
	ROUND_AVX512(5, Z18, Z19, Z16, Z17, Z4, Z5);           \
	ROUND_AVX512(6, Z19, Z16, Z17, Z18, Z4, Z5);           \
	ROUND_AVX512(7, Z16, Z17, Z18, Z19, Z4, Z5);           \
	ROUND_AVX512(8, Z17, Z18, Z19, Z16, Z4, Z5);           \
	LAST_AVX512(Z18, Z19, Z16, Z17);                       \
	POSES;                                                 \
	CMPQ DX, $128;                                         \
	JLT  edge;                                             \
	CMPB dropoutArgs_stream(BX), $0;                       \
	JNE  oneStream;                                        \
	DROP1_AVX512(VECTOR, SOURCE, POS);                     \
oneAdvance: \
	ADDQ $512, SI;                                         \
	ADDQ $512, DI;                                         \
	SUBQ $128, DX;                                         \
	JGT  block;                                            \
	JMP  oneDone;                                          \
oneStream: \
	DROP1_AVX512(STREAM, SOURCE, POS);                     \
	JMP  oneAdvance;                                       \
edge: \
	CMPQ DX, $64;                                          \
	JLT  part;                                             \
	POS(0);                                                \
	DROP_AVX512(VECTOR, SOURCE, (SI), (DI), 0, Z19);       \
	ADDQ $256, SI;                                         \
	ADDQ $256, DI;                                         \
	SUBQ $64, DX;                                          \
	JEQ  oneDone;                                          \
	VMOVDQA64 Z17, Z19;                                    \
part: \
	EDGES_AVX512;                                          \
	POS(0);                                                \
	EDGE_AVX512(SOURCE, (SI), (DI), Z19, end);             \
oneDone: \
	DROPOUT_ROW_END;                                       \
	ADDQ R12, DI;                                          \
	DECQ R9;                                               \
	JNE  one;                                              \
done: \
	DROPOUT_END;                                           \
	VZEROUPPER

// Rows of src by their numbers, and by lists of them, beside positions.

#define FROM_FOUR_NUMBERS \
	MOVQ dropoutArgs_number(BX), CX; \
	FROM(32, SI);                    \
	FROM(24, R8);                    \
	FROM(16, R10);                   \
	FROM(8, R11);                    \
	SUBQ SI, R8;                     \
	SUBQ SI, R10;                    \
	SUBQ SI, R11;                    \
	ADDQ dropoutArgs_src(BX), SI

#define FROM_FOUR_PLACES \
	FROM_PLACE;                      \
	SPOT(1);                         \
	SPOT(2);                         \
	SPOT(3);                         \
	MOVQ dropoutArgs_places(BX), CX; \
	FROM_PLACE_BEHIND(1, R8);        \
	FROM_PLACE_BEHIND(2, R10);       \
	FROM_PLACE_BEHIND(3, R11);       \
	PLACES_DONE(4)

#define FROM_NEXT_PLACE \
	FROM_PLACE;                      \
	PLACES_DONE(1)

#define POSES_AVX512 VBROADCASTSS dropoutArgs_rowScale(BX), Z0

#define POS_AVX512(i) MOVQ (dropoutArgs_apart+8*(i))(BX), AX

#define PLAIN_AVX512 DROPOUT_AVX512(FROM_FOUR_NUMBERS, FROM_ONE, PLAIN_KEPT, NO_POSES, NO_POS)
#define SUMS_AVX512 DROPOUT_AVX512(FROM_FOUR_PLACES, FROM_NEXT_PLACE, SUM_KEPT, POSES_AVX512, POS_AVX512)

// func dropoutAVX512(a *dropoutArgs)
// for i := range rows { for c := range cols { dst[i][c] = scale*src[numbers[i]][c], or 0 if random(row+numbers[i], c) < threshold } }
TEXT ·dropoutAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	NEAR(dropoutArgs_near, ·dropoutNearAVX512<>)
	PLAIN_AVX512
	RET

// func dropoutSumsAVX512(a *dropoutArgs)
// as above, of rowScale*src[places[i]] + positions[spots[i]] where it has src[numbers[i]]
TEXT ·dropoutSumsAVX512(SB), NOSPLIT, $0-8
	MOVQ a+0(FP), BX
	NEAR(dropoutArgs_near, ·dropoutSumsNearAVX512<>)
	SUMS_AVX512
	RET

// Near kernels: see NEAR in rows_amd64.h. BX has the arguments.

#undef PREFETCH
#define PREFETCH PREFETCHT0

TEXT ·dropoutNearAVX512<>(SB), NOSPLIT, $0-8
	PLAIN_AVX512
	RET

TEXT ·dropoutSumsNearAVX512<>(SB), NOSPLIT, $0-8
	SUMS_AVX512
	RET
