//go:build unix

package filelock

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHold: a file that is held is not held twice, until it is closed.
func TestHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	first, second := open(), open()
	if err := Hold(first); err != nil {
		t.Fatal(err)
	}
	if Hold(second) == nil {
		t.Error("held twice")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Hold(second); err != nil {
		t.Errorf("not free once it is closed: %v", err)
	}
}
