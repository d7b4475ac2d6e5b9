package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/carve/gateway/listener"
	"whittle/internal/fatal"
)

// startSink serves the fixture's gateway as the sink of a mirror.
func (s *fixture) startSink() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.g.Serve(ctx, listener.Listener{Listener: l, Sink: true}) }()
	s.t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-served; err != nil {
			s.t.Error(err)
		}
	})
	s.url = "http://" + l.Addr().String()
}

// host keeps by method the Host and the header that a side got last.
type host struct {
	mu   sync.Mutex // guards seen
	seen map[string]http.Header
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil {
		h.seen = map[string]http.Header{}
	}
	h.seen[r.Method] = r.Header.Clone()
	h.seen[r.Method].Set("Host", r.Host)
	_, _ = io.WriteString(w, "fine")
}

// A mirror gets 204 whatever becomes of its request: while both sides hang, with a body above
// the bound, with a write. What may be asked is asked of both sides, in either order, without
// the mirror's marks.
func TestSinkAsksBothSides(t *testing.T) {
	open204 := func(spec whittle.Route, monolith, candidate http.Handler) *fixture {
		s := open(t, spec, monolith, candidate)
		s.startSink()
		return s
	}
	t.Run("at once", func(t *testing.T) {
		go204 := make(chan struct{})
		hangs := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { <-go204 })
		s := open204(everything(), hangs, hangs)
		for range 20 {
			if status, _ := s.gets(s.sends(http.MethodGet, "")); status != http.StatusNoContent {
				t.Fatalf("status %d", status)
			}
		}
		close(go204)
		if l := s.rests(); l.Total != 20 || l.Compared != 20 {
			t.Errorf("%+v", l)
		}
	})
	t.Run("marks, orders and the contract", func(t *testing.T) {
		var monolith, candidate host
		s := open204(everything(), &monolith, &candidate)
		for range 40 {
			r := s.sends(http.MethodGet, "", "X-Envoy-Expected-Rq-Timeout-Ms", "15000", "X-User", "ann", "Keep-Alive", "timeout=5")
			r.Host = "shop.example-shadow:8080"
			s.gets(r)
		}
		s.gets(s.sends(http.MethodPost, "a write"))
		s.gets(s.sends(http.MethodGet, strings.Repeat("x", 100<<10)))
		r := s.sends(http.MethodGet, "")
		r.URL.RawQuery = "code=1&state=2"
		s.gets(r)
		l := s.rests()
		if l.Total != 43 || l.Compared != 40 || l.Skipped[whittle.SkipNotSafe] != 2 || l.Skipped[whittle.SkipTooLarge] != 1 {
			t.Errorf("%+v", l)
		}
		for side, h := range map[string]*host{"monolith": &monolith, "candidate": &candidate} {
			got := h.seen[http.MethodGet]
			if got.Get("Host") != "shop.example:8080" || got.Get("X-Envoy-Expected-Rq-Timeout-Ms") != "" || got.Get("Keep-Alive") != "" || got.Get("X-User") != "ann" || len(h.seen) != 1 {
				t.Errorf("the %s got %v", side, h.seen)
			}
		}
		first := map[whittle.Side]int{}
		for _, x := range s.seen() {
			if !x.Unserved || x.Monolith.Status != 200 || x.Candidate.Status != 200 || x.FirstChance != 0.5 {
				t.Fatalf("%+v", x)
			}
			first[x.First()]++
		}
		if len(first) != 2 || len(s.reported()) != 0 {
			t.Errorf("asked first: %v; users' outcomes: %v", first, s.reported())
		}
	})
	t.Run("what is larger than the bound is compared on neither side", func(t *testing.T) {
		large := says(200, strings.Repeat("x", 65<<10))
		s := open204(everything(), large, large)
		for range 10 {
			s.gets(s.sends(http.MethodGet, ""))
		}
		s.rests()
		for _, x := range s.seen() {
			if x.Monolith.Failure != whittle.FailedTooLarge || x.Candidate.Failure != whittle.FailedTooLarge {
				t.Errorf("%v, %v", x.Monolith.Failure, x.Candidate.Failure)
			}
		}
	})
	t.Run("no route", func(t *testing.T) {
		var monolith host
		s := open204(everything(), &monolith, says(200, "fine"))
		r := s.sends(http.MethodPost, "a body that nobody wants")
		r.URL.Path = "/other"
		if status, _ := s.gets(r); status != http.StatusNoContent || len(monolith.seen) != 0 {
			t.Errorf("status %d, the monolith got %v", status, monolith.seen)
		}
	})
}

// A queue that is full sheds, and the mirror notices nothing of it.
func TestSinkSheds(t *testing.T) {
	release := make(chan struct{})
	hangs := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })
	spec := everything()
	spec.Mirror.Queue, spec.Mirror.Concurrency = 3, 2
	s := open(t, spec, hangs, hangs)
	s.startSink()
	for range 10 {
		if status, _ := s.gets(s.sends(http.MethodGet, "")); status != http.StatusNoContent {
			t.Fatalf("status %d", status)
		}
	}
	waits(t, time.Minute, func() bool { return s.g.Ledger(s.route).Shed == 5 })
	close(release)
	if l := s.rests(); l.Total != 10 || l.Compared != 5 || l.Shed != 5 {
		t.Errorf("%+v", l)
	}
}
