package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// Every sort of request at once, with aborts, a candidate in trouble, reloads,
// shares that change and a shutdown in the middle: each request is in the
// ledger exactly once.
func TestLedgerUnderAStorm(t *testing.T) {
	const clients, each = 24, 120
	var slow atomic.Int64
	monolith := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.Header.Get("X-Want") {
		case "reset":
			reset(w, r)
		case "large":
			_, _ = w.Write(make([]byte, 100_000))
		case "hang":
			slow.Add(1)
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, "fine")
		}
	})
	candidate := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch rand.IntN(10) {
		case 0:
			reset(w, r)
		case 1:
			w.WriteHeader(500)
		default:
			_, _ = io.WriteString(w, "fine")
		}
	})
	spec := everything()
	spec.Mirror.Queue, spec.Mirror.Concurrency, spec.Mirror.Sample, spec.Mirror.Watch = 8, 2, 8000, 5000
	spec.Mirror.MaxMemory, spec.Mirror.RepeatEvery, spec.Mirror.ShedAbove = 400<<10, 7, 3
	panics, counted := atomic.Int64{}, atomic.Int64{}
	s := open(t, spec, monolith, candidate, func(o *Options) {
		o.Monolith.Timeout = 200 * time.Millisecond // what hangs for a user hangs for the mirror, too
		o.Observe = func(x *whittle.Exchange) whittle.Observation {
			switch n := panics.Add(1) % 50; n {
			case 0:
				panic("a defect")
			case 1:
				return whittle.Observation{Skip: "the judge's own"}
			case 2, 3, 4, 5, 6:
				counted.Add(1)
				return whittle.Observation{Counted: true}
			}
			return whittle.Observation{}
		}
	})

	var sent atomic.Int64
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 9))
			for range each {
				storm(s, rng, fmt.Sprint("user ", c))
				sent.Add(1)
			}
		})
	}
	done := make(chan struct{})
	var meddling sync.WaitGroup
	meddling.Go(func() {
		rng := rand.New(rand.NewPCG(5, 5))
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			share := whittle.Share(rng.IntN(10_001))
			phases := []whittle.Phase{whittle.PhaseShadow, whittle.PhaseShift, whittle.PhaseLive, whittle.PhaseOff, whittle.PhaseShift}
			s.apply(0, whittle.PhaseRolledBack)
			s.apply(share, phases[rng.IntN(len(phases))])
			next := spec
			next.Candidate = s.g.opts.Routes[0].Candidate
			next.Mirror.Queue = 4 + i%9
			if err := s.g.Reload(s.g.opts.Monolith, []whittle.Route{next}); err != nil {
				t.Error(err)
			}
			if l := s.g.Ledger("/work"); l.Total != l.Sum() || l.Pending < 0 {
				t.Errorf("in the storm: %+v", l)
			}
			before := sent.Load()
			waits(t, 30*time.Second, func() bool { return sent.Load() > before+20 || sent.Load() == clients*each })
			if sent.Load() == clients*each {
				return
			}
		}
	})
	wg.Wait()
	close(done)
	meddling.Wait()
	l := s.rests()
	// A request that its client gave up before it was sent never arrived.
	if l.Total > clients*each || l.Total < clients*each/2 || l.Total != l.Sum() {
		t.Errorf("ledger %+v for %d requests", l, clients*each)
	}
	for name, n := range map[string]int64{
		"compared": l.Compared, "failed": l.Failed, whittle.SkipCanceled: l.Skipped[whittle.SkipCanceled],
		whittle.SkipNotSafe: l.Skipped[whittle.SkipNotSafe], whittle.SkipTooLarge: l.Skipped[whittle.SkipTooLarge],
		whittle.SkipMonolith: l.Skipped[whittle.SkipMonolith],
	} {
		if n == 0 {
			t.Errorf("the storm has shown no request that was %s: %+v", name, l)
		}
	}
	// What the judge has counted is its own, once.
	if r := s.g.Counts("/work"); r.Ledger.Pending != counted.Load() || r.Sent != counted.Load() || r.Ledger.Total != l.Total || counted.Load() == 0 {
		t.Errorf("reported %+v, and %d were counted with the evidence", r, counted.Load())
	}
	s.holdsNothing()
	t.Logf("%+v", l)
}

// storm sends one request of some sort, whatever becomes of it.
func storm(s *fixture, rng *rand.Rand, user string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	method, want, body := "GET", "", ""
	switch rng.IntN(12) {
	case 0:
		method, body = "POST", "a write"
	case 1:
		want = "large"
	case 2:
		want = "reset"
	case 3:
		method, body = "PUT", strings.Repeat("x", 70_000)
	case 4:
		want = "hang"
		cancel()
		ctx, cancel = context.WithTimeout(context.Background(), 10*time.Millisecond)
		defer cancel()
	case 5:
		ctx, cancel = context.WithTimeout(context.Background(), time.Duration(rng.IntN(2000))*time.Microsecond)
		defer cancel()
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+"/work", strings.NewReader(body))
	if err != nil {
		return
	}
	r.Header.Set("X-User", user)
	r.Header.Set("X-Want", want)
	_, _, _ = s.tries(r)
}

