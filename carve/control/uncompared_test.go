package control_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// TestWhatCannotBeComparedCountsAsWrong: where one request in five is too large to be
// compared, no step rises beyond the harm budget, however many others were the same; the
// verdict, the next step and the budget say how many there were; a restart forgets
// nothing of it; and where the bound on bodies is another one it is counted afresh.
func TestWhatCannotBeComparedCountsAsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		careful := func(r *whittle.Route) { r.Rollout.Harm, r.Mirror.MaxBody = 0.005, 1<<18 }
		h := newRig(t, disk, spec(careful))
		h.run()
		large := func(n int64) {
			h.set(func() {
				l := h.reports[name]
				l.Total, l.Skipped = l.Total+n, map[string]int64{whittle.SkipTooLarge: l.Skipped[whittle.SkipTooLarge] + n}
				h.reports[name] = l
			})
		}
		compare := func(n int64) {
			h.set(func() {
				l := h.reports[name]
				l.Total, l.Pending = l.Total+n, l.Pending+n
				h.reports[name] = l
			})
			mirror(h, 200, int(n))
		}
		h.say(whittle.Equivalent)
		compare(40)
		large(9)
		pass(1500 * time.Millisecond)
		large(1) // and then nothing more
		pass(4 * time.Second)
		if got := h.share(); got != 100 {
			t.Fatalf("share %d at first", got)
		}
		h.users(whittle.Candidate, 200, 50)
		holds := func(h *rig, when string) {
			t.Helper()
			s := h.status()
			for what, text := range map[string]string{"verdict": s.Verdict.Summary, "next": s.Next, "harm": s.Harm.Summary} {
				if !strings.Contains(text, "of the requests could not be compared (10 too_large)") {
					t.Errorf("%s, the %s says %q", when, what, text)
				}
			}
			if s.Share != 100 || s.Harm.Uncompared < 0.19 || s.Harm.Uncompared > 0.21 || s.Harm.Bound < s.Harm.Uncompared || s.Harm.Needed != -1 {
				t.Errorf("%s: share %d, %+v", when, s.Share, s.Harm)
			}
		}
		pass(time.Minute)
		holds(h, "before the restart")
		fatal.If(t, h.stop())
		again := newRig(t, disk, spec(careful))
		again.set(func() { again.word = whittle.Equivalent })
		again.run()
		pass(time.Minute)
		holds(again, "after it")

		longer := spec(careful, func(r *whittle.Route) { r.Mirror.MaxBody = 1 << 20 })
		fatal.If(t, again.c.Reload(whittle.Upstream{}, []whittle.Route{longer}, func() error { return nil }))
		pass(time.Minute)
		if s := again.status(); s.Share <= 100 || s.Harm.Uncompared != 0 || strings.Contains(s.Verdict.Summary, "compared (") {
			t.Errorf("with another bound: share %d, %q, %+v", s.Share, s.Verdict.Summary, s.Harm)
		}
		fatal.If(t, again.stop())
	})
}
