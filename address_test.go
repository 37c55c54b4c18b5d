//go:build unix

package rowvec_test

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
)

// TestIDsAtAMultipleOf4GiB has ids at an address whose lower 32 bits are 0, which is not nil.
func TestIDsAtAMultipleOf4GiB(t *testing.T) {
	lowerWide(t)
	half := uint64(1) << 31         // no constant, which is too large where int has 32 bits
	m := sparse(t, 2, 1, int(half)) // more than 8 GiB, of which a page exists
	start := uint64(uintptr(unsafe.Pointer(&m.Data[0])))
	ids := unsafe.Slice((*int64)(unsafe.Pointer(&m.Data[-start%(2*half)/4])), 4)
	copy(ids, []int64{3, 0, 2, 2})
	plain := slices.Clone(ids)
	table, _ := rowvec.NewMatrix(4, 40)
	for i := range table.Data {
		table.Data[i] = float32(i)
	}
	isatest.Each(t, func(t *testing.T) {
		for name, run := range map[string]func(dst rowvec.Matrix, ids []int64) error{
			"Dots":    func(dst rowvec.Matrix, ids []int64) error { dst.Cols = 4; return rowvec.Dots(dst, table, table, ids) },
			"EmbedAt": func(dst rowvec.Matrix, ids []int64) error { return rowvec.EmbedAt(dst, table, plain, 2, table, ids) },
			"RotateAt": func(dst rowvec.Matrix, ids []int64) error {
				return rowvec.RotateAt(dst, table, rowvec.Rotation{Heads: 1}, table, ids)
			},
		} {
			got, _ := rowvec.NewMatrix(4, 40)
			want, _ := rowvec.NewMatrix(4, 40)
			if err := run(got, ids); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := run(want, plain); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !slices.Equal(got.Data, want.Data) {
				t.Errorf("%s: got %v, want %v", name, got.Data, want.Data)
			}
		}
	})
}
