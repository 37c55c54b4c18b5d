//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_arm64.h"

// POSITIONS_BEGIN finds the row of positions that belongs to the first row if they are counted.
#define POSITIONS_BEGIN \
	MOVD rowArgs_posStride(R0), R23; \
	MOVD rowArgs_positions(R0), R21; \
	MOVD rowArgs_posFirst(R0), R20;  \
	MOVD rowArgs_posSpan(R0), R22;   \
	ADD  R21, R20;                   \
	ADD  R21, R22

// POSITION finds the row of positions by its id where there are such ids; a counted one is there already.
#define POSITION \
	MOVD R20, R7;                   \
	MOVD rowArgs_at(R0), R24;       \
	CBZ  R24, 9(PC);                \
	MOVD rowArgs_atWide(R0), R25;   \
	ID(R24, R25, R4, R7);           \
	MOVD rowArgs_posLimit(R0), R24; \
	CMP  R24, R7;                   \
	BHS  done;                      \
	MADD R23, R21, R7, R7

// POSITION_RIGHT finds its right end for SHORT_ROWS, and POSITION_NEXT counts.

#define POSITION_RIGHT \
	ADD R8, R7

#define POSITION_NEXT \
	ADD  R23, R20; \
	CMP  R22, R20; \
	CSEL EQ, R21, R20, R20

// How so many columns are moved, from the first to the second; LATER is for a STORE that follows by itself.

#define MOVE1(from, to) FMOVS from, to
#define MOVE2(from, to) FMOVD from, to
#define MOVE4(from, to) FMOVQ from, to
#define LOAD8(from, to) FLDPQ from, to
#define STORE2(from, to) FSTPS from, to
#define STORE4(from, to) FSTPD from, to
#define STORE8(from, to) FSTPQ from, to
#define LATER(from, to)

// What a kernel does to a part of a row, off bytes behind what table and linear hold, in registers x and y; the result is in x. SCALE
// multiplies x by the scale, PLUS adds it to them, and SUM adds those of y. EQUAL sets all bits of the lanes of x whose bits are those
// of y, and no others, and MOVED moves what y has in such lanes to x.

#define GATHER(LOAD, STORE, off, table, linear, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD(off(table), x); \
	STORE(x, off(linear))

#define GATHER_SCALED(LOAD, STORE, off, table, linear, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD(off(table), x); \
	SCALE;               \
	STORE(x, off(linear))

#define GATHER_SUM(LOAD, STORE, off, table, linear, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD(off(table), x); \
	PLUS;                \
	STORE(x, off(linear))

#define ADD_SCALED(LOAD, STORE, off, table, linear, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD(off(linear), x); \
	LOAD(off(table), y);  \
	SCALE;                \
	SUM;                  \
	STORE(x, off(table))

#define EMBED(LOAD, STORE, off, table, linear, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD(off(table), x); \
	LOAD(off(R7), y);    \
	SCALE;               \
	SUM;                 \
	STORE(x, off(linear))

#define TERM(LOAD, STORE, off, table, linear, x, y, SCALE, SUM, PLUS, EQUAL, MOVED) \
	LOAD(off(table), x); \
	LOAD(off(R7), y);    \
	EQUAL;               \
	LOAD(off(R20), y);   \
	MOVED;               \
	STORE(y, off(R20));  \
	STORE(x, off(linear))

// PAIR does two vectors, in pairs of registers x and y whose numbers are x0, x1 and y0, y1. PART does one vector or a
// part of one, in registers whose numbers are x0 and y0.

#define SCALE_PAIR(x0, x1) VFMUL4S(31, x0, x0); VFMUL4S(31, x1, x1)
#define PLUS_PAIR(x0, x1) VFADD4S(31, x0, x0); VFADD4S(31, x1, x1)
#define SUM_PAIR(x0, x1, y0, y1) VFADD4S(x0, y0, x0); VFADD4S(x1, y1, x1)

#define EQUAL_PAIR(x0, x1, y0, y1) VCMEQ4S(y0, x0, x0); VCMEQ4S(y1, x1, x1)
#define TAKE_PAIR(x0, x1, y0, y1) TAKE(x0, y0); TAKE(x1, y1)
#define TAKE(x, y) VAND16B(y, x, x); VEOR16B(x, y, y)

