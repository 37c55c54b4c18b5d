//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_arm64.h"

// Kernels of bags walk the rows of bagArgs by blocks of columns, from left to right, each block by the bags, and each bag
// by its ids, whose rows are added up in registers. Most of long rows is done before, with the sums in memory: LONG_BAGS.
//
// Registers:
//	R0   arguments                       R11  whether ids are wide
//	R1   block of the bag's row          R12  where the bags end
//	R2   block of row 0 of the table     R13  rows to prefetch ahead
//	R3   ids                             R14  ids that may be read
//	R4   number of the id                R15  bags
//	R5   block of the row                R19  bytes between rows of dst
//	R6   bytes of a row                  R20  weights
//	R7   where the bag ends              R21  where the last bag ends
//	R8   number of the bag               R22  columns, of long rows those left
//	R9   bytes between rows of the table R23  blocks left
//	R10  limit of ids                    R24, R25  for a moment
//	R16  bytes from the left vectors of a block to its right ones
//
// A block is sixteen vectors, 64 columns. What is left of the rows is one block: of as many columns where they are a power of two, and
// otherwise of vectors at either end, ENDS, which overlap. Instructions for an id of bags of 10 with a block for each bit of the
// number of columns and so, counted under qemu: 25 and 20 for 3 columns, 38 20 for 7, 26 22 for 12, 30 25 for 20, 69 28 for 31, 36 35 for
// 33, 37 35 for 40, 54 42 for 50, 93 42 for 63, 73 72 for 100, 130 79 for 127. No byte outside the rows is touched.

#define VFCMGT4S(m, n, d) WORD $(0x6EA0E400|(m)<<16|(n)<<5|(d)) // fcmgt v{d}.4s, v{n}.4s, v{m}.4s

// How two vectors, or a part of one, are moved: sums between registers and the bag's row, off bytes behind its beginning,
// or from the row of an id, which otherwise goes to x.

#define STAY(LOAD, STORE, off, sums, x)
#define RESUME(LOAD, STORE, off, sums, x) LOAD off(R1), sums
#define TAKE(LOAD, STORE, off, sums, x) LOAD off(R5), sums
#define FETCH(LOAD, STORE, off, sums, x) LOAD off(R5), x
#define FETCH_SECOND(LOAD, STORE, off, sums, x) LOAD off(R16), x
#define GO_ON(LOAD, STORE, off, sums, x) LOAD off(R6), sums
#define PUT(LOAD, STORE, off, sums, x) STORE sums, off(R1)

// What is done to one vector of sums, v, number n, with that of a row, x, number m. RAISE keeps what is there unless x is
// greater, also where one of them is a NaN or both are zeros.

#define KEEP(m, x, n, v)
#define CLEAR(m, x, n, v) VEOR v.B16, v.B16, v.B16
#define MASK(m, x, n, v) VAND V29.B16, v.B16, v.B16
#define PLUS(m, x, n, v) VFADD4S(m, n, n)
#define OVER(m, x, n, v) VFDIV4S(31, n, n)

#define PLUS_WEIGHTED(m, x, n, v) \
	VFMUL4S(30, m, m); \
	VFADD4S(m, n, n)

#define RAISE(m, x, n, v) \
	VFCMGT4S(n, m, 18); \
	VBIT V18.B16, x.B16, v.B16

// Blocks by their number of columns.

#define PAIR(MOVE, DO, off, sums, n0, v0, n1, v1) \
	MOVE(FLDPQ, FSTPQ, off, sums, (F16, F17)); \
	DO(16, V16, n0, v0);                       \
	DO(17, V17, n1, v1)

#define PART(MOVE, DO, MOV, sum, n, v) \
	MOVE(MOV, MOV, 0, sum, F16); \
	DO(16, V16, n, v)

#define COLS8(MOVE, DO) \
	PAIR(MOVE, DO, 0, (F0, F1), 0, V0, 1, V1)

#define COLS16(MOVE, DO) \
	COLS8(MOVE, DO);                            \
	PAIR(MOVE, DO, 32, (F2, F3), 2, V2, 3, V3)

