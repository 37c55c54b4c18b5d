package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rowvec/rowvec/internal/isatest"
	"github.com/rowvec/rowvec/lookup"
)

// asBench in the environment has the test binary be the command: it is what tests send signals to.
const asBench = "ROWVEC_TEST_AS_BENCH"

func TestMain(m *testing.M) {
	if os.Getenv(asBench) != "" {
		main()
	}
	os.Exit(m.Run())
}

// fable writes a text in which colours, numbers and metals each have a company of their own.
func fable(t *testing.T, sentences int) (path string) {
	t.Helper()
	d := dice{seed: 3, stream: 100}
	pick := func(words ...string) string { return words[d.below(len(words))] }
	var b strings.Builder
	for range sentences {
		switch d.below(3) {
		case 0:
			fmt.Fprintf(&b, "The %s of a %s %s is bright,\n", pick("petal", "leaf"),
				pick("red", "yellow", "green", "blue", "violet"), pick("flower", "tulip"))
		case 1:
			fmt.Fprintf(&b, "%s birds %s near %s o'clock;\n", pick("two", "three", "four", "five", "six"), pick("sing", "sleep"),
				pick("two", "three", "four", "five", "six"))
		case 2:
			fmt.Fprintf(&b, "smiths %s %s with a hammer.\n", pick("beat", "bend"), pick("gold", "silver", "copper", "iron", "lead"))
		}
	}
	path = filepath.Join(t.TempDir(), "fable.txt")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// succeed runs a command that must, and returns what it prints.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(args, &out, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("%v: exit status %d, %s", args, status, &errs)
	}
	return out.String()
}

// fail runs a command that must have an exit status and say what is wrong, and nothing else.
func fail(t *testing.T, status int, want string, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(args, &out, &errs); got != status || out.Len() > 0 || !strings.Contains(errs.String(), want) {
		t.Errorf("%v: exit status %d, want %d; %q; no %q in %q", args, got, status, &out, want, &errs)
	}
}

