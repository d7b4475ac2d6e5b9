package promisetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// compared is a comparison with the config's defaults.
var compared = whittle.Comparison{Kind: whittle.JSON, AllHeaders: true, LearnNoise: true, Confidence: 0.99, MinCompared: 300}

// Judges holds what every judge promises.
func Judges(t *testing.T, fresh func(testing.TB, whittle.Comparison) Judge) {
	for name, hold := range map[string]func(*testing.T, func() Judge){
		"OneFailureExcusesOne":     oneFailureExcusesOne,
		"LateAndRare":              lateAndRare,
		"EqualAtAFullShare":        equalAtAFullShare,
		"OneTimeProofs":            oneTimeProofs,
		"ClocksApart":              clocksApart,
		"NothingComparedNoPromise": nothingComparedNoPromise,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold(t, func() Judge { return fresh(t, compared) })
		})
	}
}

func pair(i int, monolith, candidate whittle.Response) *whittle.Exchange {
	return &whittle.Exchange{
		At: simtest.Start.Add(time.Duration(i) * 20 * time.Millisecond), User: uint64(1 + i%100),
		Request:  whittle.Request{Method: "GET", Target: fmt.Sprintf("/things/%d", 100+i%things)},
		Monolith: monolith, Candidate: candidate,
	}
}

// oneFailureExcusesOne: where the monolith failed once, candidates that lose a header, or give
// another status, type or no response, in 1 of 1,000 are not EQUIVALENT once they
// did so twice.
// A candidate that fails no more often than the monolith is.
func oneFailureExcusesOne(t *testing.T, fresh func() Judge) {
	right := body(`{"a":1}`)
	right.Header = whittle.Header{"Content-Type": {"application/json"}, "X-Total": {"7"}}
	failed := whittle.Response{Failure: whittle.FailedTimeout}
	lost, status, kind := right, right, right
	lost.Header = whittle.Header{"Content-Type": {"application/json"}}
	status.Status = 404
	kind.Header = whittle.Header{"Content-Type": {"text/plain"}, "X-Total": {"7"}}
	for name, wrong := range map[string]whittle.Response{"header": lost, "status": status, "content type": kind, "failure": failed} {
		j := fresh()
		for i := range 8000 {
			x := pair(i, right, right)
			switch {
			case i == 5:
				x.Monolith = failed
			case i%1000 == 999:
				x.Candidate = wrong
			case i%20 == 0:
				x.Repeat = new(right)
			}
			if j.Observe(x); i > 2000 && i%100 == 0 {
				if v := j.Verdict(); v.State == whittle.Equivalent {
					t.Errorf("%s: %s", name, v.Summary)
					break
				}
			}
		}
	}
	j := fresh()
	for i := range 8000 { // both fail in 1 of 800
		x := pair(i, right, right)
		switch i % 800 {
		case 100:
			x.Monolith = failed
		case 500:
			x.Candidate = failed
		}
		if i%20 == 0 && x.Monolith.Failure == whittle.NoFailure {
			x.Repeat = new(right)
		}
		j.Observe(x)
	}
	if v := j.Verdict(); v.State != whittle.Equivalent {
		t.Errorf("both fail in 1 of 800: %s", v.Summary)
	}
}

// lateAndRare: a candidate that was right for as long as it takes to get a share, and then is
// wrong at random in 1 of 50, is DIFFERENT within 60 s and 120 wrong responses at 100
// requests a second, in 19 of 20 runs, at any share.
func lateAndRare(t *testing.T, fresh func() Judge) {
	for _, share := range []float64{0.05, 1} {
		var took, harmed []int
		rate := simtest.AtLeast(0.95, 0.03)
		for run := 0; rate.Open(); run++ {
			w := newRoute(fresh(), uint64(run), thing, thing)
			w.until(600)
			w.share = share
			w.until(1500)
			from, before := w.requests, w.wrong
			w.candidate = oddly(0.02)
			found := w.until(100 * 60)
			rate.Saw(!found || w.wrong-before > 120)
			took, harmed = append(took, (w.requests-from)/100), append(harmed, w.wrong-before)
		}
		rate.Hold(t, fmt.Sprintf("at %.0f %% not found in time", 100*share))
		t.Logf("at %.0f %%: %d s (%d), %d wrong responses (%d)", 100*share, simtest.Quantile(took, 0.5), simtest.Quantile(took, 0.95), simtest.Quantile(harmed, 0.5), simtest.Quantile(harmed, 0.95))
	}
}

