package gateway

import (
	"whittle"
	"whittle/carve/gateway/breaker"
)

// request is one of a user's: some end at once, some stay under way.
func (w *world) request() {
	f := &flight{at: w.now}
	w.route().ledgerCounts.open(&f.entry)
	w.m.total++
	if w.rng.IntN(4) > 0 {
		w.end(f)
		return
	}
	w.flights = append(w.flights, f)
}

func (w *world) finish() {
	if len(w.flights) == 0 {
		return
	}
	i := w.rng.IntN(len(w.flights))
	f := w.flights[i]
	w.flights = append(w.flights[:i], w.flights[i+1:]...)
	w.end(f)
}

func (w *world) end(f *flight) {
	switch w.rng.IntN(8) {
	case 0:
		f.entry.shed()
		w.m.settle(whittle.FateShed, "")
	case 1:
		f.entry.skip(whittle.SkipSampled)
		w.m.settle(whittle.FateSkipped, whittle.SkipSampled)
	case 2:
		f.entry.failed()
		f.entry.skip(whittle.SkipInterrupted) // too late
		w.m.settle(whittle.FateFailed, "")
	default:
		w.observe(f)
	}
}

// observe shows an exchange to the judge, as a mirror worker does.
func (w *world) observe(f *flight) {
	x := &whittle.Exchange{Route: modelRoute, At: f.at, Monolith: whittle.Response{Status: 200}, Candidate: whittle.Response{Status: 200}}
	switch w.rng.IntN(8) {
	case 0:
		x.Monolith = whittle.Response{Failure: whittle.FailedReset}
	case 1:
		x.Candidate = whittle.Response{Failure: whittle.FailedTimeout}
	}
	w.skip = ""
	if w.rng.IntN(10) == 0 {
		w.skip = whittle.SkipUnread
	}
	w.panics = w.rng.IntN(40) == 0
	givenUp := w.rng.IntN(40) == 0
	shown := w.m.phase != whittle.PhaseOff && !f.at.Before(w.m.begun)

	o := whittle.Observation{}
	func() {
		defer func() { _ = recover() }()
		if !f.entry.claim() {
			w.fault("a request is not to be claimed")
		}
		if givenUp {
			f.entry.skip(whittle.SkipInterrupted)
		}
		defer f.entry.observed(whittle.FateSkipped, skipDefect, false)
		o = w.c.Observe(x)
		fate, reason := o.Fate(x)
		f.entry.observed(fate, reason, o.Counted)
	}()
	w.expect(x, shown, givenUp)
	w.panics = false
}

// expect counts in the model what an exchange comes to that was shown.
func (w *world) expect(x *whittle.Exchange, shown, givenUp bool) {
	o := whittle.Observation{Skip: w.skip}
	switch {
	case w.m.phase == whittle.PhaseOff:
		o.Skip = whittle.SkipOff
	case !shown:
		o.Skip = whittle.SkipStale
	case w.panics && givenUp:
		return // it stays under way
	case w.panics:
		w.m.settle(whittle.FateSkipped, skipDefect)
		return
	default:
		w.m.unread = true
		if o.Skip == "" {
			w.m.seen++
		}
	}
	w.m.settle(o.Fate(x))
}

// verdict is another word of the judge's.
func (w *world) verdict() {
	w.word = []whittle.State{whittle.Undecided, whittle.Equivalent, whittle.Equivalent, whittle.Equivalent, whittle.Different}[w.rng.IntN(5)]
	f := &flight{at: w.now}
	w.route().ledgerCounts.open(&f.entry)
	w.m.total++
	w.observe(f)
}

// breach is a user's request that makes the guard speak.
func (w *world) breach() {
	w.c.Outcome(whittle.Outcome{Route: modelRoute, Side: whittle.Candidate, Status: 500})
	w.bad = w.m.share > 0
	w.tick()
	w.bad = false
}

// trip lets the candidate fail until the breaker trips.
func (w *world) trip() {
	b := w.route().breaker
	for range w.spec.Guard.Consecutive {
		p, ok := b.Admit(w.now, breaker.BoundsOf(w.spec.Guard))
		if ok != (w.m.inForce() > 0) && !w.m.tripped {
			w.fault("the breaker admits %v at share %d", ok, w.m.inForce())
		}
		if !ok {
			return
		}
		b.Done(p, breaker.Bad, w.now)
	}
	w.route().notices.Wait()
	w.m.tripped = w.m.share > 0
}

// notice lets one word of the breaker's arrive, perhaps late, perhaps twice.
func (w *world) notice() {
	if len(w.notices) == 0 {
		return
	}
	i := w.rng.IntN(len(w.notices))
	n := w.notices[i]
	if w.rng.IntN(3) > 0 {
		w.notices = append(w.notices[:i], w.notices[i+1:]...)
	}
	w.c.Tripped(modelRoute, "broken", n.generation)
	if n.shift == w.m.shift {
		w.m.notified = true
	}
}
