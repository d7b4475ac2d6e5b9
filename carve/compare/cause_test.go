package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
)

// TestNoCauseByChance. Hypothesis: the candidate's value has nothing to do with the
// monolith's, so no cause is right. Of 484 differences with 12 pairs each, of
// values of eleven kinds, not one may be given a cause. The chance that one kind of
// coincidence that is allowed (a date a day off, a last digit one more) comes in 11
// of 12 pairs is below 10^-9 for each.
func TestNoCauseByChance(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	words := strings.Fields("open paid new closed waiting sent lost shipped in_progress ON_HOLD Ann Bob Zürich Ångström a b é 1.10.2 true null none")
	kinds := map[string]func() string{
		"word":    func() string { return words[r.IntN(len(words))] },
		"words":   func() string { return words[r.IntN(len(words))] + " " + words[r.IntN(len(words))] },
		"small":   func() string { return fmt.Sprint(r.IntN(20)) },
		"large":   func() string { return fmt.Sprint(r.IntN(1e9)) },
		"decimal": func() string { return fmt.Sprintf("%.*f", r.IntN(4), 100*r.Float64()) },
		"price":   func() string { return fmt.Sprintf("%.2f", float64(r.IntN(500))/100) },
		"double":  func() string { return fmt.Sprint(r.Float64()) },
		"time": func() string {
			return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02dZ", 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60))
		},
		"quarters": func() string { return fmt.Sprintf("2026-01-%02dT%02d:%02d:00Z", 1+r.IntN(2), r.IntN(24), 15*r.IntN(4)) },
		"date":     func() string { return fmt.Sprintf("2026-%02d-%02d", 1+r.IntN(12), 1+r.IntN(12)) },
		"hex":      func() string { return fmt.Sprintf("%016x", r.Uint64()) },
	}
	list := func(of func() string) string {
		var parts []string
		for range 3 + r.IntN(3) {
			parts = append(parts, of())
		}
		return `["` + strings.Join(parts, `","`) + `"]`
	}
	for name, of := range kinds {
		for range 250 / len(kinds) {
			for form, value := range map[string]func() string{
				"string": func() string { return `"` + of() + `"` },
				"list":   func() string { return list(of) },
			} {
				c := causeCase{name: name}
				for range 12 {
					a, b := value(), value()
					c.pairs = append(c.pairs, a, b)
				}
				if got := guessed(t, whittle.JSON, c); got != "" {
					t.Errorf("%s of %s: %q\n%s", form, name, got, strings.Join(c.pairs, " "))
				}
			}
		}
	}
}

// swapped is a candidate that gives another request's response in one of so many.
func swapped(t *testing.T, of func(i int, x *whittle.Exchange, bodies []string) string) string {
	t.Helper()
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON})
	var bodies []string
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 400 {
		body := fmt.Sprintf(`{"id":%d,"name":"customer %x","state":%q}`, 10_000+i, r.Uint64(), []string{"open", "paid"}[i%2])
		x := comparetest.Gave(float64(i), uint64(i%7), fmt.Sprintf("/customers/%d", i), body)
		bodies = append(bodies, body)
		x.Candidate = whittle.Response{Status: 200, Body: []byte(of(i, x, bodies))}
		j.Observe(x)
	}
	v := j.Verdict()
	for _, f := range v.Findings {
		if f.Path == "$.name" {
			return f.Cause
		}
	}
	return fmt.Sprintf("no finding: %+v", v.Findings)
}

// TestAnotherRequestsValue: a response that the monolith gave to another request before
// is named as that; one that it gave to nobody is not.
func TestAnotherRequestsValue(t *testing.T) {
	for _, c := range []struct {
		name, want string
		of         func(i int, x *whittle.Exchange, bodies []string) string
	}{
		{"the last one's response", "to another request before", func(i int, _ *whittle.Exchange, bodies []string) string {
			return bodies[max(0, i-i/40%2*(1+i%3))]
		}},
		{"a made one", "", func(i int, _ *whittle.Exchange, bodies []string) string {
			if i%20 != 5 {
				return bodies[i]
			}
			return fmt.Sprintf(`{"id":%d,"name":"made %d","state":"open"}`, 10_000+i, i*i)
		}},
	} {
		if got := swapped(t, c.of); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAStaleValue: a candidate that gives what the monolith gave to the same
// request before is called stale.
func TestAStaleValue(t *testing.T) {
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON})
	last := map[int]string{}
	for i := range 200 {
		key := i % 5
		body := fmt.Sprintf(`{"key":%d,"rate":%d}`, key, 100_003+17*i*i)
		x := comparetest.Gave(float64(i), 1, fmt.Sprintf("/rates/%d", key), body)
		x.Candidate = whittle.Response{Status: 200, Body: []byte(body)}
		if i%10 == 7 && last[key] != "" {
			x.Candidate.Body = []byte(last[key])
		}
		last[key] = body
		j.Observe(x)
	}
	for _, f := range j.Verdict().Findings {
		if f.Path == "$.rate" && strings.Contains(f.Cause, "it is stale") {
			return
		}
	}
	t.Errorf("%+v", j.Verdict().Findings)
}
