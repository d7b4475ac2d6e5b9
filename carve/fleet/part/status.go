package part

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/fleet"
	"whittle/carve/fleet/jetstream"
)

// listEvery is how old a list of the members may be that is shown.
const listEvery = time.Second

// members are the gateways' reports.
type members struct {
	// reports are a leader's, by the routes' keys.
	reports atomic.Pointer[map[string][]control.Report]

	mu     sync.Mutex // guards the following
	listed []jetstream.Reported
	at     time.Time
	read   time.Time // when listed was
	failed error
}

// list are all gateways' last reports, at most so old, and what time it is by the clock of
// who wrote them down: this gateway's own may be off.
func (p *Part) list() (all []jetstream.Reported, now time.Time, err error) {
	m := &p.members
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renew(func() ([]jetstream.Reported, error) {
		if !p.member.IsConnected() {
			return nil, whittle.Errorf(whittle.Unavailable, "NATS is away")
		}
		ctx, cancel := context.WithTimeout(context.Background(), p.o.Fleet.Node.Lease)
		defer cancel()
		return p.member.Reported(ctx)
	})
	for i := range m.listed {
		if at := m.listed[i].At; at.After(now) {
			now = at
		}
	}
	return m.listed, now.Add(time.Since(m.read)), m.failed
}

// renew reads the reports anew, where it is time to. Who waits for a store that hangs has
// what came of it then, and does not ask again. The caller holds mu.
func (m *members) renew(read func() ([]jetstream.Reported, error)) {
	if time.Since(m.at) < listEvery {
		return
	}
	all, err := read()
	if m.failed, m.at = err, time.Now(); err == nil {
		slices.SortFunc(all, func(a, b jetstream.Reported) int { return cmp.Compare(a.Member, b.Member) })
		m.listed, m.read = all, m.at
	}
}

// Fleet shows the fleet, and says what is wrong with it.
func (p *Part) Fleet() *whittle.FleetStatus {
	s := p.seen.Load()
	out := &whittle.FleetStatus{
		Name: p.o.Fleet.Name, Member: p.o.Fleet.Node.Member, Leader: s.leader, Connected: s.connected, CutOff: s.cutOff,
		Members: []whittle.FleetMember{}, Wrong: []string{},
	}
	listed, now, err := p.list()
	t := p.table.Load()
	for i := range listed {
		if m := p.memberOf(&listed[i], t, s, now); m.Silent < fleet.Gone.Seconds() {
			out.Members = append(out.Members, m)
		}
	}
	if err != nil {
		out.Wrong = append(out.Wrong, fmt.Sprintf("The members cannot be read, and are shown as they were: %v.", err))
	}
	out.Wrong = append(out.Wrong, p.wrong(out)...)
	for i := range listed {
		if text := clockWrong(&listed[i], p.o.Fleet.Node.Lease); text != "" && now.Sub(listed[i].At) < fleet.Gone {
			out.Wrong = append(out.Wrong, text)
		}
	}
	return out
}

// clockWrong says of a gateway whose clock is far from that of the server that has its
// report. Empty: it is not, as far as the way there shows.
func clockWrong(r *jetstream.Reported, lease time.Duration) string {
	off, side := r.Report.At.Sub(r.At), "ahead of"
	if off < 0 {
		off, side = -off, "behind"
	}
	if off < 2*lease || r.Report.At.IsZero() {
		return ""
	}
	return fmt.Sprintf("The clock of %s is %s %s the NATS servers': have it set (NTP).", r.Member, off.Round(time.Second), side)
}

// memberOf is one gateway as it is shown.
func (p *Part) memberOf(r *jetstream.Reported, t *table, s *seen, now time.Time) whittle.FleetMember {
	silent := max(0, now.Sub(r.At))
	m := whittle.FleetMember{
		Name: r.Member, Version: r.Program, Leads: r.Member == s.leader, Reported: r.At, Silent: silent.Seconds(),
		Alive: silent < p.o.Fleet.Node.Lease*9/8, Connected: r.Connected, Routes: []whittle.FleetMemberRoute{},
	}
	for name := range t.routes {
		at, ok := r.Routes[fleet.RouteKey(name)]
		if !ok {
			continue
		}
		f := s.force[name]
		one := whittle.FleetMemberRoute{
			Route: name, Share: at.InForce, Generation: at.Generation, Config: at.Digest,
			Other: f.digest != "" && at.Digest != f.digest, Trip: at.Reason, Requests: at.Counts.Ledger.Total,
		}
		if f.generation > at.Generation {
			one.Lag = f.generation - at.Generation
		}
		m.Routes = append(m.Routes, one)
	}
	slices.SortFunc(m.Routes, func(a, b whittle.FleetMemberRoute) int { return cmp.Compare(a.Route, b.Route) })
	return m
}

