package account

import (
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestLedgerContinuesAfterARestart(t *testing.T) {
	before := Account{Since: noon}
	before.Take(Local, whittle.Counts{Run: 1, Seq: 1, Ledger: whittle.Ledger{
		Total: 6, Shed: 1, Skipped: map[string]int64{whittle.SkipNotSafe: 1}, Pending: 4,
	}})
	for fate, reason := range map[whittle.Fate]string{whittle.FateCompared: "", whittle.FateFailed: "", whittle.FateSkipped: "of the judge"} {
		before.Judged(Local, 0, fate, reason)
	}
	was := before.Total()
	if was.Total != 6 || was.Pending != 1 || was.Compared != 1 || was.Failed != 1 || was.Total != was.Sum() || was.Gap != nil {
		t.Errorf("before: %+v", was)
	}
	kept := before.Kept(noon.Add(time.Hour))
	if kept.Run != 1 || kept.Seq != 1 {
		t.Errorf("saved with report %d of run %d", kept.Seq, kept.Run)
	}
	after := Resumed(&kept, noon.Add(2*time.Hour))
	after.Take(Local, whittle.Counts{Run: 2, Seq: 1, Ledger: whittle.Ledger{Total: 1, Pending: 1}})
	after.Judged(Local, 0, whittle.FateCompared, "")
	got := after.Total()
	want := map[string]int64{whittle.SkipNotSafe: 1, "of the judge": 1, whittle.SkipInterrupted: 1}
	if got.Total != 7 || got.Compared != 2 || got.Failed != 1 || got.Shed != 1 || got.Pending != 0 || !maps.Equal(got.Skipped, want) {
		t.Errorf("after the restart: %+v", got)
	}
	fatal.Same(t, got.Total, got.Sum(), "the total")
	if !got.Since.Equal(noon) || got.Gap == nil || !got.Gap.From.Equal(noon.Add(time.Hour)) || !got.Gap.To.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("counted since %s, but for %+v", got.Since, got.Gap)
	}
}

func TestLedgerDistrustsADamagedRecord(t *testing.T) {
	a := Resumed(&Kept{Ledger: whittle.Ledger{
		Total: 99, Compared: -4, Failed: 2, Pending: -1, Skipped: map[string]int64{"x": -7},
	}}, noon)
	if s := a.Total(); s.Total != 2 || s.Failed != 2 || s.Total != s.Sum() {
		t.Errorf("%+v, want only the 2 failed", s)
	}
}

// A report that is late or arrives twice changes nothing, and one that is lost is in
// the next.
func TestLedgerTakesEachReportOnce(t *testing.T) {
	report := func(run, seq uint64, total int64) whittle.Counts {
		return whittle.Counts{Run: run, Seq: seq, Ledger: whittle.Ledger{Total: total, Shed: total}}
	}
	var a Account
	for _, step := range []struct {
		report whittle.Counts
		total  int64
	}{
		{report(1, 1, 10), 10},
		{report(1, 1, 10), 10}, // twice
		{report(1, 4, 40), 40}, // two were lost
		{report(1, 3, 30), 40}, // late
		{report(1, 5, 41), 41},
	} {
		a.Take(Local, step.report)
		if got := a.Total(); got.Total != step.total || got.Shed != step.total {
			t.Errorf("after report %d of %d: %+v", step.report.Seq, step.report.Ledger.Total, got)
		}
	}
}

// What was judged after the report was taken is more than that report's pending
// ones: the ledger adds up all the same.
func TestLedgerAddsUpWithoutAReport(t *testing.T) {
	var a Account
	for range 3 {
		a.Judged(Local, 0, whittle.FateCompared, "")
	}
	if l := a.Total(); l.Total != 3 || l.Pending != 0 || l.Total != l.Sum() {
		t.Errorf("%+v", l)
	}
}

// TestALedgerHasNoEmptyReasons: what did not come is not listed, and a report with a
// number that was taken is not taken again, whatever it says.
func TestALedgerHasNoEmptyReasons(t *testing.T) {
	a := Resumed(&Kept{Ledger: whittle.Ledger{Compared: 1, Skipped: map[string]int64{"x": 0}}}, noon)
	if l := a.Total(); l.Compared != 1 || len(l.Skipped) != 0 {
		t.Errorf("%+v", l)
	}
	a.Take(Local, whittle.Counts{Run: 1, Seq: 4, Ledger: whittle.Ledger{Shed: 1}})
	a.Take(Local, whittle.Counts{Run: 1, Seq: 4, Ledger: whittle.Ledger{Shed: 2}})
	if l := a.Total(); l.Shed != 1 {
		t.Errorf("%+v", l)
	}
}

