package main

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
)

func TestLookupCommand(t *testing.T) {
	var r lookupReport
	runJSON(t, &r, "lookup", "-quick", "-json")
	if r.Level != rowvec.ISA() || r.Dim != 512 || r.Seq != 128 || r.Workers != 1 || r.Rounds != 3 || len(r.Results) != 4 || len(r.Growth) != 2 {
		t.Fatalf("%+v", r)
	}
	for i, x := range r.Results {
		vocab, batch := []int{1000, 10000}[i/2], []int{1, 16}[i%2]
		if x.Vocab != vocab || x.Batch != batch || x.IDs != 128*batch || x.Bytes != int64(4*512*vocab) {
			t.Errorf("line %d is %+v", i, x)
		}
		for name, c := range map[string][2]float64{
			"tokens/s":     {x.TokensPS, float64(x.IDs) / x.MS * 1e3},
			"ns per token": {x.TokenNS, x.MS * 1e6 / float64(x.IDs)},
		} {
			if !(c[0] > 0) || math.Abs(c[0]/c[1]-1) > 1e-9 {
				t.Errorf("%s: %v, want %v", name, c[0], c[1])
			}
		}
		// Slower than a nanosecond and faster than a millisecond for a row.
		if !(x.TokenNS > 1 && x.TokenNS < 1e6 && x.OfCopy > 1e-3 && x.OfCopy < 1e3 && x.OfFirst > 1e-3 && x.OfFirst < 1e3) || i < 2 && x.OfFirst != 1 {
			t.Errorf("%+v", x)
		}
	}
	for i, g := range r.Growth {
		times := []float64{r.Results[2*i].OfFirst, r.Results[2*i+1].OfFirst}
		if g.Vocab != r.Results[2*i].Vocab || g.Lowest != slices.Min(times) || g.Most != slices.Max(times) || g.Times != (times[0]+times[1])/2 {
			t.Errorf("%+v of %v", g, times)
		}
	}
	if want := "10,000 (19.5 MB, " + r.Caches.place(4*512*10000); !strings.Contains(r.Finding, want) {
		t.Errorf("no %q in %q", want, r.Finding)
	}

	out := runText(t, "lookup", "-quick")
	columns(t, out)
	for _, want := range []string{"lookup.Embedding at " + rowvec.ISA() + ", dim 512, sequences of 128 ids, 1 worker\n",
		"\n 1,000 2.0 1 128 ", "\n 10,000 19.5 1 128 ", "\n 16 2,048 ", "The time of a token "} {
		if !strings.Contains(squeeze(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	// Every size can be chosen.
	r = lookupReport{}
	runJSON(t, &r, "lookup", "-json", "-vocab", "70, 50,50", "-batch", "3", "-seq", "5", "-dim", "7", "-workers", "2", "-rounds", "2")
	if len(r.Results) != 2 || r.Results[0].Vocab != 50 || r.Results[1].Vocab != 70 || r.Results[1].IDs != 15 || r.Results[1].Bytes != 4*70*7 ||
		r.Workers != 2 || r.Rounds != 2 {
		t.Errorf("%+v", r)
	}
}

// TestLookupFigures: two calls of the first, ten of the second, and copies that take half as long and twice.
func TestLookupFigures(t *testing.T) {
	r := &lookupReport{Results: []lookupResult{{Vocab: 10, IDs: 4}, {Vocab: 20, IDs: 4}}}
	r.figure([][]float64{{2, 4, 3}, {1, 2, 2}, {30, 50, 45}, {60, 100, 90}}, []int{2, 10}, 1)
	if want := (lookupResult{Vocab: 10, IDs: 4, MS: 1500, TokensPS: 4 / 1.5, TokenNS: 0.375e9, OfCopy: 0.5, OfFirst: 1}); r.Results[0] != want {
		t.Errorf("%+v, want %+v", r.Results[0], want)
	}
	if want := (lookupResult{Vocab: 20, IDs: 4, MS: 4500, TokensPS: 4 / 4.5, TokenNS: 1.125e9, OfCopy: 2, OfFirst: 3}); r.Results[1] != want {
		t.Errorf("%+v, want %+v", r.Results[1], want)
	}
}

func TestLookupFinding(t *testing.T) {
	report := func(c caches, vocabs []int, times ...[]float64) *lookupReport {
		r := &lookupReport{Caches: c}
		for i, v := range vocabs {
			for _, x := range times[i] {
				r.Results = append(r.Results, lookupResult{Vocab: v, Bytes: int64(2048 * v), OfFirst: x})
			}
		}
		r.conclude(len(times[0]))
		return r
	}
	c := caches{32 << 10, 1 << 20, 32 << 20}
	three := []int{1000, 10000, 100000}
	for _, x := range []struct {
		r    *lookupReport
		want string
	}{
		{report(c, three, []float64{1, 1, 1, 1}, []float64{1.1, 1.2, 1.3, 0.9}, []float64{2, 3, 4, 5}),
			"The time of a token grows with the vocabulary, from 100,000 on: at 10,000 (19.5 MB, within the L3 of 32.0 MB) it is " +
				"1.15 times (0.90 to 1.30, by batch) that at 1,000 (2.0 MB, within the L3 of 32.0 MB), and at 100,000 (195.3 MB, " +
				"beyond the L3 of 32.0 MB) 3.50 times (2.00 to 5.00, by batch)."},
		{report(c, three, []float64{1}, []float64{1.26}, []float64{1}),
			"The time of a token grows with the vocabulary, from 10,000 on: at 10,000 (19.5 MB, within the L3 of 32.0 MB) it is " +
				"1.26 times that at 1,000 (2.0 MB, within the L3 of 32.0 MB), and at 100,000 (195.3 MB, beyond the L3 of 32.0 MB) 1.00 times."},
		{report(caches{L2: 1 << 20}, []int{100, 1000}, []float64{1, 1}, []float64{1, 1.4}),
			"The time of a token does not grow with the vocabulary: at 1,000 (2.0 MB, beyond the L2 of 1.0 MB) it is 1.20 times " +
				"(1.00 to 1.40, by batch) that at 100 (0.2 MB, within the L2 of 1.0 MB)."},
		{report(caches{}, []int{1, 2, 3, 4}, []float64{1}, []float64{1}, []float64{1}, []float64{1}),
			"The time of a token does not grow with the vocabulary: at 2 (4,096 B, caches unknown) it is 1.00 times that at " +
				"1 (2,048 B, caches unknown), at 3 (6,144 B, caches unknown) 1.00 times, and at 4 (8,192 B, caches unknown) 1.00 times."},
		{report(c, []int{5}, []float64{1}), "Whether the time of a token grows with the vocabulary, one vocabulary cannot show."},
	} {
		if x.r.Finding != x.want {
			t.Errorf("got  %s\nwant %s", x.r.Finding, x.want)
		}
	}
	for bytes, want := range map[int64]string{
		0: "within the L1 of 32,768 B", 32 << 10: "within the L1 of 32,768 B", 32<<10 + 1: "within the L2 of 1.0 MB",
		32 << 20: "within the L3 of 32.0 MB", 32<<20 + 1: "beyond the L3 of 32.0 MB",
	} {
		if got := c.place(bytes); got != want {
			t.Errorf("%d bytes: %s, want %s", bytes, got, want)
		}
	}
	if c := thisCaches(); c.L1 < 0 || c.L2 < 0 || c.L3 < 0 {
		t.Errorf("%+v", c)
	}
}

// TestLookupTable: ids stay fresh, copies go on where the last one ended, and a wrong row is found.
func TestLookupTable(t *testing.T) {
	e := must1(lookup.NewEmbedding(10, 3, lookup.Xavier(1)))
	table := &lookupTable{vocab: 10, embedding: e}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		table.ids = append(table.ids, rng.Int32N(10))
	}
	starts := map[*int32]bool{}
	for range 20 {
		ids := table.take(90)
		if len(ids) != 90 || starts[&ids[0]] {
			t.Errorf("%d ids, taken before: %v", len(ids), starts[&ids[0]])
		}
		starts[&ids[0]] = true
	}

	dst := must1(rowvec.NewMatrix(14, 3))
	for _, first := range []int{7, 1, 5} {
		if first == 7 {
			table.next = 7
		}
		table.copy(dst)
		for i := range dst.Rows {
			if want := e.Weight().Row((first + i) % 10); !slices.Equal(dst.Row(i), want) {
				t.Errorf("copied from row %d, row %d is %v, want %v", first, i, dst.Row(i), want)
			}
		}
	}

	ids := table.take(14)
	forward := func(ids []int32) error { return e.Forward(dst, lookup.Sequence(ids)) }
	if err := table.verify(dst, ids, forward); err != nil {
		t.Error(err)
	}
	failure := errors.New("failure")
	for want, spoilt := range map[string]func(ids []int32) error{
		"failure": func([]int32) error { return failure },
		"vocabulary 10: row 0 of 14 is not that of id ": func([]int32) error { return nil },
		"vocabulary 10: row 13 of 14 is not that of id ": func(ids []int32) error {
			err := forward(ids)
			dst.Row(13)[2]++
			return err
		},
	} {
		if err := table.verify(dst, ids, spoilt); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestRepeated counts calls, and what of them is measured.
func TestRepeated(t *testing.T) {
	n := 0
	slowFirst := func() error {
		if n++; n <= 2 {
			time.Sleep(100 * time.Millisecond)
		}
		return nil
	}
	if took, err := repeated(2, 3, slowFirst)(); err != nil || n != 5 || took > 90*time.Millisecond {
		t.Errorf("%d calls in %v, %v", n, took, err)
	}
	failure := errors.New("failure")
	for _, at := range []int{1, 4} {
		n = 0
		if _, err := repeated(2, 3, func() error {
			if n++; n == at {
				return failure
			}
			return nil
		})(); err != failure || n != at {
			t.Errorf("%v after %d calls", err, n)
		}
	}
	n = 0
	if calls, err := callsFor(func() error { n++; time.Sleep(time.Millisecond); return nil }, 5*time.Millisecond); err != nil || calls < 1 || calls > 8 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if _, err := callsFor(func() error { return failure }, time.Hour); err != failure {
		t.Error(err)
	}
}

func TestMiddle(t *testing.T) {
	for _, x := range []struct {
		xs   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 2}, 2}, {[]float64{9, 1, 2, 4}, 3}} {
		if got := middle(x.xs); got != x.want {
			t.Errorf("%v: %v", x.xs, got)
		}
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "\n",
		"one two three":      "one two\nthree\n",
		"one four":           "one four\n",
		"one fours":          "one\nfours\n",
		"immeasurable a b c": "immeasurable\na b c\n",
	} {
		if got := wrap(text, 8); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestLookupFlags(t *testing.T) {
	for _, x := range []struct {
		args   string
		status int
		want   string
	}{
		{"-h", 0, "default 1000,10000,100000"},
		{"-vocab 0", 2, `"0" is not a number from 1 to 2,147,483,647`},
		{"-vocab 10,,20", 2, `"" is not a number`},
		{"-vocab 10,x", 2, `"x" is not a number`},
		{"-batch -1", 2, `"-1" is not a number`},
		{"-batch 2147483648", 2, `"2147483648" is not a number`},
		{"-seq 0", 2, "-seq must be from 1 to 16,777,216 and -dim from 1 to 1,048,576"},
		{"-dim 1048577", 2, "-dim"},
		{"-workers 0", 2, "-workers from 1 to 1,024"},
		{"-workers 1025", 2, "-workers from 1 to 1,024"},
		{"-rounds 0", 2, "-rounds must be at least 1"},
		{"far", 2, `unknown argument "far"`},
		{"-seq 16777216 -batch 128", 1, "a batch of 2,147,483,648 ids is too large: 2,147,483,647 are the most"},
		{"-vocab 2147483647 -dim 1048576", 1, "are free"},
	} {
		if strings.Contains(x.want, "free") {
			if _, known := thisRAM(); !known {
				continue
			}
		}
		var out, errs bytes.Buffer
		if status := run(append([]string{"lookup"}, strings.Fields(x.args)...), &out, &errs); status != x.status || out.Len() > 0 || !strings.Contains(errs.String(), x.want) {
			t.Errorf("%s: exit status %d, %q, %q; want %q", x.args, status, &out, &errs, x.want)
		}
	}
}
