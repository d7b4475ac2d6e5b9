// Package account adds up a route's ledger from the reports of one gateway or of
// many: each gateway counts the fates that it knows, whoever has the evidence counts
// the exchanges that were judged, and no part is derived from another.
package account

import (
	"maps"
	"slices"
	"strconv"
	"strings"
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
	// parts are the current runs, by gateway.
	parts map[string]*part
}

// Local names the gateway of this process, where there is no fleet.
const Local = ""

// Replaced names the gateway of a run that this process's gateway has replaced, and that
// still has requests under way.
func Replaced(run uint64) string { return replaced + strconv.FormatUint(run, 16) }

const replaced = "replaced "

// maxEnded bounds the runs of a gateway that are remembered as ended, maxStrangers those
// that are not known yet.
const (
	maxEnded     = 16
	maxStrangers = 4
)

// part is one gateway's run.
type part struct {
	// run is known from a report; 0: there was none.
	run uint64
	// report is the last one of the run.
	report whittle.Counts
	// silent says that the gateway was not heard of lately.
	silent bool
	// judged has the fates of the run's exchanges that were judged.
	judged whittle.Ledger
	// ended are earlier runs. Nothing that still arrives of them counts.
	ended []uint64
	// strangers are judged exchanges of runs without a report: of a later run, whose first
	// report is to come, or of an earlier one, which has them as interrupted.
	strangers map[uint64]whittle.Ledger
}

func (a *Account) part(gateway string) *part {
	if a.parts == nil {
		a.parts = map[string]*part{}
	}
	p := a.parts[gateway]
	if p == nil {
		p = &part{}
		a.parts[gateway] = p
	}
	return p
}

// enter makes run the gateway's current one. False: it has ended.
func (a *Account) enter(p *part, run uint64) bool {
	switch {
	case run == p.run:
		return true
	case slices.Contains(p.ended, run):
		return false
	case p.run != 0:
		a.end(p)
	}
	p.run = run
	if l, ok := p.strangers[run]; ok {
		p.judged.Add(&l)
		delete(p.strangers, run)
	}
	return true
}

// End ends a gateway's run: what was pending is interrupted.
func (a *Account) End(gateway string) {
	if p := a.parts[gateway]; p != nil {
		a.end(p)
		delete(a.parts, gateway)
	}
}

// end closes a part's run: what was pending is interrupted.
func (a *Account) end(p *part) {
	l := p.total()
	l.Unknown = p.unjudged()
	a.close(&l)
	p.over()
}

// over drops what counts of the current run.
func (p *part) over() {
	if p.run != 0 {
		p.ended = append(p.ended, p.run)
		p.ended = p.ended[max(0, len(p.ended)-maxEnded):]
	}
	p.run, p.report, p.judged, p.silent = 0, whittle.Counts{}, whittle.Ledger{}, false
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
	p := a.part(gateway)
	before := p.report
	if !a.enter(p, c.Run) {
		return
	}
	if p.report.Run != before.Run && before.Run != 0 {
		a.missed(gateway, &before, c.At)
	}
	if c.Seq > p.report.Seq {
		p.report = c
	}
}

// TakeReplaced keeps a report of a run that another process of the same gateway has
// replaced, and that still has requests under way: both runs count.
func (a *Account) TakeReplaced(gateway string, c whittle.Counts) {
	key := replacedOf(gateway, c.Run)
	if p := a.part(gateway); a.parts[key] == nil {
		if slices.Contains(p.ended, c.Run) {
			return
		}
		if p.run == c.Run {
			a.parts[key] = &part{run: p.run, report: p.report, judged: p.judged}
			p.over()
		}
	}
	a.Take(key, c)
}

// EndReplaced ends the replaced runs of a gateway, except some: what was pending is
// interrupted.
func (a *Account) EndReplaced(gateway string, but []uint64) {
	for key, p := range a.parts {
		if name, _, is := strings.Cut(key, replacedBy); is && name == gateway && p.run != 0 && !slices.Contains(but, p.run) {
			a.end(p)
		}
	}
}

