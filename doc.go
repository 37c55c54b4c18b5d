// Package rowvec turns token ids into vectors at the speed of memory: the row kernels that every embedding runs on.
//
//   - Gather, GatherScaled: the rows of a table that ids choose
//   - ScatterAdd: their gradient, added back row by row
//   - BagSum, BagMean, BagMax: the sum, mean or maximum of the rows of each of many bags of ids
//   - Embed, EmbedAt: scale times token row plus position row, in one pass over memory
//   - EmbedBackward, EmbedAtBackward, AddBatches: their gradients
//   - UpdateSGD, UpdateAdagrad, UpdateRowAdagrad, UpdateAdam: steps of optimizers on the rows that ids choose
//   - Dots, DotsAll: the scores of rows against those of a table, as where a language model ties its output to its input
//   - AddScaled, Add, Scale: the vector operations beside them
//   - Dropout: inverted dropout whose mask is worked out where it is needed, and never stored
//   - LayerNorm, LayerNormBackward: layer normalisation, row by row, and its gradient
//   - Sinusoids: the recurrence that sinusoidal positions are made by
//   - Rotate, RotateAt: the rotation of queries and keys that rotary positions are
//   - NewMatrix, AdviseHugePages: memory for tables; CheckMatrix, CheckIDs, Overlap: what kernels check first, for callers of several
//
// They are assembly for AVX2, AVX-512 and NEON, chosen when the program starts, and plain Go elsewhere and with the
// build tag purego. Package lookup builds token tables and the complete embedding layer of a transformer on them,
// package positional its positions, and package kernels holds the definition of each kernel in plain Go.
//
// # What every kernel promises
//
// Checked first, then done. All shapes and all ids are checked before the first write. An error says what is wrong with
// figures, and leaves everything as it was; errors.As finds which of four it is: IndexError, ShapeError, OverlapError or
// ValueError. No input makes assembly read or write outside the slices that it was given,
// not even ids that another goroutine changes during the call: each is read only once, or checked again when its row is due,
// and if it is out of range by then the call ends with ErrChanged.
//
// The same bits everywhere. Each product and each sum is rounded to float32, or in Sinusoids to float64, and so is each
// quotient and each root of the updates; there is no fused multiply-add. Sums follow the order of the ids; the products
// of an output layer's gradients are added in sums of 32.
// So all instruction sets and plain Go agree bit for bit, and with NumPy and eager PyTorch where those multiply and add in
// separate steps. Only the payload of a NaN may differ, and Gather, which does not calculate, keeps even that.
//
// No allocation, no goroutine. A kernel works on the caller's goroutine, and its assembly lets it be preempted within
// a hundred microseconds or so. Any number of goroutines may read one table; each kernel's documentation says what it writes.
//
// Overlap of a destination with an input is refused where it would change the result. Empty input is no error.
//
// Large results go past the caches. On amd64, Gather, GatherScaled, Embed, EmbedAt, Sinusoids, bags of one id each without weights and,
// if not in place, Dropout and LayerNorm write a result of 16 MiB and more past them where its alignment allows: that takes less
// time, but whoever reads it right behind finds none of it in cache.
//
// # Environment
//
// ROWVEC_ISA set to portable, avx2, avx512 or neon, in capitals too, lowers the instruction set, and never raises it. Any
// other value is ignored. ISA returns the instruction set in use.
package rowvec
