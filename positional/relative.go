package positional

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/exact"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/philox"
)

// RelativeBias is the relative position bias of T5 (Raffel et al., "Exploring the limits of transfer learning with a
// unified text-to-text transformer", 2019): a learned number for each head and each bucket of relative positions, added
// to scores. RelativeBucket says which bucket that is. What writes to Table() excludes all other use of it.
type RelativeBias struct {
	table         rowvec.Matrix
	maxDistance   int
	bidirectional bool
	borders       []int // the least distance of each bucket, those of one direction
}

// relativeStd is the standard deviation of a new table, that of BERT's. T5 has the inverse root of its model dimension.
const relativeStd = 0.02

// Beyond mostDistance, more and more distances can be told apart by integers alone, which have millions of bits where there
// are many buckets: 8,000 of them take 8 s at 2^62. Up to there, 131,072 take 0.1 s, and 1,000,000 2 s.
const (
	mostDistance = 1 << 30
	mostBuckets  = 1 << 17
)

// NewRelativeBias returns a bias whose table, buckets x heads, is normally distributed with mean 0 and standard deviation
// 0.02. The same seed gives the same bits on every machine. T5 has 32 buckets and a maxDistance of 128, bidirectional in
// its encoder only.
//
// It is a ShapeError if heads is below 1, if buckets is above 2^17, below 2 or, where they are bidirectional, below 4 or
// odd, if maxDistance does not exceed half the buckets for one direction (those for a single distance each), or
// exceeds 2^30, or if the table cannot be addressed.
func NewRelativeBias(heads, buckets, maxDistance int, bidirectional bool, seed uint64) (*RelativeBias, error) {
	const op = "positional.NewRelativeBias"
	if err := check.AtLeast(op, "heads", heads, 1); err != nil {
		return nil, err
	}
	if err := checkBuckets(op, "buckets", buckets, maxDistance, bidirectional); err != nil {
		return nil, err
	}
	if err := check.Room(op, "heads", heads, buckets); err != nil {
		return nil, err
	}
	table, err := check.NewTable(op, "buckets", buckets, "heads", heads)
	if err != nil {
		return nil, err
	}
	forward.FillNormal(table.Data, seed, philox.StreamRelative, 0, relativeStd)
	return newRelativeBias(table, maxDistance, bidirectional), nil
}

// RelativeBiasFrom returns a bias whose table is m, without a copy: a row for each bucket, a column for each head, as in
// PyTorch's relative_attention_bias.weight. It is a ShapeError if m contradicts itself or has no columns; other errors are
// those of NewRelativeBias.
func RelativeBiasFrom(m rowvec.Matrix, maxDistance int, bidirectional bool) (*RelativeBias, error) {
	const op = "positional.RelativeBiasFrom"
	if err := rowvec.CheckMatrix(op, "m", m); err != nil {
		return nil, err
	}
	if err := check.AtLeast(op, "m.Cols", m.Cols, 1); err != nil {
		return nil, err
	}
	if err := checkBuckets(op, "m.Rows", m.Rows, maxDistance, bidirectional); err != nil {
		return nil, err
	}
	return newRelativeBias(m, maxDistance, bidirectional), nil
}

func newRelativeBias(table rowvec.Matrix, maxDistance int, bidirectional bool) *RelativeBias {
	near, all := bucketsOf(table.Rows, bidirectional)
	borders := make([]int, all)
	for b := range borders {
		if b <= near {
			borders[b] = b
			continue
		}
		// The least distance of bucket b is above lo and at most hi.
		lo, hi := near, maxDistance
		for hi-lo > 1 {
			if mid := lo + (hi-lo)/2; distanceBucket(mid, near, all, maxDistance) >= b {
				hi = mid
			} else {
				lo = mid
			}
		}
		borders[b] = hi
	}
	return &RelativeBias{table, maxDistance, bidirectional, borders}
}

// checkBuckets checks what NewRelativeBias says; name is that of buckets.
func checkBuckets(op, name string, buckets, maxDistance int, bidirectional bool) error {
	least := 2
	if bidirectional {
		least = 4
	}
	if err := check.AtLeast(op, name, buckets, least); err != nil {
		return err
	}
	if err := check.AtMost(op, name, buckets, mostBuckets); err != nil {
		return err
	}
	if bidirectional && buckets%2 != 0 {
		return check.MultipleOf(op, name, buckets, 2)
	}
	near, _ := bucketsOf(buckets, bidirectional)
	if err := check.AtLeast(op, "maxDistance", maxDistance, near+1); err != nil {
		return err
	}
	return check.AtMost(op, "maxDistance", maxDistance, mostDistance)
}

// bucketsOf returns how many buckets of one direction have a single distance, and how many there are.
func bucketsOf(buckets int, bidirectional bool) (near, all int) {
	if bidirectional {
		buckets /= 2
	}
	return buckets / 2, buckets
}

