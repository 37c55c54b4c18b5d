package positional

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/derivatives"
	"github.com/rowvec/rowvec/internal/exact/bigmath"
	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/reference"
)

func relative(t testing.TB, heads, buckets, maxDistance int, bidirectional bool) *RelativeBias {
	t.Helper()
	r, err := NewRelativeBias(heads, buckets, maxDistance, bidirectional, 5)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBucketsReference holds buckets to those of PyTorch, but where float32 is known to miss a border.
func TestBucketsReference(t *testing.T) {
	for _, c := range reference.BucketsCases(t) {
		r := relative(t, 1, c.Buckets, c.MaxDistance, c.Bidirectional)
		position, differ := c.First, []int{}
		for i, bucket := range c.Runs[0] {
			for range c.Runs[1][i] {
				got := RelativeBucket(position, c.Buckets, c.MaxDistance, c.Bidirectional)
				if same := r.runAt(position, 1); got != same.bucket || same.n != 1 {
					t.Fatalf("%v: the bucket of %d is %d, or in a run %v", r, position, got, same)
				}
				if got != bucket && position < 0 {
					differ = append(differ, -position)
				} else if got != bucket && !slices.Contains(c.Differ, position) {
					t.Errorf("%v: the bucket of %d is %d, by PyTorch %d", r, position, got, bucket)
				}
				position++
			}
		}
		slices.Reverse(differ)
		if !slices.Equal(differ, c.Differ) {
			t.Errorf("%v: buckets differ from PyTorch's at distances %v, want %v", r, differ, c.Differ)
		}
	}
}

// TestBucketsByHand: T5's own, as its paper describes them: one for each distance below 8, or 16, then by the logarithm up
// to 128.
func TestBucketsByHand(t *testing.T) {
	// 8 * 16^(k/8) = 11.3, 16, 22.6, 32, 45.3, 64, 90.5; 16 * 8^(k/16) = 18.2, 20.7, 23.6, 26.9, ..., 112.4
	for _, c := range []struct {
		bidirectional bool
		relative      int
		want          int
	}{
		{true, 0, 0}, {true, -1, 1}, {true, -7, 7}, {true, -8, 8}, {true, -11, 8}, {true, -12, 9}, {true, -15, 9},
		{true, -16, 10}, {true, -22, 10}, {true, -23, 11}, {true, -31, 11}, {true, -32, 12}, {true, -45, 12}, {true, -46, 13},
		{true, -63, 13}, {true, -64, 14}, {true, -90, 14}, {true, -91, 15}, {true, -127, 15}, {true, -128, 15},
		{true, -100000, 15}, {true, math.MinInt, 15}, {true, 1, 17}, {true, 7, 23}, {true, 8, 24}, {true, 12, 25}, {true, 16, 26},
		{true, 91, 31}, {true, 128, 31}, {true, math.MaxInt, 31},
		{false, 0, 0}, {false, 1, 0}, {false, math.MaxInt, 0}, {false, -15, 15}, {false, -16, 16}, {false, -18, 16},
		{false, -19, 17}, {false, -20, 17}, {false, -21, 18}, {false, -23, 18}, {false, -24, 19}, {false, -26, 19}, {false, -27, 20},
		{false, -112, 30}, {false, -113, 31}, {false, -128, 31}, {false, math.MinInt, 31},
	} {
		if got := RelativeBucket(c.relative, 32, 128, c.bidirectional); got != c.want {
			t.Errorf("bidirectional %v: the bucket of %d is %d, want %d", c.bidirectional, c.relative, got, c.want)
		}
	}
}

// TestBuckets: all buckets rise with the distance, far ones are one, and borders are where RelativeBucket has them.
func TestBuckets(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 300 {
		bidirectional := r.IntN(2) == 0
		buckets := 2 + r.IntN(80)
		if bidirectional {
			buckets = 4 + 2*r.IntN(80)
		}
		near, all := bucketsOf(buckets, bidirectional)
		maxDistance := near + 1 + r.IntN(1<<r.IntN(12))
		bias, before := relative(t, 1, buckets, maxDistance, bidirectional), 0
		for distance := range maxDistance + 10 {
			got := RelativeBucket(-distance, buckets, maxDistance, bidirectional)
			if got < before || distance <= near && got != distance && distance < all || distance >= maxDistance && got != all-1 {
				t.Fatalf("%v: the bucket of -%d is %d, and that before it %d", bias, distance, got, before)
			}
			before = got
			ahead := RelativeBucket(distance, buckets, maxDistance, bidirectional)
			if want := got + all; bidirectional && distance > 0 && ahead != want || !bidirectional && ahead != 0 {
				t.Fatalf("%v: the bucket of %d is %d, and that of -%d %d", bias, distance, ahead, distance, got)
			}
		}
		for position, end := -maxDistance-5, maxDistance+5; position < end; {
			same := bias.runAt(position, end-position)
			for i := range same.n + 1 {
				bucket := RelativeBucket(position+i, buckets, maxDistance, bidirectional)
				if (bucket == same.bucket) != (i < same.n) && position+i < end {
					t.Fatalf("%v: the run %v from %d on, but %d has bucket %d", bias, same, position, position+i, bucket)
				}
			}
			position += same.n
		}
	}
}

// TestReaches compares logarithms close to whole numbers with the same by integers.
func TestReaches(t *testing.T) {
	for _, c := range []struct {
		distance, near, maxDistance, k, far int
		want                                bool
	}{
		{16, 8, 128, 2, 8, true}, {15, 8, 128, 2, 8, false}, {42, 6, 4116, 2, 6, false}, {21, 3, 1029, 1, 3, true},
		{20, 3, 1029, 1, 3, false}, {8, 8, 128, 0, 8, true}, {127, 8, 128, 8, 8, false}, {128, 8, 128, 8, 8, true},
	} {
		if got := reaches(c.distance, c.near, c.maxDistance, c.k, c.far); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestBorders: distances whose logarithm is a whole number, of which float64 makes a little less, and one whose logarithm stays a
// little below.
func TestBorders(t *testing.T) {
	for _, c := range []struct{ distance, near, all, maxDistance, want int }{
		{3, 1, 3, 9, 2}, {6, 2, 4, 18, 3}, {9, 3, 7, 27, 5}, {3000, 3, 7, 30000, 6}, {12, 4, 8, 36, 6}, {4000, 4, 8, 40000, 7},
		{2, 1, 3, 9, 1}, {5, 2, 4, 18, 2}, {8, 3, 7, 27, 4}, {2999, 3, 7, 30000, 5}, {11, 4, 8, 36, 5}, {3999, 4, 8, 40000, 6},
		{50001, 50000, 100000, 50003, 50000 + 16666},
	} {
		if got := distanceBucket(c.distance, c.near, c.all, c.maxDistance); got != c.want {
			t.Errorf("%+v: the bucket is %d", c, got)
		}
	}
}

// TestCloseDistances: where maxDistance hardly exceeds the distances that have a bucket of their own, many logarithms are close to
// whole numbers, by 1e-5 of 65,536 buckets. To decide these by integers, of a million bits, would take minutes.
func TestCloseDistances(t *testing.T) {
	relative(t, 1, mostBuckets, mostBuckets/2+3, false)
	r := rand.New(rand.NewPCG(27, 28))
	for range 300 {
		buckets := 2 + r.IntN(mostBuckets-1)
		near, all := bucketsOf(buckets, false)
		more := 2 + r.IntN(22)
		distance := near + 1 + r.IntN(more-1)
		log := func(d int) *big.Float {
			return bigmath.Log(new(big.Float).Quo(bigmath.Float(float64(d)), bigmath.Float(float64(near))))
		}
		x := new(big.Float).Quo(log(distance), log(near+more))
		k, _ := x.Mul(x, bigmath.Float(float64(all-near))).Int64()
		if got := RelativeBucket(-distance, buckets, near+more, false); got != near+int(k) {
			t.Errorf("%d buckets, at most %d: the bucket of %d is %d, want %d", buckets, near+more, distance, got, near+int(k))
		}
	}
}

// TestRelativeAddTo holds all elements, those between rows too, to the definition, at every level.
func TestRelativeAddTo(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(23, 24))
		for i, s := range scoreShapes(r) {
			bias, err := RelativeBiasFrom(matrix(r, 4+2*r.IntN(40), s.heads, i%3), 50+r.IntN(400), i%2 == 0)
			if err != nil {
				t.Fatal(err)
			}
			scores := matrix(r, s.rows(), s.keys, s.gap)
			want := clone(scores)
			for i := range want.Rows {
				head, query := s.place(i)
				for j := range want.Row(i) {
					bucket := RelativeBucket(s.keyStart+j-query, bias.Buckets(), bias.MaxDistance(), bias.Bidirectional())
					want.Row(i)[j] += bias.table.Row(bucket)[head]
				}
			}
			if err := bias.AddTo(scores, s.queries, s.queryStart, s.keyStart); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(scores.Data, want.Data) {
				t.Errorf("%+v, %v differs", s, bias)
			}
		}
	})
}