// wrong is what somebody should look at.
func (p *Part) wrong(f *whittle.FleetStatus) (all []string) {
	switch {
	case p.seen.Load().replaced:
		all = append(all, "Another process has the name "+f.Member+", so this one has no part in the fleet: give each gateway a name of its own (fleet.member).")
	case !f.CutOff.IsZero():
		all = append(all, fmt.Sprintf("%s is cut off since %s, so the monolith serves every user there%s", f.Member, f.CutOff.UTC().Format(time.RFC3339), p.trouble()))
	case !f.Connected:
		all = append(all, f.Member+" has not heard of the fleet yet"+p.trouble())
	case f.Leader == fleet.Unread:
		all = append(all, "The gateway that leads is of a later version, which "+f.Member+" cannot read, so the monolith serves every user here: update this gateway.")
	case f.Leader == "":
		all = append(all, "Nobody leads, so nothing rises: another gateway will within a few leases.")
	}
	if f.Connected {
		all = append(all, p.member.Wrong()...)
	}
	versions := map[string]bool{}
	for i := range f.Members {
		m := &f.Members[i]
		if !m.Alive {
			all = append(all, fmt.Sprintf("%s has not reported for %s.", m.Name, time.Duration(m.Silent*float64(time.Second)).Round(time.Second)))
			continue
		}
		versions[m.Version] = true
		if !m.Connected {
			all = append(all, m.Name+" does not hear of the fleet, so the monolith serves every user there.")
		}
		var others []string
		for _, r := range m.Routes {
			if r.Other {
				others = append(others, r.Route)
			}
		}
		if len(others) > 0 {
			otherwise := ""
			if i := slices.IndexFunc(f.Members, func(l whittle.FleetMember) bool { return l.Leads }); i >= 0 && f.Members[i].Version != m.Version {
				otherwise = fmt.Sprintf(", or its version reads it otherwise (%s, and %s leads)", m.Version, f.Members[i].Version)
			}
			all = append(all, fmt.Sprintf("%s has another config than the leader for %s%s, and has no part there.", m.Name, strings.Join(others, ", "), otherwise))
		}
		if len(m.Routes) < len(p.table.Load().routes) {
			all = append(all, m.Name+" has not all of the routes that "+f.Member+" has: give all gateways of a fleet the same config, or another fleet its own fleet.name.")
		}
	}
	alive := 0
	for i := range f.Members {
		if f.Members[i].Alive {
			alive++
		}
	}
	for name, r := range p.table.Load().routes {
		if most := r.spec.Guard.Exposure; most < alive {
			all = append(all, fmt.Sprintf("guard.exposure of %s is %d, and there are %d gateways, so nobody is on the candidate: raise it.", name, most, alive))
		}
	}
	if len(versions) > 1 {
		all = append(all, "Gateways have different versions, as they do while they are updated.")
	}
	return all
}

// trouble is why nothing is heard of the fleet, as a clause behind a sentence.
func (p *Part) trouble() string {
	why := p.member.Trouble()
	if !strings.HasSuffix(why, "?") {
		why += "."
	}
	return ": " + why
}

var (
	descConnected = prometheus.NewDesc("whittle_fleet_connected", "1 while this gateway hears of its fleet.", nil, nil)
	descLeads     = prometheus.NewDesc("whittle_fleet_leads", "1 while this gateway leads its fleet.", nil, nil)
	descLed       = prometheus.NewDesc("whittle_fleet_has_leader", "1 while somebody leads, as far as is known here.", nil, nil)
	descForce     = prometheus.NewDesc("whittle_fleet_share_in_force",
		"Share of the route's users that the candidate serves at this gateway, 0 to 1.", []string{"route"}, nil)
)

func (p *Part) collect(ch chan<- prometheus.Metric) {
	s := p.seen.Load()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	one := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	gauge(descConnected, one(s.connected))
	gauge(descLeads, one(s.leads))
	gauge(descLed, one(s.leader != ""))
	for name, f := range s.force {
		gauge(descForce, float64(f.share)/float64(whittle.All), name)
	}
}
