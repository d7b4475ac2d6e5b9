//go:build unix

package accesslog

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAPipeIsClosed: what has nothing to sync, as a named pipe, is closed without an error.
func TestAPipeIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
