package query

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
)

func TestMain(m *testing.M) { simtest.Main(m) }

func test() whittle.Query {
	side := whittle.SideQuery{Monolith: "m", Candidate: "c"}
	return whittle.Query{Name: "orders", Bad: side, Total: side, Excess: 0.005, For: 3, Every: 15 * time.Second}
}

// world is two sides that count events; both rates move as the world does.
type world struct {
	perInterval float64 // events of both sides
	rate        float64 // the monolith's share of bad ones
	drift       float64 // of the rate, over the run
	shares      []whittle.Share
	excess      float64 // the candidate's, over the monolith's
}

// drive plays intervals with share after share, until the guardrail speaks; 0: it does
// not.
func (w world) drive(g *Guard, r *rand.Rand, intervals int) int {
	v := whittle.QueryReading{At: simtest.Start}
	g.Take(v, w.shares[0])
	for i := range intervals {
		s := w.shares[i*len(w.shares)/intervals]
		count := func(bad, total *float64, part, rate float64) {
			n := distuv.Poisson{Lambda: part * w.perInterval, Src: r}.Rand()
			*total += n
			if n > 0 {
				*bad += distuv.Binomial{N: n, P: rate, Src: r}.Rand()
			}
		}
		rate := w.rate * (1 + w.drift*math.Sin(float64(i)/20))
		part := s.Percent() / 100
		count(&v.Bad.Monolith, &v.Total.Monolith, 1-part, rate)
		count(&v.Bad.Candidate, &v.Total.Candidate, part, rate+w.excess)
		v.At = v.At.Add(15 * time.Second)
		g.Take(v, s)
		if g.Breached() {
			return i + 1
		}
	}
	return 0
}

var ramp = []whittle.Share{100, 500, 2500, 5000}

// TestFalseAlarms: a candidate that is worse by all that is allowed is stopped in at most
// 1 of 100 rollouts of 40 minutes, and in each world by itself in at most 2. A correct
// implementation may show 0.1 % (simtest.Rate).
func TestFalseAlarms(t *testing.T) {
	t.Parallel()
	worlds := map[string]world{
		"few events":      {perInterval: 20, rate: 0.02, shares: ramp},
		"many":            {perInterval: 5000, rate: 0.01, shares: ramp},
		"rates that move": {perInterval: 400, rate: 0.05, drift: 0.9, shares: ramp},
		"half fail":       {perInterval: 200, rate: 0.5, shares: ramp},
		"hardly any fail": {perInterval: 1000, rate: 0.0002, shares: ramp},
	}
	simtest.InTurn(t, 0.01, 0.001, 0.02, worlds, func(w world, run int) bool {
		w.excess = test().Excess
		return w.drive(New(test(), 0.01), rand.New(rand.NewPCG(uint64(run), uint64(w.perInterval))), 160) != 0
	})
}

// TestDetection: how many intervals stop a worse candidate. The table of
// BENCHMARKS.md comes from here.
func TestDetection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		w    world
		most int // the median
	}{
		{"100 an interval on the candidate, all bad", world{perInterval: 1000, rate: 0.01, shares: []whittle.Share{1000}, excess: 0.99}, 1},
		{"100 an interval, 5 % more", world{perInterval: 1000, rate: 0.01, shares: []whittle.Share{1000}, excess: 0.05}, 5},
		{"100 an interval, 2 % more", world{perInterval: 1000, rate: 0.01, shares: []whittle.Share{1000}, excess: 0.02}, 20},
		{"10 an interval, 5 % more", world{perInterval: 1000, rate: 0.01, shares: []whittle.Share{100}, excess: 0.05}, 40},
		{"10 an interval, 2 % more", world{perInterval: 1000, rate: 0.01, shares: []whittle.Share{100}, excess: 0.02}, 180},
	} {
		r := rand.New(rand.NewPCG(5, 8))
		var took []int
		for range 100 {
			at := c.w.drive(New(test(), 0.01), r, 2000)
			if at == 0 {
				at = 1 << 30
			}
			took = append(took, at)
		}
		median, p95 := simtest.Quantile(took, 0.5), simtest.Quantile(took, 0.95)
		t.Logf("| %s | %d (%d) |", c.what, median, p95)
		if median > c.most {
			t.Errorf("%s: stopped after %d intervals, expected %d", c.what, median, c.most)
		}
	}
}

// reading is one with both sides' counters.
func reading(at int, mBad, mAll, cBad, cAll float64) whittle.QueryReading {
	return whittle.QueryReading{
		At: simtest.Start.Add(time.Duration(at) * 15 * time.Second), Bad: whittle.SideValues{Monolith: mBad, Candidate: cBad}, Total: whittle.SideValues{Monolith: mAll, Candidate: cAll},
	}
}

