//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_arm64.h"

// The dot products of dotArgs: two rows of the table at a time against all rows of a, two of these at a time and a last one
// alone; and each from left to right, 16 columns at a time, with a vector for each four lanes. Of what is left behind
// those, each four columns go to their lanes, and then the last one to three, with +0 beside them, which changes no lane
// since none is ever -0. Where the last group has one row, it is there twice, and stored once.
//
// Registers:
//	R0   arguments                       R11  number of the group's first id
//	R1, R2  rows of the table            R12  ids to do
//	R3, R4  in these                     R13  rows of a left
//	R5, R6  rows of a                    R14  bytes between rows of the table
//	R7, R8  in these                     R15  bytes between rows of a
//	R9   columns left                    R19  bytes between rows of dst
//	R10  element of dst                  R20  columns
//	R21  ids, or 0                       R22  whether they are wide
//	R23 to R25  for a moment
//	V0 to V15  the lanes of the first row of a with both of the table, and of the second

// DOT_ID sets row to id number R23.
#define DOT_ID(row, found) \
	MOVD R23, row;          \
	CBZ  R21, found;        \
	ID(R21, R22, R23, row); \
found:

// DOT_ROW finds row number t of the group.
#define DOT_ROW(t, row, found) \
	ADD  $t, R11, R23;           \
	SUB  $1, R12, R24;           \
	CMP  R24, R23;               \
	CSEL GT, R24, R23, R23;      \
	DOT_ID(row, found);          \
	MOVD dotArgs_limit(R0), R24; \
	CMP  R24, row;               \
	BHS  changed;                \
	MOVD dotArgs_table(R0), R25; \
	MADD R14, R25, row, row

// PRODUCTS multiplies a vector of the first row of a, in register number a, and of the second, in b, with those of both
// rows of the table, in t and u, and adds the products to the lanes w, x, y and z; FIRST does without the second row of a.
#define PRODUCTS(a, b, t, u, w, x, y, z) \
	FIRST(a, t, u, w, x); \
	VFMUL4S(t, b, 30);    \
	VFMUL4S(u, b, 31);    \
	VFADD4S(30, y, y);    \
	VFADD4S(31, z, z)

#define FIRST(a, t, u, w, x) \
	VFMUL4S(t, a, 28); \
	VFMUL4S(u, a, 29); \
	VFADD4S(28, w, w); \
	VFADD4S(29, x, x)

// PAIR_COLUMNS does 8 columns, LAST_COLUMNS without the second row of a; off is their place in bytes.
#define PAIR_COLUMNS(off, w0, w1, x0, x1, y0, y1, z0, z1) \
	FLDPQ off(R7), (F16, F17);                \
	FLDPQ off(R8), (F18, F19);                \
	FLDPQ off(R3), (F20, F21);                \
	FLDPQ off(R4), (F22, F23);                \
	PRODUCTS(16, 18, 20, 22, w0, x0, y0, z0); \
	PRODUCTS(17, 19, 21, 23, w1, x1, y1, z1)

#define LAST_COLUMNS(off, w0, w1, x0, x1) \
	FLDPQ off(R7), (F16, F17);   \
	FLDPQ off(R3), (F20, F21);   \
	FLDPQ off(R4), (F22, F23);   \
	FIRST(16, 20, 22, w0, x0);   \
	FIRST(17, 21, 23, w1, x1)

// FOUR does 4 columns of the tail if there are as many, or else the last ones, which PARTS has loaded.
#define FOUR(part, w, x, y, z) \
	SUBS  $4, R9;                            \
	BLT   part;                              \
	FMOVQ (R7), F20;                         \
	FMOVQ (R8), F21;                         \
	FMOVQ (R3), F22;                         \
	FMOVQ (R4), F23;                         \
	ADD   $16, R7;                           \
	ADD   $16, R8;                           \
	ADD   $16, R3;                           \
	ADD   $16, R4;                           \
	PRODUCTS(20, 21, 22, 23, w, x, y, z)

#define PART(w, x, y, z) PRODUCTS(16, 17, 18, 19, w, x, y, z)

