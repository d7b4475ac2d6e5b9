package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// instances is an upstream at all of these URLs.
func instances(urls ...string) whittle.Upstream {
	u := upstreamAt(urls[0])
	u.Others, u.Insecure = urls[1:], true
	return u
}

// TestWhatWasSentIsTriedElsewhereOnlyIfItMayBe: an instance that has taken a request
// and then hangs up may have done what it says, so that nobody else is asked unless
// that does no harm. A candidate's failure is not covered by another instance at all.
func TestWhatWasSentIsTriedElsewhereOnlyIfItMayBe(t *testing.T) {
	for _, tt := range []struct {
		method string
		length int
		asked  int64
	}{
		{http.MethodPost, 10, 1},
		{http.MethodPost, 128 << 10, 1},
		{http.MethodPut, 10, 1},
		{http.MethodGet, 0, 3},
		{http.MethodGet, 10, 3},
		{http.MethodGet, 128 << 10, 1}, // a body that is not held goes out once
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			cuts := func() (whittle.Upstream, *atomic.Int64) {
				var asked atomic.Int64
				at := func() string {
					return brokenAt(t, func(c net.Conn) {
						asked.Add(1)
						b := make([]byte, 1)
						_, _ = c.Read(b)
					})
				}
				return instances(at(), at(), at()), &asked
			}
			monolith, byMonolith := cuts()
			candidate, byCandidate := cuts()
			spec := everything()
			spec.Candidate, spec.Guard.Consecutive = &candidate, 100
			g, url := running(t, Options{Monolith: monolith, Routes: []whittle.Route{spec}})
			g.Apply("/work", whittle.Position{Generation: 1, Share: whittle.All, Phase: whittle.PhaseLive})
			body := strings.Repeat("x", tt.length)
			if status, _ := ask(t, tt.method, url, body); status != http.StatusBadGateway {
				t.Errorf("the user got %d", status)
			}
			fatal.Same(t, byMonolith.Load(), tt.asked, "instances of the monolith asked")
			if tt.length > int(spec.Mirror.MaxBody) {
				return // the candidate gets no such request
			}
			if status, _ := ask(t, tt.method, url+"/work", body, "X-User", "u"); status != http.StatusBadGateway {
				t.Errorf("the user of the candidate got %d", status)
			}
			fatal.Same(t, byCandidate.Load(), 1, "instances of the candidate asked")
		})
	}
}

// ejecting has instances that fail twice in a row ejected for as long as a test runs.
func ejecting(u whittle.Upstream) whittle.Upstream {
	u.Ejection = whittle.Ejection{Consecutive: 2, Base: time.Hour, Most: time.Hour, Share: whittle.Percent(50)}
	return u
}

// TestEjectionDoesNotFlatter: a candidate of which one instance in three is broken is
// seen to fail after that instance has been ejected as it was before, since what is
// mirrored still goes there; users are spared.
func TestEjectionDoesNotFlatter(t *testing.T) {
	good, bad := serving(t, says(http.StatusOK, "x")), serving(t, says(http.StatusInternalServerError, "x"))
	other := serving(t, says(http.StatusOK, "x"))
	spec := everything()
	candidate := ejecting(instances(good, bad, other))
	spec.Candidate, spec.Guard.Consecutive, spec.Mirror.Watch = &candidate, 1000, 0
	seen := make(chan int, 1)
	s := open(t, spec, says(http.StatusOK, "x"), nil, func(o *Options) {
		o.Observe = func(x *whittle.Exchange) whittle.Observation {
			seen <- x.Candidate.Status
			return whittle.Observation{}
		}
	})
	mirrored := func() int {
		s.gets(s.sends(http.MethodGet, "", "X-User", "u"))
		return <-seen
	}
	ejections := func() int64 { return s.g.Upstreams()[1].Ejections }
	for ejections() == 0 {
		mirrored()
	}
	for mirrored() != http.StatusInternalServerError { // it is drawn as often as the others
	}
	s.apply(whittle.All, whittle.PhaseLive)
	for range 50 {
		if status, _ := s.gets(s.sends(http.MethodGet, "", "X-User", "u")); status != http.StatusOK {
			t.Errorf("a user got %d", status)
		}
	}
	if n, _ := s.failed(); n > 0 {
		t.Errorf("%d users' requests were at the ejected instance", n)
	}
}

