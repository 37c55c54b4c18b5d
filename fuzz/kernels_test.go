package fuzz

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/kernels"
)

// seeds adds one case for each way that a call can go: every tail of a row, much work, both ends of memory, bad ids,
// shared memory, misfits.
func seeds(f *testing.F) {
	plain := input{Dim: 63, N: 12, Rows: 9, Positions: 2, Seq: 4, Start: 2, Gaps: [4]uint8{1, 0, 3, 0}, Spread: 5,
		Scale: math.Float32bits(1.7), Seed: 1}
	add := func(change func(in *input), floats ...float32) {
		in := plain
		change(&in)
		f.Add(in.bytes(floats...))
	}
	f.Add([]byte{})
	add(func(*input) {})
	add(func(in *input) { in.Dim, in.N, in.Heads, in.Flags = 1, 1, 0xff, variant })
	add(func(in *input) { in.Dim, in.IDs, in.At = 127, 1, 2 })
	add(func(in *input) { in.Dim, in.IDs, in.At, in.Flags = 257, 6, 3, variant }, 0, float32(math.Inf(1)), -0x1p-149)
	add(func(in *input) { in.Dim, in.N, in.Seq, in.Flags, in.Gaps = 7, 4999, 50, manyIDs, [4]uint8{} })
	add(func(in *input) { in.Dim, in.N, in.Rows, in.Flags = 300, 40, 2000, manyRows })
	add(func(in *input) { in.Dim, in.N, in.Rows, in.Spread, in.Flags = 397, 23, 4000, 0, manyRows }) // rows abreast
	add(func(in *input) {
		in.Dim, in.N, in.Rows, in.Flags, in.Gaps = 336, 500, 4000, manyRows|manyIDs, [4]uint8{}
	})
	add(func(in *input) { in.Dim, in.IDs = 0, 3 })
	add(func(in *input) { in.Rows = 0 })
	add(func(in *input) { in.Flags = misfit })
	for kind := range uint8(8) {
		add(func(in *input) { in.IDs, in.At, in.Bad, in.BadAt, in.BadID = kind, kind, 2+kind&1+kind<<2, 7, 1<<40 })
	}
	for pair := range uint8(6) {
		add(func(in *input) { in.Overlap, in.Shift, in.Dim = 3+pair<<2, 64, 40 })
		add(func(in *input) { in.Overlap, in.Flags = 3+pair<<2, side })
	}
	for i := range uint64(4) { // off the lines of the caches, each argument by its own number of elements
		add(func(in *input) {
			in.Dim, in.Gaps, in.Heads, in.Align, in.IDs = 64, [4]uint8{}, uint8(i%2)*0xff, 0xfedcba9876543211<<(4*i)|0x8<<i, uint8(i)
		})
		add(func(in *input) {
			in.Dim, in.Overlap, in.Shift, in.Flags, in.Gaps = 16, 3+uint8(i)<<2, uint16(i)<<8+5, side, [4]uint8{8, 8, 8}
		})
		add(func(in *input) { in.Dim, in.Overlap, in.Align, in.Gaps = 16, 3+uint8(i)<<2, i, [4]uint8{} }) // the same memory
	}
	add(func(in *input) { in.Overlap, in.Rows = 3, 0 })
	add(func(in *input) { in.Overlap, in.Shift = 2, 9 })
	add(func(in *input) { in.Overlap, in.Shift, in.Flags = 2, 9, shareAt|variant })
}

func FuzzGather(f *testing.F) {
	seeds(f)
	fuzz(f, func(t *trial) {
		t.op, t.exactNaN = "Gather", true
		dst, table, l := t.gather()
		t.call = l.gather(dst, table)
	})
}

func FuzzGatherScaled(f *testing.F) {
	seeds(f)
	fuzz(f, func(t *trial) {
		t.op = "GatherScaled"
		dst, table, l := t.gather()
		t.call = l.gatherScaled(dst, table, t.scale())
	})
}

func (t *trial) scale() float32 { return math.Float32frombits(t.in.Scale) }

