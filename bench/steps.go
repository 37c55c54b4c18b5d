package main

import (
	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
)

// What the optimizers of all sides go by. Epsilon is large so that a step of Adagrad or Adam does depend on the size of a
// gradient: with a usual one their first step is the rate, up or down, whatever the gradient.
const (
	rate, epsilon = 0.1, 0.01 // as in peers.py
	beta1, beta2  = 0.9, 0.999
)

// sparseKernels are what comes after the forward pass in training, with gradients that have the rows of a batch alone.
var sparseKernels = []kernel{
	{
		// The gradient alone: for each id, itself and its row of dOut are read, and for each distinct one its row of the
		// gradient is written.
		name:     "BackwardSparse",
		bytes:    func(s shape) int { return s.ids * (4 + 4*s.dim) },
		distinct: func(s shape) int { return 8 + 4*s.dim },
		sparse:   true,
		naive:    func(m *memory, ids []int32) { m.naive.addSorted(ids, m.outGrad.Data) },
		ours: func(m *memory, ids []int32) error {
			m.gradient.Clear()
			return m.embedding.BackwardSparse(m.gradient, lookup.Sequence(ids), m.outGrad)
		},
	},
	step("SGD", lookup.SGD{Rate: rate}, 0, func(m *memory, w []float32, _ int, g []float32) {
		naiveAddScaled(w, -rate, g)
	}),
	step("RowAdagrad", lookup.RowAdagrad{Rate: rate, Epsilon: epsilon}, 0, func(m *memory, w []float32, id int, g []float32) {
		naiveRowAdagrad(w, &m.states[0].Data[id], g, rate, epsilon)
	}),
	step("Adagrad", lookup.Adagrad{Rate: rate, Epsilon: epsilon}, 1, func(m *memory, w []float32, id int, g []float32) {
		naiveAdagrad(w, m.states[0].Row(id), g, rate, epsilon)
	}),
	step("Adam", lookup.Adam{Rate: rate, Beta1: beta1, Beta2: beta2, Epsilon: epsilon}, 2,
		func(m *memory, w []float32, id int, g []float32) {
			naiveAdam(w, m.states[0].Row(id), m.states[1].Row(id), g, m.steps, rate, beta1, beta2, epsilon)
		}),
}

// step is the gradient of a batch and the step that goes by it, of a method that keeps so many states of the table's size;
// row-wise Adagrad, which has a number for each row, beside a step of SGD.
// For each id, itself and its row of dOut are read; for each distinct one, its rows of the table and of each state are read
// and written. naive updates a row of the table by its gradient.
func step(name string, method lookup.Method, states int, naive func(m *memory, w []float32, id int, g []float32)) kernel {
	k := kernel{
		name:     "Step" + name,
		bytes:    func(s shape) int { return s.ids * (4 + 4*s.dim) },
		distinct: func(s shape) int { return 2 * 4 * s.dim * (1 + states) },
		method:   method,
		naive: func(m *memory, ids []int32) {
			m.naive.add(ids, m.outGrad.Data, m.bag)
			m.steps++
			for i, id := range m.naive.ids {
				naive(m, m.table.Row(int(id)), int(id), row(m.naive.sums, i, m.naive.dim))
			}
		},
		ours: func(m *memory, ids []int32) error {
			return m.optimizers[0].StepBatch(m.embedding, lookup.Sequence(ids), m.outGrad)
		},
		peers: []peer{{name: "rowvec, gradient held", run: func(m *memory, ids []int32) {
			m.gradient.Clear()
			must(m.embedding.BackwardSparse(m.gradient, lookup.Sequence(ids), m.outGrad))
			must(m.optimizers[0].Step(m.gradient))
		}}},
	}
	if name == "RowAdagrad" {
		k.peers = append(k.peers, peer{name: "rowvec, SGD", yardstick: true, run: func(m *memory, ids []int32) {
			must(m.sgd.StepBatch(m.embedding, lookup.Sequence(ids), m.outGrad))
		}})
	}
	return k
}

