package whittle_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/map.md anew")

const (
	mapFile = "docs/map.md"
	mapHead = `# The map

Every package with its rank, what it is for, and its files; a package imports only those of a lower rank. The page is made from the package comments by ` + "`go test . -run TestMap -update`" + `; ` + "`make test`" + ` fails while it differs. [DESIGN.md](../DESIGN.md) says how the packages work together.
`
)

// folders are the parts of the map, in the order in which a request or a reader
// comes to them.
var folders = []struct{ path, title string }{
	{"whittle", "The root: words that all packages share"},
	{"whittle/cmd", "cmd: the verbs, and the demos"},
	{"whittle/cmdline", ""},
	{"whittle/carve", "carve: `whittle run`"},
	{"whittle/load", "load: `whittle load` and `whittle compare`"},
	{"whittle/profile", "profile: `whittle profile` and `whittle find`"},
	{"whittle/record", "record: `whittle record` and `whittle replay`"},
	{"whittle/contract", "contract: `whittle new`"},
	{"whittle/internal", "internal: leaves that know nothing of whittle"},
	{"whittle/systems", "systems: the worked systems"},
	{"whittle/bench", "bench: what benchmarks and the mutation campaign are made of"},
}

// TestMap holds docs/map.md to the package comments: every package has one, and
// the page has every package.
func TestMap(t *testing.T) {
	var b strings.Builder
	b.WriteString(mapHead)
	all := packages(t)
	for i, f := range folders {
		if f.title != "" {
			fmt.Fprintf(&b, "\n## %s\n\n", f.title)
		}
		for _, p := range all {
			if inFolder(p.ImportPath, i) && len(p.GoFiles) > 0 {
				writePackage(t, &b, &p)
			}
		}
	}
	if *update {
		if err := os.WriteFile(mapFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(mapFile)
	if err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the package comments say; go test . -run TestMap -update (%v)", mapFile, err)
	}
}

// inFolder reports whether a package belongs to one of folders; the root has
// only itself.
func inFolder(pkg string, i int) bool {
	f := folders[i].path
	return pkg == f || f != "whittle" && strings.HasPrefix(pkg, f+"/")
}

func writePackage(t *testing.T, b *strings.Builder, p *listed) {
	t.Helper()
	generated := !slices.ContainsFunc(p.GoFiles, func(f string) bool {
		return !strings.HasSuffix(f, ".pb.go") && !strings.HasSuffix(f, ".twirp.go") && !strings.HasSuffix(f, ".connect.go")
	})
	doc := p.Doc
	switch {
	case doc == "" && generated:
		doc = "Generated from the .proto file in this folder."
	case doc == "":
		t.Errorf("%s has no package comment", p.ImportPath)
	}
	files := slices.Sorted(slices.Values(slices.Concat(p.GoFiles, p.IgnoredGoFiles)))
	rank := "" // bench and e2e have none: nothing imports them
	if r, ok := rooms[p.ImportPath]; ok {
		rank = fmt.Sprintf(" (%d)", r)
	}
	fmt.Fprintf(b, "- **%s**%s %s", cmp.Or(strings.TrimPrefix(p.ImportPath, "whittle/"), "whittle"), rank, doc)
	if !generated {
		fmt.Fprintf(b, "\n  `%s`", strings.Join(files, "` `"))
	}
	b.WriteString("\n")
}

// TestDesignIsRead: the design stays short enough to be read whole.
func TestDesignIsRead(t *testing.T) {
	const mostLines, mostWords = 250, 3500
	b, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	lines, words := strings.Count(string(b), "\n"), len(strings.Fields(string(b)))
	if lines > mostLines || words > mostWords {
		t.Errorf("DESIGN.md has %d lines and %d words, %d and %d are the most: what is of one system goes to its page, how a decision came about to docs/decisions.md", lines, words, mostLines, mostWords)
	}
}
