// Package gosource finds in the sources of a Go service which routes its functions
// serve, for profiles without labels: it reads the service's own module, follows
// routers through variables, calls, groups and mounts, and fetches nothing.
package gosource

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"whittle/profile"
)

// Bounds of what is read of a module.
const (
	maxFiles = 4000
	maxFile  = 2 << 20
	maxBytes = 64 << 20
	maxUp    = 12 // folders above a source file that a go.mod is looked for in
)

// Label gives the samples of a Go service's profiles their endpoints, as far as they
// have no label: by routes of its sources where those are on this machine, else by
// the names of its handlers. folder is where sources are looked for that the program
// names without their folder, as one that was built with -trimpath does.
func Label(folder string, profiles ...*profile.Profile) {
	var of []*profile.Profile
	r := newReader()
	for _, p := range profiles {
		if p.Runtime != profile.Go || !unlabelled(p) {
			continue
		}
		of = append(of, p)
		for i := range p.Functions {
			if f := &p.Functions[i]; f.Owner == profile.Own {
				r.addModuleOf(f, folder)
				if at := path.Dir(f.File); profile.PackageOf(f.Name) == "main" && at != "." {
					r.mains[at] = true
				}
			}
		}
	}
	if len(of) == 0 {
		return
	}
	routes := r.routes()
	for _, p := range of {
		p.LabelHandlers(routes.of, routes.procedure)
		p.Routes = routes.names()
	}
}

// unlabelled says that a handler is on a stack without an endpoint. Else no source is
// read.
func unlabelled(p *profile.Profile) bool {
	return slices.ContainsFunc(p.Samples, func(s profile.Sample) bool { return s.Endpoint == "" && p.HandlerOn(&s).Depth >= 0 })
}

// module is a folder with a go.mod.
type module struct{ path, folder string }

// reader reads modules.
type reader struct {
	set      *token.FileSet
	modules  map[string]*module // by folder
	seen     map[string]bool    // folders that were looked at for a go.mod
	parsed   map[string][]*ast.File
	checked  map[string]*types.Package
	info     *types.Info
	files    int
	bytes    int64
	packages []string        // import paths, in the order in which they were parsed
	mains    map[string]bool // folders of the programs' own packages main, as their profiles name them
}

func newReader() *reader {
	return &reader{
		set: token.NewFileSet(), mains: map[string]bool{}, modules: map[string]*module{}, seen: map[string]bool{},
		parsed: map[string][]*ast.File{}, checked: map[string]*types.Package{},
		info: &types.Info{
			Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{},
		},
	}
}

// addModuleOf reads the module that a function's file is in.
func (r *reader) addModuleOf(f *profile.Function, folder string) {
	from := filepath.Dir(f.File)
	if !filepath.IsAbs(f.File) {
		from = folder
	}
	for range maxUp {
		if r.seen[from] {
			return
		}
		r.seen[from] = true
		if text, err := os.ReadFile(filepath.Join(from, "go.mod")); err == nil {
			m := &module{modulePath(text), from}
			within := filepath.IsAbs(f.File) || strings.HasPrefix(f.File, m.path+"/") || profile.PackageOf(f.Name) == m.path
			if m.path != "" && within {
				r.modules[from] = m
				r.read(m)
			} else {
				r.seen[from] = false // another function's may fit
			}
			return
		}
		up := filepath.Dir(from)
		if up == from {
			return
		}
		from = up
	}
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)

