package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
)

// countRoute is the comparison of the count system.
func countRoute() whittle.Comparison {
	return whittle.Comparison{
		Kind: whittle.Statistical, Value: "number in the body", Per: "request.times",
		Confidence: 0.99, MinCompared: 300,
		Margin: whittle.Margin{Mean: 0.005, Spread: 1.25, Distribution: 0.1},
	}
}

var plainText = whittle.Header{"Content-Type": {"text/html; charset=utf-8"}}

func counted(v float64) whittle.Response {
	return whittle.Response{Status: 200, Header: plainText, Body: written(nil, "Counted to ", v, " \n")}
}

func countExchange(i int, times, a, b float64) *whittle.Exchange {
	return (&counts{}).exchange(i, times, a, b)
}

// counts makes exchanges of the count system one after the other in one memory, for
// simulations: a judge keeps nothing of an exchange.
type counts struct{ x whittle.Exchange }

func (c *counts) exchange(i int, times, a, b float64) *whittle.Exchange {
	x := &c.x
	*x = whittle.Exchange{
		Route: "POST /Count", At: time.Unix(comparetest.SecondOf(i), 0),
		Request: whittle.Request{
			Method: "POST", Target: "/Count", Body: written(x.Request.Body, `{"times":`, times, `}`),
		},
		Monolith:  whittle.Response{Status: 200, Header: plainText, Body: written(x.Monolith.Body, "Counted to ", a, " \n")},
		Candidate: whittle.Response{Status: 200, Header: plainText, Body: written(x.Candidate.Body, "Counted to ", b, " \n")},
	}
	return x
}

// written puts a number without decimals between two texts, in the memory of b.
func written(b []byte, before string, v float64, after string) []byte {
	b = append(b[:0], before...)
	return append(strconv.AppendFloat(b, v, 'f', 0, 64), after...)
}

func judgeOf(t testing.TB, c whittle.Comparison) *Judge {
	t.Helper()
	j, err := NewJudge(c)
	fatal.If(t, err)
	return j
}

// stateOf is what a judge keeps.
func stateOf(t testing.TB, j *Judge) []byte {
	t.Helper()
	kept, err := j.MarshalBinary()
	fatal.If(t, err)
	return kept
}

// restore puts away what a judge knows, and restores it in another one or the same.
func restore(t testing.TB, from, to *Judge) {
	t.Helper()
	fatal.If(t, to.UnmarshalBinary(stateOf(t, from)))
}

// drive takes n exchanges of the mixed load to a judge.
func drive(j *Judge, seed uint64, n int, f comparetest.Flaws, change func(i int, x *whittle.Exchange)) {
	r := rand.New(rand.NewPCG(seed, 21))
	var c counts
	for i := range n {
		times := comparetest.DrawTimes(r, i)
		x := c.exchange(i, times, comparetest.MonolithCount(r, times), f.CandidateCount(r, times, comparetest.SecondOf(i)))
		if change != nil {
			change(i, x)
		}
		j.Observe(x)
	}
}

func findingsOf(v *whittle.Verdict, kind whittle.FindingKind) []whittle.Finding {
	var list []whittle.Finding
	for _, f := range v.Findings {
		if f.Kind == kind {
			list = append(list, f)
		}
	}
	return list
}

func TestThePublishedServiceIsRefusedWithItsReasons(t *testing.T) {
	j := judgeOf(t, countRoute())
	drive(j, 3, 300, comparetest.Flaws{Mean: true, Remainder: true, Wrap: true, Seed: true}, nil)
	v := j.Verdict()
	if v.State != whittle.Different || v.MoreNeeded != 0 || v.Compared != 300 {
		t.Fatalf("verdict %+v", v)
	}
	for _, c := range []struct {
		kind        whittle.FindingKind
		path, cause string
	}{
		{whittle.FoundWrongValue, "request.times = 150,000, 250,000", "multiple of 100,000"},
		{whittle.FoundWrongValue, "request.times ≥ 60,000,000", "4,294,967,296"},
		{whittle.FoundMean, "", ""},
		{whittle.FoundRepeats, "", "seeded with the time"},
	} {
		found := false
		for _, f := range findingsOf(&v, c.kind) {
			found = found || f.Decided && f.Path == c.path && strings.Contains(f.Cause, c.cause) &&
				f.Summary != "" && f.DecidedAt > 0 && f.DecidedAt <= 300 && len(f.Samples) > 0
		}
		if !found {
			t.Errorf("no decided %s at %q by %q in %+v", c.kind, c.path, c.cause, v.Findings)
		}
	}
}

