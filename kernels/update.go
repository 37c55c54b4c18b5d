package kernels

import "math"

// The updates are steps of optimizers on the rows that ids choose: row ids[i] of table, and of the state that an optimizer
// keeps for each row, with row i of grad, for i ascending. Rows of an id that occurs several times are steps one after the
// other. Every operation is rounded to float32; the square root is the exact one, rounded.

// AdamStep is what UpdateAdam needs to know of one step, number t of them counted from 1. Let lr be the learning rate and
// beta1, beta2 the decay rates of Adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015).
type AdamStep struct {
	MeanWeight   float32 // 1 - beta1, the weight of a new gradient in the running mean
	SquareWeight float32 // 1 - beta2, that of its square in the running mean of squares
	Rate         float32 // lr, with the corrections of bias: lr * sqrt(1-beta2^t) / (1-beta1^t)

	// Epsilon is added to the root of the mean of squares, as PyTorch's SparseAdam does. Its Adam and AdamW add it behind
	// the correction of that root: they are met with epsilon * sqrt(1-beta2^t).
	Epsilon float32

	// Keep is what AdamW multiplies weights by in front of the step, 1 - lr*decay (Loshchilov and Hutter, "Decoupled weight
	// decay regularization", 2019). It is 1 for Adam without decay; 0 would forget what a row has learnt.
	Keep float32
}

// UpdateSGD subtracts rate times the gradient from the rows that ids choose. With a decay other than 0 the gradient of
// weight w is first increased by decay times w, in these rows only. It returns the number of rows done.
//
//	d = g + decay*w
//	w = w + -rate*d
func UpdateSGD[I ID](table Matrix, ids []I, grad Matrix, rate, decay float32) int {
	if decay == 0 {
		return ScatterAdd(table, ids, -rate, grad)
	}
	plain(&table, table.Rows, table.Cols)
	plain(&grad, len(ids), table.Cols)
	for i, id := range ids {
		if outside(id, table.Rows) {
			return i
		}
		gradient := row(&grad, i)
		weights := row(&table, int(id))[:len(gradient)]
		for j, g := range gradient {
			d := g + float32(decay*weights[j])
			weights[j] += float32(-rate * d)
		}
	}
	return len(ids)
}

// UpdateAdagrad is Adagrad (Duchi, Hazan and Singer, 2011), in the form that PyTorch gives it for sparse gradients: sums,
// of the shape of table, has the sum of the squares of all gradients of a weight. It returns the number of rows done.
//
//	s = s + g*g
//	w = w + -rate*(g/(sqrt(s)+epsilon))
func UpdateAdagrad[I ID](table, sums Matrix, ids []I, grad Matrix, rate, epsilon float32) int {
	plain(&table, table.Rows, table.Cols)
	plain(&sums, table.Rows, table.Cols)
	plain(&grad, len(ids), table.Cols)
	for i, id := range ids {
		if outside(id, table.Rows) {
			return i
		}
		gradient := row(&grad, i)
		weights, state := row(&table, int(id))[:len(gradient)], row(&sums, int(id))[:len(gradient)]
		for j, g := range gradient {
			s := state[j] + float32(g*g)
			state[j] = s
			weights[j] += float32(-rate * (g / (root(s) + epsilon)))
		}
	}
	return len(ids)
}

// UpdateRowAdagrad is Adagrad with one sum for each row, as FBGEMM and DLRM have it for embeddings: sums, with an element
// for each row of table, grows by the mean of the squares of the row's gradient. The squares are added up in 16 lanes,
// element j in lane j mod 16, each from +0, and lane k then gets lane k+8, then k+4, k+2 and k+1. It returns the number of
// rows done.
//
//	s = s + (sum of g*g)/cols
//	w = w + -(rate/(sqrt(s)+epsilon))*g
func UpdateRowAdagrad[I ID](table Matrix, sums []float32, ids []I, grad Matrix, rate, epsilon float32) int {
	plain(&table, table.Rows, table.Cols)
	plain(&grad, len(ids), table.Cols)
	if len(sums) < table.Rows {
		panic("rowvec/kernels: fewer sums than the table has rows")
	}
	for i, id := range ids {
		if outside(id, table.Rows) {
			return i
		}
		g := row(&grad, i)
		if len(g) == 0 {
			continue
		}
		sum := sums[id] + dot(g, g)/float32(table.Cols)
		sums[id] = sum
		AddScaled(row(&table, int(id)), -(rate / (root(sum) + epsilon)), g)
	}
	return len(ids)
}

// UpdateAdam is Adam as PyTorch's SparseAdam: rows that no id chooses keep their weights and their state, which is the
// running means of gradients and of their squares, of the shape of table. It returns the number of rows done.
//
//	m = m + (g-m)*meanWeight
//	v = v + (g*g-v)*squareWeight
//	w = keep*w + -rate*(m/(sqrt(v)+epsilon))
func UpdateAdam[I ID](table, means, squares Matrix, ids []I, grad Matrix, step AdamStep) int {
	plain(&table, table.Rows, table.Cols)
	plain(&means, table.Rows, table.Cols)
	plain(&squares, table.Rows, table.Cols)
	plain(&grad, len(ids), table.Cols)
	meanWeight, squareWeight, rate, epsilon, keep := step.MeanWeight, step.SquareWeight, -step.Rate, step.Epsilon, step.Keep
	for i, id := range ids {
		if outside(id, table.Rows) {
			return i
		}
		gradient := row(&grad, i)
		weights, first, second := row(&table, int(id)), row(&means, int(id)), row(&squares, int(id))
		weights, first, second = weights[:len(gradient)], first[:len(gradient)], second[:len(gradient)]
		for j, g := range gradient {
			m := first[j] + float32((g-first[j])*meanWeight)
			v := second[j] + float32((float32(g*g)-second[j])*squareWeight)
			first[j], second[j] = m, v
			weights[j] = float32(keep*weights[j]) + float32(rate*(m/(root(v)+epsilon)))
		}
	}
	return len(ids)
}

// root is the square root, rounded once: float64 has more than twice the digits of float32.
func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }
