package control

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"whittle"
	"whittle/carve/fleet"
)

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
