package lookup_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/derivatives"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/race"
	"github.com/rowvec/rowvec/internal/reference"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
)

// plainOutput is the definition of the gradients, the sums of 32 products after each other; ids are those of the columns of dLogits.
func plainOutput(dH, grad, table rowvec.Matrix, ids []int, dLogits, h rowvec.Matrix) {
	grow := func(x *float32, n int, product func(k int) float32) {
		for first := 0; first < n; first += 32 {
			sum := float32(0)
			for k := first; k < min(first+32, n); k++ {
				sum += product(k)
			}
			*x += sum
		}
	}
	for i := range h.Rows {
		for k := range dH.Cols {
			grow(&dH.Row(i)[k], len(ids), func(j int) float32 { return float32(dLogits.Row(i)[j] * table.Row(ids[j])[k]) })
		}
	}
	for j, id := range ids {
		for k := range grad.Cols {
			grow(&grad.Row(id)[k], h.Rows, func(i int) float32 { return float32(dLogits.Row(i)[j] * h.Row(i)[k]) })
		}
	}
}

// everyID returns 0 to vocab-1.
func everyID() (ids []int) {
	for id := range vocab {
		ids = append(ids, id)
	}
	return ids
}

// TestOutput holds the layer to its definition, for any number of workers.
func TestOutput(t *testing.T) {
	defer tuning.Lower()()
	isatest.Each(t, func(t *testing.T) {
		for _, dim := range []int{1, 6, 33, 200, 1030} {
			for _, workers := range []int{1, 2, 3, 12, 100} {
				if dim > 1000 && (workers > 3 || isatest.Few() && workers > 1) {
					continue
				}
				tokens := must(lookup.NewEmbedding(vocab, dim, lookup.Xavier(5), lookup.Scaled(), lookup.Padding(padded), lookup.Workers(workers)))
				output := must(lookup.NewOutput(tokens))
				for _, queries := range []int{0, 1, 7, 17, 70} {
					tuning.Halves = queries != 1 || dim == 6 // or else one worker does both gradients of a state by turns
					if queries == 17 && workers > 1 || queries == 70 && (dim != 33 || workers == 2 || workers == 3) {
						continue // many hidden states are slow to define, and 17 are for one worker, who does both gradients by turns
					}
					h := fill(newMatrix(t, queries, dim), 3)
					typed, some := randomIDs[int32](301)
					short, few := randomIDs[uint64](9)
					for _, c := range []struct {
						in  *lookup.Input
						ids []int
					}{
						{nil, everyID()}, {ptrTo(lookup.Sequence(typed)), some}, {ptrTo(lookup.Batch(short, 3)), few}, {ptrTo(lookup.Sequence[int](nil)), nil},
					} {
						logits, want := newMatrix(t, queries, len(c.ids)), newMatrix(t, queries, len(c.ids))
						kernels.Dots(want, h, tokens.Weight(), c.ids)
						dH, grad := fill(newMatrix(t, queries, dim), 4), fill(newMatrix(t, vocab, dim), 5)
						wantDH, wantGrad := fill(newMatrix(t, queries, dim), 4), fill(newMatrix(t, vocab, dim), 5)
						dLogits := fill(newMatrix(t, queries, len(c.ids)), 6)
						plainOutput(wantDH, wantGrad, tokens.Weight(), c.ids, dLogits, h)
						var forward, backward error
						if c.in == nil {
							forward = output.Forward(logits, h)
							backward = output.Backward(dH, grad, dLogits, h)
						} else {
							forward = output.ForwardSampled(logits, h, *c.in)
							backward = output.BackwardSampled(dH, grad, *c.in, dLogits, h)
						}
						if forward != nil || backward != nil {
							t.Fatal(forward, backward)
						}
						compare(t, "logits", logits, want)
						compare(t, "dH", dH, wantDH)
						compare(t, "grad", grad, wantGrad)
					}
				}
			}
		}
	})
}

func ptrTo(in lookup.Input) *lookup.Input { return &in }

