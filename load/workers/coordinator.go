package workers

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"

	"whittle"
	"whittle/internal/notify"
	"whittle/load"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// Coordinator has workers run a plan together.
type Coordinator struct {
	Link
	// Expect is how many workers there are to be. 0: those who come at once.
	Expect int
	// Wait bounds how long they are waited for.
	Wait time.Duration
	// Say is told how it goes on before the run. Nil: nothing is.
	Say func(text string)
}

// assignment is what is to be run: a workload and the options that are sent with it.
type assignment struct {
	Workload load.Workload `json:"workload"`
	Options  load.Options  `json:"options"`
}

// member is a worker as the coordinator knows it.
type member struct {
	id, name string
	index    int
	offset   time.Duration // its clock is so much ahead of the coordinator's
	clock    time.Duration // by how much that may be wrong
	heard    time.Time
	number   int64 // of its last message
	over     bool  // nothing more is expected of it
	has      bool  // it has ended its part, and its result is being fetched
}

// session is one run of a Coordinator.
type session struct {
	*Coordinator
	run     string
	epoch   time.Time // where its clock begins
	conn    *client.Conn
	in      chan *client.Msg
	lost    chan struct{}
	options load.Options
	packed  []byte
	whole   *load.JointRun
	members []*member
	over    chan *member // members whose result has been fetched, or cannot be
	ending  bool
	early   bool
	void    string
	work    sync.WaitGroup
}

// Run has the workers run a workload together, and gives their results as one run's. It
// reads the plan itself, before anybody is called. An error means that nothing was
// measured.
func (c *Coordinator) Run(ctx context.Context, w load.Workload, o load.Options) (*report.Report, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Expect < 0 || c.Expect > maxWorkers {
		return nil, whittle.Errorf(whittle.Invalid, "--expect %d is not within 1 and %d", c.Expect, maxWorkers)
	}
	files := newParcel()
	w.Files, w.Getenv = files, files.Getenv
	p, err := w.Read()
	if err != nil {
		return nil, err
	}
	o = o.WithDefaults()
	runner, err := load.NewRunner(p, o)
	if err != nil {
		return nil, err
	}
	s := &session{
		Coordinator: c, run: rand.Text(), epoch: time.Now(), in: make(chan *client.Msg, queued),
		options: o, over: make(chan *member, maxWorkers),
	}
	if s.packed, err = files.pack(assignment{w, o}); err != nil {
		return nil, err
	}
	if s.conn, s.lost, err = c.connect(ctx, "whittle load "+s.run); err != nil {
		return nil, err
	}
	defer s.conn.Close()
	return s.serve(ctx, runner, files)
}

func (s *session) say(format string, args ...any) {
	if s.Say != nil {
		s.Say(fmt.Sprintf(format, args...))
	}
}

// serve is the whole run, once there is a connection.
func (s *session) serve(ctx context.Context, runner *load.Runner, files *parcel) (*report.Report, error) {
	own, err := s.conn.ChanSubscribe(s.Subject+".from."+s.run, s.in)
	if err == nil {
		_ = own.SetPendingLimits(-1, -1) // the channel is bounded
		_, err = s.conn.Subscribe(s.Subject+".files."+s.run, func(raw *client.Msg) {
			if m, err := s.decode(raw.Data); err == nil {
				_ = raw.Respond(piece(s.conn, s.packed, m.From))
			}
		})
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "listen at NATS: %w", err)
	}
	if err := s.gather(ctx); err != nil {
		return nil, err
	}
	if s.whole, err = runner.Joint(ctx, len(s.members)); err != nil {
		s.dismiss()
		return nil, err
	}
	defer s.whole.Close()
	if err := s.begin(ctx, runner); err != nil {
		s.dismiss()
		return nil, err
	}
	s.follow(ctx, files)
	s.work.Wait()
	var names []load.PartName
	for _, m := range s.members {
		names = append(names, load.PartName{Name: m.name, ClockError: m.clock})
	}
	return s.whole.Report(ctx, names, s.void, s.early), nil
}

