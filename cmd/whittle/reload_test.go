package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

// A deploy may turn a link that the config's name goes through, as Kubernetes
// does, and touch nothing under the name itself.
func TestWhatConcernsTheConfig(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"one", "two"} {
		fatal.If(t, os.Mkdir(filepath.Join(dir, v), 0o700))
		fatal.If(t, os.WriteFile(filepath.Join(dir, v, "whittle.yaml"), []byte("monolith: http://127.0.0.1:1 # "+v), 0o600))
	}
	data, path := filepath.Join(dir, "..data"), filepath.Join(dir, "whittle.yaml")
	link := func(to, at string) {
		t.Helper()
		fatal.If(t, os.Symlink(to, at+".new"))
		fatal.If(t, os.Rename(at+".new", at))
	}
	link("one", data)
	link(filepath.Join("..data", "whittle.yaml"), path)
	before := statesOf([]string{path})
	if !before.same(statesOf([]string{path})) {
		t.Error("nothing has changed, and it seems so")
	}
	link("two", data)
	if before.same(statesOf([]string{path})) {
		t.Error("the link leads elsewhere, and nothing seems changed")
	}
	if further := statesOf([]string{path, data}); before.same(further) || further.missing() != "" {
		t.Error("a file more, and nothing seems changed")
	}
	if gone := statesOf([]string{path, filepath.Join(dir, "none")}); gone.missing() != filepath.Join(dir, "none") || before.same(gone) {
		t.Error("a file that is not there seems to be")
	}
}

// TestConfigThatIsGone holds that the config in force stays while its file is away, and
// that the log says so once.
func TestConfigThatIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whittle.yaml")
	fatal.If(t, os.WriteFile(path, nil, 0o600))
	var lines bytes.Buffer
	d := &deployment{log: slog.New(slog.NewTextHandler(&lines, nil)), seen: statesOf([]string{path})}
	fatal.If(t, os.Remove(path))
	for range 3 {
		d.reread(statesOf([]string{path}))
	}
	if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "stays") || !strings.Contains(got, path) {
		t.Errorf("three looks at a file that is gone:\n%s", got)
	}
}
