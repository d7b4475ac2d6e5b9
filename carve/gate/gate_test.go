package gate

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// controller asks what the test says, and keeps what it is heard.
type controller struct {
	mu    sync.Mutex // guards the following
	asks  []whittle.GateAsk
	said  []string
	heard chan struct{}
}

func (c *controller) Gates() []whittle.GateAsk {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]whittle.GateAsk(nil), c.asks...)
}

func (c *controller) Gated(ask *whittle.GateAsk, open bool, said string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if open {
		said = "open, " + said
		for i := range c.asks {
			if c.asks[i].ID == ask.ID && ask.Before != whittle.GateRollback {
				c.asks[i].Open = true
			}
		}
	}
	c.said = append(c.said, said)
	select {
	case c.heard <- struct{}{}:
	default:
	}
}

func (c *controller) set(asks ...whittle.GateAsk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asks = asks
}

// runs starts a keeper; stop ends it and gives what it said.
func runs(t *testing.T, c *controller) (stop func() []string) {
	t.Helper()
	c.heard = make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	k := &Keeper{Controller: c, Redact: func(s string) string { return strings.ReplaceAll(s, "secret", "redacted") }, Log: slog.New(slog.DiscardHandler)}
	go func() { ended <- k.Run(ctx) }()
	return func() []string {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		return c.said
	}
}

func (c *controller) await(t *testing.T) {
	t.Helper()
	select {
	case <-c.heard:
	case <-time.After(20 * time.Second):
		t.Fatal("the gate is not asked")
	}
}

func ask(url string, before whittle.GateMoment) whittle.GateAsk {
	return whittle.GateAsk{
		ID: 1, Route: "POST /Count", Gate: whittle.Gate{Name: "qa", Hook: &whittle.Hook{URL: url, Key: "0123456789abcdef", Timeout: 5 * time.Second}, Every: time.Second},
		Before: before, From: 100, To: 500, Phase: whittle.PhaseShift, Since: time.Unix(1, 0), Generation: 7,
		Verdict: whittle.Equivalent, Compared: 812, Summary: "No difference.", Harm: "little",
	}
}

// TestAGateIsAskedUntilItOpens: each call has the same delivery and its number, whatever
// is no 200 waits, and an open gate is asked no more.
func TestAGateIsAskedUntilItOpens(t *testing.T) {
	var mu sync.Mutex
	var deliveries []string
	var bodies []Question
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var q Question
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			t.Error(err)
		}
		deliveries, bodies = append(deliveries, r.Header.Get("X-Whittle-Delivery")), append(bodies, q)
		if len(bodies) == 1 {
			w.WriteHeader(http.StatusNoContent) // well meant, and not what is asked for
			return
		}
		if len(bodies) == 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "the secret tests are running\nsince noon")
		}
	}))
	defer s.Close()
	c := &controller{asks: []whittle.GateAsk{ask(s.URL, whittle.GateStep)}}
	stop := runs(t, c)
	for range 3 {
		c.await(t)
	}
	said := stop()
	want := []string{`last response 204`, `last response 503 "the redacted tests are running"`, `open, last response 200`}
	if strings.Join(said, "|") != strings.Join(want, "|") {
		t.Errorf("%q", said)
	}
	mu.Lock()
	defer mu.Unlock()
	if q := bodies[2]; q.Attempt != 3 || q.Gate != "qa" || q.Before != "step" || q.From != 100 || q.To != 500 || q.Generation != 7 || q.Evidence.Compared != 812 || q.Version != 1 || q.Event != "gate" {
		t.Errorf("%+v", q)
	}
	if deliveries[0] == "" || deliveries[0] != deliveries[2] {
		t.Errorf("deliveries %q", deliveries)
	}
}

// TestAGateThatIsNotDueAnyMore: the call under way ends, and nobody is heard.
func TestAGateThatIsNotDueAnyMore(t *testing.T) {
	began, ended := make(chan struct{}, 1), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		began <- struct{}{}
		<-r.Context().Done()
		close(ended)
	}))
	defer s.Close()
	c := &controller{asks: []whittle.GateAsk{ask(s.URL, whittle.GateFirst)}}
	stop := runs(t, c)
	<-began
	c.set()
	<-ended
	if said := stop(); len(said) != 0 {
		t.Errorf("%q", said)
	}
}

// TestTheEndDoesNotWaitForAGate, nor does a gate by hand get asked.
func TestTheEndDoesNotWaitForAGate(t *testing.T) {
	began := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		began <- struct{}{}
		<-r.Context().Done()
	}))
	defer s.Close()
	byHand := ask("", whittle.GateFirst)
	byHand.ID, byHand.Gate = 2, whittle.Gate{Name: "board"}
	c := &controller{asks: []whittle.GateAsk{byHand, ask(s.URL, whittle.GateFirst)}}
	stop := runs(t, c)
	<-began
	if said := stop(); len(said) != 0 {
		t.Errorf("%q", said)
	}
}

// TestAGateOfRollbackIsAskedAgainAndAgain, and a failure of it is no word.
func TestAGateOfRollbackIsAskedAgainAndAgain(t *testing.T) {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n++; n == 1 {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	c := &controller{asks: []whittle.GateAsk{ask(s.URL, whittle.GateRollback)}}
	stop := runs(t, c)
	c.await(t)
	c.await(t)
	if said := stop(); said[0] != "last response 404" || said[1] != "open, last response 200" {
		t.Errorf("%q", said)
	}
}

// A gate that may take users off the candidate is asked however many others hang, of whichever
// server: it is what protects users.
func TestAGateOfRollbackWaitsForNoOther(t *testing.T) {
	over, hangs := make(chan struct{}), make(chan struct{}, 4*atOnce)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/recall" {
			hangs <- struct{}{}
			<-over
		}
	}))
	defer s.Close()
	defer close(over)
	var hanging []whittle.GateAsk
	for i := range 4 * atOnce {
		a := ask(s.URL, whittle.GateStep)
		a.ID, a.Gate.Hook.Timeout = uint64(i+1), time.Minute
		hanging = append(hanging, a)
	}
	c := &controller{asks: hanging}
	stop := runs(t, c)
	for range atOnce {
		<-hangs
	}
	recall := ask(s.URL+"/recall", whittle.GateRollback)
	recall.Route = "GET /users"
	c.set(append(hanging, recall)...)
	c.await(t)
	if said := stop(); said[0] != "open, last response 200" {
		t.Errorf("said %q", said)
	}
}
