package control

import (
	"github.com/prometheus/client_golang/prometheus"

	"whittle"
)

var (
	descShare = prometheus.NewDesc("whittle_share",
		"Share of the route's users that the candidate serves, 0 to 1, as it is on disk.", []string{"route"}, nil)
	descPhase = prometheus.NewDesc("whittle_phase",
		"1 for the phase that the route's rollout is in.", []string{"route", "phase"}, nil)
	descVerdict = prometheus.NewDesc("whittle_verdict",
		"1 for the verdict on the route's candidate.", []string{"route", "verdict"}, nil)
	descHeld = prometheus.NewDesc("whittle_held",
		"1 while the route is held by hand.", []string{"route"}, nil)
	descEvidence = prometheus.NewDesc("whittle_evidence_exchanges",
		"Exchanges that the verdict stands on.", []string{"route"}, nil)
	descGuardEValue = prometheus.NewDesc("whittle_guard_e_value",
		"Evidence that a guard's limit is passed.", []string{"route", "guard"}, nil)
	descGuardThreshold = prometheus.NewDesc("whittle_guard_threshold",
		"Evidence at which the guard speaks.", []string{"route", "guard"}, nil)
	descGuardBreached = prometheus.NewDesc("whittle_guard_breached",
		"1 for a guard that has spoken.", []string{"route", "guard"}, nil)
	descUnconfirmed = prometheus.NewDesc("whittle_proxies_unconfirmed",
		"Proxies that have not confirmed the route's share, or have another one by now.", []string{"route"}, nil)
	descGateOpen = prometheus.NewDesc("whittle_gate_open",
		"1 for a gate before the route's next step that is open, 0 for one that is not.", []string{"route", "gate"}, nil)
	descLedger = prometheus.NewDesc("whittle_exchanges_total",
		"What became of each request of a route with a candidate; the fates add up to the requests.", []string{"route", "fate", "reason"}, nil)
	descPending = prometheus.NewDesc("whittle_exchanges_pending",
		"Requests whose fate is still open.", []string{"route"}, nil)
	descUnknown = prometheus.NewDesc("whittle_exchanges_unknown",
		"Of these, requests whose fate may never be known: of a silent gateway, or sent and not judged.", []string{"route"}, nil)
	descDropped = prometheus.NewDesc("whittle_outcomes_dropped_total",
		"Users' outcomes that came faster than the guards could take them.", []string{"route"}, nil)
	descFailures = prometheus.NewDesc("whittle_state_save_failures_total",
		"Times that a route's state could not be saved.", []string{"route"}, nil)
)

var (
	phases   = []whittle.Phase{whittle.PhaseOff, whittle.PhaseShadow, whittle.PhaseShift, whittle.PhaseLive, whittle.PhaseRolledBack}
	verdicts = []whittle.State{whittle.Undecided, whittle.Equivalent, whittle.Different}
)

// Describe implements prometheus.Collector. The metrics change with the
// routes, so it is an unchecked collector and describes nothing.
func (c *Controller) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. The metrics show what is on disk, except
// for the ledger, which is current.
func (c *Controller) Collect(ch chan<- prometheus.Metric) {
	for _, r := range c.routes() {
		r.collect(ch)
	}
}

func (r *route) collect(ch chan<- prometheus.Metric) {
	s := r.status()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{r.name}, labels...)...)
	}
	gauge(descShare, float64(s.Share)/float64(whittle.All))
	for _, p := range phases {
		gauge(descPhase, one(s.Phase == p), string(p))
	}
	for _, v := range verdicts {
		gauge(descVerdict, one(s.Verdict.State == v), string(v))
	}
	gauge(descHeld, one(s.Held))
	gauge(descEvidence, float64(s.Verdict.Compared))
	for _, m := range s.Guards {
		gauge(descGuardEValue, m.EValue, m.Name)
		gauge(descGuardThreshold, m.Threshold, m.Name)
		gauge(descGuardBreached, one(m.Breached), m.Name)
	}
	if s.Steer != nil {
		missing := 0
		for _, p := range s.Steer.Proxies {
			missing += int(one(!p.Confirmed))
		}
		gauge(descUnconfirmed, float64(missing))
	}
	for _, g := range s.Gates {
		gauge(descGateOpen, one(g.Open), g.Name)
	}
	r.collectLedger(ch)
	r.mu.Lock()
	failures := r.disk.failures
	r.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(descDropped, prometheus.CounterValue, float64(r.box.droppedSoFar()), r.name)
	ch <- prometheus.MustNewConstMetric(descFailures, prometheus.CounterValue, float64(failures), r.name)
}

func (r *route) collectLedger(ch chan<- prometheus.Metric) {
	l := r.ledger()
	fate := func(n int64, fate, reason string) {
		ch <- prometheus.MustNewConstMetric(descLedger, prometheus.CounterValue, float64(n), r.name, fate, reason)
	}
	ch <- prometheus.MustNewConstMetric(descPending, prometheus.GaugeValue, float64(l.Pending), r.name)
	ch <- prometheus.MustNewConstMetric(descUnknown, prometheus.GaugeValue, float64(l.Unknown), r.name)
	fate(l.Compared, "compared", "")
	fate(l.Failed, "failed", "")
	fate(l.Shed, "shed", "")
	for reason, n := range l.Skipped {
		fate(n, "skipped", reason)
	}
}

// ledger is the current account.
func (r *route) ledger() whittle.Ledger {
	r.ev.mu.Lock()
	defer r.ev.mu.Unlock()
	r.takeReports()
	return r.ev.account.Total()
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
