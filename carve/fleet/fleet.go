// Package fleet makes one rollout of many gateways, as a state machine: what a store
// shows and what a gateway sees go in, what is to be written and what is in force come
// out. It does no I/O, starts no goroutine and reads no clock.
//
// All gateways read and write one log, the keys of a replicated store (docs/fleet.md).
// A member applies positions by generation, and has no share once its own reports stop
// coming back to it. One member leads: it alone writes positions and leases out the
// permits of guard.exposure, each write on the condition of the revision that it saw.
package fleet

import (
	"encoding/json"
	"slices"
	"time"

	"whittle"
)

// Instant is a moment by a process's two clocks.
type Instant struct {
	// Mono never jumps, but may stand still while the machine is suspended.
	Mono time.Duration
	// Wall goes on meanwhile, but may be set.
	Wall time.Duration
}

// since is the time that has passed since o, by the clock that says more.
func (t Instant) since(o Instant) time.Duration { return max(t.Mono-o.Mono, t.Wall-o.Wall) }

// advance takes the time. Within the node, Wall adds up what the clock that says more
// has gone on each time: setting a clock back takes nothing away.
func (n *Node) advance(now Instant) {
	passed := max(0, now.since(n.raw))
	n.raw, n.now = now, Instant{Mono: now.Mono, Wall: n.now.Wall + passed}
}

// Route is what the fleet knows of a route with a candidate.
type Route struct {
	Name string
	// Digest is that of the route's config. Gateways whose digest is not the leader's
	// have no part in the route.
	Digest string
	// Candidate names the server that Exposure bounds the users of: routes of one
	// candidate share its permits.
	Candidate string
	Exposure  int
}

// Config makes a Node.
type Config struct {
	// Member is the gateway's name within the fleet. Run numbers its processes, each higher
	// than the last: it is raised above that of Kept, and above what the store has when this
	// one begins.
	Member string
	Run    uint64
	// Version is the program's.
	Version string
	// Lease is after which silence a gateway has no share and a leader no say.
	Lease  time.Duration
	Routes []Route
	// Kept is what Node.Kept gave in an earlier run. Nil: there was none.
	Kept []byte
	// Counts gives the gateway's own figures, for its reports. Nil: none.
	Counts func(route string) whittle.Counts
}

// beats is how many reports and renewals are sent within a lease.
const beats = 4

// Node is one gateway's part in the fleet. It is for one goroutine.
type Node struct {
	c      Config
	raw    Instant // as last given
	now    Instant
	routes map[string]*route // by RouteKey
	out    []*Write
	busy   map[string]bool // keys with a write under way

	// heard is when the last report was sent that has come back; zero: none has.
	heard    Instant
	everSeen bool
	// sent is when the reports on their way were sent, by their number.
	sent map[uint64]Instant
	seq  uint64
	// restarting says that the watch shows what was there before it began, and came
	// which report of this gateway's it has shown.
	restarting bool
	came       uint64
	reported   Instant
	urgent     bool // something must be reported at once
	unsaved    bool // something has come that Kept has to have
	final      bool // the last report is being made
	// named is since when one leader, of term namedTo, hears of this gateway.
	named   Instant
	namedTo uint64
	// replaced says that a later process has this gateway's name.
	replaced bool

	lease    Lease
	leaseRev uint64
	// leaseSeen is when the lease last changed, and known that it was looked for.
	leaseSeen Instant
	known     bool
	renewals  map[uint64]Instant // of our own lease, by number
	permits   Permits
	// permitsRev is the revision of what the store has of them, as last seen.
	permitsRev uint64
	lead       *term
	taken      uint64 // the term that was last asked for
}

// New makes a node that has heard of nothing yet.
func New(c Config, now Instant) *Node {
	n := &Node{
		c: c, raw: now, now: Instant{Mono: now.Mono}, routes: map[string]*route{}, busy: map[string]bool{},
		sent: map[uint64]Instant{}, renewals: map[uint64]Instant{}, urgent: true,
	}
	n.SetRoutes(c.Routes)
	n.restore(c.Kept)
	n.unsaved = true
	return n
}

