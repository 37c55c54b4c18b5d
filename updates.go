package rowvec

import "github.com/rowvec/rowvec/kernels"

// AdamStep is what UpdateAdam needs to know of one step of Adam: the weights of new gradients in the running means, the
// step size with its corrections of bias, epsilon, and the factor of AdamW's decay: MeanWeight, SquareWeight, Rate, Epsilon and
// Keep float32. All have to be set, also Keep, which is 1 for no decay: 0 forgets what a row has learnt. kernels.AdamStep has the
// formula of each field.
type AdamStep = kernels.AdamStep

// UpdateSGD is a step of stochastic gradient descent on the rows that ids choose: for each i in ascending order, each
// weight w of row ids[i] of table, with its gradient g in row i of grad, becomes
//
//	w + -rate*(g + decay*w)
//
// where every product and every sum is rounded to float32. That is what PyTorch's SGD computes, without momentum, but that
// PyTorch may fuse the last product and sum, and for rows without a gradient, which do not decay; with decay 0 it is ScatterAdd
// with alpha = -rate. Where an id occurs several times, its rows of grad are as many steps, one after the other: whoever wants
// one step with the sum of the gradients, as PyTorch makes it, adds them up first. A gradient that is infinite or NaN makes the
// weight so; nothing is skipped.
//
// grad has len(ids) rows and as many columns as table; strides are free. It writes to table. Errors: ShapeError, IndexError
// for an id outside [0, table.Rows), OverlapError if table shares memory with grad or ids; then table is as it was.
func UpdateSGD[I ID](table Matrix, ids []I, grad Matrix, rate, decay float32) error {
	const op = "UpdateSGD"
	if err := checkScatter(op, "table", &table, "id", ids, "grad", &grad); err != nil || table.Cols == 0 {
		return err
	}
	return checkDone(op, updateSGD(&table, ids, &grad, rate, decay, &hint{}), len(ids))
}

// UpdateAdagrad is a step of Adagrad (Duchi, Hazan and Singer, 2011) on the rows that ids choose: for each i in ascending
// order, each weight w of row ids[i] of table, with its gradient g in row i of grad and its sum of squares s in row ids[i]
// of sums, becomes
//
//	s = s + g*g
//	w = w + -rate*(g/(sqrt(s)+epsilon))
//
// where every operation is rounded to float32. That is what PyTorch's Adagrad computes for a sparse gradient, but that
// PyTorch may fuse the last product and sum; its learning rate decay is the caller's, in rate. Ids that occur several times, and
// gradients that are infinite or NaN, are those of UpdateSGD: an infinite one makes the sum infinite and the weight NaN. So is a
// weight whose s and epsilon are 0.
//
// sums has the shape of table, grad len(ids) rows and as many columns; strides are free. It writes to table and sums.
// Errors: ShapeError, IndexError for an id outside [0, table.Rows), OverlapError if table or sums shares memory with grad,
// ids or each other; then both are as they were.
func UpdateAdagrad[I ID](table, sums Matrix, ids []I, grad Matrix, rate, epsilon float32) error {
	const op = "UpdateAdagrad"
	if err := checkScatter(op, "table", &table, "id", ids, "grad", &grad); err != nil {
		return err
	}
	if err := checkState(op, "sums", &sums, &table, ids, &grad); err != nil || table.Cols == 0 {
		return err
	}
	return checkDone(op, updateAdagrad(&table, &sums, ids, &grad, rate, epsilon, &hint{}), len(ids))
}

