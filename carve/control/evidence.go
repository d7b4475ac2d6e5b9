package control

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/carve/account"
	"whittle/internal/units"
)

// evidence is the evidence on one route's candidate, with its ledger. Its lock is held
// while a comparison or an encoding runs, so nothing that lowers a share may need it.
// It is taken before the route's mu.
type evidence struct {
	mu    sync.Mutex // guards the following
	judge Judge
	guard Guard
	// queries are guardrails next to it.
	queries queries
	// begun is when the evidence was last reset. Earlier exchanges may be of another
	// candidate. Zero: not in this process.
	begun time.Time
	// share is the last one that was passed to the guard.
	share whittle.Share
	// exposed says that the guard has seen users on the candidate, so that it
	// is reset before another shift.
	exposed bool
	// verdict is the judge's last verdict; stale says that it has seen more since.
	verdict whittle.Verdict
	stale   bool
	// served counts good responses of the candidate to users in the step that
	// began at step.
	served  int
	step    time.Time
	account account.Account
	// uncompared is what could not be compared by the last reports, before what was
	// counted when the evidence began, or looks (of the spec) changed.
	uncompared, before uncompared
	looks              string
	// place is the position in the fleet's stream of the last exchange that was processed.
	place uint64
	// changed says that something has come since the last save began.
	changed bool
	spare   []whittle.Outcome
}

// Observe compares one exchange, and returns the result. The gateway's mirror workers
// call it.
func (c *Controller) Observe(x *whittle.Exchange) whittle.Observation {
	r := c.find(x.Route)
	if r == nil {
		return whittle.Observation{Skip: whittle.SkipOff}
	}
	return r.observe(Sent{}, x)
}

// observe compares one exchange, and enters its fate into the ledger with the evidence.
func (r *route) observe(from Sent, x *whittle.Exchange) (o whittle.Observation) {
	r.ev.mu.Lock()
	defer r.ev.mu.Unlock()
	at := r.decided.Load()
	switch {
	case at.Phase == whittle.PhaseOff:
		o.Skip = whittle.SkipOff
	case x.At.Before(r.ev.begun):
		o.Skip = whittle.SkipStale
	default:
		r.pace.mirrored(x, r.c.o.Now())
		r.ev.setShare(at.Share)
		o = r.ev.compare(x)
		if o.Skip == "" && at.Share > 0 {
			r.ev.exposed = true
			if o.Differs {
				r.wake.Notify()
			}
		}
	}
	r.ev.count(from, x, &o)
	return o
}

// recheck takes both sides' responses to a request that was sent again. The caller holds the
// evidence's lock.
func (r *route) recheck(again *whittle.Recheck) (after time.Duration, more bool) {
	if r.decided.Load().Phase == whittle.PhaseOff || again.Exchange.At.Before(r.ev.begun) {
		return 0, false
	}
	after, more = r.ev.judge.Recheck(again)
	if !more {
		r.ev.stale, r.ev.changed = true, true
		r.wake.Notify()
	}
	return after, more
}

// Recheck takes both sides' responses to a request that was sent again. more: it must
// be sent once more, after that time.
func (c *Controller) Recheck(again *whittle.Recheck) (after time.Duration, more bool) {
	c.withEvidence(again.Exchange.Route, func(r *route) { after, more = r.recheck(again) })
	return after, more
}

// WorthAsking reports whether the two sides differ in an exchange in a way that is worth
// asking both about again.
func (c *Controller) WorthAsking(x *whittle.Exchange) (worth bool) {
	c.withEvidence(x.Route, func(r *route) {
		if r.decided.Load().Phase != whittle.PhaseOff && !x.At.Before(r.ev.begun) {
			_, worth = r.ev.judge.Recheck(&whittle.Recheck{Exchange: x})
		}
	})
	return worth
}

// Known reports whether a response to a request of this shape has been compared. It
// never waits for a comparison.
func (c *Controller) Known(name string, q *whittle.Request) bool {
	r := c.find(name)
	return r != nil && (*r.judge.Load()).Known(q)
}

