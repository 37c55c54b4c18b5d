//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/kernels"
)

// normArgs is what the assembly of layer normalisation works on. Strides are in bytes; rows and cols are above 0. The
// assembly of amd64 counts rows down.
type normArgs struct {
	dst        *float32 // row 0, here and below; of dSrc where there is a gradient
	dstStride  uintptr
	src        *float32
	srcStride  uintptr
	gamma      *float32
	beta       *float32 // forward
	dOut       *float32 // backward, like what follows
	dOutStride uintptr
	dGamma     *float32
	dBeta      *float32
	rows       int
	cols       int
	size       int     // bytes of a row
	whole      int     // bytes of its blocks of 16 columns
	last       int     // see lastColumns
	count      float32 // cols
	epsilon    float32
	near       bool // prefetch into the first-level cache
	stream     bool // write dst past the caches
}

// shape sets what depends on neither the part of the matrix nor its vectors. It is done in place: arguments that a function
// returns are copied by loads that wait for the stores before them, 4 ns of a call for one row.
func (a *normArgs) shape(dst, src *Matrix, epsilon float32) {
	race.WriteMatrix(dst)
	race.ReadMatrix(src)
	a.dstStride, a.srcStride = uintptr(dst.Stride)*4, uintptr(src.Stride)*4
	a.cols, a.size, a.whole, a.last = dst.Cols, dst.Cols*4, dst.Cols&^15*4, lastColumns(dst.Cols)
	a.count, a.epsilon, a.near = float32(dst.Cols), epsilon, near(src)
}

// A row is read up to three times, and its gradient is of three matrices: a call does fewer elements than those of other
// kernels. On a busy Zen 4, the gradient of 64 Ki elements took 110 to 200 us.
const (
	normElements = chunkElements / 4
	longestNorm  = chunkElements / 2
)

// inAssembly reports whether there is assembly for rows of so many columns. Longer ones than a call may do are left to plain
// Go, which can be preempted everywhere.
func inAssembly(cols int) bool {
	return isa.Active() != isa.Portable && cols >= normColumns() && cols <= longestNorm
}

// normRows returns how many rows of so many columns a call does: whole groups of four, since what is left of a call is done
// row by row; a group, or what there can be of it, may have as many elements as the longest row.
func normRows(cols int) int {
	if rows := min(fewRows, normElements/cols); rows >= 4 {
		return rows &^ 3
	}
	return max(1, min(4, longestNorm/cols))
}

// Large results that are not in place are written past the caches, which would read what is overwritten first. On a Zen 5 with
// AVX-512, ns per row as ever and so, alone and with the result read right behind: 8,192 x 768 231 and 120, 249 and 189, 32,768 x
// 768 223 and 124, 293 and 207, 100,000 x 256 63.5 and 48.4, 86.1 and 76.0; with AVX2 8,192 x 768 209 and 105, 275 and 196.
func layerNorm(dst, src *Matrix, gamma, beta []float32, epsilon float32) {
	if !inAssembly(dst.Cols) {
		kernels.LayerNorm(*dst, *src, gamma, beta, epsilon)
		return
	}
	race.Read(unsafe.SliceData(gamma), dst.Cols)
	race.Read(unsafe.SliceData(beta), dst.Cols)
	var a normArgs
	a.shape(dst, src, epsilon)
	a.gamma, a.beta = &gamma[0], &beta[0]
	a.stream = dst.Cols%16 == 0 && streamsApart(dst, src)
	rows := normRows(dst.Cols)
	for i := 0; i < dst.Rows; i += rows {
		a.dst, a.src = &dst.Data[i*dst.Stride], &src.Data[i*src.Stride]
		a.rows = min(rows, dst.Rows-i)
		a.forward()
	}
}

func layerNormBackward(dSrc, dOut, src *Matrix, gamma []float32, epsilon float32, dGamma, dBeta []float32) {
	if !inAssembly(dSrc.Cols) {
		kernels.LayerNormBackward(*dSrc, *dOut, *src, gamma, epsilon, dGamma, dBeta)
		return
	}
	race.ReadMatrix(dOut)
	race.Write(unsafe.SliceData(dGamma), dSrc.Cols)
	race.Write(unsafe.SliceData(dBeta), dSrc.Cols)
	race.Read(unsafe.SliceData(gamma), dSrc.Cols)
	var a normArgs
	a.shape(dSrc, src, epsilon)
	a.dOutStride = uintptr(dOut.Stride) * 4
	a.gamma, a.dGamma, a.dBeta = &gamma[0], &dGamma[0], &dBeta[0]
	rows := normRows(dSrc.Cols)
	for i := 0; i < dSrc.Rows; i += rows {
		a.dst, a.src, a.dOut = &dSrc.Data[i*dSrc.Stride], &src.Data[i*src.Stride], &dOut.Data[i*dOut.Stride]
		a.rows = min(rows, dSrc.Rows-i)
		a.backward()
	}
}
