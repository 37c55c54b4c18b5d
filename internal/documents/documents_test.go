package documents

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/rowvec/rowvec/internal/api"
)

// root is that of the repository, as seen from this package.
const root = "../.."

// TestMain leaves the documents alone where there is no workspace: they speak of bench, which is a module of its own.
func TestMain(m *testing.M) {
	if os.Getenv("GOWORK") == "off" {
		fmt.Println("skipped: GOWORK=off")
		return
	}
	os.Exit(m.Run())
}

// fenced is a fenced block of a document.
type fenced struct {
	file     string
	line     int // of the fence
	language string
	given    string
	text     string
}

func (b fenced) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// document is a Markdown file without its fenced blocks, which are apart.
type document struct {
	file   string
	prose  string
	blocks []fenced
}

var (
	fence   = regexp.MustCompile("^( *)```(.*)$")
	given   = regexp.MustCompile(`^<!-- given: (.*) -->$`)
	inline  = regexp.MustCompile("`([^`\n]+)`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	comment = regexp.MustCompile(`(?s)<!--.*?-->`)
)

func parseDocument(file, text string) (document, error) {
	d := document{file: file}
	var b *fenced
	var indent, before string
	var prose strings.Builder
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		m := fence.FindStringSubmatch(line)
		switch {
		case b == nil && m != nil:
			b = &fenced{file: file, line: number, language: m[2]}
			indent = m[1]
			if g := given.FindStringSubmatch(strings.TrimSpace(before)); g != nil {
				b.given = g[1]
			}
		case b == nil:
			prose.WriteString(line + "\n")
			if strings.TrimSpace(line) != "" {
				before = line
			}
		case m != nil && m[1] == indent && m[2] == "":
			d.blocks = append(d.blocks, *b)
			b, before = nil, ""
		default:
			b.text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	if b != nil {
		return d, fmt.Errorf("%v: the block has no end", b)
	}
	d.prose = comment.ReplaceAllString(prose.String(), "")
	return d, nil
}

// documents reads all Markdown files of the repository.
func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && path != root && (e.Name()[0] == '.' || e.Name() == "testdata") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		d, err := parseDocument(filepath.ToSlash(rel), string(text))
		all = append(all, d)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 3 {
		t.Fatalf("only %d documents", len(all))
	}
	return all
}

// goPackages are those of the modules that code in documents may name.
var goPackages = map[string]string{
	"rowvec": ".", "kernels": "kernels", "lookup": "lookup", "positional": "positional",
}

// imports returns import declarations for what text names as pkg.Name.
func imports(text string) string {
	paths := map[string]string{"fmt": "fmt", "log": "log", "os": "os", "errors": "errors", "math": "math", "testing": "testing"}
	for name, dir := range goPackages {
		paths[name] = strings.TrimSuffix("github.com/rowvec/rowvec/"+dir, "/.")
	}
	var s strings.Builder
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		if regexp.MustCompile(`(^|[^\w.])` + name + `\.\w`).MatchString(text) {
			fmt.Fprintf(&s, "import %q\n", paths[name])
		}
	}
	return s.String()
}

