package main

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/klauspost/cpuid/v2"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// GPT-2's layer.
const (
	dim = 768
	seq = 1024 // positions, and tokens of all sequences but the last
)

var scale = float32(math.Sqrt(dim))

// settings are what flags choose.
type settings struct {
	text                   string
	batch, rounds, workers int
	quick                  bool
	plots                  string // where pictures go, or ""
}

// model is a layer with its parameters, which naive loops work on too.
type model struct {
	kind              string // of positions
	layer             *lookup.Layer
	tokens, positions rowvec.Matrix
	trained           bool // positions are parameters
}

// side is one implementation of the layer.
type side struct {
	name     string
	forward  func(dst rowvec.Matrix, b batch) error
	backward func(grads []rowvec.Matrix, b batch, dOut rowvec.Matrix) error // grads as in lookup.Layer.Backward
}

// sidesOf returns the naive loops, which are the yardstick, and the layer at every level of this machine.
func sidesOf(m *model) []side {
	sides := []side{{
		"naive",
		func(dst rowvec.Matrix, b batch) error {
			naiveEmbed(dst.Data, m.tokens.Data, b.ids, dim, scale, m.positions.Data, seq)
			return nil
		},
		func(grads []rowvec.Matrix, b batch, dOut rowvec.Matrix) error {
			if m.trained {
				naiveEmbedBackward(grads[0].Data, grads[1].Data, b.ids, dim, scale, dOut.Data, seq)
			} else {
				naiveScatterAdd(grads[0].Data, b.ids, dim, scale, dOut.Data)
			}
			return nil
		},
	}}
	for _, level := range isa.Available {
		sides = append(sides, side{
			level.String(),
			func(dst rowvec.Matrix, b batch) error {
				defer isa.Set(level)()
				return m.layer.Forward(dst, b.in)
			},
			func(grads []rowvec.Matrix, b batch, dOut rowvec.Matrix) error {
				defer isa.Set(level)()
				return m.layer.Backward(grads, b.in, dOut)
			},
		})
	}
	return sides
}

// batch is some sequences of the text.
type batch struct {
	ids []uint
	in  lookup.Input // the same ids
}

// batches cuts a text into batches of at most n sequences. Only the last sequence of all may be shorter than the others:
// its batch is ragged.
func batches(ids []uint, n int) []batch {
	n = min(n, len(ids)/seq+1)
	var all []batch
	for part := range slices.Chunk(ids, n*seq) {
		b := batch{part, lookup.Batch(part, seq)}
		if len(part)%seq != 0 {
			var offsets []int
			for first := 0; first < len(part); first += seq {
				offsets = append(offsets, first)
			}
			b.in = lookup.Ragged(part, append(offsets, len(part)))
		}
		all = append(all, b)
	}
	return all
}

// job is the work: the batches of a text, and the memory that all sides share so that no one has better pages.
type job struct {
	batches   []batch
	dst, dOut rowvec.Matrix   // of the largest batch
	grads     []rowvec.Matrix // of tokens and positions
	from, to  []float32       // for the copy limit
}

// layerReport does the main job.
func layerReport(s settings, stderr io.Writer, sides func(*model) []side) (*report, error) {
	ids, name, err := readText(s.text)
	if err != nil {
		return nil, fmt.Errorf("%w (-text names another)", err)
	}
	text := ids
	if s.quick {
		ids = ids[:min(len(ids), 5000)]
		s.batch, s.rounds = 2, 3
	}
	models, err := newModels(s.workers)
	if err != nil {
		return nil, err
	}
	j := newJob(ids, s.batch, models[0].layer)
	bar := newProgress(stderr, "comparing", len(models)*len(sides(models[0]))*(len(j.batches)+1))
	for _, m := range models {
		if err := j.verify(m, sides(m), bar.step); err != nil {
			bar.clear()
			return nil, err
		}
		runtime.GC() // what comes next gets the memory that this no longer needs, and not new pages
	}
	bar.done()

	j.newCopy(s.quick)
	r := &report{
		Host: thisHost(), Text: name, Tokens: len(ids), Vocab: vocab, Dim: dim, Sequence: seq,
		Batch: s.batch, Workers: s.workers, Rounds: s.rounds, SameBits: true, CopyBytes: 4 * len(j.from),
	}
	bar = newProgress(stderr, "measuring", 2*len(models)*s.rounds*(len(sides(models[0]))+1))
	var copies []float64
	for _, m := range models {
		for _, d := range []string{"forward", "backward"} {
			results, copied, err := j.time(m, d, sides(m), s.rounds, bar.step)
			if err != nil {
				bar.clear()
				return nil, err
			}
			r.Results = append(r.Results, results...)
			copies = append(copies, copied...)
		}
	}
	bar.done()
	r.CopyGBs = j.copyBytes() / median(copies) / 1e9
	r.ids = text
	r.SkipGram, err = learn(text, s, stderr, nil)
	return r, err
}

