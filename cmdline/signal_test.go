//go:build unix

package cmdline

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"whittle/internal/fatal"
)

// TestTheSecondSignalEnds: a program that saw its context end dies of the next signal.
func TestTheSecondSignalEnds(t *testing.T) {
	if os.Getenv("WHITTLE_TEST_SIGNALS") != "" {
		ctx, _ := UntilSignal(t.Context())
		self, err := os.FindProcess(os.Getpid())
		fatal.If(t, err)
		for range 2 {
			fatal.If(t, self.Signal(syscall.SIGTERM))
			<-ctx.Done()
		}
		select {} // the second one is under way
	}
	for range 20 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestTheSecondSignalEnds", "-test.timeout=20s")
		cmd.Env = append(os.Environ(), "WHITTLE_TEST_SIGNALS=1")
		out, err := cmd.CombinedOutput()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || status.Signal() != syscall.SIGTERM {
			t.Fatalf("it ended with %v: %s", err, out)
		}
	}
	ctx, stop := UntilSignal(t.Context())
	stop()
	if ctx.Err() == nil {
		t.Error("stopped, it goes on")
	}
}
