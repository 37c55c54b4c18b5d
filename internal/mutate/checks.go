package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// shifted are comparisons with their boundary moved by one.
var shifted = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// checks is a file of Go whose conditions are changed.
type checks struct {
	path  string
	pkg   string // its name
	text  string
	edits []edit
}

type edit struct {
	start, end int
	text       string
}

// layers are the directories with more than checks in their files. What is changed of them is what guards an error about
// arguments: in a function that is one of checks by its name or has an op, which such an error names, a condition that has
// it return an error.
var layers = []string{"lookup", "positional"}

// isCheck reports whether a function is one of checks by its name, or leaves to others what it finds not to be plainly in order.
func isCheck(name string) bool {
	return strings.HasPrefix(name, "check") || strings.HasPrefix(name, "Check") ||
		strings.Contains(name, "AtOnce") || strings.Contains(name, "Few")
}

// returnsError reports whether a function's last result is an error.
func returnsError(f *ast.FuncType) bool {
	if f.Results == nil {
		return false
	}
	last, ok := f.Results.List[len(f.Results.List)-1].Type.(*ast.Ident)
	return ok && last.Name == "error"
}

// hasOp reports whether anything in a function is called op.
func hasOp(f *ast.FuncDecl) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		found = found || ok && name.Name == "op"
		return !found
	})
	return found
}

// guards reports whether anything in the body of a condition, in a function whose last result is an error, returns one.
func guards(body ...ast.Node) bool {
	found := false
	for _, n := range body {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.ReturnStmt:
				if len(n.Results) > 0 {
					last, ok := n.Results[len(n.Results)-1].(*ast.Ident)
					found = found || !ok || last.Name != "nil"
				}
			}
			return true
		})
	}
	return found
}

// passedOn reports whether what a function returns is what a check has found: a call of package check, or of a function
// that is one of checks by its name.
func passedOn(pkg string, f *ast.FuncType, results []ast.Expr) bool {
	if !returnsError(f) || len(results) != f.Results.NumFields() {
		return false
	}
	call, ok := results[len(results)-1].(*ast.CallExpr)
	if !ok {
		return false
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return isCheck(f.Name) || pkg == "check"
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == "check" {
			return f.Sel.Name != "Value" && f.Sel.Name != "Nil" // these make errors, and find none
		}
		return isCheck(f.Sel.Name)
	}
	return false
}

