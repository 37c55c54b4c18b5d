package asmcheck

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ladders are the levels of an architecture from the lowest up, by their names in package isa. A name's suffix is one of
// those above the first.
var ladders = map[string][]string{"amd64": {"Portable", "AVX2", "AVX512"}, "arm64": {"Portable", "NEON"}}

// levels is a set of levels of a ladder, a bit each.
type levels uint

// dispatch follows the Go code of a package from what others can call down to the assembly. Since the active level stays
// the same meanwhile, a condition on isa.Active() holds for all that follows from it. But for those of a method's own
// receiver, methods of the same name are taken for one another, which can only make it see more levels than there are.
type dispatch struct {
	ladder   []string
	funcs    map[string][]*node // a method under its name with a point in front
	todo     []*node
	depth    int // of functions that split looks into
	problems []string
}

// node is a function of the package.
type node struct {
	*ast.FuncDecl
	receiver, of string // names of a method's receiver and of its type, if it is not generic
	reached      levels
	imports      map[string]bool       // of its file
	locals       map[string][]ast.Expr // what is assigned to names of its own, with nil for what is not understood
}

// Dispatch returns what is wrong with the way from the Go files in the root of dir to the assembly of an architecture:
// functions that are not reached at the level that their name ends in, or are at a lower one, and uses of vek without any.
func Dispatch(dir fs.FS, arch string) ([]string, error) {
	ladder := ladders[arch]
	d := dispatch{ladder: ladder, funcs: make(map[string][]*node)}
	all := levels(1)<<len(ladder) - 1
	context := build.Context{GOOS: "linux", GOARCH: arch, Compiler: "gc", ReleaseTags: build.Default.ReleaseTags,
		OpenFile: func(name string) (io.ReadCloser, error) { return dir.Open(path.Clean(name)) }}
	names, err := fs.Glob(dir, "*.go")
	if err != nil {
		return nil, err
	}
	var variables []*node
	for _, name := range names {
		if match, err := context.MatchFile(".", name); err != nil {
			return nil, err
		} else if !match || strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		imports := make(map[string]bool)
		for _, i := range file.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			imports[path.Base(name)] = true
		}
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				f := &node{FuncDecl: decl, imports: imports, locals: locals(decl)}
				f.receiver, f.of = receiver(decl)
				name := decl.Name.Name
				if decl.Recv != nil {
					name = "." + name
				}
				d.funcs[name] = append(d.funcs[name], f)
				if decl.Name.IsExported() || name == "init" {
					d.reach(f, all)
				}
			case *ast.GenDecl:
				variables = append(variables, &node{FuncDecl: &ast.FuncDecl{Body: &ast.BlockStmt{
					List: []ast.Stmt{&ast.DeclStmt{Decl: decl}}}}, imports: imports})
			}
		}
	}
	for _, v := range variables {
		d.reach(v, all)
	}
	for len(d.todo) > 0 {
		f := d.todo[len(d.todo)-1]
		d.todo = d.todo[:len(d.todo)-1]
		d.statements(f, f.Body.List, f.reached)
	}
	for _, functions := range d.funcs {
		for _, f := range functions {
			if f.Body == nil {
				d.judge(f)
			}
		}
	}
	slices.Sort(d.problems)
	return slices.Compact(d.problems), nil
}

// judge holds what reaches an assembly function against its name.
func (d *dispatch) judge(f *node) {
	for i, level := range d.ladder {
		if i == 0 || !strings.HasSuffix(f.Name.Name, level) {
			continue
		}
		if f.reached>>i&1 == 0 {
			d.problems = append(d.problems, fmt.Sprintf("%s: not called at level %s", f.Name.Name, level))
		}
		for j, lower := range d.ladder[:i] {
			if f.reached>>j&1 != 0 {
				d.problems = append(d.problems, fmt.Sprintf("%s: called at level %s", f.Name.Name, lower))
			}
		}
	}
}

// reach notes that a function runs at some levels.
func (d *dispatch) reach(f *node, at levels) {
	if at&^f.reached == 0 {
		return
	}
	f.reached |= at
	if f.Body != nil {
		d.todo = append(d.todo, f)
	}
}

// locals returns what a function assigns to names of its own.
func locals(decl *ast.FuncDecl) map[string][]ast.Expr {
	found := make(map[string][]ast.Expr)
	note := func(e ast.Expr, value ast.Expr) {
		if id, isIdent := e.(*ast.Ident); isIdent {
			found[id.Name] = append(found[id.Name], value)
		}
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				note(name, nil)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				note(name, nil)
			}
		case *ast.RangeStmt:
			note(n.Key, nil)
			note(n.Value, nil)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				note(n.X, nil)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if len(n.Rhs) == len(n.Lhs) {
					note(left, n.Rhs[i])
				} else {
					note(left, nil)
				}
			}
		}
		return true
	})
	return found
}

