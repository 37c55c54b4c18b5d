// Sines and cosines of angles as turns of 2^64, two vectors at a time, as each step of a polynomial has to wait for the one before:
// what exact.Turns.SinCos does, operation by operation, but for terms that are 0 there. Constants come from the angles that R12
// points to.

// SINCOS does angles r in 64 bits: sin and cos are their sines and cosines; n, z, half, a and b are for a moment, and K1 with AVX-512.
#define SINCOS(FLOAT, TURN, r1, n1, sin1, cos1, z1, half1, r2, n2, sin2, cos2, z2, half2, a, b) \
	QUARTERS(r1, n1, a);                            \
	QUARTERS(r2, n2, b);                            \
	FLOAT(r1, a, b);                                \
	FLOAT(r2, z2, half2);                           \
	SQUARE(r1, z1, half1, a, b);                    \
	SQUARE(r2, z2, half2, a, b);                    \
	TERMS(sin1, cos1, z1, sin2, cos2, z2, a, b);    \
	SUMS(r1, sin1, cos1, z1, half1, a, b);          \
	SUMS(r2, sin2, cos2, z2, half2, a, b);          \
	TURN(n1, sin1, cos1, a, b);                     \
	TURN(n2, sin2, cos2, a, b)

// QUARTERS sets n to the quarter turns next to r, and r to what is left, in [-1/8, 1/8) turns of 2^64.
#define QUARTERS(r, n, a) \
	VBROADCASTSD angles_eighth(R12), n;   \
	VBROADCASTSD angles_quarters(R12), a; \
	VPADDQ   r, n, n;          \
	VANDPD   a, n, n;          \
	VPSUBQ   n, r, r

// SQUARE is what exact.sinCosNear0 begins with, for an angle r that is a float64 by now, in turns of 2^64.
#define SQUARE(r, z, half, a, b) \
	VBROADCASTSD angles_unit(R12), a; \
	VBROADCASTSD angles_half(R12), b; \
	VMULPD   a, r, r;          \
	VMULPD   r, r, z;          \
	VMULPD   z, b, half

// FIRST_TERMS begins its polynomials p and q, and TERM does a step of them, for both vectors.

#define FIRST_TERMS(p, q) \
	VBROADCASTSD angles_terms(R12), p; \
	VBROADCASTSD (angles_terms+8)(R12), q

#define TERM(k, p1, q1, z1, p2, q2, z2, a, b) \
	VBROADCASTSD (angles_terms+16*k)(R12), a;   \
	VBROADCASTSD (angles_terms+16*k+8)(R12), b; \
	VMULPD   z1, p1, p1;       \
	VMULPD   z1, q1, q1;       \
	VMULPD   z2, p2, p2;       \
	VMULPD   z2, q2, q2;       \
	VADDPD   a, p1, p1;        \
	VADDPD   b, q1, q1;        \
	VADDPD   a, p2, p2;        \
	VADDPD   b, q2, q2

#define TERMS(p1, q1, z1, p2, q2, z2, a, b) \
	FIRST_TERMS(p1, q1);                   \
	FIRST_TERMS(p2, q2);                   \
	TERM(1, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(2, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(3, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(4, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(5, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(6, p1, q1, z1, p2, q2, z2, a, b); \
	TERM(7, p1, q1, z1, p2, q2, z2, a, b)

// SUMS is what it ends with, without e: sin and cos were the polynomials.
#define SUMS(r, sin, cos, z, half, a, b) \
	VMULPD   z, r, a;          \
	VMULPD   sin, a, sin;      \
	VADDPD   r, sin, sin;      \
	VMULPD   z, z, z;          \
	VMULPD   cos, z, cos;      \
	VBROADCASTSD angles_one(R12), a; \
	VSUBPD   half, a, b;       \
	VSUBPD   b, a, a;          \
	VSUBPD   half, a, a;       \
	VADDPD   cos, a, a;        \
	VADDPD   a, b, cos

// TURN is exact.quadrant, without a branch as there: the highest bits of n are the sign of the sine and whether it is the cosine's
// place; those of n plus a quarter turn begin with the sign of the cosine.
#define TURN_AVX2(n, sin, cos, a, b) \
	VPADDQ   n, n, a;          \
	VBLENDVPD a, cos, sin, b;  \
	VBLENDVPD a, sin, cos, cos; \
	VBROADCASTSD angles_sign(R12), a;      \
	VANDPD   a, n, sin;        \
	VXORPD   b, sin, sin;      \
	VBROADCASTSD angles_quarter(R12), b;   \
	VPADDQ   b, n, n;          \
	VANDPD   a, n, n;          \
	VXORPD   n, cos, cos

#define TURN_AVX512(n, sin, cos, a, b) \
	VPTESTMQ.BCST angles_quarter(R12), n, K1;         \
	VMOVAPD  sin, a;                                  \
	VMOVAPD  cos, K1, sin;                            \
	VMOVAPD  a, K1, cos;                              \
	VPTERNLOGQ.BCST $0x78, angles_sign(R12), n, sin;  \
	VPADDQ.BCST angles_quarter(R12), n, n;            \
	VPTERNLOGQ.BCST $0x78, angles_sign(R12), n, cos

// FLOAT_AVX2 is what FLOAT_AVX512 does, for |r| < 2^62.
#define FLOAT_AVX2(r, a, b) \
	VBROADCASTSD angles_lowBits(R12), a;  \
	VBROADCASTSD angles_highBits(R12), b; \
	VPBLENDD $0x55, r, a, a; \
	VPSRLQ   $32, r, r;      \
	VXORPD   b, r, r;        \
	VBROADCASTSD angles_both(R12), b; \
	VSUBPD   b, r, r;        \
	VADDPD   a, r, r

#define FLOAT_AVX512(r, a, b) VCVTQQ2PD r, r
