//go:build purego || (!amd64 && !arm64)

package rowvec

import (
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/kernels"
)

func takesPlaces(*forward.Update) bool { return false }

func updateSGD[I ID](table *Matrix, ids []I, grad *Matrix, rate, decay float32, _ *hint) int {
	return kernels.UpdateSGD(*table, ids, *grad, rate, decay)
}

func updateAdagrad[I ID](table, sums *Matrix, ids []I, grad *Matrix, rate, epsilon float32, _ *hint) int {
	return kernels.UpdateAdagrad(*table, *sums, ids, *grad, rate, epsilon)
}

func updateRowAdagrad[I ID](table *Matrix, sums []float32, ids []I, grad *Matrix, rate, epsilon float32, _ *hint) int {
	return kernels.UpdateRowAdagrad(*table, sums, ids, *grad, rate, epsilon)
}

func updateAdam[I ID](table, means, squares *Matrix, ids []I, grad *Matrix, step AdamStep, _ *hint) int {
	return kernels.UpdateAdam(*table, *means, *squares, ids, *grad, step)
}
