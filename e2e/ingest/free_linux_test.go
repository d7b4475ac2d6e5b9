package ingest

import (
	"syscall"
	"testing"
)

// freeOf gives the bytes that are free where a folder is.
func freeOf(t *testing.T, dir string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}
