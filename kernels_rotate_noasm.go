//go:build purego || (!amd64 && !arm64)

package rowvec

import "github.com/rowvec/rowvec/kernels"

func rotate(dst, src *Matrix, r *Rotation, angles *Matrix, start, seq int) {
	kernels.Rotate(*dst, *src, *r, *angles, start, seq)
}

func rotateAt[P ID](dst, src *Matrix, r *Rotation, angles *Matrix, at []P) int {
	return kernels.RotateAt(*dst, *src, *r, *angles, at)
}