// Outcome takes the outcome of one user's request. It never blocks: outcomes that come
// faster than they can be processed are dropped and counted.
func (c *Controller) Outcome(o whittle.Outcome) {
	if r := c.find(o.Route); r != nil {
		r.box.put(o)
		if o.Side == whittle.Candidate && o.Bad() {
			r.wake.Notify()
		}
	}
}

// Tripped notes that the gateway's breaker has set a route's share to 0, under the
// position of this generation. It never blocks.
func (c *Controller) Tripped(name, reason string, generation uint64) {
	if r := c.find(name); r != nil {
		r.box.trip(trip{generation, reason})
		r.wake.Notify()
	}
}

// maxOutcomes bounds the outcomes between two ticks: at 100 ms, 80,000 requests
// a second on one route.
const maxOutcomes = 8192

// mailbox hands users' outcomes from their own goroutines to the route's loop.
// Its lock is held for an append and for an exchange of buffers, never longer.
type mailbox struct {
	mu       sync.Mutex // guards the following
	outcomes []whittle.Outcome
	dropped  int64
	tripped  trip // the breaker's last one since the last take
}

// trip is a trip of the circuit breaker. The zero value is none.
type trip struct {
	// generation is that of the position under which it tripped.
	generation uint64
	reason     string
}

func (m *mailbox) put(o whittle.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.outcomes) >= maxOutcomes {
		m.dropped++
		return
	}
	m.outcomes = append(m.outcomes, o)
}

func (m *mailbox) trip(t trip) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.generation <= m.tripped.generation {
		return
	}
	t.reason = cmp.Or(t.reason, "no reason was given")
	m.tripped = t
}

// take empties the box into spare, which the box uses from then on, and gives
// what was in it.
func (m *mailbox) take(spare []whittle.Outcome) (outcomes []whittle.Outcome, tripped trip) {
	m.mu.Lock()
	defer m.mu.Unlock()
	outcomes, tripped = m.outcomes, m.tripped
	m.outcomes, m.tripped = spare[:0], trip{}
	return outcomes, tripped
}

func (m *mailbox) droppedSoFar() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dropped
}

func (c *Controller) find(name string) *route { return (*c.table.Load())[name] }

// withEvidence calls f with a route, under the lock of its evidence. It does nothing where
// the route is gone.
func (c *Controller) withEvidence(name string, f func(*route)) {
	if r := c.find(name); r != nil {
		r.ev.mu.Lock()
		defer r.ev.mu.Unlock()
		f(r)
	}
}

// setShare passes the share that is decided to the guard. The caller holds mu.
func (e *evidence) setShare(share whittle.Share) {
	if share != e.share {
		e.share = share
		e.guard.Share(share)
	}
}

// addOutcome counts one user's outcome, at the share that is decided. The caller holds mu.
func (e *evidence) addOutcome(o *whittle.Outcome, share whittle.Share) {
	e.changed = true
	if o.Side == whittle.Candidate {
		if share == 0 {
			return // a straggler from before a fall
		}
		e.exposed = true
		if !o.Bad() && o.Failure == whittle.NoFailure {
			e.served++
		}
	}
	e.guard.Outcome(*o)
}

// servedSince counts what the candidate has served in the step that began then.
// The caller holds mu.
func (e *evidence) servedSince(step time.Time) int {
	if !step.Equal(e.step) {
		e.step, e.served = step, 0
	}
	return e.served
}

// judged is the verdict on all observed exchanges. Its slices may belong to the judge. The
// caller holds mu.
func (e *evidence) judged() whittle.Verdict {
	if e.stale {
		v := e.judge.Verdict()
		e.sayUncompared(&v)
		e.verdict, e.stale = v, false
	}
	return e.verdict
}

// shown is judged in a form that stays as it is while the judge goes on. The caller holds mu.
func (e *evidence) shown() whittle.Verdict {
	v := e.judged()
	v.Bounds = slices.Clone(v.Bounds)
	identify(v.Bounds)
	v.Findings = slices.Clone(v.Findings)
	for i := range v.Findings {
		v.Findings[i].Samples = slices.Clone(v.Findings[i].Samples)
	}
	return v
}

