package golden_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

const (
	tokens  = 61 // of a vocabulary
	limit   = 80 // of positions
	padding = 2
	types   = 3 // segments

	screened = 30 // queries of which rows are compared in 16 bits first
)

// widths are the dims of layers: multiples of a vector and not.
var widths = []int{1, 6, 37, 64}

// input is a batch, with the weights of its tokens apart, which only bags have.
type input struct {
	lookup.Input
	bags    int
	weights []float32
}

// inputs returns a batch of each form, whose ids have different types.
func (r *run) inputs() []input {
	typ, at := ids[int](r, 48, types), ids[int](r, 48, limit)
	ragged := r.offsets(9, 48)
	list := []input{
		{Input: lookup.Sequence(ids[int64](r, 48, tokens)), bags: 1},
		{Input: lookup.Batch(ids[uint32](r, 48, tokens), 12).From(7), bags: 4},
		{Input: lookup.Ragged(ids[int32](r, 48, tokens), ragged), bags: 9},
		{Input: lookup.RaggedFrom(ids[uint](r, 48, tokens), ragged[:9]), bags: 9},
		{Input: lookup.Batch(ids[uint64](r, 48, tokens), 3).At(at).Types(typ), bags: 16},
		{Input: lookup.Sequence[int](nil), bags: 1},
	}
	for i := range list {
		list[i].weights = r.vector(list[i].Len())
		if i%2 == 1 {
			list[i].Input = list[i].Types(typ[:list[i].Len()])
		}
	}
	return list
}

func lookupPieces() []piece {
	all := []piece{
		{"lookup.NewEmbedding", initial},
		{"lookup.Embedding", embedding},
		{"lookup.Embedding, special", func(r *run) {
			r.pool = special
			embedding(r)
		}},
		{"lookup.MaxNorm", maxNorm},
		{"lookup.Output", output},
		{"lookup.Output, special", func(r *run) {
			r.pool = special
			output(r)
		}},
		{"lookup.Gradient", gradient},
		{"lookup.ClipNormDense", clipDense},
		{"lookup.Optimizer, dense", stepDense},
		{"lookup.Optimizer, bags", stepBags},
		{"lookup.Layer, steps", stepTrain},
		{"lookup.Save", save},
		{"lookup.LoadSome", loadSome},
	}
	for _, pooling := range []lookup.Pooling{lookup.Sum, lookup.Mean, lookup.Max} {
		name := "lookup.Bag, " + pooling.String()
		all = append(all, piece{name, func(r *run) { bag(r, pooling) }}, piece{name + ", special", func(r *run) {
			r.pool = special
			bag(r, pooling)
		}})
	}
	for _, positions := range []string{"none", "learned", "sinusoidal", "computed", "grid"} {
		for _, more := range []string{"", ", segments", ", norm", ", segments, norm, dropout"} {
			name := "lookup.Layer, " + positions + more
			all = append(all, piece{name, func(r *run) { layer(r, positions, more) }})
		}
	}
	for _, method := range methods {
		name := fmt.Sprintf("lookup.%T", method)
		all = append(all, piece{name[:7] + name[len("lookup.lookup."):], func(r *run) { optimizer(r, method) }})
	}
	for _, metric := range []lookup.Metric{lookup.Cosine, lookup.Dot} {
		name := "lookup.Similarity, " + metric.String()
		all = append(all, piece{name, func(r *run) { similarity(r, metric) }}, piece{name + ", special", func(r *run) {
			r.pool = special
			similarity(r, metric)
		}})
	}
	return all
}

// initial are the tables that come from seeds.
func initial(r *run) {
	for _, dim := range widths {
		for _, options := range [][]lookup.Option{
			nil, {lookup.Xavier(7), lookup.Padding(padding)}, {lookup.Normal(0.02, 1<<40)}, {lookup.Normal(1, 3), lookup.Scaled()},
		} {
			e := must(lookup.NewEmbedding(tokens, dim, append(options, lookup.Workers(r.workers))...))
			r.matrices(e.Weight())
			r.floats(e.Scale())
			r.ints(e.Vocab(), e.Dim())
			r.text(e.String())
		}
	}
}

