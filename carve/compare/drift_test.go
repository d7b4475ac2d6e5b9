package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/internal/simtest"
)

// listed is a service whose response lists five values, of a state that each server holds
// by itself and that moves with each response.
type listed struct {
	r    *rand.Rand
	vals [5]int
	move func(r *rand.Rand, vals *[5]int)
}

func (s *listed) respond() string {
	s.move(s.r, &s.vals)
	return fmt.Sprintf(`{"items":[{"v":%d},{"v":%d},{"v":%d},{"v":%d},{"v":%d}]}`, s.vals[0], s.vals[1], s.vals[2], s.vals[3], s.vals[4])
}

// movingStates are states that move little by little, so that two responses of one
// server lie nearer to each other than to another server's.
var movingStates = []func(r *rand.Rand, vals *[5]int){
	func(r *rand.Rand, vals *[5]int) { vals[r.IntN(5)] = r.IntN(100_000) },             // prices, of which one is refreshed
	func(r *rand.Rand, vals *[5]int) { vals[r.IntN(5)] += r.IntN(9) - 4 },              // prices that walk
	func(r *rand.Rand, vals *[5]int) { vals[r.IntN(5)]++ },                             // views
	func(r *rand.Rand, vals *[5]int) { copy(vals[1:], vals[:4]); vals[0] = r.IntN(3) }, // the last events
	func(r *rand.Rand, vals *[5]int) { // refreshed at times, and one value always anew
		if r.IntN(12) == 0 {
			for i := range vals {
				vals[i] = r.IntN(1000)
			}
		}
		vals[0] = r.Int()
	},
}

// TestStatesThatMoveRaiseNoAlarm: equal services, of which each server holds a state of its
// own that moves, are called different in at most 1 of 100 runs, looked at after every
// exchange, and never EQUIVALENT while the candidate seems to be further off. Where no
// request comes twice, neither.
//
// Hypothesis: given the request, both sides' states follow the same process, each by
// itself. Error rate: alpha, for the responses are not exchangeable then and what the
// gates let through is all that is bet. Source: Ville's inequality for the bets; the gate
// (drift) is a comparison of means, of which this simulation holds what it lets through.
func TestStatesThatMoveRaiseNoAlarm(t *testing.T) {
	t.Parallel()
	const length = 130
	r := rand.New(rand.NewPCG(31, 32))
	simtest.AtMost(0.01, 0.0005).Play(t, "refused", func(run int) bool {
		m := matchOf(t, testMatch)
		move := movingStates[run%len(movingStates)]
		sides := [2]listed{{r: r, move: move}, {r: r, move: move}}
		for range 50 {
			sides[0].respond()
			sides[1].respond()
		}
		for i := range length {
			x := withBodies(i, 2, func(side int) string { return sides[side%2].respond() })
			x.At = x.At.Add(time.Duration(i) * 5 * time.Second)
			if run%2 == 0 {
				x.Request.Target = fmt.Sprint("/things/", i)
			}
			if m.Observe(x); m.anyDecided() {
				return true
			}
		}
		return false
	})
}

// TestAWrongElementAmongNoise: a candidate that is wrong in one more element of a list than
// varies is suspected within ten minutes in 9 of 10 runs, which keeps EQUIVALENT away.
func TestAWrongElementAmongNoise(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(33, 34))
	simtest.AtLeast(0.9, 0.01).Play(t, "missed", func(run int) bool {
		m := matchOf(t, testMatch)
		kind := run % 2
		say := func(wrong int) string {
			a, b := r.IntN(1000), 5
			if kind == 1 {
				b = r.IntN(2)
			}
			return fmt.Sprintf(`{"items":[{"v":%d},{"v":%d},{"v":%d},{"v":4}]}`, a, b, 7+wrong)
		}
		for i := range 300 {
			x := withBodies(i, 2, func(side int) string { return say(side % 2) })
			x.At = x.At.Add(time.Duration(i) * 2 * time.Second)
			m.Observe(x)
			if _, ok := m.unsureBound(); ok && !m.anyDecided() {
				return false
			}
		}
		return true
	})
}

