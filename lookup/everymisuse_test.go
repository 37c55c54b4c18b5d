package lookup_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/misuse"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// TestEveryMisuse calls every function wrongly in every way that package misuse knows: see testdata/misuse.txt for what
// comes of it. The flag -update writes that file anew.
func TestEveryMisuse(t *testing.T) {
	calls := map[string]func() *misuse.Call{}
	addConstructors(calls)
	addFiles(t, calls)
	addPasses[int64](calls, "")
	addPasses[uint32](calls, "/uint32")
	addSearches(calls)
	addOptimizers(calls)
	if isatest.Few() {
		misuse.Run(t, "lookup.", calls, 3, 7)
	} else {
		misuse.Run(t, "lookup.", calls, 0, 1)
	}
}

// filled returns a matrix with a gap behind each row, whose elements are all different.
func filled(rows, cols int) rowvec.Matrix {
	return rowvec.Matrix{Rows: rows, Cols: cols, Stride: cols + 1, Data: numbered(rows * (cols + 1))}
}

func numbered(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i) + 0.5
	}
	return x
}

func arg(name string, at any) misuse.Arg { return misuse.Arg{Name: name, At: at} }

func addConstructors(calls map[string]func() *misuse.Call) {
	calls["NewEmbedding"] = func() *misuse.Call {
		vocab, dim, padding, workers, std, norm, p := 7, 5, 3, 2, float32(0.02), 2.0, 2.0
		return &misuse.Call{Args: []misuse.Arg{arg("vocab", &vocab), arg("dim", &dim), arg("padding", &padding),
			arg("workers", &workers), arg("std", &std), arg("max", &norm), arg("p", &p)}, Do: func() error {
			return misuse.Made(lookup.NewEmbedding(vocab, dim, nil, lookup.Padding(padding), lookup.Workers(workers),
				lookup.Normal(std, 1), lookup.MaxNorm(norm, p)))
		}}
	}
	calls["FromMatrix"] = func() *misuse.Call {
		weight, padding := filled(7, 5), 3
		var option lookup.Option
		return &misuse.Call{Args: []misuse.Arg{arg("weight", &weight), arg("padding", &padding)}, Do: func() error {
			return misuse.Made(lookup.FromMatrix(weight, lookup.Padding(padding), option))
		}, Also: []misuse.Spoil{
			{Name: "Xavier", Do: func() { option = lookup.Xavier(1) }}, {Name: "Normal", Do: func() { option = lookup.Normal(1, 1) }},
		}}
	}
	calls["NewBag"] = func() *misuse.Call {
		tokens, pooling := must(lookup.FromMatrix(filled(7, 5))), lookup.Max
		return &misuse.Call{Args: []misuse.Arg{arg("tokens", &tokens), {Name: "pooling", At: &pooling, Kind: "constant"}},
			Do: func() error { return misuse.Made(lookup.NewBag(tokens, pooling)) }, Also: []misuse.Spoil{
				{Name: "tokens are Scaled", Do: func() { tokens = must(lookup.FromMatrix(filled(7, 5), lookup.Scaled())) }},
				{Name: "tokens ScaleGradByFrequency", Do: func() {
					tokens = must(lookup.FromMatrix(filled(7, 5), lookup.ScaleGradByFrequency()))
				}},
			}}
	}
	calls["NewOutput"] = func() *misuse.Call {
		tokens := must(lookup.FromMatrix(filled(7, 5)))
		return &misuse.Call{Args: []misuse.Arg{arg("tokens", &tokens)}, Do: func() error { return misuse.Made(lookup.NewOutput(tokens)) }}
	}
	calls["NewSimilarity"] = func() *misuse.Call {
		tokens, metric := must(lookup.FromMatrix(filled(7, 5))), lookup.Dot
		return &misuse.Call{Args: []misuse.Arg{arg("tokens", &tokens), {Name: "metric", At: &metric, Kind: "constant"}},
			Do: func() error { return misuse.Made(lookup.NewSimilarity(tokens, metric)) }}
	}
	calls["NewNeighbours"] = func() *misuse.Call {
		queries, k := 3, 2
		return &misuse.Call{Args: []misuse.Arg{arg("queries", &queries), {Name: "k", At: &k}}, Do: func() error {
			return misuse.Made(lookup.NewNeighbours(queries, k))
		}}
	}
	calls["NewGradient"] = func() *misuse.Call {
		rows, cols := 3, 2
		return &misuse.Call{Args: []misuse.Arg{arg("rows", &rows), arg("cols", &cols)}, Do: func() error {
			return misuse.Made(lookup.NewGradient(rows, cols))
		}}
	}
	calls["NewLayer"] = func() *misuse.Call {
		tokens, segments := must(lookup.FromMatrix(filled(7, 5))), must(lookup.FromMatrix(filled(3, 5)))
		var positions lookup.Positions = must(positional.LearnedFrom(filled(6, 5)))
		p, epsilon := 0.5, float32(1e-12)
		odd := func(name string, change func(o *oddPositions)) misuse.Spoil {
			return misuse.Spoil{Name: "positions: " + name, Do: func() {
				o := oddPositions{Positions: positions, dim: 5, limit: 6, table: positions.Table(), trainable: true}
				change(&o)
				positions = o
			}}
		}
		segment := func(name string, option lookup.Option) misuse.Spoil {
			return misuse.Spoil{Name: "segments are " + name, Do: func() { segments = must(lookup.FromMatrix(filled(3, 5), option)) }}
		}
		return &misuse.Call{Args: []misuse.Arg{arg("tokens", &tokens), arg("segments", &segments), arg("positions", &positions),
			arg("p", &p), arg("epsilon", &epsilon)}, Do: func() error {
			return misuse.Made(lookup.NewLayer(tokens, positions, nil, lookup.Segments(segments), lookup.Dropout(p, 1), lookup.LayerNorm(epsilon)))
		}, Also: []misuse.Spoil{
			{Name: "positions=(*Learned)(nil)", Do: func() { positions = (*positional.Learned)(nil) }},
			{Name: "segments' dim", Do: func() { segments = must(lookup.FromMatrix(filled(3, 4))) }},
			segment("Scaled", lookup.Scaled()), segment("MaxNorm", lookup.MaxNorm(1, 2)),
			segment("ScaleGradByFrequency", lookup.ScaleGradByFrequency()),
			odd("dim", func(o *oddPositions) { o.dim = 4 }),
			odd("limit", func(o *oddPositions) { o.limit = 7 }),
			odd("negative limit", func(o *oddPositions) { o.limit, o.trainable = -1, false }),
			odd("table's columns", func(o *oddPositions) { o.table.Cols = 4 }),
			odd("table's rows", func(o *oddPositions) { o.table.Rows = 5 }),
			odd("table's data", func(o *oddPositions) { o.table.Data = nil }),
			odd("table's negative rows", func(o *oddPositions) { o.table.Rows = -1 }),
		}}
	}
}

