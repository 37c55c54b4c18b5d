package positional

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
)

// CountPositions sets at[i] to the position of ids[i] as RoBERTa and fairseq count them: padding is at position padding,
// wherever it stands, and the other tokens of each sequence, in their order, at padding+past+1, padding+past+2, ...; past
// is the number of tokens that a decoder's cache holds of each sequence. This is create_position_ids_from_input_ids of
// Hugging Face's Transformers.
//
// ids are len(ids)/seq sequences of seq tokens, one behind the other, and at has as many elements. Errors: ShapeError, also
// for a past below 0; ValueError if padding is negative or too large to count from; OverlapError if at shares
// memory with ids, unless they are one slice of ints; then at is as it was. Without ids, seq does not matter.
func CountPositions[I rowvec.ID](at []int, ids []I, seq int, padding I, past int) error {
	const op = "positional.CountPositions"
	if err := check.Equal(op, "len(at)", len(at), len(ids)); err != nil {
		return err
	}
	if err := check.AtLeast(op, "past", past, 0); err != nil || len(ids) == 0 {
		return err
	}
	if err := check.AtLeast(op, "seq", seq, 1); err != nil {
		return err
	}
	if err := check.MultipleOf(op, "len(ids)", len(ids), seq); err != nil {
		return err
	}
	if err := check.AtMost(op, "past", past, math.MaxInt-1-seq); err != nil {
		return err
	}
	if most := math.MaxInt - 1 - seq - past; padding < 0 || uint64(padding) > uint64(most) {
		return check.Value(op, "padding", padding, fmt.Sprintf("one in [0, %d]", most))
	}
	if unsafe.Pointer(&at[0]) != unsafe.Pointer(&ids[0]) || unsafe.Sizeof(at[0]) != unsafe.Sizeof(ids[0]) {
		if err := check.Apart(op, "at", words(at), "ids", words(ids)); err != nil {
			return err
		}
	}
	count := 0
	for i, id := range ids {
		if i%seq == 0 {
			count = int(padding) + past
		}
		if id == padding {
			at[i] = int(padding)
		} else {
			count++
			at[i] = count
		}
	}
	return nil
}

// CountUnmasked sets at to the positions of the last tokens of padded sequences, as GPT-2, Llama and other decoders of
// Hugging Face's Transformers count them to generate text: a token whose mask is not 0 is at the number of such tokens
// before it in its sequence, wherever padding stands, and a token whose mask is 0, which nothing attends to, at 1 (at 0 in
// transformers from 5.2 on).
//
// mask is that of len(mask)/seq sequences of seq tokens, one behind the other, those that a decoder's cache holds among
// them; at gets the last tokens of each, and so has last*len(mask)/seq elements: all of them with last = seq, and those
// that a step adds to the cache with last = 1. Errors: ShapeError; OverlapError if at shares memory with mask; then at is
// as it was. Without a mask, seq and last do not matter.
func CountUnmasked[M rowvec.ID](at []int, mask []M, seq, last int) error {
	const op = "positional.CountUnmasked"
	if len(mask) == 0 {
		return check.Equal(op, "len(at)", len(at), 0)
	}
	if err := check.AtLeast(op, "seq", seq, 1); err != nil {
		return err
	}
	if err := check.MultipleOf(op, "len(mask)", len(mask), seq); err != nil {
		return err
	}
	if err := check.AtLeast(op, "last", last, 0); err != nil {
		return err
	}
	if err := check.AtMost(op, "last", last, seq); err != nil {
		return err
	}
	if err := check.Equal(op, "len(at)", len(at), len(mask)/seq*last); err != nil {
		return err
	}
	if err := check.Apart(op, "at", words(at), "mask", words(mask)); err != nil {
		return err
	}
	for ; len(mask) > 0; at, mask = at[last:], mask[seq:] {
		count := 0
		for i, unmasked := range mask[:seq] {
			position := 1
			if unmasked != 0 {
				position = count
				count++
			}
			if i >= seq-last {
				at[i-(seq-last)] = position
			}
		}
	}
	return nil
}

// CountRagged sets at to the positions of the tokens of sequences of any lengths without padding, one behind the other, as
// lookup.Ragged has them: token i of sequence b, of which at[offsets[b]+i] is the position, is at past[b] + i. past[b] is
// the number of tokens that a decoder's cache holds of that sequence; if past is nil, it holds none of any.
//
// offsets begin with 0, do not descend, and end with len(at); they may be nil if at is empty. Errors: ShapeError, also for
// a past below 0 or too large to count from; OverlapError if at shares memory with offsets or past; then at is as it was.
func CountRagged(at, offsets, past []int) error {
	const op = "positional.CountRagged"
	if err := check.Offsets(op, offsets, len(at), false); err != nil {
		return err
	}
	sequences := max(0, len(offsets)-1)
	if past != nil {
		if err := check.Equal(op, "len(past)", len(past), sequences); err != nil {
			return err
		}
	}
	for b, n := range past {
		if n < 0 {
			return check.AtLeast(op, fmt.Sprintf("past[%d]", b), n, 0)
		}
		if most := math.MaxInt - (offsets[b+1] - offsets[b]); n > most {
			return check.AtMost(op, fmt.Sprintf("past[%d]", b), n, most)
		}
	}
	if err := check.Apart(op, "at", words(at), "offsets", words(offsets)); err != nil {
		return err
	}
	if err := check.Apart(op, "at", words(at), "past", words(past)); err != nil {
		return err
	}
	next, b := 0, 0
	for i := range at {
		for b < sequences && offsets[b] <= i {
			next = 0
			if past != nil {
				next = past[b]
			}
			b++
		}
		at[i] = next
		next++
	}
	return nil
}

