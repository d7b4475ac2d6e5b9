package whittle_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

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
// together are not. A page that is not there has no words.
func TestDocsLength(t *testing.T) {
	for _, l := range lengths {
		words := 0
		for _, page := range l.pages {
			text, err := os.ReadFile(page)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			words += len(bytes.Fields(generated.ReplaceAll(text, nil)))
		}
		if words > l.most {
			t.Errorf("%s: %d words, where %d are the most", strings.Join(l.pages, ", "), words, l.most)
		}
	}
	words := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		fatal.If(t, err)
		words += len(bytes.Fields(text))
	}
	if words > mostWords {
		t.Errorf("the pages together: %d words, where %d are the most", words, mostWords)
	}
	t.Logf("%d words", words)
}
