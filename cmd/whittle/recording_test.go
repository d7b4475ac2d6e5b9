package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"whittle"
	"whittle/carve/state"
	"whittle/cmdline"
	"whittle/e2e/process"
	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/internal/listening"
	"whittle/record/capture"
	"whittle/record/journal"
	"whittle/record/show"
	"whittle/whittletest"
)

func entriesOf(t *testing.T, dir string) (list []*capture.Entry) {
	t.Helper()
	r, err := journal.Open(dir)
	fatal.If(t, err)
	defer r.Close()
	for {
		e, err := r.Next(t.Context(), journal.Filter{})
		if errors.Is(err, io.EOF) {
			return list
		}
		fatal.If(t, err)
		list = append(list, e.Clone())
	}
}

// heldGateway is a running deployment that a test holds.
type heldGateway struct {
	t     *testing.T
	d     *deployment
	path  string
	url   string
	stop  context.CancelFunc
	ended chan error
}

// runs starts a gateway with a config in a folder of its own.
func runs(t *testing.T, text string) *heldGateway {
	t.Helper()
	h := &heldGateway{t: t, path: filepath.Join(t.TempDir(), "whittle.yaml"), ended: make(chan error, 1)}
	h.write(text)
	f, err := readConfig(h.path)
	fatal.If(t, err)
	var ctx context.Context
	ctx, h.stop = context.WithCancel(context.Background())
	if h.d, err = open(ctx, f, slog.New(slog.DiscardHandler), inherited{sockets: &listening.Set{}}); err != nil {
		t.Fatal(err)
	}
	h.url = "http://" + h.d.public[0].Addr().String()
	ready := make(chan struct{})
	go func() { h.ended <- h.d.serve(ctx, func() { close(ready) }) }()
	<-ready
	return h
}

func (h *heldGateway) write(text string) {
	h.t.Helper()
	fatal.Write(h.t, h.path, text)
}

func (h *heldGateway) file(name string) string { return filepath.Join(filepath.Dir(h.path), name) }

func (h *heldGateway) ends() {
	h.t.Helper()
	h.stop()
	fatal.If(h.t, <-h.ended)
	http.DefaultClient.CloseIdleConnections()
}

func (h *heldGateway) asks(path string) {
	h.t.Helper()
	req, err := http.NewRequest(http.MethodGet, h.url+path, nil)
	fatal.If(h.t, err)
	req.Header.Set("Authorization", "Bearer s3cr3t-of-the-user")
	resp, err := http.DefaultClient.Do(req)
	fatal.If(h.t, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// recorded waits until the log that is open has so many exchanges: a response comes before
// its exchange is recorded, and so by the rules that are in force then.
func (h *heldGateway) recorded(n float64) {
	h.t.Helper()
	process.Until(h.t, fmt.Sprintf("%v exchanges recorded", n), func() bool {
		return metricOf(h.t, h.d.records, "whittle_recorder_exchanges_total", "recorded") == n
	})
}

// serving is a server that ends with the test.
func serving(t *testing.T, response http.HandlerFunc) (url string) {
	t.Helper()
	s := httptest.NewServer(response)
	t.Cleanup(s.Close)
	return s.URL
}

func account(t *testing.T, password string) (url string) {
	return serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"mail":"%s@example.com","password":"%s","n":1}`, password, password)
	})
}

// TestNothingSecretIsShownOrKept: with no word about redaction in the config, a
// secret in a body that differs is in no finding, no response of the admin API,
// no state file and no recorded exchange.
func TestNothingSecretIsShownOrKept(t *testing.T) {
	h := runs(t, fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
monolith: %s
record: {sample: 100%%}
routes:
  - {match: GET /user, candidate: %q}
`, account(t, "hunter2"), account(t, "letmein")))
	for i := range 40 {
		h.asks(fmt.Sprintf("/user?token=abcdef123&i=%d", i))
	}
	h.asks("/elsewhere")
	adminURL := "http://" + h.d.adminAddr()
	process.Until(t, "the comparison to be on disk", func() bool {
		for _, r := range h.d.control.Status() {
			if r.Verdict.Compared == 40 {
				return true
			}
		}
		return false
	})
	var shown bytes.Buffer
	Run(t.Context(), []string{"diffs", "GET /user", "--admin", h.d.adminAddr()}, cmdline.Streams{Out: &shown, Err: &shown})
	fatal.Has(t, shown.String(), "$.password", "redacted-")
	for _, path := range []string{"/api/v1/routes", "/api/v1/routes/GET%20%2Fuser", "/api/v1/config", "/metrics"} {
		resp, err := http.Get(adminURL + path)
		fatal.If(t, err)
		_, _ = io.Copy(&shown, resp.Body)
		resp.Body.Close()
	}
	fatal.Has(t, shown.String(), `whittle_recorder_exchanges_total{fate="recorded"}`)
	h.ends()
	kept := keptBy(t, h.file("whittle.db"))
	list := entriesOf(t, h.file("recorded"))
	fatal.Same(t, len(list), 41, "exchanges are recorded")
	recorded, err := json.Marshal(list)
	fatal.If(t, err)
	for _, e := range list {
		recorded = append(append(recorded, e.Request.Body...), e.Response.Body...)
	}
	for _, secret := range []string{"hunter2", "letmein", "abcdef123", "s3cr3t-of-the-user", "bob@"} {
		for where, b := range map[string][]byte{"shown": shown.Bytes(), "in the state file": kept, "recorded": recorded} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s is %s", secret, where)
			}
		}
	}
}

