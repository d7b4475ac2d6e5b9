package part

import (
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/carve/fleet"
)

// place is this gateway's place in the fleet, on its way from one process to another.
type place struct {
	mu sync.Mutex // guards the following
	// limits are the permits that were last put in force, by candidate.
	limits map[string]int
	// kept says that Keep has been called.
	kept bool
	// until is when they are over, with this gateway's lease.
	until time.Time
	// past are the last reports of processes that this one has replaced, by route.
	past map[string][]pastCounts
	// from is what the process had that this one has replaced.
	from     fleet.Handed
	replaces bool
}

type pastCounts struct {
	whittle.Counts
	seen time.Time
}

// pastFor is for how many leases the last report of a process that was replaced is among
// this one's: whoever leads has it by then.
const pastFor = 10

// HandOver says that another process goes on where this one stops: when Run ends, it leaves
// this gateway's place to it. If nobody takes the place, Run may be called again.
func (p *Part) HandOver() { p.member.HandOver() }

// Handed is the place that was left, as of now.
func (p *Part) Handed() []byte { return p.member.Handed() }

// Keep is how many users' requests this process may still have exposed, by candidate, once
// the other process has taken its place: those that are exposed now, and at most half of what
// was allowed. They count against the other process's permits. The number falls as clients
// leave.
func (p *Part) Keep() map[string]int {
	l := &p.place
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := map[string]int{}
	leaving := p.o.Gateway.Leaving()
	for _, r := range p.table.Load().routes {
		if _, lowered := kept[r.candidate]; !lowered {
			l.lower(r.candidate, leaving)
		}
		limit := l.limits[r.candidate]
		p.o.Gateway.Permit(r.spec.Name, limit, time.Time{}) // before the look at what is exposed: it may be no more then
		kept[r.candidate] = max(limit, p.o.Gateway.Use(r.spec.Name).Exposed)
	}
	l.kept = true
	for candidate := range kept {
		kept[candidate] += p.exposed(candidate, time.Time{})
	}
	return kept
}

// lower lowers a candidate's permits here to half of them, and then to what clients that are
// leaving may need. The caller holds mu.
func (l *place) lower(candidate string, leaving int) {
	switch {
	case l.kept:
	case time.Now().After(l.until):
		l.limits[candidate] = 0
	default:
		l.limits[candidate] /= 2
	}
	if leaving >= 0 {
		l.limits[candidate] = min(l.limits[candidate], leaving)
	}
}

// Left lets go of the fleet: another process has taken this one's place.
func (p *Part) Left() { p.member.Close() }

// Lost takes all users off the candidate here, because nothing is heard of the fleet any more.
func (p *Part) Lost() {
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	for _, r := range p.table.Load().routes {
		p.place.limits[r.candidate] = 0
		p.o.Gateway.Permit(r.spec.Name, 0, time.Time{})
	}
}

// permit puts a candidate's permits in force for a route, but for those that processes
// have which this one has replaced, until this gateway's lease is over.
func (p *Part) permit(r *route, limit int, until time.Time) {
	limit = max(0, limit-p.exposed(r.candidate, time.Time{}))
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	p.place.limits[r.candidate], p.place.until = limit, until
	p.o.Gateway.Permit(r.spec.Name, limit, until)
}

// exposed is what those processes may have exposed.
func (p *Part) exposed(candidate string, good time.Time) int {
	if p.o.Exposed == nil {
		return 0
	}
	return p.o.Exposed(candidate, good)
}

// ObserveOf sends an exchange of a gateway that this process has replaced, under its run.
func (p *Part) ObserveOf(run uint64, x *whittle.Exchange) whittle.Observation {
	r := p.table.Load().routes[x.Route]
	if r == nil || p.place.replaces && p.place.from.Digest(x.Route) != r.digest {
		return whittle.Observation{Skip: whittle.SkipStale} // of another config
	}
	return p.observe(r, run, x)
}

// Ended takes the last report of a gateway that this process has replaced.
func (p *Part) Ended(route string, last whittle.Counts) {
	last.At, last.Over = time.Now(), true
	p.place.mu.Lock()
	defer p.place.mu.Unlock()
	p.place.took(route, last, time.Now())
}

// took keeps a report. The caller holds mu.
func (l *place) took(route string, c whittle.Counts, now time.Time) {
	all := l.past[route]
	i := slices.IndexFunc(all, func(had pastCounts) bool { return had.Run == c.Run })
	switch {
	case i < 0:
		all = append(all, pastCounts{c, now})
	case c.Seq > all[i].Seq || c.Over && c.Seq == all[i].Seq:
		all[i] = pastCounts{c, now}
	}
	l.past[route] = all
}

// replaced are the last reports of gateways that this process has replaced.
func (p *Part) replaced(route string) (all []whittle.Counts) {
	if p.o.Others == nil {
		return nil
	}
	now := time.Now()
	others := p.o.Others(route)
	l := &p.place
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range others {
		c.At = now
		l.took(route, c, now)
	}
	l.past[route] = slices.DeleteFunc(l.past[route], func(c pastCounts) bool { return now.Sub(c.seen) > pastFor*p.o.Fleet.Node.Lease })
	for _, c := range l.past[route] {
		all = append(all, c.Counts)
	}
	return all
}