// newModels returns the layer with learned and with sinusoidal positions over one table of tokens.
func newModels(workers int) ([]*model, error) {
	tokens, err := lookup.NewEmbedding(vocab, dim, lookup.Xavier(1), lookup.Scaled(), lookup.Workers(workers))
	if err != nil {
		return nil, err
	}
	learned, err := positional.NewLearned(seq, dim, 2)
	if err != nil {
		return nil, err
	}
	sinusoidal, err := positional.NewSinusoidal(seq, dim)
	if err != nil {
		return nil, err
	}
	layers := make([]*lookup.Layer, 2)
	for i, positions := range []lookup.Positions{learned, sinusoidal} {
		if layers[i], err = lookup.NewLayer(tokens, positions); err != nil {
			return nil, err
		}
	}
	table := layers[0].Parameters()[0].Value
	return []*model{
		{"learned", layers[0], table, learned.Table(), true},
		{"sinusoidal", layers[1], table, sinusoidal.Table(), false},
	}, nil
}

func newJob(ids []uint, n int, layer *lookup.Layer) *job {
	j := &job{batches: batches(ids, n), grads: layer.NewGradients()}
	j.dst = newMatrix(len(j.batches[0].ids), dim)
	j.dOut = newMatrix(len(j.batches[0].ids), dim)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range j.dOut.Data {
		j.dOut.Data[i] = rng.Float32() - 0.5
	}
	return j
}

// firstRows returns the first n rows of m.
func firstRows(m rowvec.Matrix, n int) rowvec.Matrix { return rowsFrom(m, 0, n) }

// newCopy makes buffers of which not even the last-level cache holds much. Pages never written to are all the same page
// of zeros, so they are written to.
func (j *job) newCopy(quick bool) {
	bytes := max(128<<20, 2*cpuid.CPU.Cache.L3)
	if quick {
		bytes = 32 << 20
	}
	j.from, j.to = make([]float32, bytes/4), make([]float32, bytes/4)
	for i := range j.from {
		j.from[i], j.to[i] = 1, 2
	}
}

// copyBytes counts both directions.
func (j *job) copyBytes() float64 { return 2 * 4 * float64(len(j.from)) }

// verify runs all sides over the whole text and compares them with the first: every output of every batch, and the
// gradients that have come together at the end.
func (j *job) verify(m *model, sides []side, step func()) error {
	wantRows := newMatrix(j.dst.Rows, dim)
	token := 0
	for _, b := range j.batches {
		want := firstRows(wantRows, len(b.ids))
		for i, s := range sides {
			got := want
			if i > 0 {
				got = firstRows(j.dst, len(b.ids))
				clear(got.Data) // of what the side before has left there
			}
			if err := s.forward(got, b); err != nil {
				return fmt.Errorf("%s positions, forward, %s: %w", m.kind, s.name, err)
			}
			if row, col, differs := difference(want, got); differs {
				return fmt.Errorf("%s positions, forward, token %d of the text: %w", m.kind, token+row,
					differenceError(want, got, row, col, sides[0].name, s.name))
			}
			step()
		}
		token += len(b.ids)
	}

	grads := j.grads
	if !m.trained {
		grads = grads[:1]
	}
	want := m.layer.NewGradients()
	for i, s := range sides {
		got := want
		if i > 0 {
			got = grads
			for _, g := range got {
				clear(g.Data)
			}
		}
		if err := j.backward(s, got); err != nil {
			return fmt.Errorf("%s positions, backward, %s: %w", m.kind, s.name, err)
		}
		for p, parameter := range m.layer.Parameters() {
			if row, col, differs := difference(want[p], got[p]); differs {
				return fmt.Errorf("%s positions, gradient of %s, row %d: %w", m.kind, parameter.Name, row,
					differenceError(want[p], got[p], row, col, sides[0].name, s.name))
			}
		}
		step()
	}
	return nil
}

