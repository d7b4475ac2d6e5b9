package whittle_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

// TestTheListOfAddedHeadersIsDocumented: docs/comparing.md names every header that
// counts as added by servers, and no other.
func TestTheListOfAddedHeadersIsDocumented(t *testing.T) {
	text, err := os.ReadFile("docs/comparing.md")
	fatal.If(t, err)
	_, section, _ := strings.Cut(string(text), "### Headers that servers add\n")
	section, _, _ = strings.Cut(section, "\nSecurity headers")
	var named []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(section, -1) {
		if m[1] != "*" {
			named = append(named, m[1])
		}
	}
	slices.Sort(named)
	want := whittle.AddedNames()
	for _, name := range want {
		if !slices.Contains(named, name) {
			t.Errorf("docs/comparing.md does not name %s", name)
		}
	}
	for _, name := range named {
		if !slices.Contains(want, name) {
			t.Errorf("docs/comparing.md names %s, which is compared", name)
		}
	}
}
