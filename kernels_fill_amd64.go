//go:build !purego

package rowvec

import (
	"math"
	"unsafe"

	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/philox"
	"github.com/rowvec/rowvec/internal/race"
)

func init() {
	forward.FillUniform = fillUniform
	forward.FillNormal = fillNormal
}

// fillArgs is what the assembly of random numbers works on.
type fillArgs struct {
	dst         *float32
	groups      int       // of numbers, above 0
	counters    [8]uint64 // words 0 of the next vector of counters, by lanes
	step        uint64    // between vectors of counters
	words       [3]uint32 // words 1 to 3
	multipliers [2]uint32
	keys        philoxRounds
	angles      *angles
	logarithms  *logarithms

	normal bool      // or else uniform
	lower  uint64    // the lower half of a lane (AVX-512)
	odd    uint32    // of uniform numbers: 2^24 - 1
	scale  float32   // likewise, the limit over 2^24
	std    float64   // of normal ones
	work   *fillWork // likewise
}

// fillWork is what eight pairs of vectors of words become on their way to normal numbers. Vectors of AVX2 fill half of each array.
type fillWork struct {
	//lint:ignore U1000 for the assembly alone
	x, n [8][8]float64 // a word, and then 2^n * (1+x), whose logarithm is due; then an angle, and the quarter turns next to it
	//lint:ignore U1000 likewise
	s, z [8][8]float64 // those of exact.Log, and in place of z its polynomial times that; the distance from 0, and the square of the angle
	//lint:ignore U1000 likewise
	angles [8][8]float64 // words, and then half of that square
}

// logarithms is what the assembly of normal numbers makes logarithms with: the constants of package exact, and some to take numbers
// apart.
type logarithms struct {
	terms        [11]float64
	ln2Hi, ln2Lo float64
	one, two     float64
	integer      float64 // 2^52: an integer below that becomes a float64 by this one's bits, and then less this one
	half         float64 // the same, less 1/2
	exponent     float64 // the same, plus what there is in the exponent of 2^32
	carry        uint64  // what takes mantissas above that of sqrt(2), and no others, beyond 52 bits
}

var logarithmsOf = logarithms{
	terms: exact.LogTerms, ln2Hi: exact.Ln2Hi, ln2Lo: exact.Ln2Lo, one: 1, two: 2,
	integer: 1 << 52, half: 1<<52 - 0.5, exponent: 1<<52 + 1023 + 32,
	carry: 1<<52 - 1 - math.Float64bits(math.Sqrt2)&(1<<52-1),
}

// fillUniform is philox.Uniform.
func fillUniform(dst []float32, seed, stream, first uint64, limit float32) {
	if isa.Active() == isa.Portable {
		philox.Uniform(dst, seed, stream, first, limit)
		return
	}
	a := fillArgs{odd: 1<<24 - 1, scale: limit * 0x1p-24}
	a.fill(dst, seed, stream, first)
}

// fillNormal is philox.Normal.
func fillNormal(dst []float32, seed, stream, first uint64, std float32) {
	if isa.Active() == isa.Portable {
		philox.Normal(dst, seed, stream, first, std)
		return
	}
	a := fillArgs{normal: true, std: float64(std), angles: &anglesOf, logarithms: &logarithmsOf}
	a.fill(dst, seed, stream, first)
}

// fillElements is what a call does at most.
const fillElements = 8 << 10

// fill does groups in place, which begin at multiples of their length, and parts of them by way of a buffer. The receiver is a value: see
// runPieces of rowArgs.
func (a fillArgs) fill(dst []float32, seed, stream, first uint64) {
	race.Write(unsafe.SliceData(dst), len(dst))
	a.multipliers, a.keys = [...]uint32{0xd2511f53, 0xcd9e8d57}, philoxKeys(seed)
	a.lower, a.step = 1<<32-1, 4
	if isa.Active() == isa.AVX512 {
		a.step = 8
	}
	group := 16 * a.step
	if a.normal {
		a.work = new(fillWork)
	} else if a.step == 4 {
		group = 32
	}
	var buffer [128]float32
	for len(dst) > 0 {
		skip := first % group
		counter := (first - skip) / 4
		space := 4 * (1<<32 - counter%(1<<32)) // until word 1 is another
		groups := min(uint64(len(dst)), fillElements, space) / group
		part := skip > 0 || groups == 0
		if part {
			a.dst, a.groups = &buffer[0], 1
		} else {
			a.dst, a.groups = &dst[0], int(groups)
		}
		a.count(counter)
		a.words = [3]uint32{uint32(counter >> 32), uint32(stream), uint32(stream >> 32)}
		a.do()
		done := a.groups * int(group)
		if part {
			done = copy(dst, buffer[skip:group])
		}
		dst, first = dst[done:], first+uint64(done)
	}
}

// count sets the first vector of counters of a group, in the order of lanes in which unpacking puts numbers right: uniform ones as pairs of
// words, normal ones as float32 in vectors of half the size.
func (a *fillArgs) count(first uint64) {
	n := a.step
	for lane := range n {
		place := lane/2 + lane%2*(n/2)
		if a.normal {
			place = lane%4*(n/4) + lane/4
		}
		a.counters[lane] = first%(1<<32) + place
	}
}

// do does one chunk. It is not inlined, since the check of the stack at its start is where a loop over chunks can be
// preempted.
//
//go:noinline
func (a *fillArgs) do() {
	switch wide := isa.Active() == isa.AVX512; {
	case a.normal && wide:
		normalAVX512(a)
	case a.normal:
		normalAVX2(a)
	case wide:
		uniformAVX512(a)
	default:
		uniformAVX2(a)
	}
}

//go:noescape
func uniformAVX2(a *fillArgs)

//go:noescape
func uniformAVX512(a *fillArgs)

//go:noescape
func normalAVX2(a *fillArgs)

//go:noescape
func normalAVX512(a *fillArgs)
