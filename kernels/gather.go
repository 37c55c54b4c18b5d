package kernels

import "iter"

// Gather copies row ids[i] of table to row i of dst, all bits kept, and returns the number of rows done.
func Gather[I ID](dst, table Matrix, ids []I) int {
	plain(&dst, len(ids), table.Cols)
	plain(&table, table.Rows, table.Cols)
	if table.Cols <= 8 { // up to here a loop is quicker than a call of the runtime's copy
		return gatherShort(&dst, &table, ids)
	}
	out, in, cols := dst.Data, table.Data, table.Cols // in locals, which are quicker to reach for short rows
	step, stride, limit := dst.Stride, table.Stride, table.Rows
	for i, id := range ids {
		if outside(id, limit) {
			return i
		}
		copy(out[i*step:][:cols], in[int(id)*stride:][:cols])
	}
	return len(ids)
}

// gatherShort is Gather without the overhead of a call for each row.
func gatherShort[I ID](dst, table *Matrix, ids []I) int {
	out, in, cols := dst.Data, table.Data, table.Cols
	step, stride, limit := dst.Stride, table.Stride, table.Rows
	for i, id := range ids {
		if outside(id, limit) {
			return i
		}
		o, j := i*step, int(id)*stride
		end := j + cols
		for ; end-j >= 4; o, j = o+4, j+4 {
			*four(out, o) = *four(in, j)
		}
		for ; j < end; o, j = o+1, j+1 {
			out[o] = in[j]
		}
	}
	return len(ids)
}

// GatherScaled sets row i of dst to scale times row ids[i] of table and returns the number of rows done.
func GatherScaled[I ID](dst, table Matrix, ids []I, scale float32) int {
	plain(&dst, len(ids), table.Cols)
	plain(&table, table.Rows, table.Cols)
	out, in, cols := dst.Data, table.Data, table.Cols
	step, stride, limit := dst.Stride, table.Stride, table.Rows
	for i, id := range ids {
		if outside(id, limit) {
			return i
		}
		o, j := i*step, int(id)*stride
		end := j + cols
		for ; end-j >= 4; o, j = o+4, j+4 {
			x := four(in, j)
			*four(out, o) = [4]float32{scale * x[0], scale * x[1], scale * x[2], scale * x[3]}
		}
		for ; j < end; o, j = o+1, j+1 {
			out[o] = scale * in[j]
		}
	}
	return len(ids)
}

// gathered is Gather by blocks: it hands out the first row of each block that it has copied and the one behind its last,
// up to the first id out of range. It copies a block before it hands it out: copying is what keeps several rows on their
// way from memory.
func gathered[I ID](dst, table Matrix, ids []I) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		const block = 16
		for first := 0; first < len(ids); first += block {
			n := min(block, len(ids)-first)
			done := Gather(rows(&dst, first, n), table, ids[first:first+n])
			if !yield(first, first+done) || done < n {
				return
			}
		}
	}
}
