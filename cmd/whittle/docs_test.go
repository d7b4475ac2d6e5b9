package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whittle/cmdline"
	"whittle/internal/fatal"
)

var (
	verbs  = regexp.MustCompile(`^[a-z]+( [a-z]+\b)?`)
	inline = regexp.MustCompile("`whittle ([a-z][^`\n]*)`")
)

// TestCommandsInSentences: each command of whittle's within a page's sentences and tables
// names a verb and flags that there are. e2e/pages runs those that stand by themselves.
func TestCommandsInSentences(t *testing.T) {
	helps := map[string]string{} // by verb
	help := func(verb []string) string {
		name := strings.Join(verb, " ")
		if helps[name] == "" {
			var out bytes.Buffer
			if status := Run(t.Context(), append(slices.Clone(verb), "--help"), cmdline.Streams{Out: &out, Err: &out}); status != 0 {
				return ""
			}
			helps[name] = out.String()
		}
		return helps[name]
	}
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md", "../../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		fatal.If(t, err)
		pages = append(pages, found...)
	}
	commands := 0
	for _, page := range pages {
		for _, m := range inline.FindAllStringSubmatch(fatal.Read(t, page), -1) {
			commands++
			line := m[1]
			words := strings.Fields(line)
			verb := strings.Fields(verbs.FindString(line))
			said := help(verb) + help(append(verb, "of")) // of a verb that is the default of its own ones
			if said == "" {
				t.Errorf("%s: whittle %s: there is no verb %s", page, line, words[0])
			}
			for _, word := range words {
				flag, _, _ := strings.Cut(word, "=")
				if len(flag) > 2 && strings.HasPrefix(flag, "--") && !regexp.MustCompile(flag+`\b`).MatchString(said) {
					t.Errorf("%s: whittle %s: there is no flag %s", page, line, flag)
				}
			}
		}
	}
	if commands < 40 {
		t.Errorf("only %d commands were found", commands)
	}
}
