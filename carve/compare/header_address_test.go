package compare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"whittle"
	"whittle/internal/simtest"
)

// redirected is an exchange in which both sides lead somewhere, by an address of which a
// part is made anew.
func redirected(r *rand.Rand, i int, monolith, candidate string) *whittle.Exchange {
	say := func(format string) whittle.Header {
		return whittle.Header{"Location": {fmt.Sprintf(format, r.Uint64(), 100+i%700)}}
	}
	x := headed(say(monolith), say(candidate))
	x.Monolith.Status, x.Candidate.Status = 302, 302
	if i%20 == 19 {
		x.Repeat = &whittle.Response{Status: 302, Header: say(monolith), Body: x.Monolith.Body}
	}
	return x
}

// TestAnAddressThatVaries: where a Location has a random part, a candidate that is wrong in more
// than its ids and numbers is DIFFERENT within 500 exchanges, and one that makes the same
// address is EQUIVALENT.
func TestAnAddressThatVaries(t *testing.T) {
	t.Parallel()
	const query, path = "https://idp.example/authorize?state=s%016x&n=%d", "/files/s%016x/of/%d"
	for _, c := range []struct {
		name, monolith, candidate string
		word                      whittle.State
	}{
		{"the same", query, query, whittle.Equivalent},
		{"another host", query, "https://idp.internal/authorize?state=s%016x&n=%d", whittle.Different},
		{"a parameter lost", query, "https://idp.example/authorize?state=s%016x#%d", whittle.Different},
		{"the same path", path, path, whittle.Equivalent},
		{"another segment", path, "/files/s%016x/in/%d", whittle.Different},
	} {
		r := rand.New(rand.NewPCG(5, 6))
		j := learningJudge(t, true)
		for i := range 3700 {
			j.Observe(redirected(r, i, c.monolith, c.candidate))
			if c.word == whittle.Different && i == 500 {
				break
			}
		}
		if v := j.Verdict(); v.State != c.word {
			t.Errorf("%s: %s %+v %+v", c.name, v.Summary, v.Findings, v.Bounds)
		}
	}
}

// TestAddressesRaiseNoAlarm: equal services of which each makes parts of an address anew, as
// ids, numbers, small numbers or times, are called DIFFERENT in at most 5 of 100 runs.
//
// Hypothesis: given the request, the two sides' addresses are exchangeable. Error rate: that
// of headers (0.01 times 0.6 in all). Source: Ville's inequality.
func TestAddressesRaiseNoAlarm(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	simtest.AtMost(0.05, 0.0005).Play(t, "refused", func(run int) bool {
		j := learningJudge(t, true)
		for i := range 200 {
			f := fmt.Sprintf("/s/%d/%%x?n=%%d&k=%d&p=%d", run%3*r.IntN(9), r.IntN(4), i/10)
			g := fmt.Sprintf("/s/%d/%%x?n=%%d&k=%d&p=%d", run%3*r.IntN(9), r.IntN(4), i/10)
			x := redirected(r, i, f, g)
			if i%20 == 19 {
				x.Repeat.Header = redirected(r, i, fmt.Sprintf("/s/%d/%%x?n=%%d&k=%d&p=%d", run%3*r.IntN(9), r.IntN(4), i/10), f).Monolith.Header
			}
			if j.Observe(x); i%10 == 0 && j.Verdict().State == whittle.Different {
				return true
			}
		}
		return false
	})
}
