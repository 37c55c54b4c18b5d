//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_arm64.h"

// Dropout walks the rows of dropoutArgs two at a time, and rows from left to right in blocks of 64 columns, for which a
// vector of four counters gives the random bits. The last block of a row is moved as 16, 8, 4, 2 and 1 floats; no byte
// outside the row is touched. Meanwhile rows of a table may be fetched.
//
// Of a counter, words 0 and 1 are the column and the row, and the others the same in the whole call. Up to the third round
// there are intermediate results that belong to a column alone, which rows share, or to a row alone, which DROPOUT_ROW
// works out once.
//
// Registers:
//	R0   arguments                       R8   columns left of the row
//	R1   row of src                      R9   bytes between rows of src
//	R2   row of dst                      R10  bytes between rows of dst
//	R3   rows left                       R11  columns
//	R4   numbers of rows                 R12  keys from the fifth round on
//	R5   in the row of src               R13  in the keys, and for a moment
//	R6   in the row of dst               R14, R15  for a moment
//	R19, R20  in the second rows of src and dst    R21, R22  in the rows to fetch; R21 is 0 for none
//	R23  for a moment
//
//	V0 to V3   words of the first row               V22, V21  what the rows add to word 2 in the second round
//	V4 to V7   words of the second row              V23  key of word 0 in the fourth round
//	V8   lower halves of the first products         V24  key of word 2 in the fourth round
//	V9   what a column adds to word 0 in round 3    V25  key of word 0 in the third round
//	V10  what it adds to word 2 in round 3          V26  what the call adds to word 0 in the second round
//	V11  what it adds to word 2 in round 4          V27  what it adds to word 2 in the first
//	V8 to V17  for a moment                         V28, V29  the multipliers
//	V18  counters                                   V30  threshold
//	V20, V19  what the rows add in the third round  V31  scale

// What the assembler has no mnemonic for. Arguments are numbers of registers.

#define VUMULL(m, n, d) WORD $(0x2EA0C000|(m)<<16|(n)<<5|(d)) // umull v{d}.2d, v{n}.2s, v{m}.2s
#define VUMULL2(m, n, d) WORD $(0x6EA0C000|(m)<<16|(n)<<5|(d)) // umull2 v{d}.2d, v{n}.4s, v{m}.4s
#define VCMHS16B(m, n, d) WORD $(0x6E203C00|(m)<<16|(n)<<5|(d)) // cmhs v{d}.16b, v{n}.16b, v{m}.16b

#define KEY0(round) (dropoutArgs_keys+8*(round))(R0)
#define KEY1(round) (dropoutArgs_keys+8*(round)+4)(R0)

// DROPOUT_ROW works out the product of the second round that a row alone decides on: what it adds to word 2 in that round
// and in the next.
#define DROPOUT_ROW(second, third) \
	MOVWU.P 8(R4), R13;               \
	MOVWU dropoutArgs_row(R0), R14;   \
	MOVWU dropoutArgs_start(R0), R15; \
	ADDW  R14, R13;                   \
	MOVD  $0xd2511f53, R14;           \
	EORW  R15, R13;                   \
	MUL   R14, R13, R13;              \
	LSR   $32, R13, R14;              \
	MOVWU KEY1(1), R15;               \
	EORW  R15, R14;                   \
	MOVWU KEY1(2), R15;               \
	EORW  R15, R13;                   \
	VDUP  R14, second.S4;             \
	VDUP  R13, third.S4

// FROM finds the row of src whose number is so many bytes back.
#define FROM(back, row) \
	MOVD -back(R4), R13;           \
	MOVD dropoutArgs_src(R0), R14; \
	MADD R9, R14, R13, row

// NEXT finds the row that comes next of the table whose rows are fetched.
#define NEXT(row) \
	MOVD dropoutArgs_ids(R0), R13;        \
	MOVD dropoutArgs_fetched(R0), R14;    \
	MOVD dropoutArgs_wide(R0), R15;       \
	ID(R13, R15, R14, R23);               \
	ADD  $1, R14;                         \
	MOVD R14, dropoutArgs_fetched(R0);    \
	MOVD dropoutArgs_nextStride(R0), R14; \
	MOVD dropoutArgs_next(R0), R13;       \
	MADD R14, R13, R23, row

// FETCH prefetches as much of those rows as a block, line by line. LINES does it for one line of each row.
#define FETCH(LINES, line, fetched) \
	CBZ  R21, fetched;                \
	MOVD $64, R14;                    \
	CMP  R14, R8;                     \
	CSEL LT, R8, R14, R14;            \
