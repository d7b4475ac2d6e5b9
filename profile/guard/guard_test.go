package guard

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/table"
	"whittle/profile"
	"whittle/whittletest"
)

// runs draws n runs around a cost, with a run's noise as a share of it.
func runs(r *rand.Rand, n int, cost, noise float64) []Run {
	out := make([]Run, n)
	for i := range out {
		c := cost * math.Exp(noise*r.NormFloat64())
		out[i] = Run{Requests: 1000, CPU: c, Functions: map[string]float64{"own.work": 0.9 * c, "fmt.Println": c - cost*0.9}}
	}
	return out
}

// TestRates holds the error rates that Check claims: a service at its limit is
// called broken in at most 2.5 % of checks, one that did not change far less
// often, and one twice as dear always.
func TestRates(t *testing.T) {
	const checks, noise = 4000, 0.05
	r := rand.New(rand.NewPCG(7, 11))
	broken := func(factor float64) (share float64) {
		for range checks {
			base := &Baseline{Runs: runs(r, 5, 1e5, noise)}
			v := Check(base, &Baseline{Runs: runs(r, 5, 1e5*factor, noise)}, 0.10)
			if v.Outcome == Broken {
				share += 1.0 / checks
			}
		}
		return share
	}
	// 2.5 % and three standard errors of 4,000 draws.
	if got := broken(1.10); got > 0.025+3*math.Sqrt(0.025*0.975/checks) {
		t.Errorf("at the limit: called broken in %.2f %%", 100*got)
	}
	if got := broken(1); got > 0.002 {
		t.Errorf("unchanged: called broken in %.2f %%", 100*got)
	}
	if got := broken(1.3); got < 0.95 {
		t.Errorf("30 %% dearer: called broken in %.1f %%", 100*got)
	}
	if got := broken(2); got < 1-1e-9 {
		t.Errorf("twice as dear: called broken in %.2f %%", 100*got)
	}
}

func TestTheVerdictNamesWhoIsToBlame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	base := &Baseline{Service: "api", Runs: runs(r, 5, 1e5, 0.01)}
	dear := runs(r, 5, 1e5, 0.01)
	for i := range dear {
		dear[i].CPU += 9e5
		dear[i].Functions["prototext.Marshal"] = 9e5
	}
	v := Check(base, &Baseline{Runs: dear}, 0.10)
	if v.Outcome != Broken || v.Blame[0].Function != "prototext.Marshal" || whittle.CodeOf(v.Err()) != whittle.FallsShort {
		t.Errorf("verdict %+v", v)
	}
	fatal.Has(t, v.Sentence(), "prototext.Marshal", "broken", "limit +10 %")
	for i := range base.Runs {
		base.Runs[i].Own, dear[i].Own = map[string]float64{"api.get (api.go)": 1e5}, map[string]float64{"api.get (api.go)": 9e5}
	}
	if v := Check(base, &Baseline{Runs: dear}, 0.10); v.Blame[0].Function != "api.get (api.go)" || v.Within[0].Function != "prototext.Marshal" {
		t.Errorf("own functions come first: %+v", v)
	}
	// Short runs of little load: no sample of the baseline's had an own function.
	for i := range base.Runs {
		base.Runs[i].Own = map[string]float64{}
	}
	var kept bytes.Buffer
	fatal.If(t, base.Write(&kept))
	last, err := Read(&kept)
	fatal.If(t, err)
	if v := Check(last, &Baseline{Runs: dear}, 0.10); v.Blame[0].Function != "api.get (api.go)" {
		t.Errorf("own functions come first where the baseline had none: %+v", v)
	}
	if v := Check(base, base, 0.10); v.Outcome != Held || v.Err() != nil {
		t.Errorf("against itself: %+v", v)
	}
	noisy := &Baseline{Runs: runs(r, 2, 1e5, 0.3)}
	if v := Check(noisy, &Baseline{Runs: runs(r, 2, 1e5, 0.3)}, 0.10); v.Outcome != Undecided || v.Err() != nil {
		t.Errorf("two runs of noise: %+v", v)
	}
}

func TestBaselinesComeBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	fatal.If(t, (&Baseline{Service: "api", Runs: runs(r, 3, 1e5, 0.1)}).Write(&b))
	got, err := Read(&b)
	if err != nil || got.Service != "api" || len(got.Runs) != 3 || len(got.Runs[0].Functions) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{
		"", "{}", `{"format":"whittle.profile-guard/1","runs":[{"cpu_ns_per_request":1}]}`,
		`{"format":"whittle.profile-guard/1","runs":[{"cpu_ns_per_request":1},{"cpu_ns_per_request":0}]}`, "[]",
	} {
		_, err := Read(strings.NewReader(text))
		whittletest.Refused(t, err, whittle.Invalid, text)
	}
}

func FuzzBaseline(f *testing.F) {
	f.Add(`{"format":"whittle.profile-guard/1","runs":[{"cpu_ns_per_request":1},{"cpu_ns_per_request":2,"functions":{"a":1}}]}`)
	f.Add(`{"format":"whittle.profile-guard/1","runs":[{"cpu_ns_per_request":1e308,"responses":{"classes":{"2xx":3},"failed":1}},{"cpu_ns_per_request":1e-308,"responses":{"classes":{"5xx":1}}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		b, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		v := Check(b, b, 0.1)
		if v.Outcome == Broken || v.Outcome == Incomparable {
			t.Errorf("against itself: %s", v.Sentence())
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%+v: %v", v, err)
		}
	})
}

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]float64{"+10%": 0.10, "10%": 0.10, "1.1x": 0.10, "+0%": 0, "200%": 2} {
		if got, err := ParseLimit(text); err != nil || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "10", "x", "%", "-5%", "0.9x", "NaN%", "1e9%", "10%x"} {
		_, err := ParseLimit(text)
		whittletest.Refused(t, err, whittle.Invalid, text)
	}
}

func TestARunIsOfItsRequests(t *testing.T) {
	p := &profile.Profile{Functions: []profile.Function{{Name: "own.work"}, {Name: "draw", File: "/srv/a.js"}}, Samples: []profile.Sample{
		{Value: 300, Stack: []profile.Frame{{Function: 0}}}, {Value: 100, Stack: []profile.Frame{{Function: 1}, {Function: 0}}},
	}}
	_, err := NewRun(p, RunFacts{})
	whittletest.Refused(t, err, whittle.FailedPrecondition, "no requests")
	p.Requests = map[string]int64{"": 10}
	r, err := NewRun(p, RunFacts{CPU: 800})
	if r.Own["draw (/srv/a.js)"] != 20 || r.Own["own.work ()"] != 60 {
		t.Errorf("own functions: %v", r.Own)
	}
	if err != nil || r.CPU != 80 || r.Functions["own.work"] != 60 || r.Functions["draw (/srv/a.js)"] != 20 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestEmptyRunsAreTakenAgain, but not for ever.
func TestEmptyRunsAreTakenAgain(t *testing.T) {
	for name, c := range map[string]struct {
		empty []int // of the tries
		want  int   // runs; 0: it fails
	}{
		"none":     {nil, 3},
		"a few":    {[]int{0, 2, 4}, 3},
		"too many": {[]int{0, 1, 3, 5}, 0},
	} {
		tried := 0
		runs, err := Take(3, func(int) (Run, error) {
			tried++
			if slices.Contains(c.empty, tried-1) {
				return NewRun(&profile.Profile{}, RunFacts{})
			}
			return Run{Requests: 1}, nil
		})
		if len(runs) != c.want || (err == nil) != (c.want > 0) || err != nil && (whittle.CodeOf(err) != whittle.FailedPrecondition || tried != 6) {
			t.Errorf("%s: %d runs in %d tries, %v", name, len(runs), tried, err)
		}
	}
}

func withResponses(runs []Run, a *Responses) *Baseline {
	for i := range runs {
		runs[i].Responses = a
	}
	return &Baseline{Runs: runs}
}

func TestResponsesThatAreNotTheBaselines(t *testing.T) {
	good := &Responses{Classes: map[string]int64{"2xx": 200}}
	for name, c := range map[string]struct {
		before, now *Responses
		says        string // "": they may be the same
	}{
		"the same":         {good, good, ""},
		"all fail":         {good, &Responses{Classes: map[string]int64{"5xx": 200}, Failed: 200}, "100 % of the requests failed, 0 % in the baseline"},
		"some fail":        {good, &Responses{Classes: map[string]int64{"2xx": 190, "5xx": 10}, Failed: 10}, "5 % of the requests failed"},
		"one fails":        {good, &Responses{Classes: map[string]int64{"2xx": 199, "5xx": 1}, Failed: 1}, ""},
		"not as expected":  {good, &Responses{Classes: map[string]int64{"2xx": 200}, Failed: 200}, "100 % of the requests failed"},
		"nobody is known":  {good, &Responses{Classes: map[string]int64{"4xx": 200}}, "100 % of the responses are 4xx, 0 % in the baseline"},
		"nothing is there": {good, &Responses{Classes: map[string]int64{None: 200}}, "100 % of the requests had no response"},
		"by chance": {
			&Responses{Classes: map[string]int64{"2xx": 10, "4xx": 10}}, &Responses{Classes: map[string]int64{"2xx": 9, "4xx": 11}}, "",
		},
		"a little of many": {
			&Responses{Classes: map[string]int64{"2xx": 96000, "3xx": 4000}}, &Responses{Classes: map[string]int64{"2xx": 93000, "3xx": 7000}}, "",
		},
		"a baseline of failures, mended": {
			&Responses{Classes: map[string]int64{"5xx": 200}, Failed: 200}, good, "100 % of the responses are 2xx, 0 % in the baseline",
		},
		"an old baseline, and all fail": {nil, &Responses{Classes: map[string]int64{"5xx": 200}, Failed: 200}, "100 % of the requests failed"},
		"an old baseline":               {nil, good, ""},
		"neither knows":                 {nil, nil, ""},
		"nothing is known now":          {good, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 5))
			base, now := withResponses(runs(r, 5, 1e5, 0.01), c.before), withResponses(runs(r, 5, 1e4, 0.01), c.now)
			v := Check(base, now, 0.10)
			if c.says == "" {
				if v.Outcome != Held || v.Reason != "" || v.Err() != nil {
					t.Errorf("%+v", v)
				}
			} else if v.Outcome != Incomparable || !strings.Contains(v.Reason, c.says) || !strings.Contains(v.Sentence(), c.says) || whittle.CodeOf(v.Err()) != whittle.FailedPrecondition {
				t.Errorf("%+v, want %q", v, c.says)
			}
			fatal.Same(t, c.before != nil && c.now != nil, len(v.Warnings) == 0, "warnings %q", v.Warnings)
		})
	}
}

// TestRunsThatSayNothing are none.
func TestRunsThatSayNothing(t *testing.T) {
	p := &profile.Profile{Requests: map[string]int64{"": 10}}
	_, err := NewRun(p, RunFacts{})
	whittletest.Refused(t, err, whittle.FailedPrecondition, "", "no CPU time")
	_, err = NewRun(p, RunFacts{CPU: 5, Void: "the generator was late"})
	whittletest.Refused(t, err, whittle.FailedPrecondition, "a void load", "the generator was late")
}

func TestWhatTheBaselineIsOf(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	base := withResponses(runs(r, 3, 1e5, 0.01), &Responses{Classes: map[string]int64{"2xx": 9}})
	base.Service, base.Machine = "api", table.Machine{Cores: 2, CPU: "slow", OS: "linux", Arch: "amd64", Kernel: "6.1"}
	now := *base
	now.Machine.Kernel = "6.2"
	if v := Check(base, &now, 0.10); len(v.Warnings) != 0 {
		t.Errorf("the same: %q", v.Warnings)
	}
	now.Service, now.Machine.Cores = "cache", 8
	v := Check(base, &now, 0.10)
	if v.Outcome != Held || len(v.Warnings) != 2 || !strings.Contains(v.Warnings[0], `the baseline is of "api", and this is "cache"`) || !strings.Contains(v.Warnings[1], "2 cores of slow") {
		t.Errorf("%+v", v)
	}
}

// TestVerdictsAreJSON, also of costs that have nothing in common.
func TestVerdictsAreJSON(t *testing.T) {
	odd := []Run{{CPU: 1e308}, {CPU: 1e-308}, {CPU: 1e-308}}
	same := []Run{{CPU: 1e308}, {CPU: 1e308}}
	tiny := []Run{{CPU: 1e-308}, {CPU: 1e-300}}
	for _, c := range [][2][]Run{{odd, tiny}, {tiny, odd}, {same, tiny}, {tiny, same}, {odd, odd}} {
		v := Check(&Baseline{Runs: c[0]}, &Baseline{Runs: c[1]}, 0.10)
		b, err := json.Marshal(v)
		if err != nil || math.IsNaN(v.Ratio) {
			t.Errorf("%+v: %v", v, err)
		}
		if s := v.Sentence(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
			t.Errorf("%s of %s", s, b)
		}
	}
}

func TestBaselinesWithoutResponses(t *testing.T) {
	text := `{"format":"whittle.profile-guard/1","service":"api","taken_at":"2025-01-01T00:00:00Z",
		"machine":{"cores":2,"cpu":"x","go":"go1.25","os":"linux","arch":"amd64","kernel":"6","memory_mib":1},
		"runs":[{"requests":5,"cpu_ns_per_request":1,"functions":{}},{"requests":5,"cpu_ns_per_request":2,"functions":{}}]}`
	b, err := Read(strings.NewReader(text))
	if err != nil || b.Machine.Cores != 2 || b.Runs[0].Responses != nil {
		t.Errorf("%+v, %v", b, err)
	}
	if _, known := b.Failed(); known {
		t.Error("it knows what was returned")
	}
	for _, spoilt := range []string{`{"classes":{"2xx":-1}}`, `{"classes":{},"failed":-1}`} {
		text := strings.Replace(text, `"functions":{}`, `"functions":{},"responses":`+spoilt, 1)
		_, err := Read(strings.NewReader(text))
		whittletest.Refused(t, err, whittle.Invalid, spoilt)
	}
}

func TestTheVerdictForCISystems(t *testing.T) {
	for name, c := range map[string]struct {
		verdict        Verdict
		failures       int
		junit, command string
	}{
		"broken": {
			Verdict{Outcome: Broken, Ratio: 3, Low: 2.5, High: 3.5, Limit: 0.1, Before: 1e6, After: 3e6, Blame: []Blame{{Function: "main.<work>", Before: 1e6, After: 3e6}}},
			1, "main.<work>, with what it asks for: 1000.0 µs a request before, 3000.0 µs now",
			"::error title=CPU per request of shop%3A1%2C2::" +
				"CPU per request 3 ms, 1 ms in the baseline: 3 times as much (2.5 times as much to 3.5 times as much, 95 %25), limit +10 %25: broken. " +
				"To blame first: main.<work>, 3 ms a request where it was 1 ms.%0Amain.<work>",
		},
		"incomparable": {Verdict{Outcome: Incomparable, Reason: "all failed"}, 1, "", "::error title=CPU per request of shop%3A1%2C2::The runs cannot be held against the baseline: all failed."},
		"held":         {Verdict{Outcome: Held, Ratio: 1, Low: 0.9, High: 1.1, Warnings: []string{"another machine"}}, 0, "note: another machine", "::warning title="},
		"undecided":    {Verdict{Outcome: Undecided, Ratio: 1, Low: 0.9, High: 1.1}, 0, "More or longer runs would decide it", "::notice title="},
	} {
		var x, command bytes.Buffer
		fatal.If(t, c.verdict.WriteJUnit(&x, "shop:1,2"))
		fatal.If(t, c.verdict.WriteGitHub(&command, "shop:1,2"))
		var read junit
		if err := xml.Unmarshal(x.Bytes(), &read); err != nil {
			t.Fatalf("%s: %v in %s", name, err, x.Bytes())
		}
		text := read.Case.Out
		if read.Case.Failure != nil {
			text = read.Case.Failure.Message + read.Case.Failure.Text
		}
		if read.Tests != 1 || read.Failures != c.failures || (read.Case.Failure != nil) != (c.failures == 1) || !strings.Contains(text, c.junit) {
			t.Errorf("%s: %s", name, x.Bytes())
		}
		if got := command.String(); !strings.HasPrefix(got, c.command) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q, want %q first", name, got, c.command)
		}
	}
}