// compare gives an exchange to the judge and the guard. The caller holds mu.
func (e *evidence) compare(x *whittle.Exchange) whittle.Observation {
	o := e.judge.Observe(x)
	e.stale = true
	// Before the shift too, because the guards learn from it how the monolith behaves.
	// An exchange that is not compared may still be a failure of either side. Guards watch
	// users, and have nothing to learn of responses that none got.
	if !x.Unserved {
		e.guard.Pair(pairOf(x, o))
	}
	return o
}

// count enters an exchange into the ledger, as the last step: if the judge panics, the
// gateway counts the exchange. The caller holds mu.
func (e *evidence) count(from Sent, x *whittle.Exchange, o *whittle.Observation) {
	fate, reason := o.Fate(x)
	e.account.Judged(from.Gateway, from.Run, fate, reason)
	o.Counted, e.changed = true, true
	e.place = max(e.place, from.Place)
}

// pairOf converts an exchange to the form that the guards take.
func pairOf(x *whittle.Exchange, o whittle.Observation) whittle.Pair {
	outcome := func(side whittle.Side, a *whittle.Response) whittle.Outcome {
		return whittle.Outcome{
			Route: x.Route, User: x.User, At: x.At, Side: side, Status: a.Status, Failure: a.Failure, Latency: a.Latency,
		}
	}
	return whittle.Pair{
		User: x.User, At: x.At, First: x.First(),
		Monolith: outcome(whittle.Monolith, &x.Monolith), Candidate: outcome(whittle.Candidate, &x.Candidate),
		Compared: o.Skip == "", Differs: o.Differs, Seldom: o.Seldom, Repeated: o.Repeated, SelfDiffers: o.SelfDiffers, SelfSeldom: o.SelfSeldom,
	}
}

// reports is how far the gateways' reports of a route have come.
type reports struct {
	total, pending int64
	silent         int
}

func (c *Controller) reportsOf(route string) (sum reports) {
	if c.o.Fleet == nil {
		l := c.o.Counts(route).Ledger
		return reports{total: l.Total, pending: l.Pending}
	}
	for _, r := range c.o.Fleet.Reports(route) {
		sum.total += r.Counts.Ledger.Total
		sum.pending += r.Counts.Ledger.Pending
		if r.Silent {
			sum.silent++
		}
	}
	return sum
}

// takeReports takes the gateways' reports. The caller holds the evidence's lock.
func (r *route) takeReports() {
	if f := r.c.o.Fleet; f != nil {
		r.takeFleet(f.Reports(r.name))
	} else {
		r.ev.account.Take(account.Local, r.c.o.Counts(r.name))
	}
	r.ev.countUncompared()
}

// takeFleet takes the reports of a fleet's gateways, of each in the order of its runs.
func (r *route) takeFleet(all []Report) {
	heard := map[string]bool{} // by gateway: whether it was of late
	for _, report := range all {
		heard[report.Gateway] = !report.Silent
		r.ev.account.Take(report.Gateway, report.Counts)
	}
	if len(all) > 0 {
		r.ev.account.Heard(heard)
		r.ev.account.Forget(heard, r.c.o.Now())
	}
}

// blind are the reasons not to compare a request that lie in the request itself or in its
// responses. Requests of the same kind are likely never to be compared, so nothing is
// known of them, however many others were compared. Requests that the candidate never
// gets (untranslated) and those left out by chance (sampled, shed) are not among them.
var blind = []string{whittle.SkipNotSafe, whittle.SkipTooLarge, whittle.SkipStreaming, whittle.SkipEncoded}

// uncompared counts the requests that could not be compared, by reason. All is how many
// requests there were, Of how many of them were to be compared: those left out by
// chance, or because nothing is watched, do not count.
type uncompared struct {
	Not map[string]int64 `json:"not,omitempty"`
	All int64            `json:"all"`
	Of  int64            `json:"of"`
	// Excused are requests that say nothing by themselves: those that have no meaning in the
	// contract (untranslated), and those to which the candidate gave no response (failed).
	Excused map[string]int64 `json:"excused,omitempty"`
}

func uncomparedIn(l *whittle.Ledger) uncompared {
	u := uncompared{All: l.Total - l.Pending, Of: l.Compared + l.Failed, Not: map[string]int64{}}
	for _, reason := range blind {
		u.Not[reason] = l.Skipped[reason]
	}
	u.Excused = map[string]int64{whittle.SkipUntranslated: l.Skipped[whittle.SkipUntranslated], "failed": l.Failed}
	maps.DeleteFunc(u.Excused, func(_ string, n int64) bool { return n == 0 })
	u.Of += u.Not[whittle.SkipTooLarge] + u.Not[whittle.SkipEncoded]
	return u
}

