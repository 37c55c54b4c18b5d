package rowvec

import "github.com/rowvec/rowvec/kernels"

// Rotation says how Rotate divides a row into heads, and their elements into pairs: into neighbours if Interleaved, as in
// the paper and in GPT-J, or else into elements that are half of the rotated part apart, as in GPT-NeoX and in the Llama of
// Hugging Face. Inverse turns the other way, which undoes a rotation and is its gradient. The fields are Heads int,
// Interleaved and Inverse bool. The definition is that of kernels.Rotation.
type Rotation = kernels.Rotation

// Rotate sets row i of dst, a token, to row i of src with each of its r.Heads heads rotated by row start + i mod seq of
// angles: the rotary position embedding of Su et al., "RoFormer: enhanced transformer with rotary position embedding"
// (2021). A row of angles is n/2 cosines and then n/2 sines, and pair i of a head, (a, b), becomes
//
//	a*cos(i) - b*sin(i), b*cos(i) + a*sin(i)
//
// with each product rounded before the sum: the bits of the usual x*cos + rotate_half(x)*sin of PyTorch. With r.Inverse,
// sines are negated.
//
// dst and src are sequences of seq tokens, one behind the other, of r.Heads times the head dim columns; strides are free,
// so that the queries or the keys within a matrix of both can be rotated where they are. dst and src may be the same matrix,
// with the same first element and the same stride. angles has n columns, n even and at most the head dim: the first n
// elements of each head are rotated, and the others copied. Errors: ShapeError, also if the rows are no multiple of seq, or
// if start+seq exceeds angles.Rows; OverlapError if dst shares memory with angles, or with src otherwise; then dst is as it
// was. Without rows, seq and start do not matter.
func Rotate(dst, src Matrix, r Rotation, angles Matrix, start, seq int) error {
	const op = "Rotate"
	if err := checkRotate(op, &dst, &src, &r, &angles); err != nil || dst.Rows == 0 {
		return err
	}
	if err := checkSequences(op, "dst.Rows", dst.Rows, angles.Rows, start, seq); err != nil {
		return err
	}
	if err := checkRotateApart(op, &dst, &src, &angles); err != nil || dst.Cols == 0 {
		return err
	}
	rotate(&dst, &src, &r, &angles, start, seq)
	return nil
}

// RotateAt is Rotate with a position for each row: row i is rotated by row at[i] of angles. It serves ragged batches, padded
// ones, and decoders whose sequences have come to different positions.
//
// at has one position id in [0, angles.Rows) for each row of dst. Errors are those of Rotate, and IndexError.
func RotateAt[P ID](dst, src Matrix, r Rotation, angles Matrix, at []P) error {
	const op = "RotateAt"
	if err := checkRotate(op, &dst, &src, &r, &angles); err != nil {
		return err
	}
	if err := checkEqual(op, "len(at)", "", len(at), dst.Rows); err != nil {
		return err
	}
	if err := checkIDs(op, "position id", at, angles.Rows); err != nil {
		return err
	}
	if err := checkRotateApart(op, &dst, &src, &angles); err != nil {
		return err
	}
	if err := checkIDsApart(op, "dst", &dst, "position id", at); err != nil || dst.Rows == 0 || dst.Cols == 0 {
		return err
	}
	return checkDone(op, rotateAt(&dst, &src, &r, &angles, at), len(at))
}

func checkRotate(op string, dst, src *Matrix, r *Rotation, angles *Matrix) error {
	if !fits(dst) {
		return CheckMatrix(op, "dst", *dst)
	}
	if !fits(src) {
		return CheckMatrix(op, "src", *src)
	}
	if !fits(angles) {
		return CheckMatrix(op, "angles", *angles)
	}
	switch {
	case src.Rows != dst.Rows:
		return &ShapeError{op, "src.Rows", src.Rows, "", dst.Rows}
	case src.Cols != dst.Cols:
		return &ShapeError{op, "src.Cols", src.Cols, "", dst.Cols}
	case r.Heads < 1:
		return &ShapeError{op, "r.Heads", r.Heads, "at least ", 1}
	case dst.Cols%r.Heads != 0:
		return &ShapeError{op, "dst.Cols", dst.Cols, "a multiple of ", r.Heads}
	case angles.Cols%2 != 0:
		return &ShapeError{op, "angles.Cols", angles.Cols, "a multiple of ", 2}
	case angles.Cols > dst.Cols/r.Heads:
		return &ShapeError{op, "angles.Cols", angles.Cols, "at most ", dst.Cols / r.Heads}
	}
	return nil
}

// checkRotateApart lets dst be src.
func checkRotateApart(op string, dst, src, angles *Matrix) error {
	if err := checkApart(op, "dst", dst, "angles", angles); err != nil {
		return err
	}
	if extent(dst) > 0 && &dst.Data[0] == &src.Data[0] && dst.Stride == src.Stride {
		return nil
	}
	return checkApart(op, "dst", dst, "src", src)
}
