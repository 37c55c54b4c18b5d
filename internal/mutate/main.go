// Command mutate tests the tests: it changes the kernels one instruction at a time, or the checks of arguments one condition
// at a time, runs the tests of the package that reach the change, and reports which changes no test has caught. Run it in
// the root of the repository:
//
//	go run ./internal/mutate -sample 200                              # of the assembly of this machine, at each of its levels
//	go run ./internal/mutate -arch arm64 -exec qemu-aarch64-static -sample 200
//	go run ./internal/mutate -part 1/40                               # one of 40 samples, which together are all
//	go run ./internal/mutate -checks                                  # of all checks in Go
//
// An instruction is dropped, or has an operation, condition, constant, offset, register, move or mask changed, on the
// source: the body of a macro counts once, and is changed in all its expansions in functions of the level. A condition is
// negated, taken to be true or false, and has its boundary shifted, in an if, a case or a return; what a check has found is
// not returned. In package rowvec and internal/check all conditions count, in the layers those that guard an error.
//
// No file of the checkout is touched. Checks are built by go test -overlay, all into one binary. For mutants of assembly the
// go command builds the tests once; then the assembler makes the functions that a mutant has changed, and the linker puts
// many mutants into one binary. The functions jump to the variant, and the conditions become the one, whose number the
// environment has. What an unchanged run has each test reach says which tests a mutant is tried with, those first that have
// taken the least CPU time for each mutant of this file that they caught. A test that takes much longer than it does
// unchanged, by CPU time, has caught its mutant by the time limit.
//
// What the assembler refuses is not built, and not counted. What is assembled to the same code, and what equivalent.txt
// lists since no test can see it, for the reason given there, is neither tried nor counted; -all tries what is listed, and
// reports what is caught of it. Tests judged by the clock (TestPreemption...) are not run.
//
// A sample is drawn by what the mutants are, not by where they stand: as long as the sources stay, so does it, and a change
// to them changes no more of it than it changes of them.
package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed equivalent.txt
var equivalents string

// rule is a line of equivalent.txt.
type rule struct {
	pattern *regexp.Regexp
	reason  string
	line    int
}

// matches reports whether a rule is about m.
func (r *rule) matches(m *mutant) bool {
	return r.pattern.MatchString(m.key() + " #" + strconv.Itoa(m.nth))
}

// parseRules reads lines of a regular expression, which the whole of a mutant's key has to match, or that and which of several
// instructions that are the same it is, and behind ## the reason.
func parseRules(text string) ([]*rule, error) {
	var rules []*rule
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, reason, found := strings.Cut(line, "##")
		if reason = strings.TrimSpace(reason); !found || reason == "" {
			return nil, fmt.Errorf("line %d: no reason behind ##", n)
		}
		re, err := regexp.Compile("^(?:" + strings.TrimSpace(pattern) + `)(?: #\d+)?$`)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		rules = append(rules, &rule{pattern: re, reason: reason, line: n})
	}
	return rules, nil
}

// levels are the suffixes of functions, by level.
var levels = map[string]string{"avx2": "AVX2", "avx512": "AVX512", "neon": "NEON"}

var levelsOf = map[string][]string{"amd64": {"avx2", "avx512"}, "arm64": {"neon"}}

type options struct {
	checks, list, all, verbose bool
	arch, level, exec          string
	sample, jobs, batch        int
	part                       string
	seed                       uint64
	match, tests               string
	json                       string
	least                      float64
	root                       string
}

func main() {
	var o options
	flag.BoolVar(&o.checks, "checks", false, "change the conditions of the checks in Go, not the assembly")
	flag.StringVar(&o.arch, "arch", runtime.GOARCH, "architecture: amd64 or arm64")
	flag.StringVar(&o.level, "level", "", "levels, separated by commas: avx2, avx512, neon (all of the architecture)")
	flag.StringVar(&o.exec, "exec", "", "command that runs tests, as for go test -exec")
	flag.IntVar(&o.sample, "sample", 0, "try so many mutants at each level, drawn by chance, and not all")
	flag.Uint64Var(&o.seed, "seed", 1, "what the sample is drawn by")
	flag.StringVar(&o.part, "part", "", "try part I of N, such as 3/40, each a sample; together they are all")
	flag.StringVar(&o.match, "match", "", "only mutants that a regular expression matches, as -list prints them")
	flag.StringVar(&o.tests, "tests", "", "only run tests whose names a regular expression matches")
	flag.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "tests to run at once")
	flag.IntVar(&o.batch, "batch", 200, "mutants in one binary")
	flag.StringVar(&o.json, "json", "", "file for all mutants and what became of them, a line of JSON each")
	flag.BoolVar(&o.list, "list", false, "list the mutants, and try none")
	flag.BoolVar(&o.all, "all", false, "try those listed as equivalent too, and report those that are caught")
	flag.Float64Var(&o.least, "least", 0, "fail if a smaller share is caught, in percent")
	flag.BoolVar(&o.verbose, "v", false, "report each mutant as it is tried")
	flag.StringVar(&o.root, "root", ".", "root of the module")
	flag.Usage = func() {
		fmt.Fprint(os.Stderr, "usage: go run ./internal/mutate [flags]\n\n"+
			"Changes kernels or checks one instruction or condition at a time, and reports which changes the tests catch;\n"+
			"see go doc ./internal/mutate.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	enough, err := run(&o, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	if !enough {
		os.Exit(1)
	}
}

