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