// table returns an embedding over numbers of the piece.
func (r *run) table(dim int, options ...lookup.Option) *lookup.Embedding {
	return must(lookup.FromMatrix(r.matrix(tokens, dim), append(options, lookup.Workers(r.workers))...))
}

func embedding(r *run) {
	for _, dim := range widths {
		for _, options := range [][]lookup.Option{
			nil, {lookup.Scaled(), lookup.Padding(padding)}, {lookup.ScaleGradByFrequency(), lookup.Scaled()}, {lookup.Frozen()},
		} {
			e := r.table(dim, options...)
			r.text(e.String())
			id, ok := e.PaddingID()
			r.ints(id)
			r.bools(ok, e.Frozen())
			dense, sparse := r.matrix(tokens, dim), e.NewGradient()
			for i, in := range r.inputs() {
				dst, dOut := r.matrix(in.Len(), dim), r.matrix(in.Len(), dim)
				r.ok(e.Forward(dst, in.Input))
				r.ok(e.Backward(dense, in.Input, dOut))
				r.ok(e.BackwardSparse(sparse, in.Input, dOut))
				r.matrices(dst, dense)
				r.sparse(sparse)
				if i == 2 {
					sparse.Clear()
					r.ok(e.ClearGradient(dense, in.Input))
				}
			}
		}
	}
}

// sparse adds gradients.
func (r *run) sparse(gs ...*lookup.Gradient) {
	for _, g := range gs {
		r.ints(g.Len())
		r.ints(g.IDs()...)
		r.matrices(g.Values())
	}
}

func maxNorm(r *run) {
	for _, dim := range widths {
		for _, p := range []float64{1, 2, 2.5, math.Inf(1)} {
			e := r.table(dim, lookup.MaxNorm(1.1, p))
			for _, in := range r.inputs() {
				dst := r.matrix(in.Len(), dim)
				r.ok(e.Forward(dst, in.Input))
				r.matrices(dst)
			}
			r.matrices(e.Weight())
		}
	}
}

func bag(r *run, pooling lookup.Pooling) {
	for _, dim := range widths {
		for _, options := range [][]lookup.Option{nil, {lookup.Padding(padding)}, {lookup.ScaleGradByFrequency()}} {
			e := r.table(dim, options...)
			b, err := lookup.NewBag(e, pooling)
			if err != nil { // a maximum has no gradient by frequency
				continue
			}
			r.text(b.String())
			r.ints(int(b.Pooling()), b.Dim(), b.Tokens().Vocab())
			r.parameters(b.Parameters())
			g, weights := e.NewGradient(), r.vector(48)
			for i, in := range r.inputs() {
				dst, dOut := r.matrix(in.bags, dim), r.matrix(in.bags, dim)
				if pooling == lookup.Sum && i%2 == 0 {
					in.Input = in.Weighted(in.weights)
				}
				r.ok(b.Forward(dst, in.Input))
				r.ok(b.BackwardSparse(g, in.Input, dOut))
				if pooling == lookup.Sum {
					r.ok(b.BackwardWeights(weights[:in.Len()], in.Input, dOut))
				}
				r.matrices(dst)
				r.sparse(g)
				r.floats(weights...)
			}
		}
	}
}

// parameters adds names and values.
func (r *run) parameters(ps []lookup.Parameter) {
	for _, p := range ps {
		r.text(p.Name)
		r.matrices(p.Value)
	}
}

func output(r *run) {
	for _, dim := range widths {
		e := r.table(dim, lookup.Scaled(), lookup.Padding(padding))
		o := must(lookup.NewOutput(e))
		r.text(o.String())
		h, logits := r.matrix(9, dim), r.matrix(9, tokens)
		dH, grad, sparse := r.matrix(9, dim), r.matrix(tokens, dim), e.NewGradient()
		r.ok(o.Forward(logits, h))
		r.ok(o.Backward(dH, grad, r.matrix(9, tokens), h))
		r.matrices(logits, dH, grad)
		for _, in := range r.inputs() {
			n := in.Len()
			logits := r.matrix(9, n)
			r.ok(o.ForwardSampled(logits, h, in.Input))
			r.ok(o.BackwardSampled(dH, grad, in.Input, r.matrix(9, n), h))
			r.ok(o.BackwardSampledSparse(dH, sparse, in.Input, r.matrix(9, n), h))
			r.matrices(logits, dH, grad)
			r.sparse(sparse)
		}
	}
}

