package child

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// role marks the test's own binary as a child, and says what it does.
const role = "WHITTLE_CHILD"

func TestMain(m *testing.M) {
	as, is := os.LookupEnv(role)
	if !is {
		goleak.VerifyTestMain(m)
		return
	}
	os.Exit(play(as))
}

// play is a child; it gives its exit status.
func play(as string) int {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	switch as {
	case "broken":
		_, _ = io.WriteString(os.Stderr, "no port is free\n")
		return 3
	case "silent":
		_, _ = io.WriteString(os.Stderr, "nothing to say\n")
		<-end
		return 0
	case "parent":
		c, err := Start(context.Background(), Options{Env: []string{role + "=server"}}, os.Args[0])
		if err != nil {
			return 4
		}
		_, _ = io.WriteString(os.Stdout, "listening public="+c.Public+"\n")
		select {} // until it is killed
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 4
	}
	_, _ = io.WriteString(os.Stdout, "some line before\nlistening public="+l.Addr().String()+" admin=127.0.0.1:1\n")
	go func() { _ = http.Serve(l, http.NotFoundHandler()) }()
	_, _ = io.WriteString(os.Stderr, "serving\n")
	<-end
	_, _ = io.WriteString(os.Stderr, "draining\n")
	return 5
}

func options(as string) Options { return Options{Env: []string{role + "=" + as}} }

// TestServer starts a server, which serves where it says, ends when it is asked to,
// and has been waited for.
func TestServer(t *testing.T) {
	o := options("server")
	o.Log = filepath.Join(t.TempDir(), "log")
	p, err := Start(t.Context(), o, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if p.Admin != "127.0.0.1:1" {
		t.Errorf("admin %q", p.Admin)
	}
	if err := reached(t.Context(), p.Public); err != nil {
		t.Error(err)
	}
	p.Stop()
	if ended, ok := errors.AsType[*exec.ExitError](p.Wait()); !ok || ended.ExitCode() != 5 {
		t.Errorf("it ended with %v", p.Wait())
	}
	if p.Signal(syscall.Signal(0)) == nil {
		t.Error("it is still there")
	}
	kept, err := os.ReadFile(o.Log)
	if want := "serving\ndraining\n"; err != nil || string(kept) != want || p.Said() != want {
		t.Errorf("it said %q, and its log has %q, %v", p.Said(), kept, err)
	}
	p.Stop() // harmless
	p.Kill()
}

// TestKill ends a server that is stopped.
func TestKill(t *testing.T) {
	p, err := Start(t.Context(), options("server"), os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if err := p.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("it ended with %v", err)
	}
}

// TestNoServer starts what does not come to listen: the error has what it said, and
// no process is left.
func TestNoServer(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for as, c := range map[string]struct {
		ctx  context.Context
		said string
	}{
		"broken": {t.Context(), "no port is free"},
		"silent": {over, context.Canceled.Error()},
	} {
		if _, err := Start(c.ctx, options(as), os.Args[0]); err == nil || !strings.Contains(err.Error(), c.said) {
			t.Errorf("%s: %v", as, err)
		}
	}
	if _, err := Start(t.Context(), Options{}, filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing program: %v", err)
	}
	o := Options{Log: filepath.Join(t.TempDir(), "missing", "log")}
	if _, err := Spawn(o, os.Args[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log that cannot be opened: %v", err)
	}
}

// TestAwait asks until the child is ready; one that ends or never is becomes an error,
// and is gone.
func TestAwait(t *testing.T) {
	errNotYet := errors.New("not yet")
	p, err := Spawn(options("silent"), os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	err = p.Await(t.Context(), func(context.Context) error {
		if asked++; asked < 3 {
			return errNotYet
		}
		return nil
	})
	if err != nil || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = p.Await(ctx, func(context.Context) error { cancel(); return errNotYet })
	if !errors.Is(err, errNotYet) || p.Wait() == nil {
		t.Errorf("one that is never ready: %v, and it ended with %v", err, p.Wait())
	}
	if p, err = Spawn(options("broken"), os.Args[0]); err != nil {
		t.Fatal(err)
	}
	err = p.Await(t.Context(), func(context.Context) error { return errNotYet })
	if !errors.Is(err, errNotYet) || !strings.Contains(err.Error(), "no port is free") {
		t.Errorf("one that ended: %v", err)
	}
}

func TestAnnouncement(t *testing.T) {
	a := announcement{line: make(chan string, 1)}
	for _, part := range []string{strings.Repeat("x", 3*longestLine), "\nand ", "more\nlistening pub", "lic=a:1", " admin=b:2\nlistening public=c:3\n", "and more\n"} {
		if n, err := a.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%d of %d bytes, %v", n, len(part), err)
		}
		if len(a.rest) > longestLine {
			t.Errorf("%d bytes of a line are kept", len(a.rest))
		}
	}
	if line := <-a.line; addressIn(line, "public") != "a:1" || addressIn(line, "admin") != "b:2" || addressIn(line, "other") != "" {
		t.Error(line)
	}
}

func reached(ctx context.Context, addr string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return c.Close()
}

// TestAddresses: each is free, another one than all others, and not one that whoever takes
// any free port is given.
func TestAddresses(t *testing.T) {
	all, err := Addresses(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, address := range all {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if host, _, _ := net.SplitHostPort(address); seen[address] || runtime.GOOS == "linux" && host == "127.0.0.1" {
			t.Errorf("%s of %v", address, all)
		}
		seen[address] = true
	}
}
