// Package api lists what the packages of this module export, one line each, as the compiler sees it: with type parameters,
// fields in their order, method sets that embedding adds to, and the values of constants. Names of parameters are left out,
// since no program depends on them.
package api

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Module is the path of the module.
const Module = "github.com/rowvec/rowvec"

// Packages are the packages that others import, by directory, in the order in which they are listed.
var Packages = []string{".", "kernels", "lookup", "positional"}

// Name is something exported.
type Name struct {
	Package string // its name, such as "lookup"
	Name    string // "Embedding", or "Embedding.Forward" of a method or a field
	Func    bool   // a function or method that is declared in this package and for this type
	Line    string // what there is to know, or "" of what stands in the line of its type
}

// Load returns what the packages of the module at root export. It asks the go command, which has them compiled.
func Load(root string) ([]Name, error) {
	var paths []string
	for _, dir := range Packages {
		paths = append(paths, strings.TrimSuffix(Module+"/"+dir, "/."))
	}
	from, err := compiled(token.NewFileSet(), root, paths...)
	if err != nil {
		return nil, err
	}
	var names []Name
	for _, path := range paths {
		p, err := from.Import(path)
		if err != nil {
			return nil, err
		}
		for _, name := range p.Scope().Names() { // sorted
			if o := p.Scope().Lookup(name); o.Exported() {
				names = append(names, list(o)...)
			}
		}
	}
	return names, nil
}

// compiled imports packages by what the compiler has written down of them: those that args of go list name, and those that
// they depend on.
func compiled(fset *token.FileSet, root string, args ...string) (types.Importer, error) {
	args = append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, args...)
	list := exec.Command("go", args...)
	list.Dir = root
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
	return importer.ForCompiler(fset, "gc", open), nil
}

// list returns a line for an object of a package, and what belongs to a type: fields, which have no lines, and methods.
func list(o types.Object) []Name {
	w := writer{o.Pkg()}
	n := Name{Package: o.Pkg().Name(), Name: o.Name()}
	var more []Name
	switch o := o.(type) {
	case *types.Const:
		n.Line = fmt.Sprintf("const %s %s = %s", n.Name, w.name(o.Type()), o.Val().ExactString())
	case *types.Var:
		n.Line = fmt.Sprintf("var %s %s", n.Name, w.name(o.Type()))
	case *types.Func:
		n.Func = true
		n.Line = "func " + n.Name + w.parameters(o.Signature().TypeParams()) + w.signature(o.Signature())
	case *types.TypeName:
		n.Line = "type " + n.Name + w.declaration(o)
		more = w.members(n, o.Type())
	}
	all := append([]Name{n}, more...)
	for i := range all {
		if all[i].Line != "" {
			all[i].Line = "package " + n.Package + ": " + all[i].Line
		}
	}
	return all
}

// writer writes what a package declares in its own terms.
type writer struct{ own *types.Package }

func (w writer) name(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == w.own {
			return ""
		}
		return p.Name()
	})
}

// parameters writes the parameters of a generic function or type.
func (w writer) parameters(list *types.TypeParamList) string {
	var all []string
	for p := range list.TypeParams() {
		all = append(all, p.Obj().Name()+" "+w.name(p.Constraint()))
	}
	if all == nil {
		return ""
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// signature writes parameters and results without their names.
func (w writer) signature(s *types.Signature) string {
	nameless := func(list *types.Tuple) *types.Tuple {
		var all []*types.Var
		for v := range list.Variables() {
			all = append(all, types.NewParam(token.NoPos, nil, "", v.Type()))
		}
		return types.NewTuple(all...)
	}
	s = types.NewSignatureType(nil, nil, nil, nameless(s.Params()), nameless(s.Results()), s.Variadic())
	return strings.TrimPrefix(w.name(s), "func")
}

// declaration writes what a type is. Of the fields and methods that are not exported it says only that there are some:
// without any, others can write a struct without the names of fields, convert it, and implement an interface.
func (w writer) declaration(o *types.TypeName) string {
	if o.IsAlias() {
		return " = " + w.name(types.Unalias(o.Type()))
	}
	var s string
	var hidden bool
	switch t := o.Type().Underlying().(type) {
	case *types.Struct:
		var fields []string
		for f := range t.Fields() {
			switch {
			case !f.Exported():
				hidden = true
			case f.Embedded():
				fields = append(fields, w.name(f.Type()))
			default:
				fields = append(fields, f.Name()+" "+w.name(f.Type()))
			}
		}
		s = braces("struct", fields, hidden)
	case *types.Interface:
		if !t.IsMethodSet() {
			s = w.name(t)
			break
		}
		var methods []string
		for m := range t.Methods() {
			if hidden = hidden || !m.Exported(); m.Exported() {
				methods = append(methods, m.Name()+w.signature(m.Signature()))
			}
		}
		s = braces("interface", methods, hidden)
	default:
		s = w.name(t)
	}
	if !types.Comparable(o.Type()) {
		s += " // not comparable"
	}
	if named, ok := o.Type().(*types.Named); ok {
		return w.parameters(named.TypeParams()) + " " + s
	}
	return " " + s
}

func braces(kind string, members []string, hidden bool) string {
	if hidden {
		members = append(members, "...")
	}
	if members == nil {
		return kind + "{}"
	}
	return kind + "{ " + strings.Join(members, "; ") + " }"
}

// members returns the fields of a type, the methods that an interface asks for, and the methods that others have, also those
// that it has from what is embedded in it.
func (w writer) members(of Name, t types.Type) []Name {
	var all []Name
	add := func(name, line string, own bool) {
		all = append(all, Name{Package: of.Package, Name: of.Name + "." + name, Func: own, Line: line})
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			if f.Exported() {
				add(f.Name(), "", false)
			}
		}
	}
	if i, ok := t.Underlying().(*types.Interface); ok {
		for m := range i.Methods() {
			if m.Exported() {
				add(m.Name(), "", false)
			}
		}
		return all
	}
	values := types.NewMethodSet(t)
	for m := range types.NewMethodSet(types.NewPointer(t)).Methods() { // sorted
		if !m.Obj().Exported() {
			continue
		}
		receiver := of.Name
		if values.Lookup(w.own, m.Obj().Name()) == nil {
			receiver = "*" + receiver
		}
		line := fmt.Sprintf("func (%s) %s%s", receiver, m.Obj().Name(), w.signature(m.Obj().(*types.Func).Signature()))
		add(m.Obj().Name(), line, len(m.Index()) == 1 && m.Obj().Pkg() == w.own)
	}
	return all
}
