package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// mutant is one change; Was becomes Is.
type mutant struct {
	File   string  `json:"file"`
	Line   int     `json:"line"`
	Where  string  `json:"where"` // the function or macro
	Level  string  `json:"level"`
	Kind   string  `json:"kind"`
	Was    string  `json:"was"`
	Is     string  `json:"is"`
	Status string  `json:"status"`
	By     string  `json:"by,omitempty"`     // the test that caught it
	Reason string  `json:"reason,omitempty"` // why it is equivalent, or was not built
	Tests  int     `json:"tests"`            // how many of them reach the change
	CPU    float64 `json:"cpu"`              // seconds

	start, end int      // of an instruction, in its file
	functions  []string // that have it
	nth        int      // of the instructions or conditions of its function or macro that are the same, from 1 on
	number     int      // that chooses it, and the first of those of its condition
	site       int
}

// What becomes of a mutant. Those that are caught are so by a test that fails, by a crash, or by the time limit.
const (
	failed     = "test failed"
	crashed    = "crashed"
	tooLong    = "time limit"
	survived   = "survived"
	unreached  = "not reached" // by any test: it survives too
	notBuilt   = "not built"
	equivalent = "equivalent"
	sameCode   = "is assembled to the same code" // and so equivalent: the reason
)

// key is what the list of equivalent mutants is about: no line numbers, which change.
func (m *mutant) key() string {
	return m.Level + " " + m.File + " " + m.Where + ": " + m.Was + " => " + m.Is
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d %s (%s): %s  =>  %s", m.File, m.Line, m.Where, m.Level, m.Was, m.Is)
}

func mutated(text string, m *mutant) string { return text[:m.start] + m.Is + text[m.end:] }

// project is the module whose packages are changed and tested.
type project struct {
	root string // an absolute path
	tmp  string
	env  []string       // for the go command and for tests
	exec []string       // what runs a test
	only *regexp.Regexp // tests that are run
	skip string         // and of these, those that are not
	slow float64        // CPU seconds that a test may take more
	out  func(urgent bool, format string, args ...any)
}

// test is one of a binary, and what it reaches.
type test struct {
	binary *binary
	name   string
	cpu    float64
	hits   []byte
}

// binary is a test binary with mutants in it, one of which is chosen by its number.
type binary struct {
	path, dir string
}

//go:embed chosen.go.txt
var chosen string

// hook is the file that has package name choose among mutants and say which of sites it has come to.
func hook(name string, sites int) string {
	return strings.NewReplacer("PACKAGE", name, "SITES", fmt.Sprint(sites)).Replace(chosen)
}

// mainTest is the file that has tests say so at their end.
func mainTest(pkg string, paths []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s_test\n\nimport (\n\t\"os\"\n\t\"testing\"\n\n", pkg)
	for i, path := range paths {
		fmt.Fprintf(&b, "\tm%d %q\n", i, path)
	}
	b.WriteString(")\n\nfunc TestMain(m *testing.M) {\n\tcode := m.Run()\n\thits := []byte(nil)\n")
	for i := range paths {
		fmt.Fprintf(&b, "\tfor i, h := range m%d.MutateHits() {\n\t\tif i >= len(hits) {\n\t\t\thits = append(hits, 0)\n\t\t}\n"+
			"\t\thits[i] |= h\n\t}\n", i)
	}
	b.WriteString("\tif name := os.Getenv(\"MUTATE_HITS\"); name != \"\" {\n\t\tos.WriteFile(name, hits, 0o600)\n\t}\n" +
		"\tos.Exit(code)\n}\n")
	return b.String()
}

// overlay writes the files of an overlay, by their paths in the project, and returns the path of its description.
func (p *project) overlay(files map[string]string) (string, error) {
	dir, err := os.MkdirTemp(p.tmp, "overlay")
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range files {
		name := filepath.Join(dir, strings.ReplaceAll(path, string(filepath.Separator), "_"))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(p.root, path)] = name
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, data, 0o600)
}

// command runs a program in directory dir of the project, and returns what it prints.
func (p *project) command(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Join(p.root, dir)
	cmd.Env = append(os.Environ(), p.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String() + stderr.String(), fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, &stdout, &stderr)
	}
	return stdout.String() + stderr.String(), nil
}

// build builds the tests of the package in directory dir with an overlay.
func (p *project) build(dir, overlay string) (*binary, error) {
	path := filepath.Join(filepath.Dir(overlay), "t"+strings.ReplaceAll(dir, "/", "_")+".test")
	_, err := p.command(dir, "go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", path, ".")
	return &binary{path: path, dir: filepath.Join(p.root, dir)}, err
}

// capped keeps the first of what is written to it: a mutant may say a lot.
type capped struct{ buf bytes.Buffer }

