// Package ingest tests the ingestion service end to end as its clients see it:
// real processes that are killed, logs that are torn, a disk that is full.
package ingest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/e2e/process"
)

// binary is the service, demo the program that plays its story.
var binary, demo string

func TestMain(m *testing.M) {
	process.Main(m, func() error {
		built, err := process.Build("./systems/ingest/cmd/ingest", "./cmd/demo")
		binary, demo = filepath.Join(built, "ingest"), filepath.Join(built, "demo")
		return err
	}, closeBroker)
}

// rounds is how often a scene is played: a few in the suite, more in
// make audit-ingest.
func rounds(few int) int {
	if n, err := strconv.Atoi(os.Getenv("AUDIT_ROUNDS")); err == nil && n > 0 {
		return n
	}
	return few
}

// service is a running ingest.
type service struct {
	cmd           *exec.Cmd
	public, admin string
	stderr        *bytes.Buffer
	read          sync.WaitGroup
}

// serve starts the service on a log's folder.
func serve(t *testing.T, data string, flags ...string) *service {
	t.Helper()
	return serveBy(t, (*exec.Cmd).Start, data, flags...)
}

// serveBy is serve with another way to start a process.
func serveBy(t *testing.T, start func(*exec.Cmd) error, data string, flags ...string) *service {
	t.Helper()
	argv := append([]string{"serve", "--env-file", "", "--host", "127.0.0.1", "--port", "0", "--admin", "127.0.0.1:0", "--data", data}, flags...)
	s := &service{cmd: exec.Command(binary, argv...), stderr: &bytes.Buffer{}}
	s.cmd.Stderr = s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := start(s.cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		s.kill()
		t.Fatalf("the service did not start: %v\n%s", err, s.stderr)
	}
	s.read.Go(func() { _, _ = io.Copy(io.Discard, lines) })
	for field := range strings.FieldsSeq(line) {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "public":
			s.public = "http://" + value
		case "admin":
			s.admin = "http://" + value
		}
	}
	return s
}

// kill ends it as a power cut would end the process.
func (s *service) kill() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Kill()
	s.read.Wait()
	_ = s.cmd.Wait()
}

// response is what the service says of one event.
type response struct {
	Status     string `json:"status"`
	Durability string `json:"durability"`
	Position   string `json:"position"`
	code       int
	retryAfter string
}

// post sends one event under an id.
func post(ctx context.Context, c *http.Client, base, id, body string) (response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/import", strings.NewReader(body))
	if err != nil {
		return response{}, err
	}
	r.Header.Set("Content-Type", "text/plain")
	r.Header.Set("Idempotency-Key", id)
	resp, err := c.Do(r)
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return response{}, err
	}
	a := response{code: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After")}
	if err := json.Unmarshal(b, &a); err != nil {
		return response{}, fmt.Errorf("status %d: %w: %q", resp.StatusCode, err, b)
	}
	return a, nil
}

// within waits for a condition, and fails the test after a while.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
