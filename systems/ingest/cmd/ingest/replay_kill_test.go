package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle/systems/ingest/dedup"
)

// failure is a way in which a request fails. kept is what the receiver says of the
// events, which it has kept: those that do not call it have not reached it.
type failure struct {
	name string
	run  func(c net.Conn, w http.ResponseWriter, kept func() *httptest.ResponseRecorder)
}

// failures are what servers, and what stands before them, do to a request. Those that
// hold the connection are given it.
var failures = []failure{
	{"503", func(_ net.Conn, w http.ResponseWriter, _ func() *httptest.ResponseRecorder) { w.WriteHeader(503) }},
	{"429 that says when", func(_ net.Conn, w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
		w.Header().Set("Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(429)
	}},
	{"429 without sense", func(_ net.Conn, w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
		w.Header().Set("Retry-After", "-1e9")
		w.WriteHeader(429)
	}},
	{"408", func(_ net.Conn, w http.ResponseWriter, _ func() *httptest.ResponseRecorder) { w.WriteHeader(408) }},
	{"502 of what is kept", func(_ net.Conn, w http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		kept()
		w.WriteHeader(502)
	}},
	{"kept twice", func(_ net.Conn, w http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		kept()
		pass(w, kept())
	}},
	{"another type", func(_ net.Conn, w http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		r := kept()
		r.Header().Set("Content-Type", "text/html")
		r.Header().Set("Connection", "close")
		pass(w, r)
	}},
	{"a page in place of the outcomes", func(_ net.Conn, w http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		kept()
		_, _ = io.WriteString(w, "<html>200 OK</html>")
	}},
	{"unknown", func(_ net.Conn, w http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		said := kept().Body.Bytes()
		w.WriteHeader(503)
		_, _ = w.Write(bytes.ReplaceAll(bytes.ReplaceAll(said, []byte(`"accepted"`), []byte(`"unknown"`)), []byte(`"duplicate"`), []byte(`"unavailable"`)))
	}},
	{"of fewer events", func(_ net.Conn, w http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		kept()
		_, _ = io.WriteString(w, `{"v":1,"success":true,"events":1,"runs":[{"from":0,"count":1,"status":"accepted"}]}`)
	}},
	{"413 by what stands before it", func(_ net.Conn, w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
		w.WriteHeader(413)
	}},
	{"reset", func(c net.Conn, _ http.ResponseWriter, _ func() *httptest.ResponseRecorder) { reset(c) }},
	{"reset in the response", func(c net.Conn, _ http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		kept()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"v\":")
		reset(c)
	}},
	{"cut in a chunk", func(c net.Conn, _ http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		kept()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n{\"v\":")
	}},
	{"cut in the head", func(c net.Conn, _ http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		kept()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Le")
	}},
	{"no HTTP", func(c net.Conn, _ http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
		_, _ = io.WriteString(c, "220 smtp ESMTP\r\n")
	}},
	{"half closed", func(c net.Conn, _ http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		kept()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"v\":")
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	}},
	{"silent in the response", func(c net.Conn, _ http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		kept()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"v\":")
		_, _ = io.Copy(io.Discard, c)
	}},
	{"silent", func(c net.Conn, _ http.ResponseWriter, kept func() *httptest.ResponseRecorder) {
		kept()
		_, _ = io.Copy(io.Discard, c)
	}},
}

// meets reports whether a request can fail so: 413 of a single event would be about it.
func (f *failure) meets(q *http.Request) bool {
	return !strings.HasPrefix(f.name, "413") || q.ContentLength >= 2000
}

// firstOnConnection is the first failure that is given the connection.
const firstOnConnection = 11

func pass(w http.ResponseWriter, r *httptest.ResponseRecorder) {
	for name, values := range r.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(r.Code)
	_, _ = w.Write(r.Body.Bytes())
}

func reset(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

// fails lets a request fail in the n-th way.
func (r *receiver) fails(w http.ResponseWriter, q *http.Request, n int) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the client is gone
	}
	kept := func() *httptest.ResponseRecorder {
		again := q.Clone(context.WithoutCancel(q.Context()))
		again.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		r.front.ServeHTTP(rec, again)
		return rec
	}
	if n < firstOnConnection {
		failures[n].run(nil, w, kept)
		return
	}
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer c.Close()
	failures[n].run(c, nil, kept)
}