// oddPositions say of themselves whatever they like.
type oddPositions struct {
	lookup.Positions
	dim, limit int
	table      rowvec.Matrix
	trainable  bool
}

func (o oddPositions) Dim() int             { return o.dim }
func (o oddPositions) Limit() int           { return o.limit }
func (o oddPositions) Table() rowvec.Matrix { return o.table }
func (o oddPositions) Trainable() bool      { return o.trainable }

func addFiles(t *testing.T, calls map[string]func() *misuse.Call) {
	good := filepath.Join(t.TempDir(), "good")
	tensors := func() (a, b rowvec.Matrix) { return filled(3, 4), filled(2, 2) }
	calls["Save"] = func() *misuse.Call {
		a, b := tensors()
		names, metadata := []string{"a", "b"}, map[string]string{}
		return &misuse.Call{Args: []misuse.Arg{arg("a", &a), {Name: "b", At: &b, Kind: "table"}}, Do: func() error {
			return named(lookup.Save(good, []lookup.Parameter{{Name: names[0], Value: a}, {Name: names[1], Value: b}}, metadata))
		}, Also: []misuse.Spoil{
			{Name: "one name twice", Do: func() { names[1] = "a" }},
			{Name: "no name for a tensor", Do: func() { names[1] = "__metadata__" }},
			{Name: "a name that is no UTF-8", Do: func() { names[1] = "\xff" }},
			{Name: "metadata that are no UTF-8", Do: func() { metadata["key"] = "\xff" }},
			{Name: "a key that is taken", Do: func() { metadata[lookup.ChecksumKey] = "" }},
		}}
	}
	load := func(load func(path string, tensors []lookup.Parameter) (map[string]string, error)) func() *misuse.Call {
		return func() *misuse.Call {
			a, b := tensors()
			path, nameOfB := good, "b"
			if err := lookup.Save(path, []lookup.Parameter{{Name: "a", Value: a}, {Name: "b", Value: b}}, nil); err != nil {
				t.Fatal(err)
			}
			return &misuse.Call{Args: []misuse.Arg{arg("a", &a), {Name: "b", At: &b, Kind: "table"}}, Do: func() error {
				return named(second(load(path, []lookup.Parameter{{Name: "a", Value: a}, {Name: nameOfB, Value: b}})))
			}, Also: []misuse.Spoil{
				{Name: "one name twice", Do: func() { nameOfB = "a" }},
				{Name: "another name", Do: func() { nameOfB = "c" }},
			}}
		}
	}
	calls["Load"], calls["LoadSome"] = load(lookup.Load), load(lookup.LoadSome)
	calls["Tensors"] = func() *misuse.Call {
		path := good
		if err := lookup.Save(path, nil, nil); err != nil {
			t.Fatal(err)
		}
		return &misuse.Call{Do: func() error {
			_, _, err := lookup.Tensors(path)
			return named(err)
		}, Also: []misuse.Spoil{
			{Name: "what is no safetensors file", Do: func() {
				path += "not"
				if err := os.WriteFile(path, []byte("nothing"), 0o600); err != nil {
					t.Fatal(err)
				}
			}},
		}}
	}
}

// named takes the directory out of an error about a file.
func named(err error) error {
	if format, ok := err.(*lookup.FormatError); ok {
		return &lookup.FormatError{Path: filepath.Base(format.Path), Problem: format.Problem}
	}
	return err
}

