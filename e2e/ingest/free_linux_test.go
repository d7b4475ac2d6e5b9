package ingest

import (
	"os"
	"syscall"
	"testing"
)

// idleDisk returns a folder where so many bytes are free and hardly anybody else
// writes or deletes meanwhile: in memory, where there is enough of it.
func idleDisk(t *testing.T, capacity int64) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "whittle-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if freeOf(t, dir) < 2*capacity {
		return t.TempDir()
	}
	return dir
}

// freeOf returns the bytes that are free where a folder is.
func freeOf(t *testing.T, dir string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}
