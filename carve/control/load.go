package control

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"whittle"
	"whittle/carve/account"
	"whittle/carve/rollout"
	"whittle/carve/state"
	"whittle/internal/notify"
)

const otherCandidate = "the config has another candidate, monolith or comparison"

// Epoch names the epoch of a route's evidence: the two sides, the candidate's
// protocol, and the comparison. Evidence of one epoch does not count in another.
func Epoch(monolith whittle.Upstream, spec whittle.Route) string {
	type side struct{ URL, Build string }
	return fingerprint(struct {
		Monolith, Candidate side
		RPC                 *whittle.RPC
		Compare             whittle.Comparison
	}{side{monolith.URL, monolith.Build}, side{spec.Candidate.URL, spec.Candidate.Build}, spec.RPC, spec.Compare})
}

func fingerprint(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // the specs are plain values; only a NaN gets here
		b = fmt.Appendf(nil, "%#v", v)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

func (c *Controller) newRoute(monolith whittle.Upstream, spec whittle.Route) (*route, error) {
	judge, err := c.o.NewJudge(spec.Compare)
	if err != nil {
		return nil, err
	}
	r := &route{
		c: c, name: spec.Name, spec: spec, guardID: fingerprint(spec.Guard), epoch: Epoch(monolith, spec),
		wake: notify.New(), save: notify.New(),
		st: rollout.Start(spec.Rollout),
	}
	r.ev.judge, r.ev.guard, r.ev.stale = judge, c.o.NewGuard(spec.Guard), true
	r.ev.looks = looks(&spec)
	r.ev.queries = newQueries(&spec, nil)
	r.judge.Store(&judge)
	return r, nil
}

// load makes a route of its spec and its saved record.
func (c *Controller) load(monolith whittle.Upstream, spec whittle.Route) (*route, error) {
	r, err := c.newRoute(monolith, spec)
	if err != nil {
		return nil, err
	}
	rec, err := c.o.Store.Load(spec.Name)
	lost := ""
	switch {
	case errors.Is(err, state.ErrCorrupt):
		lost = "the saved state is damaged"
		c.o.Log.Error("the saved state is damaged; the route starts afresh on the monolith", "route", spec.Name, "err", err)
	case err != nil:
		return nil, err
	case rec.Rollout == nil:
		r.disk.gen++ // nothing is on disk yet
	default:
		lost = r.take(rec)
	}
	saved := r.issued
	if lost != "" {
		if err := r.restart(lost); err != nil {
			return nil, err
		}
	}
	switch {
	case c.o.Shows:
		r.generation = r.issued
	case c.o.Fleet != nil:
		r.lower(saved, c.o.Fleet.Floor(spec.Name))
		r.generation = r.issue()
	case r.generation == 0:
		r.generation = r.issue() // which is above the one that was saved
	}
	if r.st.Share == 0 {
		r.zero = r.generation
	}
	r.decided.Store(&whittle.Position{Generation: r.generation, Share: r.st.Share, Phase: r.st.Phase})
	r.announced = r.ev.judged().State
	r.input()
	r.disk.shown = r.snapshot(r.st, r.generation, r.timeline, r.ev.servedSince(r.st.Since))
	return r, nil
}

// take resumes from a record. If it cannot, lost says why. The judge and the guard may
// then be half read; restart replaces them.
func (r *route) take(rec state.Record) (lost string) {
	r.timeline = rec.Timeline
	var ledger account.Kept
	if err := json.Unmarshal(rec.Ledger, &ledger); err != nil {
		return r.unreadable("ledger", err)
	}
	if r.ev.account = account.Resumed(&ledger, r.c.o.Now()); r.c.o.Follows {
		r.ev.account.Gap = ledger.Ledger.Gap
	}
	var own kept
	if err := json.Unmarshal(rec.Rollout, &own); err != nil {
		return r.unreadable("position", err)
	}
	if own.Version != keptVersion {
		return r.unreadable("position", fmt.Errorf("version %d is not known", own.Version))
	}
	st, err := rollout.Decode(own.Rollout)
	if err != nil {
		return r.unreadable("position", err)
	}
	if !r.c.o.Shows {
		st = rollout.Resumed(st, r.c.o.Now())
	}
	r.st, r.issued, r.ev.place = st, own.Generation, own.Place
	r.ev.served, r.ev.step, r.ev.begun = max(0, own.Served), r.st.Since, own.Begun
	if r.ev.before, r.ev.looks = own.Before, own.Looks; r.ev.looks != looks(&r.spec) {
		r.ev.forgetUncompared(&r.spec)
	} else {
		r.ev.countUncompared()
	}
	if rec.Epoch != r.epoch {
		return otherCandidate
	}
	if err := r.ev.judge.UnmarshalBinary(rec.Judge); err != nil {
		return r.unreadable("evidence", err)
	}
	r.ev.exposed = own.Exposed
	if len(own.Past.Points) <= maxPast {
		r.past.evidence = own.Past
	}
	for _, err := range r.ev.queries.restore(own.Queries) {
		r.c.o.Log.Error("the saved state of a query's guard cannot be read; it begins anew", "route", r.name, "err", err)
	}
	if own.Guard != r.guardID {
		r.ev.exposed = false
	} else if err := r.ev.guard.UnmarshalBinary(rec.Guard); err != nil {
		return r.unreadable("guards", err)
	}
	return ""
}

func (r *route) unreadable(what string, err error) string {
	r.c.o.Log.Error("saved "+what+" cannot be read; the route starts afresh on the monolith", "route", r.name, "err", err)
	return "the saved " + what + " cannot be read"
}

// restart puts the route back into shadow with no evidence, without an order. A route
// that is off stays off. The caller holds both locks or has the only reference to the
// route, and applies the new position.
func (r *route) restart(why string) error {
	judge, err := r.c.o.NewJudge(r.spec.Compare)
	if err != nil {
		return err
	}
	r.ev.queries = newQueries(&r.spec, nil)
	r.afresh(judge, r.c.o.NewGuard(r.spec.Guard))
	if r.st.Phase == whittle.PhaseOff {
		return nil
	}
	held, reason := r.st.Held, r.st.HeldReason
	next, d, err := rollout.Command(r.spec.Rollout, r.st, rollout.Input{},
		rollout.Order{Kind: rollout.Reset, By: rollout.Self, Reason: why}, r.c.o.Now())
	if err != nil {
		return err
	}
	next.Held, next.HeldReason = held, reason // nobody ended the hold
	r.endRise(whittle.Errorf(whittle.FailedPrecondition, "overtaken: %s", d.Reason))
	d.Generation = r.issue()
	r.adopt(next, *d)
	r.saveNow()
	return nil
}

// fieldOf puts a route's own field path under the config's.
func fieldOf(i int, err error) error {
	if coded, ok := errors.AsType[*whittle.Error](err); !ok || coded.Field == "" {
		return err // the store's, not the config's
	}
	return whittle.Within(fmt.Sprintf("routes[%d]", i), err)
}
