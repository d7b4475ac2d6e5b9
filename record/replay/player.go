package replay

import (
	"context"
	"maps"
	"sync"
	"time"

	"whittle"
	"whittle/internal/coding"
	"whittle/record/capture"
	"whittle/record/har"
)

// player sends the exchanges of a log. One goroutine reads the log, one keeps
// the schedule (play's caller), one for each connection sends, and one
// compares. All end before play returns.
type player struct {
	o       *Options
	log     Log
	router  *router
	survey  *survey
	results *results

	began time.Time

	feed chan *item // read, in the log's order
	jobs chan *item // to be sent
	done chan *item // responded to, or failed
	seen chan *item // to be counted and compared

	readErr error // set before feed is closed
}

// play replays the log until its end or until ctx is done.
func (p *player) play(ctx context.Context) {
	p.began = time.Now()
	p.feed, p.jobs = make(chan *item), make(chan *item)
	p.done, p.seen = make(chan *item), make(chan *item, 64)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var comparing, working sync.WaitGroup
	comparing.Go(func() { p.results.keep(p.seen, p.began) })
	working.Go(func() { p.read(ctx) })
	for range p.o.Connections {
		working.Go(func() {
			for it := range p.jobs {
				p.send(ctx, it)
				p.done <- it
				p.seen <- it
			}
		})
	}
	p.schedule(ctx)
	close(p.jobs)
	working.Wait()
	close(p.seen)
	comparing.Wait()
	p.results.elapsed = time.Since(p.began)
	p.results.interrupted = ctx.Err() != nil
	if p.readErr != nil && !p.results.interrupted {
		p.results.notes = append(p.results.notes, "the log could not be read to its end: "+p.readErr.Error())
	}
}

// read turns entries into items. An item that is not to be sent bypasses the
// schedule.
func (p *player) read(ctx context.Context) {
	defer close(p.feed)
	earlier, remembered := map[*subject]*repeats{}, int64(0)
	seq := int64(0)
	for e, err := range p.log.Entries(ctx) {
		if err != nil {
			p.readErr = err
			return
		}
		seq++
		it := p.itemOf(e, seq)
		if it.skip == "" && it.to.learns && p.router.monolith == nil {
			r := earlier[it.to]
			if r == nil {
				r = newRepeats(&remembered)
				earlier[it.to] = r
			}
			it.repeat = r.see(e)
		}
		to := p.feed
		if it.skip != "" {
			to = p.seen
		}
		select {
		case to <- it:
		case <-ctx.Done():
			return
		}
	}
}

// itemOf decides what to do with an exchange.
func (p *player) itemOf(e *capture.Entry, seq int64) *item {
	it := &item{entry: e, seq: seq, size: int64(len(e.Request.Body)+len(e.Response.Body)) + 2048}
	if it.to, it.skip = p.router.place(e); it.skip != "" {
		return it
	}
	if it.to.judge == nil { // a route that came to the log after the first reading
		it.skip = whittle.SkipStale
		return it
	}
	if it.skip = unsendable(e); it.skip != "" {
		return it
	}
	it.queue = p.o.Key.queue(e)
	it.accepts = e.Request.Header["Accept-Encoding"]
	p.prepare(it)
	switch {
	case len(e.Request.Header["Upgrade"]) > 0:
		it.skip = whittle.SkipStreaming
	case !p.o.AllowWrites && !it.to.caller.Allows(e.Request.Method):
		it.skip = whittle.SkipNotSafe
	default:
		if !p.unpacked(it, &e.Response) {
			it.skip = whittle.SkipEncoded
		}
	}
	return it
}

// prepare makes a request ready to be sent: it sets the headers that were asked
// for and removes Accept-Encoding, so that the response arrives unencoded.
func (p *player) prepare(it *item) {
	q := &it.entry.Request
	h := make(whittle.Header, len(q.Header)+len(p.o.Header))
	maps.Copy(h, q.Header)
	delete(h, "Accept-Encoding")
	for name, values := range p.o.Header {
		if name == "Host" {
			q.Host = values[0]
			continue
		}
		h[name] = values
	}
	q.Header = h
	it.redacted = hasToken(h, nil)
}

// schedule sends each item once it is due, its queue allows it and a connection
// is free.
func (p *player) schedule(ctx context.Context) {
	s := &schedule{p: p, order: newOrder(), feed: p.feed, tick: time.NewTimer(0)}
	defer s.tick.Stop()
	for !s.over() && ctx.Err() == nil {
		s.step(ctx)
	}
	s.end()
}

// schedule is the state of play's goroutine.
type schedule struct {
	p     *player
	order *order
	// feed is nil after the log has been read.
	feed chan *item
	// ahead has the items that are not due, or that an earlier one may still
	// precede; ready has those that may be sent.
	ahead reorderBuffer
	ready []*item
	// held counts the items in ahead, in a queue, ready or under way; bytes is
	// their size.
	held     int
	bytes    int64
	underWay int
	tick     *time.Timer
	// began is when the first request was due.
	began time.Time
}

func (s *schedule) over() bool { return s.feed == nil && s.held == 0 }

func (s *schedule) full() bool { return s.held >= lookAhead || s.bytes >= lookAheadBytes }