// The runs of a fleet's gateways are counted each once, whatever comes late, twice or
// from a run that has ended, and by whoever leads next.
func TestTheRunsOfManyGateways(t *testing.T) {
	report := func(run, seq uint64, shed, pending int64) whittle.Counts {
		return whittle.Counts{Run: run, Seq: seq, Ledger: whittle.Ledger{Total: shed + pending, Shed: shed, Pending: pending}}
	}
	a := Account{Since: noon}
	a.Judged("b", 7, whittle.FateCompared, "") // before the run's first report
	a.Take("a", report(1, 1, 3, 2))
	a.Take("b", report(7, 1, 1, 1))
	a.Judged("a", 1, whittle.FateCompared, "")
	if l := a.Total(); l.Total != 7 || l.Pending != 1 || l.Compared != 2 || l.Total != l.Sum() {
		t.Errorf("%+v", l)
	}
	kept := a.Kept(noon)
	a.Judged("a", 1, whittle.FateCompared, "") // lost with the leader, and judged again by the next
	next := Resumed(&kept, noon.Add(time.Hour))
	next.Judged("a", 1, whittle.FateCompared, "")
	next.Take("a", report(2, 1, 5, 0)) // restarted
	next.Judged("a", 1, whittle.FateCompared, "")
	next.Take("a", report(1, 9, 99, 99))
	l := next.Total()
	if l.Total != 12 || l.Compared != 3 || l.Shed != 9 || l.Pending != 0 || l.Gap != nil || l.Total != l.Sum() {
		t.Errorf("%+v", l)
	}
	if of := next.Of("b"); of.Total != 2 || of.Compared != 1 || next.Of("c").Total != 0 {
		t.Errorf("%+v", of)
	}
}

// TestARunThatNobodyReadToItsEnd: the last report of a run that has ended comes with those
// of the next one, whether somebody has led meanwhile or not; what was never reported is a
// gap of that gateway's.
func TestARunThatNobodyReadToItsEnd(t *testing.T) {
	report := func(run, seq uint64, n int64, over bool) whittle.Counts {
		return whittle.Counts{Run: run, Seq: seq, Ledger: whittle.Ledger{Total: n, Shed: n}, At: noon.Add(time.Duration(seq) * time.Second), Over: over}
	}
	for what, c := range map[string]struct {
		reports []whittle.Counts
		total   int64
		gap     *whittle.Gap
	}{
		"read as it came":     {[]whittle.Counts{report(1, 1, 5, false), report(1, 2, 7, true), report(2, 3, 1, false)}, 8, nil},
		"with the next one's": {[]whittle.Counts{report(1, 1, 5, false), report(1, 2, 7, true), report(2, 3, 1, false), report(1, 2, 7, true), report(2, 4, 2, false)}, 9, nil},
		"nobody led":          {[]whittle.Counts{report(1, 2, 7, true), report(2, 3, 1, false)}, 8, nil},
		"two runs later":      {[]whittle.Counts{report(1, 1, 5, true), report(2, 2, 7, true), report(3, 3, 1, false)}, 13, nil},
		"killed": {
			[]whittle.Counts{report(1, 1, 5, false), report(2, 4, 1, false), report(1, 1, 5, false)},
			6,
			&whittle.Gap{From: noon.Add(time.Second), To: noon.Add(4 * time.Second), Gateway: "g"},
		},
		"an earlier version": {[]whittle.Counts{{Run: 1, Seq: 1, Ledger: whittle.Ledger{Total: 5, Shed: 5}}, report(2, 2, 1, false)}, 6, nil},
	} {
		var a Account
		for _, r := range c.reports {
			a.Take("g", r)
			k := a.Kept(noon)
			a = Resumed(&k, noon.Add(time.Hour)) // another leads
		}
		l := a.Total()
		if l.Total != c.total || l.Total != l.Sum() || !reflect.DeepEqual(l.Gap, c.gap) {
			t.Errorf("%s: %s, but for %+v", what, l.Account(), l.Gap)
		}
	}
}

