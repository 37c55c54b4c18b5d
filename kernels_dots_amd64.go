//go:build !purego

package rowvec

import "github.com/rowvec/rowvec/internal/isa"

// dotColumns is the number of columns from which on there is assembly.
func dotColumns() int {
	if isa.Active() == isa.AVX2 {
		return 8
	}
	return 1
}

// dotGroup returns how many rows of the table the assembly does at a time.
func dotGroup() int {
	if isa.Active() == isa.AVX512 {
		return 4
	}
	return 3
}

// do does one chunk: see rowArgs.do.
//
//go:noinline
func (d *dotArgs) do() int {
	if isa.Active() == isa.AVX512 {
		return dotsAVX512(d)
	}
	return dotsAVX2(d)
}

// dotLanes adds the products of n elements, a multiple of 16 and no more than a chunk, to the lanes.
//
//go:noinline
func dotLanes(lanes *[16]float32, x, y *float32, n int) { dotLanesAVX2(&lanes[0], x, y, n) }

//go:noescape
func dotsAVX2(d *dotArgs) (done int)

//go:noescape
func dotLanesAVX2(lanes, x, y *float32, n int)

//go:noescape
func dotsAVX512(d *dotArgs) (done int)
