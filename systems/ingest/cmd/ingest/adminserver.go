package main

import (
	"encoding/json"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"whittle/internal/adminport"
	"whittle/systems/ingest/stream"
)

// admin is what operators need and nobody else may see.
type admin struct {
	stream stream.Stream
	// ready says why no events are taken: nil while they are.
	ready func() error
	// warning says what is odd about what comes in; empty: nothing is.
	warning  func() string
	registry *prometheus.Registry
	loopback bool
}

// health is the response of /ready.
type health struct {
	Ready      bool    `json:"ready"`
	Reason     string  `json:"reason,omitempty"`
	Warning    string  `json:"warning,omitempty"`
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
		capacity := a.stream.Capacity()
		h := health{Ready: true, Warning: a.warning(), Durability: string(a.stream.Durability()), FreeBytes: capacity.Free, FreedRate: capacity.Rate}
		status := http.StatusOK
		if err := a.ready(); err != nil {
			h.Ready, h.Reason, status = false, err.Error(), http.StatusServiceUnavailable
		}
		writeJSON(w, status, h)
	})
	adminport.Inspect(mux, a.registry)
	if a.loopback {
		return adminport.LocalOnly(mux)
	}
	return mux
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone
}
