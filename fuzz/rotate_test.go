package fuzz

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/positional"
)

// The bits of input.IDs that the types of ids leave: how a row is rotated, and that it is rotated where it is.
const (
	interleaved = 1 << (4 + iota)
	inverse
	inPlace
)

// FuzzRotate covers RotateAt too, from one matrix to another and in place.
func FuzzRotate(f *testing.F) {
	seeds(f)
	for kind := range uint8(8) {
		for i := range uint8(4) {
			in := input{Dim: 64 + 63*uint16(i), N: 12, Rows: uint16(i), Seq: 3, IDs: kind << 4, Flags: variant * uint16(i%2), Spread: i,
				Gaps: [4]uint8{i, 1, 2}, Scale: 1 << 31}
			f.Add(in.bytes())
			in.Flags, in.N, in.Scale = in.Flags|manyIDs, 4000, 1<<30
			f.Add(in.bytes())
			in.Flags, in.Start = in.Flags|misfit, i
			f.Add(in.bytes())
		}
	}
	fuzz(f, func(t *trial) {
		t.op = "Rotate"
		if t.in.has(variant) {
			t.op = "RotateAt"
		}
		n, start, seq, rows := t.sequences(t.count())
		r := rowvec.Rotation{Heads: 1 + int(t.in.Rows)%5, Interleaved: t.in.IDs&interleaved != 0, Inverse: t.in.IDs&inverse != 0}
		dim := t.dim() / r.Heads
		pairs := int(uint64(t.in.Scale) * uint64(dim/2+1) >> 32)
		dst, src, angles := t.matrix(0, n, r.Heads*dim), t.matrix(1, n, r.Heads*dim), t.matrix(2, rows, 2*pairs)
		if t.in.has(misfit) {
			switch t.in.Start % 6 {
			case 1:
				src.Rows++
			case 2:
				angles.Cols++
				angles.Stride++
			case 3:
				r.Heads = -r.Heads
			case 4:
				r.Heads++
			}
			t.checkShape(src.Rows == n && angles.Cols%2 == 0 && r.Heads > 0 && dst.Cols%r.Heads == 0 && angles.Cols <= dst.Cols/r.Heads)
		}
		if t.in.IDs&inPlace != 0 && src.Rows == dst.Rows {
			t.place(dst, angles)
			src = dst
		} else {
			t.place(dst, src, angles)
		}
		t.checkApart("dst", *dst, "angles", *angles)
		if extent(*dst) > 0 && extent(*src) > 0 && (&dst.Data[0] != &src.Data[0] || dst.Stride != src.Stride) {
			t.checkApart("dst", *dst, "src", *src)
		}
		if t.in.has(variant) {
			at := t.ids(0, n, rows)
			t.checkIDs("position id", at, rows)
			t.checkIDsApart("dst", *dst, "position ids", at)
			t.call = at.rotateAt(*dst, *src, r, *angles)
			return
		}
		t.checkSequences(n, start, seq, rows)
		t.call = kernel{
			func() error { return rowvec.Rotate(*dst, *src, r, *angles, start, seq) },
			func() { kernels.Rotate(*dst, *src, r, *angles, start, seq) },
		}
	})
}