// backward is Backward as its documentation has it.
func backward(bias *RelativeBias, s scoreShape, grad, dScores rowvec.Matrix) {
	for col := 0; col < s.keys; col += 4096 {
		for first := 0; first < s.queries; first += 64 {
			for head := range s.heads {
				low, high := math.MaxInt, math.MinInt
				sums := map[int]float32{}
				for b := range s.batch {
					for i := first; i < min(s.queries, first+64); i++ {
						for j := col; j < min(s.keys, col+4096); j++ {
							position := s.keyStart + j - (s.queryStart + i)
							low, high = min(low, position), max(high, position)
							sums[position] += dScores.Row((b*s.heads+head)*s.queries + i)[j]
						}
					}
				}
				for low <= high {
					bucket := RelativeBucket(low, bias.Buckets(), bias.MaxDistance(), bias.Bidirectional())
					sum := 0.0
					for ; low <= high && RelativeBucket(low, bias.Buckets(), bias.MaxDistance(), bias.Bidirectional()) == bucket; low++ {
						sum += float64(sums[low])
					}
					grad.Row(bucket)[head] += float32(sum)
				}
			}
		}
	}
}

// TestRelativeBackward holds gradients to the definition, bit for bit at every level, and to sums in float64.
func TestRelativeBackward(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(25, 26))
		for i, s := range scoreShapes(r) {
			bias := relative(t, s.heads, 4+2*r.IntN(40), 50+r.IntN(400), i%2 == 0)
			dScores, grad := matrix(r, s.rows(), s.keys, s.gap), matrix(r, bias.Buckets(), s.heads, i%3)
			want, before := clone(grad), clone(grad)
			backward(bias, s, want, dScores)
			if err := bias.Backward(grad, dScores, s.queries, s.queryStart, s.keyStart); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(grad.Data, want.Data) {
				t.Errorf("%+v, %v differs", s, bias)
			}
			exact, size := doubleSums(bias, s, before, dScores)
			for b := range grad.Rows {
				for h, x := range grad.Row(b) {
					k := b*s.heads + h
					if off := math.Abs(float64(x) - exact[k]); off > 0x1p-24*(size[k]*float64(64*s.batch)+20) {
						t.Errorf("%+v, %v: the gradient of bucket %d, head %d is %v, want %v", s, bias, b, h, x, exact[k])
					}
				}
			}
		}
	})
}