// A constant difference of status must be shown quickly.
func TestAConstantStatus(t *testing.T) {
	j := judgeOf(t, countRoute())
	drive(j, 1, 20, comparetest.Flaws{}, func(_ int, x *whittle.Exchange) { x.Candidate.Status = 404 })
	v := j.Verdict()
	f := findingsOf(&v, whittle.FoundStatus)
	if v.State != whittle.Different || len(f) != 1 || !f[0].Decided || f[0].DecidedAt > 18 ||
		f[0].Monolith != "200" || f[0].Candidate != "404" || f[0].Count != 20 || len(f[0].Samples) == 0 {
		t.Errorf("a constant 404: %s %+v", v.Summary, f)
	}
}

// TestFailures: what the candidate alone does is shown. What the monolith does as often, or with
// itself, raises no alarm, and a monolith that alone fails shows nothing against the candidate.
func TestFailures(t *testing.T) {
	down := whittle.Response{Failure: whittle.FailedTimeout}
	busy := func(a *whittle.Response) { a.Body = []byte("busy") }
	fails := func(a *whittle.Response) { *a = down }
	// inTurn has one side do so in every third exchange, and the other one in the next.
	inTurn := func(do func(a *whittle.Response)) func(i int, x *whittle.Exchange) {
		return func(i int, x *whittle.Exchange) {
			switch i % 3 {
			case 0:
				do(&x.Monolith)
			case 1:
				do(&x.Candidate)
			}
		}
	}
	r := rand.New(rand.NewPCG(8, 8))
	for name, c := range map[string]struct {
		n      int
		change func(i int, x *whittle.Exchange)
		word   whittle.State
		kind   whittle.FindingKind // of the one finding; empty: any
	}{
		"no response":           {30, func(_ int, x *whittle.Exchange) { x.Candidate = down }, whittle.Different, whittle.FoundFailure},
		"no number":             {30, func(_ int, x *whittle.Exchange) { x.Candidate.Body = []byte("{}") }, whittle.Different, whittle.FoundUnreadable},
		"both unreadable alike": {400, inTurn(busy), whittle.Undecided, ""},
		"both fail alike":       {400, inTurn(fails), whittle.Undecided, ""},
		"the monolith fails": {400, func(i int, x *whittle.Exchange) {
			if i%2 == 0 {
				x.Monolith = down
			}
		}, whittle.Undecided, ""},
		"both flap alike": {3_000, func(_ int, x *whittle.Exchange) {
			for _, a := range []*whittle.Response{&x.Monolith, &x.Candidate} {
				a.Status = either(r.IntN(10) == 0, 503, 200)
			}
		}, whittle.Undecided, ""},
		"1 of 1,000, with 1 of 200 allowed": {5_000, func(i int, x *whittle.Exchange) {
			x.Candidate.Status = either(i%1_000 == 999, 503, 200)
		}, whittle.Equivalent, whittle.FoundStatus},
		// The second call of each pair meets what the first has done: a 409 from the
		// candidate says nothing if the monolith's own second response is one too.
		"a monolith that differs from itself": {100, func(i int, x *whittle.Exchange) {
			x.Candidate.Status = 409
			if i%5 == 0 {
				x.Repeat = new(x.Candidate)
			}
		}, whittle.Undecided, ""},
	} {
		j := judgeOf(t, countRoute())
		drive(j, 1, c.n, comparetest.Flaws{}, c.change)
		v := j.Verdict()
		f := findingsOf(&v, c.kind)
		if v.State != c.word || c.kind != "" && (len(f) != 1 || f[0].Summary == "" || v.State == whittle.Different && f[0].Count != c.n) {
			t.Errorf("%s: %s %+v", name, v.Summary, f)
		}
	}
}