// TestWhatATestLeavesOut: what says nothing is no evidence, is counted, and said.
func TestWhatATestLeavesOut(t *testing.T) {
	g := New(test(), 0.01)
	fatal.Same(t, g.Wait(), "query orders has no reading yet", "what it waits for")
	for i, r := range []whittle.QueryReading{
		reading(0, 1, 100, 0, 0),    // the first
		reading(1, 2, 200, 50, 50),  // only mirrored calls: share 0
		reading(2, 3, 300, 60, 60),  // the first with users on it
		reading(3, 4, 400, 60, 60),  // nothing of the candidate's
		reading(4, 0, 50, 60, 70),   // the monolith began anew
		reading(5, 1, 150, 60, 80),  // counts
		reading(6, 1, 250, 95, 90),  // more bad than there was
		reading(6, 1, 350, 96, 100), // the same moment
		reading(7, 2, 450, 95, 110), // the candidate's went back
		{At: simtest.Start.Add(time.Hour), Missing: "the server does not respond"},
		reading(300, 3, 550, 95, 120), // the first after a gap
		reading(301, 4, 650, 95, 130), // counts
	} {
		share := whittle.Share(100)
		if i < 2 {
			share = 0
		}
		g.Take(r, share)
	}
	if g.Bet != 2 || g.LeftOut != 3 || g.Without != 2 || g.Breached() || g.Candidate != (eprocess.Share{N: 20}) {
		t.Errorf("%+v", g.state)
	}
	const want = "bad events: candidate 0 % of 20, monolith 1 % of 200, in 2 intervals, 2 without data, 3 in which a side counted nothing, or a counter went back; allowed 0.5 % more; evidence "
	if m := g.Meter(); !strings.HasPrefix(m.Summary, want) || m.Count != 20 || m.Threshold != 125 {
		t.Errorf("%q", m.Summary)
	}
	fatal.Same(t, g.Wait(), "", "what it waits for")
}

// TestNoData has every way in which there is none: it holds up a rise, says why, and
// takes the users off only where the config says so.
func TestNoData(t *testing.T) {
	nan := math.NaN()
	for name, r := range map[string]whittle.QueryReading{
		"the server is down":      {Missing: "connection refused"},
		"no candidate":            {Bad: whittle.SideValues{NoCandidate: true}},
		"no total of candidate":   {Total: whittle.SideValues{NoCandidate: true}},
		"no monolith":             {Bad: whittle.SideValues{NoMonolith: true}},
		"not a number":            {Bad: whittle.SideValues{Candidate: nan}},
		"infinite":                {Total: whittle.SideValues{Monolith: math.Inf(1)}},
		"below zero":              {Total: whittle.SideValues{Monolith: -1}},
		"below zero, not of both": {Bad: whittle.SideValues{Candidate: -1}},
	} {
		for _, falls := range []bool{false, true} {
			q := test()
			q.FallWithoutData = falls
			g := New(q, 0.01)
			for i := range q.For {
				r.At = simtest.Start.Add(time.Duration(i) * time.Minute)
				if g.Breached() {
					t.Errorf("%s: breached after %d", name, i)
				}
				g.Take(r, 100)
			}
			if g.Breached() != falls || !strings.HasPrefix(g.Wait(), "query orders has no data: ") || !strings.Contains(g.Meter().Summary, "3 without data") {
				t.Errorf("%s: %v, %q, %q", name, g.Breached(), g.Wait(), g.Meter().Summary)
			}
			g.Reset()
			if g.Breached() || g.Wait() == "" {
				t.Errorf("%s: after a reset %v %q", name, g.Breached(), g.Wait())
			}
			g.Take(r, 0)
			r.At = r.At.Add(time.Hour)
			g.Take(r, 0)
			if g.Breached() {
				t.Errorf("%s: breached without users", name)
			}
		}
	}
	ahead := New(test(), 0.01)
	for i, why := range []string{"", "the server's clock went back", "", "the server has no newer figures"} {
		at := simtest.Start.Add(time.Duration(i) * 15 * time.Second)
		switch i {
		case 0:
			at = at.Add(time.Hour) // the server's clock is wrong for once
		case 3:
			at = at.Add(-15 * time.Second)
		}
		if ahead.Take(whittle.QueryReading{At: at}, 100); ahead.Why != why {
			t.Errorf("reading %d: %q, want %q", i, ahead.Why, why)
		}
	}
	g := New(test(), 0.01)
	g.Take(whittle.QueryReading{At: simtest.Start, NoBad: true, Bad: whittle.SideValues{NoCandidate: true}, Total: whittle.SideValues{NoCandidate: true}}, 0)
	if s := g.Meter().Summary; !strings.HasSuffix(s, "; no series of bad events was ever there, so they count as 0: is the query right?") {
		t.Errorf("%q", s)
	}
	fatal.Same(t, g.Wait(), "", "a candidate without users need not count")
}