// split returns at which of some levels a condition in f can hold, and at which it can fail.
func (d *dispatch) split(f *node, cond ast.Expr, at levels) (yes, no levels) {
	switch e := cond.(type) {
	case *ast.ParenExpr:
		return d.split(f, e.X, at)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			no, yes = d.split(f, e.X, at)
			return yes, no
		}
	case *ast.Ident:
		if values := f.locals[e.Name]; len(values) == 1 && values[0] != nil {
			return d.split(f, values[0], at)
		}
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND:
			first, no1 := d.split(f, e.X, at)
			yes, no2 := d.split(f, e.Y, first)
			return yes, no1 | no2
		case token.LOR:
			yes1, first := d.split(f, e.X, at)
			yes2, no := d.split(f, e.Y, first)
			return yes1 | yes2, no
		case token.EQL:
			if level, ok := d.comparison(e); ok {
				return at & level, at &^ level
			}
		case token.NEQ:
			if level, ok := d.comparison(e); ok {
				return at &^ level, at & level
			}
		}
	case *ast.CallExpr: // of functions that are one expression
		callees := d.callees(f, e.Fun)
		d.depth++
		defer func() { d.depth-- }()
		for _, g := range callees {
			if d.depth > 9 || g.Body == nil || len(g.Body.List) != 1 {
				return at, at
			}
			result, isReturn := g.Body.List[0].(*ast.ReturnStmt)
			if !isReturn || len(result.Results) != 1 {
				return at, at
			}
			y, n := d.split(g, result.Results[0], at)
			yes, no = yes|y, no|n
		}
		if len(callees) > 0 {
			return yes, no
		}
	}
	return at, at
}

// comparison returns the level that isa.Active() is compared with; on another architecture's there is none.
func (d *dispatch) comparison(e *ast.BinaryExpr) (level levels, ok bool) {
	call, isCall := e.X.(*ast.CallExpr)
	constant, isSelector := e.Y.(*ast.SelectorExpr)
	if !isCall || !isSelector || !of(call.Fun, "isa", "Active") || !of(constant, "isa", constant.Sel.Name) {
		return 0, false
	}
	if i := slices.Index(d.ladder, constant.Sel.Name); i >= 0 {
		level = 1 << i
	}
	return level, true
}

// of reports whether an expression is a name in a package.
func of(e ast.Expr, pkg, name string) bool {
	selector, isSelector := e.(*ast.SelectorExpr)
	if !isSelector || selector.Sel.Name != name {
		return false
	}
	x, isIdent := selector.X.(*ast.Ident)
	return isIdent && x.Name == pkg
}

// callees returns what an expression in f can be of the functions of the package.
func (d *dispatch) callees(f *node, e ast.Expr) []*node {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return d.callees(f, e.X)
	case *ast.IndexExpr:
		return d.callees(f, e.X)
	case *ast.IndexListExpr:
		return d.callees(f, e.X)
	case *ast.Ident:
		if f.locals[e.Name] == nil {
			return d.funcs[e.Name]
		}
	case *ast.SelectorExpr:
		methods, x := d.funcs["."+e.Sel.Name], ""
		if id, isIdent := e.X.(*ast.Ident); isIdent {
			x = id.Name
		}
		if f.imports[x] && f.locals[x] == nil {
			return nil
		}
		if x != "" && x == f.receiver && len(f.locals[x]) == 1 {
			for i, m := range methods {
				if m.of == f.of {
					return methods[i : i+1]
				}
			}
		}
		return methods
	}
	return nil
}

// receiver returns the names of a method's receiver, if it has one, and of its type.
func receiver(decl *ast.FuncDecl) (name, of string) {
	if decl.Recv == nil || len(decl.Recv.List[0].Names) == 0 {
		return "", ""
	}
	e := decl.Recv.List[0].Type
	if star, isStar := e.(*ast.StarExpr); isStar {
		e = star.X
	}
	if id, isIdent := e.(*ast.Ident); isIdent {
		return decl.Recv.List[0].Names[0].Name, id.Name
	}
	return "", ""
}