func decode(t *testing.T, text string, x any) {
	t.Helper()
	in := json.NewDecoder(strings.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(x); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func TestTrain(t *testing.T) {
	text, file := fable(t, 2000), filepath.Join(t.TempDir(), "v.safetensors")
	var r trainReport
	decode(t, succeed(t, "train", "-dim", "16", text, "-o", file, "-json", "-workers", "2", "-passes", "80", "-window", "3"), &r)
	if !r.Complete || r.Done != 80 || r.Passes != 80 || r.Dim != 16 || r.Window != 3 || r.Units != wholeWords ||
		r.Text != "fable.txt" || r.File != file || r.Workers != 2 || r.Steps == 0 || !(r.Seconds > 0) || r.Pairs < r.Centres {
		t.Errorf("%+v", r)
	}
	if !(r.HeldLoss > 0 && r.HeldLoss < r.Unigram-0.03) || r.HeldPairs == 0 {
		t.Errorf("loss %v, of the unigram baseline %v, in %d pairs", r.HeldLoss, r.Unigram, r.HeldPairs)
	}
	if p := r.Precision; p == nil || len(p.Groups) != 3 || p.All.Words != 15 || p.All.Trained < 0.75 || p.Times < 5 {
		t.Errorf("precision %+v", p)
	}

	var all []neighbours
	decode(t, succeed(t, "similar", "-json", "-from", file, "-n", "4", "Green", "five"), &all)
	if len(all) != 2 || all[0].Token != "green" || len(all[0].Tokens) != 4 || len(all[0].Cosines) != 4 {
		t.Fatalf("%+v", all)
	}
	for i, want := range [][]string{{"blue", "red", "violet", "yellow"}, {"four", "six", "three", "two"}} {
		isOther := func(word string) bool { return !slices.Contains(want, word) }
		if got := slices.DeleteFunc(slices.Clone(all[i].Tokens), isOther); len(got) < 3 {
			t.Errorf("nearest to %s are %v", all[i].Token, all[i].Tokens)
		}
		if c := all[i].Cosines; !slices.IsSortedFunc(c, func(a, b float64) int { return int(math.Copysign(1, b-a)) }) || c[0] > 1 {
			t.Errorf("cosines %v", c)
		}
	}
	table := succeed(t, "similar", "red", "-from", file)
	if lines := strings.Count(table, "\n"); lines != 11 || !strings.HasPrefix(table, "red\n  ") {
		t.Errorf("%d lines in\n%s", lines, table)
	}
	table = succeed(t, "similar", "-analogy", "-from", file, "-n", "1000", "red", "blue", "gold")
	if !strings.HasPrefix(table, "red is to blue as gold is to\n  ") || strings.Contains(table, "-Inf") {
		t.Error(table)
	}

	decode(t, succeed(t, "train", "-tokens", text, "-o", file, "-force", "-json", "-passes", "2"), &r)
	isRed := func(n neighbours) bool { return n.Token == " red" }
	if r.Units != gpt2Tokens || r.Dim != skipDim || !slices.ContainsFunc(r.Nearest, isRed) {
		t.Errorf("%+v", r)
	}
	for query, want := range map[string]string{"red": `" red"`, `" red"`: `" red"`, `","`: `","`, "GOLD": `" gold"`} {
		if table := succeed(t, "similar", "-from", file, query); !strings.HasPrefix(table, want+"\n") {
			t.Errorf("similar %s begins with %.20q", query, table)
		}
	}
}

// TestTrainTable looks at what is printed, and that there is nothing else in the directory afterwards.
func TestTrainTable(t *testing.T) {
	text := fable(t, 1500)
	t.Chdir(t.TempDir())
	out := succeed(t, "train", text, "-passes", "1", "-dim", "8", "-seed", "9")
	for _, want := range []string{"fable.txt: ", "dim 8, window 5, 1 pass, seed 9", "Nearest by cosine", "colours",
		"times what random", "Saved in vectors.safetensors. More of them: go run ./bench similar red\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(line); n > 91 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if files, _ := filepath.Glob("*"); !slices.Equal(files, []string{defaultVectors}) {
		t.Errorf("files %v", files)
	}
	if files, _ := filepath.Glob(".*"); len(files) > 0 {
		t.Errorf("hidden files %v", files)
	}
	fail(t, 1, "vectors.safetensors is there already: -force replaces it, -resume goes on from it, -o names another",
		"train", text)

	// A text that is too short to hold some of it out, without any word of a group.
	if err := os.WriteFile("short.txt", []byte(strings.Repeat("alpha beta gamma delta ", 50)), 0o666); err != nil {
		t.Fatal(err)
	}
	out = succeed(t, "train", "short.txt", "-o", "short")
	if strings.Contains(out, "held out") || strings.Contains(out, "group") || !strings.Contains(out, "Saved in short.") {
		t.Error(out)
	}
}

// TestTrainSameBits trains at every level and with several numbers of workers, and holds the files against each other.
func TestTrainSameBits(t *testing.T) {
	text, dir := fable(t, 1000), t.TempDir()
	var want []byte
	isatest.Each(t, func(t *testing.T) {
		for _, workers := range []string{"1", "2", "7"} {
			file := filepath.Join(dir, "v")
			succeed(t, "train", "-passes", "3", "-dim", "20", "-window", "7", "-workers", workers, "-force", "-o", file, text)
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s workers: the file is another", workers)
			}
		}
	})
	x, err := loadTrained(filepath.Join(dir, "v"))
	if err != nil {
		t.Fatal(err)
	}
	hash := crc32.NewIEEE()
	for _, p := range x.tensors {
		if err := binary.Write(hash, binary.LittleEndian, p.Value.Data); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := hash.Sum32(), uint32(0x47e46bdf); got != want { // every machine's
		t.Errorf("checksum %#08x, want %#08x", got, want)
	}
}

// TestResume interrupts a training at several places. What goes on from there must end with the same file.
func TestResume(t *testing.T) {
	text, dir := fable(t, 3000), t.TempDir()
	whole, part := filepath.Join(dir, "whole"), filepath.Join(dir, "part")
	args := []string{"train", "-passes", "3", "-dim", "12", text, "-o"}
	succeed(t, append(args, whole)...)
	want, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, steps := range []int{1, 9, 22} {
		s := &trainSettings{file: text, out: part, workers: 2, force: true, json: true}
		s.origin = origin{Units: wholeWords, Least: 5, Dim: 12, Window: window, Seed: 1, Passes: 3}
		s.limit = steps
		r, err := train(s, io.Discard, io.Discard)
		if err != nil || r.Complete || r.Steps != steps || !(r.Done > 0 && r.Done < 3) {
			t.Fatalf("%+v, error %v", r, err)
		}
		if text, err := json.Marshal(r); err != nil || bytes.Contains(text, []byte("_loss")) {
			t.Errorf("error %v, or a loss that nobody has worked out: %s", err, text)
		}
		if got, err := os.ReadFile(part); err != nil || bytes.Equal(got, want) {
			t.Fatalf("error %v, or nothing has been left to do", err)
		}
		if r.Done >= 1 {
			had := fmt.Sprintf("has had %.1f passes", r.Done)
			fail(t, 1, had, append(slices.Clone(args), part, "-resume", "-passes", "1")...)
		}
		succeed(t, append(args, part, "-resume")...)
		if got, err := os.ReadFile(part); err != nil || !bytes.Equal(got, want) {
			t.Errorf("interrupted after %d steps, and the file is another; error %v", steps, err)
		}
	}

	for _, x := range []struct {
		want string
		args []string
	}{
		{"has had 3.0 passes: -passes has to be greater", nil},
		{"has had 3.0 passes", []string{"-passes", "1"}},
		{"comes of a training with -dim 12 and not 13", []string{"-dim", "13"}},
		{"with -window 5 and not 6", []string{"-window", "6"}},
		{"with -seed 1 and not 2", []string{"-seed", "2"}},
		{"with -min 5 and not 4", []string{"-min", "4"}},
		{"with -tokens false and not true", []string{"-tokens"}},
	} {
		fail(t, 1, x.want, append(append(slices.Clone(args), part, "-resume"), x.args...)...)
	}
	other := fable(t, 2000)
	fail(t, 1, "comes of another text, fable.txt", "train", "-dim", "12", other, "-o", part, "-resume")
	fail(t, 1, "nothing to resume", "train", other, "-o", filepath.Join(dir, "none"), "-resume")
	if got, err := os.ReadFile(part); err != nil || !bytes.Equal(got, want) {
		t.Error("a file that does not fit has been changed")
	}
	var r trainReport
	decode(t, succeed(t, "train", "-dim", "12", text, "-json", "-passes", "4", "-resume", "-o", part), &r)
	if r.Done != 4 || !r.Complete || r.Steps < r.Centres/(batchSize*passageSize) {
		t.Errorf("%+v", r)
	}
}

// TestInterrupt sends SIGINT to the program.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: Ctrl-C, for Windows has no signals to send")
	}
	text, dir := fable(t, 3000), t.TempDir()
	file := filepath.Join(dir, "v")
	start := func(args ...string) (cmd *exec.Cmd, out io.Reader, errs *bytes.Buffer) {
		args = append([]string{"train", text, "-o", file, "-passes", "1000000", "-force"}, args...)
		cmd, errs = exec.Command(os.Args[0], args...), new(bytes.Buffer)
		cmd.Env = append(os.Environ(), asBench+"=1")
		cmd.Stderr = errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Skipf("NOT TESTED: Ctrl-C, for the test can't start itself, as under an emulator: %v", err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		if _, err := io.ReadFull(out, make([]byte, 10)); err != nil { // of the heading: the training begins
			t.Fatal(err)
		}
		return cmd, out, errs
	}
	var exit *exec.ExitError
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		os.Remove(file)
		cmd, out, errs := start()
		time.Sleep(300 * time.Millisecond)
		if files, _ := os.ReadDir(dir); len(files) > 0 {
			t.Errorf("there are files already: %v", files)
		}
		cmd.Process.Signal(signal)
		printed, _ := io.ReadAll(out)
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
			t.Errorf("%v: %v", signal, err)
		}
		if !strings.Contains(errs.String(), "what has been learnt until then is in "+file) ||
			!strings.Contains(string(printed), "Nearest by cosine") {
			t.Errorf("%v: %s%s", signal, errs, printed)
		}
		x, err := loadTrained(file)
		if err != nil || x.origin.Complete || x.origin.Steps == 0 {
			t.Errorf("%v: error %v, or no training that was interrupted", signal, err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("files %v", files)
	}

	// A second one while the file is being written does not leave half of it behind.
	for range 3 {
		cmd, _, _ := start("-dim", "4096")
		cmd.Process.Signal(os.Interrupt)
		for begin := time.Now(); time.Since(begin) < time.Second; {
			if files, _ := filepath.Glob(file + ".*.tmp"); len(files) > 0 {
				break
			}
		}
		cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
			t.Errorf("%v", err)
		}
		if x, err := loadTrained(file); err != nil || x.origin.Dim != 4096 {
			t.Errorf("error %v, or the vectors are older ones", err)
		}
		if files, _ := os.ReadDir(dir); len(files) != 1 {
			t.Errorf("files %v", files)
		}
	}
}

