package fuzz

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/positional"
)

// scores is the shape of scores that get biases, (batch, head, query) by key, and where they stand.
type scores struct {
	heads, queries, queryStart, keyStart int
}

// FuzzBias holds positional.ALiBi and positional.RelativeBias, forward and backward, to loops over all scores.
func FuzzBias(f *testing.F) {
	seeds(f)
	for kind := range uint16(4) {
		for start := range uint8(4) {
			in := input{N: 3, Rows: 1, Positions: 40, Seq: 70, At: 2, Start: 7 | start<<6, Flags: kind&1*variant | kind>>1*train,
				Spread: 14, BadAt: 112, IDs: uint8(kind)}
			f.Add(in.bytes())
			in.Positions, in.Seq, in.Gaps, in.Flags = 4200, 5, [4]uint8{3, 1}, in.Flags|manyIDs
			f.Add(in.bytes())
			in.Overlap, in.Shift, in.Flags = 3, 9, in.Flags&^manyIDs|misfit
			f.Add(in.bytes())
		}
	}
	fuzz(f, func(t *trial) {
		s := scores{heads: 1 + int(t.in.At)%8, queries: int(t.in.Seq) % 140}
		gap, batch, keys := int(t.in.Gaps[0]), int(t.in.N)%4, int(t.in.Positions)%80
		if t.in.has(manyIDs) {
			keys = int(t.in.Positions) % 9000
		}
		switch t.in.Start >> 6 {
		case 1:
			s.queryStart = keys
		case 2:
			s.queryStart, s.keyStart = 1<<20, 1<<20-int(t.in.Start)*8
		case 3:
			s.keyStart = 1 << 24
		}
		s.queryStart += int(t.in.Start) % 64
		for s.heads*s.queries*batch*gap > maxMatrix {
			s.queries /= 2
		}
		rows := s.heads * s.queries * batch
		if t.in.has(misfit) {
			rows = int(t.in.N) % 300
			if t.in.Scale&1 != 0 {
				s.queryStart = int(t.in.BadID)
			}
			if t.in.Scale&2 != 0 {
				s.keyStart = int(t.in.BadID)
			}
		} else {
			s.queries = max(1, s.queries)
			if t.in.Scale&1 != 0 {
				s.queryStart = math.MaxInt - s.queries
			}
			if t.in.Scale&2 != 0 {
				s.keyStart = math.MaxInt - keys
			}
		}
		for rows*(keys+gap) > maxMatrix {
			keys /= 2
		}

		bidirectional, buckets := t.in.IDs&1 != 0, 2+int(t.in.Spread)
		if bidirectional {
			buckets = 4 + 2*int(t.in.Spread)
		}
		maxDistance := buckets/2 + 1 + int(t.in.BadAt)%2000
		m, table := t.matrix(0, rows, keys), t.matrix(1, buckets, s.heads)
		relative := t.in.has(variant)
		if relative {
			t.place(m, table)
		} else {
			t.place(m)
		}
		t.checkShape(rows == 0 || s.queries > 0 && rows%(s.heads*s.queries) == 0 && s.queryStart >= 0 && s.keyStart >= 0 &&
			s.queryStart <= math.MaxInt-s.queries && s.keyStart <= math.MaxInt-keys)

		switch {
		case !relative:
			t.op = "positional.ALiBi.AddTo"
			alibi := must(positional.NewALiBi(s.heads))
			slopes := alibi.Slopes()
			t.call = kernel{
				func() error { return alibi.AddTo(*m, s.queries, s.queryStart, s.keyStart) },
				func() {
					s.each(*m, func(head, relative int, x *float32) {
						*x -= float32(slopes[head] * float32(max(relative, -relative)))
					})
				},
			}
		case !t.in.has(train):
			t.op = "positional.RelativeBias.AddTo"
			t.checkApart("scores", *m, "table", *table)
			bias := must(positional.RelativeBiasFrom(*table, maxDistance, bidirectional))
			bucket := bucketsOf(bias)
			t.call = kernel{
				func() error { return bias.AddTo(*m, s.queries, s.queryStart, s.keyStart) },
				func() {
					s.each(*m, func(head, relative int, x *float32) { *x += table.Row(bucket(relative))[head] })
				},
			}
		default:
			t.op = "positional.RelativeBias.Backward"
			t.checkApart("grad", *table, "dScores", *m)
			bias := must(positional.NewRelativeBias(s.heads, buckets, maxDistance, bidirectional, 1))
			t.call = kernel{
				func() error { return bias.Backward(*table, *m, s.queries, s.queryStart, s.keyStart) },
				func() { s.backward(*table, *m, bucketsOf(bias)) },
			}
		}
	})
}

// each calls do with each element of scores, its head, and the position of its key less that of its query.
func (s *scores) each(m rowvec.Matrix, do func(head, relative int, x *float32)) {
	for i := range m.Rows {
		for j := range m.Row(i) {
			do(i/s.queries%s.heads, s.keyStart+j-(s.queryStart+i%s.queries), &m.Row(i)[j])
		}
	}
}

// backward adds the gradient of the biases to grad: part by part, and in a part by relative position and then by bucket.
func (s *scores) backward(grad, dScores rowvec.Matrix, bucket func(relative int) int) {
	const keys, queries = 4096, 64
	for col := 0; col < dScores.Cols; col += keys {
		width := min(keys, dScores.Cols-col)
		for first := 0; first < s.queries && dScores.Rows > 0; first += queries {
			n := min(queries, s.queries-first)
			for head := range s.heads {
				sums := make([]float32, width+n-1)
				for row := head*s.queries + first; row < dScores.Rows; row += s.heads * s.queries {
					for i := range n {
						for j, x := range dScores.Row(row + i)[col:][:width] {
							sums[n-1-i+j] += x
						}
					}
				}
				lowest := s.keyStart + col - (s.queryStart + first + n - 1)
				for i := 0; i < len(sums); {
					b, sum := bucket(lowest+i), 0.0
					for ; i < len(sums) && bucket(lowest+i) == b; i++ {
						sum += float64(sums[i])
					}
					grad.Row(b)[head] += float32(sum)
				}
			}
		}
	}
}

// bucketsOf returns positional.RelativeBucket for a bias, which keeps what it has returned.
func bucketsOf(bias *positional.RelativeBias) func(relative int) int {
	known := make(map[int]int)
	return func(relative int) int {
		relative = max(min(relative, bias.MaxDistance()), -bias.MaxDistance())
		b, ok := known[relative]
		if !ok {
			b = positional.RelativeBucket(relative, bias.Buckets(), bias.MaxDistance(), bias.Bidirectional())
			known[relative] = b
		}
		return b
	}
}
