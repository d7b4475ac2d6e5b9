package gateway

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"whittle"
)

// TestALackOfExposureIsSeen: what a sound candidate does not get because of
// guard.exposure is counted and logged, with what all of it would need.
func TestALackOfExposureIsSeen(t *testing.T) {
	const exposure, users = 5, 20
	met, release := make(chan struct{}, users), make(chan struct{})
	c := hanging(t, false, func(w http.ResponseWriter, _ *http.Request, end <-chan struct{}) {
		met <- struct{}{}
		select {
		case <-release:
		case <-end:
		}
	})
	m := httptest.NewServer(says(200, "the monolith's"))
	t.Cleanup(m.Close)
	spec := everything()
	candidate := upstreamAt(c.URL)
	spec.Candidate, spec.Guard.Exposure, spec.Mirror.Sample = &candidate, exposure, 0
	var log bytes.Buffer
	ls, urls := facing(t, 1)
	g := behind(t, ls[0], Options{Monolith: upstreamAt(m.URL), Routes: []whittle.Route{spec}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	g.Apply("/work", whittle.Position{Generation: 1, Share: whittle.All, Phase: whittle.PhaseShift})
	var all sync.WaitGroup
	for i := range users {
		get := func() { ask(t, http.MethodGet, urls[0]+"/work", "", "X-User", fmt.Sprint(i)) }
		if i < exposure {
			all.Go(get)
			<-met
			continue
		}
		get()
	}
	close(release)
	all.Wait()
	counts := &g.table.Load().routes["/work"].counts
	if full, served := counts.full.Load(), counts.served.Load(); full != users-exposure || served != exposure {
		t.Errorf("%d went to the monolith, %d to the candidate", full, served)
	}
	if n := strings.Count(log.String(), "guard.exposure allows"); n == 0 || n > 5 || !strings.Contains(log.String(), "all_would_need=6") {
		t.Errorf("logged %d times: %s", n, log.String())
	}
}
