package load

import (
	"context"
	"sync"
	"time"

	"whittle/internal/latency"
	"whittle/load/cpu"
	"whittle/load/report"
)

// The initial width of a series' windows, their greatest number, and how many of
// the last make up Progress.Recent.
const (
	tick        = time.Second
	maxPoints   = 600
	recentTicks = 5
)

func (c *window) add(o *window) {
	c.Span += o.Span
	c.Arrivals += o.Arrivals
	c.Completed += o.Completed
	c.Failed += o.Failed
	c.InFlight = max(c.InFlight, o.InFlight)
	c.Late = max(c.Late, o.Late)
	c.Skipped += o.Skipped
	c.CPU += o.CPU
	c.watchedCPU += o.watchedCPU
	c.cores = cpu.Sum(c.cores, o.cores)
}

// rate is the responses per second.
func (c *window) rate() float64 {
	if c.Span <= 0 {
		return 0
	}
	return float64(c.Completed) / c.Span.Seconds()
}

// monitor samples a run once a second.
type monitor struct {
	run   *execution
	meter *meter
	history
	recent    *latency.Rolling
	sum       report.Progress
	startCPU  time.Duration // at the start
	sampledAt time.Duration // when the last sample was taken, since the start
	// The values of the last sample, to compute differences.
	lastSkipped             int64
	lastCPU, lastWatchedCPU time.Duration
	lastCores               []cpu.Core
	stop                    chan struct{}
	wg                      sync.WaitGroup
}

func newMonitor(s *execution, m *meter) *monitor {
	own := cpu.Own()
	return &monitor{
		run: s, meter: m, history: newHistory(),
		recent: latency.NewRolling(tick, recentTicks), startCPU: own, lastCPU: own, lastCores: cpu.Cores(), stop: make(chan struct{}),
	}
}

func (m *monitor) start(ctx context.Context) {
	m.meter.start(ctx)
	m.wg.Go(func() {
		t := time.NewTicker(tick)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				m.sample(false)
			case <-m.stop:
				return
			}
		}
	})
}

// finish stops sampling and takes the last sample.
func (m *monitor) finish() {
	close(m.stop)
	m.wg.Wait()
	m.sample(true)
	m.meter.finish()
}

func (m *monitor) sample(last bool) {
	at := m.run.now().Sub(m.run.began)
	p := m.run.recorder.drain()
	m.meter.sample()
	// What is new happened since the last sample, and belongs to its window.
	now := m.delta(at, p)
	m.add(m.sampledAt, &p.latency, now)
	if f := m.run.onSample; f != nil {
		f(&Sample{At: m.sampledAt, window: *now, Latency: &p.latency})
	}
	m.recent.Add(m.sampledAt, &p.latency)
	m.sum.Rate = now.rate()
	m.sampledAt = at
	m.sum.Elapsed = at
	m.sum.Left = max(m.run.plan.End()-at, 0)
	m.sum.Skipped = m.run.skipped.Load()
	m.sum.Completed += p.completed
	m.sum.Failed += p.failed
	m.sum.InFlight = m.run.inFlight.Load()
	if f := m.run.options.OnProgress; f != nil && !last {
		m.sum.Recent = m.recent.Snapshot(at)
		f(m.sum)
	}
}

// delta computes the counters since the last sample.
func (m *monitor) delta(at time.Duration, p *delta) *window {
	c := &window{
		Span: at - m.sampledAt, Arrivals: p.arrivals, Completed: p.completed, Failed: p.failed,
		InFlight: m.run.inFlight.Load(), Late: p.lateness,
	}
	skipped := m.run.skipped.Load()
	c.Skipped, m.lastSkipped = skipped-m.lastSkipped, skipped
	own, cores, watched := cpu.Own(), cpu.Cores(), m.meter.used()
	c.CPU, c.watchedCPU, c.cores = own-m.lastCPU, max(watched-m.lastWatchedCPU, 0), cpu.Since(m.lastCores, cores)
	m.lastCPU, m.lastWatchedCPU, m.lastCores = own, watched, cores
	return c
}

// history is what a run did, window by window.
type history struct {
	series  *latency.Series
	windows []window // one for each window of series
}

func newHistory() history { return history{series: latency.NewSeries(tick, maxPoints)} }

// add adds a delta to its window, and merges windows when the series does.
func (h *history) add(at time.Duration, latencies *latency.Histogram, now *window) {
	before := h.series.Width()
	h.series.Add(at, latencies)
	h.widened(before)
	i := int(at / h.series.Width())
	for len(h.windows) <= i {
		h.windows = append(h.windows, window{})
	}
	h.windows[i].add(now)
}

// widened merges the counts of windows that the series has merged since it had a width.
func (h *history) widened(before time.Duration) {
	for w := before; w < h.series.Width(); w *= 2 {
		half := h.windows[:0]
		for i := range h.windows {
			if i%2 == 0 {
				half = append(half, h.windows[i])
				continue
			}
			half[len(half)-1].add(&h.windows[i])
		}
		clear(h.windows[len(half):])
		h.windows = half
	}
}
