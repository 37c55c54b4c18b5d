package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strings"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/internal/isa"
	"github.com/rowvec/rowvec/lookup"
)

// orderSettings say how long and from which numbers models are trained on the task of order.
type orderSettings struct {
	steps, checks int // checks on what is held out, evenly spread, beside the one before the first step
	seed          uint64
	workers       int
}

const (
	orderSteps  = 1000
	orderChecks = 10
	quickSteps  = 300

	orderSolved   = 0.99 // of the answers to what is held out
	orderCompared = 20   // steps that are taken at every level
)

// orderReport is what has come of the task of order.
type orderReport struct {
	Tokens   int      `json:"tokens"`
	Shortest int      `json:"shortest"` // sentence, in tokens
	Longest  int      `json:"longest"`
	Dim      int      `json:"dim"`
	Batch    int      `json:"batch"` // sentences of a step
	Steps    int      `json:"steps"`
	HeldOut  int      `json:"held_out"` // sentences
	Seed     uint64   `json:"seed"`
	Checksum string   `json:"checksum"` // CRC-32 of all parameters of all models at the end
	Levels   []string `json:"levels"`   // that have the same bits

	Models []*orderResult `json:"models"`
	Before lineUp         `json:"before"` // of the learned positions
	After  lineUp         `json:"after"`

	// The learned positions, for pictures.
	Initial rowvec.Matrix `json:"-"`
	Learned rowvec.Matrix `json:"-"`
}

// orderResult is what has come of one model.
type orderResult struct {
	Positions string       `json:"positions"` // their kind
	History   []orderCheck `json:"history"`
	Solved    int          `json:"solved"` // step of the check from which on all are good enough, or -1

	UnseenCorrect float64 `json:"unseen_correct"` // share of sentences whose places of A and B no training sentence has

	LongError   string  `json:"long_error,omitempty"` // for sentences of twice the length, where positions end before
	LongCorrect float64 `json:"long_correct"`         // of these, with positions that are interpolated where there was an error
}

// orderCheck is how far a model has come after so many steps.
type orderCheck struct {
	Step        int     `json:"step"`
	Loss        float64 `json:"loss"` // in nats, mean over the steps since the last check
	HeldLoss    float64 `json:"held_out_loss"`
	HeldCorrect float64 `json:"held_out_correct"` // share of the answers
}

// learnOrder trains models with learned, with sinusoidal and without positions, each with the same sentences, and calls show,
// if there is one, after each check. It fails if show does, or if instruction sets do not agree bit for bit.
func learnOrder(o orderSettings, show func(*orderReport) error) (*orderReport, error) {
	r := &orderReport{
		Tokens: orderTokens, Shortest: orderMin, Longest: orderMax, Dim: orderDim,
		Batch: orderBatch, Steps: o.steps, HeldOut: 2 * orderHeld, Seed: o.seed,
	}
	var err error
	if r.Levels, err = compareOrder(o); err != nil {
		return nil, err
	}
	var models []*orderModel
	for _, kind := range []string{"learned", "sinusoidal", "none"} {
		m, err := newOrderModel(kind, o.seed, o.workers)
		if err != nil {
			return nil, err
		}
		models, r.Models = append(models, m), append(r.Models, &orderResult{Positions: kind})
	}
	r.Initial = clone(models[0].layer.Positions().Table())
	r.Before = lineUpOf(r.Initial)

	held := exam(o.seed, streamOrderHeld, orderLength, anyPair)
	lessons, d := newSentences(), &dice{seed: o.seed, stream: streamOrderTrain}
	sums, last := make([]float64, len(models)), 0
	for step := 0; ; step++ {
		if step*o.checks/o.steps != (step-1)*o.checks/o.steps || step == 0 {
			for i, m := range models {
				c := orderCheck{Step: step}
				if c.HeldLoss, c.HeldCorrect, err = m.judge(held); err != nil {
					return nil, err
				}
				c.Loss = c.HeldLoss // nothing else is known yet
				if step > 0 {
					c.Loss = sums[i] / float64(step-last)
				}
				sums[i] = 0
				r.Models[i].History = append(r.Models[i].History, c)
			}
			last = step
			if show != nil {
				if err := show(r); err != nil {
					return nil, err
				}
			}
		}
		if step == o.steps {
			break
		}
		lessons.lessons(d)
		rate := orderRate * (1 - float64(step)/float64(o.steps))
		for i, m := range models {
			loss, err := m.train(lessons, rate)
			if err != nil {
				return nil, err
			}
			sums[i] += loss
		}
	}

	r.Learned = clone(models[0].layer.Positions().Table())
	r.After = lineUpOf(r.Learned)
	hash, unseen := crc32.NewIEEE(), exam(o.seed, streamOrderUnseen, orderLength, isHeldPair)
	long := exam(o.seed, streamOrderLong, func(*dice) int { return 2 * orderMax }, anyPair)
	for i, m := range models {
		for _, p := range m.parameters() {
			if err := binary.Write(hash, binary.LittleEndian, p.Value.Data); err != nil {
				return nil, err
			}
		}
		x := r.Models[i]
		x.Solved = solvedAt(x.History)
		if _, x.UnseenCorrect, err = m.judge(unseen); err != nil {
			return nil, err
		}
		if err := m.layer.Forward(newMatrix(len(long.ids), orderDim), lookup.Ragged(long.ids, long.offsets)); err != nil {
			x.LongError = err.Error()
			if m, err = m.longer(2 * orderMax); err != nil {
				return nil, err
			}
		}
		if _, x.LongCorrect, err = m.judge(long); err != nil {
			return nil, err
		}
	}
	r.Checksum = fmt.Sprintf("%#08x", hash.Sum32())
	return r, nil
}

