//go:build linux

// Package profile runs the built whittle's profile, diff, guard and find against
// real processes: the Node monolith, the count service as it was published, and
// emojify.
package profile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	// patience bounds every wait; nothing is asserted about how much of it is
	// used.
	patience = time.Minute
	// repository is the way from this folder to its root.
	repository = "../.."
)

// built is where the commands are.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "whittle-profile-")
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

func build(dir string) error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("node is not installed: `make deps` says how to get it")
	}
	if _, err := os.Stat(filepath.Join(repository, "systems/count/monolith/node_modules")); err != nil {
		return errors.New("the Node monolith's packages are not installed: run `make deps`")
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", dir+"/", "./cmd/whittle", "./systems/count/cmd/...", "./systems/emojify/cmd/...")
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	return nil
}

// process is a server that a test started and ends, by the handle it holds.
type process struct {
	cmd           *exec.Cmd
	public, admin string
	ended         chan struct{} // closed when it has been waited for
}

// start runs a server until the test ends, and waits for the line in which it
// says where it listens.
func start(t testing.TB, argv ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
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
		for {
			said, err := r.ReadString('\n')
			if err != nil || strings.HasPrefix(said, "listening ") {
				line <- said // empty where it ended before it listened
				break
			}
		}
		_, _ = io.Copy(io.Discard, r)
		_ = p.cmd.Wait() // it is killed, which is an error
	}()
	t.Cleanup(p.kill)
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
			t.Fatalf("%s does not listen: %q", filepath.Base(argv[0]), first)
		}
	case <-time.After(patience):
		t.Fatalf("%s did not say where it listens", filepath.Base(argv[0]))
	}
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

func (p *process) pid() string { return fmt.Sprint(p.cmd.Process.Pid) }

// monolith starts the Node application as it was before the carve, with flags
// of Node's own.
func monolith(t testing.TB, flags ...string) *process {
	t.Helper()
	t.Setenv("NODE_ENV", "production")
	argv := append([]string{"node"}, flags...)
	return start(t, append(argv, filepath.Join(repository, "systems/count/monolith/server.js"), "--port", "0")...)
}

// whittle runs the command in the repository's root, and gives what it printed
// and its exit status.
func whittle(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(built, "whittle"), args...)
	cmd.Dir = repository
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		status = failed.ExitCode()
	} else if err != nil {
		t.Fatalf("whittle %s: %v", strings.Join(args, " "), err)
	}
	t.Logf("whittle %s: exit status %d\n%s%s", strings.Join(args, " "), status, out.String(), errs.String())
	return out.String(), errs.String(), status
}

// must is whittle where it has to succeed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	out, _, status := whittle(t, args...)
	if status != 0 {
		t.Fatalf("whittle %s: exit status %d", strings.Join(args, " "), status)
	}
	return out
}

// reads decodes a JSON file that whittle wrote.
func reads[T any](t *testing.T, path string) (v T) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// write makes a file in the test's own folder.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// counting is a plan of counts, in two phases, at a path.
func counting(t *testing.T, path string) string {
	t.Helper()
	return write(t, "plan.yml", `
config:
  target: "http://127.0.0.1:1"
  phases:
    - {name: quiet, duration: 3, arrivalRate: 5}
    - {name: busy, duration: 3, arrivalRate: 10}
scenarios:
  - flow:
      - post: {url: "`+path+`", json: {times: 1000000}}
`)
}
