package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/cmdline"
)

func whittleOnce(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = Run(t.Context(), args, cmdline.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return status, o.String(), e.String()
}

func TestCompareFromTheCommandLine(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) }))
	defer srv.Close()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	quick := []string{"--rate", "100", "--duration", "1s", "--block", "100ms", "--warmup", "0s", "--max-late", "10s"}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"urls", append([]string{srv.URL + "/x", srv.URL + "/x", "--html", file("c.html"), "--json", file("c.json")}, quick...), 0, "10 pairs of blocks"},
		{"a condition met", append([]string{srv.URL, srv.URL, "--fail-if", "median ratio > 0.000001"}, quick...), 1, "median ratio > 0.000001"},
		{"a condition not met", append([]string{srv.URL, srv.URL, "--fail-if", "median ratio surely > 1000000"}, quick...), 0, "median"},
		{"no condition", append([]string{srv.URL, srv.URL, "--fail-if", "p98 > 2"}, quick...), 2, "condition"},
		{"a condition on no interval, of whole runs", []string{srv.URL, srv.URL, "--users", "1,2", "--fail-if", "errors ratio surely > 1"}, 2, `write "errors ratio > 1"`},
		{"a condition on no interval, of reports", []string{file("none.json"), file("none.json"), "--fail-if", "errors ratio possibly > 1"}, 2, `write "errors ratio > 1"`},
		{"other paths", append([]string{srv.URL + "/x", srv.URL + "/y"}, quick...), 2, "same path"},
		{"nothing to send", []string{srv.URL, srv.URL}, 2, "how much"},
		{"users and a rate", append([]string{srv.URL, srv.URL, "--users", "2"}, quick...), 2, "either"},
		{"a URL and a file", []string{srv.URL, "report.json"}, 2, "is a URL"},
		{"no such report", []string{file("none.json"), file("none.json")}, 2, "none.json"},
		{"levels", []string{srv.URL, srv.URL, "--users", "1,2", "--runs", "2", "--duration", "100ms", "--warmup", "20ms", "--ramp", "1ms", "--max-late", "10s", "--html", file("l.html")}, 0, "With 2 users"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, errs := whittleOnce(t, append([]string{"compare"}, c.args...)...)
			if status != c.status || !strings.Contains(out+errs, c.want) {
				t.Errorf("status %d, want %d with %q\n%s%s", status, c.status, c.want, out, errs)
			}
		})
	}
	for _, name := range []string{"c.html", "c.json", "l.html"} {
		if b, err := os.ReadFile(file(name)); err != nil || len(b) < 1000 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

func TestLoadReportsAsFilesThatCompareReads(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) }))
	defer srv.Close()
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, "reports", name) }
	status, out, errs := whittleOnce(t, "load", srv.URL, "--rate", "50", "--duration", "200ms", "--max-late", "10s",
		"--json", file("r.json"), "--html", file("r.html"), "--json-artillery", file("a.json"))
	if status != 0 {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	for name, want := range map[string]string{"r.json": "whittle.load/1", "r.html": "<!doctype html>", "a.json": "http.response_time"} {
		if b, err := os.ReadFile(file(name)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %q is not in it (%v)", name, want, err)
		}
	}
	// One window each: no interval, and it says so.
	status, out, errs = whittleOnce(t, "compare", file("r.json"), file("r.json"))
	if status != 0 || !strings.Contains(out, "not paired") || !strings.Contains(out, "too few measurements") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}