// addPasses adds what takes an Input, with ids of a type. Other types than the first have nothing but their ids spoilt.
func addPasses[I rowvec.ID](calls map[string]func() *misuse.Call, suffix string) {
	const dim = 5
	type args struct {
		table, positions, segments, dst, h, logits, all rowvec.Matrix // the last: one logit for each token of the vocabulary
		grads                                           []rowvec.Matrix
		grad                                            *lookup.Gradient
		sparse                                          []*lookup.Gradient
		ids                                             []I
		at, types, offsets                              []int
		weights, dWeights                               []float32
		seq, start                                      int
		step                                            uint64
	}
	arguments := func(name string, call func(a *args) *misuse.Call) {
		calls[name+suffix] = func() *misuse.Call {
			a := &args{
				table: filled(7, dim), positions: filled(6, dim), segments: filled(3, dim), dst: filled(4, dim), h: filled(2, dim),
				logits: filled(2, 4), all: filled(2, 7),
				grads: []rowvec.Matrix{filled(7, dim), filled(6, dim), filled(3, dim), filled(1, dim), filled(1, dim)},
				ids:   []I{6, 0, 3, 6}, at: []int{5, 0, 1, 5}, types: []int{2, 0, 1, 2}, offsets: []int{0, 1, 1, 4},
				weights: numbered(4), dWeights: numbered(4), seq: 2, start: 1, step: 3,
			}
			for _, g := range a.grads {
				a.sparse = append(a.sparse, must(lookup.NewGradient(g.Rows, dim)))
			}
			a.grad = a.sparse[0]
			c := call(a)
			if suffix != "" {
				ids := c.Args[:0]
				for _, arg := range c.Args {
					if arg.Kind == "ids" {
						ids = append(ids, arg)
					}
				}
				c.Args, c.Also = ids, nil
			}
			grads := slices.Clone(a.sparse)
			c.Kept = func() []any {
				var all []any
				for _, g := range grads {
					all = append(all, g.IDs(), g.Values())
				}
				return all
			}
			return c
		}
	}
	ids := func(a *args) misuse.Arg { return misuse.Arg{Name: "ids", At: &a.ids, Kind: "ids"} }
	table := func(name string, m *rowvec.Matrix) misuse.Arg { return misuse.Arg{Name: name, At: m, Kind: "table"} }
	batch := func(a *args) lookup.Input { return lookup.Batch(a.ids, a.seq).From(a.start) }
	tokens := func(a *args) *lookup.Embedding { return must(lookup.FromMatrix(a.table)) }
	layer := func(a *args) *lookup.Layer {
		return must(lookup.NewLayer(tokens(a), must(positional.LearnedFrom(a.positions)),
			lookup.Segments(must(lookup.FromMatrix(a.segments))), lookup.Dropout(0.5, 1), lookup.LayerNorm(1e-12)))
	}
	// Every call is made with each kind of input: a batch, positions and types of their own, and ragged. Of the last two, the
	// input alone is got wrong.
	toOverlapWith := func(c *misuse.Call) {
		for i := range c.Args {
			c.Args[i].Kind = "table"
		}
		c.Also = nil
	}
	inputs := func(name string, call func(a *args, input func() lookup.Input) *misuse.Call) {
		arguments(name, func(a *args) *misuse.Call {
			c := call(a, func() lookup.Input { return batch(a) })
			c.Args = append(c.Args, ids(a), arg("seq", &a.seq), arg("start", &a.start))
			return c
		})
		if suffix != "" {
			return
		}
		arguments(name+"/at", func(a *args) *misuse.Call {
			c := call(a, func() lookup.Input { return lookup.Sequence(a.ids).At(a.at).Types(a.types) })
			toOverlapWith(c)
			c.Args = append(c.Args, ids(a), misuse.Arg{Name: "at", At: &a.at, Kind: "ids"}, misuse.Arg{Name: "types", At: &a.types, Kind: "ids"})
			return c
		})
		arguments(name+"/ragged", func(a *args) *misuse.Call {
			c := call(a, func() lookup.Input { return lookup.Ragged(a.ids, a.offsets) })
			toOverlapWith(c)
			c.Args = append(c.Args, ids(a), misuse.Arg{Name: "offsets", At: &a.offsets, Kind: "offsets"})
			return c
		})
	}

	inputs("Embedding.Forward", func(a *args, in func() lookup.Input) *misuse.Call {
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &a.dst), table("table", &a.table)}, Do: func() error {
			return tokens(a).Forward(a.dst, in())
		}}
	})
	inputs("Embedding.Backward", func(a *args, in func() lookup.Input) *misuse.Call {
		return &misuse.Call{Args: []misuse.Arg{arg("grad", &a.grads[0]), arg("dOut", &a.dst)}, Do: func() error {
			return tokens(a).Backward(a.grads[0], in(), a.dst)
		}}
	})
	inputs("Embedding.BackwardSparse", func(a *args, in func() lookup.Input) *misuse.Call {
		return &misuse.Call{Args: []misuse.Arg{arg("grad", &a.grad), arg("dOut", &a.dst)}, Do: func() error {
			return tokens(a).BackwardSparse(a.grad, in(), a.dst)
		}, Also: []misuse.Spoil{
			{Name: "grad of other rows", Do: func() { a.grad = must(lookup.NewGradient(8, dim)) }},
			{Name: "grad of other columns", Do: func() { a.grad = must(lookup.NewGradient(7, dim+1)) }},
			{Name: "grad={}", Do: func() { a.grad = new(lookup.Gradient) }},
			{Name: "dOut is grad", Do: func() { a.dst = held(a.grad, 4) }},
		}}
	})
	inputs("Embedding.ClearGradient", func(a *args, in func() lookup.Input) *misuse.Call {
		return &misuse.Call{Args: []misuse.Arg{arg("grad", &a.grads[0])}, Do: func() error {
			return tokens(a).ClearGradient(a.grads[0], in())
		}}
	})
	inputs("Layer.Forward", func(a *args, in func() lookup.Input) *misuse.Call {
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &a.dst), table("table", &a.table), table("positions", &a.positions),
			table("segments", &a.segments)}, Do: func() error { return layer(a).Forward(a.dst, in()) }}
	})
	inputs("Layer.ForwardTrain", func(a *args, in func() lookup.Input) *misuse.Call {
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &a.dst), arg("step", &a.step)}, Do: func() error {
			return layer(a).ForwardTrain(a.dst, in(), a.step)
		}, Also: []misuse.Spoil{}}
	})
	list := func(a *args) []misuse.Arg {
		all := []misuse.Arg{arg("grads", &a.grads), arg("dOut", &a.dst)}
		for i := range a.grads {
			all = append(all, arg(fmt.Sprintf("grads[%d]", i), &a.grads[i]))
		}
		return all
	}
	inputs("Layer.Backward", func(a *args, in func() lookup.Input) *misuse.Call {
		return &misuse.Call{Args: list(a), Do: func() error { return layer(a).Backward(a.grads, in(), a.dst) }}
	})
	inputs("Layer.BackwardTrain", func(a *args, in func() lookup.Input) *misuse.Call {
		return &misuse.Call{Args: []misuse.Arg{arg("grads", &a.grads), arg("dOut", &a.dst), arg("step", &a.step)}, Do: func() error {
			return layer(a).BackwardTrain(a.grads, in(), a.dst, a.step)
		}}
	})
	inputs("Layer.ClearGradients", func(a *args, in func() lookup.Input) *misuse.Call {
		all := list(a)
		return &misuse.Call{Args: append(all[:1:1], all[2:]...), Do: func() error { return layer(a).ClearGradients(a.grads, in()) }}
	})
	sparse := func(a *args) *misuse.Call {
		c := &misuse.Call{Args: []misuse.Arg{arg("grads", &a.sparse), arg("dOut", &a.dst)}, Also: []misuse.Spoil{
			{Name: "one gradient twice", Do: func() { a.sparse = []*lookup.Gradient{a.sparse[0], a.sparse[1], a.sparse[2], a.sparse[3], a.sparse[3]} }},
			{Name: "dOut is grads[0]", Do: func() { a.dst = held(a.sparse[0], 4) }},
		}}
		a.sparse = append([]*lookup.Gradient(nil), a.sparse...)
		for i := range a.sparse {
			c.Args = append(c.Args, arg(fmt.Sprintf("grads[%d]", i), &a.sparse[i]))
		}
		return c
	}
	inputs("Layer.BackwardSparse", func(a *args, in func() lookup.Input) *misuse.Call {
		c := sparse(a)
		c.Do = func() error { return layer(a).BackwardSparse(a.sparse, in(), a.dst) }
		return c
	})
	inputs("Layer.BackwardSparseTrain", func(a *args, in func() lookup.Input) *misuse.Call {
		c := sparse(a)
		c.Args = append(c.Args, arg("step", &a.step))
		c.Do = func() error { return layer(a).BackwardSparseTrain(a.sparse, in(), a.dst, a.step) }
		return c
	})

	inputs("Layer.StepTrain", func(a *args, in func() lookup.Input) *misuse.Call {
		l := layer(a)
		optimizers := must(l.NewOptimizers(lookup.Adam{}))
		return &misuse.Call{Args: []misuse.Arg{arg("dOut", &a.dst), arg("step", &a.step)}, Do: func() error {
			return l.StepTrain(optimizers, in(), a.dst, a.step)
		}, Also: []misuse.Spoil{
			{Name: "optimizers=nil", Do: func() { optimizers = nil }},
			{Name: "optimizers-1", Do: func() { optimizers = optimizers[:4] }},
			{Name: "optimizers[2]=nil", Do: func() { optimizers[2] = nil }},
			{Name: "optimizers of another layer", Do: func() { optimizers = must(layer(a).NewOptimizers(lookup.Adam{})) }},
			{Name: "dOut is the table", Do: func() { a.dst.Data = a.table.Data }},
			{Name: "dOut is the state", Do: func() { a.dst.Data = optimizers[0].State()[1].Value.Data }},
		}}
	})

	bags := func(name string, call func(a *args) *misuse.Call) {
		arguments(name, func(a *args) *misuse.Call {
			a.dst = filled(3, dim)
			c := call(a)
			c.Args = append(c.Args, ids(a), misuse.Arg{Name: "offsets", At: &a.offsets, Kind: "offsets"}, arg("weights", &a.weights))
			return c
		})
	}
	weighted := func(a *args) lookup.Input { return lookup.Ragged(a.ids, a.offsets).Weighted(a.weights) }
	pooling := lookup.Sum
	bag := func(a *args) *lookup.Bag { return must(lookup.NewBag(tokens(a), pooling)) }
	mean := misuse.Spoil{Name: "weights for a mean", Do: func() { pooling = lookup.Mean }}
	bags("Bag.Forward", func(a *args) *misuse.Call {
		pooling = lookup.Sum
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &a.dst), table("table", &a.table)}, Also: []misuse.Spoil{mean}, Do: func() error {
			return bag(a).Forward(a.dst, weighted(a))
		}}
	})
	calls["Bag.Forward/from"] = func() *misuse.Call { // offsets without the last, so few that the kernel does the checks
		e, dst, ids, offsets := must(lookup.NewEmbedding(10, dim)), filled(3, dim), []int{1, 2, 3, 4}, []int{0, 2, 2}
		return &misuse.Call{Args: []misuse.Arg{arg("dst", &dst), arg("ids", &ids), {Name: "offsets", At: &offsets, Kind: "offsets"}},
			Do: func() error { return must(lookup.NewBag(e, lookup.Sum)).Forward(dst, lookup.RaggedFrom(ids, offsets)) }}
	}
	bags("Bag.BackwardSparse", func(a *args) *misuse.Call {
		pooling = lookup.Sum
		return &misuse.Call{Args: []misuse.Arg{arg("grad", &a.grad), arg("dOut", &a.dst)}, Do: func() error {
			return bag(a).BackwardSparse(a.grad, weighted(a), a.dst)
		}, Also: []misuse.Spoil{mean, {Name: "dOut is grad", Do: func() { a.dst = held(a.grad, 3) }}}}
	})
	bags("Optimizer.StepBags", func(a *args) *misuse.Call {
		pooling = lookup.Sum
		b := bag(a)
		o := must(b.Tokens().NewOptimizer(lookup.Adam{}))
		return &misuse.Call{Args: []misuse.Arg{arg("b", &b), arg("dOut", &a.dst)}, Do: func() error {
			if pooling != lookup.Sum {
				b = must(lookup.NewBag(b.Tokens(), pooling))
			}
			return o.StepBags(b, weighted(a), a.dst)
		}, Also: []misuse.Spoil{
			mean,
			{Name: "another table", Do: func() { b = must(lookup.NewBag(must(lookup.FromMatrix(filled(7, dim))), lookup.Sum)) }},
			{Name: "another shape", Do: func() { b = must(lookup.NewBag(must(lookup.FromMatrix(filled(8, dim))), lookup.Sum)) }},
			{Name: "b={}", Do: func() { b = new(lookup.Bag) }},
			{Name: "dOut is the table", Do: func() { a.dst.Data = a.table.Data }},
			{Name: "dOut is the state", Do: func() { a.dst.Data = o.State()[1].Value.Data }},
		}}
	})
	bags("Bag.BackwardWeights", func(a *args) *misuse.Call {
		pooling = lookup.Sum
		return &misuse.Call{Args: []misuse.Arg{arg("dWeights", &a.dWeights), arg("dOut", &a.dst), table("table", &a.table)},
			Also: []misuse.Spoil{mean}, Do: func() error { return bag(a).BackwardWeights(a.dWeights, weighted(a), a.dst) }}
	})

	output := func(a *args) *lookup.Output { return must(lookup.NewOutput(tokens(a))) }
	arguments("Output.ForwardSampled", func(a *args) *misuse.Call {
		return &misuse.Call{Args: []misuse.Arg{arg("logits", &a.logits), arg("h", &a.h), ids(a), table("table", &a.table)},
			Do: func() error { return output(a).ForwardSampled(a.logits, a.h, lookup.Sequence(a.ids)) }}
	})
	arguments("Output.BackwardSampled", func(a *args) *misuse.Call {
		dH := filled(2, dim)
		return &misuse.Call{Args: []misuse.Arg{arg("dH", &dH), arg("grad", &a.grads[0]), arg("dLogits", &a.logits), arg("h", &a.h),
			ids(a), table("table", &a.table)}, Do: func() error {
			return output(a).BackwardSampled(dH, a.grads[0], lookup.Sequence(a.ids), a.logits, a.h)
		}}
	})
	arguments("Output.BackwardSampledSparse", func(a *args) *misuse.Call {
		dH := filled(2, dim)
		return &misuse.Call{Args: []misuse.Arg{arg("dH", &dH), arg("grad", &a.grad), arg("dLogits", &a.logits), arg("h", &a.h),
			ids(a), table("table", &a.table)}, Do: func() error {
			return output(a).BackwardSampledSparse(dH, a.grad, lookup.Sequence(a.ids), a.logits, a.h)
		}, Also: []misuse.Spoil{{Name: "h is grad", Do: func() { a.h = held(a.grad, 2) }}, {Name: "dH is grad", Do: func() { dH = held(a.grad, 2) }}}}
	})
	if suffix == "" {
		arguments("Output.Forward", func(a *args) *misuse.Call {
			return &misuse.Call{Args: []misuse.Arg{arg("logits", &a.all), arg("h", &a.h), table("table", &a.table)}, Do: func() error {
				return output(a).Forward(a.all, a.h)
			}}
		})
		arguments("Output.Backward", func(a *args) *misuse.Call {
			dH := filled(2, dim)
			return &misuse.Call{Args: []misuse.Arg{arg("dH", &dH), arg("grad", &a.grads[0]), arg("dLogits", &a.all), arg("h", &a.h),
				table("table", &a.table)}, Do: func() error { return output(a).Backward(dH, a.grads[0], a.all, a.h) }}
		})
	}
	arguments("AddRows", func(a *args) *misuse.Call {
		return &misuse.Call{Args: []misuse.Arg{arg("g", &a.grad), ids(a), arg("rows", &a.dst)}, Do: func() error {
			return lookup.AddRows(a.grad, a.ids, 2, a.dst)
		}, Also: []misuse.Spoil{{Name: "g={}", Do: func() { a.grad = new(lookup.Gradient) }}, {Name: "rows is g", Do: func() { a.dst = held(a.grad, 4) }}}}
	})
	arguments("Optimizer.StepDense", func(a *args) *misuse.Call {
		o := must(tokens(a).NewOptimizer(lookup.Adam{}))
		return &misuse.Call{Args: []misuse.Arg{arg("grad", &a.grads[0])}, Do: func() error { return o.StepDense(a.grads[0]) },
			Also: []misuse.Spoil{
				{Name: "grad is the table", Do: func() { a.grads[0].Data = a.table.Data }},
				{Name: "grad is the state", Do: func() { a.grads[0] = o.State()[1].Value }},
			}}
	})
	arguments("Optimizer.StepBatch", func(a *args) *misuse.Call {
		e := tokens(a)
		o := must(e.NewOptimizer(lookup.Adam{}))
		return &misuse.Call{Args: []misuse.Arg{arg("e", &e), ids(a), arg("dOut", &a.dst), arg("seq", &a.seq)}, Do: func() error {
			return o.StepBatch(e, lookup.Batch(a.ids, a.seq), a.dst)
		}, Also: []misuse.Spoil{
			{Name: "another table", Do: func() { e = must(lookup.FromMatrix(filled(7, dim))) }},
			{Name: "another shape", Do: func() { e = must(lookup.FromMatrix(filled(8, dim))) }},
			{Name: "e={}", Do: func() { e = new(lookup.Embedding) }},
			{Name: "dOut is the table", Do: func() { a.dst.Data = a.table.Data }},
			{Name: "dOut is the state", Do: func() { a.dst.Data = o.State()[1].Value.Data }},
		}}
	})
}

