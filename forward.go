package rowvec

import (
	"math"
	"unsafe"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

func init() {
	forward.Do = forwardRows
	forward.Normalise = func(n forward.Normal) int { return normaliseRows(&n) }
	forward.Normalises = normalises
	forward.ScatterAdd = scatterRows
	forward.Copy = copyRows
	forward.Dropout = func(d forward.Drop) bool { return dropoutMeanwhile(&d.Dst, &d.Src, &d.Mask, d.Stream, &d.Next) }
	forward.DropSums = func(r forward.Rows, mask Mask) int { return dropSums(&r, &mask) }
	forward.DropsSums = dropsSums
	forward.DropRows = func(dst, src Matrix, mask Mask, at []int) { dropRows(&dst, &src, &mask, at) }
	forward.Fetch = fetchNext
	forward.Ahead = func(table Matrix) int { return ahead(&table) }
	forward.Apply = applyUpdate
	forward.Sinusoids = streamSinusoids
	forward.Anchors = anchors
	forward.AddProduct = addProduct
	forward.DotsAll = dotsAllOf
	forward.SquaredNorms = squaredNorms
	forward.BagDots = func(dst []float32, b forward.Bags) int {
		h := &hint{more: b.More, follows: b.Follows}
		if b.Wide {
			return bagDots(dst, &b.A, &b.Table, unsafe.Slice((*uint64)(b.IDs), len(dst)), b.Offsets, h)
		}
		return bagDots(dst, &b.A, &b.Table, unsafe.Slice((*uint32)(b.IDs), len(dst)), b.Offsets, h)
	}
	forward.BagMaxBackward = func(dst, table Matrix, ids []int, both Matrix, bags []int, read bool) int {
		h := hint{}
		if read {
			h.more = -1
		}
		return bagMaxBackward(&dst, &table, ids, &both, bags, &h)
	}
}

// hint says what the rows of a call are a part of.
type hint struct {
	stream bool // the result is too large for the caches
	more   int  // ids behind those of the call that may be read: what they choose comes next; below 0: all are in cache

	// follows says that a call has come before whose ids behind its own were those of this one.
	follows bool

	byOne bool // rows do not come abreast
	far   bool // no near kernel is to do it

	matrices int // how many an update prefetches rows of; 0 for what is no update

	// places are, for updates, the linear row of each id; nil where these are all rows in their order.
	places []int
}

// large reports whether a result is too large for the caches.
func large(dst *Matrix) bool { return tuning.Large(dst.Rows * dst.Cols) }

func forwardRows(r forward.Rows) int {
	if r.Wide {
		return forwardIDs(&r, unsafe.Slice((*uint64)(r.IDs), r.Dst.Rows))
	}
	return forwardIDs(&r, unsafe.Slice((*uint32)(r.IDs), r.Dst.Rows))
}

func forwardIDs[I ID](r *forward.Rows, ids []I) int {
	h := &hint{stream: r.Stream, more: r.More, follows: r.Follows}
	switch {
	case r.At != nil:
		return embedAt(&r.Dst, &r.Table, ids, r.Scale, &r.Positions, r.At, h)
	case r.Seq != 0:
		return embed(&r.Dst, &r.Table, ids, r.Scale, &r.Positions, r.Start, r.Seq, h)
	case r.Scaled:
		return gatherScaled(&r.Dst, &r.Table, ids, r.Scale, h)
	}
	return gather(&r.Dst, &r.Table, ids, h)
}

// defineBagMaxBackward is the definition of bagMaxBackward.
func defineBagMaxBackward(dst, table *Matrix, ids []int, both *Matrix, bags []int) int {
	maxima, left := *both, *both
	maxima.Cols = table.Cols
	left.Cols, left.Data = table.Cols, both.Data[table.Cols:]
	return kernels.BagMaxBackward(*dst, *table, ids, maxima, left, bags)
}

// defineDropRows is the definition of dropRows.
func defineDropRows(dst, src *Matrix, mask *Mask, at []int) {
	for i, place := range at {
		one := *mask
		one.Row += place
		kernels.Dropout(rowsOf(*dst, i, 1), rowsOf(*src, place, 1), one)
	}
}

// dropSumsInSteps is dropSums as other kernels do it one after the other.
func dropSumsInSteps(r *forward.Rows, mask *Mask) (done int) {
	if done = forwardRows(*r); done == r.Dst.Rows {
		dropout(&r.Dst, &r.Dst, mask)
	}
	return done
}

// normaliseInSteps is normaliseRows as other kernels do it one after the other.
func normaliseInSteps(n *forward.Normal) (done int) {
	n.Stream = false
	if done = forwardRows(n.Rows); done < n.Dst.Rows {
		return done
	}
	if n.Add.Rows > 0 {
		for i := range n.Dst.Rows {
			addBatches(rowsOf(n.Dst, i, 1), rowsOf(n.Add, n.AddStart+i%n.AddSeq, 1), 1)
		}
	}
	layerNorm(&n.Dst, &n.Dst, n.Gamma, n.Beta, n.Epsilon)
	return done
}

func scatterRows(r forward.Rows) int {
	h := &hint{more: r.More, follows: r.Follows}
	if r.Wide {
		return scatterAdd(&r.Table, unsafe.Slice((*uint64)(r.IDs), r.Dst.Rows), r.Scale, &r.Dst, h)
	}
	return scatterAdd(&r.Table, unsafe.Slice((*uint32)(r.IDs), r.Dst.Rows), r.Scale, &r.Dst, h)
}

// copyRows is a gather of all rows in their order.
func copyRows(dst, src Matrix) {
	var ids [64]uint32
	for i := range ids {
		ids[i] = uint32(i)
	}
	for first := 0; first < src.Rows; first += len(ids) {
		n := min(len(ids), src.Rows-first)
		to, from := rowsOf(dst, first, n), rowsOf(src, first, n)
		gather(&to, &from, ids[:n], &hint{stream: true})
	}
}

func streamSinusoids(dst Matrix, skip int, x, y, c []float64) { sinusoids(&dst, skip, x, y, c, true) }

func applyUpdate(u forward.Update) int {
	if u.Wide {
		return updateIDs(&u, unsafe.Slice((*uint64)(u.IDs), u.Len()))
	}
	return updateIDs(&u, unsafe.Slice((*uint32)(u.IDs), u.Len()))
}

func updateIDs[I ID](u *forward.Update, ids []I) int {
	if u.Places != nil && !takesPlaces(u) {
		return updateRuns(u, ids)
	}
	h := &hint{more: u.More, follows: u.Follows, places: u.Places}
	switch u.Method {
	case forward.Adagrad:
		return updateAdagrad(&u.Table, &u.First, ids, &u.Grad, u.Rate, u.Epsilon, h)
	case forward.RowAdagrad:
		return updateRowAdagrad(&u.Table, u.First.Data, ids, &u.Grad, u.Rate, u.Epsilon, h)
	case forward.Adam:
		return updateAdam(&u.Table, &u.First, &u.Second, ids, &u.Grad, u.Adam, h)
	}
	return updateSGD(&u.Table, ids, &u.Grad, u.Rate, u.Decay, h)
}

// updateRuns is updateIDs for each run of places by itself.
func updateRuns[I ID](u *forward.Update, ids []I) int {
	r := *u
	r.Places = nil
	for lo, n := 0, 0; lo < len(ids); lo += n {
		n = runLength(u.Places[lo:])
		r.Grad, r.More, r.Follows = rowsOf(u.Grad, u.Places[lo], n), u.More+len(ids)-lo-n, u.Follows || lo > 0
		if done := updateIDs(&r, ids[lo:lo+n]); done < n {
			return lo + done
		}
	}
	return len(ids)
}

// runLength returns how many places follow each other from the first one on.
func runLength(places []int) int {
	n := 1
	for n < len(places) && places[n] == places[n-1]+1 {
		n++
	}
	return n
}

// addProductPlain is addProduct in plain Go.
func addProductPlain(dst, a, src Matrix, transposed bool) {
	row, col := a.Stride, 1
	if transposed {
		row, col = col, row
	}
	var sums [256]float32 // of so many columns
	for i := range dst.Rows {
		for first := 0; first < src.Rows; first += forward.ProductRows {
			for lo := 0; lo < dst.Cols; lo += len(sums) {
				hi := min(lo+len(sums), dst.Cols)
				sum := sums[:hi-lo]
				clear(sum)
				for k := first; k < min(first+forward.ProductRows, src.Rows); k++ {
					kernels.AddScaled(sum, a.Data[i*row+k*col], src.Row(k)[lo:hi])
				}
				kernels.Add(dst.Row(i)[lo:hi], sum)
			}
		}
	}
}

// touchedColumns is up to how many columns rows of a table that no cache holds are read in front of their dot products in plain Go: a loop
// over products has memory wait for one row after the other. On a Zen 4, ns per id without and so, in bags of 10, medians of 31 interleaved
// rounds: 1,000,000 x 16 88 and 38, x 64 194 and 71, x 128 285 and 139.
const touchedColumns = 256

// bagDotsPlain is bagDots in plain Go, for as many ids as a first-level or second-level cache holds such rows of.
func bagDotsPlain[I ID](dst []float32, a, table *Matrix, ids []I, offsets []int) int {
	if table.Cols <= touchedColumns && extent(table) > tuning.CachedBytes/4 {
		touchRows(table, ids)
	}
	return kernels.BagDots(dst, *a, *table, ids, offsets)
}

// touchRows reads a number of each line of the rows, and returns what keeps the compiler from leaving that out.
//
//go:noinline
func touchRows[I ID](table *Matrix, ids []I) (bits uint32) {
	for _, id := range ids {
		if uint64(id) >= uint64(table.Rows) {
			continue // has changed since it was checked
		}
		row := table.Data[int(id)*table.Stride:][:table.Cols]
		for j := 0; j < len(row); j += 16 {
			bits |= math.Float32bits(row[j])
		}
	}
	return bits
}

// squaredNormsPlain is squaredNorms in plain Go.
func squaredNormsPlain(dst []float64, m *Matrix) {
	for i := range m.Rows {
		x := m.Data[i*m.Stride:][:m.Cols]
		s0, s1, s2, s3, s4, s5, s6, s7 := squares(x, 0)
		t0, t1, t2, t3, t4, t5, t6, t7 := squares(x, 8)
		s0, s1, s2, s3 = (s0+t0)+(s4+t4), (s1+t1)+(s5+t5), (s2+t2)+(s6+t6), (s3+t3)+(s7+t7)
		dst[i] = (s0 + s2) + (s1 + s3)
	}
}

// squares returns lanes first to first+7: as many as stay in registers, where an array would not.
func squares(x []float32, first int) (s0, s1, s2, s3, s4, s5, s6, s7 float64) {
	square := func(x float32) float64 { return float64(float64(x) * float64(x)) }
	var padded [8]float32
	for i := first; i < len(x); i += 16 {
		p := &padded
		if len(x)-i >= 8 {
			p = (*[8]float32)(x[i:])
		} else {
			copy(p[:], x[i:])
		}
		s0 += square(p[0])
		s1 += square(p[1])
		s2 += square(p[2])
		s3 += square(p[3])
		s4 += square(p[4])
		s5 += square(p[5])
		s6 += square(p[6])
		s7 += square(p[7])
	}
	return
}
