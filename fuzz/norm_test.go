package fuzz

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/kernels"
)

// FuzzLayerNorm covers LayerNormBackward too, and both in place.
func FuzzLayerNorm(f *testing.F) {
	seeds(f)
	plain := input{Dim: 63, N: 13, Gaps: [4]uint8{1, 0, 3, 2}, Scale: math.Float32bits(1e-5), Seed: 1}
	for backward := range uint16(2) {
		add := func(change func(in *input), floats ...float32) {
			in := plain
			in.Flags = variant * backward
			change(&in)
			f.Add(in.bytes(floats...))
		}
		for start := range uint8(2) {
			add(func(in *input) { in.Start = start }, 0.5, 2)
			add(func(in *input) { in.Dim, in.Heads, in.Start = 257, 0xff, start }, -3)
			add(func(in *input) { in.Dim, in.Start, in.Scale = 47, start, 0 }, 0, -0x1p-149, 1e18)
			add(func(in *input) { in.Dim, in.N, in.Start, in.Flags = 5, 4999, start, in.Flags|manyIDs })
		}
		for kind := range uint8(8) {
			add(func(in *input) { in.BadAt, in.Flags = uint16(kind), in.Flags|misfit }, 1)
		}
		for _, epsilon := range []float64{-1, math.Inf(1), math.NaN(), math.MaxFloat32, math.Copysign(0, -1)} {
			add(func(in *input) { in.Scale = math.Float32bits(float32(epsilon)) }, 1)
		}
		for pair := range uint8(30) {
			add(func(in *input) { in.Overlap, in.Shift = 3+pair<<2, 64 }, 1)
			add(func(in *input) { in.Overlap, in.Gaps = 3+pair<<2, [4]uint8{} }, 1)
		}
	}
	fuzz(f, func(t *trial) {
		t.in.Flags &^= side // a vector has no stride
		backward, inPlace, epsilon := t.in.has(variant), t.in.Start%2 == 1, t.scale()
		n, dim := t.count(), t.dim()
		dst, src, dOut := t.matrix(0, n, dim), t.matrix(1, n, dim), t.matrix(2, n, dim)
		gamma, beta := t.matrix(3, 1, dim), t.matrix(3, 1, dim)
		dGamma, dBeta := beta, t.matrix(3, 1, dim)
		if t.in.has(misfit) {
			kind := int(t.in.BadAt) % 8
			*[]*int{&dst.Rows, &src.Rows, &dOut.Rows, &dst.Cols, &src.Cols, &gamma.Cols, &beta.Cols, &dBeta.Cols}[kind]++
			dst.Stride, src.Stride = dst.Stride+1, src.Stride+1
			t.checkShape(!backward && (kind == 2 || kind == 7))
		}
		t.op = "LayerNorm"
		if backward {
			t.op = "LayerNormBackward"
		}
		if !(epsilon >= 0 && epsilon <= math.MaxFloat32) {
			t.must = append(t.must, &rowvec.ValueError{Op: t.op, What: "epsilon", Got: epsilon, Want: "a finite one of at least 0"})
		}
		apart := func(name string, a *rowvec.Matrix, otherName string, b *rowvec.Matrix) {
			if extent(*a) == 0 || extent(*b) == 0 || &a.Data[0] != &b.Data[0] || a.Stride != b.Stride {
				t.checkApart(name, *a, otherName, *b)
			}
		}
		if !backward {
			if inPlace && !t.misshapen {
				t.place(dst, gamma, beta)
				src = dst
			} else {
				t.place(dst, src, gamma, beta)
			}
			apart("dst", dst, "src", src)
			t.checkApart("dst", *dst, "gamma", *gamma)
			t.checkApart("dst", *dst, "beta", *beta)
			t.call = kernel{
				func() error { return rowvec.LayerNorm(*dst, *src, gamma.Data, beta.Data, epsilon) },
				func() { kernels.LayerNorm(*dst, *src, gamma.Data, beta.Data, epsilon) },
			}
			return
		}
		if inPlace && !t.misshapen {
			t.place(dst, src, gamma, dGamma, dBeta)
			dOut = dst
		} else {
			t.place(dst, src, dOut, gamma, dGamma, dBeta)
		}
		apart("dSrc", dst, "dOut", dOut)
		t.checkApart("dSrc", *dst, "src", *src)
		t.checkApart("dSrc", *dst, "gamma", *gamma)
		for _, sum := range []struct {
			name string
			m    *rowvec.Matrix
		}{{"dGamma", dGamma}, {"dBeta", dBeta}} {
			t.checkApart(sum.name, *sum.m, "dSrc", *dst)
			t.checkApart(sum.name, *sum.m, "dOut", *dOut)
			t.checkApart(sum.name, *sum.m, "src", *src)
			t.checkApart(sum.name, *sum.m, "gamma", *gamma)
		}
		t.checkApart("dBeta", *dBeta, "dGamma", *dGamma)
		t.call = kernel{
			func() error {
				return rowvec.LayerNormBackward(*dst, *dOut, *src, gamma.Data, epsilon, dGamma.Data, dBeta.Data)
			},
			func() { kernels.LayerNormBackward(*dst, *dOut, *src, gamma.Data, epsilon, dGamma.Data, dBeta.Data) },
		}
	})
}
