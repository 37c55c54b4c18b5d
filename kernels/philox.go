package kernels

import "math/bits"

// Philox returns block number index of a stream of random bits, 128 of them: the counter-based generator Philox 4x32-10 of
// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC'11). The words of the key are the lower
// and the upper half of seed; those of the counter the lower and the upper half of index, then of stream.
func Philox(seed, stream, index uint64) [4]uint32 {
	k0, k1 := uint32(seed), uint32(seed>>32)
	c0, c1, c2, c3 := uint32(index), uint32(index>>32), uint32(stream), uint32(stream>>32)
	for range 10 {
		h0, l0 := bits.Mul32(0xd2511f53, c0)
		h1, l1 := bits.Mul32(0xcd9e8d57, c2)
		c0, c1, c2, c3 = h1^c1^k0, l1, h0^c3^k1, l0
		k0 += 0x9e3779b9 // the golden ratio
		k1 += 0xbb67ae85 // sqrt(3) - 1
	}
	return [4]uint32{c0, c1, c2, c3}
}
