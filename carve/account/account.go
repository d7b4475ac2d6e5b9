// Package account adds up a route's ledger from the reports of one or many gateways.
// Each gateway counts the fates that it knows, the owner of the evidence counts the
// exchanges that were judged, and no count is derived from another.
package account

import (
	"maps"
	"slices"
	"time"

	"whittle"
)

// Account is a route's ledger, in parts. The zero value is ready; it is for one
// goroutine.
type Account struct {
	// Since is when the counting began, Gap the last time that was not counted.
	Since time.Time
	Gap   *whittle.Gap
	// earlier is the total of all runs that have ended.
	earlier whittle.Ledger
	// gateways are those of the current runs, by name.
	gateways map[string]*Gateway
}

// Local names the gateway of this process, where there is no fleet.
const Local = ""

// maxEnded bounds the runs of a gateway that are remembered as ended, maxStrangers those
// that are not known yet.
const (
	maxEnded     = 16
	maxStrangers = 4
)

// Gateway is what is known of one gateway, in its current run.
type Gateway struct {
	// Run names the run, as the reports do; 0: there was none.
	Run uint64 `json:"run"`
	// Report is the last one of the run.
	Report whittle.Counts `json:"report"`
	// Judged has the fates of the run's exchanges that were judged.
	Judged whittle.Ledger `json:"judged"`
	// Ended are earlier runs. Nothing that still arrives of them counts.
	Ended []uint64 `json:"ended,omitempty"`
	// Silent says that the gateway was not heard of lately.
	Silent bool `json:"silent,omitempty"`
	// Strangers are judged exchanges of runs without a report: of a later run, whose first
	// report is to come, or of an earlier one, which has them as interrupted.
	Strangers map[uint64]whittle.Ledger `json:"strangers,omitempty"`
}

func (a *Account) of(gateway string) *Gateway {
	if a.gateways == nil {
		a.gateways = map[string]*Gateway{}
	}
	p := a.gateways[gateway]
	if p == nil {
		p = &Gateway{}
		a.gateways[gateway] = p
	}
	return p
}

// enter makes run the gateway's current one. False: it has ended.
func (a *Account) enter(p *Gateway, run uint64) bool {
	switch {
	case run == p.Run:
		return true
	case slices.Contains(p.Ended, run):
		return false
	case p.Run != 0:
		a.end(p)
	}
	p.Run = run
	if l, ok := p.Strangers[run]; ok {
		p.Judged.Add(&l)
		delete(p.Strangers, run)
	}
	return true
}

// end closes a gateway's run: what was pending is interrupted.
func (a *Account) end(p *Gateway) {
	l := p.total()
	l.Unknown = p.unjudged()
	a.close(&l)
	p.over()
}

// over drops what counts of the current run.
func (p *Gateway) over() {
	if p.Run != 0 {
		p.Ended = append(p.Ended, p.Run)
		p.Ended = p.Ended[max(0, len(p.Ended)-maxEnded):]
	}
	p.Run, p.Report, p.Judged, p.Silent = 0, whittle.Counts{}, whittle.Ledger{}, false
}

// close adds a ledger to the earlier ones. Counts below zero, which only a damaged
// record could have, are dropped.
func (a *Account) close(l *whittle.Ledger) {
	settle := func(f whittle.Fate, reason string, n int64) {
		if n > 0 {
			a.earlier.Settle(f, reason, n)
			a.earlier.Total += n
		}
	}
	settle(whittle.FateCompared, "", l.Compared)
	settle(whittle.FateFailed, "", l.Failed)
	settle(whittle.FateShed, "", l.Shed)
	for _, reason := range slices.Sorted(maps.Keys(l.Skipped)) {
		settle(whittle.FateSkipped, reason, l.Skipped[reason])
	}
	unjudged := max(0, min(l.Unknown, l.Pending))
	settle(whittle.FateSkipped, whittle.SkipUnjudged, unjudged)
	settle(whittle.FateSkipped, whittle.SkipInterrupted, l.Pending-unjudged)
}

// Take takes a gateway's report, unless a later one was taken. The first report of
// another run ends the run before.
func (a *Account) Take(gateway string, c whittle.Counts) {
	p := a.of(gateway)
	before := p.Report
	if !a.enter(p, c.Run) {
		return
	}
	if p.Report.Run != before.Run && before.Run != 0 {
		a.missed(gateway, &before, c.At)
	}
	if c.Seq > p.Report.Seq {
		p.Report = c
	}
}

// missed notes that a run's counts after its last report are not known.
func (a *Account) missed(gateway string, last *whittle.Counts, next time.Time) {
	if !last.Over && !last.At.IsZero() && (a.Gap == nil || a.Gap.From.Before(last.At)) {
		a.Gap = &whittle.Gap{From: last.At, To: next, Gateway: gateway}
	}
}

// Heard says which gateways of a fleet have reported lately. What is pending at another
// one is unknown.
func (a *Account) Heard(of map[string]bool) {
	for gateway, p := range a.gateways {
		p.Silent = !of[gateway]
	}
}

const (
	// goneAfter is how long a gateway of a fleet may report nothing before it is gone.
	goneAfter = 25 * time.Hour
	// maxGone bounds the gateways that are gone whose runs are remembered.
	maxGone = 1000
)