// tool runs go in the root of the repository.
func tool(args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Dir = root
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestGoOfDocuments(t *testing.T) {
	dir := t.TempDir()
	build := []string{"vet"}
	names := map[string]fenced{}
	for _, d := range documents(t) {
		for i, b := range d.blocks {
			if formatted, err := format.Source([]byte(b.text)); b.language == "go" && (err != nil || string(formatted) != b.text) {
				t.Errorf("%v: gofmt has it as\n%s%v", b, formatted, err)
			}
			switch {
			case b.language != "go":
			case strings.HasPrefix(b.text, "package "):
				t.Run(b.String(), func(t *testing.T) {
					file := filepath.Join(t.TempDir(), "main.go")
					if err := os.WriteFile(file, []byte(b.text), 0o666); err != nil {
						t.Fatal(err)
					}
					out, err := tool("run", file)
					if err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
					if i+1 < len(d.blocks) && d.blocks[i+1].language == "output" && out != d.blocks[i+1].text {
						t.Errorf("prints\n%s\nand not\n%s", out, d.blocks[i+1].text)
					}
				})
			default:
				name := fmt.Sprintf("fragment%d.go", len(names))
				names[name] = b
				text := fmt.Sprintf("package main\n\n%s\nfunc fragment%d(%s) {\n%s}\n",
					imports(b.given+"\n"+b.text), len(names), b.given, b.text)
				file := filepath.Join(dir, name)
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
				build = append(build, file)
			}
		}
	}
	if len(names) == 0 {
		t.Fatal("no fragments")
	}
	main := filepath.Join(dir, "main.go")
	if err := os.WriteFile(main, []byte("package main\n\nfunc main() {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := tool(append(build, main)...); err != nil {
		for name, b := range names {
			out = strings.ReplaceAll(out, name, fmt.Sprintf("%s (%v)", name, b))
		}
		t.Errorf("%v\n%s", err, out)
	}
}

// commandsOf splits a shell script into simple commands: their words, without redirections, comments and what shells
// themselves understand. It knows what the documents have, and no more.
func commandsOf(script string) [][]string {
	script = strings.ReplaceAll(script, "\\\n", " ")
	var all [][]string
	var words []string
	var word strings.Builder
	inWord := false
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	stop := func() {
		end()
		for len(words) > 0 && slices.Contains([]string{"do", "then", "else"}, words[0]) {
			words = words[1:]
		}
		if len(words) > 0 && !slices.Contains([]string{"for", "done", "if", "fi", "break"}, words[0]) {
			all = append(all, words)
		}
		words = nil
	}
	var quote rune
	for i, r := range script {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == '#' && !inWord:
			quote = '\n' // a comment ends like a quotation
			end()
		case r == '\n', r == ';', r == '|', r == '&':
			stop()
		case r == '(' && i > 0 && script[i-1] == '$':
			word.Reset()
			stop()
		case r == ')':
			stop()
		case unicode.IsSpace(r):
			end()
		default:
			word.WriteRune(r)
			inWord = true
		}
		if quote == 0 && r == '\n' {
			stop()
		}
	}
	stop()
	return all
}

// surroundings is what commands can name.
type surroundings struct {
	flags    map[string]bool     // of go test
	ports    map[string]bool     // GOOS and GOARCH
	tests    map[string][]string // names of tests, benchmarks and fuzz targets by directory
	settings map[string]bool     // ROWVEC_... in the sources
	usages   map[string]string   // of bench, "", and its commands
}

// found is what look has found before.
var found *surroundings

func look(t *testing.T) surroundings {
	t.Helper()
	if found != nil {
		return *found
	}
	s := surroundings{flags: map[string]bool{}, ports: map[string]bool{}, tests: map[string][]string{},
		settings: map[string]bool{}, usages: map[string]string{}}
	for _, topic := range []string{"testflag", "build", "test"} {
		out, err := tool("help", topic)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^\t-(\w+)`).FindAllStringSubmatch(out, -1) {
			s.flags[m[1]] = true
		}
	}
	out, err := tool("tool", "dist", "list")
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range strings.Fields(out) {
		goos, goarch, _ := strings.Cut(port, "/")
		s.ports[goos], s.ports[goarch] = true, true
	}
	bench := filepath.Join(t.TempDir(), "bench")
	if out, err := tool("build", "-o", bench, "./bench"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	usage := func(args ...string) string {
		out, err := exec.Command(bench, append(args, "-h")...).CombinedOutput()
		if err != nil {
			t.Errorf("bench %v -h: %v", args, err)
		}
		return string(out)
	}
	s.usages[""] = usage()
	for _, m := range regexp.MustCompile(`(?m)^  go run ./bench ([a-z]\w*)`).FindAllStringSubmatch(s.usages[""], -1) {
		s.usages[m[1]] = usage(m[1])
	}
	test := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`)
	setting := regexp.MustCompile(`ROWVEC_[A-Z]\w*`)
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if filepath.Base(path) != "documents_test.go" {
			for _, m := range setting.FindAllString(string(text), -1) {
				s.settings[m] = true
			}
		}
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range test.FindAllStringSubmatch(string(text), -1) {
				dir := filepath.Dir(path)
				s.tests[dir] = append(s.tests[dir], m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found = &s
	return s
}

// programs that documents name beside go: what they need is said there.
var programs = []string{"benchstat", "cp", "git", "grep", "mv", "python3", "tee", "apt-get"}

// check returns what is wrong with a command.
func (s surroundings) check(words []string) error {
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok || strings.ContainsAny(name, "./-$") {
			break
		}
		switch {
		case strings.HasPrefix(name, "ROWVEC_") && !s.settings[name]:
			return fmt.Errorf("nothing reads %s", name)
		case (name == "GOARCH" || name == "GOOS") && !s.ports[value]:
			return fmt.Errorf("no port %s", value)
		case name == "QEMU" && !strings.HasPrefix(value, "qemu-"):
			return fmt.Errorf("%s is no qemu", value)
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	switch {
	case words[0] == "go" && len(words) > 1:
		return s.checkGo(words[1], words[2:])
	case strings.Contains(words[0], "/"):
		return exists(words[0])
	case !slices.Contains(programs, words[0]):
		return fmt.Errorf("unknown program %q", words[0])
	}
	return nil
}

// exists checks a path of the repository, which documents write from its root.
func exists(path string) error {
	path = strings.TrimPrefix(path, "$PWD/")
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(path)))
	return err
}

func (s surroundings) checkGo(verb string, args []string) error {
	switch verb {
	case "run":
		if len(args) == 0 {
			return fmt.Errorf("go run of nothing")
		}
		if args[0] == "./bench" {
			return s.checkBench(args[1:])
		}
		if strings.Contains(args[0], "@") {
			return nil // a tool of others, with its version
		}
		return exists(args[0])
	case "test":
		return s.checkTest(args)
	case "vet", "build", "doc":
		for _, a := range args {
			if strings.HasPrefix(a, "./") {
				if err := exists(strings.TrimSuffix(a, "...")); err != nil {
					return err
				}
			}
		}
	case "get", "install", "env", "list", "tool", "version":
	default:
		return fmt.Errorf("unknown command go %s", verb)
	}
	return nil
}

// checkTest checks the arguments of go test: its flags, that packages are there, and that each pattern matches something
// in them.
func (s surroundings) checkTest(args []string) error {
	valued := []string{"run", "bench", "fuzz", "list", "skip", "count", "fuzztime", "fuzzminimizetime", "timeout", "exec",
		"tags", "cpu", "parallel", "benchtime", "o", "cpuprofile", "ldflags", "p"}
	patterns := map[string]string{}
	var dirs []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "." || strings.HasPrefix(a, "./") {
			all := strings.HasSuffix(a, "...")
			dir := filepath.Join(root, strings.TrimSuffix(a, "..."))
			if _, err := os.Stat(dir); err != nil {
				return err
			}
			for d := range s.tests {
				if d == dir || all && strings.HasPrefix(d+"/", filepath.Clean(dir)+"/") {
					dirs = append(dirs, d)
				}
			}
			continue
		}
		name, value, ok := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if !strings.HasPrefix(a, "-") {
			return fmt.Errorf("what is %q?", a)
		}
		if !s.flags[name] {
			return fmt.Errorf("go test has no flag -%s", name)
		}
		if !ok && slices.Contains(valued, name) {
			if i++; i == len(args) {
				return fmt.Errorf("-%s has no value", name)
			}
			value = args[i]
		}
		switch name {
		case "run", "bench", "fuzz", "list":
			patterns[name] = value
		case "exec":
			if f := strings.Fields(value); strings.Contains(f[0], "/") {
				if err := exists(f[0]); err != nil {
					return err
				}
			} else if !strings.HasPrefix(f[0], "qemu-") {
				return fmt.Errorf("unknown program %q", f[0])
			}
		}
	}
	if dirs == nil {
		dirs = []string{root}
	}
	for name, p := range patterns {
		p, _, _ = strings.Cut(p, "/") // what is behind it are subtests
		if p == "^$" || strings.Contains(p, "$target") {
			continue
		}
		re, err := regexp.Compile(p)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(dirs, func(d string) bool { return slices.ContainsFunc(s.tests[d], re.MatchString) }) {
			return fmt.Errorf("-%s %s matches nothing", name, p)
		}
	}
	return nil
}

// checkBench checks the arguments of bench against what -h prints.
func (s surroundings) checkBench(args []string) error {
	name := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	} else if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-peers") }) {
		name = "peers"
	}
	usage, ok := s.usages[name]
	if !ok {
		return fmt.Errorf("bench has no command %q", name)
	}
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			continue
		}
		flag, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if flag != "h" && flag != "peers" && !regexp.MustCompile(`(?m)^  -`+regexp.QuoteMeta(flag)+`\b`).MatchString(usage) {
			return fmt.Errorf("bench %s has no flag -%s", name, flag)
		}
	}
	return nil
}

