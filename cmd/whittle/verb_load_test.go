package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestCtrlCEndsALoadEarlyWithItsReport(t *testing.T) {
	for _, model := range [][]string{{"--rate", "100", "--duration", "24h"}, {"--users", "3", "--duration", "24h"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { interrupt() }))
		var out, err bytes.Buffer
		args := append([]string{"load", srv.URL, "--max-late", "1m"}, model...)
		status := Run(ctx, args, streams{in: strings.NewReader(""), out: &out, err: &err})
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
