// Package query judges the readings of a team's own Prometheus queries as guardrails of a rollout: counters
// by a sequential test of proportions, others by a plain limit rule. It is pure: readings in, a meter out.
package query

import (
	"fmt"
	"math"
	"time"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/internal/units"
)

// Guard is the guardrail of one query on one route. Its JSON is its state.
type Guard struct {
	cfg   whittle.Query
	alpha float64
	state
	from whittle.QueryReading // the last with data; At zero: none
	last time.Time            // the last one that was not missing
	// served says that users were on the candidate at from.
	served bool
}

// state is what outlives a restart.
type state struct {
	Attempt int  `json:"attempt"`
	Looked  int  `json:"looked"`  // readings, in this attempt
	Without int  `json:"without"` // those with no data
	Gone    int  `json:"gone"`    // readings with no data in a row, up to the last
	Missing bool `json:"missing"` // no reading came yet
	// Why says why there is no data; empty: there is.
	Why string `json:"why,omitempty"`

	// Of a test: the wealth, the intervals played, and those left out because a side counted nothing or
	// a counter went back.
	Test    eprocess.Blocks `json:"test"`
	Bet     int             `json:"bet"`
	LeftOut int             `json:"left_out"`
	// Still counts the intervals in a row, up to the last, in which the candidate counted nothing.
	Still int `json:"still"`
	// Seen says that there was a series of bad events.
	Seen bool `json:"seen"`
	// The events of each side, the bad ones as Differing.
	Monolith  eprocess.Share `json:"monolith"`
	Candidate eprocess.Share `json:"candidate"`
	Past      eprocess.Share `json:"past"` // the monolith's, of all time

	// Of a limit rule: the last figures, and how many in a row were beyond the limit.
	Last   whittle.SideValues `json:"last"`
	Beyond int                `json:"beyond"`

	Spoke  bool   `json:"breached"`
	Reason string `json:"reason,omitempty"`
}

// New makes the guardrail. alpha is the chance that a test of an equal candidate speaks in any attempt.
func New(q whittle.Query, alpha float64) *Guard {
	return &Guard{cfg: q, alpha: alpha, state: state{Attempt: 1, Missing: true}}
}

// Query is what the guardrail is about.
func (g *Guard) Query() whittle.Query { return g.cfg }

// Is reports whether the guardrail is that of a query at an error rate.
func (g *Guard) Is(q whittle.Query, alpha float64) bool { return g.cfg == q && g.alpha == alpha }

// threshold is the e-value that decides in this attempt.
func (g *Guard) threshold() float64 { return 1 / (g.alpha * eprocess.OfAttempts(g.Attempt)) }

// Reset begins another attempt: it forgets evidence and breach, and keeps what it knows of the monolith.
func (g *Guard) Reset() {
	g.state = state{Attempt: g.Attempt + 1, Missing: g.Missing, Gone: g.Gone, Why: g.Why, Past: g.Past, Seen: g.Seen, Last: g.Last}
	g.from, g.served = whittle.QueryReading{}, false
}

// Take takes a reading; share is the candidate's part of the users. While it has none, readings are no
// evidence, but a missing one, or one beyond a limit, holds up a rise.
func (g *Guard) Take(r whittle.QueryReading, share whittle.Share) {
	serving := share > 0
	g.Missing = false
	g.Looked++
	if g.Why = g.lacks(&r, serving); g.Why != "" {
		g.Without++
		g.Gone++
		g.from = whittle.QueryReading{}
		if g.cfg.FallWithoutData && serving && g.Gone >= g.cfg.For {
			g.breach(fmt.Sprintf("no data in %d intervals in a row: %s", g.Gone, g.Why))
		}
		return
	}
	g.Gone = 0
	if g.cfg.Tests() {
		g.test(&r, serving)
	} else {
		g.rule(&r, serving)
	}
}

func (g *Guard) breach(why string) {
	if !g.Spoke {
		g.Spoke, g.Reason = true, why
	}
}

