package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// tickGrants deals the permits out anew where somebody needs others.
//
// At no time are more owed than the candidate's bound: a limit that is lowered is owed
// until its gateway has confirmed it, and what a silent gateway had is owed until its
// lease is over and a request that began afterwards has got a good response, which
// proves that what it may have touched was not broken.
func (n *Node) tickGrants() {
	if n.busy[kindGrants] || n.now.since(n.lead.dealt) < n.c.Lease/(8*beats) || !n.settled() {
		return
	}
	n.lead.dealt = n.now
	next := Grants{
		Version: formatVersion, Term: n.lead.number, Seq: n.grants.Seq + 1, Era: n.grants.Era,
		Candidates: map[string]map[string]Grant{},
	}
	for _, s := range n.lead.seats {
		next.Seq = max(next.Seq, s.Report.Grants+1)
	}
	for _, candidate := range n.candidates() {
		next.Candidates[candidate] = n.deal(candidate, &next)
	}
	if !maps.EqualFunc(next.Candidates, n.grants.Candidates, maps.Equal) || n.grants.Era != next.Era ||
		next.Seq > n.grants.Seq+1 || n.grantsShown < n.grants.Seq {
		expect := n.grantsRev
		n.write(kindGrants, next, &expect)
	}
}

// candidates are those that have routes, in order.
func (n *Node) candidates() []string {
	var all []string
	for _, r := range n.routes {
		all = append(all, r.spec.Candidate)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// bound is how many users' requests may be exposed to a candidate: the largest of its
// routes' bounds. idle: none of these routes has users, as far as is known.
func (n *Node) bound(candidate string) (most int, idle bool) {
	idle = true
	for _, r := range n.routes {
		if r.spec.Candidate == candidate {
			most = max(most, r.spec.Exposure)
			idle = idle && r.stored.Share == 0 && r.taken.Share == 0 && !r.unshown()
		}
	}
	return max(most, 1), idle
}

// holder is who permits are given to: one run of a gateway.
func holder(member string, run uint64) string { return member + "@" + strconv.FormatUint(run, 36) }

func (n *Node) holder() string { return holder(n.c.Member, n.c.Run) }

// dealing is a candidate's table that is being made.
type dealing struct {
	n         *Node
	candidate string
	bound     int
	idle      bool
	next      *Grants
	// live are the holders that are heard of, in order.
	live  []string
	seats map[string]*Seat
	table map[string]Grant
	// spent permits have had no good response since, or are a silent gateway's, which are
	// also in lost.
	spent, lost int
}

func (d *dealing) use(holder string) Use { return d.seats[holder].Report.Uses[d.candidate] }

// deal is a candidate's table anew.
func (n *Node) deal(candidate string, next *Grants) map[string]Grant {
	d := &dealing{n: n, candidate: candidate, next: next, seats: map[string]*Seat{}, table: map[string]Grant{}}
	d.bound, d.idle = n.bound(candidate)
	able := 0
	for _, member := range n.lead.names {
		if s := n.lead.seats[member]; n.alive(s) {
			h := holder(member, s.Report.Run)
			d.live, d.seats[h] = append(d.live, h), s
			d.table[h] = d.owed(h)
			d.spent += d.use(h).Unproven
			able += max(0, d.table[h].Limit-d.use(h).Unproven)
		}
	}
	before := n.grants.Candidates[candidate]
	for _, h := range slices.Sorted(maps.Keys(before)) {
		if _, there := d.table[h]; !there {
			if g, owes := d.silent(h, before[h]); owes {
				d.table[h] = g
				d.spent, d.lost = d.spent+g.Owed, d.lost+g.Owed
			}
		}
	}
	d.share()
	// Nothing is the same as no entry, so the table grows with the bound and not with
	// the gateways.
	maps.DeleteFunc(d.table, func(_ string, g Grant) bool { return g.Limit == 0 && g.Owed == 0 })
	if d.spent >= d.bound && able == 0 && !d.idle && len(d.live) > 0 {
		n.exhausted(d)
	} else {
		delete(n.lead.exhausted, candidate)
	}
	return d.table
}

// owed is what a live gateway has, by the grants in force and by its own report.
func (d *dealing) owed(h string) Grant {
	g, use := d.n.grants.Candidates[d.candidate][h], d.use(h)
	if d.seats[h].Report.Grants >= g.Since {
		g.Owed = max(g.Limit, use.Exposed)
	} else {
		g.Owed = max(g.Owed, g.Limit, use.Exposed)
	}
	g.Owed, g.Era = max(g.Owed, use.Limit), 0
	return g
}

// silent is what a gateway that nothing is heard of may still have. It is not owed any
// more once a later era has had a good response, or no route has users.
func (d *dealing) silent(h string, g Grant) (Grant, bool) {
	if g.Limit != 0 {
		g.Limit, g.Since = 0, d.next.Seq
	}
	if g.Era == 0 {
		d.next.Era++
		g.Era = d.next.Era
		return g, true
	}
	n := d.n
	over := n.lead.began
	member, _, _ := strings.Cut(h, "@")
	if s := n.lead.seats[member]; s != nil && holder(member, s.Report.Run) == h {
		over = s.seen
	} else if s != nil {
		over = s.entered
	}
	if n.now.Mono-over.Mono < n.c.Lease*9/8+n.c.Linger {
		return g, true
	}
	for other := range d.seats {
		if d.use(other).GoodEra >= g.Era {
			return g, false
		}
	}
	return g, !d.idle
}

// share divides what is not spent over the live gateways: half of it evenly, since users
// may be at another gateway a moment later, and half by what they have needed of late.
// What is not free is not given: a gateway that is to have less gives it back
// first. Who has spent the most comes first, because one more request that gets a good
// response there makes up for all of it.
func (d *dealing) share() {
	free := d.bound
	for _, g := range d.table {
		free -= g.Owed
	}
	var partners []string
	sum := 0.0
	for _, h := range d.live {
		switch g := d.table[h]; {
		case d.n.partner(d.candidate, d.seats[h]):
			partners = append(partners, h)
			sum += d.need(h)
		case g.Limit != 0:
			g.Limit, g.Since = 0, d.next.Seq
			d.table[h] = g
		}
	}
	slices.SortStableFunc(partners, func(a, b string) int { return cmp.Compare(d.use(b).Unproven, d.use(a).Unproven) })
	left := d.bound - d.spent
	even := left / 2 / max(len(partners), 1)
	byNeed := float64(left - even*len(partners))
	calm := free >= 0 && !slices.ContainsFunc(partners, func(h string) bool { return d.table[h].Limit <= d.use(h).Unproven })
	for i, h := range partners {
		others := len(partners) - 1 - i
		part := max(even+int(byNeed*d.need(h)/sum), 1)
		part = max(min(part, left-others), min(1, left), 0)
		left -= part
		spent := d.use(h).Unproven
		if able := d.table[h].Limit - spent; calm && part*4 >= able*3 && part*3 <= able*4 {
			continue // not for so little
		}
		d.limit(h, spent+part, &free)
	}
}

// need is what a gateway has needed of late, in relation to the others.
func (d *dealing) need(h string) float64 { return 1 + 2*d.seats[h].peaks[d.candidate] }

// limit gives a gateway what it is to have, as far as it is free.
func (d *dealing) limit(h string, target int, free *int) {
	g := d.table[h]
	has := max(g.Owed, g.Limit)
	limit := max(0, min(target, has+*free)) // less than it has, where one came back that was given up
	*free -= max(0, limit-has)
	if limit != g.Limit {
		g.Limit, g.Since = limit, d.next.Seq
		g.Owed = max(g.Owed, limit)
		d.table[h] = g
	}
}

// partner reports whether a gateway has the leader's config of one of the candidate's
// routes.
func (n *Node) partner(candidate string, s *Seat) bool {
	for key, r := range n.routes {
		if r.spec.Candidate == candidate && s.Report.Routes[key].Digest == r.spec.Digest {
			return true
		}
	}
	return false
}

// exhausted trips the candidate's routes once no gateway that is heard of has had a permit left
// for a whole lease, since without one no good response can come. Nobody is exposed meanwhile,
// and gateways that only report late are back by then. If none is heard of, it is not known
// what they have spent, and none has a share.
func (n *Node) exhausted(d *dealing) {
	since, known := n.lead.exhausted[d.candidate]
	if !known {
		n.lead.exhausted[d.candidate] = n.now
		return
	}
	if n.now.Mono-since.Mono < n.c.Lease {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(n.routes)) {
		if r := n.routes[key]; r.spec.Candidate == d.candidate && r.stored.Share > 0 {
			n.tripAt(r, r.stored.Generation, fmt.Sprintf("%d requests without a good response over all gateways, the bound on exposure; %d of them may be gateways' that are silent", d.spent, d.lost))
		}
	}
}
