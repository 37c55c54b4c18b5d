// Row kernels walk the rows of rowArgs, and each row from left to right.
//
// Registers:
//	R0   arguments                       R10  limit of ids
//	R1   linear row                      R11  whether ids are wide
//	R2   row 0 of the table              R12  rows to do
//	R3   ids                             R13  rows to prefetch ahead
//	R4   number of the row               R14  rows that have one to prefetch
//	R5   in the row of the table         R15  columns
//	R6   in the linear row               R19  bytes between linear rows
//	R7   in the row of positions         R20  counted row of positions
//	R8   columns left                    R21  row 0 of positions, or ids of positions
//	R9   bytes between rows of the table R22  end of the counted positions, or limit of their ids
//	V31  scale in every lane             R23  bytes between rows of positions
//	                                     R24, R25  for a moment
//
// A block is eight vectors, 32 floats, moved as pairs. What is left of a row is done as single pairs, and then a tail
// as 4, 2 and 1 floats, by the bits of the number of columns. No byte outside the row is touched.

// What the assembler has no mnemonic for. Arguments are numbers of registers.

#define VFMUL4S(m, n, d) WORD $(0x6E20DC00|(m)<<16|(n)<<5|(d)) // fmul v{d}.4s, v{n}.4s, v{m}.4s
#define VFADD4S(m, n, d) WORD $(0x4E20D400|(m)<<16|(n)<<5|(d)) // fadd v{d}.4s, v{n}.4s, v{m}.4s
#define VFSUB4S(m, n, d) WORD $(0x4EA0D400|(m)<<16|(n)<<5|(d)) // fsub v{d}.4s, v{n}.4s, v{m}.4s
#define VFDIV4S(m, n, d) WORD $(0x6E20FC00|(m)<<16|(n)<<5|(d)) // fdiv v{d}.4s, v{n}.4s, v{m}.4s
#define VFSQRT4S(n, d) WORD $(0x6EA1F800|(n)<<5|(d)) // fsqrt v{d}.4s, v{n}.4s
#define VFMUL2D(m, n, d) WORD $(0x6E60DC00|(m)<<16|(n)<<5|(d)) // fmul v{d}.2d, v{n}.2d, v{m}.2d
#define VFADD2D(m, n, d) WORD $(0x4E60D400|(m)<<16|(n)<<5|(d)) // fadd v{d}.2d, v{n}.2d, v{m}.2d
#define VFSUB2D(m, n, d) WORD $(0x4EE0D400|(m)<<16|(n)<<5|(d)) // fsub v{d}.2d, v{n}.2d, v{m}.2d
#define VFCVTL(n, d) WORD $(0x0E617800|(n)<<5|(d)) // fcvtl v{d}.2d, v{n}.2s
#define VFCVTL2(n, d) WORD $(0x4E617800|(n)<<5|(d)) // fcvtl2 v{d}.2d, v{n}.4s
#define VFCVTN(n, d) WORD $(0x0E616800|(n)<<5|(d)) // fcvtn v{d}.2s, v{n}.2d
#define VFCVTN2(n, d) WORD $(0x4E616800|(n)<<5|(d)) // fcvtn2 v{d}.4s, v{n}.2d
#define VCMHS4S(m, n, d) WORD $(0x6EA03C00|(m)<<16|(n)<<5|(d)) // cmhs v{d}.4s, v{n}.4s, v{m}.4s
#define VCMHS2D(m, n, d) WORD $(0x6EE03C00|(m)<<16|(n)<<5|(d)) // cmhs v{d}.2d, v{n}.2d, v{m}.2d

// What it has, but not by numbers.

#define VCMEQ4S(m, n, d) WORD $(0x6EA08C00|(m)<<16|(n)<<5|(d)) // cmeq v{d}.4s, v{n}.4s, v{m}.4s
#define VAND16B(m, n, d) WORD $(0x4E201C00|(m)<<16|(n)<<5|(d)) // and v{d}.16b, v{n}.16b, v{m}.16b
#define VEOR16B(m, n, d) WORD $(0x6E201C00|(m)<<16|(n)<<5|(d)) // eor v{d}.16b, v{n}.16b, v{m}.16b

