package lookup

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/check"
	"github.com/rowvec/rowvec/internal/forward"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/internal/tuning"
	"github.com/rowvec/rowvec/internal/work"
)

// pass is one forward or backward call on its way: what its ranges need to know.
type pass struct {
	task   passTask
	*Layer // an embedding alone has nothing but tokens
	in     Input
	out    rowvec.Matrix // the destination of a forward pass, dOut of a backward one
	grads  perParameter[rowvec.Matrix]
	table  rowvec.Matrix  // of positions, in a forward pass
	stored bool           // all positions are in it
	mask   rowvec.Mask    // what is dropped, of the whole matrix
	drops  bool           // something is
	pieces bool           // rows of a forward pass take more than one step, and so are done piece by piece
	stream bool           // the result of a forward pass is too large for the caches
	fused  bool           // rows of a forward pass are summed and normalised in one step
	sums   bool           // rows of a forward pass are summed and dropped in one step
	before *normGradients // what the gradient of a normalisation is to be
	share  int            // lines of columns in a share
	shares int            // of rows of the gradient of tokens, or 0 where it is shared by columns as all else is
	rest   int            // shares of columns of all else, where there are shares of rows
}

// passTask is what a pass does with a range.
type passTask int

const (
	forwardRange  passTask = iota // of rows
	normRange                     // of blocks of rows
	backwardRange                 // of lines of columns
	sharesRange                   // of shares of columns of all but tokens, and behind them of shares of rows
	clearRange                    // of lines of columns of the gradient of tokens
)

func (p *pass) part(lo, hi int) error {
	switch p.task {
	case forwardRange:
		return p.forwardPart(lo, hi)
	case normRange:
		return work.Each(p.normPart)(lo, hi)
	case sharesRange:
		return p.sharesPart(lo, hi)
	case clearRange:
		p.clearPart(lo, hi)
		return nil
	}
	return p.backwardPart(lo, hi)
}

// sharedPass is a pass that several workers share. It is used again when its call is over.
type sharedPass struct {
	pass
	crew *work.Crew
}

var sharedPasses = sync.Pool{New: func() any {
	s := new(sharedPass)
	s.crew = work.New(s.part)
	return s
}}

// run does the pass, ranges of n of at least so many each, and returns what becomes of an error. One worker does it all here and
// now: what a call of a single id takes is mostly what it takes to get there. After a panic, a shared pass is left to the
// garbage collector.
func (p *pass) run(op string, workers, n, least int) error {
	if work.Busy(workers, n, least) <= 1 {
		return outcome(op, p.part(0, n))
	}
	s := sharedPasses.Get().(*sharedPass)
	s.pass = *p
	err := s.crew.Do(workers, n, least)
	s.pass = pass{} // without a hold on what belongs to the caller
	sharedPasses.Put(s)
	return outcome(op, err)
}

// outcome returns what becomes of an error of a range, whose ids have all been checked before.
func outcome(op string, err error) error {
	if err == nil {
		return nil
	}
	if of, ok := err.(fillError); ok {
		return of.error
	}
	var index *rowvec.IndexError
	if errors.As(err, &index) || errors.Is(err, rowvec.ErrChanged) {
		return changed(op)
	}
	return err
}

// changed is what a call returns that has met an id which it had checked to be valid.
func changed(op string) error { return fmt.Errorf("%w (%s)", rowvec.ErrChanged, op) }

// fill has positions write their vectors, from start on, to dst.
func (p *pass) fill(dst rowvec.Matrix, start int) error {
	if err := p.positions.Fill(dst, start); err != nil {
		return fillError{err}
	}
	return nil
}

// fillError is an error of Positions, which has nothing to do with the ids of the input, whatever its type.
type fillError struct{ error }

const (
	// lineElements is a cache line: no two workers share more than the one at the border of their columns.
	lineElements = 16
)

// leastRows is the least that a worker takes of rows of so many columns.
func leastRows(cols int) int { return max(1, tuning.LeastElements/cols) }

