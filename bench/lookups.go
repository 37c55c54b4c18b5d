package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
)

const lookupUsage = `Usage: go run ./bench lookup [flags]

Measures what a lookup costs, by the size of the vocabulary and of the batch, and says whether
the time of a token grows with the vocabulary. lookup.Embedding writes to memory of the
caller's; ids are uniform, and fresh in every call. All sizes run in turn, round after round,
each next to a copy of as many rows of the same table, one behind the other.

`

// lookups are the sizes that flags choose.
type lookups struct {
	vocabs, batches           counts
	seq, dim, workers, rounds int
	sample                    time.Duration
}

func runLookup(args []string, stdout, stderr io.Writer) int {
	s := lookups{vocabs: counts{1000, 10000, 100000}, batches: counts{1, 16, 64, 256}, sample: sample / 2}
	flags := newFlags("bench lookup", lookupUsage, stderr)
	flags.Var(&s.vocabs, "vocab", "these `vocabularies`, with commas between")
	flags.Var(&s.batches, "batch", "batches of so many `sequences`, with commas between")
	flags.IntVar(&s.seq, "seq", 128, "sequences of so many `ids`")
	flags.IntVar(&s.dim, "dim", 512, "vectors of so many `elements`")
	flags.IntVar(&s.workers, "workers", 1, "`goroutines` of a lookup; copy always has one")
	flags.IntVar(&s.rounds, "rounds", 41, "measure this many `rounds`")
	quick := flags.Bool("quick", false, "only vocabularies of 1,000 and 10,000, batches of 1 and 16, and 3 short rounds, whatever other flags say: a smoke test")
	asJSON := flags.Bool("json", false, "print JSON")
	if status, done := parse(flags, args); done {
		return status
	}
	if s.seq < 1 || s.seq > mostCount || s.dim < 1 || s.dim > mostDim {
		fmt.Fprintf(stderr, "bench: -seq must be from 1 to %s and -dim from 1 to %s\n", thousands(mostCount), thousands(mostDim))
		return 2
	}
	if s.rounds < 1 || s.workers < 1 || s.workers > mostWorkers {
		fmt.Fprintf(stderr, "bench: -rounds must be at least 1 and -workers from 1 to %s\n", thousands(mostWorkers))
		return 2
	}
	if *quick {
		s.vocabs, s.batches, s.rounds, s.sample = counts{1000, 10000}, counts{1, 16}, 3, time.Millisecond
	}
	r, err := measureLookups(s, stderr)
	if err == nil && *asJSON {
		err = writeJSON(stdout, r)
	} else if err == nil {
		_, err = io.WriteString(stdout, r.table())
	}
	return exit(err, stderr)
}

// counts is a flag: some numbers, which come in ascending order, each once.
type counts []int

func (n *counts) String() string {
	var all []string
	for _, x := range *n {
		all = append(all, strconv.Itoa(x))
	}
	return strings.Join(all, ",")
}

func (n *counts) Set(text string) error {
	var all counts
	for _, part := range strings.Split(text, ",") {
		x, err := strconv.ParseInt(strings.TrimSpace(part), 10, 32)
		if err != nil || x < 1 {
			return fmt.Errorf("%q is not a number from 1 to %s", part, thousands(math.MaxInt32))
		}
		all = append(all, int(x))
	}
	slices.Sort(all)
	*n = slices.Compact(all)
	return nil
}

// lookupReport is what the command has found out.
type lookupReport struct {
	Host    host           `json:"host"`
	Level   string         `json:"level"`
	Caches  caches         `json:"caches"`
	Dim     int            `json:"dim"`
	Seq     int            `json:"sequence"`
	Workers int            `json:"workers"`
	Rounds  int            `json:"rounds"`
	Results []lookupResult `json:"results"`
	Growth  []growth       `json:"growth,omitempty"`
	Finding string         `json:"finding"`
}

