//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle"
)

// shell starts a server that is a few lines of shell.
func shell(t *testing.T, ctx context.Context, script string) (*process, string, error) {
	t.Helper()
	dir := t.TempDir()
	p, err := start(ctx, "server", []string{"/bin/sh", "-c", script}, []string{"GREETING=hello"}, dir)
	if p != nil {
		t.Cleanup(p.Kill)
	}
	return p, dir, err
}

func TestProcessSaysWhereItListens(t *testing.T) {
	for line, want := range map[string][2]string{
		"listening public=127.0.0.1:80 admin=127.0.0.1:81": {"127.0.0.1:80", "127.0.0.1:81"},
		"listening public=[::1]:80":                        {"[::1]:80", ""},
		"listening admin=off public=a:1 more=x":            {"a:1", "off"},
	} {
		p, _, err := shell(t, t.Context(), "echo warming up; echo '"+line+"'; echo listening public=late:1; exec sleep 60")
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{p.Public, p.Admin}; got != want {
			t.Errorf("%q: got %v, want %v", line, got, want)
		}
		if s := p.String(); !strings.Contains(s, "server") || !strings.Contains(s, want[0]) {
			t.Errorf("it is called %q", s)
		}
		p.Kill()
		if p.Wait() == nil {
			t.Error("killed, and its end is no error")
		}
		p.Kill() // a second time harms nothing
	}
}

func TestProcessEndsInItsOwnTime(t *testing.T) {
	p, dir, err := shell(t, t.Context(),
		`trap 'echo "bye, $GREETING" >&2; exit 0' TERM; echo listening public=a:1; while :; do sleep 0.01; done`)
	if err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if err := p.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if got := p.Tail(); got != "bye, hello" {
		t.Errorf("its last words are %q", got)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "server.log")); err != nil || string(b) != "bye, hello\n" {
		t.Errorf("its log is %q, %v", b, err)
	}
}

func TestProcessThatEndsEarly(t *testing.T) {
	_, _, err := shell(t, t.Context(), "for i in $(seq 30); do echo line $i >&2; done; exit 7")
	if whittle.CodeOf(err) != whittle.Unavailable || !strings.Contains(err.Error(), "exit status 7") {
		t.Fatalf("got %v", err)
	}
	if said := err.Error(); !strings.Contains(said, "line 30") || !strings.Contains(said, "line 11\n") || strings.Contains(said, "line 10\n") {
		t.Errorf("the error does not end with its last twenty lines: %s", said)
	}
}

func TestProcessThatCannotStart(t *testing.T) {
	if _, err := start(t.Context(), "none", []string{"/no/such/command"}, nil, t.TempDir()); whittle.CodeOf(err) != whittle.Unavailable {
		t.Errorf("no command: %v", err)
	}
	if _, err := start(t.Context(), "none", []string{"/bin/sh"}, nil, "/no/such/folder"); whittle.CodeOf(err) != whittle.Unavailable {
		t.Errorf("no folder: %v", err)
	}
}

// TestProcessIsNotWaitedForForEver gives up a process that says nothing.
func TestProcessIsNotWaitedForForEver(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if p, _, err := shell(t, ctx, "exec sleep 60"); err == nil || p != nil {
		t.Errorf("got %v, %v", p, err)
	}
}