func TestWhatIsNotCompared(t *testing.T) {
	j := judgeOf(t, countRoute())
	for _, c := range []struct {
		name   string
		change func(x *whittle.Exchange)
		want   Observation
	}{
		{"monolith down", func(x *whittle.Exchange) { x.Monolith = whittle.Response{Failure: whittle.FailedConnect} }, Observation{Skip: whittle.SkipMonolith}},
		{"client gone", func(x *whittle.Exchange) { x.Candidate = whittle.Response{Failure: whittle.FailedCanceled} }, Observation{Skip: whittle.SkipCanceled}},
		{"cut off", func(x *whittle.Exchange) { x.Monolith.Truncated = true }, Observation{Skip: whittle.SkipTooLarge}},
		{"outside the contract", func(x *whittle.Exchange) { x.Request.Body = []byte("times") }, Observation{Skip: whittle.SkipUntranslated}},
		{"plain", func(*whittle.Exchange) {}, Observation{}},
		{"candidate down", func(x *whittle.Exchange) { x.Candidate = whittle.Response{Failure: whittle.FailedReset} }, Observation{Differs: true}},
		{"candidate 500", func(x *whittle.Exchange) { x.Candidate.Status = 500 }, Observation{Differs: true, Ask: true}},
		{"candidate 500, with fallback", func(x *whittle.Exchange) {
			x.Candidate = whittle.Response{Status: 500, Truncated: true}
		}, Observation{Differs: true, Ask: true}},
		{"both 500, with fallback", func(x *whittle.Exchange) {
			x.Monolith.Status, x.Candidate = 500, whittle.Response{Status: 500, Truncated: true}
		}, Observation{Skip: whittle.SkipTooLarge}},
	} {
		x := countExchange(1, 1_000, 50_000, 50_100)
		c.change(x)
		fatal.Same(t, j.Observe(x), c.want, "%s", c.name)
	}
	if v := j.Verdict(); v.Compared != 3 {
		t.Errorf("compared %d, want 3", v.Compared)
	}
}

// `times` of 0 or less has a fixed response, which is compared as it is.
func TestRequestsWithoutASize(t *testing.T) {
	same, other := judgeOf(t, countRoute()), judgeOf(t, countRoute())
	for i := range 40 {
		same.Observe(countExchange(i, -5, 0, 0))
		other.Observe(countExchange(i, -5, 0, 7))
	}
	if v := same.Verdict(); v.State == whittle.Different || len(v.Findings) != 0 {
		t.Errorf("the same fixed response: %s %+v", v.Summary, v.Findings)
	}
	if v := other.Verdict(); v.State != whittle.Different || len(findingsOf(&v, whittle.FoundWrongValue)) == 0 {
		t.Errorf("another fixed response: %s %+v", v.Summary, v.Findings)
	}
}

func TestDeclaredDifferencesStayVisible(t *testing.T) {
	c := countRoute()
	c.Expect = []whittle.Expectation{
		{Kind: whittle.FoundStatus, From: "200", To: "400", Reason: "negative times are refused now"},
		{Kind: whittle.FoundMean, Reason: "draws 0 to 99"},
		{Kind: whittle.FoundDistribution},
	}
	j := judgeOf(t, c)
	drive(j, 1, 600, comparetest.Flaws{Mean: true}, func(i int, x *whittle.Exchange) {
		if i%4 == 0 {
			x.Candidate.Status = 400
		}
	})
	v := j.Verdict()
	if v.State == whittle.Different {
		t.Errorf("verdict %s", v.Summary)
	}
	for kind, reason := range map[whittle.FindingKind]string{
		whittle.FoundStatus: "negative times are refused now", whittle.FoundMean: "draws 0 to 99",
		whittle.FoundDistribution: "declared in the config",
	} {
		if f := findingsOf(&v, kind); len(f) != 1 || f[0].Expected != reason {
			t.Errorf("%s: %+v", kind, f)
		}
	}
	for status, want := range map[int]bool{400: false, 404: true} {
		x := countExchange(1, 1_000, 5e4, 5e4)
		x.Candidate.Status = status
		fatal.Same(t, j.Observe(x).Differs, want, "status %d, of which 400 is declared: differs", status)
	}
}