// lines returns how many lines the columns of a row are, and how many of them are the share of one worker, which it takes at
// once: each has to go through all rows, however few the columns.
func lines(cols, workers int) (n, share int) {
	n = parts(cols, lineElements)
	return n, max(tuning.LeastLines, parts(n, workers))
}

// parts returns how many parts n are, of so many each but the last.
func parts(n, each int) int { return (n + each - 1) / each }

// workersFor returns how many workers share a call of n rows, for which several pay from so many elements on.
func (e *Embedding) workersFor(n, elements int) int {
	if n < elements/e.Dim() {
		return 1
	}
	return e.workers
}

// parallelElements is the size from which on workers pay in whatever reads or changes rows of a table: tuning.ParallelElements, or half of
// it where no cache holds the table, and three quarters of that for four workers or more. It is one size for all of a pass:
// tuning.ParallelElements says why.
func parallelElements(vocab, dim, workers int) int {
	elements := tuning.ParallelElements
	if cold(vocab, dim) {
		elements /= 2
	}
	if workers >= 4 {
		elements = 3 * elements / 4
	}
	return elements
}

func (e *Embedding) parallelElements() int { return parallelElements(e.Vocab(), e.Dim(), e.workers) }

// cold reports whether no cache holds a table.
func cold(vocab, dim int) bool { return vocab*dim > tuning.ColdBytes/4 }

// denseElements is the same for dense gradients, which are no rows that a lookup has read: those of a cached table, by columns, cost little
// more than to go over the ids. Two workers were 0.67 to 1.06 times as fast as one on two cores of a Xeon at 1.5 Mi elements of
// 10,000 x 64, and 1.05 to 1.5 times at 8 Mi.
func (e *Embedding) denseElements() int {
	if cached(e.Vocab(), e.Dim()) {
		return 3 * tuning.ParallelElements
	}
	return 2 * e.parallelElements()
}

// cached reports whether a second-level cache holds a table, or nearly.
func cached(vocab, dim int) bool { return vocab*dim <= 3*tuning.CachedBagBytes/4 }

// forwardAtOnce has one kernel do all of a forward pass, with checks of its own, where that is all there is to it, and reports
// whether it has: one worker, no more than positions to add, and those in a table. Whatever is not plainly in order is left to
// forwardPass. A pass of a few tokens is mostly what it takes to get there. On a Zen 3, ns by forwardPass and so, medians of
// three processes that alternate the two, all in cache: an Embedding, a scaled one, and a Layer with learned positions:
//
//	  1 x 64     404   78    379  197    538  214          1 x 768    422  116    437  243     599   281
//	  4 x 64     360  118    381  197    585  243          4 x 768    575  285    573  376     961   611
//	 32 x 64     478  286    459  300    695  415         32 x 768   2806 2583   2960 2655    4483  4047
//	128 x 64    1250 1013   1095  939   1635 1355        128 x 768  15196 14714 14632 14155  21019 20444
func forwardAtOnce(l *Layer, dst rowvec.Matrix, in *Input) bool {
	e := l.tokens
	if l.norm.on {
		return in.Len() <= normedAtOnce/e.Dim() && forwardNormed(l, dst, in)
	}
	if l.segments != nil || !e.takesAtOnce(in, e.parallelElements()) ||
		in.weights != nil || in.seq < 1 || in.Len()%in.seq != 0 {
		return false
	}
	if l.positions == nil {
		return !in.placed && in.ids.gather(dst, e) == nil
	}
	table, limit := l.positions.Table(), l.positions.Limit()
	if in.placed && table.Rows != limit || in.start > min(table.Rows, limit)-in.seq {
		return false // others are computed, or refused
	}
	return in.ids.embed(dst, e, table, in) == nil
}

// normedAtOnce is the most elements that are normalised by a kernel of their own right behind another's, rather than piece by piece with
// what prefetches rows meanwhile. On a Xeon, ns by forwardPass and so, all in cache, a layer with learned positions:
//
//	 1 x 768   396  250      2 x 64   295  162
//	 4 x 768   720  471      8 x 64   462  298
//	16 x 768  2216 2843     32 x 64   727  637
const normedAtOnce = 4 << 10