// PARTS loads the last one to three columns of all rows, with zeros beside them; R23 is where they are, and R24 how many.
#define PARTS(two, three, loaded) \
	CLEAR4(V16, V17, V18, V19);      \
	AND   $12, R9, R23;              \
	LSL   $2, R23;                   \
	AND   $3, R9, R24;               \
	CBZ   R24, loaded;               \
	CMP   $2, R24;                   \
	BEQ   two;                       \
	BGT   three;                     \
	FMOVS (R7)(R23), F16;            \
	FMOVS (R8)(R23), F17;            \
	FMOVS (R3)(R23), F18;            \
	FMOVS (R4)(R23), F19;            \
	B     loaded;                    \
two: \
	FMOVD (R7)(R23), F16;            \
	FMOVD (R8)(R23), F17;            \
	FMOVD (R3)(R23), F18;            \
	FMOVD (R4)(R23), F19;            \
	B     loaded;                    \
three: \
	FMOVD (R7)(R23), F16;            \
	FMOVD (R8)(R23), F17;            \
	FMOVD (R3)(R23), F18;            \
	FMOVD (R4)(R23), F19;            \
	ADD   $8, R23;                   \
	ADD   R7, R23, R24;              \
	VLD1  (R24), V16.S[2];           \
	ADD   R8, R23, R24;              \
	VLD1  (R24), V17.S[2];           \
	ADD   R3, R23, R24;              \
	VLD1  (R24), V18.S[2];           \
	ADD   R4, R23, R24;              \
	VLD1  (R24), V19.S[2];           \
loaded:

#define TAIL(two, three, loaded, part0, part1, part2, sum) \
	ANDS  $15, R20, R9;             \
	BEQ   sum;                      \
	PARTS(two, three, loaded);      \
	FOUR(part0, 0, 4, 8, 12);  \
	FOUR(part1, 1, 5, 9, 13);  \
	FOUR(part2, 2, 6, 10, 14); \
	PART(3, 7, 11, 15);             \
	B     sum;                      \
part0: \
	PART(0, 4, 8, 12);              \
	B     sum;                      \
part1: \
	PART(1, 5, 9, 13);              \
	B     sum;                      \
part2: \
	PART(2, 6, 10, 14);             \
sum:

// TREE leaves in V0 the results of the first row of a with both of the table, and of the second.
#define TREE \
	VFADD4S(2, 0, 0);               \
	VFADD4S(3, 1, 1);               \
	VFADD4S(6, 4, 4);               \
	VFADD4S(7, 5, 5);               \
	VFADD4S(10, 8, 8);              \
	VFADD4S(11, 9, 9);              \
	VFADD4S(14, 12, 12);            \
	VFADD4S(15, 13, 13);            \
	VFADD4S(1, 0, 0);               \
	VFADD4S(5, 4, 4);               \
	VFADD4S(9, 8, 8);               \
	VFADD4S(13, 12, 12);            \
	VZIP1 V4.D2, V0.D2, V1.D2;      \
	VZIP2 V4.D2, V0.D2, V2.D2;      \
	VZIP1 V12.D2, V8.D2, V3.D2;     \
	VZIP2 V12.D2, V8.D2, V4.D2;     \
	VFADD4S(2, 1, 1);               \
	VFADD4S(4, 3, 3);               \
	VUZP1 V3.S4, V1.S4, V0.S4;      \
	VUZP2 V3.S4, V1.S4, V2.S4;      \
	VFADD4S(2, 0, 0)

// func dotsNEON(d *dotArgs) (done int)
// for j, id := range ids { for i := range a { dst[i][j] = dot(a[i], table[id]) } }
TEXT ·dotsNEON(SB), NOSPLIT, $0-16
	MOVD d+0(FP), R0
	MOVD ZR, R11
	MOVD dotArgs_n(R0), R12
	MOVD dotArgs_tableStride(R0), R14
	MOVD dotArgs_aStride(R0), R15
	MOVD dotArgs_dstStride(R0), R19
	MOVD dotArgs_cols(R0), R20
	MOVD dotArgs_ids(R0), R21
	MOVD dotArgs_wide(R0), R22
group:
	DOT_ROW(0, R1, found0)
	DOT_ROW(1, R2, found1)
	MOVD dotArgs_ahead(R0), R23
	CBZ  R23, near
	ADD  R11, R23
	ADD  $2, R23, R9
