package positional

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/exact"
)

// ALiBi is attention with linear biases (Press et al., "Train short, test long: attention with linear biases enables
// input length extrapolation", 2021): the score of a query and a key falls with their distance, at a slope of its own in
// each head. There is no limit to positions, and nothing to learn.
//
// With n heads, a power of two, head h has the slope 2^(-8(h+1)/n). For another number of heads the authors take the
// slopes of n, the next lower power of two, and then every second one of 2n, from the first on. Each slope is rounded
// once to float32 and has the same bits on every machine.
type ALiBi struct {
	slopes []float32
}

// NewALiBi returns the biases for a number of heads. It is a ShapeError if that is below 1 or more than can be addressed.
func NewALiBi(heads int) (*ALiBi, error) {
	const op = "positional.NewALiBi"
	if err := check.AtLeast(op, "heads", heads, 1); err != nil {
		return nil, err
	}
	slopes, err := check.NewTable(op, "heads", heads, "", 1)
	if err != nil {
		return nil, err
	}
	n := 1 << (bits.Len(uint(heads)) - 1)
	for h := range slopes.Data {
		if h < n {
			slopes.Data[h] = float32(root(8*(uint64(h)+1), uint64(n)))
		} else {
			slopes.Data[h] = float32(root(4*(2*uint64(h-n)+1), uint64(n)))
		}
	}
	return &ALiBi{slopes.Data}, nil
}

// root returns 2^(-i/n), exactly where n divides i.
func root(i, n uint64) float64 {
	part := float64(float64(i%n) / float64(n) * math.Ln2)
	return math.Ldexp(exact.Exp(-part), -int(i/n))
}

// Kind returns "alibi".
func (a *ALiBi) Kind() string { return "alibi" }

// Heads returns the number of heads.
func (a *ALiBi) Heads() int { return len(a.slopes) }

// Slopes returns a copy of the slopes, one for each head.
func (a *ALiBi) Slopes() []float32 { return slices.Clone(a.slopes) }

// String returns, for instance, "ALiBi(heads=8)".
func (a *ALiBi) String() string { return fmt.Sprintf("ALiBi(heads=%d)", a.Heads()) }

// AddTo adds the biases to scores, which come before the softmax and after the division by the root of the head
// dimension: slope times the distance of query and key is subtracted, where the product is rounded to float32 before the
// difference is. Distances up to 2^24 are exact; beyond, they are rounded to float32 first.
//
// Rows of scores are (batch, head, query), the queries of a head one behind the other, columns are keys. Query i stands at
// position queryStart+i, key j at keyStart+j: in decoding with a cache, queries is mostly 1 and queryStart the number of
// tokens before. Keys behind a query have the bias of their distance too, as in an encoder; a causal mask hides them, and
// then their bias does not matter. Bloom and MPT add slope times the position of the key, less perhaps that of the last
// one, without that of the query. This differs by one number for each row, of which the softmax sees nothing.
//
// The gradient of scores is that of the result, unchanged.
//
// scores has a multiple of Heads x queries rows; its stride is free. It is a ShapeError if it has not, if queries is
// below 1, if a start is below 0, or if a position overflows an int; then scores is as it was. Without rows, queries and
// starts do not matter.
func (a *ALiBi) AddTo(scores rowvec.Matrix, queries, queryStart, keyStart int) error {
	const op = "positional.ALiBi.AddTo"
	if err := checkScores(op, "scores", scores, a.Heads(), queries, queryStart, keyStart); err != nil || scores.Rows == 0 {
		return err
	}
	var distances window
	for col := 0; col < scores.Cols; col += scoreKeys {
		for first := 0; first < queries; first += scoreQueries {
			p := paneOf(&scores, col, first, queries, queryStart, keyStart)
			all := p.all(&distances)
			for i := range all {
				all[i] = float32(max(p.lowest+i, -p.lowest-i))
			}
			head := 0
			for row := first; row < scores.Rows; row += queries {
				for i := range p.queries {
					rowvec.AddScaled(p.row(&scores, row+i), -a.slopes[head], p.of(&distances, i)) // cannot fail
				}
				if head++; head == len(a.slopes) {
					head = 0
				}
			}
		}
	}
	return nil
}
