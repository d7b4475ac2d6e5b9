package walk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/e2e/process"
	"whittle/internal/needs"
)

// sizes makes each user ask for one size after another.
func sizes(of ...int) func(u *user, i int) error {
	return func(u *user, i int) error { return u.count(of[i%len(of)]) }
}

// TestFlaws shadows the service with each of its published flaws: it is called
// DIFFERENT by the flaw's own name, and gets no user whatever is ordered.
func TestFlaws(t *testing.T) {
	m := process.Monolith(t)
	for _, tc := range []struct {
		flaws string
		ask   func(u *user, i int) error
		// named are the findings of which each must be shown, the flaws' own: "kind"
		// or "kind: a word of its cause".
		named []string
	}{
		{"distribution", sizes(1000, 10_000), []string{"mean"}},
		{"remainder", sizes(1000, 150_000, 10_000, 250_000), []string{"wrong_value: remainder"}},
		{"wrap", func(u *user, i int) error {
			// A total of more than 32 bits holds the monolith for half a
			// second, so only one user asks for it.
			if u.name == "user-0" && i > 20 {
				return u.count(45_000_000)
			}
			return u.count(1000)
		}, []string{"wrong_value: wrapped"}},
		{"seed", sizes(100_000), []string{"repeats"}},
		{"all", sizes(1000, 100_000, 150_000, 250_000), []string{"mean", "wrong_value: remainder", "repeats"}},
	} {
		t.Run(tc.flaws, func(t *testing.T) {
			if tc.flaws == "all" {
				needs.Long(t, "each flaw is named by itself")
			}
			c := service(t, "127.0.0.1:0", tc.flaws)
			// It would shift at once if it were let.
			g := open(t, setting{Monolith: m.Public, Candidate: c.Public, Rollout: "{steps: [50, 100], hold: 10ms, min_requests: 1, sticky_by: header:X-User}"})
			// A hundred are enough, and a status is as of the last second: nobody asks
			// faster than that.
			pace := time.NewTicker(10 * time.Millisecond)
			defer pace.Stop()
			users := gather(g.Public, 4, func(u *user, i int) error {
				<-pace.C
				return tc.ask(u, i)
			})
			most := 0.0
			r := g.await(t, "the flaw to be named", func(r *whittle.RouteStatus) bool {
				most = max(most, r.Percent)
				return r.Verdict.State == whittle.Different && !slices.ContainsFunc(tc.named, func(n string) bool { return !names(&r.Verdict, n) })
			})
			for i := range r.Verdict.Findings {
				if f := &r.Verdict.Findings[i]; f.Decided {
					t.Logf("%s after %d: %s %s", f.Kind, f.DecidedAt, f.Summary, f.Cause)
				}
			}
			o := rollout.Order{Kind: rollout.Promote, Force: true, Reason: "against better knowledge", By: "the test"}
			_, err := g.client.Order(t.Context(), countRoute, o)
			if whittle.CodeOf(err) != whittle.FailedPrecondition {
				t.Errorf("its promotion: %v", err)
			}
			users.home()
			users.content(t)
			g.atRest(t)
			if most = max(most, g.route(t).Percent); most > 0 || g.metric(t, "whittle_candidate_requests_total", "") > 0 {
				t.Errorf("it had %g %% of the users", most)
			}
		})
	}
}

// names reports whether a decided finding is of a kind, with a word in its cause
// where one follows.
func names(v *whittle.Verdict, want string) bool {
	kind, cause, _ := strings.Cut(want, ": ")
	return slices.ContainsFunc(v.Findings, func(f whittle.Finding) bool {
		return f.Decided && string(f.Kind) == kind && strings.Contains(f.Cause, cause)
	})
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
// A short run has three times the harm budget, which 13,000 exchanges earn in place of
// 33,000; what is earned by how many is e2e/campaign's.
func TestMended(t *testing.T) {
	harm := ""
	if testing.Short() {
		harm = "harm: 3%, "
	}
	m := process.Monolith(t)
	c := service(t, "127.0.0.1:0", "")
	g := open(t, setting{
		Monolith: m.Public, Candidate: c.Public,
		Compare: "{kind: statistical, value: number in the body, per: request.times}",
		Rollout: "{hold: 50ms, " + harm + "sticky_by: header:X-User}",
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