// CountGrids sets at to the positions on several axes of tokens of texts, images and videos, one behind the other, as
// Qwen2-VL counts them for Rotary.ApplyAxes, and returns the position of the token that comes next.
//
// A span of one number is so many tokens of a text: each is at the next position, on every axis. A span of a number for
// each axis, such as 1, 24 and 32 for time, height and width, is a grid of so many places on each, the last axis fastest: the
// first token is at the next position on every axis, and the others as many places from it as they are. What follows is at one
// more than the greatest position so far, on any axis. (Later versions of transformers do not count the axis of time there,
// which matters where a video has more frames than rows and columns.) An encoder of images whose patches come row by row
// has one span, its grid.
//
// at has a list for each axis, with an element for each token, and the first position is start. A span without tokens
// changes nothing; nobody may change one meanwhile. Errors: ShapeError, also if start or a number is negative, if there is
// another number of tokens, or if a position overflows an int; OverlapError if lists of at share memory with each other or with a span; then at is as it was.
func CountGrids(at [][]int, start int, spans ...[]int) (next int, err error) {
	const op = "positional.CountGrids"
	if err := checkGrids(op, at, start, spans); err != nil {
		return 0, err
	}
	next, first := start, 0
	for _, span := range spans {
		tokens, longest := sizeOf(span)
		if tokens == 0 {
			continue
		}
		rest := tokens // of each place on the axes so far
		for a := range at {
			places, each := tokens, 1 // of a text
			if len(span) > 1 {
				places = span[a]
				rest /= places
				each = rest
			}
			for i := first; i < first+tokens; {
				for place := range places {
					for range each {
						at[a][i] = next + place
						i++
					}
				}
			}
		}
		first += tokens
		next += longest
	}
	return next, nil
}

// sizeOf returns how many tokens a span has, and how many positions.
func sizeOf(span []int) (tokens, longest int) {
	tokens = 1
	for _, n := range span {
		tokens *= n
		longest = max(longest, n)
	}
	return tokens, longest
}

func checkGrids(op string, at [][]int, start int, spans [][]int) error {
	if err := check.AtLeast(op, "len(at)", len(at), 1); err != nil {
		return err
	}
	for a := range at {
		if len(at[a]) != len(at[0]) {
			return check.Equal(op, fmt.Sprintf("len(at[%d])", a), len(at[a]), len(at[0]))
		}
	}
	if err := check.AtLeast(op, "start", start, 0); err != nil {
		return err
	}
	positions, left := 0, len(at[0])
	for s, span := range spans {
		if len(span) != 1 && len(span) != len(at) {
			return check.Equal(op, fmt.Sprintf("len(spans[%d])", s), len(span), len(at))
		}
		tokens := 1
		for k, n := range span {
			if n < 0 {
				return check.AtLeast(op, fmt.Sprintf("spans[%d][%d]", s, k), n, 0)
			}
			if n == 0 {
				tokens = 0
			}
		}
		if tokens == 0 {
			continue
		}
		for k, n := range span {
			if n > left/tokens {
				return check.AtMost(op, fmt.Sprintf("spans[%d][%d]", s, k), n, left/tokens)
			}
			tokens *= n
		}
		left -= tokens
		_, longest := sizeOf(span)
		positions += longest // no more than there are tokens
	}
	if err := check.AtMost(op, "start", start, math.MaxInt-positions); err != nil {
		return err
	}
	if left > 0 {
		return check.Equal(op, "number of tokens of all spans", len(at[0])-left, len(at[0]))
	}
	for a := range at {
		for b := range a {
			if rowvec.Overlap(words(at[a]), words(at[b])) {
				return check.Apart(op, fmt.Sprintf("at[%d]", b), words(at[b]), fmt.Sprintf("at[%d]", a), words(at[a]))
			}
		}
		for s, span := range spans {
			if rowvec.Overlap(words(at[a]), words(span)) {
				return check.Apart(op, fmt.Sprintf("at[%d]", a), words(at[a]), fmt.Sprintf("spans[%d]", s), words(span))
			}
		}
	}
	return nil
}