// Forget ends the runs of gateways that are gone: those that no report is there of, and whose
// last one is old. Their counts stay.
func (a *Account) Forget(there map[string]bool, now time.Time) {
	var gone []string
	for gateway, p := range a.gateways {
		if _, is := there[gateway]; p.Run != 0 && !is && !p.Report.At.IsZero() && now.Sub(p.Report.At) > goneAfter {
			a.missed(gateway, &p.Report, p.Report.At)
			a.end(p)
			p.Strangers = nil
		}
		if p.Run == 0 && len(p.Ended) > 0 {
			gone = append(gone, gateway)
		}
	}
	slices.Sort(gone)
	for _, gateway := range gone[min(len(gone), maxGone):] { // whichever: none has reported for a day
		delete(a.gateways, gateway)
	}
}

// Judged counts a judged exchange of a gateway's run; run is 0 for this process. An exchange
// of a run that has ended does not count: it is interrupted already.
func (a *Account) Judged(gateway string, run uint64, f whittle.Fate, reason string) {
	p := a.of(gateway)
	switch {
	case run == 0 || run == p.Run:
		p.Judged.Settle(f, reason, 1)
	case slices.Contains(p.Ended, run):
	default:
		l, known := p.Strangers[run]
		if !known && len(p.Strangers) >= maxStrangers {
			return
		}
		if p.Strangers == nil {
			p.Strangers = map[uint64]whittle.Ledger{}
		}
		l.Settle(f, reason, 1)
		p.Strangers[run] = l
	}
}

// Total adds the parts up. A report must have been taken after the last exchange of
// its run was judged, so that each of those is among its pending ones.
func (a *Account) Total() whittle.Ledger {
	l := whittle.Ledger{Skipped: map[string]int64{}, Since: a.Since, Gap: a.Gap}
	l.Add(&a.earlier)
	for _, gateway := range slices.Sorted(maps.Keys(a.gateways)) {
		t := a.gateways[gateway].total()
		l.Add(&t)
	}
	l.Total = l.Sum()
	return l
}

// Of is the ledger of a gateway's current run.
func (a *Account) Of(gateway string) whittle.Ledger {
	l := whittle.Ledger{Skipped: map[string]int64{}}
	if p := a.gateways[gateway]; p != nil {
		t := p.total()
		l.Add(&t)
	}
	return l
}

// Report is the last report of a gateway's current run.
func (a *Account) Report(gateway string) whittle.Counts {
	if p := a.gateways[gateway]; p != nil {
		return p.Report
	}
	return whittle.Counts{}
}

func (p *Gateway) total() (l whittle.Ledger) {
	l.Add(&p.Report.Ledger)
	l.Add(&p.Judged)
	l.Pending = max(0, p.Report.Ledger.Pending-p.Judged.Sum())
	if l.Unknown = p.unjudged(); p.Silent {
		l.Unknown = l.Pending
	}
	l.Total = l.Sum()
	return l
}

// unjudged is how many pending exchanges were sent and are not judged yet. An exchange may be
// judged before its gateway reports it as sent, so there may be more.
func (p *Gateway) unjudged() int64 {
	return max(0, min(p.Report.Sent, p.Report.Ledger.Pending)-p.Judged.Sum())
}

// Kept is an account on disk.
type Kept struct {
	// Ledger is the total.
	Ledger whittle.Ledger `json:"ledger"`
	// Run and Seq name the last report of this process that is in it.
	Run uint64 `json:"run"`
	Seq uint64 `json:"seq"`
	// Saved is when that report was taken.
	Saved time.Time `json:"saved"`
	// Earlier and Gateways are the total in parts, for whoever goes on with the
	// runs of a fleet. Nil: there is no fleet.
	Earlier  *whittle.Ledger    `json:"earlier,omitempty"`
	Gateways map[string]Gateway `json:"gateways,omitempty"`
}

// Kept is the account as it is saved.
func (a *Account) Kept(now time.Time) Kept {
	r := a.Report(Local)
	k := Kept{Ledger: a.Total(), Run: r.Run, Seq: r.Seq, Saved: now}
	for gateway, p := range a.gateways {
		if gateway == Local {
			continue
		}
		if k.Gateways == nil {
			earlier := copied(&a.earlier)
			k.Gateways, k.Earlier = map[string]Gateway{}, &earlier
		}
		k.Gateways[gateway] = p.copied()
	}
	return k
}

// copied shares nothing with the gateway that goes on.
func (p *Gateway) copied() Gateway {
	c := *p
	c.Judged, c.Ended, c.Strangers = copied(&p.Judged), slices.Clone(p.Ended), maps.Clone(p.Strangers)
	for run, l := range c.Strangers {
		c.Strangers[run] = copied(&l)
	}
	return c
}

func copied(l *whittle.Ledger) (c whittle.Ledger) {
	c.Add(l)
	return c
}

// Resumed continues an account in another process. The runs of a fleet's gateways go on;
// those of the process before have ended with it.
func Resumed(k *Kept, now time.Time) Account {
	a := Account{Since: k.Ledger.Since}
	if k.Gateways != nil && k.Earlier != nil {
		a.Gap, a.gateways = k.Ledger.Gap, map[string]*Gateway{}
		a.close(k.Earlier)
		for gateway, p := range k.Gateways {
			if p.Report.Ledger.Sum() >= 0 && p.Judged.Sum() >= 0 { // otherwise it is damaged
				a.gateways[gateway] = &p
			}
		}
		return a
	}
	if !k.Saved.IsZero() {
		a.Gap = &whittle.Gap{From: k.Saved, To: now}
	}
	a.close(&k.Ledger)
	return a
}
