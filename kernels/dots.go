package kernels

// Dots sets element j of row i of dst to the dot product of row i of a and row ids[j] of table, for each j and each i:
// the scores of each row of a against chosen rows of a table. It returns the number of ids done, each for all rows of a.
//
// A dot product has 16 lanes, which start from +0: element i of the products is added to lane i mod 16, for i ascending,
// each product rounded before the sum. Then lane k+8 is added to lane k for each k below 8, k+4 to k below 4, k+2 to k
// below 2, and lane 1 to lane 0. A lane is never -0, since +0 and -0 add up to +0: so adding the product +0 of what a
// vector has beyond the end of a row changes nothing.
func Dots[I ID](dst, a, table Matrix, ids []I) (done int) {
	plain(&dst, a.Rows, len(ids))
	plain(&a, a.Rows, table.Cols)
	plain(&table, table.Rows, table.Cols)
	for j, id := range ids {
		if outside(id, table.Rows) {
			return j
		}
		dotColumn(&dst, j, &a, row(&table, int(id)))
	}
	return len(ids)
}

// DotsAll is Dots with all rows of table: it sets dst to a times the transpose of table.
func DotsAll(dst, a, table Matrix) {
	plain(&dst, a.Rows, table.Rows)
	plain(&a, a.Rows, table.Cols)
	plain(&table, table.Rows, table.Cols)
	if a.Rows == 0 { // without columns, table can have rows without end
		return
	}
	for j := range table.Rows {
		dotColumn(&dst, j, &a, row(&table, j))
	}
}

// dotColumn sets column j of dst to the dot products of the rows of a with y.
func dotColumn(dst *Matrix, j int, a *Matrix, y []float32) {
	for i := range a.Rows {
		dst.Data[i*dst.Stride+j] = dot(row(a, i), y)
	}
}

func dot(x, y []float32) float32 {
	y = y[:len(x)]
	whole := len(x) &^ 7
	s0, s1, s2, s3, s4, s5, s6, s7 := lanes(x[:whole], y[:whole], 0)
	t0, t1, t2, t3, t4, t5, t6, t7 := lanes(x[:whole], y[:whole], 8)
	if whole < len(x) { // what is left are the last of the first lanes or of the others
		var p [8]float32
		for k, v := range x[whole:] {
			p[k] = float32(v * y[whole+k])
		}
		if whole%16 == 0 {
			s0, s1, s2, s3, s4, s5, s6, s7 = s0+p[0], s1+p[1], s2+p[2], s3+p[3], s4+p[4], s5+p[5], s6+p[6], s7+p[7]
		} else {
			t0, t1, t2, t3, t4, t5, t6, t7 = t0+p[0], t1+p[1], t2+p[2], t3+p[3], t4+p[4], t5+p[5], t6+p[6], t7+p[7]
		}
	}
	s0, s1, s2, s3 = (s0+t0)+(s4+t4), (s1+t1)+(s5+t5), (s2+t2)+(s6+t6), (s3+t3)+(s7+t7)
	return (s0 + s2) + (s1 + s3)
}

// lanes returns lanes first to first+7 of eights of elements: as many as stay in registers, where an array would not.
func lanes(x, y []float32, first int) (s0, s1, s2, s3, s4, s5, s6, s7 float32) {
	for i := first; i < len(x); i += 16 {
		p, q := (*[8]float32)(x[i:]), (*[8]float32)(y[i:])
		s0 += float32(p[0] * q[0])
		s1 += float32(p[1] * q[1])
		s2 += float32(p[2] * q[2])
		s3 += float32(p[3] * q[3])
		s4 += float32(p[4] * q[4])
		s5 += float32(p[5] * q[5])
		s6 += float32(p[6] * q[6])
		s7 += float32(p[7] * q[7])
	}
	return
}
