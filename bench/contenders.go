package main

import (
	"slices"

	"github.com/viterin/vek/vek32"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/lookup"
)

// kernel is what can do the work of one kernel. Each function works on the memory of a case, with one of its lists of
// ids, and writes where all the others write.
type kernel struct {
	name  string
	bytes func(s shape) int // moved by one call
	naive func(m *memory, ids []int32)
	ours  func(m *memory, ids []int32) error
	peers []peer

	distinct func(s shape) int // bytes moved besides, for each row that the ids of a call choose; nil for none

	unscaled  bool          // multiplies by 1
	trains    bool          // needs gradients
	waves     bool          // needs sinusoids
	sinusoids bool          // needs sinusoidal positions, and a layer that has them
	drops     bool          // needs a layer with learned positions that drops
	rotates   bool          // needs the cosines and sines of positions, and turns rows in their place
	updates   bool          // needs a sum for each row
	states    int           // matrices of state that it needs
	bags      bool          // has a row for each bag, of seq ids
	weighs    bool          // needs a weight for each id
	sparse    bool          // needs a row-sparse gradient
	method    lookup.Method // of the optimizer that it takes steps of, whose gradients are sparse; nil for none
	norms     bool          // needs parameters of a normalisation, whose sums are in an order of our own
	segments  bool          // needs types of tokens
	finds     bool          // needs room for neighbours
	logits    bool          // needs logits
	scores    bool          // needs scores of positions against chosen rows, each of them a sum in an order of our own
}

// peer is another library, or another of our kernels that can do the same.
type peer struct {
	name string
	run  func(m *memory, ids []int32)

	yardstick bool // does something else to as many bytes
}

var kernels = slices.Concat(rowKernels, bagKernels, sparseKernels)

