package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whittle/internal/child"
	"whittle/internal/fatal"
)

// Process is a server that a test started.
type Process struct{ *child.Process }

// Run runs a command to its end in a folder; empty: the test's own.
func Run(t testing.TB, dir string, argv ...string) (status int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && (!ended || ctx.Err() != nil) {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// MustRun is Run where the exit status is to be this one.
func MustRun(t testing.TB, dir string, want int, argv ...string) string {
	t.Helper()
	got, said := Run(t, dir, argv...)
	if got != want {
		t.Fatalf("%s: exit status %d, want %d\n%s", strings.Join(argv, " "), got, want, said)
	}
	return said
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
	// It outlives what the test still does when its context has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Patience)
	defer cancel()
	p, err := child.Start(ctx, child.Options{Dir: dir}, argv...)
	fatal.If(t, err)
	t.Cleanup(func() {
		p.Kill()
		if said := p.Said(); strings.Contains(said, "DATA RACE") || strings.Contains(said, "panic:") {
			t.Errorf("%s said\n%s", filepath.Base(argv[0]), said)
		}
	})
	return &Process{p}
}

// Signal gives a process that is there a signal.
func (p *Process) Signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatalf("signal %v: %v", s, err)
	}
}

// Served is a server that ends in order, as an operator ends it.
type Served struct {
	*child.Process
	ended bool
}

// Serve starts a server that is ended with the test, and has to end without an error then. With
// o.Env it may be the test's own binary.
func Serve(t testing.TB, o child.Options, argv ...string) *Served {
	t.Helper()
	p, err := child.Start(context.WithoutCancel(t.Context()), o, argv...)
	fatal.If(t, err)
	s := &Served{Process: p}
	t.Cleanup(func() { s.End(t) })
	return s
}

// End ends it now, unless it has ended.
func (s *Served) End(t testing.TB) {
	t.Helper()
	if s.ended {
		return
	}
	s.ended = true
	s.Stop()
	if err := s.Wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, s.Said())
	}
}

// Kill ends it as a power cut would.
func (s *Served) Kill() {
	s.ended = true
	s.Process.Kill()
}

// Monolith starts the count system's Node application, with flags of Node's own.
func Monolith(t testing.TB, flags ...string) *Process {
	t.Helper()
	t.Setenv("NODE_ENV", "production")
	argv := append([]string{"node"}, flags...)
	return Start(t, append(argv, filepath.Join(Repository, "systems/count/monolith/server.js"), "--port", "0")...)
}
