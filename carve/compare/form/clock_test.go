package form

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
	"whittle/internal/simtest"
)

// clockServer is a service that writes times of now and of a quarter of an hour ahead.
type clockServer struct {
	layout string
	skew   time.Duration // of its clock
	// early and late are how long it works before it reads the clock and after;
	// one in pauses stands still for a second or two, before, between or after.
	early, late time.Duration
	pauses      int
	queue       time.Duration // it is asked later than the request came, by so much in the mean
	kept        time.Duration // for how long a Date is kept
	bunch       time.Duration // all requests of such a time are asked at its end
	stale       float64       // the share of responses whose times are three seconds old
}

func (s *clockServer) response(r *rand.Rand, at time.Time) whittle.Response {
	work := func(d time.Duration) time.Duration {
		d = time.Duration(float64(d) * (0.5 + r.Float64()))
		if s.pauses > 0 && r.IntN(s.pauses) == 0 {
			d += time.Duration(1000+r.IntN(1500)) * time.Millisecond
		}
		return d
	}
	if s.bunch > 0 {
		at = at.Truncate(s.bunch).Add(s.bunch)
	}
	at = at.Add(s.skew)
	at = at.Add(time.Duration(r.ExpFloat64() * float64(s.queue)))
	read := at.Add(work(s.early))
	head := read.Add(work(s.late))
	end := head.Add(work(time.Millisecond))
	date := head
	if s.kept > 0 {
		date = head.Truncate(s.kept)
	}
	if r.Float64() < s.stale {
		read = read.Add(-3 * time.Second)
	}
	write := func(t time.Time) string {
		if s.layout == "epoch" {
			return fmt.Sprint(t.UnixMilli())
		}
		return comparetest.QuotedJSON(t.UTC().Format(s.layout))
	}
	return whittle.Response{
		Status: 200, Latency: end.Sub(at), Body: []byte(`{"now":` + write(read) + `,"until":` + write(read.Add(15*time.Minute)) + `}`),
		Header: whittle.Header{"Date": {date.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")}},
	}
}

// drawClock draws a service: how it writes, works, pauses and keeps its Date is its own.
func drawClock(r *rand.Rand, layout string) *clockServer {
	ms := func(most int) time.Duration { return time.Duration(1+r.IntN(most)) * time.Millisecond }
	return &clockServer{
		layout: layout, skew: time.Duration(r.IntN(4000)-2000) * time.Millisecond, early: ms(200), late: ms(200),
		pauses: []int{0, 200, 40}[r.IntN(3)], kept: []time.Duration{0, time.Second}[r.IntN(2)],
	}
}

var clockLayouts = []string{"2006-01-02T15:04:05.000Z", time.RFC3339, "epoch", "Mon, 02 Jan 2006 15:04:05 GMT"}

// clockRun gives the exchange at which a time of the candidate's is called wrong, or suspected to be;
// 0: it is not within length.
func clockRun(t *testing.T, r *rand.Rand, monolith, candidate *clockServer, length int) (shown, suspected int) {
	t.Helper()
	f := formsOf(t, comparetest.FormComparison)
	f.take(noise.Key{Path: "$.now", Way: jsondiff.HowValue}, 0)
	f.take(noise.Key{Path: "$.until", Way: jsondiff.HowValue}, 0)
	at := simtest.Start
	for n := 1; n <= length; n++ {
		at = at.Add(time.Duration(r.ExpFloat64() * float64(400*time.Millisecond)))
		x := &whittle.Exchange{At: at, Monolith: monolith.response(r, at), Candidate: candidate.response(r, at)}
		var repeat []byte
		if n%20 == 10 {
			again := monolith.response(r, at.Add(time.Second))
			x.Repeat, repeat = &again, again.Body
		}
		f.See(x, repeat, 0.01, n)
		if suspected == 0 && len(f.Findings()) > 0 {
			suspected = n
		}
		if decidedOf(f) != nil {
			return n, suspected
		}
	}
	return 0, suspected
}

// TestFreshTimesAreAsFar: two services that read their clocks, whatever the latter
// are, when they read them, how long they pause and queue, are never called wrong for how far
// their times are from now, nor often suspected. Hypothesis: the two sides' distances are exchangeable.
// 0 of 200 runs, each looked at after each exchange.
func TestFreshTimesAreAsFar(t *testing.T) {
	t.Parallel()
	suspicions := 0
	for seed := range 200 {
		r := rand.New(rand.NewPCG(uint64(seed), 12))
		layout := clockLayouts[seed%len(clockLayouts)]
		monolith, candidate := drawClock(r, layout), drawClock(r, layout)
		candidate.queue = []time.Duration{0, 700 * time.Millisecond, 4 * time.Second}[seed%3]
		if seed%3 == 2 {
			candidate.skew = 8 * time.Second
		}
		at, suspected := clockRun(t, r, monolith, candidate, 400)
		if at > 0 {
			t.Errorf("run %d: called wrong at %d: %+v against %+v", seed, at, candidate, monolith)
		}
		suspicions += min(suspected, 1)
	}
	if suspicions > 200/20 {
		t.Errorf("suspected in %d of 200 runs", suspicions)
	}
}

// TestStaleTimesAreSuspected: a time that is three seconds old is, always and in 7 of 100, whatever
// the clocks, up to a second apart, where both sides send a Date. It is never shown, since the clock of
// a database may have made it. (With clocks two seconds apart, a stale time can be the very text that the
// monolith writes.)
func TestStaleTimesAreSuspected(t *testing.T) {
	t.Parallel()
	for share, within := range map[float64]int{1: 80, 0.07: 600} {
		for seed := range 20 {
			r := rand.New(rand.NewPCG(uint64(seed), 13))
			layout := clockLayouts[seed%len(clockLayouts)]
			monolith, candidate := drawClock(r, layout), drawClock(r, layout)
			monolith.skew, candidate.skew = monolith.skew/4, candidate.skew/4
			monolith.pauses, candidate.pauses, candidate.queue, candidate.stale = 0, 0, 700*time.Millisecond, share
			if shown, suspected := clockRun(t, r, monolith, candidate, within); shown > 0 || suspected == 0 {
				t.Errorf("%v of responses, %s, run %d: suspected at %d, shown at %d", share, layout, seed, suspected, shown)
			}
		}
	}
}

// TestTimesOfOneMomentAreNoRepeats: mirrored requests come in bunches, where the mirror's
// queue or the machine was busy. A candidate that reads its clock then gives one time to all
// of a bunch, while the monolith's times are new.
func TestTimesOfOneMomentAreNoRepeats(t *testing.T) {
	t.Parallel()
	for seed := range 20 {
		r := rand.New(rand.NewPCG(uint64(seed), 14))
		monolith, candidate := &clockServer{layout: clockLayouts[0]}, &clockServer{layout: clockLayouts[0], bunch: 800 * time.Millisecond}
		if at, _ := clockRun(t, r, monolith, candidate, 1000); at > 0 {
			t.Errorf("run %d: shown at %d", seed, at)
		}
	}
}
