//go:build !purego

package rowvec

// do runs update k on one chunk. It is not inlined, for the reason that do of rowArgs is not.
//
//go:noinline
func (a *updateArgs) do(k updateOp) int {
	switch k {
	case opUpdateAdd:
		return updateAddNEON(a)
	case opUpdateSGD:
		return updateSGDNEON(a)
	case opUpdateAdagrad:
		return updateAdagradNEON(a)
	case opUpdateRowAdagrad:
		return updateRowAdagradNEON(a)
	}
	return updateAdamNEON(a)
}

//go:noescape
func updateAddNEON(a *updateArgs) (done int)

//go:noescape
func updateSGDNEON(a *updateArgs) (done int)

//go:noescape
func updateAdagradNEON(a *updateArgs) (done int)

//go:noescape
func updateRowAdagradNEON(a *updateArgs) (done int)

//go:noescape
func updateAdamNEON(a *updateArgs) (done int)
