package lookup

import (
	"math"
	"slices"
	"sort"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
)

// Input is the token ids of one call and their places: a sequence, a batch of sequences of one length, or ragged ones.
// It refers to the caller's slices and copies nothing. Sequence, Batch and Ragged make one; its shape is checked by the
// method that it is passed to. One that none of them has made is an error: that its seq is 0.
type Input struct {
	ids     view
	seq     int   // tokens in each sequence of a batch
	offsets []int // of a ragged batch
	at      []int // explicit positions
	types   []int // segments
	weights []float32
	start   int
	ragged  bool
	open    bool // the offsets are without the last one
	placed  bool // at holds the positions
	typed   bool // types holds the types
}

// Sequence is one sequence of tokens, of shape (seq), also if there are none.
func Sequence[I rowvec.ID](ids []I) Input {
	if len(ids) == 0 {
		return Ragged(ids, oneOfNone)
	}
	return Input{ids: viewOf(ids), seq: len(ids)}
}

// oneOfNone are the offsets of one sequence without tokens.
var oneOfNone = []int{0, 0}

// Batch is sequences of seq tokens each, one behind the other, of shape (batch, seq). The number of ids must be a
// multiple of seq, which is at least 1 also where there are no ids.
func Batch[I rowvec.ID](ids []I, seq int) Input { return Input{ids: viewOf(ids), seq: seq} }

// Ragged is sequences of any lengths, one behind the other without padding: sequence b is ids[offsets[b]:offsets[b+1]].
// offsets begin with 0, do not descend, and end with len(ids); they may be nil if there are no ids.
func Ragged[I rowvec.ID](ids []I, offsets []int) Input {
	return Input{ids: viewOf(ids), offsets: offsets, ragged: true}
}

// RaggedFrom is Ragged with offsets that say only where sequences begin: each ends where the next one begins, and the last
// one with the ids. It is what nn.EmbeddingBag takes without include_last_offset; with it, offsets are those of Ragged, and would here
// begin another sequence, of no ids.
func RaggedFrom[I rowvec.ID](ids []I, offsets []int) Input {
	return Input{ids: viewOf(ids), offsets: offsets, ragged: true, open: true}
}

// Weighted gives each token a weight, which a Bag multiplies its vector by in a sum: per_sample_weights of
// nn.EmbeddingBag. There is one for each id; nil is none at all. Nothing else looks at weights, but nothing may be written over
// them either.
func (in Input) Weighted(weights []float32) Input {
	in.weights = weights
	return in
}

// From lets each sequence begin at position start instead of 0, as where a decoder continues from a cache.
func (in Input) From(start int) Input {
	in.start = start
	return in
}

// At gives each token a position of its own, one for each id, which replaces those counted within sequences: for padded
// batches, and for sequences that have come to different positions, as package positional counts them. From does not matter
// then.
func (in Input) At(positions []int) Input {
	in.at, in.placed = positions, true
	return in
}

// Types gives each token a type, one for each id, which chooses its row of the Segments of a layer: token_type_ids of
// Hugging Face's BERT. Without them every token is of type 0. Only a layer with Segments looks at their values.
func (in Input) Types(types []int) Input {
	in.types, in.typed = types, true
	return in
}

// Len returns the number of tokens, and so of rows of what a layer makes of them.
func (in Input) Len() int { return in.ids.n }

// check reports a shape that does not fit itself, or ids outside [0, vocab).
func (in *Input) check(op string, vocab int) error {
	n := in.Len()
	switch {
	case in.placed && len(in.at) != n:
		return check.Equal(op, "len(positions)", len(in.at), n)
	case in.typed && len(in.types) != n:
		return check.Equal(op, "len(types)", len(in.types), n)
	case in.ragged:
		if err := check.Offsets(op, in.offsets, n, in.open); err != nil {
			return err
		}
	case in.seq < 1:
		return check.AtLeast(op, "seq", in.seq, 1)
	case n%in.seq != 0:
		return check.MultipleOf(op, "len(ids)", n, in.seq)
	}
	if !in.placed {
		if err := check.AtLeast(op, "start", in.start, 0); err != nil {
			return err
		}
	}
	return in.ids.check(op, vocab)
}

// apart reports that m, which is about to be written to, shares memory with the input.
func (in *Input) apart(op, name string, m rowvec.Matrix) error {
	if err := check.Apart(op, name, m, "ids", in.ids.memory()); err != nil {
		return err
	}
	if n := len(in.weights); n > 0 {
		if err := check.Apart(op, name, m, "weights", rowvec.Matrix{Rows: 1, Cols: n, Data: in.weights, Stride: n}); err != nil {
			return err
		}
	}
	if in.placed {
		if err := check.Apart(op, name, m, "positions", viewOf(in.at).memory()); err != nil {
			return err
		}
	}
	if in.typed {
		if err := check.Apart(op, name, m, "types", viewOf(in.types).memory()); err != nil {
			return err
		}
	}
	if in.ragged {
		return check.Apart(op, name, m, "offsets", viewOf(in.offsets).memory())
	}
	return nil
}

