package kernels

// AddScaled adds alpha * src to dst, element by element; the vectors are of the same length.
func AddScaled(dst []float32, alpha float32, src []float32) {
	dst = dst[:len(src)]
	i := 0
	for ; len(src)-i >= 4; i += 4 {
		x, y := four(dst, i), four(src, i)
		x[0] += float32(alpha * y[0])
		x[1] += float32(alpha * y[1])
		x[2] += float32(alpha * y[2])
		x[3] += float32(alpha * y[3])
	}
	for ; i < len(src); i++ {
		dst[i] += float32(alpha * src[i])
	}
}

// Add adds src to dst, element by element; the vectors are of the same length.
func Add(dst, src []float32) {
	dst = dst[:len(src)]
	i := 0
	for ; len(src)-i >= 4; i += 4 {
		x, y := four(dst, i), four(src, i)
		x[0] += y[0]
		x[1] += y[1]
		x[2] += y[2]
		x[3] += y[3]
	}
	for ; i < len(src); i++ {
		dst[i] += src[i]
	}
}

// Scale multiplies each element of dst by alpha.
func Scale(dst []float32, alpha float32) {
	i := 0
	for ; len(dst)-i >= 4; i += 4 {
		x := four(dst, i)
		*x = [4]float32{alpha * x[0], alpha * x[1], alpha * x[2], alpha * x[3]}
	}
	for ; i < len(dst); i++ {
		dst[i] *= alpha
	}
}