// SetRoutes takes another config's routes. A route that stays keeps what is known of
// it.
func (n *Node) SetRoutes(routes []Route) {
	old := n.routes
	n.routes = map[string]*route{}
	for _, spec := range routes {
		key := RouteKey(spec.Name)
		r := old[key]
		if r == nil {
			r = &route{}
		}
		r.spec = spec
		n.routes[key] = r
	}
	n.urgent = true
}

// Tick lets time pass: reports, renewals, claims and permits are sent when they are
// due.
func (n *Node) Tick(now Instant) {
	n.advance(now)
	n.connected()
	n.report()
	n.tickTrips()
	n.tickLease()
	n.tickLead()
}

// Saw takes an entry of the store as the watch shows it, in the store's order.
func (n *Node) Saw(e Entry, now Instant) {
	n.advance(now)
	switch kind, name := splitKey(e.Key); kind {
	case kindPosition:
		n.sawPosition(name, e)
	case kindTrip:
		n.sawTrip(name, e)
	case kindMember:
		n.sawReport(name, e)
	case kindLease:
		n.sawLease(e)
	case kindPermits:
		n.sawPermits(e)
	}
}

// Restarted says that the watch begins again, with all that the store has: what it does
// not show then, the store has lost.
func (n *Node) Restarted() {
	n.restarting, n.came = true, 0
	n.leaseRev, n.permitsRev = 0, 0
	for _, r := range n.routes {
		r.rev, r.stored, r.tripShown, r.tripRev = 0, Position{}, 0, 0
	}
}

// Final reports a last time, before the gateway ends.
func (n *Node) Final(now Instant) {
	n.advance(now)
	delete(n.busy, memberKey(n.c.Member))
	n.urgent, n.final = true, true
	n.report()
}

// Synced says that the watch has shown all that the store has. Until then a node
// does not know whether there is a leader.
func (n *Node) Synced(now Instant) {
	n.advance(now)
	if !n.known {
		n.known, n.leaseSeen, n.urgent = true, n.now, true
	}
	n.restarting = false
	n.back(n.came)
}

// Wrote says that a write is over, whatever has become of it: the watch shows what did.
func (n *Node) Wrote(w *Write) { delete(n.busy, w.Key) }

// Writes takes what is to be written.
func (n *Node) Writes() []*Write {
	out := n.out
	n.out = nil
	return out
}

// write asks for one write of a key at a time.
func (n *Node) write(key string, v any, expect *uint64) bool {
	if n.busy[key] {
		return false
	}
	n.busy[key] = true
	b, _ := json.Marshal(v) // plain values
	n.out = append(n.out, &Write{Key: key, Value: b, Expect: expect})
	return true
}

// Connected reports whether the store has shown this gateway's own report within the
// lease: all that was written before it has been seen, too. A gateway that was cut off
// for a moment, by whichever clock, stays so until a report that it sends afterwards
// comes back: a clock may be set back meanwhile.
func (n *Node) Connected(now Instant) bool {
	n.advance(now)
	return n.connected()
}

func (n *Node) connected() bool {
	if n.everSeen && n.now.since(n.heard) >= n.c.Lease {
		n.everSeen, n.urgent = false, true
		clear(n.sent)
	}
	return n.everSeen && !n.replaced
}

// Replaced reports whether a later process has this gateway's name: this one has no part
// in the fleet any more.
func (n *Node) Replaced() bool { return n.replaced }

// report sends what this gateway knows, which is also how it hears that it is
// connected.
func (n *Node) report() {
	if n.replaced || !n.urgent && n.now.since(n.reported) < n.c.Lease/beats {
		return
	}
	n.dropBefore()
	r := Report{
		Version: formatVersion, Member: n.c.Member, Run: n.c.Run, Seq: n.seq + 1, At: n.wall(), Program: n.c.Version,
		Connected: n.connected(), Routes: map[string]RouteReport{},
	}
	for key, rt := range n.routes {
		r.Routes[key] = rt.reported(n)
	}
	if !n.known { // its report of an earlier run is read before this one takes its place
		n.reported, n.urgent, n.unsaved = n.now, false, true
		return
	}
	if !n.write(memberKey(n.c.Member), r, nil) {
		return
	}
	n.seq++
	n.sent[n.seq], n.reported, n.urgent = n.now, n.now, false
	n.unsaved = n.unsaved || !r.Connected // nobody else may come to know of it
	delete(n.sent, n.seq-maxSent)
}

