package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"
)

// findPython looks for an interpreter that has NumPy, and maybe PyTorch, and returns it when it has ended. The error says where there was none.
var findPython = sync.OnceValues(func() (*python, error) {
	var errs []error
	if err := os.Setenv("OMP_WAIT_POLICY", "passive"); err != nil { // threads of PyTorch that wait are not to keep cores busy: nobody looks at times
		return nil, err
	}
	for _, name := range []string{"python3", "/usr/bin/python3", "python"} {
		p, err := startPython(name, "", 1)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.stop()
		if p.NumPy != "" {
			return p, nil
		}
		errs = append(errs, fmt.Errorf("%s: %s", name, p))
	}
	return nil, errors.Join(errs...)
})

// pythonWithNumPy returns the path of an interpreter, and whether it has PyTorch as well.
func pythonWithNumPy(t *testing.T) (path string, pyTorch bool) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p, err := findPython()
	if err != nil {
		t.Skipf("NOT TESTED: the peers in Python, for there is no Python with NumPy:\n%v", err)
	}
	return p.command.Path, p.PyTorch != ""
}

// compiler returns the name of a C compiler that compiles once, which takes seconds, and then copies what came of it.
func compiler(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skipf("NOT TESTED: the loops in C, for there is no compiler: %v", err)
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "cc")
	text := fmt.Sprintf(`#!%s
kept='%s'
[ "$1" = --version ] && exec '%s' "$@"
[ -e "$kept" ] || '%[3]s' "$@" || exit
while [ "$1" != -o ]; do shift; done
[ -e "$kept" ] && cp "$kept" "$2" || cp "$2" "$kept"
`, shell, filepath.Join(dir, "kept"), cc)
	if err := os.WriteFile(script, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	return script
}

// smallContests are all contests in a small space.
func smallContests() []contest {
	all := make([]contest, len(contests))
	for i, k := range contests {
		all[i] = k
		all[i].shapes = nil
		for _, s := range k.shapes {
			tiny := small(s)
			if s.cache != "warm" {
				tiny.cache = "held" // some lists of ids
			}
			all[i].shapes = append(all[i].shapes, tiny)
		}
	}
	return all
}

func runSmallPeers(args ...string) (status int, out, errs string) {
	var stdout, stderr bytes.Buffer
	status = runPeers(append(args, "-rounds", "2", "-skipgram=false"), &stdout, &stderr, smallContests(), time.Microsecond)
	return status, stdout.String(), stderr.String()
}

func TestPeers(t *testing.T) {
	path, pyTorch := pythonWithNumPy(t)
	for _, workers := range []string{"1", "2"} {
		status, out, errs := runSmallPeers("-python", path, "-workers", workers, "-json")
		if status != 0 {
			t.Fatalf("exit status %d: %s", status, errs)
		}
		var c comparison
		in := json.NewDecoder(strings.NewReader(out))
		in.DisallowUnknownFields()
		if err := in.Decode(&c); err != nil {
			t.Fatal(err)
		}
		if c.Python.NumPy == "" || c.Python.PyTorch == "" && pyTorch || c.Rounds != 2 || fmt.Sprint(c.Workers) != workers {
			t.Errorf("%+v", c)
		}
		n := 0
		for _, k := range contests {
			for range k.shapes {
				r := c.Results[n]
				n++
				sides := map[string]bool{}
				for _, e := range r.Sides {
					library, _, _ := strings.Cut(e.Side, " ")
					sides[strings.Trim(library, ",")] = true
					if !(e.NS > 0) || !(e.Times > 0) || math.IsInf(e.NS, 0) || math.IsInf(e.Times, 0) {
						t.Errorf("%s/%s: %+v", r.Kernel, r.Shape, e)
					}
				}
				if r.Kernel != k.kernel.name || r.Sides[0].Side != ours || r.Sides[0].Times != 1 ||
					!sides["naive"] || !sides["NumPy"] || sides["torch"] != pyTorch {
					t.Errorf("%+v", r)
				}
			}
		}
		if n != len(c.Results) {
			t.Errorf("%d results, want %d", len(c.Results), n)
		}
	}
}

