//go:build purego || (!amd64 && !arm64)

package rowvec

import (
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/kernels"
)

func dropsSums(int) bool { return false }

func dropSums(r *forward.Rows, mask *Mask) int { return dropSumsInSteps(r, mask) }

func dropRows(dst, src *Matrix, mask *Mask, at []int) { defineDropRows(dst, src, mask, at) }

func dropout(dst, src *Matrix, mask *Mask) { kernels.Dropout(*dst, *src, *mask) }

func dropoutMeanwhile(dst, src *Matrix, mask *Mask, _ bool, _ *forward.Next) bool {
	dropout(dst, src, mask)
	return false
}