// step makes due items ready and waits for one event.
func (s *schedule) step(ctx context.Context) {
	wait := s.start()
	feed, jobs := s.feed, s.p.jobs
	if s.full() {
		feed = nil
	}
	var next *item
	if len(s.ready) > 0 {
		next = s.ready[0]
	} else {
		jobs = nil
	}
	var tick <-chan time.Time
	if wait > 0 {
		s.tick.Reset(wait)
		tick = s.tick.C
	}
	select {
	case it, ok := <-feed:
		if !ok {
			s.feed = nil
			return
		}
		s.held++
		s.bytes += it.size
		s.ahead.put(it)
	case jobs <- next:
		s.ready[0] = nil
		s.ready = s.ready[1:]
		s.underWay++
	case it := <-s.p.done:
		s.held--
		s.underWay--
		s.bytes -= it.size
		for _, free := range s.order.finish(it) {
			s.push(free)
		}
	case <-tick:
	case <-ctx.Done():
	}
}

// start moves due items from the look-ahead to their queues, and returns the
// time until the next one is due; 0 where nothing depends on time. Until the
// look-ahead is full or the log has been read, an earlier request may still
// arrive.
func (s *schedule) start() time.Duration {
	if s.feed != nil && !s.full() {
		return 0
	}
	now := time.Now()
	if s.began.IsZero() {
		s.began = now
	}
	for len(s.ahead) > 0 {
		due := s.due(s.ahead[0])
		if wait := due.Sub(now); wait > 0 {
			return wait
		}
		it := s.ahead.take()
		it.due = due
		if s.order.enqueue(it) {
			s.push(it)
		} else {
			it.held = true
		}
	}
	return 0
}

// push makes an item ready. It notes whether the target delays it, by a
// response that has not come yet or by having no free connection.
func (s *schedule) push(it *item) {
	it.held = it.held || s.underWay+len(s.ready) >= s.p.o.Connections
	s.ready = append(s.ready, it)
}

// due returns when an item is to be sent: at its recorded distance from the
// first one, scaled by Speed, or at once where there is no Speed.
func (s *schedule) due(it *item) time.Time {
	if s.p.o.Speed <= 0 {
		return s.began
	}
	after := it.entry.At.Sub(s.p.survey.first)
	return s.began.Add(time.Duration(float64(after) / s.p.o.Speed))
}

// end waits for the requests under way and accounts for those that were not
// sent.
func (s *schedule) end() {
	for ; s.underWay > 0; s.underWay-- {
		s.order.finish(<-s.p.done)
	}
	left := append([]*item(s.ahead), s.ready...)
	for _, queue := range s.order.queues {
		for _, it := range queue {
			if !it.started {
				left = append(left, it)
			}
		}
	}
	for _, it := range left {
		it.skip = whittle.SkipInterrupted
		s.p.seen <- it
	}
	for feed := s.feed; feed != nil; {
		it, ok := <-feed
		if !ok {
			return
		}
		it.skip = whittle.SkipInterrupted
		s.p.seen <- it
	}
}

// send sends the request to the candidate, and sometimes to the monolith.
func (p *player) send(ctx context.Context, it *item) {
	it.sent = time.Now()
	q := &it.entry.Request
	var err error
	if it.response, err = it.to.caller.Call(ctx, q); err != nil {
		it.skip = whittle.SkipUntranslated
		return
	}
	if ctx.Err() != nil && it.response.Failure != whittle.NoFailure {
		it.skip = whittle.SkipInterrupted
		return
	}
	responded := it.response.Failure == whittle.NoFailure
	if !p.unpacked(it, &it.response) && responded {
		it.response.Failure, it.response.Detail = whittle.FailedMalform, "the body is not what its Content-Encoding says, or in one that was not asked for"
	}
	if p.asksMonolith(it) {
		if again, err := p.router.monolith.Call(ctx, q); err == nil && again.Failure == whittle.NoFailure && p.unpacked(it, &again) {
			it.again = &again
		}
	}
}

// unpacked is a response as it is compared: redacted, and without its content coding, but
// for the coding's name where the recorded request did not ask for it. It returns false
// where unpack does.
func (p *player) unpacked(it *item, a *whittle.Response) bool {
	coded := a.Header["Content-Encoding"]
	asked := coding.Asked(whittle.Header{"Accept-Encoding": it.accepts}, a.Header)
	ok := unpack(a)
	if p.o.Redact != nil {
		p.o.Redact(a)
	}
	if ok && !asked {
		a.Header = maps.Clone(a.Header)
		a.Header["Content-Encoding"] = coded
	}
	return ok
}

// asksMonolith reports whether this request is repeated to the monolith. One
// that may change something never is.
func (p *player) asksMonolith(it *item) bool {
	return p.router.monolith != nil && it.to.learns && it.to.caller.Harmless(it.entry.Request.Method) &&
		it.to.asked.Add(1)%int64(p.o.RepeatEvery) == 0
}

// unpack removes the content encoding of a response, so that the comparison
// sees its content and not its compression. It returns false where the encoding
// is unknown or the body does not have it.
func unpack(a *whittle.Response) bool {
	if a.Header.Get("Content-Encoding") == "" || a.Truncated {
		return true
	}
	body, ok := har.Unpacked(a)
	if ok {
		a.Header = maps.Clone(a.Header)
		delete(a.Header, "Content-Encoding")
		a.Body = body
	}
	return ok
}