// readChecks returns the mutants of the checks of a file, numbered from first on, and with them what the file becomes:
// all of its mutants at once, of which a number chooses one when the program runs.
func readChecks(read func(name string) (string, error), path, rel string, first int) (*checks, []*mutant, error) {
	text, err := read(path)
	if err != nil {
		return nil, nil, err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	c := &checks{path: path, pkg: file.Name.Name, text: text}
	var all []*mutant
	where, named, about := "", false, ""
	seen := map[string][]token.Pos{} // where conditions of the same text stand in a function
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	source := func(e ast.Node) string { return text[offset(e.Pos()):offset(e.End())] }
	add := func(e ast.Expr, kind, is string) int {
		about := about
		if !strings.Contains(source(e), "err ") {
			about = ""
		}
		was := about + strings.Join(strings.Fields(source(e)), " ")
		same := seen[where+": "+was]
		if len(same) == 0 || same[len(same)-1] != e.Pos() {
			same = append(same, e.Pos())
			seen[where+": "+was] = same
		}
		all = append(all, &mutant{File: rel, Line: set.Position(e.Pos()).Line, Where: where, Level: "checks", Kind: kind,
			Was: was, Is: strings.Join(strings.Fields(is), " "), number: first + len(all), nth: len(same)})
		return first + len(all) - 1
	}
	wrapped := func(e ast.Expr, inner string) string {
		n := add(e, "negated", "!("+source(e)+")")
		add(e, "always", "true")
		add(e, "never", "false")
		for _, m := range all[len(all)-3:] {
			m.site = n
		}
		return fmt.Sprintf("mutateIf(%d, %s)", n, inner)
	}
	var rewritten func(e ast.Expr) string
	rewritten = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.ParenExpr:
			return "(" + rewritten(e.X) + ")"
		case *ast.UnaryExpr:
			if e.Op == token.NOT {
				return "!" + rewritten(e.X)
			}
		case *ast.BinaryExpr:
			if e.Op == token.LAND || e.Op == token.LOR {
				return rewritten(e.X) + " " + e.Op.String() + " " + rewritten(e.Y)
			}
			if op := shifted[e.Op]; op != "" {
				other := source(e.X) + " " + op + " " + source(e.Y)
				n := add(e, "shifted", other)
				result := wrapped(e, fmt.Sprintf("(mutateNumber == %d && %s || mutateNumber != %d && %s)", n, other, n, source(e)))
				all[n-first].site = all[len(all)-1].site
				return result
			}
		}
		return wrapped(e, source(e))
	}
	condition := func(e ast.Expr) {
		inner := rewritten(e)
		if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
			inner = wrapped(e, inner)
		}
		c.edits = append(c.edits, edit{offset(e.Pos()), offset(e.End()), inner})
	}
	everything := !slices.Contains(layers, filepath.Dir(rel))
	var walk func(body ast.Node, f *ast.FuncType)
	walk = func(body ast.Node, f *ast.FuncType) {
		counts := func(body ...ast.Node) bool {
			return everything || isCheck(where) || named && returnsError(f) && guards(body...)
		}
		// What sets the err that a condition is about stands in front of it, in the if or as the statement before.
		before := map[*ast.IfStmt]ast.Stmt{}
		ast.Inspect(body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				for i, s := range n.List {
					if s, ok := s.(*ast.IfStmt); ok && i > 0 {
						before[s] = n.List[i-1]
					}
				}
			case *ast.FuncLit:
				walk(n.Body, n.Type)
				return false
			case *ast.IfStmt:
				if counts(n.Body) || n.Else != nil && counts(n.Else) {
					if n.Init != nil {
						before[n] = n.Init
					}
					if set, ok := before[n].(*ast.AssignStmt); ok && strings.Contains(source(set), "err") {
						about = strings.Join(strings.Fields(source(set)), " ") + "; "
					}
					condition(n.Cond)
					about = ""
				}
			case *ast.SwitchStmt:
				if n.Tag == nil {
					for _, s := range n.Body.List {
						if s := s.(*ast.CaseClause); counts(s) {
							for _, e := range s.List {
								condition(e)
							}
						}
					}
				}
			case *ast.ReturnStmt:
				for _, e := range n.Results {
					if b, ok := e.(*ast.BinaryExpr); ok && counts() && slices.Contains([]token.Token{token.LAND, token.LOR,
						token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}, b.Op) {
						condition(e)
					}
				}
				if passedOn(c.pkg, f, n.Results) {
					e := n.Results[len(n.Results)-1]
					k := add(e, "removed", "nil")
					all[k-first].site = k
					c.edits = append(c.edits, edit{offset(e.Pos()), offset(e.End()), fmt.Sprintf("mutateError(%d, %s)", k, source(e))})
				}
			}
			return true
		})
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			where, named = f.Name.Name, hasOp(f)
			walk(f.Body, f.Type)
		}
	}
	return c, all, nil
}

// changed returns the file with all its mutants in it.
func (c *checks) changed() string {
	slices.SortFunc(c.edits, func(a, b edit) int { return b.start - a.start })
	text := c.text
	for _, e := range c.edits {
		text = text[:e.start] + e.text + text[e.end:]
	}
	return text
}

// checkFiles are the files of package rowvec that check arguments, internal/check, and the layers. What the layers call past
// the checks of package rowvec, and how errors are put, is no check.
func checkFiles(root string) ([]string, error) {
	var files []string
	for _, dir := range append([]string{".", "internal/check"}, layers...) {
		names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range names {
			name := filepath.Base(path)
			if strings.HasSuffix(name, "_test.go") || dir == "." &&
				(strings.HasPrefix(name, "kernels_") || name == "forward.go" || name == "errors.go") {
				continue
			}
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files, nil
}
