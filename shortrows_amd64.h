// Loops over rows of up to endColumns. For each size of ids there are three, which have hardly a branch that is taken but their own: one
// prefetches rows, as long as there are ids ahead, one also the line of their last column, where they may straddle one more, and the third does
// what is left, and all of tables that sit in cache. FIRST finds what belongs to a row but for the row itself, and NEXT goes on with the next.
//
// On a Zen 3, times of one loop for both, that asks for each row whether there is one line more, over those of two, and of 64 and 128 columns of
// one that asks how wide an id is and whether there are ids ahead, too, 2,048 uniform ids, medians of 3 processes that alternate the two:
//
//	table              gather  scatter-add  embed            table              gather  scatter-add  embed
//	   50,257 x 4      1.15    1.11         1.13                50,257 x 64     1.10    1.17         1.11
//	   50,257 x 8      1.14    1.09         1.13                 1,000 x 64     1.02    1.10         1.03
//	   50,257 x 16     1.07    1.07         1.07                10,000 x 64     1.04    1.05         1.03
//	1,000,000 x 16     0.96    1.02         1.04             1,000,000 x 64     1.07    1.05         1.03
//	   50,257 x 32     1.03    1.04         1.04                10,000 x 128    1.02    1.04         1.03
//	1,000,000 x 32     1.06    1.06         1.10             1,000,000 x 128    1.01    1.05         1.04
//
// Registers: AX ids of rows to prefetch, R10 for a moment, CX bytes from the left vectors of a row to the right ones, or of the row, DX
// zero, R11 stride of linear rows or row of positions, R12 limit of ids, R13 stride of the table; others are those of rows_amd64.h.

#define SHORT_BEGIN(BEGIN) \
	BEGIN;                             \
	MOVQ rowArgs_limit(BX), R12;       \
	MOVQ rowArgs_tableStride(BX), R13; \
	XORL DX, DX;                       \
	LEAQ (AX*4), CX

#define SHORT_ROW(KERNEL, BODY, OUT, FIRST, NEXT, rows) \
	CMPQ  R10, R12;    \
	JAE   done;        \
	IMULQ R13, R10;    \
	ADDQ  SI, R10;     \
	FIRST;             \
	BODY(KERNEL, OUT); \
	NEXT;              \
	INCQ  R9;          \
	CMPQ  R9, rows

// SHORT_AHEAD prefetches the lines of the row with the id in R10, ASTRIDE_AHEAD that of its last byte, too, which is number CX+last.
#define SHORT_AHEAD(LINES, last) \
	IMULQ R13, R10; \
	ADDQ  SI, R10;  \
	LINES(R10)

#define ASTRIDE_AHEAD(LINES, last) \
	SHORT_AHEAD(LINES, last); \
	PREFETCH last(R10)(CX*1)

#define SHORT_LOOP(KERNEL, BODY, OUT, FIRST, NEXT, SIZE, rows, loop) \
	SIZE(R8, 0);                                     \
	SHORT_ROW(KERNEL, BODY, OUT, FIRST, NEXT, rows); \
	JLT   loop

#define FAR_LOOP(KERNEL, BODY, OUT, FIRST, NEXT, SIZE, AHEAD, LINES, last, far, near) \
far: \
	SIZE(AX, 0);                                                           \
	AHEAD(LINES, last);                                                    \
	SHORT_LOOP(KERNEL, BODY, OUT, FIRST, NEXT, SIZE, rowArgs_far(BX), far); \
	JMP   near

#define SHORT_LOOPS(KERNEL, BODY, OUT, FIRST, NEXT, LINES, last, farNarrow, farWide, astride, astrideNarrow, astrideWide, near, narrow, wide) \
	MOVQ  rowArgs_ahead(BX), R10;               \
	TESTQ R10, R10;                             \
	JEQ   near;                                 \
	MOVQ  rowArgs_readable(BX), AX;             \
	SUBQ  R10, AX;                              \
	JLE   near;                                 \
	CMPQ  AX, rowArgs_n(BX);                    \
	CMOVQGT rowArgs_n(BX), AX;                  \
	MOVQ  AX, rowArgs_far(BX);                  \
	LEAQ  (R8)(R10*4), AX;                      \
	CMPQ  rowArgs_wide(BX), $0;                 \
	JEQ   2(PC);                                \
	LEAQ  (R8)(R10*8), AX;                      \
	CMPB  rowArgs_straddle(BX), $0;             \
	JNE   astride;                              \
	CMPQ  rowArgs_wide(BX), $0;                 \
	JEQ   farNarrow;                            \
	FAR_LOOP(KERNEL, BODY, OUT, FIRST, NEXT, ID_WIDE, SHORT_AHEAD, LINES, last, farWide, near);         \
	FAR_LOOP(KERNEL, BODY, OUT, FIRST, NEXT, ID_NARROW, SHORT_AHEAD, LINES, last, farNarrow, near);     \
astride: \
	CMPQ  rowArgs_wide(BX), $0;                 \
	JEQ   astrideNarrow;                        \
	FAR_LOOP(KERNEL, BODY, OUT, FIRST, NEXT, ID_WIDE, ASTRIDE_AHEAD, LINES, last, astrideWide, near);     \
	FAR_LOOP(KERNEL, BODY, OUT, FIRST, NEXT, ID_NARROW, ASTRIDE_AHEAD, LINES, last, astrideNarrow, near); \
near: \
	CMPQ  R9, rowArgs_n(BX);                    \
	JGE   done;                                 \
	CMPQ  rowArgs_wide(BX), $0;                 \
	JNE   wide;                                 \
	PCALIGN $64;                                \
narrow: \
	SHORT_LOOP(KERNEL, BODY, OUT, FIRST, NEXT, ID_NARROW, rowArgs_n(BX), narrow); \
	JMP   done;                                 \
