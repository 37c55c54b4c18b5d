package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/tuning"
)

func init() { forward.Do = forwardRows }

// large reports whether a result is too large for the caches.
func large(dst *Matrix) bool { return tuning.Large(dst.Rows * dst.Cols) }

func forwardRows(r forward.Rows) int {
	if r.Wide {
		return forwardIDs(&r, unsafe.Slice((*uint64)(r.IDs), r.Dst.Rows))
	}
	return forwardIDs(&r, unsafe.Slice((*uint32)(r.IDs), r.Dst.Rows))
}

func forwardIDs[I ID](r *forward.Rows, ids []I) int {
	switch {
	case r.At != nil:
		return embedAt(&r.Dst, &r.Table, ids, r.Scale, &r.Positions, r.At, r.Stream)
	case r.Seq != 0:
		return embed(&r.Dst, &r.Table, ids, r.Scale, &r.Positions, r.Start, r.Seq, r.Stream)
	case r.Scaled:
		return gatherScaled(&r.Dst, &r.Table, ids, r.Scale, r.Stream)
	}
	return gather(&r.Dst, &r.Table, ids, r.Stream)
}
