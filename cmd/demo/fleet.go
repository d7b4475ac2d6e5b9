package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"whittle"
	"whittle/carve/admin"
	"whittle/carve/rollout"
	"whittle/cmdline"
	"whittle/internal/chart"
)

type demoFleetVerb struct {
	demoFlags
	Short bool `help:"A minute: shorter steps, for CI."`
}

// Help gives the examples.
func (demoFleetVerb) Help() string {
	return `About two minutes on real processes: the Node monolith, the count service as it was published and mended, a NATS server, and three gateways that make one rollout. The gateway that leads is killed in the middle of the shift, and so is the service. Run it inside the repository after "make build" and "make deps" ("make demo-fleet" does all).

Examples:
  demo fleet
  demo fleet --short
  demo fleet --out figures`
}

// Run runs the demo; its error says which act failed.
func (v *demoFleetVerb) Run(ctx context.Context, s cmdline.Streams) error {
	return v.play(ctx, s, "fleet", func(on *stage) (demo, error) {
		size := countFull
		if v.Short {
			size = countShort
		}
		return newFleetDemo(ctx, on, size)
	})
}

// fleetLease is the fleet's, shorter than the default: the demo is short, too.
const fleetLease = 2 * time.Second

// fleetFigures is what the demo found; it is written as demo-fleet.json.
type fleetFigures struct {
	played

	AsPublished shadowBlock `json:"as_published"`
	Mended      shadowBlock `json:"mended"`
	// Refused is the response to a promotion that was ordered at a gateway that does not
	// lead.
	Refused string `json:"refused"`
	// LedAfterMS is from the kill of the leader to another one.
	LedAfterMS float64 `json:"led_after_ms"`
	// RolledBackMS is from the kill of the service to a share of 0 in all gateways, and
	// RequestsTouched how many users' requests met it, over all.
	RolledBackMS    float64 `json:"rolled_back_ms"`
	RequestsTouched int64   `json:"requests_touched"`
	seen
	Timeline []whittle.Decision `json:"timeline"`
	Ledger   whittle.Ledger     `json:"ledger"`

	shares map[string][]sharePoint // what users have, by gateway
	killed time.Time
}

// member is one of the gateways.
type member struct {
	*process // nil: it has not been started
	name     string
	admin    *admin.Client
}

// fleetDemo owns the processes and runs the acts.
type fleetDemo struct {
	counting
	nats    string
	members []*member
	figures fleetFigures
}

