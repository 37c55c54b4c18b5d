package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rowvec/rowvec/internal/isa"
)

const peersUsage = `Usage: go run ./bench peers [flags]    or: go run ./bench -peers PYTHON [flags]

Compares rowvec with NumPy and PyTorch, each in its best forms, and with vek, gonum and naive
Go, on the same shapes, numbers and ids. All sides run in turn, round after round; each time is
a median over rounds, and behind it stands how many times rowvec's that is: the median of the
ratios within each round. Each side begins with calls that do not count, with cold tables until
the caches know its pages. Fails if a side computes something else than rowvec does.

All tables are on 2 MiB pages where there are such, and so is what NumPy and PyTorch allocate
for themselves, above all dense gradients: with GLIBC_TUNABLES, unless it is in the environment
already, though it be empty.

With -cc there are loops in C, too, which check nothing and know rows of a multiple of 16 floats
only. They do not prefetch (plain), or do so into the first- or second-level cache (L1, L2), for
a single use (once) or to write, 4 to 32 rows ahead, whole rows or part of one in front of each
part that is worked on (by line); and write results of 4 MiB or more past the caches (past). The
three quickest of up to 62 ways take part: what this processor and this memory give to a loop.

`

func runPeers(args []string, w, stderr io.Writer, contests []contest, sample time.Duration) int {
	stdout := &printer{Writer: w}
	c := comparison{contests: contests, sample: sample}
	flags := newFlags("bench peers", peersUsage, stderr)
	name := flags.String("python", "python3", "the Python `interpreter` that has NumPy or PyTorch")
	cc := flags.String("cc", "", "a C `compiler`, such as cc: loops in C that prefetch in many ways, of which the best is a limit")
	flags.IntVar(&c.Rounds, "rounds", 11, "measure this many `rounds`")
	flags.IntVar(&c.Workers, "workers", 1, "`threads` of NumPy and PyTorch, goroutines of rowvec's layers")
	match := matchFlag(flags, "only cases whose name matches `regexp`, such as Gather/vocab=50257")
	brief := flags.Bool("brief", false, "print one line for each case, with the best of each library")
	train := flags.Bool("skipgram", true, "train skip-gram too, if \"SkipGram\" matches -match")
	asJSON := flags.Bool("json", false, "print JSON")
	if status, done := parse(flags, args); done {
		return status
	}
	if c.Rounds < 1 || c.Workers < 1 || c.Workers > mostWorkers {
		fmt.Fprintf(stderr, "bench: -rounds must be at least 1 and -workers from 1 to %s\n", thousands(mostWorkers))
		return 2
	}
	c.match = *match
	*train = *train && c.match.MatchString("SkipGram")
	if c.total() == 0 && !*train {
		names := []string{"SkipGram"}
		for _, k := range contests {
			names = append(names, k.kernel.name)
		}
		return exit(noMatch(c.match, names), stderr)
	}
	var err error
	if c.python, err = startPython(*name, *cc, c.Workers); err != nil {
		return exit(err, stderr)
	}
	defer c.python.stop()
	for _, missing := range c.python.Missing {
		fmt.Fprintf(stderr, "bench: %s has no %s; going on without\n", *name, missing)
	}
	c.Host, c.Python, c.Addresses = thisHost(), c.python.pythonInfo, measureAddresses()
	if *asJSON {
		if err = c.compare(stderr, func([]faceOff) error { return nil }); err == nil && *train {
			err = c.train(stderr)
		}
		if err == nil {
			err = writeJSON(stdout, &c)
		}
		return exit(err, stderr)
	}
	fmt.Fprintf(stdout, "%s\n%s\n%s\n%s each, %s\n", c.Host, c.Addresses, c.Python, plural(c.Workers, "thread"), plural(c.Rounds, "round"))
	layout := block
	if *brief {
		layout = c.lines
		io.WriteString(stdout, "\n"+c.heading())
	}
	show := func(faceOffs []faceOff) error {
		_, err := io.WriteString(stdout, layout(faceOffs))
		return err
	}
	if err = c.compare(stderr, show); err == nil && c.Results != nil {
		io.WriteString(stdout, peersLegend+c.behind())
	}
	if err == nil && *train {
		if err = c.train(stderr); err == nil && c.SkipGram != nil {
			io.WriteString(stdout, c.SkipGram.table())
		}
	}
	if err == nil {
		err = stdout.err
	}
	return exit(err, stderr)
}

