package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// asServer makes the test's own binary the real command, so that a test has a
// process of it without a build.
const asServer = "INGEST_TEST_IS_INGEST"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"ingest": main})
}

// timeout bounds what a test waits for.
const timeout = 30 * time.Second

// eventually polls until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", timeout, what)
		}
		<-tick.C
	}
}

// process is a server of which the test holds the pid.
type process struct {
	cmd           *exec.Cmd
	public, admin string // http://host:port
	log           *bytes.Buffer
	ended         bool
}

var listeningLine = regexp.MustCompile(`^listening public=\S*:(\d+) admin=(\S+) durability=(\S+)\n$`)

// start runs a server in dir and waits for its line.
func start(t testing.TB, dir string, env []string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), self, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), asServer+"=1"), env...)
	p := &process{cmd: cmd, log: &bytes.Buffer{}}
	cmd.Stderr = p.log
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { p.stop(t) })
	if err := r.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 1<<10)
	n, err := r.Read(line)
	found := listeningLine.FindSubmatch(line[:n])
	if found == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		p.ended = true
		t.Fatalf("it said %q (%v) in place of where it listens\n%s", line[:n], err, p.log)
	}
	p.public, p.admin = "http://127.0.0.1:"+string(found[1]), "http://"+string(found[2])
	return p
}

// stop ends the server as an operator would and expects a clean end.
func (p *process) stop(t testing.TB) {
	t.Helper()
	if p.ended {
		return
	}
	p.ended = true
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(timeout, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, p.log)
	}
}

// kill ends the server as a power cut would.
func (p *process) kill() {
	p.ended = true
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// receipt is what of a response the tests look at.
type receipt struct {
	code                                    int
	Status, Position, Durability, MessageID string
}

func post(client *http.Client, url, key, contentType, body string) (receipt, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return receipt{}, err
	}
	req.Header.Set("Content-Type", contentType)
	if key != "" {
		req.SetBasicAuth(key, "")
	}
	res, err := client.Do(req)
	if err != nil {
		return receipt{}, err
	}
	defer res.Body.Close()
	a := receipt{code: res.StatusCode}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return receipt{}, err
	}
	return a, json.Unmarshal(text, &a)
}

func get(t testing.TB, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// TestScripts runs the verbs as a shell would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"PORT1", "PORT2", "PORT3", "PORT4"} {
				address, err := unused()
				if err != nil {
					return err
				}
				_, port, _ := net.SplitHostPort(address)
				e.Setenv(name, port)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "post": postCmd},
	})
}

// unused returns an address at which nobody listens, for a process that is yet to
// start. Systems give their own ports from 32,768 on, so that no socket of
// another test is there by then.
func unused() (string, error) {
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", errors.New("a hundred ports from 20,000 to 32,000 are taken")
}

// exits runs a command that must end with a status: exits STATUS COMMAND...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = ended.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s\n%s", got, args[0], ts.ReadFile("stderr"))
	}
}

// postCmd posts until there is a response, which must have a status:
// post STATUS PORT PATH BODY
func postCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: post STATUS PORT PATH BODY")
	}
	deadline := time.Now().Add(timeout)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	contentType := "text/plain"
	if strings.HasPrefix(args[3], "{") {
		contentType = "application/json"
	}
	for {
		a, err := post(http.DefaultClient, "http://127.0.0.1:"+args[1]+args[2], "", contentType, args[3])
		if err == nil {
			if fmt.Sprint(a.code) != args[0] {
				ts.Fatalf("acknowledged %+v, want %s", a, args[0])
			}
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no response: %v", err)
		}
		<-tick.C
	}
}

func dial(t testing.TB, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
