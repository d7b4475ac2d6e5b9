package simtest

import (
	"encoding/json"
	"time"

	"whittle"
	"whittle/carve/account"
	"whittle/carve/fleet"
	"whittle/carve/rollout"
)

// decider is what control is in a gateway that leads: evidence to positions by the real
// rollout, ledgers by the real account.
type decider struct {
	term   uint64
	routes map[*truth]*decided
}

type decided struct {
	loaded   bool
	st       rollout.State
	position whittle.Position
	issued   uint64
	account  account.Account
	place    int
	saving   bool
	saved    time.Duration
	digest   string // of the config that it is decided under
}

// record is what a leader leaves to the next one.
type record struct {
	State    json.RawMessage
	Position whittle.Position
	Issued   uint64
	Account  account.Kept
	Place    int
	Digest   string
}

// lead decides, where this gateway leads.
func (g *gateway) lead() {
	now := g.instant()
	term, leads := g.node.Leads(now)
	if !leads {
		g.decider, g.reports = nil, false
		return
	}
	if g.decider == nil || g.decider.term != term {
		g.w.count["terms"]++
		g.decider = &decider{term: term, routes: map[*truth]*decided{}}
		g.reports = true
		if all, next := g.w.store.snapshot(0); g.connected() {
			for _, e := range append(all, g.w.store.log[next:]...) {
				if e.Key != g.mine() && len(e.Key) > 7 && e.Key[:7] == "member." {
					g.watch(e)
				}
			}
		}
	}
	if !g.node.Settled(now) {
		return
	}
	for _, t := range g.w.routes {
		d := g.decider.routes[t]
		if d == nil {
			d = &decided{}
			g.decider.routes[t] = d
		}
		if d.loaded || g.load(t, d) {
			g.decide(t, d)
		}
	}
}

// wall is the process's time, which does not jump while it runs, as Go's does not.
func (g *gateway) wall() time.Time {
	return time.Unix(0, int64(24*time.Hour+g.boot+g.bootOffset+g.instant().Mono))
}

func recordKey(t *truth) string { return "record." + fleet.RouteKey(t.spec.Name) }

// load takes the record up, as low as anybody knows that it has to be.
func (g *gateway) load(t *truth, d *decided) bool {
	if !g.connected() || !g.w.store.up {
		return false
	}
	d.st = rollout.Start(t.policy)
	var r record
	if json.Unmarshal(g.w.store.kv[recordKey(t)].Value, &r) == nil {
		if st, err := rollout.Decode(r.State); err == nil {
			d.st = rollout.Resumed(st, g.wall())
		}
		d.position, d.issued, d.place = r.Position, r.Issued, r.Place
		d.account = account.Resumed(&r.Account, g.wall())
	}
	d.place = min(d.place, len(g.w.store.stream))
	d.loaded, d.digest = true, g.digests[t]
	if r.Digest != d.digest {
		d.st = rollout.Start(t.policy) // evidence of another epoch
	}
	return g.lower(t, d, g.node.Floor(t.spec.Name))
}

// lower decides anew, at what the floor allows.
func (g *gateway) lower(t *truth, d *decided, f fleet.Floor) bool {
	d.issued = max(d.issued, f.Generation)
	zero := max(d.position.Zero, f.Zero)
	if to, why := f.Lowers(d.position.Generation, d.st.Share); to < d.st.Share {
		d.st, _ = rollout.Lowered(d.st, to, why, g.wall())
		g.w.count["lowered"]++
	}
	return g.put(t, d, d.st, zero)
}

// put proposes a state under a new generation.
func (g *gateway) put(t *truth, d *decided, st rollout.State, zero uint64) bool {
	d.issued++
	return g.propose(t, d, st, d.issued, zero)
}

func (g *gateway) propose(t *truth, d *decided, st rollout.State, generation, zero uint64) bool {
	if st.Share == 0 {
		zero = generation
	}
	p := whittle.Position{Generation: generation, Zero: zero, Share: st.Share, Phase: st.Phase}
	if !g.node.Propose(t.spec.Name, p, g.instant()) {
		return false
	}
	d.position, d.st = p, st
	return true
}

func (g *gateway) decide(t *truth, d *decided) {
	g.judge(t, d)
	if d.digest != g.digests[t] {
		d.issued = max(d.issued, g.node.Floor(t.spec.Name).Generation)
		if g.put(t, d, rollout.Start(t.policy), 0) {
			d.digest = g.digests[t]
		}
		return
	}
	if f, behind := g.node.Behind(t.spec.Name); behind {
		g.w.count["behind"]++
		g.lower(t, d, f)
		return
	}
	in := rollout.Input{Verdict: t.verdict}
	if generation, reason := g.node.Tripping(t.spec.Name); generation > 0 {
		in.Breach = &rollout.Breach{Guard: "breaker", Hard: true, Reason: reason}
		if d.st.Share == 0 { // the trip is of a shift that is over
			g.put(t, d, d.st, 0)
			return
		}
	}
	next, decision := rollout.Step(t.policy, d.st, in, g.wall())
	switch {
	case decision == nil:
		d.st = next
		if !d.saving && g.w.now-d.saved > 2*time.Second {
			g.store(t, d, next, d.position, nil)
		}
	case next.Share <= d.st.Share:
		if next.Share < d.st.Share {
			g.w.count["falls"]++
		}
		g.put(t, d, next, d.position.Zero)
	case !d.saving && g.node.MayRise(t.spec.Name, g.instant()):
		d.issued++
		generation := d.issued
		g.store(t, d, next, whittle.Position{Generation: generation, Zero: d.position.Zero, Share: next.Share, Phase: next.Phase}, func() {
			if trip, _ := g.node.Tripping(t.spec.Name); trip > 0 || t.verdict != whittle.Equivalent || d.issued != generation {
				d.saved = 0
				return
			}
			if g.propose(t, d, next, generation, d.position.Zero) {
				g.w.count["rises"]++
			}
		})
	}
}

// store saves a record on the condition of the revision that was there; then runs once
// it is there and this gateway still leads.
func (g *gateway) store(t *truth, d *decided, st rollout.State, p whittle.Position, then func()) {
	b, err := rollout.Encode(st)
	if err != nil {
		g.w.fail("%v", err)
		return
	}
	r := record{State: b, Position: p, Issued: d.issued, Account: d.account.Kept(g.wall()), Place: d.place, Digest: d.digest}
	value, _ := json.Marshal(r)
	expect := g.w.store.kv[recordKey(t)].Revision
	d.saving, d.saved = true, g.w.now
	in := g.decider
	g.w.after(g.delay(), func() {
		there := g.connected() && g.w.store.put(&fleet.Write{Key: recordKey(t), Value: value, Expect: &expect})
		g.do(g.delay(), func() {
			d.saving = false
			if there && then != nil && g.decider == in && g.isLeader() {
				then()
			}
		})
	})
}

// judge takes the evidence in the stream's order, and the gateways' reports.
func (g *gateway) judge(t *truth, d *decided) {
	if g.connected() && g.w.store.up {
		stream := g.w.store.stream
		for d.place = min(d.place, len(stream)); d.place < len(stream); d.place++ {
			if x := stream[d.place]; x.route == t {
				d.account.Judged(x.gateway, x.run, whittle.FateCompared, "")
			}
		}
	}
	for _, s := range g.node.Members() {
		d.account.Take(s.Report.Member, s.Report.Routes[fleet.RouteKey(t.spec.Name)].Counts)
	}
	g.checkLedger(t, d)
}
