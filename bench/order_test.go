package main

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/internal/tuning"
)

// TestOrder: the task is solved with positions, and without them each pair of orders gets one answer.
func TestOrder(t *testing.T) {
	var shown []string
	o := orderSettings{steps: quickSteps, checks: 5, seed: 1, workers: 1}
	r, err := learnOrder(o, func(r *orderReport) error {
		shown = append(shown, r.line())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Models) != 3 || len(shown) != 1+o.checks {
		t.Fatalf("%d models, %q", len(r.Models), shown)
	}
	for i, kind := range []string{"learned", "sinusoidal", "none"} {
		x := r.Models[i]
		var steps []int
		for _, c := range x.History {
			steps = append(steps, c.Step)
		}
		if x.Positions != kind || !slices.Equal(steps, []int{0, 60, 120, 180, 240, 300}) {
			t.Errorf("%s: checks %v", x.Positions, steps)
		}
		last := x.History[o.checks]
		if kind == "none" {
			for _, c := range x.History {
				if c.HeldCorrect != 0.5 || !(math.Abs(c.HeldLoss-math.Ln2) < 0.01 && math.Abs(c.Loss-math.Ln2) < 0.01) {
					t.Errorf("no positions: %+v", c)
				}
			}
			if x.Solved != -1 || x.UnseenCorrect != 0.5 || x.LongCorrect != 0.5 || x.LongError != "" {
				t.Errorf("no positions: %+v", x)
			}
			continue
		}
		if !(x.Solved > 0 && x.Solved < o.steps && last.HeldCorrect >= 0.99 && last.HeldLoss < 0.1 && last.Loss < 0.1 &&
			x.UnseenCorrect >= 0.99) {
			t.Errorf("%s: %+v, %+v", kind, x, last)
		}
		if x.History[0].HeldCorrect > 0.6 {
			t.Errorf("%s: %+v before any training", kind, x.History[0])
		}
	}
	learned, sinusoidal := r.Models[0], r.Models[1]
	if !strings.Contains(learned.LongError, "sequence length is 64, want at most 32") || learned.LongCorrect < 0.95 {
		t.Errorf("sentences too long: %+v", learned)
	}
	if sinusoidal.LongError != "" || sinusoidal.LongCorrect > 0.8 {
		t.Errorf("sentences too long: %+v", sinusoidal)
	}
	if r.Initial.Rows != orderMax || r.Learned.Rows != orderMax || slices.Equal(r.Initial.Data, r.Learned.Data) {
		t.Error("no positions before and after")
	}
	if b, a := r.Before, r.After; !(b.Share < 0.25 && b.Inverted > 6 && a.Share > 0.75 && a.Inverted <= 2 &&
		a.Variance > 10*b.Variance &&
		a.Cosines[0] > 0.5 && a.Cosines[30] < -0.5 && math.Abs(b.Cosines[0]) < 0.2 && len(a.Cosines) == 31) {
		t.Errorf("before %+v, after %+v", b, a)
	}
	if want := "0x8a92e74e"; r.Checksum != want { // every machine's
		t.Errorf("checksum %s, want %s", r.Checksum, want)
	}
	if shown[5] != r.line() || !strings.HasPrefix(shown[1], "    60 ") || !strings.HasSuffix(shown[0], " 50.0%\n") {
		t.Errorf("%q", shown)
	}
	wrong := errors.New("wrong")
	if _, err := learnOrder(o, func(*orderReport) error { return wrong }); err != wrong {
		t.Errorf("error %v", err)
	}
}

// TestOrderSameBits trains at every level, with several numbers of workers, who have something to do however small it is.
func TestOrderSameBits(t *testing.T) {
	defer func(elements int) { tuning.ParallelElements = elements }(tuning.ParallelElements)
	first := make(map[string]*orderModel)
	isatest.Each(t, func(t *testing.T) {
		for _, workers := range []int{1, 2, 5} {
			if workers > 1 {
				tuning.ParallelElements = 1
			}
			for _, kind := range []string{"learned", "sinusoidal"} {
				m, err := newOrderModel(kind, 3, workers)
				if err != nil {
					t.Fatal(err)
				}
				before := clone(m.readout)
				if err := m.start(3); err != nil {
					t.Fatal(err)
				}
				if slices.Equal(before.Data, m.readout.Data) {
					t.Fatal("nothing has been learnt")
				}
				if first[kind] == nil {
					first[kind] = m
				}
				for i, p := range m.parameters() {
					want := first[kind].parameters()[i].Value
					if row, col, differs := difference(want, p.Value); differs {
						t.Errorf("%d workers, %s: %v", workers, p.Name, differenceError(want, p.Value, row, col, "first", "this"))
					}
				}
			}
		}
	})
}

// TestOrderGradient holds gradients against differences of the loss, of every parameter.
func TestOrderGradient(t *testing.T) {
	m, err := newOrderModel("learned", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.start(2); err != nil { // else most gradients are nearly 0
		t.Fatal(err)
	}
	s := newSentences()
	s.lessons(&dice{seed: 2, stream: 99})
	if _, err := m.backward(s); err != nil {
		t.Fatal(err)
	}
	large := 0
	for k, p := range m.parameters() {
		dense := newMatrix(p.Value.Rows, p.Value.Cols)
		if err := m.gradients[k].AddTo(dense); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(p.Value.Data); i += 37 {
			const step = 0x1p-9
			loss := func(x float32) float64 {
				p.Value.Data[i] = x
				loss, _, err := m.judge(s)
				if err != nil {
					t.Fatal(err)
				}
				return loss
			}
			x := p.Value.Data[i]
			want := (loss(x+step) - loss(x-step)) / (2 * step)
			p.Value.Data[i] = x
			got := float64(dense.Data[i])
			if math.Abs(got-want) > 2e-4+0.01*math.Abs(want) {
				t.Errorf("%s, element %d: gradient %v, want about %v", p.Name, i, got, want)
			}
			if math.Abs(want) > 2e-3 {
				large++
			}
		}
	}
	if large < 10 {
		t.Errorf("%d gradients are large enough to tell", large)
	}
}

func TestOrderLoss(t *testing.T) {
	for _, score := range []float32{0, 0.5, -0.5, 3, -3, 80, -80, 1000, -1000} {
		for _, aFirst := range []bool{false, true} {
			loss, slope := orderLoss(score, aFirst)
			x, p := float64(score), 1/(1+math.Exp(-float64(score)))
			want := p
			if aFirst {
				x, want = -x, p-1
			}
			wantLoss := max(0, x) + math.Log1p(math.Exp(-math.Abs(x)))
			if math.Abs(loss-wantLoss) > 1e-12*(1+wantLoss) || math.Abs(slope-want) > 1e-12 {
				t.Errorf("score %v, A first %v: %v, %v; want %v, %v", score, aFirst, loss, slope, wantLoss, want)
			}
		}
	}
}

// TestSentences looks at what is drawn.
func TestSentences(t *testing.T) {
	s, d := newSentences(), &dice{seed: 1, stream: streamOrderTrain}
	check := func(name string, fits func(p, q int) bool, shortest, longest int) (pairs map[[2]int]bool) {
		pairs = make(map[[2]int]bool)
		for b := range s.aFirst {
			ids := s.ids[s.offsets[b]:s.offsets[b+1]]
			p, q := slices.Index(ids, tokenA), slices.Index(ids, tokenB)
			others := slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return id >= firstFiller && id < orderTokens })
			if p < 0 || q < 0 || len(others) != 2 || s.aFirst[b] != (p < q) || !fits(p, q) {
				t.Fatalf("%s: %v, A first %v", name, ids, s.aFirst[b])
			}
			if n := len(ids); n < shortest || n > longest {
				t.Fatalf("%s: %d tokens", name, n)
			}
			pairs[[2]int{min(p, q), max(p, q)}] = true
		}
		return pairs
	}
	seen, first := make(map[[2]int]bool), 0
	for range 100 {
		s.lessons(d)
		if len(s.aFirst) != orderBatch {
			t.Fatalf("%d sentences", len(s.aFirst))
		}
		for pair := range check("training", func(p, q int) bool { return !isHeldPair(p, q) }, orderMin, orderMax) {
			seen[pair] = true
		}
		for _, aFirst := range s.aFirst {
			if aFirst {
				first++
			}
		}
	}
	if share := float64(first) / (100 * orderBatch); math.Abs(share-0.5) > 0.01 {
		t.Errorf("A is first in %v of all", share)
	}
	count := 0
	for p := range orderMax {
		for q := p + 1; q < orderMax; q++ {
			held, seen := isHeldPair(p, q), seen[[2]int{p, q}]
			if held != isHeldPair(q, p) || held && (seen || q == p+1) || !held && !seen && q < 20 { // the last ones are rare
				t.Fatalf("%d, %d: held out %v, seen %v", p, q, held, seen)
			}
			if held {
				count++
			}
		}
	}
	if count < 80 || count > 110 { // of 496
		t.Errorf("%d pairs are held out", count)
	}
	for name, fits := range map[string]func(p, q int) bool{"unseen": isHeldPair, "any": anyPair} {
		s = exam(1, streamOrderUnseen, orderLength, fits)
		check(name, fits, orderMin, orderMax)
		for b := 0; b < len(s.aFirst); b += 2 {
			one, other := s.ids[s.offsets[b]:s.offsets[b+1]], s.ids[s.offsets[b+1]:s.offsets[b+2]]
			if s.aFirst[b] == s.aFirst[b+1] || len(one) != len(other) {
				t.Fatal("no mirror")
			}
			for i, id := range one {
				want := id
				if id < firstFiller {
					want = tokenA + tokenB - id
				}
				if other[i] != want {
					t.Fatalf("%v and %v", one, other)
				}
			}
		}
	}
	if len(s.aFirst) != 2*orderHeld {
		t.Errorf("%d sentences", len(s.aFirst))
	}
}

