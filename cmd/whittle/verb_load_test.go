package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"whittle/cmdline"
)

func TestCtrlCEndsALoadEarlyWithItsReport(t *testing.T) {
	for _, model := range [][]string{{"--rate", "100", "--duration", "24h"}, {"--users", "3", "--duration", "24h"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		var asked atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if asked.Add(1) == 50 { // the first ones have their responses
				interrupt()
			}
		}))
		var out, err bytes.Buffer
		args := append([]string{"load", srv.URL, "--max-late", "1m"}, model...)
		status := Run(ctx, args, cmdline.Streams{In: strings.NewReader(""), Out: &out, Err: &err})
		srv.Close()
		if status != 0 || !strings.Contains(out.String(), "ended early") || !strings.Contains(out.String(), "completed per second") {
			t.Errorf("%v: status %d\n%s%s", model, status, out.String(), err.String())
		}
	}
}

func TestOneDashDoesForTwo(t *testing.T) {
	for args, want := range map[string]string{
		"load -rate 5 -json {} -H a:b URL":       "load --rate 5 --json-body {} -H a:b URL",
		"load -json={} -users=3 --json r.json U": "load --json-body={} --users=3 --json r.json U",
		"load -- -rate":                          "load -- -rate",
		"load -r -ratex --rate=1 -":              "load -r -ratex --rate=1 -",
		"run -config x":                          "run -config x",
		"":                                       "",
	} {
		if got := secondDash(strings.Fields(args)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q became %q", args, got)
		}
	}
}

// A run that got no response at all measured nothing, whatever the reason, and
// must not pass for a success in a script.
func TestALoadWithoutASingleResponseFails(t *testing.T) {
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + refusing.Addr().String()
	if err := refusing.Close(); err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = c.Close()
		}
	}))
	defer silent.Close()
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))
	defer failing.Close()
	none := filepath.Join(t.TempDir(), "none.yml")
	if err := os.WriteFile(none, []byte("scenarios: [{flow: [{get: {url: /, probability: 0}}]}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{nobody, "--rate", "50", "--duration", "100ms"}, 1, "not one of 5 requests to " + nobody + " got a response (connect: 5)"},
		{[]string{nobody, "--users", "2", "--loops", "1"}, 1, "got a response (connect: 2)"},
		{[]string{nobody}, 1, "is it running there?"},
		{[]string{secure.URL}, 1, "--insecure"},
		{[]string{silent.URL}, 1, "got a response (reset: 1)"},
		{[]string{none, "--target", failing.URL}, 1, "no request was sent"},
		{[]string{failing.URL}, 0, ""}, // a response, if a sad one
	} {
		status, out, errs := whittleOnce(t, slices.Concat([]string{"load", "--max-late", "1m"}, c.args)...)
		if status != c.status || !strings.Contains(errs, c.says) || !strings.Contains(out, "virtual users") {
			t.Errorf("%v: status %d\n%s%s", c.args, status, out, errs)
		}
	}
}
