//go:build !purego

package rowvec

import (
	"math"
	"sync"
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
)

// sumArgs is what the assembly of rows that are to be normalised works on: those of Embed, plus rows of a third table, which
// are counted as those of positions are.
type sumArgs struct {
	rowArgs
	add       *float32
	addStride uintptr
	addSpan   uintptr
	addRow    uintptr   // the address of the next one
	sums      *fourSums // where the sums of the first rows go, of which there are four at most (AVX-512)
}

// fourArgs is what the assembly works on that normalises four rows and fetches as many.
type fourArgs struct {
	normArgs
	from [4]uintptr // their addresses
	sums fourSums   // of what is normalised (AVX-512)
}

// fourSums has the lanes of the sums of four rows.
type fourSums [4][16]float32

// fetchAhead is how many rows behind those that are normalised are fetched. A forward pass of BERT's sums, 2,048 ids of
// 30,522 x 768 with AVX-512, takes 0.69 to 0.74 of what it does in steps, a piece of 32 rows each; without segments 0.71,
// without positions too 0.67, with AVX2 0.70 to 0.73, of 128 ids 0.66, of 6,144 0.67; 0.83 at dim 64, 0.60 at 256, 0.76 at
// 2,048, and 0.75 from a table of 200 rows. How even the lines are spread matters most: two rows in the second pass and two
// in the third take 249 ns a row, three and one 300, all four in the second 376; one of them while rows are summed, a line
// for each block, 1.15 times as long. Distances do not from 6 to 16; 4 takes 1.25 times as long at dim 256. Medians of 25
// to 81 rounds on a Zen 4, fresh uniform ids.
const fetchAhead = 8

// longestNormal is the length of the longest rows of which a call does four.
const longestNormal = longestNorm / 4

// minusZeros is added where there is nothing to add, which changes no bit, not even of -0.
var minusZeros = sync.OnceValue(func() []float32 {
	x := make([]float32, longestNormal)
	for i := range x {
		x[i] = math.Float32frombits(1 << 31)
	}
	return x
})

func normalises(cols int) bool { return inAssembly(cols) && cols <= longestNormal }

func normaliseRows(n *forward.Normal) (done int) {
	if !normalises(n.Dst.Cols) {
		return normaliseInSteps(n)
	}
	if n.Wide {
		return normaliseIDs(n, unsafe.Slice((*uint64)(n.IDs), n.Dst.Rows))
	}
	return normaliseIDs(n, unsafe.Slice((*uint32)(n.IDs), n.Dst.Rows))
}

func normaliseIDs[I uint32 | uint64](n *forward.Normal, ids []I) (done int) {
	dst, table := &n.Dst, &n.Table
	race.ReadRows(table, ids)
	race.Read(unsafe.SliceData(n.Gamma), dst.Cols)
	race.Read(unsafe.SliceData(n.Beta), dst.Cols)
	var a sumArgs
	a.linear, a.table, a.ids = &dst.Data[0], &table.Data[0], unsafe.Pointer(&ids[0])
	prepareRows(&a.rowArgs, dst, table, ids, &hint{more: n.More, follows: n.Follows})
	a.cols, a.scale = dst.Cols, n.Scale
	switch {
	case n.At != nil:
		race.ReadRows(&n.Positions, n.At)
		a.positions = &n.Positions.Data[0]
		a.posStride = uintptr(n.Positions.Stride) * 4
		a.posLimit = uint64(n.Positions.Rows)
		a.atWide = wide(n.At)
	case n.Seq != 0:
		race.ReadRange(&n.Positions, n.Start, min(n.Seq, len(ids)))
		a.positions = element(&n.Positions.Data[0], n.Start*n.Positions.Stride)
		a.posStride = uintptr(n.Positions.Stride) * 4
		a.posSpan = a.posStride * uintptr(n.Seq)
	default:
		a.positions = &minusZeros()[0]
	}
	if n.Add.Rows > 0 {
		race.ReadRange(&n.Add, n.AddStart, min(n.AddSeq, len(ids)))
		a.add = element(&n.Add.Data[0], n.AddStart*n.Add.Stride)
		a.addStride = uintptr(n.Add.Stride) * 4
		a.addSpan = a.addStride * uintptr(n.AddSeq)
	} else {
		a.add = &minusZeros()[0]
	}
	a.addRow = uintptr(unsafe.Pointer(a.add))
	var b fourArgs
	b.shape(dst, dst, n.Epsilon)
	b.near = a.near // rows of the table are what is prefetched
	b.gamma, b.beta = &n.Gamma[0], &n.Beta[0]
	a.sums = &b.sums
	table0 := uintptr(unsafe.Pointer(a.table))
	next := ids[:0]
	if a.ahead > 0 {
		next = unsafe.Slice(&ids[0], a.readable)
	}
	a.abreast = false         // which these kernels do not know
	a.ahead = min(a.ahead, 4) // what comes behind is fetched while these are normalised
	for i := 0; i < len(ids); i += 4 {
		a.n = min(4, len(ids)-i)
		a.linear, a.ids = &dst.Data[i*dst.Stride], unsafe.Pointer(&ids[i])
		if n.At != nil {
			a.at = unsafe.Pointer(&n.At[i])
		} else if a.posSpan != 0 {
			a.posFirst = uintptr(i%n.Seq) * a.posStride // within the matrix, where i times a stride need not be within 64 bits
		}
		if done := a.do(); done < a.n {
			return i + done
		}
		a.ahead = 0
		b.dst, b.src = a.linear, a.linear
		if a.n < 4 {
			b.rows = a.n
			b.forward()
			break
		}
		for k := range b.from {
			b.from[k] = table0
			if i+fetchAhead+k < len(next) {
				b.from[k] += uintptr(next[i+fetchAhead+k]) * a.tableStride
			}
		}
		b.do()
	}
	return len(ids)
}

// do does a few rows. It is not inlined, for the reason that do of rowArgs is not.
//
//go:noinline
func (a *sumArgs) do() (done int) {
	if isa.Active() == isa.AVX512 {
		return embedAddAVX512(a)
	}
	return embedAddAVX2(a)
}

//go:noinline
func (a *fourArgs) do() {
	if isa.Active() == isa.AVX512 {
		layerNormFourAVX512(a)
	} else {
		layerNormFourAVX2(a)
	}
}

//go:noescape
func embedAddAVX2(a *sumArgs) (done int)

//go:noescape
func layerNormFourAVX2(a *fourArgs)

//go:noescape
func embedAddAVX512(a *sumArgs) (done int)

//go:noescape
func layerNormFourAVX512(a *fourArgs)
