package whittle_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

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
		b, err := os.ReadFile(page)
		fatal.If(t, err)
		for _, command := range goTest.FindAllString(string(b), -1) {
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
					src, err := os.ReadFile(file)
					fatal.If(t, err)
					for _, f := range function.FindAllStringSubmatch(string(src), -1) {
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
	makefile, err := os.ReadFile("Makefile")
	fatal.If(t, err)
	for _, page := range pages(t) {
		if page == "docs/tutorial.md" || page == "docs/new.md" {
			continue
		}
		text, err := os.ReadFile(page)
		fatal.If(t, err)
		for _, command := range makes.FindAllStringSubmatch(string(text), -1) {
			for _, target := range strings.Fields(command[1]) {
				if !regexp.MustCompile(`(?m)^([a-z-]+ )*` + target + `( [a-z-]+)*:`).Match(makefile) {
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
