package kernels

// LayerNorm is the layer normalisation of Ba, Kiros and Hinton (2016): for each row of src, with n elements x,
//
//	mean = (sum of x)/n
//	c = x - mean
//	variance = (sum of c*c)/n
//	r = 1/sqrt(variance+epsilon)
//
// it sets the row of dst to (c*r)*gamma + beta. Every operation is rounded to float32, n too; the square root is the exact
// one, rounded. A sum has 16 lanes, which start from +0: element j is added to lane j mod 16, for j ascending; then lane k+8
// is added to lane k for each k below 8, k+4 to k below 4, k+2 to k below 2, and lane 1 to lane 0.
//
// dst has the shape of src, and may be src; gamma and beta have an element for each column.
func LayerNorm(dst, src Matrix, gamma, beta []float32, epsilon float32) {
	plain(&dst, src.Rows, src.Cols)
	plain(&src, dst.Rows, dst.Cols)
	gamma, beta = gamma[:src.Cols], beta[:src.Cols]
	if src.Cols == 0 {
		return
	}
	for i := range dst.Rows {
		in, out := row(&src, i), row(&dst, i)
		mean, r := moments(in, epsilon)
		for j, x := range in {
			out[j] = float32(float32((x-mean)*r)*gamma[j]) + beta[j]
		}
	}
}

// LayerNormBackward is the gradient of LayerNorm, given the gradient dOut of its result. It works out mean, c and r of each
// row of src anew. With the elements d of the row of dOut,
//
//	xhat = c*r
//	g = d*gamma
//	a = (sum of g)/n
//	b = (sum of g*xhat)/n
//
// it sets the row of dSrc to ((g - a) - xhat*b)*r, and adds d*xhat to dGamma and d to dBeta, for rows ascending. Rounding
// and sums are those of LayerNorm.
//
// dSrc and dOut have the shape of src, and dSrc may be dOut; gamma, dGamma and dBeta have an element for each column.
func LayerNormBackward(dSrc, dOut, src Matrix, gamma []float32, epsilon float32, dGamma, dBeta []float32) {
	plain(&dSrc, src.Rows, src.Cols)
	plain(&dOut, src.Rows, src.Cols)
	plain(&src, dSrc.Rows, dSrc.Cols)
	gamma, dGamma, dBeta = gamma[:src.Cols], dGamma[:src.Cols], dBeta[:src.Cols]
	if src.Cols == 0 {
		return
	}
	n := float32(src.Cols)
	for i := range dSrc.Rows {
		in := row(&src, i)
		from, to := row(&dOut, i)[:len(in)], row(&dSrc, i)[:len(in)]
		mean, r := moments(in, epsilon)
		var first, second [lanes16]float32
		for j := 0; j < len(in); j += lanes16 {
			for k, x := range in[j:min(j+lanes16, len(in))] {
				g := float32(from[j+k] * gamma[j+k])
				first[k] += g
				second[k] += float32(g * float32((x-mean)*r))
			}
		}
		a, b := tree(&first)/n, tree(&second)/n
		for j, x := range in {
			d, xhat := from[j], float32((x-mean)*r)
			dGamma[j] += float32(d * xhat)
			dBeta[j] += d
			to[j] = float32(float32(float32(d*gamma[j])-a)-float32(xhat*b)) * r
		}
	}
}

// lanes16 is the number of lanes that sums have.
const lanes16 = 16

// moments returns the mean of x and 1 over the root of its variance and epsilon, as LayerNorm says.
func moments(x []float32, epsilon float32) (mean, r float32) {
	n := float32(len(x))
	var sums, squares [lanes16]float32
	for j := 0; j < len(x); j += lanes16 {
		for k, y := range x[j:min(j+lanes16, len(x))] {
			sums[k] += y
		}
	}
	mean = tree(&sums) / n
	for j := 0; j < len(x); j += lanes16 {
		for k, y := range x[j:min(j+lanes16, len(x))] {
			c := y - mean
			squares[k] += float32(c * c)
		}
	}
	return mean, 1 / root(tree(&squares)/n+epsilon)
}

// tree adds up lanes as LayerNorm says.
func tree(lanes *[lanes16]float32) float32 {
	for n := lanes16 / 2; n > 0; n /= 2 {
		for k := range n {
			lanes[k] += lanes[k+n]
		}
	}
	return lanes[0]
}