func modulePath(text []byte) string {
	if m := moduleLine.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// read parses a module's packages, without its tests.
func (r *reader) read(m *module) {
	_ = filepath.WalkDir(m.folder+"/", func(at string, d fs.DirEntry, err error) error { // which may be a link to a folder
		at = filepath.Clean(at)
		if err != nil || d == nil {
			return filepath.SkipAll
		}
		name := d.Name()
		switch {
		case r.files >= maxFiles || r.bytes >= maxBytes:
			return filepath.SkipAll
		case d.IsDir():
			if at != m.folder && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "vendor" || name == "node_modules" || name == "testdata" || hasModule(at)) {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || !d.Type().IsRegular():
			return nil
		}
		r.parse(m, at)
		return nil
	})
}

func hasModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

func (r *reader) parse(m *module, at string) {
	info, err := os.Stat(at)
	if err != nil || info.Size() > maxFile {
		return
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return
	}
	r.files++
	r.bytes += int64(len(text))
	file, err := parser.ParseFile(r.set, at, text, parser.SkipObjectResolution|parser.ParseComments)
	if file == nil || file.Name == nil || err != nil || byItself(file) {
		return
	}
	relative, err := filepath.Rel(m.folder, filepath.Dir(at))
	if err != nil {
		return
	}
	pkg := path.Join(m.path, filepath.ToSlash(relative))
	if r.parsed[pkg] == nil {
		r.packages = append(r.packages, pkg)
	}
	r.parsed[pkg] = append(r.parsed[pkg], file)
}

// byItself reports whether a file is no part of the package whose folder it is in, as a
// generator that go generate runs.
func byItself(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if c.Pos() > file.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			of, err := constraint.Parse(c.Text)
			return err == nil && !of.Eval(func(tag string) bool { return tag != "ignore" })
		}
	}
	return false
}

// Import gives the service's own packages, checked, and an empty one for all others:
// what is known of their values is nothing.
func (r *reader) Import(at string) (*types.Package, error) {
	if p := r.checked[at]; p != nil {
		return p, nil
	}
	files := r.parsed[at]
	if len(files) == 0 {
		p := types.NewPackage(at, path.Base(at))
		p.MarkComplete()
		r.checked[at] = p
		return p, nil
	}
	r.checked[at] = types.NewPackage(at, files[0].Name.Name) // for what imports itself
	c := types.Config{Importer: r, Error: func(error) {}, DisableUnusedImportCheck: true, IgnoreFuncBodies: !r.registers(at)}
	p, _ := c.Check(at, r.set, files, r.info)
	r.checked[at] = p
	return p, nil
}

// serving are packages without which nothing is registered, by how their paths begin.
// Of an own package that imports none of them the declarations are enough.
var serving = []string{
	"net/http", "github.com/gorilla/mux", "github.com/go-chi/chi", "github.com/gin-gonic/gin", "github.com/labstack/echo",
	"github.com/gofiber/fiber", "github.com/julienschmidt/httprouter", "github.com/valyala/fasthttp", "github.com/fasthttp/router", "github.com/kataras/iris",
	"github.com/uptrace/bunrouter", "github.com/cloudwego/hertz", "github.com/dimfeld/httptreemux", "github.com/go-kratos/kratos",
	"connectrpc.com/connect", "google.golang.org/grpc",
}

func (r *reader) registers(pkg string) bool {
	return slices.ContainsFunc(r.parsed[pkg], func(f *ast.File) bool {
		return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
			at := strings.Trim(i.Path.Value, "`\"")
			return slices.ContainsFunc(serving, func(s string) bool { return strings.HasPrefix(at, s) })
		})
	})
}

// anotherMain reports whether a package is another program of the module: its functions
// have the names of this one's.
func (r *reader) anotherMain(pkg string) bool {
	file := r.parsed[pkg][0]
	return file.Name.Name == "main" && len(r.mains) > 0 && !r.mains[pkg] && !r.mains[filepath.Dir(r.set.Position(file.Pos()).Filename)]
}

// routes finds what the packages register.
func (r *reader) routes() *Routes {
	f := newFinder(r.set, r.info)
	for _, pkg := range r.packages {
		if !r.registers(pkg) || r.anotherMain(pkg) {
			continue
		}
		if _, err := r.Import(pkg); err == nil {
			for _, file := range r.parsed[pkg] {
				f.file(file)
			}
		}
	}
	out := f.found()
	for _, m := range r.modules {
		trimmed(m, out.byFunction)
		trimmed(m, out.unsaid)
	}
	return out
}

// trimmed adds to what is known of places in a module's files the same by the names that a
// build with -trimpath gives these.
func trimmed[V any](m *module, of map[string]V) {
	for key, v := range maps.Clone(of) {
		if strings.HasPrefix(key, m.folder+"/") {
			of[m.short(key)] = v
		}
	}
}
