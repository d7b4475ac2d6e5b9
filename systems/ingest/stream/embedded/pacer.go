package embedded

import (
	"math"
	"time"
)

// commitPacer decides how long to wait for more appends before a commit (group
// commit). It takes the times as arguments.
type commitPacer struct {
	took  time.Duration // by the last commit's sync
	last  int           // appends that the last commit acknowledged
	rate  float64       // bytes a second that were committed of late
	began time.Time     // the last commit
}

// A commit costs the processors the same whether it is for one append or for
// fifty. So commits begin at most every busyEvery while more than busyRate bytes a
// second come, which leaves a third of what they cost, and at most every briskEvery
// while more than briskRate do. Nobody waits for longer than that. Below, the
// processors have time enough.
const (
	busyRate   = 8 << 20 // bytes a second
	busyEvery  = 2 * time.Millisecond
	briskRate  = 1 << 20
	briskEvery = time.Millisecond
	busyOver   = 100 * time.Millisecond // that the rate is taken over
)

// observe updates the pacer with a commit.
func (p *commitPacer) observe(began time.Time, took time.Duration, appends int, bytes int64) {
	p.took, p.last = took, appends
	p.rate = p.rate*math.Exp(-max(0, began.Sub(p.began).Seconds())/busyOver.Seconds()) + float64(bytes)/busyOver.Seconds()
	p.began = began
}

// delay returns how long to wait, and for how many appends in all, given how
// many are waiting when the disk becomes free. The callers that were just
// acknowledged are likely to append again.
func (p *commitPacer) delay(waiting int) (time.Duration, int) {
	var budget time.Duration
	switch {
	case p.rate > busyRate:
		budget = busyEvery - p.took
	case p.rate > briskRate:
		budget = briskEvery - p.took
	}
	if budget <= 0 {
		return 0, 0
	}
	return budget, p.last + waiting
}
