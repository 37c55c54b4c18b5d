package fuzz

import (
	"bytes"
	"encoding/binary"
	"math"
)

// input is what the bytes of a case mean, field by field in little-endian order; missing bytes are 0, and what follows
// are floats (see values). Every input is a case: trial brings each field into its range.
type input struct {
	Dim, N, Rows, Positions uint16
	Seq, Start              uint8
	Gaps                    [4]uint8 // between the rows of each matrix
	Flags                   uint16   // the constants below
	Heads                   uint8    // bit i: block i lies behind an inaccessible page, and not in front of one
	IDs, At                 uint8    // types of the two kinds of ids
	Spread                  uint8    // number of different ids, if not 0
	Scale, Seed             uint32
	Overlap                 uint8 // which arguments share memory, if any
	Shift                   uint16
	Bad                     uint8 // which id is bad and how, if any
	BadAt                   uint16
	BadID                   uint64
	Align                   uint64 // bits 4i to 4i+3: elements between block i and its inaccessible page
}

const (
	manyRows  = 1 << iota // more rows than one call of assembly does
	manyIDs               // more ids than that
	misfit                // lengths of sequences are taken as they come
	side                  // matrices that share memory lie side by side in the same rows
	variant               // another kernel of the same target
	shareAt               // ids of positions share the memory, not those of tokens
	train                 // with dropout
	segmented             // with segments
	normed                // with a layer normalisation
)

func decode(b []byte) (in input, floats []float32) {
	size := binary.Size(in)
	head := make([]byte, size)
	copy(head, b)
	if _, err := binary.Decode(head, binary.LittleEndian, &in); err != nil {
		panic(err)
	}
	for b = b[min(size, len(b)):]; len(b) >= 4; b = b[4:] {
		floats = append(floats, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return in, floats
}

// bytes returns the case that decodes to in and floats.
func (in input) bytes(floats ...float32) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, in); err != nil {
		panic(err)
	}
	if err := binary.Write(&b, binary.LittleEndian, floats); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func (in input) has(flag uint16) bool { return in.Flags&flag != 0 }

// values is an endless list of numbers of both signs and of many sizes; one in eight is one of the case's own floats.
// It repeats itself after a prime number of them, so that no two rows of a matrix are alike.
type values struct {
	pool [1021]float32
	next int
}

var special = []float32{
	0, float32(math.Copysign(0, -1)), math.MaxFloat32, math.SmallestNonzeroFloat32, -0x1p-126, float32(math.Inf(1)),
	float32(math.Inf(-1)), float32(math.NaN()), math.Float32frombits(0x7f800001), math.Float32frombits(0xffc12345),
}

func (in input) values(own []float32) *values {
	if len(own) == 0 {
		own = special
	}
	v := new(values)
	for i := range v.pool {
		h := mix(in.Seed + uint32(i))
		exponent := 107 + h>>8%40
		v.pool[i] = math.Float32frombits(h&^(0xff<<23) | exponent<<23)
		if h&7 == 0 {
			v.pool[i] = own[h>>3%uint32(len(own))]
		}
	}
	return v
}

// fill sets x to the values that come next.
func (v *values) fill(x []float32) {
	for len(x) > 0 {
		n := copy(x, v.pool[v.next:])
		v.next = (v.next + n) % len(v.pool)
		x = x[n:]
	}
}

// cancelling has products of which a sum leaves nothing, or with a fused multiply-add 2^-54: (1 + 2^-27)^2 - (1 + 2^-26).
var cancelling = []float64{1, 1 + 0x1p-27, 1 + 0x1p-26, -1, -1 - 0x1p-27, -1 - 0x1p-26}

// fill64 sets one half of x to values that come next, with more bits, and the other to some of the above.
func (v *values) fill64(x []float64) {
	for i := range x {
		var pair [2]float32
		v.fill(pair[:])
		x[i] = float64(pair[0]) * (1 + math.Mod(float64(pair[1]), 0x1p-24))
		if b := math.Float32bits(pair[1]); b&1 == 0 {
			x[i] = cancelling[b>>1%uint32(len(cancelling))]
		}
	}
}

// mix is a hash of 32 bits.
func mix(h uint32) uint32 {
	h = (h ^ h>>16) * 0x7feb352d
	h = (h ^ h>>15) * 0x846ca68b
	return h ^ h>>16
}