#define COLS32(MOVE, DO) \
	COLS16(MOVE, DO);                           \
	PAIR(MOVE, DO, 64, (F4, F5), 4, V4, 5, V5); \
	PAIR(MOVE, DO, 96, (F6, F7), 6, V6, 7, V7)

#define COLS64(MOVE, DO) \
	COLS32(MOVE, DO);                                  \
	PAIR(MOVE, DO, 128, (F8, F9), 8, V8, 9, V9);       \
	PAIR(MOVE, DO, 160, (F10, F11), 10, V10, 11, V11); \
	PAIR(MOVE, DO, 192, (F12, F13), 12, V12, 13, V13); \
	PAIR(MOVE, DO, 224, (F14, F15), 14, V14, 15, V15)

#define COLS4(MOVE, DO) PART(MOVE, DO, FMOVQ, F0, 0, V0)
#define COLS2(MOVE, DO) PART(MOVE, DO, FMOVD, F0, 0, V0)
#define COLS1(MOVE, DO) PART(MOVE, DO, FMOVS, F0, 0, V0)

#define RIGHT4(MOVE, DO) PART(MOVE, DO, FMOVQ, F8, 8, V8)
#define RIGHT2(MOVE, DO) PART(MOVE, DO, FMOVD, F8, 8, V8)

#define RIGHT8(MOVE, DO) \
	PAIR(MOVE, DO, 0, (F8, F9), 8, V8, 9, V9)

#define RIGHT16(MOVE, DO) \
	RIGHT8(MOVE, DO);                                  \
	PAIR(MOVE, DO, 32, (F10, F11), 10, V10, 11, V11)

#define RIGHT32(MOVE, DO) \
	RIGHT16(MOVE, DO);                                 \
	PAIR(MOVE, DO, 64, (F12, F13), 12, V12, 13, V13);  \
	PAIR(MOVE, DO, 96, (F14, F15), 14, V14, 15, V15)

// RIGHT does what a block has at the right end, of the bag's row and of that in R5, which nobody needs behind it.
#define RIGHT(MOVE, DO, COLS) \
	ADD R16, R1;    \
	ADD R16, R5;    \
	COLS(MOVE, DO); \
	SUB R16, R1

#define ENDS4(MOVE, DO) COLS2(MOVE, DO); RIGHT(MOVE, DO, RIGHT2)
#define ENDS8(MOVE, DO) COLS4(MOVE, DO); RIGHT(MOVE, DO, RIGHT4)
#define ENDS16(MOVE, DO) COLS8(MOVE, DO); RIGHT(MOVE, DO, RIGHT8)
#define ENDS24(MOVE, DO) COLS16(MOVE, DO); RIGHT(MOVE, DO, RIGHT8)
#define ENDS32(MOVE, DO) COLS16(MOVE, DO); RIGHT(MOVE, DO, RIGHT16)
#define ENDS48(MOVE, DO) COLS32(MOVE, DO); RIGHT(MOVE, DO, RIGHT16)
#define ENDS64(MOVE, DO) COLS32(MOVE, DO); RIGHT(MOVE, DO, RIGHT32)

// BAG_ROW finds the row of the next id.
#define BAG_ROW(row) \
	ID(R3, R11, R4, row);  \
	CMP  R10, row;         \
	BHS  outside;          \
	MADD R9, R2, row, row

// How the sums of a block begin: with what is there from a part of the bag, or anew. START_MAXIMUM begins with the first
// row, which is then taken once more.

#define START_SUM(BLOCK, anew, start, store) \
	MOVBU bagArgs_partial(R0), R24; \
	CBZ   R24, anew;                \
	BLOCK(RESUME, KEEP);            \
	B     start;                    \
anew: \
	MOVD  R4, bagArgs_first(R0);    \
	BLOCK(STAY, CLEAR);             \
start: \
	CMP   R7, R4;                   \
	BGE   store

#define START_MAXIMUM(BLOCK, anew, start, store) \
	BLOCK(STAY, CLEAR);             \
	CMP   R7, R4;                   \
	BGE   store;                    \
	MOVD  R1, R5;                   \
	MOVBU bagArgs_partial(R0), R24; \
	CBNZ  R24, start;               \
	BAG_ROW(R5);                    \
