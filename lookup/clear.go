package lookup

import (
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/tuning"
)

// ClearGradient sets to zero the rows of grad that Backward adds to for the same input, so that a gradient is ready for
// the next batch at the cost of the tokens of this one, whatever the size of the vocabulary. Other rows stay as they are;
// Output.Backward, of tied weights, adds to all of them, and then it takes clear(grad.Data).
func (e *Embedding) ClearGradient(grad rowvec.Matrix, in Input) error {
	grads := perParameter[rowvec.Matrix]{token: grad}
	return clearGradients("lookup.Embedding.ClearGradient", e.alone, grads, in)
}

// ClearGradients sets to zero the rows of grads, which belong to Parameters in their order, that Backward adds to for the
// same input: see Embedding.ClearGradient.
func (l *Layer) ClearGradients(grads []rowvec.Matrix, in Input) error {
	const op = "lookup.Layer.ClearGradients"
	all, err := assign(op, l, "len(grads)", grads)
	if err != nil {
		return err
	}
	return clearGradients(op, l, all, in)
}

func clearGradients(op string, l *Layer, grads perParameter[rowvec.Matrix], in Input) error {
	if err := in.check(op, l.tokens.Vocab()); err != nil {
		return err
	}
	used := 0
	if l.positions != nil {
		var err error
		if used, err = in.positions(op, l.positions.Limit()); err != nil {
			return err
		}
	}
	if err := l.checkParts(op, &in); err != nil {
		return err
	}
	if err := l.checkGradients(op, &grads, &in, rowvec.Matrix{}, rowvec.Matrix{}); err != nil {
		return err
	}
	if l.has(position) {
		if in.placed {
			clearRows(grads[position], in.at, -1)
		} else {
			for p := in.start; p < used; p++ {
				clear(grads[position].Row(p))
			}
		}
	}
	if l.learns(segment) {
		if in.typed {
			clearRows(grads[segment], in.types, l.segments.padding)
		} else if in.Len() > 0 {
			clearRows(grads[segment], typeZero, l.segments.padding)
		}
	}
	if l.norm.on && in.Len() > 0 {
		clear(grads[normWeight].Row(0))
		clear(grads[normBias].Row(0))
	}
	if !l.learns(token) || in.Len() == 0 {
		return nil
	}
	workers := 1
	if l.tokens.Dim() >= tuning.ClearColumns {
		workers = l.tokens.workersFor(in.Len(), l.tokens.denseElements())
	}
	p := pass{task: clearRange, Layer: l, in: in, grads: grads}
	all, share := lines(l.tokens.Dim(), workers)
	return p.run(op, workers, all, share)
}

// clearPart clears lines of columns of the rows of tokens.
func (p *pass) clearPart(lo, hi int) {
	grad := columns(p.grads[token], lo*lineElements, min(hi*lineElements, p.tokens.Dim()))
	if p.in.ids.wide() {
		clearRows(grad, as[uint64](p.in.ids), p.tokens.padding)
	} else {
		clearRows(grad, as[uint32](p.in.ids), p.tokens.padding)
	}
}

// typeZero is the type of a token that has been given none.
var typeZero = []int{0}

// clearRows zeroes the rows that ids choose, but for row except, some at a time, while those of the next ids are fetched. On a Xeon, ns per
// row that has been written a while ago, without and so: 128 of 50,257 x 768 148 and 83, 4,096 286 and 193, 2,048 of 1,000,000 x 128 107
// and 64, 8,192 of 1,000,000 x 64 53 and 32; past the caches it took 250 and more. On a Zen 4, times with 8 KiB of rows at a time over those
// with 24 KiB and eight rows at least, for 8, 32, 128 and 2,048 rows: 213,333 x 300 0.94, 0.78, 0.75 and 0.68, 125,000 x 512 0.81, 0.69, 0.65 and
// 0.61, 83,333 x 768 0.74, 0.71, 0.67 and 0.70, 62,500 x 1,024 0.74, 0.87, 0.86 and 0.83, up to 256 columns and from 2,048 on 0.91 to 1.02.
func clearRows[I rowvec.ID](m rowvec.Matrix, ids []I, except int) {
	ahead := forward.Ahead(m)
	fetch := func(ids []I) {
		if n := min(ahead, len(ids)); n > 0 {
			forward.Fetch(forward.Next{Table: m, IDs: unsafe.Pointer(&ids[0]), Wide: unsafe.Sizeof(ids[0]) == 8, Rows: n})
		}
	}
	fetch(ids)
	for len(ids) > 0 {
		some := ids
		if ahead > 0 {
			some = ids[:min(ahead, len(ids))]
		}
		ids = ids[len(some):]
		fetch(ids)
		for _, id := range some {
			if int(id) != except && uint64(id) < uint64(m.Rows) { // ids may have changed since the check
				clear(m.Row(int(id)))
			}
		}
	}
}