// Seconds in which something was compared are counted once each, in either order of
// asking, and outlast a restart; what was not compared is none.
func TestSecondsAreCountedOnce(t *testing.T) {
	c := whittle.Comparison{Kind: whittle.Exact}
	j, again := judgeOf(t, c), judgeOf(t, c)
	same := whittle.Response{Status: 200, Body: []byte("a")}
	for i, ms := range []int64{0, 400, 900, 1000, 5000, 4000, 5100, 9000} {
		at := time.Duration(ms) * time.Millisecond
		x := &whittle.Exchange{At: simtest.Start.Add(at), Monolith: same, Candidate: same}
		switch i {
		case 4:
			x.Served = whittle.Candidate
		case 7:
			x.Monolith.Failure = whittle.FailedCanceled
		}
		j.Observe(x)
	}
	restore(t, j, again)
	if a, b := j.Served().Seconds, again.Served().Seconds; a != 3 || b != 3 {
		t.Errorf("%d seconds, %d after a restart", a, b)
	}
}

// A judge that is kept and restored in the middle goes on as if nothing had
// happened, and its state stays small.
func TestAJudgeGoesOnAfterARestart(t *testing.T) {
	for _, f := range []comparetest.Flaws{{}, {Mean: true, Remainder: true, Wrap: true, Seed: true}} {
		whole, first := judgeOf(t, countRoute()), judgeOf(t, countRoute())
		drive(whole, 1, 500, f, nil)
		drive(whole, 2, 500, f, nil)
		drive(first, 1, 500, f, nil)
		if n := len(stateOf(t, first)); n > 128<<10 {
			t.Fatalf("kept %d bytes", n)
		}
		second := judgeOf(t, countRoute())
		restore(t, first, second)
		drive(second, 2, 500, f, nil)
		if a, b := whole.Verdict(), second.Verdict(); !reflect.DeepEqual(a, b) {
			t.Errorf("%+v: without a restart\n%+v\nwith one\n%+v", f, a, b)
		}
	}
}

// The state is bounded whatever comes: huge bodies, ever new shapes and sizes.
func TestTheStateIsBounded(t *testing.T) {
	t.Parallel()
	c := countRoute()
	for i := range whittle.MaxHeaders {
		c.Headers = append(c.Headers, fmt.Sprintf("X-%d", i))
	}
	j := judgeOf(t, c)
	long := strings.Repeat("\x00é", 1_500)
	drive(j, 1, 6_000, comparetest.Flaws{Mean: true, Remainder: true, Wrap: true}, func(i int, x *whittle.Exchange) {
		x.Request.Target = fmt.Sprintf("/Count/%s?%s%d=%s", long, strings.Repeat("q", i%97), i, long)
		x.Request.Body = fmt.Appendf(nil, `{"times":%d,"%s%d":"%s"}`, 100+i*2_003, strings.Repeat("k", i%89), i, long)
		x.Monolith.Body = append(x.Monolith.Body, long...)
		x.Candidate.Body = append(x.Candidate.Body, long...)
		x.Candidate.Header = maps.Clone(x.Candidate.Header)
		if i < 1_500 { // by when headers have taken all the room they get
			for k, name := range c.Headers {
				x.Candidate.Header[name] = []string{fmt.Sprintf("%d%s", i*k, long)}
			}
		}
		switch i % 11 {
		case 1:
			x.Candidate.Status = 400 + i%97
		case 2:
			x.Candidate.Header = whittle.Header{"Content-Type": {fmt.Sprintf("x/%s%d", long, i)}}
		case 3:
			x.Candidate.Body = []byte(long)
		}
	})
	if n := len(stateOf(t, j)); n >= 1<<20 {
		t.Errorf("the state has %d bytes", n)
	}
	v := j.Verdict()
	for _, f := range v.Findings {
		for _, s := range f.Samples {
			if len(s.Request) > 310 || len(s.Monolith) > 310 || len(s.Candidate) > 310 {
				t.Errorf("a sample is too long: %d %d %d", len(s.Request), len(s.Monolith), len(s.Candidate))
			}
		}
	}
	if b, err := json.Marshal(v); err != nil || len(b) > 256<<10 {
		t.Errorf("the verdict has %d bytes of JSON, %v", len(b), err)
	}
}