// TestAMovingStateIsNotEquivalent: what seems to be further off, and is not shown to be,
// keeps EQUIVALENT away and says why.
func TestAMovingStateIsNotEquivalent(t *testing.T) {
	const why = "a state of its own that moves"
	for _, again := range []bool{true, false} {
		r := rand.New(rand.NewPCG(35, 36))
		m := matchOf(t, testMatch)
		sides := [2]listed{{r: r, move: movingStates[0]}, {r: r, move: movingStates[0]}}
		for i := range 3000 {
			x := withBodies(i, 5, func(side int) string { return sides[side%2].respond() })
			x.At = x.At.Add(time.Duration(i) * time.Second)
			if !again {
				x.Request.Target = fmt.Sprint("/things/", i)
			}
			m.Observe(x)
		}
		for _, at := range []string{"there", "put away"} {
			findings, bounds := m.Report(m.alpha)
			more := moreFor(bounds)
			said := false
			for _, b := range bounds {
				said = said || b.ID == "places" && !b.Inside && (at != "there" || strings.Contains(b.Summary, why))
			}
			if m.anyDecided() || !said || more != -1 || len(findings) != 1 || findings[0].Decided {
				t.Errorf("again %v, %s: %+v %+v, %d more", again, at, findings, bounds, more)
			}
			m = revived(t, m, testMatch)
		}
	}
}

// TestEarlierIsBounded: no more requests and bytes are remembered than the bounds say,
// and what is too old makes room.
func TestEarlierIsBounded(t *testing.T) {
	var e earlier
	now := said{monolith: make([]byte, 100), at: simtest.Start}
	for i := range uint64(3 * earlierRequests) {
		e.due(i+1, now)
	}
	if len(e.of) != earlierRequests || e.bytes != 100*earlierRequests {
		t.Errorf("%d requests, %d bytes", len(e.of), e.bytes)
	}
	if e.due(anyRequest, now); len(e.of) != earlierRequests+1 {
		t.Error("the last exchange has no room")
	}
	now.at = now.at.Add(earlierKept + time.Second)
	now.monolith = make([]byte, earlierBytes/3)
	for i := range uint64(3) {
		e.due(1000+i, now)
	}
	if len(e.of) != 3 || e.bytes != earlierBytes/3*3 {
		t.Errorf("%d requests, %d bytes", len(e.of), e.bytes)
	}
	isDue := func(after time.Duration) bool {
		now.at = now.at.Add(after)
		_, ok := e.due(1000, now)
		return ok
	}
	if isDue(0) {
		t.Error("a response is held against one of the same moment")
	}
	if !isDue(earlierApart) || isDue(0) {
		t.Error("a response is held against one of a moment before, once")
	}
	if isDue(-time.Hour) || len(e.of) != 3 {
		t.Error("a clock that goes back")
	}
}

// process is a server whose values are refreshed in it, once in a while.
type process struct {
	every time.Duration
	at    time.Time
	vals  [3]int
}

func (p *process) respond(r *rand.Rand, now time.Time) string {
	if !now.Before(p.at) {
		p.at = now.Add(time.Duration((0.5 + r.Float64()) * float64(p.every)))
		for i := range p.vals {
			p.vals[i] = r.IntN(100_000)
		}
	}
	return p.said(func(v int) int { return v })
}

func (p *process) said(of func(int) int) string {
	return fmt.Sprintf(`{"name":"rates","rates":[%d,%d,%d]}`, of(p.vals[0]), of(p.vals[1]), of(p.vals[2]))
}

// TestStatesOfEachServer: where each server refreshes values of its own, a faithful
// candidate is UNDECIDED with the reason, and what was won before that was known is taken
// back, also over a restart; nor do its differences count for the mismatch guard from
// then on. A candidate whose values do not move with the monolith's is DIFFERENT. One that is wrong
// in values of the same data is UNDECIDED and named: two caches that the same requests fill would
// move together, too.
func TestStatesOfEachServer(t *testing.T) {
	t.Parallel()
	same := func(v int) int { return v }
	for _, c := range []struct {
		name  string
		every time.Duration
		own   bool                                         // the candidate has a state of its own
		of    func(v int, r *rand.Rand, now time.Time) int // what it makes of the monolith's
		word  whittle.State
	}{
		{"refreshed every 10 s", 10 * time.Second, true, nil, whittle.Undecided},
		{"refreshed every minute", time.Minute, true, nil, whittle.Undecided},
		{"of the same data", 10 * time.Second, false, func(v int, _ *rand.Rand, _ time.Time) int { return same(v) }, whittle.Equivalent},
		{"one more", 10 * time.Second, false, func(v int, _ *rand.Rand, _ time.Time) int { return v + 1 }, whittle.Undecided},
		{"rounded", 10 * time.Second, false, func(v int, _ *rand.Rand, _ time.Time) int { return v / 50_000 }, whittle.Different},
		{"a constant", 10 * time.Second, false, func(int, *rand.Rand, time.Time) int { return 7 }, whittle.Different},
		{"at random", 10 * time.Second, false, func(_ int, r *rand.Rand, _ time.Time) int { return r.IntN(100_000) }, whittle.Different},
		{"at random, of four", 10 * time.Second, false, func(_ int, r *rand.Rand, _ time.Time) int { return r.IntN(4) }, whittle.Different},
		{"of the minute", 10 * time.Second, false, func(_ int, _ *rand.Rand, now time.Time) int { return now.Minute() }, whittle.Different},
	} {
		r := rand.New(rand.NewPCG(41, 42))
		j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
		sides := [2]process{{every: c.every}, {every: c.every}}
		for n := range 3000 {
			now := simtest.Start.Add(time.Duration(n) * 250 * time.Millisecond)
			x := exchange(sides[0].respond(r, now), "")
			if x.At = now; c.own {
				x.Candidate.Body = []byte(sides[1].respond(r, now))
			} else {
				x.Candidate.Body = []byte(sides[0].said(func(v int) int { return c.of(v, r, now) }))
			}
			x.Request.Target = fmt.Sprint("/rates/", r.IntN(5))
			if n%20 == 19 {
				x = repeated(x, string(x.Monolith.Body))
			}
			o := j.Observe(x)
			if known := n >= 2000; known && c.own && (o.Differs || o.Ask) {
				t.Fatalf("%s: exchange %d counts against the candidate: %+v", c.name, n, o)
			}
		}
		for _, at := range []string{"there", "put away"} {
			v := j.Verdict()
			if v.State != c.word || c.word == whittle.Undecided && !strings.Contains(v.Findings[0].Cause, "a state of its own") {
				t.Errorf("%s, %s: %s; %+v", c.name, at, v.Summary, v.Findings)
			}
			restore(t, j, j)
		}
	}
}