func (t *trial) gather() (dst, table rowvec.Matrix, l ids) {
	n := t.count()
	d, tab := t.matrix(0, n, t.dim()), t.matrix(1, t.tableRows(), t.dim())
	t.place(d, tab)
	l = t.ids(0, n, tab.Rows)
	t.checkIDs("id", l, tab.Rows)
	t.checkApart("dst", *d, "table", *tab)
	t.checkIDsApart("dst", *d, "ids", l)
	return *d, *tab, l
}

func FuzzScatterAdd(f *testing.F) {
	seeds(f)
	fuzz(f, func(t *trial) {
		t.op = "ScatterAdd"
		n := t.count()
		src, dst := t.matrix(0, n, t.dim()), t.matrix(1, t.tableRows(), t.dim())
		t.place(src, dst)
		l := t.ids(0, n, dst.Rows)
		t.checkIDs("id", l, dst.Rows)
		t.checkApart("dst", *dst, "src", *src)
		t.checkIDsApart("dst", *dst, "ids", l)
		t.call = l.scatterAdd(*dst, t.scale(), *src)
	})
}

func FuzzEmbed(f *testing.F) {
	seeds(f)
	fuzz(f, func(t *trial) {
		t.op = "Embed"
		n, start, seq, rows := t.sequences(t.count())
		dst, table, positions := t.matrix(0, n, t.dim()), t.matrix(1, t.tableRows(), t.dim()), t.matrix(2, rows, t.dim())
		t.place(dst, table, positions)
		l := t.ids(0, n, table.Rows)
		t.checkIDs("id", l, table.Rows)
		t.checkSequences(n, start, seq, rows)
		t.checkApart("dst", *dst, "table", *table)
		t.checkApart("dst", *dst, "positions", *positions)
		t.checkIDsApart("dst", *dst, "ids", l)
		t.call = l.embed(*dst, *table, t.scale(), *positions, start, seq)
	})
}

func FuzzEmbedAt(f *testing.F) {
	seeds(f)
	fuzz(f, func(t *trial) {
		t.op = "EmbedAt"
		n, dim := t.count(), t.dim()
		dst, table, positions := t.matrix(0, n, dim), t.matrix(1, t.tableRows(), dim), t.matrix(2, int(t.in.Positions)%65, dim)
		t.place(dst, table, positions)
		l, at := t.ids(0, n, table.Rows), t.ids(1, n, positions.Rows)
		t.checkIDs("id", l, table.Rows)
		t.checkIDs("position id", at, positions.Rows)
		t.checkApart("dst", *dst, "table", *table)
		t.checkApart("dst", *dst, "positions", *positions)
		t.checkIDsApart("dst", *dst, "ids", l)
		t.checkIDsApart("dst", *dst, "position ids", at)
		t.call = l.embedAt(*dst, *table, t.scale(), *positions, at)
	})
}