// doubleSums returns the gradient in float64, and the sum of the sizes of what is added up.
func doubleSums(bias *RelativeBias, s scoreShape, grad, dScores rowvec.Matrix) (sum, size []float64) {
	for b := range grad.Rows {
		for _, x := range grad.Row(b) {
			sum, size = append(sum, float64(x)), append(size, math.Abs(float64(x)))
		}
	}
	for i := range dScores.Rows {
		head, query := s.place(i)
		for j, x := range dScores.Row(i) {
			k := RelativeBucket(s.keyStart+j-query, bias.Buckets(), bias.MaxDistance(), bias.Bidirectional())*s.heads + head
			sum[k] += float64(x)
			size[k] += math.Abs(float64(x))
		}
	}
	return sum, size
}

// TestRelativeReference holds biased scores to those of PyTorch, bit for bit, and gradients to those of its autograd.
func TestRelativeReference(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, c := range reference.RelativeBiasCases(t) {
			bias, err := RelativeBiasFrom(reference.Copy(c.Table, 2), c.MaxDistance, c.Bidirectional)
			if err != nil {
				t.Fatal(err)
			}
			scores := reference.Copy(c.Scores, 1)
			if err := bias.AddTo(scores, c.Queries, c.QueryStart, c.KeyStart); err != nil {
				t.Fatal(err)
			}
			reference.Equal(t, c.Name, scores, c.Biased)
			grad := rowvec.Matrix{Rows: bias.Buckets(), Cols: c.Heads, Stride: c.Heads, Data: make([]float32, bias.Buckets()*c.Heads)}
			s := scoreShape{scores.Rows / c.Heads / c.Queries, c.Heads, c.Queries, scores.Cols, c.QueryStart, c.KeyStart, 0}
			_, size := doubleSums(bias, s, grad, c.DScores.Matrix)
			if err := bias.Backward(grad, c.DScores.Matrix, c.Queries, c.QueryStart, c.KeyStart); err != nil {
				t.Fatal(err)
			}
			for b := range grad.Rows {
				for h, x := range grad.Row(b) {
					bound := reference.DotError(size[b*c.Heads+h], s.batch*s.queries*s.keys)
					if y := c.Grad.Row(b)[h]; !(math.Abs(float64(x)-float64(y)) <= bound) {
						t.Errorf("%s: the gradient of bucket %d, head %d is %v, by PyTorch %v", c.Name, b, h, x, y)
					}
				}
			}
		}
	})
}

