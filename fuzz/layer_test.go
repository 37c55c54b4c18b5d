package fuzz

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/kernels"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// FuzzLayer holds the complete layer, forward and backward, to kernels called one after the other: every kind of
// positions and of batches, scaled and not, padding, dropout, segments, a layer normalisation, and several workers.
func FuzzLayer(f *testing.F) {
	seeds(f)
	for kind := range uint8(3) {
		for form := range uint8(6) {
			if isatest.Few() && form%3 != kind || isatest.Slow && form > 2 {
				continue
			}
			for direction := range uint16(2) {
				in := input{Dim: 35, N: 24, Rows: 12, Seq: 6, Start: form << 4, At: kind, Flags: direction * variant, Spread: 9}
				in.Scale = uint32(form&1 | 2 | 3<<2)
				f.Add(in.bytes())
				in.Dim, in.N, in.Seq, in.Flags, in.Scale = 70, 1250, 50, in.Flags|manyIDs, 1|2<<30
				f.Add(in.bytes())
				in.Flags, in.Shift, in.BadID = in.Flags|train, 20000, 1<<40
				f.Add(in.bytes())
				for i, more := range []uint16{segmented, normed | train, segmented | normed, segmented | normed | train} {
					in.Flags = in.Flags&^(segmented|normed|train) | more
					in.Seed = []uint32{19, 1 << 12, 8 | 2<<12, 64 | 8 | 1<<12}[i]
					f.Add(in.bytes(1, 2, -3)) // no infinity, which makes a row NaN
				}
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
		all := []*rowvec.Matrix{out, weight, position}
		var segment *rowvec.Matrix
		if t.in.has(segmented) {
			segment = t.matrix(3, 1+int(t.in.Seed%5), dim)
			all = append(all, segment)
		}
		if t.in.has(normed) { // gradients of weight and bias
			all = append(all, t.matrix(0, 1, dim), t.matrix(0, 1, dim))
		}
		t.place(all...)
		gradients := append([]*rowvec.Matrix{weight, position}, all[3:]...)
		if t.in.has(variant) { // those are gradients, which share no memory with tables
			table := func(m *rowvec.Matrix) *rowvec.Matrix {
				if m == nil {
					return nil
				}
				own := *m
				own.Data = make([]float32, (m.Rows-1)*m.Stride+m.Cols)
				t.values.fill(own.Data)
				return &own
			}
			weight, position, segment = table(weight), table(position), table(segment)
		}

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
		more := []lookup.LayerOption{lookup.Dropout(mask.P, mask.Seed)}
		c := composition{weight: *weight, positions: positions, scale: scale, padding: padding, typePadding: -1, mask: mask}
		if segment != nil {
			var options []lookup.Option
			if t.in.Seed&64 != 0 {
				c.typePadding = int(t.in.Seed>>7) % segment.Rows
				options = append(options, lookup.Padding(c.typePadding))
			}
			c.segments = *segment
			more = append(more, lookup.Segments(must(lookup.FromMatrix(*segment, options...))))
		}
		if t.in.has(normed) {
			c.epsilon = [...]float32{0, 1e-12, 1e-5, 1}[t.in.Seed>>12%4]
			more = append(more, lookup.LayerNorm(c.epsilon))
		}
		layer := must(lookup.NewLayer(must(lookup.FromMatrix(*weight, options...)), positions, more...))
		for _, p := range layer.Parameters() {
			switch p.Name {
			case "norm.weight":
				c.normWeight = p.Value.Data
				t.values.fill(c.normWeight)
			case "norm.bias":
				c.normBias = p.Value.Data
				t.values.fill(c.normBias)
			}
		}

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
		} else { // or else it does not matter where they start
			t.checkShape(start >= 0 && (kind == 0 || n == 0 || start+seq <= rows))
		}
		t.checkIDs("id", l, vocab)
		c.ids, c.at = l, at

		// Types of tokens take turns with explicit positions in being bad, or in memory that is no list's.
		c.types = make([]int, n)
		var types ids
		switch {
		case segment != nil && own == nil && t.in.Seed&8 != 0:
			t.in.At = 4 // int
			types = t.ids(1, n, segment.Rows)
			c.types = types.(list[int])
			in = in.Types(c.types)
			t.checkIDs("type id", types, segment.Rows)
		case segment != nil && t.in.Seed&16 != 0:
			for i := range c.types {
				c.types[i] = i % segment.Rows
			}
			in = in.Types(c.types)
		}

		if t.in.has(variant) {
			t.op = "lookup.Layer.Backward" + training
			var grads []rowvec.Matrix
			for i, m := range gradients {
				if i != 1 || kind == 1 { // positions that are learned
					grads = append(grads, *m)
				}
			}
			for i, g := range grads {
				t.checkApart("", g, "", *out)
				for _, other := range grads[:i] {
					t.checkApart("", g, "", other)
				}
				t.checkInputApart(g, l, own, types)
			}
			t.call = kernel{
				func() error { return layer.Backward(grads, in, *out) },
				func() { c.backward(grads, *out) },
			}
			if t.in.has(train) {
				t.call = kernel{
					func() error {
						if err := stepsAgree(layer, in, *out, mask.Step); err != nil {
							return err
						}
						return layer.BackwardTrain(grads, in, *out, mask.Step)
					},
					func() {
						dOut := must(rowvec.NewMatrix(out.Rows, out.Cols))
						kernels.Dropout(dOut, *out, mask)
						c.backward(grads, dOut)
					},
				}
			}
			return
		}
		t.op = "lookup.Layer.Forward" + training
		t.exactNaN = kind == 0 && !scaled && segment == nil && !t.in.has(normed) && mask.Threshold() == 0
		t.checkApart("", *out, "", *weight)
		t.checkInputApart(*out, l, own, types)
		if kind == 1 {
			t.checkApart("", *out, "", *position)
		}
		if segment != nil {
			t.checkApart("", *out, "", *segment)
		}
		t.call = kernel{
			func() error { return layer.Forward(*out, in) },
			func() { c.forward(*out) },
		}
		if eval := t.call; t.in.has(train) {
			t.call = kernel{
				func() error { return layer.ForwardTrain(*out, in, mask.Step) },
				func() { eval.define(); kernels.Dropout(*out, *out, mask) },
			}
		}
	})
}

