//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_arm64.h"

// Sinusoids goes from left to right in groups of 16 columns, then of 4, a pair and a single one, and down the rows of each
// with its state in registers, first without results and then with them, two rows at a time: x and y change places with
// each.
//
// Registers:
//	R0   arguments                       R5   row 0 of dst
//	R1   x                               R6   row of dst
//	R2   y                               R7   bytes between rows of dst
//	R3   c                               R8   steps left of a group
//	R4   columns left
//	V0-V7 x, V8-V15 y, V16-V23 c, V24-V31 for a moment

// In what follows x and y are the numbers of their first registers, 0 and 8, or the other way round. STEP sets pair n of x
// to what comes behind that of y.

#define STEP(n, x, y) \
	VFMUL2D(16+n, y+n, 24+n); \
	VFSUB2D(x+n, 24+n, x+n)

#define SWAP(x, y, t) \
	VMOV x.B16, t.B16; \
	VMOV y.B16, x.B16; \
	VMOV t.B16, y.B16

// DOWN does a group of columns: STEPS and SWAPS are STEP and SWAP of each of its pairs, PUT stores their results.
#define DOWN(LOAD, STEPS, SWAPS, PUT, SAVE, skips, skip, first, rows, row, last) \
	LOAD;                            \
	MOVD sinusoidArgs_skip(R0), R8;  \
	TBZ  $0, R8, skips;              \
	STEPS(0, 8);                     \
	SWAPS;                           \
skips: \
	SUBS $2, R8;                     \
	BLT  first;                      \
skip: \
	STEPS(0, 8);                     \
	STEPS(8, 0);                     \
	SUBS $2, R8;                     \
	BGE  skip;                       \
first: \
	MOVD R5, R6;                     \
	MOVD sinusoidArgs_rows(R0), R8;  \
	TBZ  $0, R8, rows;               \
	PUT(0);                          \
	ADD  R7, R6;                     \
	STEPS(0, 8);                     \
	SWAPS;                           \
rows: \
	SUBS $2, R8;                     \
	BLT  last;                       \
	PCALIGN $16;                     \
row: \
	PUT(0);                          \
	ADD  R7, R6;                     \
	STEPS(0, 8);                     \
	PUT(8);                          \
	ADD  R7, R6;                     \
	STEPS(8, 0);                     \
	SUBS $2, R8;                     \
	BGE  row;                        \
last: \
	SAVE

// NEXT goes on behind a group of columns.
#define NEXT(columns) \
	ADD $(4*columns), R5; \
	ADD $(8*columns), R1; \
	ADD $(8*columns), R2; \
	ADD $(8*columns), R3; \
	SUB $columns, R4

// 16 columns

#define LOAD_16 \
	FLDPQ (R1), (F0, F1);     \
	FLDPQ 32(R1), (F2, F3);   \
	FLDPQ 64(R1), (F4, F5);   \
	FLDPQ 96(R1), (F6, F7);   \
	FLDPQ (R2), (F8, F9);     \
	FLDPQ 32(R2), (F10, F11); \
	FLDPQ 64(R2), (F12, F13); \
	FLDPQ 96(R2), (F14, F15); \
	FLDPQ (R3), (F16, F17);   \
	FLDPQ 32(R3), (F18, F19); \
	FLDPQ 64(R3), (F20, F21); \
	FLDPQ 96(R3), (F22, F23)

#define STEPS_16(x, y) \
	STEP(0, x, y); \
	STEP(1, x, y); \
	STEP(2, x, y); \
	STEP(3, x, y); \
	STEP(4, x, y); \
	STEP(5, x, y); \
	STEP(6, x, y); \
	STEP(7, x, y)

#define SWAPS_16 \
	SWAPS_4;           \
	SWAP(V2, V10, V26); \
	SWAP(V3, V11, V27); \
	SWAP(V4, V12, V28); \
	SWAP(V5, V13, V29); \
	SWAP(V6, V14, V30); \
	SWAP(V7, V15, V31)

