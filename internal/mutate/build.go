package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// builder builds test binaries with mutants of assembly in them, as the go command does but for what is the same in all of
// them. The go command builds the tests once, without mutants, and says how. With mutants it then takes the assembler and
// the linker alone: the compiler does not see what is inside a function in assembly.
type builder struct {
	p         *project
	a         *assembly
	functions []string // in the order in which those that are reached are counted
	asm       []string // the assembler and its flags
	link      []string // the linker and its flags
	packages  string   // what the linker is told to link
	own       string   // the line of it that is about the package with the assembly
	compiled  []byte   // that package without its assembly
	unchanged sync.Map // objects with nothing changed, by file and functions
}

var (
	asmFlags = regexp.MustCompile(` (-[ID]) (\S+)`)
	linkTool = regexp.MustCompile(` (\S+/link)( .*)? -o \S+( .*)? -importcfg (\S+)( .*)`)
)

// newBuilder builds the tests of package name without mutants.
func (p *project) newBuilder(a *assembly, module, name string) (*builder, error) {
	b := &builder{p: p, a: a}
	files := map[string]string{}
	for _, s := range a.files {
		files[s.name] = a.dispatching(s, nil, len(b.functions))
		b.functions = append(b.functions, s.order...)
	}
	// The time has the package compiled again, which leaves go_asm.h.
	files["zz_mutate.go"] = hook(name, max(len(b.functions), 1)) + fmt.Sprintf("\n// %d\n", time.Now().UnixNano())
	files["zz_mutate_test.go"] = mainTest(name, []string{module})
	o, err := p.overlay(files)
	if err != nil {
		return nil, err
	}
	p.out(false, "building the tests")
	quiet := *p
	quiet.env = append(slices.Clone(p.env), "GOTMPDIR="+p.tmp) // where -work leaves what it says
	out, err := quiet.command(".", "go", "test", "-c", "-x", "-work", "-vet=off", "-ldflags=-w", "-overlay", o,
		"-o", filepath.Join(p.tmp, "unchanged.test"), ".")
	if err != nil {
		return nil, err
	}
	_, work, _ := strings.Cut(out, "WORK=")
	work = firstLine(work)
	imports := ""
	for line := range strings.Lines(strings.ReplaceAll(out, "$WORK", work)) {
		if path, _, is := strings.Cut(line, " -p "+module+" "); is && strings.HasSuffix(path, "/asm") &&
			!strings.Contains(line, " -gensymabis ") {
			b.asm = []string{path, "-p", module}
			for _, m := range asmFlags.FindAllStringSubmatch(line, -1) {
				b.asm = append(b.asm, m[1], m[2])
			}
		}
		if m := linkTool.FindStringSubmatch(" " + strings.TrimSpace(line)); m != nil {
			b.link, imports = append([]string{m[1]}, strings.Fields(m[2]+m[3]+m[5])...), m[4]
		}
	}
	if b.asm == nil || b.link == nil {
		return nil, fmt.Errorf("go test -x says nothing of an assembler or a linker: %s", out)
	}
	if b.packages, err = readFile(imports); err != nil {
		return nil, err
	}
	b.own = regexp.MustCompile(`(?m)^packagefile ` + regexp.QuoteMeta(module) + `=.*$`).FindString(b.packages)
	_, archive, _ := strings.Cut(b.own, "=")
	if b.compiled, err = os.ReadFile(archive); err != nil {
		return nil, err
	}
	b.compiled, err = firstMembers(b.compiled, 2) // what is exported, and what the compiler has made
	return b, err
}

// memberHead is as long as what stands in front of each member of an archive.
const memberHead = 60

// firstMembers returns an archive with its first n members.
func firstMembers(archive []byte, n int) ([]byte, error) {
	at := len("!<arch>\n")
	for range n {
		if len(archive) < at+memberHead {
			return nil, fmt.Errorf("the archive of the package has not %d members", n)
		}
		var size int
		if _, err := fmt.Sscan(string(archive[at+48:at+58]), &size); err != nil {
			return nil, err
		}
		at += memberHead + size + size%2
	}
	return archive[:min(at, len(archive))], nil
}

