package whittle_test

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

var (
	quoted     = regexp.MustCompile("`([a-z0-9_./-]+)`")
	braces     = regexp.MustCompile(`([a-z0-9_./-]*)\{([^}]+)\}`)
	required   = regexp.MustCompile(`(?m)^(?:\t|require )([a-z0-9.-]+\.[a-z]+/\S+) v\S+$`)
	generation = regexp.MustCompile(`/v\d+$`)
	loopRow    = regexp.MustCompile("(?m)^\\| (`[a-zA-Z]+`(?:, `[a-zA-Z]+`)*) \\| ")
)

// TestDesignNamesWhatIsThere: each file, folder and step of the core loop that DESIGN.md
// names is in the tree, and each module that go.mod asks for is in its table.
func TestDesignNamesWhatIsThere(t *testing.T) {
	design := fatal.Read(t, "DESIGN.md")
	for _, m := range quoted.FindAllStringSubmatch(design, -1) {
		name := m[1]
		if !strings.HasSuffix(name, ".go") && (!strings.Contains(name, "/") || strings.Contains(path.Dir(name), ".")) {
			continue // no file, or a module
		}
		found, _ := filepath.Glob(name) // the pattern is right
		for _, room := range []string{"carve/gateway", "carve/control", "carve/compare"} {
			more, _ := filepath.Glob(filepath.Join(room, name))
			found = append(found, more...)
		}
		if len(found) == 0 {
			t.Errorf("DESIGN.md names %s, which is not there", name)
		}
	}
	var loop strings.Builder
	for _, file := range []string{"loop.go", "evidence.go", "disk.go"} {
		loop.WriteString(fatal.Read(t, filepath.Join("carve/control", file)))
	}
	_, steps, _ := strings.Cut(design, "## The core loop")
	steps, _, _ = strings.Cut(steps, "\n- ")
	count := 0
	for _, row := range loopRow.FindAllStringSubmatch(steps, -1) {
		for _, m := range regexp.MustCompile("`([a-zA-Z]+)`").FindAllStringSubmatch(row[1], -1) {
			count++
			if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + m[1] + `\(`).MatchString(loop.String()) {
				t.Errorf("DESIGN.md names the step %s, which carve/control does not have", m[1])
			}
		}
	}
	if count < 8 {
		t.Errorf("only %d steps of the core loop were found", count)
	}
	named := braces.ReplaceAllStringFunc(design, func(s string) string {
		m := braces.FindStringSubmatch(s)
		var all []string
		for _, end := range strings.Split(m[2], ",") {
			all = append(all, m[1]+end)
		}
		return strings.Join(all, " ")
	})
	_, direct, _ := strings.Cut(fatal.Read(t, "go.mod"), "\nrequire ")
	modules := required.FindAllStringSubmatch(direct, -1)
	for _, m := range modules {
		module := generation.ReplaceAllString(m[1], "")
		parts := strings.Split(module, "/")
		known := strings.Contains(named, "`"+path.Base(module)+"`")
		least := 2
		if parts[0] == "github.com" || parts[0] == "golang.org" {
			least = 3
		}
		for n := least; n <= len(parts) && !known; n++ {
			known = strings.Contains(named, strings.Join(parts[:n], "/"))
		}
		if !known {
			t.Errorf("DESIGN.md does not say what %s is for", m[1])
		}
	}
	_, table, _ := strings.Cut(named, "## Dependencies")
	for _, m := range regexp.MustCompile(`[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/[A-Za-z0-9./_-]+`).FindAllString(table, -1) {
		if !strings.Contains(direct, m) {
			t.Errorf("DESIGN.md names the module %s, which go.mod does not ask for", m)
		}
	}
	if len(modules) < 20 {
		t.Errorf("only %d modules were found", len(modules))
	}
}

// TestTheWayIsShort: the files that DESIGN.md lists as a request's way are in the tree, each
// once, and a reader can hold as many in mind.
func TestTheWayIsShort(t *testing.T) {
	_, way, _ := strings.Cut(fatal.Read(t, "DESIGN.md"), "through these files, ")
	_, way, _ = strings.Cut(way, "\n```\n")
	way, _, _ = strings.Cut(way, "```")
	seen := map[string]bool{}
	for _, line := range strings.Fields(way) {
		for _, name := range expanded(line) {
			inCarve, _ := filepath.Glob("carve/" + name + ".go") // the pattern is right
			inCmd, _ := filepath.Glob("cmd/whittle/" + name + ".go")
			if len(inCarve)+len(inCmd) != 1 || seen[name] {
				t.Errorf("DESIGN.md lists %s on a request's way, which is not one file there", name)
			}
			seen[name] = true
		}
	}
	if len(seen) < 20 || len(seen) > 30 {
		t.Errorf("%d files are on a request's way, where 30 are the most", len(seen))
	}
}

// expanded is a name with braces, as a shell has it: a/{b,c/{d,e}}.
func expanded(name string) []string {
	at := strings.LastIndexByte(name, '{') // an innermost pair
	if at < 0 {
		return []string{name}
	}
	end := at + strings.IndexByte(name[at:], '}')
	var all []string
	for _, part := range strings.Split(name[at+1:end], ",") {
		for _, one := range expanded(name[:at] + part + name[end+1:]) {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}
