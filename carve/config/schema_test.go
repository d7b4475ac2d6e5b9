package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"whittle/internal/fatal"
)

// rows gives each row of the table of keys with its path, which has [] behind a list. Of a
// value that may be a mapping or a list of them the rows come once.
func rows(v value, path string, yield func(path string, k key)) {
	if v.list != nil {
		if item, _ := v.list.item(); item.block != nil {
			v, path = item, path+"[]"
		}
	}
	if v.block == nil {
		return
	}
	for _, k := range v.block().keys {
		yield(below(path, k.name), k)
		rows(k.value, below(path, k.name), yield)
	}
}

// TestKeys writes docs/config-keys.md from the table, and holds each row to what a row is: it
// says what the key is for in a line, and its default is what the reader takes.
func TestKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Every key of whittle.yaml\n\n" +
		"Which keys are there? In parentheses: what a value may be, and its default. " +
		"[Configuration by task](config.md) shows how to use them, and [how values are written](config.md#write-values). " +
		"`NAME_file` names a file; `NAME_env` names an environment variable instead.\n\n" +
		"Keys that mappings share are listed once. A `candidate` also has the keys of `monolith`, " +
		"`listen[].tls` those of `tls`, `fleet.tls` those of `monolith.tls`. A gate has those of `notify`, `total` and `value` of a query those of `bad`. " +
		"`go test ./carve/config -update` writes this page from the reader's table.\n")
	var sections []string
	page := map[string]string{} // by section
	shared := []struct{ below, like string }{
		{"routes[].candidate.", "monolith."},
		{"listen[].tls.", "tls."},
		{"fleet.tls.", "monolith.tls."},
		{"routes[].rollout.gates[].", "notify[]."},
		{"routes[].guard.query[].total.", "routes[].guard.query[].bad."},
		{"routes[].guard.query[].value.", "routes[].guard.query[].bad."},
	}
	listed := map[string]bool{} // by path and row
	f := mustParse(t, "monolith: http://127.0.0.1:3000")
	inForce := map[string]string{} // of what shows itself
	rows(f.config(), "", func(path string, k key) {
		if k.value.show != nil {
			inForce[path] = "`" + k.value.show() + "`"
		}
	})
	rows(new(File).config(), "", func(path string, k key) {
		if got, given := k.standard(), inForce[path]; k.def == "" && given != "" && got != given {
			t.Errorf("%s: its default is said to be %s, and is %s", path, got, given)
		}
		like := k.value.like()
		if k.value.block != nil && k.value.text == nil && k.value.list == nil {
			like = "mapping" // its keys follow
		}
		row := "`" + written(like, k.standard()) + ": " + k.says + "\n"
		_, elsewhere := strings.CutPrefix(k.says, "an environment variable with ") // as its NAME_file
		for _, s := range shared {
			below, is := strings.CutPrefix(path, s.below)
			elsewhere = elsewhere || is && listed[s.like+below+row]
		}
		if listed[path+row] = true; !elsewhere {
			of := sectionOf(path)
			if page[of] == "" {
				sections = append(sections, of)
			}
			page[of] += "- `" + path + strings.Replace(row, "a file with ", "", 1)
		}
		if k.says == "" || strings.ContainsAny(k.says, "\n|") {
			t.Errorf("%s: %q is no line", path, k.says)
		}
		r := newReader("whittle.yaml", readable(t))
		if k.fixed() {
			n, err := parseYAML([]byte(k.def))
			if err != nil || !r.read(k.value, n, path) {
				t.Errorf("%s: its default %s: %v, %v", path, k.def, err, r.err())
			}
		}
	})
	for _, of := range sections {
		b.WriteString("\n## " + of + "\n\n" + page[of])
	}
	golden(t, "../../docs/config-keys.md", b.String())
}

// sectionOf is the part of the page that has a key: its first word, of a route's key two.
func sectionOf(path string) string {
	words := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	switch {
	case slices.Contains([]string{"state", "underscores_in_headers", "include"}, words[0]):
		return "others"
	case len(words) > 1 && slices.Contains([]string{"candidate", "compare", "mirror", "rollout", "steer", "guard"}, words[1]):
		return words[1] + " of a route"
	}
	return words[0]
}