// since is the share of the requests after an earlier moment that could not be compared,
// and why.
func (u uncompared) since(before uncompared) (share float64, why string) {
	var reasons []string
	n := map[string]float64{}
	for _, reason := range blind {
		if more := u.Not[reason] - before.Not[reason]; more > 0 {
			n[reason] = float64(more)
			reasons = append(reasons, fmt.Sprintf("%s %s", units.Grouped(int(more)), reason))
		}
	}
	part := func(k float64, of int64) float64 { return min(1, k/max(1, k, float64(of))) }
	share = part(n[whittle.SkipNotSafe]+n[whittle.SkipStreaming], u.All-before.All)
	share += (1 - share) * part(n[whittle.SkipTooLarge]+n[whittle.SkipEncoded], u.Of-before.Of)
	return share, strings.Join(reasons, ", ")
}

// looks identifies the settings that decide whether a request can be compared. Counts
// taken under other settings do not apply.
func looks(spec *whittle.Route) string {
	return fingerprint(struct {
		MaxBody, MaxMemory, MaxResponse int64
		Safe                            bool
		DryRun                          *whittle.DryRunHeader
	}{spec.Mirror.MaxBody, spec.Mirror.MaxMemory, spec.Candidate.MaxResponse, spec.Safe, spec.DryRun})
}

// countUncompared takes note of what the account says by now. The caller holds mu.
func (e *evidence) countUncompared() {
	total := e.account.Total()
	_, was := e.uncompared.since(e.before)
	excused := e.uncompared.Excused
	e.uncompared = uncomparedIn(&total)
	if _, now := e.uncompared.since(e.before); now != was || total.Compared == 0 && !maps.Equal(excused, e.uncompared.Excused) {
		e.stale, e.changed = true, true // what is being saved has the words of before
	}
}

// forgetUncompared begins to count afresh, under a spec. The caller holds mu.
func (e *evidence) forgetUncompared(spec *whittle.Route) {
	e.countUncompared()
	e.before, e.looks = e.uncompared, looks(spec)
	e.stale, e.changed = true, true
}

// sayUncompared ends the verdict's sentence. Where no request could be compared, more of them
// decide nothing, except those to which the candidate gives no response. The caller holds mu.
func (e *evidence) sayUncompared(v *whittle.Verdict) {
	share, why := e.uncompared.since(e.before)
	all := e.uncompared.All - e.before.All
	var left int64
	for _, reason := range blind {
		left += max(0, e.uncompared.Not[reason]-e.before.Not[reason])
	}
	for _, reason := range slices.Sorted(maps.Keys(e.uncompared.Excused)) {
		more := e.uncompared.Excused[reason] - e.before.Excused[reason]
		if more <= 0 {
			continue
		}
		left += more
		share = max(share, min(1, float64(left)/float64(max(1, all))))
		why = strings.TrimPrefix(why+fmt.Sprintf(", %s %s", units.Grouped(int(more)), reason), ", ")
	}
	none := share == 1 && v.Compared == 0
	switch {
	case share == 0:
	case none && v.State == whittle.Undecided && e.uncompared.Excused["failed"] == e.before.Excused["failed"]:
		v.MoreNeeded = -1
		v.Summary = fmt.Sprintf("%s: none of the requests could be compared (%s), and more of their like decide nothing", v.State, why)
	default:
		v.Summary += fmt.Sprintf("; %s of the requests could not be compared (%s)", units.Percent(share), why)
	}
	if none && e.uncompared.Not[whittle.SkipNotSafe] > e.before.Not[whittle.SkipNotSafe] {
		v.Summary += "; write safe: true, or a dry_run, into the route to have them mirrored"
	}
}

// known is what the judge knows of users' responses, and of how many requests nothing is
// known. The caller holds mu.
func (e *evidence) known() whittle.Served {
	served := e.judge.Served()
	served.Uncompared, served.Why = e.uncompared.since(e.before)
	return served
}
