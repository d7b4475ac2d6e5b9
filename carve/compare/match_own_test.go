package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/digest"
)

// TestWhatMayBeEachServersOwn: what is one and the same in all of a side's responses, or an
// id for each of the monolith's, is DIFFERENT, since nothing tells it from a wrong value;
// the finding says what it may be and what to write. Other differences have no such words.
func TestWhatMayBeEachServersOwn(t *testing.T) {
	t.Parallel()
	id := func(side, n int) string {
		return fmt.Sprintf("%016x", digest.Mix(uint64(2*n+side+1)))
	}
	for _, c := range []struct {
		name  string
		value func(side, n int) string
		words string
	}{
		{"the time of the start", func(side, _ int) string { return fmt.Sprintf("2026-11-2%dT21:51:01Z", side) }, "compare.ignore"},
		{"a host's name", func(side, _ int) string { return []string{"web-7f3a", "web-91bc"}[side] }, "compare.ignore"},
		{"a session's id", func(side, n int) string { return id(side, n%12) }, "compare.form: {$.v: any}"},
		{"a session's UUID", func(side, n int) string {
			return "0b0f9c4e-6f0a-4f2c-9d1e-" + id(side, n%12)[:12]
		}, "compare.form: {$.v: any}"},
		{"a word for each", func(side, n int) string { return []string{"kind", "sort"}[side] + strings.Repeat("e", n%12) }, ""},
		{"names of instances", func(side, n int) string { return "pod-" + string(rune('a'+3*side+n%12*7%3)) }, "compare.form: {$.v: any}"},
		{"one instance, and three", func(side, n int) string { return []string{"web-7f3a", fmt.Sprint("new-", n/12*7%3)}[side] }, "now another of 3"},
		{"a word by request", func(side, n int) string { return []string{"EUR", []string{"USD", "GBP", "EUR."}[n%3]}[side] }, ""},
		{"ids that do not go together", func(side, n int) string { return id(0, (n+side*(1+n/100))%12) }, ""},
		{"a constant for ids", func(side, n int) string { return id(side, n%12*(1-side)) }, ""},
	} {
		j, err := NewJudge(whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 400 {
			x := exchange(fmt.Sprintf(`{"v":%q}`, c.value(0, n)), fmt.Sprintf(`{"v":%q}`, c.value(1, n)))
			x.Request.Target = fmt.Sprint("/things/", n%12)
			x.At = x.At.Add(time.Duration(n) * 200 * time.Millisecond)
			if n%10 == 9 {
				again := string(x.Monolith.Body)
				if strings.Contains(again, "pod-") { // of another instance
					again = fmt.Sprintf(`{"v":%q}`, c.value(0, n+1+n/10%2))
				}
				x = repeated(x, again)
			}
			j.Observe(x)
		}
		v := j.Verdict()
		if v.State != whittle.Different {
			t.Fatalf("%s: %s %+v", c.name, v.Summary, v.Findings)
		}
		said := ""
		for _, f := range v.Findings {
			said += f.Cause
		}
		if c.words == "" && strings.Contains(said, "each server") || !strings.Contains(said, c.words) {
			t.Errorf("%s: %q", c.name, said)
		}
	}
}
