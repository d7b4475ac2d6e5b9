package guard

import (
	"fmt"
	"time"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/internal/units"
)

// Bounds of an interval over which both sides' CPU time per request is taken.
const (
	// cpuRequests and cpuSpent are what each side has done in it at least. A
	// process's CPU time comes in hundredths of a second, so a quarter of one
	// is known to 4 %.
	cpuRequests = 50
	cpuSpent    = 250 * time.Millisecond
	// cpuAge ends an interval in which one side does too little to fill it.
	cpuAge = 10 * time.Minute
	// cpuShown is how many intervals the meter's figures are of.
	cpuShown = 12
)

// cpuContest is the state of the test of CPU per request.
//
// Hypothesis: in each interval, whatever went before, the candidate's CPU time
// per request is as likely as not, or less likely than that, above Guard.CPU
// times the monolith's over the same interval: its median keeps to the limit.
// The payoff of an interval is the sign of what is above, so no spike of either
// side counts for more than one interval, and what slows both processes down
// alike (a neighbour, the clock's frequency) is in both. The hypothesis makes
// each payoff's expectation 0 or less given the past; the wealth of whoever
// bets on it reaches 1/α with a probability of at most α (Ville), however often
// one looks. Source: eprocess.Bets.
//
// It is known of processes, not of routes: everything that a process responds to
// has to be in its count of requests, and what it does for none (timers,
// scrapes) weighs on few.
type cpuContest struct {
	Bets      eprocess.Bets `json:"bets"`
	Intervals int           `json:"intervals"` // that were bet on
	Above     int           `json:"above"`     // of them, above the limit
	Recent    []cpuTaken    `json:"recent,omitempty"`

	from whittle.CPUReading // where the interval under way begins; At zero: none
}

// cpuTaken is what both sides did in one interval.
type cpuTaken struct {
	Monolith  whittle.CPUUse `json:"monolith"`
	Candidate whittle.CPUUse `json:"candidate"`
}

// CPU takes what the processes of both sides have used since each began.
// Intervals in which no user depends on the candidate are shown and prove
// nothing. A process that began anew begins the interval anew.
func (g *Guard) CPU(r whittle.CPUReading, serving bool) {
	if g.cfg.CPU <= 0 {
		return
	}
	c := &g.Cost
	monolith, ok := used(c.from.Monolith, r.Monolith)
	candidate, both := used(c.from.Candidate, r.Candidate)
	age := r.At.Sub(c.from.At)
	if c.from.At.IsZero() || !ok || !both || age <= 0 || age > cpuAge {
		c.from = r
		return
	}
	if !cpuEnough(monolith) || !cpuEnough(candidate) {
		return
	}
	c.from = r
	c.Recent = append(c.Recent, cpuTaken{monolith, candidate})
	c.Recent = c.Recent[max(0, len(c.Recent)-cpuShown):]
	if !serving {
		return
	}
	above := candidate.PerRequest() - monolith.PerRequest()*g.cfg.CPU
	c.Intervals++
	c.Above += int(eprocess.Indicator(above > 0))
	c.Bets.Bet(eprocess.Sign(above), g.level(), c.Intervals)
}

// used is what was used from one reading to the next; ok is false where the
// counters went back.
func used(from, to whittle.CPUUse) (u whittle.CPUUse, ok bool) {
	u = whittle.CPUUse{CPU: to.CPU - from.CPU, Requests: to.Requests - from.Requests}
	return u, u.CPU >= 0 && u.Requests >= 0
}

func cpuEnough(u whittle.CPUUse) bool { return u.Requests >= cpuRequests && u.CPU >= cpuSpent }

// restart forgets the evidence, and keeps the interval under way.
func (c *cpuContest) restart() {
	*c = cpuContest{Bets: eprocess.NewBets(), from: c.from}
}

func (c *cpuContest) valid() bool {
	for _, t := range c.Recent {
		if !cpuEnough(t.Monolith) || !cpuEnough(t.Candidate) {
			return false
		}
	}
	return c.Bets.Valid() && len(c.Recent) <= cpuShown && c.Above >= 0 && c.Above <= c.Intervals
}

// cpuMeter reads the guard, its figures in microseconds a request.
func (g *Guard) cpuMeter() whittle.Meter {
	c := &g.Cost
	m := whittle.Meter{
		Name: meterCPU, EValue: c.Bets.EValue(), Threshold: 1 / g.level(), Count: c.Intervals, Needed: inARow(1, 1/g.level()), Breached: c.Bets.Decided(),
	}
	if len(c.Recent) == 0 {
		m.Summary = fmt.Sprintf("CPU per request is not known before both processes have answered %d requests and used %v of CPU", cpuRequests, cpuSpent)
		return m
	}
	var sum cpuTaken
	for _, t := range c.Recent {
		sum.Monolith.CPU, sum.Monolith.Requests = sum.Monolith.CPU+t.Monolith.CPU, sum.Monolith.Requests+t.Monolith.Requests
		sum.Candidate.CPU, sum.Candidate.Requests = sum.Candidate.CPU+t.Candidate.CPU, sum.Candidate.Requests+t.Candidate.Requests
	}
	m.Monolith, m.Candidate = sum.Monolith.PerRequest(), sum.Candidate.PerRequest()
	m.Limit = m.Monolith * g.cfg.CPU
	m.Summary = fmt.Sprintf("candidate %s µs of CPU a request, monolith %s µs, limit %s µs; above it in %s of %s intervals while users were on it",
		display.Figure(m.Candidate), display.Figure(m.Monolith), display.Figure(m.Limit), units.Grouped(c.Above), units.Grouped(c.Intervals))
	if m.Breached {
		m.Summary += ": breached"
		return m
	}
	m.Summary += fmt.Sprintf("; evidence %s of %s, the least that could decide is %s intervals above it in a row", display.Figure(m.EValue), display.Figure(m.Threshold), units.Grouped(m.Needed))
	return m
}
