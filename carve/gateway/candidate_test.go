package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/carve/gateway/bodycopy"
	"whittle/internal/fatal"
	"whittle/internal/rawtest"
)

// replies reads one request's head and answers with raw bytes; then it hangs
// or closes.
func replies(raw string, hang bool) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		_, _ = io.WriteString(c, raw)
		if hang {
			_, _ = io.Copy(io.Discard, c)
		}
	}
}

// broken is every way in which a candidate can fail a user, with the failure
// that it counts as ("": a server error).
var broken = []struct {
	name string
	talk func(net.Conn) // nil: nobody listens
	want whittle.Failure
}{
	{"refuses", nil, whittle.FailedConnect},
	{"resets at once", func(net.Conn) {}, whittle.FailedReset},
	{"resets after the request", replies("", false), whittle.FailedReset},
	{"resets in the head", replies("HTTP/1.1 200 OK\r\nContent-Le", false), whittle.FailedReset},
	{"resets in the body", replies("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", false), whittle.FailedReset},
	{"resets in a chunk", replies("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", false), whittle.FailedReset},
	{"hangs before the head", replies("", true), whittle.FailedTimeout},
	{"hangs in the head", replies("HTTP/1.1 200 OK\r\nX-A: ", true), whittle.FailedTimeout},
	{"hangs in the body", replies("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", true), whittle.FailedTimeout},
	{"answers 500", replies("HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno", false), whittle.NoFailure},
	{"answers 503 and hangs in the body", replies("HTTP/1.1 503 Oh\r\nContent-Length: 20\r\n\r\nno", true), whittle.NoFailure},
	{"is no HTTP at all", replies("SSH-2.0-OpenSSH_9.6\r\n\r\n", false), whittle.FailedMalform},
	{"gives two lengths", replies("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", false), whittle.FailedMalform},
}

// nobody listens here. A port that was given back may soon be another test's.
const nobody = "http://127.0.0.1:1"

func brokenAt(t *testing.T, talk func(net.Conn)) string {
	if talk != nil {
		return rawtest.Serve(t, func(c net.Conn, _ int) { talk(c) })
	}
	return nobody
}

func TestFallback(t *testing.T) {
	for _, b := range broken {
		for _, method := range []string{"GET", "POST", "PUT"} {
			if method == "POST" && strings.HasSuffix(b.name, "hangs in the body") {
				continue // it passes through, and a stream that is merely silent is never cut
			}
			t.Run(b.name+"/"+method, func(t *testing.T) {
				t.Parallel()
				spec := everything()
				u := upstreamAt(brokenAt(t, b.talk))
				if b.want == whittle.FailedTimeout {
					u.Timeout = 2 * time.Second // of the others none is waited for; a connection takes less on the busiest machine
				}
				spec.Candidate = &u
				monolith := &counted{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					_, _ = fmt.Fprintf(w, "monolith got %q", body)
				})}
				s := open(t, spec, monolith, nil)
				s.apply(whittle.All, whittle.PhaseShift)
				status, got, err := s.tries(s.sends(method, "the body"))
				o := waitOutcome(t, s)
				// A POST may have been done: only where the connection was never
				// opened may it be done again.
				fellBack := method != "POST" || b.want == whittle.FailedConnect
				if fellBack && (err != nil || status != 200 || got != `monolith got "the body"`) {
					t.Errorf("the user got %d %q, %v", status, got, err)
				}
				if !fellBack && err == nil && status < 500 {
					t.Errorf("the user got %d %q for a response that broke", status, got)
				}
				if fellBack != (monolith.count() == 1) || o.FellBack != fellBack || o.Side != whittle.Candidate || !o.Bad() {
					t.Errorf("monolith asked %d times, outcome %+v", monolith.count(), o)
				}
				if fellBack && o.Failure != b.want {
					t.Errorf("failure %q, want %q", o.Failure, b.want)
				}
				l := s.rests()
				switch {
				case fellBack && method != "GET": // only what is safe is watched
					if x := s.seen(); len(x) != 0 || l.Failed+l.Skipped[whittle.SkipNotSafe] != 1 {
						t.Errorf("ledger %+v, exchanges %+v", l, x)
					}
				case fellBack && b.want == whittle.NoFailure:
					if x := s.seen(); l.Compared != 1 || len(x) != 1 || x[0].Candidate.Status < 500 || !x[0].Candidate.Truncated {
						t.Errorf("ledger %+v, exchanges %+v", l, x)
					}
				case fellBack:
					if x := s.seen(); l.Failed != 1 || len(x) != 1 || x[0].Candidate.Failure != b.want || x[0].Monolith.Status != 200 || x[0].Served != whittle.Monolith || !x[0].FellBack {
						t.Errorf("ledger %+v, exchanges %+v", l, x)
					}
				}
				s.holdsNothing()
			})
		}
	}
}