// layer is one with all that more names, forward and backward, in training and not.
func layer(r *run, positions, more string) {
	for i, dim := range []int{4, 36, 64} {
		var options []lookup.LayerOption
		e := r.table(dim, [][]lookup.Option{{lookup.Padding(padding)}, {lookup.Scaled()}, {lookup.Frozen()}}[i]...)
		if more == ", segments" || more == ", segments, norm, dropout" {
			rows := must(lookup.FromMatrix(r.matrix(types, dim), [][]lookup.Option{{lookup.Padding(0)}, nil, {lookup.Frozen()}}[i]...))
			options = append(options, lookup.Segments(rows))
		}
		if more == ", norm" || more == ", segments, norm, dropout" {
			options = append(options, lookup.LayerNorm(1e-5))
		}
		if more == ", segments, norm, dropout" || i == 2 {
			options = append(options, lookup.Dropout(0.2, 9))
		}
		var p lookup.Positions
		switch positions {
		case "learned":
			p = must(positional.LearnedFrom(r.matrix(limit, dim)))
		case "sinusoidal":
			p = must(positional.NewSinusoidal(limit, dim))
		case "computed":
			p = must(positional.NewSinusoidal(limit/4, dim))
		case "grid":
			p = must(positional.NewGrid(8, 10, dim))
		}
		l := must(lookup.NewLayer(e, p, options...))
		for _, p := range l.Parameters() {
			if p.Value.Rows == 1 { // of the norm
				copy(p.Value.Data, r.vector(dim))
			}
		}
		r.text(l.String())
		r.bools(l.Positions() == nil, l.Segments() == nil)
		r.ints(l.Dim(), l.Tokens().Dim())
		dense, sparse := l.NewGradients(), l.NewSparseGradients()
		for step, in := range r.inputs() {
			dst, dOut := r.matrix(in.Len(), dim), r.matrix(in.Len(), dim)
			r.ok(l.Forward(dst, in.Input))
			r.matrices(dst)
			r.ok(l.ForwardTrain(dst, in.Input, uint64(step)))
			r.matrices(dst)
			r.ok(l.Backward(dense, in.Input, dOut))
			r.ok(l.BackwardTrain(dense, in.Input, dOut, uint64(step)))
			r.ok(l.BackwardSparse(sparse, in.Input, dOut))
			r.ok(l.BackwardSparseTrain(sparse, in.Input, dOut, uint64(step)))
			r.matrices(dense...)
			r.sparse(sparse...)
			if step == 3 {
				r.ok(l.ClearGradients(dense, in.Input))
			}
		}
		mask := l.Mask(5)
		r.doubles(mask.P)
		r.ints(int(mask.Seed), int(mask.Step))
		r.parameters(l.Parameters())
		optimizers := must(l.NewOptimizers(lookup.Adam{}))
		for k, o := range optimizers {
			r.ok(o.Step(sparse[k]))
		}
		r.parameters(l.Parameters())
	}
}

// methods have every number other than what it stands for.
var methods = []lookup.Method{
	lookup.SGD{Rate: 0.1, WeightDecay: 0.01},
	lookup.Adagrad{Rate: 0.1, RateDecay: 0.3, Initial: 0.2, Epsilon: 1e-7},
	lookup.RowAdagrad{Rate: 0.1, RateDecay: 0.3, Initial: 0.2, Epsilon: 1e-7},
	lookup.Adam{Rate: 0.01, Beta1: 0.8, Beta2: 0.95, Epsilon: 1e-6},
	lookup.AdamW{Rate: 0.01, Beta1: 0.8, Beta2: 0.95, Epsilon: 1e-6, WeightDecay: 0.1},
}

// stepTrain takes steps of layers that have everything, with dropout and without.
func stepTrain(r *run) {
	for _, dim := range widths {
		for _, p := range []float64{0, 0.2} {
			for _, method := range methods {
				e := r.table(dim, lookup.Padding(padding))
				l := must(lookup.NewLayer(e, must(positional.LearnedFrom(r.matrix(limit, dim))),
					lookup.Segments(must(lookup.FromMatrix(r.matrix(types, dim)))), lookup.LayerNorm(1e-5), lookup.Dropout(p, 9)))
				optimizers := must(l.NewOptimizers(method))
				for step, in := range r.inputs() {
					r.ok(l.StepTrain(optimizers, in.Input, r.matrix(in.Len(), dim), uint64(step)))
				}
				r.parameters(l.Parameters())
				for _, o := range optimizers {
					r.parameters(o.State())
				}
			}
		}
	}
}

