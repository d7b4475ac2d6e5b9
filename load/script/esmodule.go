package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/parser"

	"whittle"
)

// commonJS rewrites an ES module so that it runs as a CommonJS one, line for line: its
// imports become constants where they stand, and its exports are read through getters.
// What it does not have: bindings that change behind an import, import.meta, and await
// outside of functions.
func commonJS(file, src string) (string, error) {
	tree, err := parse(file, src, append([]parser.Option{parser.IsModule}, parserOptions...)...)
	if err != nil {
		return "", err
	}
	if tree.HasTLA {
		return "", whittle.Errorf(whittle.Unsupported, "%s: await outside of a function is not supported", file)
	}
	m := esModule{src: src, head: "'use strict';Object.defineProperty(exports,'__esModule',{value:true});"}
	for _, i := range tree.ImportEntries {
		m.importing(int(i.Idx)-1, i)
	}
	for _, e := range tree.ExportEntries {
		if err := m.exporting(int(e.Idx)-1, e); err != nil {
			return "", whittle.Errorf(whittle.Unsupported, "%s: %w", file, err)
		}
	}
	slices.SortFunc(m.edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range m.edits { // from the end, so that places stay
		src = src[:e.from] + e.by + strings.Repeat("\n", strings.Count(src[e.from:e.to], "\n")) + src[e.to:]
	}
	return m.head + src, nil
}

// esModule is a module being rewritten.
type esModule struct {
	src, head string
	edits     []edit
	imports   int
}

// edit puts another text in the place of a part of the source.
type edit struct {
	from, to int
	by       string
}

var (
	importStatement = regexp.MustCompile(`^import\b[^'"]*['"][^'"]*['"][ \t]*;?`)
	exportList      = regexp.MustCompile(`^export\s*(?:\{[^}]*\}|\*(?:\s*as\s+[\w$]+)?)(?:\s*from\s*['"][^'"]*['"])?[ \t]*;?`)
	exportDefault   = regexp.MustCompile(`^export\s+default\b[ \t]*`)
	namedDefault    = regexp.MustCompile(`^export\s+default\s+(?:async\s+)?(?:function\s*\*?|class)\s+([\w$]+)`)
)

func (m *esModule) importing(at int, i *ast.ImportDeclaration) {
	end := at + len(importStatement.FindString(m.src[at:]))
	name := string(i.ModuleSpecifier)
	if i.FromClause != nil {
		name = string(i.FromClause.ModuleSpecifier)
	}
	m.imports++
	from := fmt.Sprintf("__m%d", m.imports)
	text := fmt.Sprintf("const %s=require.module(%q)", from, name)
	if c := i.ImportClause; c != nil {
		if c.ImportedDefaultBinding != nil {
			text += fmt.Sprintf(",%s=%s.default", c.ImportedDefaultBinding.Name, from)
		}
		if c.NameSpaceImport != nil {
			text += fmt.Sprintf(",%s=%s", c.NameSpaceImport.ImportedBinding, from)
		}
		if c.NamedImports != nil {
			for _, s := range c.NamedImports.ImportsList {
				local := s.Alias
				if local == "" {
					local = s.IdentifierName
				}
				text += fmt.Sprintf(",%s=%s.%s", local, from, s.IdentifierName)
			}
		}
	}
	m.edits = append(m.edits, edit{at, end, text + ";"})
}

func (m *esModule) exporting(at int, e *ast.ExportDeclaration) error {
	rest := m.src[at:]
	switch {
	case e.IsDefault:
		word := len(exportDefault.FindString(rest))
		if named := namedDefault.FindStringSubmatch(rest); named != nil {
			m.getter("default", named[1])
			m.edits = append(m.edits, edit{at, at + word, ""})
		} else {
			m.edits = append(m.edits, edit{at, at + word, "exports.default="})
		}
		return nil
	case e.NamedExports != nil || e.ExportFromClause != nil:
		m.edits = append(m.edits, edit{at, at + len(exportList.FindString(rest)), m.exportingList(e)})
		return nil
	}
	names, ok := declared(e)
	if !ok {
		return fmt.Errorf("an export of a pattern is not supported")
	}
	for _, name := range names {
		m.getter(name, name)
	}
	m.edits = append(m.edits, edit{at, at + len("export"), ""})
	return nil
}

// exportingList is what stands in the place of an export of names, perhaps of another
// module's.
func (m *esModule) exportingList(e *ast.ExportDeclaration) string {
	from, text := "", ""
	if e.FromClause != nil {
		m.imports++
		from = fmt.Sprintf("__m%d", m.imports)
		text = fmt.Sprintf("const %s=require.module(%q);", from, string(e.FromClause.ModuleSpecifier))
	}
	named := e.NamedExports
	if c := e.ExportFromClause; c != nil && named == nil {
		named = c.NamedExports
		switch {
		case c.IsWildcard && c.Alias != "":
			m.getter(string(c.Alias), from)
		case c.IsWildcard:
			text += fmt.Sprintf("for(const k of Object.keys(%s))if(k!=='default')exports[k]=%s[k];", from, from)
		}
	}
	if named == nil {
		return text
	}
	for _, s := range named.ExportsList {
		name, local := string(s.Alias), string(s.IdentifierName)
		if name == "" {
			name = local
		}
		if from != "" {
			local = from + "." + local
		}
		m.getter(name, local)
	}
	return text
}

// getter exports a name.
func (m *esModule) getter(name, local string) {
	m.head += fmt.Sprintf("Object.defineProperty(exports,%q,{enumerable:true,get:()=>%s});", name, local)
}

// declared are the names that an exported declaration declares. False: they are in a
// pattern.
func declared(e *ast.ExportDeclaration) (names []string, ok bool) {
	var bindings []*ast.Binding
	switch {
	case e.HoistableDeclaration != nil:
		return []string{string(e.HoistableDeclaration.FunctionDeclaration.Function.Name.Name)}, true
	case e.ClassDeclaration != nil:
		return []string{string(e.ClassDeclaration.Class.Name.Name)}, true
	case e.LexicalDeclaration != nil:
		bindings = e.LexicalDeclaration.List
	case e.Variable != nil:
		bindings = e.Variable.List
	}
	for _, b := range bindings {
		id, plain := b.Target.(*ast.Identifier)
		if !plain {
			return nil, false
		}
		names = append(names, string(id.Name))
	}
	return names, true
}