// lacks is why a reading says nothing, as a clause, or "". Before users are on it, the candidate need
// not have figures to compare with the monolith's.
func (g *Guard) lacks(r *whittle.QueryReading, serving bool) string {
	switch {
	case r.Missing != "":
		return r.Missing
	case g.last.Sub(r.At) > 2*g.cfg.Every: // it may have been wrong only for a moment
		g.last = r.At
		return "the server's clock went back"
	case !r.At.After(g.last):
		return "the server has no newer figures"
	}
	g.last = r.At
	read := []whittle.SideValues{r.Value}
	if g.cfg.Tests() {
		read = []whittle.SideValues{r.Bad, r.Total}
	}
	for _, v := range read {
		switch {
		case v.NoCandidate && (serving || g.alone()):
			return "there is no series of the candidate"
		case v.NoMonolith && !g.alone():
			return "there is no series of the monolith"
		case !finite(v.Monolith) || !finite(v.Candidate):
			return "a figure is no number"
		case g.cfg.Tests() && (v.Monolith < 0 || v.Candidate < 0):
			return "a counter is below 0"
		}
	}
	return ""
}

// alone reports whether the candidate's figure is compared with a limit only.
func (g *Guard) alone() bool { return !g.cfg.Tests() && g.cfg.Value.Monolith == "" }

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// test bets on what was counted since the last reading.
//
// Hypothesis: in each interval with users on the candidate, given the past, its mean probability of a
// bad event is at most the monolith's plus Excess, and events are independent. Each interval is a block
// of eprocess.Blocks with odds from earlier ones, so the chance that the product ever reaches 1/α is
// at most α, however often one looks and however the rates move between intervals.
// Source: Ville's inequality; Turner, Ly & Grünwald, arXiv 2106.02693.
//
// It breaks where one cause makes many events (a user who retries a hundred times, a batch): they
// count as a hundred.
func (g *Guard) test(r *whittle.QueryReading, serving bool) {
	from, served := g.from, g.served
	g.from, g.served = *r, serving
	g.Seen = g.Seen || !r.NoBad
	if from.At.IsZero() {
		return
	}
	m, okM := counted(r.Bad.Monolith-from.Bad.Monolith, r.Total.Monolith-from.Total.Monolith)
	c, okC := counted(r.Bad.Candidate-from.Bad.Candidate, r.Total.Candidate-from.Total.Candidate)
	if !okM || serving && !okC {
		g.LeftOut++
		return
	}
	past := g.Past
	g.Past = g.Past.And(m)
	if !serving || !served {
		return
	}
	if g.Still++; c.N > 0 {
		g.Still = 0
	}
	if c.N == 0 || m.N == 0 {
		g.LeftOut++
		return
	}
	guess := (float64(past.Differing) + 0.5) / (float64(past.N) + 1)
	g.Test.Play(eprocess.NewOdds(guess, g.cfg.Excess, m.N, c.N), m, c)
	g.Bet++
	g.Monolith, g.Candidate = g.Monolith.And(m), g.Candidate.And(c)
	if g.Test.EValue() >= g.threshold() {
		g.breach("")
	}
}

// counted is what a side counted from one reading to the next, in whole events; false where a counter
// went back or more was bad than there was.
func counted(bad, all float64) (eprocess.Share, bool) {
	bad, all = math.Round(bad), math.Round(all)
	return eprocess.Share{N: int(all), Differing: int(bad)}, bad >= 0 && all >= bad && all <= eprocess.CountMost
}

// rule counts how many figures in a row are beyond the limit. It claims no error rate.
func (g *Guard) rule(r *whittle.QueryReading, serving bool) {
	g.Last = r.Value
	if !g.beyond(&r.Value) {
		g.Beyond = 0
		return
	}
	g.Beyond++
	if serving && g.Beyond >= g.cfg.For {
		g.breach("")
	}
}

func (g *Guard) beyond(v *whittle.SideValues) bool {
	if v.NoCandidate {
		return false // before users are on it
	}
	limit := g.limit(v)
	if g.cfg.Below {
		return v.Candidate < limit
	}
	return v.Candidate > limit
}

