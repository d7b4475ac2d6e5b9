package guard

import (
	"fmt"
	"math"
	"slices"
	"time"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/internal/units"
)

// neededCap ends the search for the least evidence that could decide.
const neededCap = 10_000

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

func (g *Guard) errorsMeter() whittle.Meter {
	e := &g.Errors
	m := whittle.Meter{
		Name: meterErrors, EValue: eprocess.AsNumber(e.logEValue()), Threshold: g.threshold(),
		Count: e.Candidate.N, Needed: g.neededErrors(), Breached: e.Breached,
		Monolith: e.Monolith.rate(), Candidate: e.Candidate.rate(),
	}
	if e.Monolith.N == 0 {
		m.Monolith = eprocess.Ratio(g.Past.Bad, g.Past.N)
	}
	m.Limit = m.Monolith + g.cfg.Errors
	m.Summary = fmt.Sprintf("%s of %s candidate responses bad (%s), monolith %s over the same time, limit %s; ",
		units.Grouped(e.Candidate.Bad), units.Grouped(e.Candidate.N), display.Percent(m.Candidate), display.Percent(m.Monolith), display.Percent(m.Limit)) +
		g.units() + g.words(&m, "bad responses") + g.by(e, m.Breached, "mirrored pairs, the monolith asked first")
	return m
}

func (g *Guard) p99Meter() whittle.Meter {
	e := &g.Slow
	m := whittle.Meter{
		Name: meterP99, EValue: eprocess.AsNumber(e.logEValue()), Threshold: g.threshold(),
		Count: e.Candidate.N, Needed: g.neededSlow(), Breached: e.Breached,
		Monolith: millis(g.Past.p99()), Candidate: millis(g.Recent.p99()),
	}
	m.Limit = m.Monolith * g.cfg.P99
	if m.Monolith == 0 {
		m.Summary = fmt.Sprintf("the monolith's p99 is not known before %d of its responses", minWindow)
		return m
	}
	m.Summary = fmt.Sprintf("%s of %s candidate responses slower than %s ms (%s), monolith's p99 %s ms; ",
		units.Grouped(e.Candidate.Bad), units.Grouped(e.Candidate.N), display.Figure(m.Limit), display.Percent(e.Candidate.rate()), display.Figure(m.Monolith)) +
		g.units() + g.words(&m, "slow responses") + g.by(e, m.Breached, "served and mirrored pairs together")
	return m
}

func (g *Guard) mismatchMeter() whittle.Meter {
	t := &g.Mismatch
	m := whittle.Meter{
		Name: meterMismatch, EValue: eprocess.AsNumber(t.logEValue()), Threshold: g.threshold(),
		Count: t.Count, Needed: g.neededMismatch(), Breached: t.Breached,
		Monolith: eprocess.Ratio(t.OwnBad, t.Own), Candidate: eprocess.Ratio(t.Bad, t.Count),
	}
	m.Limit = m.Monolith + g.cfg.Mismatch
	own := "the monolith was never asked twice"
	if t.Own > 0 {
		own = fmt.Sprintf("the monolith from itself in %s of %s repeats", units.Grouped(t.OwnBad), units.Grouped(t.Own))
	}
	m.Summary = fmt.Sprintf("%s of %s compared responses differ (%s), %s, limit %s",
		units.Grouped(t.Bad), units.Grouped(t.Count), display.Percent(m.Candidate), own, display.Percent(m.Limit)) + g.words(&m, "differences")
	return m
}

// units says what the evidence is of: users, and requests that both sides were
// asked, the candidate first or the monolith.
func (g *Guard) units() string {
	served, mirrored := g.Errors.Pairs.Rounds, g.Errors.Mirrored.Rounds
	return fmt.Sprintf("%s, %s served and %s mirrored", plural(g.Firsts.Counted, "user"), plural(served, "pair"), units.Grouped(mirrored))
}

// by names the source that most of the evidence of a breach is of: the counts in
// front of it are of users' responses and may say nothing.
func (g *Guard) by(e *grounds, breached bool, mirrored string) string {
	if !breached {
		return ""
	}
	return " by " + [sources]string{
		fromFirsts: "the first response of each user", fromUsers: "runs of responses of one user",
		fromPairs: "served pairs, the candidate asked first", fromTails: "the slowest of served pairs", fromMirrored: mirrored,
	}[e.most()]
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return units.Grouped(n) + " " + what + "s"
}

