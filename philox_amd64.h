// Rounds of Philox, whose four words of a counter stand in the lower halves of 64-bit lanes of four registers, with anything above
// them: VPMULUDQ does not read it. So the lower half of a product is a word as it stands, the upper half one after a shift, and a
// round takes no shuffles. KEY0 and KEY1 are the words of the key of a round, in memory; vectors 14 and 15 are the multipliers,
// 0xd2511f53 and 0xcd9e8d57, in every lane.

// ROUND leaves the words in registers c1, c2, c3 and c0.
#define ROUND_AVX2(round, c0, c1, c2, c3) \
	VPMULUDQ Y15, c2, c2;                         \
	VPMULUDQ Y14, c0, c0;                         \
	VPBROADCASTD KEY0(round), Y4;                 \
	VPXOR    Y4, c1, c1;                          \
	VPBROADCASTD KEY1(round), Y5;                 \
	VPXOR    Y5, c3, c3;                          \
	VPSRLQ   $32, c2, Y4;                         \
	VPXOR    Y4, c1, c1;                          \
	VPSRLQ   $32, c0, Y5;                         \
	VPXOR    Y5, c3, c3

#define ROUND_AVX512(round, c0, c1, c2, c3, t, u) \
	VPMULUDQ Z15, c2, c2;                      \
	VPMULUDQ Z14, c0, c0;                      \
	VPSRLQ   $32, c2, t;                       \
	VPTERNLOGD.BCST $0x96, KEY0(round), t, c1; \
	VPSRLQ   $32, c0, u;                       \
	VPTERNLOGD.BCST $0x96, KEY1(round), u, c3

// FOUR_AVX512 is ROUND for four vectors of counters.
#define FOUR_AVX512(round, c0, c1, c2, c3, d0, d1, d2, d3, e0, e1, e2, e3, f0, f1, f2, f3) \
	ROUND_AVX512(round, c0, c1, c2, c3, Z4, Z5); \
	ROUND_AVX512(round, d0, d1, d2, d3, Z7, Z8); \
	ROUND_AVX512(round, e0, e1, e2, e3, Z4, Z5); \
	ROUND_AVX512(round, f0, f1, f2, f3, Z7, Z8)
