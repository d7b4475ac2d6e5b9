package api

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const healthWithin = 2 * time.Second

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
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	rep := report{Status: "ok"}
	var both sync.WaitGroup
	both.Go(func() { rep.Cache = readiness(a.pictures.ready(ctx)) })
	both.Go(func() { rep.FaceDetection = readiness(a.o.Finder.Ready(ctx)) })
	both.Wait()
	if rep.Cache != "ok" || rep.FaceDetection != "ok" {
		rep.Status = "degraded"
	}
	return rep
}

func readiness(err error) string {
	if err == nil {
		return "ok"
	}
	_, text := public(err)
	return text
}
