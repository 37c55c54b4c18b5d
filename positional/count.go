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
