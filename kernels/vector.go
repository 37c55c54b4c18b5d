package kernels

// AddScaled adds alpha * src to dst, element by element; the vectors are of the same length.
func AddScaled(dst []float32, alpha float32, src []float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] += float32(alpha * x)
	}
}

// Add adds src to dst, element by element; the vectors are of the same length.
func Add(dst, src []float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		dst[i] += x
	}
}

// Scale multiplies each element of dst by alpha.
func Scale(dst []float32, alpha float32) {
	for i := range dst {
		dst[i] *= alpha
	}
}
