//go:build purego || (!amd64 && !arm64)

package rowvec

import "github.com/rowvec/rowvec/kernels"

func sinusoids(dst *Matrix, skip int, x, y, c []float64, _ bool) {
	kernels.Sinusoids(*dst, skip, x, y, c)
}