// FuzzBag covers BagSum, with and without weights, BagMean and BagMax.
func FuzzBag(f *testing.F) {
	seeds(f)
	in := input{Dim: 70, N: 30, Rows: 9, Positions: 12, Seq: 3, Gaps: [4]uint8{1, 0, 3, 0}, Seed: 1}
	add := func(change func(in *input)) {
		c := in
		change(&c)
		f.Add(c.bytes())
	}
	for kind := range uint8(4) {
		add(func(in *input) { in.Start, in.IDs = kind, kind })
		add(func(in *input) { in.Start, in.N, in.Positions, in.Seq, in.Flags = kind, 5000, 5000, 1, manyIDs }) // many bags
		add(func(in *input) {
			in.Start, in.N, in.Positions, in.Seq, in.Dim, in.Flags = kind, 5000, 3, 0, 20, manyIDs
		}) // long ones
		add(func(in *input) { in.Start, in.N, in.Positions, in.Dim, in.Flags = kind, 800, 20, 300, manyIDs|manyRows })
		add(func(in *input) { in.At, in.Flags, in.BadID, in.BadAt = kind, misfit, 1<<63|7, 5 })
		add(func(in *input) { in.Overlap, in.Start, in.Shift = 3+kind<<2, 1, 30 })
		add(func(in *input) { in.Overlap, in.Start, in.Shift, in.Flags = 2, kind, uint16(kind)*64, shareAt })
	}
	fuzz(f, func(t *trial) {
		n, dim, kind := t.count(), t.dim(), t.in.Start%4
		bags := int(t.in.Positions) % (n + fewRows)
		if !t.in.has(misfit) {
			n = min(n, n*bags) // without bags there are no ids
		}
		dst, table, weights := t.matrix(0, bags, dim), t.matrix(1, t.tableRows(), dim), &rowvec.Matrix{Rows: 1, Cols: n}
		dst.Rows = min(bags, maxMatrix/max(1, dst.Stride))
		if t.in.has(misfit) && t.in.At%4 == 0 {
			weights.Cols++
		}
		weights.Stride = weights.Cols
		if kind == 1 {
			t.in.Flags &^= side // weights are no matrix
			t.place(dst, table, weights)
		} else {
			t.place(dst, table)
		}
		t.op = [...]string{"BagSum", "BagSum", "BagMean", "BagMax"}[kind]
		l, offsets := t.ids(0, n, table.Rows), t.bagOffsets(dst.Rows, n)
		t.checkIDs("id", l, table.Rows)
		t.checkApart("dst", *dst, "table", *table)
		t.checkIDsApart("dst", *dst, "ids", l)
		t.checkIDsApart("dst", *dst, "offsets", offsets)
		switch kind {
		case 0:
			t.call = l.bagSum(*dst, *table, offsets, nil)
		case 1:
			t.checkShape(weights.Cols == n)
			t.checkApart("dst", *dst, "weights", *weights)
			t.call = l.bagSum(*dst, *table, offsets, weights.Data)
		case 2:
			t.call = l.bagMean(*dst, *table, offsets)
		case 3:
			t.call = l.bagMax(*dst, *table, offsets)
		}
	})
}

// FuzzEmbedBackward covers EmbedAtBackward too.
func FuzzEmbedBackward(f *testing.F) {
	seeds(f)
	fuzz(f, func(t *trial) {
		t.op = "EmbedBackward"
		at := t.in.has(variant)
		n, start, seq, rows := t.sequences(t.count())
		dOut, tokens, positions := t.matrix(0, n, t.dim()), t.matrix(1, t.tableRows(), t.dim()), t.matrix(2, rows, t.dim())
		if at {
			t.op = "EmbedAtBackward"
		}
		t.place(tokens, positions, dOut)
		l := t.ids(0, n, tokens.Rows)
		t.checkIDs("id", l, tokens.Rows)
		t.checkApart("tokens", *tokens, "dOut", *dOut)
		t.checkApart("positions", *positions, "dOut", *dOut)
		t.checkApart("positions", *positions, "tokens", *tokens)
		t.checkIDsApart("tokens", *tokens, "ids", l)
		t.checkIDsApart("positions", *positions, "ids", l)
		if !at {
			t.checkSequences(n, start, seq, rows)
			t.call = l.embedBackward(*tokens, *positions, t.scale(), *dOut, start, seq)
			return
		}
		p := t.ids(1, n, rows)
		t.checkIDs("position id", p, rows)
		t.checkIDsApart("tokens", *tokens, "position ids", p)
		t.checkIDsApart("positions", *positions, "position ids", p)
		t.call = l.embedAtBackward(*tokens, *positions, t.scale(), *dOut, p)
	})
}

func FuzzAddBatches(f *testing.F) {
	seeds(f)
	fuzz(f, func(t *trial) {
		t.op = "AddBatches"
		n, _, seq, _ := t.sequences(t.count())
		dst, src := t.matrix(0, seq, t.dim()), t.matrix(1, n, t.dim())
		t.place(dst, src)
		t.checkShape(n == 0 || seq > 0 && n%seq == 0)
		t.checkApart("dst", *dst, "src", *src)
		t.call = kernel{
			func() error { return rowvec.AddBatches(*dst, *src) },
			func() { kernels.AddBatches(*dst, *src, n/max(1, seq)) },
		}
	})
}