// TestOutputGradient holds the gradients of hidden states and of the table to differences, of all logits and of chosen ones, dense
// and sparse. Neither a scale nor a padding id is part of them, and the table has none where it is frozen. Logits are linear in
// either, so that any step will do, and each product is rounded once until it is added.
func TestOutputGradient(t *testing.T) {
	defer tuning.Lower()()
	const dim, step, roundings = 5, 0.5, 1
	table, some := fill(newMatrix(t, vocab, dim), 2), []int{4, 9, padded, 4, 0, vocab - 1}
	tuning.Halves = false
	for _, queries := range []int{1, 3, 17} { // the first and the last have one worker do both gradients by turns
		if isatest.Slow && queries > 1 {
			continue
		}
		h := fill(newMatrix(t, queries, dim), 3)
		x, y := derivatives.Wide(table.Data), derivatives.Wide(h.Data)
		for _, ids := range [][]int{everyID(), some} {
			what, sampled, in := fmt.Sprintf("%d of %d", queries, len(ids)), len(ids) < vocab, lookup.Sequence(ids)
			forward := func() []float64 {
				logits := make([]float64, 0, queries*len(ids))
				for i := range queries {
					for _, id := range ids {
						logit := 0.0
						for k, v := range x[id*dim:][:dim] {
							logit += y[i*dim+k] * v
						}
						logits = append(logits, logit)
					}
				}
				return logits
			}
			dLogits := fill(newMatrix(t, queries, len(ids)), 4)
			byTable := derivatives.Of(forward, x, dim, step, dLogits.Data, roundings, false)
			byH := derivatives.Of(forward, y, dim, step, dLogits.Data, roundings, false)
			for _, options := range [][]lookup.Option{
				{lookup.Workers(1)}, {lookup.Workers(3), lookup.Scaled(), lookup.Padding(padded)}, {lookup.Frozen()},
			} {
				tokens := must(lookup.FromMatrix(table, options...))
				output := must(lookup.NewOutput(tokens))
				what := fmt.Sprintf("%s, %v", what, tokens)
				isatest.Each(t, func(t *testing.T) {
					hold := func(kind string, dH, grad rowvec.Matrix) {
						t.Helper()
						byH.Hold(t, what+", dH, "+kind, dH.Data)
						if tokens.Frozen() {
							compare(t, what+", grad, "+kind, grad, newMatrix(t, vocab, dim))
						} else {
							byTable.Hold(t, what+", grad, "+kind, grad.Data)
						}
					}
					logits, dH, grad := newMatrix(t, queries, len(ids)), newMatrix(t, queries, dim), newMatrix(t, vocab, dim)
					if !sampled {
						if err := errors.Join(output.Forward(logits, h), output.Backward(dH, grad, dLogits, h)); err != nil {
							t.Fatal(err)
						}
						derivatives.Same(t, what, logits.Data, forward())
						hold("all", dH, grad)
						clear(dH.Data)
						clear(grad.Data)
					}
					if err := errors.Join(output.ForwardSampled(logits, h, in), output.BackwardSampled(dH, grad, in, dLogits, h)); err != nil {
						t.Fatal(err)
					}
					derivatives.Same(t, what+", sampled", logits.Data, forward())
					hold("sampled", dH, grad)
					clear(dH.Data)
					sparse := tokens.NewGradient()
					if err := output.BackwardSampledSparse(dH, sparse, in, dLogits, h); err != nil {
						t.Fatal(err)
					}
					hold("sparse", dH, dense(t, sparse, vocab, dim))
				})
			}
		}
	}
}

