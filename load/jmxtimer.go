package load

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle"
)

// wait is a timer: either a delay before each sampler in its scope or, where
// paced is set, a bound on how often they are sent.
type wait struct {
	// delay and spread are milliseconds.
	delay, spread template
	draw          func(rng *rand.Rand, delay, spread float64) float64
	paced         *pacing
}

// timers gives each kind its delay, as JMeter computes it.
var timers = map[string]func(rng *rand.Rand, delay, spread float64) float64{
	"ConstantTimer":       func(_ *rand.Rand, delay, _ float64) float64 { return delay },
	"UniformRandomTimer":  func(rng *rand.Rand, delay, spread float64) float64 { return delay + rng.Float64()*spread },
	"GaussianRandomTimer": func(rng *rand.Rand, delay, spread float64) float64 { return math.Abs(delay + rng.NormFloat64()*spread) },
	"PoissonRandomTimer":  func(rng *rand.Rand, delay, spread float64) float64 { return delay + poissonDraw(rng, spread) },
}

// poissonDraw draws from a Poisson distribution: by Knuth's product of uniform
// draws (The Art of Computer Programming, volume 2, section 3.4.1), and by the
// normal distribution where the mean is large.
func poissonDraw(rng *rand.Rand, mean float64) float64 {
	if mean > 50 {
		return max(math.Round(mean+math.Sqrt(mean)*rng.NormFloat64()), 0)
	}
	n, limit := -1.0, math.Exp(-max(mean, 0))
	for p := 1.0; ; {
		n++
		if p *= rng.Float64(); p <= limit {
			return n
		}
	}
}

func (j *jmxReader) timer(e *element) (wait, error) {
	if e.name == "ConstantThroughputTimer" {
		p, err := j.pacing(e)
		return wait{paced: p}, err
	}
	w := wait{draw: timers[e.name]}
	err := j.only(e, "ConstantTimer.delay", "RandomTimer.range")
	if err == nil {
		w.delay, err = j.compile(e.where("ConstantTimer.delay"), e.value("ConstantTimer.delay"), asText)
	}
	if err == nil {
		w.spread, err = j.compile(e.where("RandomTimer.range"), e.value("RandomTimer.range"), asText)
	}
	for name, t := range map[string]template{"ConstantTimer.delay": w.delay, "RandomTimer.range": w.spread} {
		if text, ok := t.constant(); ok && err == nil && text != "" {
			if _, err = j.number(e.tag, name, 0, maxDuration.Seconds()*1e3, 0); err != nil {
				return w, err
			}
		}
	}
	return w, err
}

// delays is the step of a user who waits for the sum of some timers.
type delays struct{ timers []wait }

func (*delays) inner() []step { return nil }

func (d *delays) act(ctx context.Context, w *worker) bool {
	var sum float64
	for i := range d.timers {
		t := &d.timers[i]
		sum += t.draw(w.scope.rng, milliseconds64(t.delay, &w.scope), milliseconds64(t.spread, &w.scope))
	}
	sum = min(max(sum, 0), maxDuration.Seconds()*1e3)
	return w.rest(ctx, w.due.Add(time.Duration(sum*float64(time.Millisecond))))
}

// milliseconds64 renders a number; what is none counts as 0, as in JMeter.
func milliseconds64(t template, s *scope) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(string(t.render(nil, s))), 64)
	if err != nil || math.IsNaN(f) {
		return 0
	}
	return f
}

// pacing is a ConstantThroughputTimer: so much time between samplers.
type pacing struct {
	interval time.Duration
	mode     int
}

// The modes of a pacing timer: whose samplers it counts.
const (
	paceUser        = iota
	paceAll         // every user's share of all users' rate
	paceGroup       // the same within the group
	paceAllShared   // all users take turns
	paceGroupShared // the same within the group
)

func (j *jmxReader) pacing(e *element) (*pacing, error) {
	if err := j.only(e, "throughput", "calcMode"); err != nil {
		return nil, err
	}
	// Beans write their numbers as a doubleProp with name and value inside.
	perMinute, err := j.number(e.tag, "throughput", 1e-3, maxRate*60, 0)
	if p := e.prop("throughput"); p != nil && len(p.children) > 0 {
		for _, c := range p.children {
			if c.name == "value" {
				perMinute, err = strconv.ParseFloat(strings.TrimSpace(c.text), 64)
			}
		}
	}
	if err != nil || !(perMinute > 0) {
		return nil, e.where("throughput").invalid("a throughput is samples per minute, above 0")
	}
	mode, err := j.whole(e.tag, "calcMode", 0, paceGroupShared, 0)
	if err != nil {
		return nil, e.where("calcMode").errorf(whittle.Unsupported, "calcMode %s is not supported", e.value("calcMode"))
	}
	return &pacing{interval: time.Duration(60 / perMinute * float64(time.Second)), mode: int(mode)}, nil
}

func (*pacing) inner() []step { return nil }

// nextTurn is when the next of several users may send.
type nextTurn struct {
	mu   sync.Mutex
	next time.Time // guarded by mu
}

func (t *nextTurn) take(now time.Time, interval time.Duration) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := now
	if t.next.After(now) {
		at = t.next
	}
	t.next = at.Add(interval)
	return at
}

// act waits until the user's turn. The first sampler is sent at once, and one
// that is late does not make the next come sooner.
func (p *pacing) act(ctx context.Context, w *worker) bool {
	m := w.member
	share := int64(1)
	switch p.mode {
	case paceAllShared:
		return w.rest(ctx, shared[nextTurn](w.run, p).take(w.run.now(), p.interval))
	case paceGroupShared:
		return w.rest(ctx, shared[nextTurn](w.run, [2]any{p, m.crowd}).take(w.run.now(), p.interval))
	case paceAll:
		share = w.run.inFlight.Load()
	case paceGroup:
		share = m.crowd.active.Load()
	}
	if m.turns == nil {
		m.turns = map[*pacing]*nextTurn{}
	}
	t := m.turns[p]
	if t == nil {
		t = new(nextTurn)
		m.turns[p] = t
	}
	return w.rest(ctx, t.take(w.run.now(), p.interval*time.Duration(max(share, 1))))
}

// shared gives what all users of one run have in common under a key.
func shared[T any](s *session, key any) *T {
	v, _ := s.shared.LoadOrStore(key, new(T))
	return v.(*T)
}
