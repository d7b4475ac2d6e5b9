package whittle_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	links := 0
	for _, page := range pages(t) {
		for _, l := range link.FindAllStringSubmatch(fence.ReplaceAllString(read(page), ""), -1) {
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
			} else if anchor != "" && strings.HasSuffix(to, ".md") && !slices.Contains(anchors(read(to)), anchor) {
				t.Errorf("%s: %s: %s has no such heading", page, l[1], to)
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}

var metric = regexp.MustCompile(`(?:NewDesc\(|Name:\s*)"(whittle_\w+)"`)

// TestMetricsAreListed: docs/operate.md has a row for each metric of the gateway and the
// recorder.
func TestMetricsAreListed(t *testing.T) {
	page, err := os.ReadFile("docs/operate.md")
	fatal.If(t, err)
	found := 0
	for _, room := range []string{"carve", "record"} {
		err := filepath.WalkDir(room, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			src, err := os.ReadFile(path)
			for _, m := range metric.FindAllStringSubmatch(string(src), -1) {
				found++
				if !strings.Contains(string(page), "`"+m[1]+"`") {
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
