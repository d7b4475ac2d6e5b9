package guard

import (
	"fmt"
	"time"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/internal/units"
)

// Meters reads the guards: errors, p99 (where guarded) and mismatch.
func (g *Guard) Meters() []whittle.Meter {
	list := []whittle.Meter{g.errorsMeter()}
	if g.cfg.P99 > 0 {
		list = append(list, g.p99Meter())
	}
	return append(list, g.mismatchMeter())
}

// read begins a meter of errors or latency, and gives the words that end its summary.
func (g *Guard) read(name string, e *grounds) (m whittle.Meter, words string) {
	wealth, most := e.eValue(g.Firsts.Generation)
	m = whittle.Meter{Name: name, EValue: wealth, Threshold: g.threshold(), Count: e.Candidate.N, Breached: e.Breached}
	served, mirrored := g.Errors.Bets[fromPairs].Rounds, g.Errors.Bets[fromMirrored].Rounds
	words = fmt.Sprintf("; %s, %s served and %s mirrored", units.Counted(g.Firsts.Counted, "user"), units.Counted(served, "exchange"), units.Grouped(mirrored)) + g.words(&m)
	if e.Breached { // the counts are of users' responses and may say nothing
		words += " by " + [sources]string{"the first response of each user", "served exchanges, the candidate asked first", "mirrored exchanges, the monolith asked first"}[most]
	}
	return m, words
}

func (g *Guard) errorsMeter() whittle.Meter {
	e := &g.Errors
	m, words := g.read(meterErrors, e)
	m.Monolith, m.Candidate = e.Monolith.Rate(), e.Candidate.Rate()
	if past := g.Past.seen(); e.Monolith.N == 0 {
		m.Monolith = past.Rate()
	}
	m.Limit = m.Monolith + g.cfg.Errors
	m.Summary = fmt.Sprintf("%s of %s candidate responses bad (%s), monolith %s over the same time, limit %s",
		units.Grouped(e.Candidate.Differing), units.Grouped(e.Candidate.N), display.Percent(m.Candidate), display.Percent(m.Monolith), display.Percent(m.Limit)) + words
	return m
}

func (g *Guard) p99Meter() whittle.Meter {
	e := &g.Slow
	m, words := g.read(meterP99, e)
	m.Monolith, m.Candidate = millis(g.Past.P99), millis(g.Recent.P99)
	m.Limit = m.Monolith * g.cfg.P99
	if m.Monolith == 0 {
		m.Summary = fmt.Sprintf("the monolith's p99 is not known before %d of its responses", int(1/slowShare))
		return m
	}
	m.Summary = fmt.Sprintf("%s of %s candidate responses slower than %s ms (%s), monolith's p99 %s ms",
		units.Grouped(e.Candidate.Differing), units.Grouped(e.Candidate.N), display.Figure(m.Limit), display.Percent(e.Candidate.Rate()), display.Figure(m.Monolith)) + words
	return m
}

func (g *Guard) mismatchMeter() whittle.Meter {
	t := &g.Mismatch
	m := whittle.Meter{
		Name: meterMismatch, EValue: t.eValue(), Threshold: g.threshold(), Count: t.Candidate.N, Breached: t.Breached,
		Monolith: t.Own.Rate(), Candidate: t.Candidate.Rate(),
	}
	m.Limit = m.Monolith + g.cfg.Mismatch
	own := "the monolith was never asked twice"
	if t.Own.N > 0 {
		own = fmt.Sprintf("the monolith from itself in %s of %s repeats", units.Grouped(t.Own.Differing), units.Grouped(t.Own.N))
	}
	m.Summary = fmt.Sprintf("%s of %s compared responses differ (%s), %s, limit %s",
		units.Grouped(t.Candidate.Differing), units.Grouped(t.Candidate.N), display.Percent(m.Candidate), own, display.Percent(m.Limit)) + g.words(&m)
	if t.Breached && t.Tests[atSeldom].Peak >= max(t.Tests[0].Peak, t.Tests[1].Peak) {
		m.Summary += " by users' responses that differ where the monolith seldom changes by itself"
	}
	return m
}

// words says what the evidence amounts to, and in which attempt.
func (g *Guard) words(m *whittle.Meter) string {
	attempt := ""
	if g.Attempt > 1 {
		attempt = fmt.Sprintf(" (attempt %d)", g.Attempt)
	}
	if m.Breached {
		return attempt + ": breached"
	}
	return fmt.Sprintf("%s; evidence %s of %s", attempt, display.Figure(m.EValue), display.Figure(m.Threshold))
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
