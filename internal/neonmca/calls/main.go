// Command calls is what neonmca traces: the kernels, but for those in untraced of neonmca, called on few rows and on twice as many, of the numbers of columns that its
// arguments are. Before each call it prints which one follows, and it passes through mark right before and right after.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/lookup"
)

const (
	batches = 4       // of rows that are added, and ids in a bag
	head    = 64      // columns of one, in rotations
	cached  = 100     // rows of a table too small for prefetching
	vast    = 200_000 // rows of one that is prefetched at any dim
)

//go:noinline
func mark() {}

// call runs f once, for what only a first call does, and then on few rows and on twice as many. The kernel does one row after the
// other, from its first column to its last.
func call(function string, dim, table, rows int, f func(n int) error) {
	trace(function, dim, table == vast, true, rows, f)
}

// mixed is call for a kernel that does several rows at a time, or columns after columns.
func mixed(function string, dim, rows int, f func(n int) error) {
	trace(function, dim, false, false, rows, f)
}

func trace(function string, dim int, prefetching, whole bool, rows int, f func(n int) error) {
	for i, n := range []int{rows, rows, 2 * rows} {
		if i > 0 {
			fmt.Println(function, dim, prefetching, whole, n)
			mark()
		}
		err := f(n)
		if i > 0 {
			mark()
		}
		if err != nil {
			panic(err)
		}
	}
}

func matrix(rows, dim int) rowvec.Matrix {
	return rowvec.Matrix{Rows: rows, Cols: dim, Data: make([]float32, rows*dim), Stride: dim}
}

func first(m rowvec.Matrix, n int) rowvec.Matrix {
	m.Rows = n
	return m
}

func main() {
	runtime.LockOSThread()
	for _, arg := range os.Args[1:] {
		dim, err := strconv.Atoi(arg)
		if err != nil {
			panic(err)
		}
		lookups(dim)
		if dim%head == 0 { // so that it is many enough ids for checks, and whole heads
			checks(dim)
			bags(dim)
			products(dim)
			updates(dim)
			activations(dim)
		}
	}
}

// some returns how many rows of so many columns a call is to do: more than are prefetched ahead, and than Go copies.
func some(dim int) int {
	if dim > 256 {
		return 20
	}
	return 36
}

// chosen returns n ids below cached.
func chosen(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32(i * 37 % cached)
	}
	return ids
}

func lookups(dim int) {
	rows := some(dim)
	ids := chosen(2 * rows)
	offsets := make([]int, len(ids)+1) // of bags of one
	for i := range offsets {
		offsets[i] = i
	}
	linear, positions, sum := matrix(2*rows, dim), matrix(2*rows, dim), matrix(2*rows, dim)
	for _, size := range []int{cached, vast} {
		table := matrix(size, dim)
		call("gatherNEON", dim, size, rows, func(n int) error {
			return rowvec.Gather(first(linear, n), table, ids[:n])
		})
		call("gatherScaledNEON", dim, size, rows, func(n int) error {
			return rowvec.GatherScaled(first(linear, n), table, ids[:n], 3)
		})
		call("gatherSumNEON", dim, size, rows, func(n int) error {
			return rowvec.BagSum(first(linear, n), table, ids[:n], offsets[:n+1], nil)
		})
		call("scatterAddNEON", dim, size, rows, func(n int) error {
			return rowvec.ScatterAdd(table, ids[:n], 3, first(linear, n))
		})
		call("embedNEON", dim, size, rows, func(n int) error {
			return rowvec.Embed(first(linear, n), table, ids[:n], 3, positions, 0, n)
		})
	}
	call("addScaledNEON", dim, 0, rows, func(n int) (err error) {
		for range n {
			err = rowvec.AddScaled(linear.Row(0), 3, positions.Row(0))
		}
		return err
	})
	call("scaleRowNEON", dim, 0, rows, func(n int) error {
		for range n {
			rowvec.Scale(linear.Row(0), 3)
		}
		return nil
	})
	table := matrix(cached, dim)
	call("embedRowNEON", dim, 0, rows, func(n int) (err error) {
		for i := range n {
			err = rowvec.Embed(first(linear, 1), table, ids[i:i+1], 3, positions, i, 1)
		}
		return err
	})
	stack := matrix(batches*2*rows, dim)
	call("addBatchesNEON", dim, 0, rows, func(n int) error {
		return rowvec.AddBatches(first(sum, n), first(stack, n*batches))
	})
}

// checks has as many ids as a row has elements elsewhere; a few are checked in Go.
func checks(dim int) {
	ids32, ids64 := make([]int32, dim), make([]int64, dim)
	call("ids32BelowNEON", dim, 0, some(dim), func(n int) (err error) {
		for range n {
			err = rowvec.CheckIDs(ids32, vast)
		}
		return err
	})
	call("ids64BelowNEON", dim, 0, some(dim), func(n int) (err error) {
		for range n {
			err = rowvec.CheckIDs(ids64, vast)
		}
		return err
	})
}