// TestTrainNewton is what the training is meant to come to, with a list of words that is older than it.
func TestTrainNewton(t *testing.T) {
	newton(t)
	for _, u := range []string{"-tokens=false", "-tokens"} {
		var r trainReport
		decode(t, succeed(t, "train", u, "-json", "-o", filepath.Join(t.TempDir(), "v")), &r)
		p := r.Precision
		if p.Times < 5 || p.All.Trained < 5*p.All.Before || p.All.Before > 3*p.All.Chance ||
			p.All.Words < 80 || p.Candidates < 900 {
			t.Errorf("%s: precision %+v", u, p)
		}
		if !(r.HeldLoss < r.Unigram-0.15) { // nats; the same on every machine, since all bits are
			t.Errorf("%s: loss %v, of the unigram baseline %v", u, r.HeldLoss, r.Unigram)
		}
		t.Logf("%s: %.1f s, loss %.3f of %.3f, precision %.3f, by chance %.4f", u, r.Seconds, r.HeldLoss, r.Unigram,
			p.All.Trained, p.All.Chance)
	}
}

func TestShellWord(t *testing.T) {
	for path, want := range map[string]string{
		"vectors.safetensors": "vectors.safetensors", "/tmp/é_1-2": "/tmp/é_1-2", "my file": "'my file'", "a'b": `'a'\''b'`, "$x": "'$x'",
		"a;b": "'a;b'",
	} {
		if got := shellWord(path); got != want {
			t.Errorf("%s is quoted as %s, want %s", path, got, want)
		}
	}
}

