package api

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is that of the repository, as seen from this package, golden the list as it is meant to be.
const (
	root   = "../.."
	golden = "api.txt"
)

var update = flag.Bool("update", false, "write "+golden+" anew")

// TestMain runs the tests where there is a workspace, which is once in a run of the whole: what is exported does not depend
// on the machine, as TestPorts shows.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("GOWORK") == "off" {
		fmt.Println("skipped: GOWORK=off")
		return
	}
	os.Exit(m.Run())
}

// TestAPI fails on every change of what is exported, so that each is meant.
func TestAPI(t *testing.T) {
	names, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, n := range names {
		if n.Line != "" {
			lines = append(lines, n.Line)
		}
	}
	if len(lines) < 100 {
		t.Fatalf("only %d lines", len(lines))
	}
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if s := difference(strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), lines); s != "" {
		t.Error(s)
	}
}

// difference says what has come and gone, and what that means to those who use it, or "".
func difference(before, now []string) string {
	if slices.Equal(before, now) {
		return ""
	}
	only := func(lines, others []string) (only []string) {
		for _, l := range lines {
			if !slices.Contains(others, l) {
				only = append(only, l)
			}
		}
		return only
	}
	gone, come := only(before, now), only(now, before)
	var s strings.Builder
	s.WriteString("what is exported is not what internal/api/" + golden + " says.\n")
	if gone != nil {
		s.WriteString("Gone or changed. Programs that use it no longer compile or mean something else: from 1.0.0 on that takes a " +
			"new major version,\nbefore it a new minor one, and stands under Changed or Removed in CHANGELOG.md.\n")
		s.WriteString("\t- " + strings.Join(gone, "\n\t- ") + "\n")
	}
	if come != nil {
		s.WriteString("Come. It has to stay once it is released, takes a new minor version, and stands in CHANGELOG.md.\n")
		s.WriteString("\t+ " + strings.Join(come, "\n\t+ ") + "\n")
	}
	if gone == nil && come == nil {
		s.WriteString("The same lines in another order, or twice.\n")
	}
	s.WriteString("If all that is meant: go test ./internal/api -update")
	return s.String()
}

func TestDifference(t *testing.T) {
	before := []string{"func A()", "func B()", "func C()"}
	if s := difference(before, slices.Clone(before)); s != "" {
		t.Errorf("equal: %s", s)
	}
	s := difference(before, []string{"func A()", "func B(int)", "func C()", "func D()"})
	for _, want := range []string{"major version", "\t- func B()\n", "\t+ func B(int)\n\t+ func D()\n", "-update"} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
	if s := difference(before[:2], before); strings.Contains(s, "Gone") || !strings.Contains(s, "\t+ func C()\n") {
		t.Errorf("one came: %s", s)
	}
	if s := difference(before, []string{"func B()", "func A()", "func C()"}); !strings.Contains(s, "another order") {
		t.Errorf("order: %s", s)
	}
}

// TestPorts wants all that is exported in files that every port and build tag compiles, so that one list holds for all.
func TestPorts(t *testing.T) {
	out, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]bool{}
	for _, port := range strings.Fields(string(out)) {
		goos, goarch, _ := strings.Cut(port, "/")
		ports[goos], ports[goarch] = true, true
	}
	constraint := regexp.MustCompile(`(?m)^//go:build `)
	restricted := 0
	for _, dir := range Packages {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			base := strings.TrimSuffix(filepath.Base(file), ".go")
			suffix := base[strings.LastIndex(base, "_")+1:]
			if suffix == "test" || !constraint.Match(text) && !(suffix != base && ports[suffix]) {
				continue
			}
			restricted++
			f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				for _, name := range declared(d) {
					if name.IsExported() {
						t.Errorf("%s exports %s, but is not for every port", file, name)
					}
				}
			}
		}
	}
	if restricted < 5 {
		t.Errorf("only %d files with constraints", restricted)
	}
}

// declared returns the names that a declaration declares.
func declared(d ast.Decl) (names []*ast.Ident) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		names = append(names, d.Name)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return names
}
