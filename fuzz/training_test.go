package fuzz

import (
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
)

// What FuzzTraining does is chosen by input.At: a step of one of four optimizers, a row-sparse gradient, or a bag.
const (
	stepSGD = iota
	stepAdagrad
	stepRowAdagrad
	stepAdamW
	sparse
	bagSum
	bagMean
	bagMax
)

var adamW = lookup.AdamW{Rate: 0.25, WeightDecay: 0.5, Beta1: 0.5, Beta2: 0.75} // whose first step is as below

var adamWStep = rowvec.AdamStep{MeanWeight: 0.5, SquareWeight: 0.25, Rate: 0.25, Epsilon: 0.5e-8, Keep: 0.875}

// FuzzTraining holds optimizers, row-sparse gradients and bags, of every kind of batches, to loops over package kernels.
func FuzzTraining(f *testing.F) {
	seeds(f)
	for what := range uint8(8) {
		for form := range uint8(3) {
			in := input{Dim: 35, N: 24, Rows: 12, Seq: 6, Start: form << 4, At: what, Spread: 9, Scale: uint32(form | 3<<2)}
			f.Add(in.bytes())
			in.Dim, in.N, in.Seq, in.Flags, in.Scale = 70, 2500, 50, in.Flags|manyIDs, 2|2<<30
			f.Add(in.bytes())
		}
	}
	fuzz(f, func(t *trial) {
		vocab, dim := max(1, t.tableRows()), max(1, t.dim())
		what, form := int(t.in.At)%8, t.in.Start>>4%3
		n, _, seq, _ := t.sequences(t.count())

		// The sequences, whose number is that of rows of out for bags.
		spans := [][2]int{}
		offsets := []int(nil)
		switch form {
		case 0:
			seq = max(1, n)
			fallthrough
		case 1:
			t.checkShape(seq > 0 && n%max(1, seq) == 0)
			for i := 0; seq > 0 && i+seq <= n; i += seq {
				spans = append(spans, [2]int{i, i + seq})
			}
		default:
			offsets, _ = t.offsets(n, make([]int, n))
			for b := range max(0, len(offsets)-1) {
				spans = append(spans, [2]int{offsets[b], offsets[b+1]})
			}
		}
		rows := n
		if what >= bagSum {
			rows = len(spans)
		}
		out, weight := t.matrix(0, rows, dim), t.matrix(1, vocab, dim)
		if what == sparse && t.in.Overlap&3 == 2 {
			t.in.Overlap = 0 // a dense gradient that shares memory with ids may change them
		}
		t.place(out, weight)
		l := t.ids(0, n, vocab)
		var in lookup.Input
		if form == 2 {
			in = l.ragged(offsets)
		} else {
			in = l.batch(seq)
		}

		padding, workers := -1, 1+int(t.in.Scale>>30)
		options := []lookup.Option{lookup.Workers(workers)}
		scale := float32(1)
		if t.in.Scale&1 != 0 && what < bagSum {
			options, scale = append(options, lookup.Scaled()), float32(math.Sqrt(float64(dim)))
		}
		if t.in.Scale&2 != 0 {
			padding = int(t.in.Scale>>2) % vocab
			options = append(options, lookup.Padding(padding))
		}
		e := must(lookup.FromMatrix(*weight, options...))
		t.checkIDs("id", l, vocab)

		switch what {
		case sparse:
			t.op = "lookup.Embedding.BackwardSparse"
			t.call = kernel{
				func() error {
					g := e.NewGradient()
					if err := e.BackwardSparse(g, in, *out); err != nil {
						return err
					}
					return g.AddTo(*weight)
				},
				func() {
					rows, ids := defineGradient(l, padding, scale, *out, false)
					kernels.ScatterAdd(*weight, ids, 1, rows)
				},
			}
		case bagSum, bagMean, bagMax:
			t.op = "lookup.Bag.Forward"
			pooling := lookup.Pooling(what - bagSum)
			t.checkApart("", *out, "", *weight)
			t.checkIDsApart("", *out, "", l)
			t.call = kernel{
				func() error { return must(lookup.NewBag(e, pooling)).Forward(*out, in) },
				func() { defineBags(*out, *weight, l, spans, padding, pooling) },
			}
		default:
			t.op = "lookup.Optimizer.StepBatch"
			t.checkApart("", *weight, "", *out)
			t.checkIDsApart("", *weight, "", l)
			method := []lookup.Method{
				lookup.SGD{Rate: 0.5, WeightDecay: 0.25}, lookup.Adagrad{Rate: 0.5}, lookup.RowAdagrad{Rate: 0.5}, adamW,
			}[what]
			t.call = kernel{
				func() error { return must(e.NewOptimizer(method)).StepBatch(e, in, *out) },
				func() {
					rows, ids := defineGradient(l, padding, scale, *out, scale == 1)
					a, b := must(rowvec.NewMatrix(vocab, dim)), must(rowvec.NewMatrix(vocab, dim))
					switch what {
					case stepSGD:
						kernels.UpdateSGD(*weight, ids, rows, 0.5, 0.25)
					case stepAdagrad:
						kernels.UpdateAdagrad(*weight, a, ids, rows, 0.5, 1e-10)
					case stepRowAdagrad:
						kernels.UpdateRowAdagrad(*weight, make([]float32, vocab), ids, rows, 0.5, 1e-10)
					case stepAdamW:
						kernels.UpdateAdam(*weight, a, b, ids, rows, adamWStep)
					}
				},
			}
		}
	})
}

// defineGradient returns the sum of the rows of each id but padding, and the ids, ascending. If straight, the row of an id
// that occurs once is its gradient as it is, also where it is -0.
func defineGradient(l ids, padding int, scale float32, dOut rowvec.Matrix, straight bool) (sums rowvec.Matrix, ids []int) {
	for i := range dOut.Rows {
		if id := l.at(i); id != padding {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	sums = must(rowvec.NewMatrix(len(ids), dOut.Cols))
	counts := make([]int, len(ids))
	for i := range dOut.Rows {
		if at, found := slices.BinarySearch(ids, l.at(i)); found {
			kernels.AddScaled(sums.Row(at), scale, dOut.Row(i))
			counts[at]++
		}
	}
	for i := range dOut.Rows {
		if at, found := slices.BinarySearch(ids, l.at(i)); found && straight && counts[at] == 1 {
			copy(sums.Row(at), dOut.Row(i))
		}
	}
	return sums, ids
}

func defineBags(dst, table rowvec.Matrix, l ids, spans [][2]int, padding int, pooling lookup.Pooling) {
	for b, span := range spans {
		count, row := float32(0), dst.Row(b)
		clear(row)
		for i := span[0]; i < span[1]; i++ {
			if l.at(i) == padding {
				continue
			}
			count++
			for j, x := range table.Row(l.at(i)) {
				if pooling != lookup.Max {
					row[j] += x
				} else if count == 1 || x > row[j] {
					row[j] = x
				}
			}
		}
		for j := range row {
			if pooling == lookup.Mean && count > 0 {
				row[j] /= count
			}
		}
	}
}