func (g *Guard) limit(v *whittle.SideValues) float64 {
	if g.cfg.Ratio {
		return g.cfg.Limit * v.Monolith
	}
	return g.cfg.Limit
}

// Breached reports whether the guardrail has spoken in this attempt.
func (g *Guard) Breached() bool { return g.Spoke }

// Wait is why a rise must wait, as a clause; empty where it need not.
func (g *Guard) Wait() string {
	switch {
	case g.Missing:
		return fmt.Sprintf("query %s has no reading yet", g.cfg.Name)
	case g.Why != "":
		return fmt.Sprintf("query %s has no data: %s", g.cfg.Name, g.Why)
	case g.Still >= g.cfg.For:
		return fmt.Sprintf("query %s counted nothing of the candidate in %d intervals in a row", g.cfg.Name, g.Still)
	case g.Beyond > 0:
		return fmt.Sprintf("query %s is beyond its limit: %s", g.cfg.Name, g.figures())
	}
	return ""
}

// Meter reads the guardrail.
func (g *Guard) Meter() whittle.Meter {
	m := whittle.Meter{Name: "query " + g.cfg.Name, Breached: g.Spoke}
	if g.cfg.Tests() {
		g.testMeter(&m)
	} else {
		m.Monolith, m.Candidate, m.Limit = g.Last.Monolith, g.Last.Candidate, g.limit(&g.Last)
		m.Count = g.Looked - g.Without
		m.Summary = g.ruleSummary()
	}
	if g.Why != "" {
		m.Summary += "; no data now: " + g.Why
	}
	if g.Spoke {
		m.Summary += ": breached"
		if g.Reason != "" {
			m.Summary += ", " + g.Reason
		}
	}
	return m
}

func (g *Guard) testMeter(m *whittle.Meter) {
	m.EValue, m.Threshold = g.Test.EValue(), g.threshold()
	m.Monolith, m.Candidate, m.Count = g.Monolith.Rate(), g.Candidate.Rate(), g.Candidate.N
	m.Limit = m.Monolith + g.cfg.Excess
	left := ""
	if g.Without > 0 {
		left = fmt.Sprintf(", %s without data", units.Grouped(g.Without))
	}
	if g.LeftOut > 0 {
		left += fmt.Sprintf(", %s in which a side counted nothing, or a counter went back", units.Grouped(g.LeftOut))
	}
	m.Summary = fmt.Sprintf("bad events: candidate %s of %s, monolith %s of %s, in %s intervals%s; allowed %s more; evidence %s of %s",
		share(m.Candidate), units.Grouped(g.Candidate.N), share(m.Monolith), units.Grouped(g.Monolith.N),
		units.Grouped(g.Bet), left, share(g.cfg.Excess), display.Figure(m.EValue), display.Figure(m.Threshold))
	if !g.Seen && !g.Missing {
		m.Summary += "; no series of bad events was ever there, so they count as 0: is the query right?"
	}
}

func (g *Guard) ruleSummary() string {
	if g.Looked == g.Without {
		return fmt.Sprintf("looked at %s times, without data; a limit rule, no error rate is claimed", units.Grouped(g.Looked))
	}
	return fmt.Sprintf("%s; beyond the limit %d times in a row, of %d that decide; looked at %s times, %s without data; a limit rule, no error rate is claimed",
		g.figures(), g.Beyond, g.cfg.For, units.Grouped(g.Looked), units.Grouped(g.Without))
}

func (g *Guard) figures() string {
	v, word := &g.Last, "at most"
	if g.cfg.Below {
		word = "at least"
	}
	if v.NoCandidate {
		return "candidate not known before users are on it"
	}
	text := "candidate " + display.Figure(v.Candidate)
	if !g.alone() {
		text += ", monolith " + display.Figure(v.Monolith)
	}
	return fmt.Sprintf("%s, %s %s", text, word, display.Figure(g.limit(v)))
}

func share(f float64) string { return fmt.Sprintf("%.3g %%", 100*f) }