// RelativeBucket returns the bucket of a relative position, key less query, as T5 has it. Of n buckets for one direction,
// the first e = n/2, rounded down, belong to the distances 0 to e-1, and the others to those from e on, by their logarithm:
//
//	e + floor(log(distance/e) / log(maxDistance/e) * (n-e)), but at most n-1
//
// If they are bidirectional, half of all buckets are for keys up to the query and the other half, from buckets/2 on, for
// those behind it; or else all are for the first, and what is behind has bucket 0.
//
// Where a logarithm ends on a whole number, the bucket is decided by integers. Mesh TensorFlow and transformers calculate
// in float32. By PyTorch that gives the same buckets for all distances up to 20,000 where buckets and maxDistance are
// those of T5 and its kin. There are numbers with which one or two distances are off by a bucket in float32, for instance
// 24 buckets, not bidirectional, and a maxDistance of 4116, where those of 84 and 588 are one too low.
//
// RelativeBucket panics where NewRelativeBias returns an error. It is not meant for loops over scores: AddTo is.
func RelativeBucket(relative, buckets, maxDistance int, bidirectional bool) int {
	if err := checkBuckets("positional.RelativeBucket", "buckets", buckets, maxDistance, bidirectional); err != nil {
		panic(err)
	}
	near, all := bucketsOf(buckets, bidirectional)
	switch {
	case relative <= 0:
		if relative <= -maxDistance { // also where -relative overflows
			return all - 1
		}
		return distanceBucket(-relative, near, all, maxDistance)
	case bidirectional:
		return all + distanceBucket(relative, near, all, maxDistance)
	}
	return 0
}

// distanceBucket returns the bucket of a distance among all of one direction.
func distanceBucket(distance, near, all, maxDistance int) int {
	if distance < near {
		return distance
	}
	if distance >= maxDistance {
		return all - 1
	}
	// x = log(distance/near) / log(maxDistance/near) * far, off by less than 1e-15 of far. Up to mostDistance, the next distance
	// differs by far more than that.
	far := all - near
	x := exact.LogQuotient(float64(distance), float64(near)) / exact.LogQuotient(float64(maxDistance), float64(near)) * float64(far)
	k := int(math.Floor(x + 0.5))
	if math.Abs(x-float64(k)) > 1e-14*float64(far) {
		k = int(math.Floor(x))
	} else if !reaches(distance, near, maxDistance, k, far) {
		k--
	}
	return near + min(k, far-1)
}