// UpdateRowAdagrad is a step of Adagrad with a single sum for each row, as FBGEMM and DLRM have it for embeddings: for each
// i in ascending order, with the gradients g in row i of grad and the sum s = sums[ids[i]], the weights w of row ids[i] of
// table become
//
//	s = s + (sum of g*g)/cols
//	w = w + -(rate/(sqrt(s)+epsilon))*g
//
// where every operation is rounded to float32. The squares are added up in 16 lanes, element j in lane j mod 16, and the
// lanes as a tree, so that the sum is the same at every instruction set. Ids that occur several times, and gradients that
// are infinite or NaN, are those of UpdateSGD; here one spoils the whole row, and so does a gradient of zeros where
// rate/(sqrt(s)+epsilon) is not finite.
//
// sums has table.Rows elements, grad len(ids) rows and as many columns as table; strides are free. It writes to table and
// sums. Errors are those of UpdateAdagrad.
func UpdateRowAdagrad[I ID](table Matrix, sums []float32, ids []I, grad Matrix, rate, epsilon float32) error {
	const op = "UpdateRowAdagrad"
	if err := checkScatter(op, "table", &table, "id", ids, "grad", &grad); err != nil {
		return err
	}
	if err := checkEqual(op, "len(sums)", "", len(sums), table.Rows); err != nil || table.Cols == 0 {
		return err
	}
	switch {
	case meets(&table, sums):
		return &OverlapError{op, "sums", "table"}
	case meets(&grad, sums):
		return &OverlapError{op, "sums", "grad"}
	case slicesMeet(sums, ids):
		return &OverlapError{op, "sums", "ids"}
	}
	return checkDone(op, updateRowAdagrad(&table, sums, ids, &grad, rate, epsilon, &hint{}), len(ids))
}

// UpdateAdam is a step of Adam (Kingma and Ba, 2015) or AdamW (Loshchilov and Hutter, 2019) on the rows that ids choose: for
// each i in ascending order, each weight w of row ids[i] of table, with its gradient g in row i of grad and its running
// means m of gradients and v of their squares in row ids[i] of means and of squares, becomes
//
//	m = m + (g-m)*MeanWeight
//	v = v + (g*g-v)*SquareWeight
//	w = Keep*w + -Rate*(m/(sqrt(v)+Epsilon))
//
// where every operation is rounded to float32. With Keep 1 that is what PyTorch's SparseAdam computes: rows that no id
// chooses keep their weights and their means. Ids that occur several times, and gradients that are infinite or NaN, are
// those of UpdateSGD: an infinite one makes both means infinite and the weight NaN, and the means NaN in the next step. A square
// that is beyond float32, of a gradient from 1.85e19 on, makes v infinite, and in the next step NaN. A weight whose v and Epsilon
// are 0 is NaN if its m is 0.
//
// means and squares have the shape of table, grad len(ids) rows and as many columns; strides are free. It writes to table,
// means and squares. Errors: ShapeError, IndexError for an id outside [0, table.Rows), OverlapError if what it writes to
// shares memory with grad, ids or each other; then all is as it was.
func UpdateAdam[I ID](table, means, squares Matrix, ids []I, grad Matrix, step AdamStep) error {
	const op = "UpdateAdam"
	if err := checkScatter(op, "table", &table, "id", ids, "grad", &grad); err != nil {
		return err
	}
	if err := checkState(op, "means", &means, &table, ids, &grad); err != nil {
		return err
	}
	if err := checkState(op, "squares", &squares, &table, ids, &grad); err != nil {
		return err
	}
	if err := checkApart(op, "squares", &squares, "means", &means); err != nil || table.Cols == 0 {
		return err
	}
	return checkDone(op, updateAdam(&table, &means, &squares, ids, &grad, step, &hint{}), len(ids))
}

// checkState checks a matrix of state that an update of table writes to.
func checkState[I ID](op, name string, state, table *Matrix, ids []I, grad *Matrix) error {
	if !fits(state) {
		return CheckMatrix(op, name, *state)
	}
	if err := checkEqual(op, name, ".Rows", state.Rows, table.Rows); err != nil {
		return err
	}
	if err := checkEqual(op, name, ".Cols", state.Cols, table.Cols); err != nil {
		return err
	}
	if err := checkApart(op, name, state, "table", table); err != nil {
		return err
	}
	if err := checkApart(op, name, state, "grad", grad); err != nil {
		return err
	}
	return checkIDsApart(op, name, state, "id", ids)
}