#define PAIR(KERNEL, STORE, off, table, linear, x, y, x0, x1, y0, y1) \
	KERNEL(LOAD8, STORE, off, table, linear, x, y, SCALE_PAIR(x0, x1), SUM_PAIR(x0, x1, y0, y1), PLUS_PAIR(x0, x1), EQUAL_PAIR(x0, x1, y0, y1), TAKE_PAIR(x0, x1, y0, y1))

#define PART(KERNEL, MOVE, STORE, table, linear, x, y, x0, y0) \
	KERNEL(MOVE, STORE, 0, table, linear, x, y, VFMUL4S(31, x0, x0), VFADD4S(x0, y0, x0), VFADD4S(31, x0, x0), VCMEQ4S(y0, x0, x0), TAKE(x0, y0))

// STEP moves on in the rows, STEP_POSITIONS also in that of positions.

#define STEP(size) \
	ADD size, R5; \
	ADD size, R6

#define STEP_POSITIONS(size) \
	STEP(size); \
	ADD size, R7

#define STEP_LEFT(size) \
	STEP_POSITIONS(size); \
	ADD size, R20

// TAIL does what pairs leave of a row, by the bits of the number of columns. OVERLAP does the last eight columns of a row that has
// them, some of them again, which is for kernels that do not read what they write.

#define TAIL(KERNEL, STEP) \
	TBZ  $2, R8, two;                                 \
	PART(KERNEL, MOVE4, MOVE4, R5, R6, F0, F8, 0, 8); \
	STEP($16);                                        \
two: \
	TBZ  $1, R8, one;                                 \
	PART(KERNEL, MOVE2, MOVE2, R5, R6, F0, F8, 0, 8); \
	STEP($8);                                         \
one: \
	TBZ  $0, R8, columnsDone;                         \
	PART(KERNEL, MOVE1, MOVE1, R5, R6, F0, F8, 0, 8)

#define OVERLAP(KERNEL, STEP) \
	STEP(R8<<2); \
	PAIR(KERNEL, STORE8, 0, R5, R6, (F0, F1), (F8, F9), 0, 1, 8, 9)

// COLUMNS does one row; columns is a register. Each row goes through the padding before its blocks, hence PCALIGN $16,
// and one before the row where that leaves less of it; and through every branch, hence the one past all of a tail.
#define COLUMNS(KERNEL, STEP, TAIL, columns) \
	SUBS $32, columns, R8;                                                \
	BLT  pairs;                                                           \
	PCALIGN $16;                                                          \
block: \
	PAIR(KERNEL, STORE8, 0, R5, R6, (F0, F1), (F8, F9), 0, 1, 8, 9);      \
	PAIR(KERNEL, STORE8, 32, R5, R6, (F2, F3), (F10, F11), 2, 3, 10, 11); \
	PAIR(KERNEL, STORE8, 64, R5, R6, (F4, F5), (F12, F13), 4, 5, 12, 13); \
	PAIR(KERNEL, STORE8, 96, R5, R6, (F6, F7), (F14, F15), 6, 7, 14, 15); \
	STEP($128);                                                           \
	SUBS $32, R8;                                                         \
	BGE  block;                                                           \
pairs: \
	ADDS $24, R8;                                                         \
	BLT  tail;                                                            \
pair: \
	PAIR(KERNEL, STORE8, 0, R5, R6, (F0, F1), (F8, F9), 0, 1, 8, 9);      \
	STEP($32);                                                            \
	SUBS $8, R8;                                                          \
	BGE  pair;                                                            \
tail: \
	TST  $7, R8;                                                          \
	BEQ  columnsDone;                                                     \
	TAIL(KERNEL, STEP);                                                   \
columnsDone:

