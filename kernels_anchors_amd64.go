//go:build !purego

package rowvec

import (
	"unsafe"

	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/race"
)

// anchorArgs is what the assembly behind forward.Anchors works on: cols, which is a multiple of 16 above 0, are left.
type anchorArgs struct {
	x, y              *float64
	high, low, offset *uint64
	sin, twice        *float64 // or nil
	cols              int
	pos, posHigh      uint64 // its lower half counts
	angles            *angles
}

// angles is what sines and cosines in assembly are made with: the constants of package exact.
type angles struct {
	terms           [8][2]float64
	unit, half, one float64

	eighth, quarter, quarters, sign uint64 // quarters are all numbers of them
	// An int64 is the sum of two float64 less a third: those with its lower and its upper half in place of their last bits.
	lowBits, highBits uint64
	both              float64
}

var anglesOf = angles{
	terms: exact.Terms, unit: exact.TurnUnit, half: 0.5, one: 1,
	eighth: exact.Eighth, quarter: exact.Quarter, quarters: 3 * exact.Quarter, sign: 1 << 63,
	lowBits: 0x4330000000000000, highBits: 0x4530000080000000, both: 0x1p84 + 0x1p63 + 0x1p52,
}

// anchors is exact.Waves.Anchors for a multiple of 16 columns.
func anchors(w exact.Waves, x, y []float64, pos uint64) {
	if isa.Active() == isa.Portable || len(w.High) == 0 {
		w.Anchors(x, y, pos)
		return
	}
	cols := len(w.High)
	race.Write(unsafe.SliceData(x), cols)
	race.Write(unsafe.SliceData(y), cols)
	race.Read(unsafe.SliceData(w.High), cols)
	race.Read(unsafe.SliceData(w.Low), cols)
	race.Read(unsafe.SliceData(w.Offset), cols)
	race.Read(unsafe.SliceData(w.Sin), len(w.Sin))
	race.Read(unsafe.SliceData(w.Twice), len(w.Twice))
	for j := 0; j < cols; j += anchorColumns {
		a := anchorArgs{
			x: &x[j], y: &y[j], high: &w.High[j], low: &w.Low[j], offset: &w.Offset[j],
			cols: min(anchorColumns, cols-j),
			pos:  pos, posHigh: pos >> 32,
			angles: &anglesOf,
		}
		if w.Sin != nil {
			a.sin, a.twice = &w.Sin[j], &w.Twice[j]
		}
		a.do()
	}
}

// anchorColumns is what a call does: some 20 us with AVX-512.
const anchorColumns = 8 << 10

// do does one chunk. It is not inlined, since the check of the stack at its start is where a loop over chunks can be
// preempted.
//
//go:noinline
func (a *anchorArgs) do() {
	if isa.Active() == isa.AVX512 {
		anchorsAVX512(a)
	} else {
		anchorsAVX2(a)
	}
}

//go:noescape
func anchorsAVX2(a *anchorArgs)

//go:noescape
func anchorsAVX512(a *anchorArgs)