// TestReplayThroughEveryFailure: each of them, at every third request, costs no event,
// doubles none and changes no key's order.
func TestReplayThroughEveryFailure(t *testing.T) {
	for n, f := range failures {
		t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			events := 400
			if strings.HasPrefix(f.name, "silent") {
				events = 40 // for as long as their bytes may take
			}
			dir, all := source(t, events, rand.New(rand.NewPCG(uint64(n), 5)))
			r := newReceiver(t, dedup.New(dedup.Options{}))
			var mu sync.Mutex
			requests := 0
			r.handle(func(w http.ResponseWriter, q *http.Request) {
				mu.Lock()
				requests++
				bad := requests%3 == 1
				mu.Unlock()
				if q.Method == http.MethodPost && bad && f.meets(q) {
					r.fails(w, q, n)
					return
				}
				r.front.ServeHTTP(w, q)
			})
			to, err := newHTTPTarget(r.URL+"/import", "", 3)
			if err != nil {
				t.Fatal(err)
			}
			defer to.close()
			if to.wait = time.Microsecond; strings.HasPrefix(f.name, "silent") {
				to.patience = 20 * time.Millisecond
			}
			if err := to.ask(t.Context()); err != nil || !to.records {
				t.Fatalf("%v, %v", to.records, err)
			}
			src, err := (&streamFlags{Sink: "embedded", Data: dir}).openForReading(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer closeQuietly(src)
			var out, errs bytes.Buffer
			state, err := readReplayState("", "")
			if err != nil {
				t.Fatal(err)
			}
			p := &replay{to: to, within: timeout, s: streams{out: &out, err: &errs}, state: state}
			parts, err := src.Partitions(t.Context())
			if err == nil {
				err = p.partition(t.Context(), src, parts[0])
			}
			if err != nil || p.sent != len(all) || p.rejected > 0 {
				t.Fatalf("%d sent, %d rejected, %v: %s", p.sent, p.rejected, err, &errs)
			}
			wantReplayed(t, r, all)
		})
	}
}

// TestReplayIsKilled kills the replaying process with -9 at random requests, of a
// server that fails at random and now and then takes nothing at all: run again and
// again, it brings each event over once and in order by key. AUDIT_ROUNDS has it done
// so often.
func TestReplayIsKilled(t *testing.T) {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("AUDIT_ROUNDS"), "1"))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range n {
		replayIsKilled(t, uint64(seed))
	}
}

func replayIsKilled(t *testing.T, seed uint64) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 11))
	dir, all := source(t, 20_000, random)
	r := newReceiver(t, dedup.New(dedup.Options{}))
	state := filepath.Join(t.TempDir(), "state.json")
	var (
		mu           sync.Mutex // guards the following
		process      *os.Process
		left         int // requests until the process is killed
		stop         int // requests until the server takes nothing
		kills, stops int
	)
	r.handle(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		n, stopped := -1, false
		if q.Method == http.MethodPost {
			if left--; left == 0 {
				kills++
				_ = process.Kill()
			}
			if stop--; stop <= 0 {
				stopped = true
			}
			if random.IntN(3) == 0 {
				n = random.IntN(len(failures) - 2) // silence takes a minute
			}
		}
		code := []int{401, 403, 404, 405, 415, 301, 307, 410}[random.IntN(8)]
		mu.Unlock()
		switch {
		case stopped:
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(code)
		case n >= 0 && failures[n].meets(q):
			r.fails(w, q, n)
		default:
			r.front.ServeHTTP(w, q)
		}
	})
	for life := range 60 {
		var out bytes.Buffer
		cmd := exec.CommandContext(t.Context(), self, "replay", "--env-file", "", "--data", dir, "--url", r.URL+"/import", "--state", state)
		cmd.Env = append(os.Environ(), asServer+"=1")
		cmd.Stdout, cmd.Stderr = &out, &out
		mu.Lock()
		left, stop = 1<<30, 1<<30
		switch {
		case life%3 != 1 && kills < 4:
			left = 1 + random.IntN(25)
		case stops < 2:
			stop = 1 + random.IntN(25)
		}
		before := stop
		err := cmd.Start()
		process = cmd.Process
		mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		mu.Lock()
		status := cmd.ProcessState.ExitCode()
		if stop <= 0 && before < 1<<30 {
			if stops++; status != 2 {
				t.Errorf("it was taken nothing of, and ended with %d: %s", status, &out)
			}
		}
		mu.Unlock()
		if status == 0 {
			t.Logf("%d lives, %d kills, %d stops", life+1, kills, stops)
			wantReplayed(t, r, all)
			return
		}
		if status != 2 && status != -1 {
			t.Fatalf("it ended with %d: %s", status, &out)
		}
	}
	t.Error("it does not come to an end")
}

// TestRetryAfter: seconds and dates, and nothing of what makes no sense.
func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "0": 0, "-5": 0, "1e3": 0, "soon": 0, "99999999999": 0, "86400": time.Minute, "2.5": 0,
		"Wed, 21 Oct 2015 07:28:00 GMT": 0, "Fri, 31 Dec 2100 23:59:59 GMT": time.Minute,
	} {
		if got := retryAfter(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestAskAgain: what stands before a server that is away says nothing of it, so a
// replay does not fall back to single events by that.
func TestAskAgain(t *testing.T) {
	for _, code := range []int{429, 502, 503, 504} {
		r := newReceiver(t, nil)
		var asked atomic.Int32
		r.handle(func(w http.ResponseWriter, q *http.Request) {
			if asked.Add(1) < 3 {
				w.WriteHeader(code)
				return
			}
			r.front.ServeHTTP(w, q)
		})
		to, err := newHTTPTarget(r.URL+"/import", "", 1)
		if err != nil {
			t.Fatal(err)
		}
		to.wait = time.Microsecond
		if err := to.ask(t.Context()); err != nil || !to.records {
			t.Errorf("%d: %v, %v", code, to.records, err)
		}
		to.close()
	}
}
