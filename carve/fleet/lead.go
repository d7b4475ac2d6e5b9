package fleet

import (
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"whittle"
)

// term is the time in which this node leads.
type term struct {
	number uint64
	// revision is that of the lease when it was taken: what was written later was
	// written in this term.
	revision uint64
	began    Instant
	// renewed is when the last renewal was sent that has come back.
	renewed Instant
	asked   Instant // the last one was sent
	// seats are the gateways that have reported, and names theirs in order.
	seats map[string]*Seat
	names []string
}

func (t *term) took(r Report, revision uint64, now Instant) {
	s := t.seats[r.Member]
	if s == nil {
		if len(t.seats) >= maxMembers {
			return
		}
		s = &Seat{}
		t.seats[r.Member] = s
		at, _ := slices.BinarySearch(t.names, r.Member)
		t.names = slices.Insert(t.names, at, r.Member)
	}
	if r.Run < s.Report.Run || r.Run == s.Report.Run && r.Seq <= s.Report.Seq {
		return
	}
	s.Report, s.revision, s.seen = r, revision, now
}

// maxMembers bounds the gateways of a fleet.
const maxMembers = 10_000

// tickLease renews the lease, or takes one that nobody renews.
func (n *Node) tickLease() {
	if n.replaced {
		n.lead = nil
		return
	}
	if n.leads() {
		if n.now.since(n.lead.asked) >= n.c.Lease/beats {
			n.renew()
		}
		return
	}
	if !n.known || !n.connected() {
		return
	}
	// By the clock that does not jump: others may be well while this one was set.
	silent := n.now.Mono - n.leaseSeen.Mono
	if n.leaseRev != 0 && n.lease.Holder != "" {
		silent -= n.c.Lease
	}
	if silent < n.stagger() {
		return
	}
	n.leaseSeen = n.now // asks once, and then waits again
	n.taken = max(n.lease.Term, n.taken) + 1
	n.renewals = map[uint64]Instant{0: n.now}
	expect := n.leaseRev
	n.write(kindLease, Lease{Version: formatVersion, Term: n.taken, Holder: n.c.Member, Run: n.c.Run}, &expect)
}

// stagger keeps all gateways from asking for the lease at once.
func (n *Node) stagger() time.Duration {
	h := fnv.New32a()
	h.Write([]byte(n.c.Member))
	return time.Duration(h.Sum32()%16) * n.c.Lease / 64
}

func (n *Node) renew() {
	expect := n.leaseRev
	number := n.lease.N + 1
	if n.write(kindLease, Lease{Version: formatVersion, Term: n.lead.number, N: number, Holder: n.c.Member, Run: n.c.Run}, &expect) {
		n.renewals[number], n.lead.asked = n.now, n.now
		delete(n.renewals, number-maxSent)
	}
}

// Leave gives the lease back, so that another gateway leads at once.
func (n *Node) Leave(now Instant) {
	n.advance(now)
	if n.lead == nil {
		return
	}
	expect := n.leaseRev
	delete(n.busy, kindLease)
	n.write(kindLease, Lease{Version: formatVersion, Term: n.lead.number, N: n.lease.N + 1}, &expect)
	n.lead = nil
}

// sawLease learns who leads, oneself included: nobody leads before the store shows it.
func (n *Node) sawLease(e Entry) {
	var l Lease
	if !decode(e.Value, &l, &l.Version) {
		l = Lease{Term: n.lease.Term, Holder: Unread}
	}
	n.lease, n.leaseRev, n.leaseSeen = l, e.Revision, n.now
	mine := l.Holder == n.c.Member && l.Run == n.c.Run
	at, asked := n.renewals[l.N]
	switch {
	case n.lead != nil && l.Term >= n.lead.number && (!mine || l.Term > n.lead.number):
		n.lead = nil
	case n.lead != nil && mine && asked && at.Mono > n.lead.renewed.Mono:
		n.lead.renewed = at
	case n.lead == nil && mine && asked && l.Term == n.taken && l.N == 0 && n.now.since(at) < n.c.Lease:
		n.lead = &term{number: l.Term, revision: e.Revision, began: n.now, renewed: at, asked: at, seats: map[string]*Seat{}}
		for _, r := range n.routes {
			r.proposed = nil
		}
	}
}

// Unread is the leader where a later version of the program has written who leads.
const Unread = "?"

