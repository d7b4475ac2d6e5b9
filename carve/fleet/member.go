package fleet

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"whittle"
)

// route is what a node knows of one route.
type route struct {
	spec Route
	// taken is the position that this gateway goes by.
	taken Position
	// zero is the highest Zero that was seen, of whatever position.
	zero uint64
	// trip is the highest that is known, own this gateway's.
	trip, own Trip
	// tripShown is the generation of the trip in the store, tripRev its revision.
	tripShown, tripRev uint64
	gate               gate

	// stored is the position in the store and rev its revision, as last seen.
	stored Position
	rev    uint64
	// unread says that the store has a position that this program cannot read.
	unread bool

	// counted is what was last reported, and before likewise by the runs before, the
	// oldest first, which a leader may not have read.
	counted whittle.Counts
	before  []whittle.Counts

	// proposed is what this node has decided last in its term; nil: nothing yet.
	proposed *Position
}

// gate numbers what is in force here for the gateway, which ignores what is not
// numbered higher than the last: a share that is 0 only while the gateway is cut off
// has no generation of its own in the fleet.
type gate struct {
	local, zero, fleetZero uint64
	last                   whittle.Position
	// numbers are the last local ones, each with its generation in the fleet.
	numbers [8][2]uint64
}

// sawPosition takes a position, unless a later one is known, or one that was decided
// without knowing of a fall that is known here.
func (n *Node) sawPosition(key string, e Entry) {
	r := n.routes[key]
	if r == nil {
		return
	}
	r.rev = e.Revision
	var p Position
	if r.unread = !decode(e.Value, &p, &p.Version) || RouteKey(p.Route) != key; r.unread {
		return
	}
	r.stored = p
	if p.Generation <= r.taken.Generation || p.Share > 0 && p.Zero < r.zero {
		return
	}
	r.taken, r.zero = p, max(r.zero, p.Zero)
	n.unsaved = true
	n.urgent = n.urgent || p.Share > 0
}

// sawTrip takes another gateway's trip for its own.
func (n *Node) sawTrip(key string, e Entry) {
	r := n.routes[key]
	var t Trip
	if r == nil {
		return
	}
	r.tripShown, r.tripRev = 0, e.Revision
	if !decode(e.Value, &t, &t.Version) {
		return
	}
	r.tripShown = t.Generation
	if t.Generation > r.trip.Generation {
		r.trip = t
		n.unsaved = true
	}
}

// Tripped notes that the gateway's breaker has opened, under the local generation of
// a position.
func (n *Node) Tripped(name, reason string, local uint64) {
	r := n.routes[RouteKey(name)]
	if r == nil {
		return
	}
	n.tripAt(r, r.gate.generation(local), reason)
}

// Fall opens the breaker of a route for a reason that is no gateway's: where nobody leads,
// a rollback by hand needs no leader either.
func (n *Node) Fall(name, reason string) {
	if r := n.routes[RouteKey(name)]; r != nil {
		n.tripAt(r, r.taken.Generation, reason)
	}
}

// tripAt notes a trip under a generation of the fleet's.
func (n *Node) tripAt(r *route, generation uint64, reason string) {
	if generation <= r.zero || generation <= r.own.Generation {
		return
	}
	r.own = Trip{Version: formatVersion, Generation: generation, Reason: reason, Member: n.c.Member}
	if generation > r.trip.Generation {
		r.trip = r.own
	}
	n.urgent, n.unsaved = true, true
	n.tickTrips()
}

// tickTrips writes a trip until the store has it, or it is over.
func (n *Node) tickTrips() {
	for _, key := range slices.Sorted(maps.Keys(n.routes)) {
		if r := n.routes[key]; r.trip.Generation > max(r.zero, r.tripShown) {
			expect := r.tripRev
			n.write(kindTrip+"."+key, r.trip, &expect)
		}
	}
}

// agrees reports whether the gateway has the config that the position is about.
func (r *route) agrees() bool { return !r.unread && r.taken.Digest == r.spec.Digest }

// inForce is what users have here.
func (r *route) inForce(n *Node) (share whittle.Share, phase whittle.Phase) {
	switch {
	case r.taken.Generation == 0:
		return 0, whittle.PhaseShadow
	case !r.agrees():
		return 0, whittle.PhaseOff
	case r.trip.Generation > r.zero:
		return 0, whittle.PhaseRolledBack
	case !n.connected() && r.taken.Share > 0:
		return 0, whittle.PhaseShadow
	case !n.restarting && r.stored.Generation < r.taken.Generation && r.taken.Share > 0:
		return 0, whittle.PhaseShadow // the store has gone back: a later fall may be lost as well
	}
	return r.taken.Share, r.taken.Phase
}

// Withheld says why users have less here than was decided. Empty: they have not.
func (n *Node) Withheld(name string, now Instant) string {
	n.advance(now)
	r := n.routes[RouteKey(name)]
	if r == nil {
		return ""
	}
	share, _ := r.inForce(n)
	switch {
	case share == r.taken.Share:
		return ""
	case r.unread:
		return "the gateway that leads is of a later version, which this one cannot read"
	case !r.agrees():
		return "this gateway has another config than the leader"
	case r.trip.Generation > r.zero:
		return "a circuit breaker has tripped, and whoever leads has yet to decide on it: " + r.trip.Reason
	case !n.connected():
		return "this gateway does not hear of the fleet"
	}
	return "the fleet's store has lost what was decided, and whoever leads has yet to decide anew"
}