func TestTrainMisuse(t *testing.T) {
	dir := t.TempDir()
	text := fable(t, 100)
	empty := filepath.Join(dir, "empty.txt")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "v")
	for _, x := range []struct {
		status int
		want   string
		args   []string
	}{
		{0, "-resume", []string{"-h"}},
		{0, "seed", []string{text, "-h"}},
		{2, `unknown argument "b": train takes one text`, []string{"a", "b"}},
		{2, "-fast", []string{"-fast"}},
		{2, "at least 1", []string{"-passes", "0"}},
		{2, "at least 1", []string{text, "-workers", "0"}},
		{2, "from 1 to 1,024", []string{"-workers", "1025"}},
		{2, "at least 1", []string{"-min", "0"}},
		{2, "-dim must be between 1 and 4096", []string{"-dim", "0"}},
		{2, "-window between 1 and 10", []string{"-window", "11"}},
		{2, "only one of them", []string{"-force", "-resume"}},
		{1, "no text to train on", []string{filepath.Join(dir, "missing.txt")}},
		{1, "nothing in it occurs at least 5 times", []string{empty}},
		{1, "nothing in it occurs at least 1000 times", []string{text, "-min", "1000"}},
		{1, "-o names none", []string{text, "-o", ""}},
		{1, "is no file that could be replaced", []string{text, "-o", dir}},
		{1, "could not be saved", []string{text, "-o", filepath.Join(dir, "none", "v")}},
	} {
		fail(t, x.status, x.want, append([]string{"train", "-o", out}, x.args...)...)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("there is a file of vectors")
	}
}

