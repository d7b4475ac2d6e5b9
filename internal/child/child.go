// Package child runs servers as processes of their own, for tests, audits, demos
// and benchmarks. A child ends with its parent, however that ends, and is waited
// for by whoever started it.
package child

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopWithin bounds a gentle end; after it the child is killed.
const stopWithin = 10 * time.Second

// Options say how a child is started. The zero value works.
type Options struct {
	// Dir is its working folder. Empty: the parent's.
	Dir string
	// Env is added to the parent's environment.
	Env []string
	// Log is the file that what it says on standard error is added to; of a child
	// without an address, on standard output too. Empty: none.
	Log string
	// Output gets the same. Nil: nobody does.
	Output io.Writer
	// Begin starts the command. Nil: by its Start.
	Begin func(*exec.Cmd) error
}

// Process is a child. Its methods may be called by many goroutines at once.
type Process struct {
	// Public and Admin are where it said that it listens, host:port. Admin is empty
	// where it said nothing of it.
	Public, Admin string

	cmd   *exec.Cmd
	ended chan struct{} // closed when it has been waited for
	err   error         // readable after ended
	said  transcript
}

// Spawn starts a child.
func Spawn(o Options, argv ...string) (*Process, error) { return spawn(o, nil, argv) }

// spawn starts a child. stdout, if there is one, gets what it says on standard output.
func spawn(o Options, stdout io.Writer, argv []string) (*Process, error) {
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it outlives the call; Stop and Kill end it
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	outputs := []io.Writer{&p.said}
	if o.Output != nil {
		outputs = append(outputs, o.Output)
	}
	var log *os.File
	if o.Log != "" {
		var err error
		if log, err = os.OpenFile(o.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			return nil, fmt.Errorf("start %s: %w", p.name(), err)
		}
		outputs = append(outputs, log)
	}
	cmd.Dir, cmd.Env, cmd.Stderr = o.Dir, append(os.Environ(), o.Env...), io.MultiWriter(outputs...)
	if cmd.Stdout = stdout; stdout == nil {
		cmd.Stdout = cmd.Stderr
	}
	cmd.WaitDelay = stopWithin // its own children may keep what it wrote to open
	// In a group of its own an interrupt from the keyboard is the parent's alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	begin := o.Begin
	if begin == nil {
		begin = (*exec.Cmd).Start
	}
	started := make(chan error)
	go func() {
		// The kernel ends the child when the thread that made it ends, so the thread
		// is kept until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		defer log.Close() // of nil, harmless
		err := begin(cmd)
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name(), err)
	}
	return p, nil
}

// Start starts a server and waits, until ctx ends, for the line in which it says
// where it listens: "listening public=HOST:PORT admin=HOST:PORT". Its end is then a
// matter of Stop and Kill, not of ctx.
func Start(ctx context.Context, o Options, argv ...string) (*Process, error) {
	said := announcement{line: make(chan string, 1)}
	p, err := spawn(o, &said, argv)
	if err != nil {
		return nil, err
	}
	select {
	case line := <-said.line:
		p.Public, p.Admin = addressIn(line, "public"), addressIn(line, "admin")
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("start %s: it ended: %w\n%s", p.name(), cmp.Or(p.err, io.EOF), p.Tail())
	case <-ctx.Done():
		p.Kill()
		return nil, fmt.Errorf("start %s: it did not say where it listens: %w\n%s", p.name(), ctx.Err(), p.Tail())
	}
}

// Await asks every few milliseconds, until ctx ends or the child does, whether it is
// ready: until ready returns nil. A child that does not become ready is killed.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		err := ready(ctx)
		if err == nil {
			tick.Stop()
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("start %s: it ended: %w\n%s", p.name(), errors.Join(p.err, err), p.Tail())
		case <-ctx.Done():
			p.Kill()
			return fmt.Errorf("start %s: it does not respond: %w\n%s", p.name(), err, p.Tail())
		case <-tick.C:
		}
	}
}

func (p *Process) name() string { return filepath.Base(p.cmd.Path) }

// Pid is its process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends it a signal; an error says that it has ended.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

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

// Stop asks it to end, waits, and kills it if it does not.
func (p *Process) Stop() {
	_ = p.Signal(syscall.SIGTERM)
	late := time.AfterFunc(stopWithin, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	<-p.ended
}

// Said is what it has said so far, up to 8 MiB.
func (p *Process) Said() string {
	p.said.mu.Lock()
	defer p.said.mu.Unlock()
	return p.said.text.String()
}

// Tail is the last twenty lines of what it said.
func (p *Process) Tail() string {
	const kept = 20
	lines := strings.Split(strings.TrimSuffix(p.Said(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-kept):], "\n")
}

// transcript keeps what a child says.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (t *transcript) Write(b []byte) (int, error) {
	const most = 8 << 20
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(b[:min(len(b), max(0, most-t.text.Len()))])
	return len(b), nil
}

// announcement waits for the line in which a server says where it listens, and
// drops all else. One goroutine writes to it.
type announcement struct {
	line chan string // has room for the one line
	rest []byte      // of a line that is not whole yet
	done bool
}

// longestLine bounds what is kept of a line that does not end, in bytes.
const longestLine = 64 << 10

func (a *announcement) Write(b []byte) (int, error) {
	for rest := append(a.rest, b...); !a.done; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if a.rest = rest[max(0, len(rest)-longestLine):]; !whole {
			break
		}
		if rest = after; bytes.Contains(line, []byte("public=")) {
			a.line <- string(line)
			a.rest, a.done = nil, true
		}
	}
	return len(b), nil
}

// addressIn is the address of a name in a line.
func addressIn(line, name string) string {
	if m := regexp.MustCompile(`\b` + name + `=(\S+)`).FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}
