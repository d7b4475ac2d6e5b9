// Package fatal ends a test at an error that it cannot go on after, reads and writes files for it, and compares.
package fatal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
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

// Read returns a file's content.
func Read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	If(t, err)
	return string(b)
}

// JSON decodes a file of JSON.
func JSON[T any](t testing.TB, path string) (v T) {
	t.Helper()
	If(t, json.Unmarshal([]byte(Read(t, path)), &v))
	return v
}

// Write writes a file, makes its folder, and returns its path.
func Write[T ~string | ~[]byte](t testing.TB, path string, content T) string {
	t.Helper()
	If(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)))
	return path
}

// Has marks the test as failed, and lets it go on, if words are missing.
func Has(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
}

// Same marks the test as failed, and lets it go on, if got is not want. what and args name the
// value, as for fmt.Sprintf.
func Same[T any](t testing.TB, got, want T, what string, args ...any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %+v\nwant %+v", fmt.Sprintf(what, args...), got, want)
	}
}
