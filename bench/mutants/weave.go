package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The environment variable that names the mutant which is in force in a program that
// has many woven into it.
const inForce = "MUTANT"

// chooser is the file that woven mutants need.
const chooser = `
import (
	"os"
	"strconv"
)

var mutant__ = func() int { n, _ := strconv.Atoi(os.Getenv("` + inForce + `")); return n }()

type number__ interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

type integer__ interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

func add__[T number__](n int, a, b T) T { if mutant__ == n { return a - b }; return a + b }
func sub__[T number__](n int, a, b T) T { if mutant__ == n { return a + b }; return a - b }
func mul__[T number__](n int, a, b T) T { if mutant__ == n { return a / b }; return a * b }
func quo__[T number__](n int, a, b T) T { if mutant__ == n { return a * b }; return a / b }
func rem__[T integer__](n int, a, b T) T { if mutant__ == n { return a * b }; return a % b }
func neg__[T number__](n int, a T) T { if mutant__ == n { return a }; return -a }
`

var arithmetic = map[token.Token]string{token.ADD: "add__", token.SUB: "sub__", token.MUL: "mul__", token.QUO: "quo__", token.REM: "rem__"}

// loom weaves the mutants of a package into its source, each behind a question which
// one is in force, so that one build serves them all. What it cannot weave (constants,
// type parameters) has to be built by itself.
type loom struct {
	set    *token.FileSet
	info   types.Info
	tokens map[token.Position][]*mutant // by where their token is
	source []byte                       // of the file at hand
	woven  map[*mutant]int              // their numbers, from 1 on
}

// weave writes the package's files with all mutants to a folder. It returns what lies
// over what, and the numbers of the mutants in it.
func (r *report) weave(ctx context.Context, tmp string) (overlay map[string]string, woven map[*mutant]int, err error) {
	l := &loom{
		set: token.NewFileSet(), tokens: map[token.Position][]*mutant{}, woven: map[*mutant]int{},
		info: types.Info{Types: map[ast.Expr]types.TypeAndValue{}},
	}
	for _, f := range r.Files {
		for _, m := range f.Mutations {
			at := token.Position{Filename: f.path, Offset: m.at}
			l.tokens[at] = append(l.tokens[at], m)
		}
	}
	files, err := l.check(ctx, r.Package)
	if err != nil {
		return nil, nil, err
	}
	overlay = map[string]string{}
	put := func(name string, text []byte) error {
		over, err := filepath.Abs(filepath.Join(r.Package, name))
		overlay[over] = filepath.Join(tmp, name)
		return errors.Join(err, os.WriteFile(overlay[over], text, 0o600))
	}
	for _, f := range files {
		path := l.set.Position(f.FileStart).Filename
		if l.source, err = os.ReadFile(path); err != nil {
			return nil, nil, err
		}
		if err := put(filepath.Base(path), []byte(l.text(f, 0, len(l.source)))); err != nil {
			return nil, nil, err
		}
	}
	return overlay, l.woven, put("mutants__.go", []byte("package "+files[0].Name.Name+"\n"+chooser))
}

