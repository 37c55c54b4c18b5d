package lookup_test

import (
	"slices"
	"testing"

	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// TestFollows: of the calls that a forward pass of one worker consists of, all but the first say that their first rows have
// been fetched, by the one before or during its dropout.
func TestFollows(t *testing.T) {
	const vocab, dim, n = 50, 96, 1200
	do, normalise := forward.Do, forward.Normalise
	defer func() { forward.Do, forward.Normalise = do, normalise }()
	var begin, calls int
	count := func(r *forward.Rows) {
		if !r.Follows && r.More >= 0 {
			begin++
			if calls > 0 {
				t.Errorf("call %d is not said to follow another", calls)
			}
		}
		calls++
	}
	forward.Do = func(r forward.Rows) int {
		count(&r)
		return do(r)
	}
	forward.Normalise = func(r forward.Normal) int {
		count(&r.Rows)
		return normalise(r)
	}
	tokens := must(lookup.NewEmbedding(vocab, dim))
	segments := lookup.Segments(must(lookup.NewEmbedding(2, dim)))
	learned, sinusoidal := must(positional.NewLearned(n, dim, 1)), must(positional.NewSinusoidal(0, dim))
	ids, offsets := make([]int32, n), []int{0}
	for i := range ids {
		ids[i] = int32(i % vocab)
	}
	for at := 0; at < n; at += 50 {
		offsets = append(offsets, at+50)
	}
	ragged := lookup.Ragged(ids, offsets)
	out := newMatrix(t, n, dim)
	for name, c := range map[string]struct {
		positions lookup.Positions
		options   []lookup.LayerOption
		in        lookup.Input
		many      bool
	}{
		"ragged":             {learned, nil, ragged, true},
		"one sequence":       {sinusoidal, nil, lookup.Sequence(ids), false},
		"ragged, normalised": {learned, []lookup.LayerOption{lookup.LayerNorm(1e-5)}, ragged, true},
		"segments":           {learned, []lookup.LayerOption{segments}, ragged, true},
		"segments, dropped":  {learned, []lookup.LayerOption{segments, lookup.Dropout(0.1, 1)}, ragged, true},
		"all":                {learned, []lookup.LayerOption{segments, lookup.LayerNorm(1e-5), lookup.Dropout(0.1, 1)}, ragged, true},
	} {
		t.Run(name, func(t *testing.T) {
			layer := must(lookup.NewLayer(tokens, c.positions, c.options...))
			begin, calls = 0, 0
			if err := layer.ForwardTrain(out, c.in, 1); err != nil {
				t.Fatal(err)
			}
			if begin != 1 || c.many && calls < 2 {
				t.Errorf("%d of %d calls begin", begin, calls)
			}
		})
	}
}

// TestStepsFollow: a step of a batch by one worker begins anew with the ids that occur once, and with those that do not.
func TestStepsFollow(t *testing.T) {
	const dim, twice, once = 96, 600, 5100 // so many that their rows go straight to the table
	apply := forward.Apply
	defer func() { forward.Apply = apply }()
	var follows []bool
	forward.Apply = func(u forward.Update) int {
		follows = append(follows, u.Follows)
		return apply(u)
	}
	tokens := must(lookup.NewEmbedding(twice+once, dim))
	optimizer := must(tokens.NewOptimizer(lookup.SGD{}))
	ids := make([]int, 2*twice+once)
	for i := range ids {
		ids[i] = i % (twice + once)
	}
	if err := optimizer.StepBatch(tokens, lookup.Sequence(ids), newMatrix(t, len(ids), dim)); err != nil {
		t.Fatal(err)
	}
	if want := []bool{false, false, true, true}; !slices.Equal(follows, want) {
		t.Errorf("calls follow others: %v, want %v", follows, want)
	}
}

// TestStraightBesidePadding: ids that occur once are many or few among those that are no padding.
func TestStraightBesidePadding(t *testing.T) {
	const dim, once, twice = 64, 100, 30
	apply := forward.Apply
	defer func() { forward.Apply = apply }()
	var straight int
	forward.Apply = func(u forward.Update) int {
		straight += len(u.Places)
		return apply(u)
	}
	tokens := must(lookup.NewEmbedding(1+once+twice, dim, lookup.Padding(0)))
	optimizer := must(tokens.NewOptimizer(lookup.SGD{}))
	ids := make([]int, 4*once)
	for _, others := range []int{0, twice} {
		clear(ids)
		for i := range once + 2*others {
			ids[2*i] = 1 + i%(once+others)
		}
		want := once
		if others > 0 {
			want = 0
		}
		straight = 0
		if err := optimizer.StepBatch(tokens, lookup.Sequence(ids), newMatrix(t, len(ids), dim)); err != nil {
			t.Fatal(err)
		}
		if straight != want {
			t.Errorf("%d ids go straight to the table beside %d that do not, want %d", straight, others, want)
		}
	}
}
