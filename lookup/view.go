package lookup

import (
	"math"
	"slices"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
)

// view is ids of any of the types that rowvec.ID allows. Methods cannot have type parameters, so this is how ids get
// through those of a layer to the kernels.
type view struct {
	first unsafe.Pointer
	n     int
	kind  kind
}

type kind uint8

const (
	uint32s kind = iota
	int32s
	uint64s
	int64s
)

func viewOf[I rowvec.ID](ids []I) view {
	v := view{unsafe.Pointer(unsafe.SliceData(ids)), len(ids), uint32s}
	minusOne := ^I(0)
	if unsafe.Sizeof(minusOne) == 8 {
		v.kind = uint64s
	}
	if minusOne < 0 {
		v.kind++
	}
	return v
}

// as returns the ids as a slice of I, whose size must be theirs.
func as[I rowvec.ID](v view) []I { return unsafe.Slice((*I)(v.first), v.n) }

func (v view) wide() bool { return v.kind >= uint64s }

// slice returns ids lo to hi-1, and panics if there are no such ids, before any is read.
func (v view) slice(lo, hi int) view {
	if lo < 0 || hi < lo || hi > v.n {
		panic("rowvec: ids outside of those that there are")
	}
	if lo == hi {
		return view{kind: v.kind}
	}
	size := 4
	if v.wide() {
		size = 8
	}
	return view{unsafe.Add(v.first, lo*size), hi - lo, v.kind}
}

// memory returns the memory of the ids as a matrix, to look for overlap with.
func (v view) memory() rowvec.Matrix {
	n := v.n
	if v.wide() {
		n *= 2
	}
	return rowvec.Matrix{Rows: 1, Cols: n, Data: unsafe.Slice((*float32)(v.first), n), Stride: n}
}

func (v view) check(op string, rows int) error {
	switch v.kind {
	case uint32s:
		return check.IDs(op, "id", as[uint32](v), rows)
	case int32s:
		return check.IDs(op, "id", as[int32](v), rows)
	case uint64s:
		return check.IDs(op, "id", as[uint64](v), rows)
	}
	return check.IDs(op, "id", as[int64](v), rows)
}

// forward has a kernel do rows of a forward pass, of which it adds the ids, more of which come next: they have passed check,
// and their bits mean the same with a sign and without.
func (v view) forward(r *forward.Rows, more int) error {
	if r.Dst.Rows == 0 {
		return nil
	}
	r.IDs, r.Wide, r.More = v.first, v.wide(), more
	if forward.Do(*r) < r.Dst.Rows {
		return rowvec.ErrChanged
	}
	return nil
}

// dropSums is forward of rows that elements are dropped of.
func (v view) dropSums(r *forward.Rows, mask rowvec.Mask, more int) error {
	if r.Dst.Rows == 0 {
		return nil
	}
	r.IDs, r.Wide, r.More = v.first, v.wide(), more
	if forward.DropSums(*r, mask) < r.Dst.Rows {
		return rowvec.ErrChanged
	}
	return nil
}

// normalise is forward of rows that are normalised.
func (v view) normalise(n *forward.Normal, more int) error {
	if n.Dst.Rows == 0 {
		return nil
	}
	n.IDs, n.Wide, n.More = v.first, v.wide(), more
	if forward.Normalise(*n) < n.Dst.Rows {
		return rowvec.ErrChanged
	}
	return nil
}

// scatterAdd is rowvec.ScatterAdd with ids that have passed check, more of which come next, and which may follow others.
func (v view) scatterAdd(dst rowvec.Matrix, alpha float32, src rowvec.Matrix, more int, follows bool) error {
	if src.Rows > 0 && forward.ScatterAdd(forward.Rows{
		Dst: src, Table: dst, IDs: v.first, Wide: v.wide(), Scale: alpha, More: more, Follows: follows,
	}) < src.Rows {
		return rowvec.ErrChanged
	}
	return nil
}

// gather and embed are the kernels by these names, for tables of which no negative id is a row without its sign.

func (v view) gather(dst rowvec.Matrix, table *Embedding) error {
	if v.wide() {
		return gather(dst, table, as[uint64](v))
	}
	return gather(dst, table, as[uint32](v))
}

func gather[I rowvec.ID](dst rowvec.Matrix, table *Embedding, ids []I) error {
	if table.scaled {
		return rowvec.GatherScaled(dst, table.weight, ids, table.scale)
	}
	return rowvec.Gather(dst, table.weight, ids)
}

func (v view) embed(dst rowvec.Matrix, table *Embedding, positions rowvec.Matrix, in *Input) error {
	if v.wide() {
		return embed(dst, table, as[uint64](v), positions, in)
	}
	return embed(dst, table, as[uint32](v), positions, in)
}

func embed[I rowvec.ID](dst rowvec.Matrix, table *Embedding, ids []I, positions rowvec.Matrix, in *Input) error {
	if in.placed {
		return rowvec.EmbedAt(dst, table.weight, ids, table.scale, positions, in.at)
	}
	return rowvec.Embed(dst, table.weight, ids, table.scale, positions, in.start, in.seq)
}

func (v view) dots(dst, a, table rowvec.Matrix) error {
	if v.wide() {
		return rowvec.Dots(dst, a, table, as[uint64](v))
	}
	return rowvec.Dots(dst, a, table, as[uint32](v))
}

// bagDots has a kernel do the dot products of bags, of which it adds the ids: see forward.
func (v view) bagDots(dst []float32, b forward.Bags) error {
	if v.n == 0 {
		return nil
	}
	b.IDs, b.Wide = v.first, v.wide()
	if forward.BagDots(dst, b) < v.n {
		return rowvec.ErrChanged
	}
	return nil
}

// has reports whether id is among the ids.
func (v view) has(id int) bool {
	if v.wide() {
		return slices.Contains(as[uint64](v), uint64(id))
	}
	return uint64(id) <= math.MaxUint32 && slices.Contains(as[uint32](v), uint32(id))
}

// at returns id number i, or -1 for one that int cannot hold.
func (v view) at(i int) int {
	var id uint64
	if v.wide() {
		id = as[uint64](v)[i]
	} else {
		id = uint64(as[uint32](v)[i])
	}
	if id > math.MaxInt {
		return -1
	}
	return int(id)
}

// runWithout returns the first run at or behind lo of ids that are not id; it is empty at the end.
func (v view) runWithout(id, lo int) (from, to int) {
	if v.wide() {
		return runWithout(as[uint64](v), uint64(id), lo)
	}
	if uint64(id) > math.MaxUint32 {
		return lo, v.n
	}
	return runWithout(as[uint32](v), uint32(id), lo)
}

func runWithout[I rowvec.ID](ids []I, id I, lo int) (from, to int) {
	for lo < len(ids) && ids[lo] == id {
		lo++
	}
	if lo == len(ids) {
		return lo, lo
	}
	hi := lo + 1 // the first is not read twice, since another goroutine may change it
	for hi < len(ids) && ids[hi] != id {
		hi++
	}
	return lo, hi
}
