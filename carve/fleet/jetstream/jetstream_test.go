package jetstream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/carve/fleet"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/natstest"
)

func TestMain(m *testing.M) { natstest.Main(m) }

const path = "GET /x"

// gateway is a member with what it has in force.
type gateway struct {
	*Member
	end context.CancelFunc

	mu    sync.Mutex
	share whittle.Share
	at    time.Time // of the last change
	kept  []byte
}

func join(t *testing.T, url, name string, lease time.Duration) *gateway {
	t.Helper()
	g := &gateway{}
	m, err := Open(Options{
		Servers: url, Name: "test",
		Node: fleet.Config{
			Member: name, Run: 1, Lease: lease,
			Routes: []fleet.Route{{Name: path, Digest: "d", Candidate: "c", Exposure: 50}},
		},
		Changed: func(n *fleet.Node, now fleet.Instant) {
			share := n.InForce(path, now).Share
			g.mu.Lock()
			defer g.mu.Unlock()
			if share != g.share {
				g.share, g.at = share, time.Now()
			}
		},
		Save: func(b []byte) error { g.kept = b; return nil },
	})
	fatal.If(t, err)
	g.Member = m
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx) })
	g.end = func() { cancel(); running.Wait(); m.Close() }
	t.Cleanup(g.end)
	return g
}

func (g *gateway) leads() (leads bool) {
	g.Do(func(n *fleet.Node, now fleet.Instant) { _, leads = n.Leads(now) })
	return leads
}

// fleetOf is so many gateways of a NATS server.
func fleetOf(t *testing.T, n int, lease time.Duration) (all []*gateway) {
	t.Helper()
	url := natstest.JetStream(t)
	for i := range n {
		all = append(all, join(t, url, fmt.Sprintf("gateway-%d", i), lease))
	}
	return all
}

// Where NATS is away, it is said why, not what became of what was to be sent meanwhile.
func TestNATSIsAway(t *testing.T) {
	g := join(t, "nats://127.0.0.1:1", "a", time.Second)
	process.Until(t, "something was to be sent", func() bool {
		g.Member.mu.Lock()
		defer g.Member.mu.Unlock()
		return g.trouble != nil
	})
	const want = "NATS cannot be reached (dial tcp 127.0.0.1:1: connect: connection refused); is NATS there"
	process.Until(t, want, func() bool { return strings.HasPrefix(g.Trouble(), want) })
}

// TestEvidence: exchanges are there once each, in one order for all, and a leader goes
// on after the last that the one before has judged.
func TestEvidence(t *testing.T) {
	all := fleetOf(t, 2, time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i := range 20 {
		process.Until(t, "it is published", func() bool {
			return all[i%2].Publish(ctx, path, []byte{byte(i)}) == nil
		})
	}
	if err := all[0].Publish(ctx, "GET /y", []byte{99}); err != nil {
		t.Error(err)
	}
	read := func(g *gateway, after uint64, most int) (places []uint64, got []byte) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		g.Follow(ctx, path, after, func(s *Stored) {
			places, got = append(places, s.Place), append(got, s.Message...)
			if time.Since(s.At).Abs() > time.Minute {
				t.Errorf("it came at %v", s.At)
			}
			if len(got) == most {
				cancel()
			}
		})
		return places, got
	}
	places, first := read(all[0], 0, 7)
	_, rest := read(all[1], places[len(places)-1], 13)
	for i, b := range append(first, rest...) {
		if int(b) != i {
			t.Fatalf("%v and then %v", first, rest)
		}
	}
	fatal.Same(t, len(first)+len(rest), 20, "%d and %d", len(first), len(rest))
	fatal.Same(t, whittle.CodeOf(all[0].Publish(ctx, path, make([]byte, 2<<20))), whittle.Unavailable, "a message that is too large")
	// What a stream refuses, and what there is no stream for, is known not to be there.
	js, err := jetstream.New(all[0].conn)
	fatal.If(t, err)
	stream, err := js.Stream(ctx, "whittle_test_evidence")
	fatal.If(t, err)
	full := stream.CachedInfo().Config
	full.MaxMsgs, full.Discard = 1, jetstream.DiscardNew
	if _, err := js.UpdateStream(ctx, full); err != nil {
		t.Fatal(err)
	}
	fatal.Same(t, whittle.CodeOf(all[0].Publish(ctx, path, []byte{1})), whittle.Unavailable, "a stream that is full")
	fatal.If(t, js.DeleteStream(ctx, "whittle_test_evidence"))
	fatal.Same(t, whittle.CodeOf(all[0].Publish(ctx, path, []byte{1})), whittle.Unavailable, "a stream that is gone")
	if err := all[0].Publish(ctx, path, []byte{1}); err != nil {
		t.Errorf("a stream that is made anew: %v", err)
	}
}

