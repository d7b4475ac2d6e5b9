package journal

import "time"

// clock is the time by which age is judged. The machine's own may be far ahead,
// as before it has been set from the network, and what is removed by it does
// not come back. So a time that is further ahead than passed since the last
// look, and since the newest entry where nobody looked before, is believed only
// when it has stayed so for a while. A clock that is set back is believed at
// once: nothing is removed by that.
type clock struct {
	wall    func() time.Time
	elapsed func() time.Duration // since any beginning; no setting changes it
	// doubt is by how much a time may be ahead, and how long it is doubted for
	// when it is ahead by more.
	doubt time.Duration

	known   time.Time // what was believed at the last look; zero: nothing yet
	at      time.Duration
	ahead   bool
	aheadAt time.Duration // when it began to be ahead
}

// mostDoubt is how long a wrong clock may be wrong before it removes anything;
// a log that is kept for less than ten times that doubts for a tenth of it.
const mostDoubt = time.Hour

// saw tells of a time at which the log was written to.
func (c *clock) saw(t time.Time) {
	if t.After(c.known) {
		c.known = t
	}
}

func (c *clock) now() time.Time {
	wall, at := c.wall(), c.elapsed()
	if c.known.IsZero() {
		c.known, c.at = wall, at
	}
	c.known, c.at = c.known.Add(at-c.at), at
	switch {
	case wall.Sub(c.known) <= c.doubt:
		c.known, c.ahead = wall, false
	case !c.ahead:
		c.ahead, c.aheadAt = true, at
	case at-c.aheadAt > c.doubt:
		c.known, c.ahead = wall, false
	}
	return c.known
}