// SHORT_ROWS does rows of up to 32 columns with vectors, or parts of one, at the left end of a row and as many, or fewer, at its
// right, which overlap; 1, 4 and 8 columns have a left one only. All are computed before any is stored, and no branch depends
// on the length of a row. One loop prefetches rows, as long as there are ids ahead, the other does what is left, and all
// of tables that sit in cache. FOURS may do 1, 2, 4 and 8 columns before that. LEFT and RIGHT are the registers of what is written, FIRST
// and NEXT are for positions, and BETWEEN finds their right end.
//
// Cycles per row that llvm-mca predicts for a Neoverse N1 (of 8 micro-operations) and V1 without prefetching, first with rows of more than 8
// columns, and all of Embed, by COLUMNS, and none four at a time, and then as they are:
//
//	           gather                scatter-add           embed
//	columns    N1         V1         N1         V1         N1         V1
//	 2          3.7  1.4  2.2  0.8    4.4  4.5  3.0  3.0   11.0  6.0  5.5  3.8
//	 8          4.2  3.2  2.2  1.2    5.0  4.6  3.0  2.4    9.0  5.7  4.8  3.2
//	12         11.0  6.8  5.5  2.6   11.0  8.5  5.5  4.0   12.0  9.8  6.2  4.8
//	17         12.0  9.5  6.0  3.4   12.0 12.6  7.0  5.3   14.3 13.9  8.0  6.0
//	24         10.7  9.5  5.2  3.4   15.0 12.6  7.5  5.3   15.7 13.9  8.7  6.0
//	28         14.5 14.2  6.5  4.5   16.2 18.0  9.0  7.0   19.0 18.5 10.0  7.3
//	32         14.2 14.2  5.0  4.5   16.5 18.0  7.8  7.0   20.0 18.5  9.0  7.3
//
// Registers: R5 and R6 the left ends of the rows, R24 and R25 the right ones, R8 bytes from left to right, R15 bytes to the
// last column.

#define BODY_LEFT(KERNEL, MOVE) \
	PART(KERNEL, MOVE, MOVE, R5, R6, F0, F8, 0, 8)

#define BODY_BOTH(KERNEL, MOVE, LEFT, RIGHT, BETWEEN) \
	PART(KERNEL, MOVE, LATER, R5, R6, F0, F8, 0, 8);   \
	RIGHT_ENDS(BETWEEN);                               \
	PART(KERNEL, MOVE, LATER, R24, R25, F1, F9, 1, 9); \
	MOVE(F0, (LEFT));                                  \
	MOVE(F1, (RIGHT))

#define RIGHT_ENDS(BETWEEN) \
	ADD R8, R5, R24; \
	ADD R8, R6, R25; \
	BETWEEN

#define BODY1(KERNEL, LEFT, RIGHT, BETWEEN) BODY_LEFT(KERNEL, MOVE1)
#define BODY3(KERNEL, LEFT, RIGHT, BETWEEN) BODY_BOTH(KERNEL, MOVE2, LEFT, RIGHT, BETWEEN)
#define BODY4(KERNEL, LEFT, RIGHT, BETWEEN) BODY_LEFT(KERNEL, MOVE4)
#define BODY7(KERNEL, LEFT, RIGHT, BETWEEN) BODY_BOTH(KERNEL, MOVE4, LEFT, RIGHT, BETWEEN)

#define BODY8(KERNEL, LEFT, RIGHT, BETWEEN) \
	PAIR(KERNEL, STORE8, 0, R5, R6, (F0, F1), (F8, F9), 0, 1, 8, 9)

#define BODY16(KERNEL, LEFT, RIGHT, BETWEEN) \
	PAIR(KERNEL, LATER, 0, R5, R6, (F0, F1), (F8, F9), 0, 1, 8, 9);       \
	RIGHT_ENDS(BETWEEN);                                                  \
	PAIR(KERNEL, LATER, 0, R24, R25, (F2, F3), (F10, F11), 2, 3, 10, 11); \
	STORE8((F0, F1), (LEFT));                                             \
	STORE8((F2, F3), (RIGHT))

#define BODY24(KERNEL, LEFT, RIGHT, BETWEEN) \
	PAIR(KERNEL, LATER, 0, R5, R6, (F0, F1), (F8, F9), 0, 1, 8, 9);       \
	PAIR(KERNEL, LATER, 32, R5, R6, (F2, F3), (F10, F11), 2, 3, 10, 11);  \
	RIGHT_ENDS(BETWEEN);                                                  \
	PAIR(KERNEL, LATER, 0, R24, R25, (F4, F5), (F12, F13), 4, 5, 12, 13); \
	STORE8((F0, F1), (LEFT));                                             \
	STORE8((F2, F3), 32(LEFT));                                           \
	STORE8((F4, F5), (RIGHT))

