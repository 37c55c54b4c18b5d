//go:build !purego

package rowvec

import "github.com/rowvec/rowvec/internal/isa"

// do runs update k on one chunk. It is not inlined, for the reason that do of rowArgs is not.
//
//go:noinline
func (a *updateArgs) do(k updateOp) int {
	if isa.Active() == isa.AVX512 && a.cols >= wideColumns {
		switch k {
		case opUpdateSGD:
			return updateSGDAVX512(a)
		case opUpdateAdagrad:
			return updateAdagradAVX512(a)
		case opUpdateRowAdagrad:
			return updateRowAdagradAVX512(a)
		}
		return updateAdamAVX512(a)
	}
	switch k {
	case opUpdateSGD:
		return updateSGDAVX2(a)
	case opUpdateAdagrad:
		return updateAdagradAVX2(a)
	case opUpdateRowAdagrad:
		return updateRowAdagradAVX2(a)
	}
	return updateAdamAVX2(a)
}

//go:noinline
func addSquaresChunk(lanes *[16]float32, x []float32) { addSquaresAVX2(lanes, &x[0], len(x)) }

//go:noescape
func updateSGDAVX2(a *updateArgs) (done int)

//go:noescape
func updateAdagradAVX2(a *updateArgs) (done int)

//go:noescape
func updateRowAdagradAVX2(a *updateArgs) (done int)

//go:noescape
func updateAdamAVX2(a *updateArgs) (done int)

//go:noescape
func addSquaresAVX2(lanes *[16]float32, x *float32, n int)

//go:noescape
func updateSGDAVX512(a *updateArgs) (done int)

//go:noescape
func updateAdagradAVX512(a *updateArgs) (done int)

//go:noescape
func updateRowAdagradAVX512(a *updateArgs) (done int)

//go:noescape
func updateAdamAVX512(a *updateArgs) (done int)
