package positional_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/positional"
)

// TestCountPositions by hand: padding in front, within, behind, nowhere and everywhere, as fairseq's make_positions and
// Transformers' create_position_ids_from_input_ids count.
func TestCountPositions(t *testing.T) {
	ids := []int32{
		7, 8, 9, 5,
		7, 8, 1, 1,
		1, 1, 7, 8,
		7, 1, 8, 1,
		1, 1, 1, 1,
	}
	for _, c := range []struct {
		seq     int
		padding int32
		past    int
		want    []int
	}{
		{4, 1, 0, []int{2, 3, 4, 5, 2, 3, 1, 1, 1, 1, 2, 3, 2, 1, 3, 1, 1, 1, 1, 1}},
		{4, 1, 10, []int{12, 13, 14, 15, 12, 13, 1, 1, 1, 1, 12, 13, 12, 1, 13, 1, 1, 1, 1, 1}},
		{10, 1, 0, []int{2, 3, 4, 5, 6, 7, 1, 1, 1, 1, 2, 3, 4, 1, 5, 1, 1, 1, 1, 1}},
		{5, 0, 0, []int{1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5}},
		{1, 1, 3, []int{5, 5, 5, 5, 5, 5, 1, 1, 1, 1, 5, 5, 5, 1, 5, 1, 1, 1, 1, 1}},
	} {
		at := make([]int, len(ids))
		if err := positional.CountPositions(at, ids, c.seq, c.padding, c.past); err != nil || !slices.Equal(at, c.want) {
			t.Errorf("sequences of %d, padding %d, past %d: %v, %v, want %v", c.seq, c.padding, c.past, at, err, c.want)
		}
	}
	if err := positional.CountPositions[int](nil, nil, 0, 1, 0); err != nil {
		t.Error(err)
	}
}

func TestCountPositionsMisuse(t *testing.T) {
	ids, at := []int64{5, 1, 6, 1}, []int{-7, -7, -7, -7}
	most := int64(math.MaxInt - 1 - 4)
	for want, err := range map[string]error{
		"rowvec: positional.CountPositions: len(at) is 3, want 4":                positional.CountPositions(at[:3], ids, 2, 1, 0),
		"rowvec: positional.CountPositions: past is -1, want at least 0":         positional.CountPositions(at, ids, 2, 1, -1),
		"rowvec: positional.CountPositions: seq is 0, want at least 1":           positional.CountPositions(at, ids, 0, 1, 0),
		"rowvec: positional.CountPositions: len(ids) is 4, want a multiple of 3": positional.CountPositions(at, ids, 3, 1, 0),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	for _, padding := range []int64{-1, math.MinInt64, most + 1, math.MaxInt64} {
		if err := positional.CountPositions(at, ids, 4, padding, 0); err == nil {
			t.Errorf("no error for padding %d", padding)
		}
	}
	if err := positional.CountPositions(at, []uint64{1, 2, 3, 4}, 4, math.MaxUint64, 0); err == nil {
		t.Error("no error for the largest padding")
	}
	if err := positional.CountPositions(at, ids, 4, 1, math.MaxInt); err == nil {
		t.Error("no error for a past that overflows")
	}
	var overlap *rowvec.OverlapError
	if err := positional.CountPositions(at[1:], at[:3], 3, 1, 0); !errors.As(err, &overlap) {
		t.Errorf("for ids that end where positions do, the error is %v", err)
	}
	if !slices.Equal(at, []int{-7, -7, -7, -7}) {
		t.Errorf("an error left %v", at)
	}
	same := []int{5, 1, 6, 1}
	if err := positional.CountPositions(same, same, 4, 1, 0); err != nil || !slices.Equal(same, []int{2, 1, 3, 1}) {
		t.Errorf("in place: %v, %v", same, err)
	}
	if err := positional.CountPositions(at, ids, 4, most, 0); err != nil || at[3] != math.MaxInt-1 {
		t.Errorf("the last positions are %v, %v", at, err)
	}
}