// TestForget: the runs of gateways that are gone are no part of the account any more, and
// what they came to is; one that is silent and still listed stays, and so does one whose
// clock is wrong.
func TestForget(t *testing.T) {
	var a Account
	take := func(g string, run uint64, at time.Time) {
		a.Take(g, whittle.Counts{Run: run, Seq: 1, Ledger: whittle.Ledger{Total: 1, Shed: 1}, At: at})
	}
	const pods = maxGone + 100
	for i := range pods {
		take(fmt.Sprint("pod-", i), uint64(i+1), noon)
	}
	take("listed", 1<<40, noon)
	take("slow", 1<<40, noon.Add(-72*time.Hour))
	later := noon.Add(26 * time.Hour)
	a.Forget(map[string]bool{"listed": true, "slow": true}, later)
	l := a.Total()
	if l.Total != pods+2 || l.Shed != pods+2 || l.Gap == nil || !l.Gap.From.Equal(noon) {
		t.Errorf("%s, but for %+v", l.Account(), l.Gap)
	}
	if k := a.Kept(later); len(k.Gateways) != maxGone+2 || k.Gateways["listed"].Run == 0 || k.Gateways["slow"].Run == 0 || len(k.Gateways["pod-0"].Ended) != 1 {
		t.Errorf("%d gateways are kept", len(k.Gateways))
	}
	take("pod-0", 1, later) // it had only been away: its run has ended
	if again := a.Total(); again.Total != l.Total {
		t.Errorf("%s, %s before", again.Account(), l.Account())
	}
}

// TestWhatBecameOfItIsUnknown: what is sent and not judged, and what is pending at a
// gateway that is silent, is no longer said to be under way; the judge of another leader
// that gets to it, and the gateway's next report, take that back; and what is left when the
// run is over has the reason that is known.
func TestWhatBecameOfItIsUnknown(t *testing.T) {
	report := func(run, seq uint64, pending, sent int64) whittle.Counts {
		return whittle.Counts{Run: run, Seq: seq, Sent: sent, Ledger: whittle.Ledger{Total: pending + 1, Shed: 1, Pending: pending}}
	}
	judged := func(a *Account, n int) {
		for range n {
			a.Judged("a", 1, whittle.FateCompared, "")
		}
	}
	for _, c := range []struct {
		name             string
		do               func(a *Account)
		pending, unknown int64
		reasons          map[string]int64 // once the run is over
	}{
		{"all is under way", func(*Account) {}, 10, 0, map[string]int64{whittle.SkipInterrupted: 10}},
		{"some are sent", func(a *Account) { a.Take("a", report(1, 2, 10, 7)) }, 10, 7, map[string]int64{whittle.SkipInterrupted: 3, whittle.SkipUnjudged: 7}},
		{"some of these are judged", func(a *Account) { a.Take("a", report(1, 2, 10, 7)); judged(a, 4) }, 6, 3, map[string]int64{whittle.SkipInterrupted: 3, whittle.SkipUnjudged: 3}},
		{"all that are sent are judged, and more", func(a *Account) { a.Take("a", report(1, 2, 10, 7)); judged(a, 8) }, 2, 0, map[string]int64{whittle.SkipInterrupted: 2}},
		{"the gateway is silent", func(a *Account) { a.Take("a", report(1, 2, 10, 7)); judged(a, 4); a.Heard(nil) }, 6, 6, map[string]int64{whittle.SkipInterrupted: 3, whittle.SkipUnjudged: 3}},
		{"another one is silent", func(a *Account) { a.Heard(map[string]bool{"a": true, "b": false}) }, 10, 0, map[string]int64{whittle.SkipInterrupted: 10}},
		{"it is heard of again", func(a *Account) { a.Heard(nil); a.Heard(map[string]bool{"a": true}) }, 10, 0, map[string]int64{whittle.SkipInterrupted: 10}},
		{"the records are lost", func(a *Account) { *a = Account{}; a.Take("a", report(1, 3, 10, 9)) }, 10, 9, map[string]int64{whittle.SkipInterrupted: 1, whittle.SkipUnjudged: 9}},
		{"more is sent than is pending", func(a *Account) { a.Take("a", report(1, 2, 3, 7)) }, 3, 3, map[string]int64{whittle.SkipUnjudged: 3}},
		{"a damaged report", func(a *Account) { a.Take("a", report(1, 2, 3, -7)) }, 3, 0, map[string]int64{whittle.SkipInterrupted: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a Account
			a.Take("a", report(1, 1, 10, 0))
			c.do(&a)
			kept := a.Kept(noon)
			resumed := Resumed(&kept, noon)
			for _, l := range []whittle.Ledger{a.Total(), resumed.Total()} {
				if l.Pending != c.pending || l.Unknown != c.unknown || l.Total != l.Sum() {
					t.Errorf("%+v, want %d pending, %d of them unknown", l, c.pending, c.unknown)
				}
			}
			a.Take("a", report(2, 1, 0, 0))
			l := a.Total()
			if l.Pending != 0 || l.Unknown != 0 || !maps.Equal(l.Skipped, c.reasons) || l.Total != l.Sum() {
				t.Errorf("over: %+v, want %v", l, c.reasons)
			}
		})
	}
}