#define BODY32(KERNEL, LEFT, RIGHT, BETWEEN) \
	PAIR(KERNEL, LATER, 0, R5, R6, (F0, F1), (F8, F9), 0, 1, 8, 9);        \
	PAIR(KERNEL, LATER, 32, R5, R6, (F2, F3), (F10, F11), 2, 3, 10, 11);   \
	RIGHT_ENDS(BETWEEN);                                                   \
	PAIR(KERNEL, LATER, 0, R24, R25, (F4, F5), (F12, F13), 4, 5, 12, 13);  \
	PAIR(KERNEL, LATER, 32, R24, R25, (F6, F7), (F14, F15), 6, 7, 14, 15); \
	STORE8((F0, F1), (LEFT));                                              \
	STORE8((F2, F3), 32(LEFT));                                            \
	STORE8((F4, F5), (RIGHT));                                             \
	STORE8((F6, F7), 32(RIGHT))

#define NOTHING

// LINES2 prefetches the first and the last line of a row, LINES3 of one that may have three.

#define LINES2 \
	PRFM (R25), PLDL2KEEP; \
	ADD  R15, R25;         \
	PRFM (R25), PLDL2KEEP

#define LINES3 \
	PRFM 64(R25), PLDL2KEEP; \
	LINES2

#define SHORT_ROW(KERNEL, BODY, LEFT, RIGHT, FIRST, BETWEEN, NEXT, rows) \
	ROW_ID;                             \
	MADD R9, R2, R5, R5;                \
	FIRST;                              \
	BODY(KERNEL, LEFT, RIGHT, BETWEEN); \
	ADD  R19, R6;                       \
	NEXT;                               \
	ADD  $1, R4;                        \
	CMP  rows, R4

#define SHORT_LOOPS(KERNEL, BODY, LEFT, RIGHT, FIRST, BETWEEN, NEXT, LINES, far, near) \
	CMP  $0, R14;                                                    \
	BLE  near;                                                       \
	PCALIGN $16;                                                     \
far: \
	ADD  R13, R4, R24;                                               \
	ID(R3, R11, R24, R25);                                           \
	ROW_AHEAD(R9, R2, R25, R25);                                     \
	LINES;                                                           \
	SHORT_ROW(KERNEL, BODY, LEFT, RIGHT, FIRST, BETWEEN, NEXT, R14); \
	BLT  far;                                                        \
	CMP  R12, R4;                                                    \
	BGE  done;                                                       \
	PCALIGN $16;                                                     \
near: \
	SHORT_ROW(KERNEL, BODY, LEFT, RIGHT, FIRST, BETWEEN, NEXT, R12); \
	BLT  near;                                                       \
	B    done

// FOUR_ROWS gathers four rows of 1, 2, 4 or 8 columns at a time where neither linear rows nor those of the table have gaps and none is
// prefetched; where an id is not below the limit, or fewer than four are left, the loop of single rows goes on.
//
// Registers: R5, R7, R24, R25 rows of the table, R20 ids, R21 bytes to the next four, R22 rows that have three behind them.

#define FOUR1(KERNEL) FOUR_PARTS(KERNEL, MOVE1, STORE2, 8)
#define FOUR2(KERNEL) FOUR_PARTS(KERNEL, MOVE2, STORE4, 16)
#define FOUR4(KERNEL) FOUR_PARTS(KERNEL, MOVE4, STORE8, 32)

#define FOUR_PARTS(KERNEL, MOVE, STORE, two) \
	PART(KERNEL, MOVE, LATER, R5, R6, F0, F8, 0, 8);    \
	PART(KERNEL, MOVE, LATER, R7, R6, F1, F9, 1, 9);    \
	PART(KERNEL, MOVE, LATER, R24, R6, F2, F10, 2, 10); \
	PART(KERNEL, MOVE, LATER, R25, R6, F3, F11, 3, 11); \
	STORE((F0, F1), (R6));                              \
	STORE((F2, F3), two(R6))

#define FOUR8(KERNEL) \
	PAIR(KERNEL, LATER, 0, R5, R6, (F0, F1), (F8, F9), 0, 1, 8, 9);      \
	PAIR(KERNEL, LATER, 0, R7, R6, (F2, F3), (F10, F11), 2, 3, 10, 11);  \
	PAIR(KERNEL, LATER, 0, R24, R6, (F4, F5), (F12, F13), 4, 5, 12, 13); \
	PAIR(KERNEL, LATER, 0, R25, R6, (F6, F7), (F14, F15), 6, 7, 14, 15); \
	STORE8((F0, F1), (R6));                                              \
	STORE8((F2, F3), 32(R6));                                            \
	STORE8((F4, F5), 64(R6));                                            \
	STORE8((F6, F7), 96(R6))