// written says in parentheses how a value is written and what its default is. Words that the
// default makes needless are left out.
func written(like, standard string) string {
	fixed := strings.HasPrefix(standard, "`")
	if items, is := strings.CutPrefix(like, "a list of "); is {
		like = strings.TrimSuffix("list: "+items, ": text")
	}
	var all []string
	switch bounds := strings.NewReplacer("duration, ", "", "size, ", "", "in percent, such as 1%", "in percent").Replace(like); {
	case like == "text", like == "mapping", fixed && like == "true or false", fixed && bounds == "in percent":
	case fixed:
		all = append(all, bounds)
	default:
		all = append(all, like)
	}
	if standard != "" && standard != "none" {
		all = append(all, standard)
	}
	if all == nil {
		return ""
	}
	return " (" + strings.Join(all, "; ") + ")"
}

func compiled(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	fatal.If(t, err)
	c := jsonschema.NewCompiler()
	fatal.If(t, c.AddResource("whittle.schema.json", doc))
	s, err := c.Compile("whittle.schema.json")
	fatal.If(t, err)
	return s
}

// valid says what the schema has against a YAML text, read as an editor reads it.
func valid(t testing.TB, s *jsonschema.Schema, src string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(src), &v); err != nil {
		return err
	}
	b, err := json.Marshal(v)
	fatal.If(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	fatal.If(t, err)
	return s.Validate(doc)
}

// including says what the reader has against a config with an included file.
func including(t testing.TB, config, src string, read func(string) ([]byte, error)) error {
	t.Helper()
	r := newReader("whittle.yaml", func(path string) ([]byte, error) {
		if path == "routes.yaml" {
			return []byte(src), nil
		}
		return read(path)
	})
	r.listed = func(string) ([]string, error) { return []string{"routes.yaml"}, nil }
	_, err := r.parse([]byte(config))
	return err
}

// TestTheSchemaAgreesWithTheReader holds them to each other on testdata/corpus.txt, in which
// each config is good, bad, or bad in a way that is beyond a schema: a relation between keys,
// the environment, another file, a range of durations or sizes. A text without monolith: is a
// route's, one that begins with a blank is a candidate's, and so is said only what matters.
func TestTheSchemaAgreesWithTheReader(t *testing.T) {
	t.Setenv("WHITTLE_TEST_HOST", "127.0.0.1")
	s, included := compiled(t, Schema()), compiled(t, IncludedSchema())
	text := fatal.Read(t, "testdata/corpus.txt")
	for line := range strings.Lines(text) {
		verdict, src, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		src = strings.ReplaceAll(src, `\n`, "\n")
		if strings.HasPrefix(src, " ") {
			if src = "match: GET /a\n" + src[1:]; !strings.Contains(src, "candidate:") {
				src += "\ncandidate: http://c"
			}
		}
		if strings.HasPrefix(src, "match:") || strings.HasPrefix(src, "candidate:") {
			src = "monolith: http://h\nroutes:\n  - " + strings.ReplaceAll(src, "\n", "\n    ")
		}
		_, err := Parse("whittle.yaml", []byte(src), readable(t))
		fatal.Same(t, err == nil, verdict == "good", "%s: %v", src, err)
		if err := valid(t, s, src); (err == nil) == (verdict == "bad") {
			t.Errorf("%s\nis %s; the schema says: %v", src, verdict, err)
		}
		if routes, alone := strings.CutPrefix(src, "monolith: http://h\nroutes:"); alone {
			if err := valid(t, included, "routes:"+routes); (err == nil) == (verdict == "bad") {
				t.Errorf("%s\nis %s; the schema of an included file says: %v", src, verdict, err)
			}
		}
	}
	for src, verdict := range map[string]string{
		"routes: []": "good", "routes: [{match: GET /a, candidate: http://c}]": "good", "{}": "good",
		"routes:": "bad", "routes: {match: GET /a}": "bad", "rutes: []": "bad", "monolith: http://h\nroutes: []": "bad",
		"include: more.yaml\nroutes: []": "bad", "[]": "bad", "just words": "bad", "routes: [{match: GET /a, guard: {errors: 1%}}]": "beyond",
	} {
		if err := valid(t, included, src); (err == nil) == (verdict == "bad") {
			t.Errorf("%s\nis %s; the schema of an included file says: %v", src, verdict, err)
		}
		if err := including(t, "monolith: http://h\ninclude: routes.yaml", src, readable(t)); (err == nil) != (verdict == "good") {
			t.Errorf("%s: not %s: %v", src, verdict, err)
		}
	}
	// The configs of testdata, of which no schema could name the faults of some.
	beyond := []string{
		"wrong-embedded", "wrong-embedded-peers", "wrong-environment", "wrong-hook-key", "wrong-not-embedded",
		"wrong-notice", "wrong-observer", "wrong-overlap", "wrong-query-server", "wrong-sink",
		"wrong-token-env", "wrong-token-file", "wrong-token-letters", "wrong-underscores", "wrong-viewers-alone", "wrong-viewers-order",
	}
	files, err := filepath.Glob("testdata/*.yaml")
	fatal.If(t, err)
	for _, path := range files {
		src := fatal.Read(t, path)
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		isBad := strings.HasPrefix(name, "wrong-") && !slices.Contains(beyond, name)
		if err := valid(t, s, src); (err != nil) != isBad {
			t.Errorf("%s: %v", path, err)
		}
	}
}

