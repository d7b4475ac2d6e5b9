package simtest

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"whittle"
	"whittle/carve/fleet"
)

// gateway is one process with its clocks, its link to the store and its users.
type gateway struct {
	w    *world
	name string

	node  *fleet.Node // nil: it is down
	run   uint64
	epoch int    // of the process
	disk  []byte // what its state file has

	drift      float64
	boot       time.Duration // of the clock that does not jump
	stood      time.Duration // how long that one stood still since
	wallOffset time.Duration
	bootOffset time.Duration // of the wall's clock when the process began
	frozen     time.Duration // suspended until then

	down    time.Duration // the link is cut until then
	slow    time.Duration
	sub     int // the watch; what comes of an earlier one is dropped
	synced  bool
	due     time.Duration // of the last delivery
	reports bool          // the members' reports are watched, too

	// sent is when a report was really sent, contact when the last one was that came
	// back.
	sent    map[uint64]time.Duration
	came    time.Duration // the last that the watch has shown, whole or not
	whole   bool          // the watch shows all that is written
	contact time.Duration

	digests  map[*truth]string
	gates    map[*truth]*gate
	requests map[*request]bool
	decider  *decider
}

// gate is the gateway's part in a route: what is in force, its breaker, its ledger.
type gate struct {
	position     whittle.Position
	trippedUnder uint64
	life         int
	inFlight     int
	unproven     int
	forgiven     int
	bad          int
	counts       whittle.Counts
	// highest is what the gateway has taken and saved, and zero the highest fall that
	// it knew of.
	highest, zero, saved, savedZero uint64
}

type request struct {
	route *truth
	zero  uint64
	life  int
	seen  int
	bad   bool
	over  bool
}

func (g *gateway) instant() fleet.Instant {
	mono := float64(g.w.now-g.boot-g.stood) * g.drift
	return fleet.Instant{Mono: time.Hour + time.Duration(mono), Wall: g.w.now + g.wallOffset + 24*time.Hour}
}

// do runs f later, unless the process has ended by then; while it is suspended it
// waits.
func (g *gateway) do(d time.Duration, f func()) {
	epoch := g.epoch
	var run func()
	run = func() {
		switch {
		case g.epoch != epoch || g.node == nil:
		case g.w.now < g.frozen:
			g.w.after(g.frozen-g.w.now, run)
		default:
			f()
			g.flush()
		}
	}
	g.w.after(d, run)
}

func (g *gateway) start() {
	g.epoch++
	g.boot, g.stood, g.bootOffset = g.w.now, 0, g.wallOffset
	g.run++
	g.sent, g.came, g.contact, g.reports, g.decider = map[uint64]time.Duration{}, -time.Hour, -time.Hour, false, nil
	old := g.gates
	g.gates, g.requests = map[*truth]*gate{}, map[*request]bool{}
	if g.digests == nil {
		g.digests = map[*truth]string{}
	}
	for _, t := range g.w.routes {
		gt := &gate{counts: whittle.Counts{Run: g.w.rng.Uint64()}}
		if was := old[t]; was != nil {
			gt.highest, gt.zero, gt.saved, gt.savedZero = was.saved, was.savedZero, was.saved, was.savedZero
		}
		g.gates[t] = gt
		if g.digests[t] == "" {
			g.digests[t] = "1"
		}
	}
	g.node = fleet.New(fleet.Config{
		Member: g.name, Run: g.run, Version: "sim", Lease: lease, Routes: g.specs(), Kept: g.disk,
		Counts: g.report,
	}, g.instant())
	g.resync()
	g.tick()
	g.user()
}

func (g *gateway) specs() (all []fleet.Route) {
	for _, t := range g.w.routes {
		spec := t.spec
		spec.Digest = g.digests[t]
		all = append(all, spec)
	}
	return all
}

func (g *gateway) reload(t *truth, digest string) {
	if g.node == nil {
		g.digests[t] = digest
		return
	}
	g.do(0, func() {
		g.digests[t] = digest
		g.node.SetRoutes(g.specs())
	})
}

func (g *gateway) crash(d time.Duration) {
	if g.node == nil {
		return
	}
	g.node, g.epoch = nil, g.epoch+1
	g.requests = nil // whoever waited for them waits for nothing any more
	g.sub++
	g.w.after(d, func() {
		if g.node == nil {
			g.start()
		}
	})
}

func (g *gateway) cut(d time.Duration) {
	g.down = max(g.down, g.w.now+d)
	g.sub++
	g.synced = false
	g.w.after(d, g.resync)
}

func (g *gateway) connected() bool { return g.w.now >= g.down }