start: \
	BLOCK(TAKE, KEEP)

// How they end: divided by the number of ids if that is asked for, or as they are.

#define END_SUM(BLOCK, store) \
	MOVBU  bagArgs_mean(R0), R24;  \
	CBZ    R24, store;             \
	NUMBER(R7);                    \
	BLOCK(STAY, OVER)

#define NUMBER(end) \
	MOVD   bagArgs_first(R0), R24; \
	SUB    R24, end, R24;          \
	SCVTFS R24, F31;               \
	VDUP   V31.S[0], V31.S4

#define END_PLAIN(BLOCK, store)

// The weight of an id, or nothing; and one that has been found before, for the rows to come.

#define WEIGHT(weight) \
	ADD   R4<<2, R20, R24;    \
	VLD1R (R24), [weight.S4]

#define NO_WEIGHT(weight)

#define USE(weight) VORR weight.B16, weight.B16, V30.B16
#define NO_USE(weight)

// BAG finds where a bag ends. NEXT_BAG goes on with the next one; behind the last, no id may be left.

#define BAG \
	MOVD (R12)(R8<<3), R7; \
	CMP  R4, R7;           \
	BLT  changed;          \
	CMP  R21, R7;          \
	BGT  changed

#define NEXT_BAG(bag) \
	ADD  R19, R1; \
	ADD  $1, R8;  \
	CMP  R15, R8; \
	BLT  bag;     \
	CMP  R21, R4; \
	BNE  changed

// BAGS does one block, size bytes wide, of all bags. The first block of a row prefetches all of it.
#define BAGS(BLOCK, size, START, FACTOR, TERM, END, bag, anew, start, walk, line, near, store) \
	MOVD bagArgs_table(R0), R24;       \
	MOVD bagArgs_dst(R0), R1;          \
	SUB  R24, R2, R24;                 \
	ADD  R24, R1;                      \
	MOVD bagArgs_next(R0), R4;         \
	MOVD ZR, R8;                       \
bag: \
	BAG;                               \
	START(BLOCK, anew, start, store);  \
walk: \
	CBZ  R13, near;                    \
	ADD  R13, R4, R24;                 \
	CMP  R14, R24;                     \
	BGE  near;                         \
	ID(R3, R11, R24, R25);             \
	ROW_AHEAD(R9, R2, R25, R25);       \
	MOVD R6, R24;                      \
	LINES(R25, R24, line);             \
near: \
	BAG_ROW(R5);                       \
	FACTOR(V30);                       \
	BLOCK(FETCH, TERM);                \
	ADD  $1, R4;                       \
	CMP  R7, R4;                       \
	BLT  walk;                         \
	END(BLOCK, store);                 \
store: \
	BLOCK(PUT, KEEP);                  \
	NEXT_BAG(bag);                     \
	ADD  $size, R2;                    \
	MOVD ZR, R13

// LONG_BAGS does what there is of long rows in spans of 32 columns, and leaves the rest to blocks: each bag row by row, or
// two rows at once, with the sums in the bag's row. By blocks, rows in no cache would be fetched piece by piece.
//
// Registers that differ:
//	R1   the bag's row                   R17, R25  rows to prefetch
//	R4   number of the next id           R23       bytes of the spans of a row
//	R5   row, or the first of two        V27, V28  weights
//	R6   from where the sums go on       V29       bits that are kept of where the sums go on
//	R16  the second row

#define ONE_ROW(USE, TERM) \
	COLS32(GO_ON, MASK); \
	USE(V27);            \
	COLS32(FETCH, TERM); \
	COLS32(PUT, KEEP)

#define TWO_ROWS(USE, TERM) \
	COLS32(GO_ON, MASK);        \
	USE(V27);                   \
	COLS32(FETCH, TERM);        \
	USE(V28);                   \
	COLS32(FETCH_SECOND, TERM); \
	COLS32(PUT, KEEP)

