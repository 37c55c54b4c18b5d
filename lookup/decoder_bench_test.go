package lookup_test

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec/lookup"
	"github.com/rowvec/rowvec/positional"
)

// BenchmarkDecoder is what a decoder asks for, one token at a time, each at the next position, all in cache: by a layer, and by
// loops in Go without a check.
//
//	go test -run '^$' -bench Decoder ./lookup
func BenchmarkDecoder(b *testing.B) {
	const vocab, length, dim, heads = 1000, 1024, 768, 12
	tokens := must(lookup.NewEmbedding(vocab, dim, lookup.Scaled()))
	learned := must(positional.NewLearned(length, dim, 1))
	sinusoidal := must(positional.NewSinusoidal(0, dim))
	withLearned, withSinusoidal := must(lookup.NewLayer(tokens, learned)), must(lookup.NewLayer(tokens, sinusoidal))
	rotary, withTable := must(positional.NewRotary(dim/heads)), must(positional.NewRotary(dim/heads, positional.Table(length)))
	bag := must(lookup.NewBag(must(lookup.NewEmbedding(vocab, dim/heads)), lookup.Sum))

	ids, bagged := make([]int32, 1), make([]int32, 10)
	x, query, pooled := newMatrix(b, 1, dim), newMatrix(b, 1, dim), newMatrix(b, 1, dim/heads)
	frequencies := make([]float64, dim/2)
	for i := range frequencies {
		frequencies[i] = math.Pow(10000, -2*float64(i)/dim)
	}
	sum := func(to []float32, id int, positions []float32) {
		for j, t := range tokens.Weight().Row(id) {
			to[j] = t*tokens.Scale() + positions[j]
		}
	}
	for _, c := range []struct {
		name  string
		ours  func(pos int) error
		naive func(pos int)
	}{
		{"embedding", func(int) error { return tokens.Forward(x, lookup.Sequence(ids)) }, func(int) {
			for j, t := range tokens.Weight().Row(int(ids[0])) {
				x.Data[j] = t * tokens.Scale()
			}
		}},
		{"learned", func(pos int) error { return withLearned.Forward(x, lookup.Sequence(ids).From(pos)) }, func(pos int) {
			sum(x.Data, int(ids[0]), learned.Table().Row(pos))
		}},
		{"sinusoidal", func(pos int) error { return withSinusoidal.Forward(x, lookup.Sequence(ids).From(pos)) }, func(pos int) {
			for i, f := range frequencies {
				sin, cos := math.Sincos(float64(pos) * f)
				query.Data[2*i], query.Data[2*i+1] = float32(sin), float32(cos)
			}
			sum(x.Data, int(ids[0]), query.Data)
		}},
		{"rotary", func(pos int) error { return rotary.Apply(query, query, heads, 1, pos) }, func(pos int) {
			var sin, cos [dim / heads / 2]float32
			for i := range sin {
				s, c := math.Sincos(float64(pos) * frequencies[i*heads])
				sin[i], cos[i] = float32(s), float32(c)
			}
			rotate(query.Data, cos[:], sin[:])
		}},
		{"rotary from a table", func(pos int) error { return withTable.Apply(query, query, heads, 1, pos) }, nil},
		{"bag of 10", func(int) error { return bag.Forward(pooled, lookup.Sequence(bagged)) }, func(int) {
			clear(pooled.Data)
			for _, id := range bagged {
				for j, t := range bag.Tokens().Weight().Row(int(id)) {
					pooled.Data[j] += t
				}
			}
		}},
	} {
		each := func(do func(pos int)) func(b *testing.B) {
			return func(b *testing.B) {
				for pos := 0; b.Loop(); pos = (pos + 1) % length {
					ids[0], bagged[pos%len(bagged)] = int32(pos*7%vocab), int32(pos*77%vocab)
					do(pos)
				}
			}
		}
		b.Run(c.name+"/rowvec", each(func(pos int) {
			if err := c.ours(pos); err != nil {
				b.Fatal(err)
			}
		}))
		if c.naive != nil {
			b.Run(c.name+"/naive Go", each(c.naive))
		}
	}
}

// rotate rotates all heads of a row, whose halves are pairs, by angles with these cosines and sines.
func rotate(row, cos, sin []float32) {
	half := len(cos)
	for ; len(row) > 0; row = row[2*half:] {
		low, high := row[:half], row[half:2*half]
		for i, c := range cos {
			a, b := low[i], high[i]
			low[i], high[i] = a*c-b*sin[i], b*c+a*sin[i]
		}
	}
}
