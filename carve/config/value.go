package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
)

// A value is what stands behind a key: the ways in which it is written, bound to the place
// that it is read into. A value may have several: a URL, a list of URLs, or a mapping. The
// same values say how the config is read, shown, described and put into JSON Schema.
type value struct {
	// text reads a single value. Nil: it is none.
	text func(a at, s string) error
	// form describes the single value.
	form writing
	// list reads a list, block a mapping with known keys, names one with any. Nil: it is none.
	list  *list
	block func() block
	names *names
	// show writes what is in force as a config has it; empty: nothing is. Nil: the block does.
	show func() string
	// open begins a value that is off where it is not given; absent says that it is off. Nil:
	// the value is always there.
	open   func()
	absent func() bool
}

// writing describes how a single value is written: in words, and by the JSON Schemas of which
// one holds.
type writing func() (words string, schemas []any)

// list is a list of values of one kind.
type list struct {
	least, most int
	// clear drops what was there by default.
	clear func()
	// item binds a further one, which keep adds to the list.
	item func() (v value, keep func())
}

// names is a mapping whose keys are names.
type names struct {
	like        string
	least, most int
	clear       func()
	// entry binds the value of a key, which keep adds; an error refuses the key.
	entry func(key string) (v value, keep func(), err error)
	// sample is a key that is taken.
	sample string
}

// block is a mapping with known keys.
type block struct {
	like string // how it is written, for messages
	keys []key
	// filled refuses a mapping without keys.
	filled bool
	// check refuses what relates keys to each other, after all were read.
	check func(a at)
	// idle says that a key has no effect, so that it is not shown. Nil: all have one.
	idle func(key string) bool
}

// key is a row of the table of keys.
type key struct {
	name  string
	value value
	// def is the default: a text as it would be written; or in parentheses words for what
	// depends on other keys; or required. Empty: what the value shows before it is read.
	def string
	// says what the key is for, in a line.
	says string
}

// required is the default of a key that has none.
const required = "required"

// fixed reports whether the default is a text as it would be written.
func (k *key) fixed() bool { return k.def != "" && k.def != required && k.def[0] != '(' }

// at is where in a config something is read.
type at struct {
	r    *reader
	path string
	n    *node
}

// sub is the path of a key below.
func (a at) sub(key string) string { return below(a.path, key) }

// fail refuses what is read here.
func (a at) fail(format string, args ...any) { a.r.fail(a.n.at, a.path, format, args...) }

// failKey refuses the value of a key below.
func (a at) failKey(key, format string, args ...any) { a.r.failField(a.sub(key), format, args...) }

// given reports whether the file has a key, whatever stands there.
func (a at) given(key string) bool { _, is := a.r.where[a.sub(key)]; return is }

// failed reports whether a key was refused already; the empty key stands for all of it.
func (a at) failed(key string) bool {
	if key == "" {
		return a.r.failed(a.path)
	}
	return a.r.failed(a.sub(key))
}

// useless refuses those of some keys that are given: they have no effect, and why.
func (a at) useless(why string, keys ...string) {
	for _, key := range keys {
		if a.given(key) {
			a.failKey(key, "has no effect %s", why)
		}
	}
}

// either is a value that may be written in the ways of all of some values.
func either(all ...value) value {
	v := all[0]
	for _, o := range all[1:] {
		if o.text != nil {
			v.text, v.form = o.text, o.form
		}
		if o.list != nil {
			v.list = o.list
		}
		if o.block != nil {
			v.block = o.block
		}
	}
	return v
}

// optional binds a value to a pointer, which stays nil where it is not given.
func optional[T any](dst **T, of func(*T) value) value {
	t := *dst
	if t == nil {
		t = new(T)
	}
	v := of(t)
	v.open = func() { *dst = t }
	v.absent = func() bool { return *dst == nil }
	return v
}

// mapping is a block alone.
func mapping(like string, check func(a at), keys ...key) value {
	return value{block: func() block { return block{like: like, keys: keys, check: check} }}
}

