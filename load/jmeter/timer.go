package jmeter

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// timer is a timer: either a delay before each sampler in its scope or, where
// paced is set, a bound on how often they are sent.
type timer struct {
	// delay and spread are milliseconds.
	delay, spread expr.Template
	draw          func(rng *rand.Rand, delay, spread float64) float64
	pacing        *pacing
	gate          plan.Action // nil but for a timer that users wait at together
	script        *program    // nil but for one that says how long
}

// gate is a SyncTimer: users wait at it until there are so many.
type gate struct {
	size    expr.Template
	timeout expr.Template
}

func (j *reader) gate(e *element) *gate {
	j.refuseOthers(e, "groupSize", "timeoutInMs")
	j.undivided(e)
	return &gate{
		j.compile(e.where("groupSize"), strings.TrimSpace(e.value("groupSize")), expr.AsText),
		j.compile(e.where("timeoutInMs"), strings.TrimSpace(e.value("timeoutInMs")), expr.AsText),
	}
}

// undivided notes that an element needs all users in one process.
func (j *reader) undivided(e *element) {
	j.Plan.Undivided = append(j.Plan.Undivided, e.title())
}

func (*gate) Inner() []plan.Step { return nil }

// gathered is how many users have come to a gate, and how many of them it lets pass.
type gathered struct{ come, pass atomic.Int64 }

// Act waits for the others. Without a size they are all users of the group. Who has
// waited for as long as is allowed opens the gate for all that wait.
func (g *gate) Act(ctx context.Context, u plan.User) bool {
	s := u.Scope()
	size := renderInt(g.size, s)
	if size <= 0 {
		size = u.InGroup()
	}
	all := u.State(expr.StateOfBlock, g, func() any { return new(gathered) }).(*gathered)
	own := all.come.Add(1)
	began, limit := u.Now(), time.Duration(renderInt(g.timeout, s))*time.Millisecond
	for {
		come, pass := all.come.Load(), all.pass.Load()
		late := limit > 0 && u.Now().Sub(began) >= limit
		if come-pass >= size || late && pass < own {
			all.pass.CompareAndSwap(pass, come)
			continue
		}
		if pass >= own {
			return true
		}
		if !u.PauseUntil(ctx, u.Now().Add(lockWait)) {
			return false
		}
	}
}

// scheduled is a PreciseThroughputTimer: exactly so many samplers a period of the
// schedule, at times that are drawn independently.
type scheduled struct {
	number int
	period time.Duration
}

func (j *reader) scheduled(e *element) *scheduled {
	j.refuseOthers(e, "throughput", "throughputPeriod", "duration", "batchSize", "batchThreadDelay", "randomSeed", "allowedThroughputSurplus", "exactLimit")
	j.undivided(e)
	rate := j.number(e.tag, "throughput", 0, plan.MaxRate*3600, 0)
	per, length := j.number(e.tag, "throughputPeriod", 0, 1e9, 3600), j.number(e.tag, "duration", 0, plan.MaxDuration.Seconds(), 3600)
	if batch := j.whole(e.tag, "batchSize", 0, 1e9, 1); batch > 1 {
		panic(e.where("batchSize").Errorf(whittle.Unsupported, "%s: batches are not supported", e.title()))
	}
	if rate <= 0 || per <= 0 || length <= 0 {
		panic(e.where("throughput").Invalid("a throughput is samples per period, above 0"))
	}
	n := rate / per * length
	if n > 1e6 {
		n, length = 1e6, length*1e6/n
	}
	return &scheduled{max(int(n), 1), time.Duration(length * float64(time.Second))}
}

func (*scheduled) Inner() []plan.Step { return nil }

// schedule are the times of the present period, in order.
type schedule struct {
	mu sync.Mutex
	// The following is guarded by mu.
	begin time.Time
	times []time.Duration
}

func (d *scheduled) Act(ctx context.Context, u plan.User) bool {
	s := u.State(expr.StateOfBlock, [2]any{d, u.GroupIndex()}, func() any { return new(schedule) }).(*schedule)
	s.mu.Lock()
	if len(s.times) == 0 {
		if s.begin.IsZero() {
			s.begin = u.Now()
		} else {
			s.begin = s.begin.Add(d.period)
		}
		for range d.number {
			s.times = append(s.times, time.Duration(u.Scope().RNG.Int64N(int64(d.period))))
		}
		slices.Sort(s.times)
	}
	at := s.begin.Add(s.times[0])
	s.times = s.times[1:]
	s.mu.Unlock()
	return u.PauseUntil(ctx, at)
}