// TestRelativeGradient holds Backward to differences of AddTo's rule, of which no term is rounded until it is added.
func TestRelativeGradient(t *testing.T) {
	const buckets, maxDistance = 12, 20
	r := rand.New(rand.NewPCG(27, 28))
	s := scoreShape{2, 3, 9, 40, 30, 4, 0}
	for _, bidirectional := range []bool{true, false} {
		bias := relative(t, s.heads, buckets, maxDistance, bidirectional)
		scores, dScores := matrix(r, s.rows(), s.keys, 0), matrix(r, s.rows(), s.keys, 0)
		x, table := derivatives.Wide(scores.Data), derivatives.Wide(bias.table.Data)
		of := make([]int, len(x)) // the element of the table that each score gets
		for i := range of {
			head, query := s.place(i / s.keys)
			of[i] = RelativeBucket(s.keyStart+i%s.keys-query, buckets, maxDistance, bidirectional)*s.heads + head
		}
		forward := func() []float64 {
			y := slices.Clone(x)
			for i := range y {
				y[i] += table[of[i]]
			}
			return y
		}
		grad := zeros(buckets, s.heads)
		if err := errors.Join(bias.AddTo(scores, s.queries, s.queryStart, s.keyStart),
			bias.Backward(grad, dScores, s.queries, s.queryStart, s.keyStart)); err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("bidirectional %v", bidirectional)
		derivatives.Same(t, what, scores.Data, forward())
		derivatives.Of(forward, table, s.heads, 0.5, dScores.Data, 0, false).Hold(t, what, grad.Data)
	}
}

// TestScoresCache: decoding one token at a time gives the rows of all at once.
func TestScoresCache(t *testing.T) {
	const heads, tokens = 6, 150
	for name, bias := range map[string]interface {
		AddTo(scores rowvec.Matrix, queries, queryStart, keyStart int) error
	}{"ALiBi": alibi(t, heads), "T5": relative(t, heads, 32, 128, false)} {
		scores := matrix(rand.New(rand.NewPCG(29, 30)), heads*tokens, tokens, 0)
		want := clone(scores)
		if err := bias.AddTo(want, tokens, 0, 0); err != nil {
			t.Fatal(err)
		}
		for q := range tokens {
			step := rowvec.Matrix{Rows: heads, Cols: q + 1, Stride: tokens * tokens, Data: scores.Data[q*tokens:]}
			if err := bias.AddTo(step, 1, q, 0); err != nil {
				t.Fatal(err)
			}
			for h := range heads {
				if !slices.Equal(step.Row(h), want.Row(h*tokens + q)[:q+1]) {
					t.Fatalf("%s: token %d, head %d differs", name, q, h)
				}
			}
		}
	}
}

