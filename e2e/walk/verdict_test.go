package walk

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/needs"
)

// sizes makes each user ask for one size after another.
func sizes(of ...int) func(u *user, i int) error {
	return func(u *user, i int) error { return u.count(of[i%len(of)]) }
}

// TestMended shadows the mended service, which earns its way to every user by
// itself, one step after the other, at what is shipped: the confidence of the
// verdict and of the guards, the margins, the harm budget, the steps and what they
// need are the defaults. Only the time that a step lasts is shorter, and what would
// speak of the machine's own load (p99, shedding) is off, as in the other tests.
//
// Hypothesis: the candidate is equal. It is called DIFFERENT or rolled back with a
// promised rate of at most 1 in 100 rollouts, and in simulation in fewer
// (BENCHMARKS.md); no such end is forgiven here.
//
// The budget takes 33,000 exchanges. In the short run the demo has the mended service earn
// three times as much (e2e/carve), and what is earned by how many is e2e/campaign's.
func TestMended(t *testing.T) {
	needs.Long(t, "the demo walks the mended service")
	m := process.Monolith(t)
	c := service(t)
	g := open(t, setting{
		Monolith: m.Public, Candidate: c.Public,
		Compare: "{kind: statistical, value: number in the body, per: request.times}",
		Rollout: "{hold: 50ms, sticky_by: header:X-User}",
	})
	users := gather(g.Public, 40, func(u *user, i int) error {
		u.name = fmt.Sprintf("user-%d", i%400) // 1 % of them are a few
		return sizes(1000, 10_000, 1000, 2000)(u, i)
	})
	r := g.await(t, "the end of the shift", func(r *whittle.RouteStatus) bool {
		if r.Phase == whittle.PhaseRolledBack || r.Verdict.State == whittle.Different {
			t.Fatalf("%s: %s %+v\n%s", r.Phase, r.Verdict.Summary, r.Verdict.Findings, g.Said())
		}
		return r.Phase == whittle.PhaseLive
	})
	users.home()
	users.content(t)
	var err error
	shares := []whittle.Share{}
	for _, d := range r.Timeline {
		if d.By != "whittle" {
			err = errors.Join(err, fmt.Errorf("%s was decided by %s", d.Reason, d.By))
		}
		if d.To != d.From {
			shares = append(shares, d.To)
		}
	}
	if err != nil || !slices.Equal(shares, []whittle.Share{100, 500, 2500, 5000, 10_000}) {
		t.Errorf("shares %v, %v", shares, err)
	}
	t.Logf("EQUIVALENT and live after %d compared: %s", r.Verdict.Compared, r.Verdict.Summary)
	g.atRest(t)
}