// FuzzAddScaled covers Add and Scale too, also on a vector and itself.
func FuzzAddScaled(f *testing.F) {
	seeds(f)
	fuzz(f, func(t *trial) {
		n := int(t.in.N) % (maxRows + 1)
		if t.in.has(manyIDs) {
			n *= 26 // more than two calls of assembly
		}
		rest := 0
		if t.in.has(misfit) {
			rest = 1
		}
		x, y := rowvec.Matrix{Rows: 1, Cols: n, Stride: n}, rowvec.Matrix{Rows: 1, Cols: n + rest, Stride: n + rest}
		t.place(&x, &y)
		dst, src, alpha := x.Data, y.Data, t.scale()
		switch {
		case t.in.Rows%3 == 0:
			t.op = "AddScaled"
			t.call = kernel{
				func() error { return rowvec.AddScaled(dst, alpha, src) },
				func() { kernels.AddScaled(dst, alpha, src) },
			}
		case t.in.Rows%3 == 1:
			t.op = "Add"
			t.call = kernel{func() error { return rowvec.Add(dst, src) }, func() { kernels.Add(dst, src) }}
		default:
			t.op = "Scale"
			t.call = kernel{func() error { rowvec.Scale(dst, alpha); return nil }, func() { kernels.Scale(dst, alpha) }}
			return
		}
		t.checkShape(rest == 0)
		if n > 0 && &dst[0] != &src[0] {
			t.checkApart("dst", x, "src", y)
		}
	})
}

// FuzzSinusoids covers rows to step over, and more rows and longer ones than one call of assembly does.
func FuzzSinusoids(f *testing.F) {
	seeds(f)
	for i := range uint16(6) {
		in := input{Dim: 16 << (i % 5), N: 5 + i, Gaps: [4]uint8{uint8(16 * (i % 2))}, Start: uint8(i), Heads: uint8(i)}
		f.Add(in.bytes())
		in.N, in.Flags, in.Scale = 300, manyIDs, uint32(i)<<10
		f.Add(in.bytes())
		in.N, in.Flags, in.Start = 3, misfit, uint8(i)
		f.Add(in.bytes())
	}
	fuzz(f, func(t *trial) {
		t.op = "Sinusoids"
		rows, cols, skip := t.count(), t.dim(), int(t.in.Start)%16
		if t.in.has(manyIDs) {
			skip = int(t.in.Scale % 10000)
		}
		dst := t.matrix(0, rows, cols)
		sizes := [3]int{cols, cols, cols}
		if t.in.has(misfit) {
			if k := t.in.Start % 4; k < 3 {
				sizes[k]++
			} else {
				skip = -1 - skip
			}
			t.checkShape(false)
		}
		// A float64 takes two elements, from the first whose address is a multiple of 8.
		vector := func(n int) *rowvec.Matrix { return &rowvec.Matrix{Rows: 1, Cols: 2*n + 1, Stride: 2*n + 1} }
		x, y, c := vector(sizes[0]), vector(sizes[1]), vector(sizes[2])
		t.in.Flags &^= side // vectors have no gaps for each other
		t.place(dst, x, y, c)
		wave, next, twice := t.doubles(x), t.doubles(y), t.doubles(c)
		for i, m := range []*rowvec.Matrix{x, y, c} {
			name := string("xyc"[i])
			t.checkApart("dst", *dst, name, *m)
			for k, n := range []*rowvec.Matrix{x, y, c}[i+1:] {
				t.checkApart(name, *m, string("xyc"[i+1+k]), *n)
			}
		}
		// Of a NaN that goes on in x and y, words are compared that a float32 would not have: all get the same.
		oneNaN := func() {
			for i := range cols {
				for _, x := range [2][]float64{wave, next} {
					if x[i] != x[i] {
						x[i] = math.NaN()
					}
				}
			}
		}
		t.call = kernel{
			func() error {
				err := rowvec.Sinusoids(*dst, skip, wave, next, twice)
				if err == nil {
					oneNaN()
				}
				return err
			},
			func() {
				kernels.Sinusoids(*dst, skip, wave, next, twice)
				oneNaN()
			},
		}
	})
}