line: \
	LINES;                            \
	SUBS $16, R14;                    \
	BGT  line;                        \
fetched:

#define LINE(row) \
	PRFM (row), PLDL2KEEP;            \
	ADD  $64, row

#define LINES_OF_2 \
	LINE(R21); \
	LINE(R22)

// DROPOUT_BEGIN goes to the first columns of the row.
#define DROPOUT_BEGIN \
	MOVD  R1, R5;                     \
	MOVD  R2, R6;                     \
	MOVD  R11, R8;                    \
	MOVD  $lanes<>(SB), R13;          \
	FMOVQ (R13), F18;                 \
	MOVWU dropoutArgs_block(R0), R13; \
	VDUP  R13, V8.S4;                 \
	VADD  V8.S4, V18.S4, V18.S4

// PRODUCTS sets v and w, in numbers nv and nw, to the products of x, in number nx, and multiplier m.
#define PRODUCTS(m, nx, nv, nw) \
	VUMULL(m, nx, nv); \
	VUMULL2(m, nx, nw)

// DROPOUT_COLUMNS works out what belongs to columns alone, and counts.
#define DROPOUT_COLUMNS \
	PRODUCTS(29, 18, 12, 13);           \
	MOVD  $4, R13;                      \
	VDUP  R13, V14.S4;                  \
	VADD  V14.S4, V18.S4, V18.S4;       \
	VUZP1 V13.S4, V12.S4, V8.S4;        \
	VUZP2 V13.S4, V12.S4, V9.S4;        \
	VEOR  V27.B16, V9.B16, V9.B16;      \
	PRODUCTS(28, 9, 12, 13);            \
	VUZP2 V13.S4, V12.S4, V11.S4;       \
	VUZP1 V13.S4, V12.S4, V9.S4;        \
	VEOR  V26.B16, V11.B16, V11.B16;    \
	VEOR  V25.B16, V9.B16, V9.B16;      \
	PRODUCTS(29, 11, 12, 13);           \
	VUZP2 V13.S4, V12.S4, V10.S4;       \
	VUZP1 V13.S4, V12.S4, V11.S4;       \
	VEOR  V24.B16, V11.B16, V11.B16;    \
	MOVD  R12, R13

// FIRST is the rest of the first four rounds for one row, whose words are a, b, c and d; v and w are for a moment.
#define FIRST(a, na, b, nb, c, nc, d, v, nv, w, nw, second, third) \
	VEOR  second.B16, V8.B16, b.B16;    \
	PRODUCTS(28, nb, nv, nw);           \
	VEOR  third.B16, V10.B16, c.B16;    \
	VUZP2 w.S4, v.S4, a.S4;             \
	VUZP1 w.S4, v.S4, b.S4;             \
	VEOR  V9.B16, a.B16, a.B16;         \
	VEOR  V23.B16, b.B16, d.B16;        \
	PRODUCTS(28, nc, nv, nw);           \
	VUZP1 w.S4, v.S4, b.S4;             \
	VUZP2 w.S4, v.S4, c.S4;             \
	PRODUCTS(29, na, nv, nw);           \
	VEOR  d.B16, c.B16, a.B16;          \
	VUZP2 w.S4, v.S4, c.S4;             \
	VUZP1 w.S4, v.S4, d.S4;             \
	VEOR  V11.B16, c.B16, c.B16

// ROUND is one of the others, with keys in V16 and V17.
#define ROUND(a, na, b, c, nc, d, t, nt, u, nu, v, nv, w, nw) \
	PRODUCTS(28, nc, nv, nw);           \
	PRODUCTS(29, na, nt, nu);           \
	VEOR  V16.B16, b.B16, b.B16;        \
	VEOR  V17.B16, d.B16, d.B16;        \
	VUZP2 w.S4, v.S4, a.S4;             \
	VUZP2 u.S4, t.S4, c.S4;             \
	VEOR  b.B16, a.B16, a.B16;          \
	VUZP1 w.S4, v.S4, b.S4;             \
	VEOR  d.B16, c.B16, c.B16;          \
	VUZP1 u.S4, t.S4, d.S4

#define KEYS \
	VLD1R.P 4(R13), [V16.S4]; \
	VLD1R.P 4(R13), [V17.S4]

#define ROUND_ONE \
	KEYS;                                                           \
	ROUND(V0, 0, V1, V2, 2, V3, V8, 8, V9, 9, V10, 10, V11, 11)

