package collect

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"whittle/internal/fatal"
)

// A profile that somebody saved may name anything as the script of a function: what is no
// file is not opened.
func TestAScriptThatIsAPipeIsNotOpened(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "server.js")
	fatal.If(t, syscall.Mkfifo(pipe, 0o600))
	done := make(chan struct{})
	var looks sync.WaitGroup
	looks.Go(func() { // it can be opened for writing only while somebody reads
		for {
			if w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				t.Error("it was opened")
				w.Close()
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	if lines := newRoutes().lines(pipe); lines != nil {
		t.Errorf("it has lines: %q", lines)
	}
	close(done)
	looks.Wait()
}