#define NO_ROW(USE, TERM) \
	COLS32(STAY, CLEAR); \
	COLS32(PUT, KEEP)

#define ROW_OVER(USE, TERM) \
	COLS32(RESUME, OVER); \
	COLS32(PUT, KEEP)

// ALONG does ROWS along the row of a bag and then goes back to its beginning. ALONG_AHEAD also prefetches one row or two, with
// what blocks will do.

#define SPANS(ROWS, USE, TERM) \
	ROWS(USE, TERM); \
	ADD  $128, R1;   \
	ADD  $128, R5;   \
	ADD  $128, R6;   \
	ADD  $128, R16;  \
	SUBS $128, R24

#define ALONG(ROWS, USE, TERM, along) \
	MOVD R23, R24;          \
along: \
	SPANS(ROWS, USE, TERM); \
	BGT  along;             \
	SUB  R23, R1

#define ALONG_AHEAD(LINES, ROWS, USE, TERM, along) \
	MOVD R23, R24;          \
along: \
	LINES;                  \
	SPANS(ROWS, USE, TERM); \
	BGT  along;             \
	SUB  R23, R1;           \
	TST  $31, R22;          \
	BEQ  longNext;          \
	LINES;                  \
	B    longNext

#define ONE_AHEAD \
	PRFM (R17), PLDL2KEEP; \
	ADD  $64, R17;         \
	PRFM (R17), PLDL2KEEP; \
	ADD  $64, R17

#define TWO_AHEAD \
	ONE_AHEAD;           \
	PRFM (R25), PLDL2KEEP; \
	ADD  $64, R25;         \
	PRFM (R25), PLDL2KEEP; \
	ADD  $64, R25

// LONG_ROW finds the row of the next id and its weight, LONG_ROW_AHEAD that of another one.

#define LONG_ROW(FACTOR, row, weight) \
	BAG_ROW(row);   \
	FACTOR(weight); \
	ADD  $1, R4

#define LONG_ROW_AHEAD(row) \
	ID(R3, R11, R24, row); \
	ROW_AHEAD(R9, R2, row, row)

// FROM finds where the sums go on: at the first row of a bag, and from then on in the bag's. Nothing is kept of a row that
// is still to be added, but all of one that is taken twice.

#define FROM \
	MOVW  bagArgs_keep(R0), R24; \
	CMP   $0, R24;               \
	CSEL  EQ, R5, R1, R6;        \
	MOVD  $-1, R25;              \
	MOVW  R25, bagArgs_keep(R0)

#define FROM_SUM \
	FROM;               \
	VDUP  R24, V29.S4

#define FROM_MAXIMUM \
	FROM;               \
	VDUP  R25, V29.S4

// LONG_AHEAD finds the row to prefetch for the last one that was found.
#define LONG_AHEAD(near) \
	ADD  R13, R4, R24; \
	SUB  $1, R24;      \
	CMP  R14, R24;     \
	BGE  near;         \
	LONG_ROW_AHEAD(R17)

#define END_LONG_SUM \
	MOVBU  bagArgs_mean(R0), R24;  \
	CBZ    R24, longStore;         \
	NUMBER(R4);                    \
	ALONG(ROW_OVER, NO_USE, PLUS, over)

#define END_LONG_PLAIN

#define LONG_BAGS(FACTOR, USE, BEGIN, TERM, END) \
	CMP   $128, R22;                \
	BLE   short;                    \
	CBZ   R13, short;               \
	MOVD  bagArgs_dst(R0), R1;      \
	MOVD  bagArgs_next(R0), R4;     \
	AND   $~31, R22, R23;           \
	LSL   $2, R23;                  \
	MOVD  ZR, R8;                   \
longBag: \
	BAG;                            \
	MOVBU bagArgs_partial(R0), R24; \
	NEG   R24, R24;                 \
	MOVW  R24, bagArgs_keep(R0);    \
	CBNZ  R24, longRows;            \
	MOVD  R4, bagArgs_first(R0);    \
