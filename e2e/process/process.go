package process

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a server that a test started.
type Process struct {
	// Public and Admin are where it listens, host:port. Admin is empty where it
	// has none.
	Public, Admin string

	cmd   *exec.Cmd
	ended chan struct{} // closed when it has been waited for
	err   error         // readable after ended
	said  output
}

// output keeps what a process says on standard error.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// Start runs a server until the test ends, and waits for the line in which it
// says where it listens, such as "listening public=ADDR admin=ADDR". A test whose
// server panicked, or saw a data race, fails.
func Start(t testing.TB, argv ...string) *Process {
	t.Helper()
	return StartIn(t, "", argv...)
}

// StartIn is Start in a folder; empty: the test's own.
func StartIn(t testing.TB, dir string, argv ...string) *Process {
	t.Helper()
	name := filepath.Base(argv[0])
	// It outlives what the test still does when its context has ended.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), argv[0], argv[1:]...)
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stderr = dir, &p.said
	// In a group of its own an interrupt from the keyboard is the test's alone.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	line := make(chan string, 1)
	go p.follow(stdout, line)
	t.Cleanup(func() {
		p.Kill()
		if said := p.Said(); strings.Contains(said, "DATA RACE") || strings.Contains(said, "panic:") {
			t.Errorf("%s said\n%s", name, said)
		}
	})
	select {
	case first := <-line:
		if !p.listening(first) {
			p.Kill()
			t.Fatalf("%s does not listen: %q, %v\n%s", name, first, p.err, p.Said())
		}
	case <-time.After(Patience):
		t.Fatalf("%s did not say where it listens\n%s", name, p.Said())
	}
	return p
}

// follow reads what a process prints, and waits for its end. The line in which
// it says where it listens goes to line, an empty one where there is none.
func (p *Process) follow(stdout io.Reader, line chan<- string) {
	defer close(p.ended)
	r := bufio.NewReader(stdout)
	for {
		said, err := r.ReadString('\n')
		if err != nil || strings.Contains(said, publicField) {
			line <- said
			break
		}
	}
	_, _ = io.Copy(io.Discard, r)
	p.err = p.cmd.Wait()
}

const publicField = "public="

func (p *Process) listening(line string) bool {
	for field := range strings.FieldsSeq(line) {
		if v, ok := strings.CutPrefix(field, publicField); ok {
			p.Public = v
		}
		if v, ok := strings.CutPrefix(field, "admin="); ok {
			p.Admin = v
		}
	}
	return p.Public != ""
}

// Said is what it has said on standard error.
func (p *Process) Said() string {
	p.said.mu.Lock()
	defer p.said.mu.Unlock()
	return p.said.b.String()
}

// Pid is its process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal gives a process that is there a signal.
func (p *Process) Signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("signal %v: %v", s, err)
	}
}

// Wait waits for its end, and gives what it ended with.
func (p *Process) Wait() error {
	<-p.ended
	return p.err
}

// Kill ends it as a crash would, stopped or not, and waits.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// Monolith starts the Node application of the count system as it was before the
// carve, with flags of Node's own.
func Monolith(t testing.TB, flags ...string) *Process {
	t.Helper()
	t.Setenv("NODE_ENV", "production")
	argv := append([]string{"node"}, flags...)
	return Start(t, append(argv, filepath.Join(Repository, "systems/count/monolith/server.js"), "--port", "0")...)
}
