package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"whittle"
	"whittle/stream"
)

// admin is what operators need and nobody else may see.
type admin struct {
	stream stream.Stream
	// ready says why no events are taken: nil while they are.
	ready    func() error
	registry *prometheus.Registry
	loopback bool
}

// health is what /ready answers.
type health struct {
	Ready      bool    `json:"ready"`
	Reason     string  `json:"reason,omitempty"`
	Durability string  `json:"durability"`
	FreeBytes  int64   `json:"freeBytes"`
	FreedRate  float64 `json:"freedBytesPerSecond"`
}

func (a *admin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]bool{"live": true})
	})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		room := a.stream.Room()
		h := health{Ready: true, Durability: string(a.stream.Durability()), FreeBytes: room.Free, FreedRate: room.Rate}
		status := http.StatusOK
		if err := a.ready(); err != nil {
			h.Ready, h.Reason, status = false, err.Error(), http.StatusServiceUnavailable
		}
		writeJSON(w, status, h)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{Registry: a.registry}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	if a.loopback {
		return localOnly(mux)
	}
	return mux
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone: nobody is left to tell
}

// localOnly refuses a request whose Host is not this machine's own: a web page
// that had its name resolve to 127.0.0.1 could otherwise read profiles through
// the operator's browser.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !isLoopback(host) {
			http.Error(w, "the admin port answers to loopback names only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback takes addresses as they are written, and no name but localhost:
// what another name means is up to whoever runs the resolver.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// listenAdmin takes the admin address.
func listenAdmin(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "listen on %s: %w", address, err).
			WithHint("choose another address with --admin, or none with --admin=\"\"")
	}
	return l, nil
}

func (a *admin) server() *http.Server {
	return &http.Server{
		Handler:           a.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		// A profile takes as long as it was asked for.
		WriteTimeout:   5 * time.Minute,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
}