// TestOneBadInstanceIsTheCandidatesFailure: what users' requests meet at one instance
// counts for the guards, until that is ejected: as an instance with a 5xx does, so does
// one that hangs. Where no instance can be reached, each request is a failure.
func TestOneBadInstanceIsTheCandidatesFailure(t *testing.T) {
	hung := hanging(t, false, func(_ http.ResponseWriter, _ *http.Request, end <-chan struct{}) { <-end })
	bad := serving(t, says(http.StatusInternalServerError, "x"))
	good := serving(t, says(http.StatusOK, "x"))
	for _, tt := range []struct {
		name string
		u    whittle.Upstream
		// bad is how many of the outcomes are; -1: all.
		bad int
	}{
		{"a 5xx", instances(good, bad), 2},
		{"one that hangs", instances(good, hung.URL), 2},
		{"none can be reached", instances(nobody, strings.Replace(nobody, "127.0.0.1", "127.0.0.2", 1)), -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := everything()
			candidate := ejecting(tt.u)
			if tt.name == "one that hangs" {
				candidate.Timeout = 100 * time.Millisecond
			}
			spec.Candidate, spec.Guard.Consecutive, spec.Mirror.Watch = &candidate, 1000, 0
			s := open(t, spec, says(http.StatusOK, "x"), nil)
			s.apply(whittle.All, whittle.PhaseLive)
			n, all := 0, 0
			for i := 0; i < 40 || tt.bad > 0 && n < tt.bad; i++ {
				if status, _ := s.gets(s.sends(http.MethodGet, "", "X-User", "u")); status != http.StatusOK {
					t.Errorf("the user got %d", status)
				}
				n, all = s.failed()
			}
			ejections := s.g.Upstreams()[1].Ejections
			exact := tt.name == "a 5xx" // a good one may be late on a busy machine
			if tt.bad < 0 && n != all || tt.bad > 0 && (ejections != 1 || exact && n != tt.bad) {
				t.Errorf("%d of %d were bad, %d ejections", n, all, ejections)
			}
		})
	}
}

// TestARoutesOwnTimeout: what the monolith serves on a route has the route's time to
// its first byte, by whichever way it is sent, and all else the monolith's.
func TestARoutesOwnTimeout(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request, end <-chan struct{}) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Query().Get("hang") != "" {
			<-end
		}
		_, _ = io.WriteString(w, "served")
	}
	for _, scheme := range []string{"http", "https", "h2c"} {
		t.Run(scheme, func(t *testing.T) {
			_, there, _ := strings.Cut(hanging(t, scheme == "https", hang).URL, "://")
			brief := func(pattern string, candidate *whittle.Upstream) whittle.Route {
				r := everything()
				r.Name, r.Match.Pattern, r.Timeout, r.Candidate = pattern, pattern, short, candidate
				return r
			}
			c := upstreamAt(nobody)
			g, url := running(t, Options{Monolith: instances(scheme + "://" + there), Routes: []whittle.Route{brief("/bare", nil), brief("/work", &c)}})
			for _, length := range []int{0, 100, 128 << 10} {
				for _, path := range []string{"/bare", "/work"} {
					if status, text := ask(t, http.MethodPost, url+path+"?hang=1", strings.Repeat("x", length)); status != http.StatusGatewayTimeout {
						t.Errorf("%s with %d bytes: %d %q", path, length, status, text)
					}
				}
				if status, _ := ask(t, http.MethodPost, url+"/else", strings.Repeat("x", length)); status != http.StatusOK {
					t.Errorf("elsewhere: %d", status)
				}
			}
			before := g.table.Load().routes["/work"]
			if rt := before; rt.env.monolith.Timeout() != short || g.table.Load().monolith.Timeout() != upstreamAt("").Timeout {
				t.Error("the timeouts are mixed up")
			}
			fatal.If(t, g.Reload(instances(scheme+"://"+there), []whittle.Route{brief("/work", &c)}))
			fatal.Same(t, g.table.Load().routes["/work"] == before, true, "a reload that changes nothing keeps the route")
		})
	}
}