// publish says something to all workers.
func (s *session) publish(m message) {
	m.Run = s.run
	_ = s.conn.Publish(s.Subject+".all", s.encode(m)) // it is said again
}

// dismiss lets the workers go.
func (s *session) dismiss() {
	s.publish(message{Kind: toPulse, End: true})
	_ = s.conn.FlushTimeout(time.Second)
}

// comeWithin is how long workers are waited for who are there, where nobody said how many.
const comeWithin = time.Second

// gather calls for workers until there are as many as are expected.
func (s *session) gather(ctx context.Context) error {
	wait, busy := s.Wait, map[string]bool{}
	if s.Expect > 0 {
		s.say("waits for %d workers, for %v at most", s.Expect, wait)
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	var enough <-chan time.Time // nil until one has come
	ticker := time.NewTicker(beat / 2)
	defer ticker.Stop()
	for s.publish(message{Kind: toCall}); ; {
		select {
		case <-ctx.Done():
			return whittle.Errorf(whittle.Unavailable, "the run was ended before it began")
		case <-ticker.C:
			s.publish(message{Kind: toCall})
		case <-enough:
			return nil
		case <-deadline.C:
			return s.tooFew(busy)
		case raw := <-s.in:
			m, err := s.decode(raw.Data)
			if err := s.joins(m, err, busy); err != nil {
				return err
			}
			if s.Expect > 0 && len(s.members) == s.Expect {
				return nil
			}
			if s.Expect == 0 && len(s.members) > 0 && enough == nil {
				enough = time.After(comeWithin)
			}
		}
	}
}

func (s *session) tooFew(busy map[string]bool) error {
	var names []string
	for _, m := range s.members {
		names = append(names, m.name)
	}
	text := fmt.Sprintf("no worker joined within %v at %s", s.Wait, s.NATS.Servers)
	if len(names) > 0 {
		text = fmt.Sprintf("%d of %d workers joined within %v: %s", len(names), s.Expect, s.Wait, strings.Join(names, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(busy)) {
		text += "; " + name + " is busy with another run"
	}
	return whittle.Errorf(whittle.Unavailable, "%s", text).WithHint("start one on each machine: whittle worker " + s.NATS.Servers)
}

// joins takes a worker in, or refuses the run.
func (s *session) joins(m *message, err error, busy map[string]bool) error {
	switch {
	case err != nil && !errors.Is(err, errVersion):
		return nil // nobody's: a worker says it again
	case m.Kind != toJoin || !isName(m.ID) || !isName(m.Name):
		return nil // no message of a worker that joins
	case err != nil:
		return whittle.Errorf(whittle.FailedPrecondition, "worker %q is of %w", m.Name, err).WithHint("give all of them the same whittle, or other subjects (--nats-subject)")
	case m.Busy:
		busy[m.Name] = true
		return nil
	}
	for _, other := range s.members {
		if other.id == m.ID {
			return nil // a call that it heard twice
		}
		if other.name == m.Name {
			return whittle.Errorf(whittle.Invalid, "two workers are called %q", m.Name).WithHint("give each a --name of its own")
		}
	}
	if len(s.members) < maxWorkers {
		delete(busy, m.Name)
		s.members = append(s.members, &member{id: m.ID, name: m.Name, heard: time.Now()})
		s.say("%s has joined", m.Name)
	}
	return nil
}

// order gives a worker an order, and returns its response.
func (s *session) order(ctx context.Context, m *member, o message, within time.Duration) (*message, error) {
	b, err := s.orderRaw(ctx, m, o, within)
	if err != nil {
		return nil, err
	}
	r, err := s.decode(b)
	if err == nil && r.Failed != "" {
		err = whittle.Errorf(whittle.Unavailable, "worker %s: %.2000s", m.name, r.Failed)
	}
	return r, err
}

func (s *session) orderRaw(ctx context.Context, m *member, o message, within time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	o.Run = s.run
	raw, err := s.conn.RequestWithContext(ctx, s.Subject+".to."+m.id, s.encode(o))
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "worker %s does not respond: %w", m.name, err)
	}
	return raw.Data, nil
}

// each runs f for all workers at once, and gives the first error.
func (s *session) each(f func(m *member) error) error {
	errs := make([]error, len(s.members))
	var wg sync.WaitGroup
	for i, m := range s.members {
		wg.Go(func() { errs[i] = f(m) })
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// begin has the workers read the plan, measures their clocks, and says when they begin.
func (s *session) begin(ctx context.Context, runner *load.Runner) error {
	slices.SortFunc(s.members, func(a, b *member) int { return strings.Compare(a.name, b.name) })
	for i, m := range s.members {
		m.index = i
	}
	ctx, stop := context.WithCancel(ctx)
	pulsed := make(chan struct{})
	go func() {
		defer close(pulsed)
		for ctx.Err() == nil {
			s.publish(message{Kind: toPulse})
			notify.Sleep(ctx, beat)
		}
	}()
	defer func() { stop(); <-pulsed }()
	blob := blobOf(s.packed)
	s.say("%d workers read the plan: %d bytes with its files", len(s.members), blob.Size)
	if err := s.each(func(m *member) error {
		r, err := s.order(ctx, m, message{Kind: toPrepare, Part: plan.Part{Index: m.index, Of: len(s.members)}, Blob: blob}, patience)
		if err == nil && !slices.Equal(r.Names, runner.Names()) {
			err = whittle.Errorf(whittle.Internal, "worker %s reads another plan of the same files", m.name)
		}
		return err
	}); err != nil {
		return err
	}
	base, err := s.whole.Before(ctx)
	if err != nil {
		return err
	}
	if err := s.each(func(m *member) error { return s.measureClock(ctx, m) }); err != nil {
		return err
	}
	return s.start(ctx, base)
}

// measureClock finds how far a worker's clock is ahead: its response came at some moment
// between question and response, and the shortest of several roundtrips says most.
func (s *session) measureClock(ctx context.Context, m *member) error {
	m.clock = responseWithin
	for range clockRounds {
		asked := time.Since(s.epoch)
		r, err := s.order(ctx, m, message{Kind: toClock}, responseWithin)
		if err != nil {
			return err
		}
		trip := time.Since(s.epoch) - asked
		if trip/2 < m.clock {
			m.clock, m.offset = trip/2, r.Clock-asked-trip/2
		}
	}
	if m.clock > s.options.MaxLate {
		return whittle.Errorf(whittle.Unavailable, "worker %s would begin up to %v before or after the others: a message takes so long to it", m.name, m.clock.Round(time.Microsecond)).
			WithHint("put NATS nearer to the workers, or allow more with --max-late")
	}
	return nil
}

// clockRounds is how often a clock is asked for.
const clockRounds = 20

// ahead is how long before the run its order is given.
const ahead = time.Second

// start says when all begin.
func (s *session) start(ctx context.Context, base []expr.Value) error {
	o := message{Kind: toStart}
	for _, v := range base {
		o.Base = append(o.Base, value{v.Text, v.JSON})
	}
	select {
	case <-s.lost: // what was lost with it is orders, which were given again
	default:
	}
	at := time.Since(s.epoch) + ahead
	if err := s.each(func(m *member) error {
		own := o
		own.Clock = at + m.offset
		_, err := s.order(ctx, m, own, ahead)
		m.heard = time.Now()
		return err
	}); err != nil {
		return err
	}
	s.whole.Begin(ctx, s.epoch.Add(at))
	return nil
}

// follow hears what the workers say until all are through, and ends the run where one is
// lost.
func (s *session) follow(ctx context.Context, files *parcel) {
	pulse, second := time.NewTicker(beat), time.NewTicker(time.Second)
	defer pulse.Stop()
	defer second.Stop()
	ended := ctx.Done()
	for slices.ContainsFunc(s.members, func(m *member) bool { return !m.over }) {
		select {
		case <-ended:
			ended, s.early = nil, true
			s.end()
		case <-s.lost:
			s.void = "the coordinator lost the connection to NATS"
			s.end()
		case raw := <-s.in:
			if m, err := s.decode(raw.Data); err == nil {
				s.hear(ctx, m, files)
			}
		case m := <-s.over:
			m.over = true
		case <-pulse.C:
			s.publish(message{Kind: toPulse, End: s.ending})
			s.listenFor()
		case <-second.C:
			s.whole.Tick()
		}
	}
}

// end ends the run before its plan does.
func (s *session) end() {
	s.ending = true
	s.publish(message{Kind: toPulse, End: true})
}

// listenFor loses the workers that have been silent for too long.
func (s *session) listenFor() {
	for _, m := range s.members {
		if !m.over && !m.has && time.Since(m.heard) > silence {
			s.lose(m, fmt.Sprintf("it was lost: nothing was heard of it for %v; what it did last is not in the figures", silence))
		}
	}
}

// lose voids the run for a worker of whom nothing more is expected, and ends it.
func (s *session) lose(m *member, why string) {
	s.whole.Void(m.index, why)
	m.over = true
	s.end()
}

// hear takes in what a worker says.
func (s *session) hear(ctx context.Context, o *message, files *parcel) {
	i := slices.IndexFunc(s.members, func(m *member) bool { return m.id == o.ID })
	if i < 0 || o.Kind != toSay || s.members[i].over {
		return
	}
	m := s.members[i]
	m.heard = time.Now()
	if gap := o.Number - m.number - 1; gap != 0 {
		s.lose(m, fmt.Sprintf("%d of its messages were lost, and with them what it did", gap))
		return
	}
	m.number = o.Number
	if o.Sample != nil {
		if err := s.whole.Sample(m.index, o.Sample); err != nil {
			s.lose(m, err.Error())
			return
		}
	}
	if f := s.options.OnLog; f != nil {
		for _, l := range o.Lines[:min(len(o.Lines), maxLines)] {
			f(l.User, l.Text[:min(len(l.Text), maxLine)])
		}
	}
	if !o.Over {
		return
	}
	if lacks := files.lacked(o.Lacks[:min(len(o.Lacks), maxMissed)]); len(lacks) > 0 {
		s.whole.Void(m.index, "the plan's scripts looked for "+strings.Join(lacks, ", ")+" during the run, which was not sent: a file is where it is in "+
			"config.includeFiles or is read while the plan is, a variable of the environment ($) where a script has its name")
	}
	if o.Failed != "" {
		s.lose(m, fmt.Sprintf("%.1000s", o.Failed))
		return
	}
	if o.End && !s.ending { // one of its users has ended the run
		s.early = true
		s.end()
	}
	m.has = true
	s.work.Go(func() { s.fetchResult(context.WithoutCancel(ctx), m, o.Blob) })
}

// fetchResult takes in a part's result.
func (s *session) fetchResult(ctx context.Context, m *member, o blob) {
	defer func() { s.over <- m }()
	give := func(from int) ([]byte, error) {
		return s.orderRaw(ctx, m, message{Kind: toGive, From: from}, responseWithin)
	}
	b, err := fetch(o, maxResult, give)
	p := new(load.PartResult)
	if err == nil {
		err = json.Unmarshal(b, p)
	}
	if err == nil {
		err = s.whole.Add(m.index, p)
	}
	if err != nil {
		s.whole.Void(m.index, "its result cannot be had: "+err.Error())
		return
	}
	_, _ = give(-1) // it may go; if it does not hear that, it goes later
}
