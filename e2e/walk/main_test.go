// Package walk takes the whole way on real processes: the built whittle before
// the Node monolith, with the published and the mended service beside it. It
// kills them at bad moments, and counts what users felt.
package walk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	// patience bounds every wait; nothing is asserted about how much of it is
	// used.
	patience = time.Minute
	// pollEvery is how often a condition is looked at while it is waited for.
	pollEvery = 5 * time.Millisecond
	// repository is the way from this folder to its root.
	repository = "../.."
)

// built is where the commands are.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "whittle-walk-")
	if err == nil {
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = dir
	status := m.Run()
	if status == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// build makes the commands: whittle with the race detector where the tests have
// it, the services without, since they do nothing but draw.
func build(dir string) error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("node is not installed: `make deps` says how to get it")
	}
	if _, err := os.Stat(filepath.Join(repository, "systems/count/monolith/node_modules")); err != nil {
		return errors.New("the Node monolith's packages are not installed: run `make deps`")
	}
	for _, args := range [][]string{
		{fmt.Sprintf("-race=%t", raced), "./cmd/whittle"},
		{"./systems/count/cmd/..."},
	} {
		cmd := exec.Command("go", append([]string{"build", "-o", dir + "/"}, args...)...)
		cmd.Dir = repository
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build the commands: %w\n%s", err, out)
		}
	}
	return nil
}

// process is a server that a test started and ends, by the handle it holds.
type process struct {
	cmd           *exec.Cmd
	public, admin string
	ended         chan struct{} // closed when it has been waited for
	err           error         // readable after ended
	said          *output
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

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// start runs a server until the test ends, and waits for the line in which it
// says where it listens.
func start(t *testing.T, argv ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{}), said: new(output)}
	p.cmd.Stderr = p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", argv[0], err)
	}
	line := make(chan string, 1)
	go func() {
		defer close(p.ended)
		r := bufio.NewReader(stdout)
		first, _ := r.ReadString('\n') // empty where it ended before it listened
		line <- first
		_, _ = io.Copy(io.Discard, r)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		if said := p.said.String(); strings.Contains(said, "DATA RACE") || strings.Contains(said, "panic:") {
			t.Errorf("%s said\n%s", filepath.Base(argv[0]), said)
		}
	})
	select {
	case first := <-line:
		if !p.listening(first) {
			<-p.ended
			t.Fatalf("%s does not listen: %q, %v\n%s", filepath.Base(argv[0]), first, p.err, p.said)
		}
	case <-time.After(patience):
		t.Fatalf("%s did not say where it listens\n%s", filepath.Base(argv[0]), p.said)
	}
	return p
}

func (p *process) listening(line string) bool {
	for field := range strings.FieldsSeq(line) {
		if v, ok := strings.CutPrefix(field, "public="); ok {
			p.public = v
		}
		if v, ok := strings.CutPrefix(field, "admin="); ok {
			p.admin = v
		}
	}
	return strings.HasPrefix(line, "listening ") && p.public != ""
}

// signal gives a process that is there a signal.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("signal %v: %v", s, err)
	}
}

// kill ends it as a crash would, stopped or not, and waits.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// monolith starts the Node application as it was before the carve.
func monolith(t *testing.T) *process {
	t.Helper()
	t.Setenv("NODE_ENV", "production")
	return start(t, "node", filepath.Join(repository, "systems/count/monolith/server.js"), "--port", "0")
}

// service starts the count service, or the one as published with flaws.
func service(t *testing.T, address, flaws string) *process {
	t.Helper()
	argv := []string{filepath.Join(built, "count"), "-listen", address, "-admin", "127.0.0.1:0", "-env-file", ""}
	if flaws != "" {
		argv[0] = filepath.Join(built, "count-as-published")
		argv = append(argv, "-flaws", flaws)
	}
	return start(t, argv...)
}

// until waits for a condition, and fails with what it last said.
func until(t *testing.T, what string, done func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(patience)
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		ok, said := done()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s: %s", patience, what, said)
		}
		<-poll.C
	}
}