func TestSimilarMisuse(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "v")
	succeed(t, "train", "-passes", "1", "-dim", "4", "-o", file, fable(t, 1000))
	for _, x := range []struct {
		status int
		want   string
		args   []string
	}{
		{0, "-analogy", []string{"-h"}},
		{2, "similar to which word?", nil},
		{2, "-n must be at least 1", []string{"-n", "0", "red"}},
		{2, "-analogy takes three words and not 2", []string{"-analogy", "red", "blue"}},
		{1, `has no "rde"; do you mean red?`, []string{"rde"}},
		{1, `has no "voilets"; do you mean violet?`, []string{"red", "voilets"}},
		{1, `has no "xyzzy"; it has words such as `, []string{"xyzzy"}},
		{1, `has no "-n"`, []string{"--", "-n"}},
		{1, `has no ""`, []string{""}},
	} {
		fail(t, x.status, x.want, append([]string{"similar", "-from", file}, x.args...)...)
	}

	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(good)
	damaged[len(damaged)-9] ^= 1
	bad := filepath.Join(dir, "bad")
	for _, x := range []struct {
		want string
		data []byte
	}{
		{"damaged", damaged}, {"bad: ", good[:len(good)-1]}, {"bad: ", good[:100]}, {"bad: ", nil}, {"bad: ", []byte("no vectors")},
	} {
		if err := os.WriteFile(bad, x.data, 0o666); err != nil {
			t.Fatal(err)
		}
		fail(t, 1, x.want, "similar", "-from", bad, "red")
		fail(t, 1, x.want, "train", "-resume", "-o", bad, fable(t, 1000), "-dim", "4")
	}
	vectors, wild := lookup.Parameter{Name: vectorsName, Value: newMatrix(2, 3)}, lookup.Parameter{Name: vectorsName, Value: newMatrix(2, 3)}
	wild.Value.Row(1)[2] = float32(math.NaN())
	for _, x := range []struct {
		want     string
		tensors  []lookup.Parameter
		metadata map[string]string
	}{
		{"no list of names", []lookup.Parameter{vectors}, nil},
		{"no list of names", []lookup.Parameter{vectors}, map[string]string{namesKey: "{}"}},
		{"1 names for a table of shape [2, 3]", []lookup.Parameter{vectors}, map[string]string{namesKey: `["a"]`}},
		{"0 names for a table of shape [0, 3]", []lookup.Parameter{{Name: vectorsName, Value: newMatrix(0, 3)}},
			map[string]string{namesKey: "[]"}},
		{"origin", []lookup.Parameter{vectors}, map[string]string{namesKey: `["a","b"]`, originKey: "?"}},
		{`no tensor "vectors"`, []lookup.Parameter{{Name: "weight", Value: newMatrix(2, 3)}}, nil},
		{`bad: the vector of "b" is not finite`, []lookup.Parameter{wild}, map[string]string{namesKey: `["a","b"]`}},
	} {
		if err := lookup.Save(bad, x.tensors, x.metadata); err != nil {
			t.Fatal(err)
		}
		fail(t, 1, x.want, "similar", "-from", bad, "a")
	}
	fail(t, 1, "missing: no such file or directory; go run ./bench train makes vectors.safetensors",
		"similar", "-from", filepath.Join(dir, "missing"), "red")

	// Names and vectors are enough.
	vectors.Value.Data[0] = 1
	if err := lookup.Save(bad, []lookup.Parameter{vectors}, map[string]string{namesKey: `["a","b"]`}); err != nil {
		t.Fatal(err)
	}
	if got, want := succeed(t, "similar", "-from", bad, "a"), "a\n  b                    0.000\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// A name that no train has written is found in any case, and nothing in it gets to a terminal.
	if err := lookup.Save(bad, []lookup.Parameter{vectors}, map[string]string{namesKey: `["Red","\u001b[31m"]`}); err != nil {
		t.Fatal(err)
	}
	if got, want := succeed(t, "similar", "-from", bad, "rED"), "Red\n  \"\\x1b[31m\"           0.000\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDistance(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"red", "red", 0}, {"red", "rde", 1}, {"red", "reed", 1}, {"red", "rd", 1}, {"red", "rod", 1},
		{"kitten", "sitting", 3}, {"", "abc", 3}, {"abcd", "badc", 2}, {"été", "ete", 2},
	} {
		for _, pair := range [][2]string{{x.a, x.b}, {x.b, x.a}} {
			if got := edits([]rune(pair[0]), []rune(pair[1]), 10); got != x.want {
				t.Errorf("edits of %q and %q: %d, want %d", pair[0], pair[1], got, x.want)
			}
		}
	}
	if got := edits([]rune("abc"), []rune("abcdef"), 2); got != 3 {
		t.Errorf("%d, above the limit of 2", got)
	}
}