#define ROUND_TWO \
	ROUND_ONE;                                                      \
	ROUND(V4, 4, V5, V6, 6, V7, V12, 12, V13, 13, V14, 14, V15, 15)

// KEEP turns the words of four counters into what is kept of 64 columns, a byte each, in registers a to d; t and u are for
// a moment.
#define KEEP(a, na, b, nb, c, nc, d, nd, t, u) \
	VZIP1 b.S4, a.S4, t.S4;             \
	VZIP2 b.S4, a.S4, u.S4;             \
	VZIP1 d.S4, c.S4, b.S4;             \
	VZIP2 d.S4, c.S4, d.S4;             \
	VZIP1 b.D2, t.D2, a.D2;             \
	VZIP2 b.D2, t.D2, b.D2;             \
	VZIP1 d.D2, u.D2, c.D2;             \
	VZIP2 d.D2, u.D2, d.D2;             \
	VCMHS16B(30, na, na);                \
	VCMHS16B(30, nb, nb);                \
	VCMHS16B(30, nc, nc);                \
	VCMHS16B(30, nd, nd)

// EIGHT does 8 columns, of which register x has two bytes each, all ones or zeros.
#define EIGHT(off, from, to, x) \
	FLDPQ off(from), (F8, F9);          \
	VZIP1 x.H8, x.H8, V12.H8;           \
	VZIP2 x.H8, x.H8, V13.H8;           \
	VFMUL4S(31, 8, 8);                  \
	VFMUL4S(31, 9, 9);                  \
	VAND  V12.B16, V8.B16, V8.B16;      \
	VAND  V13.B16, V9.B16, V9.B16;      \
	FSTPQ (F8, F9), off(to)

// DROP does 16 columns whose bytes are in register x.
#define DROP(off, from, to, x) \
	VZIP1 x.B16, x.B16, V10.B16;        \
	VZIP2 x.B16, x.B16, V11.B16;        \
	EIGHT(off, from, to, V10);          \
	EIGHT(off+32, from, to, V11)

// EDGE does the last columns of a row, whose bytes are in registers a to d.
#define EDGE(from, to, a, b, c, d, part, eight, four, two, single, end) \
	MOVD  R8, R13;                      \
part: \
	SUBS  $16, R13;                     \
	BLT   eight;                        \
	DROP(0, from, to, a);               \
	ADD   $64, from;                    \
	ADD   $64, to;                      \
	VORR  b.B16, b.B16, a.B16;          \
	VORR  c.B16, c.B16, b.B16;          \
	VORR  d.B16, d.B16, c.B16;          \
	B     part;                         \
eight: \
	VZIP1 a.B16, a.B16, V10.B16;        \
	VZIP2 a.B16, a.B16, V11.B16;        \
	TBZ   $3, R13, four;                \
	EIGHT(0, from, to, V10);            \
	VORR  V11.B16, V11.B16, V10.B16;    \
	ADD   $32, from;                    \
	ADD   $32, to;                      \
four: \
	VZIP2 V10.H8, V10.H8, V11.H8;       \
	VZIP1 V10.H8, V10.H8, V10.H8;       \
	TBZ   $2, R13, two;                 \
	FMOVQ (from), F8;                   \
	VFMUL4S(31, 8, 8);                  \
	VAND  V10.B16, V8.B16, V8.B16;      \
	FMOVQ F8, (to);                     \
	VORR  V11.B16, V11.B16, V10.B16;    \
	ADD   $16, from;                    \
	ADD   $16, to;                      \
two: \
	TBZ   $1, R13, single;              \
	FMOVD (from), F8;                   \
	VFMUL4S(31, 8, 8);                  \
	VAND  V10.B16, V8.B16, V8.B16;      \
	FMOVD F8, (to);                     \
	VEXT  $8, V10.B16, V10.B16, V10.B16; \
	ADD   $8, from;                     \
	ADD   $8, to;                       \
single: \
	TBZ   $0, R13, end;                 \
	FMOVS (from), F8;                   \
	VFMUL4S(31, 8, 8);                  \
	VAND  V10.B16, V8.B16, V8.B16;      \
	FMOVS F8, (to);                     \
end:

DATA lanes<>+0(SB)/8, $0x0000000100000000
DATA lanes<>+8(SB)/8, $0x0000000300000002
GLOBL lanes<>(SB), RODATA|NOPTR, $16

