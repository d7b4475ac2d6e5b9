package forward

import (
	"net/http"
	"sync"
	"time"

	"whittle/carve/gateway/bodycopy"
	"whittle/carve/gateway/upstream"
)

const (
	// readily is how long a client may take over a piece of a response before the rest
	// is read without it.
	readily = 10 * time.Millisecond
	// buffered is how much of a response every ResponseWriter takes at once.
	buffered = 2 << 10
)

// spill reads a response. As long as the client takes what is given to it, the pieces
// come from the upstream as they are, and are flushed before more is waited for. Where
// the client takes longer over one, a goroutine reads on into memory meanwhile, as far
// as the buffer's bound and the budget allow, and gives the upstream's connection back
// at the response's end. So no slow client holds a connection for a response that fits.
type spill struct {
	f *forwarding
	a *upstream.Response

	mu sync.Mutex // guards the following
	// looked says that the lookout has an eye on it.
	looked bool
	// changed is of what either goroutine waits for.
	changed sync.Cond
	// waiting says that the client is being waited for, from began on.
	waiting bool
	began   time.Time
	// reading says that the other goroutine reads a; done, that it does not any more,
	// and a is closed.
	reading, done bool
	stopped       bool // the response is given up
	// atEnd says that all of a has been read.
	atEnd   bool
	err     error // what a has ended with
	trailer http.Header
	queue   bodycopy.Queue
	// direct is a piece for which there was no room in the queue; given, that the
	// client's goroutine has it.
	direct []byte
	given  bool
	piece  *bodycopy.Piece // the last one that was given
	left   int64           // bytes of the budget for what a's reader left to the client's
}

func (s *spill) start(f *forwarding, a *upstream.Response) {
	s.f, s.a = f, a
	s.changed.L = &s.mu
	s.queue = bodycopy.Queue{Limit: f.p.BufferBytes, Budget: &f.p.Buffers}
}

// ready reports whether next will not wait.
func (s *spill) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reading {
		return s.a.Ready()
	}
	return s.queue.Len() > 0 || s.direct != nil || s.done
}

// next gives the next piece, valid until the following call; the error io.EOF comes
// with the last piece or after it.
func (s *spill) next() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reading { // nobody else reads: mu need not be held while the upstream is waited for
		s.mu.Unlock()
		p, err := s.a.Next()
		s.mu.Lock()
		s.ended(err)
		return p, err
	}
	s.took()
	for s.queue.Len() == 0 && s.direct == nil && !s.done {
		s.changed.Wait()
	}
	switch s.piece = s.queue.Next(); {
	case s.piece != nil:
		return s.piece.Bytes(), nil
	case s.direct != nil:
		s.given = true
		return s.direct, nil
	}
	return nil, s.err
}

// ended takes note of the response's end, unless err is nil. The caller holds mu.
func (s *spill) ended(err error) {
	if err != nil {
		s.f.stop()
		s.atEnd, s.err, s.trailer = true, err, s.a.Trailer()
	}
}

// took takes back the memory of the last piece. The caller holds mu.
func (s *spill) took() {
	if s.left > 0 {
		s.queue.Budget.Give(s.left)
		s.left = 0
	}
	if s.given {
		s.direct, s.given = nil, false
	}
	if s.piece != nil {
		s.queue.Free(s.piece)
		s.piece = nil
	}
	s.changed.Broadcast()
}

// begin begins to wait for the client.
func (s *spill) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.f.wait.Begin(now)
	if s.reading {
		return
	}
	s.waiting, s.began = true, now
	s.a.LetRevoke(&s.f.wait, s.f.hurry)
	if !s.looked && s.queue.Budget.Limit > 0 {
		s.looked = true
		s.f.p.lookout.add(s)
	}
}

// end ends what begin began.
func (s *spill) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.f.wait.End(time.Now())
	s.waiting = false
}

