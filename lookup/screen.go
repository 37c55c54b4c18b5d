package lookup

import (
	"math"
	"slices"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/kernels"
)

// A search of many queries first compares them with the rows in 16 bits, which takes about half as long (see
// kernels_quantized_amd64.s) and says of nearly all rows that they are none of the best. The others are compared as they are
// without that, and so the results are the same.
//
// With kernels.Quantize, a row r times its factor s is rounded to integers r', which differ from s*r by e, and a query q
// times its factor t to q', by f. Then
//
//	s*t*(r.q) - r'.q' = (s*r).f + e.q'
//
// which by the inequality of Cauchy and Schwarz is at most |s*r||f| + |e||q'|. The lengths |s*r| and |q'| are
// QuantizedLength but for rounding, |e| and |f| half the root of dim at most. What rowvec.Dots computes differs from r.q by
// at most |r||q| times dim/16+8 halves of a unit in the last place: nothing underflows that matters, since Quantize has a
// factor of 0 for rows so short.

// doubt returns what a dot product of integers is off by at most, rounding and all.
func doubt(dim int) float64 {
	const length = kernels.QuantizedLength * 1.01
	n := float64(dim)
	return 1.02*math.Sqrt(n)*length + (n/16+8)/(1<<24)*length*length
}

// screen is the queries of a search in 16 bits, if it is on.
type screen struct {
	on      bool
	queries []int16 // and zeros, up to a multiple of 4 of them
	factors []float32
	cols    int
	doubt   float64
}

// screened is a block of rows in 16 bits, and what is left of it.
type screened struct {
	rows     []int16 // and zeros, likewise
	factors  []float32
	scales   []float64 // what a limit is multiplied by for each row: NaN if it has to be compared anyway
	min, max float64   // of scales
	products []int32
	ids      []int
	ends     []int // of the ids of each query

	// Where too many rows are left, some blocks go unscreened, and twice as many the next time.
	wait, pause int
}

// begin rounds the queries of a search if they are many.
func (s *screen) begin(p *search) {
	n, dim := p.queries.Rows, p.tokens.Dim()
	if s.on = n >= tuning.ScreenedQueries && forward.Quantizes(dim); !s.on {
		return
	}
	s.cols, s.doubt = kernels.QuantizedColumns(dim), doubt(dim)
	s.queries, s.factors = sized(s.queries, fours(n)*s.cols), sized(s.factors, n)
	forward.Quantize(s.queries[:n*s.cols], s.factors, p.queries)
	clear(s.queries[n*s.cols:])
	s.on = !slices.Contains(s.factors, 0)
}

// fours returns n, rounded up to a multiple of 4.
func fours(n int) int { return (n + 3) &^ 3 }

// screens rounds a block of rows, and reports whether it is to be screened. The first ones are not, since any row is among
// the best of so few.
func (h *hand) screens(p *search, lo, hi int) bool {
	s, cols := &h.screened, p.screen.cols
	if !p.screen.on || math.IsNaN(h.limits[0]) {
		return false
	}
	if s.wait > 0 {
		s.wait--
		return false
	}
	n := hi - lo
	s.rows, s.factors, s.scales = sized(s.rows, fours(n)*cols), sized(s.factors, n), sized(s.scales, n)
	forward.Quantize(s.rows[:n*cols], s.factors, rows(p.tokens.weight, lo, hi))
	clear(s.rows[n*cols:])
	s.min, s.max = math.Inf(1), math.Inf(-1)
	for i, factor := range s.factors {
		scale := float64(factor)
		if factor == 0 {
			scale = math.NaN()
		} else if p.metric == Cosine {
			scale /= p.reciprocals[lo+i]
		}
		s.scales[i], s.min, s.max = scale, min(s.min, scale), max(s.max, scale)
	}
	return true
}

// screen looks at the rows from lo on that may be among the best for some queries. If these are too many, it does not, and
// reports that. Meanwhile, next is fetched.
func (h *hand) screen(p *search, first, last, lo int, next rowvec.Matrix) (done bool, err error) {
	s, q := &h.screened, &p.screen
	n := len(s.scales)
	stride := fours(n)
	s.products = sized(s.products, fours(last-first)*stride)
	forward.QuantizedDots(s.products, q.queries[first*q.cols:fours(last)*q.cols], s.rows, q.cols, next)
	s.ids, s.ends = s.ids[:0], s.ends[:0]
	for query := first; query < last; query++ {
		limit := h.limits[query] * float64(q.factors[query])
		least := int32(math.MinInt32) // that any row of the block needs, which rules most of them out at once
		if x := min(limit*s.min, limit*s.max) - q.doubt; x >= math.MinInt32 {
			least = int32(min(x, math.MaxInt32))
		}
		for i, x := range s.products[(query-first)*stride:][:n] {
			if x < least || float64(x)+q.doubt < limit*s.scales[i] {
				continue
			}
			s.ids = append(s.ids, lo+i)
		}
		s.ends = append(s.ends, len(s.ids))
	}
	if len(s.ids) > n*(last-first)/8 {
		s.pause = min(2*s.pause+1, 31)
		s.wait = s.pause
		return false, nil
	}
	s.pause = 0
	at := 0
	for i, end := range s.ends {
		if end > at {
			if err := h.lookAt(p, first+i, s.ids[at:end]); err != nil {
				return false, err
			}
		}
		at = end
	}
	return true, nil
}

// lookAt has h take those of some rows that are among the best for a query.
func (h *hand) lookAt(p *search, query int, ids []int) error {
	scores := rowvec.Matrix{Rows: 1, Cols: len(ids), Stride: len(ids), Data: h.scores}
	if err := rowvec.Dots(scores, rows(p.queries, query, query+1), p.tokens.weight, ids); err != nil {
		return err
	}
	for i, id := range ids {
		score := float64(h.scores[i])
		if p.metric == Cosine {
			score *= p.reciprocals[id]
		}
		if !(score < h.limits[query]) {
			p.take(h, query, float32(score), id)
		}
	}
	return nil
}