func TestLexicon(t *testing.T) {
	got := slices.Collect(words("The _Red_, red; l'eau 'quoted' Newton’s 3rd ' café e\u0301te\u0301 ΣΑΣ"))
	want := []string{"the", "red", "red", "l'eau", "quoted", "newton's", "rd", "café", "e\u0301te\u0301", "σασ"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	x, err := newLexicon("b a b c a b", wholeWords)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x.names, []string{"b", "a", "c"}) || !slices.Equal(x.ids, []uint{0, 1, 0, 2, 1, 0}) {
		t.Errorf("%+v", x)
	}
	sum := x.checksum()
	if x.without(2); !slices.Equal(x.ids, []uint{0, 1, 0, 1, 0}) || x.checksum() == sum {
		t.Errorf("%+v", x)
	}
	x, err = newLexicon("A red red Red \U0001F308", gpt2Tokens)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x.names[:3], []string{"A", " red", " Red"}) || x.ids[1] != x.ids[2] {
		t.Errorf("%+v", x)
	}
	for _, name := range x.names {
		if !utf8.ValidString(name) {
			t.Errorf("%q", name)
		}
	}
	for name, want := range map[string]string{" Red": "red", "red": "", " ": "", " 3rd": "", " é": "é"} {
		if word, ok := gpt2Tokens.asWord(name); ok != (want != "") || ok && word != want {
			t.Errorf("token %q is word %q, %v", name, word, ok)
		}
	}
}

// TestPrecision judges vectors that are made by hand.
func TestPrecision(t *testing.T) {
	x := &trained{names: []string{" red", " blue", " Red", " two", " three", " table", " seldom", "er"}}
	x.origin.Units = gpt2Tokens
	c := &corpus{counts: []int{30, 30, 30, 30, 30, 30, judgeFrom - 1, 30}}
	angles := []float64{0, 0.1, 0.05, 2, 2.1, 2.05, 0, 0}
	vectors := newMatrix(len(angles), 2)
	for i, a := range angles {
		vectors.Row(i)[0], vectors.Row(i)[1] = float32(math.Cos(a)), float32(math.Sin(a))
	}
	// red, of which there are two, has 4 other words; of those only blue is of its group. blue has 5, two and three have 5.
	p, err := x.judge(c, vectors, vectors, 1)
	if err != nil {
		t.Fatal(err)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
	if p.Candidates != 6 || len(p.Groups) != 2 || p.All.Words != 5 {
		t.Fatalf("%+v", p)
	}
	g := p.Groups[0]
	colours := (1./4 + 1./4 + 2./5) / 3
	if g.Group != "colours" || g.Words != 3 || !near(g.Trained, colours) || !near(g.Chance, colours) || g.Before != g.Trained {
		t.Errorf("%+v", g)
	}
	g = p.Groups[1]
	if g.Group != "numbers" || g.Words != 2 || !near(g.Trained, 1./5) || !near(g.Chance, 1./5) {
		t.Errorf("%+v", g)
	}
	if !near(p.All.Trained, (1./4+1./4+2./5+1./5+1./5)/5) || !near(p.Times, 1) {
		t.Errorf("%+v", p)
	}
	if p, err := x.judge(&corpus{counts: []int{30, 1, 30, 30, 1, 30, 1, 1}}, vectors, vectors, 1); p != nil || err != nil {
		t.Errorf("%+v, error %v", p, err)
	}
	seen := make(map[string]bool)
	for _, g := range groups {
		for _, word := range g.words {
			if seen[word] {
				t.Errorf("%s is in two groups", word)
			}
			seen[word] = true
		}
	}
}

// TestNoiseOfManyTokens has more tokens than the table of noise has places.
func TestNoiseOfManyTokens(t *testing.T) {
	ids := make([]uint, 40000)
	for i := range ids {
		ids[i] = uint(i)
	}
	if c := newCorpus(ids); len(c.noise) != 4*len(c.ids) || c.noise[len(c.noise)-1] != int32(len(c.ids)-1) {
		t.Errorf("%d places for %d tokens", len(c.noise), len(c.ids))
	}
}