// timerDelays computes each kind's delay, as JMeter computes it.
var timerDelays = map[string]func(rng *rand.Rand, delay, spread float64) float64{
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

func (j *reader) timer(e *element) timer {
	switch e.name {
	case "ConstantThroughputTimer":
		return timer{pacing: j.pacing(e)}
	case "SyncTimer":
		return timer{gate: j.gate(e)}
	case "PreciseThroughputTimer":
		return timer{gate: j.scheduled(e)}
	case shapingTimer:
		return timer{gate: j.shape(e)}
	case "JSR223Timer", "BeanShellTimer":
		p := j.program(e, stands{binds: bindings(e.name)})
		return timer{script: p}
	}
	j.refuseOthers(e, "ConstantTimer.delay", "RandomTimer.range")
	milliseconds := func(name string) expr.Template {
		t := j.compile(e.where(name), e.value(name), expr.AsText)
		text, ok := t.Constant()
		if _, err := strconv.ParseFloat(strings.TrimSpace(text), 64); ok && err != nil && text != "" {
			j.note(fmt.Sprintf("line %d: %s: %q is no number, and counts as 0, as in JMeter", e.at.Line, e.title(), text))
		} else if ok {
			j.number(e.tag, name, -plan.MaxDuration.Seconds()*1e3, plan.MaxDuration.Seconds()*1e3, 0)
		}
		return t
	}
	return timer{draw: timerDelays[e.name], delay: milliseconds("ConstantTimer.delay"), spread: milliseconds("RandomTimer.range")}
}

// delays is the step of a user who waits for the sum of some timers.
type delays struct{ timers []timer }

func (*delays) Inner() []plan.Step { return nil }

func (d *delays) Act(ctx context.Context, u plan.User) bool {
	scope := u.Scope()
	var sum float64
	for i := range d.timers {
		t := &d.timers[i]
		if t.script != nil {
			sum += t.script.milliseconds(u)
			continue
		}
		sum += t.draw(scope.RNG, milliseconds64(t.delay, scope), milliseconds64(t.spread, scope))
	}
	sum = min(max(sum, 0), plan.MaxDuration.Seconds()*1e3)
	return u.PauseUntil(ctx, u.Due().Add(time.Duration(sum*float64(time.Millisecond))))
}

// milliseconds are those that a script comes to, with those that it slept.
func (p *program) milliseconds(u plan.User) float64 {
	l := &scriptRun{previous: lastOf(u)}
	v, _ := p.run(u.Scope(), l)
	ms, err := strconv.ParseFloat(strings.TrimSpace(fmt.Sprint(v)), 64)
	if err != nil || math.IsNaN(ms) {
		ms = 0
	}
	return ms + float64(l.wait.Milliseconds())
}

// milliseconds64 renders a number; what is none counts as 0, as in JMeter.
func milliseconds64(t expr.Template, s *expr.Scope) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(string(t.Render(nil, s))), 64)
	if err != nil || math.IsNaN(f) {
		return 0
	}
	return f
}

// pacing is a ConstantThroughputTimer: so much time between samplers.
type pacing struct {
	perMinute expr.Template
	mode      int
}

// interval is the time between two samplers.
func (p *pacing) interval(s *expr.Scope) time.Duration {
	rate := milliseconds64(p.perMinute, s)
	if rate < 1e-3 {
		return 0
	}
	return time.Duration(60 / rate * float64(time.Second))
}

// The modes of a pacing timer: whose samplers it counts.
const (
	paceUser        = iota
	paceAll         // every user's share of all users' rate
	paceGroup       // the same within the group
	paceAllShared   // all users take turns
	paceGroupShared // the same within the group
)

// calcModes are the modes of a ConstantThroughputTimer by their names.
var calcModes = []string{
	"this thread only", "all active threads", "all active threads in current thread group", "all active threads (shared)", "all active threads in current thread group (shared)",
}

func (j *reader) pacing(e *element) *pacing {
	j.refuseOthers(e, "throughput", "calcMode")
	perMinute := j.compile(e.where("throughput"), strings.TrimSpace(e.value("throughput")), expr.AsText)
	if _, ok := perMinute.Constant(); ok && j.number(e.tag, "throughput", 0, plan.MaxRate*60, 0) < 1e-3 {
		panic(e.where("throughput").Invalid("a throughput is samples per minute, above 0"))
	}
	if n := slices.Index(calcModes, strings.ToLower(e.value("calcMode"))); n >= 0 {
		e.prop("calcMode").text = strconv.Itoa(n) // as an older JMeter wrote it
	}
	mode := j.whole(e.tag, "calcMode", 0, math.MaxInt32, 0)
	if mode > paceGroupShared {
		panic(e.where("calcMode").Errorf(whittle.Unsupported, "calcMode %s is not supported", e.value("calcMode")))
	}
	return &pacing{perMinute: perMinute, mode: int(mode)}
}

func (*pacing) Inner() []plan.Step { return nil }

// nextSend is when the next of several users may send.
type nextSend struct {
	mu   sync.Mutex
	next time.Time // guarded by mu
}

func (t *nextSend) reserve(now time.Time, interval time.Duration) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := now
	if t.next.After(now) {
		at = t.next
	}
	t.next = at.Add(interval)
	return at
}

// sharedNextSend gives those that users take under a key. They are of one block: who
// waited when it was over had reserved turns far beyond its end.
func sharedNextSend(u expr.User, key any) *nextSend {
	return u.State(expr.StateOfBlock, key, func() any { return new(nextSend) }).(*nextSend)
}

// Act waits until the user's turn. The first sampler is sent at once, and one
// that is late does not make the next come sooner.
func (p *pacing) Act(ctx context.Context, u plan.User) bool {
	share := int64(1)
	var turn *nextSend
	switch p.mode {
	case paceAllShared:
		turn = sharedNextSend(u, p)
	case paceGroupShared:
		turn = sharedNextSend(u, [2]any{p, u.GroupIndex()})
	default:
		turn = userState[nextSend](u, p)
	}
	switch p.mode {
	case paceAll:
		share = u.InFlight()
	case paceGroup:
		share = u.InGroup()
	}
	if _, of := u.Part(); p.mode != paceUser {
		share = max(share, 1) * of // the others' parts have as many users
	}
	return u.PauseUntil(ctx, turn.reserve(u.Now(), p.interval(u.Scope())*time.Duration(max(share, 1))))
}
