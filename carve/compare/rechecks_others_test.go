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
// another request is called that by the recheck, whether the candidate keeps to it or
// not, by json and by exact; one whose value nobody got is not.
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
		kept      bool
		words     string
	}{
		{"swapped in 1 of 400", askedRoute, seldom(next), false, "belongs to another request in 13, and is right when it is asked again"},
		{"swapped in 1 of 400, exact", exactly, seldom(next), false, "belongs to another request"},
		{"kept by the wrong key", askedRoute, func(q, turn int, now time.Time, r *rand.Rand) string {
			return faithful(q-q%25, turn, now, r)
		}, true, "belongs to another request"},
		{"nobody's", askedRoute, seldom(wrong), false, "intermittent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &askedWorld{monolith: faithful, candidate: tc.candidate, share: 0.01, users: 2000, gap: 20 * time.Millisecond, look: 1}
			_, _, v := a.play(t, tc.route, 1, 20_000)
			if v.State != whittle.Different || !strings.Contains(fmt.Sprint(v.Findings), tc.words) {
				t.Fatalf("%s: %+v", v.Summary, v.Findings)
			}
			nobodys := strings.Contains(tc.words, "intermittent")
			for _, f := range v.Findings {
				switch k := f.Asked; {
				case k == nil || k.Times == 0:
				case nobodys != (k.AnotherRequest == 0), !nobodys && 2*k.AnotherRequest < k.Times, tc.kept != (k.AnotherKept > 0):
					t.Errorf("%s: %+v", f.Path, *k)
				}
			}
		})
	}
}