longRows: \
	SUB   R4, R7, R24;              \
	CMP   $1, R24;                  \
	BEQ   longOne;                  \
	BLT   longNone;                 \
	LONG_ROW(FACTOR, R5, V27);      \
	LONG_ROW(FACTOR, R16, V28);     \
	BEGIN;                          \
	LONG_AHEAD(twoNear);            \
	SUB   $1, R24;                  \
	LONG_ROW_AHEAD(R25);            \
	ALONG_AHEAD(TWO_AHEAD, TWO_ROWS, USE, TERM, twoAhead); \
twoNear: \
	ALONG(TWO_ROWS, USE, TERM, twoRows); \
	B     longNext;                 \
longOne: \
	LONG_ROW(FACTOR, R5, V27);      \
	BEGIN;                          \
	LONG_AHEAD(oneNear);            \
	ALONG_AHEAD(ONE_AHEAD, ONE_ROW, USE, TERM, oneAhead); \
oneNear: \
	ALONG(ONE_ROW, USE, TERM, oneRow); \
longNext: \
	CMP   R4, R7;                   \
	BGT   longRows;                 \
	END;                            \
	B     longStore;                \
longNone: \
	ALONG(NO_ROW, USE, TERM, noRow); \
longStore: \
	NEXT_BAG(longBag);              \
	ADD   R23, R2;                  \
	AND   $31, R22;                 \
	MOVD  ZR, R13;                  \
short:

// ENDS_BEGIN finds where the right vectors of a block begin, bytes wide.
#define ENDS_BEGIN(bytes) \
	LSL $2, R23, R16; \
	SUB $bytes, R16

// ALL_BAGS leaves in R24 whether all went well.
#define ALL_BAGS(START, FACTOR, TERM, END, USE, BEGIN, END_LONG) \
	MOVD bagArgs_table(R0), R2;        \
	MOVD bagArgs_ids(R0), R3;          \
	MOVD bagArgs_tableStride(R0), R9;  \
	MOVD bagArgs_limit(R0), R10;       \
	MOVD bagArgs_wide(R0), R11;        \
	MOVD bagArgs_offsets(R0), R12;     \
	MOVD bagArgs_ahead(R0), R13;       \
	MOVD bagArgs_readable(R0), R14;    \
	MOVD bagArgs_bags(R0), R15;        \
	MOVD bagArgs_dstStride(R0), R19;   \
	MOVD bagArgs_weights(R0), R20;     \
	MOVD bagArgs_stop(R0), R21;        \
	MOVD bagArgs_cols(R0), R22;        \
	LONG_BAGS(FACTOR, USE, BEGIN, TERM, END_LONG); \
	LSL  $2, R22, R6;                  \
	LSR  $6, R22, R23;                 \
	CBZ  R23, rest;                    \
cols64: \
	BAGS(COLS64, 256, START, FACTOR, TERM, END, bag64, anew64, start64, walk64, line64, near64, store64); \
	SUBS $1, R23;                      \
	BNE  cols64;                       \
rest: \
	AND  $63, R22, R23;                \
	SUB  $1, R23, R24;                 \
	TST  R23, R24;                     \
	BEQ  cols32;                       \
	CMP  $48, R23;                     \
	BGT  ends64;                       \
	CMP  $32, R23;                     \
	BGT  ends48;                       \
	CMP  $24, R23;                     \
	BGT  ends32;                       \
	CMP  $16, R23;                     \
	BGT  ends24;                       \
	CMP  $8, R23;                      \
	BGT  ends16;                       \
	CMP  $4, R23;                      \
	BGT  ends8;                        \
	ENDS_BEGIN(8);                     \
	BAGS(ENDS4, 8, START, FACTOR, TERM, END, bag4E, anew4E, start4E, walk4E, line4E, near4E, store4E); \
	B    done;                         \
ends8: \
	ENDS_BEGIN(16);                    \
	BAGS(ENDS8, 16, START, FACTOR, TERM, END, bag8E, anew8E, start8E, walk8E, line8E, near8E, store8E); \
	B    done;                         \
