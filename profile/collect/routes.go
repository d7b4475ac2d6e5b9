package collect

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"whittle/profile"
)

// maxSource bounds a script that routes are looked for in.
const maxSource = 4 << 20

// routes find which endpoint a Node function serves, by how its source hands
// it to a router: app.post('/Count', (req, res) => …) on the line where the
// function begins, or app.post('/Count', count) anywhere in its file. Scripts
// that are not on this machine show nothing.
type routes struct {
	files map[string][]string // lines, by path
}

// ReadSources adds to a saved Node profile what only the sources show, as far as they
// are on this machine: endpoints, and what readLines says.
func ReadSources(p *profile.Profile) {
	p.LabelEndpoints(newRoutes().of, nil)
	readLines(context.Background(), nil, p)
}

func newRoutes() *routes { return &routes{files: map[string][]string{}} }

// registration is a call such as router.get("/things/:id", …, handler).
var registration = regexp.MustCompile("\\.(get|post|put|patch|delete|head|options|all)\\(\\s*['\"`](/[^'\"`]*)['\"`]\\s*,(.*)")

// word is a name, or a path of names with dots.
var word = regexp.MustCompile(`[\w$.]+`)

func (r *routes) of(f *profile.Function) string {
	if f.Owner != profile.Own || !filepath.IsAbs(f.File) || f.Line < 1 {
		return ""
	}
	lines := r.lines(f.File)
	if f.Line <= len(lines) {
		if m := registrationAt(lines[f.Line-1], f.Column); m != nil && strings.ContainsAny(m[3], "({") {
			return endpoint(m)
		}
	}
	if f.Name == "(anonymous)" {
		return ""
	}
	for _, line := range lines {
		if m := registration.FindStringSubmatch(line); m != nil && names(m[3], f.Name) {
			return endpoint(m)
		}
	}
	return ""
}

// registrationAt gives the last registration on a line that begins before a column, from
// 1: the one that a function there is handed to. Column 0, which is not known, means the
// only one.
func registrationAt(line string, column int) []string {
	var found []string
	for n, from := 0, 0; ; n++ {
		at := registration.FindStringSubmatchIndex(line[from:])
		switch {
		case at == nil || column > 0 && from+at[0] >= column:
			return found
		case column == 0 && n > 0:
			return nil
		}
		found = registration.FindStringSubmatch(line[from:])
		from += at[6] // where its arguments begin
	}
}

func endpoint(m []string) string {
	method := strings.ToUpper(m[1])
	if method == "ALL" {
		method = "*"
	}
	return method + " " + m[2]
}

// names says whether a function is among a call's arguments, by name.
func names(arguments, name string) bool {
	return slices.ContainsFunc(word.FindAllString(arguments, 64), func(word string) bool { return word == name || strings.HasSuffix(word, "."+name) })
}

func (r *routes) lines(path string) []string {
	if lines, ok := r.files[path]; ok {
		return lines
	}
	r.files[path] = nil
	if s, err := os.Stat(path); err != nil || !s.Mode().IsRegular() {
		return nil // to open a pipe would wait for whoever writes to it
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSource))
	if err != nil {
		return nil
	}
	r.files[path] = strings.Split(string(b), "\n")
	return r.files[path]
}
