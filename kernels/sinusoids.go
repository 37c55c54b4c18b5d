package kernels

// Sinusoids samples a sinusoid in each column, at equal steps of its angle: it steps over skip rows, and then sets each row
// of dst to x, rounded to float32. A step is x[j], y[j] = y[j], c[j]*y[j] - x[j], in float64, the product rounded before the
// difference.
//
// Where x[j] is v(a), y[j] is v(a+t) and c[j] is 2*cos(t), for v(a) = r*sin(a+b) with any r and b, the rows are v(a),
// v(a+t), v(a+2t), ..., since v(a+t) + v(a-t) = 2*cos(t)*v(a): the recurrence of Goertzel's algorithm ("An algorithm for
// the evaluation of finite trigonometric series", 1958).
func Sinusoids(dst Matrix, skip int, x, y, c []float64) {
	plain(&dst, 0, dst.Cols)
	x, y, c = x[:dst.Cols], y[:dst.Cols], c[:dst.Cols]
	for range skip {
		step(x, y, c)
	}
	for i := range dst.Rows {
		out := row(&dst, i)
		for j := range out {
			out[j] = float32(x[j])
		}
		step(x, y, c)
	}
}

func step(x, y, c []float64) {
	x, y = x[:len(c)], y[:len(c)]
	for j, c := range c {
		x[j], y[j] = y[j], float64(c*y[j])-x[j]
	}
}
