package fuzz

import (
	"math"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
)

// kernel is a call of the library and its definition in package kernels.
type kernel struct {
	run    func() error
	define func()
}

// ids hides the type of ids from the targets.
type ids interface {
	words() []float32                        // their memory
	outside(rows int) (position int, id any) // the first bad one; -1 if there is none
	at(i int) int
	len() int
	slice(lo, hi int) ids
	batch(seq int) lookup.Input
	ragged(offsets []int) lookup.Input
	raggedFrom(offsets []int) lookup.Input
	addRows(g *lookup.Gradient, alpha float32, rows rowvec.Matrix) error
	gather(dst, table rowvec.Matrix) kernel
	gatherScaled(dst, table rowvec.Matrix, scale float32) kernel
	scatterAdd(dst rowvec.Matrix, alpha float32, src rowvec.Matrix) kernel
	bagSum(dst, table rowvec.Matrix, offsets []int, weights []float32) kernel
	bagMean(dst, table rowvec.Matrix, offsets []int) kernel
	bagMax(dst, table rowvec.Matrix, offsets []int) kernel
	dots(dst, a, table rowvec.Matrix) kernel
	embed(dst, table rowvec.Matrix, scale float32, positions rowvec.Matrix, start, seq int) kernel
	embedAt(dst, table rowvec.Matrix, scale float32, positions rowvec.Matrix, at ids) kernel
	embedBackward(tokens, positions rowvec.Matrix, scale float32, dOut rowvec.Matrix, start, seq int) kernel
	embedAtBackward(tokens, positions rowvec.Matrix, scale float32, dOut rowvec.Matrix, at ids) kernel
	update(u update) kernel
	rotateAt(dst, src rowvec.Matrix, r rowvec.Rotation, angles rowvec.Matrix) kernel
}

type named uint32

// newIDs returns the raw numbers as ids of one of the types, in memory that alloc provides.
func newIDs(kind uint8, raw []uint64, alloc func(words int) []float32) ids {
	switch kind % 7 {
	case 0:
		return newList[int32](raw, alloc)
	case 1:
		return newList[int64](raw, alloc)
	case 2:
		return newList[uint32](raw, alloc)
	case 3:
		return newList[uint64](raw, alloc)
	case 4:
		return newList[int](raw, alloc)
	case 5:
		return newList[uint](raw, alloc)
	}
	return newList[named](raw, alloc)
}

type list[I rowvec.ID] []I

func newList[I rowvec.ID](raw []uint64, alloc func(words int) []float32) list[I] {
	if len(raw) == 0 {
		return nil
	}
	memory := alloc(len(raw) * int(unsafe.Sizeof(I(0))) / 4)
	l := list[I](unsafe.Slice((*I)(unsafe.Pointer(&memory[0])), len(raw)))
	for i, id := range raw {
		l[i] = I(id)
	}
	return l
}

func (l list[I]) words() []float32 {
	if len(l) == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&l[0])), len(l)*int(unsafe.Sizeof(l[0]))/4)
}

func (l list[I]) outside(rows int) (int, any) {
	i := kernels.FirstOutside(l, rows)
	switch {
	case i < 0:
		return i, nil
	case l[i] > 0 && uint64(l[i]) > math.MaxInt64:
		return i, uint64(l[i])
	}
	return i, int64(l[i])
}

func (l list[I]) at(i int) int { return int(l[i]) }

func (l list[I]) len() int { return len(l) }

func (l list[I]) slice(lo, hi int) ids { return l[lo:hi] }

func (l list[I]) batch(seq int) lookup.Input { return lookup.Batch(l, seq) }

func (l list[I]) ragged(offsets []int) lookup.Input { return lookup.Ragged(l, offsets) }

func (l list[I]) raggedFrom(offsets []int) lookup.Input { return lookup.RaggedFrom(l, offsets) }

func (l list[I]) addRows(g *lookup.Gradient, alpha float32, rows rowvec.Matrix) error {
	return lookup.AddRows(g, l, alpha, rows)
}

func (l list[I]) gather(dst, table rowvec.Matrix) kernel {
	return kernel{
		func() error { return rowvec.Gather(dst, table, l) },
		func() { kernels.Gather(dst, table, l) },
	}
}

func (l list[I]) gatherScaled(dst, table rowvec.Matrix, scale float32) kernel {
	return kernel{
		func() error { return rowvec.GatherScaled(dst, table, l, scale) },
		func() { kernels.GatherScaled(dst, table, l, scale) },
	}
}