// Leader is the gateway that leads by the lease, as last seen. Empty: none.
func (n *Node) Leader() string { return n.lease.Holder }

// Leads reports whether this node leads, and in which term.
func (n *Node) Leads(now Instant) (term uint64, leads bool) {
	n.advance(now)
	if !n.leads() {
		return 0, false
	}
	return n.lead.number, true
}

func (n *Node) leads() bool {
	if n.lead != nil && n.now.since(n.lead.renewed) >= n.c.Lease {
		n.lead = nil
	}
	return n.lead != nil
}

// Settled reports whether this leader knows what every gateway has in force that may
// have anything in force: each has reported in this term, or its lease is over.
func (n *Node) Settled(now Instant) bool {
	n.advance(now)
	return n.settled()
}

func (n *Node) settled() bool {
	if n.lead == nil {
		return false
	}
	passed := n.now.Mono - n.lead.began.Mono
	if passed >= n.c.Lease*9/8 {
		return true
	}
	if passed < n.c.Lease/2 {
		return false
	}
	for _, s := range n.lead.seats {
		if s.revision < n.lead.revision {
			return false
		}
	}
	return true
}

// alive reports whether a gateway may have a share: a quarter of a lease is left to
// the clocks' drift.
func (n *Node) alive(s *Seat) bool { return n.now.Mono-s.seen.Mono < n.c.Lease*9/8 }

// Floor is what is known of a route over the whole fleet, beyond what a leader has
// decided itself.
type Floor struct {
	// Generation and Zero are the highest that are known, Trip the highest that is not
	// over, 0: there is none.
	Generation uint64
	Zero       uint64
	Trip       uint64
	Reason     string
	// Share is the lowest that one of the last positions has.
	Share whittle.Share
}

// Floor is what the store and the gateways have of a route.
func (n *Node) Floor(name string) Floor {
	key := RouteKey(name)
	r := n.routes[key]
	if r == nil || n.lead == nil {
		return Floor{}
	}
	f := Floor{
		Generation: max(r.stored.Generation, r.taken.Generation), Zero: max(r.zero, r.stored.Zero),
		Trip: r.trip.Generation, Reason: r.trip.Reason, Share: r.stored.Share,
	}
	if r.taken.Generation > r.stored.Generation {
		f.Share = r.taken.Share
	}
	for _, member := range n.lead.names {
		f.add(n.lead.seats[member].Report.Routes[key])
	}
	if f.Trip <= f.Zero {
		f.Trip, f.Reason = 0, ""
	}
	if f.Trip > 0 {
		f.Share = 0
	}
	return f
}

func (f *Floor) add(r RouteReport) {
	if r.Generation > 0 && r.Generation >= f.Generation && r.Share < f.Share {
		f.Share = r.Share
	}
	if r.Zero > f.Zero {
		f.Share = 0
	}
	if r.Trip > f.Trip {
		f.Trip, f.Reason = r.Trip, r.Reason
	}
	f.Generation, f.Zero = max(f.Generation, r.Generation), max(f.Zero, r.Zero)
}

// Behind reports whether a gateway, or the store, knows of a later position or fall of
// the route than this leader has decided: the store lost something. The leader then
// decides anew, above Floor's generation and at no more than its share.
func (n *Node) Behind(name string) (Floor, bool) {
	r := n.routes[RouteKey(name)]
	if n.lead == nil || r == nil || r.proposed == nil {
		return Floor{}, false
	}
	f, p := n.Floor(name), r.proposed
	conflict := f.Generation == p.Generation && f.Share < p.Share && f.Trip == 0 && r.stored.Generation == p.Generation
	return f, f.Generation > p.Generation || f.Zero > p.Zero || conflict
}

// Undecided reports whether this leader has not decided on the route in its term.
func (n *Node) Undecided(name string) bool {
	r := n.routes[RouteKey(name)]
	return n.lead != nil && r != nil && r.proposed == nil
}

// Tripping is a trip that the leader is to decide on.
func (n *Node) Tripping(name string) (generation uint64, reason string) {
	r := n.routes[RouteKey(name)]
	if n.lead == nil || r == nil || r.proposed == nil {
		return 0, ""
	}
	if f := n.Floor(name); f.Trip > r.proposed.Zero {
		return f.Trip, f.Reason
	}
	return 0, ""
}

