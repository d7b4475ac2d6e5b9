package jmeter

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// timer is a timer: a delay before each sampler in its scope, or what users wait for there.
type timer struct {
	// length and spread are milliseconds.
	length, spread expr.Template
	draw           func(rng *rand.Rand, length, spread float64) float64
	waits          plan.Action // nil but for one that is no delay
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
	if e.name == "ConstantThroughputTimer" {
		return timer{waits: j.pacing(e)}
	}
	j.refuseOthers(e, "ConstantTimer.delay", "RandomTimer.range")
	milliseconds := func(name string) expr.Template {
		t := j.text(e, name)
		text, ok := t.Constant()
		if _, err := strconv.ParseFloat(strings.TrimSpace(text), 64); ok && err != nil && text != "" {
			j.noteOf(e, ": %q is no number, and counts as 0, as in JMeter", text)
		} else if ok {
			j.number(e.tag, name, -plan.MaxDuration.Seconds()*1e3, plan.MaxDuration.Seconds()*1e3, 0)
		}
		return t
	}
	return timer{draw: timerDelays[e.name], length: milliseconds("ConstantTimer.delay"), spread: milliseconds("RandomTimer.range")}
}

// delay is what users wait for the sum of some timers.
func delay(timers []timer) plan.Action {
	return &action{act: func(ctx context.Context, u plan.User) bool {
		scope := u.Scope()
		var sum float64
		for i := range timers {
			t := &timers[i]
			sum += t.draw(scope.RNG, milliseconds64(t.length, scope), milliseconds64(t.spread, scope))
		}
		sum = min(max(sum, 0), plan.MaxDuration.Seconds()*1e3)
		return u.PauseUntil(ctx, u.Due().Add(time.Duration(sum*float64(time.Millisecond))))
	}}
}

// milliseconds64 renders a number; a text that is no number counts as 0, as in JMeter.
func milliseconds64(t expr.Template, s *expr.Scope) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(t.Text(s)), 64)
	if err != nil || math.IsNaN(f) {
		return 0
	}
	return f
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

// pacing is a ConstantThroughputTimer: so much time between samplers. The first is sent at
// once, and one that is late does not make the next come sooner.
func (j *reader) pacing(e *element) plan.Action {
	j.refuseOthers(e, "throughput", "calcMode")
	perMinute := j.trimmed(e, "throughput")
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
	return &action{act: func(ctx context.Context, u plan.User) bool {
		var turn *nextSend
		switch mode {
		case paceAllShared:
			turn = sharedNextSend(u, e)
		case paceGroupShared:
			turn = sharedNextSend(u, [2]any{e, u.GroupIndex()})
		default:
			turn = userState[nextSend](u, e)
		}
		share := int64(1)
		switch mode {
		case paceAll:
			share = u.InFlight()
		case paceGroup:
			share = u.InGroup()
		}
		share = max(share, 1)
		if _, of := u.Part(); mode != paceUser {
			share *= max(of, 1) // the others' parts have as many users
		}
		var interval time.Duration // between two samplers
		if rate := milliseconds64(perMinute, u.Scope()); rate >= 1e-3 {
			interval = time.Duration(60 / rate * float64(time.Second))
		}
		return u.PauseUntil(ctx, turn.reserve(u.Now(), interval*time.Duration(share)))
	}}
}

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
