//go:build !purego

package rowvec

import "github.com/rowvec/rowvec/internal/tuning"

// AVX-512 pays for updates from wideColumns on, but for short tails, which shortTail is about and Adam is not. On a Zen 4, whose halves
// take turns, ns per row with AVX2 and AVX-512, medians of interleaved rounds on a busy machine:
//
//	                     row-wise     Adagrad      Adam
//	50,257 x 768         377   357    588   560    775   755
//	1,000,000 x 64       37.8  31.2   46.4  44.5   82.0  63.9
//	1,000 x 64           17.6  16.6   22.2  19.5   34.1  26.5
//	1,000 x 31           8.8   7.7    14.9  10.5   18.1  14.1
//	1,000 x 24           6.3   6.6    7.2   9.3    8.5   11.4
//	1,000 x 8            4.6   5.2    3.4   4.9    4.2   5.5
//
// Of 33 to 63 columns that are prefetched, AVX2 is quicker where AVX-512 is in halves, and row-wise anywhere:
// 1,000,000 x 33 21 and 59, 25 and 60, 49 and 88; 1,000,000 x 50 21 and 39, 47 and 67, 71 and 92; 20,000 x 40 9.2 and 9.8, 12.9
// and 15.2, 18.3 and 21.8; row-wise on a Zen 5 1,000,000 x 40 10.9 and 12.5, x 50 16.8 and 16.6, but Adagrad x 48 there 23.1 and
// 15.9 (UPDATE_COLUMNS in kernels_update_amd64.s).

// avx512 reports whether update k is to run on AVX-512.
func (a *updateArgs) avx512(k updateOp) bool {
	return (a.wide512() && (k == opUpdateAdam || !a.shortTail()) || k != opUpdateRowAdagrad && fullWidth() && a.cols > wideColumns) &&
		(a.ahead > 0 || a.cols > tuning.RootColumns || k != opUpdateAdagrad && k != opUpdateAdam)
}

// do runs update k on one chunk. It is not inlined, for the reason that do of rowArgs is not.
//
//go:noinline
func (a *updateArgs) do(k updateOp) int {
	if a.avx512(k) {
		switch k {
		case opUpdateAdd:
			return updateAddAVX512(a)
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
	case opUpdateAdd:
		return updateAddAVX2(a)
	case opUpdateSGD:
		return updateSGDAVX2(a)
	case opUpdateAdagrad:
		return updateAdagradAVX2(a)
	case opUpdateRowAdagrad:
		return updateRowAdagradAVX2(a)
	}
	return updateAdamAVX2(a)
}

//go:noescape
func updateAddAVX2(a *updateArgs) (done int)

//go:noescape
func updateSGDAVX2(a *updateArgs) (done int)

//go:noescape
func updateAdagradAVX2(a *updateArgs) (done int)

//go:noescape
func updateRowAdagradAVX2(a *updateArgs) (done int)

//go:noescape
func updateAdamAVX2(a *updateArgs) (done int)

//go:noescape
func updateAddAVX512(a *updateArgs) (done int)

//go:noescape
func updateSGDAVX512(a *updateArgs) (done int)

//go:noescape
func updateAdagradAVX512(a *updateArgs) (done int)

//go:noescape
func updateRowAdagradAVX512(a *updateArgs) (done int)

//go:noescape
func updateAdamAVX512(a *updateArgs) (done int)
