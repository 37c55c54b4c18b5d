package rowvec

// Dots sets element j of row i of dst to the dot product of row i of a and row ids[j] of table: the scores of each row of
// a against the rows that ids choose, as where a language model shares the table of its input with its output (Press and
// Wolf, "Using the output embedding to improve language models", 2017) and is trained on a sample of its vocabulary.
//
// Each dot product is that of package kernels, 16 lanes and a tree, with each product rounded before the sum: the same
// bits on every instruction set, and whichever other rows are asked for. NumPy and PyTorch add in orders of their own. The
// gradients are those of lookup.Output.BackwardSampled.
//
// dst has a.Rows rows and len(ids) columns, a as many columns as table; strides are free; ids may repeat. Errors:
// ShapeError, IndexError for an id outside [0, table.Rows), OverlapError if dst shares memory with a, table or ids; then
// dst is as it was.
func Dots[I ID](dst, a, table Matrix, ids []I) error {
	const op = "Dots"
	if err := checkDots(op, &dst, &a, &table, len(ids)); err != nil {
		return err
	}
	if err := checkIDs(op, "id", ids, table.Rows); err != nil {
		return err
	}
	if err := checkDotsApart(op, &dst, &a, &table); err != nil {
		return err
	}
	if err := checkIDsApart(op, "dst", &dst, "id", ids); err != nil || len(ids) == 0 {
		return err
	}
	return checkDone(op, dots(&dst, &a, &table, ids), len(ids))
}

// DotsAll is Dots with all rows of table, in their order: it sets dst, which has a.Rows rows and table.Rows columns, to a
// times the transpose of table. Errors are those of Dots. Its gradients are those of lookup.Output.Backward.
func DotsAll(dst, a, table Matrix) error { return dotsAllOf(dst, a, table, 0) }

// dotsAllOf is DotsAll with a part of a table of so many elements, if that is more than table has.
func dotsAllOf(dst, a, table Matrix, size int) error {
	const op = "DotsAll"
	if err := checkDots(op, &dst, &a, &table, table.Rows); err != nil {
		return err
	}
	if err := checkDotsApart(op, &dst, &a, &table); err != nil {
		return err
	}
	dotsAll(&dst, &a, &table, max(size, extent(&table)))
	return nil
}

// checkDots checks the shapes of the scores of the rows of a against cols rows of table.
func checkDots(op string, dst, a, table *Matrix, cols int) error {
	if !fits(dst) {
		return CheckMatrix(op, "dst", *dst)
	}
	if !fits(a) {
		return CheckMatrix(op, "a", *a)
	}
	if !fits(table) {
		return CheckMatrix(op, "table", *table)
	}
	if err := checkEqual(op, "a", ".Cols", a.Cols, table.Cols); err != nil {
		return err
	}
	if err := checkEqual(op, "dst", ".Rows", dst.Rows, a.Rows); err != nil {
		return err
	}
	return checkEqual(op, "dst", ".Cols", dst.Cols, cols)
}

func checkDotsApart(op string, dst, a, table *Matrix) error {
	if err := checkApart(op, "dst", dst, "a", a); err != nil {
		return err
	}
	return checkApart(op, "dst", dst, "table", table)
}