func newFleetDemo(ctx context.Context, on *stage, size countSize) (*fleetDemo, error) {
	d := &fleetDemo{counting: counting{stage: on, size: size}}
	d.figures = fleetFigures{played: newPlayed("whittle.demo-fleet/1"), shares: map[string][]sharePoint{}}
	on.screen.Heading("demo fleet: three gateways, one rollout")
	if err := d.startNATS(); err != nil {
		return nil, err
	}
	if err := d.start(ctx); err != nil {
		return nil, err
	}
	for i := range 3 {
		m := &member{name: fmt.Sprintf("gateway-%d", i+1)}
		d.members = append(d.members, m)
		if err := d.configure(m, d.published); err != nil {
			return nil, err
		}
		if err := d.startMember(ctx, m); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// startNATS runs a NATS server in this process.
func (d *fleetDemo) startNATS() error {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: filepath.Join(d.work, "nats"), SyncAlways: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "start NATS: %w", err)
	}
	s.Start()
	d.ends = append(d.ends, func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(startTimeout) {
		return whittle.Errorf(whittle.Unavailable, "NATS does not start")
	}
	d.nats = s.ClientURL()
	d.screen.Say("started NATS with JetStream, in this process (%s)", d.nats)
	return nil
}

func (d *fleetDemo) startMember(ctx context.Context, m *member) (err error) {
	m.process, m.admin, err = d.startGateway(ctx, m.name, d.configOf(m))
	return err
}

func (d *fleetDemo) configOf(m *member) string { return filepath.Join(d.work, m.name+".yaml") }

// configure writes a gateway's config.
func (d *fleetDemo) configure(m *member, candidate *process) error {
	return d.writeConfig(d.configOf(m), configured{State: filepath.Join(d.work, m.name+".db"), Candidate: candidate, NATS: d.nats, Member: m.name})
}

// gateways are those of all members but one, or more.
func (d *fleetDemo) gateways(but *member) (all []*process) {
	for _, m := range d.members {
		if m != but {
			all = append(all, m.process)
		}
	}
	return all
}

// play runs the acts.
func (d *fleetDemo) play(ctx context.Context) error {
	err := d.figures.play(ctx, d.stage, func() []*process { return d.gateways(nil) }, []act{
		{"three gateways become a fleet", d.actMeet},
		{"shadow the service as it was published", d.actRefuse},
		{"shadow the mended service", d.actProve},
		{"shift users to it, and kill the gateway that leads in the middle", d.actKillLeader},
		{"break the service", d.actBreak},
		{"mend it and finish the shift", d.actFinish},
	})
	if err == nil {
		d.screen.Say("users' requests: %d; errors among them: %d", d.figures.Requests, d.figures.UserErrors)
	}
	return err
}

// fleet is what a gateway says of the fleet; empty where it does not respond.
func (m *member) fleet(ctx context.Context) whittle.FleetStatus {
	f, err := m.admin.Fleet(ctx)
	if err != nil {
		return whittle.FleetStatus{}
	}
	return f
}

// leader is the gateway that leads, by what another one says.
func (d *fleetDemo) leader(ctx context.Context, but *member) *member {
	for _, m := range d.members {
		if m == but {
			continue
		}
		name := m.fleet(ctx).Leader
		if i := slices.IndexFunc(d.members, func(o *member) bool { return o.name == name && o != but }); i >= 0 {
			return d.members[i]
		}
	}
	return nil
}

// until looks again and again, for at most a bound.
func (d *fleetDemo) until(ctx context.Context, bound time.Duration, what string, look func(ctx context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	if !poll(ctx, 4*pollEvery, func() bool { d.noteShares(ctx); return look(ctx) }) {
		return whittle.Errorf(whittle.FallsShort, "waited %s for %s", bound, what)
	}
	return nil
}

// shareAt is what users have at a gateway, in percent, by its own metrics.
func shareAt(ctx context.Context, m *member) (float64, bool) {
	text, err := fetch(ctx, "http://"+m.Admin+"/metrics")
	if err != nil {
		return 0, false
	}
	v, ok := metricOf(text, fmt.Sprintf("whittle_fleet_share_in_force{route=%q}", demoRoute))
	return 100 * v, ok
}

func (d *fleetDemo) noteShares(ctx context.Context) {
	for _, m := range d.members {
		v, ok := shareAt(ctx, m)
		if !ok {
			continue
		}
		if all := d.figures.shares[m.name]; len(all) == 0 || all[len(all)-1].share != v {
			d.figures.shares[m.name] = append(all, sharePoint{time.Now(), v})
		}
	}
}

// everywhere waits until users have a share at all gateways but one, or more.
func (d *fleetDemo) everywhere(ctx context.Context, bound time.Duration, but *member, ok func(share float64) bool, what string) error {
	return d.until(ctx, bound, what, func(ctx context.Context) bool {
		return !slices.ContainsFunc(d.members, func(m *member) bool {
			if m == but {
				return false
			}
			share, there := shareAt(ctx, m)
			return !there || !ok(share)
		})
	})
}

func (d *fleetDemo) await(ctx context.Context, at *member, bound time.Duration, what string, done func(*whittle.RouteStatus) bool) (*whittle.RouteStatus, error) {
	w := watched{admin: at.admin, route: demoRoute, note: func(*whittle.RouteStatus) { d.noteShares(ctx) }}
	return w.await(ctx, bound, what, done)
}

// follower is a gateway that does not lead.
func (d *fleetDemo) follower(ctx context.Context) *member {
	lead := d.leader(ctx, nil)
	for _, m := range d.members {
		if m != lead {
			return m
		}
	}
	return d.members[0]
}

func (d *fleetDemo) actMeet(ctx context.Context) error {
	err := d.until(ctx, 20*time.Second, "a leader whom all know", func(ctx context.Context) bool {
		lead := d.leader(ctx, nil)
		return lead != nil && !slices.ContainsFunc(d.members, func(m *member) bool {
			f := m.fleet(ctx)
			return f.Leader != lead.name || len(f.Members) != len(d.members)
		})
	})
	if err != nil {
		return err
	}
	d.screen.Say("%s leads; each of the three shows the fleet and takes orders for it", d.leader(ctx, nil).name)
	return nil
}

// ask has users ask all gateways alike, but for one.
func (d *fleetDemo) ask(ctx context.Context, name string, rate float64, most time.Duration, but *member) (loads, error) {
	return d.send(ctx, name, rate/float64(len(d.members)), most, d.gateways(but)...)
}

func (d *fleetDemo) actRefuse(ctx context.Context) error {
	all, err := d.ask(ctx, "mixed.yml", d.size.mixed, d.size.shadow, nil)
	defer all.end()
	if err != nil {
		return err
	}
	at := d.follower(ctx)
	r, err := d.await(ctx, at, d.size.shadow, "the verdict DIFFERENT at a gateway that does not lead", func(r *whittle.RouteStatus) bool {
		return r.Verdict.State == whittle.Different
	})
	if r != nil {
		d.figures.AsPublished = newShadowBlock(r)
		d.sayFindings(&r.Verdict)
	}
	if err != nil {
		return err
	}
	if d.figures.Refused, err = promotionRefused(ctx, at.admin, demoRoute); err != nil {
		return err
	}
	d.screen.Say("promote at %s, which does not lead, refused: %s", at.name, d.figures.Refused)
	return d.figures.account(all)
}

// reconfigure has all gateways take another candidate.
func (d *fleetDemo) reconfigure(ctx context.Context, candidate *process) error {
	for _, m := range d.members {
		if err := d.configure(m, candidate); err != nil {
			return err
		}
	}
	for _, m := range d.members {
		if _, err := d.await(ctx, m, 20*time.Second, "evidence that begins at 0, in shadow", func(r *whittle.RouteStatus) bool {
			return r.Phase == whittle.PhaseShadow && atZero(r)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (d *fleetDemo) actProve(ctx context.Context) error {
	if err := d.reconfigure(ctx, d.mended); err != nil {
		return err
	}
	all, err := d.ask(ctx, "steady.yml", d.size.rate, d.size.shadow, nil)
	defer all.end()
	if err != nil {
		return err
	}
	r, err := d.await(ctx, d.follower(ctx), d.size.shadow, "the verdict EQUIVALENT", func(r *whittle.RouteStatus) bool { return r.Verdict.State != whittle.Undecided })
	if err != nil {
		return err
	}
	d.figures.Mended = newShadowBlock(r)
	d.screen.Say("%s", r.Verdict.Summary)
	if r.Verdict.State != whittle.Equivalent {
		return fmt.Errorf("the mended service is %s", r.Verdict.State)
	}
	d.screen.Say("ledger, of all three: %s", r.Ledger.Account())
	return d.figures.account(all)
}

// killAt is the share at which the leader is killed.
const killAt = 5

func (d *fleetDemo) actKillLeader(ctx context.Context) error {
	lead := d.leader(ctx, nil)
	if lead == nil {
		return errors.New("nobody leads")
	}
	others, err := d.ask(ctx, "steady.yml", d.size.rate, d.size.shift, lead)
	defer others.end()
	if err != nil {
		return err
	}
	if err := d.everywhere(ctx, d.size.shift, nil, func(s float64) bool { return s >= killAt }, fmt.Sprintf("%d %% everywhere", killAt)); err != nil {
		return err
	}
	d.screen.Say("users are on the service by %d %% at all three; users of %s are sent to the others, as a load balancer would, and it is killed", killAt, lead.name)
	lead.Kill()
	d.figures.killed = time.Now()
	var next *member
	err = d.until(ctx, 30*time.Second, "another leader", func(ctx context.Context) bool {
		next = d.leader(ctx, lead)
		return next != nil
	})
	if err != nil {
		return err
	}
	d.figures.LedAfterMS = float64(time.Since(d.figures.killed).Milliseconds())
	d.screen.Say("%s leads %.1f s later, on the evidence that there was", next.name, d.figures.LedAfterMS/1000)
	if err := d.everywhere(ctx, d.size.shift, lead, func(s float64) bool { return s >= 25 }, "25 % at the others"); err != nil {
		return err
	}
	if err := d.startMember(ctx, lead); err != nil {
		return err
	}
	if err := d.everywhere(ctx, d.size.shift, nil, func(s float64) bool { return s >= 25 }, "25 % at all three again"); err != nil {
		return err
	}
	d.screen.Say("the shift went on to 25 %%; %s is back, and has the fleet's share", lead.name)
	return d.figures.account(others)
}

// touched is how many users' requests have fallen back, over all gateways.
func (d *fleetDemo) touched(ctx context.Context) (n int64, err error) {
	for _, m := range d.members {
		text, err := fetch(ctx, "http://"+m.Admin+"/metrics")
		if err != nil {
			return 0, err
		}
		v, _ := metricOf(text, fmt.Sprintf("whittle_fallback_requests_total{route=%q}", demoRoute)) // 0 where it is not there yet
		n += int64(v)
	}
	return n, nil
}

func (d *fleetDemo) actBreak(ctx context.Context) error {
	all, err := d.ask(ctx, "steady.yml", d.size.rate, d.size.shift, nil)
	defer all.end()
	if err != nil {
		return err
	}
	if err := d.everywhere(ctx, d.size.shift, nil, func(s float64) bool { return s >= 25 }, "25 % everywhere"); err != nil {
		return err
	}
	before, err := d.touched(ctx)
	if err != nil {
		return err
	}
	begun := int64(-1)
	if _, err := d.await(ctx, d.follower(ctx), 30*time.Second, "users on the service", func(r *whittle.RouteStatus) bool {
		if begun < 0 {
			begun = r.Ledger.Total
		}
		return r.Ledger.Total > begun+100
	}); err != nil {
		return err
	}
	at := time.Now()
	d.mended.Kill()
	if err := d.everywhere(ctx, 20*time.Second, nil, func(s float64) bool { return s == 0 }, "0 % everywhere"); err != nil {
		return err
	}
	d.figures.RolledBackMS = float64(time.Since(at).Milliseconds())
	after, err := d.touched(ctx)
	if err != nil {
		return err
	}
	d.figures.RequestsTouched = after - before
	d.screen.Say("killed %s: nobody is on it at any gateway %.0f ms later; %d users' requests met it, over all three, and the monolith answered each", d.mended, d.figures.RolledBackMS, d.figures.RequestsTouched)
	if d.figures.RequestsTouched > 50 {
		return fmt.Errorf("%d requests met the dead service, and guard.exposure is 50", d.figures.RequestsTouched)
	}
	return d.figures.account(all)
}

func (d *fleetDemo) actFinish(ctx context.Context) error {
	restarted, err := d.startService(ctx, "count", d.mended.Public)
	if err != nil {
		return err
	}
	d.mended = restarted
	if _, err := d.follower(ctx).admin.Order(ctx, demoRoute, rollout.Order{Kind: rollout.Reset, By: "the demo", Reason: "the service is back"}); err != nil {
		return err
	}
	all, err := d.ask(ctx, "steady.yml", d.size.rate, d.size.shadow+d.size.shift, nil)
	defer all.end()
	if err != nil {
		return err
	}
	if err := d.everywhere(ctx, d.size.shadow+d.size.shift, nil, func(s float64) bool { return s == 100 }, "100 % everywhere"); err != nil {
		return err
	}
	r, err := d.await(ctx, d.follower(ctx), d.size.shift, "the shift to be over", func(r *whittle.RouteStatus) bool {
		n := len(r.Timeline) // which comes after the phase where a gateway does not lead
		return r.Phase == whittle.PhaseLive && n > 0 && r.Timeline[n-1].Phase == whittle.PhaseLive
	})
	if r != nil {
		d.figures.Timeline, d.figures.Ledger = r.Timeline, r.Ledger
	}
	if err != nil {
		return err
	}
	d.screen.Say("the shift is over: %s", r.Timeline[len(r.Timeline)-1].Reason)
	d.screen.Say("ledger, of all three: %s", r.Ledger.Account())
	return d.figures.account(all)
}

func (d *fleetDemo) report() (any, *chart.Page, error) { return d.figures, d.figures.page(), nil }

// page shows the figures as charts.
func (s *fleetFigures) page() *chart.Page {
	plot := chart.Plot{
		Title: "The share at each gateway", Caption: "What users have on the service, by each gateway's own metrics. The gateway that leads is killed on the way up, and the service later.",
		XLabel: "since the demo began", XUnit: "s", YLabel: "share", YUnit: "%", YMax: 100,
	}
	for i, name := range slices.Sorted(maps.Keys(s.shares)) {
		line := chart.Series{Name: name, Role: []chart.Role{chart.Candidate, chart.Third, chart.Fourth}[i%3], Step: true}
		for _, p := range s.shares[name] {
			line.Points = append(line.Points, chart.Point{X: s.since(p.at), Y: p.share})
		}
		plot.Series = append(plot.Series, line)
	}
	if !s.killed.IsZero() {
		plot.Marks = append(plot.Marks, chart.Mark{X: s.since(s.killed), Text: "the leader is killed"})
	}
	section := chart.Section{
		Title: "Three gateways, one rollout",
		Facts: []chart.Fact{
			{Label: "from the kill of the leader to another", Value: fmt.Sprintf("%.1f s", s.LedAfterMS/1000)},
			{Label: "from the kill of the service to 0 everywhere", Value: fmt.Sprintf("%.0f ms", s.RolledBackMS), Tone: tone(s.RolledBackMS <= 1000)},
			{Label: "requests that met the dead service", Value: fmt.Sprint(s.RequestsTouched), Tone: tone(s.RequestsTouched <= 50)},
			{Label: "errors users saw", Value: fmt.Sprintf("%d of %d", s.UserErrors, s.Requests), Tone: tone(s.UserErrors == 0)},
		},
		Paragraphs: []string{
			"As published: " + s.AsPublished.Summary + ". A promotion at a gateway that does not lead: " + s.Refused + ".",
			"Mended: " + s.Mended.Summary + ".", "The ledger of all three: " + s.Ledger.Account() + ".",
		},
		Tables: []chart.Table{s.timelineTable("Every decision and its reason, whoever led", s.Timeline), s.actsTable()},
	}
	if slices.ContainsFunc(plot.Series, func(l chart.Series) bool { return len(l.Points) > 1 }) {
		section.Figures = append(section.Figures, chart.Line(plot))
	}
	return &chart.Page{
		Title:    "demo fleet",
		Lead:     "Three gateways share one rollout over NATS: evidence, verdict, share, exposure and ledger. The gateway that leads is killed in the middle of the shift, another goes on, and no user sees an error.",
		Sections: []chart.Section{section},
		Footer:   s.footer("fleet", "make demo-fleet"),
	}
}
