package compare

import (
	"fmt"
	"math"
	"slices"
	"time"

	"whittle"
)

const (
	meterErrors   = "errors"
	meterP99      = "p99"
	meterMismatch = "mismatch"
	meterCPU      = "cpu"

	// slowShare is the share of answers that lie above a 99th percentile.
	slowShare = 0.01
	// neededCap ends the search for the least evidence that could decide.
	neededCap = 10_000
)

// Guard watches the candidate while users depend on it. Its tests are
// sequential: they may be read after every outcome, and a rollout with a
// candidate that keeps to the limits is stopped by any of them with a
// probability of at most 1 − Confidence in all. It is deterministic, holds
// bounded memory, and is not safe for concurrent use.
//
// The hypotheses, each held to an equal part of the error rate:
//
//   - errors: over the same time, the candidate's share of bad answers is at
//     most the monolith's plus Guard.Errors;
//   - p99: over the same time, the candidate's share of answers slower than
//     Guard.P99 × τ is at most the monolith's share of answers slower than τ,
//     where τ is the monolith's own 99th percentile up to then. A candidate
//     whose latency is at most P99 times the monolith's keeps to it for any τ,
//     so neither an inexact τ nor a load under which both get slower breaches;
//   - mismatch: the share of compared exchanges that differ is at most
//     Guard.Mismatch;
//   - cpu: in intervals of the same time, the candidate's CPU time per request
//     is at most Guard.CPU times the monolith's, in the median.
//
// Sources and proofs: arms.block, arms.single, cpuContest.
type Guard struct {
	cfg   whittle.Guard
	alpha float64 // of each meter

	past     window  // the monolith's answers that have left the blocks
	recent   window  // the candidate's answers
	blocks   blocks  // answers of both sides over the same time
	errors   contest // bad answers
	slow     contest // slow answers
	mismatch contest // compared exchanges that differ
	cpu      cpuContest
	run      int
}

// contest is the state of one of the tests.
type contest struct {
	Evidence staked `json:"evidence"`
	Breached bool   `json:"breached,omitempty"`
	// Count and Bad are the candidate's answers in the test; MCount and MBad
	// the monolith's over the same time.
	Count  int `json:"n"`
	Bad    int `json:"bad"`
	MCount int `json:"mn,omitempty"`
	MBad   int `json:"mbad,omitempty"`

	book oddsBook
}

// NewGuard makes a guard. A Confidence outside (0, 1) stands for 0.99; P99 = 0
// leaves latency unguarded, CPU = 0 the CPU.
func NewGuard(g whittle.Guard) *Guard {
	if !(g.Confidence > 0 && g.Confidence < 1) {
		g.Confidence = 0.99
	}
	meters := 2.0
	if g.P99 > 0 {
		meters++
	}
	if g.CPU > 0 {
		meters++
	}
	return &Guard{cfg: g, alpha: (1 - g.Confidence) / meters, cpu: cpuContest{Bets: newBets()}}
}

// threshold is the e-value that decides a two-sample test. A tenth of the
// error rate is kept for the bounds on the monolith's rate that are needed
// while it gives no answers (see reference).
func (g *Guard) threshold() float64 { return 1 / (0.9 * g.alpha) }

// Reset forgets the evidence and the breaches, and keeps what is known of the
// monolith.
func (g *Guard) Reset() {
	g.errors, g.slow, g.mismatch = contest{}, contest{}, contest{}
	g.cpu.restart()
	g.recent, g.run = window{}, 0
	g.blocks.pending, g.blocks.alone, g.blocks.references = nil, false, 0
}

// Run is how many of the candidate's answers in a row were bad, up to the
// last.
func (g *Guard) Run() int { return g.run }

// Outcome takes in one user's request. Answers that the client itself ended
// say nothing of either side. The monolith's answers to mirrored or watched
// requests may be given as outcomes too; at a share of 100 % they are the only
// ones over the same time.
func (g *Guard) Outcome(o whittle.Outcome) {
	if o.Failure == whittle.FailedCanceled {
		return
	}
	a := answer{Bad: o.Bad(), Latency: o.Latency, At: o.At.UnixNano()}
	if o.At.IsZero() {
		a.At = 0
	}
	if o.Side == whittle.Monolith {
		g.monolith(a)
		return
	}
	g.run++
	if !a.Bad {
		g.run = 0
	}
	g.recent.add(a)
	g.candidate(a)
}

// monolith takes an answer of the monolith: it closes the block of candidate's
// answers that wait for one, or is kept for the next.
func (g *Guard) monolith(a answer) {
	b := &g.blocks
	b.alone = false
	b.forget(a.At)
	if len(b.pending) > 0 {
		g.settle([]answer{a}, b.pending)
		b.pending = b.pending[:0]
		g.past.add(a)
		return
	}
	if len(b.reserve) == maxReserve {
		g.past.add(b.reserve[0])
		b.reserve = append(b.reserve[:0], b.reserve[1:]...)
	}
	b.reserve = append(b.reserve, a)
}

