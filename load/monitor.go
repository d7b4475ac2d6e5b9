package load

import (
	"context"
	"sync"
	"time"

	"whittle/internal/latency"
	"whittle/load/plan"
	"whittle/load/report"
)

// The width of a series' windows at first, how many there can be, and how many
// of the last make Progress.Recent.
const (
	tick        = time.Second
	maxPoints   = 600
	recentTicks = 5
)

// count is a window's counters beside its histogram.
type count struct {
	span                                  time.Duration // the time looked at
	arrivals, completed, failed, inFlight int64
	late                                  time.Duration // the greatest
	ledger                                ledger
	own, watched                          time.Duration // CPU
	cores                                 []coreTime
}

func (c *count) add(o *count) {
	c.span += o.span
	c.arrivals += o.arrivals
	c.completed += o.completed
	c.failed += o.failed
	c.inFlight = max(c.inFlight, o.inFlight)
	c.late = max(c.late, o.late)
	c.ledger.add(&o.ledger, 1)
	c.own += o.own
	c.watched += o.watched
	c.cores = addCores(c.cores, o.cores)
}

// monitor looks at a session once a second.
type monitor struct {
	s         *session
	processes []*processWatch
	pages     []cpuSource
	series    *latency.Series
	counts    []count // one for each window of series
	recent    *latency.Rolling
	sum       report.Progress
	ownCPU    time.Duration // at the start
	looked    time.Duration // when the last look was, since the start
	// What the last look found, to tell what is new.
	ledger       ledger
	own, watched time.Duration
	cores        []coreTime
	stop         chan struct{}
	wg           sync.WaitGroup
}

func newMonitor(s *session, ps []*processWatch) *monitor {
	own := OwnCPU()
	return &monitor{
		s: s, processes: ps, series: latency.NewSeries(tick, maxPoints),
		recent: latency.NewRolling(tick, recentTicks), ownCPU: own, own: own, cores: readCores(), stop: make(chan struct{}),
	}
}

func (m *monitor) begin(ctx context.Context) {
	for _, p := range m.pages {
		p.follow(ctx)
	}
	m.wg.Go(func() {
		t := time.NewTicker(tick)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				m.look(false)
			case <-m.stop:
				return
			}
		}
	})
}

// end waits for the watching to be over, and takes the last look.
func (m *monitor) end() {
	close(m.stop)
	m.wg.Wait()
	m.look(true)
	for _, p := range m.pages {
		p.end()
	}
}

func (m *monitor) look(last bool) {
	at := m.s.now().Sub(m.s.start)
	p := m.s.drain()
	for _, w := range m.processes {
		w.look()
	}
	// What is found now happened since the last look: its window is that one.
	m.add(m.looked, p, m.since(at, p))
	m.recent.Add(m.looked, &p.latency)
	m.sum.Rate = 0
	if span := at - m.looked; span > 0 {
		m.sum.Rate = float64(p.completed) / span.Seconds()
	}
	m.looked = at
	m.sum.Elapsed = at
	m.sum.Left = max(m.s.plan.End()-at, 0)
	m.sum.Phase, m.sum.PhaseName = phaseAt(m.s.plan.Phases, at)
	m.sum.Arrivals += p.arrivals
	m.sum.Skipped = m.s.skipped.Load()
	m.sum.Requests += p.requests
	m.sum.Completed += p.completed
	m.sum.Failed += p.failed
	m.sum.InFlight = m.s.inFlight.Load()
	if f := m.s.options.OnProgress; f != nil && !last {
		m.sum.Recent = m.recent.Snapshot(at)
		f(m.sum)
	}
}

// since counts what is new since the last look.
func (m *monitor) since(at time.Duration, p *pulse) *count {
	c := &count{
		span: at - m.looked, arrivals: p.arrivals, completed: p.completed, failed: p.failed,
		inFlight: m.s.inFlight.Load(), late: p.late,
	}
	sum := m.s.ledger()
	c.ledger.add(&sum, 1)
	c.ledger.add(&m.ledger, -1)
	m.ledger = sum
	own, cores, watched := OwnCPU(), readCores(), time.Duration(0)
	for _, w := range m.processes {
		watched += w.last - w.first
	}
	for _, page := range m.pages {
		used, _ := page.used()
		watched += used
	}
	c.own, c.watched, c.cores = own-m.own, max(watched-m.watched, 0), coresSince(m.cores, cores)
	m.own, m.watched, m.cores = own, watched, cores
	return c
}

// add puts a pulse into its window, and follows the series when it widens.
func (m *monitor) add(at time.Duration, p *pulse, now *count) {
	before := m.series.Width()
	m.series.Add(at, &p.latency)
	for w := before; w < m.series.Width(); w *= 2 {
		half := m.counts[:0]
		for i := range m.counts {
			if i%2 == 0 {
				half = append(half, m.counts[i])
				continue
			}
			half[len(half)-1].add(&m.counts[i])
		}
		clear(m.counts[len(half):])
		m.counts = half
	}
	i := int(at / m.series.Width())
	for len(m.counts) <= i {
		m.counts = append(m.counts, count{})
	}
	m.counts[i].add(now)
}

func phaseAt(phases []plan.Phase, at time.Duration) (int, string) {
	for i := range phases {
		if at -= phases[i].Length(); at < 0 || i == len(phases)-1 {
			return i, phases[i].Name
		}
	}
	return 0, ""
}
