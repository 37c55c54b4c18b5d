//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "rows_amd64.h"

// What a call of few ids takes, and checks of any number of ids: ids are checked, rows prefetched and copied, one or several. The registers of each
// are said in front of it; what is left of a row of less than a vector is done in parts with AVX2 (TAIL_AVX2), and of a longer one as a vector that
// ends with it.

// The checks of ids go from left to right in blocks of four vectors, single vectors, and a tail: one id at a time with
// AVX2, one masked vector with AVX-512. They keep the largest id seen, or its like, and look at it once at the end.
//
// Registers with AVX2: SI ids, CX ids left, AX limit.

// func ids32BelowAVX2(ids unsafe.Pointer, n int, limit uint32) (ok bool)
// for _, id := range ids { if id >= limit { return false } }; return true
TEXT ·ids32BelowAVX2(SB), NOSPLIT, $0-25
	MOVQ ids+0(FP), SI
	MOVQ n+8(FP), CX
	MOVL limit+16(FP), AX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	SUBQ $32, CX
	JLT  vectors
	PCALIGN $64
block:
	VPMAXUD (SI), Y0, Y0
	VPMAXUD 32(SI), Y1, Y1
	VPMAXUD 64(SI), Y0, Y0
	VPMAXUD 96(SI), Y1, Y1
	ADDQ $128, SI
	SUBQ $32, CX
	JGE  block
vectors:
	ADDQ $24, CX
	JLT  largest
vector:
	VPMAXUD (SI), Y0, Y0
	ADDQ $32, SI
	SUBQ $8, CX
	JGE  vector
largest:
	VPMAXUD Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPMAXUD X1, X0, X0
	VPSHUFD $0x4E, X0, X1
	VPMAXUD X1, X0, X0
	VPSHUFD $0xB1, X0, X1
	VPMAXUD X1, X0, X0
	VMOVD X0, DX
	VZEROUPPER
	ADDQ $8, CX
	JEQ  done
tail:
	MOVL (SI), R8
	CMPL R8, DX
	CMOVLHI R8, DX
	ADDQ $4, SI
	DECQ CX
	JNE  tail
done:
	CMPL DX, AX
	SETCS ok+24(FP)
	RET

// func ids64BelowAVX2(ids unsafe.Pointer, n int, limit uint64) (ok bool)
// for _, id := range ids { if id >= limit { return false } }; return true
// AVX2 compares signed: the sign of what Y0 gathers is set by ids above limit-1 and by those of 2^63 and more.
TEXT ·ids64BelowAVX2(SB), NOSPLIT, $0-25
	MOVQ ids+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ limit+16(FP), AX
	LEAQ -1(AX), DX
	VMOVQ DX, X15
	VPBROADCASTQ X15, Y15
	VPXOR Y0, Y0, Y0
	SUBQ $16, CX
	JLT  vectors
	PCALIGN $64
block:
	VMOVDQU (SI), Y1
	VMOVDQU 32(SI), Y2
	VMOVDQU 64(SI), Y3
	VMOVDQU 96(SI), Y4
	VPCMPGTQ Y15, Y1, Y5
	VPCMPGTQ Y15, Y2, Y6
	VPCMPGTQ Y15, Y3, Y7
	VPCMPGTQ Y15, Y4, Y8
	VPOR Y1, Y2, Y1
	VPOR Y3, Y4, Y3
	VPOR Y5, Y6, Y5
	VPOR Y7, Y8, Y7
	VPOR Y1, Y3, Y1
	VPOR Y5, Y7, Y5
	VPOR Y1, Y0, Y0
	VPOR Y5, Y0, Y0
	ADDQ $128, SI
	SUBQ $16, CX
	JGE  block
vectors:
	ADDQ $12, CX
	JLT  signs