wide: \
	SHORT_LOOP(KERNEL, BODY, OUT, FIRST, NEXT, ID_WIDE, rowArgs_n(BX), wide); \
	JMP   done

// A line more is part of rows of more than 80 columns, and of 112, whose right vectors begin more than least bytes behind the left ones.
#define ONE_MORE(least, off, row) \
	CMPQ CX, $least; \
	JLE  2(PC);      \
	PREFETCH off(row)

#define LINES96(row) LINES5(row); ONE_MORE(192, 320, row)
#define LINES127(row) LINES7(row); ONE_MORE(320, 448, row)

// OVERLAP_ROWS does rows of 64 and 128 columns, which are whole vectors, with AVX2, and where rowArgs.overlap has it so others of 33 to 127: with
// four, eight or twelve vectors at the left end of a row, and two or four at its right, which overlap those, are computed first and stored last. The
// order of columns is that of MIXED.
//
// With AVX-512 a Zen 4 gains too little by loops for 64 and 128 columns: in three forms 0.85 to 1.02 of the time in caches, and 0.92 to 1.27 of 64
// columns beyond them.

#define FOUR_AT(KERNEL, off) \
	FOUR_VECTORS(KERNEL, VECTOR, off, 32, Y15, 2, 0, 3, 1, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
#define WHOLE64(KERNEL, OUT) FOUR_AT(KERNEL, 0); FOUR_AT(KERNEL, 128)
#define WHOLE128(KERNEL, OUT) WHOLE64(KERNEL, OUT); FOUR_AT(KERNEL, 256); FOUR_AT(KERNEL, 384)

#define RIGHT_TWO(KERNEL, off, v0, v1) \
	KERNEL(VECTOR, LATER, Y15, off, CX, v0, Y12);    \
	KERNEL(VECTOR, LATER, Y15, off+32, CX, v1, Y13)

#define PUT_RIGHT_TWO(OUT, off, v0, v1) \
	VMOVUPS v0, off(OUT)(CX*1); \
	VMOVUPS v1, off+32(OUT)(CX*1)

#define OVERLAP_TWO(KERNEL, OUT, LEFT) \
	RIGHT_TWO(KERNEL, 0, Y8, Y9); \
	LEFT;                         \
	PUT_RIGHT_TWO(OUT, 0, Y8, Y9)

#define OVERLAP_FOUR(KERNEL, OUT, LEFT) \
	RIGHT_TWO(KERNEL, 64, Y10, Y11);  \
	OVERLAP_TWO(KERNEL, OUT, LEFT);   \
	PUT_RIGHT_TWO(OUT, 64, Y10, Y11)

#define OVERLAP48(KERNEL, OUT) OVERLAP_TWO(KERNEL, OUT, FOUR_AT(KERNEL, 0))
#define OVERLAP63(KERNEL, OUT) OVERLAP_FOUR(KERNEL, OUT, FOUR_AT(KERNEL, 0))
#define OVERLAP96(KERNEL, OUT) OVERLAP_FOUR(KERNEL, OUT, WHOLE64(KERNEL, OUT))
#define OVERLAP127(KERNEL, OUT) OVERLAP_FOUR(KERNEL, OUT, WHOLE64(KERNEL, OUT); FOUR_AT(KERNEL, 256))

#define OVERLAP_ROWS(KERNEL, OUT, BEGIN, FIRST, NEXT) \
wider: \
	CMPQ AX, $64;                       \
	JEQ  overlap;                       \
	CMPQ AX, $128;                      \
	JEQ  overlap;                       \
	JGT  row;                           \
	CMPB rowArgs_overlap(BX), $0;       \
	JEQ  row;                           \
overlap: \
	SHORT_BEGIN(BEGIN);                 \
	CMPQ AX, $64;                       \
	JGT  wider64;                       \
	JEQ  whole64;                       \
	CMPQ AX, $48;                       \
	JGT  upTo63;                        \
	SUBQ $64, CX;                       \
	SHORT_LOOPS(KERNEL, OVERLAP48, OUT, FIRST, NEXT, LINES3, 63, farNarrow48, farWide48, astride48, astrideNarrow48, astrideWide48, near48, narrow48, wide48); \
upTo63: \
	SUBQ $128, CX;                      \
	SHORT_LOOPS(KERNEL, OVERLAP63, OUT, FIRST, NEXT, LINES4, 127, farNarrow63, farWide63, astride63, astrideNarrow63, astrideWide63, near63, narrow63, wide63); \
whole64: \
	SHORT_LOOPS(KERNEL, WHOLE64, OUT, FIRST, NEXT, LINES4, -1, farNarrow64, farWide64, astride64, astrideNarrow64, astrideWide64, near64, narrow64, wide64); \
wider64: \
	CMPQ AX, $128;                      \
	JEQ  whole128;                      \
	SUBQ $128, CX;                      \
	CMPQ AX, $96;                       \
	JGT  upTo127;                       \
	SHORT_LOOPS(KERNEL, OVERLAP96, OUT, FIRST, NEXT, LINES96, 127, farNarrow96, farWide96, astride96, astrideNarrow96, astrideWide96, near96, narrow96, wide96); \
upTo127: \
	SHORT_LOOPS(KERNEL, OVERLAP127, OUT, FIRST, NEXT, LINES127, 127, farNarrow127, farWide127, astride127, astrideNarrow127, astrideWide127, near127, narrow127, wide127); \
whole128: \
	SHORT_LOOPS(KERNEL, WHOLE128, OUT, FIRST, NEXT, LINES8, -1, farNarrow128, farWide128, astride128, astrideNarrow128, astrideWide128, near128, narrow128, wide128)
