package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"whittle"
	"whittle/carve/gateway/listener"
)

// TestAConversationIsNotHeldForItsEnd: who sends the next part of his request when he
// has the response to the one before is served by the monolith, on a route whose users
// all meet the candidate. Asking the candidate would take the whole request.
func TestAConversationIsNotHeldForItsEnd(t *testing.T) {
	echo := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c := http.NewResponseController(w)
			if err := c.EnableFullDuplex(); err != nil && r.ProtoMajor == 1 {
				t.Error(err)
			}
			for lines := bufio.NewScanner(r.Body); lines.Scan(); _ = c.Flush() {
				_, _ = fmt.Fprintf(w, "%s: %s\n", name, lines.Text())
			}
		})
	}
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		for _, method := range []string{"POST", "PUT"} { // once only, and idempotent
			t.Run(protocol+" "+method, func(t *testing.T) {
				t.Parallel()
				spec := everything()
				spec.Safe = true
				s := open(t, spec, echo("monolith"), echo("candidate"))
				s.listens()
				s.apply(whittle.All, whittle.PhaseShift)
				tr := &http.Transport{Protocols: new(http.Protocols)}
				tr.Protocols.SetHTTP1(protocol == "HTTP/1.1")
				tr.Protocols.SetUnencryptedHTTP2(protocol == "HTTP/2.0")
				defer tr.CloseIdleConnections()
				body, talk := io.Pipe()
				defer talk.Close()
				req := s.sends(method, "")
				req.Body, req.ContentLength = body, -1
				said := make(chan error, 1)
				go func() { _, err := io.WriteString(talk, "line 0\n"); said <- err }()
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				lines := bufio.NewScanner(resp.Body)
				for i := range 3 {
					if err := <-said; err != nil {
						t.Fatal(err)
					}
					if want := fmt.Sprintf("monolith: line %d", i); !lines.Scan() || lines.Text() != want {
						t.Fatalf("%s: %q, want %q; %v", resp.Proto, lines.Text(), want, lines.Err())
					}
					go func() { _, err := fmt.Fprintf(talk, "line %d\n", i+1); said <- err }()
				}
				if err := <-said; err != nil {
					t.Fatal(err)
				}
				talk.Close()
				if !lines.Scan() || lines.Text() != "monolith: line 3" || lines.Scan() || lines.Err() != nil {
					t.Errorf("at the end %q, %v", lines.Text(), lines.Err())
				}
				if l := s.rests(); l.Total != 1 || l.Skipped[whittle.SkipStreaming] != 1 {
					t.Errorf("ledger %+v", l)
				}
				s.holdsNothing()
			})
		}
	}
}

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