// lookupResult is a line of the report: medians over rounds.
type lookupResult struct {
	Vocab    int     `json:"vocab"`
	Bytes    int64   `json:"table_bytes"`
	Batch    int     `json:"batch"`
	IDs      int     `json:"ids"`
	MS       float64 `json:"ms"`
	TokensPS float64 `json:"tokens_per_s"`
	TokenNS  float64 `json:"ns_per_token"`
	OfCopy   float64 `json:"times_copy"`           // speed as a multiple of that of copy
	OfFirst  float64 `json:"times_smallest_vocab"` // time as a multiple of that with the smallest vocabulary
}

// growth says how long a token takes with a vocabulary, as a multiple of what it takes with the smallest.
type growth struct {
	Vocab  int     `json:"vocab"`
	Bytes  int64   `json:"table_bytes"`
	Place  string  `json:"place"`
	Times  float64 `json:"times"` // the median over batches
	Lowest float64 `json:"lowest"`
	Most   float64 `json:"most"`
}

// caches are bytes, as the processor says, for data; 0 where it does not.
type caches struct {
	L1 int `json:"l1"`
	L2 int `json:"l2"`
	L3 int `json:"l3"`
}

func thisCaches() caches {
	c := cpuid.CPU.Cache
	return caches{max(0, c.L1D), max(0, c.L2), max(0, c.L3)}
}

// place says which cache is the first to hold so many bytes.
func (c caches) place(bytes int64) string {
	largest := ""
	for _, x := range []struct {
		name  string
		bytes int
	}{{"L1", c.L1}, {"L2", c.L2}, {"L3", c.L3}} {
		if x.bytes == 0 {
			continue
		}
		if largest = x.name + " of " + megabytes(int64(x.bytes)); bytes <= int64(x.bytes) {
			return "within the " + largest
		}
	}
	if largest == "" {
		return "caches unknown"
	}
	return "beyond the " + largest
}

// lookupTable is a table and what is looked up in it.
type lookupTable struct {
	vocab     int
	embedding *lookup.Embedding
	ids       []int32 // far more than caches hold rows
	next      int     // of ids, and of the rows that copy takes
}

// take returns n ids that have not been used lately.
func (t *lookupTable) take(n int) []int32 {
	if t.next+n > len(t.ids) {
		t.next = t.next % 61 // not the same batches again
	}
	ids := t.ids[t.next : t.next+n]
	t.next += n
	return ids
}

// copy copies as many rows as dst has, one behind the other.
func (t *lookupTable) copy(dst rowvec.Matrix) {
	rows := t.embedding.Weight()
	from := rows.Data[t.next%t.vocab*rows.Stride:]
	t.next += dst.Rows
	for to := dst.Data; len(to) > 0; from = rows.Data {
		to = to[copy(to, from):]
	}
}

// freshIDs is the least number of ids of a table: they choose rows of 2 KiB, or of 256 bytes, of more than caches hold.
const freshIDs = 1 << 20

