package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"whittle"
	"whittle/carve/gateway/listener"
)

// TestABodyOfUnknownLengthGoesToTheCandidate, whole, where it comes without a pause; and
// one that is too large for a copy goes to the monolith, whole too.
func TestABodyOfUnknownLengthGoesToTheCandidate(t *testing.T) {
	size := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			_, _ = fmt.Fprintf(w, "%s got %d, %v", name, n, err)
		})
	}
	spec := everything()
	spec.Safe = true
	most := spec.Mirror.MaxBody
	s := open(t, spec, size("monolith"), size("candidate"))
	s.listens()
	s.apply(whittle.All, whittle.PhaseShift)
	for i, n := range []int64{0, 1, 5000, most - 1, most, most + 1, 3 * most} {
		req := s.sends("POST", "")
		req.Body, req.ContentLength = io.NopCloser(io.LimitReader(zeros{}, n)), -1
		want := fmt.Sprintf("candidate got %d, <nil>", n)
		if n > most {
			want = fmt.Sprintf("monolith got %d, <nil>", n)
		}
		if status, got := s.gets(req); status != 200 || got != want {
			t.Errorf("request %d: %d %q, want %q", i, status, got, want)
		}
	}
	if l := s.rests(); l.Skipped[whittle.SkipTooLarge] != 2 {
		t.Errorf("ledger %+v", l)
	}
	s.holdsNothing()
}

// listens has the gateway's own listener serve the requests that follow.
func (s *fixture) listens() {
	ls, urls := facing(s.t, 1)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.g.Serve(ctx, listener.Listener{Listener: ls[0]}) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			s.t.Error(err)
		}
	})
	s.url = urls[0]
}

// zeros gives as many bytes as are asked for.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
