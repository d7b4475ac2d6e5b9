package gateway

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
)

func TestMain(m *testing.M) {
	// net/http keeps a connection of which it refused the body for half a second more.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// fixture is a gateway between a client, a monolith and a candidate, all on real
// sockets.
type fixture struct {
	t     *testing.T
	g     *Gateway
	url   string
	route string

	mu        sync.Mutex // guards the following
	exchanges []*whittle.Exchange
	outcomes  []whittle.Outcome
	trips     []string
	// generation is that of the last position, zero of the last with share 0.
	generation, zero atomic.Uint64
}

// apply puts another position in force.
func (s *fixture) apply(share whittle.Share, phase whittle.Phase) bool {
	p := whittle.Position{Generation: s.generation.Add(1), Share: share, Phase: phase}
	if share == 0 {
		s.zero.Store(p.Generation)
	}
	p.Zero = s.zero.Load()
	return s.g.Apply(s.route, p)
}

// everything mirrored, everything watched, with room enough.
func everything() whittle.Route {
	return whittle.Route{
		Name:   "/work",
		Match:  whittle.Match{Pattern: "/work"},
		Mirror: whittle.Mirror{Sample: whittle.All, Watch: whittle.All, Queue: 1000, Concurrency: 4, MaxBody: 64 << 10, MaxMemory: 64 << 20},
		Rollout: whittle.Rollout{
			Sticky: whittle.Sticky{By: "header", Name: "X-User"},
		},
		Guard: whittle.Guard{Consecutive: 5, Exposure: 50},
	}
}

// upstreamAt has more time than any response here takes: what is slow is the
// machine.
func upstreamAt(url string) whittle.Upstream {
	return whittle.Upstream{URL: url, Timeout: time.Minute, MaxResponse: 64 << 10, MaxConns: 600}
}

// open starts a gateway in front of the two handlers, in phase shadow. A nil
// candidate is one that nobody listens for.
func open(t *testing.T, spec whittle.Route, monolith, candidate http.Handler, change ...func(*Options)) *fixture {
	t.Helper()
	s := &fixture{t: t, route: spec.Name}
	at := func(h http.Handler) whittle.Upstream {
		if h == nil {
			return upstreamAt(nobody)
		}
		return upstreamAt(serving(t, h))
	}
	if spec.Candidate == nil {
		c := at(candidate)
		spec.Candidate = &c
	}
	o := Options{
		Monolith: at(monolith),
		Routes:   []whittle.Route{spec},
		Observe: func(x *whittle.Exchange) whittle.Observation {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.exchanges = append(s.exchanges, x)
			return whittle.Observation{}
		},
		Outcome: func(o whittle.Outcome) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.outcomes = append(s.outcomes, o)
		},
		Tripped: func(_, reason string, _ uint64) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.trips = append(s.trips, reason)
		},
	}
	for _, c := range change {
		c(&o)
	}
	s.g = made(t, o)
	s.url = serving(t, s.g)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	s.apply(0, whittle.PhaseShadow)
	return s
}

// says answers every request with a status and a body.
func says(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// counted counts the requests that a handler gets.
type counted struct {
	http.Handler
	mu sync.Mutex // guards n
	n  int
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	c.Handler.ServeHTTP(w, r)
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// sends makes a request of the route with header fields in pairs.
func (s *fixture) sends(method, body string, header ...string) *http.Request {
	s.t.Helper()
	var rd io.Reader
	if body != "" {
		rd = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+"/work", rd)
	fatal.If(s.t, err)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// gets does a request and reads the whole response.
func (s *fixture) gets(r *http.Request) (status int, body string) {
	s.t.Helper()
	status, body, err := s.tries(r)
	if err != nil {
		s.t.Errorf("%s: %v", r.Method, err)
	}
	return status, body
}

// tries is gets of a response that may break.
func (s *fixture) tries(r *http.Request) (status int, body string, err error) {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// rests waits until nothing is pending and gives the ledger.
func (s *fixture) rests() whittle.Ledger {
	s.t.Helper()
	l := await(s.t, s.g, s.route)
	if l.Total != l.Sum() {
		s.t.Errorf("the ledger does not add up: %+v", l)
	}
	return l
}

// holdsNothing waits until all that was reserved for copies is given back, which
// may be after the ledger has its line.
func (s *fixture) holdsNothing() {
	s.t.Helper()
	held := &s.g.table.Load().routes["/work"].held
	waits(s.t, 10*time.Second, func() bool { return held.Load() == 0 })
}

// waits until a condition holds.
func waits(t *testing.T, bound time.Duration, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(bound)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("the condition does not come about")
		}
	}
}

func (s *fixture) seen() []*whittle.Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*whittle.Exchange(nil), s.exchanges...)
}

func (s *fixture) reported() []whittle.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]whittle.Outcome(nil), s.outcomes...)
}

// failed is how many of the candidate's outcomes are bad, of all that it has.
func (s *fixture) failed() (bad, all int) {
	for _, o := range s.reported() {
		if o.Side == whittle.Candidate {
			all++
			if o.Bad() {
				bad++
			}
		}
	}
	return bad, all
}