func measureLookups(s lookups, stderr io.Writer) (*lookupReport, error) {
	most := int64(s.batches[len(s.batches)-1]) * int64(s.seq)
	if most > math.MaxInt32 {
		return nil, fmt.Errorf("a batch of %s ids is too large: %s are the most", thousands(most), thousands(math.MaxInt32))
	}
	pool := max(freshIDs, 2*most)
	need := most * int64(s.dim) * floatBytes
	for _, v := range s.vocabs {
		need += int64(v)*int64(s.dim)*floatBytes + pool*4
	}
	if need > math.MaxInt {
		return nil, fmt.Errorf("tables, ids and outputs of these sizes take %s, more than there are addresses for", megabytes(need))
	}
	if machine, known := thisRAM(); known && need > machine.Free {
		return nil, fmt.Errorf("tables, ids and outputs of these sizes take %s, and %s are free", megabytes(need), megabytes(machine.Free))
	}

	dst, err := rowvec.NewMatrix(int(most), s.dim)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(9, 10))
	r := &lookupReport{
		Host: thisHost(), Level: rowvec.ISA(), Caches: thisCaches(), Dim: s.dim, Seq: s.seq, Workers: s.workers, Rounds: s.rounds,
	}
	var works []work
	var calls []int
	setup := newProgress(stderr, "preparing", len(s.vocabs)*len(s.batches))
	defer setup.done()
	for _, v := range s.vocabs {
		e, err := lookup.NewEmbedding(v, s.dim, lookup.Xavier(1), lookup.Workers(s.workers))
		if err != nil {
			return nil, err
		}
		t := &lookupTable{vocab: v, embedding: e, ids: make([]int32, pool)}
		for i := range t.ids {
			t.ids[i] = rng.Int32N(int32(v))
		}
		for _, batch := range s.batches {
			n := batch * s.seq
			out := firstRows(dst, n)
			lookup := func(ids []int32) error { return e.Forward(out, lookup.Batch(ids, s.seq)) }
			if err := t.verify(out, t.take(n), lookup); err != nil {
				return nil, err
			}
			forward := func() error { return lookup(t.take(n)) }
			c, err := callsFor(forward, s.sample)
			if err != nil {
				return nil, err
			}
			calls = append(calls, c)
			warm := c / 4
			if out.Cols*v*floatBytes <= max(r.Caches.L2, r.Caches.L3) {
				warm = max(warm, 1+2*v/n)
			}
			works = append(works, repeated(warm, c, forward), repeated(warm, c, func() error { t.copy(out); return nil }))
			r.Results = append(r.Results, lookupResult{Vocab: v, Bytes: int64(v) * int64(s.dim) * floatBytes, Batch: batch, IDs: n})
			setup.step()
		}
	}
	setup.done()

	bar := newProgress(stderr, "measuring", s.rounds*len(works))
	defer bar.done()
	runtime.GC()
	seconds, err := measure(s.rounds, works, bar.step)
	if err != nil {
		return nil, err
	}
	r.figure(seconds, calls, len(s.batches))
	r.conclude(len(s.batches))
	return r, nil
}

// figure fills the results in, from the seconds of so many calls of each lookup and, behind it, of its copy.
func (r *lookupReport) figure(seconds [][]float64, calls []int, batches int) {
	for i := range r.Results {
		x := &r.Results[i]
		perCall := median(seconds[2*i]) / float64(calls[i])
		x.MS = perCall * 1e3
		x.TokenNS = perCall / float64(x.IDs) * 1e9
		x.TokensPS = float64(x.IDs) / perCall
		x.OfCopy = ratio(seconds[2*i+1], seconds[2*i])
		first := i % batches // the same batch with the smallest vocabulary
		x.OfFirst = ratio(seconds[2*i], seconds[2*first]) * float64(calls[first]) / float64(calls[i])
	}
}

// verify compares a lookup with the rows of the table.
func (t *lookupTable) verify(out rowvec.Matrix, ids []int32, lookup func(ids []int32) error) error {
	clear(out.Data)
	if err := lookup(ids); err != nil {
		return err
	}
	for i, id := range ids {
		if !slices.Equal(out.Row(i), t.embedding.Weight().Row(int(id))) {
			return fmt.Errorf("vocabulary %s: row %d of %d is not that of id %d", thousands(t.vocab), i, out.Rows, id)
		}
	}
	return nil
}

// callsFor returns how often f is to be called for a measurement to last.
func callsFor(f func() error, least time.Duration) (int, error) {
	for calls := 1; ; calls *= 2 {
		if took, err := repeated(0, calls, f)(); err != nil || took >= least {
			return calls, err
		}
	}
}

