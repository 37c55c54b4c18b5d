package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/rowvec/rowvec"
	"github.com/rowvec/rowvec/lookup"
)

const trainUsage = `Usage: go run ./bench train [flags] [TEXT]

Trains vectors of the words of a text file by skip-gram with negative sampling, by default of
Newton's Opticks, which come with Go; shows which words have come to be neighbours, and saves
the vectors in a safetensors file, which go run ./bench similar and Python read.

The same text, flags and seed make the same file, bit for bit, on every machine.

Ctrl-C saves what has been learnt so far; -resume goes on from there and, with the same flags,
ends with the bits of a training that nobody has interrupted. With more -passes, a training
that has ended goes on too, but not to the bits of one that had so many from the beginning,
for the rate goes down over all passes. A second Ctrl-C ends at once. SIGTERM is as good.

`

// The rate goes down in a straight line, which the few passes over a text of 100,000 words need: the loss in the text held
// out is 0.03 nats lower than the best at a constant rate, and 20 passes at this rate have the lowest of those that were
// tried, from 10 to 40 passes and from 0.05 to 0.15.
const (
	trainRate  = 0.1
	trainEnd   = 0.05 // the part of it that is left in the end
	trainLimit = 0.05 // of the numbers that training begins with

	mostTrainDim   = 4096
	defaultVectors = "vectors.safetensors"
	interrupted    = 130 // the exit status of whom Ctrl-C has ended: 128 and the number of the signal
)

// trainSettings are what the flags say.
type trainSettings struct {
	origin              // but for what the text and the training say
	file, out           string
	workers             int
	tokens              bool
	resume, force, json bool
	limit               int // of steps: the training ends there as if interrupted; 0 for none
}

func runTrain(args []string, stdout, stderr io.Writer) int {
	var s trainSettings
	flags := newFlags("bench train", trainUsage, stderr)
	flags.BoolVar(&s.tokens, "tokens", false, "GPT-2's tokens instead of whole words in lower case")
	flags.IntVar(&s.Least, "min", 5, "leave out words or tokens with fewer `occurrences`")
	flags.IntVar(&s.Dim, "dim", skipDim, "numbers of a vector")
	flags.IntVar(&s.Window, "window", window, fmt.Sprintf("how far neighbours are apart at most, up to %d", mostWindow))
	flags.IntVar(&s.Passes, "passes", 20, "how many times to go through the text")
	flags.Uint64Var(&s.Seed, "seed", skipSeed, "other numbers to begin with, and other noise")
	flags.IntVar(&s.workers, "workers", runtime.GOMAXPROCS(0), "`goroutines`; their number does not change the result")
	flags.StringVar(&s.out, "o", defaultVectors, "save the vectors in this `file`")
	flags.BoolVar(&s.force, "force", false, "replace that file if there is one")
	flags.BoolVar(&s.resume, "resume", false, "go on where the training that has saved that file has ended")
	flags.BoolVar(&s.json, "json", false, "print JSON")
	files, status, done := parseMixed(flags, args)
	switch {
	case done:
		return status
	case len(files) > 1:
		fmt.Fprintf(stderr, "bench: unknown argument %q: train takes one text\n", files[1])
		return 2
	case s.Least < 1 || s.Passes < 1 || s.workers < 1 || s.workers > mostWorkers:
		fmt.Fprintf(stderr, "bench: -min and -passes must be at least 1 and -workers from 1 to %s\n", thousands(mostWorkers))
		return 2
	case s.Dim < 1 || s.Dim > mostTrainDim || s.Window < 1 || s.Window > mostWindow:
		fmt.Fprintf(stderr, "bench: -dim must be between 1 and %d, and -window between 1 and %d\n", mostTrainDim, mostWindow)
		return 2
	case s.force && s.resume:
		fmt.Fprintln(stderr, "bench: -force begins anew and -resume does not: only one of them makes sense")
		return 2
	}
	if len(files) == 1 {
		s.file = files[0]
	}
	s.workers = min(s.workers, batchSize) // more would have nothing to do
	s.Units = wholeWords
	if s.tokens {
		s.Units = gpt2Tokens
	}
	r, err := train(&s, stdout, stderr)
	if err == nil && s.json {
		err = writeJSON(stdout, r)
	} else if err == nil {
		_, err = io.WriteString(stdout, r.table())
	}
	if err == nil && !r.Complete {
		return interrupted
	}
	return exit(err, stderr)
}