vector:
	VMOVDQU (SI), Y1
	VPCMPGTQ Y15, Y1, Y5
	VPOR Y1, Y0, Y0
	VPOR Y5, Y0, Y0
	ADDQ $32, SI
	SUBQ $4, CX
	JGE  vector
signs:
	VMOVMSKPD Y0, DX
	VZEROUPPER
	ADDQ $4, CX
	JEQ  done
tail:
	CMPQ (SI), AX
	SBBQ R8, R8
	INCQ R8
	ORQ  R8, DX
	ADDQ $8, SI
	DECQ CX
	JNE  tail
done:
	TESTQ DX, DX
	SETEQ ok+24(FP)
	RET

// func fetchRowsAVX2(table *float32, stride uintptr, ids unsafe.Pointer, wide uint64, n, bytes int, straddle bool)
// for _, id := range ids[:n] { prefetch(table[id][:bytes]) }, longBurst bytes of each row at a time, with the line of the last if straddle
// R13 are the bytes left of each row, R12 those to prefetch now.
TEXT ·fetchRowsAVX2(SB), NOSPLIT, $0-49
	MOVQ table+0(FP), SI
	MOVQ stride+8(FP), DI
	MOVQ ids+16(FP), R8
	MOVQ wide+24(FP), R11
	MOVQ n+32(FP), CX
	MOVQ bytes+40(FP), R13
piece:
	MOVL $const_longBurst, R12
	CMPQ R13, R12
	CMOVQLT R13, R12
	XORL R9, R9
row:
	ID(R8, R11, R9, R10)
	IMULQ DI, R10
	ADDQ SI, R10
	MOVQ R12, DX
line:
	PREFETCH (R10)
	ADDQ $64, R10
	SUBQ $64, DX
	JGT  line
	CMPB straddle+48(FP), $0
	JEQ  2(PC)
	PREFETCH -4(R10)(DX*1)
	INCQ R9
	CMPQ R9, CX
	JLT  row
	ADDQ $const_longBurst, SI
	SUBQ $const_longBurst, R13
	JGT  piece
	RET

// COPY_ROW copies the row at R10 to DI, a vector or more, without a tail: the last block, or of a row that is less than one the last vector, ends
// with the row, and may have elements that come before it too. CX and R13, which COPY_BEGIN finds from AX columns, are where those begin. Blocks
// begin with a line of dst, behind a first line's worth of columns, the rest of which may be in a block too, since a vector that reaches from one
// line into the next is stored twice. On a Xeon, over the time with vectors from the first column on and a tail, AVX2 and AVX-512, calls for the
// same ids over and over: 16 rows of 8 columns 0.81 and 0.79, of 12 0.90 and 0.86, of 24 0.98 and 1.03, of 32 0.88 and 0.89, of 64 0.89 and 0.86, 8
// of 100 0.88 and 0.90, of 200 0.87 and 0.80, of 300 0.82 and 0.86, of 512 0.95 and 0.97, 4 of 768 0.98 and 0.99, of 1,000 1.02 and 0.90, of 1,024
// 0.96 and 0.99; fresh ids 0.96 to 1.01. DX is cleared since, computed from DI, it would have each row wait for the one before (4 of 768 by AVX2:
// 1.12).
#define COPY(off, at, v) \
	VMOVUPS off(R10)(at*1), v; \
	VMOVUPS v, off(DI)(at*1)

#define FOUR_COPIES(size, at, v) \
	COPY(0*size, at, v); \
	COPY(1*size, at, v); \
	COPY(2*size, at, v); \
	COPY(3*size, at, v)

#define COPY_ROW(FIRST, size, v) \
	XORL DX, DX;             \
	TESTQ R13, R13;          \
	JLT  vectors;            \
	TESTB $63, DI;           \
	JEQ  blocks;             \
	FIRST;                   \
	MOVQ DI, DX;             \
	NEGQ DX;                 \
	ANDQ $63, DX;            \
blocks: \
	CMPQ DX, R13;            \
	JGE  lastBlock;          \
	PCALIGN $64;             \
