package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"whittle/cmdline"
	"whittle/internal/fatal"
	"whittle/load/report"
)

func TestCtrlCEndsALoadEarlyWithItsReport(t *testing.T) {
	for _, model := range [][]string{{"--rate", "100", "--duration", "24h"}, {"--users", "3", "--duration", "24h"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		var asked atomic.Int64
		url := serving(t, func(http.ResponseWriter, *http.Request) {
			if asked.Add(1) == 50 { // the first ones have their responses
				interrupt()
			}
		})
		status, out, errs := whittleUntil(ctx, append([]string{"load", url, "--max-late", "1m"}, model...)...)
		if status != 0 || !strings.Contains(out, "ended early") || !strings.Contains(out, "completed per second") {
			t.Errorf("%v: status %d\n%s%s", model, status, out, errs)
		}
	}
}

// A run of nothing but failures measured nothing, whatever the reason, and must not pass
// for a success in a script.
func TestALoadOfNothingButFailuresFails(t *testing.T) {
	const nobody = "http://127.0.0.1:1"
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	silent := serving(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	failing := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	missing := serving(t, http.NotFound)
	var asked atomic.Int64
	odd := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200 + int(asked.Add(1)%2)*300) })
	dir := t.TempDir()
	plan := func(name, flow string) string {
		return fatal.Write(t, filepath.Join(dir, name), "scenarios: [{flow: ["+flow+"]}]")
	}
	none := plan("none.yml", "{get: {url: /, probability: 0}}")
	wanting := plan("wanting.yml", "{get: {url: /, expect: {statusCode: 200}}}, {get: {url: /, expect: {statusCode: 200}}}")
	content := plan("content.yml", "{get: {url: /, expect: {statusCode: 500}}}")
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{nobody, "--rate", "50", "--duration", "100ms"}, 1, "not one of 5 requests to " + nobody + " got a response (refused: 5)"},
		{[]string{nobody, "--users", "2", "--loops", "1"}, 1, "got a response (refused: 2)"},
		{[]string{nobody}, 1, "is it running there?"},
		{[]string{secure.URL}, 1, "--insecure"},
		{[]string{silent}, 1, "got a response (reset: 1)"},
		{[]string{none, "--target", failing}, 1, "no request was sent"},
		// Responses, but nothing of what was asked for.
		{[]string{failing}, 1, "not one of 1 request to " + failing + " succeeded (server_error: 1; status 500: 1)"},
		{[]string{failing, "--rate", "50", "--duration", "100ms"}, 1, "see the target's log"},
		{[]string{failing, "--users", "2", "--loops", "3", "--fail-if", "errors > 99%"}, 1, "(server_error: 6; status 500: 6); the condition errors > 99% holds: it is 100"},
		{[]string{wanting, "--target", missing}, 1, "not one of 2 requests to " + missing + " succeeded (expectation: 2; status 404: 2)"},
		{[]string{wanting, "--target", missing}, 1, "what the plan expects holds of no response"},
		{[]string{content, "--target", failing}, 0, ""}, // an error is what this plan expects
		{[]string{missing}, 0, ""},        // and a 404 a response, which a note is about
		{[]string{odd, "-n", "2"}, 0, ""}, // one in two succeeds
	} {
		status, out, errs := whittleOnce(t, slices.Concat([]string{"load", "--max-late", "1m"}, c.args)...)
		if status != c.status || !strings.Contains(errs, c.says) || !strings.Contains(out, "virtual users") {
			t.Errorf("%v: status %d\n%s%s", c.args, status, out, errs)
		}
		if noted := strings.Contains(out, "every response was a refusal (status 404: "); noted != slices.Equal(c.args, []string{missing}) {
			t.Errorf("%v: a note on refusals: %v\n%s", c.args, noted, out)
		}
	}
}

