//go:build purego || (!amd64 && !arm64)

package rowvec

import "github.com/rowvec/rowvec/kernels"

func layerNorm(dst, src *Matrix, gamma, beta []float32, epsilon float32) {
	kernels.LayerNorm(*dst, *src, gamma, beta, epsilon)
}

func layerNormBackward(dSrc, dOut, src *Matrix, gamma []float32, epsilon float32, dGamma, dBeta []float32) {
	kernels.LayerNormBackward(*dSrc, *dOut, *src, gamma, epsilon, dGamma, dBeta)
}
