package kernels

// Sinusoids samples a sinusoid in each column, at equal steps of its angle: it steps over skip rows, and then sets each row
// of dst to x, rounded to float32. A step is x[j] += d[j] and then d[j] -= s[j]*x[j], in float64, the product rounded before
// the difference.
//
// Where x[j] is v(a), d[j] is v(a+t) - v(a) and s[j] is 4*sin(t/2)^2, for v(a) = r*sin(a+b) with any r and b, the rows are
// v(a), v(a+t), v(a+2t), ..., since v(a+t) - 2*v(a) + v(a-t) = -s*v(a). This is Goertzel's recurrence in the form that
// Reinsch gave it, whose error grows with the number of steps, and not with its square over t, where t is small (Stoer and
// Bulirsch, Introduction to Numerical Analysis, section 2.3.3; Oliver, "An error analysis of the modified Clenshaw method
// for evaluating Chebyshev and Fourier series", 1977).
func Sinusoids(dst Matrix, skip int, x, d, s []float64) {
	plain(&dst, 0, dst.Cols)
	x, d, s = x[:dst.Cols], d[:dst.Cols], s[:dst.Cols]
	for range skip {
		step(x, d, s)
	}
	for i := range dst.Rows {
		out := row(&dst, i)
		for j := range out {
			out[j] = float32(x[j])
		}
		step(x, d, s)
	}
}

func step(x, d, s []float64) {
	x, d = x[:len(s)], d[:len(s)]
	for j, s := range s {
		x[j] += d[j]
		d[j] -= float64(s * x[j])
	}
}
