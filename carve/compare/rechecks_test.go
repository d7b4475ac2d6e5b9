package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/promisetest"
	"whittle/internal/simtest"
)

// saying is what a side says to a request: it depends on the turn in which it is asked, the time
// and chance.
type saying func(q, turn int, now time.Time, r *rand.Rand) string

func (s saying) response(q, turn int, now time.Time, r *rand.Rand) whittle.Response {
	return whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(s(q, turn, now, r))}
}

// askedWorld plays one route whose differences are asked about.
type askedWorld struct {
	promisetest.Asked
	monolith, candidate saying
	noisy               string // a place of which it is known before that the monolith varies there
}

// play runs n exchanges through a judge and gives the exchange at which it said
// DIFFERENT, 0 if it never did, and how many users' responses differed until then.
func (a *askedWorld) play(t testing.TB, c whittle.Comparison, seed uint64, n int) (at, harmed int, v whittle.Verdict) {
	t.Helper()
	j := judgeOf(t, c)
	if a.noisy != "" {
		for _, s := range []*series{j.mirrored, j.served} {
			s.match.noise.Learn(noise.Key{Path: a.noisy, Way: jsondiff.HowValue})
		}
	}
	a.Monolith, a.Candidate = a.monolith.response, a.candidate.response
	at, harmed = a.Play(j, seed, n)
	return at, harmed, j.Verdict()
}

// atFirst is a route whose candidate is asked first for 1 in 100 of 2,000 users.
func atFirst(look int) promisetest.Asked {
	return promisetest.Asked{Share: 0.01, Users: 2000, Gap: 20 * time.Millisecond, Look: look}
}

func faithful(q, _ int, _ time.Time, _ *rand.Rand) string {
	return fmt.Sprintf(`{"id":%d,"name":"thing %d"}`, q, q)
}

// but is faithful but for what it says at times.
func but(at func(q, turn int, r *rand.Rand) bool, other func(q int) string) saying {
	return func(q, turn int, now time.Time, r *rand.Rand) string {
		if at(q, turn, r) {
			return other(q)
		}
		return faithful(q, turn, now, r)
	}
}

func seldom400(_, _ int, r *rand.Rand) bool { return r.Float64() < 1./400 }

// moving is data that change every so often, each thing's at moments of its own; lag is
// how far a side is behind them.
func moving(every, lag time.Duration) saying {
	return func(q, _ int, now time.Time, _ *rand.Rand) string {
		seen := now.Add(-lag).Add(time.Duration(q) * 37 * time.Millisecond)
		return fmt.Sprintf(`{"id":%d,"name":"thing %d","stock":%d}`, q, q, seen.UnixNano()/int64(every))
	}
}

// cached is a copy of data that move every 700 ms, which a side takes anew every two
// seconds: each time at another moment, up to 300 ms apart from the other side's.
func cached(side uint64) saying {
	const every = 2 * time.Second
	return func(q, _ int, now time.Time, _ *rand.Rand) string {
		taken := func(n int64) int64 {
			return n*int64(every) + int64(digest.Mix(uint64(n)<<1|side)%uint64(300*time.Millisecond))
		}
		n := now.UnixNano() / int64(every)
		if taken(n) > now.UnixNano() {
			n--
		}
		return fmt.Sprintf(`{"id":%d,"stock":%d}`, q, taken(n)/int64(700*time.Millisecond))
	}
}

// threeOfTen picks anew each time: now and then both sides give the same three in another order, and
// other ones when they are asked again. Neither has kept to a difference then.
func threeOfTen(q, _ int, _ time.Time, r *rand.Rand) string {
	p := r.Perm(10)
	return fmt.Sprintf(`{"id":%d,"picks":[%d,%d,%d]}`, q, p[0], p[1], p[2])
}

func wrong(q int) string { return fmt.Sprintf(`{"id":%d,"name":"other %d"}`, q, q) }

var askedRoute = whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300}

