package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"whittle"
)

// Bounds on what a config includes.
const (
	maxIncludes = 1000     // files
	maxIncluded = 16 * mib // bytes of all of them
)

// maxField is the longest path of a field, in letters, that a message has whole.
const maxField = 200

const wantInclude = "a folder such as routes, or a pattern such as services/*/routes.yaml"

// source is a file of a config: its name, and the number of its first route among all.
type source struct {
	name  string
	first int
}

// sources are the config's own file and those that it includes; positions name them by
// their index.
type sources []source

// placed puts a problem's place in front of it. The routes of an included file are
// counted as they stand there.
func (s sources) placed(p problem) string {
	from, field := s[p.at.file], p.field
	if rest, ok := strings.CutPrefix(field, "routes["); ok && from.first > 0 {
		number, rest, _ := strings.Cut(rest, "]")
		if n, err := strconv.Atoi(number); err == nil {
			field = fmt.Sprintf("routes[%d]%s", n-from.first, rest)
		}
	}
	if r := []rune(field); len(r) > maxField {
		field = string(r[:maxField]) + "…"
	}
	if field != "" {
		field += ": "
	}
	return fmt.Sprintf("%s:%d:%d: %s%s", from.name, p.at.line, p.at.column, field, p.text)
}

// placedIn reports whether a text begins with a place.
func (s sources) placedIn(text string) bool {
	return slices.ContainsFunc(s, func(from source) bool { return strings.HasPrefix(text, from.name+":") })
}

// include is where the routes of further files are.
func include(f *File) value {
	one := func() value {
		return value{form: matching("folder, file or pattern", "", "number", "boolean"), show: func() string { return "" }, text: func(a at, s string) error {
			pattern, err := parsePattern(s)
			if err == nil {
				a.r.includeAll(a, pattern, f)
			}
			return err
		}}
	}
	v := one()
	v.list = &list{most: maxIncludes, clear: func() {}, item: func() (value, func()) { return one(), func() {} }}
	return v
}

// includeAll reads the files that a folder has or a pattern matches, in the order of
// their names. A file that comes again, or is the config itself, is passed over.
func (r *reader) includeAll(a at, pattern string, f *File) {
	if r.listed == nil {
		a.fail("cannot be followed, since this config was not read from a file")
		return
	}
	names, err := r.listed(r.resolve(pattern))
	if err != nil {
		a.fail("%v", err)
		return
	}
	if len(names) == 0 {
		r.warn(a.path, "%s includes no file", quote(pattern))
	}
	for _, name := range names {
		if slices.ContainsFunc(r.sources, func(s source) bool { return filepath.Clean(s.name) == name }) {
			continue
		}
		if len(r.sources) > maxIncludes {
			a.fail("more than %d files are included", maxIncludes)
			return
		}
		r.includeFile(a, name, f)
	}
}

func (r *reader) includeFile(a at, name string, f *File) {
	src, err := r.readFile(name)
	if err != nil {
		a.fail("cannot be read: %v", err)
		return
	}
	if r.included += int64(len(src)); r.included > maxIncluded {
		a.fail("the included files have more than %s", size(maxIncluded))
		return
	}
	r.countRoutes()
	file := len(r.sources)
	r.sources = append(r.sources, source{name: name, first: r.routes})
	root, err := parseYAML(src)
	if e, ok := errors.AsType[*syntaxError](err); ok {
		e.at.file = file
		r.fail(e.at, "", "%s", e.text)
		return
	}
	root.setFile(file)
	dir := r.dir
	r.dir = filepath.Dir(name)
	r.includedRoutes(root, f)
	r.dir = dir
}

// countRoutes makes r.routes the number of routes that were read.
func (r *reader) countRoutes() {
	for {
		if _, read := r.where[fmt.Sprintf("routes[%d]", r.routes)]; !read {
			return
		}
		r.routes++
	}
}