// check parses the package and finds the types of its expressions.
func (l *loom) check(ctx context.Context, folder string) (files []*ast.File, err error) {
	list, err := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-f", `{{.ImportPath}} {{.Export}}`, "./"+folder).Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	names, err := exec.CommandContext(ctx, "go", "list", "-f", `{{join .GoFiles "\n"}}`, "./"+folder).Output()
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(string(names)) {
		f, err := parser.ParseFile(l.set, filepath.Join(folder, name), nil, 0)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	c := types.Config{Importer: importer.ForCompiler(l.set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	_, err = c.Check(folder, l.set, files, &l.info)
	return files, err
}

// text is what stands from one offset to another, with the mutants of the nodes below
// a node.
func (l *loom) text(below ast.Node, from, to int) string {
	var b strings.Builder
	ast.Inspect(below, func(n ast.Node) bool {
		if n == nil || n == below {
			return true
		}
		start, end := l.offset(n.Pos()), l.offset(n.End())
		if start < from || end > to {
			return true
		}
		if changed := l.node(n); changed != "" {
			b.Write(l.source[from:start])
			b.WriteString(changed)
			from = end
			return false
		}
		return true
	})
	b.Write(l.source[from:to])
	return b.String()
}

func (l *loom) offset(p token.Pos) int { return l.set.Position(p).Offset }

// expr is an expression with the mutants in it.
func (l *loom) expr(e ast.Expr) string {
	if changed := l.node(e); changed != "" {
		return changed
	}
	return l.text(e, l.offset(e.Pos()), l.offset(e.End()))
}

// node is a node whose own token has mutants, with them in it; "" for any other.
func (l *loom) node(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if name := arithmetic[n.Op]; name != "" {
			if m := l.at(n.OpPos); len(m) == 1 && l.number(n) {
				return fmt.Sprintf("%s(%d, %s, %s)", name, l.count(m[0]), l.expr(n.X), l.expr(n.Y))
			}
		} else if m := l.at(n.OpPos); len(m) > 0 && l.basic(n, types.IsBoolean) {
			return l.choice(n, m)
		}
	case *ast.UnaryExpr:
		if m := l.at(n.OpPos); n.Op == token.SUB && len(m) == 1 && l.number(n) {
			return fmt.Sprintf("neg__(%d, %s)", l.count(m[0]), l.expr(n.X))
		}
	case *ast.IncDecStmt:
		name := map[token.Token]string{token.INC: "add__", token.DEC: "sub__"}[n.Tok]
		if m := l.at(n.TokPos); len(m) == 1 && plain(n.X) && l.basic(n.X, types.IsNumeric) {
			x := l.expr(n.X)
			return fmt.Sprintf("%s = %s(%d, %s, 1)", x, name, l.count(m[0]), x)
		}
	}
	return ""
}

// choice asks which of the comparisons is in force.
func (l *loom) choice(n *ast.BinaryExpr, mutants []*mutant) string {
	x, y := l.expr(n.X), l.expr(n.Y)
	var b, none strings.Builder
	for _, m := range mutants {
		number := l.count(m)
		fmt.Fprintf(&b, "mutant__ == %d && (%s %s %s) || ", number, x, m.now, y)
		fmt.Fprintf(&none, "mutant__ != %d && ", number)
	}
	return "(" + b.String() + none.String() + "(" + x + " " + n.Op.String() + " " + y + "))"
}

func (l *loom) at(p token.Pos) []*mutant {
	at := l.set.Position(p)
	return l.tokens[token.Position{Filename: at.Filename, Offset: at.Offset}]
}

// count gives a mutant its number.
func (l *loom) count(m *mutant) int {
	if l.woven[m] == 0 {
		l.woven[m] = len(l.woven) + 1
	}
	return l.woven[m]
}

// number reports whether an expression is a number that is no constant.
func (l *loom) number(e ast.Expr) bool { return l.basic(e, types.IsNumeric) }

// basic reports whether an expression is of a kind and no constant.
func (l *loom) basic(e ast.Expr, kind types.BasicInfo) bool {
	t := l.info.Types[e]
	if t.Type == nil || t.Value != nil {
		return false
	}
	if kind == types.IsBoolean && t.Type != types.Typ[types.Bool] && t.Type != types.Typ[types.UntypedBool] {
		return false
	}
	b, ok := t.Type.Underlying().(*types.Basic)
	return ok && b.Info()&kind != 0 && b.Info()&types.IsComplex == 0
}

// plain reports whether an operand may be read twice.
func plain(e ast.Expr) bool {
	calls := false
	ast.Inspect(e, func(n ast.Node) bool {
		_, call := n.(*ast.CallExpr)
		calls = calls || call
		return true
	})
	return !calls
}
