package kernels

// Embed sets row i of dst to scale times row ids[i] of table plus row start + i mod seq of positions, where the product
// is rounded before the sum. It returns the number of rows done.
func Embed[I ID](dst, table Matrix, ids []I, scale float32, positions Matrix, start, seq int) (done int) {
	plain(&dst, len(ids), table.Cols)
	plain(&positions, positions.Rows, table.Cols)
	p := 0
	for first, end := range gathered(dst, table, ids) {
		for i := first; i < end; i++ {
			scaleAdd(row(&dst, i), scale, row(&positions, start+p))
			if p++; p == seq {
				p = 0
			}
		}
		done = end
	}
	return done
}

// EmbedAt is Embed with row at[i] of positions added to row i. The number of rows done is less than len(ids) also where
// the next position is out of range.
func EmbedAt[I, P ID](dst, table Matrix, ids []I, scale float32, positions Matrix, at []P) (done int) {
	plain(&dst, len(ids), table.Cols)
	plain(&positions, positions.Rows, table.Cols)
	if bad := FirstOutside(at, positions.Rows); bad >= 0 {
		ids = ids[:bad]
	}
	for first, end := range gathered(dst, table, ids) {
		for i := first; i < end; i++ {
			p := at[i] // may have changed; read once
			if outside(p, positions.Rows) {
				return i
			}
			scaleAdd(row(&dst, i), scale, row(&positions, int(p)))
		}
		done = end
	}
	return done
}

// scaleAdd sets dst to scale times dst plus src, element by element.
func scaleAdd(dst []float32, scale float32, src []float32) {
	dst = dst[:len(src)]
	i := 0
	for ; len(src)-i >= 4; i += 4 {
		x, y := four(dst, i), four(src, i)
		x[0] = float32(scale*x[0]) + y[0]
		x[1] = float32(scale*x[1]) + y[1]
		x[2] = float32(scale*x[2]) + y[2]
		x[3] = float32(scale*x[3]) + y[3]
	}
	for ; i < len(src); i++ {
		dst[i] = float32(scale*dst[i]) + src[i]
	}
}