#define FOUR_ROWS(KERNEL, FOUR, bytes, shift, fours, near, rows) \
	CMP  $bytes, R19;         \
	BNE  rows;                \
	CMP  $bytes, R9;          \
	BNE  rows;                \
	CBNZ R13, rows;           \
	SUBS $3, R12, R22;        \
	BLE  rows;                \
	MOVD R3, R20;             \
	MOVD $16, R21;            \
	LSL  R11, R21;            \
	PCALIGN $16;              \
fours: \
	LDPW (R20), (R5, R7);     \
	LDPW 8(R20), (R24, R25);  \
	CBZ  R11, 3(PC);          \
	LDP  (R20), (R5, R7);     \
	LDP  16(R20), (R24, R25); \
	CMP  R10, R5;             \
	CCMP LO, R7, R10, $2;     \
	CCMP LO, R24, R10, $2;    \
	CCMP LO, R25, R10, $2;    \
	BHS  near;                \
	ADD  R5<<shift, R2, R5;   \
	ADD  R7<<shift, R2, R7;   \
	ADD  R24<<shift, R2, R24; \
	ADD  R25<<shift, R2, R25; \
	FOUR(KERNEL);             \
	ADD  R21, R20;            \
	ADD  $(4*bytes), R6;      \
	ADD  $4, R4;              \
	CMP  R22, R4;             \
	BLT  fours;               \
	CMP  R12, R4;             \
	BLT  near;                \
	B    done;                \
rows:

#define NO_FOURS(KERNEL, FOUR, bytes, shift, fours, near, rows)

#define SHORT_ROWS(KERNEL, LEFT, RIGHT, FOURS, FIRST, BETWEEN, NEXT) \
	CMP  $32, R15;                                     \
	BGT  row;                                          \
	MOVD R1, R6;                                       \
	CMP  R12, R14;                                     \
	CSEL GT, R12, R14, R14;                            \
	LSL  $2, R15, R8;                                  \
	SUB  $4, R8, R15;                                  \
	CMP  $96, R8;                                      \
	BGT  upTo32;                                       \
	CMP  $64, R8;                                      \
	BGT  upTo24;                                       \
	CMP  $32, R8;                                      \
	BGT  upTo16;                                       \
	BEQ  eight;                                        \
	CMP  $16, R8;                                      \
	BGT  upTo7;                                        \
	BEQ  four;                                         \
	CMP  $4, R8;                                       \
	BGT  upTo3;                                        \
	FOURS(KERNEL, FOUR1, 4, 2, fours1, near1, rows1);  \
	SHORT_LOOPS(KERNEL, BODY1, LEFT, RIGHT, FIRST, BETWEEN, NEXT, LINES2, far1, near1); \
upTo3: \
	SUB  $8, R8;                                       \
	FOURS(KERNEL, FOUR2, 8, 3, fours2, near3, rows2);  \
	SHORT_LOOPS(KERNEL, BODY3, LEFT, RIGHT, FIRST, BETWEEN, NEXT, LINES2, far3, near3); \
four: \
	FOURS(KERNEL, FOUR4, 16, 4, fours4, near4, rows4); \
	SHORT_LOOPS(KERNEL, BODY4, LEFT, RIGHT, FIRST, BETWEEN, NEXT, LINES2, far4, near4); \
upTo7: \
	SUB  $16, R8;                                      \
	SHORT_LOOPS(KERNEL, BODY7, LEFT, RIGHT, FIRST, BETWEEN, NEXT, LINES2, far7, near7); \
eight: \
	FOURS(KERNEL, FOUR8, 32, 5, fours8, near8, rows8); \
	SHORT_LOOPS(KERNEL, BODY8, LEFT, RIGHT, FIRST, BETWEEN, NEXT, LINES2, far8, near8); \
upTo16: \
	SUB  $32, R8;                                      \
	SHORT_LOOPS(KERNEL, BODY16, LEFT, RIGHT, FIRST, BETWEEN, NEXT, LINES2, far16, near16); \
upTo24: \
	SUB  $32, R8;                                      \
	SHORT_LOOPS(KERNEL, BODY24, LEFT, RIGHT, FIRST, BETWEEN, NEXT, LINES3, far24, near24); \