// reaches reports whether log(distance/near) / log(maxDistance/near) >= k/far, for 0 <= k <= far: whether
// distance^far >= maxDistance^k * near^(far-k).
func reaches(distance, near, maxDistance, k, far int) bool {
	d := gcd(k, far)
	power := func(x, n int) *big.Int {
		return new(big.Int).Exp(big.NewInt(int64(x)), big.NewInt(int64(n/d)), nil)
	}
	right := power(maxDistance, k)
	return power(distance, far).Cmp(right.Mul(right, power(near, far-k))) >= 0
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Kind returns "t5".
func (r *RelativeBias) Kind() string { return "t5" }

// Heads returns the number of heads.
func (r *RelativeBias) Heads() int { return r.table.Cols }

// Buckets returns the number of buckets.
func (r *RelativeBias) Buckets() int { return r.table.Rows }

// MaxDistance returns the distance from which on there is one bucket alone.
func (r *RelativeBias) MaxDistance() int { return r.maxDistance }

// Bidirectional reports whether keys behind a query have buckets of their own.
func (r *RelativeBias) Bidirectional() bool { return r.bidirectional }

// Trainable returns true.
func (r *RelativeBias) Trainable() bool { return true }

// Table returns the parameters, buckets x heads, without a copy.
func (r *RelativeBias) Table() rowvec.Matrix { return r.table }

// String returns, for instance, "RelativeBias(heads=8, buckets=32, max distance=128, bidirectional)".
func (r *RelativeBias) String() string {
	direction := "causal"
	if r.bidirectional {
		direction = "bidirectional"
	}
	return fmt.Sprintf("RelativeBias(heads=%d, buckets=%d, max distance=%d, %s)", r.Heads(), r.Buckets(), r.maxDistance,
		direction)
}

// run is a number of relative positions, one behind the other, that have the same bucket.
type run struct{ bucket, n int }

// runAt returns the run that begins with a relative position, or the first n of it if it has more.
func (r *RelativeBias) runAt(relative, n int) run {
	if relative > 0 && !r.bidirectional {
		return run{0, n}
	}
	distance := max(relative, -relative)
	next, _ := slices.BinarySearch(r.borders, distance+1) // positions are below math.MaxInt
	switch bucket := next - 1; {
	case relative <= 0 && bucket == 0 && !r.bidirectional:
		return run{0, n}
	case relative <= 0:
		return run{bucket, min(n, distance-r.borders[bucket]+1)}
	case next == len(r.borders):
		return run{next + bucket, n}
	default:
		return run{len(r.borders) + bucket, min(n, r.borders[next]-distance)}
	}
}

// runs is room for the first runs of a pane, which are found once for all heads. Those of 32 buckets, as T5 has, have room.
type runs [64]run

// find returns the first runs, as many as there is room for, of n relative positions from lowest on.
func (rs *runs) find(r *RelativeBias, lowest, n int) []run {
	found := 0
	for i := 0; i < n && found < len(rs); found++ {
		rs[found] = r.runAt(lowest+i, n-i)
		i += rs[found].n
	}
	return rs[:found]
}

// runOf returns run number k, which begins with a relative position and has at most n: one that was found, or is now.
func (r *RelativeBias) runOf(found []run, k, relative, n int) run {
	if k < len(found) {
		return found[k]
	}
	return r.runAt(relative, n)
}

// AddTo adds the bias of each relative position to scores, which come before the softmax; T5 does not divide them by the
// root of the head dimension.
//
// Rows of scores are (batch, head, query), the queries of a head one behind the other, columns are keys. Query i stands at
// position queryStart+i, key j at keyStart+j: in decoding with a cache, queries is mostly 1 and queryStart the number of
// tokens before. The gradient of scores is that of the result, unchanged.
//
// scores has a multiple of Heads x queries rows; its stride is free. Errors: ShapeError if it has not, if queries is
// below 1, if a start is below 0, or if a position overflows an int; OverlapError if scores shares memory with the table;
// then scores is as it was. Without rows, queries and starts do not matter.
func (r *RelativeBias) AddTo(scores rowvec.Matrix, queries, queryStart, keyStart int) error {
	const op = "positional.RelativeBias.AddTo"
	if err := checkScores(op, "scores", scores, r.Heads(), queries, queryStart, keyStart); err != nil || scores.Rows == 0 {
		return err
	}
	if err := check.Apart(op, "scores", scores, "table", r.table); err != nil {
		return err
	}
	var biases window
	var room runs
	for col := 0; col < scores.Cols; col += scoreKeys {
		for first := 0; first < queries; first += scoreQueries {
			p := paneOf(&scores, col, first, queries, queryStart, keyStart)
			all := p.all(&biases)
			found := room.find(r, p.lowest, len(all))
			for head := range r.Heads() {
				for i, k := 0, 0; i < len(all); k++ {
					same := r.runOf(found, k, p.lowest+i, len(all)-i)
					setAll(all[i:][:same.n], r.table.Data[same.bucket*r.table.Stride+head])
					i += same.n
				}
				for row := head*queries + first; row < scores.Rows; row += r.Heads() * queries {
					for i := range p.queries {
						rowvec.Add(p.row(&scores, row+i), p.of(&biases, i)) // cannot fail
					}
				}
			}
		}
	}
	return nil
}

// setAll sets all elements of dst, of which there are some, to x.
func setAll(dst []float32, x float32) {
	const direct = 32 // elements, after which copying is faster
	for i := range min(direct, len(dst)) {
		dst[i] = x
	}
	for n := direct; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// Backward adds the gradient of the table to grad, given the gradient dScores of the result of AddTo: an element of grad
// grows by the sum of dScores over all queries and keys of its head whose relative position has its bucket.
//
// The sum is made of those of parts, which are added to grad one after the other: the columns by 4096, and for each of
// these the queries by 64. In a part, what has one relative position is added up in float32 from +0 on, by batch and then
// by query, and these sums, for rising positions as long as the bucket is the same, are added up in float64. So no sum of
// float32 gets long, and the bits are the same on every machine.
//
// grad has the shape of the table, dScores that of scores; strides are free. Errors are those of AddTo, also ShapeError
// for the shape of grad and OverlapError if grad shares memory with dScores; then grad is as it was.
func (r *RelativeBias) Backward(grad, dScores rowvec.Matrix, queries, queryStart, keyStart int) error {
	const op = "positional.RelativeBias.Backward"
	if err := check.Shape(op, "grad", grad, r.Buckets(), r.Heads()); err != nil {
		return err
	}
	if err := checkScores(op, "dScores", dScores, r.Heads(), queries, queryStart, keyStart); err != nil || dScores.Rows == 0 {
		return err
	}
	if err := check.Apart(op, "grad", grad, "dScores", dScores); err != nil {
		return err
	}
	var sums window
	var room runs
	for col := 0; col < dScores.Cols; col += scoreKeys {
		for first := 0; first < queries; first += scoreQueries {
			p := paneOf(&dScores, col, first, queries, queryStart, keyStart)
			all := p.all(&sums)
			found := room.find(r, p.lowest, len(all))
			for head := range r.Heads() {
				clear(all)
				for row := head*queries + first; row < dScores.Rows; row += r.Heads() * queries {
					for i := range p.queries {
						rowvec.Add(p.of(&sums, i), p.row(&dScores, row+i)) // cannot fail
					}
				}
				for i, k := 0, 0; i < len(all); k++ {
					same := r.runOf(found, k, p.lowest+i, len(all)-i)
					sum := 0.0
					for _, x := range all[i:][:same.n] {
						sum += float64(x)
					}
					grad.Data[same.bucket*grad.Stride+head] += float32(sum)
					i += same.n
				}
			}
		}
	}
	return nil
}