// solvedAt returns the step of the check from which on all answers are good enough, or -1.
func solvedAt(history []orderCheck) int {
	step := -1
	for _, c := range history {
		if c.HeldCorrect < orderSolved {
			step = -1
		} else if step < 0 {
			step = c.Step
		}
	}
	return step
}

// compareOrder takes the first steps with learned positions at every instruction set.
func compareOrder(o orderSettings) ([]string, error) {
	var first *orderModel
	for _, level := range isa.Available {
		m, err := newOrderModel("learned", o.seed, o.workers)
		if err != nil {
			return nil, err
		}
		undo := isa.Set(level)
		err = m.start(o.seed)
		undo()
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = m
		}
		for i, p := range m.parameters() {
			want := first.parameters()[i].Value
			if row, col, differs := difference(want, p.Value); differs {
				err := differenceError(want, p.Value, row, col, isa.Available[0].String(), level.String())
				return nil, fmt.Errorf("order, %s, row %d: %w", p.Name, row, err)
			}
		}
	}
	return thisHost().Levels, nil
}

// start takes the first steps.
func (m *orderModel) start(seed uint64) error {
	s, d := newSentences(), &dice{seed: seed, stream: streamOrderTrain}
	for range orderCompared {
		s.lessons(d)
		if _, err := m.train(s, orderRate); err != nil {
			return err
		}
	}
	return nil
}

// lineUp says how nearly positions lie on a line, one behind the other.
type lineUp struct {
	Variance float64   `json:"variance"` // over positions, mean over columns
	Share    float64   `json:"share"`    // of the variance, along the line that has most of it
	Inverted int       `json:"inverted"` // pairs of neighbours that do not follow each other along it
	Cosines  []float64 `json:"cosines"`  // mean of those of positions, by their distance from 1 on
}

// lineUpOf finds the line by power iteration.
func lineUpOf(m rowvec.Matrix) lineUp {
	mean := make([]float64, m.Cols)
	for i := range m.Rows {
		for j, x := range m.Row(i) {
			mean[j] += float64(x) / float64(m.Rows)
		}
	}
	// along returns the places of the positions along a direction.
	along := func(direction []float64) []float64 {
		places := make([]float64, m.Rows)
		for i := range places {
			for j, x := range m.Row(i) {
				places[i] += float64((float64(x) - mean[j]) * direction[j])
			}
		}
		return places
	}
	direction := make([]float64, m.Cols)
	for j := range direction {
		direction[j] = float64(1 + j%3) // which nothing is at right angles to, but by accident
	}
	l, length := lineUp{}, 0.0
	for range 300 {
		next := make([]float64, m.Cols)
		for i, place := range along(direction) {
			for j, x := range m.Row(i) {
				next[j] += float64((float64(x) - mean[j]) * place)
			}
		}
		if length = math.Sqrt(squares(next)); length == 0 {
			return l
		}
		for j := range direction {
			direction[j] = next[j] / length
		}
	}
	all := 0.0
	for i := range m.Rows {
		for j, x := range m.Row(i) {
			d := float64(x) - mean[j]
			all += float64(d * d)
		}
	}
	l.Variance = all / float64(m.Rows*m.Cols)
	places := along(direction)
	l.Share = squares(places) / all
	for i := range places[1:] {
		if places[i] > places[i+1] {
			l.Inverted++
		}
	}
	l.Inverted = min(l.Inverted, m.Rows-1-l.Inverted) // the line has no direction of its own
	for distance := 1; distance < m.Rows; distance++ {
		l.Cosines = append(l.Cosines, spreadOf(cosines(m, distance)).Mean)
	}
	return l
}