// FuzzDropout goes from one matrix to another, and in place, from anywhere in a mask.
func FuzzDropout(f *testing.F) {
	seeds(f)
	for i := range uint8(5) {
		in := input{Dim: 70, N: 9, Flags: misfit, Start: i, Scale: 1 << 31}
		f.Add(in.bytes())
		in = input{Dim: 60 + 33*uint16(i), N: 4 + uint16(i), Flags: variant * uint16(i%2), Scale: 1 << 30 * uint32(i), Heads: i,
			BadID: uint64(i) * 0x9e3779b97f4a7c15}
		f.Add(in.bytes())
	}
	fuzz(f, func(t *trial) {
		t.op = "Dropout"
		n, dim := t.count(), t.dim()
		dst, src := t.matrix(0, n, dim), t.matrix(1, n, dim)
		mask := rowvec.Mask{P: float64(t.in.Scale) / (1 << 32), Seed: uint64(t.in.Seed) * 0x9e3779b97f4a7c15, Step: t.in.BadID >> 8}
		mask.Row = int(t.in.BadID >> 16 % uint64(min(math.MaxInt, 1<<32)-n))
		mask.Col = int(t.in.BadID%uint64((min(math.MaxInt, 1<<36)-dim)/16)) * 16
		refuse := func(what string, got any, want string) {
			t.must = append(t.must, &rowvec.ValueError{Op: t.op, What: what, Got: got, Want: want})
		}
		if t.in.has(misfit) {
			switch t.in.Start % 5 {
			case 0:
				src.Rows++
			case 1:
				mask.Col |= 8
			case 2:
				mask.Row = -1 - mask.Row
			case 3:
				mask.P++
				refuse("mask.P", mask.P, "one in [0, 1)")
			case 4:
				mask.Step |= 1 << 60
				refuse("mask.Step", mask.Step, "one below 72057594037927936")
			}
			t.checkShape(t.in.Start%5 >= 3)
		}
		if t.in.has(variant) && !t.misshapen {
			t.place(dst)
			src = dst
		} else {
			t.place(dst, src)
		}
		if extent(*dst) > 0 && extent(*src) > 0 && (&dst.Data[0] != &src.Data[0] || dst.Stride != src.Stride) {
			t.checkApart("dst", *dst, "src", *src)
		}
		t.call = kernel{
			func() error { return rowvec.Dropout(*dst, *src, mask) },
			func() { kernels.Dropout(*dst, *src, mask) },
		}
	})
}

// FuzzIDs takes matrices without columns, of which only the ids are looked at, and numbers of rows of every size.
func FuzzIDs(f *testing.F) {
	seeds(f)
	for _, rows := range []uint64{1 << 31, 1<<31 + 1, 1 << 32, 1<<32 + 5, math.MaxInt64} {
		for kind := range uint8(7) {
			in := input{N: 300, IDs: kind, Flags: variant, Bad: 2 + 1<<2, BadAt: 290, BadID: rows - 1}
			in.Heads, in.Scale, in.Seed = kind, uint32(rows), uint32(rows>>32)
			f.Add(in.bytes())
		}
	}
	fuzz(f, func(t *trial) {
		t.op = "Gather"
		n := int(t.in.N) % (maxRows + 1)
		if t.in.has(manyIDs) {
			n *= 26
		}
		rows := int(t.in.Rows)
		if t.in.has(variant) {
			rows = int((uint64(t.in.Seed)<<32 | uint64(t.in.Scale)) & math.MaxInt)
		}
		l := t.ids(0, n, rows)
		t.checkIDs("id", l, rows)
		t.call = l.gather(rowvec.Matrix{Rows: n}, rowvec.Matrix{Rows: rows})
	})
}