// includedRoutes reads what an included file may have: routes.
func (r *reader) includedRoutes(root *node, f *File) {
	if root.kind != isMapping {
		r.fail(root.at, "", "this is %s; write routes: and the routes below it", root.kind)
		return
	}
	for i, e := range root.entries {
		switch {
		case e.key != "routes":
			r.fail(e.at, e.key, "does not belong in an included file, which has routes: alone; write it in %s", r.name)
		case slices.ContainsFunc(root.entries[:i], func(other entry) bool { return other.key == e.key }):
			r.fail(e.at, e.key, "given twice")
		case e.value.kind != isSequence:
			r.fail(e.value.at, e.key, "this is %s; write a list of routes, or [] for none", e.value.kind)
		case r.routes+len(e.value.items) > maxRoutes:
			r.fail(e.value.at, e.key, "there are more than %d routes with these", maxRoutes)
		default:
			for i, it := range e.value.items {
				var t whittle.Route
				v := f.route(&t)
				r.defaults(v)
				if r.read(v, it, fmt.Sprintf("routes[%d]", r.routes+i)) {
					f.Routes = append(f.Routes, t)
				}
			}
		}
	}
}

func (n *node) setFile(file int) {
	n.at.file = file
	for i := range n.entries {
		n.entries[i].at.file = file
		n.entries[i].value.setFile(file)
	}
	for _, it := range n.items {
		it.setFile(file)
	}
}

func parsePattern(s string) (string, error) {
	if s == "" {
		return "", errors.New("is empty; write " + wantInclude)
	}
	if err := pathFault(s); err != nil {
		return "", err
	}
	if _, err := filepath.Match(s, ""); err != nil {
		return "", fmt.Errorf("%s is not a pattern: %w; write %s", quote(s), err, wantInclude)
	}
	return s, nil
}

func isPattern(s string) bool { return strings.ContainsAny(s, `*?[`) }

// matchFiles gives, sorted, the files that a pattern matches, the files of a folder that end in
// .yaml or .yml, or the one file that is named. Hidden files are left out, and so is what
// Kubernetes puts next to a volume's files (..data).
func matchFiles(pattern string) ([]string, error) {
	if isPattern(pattern) {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		return regular(found), nil
	}
	info, err := os.Stat(pattern)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is no file and no folder; write %s", pattern, wantInclude)
	case err != nil:
		return nil, err
	case info.Mode().IsRegular():
		return []string{filepath.Clean(pattern)}, nil
	case !info.IsDir():
		return nil, fmt.Errorf("%s is neither a file nor a folder", pattern)
	}
	entries, err := os.ReadDir(pattern)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".yaml" || ext == ".yml" {
			found = append(found, filepath.Join(pattern, e.Name()))
		}
	}
	return regular(found), nil
}

// regular keeps regular files that are not hidden. Reading anything else could block.
func regular(found []string) []string {
	var names []string
	for _, name := range found {
		info, err := os.Stat(name)
		if err == nil && info.Mode().IsRegular() && !strings.HasPrefix(filepath.Base(name), ".") {
			names = append(names, filepath.Clean(name))
		}
	}
	slices.Sort(names)
	return names
}

// Sources tells which files a config consists of.
type Sources struct {
	path     string
	patterns []string    // of include:, as the config has them
	read     os.FileInfo // the config when they were read; nil: it could not be
}

// SourcesOf are those of the config at path.
func SourcesOf(path string) *Sources { return &Sources{path: path} }

// Now gives the files, the config itself first. It looks at nothing but includes, so a config
// that is refused has sources, too.
func (s *Sources) Now() []string {
	info, err := os.Stat(s.path)
	if err != nil {
		info = nil
	}
	if info == nil || s.read == nil || !os.SameFile(info, s.read) || info.Size() != s.read.Size() || !info.ModTime().Equal(s.read.ModTime()) {
		s.patterns, s.read = patterns(s.path), info
	}
	files := []string{s.path}
	for _, pattern := range s.patterns {
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(filepath.Dir(s.path), pattern)
		}
		found, _ := matchFiles(pattern) // what is not there, is none of them
		for _, name := range found {
			if len(files) <= maxIncludes && !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	return files
}

// patterns are those of include:, whatever else a config says.
func patterns(path string) (list []string) {
	src, err := readBounded(path, maxSource)
	if err != nil {
		return nil
	}
	root, err := parseYAML(src)
	if err != nil {
		return nil
	}
	for _, e := range root.entries {
		if e.key != "include" {
			continue
		}
		for _, n := range append([]*node{e.value}, e.value.items...) {
			if s, err := expand(n.text, os.LookupEnv); err == nil && s != "" {
				list = append(list, s)
			}
		}
	}
	return list
}

// place says where a position is, for the text of a problem elsewhere.
func (s sources) place(at position) string {
	if at.file == 0 {
		return fmt.Sprintf("line %d", at.line)
	}
	return fmt.Sprintf("%s, line %d", s[at.file].name, at.line)
}
