package gateway

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// rounds counts the rounds that a test's judge was shown, and asks for some.
type rounds struct {
	mu    sync.Mutex // guards the following
	seen  []whittle.Recheck
	want  int
	ended chan struct{}
}

func (r *rounds) recheck(again *whittle.Recheck) (time.Duration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(again.Rounds) < r.want {
		return 0, true
	}
	r.seen = append(r.seen, *again)
	r.ended <- struct{}{}
	return 0, false
}

// TestBothSidesAreAskedAgain: over real sockets, a difference that the judge wants
// to know more of is asked of both sides as often as it says, in order, whoever was
// asked first; nobody waits for it and no user's request is counted for it.
func TestBothSidesAreAskedAgain(t *testing.T) {
	for _, share := range []whittle.Share{0, whittle.All} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			var monolith, candidate atomic.Int64
			counting := func(n *atomic.Int64, name string) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					fmt.Fprintf(w, "%s %d %s", name, n.Add(1), body)
				})
			}
			again := &rounds{want: 3, ended: make(chan struct{}, 10)}
			spec := everything()
			spec.Safe = true
			s := open(t, spec, counting(&monolith, "m"), counting(&candidate, "c"), func(o *Options) {
				o.Observe = func(*whittle.Exchange) whittle.Observation { return whittle.Observation{Differs: true, Ask: true} }
				o.Recheck = again.recheck
			})
			s.apply(share, whittle.PhaseShift)
			resp, err := http.Post(s.url+"/work", "text/plain", http.NoBody)
			fatal.If(t, err)
			resp.Body.Close()
			<-again.ended
			r := again.seen[0]
			for i, round := range r.Rounds {
				if want := fmt.Sprintf("m %d ", i+2); string(round.Monolith.Body) != want {
					t.Errorf("round %d: the monolith said %q", i, round.Monolith.Body)
				}
				if want := fmt.Sprintf("c %d ", i+2); string(round.Candidate.Body) != want {
					t.Errorf("round %d: the candidate said %q", i, round.Candidate.Body)
				}
			}
			if first := r.Exchange.First(); (first == whittle.Candidate) != (share > 0) || len(r.Rounds) != 3 {
				t.Errorf("first %v, %d rounds", first, len(r.Rounds))
			}
			if l := s.g.Ledger(s.route); l.Total != 1 || l.Compared != 1 {
				t.Errorf("ledger %+v", l)
			}
		})
	}
}

// TestUnseenShapesStayWithTheMonolith: while the share rises, a request whose shape
// was never compared is served by the monolith and mirrored; afterwards, and in
// the phase live, the candidate serves it.
func TestUnseenShapesStayWithTheMonolith(t *testing.T) {
	var known atomic.Bool
	spec := everything()
	spec.Safe, spec.Rollout.Unseen = true, whittle.UnseenMonolith
	s := open(t, spec, says(200, "monolith"), says(200, "candidate"), func(o *Options) {
		o.Known = func(route string, q *whittle.Request) bool {
			return known.Load() && route == "/work" && q.Method == "GET"
		}
	})
	get := func() string {
		resp, err := http.Get(s.url + "/work")
		fatal.If(t, err)
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	for _, tc := range []struct {
		phase whittle.Phase
		known bool
		want  string
	}{
		{whittle.PhaseShift, false, "monolith"},
		{whittle.PhaseShift, true, "candidate"},
		{whittle.PhaseLive, false, "candidate"},
	} {
		known.Store(tc.known)
		s.apply(whittle.All, tc.phase)
		if got := get(); got != tc.want {
			t.Errorf("%s, known %v: served by the %s", tc.phase, tc.known, got)
		}
	}
	if l := s.g.Ledger(s.route); l.Total != 3 || l.Skipped[whittle.SkipUntranslated] != 0 {
		t.Errorf("ledger %+v", l)
	}
}

// TestWatchIsRaisedAndNeverBelowTheConfig: the share of the candidate's responses
// that are compared follows what control puts in force.
func TestWatchIsRaisedAndNeverBelowTheConfig(t *testing.T) {
	spec := everything()
	spec.Mirror.Watch = 500
	s := open(t, spec, says(200, "same"), says(200, "same"))
	rt := s.g.table.Load().routes[s.route]
	for _, tc := range []struct{ set, want whittle.Share }{{whittle.All, whittle.All}, {100, 500}, {700, 700}} {
		if s.g.Watch(s.route, tc.set); rt.watch() != tc.want {
			t.Errorf("set to %d it is %d, want %d", tc.set, rt.watch(), tc.want)
		}
	}
}