func TestCommandsOfDocuments(t *testing.T) {
	s := look(t)
	n := 0
	check := func(where fmt.Stringer, script string) {
		for _, words := range commandsOf(script) {
			n++
			if err := s.check(words); err != nil {
				t.Errorf("%v: %v: %v", where, strings.Join(words, " "), err)
			}
		}
	}
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			switch b.language {
			case "sh":
				check(b, b.text)
			case "go", "text", "output":
			default:
				t.Errorf("%v: a block of language %q", b, b.language)
			}
		}
		for _, m := range inline.FindAllStringSubmatch(d.prose, -1) {
			if words := strings.Fields(m[1]); len(words) > 2 && words[0] == "go" || strings.HasPrefix(m[1], "ROWVEC_") {
				if !strings.Contains(m[1], "=") && words[0] != "go" {
					m[1] += "="
				}
				check(fenced{file: d.file}, strings.ReplaceAll(m[1], "|", "_or_"))
			}
		}
	}
	// The comment of the program, which go doc prints.
	main := filepath.Join(root, "bench", "main.go")
	f, err := parser.ParseFile(token.NewFileSet(), main, nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(f.Doc.Text()) {
		if command, _, _ := strings.Cut(strings.TrimSpace(line), "  "); strings.HasPrefix(command, "go ") {
			check(fenced{file: "bench/main.go"}, command)
		}
	}
	if n < 20 {
		t.Errorf("only %d commands", n)
	}
}