block: \
	FOUR_COPIES(size, DX, v); \
	ADDQ $(4*size), DX;      \
	CMPQ DX, R13;            \
	JLT  block;              \
lastBlock: \
	FOUR_COPIES(size, R13, v); \
	JMP  copied;             \
vector: \
	COPY(0, DX, v);          \
	ADDQ $size, DX;          \
vectors: \
	CMPQ DX, CX;             \
	JLT  vector;             \
	COPY(0, CX, v);          \
copied:

#define COPY_BEGIN(size) \
	LEAQ -size(AX*4), CX;    \
	LEAQ (-3*size)(CX), R13

#define FIRST_LINE_AVX2 COPY(0, DX, Y0); COPY(32, DX, Y0)
#define FIRST_LINE_AVX512 COPY(0, DX, Z0)

// func copyRowsAVX2(dst *float32, stride uintptr, rows **float32, n, cols int)
// for i := range n { copy(dst[i], *rows[i]) }
TEXT ·copyRowsAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ stride+8(FP), R11
	MOVQ rows+16(FP), R8
	MOVQ n+24(FP), R9
	MOVQ cols+32(FP), AX
	COPY_BEGIN(32)
	TESTQ CX, CX
	JLT  short
row:
	MOVQ (R8), R10
	COPY_ROW(FIRST_LINE_AVX2, 32, Y0)
	ADDQ $8, R8
	ADDQ R11, DI
	DECQ R9
	JNE  row
	VZEROUPPER
	RET
short:
	MOVQ (R8), R10
	XORL DX, DX
	TAIL_AVX2(GATHER, AX)
columnsDone:
	ADDQ $8, R8
	ADDQ R11, DI
	DECQ R9
	JNE  short
	VZEROUPPER
	RET

// func copyRowAVX2(dst, src *float32, cols int)
// copy(dst[:cols], src)
TEXT ·copyRowAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), R10
	MOVQ cols+16(FP), AX
	COPY_BEGIN(32)
	TESTQ CX, CX
	JLT  short
	COPY_ROW(FIRST_LINE_AVX2, 32, Y0)
	VZEROUPPER
	RET
short:
	XORL DX, DX
	TAIL_AVX2(GATHER, AX)
columnsDone:
	VZEROUPPER
	RET

// AVX-512

#define MASKED_IDS32 VMOVDQU32.Z (SI), K1, Z2
#define MASKED_IDS64 VMOVDQU64.Z (SI), K1, Z2

// IDS_BELOW_AVX512 works on lanes ids at a time; SI is ids, AX their number, Z15 the limit. It ends with ZF set if all
// are below.
#define IDS_BELOW_AVX512(MAX, COMPARE, MASKED, lanes) \
	VPXORQ Z0, Z0, Z0;    \
	VPXORQ Z1, Z1, Z1;    \
	SUBQ $(4*lanes), AX;  \
	JLT  vectors;         \
	PCALIGN $64;          \
block: \
	MAX  (SI), Z0, Z0;    \
	MAX  64(SI), Z1, Z1;  \
	MAX  128(SI), Z0, Z0; \
	MAX  192(SI), Z1, Z1; \
	ADDQ $256, SI;        \
	SUBQ $(4*lanes), AX;  \
	JGE  block;           \
vectors: \
	ADDQ $(3*lanes), AX;  \
	JLT  tail;            \
vector: \
	MAX  (SI), Z0, Z0;    \
	ADDQ $64, SI;         \
	SUBQ $lanes, AX;      \
	JGE  vector;          \
tail: \
	ADDQ $lanes, AX;      \
	MASK;                 \
	MASKED;               \
	MAX  Z2, Z0, Z0;      \
	MAX  Z1, Z0, Z0;      \
	COMPARE $5, Z15, Z0, K2; \
	VZEROUPPER;           \
	KTESTW K2, K2

