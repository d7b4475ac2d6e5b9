package guard

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/profile"
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
	for _, want := range []string{"prototext.Marshal", "broken", "limit +10 %"} {
		if !strings.Contains(v.Sentence(), want) {
			t.Errorf("%q lacks %q", v.Sentence(), want)
		}
	}
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
		if _, err := Read(strings.NewReader(text)); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%q: %v", text, err)
		}
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
		if _, err := ParseLimit(text); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestARunIsOfItsRequests(t *testing.T) {
	p := &profile.Profile{Functions: []profile.Function{{Name: "own.work"}, {Name: "draw", File: "/srv/a.js"}}, Samples: []profile.Sample{
		{Value: 300, Stack: []profile.Frame{{Function: 0}}}, {Value: 100, Stack: []profile.Frame{{Function: 1}, {Function: 0}}},
	}}
	if _, err := NewRun(p, RunFacts{}); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("no requests: %v", err)
	}
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
		if len(runs) != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%s: %d runs in %d tries, %v", name, len(runs), tried, err)
		}
	}
}
