package kernels

import "iter"

// Gather copies row ids[i] of table to row i of dst, all bits kept, and returns the number of rows done.
func Gather[I ID](dst, table Matrix, ids []I) int {
	plain(&dst)
	plain(&table)
	out, in, cols := dst.Data, table.Data, dst.Cols // in locals, which are quicker to reach for short rows
	step, stride, limit := dst.Stride, table.Stride, table.Rows
	for i, id := range ids {
		if outside(id, limit) {
			return i
		}
		copy(out[i*step:][:cols], in[int(id)*stride:][:cols])
	}
	return len(ids)
}

// GatherScaled sets row i of dst to scale times row ids[i] of table and returns the number of rows done.
func GatherScaled[I ID](dst, table Matrix, ids []I, scale float32) int {
	plain(&dst)
	plain(&table)
	for i, id := range ids {
		if outside(id, table.Rows) {
			return i
		}
		in := row(&table, int(id))
		out := row(&dst, i)[:len(in)]
		for j, x := range in {
			out[j] = scale * x
		}
	}
	return len(ids)
}

// gathered is Gather that hands out the number of each row that it has copied, up to the first id out of range. It
// copies a block of rows before it hands out the first: copying is what keeps several rows on their way from memory.
func gathered[I ID](dst, table Matrix, ids []I) iter.Seq[int] {
	return func(yield func(int) bool) {
		const block = 16
		for first := 0; first < len(ids); first += block {
			n := min(block, len(ids)-first)
			done := Gather(rows(&dst, first, n), table, ids[first:first+n])
			for i := first; i < first+done; i++ {
				if !yield(i) {
					return
				}
			}
			if done < n {
				return
			}
		}
	}
}
