package simtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"whittle"
	"whittle/carve/fleet"
)

// trace gets what is written to the store but for reports, for who looks for a fault.
// Nil: nobody looks.
var trace func(line string)

// slack is what the tolerated difference of the clocks and the pace of a gateway's ticks
// add to a lease.
const slack = lease/20 + 300*time.Millisecond

// written holds what the store is given: positions in their order, each a decision of
// whoever leads.
func (w *world) written(old, e fleet.Entry, index int) {
	if trace != nil && !strings.HasPrefix(e.Key, "member.") && !strings.HasPrefix(e.Key, "record.") {
		var l fleet.Lease
		if e.Key != "lease" || json.Unmarshal(e.Value, &l) == nil && l.N == 0 {
			trace(fmt.Sprintf("%v revision %d %s %s", w.now, e.Revision, e.Key, e.Value))
		}
	}
	if strings.HasPrefix(e.Key, "trip.") {
		var trip fleet.Trip
		if json.Unmarshal(e.Value, &trip) == nil {
			t := w.truthOf(e.Key[len("trip."):])
			t.falls = append(t.falls, fall{trip.Generation + 1, w.now, index})
		}
		return
	}
	if e.Key == "lease" {
		w.writtenLease(old, e)
	}
	p, ok := positionOf(e)
	if !ok {
		return
	}
	t := w.truthOf(fleet.RouteKey(p.Route))
	last := t.last
	before := last.Share
	if t.top.Generation > last.Generation {
		before = max(before, t.top.Share) // the store has lost it, and gateways went by it
	}
	t.last = p
	if p.Generation >= t.top.Generation {
		t.top = p
	}
	if p.Share == 0 {
		t.falls = append(t.falls, fall{p.Generation, w.now, index})
	}
	if last.Generation == 0 || p == last {
		// The same decision once more decides nothing: a write that was long on its way
		// expects a revision that the store, which lost its last writes, has given again.
		return
	}
	switch {
	case p.Generation <= last.Generation:
		w.fail("generation %d of %s follows %d in the store", p.Generation, p.Route, last.Generation)
	case p.Zero < last.Zero:
		w.fail("generation %d of %s does not know of the fall at %d", p.Generation, p.Route, last.Zero)
	case p.Term < last.Term:
		w.fail("a leader of term %d writes after one of term %d", p.Term, last.Term)
	case p.Share > before && p.Share > t.nextStep(before):
		w.fail("the share of %s rises from %d to %d", p.Route, before, p.Share)
	}
}

func (w *world) writtenLease(old, e fleet.Entry) {
	var before, now fleet.Lease
	if json.Unmarshal(e.Value, &now) != nil || json.Unmarshal(old.Value, &before) != nil {
		return
	}
	if now.Term < before.Term || now.Term == before.Term && now.Holder != before.Holder && now.Holder != "" {
		w.fail("the lease goes from %s in term %d to %s in term %d", before.Holder, before.Term, now.Holder, now.Term)
	}
}

// lost says that the store went back to so many entries.
func (w *world) lost(entries int) {
	for _, t := range w.routes {
		t.last = fleet.Position{}
		if e, ok := w.store.kv["position."+fleet.RouteKey(t.spec.Name)]; ok {
			t.last, _ = positionOf(e)
		}
		kept := t.falls[:0]
		for _, f := range t.falls {
			if f.index < entries {
				kept = append(kept, f)
			}
		}
		t.falls = kept
	}
}

func (w *world) truthOf(key string) *truth {
	for _, t := range w.routes {
		if fleet.RouteKey(t.spec.Name) == key {
			return t
		}
	}
	return &truth{}
}

// check holds what must be true at every moment.
func (w *world) check() {
	for _, g := range w.gateways {
		if g.node == nil || w.now <= g.frozen {
			continue
		}
		for _, t := range w.routes {
			g.check(t)
		}
	}
	for _, t := range w.routes {
		for at, n := range t.touched {
			if most := t.permits[at]; n > most {
				w.fail("%d users' requests met the broken candidate of %s at %s in the shift after %d, and %d may", n, t.spec.Name, at.gateway, at.zero, most)
			}
		}
	}
}

