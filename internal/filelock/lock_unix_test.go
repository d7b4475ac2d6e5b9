//go:build unix

package filelock

import (
	"os"
	"path/filepath"
	"testing"

	"whittle/internal/fatal"
)

// TestHold: a file that is held is not held twice, until it is closed.
func TestHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		fatal.If(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	first, second := open(), open()
	fatal.If(t, Hold(first))
	if Hold(second) == nil {
		t.Error("held twice")
	}
	fatal.If(t, first.Close())
	fatal.If(t, Hold(second))
}