// run does what the flags say, prints progress and the report, and returns whether enough mutants were caught.
func run(o *options, stdout, progress io.Writer) (bool, error) {
	rules, err := parseRules(equivalents)
	if err != nil {
		return false, fmt.Errorf("equivalent.txt, %w", err)
	}
	matching, err := regexp.Compile(o.match)
	if err != nil {
		return false, err
	}
	part, parts := 1, 1
	if o.part != "" {
		if n, err := fmt.Sscanf(o.part, "%d/%d", &part, &parts); n < 2 || err != nil || part < 1 || part > parts {
			return false, fmt.Errorf("no part %q: I/N, with I from 1 to N", o.part)
		}
	}
	only, err := regexp.Compile(o.tests)
	if err != nil {
		return false, err
	}
	p := &project{slow: 1, only: only}
	if p.root, err = filepath.Abs(o.root); err != nil {
		return false, err
	}
	if p.tmp, err = os.MkdirTemp("", "mutate"); err != nil {
		return false, err
	}
	defer os.RemoveAll(p.tmp)
	p.exec = strings.Fields(o.exec)
	started, last := time.Now(), time.Time{}
	p.out = func(urgent bool, format string, args ...any) {
		if urgent || o.verbose || time.Since(last) > 10*time.Second {
			last = time.Now()
			fmt.Fprintf(progress, "%5.0f s  %s\n", time.Since(started).Seconds(), fmt.Sprintf(format, args...))
		}
	}
	p.env = []string{"GOARCH=" + o.arch, "GOWORK=off"}
	if o.arch != runtime.GOARCH {
		p.env = append(p.env, "CGO_ENABLED=0")
	}
	identity, err := p.command(".", "go", "list", "-f", "{{.ImportPath}} {{.Name}}", ".")
	if err != nil {
		return false, err
	}
	module, name, _ := strings.Cut(strings.TrimSpace(identity), " ")

	// chosen draws the sample, and settles what of it is equivalent.
	chosen := func(mutants []*mutant) []*mutant {
		mutants = slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return !matching.MatchString(m.String()) })
		if o.sample > 0 || parts > 1 {
			mutants = drawn(mutants, o.seed)
		}
		if o.sample > 0 {
			mutants = mutants[:min(o.sample, len(mutants))]
		}
		mutants = mutants[len(mutants)*(part-1)/parts : len(mutants)*part/parts]
		for _, m := range mutants {
			for _, r := range rules {
				if r.matches(m) {
					m.Reason = r.reason
					break
				}
			}
			if m.Reason != "" && !o.all {
				m.Status = equivalent
			}
		}
		return mutants
	}

	var all []*mutant
	ways := levelsOf[o.arch]
	if o.level != "" {
		ways = strings.Split(o.level, ",")
	}
	if o.checks {
		files, err := checkFiles(p.root)
		if err != nil {
			return false, err
		}
		if o.list {
			n := 1
			for _, f := range files {
				_, mutants, err := readChecks(readFile, filepath.Join(p.root, f), f, n)
				if err != nil {
					return false, err
				}
				n += len(mutants)
				all = append(all, chosen(mutants)...)
			}
		} else {
			p.at(ways[0]) // they are the same at each level
			if all, err = p.runChecks(module, files, chosen, o.jobs); err != nil {
				return false, err
			}
		}
	} else {
		a, err := readAssembly(readFile, p.root, o.arch)
		if err != nil {
			return false, err
		}
		var b *builder
		for _, level := range ways {
			suffix, known := levels[level]
			if !known {
				return false, fmt.Errorf("no level %q", level)
			}
			mutants := chosen(a.mutants(level, suffix))
			all = append(all, mutants...)
			left := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.Status != "" })
			if o.list || len(left) == 0 {
				continue
			}
			if b == nil {
				if b, err = p.newBuilder(a, module, name); err != nil {
					return false, err
				}
			}
			at := *p
			at.env = slices.Clone(p.env)
			at.at(level)
			if err := at.runAssembly(b, left, o.jobs, o.batch); err != nil {
				return false, err
			}
		}
	}
	if o.list {
		for _, m := range all {
			fmt.Fprintln(stdout, m, m.Reason)
		}
		return true, nil
	}
	if o.json != "" {
		if err := writeJSON(o.json, all); err != nil {
			return false, err
		}
	}
	w := bufio.NewWriter(stdout)
	defer w.Flush()
	share := report(w, all)
	return share >= o.least/100, nil
}