func TestPeersBrief(t *testing.T) {
	path, pyTorch := pythonWithNumPy(t)
	status, out, errs := runSmallPeers("-python", path, "-brief")
	if status != 0 {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	n := 0
	for line := range strings.Lines(out) {
		if n > 0 && strings.TrimSpace(line) == "" {
			break // what comes behind the table, where names of what is slower may look like figures
		}
		if !strings.HasPrefix(line, "  ") || strings.Contains(line, "vek, gonum") {
			continue
		}
		figures := strings.Fields(line[min(briefColumns, len(line)-1):])
		if len(figures) != 6 {
			t.Fatalf("%d figures in %q", len(figures), line)
		}
		n++
		for i, f := range figures {
			if f == "-" && i != 2 && (i != 4 || pyTorch) {
				t.Errorf("no figure in column %d of %q", i, line)
			}
		}
	}
	want := 0
	for _, k := range contests {
		want += len(k.shapes)
	}
	if n != want {
		t.Errorf("%d lines, want one for each of %d cases:\n%s", n, want, out)
	}
}

// TestPeersInC compares what comes out of loops in C, in all ways to prefetch, with what comes out of rowvec.
func TestPeersInC(t *testing.T) {
	path, _ := pythonWithNumPy(t)
	cc := compiler(t)
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	defer func() {
		if left, err := filepath.Glob(filepath.Join(temporary, "rowvec-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}()
	all := pythonThat(t, path, hide("torch"), "    def ways(self, job):", "    trials, trial, chosen, large = 1, 1, 99, 0\n\n    def ways(self, job):")
	status, out, errs := runSmallPeers("-cc", cc, "-python", all, "-json", "-match", "^(Gather|Embed|ScatterAdd|Bag.*|AddScaled)/")
	var c comparison
	if status != 0 || json.Unmarshal([]byte(out), &c) != nil || c.Python.C == "" {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	ways := map[string]int{}
	for _, r := range c.Results {
		n := 0
		for _, e := range r.Sides {
			if isOf(e, inC) {
				n++
			}
		}
		ways[r.Kernel] = max(ways[r.Kernel], n)
	}
	stores := 1
	if ways["Gather"] > 31 { // those past the caches, which not every processor has
		stores = 2
	}
	for kernel, want := range map[string]int{
		"Gather": 31 * stores, "Embed": 31 * stores, "ScatterAdd": 31, "BagSum": 31, "BagSumWeighted": 31, "AddScaled": 1, "BagMax": 0,
	} {
		if ways[kernel] != want {
			t.Errorf("%s in C in %d ways, want %d", kernel, ways[kernel], want)
		}
	}

	status, out, errs = runSmallPeers("-cc", cc, "-python", path, "-brief", "-match", "^(Gather/.*dim=768/ids=50|AddScaled/)")
	if head, _, _ := strings.Cut(out, "Gather,"); status != 0 || !strings.Contains(head, "\nC: ") || !strings.Contains(head, "PyTorch       C    copy\n") ||
		!strings.Contains(out, "the best loop in C") && !strings.Contains(out, "The best loop in C") {
		t.Errorf("exit status %d, %s, %s", status, out, errs)
	}
	for _, x := range []struct{ match, old, new, want string }{
		{"^ScatterAdd/", "self.kernels.index(job.kernel)", "0", ": C, "},
		{"^BagSum/", "numbers[0] if numbers else 0", "numbers[0] + 1 if numbers else 0", ": C, "},
		{"^Embed/", "scale=job.scale", "scale=1", ": C, "},
	} {
		status, _, errs := runSmallPeers("-cc", cc, "-match", x.match, "-python", pythonThat(t, path, hide("torch"), x.old, x.new))
		if status != 1 || !strings.Contains(errs, x.want) {
			t.Errorf("%s: exit status %d, %s", x.new, status, errs)
		}
	}
	for cc, want := range map[string]string{"compiler-of-nowhere": "compiler-of-nowhere", path: "-O3"} {
		if status, _, errs := runSmallPeers("-cc", cc, "-python", path); status != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit status %d, %s", cc, status, errs)
		}
	}
}

// TestLimit has loops in C that are a little quicker, much quicker and slower.
func TestLimit(t *testing.T) {
	against := func(times ...float64) string {
		var c comparison
		for _, x := range times {
			c.Results = append(c.Results, faceOff{Kernel: "Gather", Shape: "dim=16", Sides: []entry{{ours, 1, 1}, {"C, plain", 9, 9}, {"C, L2 4", x, x}}})
		}
		c.Results = append(c.Results, faceOff{Sides: []entry{{ours, 1, 1}, {"Cython", 0.1, 0.1}}})
		return c.beyondLimit()
	}
	for _, x := range []struct {
		times []float64
		want  string
	}{
		{nil, ""},
		{[]float64{0.9, 2}, "\nThe best loop in C is more than 15 percent quicker in none of 2 cases.\n"},
		{[]float64{0.86, 2}, "\nOf 2 cases, the best loop in C is more than 15 percent quicker in:\n  Gather dim=16: 0.860\n"},
	} {
		if got := against(x.times...); got != x.want {
			t.Errorf("%v: %q, want %q", x.times, got, x.want)
		}
	}
}

// TestPeersFullDisk: what could not be printed is an error, in whichever form.
func TestPeersFullDisk(t *testing.T) {
	path, _ := pythonWithNumPy(t)
	path = pythonThat(t, path, hide("torch"), "", "") // which would take seconds to load, four times
	for room, form := range []string{"-json", "-brief=false", "-brief", "-brief"} {
		var errs bytes.Buffer
		args := []string{"-python", path, "-rounds", "1", "-skipgram=false", "-match", "Gather/.*dim=768/ids=50", form}
		if status := runPeers(args, &full{room}, &errs, smallContests(), time.Microsecond); status != 1 || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%s, room for %d writes: exit status %d, %s", form, room, status, &errs)
		}
	}
}

func TestPeersTable(t *testing.T) {
	path, _ := pythonWithNumPy(t)
	status, out, errs := runSmallPeers("-python", path)
	if status != 0 {
		t.Fatalf("exit status %d: %s", status, errs)
	}
	for _, want := range []string{
		"Python 3", "NumPy take(out=)", "300 x 768", "5 x 8 ids", "uniform held", "n = 512", "comparisons",
		"rowvec, gradient held", "naive Go, no sums", "rowvec Bag.Forward",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 && !strings.HasPrefix(line, cpuName()) {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// pythonThat returns a Python that runs a preamble first, and then what it was to run with one piece of text replaced.
func pythonThat(t *testing.T, path, preamble, old, new string) string {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	lines := preamble + "\nimport sys\nexec(sys.argv[2].replace(" + quote(old) + ", " + quote(new) + "))\n"
	script, file := filepath.Join(dir, "python3"), filepath.Join(dir, "preamble.py")
	call := fmt.Sprintf("#!%s\nexec '%s' '%s' \"$@\"\n", shell, path, file)
	for name, text := range map[string]string{script: call, file: lines} {
		if err := os.WriteFile(name, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return script
}

// quote returns a string as Python spells it.
func quote(s string) string {
	text, err := json.Marshal(s)
	must(err)
	return string(text)
}

// hide returns Python without which a library cannot be imported any more.
func hide(library string) string { return "import sys; sys.modules['" + library + "'] = None\n" }

// TestPeersMissing hides libraries from a Python.
func TestPeersMissing(t *testing.T) {
	path, pyTorch := pythonWithNumPy(t)
	status, out, errs := runSmallPeers("-python", pythonThat(t, path, hide("torch"), "", ""))
	if status != 0 || !strings.Contains(errs, "has no torch: ") || !strings.Contains(out, "no PyTorch") ||
		!strings.Contains(out, "NumPy take") || strings.Contains(out, "torch") {
		t.Errorf("exit status %d, %s, %s", status, out, errs)
	}
	if pyTorch {
		status, out, errs := runSmallPeers("-python", pythonThat(t, path, hide("numpy"), "", ""))
		if status != 0 || !strings.Contains(errs, "has no numpy: ") || !strings.Contains(out, "no NumPy") ||
			strings.Contains(out, "NumPy take") || !strings.Contains(out, "torch index_select") {
			t.Errorf("exit status %d, %s, %s", status, out, errs)
		}
	}
	status, out, errs = runSmallPeers("-python", pythonThat(t, path, hide("torch")+hide("numpy"), "", ""))
	if status != 1 || out != "" || !strings.Contains(errs, "nothing to compare with: numpy: ") || !strings.Contains(errs, "torch: ") {
		t.Errorf("exit status %d, %s, %s", status, out, errs)
	}
}

func TestNoPython(t *testing.T) {
	for _, args := range [][]string{{"peers", "-python", "python-of-nowhere"}, {"-json", "-peers", "python-of-nowhere"}} {
		var out, errs bytes.Buffer
		if status := run(args, &out, &errs); status != 1 || out.Len() > 0 || !strings.Contains(errs.String(), "python-of-nowhere") {
			t.Errorf("%v: exit status %d, %q, %q", args, status, &out, &errs)
		}
	}
}

// TestNotPython starts what is neither a Python nor a C compiler, and has no place for the loops.
func TestNotPython(t *testing.T) {
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip(err)
	}
	fails := func(want string, args ...string) {
		t.Helper()
		if status, out, errs := runSmallPeers(args...); status != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%v: exit status %d, %q, %q; want %q", args, status, out, errs, want)
		}
	}
	fails("it has ended without an answer, as no Python does", "-python", program)
	fails(program+" has made no library (-cc names another compiler)", "-python", program, "-cc", program)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	fails("no room for loops in C", "-python", program, "-cc", program)
}

// TestPeersFail has Python do something else than it should.
func TestPeersFail(t *testing.T) {
	path, _ := pythonWithNumPy(t)
	const lookup, sgd, adagrad = "Gather/.*dim=768/ids=50", "TrainingSGD/.*uniform", "TrainingAdagrad/.*uniform"
	for _, x := range []struct{ match, old, new, want string }{
		{lookup, `take(ids, 0, out, "clip")`, `take(ids[::-1], 0, out, "clip")`, "element 0: NumPy take(out=) has"},
		{lookup, `return as_bytes(out)`, `return as_bytes(out)[4:]`, "NumPy take(out=) has 38399 elements, rowvec 38400"},
		{lookup, `return as_bytes(out)`, `return out.nonsense`, "AttributeError"},
		{lookup, `return as_bytes(out)`, `sys.exit("out of memory")`, "out of memory (exit status 1)"},
		{lookup, `FLOAT = 4  # bytes`, `FLOAT = 4 bytes`, "SyntaxError"},
		{sgd, `BETA2 = 0.1,`, `BETA2 = 0.2,`, "element 0: NumPy, row by row has"},
		{sgd, `take(ids, 0, rows, "clip")`, `take(ids[::-1], 0, rows, "clip")`, "element 38400: NumPy, row by row has"}, // behind the table's
		{sgd, `self.fill()  # the same`, `pass  # the same`, "element 0: NumPy, row by row has"},
		{adagrad, `BETA2 = 0.1, 0.01,`, `BETA2 = 0.1, 0.02,`, "element 0: NumPy, row by row has"},
		{adagrad, `grad * grad`, `2 * grad * grad`, "element 0: NumPy, row by row has"},
		{"TrainingAdam/.*uniform", `- BETA2 ** taken)`, `- BETA2 ** (taken + 1))`, "element 0: NumPy, row by row has"},
		{"TrainingAdam/.*uniform", "nonlocal taken\n        taken = 0", "pass", "element 0: NumPy, row by row has"},
		{"TrainingBagsSGD/.*uniform", `(i, row) for bag,`, `(i, 2 * row) for bag,`, "element 0: NumPy, row by row has"},
		{"TrainingBagsSGD/.*uniform", `np.add.reduce(v.chosen`, `np.maximum.reduce(v.chosen`, "NumPy, row by row has"},
		{"BagSum/", `np.add.reduce(by_bag`, `np.add.reduce(by_bag[:, :1]`, "NumPy take, reduce has"},
		{"BagMax/", `np.maximum.reduce(`, `np.minimum.reduce(`, "NumPy take, reduce has"},
		{"BagWeights/", `np.einsum("bsd,bd->bs", by_bag`, `np.einsum("bsd,bd->bs", by_bag[:, ::-1]`, "NumPy take, einsum has"},
	} {
		status, _, errs := runSmallPeers("-match", x.match, "-python", pythonThat(t, path, hide("torch"), x.old, x.new))
		if status != 1 || !strings.Contains(errs, x.want) {
			t.Errorf("%s: exit status %d, %s", x.new, status, errs)
		}
	}
}

// TestBlock has a side that is in one of two cases only, and in the middle.
func TestBlock(t *testing.T) {
	k := &contest{title: "Something"}
	s := shape{vocab: 10, dim: 2, ids: 3, cache: "cold"}
	out := block([]faceOff{
		{contest: k, shape: s, Unit: "id", Sides: []entry{{ours, 1, 1}, {"slow", 50, 50}, {copied, 2, 2}}},
		{contest: k, shape: s, Unit: "id", Sides: []entry{{ours, 3, 1}, {copied, 12, 4}}},
	})
	for _, want := range []string{
		"rowvec                            1.00   1.00       3.00   1.00\n",
		"slow                              50.0   50.0\n",
		"copy                              2.00   2.00       12.0   4.00\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
