package load

import (
	"context"
	"fmt"
	"strings"

	"whittle"
	"whittle/load/plan"
)

// before runs the plan's flow before the run. Every virtual user starts with what
// it captured, and its requests are not in the report. A failure is an error: the
// run would not be what the plan says.
func (s *session) before(ctx context.Context) error {
	w, failure := s.runUnrecorded(ctx, s.plan.Before)
	if failure != "" {
		return whittle.Errorf(whittle.Unavailable, "run plan %s: the flow before the run failed: %s", s.plan.Name, failure)
	}
	s.base = w.scope.Values
	return nil
}

// after runs the plan's flow after the run. A failure is a warning.
func (s *session) after(ctx context.Context) (warning string) {
	if len(s.plan.After) == 0 {
		return ""
	}
	if _, failure := s.runUnrecorded(ctx, s.plan.After); failure != "" {
		return "the flow after the run failed: " + failure
	}
	return ""
}

// runUnrecorded runs a flow once, as a user that is not counted in the report.
func (s *session) runUnrecorded(ctx context.Context, steps []plan.Step) (w *worker, failure string) {
	w = newWorker(s, &shard{sum: newTally(plan.MaxNames)})
	w.unrecorded = true
	w.due = s.now()
	w.pcg.Seed(s.seed, unrecordedSeed)
	w.initUser()
	ended := !w.runSteps(ctx, steps)
	w.client.Reset()
	var kinds []string
	for kind, n := range w.shard.sum.errors {
		kinds = append(kinds, fmt.Sprintf("%s (%d)", kind, n))
	}
	switch {
	case len(kinds) > 0:
		return w, strings.Join(kinds, ", ")
	case ended:
		return w, "the run was ended"
	}
	return w, ""
}

// unrecordedSeed gives such a user random choices other than virtual user 0's.
const unrecordedSeed = 1 << 63
