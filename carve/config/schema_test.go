package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle/internal/units"
)

// family is a way in which values are written. A value is of it if one of the samples
// is taken; so a parser that somebody adds is described by what it does.
type family struct {
	name    string // in the guide
	samples []string
	not     string // a text that others take
	pattern string
	types   []string // JSON types other than string that are written so
	only    bool     // of no other family, though it may take their samples
}

// taken gives the sample that is taken.
func (f family) taken(taken func(string) error, but []string) (string, bool) {
	if f.not != "" && taken(f.not) == nil {
		return "", false
	}
	for _, text := range f.samples {
		if !slices.Contains(but, text) && taken(text) == nil {
			return text, true
		}
	}
	return "", false
}

// number is how a decimal number is written.
const decimals = `-?[0-9]*\.?[0-9]*`

// anything comes first: a value that takes any text is of no other family.
var families = []family{
	{name: "text", samples: []string{"no such word ☃ {}"}, types: []string{"number", "boolean"}, only: true},
	{name: "name of a server or a service", samples: []string{"app.internal"}, not: "no+name", pattern: `^[A-Za-z0-9._:-]+$`, only: true},
	{name: "letters, digits, `-` and `_`", samples: []string{"no-name_1"}, not: "no+name", pattern: `^[A-Za-z0-9_-]{1,64}$`, only: true},
	{name: "`embedded`, or `nats://` or `tls://` URLs, separated by commas", samples: []string{"nats://h,tls://g"}, not: "http://h", pattern: `^\s*(nats|tls)://[^/?#\s]+|^embedded$`, only: true},
	{name: "path with an optional query", samples: []string{"/healthz?full=1"}, not: "GET /a", pattern: `^/[^#\s]*$`, only: true},
	{name: "header's name", samples: []string{"X-Build", "ETag", "Location"}, pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", only: true},
	{name: "`true` or `false`", samples: []string{"true"}, pattern: `^(true|false)$`, types: []string{"boolean"}},
	{name: "`off`", samples: []string{"off"}, pattern: `^off$`},
	{name: "`all`", samples: []string{"all"}, pattern: `^all$`},
	{name: "`none`", samples: []string{"none"}, pattern: `^none$`},
	{name: "`address`", samples: []string{"address"}, pattern: `^address$`},
	{name: "multiple, such as `1.5x`", samples: []string{"1.5x", "2x"}, pattern: `^` + decimals + `\s*x$`},
	{name: "in percent, such as `1%`", samples: []string{"1%", "0.1%", "50%", "99%"}, pattern: `^` + decimals + `\s*%$`},
	{name: "duration", samples: []string{"1ms", "1s", "30s", "1m", "5m", "1h", "24h", "720h"}, pattern: `^[+-]?([0-9]*\.?[0-9]*(ns|us|µs|μs|ms|s|m|h))+$`},
	{name: "size", samples: []string{"1B", "64KiB", "2MiB", "1GiB"}, pattern: `^` + decimals + `\s*(B|kB|MB|GB|KiB|MiB|GiB|TiB)$`},
	{name: "`h2c://` URL", samples: []string{"h2c://h"}, pattern: `^h2c://[^?#\s]+$`},
	{name: "`http://` or `https://` URL", samples: []string{"http://h"}, not: "http://h/?k=1", pattern: `^https?://[^?#\s]+$`},
	{name: "`http://` or `https://` URL, with a query or without", samples: []string{"http://h/?k=1"}, pattern: `^https?://[^#\s]+$`},
	{name: "`srv+http://`, `srv+https://` or `srv+h2c://` URL", samples: []string{"srv+http://h"}, pattern: `^srv\+(https?|h2c)://[^?#\s]+$`},
	{name: "`unix:///` URL", samples: []string{"unix:///a"}, pattern: `^unix:///[^?#%]+$`},
	{name: "range, such as `200-399`", samples: []string{"200-399"}, pattern: `^[0-9]+\s*-\s*[0-9]+$`},
	{name: "HOST:PORT", samples: []string{"127.0.0.1:8080"}, pattern: `^[^/@\s]*:[0-9]{1,5}$`},
	{name: "`unix:PATH`", samples: []string{"unix:/run/s"}, not: "none/s", pattern: `^unix:.`},
	{name: "mode, such as `\"0660\"`", samples: []string{"0660"}, not: "8", pattern: `^0[0-7]{3}$`},
	{name: "network, such as `10.0.0.0/8`", samples: []string{"10.0.0.0/8"}, not: "p.S/M", pattern: `^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$`},
	{name: "`header:NAME` or `response_header:NAME`", samples: []string{"response_header:X-User"}, pattern: `^(response_)?header:[^\s:]+$`},
	{name: "`header:NAME` or `cookie:NAME`", samples: []string{"header:X-User"}, not: "response_header:X-User", pattern: `^(header|cookie): *[^\s:]+ *$`},
	{name: "`METHOD /path` or `/path`", samples: []string{"GET /a"}, pattern: `^\s*([A-Z0-9_-]+\s+)?/[^\s?#]*\s*$`},
	{name: "`package.Service/Method`", samples: []string{"p.S/M"}, not: "text/plain; charset=utf-8", pattern: `^/?[^/\s]+/[^/\s]+$`},
	{name: "path, such as `/twirp`", samples: []string{"/twirp"}, not: "GET /a", pattern: `^/[^?#\s]*$`},
	{name: "rate, such as `100/s`, `30/m` or `500/h`", samples: []string{"100/s"}, not: "p.S/M", pattern: `^[1-9][0-9]*/[smh]$`},
	{name: "media type", samples: []string{"text/plain; charset=utf-8"}, pattern: `^[^/\s]+/[^/\s]`},
	{name: "`NAME=VALUE`", samples: []string{"X-Beta=1"}, pattern: `^[^=\s]+\s*=`},
	{name: "JSON path", samples: []string{"$.x"}, pattern: `^\$([.\[]|$)`},
}

// described is one way to write a value: its schema, and in words.
type described struct {
	schema map[string]any
	words  string
}

// ways says how a single value may be written, by what its parser takes.
func ways(t testing.TB, path string, taken func(string) error) []described {
	t.Helper()
	var out []described
	words := []string(nil)
	if u, ok := errors.AsType[*unknownWord](taken("no such word")); ok {
		words = u.words
		names := make([]string, len(words))
		values := []any{}
		for i, w := range words {
			names[i], values = "`"+w+"`", append(values, w)
		}
		for _, w := range words {
			if n, err := strconv.ParseFloat(w, 64); err == nil {
				values = append(values, n) // without quotes
			}
		}
		out = append(out, described{map[string]any{"enum": values}, strings.Join(names, ", ")})
	}
	if d, ok := numeric(taken); ok {
		out = append(out, d)
	}
	for _, f := range families {
		if _, ok := f.taken(taken, words); !ok {
			continue
		}
		d := described{schema: map[string]any{"type": append([]string{"string"}, f.types...)}, words: f.name}
		if len(f.types) == 0 {
			d.schema["type"] = "string"
		}
		if f.pattern != "" {
			d.schema["pattern"] = f.pattern
		}
		d.words += bounds(f.name, taken)
		if f.only {
			return []described{d}
		}
		out = append(out, d)
	}
	if len(out) == 0 {
		t.Errorf("%s: no family of schema_test.go says how it is written: add one, with a sample that its parser takes", path)
	}
	return out
}

// numeric says which plain numbers are taken, if any.
func numeric(taken func(string) error) (described, bool) {
	write := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	takes := func(v float64) bool { return taken(write(v)) == nil }
	if takes(-1) && takes(0.75) && takes(1e12) {
		return described{map[string]any{"anyOf": []any{
			map[string]any{"type": "number"}, map[string]any{"type": "string", "pattern": `^-?[0-9]*\.?[0-9]+$`},
		}}, "number"}, true
	}
	for _, inside := range []float64{1, 0.75, 7, 50, 250, 5000, 1e6} {
		if !takes(inside) || takes(-1) || takes(1e12) {
			continue
		}
		kind, pattern, step := "number", `^-?[0-9]*\.?[0-9]+$`, 1e-6
		switch {
		case !takes(inside+0.25) && !takes(inside-0.25):
			kind, pattern, step = "integer", `^[+-]?[0-9]+$`, 1
		case !takes(inside+0.005) && !takes(inside-0.005):
			step = 0.01
		}
		least, most := edge(takes, inside, -1, step), edge(takes, inside, 1e12, step)
		return described{map[string]any{"anyOf": []any{
			map[string]any{"type": kind, "minimum": least, "maximum": most},
			map[string]any{"type": "string", "pattern": pattern},
		}}, fmt.Sprintf("%s to %s", write(least), write(most))}, true
	}
	if takes(0) {
		return described{map[string]any{"const": 0}, "0"}, true
	}
	return described{}, false
}

// edge is the last number that is taken on the way from one that is to one that is not.
func edge(takes func(float64) bool, in, out, step float64) float64 {
	for math.Abs(out-in) > step*1.5 {
		if middle := math.Round((in+out)/2/step) * step; takes(math.Round(middle*1e6) / 1e6) {
			in = middle
		} else {
			out = middle
		}
	}
	return math.Round(in*1e6) / 1e6
}

// bounds are those of a duration or a size, which a pattern cannot say.
func bounds(name string, taken func(string) error) string {
	var samples []int64
	var write func(int64) string
	var show func(int64) string
	switch name {
	case "duration":
		samples = []int64{int64(time.Millisecond), int64(time.Second), int64(time.Minute), int64(time.Hour), int64(day)}
		write = func(n int64) string { return time.Duration(n).String() }
		show = func(n int64) string { return units.Span(time.Duration(n)) }
	case "size":
		samples = []int64{1, kib, mib, gib}
		write = func(n int64) string { return strconv.FormatInt(n, 10) + "B" }
		show = size
	default:
		return ""
	}
	for _, inside := range samples {
		if taken(write(inside)) == nil {
			search := func(out int64) int64 {
				in := inside
				for max(in, out)-min(in, out) > 1 {
					if middle := in + (out-in)/2; taken(write(middle)) == nil {
						in = middle
					} else {
						out = middle
					}
				}
				return in
			}
			return ", " + show(search(-1)) + " to " + show(search(math.MaxInt64/2))
		}
	}
	return ""
}

// fromEnvironment is what every value may be, as a whole or in part.
var fromEnvironment = map[string]any{"type": "string", "pattern": `\$\{`}

// schemaOf describes a field and all below it.
func schemaOf(t testing.TB, x *explored, g guide, path string) map[string]any {
	t.Helper()
	var ways []any
	if x.kinds[path][isScalar] {
		var each []any
		free := false
		for _, w := range x.ways(t, path) {
			each = append(each, w.schema)
			free = free || w.words == families[0].name
		}
		if !free {
			each = append(each, fromEnvironment)
		}
		ways = append(ways, each...)
	}
	if x.kinds[path][isSequence] {
		list := map[string]any{"type": "array", "items": schemaOf(t, x, g, path+"[]")}
		if most := x.lists[path]; most > 0 {
			list["maxItems"] = most
		}
		if more(x.faultsAt(path, isSequence, func(n *node) { n.items = nil }), x.faultsAt(path, isSequence, func(*node) {})) {
			list["minItems"] = 1
		}
		ways = append(ways, list)
	}
	if x.kinds[path][isMapping] {
		ways = append(ways, mappingOf(t, x, g, path))
	}
	if len(ways) == 0 {
		t.Fatalf("%s is read as nothing that schema_test.go knows", path)
	}
	out := map[string]any{"anyOf": ways}
	if len(ways) == 1 {
		out = ways[0].(map[string]any)
	}
	if row, ok := g.row(path); ok {
		out["description"] = row.text()
		if row.def == "required" {
			out["description"] = row.says
		}
	}
	return out
}

func (x *explored) ways(t testing.TB, path string) []described {
	return ways(t, path, x.texts[path])
}

func mappingOf(t testing.TB, x *explored, g guide, path string) map[string]any {
	t.Helper()
	out := map[string]any{"type": "object", "additionalProperties": false}
	properties, required := map[string]any{}, []string{}
	for _, key := range x.keys[path] {
		properties[key] = schemaOf(t, x, g, below(path, key))
		if x.required(path, key) {
			required = append(required, key)
		}
	}
	if !x.closed[path] {
		out["additionalProperties"] = schemaOf(t, x, g, below(path, anyKey))
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	if path == "" {
		return out
	}
	asGiven := x.faultsAt(path, isMapping, func(*node) {})
	if more(x.faultsAt(path, isMapping, func(n *node) { n.entries = nil }), asGiven) {
		out["minProperties"] = 1
	}
	if !x.closed[path] && more(x.faultsAt(path, isMapping, func(n *node) {
		n.entries = append(slices.Clone(n.entries), entry{key: anyKey + "y", value: n.entries[0].value})
	}), asGiven) {
		out["maxProperties"] = 1
	}
	return out
}

// more reports whether there is a fault among many that is not among few.
func more(many, few []string) bool {
	return slices.ContainsFunc(many, func(s string) bool {
		return !slices.Contains(few, s) && !strings.HasPrefix(s, "has no effect")
	})
}

// guide has the rows of the tables in docs/config.md.
type guide []guideRow

type guideRow struct {
	around  []string // names in the section's heading
	parents []string // names before the colon
	keys    []string
	def     string
	says    string
}

// text is what an editor shows.
func (r guideRow) text() string {
	if r.def == "" {
		return r.says
	}
	return r.says + ". Default: " + r.def
}

var (
	spans = regexp.MustCompile("`([^`]+)`")
	links = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
)

func names(s string) (out []string) {
	for _, m := range spans.FindAllStringSubmatch(s, -1) {
		out = append(out, m[1])
	}
	return out
}

func readGuide(t testing.TB) guide {
	t.Helper()
	text, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	var g guide
	var heading []string
	def := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			heading, def = names(line), 0
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if i := slices.Index(trimmed(cells), "default"); i > 0 && strings.HasPrefix(line, "|") {
			def = i
			continue
		}
		if def == 0 || !strings.HasPrefix(line, "| `") || len(cells) < def+2 {
			continue
		}
		cells = trimmed(cells)
		row := guideRow{around: heading, keys: names(cells[0]), def: links.ReplaceAllString(cells[def], "$1"), says: links.ReplaceAllString(strings.Join(cells[def+1:], "|"), "$1")}
		if i := strings.LastIndex(cells[0], "`:"); i >= 0 {
			row.parents, row.keys = names(cells[0][:i+1]), names(cells[0][i+1:])
		}
		g = append(g, row)
	}
	return g
}

func trimmed(cells []string) (out []string) {
	for _, c := range cells {
		out = append(out, strings.TrimSpace(c))
	}
	return out
}

// row is what the guide says of a field: of those that name it the one that names most
// of what it is in.
func (g guide) row(path string) (guideRow, bool) {
	parts := strings.Split(strings.ReplaceAll(path, "[]", ""), ".")
	key, around := parts[len(parts)-1], parts[:len(parts)-1]
	best, found := -1, guideRow{}
	for _, row := range g {
		if !slices.Contains(row.keys, key) || slices.ContainsFunc(row.parents, func(p string) bool { return !slices.Contains(around, p) }) {
			continue
		}
		in := append(slices.Clone(row.around), row.parents...)
		if len(around) > 0 && !slices.Contains(in, around[len(around)-1]) || len(around) == 0 && len(row.around) > 0 {
			continue
		}
		score := 2 * len(row.parents)
		for _, name := range row.around {
			if slices.Contains(around, name) {
				score++
			}
		}
		if score > best {
			best, found = score, row
		}
	}
	found.def = found.defaultOf(key, around)
	return found, best >= 0
}

// defaultOf is the default of one key of a row that has several, or of one side.
func (r guideRow) defaultOf(key string, around []string) string {
	if each := names(r.def); len(each) == len(r.keys) && len(each) > 1 {
		return "`" + each[slices.Index(r.keys, key)] + "`"
	}
	monolith, candidate, ok := strings.Cut(r.def, ", candidate ")
	switch {
	case !ok:
		return r.def
	case slices.Contains(around, "candidate"):
		return candidate
	}
	return strings.TrimPrefix(monolith, "monolith ")
}

// names reports whether the guide names a field, if not in a row of its own then in
// that of what it is in.
func (g guide) names(path string) bool {
	if _, ok := g.row(path); ok {
		return true
	}
	i := strings.LastIndexByte(path, '.')
	row, ok := g.row(path[:max(i, 0)])
	return ok && slices.Contains(names(row.says), path[i+1:]) || slices.ContainsFunc(g, func(row guideRow) bool {
		return slices.Contains(row.around, path[i+1:]) || slices.Contains(row.parents, path[i+1:])
	})
}

// The schema of a config, as whittle schema prints it.
const schemaFile = "whittle.schema.json"

func theSchema(t testing.TB) []byte {
	t.Helper()
	x := explore()
	s := schemaOf(t, x, readGuide(t), "")
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["title"] = "whittle.yaml"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSchema holds the schema to the reader, and to the words of the guide: a field
// that is added to either and not to the other fails here, and so does a schema that
// was not written anew.
func TestSchema(t *testing.T) {
	golden(t, schemaFile, string(theSchema(t)))
}

// TestGuide holds the guide to the reader: every field that can be set has its row in
// docs/config.md, or is named in the row of the mapping that it is in.
func TestGuide(t *testing.T) {
	x, g := explore(), readGuide(t)
	for mapping, keys := range x.keys {
		for _, key := range keys {
			if path := below(mapping, key); !g.names(path) {
				t.Errorf("docs/config.md has no row for `%s` (%s), and that of what it is in does not name it", key, path)
			}
		}
	}
	src, err := os.ReadFile("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := newReader("whittle.yaml")
	r.survey = newSurvey()
	r.parse(src, readable(t))
	if len(r.survey.keys) < 20 {
		t.Errorf("only %d mappings are known", len(r.survey.keys))
	}
	for mapping, keys := range r.survey.keys {
		for _, key := range keys {
			if !slices.Contains(x.keys[mapping], key) {
				t.Errorf("%s is read, and was not found by trying", below(mapping, key))
			}
		}
	}
}

// TestKeys holds docs/config-keys.md to the reader: each field, how it is written and
// its default.
func TestKeys(t *testing.T) {
	x, g := explore(), readGuide(t)
	var b strings.Builder
	b.WriteString("# Every key of whittle.yaml\n\nMade from what the reader takes (`go test ./carve/config -update`); [config.md](config.md) says what each is for. Any value may be `${NAME}`.\n\n| key | written as | default |\n|---|---|---|\n")
	var walk func(path string)
	walk = func(path string) {
		for _, key := range slices.Sorted(slices.Values(x.keys[path])) {
			p := below(path, key)
			def := ""
			if row, ok := g.row(p); ok {
				def = row.def
			}
			if x.required(path, key) {
				def = "required"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p, x.written(t, p), def)
			walk(p)
			walk(p + "[]")
		}
	}
	walk("")
	golden(t, "../../docs/config-keys.md", b.String())
}

// written says in words how a field is given.
func (x *explored) written(t testing.TB, path string) string {
	var forms []string
	if x.kinds[path][isScalar] {
		for _, w := range x.ways(t, path) {
			forms = append(forms, w.words)
		}
	}
	if x.kinds[path][isSequence] {
		form, item := "list of: ", "mappings"
		if most := x.lists[path]; most > 0 {
			form = fmt.Sprintf("list (%d at most) of: ", most)
		}
		if x.kinds[path+"[]"][isScalar] {
			item = x.written(t, path+"[]")
		}
		forms = append(forms, form+item)
	}
	if x.kinds[path][isMapping] {
		form := "mapping"
		if !x.closed[path] {
			form = "mapping of names to: " + x.written(t, below(path, anyKey))
		}
		forms = append(forms, form)
	}
	return strings.Join(forms, "; or ")
}

// TestTheReaderIsExplored: what every kind of reading function reads was found.
func TestTheReaderIsExplored(t *testing.T) {
	x := explore()
	for path, want := range map[string][]kind{
		"monolith":                           {isScalar, isMapping, isSequence},
		"monolith.url":                       {isScalar, isSequence},
		"admin":                              {isScalar, isMapping},
		"limits.connections":                 {isScalar},
		"routes":                             {isSequence},
		"routes[]":                           {isMapping},
		"routes[].dry_run":                   {isMapping},
		"routes[].compare":                   {isScalar, isMapping},
		"routes[].compare.headers":           {isScalar, isMapping, isSequence},
		"routes[].compare.form":              {isMapping},
		"routes[].compare.form.$.any":        {isScalar},
		"routes[].candidate.rpc.words.$.any": {isScalar},
		"routes[].candidate.request.nulls":   {isSequence},
		"routes[].compare.expect[].reason":   {isScalar},
		"routes[].rollout.steps[]":           {isScalar},
		"routes[].candidate.response.nulls":  {isSequence},
	} {
		if got := slices.Sorted(maps.Keys(x.kinds[path])); !slices.Equal(got, want) {
			t.Errorf("%s is read as %v, want %v", path, got, want)
		}
	}
}
