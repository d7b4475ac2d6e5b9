package embedded

import (
	"math"
	"time"
)

// commitPacer decides how long to wait for more appends before a commit (group
// commit). It takes the times as arguments.
type commitPacer struct {
	target time.Duration // 0: none was given
	slow   time.Duration // what nearly every commit stays below
	took   time.Duration // by the last commit's sync
	last   int           // appends that the last commit acknowledged
	rate   float64       // bytes a second that were committed of late
	began  time.Time     // the last commit
}

// A commit costs the processors the same whether it is for one append or for
// fifty. Where nobody gave a target, commits begin at most every busyEvery while more
// than busyRate bytes a second come, which leaves a third of what they cost, and at
// most every briskEvery while more than briskRate do. Nobody waits for longer than
// that. Below, the processors have time enough.
const (
	busyRate   = 8 << 20 // bytes a second
	busyEvery  = 2 * time.Millisecond
	briskRate  = 1 << 20
	briskEvery = time.Millisecond
	busyOver   = 100 * time.Millisecond // that the rate is taken over
)

// observe updates the pacer with a commit.
func (p *commitPacer) observe(began time.Time, took time.Duration, appends int, bytes int64) {
	p.slow = max(took, p.slow-(p.slow-took)/100)
	p.took, p.last = took, appends
	p.rate = p.rate*math.Exp(-max(0, began.Sub(p.began).Seconds())/busyOver.Seconds()) + float64(bytes)/busyOver.Seconds()
	p.began = began
}

// delay returns how long to wait, and for how many appends in all, given how
// many are waiting when the disk becomes free. An append that came just after a
// commit began waits for that commit, then for the delay, then for its own
// commit: the delay may be what two commits leave of the target. The callers
// that were just acknowledged are likely to append again.
func (p *commitPacer) delay(waiting int) (time.Duration, int) {
	budget := min(p.target-2*p.slow, p.target/2)
	if p.target == 0 && p.rate > busyRate {
		budget = busyEvery - p.took
	} else if p.target == 0 && p.rate > briskRate {
		budget = briskEvery - p.took
	}
	if budget <= 0 {
		return 0, 0
	}
	return budget, p.last + waiting
}
