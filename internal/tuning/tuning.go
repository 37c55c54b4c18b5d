// Package tuning holds the sizes from which on large work is done differently, so that tests can lower them. Nothing but
// tests writes to them, while nothing else runs.
package tuning

// StreamBytes is the size from which on results are written past the caches, by AVX2 at either level of amd64. Gather on
// a Zen 5 with 32 MiB of third-level cache, ns per row with ordinary stores and streaming: alone, and with the result
// read right behind, both counted; medians of 21 interleaved rounds:
//
//	50,257 x 768     12.6 MB    293   213    231   298
//	50,257 x 768     25.2 MB    248   203    466   371
//	50,257 x 768     50.3 MB    262   194    426   337
//	200,000 x 512    16.8 MB    172   142    172   185
//	1,000,000 x 128  33.6 MB    46.0  35.0   91.0  66.9
//	50,257 x 4,096   33.6 MB    1294  1114   1893  1890
//
// and on a Zen 4 with as much:
//
//	50,257 x 768      6.3 MB    284   251    320   356
//	1,000,000 x 512   8.4 MB    226   223    254   293
//	1,000,000 x 512  16.8 MB    261   233    317   307
//	50,257 x 768     25.2 MB    377   272    492   399
//	50,257 x 768     50.3 MB    375   246    498   370
//	1,000,000 x 128  33.6 MB    63.3  65.7   85.7  79.1
//	125,000 x 4,096  33.6 MB    1806  1239   2306  1900
//
// What is smaller is faster where somebody reads it, since it stays in cache.
var StreamBytes = 16 << 20

// Large reports whether a result of so many elements is to be written past the caches.
func Large(elements int) bool { return elements >= StreamBytes/4 }

// ParallelElements is the size of a forward pass of a layer from which on a second worker pays. Its time with one
// worker over that with two, on two cores of a Zen 5: 0.69 at 512 Ki elements (8,192 x 64), 0.87 at 384 Ki (512 x 768);
// 1.05 and 1.13 at 1 Mi (16,384 x 64; 8,192 x 128), 1.27 at 1.1 Mi (1,536 x 768), 1.49 at 3 Mi (4,096 x 768).
var ParallelElements = 1 << 20

// ParallelGradientElements is the same for a backward pass, which is shared by columns. On two cores of a Zen 4, two runs:
// 1.10 and 0.92 at 1.5 Mi (2,048 x 768), with Zipf ids 0.92 and 0.86; 1.10 and 0.80 at 4 Mi (8,192 x 512), 1.35 and 0.75
// (32,768 x 128); 1.08 and 0.98 at 6 Mi (8,192 x 768), with Zipf ids 1.01 and 1.20; 1.44 and 1.17 at 8 Mi (2,048 x 4,096).
var ParallelGradientElements = 6 << 20

// ParallelProducts is the number of products from which on a second worker computes logits and their gradients with the
// first: some 100 us of work, several times what it takes to start one. It was not measured on a quiet machine.
var ParallelProducts = 4 << 20

// Lower makes every call large, and returns the function that undoes it.
func Lower() (undo func()) {
	stream, forward, backward := StreamBytes, ParallelElements, ParallelGradientElements
	products := ParallelProducts
	StreamBytes, ParallelElements, ParallelGradientElements, ParallelProducts = 0, 0, 0, 0
	return func() {
		StreamBytes, ParallelElements, ParallelGradientElements = stream, forward, backward
		ParallelProducts = products
	}
}
