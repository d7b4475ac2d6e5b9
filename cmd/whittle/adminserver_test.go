package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"whittle/carve/config"
)

// TestTheAdminListenersEndIsNotTheGateways: when the admin API's listener fails, users
// are served on, and the API comes back at its address.
func TestTheAdminListenersEndIsNotTheGateways(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whittle.yaml")
	text := fmt.Sprintf("listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nmonolith: http://127.0.0.1:9\nstate: %s.db\n", path)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := open(t.Context(), f, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ready, served := make(chan struct{}), make(chan error, 1)
	go func() { served <- d.serve(ctx, func() { close(ready) }) }()
	<-ready
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	asks := func(url string) int {
		resp, err := client.Get(url)
		if err != nil {
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	health := "http://" + d.adminAddr() + "/readyz"
	for deadline := time.Now().Add(time.Minute); asks(health) != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("the admin API is not there")
		}
	}
	d.admin.listener.Close()
	back := false
	for deadline := time.Now().Add(time.Minute); !back && time.Now().Before(deadline); {
		if got := asks("http://" + d.public.Addr().String() + "/"); got != http.StatusBadGateway { // nobody is at the monolith's address
			t.Fatalf("a user got %d", got)
		}
		back = asks(health) == http.StatusOK
	}
	if !back {
		t.Error("the admin API does not come back")
	}
	end()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
