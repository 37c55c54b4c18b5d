//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_arm64.h"

// The kernel of products adds sums of rows of src, each times a weight, to four rows of dst or to one, by blocks of columns from left to
// right, whose sums stay in registers while the rows of src pass by.
//
// Registers:
//	R0   arguments                       R7   bytes to the weights of the next row of src
//	R1   block of the first row of dst   R8   columns left
//	R2   block of the row of src         R9   rows of src left of a sum
//	R3   bytes between rows of dst       R10  row of dst, or a weight, for a moment
//	R4   bytes between rows of src       R11  an address to prefetch
//	R5   weight for the first row of dst R12  by how much that goes on
//	R6   bytes from there to that for    R13  rows of src behind those of the sum
//	     the next row
//
// A block is four vectors; then one vector at a time, and a tail as 2 and 1 floats. No byte outside the rows is touched.

// TERM adds vector number m of src times the weight, in V20, to sum number d.
#define TERM(m, d) \
	VFMUL4S(20, m, 21); \
	VFADD4S(21, d, d)

#define WEIGHT VLD1R (R10), [V20.S4]

// A sum starts from zero, and is added to what is in memory in the end: that of four vectors of a row, or of a part of one.

#define START_FOUR(w, x, y, z) \
	FMOVD ZR, w; \
	FMOVD ZR, x; \
	FMOVD ZR, y; \
	FMOVD ZR, z

#define END_FOUR(a, b, c, d, w, x, y, z) \
	FLDPQ (R10), (F16, F17);   \
	FLDPQ 32(R10), (F18, F19); \
	VFADD4S(16, a, a);         \
	VFADD4S(17, b, b);         \
	VFADD4S(18, c, c);         \
	VFADD4S(19, d, d);         \
	FSTPQ (w, x), (R10);       \
	FSTPQ (y, z), 32(R10)

#define END(MOVE, d, w) \
	MOVE (R10), F16;   \
	VFADD4S(16, d, d); \
	MOVE w, (R10)

#define FOUR_TERMS(w, x, y, z) \
	WEIGHT;      \
	TERM(16, w); \
	TERM(17, x); \
	TERM(18, y); \
	TERM(19, z)

// EACH_ROW does something with four rows, of dst by R3 or of weights by R6, and FIRST_ROW with one.
#define EACH_ROW(first, stride, a, b, c, d) \
	MOVD first, R10;       \
	a;                     \
	ADD  stride, R10, R10; \
	b;                     \
	ADD  stride, R10, R10; \
	c;                     \
	ADD  stride, R10, R10; \
	d

#define FIRST_ROW(first, stride, a, b, c, d) \
	MOVD first, R10; \
	a

// PASS has all rows of src pass by one block, so many bytes wide, some for each sum.
#define PASS(STARTS, SOURCE, TERMS, ENDS, bytes, term, sum) \
	MOVD productArgs_terms(R0), R13;  \
sum: \
	STARTS;                           \
	MOVD R13, R9;                     \
	SUBS $const_productRows, R13;     \
	BLE  2(PC);                       \
	MOVD $const_productRows, R9;      \
term: \
	SOURCE;                           \
	TERMS;                            \
	PRFM (R11), PLDL2KEEP;            \
	ADD  R12, R11, R11;               \
	ADD  R4, R2, R2;                  \
	ADD  R7, R5, R5;                  \
	SUBS $1, R9;                      \
	BNE  term;                        \
	ENDS;                             \
	CMP  $0, R13;                     \
	BGT  sum;                         \
	MOVD productArgs_srcSpan(R0), R10; \
	SUB  R10, R2, R2;                 \
	MOVD productArgs_aSpan(R0), R10;  \
	SUB  R10, R5, R5;                 \
	ADD  $bytes, R2, R2;              \
	ADD  $bytes, R1, R1

#define SOURCE_FOUR \
	FLDPQ (R2), (F16, F17);   \
	FLDPQ 32(R2), (F18, F19)

#define WIDE(EACH, term, sum) \
	PASS(START_FOUR(F0, F1, F2, F3); START_FOUR(F4, F5, F6, F7); START_FOUR(F8, F9, F10, F11); START_FOUR(F12, F13, F14, F15), SOURCE_FOUR, EACH(R5, R6, FOUR_TERMS(0, 1, 2, 3), FOUR_TERMS(4, 5, 6, 7), FOUR_TERMS(8, 9, 10, 11), FOUR_TERMS(12, 13, 14, 15)), EACH(R1, R3, END_FOUR(0, 1, 2, 3, F0, F1, F2, F3), END_FOUR(4, 5, 6, 7, F4, F5, F6, F7), END_FOUR(8, 9, 10, 11, F8, F9, F10, F11), END_FOUR(12, 13, 14, 15, F12, F13, F14, F15)), 64, term, sum)

#define ONE_TERM(d) \
	WEIGHT;     \
	TERM(16, d)

#define SOURCE(MOVE) MOVE (R2), F16

#define PART(EACH, MOVE, bytes, term, sum) \
	PASS(START_FOUR(F0, F1, F2, F3), SOURCE(MOVE), EACH(R5, R6, ONE_TERM(0), ONE_TERM(1), ONE_TERM(2), ONE_TERM(3)), EACH(R1, R3, END(MOVE, 0, F0), END(MOVE, 1, F1), END(MOVE, 2, F2), END(MOVE, 3, F3)), bytes, term, sum)

#define COLUMNS(EACH, wide, quads, quad, pair, lone, end, t16, t4, t2, t1, s16, s4, s2, s1) \
	SUBS $16, R8;              \
	BLT  quads;                \
wide: \
	WIDE(EACH, t16, s16);      \
	SUBS $16, R8;              \
	BGE  wide;                 \
quads: \
	ADDS $12, R8;              \
	BLT  pair;                 \
quad: \
	PART(EACH, FMOVQ, 16, t4, s4); \
	SUBS $4, R8;               \
	BGE  quad;                 \
pair: \
	TBZ  $1, R8, lone;         \
	PART(EACH, FMOVD, 8, t2, s2);  \
lone: \
	TBZ  $0, R8, end;          \
	PART(EACH, FMOVS, 4, t1, s1);  \
	B    end

// func addProductNEON(p *productArgs)
// for i := range rows { for k := 0; k < terms; { sum := 0; for end := min(k+32, terms); k < end; k++ { sum += a[i][k] * src[k] }; dst[i] += sum } }
TEXT ·addProductNEON(SB), NOSPLIT, $0-8
	MOVD p+0(FP), R0
	MOVD productArgs_dst(R0), R1
	MOVD productArgs_src(R0), R2
	MOVD productArgs_dstStride(R0), R3
	MOVD productArgs_srcStride(R0), R4
	MOVD productArgs_a(R0), R5
	MOVD productArgs_aRow(R0), R6
	MOVD productArgs_aCol(R0), R7
	MOVD productArgs_cols(R0), R8
	MOVD productArgs_next(R0), R11
	MOVD productArgs_step(R0), R12
	MOVD productArgs_rows(R0), R10
	CMP  $1, R10
	BEQ  single
	COLUMNS(EACH_ROW, wide, quads, quad, pair, lone, end, t16, t4, t2, t1, s16, s4, s2, s1)

single:
	COLUMNS(FIRST_ROW, wide1, quads1, quad1, pair1, lone1, end, t161, t41, t21, t11, s161, s41, s21, s11)

end:
	RET