// scalar is a single value of a type.
func scalar[T any](dst *T, f writing, parse func(string) (T, error), show func(T) string) value {
	return value{form: f, show: func() string { return show(*dst) }, text: func(_ at, s string) error {
		v, err := parse(s)
		if err == nil {
			*dst = v
		}
		return err
	}}
}

// listOf is a list of values, each of which item binds.
func listOf[T any](dst *[]T, least, most int, item func(*T) value) value {
	return value{list: &list{
		least: least, most: most, clear: func() { *dst = nil },
		item: func() (value, func()) { t := new(T); return item(t), func() { *dst = append(*dst, *t) } },
	}, show: func() string {
		if len(*dst) == 0 {
			return ""
		}
		var all []string
		for i := range *dst {
			v := item(&(*dst)[i])
			all = append(all, braced(v, v.shown()))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}}
}

// namesOf is a mapping of names to names.
func namesOf(dst *map[string]string, like string) value {
	var text string
	v := anyText(&text)
	return value{names: &names{
		like: like, most: maxNames, sample: "a", clear: func() { *dst = map[string]string{} },
		entry: func(key string) (value, func(), error) { return v, func() { (*dst)[key] = text }, nil },
	}, show: func() string {
		var all []string
		for _, name := range sortedKeys(*dst) {
			all = append(all, name+": "+(*dst)[name])
		}
		if len(all) == 0 {
			return ""
		}
		return "{" + strings.Join(all, ", ") + "}"
	}}
}

// orOff also takes off, for the zero value.
func orOff[T comparable](dst *T, v value) value { return offIs(dst, *new(T), v) }

// offIs also takes off, for a value that is none otherwise.
func offIs[T comparable](dst *T, off T, v value) value {
	text, f, show := v.text, v.form, v.show
	v.text = func(a at, s string) error {
		if s != "off" {
			return text(a, s)
		}
		*dst = off
		return nil
	}
	v.show = func() string {
		if *dst == off {
			return "off"
		}
		return show()
	}
	v.form = func() (string, []any) {
		words, schemas := f()
		return "`off`; or " + words, append([]any{map[string]any{"const": "off"}}, schemas...)
	}
	return v
}

// matching describes texts by a pattern; types are JSON's, other than string, of which values
// are written so.
func matching(words, pattern string, types ...any) writing {
	return func() (string, []any) {
		s := map[string]any{"type": "string"}
		if pattern != "" {
			s["pattern"] = pattern
		}
		if len(types) > 0 {
			s["type"] = append([]any{"string"}, types...)
		}
		return words, []any{s}
	}
}

// between describes plain numbers.
func between(kind string, least, most float64) writing {
	return func() (string, []any) {
		pattern := `^[+-]?[0-9]+$`
		if kind == "number" {
			pattern = `^-?[0-9]*\.?[0-9]+$`
		}
		return plain(least) + " to " + plain(most), []any{
			map[string]any{"type": kind, "minimum": least, "maximum": most}, map[string]any{"type": "string", "pattern": pattern},
		}
	}
}

// decimals is how a decimal number is written.
const decimals = `-?[0-9]*\.?[0-9]*`

// asIs shows a text in one line.
func asIs[T ~string](s T) string {
	if strings.Contains(string(s), "\n") {
		return strconv.Quote(string(s))
	}
	return string(s)
}

// anyText is a text of any kind; only an empty one is refused.
func anyText(dst *string) value {
	return scalar(dst, matching("text", "", "number", "boolean"), func(s string) (string, error) { return s, nil }, asIs)
}

// text is anyText, but an empty one is refused.
func text(dst *string) value { return word(dst, matching("text", "", "number", "boolean"), filled) }

// word is a text of a certain kind.
func word(dst *string, f writing, parse func(string) (string, error)) value {
	return scalar(dst, f, parse, asIs)
}

// shape is how texts of a kind are written: by a pattern, which the reader and the schema
// share.
type shape struct {
	words, example string
	pattern        *regexp.Regexp
}

func shaped(words, example, pattern string) shape {
	return shape{words, example, regexp.MustCompile(pattern)}
}

func (s shape) parse(text string) (string, error) {
	if !s.pattern.MatchString(text) {
		return "", fmt.Errorf("%s is not right: write %s, such as %s", quote(text), strings.ReplaceAll(s.words, "`", ""), s.example)
	}
	return text, nil
}

func (s shape) of(dst *string) value {
	return word(dst, matching(s.words, s.pattern.String()), s.parse)
}

// words is a list of texts.
func words(dst *[]string, least, most int, f writing, parse func(string) (string, error)) value {
	return listOf(dst, least, most, func(s *string) value { return word(s, f, parse) })
}

// boolean is true or false.
func boolean(dst *bool) value { return booleanOf(dst, true) }

// booleanOf sets dst to yes where the value is true.
func booleanOf(dst *bool, yes bool) value {
	return scalar(dst, matching("`true` or `false`", `^(true|false)$`, "boolean"), func(s string) (bool, error) {
		b, err := parseFlag(s)
		return b == yes, err
	}, func(b bool) string { return strconv.FormatBool(b == yes) })
}

// count is a whole number.
func count(dst *int, least, most int) value {
	return scalar(dst, between("integer", float64(least), float64(most)), func(s string) (int, error) { return parseCount(s, least, most) }, strconv.Itoa)
}

// span is a duration.
func span(dst *time.Duration, least, most time.Duration) value {
	return scalar(dst, func() (string, []any) {
		words, schemas := matching("duration", `^[+-]?([0-9]*\.?[0-9]*(ns|us|µs|μs|ms|s|m|h))+$`)()
		if least <= 0 {
			schemas = append(schemas, map[string]any{"const": 0})
		}
		return words + ", " + units.Span(least) + " to " + units.Span(most), schemas
	}, func(s string) (time.Duration, error) { return parseDuration(s, least, most) }, units.Span)
}

// amount is a size.
func amount(dst *int64, least, most int64) value {
	return scalar(dst, func() (string, []any) {
		words, schemas := matching("size", `^`+decimals+`\s*(B|kB|MB|GB|KiB|MiB|GiB|TiB)$`)()
		return words + ", " + size(least) + " to " + size(most), schemas
	}, func(s string) (int64, error) { return parseSize(s, least, most) }, size)
}

var inPercent = matching("in percent, such as `1%`", `^`+decimals+`\s*%$`)

// share is a share of the traffic, percentOf any other.
func share(dst *whittle.Share) value {
	return scalar(dst, inPercent, ParseShare, func(s whittle.Share) string { return percent(s.Percent() / 100) })
}

func percentOf(dst *float64) value { return scalar(dst, inPercent, parsePercent, percent) }

// fraction is a number of which both 0.1 and 10% are written.
func fraction(dst *float64, least, most float64) value {
	return scalar(dst, func() (string, []any) {
		words, schemas := between("number", least, most)()
		also, more := inPercent()
		return words + "; or " + also, append(schemas, more...)
	}, func(s string) (float64, error) { return parseFraction(s, least, most) }, plain)
}

// confidence is a probability.
func confidence(dst *float64) value { return fraction(dst, 0.5, 0.999999) }

// multiple is "1.5x".
func multiple(dst *float64) value {
	return scalar(dst, matching("multiple, such as `1.5x`", `^`+decimals+`\s*x$`), parseMultiple, func(v float64) string { return number(v) + "x" })
}

// multipleOrOff is a multiple, or off (or 0).
func multipleOrOff(dst *float64) value {
	v := orOff(dst, multiple(dst))
	text, f := v.text, v.form
	v.text = func(a at, s string) error {
		if s == "0" {
			s = "off"
		}
		return text(a, s)
	}
	v.form = func() (string, []any) {
		words, schemas := f()
		return words, append(schemas, map[string]any{"const": 0})
	}
	return v
}

// choice is one of some words, each of which stands for one of the values.
func choice[T comparable](dst *T, all []string, values ...T) value {
	return scalar(dst, oneOfForm(all), func(s string) (v T, err error) {
		if s, err = oneOf(s, all); err == nil {
			v = values[slices.Index(all, s)]
		}
		return v, err
	}, func(v T) string {
		if i := slices.Index(values, v); i >= 0 {
			return all[i]
		}
		return fmt.Sprint(v)
	})
}

// chosen is one of some words that stand for themselves.
func chosen[T ~string](dst *T, all []T) value { return choice(dst, texts(all), all...) }

func oneOfForm(all []string) writing {
	return func() (string, []any) {
		enum := []any{}
		for _, w := range all {
			enum = append(enum, w)
			if n, err := strconv.ParseFloat(w, 64); err == nil {
				enum = append(enum, n) // without quotes
			}
		}
		return "`" + strings.Join(all, "`, `") + "`", []any{map[string]any{"enum": enum}}
	}
}

// file is the name of a file, relative to the folder of whichever file of the config has it.
func file(dst *string) value {
	v := folder(dst)
	text := v.text
	v.text = func(a at, s string) error {
		if strings.HasSuffix(s, "/") {
			return fmt.Errorf("%s is the name of a folder: write that of a file", quote(s))
		}
		return text(a, s)
	}
	return v
}

// folder is the name of one.
func folder(dst *string) value {
	v := text(dst)
	v.text = func(a at, s string) error {
		if err := pathFault(s); err != nil {
			return err
		}
		*dst = a.r.resolve(s)
		a.r.files[a.path] = *dst
		return nil
	}
	return v
}

// kept is a text that may be a secret, which the config cannot hold since it lies in
// repositories: it is in a file or in the environment.
type kept struct {
	name      string
	into      *string
	file, env string
}

// keys are NAME_file and NAME_env. What they hold is never shown.
func (k *kept) keys(def, says string) []key {
	inFile, inEnv := file(&k.file), text(&k.env)
	inFile.show = func() string {
		if *k.into == "" {
			return ""
		}
		return "(this or " + k.name + "_env is set)"
	}
	inEnv.show = func() string { return "" }
	return []key{
		{k.name + "_file", inFile, def, "a file with " + says},
		{k.name + "_env", inEnv, def, "an environment variable with " + says},
	}
}

// read gives the text, and the field that says where it is. Empty: neither key is given, or
// it cannot be read. No message shows it.
func (k *kept) read(a at) (text, field string, given bool) {
	inFile, inEnv := k.name+"_file", k.name+"_env"
	fromFile, fromEnv := k.file != "", k.env != ""
	switch {
	case fromFile && fromEnv:
		a.failKey(inEnv, "cannot be set together with %s; keep one of them", inFile)
	case fromFile:
		b, err := a.r.readFile(k.file)
		if err != nil {
			a.failKey(inFile, "cannot be read: %v", err)
			break
		}
		text, field = string(b), a.sub(inFile)
	case fromEnv:
		v, ok := a.r.env(k.env)
		if !ok {
			a.failKey(inEnv, "the environment variable %s is not set", quote(k.env))
			break
		}
		text, field = v, a.sub(inEnv)
	}
	return strings.TrimSpace(text), field, a.given(inFile) || a.given(inEnv)
}

// A token of minToken characters cannot be guessed online; one of more than maxToken fits in no header.
const (
	minToken = 16
	maxToken = 4096
)

// secret reads one word. It reports whether one was given.
func (k *kept) secret(a at) (given bool) {
	text, field, given := k.read(a)
	if *k.into = text; field != "" && (len(text) < minToken || len(text) > maxToken || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })) {
		a.r.failField(field, "holds no secret: one word of %d to %d visible ASCII characters is needed, such as 32 random hex digits", minToken, maxToken)
	}
	return given
}