// difference returns the first place where two matrices of one shape differ in any bit.
func difference(a, b rowvec.Matrix) (row, col int, differs bool) {
	for i := range a.Rows {
		y := b.Row(i)
		for k, x := range a.Row(i) {
			if math.Float32bits(x) != math.Float32bits(y[k]) {
				return i, k, true
			}
		}
	}
	return 0, 0, false
}

func differenceError(want, got rowvec.Matrix, row, col int, yardstick, name string) error {
	x, y := want.Row(row)[col], got.Row(row)[col]
	return fmt.Errorf("column %d: %s has %v (%#08x), %s has %v (%#08x)",
		col, yardstick, x, math.Float32bits(x), name, y, math.Float32bits(y))
}

// forward runs a side over the whole text.
func (j *job) forward(s side) error {
	for _, b := range j.batches {
		if err := s.forward(firstRows(j.dst, len(b.ids)), b); err != nil {
			return err
		}
	}
	return nil
}

// backward adds up the gradients of the whole text. All batches have the same gradient of their outputs.
func (j *job) backward(s side, grads []rowvec.Matrix) error {
	for _, b := range j.batches {
		if err := s.backward(grads, b, firstRows(j.dOut, len(b.ids))); err != nil {
			return err
		}
	}
	return nil
}

// copy measures the copy limit as it goes on: on a virtual machine the first copy behind other sides took 7 to 280 ms, and those
// right behind it 7.
func (j *job) copy() (time.Duration, error) {
	copy(j.to, j.from)
	begin := time.Now()
	copy(j.to, j.from)
	return time.Since(begin), nil
}

// time measures all sides in one direction, and between them the copy limit, whose seconds it returns too.
func (j *job) time(m *model, direction string, sides []side, rounds int, step func()) ([]result, []float64, error) {
	works := []work{j.copy}
	bytes := forwardBytes(j.batches)
	for _, s := range sides {
		works = append(works, timed(func() error { return j.forward(s) }))
	}
	if direction == "backward" {
		bytes = backwardBytes(j.batches, m.trained)
		grads := j.grads
		if !m.trained {
			grads = grads[:1]
		}
		for i, s := range sides {
			works[1+i] = timed(func() error { return j.backward(s, grads) })
		}
	}
	runtime.GC()
	seconds, err := measure(rounds, works, step)
	if err != nil {
		return nil, nil, err
	}
	copied, seconds := seconds[0], seconds[1:]
	tokens := 0
	for _, b := range j.batches {
		tokens += len(b.ids)
	}
	var results []result
	for i, s := range sides {
		results = append(results, result{
			Positions: m.kind,
			Direction: direction,
			Side:      s.name,
			TokensPS:  float64(tokens) / median(seconds[i]),
			GBs:       bytes / median(seconds[i]) / 1e9,
			OfNaive:   ratio(seconds[0], seconds[i]),
			OfCopy:    ratio(copied, seconds[i]) * bytes / j.copyBytes(),
		})
	}
	return results, copied, nil
}

const (
	rowBytes = 4 * dim
	idBytes  = bits.UintSize / 8 // of a uint, which is what the tokenizer hands out
)

// forwardBytes counts, for each token, its id, the rows of the token and of its position read, and the output written.
func forwardBytes(batches []batch) (bytes float64) {
	for _, b := range batches {
		bytes += float64(len(b.ids) * (idBytes + 3*rowBytes))
	}
	return bytes
}

// backwardBytes counts, for each token, its id, its row of dOut read, its row of the gradient read and written, and,
// where positions are trained, dOut read once more, and once per batch the gradient of positions read and written.
func backwardBytes(batches []batch, trained bool) (bytes float64) {
	for _, b := range batches {
		bytes += float64(len(b.ids) * (idBytes + 3*rowBytes))
		if trained {
			bytes += float64((len(b.ids) + 2*min(seq, len(b.ids))) * rowBytes)
		}
	}
	return bytes
}
