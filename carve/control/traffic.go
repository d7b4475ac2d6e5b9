package control

import (
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/internal/latency"
)

const (
	// trafficSpan is the time over which a route's traffic is shown.
	trafficSpan = 10 * time.Second
	// trafficSample is how many latencies of a side are kept: the last ones, so that
	// the quantiles of a busy side cover a shorter time, and never an older one.
	trafficSample = 1024
)

// pace is both sides' traffic, under a lock of its own that is held for a moment.
type pace struct {
	mu    sync.Mutex // guards the following
	sides [2]traffic // by whittle.Side
}

func (p *pace) user(o *whittle.Outcome, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sides[o.Side].user(o, now)
}

// mirrored counts the calls of an exchange that no user waited for.
func (p *pace) mirrored(x *whittle.Exchange, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.First() == whittle.Candidate || x.Unserved {
		p.sides[whittle.Monolith].mirrored(&x.Monolith, now)
	}
	if x.First() == whittle.Monolith || x.Unserved {
		p.sides[whittle.Candidate].mirrored(&x.Candidate, now)
	}
}

func (p *pace) shown(side whittle.Side, now time.Time) whittle.Traffic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sides[side].shown(now)
}

// traffic is what one side did over the last seconds: users' requests, and the
// latencies of mirrored calls too, since before a shift there are no others of
// the candidate. The zero value is ready.
type traffic struct {
	seconds [trafficSpan/time.Second + 1]second
	taken   []took // a ring once it is full
	next    int
}

// second counts one second of the clock.
type second struct {
	unix       int64
	users, bad int
	mirrored   int
}

type took struct {
	at time.Time
	d  time.Duration
}

// user counts one user's request.
func (t *traffic) user(o *whittle.Outcome, now time.Time) {
	s := t.second(now)
	s.users++
	if o.Bad() {
		s.bad++
	}
	t.note(o.Failure, o.Latency, now)
}

// mirrored counts a call alongside a user's request.
func (t *traffic) mirrored(a *whittle.Response, now time.Time) {
	s := t.second(now)
	s.mirrored++
	if !a.OK() && !a.Failure.Neutral() {
		s.bad++
	}
	t.note(a.Failure, a.Latency, now)
}

func (t *traffic) second(now time.Time) *second {
	unix := now.Unix()
	s := &t.seconds[((unix%int64(len(t.seconds)))+int64(len(t.seconds)))%int64(len(t.seconds))]
	if s.unix != unix {
		*s = second{unix: unix}
	}
	return s
}

func (t *traffic) note(f whittle.Failure, d time.Duration, now time.Time) {
	switch {
	case f != whittle.NoFailure || d <= 0:
	case len(t.taken) < trafficSample:
		t.taken = append(t.taken, took{now, d})
	default:
		t.taken[t.next] = took{now, d}
		t.next = (t.next + 1) % trafficSample
	}
}

// shown sums up the whole seconds before this one, and the latencies of the
// same time.
func (t *traffic) shown(now time.Time) whittle.Traffic {
	var users, bad, mirrored int
	for i := range t.seconds {
		if age := now.Unix() - t.seconds[i].unix; age >= 1 && age <= int64(trafficSpan/time.Second) {
			users += t.seconds[i].users
			bad += t.seconds[i].bad
			mirrored += t.seconds[i].mirrored
		}
	}
	recent := make([]time.Duration, 0, len(t.taken))
	for _, k := range t.taken {
		if now.Sub(k.at) <= trafficSpan {
			recent = append(recent, k.d)
		}
	}
	out := whittle.Traffic{
		PerSecond: float64(users) / trafficSpan.Seconds(),
		Mirrored:  float64(mirrored) / trafficSpan.Seconds(),
	}
	if all := users + mirrored; all > 0 {
		out.Errors = float64(bad) / float64(all)
	}
	if n := len(recent); n > 0 {
		slices.Sort(recent)
		out.P50 = latency.Milliseconds(recent[(n-1)/2])
		out.P99 = latency.Milliseconds(recent[(n*99-1)/100])
	}
	return out
}
