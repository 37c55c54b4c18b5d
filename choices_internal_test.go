//go:build !purego && amd64

package rowvec

import (
	"testing"

	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
)

// What is chosen by sizes alone is the same on any processor, whether it has what is chosen or not.

// TestCached has tables of short rows and of long ones on either side of what is prefetched.
func TestCached(t *testing.T) {
	isatest.Tune(t, &tuning.CachedShortBytes, 4*1000)
	isatest.Tune(t, &tuning.CachedShortColumns, 50)
	isatest.Tune(t, &tuning.CachedBytes, 4*2000)
	for _, c := range []struct {
		rows, cols int
		want       bool
	}{
		{20, 50, true}, {21, 50, false}, {40, 50, false}, {21, 51, true}, {39, 51, true}, {40, 51, false}, {0, 51, true},
	} {
		if got := cached(&Matrix{Rows: c.rows, Cols: c.cols, Stride: c.cols}); got != c.want {
			t.Errorf("%d x %d: %v, want %v", c.rows, c.cols, got, c.want)
		}
	}
}

// TestBagsPrefetched has tables of rows of bags on either side of what is prefetched, of those that are short and others.
func TestBagsPrefetched(t *testing.T) {
	isatest.Tune(t, &tuning.CachedBagBytes, 4*60_000)
	isatest.Tune(t, &tuning.CachedShortBagBytes, 4*30_000)
	isatest.Each(t, func(t *testing.T) {
		for _, c := range []struct{ cols, most int }{{16, 60_000}, {17, 30_000}, {128, 30_000}, {129, 60_000}} {
			if fullWidth() && !near() || isa.Intel() {
				c.most = 180_000
			}
			for rows := c.most / c.cols; rows <= c.most/c.cols+1; rows++ {
				table, dst := Matrix{Rows: rows, Cols: c.cols, Stride: c.cols, Data: make([]float32, rows*c.cols)}, Matrix{Rows: 1, Cols: c.cols, Stride: c.cols}
				dst.Data = make([]float32, c.cols)
				var a bagArgs
				prepareBags(&a, &dst, &table, []uint32{0})
				if got, want := a.ahead > 0, rows*c.cols > c.most; got != want {
					t.Errorf("%d x %d: prefetched %v, want %v", rows, c.cols, got, want)
				}
			}
		}
	})
}

// TestThirds, TestOneByOne and TestEndsPay hold choices to what the figures beside them say.
func TestThirds(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range []struct {
			rows, cols int
			want       bool
		}{
			{1, 15, false}, {1, 16, true}, {2, 16, true}, {2, 64, true}, {3, 64, false}, {3, 65, true}, {64, 768, true},
		} {
			if got, want := goesInThirds(c.rows, c.cols), c.want && isa.Active() == isa.AVX2; got != want {
				t.Errorf("%d rows of %d: %v, want %v", c.rows, c.cols, got, want)
			}
		}
	})
}

func TestOneByOne(t *testing.T) {
	for _, lines := range []bool{false, true} {
		was := tuning.InOrderLines
		t.Cleanup(func() { tuning.InOrderLines = was })
		tuning.InOrderLines = lines
		for _, c := range []struct {
			rows, cols int
			want       bool
		}{
			{1, 16, true}, {2, 128, false}, {3, 129, lines}, {2, 1536, lines}, {2, 1537, false}, {4, 255, false}, {4, 256, lines},
			{5, 307, lines}, {6, 256, true}, {4, 384, true},
		} {
			if got := goesOneByOne(c.rows, c.cols); got != c.want {
				t.Errorf("lines %v, %d rows of %d: %v, want %v", lines, c.rows, c.cols, got, c.want)
			}
		}
	}
}

func TestEndsPay(t *testing.T) {
	for _, c := range []struct {
		k           op
		cols, ahead int
		want        bool
	}{
		{opGather, 129, 8, false}, {opScatterAdd, 128, 0, true}, {opScatterAdd, 100, 8, true}, {opScatterAdd, 100, 0, false},
		{opEmbed, 96, 0, true}, {opEmbed, 95, 0, false}, {opEmbed, 97, 0, true},
		{opGather, 63, 0, true}, {opGather, 65, 0, false}, {opGather, 79, 0, false}, {opGather, 81, 0, true},
	} {
		a := rowArgs{cols: c.cols, ahead: c.ahead}
		if got := a.endsPay(c.k); got != c.want {
			t.Errorf("kernel %d, %d columns, %d ahead: %v, want %v", c.k, c.cols, c.ahead, got, c.want)
		}
	}
}

func TestLarge(t *testing.T) {
	isatest.Tune(t, &tuning.WideBytes, 4*1000)
	for rows, want := range map[uint64]bool{10: false, 11: true} {
		if a := (rowArgs{limit: rows, tableStride: 4 * 100}); a.large() != want {
			t.Errorf("%d rows of 100: %v, want %v", rows, a.large(), want)
		}
	}
}

func TestCloseBy(t *testing.T) {
	for _, c := range []struct {
		places []int
		want   bool
	}{
		{[]int{7}, true}, {[]int{0, 5}, true}, {[]int{0, 6}, false}, {[]int{3, 2}, false},
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 40, 1000}, true}, {[]int{0, 1, 2, 3, 4, 5, 6, 7, 41}, false},
	} {
		if got := closeBy(c.places); got != c.want {
			t.Errorf("%v: %v, want %v", c.places, got, c.want)
		}
	}
}
