package load

import "time"

// block makes a run one block of a comparison: arrivals that a schedule of
// many blocks gives it, users who are numbered on, and connections that stay
// open from one block of its target to the next. The nil block is none.
type block struct {
	arrivals []Arrival // since the block's start, in order
	given    int       // of arrivals
	// users is how many virtual users the target has had before.
	users int64
	// each sees every request that ended, on many goroutines at once.
	each func(o *observed)
	// first is the target's first block, whose connections all use.
	first *session
	last  *session // the run that joined last
}

// join makes a session part of the comparison.
func (b *block) join(s *session) {
	if b == nil {
		return
	}
	b.last = s
	s.each = b.each
	s.users.Store(b.users)
	if b.first == nil {
		b.first = s
		return
	}
	s.prepared, s.origins, s.dialer = b.first.prepared, b.first.origins, b.first.dialer
}

// next gives the block's arrivals one by one.
func (b *block) next() (Arrival, bool) {
	if b.given == len(b.arrivals) {
		return Arrival{}, false
	}
	b.given++
	return b.arrivals[b.given-1], true
}

// close ends the connections that the blocks shared.
func (b *block) close() {
	if b.first != nil {
		b.first.dialer.closeIdle()
	}
}

// slicer cuts a plan's arrivals into blocks.
type slicer struct {
	next    func() (Arrival, bool)
	ahead   Arrival
	waiting bool // ahead is still to be given
	at      time.Duration
}

// cut gives the arrivals of the next stretch, since its start.
func (c *slicer) cut(length time.Duration) []Arrival {
	end := c.at + length
	var out []Arrival
	for {
		if !c.waiting {
			var ok bool
			if c.ahead, ok = c.next(); !ok {
				break
			}
			c.waiting = true
		}
		if c.ahead.At >= end {
			break
		}
		c.waiting = false
		out = append(out, Arrival{At: c.ahead.At - c.at, Phase: c.ahead.Phase})
	}
	c.at = end
	return out
}