// What the candidate fails at is compared as often as what it responds. Were all
// of it compared, a candidate that fails in one of two hundred would seem to
// fail in one of eleven where one response in twenty is watched.
func TestFellBackRequestsAreSampledLikeTheRest(t *testing.T) {
	const n = 40
	for _, tt := range []struct {
		name, fails                    string
		watch                          whittle.Share
		failed, served, compared, seen int64
	}{
		{name: "no response", fails: "reset", failed: n},
		{name: "an error", fails: "500", served: n},
		{name: "no response, watched", fails: "reset", watch: whittle.All, failed: n, seen: n},
		{name: "an error, watched", fails: "500", watch: whittle.All, compared: n, seen: n},
		{name: "an error, half of them watched", fails: "500", watch: 5000, served: n / 2, compared: n / 2, seen: n / 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := everything()
			spec.Mirror.Watch, spec.Guard.Consecutive = tt.watch, n+1
			s := open(t, spec, says(200, "monolith"), map[string]http.Handler{"reset": http.HandlerFunc(reset), "500": says(500, "")}[tt.fails])
			s.apply(whittle.All, whittle.PhaseLive)
			for range n {
				if status, body := s.gets(s.sends("GET", "")); status != 200 || body != "monolith" {
					t.Fatalf("the user got %d %q", status, body)
				}
			}
			l := s.rests()
			if seen := int64(len(s.seen())); l.Failed != tt.failed || l.Skipped[whittle.SkipServed] != tt.served || l.Compared != tt.compared || seen != tt.seen {
				t.Errorf("ledger %+v, %d exchanges seen; want %+v", l, seen, tt)
			}
			bad := 0
			for _, o := range s.reported() {
				if o.Side == whittle.Candidate && o.Bad() && o.FellBack {
					bad++
				}
			}
			fatal.Same(t, bad, n, "failures that the guards got")
			s.holdsNothing()
		})
	}
}

func waitOutcome(t *testing.T, s *fixture) whittle.Outcome {
	t.Helper()
	waits(t, 10*time.Second, func() bool { return len(s.reported()) > 0 })
	return s.reported()[0]
}

func TestCandidateServesAndIsWatched(t *testing.T) {
	long := strings.Repeat("a long response ", 20_000) // outgrows what is held
	tests := []struct {
		name, method, body, response string
		watch                        whittle.Share
		want                         string
	}{
		{"watched", "GET", "", "short", whittle.All, "compared"},
		{"not watched", "GET", "", "short", 0, whittle.SkipServed},
		{"a write is never sent to the monolith as well", "POST", "x", "short", whittle.All, whittle.SkipNotSafe},
		{"long response", "GET", "", long, whittle.All, whittle.SkipTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := everything()
			spec.Mirror.Watch = tt.watch
			monolith := &counted{Handler: says(200, tt.response)}
			candidate := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				w.Header().Set("Trailer", "x-sum, X-Other")
				w.Header().Set("X-Got", string(b))
				_, _ = io.WriteString(w, tt.response)
				w.Header().Set("X-Sum", "7")
				w.Header().Set(http.TrailerPrefix+"X-Late", "2")
			})
			s := open(t, spec, monolith, candidate)
			s.apply(whittle.All, whittle.PhaseShift)
			resp, got := askBy(t, speaking(t, false), tt.method, s.url+"/work", tt.body)
			if got != tt.response || resp.Header.Get("X-Got") != tt.body || resp.Trailer.Get("X-Sum")+resp.Trailer.Get("X-Late") != "72" || resp.Header.Get("X-Sum") != "" {
				t.Errorf("%d bytes, header %v, trailer %v", len(got), resp.Header, resp.Trailer)
			}
			l := s.rests()
			if l.Skipped[tt.want] != 1 && (tt.want != "compared" || l.Compared != 1) {
				t.Errorf("ledger %+v, want one %s", l, tt.want)
			}
			fatal.Same(t, monolith.count() > 0, tt.want == "compared", "the monolith was asked")
			if tt.want == "compared" {
				x := s.seen()[0]
				if x.Served != whittle.Candidate || string(x.Monolith.Body) != tt.response || string(x.Candidate.Body) != tt.response ||
					x.Candidate.Trailer.Get("X-Sum")+x.Candidate.Trailer.Get("X-Late") != "72" {
					t.Errorf("exchange %+v", x)
				}
			}
			if o := s.reported()[0]; o.Side != whittle.Candidate || o.Bad() || o.Status != 200 {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

func TestTripHoldsAgainstAnEarlierDecision(t *testing.T) {
	spec := everything()
	s := open(t, spec, says(200, "monolith"), says(500, "broken"))
	s.apply(whittle.All, whittle.PhaseShift)
	share := func() whittle.Share { return s.g.table.Load().routes["/work"].setting.Load().share }
	for range spec.Guard.Consecutive {
		if status, body := s.gets(s.sends("GET", "")); status != 200 || body != "monolith" {
			t.Errorf("the user got %d %q", status, body)
		}
	}
	waits(t, 10*time.Second, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.trips) == 1 })
	s.apply(2500, whittle.PhaseShift) // decided before the trip was known
	fatal.Same(t, share(), 0, "share after a stale decision")
	s.apply(0, whittle.PhaseRolledBack)
	s.apply(100, whittle.PhaseShift)
	fatal.Same(t, share(), 100, "share after the rollback and a new shift")
}

