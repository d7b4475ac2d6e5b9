package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"whittle"
)

// maxProblems bounds the errors that one reading reports.
const maxProblems = 20

type problem struct {
	at    position
	field string
	text  string
}

// reader turns nodes into values and collects the errors, so that one run reports all of
// them.
type reader struct {
	name     string
	sources  sources
	listed   func(pattern string) ([]string, error)
	included int64               // bytes of included files
	routes   int                 // entries of routes:, of all files
	where    map[string]position // of each field's value, by its path
	problems []problem
	warnings []problem
	env      func(string) (string, bool)
	// files are those that the config names, by field.
	files  map[string]string
	survey *survey // nil but where the schema is made
}

func newReader(name string) *reader {
	return &reader{name: name, sources: sources{{name: name}}, where: map[string]position{}, files: map[string]string{}, env: os.LookupEnv}
}

func (r *reader) fail(at position, field, format string, args ...any) {
	r.problems = append(r.problems, problem{at, field, fmt.Sprintf(format, args...)})
}

// failField reports at a field's value, or at the nearest enclosing one.
func (r *reader) failField(field, format string, args ...any) {
	r.fail(nearest(r.where, field), field, format, args...)
}

func (r *reader) warn(field, format string, args ...any) {
	r.warnings = append(r.warnings, problem{nearest(r.where, field), field, fmt.Sprintf(format, args...)})
}

func sortProblems(ps []problem) {
	slices.SortStableFunc(ps, func(a, b problem) int {
		return cmp.Or(a.at.file-b.at.file, a.at.line-b.at.line, a.at.column-b.at.column)
	})
}

func (r *reader) coded(p problem) *whittle.Error {
	return whittle.Errorf(whittle.Invalid, "%s", r.sources.placed(p)).WithField(p.field)
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
		errs = append(errs, r.coded(p))
	}
	return errors.Join(errs...)
}

// object is a mapping that is being read. Its known fields are those that were asked for, so
// each name stands in one place only.
type object struct {
	r     *reader
	path  string
	n     *node
	known []string
}

// object opens a mapping; ok is false, and the problem noted, where n is none.
// The path is empty for the file itself.
func (r *reader) object(n *node, path, want string) (o *object, ok bool) {
	if n.kind != isMapping {
		if key, value, ok := strings.Cut(n.text, ":"); ok && n.plain && isKey(key) && value != "" && !strings.HasPrefix(value, "//") {
			r.fail(n.at, path, "%s is a single value, without a space after its colon; write %s: %s", quote(n.text), key, value)
			return nil, false
		}
		r.fail(n.at, path, "this is %s; write %s", n.kind, want)
		return nil, false
	}
	o = &object{r: r, path: path, n: n}
	r.note(path, func(s *survey, at string) { s.mappings[at] = true })
	seen := map[string]position{}
	for _, e := range n.entries {
		if first, twice := seen[e.key]; twice {
			r.fail(e.at, o.sub(e.key), "given twice; the first is in line %d", first.line)
			continue
		}
		seen[e.key] = e.at
		r.where[o.sub(e.key)] = e.value.at
	}
	return o, true
}

