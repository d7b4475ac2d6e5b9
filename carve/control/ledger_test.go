package control

import (
	"maps"
	"testing"
	"time"

	"whittle"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestLedgerContinuesAfterARestart(t *testing.T) {
	before := account{since: noon}
	before.take(whittle.Counts{Run: 1, Seq: 1, Ledger: whittle.Ledger{
		Total: 6, Shed: 1, Skipped: map[string]int64{whittle.SkipNotSafe: 1}, Pending: 4,
	}})
	for fate, reason := range map[whittle.Fate]string{whittle.FateCompared: "", whittle.FateFailed: "", whittle.FateSkipped: "of the judge"} {
		before.judged.Settle(fate, reason, 1)
	}
	was := before.total()
	if was.Total != 6 || was.Pending != 1 || was.Compared != 1 || was.Failed != 1 || was.Total != was.Sum() || was.Gap != nil {
		t.Errorf("before: %+v", was)
	}
	kept := before.kept(noon.Add(time.Hour))
	if kept.Run != 1 || kept.Seq != 1 {
		t.Errorf("saved with report %d of run %d", kept.Seq, kept.Run)
	}
	after := resumed(&kept, noon.Add(2*time.Hour))
	after.take(whittle.Counts{Run: 2, Seq: 1, Ledger: whittle.Ledger{Total: 1, Pending: 1}})
	after.judged.Settle(whittle.FateCompared, "", 1)
	got := after.total()
	want := map[string]int64{whittle.SkipNotSafe: 1, "of the judge": 1, whittle.SkipInterrupted: 1}
	if got.Total != 7 || got.Compared != 2 || got.Failed != 1 || got.Shed != 1 || got.Pending != 0 || !maps.Equal(got.Skipped, want) {
		t.Errorf("after the restart: %+v", got)
	}
	if got.Total != got.Sum() {
		t.Errorf("total %d, sum %d", got.Total, got.Sum())
	}
	if !got.Since.Equal(noon) || got.Gap == nil || !got.Gap.From.Equal(noon.Add(time.Hour)) || !got.Gap.To.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("counted since %s, but for %+v", got.Since, got.Gap)
	}
}

func TestLedgerDistrustsADamagedRecord(t *testing.T) {
	a := resumed(&keptAccount{Ledger: whittle.Ledger{
		Total: 99, Compared: -4, Failed: 2, Pending: -1, Skipped: map[string]int64{"x": -7},
	}}, noon)
	if s := a.total(); s.Total != 2 || s.Failed != 2 || s.Total != s.Sum() {
		t.Errorf("%+v, want only the 2 failed", s)
	}
}

// A report that is late or arrives twice changes nothing, and one that is lost is in
// the next.
func TestLedgerTakesEachReportOnce(t *testing.T) {
	report := func(run, seq uint64, total int64) whittle.Counts {
		return whittle.Counts{Run: run, Seq: seq, Ledger: whittle.Ledger{Total: total, Shed: total}}
	}
	var a account
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
		a.take(step.report)
		if got := a.total(); got.Total != step.total || got.Shed != step.total {
			t.Errorf("after report %d of %d: %+v", step.report.Seq, step.report.Ledger.Total, got)
		}
	}
}

// What was judged after the report was taken is more than that report's pending
// ones: the ledger adds up all the same.
func TestLedgerAddsUpWithoutAReport(t *testing.T) {
	var a account
	a.judged.Settle(whittle.FateCompared, "", 3)
	if l := a.total(); l.Total != 3 || l.Pending != 0 || l.Total != l.Sum() {
		t.Errorf("%+v", l)
	}
}