// keptBy is all that a state file has, with its parts as they were before they were encoded.
func keptBy(t *testing.T, path string) []byte {
	t.Helper()
	b := []byte(fatal.Read(t, path))
	_, body, _ := bytes.Cut(b, []byte("\n"))
	var all map[string]state.Record
	if err := json.Unmarshal(body, &all); err != nil || len(all) == 0 {
		t.Fatalf("%d records: %v", len(all), err)
	}
	for _, r := range all {
		b = slices.Concat(b, r.Rollout, r.Judge, r.Guard, r.Ledger)
	}
	return b
}

// TestRecordingReloads: a reload begins, changes and ends what is recorded.
func TestRecordingReloads(t *testing.T) {
	head := "listen: 127.0.0.1:0\nadmin: off\nmonolith: " + account(t, "hunter2") + "\n"
	h := runs(t, head)
	reload := func(more string) {
		h.t.Helper()
		h.write(head + more)
		h.d.reload("test")
	}
	h.asks("/0")
	reload("record: {sample: 100%, dir: one}\n")
	h.asks("/1")
	h.recorded(1)
	reload("record: {sample: 100%, dir: one}\nredact: {fields: [n], keep: [password]}\n")
	h.asks("/2")
	h.recorded(2)
	reload("record: {sample: 100%, dir: one}\nredact: {paths: ['$[']}\n") // refused
	h.asks("/3")
	h.recorded(3)
	reload("record: {sample: 100%, dir: one, max_bytes: 2MiB}\n")
	h.asks("/4")
	h.recorded(1)
	reload("record: {sample: off, dir: one, max_bytes: 2MiB}\nroutes: [{match: /only/, record: 100%}]\n")
	h.asks("/5")
	h.asks("/only/6")
	h.recorded(2)
	reload("record: {sample: 100%, dir: two}\n")
	h.asks("/7")
	h.recorded(1)
	reload("")
	h.asks("/8")
	h.ends()
	var got []string
	for _, e := range append(entriesOf(t, h.file("one")), entriesOf(t, h.file("two"))...) {
		got = append(got, e.Request.Target)
		rules := e.Request.Target == "/2" || e.Request.Target == "/3"
		if strings.Contains(string(e.Response.Body), "hunter2\"") != rules || strings.Contains(string(e.Response.Body), `"n":1}`) == rules {
			t.Errorf("%s by other rules: %s", e.Request.Target, e.Response.Body)
		}
	}
	fatal.Same(t, strings.Join(got, " "), "/1 /2 /3 /4 /only/6 /7", "recorded")
}

