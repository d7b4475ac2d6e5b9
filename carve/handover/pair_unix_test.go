//go:build unix

package handover

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"whittle/internal/fatal"
)

// TestNoFilesAreLeft: an attempt to replace the process that fails for want of descriptors
// leaves none open, so that the next one may succeed.
func TestNoFilesAreLeft(t *testing.T) {
	var before syscall.Rlimit
	fatal.If(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	few := before
	few.Cur = min(before.Cur, 128)
	fatal.If(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	var open []*os.File
	more := func() (n int) {
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				return n
			}
			open, n = append(open, f), n+1
		}
	}
	drop := func(n int) {
		for _, f := range open[len(open)-n:] {
			_ = f.Close()
		}
		open = open[:len(open)-n]
	}
	defer func() {
		drop(len(open))
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}()
	more()
	drop(1)
	socket, err := os.Open(os.DevNull) // as of a listener that is handed on
	fatal.If(t, err)
	const free = 1 // too few for the connection, which takes two
	drop(free)
	if err := Replace(&exec.Cmd{Path: "/none", ExtraFiles: []*os.File{socket}}, Hooks{}); err == nil {
		t.Fatal("replaced")
	}
	fatal.Same(t, more(), free+1, "free descriptors")
}
