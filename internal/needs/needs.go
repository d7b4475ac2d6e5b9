// Package needs lets a test say that it cannot run here because a tool is missing.
// Every such skip goes through it: with REQUIRE_ALL in the environment the test fails
// instead, and where NOT_TRIED names a file, a line is added to it, so that a run can
// end with one list of what it did not try.
package needs

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Missing ends a test that cannot be run here: what was not tried, and the
// command that changes that.
func Missing(t testing.TB, what, remedy string) {
	t.Helper()
	if os.Getenv("REQUIRE_ALL") != "" {
		t.Fatalf("NOT TRIED: %s: %s", what, remedy)
	}
	if err := note(os.Getenv("NOT_TRIED"), what, remedy, t.Name()); err != nil {
		t.Fatalf("note that %s was not tried: %v", what, err)
	}
	t.Skipf("NOT TRIED: %s: %s", what, remedy)
}

// note adds a line. Lines of several processes do not mix: each is one write to
// a file that is open for appending.
func note(file, what, remedy, test string) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Clean(file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	line := strings.ReplaceAll(what+"\t"+remedy+"\t"+test, "\n", " ") + "\n"
	if _, err = f.WriteString(line); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// Tool gives the path of the first of the programs that is installed, and ends
// the test where none is.
func Tool(t testing.TB, what, remedy string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, what, remedy)
	return ""
}

// Browser gives the path of Chromium.
func Browser(t testing.TB) string {
	t.Helper()
	return Tool(t, "pages in a real browser", "apt-get install chromium", "chromium", "chromium-browser", "google-chrome")
}

// Node gives the path of Node.js.
func Node(t testing.TB) string {
	t.Helper()
	return Tool(t, "what needs Node.js", "apt-get install nodejs npm", "node")
}

// Linux ends a test that is possible on Linux only.
func Linux(t testing.TB, what string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		Missing(t, what, "run it on Linux")
	}
}

// Asked ends a test that makes something for people to look at, and holds
// nothing: it runs only when it is asked for, and is in no list.
func Asked(t testing.TB, asked bool, how string) {
	t.Helper()
	if !asked {
		t.Skip("not asked for: " + how)
	}
}

// Long ends a test that takes long in a short run (go test -short).
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in a short run: " + why)
	}
}
