// Command bench shows how fast rowvec is on this machine, and that every instruction set gives the same bits.
//
//	go run ./bench            the complete embedding layer over a real text, forward and backward, and a training on it
//	go run ./bench kernels    every kernel against naive Go
//	go run ./bench peers      the same jobs as NumPy, PyTorch, vek and gonum
//	go run ./bench memory     what embeddings weigh
//	go run ./bench lookup     what a lookup costs, by vocabulary and batch
//	go run ./bench positions  learned positions against sinusoidal ones, and a task of order that takes positions
//	go run ./bench train      vectors of the words of a text
//	go run ./bench similar    the words with the nearest of these vectors
//	go test -bench . ./bench  the same kernels as benchmarks, for benchstat
//
// Machines are shared and noisy, so that an absolute time proves nothing: all sides of a comparison run in turn, round
// after round, in one process, and what counts is the median over rounds of the ratio within each.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/rowvec/rowvec/bench/picture"
	crew "github.com/rowvec/rowvec/internal/work"
)

// command is what the first argument can name.
type command struct {
	name, args, short string
	run               func(args []string, stdout, stderr io.Writer) int
}

// commands are all but the main job, in the order of the usage. A function, since some of them list it.
func commands() []command {
	return []command{
		{"kernels", "[flags]", "every kernel against naive Go", runKernels},
		{"peers", "[flags]", "against NumPy, PyTorch, vek and gonum; -peers PYTHON is short for peers -python PYTHON",
			func(args []string, stdout, stderr io.Writer) int {
				return runPeers(args, stdout, stderr, contests, sample)
			}},
		{"memory", "[flags] [VOCABxDIM ...]", "what embeddings weigh", runMemory},
		{"lookup", "[flags]", "what a lookup costs, by vocabulary and batch", runLookup},
		{"positions", "[flags]", "learned against sinusoidal, how exact, and a task of order", runPositions},
		{"train", "[flags] [TEXT]", "vectors of the words of a text, by default of Newton's Opticks", runTrain},
		{"similar", "[flags] WORD...", "the words with the nearest of these vectors", runSimilar},
	}
}

// usage lists the commands before it says what the main job is.
func usage() string {
	var b strings.Builder
	line := func(command, short string) { fmt.Fprintf(&b, "  %-38s  %s\n", command, short) }
	b.WriteString("Usage:\n")
	line("go run ./bench [flags]", "the complete embedding layer over a real text")
	for _, c := range commands() {
		line("go run ./bench "+c.name+" "+c.args, c.short)
	}
	line("go test -bench . ./bench", "the kernels as benchmarks, for benchstat")
	b.WriteString(`
Each has flags of its own, which -h behind its name lists.

The main job runs an embedding layer of GPT-2's size (50,257 tokens x 768, 1,024 positions),
scaled as the Transformer's is, forward and backward over a text, at every instruction set of
this machine and with naive Go loops, and then trains vectors of the tokens of the text by
skip-gram with negative sampling.
Fails if they do not agree bit for bit.

`)
	return b.String()
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit status: 1 for a failure, 2 for flags that make no sense.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		if args[0] == "help" {
			args = append(slices.Clone(args[1:min(2, len(args))]), "-h")
		}
		for _, c := range commands() {
			if args[0] == c.name {
				return c.run(args[1:], stdout, stderr)
			}
		}
	}
	for i, arg := range args {
		if name, _, _ := strings.Cut(arg, "="); name == "-peers" || name == "--peers" {
			args = slices.Clone(args)
			args[i] = strings.Replace(arg, "peers", "python", 1)
			return runPeers(args, stdout, stderr, contests, sample)
		}
	}
	return runLayer(args, stdout, stderr, sidesOf)
}

// mostWorkers is how many lookup.Workers uses at most.
const mostWorkers = crew.Most

