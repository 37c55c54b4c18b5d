package lookup

import (
	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
)

// ClearGradient sets to zero the rows of grad that Backward adds to for the same input, so that a gradient is ready for
// the next batch at the cost of the tokens of this one, whatever the size of the vocabulary.
func (e *Embedding) ClearGradient(grad rowvec.Matrix, in Input) error {
	return clearGradients("lookup.Embedding.ClearGradient", e, nil, [2]rowvec.Matrix{grad}, in)
}

// ClearGradients sets to zero the rows of grads, which belong to Parameters in their order, that Backward adds to for the
// same input: see Embedding.ClearGradient.
func (l *Layer) ClearGradients(grads []rowvec.Matrix, in Input) error {
	const op = "lookup.Layer.ClearGradients"
	both, err := l.gradients(op, grads)
	if err != nil {
		return err
	}
	return clearGradients(op, l.tokens, l.positions, both, in)
}

func clearGradients(op string, tokens *Embedding, positions Positions, grads [2]rowvec.Matrix, in Input) error {
	if err := in.check(op, tokens.Vocab()); err != nil {
		return err
	}
	if err := check.Shape(op, "token gradient", grads[0], tokens.Vocab(), tokens.Dim()); err != nil {
		return err
	}
	if err := in.apart(op, "token gradient", grads[0]); err != nil {
		return err
	}
	used := 0
	if positions != nil {
		var err error
		if used, err = in.positions(op, positions.Limit()); err != nil {
			return err
		}
	}
	if trainable(positions) {
		if err := check.Shape(op, "position gradient", grads[1], positions.Limit(), tokens.Dim()); err != nil {
			return err
		}
		if err := in.apart(op, "position gradient", grads[1]); err != nil {
			return err
		}
		if in.placed {
			clearRows(grads[1], in.at, -1)
		}
		for p := in.start; p < used && !in.placed; p++ {
			clear(grads[1].Row(p))
		}
	}
	if in.ids.wide() {
		clearRows(grads[0], as[uint64](in.ids), tokens.padding)
	} else {
		clearRows(grads[0], as[uint32](in.ids), tokens.padding)
	}
	return nil
}

// clearRows zeroes the rows that ids choose, but for row except.
func clearRows[I rowvec.ID](m rowvec.Matrix, ids []I, except int) {
	for _, id := range ids {
		if int(id) != except && uint64(id) < uint64(m.Rows) { // ids may have changed since the check
			clear(m.Row(int(id)))
		}
	}
}
