package form

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
	"whittle/internal/simtest"
)

func TestDurations(t *testing.T) {
	for _, s := range []string{"1m30s", "14m30.5s", "PT14M30S", "250ms"} {
		if _, ok := durationOf([]byte(s)); !ok {
			t.Errorf("%s is none", s)
		}
	}
	for _, s := range []string{"", "14", "m", "a1b2c3", "12 apples", "1.2.3", "ord_12", "P", "3x"} {
		if _, ok := durationOf([]byte(s)); ok {
			t.Errorf("%s is one", s)
		}
	}
}

// findingOf plays 300 exchanges of what two sides say at a place.
func findingOf(t *testing.T, say func(r *rand.Rand, side int, at time.Duration) string) (found whittle.Finding) {
	t.Helper()
	r := rand.New(rand.NewPCG(9, 9))
	f := formsOf(t, comparetest.FormComparison)
	f.take(noise.Key{Path: "$.v", Way: jsondiff.HowValue}, 0)
	for n := 1; n <= 300; n++ {
		at := time.Duration(n) * 100 * time.Millisecond
		x := &whittle.Exchange{At: simtest.Start.Add(at)}
		x.Monolith.Body = fmt.Appendf(nil, `{"v":%q}`, say(r, 0, at))
		x.Candidate.Body = fmt.Appendf(nil, `{"v":%q}`, say(r, 1, at))
		f.See(x, nil, 0.0019, n)
	}
	for _, found := range f.Findings() {
		if found.Decided {
			return found
		}
	}
	return found
}

// TestSizesOfWhatIsPaddedOrGrows: digits with zeros before them are all of one length, so
// that a candidate without the zeros is found; how long something has run, in words, is
// another text on a server that was started before.
func TestSizesOfWhatIsPaddedOrGrows(t *testing.T) {
	code := func(wrong string) func(*rand.Rand, int, time.Duration) string {
		return func(r *rand.Rand, side int, _ time.Duration) string {
			return fmt.Sprintf([]string{"%06d", wrong}[side], r.IntN(1_000_000))
		}
	}
	if found := findingOf(t, code("%d")); !found.Decided {
		t.Error("lost zeros are not found")
	}
	if found := findingOf(t, code("%06d")); found.Decided {
		t.Errorf("the same: %s", found.Summary)
	}
	if found := findingOf(t, func(_ *rand.Rand, side int, at time.Duration) string {
		return (at + time.Duration(side)*14*time.Minute).Round(time.Second).String()
	}); found.Decided {
		t.Errorf("an uptime in words: %s", found.Summary)
	}
}

// TestAnotherPrefixIsNamed: names of instances that are each side's own are called different,
// with what is to be written into the config.
func TestAnotherPrefixIsNamed(t *testing.T) {
	found := findingOf(t, func(r *rand.Rand, side int, _ time.Duration) string {
		return fmt.Sprintf("%s-%d", []string{"node", "go"}[side], r.IntN(4))
	})
	if !found.Decided || !strings.Contains(found.Summary, "another prefix") || !strings.Contains(found.Cause, "compare.form: {$.v: any}") {
		t.Errorf("%+v", found)
	}
}