func TestOutputMisuse(t *testing.T) {
	const dim = 4
	tokens := must(lookup.NewEmbedding(10, dim))
	output := must(lookup.NewOutput(tokens))
	if _, err := lookup.NewOutput(nil); err == nil || err.Error() != "rowvec: lookup.NewOutput: tokens is nil" {
		t.Error(err)
	}
	type call struct{ logits, h, dH, grad rowvec.Matrix }
	for _, c := range []struct {
		spoil             func(c *call, ids []int)
		forward, backward string
	}{
		{func(*call, []int) {}, "", ""},
		{func(_ *call, ids []int) { ids[1] = 10 }, "ForwardSampled: id 10 at position 1 is outside [0, 10)", "BackwardSampled: id 10 at position 1 is outside [0, 10)"},
		{func(c *call, _ []int) { c.h.Cols = 3 }, "ForwardSampled: h.Cols is 3, want 4", "BackwardSampled: h.Cols is 3, want 4"},
		{func(c *call, _ []int) { c.h.Rows = 1 }, "ForwardSampled: logits.Rows is 2, want 1", "BackwardSampled: dLogits.Rows is 2, want 1"},
		{func(c *call, _ []int) { c.logits.Cols = 2 }, "ForwardSampled: logits.Cols is 2, want 3", "BackwardSampled: dLogits.Cols is 2, want 3"},
		{func(c *call, _ []int) { c.dH.Rows = 1 }, "", "BackwardSampled: dH.Rows is 1, want 2"},
		{func(c *call, _ []int) { c.grad.Rows = 9 }, "", "BackwardSampled: token gradient.Rows is 9, want 10"},
		{func(c *call, _ []int) { c.grad.Data = c.grad.Data[:39] }, "", "BackwardSampled: len(token gradient.Data) is 39, want at least 40"},
		{func(c *call, _ []int) { c.logits.Data = c.h.Data }, "ForwardSampled: logits overlaps h", ""},
		{func(c *call, _ []int) { c.logits.Data = tokens.Weight().Data }, "ForwardSampled: logits overlaps token table", ""},
		{func(c *call, _ []int) { c.dH = c.h }, "", "BackwardSampled: dH overlaps h"},
		{func(c *call, _ []int) { c.dH.Data = tokens.Weight().Data[3:] }, "", "BackwardSampled: dH overlaps token table"},
		{func(c *call, _ []int) { c.dH.Data = c.grad.Data[3:] }, "", "BackwardSampled: dH overlaps token gradient"},
		{func(c *call, _ []int) { c.grad = tokens.Weight() }, "", "BackwardSampled: token gradient overlaps token table"},
		{func(c *call, _ []int) { c.h.Data = c.grad.Data[3:] }, "", "BackwardSampled: token gradient overlaps h"},
		{func(c *call, _ []int) { c.logits.Data = c.grad.Data[3:] }, "", "BackwardSampled: token gradient overlaps dLogits"},
		{func(c *call, _ []int) { c.logits.Data = c.dH.Data[1:] }, "", "BackwardSampled: dH overlaps dLogits"},
	} {
		m := &call{fill(newMatrix(t, 2, 3), 1), fill(newMatrix(t, 2, dim), 2), fill(newMatrix(t, 2, dim), 3), fill(newMatrix(t, 10, dim), 4)}
		ids := []int{7, 2, 7}
		c.spoil(m, ids)
		memory := [][]float32{m.logits.Data, m.h.Data, m.dH.Data, m.grad.Data, tokens.Weight().Data}
		for _, run := range []struct {
			do   func() error
			want string
		}{
			{func() error { return output.ForwardSampled(m.logits, m.h, lookup.Sequence(ids)) }, c.forward},
			{func() error { return output.BackwardSampled(m.dH, m.grad, lookup.Sequence(ids), m.logits, m.h) }, c.backward},
		} {
			if run.want == "" {
				continue
			}
			var before [][]float32
			for _, x := range memory {
				before = append(before, slices.Clone(x))
			}
			err := run.do()
			if err == nil || !strings.HasSuffix(err.Error(), run.want) {
				t.Errorf("error %v, want %s", err, run.want)
			}
			for k, x := range memory {
				if !slices.Equal(x, before[k]) {
					t.Errorf("%v: memory has changed", err)
				}
			}
		}
	}
	logits, h := newMatrix(t, 2, 9), newMatrix(t, 2, dim)
	var shape *rowvec.ShapeError
	if err := output.Forward(logits, h); !errors.As(err, &shape) || err.Error() != "rowvec: lookup.Output.Forward: logits.Cols is 9, want 10" {
		t.Error(err)
	}
	if err := output.Backward(h, newMatrix(t, 10, dim), logits, h); !errors.As(err, &shape) || err.Error() != "rowvec: lookup.Output.Backward: dLogits.Cols is 9, want 10" {
		t.Error(err)
	}
}

