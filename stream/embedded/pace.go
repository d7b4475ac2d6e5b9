package embedded

import "time"

// pace decides how long to gather before a commit. Pure: it is told the times.
type pace struct {
	target time.Duration
	slow   time.Duration // what nearly every commit stays below
	last   int           // appends that the last commit answered
}

// committed learns from a commit.
func (p *pace) committed(took time.Duration, appends int) {
	p.slow = max(took, p.slow-(p.slow-took)/100)
	p.last = appends
}

// gather says how long to wait for how many appends in all, given how many are
// waiting when the disk becomes free. An append that came just after a commit
// began waits for that one, then gathers, then is committed itself: what the
// target leaves beside two commits can be spent. Those who were just answered
// are the ones likely to come again.
func (p *pace) gather(waiting int) (time.Duration, int) {
	budget := min(p.target-2*p.slow, p.target/2)
	if budget <= 0 {
		return 0, 0
	}
	return budget, p.last + waiting
}
