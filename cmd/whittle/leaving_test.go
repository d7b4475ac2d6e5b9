package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		if got := status(what); got != http.StatusOK {
			t.Errorf("%s: %d while the last request is under way", what, got)
		}
	}
	close(finish)
	if got := <-responded; got != "done" {
		t.Errorf("the last request: %s", got)
	}
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
