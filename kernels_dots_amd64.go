//go:build !purego

package rowvec

import (
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/tuning"
)

// goesByBag reports whether so many bags of so many ids go by in one call of assembly, as bagDots has it.
func goesByBag(ids, bags, cols int) bool {
	if isa.Active() == isa.AVX2 {
		return ids <= bags || cols <= 128 && ids <= 10*bags
	}
	return fullWidth() || halves() && ids <= bags && cols%16 == 0
}

// dotGroup returns how many rows of the table the assembly does at a time.
func dotGroup() int {
	if isa.Active() == isa.AVX512 {
		return 4
	}
	return 3
}

// do does one chunk: see rowArgs.do. One row of a goes over rows of the table that are prefetched one after the other, where AVX-512 is in halves
// over chosen ones of whole vectors; and where it is not, of several over more rows of more than 128 columns than one call does the first,
// for the others to find them in a cache. ns per id on a Zen 5, all over groups of rows and so, 8,192 uniform ids (of 512 columns 4,096):
//
//	rows of a           1           2           4           8           16          64
//	1,000,000 x 16      3.25 2.71
//	1,000,000 x 32      5.84 3.84
//	1,000,000 x 64      12.7 7.34
//	1,000,000 x 128     23.9 19.7
//	  500,000 x 160                             31.7 30.5
//	  300,000 x 256     46.4 35.4   51.9 40.9   66.9 47.4   82.9 53.4   102  71.1   217  182
//	  400,000 x 300     53.9 42.9               72.5 63.8               118  92.7
//	  200,000 x 512                             108  89.8               189  143
//	   50,257 x 768     113  108    124  124                196  164
//
// On a Zen 4 one row takes 0.92 to 0.95 of the time so, 2,048 ids of 50,257 x 768, 1.03, 128 of them, 1.04, 300,000 x 256, 0.87 to 1.02,
// 1,000,000 x 128, 0.56 to 0.63, x 48 and x 64, 0.75 to 0.84, x 16 and x 32, and 0.82, 10,000 x 64, but 1.75 and 1.54, x 50 and x 30, whose masked
// vector waits for a line of which it reads nothing; the first of several rows 0.96 to 1.35, medians of 15 interleaved rounds.
//
//go:noinline
func (d *dotArgs) do() int {
	switch {
	case d.parts:
		return d.groups()
	case d.rows == 1 && d.byRow() && d.ids == nil && tuning.InOrderLines:
		return dotsOrderedAVX512(d)
	case isa.Active() == isa.AVX512 && (d.ends != nil || d.rows == 1 && d.byRow()):
		return dotsOneAVX512(d)
	case d.ends != nil:
		return dotsOneAVX2(d)
	}
	d.step, d.end, d.apart = dotGroup(), d.n, 1
	return d.groups()
}

// groups does the groups from first to end.
func (d *dotArgs) groups() int {
	if isa.Active() == isa.AVX512 {
		return dotsAVX512(d)
	}
	return dotsAVX2(d)
}

// dotLanes adds the products of n elements, a multiple of 16 and no more than a chunk, to the lanes.
//
//go:noinline
func dotLanes(lanes *[16]float32, x, y *float32, n int) { dotLanesAVX2(&lanes[0], x, y, n) }

// squareSums sets dst to the sums of squares of so many rows, of so many columns, no more than a chunk together, and prefetches as many from
// next on. All are above 0.
//
//go:noinline
func squareSums(dst *float64, x *float32, stride uintptr, rows, cols int, next *float32) {
	if isa.Active() == isa.AVX512 {
		squareSumsAVX512(dst, x, stride, rows, cols, next)
	} else {
		squareSumsAVX2(dst, x, stride, rows, cols, next)
	}
}

//go:noescape
func dotsAVX2(d *dotArgs) (done int)

//go:noescape
func dotsOneAVX2(d *dotArgs) (done int)

//go:noescape
func dotLanesAVX2(lanes, x, y *float32, n int)

//go:noescape
func squareSumsAVX2(dst *float64, x *float32, stride uintptr, rows, cols int, next *float32)

//go:noescape
func squareSumsAVX512(dst *float64, x *float32, stride uintptr, rows, cols int, next *float32)

//go:noescape
func dotsAVX512(d *dotArgs) (done int)

//go:noescape
func dotsOneAVX512(d *dotArgs) (done int)

//go:noescape
func dotsOrderedAVX512(d *dotArgs) (done int)