var rowKernels = []kernel{
	{
		name:  "CheckIDs",
		bytes: func(s shape) int { return 4 * s.ids },
		naive: func(m *memory, ids []int32) {
			if !naiveCheckIDs(ids, m.table.Rows) {
				panic("an id is out of range")
			}
		},
		ours: func(m *memory, ids []int32) error { return rowvec.CheckIDs(ids, m.table.Rows) },
	},
	{
		name:  "Gather",
		bytes: func(s shape) int { return s.ids * (4 + 2*4*s.dim) },
		naive: func(m *memory, ids []int32) { naiveGather(m.rows.Data, m.table.Data, ids, m.table.Cols) },
		ours:  func(m *memory, ids []int32) error { return rowvec.Gather(m.rows, m.table, ids) },
	},
	{
		name:  "GatherScaled",
		bytes: func(s shape) int { return s.ids * (4 + 2*4*s.dim) },
		naive: func(m *memory, ids []int32) {
			naiveGatherScaled(m.rows.Data, m.table.Data, ids, m.table.Cols, m.scale)
		},
		ours: func(m *memory, ids []int32) error { return rowvec.GatherScaled(m.rows, m.table, ids, m.scale) },
		peers: []peer{{name: "vek32", run: func(m *memory, ids []int32) {
			for i, id := range ids {
				vek32.MulNumber_Into(m.rows.Row(i), m.table.Row(int(id)), m.scale)
			}
		}}},
	},
	{
		name:  "ScatterAdd",
		bytes: func(s shape) int { return s.ids * (4 + 3*4*s.dim) },
		naive: func(m *memory, ids []int32) {
			naiveScatterAdd(m.table.Data, ids, m.table.Cols, m.scale, m.rows.Data)
		},
		ours: func(m *memory, ids []int32) error { return rowvec.ScatterAdd(m.table, ids, m.scale, m.rows) },
		peers: []peer{
			{name: "vek32", run: func(m *memory, ids []int32) {
				for i, id := range ids {
					vek32.MulNumber_Into(m.temporary, m.rows.Row(i), m.scale)
					vek32.Add_Inplace(m.table.Row(int(id)), m.temporary)
				}
			}},
			{name: "gonum", run: func(m *memory, ids []int32) {
				for i, id := range ids {
					blas32.Axpy(m.scale, vector(m.rows.Row(i)), vector(m.table.Row(int(id))))
				}
			}},
		},
	},
	{
		name:  "Embed",
		bytes: func(s shape) int { return s.ids * (4 + 3*4*s.dim) },
		naive: func(m *memory, ids []int32) {
			naiveEmbed(m.rows.Data, m.table.Data, ids, m.table.Cols, m.scale, m.positions.Data, m.positions.Rows)
		},
		ours: func(m *memory, ids []int32) error {
			return rowvec.Embed(m.rows, m.table, ids, m.scale, m.positions, 0, m.positions.Rows)
		},
		peers: []peer{{name: "vek32", run: func(m *memory, ids []int32) {
			for i, id := range ids {
				out := m.rows.Row(i)
				vek32.MulNumber_Into(out, m.table.Row(int(id)), m.scale)
				vek32.Add_Inplace(out, m.positions.Row(i%m.positions.Rows))
			}
		}}},
	},
	{
		name:      "EmbedSinusoidal", // by a layer that works positions out as it goes; all others have a table of them
		bytes:     func(s shape) int { return s.ids * (4 + 2*4*s.dim) },
		sinusoids: true,
		naive: func(m *memory, ids []int32) {
			naiveEmbed(m.rows.Data, m.table.Data, ids, m.table.Cols, m.scale, m.positions.Data, m.positions.Rows)
		},
		ours: func(m *memory, ids []int32) error {
			return m.layer.Forward(m.rows, lookup.Batch(ids, m.positions.Rows))
		},
		peers: []peer{{name: "rowvec Embed, with a table", run: func(m *memory, ids []int32) {
			must(rowvec.Embed(m.rows, m.table, ids, m.scale, m.positions, 0, m.positions.Rows))
		}}},
	},
	{
		name:  "EmbedDropout", // by a layer, beside itself without dropout
		bytes: func(s shape) int { return s.ids * (4 + 3*4*s.dim) },
		drops: true,
		naive: func(m *memory, ids []int32) {
			naiveEmbed(m.rows.Data, m.table.Data, ids, m.table.Cols, m.scale, m.positions.Data, m.positions.Rows)
			naiveDropout(m.rows.Data, m.rows.Data, m.rows.Cols, dropped, dropSeed)
		},
		ours: func(m *memory, ids []int32) error {
			return m.layer.ForwardTrain(m.rows, lookup.Batch(ids, m.positions.Rows), 0)
		},
		peers: []peer{{name: "rowvec, nothing dropped", yardstick: true, run: func(m *memory, ids []int32) {
			must(m.layer.Forward(m.rows, lookup.Batch(ids, m.positions.Rows)))
		}}},
	},
	{
		name:  "EmbedBackward",
		bytes: func(s shape) int { return s.ids*(4+4*4*s.dim) + 2*4*s.seq*s.dim },
		naive: func(m *memory, ids []int32) {
			naiveEmbedBackward(m.table.Data, m.positions.Data, ids, m.table.Cols, m.scale, m.rows.Data, m.positions.Rows)
		},
		ours: func(m *memory, ids []int32) error {
			return rowvec.EmbedBackward(m.table, m.positions, ids, m.scale, m.rows, 0, m.positions.Rows)
		},
		peers: []peer{{name: "gonum", run: func(m *memory, ids []int32) {
			for i, id := range ids {
				dOut := vector(m.rows.Row(i))
				blas32.Axpy(m.scale, dOut, vector(m.table.Row(int(id))))
				blas32.Axpy(1, dOut, vector(m.positions.Row(i%m.positions.Rows)))
			}
		}}},
	},
	{
		name:  "AddBatches",
		bytes: func(s shape) int { return 4 * (s.ids + 2*s.seq) * s.dim },
		naive: func(m *memory, _ []int32) {
			naiveAddBatches(m.positions.Data, m.rows.Data, m.rows.Rows, m.rows.Cols, m.positions.Rows)
		},
		ours: func(m *memory, _ []int32) error { return rowvec.AddBatches(m.positions, m.rows) },
		peers: []peer{{name: "vek32", run: func(m *memory, _ []int32) {
			for i := range m.rows.Rows {
				vek32.Add_Inplace(m.positions.Row(i%m.positions.Rows), m.rows.Row(i))
			}
		}}},
	},
	{
		name:   "Dots",
		bytes:  func(s shape) int { return s.ids*(4+4*s.dim) + 4*s.seq*(s.dim+s.ids) },
		scores: true,
		naive: func(m *memory, ids []int32) {
			naiveDots(m.scores.Data, m.positions.Data, m.table.Data, ids, m.table.Cols)
		},
		ours: func(m *memory, ids []int32) error { return rowvec.Dots(m.scores, m.positions, m.table, ids) },
		peers: []peer{
			{name: "vek32", run: func(m *memory, ids []int32) {
				for j, id := range ids {
					for i := range m.positions.Rows {
						m.scores.Row(i)[j] = vek32.Dot(m.positions.Row(i), m.table.Row(int(id)))
					}
				}
			}},
			{name: "gonum", run: func(m *memory, ids []int32) {
				for j, id := range ids {
					for i := range m.positions.Rows {
						m.scores.Row(i)[j] = blas32.Dot(vector(m.positions.Row(i)), vector(m.table.Row(int(id))))
					}
				}
			}},
		},
	},
	{
		name:  "AddScaled",
		bytes: func(s shape) int { return 3 * 4 * s.n },
		naive: func(m *memory, _ []int32) { naiveAddScaled(m.y, m.scale, m.x) },
		ours:  func(m *memory, _ []int32) error { return rowvec.AddScaled(m.y, m.scale, m.x) },
		peers: []peer{
			{name: "vek32", run: func(m *memory, _ []int32) {
				vek32.MulNumber_Into(m.temporary, m.x, m.scale)
				vek32.Add_Inplace(m.y, m.temporary)
			}},
			{name: "gonum", run: func(m *memory, _ []int32) { blas32.Axpy(m.scale, vector(m.x), vector(m.y)) }},
		},
	},
	{
		name:  "Add",
		bytes: func(s shape) int { return 3 * 4 * s.n },
		naive: func(m *memory, _ []int32) { naiveAdd(m.y, m.x) },
		ours:  func(m *memory, _ []int32) error { return rowvec.Add(m.y, m.x) },
		peers: []peer{
			{name: "vek32", run: func(m *memory, _ []int32) { vek32.Add_Inplace(m.y, m.x) }},
			{name: "AddScaled", run: func(m *memory, _ []int32) { must(rowvec.AddScaled(m.y, 1, m.x)) }},
		},
	},
	{
		name:  "Scale",
		bytes: func(s shape) int { return 2 * 4 * s.n },
		naive: func(m *memory, _ []int32) { naiveScale(m.y, -1) }, // -1 lets numbers neither grow nor vanish
		ours:  func(m *memory, _ []int32) error { rowvec.Scale(m.y, -1); return nil },
		peers: []peer{
			{name: "vek32", run: func(m *memory, _ []int32) { vek32.MulNumber_Inplace(m.y, -1) }},
			{name: "gonum", run: func(m *memory, _ []int32) { blas32.Scal(-1, vector(m.y)) }},
		},
	},
	{
		name:  "Sinusoids",
		bytes: func(s shape) int { return 4 * s.n },
		waves: true,
		naive: func(m *memory, _ []int32) {
			x, y, c := m.startWaves()
			naiveSinusoids(m.y, x, y, c)
		},
		ours: func(m *memory, _ []int32) error {
			x, y, c := m.startWaves()
			return rowvec.Sinusoids(rowvec.Matrix{Rows: len(m.y) / dim, Cols: dim, Data: m.y, Stride: dim}, 0, x, y, c)
		},
	},
	{
		name:  "Dropout",
		bytes: func(s shape) int { return 2 * 4 * s.n },
		naive: func(m *memory, _ []int32) { naiveDropout(m.y, m.x, dim, dropped, dropSeed) },
		ours: func(m *memory, _ []int32) error {
			rows := func(x []float32) rowvec.Matrix {
				return rowvec.Matrix{Rows: len(x) / dim, Cols: dim, Data: x, Stride: dim}
			}
			return rowvec.Dropout(rows(m.y), rows(m.x), rowvec.Mask{P: dropped, Seed: dropSeed})
		},
	},
	{
		name:  "LayerNorm",
		bytes: func(s shape) int { return 2 * 4 * s.ids * s.dim },
		norms: true,
		naive: func(m *memory, _ []int32) {
			naiveLayerNorm(m.rows.Data, m.table.Data, m.affine.Row(0), m.affine.Row(1), normEpsilon)
		},
		ours: func(m *memory, _ []int32) error {
			return rowvec.LayerNorm(m.rows, m.table, m.affine.Row(0), m.affine.Row(1), normEpsilon)
		},
	},
	{
		name:  "LayerNormBackward",
		bytes: func(s shape) int { return 3 * 4 * s.ids * s.dim },
		norms: true,
		naive: func(m *memory, _ []int32) {
			naiveLayerNormBackward(m.rows.Data, m.outGrad.Data, m.table.Data, m.affine.Row(0), normEpsilon,
				m.affine.Row(2), m.affine.Row(3))
		},
		ours: func(m *memory, _ []int32) error {
			return rowvec.LayerNormBackward(m.rows, m.outGrad, m.table, m.affine.Row(0), normEpsilon,
				m.affine.Row(2), m.affine.Row(3))
		},
	},
	{
		name:    "Rotate",
		bytes:   func(s shape) int { return 2 * 4 * s.ids * s.dim },
		rotates: true,
		naive: func(m *memory, _ []int32) {
			naiveRotate(m.rows.Data, m.rows.Cols, m.angles.Data, headDim, m.angles.Rows)
		},
		ours: func(m *memory, _ []int32) error {
			return rowvec.Rotate(m.rows, m.rows, rowvec.Rotation{Heads: m.rows.Cols / headDim}, m.angles, 0, m.angles.Rows)
		},
		peers: []peer{{name: "rowvec Scale", run: func(m *memory, _ []int32) { rowvec.Scale(m.rows.Data, -1) }, yardstick: true}},
	},
	{
		name:    "UpdateSGD",
		bytes:   func(s shape) int { return s.ids * (4 + 3*4*s.dim) },
		updates: true,
		naive: func(m *memory, ids []int32) {
			naiveUpdateSGD(m.table.Data, ids, m.table.Cols, m.rows.Data, updateRate, updateDecay)
		},
		ours: func(m *memory, ids []int32) error {
			return rowvec.UpdateSGD(m.table, ids, m.rows, updateRate, updateDecay)
		},
	},
	{
		name:    "UpdateRowAdagrad",
		bytes:   func(s shape) int { return s.ids * (4 + 2*4 + 3*4*s.dim) },
		updates: true,
		naive: func(m *memory, ids []int32) {
			naiveUpdateRowAdagrad(m.table.Data, m.sums, ids, m.table.Cols, m.rows.Data, updateRate, updateEpsilon)
		},
		ours: func(m *memory, ids []int32) error {
			return rowvec.UpdateRowAdagrad(m.table, m.sums, ids, m.rows, updateRate, updateEpsilon)
		},
	},
	{
		name:    "UpdateAdagrad",
		bytes:   func(s shape) int { return s.ids * (4 + 5*4*s.dim) },
		updates: true,
		states:  1,
		naive: func(m *memory, ids []int32) {
			naiveUpdateAdagrad(m.table.Data, m.states[0].Data, ids, m.table.Cols, m.rows.Data, updateRate, updateEpsilon)
		},
		ours: func(m *memory, ids []int32) error {
			return rowvec.UpdateAdagrad(m.table, m.states[0], ids, m.rows, updateRate, updateEpsilon)
		},
	},
	{
		name:    "UpdateAdam",
		bytes:   func(s shape) int { return s.ids * (4 + 7*4*s.dim) },
		updates: true,
		states:  2,
		naive: func(m *memory, ids []int32) {
			naiveUpdateAdam(m.table.Data, m.states[0].Data, m.states[1].Data, ids, m.table.Cols, m.rows.Data, adamStep)
		},
		ours: func(m *memory, ids []int32) error {
			return rowvec.UpdateAdam(m.table, m.states[0], m.states[1], ids, m.rows, adamStep)
		},
	},
}