// readOn reads the rest while the client is waited for, on a goroutine for which stop
// waits, and gives the upstream's connection back.
func (s *spill) readOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.atEnd && !s.stopped {
		s.mu.Unlock()
		p, err := s.a.Next()
		s.mu.Lock()
		s.put(p)
		s.ended(err)
	}
	s.a.Close()
	s.done = true
	s.changed.Broadcast()
}

// look has the rest read where the client takes long, and memory is left for it. If nothing
// waits to be looked at, it leaves the lookout until the next begin.
func (s *spill) look(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.waiting || s.reading || s.stopped:
		s.leaveLookout()
		return
	case now.Sub(s.began) < readily:
		return
	}
	if left, ok := s.a.Leave(s.queue.Budget.Take); ok {
		s.left, s.reading = left, true
		s.leaveLookout()
		go s.readOn()
	}
}

// leaveLookout has the spill not be looked at. The caller holds mu.
func (s *spill) leaveLookout() {
	if s.looked {
		s.looked = false
		s.f.p.lookout.remove(s)
	}
}

// put gives a piece to the client's goroutine, and returns when it is not needed any
// more. The caller holds mu.
func (s *spill) put(p []byte) {
	for len(p) > 0 && !s.stopped {
		n := s.queue.Put(p)
		p = p[n:]
		if n > 0 {
			s.changed.Broadcast()
		}
		if len(p) == 0 {
			return
		}
		if s.queue.Len() == 0 && s.piece == nil { // the budget is used up by others
			s.direct = p
			s.changed.Broadcast()
			for s.direct != nil && !s.stopped {
				s.changed.Wait()
			}
			return
		}
		s.changed.Wait()
	}
}

// stop ends the reading, wherever it has come to.
func (s *spill) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLookout()
	s.stopped = true
	if s.reading && !s.done {
		s.a.Cut()
		s.changed.Broadcast()
		for !s.done {
			s.changed.Wait()
		}
	}
	s.took()
	s.queue.Drop()
}

// lookout looks every few milliseconds for clients that take long over a piece of a
// response. One ticker for all costs less than a timer for each piece that is written:
// setting one wakes a thread. Who waits for no client is not looked at. The zero value is
// ready.
type lookout struct {
	mu     sync.Mutex // guards the following
	spills map[*spill]struct{}
	on     bool // run is
	ended  bool
	end    chan struct{} // closed when run is to end
	run    sync.WaitGroup
}

// looksOn is for how many ticks a lookout goes on when there is nothing to look after,
// so that each response need not begin it anew.
const looksOn = 100

func (l *lookout) add(s *spill) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spills == nil {
		l.spills, l.end = map[*spill]struct{}{}, make(chan struct{})
	}
	l.spills[s] = struct{}{}
	if !l.on && !l.ended {
		l.on = true
		l.run.Go(l.look)
	}
}

// close ends the looking, and waits for it.
func (l *lookout) close() {
	l.mu.Lock()
	if l.end != nil && !l.ended {
		close(l.end)
	}
	l.ended = true
	l.mu.Unlock()
	l.run.Wait()
}

func (l *lookout) remove(s *spill) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.spills, s)
}

// look ends by itself when there has been nothing to look after for a while.
func (l *lookout) look() {
	t := time.NewTicker(readily)
	defer t.Stop()
	var all []*spill
	for idle := 0; idle < looksOn || l.goesOn(); idle++ {
		var now time.Time
		select {
		case now = <-t.C:
		case <-l.end:
			return
		}
		all = l.present(all[:0])
		for i, s := range all {
			s.look(now)
			all[i] = nil
			idle = 0
		}
	}
}

// goesOn reports whether there is something to look after again; otherwise the next one
// begins it anew.
func (l *lookout) goesOn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on = len(l.spills) > 0
	return l.on
}

func (l *lookout) present(all []*spill) []*spill {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.spills {
		all = append(all, s)
	}
	return all
}