// TestRelativeSameBits compares checksums of a new table, of biased scores and of a gradient with those that every machine
// must have.
func TestRelativeSameBits(t *testing.T) {
	const want = 0x8c06cb6c44819da1
	bias := relative(t, 4, 32, 128, true)
	scores := matrix(rand.New(rand.NewPCG(31, 32)), 2*4*70, 1100, 0)
	grad := rowvec.Matrix{Rows: 32, Cols: 4, Stride: 4, Data: make([]float32, 128)}
	if err := bias.AddTo(scores, 70, 600, 10); err != nil {
		t.Fatal(err)
	}
	if err := alibi(t, 4).AddTo(scores, 70, 600, 10); err != nil {
		t.Fatal(err)
	}
	if err := bias.Backward(grad, scores, 70, 600, 10); err != nil {
		t.Fatal(err)
	}
	bytes := []byte{}
	for _, x := range slices.Concat(bias.table.Data, scores.Data, grad.Data) {
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(x))
	}
	if got := crc64.Checksum(bytes, crc64.MakeTable(crc64.ECMA)); got != want {
		t.Errorf("checksum is %#x, want %#x", got, uint64(want))
	}
}

func TestRelativeProperties(t *testing.T) {
	bias := relative(t, 8, 32, 128, true)
	table := bias.Table()
	if bias.Heads() != 8 || bias.Buckets() != 32 || bias.MaxDistance() != 128 || !bias.Bidirectional() || !bias.Trainable() ||
		table.Rows != 32 || table.Cols != 8 || bias.String() != "RelativeBias(heads=8, buckets=32, max distance=128, bidirectional)" {
		t.Errorf("%v: %d x %d", bias, table.Rows, table.Cols)
	}
	if s := relative(t, 1, 2, 2, false).String(); s != "RelativeBias(heads=1, buckets=2, max distance=2, causal)" {
		t.Error(s)
	}
	sum, squares := 0.0, 0.0
	for _, x := range relative(t, 64, 256, 1000, true).table.Data {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	const n = 64 * 256
	if mean, std := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 1e-3 || math.Abs(std-relativeStd) > 1e-3 {
		t.Errorf("a new table has mean %v and standard deviation %v", mean, std)
	}
	m := matrix(rand.New(rand.NewPCG(1, 1)), 8, 3, 1)
	from, err := RelativeBiasFrom(m, 20, true)
	if err != nil || &from.Table().Data[0] != &m.Data[0] || from.Heads() != 3 {
		t.Errorf("%v, %v", from, err)
	}
}

func TestScoresNoAllocation(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	a, bias := alibi(t, 3), relative(t, 3, 32, 128, true)
	scores, grad := matrix(r, 2*3*70, 1100, 5), matrix(r, 32, 3, 0)
	isatest.NoAllocation(t, bias.String(), func() {
		if a.AddTo(scores, 70, 1000, 0) != nil || bias.AddTo(scores, 70, 1000, 0) != nil ||
			bias.Backward(grad, scores, 70, 1000, 0) != nil {
			t.Fatal("unexpected error")
		}
	})
}

// TestScoreErrors checks the text of every error about biases of scores, and that nothing was written.
func TestScoreErrors(t *testing.T) {
	const heads = 2
	var (
		r        = rand.New(rand.NewPCG(1, 1))
		a, bias  = alibi(t, heads), relative(t, heads, 8, 20, true)
		x, grad  = matrix(r, 6*heads, 5, 1), matrix(r, 8, heads, 0)
		narrow   = rowvec.Matrix{Rows: 4, Cols: 5, Stride: 4, Data: make([]float32, 20)}
		short    = rowvec.Matrix{Rows: 4, Cols: 5, Stride: 5, Data: make([]float32, 19)}
		negative = rowvec.Matrix{Rows: -1, Cols: 5, Stride: 5}
		shared   = rowvec.Matrix{Rows: 4, Cols: 3, Stride: 3, Data: bias.table.Data[3:]}
		gradient = rowvec.Matrix{Rows: 4, Cols: 3, Stride: 3, Data: grad.Data[3:]}
	)
	for want, do := range map[string]func() error{
		"ALiBi.AddTo: queries is 0, want at least 1":            func() error { return a.AddTo(x, 0, 0, 0) },
		"ALiBi.AddTo: scores.Rows is 12, want a multiple of 8":  func() error { return a.AddTo(x, 4, 0, 0) },
		"ALiBi.AddTo: queryStart is -1, want at least 0":        func() error { return a.AddTo(x, 3, -1, 0) },
		"ALiBi.AddTo: keyStart is -2, want at least 0":          func() error { return a.AddTo(x, 3, 0, -2) },
		"ALiBi.AddTo: scores.Stride is 4, want at least 5":      func() error { return a.AddTo(narrow, 1, 0, 0) },
		"ALiBi.AddTo: len(scores.Data) is 19, want at least 20": func() error { return a.AddTo(short, 1, 0, 0) },
		"ALiBi.AddTo: scores.Rows is -1, want at least 0":       func() error { return a.AddTo(negative, 1, 0, 0) },

		"RelativeBias.AddTo: queries is -1, want at least 1":               func() error { return bias.AddTo(x, -1, 0, 0) },
		"RelativeBias.AddTo: scores.Rows is 12, want a multiple of 10":     func() error { return bias.AddTo(x, 5, 0, 0) },
		"RelativeBias.AddTo: queryStart is -1, want at least 0":            func() error { return bias.AddTo(x, 3, -1, 0) },
		"RelativeBias.AddTo: keyStart is -1, want at least 0":              func() error { return bias.AddTo(x, 3, 0, -1) },
		"RelativeBias.AddTo: scores.Stride is 4, want at least 5":          func() error { return bias.AddTo(narrow, 1, 0, 0) },
		"RelativeBias.AddTo: scores overlaps table":                        func() error { return bias.AddTo(shared, 1, 0, 0) },
		"RelativeBias.Backward: grad.Rows is 12, want 8":                   func() error { return bias.Backward(x, x, 3, 0, 0) },
		"RelativeBias.Backward: grad.Cols is 3, want 2":                    func() error { return bias.Backward(matrix(r, 8, 3, 0), x, 3, 0, 0) },
		"RelativeBias.Backward: dScores.Rows is 12, want a multiple of 16": func() error { return bias.Backward(grad, x, 8, 0, 0) },
		"RelativeBias.Backward: keyStart is -1, want at least 0":           func() error { return bias.Backward(grad, x, 6, 0, -1) },
		"RelativeBias.Backward: len(dScores.Data) is 19, want at least 20": func() error { return bias.Backward(grad, short, 1, 0, 0) },
		"RelativeBias.Backward: grad overlaps dScores":                     func() error { return bias.Backward(grad, gradient, 1, 0, 0) },

		"NewALiBi: heads is 0, want at least 1":                               func() error { _, err := NewALiBi(0); return err },
		"NewRelativeBias: heads is 0, want at least 1":                        func() error { _, err := NewRelativeBias(0, 32, 128, true, 1); return err },
		"NewRelativeBias: buckets is 1, want at least 2":                      func() error { _, err := NewRelativeBias(1, 1, 128, false, 1); return err },
		"NewRelativeBias: buckets is 2, want at least 4":                      func() error { _, err := NewRelativeBias(1, 2, 128, true, 1); return err },
		"NewRelativeBias: buckets is 131073, want at most 131072":             func() error { _, err := NewRelativeBias(1, 1<<17+1, 1<<20, false, 1); return err },
		"NewRelativeBias: buckets is 31, want a multiple of 2":                func() error { _, err := NewRelativeBias(1, 31, 128, true, 1); return err },
		"NewRelativeBias: maxDistance is 8, want at least 9":                  func() error { _, err := NewRelativeBias(1, 32, 8, true, 1); return err },
		"NewRelativeBias: maxDistance is 16, want at least 17":                func() error { _, err := NewRelativeBias(1, 32, 16, false, 1); return err },
		"NewRelativeBias: maxDistance is 1073741825, want at most 1073741824": func() error { _, err := NewRelativeBias(1, 32, 1<<30+1, true, 1); return err },
		"RelativeBiasFrom: m.Cols is 0, want at least 1":                      func() error { _, err := RelativeBiasFrom(rowvec.Matrix{Rows: 8}, 128, true); return err },
		"RelativeBiasFrom: m.Rows is 0, want at least 4":                      func() error { _, err := RelativeBiasFrom(rowvec.Matrix{Cols: 8}, 128, true); return err },
		"RelativeBiasFrom: len(m.Data) is 19, want at least 20":               func() error { _, err := RelativeBiasFrom(short, 128, true); return err },
		"RelativeBiasFrom: maxDistance is -3, want at least 2":                func() error { _, err := RelativeBiasFrom(matrix(r, 4, 5, 0), -3, true); return err },
	} {
		state := func() []float32 {
			return slices.Concat(x.Data, grad.Data, bias.table.Data, a.slopes, narrow.Data, short.Data)
		}
		before := state()
		if err := do(); err == nil || err.Error() != "rowvec: positional."+want {
			t.Errorf("got  %v\nwant rowvec: positional.%s", err, want)
		}
		if !slices.Equal(state(), before) {
			t.Errorf("%s: something was written", want)
		}
	}
	for _, c := range []struct { // whose limits depend on the size of an int
		name string
		do   func() error
	}{
		{"heads", func() error { _, err := NewALiBi(math.MaxInt); return err }},
		{"heads", func() error { _, err := NewRelativeBias(math.MaxInt/4, 8, 16, true, 1); return err }},
		{"queries", func() error { return a.AddTo(x, math.MaxInt, 0, 0) }},
		{"queryStart", func() error { return a.AddTo(x, 6, math.MaxInt-5, 0) }},
		{"keyStart", func() error { return a.AddTo(x, 6, 0, math.MaxInt-4) }},
	} {
		err, ok := c.do().(*rowvec.ShapeError)
		if !ok || err.What != c.name || err.Rule != "at most " {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := a.AddTo(x, 6, math.MaxInt-6, math.MaxInt-5); err != nil {
		t.Error(err)
	}
	// Without rows, queries and starts do not matter; without columns there is nothing to do.
	before := slices.Clone(grad.Data)
	for _, err := range []error{a.AddTo(rowvec.Matrix{}, -1, -1, -1), bias.AddTo(rowvec.Matrix{Cols: 3}, 0, -1, -1),
		bias.Backward(grad, rowvec.Matrix{Cols: 3}, 0, -1, -1), a.AddTo(rowvec.Matrix{Rows: 4}, 2, 0, 0),
		bias.AddTo(rowvec.Matrix{Rows: 4}, 2, 0, 0), bias.Backward(grad, rowvec.Matrix{Rows: 4}, 2, 0, 0)} {
		if err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(grad.Data, before) {
		t.Error("an empty gradient changed something")
	}
	defer func() {
		err, ok := recover().(error)
		if want := "rowvec: positional.RelativeBucket: buckets is 3, want at least 4"; !ok || err.Error() != want {
			t.Errorf("RelativeBucket panics with %v, want %s", err, want)
		}
	}()
	RelativeBucket(1, 3, 128, true)
}

func BenchmarkRelativeAddTo(b *testing.B) {
	benchmarkScores(b, relative(b, 12, 32, 128, true).AddTo)
}

func BenchmarkRelativeBackward(b *testing.B) {
	bias, grad := relative(b, 12, 32, 128, true), matrix(rand.New(rand.NewPCG(0, 0)), 32, 12, 0)
	benchmarkScores(b, func(scores rowvec.Matrix, queries, queryStart, keyStart int) error {
		return bias.Backward(grad, scores, queries, queryStart, keyStart)
	})
}
