package main

import (
	"math/rand/v2"

	"github.com/viterin/vek/vek32"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/philox"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// contest is what rowvec and peers elsewhere do in turn.
type contest struct {
	title  string
	kernel *kernel
	shapes []shape
	unit   string                    // that times are given for
	units  func(s shape) int         // in one call
	out    func(m *memory) []float32 // what a call writes to
	chosen bool                      // out is a table, of which ids choose rows
	near   float64                   // how far from ours a result may be, relative to 1 + its size
	drawn  bool                      // the results are random numbers, whose moments are compared

	// ours by several workers, where several can work, or where there is no kernel that does it all
	team  func(m *memory, workers int) (func(ids []int32) error, error)
	layer string // what the team of one is called as a side beside our kernel; "" if it is none
}

func perID(s shape) int { return s.ids }

var contests = []contest{
	{
		title: "Gather, a lookup", kernel: kernelOf("Gather"), unit: "row", units: perID,
		shapes: []shape{
			{vocab: 50257, dim: 768, ids: 8192, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 8192, dist: "zipf", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 128, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 1, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 1, dist: "uniform", cache: "warm"},
			{vocab: 50257, dim: 768, ids: 8, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 64, ids: 4, dist: "uniform", cache: "held"},
			{vocab: 50257, dim: 64, ids: 4, dist: "uniform", cache: "warm"},
			{vocab: 50257, dim: 64, ids: 2048, dist: "uniform", cache: "held"},
			{vocab: 1000000, dim: 64, ids: 8192, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 128, ids: 8192, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 512, ids: 8192, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 1, ids: 8192, dist: "uniform", cache: "held"},
			{vocab: 50257, dim: 2, ids: 8192, dist: "uniform", cache: "held"},
			{vocab: 50257, dim: 4, ids: 8192, dist: "uniform", cache: "held"},
			{vocab: 50257, dim: 8, ids: 8192, dist: "uniform", cache: "held"},
			{vocab: 1000000, dim: 32, ids: 65536, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 30, ids: 8192, dist: "uniform", cache: "cold"},
			{vocab: 4000000, dim: 16, ids: 8192, dist: "uniform", cache: "cold"},
			{vocab: 400000, dim: 300, ids: 8192, dist: "uniform", cache: "cold"},
			{vocab: 1000, dim: 64, ids: 128, dist: "uniform", cache: "warm"},
			{vocab: 50257, dim: 4096, ids: 2048, dist: "uniform", cache: "cold"},
			{vocab: 16384, dim: 12288, ids: 512, dist: "uniform", cache: "cold"},
		},
		out: func(m *memory) []float32 { return m.rows.Data },
		team: func(m *memory, workers int) (func(ids []int32) error, error) {
			e, err := lookup.FromMatrix(m.table, lookup.Workers(workers))
			return func(ids []int32) error { return e.Forward(m.rows, lookup.Sequence(ids)) }, err
		},
	},
	{
		title: "Embed, E[ids]*sqrt(dim) + P", kernel: kernelOf("Embed"), unit: "row", units: perID,
		shapes: []shape{
			{vocab: 50257, dim: 768, ids: 2048, seq: 128, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 2048, seq: 128, dist: "zipf", cache: "cold"},
			{vocab: 10000, dim: 64, ids: 2048, seq: 128, dist: "zipf", cache: "held"},
		},
		out:  func(m *memory) []float32 { return m.rows.Data },
		near: 1e-6,
		team: func(m *memory, workers int) (func(ids []int32) error, error) {
			positions, err := positional.LearnedFrom(m.positions)
			if err != nil {
				return nil, err
			}
			layer, err := m.newLayer(workers, positions)
			return func(ids []int32) error { return layer.Forward(m.rows, lookup.Batch(ids, m.positions.Rows)) }, err
		},
	},
	{
		title:  "Embed with sinusoids, which rowvec has no table of",
		kernel: kernelOf("EmbedSinusoidal"), unit: "row", units: perID,
		shapes: []shape{
			{vocab: 50257, dim: 768, ids: 2048, seq: 128, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 2048, seq: 128, dist: "zipf", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 512, seq: 512, dist: "zipf", cache: "cold"},
		},
		out:  func(m *memory) []float32 { return m.rows.Data },
		near: 1e-4, // their sinusoids are of float32
	},
	{
		title: "Embed with dropout of 0.1, the forward pass of training", kernel: kernelOf("EmbedDropout"), unit: "row", units: perID,
		shapes: []shape{
			{vocab: 50257, dim: 768, ids: 2048, seq: 128, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 2048, seq: 128, dist: "zipf", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 8192, seq: 1024, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 8192, seq: 1024, dist: "zipf", cache: "cold"},
		},
		out:   func(m *memory) []float32 { return m.rows.Data },
		drawn: true,
		near:  0.05,
		team: func(m *memory, workers int) (func(ids []int32) error, error) {
			layer, err := m.newLayer(workers, m.layer.Positions(), lookup.Dropout(dropped, dropSeed))
			return func(ids []int32) error { return layer.ForwardTrain(m.rows, lookup.Batch(ids, m.positions.Rows), 0) }, err
		},
	},
	{
		title: "ScatterAdd, the gradient of a lookup", kernel: unscaledScatterAdd(), unit: "row", units: perID,
		shapes: []shape{
			{vocab: 50257, dim: 768, ids: 2048, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 8192, dist: "zipf", cache: "cold"},
			{vocab: 50257, dim: 64, ids: 2048, dist: "uniform", cache: "held"},
			{vocab: 1000000, dim: 128, ids: 8192, dist: "uniform", cache: "cold"},
		},
		out: func(m *memory) []float32 { return m.table.Data }, chosen: true,
		near: 1e-4,
		team: func(m *memory, workers int) (func(ids []int32) error, error) {
			table, err := rowvec.NewMatrix(m.table.Rows, m.table.Cols) // which is not read, and so takes no memory
			if err != nil {
				return nil, err
			}
			e, err := lookup.FromMatrix(table, lookup.Workers(workers))
			return func(ids []int32) error { return e.Backward(m.table, lookup.Sequence(ids), m.rows) }, err
		},
	},
	{
		title:  "Training: clear the last gradient, look up, add up a gradient",
		kernel: training(), unit: "row", units: perID,
		shapes: []shape{
			{vocab: 50257, dim: 768, ids: 128, dist: "uniform", cache: "cold"},
		},
		out: func(m *memory) []float32 { return m.grad.Data }, chosen: true,
		near: 1e-4,
		team: trainer,
	},
	trainingContest("SGD"),
	trainingContest("RowAdagrad"),
	trainingContest("Adagrad"),
	trainingContest("Adam"),
	bagTrainingContest("SGD"),
	bagTrainingContest("Adagrad"),
	{
		title: "BagSum, sums over bags", kernel: kernelOf("BagSum"), unit: "id", units: perID,
		shapes: []shape{
			{vocab: 4000000, dim: 16, ids: 8192, seq: 1, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 64, ids: 8192, seq: 1, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 64, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 64, ids: 8200, seq: 50, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 128, ids: 8192, seq: 1, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 128, ids: 8200, seq: 50, dist: "uniform", cache: "cold"},
			{vocab: 400000, dim: 300, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 4096, seq: 1, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 4100, seq: 10, dist: "uniform", cache: "cold"},
			{vocab: 10000, dim: 64, ids: 8192, seq: 1, dist: "uniform", cache: "held"},
			{vocab: 10000, dim: 64, ids: 8190, seq: 10, dist: "uniform", cache: "held"},
			{vocab: 10000, dim: 64, ids: 8200, seq: 50, dist: "uniform", cache: "held"},
			{vocab: 10000, dim: 128, ids: 8192, seq: 1, dist: "uniform", cache: "held"},
			{vocab: 10000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "held"},
			{vocab: 10000, dim: 128, ids: 8200, seq: 50, dist: "uniform", cache: "held"},
		},
		out:  func(m *memory) []float32 { return m.rows.Data },
		near: 1e-5,
		team: bagger(lookup.Sum), layer: "rowvec Bag.Forward",
	},
	{
		title: "BagSum with a weight for each id", kernel: kernelOf("BagSumWeighted"), unit: "id", units: perID,
		shapes: []shape{
			{vocab: 1000000, dim: 64, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
			{vocab: 10000, dim: 64, ids: 8190, seq: 10, dist: "uniform", cache: "held"},
			{vocab: 10000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "held"},
		},
		out:  func(m *memory) []float32 { return m.rows.Data },
		near: 1e-5,
		team: bagger(lookup.Sum), layer: "rowvec Bag.Forward",
	},
	{
		title: "BagMean", kernel: kernelOf("BagMean"), unit: "id", units: perID,
		shapes: []shape{{vocab: 1000000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "cold"}},
		out:    func(m *memory) []float32 { return m.rows.Data },
		near:   1e-5,
		team:   bagger(lookup.Mean), layer: "rowvec Bag.Forward",
	},
	{
		title: "BagMax", kernel: kernelOf("BagMax"), unit: "id", units: perID,
		shapes: []shape{{vocab: 1000000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "cold"}},
		out:    func(m *memory) []float32 { return m.rows.Data },
		team:   bagger(lookup.Max), layer: "rowvec Bag.Forward",
	},
	{
		title: "BagWeights, the gradient of the weights of bags", kernel: bagWeights(), unit: "id", units: perID,
		shapes: []shape{
			{vocab: 1000000, dim: 64, ids: 8192, seq: 1, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 64, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 128, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 4100, seq: 10, dist: "uniform", cache: "cold"},
			{vocab: 10000, dim: 64, ids: 8190, seq: 10, dist: "uniform", cache: "held"},
		},
		out:  func(m *memory) []float32 { return m.weights },
		near: 1e-4,
		team: func(m *memory, workers int) (func(ids []int32) error, error) {
			b, err := m.newBag(lookup.Sum, workers)
			return func(ids []int32) error {
				clear(m.weights) // which it adds to
				return b.BackwardWeights(m.weights, lookup.Ragged(ids, m.offsets), m.rows)
			}, err
		},
	},
	{
		title: "LayerNorm", kernel: kernelOf("LayerNorm"), unit: "row", units: perID,
		shapes: []shape{{dim: 768, ids: 32, cache: "warm"}, {dim: 768, ids: 2048, cache: "warm"}, {dim: 768, ids: 32768, cache: "cold"}},
		out:    func(m *memory) []float32 { return m.rows.Data },
		near:   1e-5,
	},
	{
		title: "BERT, E[ids] + S[types] + P, normalised", kernel: bert(), unit: "row", units: perID,
		shapes: []shape{{vocab: 30522, dim: 768, ids: 2048, seq: 128, dist: "uniform", cache: "cold"}},
		out:    func(m *memory) []float32 { return m.rows.Data },
		near:   1e-5,
		team:   bertLayer,
	},
	{
		title: "Nearest, the rows with the 10 greatest dot products for each query", kernel: nearestRows(), unit: "query", units: perID,
		shapes: []shape{{vocab: 50257, dim: 768, ids: 64, dist: "uniform", cache: "cold"}},
		out:    func(m *memory) []float32 { return m.found.Scores },
		near:   1e-5,
		team: func(m *memory, workers int) (func(ids []int32) error, error) {
			e, err := lookup.FromMatrix(m.table, lookup.Workers(workers))
			if err != nil {
				return nil, err
			}
			s, err := lookup.NewSimilarity(e, lookup.Dot)
			return func([]int32) error { return s.Nearest(m.found, m.rows) }, err
		},
	},
	{
		title: "Output, logits of hidden states with all rows of the table", kernel: outputLogits(), unit: "state", units: perID,
		shapes: outputShapes,
		out:    func(m *memory) []float32 { return m.logits.Data },
		near:   1e-4,
		team: func(m *memory, workers int) (func(ids []int32) error, error) {
			o, err := output(m, workers)
			return func([]int32) error { return o.Forward(m.logits, m.rows) }, err
		},
	},
	{
		title: "Output, the gradients of that", kernel: outputBackward(), unit: "state", units: perID,
		shapes: outputShapes,
		out:    func(m *memory) []float32 { return m.grads },
		near:   1e-3, // sums of 50,257 products
		team: func(m *memory, workers int) (func(ids []int32) error, error) {
			o, err := output(m, workers)
			return func([]int32) error { return o.Backward(m.outGrad, m.grad, m.logits, m.rows) }, err
		},
	},
	{
		title: "AddScaled, y += a*x", kernel: kernelOf("AddScaled"), unit: "call", units: func(shape) int { return 1 },
		shapes: []shape{{n: 512, cache: "warm"}, {n: 4096, cache: "warm"}},
		out:    func(m *memory) []float32 { return m.y },
		near:   1e-6,
	},
	{
		title: "Sinusoidal, a table from nothing", kernel: sinusoidal(),
		unit: "element", units: func(s shape) int { return s.seq * s.dim },
		shapes: []shape{
			{dim: 512, seq: 2048, cache: "warm"},
			{dim: 512, seq: 5000, cache: "warm"},
			{dim: 128, seq: 131072, cache: "cold"},
		},
		out:  func(m *memory) []float32 { return m.positions.Data },
		near: 2e-2, // what float32 makes of angles up to 131,072
	},
	initialContest("Uniform", forward.FillUniform, func(r *rand.Rand) float32 { return r.Float32()*2 - 1 }),
	initialContest("Normal", forward.FillNormal, func(r *rand.Rand) float32 { return float32(r.NormFloat64()) }),
	{
		title: "Rotary in place, heads of 64", kernel: rotary(), unit: "token", units: perID,
		shapes: []shape{{dim: 768, ids: 8192, seq: 1024, cache: "cold"}},
		out:    func(m *memory) []float32 { return m.rows.Data },
		near:   1e-4, // PyTorch's and NumPy's angles up to 1,024 are of float32
		team: func(m *memory, workers int) (func(ids []int32) error, error) {
			r, err := positional.NewRotary(headDim, positional.Workers(workers))
			return func([]int32) error { return r.Apply(m.rows, m.rows, m.rows.Cols/headDim, m.angles.Rows, 0) }, err
		},
	},
}

// initialContest is that of initial weights, of which a loop draws one after the other. Their size is a variable everywhere.
func initialContest(name string, fill func(dst []float32, seed, stream, first uint64, size float32), draw func(r *rand.Rand) float32) contest {
	return contest{
		title: name + ", initial weights", unit: "element", units: func(s shape) int { return s.n },
		kernel: &kernel{
			name:  name,
			bytes: func(s shape) int { return 4 * s.n },
			naive: func(m *memory, _ []int32) {
				r := rand.New(rand.NewPCG(1, 2))
				for i := range m.y {
					m.y[i] = draw(r) * initialSize
				}
			},
			ours: func(m *memory, _ []int32) error {
				fill(m.y, 1, philox.StreamTokens, 0, initialSize)
				return nil
			},
		},
		shapes: []shape{{n: 1 << 20, cache: "warm"}, {n: 32 << 20, cache: "cold"}},
		out:    func(m *memory) []float32 { return m.y },
		near:   0.1, // of 5,000 numbers
		drawn:  true,
	}
}

// initialSize is the limit or the standard deviation of initial weights, as in peers.py.
var initialSize float32 = 1

// trainingContest is that of steps of a method, each on a fresh batch: forward, backward and update.
func trainingContest(name string) contest {
	k := trainingStep(name)
	return contest{
		title:  "Training with " + name + ": look up, add up the gradient, update",
		kernel: k, unit: "id", units: perID,
		shapes: []shape{
			{vocab: 50257, dim: 768, ids: 128, dist: "uniform", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 8192, dist: "zipf", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 8192, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 64, ids: 8192, dist: "zipf", cache: "cold"},
		},
		out: func(m *memory) []float32 { return m.table.Data }, chosen: true,
		near: 1e-4,
		team: stepper(k.method),
	}
}

// bagTrainingContest is that of steps with bags.
func bagTrainingContest(name string) contest {
	k := bagTraining(name)
	return contest{
		title:  "Training of bags with " + name + ": sums, their gradient, an update",
		kernel: k, unit: "id", units: perID,
		shapes: []shape{
			{vocab: 1000000, dim: 64, ids: 8190, seq: 10, dist: "uniform", cache: "cold"},
			{vocab: 1000000, dim: 64, ids: 8190, seq: 10, dist: "zipf", cache: "cold"},
			{vocab: 50257, dim: 768, ids: 8190, seq: 10, dist: "zipf", cache: "cold"},
			{vocab: 10000, dim: 64, ids: 8190, seq: 10, dist: "uniform", cache: "held"},
		},
		out: func(m *memory) []float32 { return m.table.Data }, chosen: true,
		near: 1e-4,
		team: bagStepper(k.method),
	}
}

// start makes m what each side starts from when its result is to be compared.
func (k *contest) start(m *memory) {
	switch {
	case k.kernel.method != nil:
		m.restart()
	case k.kernel.rotates:
		put(m.rows.Data, rowsPart)
	default:
		clear(k.out(m))
	}
}

// rotary works out angles as it goes; beside it, the kernel with those of a table.
func rotary() *kernel {
	k := *kernelOf("Rotate")
	k.name = "Rotary"
	with := k.ours
	k.peers = append([]peer{{name: "rowvec Rotate, angles from a table", run: func(m *memory, ids []int32) { must(with(m, ids)) }}}, k.peers...)
	k.ours = nil
	return &k
}

// unscaledScatterAdd is ScatterAdd where the factor is 1, for which vek32 needs one pass only.
func unscaledScatterAdd() *kernel {
	k := *kernelOf("ScatterAdd")
	k.unscaled = true
	k.peers = append([]peer{{name: "vek32 Add_Inplace", run: func(m *memory, ids []int32) {
		for i, id := range ids {
			vek32.Add_Inplace(m.table.Row(int(id)), m.rows.Row(i))
		}
	}}}, k.peers...)
	return &k
}

// training is a whole pass over a lookup.
func training() *kernel {
	return &kernel{
		name:   "Training",
		bytes:  func(s shape) int { return s.ids * (3*4 + 6*4*s.dim) },
		trains: true,
		naive: func(m *memory, ids []int32) {
			clear(m.grad.Data)
			naiveGather(m.rows.Data, m.table.Data, ids, m.table.Cols)
			naiveScatterAdd(m.grad.Data, ids, m.grad.Cols, 1, m.outGrad.Data)
			m.last = ids
		},
	}
}

func trainer(m *memory, workers int) (func(ids []int32) error, error) {
	e, err := lookup.FromMatrix(m.table, lookup.Workers(workers))
	return func(ids []int32) error {
		if err := e.ClearGradient(m.grad, lookup.Sequence(m.last)); err != nil {
			return err
		}
		m.last = ids
		in := lookup.Sequence(ids)
		if err := e.Forward(m.rows, in); err != nil {
			return err
		}
		return e.Backward(m.grad, in, m.outGrad)
	}, err
}

// bert is the input of BERT: tokens, their types and their positions, and a normalisation of the sum.
func bert() *kernel {
	return &kernel{
		name:     "BERT",
		bytes:    func(s shape) int { return s.ids * (2*8 + 2*4*s.dim) },
		norms:    true,
		segments: true,
		naive: func(m *memory, ids []int32) {
			naiveGather(m.rows.Data, m.table.Data, ids, m.table.Cols)
			for i := range ids {
				naiveAdd(m.rows.Row(i), m.segments.Row(m.types[i]))
				naiveAdd(m.rows.Row(i), m.positions.Row(i%m.positions.Rows))
			}
			naiveLayerNorm(m.rows.Data, m.rows.Data, m.affine.Row(0), m.affine.Row(1), normEpsilon)
		},
	}
}

func bertLayer(m *memory, workers int) (func(ids []int32) error, error) {
	tokens, err := lookup.FromMatrix(m.table, lookup.Workers(workers))
	if err != nil {
		return nil, err
	}
	types, err := lookup.FromMatrix(m.segments)
	if err != nil {
		return nil, err
	}
	positions, err := positional.LearnedFrom(m.positions)
	if err != nil {
		return nil, err
	}
	layer, err := lookup.NewLayer(tokens, positions, lookup.Segments(types), lookup.LayerNorm(normEpsilon))
	if err != nil {
		return nil, err
	}
	for _, p := range layer.Parameters() {
		switch p.Name {
		case "norm.weight":
			copy(p.Value.Data, m.affine.Row(0))
		case "norm.bias":
			copy(p.Value.Data, m.affine.Row(1))
		}
	}
	return func(ids []int32) error {
		return layer.Forward(m.rows, lookup.Batch(ids, m.positions.Rows).Types(m.types))
	}, nil
}

// sinusoidal makes all anew, also what an encoding makes once.
func sinusoidal() *kernel {
	return &kernel{
		name:  "Sinusoidal",
		bytes: func(s shape) int { return 4 * s.seq * s.dim },
		naive: func(m *memory, _ []int32) { naiveSinusoidal(m.positions.Data, m.positions.Cols) },
		ours: func(m *memory, _ []int32) error {
			s, err := positional.NewSinusoidal(0, m.positions.Cols)
			if err != nil {
				return err
			}
			return s.Fill(m.positions, 0)
		},
	}
}

// neighboursFound is how many neighbours a search finds for each query, as in peers.py.
const neighboursFound = 10

// nearestRows is a search by rows in their order; ids do not matter. It has the time of reading the table beside it, once for
// each 16 queries.
func nearestRows() *kernel {
	return &kernel{
		name:  "Nearest",
		bytes: func(s shape) int { return 4 * s.dim * (s.vocab + s.ids) },
		finds: true,
		naive: func(m *memory, _ []int32) { naiveNearest(m.found, m.table.Data, m.rows.Data, m.table.Cols) },
		peers: []peer{{name: streamed, yardstick: true, run: func(m *memory, _ []int32) {
			for range (m.rows.Rows + 15) / 16 {
				vek32.Sum(m.table.Data)
			}
		}}},
	}
}

var outputShapes = []shape{
	{vocab: 50257, dim: 768, ids: 1, dist: "uniform", cache: "cold"},
	{vocab: 50257, dim: 768, ids: 16, dist: "uniform", cache: "cold"},
}

func output(m *memory, workers int) (*lookup.Output, error) {
	e, err := lookup.FromMatrix(m.table, lookup.Workers(workers))
	if err != nil {
		return nil, err
	}
	return lookup.NewOutput(e)
}

// outputLogits is the output layer of a language model that shares the table of its input; ids do not matter.
func outputLogits() *kernel {
	return &kernel{
		name:   "Output",
		bytes:  func(s shape) int { return 4 * (s.dim*(s.vocab+s.ids) + s.vocab*s.ids) },
		logits: true,
		naive: func(m *memory, _ []int32) {
			for i := range m.rows.Rows {
				for j := range m.table.Rows {
					m.logits.Row(i)[j] = naiveDot(m.rows.Row(i), m.table.Row(j))
				}
			}
		},
		peers: []peer{
			{name: "vek32 Dot", run: func(m *memory, _ []int32) {
				for j := range m.table.Rows {
					for i := range m.rows.Rows {
						m.logits.Row(i)[j] = vek32.Dot(m.rows.Row(i), m.table.Row(j))
					}
				}
			}},
			{name: "gonum Gemv", run: func(m *memory, _ []int32) {
				for i := range m.rows.Rows {
					blas32.Gemv(blas.NoTrans, 1, blas32.General(m.table), vector(m.rows.Row(i)), 0, vector(m.logits.Row(i)))
				}
			}},
		},
	}
}

// outputBackward is its gradient: both are added to.
func outputBackward() *kernel {
	return &kernel{
		name:   "OutputBackward",
		bytes:  func(s shape) int { return 4 * (3*s.dim*(s.vocab+s.ids) + s.vocab*s.ids) },
		logits: true,
		trains: true,
		naive: func(m *memory, _ []int32) {
			for j := range m.table.Rows {
				for i := range m.rows.Rows {
					naiveAddScaled(m.outGrad.Row(i), m.logits.Row(i)[j], m.table.Row(j))
					naiveAddScaled(m.grad.Row(j), m.logits.Row(i)[j], m.rows.Row(i))
				}
			}
		},
		peers: []peer{
			{name: "gonum Axpy", run: func(m *memory, _ []int32) {
				for j := range m.table.Rows {
					for i := range m.rows.Rows {
						w := m.logits.Row(i)[j]
						blas32.Axpy(w, vector(m.table.Row(j)), vector(m.outGrad.Row(i)))
						blas32.Axpy(w, vector(m.rows.Row(i)), vector(m.grad.Row(j)))
					}
				}
			}},
		},
	}
}
