package fuzz

import (
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// FuzzLayer holds the complete layer, forward and backward, to kernels called one after the other: every kind of
// positions and of batches, scaled and not, padding, dropout, and several workers.
func FuzzLayer(f *testing.F) {
	seeds(f)
	for kind := range uint8(3) {
		for form := range uint8(6) {
			for direction := range uint16(2) {
				in := input{Dim: 35, N: 24, Rows: 12, Seq: 6, Start: form << 4, At: kind, Flags: direction * variant, Spread: 9}
				in.Scale = uint32(form&1 | 2 | 3<<2)
				f.Add(in.bytes())
				in.Dim, in.N, in.Seq, in.Flags, in.Scale = 70, 2500, 50, in.Flags|manyIDs, 1|2<<30
				f.Add(in.bytes())
				in.Flags, in.Shift, in.BadID = in.Flags|train, 20000, 1<<40
				f.Add(in.bytes())
			}
		}
	}
	sinusoids := make(map[int]*positional.Sinusoidal) // making them takes long
	fuzz(f, func(t *trial) {
		vocab, dim := max(1, t.tableRows()), max(1, t.dim())
		kind, form := t.in.At%3, t.in.Start>>4
		n, start, seq, _ := t.sequences(t.count())
		limit := start + n + int(t.in.Positions)%4 + 1
		if t.in.has(misfit) {
			limit = 1 + int(t.in.Positions)%65
		}

		weight, position := t.matrix(1, vocab, dim), t.matrix(2, limit, dim)
		out := t.matrix(0, n, dim) // or dOut
		t.place(out, weight, position)

		// The layer: kind is that of its positions.
		var positions lookup.Positions
		rows := math.MaxInt // positions that there are
		switch kind {
		case 1:
			positions = must(positional.LearnedFrom(*position))
			rows = limit
		case 2:
			if sinusoids[dim] == nil {
				sinusoids[dim] = must(positional.NewSinusoidal(20, dim))
			}
			positions = sinusoids[dim]
		}
		scaled, padding, workers := t.in.Scale&1 != 0, -1, 1+int(t.in.Scale>>30)
		options := []lookup.Option{lookup.Workers(workers)}
		scale := float32(1)
		if scaled {
			options = append(options, lookup.Scaled())
			scale = float32(math.Sqrt(float64(dim)))
		}
		if t.in.Scale&2 != 0 {
			padding = int(t.in.Scale>>2) % vocab
			options = append(options, lookup.Padding(padding))
		}
		var mask rowvec.Mask // of dropout
		training := ""
		if t.in.has(train) {
			training = "Train"
			mask = rowvec.Mask{P: float64(t.in.Shift) / (1 << 16), Seed: uint64(t.in.Seed), Step: t.in.BadID >> 8}
		}
		layer := must(lookup.NewLayer(must(lookup.FromMatrix(*weight, options...)), positions, lookup.Dropout(mask.P, mask.Seed)))

		// The batch: form is what its sequences are, and whether tokens have positions of their own.
		l := t.ids(0, n, vocab)
		at := make([]int, n)
		var in lookup.Input
		switch form % 3 {
		case 0:
			in, seq = l.batch(max(1, n)), max(1, n)
		case 1:
			in = l.batch(seq)
		default:
			var offsets []int
			offsets, seq = t.offsets(n, at)
			in = l.ragged(offsets)
		}
		in = in.From(start)
		if form%3 != 2 {
			t.checkShape(seq > 0 && n%seq == 0)
			for i := range at {
				at[i] = i % max(1, seq)
			}
		}
		t.checkShape(start >= 0)
		for i := range at {
			at[i] += start
		}
		var own ids // explicit positions
		if form/3%2 == 1 {
			t.in.At = 4 // int
			own = t.ids(1, n, min(rows, 1000))
			at = own.(list[int])
			in = in.At(at)
			if kind != 0 {
				t.checkIDs("position id", own, rows)
			}
		} else {
			t.checkShape(kind == 0 || n == 0 || start+seq <= rows)
		}
		t.checkIDs("id", l, vocab)

		if t.in.has(variant) {
			t.op = "lookup.Layer.Backward" + training
			grads := []rowvec.Matrix{*weight, *position}[:len(layer.Parameters())]
			t.checkApart("", *weight, "", *out)
			t.checkInputApart(*weight, l, own)
			if len(grads) > 1 {
				t.checkApart("", *position, "", *out)
				t.checkApart("", *position, "", *weight)
				t.checkInputApart(*position, l, own)
			}
			t.call = kernel{
				func() error { return layer.Backward(grads, in, *out) },
				func() { defineBackward(grads, l, at, scale, padding, *out) },
			}
			if t.in.has(train) {
				t.call = kernel{
					func() error { return layer.BackwardTrain(grads, in, *out, mask.Step) },
					func() {
						dOut := must(rowvec.NewMatrix(out.Rows, out.Cols))
						kernels.Dropout(dOut, *out, mask)
						defineBackward(grads, l, at, scale, padding, dOut)
					},
				}
			}
			return
		}
		t.op = "lookup.Layer.Forward" + training
		t.exactNaN = kind == 0 && !scaled && mask.Threshold() == 0
		t.checkApart("", *out, "", *weight)
		t.checkInputApart(*out, l, own)
		if kind == 1 {
			t.checkApart("", *out, "", *position)
		}
		t.call = kernel{
			func() error { return layer.Forward(*out, in) },
			func() { defineForward(*out, *weight, l, scale, positions, at) },
		}
		if eval := t.call; t.in.has(train) {
			t.call = kernel{
				func() error { return layer.ForwardTrain(*out, in, mask.Step) },
				func() { eval.define(); kernels.Dropout(*out, *out, mask) },
			}
		}
	})
}

// checkInputApart adds the error that a destination deserves which shares an element with ids or positions.
func (t *trial) checkInputApart(dst rowvec.Matrix, l, positions ids) {
	t.checkIDsApart("", dst, "", l)
	if positions != nil {
		t.checkIDsApart("", dst, "", positions)
	}
}

// offsets cuts n tokens into sequences of any lengths, sets at to the position of each token within its own, and returns
// the longest length. Those of a misfit may not fit.
func (t *trial) offsets(n int, at []int) (offsets []int, longest int) {
	offsets = []int{0}
	for i := 0; i < n; {
		length := int(mix(uint32(i+len(offsets)))) & math.MaxInt % (1 + int(t.in.Seq))
		if t.in.Seq == 0 {
			length = n
		}
		i = min(i+length, n)
		offsets = append(offsets, i)
	}
	if t.in.has(misfit) {
		offsets[int(t.in.Shift)%len(offsets)] += int(int8(t.in.Overlap))
	}
	t.checkShape(slices.IsSorted(offsets) && offsets[0] == 0 && offsets[len(offsets)-1] == n)
	if t.misshapen {
		return offsets, 0
	}
	for b, first := range offsets[:len(offsets)-1] {
		length := offsets[b+1] - first
		for k := range length {
			at[first+k] = k
		}
		longest = max(longest, length)
	}
	return offsets, longest
}

func defineForward(dst, weight rowvec.Matrix, l ids, scale float32, positions lookup.Positions, at []int) {
	if positions == nil && scale == 1 {
		l.gather(dst, weight).define()
		return
	}
	l.gatherScaled(dst, weight, scale).define()
	if positions == nil {
		return
	}
	for i, p := range at {
		row := must(rowvec.NewMatrix(1, dst.Cols))
		if err := positions.Fill(row, p); err != nil {
			panic(err)
		}
		kernels.Add(dst.Row(i), row.Data)
	}
}

func defineBackward(grads []rowvec.Matrix, l ids, at []int, scale float32, padding int, dOut rowvec.Matrix) {
	for i := range dOut.Rows {
		if id := l.at(i); id != padding {
			kernels.AddScaled(grads[0].Row(id), scale, dOut.Row(i))
		}
	}
	if len(grads) > 1 {
		kernels.ScatterAdd(grads[1], at, 1, dOut)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