// withMember returns an archive with another member behind.
func withMember(archive []byte, name string, data []byte) []byte {
	archive = fmt.Appendf(archive, "%-16.16s%-12d%-6d%-6d%-8o%-10d`\n", name, 0, 0, 0, 0o644, len(data))
	archive = append(archive, data...)
	if len(data)%2 != 0 {
		archive = append(archive, 0)
	}
	return archive
}

// assemble assembles a source in a directory of its own, which it makes, with the headers that are there in front of those
// of the project. What the assembler refuses is no error.
func (b *builder) assemble(dir, name, text string, headers map[string]string) (object []byte, failure string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(dir)
	for name, text := range headers {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		return nil, "", err
	}
	args := append(slices.Clone(b.asm[1:]), "-trimpath", dir+"=>", "-I", b.p.root, "-o", "object", name)
	cmd := exec.Command(b.asm[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), b.p.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		_, failure, _ := strings.Cut(firstLine(string(out)), name+":")
		return nil, failure, nil
	}
	object, err = os.ReadFile(filepath.Join(dir, "object"))
	return object, "", err
}

// variants returns the objects with mutant m, as the variants of number n, or says why it is equivalent or not built.
func (b *builder) variants(dir string, m *mutant, n int) ([][]byte, error) {
	var objects [][]byte
	same := true
	for _, s := range b.a.files {
		if !slices.ContainsFunc(s.order, func(f string) bool { return slices.Contains(m.functions, f) }) {
			continue
		}
		object, failure, err := b.assemble(dir, s.name, b.a.variant(s, m, n), b.a.changedHeaders(s, m))
		if err != nil {
			return nil, err
		}
		if object == nil {
			m.Status, m.Reason = notBuilt, failure
			return nil, nil
		}
		objects = append(objects, object)

		name := s.name + strings.Join(m.functions, " ")
		unchanged, known := b.unchanged.Load(name)
		if !known {
			object, failure, err := b.assemble(dir, s.name, b.a.variant(s, &mutant{functions: m.functions}, 0), nil)
			if err != nil || object == nil {
				return nil, fmt.Errorf("%s, unchanged: %s %w", s.name, failure, err)
			}
			unchanged = object
			b.unchanged.Store(name, unchanged)
		}
		same = same && bytes.Equal(bytes.ReplaceAll(object, []byte(suffix(n)), []byte(suffix(0))), unchanged.([]byte))
	}
	if same {
		m.Status, m.Reason = equivalent, sameCode
	}
	return objects, nil
}

// build builds the tests with those mutants of a batch that can be assembled to something else, of which the first has
// number 1, and says of the others what they are.
func (b *builder) build(batch []*mutant, jobs int) (*binary, error) {
	dir, err := os.MkdirTemp(b.p.tmp, "batch")
	if err != nil {
		return nil, err
	}
	objects := make([][][]byte, len(batch))
	errs := make([]error, len(batch))
	var wg sync.WaitGroup
	turns := make(chan bool, jobs)
	for i, m := range batch {
		wg.Go(func() {
			turns <- true
			objects[i], errs[i] = b.variants(filepath.Join(dir, fmt.Sprint(i)), m, i+1)
			<-turns
		})
	}
	wg.Wait()
	archive := slices.Clone(b.compiled) // the linker takes what is called .o
	first := 0
	for i, s := range b.a.files {
		object, failure, err := b.assemble(filepath.Join(dir, "x"), s.name, b.a.dispatching(s, batch, first), nil)
		if err != nil || object == nil {
			return nil, fmt.Errorf("%s: %s %w", s.name, failure, err)
		}
		archive = withMember(archive, fmt.Sprintf("file%d.o", i), object)
		first += len(s.order)
	}
	for i, m := range batch {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for j, object := range objects[i] {
			if m.Status == "" {
				archive = withMember(archive, fmt.Sprintf("mutant%d_%d.o", i+1, j), object)
			}
		}
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("package.a"), archive, 0o600); err != nil {
		return nil, err
	}
	before, _, _ := strings.Cut(b.own, "=")
	packages := strings.Replace(b.packages, b.own, before+"="+path("package.a"), 1)
	if err := os.WriteFile(path("packages"), []byte(packages), 0o600); err != nil {
		return nil, err
	}
	_, err = b.p.command(".", b.link[0], append([]string{"-o", path("mutants.test"), "-importcfg", path("packages")}, b.link[1:]...)...)
	return &binary{path: path("mutants.test"), dir: b.p.root}, err
}
