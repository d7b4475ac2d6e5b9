//go:build !linux

package ingest

import (
	"testing"

	"whittle/internal/needs"
)

func freeOf(t *testing.T, _ string) int64 {
	needs.Linux(t, "disks with a bound")
	return 0
}

func idleDisk(t *testing.T, _ int64) string {
	t.Helper()
	return t.TempDir()
}