// stepsAgree holds Layer.StepTrain to gradients and steps apart, of the same bits but for the signs of zeros, and leaves all tables as they
// were.
func stepsAgree(l *lookup.Layer, in lookup.Input, dOut rowvec.Matrix, step uint64) error {
	type tables [][][]float32
	tablesOf := func() (all tables) {
		for _, p := range l.Parameters() {
			var rows [][]float32
			for i := range p.Value.Rows {
				rows = append(rows, slices.Clone(p.Value.Row(i)))
			}
			all = append(all, rows)
		}
		return all
	}
	before := tablesOf()
	restore := func() {
		for k, p := range l.Parameters() {
			for i, row := range before[k] {
				copy(p.Value.Row(i), row)
			}
		}
	}
	defer restore()
	method := lookup.Adagrad{Rate: 0.5}
	grads, optimizers := l.NewSparseGradients(), must(l.NewOptimizers(method))
	err := l.BackwardSparseTrain(grads, in, dOut, step)
	for k, g := range grads {
		if err == nil {
			err = optimizers[k].Step(g)
		}
	}
	want := tablesOf()
	restore()
	got := l.StepTrain(must(l.NewOptimizers(method)), in, dOut, step)
	if (got == nil) != (err == nil) {
		return fmt.Errorf("StepTrain: error %v, and apart %v", got, err)
	}
	same := func(x, y float32) bool { return x == y || x != x && y != y }
	for k, rows := range tablesOf() {
		for i, row := range rows {
			if !slices.EqualFunc(row, want[k][i], same) {
				return fmt.Errorf("StepTrain: row %d of parameter %d is %v, want %v", i, k, row, want[k][i])
			}
		}
	}
	return nil
}

// checkInputApart adds the error that a destination deserves which shares an element with ids, or with one of the lists
// that there may be.
func (t *trial) checkInputApart(dst rowvec.Matrix, l ids, lists ...ids) {
	t.checkIDsApart("", dst, "", l)
	for _, list := range lists {
		if list != nil {
			t.checkIDsApart("", dst, "", list)
		}
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

// composition is the definition of a layer: kernels one after the other.
type composition struct {
	weight               rowvec.Matrix
	positions            lookup.Positions
	segments             rowvec.Matrix // without columns if there are none
	normWeight, normBias []float32     // nil if there is no norm
	epsilon              float32
	scale                float32
	padding, typePadding int
	mask                 rowvec.Mask

	ids       ids
	at, types []int
}

// sum is what may be normalised.
func (c *composition) sum(dst rowvec.Matrix) {
	if c.positions == nil && c.segments.Cols == 0 && c.scale == 1 {
		c.ids.gather(dst, c.weight).define()
		return
	}
	c.ids.gatherScaled(dst, c.weight, c.scale).define()
	for i := range dst.Rows {
		if c.segments.Cols > 0 {
			kernels.Add(dst.Row(i), c.segments.Row(c.types[i]))
		}
		if c.positions != nil {
			row := must(rowvec.NewMatrix(1, dst.Cols))
			if err := c.positions.Fill(row, c.at[i]); err != nil {
				panic(err)
			}
			kernels.Add(dst.Row(i), row.Data)
		}
	}
}

func (c *composition) forward(dst rowvec.Matrix) {
	c.sum(dst)
	if c.normWeight != nil {
		kernels.LayerNorm(dst, dst, c.normWeight, c.normBias, c.epsilon)
	}
}

// normRows is the number of rows for which gradients of a norm's weight and bias are added up first.
const normRows = 64

// backward adds to the gradients of the layer's parameters, whose memory may be that of the tables.
func (c *composition) backward(grads []rowvec.Matrix, dOut rowvec.Matrix) {
	if c.normWeight != nil {
		sum, dSum := must(rowvec.NewMatrix(dOut.Rows, dOut.Cols)), must(rowvec.NewMatrix(dOut.Rows, dOut.Cols))
		c.sum(sum)
		last := len(grads) - 2
		for lo := 0; lo < sum.Rows; lo += normRows {
			n := min(normRows, sum.Rows-lo)
			part := func(m rowvec.Matrix) rowvec.Matrix {
				return rowvec.Matrix{Rows: n, Cols: m.Cols, Data: m.Data[lo*m.Stride:], Stride: m.Stride}
			}
			dWeight, dBias := make([]float32, sum.Cols), make([]float32, sum.Cols)
			kernels.LayerNormBackward(part(dSum), part(dOut), part(sum), c.normWeight, c.epsilon, dWeight, dBias)
			kernels.Add(grads[last].Row(0), dWeight)
			kernels.Add(grads[last+1].Row(0), dBias)
		}
		grads, dOut = grads[:last], dSum
	}
	for i := range dOut.Rows {
		if id := c.ids.at(i); id != c.padding {
			kernels.AddScaled(grads[0].Row(id), c.scale, dOut.Row(i))
		}
		if kind := c.types[i]; c.segments.Cols > 0 && kind != c.typePadding {
			kernels.AddScaled(grads[len(grads)-1].Row(kind), 1, dOut.Row(i))
		}
	}
	if c.positions != nil && c.positions.Trainable() {
		kernels.ScatterAdd(grads[1], c.at, 1, dOut)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
