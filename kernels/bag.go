package kernels

// BagSum sets row b of dst to the sum of the rows ids[i] of table, for i ascending from offsets[b] up to and without
// offsets[b+1], starting from +0; where weights is not nil, row ids[i] is first multiplied by weights[i]. A bag without ids
// becomes +0. Bags follow each other in ids, and offsets has one element more than dst has rows.
//
// It returns the position in ids behind the last one done, which is that of the next id if that one is out of range, or -1
// at offsets that descend or lead beyond the ids.
func BagSum[I ID](dst, table Matrix, ids []I, offsets []int, weights []float32) (done int) {
	if weights != nil {
		weights = weights[:len(ids)]
	}
	return bags(&dst, &table, ids, offsets, func(out []float32, first, end int) int {
		clear(out)
		for i := first; i < end; i++ {
			id := ids[i] // may have changed; read once
			if outside(id, table.Rows) {
				return i
			}
			if weights == nil {
				Add(out, row(&table, int(id)))
			} else {
				AddScaled(out, weights[i], row(&table, int(id)))
			}
		}
		return end
	})
}

// BagMean is BagSum without weights, and with each element divided by the number of ids in the bag, as a float32, if that
// is not 0.
func BagMean[I ID](dst, table Matrix, ids []I, offsets []int) (done int) {
	return bags(&dst, &table, ids, offsets, func(out []float32, first, end int) int {
		clear(out)
		for i := first; i < end; i++ {
			id := ids[i]
			if outside(id, table.Rows) {
				return i
			}
			Add(out, row(&table, int(id)))
		}
		if n := float32(end - first); n > 1 {
			for j := range out {
				out[j] /= n
			}
		}
		return end
	})
}

// BagMax sets row b of dst to the maximum, element by element, of the rows of table that the ids of bag b choose: the
// element of the first row stays until one of a later row is greater. So a NaN in the first row stays, a later one is left
// out, and of +0 and -0 the first one stays. A bag without ids becomes +0. Bags and the result are those of BagSum.
func BagMax[I ID](dst, table Matrix, ids []I, offsets []int) (done int) {
	return bags(&dst, &table, ids, offsets, func(out []float32, first, end int) int {
		if first == end {
			clear(out)
		}
		for i := first; i < end; i++ {
			id := ids[i]
			if outside(id, table.Rows) {
				return i
			}
			if in := row(&table, int(id)); i == first {
				copy(out, in)
			} else {
				raise(out, in)
			}
		}
		return end
	})
}

// bags has each bag done: do returns the position that it has come to, which is end unless an id is out of range.
func bags[I ID](dst, table *Matrix, ids []I, offsets []int, do func(out []float32, first, end int) int) (done int) {
	plain(dst, dst.Rows, table.Cols)
	plain(table, table.Rows, table.Cols)
	for b := range dst.Rows {
		if b == 0 {
			done = offsets[0]
		}
		end := offsets[b+1] // may have changed; read once
		if done < 0 || end < done || end > len(ids) {
			return -1
		}
		if done = do(row(dst, b), done, end); done < end {
			return done
		}
	}
	return done
}

// raise replaces the elements of dst by those of src that are greater.
func raise(dst, src []float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		if x > dst[i] {
			dst[i] = x
		}
	}
}