// held returns the first rows of the memory of a gradient, which gets some.
func held(g *lookup.Gradient, rows int) rowvec.Matrix {
	dim := 5
	all := rowvec.Matrix{Rows: 7, Cols: dim, Stride: dim, Data: numbered(7 * dim)}
	for n := 7; ; n-- { // a gradient of one row has room for no more
		all.Rows = n
		ids := []int{0, 1, 2, 3, 4, 5, 6}[:n]
		if err := lookup.AddRows(g, ids, 1, all); err == nil {
			break
		}
	}
	values := g.Values()
	return rowvec.Matrix{Rows: rows, Cols: dim, Stride: dim, Data: values.Data}
}

func addSearches(calls map[string]func() *misuse.Call) {
	const dim = 5
	search := func(name string, queries int, call func(s *lookup.Similarity, dst **lookup.Neighbours) *misuse.Call) {
		calls[name] = func() *misuse.Call {
			weight := filled(7, dim)
			n := must(lookup.NewNeighbours(queries, 2))
			dst := n
			s := must(lookup.NewSimilarity(must(lookup.FromMatrix(weight)), lookup.Cosine))
			c := call(s, &dst)
			c.Args = append(c.Args, arg("dst", &dst), arg("dst.K", &n.K), arg("dst.IDs", &n.IDs), arg("dst.Scores", &n.Scores),
				misuse.Arg{Name: "table", At: &weight, Kind: "table", Skip: "overlap"})
			c.Also = append(c.Also, misuse.Spoil{Name: "dst.Scores is the table", Do: func() { n.Scores = weight.Data[:len(n.Scores)] }},
				misuse.Spoil{Name: "dst={}", Do: func() { dst = new(lookup.Neighbours) }})
			return c
		}
	}
	search("Similarity.Nearest", 2, func(s *lookup.Similarity, dst **lookup.Neighbours) *misuse.Call {
		queries := filled(2, dim)
		return &misuse.Call{Args: []misuse.Arg{arg("queries", &queries)}, Do: func() error { return s.Nearest(*dst, queries) }}
	})
	search("Similarity.NearestExcept", 2, func(s *lookup.Similarity, dst **lookup.Neighbours) *misuse.Call {
		queries, ids, seq := filled(2, dim), []int{6, 0, 3, 6}, 2
		in := func() lookup.Input { return lookup.Batch(ids, seq) }
		return &misuse.Call{Args: []misuse.Arg{arg("queries", &queries), {Name: "ids", At: &ids, Kind: "ids"}, arg("seq", &seq)},
			Do:   func() error { return s.NearestExcept(*dst, queries, in()) },
			Also: []misuse.Spoil{{Name: "except={}", Do: func() { in = func() lookup.Input { return lookup.Input{} } }}}}
	})
	search("Similarity.NearestTo", 4, func(s *lookup.Similarity, dst **lookup.Neighbours) *misuse.Call {
		ids := []int{6, 0, 3, 6}
		return &misuse.Call{Args: []misuse.Arg{{Name: "ids", At: &ids, Kind: "ids"}}, Do: func() error {
			return s.NearestTo(*dst, lookup.Sequence(ids))
		}}
	})
	calls["Similarity.Between"] = func() *misuse.Call {
		weight, id, other := filled(7, dim), 6, 2
		s := must(lookup.NewSimilarity(must(lookup.FromMatrix(weight)), lookup.Cosine))
		return &misuse.Call{Args: []misuse.Arg{arg("id", &id), arg("other", &other), {Name: "table", At: &weight, Kind: "table"}},
			Do: func() error { return misuse.Made(s.Between(id, other)) }}
	}
	search("Similarity.Analogy", 2, func(s *lookup.Similarity, dst **lookup.Neighbours) *misuse.Call {
		ids, seq := []int{6, 0, 3, 1, 2, 6}, 3
		return &misuse.Call{Args: []misuse.Arg{{Name: "ids", At: &ids, Kind: "ids"}, arg("seq", &seq)}, Do: func() error {
			return s.Analogy(*dst, lookup.Batch(ids, seq))
		}, Also: []misuse.Spoil{{Name: "metric=Dot", Do: func() { s = must(lookup.NewSimilarity(s.Tokens(), lookup.Dot)) }}}}
	})
}

