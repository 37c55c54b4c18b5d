package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"testing"
)

// idle are exported names that the workload of internal/golden has no use for.
var idle = map[string]bool{
	"rowvec.ISA": true, // differs from level to level
}

// TestGoldenIsComplete looks for exported functions, methods, types, fields, constants and variables that the workload of
// internal/golden does not mention: what is new in the packages belongs into it. Types of errors do not, since nothing in
// it fails.
func TestGoldenIsComplete(t *testing.T) {
	fset := token.NewFileSet()
	packages, err := compiled(fset, root, "-test", "./internal/golden")
	if err != nil {
		t.Fatal(err)
	}
	used := uses(t, fset, packages)
	asked := 0
	for _, path := range []string{Module, Module + "/lookup", Module + "/positional"} {
		p, err := packages.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Scope().Names() {
			object := p.Scope().Lookup(name)
			if !object.Exported() || idle[p.Name()+"."+name] || isError(object) {
				continue
			}
			asked++
			mentioned := used[object]
			for _, part := range parts(object) {
				asked++
				if used[part] || throughInterface(part, object, used) {
					mentioned = true
				} else {
					t.Errorf("the workload does not mention %s.%s.%s", p.Name(), name, part.Name())
				}
			}
			if !mentioned {
				t.Errorf("the workload does not mention %s.%s", p.Name(), name)
			}
		}
	}
	if asked < 250 {
		t.Errorf("only %d names were looked for", asked)
	}
}

// uses returns all objects that the files of the workload mention.
func uses(t *testing.T, fset *token.FileSet, packages types.Importer) map[types.Object]bool {
	names, err := filepath.Glob(root + "/internal/golden/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	if _, err := (&types.Config{Importer: packages}).Check("golden_test", fset, files, &info); err != nil {
		t.Fatal(err)
	}
	used := map[types.Object]bool{}
	for _, object := range info.Uses {
		used[object] = true
	}
	return used
}

// parts returns the exported methods and fields of a type.
func parts(object types.Object) (all []types.Object) {
	name, ok := object.(*types.TypeName)
	if !ok {
		return nil
	}
	named, ok := types.Unalias(name.Type()).(*types.Named)
	if !ok {
		return nil
	}
	for m := range named.Methods() {
		all = append(all, m)
	}
	if s, ok := named.Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			all = append(all, f)
		}
	}
	n := 0
	for _, part := range all {
		if part.Exported() {
			all[n] = part
			n++
		}
	}
	return all[:n]
}

// throughInterface reports whether a method of a type is called as one of an interface that the type implements.
func throughInterface(method, object types.Object, used map[types.Object]bool) bool {
	if !used[object] {
		return false
	}
	for u := range used {
		f, ok := u.(*types.Func)
		if !ok || f.Name() != method.Name() || f.Signature().Recv() == nil {
			continue
		}
		if i, ok := f.Signature().Recv().Type().Underlying().(*types.Interface); ok &&
			(types.Implements(object.Type(), i) || types.Implements(types.NewPointer(object.Type()), i)) {
			return true
		}
	}
	return false
}

// isError reports whether object is a type of errors.
func isError(object types.Object) bool {
	_, isType := object.(*types.TypeName)
	i := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return isType && (types.Implements(object.Type(), i) || types.Implements(types.NewPointer(object.Type()), i))
}