func TestShadowComparesBothResponses(t *testing.T) {
	for _, length := range []int{0, 10, 2<<10 + 1, 60_000} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			body := string(random(length))
			echo := func(side string) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					b, _ := io.ReadAll(r.Body)
					w.Header().Set("X-Side", side)
					w.WriteHeader(http.StatusAccepted)
					_, _ = w.Write(append(b, side[0]))
				})
			}
			spec := everything()
			spec.Safe = true
			s := open(t, spec, echo("monolith"), echo("candidate"))
			status, got := s.gets(s.sends("POST", body, "X-User", "ann", "X-Mine", "1"))
			if status != http.StatusAccepted || got != body+"m" {
				t.Errorf("the user got %d with %d bytes", status, len(got))
			}
			if l := s.rests(); l.Total != 1 || l.Compared != 1 {
				t.Fatalf("ledger %+v, want one compared", l)
			}
			x := s.seen()[0]
			if x.Request.Method != "POST" || x.Request.Target != "/work" || string(x.Request.Body) != body || x.Request.Header.Get("X-Mine") != "1" {
				t.Errorf("request %s %s with %d bytes", x.Request.Method, x.Request.Target, len(x.Request.Body))
			}
			for _, a := range []struct {
				side string
				whittle.Response
			}{{"monolith", x.Monolith}, {"candidate", x.Candidate}} {
				if a.Status != http.StatusAccepted || string(a.Body) != body+a.side[:1] || a.Header.Get("X-Side") != a.side || a.Latency <= 0 || a.Failure != "" {
					t.Errorf("%s: %d, %d bytes, %v, %q", a.side, a.Status, len(a.Body), a.Latency, a.Failure)
				}
			}
			if o := s.reported(); len(o) != 1 || o[0].Side != whittle.Monolith || o[0].Status != http.StatusAccepted || o[0].Route != "/work" || o[0].Latency <= 0 {
				t.Errorf("outcomes %+v", o)
			}
			s.holdsNothing()
		})
	}
}

func TestWriteContract(t *testing.T) {
	type seenAt struct{ monolith, candidate string }
	tests := []struct {
		name     string
		method   string
		safe     bool
		dryRun   bool
		mirrored bool
		says     string // the method it asks to be read as
		query    string
	}{
		{"GET", "GET", false, false, true, "", ""},
		{"HEAD", "HEAD", false, false, true, "", ""},
		{"OPTIONS", "OPTIONS", false, false, true, "", ""},
		{"POST", "POST", false, false, false, "", ""},
		{"PUT", "PUT", false, false, false, "", ""},
		{"PATCH", "PATCH", false, false, false, "", ""},
		{"DELETE", "DELETE", false, false, false, "", ""},
		{"a method nobody knows", "BREW", false, false, false, "", ""},
		{"POST declared safe", "POST", true, false, true, "", ""},
		{"POST as a dry run", "POST", false, true, true, "", ""},
		{"DELETE as a dry run", "DELETE", false, true, true, "", ""},
		{"GET needs no dry run", "GET", false, true, true, "", ""},
		{"safe POST as DELETE", "POST", true, false, false, "DELETE", ""},
		{"safe POST as POST", "POST", true, false, true, "post", "_method=POST&x_method=PUT"},
		{"safe POST as DELETE by its query", "POST", true, false, false, "", "a=b&_method=delete"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			var marks seenAt
			note := func(into *string) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					*into += "[" + r.Header.Get("X-Dry-Run") + "]"
				})
			}
			spec := everything()
			spec.Safe = tt.safe
			want := seenAt{monolith: "[]"}
			if tt.dryRun {
				spec.DryRun = &whittle.DryRunHeader{Header: "x-dry-run", Value: "yes"}
			} else {
				want.monolith = "[faked]" // nobody's header on this route, so it passes
			}
			if tt.mirrored {
				switch {
				case tt.dryRun && tt.method != "GET":
					want.candidate = "[yes]"
				case tt.dryRun:
					want.candidate = "[]"
				default:
					want.candidate = "[faked]"
				}
			}
			s := open(t, spec, note(&marks.monolith), note(&marks.candidate))
			r := s.sends(tt.method, "", "X-Dry-Run", "faked", "X-HTTP-Method-Override", tt.says)
			r.URL.RawQuery = tt.query
			s.gets(r)
			l := s.rests()
			if tt.mirrored != (l.Compared == 1) || tt.mirrored != (l.Skipped[whittle.SkipNotSafe] == 0) {
				t.Errorf("ledger %+v", l)
			}
			mu.Lock()
			defer mu.Unlock()
			fatal.Same(t, marks, want, "dry run header as seen")
		})
	}
}

