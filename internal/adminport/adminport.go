// Package adminport is the admin port of the worked systems: health, metrics and
// profiles, for this machine alone.
package adminport

import (
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// New serves GET /livez and GET /readyz (503 while not ready), which reveal nothing, to
// whoever asks, and the endpoints of Inspect to operators on this machine only (LocalOnly).
func New(ready func() bool, r *prometheus.Registry) http.Handler {
	mux, inspect := http.NewServeMux(), http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "closing down", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	Inspect(inspect, r)
	mux.Handle("/", LocalOnly(inspect))
	return mux
}

// Inspect adds GET /metrics and Go's profiles under GET /debug/pprof/.
func Inspect(mux *http.ServeMux, r *prometheus.Registry) {
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{Registry: r}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

// LocalOnly refuses a request whose Host is not this machine's own: a web page
// that had its name resolve to 127.0.0.1 could otherwise read profiles through
// the operator's browser.
func LocalOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !IsLoopback(host) {
			http.Error(w, "the admin port answers to loopback names only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// IsLoopback takes addresses as they are written, and no name but localhost:
// what another name means is up to whoever runs the resolver.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