// InForce is what the gateway is to put in force for a route now. It has numbers of
// this process's own.
func (n *Node) InForce(name string, now Instant) whittle.Position {
	n.advance(now)
	r := n.routes[RouteKey(name)]
	if r == nil {
		return whittle.Position{}
	}
	share, phase := r.inForce(n)
	return r.gate.pass(share, phase, r.taken.Generation, r.zero)
}

// pass numbers a share: another one has a higher number. A share of 0 that was decided
// is the local zero, and so is a number that is left out where one was missed.
func (g *gate) pass(share whittle.Share, phase whittle.Phase, generation, zero uint64) whittle.Position {
	fell := zero > g.fleetZero
	if g.local > 0 && !fell && share == g.last.Share && phase == g.last.Phase && generation == g.generation(g.local) {
		return g.last
	}
	if fell {
		g.local++
		g.zero, g.fleetZero = g.local, zero
	}
	g.local++
	g.numbers[g.local%uint64(len(g.numbers))] = [2]uint64{g.local, generation}
	g.last = whittle.Position{Generation: g.local, Zero: g.zero, Share: share, Phase: phase}
	return g.last
}

// generation is the fleet's generation of a local number. A number that is no longer
// remembered is of the last position that is: its trip may open too much, and never too
// little.
func (g *gate) generation(local uint64) uint64 {
	if at := g.numbers[local%uint64(len(g.numbers))]; at[0] == local {
		return at[1]
	}
	return g.numbers[g.local%uint64(len(g.numbers))][1]
}

func (r *route) reported(n *Node) RouteReport {
	share, _ := r.inForce(n)
	rr := RouteReport{
		Digest: r.spec.Digest, Generation: r.taken.Generation, Zero: r.zero, Share: r.taken.Share, InForce: share,
	}
	if r.trip.Generation > r.zero {
		rr.Trip, rr.Reason = r.trip.Generation, r.trip.Reason
	}
	if n.c.Counts != nil {
		rr.Counts = n.c.Counts(r.spec.Name)
		if last := len(r.before) - 1; last >= 0 {
			rr.Earlier, rr.Before = r.before[:last], r.before[last]
		}
		rr.Counts.At, rr.Counts.Over = n.wall(), n.final
		r.counted = rr.Counts
	}
	return rr
}

// Limit is how many users' requests to a candidate may be exposed here now.
func (n *Node) Limit(candidate string, now Instant) int {
	if !n.Connected(now) {
		return 0
	}
	return n.permits.Limits[candidate]
}

// Left is how much of this gateway's lease is left.
func (n *Node) Left(now Instant) time.Duration {
	if !n.Connected(now) {
		return 0
	}
	return n.c.Lease - n.now.since(n.heard)
}

// kept is what a gateway remembers over restarts: nobody can make it believe an
// earlier generation, even where the store has lost the later ones.
type kept struct {
	Version int                  `json:"version"`
	Run     uint64               `json:"run"`
	Routes  map[string]keptRoute `json:"routes"`
}

type keptRoute struct {
	Position Position `json:"position"`
	Zero     uint64   `json:"zero"`
	Trip     Trip     `json:"trip,omitzero"`
	// Counts are those of the last report, and Before those of earlier runs.
	Counts whittle.Counts   `json:"counts,omitzero"`
	Before []whittle.Counts `json:"before,omitempty"`
}

// Unsaved reports whether something has come since Kept was called.
func (n *Node) Unsaved() bool { return n.unsaved }

// Kept is what is to be saved for the next run of this gateway.
func (n *Node) Kept() []byte {
	n.unsaved = false
	k := kept{Version: formatVersion, Run: n.c.Run, Routes: map[string]keptRoute{}}
	for key, r := range n.routes {
		before := slices.DeleteFunc(slices.Clone(r.before), func(c whittle.Counts) bool { return c.Run == r.counted.Run })
		k.Routes[key] = keptRoute{Position: r.taken, Zero: r.zero, Trip: r.trip, Counts: r.counted, Before: before}
	}
	b, _ := json.Marshal(k) // plain values
	return b
}

func (n *Node) restore(b []byte) {
	var k kept
	if !decode(b, &k, &k.Version) {
		return
	}
	n.c.Run = max(n.c.Run, k.Run+1)
	for key, r := range n.routes {
		was := k.Routes[key]
		r.taken, r.zero, r.trip, r.counted = was.Position, was.Zero, was.Trip, was.Counts
		for _, c := range append(was.Before, was.Counts) {
			r.remember(c, true)
		}
		if was.Trip.Member == n.c.Member {
			r.own = was.Trip
		}
	}
}

// Taken is the position that this gateway goes by, whatever it has in force.
func (n *Node) Taken(name string) Position {
	if r := n.routes[RouteKey(name)]; r != nil {
		return r.taken
	}
	return Position{}
}