// TestCommandsThatAreWrong shows that the check above sees what it is for.
func TestCommandsThatAreWrong(t *testing.T) {
	s := look(t)
	for script, want := range map[string]string{
		"go run ./bench kernel":                          `no command "kernel"`,
		"go run ./bench kernels -macth Gather":           "no flag -macth",
		"go run ./bench -peers python3 -fast":            "no flag -fast",
		"go run ./benhc":                                 "no such file",
		"go test ./lokup":                                "no such file",
		"go test -bench Gahter ./bench":                  "matches nothing",
		"go test -bentch . ./bench":                      "no flag -bentch",
		"go test ./fuzz -run '^$' -fuzz '^FuzzEmbde$'":   "matches nothing",
		"go test -run":                                   "no value",
		"go test lookup":                                 "what is",
		"ROWVEC_IAS=avx2 go test .":                      "nothing reads ROWVEC_IAS",
		"CGO_ENABLED=0 GOARCH=arm46 go test .":           "no port",
		"GOARCH=arm64 go test -exec fuzz/qemu.sh ./fuzz": "no such file",
		"rustup update":                                  "unknown program",
		"for x in $(go tset .); do\n\tgo version\ndone":  "unknown command go tset",
	} {
		var errs []string
		for _, words := range commandsOf(script) {
			if err := s.check(words); err != nil {
				errs = append(errs, err.Error())
			}
		}
		if len(errs) != 1 || !strings.Contains(errs[0], want) {
			t.Errorf("%s: %q, want %q", script, errs, want)
		}
	}
}

// source is what the source of a package says beyond what it exports: its examples, and the first sentence about it.
type source struct {
	examples map[string]*doc.Example
	synopsis string
}

func parsePackage(t *testing.T, dir string) source {
	t.Helper()
	x := source{examples: map[string]*doc.Example{}}
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var tests []*ast.File
	for _, file := range files {
		f, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			tests = append(tests, f)
		} else if f.Doc != nil {
			x.synopsis = new(doc.Package).Synopsis(f.Doc.Text())
		}
	}
	for _, e := range doc.Examples(tests...) {
		x.examples[e.Name] = e
	}
	return x
}