// equalAtAFullShare: equal services at a full share are DIFFERENT in at most 5 of 100 runs of some
// minutes, whatever makes both differ now and then. (A whole week is not
// simulated: there the rate rests on the martingale alone.)
func equalAtAFullShare(t *testing.T, fresh func() Judge) {
	moving := func(n, _ int, now time.Time, _ *rand.Rand) whittle.Response { // each moves every 6 s, so 1 in 2,000 between two asks
		return body(`{"id":%d,"total":%d}`, n, now.Add(time.Duration(n)*137*time.Millisecond).UnixNano()/int64(6*time.Second))
	}
	worlds := map[string]Says{"both odd in 1 of 50": oddly(0.02), "both odd in 1 of 500": oddly(0.002), "data that move": moving}
	simtest.InTurn(t, 0.05, 0.002, 0.2, worlds, func(same Says, run int) bool {
		w := newRoute(fresh(), uint64(run), same, same)
		if w.until(800) {
			return true
		}
		w.share = 1
		return w.until(4000)
	})
}

// oneTimeProofs: each request carries what is good for one use, and both sides ask one memory of
// what was used. Whoever gets it second refuses it, so that nothing is said of the candidate, and
// the finding says what to declare.
func oneTimeProofs(t *testing.T, fresh func() Judge) {
	j := fresh()
	right, refused := body(`{"a":1}`), body(`{"error":"used"}`)
	refused.Status = 401
	asked := 0
	for i := range 1000 {
		x := pair(i, right, refused)
		if !j.Observe(x).Ask || asked == 3 { // then the gateway repeats nothing any more
			continue
		}
		asked++
		again := whittle.Recheck{Exchange: x}
		for _, more := j.Recheck(&again); more; _, more = j.Recheck(&again) {
			again.Rounds = append(again.Rounds, whittle.Round{Monolith: refused, Candidate: refused})
		}
	}
	v := j.Verdict()
	if v.State != whittle.Undecided || len(v.Findings) == 0 || !strings.Contains(v.Findings[0].Cause, "expect: [{kind: status, from: 200, to: 401") {
		t.Errorf("%s: %+v", v.Summary, v.Findings)
	}
	if v.MoreNeeded > 0 {
		t.Errorf("%d more exchanges decide nothing", v.MoreNeeded)
	}
}

// clocksApart: two caches that hold a value of their own for a minute differ for as long, which
// is one observation. Two gateways whose clocks are 31 s apart show it as one, too.
func clocksApart(t *testing.T, fresh func() Judge) {
	j := fresh()
	for i := range 600 {
		x := pair(i, thing(i%things, 0, time.Time{}, nil), thing(i%things, 0, time.Time{}, nil))
		if i > 500 {
			x.Candidate = body(`{"id":%d,"name":"thing %d","total":1}`, i%things, i%things)
		}
		if i%2 == 1 {
			x.At = x.At.Add(31 * time.Second)
		}
		if !j.Observe(x).Ask {
			continue
		}
		again := whittle.Recheck{Exchange: x}
		for _, more := j.Recheck(&again); more; _, more = j.Recheck(&again) {
			again.Rounds = append(again.Rounds, whittle.Round{Monolith: x.Monolith, Candidate: x.Candidate})
		}
	}
	if v := j.Verdict(); v.State == whittle.Different {
		t.Errorf("%s: %+v", v.Summary, v.Findings)
	}
}

// nothingComparedNoPromise: where nothing is compared, no number of further exchanges is said
// to decide, and where much is not, it is said with the count.
func nothingComparedNoPromise(t *testing.T, fresh func() Judge) {
	const promise = "should decide"
	if v := fresh().Verdict(); strings.Contains(v.Summary, promise) {
		t.Errorf("before the first exchange: %s", v.Summary)
	}
	right, late := body(`{"a":1}`), whittle.Response{Failure: whittle.FailedTimeout, Latency: 5 * time.Second}
	slow := right
	slow.Latency = 10 * time.Second
	all := fresh()
	for i := range 60 {
		all.Observe(pair(i, slow, late)) // too slow on both sides
	}
	if v := all.Verdict(); strings.Contains(v.Summary, promise) || v.MoreNeeded > 0 || !strings.Contains(v.Summary, "60 ") {
		t.Errorf("none of 60 compared: %s", v.Summary)
	}
	most, none := fresh(), fresh()
	for i := range 300 {
		none.Observe(pair(i, right, right))
		if i < 175 {
			most.Observe(pair(i, slow, late))
		} else {
			most.Observe(pair(i, right, right))
		}
	}
	if v := most.Verdict(); !strings.Contains(v.Summary, "175 ") || v.MoreNeeded < none.Verdict().MoreNeeded*2 {
		t.Errorf("175 of 300 not compared: %s", v.Summary)
	}
}
