package part

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/carve/control"
)

const (
	subjectTraffic = "traffic"
	trafficVersion = 1
	// trafficStale is after which silence of whoever leads nothing is shown any more.
	trafficStale = 5 * time.Second
	// maxTraffic bounds the routes of one message.
	maxTraffic = 200
)

// sentTraffic is what both sides of routes did lately, over all gateways, as whoever leads
// has it.
type sentTraffic struct {
	Version int                           `json:"version"`
	Term    uint64                        `json:"term"`
	Routes  map[string][2]whittle.Traffic `json:"routes"` // by whittle.Side
}

// traffic is what was last said of it. The zero value is ready.
type traffic struct {
	mu     sync.Mutex // guards the following
	term   uint64
	routes map[string]heardTraffic
}

type heardTraffic struct {
	sides [2]whittle.Traffic
	at    time.Time
}

// of gives a route's. said is false where nobody has said anything of late.
func (t *traffic) of(route string, now time.Time) (monolith, candidate whittle.Traffic, said bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.routes[route]
	return h.sides[whittle.Monolith], h.sides[whittle.Candidate], now.Sub(h.at) <= trafficStale
}

// heed takes a message of whoever leads. What is no route here is left out.
func (t *traffic) heed(message []byte, known *table, now time.Time) {
	var s sentTraffic
	if json.Unmarshal(message, &s) != nil || s.Version != trafficVersion {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.Term < t.term {
		return
	}
	t.term = s.Term
	if t.routes == nil {
		t.routes = map[string]heardTraffic{}
	}
	for name, h := range t.routes {
		if now.Sub(h.at) > trafficStale {
			delete(t.routes, name)
		}
	}
	for name, sides := range s.Routes {
		if known.routes[name] != nil {
			t.routes[name] = heardTraffic{sides, now}
		}
	}
}

// sayTraffic says what a controller has of the routes' traffic. Routes without any are left
// out.
func (p *Part) sayTraffic(term uint64, c *control.Controller) {
	all := c.Status()
	all = slices.DeleteFunc(all, func(s whittle.RouteStatus) bool {
		return s.Monolith == (whittle.Traffic{}) && s.Candidate == (whittle.Traffic{})
	})
	for some := range slices.Chunk(all, maxTraffic) {
		s := sentTraffic{Version: trafficVersion, Term: term, Routes: map[string][2]whittle.Traffic{}}
		for i := range some {
			s.Routes[some[i].Route] = [2]whittle.Traffic{whittle.Monolith: some[i].Monolith, whittle.Candidate: some[i].Candidate}
		}
		if b, err := json.Marshal(s); err == nil {
			p.member.Say(subjectTraffic, b)
		}
	}
}
