package kafkatest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// process is one child that dies with its parent.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it is gone
}

// spawn starts a child in dir, its output added to outputFile there.
func spawn(dir, name string, args ...string) (*process, error) {
	out, err := os.OpenFile(filepath.Join(dir, outputFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open output: %w", err)
	}
	cmd := exec.Command(name, args...) //nolint:noctx // it outlives the call; the broker ends it
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel ends the child when the thread that made it ends, so the
		// thread is kept until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer out.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // that it was killed is no news
		}
		close(p.ended)
	}()
	return p, <-started
}

// kill ends the child and waits. That it is gone already is no error.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}