// candidate takes an answer of the candidate: at once, with the monolith's
// answers since the last one; or later, where there are none.
func (g *Guard) candidate(a answer) {
	b := &g.blocks
	b.expire(a.At, &g.past)
	switch {
	case len(b.reserve) > 0:
		g.settle(b.reserve, append(b.pending, a))
		for _, m := range b.reserve {
			g.past.add(m)
		}
		b.reserve, b.pending = b.reserve[:0], b.pending[:0]
	case b.alone:
		g.settleAlone(a)
	case len(b.pending)+1 < maxPending:
		b.pending = append(b.pending, a)
	default:
		b.alone = true
		b.references++
		for _, p := range append(b.pending, a) {
			g.settleAlone(p)
		}
		b.pending = b.pending[:0]
	}
}

// settle plays one block in the tests of errors and latency.
func (g *Guard) settle(ms, cs []answer) {
	bad := func(a answer) (bool, bool) { return true, a.Bad }
	g.errors.block(ms, cs, g.past.badRate(), g.cfg.Errors, bad, bad)
	if tau := g.past.p99(); g.cfg.P99 > 0 && tau > 0 {
		limit := time.Duration(float64(tau) * g.cfg.P99)
		g.slow.block(ms, cs, slowShare, 0,
			func(a answer) (bool, bool) { return !a.Bad, a.Latency > tau },
			func(a answer) (bool, bool) { return !a.Bad, a.Latency > limit })
	}
	g.check()
}

// settleAlone plays an answer of the candidate while the monolith gives none:
// against a rate above which the monolith's was not, with the chance in
// reference, unless it has changed since its last answers.
func (g *Guard) settleAlone(a answer) {
	beta := g.reference()
	g.errors.alone(a.Bad, upperRate(g.past.Bad, g.past.N, beta)+g.cfg.Errors)
	if tau := g.past.p99(); g.cfg.P99 > 0 && tau > 0 && !a.Bad {
		above, n := g.past.above(tau)
		g.slow.alone(float64(a.Latency) > float64(tau)*g.cfg.P99, upperRate(above, n, beta))
	}
	g.check()
}

// reference is the chance that the k-th bound on the monolith's rate is wrong:
// a tenth of the error rate, split by 1/(k(k+1)).
func (g *Guard) reference() float64 {
	k := float64(max(1, g.blocks.references))
	return 0.1 * g.alpha / (k * (k + 1))
}

// Pair takes in one request that both sides were asked while users depend on the
// candidate.
func (g *Guard) Pair(p whittle.Pair) {
	// Failures are the errors guard's, which holds them against the monolith's
	// over the same time; counted here they would be held against a limit that
	// equal services which both fail now and then pass.
	if !p.Compared || p.Monolith.Bad() || p.Candidate.Bad() {
		return
	}
	g.mismatch.alone(p.Differs, g.cfg.Mismatch)
	if g.mismatch.Evidence.logEValue() >= math.Log(1/g.alpha) {
		g.mismatch.Breached = true
	}
}

func (g *Guard) check() {
	bar := math.Log(g.threshold())
	g.errors.Breached = g.errors.Breached || g.errors.Evidence.logEValue() >= bar
	g.slow.Breached = g.slow.Breached || g.slow.Evidence.logEValue() >= bar
}

// block plays one block; each side's kind of answer says whether an answer
// counts, and whether it is a bad one.
func (c *contest) block(ms, cs []answer, guess, slack float64, kindM, kindC func(answer) (counts, bad bool)) {
	m, mBad := tally(ms, kindM)
	n, bad := tally(cs, kindC)
	c.Count, c.Bad, c.MCount, c.MBad = c.Count+n, c.Bad+bad, c.MCount+m, c.MBad+mBad
	if m > 0 && n > 0 {
		if c.book == nil {
			c.book = oddsBook{}
		}
		odds := c.book.find(guess, slack, m, n)
		c.Evidence.play(func(a *arms) { a.block(odds, mBad, m-mBad, bad, n-bad) })
	}
}

func tally(list []answer, kind func(answer) (counts, bad bool)) (n, bad int) {
	for _, a := range list {
		if counts, b := kind(a); counts {
			n++
			if b {
				bad++
			}
		}
	}
	return n, bad
}

// alone plays one answer against a fixed limit.
func (c *contest) alone(bad bool, limit float64) {
	c.Count++
	b := 0
	if bad {
		b = 1
		c.Bad++
	}
	if limit < 0.95 {
		c.Evidence.play(func(a *arms) { a.single(limit, b, 1-b) })
	}
}

func (c *contest) rate() float64  { return float64(c.Bad) / float64(max(1, c.Count)) }
func (c *contest) mRate() float64 { return float64(c.MBad) / float64(max(1, c.MCount)) }

