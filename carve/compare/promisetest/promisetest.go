// Package promisetest holds what a judge and a guard promise, through what control sees of
// them alone, so that any engine behind these interfaces can be held to it.
package promisetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// Judge compares the two responses of each exchange.
type Judge interface {
	Observe(x *whittle.Exchange) whittle.Observation
	Recheck(r *whittle.Recheck) (after time.Duration, more bool)
	Served() whittle.Served
	Verdict() whittle.Verdict
}

// Guard watches the candidate while users depend on it.
type Guard interface {
	Outcome(o whittle.Outcome)
	Pair(p whittle.Pair)
	Share(s whittle.Share)
	Meters() []whittle.Meter
}

// Says is what a side responds to the n-th of the things, asked in a turn: 0 is the first of an
// exchange.
type Says func(n, turn int, now time.Time, r *rand.Rand) whittle.Response

// route plays a route at a share: who is asked first, what is compared, repeated, and asked
// about again. The watch share is what the judge has it be.
type route struct {
	judge               Judge
	guard               Guard // nil: none watches
	monolith, candidate Says
	share, watch        float64
	pace                time.Duration // between two requests
	users               int
	look                int  // how many requests lie between two looks at the verdict
	freely              bool // any difference is asked about, whatever that costs
	r                   *rand.Rand
	now                 time.Time

	requests, compared int
	served             int     // responses of the candidate to users
	wrong              int     // of those, that differed from what the monolith says
	asks               float64 // rounds that may be asked
}

func newRoute(j Judge, seed uint64, monolith, candidate Says) *route {
	return &route{
		judge: j, monolith: monolith, candidate: candidate, watch: 0.05, pace: 10 * time.Millisecond, users: 2000, look: 100,
		r: rand.New(rand.NewPCG(seed, 31)), now: simtest.Start, asks: 96,
	}
}

// things is how many different requests come.
const things = 50

// gap is the time between what the two sides are asked.
const gap = 3 * time.Millisecond

// next plays one request.
func (t *route) next() {
	t.now = t.now.Add(t.pace)
	t.requests++
	t.asks = min(96, t.asks+0.04)
	n, user := t.r.IntN(things), uint64(1+t.r.IntN(t.users))
	x := &whittle.Exchange{
		At: t.now, User: user, FirstChance: t.share,
		Request: whittle.Request{Method: "GET", Target: fmt.Sprintf("/things/%d", 100+n)},
	}
	if float64(user*0x9e3779b97f4a7c15>>11)/(1<<53) < t.share {
		x.Served, x.Candidate = whittle.Candidate, t.candidate(n, 0, t.now, t.r)
		t.served++
		watch := t.watch
		if t.judge.Served().Suspected {
			watch = 1
		}
		right := t.monolith(n, 1, t.now.Add(gap), t.r)
		if string(right.Body) != string(x.Candidate.Body) || right.Status != x.Candidate.Status {
			t.wrong++
		}
		if t.r.Float64() >= watch {
			return
		}
		x.Monolith = right
	} else {
		x.Monolith = t.monolith(n, 0, t.now, t.r)
		x.Candidate = t.candidate(n, 1, t.now.Add(gap), t.r)
	}
	if t.compared++; t.compared%20 == 0 && x.Monolith.Status < 400 {
		x.Repeat = new(t.monolith(n, 2, t.now.Add(2*gap), t.r))
	}
	o := t.judge.Observe(x)
	if t.guard != nil {
		t.guard.Pair(whittle.Pair{
			User: user, At: t.now, First: x.First(), Compared: o.Skip == "", Differs: o.Differs, Seldom: o.Seldom,
			Repeated: o.Repeated, SelfDiffers: o.SelfDiffers, SelfSeldom: o.SelfSeldom,
			Monolith: whittle.Outcome{Status: x.Monolith.Status}, Candidate: whittle.Outcome{Status: x.Candidate.Status},
		})
	}
	if o.Ask && (t.freely || t.asks >= 4) {
		t.ask(n, x)
	}
}