// func ids32BelowAVX512(ids unsafe.Pointer, n int, limit uint32) (ok bool)
// for _, id := range ids { if id >= limit { return false } }; return true
TEXT ·ids32BelowAVX512(SB), NOSPLIT, $0-25
	MOVQ ids+0(FP), SI
	MOVQ n+8(FP), AX
	MOVL limit+16(FP), DX
	VPBROADCASTD DX, Z15
	IDS_BELOW_AVX512(VPMAXUD, VPCMPUD, MASKED_IDS32, 16)
	SETEQ ok+24(FP)
	RET

// func ids64BelowAVX512(ids unsafe.Pointer, n int, limit uint64) (ok bool)
// for _, id := range ids { if id >= limit { return false } }; return true
TEXT ·ids64BelowAVX512(SB), NOSPLIT, $0-25
	MOVQ ids+0(FP), SI
	MOVQ n+8(FP), AX
	MOVQ limit+16(FP), DX
	VPBROADCASTQ DX, Z15
	IDS_BELOW_AVX512(VPMAXUQ, VPCMPUQ, MASKED_IDS64, 8)
	SETEQ ok+24(FP)
	RET

// func copyRowAVX512(dst, src *float32, cols int)
// copy(dst[:cols], src), where cols is 16 at least
TEXT ·copyRowAVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), R10
	MOVQ cols+16(FP), AX
	COPY_BEGIN(64)
	COPY_ROW(FIRST_LINE_AVX512, 64, Z0)
	VZEROUPPER
	RET

// func copyFarRowAVX512(dst, src *float32, cols int), where cols is longBurst/4 at least
// prefetch(src[longBurst/4:cols]); copy(dst[:cols], src), by vectors of AVX2, since it is for where AVX-512 goes in halves
TEXT ·copyFarRowAVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), R10
	MOVQ cols+16(FP), AX
	COPY_BEGIN(32)
	LEAQ const_longBurst(R10), R11
	LEAQ -256(R10)(AX*4), R12
lines:
	CMPQ R11, R12
	JAE  lastLines
	LINES4(R11)
	ADDQ $256, R11
	JMP  lines
lastLines:
	LINES4(R12)
	PREFETCH 252(R12)
	COPY_ROW(FIRST_LINE_AVX2, 32, Y0)
	VZEROUPPER
	RET

// FEW_ROW finds how far behind row 0 that of an id is, if it is still below the limit, and FEW_NEXT goes on to the next, in registers of
// GATHER_FEW. Short rows are read at (SI)(R10*1): with that sum in R10 first, 8 and 16 fresh rows of 4 to 15 columns take a Zen 5 1.04 to 1.17
// of the time.
#define FEW_ROW(LOAD_ID) \
	LOAD_ID (R8), R10; \
	CMPQ R10, R11;     \
	JAE  done;         \
	IMULQ BX, R10

#define FEW_NEXT(size, row) \
	ADDQ R12, DI;   \
	ADDQ $size, R8; \
	CMPQ R8, R9;    \
	JNE  row

// GATHER_FEW checks all of up to 63 ids before it copies the first row, and each again when it copies by it, since it may have changed meanwhile.
// Rows of 8 to 15 columns are two vectors of AVX2 that overlap, and shorter ones part of one: a masked vector of AVX-512 that reaches from one line
// into the next waits for both, whatever its mask, and 12 and 16 fresh rows of 8,000,000 x 8 took a Zen 4 1.2 and 1.4 times as long so.
//
// Registers:
//	R8   ids, and where the next one is   DI   matrix dst, then a row of it     R11  limit of ids
//	R9   where they end                   R10  matrix table, then see FEW_ROW   AX   columns
//	CX   number of ids, then where the    R12  bytes between rows of dst        K1   lanes of ids, then those of a row of less
//	     last vector of a row begins      BX   those of the table                    than eight columns
//	SI   ids, then row 0 of the table     R13  the second vector of row 0, where rows are two of AVX2
//
// and those of COPY_ROW. It ends with R8 where the first id is that has not been copied by, or in front of all if one was outside.
#define GATHER_FEW(BROADCAST, MASKED_IDS, COMPARE, LOAD_ID, lanes, size) \
	BROADCAST R11, Z0;                   \
	LEAQ (R8)(CX*size), R9;              \
	MOVQ R8, SI;                         \
