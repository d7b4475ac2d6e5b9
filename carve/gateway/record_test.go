package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
)

// tape is what a gateway recorded.
type tape struct {
	mu   sync.Mutex // guards the following
	kept []*whittle.Exchange
	full bool
}

func (p *tape) take(x *whittle.Exchange) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.full {
		p.kept = append(p.kept, x)
	}
	return !p.full
}

// rolls waits until so many exchanges are on the tape.
func (p *tape) rolls(t *testing.T, n int) []*whittle.Exchange {
	t.Helper()
	waits(t, 20*time.Second, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.kept) >= n
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) != n {
		t.Fatalf("%d exchanges are recorded, want %d", len(p.kept), n)
	}
	return p.kept
}

// TestRecord: whoever answers, and with or without a route, what the user asked
// and got is recorded.
func TestRecord(t *testing.T) {
	var p tape
	spec := everything()
	spec.Record = whittle.All
	monolith := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("X-From", "monolith")
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprintf(w, "monolith got %s", b)
		w.(http.Flusher).Flush()
		w.Header().Set("X-Sum", "7")
		w.Header().Set(http.TrailerPrefix+"X-Late", "8")
	})
	s := open(t, spec, monolith, says(http.StatusOK, "candidate"), func(o *Options) { o.Record = p.take })
	ask := func(path, body string) { ask(t, http.MethodPut, s.url+path, body, "X-User", "u") }
	ask("/elsewhere?x=1", "one")
	s.g.SetRecording(whittle.All, 0)
	ask("/elsewhere?x=2", "two")
	ask("/work", "three")
	s.apply(whittle.All, whittle.PhaseShift)
	ask("/work", "four")

	kept := p.rolls(t, 3)
	x := kept[0]
	if x.Route != "" || x.Request.Target != "/elsewhere?x=2" || x.Request.Method != http.MethodPut || string(x.Request.Body) != "two" || x.Served != whittle.Monolith {
		t.Errorf("%+v", x)
	}
	if a := &x.Monolith; a.Status != http.StatusAccepted || a.Header.Get("X-From") != "monolith" || string(a.Body) != "monolith got two" ||
		a.Trailer.Get("X-Sum")+a.Trailer.Get("X-Late") != "78" || a.Latency <= 0 {
		t.Errorf("%+v", a)
	}
	if x = kept[1]; x.Route != "/work" || string(x.Monolith.Body) != "monolith got three" {
		t.Errorf("%+v", x)
	}
	if x = kept[2]; x.Served != whittle.Candidate || string(x.Candidate.Body) != "candidate" || string(x.Request.Body) != "four" {
		t.Errorf("%+v", x)
	}
	if _, idle := x.Request.Header["X-Idempotency-Key"]; idle {
		t.Error("a field that was not sent is recorded")
	}
	waits(t, 10*time.Second, func() bool { return s.g.Records() == Records{Taken: 3} })
	s.rests()
	waits(t, 10*time.Second, func() bool { return s.g.records.held.Load() == 0 })
}

// TestRecordSkips: what cannot be recorded whole is counted, and never held on
// to.
func TestRecordSkips(t *testing.T) {
	var p tape
	long := strings.Repeat("x", 5000)
	mux := http.NewServeMux()
	mux.HandleFunc("/long", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, string(b)+long)
	})
	mux.HandleFunc("/unread", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) })
	mux.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: x\n\n")
	})
	mux.HandleFunc("/broken", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	s := open(t, everything(), mux, says(http.StatusOK, "candidate"), func(o *Options) { o.Record = p.take })
	s.g.SetRecording(whittle.All, 1000)
	ask := func(path, body string, header ...string) { ask(t, http.MethodPost, s.url+path, body, header...) }
	ask("/long", "short")
	ask("/stream", "")
	ask("/stream", "", "Accept", "text/event-stream")
	ask("/broken", "x")
	kept := p.rolls(t, 2)
	if x := kept[0]; string(x.Request.Body) != "short" || !x.Monolith.Truncated || x.Monolith.Body != nil || x.Monolith.Status != http.StatusOK {
		t.Errorf("%+v", x)
	}
	if a := kept[1].Monolith; a.Failure != whittle.FailedReset || a.Status != 0 || a.Detail == "" {
		t.Errorf("%+v", a)
	}
	p.mu.Lock()
	p.full = true
	p.mu.Unlock()
	ask("/unread", strings.Repeat("y", 900))
	waits(t, 10*time.Second, func() bool { return s.g.Records() == Records{Taken: 2, Shed: 1, Skipped: 2} })
	waits(t, 10*time.Second, func() bool { return s.g.records.held.Load() == 0 })
}

// TestRecordKeepsConnections: a connection is in the sample or out of it, its
// exchanges are numbered and in order, and about the share of them is in.
func TestRecordKeepsConnections(t *testing.T) {
	var p tape
	srv := serving(t, says(http.StatusOK, "ok"))
	g, url := running(t, Options{Monolith: upstreamAt(srv), Record: p.take})
	g.SetRecording(whittle.Percent(50), 0)
	const conns, each = 60, 4
	for c := range conns {
		one := speaking(t, false)
		for i := range each {
			askBy(t, one, http.MethodGet, fmt.Sprintf("%s/%d/%d", url, c, i), "")
		}
		one.CloseIdleConnections()
	}
	g.active.wait(time.Minute) // a request is recorded before it has ended
	byConn := map[uint64][]string{}
	for _, x := range p.kept {
		byConn[x.Conn] = append(byConn[x.Conn], x.Request.Target)
	}
	if byConn[0] != nil {
		t.Error("a connection has no number")
	}
	// Binomial(60, 1/2): outside of 10 to 50 once in ten million runs.
	if len(byConn) < 10 || len(byConn) > 50 {
		t.Errorf("%d of %d connections are in a sample of a half", len(byConn), conns)
	}
	turns := 0 // the sample changes once a minute
	for conn, targets := range byConn {
		if len(targets) != each {
			turns++
		}
		for i := 1; i < len(targets); i++ {
			if targets[i] <= targets[i-1] {
				t.Errorf("connection %d is out of order: %v", conn, targets)
			}
		}
	}
	if turns > 2 {
		t.Errorf("%d connections have gaps", turns)
	}
}

// TestNobodyWaitsForTheRecorder: the user has the end of a response, of known length or
// not, before its exchange is recorded.
func TestNobodyWaitsForTheRecorder(t *testing.T) {
	m := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := strings.Repeat("x", 5000)
		if r.URL.Path == "/chunks" {
			w.(http.Flusher).Flush()
			body += "y"
		}
		_, _ = io.WriteString(w, body)
	}))
	whole := make(chan struct{})
	g, url := running(t, Options{Monolith: upstreamAt(m), Record: func(*whittle.Exchange) bool {
		select {
		case <-whole:
		case <-time.After(20 * time.Second):
			t.Error("the user still waits")
		}
		return true
	}})
	g.SetRecording(whittle.All, 0)
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		tr := speaking(t, protocol == "HTTP/2.0")
		for path, size := range map[string]int{"/known": 5000, "/chunks": 5001} {
			resp, got := askBy(t, tr, http.MethodGet, url+path, "")
			if len(got) != size || resp.Proto != protocol {
				t.Errorf("%s %s: %d bytes", resp.Proto, path, len(got))
			}
			select {
			case whole <- struct{}{}:
			case <-time.After(20 * time.Second):
				t.Fatal("nothing is recorded")
			}
		}
	}
}
