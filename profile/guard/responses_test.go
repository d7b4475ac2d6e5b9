package guard

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/table"
	"whittle/profile"
)

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
			if known := c.before != nil && c.now != nil; known != (len(v.Warnings) == 0) {
				t.Errorf("warnings %q", v.Warnings)
			}
		})
	}
}

// TestRunsThatSayNothing are none.
func TestRunsThatSayNothing(t *testing.T) {
	p := &profile.Profile{Requests: map[string]int64{"": 10}}
	if _, err := NewRun(p, RunFacts{}); whittle.CodeOf(err) != whittle.FailedPrecondition || !strings.Contains(err.Error(), "no CPU time") {
		t.Errorf("no CPU time: %v", err)
	}
	if _, err := NewRun(p, RunFacts{CPU: 5, Void: "the generator was late"}); whittle.CodeOf(err) != whittle.FailedPrecondition || !strings.Contains(err.Error(), "the generator was late") {
		t.Errorf("a void load: %v", err)
	}
	tried := 0
	got, err := Take(2, func(int) (Run, error) {
		tried++
		return NewRun(p, RunFacts{})
	})
	if len(got) != 0 || tried != maxUnusable+1 || whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("%d runs in %d tries, %v", len(got), tried, err)
	}
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
		if _, err := Read(strings.NewReader(text)); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%s: %v", spoilt, err)
		}
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
