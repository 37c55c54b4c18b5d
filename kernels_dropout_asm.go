//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"math/bits"
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// dropoutArgs is what the assembly behind Dropout works on. Strides are in bytes; rows, cols and threshold are above 0.
//
// Of the words of a counter, only the first differs within a row: it is the number of the block of 16 columns. What the
// two first rounds of Philox make of the others is worked out here, once, and for each row by the assembly.
type dropoutArgs struct {
	dst       *float32 // row 0
	dstStride uintptr
	src       *float32
	srcStride uintptr
	rows      int
	cols      int
	row       uint32 // of the whole matrix, that which has number 0
	block     uint32 // of the first columns
	threshold uint32
	scale     float32
	numbers   *int // of rows of src, and of the whole matrix from row on
	keys      philoxRounds
	start     uint32 // word 0 behind the first round, but for the row
	first     uint32 // what goes into word 2 in the first round, beside a product
	second    uint32 // what goes into word 0 in the second round, beside a product

	// The table whose rows are fetched meanwhile: one for each row, chosen by ids.
	next       *float32 // row 0
	nextStride uintptr
	ids        unsafe.Pointer // of rows uint32 or uint64; nil for none
	wide       uint64         // 0: ids have 4 bytes; 1: they have 8
	fetched    int            // ids that have been looked at

	// For sums: rows of src by places, times rowScale, plus rows of positions by spots.
	positions     *float32 // row 0
	posStride     uintptr
	places, spots *int
	rowScale      float32
	//lint:ignore U1000 for the assembly alone
	apart [4]uintptr // how far positions are from the rows of src

	near   bool // prefetch into the first-level cache
	ahead  bool // prefetch the next rows of src
	stream bool // write whole blocks past the caches; rows of dst begin at multiples of 64 bytes

	//lint:ignore U1000 for the assembly alone
	number uintptr // where the number of the next row is
	//lint:ignore U1000 for the assembly alone
	from [4]uintptr // the rows that are fetched while as many are done at once
	//lint:ignore U1000 for the assembly alone
	second2, third2 [4]uint32 // what rows add to word 2 in the second and in the third round
}

// philoxRounds has the two words of the key of each round of Philox.
type philoxRounds [10][2]uint32

func philoxKeys(seed uint64) (keys philoxRounds) {
	k0, k1 := uint32(seed), uint32(seed>>32)
	for i := range keys {
		keys[i] = [2]uint32{k0, k1}
		k0 += 0x9e3779b9
		k1 += 0xbb67ae85
	}
	return keys
}

const dropoutBlock = 128 // columns that the assembly works out random bits for at once, at most

// streamColumns is the least width of rows that are written past the caches, out of a scratch that is in cache: as whole
// blocks, or where rows begin within lines by a copy. On a Zen 4, ns per row of a layer with 32 MB of results, by ordinary
// stores and by a copy: dim 32 18 and 26, 40 27 and 32, 200 111 and 87; by blocks and by a copy: 64 21 and 31, 96 38 and 44.
const streamColumns = 64

// prepare sets what does not depend on the part of the matrix, in place, as normArgs.shape does.
func (a *dropoutArgs) prepare(dst, src *Matrix, mask *Mask) {
	a.dstStride, a.srcStride = uintptr(dst.Stride)*4, uintptr(src.Stride)*4
	a.threshold, a.scale = mask.Threshold(), mask.Scale()
	a.keys = philoxKeys(mask.Seed)
	stream := kernels.StreamDropout | mask.Step<<8
	high, low := bits.Mul32(0xcd9e8d57, uint32(stream))
	a.start = high ^ a.keys[0][0]
	a.first = uint32(stream>>32) ^ a.keys[0][1]
	a.second = low ^ a.keys[1][0]
	a.near = near(src)
}

// dropout prefetches the next rows of large matrices, and writes results that are not in place past the caches. On a Zen 5, ns per
// row with AVX-512 as ever and so, out of place, with the result read right behind, and in place: 8,192 x 768 295 and 174, 301 and
// 233, 129 and 56, 100,000 x 256 88 and 70, 119 and 97, 75 and 57; with AVX2, out of place and in place, 292 and 161, 169 and 162,
// 213 and 86, 143 and 74. In cache the prefetches would cost: 64 x 768 42.7 and 54.4.
func dropout(dst, src *Matrix, mask *Mask) {
	dropoutMeanwhile(dst, src, mask, streamsApart(dst, src), &forward.Next{})
}