// trainReport is what has come of a training.
type trainReport struct {
	origin
	File      string       `json:"file"`
	ISA       string       `json:"isa"`
	Workers   int          `json:"workers"`
	Length    int          `json:"length"` // of the text, in units that occur often enough
	Vocab     int          `json:"vocab"`  // how many are different
	Done      float64      `json:"passes_done"`
	Seconds   float64      `json:"seconds"` // of this run, without what comes before and after the training
	Centres   int          `json:"centres"` // in these seconds
	Pairs     int          `json:"pairs"`
	HeldPairs int          `json:"held_out_pairs"`          // 0 where training was interrupted, or a text is too short to hold some of it out
	HeldLoss  float64      `json:"held_out_loss,omitempty"` // nats for a neighbour, of held_out_pairs if there are any
	Unigram   float64      `json:"unigram_loss,omitempty"`
	Precision *precision   `json:"precision,omitempty"`
	Nearest   []neighbours `json:"nearest"`
}

// train trains until all passes are done or somebody interrupts it, and saves the vectors either way.
func train(s *trainSettings, stdout, stderr io.Writer) (*trainReport, error) {
	if err := s.checkOutput(); err != nil {
		return nil, err
	}
	x, err := s.read()
	if err != nil {
		return nil, err
	}
	c := newCorpus(x.ids)
	c.window = s.Window
	t := &trained{origin: s.origin}
	for _, id := range c.ids {
		t.names = append(t.names, x.names[id])
	}
	in, out := newTables(len(c.ids), s.Dim, trainLimit, s.Seed)
	g, err := newSkipGram(in, out, s.workers)
	if err != nil {
		return nil, err
	}
	t.tensors = []lookup.Parameter{
		{Name: vectorsName, Value: in}, {Name: contextsName, Value: out},
		{Name: vectorsName + sumSuffix, Value: g.stepIn.State()[0].Value},
		{Name: contextsName + sumSuffix, Value: g.stepOut.State()[0].Value},
	}
	course := newCourse(c, &t.origin)
	if course == nil {
		unit := strings.TrimSuffix(string(s.Units), "s")
		return nil, fmt.Errorf("%s is too short: it has %s to train on", s.Text, plural(len(x.ids), unit))
	}
	if s.resume {
		if err := t.resume(s.out, course); err != nil {
			return nil, err
		}
	}
	r := &trainReport{File: s.out, ISA: rowvec.ISA(), Workers: s.workers, Length: len(x.ids), Vocab: len(c.ids)}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !s.json {
		if _, err := io.WriteString(stdout, s.heading(r)); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	course.limit = s.limit
	if err := course.run(ctx, g, r, stderr); err != nil {
		return nil, err
	}
	r.Seconds = time.Since(begin).Seconds()
	t.origin.Complete = course.pass == s.Passes
	r.Done = course.done()
	release := stop
	if !t.origin.Complete {
		release = endAtOnce(stop)
	}
	err = t.save(s.out)
	release()
	if err != nil {
		return nil, err
	}
	r.origin = t.origin
	if !r.Complete {
		fmt.Fprintf(stderr, "bench: interrupted after %.1f of %d passes; "+
			"what has been learnt until then is in %s, and -resume goes on from there\n", r.Done, s.Passes, s.out)
	} else if err := r.judge(t, c, in, out); err != nil {
		return nil, err
	}
	r.Nearest, err = t.neighbours(c, s.workers)
	return r, err
}

// endAtOnce has another Ctrl-C end the program, but not while the file is being written, unless that takes seconds: it would
// leave half of one behind. The function that it returns says that the file is there.
func endAtOnce(stop func()) (release func()) {
	again, written := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	stop()
	go func() {
		<-again
		select {
		case <-written:
		case <-time.After(2 * time.Second):
		}
		os.Exit(interrupted)
	}()
	return sync.OnceFunc(func() { close(written) })
}

// checkOutput looks for what would keep the vectors from being saved when all is done.
func (s *trainSettings) checkOutput() error {
	info, err := os.Stat(s.out)
	switch {
	case s.out == "":
		return errors.New("the vectors need a file to be saved in: -o names none")
	case s.resume && err != nil:
		return fmt.Errorf("nothing to resume: %w", err)
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file that could be replaced (-o names another)", s.out)
	case err == nil && !s.force && !s.resume:
		return fmt.Errorf("%s is there already: -force replaces it, -resume goes on from it, -o names another", s.out)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(s.out), ".rowvec-*")
	if err != nil {
		return fmt.Errorf("%s could not be saved: %w", s.out, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// read reads the text.
func (s *trainSettings) read() (*lexicon, error) {
	file := s.file
	if file == "" {
		var err error
		if file, err = opticks(); err != nil {
			return nil, fmt.Errorf("%w; name a text", err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("no text to train on: %w", err)
	}
	x, err := newLexicon(string(text), s.Units)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s.Text = filepath.Base(file)
	x.without(s.Least)
	if len(x.ids) == 0 {
		return nil, fmt.Errorf("%s is too short: nothing in it occurs at least %d times (-min)", file, s.Least)
	}
	s.Checksum = x.checksum()
	return x, nil
}

// resume reads what an earlier training has saved and goes on to where it has ended.
func (t *trained) resume(path string, c *course) error {
	old, err := loadTrained(path)
	if err != nil {
		return err
	}
	now, then := t.origin, old.origin
	for _, x := range []struct {
		flag      string
		now, then any
	}{
		{"-tokens", now.Units == gpt2Tokens, then.Units == gpt2Tokens}, {"-min", now.Least, then.Least},
		{"-dim", now.Dim, then.Dim}, {"-window", now.Window, then.Window}, {"-seed", now.Seed, then.Seed},
	} {
		if x.now != x.then {
			return fmt.Errorf("%s comes of a training with %s %v and not %v", path, x.flag, x.then, x.now)
		}
	}
	if now.Checksum != then.Checksum || !slices.Equal(t.names, old.names) {
		return fmt.Errorf("%s comes of another text, %s", path, then.Text)
	}
	if _, err := lookup.Load(path, t.tensors); err != nil {
		return err
	}
	for c.steps < then.Steps && c.pass < then.Passes {
		c.next()
	}
	if done := c.done(); done >= float64(now.Passes) {
		return fmt.Errorf("%s has had %.1f passes: -passes has to be greater", path, done)
	}
	return nil
}

// course is the way through a text, pass after pass.
type course struct {
	*origin
	sampler *sampler
	batch   *minibatch
	pass    int // that are complete
	steps   int
	limit   int // of steps, unless 0
}

// newCourse returns nil if there is nothing to train on.
func newCourse(c *corpus, o *origin) *course {
	s := newSampler(c, c.train, o.Seed, streamTrain)
	if len(s.passages) == 0 {
		return nil
	}
	return &course{origin: o, sampler: s, batch: newMinibatch()}
}

// next draws the next batch.
func (c *course) next() {
	c.sampler.draw(c.batch)
	c.steps++
	if c.sampler.next == len(c.sampler.passages) {
		c.pass++
	}
}

// done returns how many passes are done with the batch that has been drawn last.
func (c *course) done() float64 {
	s := c.sampler
	if s.next == len(s.passages) {
		return float64(c.pass)
	}
	return float64(c.pass) + float64(s.next)/float64(len(s.passages))
}

// run trains until all passes are done or ctx is.
func (c *course) run(ctx context.Context, g *skipGram, r *trainReport, stderr io.Writer) error {
	const parts = 10000 // of the bar
	shown := int(c.done() / float64(c.Passes) * parts)
	bar := newEstimate(stderr, "training", parts, shown)
	defer bar.done()
	for c.pass < c.Passes && ctx.Err() == nil && (c.limit == 0 || c.steps < c.limit) {
		c.next()
		c.Steps = c.steps
		done := c.done() / float64(c.Passes)
		rate := trainRate * (1 - float64((1-trainEnd)*done))
		for _, o := range []*lookup.Optimizer{g.stepIn, g.stepOut} {
			if err := o.SetRate(rate); err != nil {
				return err
			}
		}
		if len(c.batch.passages) > 0 {
			if err := g.train(c.batch); err != nil {
				return fmt.Errorf("skip-gram: %w", err)
			}
		}
		r.Centres, r.Pairs = r.Centres+len(c.batch.centres), r.Pairs+c.batch.pairs
		if now := int(done * parts); now > shown {
			bar.add(now - shown)
			shown = now
		}
	}
	return nil
}

// judgedProducts is about how many products of vectors the loss may take, so that a large text does not take minutes.
const judgedProducts = 1 << 27

// judge sets the loss in the text that was held out, and the precision.
func (r *trainReport) judge(t *trained, c *corpus, in, out rowvec.Matrix) error {
	tokens := 0
	for i, piece := range c.held {
		if tokens += len(piece); tokens > max(pieceSize, judgedProducts/len(c.ids)) {
			c.held = c.held[:i]
			break
		}
	}
	if len(c.held) > 0 {
		var l lesson
		loss, err := l.judge(c, in, out)
		if err != nil {
			return err
		}
		r.HeldPairs, r.HeldLoss, r.Unigram = l.HeldPairs, loss, l.Unigram
	}
	before, _ := newTables(len(c.ids), t.origin.Dim, trainLimit, t.origin.Seed)
	var err error
	r.Precision, err = t.judge(c, in, before, r.Workers)
	return err
}

// Words whose neighbours are shown, if the text has them often enough; others take the place of those that it has not.
var trainShown = []string{"red", "two", "third", "eye", "glass", "sun", "gold", "greater"}

// neighbours returns the nearest words of some.
func (t *trained) neighbours(c *corpus, workers int) ([]neighbours, error) {
	rows := t.words(c, judgeFrom)
	var places []int
	for _, word := range trainShown {
		i := slices.IndexFunc(rows, func(row int) bool {
			name, _ := t.origin.Units.asWord(t.names[row])
			return name == word && c.counts[row] >= showFrom
		})
		if i >= 0 {
			places = append(places, i)
		}
	}
	for i, row := range rows { // the most frequent that are not so frequent that they were thinned out
		if len(places) >= len(trainShown) {
			break
		}
		if c.keep[row] > 1<<31 && !slices.Contains(places, i) {
			places = append(places, i)
		}
	}
	all := []neighbours{}
	if len(places) == 0 {
		return all, nil
	}
	table, _ := t.tensor(vectorsName)
	f, err := newFinder(table, rows, workers)
	if err != nil {
		return nil, err
	}
	found, err := f.nearest(places, shownNearby)
	if err != nil {
		return nil, err
	}
	for k, place := range places {
		n := neighbours{Token: t.names[rows[place]]}
		ids, scores := found.Of(k)
		for i, id := range ids {
			n.Tokens, n.Cosines = append(n.Tokens, t.names[rows[id]]), append(n.Cosines, float64(scores[i]))
		}
		all = append(all, n)
	}
	return all, nil
}

// heading is what is known before the training.
func (s *trainSettings) heading(r *trainReport) string {
	times := ""
	if s.Least > 1 {
		times = fmt.Sprintf(" that occur at least %d times", s.Least)
	}
	passes := "1 pass"
	if s.Passes > 1 {
		passes = thousands(s.Passes) + " passes"
	}
	return fmt.Sprintf("%s: %s %s%s, %s of them different\ndim %d, window %d, %s, seed %d, %s, %s\n", s.Text,
		thousands(r.Length), s.Units, times, thousands(r.Vocab), s.Dim, s.Window, passes,
		s.Seed, plural(r.Workers, "worker"), r.ISA)
}

// table has at most 90 columns.
func (r *trainReport) table() string {
	var b strings.Builder
	if r.Centres > 0 {
		fmt.Fprintf(&b, "\n%.1f s for %s %s with %s: %s %s per second\n", r.Seconds, thousands(r.Centres), r.Units,
			plural(r.Pairs, "neighbour"), thousands(int(float64(r.Centres)/r.Seconds)), r.Units)
	}
	if r.HeldPairs > 0 {
		fmt.Fprintf(&b, "Loss in text held out: %.3f nats for each of %s; from the frequencies\nof %s alone %.3f.\n",
			r.HeldLoss, plural(r.HeldPairs, "pair"), r.Units, r.Unigram)
	}
	if len(r.Nearest) > 0 {
		b.WriteString("\nNearest by cosine:\n")
	}
	for _, n := range r.Nearest {
		fmt.Fprintf(&b, "  %-10s", r.Units.show(n.Token))
		for k, name := range n.Tokens {
			fmt.Fprintf(&b, " %s %.2f", r.Units.show(name), n.Cosines[k])
		}
		b.WriteByte('\n')
	}
	if r.Precision != nil {
		b.WriteString(r.Precision.table())
	}
	fmt.Fprintf(&b, "\nSaved in %s.", r.File)
	if len(r.Nearest) > 0 {
		from := ""
		if r.File != defaultVectors {
			from = " -from " + shellWord(r.File)
		}
		word, _ := r.Units.asWord(r.Nearest[0].Token)
		fmt.Fprintf(&b, " More of them: go run ./bench similar%s %s", from, shellWord(word))
	}
	b.WriteByte('\n')
	return b.String()
}

// shellWord quotes a path or a word for a shell, if it has to be.
func shellWord(s string) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+:,@%", r)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