upTo32: \
	SUB  $64, R8;                                      \
	SHORT_LOOPS(KERNEL, BODY32, LEFT, RIGHT, FIRST, BETWEEN, NEXT, LINES3, far32, near32)

// ROWS_NEON and EMBED_ROWS are all of a kernel but its result.

#define ROWS_NEON(KERNEL, LEFT, RIGHT, FOURS, TAIL) \
	ROWS_BEGIN;                                                        \
	SHORT_ROWS(KERNEL, LEFT, RIGHT, FOURS, NOTHING, NOTHING, NOTHING); \
	PCALIGN $16;                                                       \
row: \
	ROW;                                                               \
	COLUMNS(KERNEL, STEP, TAIL, R15);                                  \
	ROWS_END

// func fetchRowsNEON(table *float32, stride uintptr, ids unsafe.Pointer, wide uint64, n, bytes int)
// for _, id := range ids[:n] { prefetch(table[id][:bytes]) }, longBurst bytes of each row at a time
// R15 are the bytes left of each row, R13 those to prefetch now.
TEXT ·fetchRowsNEON(SB), NOSPLIT, $0-48
	MOVD table+0(FP), R2
	MOVD stride+8(FP), R9
	MOVD ids+16(FP), R3
	MOVD wide+24(FP), R11
	MOVD n+32(FP), R12
	MOVD bytes+40(FP), R15
piece:
	MOVD $const_longBurst, R13
	CMP  R13, R15
	CSEL LT, R15, R13, R13
	MOVD ZR, R4
row:
	ID(R3, R11, R4, R5)
	ROW_AHEAD(R9, R2, R5, R5)
	MOVD R13, R24
	LINES(R5, R24, line)
	ADD  $1, R4
	CMP  R12, R4
	BLT  row
	ADD  $const_longBurst, R2
	SUBS $const_longBurst, R15
	BGT  piece
	RET

// func gatherNEON(a *rowArgs) (done int)
// for i, id := range ids { copy(linear[i], table[id]) }
TEXT ·gatherNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_NEON(GATHER, R6, R25, FOUR_ROWS, OVERLAP)
	MOVD R4, done+8(FP)
	RET

// func gatherScaledNEON(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] }
TEXT ·gatherScaledNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_NEON(GATHER_SCALED, R6, R25, FOUR_ROWS, OVERLAP)
	MOVD R4, done+8(FP)
	RET

// func gatherSumNEON(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = 0 + table[id] }
TEXT ·gatherSumNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_NEON(GATHER_SUM, R6, R25, FOUR_ROWS, OVERLAP)
	MOVD R4, done+8(FP)
	RET

// func scatterAddNEON(a *rowArgs) (done int)
// for i, id := range ids { table[id] += scale * linear[i] }
TEXT ·scatterAddNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_NEON(ADD_SCALED, R5, R24, NO_FOURS, TAIL)
	MOVD R4, done+8(FP)
	RET

// func embedNEON(a *rowArgs) (done int)
// for i, id := range ids { linear[i] = scale * table[id] + positions[p(i)] }
TEXT ·embedNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_BEGIN
	POSITIONS_BEGIN
	SHORT_ROWS(EMBED, R6, R25, NO_FOURS, POSITION, POSITION_RIGHT, POSITION_NEXT)
