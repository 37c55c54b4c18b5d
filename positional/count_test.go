package positional_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
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

// TestCountUnmasked by hand: padding in front, behind, within and everywhere, all tokens and the last ones, as
// cumsum(mask)-1 with 1 where the mask is 0 has them.
func TestCountUnmasked(t *testing.T) {
	mask := []uint32{
		1, 1, 1, 1,
		0, 0, 1, 1,
		1, 1, 0, 0,
		1, 0, 7, 1,
		0, 0, 0, 0,
	}
	for _, c := range []struct {
		seq, last int
		want      []int
	}{
		{4, 4, []int{0, 1, 2, 3, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 2, 1, 1, 1, 1}},
		{4, 2, []int{2, 3, 0, 1, 1, 1, 1, 2, 1, 1}},
		{4, 1, []int{3, 1, 1, 2, 1}},
		{4, 0, []int{}},
		{20, 3, []int{1, 1, 1}},
		{10, 6, []int{1, 1, 4, 5, 6, 7, 1, 2, 1, 1, 1, 1}},
		{1, 1, []int{0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 1}},
	} {
		at := make([]int, len(c.want))
		if err := positional.CountUnmasked(at, mask, c.seq, c.last); err != nil || !slices.Equal(at, c.want) {
			t.Errorf("the last %d of sequences of %d: %v, %v, want %v", c.last, c.seq, at, err, c.want)
		}
	}
	if err := positional.CountUnmasked[int](nil, nil, 0, -1); err != nil {
		t.Error(err)
	}
}