// forwardNormed is forwardAtOnce for a layer that normalises.
func forwardNormed(l *Layer, dst rowvec.Matrix, in *Input) bool {
	plain := *l
	plain.norm.on = false
	return rowvec.CheckMatrix("", "dst", dst) == nil && l.norm.apart("", "dst", dst) == nil && l.checkParts("", in) == nil && forwardAtOnce(&plain, dst, in) && l.norm.forward(dst) == nil
}

// takesAtOnce reports whether a kernel checks what has to be checked of an input, but for its shape, and one worker does it, for
// which several pay from so many elements on.
func (e *Embedding) takesAtOnce(in *Input, elements int) bool {
	return e.maxNorm == 0 && e.Vocab() <= math.MaxInt32 && !in.typed && in.start >= 0 && e.workersFor(in.Len(), elements) == 1
}

func forwardPass(op string, l *Layer, dst rowvec.Matrix, in Input, mask rowvec.Mask) error {
	tokens := l.tokens
	if err := in.check(op, tokens.Vocab()); err != nil {
		return err
	}
	n := in.Len()
	if err := checkMask(op, n, mask); err != nil {
		return err
	}
	if err := check.Shape(op, "dst", dst, n, tokens.Dim()); err != nil || n == 0 {
		return err
	}
	if err := check.Apart(op, "dst", dst, "token table", tokens.weight); err != nil {
		return err
	}
	if err := in.apart(op, "dst", dst); err != nil {
		return err
	}
	p := pass{Layer: l, in: in, out: dst, mask: mask, drops: mask.Threshold() > 0}
	if l.positions != nil {
		var err error
		if p.table, p.stored, err = l.positionTable(op, &in); err != nil {
			return err
		}
	}
	if err := l.checkParts(op, &in); err != nil {
		return err
	}
	if err := p.apart(op, "dst", dst); err != nil {
		return err
	}

	if tokens.maxNorm > 0 {
		if err := in.apart(op, "token table", tokens.weight); err != nil {
			return err
		}
		if err := p.apart(op, "token table", tokens.weight); err != nil {
			return err
		}
		if err := tokens.renormalise(op, in.ids, tokens.parallelElements()); err != nil {
			return err
		}
	}
	p.pieces = p.drops || p.norm.on || p.segments != nil && p.positions != nil
	p.stream = tuning.Large(n * tokens.Dim())
	scratch, err := p.computeOnce(op)
	if err != nil {
		return outcome(op, err)
	}
	if scratch != nil {
		defer scratches.Put(scratch)
	}
	p.fused = p.normalises()
	if p.sums = p.dropsSums(); p.sums {
		p.pieces = false
	}
	workers := tokens.workersFor(n, tokens.parallelElements())
	return p.run(op, workers, n, leastRows(tokens.Dim()))
}

// apart reports that m, which a forward pass writes to, shares memory with what is added to the tokens, or multiplied by.
func (p *pass) apart(op, name string, m rowvec.Matrix) error {
	if err := check.Apart(op, name, m, "position table", p.table); err != nil {
		return err
	}
	if p.segments != nil {
		if err := check.Apart(op, name, m, "segment table", p.segments.weight); err != nil {
			return err
		}
	}
	if !p.norm.on {
		return nil
	}
	return p.norm.apart(op, name, m)
}

// onceElements is the size of the positions, 4 MiB, up to which a call computes them once for all of its sequences and
// ranges. Forward passes of 50,257 x 768 without a table of positions over those with one took so, and before, when they were
// computed for each part of a sequence anew: 0.82 and 1.97 for 16 sequences of 128, with dropout 1.01 and 2.10; 1.07 and
// 1.95 for 8 of 1,024. Medians of 31 on a crowded Zen 4.
const onceElements = 1 << 20

