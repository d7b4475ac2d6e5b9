package forward

import (
	"sync"
	"time"
)

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