func (o *object) sub(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// given reports whether the file has a field, whatever stands there.
func (o *object) given(key string) bool {
	_, is := o.r.where[o.sub(key)]
	return is
}

// need reports a field that must be there and was not read, unless a problem of it is known.
func (o *object) need(read bool, key, advice string) {
	if !read && !o.r.failed(o.sub(key)) {
		o.r.fail(o.n.at, o.sub(key), "is missing; %s", advice)
	}
}

// useless reports those of some fields that are given: they have no effect, and why.
func (o *object) useless(why string, keys ...string) {
	for _, key := range keys {
		if o.given(key) {
			o.r.failField(o.sub(key), "has no effect %s", why)
		}
	}
}

// renamed has the present name of each field that once had another.
var renamed = map[string]string{
	"rehearsal":  "dry_run",
	"max_answer": "max_response",
}

// fewKeys are so few that a message names all of them.
const fewKeys = 6

// done reports the fields that nothing asked for.
func (o *object) done() {
	o.r.note(o.path, func(s *survey, at string) { s.closed[at] = true })
	for _, e := range o.n.entries {
		if slices.Contains(o.known, e.key) {
			continue
		}
		if now := renamed[e.key]; slices.Contains(o.known, now) {
			o.r.fail(e.at, o.sub(e.key), "was renamed; write %s", now)
			continue
		}
		if strings.ContainsFunc(e.key, func(c rune) bool { return c != ' ' && unicode.IsSpace(c) || isUnseen(c) }) {
			o.r.fail(e.at, o.sub(strconv.QuoteToASCII(e.key)), "unknown field; it has a character that only looks like a space, or like nothing: write spaces")
			continue
		}
		if none := noSetting[plainKey(e.key)]; none != "" {
			o.r.fail(e.at, o.sub(e.key), "unknown field; %s", none)
			continue
		}
		if near := closest(e.key, o.known); near != "" {
			if strings.ContainsFunc(e.key, func(c rune) bool { return c >= 0x80 }) {
				o.r.fail(e.at, o.sub(e.key), "unknown field; did you mean %s? It has letters of another alphabet: %s", near, strconv.QuoteToASCII(e.key))
				continue
			}
			o.r.fail(e.at, o.sub(e.key), "unknown field; did you mean %s?", near)
			continue
		}
		there, here := elsewhere(e.key, o.path, o.known), "here stand: "+strings.Join(o.known, ", ")
		switch {
		case there == "":
			there = here
		case len(o.known) <= fewKeys:
			there += "; " + here
		}
		o.r.fail(e.at, o.sub(e.key), "unknown field; %s", there)
	}
}

func isKey(s string) bool { return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == "" }

// get finds a field's value, and notes that the field exists.
func (o *object) get(key string) (*node, bool) {
	o.known = append(o.known, key)
	o.r.note(o.path, func(s *survey, at string) { s.keys[at] = append(s.keys[at], key) })
	for _, e := range o.n.entries {
		if e.key != key {
			continue
		}
		if e.value.kind == isNull {
			o.r.fail(e.at, o.sub(key), "has no value; leave the field out for its default")
			return nil, false
		}
		return e.value, true
	}
	return nil, false
}

// child opens a mapping inside this one.
func (o *object) child(key, want string) (*object, bool) {
	n, ok := o.get(key)
	if !ok {
		return nil, false
	}
	return o.r.object(n, o.sub(key), want)
}

// scalar gives the text of a single value with ${NAME} replaced.
func (r *reader) scalar(n *node, path, want string) (string, bool) {
	if n.kind != isScalar {
		r.fail(n.at, path, "this is %s; write %s", n.kind, want)
		return "", false
	}
	r.note(path, func(s *survey, at string) { s.texts[at] = func(string) error { return nil } })
	s, err := expand(n.text, r.env)
	if err != nil {
		r.fail(n.at, path, "%v", err)
		return "", false
	}
	return s, true
}

// read parses a single value into dst, which keeps its default where the field
// is not given or not right. It reports whether dst was set.
func read[T any](o *object, key, want string, dst *T, parse func(string) (T, error)) bool {
	n, ok := o.get(key)
	if !ok {
		return false
	}
	return readNode(o.r, n, o.sub(key), want, dst, parse)
}

func readNode[T any](r *reader, n *node, path, want string, dst *T, parse func(string) (T, error)) bool {
	s, ok := r.scalar(n, path, want)
	if !ok {
		return false
	}
	r.note(path, func(s *survey, at string) {
		s.texts[at] = func(text string) error { _, err := parse(text); return err }
	})
	v, err := parse(s)
	if err != nil {
		r.fail(n.at, path, "%v", err)
		return false
	}
	*dst = v
	return true
}

func (o *object) text(key string, dst *string) bool {
	return read(o, key, "a text", dst, func(s string) (string, error) {
		if s == "" {
			return "", errors.New("is empty; leave the field out for its default")
		}
		return s, nil
	})
}

// name reads what one of several is called.
func (o *object) name(dst *string, example string) {
	o.need(read(o, "name", "a name such as "+example, dst, parseName), "name", "write a name such as "+example)
}

// unique refuses a name that another one has; others says another what.
func (o *object) unique(name, others string, taken bool) {
	if name != "" && taken {
		o.r.failField(o.sub("name"), "%s is the name of another %s", quote(name), others)
	}
}

// wordList reads a list of words, each one of those there are.
func wordList[T ~string](o *object, key, want string, dst *[]T, all []T) {
	o.list(key, want, 1000, func(n *node, path string) {
		var w T
		if readNode(o.r, n, path, "a text", &w, func(s string) (T, error) { return oneOf(s, all) }) {
			*dst = append(*dst, w)
		}
	})
}

// file reads the name of a file.
func (o *object) file(key string, dst *string, files folder) bool {
	return o.named(key, "the name of a file", dst, files, func(s string) (string, error) {
		if strings.HasSuffix(s, "/") {
			return "", fmt.Errorf("%s is the name of a folder: write that of a file", quote(s))
		}
		return s, nil
	})
}

// folder reads the name of one.
func (o *object) folder(key string, dst *string, files folder) bool {
	return o.named(key, "the name of a folder", dst, files, func(s string) (string, error) { return s, nil })
}

func (o *object) named(key, want string, dst *string, files folder, parse func(string) (string, error)) bool {
	if !read(o, key, want, dst, func(s string) (string, error) {
		if err := pathFault(s); err != nil {
			return "", err
		}
		return parse(s)
	}) {
		return false
	}
	*dst = files.path(*dst)
	o.r.files[o.sub(key)] = *dst
	return true
}

// pathFault refuses paths that a shell would have expanded.
func pathFault(s string) error {
	switch {
	case s == "":
		return errors.New("is empty; leave the field out for its default")
	case s == "~" || strings.HasPrefix(s, "~/"):
		return fmt.Errorf("%s: no shell reads this, so ~ is no folder: write ${HOME}%s", quote(s), s[1:])
	case shellVariable.MatchString(s):
		return fmt.Errorf("%s: an environment variable is written ${NAME}", quote(s))
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%s is no path: it has an end of line or another control character in it", quote(s))
	}
	return nil
}

// shellVariable is one without braces.
var shellVariable = regexp.MustCompile(`(^|/)\$[A-Za-z_]`)

func (o *object) flag(key string, dst *bool) bool {
	return read(o, key, "true or false", dst, parseFlag)
}

func (o *object) count(key string, dst *int, least, most int) bool {
	return read(o, key, "a whole number", dst, func(s string) (int, error) { return parseCount(s, least, most) })
}

func (o *object) duration(key string, dst *time.Duration, least, most time.Duration) bool {
	return read(o, key, "a duration such as 30s", dst, func(s string) (time.Duration, error) {
		return parseDuration(s, least, most)
	})
}

func (o *object) size(key string, dst *int64, least, most int64) bool {
	return read(o, key, "a size such as 64MiB", dst, func(s string) (int64, error) { return parseSize(s, least, most) })
}

func (o *object) share(key string, dst *whittle.Share) bool {
	return read(o, key, "a share such as 5%", dst, func(s string) (whittle.Share, error) { return parseShare(s, false) })
}

func (o *object) percent(key string, dst *float64) bool {
	return read(o, key, "a share such as 1%", dst, parsePercent)
}

func (o *object) fraction(key string, dst *float64) bool {
	return read(o, key, "a number from 0 to 1", dst, parseFraction)
}

// multiple reads "1.5x", or "off" (or "0") for 0 where the field can be switched off.
func (o *object) multiple(key string, dst *float64, canBeOff bool) bool {
	return read(o, key, "a multiple such as 1.5x", dst, func(s string) (float64, error) {
		if canBeOff && (s == "off" || s == "0") {
			return 0, nil
		}
		return parseMultiple(s)
	})
}

// confidence reads a probability above 0 and below 1.
func (o *object) confidence(key string, dst *float64) bool {
	return read(o, key, "a number such as 0.99", dst, func(s string) (float64, error) {
		v, err := parseFraction(s)
		if err == nil && (v < 0.5 || v > 0.999999) {
			err = fmt.Errorf("%s is out of range: from 0.5 to 0.999999, such as 0.99", quote(s))
		}
		return v, err
	})
}

// choose reads a word, of which each stands for one of the values.
func choose[T any](o *object, key string, dst *T, words []string, values ...T) bool {
	return read(o, key, "one of "+strings.Join(words, ", "), dst, func(s string) (v T, err error) {
		if s, err = oneOf(s, words); err == nil {
			v = values[slices.Index(words, s)]
		}
		return v, err
	})
}

// oneOf reads one of some words.
func oneOf[T ~string](s string, words []T) (T, error) {
	if slices.Contains(words, T(s)) {
		return T(s), nil
	}
	list := texts(words)
	text := fmt.Sprintf("%s is unknown; write one of: %s", quote(s), strings.Join(list, ", "))
	if _, err := strconv.Atoi(s); err != nil { // no number is a misspelling of another
		if near := closest(s, list); near != "" {
			text = fmt.Sprintf("%s is unknown; did you mean %s?", quote(s), near)
		}
	}
	return "", &unknownWord{text: text, words: list}
}

// texts are words of a type of their own as texts.
func texts[T ~string](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}

// unknownWord refuses a text that is none of the words that a value may be.
type unknownWord struct {
	text  string
	words []string
}

func (u *unknownWord) Error() string { return u.text }

// list gives the items of a list with their paths, at most most of them.
func (o *object) list(key, want string, most int, item func(n *node, path string)) bool {
	n, ok := o.get(key)
	if !ok {
		return false
	}
	if n.kind != isSequence {
		o.r.fail(n.at, o.sub(key), "this is %s; write a list: %s", n.kind, want)
		return false
	}
	o.r.note(o.sub(key), func(s *survey, at string) { s.lists[at] = most })
	if len(n.items) > most {
		o.r.fail(n.items[most].at, o.sub(key), "has %d entries, and at most %d are read", len(n.items), most)
		return false
	}
	for i, it := range n.items {
		path := fmt.Sprintf("%s[%d]", o.sub(key), i)
		o.r.where[path] = it.at
		item(it, path)
	}
	return true
}

func (o *object) texts(key, want string, dst *[]string, check func(string) error) {
	o.textsUpTo(1000, key, want, dst, check)
}

func (o *object) textsUpTo(most int, key, want string, dst *[]string, check func(string) error) {
	o.list(key, want, most, func(n *node, path string) {
		var s string
		if readNode(o.r, n, path, "a text", &s, func(s string) (string, error) { return s, check(s) }) {
			*dst = append(*dst, s)
		}
	})
}

// maxNames bounds a mapping of names to names.
const maxNames = 1000

// names reads a mapping with any keys.
func (o *object) names(key, want string, dst *map[string]string) {
	c, ok := o.child(key, want)
	if !ok {
		return
	}
	if len(c.n.entries) > maxNames {
		o.r.fail(c.n.at, c.path, "has %d entries, and at most %d are read", len(c.n.entries), maxNames)
		return
	}
	*dst = make(map[string]string, len(c.n.entries))
	for _, e := range c.n.entries {
		if v, ok := o.r.scalar(e.value, c.sub(e.key), "a name"); ok {
			(*dst)[e.key] = v
		}
	}
}
