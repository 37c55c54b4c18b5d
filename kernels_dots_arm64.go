//go:build !purego

package rowvec

// goesByBag reports whether so many bags of so many ids go by in one call of assembly, as bagDots has it.
func goesByBag(ids, bags, cols int) bool { return false }

// dotGroup returns how many rows of the table the assembly does at a time.
func dotGroup() int { return 2 }

// do does one chunk: see rowArgs.do.
//
//go:noinline
func (d *dotArgs) do() int { return dotsNEON(d) }

// dotLanes adds the products of n elements, a multiple of 16 and no more than a chunk, to the lanes.
//
//go:noinline
func dotLanes(lanes *[16]float32, x, y *float32, n int) { dotLanesNEON(&lanes[0], x, y, n) }

// squareSums sets dst to the sums of squares of so many rows, of so many columns, no more than a chunk together, and prefetches as many from
// next on. All are above 0.
//
//go:noinline
func squareSums(dst *float64, x *float32, stride uintptr, rows, cols int, next *float32) {
	squareSumsNEON(dst, x, stride, rows, cols, next)
}

//go:noescape
func dotsNEON(d *dotArgs) (done int)

//go:noescape
func dotLanesNEON(lanes, x, y *float32, n int)

//go:noescape
func squareSumsNEON(dst *float64, x *float32, stride uintptr, rows, cols int, next *float32)
