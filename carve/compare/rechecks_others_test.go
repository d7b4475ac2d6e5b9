package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// TestWhatBelongsToAnotherRequestIsSo: a difference whose value the monolith gave to
// another request is named so, whether the candidate keeps to it or not, by json and by
// exact; one whose value nobody got is not.
func TestWhatBelongsToAnotherRequestIsSo(t *testing.T) {
	exactly := askedRoute
	exactly.Kind, exactly.LearnNoise = whittle.Exact, false
	seldom := func(other func(q int) string) func(int, int, time.Time, *rand.Rand) string {
		return func(q, turn int, now time.Time, r *rand.Rand) string {
			if r.Float64() < 1./400 {
				return other(q)
			}
			return faithful(q, turn, now, r)
		}
	}
	next := func(q int) string { return faithful((q+1)%50, 0, simtest.Start, nil) }
	for _, tc := range []struct {
		name      string
		route     whittle.Comparison
		candidate func(q, turn int, now time.Time, r *rand.Rand) string
		named     bool
	}{
		{"swapped in 1 of 400", askedRoute, seldom(next), true},
		{"swapped in 1 of 400, exact", exactly, seldom(next), true},
		{"kept by the wrong key", askedRoute, func(q, turn int, now time.Time, r *rand.Rand) string {
			return faithful(q-q%25, turn, now, r)
		}, true},
		{"nobody's", askedRoute, seldom(wrong), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &askedWorld{monolith: faithful, candidate: tc.candidate, share: 0.01, users: 2000, gap: 20 * time.Millisecond, look: 5000}
			_, _, v := a.play(t, tc.route, 1, 20_000)
			if v.State != whittle.Different || strings.Contains(fmt.Sprint(v.Findings), "belongs to another request") != tc.named {
				t.Fatalf("%s: %+v", v.Summary, v.Findings)
			}
		})
	}
}

// TestWhatBelongsToARequestUnderWay: the monolith may respond to the other request only after the
// candidate gave its response away, as with a cache that mixes up requests of one moment.
func TestWhatBelongsToARequestUnderWay(t *testing.T) {
	c := askedRoute
	c.Kind, c.LearnNoise = whittle.Exact, false
	j := judgeOf(t, c)
	of := func(i int, candidate string) *whittle.Exchange {
		x := exchange(fmt.Sprintf("the account of %d", i), candidate)
		x.Request.Target, x.At = fmt.Sprint("/accounts/", i), simtest.Start.Add(time.Duration(i)*time.Minute)
		return x
	}
	for i := range 20 {
		x := of(2*i, fmt.Sprintf("the account of %d", 2*i+1))
		j.Observe(x)
		j.Observe(of(2*i+1, fmt.Sprintf("the account of %d", 2*i+1)))
		right := whittle.Response{Status: 200, Body: x.Monolith.Body}
		r := &whittle.Recheck{Exchange: x}
		for _, more := j.Recheck(r); more; _, more = j.Recheck(r) {
			r.Rounds = append(r.Rounds, whittle.Round{Monolith: right, Candidate: right})
		}
	}
	v := j.Verdict()
	if len(v.Findings) == 0 || v.Findings[0].Asked == nil || v.Findings[0].Asked.AnotherRequest != 20 || !strings.Contains(v.Findings[0].Summary, "belongs to another request in 20") {
		t.Errorf("%+v", v.Findings)
	}
}
