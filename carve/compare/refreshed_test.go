package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// refreshed is a number that stays as it is until it is refreshed.
type refreshed struct {
	world  *refreshWorld
	r      *rand.Rand
	ends   []time.Duration
	values []float64
}

// at is the number at a time of the run.
func (v *refreshed) at(t time.Duration) float64 {
	w := v.world
	for len(v.ends) == 0 || v.ends[len(v.ends)-1] <= t {
		end, value := time.Duration(v.r.Float64()*float64(w.every)), 50.0
		if n := len(v.ends); n > 0 {
			end = v.ends[n-1] + time.Duration((1+w.jitter*(2*v.r.Float64()-1))*float64(w.every))
			value = v.values[n-1]
		}
		v.ends, v.values = append(v.ends, end), append(v.values, w.next(v.r, value))
	}
	return v.values[sort.Search(len(v.ends), func(i int) bool { return v.ends[i] > t })]
}

// refreshWorld is two services that list numbers which are refreshed by themselves: each
// service's own, or one and the same for both.
type refreshWorld struct {
	every  time.Duration
	jitter float64 // of every, up to 1
	fields int
	names  bool // the numbers have names, and are no list
	next   func(r *rand.Rand, before float64) float64
	shared bool
	of     func(x float64) float64 // what a wrong candidate makes of it
	away   int                     // after as many exchanges the judge is put away and comes back
}

// drawnAnew, walking and drifting are how a number is refreshed.
func drawnAnew(r *rand.Rand, _ float64) float64 { return float64(r.IntN(10_000)) / 100 }

func walking(r *rand.Rand, before float64) float64 {
	return math.Round(100*math.Abs(before+r.NormFloat64())) / 100
}

func drifting(r *rand.Rand, before float64) float64 {
	return math.Round(100*(before+0.3+r.NormFloat64())) / 100
}

// play shows a judge n exchanges, 20 a second, one in 20 repeated, and differences asked
// again about as the gateway does. It gives after how many the verdict was DIFFERENT,
// looked at in one of five; 0: it never was.
func (w *refreshWorld) play(t testing.TB, r *rand.Rand, n int) (at int, last whittle.Verdict) {
	t.Helper()
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
	var sides [2][]refreshed
	for side := range sides {
		for range w.fields {
			sides[side] = append(sides[side], refreshed{world: w, r: r})
		}
	}
	if w.shared {
		sides[1] = sides[0]
	}
	say := func(side, key int, now time.Duration) []byte {
		var list []string
		for i := range sides[side] {
			x := sides[side][i].at(now)
			if side == 1 && w.of != nil {
				x = w.of(x)
			}
			if w.names {
				list = append(list, fmt.Sprintf(`"r%d":%g`, i, x))
			} else {
				list = append(list, fmt.Sprintf("%g", x))
			}
		}
		if w.names {
			return fmt.Appendf(nil, `{"id":%d,%s}`, key, strings.Join(list, ","))
		}
		return fmt.Appendf(nil, `{"id":%d,"rates":[%s]}`, key, strings.Join(list, ","))
	}
	a := askedAgain{j: j, r: r, keys: 20, say: say, saved: 96}
	for i := 1; i <= n; i++ {
		a.next()
		if w.away > 0 && i%w.away == 0 {
			restore(t, j, j)
		}
		if i%5 == 0 {
			if last = j.Verdict(); last.State == whittle.Different {
				return i, last
			}
		}
	}
	return 0, last
}

// askedAgain shows a judge what two sides say, 20 exchanges a second, and asks again about
// differences within the gateway's budget.
type askedAgain struct {
	j     *Judge
	r     *rand.Rand
	keys  int                                          // requests that there are
	say   func(side, key int, at time.Duration) []byte // at a time of the run
	now   time.Duration
	list  []askedOne
	saved float64
}

type askedOne struct {
	ask *whittle.Recheck
	key int
	due time.Duration
}

// soon is some milliseconds after a moment.
func (a *askedAgain) soon(at time.Duration, ms float64) time.Duration {
	return at + time.Duration((1+ms*a.r.ExpFloat64())*float64(time.Millisecond))
}

// next plays an exchange, after what is due to be asked again. One in 20 is repeated.
func (a *askedAgain) next() {
	a.now += time.Duration(a.r.ExpFloat64() * float64(50*time.Millisecond))
	a.settle()
	key := a.r.IntN(a.keys)
	x := exchange(string(a.say(0, key, a.now)), string(a.say(1, key, a.soon(a.now, 5))))
	x.At, x.Request.Target = simtest.Start.Add(a.now), fmt.Sprint("/x/", key)
	if a.r.IntN(20) == 0 {
		x = repeated(x, string(a.say(0, key, a.soon(a.now, 5))))
	}
	if o := a.j.Observe(x); o.Ask {
		ask := &whittle.Recheck{Exchange: x}
		if after, more := a.j.Recheck(ask); more && a.saved >= 4 && len(a.list) < 16 {
			a.list = append(a.list, askedOne{ask, key, a.soon(a.now, 5) + after})
		}
	}
	a.saved = min(96, a.saved+0.04)
}

