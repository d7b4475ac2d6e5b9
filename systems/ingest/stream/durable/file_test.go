package durable

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWriteFile replaces a file, and leaves nothing else behind where it cannot.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	for _, text := range []string{"one", "another"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if WriteFile(filepath.Join(dir, "folder"), nil) == nil {
		t.Error("a folder was replaced")
	}
	if files, err := os.ReadDir(dir); len(files) != 2 || err != nil {
		t.Errorf("%v, %v", files, err)
	}
}
