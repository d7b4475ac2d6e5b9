package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// occupied is a server whose one connection a request to /slow keeps until release
// is called.
func occupied(t *testing.T) (url string, entered <-chan struct{}, release func()) {
	t.Helper()
	in, out := make(chan struct{}), make(chan struct{})
	s := hanging(t, false, func(w http.ResponseWriter, r *http.Request, end <-chan struct{}) {
		if strings.HasSuffix(r.URL.Path, "/slow") {
			close(in)
			select {
			case <-out:
			case <-end:
			}
		}
		_, _ = w.Write([]byte("served"))
	})
	return s.URL, in, func() { close(out) }
}

// background asks for a path, and gives the status once it has come.
func (s *fixture) background(path string) <-chan int {
	status := make(chan int, 1)
	go func() {
		w := httptest.NewRecorder()
		s.g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		status <- w.Code
	}()
	return status
}

// TestNoConnectionIsNotTheCandidatesFailure: a user for whom the candidate has no
// connection free gets the monolith's response, also to a write, and nothing is held
// against the candidate.
func TestNoConnectionIsNotTheCandidatesFailure(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			url, entered, release := occupied(t)
			spec := everything()
			spec.Match.Pattern = "/work/{rest...}"
			spec.Guard.Consecutive = 1
			candidate := upstreamAt(url)
			candidate.MaxConns, candidate.WaitTimeout = 1, 10*time.Millisecond
			spec.Candidate = &candidate
			s := open(t, spec, says(200, "the monolith's"), nil)
			s.apply(whittle.All, whittle.PhaseLive)
			slow := s.background("/work/slow")
			<-entered
			r := httptest.NewRequest(method, "/work/a", strings.NewReader("b"))
			r.Header.Set("X-User", "u")
			w := httptest.NewRecorder()
			s.g.ServeHTTP(w, r)
			if w.Code != http.StatusOK || w.Body.String() != "the monolith's" {
				t.Errorf("the user got %d %q", w.Code, w.Body)
			}
			release()
			<-slow
			if l := s.rests(); l.Failed != 0 || l.Total != l.Sum() {
				t.Errorf("the ledger says %+v", l)
			}
			for _, o := range s.reported() {
				if o.Bad() || o.FellBack {
					t.Errorf("an outcome says %+v", o)
				}
			}
		})
	}
}

// TestMirroringWaitsForNoConnection: what is mirrored takes only a connection that
// users leave to spare, and is shed otherwise. It never stands in a user's way, and
// a connection that was not to be had is no failure of either side.
func TestMirroringWaitsForNoConnection(t *testing.T) {
	for _, how := range []string{"http", "h2c"} {
		t.Run(how, func(t *testing.T) {
			url, entered, release := occupied(t)
			m := upstreamAt(strings.Replace(url, "http:", how+":", 1))
			m.MaxConns = 1
			s := open(t, everything(), nil, says(200, "fine"), func(o *Options) { o.Monolith = m })
			s.apply(whittle.All, whittle.PhaseShift)
			slow := s.background("/slow")
			<-entered
			waited := s.background("/else")
			if status, body := s.gets(s.sends(http.MethodGet, "", "X-User", "u")); status != 200 || body != "fine" {
				t.Errorf("the user got %d %q", status, body)
			}
			waits(t, 30*time.Second, func() bool { return s.g.Ledger("/work").Shed == 1 })
			release()
			<-slow
			fatal.Same(t, <-waited, http.StatusOK, "a user who waits for the connection")
			s.gets(s.sends(http.MethodGet, "", "X-User", "u"))
			if l := s.rests(); l.Shed != 1 || l.Compared != 1 || l.Failed != 0 {
				t.Errorf("the ledger says %+v", l)
			}
		})
	}
}

// stuck is a gateway with a route whose candidate hangs, and its options.
func stuck(t *testing.T, grace time.Duration) (*Gateway, Options) {
	t.Helper()
	candidate := upstreamAt(hanging(t, false, func(_ http.ResponseWriter, r *http.Request, end <-chan struct{}) {
		select {
		case <-r.Context().Done():
		case <-end:
		}
	}).URL)
	candidate.Timeout = time.Hour
	spec := everything()
	spec.Candidate = &candidate
	o := Options{Monolith: upstreamAt(serving(t, says(200, "fine"))), Routes: []whittle.Route{spec}, Limits: whittle.Limits{Grace: grace}}
	g, err := New(o)
	fatal.If(t, err)
	g.Apply("/work", whittle.Position{Generation: 1, Phase: whittle.PhaseShadow})
	return g, o
}

// TestARemovedRouteReturnsItsMemory: a route whose candidate hangs is removed, again
// and again. What its copies held is there for others, and no reload waits for it.
func TestARemovedRouteReturnsItsMemory(t *testing.T) {
	g, o := stuck(t, 50*time.Millisecond)
	long := strings.Repeat("x", 32<<10)
	for range 3 {
		for range 20 { // more than are asked at once
			r := httptest.NewRequest(http.MethodGet, "/work", http.NoBody)
			r.Header.Set("X-Long", long)
			g.ServeHTTP(httptest.NewRecorder(), r)
		}
		if g.copiesHeld.Load() == 0 {
			t.Fatal("nothing is held")
		}
		fatal.If(t, g.Reload(o.Monolith, nil))
		waits(t, time.Minute, func() bool { return g.copiesHeld.Load() == 0 })
		fatal.If(t, g.Reload(o.Monolith, o.Routes))
		g.Apply("/work", whittle.Position{Generation: 1, Phase: whittle.PhaseShadow})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fatal.If(t, g.Close(ctx))
}

// TestAReloadWaitsForNobody: a route that hangs is removed within its grace, while
// the others go on.
func TestAReloadWaitsForNobody(t *testing.T) {
	g, o := stuck(t, time.Hour)
	g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/work", http.NoBody))
	fatal.If(t, g.Reload(o.Monolith, nil)) // it would take the hour
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nor does an end that is to be at once wait for it
	fatal.If(t, g.Close(ctx))
}
