package control

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/account"
	"whittle/carve/fleet"
	"whittle/carve/rollout"
)

// TestWhatCouldNotBeCompared: what is under way is not counted, and what is left out for
// what the responses are is held against those that came so far.
func TestWhatCouldNotBeCompared(t *testing.T) {
	u := uncomparedIn(&whittle.Ledger{
		Total: 100, Pending: 7, Compared: 50, Failed: 3,
		Skipped: map[string]int64{whittle.SkipNotSafe: 1, whittle.SkipTooLarge: 2, whittle.SkipStreaming: 4, whittle.SkipEncoded: 8, whittle.SkipSampled: 16},
	})
	want := uncompared{All: 93, Of: 63, Not: map[string]int64{whittle.SkipNotSafe: 1, whittle.SkipTooLarge: 2, whittle.SkipStreaming: 4, whittle.SkipEncoded: 8}}
	if !reflect.DeepEqual(u, want) {
		t.Errorf("%+v, want %+v", u, want)
	}
	before := uncompared{All: 10, Of: 10, Not: map[string]int64{whittle.SkipNotSafe: 1, whittle.SkipTooLarge: 2, whittle.SkipStreaming: 1, whittle.SkipEncoded: 2}}
	now := uncompared{All: 110, Of: 70, Not: map[string]int64{whittle.SkipNotSafe: 11, whittle.SkipTooLarge: 12, whittle.SkipStreaming: 6, whittle.SkipEncoded: 7}}
	// 15 of 100, and of the others 15 of 60.
	if share, why := now.since(before); share < 0.36249 || share > 0.36251 || why != "10 not_safe, 10 too_large, 5 streaming, 5 encoded" {
		t.Errorf("%v: %q", share, why)
	}
	if share, why := now.since(now); share != 0 || why != "" {
		t.Errorf("nothing since: %v %q", share, why)
	}
}

// TestReplacedGateways: what a gateway has that this process's has replaced is of a run
// of its own, until its last report; what it still had under way then is interrupted.
func TestReplacedGateways(t *testing.T) {
	if gatewayOf(0) != account.Local || gatewayOf(7) != account.Replaced(7) {
		t.Errorf("%q, %q", gatewayOf(0), gatewayOf(7))
	}
	c, r := judged(t, &knowing{}, 0)
	counts := whittle.Counts{Run: 7, Seq: 1, Ledger: whittle.Ledger{Total: 3, Pending: 3}}
	r.ev.account.Take(gatewayOf(7), counts)
	if o := c.ObserveOf(7, &whittle.Exchange{Route: "/x", At: noon}); !o.Counted || o.Skip != "" {
		t.Errorf("observed: %+v", o)
	}
	if o := c.ObserveOf(7, &whittle.Exchange{Route: "/y", At: noon}); o.Counted || o.Skip != whittle.SkipOff {
		t.Errorf("of no route: %+v", o)
	}
	c.Ended("/y", counts)
	r.ev.changed = false
	counts.Seq = 2
	c.Ended("/x", counts)
	if l := r.ev.account.Total(); l.Total != 3 || l.Compared != 1 || l.Pending != 0 || l.Skipped[whittle.SkipInterrupted] != 2 || !r.ev.changed {
		t.Errorf("%+v, to be saved %v", l, r.ev.changed)
	}
}

// TestWorthAsking: the judge says so, of a route that is on and of an exchange that
// belongs to its evidence.
func TestWorthAsking(t *testing.T) {
	j := &knowing{after: time.Second}
	c, r := judged(t, j, 0)
	r.ev.begun = noon
	worth := func(route string, at time.Time) bool { return c.WorthAsking(&whittle.Exchange{Route: route, At: at}) }
	if !worth("/x", noon) || worth("/x", noon.Add(-1)) || worth("/y", noon) {
		t.Errorf("worth asking: %v, from before the evidence %v, of no route %v", worth("/x", noon), worth("/x", noon.Add(-1)), worth("/y", noon))
	}
	j.after = 0
	if worth("/x", noon) {
		t.Error("what the judge does not want is worth asking")
	}
	j.after = time.Second
	r.decided.Store(&whittle.Position{Phase: whittle.PhaseOff})
	if worth("/x", noon) {
		t.Error("of a route that is off")
	}
}

// TestSettledDifferencesAreNumbered from 1, and those that are asked about once more
// have no number.
func TestSettledDifferencesAreNumbered(t *testing.T) {
	j := &knowing{}
	c, _ := judged(t, j, 0)
	again := &whittle.Recheck{Exchange: &whittle.Exchange{Route: "/x", At: noon}}
	for want := uint64(1); want < 3; want++ {
		if _, more, number := c.RecheckSent(again); more || number != want || c.Settled("/x") != want {
			t.Errorf("more %v, number %d, settled %d, want %d", more, number, c.Settled("/x"), want)
		}
	}
	j.after = time.Second
	if after, more, number := c.RecheckSent(again); after != time.Second || !more || number != 0 {
		t.Errorf("once more: %v, %v, %d", after, more, number)
	}
	again.Exchange.Route = "/y"
	if after, more, number := c.RecheckSent(again); after != 0 || more || number != 0 || c.Settled("/y") != 0 {
		t.Errorf("of no route: %v, %v, %d", after, more, number)
	}
}

// heard is a fleet of which some reports are there.
type heard []Report

