package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFewOpenFilesAreLoggedAtTheStart: a process with a low limit says so and serves.
func TestFewOpenFilesAreLoggedAtTheStart(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "whittle"))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "whittle.yaml"), []byte("listen: 127.0.0.1:0\nadmin: off\nmonolith: {url: \"http://127.0.0.1:9\", max_conns: 50}\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -n 400; exec "$0" run -c "$1"`, filepath.Join(dir, "whittle"), filepath.Join(dir, "whittle.yaml"))
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "listening ") {
		t.Errorf("%q: %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if want := fmt.Sprintf("open_files=400 needed=%d connections=%d configured=16384", 16_384+100+otherFiles, 400-100-otherFiles); !strings.Contains(said.String(), want) {
		t.Errorf("said %q, want %q", &said, want)
	}
}
