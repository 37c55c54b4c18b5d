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
// not even ids that another goroutine changes during the call: each is compared once more when its row is due, and the
// call ends with ErrChanged, or it is read only once.
//
// The same bits everywhere. Each product and each sum is rounded to float32, or in Sinusoids to float64, and so is each
// quotient and each root of the updates; there is no fused multiply-add. What is added up is added in the order of the ids,
// and the products of an output layer's gradients in sums of 32.
// So all instruction sets and plain Go agree bit for bit, and with NumPy and eager PyTorch where those multiply and add in
// separate steps. Only the payload of a NaN may differ, and Gather, which does not calculate, keeps even that.
//
// No allocation, no goroutine. A kernel works on the caller's goroutine, and its assembly lets it be preempted within
// a hundred microseconds or so. Any number of goroutines may read one table; kernels that write say what.
//
// Overlap of a destination with an input is refused where it would change the result. Empty input is no error.
//
// # Environment
//
// ROWVEC_ISA set to portable, avx2, avx512 or neon, in capitals too, lowers the instruction set, and never raises it. Any
// other value is ignored. ISA returns the instruction set in use.
package rowvec
