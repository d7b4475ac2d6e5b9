package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
)

// TestMirroringWaitsForNoConnection: what is mirrored takes only a connection that
// users leave to spare, and is shed otherwise. It never stands in a user's way, and
// a connection that was not to be had is no failure of either side.
func TestMirroringWaitsForNoConnection(t *testing.T) {
	for _, how := range []string{"http", "h2c"} {
		t.Run(how, func(t *testing.T) {
			entered, release := make(chan struct{}), make(chan struct{})
			monolith := hanging(t, false, func(_ http.ResponseWriter, r *http.Request, end <-chan struct{}) {
				if r.URL.Path != "/slow" {
					return
				}
				close(entered)
				select {
				case <-release:
				case <-end:
				}
			})
			m := upstreamAt(strings.Replace(monolith.URL, "http:", how+":", 1))
			m.MaxConns = 1
			s := open(t, everything(), nil, says(200, "fine"), func(o *Options) { o.Monolith = m })
			s.apply(whittle.All, whittle.PhaseShift)
			slow := make(chan struct{})
			go func() {
				defer close(slow)
				s.g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/slow", http.NoBody))
			}()
			<-entered
			if status, body := s.gets(s.sends(http.MethodGet, "", "X-User", "u")); status != 200 || body != "fine" {
				t.Errorf("the user got %d %q", status, body)
			}
			waits(t, 30*time.Second, func() bool { return s.g.Ledger("/work").Shed == 1 })
			close(release)
			<-slow
			s.gets(s.sends(http.MethodGet, "", "X-User", "u"))
			if l := s.rests(); l.Shed != 1 || l.Compared != 1 || l.Failed != 0 {
				t.Errorf("the ledger says %+v", l)
			}
		})
	}
}
