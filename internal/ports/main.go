// Command ports type-checks all packages of the module, with their tests, for every port of Go, or for those that are named:
//
//	go run ./internal/ports
//	go run ./internal/ports windows/amd64 plan9/arm
//
// It is what go vet does for a port before it looks at anything, in about a second of processor time instead of half a
// minute, since it compiles nothing: of other packages it reads the declarations alone. It finds a file that lacks a build
// constraint and a constant that overflows an int of 32 bits. What it does not do is to assemble, to link and to vet.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

func main() {
	ports := os.Args[1:]
	if len(ports) == 0 {
		out, err := exec.Command("go", "tool", "dist", "list").Output()
		if err != nil {
			fmt.Fprintln(os.Stderr, "go tool dist list:", err)
			os.Exit(2)
		}
		ports = strings.Fields(string(out))
	}
	counts, problems := make([]int, len(ports)), make([]error, len(ports))
	next := make(chan int)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range next {
				counts[i], problems[i] = check(ports[i])
			}
		})
	}
	for i := range ports {
		next <- i
	}
	close(next)
	wait.Wait()
	bad := 0
	for i, port := range ports {
		if problems[i] != nil {
			bad++
			fmt.Printf("%s\n%v\n", port, problems[i])
		} else {
			fmt.Printf("%-16s %d packages\n", port, counts[i])
		}
	}
	fmt.Printf("%d of %d ports\n", len(ports)-bad, len(ports))
	if bad > 0 {
		os.Exit(1)
	}
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

// check returns the number of packages and variants of packages of the module that a port has, and what is wrong with them.
func check(port string) (int, error) {
	system, arch, ok := strings.Cut(port, "/")
	if !ok {
		return 0, fmt.Errorf("want a port as linux/amd64, not %q", port)
	}
	// The go command lists android and ios only with cgo, which no package here uses.
	cgo := "0"
	if system == "android" || system == "ios" {
		cgo = "1"
	}
	cmd := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED="+cgo, "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var problems []error
	done, count := packages{"unsafe": types.Unsafe}, 0
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return 0, err
		}
		if l.ImportPath == "unsafe" || strings.HasSuffix(l.ImportPath, ".test") { // a program that go test writes
			continue
		}
		own := l.Module != nil && l.Module.Main
		var files []*ast.File
		for _, name := range l.GoFiles {
			if !filepath.IsAbs(name) {
				name = filepath.Join(l.Dir, name)
			}
			f, err := parsed(name)
			if err != nil {
				return 0, err
			}
			files = append(files, f)
		}
		config := types.Config{
			Importer:         imports{done, l.ImportMap},
			IgnoreFuncBodies: !own,
			FakeImportC:      true,
			Sizes:            types.SizesFor("gc", arch),
			Error: func(err error) {
				if own {
					problems = append(problems, err)
				}
			},
		}
		path, _, _ := strings.Cut(l.ImportPath, " ") // of a variant for tests
		done[l.ImportPath], _ = config.Check(path, fset, files, nil)
		if own {
			count++
		}
	}
	return count, errors.Join(problems...)
}

// parsed returns what a file holds. Ports share most files: all 47 take 0.75 of the time if each file is read once. Several are checked by
// one at once, and so nobody may write to it; go/types does not.
func parsed(name string) (*ast.File, error) {
	once, _ := sources.LoadOrStore(name, sync.OnceValues(func() (*ast.File, error) {
		return parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
	}))
	return once.(func() (*ast.File, error))()
}

var (
	fset    = token.NewFileSet()
	sources sync.Map // by path
)

// packages are those that have been checked, by the names that go list has for them.
type packages map[string]*types.Package

// imports finds what a package imports.
type imports struct {
	packages
	names map[string]string // of imports that stand for others
}

func (i imports) Import(path string) (*types.Package, error) {
	if name, ok := i.names[path]; ok {
		path = name
	}
	if p := i.packages[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not among what go list lists", path)
}