// TestLimitRules: so many in a row beyond the limit, and one within begins afresh.
func TestLimitRules(t *testing.T) {
	alone, both := whittle.SideQuery{Candidate: "c"}, whittle.SideQuery{Both: "q", Label: "v", Monolith: "1", Candidate: "2"}
	for name, tt := range map[string]struct {
		q      whittle.Query
		values [][2]float64 // of monolith and candidate
		at     int          // breached after so many; 0: never
		says   string
	}{
		"above": {whittle.Query{Value: alone, Limit: 10}, [][2]float64{{0, 11}, {0, 12}, {0, 13}}, 3, "candidate 13, at most 10; " +
			"beyond the limit 3 times in a row, of 3 that decide; looked at 3 times, 0 without data; a limit rule, no error rate is claimed: breached"},
		"at the limit":             {whittle.Query{Value: alone, Limit: 10}, [][2]float64{{0, 10}, {0, 10}, {0, 10}}, 0, "candidate 10, at most 10; beyond the limit 0 times"},
		"within in between":        {whittle.Query{Value: alone, Limit: 10}, [][2]float64{{0, 11}, {0, 12}, {0, 9}, {0, 11}, {0, 11}}, 0, "beyond the limit 2 times"},
		"below":                    {whittle.Query{Value: alone, Limit: 10, Below: true}, [][2]float64{{0, 9}, {0, 9}, {0, 9}}, 3, "candidate 9, at least 10"},
		"a multiple":               {whittle.Query{Value: both, Limit: 1.5, Ratio: true}, [][2]float64{{10, 16}, {20, 16}, {10, 16}, {10, 16}, {10, 16}}, 5, "candidate 16, monolith 10, at most 15"},
		"a multiple, below":        {whittle.Query{Value: both, Limit: 0.5, Ratio: true, Below: true}, [][2]float64{{10, 4}, {10, 4}, {10, 4}}, 3, "candidate 4, monolith 10, at least 5"},
		"of nothing":               {whittle.Query{Value: both, Limit: 1.5, Ratio: true}, [][2]float64{{0, 0}, {0, 0}, {0, 0}}, 0, "beyond the limit 0 times"},
		"a limit of both's figure": {whittle.Query{Value: both, Limit: 3}, [][2]float64{{9, 1}, {9, 1}, {9, 1}}, 0, "candidate 1, monolith 9, at most 3"},
	} {
		tt.q.Name, tt.q.For = "q", 3
		g := New(tt.q, 0.01)
		at := 0
		for i, v := range tt.values {
			g.Take(whittle.QueryReading{At: simtest.Start.Add(time.Duration(i) * time.Minute), Value: whittle.SideValues{Monolith: v[0], Candidate: v[1]}}, 100)
			if g.Breached() && at == 0 {
				at = i + 1
			}
		}
		if at != tt.at || !strings.Contains(g.Meter().Summary, tt.says) {
			t.Errorf("%s: after %d, %q", name, at, g.Meter().Summary)
		}
		if last := tt.values[len(tt.values)-1]; g.beyond(&whittle.SideValues{Monolith: last[0], Candidate: last[1]}) != (g.Wait() != "") {
			t.Errorf("%s: %q", name, g.Wait())
		}
	}
	g := New(whittle.Query{Name: "q", Value: alone, Limit: 1, For: 1}, 0)
	for i := range 5 {
		g.Take(whittle.QueryReading{At: simtest.Start.Add(time.Duration(i) * time.Minute), Value: whittle.SideValues{Candidate: 2}}, 0)
	}
	if g.Breached() || g.Wait() != "query q is beyond its limit: candidate 2, at most 1" {
		t.Errorf("before users: %v %q", g.Breached(), g.Wait())
	}
}

// TestStateOutlivesARestart, and what is no state does not.
func TestStateOutlivesARestart(t *testing.T) {
	g := New(test(), 0.01)
	world{perInterval: 400, rate: 0.05, shares: ramp}.drive(g, rand.New(rand.NewPCG(1, 1)), 50)
	g.Reset()
	world{perInterval: 400, rate: 0.05, shares: ramp}.drive(g, rand.New(rand.NewPCG(1, 2)), 50)
	b, err := json.Marshal(g)
	fatal.If(t, err)
	again := New(test(), 0.01)
	if err := json.Unmarshal(b, again); err != nil || again.Meter() != g.Meter() || again.threshold() != g.threshold() {
		t.Errorf("%v: %+v, was %+v", err, again.Meter(), g.Meter())
	}
	if before, err := again.Meter(), json.Unmarshal([]byte("[]"), again); err == nil || again.Meter() != before {
		t.Error("a list is taken")
	}
	if !again.Is(test(), 0.01) || again.Is(test(), 0.02) || again.Query() != test() {
		t.Error("it is not what it was made for")
	}
}

// TestAttemptsShareTheErrorRate.
func TestAttemptsShareTheErrorRate(t *testing.T) {
	g := New(test(), 0.01)
	sum := 0.0
	for range 10_000 {
		sum += 1 / g.threshold()
		g.Reset()
	}
	if sum > 0.01 || sum < 0.0099 {
		t.Errorf("all attempts together: %v", sum)
	}
}

// TestACandidateThatCountsNothing holds up the next rise.
func TestACandidateThatCountsNothing(t *testing.T) {
	g := New(test(), 0.01)
	for i := range 4 {
		g.Take(reading(i, 0, float64(100*i), 0, 7), 100)
	}
	if g.Wait() != "query orders counted nothing of the candidate in 3 intervals in a row" || g.Breached() {
		t.Errorf("%q", g.Wait())
	}
	g.Take(reading(4, 0, 400, 0, 8), 100)
	fatal.Same(t, g.Wait(), "", "what it waits for")
}
