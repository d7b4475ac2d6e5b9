package kafkatest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// grace is how long a process has to end in order.
const grace = 20 * time.Second

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

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// end sends a signal, and SIGKILL where it did not help, and waits.
func (p *process) end(s syscall.Signal) {
	if err := p.signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s = syscall.SIGKILL
		_ = p.signal(s) // there is nothing left to do about it
	}
	if s != syscall.SIGKILL {
		t := time.AfterFunc(grace, func() { _ = p.signal(syscall.SIGKILL) })
		defer t.Stop()
	}
	<-p.ended
}
