package lookup

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/internal/work"
)

// Metric is what a Similarity compares vectors by.
type Metric int

const (
	Cosine Metric = iota // of the angle between them: their dot product divided by their lengths
	Dot                  // their dot product
)

// String returns "cosine" or "dot".
func (m Metric) String() string {
	switch m {
	case Cosine:
		return "cosine"
	case Dot:
		return "dot"
	}
	return fmt.Sprintf("Metric(%d)", int(m))
}

// Similarity finds the rows of a table that are most similar to vectors, or to rows of the table. The search is exhaustive
// and so exact; the scores of all rows are never held together.
//
// A dot product is that of rowvec.Dots, 16 lanes and a tree, with each product rounded before the sum. For a cosine, the
// query is divided by its length beforehand: that is computed in float64, like the reciprocal of the length of each row,
// which the dot product is multiplied by in float64, and each result is rounded to float32 once. So scores and order have
// the same bits on every machine, for any number of workers, and whichever other queries are in the call. Where a call has
// many queries, rows are compared in 16 bits first on amd64, and only those that may be among the best once more: that
// changes no result.
//
// The best score comes first, and of equal ones the lower id. The cosine of a row or a query of zeros is 0. Scores that are
// no number come last: a cosine is none where the row or the query has a NaN or an infinity. Dot products are float32 also
// on the way to a cosine: of rows with elements near its limits, 1e38 or 1e-38, they may overflow, or lose digits; and of rows
// that are nearly parallel, rounding may take a cosine past 1 by some 1e-7.
//
// The reciprocals of lengths are those of the last Refresh, which NewSimilarity does too: whoever changes the table, as by
// training, has to call it before the next search by cosine, or else scores are those of rows with the lengths that they
// had.
//
// The table is used as it is: unscaled also where the embedding is Scaled. The row of its padding id is never found.
type Similarity struct {
	tokens *Embedding
	metric Metric
	// reciprocals of the lengths of rows, and 0 for those of zeros; nil for dot products
	reciprocals []float64
	refresh     *work.Crew
}

// NewSimilarity returns a search in the table of tokens, with their number of workers, by a metric. Its table is not copied.
func NewSimilarity(tokens *Embedding, metric Metric) (*Similarity, error) {
	const op = "lookup.NewSimilarity"
	if err := checkTokens(op, tokens); err != nil {
		return nil, err
	}
	if metric < Cosine || metric > Dot {
		return nil, check.Value(op, "metric", metric, "cosine or dot")
	}
	s := &Similarity{tokens: tokens, metric: metric}
	if metric == Cosine {
		s.reciprocals = make([]float64, tokens.Vocab())
		s.refresh = work.New(s.refreshPart)
		s.Refresh()
	}
	return s, nil
}

// Tokens returns the embedding whose table is searched.
func (s *Similarity) Tokens() *Embedding { return s.tokens }

// Metric returns what vectors are compared by.
func (s *Similarity) Metric() Metric { return s.metric }

// String says what is searched, such as Similarity(cosine, vocab=50257, dim=768).
func (s *Similarity) String() string {
	return fmt.Sprintf("Similarity(%s, vocab=%d, dim=%d)", s.metric, s.tokens.Vocab(), s.tokens.Dim())
}

// Refresh computes the lengths of all rows anew. It must be the only call. Without it, searches may be made by any number of
// goroutines at once, as long as nothing writes to the table.
func (s *Similarity) Refresh() {
	if s.reciprocals == nil {
		return
	}
	n := len(s.reciprocals)
	_ = s.refresh.Do(s.tokens.workersFor(n, tuning.ParallelElements), n, leastRows(s.tokens.Dim()))
}

func (s *Similarity) refreshPart(lo, hi int) error {
	all := s.reciprocals[lo:hi]
	forward.SquaredNorms(all, rows(s.tokens.weight, lo, hi), nil)
	for i, square := range all {
		all[i] = reciprocal(math.Sqrt(square))
	}
	return nil
}

// reciprocal returns 1 divided by a length, and 0 for that of zeros.
func reciprocal(length float64) float64 {
	if length == 0 {
		return 0
	}
	return 1 / length
}

// Nearest sets row i of dst to the rows of the table that are most similar to row i of queries, which has Dim columns.
// Errors: ShapeError, also if dst has no room for K neighbours of each query, and OverlapError if it shares memory with
// queries or the table; then dst is as it was.
func (s *Similarity) Nearest(dst *Neighbours, queries rowvec.Matrix) error {
	return s.nearest("lookup.Similarity.Nearest", dst, queries, nil)
}

// NearestExcept is Nearest without some ids: those of sequence i of except are not found by query i, or, where except is one
// sequence, by no query. Only its ids and the shape of the batch matter. It is an IndexError if an id is outside [0, Vocab).
func (s *Similarity) NearestExcept(dst *Neighbours, queries rowvec.Matrix, except Input) error {
	return s.nearest("lookup.Similarity.NearestExcept", dst, queries, &except)
}