// TestEqualServicesAreAskedInVain: equal services are called DIFFERENT in at most 1
// of 100 whole runs, looked at after every exchange, whatever makes them differ now
// and then: rare noise, state that changes between two calls (so that whoever is
// asked first seems to have changed), replicas that lag on both sides, values that
// both sides keep for some seconds. In each world by itself it is at most 6 of 100. A
// correct implementation may show 0.15 % (simtest.Rate).
func TestEqualServicesAreAskedInVain(t *testing.T) {
	t.Parallel()
	noisy := func(share float64) saying {
		return but(func(_, _ int, r *rand.Rand) bool { return r.Float64() < share }, func(q int) string {
			return fmt.Sprintf(`{"id":%d,"name":"thing %d?"}`, q, q)
		})
	}
	worlds := map[string]*askedWorld{
		"rare noise":                    {monolith: noisy(0.002), candidate: noisy(0.002)},
		"noise":                         {monolith: noisy(0.05), candidate: noisy(0.05)},
		"data that change":              {monolith: moving(2*time.Second, 0), candidate: moving(2*time.Second, 0)},
		"both lag":                      {monolith: moving(20*time.Second, time.Second), candidate: moving(20*time.Second, time.Second)},
		"candidate lags a ms":           {monolith: moving(5*time.Second, 0), candidate: moving(5*time.Second, time.Millisecond)},
		"data that change now and then": {monolith: moving(10*time.Second, 0), candidate: moving(10*time.Second, 0), noisy: "$.stock"},
		"nothing differs":               {monolith: faithful, candidate: faithful},
		"a copy of seconds":             {monolith: cached(0), candidate: cached(1)},
		"three of ten, in any order":    {monolith: threeOfTen, candidate: threeOfTen, Asked: promisetest.Asked{Gap: time.Hour}},
	}
	for _, a := range worlds {
		a.Share, a.Users, a.Look, a.Gap = 0.05, 500, 50, max(a.Gap, 20*time.Millisecond)
	}
	simtest.InTurn(t, 0.01, 0.0015, 0.06, worlds, func(a *askedWorld, run int) bool {
		a.Since = time.Duration(run) * time.Hour
		at, _, v := a.play(t, askedRoute, uint64(run), 1500)
		if at > 0 {
			t.Logf("run %d: %s", run, v.Summary)
		}
		return at > 0
	})
}

// TestWhatAskingFinds: what candidates that are wrong in rare ways are called, after
// how many exchanges, and how many users met it. Looked at after each tenth exchange, it
// finds them no sooner than they are found.
func TestWhatAskingFinds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		candidate saying
		words     string
		within    int
		harmed    int // at most, at the 95th percentile
	}{
		{"wrong when asked first", but(func(_, turn int, _ *rand.Rand) bool { return turn == 0 }, wrong), "only when the candidate is asked first", 6000, 15},
		{"wrong in 30 % when asked first", but(func(_, turn int, r *rand.Rand) bool {
			return turn == 0 && r.Float64() < 0.3
		}, wrong), "only when the candidate is asked first", 6000, 15},
		{"another response in 1 of 400", but(seldom400, func(q int) string { return wrong(q + 1) }), "intermittent", 20_000, 40},
		{"one thing in 50 is wrong", but(func(q, _ int, _ *rand.Rand) bool { return q == 17 }, wrong), "reproducible", 4000, 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &askedWorld{monolith: faithful, candidate: tc.candidate, Asked: atFirst(10)}
			runs, late, harmed := 8, 0, 0
			for seed := range runs {
				at, hurt, v := a.play(t, askedRoute, uint64(seed), tc.within)
				switch {
				case at == 0:
					late++
				case seed == 0:
					t.Logf("after %d exchanges, %d users' responses: %s", at, hurt, v.Findings[0].Summary)
				}
				if hurt > tc.harmed {
					harmed++
				}
				if v.State == whittle.Equivalent {
					t.Fatalf("EQUIVALENT: %s", v.Summary)
				}
				if at > 0 && !strings.Contains(fmt.Sprint(v.Findings), tc.words) {
					t.Errorf("it does not say %q: %+v", tc.words, v.Findings)
				}
			}
			if late > 0 || harmed > 1 {
				t.Errorf("not found within %d in %d of %d runs; more than %d users' responses in %d", tc.within, late, runs, tc.harmed, harmed)
			}
		})
	}
}

// TestNoiseHidesNobodyWhoIsOddAlone: where the monolith's data change between two
// calls, so that the place is known as noisy, a candidate that is wrong there only
// when it is asked first is named after a handful of users' responses.
func TestNoiseHidesNobodyWhoIsOddAlone(t *testing.T) {
	stock := func(q, _ int, now time.Time, _ *rand.Rand) string {
		return fmt.Sprintf(`{"id":%d,"stock":%d}`, q, now.Add(time.Duration(q)*37*time.Millisecond).UnixNano()/int64(2*time.Second))
	}
	a := &askedWorld{monolith: stock, candidate: func(q, turn int, now time.Time, r *rand.Rand) string {
		if turn == 0 && r.Float64() < 0.3 {
			return `{"id":1,"stock":-1}`
		}
		return stock(q, turn, now, r)
	}, Asked: atFirst(1)}
	for seed := range 6 {
		at, harmed, v := a.play(t, askedRoute, uint64(seed), 10_000)
		if at == 0 || harmed > 20 || !strings.Contains(fmt.Sprint(v.Findings), "only when the candidate is asked first") {
			t.Errorf("seed %d: after %d, %d users' responses: %s", seed, at, harmed, v.Summary)
		}
	}
}

