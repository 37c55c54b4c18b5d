//go:build purego || (!amd64 && !arm64)

package rowvec

import "github.com/rowvec/rowvec/kernels"

func sinusoids(dst *Matrix, skip int, x, d, s []float64) { kernels.Sinusoids(*dst, skip, x, d, s) }