// bags are of four ids each, and rows their sums.
func bags(dim int) {
	rows := some(dim)
	ids := chosen(2 * rows * batches)
	weights, offsets := make([]float32, len(ids)), make([]int, 2*rows+1)
	for i := range offsets {
		offsets[i] = i * batches
	}
	sums, table := matrix(2*rows, dim), matrix(cached, dim)
	mixed("bagSumNEON", dim, rows, func(n int) error {
		return rowvec.BagSum(first(sums, n), table, ids[:n*batches], offsets[:n+1], nil)
	})
	mixed("bagWeightedNEON", dim, rows, func(n int) error {
		return rowvec.BagSum(first(sums, n), table, ids[:n*batches], offsets[:n+1], weights[:n*batches])
	})
	mixed("bagMaxNEON", dim, rows, func(n int) error {
		return rowvec.BagMax(first(sums, n), table, ids[:n*batches], offsets[:n+1])
	})
	both, bags, places := matrix(2*rows, 2*dim), make([]int, 2*rows), make([]int, 2*rows)
	for i := range bags {
		bags[i], places[i] = i/batches, i*7%cached
	}
	call("bagMaxBackwardNEON", dim, cached, rows, func(n int) error {
		forward.BagMaxBackward(first(sums, n), table, places[:n], both, bags[:n], true)
		return nil
	})
}

// products has four hidden states, and rows are those of the table.
func products(dim int) {
	rows := some(dim)
	states, logits, gradients := matrix(4, dim), matrix(4, 2*rows), matrix(4, dim)
	table := matrix(2*rows, dim)
	mixed("dotsNEON", dim, rows, func(n int) error {
		logits := rowvec.Matrix{Rows: 4, Cols: n, Data: logits.Data, Stride: n}
		return rowvec.DotsAll(logits, states, first(table, n))
	})
	grad := matrix(2*rows, dim)
	mixed("addProductNEON", dim, rows, func(n int) error {
		embedding, err := lookup.FromMatrix(first(table, n))
		if err != nil {
			return err
		}
		output, err := lookup.NewOutput(embedding)
		if err != nil {
			return err
		}
		logits := rowvec.Matrix{Rows: 4, Cols: n, Data: logits.Data, Stride: n}
		return output.Backward(gradients, first(grad, n), logits, states)
	})
}

func updates(dim int) {
	rows := some(dim)
	ids := chosen(2 * rows)
	table, means, squares, grad := matrix(cached, dim), matrix(cached, dim), matrix(cached, dim), matrix(2*rows, dim)
	sums := make([]float32, cached)
	call("updateSGDNEON", dim, cached, rows, func(n int) error {
		return rowvec.UpdateSGD(table, ids[:n], first(grad, n), 0.1, 0.1)
	})
	places := make([]int, 2*rows) // none behind the one before
	for i := range places {
		places[i] = i ^ 1
	}
	call("updateAddNEON", dim, cached, rows, func(n int) error {
		forward.Apply(forward.Update{
			Method: forward.SGD, Table: table, IDs: unsafe.Pointer(&ids[0]), Grad: first(grad, n), Places: places[:n], Rate: 0.1,
		})
		return nil
	})
	norms := make([]float64, 2*rows)
	call("squareSumsNEON", dim, cached, rows, func(n int) error {
		forward.SquaredNorms(norms[:n], first(grad, n), nil)
		return nil
	})
	call("updateAdagradNEON", dim, cached, rows, func(n int) error {
		return rowvec.UpdateAdagrad(table, squares, ids[:n], first(grad, n), 0.1, 1e-10)
	})
	call("updateRowAdagradNEON", dim, cached, rows, func(n int) error {
		return rowvec.UpdateRowAdagrad(table, sums, ids[:n], first(grad, n), 0.1, 1e-10)
	})
	call("updateAdamNEON", dim, cached, rows, func(n int) error {
		step := rowvec.AdamStep{} // what it computes with does not matter
		return rowvec.UpdateAdam(table, means, squares, ids[:n], first(grad, n), step)
	})
}

// activations is what is done to rows once they have been looked up.
func activations(dim int) {
	rows := some(dim)
	src, dst, grad := matrix(2*rows, dim), matrix(2*rows, dim), matrix(2*rows, dim)
	gamma, beta := make([]float32, dim), make([]float32, dim)
	dGamma, dBeta := make([]float32, dim), make([]float32, dim)
	mixed("layerNormNEON", dim, rows, func(n int) error {
		return rowvec.LayerNorm(first(dst, n), first(src, n), gamma, beta, 1e-5)
	})
	mixed("layerNormBackwardNEON", dim, rows, func(n int) error {
		return rowvec.LayerNormBackward(first(dst, n), first(grad, n), first(src, n), gamma, 1e-5, dGamma, dBeta)
	})
	mixed("dropoutNEON", dim, rows, func(n int) error {
		return rowvec.Dropout(first(dst, n), first(src, n), rowvec.Mask{P: 0.1})
	})
	angles := matrix(2*rows, head)
	mixed("rotateHalvesNEON", dim, rows, func(n int) error {
		return rowvec.Rotate(first(dst, n), first(src, n), rowvec.Rotation{Heads: dim / head}, angles, 0, n)
	})
	mixed("rotatePairsNEON", dim, rows, func(n int) error {
		return rowvec.Rotate(first(dst, n), first(src, n), rowvec.Rotation{Heads: dim / head, Interleaved: true}, angles, 0, n)
	})
	x, y, c := make([]float64, dim), make([]float64, dim), make([]float64, dim)
	mixed("sinusoidsNEON", dim, rows, func(n int) error {
		return rowvec.Sinusoids(first(dst, n), 0, x, y, c)
	})
}
