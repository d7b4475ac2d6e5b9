package adminport_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"whittle/internal/adminport"
)

func TestWhatIsRespondedAndToWhom(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector())
	ready := false
	h := adminport.New(func() bool { return ready }, r)
	for _, tt := range []struct {
		host, path string
		ready      bool
		want       int
		text       string
	}{
		{"127.0.0.1:80", "/livez", false, 200, "ok"},
		{"127.0.0.1:80", "/readyz", false, 503, "closing down"},
		{"[::1]:80", "/readyz", true, 200, "ok"},
		{"localhost", "/metrics", true, 200, "go_goroutines"},
		{"localhost:1", "/debug/pprof/goroutine?debug=1", true, 200, "goroutine profile"},
		{"localhost", "/other", true, 404, ""},
		{"evil.example", "/debug/pprof/", true, 403, "loopback"},
		{"127.0.0.1.evil.example:80", "/metrics", true, 403, "loopback"},
		{"192.0.2.1", "/livez", true, 200, "ok"},
		{"", "/readyz", true, 200, "ok"},
	} {
		ready = tt.ready
		q := httptest.NewRequest(http.MethodGet, tt.path, nil)
		q.Host = tt.host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if w.Code != tt.want || !strings.Contains(w.Body.String(), tt.text) {
			t.Errorf("%s of %s: %d %.80s", tt.path, tt.host, w.Code, w.Body)
		}
	}
}
