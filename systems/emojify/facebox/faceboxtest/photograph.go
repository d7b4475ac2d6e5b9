// Package faceboxtest has a picture with a face, for tests.
package faceboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

// Photograph is pigo's own test picture, a JPEG of 320 by 400 pixels with one face. The
// module is asked of the go command, since a build with -trimpath knows no folders.
func Photograph(t testing.TB) []byte {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/esimov/pigo").Output()
	fatal.If(t, err)
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "sample.jpg"))
	fatal.If(t, err)
	return b
}
