package process

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/internal/child"
	"whittle/internal/fatal"
)

// Process is a server that a test started.
type Process struct{ *child.Process }

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

// Monolith starts the Node application of the count system as it was before the
// carve, with flags of Node's own.
func Monolith(t testing.TB, flags ...string) *Process {
	t.Helper()
	t.Setenv("NODE_ENV", "production")
	argv := append([]string{"node"}, flags...)
	return Start(t, append(argv, filepath.Join(Repository, "systems/count/monolith/server.js"), "--port", "0")...)
}