func (g *gateway) suspend(d time.Duration) {
	if g.node == nil || g.w.now < g.frozen {
		return
	}
	g.frozen = g.w.now + d
	epoch := g.epoch
	g.w.after(d, func() { // before anything that has waited
		if g.epoch == epoch && g.node != nil {
			g.stood += d
			g.node.Tick(g.instant())
			g.flush()
		}
	})
}

func (g *gateway) heal() {
	g.down, g.slow = 0, 0
	if g.node == nil {
		g.start()
	}
	g.resync()
}

func (g *gateway) tick() {
	g.node.Tick(g.instant())
	g.lead()
	g.do(g.w.between(100*time.Millisecond, 250*time.Millisecond), g.tick)
}

// flush carries out what the node wants.
func (g *gateway) flush() {
	if g.node == nil {
		return
	}
	now := g.instant()
	for _, t := range g.w.routes {
		g.gates[t].apply(g.node.InForce(t.spec.Name, now))
		taken := g.node.Taken(t.spec.Name)
		gt := g.gates[t]
		if taken.Generation < gt.highest {
			g.w.fail("%s goes by generation %d of %s after %d", g.name, taken.Generation, t.spec.Name, gt.highest)
		}
		if taken.Generation > gt.highest && taken.Share > 0 && taken.Zero < gt.zero {
			g.w.fail("%s takes a share of %d at generation %d, which does not know of the fall at %d", g.name, taken.Share, taken.Generation, gt.zero)
		}
		gt.highest, gt.zero = taken.Generation, max(gt.zero, taken.Zero)
	}
	if g.node.Unsaved() {
		g.save(g.node.Kept())
	}
	for _, write := range g.node.Writes() {
		g.send(write)
	}
}

// save puts on disk what the gateway remembers.
func (g *gateway) save(kept []byte) {
	g.disk = kept
	for _, gt := range g.gates {
		gt.saved, gt.savedZero = gt.highest, gt.zero
	}
}

// send takes a write to the store: it may be lost, late, or there twice.
func (g *gateway) send(write *fleet.Write) {
	g.note(write)
	if !g.connected() {
		g.do(lease/4, func() { g.node.Wrote(write) })
		return
	}
	d := g.delay()
	switch p := g.w.rng.Float64(); {
	case g.w.calm:
	case p < 0.02: // lost
		g.do(lease/2, func() { g.node.Wrote(write) })
		return
	case p < 0.04: // late
		g.w.after(g.w.between(0, 3*lease), func() { g.w.store.put(write) })
		g.do(lease/2, func() { g.node.Wrote(write) })
		return
	case p < 0.06: // twice
		g.w.after(d+g.w.between(0, lease), func() { g.w.store.put(write) })
	}
	g.w.after(d, func() {
		if g.connected() || g.w.chance(0.5) {
			g.w.store.put(write)
		}
		g.do(g.delay(), func() { g.node.Wrote(write) })
	})
}

// note remembers when a report was sent.
func (g *gateway) note(write *fleet.Write) {
	var r fleet.Report
	if strings.HasPrefix(write.Key, "member.") && json.Unmarshal(write.Value, &r) == nil {
		g.sent[r.Seq] = g.w.now
	}
}

func (g *gateway) delay() time.Duration {
	return g.w.between(time.Millisecond, 30*time.Millisecond) + g.slow
}

func (g *gateway) mine() string { return "member." + hex.EncodeToString([]byte(g.name)) }

// watch delivers an entry of the store, in order.
func (g *gateway) watch(e fleet.Entry) {
	if g.node == nil || !g.synced || !g.connected() {
		return
	}
	if strings.HasPrefix(e.Key, "member.") && e.Key != g.mine() && !g.reports {
		return
	}
	g.due = max(g.due, g.w.now+g.delay())
	sub := g.sub
	g.do(g.due-g.w.now, func() {
		if g.sub == sub {
			g.saw(e)
		}
	})
}

func (g *gateway) saw(e fleet.Entry) {
	var r fleet.Report
	if e.Key == g.mine() && json.Unmarshal(e.Value, &r) == nil && r.Run == g.run {
		g.came = max(g.came, g.sent[r.Seq])
		if g.whole {
			g.contact = g.came
		}
	}
	g.node.Saw(e, g.instant())
	g.lead()
}

// resync begins another watch, with what the store has, or a replica of it had.
func (g *gateway) resync() {
	g.sub++
	g.synced = false
	sub := g.sub
	g.do(g.w.between(time.Millisecond, lease/10), func() {
		if g.sub != sub || !g.connected() {
			return
		}
		stale := 0
		if !g.w.calm && g.w.chance(0.3) {
			stale = g.w.rng.IntN(60)
		}
		all, next := g.w.store.snapshot(stale)
		g.synced, g.whole, g.due = true, false, g.w.now
		g.node.Restarted()
		for _, e := range append(all, g.w.store.log[next:]...) {
			g.watch(e)
		}
		g.do(g.due-g.w.now, func() {
			if g.sub == sub {
				g.node.Synced(g.instant())
				g.contact, g.whole = g.came, true
			}
		})
	})
}