// trainingStep is a forward pass and the step of a kernel. The forward pass reads for each id, besides, itself and its row
// of the table, and writes its output.
func trainingStep(name string) *kernel {
	k := *kernelOf("Step" + name)
	k.name = "Training" + name
	back := k
	k.bytes = func(s shape) int { return back.bytes(s) + s.ids*(4+2*4*s.dim) }
	forward := func(m *memory, ids []int32) { must(m.embedding.Forward(m.rows, lookup.Sequence(ids))) }
	k.naive = func(m *memory, ids []int32) {
		naiveGather(m.rows.Data, m.table.Data, ids, m.table.Cols)
		back.naive(m, ids)
	}
	k.ours = func(m *memory, ids []int32) error {
		forward(m, ids)
		return back.ours(m, ids)
	}
	k.peers = nil
	for _, p := range back.peers {
		k.peers = append(k.peers, peer{name: p.name, yardstick: p.yardstick, run: func(m *memory, ids []int32) {
			forward(m, ids)
			p.run(m, ids)
		}})
	}
	if name == "SGD" { // which goes without sums by ids, if to other bits
		k.peers = append(k.peers,
			peer{name: "rowvec, no sums", run: func(m *memory, ids []int32) {
				forward(m, ids)
				must(rowvec.ScatterAdd(m.table, ids, -rate, m.outGrad))
			}},
			peer{name: "naive Go, no sums", run: func(m *memory, ids []int32) {
				naiveGather(m.rows.Data, m.table.Data, ids, m.table.Cols)
				naiveScatterAdd(m.table.Data, ids, m.table.Cols, -rate, m.outGrad.Data)
			}},
		)
	}
	return &k
}

// bagTraining is a forward pass of sums over bags and the step of a kernel. For each id, itself, twice, and its row of the table are read,
// and for each bag its offset and its row of dOut, and its output is written.
func bagTraining(name string) *kernel {
	back := kernelOf("Step" + name)
	k := *back
	k.name, k.bags = "TrainingBags"+name, true
	k.bytes = func(s shape) int { return 4*s.ids + 4*s.dim*s.bags() + bagBytes(s) }
	k.naive = func(m *memory, ids []int32) {
		naiveBagSum(m.rows.Data, m.table.Data, ids, m.table.Cols, m.offsets)
		back.naive(m, ids)
	}
	forward := func(m *memory, ids []int32) (*lookup.Bag, lookup.Input) {
		bag, in := must1(lookup.NewBag(m.embedding, lookup.Sum)), lookup.Batch(ids, m.bag)
		must(bag.Forward(m.rows, in))
		return bag, in
	}
	k.ours = func(m *memory, ids []int32) error {
		bag, in := forward(m, ids)
		return m.optimizers[0].StepBags(bag, in, m.outGrad)
	}
	k.peers = []peer{{name: "rowvec, gradient held", run: func(m *memory, ids []int32) {
		bag, in := forward(m, ids)
		m.gradient.Clear()
		must(bag.BackwardSparse(m.gradient, in, m.outGrad))
		must(m.optimizers[0].Step(m.gradient))
	}}}
	return &k
}

// bagStepper returns training steps of bags.
func bagStepper(method lookup.Method) func(m *memory, workers int) (func(ids []int32) error, error) {
	return func(m *memory, workers int) (func(ids []int32) error, error) {
		e, err := lookup.FromMatrix(m.table, lookup.Workers(workers))
		if err != nil {
			return nil, err
		}
		bag, err := lookup.NewBag(e, lookup.Sum)
		o := m.newOptimizer(e, method)
		return func(ids []int32) error {
			in := lookup.Batch(ids, m.bag)
			if err := bag.Forward(m.rows, in); err != nil {
				return err
			}
			return o.StepBags(bag, in, m.outGrad)
		}, err
	}
}

// stepper returns training steps of an embedding.
func stepper(method lookup.Method) func(m *memory, workers int) (func(ids []int32) error, error) {
	return func(m *memory, workers int) (func(ids []int32) error, error) {
		e, err := lookup.FromMatrix(m.table, lookup.Workers(workers))
		if err != nil {
			return nil, err
		}
		o := m.newOptimizer(e, method)
		return func(ids []int32) error {
			in := lookup.Sequence(ids)
			if err := e.Forward(m.rows, in); err != nil {
				return err
			}
			return o.StepBatch(e, in, m.outGrad)
		}, nil
	}
}