// words says what the evidence amounts to, and which attempt it is of.
func (g *Guard) words(m *whittle.Meter, what string) string {
	attempt := ""
	if g.Attempt > 1 {
		attempt = fmt.Sprintf(" (attempt %d)", g.Attempt)
	}
	switch {
	case m.Breached:
		return attempt + ": breached"
	case m.Needed < 0:
		return attempt + "; it cannot speak before the monolith has answered"
	}
	return fmt.Sprintf("%s; evidence %s of %s, the least that could decide is %s %s in a row",
		attempt, display.Figure(m.EValue), display.Figure(m.Threshold), units.Grouped(m.Needed), what)
}

// least counts how many plays of the same bet take fresh evidence to the bar;
// −1 where it would take more than neededCap, or the bet cannot win.
func least(bar float64, bet func(*eprocess.Arms)) int {
	var step eprocess.Arms
	bet(&step)
	if slices.Max(step[:]) <= 0 {
		return -1
	}
	var s eprocess.Staked
	for n := 1; n <= neededCap; n++ {
		if s.Play(func(a *eprocess.Arms) { a.Add(&step) }); s.LogEValue() >= bar {
			return n
		}
	}
	return -1
}

// monolithPerCandidate is how many good responses of the monolith there are for each of the
// candidate's, as the blocks were so far.
func (g *Guard) monolithPerCandidate() int {
	b, c := &g.Firsts.Blocks[neverSeen], &g.Errors.Firsts
	switch {
	case c.Count > 0:
		return min(maxReserve, c.MCount/c.Count)
	case b.Alone:
		return 0
	}
	return len(b.Reserve)
}

// neededErrors is how many bad responses in a row decide from nothing.
func (g *Guard) neededErrors() int {
	beta, ref := g.referenceRisk(), g.aloneReference()
	n := g.needed(g.Errors.Stakes[fromFirsts], g.Past.badRate(), g.cfg.Errors, eprocess.UpperRate(ref.Bad, ref.N, beta)+g.cfg.Errors)
	if g.Errors.Pairs.Rounds == 0 {
		return n
	}
	return sooner(n, inARow((1-g.cfg.Errors)/(1+g.cfg.Errors), g.threshold()/g.Errors.Stakes[fromPairs]))
}

func (g *Guard) neededSlow() int {
	ref := g.aloneReference()
	if ref.Tau == 0 {
		return -1
	}
	n := g.needed(g.Slow.Stakes[fromFirsts], slowShare, 0, eprocess.UpperRate(ref.Above, ref.Good, g.referenceRisk()))
	if g.Slow.Pairs.Rounds == 0 {
		return n
	}
	return sooner(n, inARow(1, g.threshold()/(g.Slow.Stakes[fromPairs]+g.Slow.Stakes[fromTails])))
}

func sooner(a, b int) int {
	if a < 0 || b < a {
		return b
	}
	return a
}

func (g *Guard) needed(stake, guess, slack, limit float64) int {
	m := g.monolithPerCandidate()
	return least(math.Log(g.threshold()/stake), func(a *eprocess.Arms) {
		switch {
		case m > 0:
			a.Block(eprocess.NewOdds(eprocess.RoundRate(guess), slack, m, 1), 0, m, 1, 0)
		case limit < 0.95:
			a.Single(limit, 1, 0)
		}
	})
}

// inARow is how many payoffs in a row bring a wealth of 1 to a bar; −1 where it would take more
// than neededCap.
func inARow(payoff, bar float64) int {
	b := eprocess.NewBets()
	for n := 1; n <= neededCap; n++ {
		if b.Bet(payoff, 0, n); b.Now >= bar {
			return n
		}
	}
	return -1
}

// neededMismatch is how many differing exchanges in a row decide from nothing.
func (g *Guard) neededMismatch() int {
	limit := g.mismatchLimit()
	if limit >= 0.95 {
		return -1
	}
	return least(math.Log(g.threshold()/mismatchPart), func(a *eprocess.Arms) { a.Single(limit, 1, 0) })
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