func addOptimizers(calls map[string]func() *misuse.Call) {
	const dim = 5
	methods := func(name string, make func(table rowvec.Matrix, m lookup.Method) error) {
		method := func(kind string, fields func() ([]misuse.Arg, func() lookup.Method)) {
			calls[name+"/"+kind] = func() *misuse.Call {
				table := filled(7, dim)
				args, m := fields()
				return &misuse.Call{Args: append(args, misuse.Arg{Name: "table", At: &table, Kind: "table"}), Do: func() error { return make(table, m()) }}
			}
		}
		calls[name] = func() *misuse.Call {
			table := filled(7, dim)
			var m lookup.Method = lookup.Adam{}
			c := &misuse.Call{Args: []misuse.Arg{arg("table", &table), arg("m", &m)}, Do: func() error { return make(table, m) },
				Also: []misuse.Spoil{{Name: "m=(*Adam)(nil)", Do: func() { m = (*lookup.Adam)(nil) }}}}
			if name != "NewOptimizer" {
				c.Args[0].Kind = "table"
			}
			return c
		}
		if name != "NewOptimizer" { // all come to that
			return
		}
		method("SGD", func() ([]misuse.Arg, func() lookup.Method) {
			m := lookup.SGD{Rate: 0.1, WeightDecay: 0.1}
			return []misuse.Arg{arg("Rate", &m.Rate), arg("WeightDecay", &m.WeightDecay)}, func() lookup.Method { return m }
		})
		method("Adagrad", func() ([]misuse.Arg, func() lookup.Method) {
			m := lookup.Adagrad{Rate: 0.1}
			return []misuse.Arg{arg("Rate", &m.Rate), arg("RateDecay", &m.RateDecay), arg("Initial", &m.Initial), arg("Epsilon", &m.Epsilon)},
				func() lookup.Method { return &m }
		})
		method("AdamW", func() ([]misuse.Arg, func() lookup.Method) {
			m := lookup.AdamW{Rate: 0.1}
			return []misuse.Arg{arg("Rate", &m.Rate), arg("Beta1", &m.Beta1), arg("Beta2", &m.Beta2), arg("Epsilon", &m.Epsilon),
				arg("WeightDecay", &m.WeightDecay)}, func() lookup.Method { return m }
		})
	}
	methods("NewOptimizer", func(table rowvec.Matrix, m lookup.Method) error {
		return misuse.Made(lookup.NewOptimizer(lookup.Parameter{Name: "p", Value: table}, m))
	})
	methods("Embedding.NewOptimizer", func(table rowvec.Matrix, m lookup.Method) error {
		return misuse.Made(must(lookup.FromMatrix(table)).NewOptimizer(m))
	})
	methods("Layer.NewOptimizers", func(table rowvec.Matrix, m lookup.Method) error {
		return misuse.Made(must(lookup.NewLayer(must(lookup.FromMatrix(table)), nil)).NewOptimizers(m))
	})

	optimizer := func(name string, call func(o *lookup.Optimizer, table rowvec.Matrix) *misuse.Call) {
		calls["Optimizer."+name] = func() *misuse.Call {
			table := filled(7, dim)
			o := must(lookup.NewOptimizer(lookup.Parameter{Name: "p", Value: table}, lookup.Adam{Rate: 0.25}))
			c := call(o, table)
			c.Kept = func() []any { return []any{table, o.State()[0].Value, o.State()[1].Value, o.Rate(), o.Steps()} }
			return c
		}
	}
	optimizer("SetRate", func(o *lookup.Optimizer, table rowvec.Matrix) *misuse.Call {
		rate := 0.5
		return &misuse.Call{Args: []misuse.Arg{arg("rate", &rate)}, Do: func() error { return o.SetRate(rate) }}
	})
	optimizer("SetSteps", func(o *lookup.Optimizer, table rowvec.Matrix) *misuse.Call {
		steps := 5
		return &misuse.Call{Args: []misuse.Arg{arg("steps", &steps)}, Do: func() error { return o.SetSteps(steps) }}
	})
	optimizer("Step", func(o *lookup.Optimizer, table rowvec.Matrix) *misuse.Call {
		g := must(lookup.NewGradient(7, dim))
		held(g, 1)
		return &misuse.Call{Args: []misuse.Arg{arg("g", &g)}, Do: func() error { return o.Step(g) }, Also: []misuse.Spoil{
			{Name: "g of other rows", Do: func() { g = must(lookup.NewGradient(8, dim)) }},
			{Name: "g of other columns", Do: func() { g = must(lookup.NewGradient(7, 6)) }},
			{Name: "g={}", Do: func() { g = new(lookup.Gradient) }},
		}}
	})

	gradient := func(name string, call func(g *lookup.Gradient, dense *rowvec.Matrix) *misuse.Call) {
		calls["Gradient."+name] = func() *misuse.Call {
			g, dense := must(lookup.NewGradient(7, dim)), filled(7, dim)
			held(g, 1)
			c := call(g, &dense)
			c.Args = append(c.Args, arg("dense", &dense))
			c.Also = append(c.Also, misuse.Spoil{Name: "dense is the gradient", Do: func() {
				dense = held(g, 7)
			}})
			c.Kept = func() []any { return []any{g.IDs(), g.Values()} }
			return c
		}
	}
	gradient("AddTo", func(g *lookup.Gradient, dense *rowvec.Matrix) *misuse.Call {
		return &misuse.Call{Do: func() error { return g.AddTo(*dense) }}
	})
	gradient("SetDense", func(g *lookup.Gradient, dense *rowvec.Matrix) *misuse.Call {
		return &misuse.Call{Do: func() error { return g.SetDense(*dense) }}
	})
	calls["NormDense"] = func() *misuse.Call {
		first, second := filled(7, dim), filled(1, 3)
		return &misuse.Call{Args: []misuse.Arg{arg("first", &first), arg("second", &second)}, Do: func() error {
			_, err := lookup.NormDense(first, second)
			return err
		}}
	}
	calls["ClipNormDense"] = func() *misuse.Call {
		first, second, most := filled(7, dim), filled(1, 3), 1.0
		return &misuse.Call{Args: []misuse.Arg{arg("maxNorm", &most), arg("first", &first), arg("second", &second)}, Do: func() error {
			_, err := lookup.ClipNormDense(most, first, second)
			return err
		}, Also: []misuse.Spoil{{Name: "one gradient twice", Do: func() { second = first }}, {Name: "maxNorm=-0", Do: func() { most = math.Copysign(0, -1) }}}}
	}
	calls["ClipNorm"] = func() *misuse.Call {
		g, h, most := must(lookup.NewGradient(7, dim)), must(lookup.NewGradient(7, dim)), 1.0
		held(g, 1)
		kept := g
		return &misuse.Call{Args: []misuse.Arg{arg("maxNorm", &most), arg("g", &g)}, Do: func() error {
			return second(lookup.ClipNorm(most, h, g))
		}, Kept: func() []any { return []any{kept.Values()} }, Also: []misuse.Spoil{
			{Name: "one gradient twice", Do: func() { h = g }}, {Name: "maxNorm=-0", Do: func() { most = math.Copysign(0, -1) }},
		}}
	}
}

