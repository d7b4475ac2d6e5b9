package journal

import "time"

// clock is the time by which age is judged. The machine's clock may be far
// ahead, as before it is set from the network, and segments removed because of
// it are lost. So a time that has advanced by more than the time that passed
// since the last look (or since the newest entry, at the first look) is
// believed only after it has stayed so for a while. A clock that is set back is
// believed at once, since that removes nothing.
type clock struct {
	wall    func() time.Time
	elapsed func() time.Duration // since any beginning; no setting changes it
	// tolerance is how far ahead a time may be, and how long it is disbelieved
	// when it is further ahead.
	tolerance time.Duration

	known   time.Time // what was believed at the last look; zero: nothing yet
	at      time.Duration
	ahead   bool
	aheadAt time.Duration // when it began to be ahead
}

// maxTolerance is how long a wrong clock may be wrong before it removes
// anything. A log that is kept for less than ten times as long has a tenth of
// that time.
const maxTolerance = time.Hour

// observe takes a time at which the log was written.
func (c *clock) observe(t time.Time) {
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
	case wall.Sub(c.known) <= c.tolerance:
		c.known, c.ahead = wall, false
	case !c.ahead:
		c.ahead, c.aheadAt = true, at
	case at-c.aheadAt > c.tolerance:
		c.known, c.ahead = wall, false
	}
	return c.known
}