func (s *Similarity) nearest(op string, dst *Neighbours, queries rowvec.Matrix, except *Input) error {
	if err := check.Matrix(op, "queries", queries, s.tokens.Dim()); err != nil {
		return err
	}
	if err := s.check(op, dst, queries.Rows, except); err != nil {
		return err
	}
	if err := dst.apart(op, "queries", queries); err != nil || queries.Rows == 0 {
		return err
	}
	if except != nil {
		if n := except.sequences(); n > 1 {
			if err := check.Equal(op, "sequences of except", n, queries.Rows); err != nil {
				return err
			}
		}
	}
	p := s.begin(dst, queries.Rows)
	defer p.end()
	if s.metric == Dot {
		p.queries = queries
	} else {
		for i := range queries.Rows {
			unit(p.ownQuery(i), queries.Row(i))
		}
	}
	if except != nil {
		p.exceptSequences(except)
	}
	return p.run(op)
}

// NearestTo sets row i of dst to the rows of the table that are most similar to that of token i, without the token itself.
// The shape of the batch of tokens does not matter. Errors are those of Nearest, and IndexError for an id outside
// [0, Vocab).
func (s *Similarity) NearestTo(dst *Neighbours, in Input) error {
	const op = "lookup.Similarity.NearestTo"
	if err := s.check(op, dst, in.Len(), &in); err != nil || in.Len() == 0 {
		return err
	}
	p := s.begin(dst, in.Len())
	defer p.end()
	for i := range in.Len() {
		row, ok := p.token(&in, i)
		if !ok {
			return changed(op)
		}
		if s.metric == Dot {
			copy(p.ownQuery(i), row)
		} else {
			unit(p.ownQuery(i), row)
		}
		p.ends = append(p.ends, len(p.except))
	}
	return p.run(op)
}

// Between returns the score that token other has in a search for those nearest to token id: their cosine, or their dot
// product. Either may be the padding id. It is an IndexError if one of the two, at position 0 or 1, is outside [0, Vocab).
func (s *Similarity) Between(id, other int) (score float32, err error) {
	if err := check.IDs("lookup.Similarity.Between", "id", []int{id, other}, s.tokens.Vocab()); err != nil {
		return 0, err
	}
	table := s.tokens.weight
	query := rows(table, id, id+1)
	if s.metric == Cosine {
		scratch := scratchOf(table.Cols)
		defer scratches.Put(scratch)
		unit((*scratch)[:table.Cols], table.Row(id))
		query = rowvec.Matrix{Rows: 1, Cols: table.Cols, Data: *scratch, Stride: table.Cols}
	}
	var dot [1]float32
	dst := rowvec.Matrix{Rows: 1, Cols: 1, Data: dot[:], Stride: 1}
	if err := rowvec.DotsAll(dst, query, rows(table, other, other+1)); err != nil {
		return 0, err
	}
	if s.metric == Dot {
		return dot[0], nil
	}
	return float32(float64(dot[0]) * s.reciprocals[other]), nil
}

// Analogy answers questions of the form: a is to b as c is to what? in has the three tokens of each question, as
// Batch(ids, 3) makes it, and row i of dst gets the best answers to question i, without the three. They are the rows with
// the greatest cosine to b - a + c, where the vectors of a, b and c are divided by their lengths first: the 3CosAdd of
// Mikolov, Yih and Zweig, "Linguistic regularities in continuous space word representations" (2013), named so by Levy and
// Goldberg (2014). The vector is computed in float64 and rounded once.
//
// It is an error if the metric is not Cosine, and a ShapeError if a sequence of in is not of three tokens. Other errors are
// those of NearestTo.
func (s *Similarity) Analogy(dst *Neighbours, in Input) error {
	const op = "lookup.Similarity.Analogy"
	if s.metric != Cosine {
		return check.Value(op, "the metric", s.metric, "cosine")
	}
	if err := in.check(op, s.tokens.Vocab()); err != nil {
		return err
	}
	for b := range in.sequences() {
		first, end := in.sequenceSpan(b)
		if err := check.Equal(op, "tokens of a question", end-first, 3); err != nil {
			return err
		}
	}
	if err := s.check(op, dst, in.Len()/3, &in); err != nil || in.Len() == 0 {
		return err
	}
	p := s.begin(dst, in.Len()/3)
	defer p.end()
	dim := s.tokens.Dim()
	p.sums = sized(p.sums, dim)
	for i := range p.queries.Rows {
		clear(p.sums)
		for k, sign := range [...]float64{-1, 1, 1} {
			row, ok := p.token(&in, 3*i+k)
			if !ok {
				return changed(op)
			}
			factor := sign * reciprocal(euclidean(row))
			for j, x := range row {
				p.sums[j] += float64(float64(x) * factor)
			}
		}
		slices.Sort(p.except[3*i:])
		p.ends = append(p.ends, len(p.except))
		total := 0.0
		for _, x := range p.sums {
			total += float64(x * x)
		}
		if total != 0 {
			total = 1 / math.Sqrt(total)
		}
		query := p.ownQuery(i)
		for j, x := range p.sums {
			query[j] = float32(x * total)
		}
	}
	return p.run(op)
}

