package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
)

// occupied is a server whose one connection a request to /slow keeps until release
// is called.
func occupied(t *testing.T) (url string, entered <-chan struct{}, release func()) {
	t.Helper()
	in, out := make(chan struct{}), make(chan struct{})
	s := hanging(t, false, func(w http.ResponseWriter, r *http.Request, end <-chan struct{}) {
		if r.URL.Path == "/work/slow" {
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

// TestAWaitForAConnectionIsBounded: a request that gets none of the monolith's
// connections gets an error after wait_timeout, by whichever way it is sent.
func TestAWaitForAConnectionIsBounded(t *testing.T) {
	for _, tt := range []struct{ name, first, then string }{
		{"the pool", "", ""},
		{"net/http", strings.Repeat("x", 128<<10), strings.Repeat("y", 128<<10)},
		{"net/http behind the pool", "", strings.Repeat("y", 128<<10)},
		{"the pool behind net/http", strings.Repeat("x", 128<<10), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, entered, release := occupied(t)
			m := upstreamAt(url)
			m.MaxConns, m.WaitTimeout = 1, 10*time.Millisecond
			ls, urls := facing(t, 1)
			behind(t, ls[0], Options{Monolith: m})
			slow := make(chan int)
			go func() {
				status, _ := ask(t, http.MethodPost, urls[0]+"/work/slow", tt.first)
				slow <- status
			}()
			<-entered
			if status, text := ask(t, http.MethodPost, urls[0]+"/work", tt.then); status != http.StatusServiceUnavailable {
				t.Errorf("with no connection free the user got %d %q", status, text)
			}
			release()
			if status := <-slow; status != http.StatusOK {
				t.Errorf("who had the connection got %d", status)
			}
			if status, _ := ask(t, http.MethodPost, urls[0]+"/work", tt.then); status != http.StatusOK {
				t.Errorf("with the connection free the user got %d", status)
			}
		})
	}
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
			slow := make(chan struct{})
			go func() {
				defer close(slow)
				s.g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/work/slow", http.NoBody))
			}()
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