// squares returns the sum of the squares of x.
func squares(x []float64) (sum float64) {
	for _, v := range x {
		sum += float64(v * v)
	}
	return sum
}

// heading has at most 90 columns, as has all that follows.
func (r *orderReport) heading() string {
	var b strings.Builder
	fmt.Fprintf(&b, "A task of order: which comes first in a sentence, token A or token B?\n\n"+
		"Sentences of %d to %d tokens, %d kinds of which mean nothing; vectors of %d numbers;\n"+
		"%s of %d sentences with AdamW. The same tokens in another order have the other\n"+
		"answer, so that only positions can tell. Loss in nats, of the steps since the line above;\n"+
		"share of %s other sentences answered right.\n\n",
		r.Shortest, r.Longest, r.Tokens-firstFiller, r.Dim, plural(r.Steps, "step"), r.Batch, thousands(r.HeldOut))
	fmt.Fprintf(&b, "%6s", "")
	for _, x := range r.Models {
		name := x.Positions
		if name == "none" {
			name = "no positions"
		}
		fmt.Fprintf(&b, "%19s", name)
	}
	fmt.Fprintf(&b, "\n%6s", "step")
	for range r.Models {
		fmt.Fprintf(&b, "%10s%9s", "loss", "right")
	}
	b.WriteByte('\n')
	return b.String()
}

// first reports whether there is but one line so far.
func (r *orderReport) first() bool { return len(r.Models[0].History) == 1 }

// line is the last line of the history.
func (r *orderReport) line() string {
	var b strings.Builder
	for i, x := range r.Models {
		c := x.History[len(x.History)-1]
		if i == 0 {
			fmt.Fprintf(&b, "%6s", thousands(c.Step))
		}
		fmt.Fprintf(&b, "%10.4f%8.1f%%", c.Loss, 100*c.HeldCorrect)
	}
	b.WriteByte('\n')
	return b.String()
}

// conclusion comes after all lines.
func (r *orderReport) conclusion() string {
	var b strings.Builder
	b.WriteByte('\n')
	fmt.Fprintf(&b, "%-12s%12s%16s%24s\n", "positions", "solved", "places unseen", fmt.Sprintf("%d tokens long", 2*r.Longest))
	refusal := ""
	for _, x := range r.Models {
		solved, long := "never", ""
		if x.Solved >= 0 {
			solved = "step " + thousands(x.Solved)
		}
		if x.LongError != "" {
			refusal, long = x.LongError, "  Resized"
		}
		fmt.Fprintf(&b, "%-12s%12s%15.1f%%%23.1f%%%s\n", x.Positions, solved, 100*x.UnseenCorrect, 100*x.LongCorrect, long)
	}
	fmt.Fprintf(&b, `
solved          the check from which on at least %.0f%% are right
places unseen   right where A and B stand at two places, never neighbours, that no
                sentence of the training has them at: others tell the answer
%-16sright of sentences twice as long as any of the training. Learned positions
                say "%s"
                and are interpolated by Resized. Sinusoidal ones go on, which does not
                mean that a model understands them there.
`, 100*orderSolved, fmt.Sprintf("%d tokens long", 2*r.Longest), refusal)

	fmt.Fprintf(&b, "\nThe learned positions, %d x %d, before and after\n\n%8s%10s%11s%12s   cosine at distance", r.Learned.Rows,
		r.Learned.Cols, "", "variance", "on a line", "in order")
	for _, distance := range shownDistances {
		fmt.Fprintf(&b, "%6d", distance)
	}
	b.WriteByte('\n')
	for i, l := range []lineUp{r.Before, r.After} {
		fmt.Fprintf(&b, "%-8s%10.5f%10.1f%%%6d of %d%21s", []string{"before", "after"}[i], l.Variance, 100*l.Share,
			len(l.Cosines)-l.Inverted, len(l.Cosines), "")
		for _, distance := range shownDistances {
			fmt.Fprintf(&b, "%6.2f", l.Cosines[distance-1])
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, `
variance       over positions, the mean of all columns
on a line      share of that along the line that has most of it
in order       neighbours that follow each other along it. Nobody has told the model which
               positions are neighbours.

Same bits: the first %d steps agree at %s. All parameters at the
end have the checksum %s, on every machine and for any number of workers.
`, orderCompared, strings.Join(r.Levels, ", "), r.Checksum)
	return b.String()
}

// shownDistances are those whose cosines are shown.
var shownDistances = []int{1, 4, 16, 31}