// ask repeats an exchange to both sides until the judge has seen enough.
func (t *route) ask(n int, x *whittle.Exchange) {
	again, at := whittle.Recheck{Exchange: x}, t.now.Add(3*gap)
	for turn := 3; ; turn += 2 {
		after, more := t.judge.Recheck(&again)
		if !more {
			return
		}
		t.asks--
		at = at.Add(after)
		again.Rounds = append(again.Rounds, whittle.Round{
			After: at.Sub(t.now), Monolith: t.monolith(n, turn, at, t.r), Candidate: t.candidate(n, turn+1, at, t.r),
		})
	}
}

// until plays so many requests, or until the candidate is called DIFFERENT, which it reports.
func (t *route) until(requests int) bool {
	for range requests {
		if t.next(); t.requests%t.look == 0 && t.judge.Verdict().State == whittle.Different {
			return true
		}
	}
	return false
}

// body is a response with a JSON body.
func body(format string, a ...any) whittle.Response {
	return whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}}, Body: fmt.Appendf(nil, format, a...)}
}

func thing(n, _ int, _ time.Time, _ *rand.Rand) whittle.Response {
	return body(`{"id":%d,"name":"thing %d","total":%d}`, n, n, 1000+n)
}

// oddly is thing, but for a share of the responses whose total is another one.
func oddly(share float64) Says {
	return func(n, turn int, now time.Time, r *rand.Rand) whittle.Response {
		if r.Float64() < share {
			return body(`{"id":%d,"name":"thing %d","total":%d}`, n, n, 2000+n+r.IntN(100))
		}
		return thing(n, turn, now, r)
	}
}

// Asked is a route of which every request is compared and any difference is asked about.
type Asked struct {
	Monolith, Candidate Says
	Share               float64       // of the users for whom the candidate is asked first
	Users, Look         int           // Look: how many requests lie between two looks at the verdict
	Gap, Since          time.Duration // between two requests, and before the first
}

// Play gives the request at which so many had the candidate called DIFFERENT, 0 if they never had, and
// how many users' responses were wrong until then.
func (a *Asked) Play(j Judge, seed uint64, requests int) (at, wrong int) {
	w := newRoute(j, seed, a.Monolith, a.Candidate)
	w.share, w.users, w.look, w.pace, w.watch, w.freely = a.Share, a.Users, a.Look, a.Gap, 1, true
	w.now = w.now.Add(a.Since)
	if w.until(requests) || j.Verdict().State == whittle.Different {
		at = w.requests
	}
	return at, w.wrong
}

// Turn is a candidate that turns wrong at random while users depend on it.
type Turn struct {
	Wrong        float64 // in this share of its responses
	Share, Watch float64
	PerSecond    int
}

// TakenBack says after how many tenths of a second a candidate that turns wrong is called DIFFERENT or
// rolled back, looked at as often, and how many wrong responses users had by then; found: within so
// many requests.
func (c Turn) TakenBack(j Judge, g Guard, seed uint64, most int) (tenths, wrong int, found bool) {
	w := newRoute(j, seed, thing, thing)
	w.guard, w.watch, w.pace = g, c.Watch, time.Second/time.Duration(c.PerSecond)
	w.until(600)
	w.share = c.Share
	g.Share(whittle.Share(c.Share * float64(whittle.All)))
	w.until(1500)
	w.candidate = oddly(c.Wrong)
	before := w.wrong
	for ; tenths*c.PerSecond < 10*most; tenths++ {
		if w.until(c.PerSecond/10) || w.judge.Verdict().State == whittle.Different || slices.ContainsFunc(g.Meters(), func(m whittle.Meter) bool { return m.Breached }) {
			return tenths + 1, w.wrong - before, true
		}
	}
	return 0, 0, false
}

// FromTheFirst says whether a guard breaches where users get equal responses with new ids from a
// candidate before anything is known of noise, as after an order or a reset.
func FromTheFirst(j Judge, g Guard, seed uint64) bool {
	ids := func(n, _ int, _ time.Time, r *rand.Rand) whittle.Response {
		return body(`{"id":%d,"n":%d}`, r.Uint64(), n)
	}
	w := newRoute(j, seed, ids, ids)
	w.guard, w.share, w.watch = g, 0.5, 1
	g.Share(whittle.All / 2)
	w.until(1000)
	return slices.ContainsFunc(g.Meters(), func(m whittle.Meter) bool { return m.Breached })
}