func TestLedgerNamesWhyNothingWasCompared(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n)
	})
	live := func(s *fixture) { s.apply(whittle.All, whittle.PhaseLive) } // where the monolith serves what the candidate is not asked
	large := strings.Repeat("x", 64<<10+1)
	unknown := func(s *fixture) *http.Request {
		r := s.sends("POST", "")
		r.Body = io.NopCloser(strings.NewReader(large))
		return r
	}
	tests := []struct {
		name      string
		spec      func(*whittle.Route)
		monolith  http.Handler
		candidate http.Handler
		send      func(s *fixture) *http.Request
		setup     func(s *fixture)
		want      string // a reason to skip, "failed" or "shed"
	}{
		{name: "off", setup: func(s *fixture) { s.apply(5000, whittle.PhaseOff) }, want: whittle.SkipOff},
		{name: "outside the sample", spec: func(r *whittle.Route) { r.Mirror.Sample = 0 }, want: whittle.SkipSampled},
		{name: "large request", send: func(s *fixture) *http.Request { return s.sends("POST", large) }, want: whittle.SkipTooLarge},
		{name: "large request of no known length", send: unknown, want: whittle.SkipTooLarge},
		{name: "large request, live", setup: live, send: func(s *fixture) *http.Request { return s.sends("POST", large) }, want: whittle.SkipTooLarge},
		{name: "large request of no known length, live", setup: live, send: unknown, want: whittle.SkipTooLarge},
		{name: "another method, live", setup: live, send: func(s *fixture) *http.Request { return s.sends("POST", "", "X-HTTP-Method-Override", "DELETE") }, want: whittle.SkipNotSafe},
		{name: "a trailer, live", setup: live, send: func(s *fixture) *http.Request {
			r := s.sends("POST", "")
			r.Body, r.ContentLength, r.Trailer = io.NopCloser(strings.NewReader("")), -1, http.Header{"X-Sum": {"0"}}
			return r
		}, want: whittle.SkipStreaming},
		{name: "large response", monolith: says(200, large), want: whittle.SkipTooLarge},
		{name: "answers with a stream", monolith: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
		}), want: whittle.SkipStreaming},
		{name: "monolith down", monolith: http.HandlerFunc(reset), want: whittle.SkipMonolith},
		{name: "candidate down", candidate: nil, want: "failed"},
		{name: "candidate resets", candidate: http.HandlerFunc(reset), want: "failed"},
		{name: "candidate responds too much", candidate: says(200, large), want: "failed"},
		{name: "no memory for the request", spec: func(r *whittle.Route) { r.Mirror.MaxMemory = 1 << 10 }, send: func(s *fixture) *http.Request { return s.sends("POST", "a body") }, want: "shed"},
		{name: "no memory for the response", spec: func(r *whittle.Route) { r.Mirror.MaxMemory = 1 << 10 }, want: "shed"},
		{name: "answered before the body was read", monolith: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, "enough")
		}), send: func(s *fixture) *http.Request {
			r := s.sends("POST", "")
			r.Body, r.ContentLength = io.NopCloser(&unended{stop: s.t.Context().Done()}), -1
			return r
		}, want: whittle.SkipUnread},
		{name: "the judge has its reasons", setup: func(s *fixture) {
			s.g.opts.Observe = func(*whittle.Exchange) whittle.Observation { return whittle.Observation{Skip: "sampled"} }
		}, want: whittle.SkipSampled},
		{name: "the judge panics", setup: func(s *fixture) {
			s.g.opts.Observe = func(*whittle.Exchange) whittle.Observation { panic("a defect") }
		}, want: skipDefect},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := everything()
			spec.Safe = true
			if tt.spec != nil {
				tt.spec(&spec)
			}
			monolith, candidate := tt.monolith, tt.candidate
			if monolith == nil {
				monolith = ok
			}
			if candidate == nil && tt.name != "candidate down" {
				candidate = ok
			}
			asked := &counted{Handler: candidate}
			s := open(t, spec, monolith, map[bool]http.Handler{true: asked}[candidate != nil])
			if tt.setup != nil {
				tt.setup(s)
			}
			r := s.sends("GET", "")
			if tt.send != nil {
				r = tt.send(s)
			}
			_, text, _ := s.tries(r)
			l := s.rests()
			if want := map[string]string{whittle.SkipTooLarge: fmt.Sprint(len(large)), whittle.SkipNotSafe: "0", whittle.SkipStreaming: "0"}[tt.want]; strings.HasSuffix(tt.name, "live") && (text != want || asked.count() > 0) {
				t.Errorf("the user got %q, want the monolith's %s; the candidate was asked %d times", text, want, asked.count())
			}
			got := map[string]int64{"failed": l.Failed, "shed": l.Shed, "compared": l.Compared}
			for reason, n := range l.Skipped {
				got[reason] += n
			}
			if l.Total != 1 || got[tt.want] != 1 {
				t.Errorf("ledger %+v, want one %s", l, tt.want)
			}
			s.holdsNothing()
		})
	}
}

// unended is a body of which only the beginning comes.
type unended struct {
	begun bool
	stop  <-chan struct{}
}

func (u *unended) Read(p []byte) (int, error) {
	if !u.begun {
		u.begun = true
		return copy(p, "the beginning"), nil
	}
	<-u.stop
	return 0, io.ErrUnexpectedEOF
}

// reset cuts the connection instead of answering.
func reset(w http.ResponseWriter, _ *http.Request) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

// unmirroredLog drops what net/http's servers say of connections that break on
// purpose.
var unmirroredLog = log.New(io.Discard, "", 0)
