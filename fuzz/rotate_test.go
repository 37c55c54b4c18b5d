package fuzz

import (
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/kernels"
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

func (l list[I]) rotateAt(dst, src rowvec.Matrix, r rowvec.Rotation, angles rowvec.Matrix) kernel {
	return kernel{
		func() error { return rowvec.RotateAt(dst, src, r, angles, l) },
		func() { kernels.RotateAt(dst, src, r, angles, l) },
	}
}