// TestAskingAgainShowsWhoseStateMoves: where no request comes twice, asking both sides
// again tells a state of each server from a candidate whose values do not move with the
// monolith's. What is wrong and of the same data is UNDECIDED, and named.
func TestAskingAgainShowsWhoseStateMoves(t *testing.T) {
	t.Parallel()
	const seldom, often = 3000, 450 // ms
	at := func(ms, every int64) int64 { return int64(digest.Mix(uint64(ms/every)) % 10007) }
	for _, c := range []struct {
		name      string
		every     int64
		candidate func(ms int64, r *rand.Rand) int64
		word      whittle.State
	}{
		{"its own", seldom, func(ms int64, _ *rand.Rand) int64 { return at(ms+1300, seldom) + 1 }, whittle.Undecided},
		{"one more", seldom, func(ms int64, _ *rand.Rand) int64 { return at(ms, seldom) + 1 }, whittle.Undecided},
		{"its own, twice a second", often, func(ms int64, _ *rand.Rand) int64 { return at(ms+1e9+200, often) }, whittle.Undecided},
		{"one more, twice a second", often, func(ms int64, _ *rand.Rand) int64 { return at(ms, often) + 1 }, whittle.Undecided},
		{"negative, twice a second", often, func(ms int64, _ *rand.Rand) int64 { return -at(ms, often) - 1 }, whittle.Undecided},
		{"constant, twice a second", often, func(int64, *rand.Rand) int64 { return 7 }, whittle.Different},
		{"at random, twice a second", often, func(_ int64, r *rand.Rand) int64 { return r.Int64N(10007) }, whittle.Different},
	} {
		r := rand.New(rand.NewPCG(51, 52))
		j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
		say := func(side int, now time.Time) []byte {
			rate := at(now.UnixMilli(), c.every)
			if side == 1 {
				rate = c.candidate(now.UnixMilli(), r)
			}
			return fmt.Appendf(nil, `{"name":"rates","rate":%d}`, rate)
		}
		for n := range 1200 {
			now := simtest.Start.Add(time.Duration(n)*250*time.Millisecond + time.Duration(r.IntN(200))*time.Millisecond)
			x := exchange(string(say(0, now)), string(say(1, now)))
			x.At, x.Request.Target = now, fmt.Sprint("/rates/", n)
			if n%20 == 0 {
				x = repeated(x, string(x.Monolith.Body))
			}
			if o := j.Observe(x); o.Ask && n%10 == 0 {
				ask := &whittle.Recheck{Exchange: x}
				for after, more := j.Recheck(ask); more; after, more = j.Recheck(ask) {
					if len(ask.Rounds) > 0 {
						after += ask.Rounds[len(ask.Rounds)-1].After
					}
					round := whittle.Round{After: after, Monolith: x.Monolith, Candidate: x.Candidate}
					round.Monolith.Body, round.Candidate.Body = say(0, now.Add(after)), say(1, now.Add(after))
					ask.Rounds = append(ask.Rounds, round)
				}
			}
		}
		if v := j.Verdict(); v.State != c.word || v.Findings[0].Path != "$.rate" {
			t.Errorf("%s: %s; %+v", c.name, v.Summary, v.Findings)
		}
	}
}