// train is the training of the main job, with PyTorch as one more side.
func (c *comparison) train(stderr io.Writer) error {
	ids, _, err := readText("")
	if err == nil {
		c.SkipGram, err = learn(ids, settings{rounds: c.Rounds, workers: c.Workers}, stderr, c.python)
	}
	return err
}

// comparison is what to do and, where exported, what has come of it.
type comparison struct {
	contests []contest
	match    *regexp.Regexp
	sample   time.Duration // that one measurement takes at least, unless a single call takes longer
	python   *python
	arena    arena

	Host      host       `json:"host"`
	Addresses addresses  `json:"addresses"`
	Python    pythonInfo `json:"python"`
	Workers   int        `json:"workers"`
	Rounds    int        `json:"rounds"`
	Results   []faceOff  `json:"results"`

	SkipGram *lesson `json:"skip_gram,omitempty"`
}

// faceOff is a contest on one shape.
type faceOff struct {
	contest *contest
	shape   shape

	Kernel string  `json:"kernel"`
	Shape  string  `json:"shape"`
	Unit   string  `json:"unit"`
	Sides  []entry `json:"sides"` // rowvec first
}

// entry is how one side did: medians over rounds.
type entry struct {
	Side  string  `json:"side"`
	NS    float64 `json:"ns_per_unit"`
	Times float64 `json:"times_rowvec"` // its time as a multiple of rowvec's
}

// Names of sides that mean something here.
const (
	ours   = "rowvec"
	alone  = "rowvec, 1 worker" // where there are more
	copied = "copy"             // of as many bytes as rowvec moves
	inC    = "C"                // what sides in C begin with

	streamed = "reading the table 1x/16 queries" // by the sum of vek32: what a search is held against
)

// chosen returns the shapes of a contest that -match leaves.
func (c *comparison) chosen(k *contest) (shapes []shape) {
	for _, s := range k.shapes {
		if c.match.MatchString(k.kernel.name + "/" + s.String()) {
			shapes = append(shapes, s)
		}
	}
	return shapes
}

func (c *comparison) total() (n int) {
	for i := range c.contests {
		n += len(c.chosen(&c.contests[i]))
	}
	return n
}

