package part

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
)

const (
	subjectConduct = "conduct"
	conductVersion = 1
	// conductEvery is how often whoever leads says what gateways are to send.
	conductEvery = time.Second
	// outcomesPerSecond is how many outcomes a leader takes.
	outcomesPerSecond = 20_000
	// messagesPerSecond is how many messages with outcomes a leader wants: where there are
	// more, gateways send them more seldom.
	messagesPerSecond = 25
)

// said is what whoever leads says of what gateways are to send. What is lost is said
// again.
type said struct {
	Version int    `json:"version"`
	Term    uint64 `json:"term"`
	// Exchanges is the part of the exchanges that is sent, Outcomes that of the users whose
	// outcomes are.
	Exchanges float64 `json:"exchanges"`
	Outcomes  float64 `json:"outcomes"`
	// Pace is how often outcomes are sent, 1: each time after outcomesEvery. 0: it is not
	// said.
	Pace float64 `json:"pace,omitempty"`
	// Watch is the share of the candidate's responses to users that is compared, by route.
	Watch map[string]whittle.Share `json:"watch,omitempty"`
}

// conduct is what this gateway is to send, and what a leader has counted.
type conduct struct {
	exchanges, outcomes, pace atomic.Uint64 // parts, as bits of floats
	// arrived has counted since it was last said.
	arrivedExchanges, arrivedOutcomes, arrivedMessages atomic.Int64

	mu    sync.Mutex // guards the following
	term  uint64
	watch map[string]whittle.Share
	last  time.Time
}

func (c *conduct) start() {
	c.exchanges.Store(math.Float64bits(1))
	c.outcomes.Store(math.Float64bits(1))
	c.pace.Store(math.Float64bits(1))
}

// outcomesEvery is how long outcomes are gathered.
func (c *conduct) outcomesEvery() time.Duration {
	pace := math.Float64frombits(c.pace.Load())
	return min(outcomesSeldom, time.Duration(float64(outcomesEvery)/pace))
}

// chosen reports whether an exchange is sent; at is drawn for it.
func (c *conduct) chosen(at float64) bool { return at < math.Float64frombits(c.exchanges.Load()) }

// counts reports whether a user's outcomes are sent: all of theirs or none.
func (c *conduct) counts(user uint64) bool {
	part := math.Float64frombits(c.outcomes.Load())
	if part >= 1 {
		return true
	}
	if user == 0 {
		return rand.Float64() < part
	}
	const golden = 0x9e3779b97f4a7c15 // another order than that of the share
	return float64(user*golden>>11)/(1<<53) < part
}

// heed does what whoever leads says.
func (p *Part) heed(message []byte) {
	var s said
	if json.Unmarshal(message, &s) != nil || s.Version != conductVersion || !(s.Exchanges > 0 && s.Exchanges <= 1 && s.Outcomes > 0 && s.Outcomes <= 1) {
		return
	}
	c := &p.conduct
	c.mu.Lock()
	old := s.Term < c.term
	c.term = max(c.term, s.Term)
	c.mu.Unlock()
	if old {
		return
	}
	c.exchanges.Store(math.Float64bits(s.Exchanges))
	c.outcomes.Store(math.Float64bits(s.Outcomes))
	if s.Pace > 0 && s.Pace <= 1 {
		c.pace.Store(math.Float64bits(s.Pace))
	}
	for route, share := range s.Watch {
		p.o.Gateway.Watch(route, share)
	}
}

// watch keeps which share of a route is to be compared, and puts it in force here.
func (p *Part) watch(route string, share whittle.Share) {
	p.conduct.mu.Lock()
	if p.conduct.watch == nil {
		p.conduct.watch = map[string]whittle.Share{}
	}
	p.conduct.watch[route] = share
	p.conduct.mu.Unlock()
	p.o.Gateway.Watch(route, share)
}

// sayConduct tells gateways which part of exchanges and outcomes to send, if it is time to:
// the part that brings what arrives to the budget. It depends on how much has come, never on
// what was in it. It reports whether it was time to.
func (p *Part) sayConduct(term uint64, now time.Time) bool {
	s := p.conduct.next(term, now, p.o.PerSecond)
	if s == nil {
		return false
	}
	if b, err := json.Marshal(s); err == nil {
		p.heed(b)
		p.member.Say(subjectConduct, b)
	}
	return true
}

// next is what is to be said now; nil: it is not time to. perSecond is the budget of
// exchanges.
func (c *conduct) next(term uint64, now time.Time, perSecond int) *said {
	c.mu.Lock()
	passed := now.Sub(c.last)
	if passed < conductEvery {
		c.mu.Unlock()
		return nil
	}
	c.last = now
	s := said{Version: conductVersion, Term: term, Watch: maps.Clone(c.watch)}
	c.mu.Unlock()
	fit := func(part *atomic.Uint64, n *atomic.Int64, budget int) float64 {
		return fitted(math.Float64frombits(part.Load()), n.Swap(0), budget, passed)
	}
	s.Exchanges = fit(&c.exchanges, &c.arrivedExchanges, perSecond)
	s.Outcomes = fit(&c.outcomes, &c.arrivedOutcomes, outcomesPerSecond)
	s.Pace = max(fit(&c.pace, &c.arrivedMessages, messagesPerSecond), float64(outcomesEvery)/float64(outcomesSeldom))
	return &s
}

// fitted is the next part, after n have come of the last one.
func fitted(part float64, n int64, budget int, passed time.Duration) float64 {
	if n == 0 || passed > 10*conductEvery { // nothing is known
		return min(1, part*2)
	}
	change := float64(budget) * passed.Seconds() / float64(n)
	return min(1, max(1e-6, part*min(2, max(0.5, change))))
}