// Meters reads the guards: errors, p99 and cpu (where guarded) and mismatch.
func (g *Guard) Meters() []whittle.Meter {
	list := []whittle.Meter{g.errorsMeter()}
	if g.cfg.P99 > 0 {
		list = append(list, g.p99Meter())
	}
	list = append(list, g.mismatchMeter())
	if g.cfg.CPU > 0 {
		list = append(list, g.cpuMeter())
	}
	return list
}

func (g *Guard) meter(name string, c *contest, threshold float64, needed int) whittle.Meter {
	return whittle.Meter{
		Name: name, EValue: shown(c.Evidence.logEValue()), Threshold: threshold,
		Count: c.Count, Needed: needed, Breached: c.Breached,
	}
}

func (g *Guard) errorsMeter() whittle.Meter {
	m := g.meter(meterErrors, &g.errors, g.threshold(), g.neededErrors())
	m.Monolith = g.errors.mRate()
	if g.errors.MCount == 0 {
		m.Monolith = float64(g.past.Bad) / float64(max(1, g.past.N))
	}
	m.Candidate, m.Limit = g.errors.rate(), m.Monolith+g.cfg.Errors
	m.Summary = fmt.Sprintf("%s of %s candidate answers bad (%s), monolith %s over the same time, limit %s",
		grouped(g.errors.Bad), grouped(g.errors.Count), percent(m.Candidate), percent(m.Monolith), percent(m.Limit)) + g.grounds(&m)
	return m
}

func (g *Guard) p99Meter() whittle.Meter {
	m := g.meter(meterP99, &g.slow, g.threshold(), g.neededSlow())
	m.Monolith, m.Candidate = millis(g.past.p99()), millis(g.recent.p99())
	m.Limit = m.Monolith * g.cfg.P99
	m.Summary = fmt.Sprintf("%s of %s candidate answers slower than %s ms (%s), monolith's p99 %s ms",
		grouped(g.slow.Bad), grouped(g.slow.Count), figure(m.Limit), percent(g.slow.rate()), figure(m.Monolith)) + g.grounds(&m)
	if m.Monolith == 0 {
		m.Summary = fmt.Sprintf("the monolith's p99 is not known before %d of its answers", minWindow)
	}
	return m
}

func (g *Guard) mismatchMeter() whittle.Meter {
	m := g.meter(meterMismatch, &g.mismatch, 1/g.alpha, g.neededMismatch())
	m.Candidate, m.Limit = g.mismatch.rate(), g.cfg.Mismatch
	m.Summary = fmt.Sprintf("%s of %s compared answers differ (%s), limit %s",
		grouped(g.mismatch.Bad), grouped(g.mismatch.Count), percent(m.Candidate), percent(m.Limit)) + g.grounds(&m)
	return m
}

// grounds says what the evidence amounts to.
func (g *Guard) grounds(m *whittle.Meter) string {
	switch {
	case m.Breached:
		return ": breached"
	case m.Needed < 0:
		return "; it cannot speak before the monolith has answered"
	}
	return fmt.Sprintf("; evidence %s of %s, the least that could decide is %s bad answers in a row",
		figure(m.EValue), figure(m.Threshold), grouped(m.Needed))
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// least counts how many plays of the same bet take fresh evidence to the bar;
// −1 where it would take more than neededCap, or the bet cannot win.
func least(bar float64, bet func(*arms)) int {
	var step arms
	bet(&step)
	if slices.Max(step[:]) <= 0 {
		return -1
	}
	var s staked
	for n := 1; n <= neededCap; n++ {
		if s.play(func(a *arms) { a.add(&step) }); s.logEValue() >= bar {
			return n
		}
	}
	return -1
}

// beside is how many good answers of the monolith lie beside each of the
// candidate's, as the blocks were so far.
func (g *Guard) beside() int {
	switch {
	case g.errors.Count > 0:
		return min(maxReserve, g.errors.MCount/g.errors.Count)
	case g.blocks.alone:
		return 0
	}
	return len(g.blocks.reserve)
}

// neededErrors is how many bad answers in a row decide from nothing.
func (g *Guard) neededErrors() int {
	return g.needed(g.past.badRate(), g.cfg.Errors, upperRate(g.past.Bad, g.past.N, g.reference())+g.cfg.Errors)
}

func (g *Guard) neededSlow() int {
	tau := g.past.p99()
	if tau == 0 {
		return -1
	}
	above, n := g.past.above(tau)
	return g.needed(slowShare, 0, upperRate(above, n, g.reference()))
}

func (g *Guard) needed(guess, slack, limit float64) int {
	m := g.beside()
	return least(math.Log(g.threshold()), func(a *arms) {
		switch {
		case m > 0:
			a.block(newOdds(roundRate(guess), slack, m, 1), 0, m, 1, 0)
		case limit < 0.95:
			a.single(limit, 1, 0)
		}
	})
}

// neededMismatch is how many differing exchanges in a row decide from nothing.
func (g *Guard) neededMismatch() int {
	return least(math.Log(1/g.alpha), func(a *arms) { a.single(g.cfg.Mismatch, 1, 0) })
}
