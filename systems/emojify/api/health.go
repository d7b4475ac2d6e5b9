package api

import (
	"context"
	"net/http"
	"time"
)

const healthWithin = 2 * time.Second

// report is what GET /health returns.
type report struct {
	Status string `json:"status"` // "ok", or "degraded": the cache does not respond
	Cache  string `json:"cache"`  // "ok", or what is wrong
}

// healthy is GET /health: 200 while the cache responds, else 503.
func (a *API) healthy(w http.ResponseWriter, r *http.Request) error {
	rep := a.ask(r.Context())
	status := http.StatusOK
	if rep.Status != "ok" {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, status, rep)
	return nil
}

func (a *API) ask(ctx context.Context) report {
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	err := a.pictures.ready(ctx)
	if err == nil {
		return report{Status: "ok", Cache: "ok"}
	}
	_, text := public(err)
	return report{Status: "degraded", Cache: text}
}
