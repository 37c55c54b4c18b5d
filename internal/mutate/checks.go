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

// readChecks returns the mutants of the conditions of a file, numbered from first on, and with them what the file becomes:
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
	where := ""
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	source := func(e ast.Expr) string { return text[offset(e.Pos()):offset(e.End())] }
	add := func(e ast.Expr, kind, is string) int {
		all = append(all, &mutant{File: rel, Line: set.Position(e.Pos()).Line, Where: where, Level: "checks", Kind: kind,
			Was: strings.Join(strings.Fields(source(e)), " "), Is: strings.Join(strings.Fields(is), " "), number: first + len(all)})
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
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		where = f.Name.Name
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				condition(n.Cond)
			case *ast.SwitchStmt:
				if n.Tag == nil {
					for _, s := range n.Body.List {
						for _, e := range s.(*ast.CaseClause).List {
							condition(e)
						}
					}
				}
			case *ast.ReturnStmt:
				for _, e := range n.Results {
					if b, ok := e.(*ast.BinaryExpr); ok && slices.Contains([]token.Token{token.LAND, token.LOR, token.EQL, token.NEQ,
						token.LSS, token.LEQ, token.GTR, token.GEQ}, b.Op) {
						condition(e)
					}
				}
			}
			return true
		})
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

// rootChecks are the files of package rowvec that check arguments, and internal/check. What the layers call past the checks,
// and how errors are put, is no check.
func rootChecks(root string) ([]string, error) {
	var files []string
	names, err := filepath.Glob(filepath.Join(root, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range names {
		name := filepath.Base(path)
		if !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "kernels_") &&
			name != "forward.go" && name != "errors.go" {
			files = append(files, name)
		}
	}
	more, err := filepath.Glob(filepath.Join(root, "internal", "check", "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range more {
		if !strings.HasSuffix(path, "_test.go") {
			files = append(files, filepath.Join("internal", "check", filepath.Base(path)))
		}
	}
	return files, nil
}