func (g *gateway) isLeader() bool {
	_, leads := g.node.Leads(g.instant())
	return leads
}

// user sends one request after the other.
func (g *gateway) user() {
	t := g.w.routes[g.w.rng.IntN(len(g.w.routes))]
	gt := g.gates[t]
	gt.counts.Ledger.Total++
	if gt.share() > 0 && g.w.chance(max(0.3, float64(gt.share())/float64(whittle.All))) {
		g.candidate(t, gt)
	}
	g.mirror(t, gt)
	g.do(g.w.between(20*time.Millisecond, 300*time.Millisecond), g.user)
}

// mirror settles a request's place in the ledger, or sends it to be judged.
func (g *gateway) mirror(t *truth, gt *gate) {
	l := &gt.counts.Ledger
	switch {
	case !g.connected() || !g.w.store.up || g.w.chance(0.3) || g.digests[t] != g.node.Taken(t.spec.Name).Digest:
		l.Settle(whittle.FateSkipped, whittle.SkipSampled, 1)
	default:
		l.Pending++
		g.publish(exchange{t, g.name, gt.counts.Run})
	}
}

// publish sends an exchange to the stream. Some are lost: they stay pending.
func (g *gateway) publish(x exchange) {
	if g.w.calm || g.w.chance(0.99) {
		g.w.after(g.delay(), func() { g.w.store.stream = append(g.w.store.stream, x) })
	}
}

// candidate has the candidate respond, where the breaker lets it.
func (g *gateway) candidate(t *truth, gt *gate) {
	exposed, limit := gt.inFlight+gt.unproven-gt.forgiven, g.node.Limit(t.spec.Candidate, g.instant())
	if exposed >= limit {
		if limit > 0 && gt.inFlight == 0 {
			g.trip(t, gt)
		}
		return
	}
	gt.inFlight++
	r := &request{route: t, zero: g.node.Taken(t.spec.Name).Zero, life: gt.life, seen: gt.unproven, bad: t.broken}
	t.permits[g.touch(r.zero)] = max(t.permits[g.touch(r.zero)], limit)
	if t.broken {
		t.touched[g.touch(r.zero)]++
	}
	g.w.count["requests on a candidate"]++
	g.requests[r] = true
	end := g.w.between(5*time.Millisecond, linger)
	g.w.after(end, func() { // the response is there, though a suspended gateway reads it later
		r.bad, r.over = r.bad || t.broken, true
	})
	g.do(end, func() {
		delete(g.requests, r)
		g.done(t, gt, r)
	})
}

func (g *gateway) touch(zero uint64) touch { return touch{g.name, g.epoch, zero} }

func (g *gateway) done(t *truth, gt *gate, r *request) {
	if r.life != gt.life {
		return
	}
	gt.inFlight--
	if r.bad || g.w.chance(0.02) {
		gt.unproven++
		gt.bad++
		if gt.bad >= 5 {
			g.trip(t, gt)
		}
		return
	}
	gt.bad = 0
	gt.forgiven = max(gt.forgiven, r.seen)
}

// trip is the breaker's word, which the node hears a moment later.
func (g *gateway) trip(t *truth, gt *gate) {
	if gt.share() == 0 || gt.position.Generation <= gt.position.Zero {
		return
	}
	g.w.count["trips"]++
	gt.trippedUnder = gt.position.Generation
	under := gt.position.Generation
	g.do(g.w.between(0, 50*time.Millisecond), func() { g.node.Tripped(t.spec.Name, "broken", under) })
}

func (gt *gate) share() whittle.Share {
	if gt.trippedUnder > gt.position.Zero {
		return 0
	}
	return gt.position.Share
}

// apply is as the gateway's own: it takes what is later, and after a trip nothing above
// 0 that does not know of it.
func (gt *gate) apply(p whittle.Position) {
	if p.Generation <= gt.position.Generation {
		return
	}
	if gt.trippedUnder > p.Zero && p.Share > 0 {
		return
	}
	if p.Zero > gt.position.Zero { // another shift; a pause is none
		gt.life++
		gt.inFlight, gt.unproven, gt.forgiven, gt.bad = 0, 0, 0, 0
	}
	gt.position = p
}

func (g *gateway) report(name string) whittle.Counts {
	for _, t := range g.w.routes {
		if t.spec.Name == name {
			gt := g.gates[t]
			gt.counts.Seq++
			c := gt.counts
			c.Ledger = whittle.Ledger{}
			c.Ledger.Add(&gt.counts.Ledger)
			return c
		}
	}
	return whittle.Counts{}
}
