package process

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"whittle/internal/fatal"
)

// Replaceable is a whittle whose processes follow each other. What they say goes to a file,
// since a process that takes over has no pipe to the test.
type Replaceable struct {
	Public, Admin string
	// Ended is closed when the first process has ended.
	Ended <-chan struct{}

	t     testing.TB
	log   string
	first int
}

var (
	listens  = regexp.MustCompile(`listening public=(\S+) admin=(\S+)`)
	tookOver = regexp.MustCompile(`msg="took over" pid=(\d+)`)
)

// notReplaced is what a process says that goes on, since none has taken over.
const notReplaced = "not replaced: this process goes on serving"

// StartReplaceable starts one until the test ends, with its log in a folder.
func StartReplaceable(t testing.TB, dir string, env []string, argv ...string) *Replaceable {
	t.Helper()
	r := &Replaceable{t: t, log: filepath.Join(dir, "log")}
	out, err := os.Create(r.log)
	fatal.If(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, append(os.Environ(), env...)
	fatal.If(t, cmd.Start())
	_ = out.Close() // the process has it
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	r.first, r.Ended = cmd.Process.Pid, ended
	t.Cleanup(func() {
		for _, pid := range r.Pids() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		<-ended
		if said := r.Said(); strings.Contains(said, "DATA RACE") || strings.Contains(said, "panic:") {
			t.Errorf("%s said\n%s", filepath.Base(argv[0]), said)
		}
	})
	Until(t, "it listens", func() bool { return listens.MatchString(r.Said()) })
	m := listens.FindStringSubmatch(r.Said())
	r.Public, r.Admin = m[1], m[2]
	return r
}

// Said is what all of its processes have said.
func (r *Replaceable) Said() string {
	b, err := os.ReadFile(r.log)
	fatal.If(r.t, err)
	return string(b)
}

// Pids are those of all processes so far.
func (r *Replaceable) Pids() []int {
	all := []int{r.first}
	for _, m := range tookOver.FindAllStringSubmatch(r.Said(), -1) {
		pid, _ := strconv.Atoi(m[1]) // digits
		all = append(all, pid)
	}
	return all
}

func (r *Replaceable) ask() (processes, failures int) {
	r.t.Helper()
	all, failures := r.Pids(), strings.Count(r.Said(), notReplaced)
	fatal.If(r.t, syscall.Kill(all[len(all)-1], syscall.SIGUSR2))
	return len(all), failures
}

// Replace has the present process replaced, and waits until another serves in its place.
func (r *Replaceable) Replace() {
	r.t.Helper()
	processes, failures := r.ask()
	Until(r.t, "another process to take over", func() bool {
		said := r.Said()
		if strings.Count(said, notReplaced) > failures {
			r.t.Fatal(said)
		}
		return len(r.Pids()) > processes && len(listens.FindAllString(said, -1)) > processes
	})
}

// FailToReplace has a replacement fail, and waits until the process says so.
func (r *Replaceable) FailToReplace() {
	r.t.Helper()
	_, failures := r.ask()
	Until(r.t, "the attempt to fail", func() bool { return strings.Count(r.Said(), notReplaced) > failures })
}