// exported returns what the packages export.
func exported(t *testing.T) []api.Name {
	t.Helper()
	names, err := api.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestExamples wants a runnable example of every exported function and method.
func TestExamples(t *testing.T) {
	sources := map[string]source{}
	for name, dir := range goPackages {
		sources[name] = parsePackage(t, dir)
	}
	for _, n := range exported(t) {
		if need := strings.ReplaceAll(n.Name, ".", "_"); n.Func && sources[n.Package].examples[need] == nil {
			t.Errorf("package %s: no Example%s", n.Package, need)
		}
	}
	for name, x := range sources {
		for n, e := range x.examples {
			if e.Output == "" && !e.EmptyOutput {
				t.Errorf("package %s: Example%s has no output, so that it is never run", name, n)
			}
		}
	}
}

// TestSynopses wants the documentation of each package to begin with one sentence, not too long, that says what it is.
func TestSynopses(t *testing.T) {
	for dir, want := range map[string]string{
		".": "Package rowvec ", "kernels": "Package kernels ", "lookup": "Package lookup ", "positional": "Package positional ",
		"fuzz": "Package fuzz ", "bench": "Command bench ",
	} {
		s := parsePackage(t, dir).synopsis
		if !strings.HasPrefix(s, want) || !strings.HasSuffix(s, ".") || len(s) > 150 {
			t.Errorf("%s begins with %q", dir, s)
		}
	}
}

// TestNamesAndLinks looks up pkg.Name, and ExampleName, of inline code, and the files that links lead to.
func TestNamesAndLinks(t *testing.T) {
	names := map[string]bool{}
	for _, n := range exported(t) {
		names[n.Package+"."+n.Name] = true
	}
	examples := map[string]bool{}
	for _, dir := range goPackages {
		for n := range parsePackage(t, dir).examples {
			examples[n] = true
		}
	}
	name := regexp.MustCompile(`\b(rowvec|kernels|lookup|positional)\.([A-Z]\w*(?:\.[A-Z]\w*)?)`)
	example := regexp.MustCompile(`^Example_?\w+$`)
	for _, d := range documents(t) {
		for _, m := range inline.FindAllStringSubmatch(d.prose, -1) {
			for _, n := range name.FindAllStringSubmatch(m[1], -1) {
				if !names[n[0]] {
					t.Errorf("%s: `%s`: package %s has no %s", d.file, m[1], n[1], n[2])
				}
			}
			if example.MatchString(m[1]) && !examples[strings.TrimPrefix(m[1], "Example")] {
				t.Errorf("%s: no %s", d.file, m[1])
			}
		}
		for _, m := range link.FindAllStringSubmatch(d.prose, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := filepath.Join(root, filepath.Dir(d.file), target)
			if target == "" {
				file = filepath.Join(root, d.file)
			}
			text, err := os.ReadFile(file)
			if info, e := os.Stat(file); e == nil && info.IsDir() {
				err = nil
			}
			if err != nil {
				t.Errorf("%s: link to %s: %v", d.file, m[1], err)
			} else if anchor != "" && filepath.Ext(file) == ".md" && !slices.Contains(anchors(string(text)), anchor) {
				t.Errorf("%s: link to %s: no such heading", d.file, m[1])
			}
		}
	}
}

// anchors returns the headings of a document as GitHub spells them in links.
func anchors(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if h := strings.TrimLeft(line, "#"); h != line && strings.HasPrefix(h, " ") {
			a := strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
					return unicode.ToLower(r)
				}
				return -1
			}, strings.TrimSpace(h))
			all = append(all, a)
		}
	}
	return all
}

// TestDependenciesAreListed wants each module that go.mod of the root or of bench requires in a table with its licence, and
// no other.
func TestDependenciesAreListed(t *testing.T) {
	find := func(file, pattern string) (all []string) {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			all = append(all, m[1])
		}
		return all
	}
	const document = "docs/TRUST.md"
	required := map[string]bool{}
	for _, module := range append(find("go.mod", `(?m)^\t(\S+) v`), find("bench/go.mod", `(?m)^\t(\S+) v`)...) {
		required[module] = module != api.Module
	}
	for _, module := range find(document, "(?m)^\\| `([^` ]+\\.[^` ]+/[^` ]+)` \\| [^|]") {
		if !required[module] {
			t.Errorf("%s lists %s, which no go.mod requires, or twice", document, module)
		}
		required[module] = false
	}
	for module, missing := range required {
		if missing {
			t.Errorf("%s does not list %s and its licence", document, module)
		}
	}
}

// TestEverythingIsListed wants each fuzz target in the table of fuzz/README.md, and each command in that of
// bench/README.md and in the comment of its package.
func TestEverythingIsListed(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	listed := func(file, name string) {
		if !regexp.MustCompile(`(?m)^\|.*` + regexp.QuoteMeta(name) + `\b`).MatchString(read(file)) {
			t.Errorf("%s does not list %s", file, name)
		}
	}
	s := look(t)
	for _, names := range s.tests {
		for _, name := range names {
			if strings.HasPrefix(name, "Fuzz") {
				listed("fuzz/README.md", name)
			}
		}
	}
	for name := range s.usages {
		if name == "" {
			continue
		}
		listed("bench/README.md", "`go run ./bench "+name)
		if !strings.Contains(read("bench/main.go"), "//	go run ./bench "+name) {
			t.Errorf("the comment of bench/main.go does not list %s", name)
		}
	}
}
