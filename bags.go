package rowvec

import (
	"fmt"
	"math"
)

// BagSum sets row b of dst to the sum of the rows of table that the ids of bag b choose, ids[offsets[b]:offsets[b+1]], in
// their order and starting from +0; a bag without ids gives +0s. Where weights is not nil, row ids[i] is multiplied by
// weights[i] first, and the product is rounded before the sum is. It is what PyTorch's nn.EmbeddingBag computes with mode
// "sum"; with per_sample_weights, PyTorch may fuse product and sum. The gradient of a lookup is one too: with the gradient
// of its result as table and, as ids, the positions in which a token occurs, a bag for each token. lookup.Bag has
// the gradients of all three kinds of bags, and of weights.
//
// dst has a row for each bag and as many columns as table; strides are free. offsets has dst.Rows+1 elements, which begin
// with 0, do not descend, and end with len(ids); without bags it may be empty. weights is nil or has one element for each
// id. Errors: ShapeError, IndexError for an id outside [0, table.Rows), OverlapError if dst shares memory with an input;
// then dst is as it was. ErrChanged also tells of offsets that another goroutine has changed.
func BagSum[I ID](dst, table Matrix, ids []I, offsets []int, weights []float32) error {
	const op = "BagSum"
	ofOne, err := checkBags(op, &dst, &table, ids, offsets, weights)
	if err != nil || dst.Rows == 0 || dst.Cols == 0 {
		return err
	}
	return checkBagsDone(op, bagSum(&dst, &table, ids, offsets, weights, ofOne), len(ids))
}

// BagMean is BagSum without weights, and with each element of the sum divided by the number of ids in the bag, rounded to
// float32; a bag without ids gives +0s. It is what PyTorch's nn.EmbeddingBag computes with mode "mean". Shapes and errors
// are those of BagSum. lookup.Bag has its gradient.
func BagMean[I ID](dst, table Matrix, ids []I, offsets []int) error {
	const op = "BagMean"
	ofOne, err := checkBags(op, &dst, &table, ids, offsets, nil)
	if err != nil || dst.Rows == 0 || dst.Cols == 0 {
		return err
	}
	return checkBagsDone(op, bagMean(&dst, &table, ids, offsets, ofOne), len(ids))
}

// BagMax sets row b of dst to the maximum, element by element, of the rows of table that the ids of bag b choose; a bag
// without ids gives +0s. An element of the first row stays until one of a later row is greater: so a NaN stays if it is in
// the first row and is left out otherwise, and of +0 and -0 the first one stays. It is what PyTorch's nn.EmbeddingBag
// computes on a CPU with mode "max". Bags, shapes and errors are those of BagSum. lookup.Bag has its gradient.
func BagMax[I ID](dst, table Matrix, ids []I, offsets []int) error {
	const op = "BagMax"
	ofOne, err := checkBags(op, &dst, &table, ids, offsets, nil)
	if err != nil || dst.Rows == 0 || dst.Cols == 0 {
		return err
	}
	return checkBagsDone(op, bagMax(&dst, &table, ids, offsets, ofOne), len(ids))
}

// checkBags checks what the kernels of bags share, and reports whether each bag has one id. Ids come last but for overlap:
// they cost the most.
func checkBags[I ID](op string, dst, table *Matrix, ids []I, offsets []int, weights []float32) (ofOne bool, err error) {
	if !fits(dst) {
		return false, CheckMatrix(op, "dst", *dst)
	}
	if !fits(table) {
		return false, CheckMatrix(op, "table", *table)
	}
	if err := checkEqual(op, "dst", ".Cols", dst.Cols, table.Cols); err != nil {
		return false, err
	}
	if ofOne, err = checkOffsets(op, offsets, dst.Rows, len(ids)); err != nil {
		return false, err
	}
	if weights != nil {
		if err := checkEqual(op, "len(weights)", "", len(weights), len(ids)); err != nil {
			return false, err
		}
	}
	if err := checkIDs(op, "id", ids, table.Rows); err != nil {
		return false, err
	}
	if err := checkApart(op, "dst", dst, "table", table); err != nil {
		return false, err
	}
	if err := checkIDsApart(op, "dst", dst, "id", ids); err != nil {
		return false, err
	}
	if err := checkIDsApart(op, "dst", dst, "offset", offsets); err != nil || len(weights) == 0 {
		return ofOne, err
	}
	return ofOne, checkVectorApart(op, "dst", dst, "weights", weights)
}

// checkOffsets checks that offsets part n ids into so many bags, and reports whether each has one. The loops over offsets that
// are in order have no branch but their own, which on a Zen 4 takes 0.6 and 0.45 ns per offset, and 1.1 with one. The kernels
// find offsets that change meanwhile.
func checkOffsets(op string, offsets []int, bags, n int) (ofOne bool, err error) {
	if bags == 0 && len(offsets) == 0 && n == 0 {
		return false, nil
	}
	if bags == math.MaxInt { // which rows without columns can be
		return false, &ShapeError{op, "dst.Rows", bags, "at most ", bags - 1}
	}
	if err := checkEqual(op, "len(offsets)", "", len(offsets), bags+1); err != nil {
		return false, err
	}
	if bags == n {
		differ := 0
		for i, offset := range offsets {
			differ |= offset ^ i
		}
		if differ == 0 {
			return true, nil
		}
	}
	if err := checkEqual(op, "offsets[0]", "", offsets[0], 0); err != nil {
		return false, err
	}
	last, signs := 0, 0
	for _, offset := range offsets {
		signs |= offset | (offset - last)
		last = offset
	}
	if signs < 0 {
		last = 0
		for b, offset := range offsets {
			if offset < last {
				return false, &ShapeError{op, fmt.Sprintf("offsets[%d]", b), offset, "at least ", last}
			}
			last = offset
		}
	}
	return false, checkEqual(op, "last of offsets", "", last, n)
}

// checkBagsDone reports ids or offsets that changed while a kernel of bags ran; done is -1 at such offsets.
func checkBagsDone(op string, done, want int) error {
	if done < 0 {
		return fmt.Errorf("%w (%s, offsets)", ErrChanged, op)
	}
	return checkDone(op, done, want)
}