// TestNoiseHidesNoTenant: where data change now and then, so that the place is known as
// noisy, a candidate whose value there is wrong for one thing in fifty, always, is named
// within 9,000 exchanges, by what stays when both sides are asked again, and is never
// EQUIVALENT. The same candidate without the fault is not named (the world "data that
// change now and then" of TestEqualServicesAreAskedInVain).
func TestNoiseHidesNoTenant(t *testing.T) {
	right := moving(40*time.Second, 0)
	a := &askedWorld{monolith: right, candidate: func(q, turn int, now time.Time, r *rand.Rand) string {
		if q == 17 {
			now = now.Add(-time.Hour)
		}
		return right(q, turn, now, r)
	}, noisy: "$.stock", Asked: atFirst(20)}
	var took []int
	for seed := range 6 {
		at, harmed, v := a.play(t, askedRoute, uint64(seed), 9000)
		took = append(took, at)
		if at == 0 || harmed > 20 || !strings.Contains(fmt.Sprint(v.Findings), "stays another one on the candidate") {
			t.Errorf("seed %d: after %d, %d users' responses: %s %+v", seed, at, harmed, v.Summary, v.Findings)
		}
	}
	t.Logf("named after %d exchanges, %d at most", simtest.Quantile(took, 0.5), simtest.Quantile(took, 1))
}

// TestAStaleReplicaIsToldFromAWrongOne: a candidate that is two seconds behind is
// called stale, with the lag.
func TestAStaleReplicaIsDistinguishedFromAWrongOne(t *testing.T) {
	stock := func(lag time.Duration) saying {
		return func(q, _ int, now time.Time, _ *rand.Rand) string {
			return fmt.Sprintf(`{"id":%d,"stock":%d}`, q, now.Add(-lag).Add(time.Duration(q)*time.Second).UnixNano()/int64(97*time.Second))
		}
	}
	a := &askedWorld{monolith: stock(0), candidate: stock(2 * time.Second), Asked: promisetest.Asked{Users: 100, Gap: 50 * time.Millisecond, Look: 1}}
	_, _, v := a.play(t, askedRoute, 3, 6000)
	if v.State == whittle.Equivalent || len(v.Findings) == 0 || v.Findings[0].Asked == nil ||
		v.Findings[0].Asked.Stale == 0 || !strings.Contains(v.Findings[0].Summary, "stale") {
		t.Errorf("%s: %+v", v.Summary, v.Findings)
	}
}

// TestWhyReproducedDifferencesAreNotShownYet: fifty of fifty look like proof, and the finding
// says that those which come together count once, until they are shown.
func TestWhyReproducedDifferencesAreNotShownYet(t *testing.T) {
	r := newRechecks()
	r.Places = []recheckPlace{{Place: "$.error", Seen: [2]asked{{Asked: whittle.Asked{Times: 50, Reproducible: 50}}}}}
	words := func() (string, bool) {
		f := whittle.Finding{Kind: whittle.FoundField, Path: "$.error", Summary: "$.error has another value"}
		r.annotate(&f, 0)
		return f.Summary, f.Decided
	}
	if got, shown := words(); shown || !strings.HasSuffix(got, "reproducible in 50, of which one in half a minute counts") {
		t.Errorf("%q, shown %t", got, shown)
	}
	for range 3 {
		r.Reproduced.See(256, 0.01, 100)
	}
	if got, shown := words(); !shown || !strings.HasSuffix(got, "reproducible in 50") {
		t.Errorf("%q, shown %t", got, shown)
	}
}