// computeOnce has positions that are in no table computed for the whole call, if they are not too many, and gives the pass
// a table of them, which is in scratch. Those that are of use once are left to forwardComputed, unless rows are done piece by
// piece.
func (p *pass) computeOnce(op string) (scratch *[]float32, err error) {
	if p.positions == nil || p.stored || p.in.placed {
		return nil, nil
	}
	need, err := p.in.positions(op, p.positions.Limit())
	dim := p.tokens.Dim()
	n := need - p.in.start
	if err != nil || n <= 0 || n > onceElements/dim || p.in.Len() <= n && !p.pieces && addsInPlace() {
		return nil, err
	}
	scratch = scratchOf(n * dim)
	table := rowvec.Matrix{Rows: n, Cols: dim, Data: (*scratch)[:n*dim], Stride: dim}
	if err := p.fill(table, p.in.start); err != nil {
		scratches.Put(scratch)
		return nil, err
	}
	p.table, p.stored, p.in.start = table, true, 0
	return scratch, nil
}

// positionTable returns the stored vectors of positions, if there are any, and whether they are all that the input needs.
func (l *Layer) positionTable(op string, in *Input) (table rowvec.Matrix, stored bool, err error) {
	if l.positions == nil {
		return table, false, nil
	}
	need, err := in.positions(op, l.positions.Limit())
	if err != nil {
		return table, false, err
	}
	table = l.positions.Table() // once: it may be anybody's, and the kernels below trust it
	if table.Rows != 0 {
		err = check.Matrix(op, "position table", table, l.Dim())
	}
	return table, table.Rows > 0 && need <= table.Rows, err // offsets that change meanwhile may need none
}

// checkMask reports a mask that Dropout would refuse for n rows.
func checkMask(op string, n int, mask rowvec.Mask) error {
	if mask.Step >= maxStep {
		return check.Value(op, "step", mask.Step, fmt.Sprintf("one below %d", uint64(maxStep)))
	}
	if mask.P > 0 && uint64(n) > maxMaskRows {
		return check.AtMost(op, "len(ids)", n, maxMaskRows)
	}
	return nil
}

// How far the masks of rowvec.Dropout reach.
const (
	maxStep     = 1 << 56
	maxMaskRows = min(math.MaxInt, 1<<32)
	maxMaskCols = min(math.MaxInt, 1<<36)
)

// forwardPart does a range of rows. Where there is more than one step to do, and no kernel that does them all, as there may
// be for sums with positions that are dropped, it takes pieces of them, which are done while they are in cache: in their
// place, or of a result that is too large for the caches in a scratch, from where the last step writes them past the caches.
// While dropout works out its masks, the rows of the table that the next piece needs are fetched. Times with dropout over
// those without, of 50,257 x 768, scaled, with AVX-512 on a crowded Zen 4, medians of 81 by the clock of the thread: where
// pieces are dropped in their place or in the scratch, which is then copied; with rows fetched; with dropout that writes past
// the caches; and with both.
//
//	uniform ids  2,048  1.41  1.18              Zipf ids  2,048  1.69  1.34
//	             6,144  1.77  1.47  1.39  1.29            6,144  2.16  1.96  1.65  1.50
//	            16,384  1.76  1.47  1.39  1.33           16,384  2.23  2.01  1.69  1.53
func (p *pass) forwardPart(lo, hi int) error {
	if !p.pieces {
		return p.forwardRows(rows(p.out, lo, hi), lo, hi, false)
	}
	dim := p.tokens.Dim()
	size := pieceRows(dim)
	if p.fused && !p.drops && !p.stream {
		size = hi - lo // in one step
	}
	var scratch *[]float32
	if p.stream {
		scratch = scratchOf(size * dim)
		defer scratches.Put(scratch)
	}
	for first, end := lo, hi; lo < hi; lo += size {
		out := rows(p.out, lo, min(lo+size, hi))
		piece := out
		if p.stream {
			piece.Data, piece.Stride = *scratch, dim
		}
		if err := p.forwardPiece(piece, lo, end, lo > first); err != nil {
			return err
		}
		end = hi
		switch {
		case p.drops:
			if p.drop(out, piece, lo, hi) {
				end = fetched
			}
		case p.stream:
			forward.Copy(out, piece)
		}
	}
	return nil
}

