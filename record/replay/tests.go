package replay

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"whittle"
)

//go:embed tests.go.txt
var testsSource string

const (
	testsFile = "replay_test.go"
	goMod     = "module regression\n\ngo 1.24\n"
)

func statusText(a *whittle.Response) string { return strconv.Itoa(a.Status) }

// Write makes a Go test package in dir that uses only the standard library, and
// returns its number of cases. It replaces the cases of an earlier Write and
// adds to a package that is there already. Without any case it changes nothing:
// what an earlier replay has found may come back.
func (c *Cases) Write(dir string, r *Report) (int, error) {
	list := c.sample.Chosen()
	if len(list) == 0 {
		return 0, nil
	}
	fail := func(err error) (int, error) {
		return 0, whittle.Errorf(whittle.Unavailable, "write tests: %w", err)
	}
	routes := map[string]*Route{}
	for i := range r.Routes {
		routes[r.Routes[i].Route] = &r.Routes[i]
	}
	data := filepath.Join(dir, "testdata", "replay")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return fail(err)
	}
	old, err := filepath.Glob(filepath.Join(data, "[0-9][0-9][0-9]-*.json"))
	if err != nil {
		return fail(err)
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return fail(err)
		}
	}
	for i, one := range list {
		if of := routes[one.route]; of != nil {
			one.Compare.learned(of.Noise, of.NoisyHeaders)
		}
		b, err := json.MarshalIndent(one, "", "  ")
		if err != nil {
			return fail(err)
		}
		name := fmt.Sprintf("%03d-%s.json", i+1, slug(one.Request.Method+" "+one.Request.Target))
		if err := os.WriteFile(filepath.Join(data, name), append(b, '\n'), 0o644); err != nil {
			return fail(err)
		}
	}
	source := strings.NewReplacer("package PACKAGE", "package "+packageOf(dir), "COVERAGE", c.Coverage(r)).Replace(testsSource)
	if err := os.WriteFile(filepath.Join(dir, testsFile), []byte(source), 0o644); err != nil {
		return fail(err)
	}
	if !inModule(dir) {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(goMod), 0o644); err != nil {
			return fail(err)
		}
	}
	return len(list), nil
}

// Coverage says how many of the distinct recorded inputs have a test.
func (c *Cases) Coverage(r *Report) string {
	covered := c.sample.Coverage().Covered
	if c.cover {
		return fmt.Sprintf("%d of %s", covered, r.Inputs.Text())
	}
	return fmt.Sprintf("%d of the %d that differ, of %s", covered, r.Inputs.Differing, r.Inputs.Text())
}

// slug makes a file name of a request.
func slug(s string) string {
	s, _, _ = strings.Cut(s, "?")
	words := strings.FieldsFunc(strings.ToLower(s), func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') })
	s = strings.Join(words, "-")
	return s[:min(len(s), 60)]
}

// packageOf names the external test package of the code in dir.
func packageOf(dir string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go")) // the pattern is one
	for _, name := range files {
		if filepath.Base(name) == testsFile {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		if err == nil && f.Name.Name != "documentation" {
			return strings.TrimSuffix(f.Name.Name, "_test") + "_test"
		}
	}
	return "regression_test"
}

// inModule reports whether dir lies in a Go module.
func inModule(dir string) bool {
	at, err := filepath.Abs(dir)
	for err == nil {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return true
		}
		up := filepath.Dir(at)
		if up == at {
			return false
		}
		at = up
	}
	return false
}
