package whittle_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"whittle/internal/fatal"
)

// filesMost is how many files a package may have, tests apart: more is more than one room.
const filesMost = 25

// TestFiles fails on a package with too many files.
func TestFiles(t *testing.T) {
	for _, p := range packages(t) {
		if n := len(p.GoFiles) + len(p.IgnoredGoFiles); n > filesMost {
			t.Errorf("%s has %d files, at most %d: split it where the interface is small", p.ImportPath, n, filesMost)
		}
	}
}

// TestExported fails on an exported name without a comment, and on an exported
// function or method whose parameters or results are of a type that its callers
// cannot name. Commands, which nobody imports, generated files, files of other
// systems and what stands outside are left out.
func TestExported(t *testing.T) {
	for _, p := range packages(t) {
		if p.Name == "main" || isOutside(p.ImportPath) {
			continue
		}
		for _, name := range p.GoFiles {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			fatal.If(t, err)
			if ast.IsGenerated(file) {
				continue
			}
			for _, d := range file.Decls {
				for _, flaw := range flawsOf(d) {
					t.Errorf("%s: %s: %s", p.ImportPath, name, flaw)
				}
			}
		}
	}
}

// flawsOf are a declaration's exported names without a comment, or that nobody outside can use.
func flawsOf(d ast.Decl) (flaws []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || d.Recv != nil && !receiver(d).IsExported() {
			return nil
		}
		if d.Doc == nil && !satisfies[d.Name.Name] {
			flaws = append(flaws, d.Name.Name+" has no comment")
		}
		for _, typ := range hiddenTypes(d) {
			flaws = append(flaws, d.Name.Name+" takes or gives the unexported "+typ)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			for _, name := range undocumented(s, d.Doc != nil) {
				flaws = append(flaws, name+" has no comment")
			}
		}
	}
	return flaws
}

// satisfies are methods whose meaning an interface of the standard library gives.
var satisfies = map[string]bool{
	"Error": true, "Unwrap": true, "Is": true, "String": true, "Close": true,
	"Len": true, "Less": true, "Swap": true, "Push": true, "Pop": true,
	"Read": true, "Write": true, "WriteTo": true, "ReadFrom": true, "ServeHTTP": true, "RoundTrip": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true,
	"MarshalBinary": true, "UnmarshalBinary": true, "MarshalYAML": true, "UnmarshalYAML": true,
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) *ast.Ident {
	typ := d.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t
		default:
			return ast.NewIdent("_")
		}
	}
}

// undocumented are the exported names of a specification without a comment, its group's included.
func undocumented(s ast.Spec, group bool) (names []string) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc == nil && s.Comment == nil && !group {
			names = append(names, s.Name.Name)
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() && s.Doc == nil && s.Comment == nil && !group {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// hiddenTypes are the package's unexported types among a function's parameters and results.
func hiddenTypes(d *ast.FuncDecl) (hidden []string) {
	own := map[string]bool{} // type parameters
	if d.Type.TypeParams != nil {
		for _, f := range d.Type.TypeParams.List {
			for _, n := range f.Names {
				own[n.Name] = true
			}
		}
	}
	if d.Recv != nil {
		ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				own[id.Name] = true
			}
			return true
		})
	}
	var inspect func(n ast.Node) bool
	inspect = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			return false // of another package, hence exported
		case *ast.Field: // the names of parameters are none of types
			ast.Inspect(n.Type, inspect)
			return false
		case *ast.Ident:
			if !ast.IsExported(n.Name) && !own[n.Name] && types.Universe.Lookup(n.Name) == nil {
				hidden = append(hidden, n.Name)
			}
		}
		return true
	}
	ast.Inspect(d.Type.Params, inspect)
	if d.Type.Results != nil {
		ast.Inspect(d.Type.Results, inspect)
	}
	return hidden
}

// TestSkipsAreListed fails on a test that is skipped in any way but by
// internal/needs, which lists what was not tried.
func TestSkipsAreListed(t *testing.T) {
	skip := regexp.MustCompile(`\b[tbf]\.(Skip|Skipf|SkipNow)\(`)
	for _, p := range packages(t) {
		if p.ImportPath == "whittle/internal/needs" {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			if at := skip.FindString(fatal.Read(t, filepath.Join(p.Dir, name))); at != "" {
				t.Errorf("%s: %s has %s…): skip by whittle/internal/needs, so that it is listed", p.ImportPath, name, at)
			}
		}
	}
}
