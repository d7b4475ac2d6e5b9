package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"whittle/internal/fatal"
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
	h := runs(t, "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nmonolith: "+monolith.URL+"\n")
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
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
}