// replacedOf names a run of a fleet's gateway that was replaced. No gateway's name has
// what is between the two.
func replacedOf(gateway string, run uint64) string {
	return gateway + replacedBy + strconv.FormatUint(run, 16)
}

const replacedBy = "\x00"

// missed notes that a run's counts after its last report are not known.
func (a *Account) missed(gateway string, last *whittle.Counts, next time.Time) {
	if !last.Over && !last.At.IsZero() && (a.Gap == nil || a.Gap.From.Before(last.At)) {
		a.Gap = &whittle.Gap{From: last.At, To: next, Gateway: gateway}
	}
}

// Heard says which gateways of a fleet have reported lately. What is pending at another
// one is unknown.
func (a *Account) Heard(of map[string]bool) {
	for key, p := range a.parts {
		name, _, _ := strings.Cut(key, replacedBy)
		p.silent = !of[name]
	}
}

const (
	// goneAfter is how long a gateway of a fleet may report nothing before it is gone.
	goneAfter = 25 * time.Hour
	// maxGone bounds the gateways that are gone whose runs are remembered.
	maxGone = 1000
)

// Forget ends the runs of gateways that are gone: those without a report, whose last one is
// old. Their counts stay.
func (a *Account) Forget(reports map[string]bool, now time.Time) {
	var gone []string
	for gateway, p := range a.parts {
		if p.run != 0 && !reports[gateway] && !p.report.At.IsZero() && now.Sub(p.report.At) > goneAfter {
			a.missed(gateway, &p.report, p.report.At)
			a.end(p)
			p.strangers = nil
		}
		if p.run == 0 && len(p.ended) > 0 {
			gone = append(gone, gateway)
		}
	}
	slices.Sort(gone)
	for _, gateway := range gone[min(len(gone), maxGone):] { // whichever: none has reported for a day
		delete(a.parts, gateway)
	}
}

// Judged counts a judged exchange of a gateway's run; run is 0 for this process. An exchange
// of a run that has ended does not count: it is interrupted already.
func (a *Account) Judged(gateway string, run uint64, f whittle.Fate, reason string) {
	p := a.part(gateway)
	if other := a.parts[replacedOf(gateway, run)]; other != nil {
		p = other
	}
	switch {
	case run == 0 || run == p.run:
		p.judged.Settle(f, reason, 1)
	case slices.Contains(p.ended, run):
	default:
		l, known := p.strangers[run]
		if !known && len(p.strangers) >= maxStrangers {
			return
		}
		if p.strangers == nil {
			p.strangers = map[uint64]whittle.Ledger{}
		}
		l.Settle(f, reason, 1)
		p.strangers[run] = l
	}
}

// Total adds the parts up. A report must have been taken after the last exchange of
// its run was judged, so that each of those is among its pending ones.
func (a *Account) Total() whittle.Ledger {
	l := whittle.Ledger{Skipped: map[string]int64{}, Since: a.Since, Gap: a.Gap}
	l.Add(&a.earlier)
	for _, gateway := range slices.Sorted(maps.Keys(a.parts)) {
		t := a.parts[gateway].total()
		l.Add(&t)
	}
	l.Total = l.Sum()
	return l
}

// Of is the ledger of a gateway's current run.
func (a *Account) Of(gateway string) whittle.Ledger {
	l := whittle.Ledger{Skipped: map[string]int64{}}
	if p := a.parts[gateway]; p != nil {
		t := p.total()
		l.Add(&t)
	}
	return l
}

// Report is the last report of a gateway's current run.
func (a *Account) Report(gateway string) whittle.Counts {
	if p := a.parts[gateway]; p != nil {
		return p.report
	}
	return whittle.Counts{}
}

func (p *part) total() (l whittle.Ledger) {
	l.Add(&p.report.Ledger)
	l.Add(&p.judged)
	l.Pending = max(0, p.report.Ledger.Pending-p.judged.Sum())
	if l.Unknown = p.unjudged(); p.silent {
		l.Unknown = l.Pending
	}
	l.Total = l.Sum()
	return l
}