far:
	MOVD dotArgs_readable(R0), R24
	CMP  R24, R23
	BGE  near
	DOT_ID(R25, foundFar)
	MOVD dotArgs_table(R0), R24
	ROW_AHEAD(R14, R24, R25, R25)
	MOVD dotArgs_burst(R0), R24
	LINES(R25, R24, line)
	ADD  $1, R23
	CMP  R9, R23
	BLT  far
near:
	MOVD dotArgs_dst(R0), R10
	ADD  R11<<2, R10
	MOVD dotArgs_a(R0), R5
	MOVD dotArgs_rows(R0), R13
	SUBS $2, R13
	BLT  last
pair:
	ADD  R15, R5, R6
	MOVD R5, R7
	MOVD R6, R8
	MOVD R1, R3
	MOVD R2, R4
	CLEAR4(V0, V1, V2, V3)
	CLEAR4(V4, V5, V6, V7)
	CLEAR4(V8, V9, V10, V11)
	CLEAR4(V12, V13, V14, V15)
	SUBS $16, R20, R9
	BLT  pairTail
	PCALIGN $16
pairBlock:
	PAIR_COLUMNS(0, 0, 1, 4, 5, 8, 9, 12, 13)
	PAIR_COLUMNS(32, 2, 3, 6, 7, 10, 11, 14, 15)
	ADD  $64, R7
	ADD  $64, R8
	ADD  $64, R3
	ADD  $64, R4
	SUBS $16, R9
	BGE  pairBlock
pairTail:
	TAIL(pair2, pair3, pairLoaded, pairPart0, pairPart1, pairPart2, pairSum)
	TREE
	VEXT $8, V0.B16, V0.B16, V1.B16
	ADD  R19, R10, R24
	SUB  R11, R12, R23
	CMP  $1, R23
	BEQ  pairOf1
	FMOVD F0, (R10)
	FMOVD F1, (R24)
	B    pairDone
pairOf1:
	FMOVS F0, (R10)
	FMOVS F1, (R24)
pairDone:
	ADD  R19, R24, R10
	ADD  R15, R6, R5
	SUBS $2, R13
	BGE  pair
last:
	TBZ  $0, R13, next
	MOVD R5, R7
	MOVD R1, R3
	MOVD R2, R4
	CLEAR4(V0, V1, V2, V3)
	CLEAR4(V4, V5, V6, V7)
	SUBS $16, R20, R9
	BLT  lastTail
	PCALIGN $16
lastBlock:
	LAST_COLUMNS(0, 0, 1, 4, 5)
	LAST_COLUMNS(32, 2, 3, 6, 7)
	ADD  $64, R7
	ADD  $64, R3
	ADD  $64, R4
	SUBS $16, R9
	BGE  lastBlock
lastTail:
	MOVD R7, R8
	TAIL(last2, last3, lastLoaded, lastPart0, lastPart1, lastPart2, lastSum)
	TREE
	SUB  R11, R12, R23
	CMP  $1, R23
	BEQ  lastOf1
	FMOVD F0, (R10)
	B    next
lastOf1:
	FMOVS F0, (R10)
next:
	ADD  $2, R11
	CMP  R12, R11
	BLT  group
	B    done
changed: // leave out the id number R23 and those behind it
	MOVD R23, R12
	CMP  R12, R11
	BLT  group
done:
	MOVD R12, dotArgs_n(R0)
	MOVD R12, done+8(FP)
	RET

// func dotLanesNEON(lanes, x, y *float32, n int)
// for i := range n { lanes[i%16] += x[i] * y[i] }
TEXT ·dotLanesNEON(SB), NOSPLIT, $0-32
	MOVD lanes+0(FP), R0
	MOVD x+8(FP), R7
	MOVD y+16(FP), R3
	MOVD n+24(FP), R9
	FLDPQ (R0), (F0, F1)
	FLDPQ 32(R0), (F2, F3)
	PCALIGN $16
