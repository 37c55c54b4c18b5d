//go:build !purego && (amd64 || arm64)

package rowvec

import (
	"math"
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// updateArgs is what the assembly of an update works on: grad are the rows in their order, or those that places say, and the
// states have rows chosen by ids as the table has them. The assembly knows rowArgs by its offsets, so that it has to come first.
type updateArgs struct {
	rowArgs
	places       *int     // the row of grad for each of the ids that may be read; nil where these are all rows in their order
	placesAhead  int      // of opUpdateAdd, as ahead, of the rows that places say; 0 to leave these to the processor's own prefetcher
	first        *float32 // row 0 of the sums or means; the sums of whole rows are rows of one element
	firstStride  uintptr
	second       *float32 // row 0 of the means of squares
	secondStride uintptr
	rate         float32 // negated
	epsilon      float32
	meanWeight   float32
	squareWeight float32
	keep         float32 // of Adam; the decay of SGD
	count        float32 // columns of a row, of which a sum takes the mean
}

// updateOp is an update; method do of each architecture says which assembly runs it.
type updateOp int

const (
	opUpdateAdd updateOp = iota // SGD without decay
	opUpdateSGD
	opUpdateAdagrad
	opUpdateRowAdagrad
	opUpdateAdam
)

// One call does fewer elements than those of other kernels: up to four matrices miss the caches for each, and a root and a
// quotient take as long as two cached rows.
const updateElements = chunkElements / 4

// prepareUpdate sets what every update needs as prepareRows does: ids is not empty, and the matrices have columns. Rows of the
// table and of its states are prefetched four abreast, where four are no more than a call does and all have the same stride, of Adam
// with more than 512 columns, or else line by line as long as those on their way fit into what bytesAhead says. On a Xeon, ns per row line by line
// and abreast, medians of 11 interleaved rounds (on a Zen 5 loops in C gained 2 to 10 percent):
//
//	table, ids                 SGD, decay  Adagrad    Adam       row-wise
//	 50,257 x 768   128        270  229    618  574   958  955   264  236
//	 50,257 x 768 2,048        328  288    640  562   935  895   322  299
//	300,000 x 512 2,048        274  247    523  494   786  788   302  259
//	 20,000 x 4,096 512       1913 1542   3135 2933  4420 4318  1804 1629
//	100,000 x 400 2,048        173  170    361  350   535  542   194  191
//
// and steps with plain SGD on a batch, 128, 1,024 and 8,192 ids of 50,257 x 768, 301 and 273, 333 and 323, 350 and 333.
//
// How far ahead matters little: of 50,257 x 768 on a Zen 4, with AVX-512 and 0, 2, 4 and 16 rows ahead, Adagrad took 2.5,
// 1.6, 1.7 and 1.6 times as long as plain SGD did next to it, and Adam 3.3, 2.3, 2.5 and 2.4 times.
func prepareUpdate[I ID](a *updateArgs, table *Matrix, ids []I, grad *Matrix, h *hint, states ...*Matrix) {
	race.WriteRows(table, ids)
	if h.places != nil {
		a.places = &h.places[0]
		race.Read(a.places, len(ids)+max(h.more, 0))
		race.ReadRows(grad, h.places)
	} else {
		race.ReadMatrix(grad)
	}
	h.byOne = table.Cols > updateElements/4 || len(states) > 1 && table.Cols <= middleBytes/4
	for _, s := range states {
		h.byOne = h.byOne || s.Stride != table.Stride
	}
	h.far = len(states) > 0 && tuning.NearBytes < math.MaxInt // see there
	h.matrices = 1 + len(states)
	prepareRows(&a.rowArgs, grad, table, ids, h)
	if h.places != nil && !(fullWidth() && closeBy(h.places)) {
		a.placesAhead = a.ahead
	}
	for _, s := range states {
		a.straddle = a.straddle || straddles(s)
		race.WriteRows(s, ids)
		fetch(s, ids, a.ahead, h)
	}
}

// closeBy reports whether the places, as the first of them are, choose at least one row of five, and a processor's own prefetcher
// goes on with these. On a Zen 5, ns per id of a step with SGD and 50,257 x 768 without and with them prefetched as well, 2,048
// uniform ids 145 and 162, Zipf 80.9 and 83.4, which are close by; of 10,922 Zipf ids added to a dense gradient by two workers, which
// are not, 100 and 85.
func closeBy(places []int) bool {
	gaps, n := gapsOf(places)
	return 0 <= gaps && gaps <= 5*n
}

// gapsOf returns by how much the first places ascend, and in how many steps.
func gapsOf(places []int) (gaps, n int) {
	n = min(len(places), 9) - 1
	return places[n] - places[0], n
}

// takesPlaces reports whether the update has assembly that knows Places. Adding scaled rows has, but for those of END_ROWS, where
// AVX-512 is not in halves, runs are quicker where there are any: 8,192 uniform ids of 1,000,000 x 64 on a Zen 5 17.7 in runs and 22.6, x 128
// 34.8 and 35.8; but
// with places not next to each other, as several workers that share rows have them, or in another order, as batches added to one gradient
// leave them, a run is a row or two: two workers on a Xeon took 44 and 33 for 24,576 uniform ids of 1,000,000 x 64, and steps with
// gradients of 16, 8 and 4 batches of 8,192 ids, where the first places descend, 44 and 40 for x 64, 50 and 45 for x 80, 72 and 68 for x 128.
// Nor are there runs where the tokens of a bag share its place: sums over bags of 10 and a step with SGD took 104 and 60 for x 64, 179 and
// 112 for x 128.
func takesPlaces(u *forward.Update) bool {
	cols := u.Table.Cols
	switch {
	case isa.Active() == isa.Portable:
		return false
	case u.Method == forward.RowAdagrad:
		return cols <= updateElements
	}
	gaps, n := gapsOf(u.Places)
	return u.Method != forward.SGD || u.Decay != 0 || !fullWidth() || cols > endColumns || gaps < n || 2*gaps > 3*n
}

// run does n rows of cols elements with update k and returns the number of rows done. Of long rows that are done by UPDATE_COLUMNS, and have a
// tail, what is within a line behind its first column is prefetched, straddled or not. On a Xeon, time without that where it is not, Adagrad and
// Adam of 1,000,000 x 40 1.19 and 1.04, of 500,000 x 100 1.07 and 1.15, but of 1,000,000 x 24 0.87 and 0.90.
func (a *updateArgs) run(k updateOp, n, cols int) int {
	a.cols, a.n = cols, n
	if k != opUpdateAdd && k != opUpdateRowAdagrad {
		a.straddle = a.straddle || cols > lineBytes/8 && cols%16 != 0
	}
	if n <= fewRows && n*cols <= updateElements {
		return a.do(k)
	}
	return a.runPieces(k, n, cols)
}

// runPieces is run in pieces of rows that are not longer than a chunk. The receiver is a value, here and below, for the reason
// that runPieces of rowArgs has.
func (a updateArgs) runPieces(k updateOp, n, cols int) int {
	for first := 0; first < cols; first += updateElements {
		piece := a
		piece.cols = min(cols-first, updateElements)
		piece.table = element(a.table, first)
		piece.linear = element(a.linear, first)
		if a.first != nil {
			piece.first = element(a.first, first)
		}
		if a.second != nil {
			piece.second = element(a.second, first)
		}
		if done := piece.runChunks(k, n); done < n {
			return done
		}
	}
	return n
}

// runChunks is run in chunks of whole rows.
func (a updateArgs) runChunks(k updateOp, n int) int {
	rows := min(fewRows, max(1, updateElements/a.cols))
	if a.abreast {
		rows &^= 3
	}
	all, moving := a, a.rowArgs
	if all.places != nil { // rows of grad are where these say, and there may be fewer than ids
		moving.linearStride = 0
	}
	for first := 0; ; first += a.n {
		a.rowArgs = moving.chunk(first, rows, n)
		if all.places != nil {
			a.linearStride = all.linearStride
			a.places = (*int)(unsafe.Add(unsafe.Pointer(all.places), uintptr(first)*unsafe.Sizeof(first)))
		}
		if done := a.do(k); done < a.n || first+a.n == n {
			return first + done
		}
	}
}

func updateSGD[I ID](table *Matrix, ids []I, grad *Matrix, rate, decay float32, h *hint) int {
	if isa.Active() == isa.Portable {
		return kernels.UpdateSGD(*table, ids, *grad, rate, decay)
	}
	if decay == 0 && h.places == nil {
		return scatterAdd(table, ids, -rate, grad, h)
	}
	if len(ids) == 0 {
		return 0
	}
	a := updateArgs{rate: -rate, keep: decay}
	a.scale = -rate
	a.linear, a.table, a.ids = &grad.Data[0], &table.Data[0], unsafe.Pointer(&ids[0])
	prepareUpdate(&a, table, ids, grad, h)
	if decay == 0 {
		return a.run(opUpdateAdd, len(ids), table.Cols)
	}
	return a.run(opUpdateSGD, len(ids), table.Cols)
}

func updateAdagrad[I ID](table, sums *Matrix, ids []I, grad *Matrix, rate, epsilon float32, h *hint) int {
	if isa.Active() == isa.Portable {
		return kernels.UpdateAdagrad(*table, *sums, ids, *grad, rate, epsilon)
	}
	if len(ids) == 0 {
		return 0
	}
	a := updateArgs{rate: -rate, epsilon: epsilon}
	a.linear, a.table, a.ids = &grad.Data[0], &table.Data[0], unsafe.Pointer(&ids[0])
	prepareUpdate(&a, table, ids, grad, h, sums)
	a.first, a.firstStride = &sums.Data[0], uintptr(sums.Stride)*4
	return a.run(opUpdateAdagrad, len(ids), table.Cols)
}

func updateRowAdagrad[I ID](table *Matrix, sums []float32, ids []I, grad *Matrix, rate, epsilon float32, h *hint) int {
	if isa.Active() == isa.Portable {
		return kernels.UpdateRowAdagrad(*table, sums, ids, *grad, rate, epsilon)
	}
	if len(ids) == 0 {
		return 0
	}
	if table.Cols > updateElements {
		return updateLongRows(table, sums, ids, grad, rate, epsilon)
	}
	a := updateArgs{rate: -rate, epsilon: epsilon}
	a.linear, a.table, a.ids = &grad.Data[0], &table.Data[0], unsafe.Pointer(&ids[0])
	prepareUpdate(&a, table, ids, grad, h)
	race.WriteRows(&Matrix{Rows: len(sums), Cols: 1, Data: sums, Stride: 1}, ids)
	a.first, a.firstStride = &sums[0], 4
	a.count = float32(table.Cols)
	return a.run(opUpdateRowAdagrad, len(ids), table.Cols)
}

// updateLongRows is updateRowAdagrad for rows of which one is more than a call of assembly does.
func updateLongRows[I ID](table *Matrix, sums []float32, ids []I, grad *Matrix, rate, epsilon float32) int {
	for i, id := range ids {
		if uint64(id) >= uint64(table.Rows) {
			return i
		}
		g := grad.Data[i*grad.Stride:][:table.Cols]
		sum := sums[id] + longDot(g, g)/float32(table.Cols)
		sums[id] = sum
		root := float32(math.Sqrt(float64(sum)))
		addScaled(table.Data[int(id)*table.Stride:][:table.Cols], -rate/(root+epsilon), g)
	}
	return len(ids)
}

func updateAdam[I ID](table, means, squares *Matrix, ids []I, grad *Matrix, step AdamStep, h *hint) int {
	if isa.Active() == isa.Portable {
		return kernels.UpdateAdam(*table, *means, *squares, ids, *grad, step)
	}
	if len(ids) == 0 {
		return 0
	}
	a := updateArgs{rate: -step.Rate, epsilon: step.Epsilon}
	a.linear, a.table, a.ids = &grad.Data[0], &table.Data[0], unsafe.Pointer(&ids[0])
	prepareUpdate(&a, table, ids, grad, h, means, squares)
	a.first, a.firstStride = &means.Data[0], uintptr(means.Stride)*4
	a.second, a.secondStride = &squares.Data[0], uintptr(squares.Stride)*4
	a.meanWeight, a.squareWeight, a.keep = step.MeanWeight, step.SquareWeight, step.Keep
	return a.run(opUpdateAdam, len(ids), table.Cols)
}
