package lookup

import (
	"math"
	"testing"
)

// TestLeft: what is left of a sequence is within the rows asked for, wherever another goroutine has had it end meanwhile.
func TestLeft(t *testing.T) {
	const lo, hi = 3, 8
	for end, want := range map[int]int{
		math.MinInt: 1, math.MinInt + 2: 1, -1: 1, 0: 1, lo: 1, lo + 1: 1, lo + 2: 2, hi - 1: 4, hi: 5, hi + 1: 5, math.MaxInt: 5,
	} {
		in := Input{ids: viewOf(make([]int32, 10)), offsets: []int{0, end, 10}, ragged: true}
		if n := in.left(0, lo, hi); n != want {
			t.Errorf("of a sequence up to %d, %d of rows %d to %d are left, want %d", end, n, lo, hi-1, want)
		}
	}
}

// TestSliceWithin: ids that there are not are a panic, and not read.
func TestSliceWithin(t *testing.T) {
	v := viewOf([]uint64{1, 2, 3})
	if part := v.slice(1, 3); part.n != 2 || part.at(1) != 3 {
		t.Errorf("%+v", part)
	}
	for _, span := range [][2]int{{-1, 2}, {2, 1}, {1, 4}, {math.MinInt, math.MaxInt}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("ids %d to %d of 3", span[0], span[1]-1)
				}
			}()
			v.slice(span[0], span[1])
		}()
	}
}
