// Command calls is what neonmca traces: kernels of rows, and checks of ids, called on few rows and on twice as many. Before
// each call it prints which one follows, and it passes through mark right before and right after.
package main

import (
	"fmt"
	"runtime"

	"github.com/rowvec/rowvec"
)

const (
	batches = 4
	cached  = 100     // rows of a table too small for prefetching
	vast    = 200_000 // rows of one that is prefetched at any dim
)

//go:noinline
func mark() {}

// call runs f once, for what only a first call does, and then on few rows and on twice as many.
func call(function string, dim, table, rows int, f func(n int) error) {
	for i, n := range []int{2, rows, 2 * rows} {
		if i > 0 {
			fmt.Println(function, dim, table == vast, n)
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
	for _, dim := range []int{8, 64, 768} {
		rows := 36 // more than are prefetched ahead
		if dim == 768 {
			rows = 12
		}
		ids := make([]int32, 2*rows)
		for i := range ids {
			ids[i] = int32(i * 37 % cached)
		}
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
		stack := matrix(batches*2*rows, dim)
		call("addBatchesNEON", dim, 0, rows, func(n int) error {
			return rowvec.AddBatches(first(sum, n), first(stack, n*batches))
		})
		ids32, ids64 := make([]int32, dim), make([]int64, dim)
		call("ids32BelowNEON", dim, 0, rows, func(n int) (err error) {
			for range n {
				err = rowvec.CheckIDs(ids32, vast)
			}
			return err
		})
		call("ids64BelowNEON", dim, 0, rows, func(n int) (err error) {
			for range n {
				err = rowvec.CheckIDs(ids64, vast)
			}
			return err
		})
	}
}
