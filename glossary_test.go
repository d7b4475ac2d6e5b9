package whittle_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whittle/internal/needs"
)

// otherSense are identifiers that contain a word of the glossary's right column
// in another sense, by folder.
var otherSense = map[string][]string{
	"systems/emojify/fetch":         {"answers"},           // a field of the DNS library's
	"carve/gateway/resolve":         {"answer", "answers"}, // of DNS
	"carve/gateway/resolve/dnstest": {"answers"},
	"systems/emojify/draw":          {"tongue"}, // of a face
}

var (
	glossaryRow  = regexp.MustCompile(`(?m)^\|[^|]*\|[^|]*\|([^|]*)\|$`)
	glossaryWord = regexp.MustCompile("`([a-z]+)`")
	glossaryBold = regexp.MustCompile("\\*\\*`([a-z]+)`\\*\\*")
	camelWord    = regexp.MustCompile(`[A-Z][a-z]+|[a-z]+|[A-Z]`)
)

// banned reads the glossary's right column: the words that pattern finds there.
func banned(t *testing.T, pattern *regexp.Regexp) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for _, row := range glossaryRow.FindAllStringSubmatch(string(text), -1) {
		for _, w := range pattern.FindAllStringSubmatch(row[1], -1) {
			words[w[1]] = true
		}
	}
	if len(words) < 20 {
		t.Fatalf("the glossary bans %d words: its right column cannot be read", len(words))
	}
	return words
}

// TestIdentifiersUseTheGlossary fails on each identifier, tests included, that
// has a word of the glossary's right column in it. Generated files are left out.
func TestIdentifiersUseTheGlossary(t *testing.T) {
	words := banned(t, glossaryWord)
	out, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		needs.Missing(t, "identifiers held to the glossary", "run it in a git checkout")
	}
	for _, name := range strings.Fields(string(out)) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(file) {
			continue // what does not parse fails to build
		}
		for _, bad := range badWords(file, words, otherSense[path.Dir(name)]) {
			t.Errorf("%s: %s says %q: docs/glossary.md has the field's word for it", fset.Position(bad.id.Pos()), bad.id.Name, bad.word)
		}
	}
}

// TestTextsUseTheGlossary fails on each comment, each text of the program and each
// line of the docs that has one of the glossary's words in bold. Those have no
// other sense. Generated files are left out, and so is this package's own list.
func TestTextsUseTheGlossary(t *testing.T) {
	bad := wordsOf(banned(t, glossaryBold))
	out, err := exec.Command("git", "ls-files", "*.go", "*.md", "*.js", "Makefile").Output()
	if err != nil {
		needs.Missing(t, "texts held to the glossary", "run it in a git checkout")
	}
	for _, name := range strings.Fields(string(out)) {
		if name == "glossary_test.go" || name == "docs/glossary.md" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil || generated.Match(text) {
			continue
		}
		for at, word := range badTexts(string(text), bad) {
			t.Errorf("%s:%d says %q: docs/glossary.md has the field's word for it", name, at, word)
		}
	}
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// wordsOf is a pattern of any of the words, whole, in any case.
func wordsOf(words map[string]bool) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(slices.Sorted(maps.Keys(words)), "|") + `)\b`)
}

// badTexts gives the last bad word of each line that has one. The name of a file is
// not a text.
func badTexts(text string, bad *regexp.Regexp) map[int]string {
	all, n := map[int]string{}, 0
	for line := range strings.Lines(text) {
		n++
		for _, at := range bad.FindAllStringIndex(line, -1) {
			if !strings.HasPrefix(line[at[1]:], ".go") {
				all[n] = line[at[0]:at[1]]
			}
		}
	}
	return all
}

type badWord struct {
	id   *ast.Ident
	word string
}

func badWords(file *ast.File, words map[string]bool, allowed []string) (all []badWord) {
	ast.Inspect(file, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		for _, w := range camelWord.FindAllString(id.Name, -1) {
			if w = strings.ToLower(w); words[w] && !slices.Contains(allowed, w) {
				all = append(all, badWord{id, w})
			}
		}
		return true
	})
	return all
}

// TestBadWordsAreFound holds that the lint can fail.
func TestBadWordsAreFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc keepAnswer(maxBerths int) { wildcard := 1; _ = wildcard }", 0)
	if err != nil {
		t.Fatal(err)
	}
	got := badWords(file, map[string]bool{"answer": true, "berths": true, "wild": true}, []string{"berths"})
	if len(got) != 1 || got[0].id.Name != "keepAnswer" {
		t.Errorf("%+v", got)
	}
	texts := badTexts("// It starves, Beside\n// bedside and witness.go\n", wordsOf(map[string]bool{"starves": true, "beside": true, "witness": true}))
	if len(texts) != 1 || texts[1] != "Beside" {
		t.Errorf("%+v", texts)
	}
}