// dropsSums reports whether one kernel sums rows and drops what is dropped of them.
func (p *pass) dropsSums() bool {
	return p.drops && !p.norm.on && p.segments == nil && p.positions != nil && p.stored && forward.DropsSums(p.tokens.Dim())
}

// forwardPiece sets dst to rows from lo on, normalised if they are to be; more come behind them, up to end, and they may
// follow others.
func (p *pass) forwardPiece(dst rowvec.Matrix, lo, end int, follows bool) error {
	if p.fused {
		return p.forwardNormal(dst, lo, end, follows)
	}
	if err := p.forwardRows(dst, lo, end, follows); err != nil || !p.norm.on {
		return err
	}
	return p.norm.forward(dst)
}

// longRuns is the average length of ragged sequences from which on sums with segments and positions are normalised in the
// same step: at the end of each sequence, up to three rows are normalised one by one.
const longRuns = 16

// normalises reports whether one kernel sums rows and normalises them. It counts positions, where there are segments.
func (p *pass) normalises() bool {
	switch {
	case !p.norm.on || !forward.Normalises(p.tokens.Dim()) || p.positions != nil && !p.stored:
		return false
	case p.positions == nil || p.segments == nil:
		return true
	}
	return !p.in.placed && (!p.in.ragged || p.in.Len() >= longRuns*p.in.sequences())
}

// forwardNormal is forwardPiece where one kernel does it all.
func (p *pass) forwardNormal(dst rowvec.Matrix, lo, end int, follows bool) error {
	r := forward.Normal{
		Rows: p.rows(), Gamma: p.norm.weight.Data, Beta: p.norm.bias.Data, Epsilon: p.norm.epsilon,
	}
	var buffer []int
	if p.segments == nil && p.positions != nil && p.in.ragged && !p.in.placed {
		pooled := atBuffers.Get().(*[atRows]int)
		defer atBuffers.Put(pooled)
		buffer = pooled[:]
	}
	for first, hi, n := lo, lo+dst.Rows, 0; lo < hi; lo += n {
		n = hi - lo
		if p.positions != nil && p.segments != nil {
			r.Add = p.table
			r.AddStart, r.AddSeq, n = p.in.run(lo, hi)
			if r.AddStart < 0 || r.AddStart > r.Add.Rows-r.AddSeq { // all have been checked
				return rowvec.ErrChanged
			}
		} else if p.positions != nil {
			r.Positions = p.table
			if p.in.placed || p.in.ragged {
				r.At = p.in.positionsOf(buffer, lo, hi)
				n = len(r.At)
			} else {
				r.Start, r.Seq, n = p.in.run(lo, hi)
			}
		}
		if p.segments != nil {
			r.Positions = p.segments.weight
			if p.in.typed {
				r.At = p.in.types[lo : lo+n]
			} else {
				r.Seq = 1 // type 0, over and over
			}
		}
		r.Dst, r.Follows = rows(dst, lo-first, lo-first+n), follows || lo > first
		if err := p.in.ids.slice(lo, lo+n).normalise(&r, end-lo-n); err != nil {
			return err
		}
	}
	return nil
}

// drop drops elements of piece, the rows from lo on, on its way to out, and reports whether it has fetched what the next
// piece looks up, of the rows below hi.
func (p *pass) drop(out, piece rowvec.Matrix, lo, hi int) bool {
	mask := p.mask
	mask.Row = lo
	lo += piece.Rows
	ids := p.in.ids.slice(lo, min(lo+piece.Rows, hi))
	return forward.Dropout(forward.Drop{
		Dst: out, Src: piece, Mask: mask, Stream: p.stream,
		Next: forward.Next{Table: p.tokens.weight, IDs: ids.first, Wide: ids.wide(), Rows: ids.n},
	})
}

