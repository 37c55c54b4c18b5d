package kernels

// ScatterAdd adds alpha times row i of src to row ids[i] of dst, for i ascending, so that the rows of an id that occurs
// several times are added in the order of the ids. It returns the number of rows done.
func ScatterAdd[I ID](dst Matrix, ids []I, alpha float32, src Matrix) int {
	plain(&dst)
	plain(&src)
	for i, id := range ids {
		if outside(id, dst.Rows) {
			return i
		}
		AddScaled(row(&dst, int(id)), alpha, row(&src, i))
	}
	return len(ids)
}

// AddBatches adds row b*seq + p of src to row p of dst, for each p in [0, seq) and for b ascending in [0, batches):
// the gradient of positions that every sequence of a batch has shared. dst has seq rows and src batches*seq.
func AddBatches(dst, src Matrix, batches int) {
	plain(&dst)
	plain(&src)
	for b := range batches {
		for p := range dst.Rows {
			Add(row(&dst, p), row(&src, b*dst.Rows+p))
		}
	}
}