// namedFor is for how many leases reports to one leader name the run before this one. By then
// the leader has it in its record.
const namedFor = 10

// dropBefore leaves the run before out of the reports, once a leader has it.
func (n *Node) dropBefore() {
	if !n.connected() || n.lease.Holder == "" || n.lease.Term != n.namedTo {
		n.named, n.namedTo = n.now, n.lease.Term
		return
	}
	if n.now.Mono-n.named.Mono < namedFor*n.c.Lease {
		return
	}
	for _, r := range n.routes {
		r.before = nil
	}
}

// wall is the time by the clock that may be set.
func (n *Node) wall() time.Time { return time.Unix(0, int64(n.raw.Wall)).UTC() }

// maxSent bounds the reports on their way that are waited for.
const maxSent = 64

// sawReport takes a member's report: its own is the proof that it is connected, and
// others are for the leader.
func (n *Node) sawReport(name string, e Entry) {
	var r Report
	if !decode(e.Value, &r, &r.Version) || r.Member != name {
		return
	}
	if r.Member == n.c.Member && r.Run == n.c.Run {
		// A watch that begins shows the last value of each key: what it shows before a
		// report is not all that was written before.
		if n.came = r.Seq; !n.restarting {
			n.back(r.Seq)
		}
	}
	if r.Member == n.c.Member && r.Run > n.c.Run && !n.known {
		n.c.Run, n.unsaved = r.Run+1, true // its clock was ahead, and what it kept is lost
	}
	if r.Member == n.c.Member && r.Run > n.c.Run && !n.restarting {
		n.replaced = true
	}
	if r.Member == n.c.Member && r.Run < n.c.Run {
		n.sawBefore(r)
	}
	if n.lead != nil {
		n.lead.took(r, e.Revision, n.now)
	}
}

// sawBefore takes what the runs before have counted from the last report in the store: a
// process that was killed has saved less of it, or nothing.
func (n *Node) sawBefore(r Report) {
	for key, rt := range n.routes {
		was := r.Routes[key]
		another := !n.known || len(rt.before) == 0
		for _, c := range append(was.Earlier, was.Before, was.Counts) {
			rt.remember(c, another)
		}
	}
}

// maxBefore bounds the runs that are remembered until a leader has them.
const maxBefore = 8

// remember takes the last report of a run before this one: a later one of a run that is
// remembered, or that of another run, which comes behind those, where there may be one.
func (r *route) remember(c whittle.Counts, another bool) {
	i := slices.IndexFunc(r.before, func(b whittle.Counts) bool { return b.Run == c.Run })
	switch {
	case c.Run == 0:
	case i >= 0 && r.before[i].Seq < c.Seq:
		r.before[i] = c
	case i < 0 && another:
		r.before = append(r.before, c)
		r.before = r.before[max(0, len(r.before)-maxBefore):]
	}
}

// back takes note that a report of this gateway's has come back.
func (n *Node) back(number uint64) {
	at, ok := n.sent[number]
	if ok && (!n.everSeen || at.Mono > n.heard.Mono) {
		n.heard, n.everSeen = at, true
	}
	for seq := range n.sent {
		if seq <= number {
			delete(n.sent, seq)
		}
	}
}

// Members are the names of the gateways that have reported to this leader.
func (n *Node) Members() []Seat {
	if n.lead == nil {
		return nil
	}
	var all []Seat
	for _, name := range n.lead.names {
		s := *n.lead.seats[name]
		s.Silent = n.now.Mono - s.seen.Mono
		s.Alive = n.alive(n.lead.seats[name])
		all = append(all, s)
	}
	return all
}