// unit sets dst to x divided by its length.
func unit(dst, x []float32) {
	factor := reciprocal(euclidean(x))
	for i, v := range x {
		dst[i] = float32(float64(v) * factor)
	}
}

// check reports room or ids that do not fit so many queries.
func (s *Similarity) check(op string, dst *Neighbours, queries int, ids *Input) error {
	if ids != nil {
		if err := ids.check(op, s.tokens.Vocab()); err != nil {
			return err
		}
	}
	if err := check.Room(op, "number of queries", queries, s.tokens.Dim()+queryGap); err != nil {
		return err
	}
	if err := dst.check(op, queries); err != nil {
		return err
	}
	if err := dst.apart(op, "token table", s.tokens.weight); err != nil {
		return err
	}
	if err := check.Apart(op, "dst.IDs", viewOf(dst.IDs).memory(), "dst.Scores", dst.scores()); err != nil || ids == nil {
		return err
	}
	return dst.apartFrom(op, ids)
}

// queryGap is what lies between copies of queries, so that those of a power of two of elements do not all contend for the
// same places in the caches: 64 queries of 1,024 elements take 0.95 of the time with it on a Zen 4; 300, 512 and 768 the
// same.
const queryGap = 16

// search is a call on its way; it is used again.
type search struct {
	*Similarity
	queries rowvec.Matrix // as rows are multiplied by them
	dst     *Neighbours
	block   int // rows whose scores are held at a time

	// Ids not to find. Where ends is empty they hold for all queries, or else those of query i end at ends[i]; of each
	// query they ascend.
	except []int
	ends   []int

	memory []float32 // for queries
	sums   []float64
	screen screen

	crew  *work.Crew
	mu    sync.Mutex
	hands []*hand // one for each worker at most
	free  []*hand
}

// hand is what one worker has found.
type hand struct {
	best     []best // of each query
	limits   []float64
	scores   []float32 // of a block of rows and a block of queries
	screened screened
	ids      []int
	found    []float32
}

var searches = sync.Pool{New: func() any {
	p := new(search)
	p.crew = work.New(p.part)
	return p
}}

func (s *Similarity) begin(dst *Neighbours, queries int) *search {
	p := searches.Get().(*search)
	dim := s.tokens.Dim()
	p.Similarity, p.dst = s, dst
	stride := dim + queryGap
	p.memory = slices.Grow(p.memory[:0], queries*stride)
	p.queries = rowvec.Matrix{Rows: queries, Cols: dim, Stride: stride, Data: p.memory[:queries*stride]}
	return p
}

func (p *search) end() {
	p.Similarity, p.dst, p.queries = nil, nil, rowvec.Matrix{}
	p.except, p.ends, p.free = p.except[:0], p.ends[:0], p.free[:0]
	for _, h := range p.hands {
		clear(h.best) // which hold on to the result
	}
	searches.Put(p)
}

func (p *search) ownQuery(i int) []float32 { return p.queries.Row(i) }

// token returns the row of token i, which becomes one not to find by the query at hand; ok is false if its id has changed
// since the check.
func (p *search) token(in *Input, i int) (row []float32, ok bool) {
	id := in.ids.at(i)
	if uint(id) >= uint(p.tokens.Vocab()) {
		return nil, false
	}
	p.except = append(p.except, id)
	return p.tokens.weight.Row(id), true
}

// exceptSequences has the ids of sequence i of in not be found by query i, or those of the only sequence by none.
func (p *search) exceptSequences(in *Input) {
	n := in.sequences()
	for b := range n {
		first, end := in.sequenceSpan(b)
		from := len(p.except)
		for i := first; i < end; i++ {
			p.except = append(p.except, in.ids.at(i)) // one that has changed since the check is that of no row, or of another
		}
		slices.Sort(p.except[from:])
		if n > 1 {
			p.ends = append(p.ends, len(p.except))
		}
	}
}

// excepts reports whether a query is not to find a row.
func (p *search) excepts(query, id int) bool {
	if id == p.tokens.padding {
		return true
	}
	ids := p.except
	if len(p.ends) > 0 {
		first := 0
		if query > 0 {
			first = p.ends[query-1]
		}
		ids = ids[first:p.ends[query]]
	}
	_, found := slices.BinarySearch(ids, id)
	return found
}