// compare does all that matches, and hands out the results of each contest.
func (c *comparison) compare(stderr io.Writer, done func([]faceOff) error) error {
	bar := newProgress(stderr, "comparing", c.total())
	defer bar.done()
	for i := range c.contests {
		k := &c.contests[i]
		first := len(c.Results)
		for _, s := range c.chosen(k) {
			f, err := c.faceOff(k, s)
			if err != nil {
				bar.clear()
				return fmt.Errorf("%s/%s: %w", k.kernel.name, s, err)
			}
			c.Results = append(c.Results, f)
			bar.step()
		}
		if first < len(c.Results) {
			bar.clear()
			if err := done(c.Results[first:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// idle is how many samples it takes until threads of Python's libraries that wait for more to do have gone to sleep: OpenBLAS's spin for
// 2^26 cycles, about 30 ms, one of libgomp's kept a core busy for 8.6 ms, and would take the cores from whoever comes next.
const idle = 12

// A side goes on for wake samples before it is measured, so that Go's runtime has calmed down, and to settle for no more than settle.
//
// Where a program has waited, as ours has for Python, a thread of its runtime looks after it again and again, 20 us of sleep apart, until 50 times
// in a row there was nothing to do. On a virtual Zen 5, where such a sleep takes 110 us, that thread took 18 us of each 130 of the core that
// worked, for 6 ms, and all that it had of addresses: of 468 times of 0.4 ms of sums of bags of 10 of 10,000 x 64, which took 2.4 to 3.5 ns per id,
// 34 took more than 4, most of them twice as long, and one where other threads were kept away from that core. Here such sums took, round after
// round, 2.6 to 5.3 ns behind 1.5 ms, 2.5 to 4.6 behind 8, 2.5 to 3.4 behind 12 and 2.6 to 3.0 behind 16.
const (
	wake   = 4
	settle = 16
)

// warmUp returns how many calls that take so long go before those that are measured.
func (c *comparison) warmUp(s shape, call time.Duration) int {
	in := func(samples time.Duration) int { return int(samples * c.sample / max(call, 1)) }
	return max(in(wake)+1, min(s.settling(), in(settle)))
}

// rival is one side of a case.
type rival struct {
	name   string
	result func() ([]float32, error)                           // of the first list of ids, from zeros on; nil for a yardstick
	run    func(first, calls, warm int) (time.Duration, error) // see repeat; warm calls come before, unmeasured
}

func (c *comparison) faceOff(k *contest, s shape) (f faceOff, err error) {
	c.arena.workers = c.Workers
	m := c.arena.memory(k.kernel, s)
	rivals, err := c.rivals(k, s, m)
	if err != nil {
		return f, err
	}
	if err := check(rivals, k); err != nil {
		return f, err
	}

	calls := make([]int, len(rivals))
	works := make([]work, len(rivals))
	next := 0 // lists of ids go on from side to side: nobody finds rows in cache that the one before has fetched
	for i, r := range rivals {
		warm := 0
		step := func() (time.Duration, error) {
			if c.Workers > 1 {
				time.Sleep(idle * c.sample)
			}
			first := next
			next += calls[i] + warm
			return r.run(first, calls[i], warm)
		}
		if _, err := r.run(0, 0, 1); err != nil { // pays for what is done once
			return f, err
		}
		for calls[i] = 1; ; calls[i] *= 2 {
			warm = (calls[i] + 2) / 4 // other sides have been at the caches
			if took, err := step(); err != nil {
				return f, err
			} else if took >= c.sample {
				warm = max(warm, c.warmUp(s, took/time.Duration(calls[i])))
				break
			}
		}
		took, err := step() // once more, since the runtime may have been at work the first time
		if err != nil {
			return f, err
		}
		warm = max(warm, c.warmUp(s, took/time.Duration(calls[i])))
		works[i] = step
	}
	runtime.GC()
	seconds, err := measure(c.Rounds, works, func() {})
	if err != nil {
		return f, err
	}
	if err := check(rivals, k); err != nil { // also of what the runs have left
		return f, err
	}
	f = faceOff{contest: k, shape: s, Kernel: k.kernel.name, Shape: s.String(), Unit: k.unit}
	for i, r := range rivals {
		for round := range seconds[i] {
			seconds[i][round] *= 1e9 / float64(calls[i]*k.units(s))
		}
		f.Sides = append(f.Sides, entry{r.name, median(seconds[i]), ratio(seconds[i], seconds[0])})
	}
	return f, nil
}

// rivals returns rowvec at the best level of this machine, and after it all others.
func (c *comparison) rivals(k *contest, s shape, m *memory) ([]rival, error) {
	kernel := *k.kernel
	if k.team != nil && (c.Workers > 1 || kernel.ours == nil) {
		work, err := k.team(m, c.Workers)
		if err != nil {
			return nil, err
		}
		kernel.ours = func(_ *memory, ids []int32) error { return work(ids) }
	}
	if k.team != nil && c.Workers > 1 {
		work, err := k.team(m, 1)
		if err != nil {
			return nil, err
		}
		one := peer{name: alone, run: func(_ *memory, ids []int32) { must(work(ids)) }}
		kernel.peers = append([]peer{one}, kernel.peers...)
	}
	if k.layer != "" && c.Workers == 1 {
		work, err := k.team(m, 1)
		if err != nil {
			return nil, err
		}
		layer := peer{name: k.layer, run: func(_ *memory, ids []int32) { must(work(ids)) }}
		kernel.peers = append([]peer{layer}, kernel.peers...)
	}
	var all, others []rival
	levels := len(isa.Available)
	for i, contender := range kernel.contenders(m) {
		r := rival{
			name: contender.name,
			result: func() ([]float32, error) {
				k.start(m)
				repeat(contender, 1, 0)
				return k.result(m), nil
			},
			run: func(first, calls, warm int) (time.Duration, error) {
				repeat(contender, warm, first)
				return timed(func() error { repeat(contender, calls, first+warm); return nil })()
			},
		}
		switch {
		case i == 0:
			r.name = "naive Go"
		case i == levels:
			r.name = ours
			all = append(all, r)
			continue
		case i < levels: // which is not the best
			continue
		case contender.yardstick:
			r.result = nil
		}
		others = append(others, r)
	}
	all = append(all, others...)

	sides, err := c.python.prepare(k.kernel, s, m)
	if err != nil {
		return nil, err
	}
	for _, side := range sides {
		all = append(all, rival{
			name:   side,
			result: func() ([]float32, error) { return c.python.result(side) },
			run: func(first, calls, warm int) (time.Duration, error) {
				return c.python.run(side, first, calls, warm)
			},
		})
	}
	return all, nil
}

// result returns what a call with the first list of ids has written: of a training step, the rows of the table, and behind
// them those of the forward pass.
func (k *contest) result(m *memory) []float32 {
	out := k.out(m)
	if !k.chosen {
		return slices.Clone(out)
	}
	dim := m.table.Cols
	rows := make([]float32, len(m.ids[0])*dim)
	naiveGather(rows, out, m.ids[0], dim)
	if k.kernel.method != nil {
		rows = append(rows, m.rows.Data...)
	}
	return rows
}

// check compares the results of all rivals with that of the first: of random numbers, their moments.
func check(rivals []rival, k *contest) error {
	result := func(r rival) ([]float32, error) {
		x, err := r.result()
		if err == nil && k.drawn {
			x = moments(x)
		}
		return x, err
	}
	want, err := result(rivals[0])
	if err != nil {
		return err
	}
	for _, r := range rivals[1:] {
		if r.result == nil {
			continue
		}
		got, err := result(r)
		if err != nil {
			return err
		}
		if len(got) != len(want) {
			return fmt.Errorf("%s has %d elements, %s %d", r.name, len(got), ours, len(want))
		}
		for i, x := range want {
			y := got[i]
			off := math.Abs(float64(x) - float64(y))
			if math.Float32bits(x) != math.Float32bits(y) && !(off < k.near*(1+math.Abs(float64(x)))) {
				return fmt.Errorf("element %d: %s has %v, %s %v", i, r.name, y, ours, x)
			}
		}
	}
	return nil
}

// moments returns the mean, that of squares, and that of products of neighbours: the first in units of the root of the second, the last
// in those of the second.
func moments(xs []float32) []float32 {
	var mean, square, product float64
	for i, x := range xs {
		mean += float64(x)
		square += float64(x) * float64(x)
		product += float64(x) * float64(xs[(i+1)%len(xs)])
	}
	n := float64(len(xs))
	return []float32{float32(mean / math.Sqrt(n*square)), float32(square / n), float32(product / square)}
}

const peersLegend = `
Ids are fresh in every call, and the table is larger than any cache (cold) or in one (held); or
they are the same each time (warm). naive Go, vek32, gonum, C and copy have one thread always.
copy moves as many bytes as rowvec has to, in and out, one behind the other; in training those
of a row that is updated count once, however often it occurs. All other sides have computed the
same as rowvec: of a lookup all bits, and nearly the same elsewhere, of random numbers the moments.
`

// noise is how far behind rowvec may be and still count as no slower.
const noise = 0.03

// nearLimit is how far behind the best loop in C rowvec may be and still count as at the limit.
const nearLimit = 0.15

// behind says in which cases rowvec is slower than somebody else, or than one worker of its own, and how far from the limit it is.
func (c *comparison) behind() string {
	var b strings.Builder
	n := 0
	for _, f := range c.Results {
		for _, e := range f.Sides[1:] {
			if isOf(e, inC) || e.Side == copied || e.Side == streamed || strings.HasPrefix(e.Side, ours) && e.Side != alone {
				continue
			}
			if n++; e.Times < 1-noise {
				fmt.Fprintf(&b, "  %s %s: %s %s\n", f.Kernel, short.Replace(f.Shape), e.Side, figure(e.Times))
			}
		}
	}
	text := fmt.Sprintf("\nrowvec is slower in none of %s.\n", plural(n, "comparison"))
	if b.Len() > 0 {
		text = fmt.Sprintf("\nOf %s, rowvec is slower in:\n%s", plural(n, "comparison"), b.String())
	}
	return text + c.beyondLimit()
}

// beyondLimit says in which cases the best loop in C is quicker than rowvec by more than the limit allows.
func (c *comparison) beyondLimit() string {
	var b strings.Builder
	n := 0
	for _, f := range c.Results {
		times := f.best(inC)
		if math.IsInf(times, 1) {
			continue
		}
		if n++; times < 1/(1+nearLimit) {
			fmt.Fprintf(&b, "  %s %s: %s\n", f.Kernel, short.Replace(f.Shape), figure(times))
		}
	}
	switch {
	case n == 0:
		return ""
	case b.Len() == 0:
		return fmt.Sprintf("\nThe best loop in C is more than %.0f percent quicker in none of %s.\n", 100*nearLimit, plural(n, "case"))
	}
	return fmt.Sprintf("\nOf %s, the best loop in C is more than %.0f percent quicker in:\n%s", plural(n, "case"), 100*nearLimit, b.String())
}

// isOf says whether a side is one of a library, or of several.
func isOf(e entry, libraries ...string) bool {
	name, _, _ := strings.Cut(strings.ReplaceAll(e.Side, ",", " "), " ")
	return slices.Contains(libraries, name)
}

// best returns the least multiple of rowvec's time that a side of some libraries takes; infinite if there is none.
func (f *faceOff) best(libraries ...string) float64 {
	best := math.Inf(1)
	for _, e := range f.Sides[1:] {
		if isOf(e, libraries...) {
			best = min(best, e.Times)
		}
	}
	return best
}

const briefColumns = 48

// column is one of the table of -brief.
type column struct {
	title     string
	width     int
	libraries []string
}

// columns returns those behind rowvec's time.
func (c *comparison) columns() []column {
	all := []column{
		{"naive Go", 10, []string{"naive"}},
		{"vek, gonum", 11, []string{"vek32", "gonum"}},
		{"NumPy", 8, []string{"NumPy"}},
		{"PyTorch", 9, []string{"torch"}},
	}
	if c.Python.C != "" {
		all = append(all, column{inC, 8, []string{inC}})
	}
	return append(all, column{copied, 8, []string{copied}})
}

// heading returns what stands above lines.
func (c *comparison) heading() string {
	text := fmt.Sprintf("%-*s%8s", briefColumns, "", ours)
	for _, column := range c.columns() {
		text += fmt.Sprintf("%*s", column.width, column.title)
	}
	return text + "\n"
}

// lines returns a line for each case: rowvec's time, and behind it that of the best of others in each column, as a multiple of it.
func (c *comparison) lines(all []faceOff) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, ns per %s\n", all[0].contest.title, all[0].Unit)
	for _, f := range all {
		fmt.Fprintf(&b, "  %-*s%8s", briefColumns-2, strings.Join(slices.DeleteFunc(f.shape.labels(), isEmpty), ", "), figure(f.Sides[0].NS))
		for _, column := range c.columns() {
			cell := "-"
			if times := f.best(column.libraries...); !math.IsInf(times, 1) {
				cell = figure(times)
			}
			fmt.Fprintf(&b, "%*s", column.width, cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func isEmpty(s string) bool { return s == "" }

const (
	nameColumns  = 27
	shapesAcross = 4
	caseColumns  = 18
)

// block returns the results of a contest as tables with a column for each of a few cases, 99 columns of text at most.
func block(all []faceOff) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: ns per %s, and times rowvec's\n", all[0].contest.title, all[0].Unit)
	for some := range slices.Chunk(all, shapesAcross) {
		line := func(name string, cell func(f faceOff) string) {
			text := fmt.Sprintf("%-*s", nameColumns, name)
			for _, f := range some {
				text += fmt.Sprintf("%*s", caseColumns, cell(f))
			}
			if text = strings.TrimRight(text, " "); text != "" {
				b.WriteString(text + "\n")
			}
		}
		b.WriteByte('\n')
		for i := range 3 {
			line("", func(f faceOff) string { return f.shape.labels()[i] })
		}
		for _, name := range sides(some) {
			line(name, func(f faceOff) string {
				i := slices.IndexFunc(f.Sides, func(e entry) bool { return e.Side == name })
				if i < 0 {
					return ""
				}
				return fmt.Sprintf("%s%7s", figure(f.Sides[i].NS), figure(f.Sides[i].Times))
			})
		}
	}
	return b.String()
}

// sides returns the names of all sides, of which some may be in some cases only.
func sides(all []faceOff) (names []string) {
	for _, f := range all {
		for _, e := range f.Sides {
			if !slices.Contains(names, e.Side) {
				names = append(names, e.Side)
			}
		}
	}
	return names
}

// labels returns what stands above the column of a shape; some may be empty.
func (s shape) labels() []string {
	size, batch := fmt.Sprintf("%s x %s", thousands(s.vocab), thousands(s.dim)), plural(s.ids, "id")
	switch {
	case s.n > 0:
		size, batch = "n = "+thousands(s.n), ""
	case s.vocab == 0:
		size, batch = fmt.Sprintf("%s x %s", thousands(cmp.Or(s.seq, s.ids)), thousands(s.dim)), ""
	case s.seq > 0:
		batch = fmt.Sprintf("%s x %d ids", thousands(s.ids/s.seq), s.seq)
	}
	return []string{size, batch, strings.TrimSpace(s.dist + " " + s.cache)}
}

// figure writes three digits, or all before the point.
func figure(x float64) string {
	switch {
	case x >= 99.95:
		return thousands(int(math.Round(x)))
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.9995:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}