// statements follows what f does at some levels, and returns those at which what stands behind is done.
func (d *dispatch) statements(f *node, list []ast.Stmt, at levels) levels {
	for _, s := range list {
		at = d.statement(f, s, at)
	}
	return at
}

// statement is statements of one. One that leaves a loop or a switch is taken to go on.
func (d *dispatch) statement(f *node, s ast.Stmt, at levels) levels {
	switch s := s.(type) {
	case *ast.BlockStmt:
		return d.statements(f, s.List, at)
	case *ast.LabeledStmt:
		return d.statement(f, s.Stmt, at)
	case *ast.ReturnStmt:
		d.expression(f, s, at)
		return 0
	case *ast.ExprStmt:
		d.expression(f, s, at)
		if call, isCall := s.X.(*ast.CallExpr); isCall {
			if id, isIdent := call.Fun.(*ast.Ident); isIdent && id.Name == "panic" {
				return 0
			}
		}
	case *ast.BranchStmt:
		if s.Tok == token.GOTO || s.Tok == token.FALLTHROUGH {
			d.problems = append(d.problems, fmt.Sprintf("%s: %s, which this test does not follow", f.Name.Name, s.Tok))
		}
	case *ast.IfStmt:
		d.expression(f, s.Init, at)
		d.expression(f, s.Cond, at)
		yes, no := d.split(f, s.Cond, at)
		yes = d.statements(f, s.Body.List, yes)
		if s.Else != nil {
			no = d.statement(f, s.Else, no)
		}
		return yes | no
	case *ast.SwitchStmt:
		d.expression(f, s.Init, at)
		d.expression(f, s.Tag, at)
		return d.cases(f, s.Body.List, s.Tag == nil, at)
	case *ast.TypeSwitchStmt:
		d.expression(f, s.Init, at)
		d.expression(f, s.Assign, at)
		return d.cases(f, s.Body.List, false, at)
	case *ast.SelectStmt:
		for _, c := range s.Body.List {
			c := c.(*ast.CommClause)
			d.expression(f, c.Comm, at)
			d.statements(f, c.Body, at)
		}
	case *ast.ForStmt:
		d.expression(f, s.Init, at)
		d.expression(f, s.Cond, at)
		d.expression(f, s.Post, at)
		d.statements(f, s.Body.List, at)
	case *ast.RangeStmt:
		d.expression(f, s.X, at)
		d.statements(f, s.Body.List, at)
	default:
		d.expression(f, s, at)
	}
	return at
}

// cases is statements of the clauses of a switch; conditions says that it has no tag, so that each follows the last.
func (d *dispatch) cases(f *node, clauses []ast.Stmt, conditions bool, at levels) (behind levels) {
	last, left := &ast.CaseClause{}, at // the default, and at which levels it is come to
	for _, c := range clauses {
		c := c.(*ast.CaseClause)
		if c.List == nil {
			last = c
			continue
		}
		var taken levels
		for _, e := range c.List {
			d.expression(f, e, left)
			yes := left
			if conditions {
				yes, left = d.split(f, e, left)
			}
			taken |= yes
		}
		behind |= d.statements(f, c.Body, taken)
	}
	return behind | d.statements(f, last.Body, left)
}

// expression follows the calls in an expression, or whatever else, of f that is evaluated at some levels.
func (d *dispatch) expression(f *node, node ast.Node, at levels) {
	if node == nil || at == 0 {
		return
	}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			d.statements(f, n.Body.List, at)
			return false
		case *ast.BinaryExpr:
			if n.Op != token.LAND && n.Op != token.LOR {
				return true
			}
			d.expression(f, n.X, at)
			yes, no := d.split(f, n.X, at)
			if n.Op == token.LAND {
				d.expression(f, n.Y, yes)
			} else {
				d.expression(f, n.Y, no)
			}
			return false
		case *ast.KeyValueExpr:
			if _, isIdent := n.Key.(*ast.Ident); isIdent { // a field
				d.expression(f, n.Value, at)
				return false
			}
		case *ast.Ident:
			d.reachAll(d.callees(f, n), at)
		case *ast.SelectorExpr:
			if of(n, "vek32", n.Sel.Name) && at&1 != 0 { // which chooses its instructions by itself
				d.problems = append(d.problems, fmt.Sprintf("vek32.%s: called at level %s", n.Sel.Name, d.ladder[0]))
			}
			d.reachAll(d.callees(f, n), at)
			d.expression(f, n.X, at)
			return false
		}
		return true
	})
}

func (d *dispatch) reachAll(functions []*node, at levels) {
	for _, f := range functions {
		d.reach(f, at)
	}
}
