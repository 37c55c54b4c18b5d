package kernels

import "math"

// BagSum sets row b of dst to the sum of the rows ids[i] of table, for i ascending from offsets[b] up to and without
// offsets[b+1], starting from +0; where weights is not nil, row ids[i] is first multiplied by weights[i]. A bag without ids
// becomes +0. Bags follow each other in ids, and offsets has one element more than dst has rows.
//
// It returns the position in ids behind the last one done, which is that of the next id if that one is out of range, or -1
// at offsets that descend or lead beyond the ids.
func BagSum[I ID](dst, table Matrix, ids []I, offsets []int, weights []float32) (done int) {
	plain(&dst, dst.Rows, table.Cols)
	plain(&table, table.Rows, table.Cols)
	if weights != nil {
		weights = weights[:len(ids)]
	}
	for b := range dst.Rows {
		first, end := bag(offsets, b, done, len(ids))
		if end < 0 {
			return -1
		}
		if weights == nil {
			done = first + sum(row(&dst, b), &table, ids[first:end])
		} else {
			done = first + sumWeighted(row(&dst, b), &table, ids[first:end], weights[first:end])
		}
		if done < end {
			return done
		}
	}
	return done
}

// BagMean is BagSum without weights, and with each element divided by the number of ids in the bag, as a float32, if that
// is not 0.
func BagMean[I ID](dst, table Matrix, ids []I, offsets []int) (done int) {
	plain(&dst, dst.Rows, table.Cols)
	plain(&table, table.Rows, table.Cols)
	for b := range dst.Rows {
		first, end := bag(offsets, b, done, len(ids))
		if end < 0 {
			return -1
		}
		out := row(&dst, b)
		if done = first + sum(out, &table, ids[first:end]); done < end {
			return done
		}
		if n := float32(end - first); n > 1 {
			for j := range out {
				out[j] /= n
			}
		}
	}
	return done
}

// BagMax sets row b of dst to the maximum, element by element, of the rows of table that the ids of bag b choose: the
// element of the first row stays until one of a later row is greater. So a NaN in the first row stays, a later one is left
// out, and of +0 and -0 the first one stays. A bag without ids becomes +0. Bags and the result are those of BagSum.
func BagMax[I ID](dst, table Matrix, ids []I, offsets []int) (done int) {
	plain(&dst, dst.Rows, table.Cols)
	plain(&table, table.Rows, table.Cols)
	for b := range dst.Rows {
		first, end := bag(offsets, b, done, len(ids))
		if end < 0 {
			return -1
		}
		out := row(&dst, b)
		if first == end {
			clear(out)
		}
		for done = first; done < end; done++ {
			id := ids[done]
			if outside(id, table.Rows) {
				return done
			}
			if in := row(&table, int(id)); done == first {
				copy(out, in)
			} else {
				raise(out, in)
			}
		}
	}
	return done
}

// BagMaxBackward takes apart what the gradient of a BagMax is made of: it sets row i of dst to the gradient of row ids[i] of table as a
// term of bag bags[i], whose row of maxima is the result and of left the gradient of that: the element of left where the row of table is
// the first with the bits of the maximum, since the element is +0 from then on, and +0 elsewhere. It returns the number of rows done.
func BagMaxBackward[I, B ID](dst, table Matrix, ids []I, maxima, left Matrix, bags []B) (done int) {
	plain(&dst, len(ids), table.Cols)
	plain(&table, table.Rows, table.Cols)
	plain(&maxima, maxima.Rows, table.Cols)
	plain(&left, maxima.Rows, table.Cols)
	bags = bags[:len(ids)]
	for i, id := range ids {
		b := bags[i]
		if outside(id, table.Rows) || outside(b, maxima.Rows) {
			return i
		}
		out := row(&dst, i)
		in, most, rest := row(&table, int(id))[:len(out)], row(&maxima, int(b))[:len(out)], row(&left, int(b))[:len(out)]
		for j, x := range in {
			out[j] = 0
			if math.Float32bits(x) == math.Float32bits(most[j]) {
				out[j], rest[j] = rest[j], 0
			}
		}
	}
	return len(ids)
}

// BagDots sets dst[i] to the dot product of row ids[i] of table and the row of a of the bag that position i is in, in the order that Dots
// has: the gradient of the weights of BagSum, where a is the gradient of its result. a has a row for each bag, and dst one element for
// each id. It returns what BagSum does.
func BagDots[I ID](dst []float32, a, table Matrix, ids []I, offsets []int) (done int) {
	plain(&a, a.Rows, table.Cols)
	plain(&table, table.Rows, table.Cols)
	dst = dst[:len(ids)]
	for b := range a.Rows {
		first, end := bag(offsets, b, done, len(ids))
		if end < 0 {
			return -1
		}
		for done = first; done < end; done++ {
			id := ids[done]
			if outside(id, table.Rows) {
				return done
			}
			dst[done] = dot(row(&a, b), row(&table, int(id)))
		}
	}
	return done
}

// bag returns where bag b begins, which is next unless it is the first, and where it ends: -1 if that is in front of its
// beginning or behind the last of n ids. An offset may have changed since it was checked, and so each is read once.
func bag(offsets []int, b, next, n int) (first, end int) {
	if b == 0 {
		next = offsets[0]
	}
	end = offsets[b+1]
	if next < 0 || end < next || end > n {
		return next, -1
	}
	return next, end
}

// sum sets dst to the sum of the rows of table that ids choose, up to the first that is out of range, and returns the
// number of those. It adds as Add does, which would cost a short row a call.
func sum[I ID](dst []float32, table *Matrix, ids []I) int {
	clear(dst)
	for k, id := range ids {
		if outside(id, table.Rows) {
			return k
		}
		in := row(table, int(id))[:len(dst)]
		i := 0
		for ; len(dst)-i >= 4; i += 4 {
			x, y := four(dst, i), four(in, i)
			x[0] += y[0]
			x[1] += y[1]
			x[2] += y[2]
			x[3] += y[3]
		}
		for ; i < len(dst); i++ {
			dst[i] += in[i]
		}
	}
	return len(ids)
}

// sumWeighted is sum of rows that are first multiplied by their weights.
func sumWeighted[I ID](dst []float32, table *Matrix, ids []I, weights []float32) int {
	clear(dst)
	for k, id := range ids {
		if outside(id, table.Rows) {
			return k
		}
		in, w := row(table, int(id))[:len(dst)], weights[k]
		i := 0
		for ; len(dst)-i >= 4; i += 4 {
			x, y := four(dst, i), four(in, i)
			x[0] += float32(w * y[0])
			x[1] += float32(w * y[1])
			x[2] += float32(w * y[2])
			x[3] += float32(w * y[3])
		}
		for ; i < len(dst); i++ {
			dst[i] += float32(w * in[i])
		}
	}
	return len(ids)
}

// raise replaces the elements of dst by those of src that are greater.
func raise(dst, src []float32) {
	dst = dst[:len(src)]
	i := 0
	for ; len(src)-i >= 4; i += 4 {
		x, y := four(dst, i), four(src, i)
		if y[0] > x[0] {
			x[0] = y[0]
		}
		if y[1] > x[1] {
			x[1] = y[1]
		}
		if y[2] > x[2] {
			x[2] = y[2]
		}
		if y[3] > x[3] {
			x[3] = y[3]
		}
	}
	for ; i < len(src); i++ {
		if src[i] > dst[i] {
			dst[i] = src[i]
		}
	}
}