// TestSparseOutputAgain: a second call with the same gradient, whose memory holds what the first one left, adds what the first did; and that
// memory is no place for hidden states.
func TestSparseOutputAgain(t *testing.T) {
	const dim = 20
	e := must(lookup.NewEmbedding(vocab, dim))
	output, g := must(lookup.NewOutput(e)), e.NewGradient()
	h, dH, logits, ids := newMatrix(t, 3, dim), newMatrix(t, 3, dim), newMatrix(t, 3, 4), lookup.Sequence([]int32{1, 2, 1, 3})
	for i := range h.Data {
		h.Data[i] = float32(i)
	}
	for i := range logits.Data {
		logits.Data[i] = float32(1 + i)
	}
	var first []float32
	for call := range 3 {
		if err := output.BackwardSampledSparse(dH, g, ids, logits, h); err != nil {
			t.Fatal(err)
		}
		if call == 0 {
			first = slices.Clone(g.Values().Data)
		}
		for i, x := range g.Values().Data {
			if want := float32(1+call) * first[i]; x != want {
				t.Fatalf("call %d: element %d is %v, want %v", call, i, x, want)
			}
		}
	}
	inside := g.Values()
	g.Clear()
	inside.Rows = 3
	var overlap *rowvec.OverlapError
	if err := output.BackwardSampledSparse(dH, g, ids, logits, inside); !errors.As(err, &overlap) {
		t.Errorf("hidden states in the memory of the gradient: error %v", err)
	}
}

// TestOutputChangedIDs has another goroutine change an id: every outcome but a fault will do.
func TestOutputChangedIDs(t *testing.T) {
	if race.Enabled {
		t.Skip("is a race on purpose")
	}
	output := must(lookup.NewOutput(must(lookup.NewEmbedding(vocab, 70))))
	h, dH, grad, logits := newMatrix(t, 4, 70), newMatrix(t, 4, 70), newMatrix(t, vocab, 70), newMatrix(t, 4, 300)
	ids := make([]int64, 300)
	stop := isatest.KeepChanging(&ids[200])
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		for _, err := range []error{
			output.ForwardSampled(logits, h, lookup.Sequence(ids)),
			output.BackwardSampled(dH, grad, lookup.Sequence(ids), logits, h),
		} {
			var index *rowvec.IndexError
			if err != nil && !errors.Is(err, rowvec.ErrChanged) && !errors.As(err, &index) {
				t.Errorf("error %v", err)
			}
		}
	}
	stop()
}

func TestOutputNoAllocation(t *testing.T) {
	for _, workers := range []int{1, 2} {
		undo := tuning.Lower()
		tokens := must(lookup.NewEmbedding(vocab, 130, lookup.Workers(workers)))
		output := must(lookup.NewOutput(tokens))
		h, dH, grad := newMatrix(t, 17, 130), newMatrix(t, 17, 130), newMatrix(t, vocab, 130)
		all, some := newMatrix(t, 17, vocab), newMatrix(t, 17, 4)
		ids := []int32{1, 2, 3, 1}
		isatest.NoAllocation(t, fmt.Sprintf("%d workers", workers), func() {
			for _, err := range [...]error{
				output.Forward(all, h),
				output.ForwardSampled(some, h, lookup.Sequence(ids)),
				output.Backward(dH, grad, all, h),
				output.BackwardSampled(dH, grad, lookup.Sequence(ids), some, h),
			} {
				if err != nil {
					t.Error(err)
				}
			}
		})
		undo()
	}
}

// TestOutputReference holds logits and gradients to PyTorch, which adds in orders of its own: see reference.DotError.
func TestOutputReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.OutputCases(t) {
			table, h, dLogits := c.Table.Matrix, c.H.Matrix, c.DLogits.Matrix
			output := must(lookup.NewOutput(must(lookup.FromMatrix(table))))
			logits := newMatrix(t, h.Rows, table.Rows)
			dH, grad := newMatrix(t, h.Rows, h.Cols), newMatrix(t, table.Rows, table.Cols)
			if err := output.Forward(logits, h); err != nil {
				t.Fatal(err)
			}
			if err := output.Backward(dH, grad, dLogits, h); err != nil {
				t.Fatal(err)
			}
			reference.CloseDots(t, c.Name+" logits", logits, c.Logits, func(i, j, k int) float32 { return h.Row(i)[k] * table.Row(j)[k] }, h.Cols)
			reference.CloseDots(t, c.Name+" dH", dH, c.DH, func(i, k, j int) float32 { return dLogits.Row(i)[j] * table.Row(j)[k] }, table.Rows)
			reference.CloseDots(t, c.Name+" grad", grad, c.Grad, func(j, k, i int) float32 { return dLogits.Row(i)[j] * h.Row(i)[k] }, h.Rows)
		}
	})
}

