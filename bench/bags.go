package main

import (
	"github.com/viterin/vek/vek32"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
)

// bagKernels are sums and the like over bags of seq ids. Offsets are those that any bags would need.
var bagKernels = []kernel{
	{
		name:  "BagSum",
		bytes: bagBytes,
		bags:  true,
		naive: func(m *memory, ids []int32) {
			naiveBagSum(m.rows.Data, m.table.Data, ids, m.table.Cols, m.offsets)
		},
		ours: func(m *memory, ids []int32) error { return rowvec.BagSum(m.rows, m.table, ids, m.offsets, nil) },
		peers: []peer{{name: "vek32", run: func(m *memory, ids []int32) {
			for b := range m.rows.Rows {
				out := m.rows.Row(b)
				clear(out)
				for _, id := range ids[m.offsets[b]:m.offsets[b+1]] {
					vek32.Add_Inplace(out, m.table.Row(int(id)))
				}
			}
		}}},
	},
	{
		name:   "BagSumWeighted",
		bytes:  func(s shape) int { return bagBytes(s) + 4*s.ids },
		bags:   true,
		weighs: true,
		naive: func(m *memory, ids []int32) {
			naiveBagSumWeighted(m.rows.Data, m.table.Data, ids, m.table.Cols, m.offsets, m.weights)
		},
		ours: func(m *memory, ids []int32) error { return rowvec.BagSum(m.rows, m.table, ids, m.offsets, m.weights) },
	},
	{
		name:  "BagMean",
		bytes: bagBytes,
		bags:  true,
		naive: func(m *memory, ids []int32) {
			naiveBagMean(m.rows.Data, m.table.Data, ids, m.table.Cols, m.offsets)
		},
		ours: func(m *memory, ids []int32) error { return rowvec.BagMean(m.rows, m.table, ids, m.offsets) },
	},
	{
		name:  "BagMax",
		bytes: bagBytes,
		bags:  true,
		naive: func(m *memory, ids []int32) {
			naiveBagMax(m.rows.Data, m.table.Data, ids, m.table.Cols, m.offsets)
		},
		ours: func(m *memory, ids []int32) error { return rowvec.BagMax(m.rows, m.table, ids, m.offsets) },
	},
}

// bagWeights is the gradient of weights, of which there is one for each id: its row by that of the gradient of its bag.
func bagWeights() *kernel {
	return &kernel{
		name:   "BagWeights",
		bytes:  func(s shape) int { return s.ids*(8+4*s.dim) + s.bags()*(8+4*s.dim) },
		bags:   true,
		weighs: true,
		naive: func(m *memory, ids []int32) {
			for b := range m.rows.Rows {
				first, end := m.offsets[b], m.offsets[b+1]
				naiveDots(m.weights[first:end], m.rows.Row(b), m.table.Data, ids[first:end], m.table.Cols)
			}
		},
		peers: []peer{{name: "vek32 Dot", run: func(m *memory, ids []int32) {
			for b := range m.rows.Rows {
				for i := m.offsets[b]; i < m.offsets[b+1]; i++ {
					m.weights[i] = vek32.Dot(m.rows.Row(b), m.table.Row(int(ids[i])))
				}
			}
		}}},
	}
}

// newBag returns a bag over the table.
func (m *memory) newBag(pooling lookup.Pooling, workers int) (*lookup.Bag, error) {
	e, err := lookup.FromMatrix(m.table, lookup.Workers(workers))
	if err != nil {
		return nil, err
	}
	return lookup.NewBag(e, pooling)
}

// bagBytes counts, for each id, itself and its row read, and for each bag its offset read and its output written.
func bagBytes(s shape) int { return s.ids*(4+4*s.dim) + s.bags()*(8+4*s.dim) }

// bagger returns the layer over bags.
func bagger(pooling lookup.Pooling) func(m *memory, workers int) (func(ids []int32) error, error) {
	return func(m *memory, workers int) (func(ids []int32) error, error) {
		b, err := m.newBag(pooling, workers)
		return func(ids []int32) error {
			return b.Forward(m.rows, lookup.Ragged(ids, m.offsets).Weighted(m.weights))
		}, err
	}
}
