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

// TestListsOfNumbersAreWatchedOverARestart: of numbers in a list, whether one comes twice counts
// once it was watched for a minute. What was shown so stays shown after a restart.
func TestListsOfNumbersAreWatchedOverARestart(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	f := formsOf(t, comparetest.FormComparison)
	f.take(noise.Key{Path: "$.v[*]", Way: jsondiff.HowValue}, 0)
	n := 0
	see := func(f *Forms) {
		n++
		a, b := r.IntN(1000), r.IntN(1000)
		x := &whittle.Exchange{At: simtest.Start.Add(time.Duration(n) * 100 * time.Millisecond)}
		x.Monolith.Body = fmt.Appendf(nil, `{"v":[%d,%d]}`, a, 1000+b)
		x.Candidate.Body = fmt.Appendf(nil, `{"v":[%d,%[1]d]}`, a)
		f.See(x, nil, 0.0019, n)
	}
	for n < 900 {
		see(f)
	}
	shown := func(f *Forms) bool { list := f.Findings(); return len(list) > 0 && list[0].Decided }
	if !shown(f) {
		t.Fatalf("not shown before the restart: %+v", f.Findings())
	}
	again := formsOf(t, comparetest.FormComparison)
	if err := again.Restore(f.State(), n); err != nil {
		t.Fatal(err)
	}
	if see(again); !shown(again) {
		t.Errorf("after the restart %+v", again.Findings())
	}
}

// TestRulesAreNamedExactly: a form with spaces around it is refused, since no value is of it.
func TestRulesAreNamedExactly(t *testing.T) {
	t.Parallel()
	c := comparetest.FormComparison
	for name, ok := range map[string]bool{"uuid": true, " uuid": false, "any": true, "any ": false, "": false} {
		c.Forms = []whittle.FieldForm{{Path: "$.id", Form: name}}
		if _, err := New(c); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