// stepBags takes steps of bags of every kind.
func stepBags(r *run) {
	for _, dim := range widths {
		for _, options := range [][]lookup.Option{{lookup.Padding(padding)}, {lookup.ScaleGradByFrequency()}} {
			for _, pooling := range []lookup.Pooling{lookup.Sum, lookup.Mean, lookup.Max} {
				e := r.table(dim, options...)
				b, err := lookup.NewBag(e, pooling)
				if err != nil { // a maximum has no gradient by frequency
					continue
				}
				for _, method := range methods {
					o := must(e.NewOptimizer(method))
					for i, in := range r.inputs() {
						if pooling == lookup.Sum && i%2 == 0 {
							in.Input = in.Weighted(in.weights)
						}
						r.ok(o.StepBags(b, in.Input, r.matrix(in.bags, dim)))
					}
					r.parameters(e.Parameters())
					r.parameters(o.State())
				}
			}
		}
	}
}

// optimizer takes steps of gradients and of batches in turn, and goes on with the state of another.
func optimizer(r *run, method lookup.Method) {
	for _, dim := range widths {
		for _, options := range [][]lookup.Option{{lookup.Padding(padding)}, {lookup.Scaled()}} {
			e := r.table(dim, options...)
			o, g := must(e.NewOptimizer(method)), e.NewGradient()
			for i, in := range r.inputs() {
				dOut := r.matrix(in.Len(), dim)
				if i%2 == 0 {
					g.Clear()
					r.ok(e.BackwardSparse(g, in.Input, dOut))
					r.ok(o.Step(g))
				} else {
					r.ok(o.StepBatch(e, in.Input, dOut))
				}
				r.parameters(e.Parameters())
				r.parameters(o.State())
			}
			other := must(lookup.NewOptimizer(e.Parameters()[0], method))
			for i, s := range other.State() {
				copy(s.Value.Data, o.State()[i].Value.Data)
			}
			r.ok(other.SetSteps(o.Steps() + 1000))
			r.ok(other.SetRate(o.Rate() / 3))
			r.ok(other.Step(g))
			r.parameters(other.State())
			r.matrices(e.Weight())
			r.text(other.String())
		}
	}
}

// clipDense clips matrices, the first of which has something between its rows.
func clipDense(r *run) {
	for _, dim := range widths {
		wide, bias := r.matrix(tokens, dim+1), r.matrix(1, dim)
		narrow := wide
		narrow.Cols = dim
		for _, most := range []float64{1e6, 2.5} {
			r.doubles(must(lookup.ClipNormDense(most, narrow, bias)))
			r.matrices(wide, bias)
		}
	}
}

// stepDense takes steps with dense gradients, of batches and of all rows.
func stepDense(r *run) {
	for _, dim := range widths {
		for _, method := range methods {
			e := r.table(dim)
			o, dense := must(e.NewOptimizer(method)), must(rowvec.NewMatrix(tokens, dim))
			for _, in := range r.inputs()[:2] {
				r.ok(e.Backward(dense, in.Input, r.matrix(in.Len(), dim)))
				r.ok(o.StepDense(dense))
			}
			r.ok(o.StepDense(r.matrix(tokens, dim)))
			r.parameters(e.Parameters())
			r.parameters(o.State())
		}
	}
}