// TestRecordLive: alone in front of a monolith, until it is stopped.
func TestRecordLive(t *testing.T) {
	monolith, dir := account(t, "hunter2"), filepath.Join(t.TempDir(), "log")
	front, err := child.Spawn(child.Options{}, "whittle", "record", "--listen", "127.0.0.1:0", "--monolith", monolith, "--to", dir,
		"--redact-field", "n", "--json", filepath.Join(t.TempDir(), "sum.json"))
	fatal.If(t, err)
	t.Cleanup(front.Kill)
	process.Until(t, "the listener", func() bool { return strings.Contains(front.Said(), "recording public=") })
	_, address, _ := strings.Cut(front.Said(), "public=")
	address, _, _ = strings.Cut(address, " ")
	for i := range 5 {
		resp, err := http.Get(fmt.Sprintf("http://%s/%d?api_key=k3y-of-a-user", address, i))
		fatal.If(t, err)
		if b, _ := io.ReadAll(resp.Body); !strings.Contains(string(b), "hunter2") {
			t.Errorf("the user got %s", b)
		}
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	fatal.If(t, front.Signal(os.Interrupt))
	if err := front.Wait(); err != nil {
		t.Errorf("%v: %s", err, front.Said())
	}
	if !regexp.MustCompile(`5 recorded \([1-9]\d*(\.\d Ki| )B before compression\), 0 shed`).MatchString(front.Said()) || !strings.Contains(front.Said(), "whittle record ls "+dir) {
		t.Errorf("it says\n%s", front.Said())
	}
	list := entriesOf(t, dir)
	if len(list) != 5 {
		t.Fatalf("%d exchanges", len(list))
	}
	for _, e := range list {
		if b := string(e.Response.Body); strings.Contains(b, "hunter2") || strings.Contains(b, `"n":1}`) || strings.Contains(e.Request.Target, "k3y") || e.Conn == 0 {
			t.Errorf("%+v %s", e, b)
		}
	}
	for _, wrong := range [][]string{
		{"record", "--to", dir},
		{"record", "--monolith", monolith, "--to", dir, "--sample", "10"},
		{"record", "--monolith", monolith, "--to", dir, "--redact-pattern", "(?=x)"},
		{"record", "--monolith", "nowhere", "--to", dir},
	} {
		if status, _, _ := whittleOnce(t, wrong...); status != 2 {
			t.Errorf("%v: exit status %d", wrong, status)
		}
	}
}

func TestStatusesAreChosen(t *testing.T) {
	for _, c := range []struct {
		want   []string
		status int
		takes  bool
	}{
		{nil, 200, true},
		{nil, 0, true},
		{[]string{"404"}, 404, true},
		{[]string{"404"}, 400, false},
		{[]string{"4xx"}, 404, true},
		{[]string{"4xx"}, 504, false},
		{[]string{"40x"}, 404, true},
		{[]string{"40x"}, 414, false},
		{[]string{"5xx", "failed"}, 0, true},
		{[]string{"5xx"}, 0, false},
		{[]string{"failed"}, 500, false},
	} {
		v := show.Choice{Status: c.want}
		if _, err := v.Filter(); err != nil {
			t.Errorf("%v: %v", c.want, err)
		}
		fatal.Same(t, v.Takes(&whittle.Response{Status: c.status}), c.takes, "%v takes %d", c.want, c.status)
	}
	for _, bad := range []string{"", "2", "20", "abc", "0xx", "x00", "2000", "FAILED"} {
		v := show.Choice{Status: []string{bad}}
		_, err := v.Filter()
		whittletest.Refused(t, err, whittle.Invalid, bad)
	}
}

// show --follow prints what is recorded while it looks, and nothing from before.
func TestShowFollows(t *testing.T) {
	dir := t.TempDir()
	w, err := journal.Create(dir, journal.Options{})
	fatal.If(t, err)
	write := func(target string, at time.Time) {
		e := &capture.Entry{At: at, Request: whittle.Request{Method: "GET", Target: target}, Response: whittle.Response{Status: 200}}
		fatal.If(t, errors.Join(w.Append(e), w.Flush()))
	}
	write("/before", time.Now().Add(-time.Minute))

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		v := recordShow{Log: dir, Follow: true}
		done <- v.Run(ctx, cmdline.Streams{Out: in, Err: io.Discard}, &kong.Context{})
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	for i := range defaultShown + 2 {
		write(fmt.Sprintf("/now/%d", i), time.Now().Add(time.Hour))
		if !lines.Scan() || !strings.HasSuffix(lines.Text(), fmt.Sprintf("GET /now/%d", i)) || !strings.HasPrefix(lines.Text(), fmt.Sprintf("  %6d  ", i+2)) {
			t.Fatalf("exchange %d is shown as %q", i, lines.Text())
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	fatal.If(t, w.Close())
	var all strings.Builder // JSON has no bound of lines
	v := recordShow{Log: dir, JSON: "-"}
	if err := v.Run(t.Context(), cmdline.Streams{Out: &all, Err: io.Discard}, &kong.Context{}); err != nil || strings.Count(all.String(), "\n") != defaultShown+3 {
		t.Errorf("%d lines of JSON, %v", strings.Count(all.String(), "\n"), err)
	}
}
