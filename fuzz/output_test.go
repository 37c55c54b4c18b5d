package fuzz

import (
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
)

// What FuzzOutput does is chosen by input.At.
const (
	logitsOfAll = iota
	logitsOfSome
	gradientsOfAll
	gradientsOfSome
	sparseOfSome
	outputs // how many there are
)

// FuzzOutput holds the output layer that shares its table, forward and backward, to loops over package kernels.
func FuzzOutput(f *testing.F) {
	seeds(f)
	for what := range uint8(outputs) {
		for _, states := range []uint16{1, 6, 69} {
			in := input{Dim: 35, N: 24, Rows: 12, Positions: states, At: what, Spread: 9}
			f.Add(in.bytes())
			in.Dim, in.N, in.Rows, in.Flags, in.Scale = 70, 1200, 290, in.Flags|manyIDs|manyRows, 3<<30
			f.Add(in.bytes())
			in.Dim = 13 // one line, so that workers share hidden states
			f.Add(in.bytes())
		}
	}
	fuzz(f, func(t *trial) {
		what := int(t.in.At) % outputs
		t.op = "lookup.Output." + []string{"Forward", "ForwardSampled", "Backward", "BackwardSampled", "BackwardSampledSparse"}[what]
		all, forward := what == logitsOfAll || what == gradientsOfAll, what <= logitsOfSome
		vocab, dim, n := max(1, min(t.tableRows(), 300)), max(1, t.dim()), t.count()
		if all {
			n = vocab
		}
		states := min(int(t.in.Positions)%70, maxMatrix/(1+max(n, dim)+int(max(t.in.Gaps[0], t.in.Gaps[2], t.in.Gaps[3]))))
		if what == sparseOfSome && t.in.Overlap&3 == 2 {
			t.in.Overlap = 0 // a dense gradient that shares memory with ids may change them
		}

		logits, table, h := t.matrix(0, states, n), t.matrix(1, vocab, dim), t.matrix(2, states, dim)
		dH, grad := t.matrix(3, states, dim), t.matrix(1, vocab, dim)
		if t.in.has(misfit) {
			logits.Cols, logits.Stride = logits.Cols+1, logits.Stride+1
			t.checkShape(false)
		}
		matrices := []*rowvec.Matrix{logits, table, h}
		if !forward {
			matrices = append(matrices, dH, grad)
		}
		t.place(matrices...)
		options := []lookup.Option{lookup.Workers(1 + int(t.in.Scale>>30))}
		frozen := t.in.Scale&1 != 0
		if frozen {
			options = append(options, lookup.Frozen())
		}
		tokens := must(lookup.FromMatrix(*table, options...))
		output := must(lookup.NewOutput(tokens))

		written := []rowvec.Matrix{*dH, *grad}
		switch {
		case forward:
			written = []rowvec.Matrix{*logits}
		case what == sparseOfSome:
			written = written[:1] // the other is written to later
		}
		for i, dst := range written {
			t.checkApart("", dst, "", *table)
			t.checkApart("", dst, "", *h)
			if !forward {
				t.checkApart("", dst, "", *logits)
			}
			for _, other := range written[:i] {
				t.checkApart("", dst, "", other)
			}
		}
		var in lookup.Input
		row := func(j int) int { return j }
		if !all {
			l := t.ids(0, n, vocab)
			t.checkIDs("id", l, vocab)
			for _, dst := range written {
				t.checkIDsApart("", dst, "", l)
			}
			in, row = l.batch(1), l.at
			if what == logitsOfSome {
				t.call = l.dots(*logits, *h, *table)
			}
		}

		gradients := func() {
			defineStateGradients(*dH, *table, *logits, row)
			if !frozen {
				defineTableGradient(*grad, *logits, *h, row)
			}
		}
		switch what {
		case logitsOfAll:
			t.call = kernel{
				func() error { return output.Forward(*logits, *h) },
				func() { kernels.DotsAll(*logits, *h, *table) },
			}
		case logitsOfSome:
			t.call.run = func() error { return output.ForwardSampled(*logits, *h, in) }
		case gradientsOfAll:
			t.call = kernel{func() error { return output.Backward(*dH, *grad, *logits, *h) }, gradients}
		case gradientsOfSome:
			t.call = kernel{func() error { return output.BackwardSampled(*dH, *grad, in, *logits, *h) }, gradients}
		case sparseOfSome:
			t.call = kernel{
				func() error {
					g := tokens.NewGradient()
					if err := output.BackwardSampledSparse(*dH, g, in, *logits, *h); err != nil {
						return err
					}
					return g.AddTo(*grad)
				},
				func() {
					each, sums := must(rowvec.NewMatrix(n, dim)), must(rowvec.NewMatrix(vocab, dim))
					defineTableGradient(each, *logits, *h, func(j int) int { return j })
					defineStateGradients(*dH, *table, *logits, row)
					chosen := make([]bool, vocab)
					for j := range n {
						kernels.Add(sums.Row(row(j)), each.Row(j))
						chosen[row(j)] = states > 0 && !frozen
					}
					for id, is := range chosen {
						if is {
							kernels.Add(grad.Row(id), sums.Row(id))
						}
					}
				},
			}
		}
	})
}

// defineStateGradients adds to dH; column j of logits belongs to row row(j) of the table.
func defineStateGradients(dH, table, logits rowvec.Matrix, row func(j int) int) {
	for i := range dH.Rows {
		addProducts(dH.Row(i), logits.Cols, func(j int) (float32, []float32) { return logits.Row(i)[j], table.Row(row(j)) })
	}
}

// defineTableGradient adds to row row(j) of grad for column j of logits.
func defineTableGradient(grad, logits, h rowvec.Matrix, row func(j int) int) {
	for j := range logits.Cols {
		addProducts(grad.Row(row(j)), h.Rows, func(i int) (float32, []float32) { return logits.Row(i)[j], h.Row(i) })
	}
}

// addProducts adds n rows, each times a number, to dst: the sums of 32 at a time.
func addProducts(dst []float32, n int, term func(k int) (float32, []float32)) {
	for k := 0; k < n; {
		sum := make([]float32, len(dst))
		for end := min(k+32, n); k < end; k++ {
			alpha, row := term(k)
			kernels.AddScaled(sum, alpha, row)
		}
		kernels.Add(dst, sum)
	}
}
