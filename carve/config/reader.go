package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whittle"
)

// maxProblems bounds the errors that one reading reports.
const maxProblems = 20

type problem struct {
	at    position
	field string
	text  string
}

// reader reads nodes into values and collects the errors, so that one run reports all of
// them.
type reader struct {
	name     string
	dir      string // of the file that is being read
	sources  sources
	listed   func(pattern string) ([]string, error) // the files that include: means; nil: none
	open     func(path string) ([]byte, error)
	env      func(string) (string, bool)
	included int64               // bytes of included files
	routes   int                 // entries of routes:, of all files
	where    map[string]position // of each field's value, by its path
	files    map[string]string   // that the config names, by field
	problems []problem
	warnings []problem
}

func newReader(name string, open func(path string) ([]byte, error)) *reader {
	return &reader{
		name: name, dir: filepath.Dir(name), sources: sources{{name: name}}, open: open, env: os.LookupEnv,
		where: map[string]position{}, files: map[string]string{},
	}
}

func (r *reader) readFile(path string) ([]byte, error) { return r.open(path) }

// resolve gives the path of what a file of the config names.
func (r *reader) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.dir, path)
}

func (r *reader) fail(at position, field, format string, args ...any) {
	r.problems = append(r.problems, problem{at, field, fmt.Sprintf(format, args...)})
}

// failField refuses a field's value, or the nearest enclosing one.
func (r *reader) failField(field, format string, args ...any) {
	r.fail(nearest(r.where, field), field, format, args...)
}

func (r *reader) warn(field, format string, args ...any) {
	r.warnings = append(r.warnings, problem{nearest(r.where, field), field, fmt.Sprintf(format, args...)})
}

