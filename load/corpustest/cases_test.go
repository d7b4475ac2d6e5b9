package corpustest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// testCase is one plan with what its tool sent for it.
type testCase struct {
	// Tool is the folder's name, Name the file's without its ending.
	Tool, Name string
	path       string
	// about are the directives, in the comment of the file.
	about about
	// files are those of the plan's folder.
	files map[string][]byte
	// sent is what was recorded; nil: nothing yet.
	sent []request
}

// about is what the comment of a case says.
type about struct {
	flags         []string // of whittle load, and of the tool where it has the same
	env           []string // NAME=VALUE
	note, refused string
	unordered     bool // users cannot be told apart
	anyWait       bool // waits are random
	anyCount      bool // how often a request comes depends on time
	masks         []mask
}

type mask struct {
	pattern *regexp.Regexp
	by      string
}

// request is one request as the server had it.
type request struct {
	// User numbers the connections.
	User int `json:"user"`
	// Wait is the pause before it, in steps of 100 ms.
	Wait    int               `json:"wait_ms,omitempty"`
	Method  string            `json:"method"`
	Target  string            `json:"target"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
}

// planNames are what a case's plan may be called.
var planNames = []string{"plan.yml", "plan.json", "plan.jmx"}

func (c *testCase) plan() string {
	for _, name := range planNames {
		if c.files[name] != nil {
			return name
		}
	}
	return ""
}

const recordedName = "sent"

// readCases reads the cases of a folder of tools.
func readCases(folder string) ([]*testCase, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*", "*.txtar"))
	if err != nil {
		return nil, err
	}
	var out []*testCase
	for _, path := range paths {
		c, err := readCase(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func readCase(path string) (*testCase, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	archive := txtar.Parse(src)
	c := &testCase{
		Tool: filepath.Base(filepath.Dir(path)), Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path,
		files: map[string][]byte{},
	}
	if c.about, err = readAbout(string(archive.Comment)); err != nil {
		return nil, err
	}
	for _, f := range archive.Files {
		if f.Name != recordedName {
			c.files[f.Name] = f.Data
			continue
		}
		c.sent = []request{}
		for line := range bytes.Lines(f.Data) {
			var q request
			if err := json.Unmarshal(line, &q); err != nil {
				return nil, err
			}
			c.sent = append(c.sent, q)
		}
	}
	if c.plan() == "" {
		return nil, fmt.Errorf("it has none of %v", planNames)
	}
	return c, nil
}

// readAbout reads lines of the form "word: value"; all others are for people.
func readAbout(comment string) (a about, err error) {
	for line := range strings.Lines(comment) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch word {
		case "flags":
			a.flags = words(value)
		case "env":
			a.env = append(a.env, words(value)...)
		case "note":
			a.note = value
		case "refused":
			a.refused = value
		case "order":
			a.unordered = value == "none"
		case "count":
			a.anyCount = value == "any"
		case "wait":
			a.anyWait = value == "any"
		case "mask":
			pattern, by, _ := strings.Cut(value, " => ")
			rx, err := regexp.Compile(pattern)
			if err != nil {
				return a, err
			}
			a.masks = append(a.masks, mask{rx, by})
		}
	}
	return a, nil
}

var word = regexp.MustCompile(`'[^']*'|\S+`)

// words splits a line at spaces that are not within single quotes.
func words(line string) []string {
	out := word.FindAllString(line, -1)
	for i, w := range out {
		out[i] = strings.Trim(w, "'")
	}
	return out
}

// unpack writes the plan's folder, with the server's address where TARGET stands.
func (c *testCase) unpack(folder, target string) error {
	for name, data := range c.files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(path, located(data, target), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// located is a text with the server's address in it.
func located(data []byte, target string) []byte {
	host, port, _ := strings.Cut(strings.TrimPrefix(target, "http://"), ":")
	return []byte(strings.NewReplacer("SERVERHOST", host, "SERVERPORT", port, "TARGET", target).Replace(string(data)))
}

// write puts what was recorded into the case's file.
func (c *testCase) write(sent []request) error {
	src, err := os.ReadFile(c.path)
	if err != nil {
		return err
	}
	archive := txtar.Parse(src)
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == recordedName })
	var lines bytes.Buffer
	w := json.NewEncoder(&lines)
	w.SetEscapeHTML(false)
	for _, q := range sent {
		if err := w.Encode(q); err != nil {
			return err
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: recordedName, Data: lines.Bytes()})
	return os.WriteFile(c.path, txtar.Format(archive), 0o600)
}

// masked is a request with what is random in it replaced.
func (a *about) masked(q request) request {
	apply := func(s string) string {
		for _, m := range a.masks {
			s = m.pattern.ReplaceAllString(s, m.by)
		}
		return s
	}
	headers := map[string]string{}
	for name, v := range q.Headers {
		headers[name] = apply(v)
	}
	q.Target, q.Body, q.Headers = apply(q.Target), apply(q.Body), headers
	return q
}

// sequences are the requests of each user in their order, as lines, in an order of users
// that does not depend on when they came.
func (c *testCase) sequences(sent []request) []string {
	byUser := map[int]*strings.Builder{}
	var users []int
	for i, q := range sent {
		user := q.User
		if c.about.unordered || c.about.anyCount {
			user = i
		}
		if byUser[user] == nil {
			byUser[user] = &strings.Builder{}
			users = append(users, user)
		}
		q = c.about.masked(q)
		headers, _ := json.Marshal(q.Headers)
		fmt.Fprintf(byUser[user], "%s %s %s %q\n", q.Method, q.Target, headers, q.Body)
	}
	out := make([]string, len(users))
	for i, u := range users {
		out[i] = byUser[u].String()
	}
	slices.SortFunc(out, cmp.Compare[string])
	if c.about.anyCount {
		out = slices.Compact(out)
	}
	return out
}
