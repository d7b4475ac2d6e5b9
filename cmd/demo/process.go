package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"whittle"
)

// startTimeout bounds the time from a process's start to its "listening" line.
const startTimeout = 20 * time.Second

// stopTimeout bounds a graceful end; after it the process is killed.
const stopTimeout = 10 * time.Second

// process is a server that the demo started and ends, by the id it holds.
type process struct {
	name string
	cmd  *exec.Cmd
	// public and admin are the addresses it printed; admin may be empty.
	public, admin string

	done chan struct{} // closed when it has been waited for
	err  error         // guarded by done

	mu   sync.Mutex
	tail []string // guarded by mu: its last lines on standard error
}

// start runs a server in dir, where NAME.log keeps what it says on standard
// error, and waits for its line "listening public=HOST:PORT [admin=HOST:PORT]"
// on standard output.
func start(ctx context.Context, name string, argv, env []string, dir string) (*process, error) {
	// Its end is a matter of stop, not of ctx: a context would kill it before
	// it could finish what is under way.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	// A signal that the terminal sends to the demo is the demo's to hand on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "start %s: %w", name, err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "start %s: %w", name, err)
	}
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "start %s: %w", name, err)
	}
	if err := cmd.Start(); err != nil {
		log.Close()
		return nil, whittle.Errorf(whittle.Unavailable, "start %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, done: make(chan struct{})}
	ready := make(chan string, 1)
	var readers sync.WaitGroup
	readers.Go(func() { p.readOutput(stdout, ready) })
	readers.Go(func() { p.keepTail(io.TeeReader(stderr, log)) })
	go func() {
		readers.Wait()
		log.Close()
		p.err = cmd.Wait()
		close(p.done)
	}()

	timer := time.NewTimer(startTimeout)
	defer timer.Stop()
	select {
	case line := <-ready:
		p.parseListening(line)
		return p, nil
	case <-p.done:
		return nil, whittle.Errorf(whittle.Unavailable, "start %s: it ended: %v\n%s", name, p.err, p.lastLines())
	case <-ctx.Done():
		p.stop()
		return nil, ctx.Err()
	case <-timer.C:
		p.stop()
		return nil, whittle.Errorf(whittle.Unavailable, "start %s: it did not say where it listens within %s\n%s", name, startTimeout, p.lastLines())
	}
}

func (p *process) readOutput(r io.Reader, ready chan<- string) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "listening ") {
			select {
			case ready <- lines.Text():
			default:
			}
		}
	}
	_, _ = io.Copy(io.Discard, r)
}

func (p *process) keepTail(r io.Reader) {
	const kept = 20
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		p.mu.Lock()
		p.tail = append(p.tail, lines.Text())
		if len(p.tail) > kept {
			p.tail = p.tail[1:]
		}
		p.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, r)
}

func (p *process) lastLines() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.tail, "\n")
}

func (p *process) parseListening(line string) {
	for field := range strings.FieldsSeq(line) {
		if v, ok := strings.CutPrefix(field, "public="); ok {
			p.public = v
		}
		if v, ok := strings.CutPrefix(field, "admin="); ok {
			p.admin = v
		}
	}
}

// pid is the process's id.
func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends it at once, as a crash would, and waits.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop asks it to end, waits, and kills it if it does not.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.kill()
	}
}

// String names the process for messages.
func (p *process) String() string {
	return fmt.Sprintf("%s (process %d, %s)", p.name, p.pid(), p.public)
}