func gradient(r *run) {
	for _, dim := range widths {
		a, b := must(lookup.NewGradient(tokens, dim)), must(lookup.NewGradient(tokens, dim))
		for range 3 {
			r.ok(lookup.AddRows(a, ids[uint32](r, 30, tokens), 0.3, r.matrix(30, dim)))
			r.ok(lookup.AddRows(b, ids[int](r, 30, tokens), 1, r.matrix(30, dim)))
			r.sparse(a, b)
		}
		r.doubles(a.Norm(), lookup.Norm(a, b))
		norm := must(lookup.ClipNorm(2.5, a, b))
		r.doubles(norm)
		r.sparse(a, b)
		a.Scale(0.7)
		r.text(a.String())
		dense := r.matrix(tokens, dim)
		r.ok(a.AddTo(dense))
		r.matrices(dense)
		r.doubles(must(lookup.NormDense(dense, dense)))
		r.ok(b.SetDense(dense))
		r.sparse(b)
		b.CheckFinite(true)
		rows := r.matrix(2, dim)
		rows.Row(1)[dim-1] = float32(math.Inf(1))
		err := lookup.AddRows(b, []int{5, 6}, 1, rows)
		r.text(err.Error())
		bad := err.(*lookup.NotFiniteError)
		r.ints(bad.Row, bad.Col)
		r.floats(bad.Value)
		r.text(bad.Op)
		r.sparse(b)
	}
}

func similarity(r *run, metric lookup.Metric) {
	for _, dim := range widths {
		e := r.table(dim, lookup.Padding(padding))
		s := must(lookup.NewSimilarity(e, metric))
		r.text(s.String())
		r.ints(int(s.Metric()), s.Tokens().Vocab())
		search := func(queries int, search func(dst *lookup.Neighbours) error) {
			dst := must(lookup.NewNeighbours(queries, 7))
			r.ok(search(dst))
			r.ints(dst.K)
			r.ints(dst.IDs...)
			r.floats(dst.Scores...)
			found, _ := dst.Of(queries - 1)
			r.ints(len(found))
		}
		many := r.matrix(screened, dim)
		search(screened, func(dst *lookup.Neighbours) error { return s.Nearest(dst, many) })
		queries := r.matrix(9, dim)
		search(9, func(dst *lookup.Neighbours) error { return s.Nearest(dst, queries) })
		in := lookup.Batch(ids[int](r, 18, tokens), 2)
		search(9, func(dst *lookup.Neighbours) error { return s.NearestExcept(dst, queries, in) })
		search(18, func(dst *lookup.Neighbours) error { return s.NearestTo(dst, in) })
		rowvec.Scale(e.Weight().Row(3), 3)
		s.Refresh()
		r.floats(must(s.Between(3, 4)), must(s.Between(padding, 3)))
		search(18, func(dst *lookup.Neighbours) error { return s.NearestTo(dst, in) })
		if metric == lookup.Cosine {
			in := lookup.Batch(ids[uint32](r, 18, tokens), 3)
			search(6, func(dst *lookup.Neighbours) error { return s.Analogy(dst, in) })
		}
	}
}

// save writes a file, whose bytes count, and reads it back.
func save(r *run) {
	r.pool = special
	path := filepath.Join(r.t.TempDir(), "golden.safetensors")
	saved := []lookup.Parameter{{Name: "a", Value: r.matrix(5, 7)}, {Name: "b", Value: r.matrix(1, 100), Vector: true}}
	r.ok(lookup.Save(path, saved, map[string]string{"format": "pt"}))
	r.text(string(must(os.ReadFile(path))))
	loaded := []lookup.Parameter{{Name: "a", Value: r.matrix(5, 7)}, {Name: "b", Value: r.matrix(1, 100)}}
	metadata := must(lookup.Load(path, loaded))
	r.text(metadata["format"] + metadata[lookup.ChecksumKey])
	r.parameters(loaded)
	_, err := lookup.Load(path, loaded[:1])
	r.text(err.(*lookup.FormatError).Problem)
}

// loadSome reads some of a file, and what it says of all.
func loadSome(r *run) {
	r.pool = special
	path := filepath.Join(r.t.TempDir(), "golden.safetensors")
	saved := []lookup.Parameter{{Name: "a", Value: r.matrix(5, 7)}, {Name: "b", Value: r.matrix(1, 100), Vector: true}}
	r.ok(lookup.Save(path, saved, map[string]string{"format": "pt"}))
	tensors, metadata, err := lookup.Tensors(path)
	r.ok(err)
	for _, t := range append(tensors, lookup.Tensor{}) {
		r.text(fmt.Sprint(t.Name, t.DType, t.Shape, metadata["format"]))
	}
	loaded := []lookup.Parameter{{Name: "b", Value: r.matrix(1, 100)}}
	metadata = must(lookup.LoadSome(path, loaded))
	r.text(metadata["format"])
	r.parameters(loaded)
}