// MayRise reports whether this leader may decide on a rise: it knows what the fleet has
// in force, the store shows what was decided last, and nobody knows of anything later.
func (n *Node) MayRise(name string, now Instant) bool {
	n.advance(now)
	r := n.routes[RouteKey(name)]
	if !n.leads() || r == nil || r.proposed == nil || r.unshown() || !n.settled() {
		return false
	}
	f, behind := n.Behind(name)
	return !behind && f.Trip == 0
}

// Propose has a position written. False: this node may not, because it does not lead,
// or because the fleet knows of something that the position does not.
func (n *Node) Propose(name string, p whittle.Position, now Instant) bool {
	n.advance(now)
	r := n.routes[RouteKey(name)]
	if !n.leads() || r == nil {
		return false
	}
	f := n.Floor(name)
	if r.proposed != nil {
		f.Generation = max(f.Generation, r.proposed.Generation)
	}
	switch {
	case p.Generation <= f.Generation:
		return false
	case p.Share == 0:
	case p.Zero < f.Zero, f.Trip > p.Zero, !n.settled():
		return false
	case r.unshown() && p.Share > r.stored.Share:
		return false // users would skip a step
	}
	next := Position{
		Version: formatVersion, Route: name, Generation: p.Generation, Zero: p.Zero, Share: p.Share, Phase: p.Phase,
		Term: n.lead.number, Leader: n.c.Member, Digest: r.spec.Digest,
	}
	r.proposed = &next
	n.tickPositions()
	return true
}

// unshown reports whether the store has yet to show what was decided last, or has lost
// it.
func (r *route) unshown() bool {
	return r.proposed != nil && r.stored.Generation < r.proposed.Generation
}

// Shown reports whether the store shows what this leader has decided last on a route: from
// then on it outlives the leader. leads is false where this node leads no more.
func (n *Node) Shown(name string, now Instant) (shown, leads bool) {
	n.advance(now)
	r := n.routes[RouteKey(name)]
	if r == nil || !n.leads() {
		return false, false
	}
	return !r.unshown(), true
}

// tickLead writes what the leader has decided.
func (n *Node) tickLead() {
	if n.lead == nil {
		return
	}
	n.tickPositions()
	n.tickPermits()
	n.tickGone()
}

const (
	// Gone is after which time without a report a gateway is not one of the fleet's any
	// more, by its own clock; and goneLed how long a leader has not heard of it by then,
	// by the clock that does not jump.
	Gone    = 24 * time.Hour
	goneLed = time.Hour
)

// tickGone removes the reports of gateways that are gone, so that names which do not come
// again, such as pods', leave nothing in the store.
func (n *Node) tickGone() {
	n.lead.names = slices.DeleteFunc(n.lead.names, func(name string) bool {
		s := n.lead.seats[name]
		if n.now.Mono-s.seen.Mono < goneLed || n.wall().Sub(s.Report.At) < Gone || n.busy[memberKey(name)] {
			return false
		}
		expect := s.revision
		n.busy[memberKey(name)] = true
		n.out = append(n.out, &Write{Key: memberKey(name), Expect: &expect, Gone: true})
		delete(n.lead.seats, name)
		return true
	})
}

// tickPositions writes positions until the store shows them. Each write is on the condition of
// the revision that was seen, so a gateway that leads no more cannot write.
func (n *Node) tickPositions() {
	for _, key := range slices.Sorted(maps.Keys(n.routes)) {
		r := n.routes[key]
		if r.unshown() {
			expect := r.rev
			n.write(kindPosition+"."+key, r.proposed, &expect)
		}
	}
}

// Lowers says to which share a leader's decision must go down that was taken at a
// generation, and why: what gateways know may be later, where the store has lost
// something. A share that is not lower stays as it is.
func (f Floor) Lowers(generation uint64, share whittle.Share) (to whittle.Share, why string) {
	switch {
	case share == 0:
		return 0, ""
	case f.Trip > 0:
		return 0, "A gateway's circuit breaker has tripped: " + f.Reason
	case f.Zero > generation:
		return 0, "The store had lost a fall to 0 that gateways know of"
	case f.Generation > generation && f.Share < share:
		return f.Share, "The store had lost a decision that gateways know of: the share goes on at the lowest that any of them has"
	case f.Generation == generation && f.Share < share:
		return f.Share, "Two leaders have decided: the share goes on at the lower one"
	}
	return share, ""
}
