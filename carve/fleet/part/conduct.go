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
	"whittle/carve/control"
)

const (
	subjectConduct = "conduct"
	conductVersion = 1
	// conductEvery is how often whoever leads says what gateways are to send.
	conductEvery = time.Second
	// outcomesPerSecond is how many outcomes a leader takes.
	outcomesPerSecond = 20_000
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
	// Watch is the share of the candidate's responses to users that is compared, by route.
	Watch map[string]whittle.Share `json:"watch,omitempty"`
	// Traffic is what both sides of routes did lately, over all gateways, by whittle.Side.
	Traffic map[string][2]whittle.Traffic `json:"traffic,omitempty"`
}

// conduct is what this gateway is to send, and what a leader has counted.
type conduct struct {
	exchanges, outcomes atomic.Uint64 // parts, as bits of floats
	// arrived has counted since it was last said.
	arrivedExchanges, arrivedOutcomes atomic.Int64

	mu    sync.Mutex // guards the following
	term  uint64
	watch map[string]whittle.Share
	last  time.Time
	// traffic is what was last said of it, at heard.
	traffic map[string][2]whittle.Traffic
	heard   time.Time
}

// trafficStale is after which silence of whoever leads no traffic is shown any more.
const trafficStale = 5 * time.Second

// trafficOf gives a route's. said is false where nobody has said anything of late.
func (c *conduct) trafficOf(route string, now time.Time) (sides [2]whittle.Traffic, said bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.traffic[route], now.Sub(c.heard) <= trafficStale
}

func (c *conduct) start() {
	c.exchanges.Store(math.Float64bits(1))
	c.outcomes.Store(math.Float64bits(1))
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
	if !old {
		c.term, c.traffic, c.heard = s.Term, s.Traffic, time.Now()
	}
	c.mu.Unlock()
	if old {
		return
	}
	c.exchanges.Store(math.Float64bits(s.Exchanges))
	c.outcomes.Store(math.Float64bits(s.Outcomes))
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
// what was in it. What controller c has of the traffic goes with it, but of routes without any.
func (p *Part) sayConduct(term uint64, c *control.Controller, now time.Time) {
	s := p.conduct.next(term, now, p.o.PerSecond)
	if s == nil {
		return
	}
	s.Traffic = map[string][2]whittle.Traffic{}
	for _, r := range c.Status() {
		if idle := (whittle.Traffic{}); (r.Monolith != idle || r.Candidate != idle) && len(s.Traffic) < maxTraffic {
			s.Traffic[r.Route] = [2]whittle.Traffic{whittle.Monolith: r.Monolith, whittle.Candidate: r.Candidate}
		}
	}
	if b, err := json.Marshal(s); err == nil {
		p.heed(b)
		p.member.Say(subjectConduct, b)
	}
}

// maxTraffic bounds the routes whose traffic is said.
const maxTraffic = 200

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