const (
	// searchQueries is the number of queries that rows are compared with before it is the turn of the next ones.
	searchQueries = 64
	// searchElements of the table are a block, and stay in the second-level cache until all queries have had them, unless
	// they are more than tuning.SearchRows.
	searchElements = 64 << 10
)

// run does a search whose queries and exceptions are set.
func (p *search) run(op string) error {
	n, dim, queries := p.tokens.Vocab(), p.tokens.Dim(), p.queries.Rows
	workers := p.tokens.workers
	if queries < tuning.ParallelProducts/n/dim {
		workers = 1
	}
	p.block = min(tuning.SearchRows, max(outputColumns, searchElements/dim/outputColumns*outputColumns))
	blocks := parts(n, p.block)
	workers = work.Busy(workers, blocks, 1)
	p.screen.begin(p)
	p.ready(workers)
	err := p.crew.Do(workers, blocks, 1)
	first := p.hands[0]
	for query := range first.best {
		b := &first.best[query]
		for _, h := range p.hands[1:workers] {
			other := &h.best[query]
			for i, id := range other.ids[:other.n] {
				b.add(other.scores[i], id)
			}
		}
		b.sort()
	}
	return outcome(op, err)
}

// ready has so many hands have found nothing yet. The first one finds what is left in the result.
func (p *search) ready(n int) {
	k, queries := p.dst.K, p.queries.Rows
	for len(p.hands) < n {
		p.hands = append(p.hands, new(hand))
	}
	for i, h := range p.hands[:n] {
		h.best, h.limits = sized(h.best, queries), sized(h.limits, queries)
		room := min(queries, searchQueries) * p.block
		h.scores = sized(h.scores, room)
		h.screened.wait, h.screened.pause = 0, 0
		ids, scores := p.dst.IDs, p.dst.Scores
		if i > 0 {
			h.ids, h.found = sized(h.ids, queries*k), sized(h.found, queries*k)
			ids, scores = h.ids, h.found
		}
		for query := range queries {
			h.best[query] = best{ids: ids[query*k:][:k], scores: scores[query*k:][:k]}
			h.limits[query] = h.best[query].limit()
		}
		p.free = append(p.free, h)
	}
}

// part compares a range of blocks of rows with all queries.
func (p *search) part(lo, hi int) error {
	p.mu.Lock()
	h := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.free = append(p.free, h)
		p.mu.Unlock()
	}()
	lo, end := lo*p.block, min(hi*p.block, p.tokens.Vocab())
	for ; lo < end; lo += p.block {
		hi := min(lo+p.block, end)
		screens := h.screens(p, lo, hi)
		for first := 0; first < p.queries.Rows; first += searchQueries {
			last := min(first+searchQueries, p.queries.Rows)
			if screens {
				var next rowvec.Matrix
				if first == 0 {
					next = rows(p.tokens.weight, hi, min(hi+p.block, end))
				}
				done, err := h.screen(p, first, last, lo, next)
				if err != nil {
					return err
				}
				if done {
					continue
				}
				screens = false // and not for the other queries either
			}
			scores := rowvec.Matrix{Rows: last - first, Cols: hi - lo, Stride: hi - lo, Data: h.scores}
			table := p.tokens.weight
			if err := forward.DotsAll(scores, rows(p.queries, first, last), rows(table, lo, hi), table.Rows*table.Stride); err != nil {
				return err
			}
			for query := first; query < last; query++ {
				if p.metric == Dot {
					p.look(h, query, scores.Row(query-first), lo)
				} else {
					p.lookByCosine(h, query, scores.Row(query-first), lo)
				}
			}
		}
	}
	return nil
}

// look has h take those of the rows from lo on that are among the best for a query.
func (p *search) look(h *hand, query int, scores []float32, lo int) {
	limit := h.limits[query]
	for i, score := range scores {
		if float64(score) < limit {
			continue
		}
		limit = p.take(h, query, score, lo+i)
	}
}

// lookByCosine is look, of dot products with rows of any length.
func (p *search) lookByCosine(h *hand, query int, scores []float32, lo int) {
	limit := h.limits[query]
	reciprocals := p.reciprocals[lo:][:len(scores)]
	for i, x := range scores {
		score := float64(x) * reciprocals[i]
		if score < limit {
			continue
		}
		limit = p.take(h, query, float32(score), lo+i)
	}
}

// take has h take a row if it is among the best for a query, which then has another limit.
func (p *search) take(h *hand, query int, score float32, id int) (limit float64) {
	b := &h.best[query]
	if b.n == len(b.ids) && !before(score, id, b.scores[0], b.ids[0]) || p.excepts(query, id) {
		return h.limits[query]
	}
	b.add(score, id)
	h.limits[query] = b.limit()
	return h.limits[query]
}
