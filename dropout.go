package rowvec

import (
	"math"

	"github.com/rowvec/rowvec/kernels"
)

// Mask says which elements of a matrix Dropout drops, and which part of that matrix is done. Each element is dropped with
// probability P, independently of all others and of those of other seeds and steps: whether it is depends on Seed, Step
// and its own row and column alone, so that a mask need not be stored, and that the parts of a matrix can be done in any
// order, by anybody, on any machine. P takes effect as the nearest multiple of 1/256 below 1: 0.1 as 26/256, which is
// 0.1016. Its fields are P float64, Seed and Step uint64, and Row and Col int, where in the whole matrix that part begins. The
// definition is that of kernels.Mask.
type Mask = kernels.Mask

// The rows and columns that a mask reaches to.
const (
	maskRows = min(math.MaxInt, 1<<32)
	maskCols = min(math.MaxInt, 1<<36)
)

// Dropout sets each element of dst to mask.Scale() times that of src, rounded to float32, or to +0 if mask drops it
// (Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014, in the inverted form that
// frameworks use). It is its own gradient: of dst with respect to src, given that of dst in the place of src.
//
// A probability takes effect as the nearest multiple of 1/256 below 1, mask.Threshold() of them, and mask.Scale() is exactly
// what goes with that: 0.1 drops 26 of 256 and multiplies the others by 256/230. A probability that takes effect as 0, below
// 1/512, makes a copy. dst and src are rows from mask.Row on, and columns from mask.Col on, of a matrix of up to 1<<32 rows
// and 1<<36 columns, any window of which may be done separately, with the same bits, if its first column is a multiple of 16.
//
// src has the shape of dst; strides are free. dst and src may be the same matrix, with the same first element and the same
// stride. Errors: ShapeError, also for a mask beyond its matrix; OverlapError if dst shares memory with src otherwise;
// ValueError if mask.P is not in [0, 1) or mask.Step is 1<<56 or more; then dst is as it was.
func Dropout(dst, src Matrix, mask Mask) error {
	if err := checkDropout("Dropout", &dst, &src, &mask); err != nil || dst.Rows == 0 || dst.Cols == 0 {
		return err
	}
	dropout(&dst, &src, &mask)
	return nil
}

func checkDropout(op string, dst, src *Matrix, mask *Mask) error {
	if !fits(dst) {
		return CheckMatrix(op, "dst", *dst)
	}
	if !fits(src) {
		return CheckMatrix(op, "src", *src)
	}
	switch {
	case src.Rows != dst.Rows:
		return &ShapeError{op, "src.Rows", src.Rows, "", dst.Rows}
	case src.Cols != dst.Cols:
		return &ShapeError{op, "src.Cols", src.Cols, "", dst.Cols}
	case !(mask.P >= 0 && mask.P < 1):
		return &ValueError{op, "mask.P", mask.P, "one in [0, 1)"}
	case mask.Step>>56 != 0:
		return &ValueError{op, "mask.Step", mask.Step, "one below 72057594037927936"} // 1<<56
	case dst.Rows > maskRows:
		return &ShapeError{op, "dst.Rows", dst.Rows, "at most ", maskRows}
	case dst.Cols > maskCols:
		return &ShapeError{op, "dst.Cols", dst.Cols, "at most ", maskCols}
	case mask.Row < 0:
		return &ShapeError{op, "mask.Row", mask.Row, "at least ", 0}
	case mask.Row > maskRows-dst.Rows:
		return &ShapeError{op, "mask.Row", mask.Row, "at most ", maskRows - dst.Rows}
	case mask.Col < 0:
		return &ShapeError{op, "mask.Col", mask.Col, "at least ", 0}
	case mask.Col%16 != 0:
		return &ShapeError{op, "mask.Col", mask.Col, "a multiple of ", 16}
	case mask.Col > maskCols-dst.Cols:
		return &ShapeError{op, "mask.Col", mask.Col, "at most ", maskCols - dst.Cols}
	}
	if extent(dst) > 0 && &dst.Data[0] == &src.Data[0] && dst.Stride == src.Stride {
		return nil
	}
	return checkApart(op, "dst", dst, "src", src)
}
