package handover

import (
	"errors"
	"io"
	"net/rpc"
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/internal/notify"
)

// The names of the two processes' calls.
const (
	predecessorName = "Predecessor"
	successorName   = "Successor"
)

// perProcess is added to the numbers of a replaced gateway's connections, so that they
// are not taken for this one's.
const perProcess = 1 << 40

// Predecessor is the process that this one is to replace.
type Predecessor struct {
	client *rpc.Client
	within time.Duration // bounds the calls that a takeover is made of
	calls  io.ReadWriteCloser
	gone   chan struct{} // closed when it has ended
	wake   notify.Signal

	mu sync.Mutex // guards the following
	// positions and watches are to be put in force there.
	positions map[string]whittle.Position
	watches   map[string]whittle.Share
	reports   map[string][]whittle.Counts
	// over are runs that have ended: an older report may still be on its way.
	over   []uint64
	ending bool
	// permits are those of a fleet that it keeps, by candidate.
	permits map[string]int
}

// Join finds the process that has started this one to be replaced by it; nil: there is
// none.
func Join() (*Predecessor, error) {
	calls, orders, err := inherited()
	if calls == nil || err != nil {
		return nil, err
	}
	return &Predecessor{client: rpc.NewClient(orders), within: callTime, calls: calls, gone: make(chan struct{}), wake: notify.New(), reports: map[string][]whittle.Counts{}}, nil
}

// Take waits until the predecessor has let go of its state, and gives the runs of the
// gateways that go on, by route. On an error the predecessor goes on, also where it has not
// responded in time: it takes back what it has let go of when this process ends.
func (p *Predecessor) Take() (map[string][]uint64, error) {
	var alive map[string][]uint64
	if err := p.call("Release", &alive); err != nil {
		return nil, err
	}
	if alive == nil {
		alive = map[string][]uint64{}
	}
	return alive, nil
}

// call makes a step of the takeover.
func (p *Predecessor) call(method string, out any) error {
	return called(p.client, predecessorName+"."+method, struct{}{}, out, p.within, nil)
}

// Handed is the predecessor's place in a fleet, once Take has succeeded. Empty: it is in
// none, or of a version that hands over none.
func (p *Predecessor) Handed() ([]byte, error) {
	var b []byte
	err := p.call("Handed", &b)
	if _, refused := errors.AsType[rpc.ServerError](err); refused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Abandon lets go of a predecessor that goes on.
func (p *Predecessor) Abandon() { _ = errors.Join(p.client.Close(), p.calls.Close()) }

// Commit takes over: the predecessor accepts no more, and its requests are judged by
// the relay's controller, which is told what came in between. Whatever the controller
// decides after this is in force there too.
func (r *Relay) Commit(p *Predecessor) error {
	s := rpc.NewServer()
	if err := s.RegisterName(successorName, &successorCalls{r, p}); err != nil {
		return err
	}
	r.mu.Lock()
	r.predecessors = append(r.predecessors, p)
	r.mu.Unlock()
	go func() {
		defer close(p.gone)
		s.ServeConn(p.calls) // until the predecessor ends
		r.forget(p)
	}()
	var b Batch
	if err := p.call("Commit", &b); err != nil {
		if errors.Is(err, errHung) {
			p.Abandon() // or who waits for its end would wait for as long as it hangs
		}
		return err
	}
	p.take(b.Reports)
	p.ended(b.Ended)
	p.keep(b.Permits, true)
	for route, known := range b.Paces {
		r.gateway.LearnPace(route, known.Candidate, known.Slowest)
	}
	r.deliver(b)
	go p.order()
	return nil
}

// order puts positions and watches in force in the predecessor until it ends. There is no bound on
// time: one that hangs and goes on later is to have the last share, and only order waits for it.
func (p *Predecessor) order() {
	defer func() { _ = p.client.Close() }() // it has ended
	for {
		select {
		case <-p.gone:
			return
		case <-p.wake:
		}
		p.mu.Lock()
		o := Orders{p.positions, p.watches, p.ending}
		p.positions, p.watches = nil, nil
		p.mu.Unlock()
		if p.client.Call(predecessorName+".Order", o, &struct{}{}) != nil {
			return // it has ended
		}
	}
}

// keep takes what the predecessor keeps of a fleet's permits; first says that it is what it
// has said first, which may come late.
func (p *Predecessor) keep(permits map[string]int, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if permits != nil && (!first || p.permits == nil) {
		p.permits = permits
	}
}

func (p *Predecessor) kept(candidate string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.permits[candidate]
}

func (p *Predecessor) apply(route string, at whittle.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.positions == nil {
		p.positions = map[string]whittle.Position{}
	}
	if at.Generation > p.positions[route].Generation {
		p.positions[route] = at
	}
	p.wake.Notify()
}

func (p *Predecessor) watch(route string, share whittle.Share) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watches == nil {
		p.watches = map[string]whittle.Share{}
	}
	p.watches[route] = share
	p.wake.Notify()
}