var fenced = regexp.MustCompile("(?ms)^( *)```ya?ml\n(.*?)^ *```")

// TestTheGuidesExamples: every config that a page shows, whole or in part, is taken by
// the schema and by the reader, and with a misspelt key by neither; and so are its routes in
// a file of their own.
func TestTheGuidesExamples(t *testing.T) {
	t.Setenv("WHITTLE_TEST_PORT", "3000")
	s, included := compiled(t, Schema()), compiled(t, IncludedSchema())
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		fatal.If(t, err)
		pages = append(pages, found...)
	}
	files := readable(t)
	read := func(path string) ([]byte, error) {
		switch {
		case strings.HasPrefix(path, "/run/secrets/") && strings.HasSuffix(path, ".url"):
			return []byte("https://hooks.example/x"), nil
		case strings.HasPrefix(path, "/run/secrets/"):
			return fmt.Appendf(nil, "%032s", filepath.Base(path)), nil
		}
		return files(path)
	}
	shown, alone := 0, 0
	for _, page := range pages {
		text := fatal.Read(t, page)
		for _, m := range fenced.FindAllStringSubmatch(text, -1) {
			src, ok := wholeConfig(t, strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n"))
			if !ok {
				continue
			}
			shown++
			r := newReader("whittle.yaml", read)
			r.listed = func(string) ([]string, error) { return nil, nil }
			_, err := r.parse([]byte(src))
			if err := errors.Join(err, valid(t, s, src)); err != nil {
				t.Errorf("%s: %v\n%s", page, err, src)
			}
			if err := valid(t, s, src+"\nmonolit: x\n"); err == nil {
				t.Errorf("%s: the schema takes a misspelt key", page)
			}
			config, routes := apart(t, src)
			if routes == "" {
				continue
			}
			alone++
			if err := errors.Join(valid(t, included, routes), including(t, config, routes, read)); err != nil {
				t.Errorf("%s: as an included file: %v\n%s", page, err, routes)
			}
		}
	}
	if shown < 8 || alone < 8 {
		t.Errorf("only %d examples were found, %d of them with routes", shown, alone)
	}
}

// apart puts an example's routes into a file of their own, which the rest includes. Empty:
// it has none.
func apart(t *testing.T, src string) (config, routes string) {
	t.Helper()
	var v map[string]yaml.Node // whose texts stay as they are written
	if err := yaml.Unmarshal([]byte(src), &v); err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	list, given := v["routes"]
	if !given {
		return src, ""
	}
	v["include"] = yaml.Node{Kind: yaml.ScalarNode, Value: "routes.yaml"}
	delete(v, "routes")
	text := func(v map[string]yaml.Node) string {
		b, err := yaml.Marshal(v)
		fatal.If(t, err)
		return string(b)
	}
	return text(v), text(map[string]yaml.Node{"routes": list})
}

// wholeConfig completes an example: a part of a route becomes a route, and a config
// without a monolith gets one. It is false for what is another program's file.
func wholeConfig(t *testing.T, src string) (string, bool) {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(src), &v); err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	for _, foreign := range []string{"scenarios", "openapi", "services", "apiVersion"} {
		if _, is := v[foreign]; is {
			return "", false
		}
	}
	keys := new(File).config().block().keys
	for name := range v {
		if !slices.ContainsFunc(keys, func(k key) bool { return k.name == name }) {
			if _, matched := v["match"]; !matched {
				src = "match: GET /a\ncandidate: http://c\n" + src
			}
			src = "routes:\n  - " + strings.ReplaceAll(strings.TrimSpace(src), "\n", "\n    ")
			break
		}
	}
	if _, given := v["monolith"]; !given {
		src = "monolith: http://h\n" + src
	}
	return src, true
}