#define PUT_16(x) \
	VFCVTN(x+0, 24);  \
	VFCVTN2(x+1, 24); \
	VFCVTN(x+2, 25);  \
	VFCVTN2(x+3, 25); \
	VFCVTN(x+4, 26);  \
	VFCVTN2(x+5, 26); \
	VFCVTN(x+6, 27);  \
	VFCVTN2(x+7, 27); \
	FSTPQ (F24, F25), (R6); \
	FSTPQ (F26, F27), 32(R6)

#define SAVE_16 \
	SAVE_4;                   \
	FSTPQ (F2, F3), 32(R1);   \
	FSTPQ (F4, F5), 64(R1);   \
	FSTPQ (F6, F7), 96(R1);   \
	FSTPQ (F10, F11), 32(R2); \
	FSTPQ (F12, F13), 64(R2); \
	FSTPQ (F14, F15), 96(R2)

// 4 columns

#define LOAD_4 \
	FLDPQ (R1), (F0, F1); \
	FLDPQ (R2), (F8, F9); \
	FLDPQ (R3), (F16, F17)

#define STEPS_4(x, y) \
	STEP(0, x, y); \
	STEP(1, x, y)

#define SWAPS_4 \
	SWAPS_1; \
	SWAP(V1, V9, V25)

#define PUT_4(x) \
	VFCVTN(x+0, 24);  \
	VFCVTN2(x+1, 24); \
	FMOVQ F24, (R6)

#define SAVE_4 \
	FSTPQ (F0, F1), (R1); \
	FSTPQ (F8, F9), (R2)

// A pair, and a single column in the lower half of one.

#define STEPS_1(x, y) STEP(0, x, y)

#define SWAPS_1 SWAP(V0, V8, V24)

#define LOAD_PAIR \
	FMOVQ (R1), F0; \
	FMOVQ (R2), F8; \
	FMOVQ (R3), F16

#define PUT_PAIR(x) \
	VFCVTN(x, 24); \
	FMOVD F24, (R6)

#define SAVE_PAIR \
	FMOVQ F0, (R1); \
	FMOVQ F8, (R2)

#define LOAD_SINGLE \
	FMOVD (R1), F0; \
	FMOVD (R2), F8; \
	FMOVD (R3), F16

#define PUT_SINGLE(x) \
	VFCVTN(x, 24); \
	FMOVS F24, (R6)

#define SAVE_SINGLE \
	FMOVD F0, (R1); \
	FMOVD F8, (R2)

// func sinusoidsNEON(a *sinusoidArgs)
// for i := -skip; i < rows; i++ { for j := range x { if i >= 0 { dst[i][j] = x[j] }; x[j], y[j] = y[j], c[j]*y[j] - x[j] } }
TEXT ·sinusoidsNEON(SB), NOSPLIT, $0-8
	MOVD a+0(FP), R0
	MOVD sinusoidArgs_x(R0), R1
	MOVD sinusoidArgs_y(R0), R2
	MOVD sinusoidArgs_c(R0), R3
	MOVD sinusoidArgs_cols(R0), R4
	MOVD sinusoidArgs_dst(R0), R5
	MOVD sinusoidArgs_stride(R0), R7
	CMP  $16, R4
	BLT  fours
sixteen:
	DOWN(LOAD_16, STEPS_16, SWAPS_16, PUT_16, SAVE_16, skips16, skip16, first16, rows16, row16, last16)
	NEXT(16)
	CMP  $16, R4
	BGE  sixteen
fours:
	CMP  $4, R4
	BLT  pair
four:
	DOWN(LOAD_4, STEPS_4, SWAPS_4, PUT_4, SAVE_4, skips4, skip4, first4, rows4, row4, last4)
	NEXT(4)
	CMP  $4, R4
	BGE  four
pair:
	TBZ  $1, R4, single
	DOWN(LOAD_PAIR, STEPS_1, SWAPS_1, PUT_PAIR, SAVE_PAIR, skips2, skip2, first2, rows2, row2, last2)
	NEXT(2)
single:
	TBZ  $0, R4, done
	DOWN(LOAD_SINGLE, STEPS_1, SWAPS_1, PUT_SINGLE, SAVE_SINGLE, skips1, skip1, first1, rows1, row1, last1)
done:
	RET