func (p *Predecessor) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending = true
	p.wake.Notify()
}

// reportsOf gives the last reports of a route.
func (p *Predecessor) reportsOf(route string) []whittle.Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reported(route)
}

// reported is reportsOf. The caller holds mu.
func (p *Predecessor) reported(route string) []whittle.Counts {
	return slices.DeleteFunc(slices.Clone(p.reports[route]), func(c whittle.Counts) bool { return slices.Contains(p.over, c.Run) })
}

// ended notes runs that have ended, before anybody has their last report.
func (p *Predecessor) ended(runs []Ended) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range runs {
		p.over = append(p.over, e.Last.Run)
	}
}

func (p *Predecessor) last() map[string][]whittle.Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := map[string][]whittle.Counts{}
	for route := range p.reports {
		last[route] = p.reported(route)
	}
	return last
}

// take takes the reports, by route, that are later than those of the same runs. A run is
// there until it is over.
func (p *Predecessor) take(reports map[string][]whittle.Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for route, reports := range reports {
		had := slices.Clone(p.reports[route])
		for _, c := range reports {
			i := slices.IndexFunc(had, func(h whittle.Counts) bool { return h.Run == c.Run })
			switch {
			case i < 0:
				had = append(had, c)
			case c.Seq > had[i].Seq:
				had[i] = c
			}
		}
		p.reports[route] = had
	}
}

// The messages.
type (
	// Observed is an exchange to be compared, with its gateway's counts.
	Observed struct {
		Run      uint64
		Exchange *whittle.Exchange
		Reports  []whittle.Counts
	}
	// NextRound says when both sides are to be asked again, if at all.
	NextRound struct {
		After time.Duration
		More  bool
	}
	// Orders are what the controller has decided for a gateway.
	Orders struct {
		Positions map[string]whittle.Position
		Watches   map[string]whittle.Share
		End       bool
	}
)

// successorCalls are what the predecessor calls in the successor.
type successorCalls struct {
	relay *Relay
	from  *Predecessor
}

// Observe compares an exchange of the predecessor's.
func (c *successorCalls) Observe(in Observed, o *whittle.Observation) error {
	c.from.take(map[string][]whittle.Counts{in.Exchange.Route: in.Reports})
	if in.Exchange.Conn > 0 {
		in.Exchange.Conn += perProcess
	}
	*o = c.relay.ObserveOf(in.Run, in.Exchange)
	return nil
}

// Recheck takes both sides' responses to a request that the predecessor has sent again.
func (c *successorCalls) Recheck(in *whittle.Recheck, next *NextRound) error {
	if in.Exchange.Conn > 0 {
		in.Exchange.Conn += perProcess
	}
	next.After, next.More = c.relay.Recheck(in)
	return nil
}

// Tell takes what the predecessor's gateway has to tell.
func (c *successorCalls) Tell(in Batch, _ *struct{}) error {
	c.from.keep(in.Permits, false)
	c.relay.take(c.from, &in)
	c.relay.deliver(in)
	return nil
}