// failed reports whether a problem of the field, or below it, is known already.
func (r *reader) failed(field string) bool {
	return slices.ContainsFunc(r.problems, func(p problem) bool {
		rest, ok := strings.CutPrefix(p.field, field)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

func sortProblems(ps []problem) {
	slices.SortStableFunc(ps, func(a, b problem) int {
		return cmp.Or(a.at.file-b.at.file, a.at.line-b.at.line, a.at.column-b.at.column)
	})
}

// err joins the problems in the order in which they stand in the file.
func (r *reader) err() error {
	sortProblems(r.problems)
	var errs []error
	for i, p := range r.problems {
		if i == maxProblems {
			errs = append(errs, whittle.Errorf(whittle.Invalid, "%s: and %d more", r.name, len(r.problems)-i))
			break
		}
		errs = append(errs, whittle.Errorf(whittle.Invalid, "%s", r.sources.placed(p)).WithField(p.field))
	}
	return errors.Join(errs...)
}

// defaults sets every default below a value that is a text of its own.
func (r *reader) defaults(v value) {
	if v.block == nil {
		return
	}
	for _, k := range v.block().keys {
		if k.fixed() {
			r.preset(k.value, k.def)
		}
		if k.value.open == nil {
			r.defaults(k.value)
		}
	}
}

// preset reads a default, which tests hold to be right, without noting where it stands.
func (r *reader) preset(v value, def string) {
	n := &node{kind: isScalar, text: def}
	if def[0] == '[' {
		n, _ = parseYAML([]byte(def))
	}
	(&reader{dir: r.dir, env: r.env, where: map[string]position{}, files: map[string]string{}}).read(v, n, "")
}

// read reads a node into a value. It reports whether it was read, right or not.
func (r *reader) read(v value, n *node, path string) bool {
	if v.open != nil {
		v.open()
		r.defaults(v)
	}
	r.where[path] = n.at
	a := at{r, path, n}
	switch {
	case n.kind == isMapping && v.block != nil:
		r.readBlock(v.block(), a)
	case n.kind == isMapping && v.names != nil:
		r.readNames(v.names, a)
	case n.kind == isSequence && v.list != nil:
		return r.readList(v.list, a)
	case n.kind == isScalar && v.text != nil:
		s, err := expand(n.text, r.env)
		if err == nil {
			err = v.text(a, s)
		}
		if err != nil {
			a.fail("%v", err)
		}
		return err == nil
	default:
		a.fail("this is %s; write %s", n.kind, v.like())
		return false
	}
	return true
}

// like says in a message how a value is written.
func (v *value) like() string {
	var ways []string
	if v.text != nil {
		words, _ := v.form()
		ways = append(ways, strings.ReplaceAll(words, "`", ""))
	}
	if v.block != nil {
		ways = append(ways, v.block().like)
	}
	if v.names != nil {
		ways = append(ways, v.names.like)
	}
	if v.list != nil {
		item, _ := v.list.item()
		switch of := item.like(); {
		case of == strings.Join(ways, ", or "):
			ways = append(ways, "a list of these")
		case len(ways) > 0 && of == ways[0]:
			ways = slices.Insert(ways, 1, "a list of these")
		default:
			ways = append(ways, "a list of "+of)
		}
	}
	return strings.Join(slices.Compact(ways), ", or ")
}

func (r *reader) readBlock(b block, a at) {
	seen := map[string]*entry{}
	for i := range a.n.entries {
		e := &a.n.entries[i]
		if first := seen[e.key]; first != nil {
			r.fail(e.at, a.sub(e.key), "given twice; the first is in line %d", first.at.line)
			continue
		}
		seen[e.key] = e
		r.where[a.sub(e.key)] = e.value.at
	}
	for _, k := range b.keys {
		e, path := seen[k.name], a.sub(k.name)
		delete(seen, k.name)
		switch {
		case e == nil:
			if k.def == required && !r.failed(path) {
				r.fail(a.n.at, path, "is missing; write %s: %s", k.name, k.value.like())
			}
		case e.value.kind == isNull:
			r.fail(e.at, path, "has no value; leave the field out for its default")
		default:
			r.read(k.value, e.value, path)
		}
	}
	r.unknown(b, a, seen)
	if b.filled && len(a.n.entries) == 0 {
		a.fail("is empty; write %s", b.like)
	}
	if b.check != nil {
		b.check(a)
	}
}

// unknown refuses the keys that the block does not have.
func (r *reader) unknown(b block, a at, left map[string]*entry) {
	var known []string
	for _, k := range b.keys {
		known = append(known, k.name)
	}
	for name, e := range left {
		switch near := closest(name, known); {
		case strings.ContainsFunc(name, isOdd):
			r.fail(e.at, a.sub(fmt.Sprintf("%+q", name)), "unknown field; one of its characters is not what it looks like: write plain letters and spaces")
		case near != "":
			r.fail(e.at, a.sub(name), "unknown field; did you mean %s?", near)
		default:
			r.fail(e.at, a.sub(name), "unknown field; the fields here are: %s", strings.Join(known, ", "))
		}
	}
}

func (r *reader) readList(l *list, a at) bool {
	switch n := len(a.n.items); {
	case n > l.most:
		r.fail(a.n.items[l.most].at, a.path, "has %d entries, and at most %d are read", n, l.most)
		return false
	case n < l.least:
		item, _ := l.item()
		a.fail("is empty; write a list of %s, or leave it out", item.like())
		return false
	}
	l.clear()
	for i, it := range a.n.items {
		v, keep := l.item()
		path := fmt.Sprintf("%s[%d]", a.path, i)
		if it.kind == isNull {
			r.fail(it.at, path, "has no value")
			continue
		}
		r.defaults(v)
		if r.read(v, it, path) {
			keep()
		}
	}
	return true
}

func (r *reader) readNames(m *names, a at) {
	switch n := len(a.n.entries); {
	case n > m.most:
		a.fail("has %d entries, and at most %d are read", n, m.most)
		return
	case n < m.least:
		a.fail("is empty; write %s", m.like)
		return
	}
	m.clear()
	seen := map[string]bool{}
	for _, e := range a.n.entries {
		path := a.sub(e.key)
		r.where[path] = e.value.at
		v, keep, err := m.entry(e.key)
		switch {
		case seen[e.key]:
			err = errors.New("given twice")
		case e.value.kind == isNull:
			err = errors.New("has no value")
		}
		if seen[e.key] = true; err != nil {
			r.fail(e.at, path, "%v", err)
		} else if r.read(v, e.value, path) {
			keep()
		}
	}
}

// below is the path of a key in what a path leads to.
func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
