package handover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/rpc"
	"os/exec"
	"sync"
	"time"

	"whittle"
)

const (
	// startTime is how long a successor may take until it serves.
	startTime = time.Minute
	// reportEvery is how often a process that was replaced reports its counts.
	reportEvery = 100 * time.Millisecond
	// callTime is how long a call of the other process may take: such as wait for control while
	// it is handed over, which takes startTime at most, and then are done at once.
	callTime = 2 * startTime
)

// errHung is of a process that is there and does not respond.
var errHung = errors.New("it does not respond")

// Hooks are what the process that is replaced does. No two are called at a time.
type Hooks struct {
	// Release ends deciding and lets go of what one process at a time may have. On an
	// error nothing has changed.
	Release func() error
	// Resume undoes Release.
	Resume func()
	// Leave is called once the successor has taken over: it accepts from the same
	// sockets.
	Leave func()
	// End is called when the successor ends too: what is under way is to end soon.
	End func()
	// Handed is this process's place in a fleet, after Release; Keep says just before
	// Leave, and again and again until all has ended, how many permits of the fleet this
	// process keeps for what it has under way, by candidate; and
	// Lost is called when the successor is gone before it. Nil: there is no fleet.
	Handed func() []byte
	Keep   func() map[string]int
	Lost   func()
	// Routes are the names of the routes with a candidate.
	Routes []string
	Log    *slog.Logger
}

// successor is the process that takes over, as the one that is replaced sees it.
type successor struct {
	client *rpc.Client
	within time.Duration // bounds a call
	hung   chan struct{} // closed once a call has taken longer
	once   sync.Once     // closes hung
	log    *slog.Logger
	lost   sync.Once
	onLost func()                // nil: nothing is to be done then
	keep   func() map[string]int // nil: there is no fleet
	routes []string

	stop    context.CancelFunc
	telling sync.WaitGroup
}

// Replace starts a command that is to take over, and returns when it has, or has not:
// then it has ended, and everything is as before. Environment and files of the command
// may have more in them.
func (r *Relay) Replace(cmd *exec.Cmd, h Hooks) error {
	calls, orders, err := pair(cmd)
	if err == nil {
		if err = cmd.Start(); err != nil {
			err = errors.Join(fmt.Errorf("start the new process: %w", err), calls.Close(), orders.Close())
		}
	}
	for _, f := range cmd.ExtraFiles {
		_ = f.Close() // the process has its own, if there is one
	}
	if err != nil {
		return err
	}
	p := &replaced{relay: r, hooks: h, calls: rpc.NewClient(calls), within: callTime, done: make(chan struct{})}
	ended := make(chan struct{})
	var status error
	go func() { // it outlives this process, which does not wait for it
		defer close(ended)
		status = cmd.Wait()
	}()
	s := rpc.NewServer()
	if err := s.RegisterName(predecessorName, p); err != nil {
		return err // a defect of this package
	}
	go s.ServeConn(orders) // until the successor ends, or this process does
	late := time.NewTimer(startTime)
	defer late.Stop()
	select {
	case <-p.done:
		return nil
	case <-ended:
		err = fmt.Errorf("the new process ended before it served: %w", cmp.Or(status, io.EOF))
	case <-late.C:
		err = fmt.Errorf("the new process did not serve within %v", startTime)
		_ = cmd.Process.Kill() // it may have ended by itself
		<-ended
	}
	if !p.abort() {
		return nil // it had taken over just before
	}
	_ = orders.Close() // ServeConn has, where the process ended by itself
	return errors.Join(err, p.calls.Close())
}

// replaced is one attempt to replace this process.
type replaced struct {
	relay *Relay
	hooks Hooks
	calls *rpc.Client
	// within bounds the calls of the successor once it has taken over.
	within time.Duration
	done   chan struct{} // closed once the successor has taken over

	mu    sync.Mutex // guards the following; held while a step is made
	state attempt
}

// attempt is how far an attempt has come.
type attempt uint8

const (
	starting attempt = iota
	released
	takenOver
	aborted
)

// errTurn refuses a step that does not follow the one before.
var errTurn = errors.New("out of turn")

// Release is called by the successor: control and the state are let go of.
func (p *replaced) Release(_ struct{}, alive *map[string][]uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != starting {
		return errTurn
	}
	r := p.relay
	r.turn.Lock()
	if err := p.hooks.Release(); err != nil {
		r.turn.Unlock()
		return err
	}
	p.state = released
	*alive = map[string][]uint64{}
	for _, route := range p.hooks.Routes {
		runs := []uint64{}
		for _, c := range r.reports(route) {
			runs = append(runs, c.Run)
		}
		(*alive)[route] = runs
	}
	return nil
}

// Handed is called by the successor for this process's place in a fleet, which it has left.
func (p *replaced) Handed(_ struct{}, place *[]byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != released {
		return errTurn
	}
	if p.hooks.Handed != nil {
		*place = p.hooks.Handed()
	}
	return nil
}