// FuzzRotary has a Rotary of any kind do what the definition does with its angles, by plain Go: near and far positions, with
// and without a table, on several workers.
func FuzzRotary(f *testing.F) {
	seeds(f)
	for kind := range uint8(32) {
		in := input{Dim: 40 + 50*uint16(kind%7), N: 12 + 50*uint16(kind%3), Rows: uint16(kind), Seq: 3 + 20*(kind%3), IDs: kind << 4,
			Flags: variant * uint16(kind%2), Spread: kind, Gaps: [4]uint8{kind, 1, 2}, Scale: 1 << 31, BadID: uint64(kind) << (2 * kind)}
		f.Add(in.bytes())
		in.Flags |= manyIDs
		in.N *= 9
		f.Add(in.bytes())
		in.N /= 9
		in.Flags, in.Start, in.Scale = in.Flags|variant, kind<<2, in.Scale|uint32(kind) // and of several axes
		f.Add(in.bytes())
	}
	fuzz(f, func(t *trial) {
		n, _, seq, _ := t.sequences(t.count())
		heads := 1 + int(t.in.Rows)%5
		dim := t.dim() / heads
		rotated := 2 * (1 + int(t.in.Scale%32))
		length := int(t.in.Rows) / 5 % 200
		options := []positional.RotaryOption{positional.Workers(1 + int(t.in.Start)%4), positional.Table(length)}
		rotation := rowvec.Rotation{Heads: heads, Interleaved: t.in.IDs&interleaved != 0, Inverse: t.in.IDs&inverse != 0}
		if rotation.Interleaved {
			options = append(options, positional.Interleaved())
		}
		scalings := []positional.Scaling{nil, positional.Linear{Factor: 3}, positional.YaRN{Factor: 8, Original: 50},
			positional.DynamicNTK{Factor: 2, Original: 100}}
		options = append(options, positional.Scaled(scalings[t.in.Shift%4]))
		axes, axisOf := 1, make([]int, rotated/2) // of each pair
		if sharing := t.in.Start >> 2 % 4; t.in.has(variant) && sharing > 0 && rotated > 2 {
			axes = 2
			first := 1 + int(t.in.Start>>4)%(rotated/2-1)
			if sharing == 2 {
				first = max(first, rotated/2-rotated/4) // the second has every other pair at most
			}
			share := [...]func(...int) positional.RotaryOption{positional.Sections, positional.InterleavedSections, positional.Axial}
			options = append(options, share[sharing-1](first, rotated/2-first))
			for i := range axisOf {
				if sharing == 2 && i%2 == 1 && i/2 < rotated/2-first || sharing != 2 && i >= first {
					axisOf[i] = 1
				}
			}
		}
		r, err := positional.NewRotary(rotated, options...)
		if err != nil {
			panic(err)
		}
		dst, src := t.matrix(0, n, heads*dim), t.matrix(1, n, heads*dim)
		if t.in.IDs&inPlace != 0 {
			t.place(dst)
			src = dst
		} else {
			t.place(dst, src)
		}
		t.op = "positional.Rotary.Apply"
		if rotation.Inverse {
			t.op = "positional.Rotary.Backward"
		}
		start := int(t.in.BadID >> (t.in.BadAt % 64) & (math.MaxInt >> 1))
		at, rows := make([]int, n), seq // rows of angles
		for i := range at {
			at[i] = i % max(1, seq)
		}
		if t.in.has(variant) {
			t.op += "At"
			for i := range at {
				if mix(t.in.Seed^uint32(i))%3 == 0 {
					at[i] = int(mix(t.in.Seed+uint32(i)) % 200)
				}
			}
			rows = 1 + slices.Max(append(at, 0))
		} else {
			t.checkSequences(n, start, seq, math.MaxInt)
		}
		places := [][]int{at, slices.Clone(at)}[:axes] // on each axis
		if axes > 1 {
			t.op = strings.TrimSuffix(t.op, "At") + "Axes"
			for i := range places[1] {
				if mix(t.in.Seed*7+uint32(i))%4 == 0 {
					places[1][i] = int(mix(t.in.Seed*5+uint32(i)) % uint32(rows))
				}
			}
		}
		positions := make([][]int, axes)
		for a := range positions {
			for _, p := range places[a] {
				positions[a] = append(positions[a], start+p)
			}
		}
		t.checkShape(dim >= rotated)
		if extent(*dst) > 0 && extent(*src) > 0 && (&dst.Data[0] != &src.Data[0] || dst.Stride != src.Stride) {
			t.checkApart("dst", *dst, [...]string{"src", "dOut"}[t.in.IDs>>5&1], *src)
		}
		t.call = kernel{
			func() error {
				switch {
				case axes > 1 && rotation.Inverse:
					return r.BackwardAxes(*dst, *src, heads, positions)
				case axes > 1:
					return r.ApplyAxes(*dst, *src, heads, positions)
				case t.in.has(variant) && rotation.Inverse:
					return r.BackwardAt(*dst, *src, heads, positions[0])
				case t.in.has(variant):
					return r.ApplyAt(*dst, *src, heads, positions[0])
				case rotation.Inverse:
					return r.Backward(*dst, *src, heads, seq, start)
				}
				return r.Apply(*dst, *src, heads, seq, start)
			},
			func() {
				if n == 0 {
					return
				}
				defer isa.Set(isa.Portable)()
				angles, _ := rowvec.NewMatrix(rows, rotated)
				if err := r.Angles(angles, start); err != nil {
					panic(err)
				}
				each, _ := rowvec.NewMatrix(n, rotated) // of each row
				for i := range n {
					for j, a := range axisOf {
						of := angles.Row(places[a][i])
						each.Row(i)[j], each.Row(i)[rotated/2+j] = of[j], of[rotated/2+j]
					}
				}
				kernels.Rotate(*dst, *src, rotation, each, 0, n)
			},
		}
	})
}

func (l list[I]) rotateAt(dst, src rowvec.Matrix, r rowvec.Rotation, angles rowvec.Matrix) kernel {
	return kernel{
		func() error { return rowvec.RotateAt(dst, src, r, angles, l) },
		func() { kernels.RotateAt(dst, src, r, angles, l) },
	}
}
