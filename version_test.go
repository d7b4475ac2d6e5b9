package whittle_test

import (
	"regexp"
	"testing"

	"whittle/internal/fatal"
)

// TestVersion: the first section of CHANGELOG.md names the version to tag and its day. The
// chart names the same version, so that an installation without image.tag runs it.
func TestVersion(t *testing.T) {
	find := func(file, pattern string) []string {
		found := regexp.MustCompile(pattern).FindStringSubmatch(fatal.Read(t, file))
		if found == nil {
			t.Fatalf("%s names no version", file)
		}
		return found[1:]
	}
	newest := find("CHANGELOG.md", `\n## (\S+), 20\d\d-\d\d-\d\d\n`)[0]
	for _, version := range find("deploy/helm/whittle/Chart.yaml", `\nversion: (\S+)\nappVersion: "(\S+)"`) {
		fatal.Same(t, version, newest, "the version of the chart and of CHANGELOG.md")
	}
}