// runLayer is the main job; sides are the implementations to compare, the yardstick first.
func runLayer(args []string, stdout, stderr io.Writer, sides func(*model) []side) int {
	var s settings
	flags := newFlags("bench", usage(), stderr)
	flags.StringVar(&s.text, "text", "", "read this `file` instead of Newton's Opticks, which comes with Go")
	flags.IntVar(&s.batch, "batch", 16, "so many `sequences` of 1,024 tokens in a batch")
	flags.IntVar(&s.rounds, "rounds", 7, "measure this many `rounds`")
	flags.IntVar(&s.workers, "workers", 1, "`goroutines` of the layer and the training; the naive loops and copy always have one")
	flags.BoolVar(&s.quick, "quick", false, "only the first 5,000 tokens, in batches of 2, for 3 rounds, and a short training, whatever other flags say: a smoke test")
	flags.StringVar(&s.plots, "plots", "", "draw pictures, PNG and SVG, and "+picture.PageName+" with all of them into this `directory`")
	asJSON := flags.Bool("json", false, "print JSON")
	if status, done := parse(flags, args); done {
		return status
	}
	if s.batch < 1 || s.rounds < 1 || s.workers < 1 || s.workers > mostWorkers {
		fmt.Fprintf(stderr, "bench: -batch and -rounds must be at least 1 and -workers from 1 to %s\n", thousands(mostWorkers))
		return 2
	}
	if s.plots == "" && given(flags, "plots") {
		fmt.Fprintln(stderr, "bench: -plots names no directory")
		return 2
	}
	if s.plots != "" {
		if err := picture.MakeDirectory(s.plots); err != nil {
			return exit(fmt.Errorf("-plots: %w", err), stderr)
		}
	}
	r, err := layerReport(s, stderr, sides)
	if err == nil && *asJSON {
		err = writeJSON(stdout, r)
	} else if err == nil {
		err = r.writeTable(stdout)
	}
	if err == nil && s.plots != "" {
		err = savePictures(s, r, stderr)
	}
	return exit(err, stderr)
}

func newFlags(name, usage string, stderr io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	return flags
}

// matchFlag adds -match to flags. Without it, everything matches.
func matchFlag(flags *flag.FlagSet, usage string) *(*regexp.Regexp) {
	match := regexp.MustCompile("")
	flags.Func("match", usage, func(s string) (err error) {
		match, err = regexp.Compile(s)
		return err
	})
	return &match
}

// parse parses args; done says that there is nothing left to do but to exit with status.
func parse(flags *flag.FlagSet, args []string) (status int, done bool) {
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0, true
	case err != nil:
		return 2, true
	case flags.NArg() > 0:
		fmt.Fprintf(flags.Output(), "bench: unknown argument %q%s\n", flags.Arg(0), meant(flags.Arg(0)))
		return 2, true
	}
	return 0, false
}

// meant says what may have been meant by an argument that is none.
func meant(arg string) string {
	best, name := (len(arg)+1)/3, ""
	for _, c := range commands() {
		if arg == c.name {
			return ": a command comes first, before all flags"
		}
		if d := edits([]rune(arg), []rune(c.name), best); d <= best {
			best, name = d, c.name
		}
	}
	if name == "" {
		return "; -h lists what there is"
	}
	return "; do you mean " + name + "?"
}

// given reports whether a flag has been set, to whatever it may be.
func given(flags *flag.FlagSet, name string) (set bool) {
	flags.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// parseMixed is parse for commands that take arguments, which it returns. Flags may stand before them, between them and behind
// them.
func parseMixed(flags *flag.FlagSet, args []string) (others []string, status int, done bool) {
	for {
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, 0, true
		} else if err != nil {
			return nil, 2, true
		}
		rest := flags.Args()
		if len(rest) == 0 {
			return others, 0, false
		}
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" {
			return append(others, rest...), 0, false
		}
		others, args = append(others, rest[0]), rest[1:]
	}
}

// exit returns the status that err stands for, and says what it is.
func exit(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "bench:", err)
	if errors.Is(err, picture.ErrInterrupted) {
		return interrupted
	}
	return 1
}

// printer writes until that fails, and keeps the error.
type printer struct {
	io.Writer
	err error
}

func (p *printer) Write(b []byte) (n int, err error) {
	if p.err == nil {
		n, p.err = p.Writer.Write(b)
	}
	return n, p.err
}