// positions returns the number of positions that the tokens need, all of which must be below limit.
func (in *Input) positions(op string, limit int) (int, error) {
	longest := in.seq
	switch {
	case in.Len() == 0:
		return 0, nil
	case in.placed:
		if err := check.IDs(op, "position id", in.at, limit); err != nil {
			return 0, err
		}
		return slices.Max(in.at) + 1, nil
	case in.ragged:
		longest = 0
		for b := range in.sequences() {
			first, end := in.sequenceSpan(b)
			longest = max(longest, end-first)
		}
	}
	if err := check.Positions(op, "sequence length", longest, in.start, limit); err != nil {
		return 0, err
	}
	return in.start + longest, nil
}

// checkTypes reports types outside [0, types).
func (in *Input) checkTypes(op string, types int) error {
	return check.IDs(op, "type id", in.types, types)
}

// run returns how many of the rows from lo on, and below hi, are whole sequences of seq rows whose positions are counted
// from start: a part of a sequence, or as many whole ones as follow each other.
func (in *Input) run(lo, hi int) (start, seq, n int) {
	switch {
	case in.placed:
		for n = 1; lo+n < hi && in.at[lo+n] == in.at[lo]+n; n++ {
		}
		return in.at[lo], n, n
	case in.ragged:
		b := in.sequence(lo)
		n = in.left(b, lo, hi)
		return in.start + lo - in.offsets[b], n, n
	}
	if phase := lo % in.seq; phase != 0 || hi-lo < in.seq {
		n = min(hi-lo, in.seq-phase)
		return in.start + phase, n, n
	}
	return in.start, in.seq, (hi - lo) / in.seq * in.seq
}

// left returns how many rows sequence b of a ragged batch has from lo on, and below hi: from 1 to hi-lo, even if offsets have changed
// since the check, to numbers so low that a difference would overflow.
func (in *Input) left(b, lo, hi int) int { return max(lo+1, min(hi, in.end(b))) - lo }

// fill sets at to the positions of the rows from lo on of a ragged batch.
func (in *Input) fill(at []int, lo int) {
	b := in.sequence(lo)
	for i := range at {
		for lo+i == in.end(b) { // also over empty sequences
			b++
		}
		at[i] = in.start + lo + i - in.offsets[b]
	}
}

// sequence returns the number of the sequence of a ragged batch that row i is in: one of them even if its offsets have
// changed since the check.
func (in *Input) sequence(i int) int {
	return max(0, sort.SearchInts(in.offsets, i+1)-1)
}

// sequences returns the number of sequences.
func (in *Input) sequences() int {
	switch {
	case in.open:
		return len(in.offsets)
	case in.ragged:
		return max(0, len(in.offsets)-1)
	}
	return in.Len() / in.seq
}

// end returns where sequence b of a ragged batch ends.
func (in *Input) end(b int) int {
	if b+1 < len(in.offsets) {
		return in.offsets[b+1]
	}
	return in.Len()
}

// sequenceSpan returns where sequence b begins and ends: among the ids even if its offsets have changed since the check.
func (in *Input) sequenceSpan(b int) (first, end int) {
	if !in.ragged {
		return b * in.seq, (b + 1) * in.seq
	}
	first = min(max(in.offsets[b], 0), in.Len())
	return first, min(max(in.end(b), first), in.Len())
}

// ends sets to to where sequence b and those behind it end, counted from where it begins, which it returns. That is among the
// ids, but the rest is what the caller has to check, since offsets may have changed.
func (in *Input) ends(to []int, b int) (first int) {
	first, _ = in.sequenceSpan(b)
	if !in.ragged {
		for i := range to {
			to[i] = (i + 1) * in.seq
		}
		return first
	}
	ends := in.offsets[min(b+1, len(in.offsets)):]
	if len(ends) < len(to) { // the last one ends with the ids
		to[len(to)-1] = in.Len() - first
		to = to[:len(ends)]
	}
	for i := range to {
		to[i] = ends[i] - first
	}
	return first
}

// bagOf returns the sequence that each token is in, in buffer if that is large enough.
func (in *Input) bagOf(buffer []int) []int {
	bags := sized(buffer, in.Len())
	clear(bags)
	for b := range in.sequences() {
		first, end := in.sequenceSpan(b)
		for i := first; i < end; i++ {
			bags[i] = b
		}
	}
	return bags
}

// noLimit is the limit of positions that have none.
const noLimit = math.MaxInt