// func dropoutNEON(a *dropoutArgs)
// for i := range rows { for c := range cols { dst[i][c] = scale*src[numbers[i]][c], or 0 if random(row+numbers[i], c) < threshold } }
TEXT ·dropoutNEON(SB), NOSPLIT, $0-8
	MOVD a+0(FP), R0
	MOVD ZR, R21
	MOVD dropoutArgs_dst(R0), R2
	MOVD dropoutArgs_rows(R0), R3
	MOVD dropoutArgs_numbers(R0), R4
	MOVD dropoutArgs_srcStride(R0), R9
	MOVD dropoutArgs_dstStride(R0), R10
	MOVD dropoutArgs_cols(R0), R11
	ADD  $(dropoutArgs_keys+8*4), R0, R12
	MOVWU KEY0(3), R13
	VDUP R13, V23.S4
	MOVWU KEY1(3), R13
	VDUP R13, V24.S4
	MOVWU KEY0(2), R13
	VDUP R13, V25.S4
	MOVWU dropoutArgs_second(R0), R13
	VDUP R13, V26.S4
	MOVWU dropoutArgs_first(R0), R13
	VDUP R13, V27.S4
	MOVD  $0xcd9e8d57, R13
	VDUP R13, V28.S4
	MOVD  $0xd2511f53, R13
	VDUP R13, V29.S4
	MOVWU dropoutArgs_threshold(R0), R13
	VDUP R13, V30.B16
	MOVWU dropoutArgs_scale(R0), R13
	VDUP R13, V31.S4
	SUBS $2, R3
	BLT  rows
pair:
	DROPOUT_ROW(V22, V20)
	DROPOUT_ROW(V21, V19)
	FROM(16, R1)
	FROM(8, R19)
	MOVD dropoutArgs_ids(R0), R13
	CBZ  R13, found
	NEXT(R21)
	NEXT(R22)
found:
	DROPOUT_BEGIN
	ADD  R10, R2, R20
	PCALIGN $16
blocks:
	FETCH(LINES_OF_2, lines, fetched)
	DROPOUT_COLUMNS
	FIRST(V0, 0, V1, 1, V2, 2, V3, V12, 12, V13, 13, V22, V20)
	FIRST(V4, 4, V5, 5, V6, 6, V7, V14, 14, V15, 15, V21, V19)
	ROUND_TWO
	ROUND_TWO
	ROUND_TWO
	ROUND_TWO
	ROUND_TWO
	ROUND_TWO
	KEEP(V0, 0, V1, 1, V2, 2, V3, 3, V8, V9)
	KEEP(V4, 4, V5, 5, V6, 6, V7, 7, V12, V13)
	CMP  $64, R8
	BLT  edges
	DROP(0, R5, R6, V0)
	DROP(64, R5, R6, V1)
	DROP(128, R5, R6, V2)
	DROP(192, R5, R6, V3)
	DROP(0, R19, R20, V4)
	DROP(64, R19, R20, V5)
	DROP(128, R19, R20, V6)
	DROP(192, R19, R20, V7)
	ADD  $256, R5
	ADD  $256, R6
	ADD  $256, R19
	ADD  $256, R20
	SUBS $64, R8
	BGT  blocks
	B    pairDone
edges:
	EDGE(R5, R6, V0, V1, V2, V3, parts0, eight0, four0, two0, one0, end0)
	EDGE(R19, R20, V4, V5, V6, V7, parts1, eight1, four1, two1, one1, end1)
pairDone:
	ADD  R10<<1, R2
	SUBS $2, R3
	BGE  pair
rows:
	ADDS $2, R3
	BEQ  done
	DROPOUT_ROW(V22, V20)
	FROM(8, R1)
	MOVD dropoutArgs_ids(R0), R13
	CBZ  R13, oneFound
	NEXT(R21)
oneFound:
	DROPOUT_BEGIN
block:
	FETCH(LINE(R21), line, oneFetched)
	DROPOUT_COLUMNS
	FIRST(V0, 0, V1, 1, V2, 2, V3, V12, 12, V13, 13, V22, V20)
	ROUND_ONE
	ROUND_ONE
	ROUND_ONE
	ROUND_ONE
	ROUND_ONE
	ROUND_ONE
	KEEP(V0, 0, V1, 1, V2, 2, V3, 3, V8, V9)
	CMP  $64, R8
	BLT  edge
	DROP(0, R5, R6, V0)
	DROP(64, R5, R6, V1)
	DROP(128, R5, R6, V2)
	DROP(192, R5, R6, V3)
	ADD  $256, R5
	ADD  $256, R6
	SUBS $64, R8
	BGT  block
	B    done
edge:
	EDGE(R5, R6, V0, V1, V2, V3, parts, eight, four, two, single, end)
done:
	RET