// headDim is the size of a head that is rotated, that of GPT-2, BERT and many others.
const headDim = 64

// The constants of updates: a step each time, as far into the training as the correction of bias has gone.
const (
	updateRate    = 1e-3
	updateEpsilon = 1e-8
	updateDecay   = 1e-2
)

const normEpsilon = 1e-5

// How much is dropped, as in peers.py, and by what numbers.
const (
	dropped  = 0.1
	dropSeed = 1
)

var adamStep = rowvec.AdamStep{
	MeanWeight: 0.1, SquareWeight: 0.001, Rate: updateRate, Epsilon: updateEpsilon, Keep: 1 - updateRate*updateDecay,
}

// kernelOf returns the kernel of that name, nil if there is none.
func kernelOf(name string) *kernel {
	for i := range kernels {
		if kernels[i].name == name {
			return &kernels[i]
		}
	}
	return nil
}

func vector(x []float32) blas32.Vector { return blas32.Vector{N: len(x), Data: x, Inc: 1} }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func must1[T any](x T, err error) T {
	must(err)
	return x
}

// contender is one side of a case. run makes calls of it with lists of ids, from the first-th on, while level is the active one:
// the loop is within, for what it costs is felt beside a call that takes 20 ns.
type contender struct {
	name  string
	level isa.Level
	run   func(first, calls int)

	yardstick bool // does not do the work of the kernel
}

// contenders returns the naive loop, our kernel at every level of this machine, the peers, and the copy of half as many
// bytes as the kernel moves, which moves as many.
func (k *kernel) contenders(m *memory) []contender {
	best := isa.Available[len(isa.Available)-1]
	each := func(work func(m *memory, ids []int32)) func(first, calls int) {
		return func(first, calls int) {
			for ids := range m.lists(first, calls) {
				work(m, ids)
			}
		}
	}
	all := []contender{{name: "naive", level: best, run: each(k.naive)}}
	for _, level := range isa.Available {
		all = append(all, contender{name: level.String(), level: level, run: func(first, calls int) {
			for ids := range m.lists(first, calls) {
				must(k.ours(m, ids))
			}
		}})
	}
	for _, p := range k.peers {
		all = append(all, contender{p.name, best, each(p.run), p.yardstick})
	}
	return append(all, contender{"copy", best, m.copies, true})
}
