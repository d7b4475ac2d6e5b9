package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whittle/cmdline"
)

var (
	shown  = regexp.MustCompile("(?ms)^ *```\\w*\n(.*?)^ *```")
	called = regexp.MustCompile("(?m)^(?:\\$ )?whittle ([^#\n]*)")
	inline = regexp.MustCompile("`whittle ([a-z][^`\n]*)`")
)

// TestCommandsOfTheDocs: each command of whittle's that a page shows names a verb and
// flags that there are. The tutorial, the scripts in testdata and the demos run them.
func TestCommandsOfTheDocs(t *testing.T) {
	complete := func(words ...string) []string {
		var out bytes.Buffer
		if status := Run(t.Context(), append([]string{"complete", "--"}, words...), cmdline.Streams{Out: &out, Err: &out}); status != 0 {
			t.Fatalf("complete %q: %s", words, out.String())
		}
		return strings.Fields(out.String())
	}
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md", "../../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	verbs, commands := complete(""), 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, block := range shown.FindAllStringSubmatch(string(text), -1) {
			for _, m := range called.FindAllStringSubmatch(block[1], -1) {
				lines = append(lines, m[1])
			}
		}
		for _, m := range inline.FindAllStringSubmatch(string(text), -1) {
			lines = append(lines, m[1])
		}
		for _, line := range lines {
			commands++
			words := strings.Fields(line)
			if !slices.Contains(verbs, words[0]) {
				t.Errorf("%s: whittle %s: there is no verb %s", page, line, words[0])
				continue
			}
			for i, word := range words {
				flag, _, _ := strings.Cut(word, "=")
				if strings.HasPrefix(flag, "--") && flag != "--help" && flag != "--" && !slices.Contains(complete(append(slices.Clone(words[:i]), flag)...), flag) {
					t.Errorf("%s: whittle %s: there is no flag %s", page, line, flag)
				}
			}
		}
	}
	if commands < 60 {
		t.Errorf("only %d commands were found", commands)
	}
}
