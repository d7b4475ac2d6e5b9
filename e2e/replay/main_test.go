// Package replay replays what real servers were recorded with, by the built
// command: the Node monolith's random answers against both Go services, and
// JSON endpoints whose differences become tests that really run.
package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/capture"
	"whittle/capture/journal"
	"whittle/replay"
)

const (
	// patience bounds every wait.
	patience   = time.Minute
	repository = "../.."
)

// built is where the commands are.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "whittle-replay-")
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
	cmd := exec.Command("go", "build", "-o", dir+"/", "./cmd/whittle", "./systems/count/cmd/...")
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	return nil
}

// start runs a server until the test ends, and gives where it listens.
func start(t *testing.T, argv ...string) string {
	t.Helper()
	url, _ := open(t, argv...)
	return url
}

// open is start with a way to end the server as asked, before the test does.
func open(t *testing.T, argv ...string) (url string, end func()) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		r := bufio.NewReader(stdout)
		first, _ := r.ReadString('\n') // empty where it ended before it listened
		line <- first
		_, _ = io.Copy(io.Discard, r)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		<-ended
	})
	select {
	case first := <-line:
		for field := range strings.FieldsSeq(first) {
			if public, ok := strings.CutPrefix(field, "public="); ok {
				return "http://" + public, func() {
					_ = cmd.Process.Signal(os.Interrupt) // it may have ended by itself
					<-ended
				}
			}
		}
		t.Fatalf("%s does not listen: %q", argv[0], first)
	case <-time.After(patience):
		t.Fatalf("%s did not say where it listens", argv[0])
	}
	return "", nil
}

// record asks a monolith and keeps what it answers in a journal's folder.
func record(t *testing.T, monolith, route string, n int, request func(i int) whittle.Request) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recorded")
	w, err := journal.Create(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	for i := range n {
		q := request(i)
		hq, err := http.NewRequestWithContext(t.Context(), q.Method, monolith+q.Target, bytes.NewReader(q.Body))
		if err != nil {
			t.Fatal(err)
		}
		hq.Header = http.Header(q.Header)
		at := time.Now()
		resp, err := client.Do(hq)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		e := &capture.Entry{
			Route: route, Conn: uint64(i%4 + 1), At: at, Request: q,
			Answer: whittle.Answer{Status: resp.StatusCode, Header: whittle.Header(resp.Header), Body: body, Latency: time.Since(at)},
		}
		if err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// replayed runs the command and gives its exit status and its report.
func replayed(t *testing.T, args ...string) (int, *replay.Report) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.CommandContext(t.Context(), filepath.Join(built, "whittle"), append([]string{"replay", "--json", file}, args...)...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r replay.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if r.Ledger.Sum() != r.Ledger.Total {
		t.Errorf("the ledger does not add up: %+v", r.Ledger)
	}
	return cmd.ProcessState.ExitCode(), &r
}
