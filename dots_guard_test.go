//go:build unix

package rowvec_test

import (
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
)

// TestDotsBeyond32Bits reads rows whose elements lie beyond 2^32: see TestBeyond32Bits.
func TestDotsBeyond32Bits(t *testing.T) {
	const cols, stride = 19, 1 << 20
	last := 1<<12 + 2 // no constant, whose product with stride 32 bits could not hold
	m := sparse(t, last+1, cols, stride)
	for i := range cols {
		m.Row(last)[i], m.Row(1)[i] = float32(i), -1
	}
	isatest.Each(t, func(t *testing.T) {
		a := rowvec.Matrix{Rows: 2, Cols: cols, Stride: (last - 1) * stride, Data: m.Data[stride:]} // rows 1 and last
		dst, _ := rowvec.NewMatrix(2, 3)
		if err := rowvec.Dots(dst, a, m, []uint32{uint32(last), 1, uint32(last)}); err != nil {
			t.Fatal(err)
		}
		want := []float32{-171, 19, -171, 2109, -171, 2109}
		if d := diff(dst.Data, want, true); d != "" {
			t.Fatal(d)
		}
	})
}
