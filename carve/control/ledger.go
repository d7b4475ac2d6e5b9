package control

import (
	"time"

	"whittle"
)

// account is a route's ledger, in parts. Each part has one owner: the gateway counts
// requests and the fates that it knows, control counts the exchanges that the judge
// got. No part is derived from another.
type account struct {
	since time.Time
	gap   *whittle.Gap
	// earlier is the total of the gateway's runs that have ended.
	earlier whittle.Ledger
	// report is the gateway's last one in this run.
	report whittle.Counts
	// judged has the fates of the exchanges that the judge got in this run.
	judged whittle.Ledger
}

// keptAccount is an account on disk.
type keptAccount struct {
	Ledger whittle.Ledger `json:"ledger"`
	// Run and Seq name the last report that is in it.
	Run uint64 `json:"run"`
	Seq uint64 `json:"seq"`
	// Saved is when that report was taken.
	Saved time.Time `json:"saved"`
}

// resumed is an account that goes on in another run of the gateway. Requests that were
// pending count as interrupted, by the end of the run before. Counts below zero, which
// only a damaged record could have, are dropped.
func resumed(k *keptAccount, now time.Time) account {
	a := account{since: k.Ledger.Since}
	if !k.Saved.IsZero() {
		a.gap = &whittle.Gap{From: k.Saved, To: now}
	}
	settle := func(f whittle.Fate, reason string, n int64) {
		if n > 0 {
			a.earlier.Settle(f, reason, n)
			a.earlier.Total += n
		}
	}
	settle(whittle.FateCompared, "", k.Ledger.Compared)
	settle(whittle.FateFailed, "", k.Ledger.Failed)
	settle(whittle.FateShed, "", k.Ledger.Shed)
	for reason, n := range k.Ledger.Skipped {
		settle(whittle.FateSkipped, reason, n)
	}
	settle(whittle.FateSkipped, whittle.SkipInterrupted, k.Ledger.Pending)
	return a
}

// take keeps a report of the gateway's, unless a later one was taken.
func (a *account) take(c whittle.Counts) {
	if c.Run != a.report.Run || c.Seq > a.report.Seq {
		a.report = c
	}
}

// total adds the parts up. The report must have been taken after the last exchange
// was judged, so that each of those is among its pending ones.
func (a *account) total() whittle.Ledger {
	l := whittle.Ledger{Skipped: map[string]int64{}, Since: a.since, Gap: a.gap}
	l.Add(&a.earlier)
	l.Add(&a.report.Ledger)
	l.Add(&a.judged)
	l.Pending = max(0, a.report.Ledger.Pending-a.judged.Sum())
	l.Total = l.Sum()
	return l
}

// kept is the account as it is saved.
func (a *account) kept(now time.Time) keptAccount {
	return keptAccount{Ledger: a.total(), Run: a.report.Run, Seq: a.report.Seq, Saved: now}
}
