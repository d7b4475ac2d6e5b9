package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/config"
	"whittle/cmdline"
	"whittle/internal/child"
	"whittle/load"
	"whittle/load/plan"
)

// A flaw counts as named by its own finding alone: not by another flaw's, not by a
// suspicion, and not by one that gives no cause where the flaw has one.
func TestAFlawIsNamedByItsOwnFinding(t *testing.T) {
	remainder := whittle.Finding{Kind: whittle.FoundWrongValue, Cause: "fits request.times rounded down to a multiple of 100,000 in 24 of 24: a remainder was dropped", Decided: true}
	for _, tc := range []struct {
		name    string
		finding whittle.Finding
		want    []string
	}{
		{"mean", whittle.Finding{Kind: whittle.FoundMean, Decided: true}, []string{publishedFlaws[0].name}},
		{"a suspected mean", whittle.Finding{Kind: whittle.FoundMean}, nil},
		{"distribution alone", whittle.Finding{Kind: whittle.FoundDistribution, Decided: true}, nil},
		{"spread alone", whittle.Finding{Kind: whittle.FoundSpread, Decided: true}, nil},
		{"remainder", remainder, []string{publishedFlaws[1].name}},
		{"a declared remainder", whittle.Finding{Kind: remainder.Kind, Cause: remainder.Cause, Decided: true, Expected: "known"}, nil},
		{"wrap", whittle.Finding{Kind: whittle.FoundWrongValue, Cause: "adding 4,294,967,296, or a multiple of it, makes 3 of 3 fit: a 32-bit total wrapped", Decided: true}, []string{publishedFlaws[2].name}},
		{"a wrong value without a cause", whittle.Finding{Kind: whittle.FoundWrongValue, Decided: true}, nil},
		{"seed", whittle.Finding{Kind: whittle.FoundRepeats, Decided: true}, []string{publishedFlaws[3].name}},
	} {
		got := slices.Collect(maps.Keys(namedFlaws(&whittle.Verdict{Findings: []whittle.Finding{tc.finding}})))
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s names %q, want %q", tc.name, got, tc.want)
		}
	}
	for _, tc := range []struct {
		flaw    *flaw
		finding whittle.Finding
		want    bool
	}{
		{&swapped, whittle.Finding{Kind: whittle.FoundBody, Cause: "the monolith gave this to another request in the last minutes", Decided: true}, true},
		{&swapped, whittle.Finding{Kind: whittle.FoundBody, Decided: true}, false},
		{&swapped, whittle.Finding{Kind: whittle.FoundHeader, Decided: true}, false},
		{&askedFirst, whittle.Finding{Kind: whittle.FoundBody, Order: whittle.AskedFirst, Decided: true}, true},
		{&askedFirst, whittle.Finding{Kind: whittle.FoundBody, Decided: true}, false},
	} {
		if got := tc.flaw.finding(&whittle.Verdict{Findings: []whittle.Finding{tc.finding}}) != nil; got != tc.want {
			t.Errorf("%+v names %q: %t, want %t", tc.finding, tc.flaw.name, got, tc.want)
		}
	}
}

// A killed service is rolled back because its requests fail.
func TestAKilledServiceIsRolledBackForThat(t *testing.T) {
	for reason, want := range map[string]bool{
		"The breaker tripped: 5 bad responses in a row.":                 true,
		"The errors guard was breached: 40 % of its responses were bad.": true,
		"The p99 guard was breached: 3 times as slow.":                   false,
		"The verdict is DIFFERENT after 3,773 exchanges: failure shown; an equal candidate is called so at most once in 100 rollouts; the monolith serves everything again.":       true,
		"The verdict is DIFFERENT after 3,773 exchanges: mean, failure shown; an equal candidate is called so at most once in 100 rollouts; the monolith serves everything again.": false,
		"The verdict is DIFFERENT: mean shown after 300 exchanges.":     false,
		"rolled back by the test: it was broken while breakers tripped": false,
	} {
		if err := killed(reason); (err == nil) != want {
			t.Errorf("%q: %v", reason, err)
		}
	}
}