func FuzzUnmarshalJudge(f *testing.F) {
	for _, c := range []comparetest.Flaws{{}, {Mean: true, Remainder: true, Wrap: true, Seed: true}} {
		j := judgeOf(f, countRoute())
		drive(j, 1, 200, c, nil)
		kept := stateOf(f, j)
		f.Add(kept)
		f.Add(kept[:len(kept)/2])
	}
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		j := judgeOf(t, countRoute())
		if j.UnmarshalBinary(b) != nil {
			return
		}
		drive(j, 7, 50, comparetest.Flaws{Remainder: true}, nil)
		v := j.Verdict()
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("a restored judge's verdict is no JSON: %v", err)
		}
	})
}

// Whatever numbers a side writes, the state can be kept and the verdict shown.
func TestAbsurdNumbers(t *testing.T) {
	numbers := []string{
		"0", "1", "-1", "1e308", "-1.7976931348623157e308", "5e-324", "1e60", "1e-60", "9223372036854775807", "0.1", "1e154",
	}
	r := rand.New(rand.NewPCG(1, 51))
	pick := func() string { return numbers[r.IntN(len(numbers))] }
	for _, narrow := range []bool{false, true} {
		j := judgeOf(t, countRoute())
		for i := range 3_000 {
			x := countExchange(i, 1, 0, 0)
			x.Request.Body = []byte(`{"times":` + pick() + `}`)
			x.Monolith.Body, x.Candidate.Body = []byte(pick()), []byte(pick())
			if narrow {
				x.Monolith.Body = []byte("5")
			}
			j.Observe(x)
			if i%100 != 0 {
				continue
			}
			if _, err := json.Marshal(j.Verdict()); err != nil {
				t.Fatalf("after %d: %v", i, err)
			}
			restore(t, j, judgeOf(t, countRoute()))
		}
	}
}

func FuzzObserve(f *testing.F) {
	f.Add([]byte(`{"times":1000}`), []byte("Counted to 5 \n"), []byte("Counted to 1e300 \n"), 200, 200)
	f.Add([]byte(`{"times":-5e-324}`), []byte("{}"), []byte("-0"), 200, 500)
	f.Fuzz(func(t *testing.T, request, monolith, candidate []byte, a, b int) {
		j := judgeOf(t, countRoute())
		drive(j, 1, 20, comparetest.Flaws{}, nil)
		for i := range 12 {
			x := countExchange(i, 1, 0, 0)
			x.Request.Body, x.Monolith.Body, x.Candidate.Body = request, monolith, candidate
			x.Monolith.Status, x.Candidate.Status = a, b
			j.Observe(x)
		}
		if _, err := json.Marshal(j.Verdict()); err != nil {
			t.Error(err)
		}
		restore(t, j, judgeOf(t, countRoute()))
	})
}

func TestGarbageIsNoState(t *testing.T) {
	j := judgeOf(t, countRoute())
	drive(j, 1, 50, comparetest.Flaws{}, nil)
	kept := stateOf(t, j)
	for name, b := range map[string][]byte{
		"nothing": nil, "no JSON": []byte("x"), "empty": []byte("{}"), "half": kept[:len(kept)/2],
	} {
		if err := judgeOf(t, countRoute()).UnmarshalBinary(b); err == nil {
			t.Errorf("%s: restored", name)
		}
	}
}

func TestMain(m *testing.M) { simtest.Main(m) }