// Order is called by the successor, and puts in force what it has decided.
func (p *replaced) Order(o Orders, _ *struct{}) error {
	for route, at := range o.Positions {
		p.relay.Apply(route, at)
	}
	for route, share := range o.Watches {
		p.relay.Watch(route, share)
	}
	if o.End {
		p.hooks.End()
	}
	return nil
}

// Commit is called by the successor, which gets what nobody has taken meanwhile. From then
// on it decides.
func (p *replaced) Commit(_ struct{}, b *Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != released {
		return errTurn
	}
	p.state = takenOver
	r := p.relay
	ctx, stop := context.WithCancel(context.Background())
	up := &successor{client: p.calls, within: p.within, hung: make(chan struct{}), log: p.hooks.Log, routes: p.hooks.Routes, stop: stop, onLost: p.hooks.Lost, keep: p.hooks.Keep}
	permits := up.permits()
	p.hooks.Leave()
	*b = r.box.take()
	b.Permits = permits
	b.Paces = map[string]pace{}
	for _, route := range p.hooks.Routes {
		candidate, slowest := r.gateway.Pace(route)
		b.Paces[route] = pace{candidate, slowest}
	}
	b.Reports = r.allReports(p.hooks.Routes)
	r.up = up
	r.turn.Unlock()
	up.telling.Go(func() { r.tell(ctx, up) })
	close(p.done)
	return nil
}

// abort has this process go on, if nobody has taken over.
func (p *replaced) abort() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.state
	if was == takenOver {
		return false
	}
	p.state = aborted
	if was != released {
		return true
	}
	r := p.relay
	p.hooks.Resume()
	r.turn.Unlock()
	r.deliver(r.box.take())
	return true
}

// deliver gives what waited to this process's own controller.
func (r *Relay) deliver(b Batch) {
	for _, t := range b.Trips {
		r.Tripped(t.Route, t.Reason, t.Generation)
	}
	for _, e := range b.Ended {
		r.Ended(e.Route, e.Last)
	}
	for _, o := range b.Outcomes {
		r.Outcome(o)
	}
	for _, x := range b.Exchanges {
		r.Record(x)
	}
}

func (r *Relay) allReports(routes []string) map[string][]whittle.Counts {
	all := make(map[string][]whittle.Counts, len(routes))
	for _, route := range routes {
		all[route] = r.reports(route)
	}
	return all
}

// tell tells the successor what the gateway has to tell, until ctx ends.
func (r *Relay) tell(ctx context.Context, up *successor) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.wake:
		}
		up.tell(r.box.take(), r.allReports(up.routes))
	}
}

// Finish tells the successor the rest, once the gateway and all that is done on its side
// have ended. It does nothing in a process that was not replaced.
func (r *Relay) Finish() {
	r.turn.RLock()
	up := r.up
	r.turn.RUnlock()
	if up == nil {
		return
	}
	up.stop()
	up.telling.Wait()
	for b := r.box.take(); ; b = r.box.take() {
		up.tell(b, r.allReports(up.routes))
		if b.empty() {
			break
		}
	}
	_ = up.client.Close() // it has been told all
}

// permits are those of a fleet that this process keeps.
func (s *successor) permits() map[string]int {
	if s.keep == nil {
		return nil
	}
	return s.keep()
}

func (s *successor) tell(b Batch, reports map[string][]whittle.Counts) {
	b.Reports, b.Permits = reports, s.permits()
	s.gone(s.call("Tell", b, &struct{}{}))
}

func (s *successor) observe(run uint64, x *whittle.Exchange, reports []whittle.Counts) whittle.Observation {
	var o whittle.Observation
	if s.gone(s.call("Observe", Observed{run, x, reports}, &o)) {
		return whittle.Observation{Skip: whittle.SkipInterrupted}
	}
	return o
}

func (s *successor) recheck(again *whittle.Recheck) (after time.Duration, more bool) {
	var next NextRound
	if s.gone(s.call("Recheck", again, &next)) {
		return 0, false
	}
	return next.After, next.More
}

// call calls the successor. Once it has not responded in time it is called no more, so that nothing
// waits for it; its orders are followed as before, if it goes on after all.
func (s *successor) call(method string, in, out any) error {
	select {
	case <-s.hung:
		return errHung
	default:
	}
	err := called(s.client, successorName+"."+method, in, out, s.within, s.hung)
	if errors.Is(err, errHung) {
		s.once.Do(func() { close(s.hung) })
	}
	return err
}

// called calls the other process, and gives errHung where it does not respond within a time, or once
// given is closed. Only where it gives nil may out be read. What waits for the process then ends with
// the connection: it may have to wait to write already.
func called(c *rpc.Client, method string, in, out any, within time.Duration, given <-chan struct{}) error {
	done := make(chan error, 1)
	go func() { done <- c.Call(method, in, out) }()
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
	case <-given:
	}
	return errHung
}

// gone reports whether a call failed, and says once that the successor is gone.
func (s *successor) gone(err error) bool {
	if err == nil {
		return false
	}
	s.lost.Do(func() {
		if s.onLost != nil {
			s.onLost()
		}
		s.log.Error("the process that took over is gone or hangs: what is still under way here is not compared, and the share stays", "err", err)
	})
	return true
}