// One output may be standard output, where words and progress are then not; a file that
// cannot be made is said before anything is sent, and one that cannot be written leaves
// the words.
func TestWhereALoadsReportsGo(t *testing.T) {
	var asked atomic.Int64
	url := serving(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	dir := t.TempDir()
	for _, c := range []struct {
		args         []string
		status       int
		begins, errs string
		sent         int64
	}{
		{[]string{"--json", "-", "--html", dir + "/new/a.html"}, 0, "{\n", "", 1},
		{[]string{"--json", "-", "--html", dir + "/a.html"}, 0, "{\n", "", 1},
		{[]string{"--html", "-"}, 0, "<!doctype html>", "", 1},
		{[]string{"--html", dir + "/b.html", "--json", dir + "/b.json"}, 0, url, "", 1},
		{[]string{"--html", "-", "--json", "-"}, 2, "", "2 outputs are", 0},
		{[]string{"--html", dir}, 2, "", "is a directory", 0},
		{[]string{"--json", dir + "/a.html/x"}, 2, "", "not a directory", 0},
	} {
		before := asked.Load()
		status, out, errs := whittleOnce(t, slices.Concat([]string{"load", url, "--max-late", "1m"}, c.args)...)
		if status != c.status || !strings.HasPrefix(strings.ToLower(out), c.begins) || !strings.Contains(errs, c.errs) || asked.Load()-before != c.sent {
			t.Errorf("%v: status %d, %d sent\n%.300s%s", c.args, status, asked.Load()-before, out, errs)
		}
	}
	if status, _, _ := whittleOnce(t, "load", dir+"/none.yml", "--json", dir+"/none.json"); status != 2 {
		t.Errorf("status %d of a plan that is not there", status)
	}
	if _, err := os.Stat(dir + "/none.json"); err == nil {
		t.Error("a report is left of a run that never was")
	}
	for name, begins := range map[string]string{"new/a.html": "<!", "b.html": "<!", "b.json": "{\n", "a.html": "<!"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.HasPrefix(string(b), begins) {
			t.Errorf("%s: %v %.20q", name, err, b)
		}
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return // only Linux has it
	}
	full.Close()
	status, out, errs := whittleOnce(t, "load", url, "--max-late", "1m", "--html", "/dev/full")
	if status != 3 || !strings.Contains(out, "virtual users") || !strings.Contains(errs, "no space left") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}

// What is wrong with a command line is said before anything is sent, in its own words.
func TestWrongCommandLinesAreRefused(t *testing.T) {
	url := serving(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	for args, says := range map[string]string{
		"URL --rate 0 -d 1s":               "--rate 0 is not above 0",
		"URL --rate=-5 -d 1s":              "--rate -5 is not above 0",
		"URL --rate NaN -d 1s":             "--rate NaN is not above 0",
		"URL --rate 1e9 -d 1s":             "--rate 1e+09 is above 1e+06",
		"URL --users 0":                    "--users 0 is not above 0",
		"URL --users 2 --loops 0":          "--loops 0 is not above 0",
		"URL -n 0":                         "-n 0 is not above 0",
		"URL -n 5 --loops 2":               "5 requests in all go not together with 2 loops each",
		"URL -n 9223372036854775807":       "requests in all are not within 0 and 1000000000",
		"URL -n 5 --rate 5 -d 1s":          "either -n is given or --duration",
		"URL --rate 5 -d -1s":              `--duration: "-1s" is not above 0`,
		"URL --rate 5":                     "--rate needs --duration",
		"URL --rate 5 --users 5 -d 1s":     "either --rate is given, for open arrivals, or --users",
		"URL --rate x -d 1s":               `--rate: "x" is not a number`,
		"URL --timeout -1s":                `--timeout: "-1s" is not above 0`,
		"URL --think -1s":                  "--think is below 0",
		"URL --fail-if p99>1s errors>101%": "errors>101%",
		"URL --max-late -1s":               `--max-late: "-1s" is not above 0`,
		"URL --protocol h9":                "must be one of",
		"http://":                          "is not a URL",
		"http://127.0.0.1:99999/":          "99999 is no port",
		"http://127.0.0.1:0/":              "0 is no port",
		"URL --target nonsense":            "not of the form",
		"URL --target http://a:b@/":        "not of the form",
		"URL --target http://a:b@h:0/":     "\"http://a:xxxxx@h:0/\": 0 is no port",
		"no-such-file.yml -n 5":            "-n goes with a URL",
		"":                                 "expected",
	} {
		line := append([]string{"load"}, strings.Fields(strings.ReplaceAll(args, "URL", url))...)
		status, out, errs := whittleOnce(t, line...)
		if status != 2 || !strings.Contains(errs, says) || strings.Contains(out, "virtual users") {
			t.Errorf("%s: status %d\n%s%s; want %q", args, status, out, errs, says)
		}
	}
}

func TestLogStepsPrintTheirLines(t *testing.T) {
	url := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Id", "a\tb") })
	path := filepath.Join(t.TempDir(), "plan.yml")
	plan := "config: {phases: [{duration: 0.1, arrivalCount: 2}]}\n" +
		"scenarios: [{flow: [{get: {url: /, capture: {header: x-id, as: id}}}, {log: 'got {{ id }}'}]}]"
	fatal.Write(t, path, plan)
	for _, asJSON := range []bool{false, true} {
		args := []string{"load", path, "--target", url, "--max-late", "1m"}
		if asJSON {
			args = append(args, "--json", "-")
		}
		status, where, errs := whittleOnce(t, args...)
		if status != 0 {
			t.Fatalf("status %d: %s", status, errs)
		}
		if asJSON {
			where = errs
		}
		fatal.Same(t, strings.Count(where, "  got a\uFFFDb\n"), 2, "JSON on standard output %v: lines of the plan's in %q", asJSON, where)
	}
}

// slowWriter waits before its first line until it is let go.
type slowWriter struct {
	bytes.Buffer
	wait chan struct{}
}

func (w *slowWriter) Write(b []byte) (int, error) {
	<-w.wait
	return w.Buffer.Write(b)
}

func TestLinesThatComeTooFastAreLeftOutAndCounted(t *testing.T) {
	w := &slowWriter{wait: make(chan struct{})}
	l := newPlanLog(cmdline.NewScreen(cmdline.Streams{Out: w}))
	const lines = logQueue + 500
	for i := range lines {
		l.line(0, fmt.Sprint(i))
	}
	l.progress(report.Progress{})
	left := l.left.Load()
	close(w.wait)
	l.close()
	if printed := int64(strings.Count(w.String(), "\n")) - 1; left < 400 || printed != lines+1-left {
		t.Errorf("%d of %d printed, %d left out", printed, lines, left)
	}
	if want := fmt.Sprintf("(%d more lines were not printed", left); !strings.Contains(w.String(), want) {
		t.Errorf("%q is not in what was printed", want)
	}
}
