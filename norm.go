package rowvec

import "math"

// LayerNorm is layer normalisation (Ba, Kiros and Hinton, "Layer normalization", 2016): for each row of src, with n elements
// x, it sets the row of dst to
//
//	((x-mean)*r)*gamma + beta, where r is 1/sqrt(variance+epsilon)
//
// and the mean and the variance are those of the row: the variance is the mean of the squares of x-mean, without a
// correction of bias, as in PyTorch's nn.LayerNorm. Every operation is rounded to float32, and the definition in package
// kernels says in which order: sums have 16 lanes and a tree, and so are the same at every instruction set. PyTorch adds in
// an order of its own, so that its results differ in their last bits.
//
// A row of equal elements, n of which add up without rounding, becomes beta, or NaN if epsilon is 0. A row becomes beta,
// too, if the squares of x-mean add up beyond float32, for which one x-mean of 2e19 is enough; PyTorch has NaN there. A row with an
// infinity or a NaN, or of a sum beyond float32, becomes NaN.
//
// src has the shape of dst, gamma and beta an element for each column; strides are free. dst and src may be the same matrix,
// with the same first element and the same stride. Errors: ShapeError; OverlapError if dst shares memory with src otherwise,
// or with gamma or beta; ValueError if epsilon is negative, infinite or NaN; then dst is as it was.
func LayerNorm(dst, src Matrix, gamma, beta []float32, epsilon float32) error {
	const op = "LayerNorm"
	if err := checkNorm(op, "dst", &dst, "src", &src, gamma, epsilon); err != nil {
		return err
	}
	if err := checkEqual(op, "len(beta)", "", len(beta), dst.Cols); err != nil {
		return err
	}
	if err := checkVectorApart(op, "dst", &dst, "beta", beta); err != nil || dst.Rows == 0 || dst.Cols == 0 {
		return err
	}
	layerNorm(&dst, &src, gamma, beta, epsilon)
	return nil
}

// LayerNormBackward is the gradient of LayerNorm, given the gradient dOut of its result. It needs nothing of the forward
// pass but src, from which it works out anew, for each row, the mean, r, and xhat = (x-mean)*r. With the elements d of dOut
// and g = d*gamma it sets the row of dSrc to
//
//	((g - mean(g)) - xhat*mean(g*xhat))*r
//
// and adds d*xhat to dGamma and d to dBeta, for rows ascending. Rounding and sums are those of LayerNorm. Where squares add up
// beyond float32, r is 0, and so is the row of dSrc; PyTorch has NaN there too.
//
// dSrc and dOut have the shape of src, gamma, dGamma and dBeta an element for each column; strides are free. dSrc and dOut
// may be the same matrix, with the same first element and the same stride. Errors: ShapeError; OverlapError if dSrc, dGamma
// or dBeta shares memory with another argument otherwise; ValueError if epsilon is negative, infinite or NaN; then all three
// are as they were.
func LayerNormBackward(dSrc, dOut, src Matrix, gamma []float32, epsilon float32, dGamma, dBeta []float32) error {
	const op = "LayerNormBackward"
	if err := checkNorm(op, "dSrc", &dSrc, "dOut", &dOut, gamma, epsilon); err != nil {
		return err
	}
	if !fits(&src) {
		return CheckMatrix(op, "src", src)
	}
	if err := checkEqual(op, "src", ".Rows", src.Rows, dSrc.Rows); err != nil {
		return err
	}
	if err := checkEqual(op, "src", ".Cols", src.Cols, dSrc.Cols); err != nil {
		return err
	}
	if err := checkEqual(op, "len(dGamma)", "", len(dGamma), dSrc.Cols); err != nil {
		return err
	}
	if err := checkEqual(op, "len(dBeta)", "", len(dBeta), dSrc.Cols); err != nil {
		return err
	}
	if err := checkApart(op, "dSrc", &dSrc, "src", &src); err != nil {
		return err
	}
	if err := checkSumApart(op, "dGamma", dGamma, &dSrc, &dOut, &src, gamma); err != nil {
		return err
	}
	if err := checkSumApart(op, "dBeta", dBeta, &dSrc, &dOut, &src, gamma); err != nil {
		return err
	}
	if slicesMeet(dBeta, dGamma) {
		return &OverlapError{op, "dBeta", "dGamma"}
	}
	if dSrc.Rows == 0 || dSrc.Cols == 0 {
		return nil
	}
	layerNormBackward(&dSrc, &dOut, &src, gamma, epsilon, dGamma, dBeta)
	return nil
}

// checkNorm checks what a normalisation and its gradient share: dst may be src.
func checkNorm(op, dstName string, dst *Matrix, srcName string, src *Matrix, gamma []float32, epsilon float32) error {
	if !fits(dst) {
		return CheckMatrix(op, dstName, *dst)
	}
	if !fits(src) {
		return CheckMatrix(op, srcName, *src)
	}
	if err := checkEqual(op, srcName, ".Rows", src.Rows, dst.Rows); err != nil {
		return err
	}
	if err := checkEqual(op, srcName, ".Cols", src.Cols, dst.Cols); err != nil {
		return err
	}
	if err := checkEqual(op, "len(gamma)", "", len(gamma), dst.Cols); err != nil {
		return err
	}
	if !(epsilon >= 0 && epsilon <= math.MaxFloat32) {
		return &ValueError{op, "epsilon", epsilon, "a finite one of at least 0"}
	}
	if err := checkVectorApart(op, dstName, dst, "gamma", gamma); err != nil {
		return err
	}
	if extent(dst) > 0 && &dst.Data[0] == &src.Data[0] && dst.Stride == src.Stride {
		return nil
	}
	return checkApart(op, dstName, dst, srcName, src)
}

// checkSumApart checks that the gradient of a vector shares no memory with the matrices or with gamma.
func checkSumApart(op, name string, sum []float32, dSrc, dOut, src *Matrix, gamma []float32) error {
	other := ""
	switch {
	case meets(dSrc, sum):
		other = "dSrc"
	case meets(dOut, sum):
		other = "dOut"
	case meets(src, sum):
		other = "src"
	case slicesMeet(sum, gamma):
		other = "gamma"
	default:
		return nil
	}
	return &OverlapError{op, name, other}
}
