// Package newservice begins where a team begins: with a monolith and its
// traffic. It records, lets the built whittle make a contract and a project of
// it, builds and tests that in an empty folder, and walks the service to all
// users behind the built gateway, while users are asked what they felt.
package newservice

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
	patience = 2 * time.Minute
	// repository is the way from this folder to its root.
	repository = "../.."
)

// whittled is the built command.
var whittled string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "whittle-new-")
	if err == nil {
		whittled = filepath.Join(dir, "whittle")
		cmd := exec.Command("go", "build", "-o", whittled, "./cmd/whittle")
		cmd.Dir = repository
		if out, bad := cmd.CombinedOutput(); bad != nil {
			err = fmt.Errorf("build whittle: %w\n%s", bad, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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

// process is a server that a test started and ends, by the handle it holds.
type process struct {
	cmd           *exec.Cmd
	public, admin string
	ended         chan struct{} // closed when it has been waited for
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

// String is the end of it.
func (o *output) String() string {
	const most = 4 << 10
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.b.Bytes()
	return string(b[max(0, len(b)-most):])
}

// start runs a server in dir until the test ends, and waits for the line in
// which it says where it listens.
func start(t *testing.T, dir string, argv ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{}), said: new(output)}
	p.cmd.Dir, p.cmd.Stderr = dir, p.said
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
		_ = p.cmd.Wait() // it is killed at the end
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if said := p.said.String(); strings.Contains(said, "panic:") {
			t.Errorf("%s said\n%s", filepath.Base(argv[0]), said)
		}
	})
	select {
	case first := <-line:
		for field := range strings.FieldsSeq(first) {
			if v, ok := strings.CutPrefix(field, "public="); ok {
				p.public = v
			}
			if v, ok := strings.CutPrefix(field, "admin="); ok {
				p.admin = v
			}
		}
		if p.public == "" {
			t.Fatalf("%s does not listen: %q\n%s", filepath.Base(argv[0]), first, p.said)
		}
	case <-time.After(patience):
		t.Fatalf("%s did not say where it listens\n%s", filepath.Base(argv[0]), p.said)
	}
	return p
}

// run runs a command to its end and gives what it said; want is its exit
// status.
func run(t *testing.T, dir string, want int, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	got := 0
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		got = ended.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("%s: exit status %d, want %d\n%s", strings.Join(argv, " "), got, want, out)
	}
	return string(out)
}