// TestWhatBelongsToAnotherRequestIsSo: a difference whose value the monolith gave to
// another request is named so, whether the candidate keeps to it or not, by json and by
// exact; one whose value nobody got is not.
func TestWhatBelongsToAnotherRequestIsSo(t *testing.T) {
	exactly := askedRoute
	exactly.Kind, exactly.LearnNoise = whittle.Exact, false
	next := func(q int) string { return faithful((q+1)%50, 0, simtest.Start, nil) }
	for _, tc := range []struct {
		name      string
		route     whittle.Comparison
		candidate saying
		named     bool
	}{
		{"swapped in 1 of 400", askedRoute, but(seldom400, next), true},
		{"swapped in 1 of 400, exact", exactly, but(seldom400, next), true},
		{"kept by the wrong key", askedRoute, func(q, turn int, now time.Time, r *rand.Rand) string {
			return faithful(q-q%25, turn, now, r)
		}, true},
		{"nobody's", askedRoute, but(seldom400, wrong), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &askedWorld{monolith: faithful, candidate: tc.candidate, Asked: atFirst(5000)}
			_, _, v := a.play(t, tc.route, 1, 20_000)
			if v.State != whittle.Different || strings.Contains(fmt.Sprint(v.Findings), "belongs to another request") != tc.named {
				t.Fatalf("%s: %+v", v.Summary, v.Findings)
			}
		})
	}
}

// TestWhatBelongsToARequestUnderWay: the monolith may respond to the other request only after the
// candidate gave its response away, as with a cache that mixes up requests of one moment.
func TestWhatBelongsToARequestUnderWay(t *testing.T) {
	c := askedRoute
	c.Kind, c.LearnNoise = whittle.Exact, false
	j := judgeOf(t, c)
	of := func(i int, candidate string) *whittle.Exchange {
		x := exchange(fmt.Sprintf("the account of %d", i), candidate)
		x.Request.Target, x.At = fmt.Sprint("/accounts/", i), simtest.Start.Add(time.Duration(i)*time.Minute)
		return x
	}
	for i := range 20 {
		x := of(2*i, fmt.Sprintf("the account of %d", 2*i+1))
		j.Observe(x)
		j.Observe(of(2*i+1, fmt.Sprintf("the account of %d", 2*i+1)))
		right := whittle.Response{Status: 200, Body: x.Monolith.Body}
		r := &whittle.Recheck{Exchange: x}
		for _, more := j.Recheck(r); more; _, more = j.Recheck(r) {
			r.Rounds = append(r.Rounds, whittle.Round{Monolith: right, Candidate: right})
		}
	}
	v := j.Verdict()
	if len(v.Findings) == 0 || v.Findings[0].Asked == nil || v.Findings[0].Asked.AnotherRequest != 20 || !strings.Contains(v.Findings[0].Summary, "belongs to another request in 20") {
		t.Errorf("%+v", v.Findings)
	}
}

// TestAskingAgainIsARepeat holds that a difference that both sides were asked
// about again is not called one that was never repeated to the monolith, unless
// the monolith was seen to change.
func TestAskingAgainIsARepeat(t *testing.T) {
	for _, c := range []struct {
		asked whittle.Asked
		cause string
		want  string
	}{
		{whittle.Asked{Times: 3, Intermittent: 3}, noRepeats, ""},
		{whittle.Asked{Times: 3, Reproducible: 3}, noRepeats + "; a guess: it is cut off", "a guess: it is cut off"},
		{whittle.Asked{Times: 3, Reproducible: 2, Noise: 1}, noRepeats, noRepeats},
		{whittle.Asked{}, noRepeats, noRepeats},
	} {
		r := rechecks{Places: []recheckPlace{{Place: "$.total", Seen: [2]asked{{Asked: c.asked}}}}}
		f := whittle.Finding{Kind: whittle.FoundField, Path: "$.total", Cause: c.cause}
		if r.annotate(&f, 0); f.Cause != c.want {
			t.Errorf("%+v: the cause is %q, want %q", c.asked, f.Cause, c.want)
		}
	}
}

// TestWhoseItIsIsSaidAfterARestart: a judge that was restored says of a value whose it is, as one
// that was not.
func TestWhoseItIsIsSaidAfterARestart(t *testing.T) {
	t.Parallel()
	body := func(i int) string { return fmt.Sprintf(`{"name":"thing number %d"}`, i) }
	for _, restarted := range []bool{false, true} {
		j := judgeOf(t, askedRoute)
		if restarted {
			restore(t, j, j)
		}
		for i := range 60 { // each but the first ones gets what the request before got
			x := exchange(body(i+1), body(i+1))
			if i >= 20 {
				x.Candidate.Body = []byte(body(i))
			}
			x.At, x.Request.Target = simtest.Start.Add(time.Duration(i)*time.Second), fmt.Sprintf("/things/%d", i)
			j.Observe(x)
		}
		if v := j.Verdict(); len(v.Findings) == 0 || !strings.Contains(v.Findings[0].Cause, "to another request before") {
			t.Errorf("restarted %t: %+v", restarted, v.Findings)
		}
	}
}