// TestOverlapOfWhatIsWritten: what a call writes to beside its destination shares no memory with what it reads.
func TestOverlapOfWhatIsWritten(t *testing.T) {
	const dim = 4
	g := must(lookup.NewGradient(3, dim))
	if err := lookup.AddRows(g, []int{0, 1, 2}, 1, filled(3, dim)); err != nil {
		t.Fatal(err)
	}
	o := must(lookup.NewOptimizer(lookup.Parameter{Value: g.Values()}, lookup.SGD{}))
	before := slices.Clone(g.Values().Data)
	want := "rowvec: lookup.Optimizer.Step: table overlaps gradient"
	if err := o.Step(g); err == nil || err.Error() != want || !slices.Equal(before, g.Values().Data) || o.Steps() != 0 {
		t.Errorf("error %v, want %s; %v was %v", err, want, g.Values().Data, before)
	}

	weight := rowvec.Matrix{Rows: 3, Cols: dim, Stride: dim, Data: numbered(3 * dim)}
	ids := unsafe.Slice((*uint32)(unsafe.Pointer(&weight.Data[2*dim])), 2)
	ids[0], ids[1] = 0, 1
	before = slices.Clone(weight.Data)
	e := must(lookup.FromMatrix(weight, lookup.MaxNorm(1e-3, 2)))
	bag := must(lookup.NewBag(e, lookup.Sum))
	shared := must(positional.LearnedFrom(rowvec.Matrix{Rows: 2, Cols: dim, Stride: dim, Data: weight.Data[dim:]}))
	segments := must(lookup.FromMatrix(rowvec.Matrix{Rows: 1, Cols: dim, Stride: dim, Data: weight.Data[:dim]}))
	for want, err := range map[string]error{
		"rowvec: lookup.Layer.Forward: token table overlaps position table": must(lookup.NewLayer(e, shared)).Forward(
			filled(2, dim), lookup.Sequence([]int{0, 1})),
		"rowvec: lookup.Layer.Forward: token table overlaps segment table": must(lookup.NewLayer(e, nil, lookup.Segments(segments))).Forward(
			filled(2, dim), lookup.Sequence([]int{0, 1})),
		"rowvec: lookup.Embedding.Forward: token table overlaps ids": e.Forward(filled(2, dim), lookup.Sequence(ids)),
		"rowvec: lookup.Bag.Forward: token table overlaps ids":       bag.Forward(filled(2, dim), lookup.Batch(ids, 1)),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if !slices.Equal(before, weight.Data) {
		t.Error("the table has changed")
	}
}

// TestParametersAsGradients: parameters of the layer, and positions of a table that are none, are no gradients, nor are two parameters one.
func TestParametersAsGradients(t *testing.T) {
	const dim = 4
	tokens, segments := must(lookup.FromMatrix(filled(5, dim))), must(lookup.FromMatrix(filled(2, dim)))
	learned, sinusoidal := must(positional.LearnedFrom(filled(6, dim))), must(positional.NewSinusoidal(5, dim))
	layer := must(lookup.NewLayer(tokens, learned, lookup.Segments(segments), lookup.LayerNorm(0)))
	in, dOut := lookup.Sequence([]int{1, 2}).Types([]int{0, 1}), filled(2, dim)
	tables := []string{"token table", "position table", "segment table", "norm weight", "norm bias"}
	names := []string{"token gradient", "position gradient", "segment gradient", "norm weight gradient", "norm bias gradient"}
	refuses := func(err error, want string) {
		t.Helper()
		if want = "rowvec: lookup." + want; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	for k, name := range names {
		for j, table := range layer.Parameters() {
			grads := layer.NewGradients()
			if table.Value.Rows < grads[k].Rows {
				continue
			}
			grads[k] = check.Window(table.Value, 0, grads[k].Rows, 0, dim)
			before := slices.Clone(table.Value.Data)
			refuses(layer.Backward(grads, in, dOut), "Layer.Backward: "+name+" overlaps "+tables[j])
			refuses(layer.BackwardTrain(grads, in, dOut, 1), "Layer.BackwardTrain: "+name+" overlaps "+tables[j])
			refuses(layer.ClearGradients(grads, in), "Layer.ClearGradients: "+name+" overlaps "+tables[j])
			if !slices.Equal(before, table.Value.Data) {
				t.Errorf("%s as %s: it has changed", tables[j], name)
			}
		}
	}
	refuses(tokens.Backward(tokens.Weight(), lookup.Sequence([]int{1, 2}), dOut), "Embedding.Backward: token gradient overlaps token table")
	refuses(tokens.ClearGradient(tokens.Weight(), lookup.Sequence([]int{1, 2})), "Embedding.ClearGradient: token gradient overlaps token table")
	refuses(must(lookup.NewLayer(tokens, sinusoidal)).Backward([]rowvec.Matrix{sinusoidal.Table()}, lookup.Sequence([]int{1, 2}), dOut),
		"Layer.Backward: token gradient overlaps position table")

	twice := must(lookup.NewLayer(tokens, nil, lookup.Segments(tokens)))
	optimizers := must(twice.NewOptimizers(lookup.SGD{Rate: 1}))
	before := slices.Clone(tokens.Weight().Data)
	refuses(twice.StepTrain(optimizers, in, dOut, 1), "Layer.StepTrain: segment table overlaps token table")
	if !slices.Equal(before, tokens.Weight().Data) || optimizers[0].Steps() != 0 {
		t.Error("a step has been taken")
	}
}

// TestMostSteps: the number of steps does not overflow, which would end in weights that are no numbers.
func TestMostSteps(t *testing.T) {
	for _, m := range []lookup.Method{lookup.Adam{}, lookup.Adagrad{RateDecay: 0.1}} {
		table := filled(2, 3)
		o := must(lookup.NewOptimizer(lookup.Parameter{Value: table}, m))
		g := must(lookup.NewGradient(2, 3))
		if err := lookup.AddRows(g, []int{1}, 1, filled(1, 3)); err != nil {
			t.Fatal(err)
		}
		if err := o.SetSteps(math.MaxInt - 1); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := o.Step(g); err != nil {
				t.Error(err)
			}
		}
		for i, x := range table.Data {
			if want := float32(i) + 0.5; x-x != 0 || x > want || x < want-1 {
				t.Errorf("%v: element %d has become %v", o, i, x)
			}
		}
		if o.Steps() != math.MaxInt {
			t.Errorf("%d steps", o.Steps())
		}
	}
}

// TestNoSuchQuery: a number of a query that overflows when it is multiplied is no other query.
func TestNoSuchQuery(t *testing.T) {
	n := must(lookup.NewNeighbours(2, 4))
	for _, query := range []int{-1, 2, math.MinInt, math.MaxInt, math.MaxInt/4 + 1, math.MaxInt/2 + 1, math.MinInt / 2} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("query %d: no panic", query)
				}
			}()
			n.Of(query)
		}()
	}
}

// TestProductsOf32Bits: what is needed for all ids times all columns overflows where neither is much.
func TestProductsOf32Bits(t *testing.T) {
	if math.MaxInt > math.MaxInt32 {
		t.Skip("takes 64 GiB where int has 64 bits")
	}
	for _, n := range []int{1 << 15, 1 << 16} { // n*n float32 are more than a slice can have, and n*n more than an int
		vector := func() rowvec.Matrix { return rowvec.Matrix{Rows: 1, Cols: n, Stride: n, Data: make([]float32, n)} }
		e, ids := must(lookup.FromMatrix(vector())), make([]int32, n)
		output, g := must(lookup.NewOutput(e)), e.NewGradient()
		for name, err := range map[string]error{
			"NearestTo":             must(lookup.NewSimilarity(e, lookup.Dot)).NearestTo(must(lookup.NewNeighbours(n, 1)), lookup.Sequence(ids)),
			"BackwardSampledSparse": output.BackwardSampledSparse(vector(), g, lookup.Sequence(ids), vector(), vector()),
		} {
			var shape *rowvec.ShapeError
			if !errors.As(err, &shape) || shape.Got != n {
				t.Errorf("%s, %d: %v", name, n, err)
			}
		}
	}
}