// TestSampledReference holds logits of chosen rows, some of them twice, to PyTorch in the same way.
func TestSampledReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.SampledCases(t) {
			table, h, dLogits, in := c.Table.Matrix, c.H.Matrix, c.DLogits.Matrix, lookup.Sequence(c.IDs)
			tokens := must(lookup.FromMatrix(table))
			output := must(lookup.NewOutput(tokens))
			logits := newMatrix(t, h.Rows, len(c.IDs))
			if err := output.ForwardSampled(logits, h, in); err != nil {
				t.Fatal(err)
			}
			reference.CloseDots(t, c.Name+" logits", logits, c.Logits,
				func(i, j, k int) float32 { return h.Row(i)[k] * table.Row(c.IDs[j])[k] }, h.Cols)
			grad, sparse := newMatrix(t, table.Rows, table.Cols), tokens.NewGradient()
			for what, backward := range map[string]func(dH rowvec.Matrix) error{
				"dense":  func(dH rowvec.Matrix) error { return output.BackwardSampled(dH, grad, in, dLogits, h) },
				"sparse": func(dH rowvec.Matrix) error { return output.BackwardSampledSparse(dH, sparse, in, dLogits, h) },
			} {
				dH := newMatrix(t, h.Rows, h.Cols)
				if err := backward(dH); err != nil {
					t.Fatal(err)
				}
				reference.CloseDots(t, c.Name+" dH, "+what, dH, c.DH,
					func(i, k, j int) float32 { return dLogits.Row(i)[j] * table.Row(c.IDs[j])[k] }, len(c.IDs))
			}
			if !slices.Equal(sparse.IDs(), c.Touched) {
				t.Errorf("%s: rows %v, want %v", c.Name, sparse.IDs(), c.Touched)
			}
			for what, got := range map[string]rowvec.Matrix{"dense": grad, "sparse": dense(t, sparse, table.Rows, table.Cols)} {
				reference.CloseDots(t, c.Name+" grad, "+what, got, c.Grad, func(id, k, n int) float32 {
					i, j := n/len(c.IDs), n%len(c.IDs)
					if c.IDs[j] != id {
						return 0
					}
					return dLogits.Row(i)[j] * h.Row(i)[k]
				}, h.Rows*len(c.IDs))
			}
		}
	})
}

// TestOutputFrozen: the table of a frozen embedding gets no gradient, and hidden states get theirs.
func TestOutputFrozen(t *testing.T) {
	const dim, states = 5, 17
	in := lookup.Sequence([]int{1, 4, 1})
	h, all, some := fill(newMatrix(t, states, dim), 1), fill(newMatrix(t, states, vocab), 2), fill(newMatrix(t, states, 3), 2)
	var want [3]rowvec.Matrix
	for _, options := range [][]lookup.Option{nil, {lookup.Frozen()}} {
		e := must(lookup.NewEmbedding(vocab, dim, options...))
		o, dense, sparse := must(lookup.NewOutput(e)), newMatrix(t, vocab, dim), e.NewGradient()
		for k, backward := range []func(dH rowvec.Matrix) error{
			func(dH rowvec.Matrix) error { return o.Backward(dH, dense, all, h) },
			func(dH rowvec.Matrix) error { return o.BackwardSampled(dH, dense, in, some, h) },
			func(dH rowvec.Matrix) error { return o.BackwardSampledSparse(dH, sparse, in, some, h) },
		} {
			dH := newMatrix(t, states, dim)
			if err := backward(dH); err != nil {
				t.Fatal(err)
			}
			if !e.Frozen() {
				want[k] = dH
				continue
			}
			compare(t, "dH", dH, want[k])
		}
		if e.Frozen() {
			compare(t, "the gradient of a frozen table", dense, newMatrix(t, vocab, dim))
			if sparse.Len() != 0 {
				t.Errorf("a sparse gradient of rows %v", sparse.IDs())
			}
		}
	}
}
