package server

import (
	"os"
	"slices"
	"testing"
)

func TestFamilyAndMemory(t *testing.T) {
	if !slices.Contains(family(os.Getpid()), os.Getpid()) {
		t.Error("a process is not of its own family")
	}
	if kib, ok := rssIn("Name:\tx\nVmRSS:\t   2048 kB\nThreads:\t1\n"); !ok || kib != 2<<20 {
		t.Errorf("2 MiB are %v (%v)", kib, ok)
	}
	if kib, ok := rssIn("Name:\tx\nVmHWM:\t  900 kB\nVmRSS:\t  512 kB\nThreads:\t3\n"); !ok || kib != 512<<10 {
		t.Errorf("512 KiB are %v (%v)", kib, ok)
	}
	if _, ok := rssIn("Name:\tx\n"); ok {
		t.Error("memory was found where there is none")
	}
}