// Evidence begins at 0 only where nothing is known of the candidate: neither from
// mirrored requests nor from users.
func TestEvidenceBeginsAtZero(t *testing.T) {
	for _, tc := range []struct {
		r    whittle.RouteStatus
		want bool
	}{
		{whittle.RouteStatus{}, true},
		{whittle.RouteStatus{Verdict: whittle.Verdict{Compared: 1}}, false},
		{whittle.RouteStatus{Verdict: whittle.Verdict{Findings: make([]whittle.Finding, 1)}}, false},
		{whittle.RouteStatus{Harm: whittle.Harm{Compared: 1}}, false},
		{whittle.RouteStatus{Harm: whittle.Harm{Users: 1}}, false},
	} {
		if got := atZero(&tc.r); got != tc.want {
			t.Errorf("%+v: %t", tc.r, got)
		}
	}
}

// Each step is said once with the budget, and once with what the next one waits
// for, as soon as that has a rate.
func TestTheBudgetIsSaidAtEachStep(t *testing.T) {
	var out strings.Builder
	var block rolloutBlock
	c := climber{screen: cmdline.NewScreen(cmdline.Streams{Out: &out}), block: &block, to: 25}
	for _, r := range []whittle.RouteStatus{
		{Harm: whittle.Harm{Budget: 0.03}},
		{Percent: 1, Harm: whittle.Harm{Budget: 0.03, Bound: 1, Spent: 0.01, Needed: 7, Minutes: -1}, Next: "without a rate"},
		{Percent: 1, Harm: whittle.Harm{Budget: 0.03, Bound: 1, Spent: 0.01, Needed: 7, Minutes: 0.1}, Next: "7 more"},
		{Percent: 1, Harm: whittle.Harm{Budget: 0.03, Bound: 0.5, Spent: 0.005}, Next: "now"},
		{Percent: 5, Harm: whittle.Harm{Budget: 0.03, Bound: 0.5, Spent: 0.025, Compared: 8}, Next: "in 1s"},
		{Percent: 25, Harm: whittle.Harm{Budget: 0.03, Bound: 0.1, Spent: 0.025, Compared: 40}, Next: "unsaid"},
	} {
		c.see(&r)
	}
	want := `  1 % of the users; of the harm budget of 3 % at most 1 % is spent, by 0 compared responses to users
    next: 7 more
  5 % of the users; of the harm budget of 3 % at most 2.5 % is spent, by 8 compared responses to users
    next: in 1s
  25 % of the users; of the harm budget of 3 % at most 2.5 % is spent, by 40 compared responses to users
`
	if out.String() != want {
		t.Errorf("said\n%s", out.String())
	}
	if !slices.Equal(block.Shares, []float64{1, 5, 25}) || len(block.Harm) != 3 || block.Harm[0].Waits != "7 more" {
		t.Errorf("%+v", block)
	}
}

// The export's config and plan are ones that whittle reads, with the shipped harm
// budget.
func TestTheExportOfTheDemo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whittle.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, exportConfig, "127.0.0.1:1", "export"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if r := &c.Routes[0]; r.Name != exportRoute || r.Rollout.Harm != 0.005 {
		t.Errorf("%q with a budget of %g", r.Name, r.Rollout.Harm)
	}
	if _, err := load.Parse("export.yml", exportUsersPlan(), plan.Source{}); err != nil {
		t.Error(err)
	}
}

// A config that cannot be written leaves the one before it in place.
func TestAConfigIsWrittenWholeOrNotAtAll(t *testing.T) {
	at := func(host string) *process { return &process{Process: &child.Process{Public: host}, name: host} }
	work := t.TempDir()
	d := &fleetDemo{counting: counting{stage: &stage{work: work}, monolith: at("monolith:1")}}
	m := &member{name: "gateway-1"}
	if err := d.configure(m, at("candidate:1")); err != nil {
		t.Fatal(err)
	}
	path := d.configOf(m)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/no/such/folder/config", path+".next"); err != nil { // it cannot be written, and could be renamed
		t.Fatal(err)
	}
	if err := d.configure(m, at("candidate:2")); whittle.CodeOf(err) != whittle.Unavailable {
		t.Errorf("what cannot be written: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the config before is another one now: %v\n%s", err, after)
	}
}