ids: \
	MOVL $1, DX;                         \
	SHLQ CX, DX;                         \
	DECQ DX;                             \
	KMOVW DX, K1;                        \
	MASKED_IDS;                          \
	COMPARE $5, Z0, Z2, K1, K2;          \
	KTESTW K2, K2;                       \
	JNE  outside;                        \
	ADDQ $64, SI;                        \
	SUBQ $lanes, CX;                     \
	JGT  ids;                            \
	MOVQ matrixArg_Cols(DI), AX;         \
	MOVQ matrixArg_Stride(DI), R12;      \
	MOVQ matrixArg_Data(DI), DI;         \
	MOVQ matrixArg_Stride(R10), BX;      \
	MOVQ matrixArg_Data(R10), SI;        \
	SHLQ $2, R12;                        \
	SHLQ $2, BX;                         \
	COPY_BEGIN(64);                      \
	TESTQ CX, CX;                        \
	JLT  short;                          \
row: \
	FEW_ROW(LOAD_ID);                    \
	ADDQ SI, R10;                        \
	COPY_ROW(FIRST_LINE_AVX512, 64, Z0); \
	FEW_NEXT(size, row);                 \
	JMP  done;                           \
short: \
	ADDQ $32, CX;                        \
	JLT  narrow;                         \
	LEAQ (SI)(CX*1), R13;                \
shortRow: \
	FEW_ROW(LOAD_ID);                    \
	VMOVUPS (SI)(R10*1), Y0;             \
	VMOVUPS (R13)(R10*1), Y1;            \
	VMOVUPS Y0, (DI);                    \
	VMOVUPS Y1, (DI)(CX*1);              \
	FEW_NEXT(size, shortRow);            \
	JMP  done;                           \
narrow: \
	MASK;                                \
narrowRow: \
	FEW_ROW(LOAD_ID);                    \
	MASKED_LOAD((SI)(R10*1), Y0);        \
	MASKED_STORE(Y0, (DI));              \
	FEW_NEXT(size, narrowRow);           \
	JMP  done;                           \
outside: \
	SUBQ $size, R8;                      \
done:

// func gatherFew32AVX512(dst, table *matrixArg, ids unsafe.Pointer, n int, limit uint64) (done int)
// for i, id := range ids { if id >= limit { return i }; copy(dst[i], table[id]) }; but -1 if one is at the beginning
TEXT ·gatherFew32AVX512(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ table+8(FP), R10
	MOVQ ids+16(FP), R8
	MOVQ n+24(FP), CX
	MOVQ limit+32(FP), R11
	GATHER_FEW(VPBROADCASTD, MASKED_IDS32, VPCMPUD, MOVL, 16, 4)
	VZEROUPPER
	SUBQ ids+16(FP), R8
	SARQ $2, R8
	MOVQ R8, done+40(FP)
	RET

// func gatherFew64AVX512(dst, table *matrixArg, ids unsafe.Pointer, n int, limit uint64) (done int)
// the same
TEXT ·gatherFew64AVX512(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ table+8(FP), R10
	MOVQ ids+16(FP), R8
	MOVQ n+24(FP), CX
	MOVQ limit+32(FP), R11
	GATHER_FEW(VPBROADCASTQ, MASKED_IDS64, VPCMPUQ, MOVQ, 8, 8)
	VZEROUPPER
	SUBQ ids+16(FP), R8
	SARQ $3, R8
	MOVQ R8, done+40(FP)
	RET