func (a *askedAgain) settle() {
	a.list = slices.DeleteFunc(a.list, func(o askedOne) bool { return o.ask == nil })
	for i := range a.list {
		for o := &a.list[i]; o.ask != nil && o.due <= a.now; {
			x, at := o.ask.Exchange, a.soon(o.due, 2)
			round := whittle.Round{After: o.due - x.At.Sub(simtest.Start), Monolith: x.Monolith, Candidate: x.Candidate}
			round.Monolith.Body, round.Candidate.Body = a.say(0, o.key, at), a.say(1, o.key, a.soon(at, 2))
			o.ask.Rounds = append(o.ask.Rounds, round)
			a.saved--
			after, more := a.j.Recheck(o.ask)
			if o.due += after; !more {
				o.ask = nil
			}
		}
	}
}

// refreshRates are from one refresh in ten seconds to twenty in one.
var refreshRates = []float64{0.1, 0.3, 1, 2, 5, 10, 20}

// TestRefreshedStatesRaiseNoAlarm: equal services, each of which refreshes numbers of its
// own, at any rate from 0.1 to 20 Hz, jittered or not, drawn anew, walking or drifting, one
// field or five, listed or named, with restarts or without, are called DIFFERENT in at most
// 5 of 100 runs, looked at after every fifth of 800 exchanges, and never EQUIVALENT.
//
// Hypothesis: both sides' states follow the same process, each by itself. Error rate: 0.01,
// what a match may spend on each of its tests, which takes ten times the runs to hold; with
// SIM_RUNS=2000 it logs what it counted. Source: Ville's inequality (moves); which
// bets wait for them is a comparison of means, of which this simulation holds what it lets
// through.
func TestRefreshedStatesRaiseNoAlarm(t *testing.T) {
	t.Parallel()
	nexts := []func(*rand.Rand, float64) float64{drawnAnew, walking, drifting}
	simtest.AtMost(0.05, 0.002).Play(t, "refused", func(run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), 91))
		hz := refreshRates[run%len(refreshRates)]
		w := refreshWorld{
			every: time.Duration(float64(time.Second) / hz), jitter: float64(r.IntN(2)) * 0.9,
			fields: 1 + 4*r.IntN(2), next: nexts[r.IntN(3)], away: 230 * r.IntN(2), names: r.IntN(2) == 0,
		}
		at, v := w.play(t, r, 800)
		if at > 0 || v.State == whittle.Equivalent {
			t.Logf("%g Hz, %d fields, jitter %g: %s after %d", hz, w.fields, w.jitter, v.Summary, at)
		}
		return at > 0 || v.State == whittle.Equivalent
	})
}

// TestWrongNumbersThatAreRefreshed: a candidate that makes another number of the same data
// is never EQUIVALENT, and named after 2,500 exchanges, in 9 of 10 runs where the data move between
// once in three seconds and five times in one. One that is constant is DIFFERENT. What moves more
// often is another one in many repeats, where no bet decides.
func TestWrongNumbersThatAreRefreshed(t *testing.T) {
	t.Parallel()
	wrong := []func(float64) float64{
		func(float64) float64 { return 7 },
		func(x float64) float64 { return x + 1 },
		func(float64) float64 { return 7 },
		func(x float64) float64 { return -x },
		func(float64) float64 { return 7 },
		func(x float64) float64 { return math.Trunc(x * 0.9) },
	}
	simtest.AtLeast(0.9, 0.02).Play(t, "missed", func(run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), 92))
		rates := refreshRates[1 : len(refreshRates)-2]
		w := refreshWorld{
			every: time.Duration(float64(time.Second) / rates[r.IntN(len(rates))]), jitter: float64(r.IntN(2)) * 0.9,
			fields: 1 + 4*r.IntN(2), next: drawnAnew, shared: true, of: wrong[run%len(wrong)],
		}
		at, v := w.play(t, r, 2500)
		if v.State == whittle.Equivalent {
			t.Errorf("%+v: %s", w, v.Summary)
		}
		isNamed := slices.ContainsFunc(v.Findings, func(f whittle.Finding) bool { return f.Path == "$.rates[*]" })
		return at == 0 && (run%2 == 0 || !isNamed)
	})
}
