package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// What became of a mutant, in gremlins' words.
const (
	killed    = "KILLED"
	timedOut  = "TIMED OUT"  // the tests did not end: killed
	lived     = "LIVED"      // no test found it
	notViable = "NOT VIABLE" // it does not compile: no mutant
)

// report is what gremlins lists of one package.
type report struct {
	Package string  `json:"-"` // the folder, from the file's name
	file    string  // of the report
	Files   []*file `json:"files"`
}

// file is a source file with its mutants.
type file struct {
	Name      string    `json:"file_name"`
	Mutations []*mutant `json:"mutations"`

	path   string
	source []byte
	parsed *ast.File
	set    *token.FileSet
}

// mutant is one token that is another.
type mutant struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Line   int    `json:"line"`
	Column int    `json:"column"`

	at       int // the offset of what it changes
	was, now string
}

// changes are what each kind of mutant makes of a token. They are gremlins' own.
var changes = map[string]map[string]string{
	"ARITHMETIC_BASE":       {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*"},
	"CONDITIONALS_BOUNDARY": {">=": ">", ">": ">=", "<=": "<", "<": "<="},
	"CONDITIONALS_NEGATION": {"==": "!=", "!=": "==", ">=": "<", ">": "<=", "<=": ">", "<": ">="},
	"INCREMENT_DECREMENT":   {"--": "++", "++": "--"},
	"INVERT_NEGATIVES":      {"-": "+"},
}

// survivor is a mutant that no test found, by the line that it makes.
type survivor struct{ file, function, line string }

// String is the survivor as the list has it.
func (s survivor) String() string { return s.file + " " + s.function + " | " + s.line }

// load reads a report, which is named after its package, with - for /, and finds its
// mutants in the source. Files of packages below it are left out, and so is a second
// mutant that is the same change as one before it.
func load(name string) (*report, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r := &report{Package: strings.ReplaceAll(strings.TrimSuffix(filepath.Base(name), ".json"), "-", "/"), file: name}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var own []*file
	for _, f := range r.Files {
		if strings.Contains(f.Name, "/") {
			continue
		}
		if err := f.find(r.Package); err != nil {
			return nil, fmt.Errorf("%s lists no mutants of this source, make it anew: %w", name, err)
		}
		own = append(own, f)
	}
	r.Files = own
	return r, nil
}

// save writes the report as it stands.
func (r *report) save() error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(r.file, b, 0o600)
}

// find finds the mutants of the file in its source.
func (f *file) find(folder string) error {
	f.path = filepath.Join(folder, f.Name)
	var err error
	if f.source, err = os.ReadFile(f.path); err != nil {
		return err
	}
	f.set = token.NewFileSet()
	if f.parsed, err = parser.ParseFile(f.set, f.path, f.source, 0); err != nil {
		return err
	}
	type change struct {
		at  int
		now string
	}
	seen := map[change]bool{}
	var own []*mutant
	lines := f.set.File(f.parsed.Pos())
	for _, m := range f.Mutations {
		if m.Line < 1 || m.Line > lines.LineCount() {
			return fmt.Errorf("%s has no line %d", f.path, m.Line)
		}
		m.at = lines.Offset(lines.LineStart(m.Line)) + m.Column - 1
		if m.was, m.now = m.change(f.source); m.now == "" {
			return fmt.Errorf("%s:%d:%d is nothing that %s changes", f.path, m.Line, m.Column, m.Type)
		}
		if c := (change{m.at, m.now}); !seen[c] {
			seen[c] = true
			own = append(own, m)
		}
	}
	f.Mutations = own
	return nil
}

// change is the token that the mutant changes, and what it makes of it.
func (m *mutant) change(source []byte) (was, now string) {
	for length := 2; length > 0; length-- {
		if m.at >= 0 && m.at+length <= len(source) {
			was = string(source[m.at : m.at+length])
			if now = changes[m.Type][was]; now != "" {
				return was, now
			}
		}
	}
	return "", ""
}

// with is the source of the file with the mutant in it.
func (f *file) with(m *mutant) []byte {
	return bytes.Join([][]byte{f.source[:m.at], f.source[m.at+len(m.was):]}, []byte(m.now))
}

// survivor says which mutant it is.
func (f *file) survivor(m *mutant) survivor {
	lines := strings.Split(string(f.with(m)), "\n")
	s := survivor{f.path, "-", strings.TrimSpace(lines[m.Line-1])}
	for _, d := range f.parsed.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && f.set.Position(fn.Pos()).Offset <= m.at && m.at < f.set.Position(fn.End()).Offset {
			s.function = fn.Name.Name
		}
	}
	return s
}

// judge counts what was killed, and names what lived.
func (r *report) judge() (dead int, alive []survivor) {
	for _, f := range r.Files {
		for _, m := range f.Mutations {
			switch m.Status {
			case killed, timedOut:
				dead++
			case notViable:
			default:
				alive = append(alive, f.survivor(m))
			}
		}
	}
	return dead, alive
}