// unjudged is how many pending exchanges were sent and are not judged yet. An exchange may be
// judged before its gateway reports it as sent, so there may be more.
func (p *part) unjudged() int64 {
	return max(0, min(p.report.Sent, p.report.Ledger.Pending)-p.judged.Sum())
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
	Earlier  *whittle.Ledger     `json:"earlier,omitempty"`
	Gateways map[string]KeptPart `json:"gateways,omitempty"`
	// Runs are the parts of this process's gateway and of those that it has replaced,
	// and Before what they leave of the total, for a process that takes over while
	// their requests go on.
	Runs   []KeptPart      `json:"runs,omitempty"`
	Before *whittle.Ledger `json:"before,omitempty"`
}

// KeptPart is one gateway's run on disk.
type KeptPart struct {
	Run    uint64         `json:"run"`
	Report whittle.Counts `json:"report"`
	Judged whittle.Ledger `json:"judged"`
	Ended  []uint64       `json:"ended,omitempty"`
	Silent bool           `json:"silent,omitempty"`

	Strangers map[uint64]whittle.Ledger `json:"strangers,omitempty"`
}

// Kept is the account as it is saved.
func (a *Account) Kept(now time.Time) Kept {
	r := a.Report(Local)
	k := Kept{Ledger: a.Total(), Run: r.Run, Seq: r.Seq, Saved: now}
	for gateway, p := range a.parts {
		if gateway == Local || strings.HasPrefix(gateway, replaced) {
			k.Runs = append(k.Runs, p.kept())
			continue
		}
		if k.Gateways == nil {
			k.Gateways = map[string]KeptPart{}
		}
		k.Gateways[gateway] = p.kept()
	}
	earlier := copied(&a.earlier)
	if k.Before = &earlier; k.Gateways != nil {
		k.Earlier = &earlier
	}
	return k
}

func (p *part) kept() KeptPart {
	return KeptPart{Run: p.run, Report: p.report, Judged: copied(&p.judged), Ended: slices.Clone(p.ended), Silent: p.silent, Strangers: strangers(p)}
}

func strangers(p *part) map[uint64]whittle.Ledger {
	c := maps.Clone(p.strangers)
	for run, l := range c {
		c[run] = copied(&l)
	}
	return c
}

func copied(l *whittle.Ledger) (c whittle.Ledger) {
	c.Add(l)
	return c
}

// TakenOver continues an account in another process while the gateways of the runs in alive
// still have requests under way. All other runs have ended.
func TakenOver(k *Kept, alive []uint64) Account {
	if k.Before == nil { // nothing was counted yet
		return Account{Since: k.Ledger.Since}
	}
	a := Account{Since: k.Ledger.Since, Gap: k.Ledger.Gap, parts: map[string]*part{}}
	a.close(k.Before)
	for _, p := range k.Runs {
		one := &part{run: p.Run, report: p.Report, judged: p.Judged, ended: p.Ended}
		if slices.Contains(alive, p.Run) {
			a.parts[Replaced(p.Run)] = one
		} else {
			a.end(one)
		}
	}
	return a
}

// Resumed continues an account in another process. The runs of a fleet's gateways go on;
// those of the process before have ended with it.
func Resumed(k *Kept, now time.Time) Account {
	a := Account{Since: k.Ledger.Since}
	if k.Gateways != nil && k.Earlier != nil {
		a.Gap = k.Ledger.Gap
		a.close(k.Earlier)
		for gateway, p := range k.Gateways {
			if p.Report.Ledger.Sum() < 0 || p.Judged.Sum() < 0 {
				continue // damaged
			}
			a.part(gateway)
			a.parts[gateway] = &part{run: p.Run, report: p.Report, judged: p.Judged, ended: p.Ended, silent: p.Silent, strangers: p.Strangers}
		}
		return a
	}
	if !k.Saved.IsZero() {
		a.Gap = &whittle.Gap{From: k.Saved, To: now}
	}
	a.close(&k.Ledger)
	return a
}
