package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"whittle/carve/config"
	"whittle/internal/fatal"
	"whittle/internal/listening"
)

// TestTheLastRequestsAreWatched asks for health and metrics between the order
// to end and the last response.
func TestTheLastRequestsAreWatched(t *testing.T) {
	entered, finish := make(chan struct{}), make(chan struct{})
	monolith := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-finish
		_, _ = io.WriteString(w, "done")
	}))
	defer monolith.Close()
	d, end, served := deployBefore(t, monolith.URL)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	responded := make(chan string, 1)
	go func() {
		resp, err := client.Get("http://" + d.public[0].Addr().String() + "/")
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
		resp, err := client.Get("http://" + d.adminAddr() + what)
		fatal.If(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	end()
	for deadline := time.Now().Add(time.Minute); status("/readyz") != http.StatusServiceUnavailable; {
		if time.Now().After(deadline) {
			t.Fatal("it is ready still")
		}
	}
	for _, what := range []string{"/livez", "/metrics", "/api/v1/status"} {
		if got := status(what); got != http.StatusOK {
			t.Errorf("%s: %d while the last request is under way", what, got)
		}
	}
	close(finish)
	if got := <-responded; got != "done" {
		t.Errorf("the last request: %s", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// deployBefore serves before a monolith until end is called; served then gives what
// serving came to.
func deployBefore(t *testing.T, monolith string) (d *deployment, end func(), served <-chan error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "whittle.yaml")
	text := fmt.Sprintf("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nmonolith: %s\nstate: %s.db\n", monolith, path)
	fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
	f, err := config.Load(path)
	fatal.If(t, err)
	d, err = open(t.Context(), f, slog.New(slog.DiscardHandler), inherited{sockets: &listening.Set{}})
	fatal.If(t, err)
	ctx, end := context.WithCancel(t.Context())
	ready, result := make(chan struct{}), make(chan error, 1)
	go func() { result <- d.serve(ctx, func() { close(ready) }) }()
	<-ready
	return d, end, result
}