func TestCloseAccountsForWhatItInterrupts(t *testing.T) {
	release := make(chan struct{})
	spec := everything()
	spec.Mirror.Concurrency = 2
	s := open(t, spec, says(200, "fine"), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	defer close(release)
	for range 10 {
		s.gets(s.sends("GET", ""))
	}
	if l := s.g.Ledger("/work"); l.Pending != 10 {
		t.Fatalf("ledger %+v, want ten pending", l)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	fatal.If(t, s.g.table.Load().routes["/work"].close(ctx))
	s.gets(s.sends("GET", ""))
	if l := s.rests(); l.Total != 11 || l.Skipped[whittle.SkipInterrupted] != 11 {
		t.Errorf("ledger %+v, want eleven interrupted", l)
	}
	s.g.table.Load().routes["/work"].claim() // for the close at the test's end
}

func TestCloseSaysThatAComparisonIsStuck(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	s := open(t, everything(), says(200, "fine"), says(200, "fine"), func(o *Options) {
		o.Observe = func(*whittle.Exchange) whittle.Observation { close(entered); <-release; return whittle.Observation{} }
	})
	s.gets(s.sends("GET", ""))
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.g.table.Load().routes["/work"].close(ctx)
	if whittle.CodeOf(err) != whittle.DeadlineExceeded || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
	if l := s.g.Ledger("/work"); l.Skipped[whittle.SkipInterrupted] != 1 || l.Pending != 0 {
		t.Errorf("ledger %+v", l)
	}
	close(release)
	s.g.table.Load().routes["/work"].claim() // for the close at the test's end
}

func TestRepeatsAreBudgeted(t *testing.T) {
	spec := everything()
	spec.Mirror.RepeatEvery = 5
	monolith := &counted{Handler: says(200, "fine")}
	s := open(t, spec, monolith, says(200, "fine"))
	for range 50 {
		s.gets(s.sends("GET", ""))
	}
	s.rests()
	repeats := 0
	for _, x := range s.seen() {
		if x.Repeat != nil {
			repeats++
			if x.Repeat.Status != 200 || string(x.Repeat.Body) != "fine" {
				t.Errorf("repeat %+v", x.Repeat)
			}
		}
	}
	if repeats != 10 || monolith.count() != 60 {
		t.Errorf("%d repeats, the monolith was asked %d times; want 10 and 60", repeats, monolith.count())
	}
}

// unchanged is a transcoder for an RPC that is what users ask.
type unchanged struct{}

func (unchanged) Request(r *whittle.Request) (*whittle.Request, error) { return r, nil }
func (unchanged) Response(a *whittle.Response) whittle.Response        { return *a }

// Two equal responses are left out for both sides where the side that is asked
// next to the user could not give its own whole.
func TestEqualResponsesAboveTheOtherSidesBound(t *testing.T) {
	const bound = 64 << 10 // of a response, in upstreamAt
	for _, tt := range []struct {
		name  string
		size  int
		share whittle.Share
		rpc   bool
		want  string
	}{
		{"shadowed, at the bound", bound, 0, false, "compared"},
		{"shadowed, above it", bound + 1, 0, false, whittle.SkipTooLarge},
		{"watched, at the bound", bound, whittle.All, false, "compared"},
		{"watched, above it", bound + 1, whittle.All, false, whittle.SkipTooLarge},
		{"with fallback, above it", bound + 1, whittle.All, true, whittle.SkipTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := everything()
			spec.Mirror.MaxBody = 4 * bound
			response := strings.Repeat("x", tt.size)
			s := open(t, spec, says(200, response), says(200, response))
			if tt.rpc {
				s.g.table.Load().routes["/work"].rpc = unchanged{}
			}
			s.apply(tt.share, whittle.PhaseLive)
			if status, body := s.gets(s.sends("GET", "")); status != 200 || body != response {
				t.Fatalf("the user got %d and %d bytes", status, len(body))
			}
			l := s.rests()
			if got := map[string]int64{"compared": l.Compared, whittle.SkipTooLarge: l.Skipped[whittle.SkipTooLarge]}; got[tt.want] != 1 {
				t.Errorf("ledger %+v, want one %s", l, tt.want)
			}
			if n := len(s.seen()); (n == 1) != (tt.want == "compared") {
				t.Errorf("%d exchanges were seen", n)
			}
			s.holdsNothing()
		})
	}
}

// Two sides that fail alike must look alike to the judge, so it is shown the
// requests that the monolith failed as well as those that the candidate did. The guards
// hold the candidate's failures against the monolith's own likewise.
func TestTheMonolithsFailuresAreShown(t *testing.T) {
	for _, tt := range []struct {
		name      string
		share     whittle.Share
		phase     whittle.Phase
		candidate int
	}{
		{"shadow", 0, whittle.PhaseShadow, 200},
		{"watched at a full share", whittle.All, whittle.PhaseShift, 200},
		{"both fail", whittle.All, whittle.PhaseLive, 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, everything(), http.HandlerFunc(reset), says(tt.candidate, "said"))
			s.apply(tt.share, tt.phase)
			status, _ := s.gets(s.sends("GET", ""))
			fatal.Same(t, tt.share == 0 || tt.candidate == 500, status == http.StatusBadGateway, "alone, where the user got %d", status)
			if l := s.rests(); l.Total != 1 || l.Skipped[whittle.SkipMonolith] != 1 {
				t.Errorf("ledger %+v, want the one request as %s", l, whittle.SkipMonolith)
			}
			if x := s.seen(); len(x) != 1 || x[0].Monolith.Failure != whittle.FailedReset || x[0].Candidate.Status != tt.candidate || x[0].FellBack != (tt.candidate == 500) {
				t.Errorf("the judge saw %+v", x)
			}
			s.holdsNothing()
		})
	}
}