// dropRows has the assembly find rows of src by their numbers, and fetches those of large matrices. On a Zen 5, sparse gradients with a call
// for each row and so, two versions of a layer in random order, medians of 21: 8,192 Zipf ids of 50,257 x 768 0.57 of the time (with AVX2
// 0.60), 32,768 of 1,000,000 x 128 0.42 (0.40), 4,096 of 30,000 x 2,048 0.61 (0.68), 4,096 of 1,000 x 32 0.69 (0.81), 512 of 768, which are in
// cache, 1.02 (0.93).
func dropRows(dst, src *Matrix, mask *Mask, at []int) {
	if isa.Active() == isa.Portable || mask.Threshold() == 0 {
		defineDropRows(dst, src, mask, at)
		return
	}
	if dst.Cols > chunkElements || len(at) == 1 {
		for i, place := range at {
			one, to, from := *mask, rowsOf(*dst, i, 1), rowsOf(*src, place, 1)
			one.Row += place
			dropout(&to, &from, &one)
		}
		return
	}
	race.WriteMatrix(dst)
	race.ReadRows(src, at)
	var a dropoutArgs
	a.prepare(dst, src, mask)
	a.src, a.cols, a.block, a.row = &src.Data[0], dst.Cols, uint32(mask.Col/16), uint32(mask.Row)
	for _, place := range at {
		_ = src.Data[place*src.Stride+src.Cols-1] // or Go says what is wrong
	}
	ahead, rows := len(at), dropoutRows(a.cols)
	if extent(src) > tuning.PassElements {
		ahead = dropoutAhead
		a.next, a.nextStride, a.wide = a.src, a.srcStride, 1
	}
	for i := 0; i < dst.Rows; i += a.rows {
		a.rows = min(rows, dst.Rows-i)
		a.dst, a.numbers = &dst.Data[i*dst.Stride], &at[i]
		a.ids = nil
		if i+ahead < len(at) {
			a.rows = min(a.rows, len(at)-ahead-i)
			a.ids, a.fetched = unsafe.Pointer(&at[i+ahead]), 0
		}
		a.do()
	}
}

// dropoutAhead is how many rows ahead rows are fetched that are not side by side: as many as AVX-512 does at once. When they were done one
// by one, 1, 2, 4 and 8 took 0.79, 0.75, 0.76 and 0.85 of the time of none, 8,192 ids of 50,257 x 768, and fetching in cache 1.0 to 1.1.
const dropoutAhead = 4

// dropoutRows is how many rows one call does. Of 16 columns, with a page each, 1,024 rows take 90 to 150 us on a Zen 4.
func dropoutRows(cols int) int {
	return min(fewRows, max(1, chunkElements/((cols+dropoutBlock-1)&^(dropoutBlock-1))))
}

// rowNumbers are those of rows side by side.
var rowNumbers = func() (n [fewRows]int) {
	for i := range n {
		n[i] = i
	}
	return n
}()

// streamsApart reports whether dst is a large result that is not in place, and can be written past the caches by whole lines.
func streamsApart(dst, src *Matrix) bool {
	return large(dst) && &dst.Data[0] != &src.Data[0] && streamsBlocks(dst)
}

// dropoutMeanwhile is dropout as forward.Drop has it: it fetches next meanwhile, and reports whether it has, which is not what
// sits in cache anyway, nor more than the second level would hold.
func dropoutMeanwhile(dst, src *Matrix, mask *Mask, stream bool, next *forward.Next) bool {
	if isa.Active() == isa.Portable || mask.Threshold() == 0 {
		kernels.Dropout(*dst, *src, *mask)
		return false
	}
	stream = stream && dst.Cols >= streamColumns && streams(dst) && (streamsBlocks(dst) || streamsRows(dst))
	if stream && !streamsBlocks(dst) {
		fetched := dropoutMeanwhile(src, src, mask, false, next)
		copyRows(*dst, *src)
		return fetched
	}
	race.WriteMatrix(dst)
	race.ReadMatrix(src)
	var a dropoutArgs
	a.prepare(dst, src, mask)
	a.stream, a.ahead = stream, large(src) && src.Cols >= dropoutBlock
	ids := next.Rows
	if ids*dst.Cols > longBytes/4 || cached(&next.Table) {
		ids = 0
	}
	if ids > 0 {
		a.near = near(&next.Table) // whose rows are what is prefetched, and not those of a part of the result
	}
	if next.Wide {
		a.wide = 1
	}
	race.Read((*byte)(next.IDs), ids*(4+4*int(a.wide)))
	a.nextStride = uintptr(next.Table.Stride) * 4
	cols := min(dst.Cols, chunkElements)
	rows := dropoutRows(cols)
	for j := 0; j < dst.Cols; j += cols {
		a.cols = min(cols, dst.Cols-j)
		a.block = uint32((mask.Col + j) / 16)
		for i := 0; i < dst.Rows; i += a.rows {
			a.numbers = &rowNumbers[0]
			a.dst, a.src = &dst.Data[i*dst.Stride+j], &src.Data[i*src.Stride+j]
			a.row = uint32(mask.Row + i)
			a.rows = min(rows, dst.Rows-i)
			a.ids = nil
			if i < ids {
				a.rows = min(a.rows, ids-i)
				a.next = &next.Table.Data[j]
				a.ids = unsafe.Add(next.IDs, uintptr(i)*(4+4*uintptr(a.wide)))
				a.fetched = 0
			}
			a.do()
		}
	}
	return ids > 0
}