// pause has the consumers of a stream that have a filter, if any, live and bring nothing.
func pause(t *testing.T, js jetstream.JetStream, name, filter string) {
	t.Helper()
	stream, err := js.Stream(t.Context(), name)
	fatal.If(t, err)
	all := stream.ListConsumers(t.Context())
	for c := range all.Info() {
		if filter != "" && c.Config.FilterSubject != filter {
			continue
		}
		if _, err := stream.PauseConsumer(t.Context(), c.Name, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	fatal.If(t, all.Err())
}

// TestReportsAreWithheld: a leader whose watch of the others' reports lives and brings
// nothing watches them anew, and does not go on without them.
func TestReportsAreWithheld(t *testing.T) {
	all := fleetOf(t, 2, 2*time.Second)
	js, err := jetstream.New(all[0].conn)
	fatal.If(t, err)
	for !withhold(t, js, all) { // another one leads meanwhile, on a busy machine
	}
}

// withhold has the watch of whoever leads bring nothing, and waits until it has the other
// gateway's reports again. False: it does not lead any more.
func withhold(t *testing.T, js jetstream.JetStream, all []*gateway) bool {
	t.Helper()
	process.Until(t, "one leads", func() bool { return slices.ContainsFunc(all, (*gateway).leads) })
	leader := all[max(0, slices.IndexFunc(all, (*gateway).leads))]
	// number is that of the last report that it has, of itself or of the other one.
	number := func(own bool) (n uint64) {
		leader.Do(func(node *fleet.Node, _ fleet.Instant) {
			for _, seat := range node.Members() {
				if own == (seat.Report.Member == leader.o.Node.Member) {
					n = seat.Report.Seq
				}
			}
		})
		return n
	}
	process.Until(t, "the other one has reported", func() bool { return number(false) > 0 || !leader.leads() })
	pause(t, js, "KV_whittle_test", "$KV.whittle_test."+fleet.Reports)
	before, own := number(false), number(true)
	process.Until(t, "the other one's reports come again", func() bool { return number(false) > before+2 || !leader.leads() })
	passed := number(true) - own
	if !leader.leads() {
		return false
	}
	if passed > 16 { // of four a lease; by itself the client waits for two heartbeats that do not come
		t.Errorf("it led without the other one's reports for %d of its own", passed)
	}
	return true
}

// TestNothingIsLostAnyMore: what kept an exchange from being sent is said for as long as others
// would meet it, and a refusal until one is taken.
func TestNothingIsLostAnyMore(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		err  error
		ago  time.Duration
		said bool
	}{
		{nil, 0, false},
		{context.DeadlineExceeded, time.Second, true},
		{context.DeadlineExceeded, time.Hour, false},
		{client.ErrNoResponders, time.Hour, false},
		{fmt.Errorf("publish: %w", &jetstream.APIError{ErrorCode: 10047}), time.Hour, true},
	} {
		if got := (failure{c.err, now.Add(-c.ago)}).why(now); (got != nil) != c.said {
			t.Errorf("%v, %v ago: %v", c.err, c.ago, got)
		}
	}
	g := fleetOf(t, 1, 500*time.Millisecond)[0]
	g.lose(context.DeadlineExceeded)
	fatal.Same(t, len(g.Wrong()), 1, "of an exchange that could not be sent now: %q", g.Wrong())
	process.Until(t, "one is published", func() bool { return g.Publish(t.Context(), path, []byte("1")) == nil })
	if wrong := g.Wrong(); len(wrong) != 0 {
		t.Errorf("it says %q of one that was sent", wrong)
	}
}

// TestRefused: what a stream refuses for a limit is not there; what a server refuses as it
// ends may be, with the others of its cluster.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		err  error
		code whittle.Code
	}{
		{&jetstream.APIError{ErrorCode: storeFailed, Description: "store is closed"}, whittle.DeadlineExceeded},
		{&jetstream.APIError{ErrorCode: storeFailed, Description: "maximum bytes exceeded"}, whittle.Unavailable},
		{&jetstream.APIError{ErrorCode: 10054, Description: "message size exceeds maximum allowed"}, whittle.Unavailable},
		{client.ErrNoResponders, whittle.Unavailable},
		{context.DeadlineExceeded, whittle.DeadlineExceeded},
	} {
		fatal.Same(t, whittle.CodeOf(published(c.err)), c.code, "the code of %v", c.err)
	}
}
