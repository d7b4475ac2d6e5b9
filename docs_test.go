package whittle_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	unsaid  = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// anchors are the names by which a page's headings are linked to, as GitHub makes them.
func anchors(page string) (names []string) {
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		names = append(names, strings.ReplaceAll(unsaid.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return names
}

// pages are those of the documentation.
func pages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("*.md")
	fatal.If(t, err)
	for _, folder := range []string{"docs", "examples"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".md") {
				all = append(all, path)
			}
			return err
		})
		fatal.If(t, err)
	}
	return all
}

// TestLinksLeadSomewhere: each link from one page of the documentation to another, or to a
// heading, leads to what is there.
func TestLinksLeadSomewhere(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		for _, l := range link.FindAllStringSubmatch(fence.ReplaceAllString(fatal.Read(t, page), ""), -1) {
			to, anchor, _ := strings.Cut(l[1], "#")
			if strings.Contains(to, ":") { // another site's
				continue
			}
			links++
			if to == "" {
				to = page
			} else {
				to = filepath.Join(filepath.Dir(page), filepath.FromSlash(to))
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere", page, l[1])
			} else if anchor != "" && strings.HasSuffix(to, ".md") && !slices.Contains(anchors(fatal.Read(t, to)), anchor) {
				t.Errorf("%s: %s: %s has no such heading", page, l[1], to)
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

var metric = regexp.MustCompile(`(?:NewDesc\(|Name:\s*)"(whittle_\w+)"`)

// TestMetricsAreListed: docs/operate.md has a row for each metric.
func TestMetricsAreListed(t *testing.T) {
	page := fatal.Read(t, "docs/operate.md")
	found := 0
	for _, room := range []string{"carve", "record"} {
		err := filepath.WalkDir(room, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			src, err := os.ReadFile(path)
			for _, m := range metric.FindAllStringSubmatch(string(src), -1) {
				found++
				if !strings.Contains(page, "`"+m[1]+"`") {
					t.Errorf("docs/operate.md does not have %s, of %s", m[1], path)
				}
			}
			return err
		})
		fatal.If(t, err)
	}
	if found < 30 {
		t.Errorf("only %d metrics were found", found)
	}
}

var (
	goTest   = regexp.MustCompile("go test [^`\n#]*")
	ofTest   = regexp.MustCompile(`-run (?:'([^']*)'|(\S+))`)
	ofBench  = regexp.MustCompile(`-bench[ =](?:'([^']*)'|(\S+))`)
	makes    = regexp.MustCompile("(?m)(?:^|^\\$ |`)make ((?:[a-z]+[a-z-]* ?)+)")
	none     = regexp.MustCompile(`^(-|xxx|\^\$)$`) // what -run names for benchmarks alone
	function = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example|Benchmark)\w*)\(`)
)

// TestCommandsOfTheDocsTestSomething: each `go test` of the documentation names packages
// that are there, and tests or benchmarks that one of them has.
func TestCommandsOfTheDocsTestSomething(t *testing.T) {
	commands := 0
	for _, page := range pages(t) {
		for _, command := range goTest.FindAllString(fatal.Read(t, page), -1) {
			commands++
			var names []string
			for _, word := range strings.Fields(command) {
				dir, ok := strings.CutPrefix(word, "./")
				if !ok || strings.Contains(dir, "...") {
					continue
				}
				files, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is right
				if len(files) == 0 {
					t.Errorf("%s: %s: %s has no tests", page, command, word)
				}
				for _, file := range files {
					for _, f := range function.FindAllStringSubmatch(fatal.Read(t, file), -1) {
						names = append(names, f[1])
					}
				}
			}
			if m := ofTest.FindStringSubmatch(command); m != nil && names != nil && !none.MatchString(m[1]+m[2]) {
				anyOf(t, page+": "+command, m[1]+m[2], false, names)
			}
			if m := ofBench.FindStringSubmatch(command); m != nil && names != nil {
				anyOf(t, page+": "+command, m[1]+m[2], true, names)
			}
		}
	}
	if commands < 10 {
		t.Errorf("only %d commands were found", commands)
	}
}

// TestTargetsOfTheDocs: each `make` of the documentation names targets of the Makefile. Two
// pages speak of the Makefile that whittle new writes, and e2e/pages runs them.
func TestTargetsOfTheDocs(t *testing.T) {
	makefile := fatal.Read(t, "Makefile")
	for _, page := range pages(t) {
		if page == "docs/tutorial.md" || page == "docs/new.md" {
			continue
		}
		for _, command := range makes.FindAllStringSubmatch(fatal.Read(t, page), -1) {
			for _, target := range strings.Fields(command[1]) {
				if !regexp.MustCompile(`(?m)^([a-z-]+ )*` + target + `( [a-z-]+)*:`).MatchString(makefile) {
					t.Errorf("%s: make %s: no such target", page, target)
				}
			}
		}
	}
}

// anyOf fails where no test, or no benchmark, has a name of the pattern.
func anyOf(t *testing.T, where, pattern string, bench bool, names []string) {
	t.Helper()
	pattern, _, _ = strings.Cut(pattern, "/") // what is left is of subtests
	like, err := regexp.Compile(pattern)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	for _, name := range names {
		if strings.HasPrefix(name, "Benchmark") == bench && like.MatchString(name) {
			return
		}
	}
	t.Errorf("%s: no such test", where)
}

// lengths are the most words that pages of the documentation may have together, so that
// nobody has to read more to use whittle. What is generated of tables is not among them.
var lengths = []struct {
	most  int
	pages []string
}{
	{900, []string{"README.md"}},
	{1600, []string{"docs/tutorial.md", "docs/demo.md"}},
	{2500, []string{"docs/concepts.md"}},
	{3000, []string{"docs/comparing.md"}},
	{3000, []string{"docs/rollout.md"}},
	{2500, []string{"docs/gateway.md"}},
	{2500, []string{"docs/behind.md"}},
	{1500, []string{"docs/fleet.md"}},
	{2000, []string{"docs/config.md"}},
	{4600, []string{"docs/config-keys.md"}},
	{500, []string{"CHANGELOG.md"}},
	{2000, []string{"BENCHMARKS.md"}},
	{3500, []string{"docs/record-and-replay.md", "docs/new.md"}},
	{3500, []string{"docs/load.md", "docs/load-jmeter.md"}},
	{2500, []string{"docs/find-and-profile.md", "docs/smells.md"}},
	{3000, []string{"docs/install.md", "docs/operate.md"}},
	{4000, []string{"docs/systems/count.md", "docs/systems/ingest.md", "docs/systems/emojify.md"}},
	{4000, []string{"DESIGN.md", "docs/decisions.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md"}},
}

// generated is a table that a command writes between two marks.
var generated = regexp.MustCompile(`(?s)<!-- .*?<!-- end.*?-->`)

// mostWords are those of all pages together, with what is generated.
const mostWords = 42_700

// TestDocsLength: no page is longer than the plan of the documentation allows, and all
// together are not.
func TestDocsLength(t *testing.T) {
	for _, l := range lengths {
		words := 0
		for _, page := range l.pages {
			words += len(strings.Fields(generated.ReplaceAllString(fatal.Read(t, page), "")))
		}
		if words > l.most {
			t.Errorf("%s: %d words, where %d are the most", strings.Join(l.pages, ", "), words, l.most)
		}
	}
	words := 0
	for _, page := range pages(t) {
		words += len(strings.Fields(fatal.Read(t, page)))
	}
	if words > mostWords {
		t.Errorf("the pages together: %d words, where %d are the most", words, mostWords)
	}
	t.Logf("%d words", words)
}

// TestTheListOfAddedHeadersIsDocumented: docs/comparing.md names every header that
// counts as added by servers, and no other.
func TestTheListOfAddedHeadersIsDocumented(t *testing.T) {
	_, section, _ := strings.Cut(fatal.Read(t, "docs/comparing.md"), "### Headers that servers add\n")
	section, _, _ = strings.Cut(section, "\nSecurity headers")
	var named []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(section, -1) {
		if m[1] != "*" {
			named = append(named, m[1])
		}
	}
	slices.Sort(named)
	fatal.Same(t, slices.Compact(named), whittle.AddedNames(), "the names in docs/comparing.md, and what is added")
}
