package api

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	healthWithin = 2 * time.Second
	healthFor    = time.Second
)

// health is what is known of the upstreams. Whoever asks within a second has
// the same response, so that asking costs them nothing.
type health struct {
	mu    sync.Mutex // guards the following, and is held while asking
	asked time.Time
	last  report
}

// report is what GET /health returns.
type report struct {
	Status        string `json:"status"` // "ok", or "degraded": an upstream does not respond
	Cache         string `json:"cache"`  // "ok", or what is wrong
	FaceDetection string `json:"faceDetection"`
}

// healthy is GET /health: 200 while both upstreams respond, else 503.
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
	h := &a.health
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.o.now().Sub(h.asked) < healthFor {
		return h.last
	}
	// The response is for all who ask: it does not end with the first of them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthWithin)
	defer cancel()
	rep := report{Status: "ok"}
	var both sync.WaitGroup
	both.Go(func() { rep.Cache = readiness(a.pictures.ready(ctx)) })
	both.Go(func() { rep.FaceDetection = readiness(a.o.Finder.Ready(ctx)) })
	both.Wait()
	if rep.Cache != "ok" || rep.FaceDetection != "ok" {
		rep.Status = "degraded"
	}
	h.last, h.asked = rep, a.o.now()
	return rep
}

func readiness(err error) string {
	if err == nil {
		return "ok"
	}
	_, text := public(err)
	return text
}