func (l list[I]) scatterAdd(dst rowvec.Matrix, alpha float32, src rowvec.Matrix) kernel {
	return kernel{
		func() error { return rowvec.ScatterAdd(dst, l, alpha, src) },
		func() { kernels.ScatterAdd(dst, l, alpha, src) },
	}
}

func (l list[I]) bagSum(dst, table rowvec.Matrix, offsets []int, weights []float32) kernel {
	return kernel{
		func() error { return rowvec.BagSum(dst, table, l, offsets, weights) },
		func() { kernels.BagSum(dst, table, l, offsets, weights) },
	}
}

func (l list[I]) bagMean(dst, table rowvec.Matrix, offsets []int) kernel {
	return kernel{
		func() error { return rowvec.BagMean(dst, table, l, offsets) },
		func() { kernels.BagMean(dst, table, l, offsets) },
	}
}

func (l list[I]) bagMax(dst, table rowvec.Matrix, offsets []int) kernel {
	return kernel{
		func() error { return rowvec.BagMax(dst, table, l, offsets) },
		func() { kernels.BagMax(dst, table, l, offsets) },
	}
}

func (l list[I]) dots(dst, a, table rowvec.Matrix) kernel {
	return kernel{
		func() error { return rowvec.Dots(dst, a, table, l) },
		func() { kernels.Dots(dst, a, table, l) },
	}
}

func (l list[I]) embed(dst, table rowvec.Matrix, scale float32, positions rowvec.Matrix, start, seq int) kernel {
	return kernel{
		func() error { return rowvec.Embed(dst, table, l, scale, positions, start, seq) },
		func() { kernels.Embed(dst, table, l, scale, positions, start, seq) },
	}
}

// embedBackward: as the documentation has it, the bits of positions are those of a scatter-add.
func (l list[I]) embedBackward(tokens, positions rowvec.Matrix, scale float32, dOut rowvec.Matrix, start, seq int) kernel {
	return kernel{
		func() error { return rowvec.EmbedBackward(tokens, positions, l, scale, dOut, start, seq) },
		func() {
			at := make([]int, len(l))
			for i := range at {
				at[i] = start + i%seq
			}
			kernels.ScatterAdd(tokens, l, scale, dOut)
			kernels.ScatterAdd(positions, at, 1, dOut)
		},
	}
}

func (l list[I]) embedAt(dst, table rowvec.Matrix, scale float32, positions rowvec.Matrix, at ids) kernel {
	switch at := at.(type) {
	case list[int32]:
		return embedAt(dst, table, l, scale, positions, at)
	case list[int64]:
		return embedAt(dst, table, l, scale, positions, at)
	case list[uint32]:
		return embedAt(dst, table, l, scale, positions, at)
	case list[uint64]:
		return embedAt(dst, table, l, scale, positions, at)
	case list[int]:
		return embedAt(dst, table, l, scale, positions, at)
	case list[uint]:
		return embedAt(dst, table, l, scale, positions, at)
	}
	return embedAt(dst, table, l, scale, positions, at.(list[named]))
}

func embedAt[I, P rowvec.ID](dst, table rowvec.Matrix, l list[I], scale float32, positions rowvec.Matrix, at list[P]) kernel {
	return kernel{
		func() error { return rowvec.EmbedAt(dst, table, l, scale, positions, at) },
		func() { kernels.EmbedAt(dst, table, l, scale, positions, at) },
	}
}

func (l list[I]) embedAtBackward(tokens, positions rowvec.Matrix, scale float32, dOut rowvec.Matrix, at ids) kernel {
	switch at := at.(type) {
	case list[int32]:
		return embedAtBackward(tokens, positions, l, scale, dOut, at)
	case list[int64]:
		return embedAtBackward(tokens, positions, l, scale, dOut, at)
	case list[uint32]:
		return embedAtBackward(tokens, positions, l, scale, dOut, at)
	case list[uint64]:
		return embedAtBackward(tokens, positions, l, scale, dOut, at)
	case list[int]:
		return embedAtBackward(tokens, positions, l, scale, dOut, at)
	case list[uint]:
		return embedAtBackward(tokens, positions, l, scale, dOut, at)
	}
	return embedAtBackward(tokens, positions, l, scale, dOut, at.(list[named]))
}

func embedAtBackward[I, P rowvec.ID](tokens, positions rowvec.Matrix, l list[I], scale float32, dOut rowvec.Matrix, at list[P]) kernel {
	return kernel{
		func() error { return rowvec.EmbedAtBackward(tokens, positions, l, scale, dOut, at) },
		func() {
			kernels.ScatterAdd(tokens, l, scale, dOut)
			kernels.ScatterAdd(positions, at, 1, dOut)
		},
	}
}