func (c *capped) Write(b []byte) (int, error) {
	if room := 64<<10 - c.buf.Len(); room > 0 {
		c.buf.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// run runs tests of a binary, chosen by a pattern, with a mutant, for so many seconds of CPU time, which ends what loops
// on any machine however busy, and far longer by the clock, which ends what waits; 0 seconds are no limit.
func (p *project) run(b *binary, pattern string, number, seconds int, more ...string) (out string, cpu float64, err error) {
	args := append(slices.Clone(p.exec), b.path, "-test.run="+pattern, "-test.failfast", "-test.timeout=0")
	if p.skip != "" {
		args = append(args, "-test.skip="+p.skip)
	}
	ctx := context.Background()
	if seconds > 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(120+30*seconds)*time.Second)
		defer cancel()
		ctx = limited
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = b.dir
	cmd.Env = append(append(os.Environ(), p.env...), more...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("MUTATE_NUMBER=%d", number), fmt.Sprintf("MUTATE_SECONDS=%d", seconds))
	var w capped
	cmd.Stdout, cmd.Stderr = &w, &w
	err = cmd.Run()
	if cmd.ProcessState != nil {
		cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return w.buf.String(), cpu, err
}

// tests returns the tests of a binary, each with how long it takes and what it reaches where nothing is changed. It is an
// error if one fails.
func (p *project) tests(b *binary) ([]*test, error) {
	args := append(slices.Clone(p.exec), b.path, "-test.list=^(Test|Example|Fuzz)")
	list, err := p.command(b.dir[len(p.root):], args[0], args[1:]...)
	if err != nil {
		return nil, err
	}
	skip := regexp.MustCompile("^$")
	if top, _, _ := strings.Cut(p.skip, "|/"); top != "" && !strings.HasPrefix(top, "/") {
		skip = regexp.MustCompile(top)
	}
	var all []*test
	for name := range strings.FieldsSeq(list) {
		if skip.MatchString(name) || !p.only.MatchString(name) {
			continue
		}
		hits := filepath.Join(p.tmp, "hits")
		os.Remove(hits)
		out, cpu, err := p.run(b, "^"+name+"$", 0, 0, "MUTATE_HITS="+hits)
		if err != nil {
			return nil, fmt.Errorf("%s fails with nothing changed: %w\n%s", name, err, out)
		}
		t := &test{binary: b, name: name, cpu: cpu}
		if t.hits, err = os.ReadFile(hits); err != nil {
			return nil, err
		}
		all = append(all, t)
		p.out(false, "%d tests, %s: %.2f s", len(all), name, cpu)
	}
	return all, nil
}

// history knows what tests have cost on the mutants of each file, and how many of them they caught: those are tried first
// that take the least CPU time for each. A test that is new there is taken to catch what it is tried with.
type history struct {
	mu     sync.Mutex
	cpu    map[string]float64
	caught map[string]int
}

func newHistory() *history { return &history{cpu: map[string]float64{}, caught: map[string]int{}} }

func (h *history) sort(tests []*test, where string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	price := func(t *test) float64 { return (t.cpu + h.cpu[where+t.name]) / float64(1+h.caught[where+t.name]) }
	slices.SortStableFunc(tests, func(a, b *test) int { return cmp.Compare(price(a), price(b)) })
}

func (h *history) tried(t *test, where string, cpu float64, caught bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cpu[where+t.name] += cpu
	if caught {
		h.caught[where+t.name]++
	}
}

// try runs those tests that reach a mutant until one catches it. reaches says which do, binary where the mutant is.
func (p *project) try(m *mutant, tests []*test, h *history, reaches func(*test) bool, at func(*test) *binary, number int) {
	var mine []*test
	for _, t := range tests {
		if reaches(t) {
			mine = append(mine, t)
		}
	}
	m.Tests, m.Status = len(mine), survived
	if len(mine) == 0 {
		m.Status = unreached
		return
	}
	h.sort(mine, m.File)
	for _, t := range mine {
		out, cpu, err := p.run(at(t), "^"+t.name+"$", number, int(math.Ceil(3*t.cpu+p.slow)))
		m.CPU += cpu
		h.tried(t, m.File, cpu, err != nil)
		if err == nil {
			continue
		}
		m.By = t.name
		var exit *exec.ExitError
		switch {
		case errors.Is(err, context.DeadlineExceeded) || strings.Contains(out, "SIGXCPU") ||
			strings.Contains(err.Error(), "killed") || strings.Contains(err.Error(), "CPU time"):
			m.Status = tooLong
		case errors.As(err, &exit) && strings.Contains(out, "--- FAIL") && !strings.Contains(out, "\ngoroutine "):
			m.Status = failed
		default:
			m.Status = crashed
		}
		return
	}
}

// each calls f for all mutants, jobs at a time, and reports progress.
func each(p *project, all []*mutant, jobs int, done *int, total int, f func(*mutant)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := make(chan *mutant)
	for range jobs {
		wg.Go(func() {
			for m := range next {
				f(m)
				mu.Lock()
				*done++
				p.out(m.Status == survived || m.Status == unreached, "%d of %d: %s: %s %s, %.1f s",
					*done, total, m, m.Status, m.By, m.CPU)
				mu.Unlock()
			}
		})
	}
	for _, m := range all {
		next <- m
	}
	close(next)
	wg.Wait()
}

// runChecks tries mutants of Go conditions: all of them in one binary for each package of tests.
func (p *project) runChecks(module string, files []string, chosen func([]*mutant) []*mutant, jobs int) ([]*mutant, error) {
	var all []*mutant
	overlaid := map[string]string{}
	names := map[string]string{} // of packages, by directory
	for _, rel := range files {
		c, mutants, err := readChecks(readFile, filepath.Join(p.root, rel), rel, 1+len(all))
		if err != nil {
			return nil, err
		}
		all = append(all, mutants...)
		overlaid[rel] = c.changed()
		names[filepath.Dir(rel)] = c.pkg
	}
	for dir, name := range names {
		overlaid[filepath.Join(dir, "zz_mutate.go")] = hook(name, len(all)+1)
	}
	selected := chosen(all)
	left := slices.DeleteFunc(slices.Clone(selected), func(m *mutant) bool { return m.Status != "" })
	if len(left) == 0 {
		return selected, nil
	}

	// A package is tested by its own tests, and an internal one by those of the packages that import it.
	testers := map[string]map[string]bool{} // by directory of tests, those of what they test
	for dir := range names {
		path := module
		if dir != "." {
			path += "/" + filepath.ToSlash(dir)
		}
		list, err := p.command(".", "go", "list", "-f",
			`{{.Dir}}	{{len .TestGoFiles}}	{{len .XTestGoFiles}}	{{join .Imports " "}} .`, "./...")
		if err != nil {
			return nil, err
		}
		var importers []string
		for line := range strings.Lines(list) {
			fields := strings.SplitN(strings.TrimSpace(line), "\t", 4)
			if len(fields) != 4 || fields[1] == "0" && fields[2] == "0" {
				continue
			}
			at, err := filepath.Rel(p.root, fields[0])
			if err != nil {
				return nil, err
			}
			if at == dir || strings.HasPrefix(dir, "internal") && slices.Contains(strings.Fields(fields[3]), path) {
				importers = append(importers, at)
			}
		}
		for _, at := range importers {
			if testers[at] == nil {
				testers[at] = map[string]bool{}
			}
			testers[at][path] = true
		}
	}
	var tests []*test
	for dir, tested := range testers {
		name, err := p.command(dir, "go", "list", "-f", "{{.Name}}", ".")
		if err != nil {
			return nil, err
		}
		var paths []string
		for path := range tested {
			paths = append(paths, path)
		}
		files := map[string]string{filepath.Join(dir, "zz_mutate_test.go"): mainTest(strings.TrimSpace(name), paths)}
		for path, text := range overlaid {
			files[path] = text
		}
		o, err := p.overlay(files)
		if err != nil {
			return nil, err
		}
		p.out(false, "building the tests of %s", dir)
		b, err := p.build(dir, o)
		if err != nil {
			return nil, err
		}
		found, err := p.tests(b)
		if err != nil {
			return nil, err
		}
		tests = append(tests, found...)
	}
	h := newHistory()
	done := 0
	each(p, left, jobs, &done, len(left), func(m *mutant) {
		p.try(m, tests, h, func(t *test) bool { return m.site < len(t.hits) && t.hits[m.site] != 0 },
			func(t *test) *binary { return t.binary }, m.number)
	})
	return selected, nil
}

// runAssembly tries mutants of assembly, a batch of them in one binary.
func (p *project) runAssembly(builder *builder, left []*mutant, jobs, size int) error {
	h := newHistory()
	var tests []*test
	done := 0
	for batch := range slices.Chunk(left, size) {
		p.out(false, "building %d mutants", len(batch))
		b, err := builder.build(batch, jobs)
		if err != nil {
			return err
		}
		if tests == nil {
			if tests, err = p.tests(b); err != nil {
				return err
			}
		}
		var built []*mutant
		numbers := map[*mutant]int{}
		for i, m := range batch {
			if m.Status == "" {
				built = append(built, m)
				numbers[m] = i + 1
			}
		}
		done += len(batch) - len(built)
		each(p, built, jobs, &done, len(left), func(m *mutant) {
			p.try(m, tests, h, func(t *test) bool {
				return slices.ContainsFunc(m.functions, func(f string) bool {
					return t.hits[slices.Index(builder.functions, f)] != 0
				})
			}, func(*test) *binary { return b }, numbers[m])
		})
		os.RemoveAll(filepath.Dir(b.path))
	}
	return nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

func readFile(name string) (string, error) {
	data, err := os.ReadFile(name)
	return string(data), err
}
