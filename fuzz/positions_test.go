package fuzz

import (
	"math"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/positional"
)

// FuzzPositions holds sinusoidal positions, of any layout, base and number of columns, with and without a table, to what
// portable Go makes of each position alone: from Fill, FillAt, AddTo and AddAt.
func FuzzPositions(f *testing.F) {
	seeds(f)
	for kind := range uint8(4) {
		for layout := range uint8(3) {
			in := input{Dim: 33 << layout, N: 30, Seq: 10, At: kind, IDs: layout, Gaps: [4]uint8{3 * (layout % 2)}, Heads: layout}
			f.Add(in.bytes())
			in.Dim, in.N, in.Flags, in.BadID, in.Scale = 64, 600, manyIDs, 1<<40+250, 500000
			f.Add(in.bytes())
			in.Flags, in.Seed, in.Start = misfit, 7, kind
			f.Add(in.bytes())
		}
	}
	fuzz(f, func(t *trial) {
		dim, base := max(1, t.dim()), 10000.0
		var options []positional.SinusoidalOption
		switch t.in.IDs % 3 {
		case 1:
			options = append(options, positional.HalfSplit())
		case 2:
			options = append(options, positional.Tensor2Tensor())
		}
		if t.in.Scale != 0 {
			base = 1 + float64(t.in.Scale)/1024
			options = append(options, positional.Base(base))
		}
		encoding := func(length int) *positional.Sinusoidal {
			return must(positional.NewSinusoidal(length, dim, options...))
		}
		n := t.count()
		seq := min(max(int(t.in.Seq), 1), max(n, 1))
		start := int(t.in.BadID % uint64(math.MaxInt-n))
		if t.in.Bad&1 == 0 {
			start %= 400
		}
		kind := t.in.At % 4 // Fill, FillAt, AddTo, AddAt
		if kind == 2 {
			n -= n % seq
		} else {
			seq = max(n, 1)
		}
		at := make([]int, n)
		for i := range at {
			at[i] = start + i%seq
			if h := mix(t.in.Seed + uint32(i)); kind%2 == 1 && i > 0 {
				switch at[i] = at[i-1]; h % 8 {
				case 0:
					at[i] = int(h >> 8)
				case 1: // again
				default:
					at[i] = min(at[i]+1, math.MaxInt-1)
				}
			}
		}
		s := encoding(int(t.in.Rows) % 500)
		x := t.matrix(0, n, dim)
		if t.in.has(misfit) && n > 0 {
			switch bad := t.in.Start % 3; {
			case bad == 0:
				x.Cols++
				x.Stride++
				t.checkShape(false)
			case kind%2 == 1:
				i := int(t.in.BadAt) % n
				at[i] = -1 - int(t.in.BadID>>1&0xffff)
				t.must = append(t.must, &rowvec.IndexError{What: "position id", Position: i, Index: int64(at[i]), Rows: math.MaxInt})
			case bad == 1:
				start = -1 - start
				t.checkShape(false)
			default:
				start = math.MaxInt - seq + 1
				t.checkShape(false)
			}
		}
		t.place(x)
		t.op = "positional.Sinusoidal." + []string{"Fill", "FillAt", "AddTo", "AddAt"}[kind]
		run := func() error { return s.Fill(*x, start) }
		switch kind {
		case 1:
			run = func() error { return s.FillAt(*x, at) }
		case 2:
			run = func() error { return s.AddTo(*x, seq, start) }
		case 3:
			run = func() error { return s.AddAt(*x, at) }
		}
		t.call = kernel{run, func() {
			defer isa.Set(isa.Portable)()
			alone := encoding(0)
			row := must(rowvec.NewMatrix(1, dim))
			for i, pos := range at {
				if err := alone.Fill(row, pos); err != nil {
					panic(err)
				}
				for j, p := range row.Data {
					if kind >= 2 {
						p += x.Row(i)[j]
					}
					x.Row(i)[j] = p
				}
			}
		}}
	})
}