func TestCountUnmaskedMisuse(t *testing.T) {
	mask, at := []int64{0, 1, 1, 1}, []int{-7, -7, -7, -7}
	for want, err := range map[string]error{
		"rowvec: positional.CountUnmasked: len(at) is 4, want 2":                 positional.CountUnmasked(at, mask, 2, 1),
		"rowvec: positional.CountUnmasked: len(at) is 4, want 0":                 positional.CountUnmasked(at, mask[:0], 2, 1),
		"rowvec: positional.CountUnmasked: seq is 0, want at least 1":            positional.CountUnmasked(at, mask, 0, 1),
		"rowvec: positional.CountUnmasked: len(mask) is 4, want a multiple of 3": positional.CountUnmasked(at, mask, 3, 3),
		"rowvec: positional.CountUnmasked: last is -1, want at least 0":          positional.CountUnmasked(at, mask, 2, -1),
		"rowvec: positional.CountUnmasked: last is 3, want at most 2":            positional.CountUnmasked(at, mask, 2, 3),
		"rowvec: positional.CountUnmasked: at overlaps mask":                     positional.CountUnmasked(at[1:], at[:3], 3, 3),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if !slices.Equal(at, []int{-7, -7, -7, -7}) {
		t.Errorf("an error left %v", at)
	}
}

// TestCountRagged by hand: sequences of one token and of several, empty ones at each end and within, caches of each.
func TestCountRagged(t *testing.T) {
	for _, c := range []struct{ offsets, past, want []int }{
		{[]int{0, 3, 5}, nil, []int{0, 1, 2, 0, 1}},
		{[]int{0, 3, 5}, []int{0, 10}, []int{0, 1, 2, 10, 11}},
		{[]int{0, 0, 0, 2, 2, 3, 3}, nil, []int{0, 1, 0}},
		{[]int{0, 0, 0, 2, 2, 3, 3}, []int{9, 9, 5, 9, 6, 9}, []int{5, 6, 6}},
		{[]int{0, 1, 2, 3}, []int{7, 0, 70}, []int{7, 0, 70}},
		{[]int{0, 2}, []int{math.MaxInt - 2}, []int{math.MaxInt - 2, math.MaxInt - 1}},
		{[]int{0, 0}, []int{math.MaxInt}, nil},
		{[]int{0}, []int{}, nil},
		{nil, []int{}, nil},
		{nil, nil, nil},
	} {
		at := make([]int, len(c.want))
		if err := positional.CountRagged(at, c.offsets, c.past); err != nil || !slices.Equal(at, c.want) {
			t.Errorf("offsets %v, past %v: %v, %v, want %v", c.offsets, c.past, at, err, c.want)
		}
	}
}

func TestCountRaggedMisuse(t *testing.T) {
	at, memory := []int{-7, -7, -7, -7}, []int{9, 0, 2}
	for want, err := range map[string]error{
		"rowvec: positional.CountRagged: len(offsets) is 0, want at least 2": positional.CountRagged(at, nil, nil),
		"rowvec: positional.CountRagged: offsets[0] is 1, want 0":            positional.CountRagged(at, []int{1, 4}, nil),
		"rowvec: positional.CountRagged: offsets[2] is 1, want at least 2":   positional.CountRagged(at, []int{0, 2, 1, 4}, nil),
		"rowvec: positional.CountRagged: last of offsets is 3, want 4":       positional.CountRagged(at, []int{0, 3}, nil),
		"rowvec: positional.CountRagged: len(past) is 0, want 1":             positional.CountRagged(at, []int{0, 4}, []int{}),
		"rowvec: positional.CountRagged: past[1] is -1, want at least 0":     positional.CountRagged(at, []int{0, 2, 4}, []int{0, -1}),
		fmt.Sprintf("rowvec: positional.CountRagged: past[1] is %d, want at most %d", math.MaxInt-1, math.MaxInt-2): positional.CountRagged(
			at, []int{0, 2, 4}, []int{0, math.MaxInt - 1}),
		"rowvec: positional.CountRagged: at overlaps offsets": positional.CountRagged(memory[:2], memory[1:3], nil),
		"rowvec: positional.CountRagged: at overlaps past":    positional.CountRagged(memory[:2], []int{0, 1, 2}, memory[1:3]),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if !slices.Equal(at, []int{-7, -7, -7, -7}) {
		t.Errorf("an error left %v", at)
	}
}

func TestCountGrids(t *testing.T) {
	for _, c := range []struct {
		start int
		spans [][]int
		want  [][]int
		next  int
	}{
		{0, nil, [][]int{{}}, 0},
		{4, nil, [][]int{nil, nil}, 4},
		{0, [][]int{{3}, {2}}, [][]int{{0, 1, 2, 3, 4}}, 5}, // with one axis, texts and grids are the same
		{7, [][]int{{2, 3}}, [][]int{{7, 7, 7, 8, 8, 8}, {7, 8, 9, 7, 8, 9}}, 10},
		{0, [][]int{{1}, {3, 1, 2}, {0}, {2, 0, 9}, {2}}, [][]int{ // the next token is behind the frames
			{0, 1, 1, 2, 2, 3, 3, 4, 5}, {0, 1, 1, 1, 1, 1, 1, 4, 5}, {0, 1, 2, 1, 2, 1, 2, 4, 5}}, 6},
		{math.MaxInt - 3, [][]int{{1, 2}, {1}}, [][]int{{math.MaxInt - 3, math.MaxInt - 3, math.MaxInt - 1},
			{math.MaxInt - 3, math.MaxInt - 2, math.MaxInt - 1}}, math.MaxInt},
	} {
		at := make([][]int, len(c.want))
		for a := range at {
			at[a] = slices.Repeat([]int{-7}, len(c.want[a]))
		}
		next, err := positional.CountGrids(at, c.start, c.spans...)
		if err != nil || next != c.next || !slices.EqualFunc(at, c.want, slices.Equal) {
			t.Errorf("%v from %d: %v, %d, %v, want %v, %d", c.spans, c.start, at, next, err, c.want, c.next)
		}
	}
}

func TestCountGridsMisuse(t *testing.T) {
	at, memory := [][]int{{-7, -7, -7, -7}, {-7, -7, -7, -7}}, []int{2, 2, 2, 2, 2, 2, 2, 2}
	count := func(at [][]int, start int, spans ...[]int) error {
		next, err := positional.CountGrids(at, start, spans...)
		if next != 0 {
			t.Errorf("an error and %d", next)
		}
		return err
	}
	const op = "rowvec: positional.CountGrids: "
	for want, err := range map[string]error{
		op + "len(at) is 0, want at least 1":                                         count(nil, 0),
		op + "len(at[1]) is 3, want 4":                                               count([][]int{at[0], at[1][:3]}, 0, []int{4}),
		op + "start is -1, want at least 0":                                          count(at, -1, []int{4}),
		op + "len(spans[1]) is 3, want 2":                                            count(at, 0, []int{3}, []int{1, 1, 1}),
		op + "len(spans[0]) is 0, want 2":                                            count(at, 0, nil, []int{4}),
		op + "spans[1][0] is -1, want at least 0":                                    count(at, 0, []int{3}, []int{-1, 0}),
		op + "spans[1][1] is 3, want at most 1":                                      count(at, 0, []int{2}, []int{2, 3}),
		op + "number of tokens of all spans is 3, want 4":                            count(at, 0, []int{3}),
		op + "at[0] overlaps at[1]":                                                  count([][]int{memory[:4], memory[3:7]}, 0, []int{2, 2}),
		op + "at[1] overlaps spans[0]":                                               count([][]int{at[0], memory[:4]}, 0, memory[3:5]),
		fmt.Sprintf(op+"spans[0][1] is %d, want at most 1", math.MaxInt/2):           count(at, 0, []int{4, math.MaxInt / 2}),
		fmt.Sprintf(op+"start is %d, want at most %d", math.MaxInt-2, math.MaxInt-4): count(at, math.MaxInt-2, []int{2, 1}, []int{1}, []int{1}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	for _, axis := range at {
		if !slices.Equal(axis, []int{-7, -7, -7, -7}) {
			t.Errorf("an error left %v", axis)
		}
	}
}

func TestCountNoAllocation(t *testing.T) {
	ids, mask, offsets, past, at := []int32{1, 7, 8, 9}, []int64{0, 1, 1, 1}, []int{0, 1, 4}, []int{5, 0}, make([]int, 4)
	axes, spans := [][]int{make([]int, 4), make([]int, 4)}, [][]int{{2}, {1, 2}}
	isatest.NoAllocation(t, "counts", func() {
		if _, err := positional.CountGrids(axes, 3, spans...); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{
			positional.CountPositions(at, ids, 4, 1, 0),
			positional.CountUnmasked(at, mask, 4, 4),
			positional.CountRagged(at, offsets, past),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