block:
	FLDPQ (R7), (F16, F17)
	FLDPQ 32(R7), (F18, F19)
	FLDPQ (R3), (F20, F21)
	FLDPQ 32(R3), (F22, F23)
	VFMUL4S(20, 16, 16)
	VFMUL4S(21, 17, 17)
	VFMUL4S(22, 18, 18)
	VFMUL4S(23, 19, 19)
	VFADD4S(16, 0, 0)
	VFADD4S(17, 1, 1)
	VFADD4S(18, 2, 2)
	VFADD4S(19, 3, 3)
	ADD  $64, R7
	ADD  $64, R3
	SUBS $16, R9
	BGT  block
	FSTPQ (F0, F1), (R0)
	FSTPQ (F2, F3), 32(R0)
	RET

// Sums of squares, of which a float32 has exact ones in float64: 16 lanes in V0 to V7, and the tree of dot products.
//
// Registers:
//	R0  sum of the row       R5  bytes between rows
//	R7  in the row           R6  rows left
//	R9  columns left         R8  columns
//	R3  to be prefetched     R4  row
//
// Lanes change places behind a part of a tail: what adds them up does not notice.

// TWO_SQUARES adds the squares of the first two of a vector, as float64, to two lanes, SQUARES those of all to four.
#define TWO_SQUARES(x, wide, lanes) \
	VFCVTL(x, wide);           \
	VFMUL2D(wide, wide, wide); \
	VFADD2D(wide, lanes, lanes)

#define SQUARES(x, wide, low, high) \
	TWO_SQUARES(x, wide, low); \
	VFCVTL2(x, x);             \
	VFMUL2D(x, x, x);          \
	VFADD2D(x, high, high)

// func squareSumsNEON(dst *float64, x *float32, stride uintptr, rows, cols int, next *float32)
// for i := range rows { dst[i] = 0; for j := range cols { dst[i] += x[i][j] * x[i][j] } }
TEXT ·squareSumsNEON(SB), NOSPLIT, $0-48
	MOVD dst+0(FP), R0
	MOVD x+8(FP), R4
	MOVD stride+16(FP), R5
	MOVD rows+24(FP), R6
	MOVD cols+32(FP), R8
	MOVD next+40(FP), R3
	PCALIGN $16
row:
	MOVD R4, R7
	CLEAR4(V0, V1, V2, V3)
	CLEAR4(V4, V5, V6, V7)
	SUBS $16, R8, R9
	BLT  eight
block:
	FLDPQ (R7), (F16, F17)
	FLDPQ 32(R7), (F18, F19)
	SQUARES(16, 20, 0, 1)
	SQUARES(17, 21, 2, 3)
	SQUARES(18, 22, 4, 5)
	SQUARES(19, 23, 6, 7)
	PRFM (R3), PLDL2KEEP
	ADD  $64, R7
	ADD  $64, R3
	SUBS $16, R9
	BGE  block
eight:
	TBZ  $3, R8, four
	FLDPQ (R7), (F16, F17)
	SQUARES(16, 20, 0, 1)
	SQUARES(17, 21, 2, 3)
	ADD  $32, R7
	EXCHANGE(V0, V4, V16)
	EXCHANGE(V1, V5, V16)
	EXCHANGE(V2, V6, V16)
	EXCHANGE(V3, V7, V16)
four:
	TBZ  $2, R8, two
	FMOVQ (R7), F16
	SQUARES(16, 20, 0, 1)
	ADD  $16, R7
	EXCHANGE(V0, V2, V16)
	EXCHANGE(V1, V3, V16)
	EXCHANGE(V4, V6, V16)
	EXCHANGE(V5, V7, V16)
two:
	TBZ  $1, R8, one
	FMOVD (R7), F16
	TWO_SQUARES(16, 20, 0)
	TBZ  $0, R8, sum
	FMOVS 8(R7), F16
	TWO_SQUARES(16, 20, 1)
	B    sum
one:
	TBZ  $0, R8, sum
	FMOVS (R7), F16
	TWO_SQUARES(16, 20, 0)
sum:
	VFADD2D(4, 0, 0)
	VFADD2D(5, 1, 1)
	VFADD2D(6, 2, 2)
	VFADD2D(7, 3, 3)
	VFADD2D(2, 0, 0)
	VFADD2D(3, 1, 1)
	VFADD2D(1, 0, 0)
	VEXT $8, V0.B16, V0.B16, V1.B16
	FADDD F1, F0, F0
	FMOVD F0, (R0)
	ADD  $8, R0
	ADD  R5, R4
	SUBS $1, R6
	BNE  row
	RET