// pieceElements is the size of what one step makes, such as a sum, before the next takes it from the second-level cache.
// From 16 to 64 rows of 768 make little difference to a forward pass with dropout; 8 and 96 take 3 to 8 percent longer.
const pieceElements = 24 << 10

// pieceRows returns the number of rows of so many columns in a piece: a multiple of the four that Dropout does at once, if
// there are as many.
func pieceRows(cols int) int {
	n := max(1, pieceElements/cols)
	return max(n&^3, min(n, 3))
}

// fetched, for an end of forwardRows, says that the rows of the table are in cache.
const fetched = 0

// forwardRows sets dst to the sums of rows from lo on; more come behind them, up to end, and they may follow others.
func (p *pass) forwardRows(dst rowvec.Matrix, lo, end int, follows bool) error {
	if p.segments != nil {
		return p.forwardSegments(dst, lo, end, follows)
	}
	if p.positions != nil && !p.stored {
		return p.forwardComputed(dst, lo, end, follows)
	}
	first, hi := lo, lo+dst.Rows
	r := p.rows()
	if p.positions == nil {
		r.Dst, r.Follows = dst, follows
		return p.in.ids.slice(lo, hi).forward(&r, end-hi)
	}
	r.Positions = p.table
	var buffer []int
	if p.in.ragged && !p.in.placed {
		pooled := atBuffers.Get().(*[atRows]int) // what a function value gets is not on the stack
		defer atBuffers.Put(pooled)
		buffer = pooled[:]
	}
	for n := 0; lo < hi; lo += n {
		if p.in.placed || p.in.ragged {
			r.At = p.in.positionsOf(buffer, lo, hi)
			n = len(r.At)
		} else {
			r.Start, r.Seq, n = p.in.run(lo, hi)
		}
		r.Dst, r.Follows = rows(dst, lo-first, lo-first+n), follows || lo > first
		ids, more := p.in.ids.slice(lo, lo+n), end-lo-n
		var err error
		if p.sums {
			mask := p.mask
			mask.Row = lo
			err = ids.dropSums(&r, mask, more)
		} else {
			err = ids.forward(&r, more)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rows returns what all rows of a forward pass have in common.
func (p *pass) rows() forward.Rows {
	return forward.Rows{
		Table: p.tokens.weight, Scaled: p.tokens.scaled, Scale: p.tokens.scale,
		Stream: p.stream && !p.pieces,
	}
}

// forwardSegments is forwardRows where there are segments, which are positions to the kernels. Those of the layer come
// behind them.
func (p *pass) forwardSegments(dst rowvec.Matrix, lo, end int, follows bool) error {
	hi := lo + dst.Rows
	r := p.rows()
	r.Dst, r.Follows, r.Positions = dst, follows, p.segments.weight
	if p.in.typed {
		r.At = p.in.types[lo:hi]
	} else {
		r.Seq = 1 // type 0, over and over
	}
	if err := p.in.ids.slice(lo, hi).forward(&r, end-hi); err != nil || p.positions == nil {
		return err
	}
	return p.addPositions(dst, lo)
}

// addPositions adds the vectors of positions to dst, a piece with the sums of rows from lo on.
func (p *pass) addPositions(dst rowvec.Matrix, lo int) error {
	dim := p.tokens.Dim()
	var scratch *[]float32
	if !p.stored {
		scratch = scratchOf(dst.Rows * dim)
		defer scratches.Put(scratch)
	}
	for first, hi := lo, lo+dst.Rows; lo < hi; {
		start, seq, n := p.in.run(lo, hi)
		var vectors rowvec.Matrix
		switch {
		case p.stored && start >= 0 && start <= p.table.Rows-seq:
			vectors = rows(p.table, start, start+seq)
		case !p.stored && start >= 0 && start <= p.positions.Limit()-seq:
			vectors = rowvec.Matrix{Rows: seq, Cols: dim, Data: (*scratch)[:seq*dim], Stride: dim}
			if err := p.fill(vectors, start); err != nil {
				return err
			}
		default: // all have been checked
			return rowvec.ErrChanged
		}
		for end := lo + n; lo < end; lo += seq {
			if err := rowvec.AddBatches(rows(dst, lo-first, lo-first+seq), vectors); err != nil {
				return err
			}
		}
	}
	return nil
}

// forwardComputed does rows whose positions are in no table: it has some vectors of positions computed at a time, for all
// sequences; or where each is of use once, in the place of its row, to which assembly then adds that of the table. A
// forward pass of 50,257 x 768 over Embed with a table took so, and with the positions in a table made for the call: 1.09
// to 1.39, and 1.34 to 1.65, for a sequence of 512; 1.04 to 1.20, and 1.32, for one of 1,024. Several runs on a Zen 4.
func (p *pass) forwardComputed(dst rowvec.Matrix, lo, end int, follows bool) error {
	first, hi := lo, lo+dst.Rows
	dim := p.tokens.Dim()
	most := max(1, computedElements/dim)
	if most > anchors {
		most -= most % anchors
	}
	var scratch *[]float32
	defer func() {
		if scratch != nil {
			scratches.Put(scratch)
		}
	}()
	r := p.rows()
	for n := 0; lo < hi; lo += n {
		var start int
		start, r.Seq, n = p.in.run(lo, hi)
		if r.Seq > most {
			r.Seq, n = most, most
		}
		if start < 0 || start > p.positions.Limit()-r.Seq { // all have been checked
			return rowvec.ErrChanged
		}
		r.Dst, r.Follows = rows(dst, lo-first, lo-first+n), follows || lo > first
		if r.Positions = r.Dst; n > r.Seq || r.Stream || !addsInPlace() {
			if scratch == nil {
				scratch = scratchOf(most * dim)
			}
			r.Positions = rowvec.Matrix{Rows: r.Seq, Cols: dim, Data: (*scratch)[:r.Seq*dim], Stride: dim}
		} else {
			r.Positions.Data = r.Dst.Data[:(n-1)*r.Dst.Stride+dim] // whoever fills it need not care what lies behind
		}
		if err := p.fill(r.Positions, start); err != nil {
			return err
		}
		if err := p.in.ids.slice(lo, lo+n).forward(&r, end-lo-n); err != nil {
			return err
		}
	}
	return nil
}

// addsInPlace reports whether Positions of forward.Rows may be Dst: portable code gathers all rows first.
func addsInPlace() bool { return isa.Active() != isa.Portable }

// scratchElements is the size of a scratch within the second-level cache.
const scratchElements = 32 << 10

// Where positions are too many to be computed once, or the caller's, it is computedElements of them at a time: sinusoids are
// computed from each position that is a multiple of anchors, so that much of shorter pieces would be computed twice.
const (
	computedElements = 192 << 10
	anchors          = 256
)

var scratches = sync.Pool{New: func() any { return new([]float32) }}

// scratchOf returns at least n elements out of the pool.
func scratchOf(n int) *[]float32 {
	scratch := scratches.Get().(*[]float32)
	if cap(*scratch) < n {
		*scratch = make([]float32, n)
	}
	*scratch = (*scratch)[:cap(*scratch)]
	return scratch
}

// atRows is the number of positions of a ragged batch, or of rows of a dense gradient, that are worked out at a time.
const atRows = 256

var atBuffers = sync.Pool{New: func() any { return new([atRows]int) }}

// positionsOf returns the positions of the rows from lo on, and below hi: all of them if the caller has given them, or
// as many as buffer holds.
func (in *Input) positionsOf(buffer []int, lo, hi int) []int {
	if in.placed {
		return in.at[lo:hi]
	}
	at := buffer[:min(len(buffer), hi-lo)]
	in.fill(at, lo)
	return at
}

// rows returns rows [lo, hi) of m.
func rows(m rowvec.Matrix, lo, hi int) rowvec.Matrix { return check.Window(m, lo, hi-lo, 0, m.Cols) }

// columns returns columns [lo, hi) of m.
func columns(m rowvec.Matrix, lo, hi int) rowvec.Matrix { return check.Window(m, 0, m.Rows, lo, hi-lo) }
