// Package fatal ends a test at an error that it cannot go on after, and reads and writes its files.
package fatal

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If ends the test where there is an error, which it logs at its caller's line.
func If(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read gives what a file has.
func Read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	If(t, err)
	return string(b)
}

// JSON gives what a file has in JSON.
func JSON[T any](t testing.TB, path string) (v T) {
	t.Helper()
	If(t, json.Unmarshal([]byte(Read(t, path)), &v))
	return v
}

// Write writes a file, with its folder, and gives its path.
func Write[T ~string | ~[]byte](t testing.TB, path string, content T) string {
	t.Helper()
	If(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)))
	return path
}

// Has lets the test go on, and fail, where a text lacks some words.
func Has(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
}
