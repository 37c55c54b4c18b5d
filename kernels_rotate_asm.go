//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/kernels"
)

// rotateArgs is what the assembly behind Rotate and RotateAt works on. Strides are in bytes; rows and heads are above 0. The
// assembly moves angleAt on, and returns the number of rows done, which is less than rows if the next position is not below
// limit.
type rotateArgs struct {
	dst          *float32 // row 0
	dstStride    uintptr
	src          *float32
	srcStride    uintptr
	angles       *float32 // the first row that is counted, or row 0 if there is at
	anglesStride uintptr
	//lint:ignore U1000 for the assembly alone
	angleAt    uintptr        // bytes behind angles of the row that belongs to row 0
	anglesEnd  uintptr        // bytes of the rows that are counted; a multiple of anglesStride
	at         unsafe.Pointer // nil, or uint32 or uint64
	wide       uint64
	limit      uint64 // idLimit of at
	rows       int
	heads      int
	headStride uintptr // from a head to the next
	pairs      int     // to rotate
	half       uintptr // bytes from a cosine to its sine, and from an element to its partner unless they are interleaved
	rest       int     // elements to copy
	restAt     uintptr // bytes from a head to those

	signs       [2]uint32 // what the bits of sines are changed by, those of two elements side by side
	interleaved bool
}

// prepare sets what does not depend on positions, in place, as normArgs.shape does. There are rows and columns.
func (a *rotateArgs) prepare(dst, src *Matrix, r *Rotation, angles *Matrix) {
	dim := dst.Cols / r.Heads
	a.dstStride, a.srcStride = uintptr(dst.Stride)*4, uintptr(src.Stride)*4
	a.heads, a.headStride = r.Heads, uintptr(dim)*4
	a.pairs = angles.Cols / 2
	a.half, a.restAt = uintptr(angles.Cols)*2, uintptr(angles.Cols)*4
	a.interleaved = r.Interleaved
	if a.pairs > 0 {
		a.anglesStride = uintptr(angles.Stride) * 4
	}
	if &dst.Data[0] != &src.Data[0] {
		a.rest = dim - angles.Cols
	}
	race.WriteHeads(dst, r.Heads, angles.Cols+a.rest)
	race.ReadHeads(src, r.Heads, angles.Cols+a.rest)
	const minus = 1 << 31
	if r.Interleaved { // the first of a pair gets minus the sine
		a.signs[0] = minus
	}
	if r.Inverse {
		a.signs[0] ^= minus
		a.signs[1] ^= minus
	}
}

func rotate(dst, src *Matrix, r *Rotation, angles *Matrix, start, seq int) {
	if isa.Active() == isa.Portable {
		kernels.Rotate(*dst, *src, *r, *angles, start, seq)
		return
	}
	race.ReadRange(angles, start, seq)
	a := rotateArgs{dst: &dst.Data[0], src: &src.Data[0]}
	a.prepare(dst, src, r, angles)
	if a.pairs > 0 {
		a.angles = &angles.Data[start*angles.Stride]
		a.anglesEnd = uintptr(seq) * a.anglesStride
	}
	a.run(dst.Rows)
}

func rotateAt[P ID](dst, src *Matrix, r *Rotation, angles *Matrix, at []P) int {
	if isa.Active() == isa.Portable {
		return kernels.RotateAt(*dst, *src, *r, *angles, at)
	}
	race.ReadRows(angles, at)
	a := rotateArgs{dst: &dst.Data[0], src: &src.Data[0]}
	a.prepare(dst, src, r, angles)
	if a.pairs > 0 {
		a.angles = &angles.Data[0]
	}
	a.at, a.wide, a.limit = unsafe.Pointer(&at[0]), wide(at), idLimit[P](angles.Rows)
	return a.run(len(at))
}

// headElements is what a head counts for at least in a chunk: it may miss the caches.
const headElements = chunkElements / chunkRows

func (a *rotateArgs) weight() int { return max(headElements, 2*a.pairs+a.rest) }

// run does n rows and returns the number of rows done.
func (a *rotateArgs) run(n int) int {
	if n <= fewRows && a.weight()*a.heads*n <= chunkElements {
		a.rows = n
		return a.do()
	}
	return a.runPieces(n)
}

// runPieces is run of more than a call does. Heads that are longer than a chunk are done in pieces. Receivers are values: see
// that of rowArgs.
func (a rotateArgs) runPieces(n int) int {
	if a.weight() <= chunkElements {
		return a.runHeads(n)
	}
	for first := 0; first < a.pairs; first += chunkElements / 2 {
		piece, shift := a, first
		if a.interleaved {
			shift = 2 * first
		}
		piece.pairs, piece.rest = min(chunkElements/2, a.pairs-first), 0
		piece.dst, piece.src, piece.angles = element(a.dst, shift), element(a.src, shift), element(a.angles, first)
		if done := piece.runHeads(n); done < n {
			return done
		}
	}
	for first := 0; first < a.rest; first += chunkElements {
		piece := a
		piece.pairs, piece.rest = 0, min(chunkElements, a.rest-first)
		piece.restAt += uintptr(first) * 4
		if done := piece.runHeads(n); done < n {
			return done
		}
	}
	return n
}

// runHeads is run in pieces of as many heads as a chunk holds.
func (a rotateArgs) runHeads(n int) int {
	most := chunkElements / a.weight()
	for first := 0; first < a.heads; first += most {
		piece, shift := a, uintptr(first)*a.headStride
		piece.heads = min(most, a.heads-first)
		piece.dst = (*float32)(unsafe.Add(unsafe.Pointer(a.dst), shift))
		piece.src = (*float32)(unsafe.Add(unsafe.Pointer(a.src), shift))
		if done := piece.runChunks(n); done < n {
			return done
		}
	}
	return n
}

// runChunks is run in chunks of whole rows.
func (a rotateArgs) runChunks(n int) int {
	rows := min(fewRows, chunkElements/(a.weight()*a.heads))
	dst, src, at := a.dst, a.src, a.at
	for first := 0; ; first += rows {
		a.rows = min(rows, n-first)
		if done := a.do(); done < a.rows || first+a.rows == n {
			return first + done
		}
		next := uintptr(first + rows)
		a.dst = (*float32)(unsafe.Add(unsafe.Pointer(dst), next*a.dstStride))
		a.src = (*float32)(unsafe.Add(unsafe.Pointer(src), next*a.srcStride))
		if at != nil {
			a.at = unsafe.Add(at, next*(4+4*uintptr(a.wide)))
		}
	}
}