func TestHeldResponsesAreGivenUpWholeOrNotAtAll(t *testing.T) {
	// Goroutines race to give a response up and to let it go.
	for range 300 {
		rec := httptest.NewRecorder()
		h := &holder{w: rec, copy: bodycopy.Copy{Limit: 10, Budget: newBudget(1 << 20)}}
		h.Header().Set("X-A", "1")
		h.WriteHeader(200)
		_, _ = h.Write([]byte("0123456789"))
		var gaveUp bool
		var wg sync.WaitGroup
		wg.Go(func() { gaveUp = h.giveUp(errCandidateSlow) })
		_, err := h.Write([]byte("more"))
		wg.Wait()
		if gaveUp != (err != nil) || gaveUp != (rec.Body.Len() == 0) {
			t.Fatalf("given up: %v; written: %q, %v", gaveUp, rec.Body.String(), err)
		}
		if !gaveUp && rec.Body.String() != "0123456789more" {
			t.Fatalf("written %q", rec.Body.String())
		}
		h.drop()
	}
}

// A response may turn out whole at the very moment at which the breaker trips:
// the user gets it, and nobody is asked again.
func TestAWholeResponseIsNotGivenUp(t *testing.T) {
	rec := httptest.NewRecorder()
	h := &holder{w: rec, copy: bodycopy.Copy{Limit: 10, Budget: newBudget(1 << 20)}}
	h.WriteHeader(200)
	_, _ = h.Write([]byte("all of it"))
	if !h.giveUp(errTripped) {
		t.Fatal("the response could not be given up")
	}
	h.finish()
	if !h.committed() || rec.Body.String() != "all of it" {
		t.Errorf("committed %v, written %q", h.committed(), rec.Body.String())
	}
}

// A response is given up a moment before its call is canceled, and may outgrow
// what is held in between: its user has not gone, and gets the monolith's.
func TestGivenUpIsNotTheUsersGoing(t *testing.T) {
	spec := everything()
	s := open(t, spec, says(200, "monolith"), says(200, strings.Repeat("x", 4*int(spec.Mirror.MaxBody))))
	s.apply(whittle.All, whittle.PhaseShift)
	rt := s.g.table.Load().routes["/work"]
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/work", http.NoBody)
	q := s.g.requests.Read(r)
	v := newUserRequest(rt, &q)
	rt.ledgerCounts.open(&v.ledgerEntry)
	defer v.finish()
	permit, ok := rt.breaker.Admit(time.Now(), rt.bounds)
	if !ok {
		t.Fatal("not admitted")
	}
	c := candidateCall{rt: rt, v: v, user: user{w: w, r: q}, permit: permit, hasFallback: true}
	c.begin()
	defer c.end()
	c.held.giveUp(errCandidateSlow)
	c.forward()
	c.judge()
	if c.first.Failure != whittle.FailedTimeout || !c.fallsBack() {
		t.Fatalf("the candidate's outcome is %+v, the result %+v", c.first, c.res)
	}
	rt.fallBack(&c)
	c.report()
	if w.Code != 200 || w.Body.String() != "monolith" || c.res.Abort {
		t.Errorf("the user got %d %.40q, aborted %v", w.Code, w.Body, c.res.Abort)
	}
}

func newBudget(limit int64) *bodycopy.Budget {
	return &bodycopy.Budget{Limit: limit, Used: new(atomic.Int64)}
}