// repeated measures so many calls of f, after some that are not measured.
func repeated(warm, calls int, f func() error) work {
	do := func(n int) error {
		for range n {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
	return func() (time.Duration, error) {
		if err := do(warm); err != nil {
			return 0, err
		}
		return timed(func() error { return do(calls) })()
	}
}

// middle is the median, and the mean of the two in the middle where there are two.
func middle(xs []float64) float64 {
	x := slices.Sorted(slices.Values(xs))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// grows is what counts as growth: more than what a noisy machine makes of equal times.
const grows = 1.25

// conclude says whether the time of a token grows with the vocabulary.
func (r *lookupReport) conclude(batches int) {
	for results := range slices.Chunk(r.Results, batches) {
		var times []float64
		for _, x := range results {
			times = append(times, x.OfFirst)
		}
		first := results[0]
		r.Growth = append(r.Growth, growth{
			first.Vocab, first.Bytes, r.Caches.place(first.Bytes), middle(times), slices.Min(times), slices.Max(times),
		})
	}
	table := func(g growth) string {
		return fmt.Sprintf("%s (%s, %s)", thousands(g.Vocab), megabytes(g.Bytes), g.Place)
	}
	smallest, rest := r.Growth[0], r.Growth[1:]
	if len(rest) == 0 {
		r.Finding = "Whether the time of a token grows with the vocabulary, one vocabulary cannot show."
		return
	}
	var b strings.Builder
	b.WriteString("The time of a token does not grow with the vocabulary: ")
	if i := slices.IndexFunc(rest, func(g growth) bool { return g.Times > grows }); i >= 0 {
		b.Reset()
		fmt.Fprintf(&b, "The time of a token grows with the vocabulary, from %s on: ", thousands(rest[i].Vocab))
	}
	for i, g := range rest {
		times := fmt.Sprintf("%.2f times", g.Times)
		if g.Lowest != g.Most {
			times += fmt.Sprintf(" (%.2f to %.2f, by batch)", g.Lowest, g.Most)
		}
		switch {
		case i == 0:
			fmt.Fprintf(&b, "at %s it is %s that at %s", table(g), times, table(smallest))
		case i == len(rest)-1:
			fmt.Fprintf(&b, ", and at %s %s", table(g), times)
		default:
			fmt.Fprintf(&b, ", at %s %s", table(g), times)
		}
	}
	b.WriteByte('.')
	r.Finding = b.String()
}

const lookupLegend = `
ms        of one lookup of a batch; all figures are medians over %s
x copy    speed against copy() of as many rows of the same table, one behind the other, by
          one goroutine
x first   time of a token against that with the smallest vocabulary, in the same round
Before each measurement, lookups go on until a table that the caches can hold is there.
Outputs take cache too: %s bytes for each token, in memory that the caller keeps.
`

// largeTraining is a scale to hold figures against, in tokens per second.
const largeTraining = 1000 * 32 * 2048

// table prints at most 90 columns.
func (r *lookupReport) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nlookup.Embedding at %s, dim %s, sequences of %s, %s\n\n", r.Host, r.Level, thousands(r.Dim),
		plural(r.Seq, "id"), plural(r.Workers, "worker"))
	fmt.Fprintf(&b, "%11s%11s%8s%12s%11s%13s%8s%8s%8s\n", "vocab", "table MB", "batch", "ids", "ms", "tokens/s", "ns each", "x copy", "x first")
	for i, x := range r.Results {
		vocab, table := thousands(x.Vocab), mb(x.Bytes)
		if i > 0 && r.Results[i-1].Vocab == x.Vocab {
			vocab, table = "", ""
		} else if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%11s%11s%8s%12s%11.4f%13s%8.1f%8.2f%8.2f\n", vocab, table, thousands(x.Batch), thousands(x.IDs), x.MS,
			thousands(int64(x.TokensPS)), x.TokenNS, x.OfCopy, x.OfFirst)
	}
	fmt.Fprintf(&b, lookupLegend, plural(r.Rounds, "round"), thousands(r.Dim*floatBytes))
	b.WriteString("\n" + wrap(r.Finding, 90))
	least, most := math.Inf(1), 0.0
	for _, x := range r.Results {
		least, most = min(least, x.TokensPS), max(most, x.TokensPS)
	}
	fmt.Fprintf(&b, "A large training, of 1,000 batches of 32 x 2,048 ids a second, has %s tokens/s:\n%.1f to %.1f times as many.\n",
		thousands(int64(largeTraining)), largeTraining/most, largeTraining/least)
	return b.String()
}

// wrap breaks a text into lines of at most so many bytes, where words allow it.
func wrap(text string, width int) string {
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(text) {
		switch {
		case n == 0:
		case n+1+len(word) > width:
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String() + "\n"
}
