package fleet

import "maps"

// tickPermits gives each gateway that is heard of an equal part of what may be exposed to a
// candidate. What a gateway had that went silent is in force until its lease is over, and what
// a process had that was restarted until its requests are: meanwhile the bound is the sum.
func (n *Node) tickPermits() {
	if !n.settled() {
		return
	}
	gateways := 0
	for _, s := range n.lead.seats {
		if n.alive(s) {
			gateways++
		}
	}
	limits := map[string]int{}
	for _, r := range n.routes {
		c := r.spec.Candidate
		limits[c] = max(limits[c], max(1, r.spec.Exposure)/max(1, gateways))
	}
	if n.permitsRev == 0 || !maps.Equal(limits, n.permits.Limits) {
		expect := n.permitsRev
		n.write(kindPermits, Permits{Version: formatVersion, Term: n.lead.number, Limits: limits}, &expect)
	}
}

// sawPermits takes the permits that are in force.
func (n *Node) sawPermits(e Entry) {
	n.permitsRev = e.Revision
	var p Permits
	if !decode(e.Value, &p, &p.Version) {
		p = Permits{} // what cannot be read permits nothing
	}
	n.permits = p
}
