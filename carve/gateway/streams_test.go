package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"whittle"
	"whittle/carve/gateway/listener"
	"whittle/internal/fatal"
)

// inPieces responds with one piece, and with a second when next is closed.
func inPieces(kind string, next <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, "one\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-next:
			_, _ = io.WriteString(w, "two\n")
		case <-r.Context().Done():
		}
	})
}

// TestPiecesOfTheCandidateReachItsUser: of a response whose pieces come one by one the user
// has the first before the last is there, by whichever type, and while it goes on it is no
// reason to trip.
func TestPiecesOfTheCandidateReachItsUser(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, kind := range []string{"text/event-stream", "application/x-ndjson", "text/html", "multipart/x-mixed-replace; boundary=b"} {
			t.Run(method+" "+kind, func(t *testing.T) {
				t.Parallel()
				next := make(chan struct{})
				s := open(t, everything(), says(200, "monolith"), inPieces(kind, next))
				s.apply(whittle.All, whittle.PhaseShift)
				resp, err := http.DefaultClient.Do(s.sends(method, "", "Accept", "text/event-stream, application/json"))
				fatal.If(t, err)
				defer resp.Body.Close()
				first := make([]byte, len("one\n"))
				if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "one\n" {
					t.Fatalf("the user got %q, %v", first, err)
				}
				waits(t, 20*time.Second, func() bool { return s.g.table.Load().routes["/work"].breaker.InFlight() == 0 })
				close(next)
				if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "two\n" {
					t.Errorf("the rest is %q, %v", rest, err)
				}
				l := s.rests()
				if o := s.reported(); len(o) != 1 || o[0].Bad() || o[0].Side != whittle.Candidate || l.Failed != 0 || len(s.trips) != 0 {
					t.Errorf("outcomes %+v, ledger %+v, trips %v", o, l, s.trips)
				}
			})
		}
	}
}

// TestTheResponseSaysWhatStreams: a client that would take an event stream, as many libraries
// write by default, is shadowed and served like any other; a response that is one is not
// compared.
func TestTheResponseSaysWhatStreams(t *testing.T) {
	for _, accept := range []string{"text/event-stream", "application/json, text/event-stream;q=0", "application/graphql-response+json, text/event-stream"} {
		for kind, want := range map[string]string{"application/json": "compared", "text/event-stream": whittle.SkipStreaming} {
			handler := func(side string) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", kind)
					_, _ = io.WriteString(w, side)
				})
			}
			s := open(t, everything(), handler("monolith"), handler("candidate"))
			s.gets(s.sends(http.MethodGet, "", "Accept", accept))
			if l := s.rests(); l.Compared+l.Skipped[whittle.SkipStreaming] != 1 || (l.Compared == 1) != (want == "compared") {
				t.Errorf("%s, responded to with %s: %+v", accept, kind, l)
			}
			s.apply(whittle.All, whittle.PhaseShift)
			if _, body := s.gets(s.sends(http.MethodGet, "", "Accept", accept)); body != "candidate" {
				t.Errorf("%s, responded to with %s: the user got the response of %s", accept, kind, body)
			}
			s.rests()
		}
	}
}

// TestAPanicLeavesNothingRunning: a request whose handling panics is not counted as under
// way for ever.
func TestAPanicLeavesNothingRunning(t *testing.T) {
	s := open(t, everything(), says(200, "fine"), nil, func(o *Options) {
		o.Outcome = func(whittle.Outcome) { panic("a defect") }
	})
	func() {
		defer func() { _ = recover() }()
		s.g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/work", http.NoBody))
	}()
	s.rests()
	for _, e := range s.g.table.Load().entries {
		fatal.Same(t, e.meter.running.Load(), 0, "%q under way", e.name)
	}
}

// TestWhoseFailureItIs: a response of whittle's own for a side that failed names it, and no
// other response does.
func TestWhoseFailureItIs(t *testing.T) {
	silent := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for name, c := range map[string]struct {
		monolith, candidate http.Handler
		method              string
		share               whittle.Share
		status              int
		want                string
	}{
		"the monolith is away":      {nil, says(200, ""), http.MethodGet, 0, 502, "monolith connect"},
		"the monolith resets":       {http.HandlerFunc(reset), says(200, ""), http.MethodPost, 0, 502, "monolith reset"},
		"the monolith is silent":    {silent, says(200, ""), http.MethodGet, 0, 504, "monolith timeout"},
		"the candidate resets":      {says(200, ""), http.HandlerFunc(reset), http.MethodPost, whittle.All, 502, "candidate reset"},
		"the monolith in its place": {http.HandlerFunc(reset), http.HandlerFunc(reset), http.MethodGet, whittle.All, 502, "monolith reset"},
		"its own 502":               {says(502, ""), says(200, ""), http.MethodGet, 0, 502, ""},
		"nobody fails":              {says(200, ""), says(200, ""), http.MethodGet, 0, 200, ""},
	} {
		s := open(t, everything(), c.monolith, c.candidate, func(o *Options) { o.Monolith.Timeout = 2 * time.Second })
		s.apply(c.share, map[bool]whittle.Phase{true: whittle.PhaseShadow, false: whittle.PhaseShift}[c.share == 0])
		resp, _ := askBy(t, http.DefaultTransport, c.method, s.url+"/work", "")
		if got := resp.Header.Get("X-Whittle-Failure"); resp.StatusCode != c.status || got != c.want {
			t.Errorf("%s: %d, %q", name, resp.StatusCode, got)
		}
		s.rests()
	}
}

// TestABodyOfUnknownLengthGoesToTheCandidate, whole, where it comes without a pause; and
// one that is too large for a copy goes to the monolith, whole too.
func TestABodyOfUnknownLengthGoesToTheCandidate(t *testing.T) {
	size := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			_, _ = fmt.Fprintf(w, "%s got %d, %v", name, n, err)
		})
	}
	spec := everything()
	spec.Safe = true
	most := spec.Mirror.MaxBody
	s := open(t, spec, size("monolith"), size("candidate"))
	s.listens(listener.Listener{})
	s.apply(whittle.All, whittle.PhaseShift)
	for i, n := range []int64{0, 1, 5000, most - 1, most, most + 1, 3 * most} {
		req := s.sends("POST", "")
		req.Body, req.ContentLength = io.NopCloser(io.LimitReader(zeros{}, n)), -1
		want := fmt.Sprintf("candidate got %d, <nil>", n)
		if n > most {
			want = fmt.Sprintf("monolith got %d, <nil>", n)
		}
		if status, got := s.gets(req); status != 200 || got != want {
			t.Errorf("request %d: %d %q, want %q", i, status, got, want)
		}
	}
	if l := s.rests(); l.Skipped[whittle.SkipTooLarge] != 2 {
		t.Errorf("ledger %+v", l)
	}
	s.holdsNothing()
}

// listens has the gateway's own listener serve the requests that follow.
func (s *fixture) listens(how listener.Listener) {
	ls, urls := facing(s.t, 1)
	how.Listener, s.url = ls[0], urls[0]
	listens(s.t, s.g, how)
}

// zeros gives as many bytes as are asked for.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