// drawn returns mutants in the order in which they are drawn, that of a hash of what they are: so whatever else changes,
// those that stay are drawn again.
func drawn(mutants []*mutant, seed uint64) []*mutant {
	rank := map[*mutant]uint64{}
	seen := map[string]int{} // a statement may be in a function twice
	for _, m := range mutants {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %s %d", seed, m.key(), seen[m.key()])
		seen[m.key()]++
		x := h.Sum64() // FNV alone leaves the last bytes in the lowest bits
		x = (x ^ x>>33) * 0xff51afd7ed558ccd
		rank[m] = x ^ x>>33
	}
	mutants = slices.Clone(mutants)
	slices.SortFunc(mutants, func(a, b *mutant) int { return cmp.Compare(rank[a], rank[b]) })
	return mutants
}

// at has tests run at a level, and none of those that the clock judges.
func (p *project) at(level string) {
	others := slices.DeleteFunc([]string{"portable", "avx2", "avx512", "neon"}, func(l string) bool { return l == level })
	p.env = append(p.env, "ROWVEC_ISA="+level)
	p.skip = "^TestPreemption|/^isa=(" + strings.Join(others, "|") + ")$"
}

func writeJSON(name string, all []*mutant) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, m := range all {
		if err := e.Encode(m); err != nil {
			return err
		}
	}
	return os.WriteFile(name, []byte(b.String()), 0o666)
}

// tally counts mutants by what became of them.
type tally struct{ failed, crashed, tooLong, survived, notBuilt, equivalent int }

func (t *tally) add(m *mutant) {
	switch m.Status {
	case failed:
		t.failed++
	case crashed:
		t.crashed++
	case tooLong:
		t.tooLong++
	case survived, unreached:
		t.survived++
	case notBuilt:
		t.notBuilt++
	case equivalent:
		t.equivalent++
	}
}

func (t *tally) caught() int { return t.failed + t.crashed + t.tooLong }

// interval is Wilson's for a share, at 95%.
func interval(k, n int) (low, high float64) {
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	middle, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return (middle - half) / (1 + z*z/m), (middle + half) / (1 + z*z/m)
}

// report prints shares and survivors, and returns the share of all.
func report(w *bufio.Writer, all []*mutant) float64 {
	tallies := map[string]*tally{}
	var names, survivors []string
	wrong := map[string]bool{}
	reasons := map[string]int{}
	count := func(name string, m *mutant) {
		if tallies[name] == nil {
			tallies[name] = &tally{}
			names = append(names, name)
		}
		tallies[name].add(m)
	}
	var total tally
	for _, m := range all {
		count(m.Level+"  "+m.File, m)
		count(m.Level+"  all", m)
		total.add(m)
		switch m.Status {
		case survived, unreached:
			note := ""
			if m.Status == unreached {
				note = "  [no test comes here]"
			}
			if m.Reason != "" {
				note += "  [listed: " + m.Reason + "]"
			}
			survivors = append(survivors, m.String()+note)
		case equivalent:
			reasons[m.Reason]++
		case failed, crashed, tooLong:
			if m.Reason != "" {
				wrong[m.String()+"  [listed: "+m.Reason+"]"] = true
			}
		}
	}
	slices.Sort(names)
	fmt.Fprintf(w, "%-42s %6s %6s %6s %6s %9s %7s  %s\n", "level, file", "failed", "crash", "time", "alive", "not built",
		"equiv.", "caught, with its 95% interval")
	for _, name := range names {
		t := tallies[name]
		fmt.Fprintf(w, "%-42s %6d %6d %6d %6d %9d %7d  ", name, t.failed, t.crashed, t.tooLong, t.survived, t.notBuilt,
			t.equivalent)
		if n := t.caught() + t.survived; n > 0 {
			low, high := interval(t.caught(), n)
			fmt.Fprintf(w, "%6.2f%% of %d (%.1f to %.1f)", 100*float64(t.caught())/float64(n), n, 100*low, 100*high)
		}
		fmt.Fprintln(w)
	}
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(w, "\n%s:\n", title)
			for _, line := range lines {
				fmt.Fprintln(w, line)
			}
		}
	}
	section("Survivors", survivors)
	var lines []string
	for line := range wrong {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	section("Listed as equivalent, but caught", lines)
	lines = nil
	for reason, n := range reasons {
		lines = append(lines, fmt.Sprintf("%5d  %s", n, reason))
	}
	slices.Sort(lines)
	section("Equivalent", lines)
	if n := total.caught() + total.survived; n > 0 {
		return float64(total.caught()) / float64(n)
	}
	return 1
}
