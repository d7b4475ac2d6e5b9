// Package faceboxtest has a picture with a face, for tests.
package faceboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Photograph is pigo's own test picture, a JPEG of 320 by 400 pixels with one face. The
// module is asked of the go command, since a build with -trimpath knows no folders.
func Photograph(t testing.TB) []byte {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/esimov/pigo").Output()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "testdata", "sample.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