func (g *gateway) check(t *truth) {
	share := g.gates[t].share()
	if share == 0 {
		return
	}
	w := g.w
	if silent := w.now - g.contact; silent > lease+slack {
		w.fail("%s has a share of %d, and has not heard of the store for %v", g.name, share, silent)
	}
	taken := g.node.Taken(t.spec.Name)
	if taken.Digest != g.digests[t] {
		w.fail("%s has a share of %d by another config's position", g.name, share)
	}
	for i := len(t.falls) - 1; i >= 0; i-- {
		f := t.falls[i]
		if f.generation > taken.Zero && taken.Generation < f.generation && w.now > f.at+lease+slack {
			w.fail("%s has a share of %d at generation %d, %v after the fall at %d", g.name, share, taken.Generation, w.now-f.at, f.generation)
		}
		if w.now > f.at+20*lease {
			t.falls = t.falls[i+1:]
			break
		}
	}
}

// checkLedger holds a leader's ledger: it adds up, and counts nothing that was not.
func (g *gateway) checkLedger(t *truth, d *decided) {
	if total := d.account.Total(); total.Total != total.Sum() || total.Pending < 0 {
		g.w.fail("the ledger of %s does not add up: %+v", t.spec.Name, total)
	}
	for _, s := range g.node.Members() {
		r := s.Report.Routes[fleet.RouteKey(t.spec.Name)].Counts
		of := d.account.Of(s.Report.Member)
		taken := d.account.Report(s.Report.Member)
		if of.Shed != 0 || taken.Run == r.Run && taken.Seq == r.Seq && of.Skipped[whittle.SkipSampled] != r.Ledger.Skipped[whittle.SkipSampled] {
			g.w.fail("the ledger of %s has %d skipped for %s, who has %d", t.spec.Name, of.Skipped[whittle.SkipSampled], s.Report.Member, r.Ledger.Skipped[whittle.SkipSampled])
		}
	}
}

// settled holds what must be true once the faults are over for a while.
func (w *world) settled() {
	if w.fault != "" {
		return
	}
	var leader *gateway
	for _, g := range w.gateways {
		if g.isLeader() {
			if leader != nil {
				w.fail("%s and %s lead", leader.name, g.name)
			}
			leader = g
		}
	}
	if leader == nil || leader.decider == nil {
		w.fail("nobody leads")
		return
	}
	for _, t := range w.routes {
		w.settledRoute(t, leader)
	}
}

func (w *world) settledRoute(t *truth, leader *gateway) {
	p, _ := positionOf(w.store.kv["position."+fleet.RouteKey(t.spec.Name)])
	if p.Share == 0 {
		w.fail("%s stays at 0, at generation %d in phase %s", t.spec.Name, p.Generation, p.Phase)
	}
	limits := 0
	for _, g := range w.gateways {
		now := g.instant()
		if taken := g.node.Taken(t.spec.Name); taken.Generation+1 < p.Generation || !g.node.Connected(now) {
			w.fail("%s is at generation %d of %s, connected %v, and the store at %d", g.name, taken.Generation, t.spec.Name, g.node.Connected(now), p.Generation)
		}
		if share := g.gates[t].share(); share == 0 {
			w.fail("%s has no share of %s, which is at %d", g.name, t.spec.Name, p.Share)
		}
		limit := g.node.Limit(t.spec.Candidate, now)
		limits += limit
		if limit == 0 {
			w.fail("%s has no permits for %s", g.name, t.spec.Candidate)
		}
	}
	if limits > exposure {
		w.fail("%d permits are given for %s, of %d", limits, t.spec.Candidate, exposure)
	}
	w.settledLedger(t, leader)
}

// settledLedger holds the ledger against what was sent.
func (w *world) settledLedger(t *truth, leader *gateway) {
	d := leader.decider.routes[t]
	if d == nil {
		w.fail("%s leads, and decides nothing on %s", leader.name, t.spec.Name)
		return
	}
	for _, g := range w.gateways {
		compared := int64(0)
		for _, x := range w.store.stream[:d.place] {
			if x.route == t && x.gateway == g.name && x.run == g.gates[t].counts.Run {
				compared++
			}
		}
		of, counts := d.account.Of(g.name), g.gates[t].counts.Ledger
		if of.Compared > compared && !w.lossy || of.Compared < compared && !w.lossy || of.Total < counts.Total-20 || of.Total > counts.Total {
			w.fail("the ledger of %s has %d compared and %d in all for %s, which has %d and %d", t.spec.Name, of.Compared, of.Total, g.name, compared, counts.Total)
		}
	}
}
