package kernels

// AddAngles sets dst to the sines and cosines, in turn, of the sums of angles whose sines and cosines, in turn, are in a
// and b. It calculates in float64, with each product rounded before the sum, and rounds the results to float32. Where
// the length of dst is odd, its last element is a sine, and a and b have the cosine that belongs to it.
func AddAngles(dst []float32, a, b []float64) {
	a, b = a[:len(dst)+len(dst)&1], b[:len(dst)+len(dst)&1]
	i := 0
	for ; i+1 < len(dst); i += 2 {
		sinA, cosA, sinB, cosB := a[i], a[i+1], b[i], b[i+1] // all read before the first write, which is 20% faster
		dst[i], dst[i+1] = float32(sine(sinA, cosA, sinB, cosB)), float32(cosine(sinA, cosA, sinB, cosB))
	}
	if i < len(dst) {
		dst[i] = float32(sine(a[i], a[i+1], b[i], b[i+1]))
	}
}

func sine(sinA, cosA, sinB, cosB float64) float64 { return float64(sinA*cosB) + float64(cosA*sinB) }

func cosine(sinA, cosA, sinB, cosB float64) float64 { return float64(cosA*cosB) - float64(sinA*sinB) }
