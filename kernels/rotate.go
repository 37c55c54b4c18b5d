package kernels

// Rotation says how Rotate divides a row into heads, and their elements into pairs.
//
// A row is Heads heads of the same number of elements, one behind the other. Of each, the first n are n/2 pairs, n being
// the number of columns of the angles: elements 2i and 2i+1 of the head if Interleaved (as in the paper of Su et al., and
// in GPT-J), and i and n/2+i otherwise (as in GPT-NeoX and in the Llama of Hugging Face). Elements from n on are not
// rotated. Inverse turns the other way, which undoes the rotation and is its gradient.
type Rotation struct {
	Heads       int
	Interleaved bool
	Inverse     bool
}

// Rotate sets row i of dst to row i of src with each head rotated by row start + i mod seq of angles, which is n/2 cosines
// and then n/2 sines: pair i, (a, b), becomes
//
//	a*cos(i) - b*sin(i), b*cos(i) + a*sin(i)
//
// with each product rounded before the sum; for the inverse, with the sines negated. What is not rotated is copied. dst has
// the shape of src, and may be src.
func Rotate(dst, src Matrix, r Rotation, angles Matrix, start, seq int) {
	plain(&dst, src.Rows, src.Cols)
	plain(&src, dst.Rows, dst.Cols)
	plain(&angles, angles.Rows, angles.Cols)
	r.check(src.Cols, angles.Cols)
	p := 0
	for i := range dst.Rows {
		r.rotate(row(&dst, i), row(&src, i), row(&angles, start+p))
		if p++; p == seq {
			p = 0
		}
	}
}

// RotateAt is Rotate with row at[i] of angles for row i. It returns the number of rows done, which is less than len(at) if
// the next position is out of range.
func RotateAt[P ID](dst, src Matrix, r Rotation, angles Matrix, at []P) (done int) {
	plain(&dst, len(at), src.Cols)
	plain(&src, len(at), dst.Cols)
	plain(&angles, angles.Rows, angles.Cols)
	r.check(src.Cols, angles.Cols)
	for i, p := range at {
		if outside(p, angles.Rows) {
			return i
		}
		r.rotate(row(&dst, i), row(&src, i), row(&angles, int(p)))
	}
	return len(at)
}

func (r Rotation) check(cols, angles int) {
	if r.Heads < 1 || cols%r.Heads != 0 || angles%2 != 0 || angles > cols/r.Heads {
		panic("rowvec/kernels: rows that do not divide into heads, or heads into pairs")
	}
}

// rotate does one row.
func (r Rotation) rotate(dst, src, angles []float32) {
	half, dim := len(angles)/2, len(src)/r.Heads
	cos, sin, sign := angles[:half], angles[half:][:half], float32(1)
	if r.Inverse {
		sign = -1
	}
	for first := 0; first < len(src); first += dim {
		out, in := dst[first:][:dim], src[first:][:dim]
		if r.Interleaved {
			rotatePairs(out, in, cos, sin, sign)
		} else {
			rotateHalves(out, in, cos, sin, sign)
		}
		if rest := in[2*half:]; len(rest) > 0 && &out[0] != &in[0] {
			copy(out[2*half:], rest)
		}
	}
}

func rotateHalves(dst, src, cos, sin []float32, sign float32) {
	half := len(cos)
	left, right := dst[:half], dst[half:][:half]
	x, y := src[:half], src[half:][:half]
	sin = sin[:half]
	for i, c := range cos {
		a, b, s := x[i], y[i], sign*sin[i]
		left[i], right[i] = float32(a*c)-float32(b*s), float32(b*c)+float32(a*s)
	}
}

func rotatePairs(dst, src, cos, sin []float32, sign float32) {
	dst, src, sin = dst[:2*len(cos)], src[:2*len(cos)], sin[:len(cos)]
	for i, c := range cos {
		a, b, s := src[2*i], src[2*i+1], sign*sin[i]
		dst[2*i], dst[2*i+1] = float32(a*c)-float32(b*s), float32(b*c)+float32(a*s)
	}
}