// EXCHANGE has vectors change places, by way of another.
#define EXCHANGE(a, b, tmp) \
	VMOV a.B16, tmp.B16; \
	VMOV b.B16, a.B16;   \
	VMOV tmp.B16, b.B16

#define CLEAR4(a, b, c, d) \
	VEOR a.B16, a.B16, a.B16; \
	VEOR b.B16, b.B16, b.B16; \
	VEOR c.B16, c.B16, c.B16; \
	VEOR d.B16, d.B16, d.B16

// ID loads id number pos of list into dst, as an unsigned number; pos and dst are different registers.
#define ID(list, isWide, pos, dst) \
	MOVWU (list)(pos<<2), dst; \
	CBZ   isWide, 2(PC);       \
	MOVD  (list)(pos<<3), dst

// ROWS_BEGIN loads the registers.
#define ROWS_BEGIN \
	MOVD  rowArgs_linear(R0), R1;        \
	MOVD  rowArgs_table(R0), R2;         \
	MOVD  rowArgs_ids(R0), R3;           \
	MOVD  ZR, R4;                        \
	MOVD  rowArgs_tableStride(R0), R9;   \
	MOVD  rowArgs_limit(R0), R10;        \
	MOVD  rowArgs_wide(R0), R11;         \
	MOVD  rowArgs_n(R0), R12;            \
	MOVD  rowArgs_ahead(R0), R13;        \
	MOVD  rowArgs_readable(R0), R14;     \
	SUB   R13, R14;                      \
	CMP   $0, R13;                       \
	CSEL  EQ, ZR, R14, R14;              \
	MOVD  rowArgs_cols(R0), R15;         \
	MOVD  rowArgs_linearStride(R0), R19; \
	MOVWU rowArgs_scale(R0), R24;        \
	VDUP  R24, V31.S4

// ROW_ID loads the next id into R5 and checks it.
#define ROW_ID \
	ID(R3, R11, R4, R5); \
	CMP  R10, R5;        \
	BHS  done

// ROW_AHEAD finds a row to prefetch. UMADDL, of the low 32 bits of both, takes a Neoverse N1 a third of the time that MADD takes; where ids
// or strides have more, it is another row that is prefetched.
#define ROW_AHEAD(stride, table, id, dst) UMADDL stride, table, id, dst

// LINES prefetches left bytes from at on, with the line of the last four, since rows may begin within a line.
#define LINES(at, left, line) \
line: \
	PRFM (at), PLDL2KEEP; \
	ADD  $64, at;         \
	SUBS $64, left;       \
	BGT  line;            \
	ADD  left, at;        \
	SUB  $4, at;          \
	PRFM (at), PLDL2KEEP

// ROW finds the next row of the table and prefetches the one that comes rowArgs.ahead rows later. A prefetch never
// faults; a core may drop one whose page its TLB does not know, so that the gain on large tables depends on the core, and pages of 2 MiB help.
// Rows are not loaded from beforehand to have their pages known: FBGEMM can do so on a Neoverse V2 (its pull request 5970), where it has to be
// asked for, and nothing here could show whether it pays.
#define ROW \
	ROW_ID;                       \
	MADD R9, R2, R5, R5;          \
	MOVD R1, R6;                  \
	CMP  R14, R4;                 \
	BGE  found;                   \
	ADD  R13, R4, R24;            \
	ID(R3, R11, R24, R25);        \
	ROW_AHEAD(R9, R2, R25, R25);  \
	MOVD rowArgs_burst(R0), R24;  \
	LINES(R25, R24, line);        \
found:

// ROWS_END goes on with the next row, after a first one that there always is; at the end R4 says how many were done.
#define ROWS_END \
	ADD R19, R1; \
	ADD $1, R4;  \
	CMP R12, R4; \
	BLT row;     \
done:
