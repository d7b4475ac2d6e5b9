package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/admin"
	"whittle/carve/rollout"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// TestTheLastRequestsAreWatched asks for health and metrics between the order
// to end and the last response.
func TestTheLastRequestsAreWatched(t *testing.T) {
	entered, finish := make(chan struct{}), make(chan struct{})
	monolith := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-finish
		_, _ = io.WriteString(w, "done")
	})
	h := runs(t, "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nmonolith: "+monolith+"\n")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	responded := make(chan string, 1)
	go func() {
		resp, err := client.Get(h.url + "/")
		if err != nil {
			responded <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		responded <- string(b)
	}()
	<-entered
	status := func(what string) int {
		t.Helper()
		resp, err := client.Get("http://" + h.d.adminAddr() + what)
		fatal.If(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	h.stop()
	process.Until(t, "it is not ready", func() bool { return status("/readyz") == http.StatusServiceUnavailable })
	for _, what := range []string{"/livez", "/metrics", "/api/v1/status"} {
		fatal.Same(t, status(what), http.StatusOK, "%s while the last request is under way", what)
	}
	close(finish)
	fatal.Same(t, <-responded, "done", "the last request")
	h.ends()
}

// TestTheAdminListenersEndIsNotTheGateways: when the admin API's listener fails, users
// are served on, and the API comes back at its address.
func TestTheAdminListenersEndIsNotTheGateways(t *testing.T) {
	h := runs(t, "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nmonolith: http://127.0.0.1:9\n")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	asks := func(url string) int {
		resp, err := client.Get(url)
		if err != nil {
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	health := "http://" + h.d.adminAddr() + "/readyz"
	process.Until(t, "the admin API is there", func() bool { return asks(health) == http.StatusOK })
	h.d.admin.listener.Close()
	process.Until(t, "the admin API comes back", func() bool {
		if got := asks(h.url + "/"); got != http.StatusBadGateway { // nobody is at the monolith's address
			t.Fatalf("a user got %d", got)
		}
		return asks(health) == http.StatusOK
	})
	h.ends()
}

// A deploy may turn a link that the config's name goes through, as Kubernetes
// does, and touch nothing under the name itself.
func TestWhatConcernsTheConfig(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"one", "two"} {
		fatal.If(t, os.Mkdir(filepath.Join(dir, v), 0o700))
		fatal.Write(t, filepath.Join(dir, v, "whittle.yaml"), "monolith: http://127.0.0.1:1 # "+v)
	}
	data, path := filepath.Join(dir, "..data"), filepath.Join(dir, "whittle.yaml")
	link := func(to, at string) {
		t.Helper()
		fatal.If(t, os.Symlink(to, at+".new"))
		fatal.If(t, os.Rename(at+".new", at))
	}
	link("one", data)
	link(filepath.Join("..data", "whittle.yaml"), path)
	before := statesOf([]string{path})
	if !before.same(statesOf([]string{path})) {
		t.Error("nothing has changed, and it seems so")
	}
	link("two", data)
	if before.same(statesOf([]string{path})) {
		t.Error("the link leads elsewhere, and nothing seems changed")
	}
	if further := statesOf([]string{path, data}); before.same(further) || further.missing() != "" {
		t.Error("a file more, and nothing seems changed")
	}
	if gone := statesOf([]string{path, filepath.Join(dir, "none")}); gone.missing() != filepath.Join(dir, "none") || before.same(gone) {
		t.Error("a file that is not there seems to be")
	}
}

// TestConfigThatIsGone holds that the config in force stays while its file is away, and
// that the log says so once.
func TestConfigThatIsGone(t *testing.T) {
	path := fatal.Write(t, filepath.Join(t.TempDir(), "whittle.yaml"), "")
	var lines bytes.Buffer
	d := &deployment{log: slog.New(slog.NewTextHandler(&lines, nil)), seen: statesOf([]string{path})}
	fatal.If(t, os.Remove(path))
	for range 3 {
		d.reread(statesOf([]string{path}))
	}
	if got := lines.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "stays") || !strings.Contains(got, path) {
		t.Errorf("three looks at a file that is gone:\n%s", got)
	}
}

// unread is a whittle process whose standard error is a pipe that nobody reads.
type unread struct {
	public, admin string
	cmd           *exec.Cmd
	log           *os.File
}

// startUnread runs whittle on a config until the test ends.
func startUnread(t *testing.T, config string) *unread {
	t.Helper()
	path := fatal.Write(t, filepath.Join(t.TempDir(), "whittle.yaml"), config)
	self, err := os.Executable()
	fatal.If(t, err)
	r, w, err := os.Pipe()
	fatal.If(t, err)
	u := &unread{log: r, cmd: exec.CommandContext(t.Context(), self, "run", "-c", path)}
	u.cmd.Args[0], u.cmd.Stderr = "whittle", w
	out, err := u.cmd.StdoutPipe()
	if err == nil {
		err = u.cmd.Start()
	}
	fatal.If(t, err)
	w.Close()
	t.Cleanup(func() { r.Close() })
	line, err := bufio.NewReader(out).ReadString('\n')
	fatal.If(t, err)
	if _, err := fmt.Sscanf(line, "listening public=%s admin=%s", &u.public, &u.admin); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return u
}

// TestAFullLogStopsNothing: with nobody reading standard error, users get their
// responses, an ordered rollback is in force, and the process ends. What was
// dropped is counted, and reported as soon as somebody reads.
func TestAFullLogStopsNothing(t *testing.T) {
	says := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }
	u := startUnread(t, fmt.Sprintf(`listen: 127.0.0.1:0
admin: 127.0.0.1:0
monolith: %s
access: {}
routes:
  - match: GET /a/{rest...}
    candidate: {url: %s}
    rollout: {auto: false, steps: [100], hold: 1h, sticky_by: "header:X-User"}
`, serving(t, says), serving(t, says)))
	client := http.Client{Timeout: scriptPatience}
	t.Cleanup(client.CloseIdleConnections)
	long := strings.Repeat("x", 4<<10)
	fill := func() { // the pipe and the queue hold the access records of about 300
		for i := range 600 {
			resp, err := client.Get("http://" + u.public + "/a/" + long)
			if err != nil {
				t.Fatalf("request %d: %v", i, errors.Unwrap(err))
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(body) != "ok" {
				t.Fatalf("request %d: %q, %v", i, body, err)
			}
		}
	}
	fill()
	orders, err := admin.Dial(u.admin, "")
	fatal.If(t, err)
	defer orders.Close()
	for _, kind := range []rollout.Kind{rollout.Promote, rollout.Rollback} {
		ctx, cancel := context.WithTimeout(t.Context(), scriptPatience)
		if _, err := orders.Order(ctx, "GET /a/{rest...}", rollout.Order{Kind: kind, By: "test", Reason: "test", Force: true}); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		cancel()
	}
	if r, err := orders.Route(t.Context(), "GET /a/{rest...}"); err != nil || r.Phase != whittle.PhaseRolledBack {
		t.Errorf("after the rollback the route is %s, %v", r.Phase, err)
	}
	dropped := func() float64 { return process.Metrics(u.admin)["whittle_log_lines_dropped_total"] }
	if dropped() == 0 {
		t.Error("no line is counted as dropped")
	}
	logged := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(u.log)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "log lines were dropped") {
				logged <- lines.Text()
				break
			}
		}
	}()
	select {
	case line := <-logged:
		if n := dropped(); !strings.Contains(line, fmt.Sprintf("lines=%v", n)) {
			t.Errorf("%v dropped, logged %q", n, line)
		}
	case <-time.After(scriptPatience):
		t.Error("the dropped lines are not reported")
	}
	fill() // nobody reads any more
	fatal.If(t, u.cmd.Process.Signal(syscall.SIGTERM))
	fatal.If(t, u.cmd.Wait())
}

// TestARunPassesOnInBytes: what the parts of a running gateway ask for does not keep
// requests from the cheapest way, unless they look at the request.
func TestARunPassesOnInBytes(t *testing.T) {
	monolith := serving(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") })
	for _, tt := range []struct {
		name, more string
		want       float64
	}{
		{"nothing else", "", 3},
		{"an admin port", "admin: 127.0.0.1:0\n", 3},
		{"a route of others", "routes:\n  - {match: GET /b, candidate: " + monolith + "}\n", 3},
		{"a route without a candidate", "routes:\n  - {match: GET /a}\n", 3},
		{"all recorded", "record: {sample: 100%}\n", 0},
		{"a route recorded", "record: {sample: 0%}\nroutes:\n  - {match: GET /a, record: 100%}\n", 0},
		{"none recorded", "record: {sample: 0%}\n", 3},
		{"an access log", "access: {}\n", 3},
	} {
		if !strings.Contains(tt.more, "admin:") {
			tt.more = "admin: off\n" + tt.more
		}
		t.Run(tt.name, func(t *testing.T) {
			h := runs(t, fmt.Sprintf("listen: 127.0.0.1:0\nmonolith: %s\n%s", monolith, tt.more))
			for range 3 {
				h.asks("/a")
			}
			http.DefaultClient.CloseIdleConnections() // else the end would wait for them
			h.ends()                                  // a request is counted behind its response
			fatal.Same(t, metricOf(t, h.d.gateway, "whittle_requests_in_bytes_total", ""), tt.want, "bytes of 3 requests")
		})
	}
}

// metricOf is the value of a counter, of the series with this first label where there are some.
func metricOf(t *testing.T, c prometheus.Collector, name, label string) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	fatal.If(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("no metric %s %s", name, label)
	return 0
}