ends16: \
	ENDS_BEGIN(32);                    \
	BAGS(ENDS16, 32, START, FACTOR, TERM, END, bag16E, anew16E, start16E, walk16E, line16E, near16E, store16E); \
	B    done;                         \
ends24: \
	ENDS_BEGIN(32);                    \
	BAGS(ENDS24, 64, START, FACTOR, TERM, END, bag24E, anew24E, start24E, walk24E, line24E, near24E, store24E); \
	B    done;                         \
ends32: \
	ENDS_BEGIN(64);                    \
	BAGS(ENDS32, 64, START, FACTOR, TERM, END, bag32E, anew32E, start32E, walk32E, line32E, near32E, store32E); \
	B    done;                         \
ends48: \
	ENDS_BEGIN(64);                    \
	BAGS(ENDS48, 128, START, FACTOR, TERM, END, bag48E, anew48E, start48E, walk48E, line48E, near48E, store48E); \
	B    done;                         \
ends64: \
	ENDS_BEGIN(128);                   \
	BAGS(ENDS64, 128, START, FACTOR, TERM, END, bag64E, anew64E, start64E, walk64E, line64E, near64E, store64E); \
	B    done;                         \
cols32: \
	TBZ  $5, R22, cols16;              \
	BAGS(COLS32, 128, START, FACTOR, TERM, END, bag32, anew32, start32, walk32, line32, near32, store32); \
cols16: \
	TBZ  $4, R22, cols8;               \
	BAGS(COLS16, 64, START, FACTOR, TERM, END, bag16, anew16, start16, walk16, line16, near16, store16); \
cols8: \
	TBZ  $3, R22, cols4;               \
	BAGS(COLS8, 32, START, FACTOR, TERM, END, bag8, anew8, start8, walk8, line8, near8, store8); \
cols4: \
	TBZ  $2, R22, cols2;               \
	BAGS(COLS4, 16, START, FACTOR, TERM, END, bag4, anew4, start4, walk4, line4, near4, store4); \
cols2: \
	TBZ  $1, R22, cols1;               \
	BAGS(COLS2, 8, START, FACTOR, TERM, END, bag2, anew2, start2, walk2, line2, near2, store2); \
cols1: \
	TBZ  $0, R22, done;                \
	BAGS(COLS1, 4, START, FACTOR, TERM, END, bag1, anew1, start1, walk1, line1, near1, store1); \
done: \
	MOVD $1, R24;                      \
	B    end;                          \
changed: \
	MOVD $-1, R4;                      \
outside: \
	MOVD R4, bagArgs_next(R0);         \
	MOVD ZR, R24;                      \
end:

// func bagSumNEON(a *bagArgs) (ok bool)
// for b, bag := range bags { for _, id := range bag { dst[b] += table[id] }; if mean { dst[b] /= len(bag) } }
TEXT ·bagSumNEON(SB), NOSPLIT, $0-9
	MOVD a+0(FP), R0
	ALL_BAGS(START_SUM, NO_WEIGHT, PLUS, END_SUM, NO_USE, FROM_SUM, END_LONG_SUM)
	MOVB R24, ok+8(FP)
	RET

// func bagWeightedNEON(a *bagArgs) (ok bool)
// for b, bag := range bags { for i, id := range bag { dst[b] += weights[i] * table[id] } }
TEXT ·bagWeightedNEON(SB), NOSPLIT, $0-9
	MOVD a+0(FP), R0
	ALL_BAGS(START_SUM, WEIGHT, PLUS_WEIGHTED, END_PLAIN, USE, FROM_SUM, END_LONG_PLAIN)
	MOVB R24, ok+8(FP)
	RET

// func bagMaxNEON(a *bagArgs) (ok bool)
// for b, bag := range bags { for _, id := range bag { if table[id] > dst[b] { dst[b] = table[id] } } }
TEXT ·bagMaxNEON(SB), NOSPLIT, $0-9
	MOVD a+0(FP), R0
	ALL_BAGS(START_MAXIMUM, NO_WEIGHT, RAISE, END_PLAIN, NO_USE, FROM_MAXIMUM, END_LONG_PLAIN)
	MOVB R24, ok+8(FP)
	RET