row:
	ROW
	POSITION
	COLUMNS(EMBED, STEP_POSITIONS, TAIL, R15)
	POSITION_NEXT
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// func bagMaxBackwardNEON(a *rowArgs) (done int)
// for i, id := range ids { for j, x := range table[id] { linear[i][j], left[i][j] = left[i][j], 0, or 0 if x != maxima[i][j] } }
TEXT ·bagMaxBackwardNEON(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	ROWS_BEGIN
	POSITIONS_BEGIN
row:
	ROW
	POSITION
	MOVD rowArgs_left(R0), R20
	ADD  R7, R20
	COLUMNS(TERM, STEP_LEFT, TAIL, R15)
	ROWS_END
	MOVD R4, done+8(FP)
	RET

// func addScaledNEON(dst, src *float32, n int, alpha float32)
// for i, x := range src { dst[i] += alpha * x }
TEXT ·addScaledNEON(SB), NOSPLIT, $0-28
	MOVD  dst+0(FP), R5
	MOVD  src+8(FP), R6
	MOVD  n+16(FP), R8
	MOVWU alpha+24(FP), R24
	VDUP  R24, V31.S4
	COLUMNS(ADD_SCALED, STEP, TAIL, R8)
	RET

// func scaleRowNEON(dst, src *float32, n int, scale float32)
// for i, x := range src { dst[i] = scale * x }
TEXT ·scaleRowNEON(SB), NOSPLIT, $0-28
	MOVD  dst+0(FP), R6
	MOVD  src+8(FP), R5
	MOVD  n+16(FP), R8
	MOVWU scale+24(FP), R24
	VDUP  R24, V31.S4
	COLUMNS(GATHER_SCALED, STEP, TAIL, R8)
	RET

// func embedRowNEON(dst, src, positions *float32, n int, scale float32)
// for i, x := range src { dst[i] = scale * x + positions[i] }
TEXT ·embedRowNEON(SB), NOSPLIT, $0-36
	MOVD  dst+0(FP), R6
	MOVD  src+8(FP), R5
	MOVD  positions+16(FP), R7
	MOVD  n+24(FP), R8
	MOVWU scale+32(FP), R24
	VDUP  R24, V31.S4
	COLUMNS(EMBED, STEP_POSITIONS, TAIL, R8)
	RET

// AddBatches walks the rows of batchArgs, and each row from left to right; for each block, pair, vector or part of one
// it adds up all batches in registers.
//
// Registers:
//	R0   arguments                       R7   in the row of the current batch
//	R1   row of dst                      R8   columns left
//	R2   the row of src in batch 0       R9   batches left
//	R3   rows left                       R10  batches
//	R4   bytes between batches           R11  columns
//	R5   in the row of dst               R12  bytes between rows of dst
//	R6   in the row of src in batch 0    R13  bytes between rows of src

// SUM adds the same part of the row in all batches to registers x; ADDS adds registers y to x.
#define SUM(LOAD, STORE, size, x, y, ADDS, loop) \
	LOAD  (R5), x; \
	MOVD  R6, R7;  \
	MOVD  R10, R9; \
loop: \
	LOAD  (R7), y; \
	ADDS;          \
	ADD   R4, R7;  \
	SUBS  $1, R9;  \
	BNE   loop;    \
	STORE x, (R5); \
	STEP($size)

// func addBatchesNEON(a *batchArgs)
// for p := range dst { for b := range batches { dst[p] += src[b*len(dst)+p] } }
TEXT ·addBatchesNEON(SB), NOSPLIT, $0-8
	MOVD a+0(FP), R0
	MOVD batchArgs_dst(R0), R1
	MOVD batchArgs_src(R0), R2
	MOVD batchArgs_rows(R0), R3
	MOVD batchArgs_batchStride(R0), R4
	MOVD batchArgs_batches(R0), R10
	MOVD batchArgs_cols(R0), R11
	MOVD batchArgs_dstStride(R0), R12
	MOVD batchArgs_srcStride(R0), R13
row:
	MOVD R1, R5
	MOVD R2, R6
	SUBS $32, R11, R8
	BLT  pairs
block:
	FLDPQ 0(R5), (F0, F1)
	FLDPQ 32(R5), (F2, F3)
	FLDPQ 64(R5), (F4, F5)
	FLDPQ 96(R5), (F6, F7)
	MOVD  R6, R7
	MOVD  R10, R9
	PCALIGN $32
sumBlock:
	FLDPQ 0(R7), (F8, F9)
	FLDPQ 32(R7), (F10, F11)
	FLDPQ 64(R7), (F12, F13)
	FLDPQ 96(R7), (F14, F15)
	VFADD4S(8, 0, 0)
	VFADD4S(9, 1, 1)
	VFADD4S(10, 2, 2)
	VFADD4S(11, 3, 3)
	VFADD4S(12, 4, 4)
	VFADD4S(13, 5, 5)
	VFADD4S(14, 6, 6)
	VFADD4S(15, 7, 7)
	ADD   R4, R7
	SUBS  $1, R9
	BNE   sumBlock
	FSTPQ (F0, F1), 0(R5)
	FSTPQ (F2, F3), 32(R5)
	FSTPQ (F4, F5), 64(R5)
	FSTPQ (F6, F7), 96(R5)
	STEP($128)
	SUBS $32, R8
	BGE  block
pairs:
	ADDS $24, R8
	BLT  tail
pair:
	SUM(FLDPQ, FSTPQ, 32, (F0, F1), (F2, F3), SUM_PAIR(0, 1, 2, 3), sumPair)
	SUBS $8, R8
	BGE  pair
tail:
	TST  $7, R8
	BEQ  rowDone
	TBZ  $2, R8, two
	SUM(FMOVQ, FMOVQ, 16, F0, F1, VFADD4S(1, 0, 0), sumFour)
two:
	TBZ  $1, R8, one
	SUM(FMOVD, FMOVD, 8, F0, F1, VFADD4S(1, 0, 0), sumTwo)
one:
	TBZ  $0, R8, rowDone
	SUM(FMOVS, FMOVS, 4, F0, F1, VFADD4S(1, 0, 0), sumOne)
rowDone:
	ADD  R12, R1
	ADD  R13, R2
	SUBS $1, R3
	BNE  row
	RET

// The checks of ids go from left to right in blocks of four vectors, single vectors, and a tail of one id at a time.
// They keep what each comparison has found, and look at it once at the end.

// IDS_BELOW works on lanes ids at a time, each of size bytes, which LOAD moves and COMPARE compares; R0 is ids, R1
// their number, R2 and V31 the limit. It ends with 1 in R3 if all are below, and with 0 otherwise.
#define IDS_BELOW(LOAD, COMPARE, size, lanes) \
	VEOR V0.B16, V0.B16, V0.B16; \
	VEOR V1.B16, V1.B16, V1.B16; \
	SUBS $(4*lanes), R1;         \
	BLT  vectors;                \
	PCALIGN $32;                 \
block: \
	FLDPQ (R0), (F2, F3);        \
	FLDPQ 32(R0), (F4, F5);      \
	COMPARE(31, 2, 2);           \
	COMPARE(31, 3, 3);           \
	COMPARE(31, 4, 4);           \
	COMPARE(31, 5, 5);           \
	VORR V3.B16, V2.B16, V2.B16; \
	VORR V5.B16, V4.B16, V4.B16; \
	VORR V2.B16, V0.B16, V0.B16; \
	VORR V4.B16, V1.B16, V1.B16; \
	ADD  $64, R0;                \
	SUBS $(4*lanes), R1;         \
	BGE  block;                  \
vectors: \
	ADDS $(3*lanes), R1;         \
	BLT  found;                  \
vector: \
	FMOVQ (R0), F2;              \
	COMPARE(31, 2, 2);           \
	VORR V2.B16, V0.B16, V0.B16; \
	ADD  $16, R0;                \
	SUBS $lanes, R1;             \
	BGE  vector;                 \
found: \
	VORR V1.B16, V0.B16, V0.B16; \
	VMOV V0.D[0], R3;            \
	VMOV V0.D[1], R4;            \
	ORR  R4, R3;                 \
	ADDS $lanes, R1;             \
	BEQ  done;                   \
tail: \
	LOAD (R0), R4;               \
	CMP  R2, R4;                 \
	CSET HS, R4;                 \
	ORR  R4, R3;                 \
	ADD  $size, R0;              \
	SUBS $1, R1;                 \
	BNE  tail;                   \
done: \
	CMP  $0, R3;                 \
	CSET EQ, R3

// func ids32BelowNEON(ids unsafe.Pointer, n int, limit uint32) (ok bool)
// for _, id := range ids { if id >= limit { return false } }; return true
TEXT ·ids32BelowNEON(SB), NOSPLIT, $0-25
	MOVD  ids+0(FP), R0
	MOVD  n+8(FP), R1
	MOVWU limit+16(FP), R2
	VDUP  R2, V31.S4
	IDS_BELOW(MOVWU, VCMHS4S, 4, 4)
	MOVB  R3, ok+24(FP)
	RET

// func ids64BelowNEON(ids unsafe.Pointer, n int, limit uint64) (ok bool)
// for _, id := range ids { if id >= limit { return false } }; return true
TEXT ·ids64BelowNEON(SB), NOSPLIT, $0-25
	MOVD ids+0(FP), R0
	MOVD n+8(FP), R1
	MOVD limit+16(FP), R2
	VDUP R2, V31.D2
	IDS_BELOW(MOVD, VCMHS2D, 8, 2)
	MOVB R3, ok+24(FP)
	RET