func TestLineUp(t *testing.T) {
	m := newMatrix(5, 3)
	for i, x := range []float32{-3, -2, 0, 2, 3} { // on a line, but for a little
		copy(m.Row(i), []float32{1 + x, 5 - 2*x, 0.01 * float32(i%2)})
	}
	l := lineUpOf(m)
	if want := (26 + 4*26 + 0.0001*1.2) / 15.; math.Abs(l.Variance-want) > 1e-5 || l.Share < 0.9999 || l.Share > 1 ||
		l.Inverted != 0 || len(l.Cosines) != 4 {
		t.Errorf("%+v, want variance %v", l, want)
	}
	swap := slices.Clone(m.Row(1))
	copy(m.Row(1), m.Row(2))
	copy(m.Row(2), swap)
	if l := lineUpOf(m); l.Inverted != 1 {
		t.Errorf("%+v", l)
	}
	// Between (-2, 11, 0) and (4, -1, 0).
	if want := -19 / math.Sqrt(125*17); math.Abs(l.Cosines[3]-want) > 1e-6 {
		t.Errorf("cosine %v, want %v", l.Cosines[3], want)
	}
	// Random numbers have nearly as much variance in any direction.
	r := newMatrix(2000, 4)
	d := dice{seed: 1, stream: 50}
	for i := range r.Data {
		r.Data[i] = float32(d.below(1000)) - 499.5
	}
	if l := lineUpOf(r); !(l.Share > 0.25 && l.Share < 0.28) || l.Inverted < 900 {
		t.Errorf("share %v, %d inverted", l.Share, l.Inverted)
	}
	if l := lineUpOf(newMatrix(3, 2)); l.Variance != 0 || l.Share != 0 {
		t.Errorf("%+v", l)
	}
}

func TestSolvedAt(t *testing.T) {
	for _, x := range []struct {
		correct []float64
		want    int
	}{
		{[]float64{0.5, 0.99, 1}, 1}, {[]float64{0.5, 0.99, 0.98, 1}, 3}, {[]float64{0.5, 1, 0.5}, -1}, {nil, -1},
	} {
		var history []orderCheck
		for i, c := range x.correct {
			history = append(history, orderCheck{Step: i, HeldCorrect: c})
		}
		if got := solvedAt(history); got != x.want {
			t.Errorf("%v: %d, want %d", x.correct, got, x.want)
		}
	}
}
