package main

import (
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rowvec/rowvec/internal/isa"
)

const kernelsUsage = `Usage: go run ./bench kernels [flags]

Compares every kernel, row-sparse gradients and steps of optimizers by them, at every
instruction set of this machine, with naive Go on the shapes of the benchmarks. All sides
run in turn, round after round; each figure is how many times faster than naive Go a side
is, the median over rounds of the ratio within each, and "<" marks what is slower. "again"
is naive Go once more: how far it is from 1 is how noisy the machine is. "copy" is a copy
that moves as many bytes.

`

// sample is how long one measurement lasts at least, for the naive loop: hundreds of times longer than an interrupt.
const sample = 4 * time.Millisecond

// short fits the name of a shape into a line.
var short = strings.NewReplacer("/", " ", "dist=", "", "cache=", "")

func runKernels(args []string, stdout, stderr io.Writer) int {
	flags := newFlags("bench kernels", kernelsUsage, stderr)
	rounds := flags.Int("rounds", 11, "measure this many `rounds`")
	pattern := matchFlag(flags, "only cases whose name matches `regexp`, such as Gather/vocab=50257")
	if status, done := parse(flags, args); done {
		return status
	}
	if *rounds < 1 {
		fmt.Fprintln(stderr, "bench: -rounds must be at least 1")
		return 2
	}
	return exit(compareKernels(*rounds, *pattern, stdout, stderr), stderr)
}

func compareKernels(rounds int, match *regexp.Regexp, w, stderr io.Writer) error {
	stdout, total := &printer{Writer: w}, 0
	for _, k := range kernels {
		for _, s := range cases[k.name] {
			if match.MatchString(k.name + "/" + s.String()) {
				total++
			}
		}
	}
	if total == 0 {
		var names []string
		for _, k := range kernels {
			names = append(names, k.name)
		}
		return noMatch(match, names)
	}
	fmt.Fprintf(stdout, "%s\nx naive, %s\n\n%-54s%8s", thisHost(), plural(rounds, "round"), "", "again")
	for _, level := range isa.Available {
		fmt.Fprintf(stdout, "%9s", level)
	}
	fmt.Fprintf(stdout, "%8s\n", "copy")

	bar := newProgress(stderr, "measuring", total)
	defer bar.done()
	var a arena
	below := make([]int, len(isa.Available))
	for _, k := range kernels {
		title := k.name + "\n"
		for _, s := range cases[k.name] {
			if !match.MatchString(k.name + "/" + s.String()) {
				continue
			}
			ratios, err := compareCase(&k, a.memory(&k, s), rounds)
			if err != nil {
				return err
			}
			bar.clear()
			fmt.Fprintf(stdout, "%s  %-52s%8.2f", title, short.Replace(s.String()), ratios[0])
			for i, x := range ratios[1 : len(ratios)-1] {
				mark := " "
				if x < 1 {
					mark = "<"
					below[i]++
				}
				fmt.Fprintf(stdout, "%8.2f%s", x, mark)
			}
			fmt.Fprintf(stdout, "%7.2f\n", ratios[len(ratios)-1])
			title = ""
			bar.step()
			if stdout.err != nil {
				return stdout.err
			}
		}
	}
	fmt.Fprintf(stdout, "\nslower than naive Go, of %s:", plural(total, "case"))
	for i, level := range isa.Available {
		fmt.Fprintf(stdout, " %s %d", level, below[i])
	}
	fmt.Fprintln(stdout)
	return stdout.err
}

// noMatch is the error where -match leaves none of the cases with such names.
func noMatch(match *regexp.Regexp, names []string) error {
	slices.Sort(names)
	list := wrap(strings.Join(slices.Compact(names), ", "), 90)
	return fmt.Errorf("no case matches %q. What comes first in their names:\n%s", match, strings.TrimSuffix(list, "\n"))
}

// compareCase returns how many times faster than the naive loop these are: itself, our kernel at every level, copy.
func compareCase(k *kernel, m *memory, rounds int) ([]float64, error) {
	all := k.contenders(m)
	naive := all[0]
	sides := append([]contender{naive}, all[:1+len(isa.Available)]...)
	sides = append(sides, all[len(all)-1])

	calls := 1
	for begin := time.Now(); ; calls *= 2 {
		if repeat(naive, calls, 0); time.Since(begin) >= sample {
			break
		}
		begin = time.Now()
	}
	next := 0 // lists of ids go on from side to side: nobody finds rows in cache that the one before has fetched
	works := make([]work, len(sides))
	for i, side := range sides {
		repeat(side, 1, 0)
		works[i] = timed(func() error {
			repeat(side, calls, next)
			next += calls
			return nil
		})
	}
	runtime.GC()
	seconds, err := measure(rounds, works, func() {})
	if err != nil {
		return nil, err
	}
	var ratios []float64
	for _, s := range seconds[1:] {
		ratios = append(ratios, ratio(seconds[0], s))
	}
	return ratios, nil
}

// repeat makes calls of one side, from the first-th list of ids on.
func repeat(c contender, calls, first int) {
	defer isa.Set(c.level)()
	c.run(first, calls)
}
