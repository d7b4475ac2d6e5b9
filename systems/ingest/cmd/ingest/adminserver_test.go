package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"whittle/systems/daemon"
)

// TestAdminPanicsAreErrors asks whether a server is ready that cannot say.
func TestAdminPanicsAreErrors(t *testing.T) {
	said := &bytes.Buffer{}
	a := &admin{registry: prometheus.NewRegistry(), loopback: true} // without a stream
	front := httptest.NewUnstartedServer(nil)
	front.Config = daemon.NewServer(a.handler(), slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelError})))
	front.Start()
	if res, err := http.Get(front.URL + "/ready"); err == nil {
		res.Body.Close()
		t.Errorf("acknowledged %d", res.StatusCode)
	}
	front.Close() // then nobody writes the log any more
	if !strings.Contains(said.String(), "level=ERROR") || !strings.Contains(said.String(), "panic serving") {
		t.Errorf("the log says %q", said)
	}
}