func (h *heard) Floor(string) fleet.Floor { return fleet.Floor{} }
func (h *heard) MayRise(string) bool      { return true }
func (h *heard) Reports(string) []Report  { return *h }

// TestNoReportsAreNoNews: while a fleet shows no report at all nothing is known of its
// gateways, so none of them is gone.
func TestNoReportsAreNoNews(t *testing.T) {
	now, all := noon, &heard{
		{Gateway: "a", Counts: whittle.Counts{Run: 1, Seq: 1, At: noon, Ledger: whittle.Ledger{Total: 5, Pending: 2}}},
		{Gateway: "b", Counts: whittle.Counts{Run: 1, Seq: 1, At: noon, Ledger: whittle.Ledger{Total: 9, Pending: 4}}, Silent: true},
	}
	c, r := judged(t, &knowing{}, 0, func(o *Options) {
		o.Fleet, o.Now = all, func() time.Time { return now }
	})
	if got, want := c.reportsOf("/x"), (reports{total: 14, pending: 6, silent: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.takeReports()
	before := r.ev.account.Total()
	*all, now = nil, noon.Add(1000*time.Hour)
	r.takeReports()
	if after := r.ev.account.Total(); before.Pending != 6 || before.Unknown != 4 || !reflect.DeepEqual(before, after) {
		t.Errorf("%+v became %+v", before, after)
	}
}

// TestQueriesShareTheirErrorRate, as many of them as test, and begin anew where what was
// saved cannot be read.
func TestQueriesShareTheirErrorRate(t *testing.T) {
	side := whittle.SideQuery{Monolith: "m", Candidate: "c"}
	test := whittle.Query{Name: "a", Bad: side, Total: side, Excess: 0.01, For: 3, Every: time.Second}
	other, rule := test, whittle.Query{Name: "rule", Value: whittle.SideQuery{Candidate: "d"}, Limit: 10, For: 2, Every: time.Second}
	other.Name = "b"
	spec := &whittle.Route{Guard: whittle.Guard{Confidence: 0.96}, Queries: []whittle.Query{test, other, rule}}
	alpha := (1 - spec.Guard.Confidence) / 2
	list := newQueries(spec, nil)
	for i, q := range spec.Queries {
		if !list[i].Is(q, alpha) {
			t.Errorf("%s has another error rate than half of 4 %%", q.Name)
		}
	}
	kept, err := list.kept()
	if err != nil || len(kept) != 3 {
		t.Fatalf("%d kept, %v", len(kept), err)
	}
	if failed := newQueries(spec, nil).restore(kept); len(failed) != 0 {
		t.Errorf("what was saved: %v", failed)
	}
	kept[fingerprint(test)] = json.RawMessage(`"no state"`)
	if failed := newQueries(spec, nil).restore(kept); len(failed) != 1 {
		t.Errorf("one that cannot be read: %v", failed)
	}
	for share, exposed := range map[whittle.Share]bool{0: false, 500: true} {
		c, r := judged(t, &knowing{}, share)
		r.ev.queries = newQueries(spec, nil)
		c.Query("/x", "rule", whittle.QueryReading{At: noon, Value: whittle.SideValues{Candidate: 1}})
		if r.ev.exposed != exposed {
			t.Errorf("read at a share of %d the candidate is exposed: %v", share, r.ev.exposed)
		}
	}
}

// TestQuestionsToGates: they end with the gates, name the share that the step leads to,
// at the last one the share that it keeps, and a rollback that a gate demands is carried
// out without a complaint.
func TestQuestionsToGates(t *testing.T) {
	var said bytes.Buffer
	_, r := judged(t, &knowing{}, 500, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&said, nil)) })
	gate := whittle.Gate{Name: "qa", Before: []whittle.GateMoment{whittle.GateStep, whittle.GateLive}, Hook: &whittle.Hook{}}
	ask := func(share whittle.Share) []whittle.GateAsk {
		r.st.Share = share
		r.gates.put(&r.st, []whittle.Gate{gate}, whittle.GateStep, noon)
		return r.gateAsks()
	}
	r.spec.Rollout.Gates = []whittle.Gate{gate}
	if asks := ask(500); len(asks) != 1 || asks[0].From != 500 || asks[0].To != whittle.All {
		t.Errorf("in the middle: %+v", asks)
	}
	if asks := ask(whittle.All); len(asks) != 1 || asks[0].From != whittle.All || asks[0].To != whittle.All {
		t.Errorf("at the end: %+v", asks)
	}
	r.spec.Rollout.Gates = nil
	r.askGates(noon)
	if len(r.gates.asked) != 0 {
		t.Errorf("without gates is asked: %+v", r.gates.asked)
	}
	r.disk.open = true
	r.recall(&whittle.GateAsk{Route: "/x", Gate: gate}, "last response 200")
	if r.st.Share != 0 || r.st.Phase != whittle.PhaseRolledBack || strings.Contains(said.String(), "refused") {
		t.Errorf("%s at %d; %s", r.st.Phase, r.st.Share, &said)
	}
	r.st, r.disk.open = rollout.State{Phase: whittle.PhaseShift, Share: 500, Since: noon}, false
	r.decided.Store(&whittle.Position{Share: 500, Phase: whittle.PhaseShift})
	r.recall(&whittle.GateAsk{Route: "/x", Gate: gate}, "last response 200")
	if !strings.Contains(said.String(), "a gate's rollback is refused") {
		t.Errorf("nothing is said of a rollback that is refused: %s", &said)
	}
}
